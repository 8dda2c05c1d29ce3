//! Order of the packs of each block.

use tgsi_ir::Chaos;

use crate::lir::{NONE, NodeId, Ref};
use crate::pack::{Fetch, Kind, Levels, Pack, PackId, Packing};

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

/// How an order by levels of fetches uses the freedom that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// What need not stand in a node stands there if that leaves fewer or as many channels live.
    Level,
    /// Only if it leaves fewer live.
    Fewer,
    /// Arithmetic stands where its level is; fetches as late as they may.
    Fetches,
    /// Everything stands as early as its level allows.
    Nothing,
}

/// Lists of numbers, one behind the other.
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn with_capacity(lists: usize, items: usize) -> Lists {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        Lists {
            starts,
            items: Vec::with_capacity(items),
        }
    }

    /// Ends the list at hand: what is pushed from here on is in the next one.
    #[inline]
    fn end_list(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    /// List `i`; empty if it was never ended.
    #[inline]
    fn of(&self, i: u32) -> &[u32] {
        let i = i as usize;
        match self.starts.get(i..i + 2) {
            Some(s) => &self.items[s[0] as usize..s[1] as usize],
            None => &[],
        }
    }
}

/// The dependences of a packed program, from which orders are made.
///
/// Packs that are not dead are numbered block by block in their reference order.
pub struct Scheduler {
    /// The packs by number.
    packs: Vec<PackId>,
    /// The first number of each block, and one past the last.
    starts: Vec<u32>,
    /// Packs that must stand before, in the same block.
    preds: Lists,
    /// How many packs must stand behind.
    users: Vec<u32>,
    /// Webs read, each once; [`LIVES_ON`] says that the web is needed behind the block.
    reads: Lists,
    /// Webs written and not read.
    writes: Lists,
    /// Address operands; no lists at all if nothing is addressed relatively.
    addresses: Lists,
    /// Reference position that decides ties.
    rank: Vec<u32>,
    /// Scratch memory by web, all zero between blocks: readers left, or whether it is live.
    state: Vec<u32>,
}

/// Marks a web that is needed behind its block.
const LIVES_ON: u32 = 1 << 31;

impl Scheduler {
    /// Collects the dependences.
    pub fn new(p: &Packing) -> Scheduler {
        let mut build = Build::new(p);
        for b in 0..p.blocks.len() {
            build.block(b);
        }
        build.out
    }

    /// Decides ties by chance.
    pub fn perturb(&mut self, c: Chaos) {
        c.shuffle(&mut self.rank, "rank", 0);
    }

    /// The packs of each block in order.
    pub fn schedule(&mut self, strategy: Strategy) -> Vec<Vec<PackId>> {
        let mut state = std::mem::take(&mut self.state);
        let mut out = Vec::with_capacity(self.starts.len());
        for w in self.starts.windows(2) {
            let (from, to) = (w[0], w[1]);
            out.push(match strategy {
                _ if to - from <= 1 => self.packs[from as usize..to as usize].to_vec(),
                Strategy::Source => self.forward(from, to, &mut state, false),
                Strategy::Pressure => self.forward(from, to, &mut state, true),
                Strategy::Late => self.late(from, to, &mut state),
            });
        }
        self.state = state;
        out
    }

