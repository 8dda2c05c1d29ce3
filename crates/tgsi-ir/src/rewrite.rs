//! Rebuilding a function: the frame that passes work in.
//!
//! A pass never edits values in place. It computes [`Edits`] on the old function
//! and rebuilds: live values are interned again in topological order, through a
//! rule that may return something simpler, then the tree is walked and copied.
//! What nothing observable needs is not copied, so every rebuild also removes
//! dead values, dead channels of multi-result operations and dead phis.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::Opcode;
use tgsi::usage::src_mask;

use crate::ir::*;

/// Values that stand for others, by arena position.
#[derive(Clone, Debug, Default)]
pub struct Subst {
    /// Position of the replacement plus one; 0 and what lies beyond the end have none.
    to: Vec<u32>,
}

impl Subst {
    /// Whether nothing is replaced.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// What replaces `v`.
    #[inline]
    pub fn get(&self, v: Value) -> Option<Value> {
        let t = *self.to.get(ix(v))?;
        (t != 0).then(|| value_at(t as usize - 1))
    }

    /// Whether something replaces `v`.
    #[inline]
    pub fn contains(&self, v: Value) -> bool {
        self.get(v).is_some()
    }

    /// Replaces `v` by `by`.
    pub fn insert(&mut self, v: Value, by: Value) {
        let i = ix(v);
        if i >= self.to.len() {
            self.to.resize(i + 1, 0);
        }
        self.to[i] = ix(by) as u32 + 1;
    }
}

/// Changes a pass asks of the rebuild.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// Old value to old value; the target precedes the source in the arena.
    pub subst: Subst,
    /// Effects that are dropped although their kind would keep them (overwritten stores).
    pub dropped: rustc_hash::FxHashSet<Value>,
    /// Values that become another operation (phis of a branch that is a selection); the operands
    /// precede the value, its width stays.
    pub redefine: FxHashMap<Value, (VOp, Args)>,
    /// Channels (a mask) that a [`MultiKind::Store`] no longer writes; at least one stays.
    pub trimmed: FxHashMap<Value, u8>,
    /// Phis at the end of the arena that belong before the value they are listed by.
    pub before: FxHashMap<Value, Vec<Value>>,
}

impl Edits {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.subst.is_empty()
            && self.dropped.is_empty()
            && self.redefine.is_empty()
            && self.trimmed.is_empty()
            && self.before.is_empty()
    }

    /// The value that stands for `v`.
    #[inline]
    pub fn resolve(&self, mut v: Value) -> Value {
        while let Some(t) = self.subst.get(v) {
            v = t;
        }
        v
    }
}

/// What a rule sees: an operation about to be interned, operands already rewritten.
#[derive(Clone, Debug)]
pub struct Node {
    /// Operation.
    pub op: VOp,
    /// `_PRECISE`.
    pub precise: bool,
    /// 64 bits wide.
    pub wide: bool,
    /// Operands in the new function.
    pub args: Args,
    /// Position in the source.
    pub hint: LaneHint,
}

impl Node {
    /// Interns the operation as it is.
    pub fn intern(self, f: &mut Function) -> Value {
        match self.op {
            VOp::Half(h) => f.half(self.args[0], h, self.hint),
            VOp::Pair => f.pair(self.args[0], self.args[1], self.hint),
            _ => f.intern(self.op, self.precise, self.wide, self.args, self.hint),
        }
    }
}

/// The arm a branch surely takes: `Some(true)` for the first one.
pub fn known_branch(f: &Function, item: &If) -> Option<bool> {
    let w = f.as_imm(item.cond)?;
    Some(if item.bits {
        w != 0
    } else {
        f32::from_bits(w) != 0.0
    })
}

