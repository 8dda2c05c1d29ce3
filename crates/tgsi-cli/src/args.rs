//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  tgsi-opt in.tgsi                          optimise, print to standard output
  tgsi-opt -O2 in.tgsi -o out.tgsi          ... into a file (may be the input itself)
  cat in.tgsi | tgsi-opt -                  ... from standard input
  tgsi-opt -O2 shaders/ -o optimised/       a folder, in parallel, names kept
  tgsi-opt --target virgl in.tgsi           only what virglrenderer accepts
  tgsi-opt --emit none --stats in.tgsi      only the figures, before and after
  tgsi-opt --print-changed in.tgsi          the program after each pass that did something
  tgsi-opt --explain in.tgsi                which rewrite rules changed what each instruction computes
  tgsi-opt rules --domain dot               the rewrite rules
  tgsi-opt check in.tgsi                    diagnostics only
  tgsi-opt fit in.tgsi                      which targets it fits, as it is and optimised
  tgsi-opt run in.tgsi --set 'IN[0] 1.0 2.0 0 1'
  tgsi-opt diff before.tgsi after.tgsi      counts side by side, and whether they compute the same
  tgsi-opt bisect in.tgsi                   which rewrite makes the result wrong
  tgsi-opt reduce --check CMD in.tgsi       a smaller program to which CMD still says yes
  tgsi-opt completions bash > /etc/bash_completion.d/tgsi-opt

A file that is called like a subcommand is written with its folder: ./check

Exit codes:
  0  done
  1  an input is not a valid program, or a file could not be read or written
  2  the command line is wrong
  3  a result does not fit the target (it is written all the same)
  4  a result could not be verified, and the input was returned in its place;
     `diff`: the programs do not compute the same; `bisect`: the result is wrong
With several inputs the code is 1 if any calls for it, else 4, else 3.";

