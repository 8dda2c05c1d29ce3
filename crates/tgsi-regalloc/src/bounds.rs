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
//! Cost: O(n log n) for n live segments.

use crate::{Options, Point, Problem, VReg};

/// How few temporaries any assignment can do with, arrays included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// A quarter of the most channels live at once, rounded up.
    pub channels: u32,
    /// The most bins needed at any one point; never below `channels`.
    pub packing: u32,
}

/// The bounds of `problem` with precise registers free to share.
pub fn lower_bounds(problem: &Problem) -> Bounds {
    bounds_of(problem, |_| true).plus_arrays(problem)
}

/// The bounds of `problem` under `options`: with
/// [`Options::separate_precise`] those of the two classes add up.
pub fn lower_bounds_with(problem: &Problem, options: &Options) -> Bounds {
    if !options.separate_precise {
        return lower_bounds(problem);
    }
    let (a, b) = (
        bounds_of(problem, |v| v.precise),
        bounds_of(problem, |v| !v.precise),
    );
    Bounds {
        channels: a.channels.saturating_add(b.channels),
        packing: a.packing.saturating_add(b.packing),
    }
    .plus_arrays(problem)
}

impl Bounds {
    fn plus_arrays(self, problem: &Problem) -> Bounds {
        let arrays = problem
            .arrays
            .iter()
            .fold(0u32, |sum, a| sum.saturating_add(a.len));
        Bounds {
            channels: self.channels.saturating_add(arrays),
            packing: self.packing.saturating_add(arrays),
        }
    }
}

/// A change in what is live. Ends sort before starts at the same point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    point: Point,
    starts: bool,
    vreg: u32,
    lanes: u8,
    /// One bit a channel some lane of these is pinned to.
    pins: u8,
}

/// What is live at one point.
#[derive(Default)]
struct Live {
    channels: i64,
    /// Registers with 1, 2, 3, 4 live lanes, at 1..=4.
    sized: [i64; 5],
    /// Live lanes pinned to each channel.
    pinned: [i64; 4],
}

impl Live {
    fn bins(&self) -> i64 {
        let [_, one, two, three, four] = self.sized;
        let ones = (one - three).max(0);
        let packed = four + three + (2 * two + ones + 3) / 4;
        self.pinned.iter().copied().fold(packed, i64::max)
    }
}

fn bounds_of(problem: &Problem, include: impl Fn(&VReg) -> bool) -> Bounds {
    let mut events = Vec::with_capacity(problem.vregs.len() * 4);
    let mut any = false;
    for (index, vreg) in problem.vregs.iter().enumerate().filter(|(_, v)| include(v)) {
        any = true;
        push_events(index as u32, vreg, &mut events);
    }
    events.sort_unstable();

    let mut live = Live::default();
    let mut lanes = vec![0u8; problem.vregs.len()];
    // A register whose lanes are never live still needs a place.
    let (mut channels, mut packing) = (i64::from(any), i64::from(any));
    for (at, event) in events.iter().enumerate() {
        let count = &mut lanes[event.vreg as usize];
        let sign = if event.starts { 1 } else { -1 };
        live.channels += sign * i64::from(event.lanes);
        live.sized[usize::from(*count).min(4)] -= 1;
        *count = if event.starts {
            count.saturating_add(event.lanes)
        } else {
            count.saturating_sub(event.lanes)
        };
        live.sized[usize::from(*count).min(4)] += 1;
        for (channel, pinned) in live.pinned.iter_mut().enumerate() {
            *pinned += sign * i64::from(event.pins >> channel & 1);
        }
        let last_at_point = events
            .get(at + 1)
            .is_none_or(|next| next.point != event.point);
        if event.starts && last_at_point {
            channels = channels.max((live.channels + 3) / 4);
            packing = packing.max(live.bins());
        }
    }
    let number = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    Bounds {
        channels: number(channels),
        packing: number(packing),
    }
}

/// The events of one register, lanes with equal live ranges together.
fn push_events(index: u32, vreg: &VReg, events: &mut Vec<Event>) {
    let lanes = &vreg.lanes[..vreg.lanes.len().min(4)];
    for (l, lane) in lanes.iter().enumerate() {
        if lanes[..l].iter().any(|earlier| earlier.live == lane.live) {
            continue;
        }
        let (mut count, mut pins) = (0, 0);
        for other in lanes[l..].iter().filter(|other| other.live == lane.live) {
            count += 1;
            if let Some(channel) = other.pinned {
                pins |= 1u8.checked_shl(u32::from(channel)).unwrap_or(0);
            }
        }
        for &(start, end) in &lane.live.segs {
            let event = Event {
                point: start,
                starts: true,
                vreg: index,
                lanes: count,
                pins,
            };
            events.push(event);
            events.push(Event {
                point: end,
                starts: false,
                ..event
            });
        }
    }
}
