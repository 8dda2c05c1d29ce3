//! First packs, and what operands demand of registers.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tgsi::{Opcode, Shape, Ty};
use tgsi_ir::Function;

use super::{Home, Kind, Pack, PackId, PackOptions, Packing, narrows};
use crate::lir::{Ent, NONE, Node, NodeId, Opnd, Ref, What};

impl Packing {
    /// Makes MOV nodes of the edge copies that did not vanish, swaps broken by a word between.
    pub(super) fn edge_copies(&mut self, whole: &[i32]) {
        for b in 0..self.lir.blocks.len() {
            let mut moves: Vec<(Ent, Ref)> = Vec::new();
            for m in &self.lir.blocks[b].moves {
                let same =
                    matches!(m.src, Ref::Ent(s) if self.webs.find(s) == self.webs.find(m.dst));
                let whole = self.lir.output[m.dst as usize].is_some_and(|o| whole.contains(&o.0));
                if matches!(m.src, Ref::Undef(_)) && whole {
                    // Any word completes the register.
                    moves.push((m.dst, Ref::Imm(0)));
                } else if !same && !matches!(m.src, Ref::Undef(_)) {
                    moves.push((m.dst, m.src));
                }
            }
            if moves.is_empty() {
                continue;
            }
            let end = self.lir.blocks[b].end;
            let like = self.lir.blocks[b].nodes.last().copied();
            let like = like.map_or(Node::blank(What::Alu(Opcode::Mov)), |n| {
                self.lir.nodes[n as usize]
            });
            // Who writes each web.
            let writer: FxHashMap<u32, usize> = moves
                .iter()
                .enumerate()
                .map(|(i, m)| (self.webs.find(m.0), i))
                .collect();
            let mut broken = vec![false; moves.len()];
            for i in 0..moves.len() {
                // Follow "my source is overwritten by" until it ends or comes back. The way may
                // lead into a cycle of other moves, which their own turn breaks.
                let mut at = i;
                let mut steps = 0;
                let cycle = loop {
                    if steps > moves.len() {
                        break false;
                    }
                    steps += 1;
                    let Ref::Ent(s) = moves[at].1 else {
                        break false;
                    };
                    let Some(&next) = writer.get(&self.webs.find(s)) else {
                        break false;
                    };
                    if broken[next] {
                        break false;
                    }
                    if next == i {
                        break true;
                    }
                    if next < i {
                        break false;
                    }
                    at = next;
                };
                broken[i] = cycle;
            }
            for (i, &(dst, src)) in moves.iter().enumerate() {
                let mut src = src;
                if broken[i] {
                    let t = self.fresh(NONE, self.lir.lane[dst as usize]);
                    let node = self.mov(b as u32, end - 3, t, &like);
                    let id = self.add_node(node, &[plain(src)]);
                    self.lir.def[t as usize] = id;
                    self.blocks[b].push(self.pack_of[id as usize]);
                    src = Ref::Ent(t);
                }
                let node = self.mov(b as u32, end - 2, dst, &like);
                let id = self.add_node(node, &[plain(src)]);
                self.blocks[b].push(self.pack_of[id as usize]);
            }
            self.join_whole(b, whole);
        }
    }

    /// Makes one pack of the copies to each output that is written whole.
    fn join_whole(&mut self, b: usize, whole: &[i32]) {
        for &reg in whole {
            let list: SmallVec<[PackId; 4]> = self.blocks[b]
                .iter()
                .copied()
                .filter(|&p| {
                    let n = self.packs[p as usize].nodes[0];
                    let dst = self.lir.nodes[n as usize].dst;
                    self.lir
                        .output
                        .get(dst as usize)
                        .copied()
                        .flatten()
                        .is_some_and(|o| o.0 == reg)
                })
                .collect();
            let Some((&first, rest)) = list.split_first() else {
                continue;
            };
            self.packs[first as usize].rigid = true;
            for &q in rest {
                let n = self.packs[q as usize].nodes[0];
                self.packs[first as usize].nodes.push(n);
                self.pack_of[n as usize] = first;
                self.packs[q as usize].nodes.clear();
                self.packs[q as usize].dead = true;
            }
            self.blocks[b].retain(|p| !rest.contains(p));
        }
    }

