//! # What
//! Branches whose condition is known, branches that leave both ways alike, loops that run once,
//! KILL_IF that never kills.
//!
//! # Why
//! Each region costs two or three instructions, hides its values from everything that works on
//! straight code, and keeps phis alive.
//!
//! # Algorithm
//! One walk with the list of conditions that are decided where the walk stands: inside an arm the
//! condition holds or not, and behind an arm that cannot be left at its end the other one holds.
//! A decided branch is replaced by its arm, its phis by the arguments of that arm. A loop without a
//! way back is replaced by its body; where it is left in the middle, what follows goes into the arm
//! that stays. A condition `OR(a, b)` is `b` where `a` is known to be false.
//!
//! # Preserves
//! Effects and their order. IF tests a float and UIF bits: a taken IF decides a UIF, a UIF that was
//! not taken decides an IF, the other two directions only without -0.0.
//!
//! # Limits
//! Conditions are compared as values: what follows from `a < b` for `a >= b` is not derived.
//!
//! # Cost
//! A copy of the tree and one walk; the rebuild only if something changed.
//!
//! # Tests
//! Below: constant and repeated conditions, IF within UIF, equal exits, loops that run once with one
//! exit and with several, disjunctions.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, departs, known_branch, never_ends, rebuild_with, walk};
use tgsi_ir::{Body, Function, If, Item, LaneHint, Loop, RegionId, VOp, Value, ix};

use crate::PassCx;
use crate::const_fold::keep;
use crate::facts::{never_minus_zero, never_negative};

/// Removes dead control flow.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    if !has_work(func) {
        return None;
    }
    let (new, changed) = rework(func.clone(), cx);
    changed.then_some(new)
}

/// As [`run`] on a function nobody else needs; whether it changed.
pub(crate) fn run_owned(func: Function, cx: &PassCx) -> (Function, bool) {
    if has_work(&func) {
        rework(func, cx)
    } else {
        (func, false)
    }
}

fn rework(mut func: Function, cx: &PassCx) -> (Function, bool) {
    let body = std::mem::take(&mut func.body);
    let mut flow = Flow {
        func: &mut func,
        cx,
        known: Vec::new(),
        depth: 0,
        edits: Edits::default(),
        changed: false,
    };
    let body = flow.body(body);
    let (edits, changed) = (flow.edits, flow.changed);
    func.body = body;
    if changed {
        func = rebuild_with(&func, &edits, &mut keep);
    }
    (func, changed)
}

/// Whether the walk could find anything: a decided branch, a condition tested twice, a loop without
/// a way back, equal exits, a KILL_IF that never kills.
fn has_work(func: &Function) -> bool {
    let mut found = false;
    let mut conds: Vec<Value> = Vec::new();
    walk(func, &func.body, &mut |item| match item {
        Item::Effect(v) => found |= never_kills(func, *v),
        Item::If(i) => {
            found |= known_branch(func, i).is_some() || equal_exit(i).is_some();
            conds.push(i.cond);
        }
        Item::Loop(l) => found |= l.back.is_none(),
        Item::Switch(_) | Item::Depart(..) | Item::Repeat(..) => {}
    });
    conds.sort_unstable_by_key(|&c| ix(c));
    found || conds.windows(2).any(|w| w[0] == w[1])
}

fn never_kills(func: &Function, v: Value) -> bool {
    func.as_multi(v)
        .is_some_and(|m| m.inst.op == Opcode::KillIf)
        && func.values[v].args.iter().all(|&a| never_negative(func, a))
}

struct Flow<'a> {
    func: &'a mut Function,
    cx: &'a PassCx,
    /// Decided tests: value, whether on bits, outcome.
    known: Vec<(Value, bool, bool)>,
    /// Regions around.
    depth: u32,
    edits: Edits,
    changed: bool,
}

