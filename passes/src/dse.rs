//! # What
//! Stores to indexed arrays and to outputs used as memory that nothing reads before they are
//! overwritten, channel by channel; loads of what is known to be there.
//!
//! # Why
//! A program with one indexed array keeps all of it in memory form. Without this pass copies go
//! through memory, and initialisation of arrays that are filled anyway stays.
//!
//! # Algorithm
//! Backward over the tree: the places that are surely written again before any read, and the
//! arrays that are not read until the end. Forward: what each place holds, from stores and loads.
//! Joins intersect; a loop forgets what it may write.
//!
//! # Preserves
//! The order of what stays. An index outside its array is undefined, so two arrays never meet.
//!
//! # Limits
//! Addresses are compared as values: `a` and `a + 0` meet only after `algebra`.
//!
//! # Cost
//! Places known at a point times accesses; both are small, and bounded by [`KNOWN`].
//!
//! # Tests
//! Below: overwritten, partly overwritten, read between, unread array, branches, loops, forwarding.

use rustc_hash::FxHashMap;
use tgsi::Opcode;
use tgsi_ir::rewrite::{PhiInputs, ends_body};
use tgsi_ir::{Body, Function, Item, MultiKind, RegionId, VOp, Value, ix};

use crate::PassCx;
use crate::memory::{Access, Alias, Loc, access};
use crate::simplify::{Plan, Rules, rebuild_plan};

/// Most places remembered at a point; more are forgotten, oldest first.
pub const KNOWN: usize = 64;

/// Removes dead stores and known loads.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut plan = Plan::default();
    find(func, cx, &mut plan);
    (!plan.is_empty()).then(|| {
        rebuild_plan(
            func,
            &plan,
            &PhiInputs::collect(func),
            cx,
            Rules {
                fold: false,
                algebra: false,
            },
        )
    })
}

/// Adds what is dead or known to the plan.
pub(crate) fn find(func: &Function, cx: &PassCx, plan: &mut Plan) {
    let mut projections: FxHashMap<Value, [Option<Value>; 4]> = FxHashMap::default();
    for (v, d) in func.values.iter() {
        if let VOp::Proj(c @ 0..4) = d.op
            && func
                .as_multi(d.args[0])
                .is_some_and(|m| m.kind == MultiKind::Load)
        {
            projections.entry(d.args[0]).or_default()[c as usize] = Some(v);
        }
    }
    let mut forward = Forward {
        func,
        cx,
        plan,
        projections,
    };
    forward.body(&func.body, &mut Vec::new());
    let mut backward = Backward {
        func,
        cx,
        plan,
        scopes: Vec::new(),
    };
    let end = backward.nothing_read();
    backward.body(&func.body, end);
}

/// What a place holds, by channel.
#[derive(Clone, PartialEq)]
struct Known {
    loc: Loc,
    words: [Option<Value>; 4],
}

struct Forward<'a> {
    func: &'a Function,
    cx: &'a PassCx,
    plan: &'a mut Plan,
    projections: FxHashMap<Value, [Option<Value>; 4]>,
}

