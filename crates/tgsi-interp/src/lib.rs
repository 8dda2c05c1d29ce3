//! The reference interpreter: what a TGSI program computes, straight from its syntax.
//!
//! It is the oracle of the project, so it prefers being obviously right to being
//! fast. It shares the names and operand shapes of the opcode table and nothing
//! else: [`eval_op`] is an evaluation of its own.
//!
//! - [`run`] executes a program on one set of [`Inputs`]: a quad of four lanes, or a
//!   whole work group or patch.
//! - [`run_masked`] does so with several fills of the unwritten registers, and keeps
//!   only the words that do not depend on them.
//! - [`equiv::compare`] sets two programs against each other on seeded inputs.

mod code;
pub mod equiv;
mod eval;
mod eval32;
mod eval64;
mod exec;
mod flow;
mod generate;
mod inputs;
mod memops;
mod memory;
mod outcome;
mod pack;
mod quad;
mod rng;
mod sampler;
mod texture;

pub use eval::{Rules, Vec4, eval_op, saturate, saturate64};
pub use eval64::written_mask;
pub use exec::{RunOptions, run, run_masked, run_with};
pub use inputs::{CaseStyle, InputError, Inputs, RegKey};
pub use memory::{Region, RegionKind};
pub use outcome::{Emitted, Flags, MaskedOutcome, MemoryEffect, Outcome, OutputReg, Word};
pub use sampler::{IntegerResult, Lod, Sampler, SmoothSampler, TexKind, TexQuery};
