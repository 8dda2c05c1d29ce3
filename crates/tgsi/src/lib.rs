//! TGSI, the shader language of Mesa's Gallium drivers: opcode table, text
//! parser, printer, sanity check, and diagnostics as data. No optimiser in sight.
//!
//! ```text
//! let (program, diagnostics) = tgsi::parse(text);
//! let text = tgsi::print(&program, &dialect);
//! ```

pub mod ast;
pub mod check;
pub mod codes;
pub mod diag;
pub mod dialect;
pub mod eval;
mod lexer;
mod names;
pub mod opcode;
mod opnames;
mod optable;
pub mod parser;
pub mod printer;
mod sink;
pub mod usage;

pub use ast::*;
pub use check::check;
pub use diag::{Diagnostic, Severity};
pub use dialect::{Dialect, FloatForm, Labels, NonFinite, detect_dialect};
pub use opcode::{Effect, Era, Eval, OpInfo, Opcode, Shape, Ty};
pub use parser::{parse, parse_bytes};
pub use printer::print;
