//! The unit of packing: placed operations with resolved operands.
//!
//! A [`Node`] is one lane of an instruction, or a whole instruction where lanes
//! cannot be chosen (dot products, fetches, memory). Modifiers, projections, halves
//! and register leaves have been folded into operands. What needs storage is an
//! [`Ent`]: one 32-bit word; a 64-bit value takes two that stand side by side.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{File, Opcode, Shape};
use tgsi_ir::{Function, LaneHint, Multi, MultiKind, RegId, Value};

mod build;

pub use build::build;

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
            hint: LaneHint {
                inst: 0,
                lane: 0,
                depth: 0,
            },
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
        self.dsts()
            .zip((0..8u8).filter(move |c| chans >> c & 1 != 0))
    }

    /// Number of operand words.
    #[inline]
    pub fn word_count(&self) -> usize {
        self.lens[..self.sources as usize]
            .iter()
            .map(|&l| l as usize)
            .sum()
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
        d != NONE
            && lir.nodes[d as usize].dst_count == 1
            && matches!(lir.nodes[d as usize].what, What::Alu(_))
    });
    if !targets.windows(2).any(|w| w[0].0 == w[1].0) {
        return;
    }
    let mut read = vec![false; lir.ents as usize];
    for n in &lir.nodes {
        lir.reads(n, &mut |e| read[e as usize] = true);
    }
    for b in lir.blocks.iter() {
        b.cond
            .iter()
            .for_each(|&c| lir.ref_reads(c, &mut |e| read[e as usize] = true));
        for m in b
            .moves
            .iter()
            .filter(|m| lir.output[m.dst as usize].is_none())
        {
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
        let at = block
            .nodes
            .iter()
            .position(|&n| n == old)
            .map_or(block.nodes.len(), |i| i + 1);
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

/// The result channels that an operation writes: all its masks say, wanted or not.
pub fn result_chans(m: &Multi) -> u8 {
    match m.kind {
        MultiKind::Load => m.results,
        MultiKind::Store => 0,
        _ => m.inst.dsts.iter().enumerate().fold(0, |a, (k, d)| {
            a | if tgsi::usage::is_resource(d.reg.file) {
                0
            } else {
                d.mask << (4 * k)
            }
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
    matches!(
        m.inst.op,
        Opcode::Barrier | Opcode::Membar | Opcode::Emit | Opcode::Endprim
    )
}
