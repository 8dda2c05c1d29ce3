//! Lower bounds on the number of temporaries.
//!
//! At one point the lanes of a register that are live there are an item of size 1
//! to 4 for bins of capacity 4, and because channels need no contiguity the
//! smallest number of bins is known in closed form: each 4 takes a bin, each 3
//! takes a bin and leaves room for a 1, and 2s and the remaining 1s fill bins
//! without waste. 64-bit pairs change nothing: a pair is a half and halves can be
//! kept whole. Lanes pinned to one channel need a bin each. The bound is the
//! maximum over all points; it need not be attainable, because a register cannot
//! change its place between points.
//!
//! Cost: linear in live segments and program points.

use smallvec::SmallVec;

use crate::prepare::{Item, Prepared, prepare};
use crate::{Options, Problem, VReg};

/// How few temporaries any assignment can do with, arrays included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// A quarter of the most channels live at once, rounded up.
    pub channels: u32,
    /// The most bins needed at any one point; never below `channels`.
    pub packing: u32,
}

/// The bounds of `problem` with precise registers free to share. Zero for a
/// problem that [`crate::allocate`] rejects as malformed.
pub fn lower_bounds(problem: &Problem) -> Bounds {
    lower_bounds_with(problem, &Options::default())
}

/// The bounds of `problem` under `options`: with [`Options::separate_precise`]
/// those of the two classes add up. Zero for a problem that [`crate::allocate`]
/// rejects as malformed.
pub fn lower_bounds_with(problem: &Problem, options: &Options) -> Bounds {
    let regs = problem.vregs.iter().map(VReg::as_reg);
    prepare(regs, &problem.arrays).map_or_else(
        |_| Bounds::default(),
        |p| bounds(&p, options.separate_precise),
    )
}

/// The bounds of a prepared problem.
pub(crate) fn bounds(prepared: &Prepared, separate: bool) -> Bounds {
    let mut bounds = Bounds {
        channels: prepared.array_temps,
        packing: prepared.array_temps,
    };
    let mut add = |class: Bounds| {
        bounds.channels = bounds.channels.saturating_add(class.channels);
        bounds.packing = bounds.packing.saturating_add(class.packing);
    };
    let precise = prepared.items.iter().filter(|item| item.precise).count();
    if separate && precise > 0 && precise < prepared.items.len() {
        add(class_bounds(prepared, |item| item.precise));
        add(class_bounds(prepared, |item| !item.precise));
    } else if !prepared.items.is_empty() {
        add(class_bounds(prepared, |_| true));
    }
    bounds
}

/// Four counters of 32 bits, so that one addition changes all of them. Differences
/// wrap; sums are right as long as the counts themselves are.
type Counters = u128;

/// The counter of items with `lanes` live lanes; nothing for 0.
fn sized(lanes: u8) -> Counters {
    const SIZED: [Counters; 5] = [0, 1, 1 << 32, 1 << 64, 1 << 96];
    SIZED[usize::from(lanes.min(4))]
}

/// The counters of lanes pinned to each of the channels in `pins`.
fn pinned(pins: u8) -> Counters {
    (0..4).fold(0, |sum, c| {
        sum + (Counters::from(pins >> c & 1) << (32 * c))
    })
}

fn counts(all: Counters) -> [u32; 4] {
    [0, 32, 64, 96].map(|shift| (all >> shift) as u32)
}

/// How the counters of live items by size, and of pinned lanes, change in each slot.
struct Changes {
    sized: Vec<Counters>,
    /// Empty if no lane is pinned.
    pinned: Vec<Counters>,
}

impl Changes {
    fn add(&mut self, prepared: &Prepared, item: &Item) {
        let groups = usize::from(item.groups);
        if groups == 1 {
            let size = sized(item.group_lanes[0]);
            for &(start, end) in item.segs_of(prepared, 0) {
                shift(&mut self.sized, start, end, size);
            }
        } else {
            self.add_groups(prepared, item);
        }
        if self.pinned.is_empty() {
            return;
        }
        for group in (0..groups).filter(|&g| item.group_pins[g] != 0) {
            for &(start, end) in item.segs_of(prepared, group) {
                shift(&mut self.pinned, start, end, pinned(item.group_pins[group]));
            }
        }
    }

    /// The size of an item whose lanes begin and end at different times.
    fn add_groups(&mut self, prepared: &Prepared, item: &Item) {
        // Slots with the change there, 8 added to it, in the low byte.
        let mut edges: SmallVec<[u64; 16]> = SmallVec::new();
        for group in 0..usize::from(item.groups) {
            let lanes = u64::from(item.group_lanes[group]);
            for &(start, end) in item.segs_of(prepared, group) {
                edges.push(u64::from(start) << 8 | (8 + lanes));
                edges.push(u64::from(end) << 8 | (8 - lanes));
            }
        }
        // Ends come before starts, so the count never exceeds the width.
        edges.sort_unstable();
        let mut live = 0u8;
        for &edge in edges.as_slice() {
            let before = sized(live);
            live = (live + (edge & 0xff) as u8).saturating_sub(8);
            let entry = &mut self.sized[(edge >> 8) as usize];
            *entry = entry.wrapping_add(sized(live)).wrapping_sub(before);
        }
    }
}

/// Counts `what` in the slots `start..end`.
fn shift(changes: &mut [Counters], start: u32, end: u32, what: Counters) {
    let first = &mut changes[start as usize];
    *first = first.wrapping_add(what);
    let last = &mut changes[end as usize];
    *last = last.wrapping_sub(what);
}

/// The bounds of the items that `include` takes, without arrays.
fn class_bounds(prepared: &Prepared, include: impl Fn(&Item) -> bool) -> Bounds {
    let pins = if prepared.pins { prepared.slots + 1 } else { 0 };
    let mut changes = Changes {
        sized: vec![0; prepared.slots + 1],
        pinned: vec![0; pins],
    };
    for item in prepared.items.iter().filter(|i| include(i)) {
        changes.add(prepared, item);
    }
    // An item whose lanes are never live still needs a place.
    let mut bounds = Bounds {
        channels: 1,
        packing: 1,
    };
    let mut live: Counters = 0;
    for &change in &changes.sized {
        live = live.wrapping_add(change);
        let [one, two, three, four] = counts(live);
        let channels = one + 2 * two + 3 * three + 4 * four;
        let ones = one.saturating_sub(three);
        let packing = four + three + (2 * two + ones).div_ceil(4);
        bounds.channels = bounds.channels.max(channels.div_ceil(4));
        bounds.packing = bounds.packing.max(packing);
    }
    let mut live: Counters = 0;
    for &change in &changes.pinned {
        live = live.wrapping_add(change);
        bounds.packing = counts(live).into_iter().fold(bounds.packing, u32::max);
    }
    bounds
}
