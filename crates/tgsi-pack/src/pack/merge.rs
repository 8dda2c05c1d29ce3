//! Merging packs across source instructions, and stores into what they store.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi_ir::layout::Layout;
use tgsi_ir::{Function, MultiKind};

use super::{Kind, PackId, PackOptions, Packing};
use crate::lir::{NONE, NodeId, Ref, What};

/// Packs looked at together; reachability is a square of bits this wide.
const WINDOW: usize = 256;
/// Partners tried for a pack.
const LOOK: usize = 24;

/// Reachability between the packs of a window.
struct Reach {
    /// Packs of the window.
    packs: Vec<PackId>,
    /// Window index of each pack, by pack number; `u16::MAX` outside.
    index: Vec<u16>,
    /// `to[i]`: packs that depend on `i`, directly or not.
    to: Vec<[u64; WINDOW / 64]>,
}

impl Reach {
    fn has(&self, a: usize, b: usize) -> bool {
        self.to[a][b / 64] >> (b % 64) & 1 != 0
    }
}

impl Packing {
    /// Merges in every block.
    pub(super) fn merge_all(&mut self, f: &Function, options: &PackOptions) {
        let mut index = vec![u16::MAX; self.packs.len()];
        for b in 0..self.blocks.len() {
            let live: Vec<PackId> =
                self.blocks[b].iter().copied().filter(|&p| !self.packs[p as usize].dead).collect();
            for chunk in live.chunks(WINDOW) {
                if chunk.len() < 2 {
                    continue;
                }
                let mut r = self.reach(chunk, index);
                self.merge_window(f, &mut r, options);
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
        let mut r = Reach { packs: packs.to_vec(), index, to: vec![[0; WINDOW / 64]; packs.len()] };
        // Direct edges, then closure from the last pack backwards: edges go forward in order,
        // but lanes of one pack may stand apart, so repeat until nothing changes.
        let mut direct: Vec<SmallVec<[u16; 6]>> = vec![SmallVec::new(); packs.len()];
        for (i, &p) in packs.iter().enumerate() {
            for n in self.members(p) {
                for &q in &self.preds[n as usize] {
                    let j = r.index[self.pack_of[q as usize] as usize];
                    if j != u16::MAX && j as usize != i {
                        direct[j as usize].push(i as u16);
                    }
                }
            }
        }
        loop {
            let mut changed = false;
            for i in (0..packs.len()).rev() {
                let mut set = r.to[i];
                for &j in &direct[i] {
                    set[j as usize / 64] |= 1 << (j % 64);
                    for (s, t) in set.iter_mut().zip(r.to[j as usize]) {
                        *s |= t;
                    }
                }
                changed |= set != r.to[i];
                r.to[i] = set;
            }
            if !changed {
                return r;
            }
        }
    }

    /// The nodes of a pack, its store included.
    fn members(&self, p: PackId) -> SmallVec<[NodeId; 5]> {
        let pack = &self.packs[p as usize];
        pack.nodes.iter().copied().chain((pack.store != NONE).then_some(pack.store)).collect()
    }

    fn merge_window(&mut self, f: &Function, r: &mut Reach, options: &PackOptions) {
        let mut buckets: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for i in 0..r.packs.len() {
            let p = r.packs[i];
            let pack = &self.packs[p as usize];
            if pack.dead || pack.store != NONE || !self.packable(pack.nodes[0]) {
                continue;
            }
            buckets.entry(self.key(pack.nodes[0])).or_default().push(i);
        }
        // Consumers first: they tell which producers belong together.
        for i in (0..r.packs.len()).rev() {
            loop {
                let p = r.packs[i];
                let pack = &self.packs[p as usize];
                if pack.dead || pack.store != NONE || !self.packable(pack.nodes[0]) {
                    break;
                }
                let key = self.key(pack.nodes[0]);
                let Some(bucket) = buckets.get(&key) else { break };
                if bucket.len() < 2 {
                    break;
                }
                let at = bucket.partition_point(|&x| x < i);
                let low = at.saturating_sub(LOOK);
                let high = (at + LOOK).min(bucket.len());
                let mut best: Option<(i32, usize)> = None;
                for &j in bucket[low..high].iter().rev() {
                    if j == i || self.packs[r.packs[j] as usize].dead || r.has(i, j) || r.has(j, i) {
                        continue;
                    }
                    if let Some(score) = self.score(r.packs[i], r.packs[j], options)
                        && best.is_none_or(|b| score > b.0)
                    {
                        best = Some((score, j));
                    }
                }
                let Some((_, j)) = best else { break };
                if !self.merge(r.packs[i], r.packs[j]) {
                    break;
                }
                self.join(r, i, j);
                if let Some(bucket) = buckets.get_mut(&key) {
                    bucket.retain(|&x| x != j);
                }
            }
        }
        let _ = f;
    }

    /// Makes `i` stand for `j` too in the reachability.
    fn join(&self, r: &mut Reach, i: usize, j: usize) {
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
    fn score(&mut self, a: PackId, b: PackId, options: &PackOptions) -> Option<i32> {
        let (pa, pb) = (&self.packs[a as usize], &self.packs[b as usize]);
        if pa.pos.abs_diff(pb.pos) > options.reach {
            return None;
        }
        let mut score = 0i32;
        let distance = (pa.pos.abs_diff(pb.pos) / 8) as i32;
        let total = pa.nodes.len() + pb.nodes.len();
        let width = self.lir.nodes[pa.nodes[0] as usize].dst.len();
        if total * width > 4 {
            return None;
        }
        let before = self.log.len();
        if !self.try_unions(a, b) {
            return None;
        }
        let unions = (self.log.len() - before) as i32;
        self.undo(before);
        let (na, nb) = (self.packs[a as usize].nodes[0], self.packs[b as usize].nodes[0]);
        let home = |s: &Self, n: NodeId| s.class(s.lir.nodes[n as usize].dst[0]);
        if home(self, na) == home(self, nb) {
            score += 24;
        }
        score -= 8 * unions;
        score -= distance.min(24);
        if options.seed != 0 {
            let h = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(options.seed | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            score += (h >> 60) as i32;
        }
        Some(score)
    }

    /// Unites what a merged pack needs united; undone by the caller. Leaves nothing on failure.
    fn try_unions(&mut self, a: PackId, b: PackId) -> bool {
        let mark = self.log.len();
        let (la, lb) = (self.packs[a as usize].nodes.clone(), self.packs[b as usize].nodes.clone());
        let web = |s: &Self, n: NodeId| s.webs.find(s.lir.nodes[n as usize].dst[0]);
        for &x in &la {
            for &y in &lb {
                if web(self, x) == web(self, y) {
                    return false;
                }
            }
        }
        let mut ok = true;
        let dst = [
            Ref::Ent(self.lir.nodes[la[0] as usize].dst[0]),
            Ref::Ent(self.lir.nodes[lb[0] as usize].dst[0]),
        ];
        ok &= self.unite_refs(&dst).is_some();
        let slots = self.lir.nodes[la[0] as usize].lens.len();
        for k in 0..slots {
            if !ok {
                break;
            }
            let words: SmallVec<[Ref; 8]> =
                la.iter().chain(&lb).flat_map(|&n| self.source(n, k).iter().map(|o| o.r)).collect();
            ok &= self.unite_refs(&words).is_some();
        }
        if !ok {
            self.undo(mark);
        }
        ok
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
    pub(super) fn fold_stores(&mut self, f: &Function, layout: &Layout) {
        let _ = layout;
        let mut readers: FxHashMap<u32, u32> = FxHashMap::default();
        for n in 0..self.lir.nodes.len() {
            if self.packs[self.pack_of[n] as usize].dead {
                continue;
            }
            let node = &self.lir.nodes[n];
            self.lir.reads(node, &mut |e| *readers.entry(self.webs.find(e)).or_default() += 1);
        }
        let mut edges: Vec<u32> = Vec::new();
        for b in &self.lir.blocks {
            b.cond.iter().for_each(|&c| self.lir.ref_reads(c, &mut |e| edges.push(e)));
            b.moves.iter().for_each(|m| self.lir.ref_reads(m.src, &mut |e| edges.push(e)));
        }
        for e in edges {
            *readers.entry(self.webs.find(e)).or_default() += 2;
        }
        for b in 0..self.blocks.len() {
            let list = self.blocks[b].clone();
            for &p in &list {
                let s = self.packs[p as usize].nodes[0];
                let What::Multi(v) = self.lir.nodes[s as usize].what else { continue };
                if f.as_multi(v).is_some_and(|m| m.kind == MultiKind::Store) {
                    self.fold_store(p, s, &readers);
                }
            }
        }
    }

    fn fold_store(&mut self, p: PackId, s: NodeId, readers: &FxHashMap<u32, u32>) {
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
        let Some(pack) = self.packs.get(producer as usize) else { return };
        let node = &self.lir.nodes[pack.nodes[0] as usize];
        let whole = matches!(node.what, What::Multi(_));
        let width = node.dst.len();
        // Every lane is stored, each once, by a block-local operation whose web has one member.
        if pack.block != self.packs[p as usize].block || pack.store != NONE || pack.nodes.len() * width != lanes {
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
            let aligned = node.dst.iter().zip(&node.dst_chan).all(|(&e, &c)| stored.contains(&(e, c)));
            let plain = matches!(node.what, What::Multi(_)) && node.addrs.is_empty();
            if !aligned || !plain || node.dst_chan.iter().any(|&c| c >= 4) {
                return;
            }
        }
        if width == 2 {
            let ok = pack.nodes.iter().all(|&n| {
                let d = &self.lir.nodes[n as usize].dst;
                let at = |e: u32| stored.iter().find(|x| x.0 == e).map(|x| x.1);
                at(d[0]).is_some_and(|c| c & 1 == 0 && at(d[1]) == Some(c + 1))
            });
            if !ok {
                return;
            }
        }
        if self.narrow_pack(producer) {
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

    /// Whether `s` depends on pack `p` through something else, or `p` on `s`.
    fn depends(&self, s: NodeId, p: PackId) -> bool {
        let mut seen: rustc_hash::FxHashSet<PackId> = Default::default();
        let mut stack: Vec<NodeId> =
            self.preds[s as usize].iter().copied().filter(|&q| self.pack_of[q as usize] != p).collect();
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
        let e = *self.lir.nodes[n as usize].dst.first()?;
        Some(self.classes[self.class(e) as usize].kind)
    }
}
