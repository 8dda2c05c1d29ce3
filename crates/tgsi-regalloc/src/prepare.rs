//! Checks a problem and lays it out for the allocator: flat arrays, time in
//! slots, lanes of a register with equal live ranges merged into groups.

use crate::{AllocError, Array, LaneFault, Placed, Point, Reg};

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

/// Validates and lays out the problem of `regs` and `arrays`.
pub(crate) fn prepare<'a>(
    regs: impl ExactSizeIterator<Item = Reg<'a>>,
    arrays: &[Array],
) -> Result<Prepared, AllocError> {
    let mut array_base = Vec::with_capacity(arrays.len());
    let mut array_temps = 0u32;
    for array in arrays {
        array_base.push(array_temps);
        array_temps = array_temps
            .checked_add(array.len)
            .ok_or(AllocError::TooLarge)?;
    }
    let count = u32::try_from(regs.len()).map_err(|_| AllocError::TooLarge)?;
    array_temps.checked_add(count).ok_or(AllocError::TooLarge)?;

    let mut prepared = Prepared {
        items: Vec::with_capacity(regs.len()),
        segs: Vec::with_capacity(regs.len() * 2),
        slots: 0,
        preference: [0, 1, 2, 3],
        pins: false,
        at_once: true,
        pairs: false,
        array_temps,
        array_base,
    };
    let mut demand = [0u64; 4];
    for (index, reg) in regs.enumerate() {
        let item = lay_out(&reg, &mut prepared.segs).map_err(|(lane, fault)| {
            AllocError::MalformedLane {
                vreg: index,
                lane,
                fault,
            }
        })?;
        prepared.pairs |= reg.pair != 0;
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
    let last = prepared.segs.iter().fold(0, |last, s| s.0.max(last)) as usize;
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
        let mut at_once = true;
        for (group, &(from, to)) in item.segs.iter().enumerate().take(item.groups.into()) {
            let first = match prepared.segs.get(from as usize) {
                Some(first) if from < to => first.0,
                _ => {
                    at_once = false;
                    continue;
                }
            };
            at_once &= to - from == 1 && (group == 0 || first == item.slot);
            item.slot = item.slot.min(first);
        }
        item.at_once = at_once;
        prepared.at_once &= at_once;
    }
}

/// The item of a register, its segments added to `segs`; or the lane that breaks a rule.
#[inline]
fn lay_out(reg: &Reg<'_>, segs: &mut Vec<(u32, u32)>) -> Result<Item, (usize, LaneFault)> {
    let width = usize::from(reg.width);
    if !(1..=4).contains(&width) {
        return Err((width.min(4), LaneFault::Count));
    }
    let mut item = Item {
        start: Point::MAX,
        end: 0,
        slot: u32::MAX,
        width: reg.width,
        precise: reg.precise,
        at_once: false,
        pins: 0,
        constrained: reg.pair != 0,
        group_of: [0; 4],
        groups: 0,
        group_lanes: [0; 4],
        group_pins: [0; 4],
        allowed: [0xf; 4],
        follows: reg.pair << 1,
        segs: [(0, 0); 4],
    };
    for lane in 0..width {
        let live = reg.live[lane];
        let groups = usize::from(item.groups);
        let known = (0..groups).find(|&group| {
            let (from, to) = item.segs[group];
            segs[from as usize..to as usize] == *live
        });
        let group = match known {
            Some(group) => group,
            None => {
                check_segments(live).map_err(|fault| (lane, fault))?;
                if let (Some(first), Some(last)) = (live.first(), live.last()) {
                    item.start = item.start.min(first.0);
                    item.end = item.end.max(last.1);
                }
                let from = segs.len() as u32;
                segs.extend_from_slice(live);
                item.segs[groups] = (from, segs.len() as u32);
                item.groups += 1;
                groups
            }
        };
        item.group_of[lane] = group as u8;
        item.group_lanes[group] += 1;
        if let Some(channel) = reg.pinned[lane] {
            if channel > 3 || item.pins >> channel & 1 == 1 {
                return Err((lane, LaneFault::Pin));
            }
            item.constrained = true;
            item.group_pins[group] |= 1 << channel;
            item.pins |= 1 << channel;
            item.allowed[lane] = 1 << channel;
        }
    }
    if reg.pair != 0 {
        pair_up(reg, &mut item.allowed)?;
    }
    Ok(item)
}

/// Segments are sorted, disjoint and not empty.
#[inline]
fn check_segments(segs: &[(Point, Point)]) -> Result<(), LaneFault> {
    let mut from = 0;
    for &(start, end) in segs {
        if start >= end || start < from {
            return Err(LaneFault::Segments);
        }
        from = end;
    }
    Ok(())
}

/// Leaves in `allowed` the channels that 64-bit pairs may take.
fn pair_up(reg: &Reg<'_>, allowed: &mut [u8; 4]) -> Result<(), (usize, LaneFault)> {
    let width = usize::from(reg.width);
    for l in 0..8 {
        if reg.pair >> l & 1 == 0 {
            continue;
        }
        if l + 1 >= width || reg.pair >> (l + 1) & 1 == 1 {
            return Err((l, LaneFault::Pair));
        }
        allowed[l] &= 0b0101 & (allowed[l + 1] >> 1);
        allowed[l + 1] &= allowed[l] << 1;
    }
    // A width of four lanes leaves no choice of which to leave out, so the
    // constraints may contradict each other; try them on an empty temporary.
    if matching(width, allowed, reg.pair << 1, &[0, 1, 2, 3]).is_none() {
        let lane = (reg.pair.trailing_zeros() as usize).min(width - 1);
        return Err((lane, LaneFault::Pair));
    }
    Ok(())
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
