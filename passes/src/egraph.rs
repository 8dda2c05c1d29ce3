//! # What
//! Rewriting by rules: every value gets the alternatives that the rules of `passes/rules` allow,
//! and the cheapest are computed.
//!
//! # Why
//! Which of two equal forms is better depends on what stands beside it: a product and a sum are
//! one MAD or three lanes of a dot product. A fixed order of rewrites cannot know.
//!
//! # Algorithm
//! An acyclic e-graph (`tgsi-egraph`): rules apply while values are made, then a choice by a cost
//! that sees lanes and registers.
//!
//! # Preserves
//! What the float profile does not grant: rules carry contracts. Precise values are never matched.
//!
//! # Limits
//! The counted budgets of [`Effort`].
//!
//! # Cost
//! Two rebuilds, and matching in proportion to the number of values.
//!
//! # Tests
//! In `crates/tgsi-egraph/tests` and `tests/cases/egraph`; of the rules in `crates/tgsi-rules/tests`.

use tgsi::Opcode;
use tgsi_egraph::{
    Config, Graph, Limits, Theory, extract, may_apply, saturate, saturate_with_egg, steps, to_dot,
};
pub use tgsi_egraph::{Membership, Model};
use tgsi_ir::rewrite::{Edits, PhiInputs, rebuild_from};
use tgsi_ir::{Function, LaneHint, VOp, ix};

use tgsi_rules::{Contract, Profile};

use crate::cx::{PassCx, Rewriting, Sabotage};
use crate::facts::count_uses;
use crate::rules::{rule_set, rules};
use crate::simplify::reduced;

/// How values are priced by default.
pub const MODEL: Model = Model {
    lanes: true,
    rounds: 2,
};

/// Prices that do not see lanes.
pub const SHARED: Model = Model {
    lanes: false,
    rounds: 2,
};

/// How much may be tried. Budgets are counted, so that results do not depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Most alternatives of one value.
    pub alternatives: usize,
    /// How deep rules apply to what rules made.
    pub depth: u32,
    /// Most matches of one value.
    pub matches: u32,
    /// Whether rules are tried that seldom pay by themselves.
    pub explore: bool,
}

/// For the level of one round: rules apply to what the program holds, not to what rules make.
pub const QUICK: Effort = Effort {
    alternatives: 2,
    depth: 0,
    matches: 2,
    explore: false,
};

/// What real programs need: more of everything gains nothing below a search.
pub const PLAIN: Effort = Effort {
    alternatives: 3,
    depth: 1,
    matches: 4,
    explore: false,
};

/// The same rules, followed further.
pub const DEEP: Effort = Effort {
    alternatives: 5,
    depth: 3,
    matches: 32,
    explore: false,
};

/// Everything, for the level that searches.
pub const WIDE: Effort = Effort {
    alternatives: 5,
    depth: 3,
    matches: 64,
    explore: true,
};

/// Rewrites with the default prices.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let (new, rewriting) = rewritten(func, cx, PLAIN, &[MODEL]).pop()?;
    cx.rewriting.borrow_mut().add(&rewriting);
    Some(new)
}

/// The budgets and liberties of a run.
fn config<'a>(
    func: &Function,
    cx: &'a PassCx,
    effort: Effort,
    sensitive: &'a [bool],
    spend: &'a dyn Fn(u16, LaneHint) -> bool,
) -> Config<'a> {
    Config {
        granted: cx.profile.grants(func.zero_wins),
        alternatives: effort.alternatives,
        depth: effort.depth,
        matches: effort.matches,
        explore: effort.explore,
        taken: &cx.taken,
        spend,
        spoiled: match cx.sabotage {
            Some(Sabotage::Rule(r)) => Some(r),
            _ => None,
        },
        disabled: &cx.disabled_rules,
        chaos: cx.chaos,
        sensitive,
    }
}

/// The graph of a function; nothing if no rule changes anything.
fn graph(func: &Function, cx: &PassCx, effort: Effort) -> Option<Graph> {
    let rules = rules();
    let sensitive = sensitive(func);
    let spend = |rule, hint| cx.spend_on_rule(rule, hint);
    let config = config(func, cx, effort, &sensitive, &spend);
    if !may_apply(func, rules, &config) {
        return None;
    }
    let phis = PhiInputs::collect(func);
    let readers = count_uses(func, &phis);
    let g = saturate(func, &phis, &readers, rules, &config, &mut |f, n| {
        reduced(f, n, &cx.taken)
    });
    (!g.is_plain()).then_some(g)
}

/// The graph in the language of Graphviz, with what the default prices choose; nothing if no rule
/// changes anything.
pub fn dot(func: &Function, cx: &PassCx, effort: Effort) -> Option<String> {
    let g = graph(func, cx, effort)?;
    let phis = PhiInputs::collect(&g.f);
    let choice = extract(&g, &phis, rules(), MODEL);
    Some(to_dot(&g, &phis, rules(), &choice))
}

