//! The unit of packing: placed operations with resolved operands.
//!
//! A [`Node`] is one lane of an instruction, or a whole instruction where lanes
//! cannot be chosen (dot products, fetches, memory). Modifiers, projections, halves
//! and register leaves have been folded into operands. What needs storage is an
//! [`Ent`]: one 32-bit word; a 64-bit value takes two that stand side by side.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{File, Opcode, Shape, Ty};
use tgsi_ir::layout::{CopyDst, Layout, NOWHERE};
use tgsi_ir::{Function, LaneHint, Multi, MultiKind, RegId, VOp, Value, ix};

/// A stored word.
pub type Ent = u32;
/// Number of a node.
pub type NodeId = u32;
/// Nothing.
pub const NONE: u32 = u32::MAX;

/// Where an operand word comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ref {
    /// A constant.
    Imm(u32),
    /// Channel of an external register, see [`Ext`].
    Ext(u32, u8),
    /// A stored word.
    Ent(Ent),
    /// An uninitialised word.
    Undef(u32),
}

/// One operand word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opnd {
    /// The word.
    pub r: Ref,
    /// Negated (as the operand's type says).
    pub neg: bool,
    /// Absolute value, before the negation.
    pub abs: bool,
    /// For whole instructions: the channel of the source it stands in.
    pub pos: u8,
}

/// How an address reaches the address register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// ARL, ARR or UARL.
    pub op: Opcode,
    /// Its operand.
    pub r: Ref,
}

/// A register outside the temporaries that operands name: input, constant, system
/// value, or a memory read that is folded into its users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ext {
    /// The reference.
    pub reg: RegId,
    /// Addresses of its brackets, outer first.
    pub addrs: SmallVec<[Address; 1]>,
    /// The load it stands for, as a value position; [`NONE`] for registers that never change.
    pub load: u32,
}

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// An operation of the table; lanes may be packed if its shape is componentwise.
    Alu(Opcode),
    /// A whole instruction.
    Multi(Value),
}

/// Most sources of an instruction, texel offsets among them.
pub const MAX_SOURCES: usize = 8;

/// One schedulable unit.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Operation.
    pub what: What,
    /// `_SAT`
    pub sat: bool,
    /// `_PRECISE`
    pub precise: bool,
    /// Number of words written.
    pub dst_count: u8,
    /// Result channels of a whole instruction: bit c for channel c of the first destination,
    /// bit 4 + c of the second. One word each, in this order.
    pub chans: u8,
    /// First word written; the others follow.
    pub dst: Ent,
    /// Block.
    pub block: u32,
    /// Position in the reference order; unique inside the block up to inserted copies.
    pub pos: u32,
    /// Source instruction and lane.
    pub hint: LaneHint,
    /// First operand in [`Lir::opnds`].
    pub first: u32,
    /// Number of sources.
    pub sources: u8,
    /// Operand words of each source.
    pub lens: [u8; MAX_SOURCES],
    /// First of the addresses that the instruction itself needs (relative resources and
    /// destinations) in [`Lir::addrs`].
    pub addr_first: u32,
    /// Their number.
    pub addr_count: u8,
}

impl Node {
    /// A node that does nothing yet.
    pub fn blank(what: What) -> Node {
        Node {
            what,
            sat: false,
            precise: false,
            dst_count: 0,
            chans: 0,
            dst: 0,
            block: 0,
            pos: 0,
            hint: LaneHint { inst: 0, lane: 0, depth: 0 },
            first: 0,
            sources: 0,
            lens: [0; MAX_SOURCES],
            addr_first: 0,
            addr_count: 0,
        }
    }

    /// Words written.
    #[inline]
    pub fn dsts(&self) -> std::ops::Range<Ent> {
        self.dst..self.dst + u32::from(self.dst_count)
    }

    /// Words written by a whole instruction with their result channels.
    pub fn results(&self) -> impl Iterator<Item = (Ent, u8)> + use<> {
        let chans = self.chans;
        self.dsts().zip((0..8u8).filter(move |c| chans >> c & 1 != 0))
    }

    /// Number of operand words.
    #[inline]
    pub fn word_count(&self) -> usize {
        self.lens[..self.sources as usize].iter().map(|&l| l as usize).sum()
    }

    /// Adds a source of `len` words.
    pub fn push_len(&mut self, len: usize) {
        self.lens[self.sources as usize] = len as u8;
        self.sources += 1;
    }
}

/// A copy on an edge, resolved.
#[derive(Clone, Copy, Debug)]
pub struct EdgeMove {
    /// Receiving word.
    pub dst: Ent,
    /// Source.
    pub src: Ref,
}