    /// Brings the words of a rigid pack into one register.
    fn gather_lanes(&mut self, p: PackId) {
        let nodes = self.packs[p as usize].nodes.clone();
        let words = self.slot(&self.packs[p as usize], 0);
        let mut hosts: SmallVec<[Option<u32>; 2]> = SmallVec::new();
        hosts.extend(self.hosts(&words).into_iter().map(Some));
        hosts.push(None);
        for host in hosts {
            let mark = self.log.len();
            let mut class = host;
            let mut made: SmallVec<[(usize, Ent); 4]> = SmallVec::new();
            let mut ok = true;
            for (i, o) in words.iter().enumerate() {
                if class.is_some_and(|c| self.home(o.r) == Home::Class(self.class_root(c)))
                    && !o.neg
                    && !o.abs
                {
                    continue;
                }
                let e = self.fresh(NONE, i as u8);
                let c = self.class(e);
                let root = class.map(|c| self.class_root(c));
                ok = ok && root.is_none_or(|h| self.unite(h, c));
                class = Some(root.unwrap_or(c));
                made.push((i, e));
            }
            if !ok {
                self.undo(mark);
                continue;
            }
            for (i, e) in made {
                let node = self.lir.nodes[nodes[i] as usize];
                let mov = self.mov(node.block, node.pos - 1, e, &node);
                let id = self.add_node(mov, &[Opnd { pos: 0, ..words[i] }]);
                self.lir.def[e as usize] = id;
                self.blocks[node.block as usize].push(self.pack_of[id as usize]);
                self.lir.opnds[node.first as usize] = plain(Ref::Ent(e));
            }
            return;
        }
    }

    /// One pack for the lanes of each source instruction.
    pub(super) fn initial(&mut self) {
        self.packs.reserve(self.lir.nodes.len());
        let blocks = self.lir.blocks.clone();
        let mut keys: Vec<(u32, u64)> = Vec::new();
        for (b, block) in blocks.iter().enumerate() {
            let first = self.packs.len();
            keys.clear();
            for &n in &block.nodes {
                // Lanes that cannot be packed have keys of their own.
                let inst = self.lir.nodes[n as usize].hint.inst;
                let key = if self.packable(n) {
                    (inst, self.key(n))
                } else {
                    (u32::MAX, u64::from(n))
                };
                let p = self.lane_pack(first, &keys, key, n);
                self.pack_of[n as usize] = p;
                if (p as usize) < self.packs.len() {
                    self.packs[p as usize].nodes.push(n);
                    continue;
                }
                keys.push(key);
                self.packs.push(Pack {
                    block: b as u32,
                    nodes: SmallVec::from_slice(&[n]),
                    store: NONE,
                    dead: false,
                    pos: self.lir.nodes[n as usize].pos,
                    rigid: false,
                });
            }
            // Edge copies stand behind everything.
            let mut list: Vec<PackId> =
                Vec::with_capacity(self.packs.len() - first + self.blocks[b].len());
            list.extend(first as PackId..self.packs.len() as PackId);
            list.append(&mut self.blocks[b]);
            self.blocks[b] = list;
        }
    }

    /// The pack since `first` that a node is a lane of: one of the last few with its source
    /// instruction and key; a number not used yet if there is none. `keys` are those of the packs.
    fn lane_pack(&self, first: usize, keys: &[(u32, u64)], key: (u32, u64), n: NodeId) -> PackId {
        /// Instructions whose lanes may be interleaved.
        const RECENT: usize = 6;
        let none = self.packs.len() as PackId;
        let from = keys.len().saturating_sub(RECENT);
        match keys[from..].iter().rposition(|&k| k == key) {
            Some(i) if self.room((first + from + i) as PackId, n) => (first + from + i) as PackId,
            _ => none,
        }
    }

    /// Whether a lane fits into a pack by count and destination.
    fn room(&self, p: PackId, n: NodeId) -> bool {
        let pack = &self.packs[p as usize];
        let width = self.lir.nodes[n as usize].dst_count as usize;
        if (pack.nodes.len() + 1) * width > 4 {
            return false;
        }
        let web = |n: NodeId| self.webs.find(self.lir.nodes[n as usize].dst);
        // A lane may not read what an earlier lane of the pack computes.
        let reads_lane = {
            let mut found = false;
            self.lir.reads(&self.lir.nodes[n as usize], &mut |e| {
                found |= pack.nodes.contains(&self.lir.def[e as usize]);
            });
            found
        };
        !reads_lane && pack.nodes.iter().all(|&m| web(m) != web(n))
    }

