//! The passes of tgsi-opt: one file a pass, one public function a file.
//!
//! A pass takes a [`Function`](tgsi_ir::Function) and gives a better one, or `None` if it finds
//! nothing to do. Every caller goes through [`run_pass`] or [`clean`]. All transforms are exact:
//! equal bits, but for the payload of a NaN that a float operation made.

pub mod algebra;
pub mod branch_test;
pub mod const_fold;
pub mod copy_prop;
pub mod cx;
pub mod dce;
pub mod dead_flow;
pub mod dse;
pub mod egraph;
pub mod facts;
pub mod gvn;
pub mod if_convert;
pub mod legalize;
pub mod mad_fuse;
pub mod memory;
pub mod registry;
pub mod rules;
mod simplify;
#[cfg(test)]
mod testing;
pub mod unroll;

pub use cx::PassCx;
pub use registry::{PASSES, Pass, clean, pass_named, run_pass};
