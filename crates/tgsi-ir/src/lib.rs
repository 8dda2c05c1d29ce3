//! Structured regions over per-channel SSA.

pub mod ir;
pub mod lift;
pub mod rewrite;

pub use ir::*;
pub use lift::{LiftError, lift};
