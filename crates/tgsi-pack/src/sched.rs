//! Order of the packs of each block.

use crate::lir::{NONE, Ref};
use crate::pack::{Kind, PackId, Packing};
use smallvec::SmallVec;

/// What the order tries to keep low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Source order as far as dependences allow.
    Source,
    /// Few live channels, source order on ties.
    Pressure,
    /// As late as possible: packs stand before their first user.
    Late,
}

/// The dependences of a packed program, from which orders are made.
pub struct Scheduler<'a> {
    p: &'a Packing,
    graphs: Vec<Graph>,
    /// Readers left, by web; filled and emptied block by block.
    left: Vec<u32>,
}

/// State of one block.
struct Graph {
    packs: Vec<PackId>,
    succs: Vec<SmallVec<[u32; 6]>>,
    waits: Vec<u32>,
    /// Webs read by each pack, each once; the top bit says that the web lives on behind the block.
    reads: Vec<SmallVec<[u32; 6]>>,
    /// Webs written by each pack.
    writes: Vec<SmallVec<[u32; 4]>>,
    /// Address operands of each pack.
    addresses: Vec<SmallVec<[u32; 2]>>,
    /// Reference position that decides ties.
    rank: Vec<u32>,
}

/// Marks a web that is needed behind its block.
const LIVES_ON: u32 = 1 << 31;