/// One function for each of the models that changes something, with what rules did to it.
pub fn rewritten(
    func: &Function,
    cx: &PassCx,
    effort: Effort,
    models: &[Model],
) -> Vec<(Function, Rewriting)> {
    match graph(func, cx, effort) {
        Some(g) => extracted(&g, cx, 1, models),
        None => Vec::new(),
    }
}

/// Limits of equality saturation: what real programs gain from more is less than what it costs.
pub const SATURATION: Limits = Limits {
    iterations: 4,
    growth: 6,
    least: 2_000,
    most: 9_000,
    matches: 4,
    alternatives: 8,
};

/// As [`rewritten`], with what equality saturation finds under [`SATURATION`].
pub fn saturated(
    func: &Function,
    cx: &PassCx,
    effort: Effort,
    models: &[Model],
) -> Vec<(Function, Rewriting)> {
    let rules = rules();
    let sensitive = sensitive(func);
    let spend = |rule, hint| cx.spend_on_rule(rule, hint);
    let config = config(func, cx, effort, &sensitive, &spend);
    // The number of rewrites is not counted inside egg: with fuel there is no search.
    if cx.fuel.get().is_some() || !may_apply(func, rules, &config) {
        return Vec::new();
    }
    let phis = PhiInputs::collect(func);
    let (g, done) = saturate_with_egg(
        func,
        &phis,
        (rule_set(), rules),
        &config,
        SATURATION,
        &mut |f, n| reduced(f, n, &cx.taken),
    );
    if g.is_plain() {
        return Vec::new();
    }
    extracted(&g, cx, done.iterations as u32, models)
}

/// One function for each of the models that changes something.
fn extracted(
    g: &Graph,
    cx: &PassCx,
    iterations: u32,
    models: &[Model],
) -> Vec<(Function, Rewriting)> {
    let rules = rules();
    let phis = PhiInputs::collect(&g.f);
    let replaced: u32 = g.replaced.iter().sum();
    models
        .iter()
        .filter_map(|&model| {
            let choice = extract(g, &phis, rules, model);
            if replaced == 0 && choice.rules.is_empty() && choice.searched == 0 {
                return None;
            }
            let mut fired = g.replaced.clone();
            for &(_, r) in &choice.rules {
                fired[usize::from(r)] += 1;
            }
            let rewriting = Rewriting {
                nodes: g.f.values.len() as u64,
                classes: g.alternatives.iter().filter(|a| !a.is_empty()).count() as u64,
                fired,
                contract: choice.contract,
                iterations,
                reached: g.reached,
                steps: if cx.explain {
                    let steps = steps(g, &phis, &choice);
                    steps.iter().map(|(h, r)| (h.inst, h.lane, *r)).collect()
                } else {
                    Vec::new()
                },
            };
            let new = rebuild_from(&g.f, &choice.edits, &phis, &mut |f, _, n| n.intern(f));
            Some((new, rewriting))
        })
        .collect()
}

/// How much of a result is equal to its source under the rules: those of `contract`, which the result
/// rests on, within what `profile` grants. Both are looked at as they are lifted, by none of the passes.
pub fn membership(
    source: &Function,
    result: &Function,
    contract: Contract,
    profile: Profile,
) -> Membership {
    let [source, result] = [source, result].map(|f| {
        let phis = PhiInputs::collect(f);
        rebuild_from(f, &Edits::default(), &phis, &mut |f, _, n| n.intern(f))
    });
    let grants = profile.grants(source.zero_wins);
    // Which product zero wins is a property of the program.
    let theory = Theory {
        set: rule_set(),
        rules: rules(),
        granted: contract.and(Profile::Strict.grants(source.zero_wins)),
        any_nan: grants.includes(Contract::NNAN),
    };
    let last_bits = [sensitive(&source), sensitive(&result)];
    tgsi_egraph::membership([&source, &result], [&last_bits[0], &last_bits[1]], &theory)
}

/// Values that FRC, SIN and their kin make much of: a last bit of `x * 43758.5` is a different noise.
/// An angle or a phase is computed from everything before it, so all of that counts.
fn sensitive(f: &Function) -> Vec<bool> {
    use Opcode::*;
    let magnifies = |op| {
        matches!(
            op,
            Frc | Flr | Ceil | Trunc | Round | Sin | Cos | F2i | F2u | Arl | Arr
        )
    };
    let any = f
        .values
        .values()
        .any(|d| matches!(d.op, VOp::Alu(op) if magnifies(op)));
    if !any {
        return Vec::new();
    }
    let mut marked = vec![false; f.values.len()];
    for (v, d) in f.values.iter().rev() {
        let here = match d.op {
            VOp::Alu(op) => magnifies(op) || marked[ix(v)],
            VOp::Neg | VOp::Abs | VOp::Sat => marked[ix(v)],
            _ => false,
        };
        if here {
            d.args.iter().for_each(|&a| marked[ix(a)] = true);
        }
    }
    marked
}
