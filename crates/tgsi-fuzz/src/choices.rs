//! Decisions drawn from bytes.

use arbitrary::Unstructured;

/// A stream of decisions. Where the bytes have run out, every decision is its first, dullest one.
pub(crate) struct Choices<'a> {
    bytes: Unstructured<'a>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Choices {
            bytes: Unstructured::new(bytes),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.bytes.int_in_range(0..=n.max(1) - 1).unwrap_or(0)
    }

    /// A number in `low..=high`.
    pub(crate) fn range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True `n` times in 100.
    pub(crate) fn chance(&mut self, n: usize) -> bool {
        self.below(100) >= 100 - n.min(100)
    }

    pub(crate) fn word(&mut self) -> u32 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let at = self.below(list.len());
        list.get(at).copied()
    }

    /// One of the strings; empty if there is none.
    pub(crate) fn name(&mut self, list: &[&'static str]) -> &'static str {
        self.of(list).unwrap_or("")
    }

    /// An index, each as often as its weight says.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut at = self.below(total as usize) as u32;
        for (i, w) in weights.iter().enumerate() {
            if at < *w {
                return i;
            }
            at -= w;
        }
        0
    }
}

/// `len` bytes that depend on `seed` alone.
pub fn seeded_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    std::iter::repeat_with(&mut next)
        .flat_map(u64::to_le_bytes)
        .take(len)
        .collect()
}