    /// Unites classes as packs, whole instructions and operands demand.
    pub(super) fn constrain(&mut self, f: &Function, options: &PackOptions<'_>) {
        for e in 0..self.lir.ents {
            let w = self.webs.find(e);
            let partner = self.webs.partner[w as usize];
            if partner != NONE {
                let (a, b) = (self.class(w), self.class(partner));
                if !self.unite(a, b) {
                    // One half is an output and the other none, say: what needs the pair makes copies.
                    let other = self.webs.find(partner);
                    self.webs.partner[w as usize] = NONE;
                    self.webs.partner[other as usize] = NONE;
                    self.webs.high[w as usize] = false;
                    self.webs.high[other as usize] = false;
                }
            }
        }
        let all: Vec<PackId> = self.blocks.iter().flatten().copied().collect();
        let mut read = None;
        for &p in &all {
            let n = self.packs[p as usize].nodes[0];
            let rigid = match self.lir.nodes[n as usize].what {
                What::Multi(_) => true,
                What::Alu(op) => narrows(op),
            };
            let wide = self.lir.nodes[n as usize].dst_count > 1;
            if rigid || wide {
                let mut i = 0;
                while let Some(&n) = self.packs[p as usize].nodes.get(i) {
                    self.unite_results(n, &mut read);
                    i += 1;
                }
            }
        }
        for &p in &all {
            self.unite_lanes(p);
        }
        // Lanes that did not fit are packs of their own now, with demands too.
        let all: Vec<PackId> = self.blocks.iter().flatten().copied().collect();
        for &p in &all {
            let first = self.packs[p as usize].nodes[0];
            let before: SmallVec<[Opnd; 8]> =
                SmallVec::from_slice(self.lir.words(&self.lir.nodes[first as usize]));
            let mut i = 0;
            // Packs may grow in number while lanes are detached, not in lanes.
            while let Some(&n) = self.packs[p as usize].nodes.get(i) {
                if i == 0 || !self.is_dot(n) {
                    self.demand(f, n, options);
                } else {
                    self.read_like(n, first, &before);
                }
                i += 1;
            }
        }
        let all: Vec<PackId> = self.blocks.iter().flatten().copied().collect();
        for &p in &all {
            self.split(p);
        }
        for b in 0..self.blocks.len() {
            let packs = &self.packs;
            self.blocks[b].sort_by_key(|&p| (packs[p as usize].pos, p));
        }
    }

    /// All results of a whole instruction in one register; else it gets words of its own and copies.
    fn unite_results(&mut self, n: NodeId, read: &mut Option<FxHashSet<u32>>) {
        // Two destinations are two registers.
        for d in 0..2u8 {
            let node = &self.lir.nodes[n as usize];
            let words: SmallVec<[Ref; 4]> = if node.chans == 0 {
                if d == 1 {
                    break;
                }
                node.dsts().map(Ref::Ent).collect()
            } else {
                node.results()
                    .filter(|x| x.1 / 4 == d)
                    .map(|x| Ref::Ent(x.0))
                    .collect()
            };
            let mut webs: SmallVec<[u32; 4]> = words.iter().map(|r| self.home_web(*r)).collect();
            let count = webs.len();
            webs.sort_unstable();
            webs.dedup();
            // The halves of a 64-bit result are a pair still, low before high.
            let split = node.chans == 0 && words.len() == 2 && !self.is_pair(words[0], words[1]);
            if webs.len() < count || split || words.len() > 1 && self.unite_refs(&words).is_none() {
                let read = read.get_or_insert_with(|| self.read_webs());
                self.detach(n, read);
                return;
            }
        }
    }

    /// Whether two words are the halves of one pair.
    fn is_pair(&self, lo: Ref, hi: Ref) -> bool {
        let (l, h) = (self.home_web(lo), self.home_web(hi));
        let partner = self.webs.partner.get(l as usize).copied().unwrap_or(NONE);
        partner != NONE && self.webs.find(partner) == h && !self.webs.high[l as usize]
    }

    fn home_web(&self, r: Ref) -> u32 {
        match r {
            Ref::Ent(e) => self.webs.find(e),
            _ => NONE,
        }
    }

