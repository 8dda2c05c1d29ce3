//! `tgsi-opt check` and `tgsi-opt stats`.

use tgsi::{Diagnostic, Program, Severity};
use tgsi_target::{Target, count};

use crate::args::{CheckArgs, StatsArgs, StatsForm};
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::report::Reporter;
use crate::stats;
use crate::targets;

/// Reads and parses a program. The error is the message to show.
pub(crate) fn load(input: &Input, reporter: &Reporter) -> Result<Program, String> {
    let text = input
        .read()
        .map_err(|error| reporter.file_error(&input.path, &error))?;
    parse(input, &text, reporter)
}

/// Parses a program. The error is the message to show.
pub(crate) fn parse(input: &Input, text: &str, reporter: &Reporter) -> Result<Program, String> {
    let (program, diagnostics) = tgsi::parse(text);
    // Only what stops the program is of interest to a command that is after something else.
    let errors: Vec<Diagnostic> = diagnostics
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    if errors.is_empty() {
        Ok(program)
    } else {
        Err(reporter.diagnostics(&input.shown(), text, &errors))
    }
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// The target to check against, if one is named or a limit is given.
fn target(args: &CheckArgs) -> Result<Option<Target>, String> {
    match &args.target {
        Some(name) => targets::find(name, &args.limit).map(Some),
        None if args.limit.is_empty() => Ok(None),
        None => targets::find("generic", &args.limit).map(Some),
    }
}

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, reporter: &Reporter) -> Exit {
    let target = match target(args) {
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
    if inputs.is_empty() {
        files::eprint(&reporter.warning("", files::NO_PROGRAMS));
    }
    let mut exit = Exit::Done;
    for input in &inputs {
        let name = input.shown();
        let text = match input.read() {
            Ok(text) => text,
            Err(error) => {
                files::eprint(&reporter.file_error(&input.path, &error));
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
        if let Some(target) = &target {
            for message in targets::misfits(target, &program, &count(&program)) {
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
    if inputs.is_empty() {
        files::eprint(&reporter.warning("", files::NO_PROGRAMS));
    }
    let mut exit = Exit::Done;
    let mut totals = stats::Totals::default();
    for input in &inputs {
        let program = match load(input, reporter) {
            Ok(program) => program,
            Err(message) => {
                files::eprint(&message);
                totals.failed += 1;
                exit = exit.and(Exit::Invalid);
                continue;
            }
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
    if inputs.len() > 1 && matches!(args.format, StatsForm::Text | StatsForm::Full) {
        files::print(&totals.plain());
    }
    exit
}
