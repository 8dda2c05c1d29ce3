//! Chores of the workspace: `cargo xtask COMMAND`.
//!
//! Nothing here is needed to build or to test the product.

mod bench;
mod capture;
mod docs;
mod mutate;
mod prove;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Chores of the workspace")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Weigh a call of the library by valgrind, a class of input size a line
    Bench(bench::Args),
    /// Compile tests/corpus/src with Mesa and keep the TGSI it makes
    Capture(capture::Args),
    /// Write docs/passes.md and docs/rules.md
    Docs(docs::Args),
    /// Make small faults in rules, folder, verifier and checker, and count those that are caught
    Mutate(mutate::Args),
    /// Prove the rewrite rules and write passes/rules/proofs.lock
    Prove(prove::Args),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Docs(args) => docs::run(&args),
        Command::Mutate(args) => mutate::run(&args),
        Command::Prove(args) => prove::run(&args),
    }
}