    /// The webs that an instruction, a condition or the world behind the program reads.
    fn read_webs(&self) -> FxHashSet<u32> {
        let mut read = FxHashSet::default();
        let mut see = |e: Ent| {
            read.insert(self.webs.find(e));
        };
        for node in &self.lir.nodes {
            self.lir.reads(node, &mut see);
        }
        for c in self.lir.blocks.iter().filter_map(|b| b.cond) {
            self.lir.ref_reads(c, &mut see);
        }
        for (e, output) in self.lir.output.iter().enumerate() {
            if output.is_some() {
                see(e as Ent);
            }
        }
        read
    }

    /// Gives a node fresh result words and copies those in `read` to the old ones behind it.
    fn detach(&mut self, n: NodeId, read: &FxHashSet<u32>) {
        let node = self.lir.nodes[n as usize];
        let first = self.lir.ents;
        let chans: SmallVec<[u8; 8]> = node.results().map(|x| x.1).collect();
        for (i, old) in node.dsts().enumerate() {
            let e = self.fresh(n, self.lir.lane[old as usize]);
            self.webs.pin[e as usize] = chans.get(i).map(|c| c & 3);
        }
        if node.chans == 0 && node.dst_count == 2 {
            self.pair_up(first, first + 1);
        }
        for d in 0..2u8 {
            let part: SmallVec<[Ref; 4]> = (0..u32::from(node.dst_count))
                .filter(|&i| chans.get(i as usize).map_or(0, |c| c / 4) == d)
                .map(|i| Ref::Ent(first + i))
                .collect();
            self.unite_refs(&part);
        }
        for (i, old) in node.dsts().enumerate() {
            if !read.contains(&self.webs.find(old)) {
                continue;
            }
            let copy = self.mov(node.block, node.pos + 1, old, &node);
            let id = self.add_node(copy, &[plain(Ref::Ent(first + i as u32))]);
            self.blocks[node.block as usize].push(self.pack_of[id as usize]);
            self.lir.def[old as usize] = id;
        }
        self.lir.nodes[n as usize].dst = first;
    }

    fn pair_up(&mut self, lo: Ent, hi: Ent) {
        let (l, h) = (self.webs.find(lo), self.webs.find(hi));
        self.webs.partner[l as usize] = hi;
        self.webs.partner[h as usize] = lo;
        self.webs.high[l as usize] = false;
        self.webs.high[h as usize] = true;
    }

    /// The results of a pack in one register; lanes that do not fit become packs of their own.
    fn unite_lanes(&mut self, p: PackId) {
        if self.packs[p as usize].nodes.len() < 2 {
            return;
        }
        let mark = self.log.len();
        let mut home = Home::Any;
        for i in 0..self.packs[p as usize].nodes.len() {
            let n = self.packs[p as usize].nodes[i];
            let next = Home::Class(self.class(self.lir.nodes[n as usize].dst));
            match self.join_homes(home, next) {
                Some(h) => home = h,
                None => {
                    self.undo(mark);
                    home = Home::Any;
                    break;
                }
            }
        }
        if home != Home::Any {
            return;
        }
        self.regroup(p, |s, group, b| {
            let x = Ref::Ent(s.lir.nodes[group[0] as usize].dst);
            let y = Ref::Ent(s.lir.nodes[b as usize].dst);
            s.unite_refs(&[x, y]).is_some()
        });
    }

    /// Splits a pack into groups of lanes that `join` accepts one after the other.
    fn regroup(&mut self, p: PackId, mut join: impl FnMut(&mut Self, &[NodeId], NodeId) -> bool) {
        let nodes = std::mem::take(&mut self.packs[p as usize].nodes);
        let mut groups: SmallVec<[SmallVec<[NodeId; 4]>; 4]> = SmallVec::new();
        for n in nodes {
            let at = (0..groups.len()).find(|&g| join(self, &groups[g], n));
            match at {
                Some(g) => groups[g].push(n),
                None => groups.push(SmallVec::from_slice(&[n])),
            }
        }
        let (block, store) = (self.packs[p as usize].block, self.packs[p as usize].store);
        for (i, g) in groups.into_iter().enumerate() {
            let pos = g
                .iter()
                .map(|&n| self.lir.nodes[n as usize].pos)
                .min()
                .unwrap_or(0);
            if i == 0 {
                self.packs[p as usize].nodes = g;
                self.packs[p as usize].pos = pos;
                continue;
            }
            let id = self.packs.len() as PackId;
            for &n in &g {
                self.pack_of[n as usize] = id;
            }
            self.packs.push(Pack {
                block,
                nodes: g,
                store,
                dead: false,
                pos,
                rigid: false,
            });
            self.blocks[block as usize].push(id);
        }
    }

