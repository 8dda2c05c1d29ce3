//! Words to try a rule on.

use super::value::{Value, operand_type};
use crate::{Cond, Fact, Rule, Term, Var};

/// Words at which operations change their minds, the telling ones first.
const SPECIAL: [u32; 26] = [
    0,
    0x8000_0000, // -0.0, the smallest integer
    0x3f80_0000, // 1.0
    0xbf80_0000, // -1.0
    0x7f80_0000, // infinity
    0xff80_0000,
    0x7fc0_0000, // NaN
    0xffff_ffff, // NaN, all ones
    0x4000_0000, // 2.0
    0x3f00_0000, // 0.5
    0x8000_0001, // the smallest denormal, negative
    0x7f7f_ffff, // the largest float
    0x4040_0000, // 3.0
    1,           // also the smallest denormal
    31,
    0x0080_0000, // the smallest normal number
    2,
    32,
    0xff7f_ffff,
    0xbf00_0000, // -0.5
    0x7fff_ffff, // NaN, the largest integer
    0xaedb_e6ff, // -1e-10
    0x4b00_0001, // 8388609.0
    0xc020_0000, // -2.5
    33,
    0x7e80_0000, // 2^126: its reciprocal is the smallest normal number
];

/// The same for 64 bits.
const SPECIAL_WIDE: [u64; 20] = [
    0,
    1 << 63,
    0x3ff0_0000_0000_0000, // 1.0
    0xbff0_0000_0000_0000,
    0x7ff0_0000_0000_0000, // infinity
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000, // NaN
    u64::MAX,
    0x4000_0000_0000_0000, // 2.0
    0x3fe0_0000_0000_0000, // 0.5
    0x8000_0000_0000_0001,
    1,
    0x7fef_ffff_ffff_ffff, // the largest double
    2,
    31,
    63,
    64,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff,
    0x0010_0000_0000_0000,
];

/// How many tuples of special words, and how many random ones, a rule is tried on.
const COMBINATIONS: usize = 5000;
const RANDOM: usize = 4000;

/// The splitmix64 generator.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Of [0, 1).
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A float whose last few digits differ.
    pub(super) fn near(&mut self, bits: u64, wide: bool) -> u64 {
        let off = 1.0 + (self.fraction() - 0.5) * 1e-5;
        if wide {
            (f64::from_bits(bits) * off).to_bits()
        } else {
            let x = f64::from(f32::from_bits(bits as u32)) * off;
            u64::from((x as f32).to_bits())
        }
    }

    /// Of +-[1e-3, 1e3], every order of magnitude alike.
    fn moderate(&mut self) -> f64 {
        let size = 10f64.powf(self.fraction() * 6.0 - 3.0);
        if self.next() & 1 == 0 { size } else { -size }
    }
}

