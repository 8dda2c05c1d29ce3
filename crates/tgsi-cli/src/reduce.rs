//! `tgsi-opt reduce`: a smaller program to which a command still says yes.

use std::path::PathBuf;

use tgsi::{Dialect, Program, detect_dialect, print};

use crate::args::ReduceArgs;
use crate::check;
use crate::exit::Exit;
use crate::files::{self, Destination, Input};
use crate::probe::Probe;
use crate::report::Reporter;

/// Runs `reduce`.
pub(crate) fn run(args: &ReduceArgs, reporter: &Reporter) -> Exit {
    let input = Input {
        path: args.input.clone(),
        name: PathBuf::new(),
    };
    match reduced(args, &input, reporter) {
        Ok(()) => Exit::Done,
        Err(message) => {
            files::eprint(&message);
            Exit::Invalid
        }
    }
}

/// The whole command. The error is the message to show.
fn reduced(args: &ReduceArgs, input: &Input, reporter: &Reporter) -> Result<(), String> {
    let failed = |error: anyhow::Error| reporter.error("", &format!("{error:#}"));
    let text = input
        .read()
        .map_err(|error| reporter.file_error(&input.path, &error))?;
    let program = check::parse(input, &text, reporter)?;
    let mut probe = Probe::new(&args.check, args.time_limit).map_err(failed)?;
    let dialect = detect_dialect(&text, &program);
    // What is asked is what would be written, so the input is printed first.
    if !probe.says_yes(&print(&program, &dialect)).map_err(failed)? {
        let name = input.shown();
        return Err(reporter.error(&name, "the command does not say yes to the input"));
    }
    let bar = reporter.spinner();
    let mut fault = None;
    let mut calls = 0u64;
    let mut instructions = length(&program);
    let result = tgsi_reduce::reduce(&program, args.steps, |candidate| {
        if fault.is_some() {
            return false;
        }
        calls += 1;
        let yes = probe
            .says_yes(&print(candidate, &dialect))
            .unwrap_or_else(|error| {
                fault = Some(error);
                false
            });
        if yes {
            instructions = length(candidate);
        }
        bar.set_message(format!("{instructions} instructions, {calls} calls"));
        yes
    });
    bar.finish_and_clear();
    if let Some(error) = fault {
        return Err(failed(error));
    }
    write(args, input, &print(&result.program, &dialect)).map_err(|error| {
        reporter.file_error(args.output.as_deref().unwrap_or(&input.path), &error)
    })?;
    if !reporter.is_quiet() {
        let mut report = format!(
            "{} -> {}, {} calls",
            size(&program, &dialect),
            size(&result.program, &dialect),
            result.calls
        );
        if probe.late > 0 {
            report.push_str(&format!(", {} over the time limit", probe.late));
        }
        if result.exhausted {
            report.push_str("; stopped by --steps");
        }
        files::eprint(&reporter.note(&input.shown(), &report));
    }
    Ok(())
}

fn write(args: &ReduceArgs, input: &Input, text: &str) -> anyhow::Result<()> {
    match &args.output {
        Some(path) if !files::is_stdout(path) => Destination::File(path.clone()).write(input, text),
        _ => {
            files::print(text);
            Ok(())
        }
    }
}

/// Instructions, END left out.
fn length(program: &Program) -> usize {
    let end = |i: &&tgsi::Inst| i.op == tgsi::Opcode::End;
    program.insts.len() - program.insts.iter().filter(end).count()
}

fn size(program: &Program, dialect: &Dialect) -> String {
    format!(
        "{} instructions and {} lines",
        length(program),
        print(program, dialect).lines().count()
    )
}
