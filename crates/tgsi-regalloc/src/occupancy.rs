//! Which channels are busy when: a segment tree over time whose nodes hold sets
//! of channels.
//!
//! Time is cut into slots, one for each distinct point at which some segment
//! starts: two half-open segments overlap exactly if one contains the start of
//! the other, so slots lose nothing. A set of channels is a bit vector, four bits
//! a temporary, sixteen temporaries a word. A node holds two sets:
//!
//! * `cover`: channels busy in all of its slots by a segment recorded here;
//! * `any`: channels busy in at least one of its slots by a segment recorded here
//!   or below.
//!
//! "Which channels of all temporaries are free during this segment" is then an
//! OR over O(log slots) nodes, in any order of insertion and with holes, which
//! replaces a search in a segment list per channel.

/// The busy channels over time.
pub(crate) struct Occupancy {
    /// Number of leaves, a power of two.
    leaves: usize,
    /// Words in a set.
    words: usize,
    /// Nothing is recorded.
    empty: bool,
    /// No node above this height (0 for leaves) has a cover.
    covered: u32,
    /// Allocated by the first segment. Node `i` holds `any` at `2 * i * words` and `cover` after it.
    data: Vec<u64>,
}

/// Temporaries in a word of a set.
pub(crate) const TEMPS_PER_WORD: u32 = 16;

impl Occupancy {
    pub(crate) fn new(slots: usize, words: usize) -> Occupancy {
        let leaves = slots.max(1).next_power_of_two();
        Occupancy {
            leaves,
            words,
            empty: true,
            covered: 0,
            data: Vec::new(),
        }
    }

    /// Words in a set, sixteen temporaries each.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Forgets all segments.
    pub(crate) fn clear(&mut self) {
        if !self.empty {
            self.data.fill(0);
            self.empty = true;
            self.covered = 0;
        }
    }

    /// Whether nothing is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Makes room for `words` words a set, keeping what is recorded.
    pub(crate) fn grow(&mut self, words: usize) {
        if words <= self.words {
            return;
        }
        if self.data.is_empty() {
            self.words = words;
            return;
        }
        let mut data = vec![0; self.leaves * 4 * words];
        for (new, old) in data
            .chunks_exact_mut(words)
            .zip(self.data.chunks_exact(self.words))
        {
            new[..self.words].copy_from_slice(old);
        }
        self.data = data;
        self.words = words;
    }

    /// ORs into `out` the channels busy somewhere in the slot ranges `segs`.
    pub(crate) fn busy(&self, segs: &[(u32, u32)], out: &mut [u64]) {
        match self.words {
            1 => self.busy_fixed::<1>(segs, out),
            2 => self.busy_fixed::<2>(segs, out),
            _ => self.visit(segs, |at| {
                for (o, d) in out.iter_mut().zip(&self.data[at..at + self.words]) {
                    *o |= d;
                }
            }),
        }
    }

    /// [`Occupancy::busy`] for a set of `W` words, kept in registers.
    fn busy_fixed<const W: usize>(&self, segs: &[(u32, u32)], out: &mut [u64]) {
        let mut acc = [0u64; W];
        self.visit(segs, |at| {
            if let Some(set) = self.data.get(at..at + W) {
                for (a, d) in acc.iter_mut().zip(set) {
                    *a |= d;
                }
            }
        });
        for (o, a) in out.iter_mut().zip(acc) {
            *o |= a;
        }
    }

    /// Calls `set` with the offset of each set that bears on `segs`: `any` of the
    /// nodes that make up a segment and `cover` of the nodes above them.
    #[inline(always)]
    fn visit(&self, segs: &[(u32, u32)], mut set: impl FnMut(usize)) {
        let stride = 2 * self.words;
        for &(lo, hi) in segs {
            if lo >= hi {
                continue;
            }
            let (mut l, mut r) = (lo as usize + self.leaves, hi as usize + self.leaves);
            let (mut up, mut down) = (l, r - 1);
            while l < r {
                if l & 1 == 1 {
                    set(l * stride);
                    l += 1;
                }
                if r & 1 == 1 {
                    r -= 1;
                    set(r * stride);
                }
                l >>= 1;
                r >>= 1;
            }
            // A cover below a node already taken is in its `any`: harmless twice.
            let mut height = 0;
            while up != down && height < self.covered {
                up >>= 1;
                down >>= 1;
                height += 1;
                set(up * stride + self.words);
                set(down * stride + self.words);
            }
            while up > 1 && height < self.covered {
                up >>= 1;
                height += 1;
                set(up * stride + self.words);
            }
        }
    }

    /// Records the channels `bits` of word `word` as busy in the slot ranges.
    pub(crate) fn mark(&mut self, segs: &[(u32, u32)], word: usize, bits: u64) {
        let stride = 2 * self.words;
        let (any, cover) = (word, self.words + word);
        if self.data.is_empty() {
            self.data = vec![0; self.leaves * 4 * self.words];
        }
        self.empty = false;
        for &(lo, hi) in segs {
            if lo >= hi {
                continue;
            }
            let (mut l, mut r) = (lo as usize + self.leaves, hi as usize + self.leaves);
            let (mut up, mut down) = (l, r - 1);
            let mut height = 0;
            while l < r {
                if (l | r) & 1 == 1 {
                    self.covered = self.covered.max(height);
                }
                height += 1;
                if l & 1 == 1 {
                    self.data[l * stride + any] |= bits;
                    self.data[l * stride + cover] |= bits;
                    l += 1;
                }
                if r & 1 == 1 {
                    r -= 1;
                    self.data[r * stride + any] |= bits;
                    self.data[r * stride + cover] |= bits;
                }
                l >>= 1;
                r >>= 1;
            }
            // Setting `any` on nodes inside the segment as well is right: they are
            // busy through and through.
            while up > 1 {
                up >>= 1;
                down >>= 1;
                self.data[up * stride + any] |= bits;
                self.data[down * stride + any] |= bits;
            }
        }
    }
}