    /// Packs `from..to` from the start.
    fn forward(&self, from: u32, to: u32, left: &mut [u32], pressure: bool) -> Vec<PackId> {
        let at = |i: u32| (i - from) as usize;
        for &w in self.reads_of(from, to) {
            left[(w & !LIVES_ON) as usize] += 1;
        }
        let mut waits: Vec<u32> = (from..to).map(|i| self.preds.of(i).len() as u32).collect();
        let succs = self.succs(from, to);
        // Kept sorted by rank, the smallest last.
        let mut ready: Vec<u32> = (from..to).filter(|&i| waits[at(i)] == 0).collect();
        ready.sort_unstable_by_key(|&i| std::cmp::Reverse((self.rank[i as usize], i)));
        let mut out = Vec::with_capacity(at(to));
        let mut address = [NONE; 2];
        while !ready.is_empty() {
            let mut best = ready.len() - 1;
            if pressure && ready.len() > 1 {
                best = self.least_pressure(&ready, left, &address);
            }
            let i = ready.remove(best);
            out.push(self.packs[i as usize]);
            for a in self.addresses.of(i) {
                if !address.contains(a) {
                    address = [*a, address[0]];
                }
            }
            for &w in self.reads.of(i) {
                left[(w & !LIVES_ON) as usize] -= 1;
            }
            for &j in succs.of(i - from) {
                waits[at(j)] -= 1;
                if waits[at(j)] == 0 {
                    let key = (self.rank[j as usize], j);
                    let place = ready.partition_point(|&x| (self.rank[x as usize], x) > key);
                    ready.insert(place, j);
                }
            }
        }
        debug_assert_eq!(out.len(), at(to), "dependences have a cycle");
        out
    }

    /// The place in `ready` of the pack that adds least to what is live and to address loads.
    fn least_pressure(&self, ready: &[u32], left: &[u32], address: &[u32; 2]) -> usize {
        let mut best = (i32::MAX, 0);
        for k in (ready.len().saturating_sub(READY)..ready.len()).rev() {
            let i = ready[k];
            let last = |w: &&u32| **w & LIVES_ON == 0 && left[**w as usize] == 1;
            let dies = self.reads.of(i).iter().filter(last).count() as i32;
            let born = self.writes.of(i).len() as i32;
            let new = |a: &&u32| !address.contains(a);
            let loads = self.addresses.of(i).iter().filter(new).count() as i32;
            let cost = born - dies + 2 * loads;
            if cost < best.0 {
                best = (cost, k);
            }
        }
        best.1
    }

    /// Packs `from..to` from the end: the one with the highest position whose users all stand
    /// already.
    fn late(&self, from: u32, to: u32, live: &mut [u32]) -> Vec<PackId> {
        let mut users = self.users[from as usize..to as usize].to_vec();
        let mut ready: Vec<u32> = (from..to)
            .filter(|&i| users[(i - from) as usize] == 0)
            .collect();
        ready.sort_unstable_by_key(|&i| (self.rank[i as usize], i));
        let mut out = Vec::with_capacity((to - from) as usize);
        while !ready.is_empty() {
            let i = ready.remove(self.best_late(&ready, live));
            for &w in self.writes.of(i) {
                live[w as usize] = 0;
            }
            for &w in self.reads.of(i) {
                live[(w & !LIVES_ON) as usize] = 1;
            }
            out.push(self.packs[i as usize]);
            for &j in self.preds.of(i) {
                let left = &mut users[(j - from) as usize];
                *left -= 1;
                if *left == 0 {
                    let key = (self.rank[j as usize], j);
                    let place = ready.partition_point(|&x| (self.rank[x as usize], x) < key);
                    ready.insert(place, j);
                }
            }
        }
        for &w in self.reads_of(from, to) {
            live[(w & !LIVES_ON) as usize] = 0;
        }
        out.reverse();
        out
    }

    /// The place in `ready` of the pack that leaves fewest webs live in front of it.
    #[inline]
    fn best_late(&self, ready: &[u32], live: &[u32]) -> usize {
        if ready.len() == 1 {
            return 0;
        }
        let mut best = (i32::MAX, 0);
        for (k, &i) in ready.iter().enumerate().rev().take(READY) {
            let cost = self.born_before(i, live);
            if cost < best.0 {
                best = (cost, k);
            }
        }
        best.1
    }

    /// How many more webs are live in front of pack `i` than behind it.
    #[inline]
    fn born_before(&self, i: u32, live: &[u32]) -> i32 {
        // Going backwards, reads are born and writes die.
        let mut cost = 0;
        for &w in self.reads.of(i) {
            cost += i32::from(w & LIVES_ON == 0 && live[w as usize] == 0);
        }
        for &w in self.writes.of(i) {
            cost -= i32::from(live[w as usize] != 0);
        }
        cost
    }

