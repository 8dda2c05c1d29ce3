//! The exact search: is there an assignment with so many temporaries?
//!
//! # Algorithm
//!
//! Branch and bound over the temporaries of registers. The register with the fewest temporaries left
//! is placed next, in each of them in turn; of those that hold nothing yet one is tried. After each step
//!
//! * the registers of the temporary must find channels. Mostly the new one does beside the others;
//!   else all of them are given channels anew, by a search of its own;
//! * the temporary is struck from the lists of registers that do not fit it any more, by the number of
//!   channels that are free in each slot and by the channels that lanes are pinned to;
//! * in each slot in which the register lives, what is not placed yet must fit into what is free: each 4
//!   takes an empty temporary, each 3 one with three free channels, and so on, as in [`crate::bounds`].
//!
//! The search begins with the registers that live around the slot where most is needed: if they do not
//! fit, nothing does. If they do, the region doubles, up to the whole program, and each search first tries
//! the temporaries that the last one found.
//!
//! # Cost
//!
//! Steps are counted: one for each temporary tried, and for each way of channels tried anew. A step
//! costs O(registers) word operations and O(slots in which the register lives).

use std::cmp::Reverse;

use crate::Placed;
use crate::prepare::{Item, Prepared, matching};

/// More temporaries than this are not searched.
pub(crate) const MOST_TEMPS: u32 = 128;

/// A set of temporaries.
type Temps = u128;

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// An assignment.
    Found(Vec<Placed>),
    /// There is none.
    Impossible,
    /// Not known: the steps ran out.
    Open,
}

/// Looks for an assignment of all registers to `temps` temporaries, arrays left out, within
/// `steps` steps, which are counted down.
pub(crate) fn decide(prepared: &Prepared, separate: bool, temps: u32, steps: &mut u32) -> Verdict {
    let count = prepared.items.len() as u32;
    if temps == 0 && count > 0 {
        return Verdict::Impossible;
    }
    if temps > MOST_TEMPS {
        return Verdict::Open;
    }
    let items = prepared.items.iter();
    let shapes: Vec<Shape> = items.map(|i| Shape::new(prepared, i)).collect();
    let peak = peak(prepared, &shapes);
    let mut hint = vec![NOWHERE; count as usize];
    let mut reach = 1 + prepared.slots as u32 / 4;
    loop {
        let (from, to) = (peak.saturating_sub(reach), peak.saturating_add(reach));
        let whole = from == 0 && to as usize >= prepared.slots;
        let inside = |shape: &Shape| shape.first <= to && shape.last >= from;
        let chosen = (0..count).filter(|&i| whole || inside(&shapes[i as usize]));
        let chosen = chosen.collect();
        let mut search = Search::new(prepared, &shapes, separate, temps, peak, chosen);
        match search.run(&hint, steps) {
            Ok(true) if whole => return Verdict::Found(search.place),
            Ok(true) => hint = search.place,
            Ok(false) => return Verdict::Impossible,
            Err(OutOfSteps) => return Verdict::Open,
        }
        reach = reach.saturating_mul(2);
    }
}

/// The steps have been used up.
struct OutOfSteps;

/// Counts a step down.
fn step(steps: &mut u32) -> Result<(), OutOfSteps> {
    *steps = steps.checked_sub(1).ok_or(OutOfSteps)?;
    Ok(())
}

/// Stands for a place not found yet.
const NOWHERE: Placed = Placed {
    temp: u32::MAX,
    chans: [Placed::NO_LANE; 4],
};

/// Slots as bits, in words from some word on.
#[derive(Clone, Debug, Default)]
struct Slots {
    from: usize,
    words: Vec<u64>,
}

impl Slots {
    fn spanning(first: u32, end: u32) -> Slots {
        let from = first as usize / 64;
        Slots {
            from,
            words: vec![0; (end as usize).div_ceil(64) - from],
        }
    }

    fn insert(&mut self, slot: u32) {
        self.words[slot as usize / 64 - self.from] |= 1 << (slot % 64);
    }

    /// Whether a slot is in both; `all` begins with the first slot of all.
    fn meet(&self, all: &[u64]) -> bool {
        let there = all.get(self.from..).unwrap_or(&[]);
        self.words.iter().zip(there).any(|(a, b)| a & b != 0)
    }
}

