//! Equal values, and which of them to compute.
//!
//! [`saturate`] rebuilds a function so that every value carries the alternatives that rules
//! give it; [`extract`] chooses among them by a cost that sees lanes and registers; the
//! chosen function is an ordinary one again. The graph is acyclic: a value's alternatives are
//! made before it, of operands that precede it, and phis are leaves.

mod acyclic;
mod compile;
mod dot;
mod extract;
mod info;
mod membership;
mod saturation;
mod trace;

pub use acyclic::{Config, Graph, Made, Simplify, may_apply, saturate};
pub use compile::Rules;
pub use dot::to_dot;
pub use extract::{Choice, Model, extract};
pub use info::Info;
pub use membership::{MOST_VALUES, Membership, Theory, membership};
pub use saturation::{Limits, Saturation, saturate_with_egg};
pub use trace::{Reached, Step, steps};
