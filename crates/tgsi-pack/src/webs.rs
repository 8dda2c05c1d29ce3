//! Webs: words that share one register channel because copies between them vanish.
//!
//! A phi and its inputs are merged when their live ranges in the reference order do
//! not overlap (the source program is the witness that most do not). An output is
//! merged with the value it receives when nothing else reads that value, since
//! outputs cannot be read. What is not merged stays a MOV on its edge.

use std::sync::Arc;

use tgsi_ir::layout::Layout;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lir::{Ent, Lir, LirBlock, NONE, Ref, What};
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
    #[inline]
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
pub struct WebOptions<'a> {
    /// Output registers that are written whole, by one copy.
    pub whole_outputs: &'a [i32],
    /// Integer results may not be written to outputs.
    pub no_int_outputs: bool,
}

/// Builds the webs of a program.
pub fn webs(lir: &Lir, layout: &Layout, options: WebOptions<'_>) -> Webs {
    let n = lir.ents as usize;
    let mut w = Webs {
        parent: (0..n as u32).collect(),
        segs: Arc::default(),
        read: vec![false; n],
        out: lir.output.clone(),
        pin: vec![None; n],
        partner: lir.partner.clone(),
        high: vec![false; n],
    };
    for (e, &partner) in lir.partner.iter().enumerate() {
        w.high[e] = partner != NONE && partner < e as u32;
    }
    for (pin, out) in w.pin.iter_mut().zip(&lir.output) {
        if let Some((_, c)) = out {
            *pin = Some(*c);
        }
    }
    for node in &lir.nodes {
        if let What::Multi(_) = node.what {
            for (e, c) in node.results() {
                w.pin[e as usize] = Some(c & 3);
            }
        }
    }
    w.segs = Arc::new(live_ranges(lir, layout, &mut w.read));
    coalesce(lir, layout, options, &mut w);
    for e in 0..n {
        w.parent[e] = w.find(e as u32);
    }
    w
}

/// What happens to a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is written.
    Write,
    /// An instruction or a condition reads it.
    Read,
    /// A copy on an edge reads it.
    Copy,
}

/// Calls `visit` for the writes and reads of the program in text order: kind, word, block, position.
#[inline]
fn events(lir: &Lir, visit: &mut impl FnMut(Kind, Ent, u32, u32)) {
    for (b, block) in lir.blocks.iter().enumerate() {
        let b = b as u32;
        for &e in &block.phis {
            visit(Kind::Write, e, b, block.start);
        }
        for &n in &block.nodes {
            let node = &lir.nodes[n as usize];
            lir.reads(node, &mut |e: Ent| visit(Kind::Read, e, b, node.pos + 1));
            for e in node.dsts() {
                visit(Kind::Write, e, b, node.pos + 1);
            }
        }
        for m in &block.moves {
            lir.ref_reads(m.src, &mut |e: Ent| visit(Kind::Copy, e, b, block.end - 1));
            if block.cond.is_some() {
                // Copies in front of a SWITCH: the selector is read behind them.
                visit(Kind::Write, m.dst, b, block.end - 2);
            } else if lir.output[m.dst as usize].is_some() {
                // An output is complete at the end of its edge.
                visit(Kind::Write, m.dst, b, block.end - 1);
            }
        }
        if let Some(r) = block.cond {
            lir.ref_reads(r, &mut |e: Ent| visit(Kind::Read, e, b, block.end - 1));
        }
    }
}

/// The life of a word up to the first event that does not fit: a second write, or a read that
/// does not follow the write in its block.
#[derive(Clone, Copy)]
struct Local {
    /// Block of the write; [`NONE`] before there is one.
    block: u32,
    start: u32,
    end: u32,
    /// Number of the word among those with such an event, [`NONE`] without one; that event and
    /// all that follow are kept apart.
    global: u32,
}

/// Words that do not live in one block, numbered anew, with their writes and reads.
#[derive(Default)]
struct Global {
    words: Vec<Ent>,
    writes: Vec<Event>,
    reads: Vec<Event>,
}

impl Global {
    /// The number of a word, whose events so far are told if they were local.
    fn word(&mut self, e: Ent, l: &mut Local) -> u32 {
        if l.global == NONE {
            l.global = self.words.len() as u32;
            self.words.push(e);
            if l.block != NONE {
                self.writes.push((l.global, l.block, l.start));
                if l.end > l.start + 1 {
                    self.reads.push((l.global, l.block, l.end));
                }
            }
        }
        l.global
    }
}

