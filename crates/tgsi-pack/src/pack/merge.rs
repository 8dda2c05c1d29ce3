//! Merging packs across source instructions, and stores into what they store.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi_ir::{Function, MultiKind};

use super::{Home, Kind, PackId, PackOptions, Packing, commutes};
use crate::lir::{Address, NONE, NodeId, Ref, What};

/// Packs looked at together; reachability is a square of bits this wide.
const WINDOW: usize = 256;
/// Partners tried for a pack.
const LOOK: usize = 24;

/// Reachability between the packs of a window.
pub(super) struct Reach {
    /// Packs of the window.
    pub(super) packs: Vec<PackId>,
    /// Window index of each pack, by pack number; `u16::MAX` outside.
    index: Vec<u16>,
    /// `to[i]`: packs that depend on `i`, directly or not.
    to: Vec<[u64; WINDOW / 64]>,
}

impl Reach {
    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.to[a][b / 64] >> (b % 64) & 1 != 0
    }
}

impl Packing {
    /// Merges in every block.
    pub(super) fn merge_all(&mut self, options: &PackOptions<'_>) {
        let mut index = vec![u16::MAX; self.packs.len()];
        for b in 0..self.blocks.len() {
            let live: Vec<PackId> = self.blocks[b]
                .iter()
                .copied()
                .filter(|&p| !self.packs[p as usize].dead)
                .collect();
            for chunk in live.chunks(WINDOW) {
                if chunk.len() < 2 {
                    continue;
                }
                let mut r = self.reach(chunk, index);
                if b > 0 {
                    self.relevel();
                }
                self.merge_window(&mut r, options);
                if let Some(zero_wins) = options.mix {
                    self.mix_window(&mut r, zero_wins);
                }
                index = r.index;
                for &p in chunk {
                    index[p as usize] = u16::MAX;
                }
            }
        }
    }

    fn reach(&self, packs: &[PackId], mut index: Vec<u16>) -> Reach {
        for (i, &p) in packs.iter().enumerate() {
            index[p as usize] = i as u16;
        }
        let mut r = Reach {
            packs: packs.to_vec(),
            index,
            to: vec![[0; WINDOW / 64]; packs.len()],
        };
        // Direct edges, then closure from the last pack backwards. Edges go forward in order but
        // for packs whose lanes stand apart: then it takes more than one sweep.
        let mut direct: Vec<(u16, u16)> = Vec::with_capacity(packs.len() * 2);
        let mut backward = false;
        for (i, &p) in packs.iter().enumerate() {
            let pack = &self.packs[p as usize];
            for &n in pack
                .nodes
                .iter()
                .chain((pack.store != NONE).then_some(&pack.store))
            {
                for &q in &self.preds[n as usize] {
                    let j = r.index[self.pack_of[q as usize] as usize];
                    if j != u16::MAX && j as usize != i {
                        direct.push((j, i as u16));
                        backward |= j as usize > i;
                    }
                }
            }
        }
        direct.sort_unstable();
        loop {
            let mut changed = false;
            for &(i, j) in direct.iter().rev() {
                let (i, j) = (i as usize, j as usize);
                let mut set = r.to[i];
                set[j / 64] |= 1 << (j % 64);
                for (s, t) in set.iter_mut().zip(r.to[j]) {
                    *s |= t;
                }
                changed |= set != r.to[i];
                r.to[i] = set;
            }
            if !changed || !backward {
                return r;
            }
        }
    }

    /// The nodes of a pack, its store included.
    pub(super) fn members(&self, p: PackId) -> SmallVec<[NodeId; 5]> {
        let pack = &self.packs[p as usize];
        pack.nodes
            .iter()
            .copied()
            .chain((pack.store != NONE).then_some(pack.store))
            .collect()
    }