/// A block of nodes in reference order.
#[derive(Clone, Debug, Default)]
pub struct LirBlock {
    /// Nodes.
    pub nodes: Vec<NodeId>,
    /// Parallel copies at the end.
    pub moves: Vec<EdgeMove>,
    /// Words that become defined at the start (phis).
    pub phis: Vec<Ent>,
    /// Condition.
    pub cond: Option<Ref>,
    /// Positions `[start, end)`.
    pub start: u32,
    /// One past the last position.
    pub end: u32,
}

/// The whole program.
#[derive(Clone, Debug, Default)]
pub struct Lir {
    /// Nodes.
    pub nodes: Vec<Node>,
    /// All operands.
    pub opnds: Vec<Opnd>,
    /// Addresses of nodes.
    pub addrs: Vec<(tgsi_ir::Slot, Address)>,
    /// Blocks, numbered as in the layout.
    pub blocks: Arc<Vec<LirBlock>>,
    /// External registers.
    pub exts: Arc<Vec<Ext>>,
    /// Number of stored words.
    pub ents: u32,
    /// Defining node of each word; [`NONE`] for phis and outputs.
    pub def: Vec<NodeId>,
    /// The other half of a 64-bit value; [`NONE`] if there is none. The low word has the smaller number.
    pub partner: Vec<Ent>,
    /// Output register and channel of a word that stands for an output.
    pub output: Vec<Option<(i32, u8)>>,
    /// Preferred channel of each word, from the source.
    pub lane: Vec<u8>,
    /// References of folded loads that the function's table does not have; numbered behind it.
    pub extra_regs: Arc<Vec<tgsi_ir::RegRef>>,
}

impl Lir {
    /// All operand words of a node.
    #[inline]
    pub fn words(&self, n: &Node) -> &[Opnd] {
        &self.opnds[n.first as usize..n.first as usize + n.word_count()]
    }

    /// The addresses a node itself needs.
    #[inline]
    pub fn node_addrs(&self, n: &Node) -> &[(tgsi_ir::Slot, Address)] {
        &self.addrs[n.addr_first as usize..n.addr_first as usize + n.addr_count as usize]
    }

    /// Calls `f` for every stored word that a node reads, addresses included.
    #[inline]
    pub fn reads<F: FnMut(Ent) + ?Sized>(&self, n: &Node, f: &mut F) {
        for o in self.words(n) {
            self.ref_reads(o.r, f);
        }
        for (_, a) in self.node_addrs(n) {
            self.ref_reads(a.r, f);
        }
    }