/// The live range of each word in the reference order; notes in `read` what instructions and
/// conditions read. Most words live in one block, which one look at each event shows.
fn live_ranges(lir: &Lir, layout: &Layout, read: &mut [bool]) -> Vec<Segs> {
    let n = lir.ents as usize;
    let mut locals = vec![
        Local {
            block: NONE,
            start: 0,
            end: 0,
            global: NONE
        };
        n
    ];
    let mut global = Global::default();
    if lir.blocks.len() > 1 {
        global.words.reserve(n / 4);
        global.writes.reserve(n / 2);
        global.reads.reserve(n / 2);
    }
    events(lir, &mut |kind, e, block, pos| {
        let l = &mut locals[e as usize];
        read[e as usize] |= kind == Kind::Read;
        if kind == Kind::Write {
            if l.block == NONE && l.global == NONE {
                *l = Local {
                    block,
                    start: pos,
                    end: pos + 1,
                    global: NONE,
                };
            } else {
                let word = global.word(e, l);
                global.writes.push((word, block, pos));
            }
        } else if l.global == NONE && l.block == block && pos > l.start {
            l.end = l.end.max(pos);
        } else {
            let word = global.word(e, l);
            global.reads.push((word, block, pos));
        }
    });
    let mut segs = Vec::with_capacity(n);
    for l in &locals {
        let mut s = Segs::new();
        if l.global == NONE && l.block != NONE {
            s.push((l.start, l.end));
        }
        segs.push(s);
    }
    if !global.words.is_empty() {
        let mut spans: Vec<(u32, u32)> = Vec::with_capacity(lir.blocks.len());
        spans.extend(lir.blocks.iter().map(|b| (b.start, b.end)));
        let far = ranges(
            global.words.len(),
            &Blocks {
                layout,
                spans: &spans,
            },
            &global.writes,
            &global.reads,
        );
        for (&e, s) in global.words.iter().zip(far) {
            segs[e as usize] = s;
        }
    }
    segs
}

fn coalesce(lir: &Lir, layout: &Layout, options: WebOptions<'_>, w: &mut Webs) {
    if lir.blocks.iter().all(|b| b.moves.is_empty()) {
        return;
    }
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
    Outputs::new(lir, w).join(options, w);
}

/// Joins outputs with the webs they are copied from.
struct Outputs<'a> {
    lir: &'a Lir,
    /// Copies `(source word, receiver)` that are left.
    escapes: Vec<(Ent, Ent)>,
    /// The escapes whose source is in each web.
    leaving: Lists,
    /// The escapes into each word.
    entering: Lists,
    /// The next member of the web of each word; the last one leads back to the first.
    members: Vec<Ent>,
    /// Source instructions with a lane that is copied to an output and read besides. Its other
    /// lanes go through the same temporary and the same copy, in place of an instruction of
    /// their own.
    shared: FxHashSet<Whole>,
}

/// What lanes of one source instruction that go to one output have in common: block, source
/// instruction, opcode, output.
type Whole = (u32, u32, tgsi::Opcode, i32);

/// Lists of small numbers, by number, that can be joined.
struct Lists {
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
}

impl Lists {
    fn new(lists: usize, elements: usize) -> Lists {
        Lists {
            first: vec![NONE; lists],
            last: vec![NONE; lists],
            next: vec![NONE; elements],
        }
    }

    fn push(&mut self, list: u32, element: u32) {
        self.link(list, element, element);
    }

    fn link(&mut self, list: u32, first: u32, last: u32) {
        match self.last[list as usize] {
            NONE => self.first[list as usize] = first,
            l => self.next[l as usize] = first,
        }
        self.last[list as usize] = last;
    }

    /// Moves all of one list behind another.
    fn append(&mut self, to: u32, from: u32) {
        let (first, last) = (self.first[from as usize], self.last[from as usize]);
        if first != NONE {
            self.link(to, first, last);
            (self.first[from as usize], self.last[from as usize]) = (NONE, NONE);
        }
    }

    fn of(&self, list: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |e: u32| (e != NONE).then_some(e);
        std::iter::successors(some(self.first[list as usize]), move |&e| {
            some(self.next[e as usize])
        })
    }
}

impl<'a> Outputs<'a> {
    fn new(lir: &'a Lir, w: &Webs) -> Self {
        let n = lir.ents as usize;
        let moves = lir.blocks.iter().map(|b| b.moves.len()).sum();
        let mut escapes: Vec<(Ent, Ent)> = Vec::with_capacity(moves);
        for block in lir.blocks.iter() {
            for m in &block.moves {
                if let Ref::Ent(src) = m.src
                    && w.find(src) != w.find(m.dst)
                {
                    escapes.push((src, m.dst));
                }
            }
        }
        let mut leaving = Lists::new(n, escapes.len());
        let mut entering = Lists::new(n, escapes.len());
        for (i, &(src, dst)) in escapes.iter().enumerate() {
            leaving.push(w.find(src), i as u32);
            entering.push(dst, i as u32);
        }
        let mut members: Vec<Ent> = (0..n as u32).collect();
        for e in 0..n as u32 {
            let root = w.find(e);
            if root != e {
                members.swap(e as usize, root as usize);
            }
        }
        let mut shared = FxHashSet::default();
        for &(src, dst) in &escapes {
            if w.read[w.find(src) as usize]
                && let Some((out, _)) = lir.output[dst as usize]
                && let Some(whole) = whole(lir, src, out)
            {
                shared.insert(whole);
            }
        }
        Outputs {
            lir,
            escapes,
            leaving,
            entering,
            members,
            shared,
        }
    }

