//! Runs in at most sixteen temporaries: all their channels are one word, and what is
//! busy when is a table with one word for each slot.

use crate::alloc::{EACH_TEMP, Mode};
use crate::occupancy::TEMPS_PER_WORD;
use crate::prepare::{Item, Prepared, matching};
use crate::{Placed, Point};

/// One run and its scratch memory.
pub(crate) struct Small {
    /// The busy channels in each slot.
    busy: Vec<u64>,
    /// Temporaries in use.
    pub(crate) opened: u32,
    /// Last death in each temporary.
    death: [Point; TEMPS_PER_WORD as usize],
    /// All four bits of each temporary that holds precise registers.
    precise: u64,
}

/// Why a run stopped.
pub(crate) enum Stop {
    /// The item at this position of the order did not fit under the cap.
    Full(usize),
    /// More temporaries are allowed than are taken on here.
    TooLarge,
}

/// The busy channels of each group of an item; all are busy for groups it does not have.
type Sets = [u64; 4];

impl Small {
    pub(crate) fn new(prepared: &Prepared) -> Small {
        Small {
            busy: vec![0; prepared.slots],
            opened: 0,
            death: [0; TEMPS_PER_WORD as usize],
            precise: 0,
        }
    }

    /// Whether the table is worth its cost: a long segment takes a look at each of its slots.
    pub(crate) fn suits(prepared: &Prepared, goal: u32) -> bool {
        let total: u64 = prepared.segs.iter().map(|s| u64::from(s.1 - s.0)).sum();
        goal <= TEMPS_PER_WORD && total <= 128 * prepared.segs.len() as u64
    }

    /// Places all items in `order` into at most `cap` temporaries.
    pub(crate) fn run(
        &mut self,
        prepared: &Prepared,
        order: &[u32],
        cap: u32,
        mode: Mode,
        separate: bool,
        place: &mut [Placed],
    ) -> Result<(), Stop> {
        self.busy.fill(0);
        self.death.fill(0);
        (self.opened, self.precise) = (0, 0);
        // If nothing begins later than its register, what is busy when a segment starts is all
        // that is busy during it.
        let scan = mode == Mode::InOrder && prepared.at_once;
        for (position, &index) in order.iter().enumerate() {
            let item = &prepared.items[index as usize];
            let one_set = scan || item.groups == 1;
            let sets = self.sets(prepared, item, scan, one_set);
            let fit = self.best_fit(item, &sets, one_set, separate);
            let temp = match fit {
                Some(temp) => temp,
                None if self.opened >= cap => return Err(Stop::Full(position)),
                None if self.opened == TEMPS_PER_WORD => return Err(Stop::TooLarge),
                None => self.open(item),
            };
            let chans = channels(prepared, item, &sets, one_set, 4 * temp);
            place[index as usize] = Placed { temp, chans };
            self.put(prepared, item, temp, &chans);
        }
        Ok(())
    }

    fn open(&mut self, item: &Item) -> u32 {
        let temp = self.opened;
        self.opened += 1;
        if item.precise {
            self.precise |= 0xf << (4 * temp);
        }
        temp
    }

    /// What is busy for each group; `one_set` if that is the same for all lanes.
    fn sets(&self, prepared: &Prepared, item: &Item, scan: bool, one_set: bool) -> Sets {
        let mut sets = [u64::MAX; 4];
        let groups = if one_set { 1 } else { usize::from(item.groups) };
        for (group, set) in sets.iter_mut().enumerate().take(groups) {
            *set = 0;
            for &(lo, hi) in item.segs_of(prepared, group) {
                let hi = if scan { lo + 1 } else { hi };
                let slots = &self.busy[lo as usize..hi as usize];
                *set |= slots.iter().fold(0, |all, busy| all | busy);
            }
        }
        sets
    }

    /// The open temporary that fits `item` best: fewest channels left over, then the death
    /// closest to the item's, then the lowest number.
    fn best_fit(&self, item: &Item, sets: &Sets, one_set: bool, separate: bool) -> Option<u32> {
        let mut free = !(sets[0] & sets[1] & sets[2] & sets[3]);
        if self.opened < TEMPS_PER_WORD {
            free &= (1 << (4 * self.opened)) - 1;
        }
        if separate {
            free &= if item.precise {
                self.precise
            } else {
                !self.precise
            };
        }
        let trivial = one_set && !item.constrained;
        let counts = set_bits(free);
        for left in item.width..=4 {
            let mut exact = equal(counts, left);
            let mut best: Option<(Point, u32)> = None;
            while exact != 0 {
                let shift = exact.trailing_zeros();
                exact &= exact - 1;
                let apart = self.death[shift as usize / 4].abs_diff(item.end);
                if best.is_none_or(|b| apart < b.0) && (trivial || fits(item, sets, one_set, shift))
                {
                    best = Some((apart, shift / 4));
                }
            }
            if let Some((_, temp)) = best {
                return Some(temp);
            }
        }
        None
    }