/// Tuples of words for the variables of a rule, all of which satisfy its conditions.
pub(super) struct Samples<'a> {
    rule: &'a Rule,
    wide: Vec<bool>,
    pools: Vec<Vec<u64>>,
    random: Random,
    count: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn new(rule: &'a Rule) -> Samples<'a> {
        let mut wide = vec![false; rule.vars.len()];
        let mut words = Vec::new();
        for t in [&rule.lhs, &rule.rhs] {
            look(t, &mut wide, &mut words);
        }
        let mut samples = Samples {
            rule,
            wide,
            pools: Vec::new(),
            random: Random(0x7467_7369),
            count: 0,
        };
        // Fewer words a variable where all combinations are tried of more variables.
        let few = if rule.vars.len() == 3 { 17 } else { 26 };
        for v in (0..rule.vars.len() as u8).map(Var) {
            let mut pool: Vec<u64> = Vec::new();
            let special: Vec<u64> = if samples.is_wide(v) {
                SPECIAL_WIDE.to_vec()
            } else {
                let taken = SPECIAL.iter().take(few);
                taken.chain(&words).map(|w| u64::from(*w)).collect()
            };
            for bits in special {
                for bits in [bits, samples.adapted(bits, v)] {
                    if samples.has_facts(bits, v) && !pool.contains(&bits) {
                        pool.push(bits);
                    }
                }
            }
            // A fact that few words have gets some that only chance finds.
            for _ in 0..64 {
                if pool.len() >= 12 {
                    break;
                }
                let bits = samples.random.next() & 0xffff_ffff;
                let bits = samples.adapted(bits, v);
                if samples.has_facts(bits, v) && !pool.contains(&bits) {
                    pool.push(bits);
                }
            }
            samples.pools.push(pool);
        }
        samples
    }

    /// Whether a variable has 64 bits.
    pub(super) fn is_wide(&self, v: Var) -> bool {
        self.wide.get(usize::from(v.0)).copied().unwrap_or(false)
    }

    /// Fills `tuple` with the next words; false at the end.
    pub(super) fn next(&mut self, tuple: &mut Vec<Value>) -> bool {
        let all: usize = self
            .pools
            .iter()
            .fold(1usize, |n, pool| n.saturating_mul(pool.len().max(1)));
        let listed = all.min(COMBINATIONS);
        loop {
            let i = self.count;
            self.count += 1;
            if i >= listed + RANDOM {
                return false;
            }
            let filled = if i >= listed {
                self.draw(tuple)
            } else if all == listed {
                self.combination(i, tuple)
            } else {
                self.some_combination(tuple)
            };
            if filled && self.holds(tuple) {
                return true;
            }
        }
    }

    /// Combination `i` of all, the first variable varying slowest.
    fn combination(&self, mut i: usize, tuple: &mut Vec<Value>) -> bool {
        tuple.clear();
        for (v, pool) in self.pools.iter().enumerate().rev() {
            let Some(bits) = pool.get(i % pool.len().max(1)) else {
                return false;
            };
            i /= pool.len();
            tuple.push(self.value(*bits, v));
        }
        tuple.reverse();
        true
    }

    fn some_combination(&mut self, tuple: &mut Vec<Value>) -> bool {
        tuple.clear();
        for v in 0..self.pools.len() {
            let n = self.pools[v].len();
            let Some(bits) = self.pools[v].get(self.random.below(n)).copied() else {
                return false;
            };
            tuple.push(self.value(bits, v));
        }
        self.relate(tuple);
        true
    }

    fn draw(&mut self, tuple: &mut Vec<Value>) -> bool {
        tuple.clear();
        // Half of the tuples are of one kind throughout: with many variables there would
        // hardly ever be one without an extreme.
        let common = (self.random.next() & 1 == 0).then(|| 1 + self.random.below(5));
        for v in 0..self.pools.len() {
            let kind = common.unwrap_or_else(|| self.random.below(8));
            let mut bits = if self.wide[v] {
                self.wide_word(kind, v)
            } else {
                self.word(kind, v)
            };
            if v > 0 && self.random.below(6) == 0 {
                let from = tuple[self.random.below(v)].bits;
                let flip = self.random.next() & 1;
                bits = from ^ flip << if self.wide[v] { 63 } else { 31 };
                if !self.wide[v] {
                    bits &= 0xffff_ffff;
                }
            }
            let var = Var(v as u8);
            bits = self.adapted(bits, var);
            if !self.has_facts(bits, var) {
                let n = self.pools[v].len();
                let Some(known) = self.pools[v].get(self.random.below(n)) else {
                    return false;
                };
                bits = *known;
            }
            tuple.push(self.value(bits, v));
        }
        self.relate(tuple);
        true
    }

    fn word(&mut self, kind: usize, v: usize) -> u64 {
        let r = &mut self.random;
        let small = |r: &mut Random| r.below(17) as f32 - 8.0;
        let w = match kind {
            0 => r.next() as u32,
            1 => (r.moderate() as f32).to_bits(),
            2 => match r.next() & 3 {
                0 => (r.moderate() as f32).to_bits(),
                1 => (small(r) * 0.5).to_bits(),
                _ => small(r).to_bits(),
            },
            3 => (r.below(80) as u32).wrapping_sub(8),
            // Their products are zeros of either sign.
            4 if r.below(8) == 0 => 1 << 31,
            4 => (r.moderate() as f32 * 1e-30).to_bits(),
            5 => [0, 1 << 31, 1f32.to_bits(), (-1f32).to_bits()][r.below(4)],
            6 => return self.pooled(v),
            _ => (r.fraction() as f32).to_bits(),
        };
        w.into()
    }

    fn wide_word(&mut self, kind: usize, v: usize) -> u64 {
        let r = &mut self.random;
        match kind {
            0 => r.next(),
            1 => r.moderate().to_bits(),
            2 => (r.below(17) as f64 - 8.0).to_bits(),
            3 => (r.below(80) as u64).wrapping_sub(8),
            4 => (r.moderate() * 1e-200).to_bits(),
            5 => [0, 1 << 63, 1f64.to_bits(), (-1f64).to_bits()][r.below(4)],
            6 => self.pooled(v),
            _ => r.fraction().to_bits(),
        }
    }

    fn pooled(&mut self, v: usize) -> u64 {
        let n = self.pools[v].len();
        self.pools[v]
            .get(self.random.below(n))
            .copied()
            .unwrap_or(0)
    }

    /// Moves a tuple towards what the conditions ask of two variables.
    fn relate(&mut self, tuple: &mut [Value]) {
        for c in &self.rule.conds {
            let at = |v: &Var| usize::from(v.0);
            match c {
                Cond::Equal(a, b) => tuple[at(b)] = tuple[at(a)],
                Cond::Less(a, b) if float(tuple[at(a)]) > float(tuple[at(b)]) => {
                    tuple.swap(at(a), at(b));
                }
                Cond::ShiftSum(a, b) => {
                    for v in [a, b] {
                        tuple[at(v)].bits &= 15;
                    }
                }
                _ => {}
            }
        }
    }

    fn value(&self, bits: u64, v: usize) -> Value {
        let var = Var(v as u8);
        let float = |c: &Cond| *c == Cond::Fact(Fact::Float, var);
        let nan = if self.wide[v] {
            f64::from_bits(bits).is_nan()
        } else {
            f32::from_bits(bits as u32).is_nan()
        };
        Value {
            bits,
            free: nan && self.rule.conds.iter().any(float),
            unknown: false,
        }
    }

    fn facts(&self, v: Var) -> impl Iterator<Item = Fact> {
        self.rule.conds.iter().filter_map(move |c| match c {
            Cond::Fact(fact, of) if *of == v => Some(*fact),
            _ => None,
        })
    }

    fn has_facts(&self, bits: u64, v: Var) -> bool {
        // Facts speak of words: one about a 64-bit value is not relied upon. Where a NaN comes
        // from is not seen in the word.
        self.is_wide(v)
            || self.facts(v).all(|f| {
                let made = f == Fact::Float && !self.rule.is_constant(v);
                made || f.holds_of(bits as u32)
            })
    }

    /// A word made from another that has the facts asked of a variable, if that is easy.
    fn adapted(&self, bits: u64, v: Var) -> u64 {
        if self.is_wide(v) {
            return bits;
        }
        let mut w = bits as u32;
        let mut facts: Vec<Fact> = self.facts(v).collect();
        // The coarse ones first.
        facts.sort_by_key(|f| matches!(f, Fact::Integral | Fact::NonNegative | Fact::Positive));
        for f in facts {
            if !f.holds_of(w) {
                w = towards(f, w);
            }
        }
        w.into()
    }

    fn holds(&self, tuple: &[Value]) -> bool {
        let get = |v: &Var| tuple.get(usize::from(v.0)).copied().unwrap_or_default();
        (0..tuple.len()).all(|v| self.has_facts(tuple[v].bits, Var(v as u8)))
            && self.rule.conds.iter().all(|c| match c {
                Cond::Fact(..) | Cond::Once(_) => true,
                Cond::Equal(a, b) => get(a).bits == get(b).bits,
                Cond::Different(a, b) => get(a).bits != get(b).bits,
                Cond::Less(a, b) => float(get(a)) < float(get(b)),
                Cond::ShiftSum(a, b) => get(a)
                    .bits
                    .checked_add(get(b).bits)
                    .is_some_and(|sum| sum < 32),
            })
    }
}

