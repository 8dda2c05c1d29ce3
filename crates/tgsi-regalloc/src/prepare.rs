//! Checks a problem and lays it out for the allocator: flat arrays, time in
//! slots, lanes of a register with equal live ranges merged into groups.

use crate::{AllocError, LaneFault, Placed, Point, Problem, VReg};

/// A virtual register, ready to place.
pub(crate) struct Item {
    /// First live point; `Point::MAX` if no lane is ever live.
    pub start: Point,
    /// First point after the last live one.
    pub end: Point,
    /// The slot of `start`; `u32::MAX` if no lane is ever live.
    pub slot: u32,
    /// Number of lanes.
    pub width: u8,
    pub precise: bool,
    /// Whether all lanes begin at `slot` and live without a hole.
    pub at_once: bool,
    /// The channels (bits 0..4) that lanes are pinned to.
    pub pins: u8,
    /// Whether any lane is pinned or part of a pair.
    pub constrained: bool,
    /// The lane's group, an index below `groups`.
    pub group_of: [u8; 4],
    /// Number of distinct live ranges.
    pub groups: u8,
    /// Number of lanes in each group.
    pub group_lanes: [u8; 4],
    /// The channels (bits 0..4) that lanes of each group are pinned to.
    pub group_pins: [u8; 4],
    /// The channels (bits 0..4) each lane may take, before occupancy.
    pub allowed: [u8; 4],
    /// Bit `i`: lane `i` takes the channel after that of lane `i - 1`.
    pub follows: u8,
    /// Each group's slot segments, as a range of [`Prepared::segs`].
    pub segs: [(u32, u32); 4],
}

/// The problem in the allocator's terms.
pub(crate) struct Prepared {
    pub items: Vec<Item>,
    /// Live segments in slots, those of a group contiguous.
    pub segs: Vec<(u32, u32)>,
    /// Number of slots.
    pub slots: usize,
    /// Channels in the order in which free lanes should take them: the least
    /// wanted by pinned lanes first.
    pub preference: [u8; 4],
    /// Whether any lane is pinned.
    pub pins: bool,
    /// Whether all items are [`Item::at_once`].
    pub at_once: bool,
    /// Whether there are pairs, so that half-free halves should be filled first.
    pub pairs: bool,
    /// Temporaries taken by arrays.
    pub array_temps: u32,
    /// The first temporary of each array.
    pub array_base: Vec<u32>,
}

impl Item {
    /// The slot segments of group `group`.
    pub(crate) fn segs_of<'a>(&self, prepared: &'a Prepared, group: usize) -> &'a [(u32, u32)] {
        let (from, to) = self.segs[group];
        &prepared.segs[from as usize..to as usize]
    }
}

/// Validates and lays out `problem`.
pub(crate) fn prepare(problem: &Problem) -> Result<Prepared, AllocError> {
    let mut array_base = Vec::with_capacity(problem.arrays.len());
    let mut array_temps = 0u32;
    for array in &problem.arrays {
        array_base.push(array_temps);
        array_temps = array_temps
            .checked_add(array.len)
            .ok_or(AllocError::TooLarge)?;
    }
    let count = u32::try_from(problem.vregs.len()).map_err(|_| AllocError::TooLarge)?;
    array_temps.checked_add(count).ok_or(AllocError::TooLarge)?;

    let mut prepared = Prepared {
        items: Vec::with_capacity(problem.vregs.len()),
        segs: Vec::with_capacity(problem.vregs.len() * 2),
        slots: 0,
        preference: [0, 1, 2, 3],
        pins: false,
        at_once: true,
        pairs: false,
        array_temps,
        array_base,
    };
    let mut demand = [0u64; 4];
    for (index, vreg) in problem.vregs.iter().enumerate() {
        let allowed = validate(index, vreg)?;
        let item = lay_out(vreg, allowed, &mut prepared.segs);
        prepared.pairs |= vreg.pair != 0;
        if item.pins != 0 {
            prepared.pins = true;
            for (channel, demand) in demand.iter_mut().enumerate() {
                *demand += u64::from(item.pins >> channel & 1);
            }
        }
        prepared.items.push(item);
    }
    if u32::try_from(prepared.segs.len()).is_err() {
        return Err(AllocError::TooLarge);
    }
    prepared.preference.sort_by_key(|&c| demand[usize::from(c)]);
    to_slots(&mut prepared);
    Ok(prepared)
}

/// Replaces points by slots in all segments.
fn to_slots(prepared: &mut Prepared) {
    let last = prepared.segs.iter().map(|s| s.0).max().unwrap_or(0) as usize;
    // Points are dense in practice: a table beats sorting and searching.
    if last <= 16 * prepared.segs.len() + 64 {
        // First which points are starts, then the slot of the first start at or
        // after each point.
        let mut table = vec![0u32; last + 2];
        for seg in &prepared.segs {
            table[seg.0 as usize] = 1;
        }
        let mut slots = 0;
        for entry in &mut table {
            slots += std::mem::replace(entry, slots);
        }
        for seg in &mut prepared.segs {
            let slot = |p: Point| table.get(p as usize).copied().unwrap_or(slots);
            *seg = (slot(seg.0), slot(seg.1));
        }
        prepared.slots = slots as usize;
    } else {
        let mut starts: Vec<Point> = prepared.segs.iter().map(|s| s.0).collect();
        starts.sort_unstable();
        starts.dedup();
        for seg in &mut prepared.segs {
            let slot = |p: Point| starts.partition_point(|&s| s < p) as u32;
            *seg = (slot(seg.0), slot(seg.1));
        }
        prepared.slots = starts.len();
    }
    for item in &mut prepared.items {
        let ranges = &item.segs[..usize::from(item.groups)];
        let first = |s: &(u32, u32)| prepared.segs[s.0 as usize].0;
        let firsts = ranges.iter().filter(|s| s.0 < s.1).map(first);
        item.slot = firsts.min().unwrap_or(u32::MAX);
        item.at_once = ranges
            .iter()
            .all(|s| s.1 - s.0 == 1 && first(s) == item.slot);
        prepared.at_once &= item.at_once;
    }
}