    /// The packs of each block by levels: from node to node, first its fetches and kills, then its
    /// arithmetic. Such an order has no more texture indirections than the levels demand.
    pub fn by_levels(&mut self, p: &Packing, levels: &Levels, slack: Slack) -> Vec<Vec<PackId>> {
        let mut state = std::mem::take(&mut self.state);
        let mut out = Vec::with_capacity(self.starts.len());
        for (b, w) in self.starts.windows(2).enumerate() {
            let start = levels.starts.get(b).copied().unwrap_or(0);
            let nodes = Nodes {
                scheduler: self,
                p,
                levels,
                start,
                slack,
            };
            out.push(nodes.order(w[0], w[1], &mut state));
        }
        self.state = state;
        out
    }

    /// Packs that must stand behind each of `from..to`, by number less `from`.
    fn succs(&self, from: u32, to: u32) -> Lists {
        let n = (to - from) as usize;
        let mut starts = vec![0; n + 1];
        let mut total = 0;
        for (start, &count) in starts
            .iter_mut()
            .zip(&self.users[from as usize..to as usize])
        {
            total += count;
            *start = total;
        }
        starts[n] = total;
        let mut items = vec![0; total as usize];
        for i in (from..to).rev() {
            for &j in self.preds.of(i) {
                let at = &mut starts[(j - from) as usize];
                *at -= 1;
                items[*at as usize] = i;
            }
        }
        Lists { starts, items }
    }

    /// What packs `from..to` read.
    fn reads_of(&self, from: u32, to: u32) -> &[u32] {
        let starts = &self.reads.starts;
        &self.reads.items[starts[from as usize] as usize..starts[to as usize] as usize]
    }
}

/// The order of a block by levels, made from its end.
struct Nodes<'a> {
    scheduler: &'a Scheduler,
    p: &'a Packing,
    levels: &'a Levels,
    /// The node that is open where the block begins.
    start: u32,
    slack: Slack,
}

/// What an order by levels has not placed yet.
struct Rest {
    /// Packs whose users all stand, sorted by rank.
    ready: Vec<u32>,
    /// Users that do not stand yet, by number less the first.
    users: Vec<u32>,
    out: Vec<PackId>,
}