/// Whether control never reaches what follows `item`.
pub fn ends_body(f: &Function, item: &Item) -> bool {
    match item {
        Item::Depart(..) | Item::Repeat(..) => true,
        Item::If(i) => match known_branch(f, i) {
            Some(true) => i.then_args.is_none(),
            Some(false) => i.else_args.is_none(),
            None => i.then_args.is_none() && i.else_args.is_none(),
        },
        Item::Loop(l) => !l.exits,
        Item::Switch(s) => !is_left(s),
        Item::Effect(_) => false,
    }
}

/// Whether control cannot come behind an item of a rebuilt body, whatever its conditions are.
pub fn never_ends(item: &Item) -> bool {
    match item {
        Item::Depart(..) | Item::Repeat(..) => true,
        Item::If(i) => i.then_args.is_none() && i.else_args.is_none(),
        Item::Loop(l) => !l.exits,
        Item::Switch(s) => !is_left(s),
        Item::Effect(_) => false,
    }
}

/// Whether control can come behind a switch: out of its last case, past all of them, or by a Depart.
fn is_left(s: &Switch) -> bool {
    s.end_args.is_some()
        || s.none_args.is_some()
        || s.cases.iter().any(|c| departs(&c.body.items, s.id))
}

/// Calls `f` for each reachable item of a body, outer before inner, in order.
pub fn walk<'a>(func: &Function, body: &'a Body, f: &mut dyn FnMut(&'a Item)) {
    for item in &body.items {
        f(item);
        match item {
            Item::If(i) => match known_branch(func, i) {
                Some(true) => walk(func, &i.then, f),
                Some(false) => walk(func, &i.els, f),
                None => {
                    walk(func, &i.then, f);
                    walk(func, &i.els, f);
                }
            },
            Item::Loop(l) => walk(func, &l.body, f),
            Item::Switch(s) => s.cases.iter().for_each(|c| walk(func, &c.body, f)),
            _ => {}
        }
        if ends_body(func, item) {
            break;
        }
    }
}

/// The inputs of every phi, by reachable edge.
#[derive(Clone, Debug, Default)]
pub struct PhiInputs {
    /// Place in `order` plus one, by arena position; 0 for what is no phi or has no input.
    number: Vec<u32>,
    /// Where the inputs of each phi end in `inputs`, by place in `order`.
    ends: Vec<u32>,
    inputs: Vec<Value>,
    /// Phis in the order of their regions.
    pub order: Vec<Value>,
    /// Whether a loop has a way back: only then may an input come later than its phi.
    pub loops: bool,
}

impl PhiInputs {
    /// Collects them from the tree.
    pub fn collect(f: &Function) -> PhiInputs {
        let mut p = PhiInputs {
            number: vec![0; f.values.len()],
            ..PhiInputs::default()
        };
        let mut edges = Vec::new();
        if f.body.items.iter().any(|i| !matches!(i, Item::Effect(_))) {
            edges.reserve(f.values.len());
            p.order.reserve(f.values.len() / 4);
            p.ends.reserve(f.values.len() / 4);
        }
        let mut results: FxHashMap<RegionId, &[Value]> = FxHashMap::default();
        let mut params: FxHashMap<RegionId, &[Value]> = FxHashMap::default();
        walk(f, &f.body, &mut |item| match item {
            Item::If(i) => {
                let known = known_branch(f, i);
                for (arm, args) in [(true, &i.then_args), (false, &i.else_args)] {
                    if let Some(args) = args
                        && known.is_none_or(|k| k == arm)
                    {
                        p.add(&i.results, args, &mut edges);
                    }
                }
            }
            Item::Loop(l) => {
                p.add(&l.params, &l.inits, &mut edges);
                if let Some(b) = &l.back {
                    p.loops = true;
                    p.add(&l.params, b, &mut edges);
                }
                results.insert(l.id, &l.results);
                params.insert(l.id, &l.params);
            }
            Item::Switch(s) => {
                for c in &s.cases {
                    p.add(&c.params, &c.entry, &mut edges);
                    if let Some(fall) = &c.fall {
                        p.add(&c.params, fall, &mut edges);
                    }
                }
                for args in [&s.end_args, &s.none_args].into_iter().flatten() {
                    p.add(&s.results, args, &mut edges);
                }
                results.insert(s.id, &s.results);
            }
            Item::Depart(id, args) => {
                if let Some(r) = results.get(id) {
                    p.add(r, args, &mut edges);
                }
            }
            Item::Repeat(id, args) => {
                if let Some(r) = params.get(id) {
                    p.loops = true;
                    p.add(r, args, &mut edges);
                }
            }
            Item::Effect(_) => {}
        });
        p.sort(&edges);
        p
    }

