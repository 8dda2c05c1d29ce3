//! Placement: from floating values to ordered blocks.
//!
//! The tree is flattened into basic blocks in text order with a script of the flow
//! instructions between them. A pure value goes to the block where the source
//! computed it if that block dominates all uses and its operands allow; otherwise
//! to the deepest block that dominates all uses, but not into a loop the source did
//! not compute it in. Keeping values where the source had them keeps lanes of one
//! instruction together for packing.

use smallvec::SmallVec;

use crate::ir::*;
use crate::rewrite::{ends_body, known_branch};

/// Number of a block.
pub type BlockId = u32;

/// One basic block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Effects and placed values, operands first.
    pub items: Vec<Value>,
    /// Copies on the edge that leaves this block, all at once.
    pub copies: Vec<EdgeCopy>,
    /// Immediate dominator; its own number for the entry.
    pub idom: BlockId,
    /// Distance from the entry in the dominator tree.
    pub dom_depth: u32,
    /// Loops around it.
    pub loop_depth: u32,
    /// Blocks control comes from.
    pub preds: SmallVec<[BlockId; 2]>,
    /// Phis that are defined at its start.
    pub phis: Vec<Value>,
    /// First source instruction that belongs to it.
    pub start: u32,
    /// Condition or selector that is read at its end.
    pub cond: Option<Value>,
}

/// One of the parallel copies on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCopy {
    /// What receives the value.
    pub dst: CopyDst,
    /// The value.
    pub src: Value,
}

/// Receiver of an edge copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyDst {
    /// A phi.
    Phi(Value),
    /// Output number (position in [`Function::outputs`]).
    Output(u32),
}

/// One element of the linear program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The instructions of a block.
    Block(BlockId),
    /// IF or UIF on the condition of the block before.
    If {
        /// UIF.
        bits: bool,
    },
    /// ELSE
    Else,
    /// ENDIF
    EndIf,
    /// BGNLOOP
    Loop,
    /// ENDLOOP
    EndLoop,
    /// BRK
    Break,
    /// CONT
    Continue,
    /// RET
    Return,
    /// SWITCH on the condition of the block before.
    Switch,
    /// CASE with a constant or invariant label.
    Case(Value),
    /// DEFAULT
    Default,
    /// ENDSWITCH
    EndSwitch,
}

/// The placed program.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Blocks in text order.
    pub blocks: Vec<Block>,
    /// Flow between them.
    pub script: Vec<Step>,
    /// Block of each value; [`NOWHERE`] if it is not placed.
    pub place: Vec<BlockId>,
    /// Order of each value inside its block: source instruction, made monotone.
    pub order: Vec<u32>,
}

/// No block.
pub const NOWHERE: BlockId = BlockId::MAX;

/// Flattens and places.
pub fn layout(f: &Function) -> Layout {
    let mut b = Builder {
        f,
        l: Layout::default(),
        scopes: Vec::new(),
        depth: 0,
    };
    b.l.place = vec![NOWHERE; f.values.len()];
    b.l.blocks.reserve(8);
    b.l.script.reserve(16);
    let entry = b.block(SmallVec::new(), 0);
    let end = b.body(&f.body, entry);
    if let (Some(end), Some(args)) = (end, &f.end_args) {
        b.output_copies(end, args);
    }
    let mut l = b.l;
    let counts = place(f, &mut l);
    let effects = gather(f, &mut l, &counts);
    order(f, &mut l, &effects);
    l
}

impl Layout {
    /// Whether block `a` dominates block `b`.
    pub fn dominates(&self, a: BlockId, mut b: BlockId) -> bool {
        let depth = self.blocks[a as usize].dom_depth;
        while self.blocks[b as usize].dom_depth > depth {
            b = self.blocks[b as usize].idom;
        }
        a == b
    }

    /// The deepest block that dominates both.
    #[inline]
    pub fn common(&self, mut a: BlockId, mut b: BlockId) -> BlockId {
        while a != b {
            let (x, y) = (&self.blocks[a as usize], &self.blocks[b as usize]);
            if x.dom_depth >= y.dom_depth {
                a = x.idom;
            } else {
                b = y.idom;
            }
        }
        a
    }

    /// The block that source instruction `inst` belongs to.
    fn site(&self, inst: u32) -> BlockId {
        (self.blocks.partition_point(|b| b.start <= inst).max(1) - 1) as BlockId
    }
}

struct Builder<'a> {
    f: &'a Function,
    l: Layout,
    /// Enclosing loops and switches: region, head, phis of head and exit, blocks that leave.
    scopes: Vec<ScopeData<'a>>,
    depth: u32,
}

struct ScopeData<'a> {
    id: RegionId,
    params: &'a [Value],
    results: &'a [Value],
    head: BlockId,
    leaves: SmallVec<[BlockId; 2]>,
}