impl Forward<'_> {
    fn access(&self, v: Value) -> Option<Access> {
        access(self.func, v, |a| self.plan.edits.resolve(a))
    }

    fn body(&mut self, body: &Body, known: &mut Vec<Known>) {
        for item in &body.items {
            match item {
                Item::Effect(v) => self.effect(*v, known),
                Item::If(i) => {
                    let mut other = known.clone();
                    self.body(&i.then, known);
                    self.body(&i.els, &mut other);
                    match (&i.then_args, &i.else_args) {
                        (Some(_), Some(_)) => known.retain_mut(|k| meet(k, &other)),
                        (None, _) => *known = other,
                        (Some(_), None) => {}
                    }
                }
                Item::Loop(l) => {
                    self.forget(&l.body, known);
                    self.body(&l.body, &mut known.clone());
                }
                Item::Switch(s) => {
                    s.cases.iter().for_each(|c| self.forget(&c.body, known));
                    for c in &s.cases {
                        self.body(&c.body, &mut known.clone());
                    }
                }
                Item::Depart(..) | Item::Repeat(..) => {}
            }
            if ends_body(self.func, item) {
                break;
            }
        }
    }

    /// Forgets what a body may write.
    fn forget(&self, body: &Body, known: &mut Vec<Known>) {
        tgsi_ir::rewrite::walk(self.func, body, &mut |item| {
            let Item::Effect(v) = item else { return };
            match self.access(*v) {
                Some(a) if a.store => written(known, &a),
                Some(_) => {}
                None => self.other(*v, known),
            }
        });
    }

    /// Effects that may change or hand out outputs.
    fn other(&self, v: Value, known: &mut Vec<Known>) {
        if reads_outputs(self.func, v) {
            known.retain(|k| k.loc.temp_array().is_some());
        }
    }

    fn effect(&mut self, v: Value, known: &mut Vec<Known>) {
        match self.access(v) {
            Some(a) if a.store => self.store(v, &a, known),
            Some(a) => self.load(v, &a, known),
            None => self.other(v, known),
        }
    }

    fn store(&mut self, v: Value, a: &Access, known: &mut Vec<Known>) {
        written(known, a);
        let k = entry(known, a.loc);
        let func = self.func;
        let Some(m) = func.as_multi(v) else { return };
        for (slot, &word) in m.slots.iter().zip(&func.values[v].args) {
            if let tgsi_ir::Slot::Src(0, c) = *slot {
                k.words[c as usize & 3] = Some(self.plan.edits.resolve(word));
            }
        }
    }

    fn load(&mut self, v: Value, a: &Access, known: &mut Vec<Known>) {
        let projections = self.projections.get(&v).copied().unwrap_or_default();
        let k = entry(known, a.loc);
        let mut reads = false;
        for (word, own) in k.words.iter_mut().zip(projections) {
            match (*word, own) {
                (Some(w), Some(own))
                    if w != own
                        && ix(w) < ix(own)
                        && self.cx.spend("dse", Some(self.func.values[own].hint)) =>
                {
                    self.plan.edits.subst.insert(own, w);
                }
                (None, Some(own)) => {
                    *word = Some(own);
                    reads = true;
                }
                (_, Some(_)) => reads = true,
                (_, None) => {}
            }
        }
        if !reads {
            self.plan.forwarded.insert(v);
        }
    }
}

/// The entry of a place.
fn entry(known: &mut Vec<Known>, loc: Loc) -> &mut Known {
    let at = known.iter().position(|k| k.loc == loc).unwrap_or_else(|| {
        if known.len() == KNOWN {
            known.remove(0);
        }
        known.push(Known {
            loc,
            words: [None; 4],
        });
        known.len() - 1
    });
    &mut known[at]
}

/// Forgets the channels that a store may change.
fn written(known: &mut [Known], a: &Access) {
    for k in known {
        if k.loc.alias(&a.loc) != Alias::No {
            for c in (0..4).filter(|c| a.mask >> c & 1 != 0) {
                k.words[c] = None;
            }
        }
    }
}

/// Keeps in `k` what `others` hold too; whether anything is left.
fn meet(k: &mut Known, others: &[Known]) -> bool {
    let Some(o) = others.iter().find(|o| o.loc == k.loc) else {
        return false;
    };
    for (a, b) in k.words.iter_mut().zip(o.words) {
        if *a != b {
            *a = None;
        }
    }
    k.words.iter().any(Option::is_some)
}

/// Whether an effect makes outputs visible or changes them.
fn reads_outputs(f: &Function, v: Value) -> bool {
    f.as_multi(v).is_some_and(|m| {
        m.kind == MultiKind::Effect
            && !matches!(m.inst.op, Opcode::Kill | Opcode::KillIf | Opcode::Demote)
    })
}

/// What happens behind a point.
#[derive(Clone, Debug, Default)]
struct After {
    /// Places surely written before they are read, with the channels.
    over: Vec<(Loc, u8)>,
    /// TEMP arrays not read any more, a bit each; arrays from 64 on count as read.
    unread: u64,
}

impl After {
    fn meet(mut self, other: &After) -> After {
        self.unread &= other.unread;
        self.over.retain_mut(|(loc, mask)| {
            let o = other.over.iter().find(|o| o.0 == *loc).map_or(0, |o| o.1);
            *mask &= o;
            *mask != 0
        });
        self
    }
}

struct Around {
    id: RegionId,
    after: After,
    again: After,
}

struct Backward<'a> {
    func: &'a Function,
    cx: &'a PassCx,
    plan: &'a mut Plan,
    scopes: Vec<Around>,
}