    fn add(&mut self, phis: &[Value], args: &[Value], edges: &mut Vec<(u32, Value)>) {
        for (&phi, &a) in phis.iter().zip(args) {
            let n = &mut self.number[ix(phi)];
            if *n == 0 {
                self.order.push(phi);
                self.ends.push(0);
                *n = self.order.len() as u32;
            }
            self.ends[*n as usize - 1] += 1;
            edges.push((*n, a));
        }
    }

    /// Sorts the edges by phi, those of one phi in the order they came in.
    fn sort(&mut self, edges: &[(u32, Value)]) {
        let Some(&(_, any)) = edges.first() else {
            return;
        };
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        self.inputs = vec![any; edges.len()];
        for &(n, a) in edges {
            let end = &mut self.ends[n as usize - 1];
            self.inputs[*end as usize] = a;
            *end += 1;
        }
    }

    /// The inputs of a phi; none if it cannot be reached.
    #[inline]
    pub fn of(&self, phi: Value) -> &[Value] {
        match self.number[ix(phi)] {
            0 => &[],
            n => {
                let n = n as usize;
                let start = if n == 1 { 0 } else { self.ends[n - 2] };
                &self.inputs[start as usize..self.ends[n - 1] as usize]
            }
        }
    }
}

/// Which values are needed, by arena position, and which result channels of multi-result operations.
pub struct Liveness {
    /// Needed values.
    pub live: Vec<bool>,
    /// Result channels read, by multi number.
    pub results: Vec<u8>,
}

/// Marks what effects, conditions and outputs need.
pub fn liveness(f: &Function, edits: &Edits, phis: &PhiInputs) -> Liveness {
    liveness_with(f, edits, phis, Vec::new())
}

/// As [`liveness`], where `wanted` values are needed too.
pub fn liveness_with(
    f: &Function,
    edits: &Edits,
    phis: &PhiInputs,
    wanted: Vec<Value>,
) -> Liveness {
    let l = Liveness {
        live: vec![false; f.values.len()],
        results: vec![0; f.multis.len()],
    };
    let places = if phis.order.is_empty() {
        0
    } else {
        f.values.len()
    };
    let mut roots = Roots {
        f,
        edits,
        stack: wanted,
        cond_of: vec![None; places],
    };
    roots.body(&f.body);
    let Roots {
        mut stack, cond_of, ..
    } = roots;
    stack.extend(f.end_args.iter().flatten());
    let plain = edits.is_empty();
    let mut m = Marking {
        f,
        edits,
        phis,
        cond_of,
        l,
        late: Vec::new(),
        at: usize::MAX,
        plain,
    };
    stack.iter().for_each(|&v| m.mark(v));
    // Operands come before their users: one look at each value from the last to the first, but
    // for what back edges need, which waits.
    for i in (0..f.values.len()).rev() {
        if m.l.live[i] {
            m.at = i;
            m.operands(value_at(i));
        }
    }
    m.at = 0;
    while let Some(v) = m.late.pop() {
        m.operands(v);
    }
    m.l
}

/// Marks needed values.
struct Marking<'a> {
    f: &'a Function,
    edits: &'a Edits,
    phis: &'a PhiInputs,
    /// See [`Roots::cond_of`].
    cond_of: Vec<Option<Value>>,
    l: Liveness,
    /// Values behind the scan that were marked since.
    late: Vec<Value>,
    /// Position of the scan: what is marked before it is still to come.
    at: usize,
    /// Whether there are no edits.
    plain: bool,
}

