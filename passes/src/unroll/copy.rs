//! A copy of a function with loops written out, folded on the way.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tgsi::{File, Register};
use tgsi_ir::rewrite::{Node, departs, known_branch, never_ends};
use tgsi_ir::{
    Args, Body, Case, FUNCTION, Function, If, Item, LaneHint, Loop, Multi, MultiKind, RefIndex,
    RegId, RegRef, RegionId, Slot, Switch, VOp, Value, ix,
};

use super::trips::{Trips, Varying, is_placed, place, repeats};
use crate::simplify::make;

/// Operations that the written-out iterations of a function may compute.
const OPERATIONS: u32 = 1 << 15;

/// Most levels of branches that exits in the middle of a written-out loop may open.
const LEVELS: u32 = 16;

/// Most values of a copy that must pay: so many times those of the function, and [`ROOM`] more.
const GROWTH: usize = 3;

/// See [`GROWTH`].
const ROOM: usize = 256;

/// A function with loops written out.
pub(super) struct Unrolled {
    pub function: Function,
    /// How often a loop was written out: one inside another counts for each iteration of that.
    pub count: u32,
    /// The loops that were, each once, inner before outer.
    pub loops: Vec<RegionId>,
}

/// Most values of a copy that must pay.
pub(super) fn room(old: &Function) -> usize {
    old.values.len() * GROWTH + ROOM
}

/// Copies of at most `limit` values with the loops in `chosen` written out where their number of iterations is constant;
/// `None` if nothing comes of it.
pub(super) fn unrolled(
    old: &Function,
    chosen: &FxHashSet<RegionId>,
    varying: &FxHashMap<RegionId, Varying>,
    limit: usize,
) -> Option<Unrolled> {
    let mut c = Copy {
        old,
        new: old.successor(old.values.len() * 2),
        map: vec![None; old.values.len()],
        inputs: FxHashMap::default(),
        chosen,
        varying,
        trips: Some(Trips::new(old)),
        scopes: Vec::new(),
        escapes: FxHashMap::default(),
        spans: vec![Span::default()],
        inside: 0,
        left: OPERATIONS,
        limit,
        count: 0,
        loops: Vec::new(),
        failed: false,
    };
    let mut body = Body::default();
    let end = c.items(&old.body.items, &mut body.items);
    c.new.end_args = match &old.end_args {
        Some(args) if end => Some(c.args(args)),
        _ => None,
    };
    c.new.body = body;
    (!c.failed && c.count > 0).then_some(Unrolled {
        function: c.new,
        count: c.count,
        loops: c.loops,
    })
}

/// Source instructions from `start` on stand `shift` later than in the source, in `removed` loops
/// fewer.
#[derive(Clone, Copy, Default)]
struct Span {
    start: u32,
    shift: u32,
    removed: u8,
}

/// A loop or switch around the walk.
struct Scope {
    old: RegionId,
    new: RegionId,
    /// What its exits hand on beside the results.
    escapes: Rc<[Value]>,
}

struct Copy<'a> {
    old: &'a Function,
    new: Function,
    /// The copy of each value that holds where the walk stands.
    map: Vec<Option<Value>>,
    /// Reads of indexed inputs that turned out to be plain.
    inputs: FxHashMap<Value, RegId>,
    chosen: &'a FxHashSet<RegionId>,
    varying: &'a FxHashMap<RegionId, Varying>,
    trips: Option<Trips<'a>>,
    /// The regions around.
    scopes: Vec<Scope>,
    /// See [`escapes`]; by loop.
    escapes: FxHashMap<RegionId, Rc<[Value]>>,
    /// How source instructions are renumbered, so that iterations stand one after the other.
    spans: Vec<Span>,
    /// How many loops that are written out are around.
    inside: u32,
    left: u32,
    /// Most values.
    limit: usize,
    count: u32,
    loops: Vec<RegionId>,
    failed: bool,
}