    fn merge_window(&mut self, r: &mut Reach, options: &PackOptions<'_>) {
        // Packs that may be merged, sorted by key and operand files: a bucket is a run of equals.
        let mut keys: Vec<(u64, u64, u16)> = Vec::with_capacity(r.packs.len());
        let mut key_of: Vec<(u64, u64)> = vec![(u64::MAX, 0); r.packs.len()];
        for (i, &p) in r.packs.iter().enumerate() {
            let pack = &self.packs[p as usize];
            if pack.dead {
                continue;
            }
            let node = &self.lir.nodes[pack.nodes[0] as usize];
            if pack.store != NONE || !self.packable(pack.nodes[0]) {
                continue;
            }
            if (pack.nodes.len() + 1) * node.dst_count as usize > 4 {
                continue;
            }
            self.canonical(p);
            let key = self.lanes_key(&self.packs[p as usize].nodes);
            key_of[i] = (key, self.signature(p));
            keys.push((key, key_of[i].1, i as u16));
        }
        keys.sort_unstable();
        // Consumers first: they tell which producers belong together.
        for i in (0..r.packs.len()).rev() {
            let (key, files) = key_of[i];
            if key == u64::MAX {
                continue;
            }
            while let Some(j) = self.partner(r, &keys, (key, files, i as u16), options) {
                if !self.merge(r.packs[i], r.packs[j]) {
                    break;
                }
                self.join(r, i, j);
                self.join_levels(r.packs[i], r.packs[j]);
            }
        }
    }

    /// The best pack to merge with pack `me.2` of the window.
    fn partner(
        &mut self,
        r: &Reach,
        keys: &[(u64, u64, u16)],
        me: (u64, u64, u16),
        options: &PackOptions<'_>,
    ) -> Option<usize> {
        let i = me.2 as usize;
        let p = r.packs[i];
        let pack = &self.packs[p as usize];
        if pack.dead {
            return None;
        }
        let width = self.lir.nodes[pack.nodes[0] as usize].dst_count as usize;
        if (pack.nodes.len() + 1) * width > 4 {
            return None;
        }
        let at = keys.partition_point(|&x| x < me);
        let same = |x: &&(u64, u64, u16)| (x.0, x.1) == (me.0, me.1);
        let before = keys[..at].iter().rev().take(LOOK).take_while(same);
        let after = keys[at..].iter().skip(1).take(LOOK).take_while(same);
        let mut best: Option<(i32, usize)> = None;
        for &(_, _, j) in after.chain(before) {
            let j = j as usize;
            if self.packs[r.packs[j] as usize].dead || r.has(i, j) || r.has(j, i) {
                continue;
            }
            if self.raises_level(p, r.packs[j]) {
                continue;
            }
            if let Some(score) = self.score(p, r.packs[j], options)
                && best.is_none_or(|b| score > b.0)
            {
                best = Some((score, j));
            }
        }
        best.map(|b| b.1)
    }

    /// Puts the first two operands of a commutative pack into the order in which packs are
    /// compared: registers before external ones before immediates.
    fn canonical(&mut self, p: PackId) {
        let pack = &self.packs[p as usize];
        let What::Alu(op) = self.lir.nodes[pack.nodes[0] as usize].what else {
            return;
        };
        if !commutes(op) || file_of(self.slot_home(pack, 0)) <= file_of(self.slot_home(pack, 1)) {
            return;
        }
        for i in 0..pack.nodes.len() {
            let n = &self.lir.nodes[self.packs[p as usize].nodes[i] as usize];
            let (first, len) = (n.first as usize, n.lens[0] as usize);
            for c in 0..len {
                self.lir.opnds.swap(first + c, first + len + c);
            }
        }
    }

    /// The files of destination and operands: packs that differ here can never be one.
    fn signature(&self, p: PackId) -> u64 {
        let pack = &self.packs[p as usize];
        let node = &self.lir.nodes[pack.nodes[0] as usize];
        let mut h = match self.classes[self.class(node.dst) as usize].kind {
            Kind::Temp => 0,
            Kind::Out(r) => r as u64 + 1,
        };
        for k in 0..node.sources as usize {
            h = h.wrapping_mul(0x0100_0000_01B3) ^ file_of(self.slot_home(pack, k));
        }
        h
    }

    /// Makes `i` stand for `j` too in the reachability.
    pub(super) fn join(&self, r: &mut Reach, i: usize, j: usize) {
        let mut set = r.to[i];
        for (s, t) in set.iter_mut().zip(r.to[j]) {
            *s |= t;
        }
        r.to[i] = set;
        let (wi, bi) = (i / 64, 1u64 << (i % 64));
        let (wj, bj) = (j / 64, 1u64 << (j % 64));
        for t in &mut r.to {
            if t[wi] & bi != 0 || t[wj] & bj != 0 {
                t[wi] |= bi;
                for (x, y) in t.iter_mut().zip(set) {
                    *x |= y;
                }
            }
        }
    }

