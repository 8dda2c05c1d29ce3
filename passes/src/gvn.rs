//! # What
//! Phis of one region that always hold the same value become one; a texture fetch or derivative
//! whose twin was computed before becomes that twin.
//!
//! # Why
//! Pure operations are numbered by construction; phis and operations that stay in their block are
//! not. Front ends carry several copies of a loop counter and fetch the same texel for each use.
//!
//! # Algorithm
//! Phis: optimistic value numbering. All phis of a region are taken for equal, values are numbered
//! under that assumption, phis whose inputs differ in number are parted, until nothing changes.
//! Fetches: a walk with the operations that stand in this body and those around it; the masks of
//! twins are joined.
//!
//! # Preserves
//! Bits. The surviving fetch dominates the other, and keeps its place, so its neighbours are there.
//!
//! # Limits
//! Votes and ballots depend on which lanes are active and are left; so are buffer and image loads.
//!
//! # Cost
//! Numbering is linear for each round, and is skipped when no region has two phis with an equal
//! first input, without which no two phis can be equal.
//!
//! # Tests
//! Below: equal results, two counters, counters of different step, fetches with other masks, in
//! arms, behind loops.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use tgsi::{Inst, Opcode};
use tgsi_ir::rewrite::{PhiInputs, walk};
use tgsi_ir::{Args, Body, Function, Item, MultiKind, VOp, Value, ix};

use crate::PassCx;
use crate::simplify::{Plan, Rules, rebuild_plan};

/// Most rounds of numbering. Each parts at least one class; nests of loops need a few.
const ROUNDS: usize = 16;

/// Merges equal phis and fetches.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut plan = Plan::default();
    let phis = PhiInputs::collect(func);
    find_phis(func, cx, &phis, &mut plan);
    find_fetches(func, cx, &mut plan);
    (!plan.is_empty()).then(|| {
        rebuild_plan(
            func,
            &plan,
            &phis,
            cx,
            Rules {
                fold: false,
                algebra: false,
            },
        )
    })
}

/// Adds phis that equal an earlier one of their region to the plan.
pub(crate) fn find_phis(func: &Function, cx: &PassCx, phis: &PhiInputs, plan: &mut Plan) {
    let lists = phi_lists(func, phis, plan);
    if lists.is_empty() {
        return;
    }
    let mut rep: Vec<Value> = func
        .values
        .iter()
        .map(|(v, _)| plan.edits.resolve(v))
        .collect();
    for list in &lists {
        list.iter().for_each(|&p| rep[ix(p)] = list[0]);
    }
    let mut stable = false;
    for _ in 0..ROUNDS {
        number(func, plan, &mut rep);
        stable = !part(phis, &lists, &mut rep);
        if stable {
            break;
        }
    }
    if !stable {
        return;
    }
    for list in &lists {
        for &p in list {
            let r = rep[ix(p)];
            if r != p && ix(r) < ix(p) && cx.spend() {
                plan.edits.subst.insert(p, r);
            }
        }
    }
}

/// The phis of each region that has several; empty if no two phis can be equal.
fn phi_lists(func: &Function, phis: &PhiInputs, plan: &Plan) -> Vec<Vec<Value>> {
    let mut lists: Vec<Vec<Value>> = Vec::new();
    let mut possible = false;
    let mut add = |list: &[Value]| {
        let mut open: Vec<Value> = list
            .iter()
            .copied()
            .filter(|p| {
                !phis.of(*p).is_empty()
                    && !plan.edits.subst.contains_key(p)
                    && !plan.edits.redefine.contains_key(p)
            })
            .collect();
        if open.len() < 2 {
            return;
        }
        open.sort_unstable_by_key(|&p| ix(p));
        let mut firsts: SmallVec<[usize; 16]> = open
            .iter()
            .map(|p| ix(plan.edits.resolve(phis.of(*p)[0])))
            .collect();
        firsts.sort_unstable();
        possible |= firsts.windows(2).any(|w| w[0] == w[1]);
        lists.push(open);
    };
    walk(func, &func.body, &mut |item| match item {
        Item::If(i) => add(&i.results),
        Item::Loop(l) => {
            add(&l.params);
            add(&l.results);
        }
        Item::Switch(s) => {
            s.cases.iter().for_each(|c| add(&c.params));
            add(&s.results);
        }
        _ => {}
    });
    if possible { lists } else { Vec::new() }
}

/// Numbers all values that are not phis, given the numbers of the phis. Only values with an
/// operand that has another number than its own can change; the function's own table holds the rest.
fn number(func: &Function, plan: &Plan, rep: &mut [Value]) {
    let mut new: FxHashMap<(VOp, bool, Args), Value> = FxHashMap::default();
    for (v, d) in func.values.iter() {
        if let VOp::Phi(_) = d.op
            && !plan.edits.redefine.contains_key(&v)
        {
            if let Some(&t) = plan.edits.subst.get(&v) {
                rep[ix(v)] = rep[ix(plan.edits.resolve(t))];
            }
            continue;
        }
        if d.args.iter().all(|&a| rep[ix(a)] == a) {
            rep[ix(v)] = v;
            continue;
        }
        let args: Args = d.args.iter().map(|&a| rep[ix(a)]).collect();
        rep[ix(v)] = match func.find(d.op, d.precise, &args) {
            Some(old) => rep[ix(old)],
            None => *new.entry((d.op, d.precise, args)).or_insert(v),
        };
    }
}