impl Marking<'_> {
    #[inline]
    fn mark(&mut self, v: Value) {
        let v = if self.plain { v } else { self.edits.resolve(v) };
        if !std::mem::replace(&mut self.l.live[ix(v)], true) && ix(v) >= self.at {
            self.late.push(v);
        }
    }

    /// Marks what a value needs.
    #[inline]
    fn operands(&mut self, v: Value) {
        let d = &self.f.values[v];
        if self.plain && !matches!(d.op, VOp::Proj(_) | VOp::Phi(_)) {
            d.args.iter().for_each(|&a| self.mark(a));
        } else {
            self.edited_operands(v, d);
        }
    }

    /// [`Self::operands`] in general.
    fn edited_operands(&mut self, v: Value, d: &ValueData) {
        let (f, edits, phis) = (self.f, self.edits, self.phis);
        if let VOp::Proj(c) = d.op
            && let VOp::Multi(m) = f.values[edits.resolve(d.args[0])].op
        {
            self.l.results[m.0 as usize] |= 1 << c;
        }
        if !edits.redefine.is_empty()
            && let Some((_, args)) = edits.redefine.get(&v)
        {
            args.iter().for_each(|&a| self.mark(a));
            return;
        }
        if let VOp::Phi(_) = d.op {
            phis.of(v).iter().for_each(|&a| self.mark(a));
            if let Some(&Some(cond)) = self.cond_of.get(ix(v)) {
                self.mark(cond);
            }
        }
        let trimmed = if edits.trimmed.is_empty() {
            None
        } else {
            edits.trimmed.get(&v)
        };
        match trimmed.zip(f.as_multi(v)) {
            Some((&gone, m)) => {
                let kept = m
                    .slots
                    .iter()
                    .zip(&d.args)
                    .filter(|p| !is_trimmed(*p.0, gone));
                kept.for_each(|p| self.mark(*p.1));
            }
            None => d.args.iter().for_each(|&a| self.mark(a)),
        }
    }
}

/// What a function needs whatever its values are used for.
struct Roots<'a> {
    f: &'a Function,
    edits: &'a Edits,
    stack: Vec<Value>,
    /// The condition that chooses between the inputs of a phi, by arena position: a branch that only
    /// chooses between values is needed when one of its phis is. Empty if there are no phis.
    cond_of: Vec<Option<Value>>,
}

impl Roots<'_> {
    /// Notes the roots of the reachable items; whether any item does more than compute values.
    fn body(&mut self, body: &Body) -> bool {
        let mut effect = false;
        for item in &body.items {
            effect |= match item {
                Item::Effect(v) => self.effect(*v),
                Item::If(i) => match known_branch(self.f, i) {
                    Some(true) => self.body(&i.then),
                    Some(false) => self.body(&i.els),
                    None => self.branch(i),
                },
                Item::Loop(l) => {
                    self.body(&l.body);
                    true
                }
                Item::Switch(s) => {
                    self.stack.push(s.selector);
                    self.stack.extend(s.cases.iter().filter_map(|c| c.label));
                    for c in &s.cases {
                        self.body(&c.body);
                    }
                    true
                }
                Item::Depart(id, args) => {
                    if *id == FUNCTION {
                        self.stack.extend(args);
                    }
                    true
                }
                Item::Repeat(..) => true,
            };
            if ends_body(self.f, item) {
                break;
            }
        }
        effect
    }

    fn effect(&mut self, v: Value) -> bool {
        let kind = self.f.as_multi(v).map_or(MultiKind::Effect, |m| m.kind);
        let kept = matches!(kind, MultiKind::Effect | MultiKind::Store)
            && !self.edits.dropped.contains(&v);
        if kept {
            self.stack.push(v);
        }
        kept
    }

    fn branch(&mut self, i: &If) -> bool {
        if !self.cond_of.is_empty() {
            i.results
                .iter()
                .for_each(|&r| self.cond_of[ix(r)] = Some(i.cond));
        }
        let arms = self.body(&i.then) | self.body(&i.els);
        if arms || i.then_args.is_none() || i.else_args.is_none() {
            self.stack.push(i.cond);
        }
        arms
    }
}

