//! The engine of the passes that are rules: folds and identities, to a fixpoint, in one rebuild.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};
use tgsi::Opcode;
use tgsi_egraph::Made;
use tgsi_ir::rewrite::{Edits, Node, PhiInputs, rebuild_from};
use tgsi_ir::{Function, LaneHint, MultiId, VOp, Value, value_at};
use tgsi_target::Taken;

use crate::algebra::{self, Place, Step};
use crate::cx::Sabotage;
use crate::facts::BitReads;
use crate::{PassCx, const_fold};

/// How often a rule is applied to its own result. Every identity makes its operation smaller or
/// more canonical, so this is a guard, not a budget.
const LIMIT: u32 = 16;

/// Which rules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Constant folding.
    pub fold: bool,
    /// Identities.
    pub algebra: bool,
}

/// All rules.
pub(crate) const ALL: Rules = Rules {
    fold: true,
    algebra: true,
};

/// How a phi that becomes a selection reads the condition of its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    /// UCMP of the condition.
    Bits,
    /// CMP of the negated condition, which is 0.0 or 1.0.
    Negated,
    /// UCMP of FSNE(condition, 0).
    NotZero,
}

/// What the analyses of several passes ask of one rebuild.
#[derive(Default)]
pub(crate) struct Plan {
    /// For the frame.
    pub edits: Edits,
    /// Redefined phis whose UCMP needs another form of condition.
    pub selects: FxHashMap<Value, Select>,
    /// Result channels that an operation gets because a twin of it goes.
    pub widened: Vec<(MultiId, u8)>,
    /// Loads all of whose channels are known.
    pub forwarded: FxHashSet<Value>,
}

impl Plan {
    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }
}

/// Rebuilds as planned, simplifying on the way.
pub(crate) fn rebuild_plan(
    func: &Function,
    plan: &Plan,
    phis: &PhiInputs,
    cx: &PassCx,
    rules: Rules,
) -> Function {
    if plan.widened.is_empty() {
        return rebuild_simplified(func, plan, phis, cx, rules);
    }
    let mut wider = func.clone();
    for &(m, results) in &plan.widened {
        let m = &mut wider.multis[m.0 as usize];
        m.results |= results;
        if let Some(d) = m.inst.dsts.first_mut() {
            d.mask |= results & 15;
        }
    }
    rebuild_simplified(&wider, plan, phis, cx, rules)
}

/// Simplifies the function; `None` if no rule applied.
pub(crate) fn simplified(func: &Function, cx: &PassCx, rules: Rules) -> Option<Function> {
    let before = cx.rewrites.get();
    let new = rebuild_simplified(func, &Plan::default(), &PhiInputs::collect(func), cx, rules);
    (cx.rewrites.get() != before).then_some(new)
}

fn rebuild_simplified(
    func: &Function,
    plan: &Plan,
    phis: &PhiInputs,
    cx: &PassCx,
    rules: Rules,
) -> Function {
    let bits = if rules.algebra {
        BitReads::collect(func, phis)
    } else {
        BitReads::default()
    };
    let mixed = if rules.algebra {
        mixed_choices(func)
    } else {
        FxHashSet::default()
    };
    rebuild_from(func, &plan.edits, phis, &mut |f, origin, mut node| {
        if is_leaf(node.op) {
            return node.intern(f);
        }
        if !plan.selects.is_empty()
            && let Some(&select) = plan.selects.get(&origin)
        {
            prepare(f, &mut node, select);
        }
        let place = Place {
            payload_free: rules.algebra && !bits.any(origin),
            mixed: !mixed.is_empty() && mixed.contains(&node.hint.inst),
        };
        apply(f, node, rules, place, &cx.taken, Some(cx))
    })
}

/// Source instructions whose UCMP lanes choose between different values: taking one lane out of
/// them costs an instruction instead of saving one.
fn mixed_choices(func: &Function) -> FxHashSet<u32> {
    let mut first: FxHashMap<u32, &[Value]> = FxHashMap::default();
    let mut mixed = FxHashSet::default();
    for d in func
        .values
        .values()
        .filter(|d| d.op == VOp::Alu(Opcode::Ucmp))
    {
        let arms = d.args.get(1..).unwrap_or_default();
        if *first.entry(d.hint.inst).or_insert(arms) != arms {
            mixed.insert(d.hint.inst);
        }
    }
    mixed
}