fn lay_out(vreg: &VReg, allowed: [u8; 4], segs: &mut Vec<(u32, u32)>) -> Item {
    let mut item = Item {
        start: Point::MAX,
        end: 0,
        slot: u32::MAX,
        width: vreg.lanes.len() as u8,
        precise: vreg.precise,
        at_once: false,
        pins: 0,
        constrained: vreg.pair != 0,
        group_of: [0; 4],
        groups: 0,
        group_lanes: [0; 4],
        group_pins: [0; 4],
        allowed,
        follows: vreg.pair << 1,
        segs: [(0, 0); 4],
    };
    let mut groups = 0;
    for (index, lane) in vreg.lanes.iter().enumerate().take(4) {
        let live = lane.live.segs.as_slice();
        if let (Some(first), Some(last)) = (live.first(), live.last()) {
            item.start = item.start.min(first.0);
            item.end = item.end.max(last.1);
        }
        let same = |&(from, to): &(u32, u32)| segs[from as usize..to as usize] == *live;
        let known = item.segs[..groups].iter().position(same);
        let group = known.unwrap_or_else(|| {
            let from = segs.len() as u32;
            segs.extend_from_slice(live);
            item.segs[groups] = (from, segs.len() as u32);
            groups += 1;
            groups - 1
        });
        item.group_of[index] = group as u8;
        item.group_lanes[group] += 1;
        if let Some(channel) = lane.pinned {
            item.constrained = true;
            item.group_pins[group] |= 1 << channel;
            item.pins |= 1 << channel;
        }
    }
    item.groups = groups as u8;
    item
}

/// Checks the rules of a register; the channels each of its lanes may take.
fn validate(index: usize, vreg: &VReg) -> Result<[u8; 4], AllocError> {
    let fault = |lane, fault| {
        Err(AllocError::MalformedLane {
            vreg: index,
            lane,
            fault,
        })
    };
    let width = vreg.lanes.len();
    if !(1..=4).contains(&width) {
        return fault(width.min(4), LaneFault::Count);
    }
    let mut allowed = [0xfu8; 4];
    let mut pins = 0u8;
    for (l, lane) in vreg.lanes.iter().enumerate() {
        let mut from = None;
        for &(start, end) in &lane.live.segs {
            if start >= end || from.is_some_and(|f| start < f) {
                return fault(l, LaneFault::Segments);
            }
            from = Some(end);
        }
        if let Some(channel) = lane.pinned {
            if channel > 3 || pins >> channel & 1 == 1 {
                return fault(l, LaneFault::Pin);
            }
            pins |= 1 << channel;
            allowed[l] = 1 << channel;
        }
    }
    if vreg.pair == 0 {
        return Ok(allowed);
    }
    for l in 0..8 {
        if vreg.pair >> l & 1 == 0 {
            continue;
        }
        if l + 1 >= width || vreg.pair >> (l + 1) & 1 == 1 {
            return fault(l, LaneFault::Pair);
        }
        allowed[l] &= 0b0101 & (allowed[l + 1] >> 1);
        allowed[l + 1] &= allowed[l] << 1;
    }
    // A width of four lanes leaves no choice of which to leave out, so the
    // constraints may contradict each other; try them on an empty temporary.
    if matching(width, &allowed, vreg.pair << 1, &[0, 1, 2, 3]).is_none() {
        let lane = (vreg.pair.trailing_zeros() as usize).min(width - 1);
        return fault(lane, LaneFault::Pair);
    }
    Ok(allowed)
}

/// Distinct channels for `width` lanes, lane `l` from `masks[l]`, trying channels
/// in the order of `preference`; lanes in `follows` take the channel after the
/// lane before. At most 24 leaves.
pub(crate) fn matching(
    width: usize,
    masks: &[u8; 4],
    follows: u8,
    preference: &[u8; 4],
) -> Option<[u8; 4]> {
    let mut chans = [Placed::NO_LANE; 4];
    // The rank in `preference` to try next for each lane.
    let mut next = [0usize; 4];
    let mut used = 0u8;
    let mut lane = 0;
    while lane < width.min(4) {
        let follow = (follows >> lane & 1 == 1 && lane > 0)
            .then(|| 1u8.checked_shl(u32::from(chans[lane - 1]) + 1).unwrap_or(0));
        let open = masks[lane] & !used & follow.unwrap_or(0xf);
        match (next[lane]..4).find(|&rank| open >> preference[rank] & 1 == 1) {
            Some(rank) => {
                chans[lane] = preference[rank];
                next[lane] = rank + 1;
                used |= 1 << preference[rank];
                lane += 1;
            }
            None => {
                next[lane] = 0;
                lane = lane.checked_sub(1)?;
                used &= !(1 << chans[lane]);
            }
        }
    }
    Some(chans)
}