    /// Counts the operands of each block that read each indexed register.
    pub(super) fn count_indexed(&mut self) {
        if self.lir.exts.iter().all(|x| x.addrs.is_empty()) {
            return;
        }
        for (n, node) in self.lir.nodes.iter().enumerate() {
            for k in 0..node.sources as usize {
                if let Some(x) = self.indexed_ext(n as NodeId, k) {
                    *self.indexed.entry((node.block, x)).or_default() += 1;
                }
            }
        }
    }

    /// The indexed register that source `k` of a node reads.
    fn indexed_ext(&self, n: NodeId, k: usize) -> Option<u32> {
        self.source(n, k).iter().find_map(|o| match o.r {
            Ref::Ext(x, _) if !self.lir.exts[x as usize].addrs.is_empty() => Some(x),
            _ => None,
        })
    }

    /// Copies indexed registers where a node would need more addresses than there are, or where
    /// many operands read the same one.
    fn limit_addresses(&mut self, n: NodeId, options: &PackOptions<'_>) {
        let node = self.lir.nodes[n as usize];
        let mut held: SmallVec<[crate::lir::Address; 4]> = SmallVec::new();
        for a in self.lir.node_addrs(&node) {
            if !held.contains(&a.1) {
                held.push(a.1);
            }
        }
        let moves = matches!(node.what, What::Alu(Opcode::Mov)) && !node.sat;
        for k in 0..node.sources as usize {
            let Some(x) = self.indexed_ext(n, k) else {
                continue;
            };
            let addrs = self.lir.exts[x as usize].addrs.clone();
            let new = addrs.iter().filter(|a| !held.contains(a)).count();
            let often = self
                .indexed
                .get(&(node.block, x))
                .is_some_and(|&c| c > options.indexed_reads);
            if held.len() + new > options.addresses as usize || often && !moves {
                let pair = node.lens[k] == 2
                    && matches!(node.what, What::Alu(op) if !matches!(op.info().shape, Shape::Dot(_)));
                self.gather_plain(n, k, pair);
            } else {
                held.extend(
                    addrs
                        .into_iter()
                        .filter(|a| !held.contains(a))
                        .collect::<SmallVec<[_; 2]>>(),
                );
            }
        }
    }

    /// Whether a node is a lane of a dot product: all lanes of its pack read the same words.
    fn is_dot(&self, n: NodeId) -> bool {
        let dot = |op: Opcode| matches!(op.info().shape, Shape::Dot(_));
        matches!(self.lir.nodes[n as usize].what, What::Alu(op) if dot(op))
    }

    /// Lets a lane read what the first one of its pack reads now: copies of the words `before`.
    fn read_like(&mut self, n: NodeId, first: NodeId, before: &[Opnd]) {
        let (like, node) = (self.lir.nodes[first as usize], self.lir.nodes[n as usize]);
        debug_assert_eq!(self.lir.words(&node), before, "lanes of one key");
        let from = like.first as usize;
        let words = from..from + like.word_count();
        self.lir.opnds.copy_within(words, node.first as usize);
    }

    /// Operands that must stand in one register whatever it costs.
    fn demand(&mut self, f: &Function, n: NodeId, options: &PackOptions<'_>) {
        if !self.indexed.is_empty() {
            self.limit_addresses(n, options);
        }
        let node = self.lir.nodes[n as usize];
        let (vector, multi) = match node.what {
            // Lanes of single words demand nothing: their pack can be split.
            What::Alu(_) if node.lens[..node.sources as usize].iter().all(|&l| l == 1) => return,
            What::Alu(op) => (matches!(op.info().shape, Shape::Dot(_)), None),
            What::Multi(v) => (true, f.as_multi(v)),
        };
        let wide_whole = multi.is_some_and(|m| m.inst.op.info().src_ty.iter().any(|t| t.is_wide()));
        for k in 0..node.sources as usize {
            let words: SmallVec<[Opnd; 4]> = self.source(n, k).iter().copied().collect();
            if words.is_empty() {
                continue;
            }
            let pair = !vector && words.len() == 2 || wide_whole && words.len().is_multiple_of(2);
            let uniform = words
                .iter()
                .all(|o| (o.neg, o.abs) == (words[0].neg, words[0].abs) || is_wild(o));
            let mut fits = uniform
                && self
                    .unite_refs(&words.iter().map(|o| o.r).collect::<SmallVec<[Ref; 4]>>())
                    .is_some();
            if fits && pair {
                fits = words.chunks(2).all(|w| self.pair_fits(w[0].r, w[1].r));
            }
            if fits && options.virgl && multi.is_some_and(|m| takes_no_immediate(m.inst.op, k)) {
                fits = !words.iter().any(|o| matches!(o.r, Ref::Imm(_)));
            }
            if !fits {
                self.gather_plain(n, k, pair);
            }
            let coordinate = |m: &tgsi_ir::Multi| k == 0 && m.inst.op.info().shape == Shape::Tex;
            if options.plain_coordinates && multi.is_some_and(coordinate) {
                self.straighten(n, k);
            }
        }
    }