    /// How good merging two packs is; `None` if it is impossible. Changes nothing.
    fn score(&mut self, a: PackId, b: PackId, options: &PackOptions<'_>) -> Option<i32> {
        let (pa, pb) = (&self.packs[a as usize], &self.packs[b as usize]);
        if pa.pos.abs_diff(pb.pos) > options.reach {
            return None;
        }
        let mut score = 0i32;
        let distance = (pa.pos.abs_diff(pb.pos) / 8) as i32;
        let total = pa.nodes.len() + pb.nodes.len();
        let width = self.lir.nodes[pa.nodes[0] as usize].dst_count as usize;
        if total * width > 4 {
            return None;
        }
        let before = self.log.len();
        if !self.try_unions(a, b) {
            return None;
        }
        let unions = (self.log.len() - before) as i32;
        self.undo(before);
        let (na, nb) = (
            self.packs[a as usize].nodes[0],
            self.packs[b as usize].nodes[0],
        );
        let home = |s: &Self, n: NodeId| s.class(s.lir.nodes[n as usize].dst);
        if home(self, na) == home(self, nb) {
            score += 24;
        }
        score -= 8 * unions;
        score -= distance.min(24);
        if options.seed != 0 {
            let h = (u64::from(a) << 32 | u64::from(b))
                .wrapping_mul(options.seed | 1)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            score += (h >> 60) as i32;
        }
        Some(score)
    }

    /// Unites what a merged pack needs united; undone by the caller. Leaves nothing on failure.
    fn try_unions(&mut self, a: PackId, b: PackId) -> bool {
        let mark = self.log.len();
        let (pa, pb) = (&self.packs[a as usize], &self.packs[b as usize]);
        let sources = self.lir.nodes[pa.nodes[0] as usize].sources as usize;
        let home = |s: &Self, p: &super::Pack| s.class(s.lir.nodes[p.nodes[0] as usize].dst);
        let (x, y) = (home(self, pa), home(self, pb));
        // Registers that can never be one are seen before anything is united.
        if self.classes[x as usize].kind != self.classes[y as usize].kind {
            return false;
        }
        let mut pairs: SmallVec<[(Home, Home); 4]> = SmallVec::new();
        for k in 0..sources {
            let (h, g) = (self.slot_home(pa, k), self.slot_home(pb, k));
            match (h, g) {
                (Home::Class(_), Home::Class(_)) => {}
                (Home::Any, _) | (_, Home::Any) => {}
                _ if h != g => return false,
                _ => {}
            }
            pairs.push((h, g));
        }
        if x == y && !self.distinct_results(a, b) {
            return false;
        }
        let mut ok = self.unite(x, y);
        for (h, g) in pairs {
            // Classes may have been united since.
            let root = |s: &Self, h: Home| match h {
                Home::Class(c) => Home::Class(s.class_root(c)),
                h => h,
            };
            ok = ok && {
                let (h, g) = (root(self, h), root(self, g));
                self.join_homes(h, g).is_some()
            };
        }
        if !ok {
            self.undo(mark);
        }
        ok
    }

    /// Whether two packs of one register write different channels.
    pub(super) fn distinct_results(&self, a: PackId, b: PackId) -> bool {
        let web = |n: NodeId| self.webs.find(self.lir.nodes[n as usize].dst);
        let (pa, pb) = (&self.packs[a as usize], &self.packs[b as usize]);
        pa.nodes
            .iter()
            .all(|&m| pb.nodes.iter().all(|&n| web(m) != web(n)))
    }

    /// Merges pack `b` into `a`, exchanging operands if that helps.
    fn merge(&mut self, a: PackId, b: PackId) -> bool {
        if !self.try_unions(a, b) {
            return false;
        }
        let nodes = std::mem::take(&mut self.packs[b as usize].nodes);
        for &n in &nodes {
            self.pack_of[n as usize] = a;
        }
        self.packs[b as usize].dead = true;
        let pos = self.packs[b as usize].pos;
        let pack = &mut self.packs[a as usize];
        pack.nodes.extend(nodes);
        pack.pos = pack.pos.min(pos);
        true
    }