    /// Calls `f` for every stored word that reading `r` needs.
    #[inline(always)]
    pub fn ref_reads<F: FnMut(Ent) + ?Sized>(&self, r: Ref, f: &mut F) {
        match r {
            Ref::Ent(e) => f(e),
            Ref::Ext(x, _) => {
                let addrs = &self.exts[x as usize].addrs;
                if !addrs.is_empty() {
                    self.address_reads(addrs, f);
                }
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn address_reads<F: FnMut(Ent) + ?Sized>(&self, addrs: &[Address], f: &mut F) {
        for a in addrs {
            match a.r {
                Ref::Ent(e) => f(e),
                // Addresses do not nest: an address is never an indexed register itself.
                Ref::Ext(y, _) => {
                    for b in &self.exts[y as usize].addrs {
                        if let Ref::Ent(e) = b.r {
                            f(e);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A new stored word.
    pub fn new_ent(&mut self, def: NodeId, lane: u8) -> Ent {
        self.ents += 1;
        self.def.push(def);
        self.partner.push(NONE);
        self.output.push(None);
        self.lane.push(lane);
        self.ents - 1
    }

    /// The multi-result operation of a node.
    pub fn multi<'f>(&self, f: &'f Function, n: &Node) -> Option<&'f Multi> {
        match n.what {
            What::Multi(v) => f.as_multi(v),
            What::Alu(_) => None,
        }
    }
}

/// Whether an operation's lanes may be packed together; equal lanes only for a scalar result that
/// goes to every written channel.
pub fn packs(op: Opcode) -> bool {
    matches!(op.info().shape, Shape::Comp | Shape::Repl | Shape::Dot(_))
}

/// Gives each output of one value a lane of its own where nothing else reads the value: the
/// instruction can write them all, but no output can be read to fill another.
fn spread_outputs(lir: &mut Lir) {
    let moves = lir.blocks.iter().flat_map(|b| &b.moves);
    let mut targets: Vec<(Ent, Ent)> = moves
        .filter_map(|m| match m.src {
            Ref::Ent(e) if lir.output[m.dst as usize].is_some() => Some((e, m.dst)),
            _ => None,
        })
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets.retain(|&(e, _)| {
        let d = lir.def[e as usize];
        d != NONE && lir.nodes[d as usize].dst_count == 1 && matches!(lir.nodes[d as usize].what, What::Alu(_))
    });
    if !targets.windows(2).any(|w| w[0].0 == w[1].0) {
        return;
    }
    let mut read = vec![false; lir.ents as usize];
    for n in &lir.nodes {
        lir.reads(n, &mut |e| read[e as usize] = true);
    }
    for b in lir.blocks.iter() {
        b.cond.iter().for_each(|&c| lir.ref_reads(c, &mut |e| read[e as usize] = true));
        for m in b.moves.iter().filter(|m| lir.output[m.dst as usize].is_none()) {
            lir.ref_reads(m.src, &mut |e| read[e as usize] = true);
        }
    }
    let mut replaced: FxHashMap<(Ent, Ent), Ent> = FxHashMap::default();
    for w in targets.windows(2) {
        let ((before, _), (e, out)) = (w[0], w[1]);
        if before != e || read[e as usize] {
            continue;
        }
        let old = lir.def[e as usize];
        let mut node = lir.nodes[old as usize];
        let words = node.first as usize..node.first as usize + node.word_count();
        node.first = lir.opnds.len() as u32;
        lir.opnds.extend_from_within(words);
        let lane = lir.output[out as usize].map_or(0, |o| o.1);
        let id = lir.nodes.len() as NodeId;
        node.dst = lir.new_ent(id, lane);
        node.hint.lane = lane;
        replaced.insert((e, out), node.dst);
        let block = &mut Arc::make_mut(&mut lir.blocks)[node.block as usize];
        let at = block.nodes.iter().position(|&n| n == old).map_or(block.nodes.len(), |i| i + 1);
        block.nodes.insert(at, id);
        lir.nodes.push(node);
    }
    for b in Arc::make_mut(&mut lir.blocks) {
        for m in &mut b.moves {
            if let Ref::Ent(e) = m.src
                && let Some(&new) = replaced.get(&(e, m.dst))
            {
                m.src = Ref::Ent(new);
            }
        }
    }
}

/// Builds the nodes of a placed function.
///
/// With `integer_negation` an operand may hold the two's complement of an integer.
pub fn build(f: &Function, l: &Layout, integer_negation: bool) -> Lir {
    let n = f.values.len();
    let items = l.blocks.iter().map(|b| b.items.len()).sum();
    let mut b = Build {
        f,
        l,
        integer_negation,
        lir: Lir {
            nodes: Vec::with_capacity(items),
            opnds: Vec::with_capacity(2 * items + items / 2),
            def: Vec::with_capacity(n + f.outputs.len()),
            lane: Vec::with_capacity(n + f.outputs.len()),
            ..Lir::default()
        },
        ent: vec![NONE; n],
        uses: Vec::new(),
        flags: vec![0; n],
        plain_exts: vec![NONE; f.regs.len()],
        ext_ids: FxHashMap::default(),
        blocks: Vec::with_capacity(l.blocks.len()),
        exts: Vec::with_capacity(f.regs.len()),
        extra_regs: Vec::new(),
        output_ents: vec![NONE; f.outputs.len()],
        wide: Vec::new(),
    };
    let seen = b.mark_special();
    if seen.saturates {
        b.count_uses();
    }
    b.fold_loads();
    if seen.any {
        b.decide();
    }
    b.run();
    let mut lir = b.finish();
    spread_outputs(&mut lir);
    lir
}

/// Facts of a value in [`Build::flags`].
mod flag {
    /// A modifier (or address operation) that must be computed into a word of its own.
    pub(super) const STORED: u8 = 1;
    /// A saturate is folded into it: the clamp is the value.
    pub(super) const FOLD_SAT: u8 = 2;
    /// A load that its readers name themselves.
    pub(super) const FOLDED_LOAD: u8 = 4;
    /// Its readers may hold it as part of an operand: a modifier, an address operation or an
    /// indexed register.
    pub(super) const SPECIAL: u8 = 8;
}

/// What a function has that needs decisions.
struct Seen {
    /// Saturates.
    saturates: bool,
    /// Saturates or values that are [`flag::SPECIAL`].
    any: bool,
}

struct Build<'a> {
    f: &'a Function,
    l: &'a Layout,
    lir: Lir,
    /// Whether an operand may hold `-x` of an integer.
    integer_negation: bool,
    /// First stored word of each value.
    ent: Vec<Ent>,
    /// Number of readers of each value; empty without saturates, which alone ask.
    uses: Vec<u32>,
    /// Facts of each value, see [`flag`].
    flags: Vec<u8>,
    /// Number in `exts` of each register reference without addresses.
    plain_exts: Vec<u32>,
    /// The same for references with addresses and for loads.
    ext_ids: FxHashMap<Ext, u32>,
    blocks: Vec<LirBlock>,
    exts: Vec<Ext>,
    extra_regs: Vec<tgsi_ir::RegRef>,
    output_ents: Vec<Ent>,
    /// Low words of 64-bit values; the high word follows.
    wide: Vec<Ent>,
}

impl Build<'_> {
    #[inline]
    fn is(&self, v: Value, flag: u8) -> bool {
        self.flags[ix(v)] & flag != 0
    }

    #[inline]
    fn set(&mut self, v: Value, flag: u8) {
        self.flags[ix(v)] |= flag;
    }

    fn mark_special(&mut self) -> Seen {
        let mut seen = Seen { saturates: false, any: false };
        for ((_, d), flags) in self.f.values.iter().zip(&mut self.flags) {
            let special = match d.op {
                VOp::Sat => {
                    seen.saturates = true;
                    seen.any = true;
                    false
                }
                VOp::Neg | VOp::Abs | VOp::INeg | VOp::Alu(Opcode::Arl | Opcode::Arr) => true,
                VOp::Reg(..) => !d.args.is_empty(),
                _ => false,
            };
            if special {
                *flags = flag::SPECIAL;
                seen.any = true;
            }
        }
        seen
    }

    /// The program, with the tables that only now have their size.
    fn finish(self) -> Lir {
        let mut lir = self.lir;
        let n = lir.ents as usize;
        lir.partner = vec![NONE; n];
        for lo in self.wide {
            lir.partner[lo as usize] = lo + 1;
            lir.partner[lo as usize + 1] = lo;
        }
        lir.output = vec![None; n];
        for (&e, &place) in self.output_ents.iter().zip(&self.f.outputs) {
            if e != NONE {
                lir.output[e as usize] = Some(place);
            }
        }
        lir.blocks = Arc::new(self.blocks);
        lir.exts = Arc::new(self.exts);
        lir.extra_regs = Arc::new(self.extra_regs);
        lir
    }

    /// A new word.
    #[inline]
    fn fresh(&mut self, lane: u8) -> Ent {
        let lir = &mut self.lir;
        lir.def.push(NONE);
        lir.lane.push(lane);
        lir.ents += 1;
        lir.ents - 1
    }

    fn placed(&self, v: Value) -> bool {
        self.l.place[ix(v)] != NOWHERE
    }

    fn count_uses(&mut self) {
        self.uses = vec![0; self.f.values.len()];
        for block in &self.l.blocks {
            for &v in &block.items {
                for &a in &self.f.values[v].args {
                    self.uses[ix(a)] += 1;
                }
            }
            for c in &block.copies {
                self.uses[ix(c.src)] += 2;
            }
            if let Some(c) = block.cond {
                self.uses[ix(c)] += 1;
            }
        }
    }

    /// Finds loads whose readers all stand between the load and the next store that may
    /// change what was read: they name the memory themselves.
    fn fold_loads(&mut self) {
        let f = self.f;
        if f.multis.iter().all(|m| m.kind != MultiKind::Load) {
            return;
        }
        for block in &self.l.blocks {
            let any = block.items.iter().any(|&v| f.as_multi(v).is_some_and(|m| m.kind == MultiKind::Load));
            if !any {
                continue;
            }
            // Last reader of each load, through transparent values, as an item position.
            let mut last: FxHashMap<Value, usize> = FxHashMap::default();
            let mut origin: FxHashMap<Value, SmallVec<[Value; 2]>> = FxHashMap::default();
            for (i, &v) in block.items.iter().enumerate() {
                let d = &f.values[v];
                let mut loads: SmallVec<[Value; 2]> = SmallVec::new();
                for &a in &d.args {
                    if f.as_multi(a).is_some_and(|m| m.kind == MultiKind::Load) {
                        loads.push(a);
                    }
                    if let Some(o) = origin.get(&a) {
                        loads.extend(o.iter().copied());
                    }
                }
                let transparent =
                    matches!(d.op, VOp::Proj(_) | VOp::Half(_) | VOp::Pair | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Reg(..))
                        || matches!(d.op, VOp::Alu(Opcode::Arl | Opcode::Arr | Opcode::Uarl));
                for &l in &loads {
                    last.insert(l, i);
                }
                if transparent && !loads.is_empty() {
                    origin.insert(v, loads);
                }
            }
            for (i, &v) in block.items.iter().enumerate() {
                let Some(m) = f.as_multi(v).filter(|m| m.kind == MultiKind::Load) else { continue };
                let Some(&end) = last.get(&v) else { continue };
                let clobbered = block.items[i + 1..end.max(i + 1)].iter().any(|&s| {
                    f.as_multi(s).is_some_and(|w| w.kind == MultiKind::Store && may_alias(f, m, w) || is_fence(w))
                });
                if !clobbered {
                    self.set(v, flag::FOLDED_LOAD);
                }
            }
        }
        // A projection that is used in another block, or by an edge, needs the word itself.
        for (b, block) in self.l.blocks.iter().enumerate() {
            for &v in &block.items {
                for &a in &f.values[v].args {
                    self.unfold_if(a, b as u32);
                }
            }
            for c in &block.copies {
                self.unfold(c.src);
            }
            if let Some(c) = block.cond {
                self.unfold(c);
            }
        }
    }

    fn unfold_if(&mut self, v: Value, block: u32) {
        let d = &self.f.values[v];
        if self.l.place[ix(v)] != block {
            self.flags[ix(v)] &= !flag::FOLDED_LOAD;
        }
        if matches!(d.op, VOp::Proj(_) | VOp::Half(_) | VOp::Pair | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Reg(..) | VOp::Alu(Opcode::Arl | Opcode::Arr | Opcode::Uarl))
        {
            for &a in &d.args {
                self.unfold_if(a, block);
            }
        }
    }

    fn unfold(&mut self, v: Value) {
        let d = &self.f.values[v];
        self.flags[ix(v)] &= !flag::FOLDED_LOAD;
        if matches!(d.op, VOp::Proj(_) | VOp::Half(_) | VOp::Pair | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Reg(..) | VOp::Alu(Opcode::Arl | Opcode::Arr | Opcode::Uarl))
        {
            for &a in &d.args {
                self.unfold(a);
            }
        }
    }

    /// Decides which modifiers are computed and which saturates fold.
    fn decide(&mut self) {
        let f = self.f;
        for (v, d) in f.values.iter() {
            if !self.placed(v) {
                continue;
            }
            if d.op == VOp::Sat {
                let a = d.args[0];
                let producer = matches!(f.values[a].op, VOp::Alu(_)) && self.uses[ix(a)] == 1;
                if producer && self.l.place[ix(a)] == self.l.place[ix(v)] {
                    self.set(a, flag::FOLD_SAT);
                }
                if !producer {
                    self.storage_unless_modifier(a);
                }
            }
            if !d.args.iter().any(|&a| self.is(a, flag::SPECIAL)) {
                continue;
            }
            match d.op {
                VOp::Alu(op) => {
                    let info = op.info();
                    let movable = matches!(info.shape, Shape::Comp | Shape::Repl | Shape::Dot(_));
                    let per = if let Shape::Dot(n) = info.shape { usize::from(n) } else { 1 };
                    for (args, &ty) in d.args.chunks(per).zip(info.src_ty) {
                        args.iter().for_each(|&a| self.need(a, ty, movable));
                    }
                }
                VOp::Multi(m) => {
                    let m = &f.multis[m.0 as usize];
                    for (slot, &a) in m.slots.iter().zip(&d.args) {
                        let free = matches!(m.kind, MultiKind::Store) || m.inst.op == Opcode::KillIf;
                        match slot {
                            tgsi_ir::Slot::Src(k, _) if free => {
                                let ty = m.inst.op.info().src_ty[*k as usize];
                                self.need(a, ty, m.inst.op == Opcode::KillIf);
                            }
                            tgsi_ir::Slot::Src(..) | tgsi_ir::Slot::Offset(..) => self.need(a, Ty::Any, false),
                            _ => self.need_address(a),
                        }
                    }
                }
                VOp::Reg(..) => d.args.iter().for_each(|&a| self.need_address(a)),
                VOp::Pair | VOp::Half(_) => d.args.iter().for_each(|&a| self.need(a, Ty::D, false)),
                VOp::Abs | VOp::Neg | VOp::INeg => {}
                _ => {}
            }
        }
        for block in &self.l.blocks {
            for c in &block.copies {
                self.need(c.src, Ty::Any, false);
            }
            if let Some(c) = block.cond {
                self.need(c, Ty::U, false);
            }
        }
        // A computed modifier reads its own operand, which may be a modifier in turn.
        for i in (0..f.values.len()).rev() {
            let v = tgsi_ir::value_at(i);
            if !self.is(v, flag::STORED) {
                continue;
            }
            let d = &f.values[v];
            match d.op {
                VOp::Neg | VOp::Abs => self.need(d.args[0], Ty::F, true),
                VOp::INeg => self.need(d.args[0], Ty::I, false),
                _ => {}
            }
        }
    }

    fn storage_unless_modifier(&mut self, v: Value) {
        self.need(v, Ty::F, true);
    }

    /// Notes that a word is read as `ty`; `modifiers` says whether the operand can hold them.
    #[inline]
    fn need(&mut self, v: Value, ty: Ty, modifiers: bool) {
        if matches!(self.f.values[v].op, VOp::Neg | VOp::Abs | VOp::INeg) {
            self.need_modified(v, ty, modifiers);
        } else {
            self.need_word(v);
        }
    }

    fn need_modified(&mut self, v: Value, ty: Ty, modifiers: bool) {
        let d = &self.f.values[v];
        let folds = match d.op {
            VOp::INeg => self.integer_negation && modifiers && matches!(ty, Ty::I | Ty::U),
            _ => modifiers && ty.is_float_modifier(),
        };
        if !folds {
            self.set(v, flag::STORED);
            return;
        }
        // -|x| is one operand, |-x| was rewritten, -(-x) too.
        let a = d.args[0];
        let inner = &self.f.values[a];
        match (d.op, inner.op) {
            (VOp::Neg, VOp::Abs) => {
                if matches!(self.f.values[inner.args[0]].op, VOp::Neg | VOp::Abs | VOp::INeg) {
                    self.set(inner.args[0], flag::STORED);
                }
                self.need_word(inner.args[0]);
            }
            (_, VOp::Neg | VOp::Abs | VOp::INeg) => self.set(a, flag::STORED),
            _ => self.need_word(a),
        }
    }

    /// A word that is read as it is.
    #[inline]
    fn need_word(&mut self, v: Value) {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(Opcode::Arl | Opcode::Arr) => self.set(v, flag::STORED),
            VOp::Reg(..) if !d.args.is_empty() => d.args.iter().for_each(|&a| self.need_address(a)),
            _ => {}
        }
    }

    fn need_address(&mut self, v: Value) {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(Opcode::Arl | Opcode::Arr) => self.need(d.args[0], Ty::Any, false),
            _ => self.need(v, Ty::Any, false),
        }
    }

    fn ent(&mut self, v: Value) -> Ent {
        if self.ent[ix(v)] == NONE {
            let d = &self.f.values[v];
            let e = self.fresh(d.hint.lane);
            self.ent[ix(v)] = e;
            if d.wide {
                self.fresh(d.hint.lane + 1);
                self.wide.push(e);
            }
        }
        self.ent[ix(v)]
    }

    /// The word a value is, without modifiers.
    fn resolve(&mut self, v: Value) -> Ref {
        let d = &self.f.values[v];
        match d.op {
            VOp::Imm(w) => Ref::Imm(w),
            VOp::Undef(u) => Ref::Undef(u),
            VOp::Reg(r, c) => {
                if !d.args.is_empty() {
                    let addrs = d.args.iter().map(|&a| self.address(a)).collect();
                    return Ref::Ext(self.ext(Ext { reg: r, addrs, load: NONE }), c);
                }
                let x = &mut self.plain_exts[r.0 as usize];
                if *x == NONE {
                    *x = self.exts.len() as u32;
                    self.exts.push(Ext { reg: r, addrs: SmallVec::new(), load: NONE });
                }
                Ref::Ext(*x, c)
            }
            VOp::Proj(c) if self.is(d.args[0], flag::FOLDED_LOAD) => {
                let load = d.args[0];
                Ref::Ext(self.load_ext(load), c)
            }
            VOp::Proj(c) => {
                let m = d.args[0];
                let e = self.ent[ix(m)];
                debug_assert_ne!(e, NONE, "results are numbered when their operation is met");
                let chans = self.f.as_multi(m).map_or(0, result_chans);
                Ref::Ent(e + (chans & ((1u16 << c) - 1) as u8).count_ones())
            }
            VOp::Half(h) => match self.resolve_wide(d.args[0]) {
                [lo, hi] => [lo, hi][h as usize],
            },
            VOp::Sat if self.is(d.args[0], flag::FOLD_SAT) => Ref::Ent(self.ent(d.args[0])),
            _ => Ref::Ent(self.ent(v)),
        }
    }

    fn resolve_wide(&mut self, v: Value) -> [Ref; 2] {
        let d = &self.f.values[v];
        match d.op {
            VOp::Pair => [self.resolve(d.args[0]), self.resolve(d.args[1])],
            VOp::Sat if self.is(d.args[0], flag::FOLD_SAT) => {
                let e = self.ent(d.args[0]);
                [Ref::Ent(e), Ref::Ent(e + 1)]
            }
            _ => {
                let e = self.ent(v);
                [Ref::Ent(e), Ref::Ent(e + 1)]
            }
        }
    }

    fn ext(&mut self, x: Ext) -> u32 {
        let exts = &mut self.exts;
        *self.ext_ids.entry(x.clone()).or_insert_with(|| {
            exts.push(x);
            exts.len() as u32 - 1
        })
    }

    /// The external register of a folded load.
    fn load_ext(&mut self, load: Value) -> u32 {
        let m = self.f.as_multi(load).expect("a load");
        let reg = tgsi_ir::lift::reg_ref(&m.inst.srcs[0].reg);
        let args = self.f.values[load].args.clone();
        let addrs = args.iter().map(|&a| self.address(a)).collect();
        // The register is not in the function's table: number it behind that table's end by value.
        let id = self.load_reg(reg);
        self.ext(Ext { reg: id, addrs, load: ix(load) as u32 })
    }

    fn load_reg(&mut self, reg: tgsi_ir::RegRef) -> RegId {
        let at = self.f.regs.iter().position(|r| *r == reg);
        match at {
            Some(i) => RegId(i as u32),
            None => {
                let extra = &mut self.extra_regs;
                let i = extra.iter().position(|r| *r == reg).unwrap_or_else(|| {
                    extra.push(reg);
                    extra.len() - 1
                });
                RegId((self.f.regs.len() + i) as u32)
            }
        }
    }

    fn address(&mut self, v: Value) -> Address {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(op @ (Opcode::Arl | Opcode::Arr)) => Address { op, r: self.resolve(d.args[0]) },
            _ => Address { op: Opcode::Uarl, r: self.resolve(v) },
        }
    }

    /// An operand with its modifiers.
    #[inline]
    fn operand(&mut self, v: Value, pos: u8) -> Opnd {
        // What has a word is read from it.
        match self.ent[ix(v)] {
            NONE => self.other_operand(v, pos),
            e => Opnd { r: Ref::Ent(e), neg: false, abs: false, pos },
        }
    }

    fn other_operand(&mut self, mut v: Value, pos: u8) -> Opnd {
        let mut o = Opnd { r: Ref::Imm(0), neg: false, abs: false, pos };
        while !self.is(v, flag::STORED) {
            let d = &self.f.values[v];
            match d.op {
                VOp::Neg | VOp::INeg => o.neg = !o.neg,
                VOp::Abs => o.abs = true,
                _ => break,
            }
            v = d.args[0];
        }
        o.r = self.resolve(v);
        o
    }

    fn run(&mut self) {
        let f = self.f;
        let mut pos = 0;
        for block in &self.l.blocks {
            let mut out = LirBlock {
                start: pos,
                nodes: Vec::with_capacity(block.items.len()),
                moves: Vec::with_capacity(block.copies.len()),
                ..LirBlock::default()
            };
            for &p in &block.phis {
                let e = self.ent(p);
                out.phis.push(e);
            }
            pos += 2;
            let id = self.blocks.len() as u32;
            for &v in &block.items {
                let d = &f.values[v];
                let made = match d.op {
                    VOp::Alu(Opcode::Arl | Opcode::Arr) if !self.is(v, flag::STORED) => None,
                    VOp::Alu(op) => Some(self.alu(v, op)),
                    VOp::Neg | VOp::Abs | VOp::INeg if self.is(v, flag::STORED) => Some(self.modifier(v)),
                    VOp::Sat if !self.is(d.args[0], flag::FOLD_SAT) => Some(self.modifier(v)),
                    VOp::Multi(_) if !self.is(v, flag::FOLDED_LOAD) => Some(self.whole(v)),
                    _ => None,
                };
                if let Some(mut node) = made {
                    node.block = id;
                    node.pos = pos;
                    node.hint = d.hint;
                    let nid = self.lir.nodes.len() as NodeId;
                    for e in node.dsts() {
                        self.lir.def[e as usize] = nid;
                    }
                    out.nodes.push(nid);
                    self.lir.nodes.push(node);
                    pos += 2;
                }
            }
            for c in &block.copies {
                let dst = match c.dst {
                    CopyDst::Phi(p) => self.ent(p),
                    CopyDst::Output(k) => self.output(k),
                };
                let src = self.resolve(c.src);
                out.moves.push(EdgeMove { dst, src });
            }
            out.cond = block.cond.map(|c| self.resolve(c));
            pos += 4;
            out.end = pos;
            self.blocks.push(out);
        }
    }

    fn output(&mut self, k: u32) -> Ent {
        let place = self.f.outputs[k as usize];
        let known = self.output_ents[k as usize];
        if known != NONE {
            return known;
        }
        let e = self.fresh(place.1);
        self.output_ents[k as usize] = e;
        e
    }

    fn node(&self, what: What) -> Node {
        Node { first: self.lir.opnds.len() as u32, ..Node::blank(what) }
    }

    fn alu(&mut self, v: Value, op: Opcode) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let info = op.info();
        let mut n = self.node(What::Alu(op));
        let per = if let Shape::Dot(n) = info.shape { n as usize } else { 1 };
        let mut len = 0;
        for &a in &d.args {
            if f.values[a].wide {
                let [lo, hi] = self.resolve_wide(a);
                self.lir.opnds.push(Opnd { r: lo, neg: false, abs: false, pos: 0 });
                self.lir.opnds.push(Opnd { r: hi, neg: false, abs: false, pos: 1 });
                n.push_len(2);
            } else {
                let o = self.operand(a, len as u8);
                self.lir.opnds.push(o);
                len += 1;
                if len == per {
                    n.push_len(len);
                    len = 0;
                }
            }
        }
        n.precise = d.precise;
        n.sat = self.is(v, flag::FOLD_SAT);
        n.dst = self.ent(v);
        n.dst_count = 1 + u8::from(d.wide);
        n
    }

    /// A modifier that is computed: MOV with the modifier, INEG, MOV_SAT.
    fn modifier(&mut self, v: Value) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let a = d.args[0];
        if d.wide {
            // A saturate that could not join its producer: the clamp of a double needs an
            // operation that carries it, and the maximum of a word with itself is the word.
            let [lo, hi] = self.resolve_wide(a);
            let mut n = self.node(What::Alu(Opcode::Dmax));
            for r in [lo, hi, lo, hi] {
                self.lir.opnds.push(Opnd { r, neg: false, abs: false, pos: 0 });
            }
            n.push_len(2);
            n.push_len(2);
            n.sat = true;
            n.dst = self.ent(v);
            n.dst_count = 2;
            return n;
        }
        let mut n = self.node(What::Alu(if d.op == VOp::INeg { Opcode::Ineg } else { Opcode::Mov }));
        let mut o = self.operand(a, 0);
        match d.op {
            VOp::Neg => o.neg = !o.neg,
            VOp::Abs => {
                o.abs = true;
                o.neg = false;
            }
            VOp::Sat => n.sat = true,
            _ => {}
        }
        self.lir.opnds.push(o);
        n.push_len(1);
        n.dst = self.ent(v);
        n.dst_count = 1;
        n
    }

