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
    let lists = candidates(func, phis, plan, &lists);
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
            if r != p && ix(r) < ix(p) && cx.spend("gvn", Some(func.values[p].hint)) {
                plan.edits.subst.insert(p, r);
            }
        }
    }
}

/// The phis of each region that has several; empty if no two phis can be equal.
fn phi_lists(func: &Function, phis: &PhiInputs, plan: &Plan) -> Vec<Vec<Value>> {
    let is_open = |p: &Value| {
        !phis.of(*p).is_empty()
            && !plan.edits.subst.contains(*p)
            && !plan.edits.redefine.contains_key(p)
    };
    // The last region in which a value is the first input of a phi.
    let mut first_in = vec![0u32; func.values.len()];
    let mut region = 0;
    let mut possible = false;
    each_list(func, &mut |list| {
        region += 1;
        if possible || list.len() < 2 {
            return;
        }
        for p in list.iter().filter(|p| is_open(p)) {
            let first = ix(plan.edits.resolve(phis.of(*p)[0]));
            possible |= std::mem::replace(&mut first_in[first], region) == region;
        }
    });
    let mut lists: Vec<Vec<Value>> = Vec::new();
    if possible {
        each_list(func, &mut |list| {
            let mut open: Vec<Value> = list.iter().copied().filter(is_open).collect();
            if open.len() > 1 {
                open.sort_unstable_by_key(|&p| ix(p));
                lists.push(open);
            }
        });
    }
    lists
}

/// Calls `f` with the phis of each place that has any.
fn each_list(func: &Function, f: &mut dyn FnMut(&[Value])) {
    walk(func, &func.body, &mut |item| match item {
        Item::If(i) => f(&i.results),
        Item::Loop(l) => {
            f(&l.params);
            f(&l.results);
        }
        Item::Switch(s) => {
            s.cases.iter().for_each(|c| f(&c.params));
            f(&s.results);
        }
        _ => {}
    });
}

/// The phis of each list that may be equal: those whose inputs look alike when all phis of a list do.
/// Parts of one list follow each other.
fn candidates(
    func: &Function,
    phis: &PhiInputs,
    plan: &Plan,
    lists: &[Vec<Value>],
) -> Vec<Vec<Value>> {
    let looks = looks(func, plan, lists);
    let mut parts: Vec<Vec<Value>> = Vec::new();
    let mut keyed: Vec<(u64, Value)> = Vec::new();
    for list in lists {
        keyed.clear();
        keyed.extend(list.iter().map(|&p| {
            let mut h = FxHasher::default();
            let inputs = phis.of(p);
            h.write_usize(inputs.len());
            inputs.iter().for_each(|&a| h.write_u64(looks[ix(a)]));
            (h.finish(), p)
        }));
        keyed.sort_unstable_by_key(|&(k, p)| (k, ix(p)));
        for part in keyed.chunk_by(|a, b| a.0 == b.0) {
            if part.len() > 1 {
                parts.push(part.iter().map(|p| p.1).collect());
            }
        }
    }
    parts
}

/// A hash of how each value is computed, in which phis of one list are alike.
fn looks(func: &Function, plan: &Plan, lists: &[Vec<Value>]) -> Vec<u64> {
    let mut looks = vec![0u64; func.values.len()];
    for (k, list) in lists.iter().enumerate() {
        list.iter().for_each(|&p| looks[ix(p)] = k as u64 + 1);
    }
    for (v, d) in func.values.iter() {
        if let Some(t) = plan.edits.subst.get(v) {
            looks[ix(v)] = looks[ix(plan.edits.resolve(t))];
        } else if looks[ix(v)] == 0 {
            let mut h = FxHasher::default();
            d.op.hash(&mut h);
            for &a in &d.args {
                h.write_u64(looks[ix(a)]);
            }
            looks[ix(v)] = h.finish();
        }
    }
    looks
}