impl<'a> Builder<'a> {
    fn block(&mut self, preds: SmallVec<[BlockId; 2]>, start: u32) -> BlockId {
        let id = self.l.blocks.len() as BlockId;
        let idom = preds
            .iter()
            .copied()
            .reduce(|a, b| self.l.common(a, b))
            .unwrap_or(id);
        let dom_depth = if idom == id {
            0
        } else {
            self.l.blocks[idom as usize].dom_depth + 1
        };
        // Text order keeps starts monotone even when regions were dissolved.
        let start = start.max(self.l.blocks.last().map_or(0, |b| b.start));
        self.l.blocks.push(Block {
            idom,
            dom_depth,
            loop_depth: self.depth,
            preds,
            start,
            ..Block::default()
        });
        self.l.script.push(Step::Block(id));
        id
    }

    fn copies(&mut self, at: BlockId, phis: &[Value], args: &[Value]) {
        let edge = phis.iter().zip(args).map(|(&p, &src)| EdgeCopy {
            dst: CopyDst::Phi(p),
            src,
        });
        self.l.blocks[at as usize].copies.extend(edge);
    }

    fn output_copies(&mut self, at: BlockId, args: &[Value]) {
        let edge = args.iter().enumerate().map(|(i, &src)| EdgeCopy {
            dst: CopyDst::Output(i as u32),
            src,
        });
        self.l.blocks[at as usize].copies.extend(edge);
    }

    fn define(&mut self, at: BlockId, phis: &[Value]) {
        for &p in phis {
            self.l.place[ix(p)] = at;
        }
        self.l.blocks[at as usize].phis.extend(phis);
    }

    /// Flattens a body that starts in `at`; the block it ends in, if it is reachable.
    fn body(&mut self, body: &'a Body, mut at: BlockId) -> Option<BlockId> {
        for item in &body.items {
            match item {
                Item::Effect(v) => {
                    self.l.place[ix(*v)] = at;
                    self.l.blocks[at as usize].items.push(*v);
                }
                Item::If(i) => at = self.branch(i, at)?,
                Item::Loop(l) => at = self.looped(l, at)?,
                Item::Switch(s) => at = self.switch(s, at)?,
                Item::Depart(FUNCTION, args) => {
                    self.output_copies(at, args);
                    self.l.script.push(Step::Return);
                }
                Item::Depart(id, args) => {
                    let k = self
                        .scopes
                        .iter()
                        .rposition(|s| s.id == *id)
                        .expect("verified: target encloses");
                    let results = self.scopes[k].results;
                    self.copies(at, results, args);
                    self.scopes[k].leaves.push(at);
                    self.l.script.push(Step::Break);
                }
                Item::Repeat(id, args) => {
                    let k = self
                        .scopes
                        .iter()
                        .rposition(|s| s.id == *id)
                        .expect("verified: target encloses");
                    let (params, head) = (self.scopes[k].params, self.scopes[k].head);
                    self.copies(at, params, args);
                    self.l.blocks[head as usize].preds.push(at);
                    self.l.script.push(Step::Continue);
                }
            }
            if ends_body(self.f, item) {
                return None;
            }
        }
        Some(at)
    }

    fn branch(&mut self, i: &'a If, at: BlockId) -> Option<BlockId> {
        if let Some(first) = known_branch(self.f, i) {
            return self.decided(i, first, at);
        }
        self.l.blocks[at as usize].cond = Some(i.cond);
        self.l.script.push(Step::If { bits: i.bits });
        let mut preds = SmallVec::new();
        let then = self.block(SmallVec::from_slice(&[at]), i.at[0] + 1);
        if let Some(end) = self.body(&i.then, then) {
            self.copies(end, &i.results, i.then_args.as_deref().unwrap_or(&[]));
            preds.push(end);
        }
        // The other arm has a block even when it is empty: it may receive copies.
        self.l.script.push(Step::Else);
        let els = self.block(SmallVec::from_slice(&[at]), i.at[1] + 1);
        if let Some(end) = self.body(&i.els, els) {
            self.copies(end, &i.results, i.else_args.as_deref().unwrap_or(&[]));
            preds.push(end);
        }
        self.l.script.push(Step::EndIf);
        if preds.is_empty() {
            return None;
        }
        let next = self.block(preds, i.at[2] + 1);
        self.define(next, &i.results);
        Some(next)
    }

    /// The arm that a branch surely takes. Of the other nothing may be left: what only it leads to
    /// need not have its copies, so there must be no way there in the text either.
    fn decided(&mut self, i: &'a If, first: bool, at: BlockId) -> Option<BlockId> {
        let (arm, args, from) = if first {
            (&i.then, &i.then_args, i.at[0])
        } else {
            (&i.els, &i.else_args, i.at[1])
        };
        let head = self.block(SmallVec::from_slice(&[at]), from + 1);
        let end = self.body(arm, head)?;
        self.copies(end, &i.results, args.as_deref().unwrap_or(&[]));
        let next = self.block(SmallVec::from_slice(&[end]), i.at[2] + 1);
        self.define(next, &i.results);
        Some(next)
    }