fn float(v: Value) -> f32 {
    f32::from_bits(v.bits as u32)
}

/// A word like `w` that has the fact.
fn towards(f: Fact, w: u32) -> u32 {
    let x = f32::from_bits(w);
    let finite = |x: f32| if x.is_finite() { x } else { 1.5 };
    match f {
        Fact::NotNan | Fact::Finite | Fact::Float => finite(x).to_bits(),
        Fact::NonNegative => finite(x).abs().to_bits(),
        Fact::Positive | Fact::NonZero | Fact::Scale if x == 0.0 => 1.5f32.to_bits(),
        Fact::Positive => finite(x).abs().to_bits(),
        Fact::NonZero | Fact::Scale => finite(x).to_bits(),
        Fact::Unit => (finite(x).abs() % 1.0).to_bits(),
        Fact::SignedUnit => (finite(x) % 1.0).to_bits(),
        Fact::Bool => (w & 1) * 0x3f80_0000,
        Fact::Mask => (w & 1).wrapping_neg(),
        Fact::Integral => finite(x).trunc().to_bits(),
        Fact::NotMinusZero => 0,
        Fact::PowerOfTwo => (w & 0x8000_0000) | (2 + (w >> 8) % 250) << 23,
        Fact::Shift => w & 31,
        Fact::IntPowerOfTwo => 1 << (w & 31),
        Fact::LowMask => u32::MAX >> (w & 31),
    }
}

/// Finds the variables of 64 bits and the words written in a rule.
fn look(t: &Term, wide: &mut [bool], words: &mut Vec<u32>) {
    let Term::Op(op, args) = t else { return };
    for (i, a) in args.iter().enumerate() {
        match a {
            Term::Var(v) => wide[usize::from(v.0)] |= operand_type(*op, i).is_wide(),
            Term::Word(w) if !SPECIAL.contains(w) && !words.contains(w) => words.push(*w),
            _ => look(a, wide, words),
        }
    }
}