    /// Pins the words of a source to the channels in which they are read, if nothing forbids it.
    fn straighten(&mut self, n: NodeId, k: usize) {
        let words: SmallVec<[Opnd; 8]> = self.source(n, k).iter().copied().collect();
        let mut pinned: SmallVec<[u32; 4]> = SmallVec::new();
        let mut ok = true;
        for o in &words {
            let Ref::Ent(e) = o.r else { continue };
            let web = self.webs.find(e);
            match self.webs.pin[web as usize] {
                None => {
                    self.webs.pin[web as usize] = Some(o.pos & 3);
                    pinned.push(web);
                }
                Some(c) => ok &= c == o.pos & 3,
            }
            let class = self.classes[self.class(e) as usize];
            ok = ok && self.feasible(class.webs());
        }
        if !ok {
            for web in pinned {
                self.webs.pin[web as usize] = None;
            }
        }
    }

    /// Whether two words stand, or can be made to stand, side by side as a 64-bit operand.
    fn pair_fits(&mut self, lo: Ref, hi: Ref) -> bool {
        match (lo, hi) {
            (Ref::Imm(_), Ref::Imm(_)) => true,
            (Ref::Ext(x, c), Ref::Ext(y, d)) => x == y && c & 1 == 0 && d == c + 1,
            (Ref::Ent(l), Ref::Ent(h)) => {
                let (l, h) = (self.webs.find(l), self.webs.find(h));
                let (p, q) = (self.webs.partner[l as usize], self.webs.partner[h as usize]);
                if p != NONE || q != NONE {
                    return p != NONE && self.webs.find(p) == h && !self.webs.high[l as usize];
                }
                if l == h || self.class(l) != self.class(h) {
                    return false;
                }
                self.pair_up(l, h);
                let class = self.class(l);
                let all = self.classes[class as usize];
                if self.feasible(all.webs()) {
                    return true;
                }
                self.webs.partner[l as usize] = NONE;
                self.webs.partner[h as usize] = NONE;
                self.webs.high[h as usize] = false;
                false
            }
            _ => false,
        }
    }

    /// As [`Self::gather`], but modifiers of integers and of doubles stay where they are: those of a MOV
    /// would be of floats.
    fn gather_plain(&mut self, n: NodeId, k: usize, pair: bool) {
        let node = self.lir.nodes[n as usize];
        let float = match node.what {
            What::Alu(op) => matches!(op.info().src_ty.get(k), None | Some(Ty::F | Ty::Any)),
            What::Multi(_) => true,
        };
        let first = node.first as usize + node.lens[..k].iter().map(|&l| l as usize).sum::<usize>();
        let words = first..first + node.lens[k] as usize;
        let signs = |o: &Opnd| (o.neg, o.abs);
        let Some(wanted) = self.lir.opnds[words.clone()].first().map(signs) else {
            return;
        };
        let alike = self.lir.opnds[words.clone()]
            .iter()
            .all(|o| signs(o) == wanted);
        if float || !alike {
            return self.gather(n, k, pair);
        }
        for o in &mut self.lir.opnds[words.clone()] {
            (o.neg, o.abs) = (false, false);
        }
        self.gather(n, k, pair);
        for o in &mut self.lir.opnds[words] {
            (o.neg, o.abs) = wanted;
        }
    }

    /// Copies words of source `k` so that all stand in one register.
    fn gather(&mut self, n: NodeId, k: usize, pair: bool) {
        let node = self.lir.nodes[n as usize];
        let words: SmallVec<[Opnd; 8]> = self.source(n, k).iter().copied().collect();
        // The register with most of the words receives the others, if it has room.
        let hosts = if pair {
            SmallVec::new()
        } else {
            self.hosts(&words)
        };
        let site = Site { n, k, pair };
        let done = hosts
            .iter()
            .any(|&h| self.gather_into(&node, site, &words, Some(h), true))
            || self.gather_into(&node, site, &words, None, true)
            || self.gather_into(&node, site, &words, None, false);
        debug_assert!(done, "fresh words always fit");
    }