impl Nodes<'_> {
    /// Packs `from..to`.
    fn order(&self, from: u32, to: u32, live: &mut [u32]) -> Vec<PackId> {
        let s = self.scheduler;
        let users = s.users[from as usize..to as usize].to_vec();
        let mut rest = Rest {
            ready: (from..to)
                .filter(|&i| users[(i - from) as usize] == 0)
                .collect(),
            users,
            out: Vec::with_capacity((to - from) as usize),
        };
        rest.ready
            .sort_unstable_by_key(|&i| (s.rank[i as usize], i));
        let highest = (from..to).map(|i| self.level(i)).max().unwrap_or(0);
        for node in (self.start..=highest.max(self.start)).rev() {
            for fetches in [false, true] {
                self.phase(node, fetches, from, &mut rest, live);
            }
        }
        for &w in s.reads_of(from, to) {
            live[(w & !LIVES_ON) as usize] = 0;
        }
        rest.out.reverse();
        rest.out
    }

    fn level(&self, i: u32) -> u32 {
        self.levels.earliest[self.scheduler.packs[i as usize] as usize]
    }

    fn is_fetch(&self, i: u32) -> bool {
        self.p.fetch(self.scheduler.packs[i as usize]) != Fetch::No
    }

    /// The fetches of a node, or its arithmetic: what must stand there, and what may and had better.
    fn phase(&self, node: u32, fetches: bool, from: u32, rest: &mut Rest, live: &mut [u32]) {
        let s = self.scheduler;
        loop {
            let mut best: Option<(bool, i32, usize)> = None;
            let mut must_wait = false;
            let mut looked = 0;
            for (k, &i) in rest.ready.iter().enumerate().rev() {
                if self.is_fetch(i) != fetches || self.level(i) > node {
                    continue;
                }
                let forced = self.level(i) == node;
                looked += 1;
                if looked > READY && (must_wait || !forced) {
                    continue;
                }
                must_wait |= forced;
                let cost = s.born_before(i, live);
                if best.is_none_or(|b| cost < b.1) {
                    best = Some((forced, cost, k));
                }
            }
            let Some((forced, cost, k)) = best else {
                return;
            };
            let welcome = match self.slack {
                Slack::Level => cost <= 0,
                Slack::Fewer => cost < 0,
                Slack::Fetches => fetches,
                Slack::Nothing => false,
            };
            let k = if forced || welcome {
                k
            } else if must_wait && matches!(self.slack, Slack::Level | Slack::Fewer) {
                // Something that must stand here makes room for more by standing behind.
                k
            } else if must_wait {
                let at = |k: &usize| {
                    let i = rest.ready[*k];
                    self.is_fetch(i) == fetches && self.level(i) == node
                };
                let mine = (0..rest.ready.len()).rev().filter(at);
                let cheapest = mine.min_by_key(|&k| s.born_before(rest.ready[k], live));
                cheapest.unwrap_or(k)
            } else {
                return;
            };
            self.place(k, from, rest, live);
        }
    }

    /// Places the ready pack at `k` in front of what stands.
    fn place(&self, k: usize, from: u32, rest: &mut Rest, live: &mut [u32]) {
        let s = self.scheduler;
        let i = rest.ready.remove(k);
        for &w in s.writes.of(i) {
            live[w as usize] = 0;
        }
        for &w in s.reads.of(i) {
            live[(w & !LIVES_ON) as usize] = 1;
        }
        rest.out.push(s.packs[i as usize]);
        for &j in s.preds.of(i) {
            let left = &mut rest.users[(j - from) as usize];
            *left -= 1;
            if *left == 0 {
                let key = (s.rank[j as usize], j);
                let place = rest
                    .ready
                    .partition_point(|&x| (s.rank[x as usize], x) < key);
                rest.ready.insert(place, j);
            }
        }
    }
}

/// Ready packs looked at in one step: enough to find the good ones, bounded for blocks where
/// thousands are ready.
const READY: usize = 48;

/// Collects dependences.
struct Build<'a> {
    p: &'a Packing,
    out: Scheduler,
    /// The number of each pack; [`NONE`] for dead ones and those of blocks to come.
    number: Vec<u32>,
    /// The last pack that each pack was noted to stand before.
    before: Vec<u32>,
    /// The last pack that was noted to read each web.
    reader: Vec<u32>,
    /// The last pack that was noted to write each web.
    writer: Vec<u32>,
    /// Whether anything is addressed relatively.
    relative: bool,
}

