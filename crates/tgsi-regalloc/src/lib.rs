//! Allocation of vec4 temporaries by channel, and a checker of the result that
//! shares no code with the allocator.
//!
//! The crate knows no instruction set and no intermediate representation: live
//! ranges go in, places come out.
//!
//! # The problem
//!
//! A [`VReg`] has one to four [`Lane`]s that must all sit in one temporary, in
//! distinct channels. Each lane has its own [`LiveRange`], so a channel is free
//! for others as soon as its lane is dead, and in the holes between. A temporary
//! is thus a bin of capacity 4 over time, and the task is temporal bin packing.
//! Swizzles are free, so channels need no order and no contiguity, except for
//! pinned lanes and 64-bit pairs.
//!
//! # Program points
//!
//! Instruction `i` reads at `2 * i` and writes at `2 * i + 1`. A value written by
//! `i` and last read by `j` is live in `[2 * i + 1, 2 * j + 1)`, so an instruction
//! may write into a channel whose value dies at it. A value that is never read
//! still occupies `[2 * i + 1, 2 * i + 2)`.
//!
//! # Entry points
//!
//! * [`allocate`]: places every virtual register and array; [`allocate_regs`] does so without
//!   a [`Problem`] in memory.
//! * [`lower_bounds`]: how few temporaries any allocation could do with; a result
//!   that meets it is proven optimal.
//! * [`checker::check`]: does each read find its value on every path?

use std::fmt;

use smallvec::SmallVec;

mod alloc;
mod bounds;
pub mod checker;
mod exact;
mod occupancy;
mod prepare;
mod rng;
mod scan;
mod small;

pub use alloc::{allocate, allocate_regs};
pub use bounds::{Bounds, lower_bounds, lower_bounds_with};

/// A program point: instruction `i` reads at `2 * i` and writes at `2 * i + 1`.
pub type Point = u32;

/// The points at which a value must be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LiveRange {
    /// Sorted, disjoint, non-empty half-open segments. Holes are allowed: they
    /// come from structured control flow laid out in a line.
    pub segs: SmallVec<[(Point, Point); 2]>,
}

impl LiveRange {
    /// The range `[start, end)`; empty if `end <= start`.
    pub fn new(start: Point, end: Point) -> LiveRange {
        LiveRange::from_segments([(start, end)])
    }

    /// The union of any half-open segments, in any order: sorts, merges what
    /// overlaps or touches, drops what is empty.
    pub fn from_segments(segments: impl IntoIterator<Item = (Point, Point)>) -> LiveRange {
        let mut raw: SmallVec<[(Point, Point); 8]> =
            segments.into_iter().filter(|s| s.0 < s.1).collect();
        raw.sort_unstable();
        let mut segs: SmallVec<[(Point, Point); 2]> = SmallVec::new();
        for (start, end) in raw {
            match segs.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => segs.push((start, end)),
            }
        }
        LiveRange { segs }
    }

    /// The first live point.
    pub fn start(&self) -> Option<Point> {
        self.segs.first().map(|s| s.0)
    }

    /// The first point after the last live one.
    pub fn end(&self) -> Option<Point> {
        self.segs.last().map(|s| s.1)
    }

    /// Whether no point is live.
    pub fn is_empty(&self) -> bool {
        self.segs.is_empty()
    }

    /// Whether some point is live in both ranges.
    pub fn overlaps(&self, other: &LiveRange) -> bool {
        let (mut a, mut b) = (self.segs.as_slice(), other.segs.as_slice());
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            if x.0.max(y.0) < x.1.min(y.1) {
                return true;
            }
            if x.1 <= y.1 { a = &a[1..] } else { b = &b[1..] }
        }
        false
    }
}

/// One scalar of a virtual register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// When its value must be kept. May be empty: the lane then takes a channel
    /// of its own within its register but conflicts with nothing else.
    pub live: LiveRange,
    /// The channel (0..4) it must take, as the results of texture fetches do.
    pub pinned: Option<u8>,
}

impl Lane {
    /// A lane that may take any channel.
    pub fn free(live: LiveRange) -> Lane {
        Lane { live, pinned: None }
    }

    /// A lane that must take `channel`.
    pub fn pinned(live: LiveRange, channel: u8) -> Lane {
        Lane {
            live,
            pinned: Some(channel),
        }
    }
}

/// A virtual register: lanes that must share a temporary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VReg {
    /// One to four lanes.
    pub lanes: SmallVec<[Lane; 4]>,
    /// Must not share a temporary with a register that is not precise, at any
    /// time, under [`Options::separate_precise`].
    pub precise: bool,
    /// Bit `i` set: lanes `i` and `i + 1` form a 64-bit pair and take channels
    /// (x, y) or (z, w), in this order.
    pub pair: u8,
}

/// A contiguous run of whole temporaries, live throughout and opaque. Arrays are
/// placed first, in order, at the lowest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Array {
    /// Number of temporaries.
    pub len: u32,
    /// The caller's name for it; not used here.
    pub id: u32,
}

/// What to place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The virtual registers.
    pub vregs: Vec<VReg>,
    /// The indirectly addressed arrays.
    pub arrays: Vec<Array>,
}

