//! The engine of the passes that are rules: folds and identities, to a fixpoint, in one rebuild.

use tgsi_ir::rewrite::{Edits, Node, rebuild_with};
use tgsi_ir::{Function, VOp, Value};

use crate::algebra::{self, Step};
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

/// Simplifies the function; `None` if no rule applied.
pub(crate) fn simplified(func: &Function, cx: &PassCx, rules: Rules) -> Option<Function> {
    let before = cx.rewrites.get();
    let new = rebuild_simplified(func, &Edits::default(), cx, rules);
    (cx.rewrites.get() != before).then_some(new)
}

/// Rebuilds under `edits`, simplifying on the way.
pub(crate) fn rebuild_simplified(
    func: &Function,
    edits: &Edits,
    cx: &PassCx,
    rules: Rules,
) -> Function {
    let bits = if rules.algebra {
        BitReads::collect(func)
    } else {
        BitReads::default()
    };
    rebuild_with(func, edits, &mut |f, origin, node| {
        if is_leaf(node.op) {
            return node.intern(f);
        }
        let payload_free = rules.algebra && !bits.any(origin);
        apply(f, node, rules, payload_free, &mut || cx.spend())
    })
}

fn is_leaf(op: VOp) -> bool {
    matches!(op, VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) | VOp::Phi(_))
}

/// Simplifies a new operation that an identity needs on its right-hand side.
pub(crate) fn make(f: &mut Function, node: Node) -> Value {
    apply(f, node, ALL, false, &mut || true)
}

fn apply(
    f: &mut Function,
    mut node: Node,
    rules: Rules,
    payload_free: bool,
    spend: &mut dyn FnMut() -> bool,
) -> Value {
    for _ in 0..LIMIT {
        if rules.fold
            && let Some(v) = const_fold::fold(f, &node)
        {
            if spend() {
                return v;
            }
            break;
        }
        if !rules.algebra {
            break;
        }
        match algebra::step(f, &node, payload_free) {
            Step::Keep => break,
            Step::Value(v) => {
                if spend() {
                    return v;
                }
                break;
            }
            Step::Node(n) => {
                if !spend() {
                    break;
                }
                node = n;
            }
        }
    }
    if rules.algebra {
        algebra::reuse_commuted(f, &mut node);
    }
    node.intern(f)
}
