//! The allocation problem of a sequence of lines.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{File, Register};
use tgsi_ir::Function;
use tgsi_ir::layout::Layout;
use tgsi_pack::lir::{Ent, NONE, Ref};
use tgsi_pack::live::{Blocks, Lives, Ranges};
use tgsi_pack::pack::{Kind, Packing};
use tgsi_regalloc::{Array, Assignment, LiveRange, Reg};

use super::fetches::run_end;
use super::lines::{Line, Lines};

/// The webs of a virtual register.
pub(super) struct Seats {
    /// In the order of its lanes; [`NONE`] behind the last.
    webs: [u32; 4],
    count: u8,
    /// Bit i: webs i and i + 1 are the halves of a 64-bit value.
    pair: u8,
    precise: bool,
}

/// Half-open segments of points.
type Segments = SmallVec<[(u32, u32); 2]>;

/// The allocation problem of a sequence of lines.
pub(super) struct Problem<'a> {
    p: &'a Packing,
    live: Ranges,
    /// The virtual registers, with the webs that sit in each.
    pub(super) seats: Vec<Seats>,
    /// The arrays.
    pub(super) arrays: Vec<Array>,
    /// For seats that must have their register for themselves at times: when each channel is taken.
    alone: FxHashMap<u32, [Segments; 4]>,
}

impl<'a> Problem<'a> {
    /// Precise registers are told from others only if `separate_precise`.
    pub(super) fn new(
        f: &Function,
        layout: &Layout,
        p: &'a Packing,
        lines: &Lines,
        separate_precise: bool,
    ) -> Problem<'a> {
        let live = lives(p, lines).ranges(&Blocks {
            layout,
            spans: &lines.spans(),
        });
        let precise = if separate_precise {
            precise_webs(p)
        } else {
            Vec::new()
        };
        let mut seats = Vec::with_capacity(lines.lines.len());
        for e in 0..p.lir.ents {
            let class = &p.classes[e as usize];
            if class.kind != Kind::Temp || p.class(e) != e {
                continue;
            }
            if let Some(mut seated) = seat(p, class.webs(), &live) {
                if !precise.is_empty() {
                    seated.precise = seated.webs().iter().any(|&w| precise[w as usize]);
                }
                seats.push(seated);
            }
        }
        let len = |a: &(i32, i32, u32)| (a.1 - a.0 + 1) as u32;
        let arrays = f
            .arrays
            .iter()
            .enumerate()
            .map(|(i, a)| Array {
                len: len(a),
                id: i as u32,
            })
            .collect();
        Problem {
            p,
            live,
            seats,
            arrays,
            alone: FxHashMap::default(),
        }
    }

    /// Keeps fetches of one run out of registers in which coordinates of others of the run stand.
    pub(super) fn part_fetches(&mut self, lines: &Lines) {
        let mut seat_of = vec![NONE; self.p.lir.ents as usize];
        for (i, seats) in self.seats.iter().enumerate() {
            for &w in seats.webs() {
                seat_of[w as usize] = i as u32;
            }
        }
        let mut spans: FxHashMap<u32, Segments> = FxHashMap::default();
        let mut at = 0;
        while at < lines.lines.len() {
            let end = run_end(lines, self.p, at);
            for (i, line) in lines.lines[at..end].iter().enumerate().skip(1) {
                let Line::Pack(q, _) = line else { continue };
                for &n in &self.p.packs[*q as usize].nodes {
                    for o in self.p.lir.words(&self.p.lir.nodes[n as usize]) {
                        let Ref::Ent(e) = o.r else { continue };
                        let seat = seat_of[self.p.webs.find(e) as usize];
                        let span = (2 * at as u32 + 1, 2 * (at + i) as u32);
                        if seat != NONE {
                            spans.entry(seat).or_default().push(span);
                        }
                    }
                }
            }
            at = end.max(at + 1);
        }
        for (seat, spans) in spans.iter().collect::<BTreeMap<_, _>>() {
            let webs = self.seats[*seat as usize].webs();
            let lanes = std::array::from_fn(|lane| {
                let own = webs.get(lane).map_or(&[][..], |&w| self.live_of(w));
                let all = own.iter().chain(spans).copied();
                LiveRange::from_segments(all).segs
            });
            self.alone.insert(*seat, lanes);
        }
    }

    /// The virtual registers as the allocator wants them.
    pub(super) fn regs(&self) -> impl ExactSizeIterator<Item = Reg<'_>> {
        self.seats.iter().enumerate().map(|(i, s)| {
            let mut reg = Reg {
                width: s.count,
                precise: s.precise,
                pair: s.pair,
                ..Reg::default()
            };
            for (lane, &w) in s.webs().iter().enumerate() {
                reg.live[lane] = self.live_of(w);
                reg.pinned[lane] = self.p.webs.pin[w as usize];
            }
            if let Some(alone) = self.alone.get(&(i as u32)) {
                // Lanes that hold nothing take the other channels.
                for (live, taken) in reg.live.iter_mut().zip(alone) {
                    *live = taken;
                }
                reg.width = 4;
            }
            reg
        })
    }

    /// When a web lives.
    #[inline]
    fn live_of(&self, web: u32) -> &[(u32, u32)] {
        let own = self.live.of(web);
        if own.is_empty() {
            // Half of a pair that nothing touches lives as long as the other half.
            return self
                .live
                .of(self.p.webs.find(self.p.webs.partner[web as usize]));
        }
        own
    }
}