    fn looped(&mut self, l: &'a Loop, at: BlockId) -> Option<BlockId> {
        self.copies(at, &l.params, &l.inits);
        self.l.script.push(Step::Loop);
        self.depth += 1;
        let head = self.block(SmallVec::from_slice(&[at]), l.at[0] + 1);
        self.define(head, &l.params);
        self.scopes.push(ScopeData {
            id: l.id,
            params: &l.params,
            results: &l.results,
            head,
            leaves: SmallVec::new(),
        });
        if let Some(end) = self.body(&l.body, head) {
            self.copies(end, &l.params, l.back.as_deref().unwrap_or(&[]));
            self.l.blocks[head as usize].preds.push(end);
        }
        self.depth -= 1;
        self.l.script.push(Step::EndLoop);
        let scope = self.scopes.pop().expect("pushed above");
        if scope.leaves.is_empty() {
            return None;
        }
        let next = self.block(scope.leaves, l.at[1] + 1);
        self.define(next, &l.results);
        Some(next)
    }

    fn switch(&mut self, s: &'a Switch, at: BlockId) -> Option<BlockId> {
        self.l.blocks[at as usize].cond = Some(s.selector);
        self.l.script.push(Step::Switch);
        self.scopes.push(ScopeData {
            id: s.id,
            params: &[],
            results: &s.results,
            head: at,
            leaves: SmallVec::new(),
        });
        let mut fall: Option<BlockId> = None;
        for c in &s.cases {
            self.l
                .script
                .push(c.label.map_or(Step::Default, Step::Case));
            let mut preds: SmallVec<[BlockId; 2]> = SmallVec::from_slice(&[at]);
            preds.extend(fall);
            // Values on entry come from the SWITCH itself: they must not overwrite what another
            // case reads, so their copies stand at the head of the case and the block is split.
            let head = self.block(preds, c.at + 1);
            self.define(head, &c.params);
            if let Some(prev) = fall {
                self.copies(prev, &c.params, c.fall.as_deref().unwrap_or(&[]));
            }
            self.copies(at, &c.params, &c.entry);
            fall = self.body(&c.body, head);
        }
        self.l.script.push(Step::EndSwitch);
        let mut scope = self.scopes.pop().expect("pushed above");
        if let (Some(end), Some(args)) = (fall, &s.end_args) {
            self.copies(end, &s.results, args);
            scope.leaves.push(end);
        }
        if let Some(args) = &s.none_args {
            self.copies(at, &s.results, args);
            scope.leaves.push(at);
        }
        if scope.leaves.is_empty() {
            return None;
        }
        let next = self.block(scope.leaves, s.at[1] + 1);
        self.define(next, &s.results);
        Some(next)
    }
}

/// Whether a placed value is an item of its block: constants need no place, phis stand apart.
#[inline]
fn is_item(op: VOp) -> bool {
    !matches!(op, VOp::Imm(_) | VOp::Undef(_) | VOp::Phi(_))
}

/// Gives every needed floating value its block; the number of values that each block gets.
fn place(f: &Function, l: &mut Layout) -> Vec<usize> {
    if l.blocks.len() == 1 {
        return vec![place_in_one(f, l)];
    }
    let mut counts = vec![0; l.blocks.len()];
    let early = earliest(f, l);
    let mut late = vec![NOWHERE; f.values.len()];
    let mark = |late: &mut [BlockId], l: &Layout, v: Value, b: BlockId| {
        let late = &mut late[ix(v)];
        *late = if *late == NOWHERE {
            b
        } else {
            l.common(*late, b)
        };
    };
    for (b, block) in l.blocks.iter().enumerate() {
        let b = b as BlockId;
        for c in &block.copies {
            mark(&mut late, l, c.src, b);
        }
        if let Some(c) = block.cond {
            mark(&mut late, l, c, b);
        }
    }
    for step in &l.script {
        if let Step::Case(v) = *step {
            mark(&mut late, l, v, 0);
        }
    }
    for (v, d) in f.values.iter().rev() {
        let i = ix(v);
        if l.place[i] == NOWHERE {
            if late[i] == NOWHERE {
                continue;
            }
            l.place[i] = choose(l, d, early[i], late[i]);
            counts[l.place[i] as usize] += usize::from(is_item(d.op));
        }
        if !matches!(d.op, VOp::Phi(_)) {
            let b = l.place[i];
            for &a in &d.args {
                mark(&mut late, l, a, b);
            }
        }
    }
    counts
}