/// Whether an operand of a store is one of the channels `gone`.
fn is_trimmed(slot: Slot, gone: u8) -> bool {
    matches!(slot, Slot::Src(0, c) if gone >> c & 1 != 0)
}

/// `edits`, with the phis of branches whose arm is known replaced by what that arm gives.
fn with_decided<'a>(f: &Function, edits: &'a Edits) -> Cow<'a, Edits> {
    let mut edits = Cow::Borrowed(edits);
    walk(f, &f.body, &mut |item| {
        let Item::If(i) = item else { return };
        let args = match known_branch(f, i) {
            Some(true) => &i.then_args,
            Some(false) => &i.else_args,
            None => return,
        };
        for (&phi, &a) in i.results.iter().zip(args.iter().flatten()) {
            if ix(a) < ix(phi) && !edits.subst.contains(phi) {
                edits.to_mut().subst.insert(phi, a);
            }
        }
    });
    edits
}

/// Rebuilds a function under `edits`, passing each operation through `rule`.
pub fn rebuild(
    old: &Function,
    edits: &Edits,
    rule: &mut dyn FnMut(&mut Function, Node) -> Value,
) -> Function {
    rebuild_with(old, edits, &mut |f, _, node| rule(f, node))
}

/// Like [`rebuild`]; the rule also sees which old value the operation comes from.
pub fn rebuild_with(
    old: &Function,
    edits: &Edits,
    rule: &mut dyn FnMut(&mut Function, Value, Node) -> Value,
) -> Function {
    rebuild_from(old, edits, &PhiInputs::collect(old), rule)
}

/// Like [`rebuild_with`], with the inputs of the phis of `old` already collected.
pub fn rebuild_from(
    old: &Function,
    edits: &Edits,
    phis: &PhiInputs,
    rule: &mut dyn FnMut(&mut Function, Value, Node) -> Value,
) -> Function {
    let edits = &*with_decided(old, edits);
    let live = liveness(old, edits, phis);
    let expected = live.live.iter().filter(|l| **l).count();
    let new = old.successor(expected + expected / 8);
    let mut b = Rebuild {
        old,
        live: &live,
        edits,
        new,
        map: vec![None; old.values.len()],
        scopes: Vec::new(),
    };
    let plain = edits.is_empty();
    for (v, d) in old.values.iter() {
        if plain && !matches!(d.op, VOp::Multi(_)) {
            if live.live[ix(v)]
                && let Some(args) = b.mapped(&d.args)
            {
                let node = Node {
                    op: d.op,
                    precise: d.precise,
                    wide: d.wide,
                    args,
                    hint: d.hint,
                };
                b.map[ix(v)] = Some(rule(&mut b.new, v, node));
            }
            continue;
        }
        if !edits.before.is_empty()
            && let Some(phis) = edits.before.get(&v)
        {
            for &p in phis.iter().filter(|p| live.live[ix(**p)]) {
                let d = &old.values[p];
                let node = Node {
                    op: d.op,
                    precise: d.precise,
                    wide: d.wide,
                    args: Args::new(),
                    hint: d.hint,
                };
                b.map[ix(p)] = Some(rule(&mut b.new, p, node));
            }
        }
        if let Some(t) = edits.subst.get(v) {
            b.map[ix(v)] = b.map[ix(edits.resolve(t))];
            continue;
        }
        if !live.live[ix(v)] || b.map[ix(v)].is_some() {
            continue;
        }
        let redefined = if edits.redefine.is_empty() {
            None
        } else {
            edits.redefine.get(&v)
        };
        let (op, args) = redefined.map_or((d.op, &d.args), |(op, args)| (*op, args));
        let mut trimmed = None;
        if !edits.trimmed.is_empty()
            && let Some((&gone, m)) = edits.trimmed.get(&v).zip(old.as_multi(v))
        {
            trimmed = Some(trim(m, args, gone));
        }
        let args = trimmed.as_ref().map_or(args, |t| &t.1);
        let Some(args) = b.mapped(args) else {
            debug_assert!(false, "a live value has a dead operand");
            continue;
        };
        let mut node = Node {
            op,
            precise: d.precise,
            wide: d.wide,
            args,
            hint: d.hint,
        };
        if let Some((multi, _)) = trimmed {
            node.op = VOp::Multi(b.new.multi(multi));
        } else if let VOp::Multi(m) = d.op {
            node.op = VOp::Multi(b.narrow(m, &mut node.args));
        }
        b.map[ix(v)] = Some(rule(&mut b.new, v, node));
    }
    let body = b.body(&old.body);
    b.new.end_args = if reaches_end(&body) {
        old.end_args.as_ref().map(|a| b.args(a))
    } else {
        None
    };
    b.new.body = body;
    b.new
}

