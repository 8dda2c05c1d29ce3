//! What was done to which value: the rules on the way to what is computed.

use tgsi_ir::rewrite::{Node, PhiInputs, liveness};
use tgsi_ir::{Args, LaneHint, Value, ix};

use crate::{Choice, Graph};

/// How often budgets of [`crate::Config`] ran out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Values with as many alternatives as there may be, and a rule that had one more.
    pub alternatives: u32,
    /// Operations that rules made too deep for rules to look at them.
    pub depth: u32,
    /// Values with as many matches as there may be, and rules left to try.
    pub matches: u32,
}

impl Reached {
    /// The budgets by name, with how often they ran out.
    pub fn by_name(&self) -> [(&'static str, u32); 3] {
        [
            ("alternatives", self.alternatives),
            ("depth", self.depth),
            ("matches", self.matches),
        ]
    }

    /// Adds what another graph ran into.
    pub fn add(&mut self, other: Reached) {
        self.alternatives += other.alternatives;
        self.depth += other.depth;
        self.matches += other.matches;
    }
}

/// A replacement by a rule.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where the source computed what was replaced.
    pub hint: LaneHint,
    /// The rule.
    pub rule: u16,
    /// What stands in its place.
    pub value: Value,
    /// Operands of what was replaced.
    args: Args,
}

impl Step {
    /// The step from an operation to `value`.
    pub(crate) fn new(rule: u16, from: &Node, value: Value) -> Step {
        Step {
            hint: from.hint,
            rule,
            value,
            args: from.args.clone(),
        }
    }
}

/// The rules on the way to what a choice computes, with where the source computed what they
/// changed: replacements in order, then chosen alternatives.
pub fn steps(g: &Graph, phis: &PhiInputs, choice: &Choice) -> Vec<(LaneHint, u16)> {
    let mut on_the_way = liveness(&g.f, &choice.edits, phis).live;
    // What a rule matched led to its result, although the result may need none of it.
    let matched = |args: &[Value], on: &mut Vec<bool>| {
        for &a in args {
            on[ix(a)] = true;
            for &b in &g.f.values[a].args {
                on[ix(b)] = true;
            }
        }
    };
    for &(v, _) in &choice.rules {
        matched(&g.f.values[v].args, &mut on_the_way);
    }
    let mut taken: Vec<(LaneHint, u16)> = Vec::new();
    for step in g.trail.iter().rev() {
        if on_the_way[ix(step.value)] {
            matched(&step.args, &mut on_the_way);
            taken.push((step.hint, step.rule));
        }
    }
    taken.reverse();
    taken.extend(choice.rules.iter().map(|&(v, r)| (g.f.values[v].hint, r)));
    taken
}