    /// Joins what can be joined. An output that several edges set is tried again as long as
    /// anything was joined since its last round.
    fn join(&mut self, options: WebOptions<'_>, w: &mut Webs) {
        let mut joined = 1u32;
        let mut settled = vec![0u32; self.lir.ents as usize];
        for i in 0..self.escapes.len() {
            let dst = self.escapes[i].1;
            let Some(out) = self.lir.output[dst as usize] else {
                continue;
            };
            if options.whole_outputs.contains(&out.0) {
                continue;
            }
            if settled[dst as usize] == joined {
                continue;
            }
            let before = joined;
            let mut next = self.entering.first[dst as usize];
            while next != NONE {
                let web = w.find(self.escapes[next as usize].0);
                next = self.entering.next[next as usize];
                if self.fits(options, w, web, dst, out) && self.merge(w, dst, web) {
                    joined += 1;
                }
            }
            if joined == before {
                settled[dst as usize] = joined;
            }
        }
    }

    /// The members of a web, from one of them.
    fn members(&self, first: Ent) -> impl Iterator<Item = Ent> + '_ {
        let next = move |&e: &Ent| Some(self.members[e as usize]).filter(|&n| n != first);
        std::iter::successors(Some(first), next)
    }

    /// Whether an output may be the register of a web: nothing else needs the web's value.
    fn fits(&self, options: WebOptions<'_>, w: &Webs, web: u32, dst: Ent, out: (i32, u8)) -> bool {
        if w.read[web as usize] || w.out[web as usize].is_some() {
            return false;
        }
        let own = w.find(dst);
        self.leaving
            .of(web)
            .all(|i| w.find(self.escapes[i as usize].1) == own)
            && !(options.no_int_outputs && self.members(web).any(|e| integer_def(self.lir, e)))
            && self.fetch_fits(w, web, out)
            && (self.shared.is_empty()
                || !self.members(web).any(|e| {
                    whole(self.lir, e, out.0).is_some_and(|whole| self.shared.contains(&whole))
                }))
    }

    /// Merges an output with a web; says whether anything changed.
    fn merge(&mut self, w: &mut Webs, dst: Ent, web: u32) -> bool {
        let (a, b) = (w.find(dst), w.find(web));
        let partner = |w: &Webs, r: u32| match w.partner[r as usize] {
            NONE => r,
            p => w.find(p),
        };
        let roots = [a, b, partner(w, a), partner(w, b)];
        if a == b || !w.try_merge(dst, web) {
            return false;
        }
        for (i, &old) in roots.iter().enumerate() {
            let new = w.find(old);
            if new != old && !roots[..i].contains(&old) {
                self.leaving.append(new, old);
                self.members.swap(new as usize, old as usize);
            }
        }
        true
    }

    /// Whether every whole instruction that writes into the web has all its results going to
    /// the same output.
    fn fetch_fits(&self, w: &Webs, web: u32, out: (i32, u8)) -> bool {
        let lir = self.lir;
        self.members(web).all(|member| {
            let d = lir.def[member as usize];
            let Some(n) = lir.nodes.get(d as usize) else {
                return true;
            };
            let What::Multi(_) = n.what else { return true };
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
                    || self.leaving.of(r).any(|i| {
                        let (src, dst) = self.escapes[i as usize];
                        src == e && lir.output[dst as usize] == target
                    })
            })
        })
    }
}

/// See [`Whole`]; nothing for what is no lane of a componentwise operation.
fn whole(lir: &Lir, e: Ent, out: i32) -> Option<Whole> {
    let node = lir.nodes.get(lir.def[e as usize] as usize)?;
    match node.what {
        What::Alu(op) if crate::lir::packs(op) => Some((node.block, node.hint.inst, op, out)),
        _ => None,
    }
}

/// Whether a word is an integer result.
fn integer_def(lir: &Lir, e: Ent) -> bool {
    match lir.nodes.get(lir.def[e as usize] as usize).map(|n| n.what) {
        Some(What::Alu(op)) => !op.info().dst_ty.is_float_modifier(),
        _ => false,
    }
}

/// An uninitialised word is one unknown word everywhere. Where a single reader (or a
/// single web) sees it, any word will do; otherwise all readers get the same: zero.
pub fn settle_undefined(lir: &mut Lir, webs: &Webs) {
    let undefined = |r: Ref| matches!(r, Ref::Undef(_));
    let in_block =
        |b: &LirBlock| b.moves.iter().any(|m| undefined(m.src)) || b.cond.is_some_and(undefined);
    if !lir.opnds.iter().any(|o| undefined(o.r)) && !lir.blocks.iter().any(in_block) {
        return;
    }
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
    let fix = |r: &mut Ref| {
        if matches!(r, Ref::Undef(u) if shared.contains(u)) {
            *r = Ref::Imm(0);
        }
    };
    // A node that reads one unknown word in two lanes must see it twice.
    let mut twice: Vec<usize> = Vec::new();
    for (i, n) in lir.nodes.iter().enumerate() {
        let undefined = lir
            .words(n)
            .iter()
            .filter(|o| matches!(o.r, Ref::Undef(_)))
            .count();
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
