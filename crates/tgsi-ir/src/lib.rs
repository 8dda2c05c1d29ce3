//! Structured regions over per-channel SSA.

pub mod cfg;
pub mod chaos;
mod intern;
pub mod ir;
pub mod layout;
pub mod lift;
mod print;
pub mod rewrite;
pub mod verify;

pub use cfg::Cfg;
pub use chaos::Chaos;
pub use ir::*;
pub use lift::{LiftError, lift};
pub use verify::{Violation, verify};