    /// The temporaries that hold some of the words, those with most of them first.
    fn hosts(&self, words: &[Opnd]) -> SmallVec<[u32; 4]> {
        let mut counts: SmallVec<[(usize, u32); 4]> = SmallVec::new();
        for o in words.iter().filter(|o| !o.neg && !o.abs) {
            if let Home::Class(c) = self.home(o.r)
                && self.classes[c as usize].kind == Kind::Temp
            {
                match counts.iter_mut().find(|x| x.1 == c) {
                    Some(x) => x.0 += 1,
                    None => counts.push((1, c)),
                }
            }
        }
        counts.sort_by_key(|x| std::cmp::Reverse(x.0));
        counts.iter().map(|x| x.1).collect()
    }

    fn gather_into(
        &mut self,
        node: &Node,
        site: Site,
        words: &[Opnd],
        host: Option<u32>,
        reuse: bool,
    ) -> bool {
        let Site { n, k, pair } = site;
        // Which words move, each once.
        let stays = |s: &Self, o: &Opnd| {
            !o.neg && !o.abs && host.is_some_and(|h| s.home(o.r) == Home::Class(h)) || is_wild(o)
        };
        let mut made: SmallVec<[(Opnd, Ent); 8]> = SmallVec::new();
        let mark = self.log.len();
        let mut class = host;
        for o in words {
            let same = |x: &(Opnd, Ent)| x.0.r == o.r && x.0.neg == o.neg && x.0.abs == o.abs;
            if !pair && (stays(self, o) || made.iter().any(same)) {
                continue;
            }
            let word = Opnd { pos: 0, ..*o };
            // A copy made for another operand serves here too.
            let old = self
                .copies
                .get(&(node.block, word))
                .cloned()
                .unwrap_or_default();
            let mut reused = None;
            if !pair && reuse {
                for e in old {
                    let c = self.class(e);
                    let earlier = self.lir.nodes[self.lir.def[e as usize] as usize].pos <= node.pos;
                    if earlier && (class.is_none() || class.is_some_and(|h| self.unite(h, c))) {
                        class = Some(class.unwrap_or(c));
                        reused = Some(e);
                        break;
                    }
                }
            }
            let e = match reused {
                Some(e) => e,
                None => {
                    let e = self.fresh(NONE, o.pos & 3);
                    let c = self.class(e);
                    if let Some(h) = class {
                        if !self.unite(h, c) {
                            // No room: start over in a register of its own.
                            self.undo(mark);
                            return false;
                        }
                    } else {
                        class = Some(c);
                    }
                    e
                }
            };
            made.push((Opnd { ..*o }, e));
            class = class.map(|c| self.class_root(c));
        }
        for i in 0..made.len() {
            let (o, e) = made[i];
            if self.lir.def[e as usize] != NONE {
                continue;
            }
            let mov = self.mov(node.block, node.pos - 1, e, node);
            let id = self.add_node(mov, &[Opnd { pos: 0, ..o }]);
            self.lir.def[e as usize] = id;
            self.blocks[node.block as usize].push(self.pack_of[id as usize]);
            let word = Opnd { pos: 0, ..o };
            self.copies.entry((node.block, word)).or_default().push(e);
        }
        if pair {
            for w in made.chunks(2) {
                if let [a, b] = w {
                    self.pair_up(a.1, b.1);
                }
            }
        }
        let first = {
            let node = &self.lir.nodes[n as usize];
            node.first as usize + node.lens[..k].iter().map(|&l| l as usize).sum::<usize>()
        };
        for (i, o) in words.iter().enumerate() {
            let copy = if pair {
                made.get(i).copied()
            } else {
                made.iter()
                    .copied()
                    .find(|x| x.0.r == o.r && x.0.neg == o.neg && x.0.abs == o.abs)
            };
            if let Some((_, e)) = copy {
                self.lir.opnds[first + i] = Opnd {
                    r: Ref::Ent(e),
                    neg: false,
                    abs: false,
                    pos: o.pos,
                };
            }
        }
        true
    }

