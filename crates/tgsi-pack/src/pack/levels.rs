//! Texture indirections: how deeply fetches of a packed program depend on earlier results.
//!
//! The level of a pack is the number of the node (ARB_fragment_program: texture indirection) that it
//! can stand in at the earliest, from 0: that of its operands, and for a fetch or kill one more than
//! that of whatever computed its coordinate in a temporary. A program has at least one indirection
//! more than its highest level, however it is ordered and whatever registers it is given; the order by
//! levels, all fetches of one before all arithmetic of it, needs no more.
//!
//! Merging packs merges paths, so it may raise the highest level. With a limit, packs whose union
//! would raise it above both the limit and what it is are kept apart.

use smallvec::SmallVec;
use tgsi::{Opcode, Shape};
use tgsi_ir::Function;

use super::{PackId, Packing};
use crate::lir::{Lir, NONE, NodeId, Ref};

/// What a node is to the count of indirections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fetch {
    /// Neither of the two below.
    #[default]
    No,
    /// A fetch or query.
    Tex,
    /// A kill by an operand.
    Kill,
}

/// The kind of every node.
pub(super) fn fetches(f: &Function, lir: &Lir) -> Vec<Fetch> {
    let kind = |n: &crate::lir::Node| match lir.multi(f, n) {
        Some(m) if m.inst.op.info().shape == Shape::Tex => Fetch::Tex,
        Some(m) if m.inst.op == Opcode::KillIf => Fetch::Kill,
        _ => Fetch::No,
    };
    lir.nodes.iter().map(kind).collect()
}

/// Levels of packs.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// The earliest node of each pack, by number; 0 for dead ones.
    pub earliest: Vec<u32>,
    /// The latest node of each pack in which the highest level of its block stays what it is, or the limit if
    /// that is higher.
    pub latest: Vec<u32>,
    /// The node that is open where each block begins.
    pub starts: Vec<u32>,
    /// The highest level of a fetch or kill; the program has one indirection more.
    pub highest: u32,
}

/// Edges between packs of a block.
struct Edges {
    /// From, to, and whether `to` must stand in a later node.
    list: Vec<(u32, u32, bool)>,
    /// Packs in an order in which edges go forward.
    order: Vec<u32>,
}

impl Packing {
    /// What a pack is to the count of indirections.
    pub fn fetch(&self, p: PackId) -> Fetch {
        let n = self.packs[p as usize].nodes[0] as usize;
        self.fetches.get(n).copied().unwrap_or_default()
    }

    /// The levels of all packs. `most` is the highest level that is allowed.
    pub fn levels(&self, most: u32) -> Levels {
        self.levels_from(most, &[])
    }

    /// Levels by which fetches stand in as many nodes as `most` allows, about the same number in
    /// each: fewer results wait at once. `order` is an order of each block in which they would stand anyway.
    pub fn spread_levels(&self, most: u32, order: &[Vec<PackId>]) -> Levels {
        let least = self.levels(most);
        let is_fetch = |p: &&PackId| self.fetch(**p) == Fetch::Tex;
        let count = order.iter().flatten().filter(is_fetch).count() as u32;
        let mut floors = vec![0; self.packs.len()];
        for (i, &p) in (0..).zip(order.iter().flatten().filter(is_fetch)) {
            let (low, high) = (least.earliest[p as usize], least.latest[p as usize]);
            floors[p as usize] = low + i * (high.saturating_sub(low) + 1) / count;
        }
        self.levels_from(most, &floors)
    }

    /// As [`Packing::levels`], with a level for each pack below which it is not.
    fn levels_from(&self, most: u32, floors: &[u32]) -> Levels {
        let n = self.packs.len();
        let mut out = Levels {
            earliest: vec![0; n],
            latest: vec![most; n],
            starts: Vec::with_capacity(self.blocks.len()),
            highest: 0,
        };
        // One more than the node in which each web was last written in an earlier block.
        let mut written = vec![0; self.lir.ents as usize];
        for b in 0..self.blocks.len() {
            out.starts.push(out.highest);
            self.block_levels(b, most, floors, &mut written, &mut out);
        }
        out
    }

