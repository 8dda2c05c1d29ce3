//! Structured fuzzing of the optimiser.
//!
//! - [`program_text`] and [`program`] make a whole, well formed program from any bytes.
//! - [`check`] optimises one and judges the result: meaning, cost, diagnostics, text.
//! - [`shrink`] makes a failing program as small as it gets.
//! - [`Transform`] rewrites a program so that its meaning stays.
//! - [`mutate_text`] and [`check_text`] do the like for the parser, on any text.
//!
//! The libFuzzer targets in `fuzz/` and the tests share these functions.

mod choices;
mod generate;
mod metamorphic;
mod oracle;
mod setup;
mod shrink;
mod text;

pub use choices::seeded_bytes;
pub use generate::{program, program_text};
pub use metamorphic::Transform;
pub use oracle::{Effort, Failure, FailureKind, Findings, TestCase, check};
pub use setup::Setup;
pub use shrink::shrink;
pub use text::{check_text, mutate_text, random_text};
