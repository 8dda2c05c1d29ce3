//! Order of the packs of each block.

use smallvec::SmallVec;
use tgsi_ir::Function;

use crate::lir::{NONE, Ref};
use crate::pack::{Kind, PackId, Packing};

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

/// The packs of each block in order.
pub fn schedule(f: &Function, p: &Packing, strategy: Strategy) -> Vec<Vec<PackId>> {
    let _ = f;
    (0..p.blocks.len()).map(|b| block(p, b, strategy)).collect()
}

/// State of one block.
struct Graph {
    packs: Vec<PackId>,
    succs: Vec<SmallVec<[u16; 6]>>,
    waits: Vec<u32>,
    /// Webs read by each pack, each once.
    reads: Vec<SmallVec<[u32; 6]>>,
    /// Webs written by each pack.
    writes: Vec<SmallVec<[u32; 4]>>,
    /// Reference position that decides ties.
    rank: Vec<u32>,
}

fn graph(p: &Packing, b: usize) -> Graph {
    let packs: Vec<PackId> = p.blocks[b].iter().copied().filter(|&q| !p.packs[q as usize].dead).collect();
    let n = packs.len();
    let mut index: rustc_hash::FxHashMap<PackId, u16> = Default::default();
    for (i, &q) in packs.iter().enumerate() {
        index.insert(q, i as u16);
    }
    let mut g = Graph {
        succs: vec![SmallVec::new(); n],
        waits: vec![0; n],
        reads: vec![SmallVec::new(); n],
        writes: vec![SmallVec::new(); n],
        rank: vec![0; n],
        packs,
    };
    for i in 0..n {
        let pack = &p.packs[g.packs[i] as usize];
        let mut preds: SmallVec<[u16; 8]> = SmallVec::new();
        for &m in pack.nodes.iter().chain((pack.store != NONE).then_some(&pack.store)) {
            let node = &p.lir.nodes[m as usize];
            for &d in &p.preds[m as usize] {
                if let Some(&j) = index.get(&p.pack_of[d as usize])
                    && j as usize != i
                    && !preds.contains(&j)
                {
                    preds.push(j);
                }
            }
            let reads = &mut g.reads[i];
            p.lir.reads(node, &mut |e| {
                let w = p.webs.find(e);
                if !reads.contains(&w) {
                    reads.push(w);
                }
            });
            for &e in &node.dst {
                let w = p.webs.find(e);
                if p.classes[p.class(e) as usize].kind == Kind::Temp && !g.writes[i].contains(&w) {
                    g.writes[i].push(w);
                }
            }
        }
        g.waits[i] = preds.len() as u32;
        for j in preds {
            g.succs[j as usize].push(i as u16);
        }
        let pos = pack.nodes.iter().map(|&m| p.lir.nodes[m as usize].pos);
        g.rank[i] = pos.max().unwrap_or(0);
    }
    g
}

fn block(p: &Packing, b: usize, strategy: Strategy) -> Vec<PackId> {
    let g = graph(p, b);
    let n = g.packs.len();
    if n <= 1 {
        return g.packs;
    }
    match strategy {
        Strategy::Source => forward(p, b, &g, false),
        Strategy::Pressure => forward(p, b, &g, true),
        Strategy::Late => late(p, &g),
    }
}

fn forward(p: &Packing, b: usize, g: &Graph, pressure: bool) -> Vec<PackId> {
    let n = g.packs.len();
    let end = p.lir.blocks[b].end;
    // Readers left in this block, and whether the web lives on behind it.
    let mut left: rustc_hash::FxHashMap<u32, u32> = Default::default();
    for r in &g.reads {
        for &w in r {
            *left.entry(w).or_default() += 1;
        }
    }
    let lives_on = |w: u32| {
        let segs = p.webs.segs.get(w as usize);
        segs.is_some_and(|s| s.iter().any(|x| x.0 < end && x.1 >= end - 1))
    };
    let mut waits = g.waits.clone();
    let mut ready: Vec<usize> = (0..n).filter(|&i| waits[i] == 0).collect();
    let mut out = Vec::with_capacity(n);
    let mut address = [NONE; 2];
    while !ready.is_empty() {
        let mut best = 0;
        let mut best_key = (i32::MAX, u32::MAX);
        for (k, &i) in ready.iter().enumerate() {
            let cost = if pressure {
                let dies = g.reads[i].iter().filter(|w| left.get(w) == Some(&1) && !lives_on(**w)).count() as i32;
                let born = g.writes[i].iter().filter(|w| !g.reads[i].contains(w)).count() as i32;
                let loads = addresses(p, g.packs[i]).iter().filter(|a| !address.contains(a)).count() as i32;
                born - dies + 2 * loads
            } else {
                0
            };
            let key = (cost, g.rank[i]);
            if key < best_key {
                best_key = key;
                best = k;
            }
        }
        let i = ready.swap_remove(best);
        out.push(g.packs[i]);
        for a in addresses(p, g.packs[i]) {
            if !address.contains(&a) {
                address = [a, address[0]];
            }
        }
        for w in &g.reads[i] {
            if let Some(c) = left.get_mut(w) {
                *c -= 1;
            }
        }
        for &j in &g.succs[i] {
            waits[j as usize] -= 1;
            if waits[j as usize] == 0 {
                ready.push(j as usize);
            }
        }
    }
    debug_assert_eq!(out.len(), n, "dependences have a cycle");
    out
}

/// Packs from the end: the one with the highest position whose users all stand already.
fn late(p: &Packing, g: &Graph) -> Vec<PackId> {
    let n = g.packs.len();
    let mut users: Vec<u32> = g.succs.iter().map(|s| s.len() as u32).collect();
    let mut preds: Vec<SmallVec<[u16; 6]>> = vec![SmallVec::new(); n];
    for (i, s) in g.succs.iter().enumerate() {
        for &j in s {
            preds[j as usize].push(i as u16);
        }
    }
    let mut ready: Vec<usize> = (0..n).filter(|&i| users[i] == 0).collect();
    let mut out = Vec::with_capacity(n);
    let mut live: rustc_hash::FxHashSet<u32> = Default::default();
    while !ready.is_empty() {
        let mut best = 0;
        let mut best_key = (i32::MAX, u32::MAX);
        for (k, &i) in ready.iter().enumerate() {
            // Going backwards, reads are born and writes die.
            let born = g.reads[i].iter().filter(|w| !live.contains(w)).count() as i32;
            let dies = g.writes[i].iter().filter(|w| live.contains(w) && !g.reads[i].contains(w)).count() as i32;
            let key = (born - dies, u32::MAX - g.rank[i]);
            if key < best_key {
                best_key = key;
                best = k;
            }
        }
        let i = ready.swap_remove(best);
        for w in &g.writes[i] {
            live.remove(w);
        }
        live.extend(g.reads[i].iter().copied());
        out.push(g.packs[i]);
        for &j in &preds[i] {
            users[j as usize] -= 1;
            if users[j as usize] == 0 {
                ready.push(j as usize);
            }
        }
    }
    out.reverse();
    let _ = p;
    out
}

/// The address operands of a pack, as numbers of the words they come from.
fn addresses(p: &Packing, q: PackId) -> SmallVec<[u32; 2]> {
    let mut out = SmallVec::new();
    let pack = &p.packs[q as usize];
    for &m in pack.nodes.iter().chain((pack.store != NONE).then_some(&pack.store)) {
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
        node.addrs.iter().for_each(|a| note(a.1.r));
    }
    out
}
