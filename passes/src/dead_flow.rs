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
//! way back whose only exit is at the end of its body is replaced by the body.
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
//! Below: constant and repeated conditions, IF within UIF, equal exits, loops that run once.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, departs, known_branch, rebuild_with, walk};
use tgsi_ir::{Body, Function, If, Item, Loop, RegionId, Value, ix};

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
        func: &func,
        cx,
        known: Vec::new(),
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
    func: &'a Function,
    cx: &'a PassCx,
    /// Decided tests: value, whether on bits, outcome.
    known: Vec<(Value, bool, bool)>,
    edits: Edits,
    changed: bool,
}

impl Flow<'_> {
    fn body(&mut self, body: Body) -> Body {
        let mark = self.known.len();
        let mut out = Body {
            items: Vec::with_capacity(body.items.len()),
        };
        self.items(body.items, &mut out);
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
                    if !(never_kills(self.func, v) && self.cx.spend()) {
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

    /// Notes that phis are other values.
    fn substitute(&mut self, phis: &[Value], args: &[Value]) {
        for (&p, &a) in phis.iter().zip(args) {
            self.edits.subst.insert(p, a);
        }
    }

    fn branch(&mut self, mut i: If, out: &mut Body) {
        if let Some(taken) = self.decided(&i) {
            let args = if taken {
                i.then_args.clone()
            } else {
                i.else_args.clone()
            };
            let args = args.unwrap_or_default();
            if ordered(&i.results, &args) && self.cx.spend() {
                self.substitute(&i.results, &args);
                self.changed = true;
                let arm = if taken { i.then } else { i.els };
                self.items(arm.items, out);
                return;
            }
        }
        for (arm, outcome) in [(&mut i.then, true), (&mut i.els, false)] {
            let mark = self.known.len();
            self.assume(i.cond, i.bits, outcome);
            *arm = self.body(std::mem::take(arm));
            self.known.truncate(mark);
        }
        if let Some(leave) = equal_exit(&i)
            && self.cx.spend()
        {
            self.changed = true;
            out.items.push(leave);
            return;
        }
        match (&i.then_args, &i.else_args) {
            (None, Some(_)) => self.assume(i.cond, i.bits, false),
            (Some(_), None) => self.assume(i.cond, i.bits, true),
            _ => {}
        }
        out.items.push(Item::If(Box::new(i)));
    }

    fn looped(&mut self, mut l: Loop, out: &mut Body) {
        if runs_once(&l)
            && let Some(exit) = only_exit(&l)
            && ordered(&l.params, &l.inits)
            && ordered(&l.results, exit)
            && self.cx.spend()
        {
            self.substitute(&l.params, &l.inits);
            self.substitute(&l.results, exit);
            self.changed = true;
            let mut items = l.body.items;
            items.pop();
            self.items(items, out);
            return;
        }
        l.body = self.body(l.body);
        out.items.push(Item::Loop(Box::new(l)));
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
              loop 1
                params 
                inits 
                uif %0
                  depart 1 
                else
                  yield 
                do %2
                depart 1 
            end
        "#]]
        .assert_eq(&out);
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
              loop 1
                params 
                inits 
                do %2
                depart 1 
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