    fn block_levels(
        &self,
        b: usize,
        most: u32,
        floors: &[u32],
        written: &mut [u32],
        out: &mut Levels,
    ) {
        let start = out.highest;
        let edges = self.pack_edges(b);
        for &p in &edges.order {
            let floor = floors.get(p as usize).copied().unwrap_or(0).max(start);
            let behind = self.behind_earlier_blocks(p, b as u32, written);
            out.earliest[p as usize] = floor.max(behind);
        }
        let at = edges.positions(self.packs.len());
        let mut list = edges.list;
        list.sort_unstable_by_key(|e| (at[e.0 as usize], at[e.1 as usize]));
        for &(from, to, later) in &list {
            let level = out.earliest[from as usize] + u32::from(later);
            let slot = &mut out.earliest[to as usize];
            *slot = (*slot).max(level);
        }
        for &p in &edges.order {
            if self.fetch(p) != Fetch::No {
                out.highest = out.highest.max(out.earliest[p as usize]);
            }
        }
        let last = most.max(out.highest);
        for &p in &edges.order {
            out.latest[p as usize] = last;
        }
        list.sort_unstable_by_key(|e| std::cmp::Reverse((at[e.0 as usize], at[e.1 as usize])));
        for &(from, to, later) in &list {
            let level = out.latest[to as usize].saturating_sub(u32::from(later));
            let slot = &mut out.latest[from as usize];
            *slot = (*slot).min(level);
        }
        for &p in &edges.order {
            for &n in &self.packs[p as usize].nodes {
                for e in self.lir.nodes[n as usize].dsts() {
                    let slot = &mut written[self.webs.find(e) as usize];
                    *slot = (*slot).max(out.earliest[p as usize] + 1);
                }
            }
        }
    }

    /// The level of a fetch or kill by what earlier blocks computed.
    fn behind_earlier_blocks(&self, p: PackId, b: u32, written: &[u32]) -> u32 {
        if b == 0 || self.fetch(p) == Fetch::No {
            return 0;
        }
        let node = &self.lir.nodes[self.packs[p as usize].nodes[0] as usize];
        let mut level = 0;
        self.lir.reads(node, &mut |e| {
            level = level.max(written[self.webs.find(e) as usize])
        });
        level
    }