    fn whole(&mut self, v: Value) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let m = f.as_multi(v).expect("a multi-result value");
        let mut n = self.node(What::Multi(v));
        n.addr_first = self.lir.addrs.len() as u32;
        // Offsets follow the sources; the words of a source stand together.
        let sources = m.inst.srcs.len();
        let count = (sources + m.inst.offsets.len()).min(MAX_SOURCES);
        let place = |s: &tgsi_ir::Slot| match *s {
            tgsi_ir::Slot::Src(k, c) => Some((k as usize, c)),
            tgsi_ir::Slot::Offset(k, c) => Some(((sources + k as usize).min(count - 1), c)),
            _ => None,
        };
        for k in 0..count {
            let before = self.lir.opnds.len();
            for (slot, &a) in m.slots.iter().zip(&d.args) {
                if let Some((source, c)) = place(slot)
                    && source == k
                {
                    let o = self.operand(a, c);
                    self.lir.opnds.push(o);
                }
            }
            n.push_len(self.lir.opnds.len() - before);
        }
        for (slot, &a) in m.slots.iter().zip(&d.args) {
            if place(slot).is_none() {
                let address = self.address(a);
                self.lir.addrs.push((*slot, address));
                n.addr_count += 1;
            }
        }
        n.precise = d.precise;
        n.sat = m.inst.sat;
        n.chans = result_chans(m);
        n.dst_count = n.chans.count_ones() as u8;
        n.dst = self.lir.ents;
        for c in (0..8u8).filter(|c| n.chans >> c & 1 != 0) {
            self.fresh(c & 3);
        }
        self.ent[ix(v)] = n.dst;
        n
    }
}