    /// Records that `item` takes `chans` of `temp`.
    fn put(&mut self, prepared: &Prepared, item: &Item, temp: u32, chans: &[u8; 4]) {
        let death = &mut self.death[temp as usize];
        *death = (*death).max(item.end);
        let mut bits = [0u64; 4];
        for (&chan, &group) in chans.iter().zip(&item.group_of).take(item.width.into()) {
            bits[usize::from(group & 3)] |= 1 << (4 * temp + u32::from(chan & 3));
        }
        for (group, &bits) in bits.iter().enumerate().take(item.groups.into()) {
            for &(lo, hi) in item.segs_of(prepared, group) {
                for busy in &mut self.busy[lo as usize..hi as usize] {
                    *busy |= bits;
                }
            }
        }
    }
}

/// The channels each lane may take in the temporary at `shift`.
fn masks(item: &Item, sets: &Sets, one_set: bool, shift: u32) -> [u8; 4] {
    let mut masks = item.allowed;
    for (mask, &group) in masks.iter_mut().zip(&item.group_of) {
        let group = if one_set { 0 } else { usize::from(group & 3) };
        *mask &= !(sets[group] >> shift) as u8;
    }
    masks
}

/// Whether the lanes find distinct channels in the temporary at `shift`, in which some lane
/// finds as many free as there are lanes.
fn fits(item: &Item, sets: &Sets, one_set: bool, shift: u32) -> bool {
    if item.follows != 0 {
        let masks = masks(item, sets, one_set, shift);
        return matching(item.width.into(), &masks, item.follows, &[0, 1, 2, 3]).is_some();
    }
    if one_set {
        return sets[0] >> shift & u64::from(item.pins) == 0;
    }
    // Pinned lanes take theirs. The others find places if every choice of groups has as many
    // channels among them as lanes.
    let mut open = [0u8; 16];
    let mut lanes = [0u8; 16];
    for (group, set) in sets.iter().enumerate().take(item.groups.into()) {
        let free = !(set >> shift) as u8 & 0xf;
        let pins = item.group_pins[group];
        if pins & !free != 0 {
            return false;
        }
        let one = 1 << group;
        for others in 0..one {
            let union = open[others] | (free & !item.pins);
            let count = lanes[others] + item.group_lanes[group] - ones(pins);
            if ones(union) < count {
                return false;
            }
            (open[one | others], lanes[one | others]) = (union, count);
        }
    }
    true
}

/// The channels that the lanes take in the temporary at `shift`, where they fit.
fn channels(prepared: &Prepared, item: &Item, sets: &Sets, one_set: bool, shift: u32) -> [u8; 4] {
    let mut preference = prepared.preference;
    if prepared.pairs {
        // Break into a free half last.
        let masks = masks(item, sets, one_set, shift);
        let free = masks[0] | masks[1] | masks[2] | masks[3];
        preference.sort_by_key(|&c| free >> (c ^ 1) & 1);
    }
    if !one_set || item.follows != 0 {
        let masks = masks(item, sets, one_set, shift);
        let found = matching(item.width.into(), &masks, item.follows, &preference);
        return found.unwrap_or([Placed::NO_LANE; 4]);
    }
    // All lanes choose from one set: pinned ones take theirs, the others the rest.
    let open = !(sets[0] >> shift) as u8 & !item.pins;
    let mut rest = preference.iter().filter(|&&c| open >> c & 1 == 1);
    let mut chans = [Placed::NO_LANE; 4];
    for (chan, allowed) in chans.iter_mut().zip(item.allowed).take(item.width.into()) {
        *chan = match allowed.is_power_of_two() {
            true => allowed.trailing_zeros() as u8,
            false => rest.next().copied().unwrap_or(Placed::NO_LANE),
        };
    }
    chans
}

/// The number of ones in each group of four bits.
#[inline]
fn set_bits(set: u64) -> u64 {
    let pairs = set - (set >> 1 & 0x5555_5555_5555_5555);
    (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
}

/// The low bit of each group of four bits that is `count`; groups and `count` are 7 at most.
#[inline]
fn equal(counts: u64, count: u8) -> u64 {
    let different = counts ^ (EACH_TEMP * u64::from(count));
    !(different + 7 * EACH_TEMP) >> 3 & EACH_TEMP
}

/// The number of ones among the low four bits.
fn ones(set: u8) -> u8 {
    (0x4332_3221_3221_2110_u64 >> (4 * (set & 0xf)) & 7) as u8
}

#[cfg(test)]
mod tests {
    use super::{equal, set_bits};

    #[test]
    fn groups_of_so_many_bits_are_found() {
        let all = 0xfedc_ba98_7654_3210_u64;
        for count in 0..=4u8 {
            let found = equal(set_bits(all), count);
            for group in 0..16u32 {
                let wanted = group.count_ones() == u32::from(count);
                assert_eq!(found >> (4 * group) & 0xf, u64::from(wanted));
            }
        }
    }

    #[test]
    fn ones_counts() {
        for set in 0..16u8 {
            assert_eq!(u32::from(super::ones(set)), set.count_ones());
        }
    }
}