/// Gives a selection the condition its opcode needs.
fn prepare(f: &mut Function, node: &mut Node, select: Select) {
    let cond = node.args[0];
    let unary = Node {
        op: VOp::Neg,
        precise: false,
        wide: false,
        args: [cond].into_iter().collect(),
        hint: node.hint,
    };
    match select {
        Select::Bits => {}
        Select::Negated => {
            node.op = VOp::Alu(Opcode::Cmp);
            node.args[0] = make(f, unary);
        }
        Select::NotZero => {
            let zero = f.imm(0);
            let args = [cond, zero].into_iter().collect();
            node.args[0] = make(
                f,
                Node {
                    op: VOp::Alu(Opcode::Fsne),
                    args,
                    ..unary
                },
            );
        }
    }
}

fn is_leaf(op: VOp) -> bool {
    matches!(op, VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) | VOp::Phi(_))
}

/// Simplifies a new operation that an identity needs on its right-hand side.
pub(crate) fn make(f: &mut Function, node: Node) -> Value {
    let everything = &EVERYTHING;
    apply(f, node, ALL, Place::default(), everything, None)
}

/// For what is looked at as a whole once it is made.
static EVERYTHING: LazyLock<Taken> = LazyLock::new(Taken::default);

fn apply(
    f: &mut Function,
    node: Node,
    rules: Rules,
    place: Place,
    taken: &Taken,
    cx: Option<&PassCx>,
) -> Value {
    match reduce(f, node, rules, place, taken, cx) {
        Made::Value(v) => v,
        Made::Node(node) => node.intern(f),
    }
}

/// Simplifies an operation as far as the exact rules go, without interning what is left.
pub(crate) fn reduced(f: &mut Function, node: Node, taken: &Taken) -> Made {
    if is_leaf(node.op) {
        return Made::Node(node);
    }
    reduce(f, node, ALL, Place::default(), taken, None)
}

/// Whether a target takes what a step makes: the operation and the values that are new with it.
fn is_taken(f: &Function, before: usize, step: &Step, taken: &Taken) -> bool {
    let takes = |op: VOp| match op {
        VOp::Alu(op) => taken.may_make(op),
        VOp::Neg => taken.negate,
        VOp::Abs => taken.abs,
        VOp::Sat => taken.saturate,
        _ => true,
    };
    let made = match step {
        Step::Node(n) => takes(n.op),
        Step::Keep | Step::Value(_) => true,
    };
    made && (before..f.values.len()).all(|i| takes(f.values[value_at(i)].op))
}

/// The negation of a value.
fn negation(v: Value, hint: LaneHint) -> Node {
    Node {
        op: VOp::Neg,
        precise: false,
        wide: false,
        args: [v].into_iter().collect(),
        hint,
    }
}

/// Simplifies an operation. Without `cx` there is leave for everything.
fn reduce(
    f: &mut Function,
    mut node: Node,
    rules: Rules,
    place: Place,
    taken: &Taken,
    cx: Option<&PassCx>,
) -> Made {
    let hint = node.hint;
    let spend = |pass| cx.is_none_or(|cx| cx.spend(pass, Some(hint)));
    let sabotage = cx.and_then(|cx| cx.sabotage);
    for _ in 0..LIMIT {
        if rules.fold
            && let Some(v) = const_fold::fold(f, &node)
        {
            if spend("const-fold") {
                let v = match f.as_imm(v) {
                    Some(word) if sabotage == Some(Sabotage::ConstFold) => f.imm(word ^ 1 << 23),
                    _ => v,
                };
                return Made::Value(v);
            }
            break;
        }
        if !rules.algebra {
            break;
        }
        let before = f.values.len();
        let step = algebra::step(f, &node, place);
        if !taken.everything() && !is_taken(f, before, &step, taken) {
            break;
        }
        match step {
            Step::Keep => break,
            Step::Value(v) => {
                if spend("algebra") {
                    if sabotage == Some(Sabotage::Algebra) && !f.values[v].wide {
                        return Made::Node(negation(v, hint));
                    }
                    return Made::Value(v);
                }
                break;
            }
            Step::Node(n) => {
                if !spend("algebra") {
                    break;
                }
                node = n;
            }
        }
    }
    if rules.algebra {
        algebra::reuse_commuted(f, &mut node);
    }
    Made::Node(node)
}
