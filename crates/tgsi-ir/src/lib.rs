//! Structured regions over per-channel SSA.

pub mod cfg;
mod intern;
mod print;
pub mod verify;
pub mod ir;
pub mod layout;
pub mod lift;
pub mod rewrite;

pub use cfg::Cfg;
pub use ir::*;
pub use lift::{LiftError, lift};
pub use verify::{Violation, verify};