/// A virtual register by reference: what [`VReg`] says, for callers that keep live ranges
/// in their own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reg<'a> {
    /// Number of lanes, one to four.
    pub width: u8,
    /// When the value of each lane must be kept: sorted, disjoint, non-empty half-open segments.
    pub live: [&'a [(Point, Point)]; 4],
    /// The channel (0..4) that each lane must take, if any.
    pub pinned: [Option<u8>; 4],
    /// As [`VReg::precise`].
    pub precise: bool,
    /// As [`VReg::pair`].
    pub pair: u8,
}

impl VReg {
    /// The register by reference. Lanes behind the fifth are left out: five are as wrong as more.
    pub fn as_reg(&self) -> Reg<'_> {
        let mut reg = Reg {
            width: self.lanes.len().min(5) as u8,
            precise: self.precise,
            pair: self.pair,
            ..Reg::default()
        };
        for (index, lane) in self.lanes.iter().enumerate().take(4) {
            reg.live[index] = lane.live.segs.as_slice();
            reg.pinned[index] = lane.pinned;
        }
        reg
    }
}

/// How to place it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Further runs in orders improved from the failures of earlier ones, tried
    /// while the result is above the lower bound.
    pub restarts: u32,
    /// The most temporaries the target has, arrays included.
    pub limit: Option<u32>,
    /// Steps of an exact search for fewer temporaries, made while the result is above the lower
    /// bound. 0 is none, unless the result misses `limit`.
    pub exact: u32,
    /// A result with more temporaries is of no use to the caller: where none can have so
    /// few, none is looked for.
    pub useful: Option<u32>,
    /// Keep precise registers and others in different temporaries.
    pub separate_precise: bool,
    /// Seed of the jitter. Equal inputs give equal results.
    pub seed: u64,
    /// Begin in an order by the seed in place of the good ones: for tests of what comes out then.
    pub any_order: bool,
}

/// Where one virtual register went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Number of the temporary.
    pub temp: u32,
    /// The channel (0..4) of each lane; [`Placed::NO_LANE`] past the last lane.
    pub chans: [u8; 4],
}

impl Placed {
    /// Stands in [`Placed::chans`] for a lane the register does not have.
    pub const NO_LANE: u8 = u8::MAX;
}

/// A complete placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// The place of each virtual register, in the order of [`Problem::vregs`].
    pub place: Vec<Placed>,
    /// The first temporary of each array, in the order of [`Problem::arrays`].
    pub array_base: Vec<u32>,
    /// Number of temporaries, numbered `0..temps` without gaps: arrays first, the
    /// rest by first use.
    pub temps: u32,
    /// No assignment under the same options has fewer temporaries: the bound that
    /// [`lower_bounds_with`] calls `packing`, or more where the exact search proved it.
    pub bound: u32,
    /// A quarter of the most channels live at once, rounded up: the bound that
    /// [`lower_bounds_with`] calls `channels`.
    pub channel_bound: u32,
}

/// Why there is no assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// The best assignment found is larger than [`Options::limit`].
    OverLimit {
        /// Temporaries of the best assignment found.
        needed: u32,
        /// The limit.
        limit: u32,
        /// No assignment has fewer; above `limit` it proves that none fits.
        bound: u32,
    },
    /// Every assignment has more temporaries than [`Options::useful`].
    Useless {
        /// No assignment has fewer.
        bound: u32,
    },
    /// A virtual register breaks the rules of its type.
    MalformedLane {
        /// Index into [`Problem::vregs`].
        vreg: usize,
        /// Index of the lane.
        lane: usize,
        /// Which rule.
        fault: LaneFault,
    },
    /// The arrays, registers or segments are more than 32-bit numbers can count.
    TooLarge,
}

/// The rule a lane breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneFault {
    /// A register has one to four lanes.
    Count,
    /// Segments are sorted, disjoint and not empty.
    Segments,
    /// A pin is a channel number below 4, used by one lane only.
    Pin,
    /// A pair has two lanes, overlaps no other pair, and is pinned either not at
    /// all or as a whole or half to (x, y) or (z, w); and the lanes beside it have
    /// room.
    Pair,
}

impl fmt::Display for LaneFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LaneFault::Count => "a register has one to four lanes",
            LaneFault::Segments => "live segments are not sorted, disjoint and non-empty",
            LaneFault::Pin => "the pinned channel is out of range or taken by another lane",
            LaneFault::Pair => "the 64-bit pair cannot be placed",
        })
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::OverLimit {
                needed,
                limit,
                bound,
            } if bound > limit => {
                write!(
                    f,
                    "needs {needed} temporaries, at least {bound}; the limit is {limit}"
                )
            }
            AllocError::OverLimit {
                needed,
                limit,
                bound,
            } => write!(
                f,
                "found no assignment below {needed} temporaries (lower bound {bound}); \
                 the limit is {limit}"
            ),
            AllocError::Useless { bound } => {
                write!(
                    f,
                    "needs at least {bound} temporaries, more than are of use"
                )
            }
            AllocError::MalformedLane { vreg, lane, fault } => {
                write!(f, "virtual register {vreg}, lane {lane}: {fault}")
            }
            AllocError::TooLarge => f.write_str("the problem is too large to number"),
        }
    }
}

impl std::error::Error for AllocError {}
