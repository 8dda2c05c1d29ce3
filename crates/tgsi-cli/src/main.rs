//! The command `tgsi-opt`: reads the command line, calls the library, writes files.
//!
//! *Boundary*: files, the clock, the terminal and exit codes are touched here and nowhere below.

mod args;
mod bisect;
mod check;
mod crash;
mod diff;
mod engine;
mod exit;
mod explain;
mod files;
mod fit;
mod interpret;
mod optimize;
mod probe;
mod reduce;
mod report;
mod rules;
mod stats;
mod targets;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches};

use args::{Cli, Command, OptimizeArgs};
use exit::Exit;
use report::Reporter;

/// An optimiser makes many small short-lived vectors; this allocator is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match parse() {
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
        Some(Command::Fit(args)) => fit::run(args, &reporter),
        Some(Command::Stats(args)) => check::run_stats(args, &reporter),
        Some(Command::Run(args)) => interpret::run(args, &reporter),
        Some(Command::Diff(args)) => diff::run(args, &reporter),
        Some(Command::Reduce(args)) => reduce::run(args, &reporter),
        Some(Command::Bisect(args)) => bisect::run(args, &reporter),
        Some(Command::Rules(args)) => rules::run(args, &reporter),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "tgsi-opt", &mut script);
            files::print(&String::from_utf8_lossy(&script));
            Exit::Done
        }
    };
    exit.into()
}

/// The command line. Options of the optimiser do not go with a subcommand, which would ignore them.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    if let Some((name, _)) = matches.subcommand() {
        let optimize = OptimizeArgs::augment_args(clap::Command::new(""));
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        if let Some(arg) = optimize
            .get_arguments()
            .find(|a| given(a.get_id().as_str()))
        {
            let shown = match (arg.get_long(), arg.get_short()) {
                (Some(long), _) => format!("--{long}"),
                (None, Some(short)) => format!("-{short}"),
                (None, None) => "an input".to_owned(),
            };
            let message = format!(
                "'{shown}' does not go with the subcommand '{name}' (a file of that name is written ./{name})"
            );
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
    }
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}
