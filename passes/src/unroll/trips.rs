//! How often a loop runs, found by evaluating what its exits depend on, one iteration after the other.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tgsi_ir::rewrite::{Node, departs, never_ends};
use tgsi_ir::{Args, Body, Case, Function, If, Item, Loop, MultiKind, RegionId, VOp, Value, ix};

use crate::const_fold;

/// Most iterations that are evaluated.
pub const MAX_TRIPS: u32 = 1024;

/// Operations and items of bodies that the evaluation of one function's loops may come by.
const EVALUATIONS: u32 = 1 << 16;

/// Evaluates the conditions of loops. What is not constant is unknown.
pub(super) struct Trips<'a> {
    old: &'a Function,
    /// Holds constants only.
    scratch: Function,
    /// What an iteration computes; `None` for what is not constant.
    now: FxHashMap<Value, Option<Value>>,
    /// Results of decided branches.
    same: FxHashMap<Value, Value>,
    left: u32,
}

/// How an iteration ends.
enum End {
    /// The loop is left.
    Exit,
    /// The next iteration begins with these parameters.
    Next(Vec<Value>),
    /// It cannot be told.
    Unknown,
}

impl<'a> Trips<'a> {
    pub(super) fn new(old: &'a Function) -> Trips<'a> {
        Trips {
            old,
            scratch: old.successor(64),
            now: FxHashMap::default(),
            same: FxHashMap::default(),
            left: EVALUATIONS,
        }
    }

    /// The number of iterations that `l` begins at most, if its last one is decided by constants.
    /// `varies` says which values differ between iterations, `constant` gives the words of others.
    pub(super) fn of(
        &mut self,
        l: &Loop,
        varies: &Varying,
        constant: &mut dyn FnMut(Value) -> Option<u32>,
    ) -> Option<u32> {
        let mut state: Vec<Option<u32>> = l.inits.iter().map(|&i| constant(i)).collect();
        let size = size(&l.body);
        for trip in 1..=MAX_TRIPS {
            self.left = self.left.checked_sub(size)?;
            self.now.clear();
            self.same.clear();
            for (&p, word) in l.params.iter().zip(&state) {
                let known = word.map(|w| self.scratch.imm(w));
                self.now.insert(p, known);
            }
            let mut eval = Iteration {
                t: self,
                id: l.id,
                varies,
                constant,
                decided: false,
            };
            let next = match eval.items(&l.body.items) {
                Some(End::Exit) => return Some(trip),
                Some(End::Next(args)) => args,
                None => l.back.clone()?,
                Some(End::Unknown) => return None,
            };
            // Most loops end here: no exit of the first iteration is decided.
            if !eval.decided {
                return None;
            }
            let before = std::mem::take(&mut state);
            for (&a, was) in next.iter().zip(&before) {
                let known = was.and_then(|_| eval.value(a));
                state.push(known.and_then(|v| eval.t.scratch.as_imm(v)));
            }
            if state == before {
                return None;
            }
        }
        None
    }
}

/// The evaluation of one iteration.
struct Iteration<'t, 'a, 'c> {
    t: &'t mut Trips<'a>,
    id: RegionId,
    varies: &'c Varying,
    constant: &'c mut dyn FnMut(Value) -> Option<u32>,
    /// Whether constants decided a branch that could leave the loop.
    decided: bool,
}