/// Lists the items of every block in the order of the arena; what is returned are the effects
/// of the blocks that have any, in their own order.
fn gather(f: &Function, l: &mut Layout, counts: &[usize]) -> Vec<(BlockId, Vec<Value>)> {
    let mut effects = Vec::new();
    for ((b, block), &count) in l.blocks.iter_mut().enumerate().zip(counts) {
        let items = Vec::with_capacity(block.items.len() + count);
        let own = std::mem::replace(&mut block.items, items);
        if !own.is_empty() {
            effects.push((b as BlockId, own));
        }
    }
    for ((v, d), &b) in f.values.iter().zip(&l.place) {
        if b != NOWHERE && is_item(d.op) {
            l.blocks[b as usize].items.push(v);
        }
    }
    effects
}

/// The deepest block that the operands of each value force.
fn earliest(f: &Function, l: &Layout) -> Vec<BlockId> {
    let mut early = Vec::with_capacity(f.values.len());
    for (v, d) in f.values.iter() {
        let mut block = l.place[ix(v)];
        if block == NOWHERE {
            block = 0;
            let mut depth = 0;
            for &a in &d.args {
                let b: BlockId = early[ix(a)];
                if b != block && l.blocks[b as usize].dom_depth >= depth {
                    block = b;
                    depth = l.blocks[b as usize].dom_depth;
                }
            }
        }
        early.push(block);
    }
    early
}

/// [`place`] for a program without branches: what is needed is in the only block.
fn place_in_one(f: &Function, l: &mut Layout) -> usize {
    let block = &l.blocks[0];
    let place = &mut l.place;
    let mut count = 0;
    let mut used = vec![false; f.values.len()];
    block.copies.iter().for_each(|c| used[ix(c.src)] = true);
    block.items.iter().for_each(|&v| used[ix(v)] = true);
    for (v, d) in f.values.iter().rev() {
        let i = ix(v);
        if !used[i] {
            continue;
        }
        if place[i] == NOWHERE {
            place[i] = 0;
            count += usize::from(is_item(d.op));
        }
        d.args.iter().for_each(|&a| used[ix(a)] = true);
    }
    count
}

fn choose(l: &Layout, d: &ValueData, early: BlockId, late: BlockId) -> BlockId {
    if matches!(d.op, VOp::Proj(_) | VOp::Half(_) | VOp::Reg(..) | VOp::Pair) {
        return late;
    }
    let site = l.site(d.hint.inst);
    let depth = |b: BlockId| l.blocks[b as usize].dom_depth;
    if l.dominates(site, late) {
        return if depth(site) >= depth(early) {
            site
        } else {
            early
        };
    }
    let mut b = late;
    while l.blocks[b as usize].loop_depth > u32::from(d.hint.depth) && b != early {
        b = l.blocks[b as usize].idom;
    }
    b
}

/// The order that the operands of an operation force.
#[inline]
fn behind(order: &[u32], d: &ValueData) -> u32 {
    d.args.iter().fold(0, |o, a| o.max(order[ix(*a)]))
}

/// Sorts the items of each block: source order, operands first, effects in their order.
fn order(f: &Function, l: &mut Layout, effects: &[(BlockId, Vec<Value>)]) {
    l.order.reserve(f.values.len());
    for (_, d) in f.values.iter() {
        // A phi is there before anything in its block.
        let o = if matches!(d.op, VOp::Phi(_)) {
            0
        } else {
            behind(&l.order, d).max(d.hint.inst)
        };
        l.order.push(o);
    }
    let order = &mut l.order;
    for (b, effects) in effects {
        if delay(order, effects) {
            // Users of a delayed effect are delayed with it.
            for &v in &l.blocks[*b as usize].items {
                order[ix(v)] = order[ix(v)].max(behind(order, &f.values[v]));
            }
            delay(order, effects);
        }
    }
    let mut keys: Vec<u64> = Vec::new();
    for block in &mut l.blocks {
        let items = &mut block.items;
        if items.windows(2).all(|w| order[ix(w[0])] <= order[ix(w[1])]) {
            continue;
        }
        keys.clear();
        keys.extend(
            items
                .iter()
                .map(|&v| u64::from(order[ix(v)]) << 32 | ix(v) as u64),
        );
        keys.sort_unstable();
        for (item, key) in items.iter_mut().zip(&keys) {
            *item = value_at(*key as u32 as usize);
        }
    }
}

/// Makes the order of effects monotone; says whether any came later by it.
fn delay(order: &mut [u32], effects: &[Value]) -> bool {
    let mut last = 0;
    let mut delayed = false;
    for &v in effects {
        let o = &mut order[ix(v)];
        delayed |= *o < last;
        *o = (*o).max(last);
        last = *o;
    }
    delayed
}
