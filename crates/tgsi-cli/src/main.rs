//! The command `tgsi-opt`: reads the command line, calls the library, writes files.
//!
//! *Boundary*: files, the clock, the terminal and exit codes are touched here and nowhere below.

mod args;
mod check;
mod diff;
mod exit;
mod files;
mod interpret;
mod optimize;
mod report;
mod stats;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use exit::Exit;
use report::Reporter;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help that nobody reads any more is no fault.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage.into()
            } else {
                Exit::Done.into()
            };
        }
    };
    let reporter = Reporter::new(cli.output);
    let exit = match &cli.command {
        None => optimize::run(&cli.optimize, &reporter),
        Some(Command::Check(args)) => check::run(args, &reporter),
        Some(Command::Stats(args)) => check::run_stats(args, &reporter),
        Some(Command::Run(args)) => interpret::run(args, &reporter),
        Some(Command::Diff(args)) => diff::run(args, &reporter),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "tgsi-opt", &mut script);
            files::print(&String::from_utf8_lossy(&script));
            Exit::Done
        }
    };
    exit.into()
}
