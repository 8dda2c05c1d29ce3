//! What is busy now, for registers placed in the order of their first points.
//!
//! A segment that starts at or before the current slot overlaps one that starts
//! now, or later, only if it is still open: a set of open segments, from which each
//! leaves at its end, replaces the search over time. Only segments that start with
//! their register are kept here; the others lie ahead of the current slot.

use crate::occupancy::TEMPS_PER_WORD;

/// The segments open at the current slot.
pub(crate) struct Scan {
    now: u32,
    /// Busy channels, as in [`crate::occupancy`].
    open: Vec<u64>,
    /// The slot in which each channel becomes free, if it is open.
    end: Vec<u32>,
    /// For each slot, the first of the list of segments that end there.
    ending: Vec<u32>,
    entries: Vec<Entry>,
}

struct Entry {
    /// The next segment that ends in the same slot, or `NONE`.
    next: u32,
    word: u32,
    bits: u64,
}

const NONE: u32 = u32::MAX;

impl Scan {
    pub(crate) fn new(slots: usize, words: usize) -> Scan {
        Scan {
            now: 0,
            open: vec![0; words],
            end: vec![0; words * 64],
            ending: vec![NONE; slots],
            entries: Vec::new(),
        }
    }

    /// Forgets all segments and goes back to slot 0.
    pub(crate) fn clear(&mut self) {
        self.now = 0;
        self.open.fill(0);
        if !self.entries.is_empty() {
            self.ending.fill(NONE);
            self.entries.clear();
        }
    }

    /// Makes room for `words` words.
    pub(crate) fn grow(&mut self, words: usize) {
        self.open.resize(words, 0);
        self.end.resize(words * 64, 0);
    }

    /// Goes on to `slot` and drops what has ended; does nothing if it is not ahead.
    pub(crate) fn advance(&mut self, slot: u32) {
        let slot = slot.min(self.ending.len().saturating_sub(1) as u32);
        while self.now < slot {
            self.now += 1;
            let mut at = self.ending[self.now as usize];
            while let Some(entry) = self.entries.get(at as usize) {
                self.open[entry.word as usize] &= !entry.bits;
                at = entry.next;
            }
        }
    }

    /// The channels busy at the current slot.
    pub(crate) fn open(&self) -> &[u64] {
        &self.open
    }

    /// Sets `out` to the channels busy somewhere in `segs`, none of which starts
    /// before the current slot.
    pub(crate) fn busy(&self, segs: &[(u32, u32)], out: &mut [u64]) {
        out.copy_from_slice(&self.open);
        let start = segs.first().map_or(NONE, |s| s.0);
        if start <= self.now {
            return;
        }
        // What is open now may have ended by then.
        for (word, set) in out.iter_mut().enumerate() {
            let mut left = *set;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if self.end[word * 64 + bit as usize] <= start {
                    *set &= !(1 << bit);
                }
            }
        }
    }

    /// Records the channels `bits` of word `word` as busy from now up to slot `end`.
    pub(crate) fn mark(&mut self, end: u32, word: usize, bits: u64) {
        self.open[word] |= bits;
        let mut left = bits;
        while left != 0 {
            self.end[word * 64 + left.trailing_zeros() as usize] = end;
            left &= left - 1;
        }
        if let Some(first) = self.ending.get_mut(end as usize) {
            let at = self.entries.len() as u32;
            self.entries.push(Entry {
                next: *first,
                word: word as u32,
                bits,
            });
            *first = at;
        }
    }
}

const _: () = assert!(TEMPS_PER_WORD * 4 == u64::BITS);