impl Flow<'_> {
    fn body(&mut self, body: Body) -> Body {
        let mark = self.known.len();
        let mut out = Body {
            items: Vec::with_capacity(body.items.len()),
        };
        self.depth += 1;
        self.items(body.items, &mut out);
        self.depth -= 1;
        self.known.truncate(mark);
        out
    }

    fn items(&mut self, items: Vec<Item>, out: &mut Body) {
        for item in items {
            match item {
                Item::If(i) => self.branch(*i, out),
                Item::Loop(l) => self.looped(*l, out),
                Item::Switch(mut s) => {
                    for c in &mut s.cases {
                        c.body = self.body(std::mem::take(&mut c.body));
                    }
                    out.items.push(Item::Switch(s));
                }
                Item::Effect(v) => {
                    if !(never_kills(self.func, v) && self.spend(v)) {
                        out.items.push(Item::Effect(v));
                    } else {
                        self.changed = true;
                    }
                }
                other => out.items.push(other),
            }
        }
    }

    fn decided(&self, i: &If) -> Option<bool> {
        let found = self
            .known
            .iter()
            .rev()
            .find(|k| k.0 == i.cond && k.1 == i.bits);
        known_branch(self.func, i).or(found.map(|k| k.2))
    }

    /// Notes the outcome of a test and of the other kind of test where it follows.
    fn assume(&mut self, cond: Value, bits: bool, outcome: bool) {
        self.known.push((cond, bits, outcome));
        // A float that is not zero has a bit set; no bit set is the float 0.
        if bits != outcome || never_minus_zero(self.func, cond) {
            self.known.push((cond, !bits, outcome));
        }
    }

    /// Notes the outcome of a branch whose condition was `whole` before it was reduced.
    fn assume_both(&mut self, whole: Value, cond: Value, bits: bool, outcome: bool) {
        if whole != cond {
            self.assume(whole, bits, outcome);
        }
        self.assume(cond, bits, outcome);
    }

    /// Asks leave for a rewrite of what a value decides.
    fn spend(&self, v: Value) -> bool {
        self.cx.spend("dead-flow", Some(self.func.values[v].hint))
    }

    fn spend_on_loop(&self, l: &Loop) -> bool {
        let hint = LaneHint {
            inst: l.at[0],
            lane: 0,
            depth: 0,
        };
        self.cx.spend("dead-flow", Some(hint))
    }

    /// Notes that phis are other values.
    fn substitute(&mut self, phis: &[Value], args: &[Value]) {
        for (&p, &a) in phis.iter().zip(args) {
            self.edits.subst.insert(p, a);
        }
    }

    /// The condition of a branch where some conditions are known: of `OR(a, b)` with a false `a`
    /// only `b` is left.
    fn reduced_condition(&mut self, i: &mut If) {
        let before = i.cond;
        while i.bits
            && self.func.values[i.cond].op == VOp::Alu(Opcode::Or)
            && let args = &self.func.values[i.cond].args
            && let Some(k) = (0..2).find(|&k| {
                self.known
                    .iter()
                    .any(|&(v, bits, outcome)| v == args[k] && bits && !outcome)
            })
        {
            i.cond = args[1 - k];
        }
        if i.cond != before {
            if self.spend(before) {
                self.changed = true;
            } else {
                i.cond = before;
            }
        }
    }

    fn branch(&mut self, mut i: If, out: &mut Body) {
        let whole = i.cond;
        self.reduced_condition(&mut i);
        if let Some(taken) = self.decided(&i) {
            let args = if taken {
                i.then_args.clone()
            } else {
                i.else_args.clone()
            };
            let args = args.unwrap_or_default();
            if ordered(&i.results, &args) && self.spend(i.cond) {
                self.substitute(&i.results, &args);
                self.changed = true;
                let arm = if taken { i.then } else { i.els };
                self.items(arm.items, out);
                return;
            }
        }
        let (cond, bits) = (i.cond, i.bits);
        for (arm, outcome) in [(&mut i.then, true), (&mut i.els, false)] {
            let mark = self.known.len();
            self.assume_both(whole, cond, bits, outcome);
            *arm = self.body(std::mem::take(arm));
            self.known.truncate(mark);
        }
        if let Some(leave) = equal_exit(&i)
            && self.spend(i.cond)
        {
            self.changed = true;
            out.items.push(leave);
            return;
        }
        match (&i.then_args, &i.else_args) {
            (None, Some(_)) => self.assume_both(whole, cond, bits, false),
            (Some(_), None) => self.assume_both(whole, cond, bits, true),
            _ => {}
        }
        out.items.push(Item::If(Box::new(i)));
    }

    fn looped(&mut self, mut l: Loop, out: &mut Body) {
        if runs_once(&l)
            && let Some(exit) = only_exit(&l)
            && ordered(&l.params, &l.inits)
            && ordered(&l.results, exit)
            && self.spend_on_loop(&l)
        {
            self.substitute(&l.params, &l.inits);
            self.substitute(&l.results, exit);
            self.changed = true;
            let mut items = l.body.items;
            items.pop();
            self.items(items, out);
            return;
        }
        if runs_once(&l)
            && ordered(&l.params, &l.inits)
            && let Some(levels) = levels(&l.body.items, l.id)
            && self.depth + levels <= MOST_LEVELS
            && self.spend_on_loop(&l)
        {
            self.substitute(&l.params, &l.inits);
            self.changed = true;
            let place = l.results.iter().copied().min_by_key(|&r| ix(r));
            let mut nesting = Nesting {
                id: l.id,
                results: &l.results,
                end: l.at[1],
                phis: Vec::new(),
            };
            let mut body = Body::default();
            let args = nesting.nest(self, l.body.items, &mut body);
            if let Some(place) = place {
                self.edits.before.insert(place, nesting.phis);
            }
            self.substitute(&l.results, &args.unwrap_or_default());
            self.items(body.items, out);
            return;
        }
        l.body = self.body(l.body);
        out.items.push(Item::Loop(Box::new(l)));
    }
}

