//! The packer: which lanes share an instruction and which words share a register.
//!
//! Swizzles are free, so only co-residence matters: the lanes of one operand must
//! stand in one register with one modifier, the results of one instruction in one
//! register. Registers are classes of webs in a union-find with capacity four.
//!
//! The packer starts from the source's own instructions as packs. It unites the
//! classes that packs, dot products and fetches ask for, splits packs or inserts
//! copies where that is impossible, and then merges isomorphic packs as long as no
//! dependence forbids it. Every merge saves one instruction; nothing costs one that
//! the source did not pay.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::Opcode;
use tgsi_ir::Function;

use crate::lir::{Ent, Lir, NONE, Node, NodeId, Opnd, Ref, What, packs};
use crate::webs::Webs;

mod constrain;
mod dag;
mod levels;
mod merge;
mod mix;

pub use levels::{Fetch, Levels};

/// Number of a pack.
pub type PackId = u32;

/// One instruction to be: lanes of one key.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Block.
    pub block: u32,
    /// Its lanes.
    pub nodes: SmallVec<[NodeId; 4]>,
    /// A store that this pack writes through: its results go to memory directly.
    pub store: NodeId,
    /// Merged into another pack.
    pub dead: bool,
    /// Reference position of the first lane.
    pub pos: u32,
    /// Its lanes stay together: an output that is written whole.
    pub rigid: bool,
}

/// What a register class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A temporary to be numbered.
    Temp,
    /// An output register.
    Out(i32),
}

/// Webs that share a register.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    seats: [u32; 4],
    count: u8,
    /// Kind of register.
    pub kind: Kind,
}

impl Class {
    /// Its webs, in the order they joined.
    pub fn webs(&self) -> &[u32] {
        &self.seats[..self.count as usize]
    }
}

/// Options of one packing run.
#[derive(Clone, Copy, Debug)]
pub struct PackOptions<'a> {
    /// Output registers that are written whole, by one copy.
    pub whole_outputs: &'a [i32],
    /// Perturbs priorities; 0 = none.
    pub seed: u64,
    /// How far apart, in reference positions, lanes of one pack may be.
    pub reach: u32,
    /// No immediate may be a texture coordinate, no integer lane an output: virglrenderer.
    pub virgl: bool,
    /// Texture coordinates stand in the first channels of a register where that costs nothing: the
    /// target reads them without a swizzle only.
    pub plain_coordinates: bool,
    /// Address registers that one instruction may use.
    pub addresses: u8,
    /// An indexed register that more operands of a block read is copied to a temporary once.
    pub indexed_reads: u32,
    /// Whether packs of different operations are made one, and if so whether zero wins a product.
    pub mix: Option<bool>,
    /// The highest level of fetches that packs may make, one less than the limit of texture
    /// indirections; see [`Levels`].
    pub level_limit: Option<u32>,
}

/// Where all lanes of an operand stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
    /// Anything: uninitialised words only.
    Any,
    /// Immediates.
    Imm,
    /// An external register.
    Ext(u32),
    /// A register class.
    Class(u32),
}

/// The state and result of packing.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Nodes, copies included.
    pub lir: Lir,
    /// Webs, copies included.
    pub webs: Webs,
    /// Packs.
    pub packs: Vec<Pack>,
    /// Packs of each block in reference order (dead ones included).
    pub blocks: Vec<Vec<PackId>>,
    /// Classes by web; see [`Packing::class`].
    pub classes: Vec<Class>,
    parent: Vec<u32>,
    /// Undo log of unions: child, parent, former length of the parent.
    log: Vec<(u32, u32, u8)>,
    /// Pack of each node.
    pub pack_of: Vec<PackId>,
    /// Nodes there were before copies were inserted.
    original: NodeId,
    /// Packs obey what virglrenderer takes; see [`PackOptions::virgl`].
    virgl: bool,
    /// Dependences inside blocks: predecessors of each node.
    pub preds: Vec<SmallVec<[NodeId; 4]>>,
    /// Operands that read an indexed register, by block and register.
    indexed: FxHashMap<(u32, u32), u32>,
    /// Words that only float operations read; see [`Packing::note_floats`].
    floats: Vec<bool>,
    /// What each node is to the count of indirections; copies are not in the list.
    fetches: Vec<Fetch>,
    /// The limit that is watched; see [`PackOptions::level_limit`].
    level_limit: Option<u32>,
    /// The levels of packs as they are, while a limit is watched.
    level: Levels,
    /// Nodes that depend on each node, while a limit is watched.
    behind: Vec<SmallVec<[NodeId; 4]>>,
    /// Copies of words that exist, by block: (block, word with its modifiers) to words.
    copies: FxHashMap<(u32, Opnd), SmallVec<[Ent; 1]>>,
}