impl<'a> Scheduler<'a> {
    /// Collects the dependences.
    pub fn new(p: &'a Packing) -> Scheduler<'a> {
        let mut index = vec![u32::MAX; p.packs.len()];
        let graphs = (0..p.blocks.len())
            .map(|b| graph(p, b, &mut index))
            .collect();
        Scheduler {
            p,
            graphs,
            left: vec![0; p.lir.ents as usize],
        }
    }

    /// The packs of each block in order.
    pub fn schedule(&mut self, strategy: Strategy) -> Vec<Vec<PackId>> {
        let mut left = std::mem::take(&mut self.left);
        let out = self
            .graphs
            .iter()
            .map(|g| match strategy {
                _ if g.packs.len() <= 1 => g.packs.clone(),
                Strategy::Source => forward(g, &mut left, false),
                Strategy::Pressure => forward(g, &mut left, true),
                Strategy::Late => late(g, &mut left),
            })
            .collect();
        self.left = left;
        out
    }
}

fn graph(p: &Packing, b: usize, index: &mut [u32]) -> Graph {
    let packs: Vec<PackId> = p.blocks[b]
        .iter()
        .copied()
        .filter(|&q| !p.packs[q as usize].dead)
        .collect();
    let n = packs.len();
    for (i, &q) in packs.iter().enumerate() {
        index[q as usize] = i as u32;
    }
    let end = p.lir.blocks[b].end;
    let lives_on = |w: u32| {
        let segs = p.webs.segs.get(w as usize);
        segs.is_some_and(|s| s.iter().any(|x| x.0 < end && x.1 >= end - 1))
    };
    let mut g = Graph {
        succs: (0..n).map(|_| SmallVec::new()).collect(),
        waits: vec![0; n],
        reads: (0..n).map(|_| SmallVec::new()).collect(),
        writes: (0..n).map(|_| SmallVec::new()).collect(),
        addresses: (0..n).map(|_| SmallVec::new()).collect(),
        rank: vec![0; n],
        packs,
    };
    let relative = !p.lir.exts.iter().all(|x| x.addrs.is_empty()) || !p.lir.addrs.is_empty();
    for i in 0..n {
        let pack = &p.packs[g.packs[i] as usize];
        let mut preds: SmallVec<[u32; 8]> = SmallVec::new();
        for &m in pack
            .nodes
            .iter()
            .chain((pack.store != NONE).then_some(&pack.store))
        {
            let node = &p.lir.nodes[m as usize];
            g.rank[i] = g.rank[i].max(node.pos);
            for &d in &p.preds[m as usize] {
                let j = index[p.pack_of[d as usize] as usize];
                if j != u32::MAX && j as usize != i && !preds.contains(&j) {
                    preds.push(j);
                }
            }
            let reads = &mut g.reads[i];
            p.lir.reads(node, &mut |e| {
                let w = p.webs.find(e);
                if !reads.iter().any(|&r| r & !LIVES_ON == w) {
                    reads.push(w | if lives_on(w) { LIVES_ON } else { 0 });
                }
            });
            for e in node.dsts() {
                let w = p.webs.find(e);
                if p.classes[p.class(e) as usize].kind == Kind::Temp && !g.writes[i].contains(&w) {
                    g.writes[i].push(w);
                }
            }
        }
        g.waits[i] = preds.len() as u32;
        for j in preds {
            g.succs[j as usize].push(i as u32);
        }
        if relative {
            g.addresses[i] = addresses(p, g.packs[i]);
        }
    }
    for &q in &g.packs {
        index[q as usize] = u32::MAX;
    }
    g
}

/// Ready packs looked at in one step: enough to find the good ones, bounded for blocks where
/// thousands are ready.
const READY: usize = 48;

fn forward(g: &Graph, left: &mut [u32], pressure: bool) -> Vec<PackId> {
    let n = g.packs.len();
    for r in &g.reads {
        for &w in r {
            left[(w & !LIVES_ON) as usize] += 1;
        }
    }
    let mut waits = g.waits.clone();
    // Kept sorted by rank, the smallest last.
    let mut ready: Vec<u32> = (0..n as u32).filter(|&i| waits[i as usize] == 0).collect();
    ready.sort_unstable_by_key(|&i| std::cmp::Reverse((g.rank[i as usize], i)));
    let mut out = Vec::with_capacity(n);
    let mut address = [NONE; 2];
    while !ready.is_empty() {
        let mut best = ready.len() - 1;
        if pressure && ready.len() > 1 {
            let mut best_cost = i32::MAX;
            for k in (ready.len().saturating_sub(READY)..ready.len()).rev() {
                let i = ready[k] as usize;
                let dies = g.reads[i]
                    .iter()
                    .filter(|&&w| w & LIVES_ON == 0 && left[w as usize] == 1)
                    .count() as i32;
                let kept = |w: &u32| g.reads[i].iter().any(|r| r & !LIVES_ON == *w);
                let born = g.writes[i].iter().filter(|w| !kept(w)).count() as i32;
                let loads = g.addresses[i]
                    .iter()
                    .filter(|a| !address.contains(a))
                    .count() as i32;
                let cost = born - dies + 2 * loads;
                if cost < best_cost {
                    best_cost = cost;
                    best = k;
                }
            }
        }
        let i = ready.remove(best) as usize;
        out.push(g.packs[i]);
        for a in &g.addresses[i] {
            if !address.contains(a) {
                address = [*a, address[0]];
            }
        }
        for &w in &g.reads[i] {
            left[(w & !LIVES_ON) as usize] -= 1;
        }
        for &j in &g.succs[i] {
            waits[j as usize] -= 1;
            if waits[j as usize] == 0 {
                let key = (g.rank[j as usize], j);
                let at = ready.partition_point(|&x| (g.rank[x as usize], x) > key);
                ready.insert(at, j);
            }
        }
    }
    debug_assert_eq!(out.len(), n, "dependences have a cycle");
    out
}

/// Packs from the end: the one with the highest position whose users all stand already.
fn late(g: &Graph, live: &mut [u32]) -> Vec<PackId> {
    let n = g.packs.len();
    let mut users: Vec<u32> = g.succs.iter().map(|s| s.len() as u32).collect();
    let mut preds: Vec<SmallVec<[u32; 6]>> = (0..n).map(|_| SmallVec::new()).collect();
    for (i, s) in g.succs.iter().enumerate() {
        for &j in s {
            preds[j as usize].push(i as u32);
        }
    }
    let mut ready: Vec<u32> = (0..n as u32).filter(|&i| users[i as usize] == 0).collect();
    ready.sort_unstable_by_key(|&i| (g.rank[i as usize], i));
    let mut out = Vec::with_capacity(n);
    while !ready.is_empty() {
        let mut best = ready.len() - 1;
        let mut best_cost = i32::MAX;
        for k in (ready.len().saturating_sub(READY)..ready.len()).rev() {
            let i = ready[k] as usize;
            // Going backwards, reads are born and writes die.
            let born = g.reads[i]
                .iter()
                .filter(|&&w| w & LIVES_ON == 0 && live[w as usize] == 0)
                .count() as i32;
            let kept = |w: &u32| g.reads[i].iter().any(|r| r & !LIVES_ON == *w);
            let dies = g.writes[i]
                .iter()
                .filter(|w| live[**w as usize] != 0 && !kept(w))
                .count() as i32;
            if born - dies < best_cost {
                best_cost = born - dies;
                best = k;
            }
        }
        let i = ready.remove(best) as usize;
        for &w in &g.writes[i] {
            live[w as usize] = 0;
        }
        for &w in &g.reads[i] {
            live[(w & !LIVES_ON) as usize] = 1;
        }
        out.push(g.packs[i]);
        for &j in &preds[i] {
            users[j as usize] -= 1;
            if users[j as usize] == 0 {
                let key = (g.rank[j as usize], j);
                let at = ready.partition_point(|&x| (g.rank[x as usize], x) < key);
                ready.insert(at, j);
            }
        }
    }
    for r in &g.reads {
        for &w in r {
            live[(w & !LIVES_ON) as usize] = 0;
        }
    }
    out.reverse();
    out
}

/// The address operands of a pack, as numbers of the words they come from.
fn addresses(p: &Packing, q: PackId) -> SmallVec<[u32; 2]> {
    let mut out = SmallVec::new();
    let pack = &p.packs[q as usize];
    for &m in pack
        .nodes
        .iter()
        .chain((pack.store != NONE).then_some(&pack.store))
    {
        let node = &p.lir.nodes[m as usize];
        let mut note = |r: Ref| {
            if let Ref::Ent(e) = r
                && !out.contains(&e)
            {
                out.push(e);
            }
        };
        for o in p.lir.words(node) {
            if let Ref::Ext(x, _) = o.r {
                p.lir.exts[x as usize].addrs.iter().for_each(|a| note(a.r));
            }
        }
        p.lir.node_addrs(node).iter().for_each(|a| note(a.1.r));
    }
    out
}