/// The result channels that an operation writes: all its masks say, wanted or not.
pub fn result_chans(m: &Multi) -> u8 {
    match m.kind {
        MultiKind::Load => m.results,
        MultiKind::Store => 0,
        _ => m.inst.dsts.iter().enumerate().fold(0, |a, (k, d)| {
            a | if tgsi::usage::is_resource(d.reg.file) { 0 } else { d.mask << (4 * k) }
        }),
    }
}

/// Whether a store may change what a load reads.
pub fn may_alias(f: &Function, load: &Multi, store: &Multi) -> bool {
    let a = &load.inst.srcs[0].reg;
    let b = &store.inst.dsts[0].reg;
    regs_may_alias(f, a, b)
}

/// Whether two memory registers may be the same.
pub fn regs_may_alias(f: &Function, a: &tgsi::Register, b: &tgsi::Register) -> bool {
    if a.file != b.file {
        return false;
    }
    if a.file == File::Temp {
        let array = |r: &tgsi::Register| {
            f.arrays.iter().position(|x| {
                if r.index.addr.is_some() {
                    x.2 == r.index.array
                } else {
                    x.0 <= r.index.base && r.index.base <= x.1
                }
            })
        };
        if array(a) != array(b) {
            return false;
        }
    }
    if a.is_indirect() || b.is_indirect() {
        return true;
    }
    a.index.base == b.index.base && a.dim.map(|d| d.base) == b.dim.map(|d| d.base)
}

/// Whether memory that other invocations see may change here.
pub fn is_fence(m: &Multi) -> bool {
    matches!(m.inst.op, Opcode::Barrier | Opcode::Membar | Opcode::Emit | Opcode::Endprim)
}
