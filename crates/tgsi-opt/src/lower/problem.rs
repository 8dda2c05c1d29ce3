//! The allocation problem of a sequence of lines.

use smallvec::SmallVec;
use tgsi::File;
use tgsi_ir::Function;
use tgsi_ir::layout::Layout;
use tgsi_pack::lir::{Ent, NONE, Ref};
use tgsi_pack::live::{Blocks, Event, Segs, ranges};
use tgsi_pack::pack::{Kind, Packing};
use tgsi_regalloc::{Array, Assignment, Lane, LiveRange, Problem, VReg};

use super::lines::{Line, Lines};

/// The webs of each virtual register in the order of its lanes; [`NONE`] behind the last.
pub(super) type Seats = Vec<[u32; 4]>;

/// The allocation problem, and where each web sits in it. Precise registers are told from
/// others only if `separate_precise`.
pub(super) fn build(
    f: &Function,
    layout: &Layout,
    p: &Packing,
    lines: &Lines,
    separate_precise: bool,
) -> (Problem, Seats) {
    let spans = lines.spans();
    let (writes, reads) = events(p, lines);
    let segs = ranges(p.lir.ents as usize, &Blocks { layout, spans: &spans }, &writes, &reads);
    let precise = if separate_precise { precise_webs(p) } else { Vec::new() };
    let mut vregs = Vec::with_capacity(lines.lines.len());
    let mut seats = Seats::with_capacity(lines.lines.len());
    for e in 0..p.lir.ents {
        let class = &p.classes[e as usize];
        if class.kind != Kind::Temp || p.class(e) != e {
            continue;
        }
        let Some(seated) = seat(p, class.webs(), &segs) else { continue };
        let webs = &seated.webs[..seated.count];
        let mut lanes = SmallVec::new();
        for &w in webs {
            lanes.push(Lane { live: live(p, &segs, w), pinned: p.webs.pin[w as usize] });
        }
        vregs.push(VReg {
            lanes,
            precise: webs.iter().any(|&w| precise.get(w as usize).is_some_and(|&x| x)),
            pair: seated.pair,
        });
        seats.push(seated.webs);
    }
    let len = |a: &(i32, i32, u32)| (a.1 - a.0 + 1) as u32;
    let arrays = f.arrays.iter().enumerate().map(|(i, a)| Array { len: len(a), id: i as u32 }).collect();
    (Problem { vregs, arrays }, seats)
}

/// Writes and reads of webs, by block and point.
fn events(p: &Packing, lines: &Lines) -> (Vec<Event>, Vec<Event>) {
    let mut writes: Vec<Event> = Vec::with_capacity(p.lir.ents as usize);
    let mut reads: Vec<Event> = Vec::with_capacity(p.lir.opnds.len());
    let mut block = 0;
    for (i, line) in lines.lines.iter().enumerate() {
        while lines.starts.get(block + 1).is_some_and(|&s| s as usize <= i) {
            block += 1;
        }
        let (b, at) = (block as u32, 2 * i as u32 + 1);
        match line {
            Line::Load { address, .. } => {
                p.lir.ref_reads(address.r, &mut |e| reads.push((p.webs.find(e), b, at)));
            }
            // Addresses are read by the loads.
            Line::Flow(_, Some(Ref::Ent(e)), _) => reads.push((p.webs.find(*e), b, at)),
            Line::Flow(..) => {}
            Line::Pack(q, _) => {
                let pack = &p.packs[*q as usize];
                for &n in &pack.nodes {
                    let node = &p.lir.nodes[n as usize];
                    for o in p.lir.words(node) {
                        if let Ref::Ent(e) = o.r {
                            reads.push((p.webs.find(e), b, at));
                        }
                    }
                    if pack.store == NONE {
                        writes.extend(node.dsts().map(|e| (p.webs.find(e), b, at)));
                    }
                }
            }
        }
    }
    (writes, reads)
}

/// Webs that precise instructions write; empty if there are none.
fn precise_webs(p: &Packing) -> Vec<bool> {
    let mut out = Vec::new();
    for node in p.lir.nodes.iter().filter(|n| n.precise) {
        out.resize(p.lir.ents as usize, false);
        for e in node.dsts() {
            out[p.webs.find(e) as usize] = true;
        }
    }
    out
}

/// The lanes of a virtual register.
struct Seated {
    webs: [u32; 4],
    count: usize,
    /// Bit i: webs i and i + 1 are the halves of a 64-bit value.
    pair: u8,
}

impl Seated {
    fn push(&mut self, web: u32) {
        if let Some(place) = self.webs.get_mut(self.count) {
            *place = web;
            self.count += 1;
        }
    }

    fn push_pair(&mut self, low: u32, high: u32) {
        self.pair |= 1 << self.count;
        self.push(low);
        self.push(high);
    }
}

/// Puts the webs of a class in order, 64-bit pairs first; nothing if none of them is live.
fn seat(p: &Packing, webs: &[Ent], segs: &[Segs]) -> Option<Seated> {
    let mut out = Seated { webs: [NONE; 4], count: 0, pair: 0 };
    let live = |w: &u32| !segs[*w as usize].is_empty();
    for &w in webs.iter().filter(|w| live(w)) {
        let partner = p.webs.partner[w as usize];
        if partner == NONE {
            continue;
        }
        let partner = p.webs.find(partner);
        if !p.webs.high[w as usize] {
            out.push_pair(w, partner);
        } else if !(webs.contains(&partner) && live(&partner)) {
            // The low half is never written or read, its seat is taken all the same.
            out.push_pair(partner, w);
        }
    }
    for &w in webs.iter().filter(|w| live(w)) {
        if p.webs.partner[w as usize] == NONE {
            out.push(w);
        }
    }
    (out.count > 0).then_some(out)
}

/// When a web lives.
#[inline]
fn live(p: &Packing, segs: &[Segs], web: u32) -> LiveRange {
    let mut own = &segs[web as usize];
    if own.is_empty() {
        // Half of a pair that nothing touches lives as long as the other half.
        own = &segs[p.webs.find(p.webs.partner[web as usize]) as usize];
    }
    LiveRange { segs: SmallVec::from_slice(own) }
}

/// File, register and channel of every web; [`File::Null`] where it has none.
pub(super) fn places(p: &Packing, seats: &Seats, assignment: &Assignment) -> Vec<(File, i32, u8)> {
    let mut out: Vec<_> =
        p.webs.out.iter().map(|o| o.map_or((File::Null, 0, 0), |(r, c)| (File::Out, r, c))).collect();
    for (webs, placed) in seats.iter().zip(&assignment.place) {
        for (&w, &chan) in webs.iter().zip(&placed.chans) {
            if w != NONE {
                out[w as usize] = (File::Temp, placed.temp as i32, chan);
            }
        }
    }
    out
}