impl Backward<'_> {
    /// The state at the end of the program: no array is read any more, outputs are.
    fn nothing_read(&self) -> After {
        After {
            over: Vec::new(),
            unread: u64::MAX,
        }
    }

    fn body(&mut self, body: &Body, mut s: After) -> After {
        let func = self.func;
        let end = body
            .items
            .iter()
            .position(|i| ends_body(func, i))
            .map_or(body.items.len(), |i| i + 1);
        for item in body.items[..end].iter().rev() {
            s = match item {
                Item::Effect(v) => self.effect(*v, s),
                Item::If(i) => {
                    let then = self.body(&i.then, s.clone());
                    self.body(&i.els, s).meet(&then)
                }
                Item::Loop(l) => {
                    let mut unread = s.unread & !self.read_in(&l.body);
                    for a in &self.scopes {
                        unread &= a.after.unread & a.again.unread;
                    }
                    let again = After {
                        over: Vec::new(),
                        unread,
                    };
                    self.scopes.push(Around {
                        id: l.id,
                        after: s,
                        again: again.clone(),
                    });
                    let head = self.body(&l.body, again);
                    self.scopes.pop();
                    head
                }
                Item::Switch(w) => {
                    self.scopes.push(Around {
                        id: w.id,
                        after: s.clone(),
                        again: After::default(),
                    });
                    let mut fall = s.clone();
                    let mut all = s;
                    for c in w.cases.iter().rev() {
                        fall = self.body(&c.body, fall);
                        all = all.meet(&fall);
                    }
                    self.scopes.pop();
                    all
                }
                Item::Depart(id, _) => match self.scopes.iter().rev().find(|a| a.id == *id) {
                    Some(a) => a.after.clone(),
                    None => self.nothing_read(),
                },
                Item::Repeat(id, _) => self
                    .scopes
                    .iter()
                    .rev()
                    .find(|a| a.id == *id)
                    .map(|a| a.again.clone())
                    .unwrap_or_default(),
            };
        }
        s
    }

    /// The arrays read anywhere in a body.
    fn read_in(&self, body: &Body) -> u64 {
        let mut read = 0;
        tgsi_ir::rewrite::walk(self.func, body, &mut |item| {
            if let Item::Effect(v) = item
                && self.still_loads(*v)
                && let Some(a) = access(self.func, *v, |a| a)
                && !a.store
            {
                read |= bit(&a.loc);
            }
        });
        read
    }

    /// Whether a load is left after forwarding: some channel of it is not known.
    fn still_loads(&self, v: Value) -> bool {
        !self.plan.forwarded.contains(&v)
    }

    fn effect(&mut self, v: Value, mut s: After) -> After {
        let Some(a) = access(self.func, v, |a| self.plan.edits.resolve(a)) else {
            if reads_outputs(self.func, v) {
                s.over.retain(|o| o.0.temp_array().is_some());
            }
            return s;
        };
        if !a.store {
            if self.still_loads(v) {
                s.unread &= !bit(&a.loc);
                s.over.retain_mut(|(loc, mask)| {
                    if loc.alias(&a.loc) != Alias::No {
                        *mask &= !a.mask;
                    }
                    *mask != 0
                });
            }
            return s;
        }
        let again = s
            .over
            .iter()
            .filter(|o| o.0.alias(&a.loc) == Alias::Must)
            .fold(0, |m, o| m | o.1);
        let dead = if s.unread & bit(&a.loc) != 0 {
            a.mask
        } else {
            a.mask & again
        };
        if dead != 0 && self.cx.spend("dse", Some(self.func.values[v].hint)) {
            if dead == a.mask {
                self.plan.edits.dropped.insert(v);
            } else {
                self.plan.edits.trimmed.insert(v, dead);
            }
        }
        match s.over.iter().position(|o| o.0 == a.loc) {
            Some(at) => s.over[at].1 |= a.mask,
            None if s.over.len() < KNOWN => s.over.push((a.loc, a.mask)),
            None => {}
        }
        s
    }
}

