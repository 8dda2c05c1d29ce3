//! Webs: words that share one register channel because copies between them vanish.
//!
//! A phi and its inputs are merged when their live ranges in the reference order do
//! not overlap (the source program is the witness that most do not). An output is
//! merged with the value it receives when nothing else reads that value, since
//! outputs cannot be read. What is not merged stays a MOV on its edge.

use std::sync::Arc;

use tgsi_ir::layout::Layout;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lir::{Ent, Lir, NONE, Ref, What};
use crate::live::{Blocks, Event, Segs, overlaps, ranges, union};

/// The partition of stored words into webs.
#[derive(Clone, Debug, Default)]
pub struct Webs {
    parent: Vec<u32>,
    /// Live range in the reference order, by root; words made later have none.
    pub segs: Arc<Vec<Segs>>,
    /// Whether an instruction or condition reads a member, by root.
    pub read: Vec<bool>,
    /// The output it is, by root.
    pub out: Vec<Option<(i32, u8)>>,
    /// The channel its definition dictates, by root.
    pub pin: Vec<Option<u8>>,
    /// A word of the web it stands beside as half of a 64-bit value, by root.
    pub partner: Vec<Ent>,
    /// Whether it is the high half, by root (with a partner only).
    pub high: Vec<bool>,
}

impl Webs {
    /// The web of a word.
    pub fn find(&self, mut e: u32) -> u32 {
        while self.parent[e as usize] != e {
            e = self.parent[e as usize];
        }
        e
    }

    /// Adds a word that is in no web yet.
    pub fn push(&mut self) -> u32 {
        let e = self.parent.len() as u32;
        self.parent.push(e);
        self.read.push(true);
        self.out.push(None);
        self.pin.push(None);
        self.partner.push(NONE);
        self.high.push(false);
        e
    }

    fn merge(&mut self, a: u32, b: u32) {
        let (a, b) = (a.min(b), a.max(b));
        let (x, y) = (a as usize, b as usize);
        self.parent[y] = a;
        let segs = Arc::make_mut(&mut self.segs);
        segs[x] = union(&segs[x], &segs[y]);
        self.read[x] |= self.read[y];
        self.out[x] = self.out[x].or(self.out[y]);
        self.pin[x] = self.pin[x].or(self.pin[y]);
        if self.partner[x] == NONE {
            self.partner[x] = self.partner[y];
            self.high[x] = self.high[y];
        }
    }

    fn compatible(&self, a: u32, b: u32) -> bool {
        let (x, y) = (a as usize, b as usize);
        let pins = match (self.pin[x], self.pin[y]) {
            (Some(p), Some(q)) => p == q,
            _ => true,
        };
        pins && !overlaps(&self.segs[x], &self.segs[y])
    }

    /// Merges two webs, and their partners with them, if nothing interferes.
    fn try_merge(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return true;
        }
        if !self.compatible(a, b) {
            return false;
        }
        let (p, q) = (self.partner[a as usize], self.partner[b as usize]);
        if p != NONE && q != NONE {
            let (p, q) = (self.find(p), self.find(q));
            if self.high[a as usize] != self.high[b as usize] || p == b || q == a {
                return false;
            }
            if p != q {
                if !self.compatible(p, q) {
                    return false;
                }
                self.merge(p, q);
            }
        }
        self.merge(a, b);
        true
    }
}

/// Limits on what may be merged.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebOptions {
    /// Integer results may not be written to outputs.
    pub no_int_outputs: bool,
    /// Keep every copy: for measuring.
    pub keep_copies: bool,
}

/// Builds the webs of a program.
pub fn webs(lir: &Lir, layout: &Layout, options: WebOptions) -> Webs {
    let n = lir.ents as usize;
    let mut w = Webs {
        parent: (0..n as u32).collect(),
        segs: Arc::default(),
        read: vec![false; n],
        out: lir.output.clone(),
        pin: lir.output.iter().map(|o| o.map(|o| o.1)).collect(),
        partner: lir.partner.clone(),
        high: (0..n).map(|e| lir.partner[e] != NONE && lir.partner[e] < e as u32).collect(),
    };
    let mut writes: Vec<Event> = Vec::new();
    let mut reads: Vec<Event> = Vec::new();
    for (b, block) in lir.blocks.iter().enumerate() {
        let b = b as u32;
        writes.extend(block.phis.iter().map(|&e| (e, b, block.start)));
        for &n in &block.nodes {
            let node = &lir.nodes[n as usize];
            lir.reads(node, &mut |e| {
                reads.push((e, b, node.pos + 1));
                w.read[e as usize] = true;
            });
            writes.extend(node.dsts().map(|e| (e, b, node.pos + 1)));
            for (e, c) in node.results() {
                w.pin[e as usize] = Some(c & 3);
            }
        }
        for m in &block.moves {
            lir.ref_reads(m.src, &mut |e| reads.push((e, b, block.end - 1)));
            if block.cond.is_some() {
                // Copies in front of a SWITCH: the selector is read behind them.
                writes.push((m.dst, b, block.end - 2));
            } else if lir.output[m.dst as usize].is_some() {
                // An output is complete at the end of its edge.
                writes.push((m.dst, b, block.end - 1));
            }
        }
        if let Some(r) = block.cond {
            lir.ref_reads(r, &mut |e| {
                reads.push((e, b, block.end - 1));
                w.read[e as usize] = true;
            });
        }
    }
    let spans: Vec<(u32, u32)> = lir.blocks.iter().map(|b| (b.start, b.end)).collect();
    w.segs = Arc::new(ranges(n, &Blocks { layout, spans: &spans }, &writes, &reads));
    if options.keep_copies {
        return w;
    }
    coalesce(lir, layout, options, &mut w);
    for e in 0..n {
        w.parent[e] = w.find(e as u32);
    }
    w
}

