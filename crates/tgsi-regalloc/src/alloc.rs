//! The allocator.
//!
//! # Algorithm
//!
//! One run takes the virtual registers in some order and puts each into the
//! temporary that fits best: all lanes find distinct channels that are free for
//! their whole live ranges, and the fewest channels free over the register's life
//! are left over; ties go to the temporary whose other contents die closest to
//! the register's own death, then to the lowest number. A new temporary is opened
//! only if no old one fits.
//!
//! 1. Arrays take the lowest numbers.
//! 2. Runs in fixed orders: by first point (program order); by width; registers
//!    that live long first, then program order; by length, if there may be restarts.
//! 3. While the best result is above the lower bound: up to `restarts` further
//!    runs, from the best order so far. A run may open one temporary fewer than the best so far; when it
//!    fails, the register that found no place moves to a random place before, and
//!    two neighbours are swapped at random, so that the next run fails elsewhere.
//! 4. If the result is above the limit, or on demand, an exact search ([`crate::exact`]) for fewer
//!    temporaries, within a counted number of steps.
//! 5. Temporaries are renumbered by first use.
//!
//! # Cost
//!
//! Problems whose bound is at most sixteen temporaries use a table of what is busy in
//! each slot ([`crate::small`]). In larger ones the run in program order keeps a set of
//! open segments ([`crate::scan`]); the others ask a segment tree over time
//! ([`crate::occupancy`]), which costs O(log slots * temporaries / 16) for each distinct
//! live segment. On top come O(temporaries / 16) word operations for each register and a
//! few operations for each temporary that leaves over as few channels as the best so far.
//! Memory is O(slots * temporaries / 16) words.

use crate::bounds::bounds;
use crate::exact::{Verdict, decide};
use crate::occupancy::{Occupancy, TEMPS_PER_WORD};
use crate::prepare::{Item, Prepared, matching, prepare};
use crate::rng::Rng;
use crate::scan::Scan;
use crate::small::{Small, Stop};
use crate::{AllocError, Array, Assignment, Options, Placed, Point, Problem, Reg, VReg};

/// Further restarts when the result misses the limit but the bound does not: not
/// fitting costs the program, so more time is well spent.
const RESTARTS_OVER_LIMIT: u32 = 256;

/// Steps of the exact search when the result misses the limit but the bound does not.
const EXACT_OVER_LIMIT: u32 = 20_000;

/// The fixed orders that help least, and the further restarts, are left out of problems with more
/// registers times temporaries than this, where a run costs milliseconds.
const ALL_ORDERS_UP_TO: usize = 300_000;

/// Places every array and virtual register of `problem`.
///
/// # Errors
///
/// [`AllocError::OverLimit`] if the best assignment found has more temporaries
/// than [`Options::limit`]; [`AllocError::Useless`] if every assignment has more than
/// [`Options::useful`]; the other errors for problems that break the rules of
/// their types.
pub fn allocate(problem: &Problem, options: &Options) -> Result<Assignment, AllocError> {
    let regs = problem.vregs.iter().map(VReg::as_reg);
    allocate_regs(regs, &problem.arrays, options)
}

/// Places every array of `arrays` and every virtual register that `regs` yields.
///
/// # Errors
///
/// As [`allocate`].
pub fn allocate_regs<'a>(
    regs: impl ExactSizeIterator<Item = Reg<'a>>,
    arrays: &[Array],
    options: &Options,
) -> Result<Assignment, AllocError> {
    place(&prepare(regs, arrays)?, options)
}