/// Packs a program.
pub fn pack(f: &Function, lir: &Lir, webs: &Webs, options: &PackOptions<'_>) -> Packing {
    let mut p = Packing {
        lir: lir.clone(),
        webs: webs.clone(),
        packs: Vec::new(),
        blocks: vec![Vec::new(); lir.blocks.len()],
        classes: Vec::new(),
        parent: Vec::new(),
        log: Vec::new(),
        pack_of: vec![NONE; lir.nodes.len()],
        preds: Vec::new(),
        original: lir.nodes.len() as NodeId,
        virgl: options.virgl,
        indexed: FxHashMap::default(),
        floats: Vec::new(),
        fetches: if options.level_limit.is_some() {
            levels::fetches(f, lir)
        } else {
            Vec::new()
        },
        level_limit: None,
        level: Levels::default(),
        behind: Vec::new(),
        copies: FxHashMap::default(),
    };
    // Copies are few: room for them saves moving everything.
    let spare = lir.nodes.len() / 8 + 16;
    p.lir.nodes.reserve(spare);
    p.lir.opnds.reserve(spare);
    p.classes.reserve(lir.ents as usize + spare);
    p.parent.reserve(lir.ents as usize + spare);
    for e in 0..lir.ents {
        p.add_class(e);
    }
    p.edge_copies(options.whole_outputs);
    p.initial();
    p.count_indexed();
    p.constrain(f, options);
    debug_assert_eq!(p.faults(), Vec::<String>::new(), "after constraints");
    p.dependences(f);
    p.part_circles();
    p.fold_stores(f, options);
    if options.mix.is_some() {
        p.note_floats();
    }
    p.watch_levels(options.level_limit);
    p.merge_all(options);
    debug_assert_eq!(p.faults(), Vec::<String>::new(), "after merging");
    p
}

impl Packing {
    fn add_class(&mut self, e: Ent) {
        let kind = match self.webs.out.get(e as usize).copied().flatten() {
            Some((r, _)) => Kind::Out(r),
            None => Kind::Temp,
        };
        self.parent.push(e);
        self.classes.push(Class {
            seats: [e, 0, 0, 0],
            count: 1,
            kind,
        });
    }

    /// The class of a word.
    pub fn class(&self, e: Ent) -> u32 {
        let mut c = self.webs.find(e);
        while self.parent[c as usize] != c {
            c = self.parent[c as usize];
        }
        c
    }

    /// Where a word stands.
    pub fn home(&self, r: Ref) -> Home {
        match r {
            Ref::Imm(_) => Home::Imm,
            Ref::Undef(_) => Home::Any,
            Ref::Ext(x, _) => Home::Ext(x),
            Ref::Ent(e) => Home::Class(self.class(e)),
        }
    }

    /// Whether the words of a class could be given channels.
    fn feasible(&self, webs: &[u32]) -> bool {
        if webs.len() > 4 {
            return false;
        }
        let plain = webs
            .iter()
            .all(|&w| self.webs.pin[w as usize].is_none() && self.webs.partner[w as usize] == NONE);
        plain || self.seat(webs, 0, 0, &mut [0; 4])
    }

