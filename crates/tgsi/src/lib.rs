//! TGSI, the shader language of Mesa's Gallium drivers: opcode table, text
//! parser, printer, sanity check, and diagnostics as data. No optimiser in sight.
//!
//! ```text
//! let (program, diagnostics) = tgsi::parse(text);
//! let text = tgsi::print(&program, &dialect);
//! ```

pub mod ast;
pub mod diag;
pub mod eval;
pub mod opcode;
mod optable;
pub mod usage;

pub use ast::*;
pub use diag::{Diagnostic, Severity};
pub use opcode::{Effect, Era, Eval, OpInfo, Opcode, Shape, Ty};
