//! Seeded words: a hash, and a generator built on it.

/// Mixes a 64-bit number (splitmix64's finaliser).
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A hash of a few numbers.
pub(crate) fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0x5bd1_e995, |h, p| {
        mix(h ^ p.wrapping_mul(0xd6e8_feb8_6659_fd93))
    })
}

/// A deterministic generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(mix(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number in 0..1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len() as u32) as usize).copied()
    }
}

/// Infinities, a NaN, zeros, the ends of the integers, one.
const APART: [u32; 8] = [
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0,
    0x8000_0000,
    0x7fff_ffff,
    u32::MAX,
    0x3f80_0000,
];

/// From this fill on all unknown words are zero and all NaNs end in the same few bits, by the fill: what
/// a small index makes of both then does not depend on which register a word is in.
pub(crate) const UNIFORM: u64 = 67;

/// The unknown word of a register channel: for fill 0 zero, for 1 and 2 moderate floats
/// of opposite signs, so that few tests on them come out alike, beyond that by turns
/// any bits or words that operations treat apart, small integers, floats of any size, and
/// moderate floats.
pub(crate) fn fill_word(fill: u64, place: u64) -> u32 {
    let h = hash(&[fill, place]);
    // Fills 1 and 2 differ in every sign.
    let sign = if fill < 3 {
        mix(place) as u32 ^ fill as u32
    } else {
        (h >> 31) as u32
    } << 31;
    let fraction = h as u32 & 0x7f_ffff;
    let float = |exponent: u32| sign | exponent << 23 | fraction;
    let size = (h >> 32) as u32;
    match (fill, fill % 4) {
        (0 | UNIFORM.., _) => 0,
        (1 | 2, _) | (_, 3) => float(126 + size % 6),
        (_, 0) if size.is_multiple_of(2) => APART[(size >> 1) as usize % APART.len()],
        (_, 0) => h as u32,
        (_, 1) => size % 8,
        _ => float(1 + size % 253),
    }
}