/// Writes and reads of webs, by block and point.
fn lives(p: &Packing, lines: &Lines) -> Lives {
    let mut lives = Lives::new(p.lir.ents as usize);
    let mut block = 0;
    for (i, line) in lines.lines.iter().enumerate() {
        while lines
            .starts
            .get(block + 1)
            .is_some_and(|&s| s as usize <= i)
        {
            block += 1;
        }
        line_lives(p, line, block as u32, 2 * i as u32 + 1, &mut lives);
    }
    lives
}

/// What one line in `block` at point `at` reads and writes.
#[inline]
fn line_lives(p: &Packing, line: &Line, block: u32, at: u32, lives: &mut Lives) {
    match line {
        Line::Load { address, .. } => {
            p.lir
                .ref_reads(address.r, &mut |e| lives.read(p.webs.find(e), block, at));
        }
        // Addresses are read by the loads.
        Line::Flow(_, Some(Ref::Ent(e)), _) => lives.read(p.webs.find(*e), block, at),
        Line::Flow(..) => {}
        Line::Pack(q, _) => {
            let pack = &p.packs[*q as usize];
            for &n in pack.nodes.as_slice() {
                let node = &p.lir.nodes[n as usize];
                for o in p.lir.words(node) {
                    if let Ref::Ent(e) = o.r {
                        lives.read(p.webs.find(e), block, at);
                    }
                }
                if pack.store == NONE {
                    for e in node.dsts() {
                        lives.write(p.webs.find(e), block, at);
                    }
                }
            }
        }
    }
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

impl Seats {
    /// Its webs.
    fn webs(&self) -> &[u32] {
        &self.webs[..self.count as usize]
    }

    fn push(&mut self, web: u32) {
        if let Some(place) = self.webs.get_mut(self.count as usize) {
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
fn seat(p: &Packing, webs: &[Ent], ranges: &Ranges) -> Option<Seats> {
    let mut out = Seats {
        webs: [NONE; 4],
        count: 0,
        pair: 0,
        precise: false,
    };
    let live = |w: u32| !ranges.of(w).is_empty();
    let mut single = true;
    for &w in webs {
        let partner = p.webs.partner[w as usize];
        if partner == NONE {
            continue;
        }
        single = false;
        if !live(w) {
            continue;
        }
        let partner = p.webs.find(partner);
        if !p.webs.high[w as usize] {
            out.push_pair(w, partner);
        } else if !(webs.contains(&partner) && live(partner)) {
            // The low half is never written or read, its seat is taken all the same.
            out.push_pair(partner, w);
        }
    }
    for &w in webs {
        if (single || p.webs.partner[w as usize] == NONE) && live(w) {
            out.push(w);
        }
    }
    (out.count > 0).then_some(out)
}

/// Where a web stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// [`File::Null`] if it has no place.
    pub(super) file: File,
    pub(super) chan: u8,
    index: i32,
}

impl Place {
    pub(super) const NONE: Place = Place {
        file: File::Null,
        chan: 0,
        index: 0,
    };

    #[inline]
    pub(super) fn same_register(self, other: Place) -> bool {
        self.file == other.file && self.index == other.index
    }

    /// Its register, if it has one.
    #[inline]
    pub(super) fn register(self) -> Option<Register> {
        (self.file != File::Null).then_some(Register::direct(self.file, self.index))
    }
}

/// Where every web stands.
pub(super) fn places(p: &Packing, seats: &[Seats], assignment: &Assignment) -> Vec<Place> {
    let mut out = Vec::with_capacity(p.webs.out.len());
    for o in &p.webs.out {
        out.push(match *o {
            Some((index, chan)) => Place {
                file: File::Out,
                chan,
                index,
            },
            None => Place::NONE,
        });
    }
    for (seats, placed) in seats.iter().zip(&assignment.place) {
        for (&w, &chan) in seats.webs().iter().zip(&placed.chans) {
            out[w as usize] = Place {
                file: File::Temp,
                chan,
                index: placed.temp as i32,
            };
        }
    }
    out
}