/// A rule that changes nothing.
pub fn identity(f: &mut Function, node: Node) -> Value {
    node.intern(f)
}

struct Rebuild<'a> {
    old: &'a Function,
    live: &'a Liveness,
    edits: &'a Edits,
    new: Function,
    map: Vec<Option<Value>>,
    /// Kept parameters and results of the regions around, as positions.
    scopes: Vec<(RegionId, Vec<usize>, Vec<usize>)>,
}

/// Whether control comes to the end of a rebuilt body.
fn reaches_end(body: &Body) -> bool {
    !body.items.last().is_some_and(never_ends)
}

impl Rebuild<'_> {
    fn value(&mut self, v: Value) -> Value {
        match self.map[ix(v)] {
            Some(n) => n,
            // An argument of a phi that was dropped; nothing reads it.
            None => self.new.imm(0),
        }
    }

    /// Operands in the new function, if all are there.
    #[inline(always)]
    fn mapped(&self, args: &[Value]) -> Option<Args> {
        if args.len() <= 4 {
            let mut new = [value_at(0); 4];
            for (n, &a) in new.iter_mut().zip(args) {
                *n = self.map[ix(a)]?;
            }
            return Some(Args::from_buf_and_len(new, args.len()));
        }
        let mut new = Args::with_capacity(args.len());
        for &a in args {
            new.push(self.map[ix(a)]?);
        }
        Some(new)
    }

    fn args(&mut self, args: &[Value]) -> Vec<Value> {
        args.iter().map(|&a| self.value(a)).collect()
    }

    /// The operation in the new function, its result channels cut to those read.
    fn narrow(&mut self, m: MultiId, args: &mut Args) -> MultiId {
        let mut multi = self.old.multis[m.0 as usize].clone();
        let used = self.live.results[m.0 as usize];
        if multi.results & !used != 0 && multi.kind != MultiKind::Store {
            narrow(&mut multi, used, args);
        }
        self.new.multi(multi)
    }

    fn body(&mut self, body: &Body) -> Body {
        let mut out = Body::default();
        self.items(body, &mut out);
        out
    }

    fn items(&mut self, body: &Body, out: &mut Body) {
        for item in &body.items {
            match item {
                Item::Effect(v) => {
                    if self.live.live[ix(*v)] && !self.edits.dropped.contains(v) {
                        let n = self.value(*v);
                        out.items.push(Item::Effect(n));
                    }
                }
                Item::If(i) => self.branch(i, out),
                Item::Loop(l) => self.looped(l, out),
                Item::Switch(s) => self.switch(s, out),
                Item::Depart(id, args) => {
                    let args = self.edge(*id, args);
                    out.items.push(Item::Depart(*id, args));
                }
                Item::Repeat(id, args) => {
                    let args = self.repeat(*id, args);
                    out.items.push(Item::Repeat(*id, args));
                }
            }
            // Decided branches may leave more ways shut than the old tree shows.
            if ends_body(self.old, item) || !reaches_end(out) {
                break;
            }
        }
    }

    /// The phis that stay, as positions.
    fn kept(&self, phis: &[Value]) -> Vec<usize> {
        (0..phis.len())
            .filter(|&i| {
                self.live.live[ix(phis[i])]
                    && !self.edits.subst.contains(phis[i])
                    && !self.edits.redefine.contains_key(&phis[i])
            })
            .collect()
    }

    fn pick(&mut self, args: &[Value], kept: &[usize]) -> Vec<Value> {
        kept.iter().map(|&i| self.value(args[i])).collect()
    }

    fn branch(&mut self, i: &If, out: &mut Body) {
        match known_branch(self.old, i) {
            Some(true) => return self.items(&i.then, out),
            Some(false) => return self.items(&i.els, out),
            None => {}
        }
        let kept = self.kept(&i.results);
        let then = self.body(&i.then);
        let els = self.body(&i.els);
        if then.items.is_empty() && els.items.is_empty() && kept.is_empty() {
            return;
        }
        let cond = self.value(i.cond);
        let results = self.pick(&i.results, &kept);
        // Arms may have lost their ends when inner branches were decided.
        let then_args = i
            .then_args
            .as_ref()
            .filter(|_| reaches_end(&then))
            .map(|a| self.pick(a, &kept));
        let else_args = i
            .else_args
            .as_ref()
            .filter(|_| reaches_end(&els))
            .map(|a| self.pick(a, &kept));
        out.items.push(Item::If(Box::new(If {
            bits: i.bits,
            cond,
            then,
            els,
            results,
            then_args,
            else_args,
            at: i.at,
        })));
    }

    fn looped(&mut self, l: &Loop, out: &mut Body) {
        let params = self.kept(&l.params);
        let results = self.kept(&l.results);
        self.scopes.push((l.id, params.clone(), results.clone()));
        let body = self.body(&l.body);
        self.scopes.pop();
        let back = l
            .back
            .as_ref()
            .filter(|_| reaches_end(&body))
            .map(|b| self.pick(b, &params));
        let item = Loop {
            id: l.id,
            params: self.pick(&l.params, &params),
            inits: self.pick(&l.inits, &params),
            exits: departs(&body.items, l.id),
            body,
            back,
            results: self.pick(&l.results, &results),
            at: l.at,
        };
        out.items.push(Item::Loop(Box::new(item)));
    }

    fn switch(&mut self, s: &Switch, out: &mut Body) {
        let results = self.kept(&s.results);
        self.scopes.push((s.id, Vec::new(), results.clone()));
        let mut item = Switch {
            id: s.id,
            at: s.at,
            selector: self.value(s.selector),
            cases: Vec::new(),
            results: self.pick(&s.results, &results),
            end_args: None,
            none_args: s.none_args.as_ref().map(|a| self.pick(a, &results)),
        };
        let mut falls = true;
        for c in &s.cases {
            let kept = self.kept(&c.params);
            let label = c.label.map(|v| self.value(v));
            let case = Case {
                label,
                at: c.at,
                params: self.pick(&c.params, &kept),
                entry: self.pick(&c.entry, &kept),
                fall: c
                    .fall
                    .as_ref()
                    .filter(|_| falls)
                    .map(|a| self.pick(a, &kept)),
                body: self.body(&c.body),
            };
            falls = reaches_end(&case.body);
            item.cases.push(case);
        }
        item.end_args = s
            .end_args
            .as_ref()
            .filter(|_| falls)
            .map(|a| self.pick(a, &results));
        self.scopes.pop();
        out.items.push(Item::Switch(Box::new(item)));
    }

    fn edge(&mut self, id: RegionId, args: &[Value]) -> Vec<Value> {
        if id == FUNCTION {
            return self.args(args);
        }
        let Some(at) = self.scopes.iter().rposition(|m| m.0 == id) else {
            return Vec::new();
        };
        let kept = std::mem::take(&mut self.scopes[at].2);
        let args = self.pick(args, &kept);
        self.scopes[at].2 = kept;
        args
    }

    fn repeat(&mut self, id: RegionId, args: &[Value]) -> Vec<Value> {
        let Some(at) = self.scopes.iter().rposition(|m| m.0 == id) else {
            return Vec::new();
        };
        let kept = std::mem::take(&mut self.scopes[at].1);
        let args = self.pick(args, &kept);
        self.scopes[at].1 = kept;
        args
    }
}