/// Most regions around what stands in a loop that becomes branches.
const MOST_LEVELS: u32 = 24;

/// How many branches stand in each other when the exits of region `id` become branches; nothing if
/// what follows a branch would be needed in both of its arms, or a loop is left from one inside it.
fn levels(items: &[Item], id: RegionId) -> Option<u32> {
    let mut levels = 0;
    for item in items {
        let departing = departs(std::slice::from_ref(item), id);
        match item {
            Item::If(i) if departing => {
                let stays = match (&i.then_args, &i.else_args) {
                    (Some(_), Some(_)) => return None,
                    (Some(a), None) | (None, Some(a)) => ordered(&i.results, a),
                    (None, None) => true,
                };
                if !stays {
                    return None;
                }
                let inner = self::levels(&i.then.items, id)?.max(self::levels(&i.els.items, id)?);
                levels += 1 + inner;
            }
            Item::Loop(_) | Item::Switch(_) if departing => return None,
            _ => {}
        }
    }
    Some(levels)
}

/// Turns the exits of a region that runs once into the ends of arms.
struct Nesting<'a> {
    id: RegionId,
    results: &'a [Value],
    /// Source instruction behind the region.
    end: u32,
    /// New phis, those of inner branches first.
    phis: Vec<Value>,
}

impl Nesting<'_> {
    /// Appends items to `out`; the arguments with which control comes to its end, if it does.
    fn nest(
        &mut self,
        flow: &mut Flow<'_>,
        items: Vec<Item>,
        out: &mut Body,
    ) -> Option<Vec<Value>> {
        let mut items = items.into_iter();
        while let Some(item) = items.next() {
            match item {
                Item::Depart(id, args) if id == self.id => return Some(args),
                Item::If(i)
                    if departs(&i.then.items, self.id) || departs(&i.els.items, self.id) =>
                {
                    return self.branch(flow, *i, items.collect(), out);
                }
                other => {
                    let last = never_ends(&other);
                    out.items.push(other);
                    if last {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// A branch with an exit: what follows goes into the arm that has none.
    fn branch(
        &mut self,
        flow: &mut Flow<'_>,
        mut i: If,
        rest: Vec<Item>,
        out: &mut Body,
    ) -> Option<Vec<Value>> {
        match (&i.then_args, &i.else_args) {
            (Some(a), None) => {
                flow.substitute(&i.results, a);
                i.then.items.extend(rest);
            }
            (None, Some(b)) => {
                flow.substitute(&i.results, b);
                i.els.items.extend(rest);
                i.at[1] = i.at[2];
            }
            _ => {}
        }
        i.at[2] = self.end;
        let mut then = Body::default();
        i.then_args = self.nest(flow, i.then.items, &mut then);
        i.then = then;
        let mut els = Body::default();
        i.else_args = self.nest(flow, i.els.items, &mut els);
        i.els = els;
        let reached = i.then_args.is_some() || i.else_args.is_some();
        i.results = if reached {
            let hints: Vec<_> = self
                .results
                .iter()
                .map(|&r| flow.func.values[r].hint)
                .collect();
            hints.into_iter().map(|h| flow.func.phi(h)).collect()
        } else {
            Vec::new()
        };
        self.phis.extend(&i.results);
        let results = i.results.clone();
        out.items.push(Item::If(Box::new(i)));
        reached.then_some(results)
    }
}

/// Whether every argument precedes its phi, as a replacement must.
fn ordered(phis: &[Value], args: &[Value]) -> bool {
    phis.iter().zip(args).all(|(p, a)| ix(*a) < ix(*p))
}

/// The exit that both arms take and nothing else, if there is one.
fn equal_exit(i: &If) -> Option<Item> {
    match (i.then.items.as_slice(), i.els.items.as_slice()) {
        ([Item::Depart(a, x)], [Item::Depart(b, y)]) if a == b && x == y => {
            Some(Item::Depart(*a, x.clone()))
        }
        ([Item::Repeat(a, x)], [Item::Repeat(b, y)]) if a == b && x == y => {
            Some(Item::Repeat(*a, x.clone()))
        }
        _ => None,
    }
}

fn runs_once(l: &Loop) -> bool {
    l.back.is_none() && !repeats(&l.body, l.id)
}

/// The arguments of the exit at the end of a loop's body, if it is the only one.
fn only_exit(l: &Loop) -> Option<&[Value]> {
    let (last, before) = l.body.items.split_last()?;
    let Item::Depart(id, args) = last else {
        return None;
    };
    (*id == l.id && !departs(before, l.id)).then_some(args)
}

fn repeats(body: &Body, id: RegionId) -> bool {
    body.items.iter().any(|item| match item {
        Item::Repeat(d, _) => *d == id,
        Item::If(i) => repeats(&i.then, id) || repeats(&i.els, id),
        Item::Loop(l) => repeats(&l.body, id),
        Item::Switch(s) => s.cases.iter().any(|c| repeats(&c.body, id)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{tree, unchanged};

    #[test]
    fn constant_condition() {
        let out = tree(
            &["dead-flow"],
            "IF IMM[0].yyyy\n\
             MOV OUT[0].x, IN[0].xxxx\n\
             ELSE\n\
             MOV OUT[0].x, IN[1].xxxx\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            body
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn minus_zero_is_false_for_if_and_true_for_uif() {
        let out = tree(
            &["dead-flow"],
            "IF IMM[1].xxxx\n\
             MOV OUT[0].x, IN[0].xxxx\n\
             ELSE\n\
             MOV OUT[0].x, IN[1].xxxx\n\
             ENDIF\n\
             UIF IMM[1].xxxx\n\
             MOV OUT[0].y, IN[0].xxxx\n\
             ELSE\n\
             MOV OUT[0].y, IN[1].xxxx\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            body
            end OUT[0].x=%1 OUT[0].y=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn the_same_condition_inside() {
        let out = tree(
            &["dead-flow"],
            "UIF IN[0].xxxx\n\
             KILL\n\
             UIF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             ENDIF\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].zzzz\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            %2 = IN[1].x
            %3 = IN[1].z
            %4 = phi
            body
              %4 = uif %0
                do %1
                yield %2
              else
                yield %3
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn an_if_inside_a_uif_is_open() {
        let out = tree(
            &["dead-flow"],
            "UIF IN[0].xxxx\n\
             KILL\n\
             IF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             ENDIF\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].zzzz\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            %2 = IN[1].x
            %3 = IN[1].y
            %4 = phi
            %5 = IN[1].z
            %6 = phi
            body
              %6 = uif %0
                do %1
                %4 = if %0
                  yield %2
                else
                  yield %3
                yield %4
              else
                yield %5
            end OUT[0].x=%6
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_uif_inside_an_if_is_decided() {
        let out = tree(
            &["dead-flow"],
            "IF IN[0].xxxx\n\
             KILL\n\
             UIF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             ENDIF\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].zzzz\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            %2 = IN[1].x
            %3 = IN[1].z
            %4 = phi
            body
              %4 = if %0
                do %1
                yield %2
              else
                yield %3
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn behind_an_arm_that_returns() {
        let out = tree(
            &["dead-flow"],
            "UIF IN[0].xxxx\n\
             RET\n\
             ENDIF\n\
             UIF IN[0].xxxx\n\
             KILL\n\
             ENDIF\n\
             MOV OUT[0].x, IN[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = undef 0
            %2 = IN[1].x
            body
              uif %0
                return %1
              else
                yield 
            end OUT[0].x=%2
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_loop_that_runs_once() {
        let out = tree(
            &["dead-flow"],
            "MOV TEMP[0].x, IN[0].xxxx\n\
             BGNLOOP\n\
             ADD TEMP[0].x, TEMP[0].xxxx, IN[1].xxxx\n\
             STORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].xxxx\n\
             BRK\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = ADD %0, %1
            %3 = imm 0x0 (0.0)
            %4 = STORE BUFFER[0] <- 0.x=%3 1.x=%2
            body
              do %4
            end OUT[0].x=%2
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_loop_with_another_exit() {
        let out = tree(
            &["dead-flow"],
            "BGNLOOP\n\
             UIF IN[0].xxxx\n\
             BRK\n\
             ENDIF\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             BRK\n\
             ENDLOOP",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = imm 0x0 (0.0)
            %2 = STORE BUFFER[0] <- 0.x=%1 1.x=%0
            body
              uif %0
                yield 
              else
                do %2
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn two_exits_one_behind_the_other() {
        let out = tree(
            &["dead-flow"],
            "MOV TEMP[0].x, IN[0].xxxx\n\
             BGNLOOP\n\
             UIF IN[1].xxxx\n\
             ADD TEMP[0].x, TEMP[0].xxxx, IN[2].xxxx\n\
             BRK\n\
             ENDIF\n\
             MUL TEMP[0].x, TEMP[0].xxxx, IN[2].yyyy\n\
             UIF IN[1].yyyy\n\
             BRK\n\
             ENDIF\n\
             MUL TEMP[0].x, TEMP[0].xxxx, IN[2].zzzz\n\
             BRK\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[2].x
            %3 = ADD %0, %2
            %4 = IN[2].y
            %5 = MUL %0, %4
            %6 = IN[1].y
            %7 = IN[2].z
            %8 = MUL %5, %7
            %9 = phi
            %10 = phi
            body
              %10 = uif %1
                yield %3
              else
                %9 = uif %6
                  yield %5
                else
                  yield %8
                yield %9
            end OUT[0].x=%10
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn an_exit_inside_two_branches() {
        let out = tree(
            &["dead-flow"],
            "MOV TEMP[0].x, IN[0].xxxx\n\
             BGNLOOP\n\
             UIF IN[1].xxxx\n\
             UIF IN[1].yyyy\n\
             BRK\n\
             ENDIF\n\
             ADD TEMP[0].x, TEMP[0].xxxx, IN[2].xxxx\n\
             BRK\n\
             ENDIF\n\
             MUL TEMP[0].x, TEMP[0].xxxx, IN[2].zzzz\n\
             BRK\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[1].y
            %3 = IN[2].x
            %4 = ADD %0, %3
            %5 = IN[2].z
            %6 = MUL %0, %5
            %7 = phi
            %8 = phi
            body
              %8 = uif %1
                %7 = uif %2
                  yield %0
                else
                  yield %4
                yield %7
              else
                yield %6
            end OUT[0].x=%8
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn what_follows_would_be_needed_in_two_arms() {
        // Behind the outer branch control comes from both of its arms.
        let out = tree(
            &["dead-flow"],
            "BGNLOOP\n\
             UIF IN[1].xxxx\n\
             UIF IN[1].yyyy\n\
             BRK\n\
             ENDIF\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             ENDIF\n\
             STORE BUFFER[0].y, IMM[0].xxxx, IN[0].xxxx\n\
             BRK\n\
             ENDLOOP",
        );
        expect![[r#"
            FRAG
            %0 = IN[1].x
            %1 = IN[1].y
            %2 = imm 0x0 (0.0)
            %3 = IN[0].x
            %4 = STORE BUFFER[0] <- 0.x=%2 1.x=%3
            %5 = STORE BUFFER[0] <- 0.x=%2 1.y=%3
            body
              loop 1
                params 
                inits 
                uif %0
                  uif %1
                    depart 1 
                  else
                    yield 
                  do %4
                  yield 
                else
                  yield 
                do %5
                depart 1 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn an_exit_of_an_inner_loop_stays() {
        assert!(unchanged(
            "dead-flow",
            "BGNLOOP\n\
             BGNLOOP\n\
             UIF IN[0].xxxx\n\
             BRK\n\
             ENDIF\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             ENDLOOP\n\
             UIF IN[0].yyyy\n\
             BRK\n\
             ENDIF\n\
             ENDLOOP"
        ));
    }

    #[test]
    fn a_loop_that_is_left_from_a_switch_stays() {
        assert!(unchanged(
            "dead-flow",
            "BGNLOOP\n\
             SWITCH IN[0].xxxx\n\
             CASE IMM[1].yyyy\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             BRK\n\
             ENDSWITCH\n\
             UIF IN[0].yyyy\n\
             CONT\n\
             ENDIF\n\
             BRK\n\
             ENDLOOP"
        ));
    }

    #[test]
    fn exits_are_nested_up_to_a_limit() {
        let with = |exits: u32| {
            let exit = "UIF IN[0].xxxx\nSTORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\nBRK\nENDIF\n";
            let exits: String = (0..exits)
                .map(|i| {
                    exit.replace(
                        "UIF IN[0].xxxx",
                        &format!(
                            "UIF CONST[{}].{}",
                            i / 4 % 4,
                            ["xxxx", "yyyy", "zzzz", "wwww"][i as usize % 4]
                        ),
                    )
                })
                .collect();
            format!("BGNLOOP\n{exits}STORE BUFFER[0].y, IMM[0].xxxx, IN[0].xxxx\nBRK\nENDLOOP")
        };
        let loops = |exits| tree(&["dead-flow"], &with(exits)).matches("loop").count();
        let most = super::MOST_LEVELS;
        assert_eq!(loops(8), 0);
        assert_eq!(loops(most + 2), 1);
    }

    #[test]
    fn what_is_known_goes_out_of_a_disjunction() {
        let out = tree(
            &["dead-flow"],
            "OR TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             OR TEMP[0].y, TEMP[0].xxxx, IN[0].zzzz\n\
             UIF IN[0].xxxx\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[1].xxxx\n\
             ELSE\n\
             UIF TEMP[0].xxxx\n\
             STORE BUFFER[0].y, IMM[0].xxxx, IN[1].xxxx\n\
             ELSE\n\
             UIF TEMP[0].yyyy\n\
             STORE BUFFER[0].z, IMM[0].xxxx, IN[1].xxxx\n\
             ENDIF\n\
             ENDIF\n\
             UIF IN[0].xxxx\n\
             KILL\n\
             ENDIF\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = IN[0].z
            %3 = imm 0x0 (0.0)
            %4 = IN[1].x
            %5 = STORE BUFFER[0] <- 0.x=%3 1.x=%4
            %6 = STORE BUFFER[0] <- 0.x=%3 1.y=%4
            %7 = STORE BUFFER[0] <- 0.x=%3 1.z=%4
            body
              uif %0
                do %5
                yield 
              else
                uif %1
                  do %6
                  yield 
                else
                  uif %2
                    do %7
                    yield 
                  else
                    yield 
                  yield 
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn an_unknown_disjunction_stays_whole() {
        assert!(unchanged(
            "dead-flow",
            "OR TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             UIF IN[0].xxxx\n\
             UIF TEMP[0].xxxx\n\
             KILL\n\
             ENDIF\n\
             ENDIF\n\
             UIF TEMP[0].xxxx\n\
             KILL\n\
             ENDIF"
        ));
    }

    #[test]
    fn equal_exits() {
        let out = tree(
            &["dead-flow"],
            "BGNLOOP\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             UIF IN[0].xxxx\n\
             BRK\n\
             ELSE\n\
             BRK\n\
             ENDIF\n\
             ENDLOOP",
        );
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = IN[0].x
            %2 = STORE BUFFER[0] <- 0.x=%0 1.x=%1
            body
              do %2
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn kill_of_what_is_not_negative() {
        let out = tree(
            &["dead-flow"],
            "KILL_IF |IN[0].xyzw|\n\
             KILL_IF IN[0].xxxx\n\
             MOV OUT[0].x, IN[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL_IF 0.x=%0 0.y=%0 0.z=%0 0.w=%0
            body
              do %1
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn nothing_decided() {
        assert!(unchanged(
            "dead-flow",
            "UIF IN[0].xxxx\nKILL\nENDIF\nUIF IN[0].yyyy\nKILL\nENDIF"
        ));
    }
}