impl Iteration<'_, '_, '_> {
    /// Follows the decided way; `None` if control reaches the end.
    fn items(&mut self, items: &[Item]) -> Option<End> {
        for item in items {
            let end = match item {
                Item::Effect(_) => None,
                Item::If(i) => self.branch(i),
                Item::Loop(_) | Item::Switch(_) if never_ends(item) => Some(End::Unknown),
                Item::Loop(l) => self.opaque(&l.body.items),
                Item::Switch(s) => s
                    .cases
                    .iter()
                    .find_map(|c: &Case| self.opaque(&c.body.items)),
                Item::Repeat(id, args) if *id == self.id => Some(End::Next(args.clone())),
                Item::Depart(..) | Item::Repeat(..) => Some(End::Exit),
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Items that may or may not run: they must not go on with the loop.
    fn opaque(&mut self, items: &[Item]) -> Option<End> {
        repeats(items, self.id).then_some(End::Unknown)
    }

    fn branch(&mut self, i: &If) -> Option<End> {
        let word = self.value(i.cond).and_then(|v| self.t.scratch.as_imm(v));
        let Some(word) = word else {
            if i.then_args.is_none() && i.else_args.is_none() {
                return Some(End::Unknown);
            }
            return self
                .opaque(&i.then.items)
                .or_else(|| self.opaque(&i.els.items));
        };
        let taken = if i.bits {
            word != 0
        } else {
            f32::from_bits(word) != 0.0
        };
        let leaves = |b: &Body| departs(&b.items, self.id);
        self.decided |= leaves(&i.then) || leaves(&i.els);
        let (arm, args) = if taken {
            (&i.then, &i.then_args)
        } else {
            (&i.els, &i.else_args)
        };
        let end = self.items(&arm.items);
        if end.is_none() {
            for (&phi, &a) in i.results.iter().zip(args.iter().flatten()) {
                self.t.same.insert(phi, a);
            }
        }
        end
    }

    /// The constant that `v` is in this iteration.
    fn value(&mut self, v: Value) -> Option<Value> {
        let mut stack: SmallVec<[Value; 16]> = SmallVec::from_slice(&[v]);
        while let Some(&v) = stack.last() {
            if self.t.now.contains_key(&v) {
                stack.pop();
                continue;
            }
            match self.step(v) {
                Ok(found) => {
                    self.t.left = self.t.left.checked_sub(1)?;
                    self.t.now.insert(v, found);
                    stack.pop();
                }
                Err(first) => stack.push(first),
            }
        }
        self.t.now.get(&v).copied().flatten()
    }

    /// The constant of `v`, or the operand that must be known first.
    fn step(&mut self, v: Value) -> Result<Option<Value>, Value> {
        if !self.varies.contains(v) {
            let word = (self.constant)(v);
            return Ok(word.map(|w| self.t.scratch.imm(w)));
        }
        if let Some(&a) = self.t.same.get(&v) {
            return self.t.now.get(&a).copied().ok_or(a);
        }
        let d = &self.t.old.values[v];
        if matches!(
            d.op,
            VOp::Multi(_) | VOp::Proj(_) | VOp::Phi(_) | VOp::Reg(..)
        ) {
            return Ok(None);
        }
        let mut args = Args::new();
        for &a in &d.args {
            match self.t.now.get(&a) {
                None => return Err(a),
                Some(None) => return Ok(None),
                Some(&Some(c)) => args.push(c),
            }
        }
        let node = Node {
            op: d.op,
            precise: d.precise,
            wide: d.wide,
            args,
            hint: d.hint,
        };
        if matches!(d.op, VOp::Pair | VOp::Half(_)) {
            return Ok(Some(node.intern(&mut self.t.scratch)));
        }
        Ok(const_fold::fold(&mut self.t.scratch, &node))
    }
}

/// Whether a loop may be counted: without a constant that it begins with, its exits do not change.
pub(super) fn may_count(f: &Function, l: &Loop) -> bool {
    let again = l.back.is_some() || repeats(&l.body.items, l.id);
    !again || l.inits.iter().any(|&i| f.as_imm(i).is_some())
}

/// Number of items of a body, those inside included.
fn size(body: &Body) -> u32 {
    let inside = body.items.iter().map(|item| match item {
        Item::If(i) => size(&i.then) + size(&i.els),
        Item::Loop(l) => size(&l.body),
        Item::Switch(s) => s.cases.iter().map(|c| size(&c.body)).sum(),
        Item::Effect(_) | Item::Depart(..) | Item::Repeat(..) => 0,
    });
    body.items.len() as u32 + inside.sum::<u32>()
}

/// Whether one of the items goes on with the next iteration of `id`.
pub(crate) fn repeats(items: &[Item], id: RegionId) -> bool {
    items.iter().any(|item| match item {
        Item::Repeat(d, _) => *d == id,
        Item::If(i) => repeats(&i.then.items, id) || repeats(&i.els.items, id),
        Item::Loop(l) => repeats(&l.body.items, id),
        Item::Switch(s) => s.cases.iter().any(|c| repeats(&c.body.items, id)),
        Item::Effect(_) | Item::Depart(..) => false,
    })
}

/// The values that may differ between the iterations of a loop, in the order of the arena.
#[derive(Clone, Debug, Default)]
pub(super) struct Varying(Vec<Value>);

impl Varying {
    /// Everything computed from the phis and placed operations of `l`.
    pub(super) fn collect(f: &Function, l: &Loop) -> Varying {
        let mut roots: FxHashSet<Value> = l.params.iter().copied().collect();
        place(&l.body, &mut roots);
        let mut varies = vec![false; f.values.len()];
        let mut list = Vec::new();
        for (v, d) in f.values.iter() {
            if roots.contains(&v) || d.args.iter().any(|&a| varies[ix(a)]) {
                varies[ix(v)] = true;
                list.push(v);
            }
        }
        Varying(list)
    }

    /// Whether `v` is one of them.
    pub(super) fn contains(&self, v: Value) -> bool {
        self.0.binary_search_by_key(&ix(v), |&x| ix(x)).is_ok()
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Value] {
        &self.0
    }
}

/// Notes the phis and the placed operations of a body.
pub(super) fn place(body: &Body, roots: &mut FxHashSet<Value>) {
    for item in &body.items {
        match item {
            Item::Effect(v) => {
                roots.insert(*v);
            }
            Item::If(i) => {
                roots.extend(&i.results);
                place(&i.then, roots);
                place(&i.els, roots);
            }
            Item::Loop(l) => {
                roots.extend(l.params.iter().chain(&l.results));
                place(&l.body, roots);
            }
            Item::Switch(s) => {
                roots.extend(&s.results);
                for c in &s.cases {
                    roots.extend(&c.params);
                    place(&c.body, roots);
                }
            }
            Item::Depart(..) | Item::Repeat(..) => {}
        }
    }
}

/// Whether an operation stands in a body.
pub(super) fn is_placed(f: &Function, v: Value) -> bool {
    f.as_multi(v).is_some_and(|m| m.kind != MultiKind::Pure)
}
