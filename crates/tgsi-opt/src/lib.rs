//! The optimiser as a library: what drivers and tools call.
//!
//! ```text
//! let outcome = tgsi_opt::optimize_text(text, &Options::default(), None)?;
//! print!("{}", outcome.text);
//! ```
//!
//! *Invariant*: no function here reads a clock, a file or the environment. Times come through
//! [`Options::now`], dumps leave through [`Observer`].

mod arrays;
mod bisect;
mod constants;
mod emit;
mod explain;
mod faults;
mod lower;
mod options;
mod pipeline;
mod shapes;
mod syntax;
mod text;
mod verified;

pub use bisect::{Bisection, Culprit, bisect};
pub use constants::packing_helps;
pub use emit::{emit_dot, emit_ir};
pub use explain::{Applied, Explanation};
pub use faults::{Fault, Stage};
pub use options::{Level, Options, PassInfo, PassSpec};
pub use pipeline::{NoGraph, egraph_dot, optimize, optimize_with, passes};
pub use text::{TextOutcome, optimize_text, optimize_text_with};

use tgsi::Program;
pub use tgsi_passes::cx::Rewriting;
pub use tgsi_passes::rules::rule_set as rules;
pub use tgsi_rules::{Contract, Profile};
pub use tgsi_target::ConstantMove;
use tgsi_target::Counts;

/// Watches the passes of one optimisation.
pub trait Observer {
    /// Called after each run of a pass.
    fn pass(&mut self, event: &PassEvent<'_>);
}

/// One run of a pass.
pub struct PassEvent<'a> {
    /// Name of the pass.
    pub name: &'a str,
    /// Which round of the pipeline, from 1.
    pub round: u32,
    /// Whether it changed anything.
    pub changed: bool,
    /// How long it took by [`Options::now`], in nanoseconds.
    pub nanos: u64,
    /// The state after the pass as text; costs something only when called.
    pub dump: &'a dyn Fn() -> String,
}

/// What became of one program.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result: the optimised program, or the input where nothing better was found.
    pub program: Program,
    /// Counts of the input.
    pub before: Counts,
    /// Counts of the result.
    pub after: Counts,
    /// Whether the result is the input.
    pub unchanged: bool,
    /// Why the input was returned although optimisation was asked for, if it was not by choice.
    pub fallback: Option<Fallback>,
    /// Rounds of the pipeline that ran.
    pub rounds: u32,
    /// A lower bound of the temporaries that the result's instructions need, where one is known.
    pub temps_bound: Option<u32>,
    /// A quarter of the most channels that are live at once in the result, rounded up, where that is known.
    pub temps_channel_bound: Option<u32>,
    /// Instructions below which no packing of what the result computes comes; nothing where the result
    /// is the input.
    pub instructions_bound: Option<u32>,
    /// Total nanoseconds by pass, in the order in which passes first ran.
    pub pass_times: Vec<(&'static str, u64)>,
    /// What rewrite rules did to the result, and under which float contracts.
    pub rewriting: Rewriting,
    /// The rules that took part, by instruction of the input; only filled if [`Options::explain`] is set.
    pub explanation: Vec<Explanation>,
    /// Why the result keeps control flow that the target does not take.
    pub kept: Option<String>,
    /// Where the result finds each constant of buffer 0 that it reads, if they were packed: asked for by
    /// [`Options::pack_constants`], or the only way to fit the target. Empty if all are where they were.
    pub constants: Vec<ConstantMove>,
    /// Rewrites that were done, or would have been paid for with fuel, in all rounds.
    pub rewrites: u64,
    /// The one that took the last unit of fuel, where fuel ran out.
    pub last_rewrite: Option<LastRewrite>,
    /// What [`Options::verify`] found; nothing if it is not set or the result is the input by choice.
    pub verification: Option<Verification>,
}

/// What is known of a result that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Cases in which input and result ran and were compared.
    pub cases: u32,
    /// Whether they had to agree bit for bit: no contract fired under which floats round otherwise.
    pub exact: bool,
    /// What the two programs let be seen: a root for each channel of each output where they end, each
    /// effect, each condition of a branch that holds effects, and whatever one of them does alone.
    pub roots: u32,
    /// Roots that are one class in a joint graph of equal values, under the proved rewrite rules of the
    /// contract that fired, given that the roots before them are. If it equals `roots`, the result is
    /// proved for all inputs, not only those of the cases.
    pub proved: u32,
    /// The first root that is not proved. That is no fault: rules and limits know only so much.
    pub open: Option<String>,
}

/// The rewrite that took the last unit of fuel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRewrite {
    /// The pass.
    pub pass: &'static str,
    /// The rewrite rule, if it was one.
    pub rule: Option<&'static str>,
    /// Which round of the pipeline, from 1.
    pub round: u32,
    /// The instruction of the input, from 0, that computed what was rewritten, where it is known:
    /// behind the first round only if [`Options::explain`] is set.
    pub instruction: Option<u32>,
}

/// A return to the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// What kind of reason.
    pub kind: FallbackKind,
    /// The pass or stage that gave up.
    pub stage: String,
    /// Why, in one line.
    pub reason: String,
}

/// Kinds of [`Fallback`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FallbackKind {
    /// The program holds something the optimiser does not take on; nothing is wrong with either.
    Unsupported,
    /// A result was made but a check refused it: a fault of the optimiser.
    Unverified,
}
