//! # What
//! A phi whose inputs, itself aside, are one value is that value.
//!
//! # Why
//! LIFT makes phis for every channel written in a region and read behind it; many of them merge a
//! value with itself once dead paths and equal computations are gone.
//!
//! # Algorithm
//! Phis are visited in region order until nothing changes; inputs are resolved through earlier
//! findings, so chains of copies fall in one go. An input that is an uninitialised word counts as
//! any value if nothing else reads that word, and if the other input surely exists at the phi.
//!
//! # Preserves
//! Bits. A value may now be used outside the loop that computes it: its last value there.
//!
//! # Limits
//! The value must precede the phi in the arena; it does unless it goes round a loop.
//!
//! # Cost
//! Linear in phi inputs for each round, few rounds; one rebuild if anything was found.
//!
//! # Tests
//! Below: branches, loops, chains, several exits with different values, uninitialised words.

use tgsi_ir::rewrite::{Edits, PhiInputs, rebuild_from};
use tgsi_ir::{Function, VOp, Value, ix};

use crate::PassCx;
use crate::const_fold::keep;

/// Replaces phis of one value.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut edits = Edits::default();
    let phis = PhiInputs::collect(func);
    find(func, cx, &phis, &mut edits);
    (!edits.is_empty()).then(|| rebuild_from(func, &edits, &phis, &mut keep))
}

/// Adds the replacements to `edits`.
pub(crate) fn find(func: &Function, cx: &PassCx, phis: &PhiInputs, edits: &mut Edits) {
    // Only a way round a loop brings in what comes later.
    let loops = phis
        .order
        .iter()
        .any(|&p| phis.of(p).iter().any(|&a| ix(a) > ix(p)));
    loop {
        let mut found = false;
        for &phi in &phis.order {
            if let Some(v) = only_input(edits, phi, phis.of(phi))
                && ix(v) < ix(phi)
                && !edits.redefine.contains_key(&phi)
                && !edits.subst.contains_key(&phi)
                && cx.spend()
            {
                edits.subst.insert(phi, v);
                found = true;
            }
        }
        if !found || !loops {
            break;
        }
    }
    undefined(func, cx, phis, edits);
}

/// The one value among the inputs other than the phi itself.
fn only_input(edits: &Edits, phi: Value, inputs: &[Value]) -> Option<Value> {
    let mut only = None;
    let none = edits.subst.is_empty();
    for &v in inputs {
        let v = if none { v } else { edits.resolve(v) };
        if v == phi || only == Some(v) {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = Some(v);
    }
    only
}

/// Phis of one value and of words that nothing else reads and nobody wrote.
fn undefined(func: &Function, cx: &PassCx, phis: &PhiInputs, edits: &mut Edits) {
    if !func.values.values().any(|d| matches!(d.op, VOp::Undef(_))) {
        return;
    }
    let mut uses = vec![0u32; func.values.len()];
    for (_, d) in func.values.iter() {
        d.args.iter().for_each(|&a| uses[ix(a)] += 1);
    }
    phis.order
        .iter()
        .flat_map(|p| phis.of(*p))
        .for_each(|&a| uses[ix(edits.resolve(a))] += 1);
    func.end_args
        .iter()
        .flatten()
        .for_each(|&a| uses[ix(a)] += 1);
    tgsi_ir::rewrite::walk(func, &func.body, &mut |item| match item {
        tgsi_ir::Item::If(i) => uses[ix(i.cond)] += 1,
        tgsi_ir::Item::Switch(s) => uses[ix(s.selector)] += 1,
        tgsi_ir::Item::Depart(tgsi_ir::FUNCTION, args) => {
            args.iter().for_each(|&a| uses[ix(a)] += 1)
        }
        _ => {}
    });
    let mut wanted = false;
    for &phi in &phis.order {
        let inputs = phis.of(phi);
        wanted |= inputs
            .iter()
            .any(|&v| matches!(func.values[v].op, VOp::Undef(_)) && uses[ix(v)] == 1);
    }
    if !wanted {
        return;
    }
    let anchors = crate::facts::Anchors::collect(func);
    for &phi in &phis.order {
        if edits.subst.contains_key(&phi) || edits.redefine.contains_key(&phi) {
            continue;
        }
        let inputs = phis.of(phi);
        let is_free = |v: Value| matches!(func.values[v].op, VOp::Undef(_)) && uses[ix(v)] == 1;
        if !inputs.iter().any(|&v| is_free(v)) {
            continue;
        }
        let others: Vec<Value> = inputs.iter().copied().filter(|&v| !is_free(v)).collect();
        if let Some(v) = only_input(edits, phi, &others)
            && ix(v) < ix(phi)
            && anchors.exists_at(v, phi)
            && cx.spend()
        {
            edits.subst.insert(phi, v);
        }
    }
}