/// Whether one of the items leaves region `id`.
pub fn departs(items: &[Item], id: RegionId) -> bool {
    items.iter().any(|item| match item {
        Item::Depart(d, _) => *d == id,
        Item::If(i) => departs(&i.then.items, id) || departs(&i.els.items, id),
        Item::Loop(l) => departs(&l.body.items, id),
        Item::Switch(s) => s.cases.iter().any(|c| departs(&c.body.items, id)),
        _ => false,
    })
}

/// A store without the channels `gone`, and its operands in the old function.
fn trim(m: &Multi, args: &Args, gone: u8) -> (Multi, Args) {
    let mut m = m.clone();
    let keep: SmallVec<[bool; 6]> = m.slots.iter().map(|&s| !is_trimmed(s, gone)).collect();
    let mut k = keep.iter();
    m.slots.retain(|_| *k.next().unwrap_or(&true));
    for d in &mut m.inst.dsts {
        d.mask &= !gone;
    }
    let args = args
        .iter()
        .zip(&keep)
        .filter(|p| *p.1)
        .map(|p| *p.0)
        .collect();
    (m, args)
}

/// Cuts the result channels of an operation to `used` and drops the operand words nothing reads any more.
fn narrow(m: &mut Multi, used: u8, args: &mut Args) {
    // A buffer load tests its bounds with its whole mask: only the top may go.
    let mut used = used;
    if m.inst.op == Opcode::Load && m.kind != MultiKind::Load {
        used = (1u8 << (8 - (used & 0xf).leading_zeros())).wrapping_sub(1) & m.results;
    }
    // 64-bit results come in pairs.
    if m.inst.op.info().dst_ty.is_wide() {
        for p in 0..4 {
            if used >> (2 * p) & 3 != 0 {
                used |= 3 << (2 * p) & m.results;
            }
        }
    }
    m.results &= used;
    if m.kind == MultiKind::Load {
        return;
    }
    let mut any = 0;
    for (k, d) in m.inst.dsts.iter_mut().enumerate() {
        let wanted = used >> (4 * k) & 0xf;
        // An unread result of a needed operation keeps one channel, or one pair: masks are never
        // empty, and half a pair would write nothing at all.
        let least = match d.mask & d.mask.wrapping_neg() {
            low if k > 0 || !m.inst.op.info().dst_ty.is_wide() => low,
            low if low & 3 != 0 => d.mask & 3,
            _ => d.mask,
        };
        d.mask = if wanted == 0 { least } else { wanted };
        any |= d.mask;
    }
    let mut kept = SmallVec::new();
    let mut kept_args = Args::new();
    for (&slot, &a) in m.slots.iter().zip(args.iter()) {
        let wanted = match slot {
            Slot::Src(k, c) => src_mask(&m.inst, k as usize, any) >> c & 1 != 0,
            _ => true,
        };
        if wanted {
            kept.push(slot);
            kept_args.push(a);
        }
    }
    m.slots = kept;
    *args = kept_args;
}
