//! Small floating-point formats.

/// A binary format of IEEE 754: a sign, an exponent with a bias, a mantissa; denormals, infinities
/// and NaNs as in the large ones.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    exponent: u32,
    mantissa: u32,
    /// The number of each word; empty for a format too large for that.
    numbers: Vec<f64>,
}

impl Format {
    pub(crate) fn new(exponent: u32, mantissa: u32) -> Format {
        let mut format = Format {
            exponent,
            mantissa,
            numbers: Vec::new(),
        };
        if format.bits() <= 16 {
            format.numbers = (0..1 << format.bits()).map(|w| format.number(w)).collect();
        }
        format
    }

    /// Binary32 itself.
    pub(crate) fn single() -> Format {
        Format::new(8, 23)
    }

    /// Binary64, whose rounding is too small to be seen among moderate numbers.
    pub(crate) fn double() -> Format {
        Format::new(11, 52)
    }

    pub(crate) fn is_double(&self) -> bool {
        self.exponent == 11
    }

    /// The number of bits of a word.
    pub(crate) fn bits(&self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    /// Its usual name: the bits of exponent and mantissa.
    pub(crate) fn name(&self) -> String {
        format!("e{}m{}", self.exponent, self.mantissa)
    }

    /// All bits of a word.
    pub(crate) fn ones(&self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    pub(crate) fn sign(&self) -> u64 {
        1 << (self.bits() - 1)
    }

    pub(crate) fn infinity(&self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn number(&self, word: u64) -> f64 {
        let magnitude = word & (self.ones() >> 1);
        let field = (magnitude >> self.mantissa) as i32;
        let fraction = (magnitude & ((1 << self.mantissa) - 1)) as f64;
        let unit = |exponent: i32| 2f64.powi(exponent - self.bias() - self.mantissa as i32);
        let size = if magnitude > self.infinity() {
            f64::NAN
        } else if magnitude == self.infinity() {
            f64::INFINITY
        } else if field == 0 {
            fraction * unit(1)
        } else {
            (fraction + (1u64 << self.mantissa) as f64) * unit(field)
        };
        if word & self.sign() == 0 { size } else { -size }
    }

    /// The number that a word stands for.
    pub(crate) fn decode(&self, word: u64) -> f64 {
        match self.numbers.get(word as usize) {
            Some(x) => *x,
            None if self.is_double() => f64::from_bits(word),
            None => f32::from_bits(word as u32).into(),
        }
    }

    /// The word next to a number, of two the even one.
    pub(crate) fn encode(&self, x: f64) -> u64 {
        if self.is_double() {
            return x.to_bits();
        }
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        if x.is_nan() {
            return self.infinity() | 1 << (self.mantissa - 1);
        }
        let size = x.abs();
        let exponent = (size.to_bits() >> 52) as i32 - 1023;
        let least = 1 - self.bias();
        if exponent > self.bias() {
            return sign | self.infinity();
        }
        if exponent < least - self.mantissa as i32 - 1 {
            return sign;
        }
        let unit = exponent.max(least) - self.mantissa as i32;
        let scale = f64::from_bits(((1023 - unit) as u64) << 52);
        let units = (size * scale).round_ties_even() as u64;
        // A carry out of the mantissa goes into the exponent, up to infinity.
        let magnitude = if exponent < least {
            units
        } else {
            units + (((exponent + self.bias() - 1) as u64) << self.mantissa)
        };
        sign | magnitude
    }

    /// Whether the format has exactly that number, and as a normal one if it is no zero.
    pub(crate) fn has(&self, x: f64) -> bool {
        let word = self.encode(x);
        self.decode(word) == x && (x == 0.0 || !self.is_denormal(word))
    }

    pub(crate) fn is_denormal(&self, word: u64) -> bool {
        let magnitude = word & (self.ones() >> 1);
        magnitude != 0 && magnitude >> self.mantissa == 0
    }

    pub(crate) fn is_nan(&self, word: u64) -> bool {
        word & (self.ones() >> 1) > self.infinity()
    }

    /// A denormal as the zero of its sign.
    pub(crate) fn flushed(&self, word: u64) -> u64 {
        if self.is_denormal(word) {
            word & self.sign()
        } else {
            word
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn every_word_is_its_own_rounding() {
        for (e, m) in [(2, 1), (3, 2), (4, 3), (5, 2), (6, 9)] {
            let f = Format::new(e, m);
            for w in 0..1 << f.bits() {
                if !f.is_nan(w) {
                    assert_eq!(f.encode(f.decode(w)), w, "e{e}m{m} {w:#x}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_that_of_binary32() {
        let f = Format::new(8, 23);
        let mut x = 1e-46f64;
        while x < 1e40 {
            x *= 1.000_37;
            let y = x * (1.0 + f64::from(x.to_bits() as u32) * 1e-12);
            assert_eq!(f.encode(y), u64::from((y as f32).to_bits()), "{y:e}");
            assert_eq!(f.encode(-y), u64::from((-y as f32).to_bits()), "{y:e}");
        }
    }

    #[test]
    fn ties_go_to_even() {
        let f = Format::new(4, 3);
        for w in 0..f.infinity() - 1 {
            let middle = (f.decode(w) + f.decode(w + 1)) / 2.0;
            assert_eq!(f.encode(middle), w + (w & 1));
        }
    }
}