/// Numbers all values that are not phis, given the numbers of the phis. Only values with an
/// operand that has another number than its own can change; the function's own table holds the rest.
fn number(func: &Function, plan: &Plan, rep: &mut [Value]) {
    let mut new: FxHashMap<(VOp, bool, Args), Value> = FxHashMap::default();
    for (v, d) in func.values.iter() {
        if let VOp::Phi(_) = d.op
            && !plan.edits.redefine.contains_key(&v)
        {
            if let Some(t) = plan.edits.subst.get(v) {
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
            if same && ix(first) < ix(v) && self.cx.spend("gvn", Some(func.values[v].hint)) {
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::tree;

    #[test]
    fn two_counters() {
        let out = tree(
            &["gvn"],
            "MOV TEMP[0].xy, IMM[0].xxxx\n\
             BGNLOOP\n\
             USGE TEMP[1].x, TEMP[0].xxxx, IMM[2].xxxx\n\
             UIF TEMP[1].xxxx\n\
             BRK\n\
             ENDIF\n\
             UADD TEMP[0].xy, TEMP[0].xyxy, IMM[1].yyyy\n\
             ENDLOOP\n\
             UADD OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy",
        );
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = phi
            %2 = imm 0x10
            %3 = USGE %1, %2
            %4 = imm 0x1
            %5 = UADD %1, %4
            %6 = phi
            %7 = UADD %6, %6
            body
              %6 = loop 4
                params %1
                inits %0
                uif %3
                  depart 4 %1
                else
                  yield 
                next %5
            end OUT[0].x=%7
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn counters_of_different_step() {
        let out = tree(
            &["gvn"],
            "MOV TEMP[0].xy, IMM[0].xxxx\n\
             BGNLOOP\n\
             USGE TEMP[1].x, TEMP[0].xxxx, IMM[2].xxxx\n\
             UIF TEMP[1].xxxx\n\
             BRK\n\
             ENDIF\n\
             UADD TEMP[0].xy, TEMP[0].xyxy, IMM[1].ywyw\n\
             ENDLOOP\n\
             UADD OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy",
        );
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = phi
            %2 = phi
            %3 = imm 0x10
            %4 = USGE %1, %3
            %5 = imm 0x1
            %6 = UADD %1, %5
            %7 = imm 0x2
            %8 = UADD %2, %7
            %9 = phi
            %10 = phi
            %11 = UADD %9, %10
            body
              %9, %10 = loop 4
                params %1, %2
                inits %0, %0
                uif %4
                  depart 4 %1, %2
                else
                  yield 
                next %6, %8
            end OUT[0].x=%11
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn equal_results_of_a_branch() {
        let out = tree(
            &["gvn"],
            "UIF IN[0].xxxx\n\
             MOV TEMP[0].xy, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].xy, IN[2].xxxx\n\
             ENDIF\n\
             UADD OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[2].x
            %3 = phi
            %4 = UADD %3, %3
            body
              %3 = uif %0
                yield %1
              else
                yield %2
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn fetches_with_other_masks() {
        let out = tree(
            &["gvn"],
            "TEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
             TEX TEMP[0].yz, IN[0], SAMP[0], 2D\n\
             MOV OUT[0].xyz, TEMP[0]",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = TEX 0.xyz 2D SAMP[0] 0.x=%0 0.y=%1
            %3 = proj0.x %2
            %4 = proj0.y %2
            %5 = proj0.z %2
            body
              do %2
            end OUT[0].x=%3 OUT[0].y=%4 OUT[0].z=%5
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn fetches_of_other_textures() {
        let out = tree(
            &["gvn"],
            "TEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
             TEX TEMP[0].y, IN[0], SAMP[1], 2D\n\
             MOV OUT[0].xy, TEMP[0]",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = TEX 0.x 2D SAMP[0] 0.x=%0 0.y=%1
            %3 = proj0.x %2
            %4 = TEX 0.y 2D SAMP[1] 0.x=%0 0.y=%1
            %5 = proj0.y %4
            body
              do %2
              do %4
            end OUT[0].x=%3 OUT[0].y=%5
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_fetch_in_an_arm_after_one_before() {
        let out = tree(
            &["gvn"],
            "TEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
             UIF IN[1].xxxx\n\
             TEX TEMP[1].x, IN[0], SAMP[0], 2D\n\
             ELSE\n\
             MOV TEMP[1].x, IN[2].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx\n\
             MOV OUT[0].y, TEMP[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = TEX 0.x 2D SAMP[0] 0.x=%0 0.y=%1
            %3 = proj0.x %2
            %4 = IN[1].x
            %5 = IN[2].x
            %6 = phi
            body
              do %2
              %6 = uif %4
                yield %3
              else
                yield %5
            end OUT[0].x=%3 OUT[0].y=%6
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_fetch_after_one_in_an_arm() {
        let out = tree(
            &["gvn"],
            "UIF IN[1].xxxx\n\
             TEX TEMP[1].x, IN[0], SAMP[0], 2D\n\
             ELSE\n\
             MOV TEMP[1].x, IN[2].xxxx\n\
             ENDIF\n\
             TEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
             MOV OUT[0].x, TEMP[0].xxxx\n\
             MOV OUT[0].y, TEMP[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[1].x
            %1 = IN[0].x
            %2 = IN[0].y
            %3 = TEX 0.x 2D SAMP[0] 0.x=%1 0.y=%2
            %4 = proj0.x %3
            %5 = IN[2].x
            %6 = phi
            %7 = TEX 0.x 2D SAMP[0] 0.x=%1 0.y=%2
            %8 = proj0.x %7
            body
              %6 = uif %0
                do %3
                yield %4
              else
                yield %5
              do %7
            end OUT[0].x=%8 OUT[0].y=%6
        "#]]
        .assert_eq(&out);
    }
}