fn place(prepared: &Prepared, options: &Options) -> Result<Assignment, AllocError> {
    let bounds = bounds(prepared, options.separate_precise);
    if options.useful.is_some_and(|useful| bounds.packing > useful) {
        return Err(AllocError::Useless {
            bound: bounds.packing,
        });
    }
    let goal = bounds.packing.saturating_sub(prepared.array_temps);
    let room = options
        .limit
        .map(|limit| limit.saturating_sub(prepared.array_temps));

    let mut search = Search::new(prepared, options, goal);
    if options.any_order {
        search.attempt_in_any_order();
    } else {
        search.fixed_orders(options.restarts > 0);
    }
    search.restarts(options.restarts);
    let mut steps = options.exact;
    if let Some(room) = room.filter(|&room| goal <= room && search.best > room) {
        search.goal = room;
        if search.work() <= ALL_ORDERS_UP_TO {
            search.restarts(RESTARTS_OVER_LIMIT);
        }
        steps = steps.max(EXACT_OVER_LIMIT);
        if search.best > room {
            search.exact(room, &mut steps);
        }
    }
    if options.exact > 0 {
        let useful = options.useful.unwrap_or(u32::MAX);
        let useful = useful.saturating_sub(prepared.array_temps);
        while search.best > goal.max(search.proven)
            && search.proven <= useful
            && search.exact(useful.min(search.best - 1), &mut steps)
        {}
    }

    let bound = prepared.array_temps.saturating_add(goal.max(search.proven));
    if options.useful.is_some_and(|useful| bound > useful) {
        return Err(AllocError::Useless { bound });
    }
    let needed = prepared.array_temps.saturating_add(search.best);
    match options.limit {
        Some(limit) if needed > limit => Err(AllocError::OverLimit {
            needed,
            limit,
            bound,
        }),
        _ => Ok(finish(prepared, search, bound, bounds.channels)),
    }
}

/// Numbers the temporaries by first use, after the arrays.
fn finish(prepared: &Prepared, search: Search<'_>, bound: u32, channel_bound: u32) -> Assignment {
    let (mut place, temps) = (search.best_place, search.best);
    let mut first = vec![(Point::MAX, u32::MAX, 0u32); temps as usize];
    for (index, (placed, item)) in place.iter().zip(&prepared.items).enumerate() {
        if let Some(entry) = first.get_mut(placed.temp as usize) {
            *entry = (*entry).min((item.start, index as u32, placed.temp));
        }
    }
    first.sort_unstable();
    let mut number = vec![0u32; temps as usize];
    for (new, &(_, _, old)) in first.iter().enumerate() {
        number[old as usize] = prepared.array_temps + new as u32;
    }
    for placed in &mut place {
        placed.temp = number[placed.temp as usize];
    }
    Assignment {
        place,
        array_base: prepared.array_base.clone(),
        temps: prepared.array_temps + temps,
        bound,
        channel_bound,
    }
}

/// The state of the search for a good order.
struct Search<'a> {
    prepared: &'a Prepared,
    separate: bool,
    /// Makes the runs, as long as sixteen temporaries are enough.
    small: Option<Small>,
    /// Makes the runs otherwise.
    run: Option<Run<'a>>,
    /// Places of the last run.
    place: Vec<Placed>,
    rng: Rng,
    /// Stop at this many temporaries.
    goal: u32,
    /// No result has fewer, as the exact search proved.
    proven: u32,
    /// Temporaries of the best result; arrays do not count.
    best: u32,
    best_place: Vec<Placed>,
    /// The order that led to it.
    best_order: Vec<u32>,
    /// Indices of items; kept between restarts.
    order: Vec<u32>,
    /// Scratch memory of sorting.
    keys: Vec<u128>,
}