/// The bit of a TEMP array; 0 for outputs and for arrays without one.
fn bit(loc: &Loc) -> u64 {
    match loc.temp_array() {
        Some(n @ 0..64) => 1 << n,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::tree;

    #[test]
    fn overwritten() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[10].xy, IN[1].xyxy\n\
             MOV TEMP[10].xy, IN[2].xyxy\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[2].x
            %2 = IN[2].y
            %3 = store TEMP[10] <- 0.x=%1 0.y=%2
            %4 = load 0.x TEMP[addr+10](1) 0.index=%0
            %5 = proj0.x %4
            body
              do %3
              do %4
            end OUT[0].x=%5
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn partly_overwritten() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[10].xy, IN[1].xyxy\n\
             MOV TEMP[10].y, IN[2].xyxy\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx\n\
             MOV OUT[0].y, TEMP[ADDR[0].x+10](1).yyyy",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = store TEMP[10] <- 0.x=%1
            %3 = IN[2].y
            %4 = store TEMP[10] <- 0.y=%3
            %5 = load 0.x TEMP[addr+10](1) 0.index=%0
            %6 = proj0.x %5
            %7 = load 0.y TEMP[addr+10](1) 0.index=%0
            %8 = proj0.y %7
            body
              do %2
              do %4
              do %5
              do %7
            end OUT[0].x=%6 OUT[0].y=%8
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn read_between() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[10].x, IN[1].xyxy\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx\n\
             MOV TEMP[10].x, IN[2].xyxy\n\
             MOV OUT[0].y, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = store TEMP[10] <- 0.x=%1
            %3 = load 0.x TEMP[addr+10](1) 0.index=%0
            %4 = proj0.x %3
            %5 = IN[2].x
            %6 = store TEMP[10] <- 0.x=%5
            %7 = load 0.x TEMP[addr+10](1) 0.index=%0
            %8 = proj0.x %7
            body
              do %2
              do %3
              do %6
              do %7
            end OUT[0].x=%4 OUT[0].y=%8
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn never_read_again() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[11].x, IN[1].xxxx\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx\n\
             MOV TEMP[12].x, IN[2].xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = store TEMP[11] <- 0.x=%1
            %3 = load 0.x TEMP[addr+10](1) 0.index=%0
            %4 = proj0.x %3
            body
              do %2
              do %3
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn forwarded() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[ADDR[0].x+10](1).x, IN[1].xxxx\n\
             MOV TEMP[ADDR[0].x+11](1).x, IN[2].xxxx\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[1].x
            body
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn not_forwarded_over_another_address() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             UARL ADDR[0].y, IN[0].yyyy\n\
             MOV TEMP[ADDR[0].x+10](1).x, IN[1].xxxx\n\
             MOV TEMP[ADDR[0].y+10](1).x, IN[2].xxxx\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = IN[1].x
            %3 = store TEMP[addr+10](1) <- 0.x=%2 dst.index=%0
            %4 = IN[2].x
            %5 = store TEMP[addr+10](1) <- 0.x=%4 dst.index=%1
            %6 = load 0.x TEMP[addr+10](1) 0.index=%0
            %7 = proj0.x %6
            body
              do %3
              do %5
              do %6
            end OUT[0].x=%7
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn other_arrays_do_not_meet() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[ADDR[0].x+10](1).x, IN[1].xxxx\n\
             MOV TEMP[ADDR[0].x+14](2).x, IN[2].xxxx\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx\n\
             MOV OUT[0].y, TEMP[ADDR[0].x+14](2).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            array TEMP[14..17](2)
            %0 = IN[1].x
            %1 = IN[2].x
            body
            end OUT[0].x=%0 OUT[0].y=%1
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn written_in_both_arms() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[10].x, IN[1].xxxx\n\
             UIF IN[0].yyyy\n\
             MOV TEMP[10].x, IN[2].xxxx\n\
             ELSE\n\
             MOV TEMP[10].x, IN[3].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = IN[2].x
            %3 = store TEMP[10] <- 0.x=%2
            %4 = IN[3].x
            %5 = store TEMP[10] <- 0.x=%4
            %6 = load 0.x TEMP[addr+10](1) 0.index=%0
            %7 = proj0.x %6
            body
              uif %1
                do %3
                yield 
              else
                do %5
                yield 
              do %6
            end OUT[0].x=%7
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn written_in_one_arm() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             MOV TEMP[10].x, IN[1].xxxx\n\
             UIF IN[0].yyyy\n\
             MOV TEMP[10].x, IN[2].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = store TEMP[10] <- 0.x=%1
            %3 = IN[0].y
            %4 = IN[2].x
            %5 = store TEMP[10] <- 0.x=%4
            %6 = load 0.x TEMP[addr+10](1) 0.index=%0
            %7 = proj0.x %6
            body
              do %2
              uif %3
                do %5
                yield 
              else
                yield 
              do %6
            end OUT[0].x=%7
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn read_in_the_next_round_of_a_loop() {
        let out = tree(
            &["dse"],
            "UARL ADDR[0].x, IN[0].xxxx\n\
             BGNLOOP\n\
             MOV TEMP[0].x, TEMP[ADDR[0].x+10](1).xxxx\n\
             UIF TEMP[0].xxxx\n\
             BRK\n\
             ENDIF\n\
             MOV TEMP[10].x, IN[1].xxxx\n\
             ENDLOOP\n\
             MOV OUT[0].x, IN[0].xxxx",
        );
        expect![[r#"
            FRAG
            array TEMP[10..13](1)
            %0 = IN[0].x
            %1 = load 0.x TEMP[addr+10](1) 0.index=%0
            %2 = proj0.x %1
            %3 = IN[1].x
            %4 = store TEMP[10] <- 0.x=%3
            body
              loop 2
                params 
                inits 
                do %1
                uif %2
                  depart 2 
                else
                  yield 
                do %4
                next 
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }
}