/// Optimises TGSI shader programs.
#[derive(Debug, Parser)]
#[command(
    name = "tgsi-opt",
    version,
    after_help = EXAMPLES,
    subcommand_value_name = "COMMAND",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) optimize: OptimizeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How to speak to the caller.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// Form of diagnostics on standard error
    #[arg(long, value_enum, default_value_t = MessageFormat::Human, global = true, value_name = "FORM")]
    pub(crate) message_format: MessageFormat,
    /// Colours in diagnostics
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Leave out warnings, progress and summary
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// With the line and a caret
    Human,
    /// One JSON object a line
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// When standard error is a terminal
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct OptimizeArgs {
    /// Files, folders (searched for *.tgsi), or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Output file; a folder when there are several inputs. Default: standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Pack the constants that the result reads; --stats=json says where each one went
    #[arg(long)]
    pub(crate) pack_constants: bool,
    /// How to print: mesa, virgl or legacy. Default: as the input was written
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Text, value_name = "FORM")]
    pub(crate) emit: Emit,
    /// Figures before and after, as text, json (one object a line) or shader-db lines
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text", value_name = "FORM")]
    pub(crate) stats: Option<StatsForm>,
    /// Print the program after this pass (or after all)
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub(crate) print_after: Vec<String>,
    /// Print the program after each pass that changed it
    #[arg(long)]
    pub(crate) print_changed: bool,
    /// Print for each instruction of the input the rules that changed what it computes
    #[arg(long)]
    pub(crate) explain: bool,
    /// Write the equal values that rules found in the first round to a Graphviz file; small programs only
    #[arg(long, value_name = "FILE.dot")]
    pub(crate) print_egraph: Option<PathBuf>,
    /// Print the time each pass took
    #[arg(long)]
    pub(crate) time_passes: bool,
    /// List the passes
    #[arg(long)]
    pub(crate) list_passes: bool,
    /// List the targets with their limits
    #[arg(long)]
    pub(crate) list_targets: bool,
    /// Where the optimiser fails, write the program there with a head that says how
    #[arg(long, value_name = "DIR")]
    pub(crate) crash_dir: Option<PathBuf>,
    /// Programs worked on at once. Default: one a core
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// How a program is optimised.
#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    /// 0 only reprints, 1 one round, 2 until nothing changes, 3 more effort
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3"])]
    pub(crate) level: String,
    /// Run these passes in place of the level's pipeline: a,b,c
    #[arg(long, value_name = "LIST")]
    pub(crate) passes: Option<String>,
    /// Leave a pass, a rule or a stage out (may be repeated); without a pass the others run one by one
    #[arg(long, value_name = "PASS|RULE|STAGE", value_delimiter = ',')]
    pub(crate) disable: Vec<String>,
    /// What rewriting may do with floats: auto, strict, glsl, arb, d3d9 or fast
    #[arg(long, value_name = "PROFILE", default_value = "auto")]
    pub(crate) fp: String,
    /// The consumer of the result: one that --list-targets names, or a file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "generic")]
    pub(crate) target: String,
    /// Use nothing that the target's driver expands or copies: the result is what the hardware runs
    #[arg(long)]
    pub(crate) expand: bool,
    /// Set a limit of the target: temps=16, MaxTexIndirections=4 (may be repeated)
    #[arg(long, value_name = "NAME=N")]
    pub(crate) limit: Vec<String>,
    /// Stop after this many rewrites
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<u64>,
    /// Verify after every pass
    #[arg(long)]
    pub(crate) verify_each: bool,
    /// Prove what can be proved of the result, run it beside the input on 64 cases or as many as given, and
    /// return the input if they differ
    #[arg(long, value_name = "CASES", num_args = 0..=1, require_equals = true, default_missing_value = "64")]
    pub(crate) verify: Option<u32>,
    /// Check each allocation of registers
    #[arg(long)]
    pub(crate) check_regalloc: bool,
    /// Make a fault on purpose, for tests of what finds faults
    #[arg(long, value_name = "PASS|RULE|STAGE|panic|refuse", hide = true)]
    pub(crate) sabotage: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// TGSI text
    Text,
    /// The intermediate representation as text
    Ir,
    /// The intermediate representation as a Graphviz graph
    Dot,
    /// Nothing
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsForm {
    Text,
    /// As text, with the chain of fetches behind the texture indirections
    Full,
    Json,
    ShaderDb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Report what is wrong with programs, and change nothing
    Check(CheckArgs),
    /// Tell which targets programs fit, as they are and optimised
    Fit(FitArgs),
    /// Run a program in the reference interpreter
    Run(RunArgs),
    /// Count what programs hold
    Stats(StatsArgs),
    /// Compare two programs, or two folders of programs by file name
    Diff(DiffArgs),
    /// Make a program as small as it gets while a command says yes to it
    Reduce(ReduceArgs),
    /// Find which rewrite makes the result for a program wrong
    Bisect(BisectArgs),
    /// List the rewrite rules; with inputs, how often each takes part in their results
    Rules(RulesArgs),
    /// Print a completion script for a shell
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
The command is one for a shell. {} in it stands for the path of a candidate, which else comes behind it.
It says yes by the exit code 0. A candidate that takes too long is refused. Every candidate is a valid
program, written as the input is. The same answers give the same result.

Examples:
  tgsi-opt reduce --check 'grep -q TEX' in.tgsi -o small.tgsi
  tgsi-opt reduce --check 'tgsi-opt -q bisect {}; test $? = 4' in.tgsi      the result stays wrong
  tgsi-opt reduce --check '! mydriver --compile {}' in.tgsi                 a driver goes on to refuse it

Exit codes: 0 done; 1 the command does not say yes to the input, or the input is not valid")]
pub(crate) struct ReduceArgs {
    /// The program, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Goes on from candidates for which this command ends with 0
    #[arg(long, value_name = "CMD")]
    pub(crate) check: String,
    /// Where to write the result. Default: standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Run the command at most so often
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
    /// Seconds after which a candidate is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) time_limit: f64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without --check results are compared with the input in the interpreter, as `tgsi-opt diff` does: bit for
bit, or closely where the result rests on a float contract. What a check of the optimiser refuses, and
a panic, is wrong in any case.

With --check a result is right where the command ends with 0; {} in it stands for the path of the
result, which else comes behind it. A result that takes too long is wrong.

Examples:
  tgsi-opt bisect in.tgsi
  tgsi-opt bisect -O3 --target virgl in.tgsi
  tgsi-opt bisect --check './renders-well {}' in.tgsi

Exit codes: 0 the result is right; 1 the input is not valid, or wrong by the command itself;
4 the result is wrong, and what makes it so is told")]
pub(crate) struct BisectArgs {
    /// The program, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Results for which this command ends with 0 are right
    #[arg(long, value_name = "CMD", conflicts_with_all = ["against", "cases", "relative", "absolute"])]
    pub(crate) check: Option<String>,
    /// Compare results with this program. Default: the input
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Seeded cases to compare on
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) cases: u32,
    /// Floats may differ by this part of the larger one
    #[arg(long, value_name = "R")]
    pub(crate) relative: Option<f32>,
    /// Floats may differ by this much
    #[arg(long, value_name = "A")]
    pub(crate) absolute: Option<f32>,
    /// Seconds after which a result is given up
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30.0,
        requires = "check"
    )]
    pub(crate) time_limit: f64,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// Files or folders to count on
    #[arg(value_name = "IN")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Only rules of this domain
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    /// Only rules that take part in no result
    #[arg(long, requires = "inputs")]
    pub(crate) unused: bool,
    /// What rewriting may do with floats: auto, strict, glsl, arb, d3d9 or fast
    #[arg(long = "float-profile", value_name = "PROFILE", default_value = "auto")]
    pub(crate) fp: String,
    /// How hard to try: 1, 2 or 3
    #[arg(long = "level", value_name = "LEVEL", default_value = "2", value_parser = ["1", "2", "3"])]
    pub(crate) level: String,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files, folders, or - for standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also report why programs do not fit this target
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) target: Option<String>,
    /// Set a limit of the target: temps=16, MaxTexIndirections=4 (may be repeated)
    #[arg(long, value_name = "NAME=N")]
    pub(crate) limit: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Files, folders, or - for standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Targets by name or file; all are the built-in ones
    #[arg(
        long,
        value_name = "all|NAME|FILE.toml",
        value_delimiter = ',',
        default_value = "all"
    )]
    pub(crate) target: Vec<String>,
    /// Set a limit of every target: temps=16, MaxTexIndirections=4 (may be repeated)
    #[arg(long, value_name = "NAME=N")]
    pub(crate) limit: Vec<String>,
    /// Levels of optimisation, a column each (may be repeated)
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3"])]
    pub(crate) level: Vec<String>,
    /// One JSON object a program and target
    #[arg(long)]
    pub(crate) json: bool,
    /// Programs worked on at once. Default: one a core
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Input lines, one register each:
  IN[0] 1.0 2.0 0 1                 all four pixels of the quad
  IN[0].lane1 0x3f800000 0 0 0      one pixel (0 top left, 1 right, 2 below, 3 both)
A word is bits (0x...), an integer, or a float; integers beside a float are floats.
A register that is not set reads 0.

Output lines hold the words as bits, then as floats; - is a word that depends on undefined data.")]
pub(crate) struct RunArgs {
    /// The program, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// A file of input lines
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// One input line (may be repeated; wins over the file)
    #[arg(long, value_name = "LINE")]
    pub(crate) set: Vec<String>,
    /// Stop after this many instructions
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Files, folders, or - for standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Form of the figures
    #[arg(long, value_enum, default_value_t = StatsForm::Text, value_name = "FORM")]
    pub(crate) format: StatsForm,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A program or a folder
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// A program or a folder
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Seeded cases to run; 0 compares counts only
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) cases: u32,
    /// Cases of special values (zeros, infinities, NaN) beside them. Default: a quarter as many
    #[arg(long, value_name = "N")]
    pub(crate) special: Option<u32>,
    /// Floats may differ by this part of the larger one
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    pub(crate) relative: f32,
    /// Floats may differ by this much
    #[arg(long, value_name = "A", default_value_t = 0.0)]
    pub(crate) absolute: f32,
    /// Also report what the second introduces that this target does not take
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) target: Option<String>,
    /// Programs worked on at once. Default: one a core
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}