    /// Lets operations write straight to memory where a store does nothing but store their results.
    pub(super) fn fold_stores(&mut self, f: &Function, options: &PackOptions<'_>) {
        let is_store = |n: &crate::lir::Node| match n.what {
            What::Multi(v) => f.as_multi(v).is_some_and(|m| m.kind == MultiKind::Store),
            What::Alu(_) => false,
        };
        if !self.lir.nodes.iter().any(is_store) {
            return;
        }
        let mut readers: FxHashMap<u32, u32> = FxHashMap::default();
        for n in 0..self.lir.nodes.len() {
            if self.packs[self.pack_of[n] as usize].dead {
                continue;
            }
            let node = &self.lir.nodes[n];
            self.lir.reads(node, &mut |e| {
                *readers.entry(self.webs.find(e)).or_default() += 1
            });
        }
        let mut edges: Vec<u32> = Vec::new();
        for b in self.lir.blocks.iter() {
            b.cond
                .iter()
                .for_each(|&c| self.lir.ref_reads(c, &mut |e| edges.push(e)));
            b.moves
                .iter()
                .for_each(|m| self.lir.ref_reads(m.src, &mut |e| edges.push(e)));
        }
        for e in edges {
            *readers.entry(self.webs.find(e)).or_default() += 2;
        }
        for b in 0..self.blocks.len() {
            let list = self.blocks[b].clone();
            for &p in &list {
                let s = self.packs[p as usize].nodes[0];
                let What::Multi(v) = self.lir.nodes[s as usize].what else {
                    continue;
                };
                if f.as_multi(v).is_some_and(|m| m.kind == MultiKind::Store) {
                    self.fold_store(p, s, &readers, options);
                }
            }
        }
    }

    /// Whether there are address registers for all that a pack and the store of its results name.
    fn has_addresses(&self, s: NodeId, producer: PackId, options: &PackOptions<'_>) -> bool {
        let mut held: SmallVec<[Address; 4]> = SmallVec::new();
        let mut hold = |a: Address| {
            if !held.contains(&a) {
                held.push(a);
            }
        };
        for &n in self.packs[producer as usize].nodes.iter().chain([&s]) {
            let node = &self.lir.nodes[n as usize];
            self.lir.node_addrs(node).iter().for_each(|a| hold(a.1));
            // What a store writes comes from the pack itself.
            let words = if n == s { &[] } else { self.lir.words(node) };
            for o in words {
                if let Ref::Ext(x, _) = o.r {
                    let addrs = &self.lir.exts[x as usize].addrs;
                    addrs.iter().for_each(|&a| hold(a));
                }
            }
        }
        held.len() <= usize::from(options.addresses)
    }

    fn fold_store(
        &mut self,
        p: PackId,
        s: NodeId,
        readers: &FxHashMap<u32, u32>,
        options: &PackOptions<'_>,
    ) {
        let words: SmallVec<[_; 4]> = self.source(s, 0).iter().copied().collect();
        let mut producer = NONE;
        let mut lanes = 0;
        for o in &words {
            let Ref::Ent(e) = o.r else { return };
            let d = self.lir.def[e as usize];
            if d == NONE || o.neg || o.abs || readers.get(&self.webs.find(e)) != Some(&1) {
                return;
            }
            let q = self.pack_of[d as usize];
            if producer != NONE && producer != q {
                return;
            }
            producer = q;
            lanes += 1;
        }
        let Some(pack) = self.packs.get(producer as usize) else {
            return;
        };
        let node = &self.lir.nodes[pack.nodes[0] as usize];
        let whole = matches!(node.what, What::Multi(_));
        let width = node.dst_count as usize;
        // Every lane is stored, each once, by a block-local operation whose web has one member.
        if pack.block != self.packs[p as usize].block
            || pack.store != NONE
            || pack.nodes.len() * width != lanes
        {
            return;
        }
        let mut stored: SmallVec<[(u32, u8); 4]> = SmallVec::new();
        for o in &words {
            let Ref::Ent(e) = o.r else { return };
            if stored.iter().any(|x| x.0 == e) {
                return;
            }
            stored.push((e, o.pos));
        }
        if whole {
            // A fetch stores its channels where they are.
            let n = pack.nodes[0];
            let node = &self.lir.nodes[n as usize];
            let aligned = node.results().all(|x| stored.contains(&x));
            let plain = matches!(node.what, What::Multi(_)) && node.addr_count == 0;
            if !aligned || !plain || node.chans > 0xf {
                return;
            }
        }
        if width == 2 {
            let ok = pack.nodes.iter().all(|&n| {
                let d = self.lir.nodes[n as usize].dst;
                let at = |e: u32| stored.iter().find(|x| x.0 == e).map(|x| x.1);
                at(d).is_some_and(|c| c & 1 == 0 && at(d + 1) == Some(c + 1))
            });
            if !ok {
                return;
            }
        }
        if self.narrow_pack(producer) || !self.has_addresses(s, producer, options) {
            return;
        }
        // No path from the producer to the store but the direct one.
        if self.depends(s, producer) {
            return;
        }
        self.packs[producer as usize].store = s;
        self.pack_of[s as usize] = producer;
        self.packs[p as usize].dead = true;
    }