    /// Tries to give channels to `webs[i..]`.
    fn seat(&self, webs: &[u32], i: usize, taken: u8, chans: &mut [u8; 4]) -> bool {
        let Some(&w) = webs.get(i) else {
            return true;
        };
        let partner = self.webs.partner[w as usize];
        let partner = if partner == NONE {
            NONE
        } else {
            self.webs.find(partner)
        };
        for c in 0..4u8 {
            if taken >> c & 1 != 0 || self.webs.pin[w as usize].is_some_and(|p| p != c) {
                continue;
            }
            if partner != NONE {
                if (c & 1 == 1) != self.webs.high[w as usize] {
                    continue;
                }
                let at = webs[..i].iter().position(|&x| x == partner);
                let ok = match at {
                    Some(j) => chans[j] == c ^ 1,
                    // The partner may still come, in this class or its own place beside this word.
                    None => taken >> (c ^ 1) & 1 == 0,
                };
                if !ok {
                    continue;
                }
            } else if webs[..i].iter().zip(chans.iter()).any(|(&x, &d)| {
                // The seat beside half of a 64-bit value belongs to the other half.
                self.webs.partner[x as usize] != NONE && d == c ^ 1
            }) {
                continue;
            }
            chans[i] = c;
            if self.seat(webs, i + 1, taken | 1 << c, chans) {
                return true;
            }
        }
        false
    }

    /// Unites two classes if their words fit into one register.
    fn unite(&mut self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        let (x, y) = (self.classes[a as usize], self.classes[b as usize]);
        let count = x.count + y.count;
        if x.kind != y.kind || count > 4 {
            return false;
        }
        let mut all = x;
        all.seats[x.count as usize..count as usize].copy_from_slice(y.webs());
        all.count = count;
        if !self.feasible(all.webs()) {
            return false;
        }
        self.log.push((b, a, x.count));
        self.parent[b as usize] = a;
        self.classes[a as usize] = all;
        true
    }

    fn undo(&mut self, mark: usize) {
        while self.log.len() > mark {
            let (child, parent, count) = self.log.pop().expect("longer than mark");
            self.parent[child as usize] = child;
            self.classes[parent as usize].count = count;
        }
    }

    /// Unites the homes of several words; `None` if they cannot stand in one register.
    fn unite_refs(&mut self, refs: &[Ref]) -> Option<Home> {
        let mut home = Home::Any;
        let mark = self.log.len();
        for &r in refs {
            let next = self.home(r);
            match self.join_homes(home, next) {
                Some(h) => home = h,
                None => {
                    self.undo(mark);
                    return None;
                }
            }
        }
        Some(home)
    }

    /// One home of two, uniting classes; `None` if they cannot be one register.
    fn join_homes(&mut self, a: Home, b: Home) -> Option<Home> {
        match (a, b) {
            (h, Home::Any) | (Home::Any, h) => Some(h),
            (a, b) if a == b => Some(a),
            (Home::Class(a), Home::Class(b)) if self.unite(a, b) => Some(Home::Class(a)),
            _ => None,
        }
    }

    /// The home of source `k` of a pack whose lanes agree.
    fn slot_home(&self, pack: &Pack, k: usize) -> Home {
        for &n in &pack.nodes {
            for o in self.source(n, k) {
                let h = self.home(o.r);
                if h != Home::Any {
                    return h;
                }
            }
        }
        Home::Any
    }

    /// The words of source `k` of each lane of a pack.
    fn slot(&self, pack: &Pack, k: usize) -> SmallVec<[Opnd; 8]> {
        pack.nodes
            .iter()
            .flat_map(|&n| self.source(n, k).iter().copied())
            .collect()
    }

    /// The words of source `k` of a node.
    pub fn source(&self, n: NodeId, k: usize) -> &[Opnd] {
        let node = &self.lir.nodes[n as usize];
        let at = node.first as usize + node.lens[..k].iter().map(|&l| l as usize).sum::<usize>();
        &self.lir.opnds[at..at + node.lens[k] as usize]
    }

    /// Adds a node to a block as a pack of its own.
    fn add_node(&mut self, mut node: Node, opnds: &[Opnd]) -> NodeId {
        node.first = self.lir.opnds.len() as u32;
        self.lir.opnds.extend(opnds);
        let id = self.lir.nodes.len() as NodeId;
        let (block, pos) = (node.block, node.pos);
        self.lir.nodes.push(node);
        self.pack_of.push(self.packs.len() as PackId);
        self.packs.push(Pack {
            block,
            nodes: SmallVec::from_slice(&[id]),
            store: NONE,
            dead: false,
            pos,
            rigid: false,
        });
        id
    }

    /// A new word with its own web and class.
    fn fresh(&mut self, def: NodeId, lane: u8) -> Ent {
        let e = self.lir.new_ent(def, lane);
        self.webs.push();
        self.add_class(e);
        e
    }