/// When a register lives, in the terms of this search.
struct Shape {
    /// First and last slot.
    first: u32,
    last: u32,
    /// Lanes that live in each slot, from `first` on.
    lanes: Vec<u8>,
    /// The slots in which one, two, three and four lanes live.
    by_lanes: [Slots; 4],
    /// The slots in which each group lives.
    groups: [Slots; 4],
}

impl Shape {
    fn new(prepared: &Prepared, item: &Item) -> Shape {
        let segs = |g: usize| item.segs_of(prepared, g);
        let groups = usize::from(item.groups);
        let mut shape = Shape {
            first: 0,
            last: 0,
            lanes: Vec::new(),
            by_lanes: Default::default(),
            groups: Default::default(),
        };
        let firsts = (0..groups).filter_map(|g| segs(g).first());
        let lasts = (0..groups).filter_map(|g| segs(g).last());
        let (Some(first), Some(end)) = (firsts.map(|s| s.0).min(), lasts.map(|s| s.1).max()) else {
            return shape;
        };
        (shape.first, shape.last) = (first, end - 1);
        shape.lanes = vec![0; (end - first) as usize];
        for g in 0..groups {
            shape.groups[g] = Slots::spanning(first, end);
            for slot in segs(g).iter().flat_map(|s| s.0..s.1) {
                shape.lanes[(slot - first) as usize] += item.group_lanes[g];
                shape.groups[g].insert(slot);
            }
        }
        for (slot, &lanes) in (first..).zip(&shape.lanes) {
            if let Some(slots) = shape.by_lanes.get_mut(usize::from(lanes).wrapping_sub(1)) {
                if slots.words.is_empty() {
                    *slots = Slots::spanning(first, end);
                }
                slots.insert(slot);
            }
        }
        shape
    }

    /// The slots in which lanes live, with their number.
    fn slots(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        let lanes = self.lanes.iter().copied();
        (self.first as usize..).zip(lanes).filter(|s| s.1 > 0)
    }
}

/// What is not placed and what is free in one slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Registers not placed of which so many lanes live.
    wanted: [u32; 5],
    /// Temporaries with so many free channels.
    free: [u32; 5],
}

impl Slot {
    /// Whether what is not placed may fit into what is free.
    fn fits(&self) -> bool {
        let [_, n1, n2, n3, n4] = self.wanted;
        let [_, f1, f2, f3, f4] = self.free;
        if n4 > f4 || n4 + n3 > f4 + f3 {
            return false;
        }
        let empty = f4 - n4 - n3.saturating_sub(f3);
        let twos = f2 + f3.saturating_sub(n3) + 2 * empty;
        n2 <= twos && n1 + 2 * n2 + 3 * n3 + 4 * n4 <= f1 + 2 * f2 + 3 * f3 + 4 * f4
    }
}

/// The slot in which most temporaries are needed, the first among equals.
fn peak(prepared: &Prepared, shapes: &[Shape]) -> u32 {
    let mut slots = vec![Slot::default(); prepared.slots];
    for (slot, lanes) in shapes.iter().flat_map(Shape::slots) {
        slots[slot].wanted[usize::from(lanes.min(4))] += 1;
    }
    let needed = |s: &Slot| {
        let [_, n1, n2, n3, n4] = s.wanted;
        let ones = n1.saturating_sub(n3);
        let bins = n4 + n3 + (2 * n2 + ones).div_ceil(4);
        (bins, n1 + 2 * n2 + 3 * n3 + 4 * n4)
    };
    let most = (0..slots.len()).max_by_key(|&at| (needed(&slots[at]), Reverse(at)));
    most.unwrap_or(0) as u32
}

/// A choice that is open to change.
struct Choice {
    item: u32,
    /// The temporaries that it may take, the first to try last.
    temps: Vec<u32>,
    /// Length of the trail before it.
    trail: usize,
    /// Temporaries in use before it.
    opened: u32,
}

/// What one temporary holds.
#[derive(Clone)]
struct Temp {
    items: Vec<u32>,
    precise: bool,
    /// The slots in which at least one, two, three and four channels are busy.
    busy: [Vec<u64>; 4],
    /// The slots in which each channel is busy.
    channels: [Vec<u64>; 4],
    /// The slots in which a lane that is pinned to each channel lives.
    pinned: [Vec<u64>; 4],
    /// The number of busy channels in each slot.
    count: Vec<u8>,
}

impl Temp {
    fn new(slots: usize) -> Temp {
        let none = || [(); 4].map(|()| vec![0; slots.div_ceil(64)]);
        Temp {
            items: Vec::new(),
            precise: false,
            busy: none(),
            channels: none(),
            pinned: none(),
            count: vec![0; slots],
        }
    }