    fn narrow_pack(&self, p: PackId) -> bool {
        match self.lir.nodes[self.packs[p as usize].nodes[0] as usize].what {
            What::Alu(op) => super::narrows(op),
            What::Multi(_) => false,
        }
    }

    /// Takes first packs apart whose lanes depend on each other through other packs. Only lanes with
    /// something between them in the reference order can.
    pub(super) fn part_circles(&mut self) {
        for p in 0..self.packs.len() as PackId {
            let pack = &self.packs[p as usize];
            let span = |n: &NodeId| self.lir.nodes[*n as usize].pos;
            let (low, high) = (
                pack.nodes.iter().map(span).min(),
                pack.nodes.iter().map(span).max(),
            );
            let together = 2 * pack.nodes.len() as u32;
            if pack.dead || pack.rigid || high.unwrap_or(0) - low.unwrap_or(0) < together {
                continue;
            }
            if !pack.nodes.iter().any(|&n| self.depends(n, p)) {
                continue;
            }
            let nodes = self.packs[p as usize].nodes.clone();
            for &n in &nodes[1..] {
                let id = self.packs.len() as PackId;
                let mut part = self.packs[p as usize].clone();
                part.nodes = SmallVec::from_slice(&[n]);
                part.pos = self.lir.nodes[n as usize].pos;
                self.pack_of[n as usize] = id;
                self.blocks[part.block as usize].push(id);
                self.packs.push(part);
            }
            let first = &mut self.packs[p as usize];
            first.nodes.truncate(1);
            first.pos = self.lir.nodes[nodes[0] as usize].pos;
            let block = first.block as usize;
            let packs = &self.packs;
            self.blocks[block].sort_by_key(|&q| (packs[q as usize].pos, q));
        }
    }

    /// Whether `s` depends on pack `p` through something else, or `p` on `s`.
    fn depends(&self, s: NodeId, p: PackId) -> bool {
        let mut seen: rustc_hash::FxHashSet<PackId> = Default::default();
        let mut stack: Vec<NodeId> = self.preds[s as usize]
            .iter()
            .copied()
            .filter(|&q| self.pack_of[q as usize] != p)
            .collect();
        while let Some(n) = stack.pop() {
            let q = self.pack_of[n as usize];
            if q == p {
                return true;
            }
            if !seen.insert(q) {
                continue;
            }
            if seen.len() > 512 {
                return true;
            }
            for m in self.members(q) {
                stack.extend(self.preds[m as usize].iter().copied());
            }
        }
        false
    }

    /// The kind of register a pack writes.
    pub fn kind(&self, p: PackId) -> Option<Kind> {
        let n = self.packs[p as usize].nodes[0];
        let node = &self.lir.nodes[n as usize];
        let e = (node.dst_count > 0).then_some(node.dst)?;
        Some(self.classes[self.class(e) as usize].kind)
    }
}

/// Orders homes: classes, then external registers, then immediates, then nothing.
fn file_of(h: Home) -> u64 {
    match h {
        Home::Class(_) => 0,
        Home::Ext(x) => 1 + u64::from(x),
        Home::Imm => u64::MAX - 1,
        Home::Any => u64::MAX,
    }
}
