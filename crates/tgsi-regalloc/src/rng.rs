//! A small deterministic generator of pseudo-random numbers, for jitter only.

/// SplitMix64: a counter and a mixing function.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 if `n` is 0. The bias for large `n` is harmless.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(n) * (self.next() >> 32)) >> 32) as u32
    }
}