    pub(super) fn class_root(&self, mut c: u32) -> u32 {
        while self.parent[c as usize] != c {
            c = self.parent[c as usize];
        }
        c
    }

    /// Splits a pack whose operands cannot stand in one register each.
    fn split(&mut self, p: PackId) {
        if self.packs[p as usize].nodes.len() < 2 {
            return;
        }
        let slots = self.lir.nodes[self.packs[p as usize].nodes[0] as usize].sources as usize;
        let created = self.packs.len() as PackId;
        for k in 0..slots {
            let mut parts: SmallVec<[PackId; 4]> = SmallVec::from_slice(&[p]);
            parts.extend(created..self.packs.len() as PackId);
            for at in parts {
                self.split_at(at, k);
            }
        }
    }

    /// Unites the homes of source `k` of all lanes; leaves nothing on failure.
    fn unite_slot(&mut self, p: PackId, k: usize) -> bool {
        let mark = self.log.len();
        let mut home = Home::Any;
        for i in 0..self.packs[p as usize].nodes.len() {
            let n = self.packs[p as usize].nodes[i];
            for j in 0..self.source(n, k).len() {
                let next = self.home(self.source(n, k)[j].r);
                match self.join_homes(home, next) {
                    Some(h) => home = h,
                    None => {
                        self.undo(mark);
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Lets source `k` of a pack read copies that other operands needed, if there are some of all
    /// its words in one register.
    fn use_copies(&mut self, at: PackId, k: usize) -> bool {
        let pack = &self.packs[at as usize];
        let block = pack.block;
        let mut found: SmallVec<[SmallVec<[Ent; 1]>; 4]> = SmallVec::new();
        for &n in &pack.nodes {
            let [o] = self.source(n, k) else { return false };
            let Some(copies) = self.copies.get(&(block, Opnd { pos: 0, ..*o })) else {
                return false;
            };
            let pos = self.lir.nodes[n as usize].pos;
            let earlier = |e: &Ent| self.lir.nodes[self.lir.def[*e as usize] as usize].pos < pos;
            found.push(copies.iter().copied().filter(earlier).collect());
        }
        let with = |s: &Self, list: &[Ent], c: u32| list.iter().copied().find(|&e| s.class(e) == c);
        let home = found[0]
            .iter()
            .map(|&e| self.class(e))
            .find(|&c| found.iter().all(|list| with(self, list, c).is_some()));
        let Some(home) = home else { return false };
        for (i, list) in found.iter().enumerate() {
            let Some(e) = with(self, list, home) else {
                return false;
            };
            let n = self.packs[at as usize].nodes[i];
            let node = &self.lir.nodes[n as usize];
            let first =
                node.first as usize + node.lens[..k].iter().map(|&l| l as usize).sum::<usize>();
            let pos = self.lir.opnds[first].pos;
            self.lir.opnds[first] = Opnd {
                pos,
                ..plain(Ref::Ent(e))
            };
        }
        true
    }

    /// Splits one pack for one operand.
    fn split_at(&mut self, at: PackId, k: usize) {
        if self.packs[at as usize].nodes.len() < 2 {
            return;
        }
        if self.unite_slot(at, k) {
            return;
        }
        if self.use_copies(at, k) {
            return;
        }
        if self.packs[at as usize].rigid {
            return self.gather_lanes(at);
        }
        self.regroup(at, |s, group, b| {
            // The whole group: an undefined word goes with anything, and hides what the others are.
            let lanes = group.iter().copied().chain([b]);
            let words: SmallVec<[Ref; 8]> =
                lanes.flat_map(|a| s.source(a, k)).map(|o| o.r).collect();
            s.unite_refs(&words).is_some()
        });
    }
}

/// An operand that is gathered.
#[derive(Clone, Copy)]
struct Site {
    n: NodeId,
    k: usize,
    /// Its words are 64-bit pairs.
    pair: bool,
}

/// An operand without modifiers.
pub(super) fn plain(r: Ref) -> Opnd {
    Opnd {
        r,
        neg: false,
        abs: false,
        pos: 0,
    }
}

fn is_wild(o: &Opnd) -> bool {
    matches!(o.r, Ref::Undef(_))
}

/// Texture coordinates of virglrenderer's old hosts may not be immediates.
fn takes_no_immediate(op: Opcode, source: usize) -> bool {
    op.info().shape == Shape::Tex
        && source == 0
        && !matches!(op, Opcode::Txf | Opcode::Txq | Opcode::TxfLz)
}