    /// Whether there is room for the lanes of a register in each slot, whatever the channels.
    fn has_room(&self, item: &Item, shape: &Shape) -> bool {
        let crowded = |(lanes, slots): (usize, &Slots)| slots.meet(&self.busy[3 - lanes]);
        if shape.by_lanes.iter().enumerate().any(crowded) {
            return false;
        }
        let groups = shape.groups.iter().zip(item.group_pins);
        !groups
            .take(item.groups.into())
            .any(|(slots, pins)| (0..4).any(|c| pins >> c & 1 == 1 && slots.meet(&self.pinned[c])))
    }

    /// The channels that each lane of a register may take.
    fn masks(&self, item: &Item, shape: &Shape) -> [u8; 4] {
        let mut free = [0xfu8; 4];
        for (free, slots) in free.iter_mut().zip(&shape.groups).take(item.groups.into()) {
            for (chan, busy) in self.channels.iter().enumerate() {
                *free &= !(u8::from(slots.meet(busy)) << chan);
            }
        }
        let mut masks = item.allowed;
        for (mask, &group) in masks.iter_mut().zip(&item.group_of) {
            *mask &= free[usize::from(group & 3)];
        }
        masks
    }

    /// Makes channels busy where they are free, or the other way round.
    fn flip(&mut self, item: &Item, shape: &Shape, chans: &[u8; 4]) {
        let lanes = chans.iter().zip(&item.group_of).take(item.width.into());
        for (&chan, &group) in lanes {
            let slots = &shape.groups[usize::from(group & 3)];
            let busy = self.channels[usize::from(chan & 3)].iter_mut();
            for (busy, word) in busy.skip(slots.from).zip(&slots.words) {
                *busy ^= word;
            }
        }
    }

    /// Gives all registers channels anew; whether that is possible.
    fn color(
        &mut self,
        prepared: &Prepared,
        shapes: &[Shape],
        place: &mut [Placed],
        steps: &mut u32,
    ) -> Result<bool, OutOfSteps> {
        let mut order = self.items.clone();
        order.sort_unstable_by_key(|&i| (shapes[i as usize].first, i));
        let mut found: Vec<[u8; 4]> = Vec::with_capacity(order.len());
        let old = std::mem::take(&mut self.channels);
        self.channels = old.each_ref().map(|words| vec![0; words.len()]);
        // Of each item the ways that are left to try.
        let mut left: Vec<Vec<[u8; 4]>> = Vec::with_capacity(order.len());
        while let Some(&index) = order.get(found.len()) {
            let (item, shape) = (&prepared.items[index as usize], &shapes[index as usize]);
            if left.len() == found.len() {
                left.push(self.ways(item, shape, prepared.pins || prepared.pairs));
            }
            match left.last_mut().and_then(Vec::pop) {
                Some(chans) => {
                    step(steps)?;
                    self.flip(item, shape, &chans);
                    found.push(chans);
                }
                None => {
                    left.pop();
                    let Some(chans) = found.pop() else {
                        self.channels = old;
                        return Ok(false);
                    };
                    let index = order[found.len()] as usize;
                    self.flip(&prepared.items[index], &shapes[index], &chans);
                }
            }
        }
        for (&index, chans) in order.iter().zip(found) {
            place[index as usize].chans = chans;
        }
        Ok(true)
    }

    /// The ways in which a register can take channels, but for those that only differ by lanes or
    /// channels that are alike.
    fn ways(&self, item: &Item, shape: &Shape, by_channel: bool) -> Vec<[u8; 4]> {
        let masks = self.masks(item, shape);
        let width = usize::from(item.width);
        // For each channel the first one that is busy in the same slots.
        let alike = [0, 1, 2, 3].map(|chan: usize| {
            let same = |&c: &usize| self.channels[c] == self.channels[chan];
            (0..chan).find(same).unwrap_or(chan)
        });
        let mut ways: Vec<[u8; 4]> = Vec::new();
        let mut seen: Vec<[u16; 4]> = Vec::new();
        for way in 0..1u32 << (2 * width) {
            let mut chans = [Placed::NO_LANE; 4];
            let (mut used, mut good, mut key) = (0u8, true, [0u16; 4]);
            for lane in 0..width {
                let chan = (way >> (2 * lane) & 3) as u8;
                good &= masks[lane] & !used & 1 << chan != 0;
                good &= item.follows >> lane & 1 == 0 || lane > 0 && chan == chans[lane - 1] + 1;
                used |= 1 << chan;
                chans[lane] = chan;
                let group = usize::from(item.group_of[lane] & 3);
                if item.constrained {
                    key[lane] = chan.into();
                } else if by_channel {
                    key[group] |= 1 << chan;
                } else {
                    // How many channels of each kind.
                    key[group] += 1 << (4 * alike[usize::from(chan)]);
                }
            }
            if good && !seen.contains(&key) {
                seen.push(key);
                ways.push(chans);
            }
        }
        ways
    }
}