fn coalesce(lir: &Lir, layout: &Layout, options: WebOptions, w: &mut Webs) {
    // Inner loops first: their copies run most often.
    let mut order: Vec<usize> = (0..lir.blocks.len()).collect();
    order.sort_by_key(|&b| std::cmp::Reverse(layout.blocks[b].loop_depth));
    for pass in 0..2 {
        for &b in &order {
            for m in &lir.blocks[b].moves {
                let Ref::Ent(src) = m.src else { continue };
                if lir.output[m.dst as usize].is_some() {
                    continue;
                }
                // Computed inputs first: a phi that is only passed on can wait.
                if pass == 0 && lir.def[src as usize] == NONE {
                    continue;
                }
                w.try_merge(m.dst, src);
            }
        }
    }
    // Who copies from each web to elsewhere.
    let mut escapes: Vec<(u32, Ent)> = Vec::new();
    for block in lir.blocks.iter() {
        for m in &block.moves {
            if let Ref::Ent(src) = m.src {
                let s = w.find(src);
                if s != w.find(m.dst) {
                    escapes.push((s, m.dst));
                }
            }
        }
    }
    for &(_, dst) in &escapes.clone() {
        if lir.output[dst as usize].is_none() {
            continue;
        }
        // Every edge that sets this output must come from the web, or be a copy into it.
        for &(s, d) in &escapes {
            if d != dst {
                continue;
            }
            let web = w.find(s);
            let only = escapes.iter().all(|&(t, e)| w.find(t) != web || w.find(e) == w.find(dst));
            if !only || w.read[web as usize] || w.out[web as usize].is_some() {
                continue;
            }
            if options.no_int_outputs && integer_def(lir, w, web) {
                continue;
            }
            if !fetch_fits(lir, w, web, lir.output[dst as usize].expect("an output")) {
                continue;
            }
            w.try_merge(dst, web);
        }
    }
}

/// Whether a member of the web is an integer result.
fn integer_def(lir: &Lir, w: &Webs, web: u32) -> bool {
    (0..lir.ents).filter(|&e| w.find(e) == web).any(|e| {
        let d = lir.def[e as usize];
        d != NONE
            && match lir.nodes[d as usize].what {
                What::Alu(op) => !op.info().dst_ty.is_float_modifier(),
                What::Multi(_) => false,
            }
    })
}

/// Whether every whole instruction that writes into the web has all its results going to the same output.
fn fetch_fits(lir: &Lir, w: &Webs, web: u32, out: (i32, u8)) -> bool {
    lir.nodes.iter().all(|n| {
        let What::Multi(_) = n.what else { return true };
        if !n.dsts().any(|e| w.find(e) == web) {
            return true;
        }
        n.results().all(|(e, c)| {
            let r = w.find(e);
            if r == web {
                return c & 3 == out.1 && c < 4;
            }
            if w.read[r as usize] {
                return false;
            }
            let target = Some((out.0, c & 3));
            w.out[r as usize] == target
                || lir.blocks.iter().flat_map(|b| &b.moves).any(|m| m.src == Ref::Ent(e) && lir.output[m.dst as usize] == target)
        })
    })
}

/// An uninitialised word is one unknown word everywhere. Where a single reader (or a
/// single web) sees it, any word will do; otherwise all readers get the same: zero.
pub fn settle_undefined(lir: &mut Lir, webs: &Webs) {
    let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
    let mut shared: FxHashSet<u32> = FxHashSet::default();
    let mut note = |u: u32, who: u32| {
        if seen.insert(u, who).is_some_and(|old| old != who) {
            shared.insert(u);
        }
    };
    for (i, n) in lir.nodes.iter().enumerate() {
        for o in lir.words(n) {
            if let Ref::Undef(u) = o.r {
                note(u, NONE - 1 - i as u32);
            }
        }
    }
    for b in lir.blocks.iter() {
        for m in &b.moves {
            if let Ref::Undef(u) = m.src {
                note(u, webs.find(m.dst));
            }
        }
        if let Some(Ref::Undef(u)) = b.cond {
            note(u, NONE);
        }
    }
    if seen.is_empty() {
        return;
    }
    let fix = |r: &mut Ref| {
        if matches!(r, Ref::Undef(u) if shared.contains(u)) {
            *r = Ref::Imm(0);
        }
    };
    // A node that reads one unknown word in two lanes must see it twice.
    let mut twice: Vec<usize> = Vec::new();
    for (i, n) in lir.nodes.iter().enumerate() {
        let undefined = lir.words(n).iter().filter(|o| matches!(o.r, Ref::Undef(_))).count();
        if undefined > 1 {
            twice.push(i);
        }
    }
    for i in twice {
        let n = &lir.nodes[i];
        let (first, len) = (n.first as usize, n.word_count());
        for o in &mut lir.opnds[first..first + len] {
            if matches!(o.r, Ref::Undef(_)) {
                o.r = Ref::Imm(0);
            }
        }
    }
    lir.opnds.iter_mut().for_each(|o| fix(&mut o.r));
    for b in Arc::make_mut(&mut lir.blocks) {
        b.moves.iter_mut().for_each(|m| fix(&mut m.src));
        b.cond.iter_mut().for_each(fix);
    }
    for x in Arc::make_mut(&mut lir.exts) {
        x.addrs.iter_mut().for_each(|a| {
            if matches!(a.r, Ref::Undef(_)) {
                a.r = Ref::Imm(0);
            }
        });
    }
}