impl<'a> Build<'a> {
    fn new(p: &'a Packing) -> Build<'a> {
        let (n, webs) = (p.packs.len(), p.lir.ents as usize);
        let mut starts = Vec::with_capacity(p.blocks.len() + 1);
        starts.push(0);
        Build {
            p,
            out: Scheduler {
                packs: Vec::with_capacity(n),
                starts,
                preds: Lists::with_capacity(n, p.lir.opnds.len()),
                users: Vec::with_capacity(n),
                reads: Lists::with_capacity(n, p.lir.opnds.len()),
                writes: Lists::with_capacity(n, webs),
                addresses: Lists::with_capacity(0, 0),
                rank: Vec::with_capacity(n),
                state: vec![0; webs],
            },
            number: vec![NONE; n],
            before: vec![NONE; n],
            reader: vec![NONE; webs],
            writer: vec![NONE; webs],
            relative: !p.lir.addrs.is_empty() || p.lir.exts.iter().any(|x| !x.addrs.is_empty()),
        }
    }

    /// The packs of block `b`.
    fn block(&mut self, b: usize) {
        let p = self.p;
        let from = self.out.packs.len();
        for &q in &p.blocks[b] {
            if !p.packs[q as usize].dead {
                self.number[q as usize] = self.out.packs.len() as u32;
                self.out.packs.push(q);
            }
        }
        let to = self.out.packs.len();
        self.out.users.resize(to, 0);
        for i in from..to {
            let pack = &p.packs[self.out.packs[i] as usize];
            self.pack(i as u32, from as u32, pack, p.lir.blocks[b].end);
        }
        self.out.starts.push(to as u32);
    }

    /// Pack `i` of the block with the packs from `from` on and positions up to `end`.
    fn pack(&mut self, i: u32, from: u32, pack: &Pack, end: u32) {
        let mut rank = 0;
        for &n in nodes(pack) {
            rank = rank.max(self.p.lir.nodes[n as usize].pos);
            self.node_preds(i, from, n);
            self.node_reads(i, n, end);
        }
        for &n in nodes(pack) {
            self.node_writes(i, n);
        }
        if self.relative {
            addresses(self.p, pack, &mut self.out.addresses);
            self.out.addresses.end_list();
        }
        self.out.rank.push(rank);
        self.out.preds.end_list();
        self.out.reads.end_list();
        self.out.writes.end_list();
    }

    #[inline]
    fn node_preds(&mut self, i: u32, from: u32, n: NodeId) {
        for &d in self.p.preds[n as usize].as_slice() {
            let j = self.number[self.p.pack_of[d as usize] as usize];
            if j == NONE || j < from || j == i {
                continue;
            }
            if std::mem::replace(&mut self.before[j as usize], i) != i {
                self.out.preds.items.push(j);
                self.out.users[j as usize] += 1;
            }
        }
    }

    #[inline]
    fn node_reads(&mut self, i: u32, n: NodeId, end: u32) {
        let p = self.p;
        let (reader, items) = (&mut self.reader, &mut self.out.reads.items);
        let mut note = |e| {
            let w = p.webs.find(e);
            if std::mem::replace(&mut reader[w as usize], i) != i {
                items.push(w | if lives_on(p, w, end) { LIVES_ON } else { 0 });
            }
        };
        let node = &p.lir.nodes[n as usize];
        if self.relative {
            p.lir.reads(node, &mut note);
            return;
        }
        for o in p.lir.words(node) {
            if let Ref::Ent(e) = o.r {
                note(e);
            }
        }
    }

    #[inline]
    fn node_writes(&mut self, i: u32, n: NodeId) {
        let p = self.p;
        for e in p.lir.nodes[n as usize].dsts() {
            let w = p.webs.find(e);
            // All webs of a class are of one kind.
            if p.classes[w as usize].kind != Kind::Temp || self.reader[w as usize] == i {
                continue;
            }
            if std::mem::replace(&mut self.writer[w as usize], i) != i {
                self.out.writes.items.push(w);
            }
        }
    }
}

/// Whether a web is live in the block that ends at position `end`, up to its end.
#[inline]
fn lives_on(p: &Packing, web: u32, end: u32) -> bool {
    let Some(segs) = p.webs.segs.get(web as usize) else {
        return false;
    };
    segs.as_slice().iter().any(|s| s.0 < end && s.1 >= end - 1)
}

/// The nodes of a pack, its store among them.
#[inline]
fn nodes(pack: &Pack) -> impl Iterator<Item = &NodeId> {
    let store = (pack.store != NONE).then_some(&pack.store);
    pack.nodes.as_slice().iter().chain(store)
}

/// Adds the address operands of a pack, as numbers of the words they come from, to the list at hand.
fn addresses(p: &Packing, pack: &Pack, out: &mut Lists) {
    let from = out.items.len();
    let mut note = |r: Ref| {
        if let Ref::Ent(e) = r
            && !out.items[from..].contains(&e)
        {
            out.items.push(e);
        }
    };
    for &n in nodes(pack) {
        let node = &p.lir.nodes[n as usize];
        for o in p.lir.words(node) {
            if let Ref::Ext(x, _) = o.r {
                p.lir.exts[x as usize].addrs.iter().for_each(|a| note(a.r));
            }
        }
        p.lir.node_addrs(node).iter().for_each(|a| note(a.1.r));
    }
}