/// The state of one search.
struct Search<'a> {
    prepared: &'a Prepared,
    shapes: &'a [Shape],
    separate: bool,
    peak: u32,
    /// Items not placed.
    rest: Vec<u32>,
    place: Vec<Placed>,
    /// The open temporaries that may hold each item.
    room: Vec<Temps>,
    /// Changes of `room`: the item and what it was.
    trail: Vec<(u32, Temps)>,
    temps: Vec<Temp>,
    opened: u32,
    slots: Vec<Slot>,
}

impl<'a> Search<'a> {
    fn new(
        prepared: &'a Prepared,
        shapes: &'a [Shape],
        separate: bool,
        temps: u32,
        peak: u32,
        chosen: Vec<u32>,
    ) -> Search<'a> {
        let slot = Slot {
            free: [0, 0, 0, 0, temps],
            ..Slot::default()
        };
        let mut slots = vec![slot; prepared.slots];
        for (slot, lanes) in chosen.iter().flat_map(|&i| shapes[i as usize].slots()) {
            slots[slot].wanted[usize::from(lanes.min(4))] += 1;
        }
        Search {
            prepared,
            shapes,
            separate,
            peak,
            rest: chosen,
            place: vec![NOWHERE; prepared.items.len()],
            room: vec![0; prepared.items.len()],
            trail: Vec::new(),
            temps: vec![Temp::new(prepared.slots); temps as usize],
            opened: 0,
            slots,
        }
    }

    /// Whether all items fit.
    fn run(&mut self, hint: &[Placed], steps: &mut u32) -> Result<bool, OutOfSteps> {
        if !self.slots.iter().all(Slot::fits) {
            return Ok(false);
        }
        let mut choices: Vec<Choice> = Vec::new();
        'forward: loop {
            let Some(item) = self.next() else {
                return Ok(true);
            };
            choices.push(Choice {
                item,
                temps: self.candidates(item, hint[item as usize].temp),
                trail: self.trail.len(),
                opened: self.opened,
            });
            loop {
                let Some(choice) = choices.last_mut() else {
                    return Ok(false);
                };
                let Some(temp) = choice.temps.pop() else {
                    self.rest.push(choice.item);
                    choices.pop();
                    if let Some(before) = choices.last() {
                        self.take(before);
                    }
                    continue;
                };
                step(steps)?;
                if self.put(choice.item, temp, steps)? {
                    continue 'forward;
                }
                self.take(choice);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.opened as usize == self.temps.len()
    }

    /// Takes out the item that is to be placed next: the one with the fewest temporaries.
    fn next(&mut self) -> Option<u32> {
        let fresh = u32::from(!self.is_full());
        let key = |&index: &u32| {
            let (item, shape) = self.about(index);
            let late = shape.first.saturating_sub(self.peak);
            let early = self.peak.saturating_sub(shape.last);
            (
                self.room[index as usize].count_ones() + fresh,
                late.max(early),
                Reverse(item.width),
                Reverse(shape.last - shape.first),
                index,
            )
        };
        let (at, _) = self.rest.iter().enumerate().min_by_key(|(_, i)| key(i))?;
        Some(self.rest.swap_remove(at))
    }

    fn about(&self, index: u32) -> (&'a Item, &'a Shape) {
        let index = index as usize;
        (&self.prepared.items[index], &self.shapes[index])
    }

    /// The temporaries of an item, the first to try last: the one of the hint, those where the
    /// fewest channels are left over, then one that holds nothing.
    fn candidates(&self, index: u32, hint: u32) -> Vec<u32> {
        let room = self.room[index as usize];
        let open = (0..self.opened).filter(|t| room >> t & 1 == 1);
        let fresh = (!self.is_full()).then_some(self.opened);
        let mut temps: Vec<u32> = open.chain(fresh).collect();
        temps.sort_by_cached_key(|&t| {
            let left = match t == self.opened {
                true => u32::MAX,
                false => self.left(index, t),
            };
            Reverse((t != hint, left, t))
        });
        temps
    }

    /// Free channels beside an item in a temporary while it lives, on average, in quarters.
    fn left(&self, index: u32, temp: u32) -> u32 {
        let (mut free, mut count) = (0, 0);
        for (slot, lanes) in self.shapes[index as usize].slots() {
            let busy = self.temps[temp as usize].count[slot];
            free += u32::from(4u8.saturating_sub(busy + lanes));
            count += 1;
        }
        4 * free / u32::max(count, 1)
    }

    /// Puts an item into a temporary; whether all others may still fit.
    fn put(&mut self, index: u32, at: u32, steps: &mut u32) -> Result<bool, OutOfSteps> {
        let (item, shape) = self.about(index);
        let fresh = at == self.opened;
        let temp = &mut self.temps[at as usize];
        if fresh {
            self.opened += 1;
            temp.precise = item.precise;
        }
        temp.items.push(index);
        for (slot, lanes) in shape.slots() {
            let (count, entry) = (&mut temp.count[slot], &mut self.slots[slot]);
            entry.free[usize::from(4 - *count)] -= 1;
            *count += lanes;
            entry.free[usize::from(4 - *count)] += 1;
            entry.wanted[usize::from(lanes)] -= 1;
        }
        temp.note(item, shape, true);
        self.place[index as usize].temp = at;
        let masks = temp.masks(item, shape);
        match matching(
            item.width.into(),
            &masks,
            item.follows,
            &self.prepared.preference,
        ) {
            Some(chans) => {
                self.place[index as usize].chans = chans;
                temp.flip(item, shape, &chans);
            }
            None => {
                self.place[index as usize].chans = [Placed::NO_LANE; 4];
                if !temp.color(self.prepared, self.shapes, &mut self.place, steps)? {
                    return Ok(false);
                }
            }
        }
        if !shape.slots().all(|(slot, _)| self.slots[slot].fits()) {
            return Ok(false);
        }
        let bit: Temps = 1 << at;
        let (temp, full) = (&self.temps[at as usize], self.is_full());
        for &other in &self.rest {
            let (o, s) = self.about(other);
            let near = s.first <= shape.last && shape.first <= s.last;
            let was = self.room[other as usize];
            let mut now = was;
            if fresh && (!self.separate || temp.precise == o.precise) {
                now |= bit;
            }
            if now & bit != 0 && near && !temp.has_room(o, s) {
                now &= !bit;
            }
            if now != was {
                self.trail.push((other, was));
                self.room[other as usize] = now;
            }
            if now == 0 && full {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes back the last place of a choice, with all that followed from it.
    fn take(&mut self, choice: &Choice) {
        for (other, was) in self.trail.drain(choice.trail..).rev() {
            self.room[other as usize] = was;
        }
        self.opened = choice.opened;
        let (item, shape) = self.about(choice.item);
        let place = self.place[choice.item as usize];
        let temp = &mut self.temps[place.temp as usize];
        temp.items.pop();
        for (slot, lanes) in shape.slots() {
            let (count, entry) = (&mut temp.count[slot], &mut self.slots[slot]);
            entry.free[usize::from(4 - *count)] -= 1;
            *count -= lanes;
            entry.free[usize::from(4 - *count)] += 1;
            entry.wanted[usize::from(lanes)] += 1;
        }
        temp.note(item, shape, false);
        if place.chans[0] != Placed::NO_LANE {
            temp.flip(item, shape, &place.chans);
        }
        self.place[choice.item as usize] = NOWHERE;
    }
}

impl Temp {
    /// Brings the sets of busy slots in line with `count` where a register lives that has come or gone.
    fn note(&mut self, item: &Item, shape: &Shape, placed: bool) {
        for (slot, _) in shape.slots() {
            for (least, busy) in (1..).zip(&mut self.busy) {
                let (word, bit) = (&mut busy[slot / 64], 1 << (slot % 64));
                if self.count[slot] >= least {
                    *word |= bit;
                } else {
                    *word &= !bit;
                }
            }
        }
        for (slots, pins) in shape.groups.iter().zip(item.group_pins) {
            for chan in (0..4).filter(|c| pins >> c & 1 == 1) {
                let busy = self.pinned[chan].iter_mut().skip(slots.from);
                for (busy, word) in busy.zip(&slots.words) {
                    *busy = if placed { *busy | word } else { *busy & !word };
                }
            }
        }
    }
}
