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

use crate::prepare::{Item, Prepared, prepare};
use crate::{Options, Problem};

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
    prepare(problem).map_or_else(
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
    if separate {
        add(class_bounds(prepared, |item| item.precise));
        add(class_bounds(prepared, |item| !item.precise));
    } else {
        add(class_bounds(prepared, |_| true));
    }
    bounds
}

/// Some lanes of one item begin or end.
#[derive(Clone, Copy)]
struct Event {
    /// The next event of the same kind in the same slot, or `NONE`.
    next: u32,
    item: u32,
    lanes: u8,
    /// The channels (bits 0..4) some of these lanes are pinned to.
    pins: u8,
}

const NONE: u32 = u32::MAX;

/// What is live in one slot.
#[derive(Default)]
struct Live {
    channels: u32,
    /// Items with 1, 2, 3, 4 live lanes, at 1..=4.
    sized: [u32; 5],
    /// Live lanes pinned to each channel.
    pinned: [u32; 4],
}

impl Live {
    fn bins(&self) -> u32 {
        let [_, one, two, three, four] = self.sized;
        let ones = one.saturating_sub(three);
        let packed = four + three + (2 * two + ones).div_ceil(4);
        self.pinned.iter().copied().fold(packed, u32::max)
    }

    /// Lanes of an item that has `before` live lanes begin.
    fn begin(&mut self, event: &Event, before: u8) -> u8 {
        let after = before + event.lanes;
        self.channels += u32::from(event.lanes);
        self.resize(before, after);
        for (channel, pinned) in self.pinned.iter_mut().enumerate() {
            *pinned += u32::from(event.pins >> channel & 1);
        }
        after
    }

    /// The reverse of [`Live::begin`].
    fn end(&mut self, event: &Event, before: u8) -> u8 {
        let after = before - event.lanes;
        self.channels -= u32::from(event.lanes);
        self.resize(before, after);
        for (channel, pinned) in self.pinned.iter_mut().enumerate() {
            *pinned -= u32::from(event.pins >> channel & 1);
        }
        after
    }

    fn resize(&mut self, before: u8, after: u8) {
        if before > 0 {
            self.sized[usize::from(before)] -= 1;
        }
        self.sized[usize::from(after)] += 1;
    }
}

/// The bounds of the items that `include` takes, without arrays.
fn class_bounds(prepared: &Prepared, include: impl Fn(&Item) -> bool) -> Bounds {
    let mut events: Vec<Event> = Vec::with_capacity(2 * prepared.segs.len());
    let mut starting = vec![NONE; prepared.slots + 1];
    let mut ending = vec![NONE; prepared.slots + 1];
    let mut any = false;
    for (index, item) in prepared
        .items
        .iter()
        .enumerate()
        .filter(|(_, i)| include(i))
    {
        any = true;
        for group in 0..usize::from(item.groups) {
            let (lanes, pins) = (item.group_lanes[group], item.group_pins[group]);
            for &(start, end) in item.segs_of(prepared, group) {
                for list in [&mut starting[start as usize], &mut ending[end as usize]] {
                    let next = std::mem::replace(list, events.len() as u32);
                    events.push(Event {
                        next,
                        item: index as u32,
                        lanes,
                        pins,
                    });
                }
            }
        }
    }

    let mut live = Live::default();
    let mut lanes = vec![0u8; prepared.items.len()];
    // An item whose lanes are never live still needs a place.
    let mut bounds = Bounds {
        channels: u32::from(any),
        packing: u32::from(any),
    };
    for (&start, &end) in starting.iter().zip(&ending) {
        let mut at = end;
        while let Some(event) = events.get(at as usize) {
            let count = &mut lanes[event.item as usize];
            *count = live.end(event, *count);
            at = event.next;
        }
        if start == NONE {
            continue;
        }
        let mut at = start;
        while let Some(event) = events.get(at as usize) {
            let count = &mut lanes[event.item as usize];
            *count = live.begin(event, *count);
            at = event.next;
        }
        bounds.channels = bounds.channels.max(live.channels.div_ceil(4));
        bounds.packing = bounds.packing.max(live.bins());
    }
    bounds
}