impl Copy<'_> {
    fn span(&self, inst: u32) -> Span {
        let found = self.spans.iter().rev().find(|s| s.start <= inst);
        found.copied().unwrap_or_default()
    }

    fn at<const N: usize>(&self, at: [u32; N]) -> [u32; N] {
        at.map(|i| i.saturating_add(self.span(i).shift))
    }

    fn hint(&self, hint: LaneHint) -> LaneHint {
        let span = self.span(hint.inst);
        LaneHint {
            inst: hint.inst.saturating_add(span.shift),
            lane: hint.lane,
            depth: hint.depth.saturating_sub(span.removed),
        }
    }

    fn args(&mut self, args: &[Value]) -> Vec<Value> {
        args.iter().map(|&a| self.value(a)).collect()
    }

    /// The copy of `v`, made with what it needs if there is none yet.
    fn value(&mut self, v: Value) -> Value {
        let mut stack: SmallVec<[Value; 16]> = SmallVec::from_slice(&[v]);
        while let Some(&v) = stack.last() {
            if self.map[ix(v)].is_some() {
                stack.pop();
                continue;
            }
            let d = &self.old.values[v];
            if let VOp::Proj(c) = d.op
                && let Some(&r) = self.inputs.get(&d.args[0])
            {
                let hint = self.hint(d.hint);
                let read = self
                    .new
                    .intern(VOp::Reg(r, c), false, false, Args::new(), hint);
                self.map[ix(v)] = Some(read);
                continue;
            }
            if let Some(&a) = d.args.iter().find(|&&a| self.map[ix(a)].is_none()) {
                stack.push(a);
                continue;
            }
            // What has a place was copied there; a value of an iteration that is over is lost.
            if matches!(d.op, VOp::Phi(_)) || is_placed(self.old, v) {
                self.failed = true;
                return self.new.imm(0);
            }
            let args = d.args.iter().filter_map(|&a| self.map[ix(a)]).collect();
            self.map[ix(v)] = Some(self.operation(v, args));
            stack.pop();
        }
        match self.map[ix(v)] {
            Some(n) => n,
            None => self.new.imm(0),
        }
    }

    fn operation(&mut self, v: Value, args: Args) -> Value {
        let d = &self.old.values[v];
        let mut node = Node {
            op: d.op,
            precise: d.precise,
            wide: d.wide,
            args,
            hint: self.hint(d.hint),
        };
        match d.op {
            VOp::Multi(m) => {
                let multi = self.old.multis[m.0 as usize].clone();
                node.op = VOp::Multi(self.new.multi(multi));
            }
            VOp::Reg(r, c) => {
                let plain = reference(&self.new, self.old.regs[r.0 as usize], &node.args);
                if let Some(plain) = plain.filter(|_| self.inside > 0) {
                    node.op = VOp::Reg(self.new.reg(plain), c);
                    node.args.clear();
                }
            }
            _ => {}
        }
        if self.inside == 0 {
            return node.intern(&mut self.new);
        }
        self.spend(1);
        match node.op {
            VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) => node.intern(&mut self.new),
            _ => make(&mut self.new, node),
        }
    }

    /// Notes the work on written-out iterations.
    fn spend(&mut self, operations: u32) {
        self.left = self.left.saturating_sub(operations);
        self.failed |= self.left == 0 || self.new.values.len() > self.limit;
    }

    fn phis(&mut self, old: &[Value]) -> Vec<Value> {
        let copy = |p: &Value| {
            let hint = self.hint(self.old.values[*p].hint);
            let new = self.new.phi(hint);
            self.map[ix(*p)] = Some(new);
            new
        };
        old.iter().map(copy).collect()
    }

    fn bind(&mut self, phis: &[Value], values: &[Value]) {
        for (&p, &v) in phis.iter().zip(values) {
            self.map[ix(p)] = Some(v);
        }
    }

    /// Copies items; whether control reaches their end.
    fn items(&mut self, items: &[Item], out: &mut Vec<Item>) -> bool {
        for item in items {
            if self.failed {
                return false;
            }
            let goes_on = match item {
                Item::Effect(v) => {
                    self.effect(*v, out);
                    true
                }
                Item::If(i) => self.branch(i, out),
                Item::Loop(l) => self.looped(l, out),
                Item::Switch(s) => {
                    self.switch(s, out);
                    true
                }
                Item::Depart(id, args) => {
                    let mut args = self.args(args);
                    let (id, escapes) = self.region(*id);
                    args.extend(escapes.iter().map(|&v| self.value(v)));
                    out.push(Item::Depart(id, args));
                    false
                }
                Item::Repeat(id, args) => {
                    let args = self.args(args);
                    out.push(Item::Repeat(self.region(*id).0, args));
                    false
                }
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// The copy of a region around, and what its exits hand on beside the results.
    fn region(&self, id: RegionId) -> (RegionId, Rc<[Value]>) {
        match self.scopes.iter().rev().find(|s| s.old == id) {
            Some(s) => (s.new, s.escapes.clone()),
            None => (FUNCTION, Rc::default()),
        }
    }

    fn open(&mut self, old: RegionId, new: RegionId, escapes: Rc<[Value]>) {
        self.scopes.push(Scope { old, new, escapes });
    }

    /// Regions around which all is copied once keep their number.
    fn number(&mut self, id: RegionId) -> RegionId {
        if self.inside == 0 {
            id
        } else {
            RegionId(self.new.fresh())
        }
    }

    fn effect(&mut self, v: Value, out: &mut Vec<Item>) {
        let d = &self.old.values[v];
        let VOp::Multi(m) = d.op else {
            self.failed = true;
            return;
        };
        let mut multi = self.old.multis[m.0 as usize].clone();
        let mut args: Args = d.args.iter().map(|&a| self.value(a)).collect();
        self.inputs.remove(&v);
        if self.inside > 0 {
            self.spend(1);
            // A store beyond its array has no defined effect.
            if matches!(multi.kind, MultiKind::Load | MultiKind::Store)
                && matches!(direct(&self.new, &mut multi, &mut args), Named::Nothing)
            {
                return;
            }
            if let Some(r) = plain_input(&multi) {
                let r = self.new.reg(r);
                self.inputs.insert(v, r);
                return;
            }
        }
        let op = VOp::Multi(self.new.multi(multi));
        let hint = self.hint(d.hint);
        let copy = self.new.intern(op, d.precise, d.wide, args, hint);
        self.map[ix(v)] = Some(copy);
        out.push(Item::Effect(copy));
    }

    fn branch(&mut self, i: &If, out: &mut Vec<Item>) -> bool {
        let cond = self.value(i.cond);
        let mut new = If {
            bits: i.bits,
            cond,
            then: Body::default(),
            els: Body::default(),
            results: Vec::new(),
            then_args: None,
            else_args: None,
            at: self.at(i.at),
        };
        if let Some(taken) = known_branch(&self.new, &new) {
            let (arm, args) = if taken {
                (&i.then, &i.then_args)
            } else {
                (&i.els, &i.else_args)
            };
            let goes_on = self.items(&arm.items, out);
            if goes_on {
                let args = self.args(args.as_deref().unwrap_or_default());
                self.bind(&i.results, &args);
            }
            return goes_on;
        }
        new.then_args = self.arm(&i.then, &i.then_args, &mut new.then);
        new.else_args = self.arm(&i.els, &i.else_args, &mut new.els);
        let goes_on = match (&mut new.then_args, &mut new.else_args) {
            (Some(_), Some(_)) => {
                new.results = self.phis(&i.results);
                true
            }
            // The results of the only arm that goes on need no phis.
            (Some(args), None) | (None, Some(args)) => {
                let args = std::mem::take(args);
                self.bind(&i.results, &args);
                true
            }
            (None, None) => false,
        };
        out.push(Item::If(Box::new(new)));
        goes_on
    }

    fn arm(&mut self, arm: &Body, args: &Option<Vec<Value>>, out: &mut Body) -> Option<Vec<Value>> {
        let goes_on = self.items(&arm.items, &mut out.items);
        goes_on.then(|| self.args(args.as_deref().unwrap_or_default()))
    }

    fn looped(&mut self, l: &Loop, out: &mut Vec<Item>) -> bool {
        if self.chosen.contains(&l.id)
            && let Some(varying) = self.varying.get(&l.id)
            && let Some(trips) = self.trips_of(l, varying)
        {
            return self.write_out(l, varying, trips, out);
        }
        let id = self.number(l.id);
        let inits = self.args(&l.inits);
        let params = self.phis(&l.params);
        self.open(l.id, id, Rc::default());
        let mut body = Body::default();
        let back = self.arm(&l.body, &l.back, &mut body);
        self.scopes.pop();
        let exits = departs(&body.items, id);
        let new = Loop {
            id,
            params,
            inits,
            body,
            back,
            results: self.phis(&l.results),
            exits,
            at: self.at(l.at),
        };
        out.push(Item::Loop(Box::new(new)));
        exits
    }

    fn trips_of(&mut self, l: &Loop, varying: &Varying) -> Option<u32> {
        let mut trips = self.trips.take()?;
        let found = trips.of(l, varying, &mut |v| {
            let v = self.value(v);
            self.new.as_imm(v)
        });
        self.trips = Some(trips);
        found
    }

    /// Writes the iterations of a loop one after the other.
    fn write_out(&mut self, l: &Loop, varying: &Varying, trips: u32, out: &mut Vec<Item>) -> bool {
        let id = RegionId(self.new.fresh());
        let length = (l.at[1].saturating_sub(l.at[0])).max(1);
        let outer = self.span(l.at[0]);
        let mark = self.spans.len();
        let mut args = self.args(&l.inits);
        let mut items = Vec::new();
        self.count += 1;
        if !self.loops.contains(&l.id) {
            self.loops.push(l.id);
        }
        self.inside += 1;
        let escapes = self.escapes_of(l, varying);
        self.open(l.id, id, escapes.clone());
        let mut shift = outer.shift;
        let mut goes_on = true;
        for _ in 0..trips {
            self.spans.truncate(mark);
            self.spans.push(Span {
                start: l.at[0],
                shift,
                removed: outer.removed.saturating_add(1),
            });
            shift = shift.saturating_add(length);
            self.spend(1 + varying.all().len() as u32 / 8);
            for &v in varying.all() {
                self.map[ix(v)] = None;
            }
            self.bind(&l.params, &args);
            goes_on = self.items(&l.body.items, &mut items);
            if goes_on {
                args = self.args(l.back.as_deref().unwrap_or_default());
            } else if let Some(Item::Repeat(to, _)) = items.last()
                && *to == id
                && let Some(Item::Repeat(_, next)) = items.pop()
            {
                goes_on = true;
                args = next;
            }
            if self.failed || !goes_on {
                break;
            }
        }
        self.inside -= 1;
        self.scopes.pop();
        self.spans.truncate(mark);
        self.spans.push(Span {
            start: l.at[1],
            shift: shift.saturating_sub(length),
            removed: outer.removed,
        });
        // An iteration more, or one that only some ways lead to.
        if goes_on || repeats(&items, id) {
            self.failed = true;
        }
        if self.failed {
            return false;
        }
        self.leave(l, varying, id, &escapes, items, out)
    }

    /// What the exits of a loop hand on beside its results: with one exit nothing, since what holds
    /// there holds behind the loop.
    fn escapes_of(&mut self, l: &Loop, varying: &Varying) -> Rc<[Value]> {
        if exits(&l.body.items, l.id) < 2 {
            return Rc::default();
        }
        if let Some(found) = self.escapes.get(&l.id) {
            return found.clone();
        }
        let found: Rc<[Value]> = escapes(self.old, l, varying, &self.map).into();
        self.escapes.insert(l.id, found.clone());
        found
    }

    /// Appends written-out iterations, with their exits.
    fn leave(
        &mut self,
        l: &Loop,
        varying: &Varying,
        id: RegionId,
        escapes: &[Value],
        mut items: Vec<Item>,
        out: &mut Vec<Item>,
    ) -> bool {
        let handed: Vec<Value> = l.results.iter().chain(escapes).copied().collect();
        let mut last = None;
        if let Some(Item::Depart(to, _)) = items.last()
            && *to == id
            && let Some(Item::Depart(_, args)) = items.pop()
        {
            last = Some(args);
        }
        if !departs(&items, id) {
            out.append(&mut items);
            if let Some(args) = &last {
                self.bind(&handed, args);
            }
            return last.is_some();
        }
        // What holds behind the loop depends on where it was left.
        for &v in varying.all() {
            self.map[ix(v)] = None;
        }
        if let Some(args) = last {
            items.push(Item::Depart(id, args));
        }
        let hints: Vec<LaneHint> = handed
            .iter()
            .map(|&p| self.hint(self.old.values[p].hint))
            .collect();
        if !nests(&items, id, 0) || handed.iter().any(|&v| self.old.values[v].wide) {
            self.failed = true;
            return false;
        }
        let end = nest(&mut self.new, items, id, &hints, out);
        if let Some(args) = &end {
            self.bind(&handed, args);
        }
        end.is_some()
    }

    fn switch(&mut self, s: &Switch, out: &mut Vec<Item>) {
        let id = self.number(s.id);
        let selector = self.value(s.selector);
        let entries: Vec<Vec<Value>> = s.cases.iter().map(|c| self.args(&c.entry)).collect();
        let none_args = s.none_args.as_ref().map(|a| self.args(a));
        self.open(s.id, id, Rc::default());
        let mut cases: Vec<Case> = Vec::new();
        let mut falls = false;
        for (k, (c, entry)) in s.cases.iter().zip(entries).enumerate() {
            let fall = match &c.fall {
                Some(args) if k > 0 && falls => Some(self.args(args)),
                _ => None,
            };
            let label = c.label.map(|v| self.value(v));
            let params = self.phis(&c.params);
            let mut body = Body::default();
            falls = self.items(&c.body.items, &mut body.items);
            let [at] = self.at([c.at]);
            cases.push(Case {
                label,
                params,
                entry,
                fall,
                body,
                at,
            });
        }
        let end_args = match &s.end_args {
            Some(args) if falls => Some(self.args(args)),
            _ => None,
        };
        self.scopes.pop();
        let new = Switch {
            id,
            selector,
            cases,
            results: self.phis(&s.results),
            end_args,
            none_args,
            at: self.at(s.at),
        };
        out.push(Item::Switch(Box::new(new)));
    }
}

/// Number of ways out of `id`.
fn exits(items: &[Item], id: RegionId) -> usize {
    let of = |item: &Item| match item {
        Item::Depart(d, _) => usize::from(*d == id),
        Item::If(i) => exits(&i.then.items, id) + exits(&i.els.items, id),
        Item::Loop(l) => exits(&l.body.items, id),
        Item::Switch(s) => s.cases.iter().map(|c| exits(&c.body.items, id)).sum(),
        Item::Effect(_) | Item::Repeat(..) => 0,
    };
    items.iter().map(of).sum()
}

/// The values of a loop that are used behind it as they are, without a phi that merges its exits.
/// `map` holds what was copied before the loop.
fn escapes(f: &Function, l: &Loop, varying: &Varying, map: &[Option<Value>]) -> Vec<Value> {
    let mut roots: FxHashSet<Value> = l.params.iter().copied().collect();
    place(&l.body, &mut roots);
    // What is computed from something behind the loop does not exist at its exits.
    let mut late: Vec<bool> = Vec::with_capacity(f.values.len());
    for (v, d) in f.values.iter() {
        let placed = matches!(d.op, VOp::Phi(_)) || is_placed(f, v);
        late.push(if placed {
            map[ix(v)].is_none() && !roots.contains(&v)
        } else {
            d.args.iter().any(|&a| late[ix(a)])
        });
    }
    let mut stack: Vec<Value> = f.end_args.iter().flatten().copied().collect();
    uses(f, &f.body, l.id, &mut stack);
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    while let Some(v) = stack.pop() {
        if !varying.contains(v) || !seen.insert(v) {
            continue;
        }
        if late[ix(v)] {
            stack.extend(&f.values[v].args);
        } else {
            found.push(v);
        }
    }
    found.sort_unstable_by_key(|&v| ix(v));
    found
}

/// Notes what a body uses outside of the loop `skip`.
fn uses(f: &Function, body: &Body, skip: RegionId, out: &mut Vec<Value>) {
    for item in &body.items {
        match item {
            Item::Effect(v) => out.extend(&f.values[*v].args),
            Item::If(i) => {
                out.push(i.cond);
                out.extend([&i.then_args, &i.else_args].into_iter().flatten().flatten());
                uses(f, &i.then, skip, out);
                uses(f, &i.els, skip, out);
            }
            Item::Loop(l) if l.id == skip => {}
            Item::Loop(l) => {
                out.extend(l.inits.iter().chain(l.back.iter().flatten()));
                uses(f, &l.body, skip, out);
            }
            Item::Switch(s) => {
                out.push(s.selector);
                out.extend([&s.end_args, &s.none_args].into_iter().flatten().flatten());
                for c in &s.cases {
                    out.extend(c.entry.iter().chain(c.fall.iter().flatten()));
                    uses(f, &c.body, skip, out);
                }
            }
            Item::Depart(_, args) | Item::Repeat(_, args) => out.extend(args),
        }
    }
}

/// Whether [`nest`] can do away with the exits to `id`: each ends an arm, and what follows it runs
/// in the other one.
pub(crate) fn nests(items: &[Item], id: RegionId, level: u32) -> bool {
    let Some((at, i)) = first_exit(items, id) else {
        return items
            .iter()
            .all(|item| !leaves(item, id) || matches!(item, Item::Depart(..)));
    };
    let ends = |b: &Body| b.items.last().is_some_and(never_ends);
    level < LEVELS
        && (ends(&i.then) || !departs(&i.then.items, id))
        && (ends(&i.els) || !departs(&i.els.items, id))
        && nests(&i.then.items, id, level + 1)
        && nests(&i.els.items, id, level + 1)
        && nests(&items[at + 1..], id, level + 1)
}

/// The first branch that leaves `id`, if it does before another region does.
fn first_exit(items: &[Item], id: RegionId) -> Option<(usize, &If)> {
    let at = items.iter().position(|item| leaves(item, id))?;
    match &items[at] {
        Item::If(i) => Some((at, i)),
        _ => None,
    }
}

fn leaves(item: &Item, id: RegionId) -> bool {
    departs(std::slice::from_ref(item), id)
}

/// Appends items without their exits to `id`; what these hand on, if control comes to the end.
pub(crate) fn nest(
    f: &mut Function,
    mut items: Vec<Item>,
    id: RegionId,
    hints: &[LaneHint],
    out: &mut Vec<Item>,
) -> Option<Vec<Value>> {
    let Some(at) = items.iter().position(|item| leaves(item, id)) else {
        out.append(&mut items);
        return None;
    };
    let mut rest = items.split_off(at + 1);
    out.append(&mut items);
    match out.pop() {
        Some(Item::Depart(_, args)) => Some(args),
        Some(Item::If(mut i)) => {
            // Only one arm can go on to the rest.
            let arm = match (&i.then_args, &i.else_args) {
                (Some(_), None) => &mut i.then,
                _ => &mut i.els,
            };
            if i.then_args.is_some() || i.else_args.is_some() {
                arm.items.append(&mut rest);
            }
            let then = std::mem::take(&mut i.then.items);
            let els = std::mem::take(&mut i.els.items);
            i.then_args = nest(f, then, id, hints, &mut i.then.items);
            i.else_args = nest(f, els, id, hints, &mut i.els.items);
            i.results = match (&i.then_args, &i.else_args) {
                (None, None) => Vec::new(),
                _ => hints.iter().map(|&h| f.phi(h)).collect(),
            };
            let results = i.results.clone();
            let goes_on = i.then_args.is_some() || i.else_args.is_some();
            out.push(Item::If(i));
            goes_on.then_some(results)
        }
        _ => None,
    }
}

/// `r` with constant addresses added, if the program declares what that names.
fn reference(f: &Function, mut r: RegRef, args: &[Value]) -> Option<RegRef> {
    if args.is_empty() {
        return None;
    }
    let mut args = args.iter();
    for bracket in r.dim.iter_mut().chain([&mut r.index]) {
        if bracket.relative {
            let word = f.as_imm(*args.next()?)?;
            *bracket = plain(bracket.base, word)?;
        }
    }
    f.declares(r).then_some(r)
}

fn plain(base: i32, word: u32) -> Option<RefIndex> {
    Some(RefIndex {
        base: base.checked_add(word as i32)?,
        relative: false,
        array: 0,
    })
}

/// What a load or store names once constant addresses are added.
enum Named {
    /// A register that changes or may not be named directly.
    Open,
    /// The register that the operation names now.
    Direct,
    /// Nothing: beyond the end of the array.
    Nothing,
}

/// Takes constant addresses out of a load or store where they name a register that is declared.
fn direct(f: &Function, m: &mut Multi, args: &mut Args) -> Named {
    let store = m.kind == MultiKind::Store;
    let (reg, slots): (Option<&mut Register>, _) = if store {
        let reg = m.inst.dsts.first_mut().map(|d| &mut d.reg);
        (reg, [Slot::DstDim, Slot::DstIndex])
    } else {
        let reg = m.inst.srcs.first_mut().map(|s| &mut s.reg);
        (reg, [Slot::SrcDim(0), Slot::SrcIndex(0)])
    };
    let Some(reg) = reg.filter(|r| r.is_indirect()) else {
        return Named::Open;
    };
    let mut words = [0; 2];
    for (word, slot) in words.iter_mut().zip(slots) {
        if let Some(at) = m.slots.iter().position(|&s| s == slot) {
            match f.as_imm(args[at]) {
                Some(w) => *word = w,
                None => return Named::Open,
            }
        }
    }
    let Some(index) = plain(reg.index.base, words[1]) else {
        return Named::Open;
    };
    let dim = reg.dim.map(|d| plain(d.base, words[0]));
    match reg.file {
        File::Temp => {
            let id = reg.index.array;
            let mut arrays = f.arrays.iter().filter(|a| id != 0 && a.2 == id);
            match arrays.next() {
                Some(a) if (a.0..=a.1).contains(&index.base) => {}
                Some(_) if store => return Named::Nothing,
                _ => return Named::Open,
            }
        }
        File::In | File::Sv => {
            let named = RegRef {
                file: reg.file,
                dim: dim.flatten(),
                index,
            };
            if dim == Some(None) || !f.declares(named) {
                return Named::Open;
            }
        }
        _ => return Named::Open,
    }
    reg.index = tgsi::Index::direct(index.base);
    if let (Some(d), Some(Some(to))) = (&mut reg.dim, dim) {
        *d = tgsi::Index::direct(to.base);
    }
    let keep: SmallVec<[bool; 6]> = m.slots.iter().map(|s| !slots.contains(s)).collect();
    let mut k = keep.iter();
    args.retain(|_| *k.next().unwrap_or(&true));
    m.slots.retain(|s| !slots.contains(s));
    Named::Direct
}

/// The register of a load of an input that has no address any more.
fn plain_input(m: &Multi) -> Option<RegRef> {
    let reg = m.inst.srcs.first()?.reg;
    let found =
        m.kind == MultiKind::Load && matches!(reg.file, File::In | File::Sv) && m.slots.is_empty();
    let index = |i: tgsi::Index| RefIndex {
        base: i.base,
        relative: false,
        array: i.array,
    };
    found.then(|| RegRef {
        file: reg.file,
        dim: reg.dim.map(index),
        index: index(reg.index),
    })
}