    /// The dependences between the live packs of a block.
    fn pack_edges(&self, b: usize) -> Edges {
        let live: Vec<PackId> = self.blocks[b]
            .iter()
            .copied()
            .filter(|&p| !self.packs[p as usize].dead)
            .collect();
        let mut list: Vec<(u32, u32, bool)> = Vec::with_capacity(live.len() * 2);
        for &p in &live {
            let pack = &self.packs[p as usize];
            let store = (pack.store != NONE).then_some(pack.store);
            for &n in pack.nodes.iter().chain(&store) {
                for &d in &self.preds[n as usize] {
                    let q = self.pack_of[d as usize];
                    let here = self.packs[q as usize].block == b as u32;
                    if q != p && here && !self.packs[q as usize].dead {
                        list.push((q, p, self.starts_node(d, q, n, p)));
                    }
                }
            }
        }
        list.sort_unstable();
        // Of edges between the same packs the stronger one counts.
        list.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 |= same && next.2;
            same
        });
        let order = topological(&live, &list, self.packs.len());
        Edges { list, order }
    }

    /// Whether node `n` of pack `p` must stand in a later node of the program than `d` of pack `q`.
    fn starts_node(&self, d: NodeId, q: PackId, n: NodeId, p: PackId) -> bool {
        match (self.fetch(p), self.fetch(q)) {
            (Fetch::No, _) => false,
            // Arithmetic in front of a fetch of its node may touch what the fetch writes.
            (_, Fetch::No) => true,
            (_, _) => {
                let made = self.lir.nodes[d as usize].dsts();
                let words = self.lir.words(&self.lir.nodes[n as usize]);
                words
                    .iter()
                    .any(|o| matches!(o.r, Ref::Ent(e) if made.contains(&e)))
            }
        }
    }

    /// Begins to keep track of levels, if there is a limit and it can matter.
    pub(super) fn watch_levels(&mut self, most: Option<u32>) {
        self.level_limit = most.filter(|_| self.fetches.contains(&Fetch::Tex));
        let Some(most) = self.level_limit else { return };
        self.behind = vec![SmallVec::new(); self.lir.nodes.len()];
        for (n, preds) in self.preds.iter().enumerate() {
            for &d in preds {
                self.behind[d as usize].push(n as NodeId);
            }
        }
        self.part_levels(most);
        self.relevel();
    }

    /// Computes the levels anew.
    pub(super) fn relevel(&mut self) {
        if let Some(most) = self.level_limit {
            self.level = self.levels(most);
        }
    }

    /// Brings levels up to date after pack `b` became part of `a`.
    pub(super) fn join_levels(&mut self, a: PackId, b: PackId) {
        if self.level_limit.is_none() {
            return;
        }
        let (x, y) = (a as usize, b as usize);
        let (earliest, latest) = (&mut self.level.earliest, &mut self.level.latest);
        if (earliest[x], latest[x]) == (earliest[y], latest[y]) {
            return;
        }
        earliest[x] = earliest[x].max(earliest[y]);
        latest[x] = latest[x].min(latest[y]);
        // Later blocks are left as they are: their levels are computed anew before they are merged.
        let block = self.packs[x].block;
        let mut raised = vec![a];
        while let Some(p) = raised.pop() {
            for n in self.members(p) {
                for &m in &self.behind[n as usize] {
                    let q = self.pack_of[m as usize];
                    if q == p || self.packs[q as usize].block != block {
                        continue;
                    }
                    let level =
                        self.level.earliest[p as usize] + u32::from(self.starts_node(n, p, m, q));
                    let slot = &mut self.level.earliest[q as usize];
                    if level > *slot {
                        *slot = level;
                        raised.push(q);
                    }
                }
            }
        }
        let mut lowered = vec![a];
        while let Some(p) = lowered.pop() {
            for n in self.members(p) {
                for &d in &self.preds[n as usize] {
                    let q = self.pack_of[d as usize];
                    if q == p || self.packs[q as usize].block != block {
                        continue;
                    }
                    let level = self.level.latest[p as usize]
                        .saturating_sub(u32::from(self.starts_node(d, q, n, p)));
                    let slot = &mut self.level.latest[q as usize];
                    if level < *slot {
                        *slot = level;
                        lowered.push(q);
                    }
                }
            }
        }
    }

    /// Whether one pack of two would raise the highest level too far.
    pub(super) fn raises_level(&self, a: PackId, b: PackId) -> bool {
        if self.level_limit.is_none() {
            return false;
        }
        let (a, b) = (a as usize, b as usize);
        let (l, earliest) = (&self.level, &self.level.earliest);
        earliest[a].max(earliest[b]) > l.latest[a].min(l.latest[b])
    }

    /// Splits packs whose lanes stand at different levels, where that is why the highest level is
    /// above the limit.
    fn part_levels(&mut self, most: u32) {
        // Every round splits a pack.
        loop {
            let levels = self.levels(most);
            if levels.highest <= most {
                return;
            }
            let lanes = self.lane_levels(&levels);
            // Packs on a longest path with a lane that could stand in an earlier node.
            let found = (0..self.packs.len()).find_map(|p| {
                let pack = &self.packs[p];
                if pack.dead || pack.nodes.len() < 2 || levels.earliest[p] != levels.latest[p] {
                    return None;
                }
                let low = |&&n: &&NodeId| lanes[n as usize] < levels.earliest[p];
                let low: SmallVec<[NodeId; 4]> = pack.nodes.iter().filter(low).copied().collect();
                (!low.is_empty()).then_some((p as PackId, low))
            });
            let Some((p, low)) = found else { return };
            self.split_off(p, &low);
        }
    }

    /// The level that each node would have if it did not wait for the other lanes of its own pack.
    fn lane_levels(&self, levels: &Levels) -> Vec<u32> {
        let mut out = vec![0; self.lir.nodes.len()];
        for (p, pack) in self.packs.iter().enumerate().filter(|(_, p)| !p.dead) {
            for &n in &pack.nodes {
                let mut level = levels.starts[pack.block as usize];
                for &d in &self.preds[n as usize] {
                    let q = self.pack_of[d as usize];
                    if q as usize != p && !self.packs[q as usize].dead {
                        let later = self.starts_node(d, q, n, p as PackId);
                        level = level.max(levels.earliest[q as usize] + u32::from(later));
                    }
                }
                out[n as usize] = level;
            }
        }
        out
    }

    /// Makes a pack of their own of some lanes of a pack.
    fn split_off(&mut self, p: PackId, lanes: &[NodeId]) {
        let id = self.packs.len() as PackId;
        let pack = &mut self.packs[p as usize];
        pack.nodes.retain(|n| !lanes.contains(n));
        let mut new = pack.clone();
        new.nodes = SmallVec::from_slice(lanes);
        let place = |nodes: &[NodeId]| nodes.iter().map(|&n| self.lir.nodes[n as usize].pos).min();
        new.pos = place(&new.nodes).unwrap_or(new.pos);
        let block = new.block as usize;
        let at = self.blocks[block].iter().position(|&q| q == p);
        self.blocks[block].insert(at.unwrap_or(0), id);
        for &n in lanes {
            self.pack_of[n as usize] = id;
        }
        self.packs.push(new);
    }
}

impl Edges {
    /// The place of each pack in the order, by number.
    fn positions(&self, packs: usize) -> Vec<u32> {
        let mut at = vec![u32::MAX; packs];
        for (i, &p) in self.order.iter().enumerate() {
            at[p as usize] = i as u32;
        }
        at
    }
}

/// The packs in an order in which edges go forward; those on a circle stand last.
fn topological(live: &[PackId], edges: &[(u32, u32, bool)], packs: usize) -> Vec<u32> {
    let mut waits = vec![0u32; packs];
    for e in edges {
        waits[e.1 as usize] += 1;
    }
    let mut order: Vec<u32> = live
        .iter()
        .copied()
        .filter(|&p| waits[p as usize] == 0)
        .collect();
    let mut done = 0;
    while let Some(&p) = order.get(done) {
        done += 1;
        let from = edges.partition_point(|e| e.0 < p);
        for e in edges[from..].iter().take_while(|e| e.0 == p) {
            let left = &mut waits[e.1 as usize];
            *left -= 1;
            if *left == 0 {
                order.push(e.1);
            }
        }
    }
    if order.len() < live.len() {
        let rest: Vec<u32> = live
            .iter()
            .copied()
            .filter(|&p| waits[p as usize] > 0)
            .collect();
        order.extend(rest);
    }
    order
}