    /// A MOV node of one word at a position.
    fn mov(&self, block: u32, pos: u32, dst: Ent, like: &Node) -> Node {
        let mut n = Node {
            block,
            pos,
            hint: like.hint,
            dst,
            dst_count: 1,
            ..Node::blank(What::Alu(Opcode::Mov))
        };
        n.push_len(1);
        n
    }

    /// Whether the lanes of a node may be packed.
    fn packable(&self, n: NodeId) -> bool {
        let node = &self.lir.nodes[n as usize];
        match node.what {
            // virglrenderer has no 64-bit vectors.
            What::Alu(op) => packs(op) && !narrows(op) && !(self.virgl && node.dst_count > 1),
            What::Multi(_) => false,
        }
    }

    /// Operands and results that do not stand in one register although one instruction needs
    /// them there. Empty unless there is a fault.
    pub fn faults(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (i, pack) in self.packs.iter().enumerate() {
            if pack.dead {
                continue;
            }
            for k in 0..self.lir.nodes[pack.nodes[0] as usize].sources as usize {
                let words = self.slot(pack, k);
                let mut homes: SmallVec<[Home; 8]> = words.iter().map(|o| self.home(o.r)).collect();
                homes.retain(|h| *h != Home::Any);
                if homes.windows(2).any(|w| w[0] != w[1]) {
                    out.push(format!("pack {i} source {k}: {homes:?}"));
                }
            }
        }
        out
    }

    /// What must agree for two nodes to share an instruction.
    pub fn key(&self, n: NodeId) -> u64 {
        self.lanes_key(&[n])
    }

    /// The modifiers of source `k` of lanes that share an instruction: those of what is defined,
    /// for undefined words take on any. Nothing if all are undefined.
    fn modifiers(&self, nodes: &[NodeId], k: usize) -> Option<(bool, bool)> {
        let first = nodes.iter().map(|&n| self.source(n, k)[0]);
        let mut defined = first.filter(|o| !matches!(o.r, Ref::Undef(_)));
        defined.next().map(|o| (o.neg, o.abs))
    }

    /// As [`Self::key`], of lanes that share an instruction already.
    fn lanes_key(&self, nodes: &[NodeId]) -> u64 {
        let n = nodes[0];
        let node = &self.lir.nodes[n as usize];
        let What::Alu(op) = node.what else {
            return u64::MAX;
        };
        let mut key = (op as u64) << 16 | u64::from(node.sat) << 15 | u64::from(node.precise) << 14;
        if self.virgl && matches!(op, Opcode::Ubfe | Opcode::Ibfe | Opcode::Bfi) {
            // Only the first lane's offset and size are read there.
            use std::hash::{Hash, Hasher};
            let mut h = rustc_hash::FxHasher::default();
            for k in 1..node.sources as usize {
                let o = self.source(n, k)[0];
                (o.r, o.neg).hash(&mut h);
            }
            key |= h.finish() << 32;
        }
        if !matches!(op.info().shape, tgsi::Shape::Comp) {
            // One scalar for all lanes: they must read the same words.
            use std::hash::{Hash, Hasher};
            let mut h = rustc_hash::FxHasher::default();
            self.lir.words(node).hash(&mut h);
            key |= h.finish() << 32;
        }
        for k in 0..node.sources as usize {
            if let Some((neg, abs)) = self.modifiers(nodes, k) {
                key |= (u64::from(neg) | u64::from(abs) << 1) << (2 * k);
            }
        }
        key
    }
}

/// Whether an operation takes 64-bit operands to 32-bit results: its channels follow
/// rules of their own, so its lanes are not chosen freely.
pub fn narrows(op: Opcode) -> bool {
    let info = op.info();
    !info.dst_ty.is_wide() && info.src_ty.iter().any(|t| t.is_wide())
}

/// Whether the first two operands may be exchanged lane by lane, bit for bit.
pub fn commutes(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Add | Mul
            | Mad
            | Fma
            | And
            | Or
            | Xor
            | Uadd
            | Umul
            | Umad
            | Umax
            | Umin
            | Imax
            | Imin
            | Useq
            | Usne
            | Fseq
            | Fsne
            | Seq
            | Sne
            | ImulHi
            | UmulHi
            | Dadd
            | Dmul
            | Dmad
            | U64add
            | U64mul
            | U64min
            | U64max
            | I64min
            | I64max
    )
}