/// Parts classes whose inputs differ; whether any did.
fn part(phis: &PhiInputs, lists: &[Vec<Value>], rep: &mut [Value]) -> bool {
    let mut changed = false;
    let mut new: Vec<(Value, Value)> = Vec::new();
    let mut table: FxHashMap<(Value, SmallVec<[Value; 4]>), Value> = FxHashMap::default();
    for list in lists {
        table.clear();
        for &p in list {
            let inputs = phis.of(p).iter().map(|&a| rep[ix(a)]).collect();
            let r = *table.entry((rep[ix(p)], inputs)).or_insert(p);
            changed |= r != rep[ix(p)];
            new.push((p, r));
        }
    }
    for (p, r) in new {
        rep[ix(p)] = r;
    }
    changed
}

/// Whether an operation with a place of its own gives the same result wherever its operands are
/// the same, as long as the first place dominates the second.
fn is_fetch(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Tex | Txb
            | Txp
            | Tex2
            | Txb2
            | Ddx
            | Ddy
            | DdxFine
            | DdyFine
            | Lodq
            | Lod
            | Sample
            | SampleB
            | SampleC
            | InterpCentroid
            | InterpSample
            | InterpOffset
    )
}

/// Adds operations that a twin before them makes superfluous to the plan.
pub(crate) fn find_fetches(func: &Function, cx: &PassCx, plan: &mut Plan) {
    let mut f = Fetches {
        func,
        cx,
        plan,
        seen: FxHashMap::default(),
        trail: Vec::new(),
    };
    // Floating ones need no place; the first in the arena precedes all users.
    for (v, d) in func.values.iter() {
        if let VOp::Multi(m) = d.op
            && func.multis[m.0 as usize].kind == MultiKind::Pure
        {
            f.visit(v);
        }
    }
    f.seen.clear();
    f.body(&func.body);
}

struct Fetches<'a> {
    func: &'a Function,
    cx: &'a PassCx,
    plan: &'a mut Plan,
    seen: FxHashMap<u64, SmallVec<[Value; 2]>>,
    /// Keys of what was added, to be taken back at the end of a body.
    trail: Vec<u64>,
}

impl Fetches<'_> {
    fn body(&mut self, body: &Body) {
        let mark = self.trail.len();
        for item in &body.items {
            match item {
                Item::Effect(v) => {
                    if self
                        .func
                        .as_multi(*v)
                        .is_some_and(|m| m.kind == MultiKind::Pinned && is_fetch(m.inst.op))
                    {
                        self.visit(*v);
                    }
                }
                Item::If(i) => {
                    self.body(&i.then);
                    self.body(&i.els);
                }
                Item::Loop(l) => self.body(&l.body),
                Item::Switch(s) => s.cases.iter().for_each(|c| self.body(&c.body)),
                Item::Depart(..) | Item::Repeat(..) => {}
            }
        }
        while self.trail.len() > mark {
            if let Some(key) = self.trail.pop()
                && let Some(list) = self.seen.get_mut(&key)
            {
                list.pop();
            }
        }
    }

    fn visit(&mut self, v: Value) {
        let (func, plan) = (self.func, &mut *self.plan);
        let Some(m) = func.as_multi(v) else { return };
        let args: Args = func.values[v]
            .args
            .iter()
            .map(|&a| plan.edits.resolve(a))
            .collect();
        let mut h = FxHasher::default();
        (m.inst.op, m.inst.target, &args).hash(&mut h);
        let key = h.finish();
        let list = self.seen.entry(key).or_default();
        for &first in list.iter() {
            let Some(o) = func.as_multi(first) else {
                continue;
            };
            let same = func.values[first].precise == func.values[v].precise
                && o.slots == m.slots
                && twins(&o.inst, &m.inst)
                && func.values[first]
                    .args
                    .iter()
                    .map(|&a| plan.edits.resolve(a))
                    .eq(args.iter().copied());
            if same && ix(first) < ix(v) && self.cx.spend() {
                plan.edits.subst.insert(v, first);
                if let VOp::Multi(id) = func.values[first].op {
                    plan.widened.push((id, m.results));
                }
                return;
            }
        }
        list.push(v);
        self.trail.push(key);
    }
}

/// Whether two instructions differ in their write mask at most.
fn twins(a: &Inst, b: &Inst) -> bool {
    a.op == b.op
        && a.sat == b.sat
        && a.precise == b.precise
        && a.target == b.target
        && a.srcs == b.srcs
        && a.offsets == b.offsets
        && a.memory == b.memory
        && a.dsts.len() == 1
        && b.dsts.len() == 1
        && a.dsts[0].reg == b.dsts[0].reg
}