impl<'a> Search<'a> {
    fn new(prepared: &'a Prepared, options: &Options, goal: u32) -> Search<'a> {
        Search {
            prepared,
            separate: options.separate_precise,
            small: Small::suits(prepared, goal).then(|| Small::new(prepared)),
            run: None,
            place: vec![NOWHERE; prepared.items.len()],
            rng: Rng::new(options.seed),
            goal,
            proven: 0,
            best: u32::MAX,
            best_place: Vec::new(),
            best_order: Vec::new(),
            order: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Runs in `order`; the position of the item that did not fit below the best
    /// result so far, if any.
    fn attempt(&mut self, mode: Mode) -> Option<usize> {
        match self.run(self.best.saturating_sub(1), mode) {
            Ok(opened) => {
                self.best = opened;
                self.best_order.clone_from(&self.order);
                self.best_place.clone_from(&self.place);
                None
            }
            Err(position) => Some(position),
        }
    }

    /// Places all items in `order` into at most `cap` temporaries: how many it takes, or the
    /// position of the first item that does not fit.
    fn run(&mut self, cap: u32, mode: Mode) -> Result<u32, usize> {
        if let Some(small) = &mut self.small {
            let (order, place) = (&self.order, &mut self.place);
            match small.run(self.prepared, order, cap, mode, self.separate, place) {
                Ok(()) => return Ok(small.opened),
                Err(Stop::Full(position)) => return Err(position),
                Err(Stop::TooLarge) => self.small = None,
            }
        }
        let new = || Run::new(self.prepared, self.goal, self.separate);
        let run = self.run.get_or_insert_with(new);
        match run.run(&self.order, cap, mode, &mut self.place) {
            None => Ok(run.opened),
            Some(position) => Err(position),
        }
    }

    /// Sorts by `key`, which has 96 bits, and runs, unless the goal has been reached.
    fn attempt_by(&mut self, mode: Mode, key: impl Fn(&Item) -> u128) {
        if self.best <= self.goal {
            return;
        }
        let items = self.prepared.items.iter().enumerate();
        self.keys.clear();
        self.keys
            .extend(items.map(|(index, item)| key(item) << 32 | index as u128));
        self.keys.sort_unstable();
        self.order.clear();
        self.order.extend(self.keys.iter().map(|&key| key as u32));
        self.attempt(mode);
    }

    /// Runs in an order by chance, without a cap.
    fn attempt_in_any_order(&mut self) {
        self.order = (0..self.prepared.items.len() as u32).collect();
        for i in (1..self.order.len()).rev() {
            let j = self.rng.below(i as u32 + 1) as usize;
            self.order.swap(i, j);
        }
        self.attempt(Mode::AnyOrder);
    }

    /// Runs by first point, then width, then last death: the first run, which has no cap and
    /// always succeeds.
    fn attempt_in_order(&mut self) {
        let items = &self.prepared.items;
        // Slots are dense and few registers share one: counting beats sorting.
        let never = self.prepared.slots;
        let slot = |item: &Item| never.min(item.slot as usize);
        let mut ends = vec![0u32; never + 1];
        for item in items {
            ends[slot(item)] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        self.order.clear();
        self.order.resize(items.len(), 0);
        for (index, item) in items.iter().enumerate().rev() {
            let at = &mut ends[slot(item)];
            *at -= 1;
            self.order[*at as usize] = index as u32;
        }
        let mut from = 0;
        while let Some(&index) = self.order.get(from) {
            let start = items[index as usize].slot;
            let same = |i: &&u32| items[**i as usize].slot == start;
            let to = from + self.order[from..].iter().take_while(same).count();
            if to - from > 1 {
                self.order[from..to].sort_unstable_by_key(|&i| {
                    let item = &items[i as usize];
                    (4 - item.width, Point::MAX - item.end, i)
                });
            }
            from = to;
        }
        self.attempt(Mode::InOrder);
    }

    fn fixed_orders(&mut self, all: bool) {
        let narrow = |item: &Item| 4 - u128::from(item.width);
        let start = |item: &Item| u128::from(item.start);
        let earliness = |item: &Item| u128::from(Point::MAX - item.end);
        self.attempt_in_order();
        if self.best <= self.goal {
            return;
        }
        self.attempt_by(Mode::AnyOrder, |i| {
            narrow(i) << 64 | start(i) << 32 | earliness(i)
        });
        if self.work() > ALL_ORDERS_UP_TO {
            return;
        }
        let length = |item: &Item| item.end.saturating_sub(item.start);
        let longest = self.prepared.items.iter().map(length).max().unwrap_or(0);
        self.attempt_by(Mode::AnyOrder, |i| {
            let short = u128::from(length(i) <= longest / 4);
            short << 66 | start(i) << 34 | narrow(i) << 32 | earliness(i)
        });
        if !all {
            return;
        }
        self.attempt_by(Mode::AnyOrder, |i| {
            let shortness = u128::from(Point::MAX - length(i));
            shortness << 34 | narrow(i) << 32 | start(i)
        });
    }

    /// A measure of what a run costs.
    fn work(&self) -> usize {
        self.prepared.items.len().saturating_mul(self.best as usize)
    }

    /// Up to `count` runs in orders improved from failures.
    fn restarts(&mut self, count: u32) {
        if self.best <= self.goal {
            return;
        }
        self.order.clone_from(&self.best_order);
        for _ in 0..count {
            if self.best <= self.goal {
                return;
            }
            if let Some(at) = self.attempt(Mode::AnyOrder) {
                self.move_forward(at);
            }
        }
    }

    /// Looks for a result with `cap` temporaries within `steps` steps; whether the search came to
    /// an end.
    fn exact(&mut self, cap: u32, steps: &mut u32) -> bool {
        match decide(self.prepared, self.separate, cap, steps) {
            Verdict::Found(place) => {
                self.best = place.iter().map(|p| p.temp + 1).max().unwrap_or(0);
                self.best_place = place;
            }
            Verdict::Impossible => self.proven = self.proven.max(cap + 1),
            Verdict::Open => return false,
        }
        true
    }

    /// Moves the item at position `at` to a random place before it, and swaps a
    /// neighbouring pair at random.
    fn move_forward(&mut self, at: usize) {
        let to = self.rng.below(at as u32) as usize;
        if let Some(part) = self.order.get_mut(to..=at) {
            part.rotate_right(1);
        }
        let len = self.order.len() as u32;
        if len > 1 {
            let swap = self.rng.below(len - 1) as usize;
            self.order.swap(swap, swap + 1);
        }
    }
}

/// What a run may assume of the order of items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// First points never decrease: what is busy now is known without a search.
    InOrder,
    AnyOrder,
}

/// One run and its scratch memory.
struct Run<'a> {
    prepared: &'a Prepared,
    separate: bool,
    mode: Mode,
    /// The segments not in `scan`.
    occupancy: Occupancy,
    /// In order, the segments that start with their register.
    scan: Scan,
    /// Temporaries in use.
    opened: u32,
    /// Last death in each temporary.
    death: Vec<Point>,
    /// All four bits of each temporary that holds precise registers.
    precise: Vec<u64>,
    /// Busy channels of each group, `words` a group.
    busy: Vec<u64>,
    /// The item at hand finds busy what is open in `scan`, and nothing else; `busy` is void.
    open_only: bool,
}

/// Stands for a place not found yet.
const NOWHERE: Placed = Placed {
    temp: 0,
    chans: [Placed::NO_LANE; 4],
};

/// The low bit of each temporary's four.
pub(crate) const EACH_TEMP: u64 = 0x1111_1111_1111_1111;

impl<'a> Run<'a> {
    fn new(prepared: &'a Prepared, goal: u32, separate: bool) -> Run<'a> {
        let words = (goal / TEMPS_PER_WORD + 1) as usize;
        Run {
            prepared,
            separate,
            mode: Mode::AnyOrder,
            scan: Scan::new(prepared.slots, words),
            occupancy: Occupancy::new(prepared.slots, words),
            opened: 0,
            death: Vec::new(),
            precise: vec![0; words],
            busy: vec![0; 4 * words],
            open_only: false,
        }
    }

    /// Places all items in `order` into at most `cap` temporaries; the position of
    /// the first that does not fit, if any.
    fn run(&mut self, order: &[u32], cap: u32, mode: Mode, place: &mut [Placed]) -> Option<usize> {
        self.mode = mode;
        self.occupancy.clear();
        self.scan.clear();
        self.precise.fill(0);
        self.death.clear();
        self.opened = 0;
        let prepared = self.prepared;
        for (position, &index) in order.iter().enumerate() {
            let item = &prepared.items[index as usize];
            if mode == Mode::InOrder {
                self.scan.advance(item.slot);
            }
            let temp = match self.best_fit(item) {
                Some(temp) => temp,
                None if self.opened < cap => self.open(item),
                None => return Some(position),
            };
            self.put(item, temp, &mut place[index as usize]);
        }
        None
    }

    /// Opens a temporary for `item`.
    fn open(&mut self, item: &Item) -> u32 {
        let temp = self.opened;
        self.opened += 1;
        self.death.push(0);
        let word = (temp / TEMPS_PER_WORD) as usize;
        if word >= self.occupancy.words() {
            let words = 2 * self.occupancy.words();
            self.occupancy.grow(words);
            self.scan.grow(words);
            self.precise.resize(words, 0);
            self.busy = vec![0; 4 * words];
        }
        if item.precise {
            self.precise[word] |= 0xf << (4 * (temp % TEMPS_PER_WORD));
        }
        temp
    }

    /// The open temporary that fits `item` best.
    fn best_fit(&mut self, item: &Item) -> Option<u32> {
        self.find_busy(item);
        let mut best = None;
        // Fewest channels left over, then the death closest to the item's.
        let (mut best_left, mut best_apart) = (4, Point::MAX);
        for word in 0..self.opened.div_ceil(TEMPS_PER_WORD) as usize {
            let free = self.free(item, word);
            let mut more = at_least(free, item.width);
            if more == 0 {
                continue;
            }
            let hopeful = self.hopeful(item, word);
            let most_left = best_left;
            for left in item.width..=most_left {
                if more == 0 {
                    break;
                }
                let enough = more;
                more = at_least(free, left + 1);
                let mut exact = enough & !more & hopeful;
                while exact != 0 {
                    let shift = exact.trailing_zeros();
                    exact &= exact - 1;
                    let temp = word as u32 * TEMPS_PER_WORD + shift / 4;
                    let apart = self.death[temp as usize].abs_diff(item.end);
                    let better = best.is_none() || left < best_left || apart < best_apart;
                    if better && self.fits(item, word, shift) {
                        (best_left, best_apart) = (left, apart);
                        best = Some(temp);
                    }
                }
                if best.is_some() && best_left == left {
                    break;
                }
            }
        }
        best
    }

    /// Finds the busy channels of each group, unless `scan` alone knows them.
    fn find_busy(&mut self, item: &Item) {
        let nothing_else = self.occupancy.is_empty();
        self.open_only = nothing_else && item.at_once && self.mode == Mode::InOrder;
        if self.open_only {
            return;
        }
        let words = self.occupancy.words();
        let sets = self.busy.chunks_exact_mut(words);
        for (group, busy) in sets.take(usize::from(item.groups)).enumerate() {
            let segs = item.segs_of(self.prepared, group);
            match self.mode {
                Mode::InOrder => self.scan.busy(segs, busy),
                Mode::AnyOrder => busy.fill(0),
            }
            if !nothing_else {
                self.occupancy.busy(segs, busy);
            }
        }
    }

    /// The channels of word `word` free for at least one lane, in temporaries of the
    /// right class.
    fn free(&self, item: &Item, word: usize) -> u64 {
        let mut free = if self.open_only {
            !self.scan.open()[word]
        } else {
            let words = self.occupancy.words();
            let mut busy = self.busy[word];
            for group in 1..usize::from(item.groups) {
                busy &= self.busy[group * words + word];
            }
            !busy
        };
        let open = self.opened - word as u32 * TEMPS_PER_WORD;
        if open < TEMPS_PER_WORD {
            free &= (1 << (4 * open)) - 1;
        }
        if self.separate {
            free &= if item.precise {
                self.precise[word]
            } else {
                !self.precise[word]
            };
        }
        free
    }

    /// The low bits of the temporaries of `word` in which every group alone finds room.
    fn hopeful(&self, item: &Item, word: usize) -> u64 {
        if self.open_only || item.groups == 1 {
            return u64::MAX;
        }
        let sets = self.busy[word..].iter().step_by(self.occupancy.words());
        let groups = sets.zip(item.group_lanes).take(item.groups.into());
        groups.fold(u64::MAX, |all, (busy, lanes)| all & at_least(!busy, lanes))
    }

    /// The channels each lane may take in the temporary at `shift` of `word`.
    fn masks(&self, item: &Item, word: usize, shift: u32) -> [u8; 4] {
        if self.open_only {
            let free = !(self.scan.open()[word] >> shift) as u8;
            return item.allowed.map(|allowed| allowed & free);
        }
        let words = self.occupancy.words();
        let mut masks = item.allowed;
        for (mask, &group) in masks.iter_mut().zip(&item.group_of) {
            let busy = self.busy[usize::from(group) * words + word] >> shift;
            *mask &= !(busy as u8);
        }
        masks
    }

    /// Whether the lanes find distinct channels, where there are enough of them for some lane.
    fn fits(&self, item: &Item, word: usize, shift: u32) -> bool {
        let one_set = self.open_only || item.groups == 1;
        if one_set && !item.constrained {
            return true;
        }
        if self.open_only && item.follows == 0 {
            return self.scan.open()[word] >> shift & u64::from(item.pins) == 0;
        }
        let masks = self.masks(item, word, shift);
        let width = usize::from(item.width);
        matching(width, &masks, item.follows, &[0, 1, 2, 3]).is_some()
    }

    /// The channels that the lanes of `item` take in the temporary at `shift` of
    /// `word`, where they fit.
    fn channels(&self, item: &Item, word: usize, shift: u32) -> Option<[u8; 4]> {
        let masks = self.masks(item, word, shift);
        let mut preference = self.prepared.preference;
        if self.prepared.pairs {
            // Break into a free half last.
            let free = masks[0] | masks[1] | masks[2] | masks[3];
            preference.sort_by_key(|&c| free >> (c ^ 1) & 1);
        }
        if !self.open_only || item.follows != 0 {
            return matching(usize::from(item.width), &masks, item.follows, &preference);
        }
        // All lanes choose from one set: pinned ones take theirs, the others the rest.
        let open = !(self.scan.open()[word] >> shift) as u8 & !item.pins;
        let mut rest = preference.iter().filter(|&&c| open >> c & 1 == 1);
        let mut chans = [Placed::NO_LANE; 4];
        for (chan, allowed) in chans.iter_mut().zip(item.allowed).take(item.width.into()) {
            *chan = match allowed.is_power_of_two() {
                true => allowed.trailing_zeros() as u8,
                false => *rest.next()?,
            };
        }
        Some(chans)
    }

    /// Puts `item` into `temp`, where it fits.
    fn put(&mut self, item: &Item, temp: u32, place: &mut Placed) {
        let word = (temp / TEMPS_PER_WORD) as usize;
        let shift = 4 * (temp % TEMPS_PER_WORD);
        let width = usize::from(item.width);
        let Some(chans) = self.channels(item, word, shift) else {
            return;
        };
        *place = Placed { temp, chans };
        let death = &mut self.death[temp as usize];
        *death = (*death).max(item.end);
        let mut bits = [0u64; 4];
        for (lane, &chan) in chans.iter().enumerate().take(width) {
            bits[usize::from(item.group_of[lane])] |= 1 << (shift + u32::from(chan));
        }
        for (group, &bits) in bits.iter().enumerate().take(usize::from(item.groups)) {
            let mut segs = item.segs_of(self.prepared, group);
            if self.mode == Mode::InOrder
                && let Some((&(start, end), rest)) = segs.split_first()
                && start == item.slot
            {
                self.scan.mark(end, word, bits);
                segs = rest;
            }
            if !segs.is_empty() {
                self.occupancy.mark(segs, word, bits);
            }
        }
    }
}

/// The low bit of each group of four bits of `set` that has at least `count` (1 or
/// more) of them set.
#[inline]
fn at_least(set: u64, count: u8) -> u64 {
    let (b0, b1) = (set & EACH_TEMP, set >> 1 & EACH_TEMP);
    let (b2, b3) = (set >> 2 & EACH_TEMP, set >> 3 & EACH_TEMP);
    let (or_lo, and_lo, or_hi, and_hi) = (b0 | b1, b0 & b1, b2 | b3, b2 & b3);
    match count {
        0 | 1 => or_lo | or_hi,
        2 => and_lo | and_hi | (or_lo & or_hi),
        3 => (and_lo & or_hi) | (or_lo & and_hi),
        4 => and_lo & and_hi,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lane, LiveRange, VReg};

    fn lane(rng: &mut Rng, start: Point) -> Lane {
        let late = start + rng.below(3) * rng.below(8);
        let first = (late, late + 1 + rng.below(20));
        let hole = first.1 + 1 + rng.below(5);
        let rest = (rng.below(4) == 0).then(|| (hole, hole + 1 + rng.below(9)));
        Lane::free(LiveRange::from_segments(std::iter::once(first).chain(rest)))
    }

    fn register(rng: &mut Rng) -> VReg {
        let width = 1 + rng.below(4);
        let start = rng.below(60);
        let common = lane(rng, start);
        let mut vreg = VReg {
            precise: rng.below(4) == 0,
            ..VReg::default()
        };
        for index in 0..width {
            let mut lane = match rng.below(3) {
                0 => lane(rng, start),
                _ => common.clone(),
            };
            lane.pinned = (width == 3).then_some(index as u8);
            vreg.lanes.push(lane);
        }
        vreg.pair = u8::from(width == 2 && rng.below(3) == 0);
        vreg
    }

    /// The table and the segment tree are two ways to the same places.
    #[test]
    fn small_runs_place_like_large_ones() {
        let mut rng = Rng::new(7);
        for round in 0..300 {
            let problem = Problem {
                vregs: (0..1 + rng.below(60)).map(|_| register(&mut rng)).collect(),
                arrays: Vec::new(),
            };
            let regs = problem.vregs.iter().map(VReg::as_reg);
            let prepared = prepare(regs, &problem.arrays).expect("well formed");
            let options = Options {
                separate_precise: round % 2 == 0,
                ..Options::default()
            };
            let mut found = Vec::new();
            for small in [true, false] {
                let mut search = Search::new(&prepared, &options, 1);
                search.small = small.then(|| Small::new(&prepared));
                search.fixed_orders(true);
                search.restarts(6);
                found.push((search.best, search.best_place, search.order));
            }
            assert_eq!(found[0], found[1], "round {round}");
        }
    }

    #[test]
    fn useless_results_are_not_looked_for() {
        let lane = || Lane::free(LiveRange::new(1, 5));
        let vreg = || VReg {
            lanes: (0..3).map(|_| lane()).collect(),
            ..VReg::default()
        };
        let problem = Problem {
            vregs: vec![vreg(), vreg()],
            arrays: Vec::new(),
        };
        let useful = |useful| Options {
            useful: Some(useful),
            ..Options::default()
        };
        let useless = Err(AllocError::Useless { bound: 2 });
        assert_eq!(allocate(&problem, &useful(1)), useless);
        assert_eq!(allocate(&problem, &useful(2)).map(|a| a.temps), Ok(2));
    }
}
