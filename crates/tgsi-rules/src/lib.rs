//! Rewrite rules as data.
//!
//! A rule is one line of text: a name, two terms over scalar operations, the float contract
//! it needs, conditions on what its variables stand for, and why it holds:
//!
//! ```text
//! mad-form: (add (mul a b) c) ~> (mad a b c) [contract] -- one rounding may go
//! ```
//!
//! [`RuleSet::parse`] reads such lines; matchers and documentation are made from the same
//! data. A [`Profile`] says which contracts a program grants.

mod canonical;
mod contract;
mod parse;
pub mod prove;
mod term;

pub use canonical::canonical;
pub use contract::{Contract, Profile};
pub use parse::{RuleError, RuleSet};
pub use term::{Cond, Direction, Fact, Op, Rule, Term, Var};
