//! `tgsi-opt check` and `tgsi-opt stats`.

use tgsi::{Diagnostic, Program, Severity};
use tgsi_target::{count, fit_report};

use crate::args::{CheckArgs, StatsArgs, StatsForm};
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::optimize::find_target;
use crate::report::Reporter;
use crate::stats;

/// Reads and parses a program and reports what is wrong with it. `None` after an error.
pub(crate) fn load(input: &Input, reporter: &Reporter) -> Option<Program> {
    let text = match input.read() {
        Ok(text) => text,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return None;
        }
    };
    let (program, diagnostics) = tgsi::parse(&text);
    let wrong = has_error(&diagnostics);
    // Only what stops the program is of interest to a command that is after something else.
    let errors: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    files::eprint(&reporter.diagnostics(&input.shown(), &text, &errors));
    (!wrong).then_some(program)
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, reporter: &Reporter) -> Exit {
    let target = match args.target.as_deref().map(find_target).transpose() {
        Ok(target) => target,
        Err(message) => {
            files::eprint(&reporter.error("", &message));
            return Exit::Usage;
        }
    };
    let inputs = match files::expand(&args.inputs) {
        Ok((inputs, _)) => inputs,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    let mut exit = Exit::Done;
    for input in &inputs {
        let name = input.shown();
        let text = match input.read() {
            Ok(text) => text,
            Err(error) => {
                files::eprint(&reporter.error("", &format!("{error:#}")));
                exit = exit.and(Exit::Invalid);
                continue;
            }
        };
        let (program, mut diagnostics) = tgsi::parse(&text);
        diagnostics.extend(tgsi::check(&program, Some(&text)));
        files::eprint(&reporter.diagnostics(&name, &text, &diagnostics));
        if has_error(&diagnostics) {
            exit = exit.and(Exit::Invalid);
            continue;
        }
        if let Some(target) = target {
            for excess in fit_report(target, &program, &count(&program)) {
                let message = format!("does not fit {}: {excess}", target.name);
                files::eprint(&reporter.error(&name, &message));
                exit = exit.and(Exit::Misfit);
            }
        }
    }
    exit
}

/// Runs `stats`.
pub(crate) fn run_stats(args: &StatsArgs, reporter: &Reporter) -> Exit {
    let inputs = match files::expand(&args.inputs) {
        Ok((inputs, _)) => inputs,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    let mut exit = Exit::Done;
    let mut totals = stats::Totals::default();
    for input in &inputs {
        let Some(program) = load(input, reporter) else {
            totals.failed += 1;
            exit = exit.and(Exit::Invalid);
            continue;
        };
        let counts = count(&program);
        totals.add_counts(&counts, &counts);
        files::print(&stats::of_program(
            args.format,
            &input.shown(),
            &program,
            &counts,
        ));
    }
    if inputs.len() > 1 && args.format == StatsForm::Text {
        files::print(&totals.plain());
    }
    exit
}
