//! Real numbers: rationals, and numbers near those that are none.

use std::cmp::Ordering;
use std::sync::LazyLock;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Binary places of what is no rational.
const PLACES: usize = 320;
/// Numbers that are nearer to each other than 2 to minus this are not told apart if one is no
/// rational.
const APART: usize = 160;

/// A real number, to 300 binary places at least.
#[derive(Clone, Debug)]
pub(crate) struct Real {
    value: BigRational,
    exact: bool,
}

static LN_2: LazyLock<BigInt> = LazyLock::new(|| artanh(&(one() / 3)) * 2);

/// By Machin's formula.
static PI: LazyLock<BigInt> = LazyLock::new(|| arctan(5) * 16 - arctan(239) * 4);

fn one() -> BigInt {
    BigInt::one() << PLACES
}

/// The product of two fixed-point numbers.
fn times(a: &BigInt, b: &BigInt) -> BigInt {
    (a * b) >> PLACES
}

/// Sums up `term / k` for `k` as `divisor` says; `next` makes the next term of the last one.
fn series(
    first: BigInt,
    next: impl Fn(&BigInt, u32) -> BigInt,
    divisor: impl Fn(u32) -> u32,
) -> BigInt {
    let mut sum = BigInt::zero();
    let mut term = first;
    for k in 0..1000 {
        // A negative number shifted down ends at -1.
        if term.bits() <= 1 {
            break;
        }
        sum += &term / divisor(k);
        term = next(&term, k);
    }
    sum
}

fn artanh(z: &BigInt) -> BigInt {
    let square = times(z, z);
    series(z.clone(), |t, _| times(t, &square), |k| 2 * k + 1)
}

fn arctan(inverse: u32) -> BigInt {
    series(
        one() / inverse,
        |t, _| -(t / (inverse * inverse)),
        |k| 2 * k + 1,
    )
}

fn fixed(r: &BigRational) -> BigInt {
    (r.numer() << PLACES) / r.denom()
}

fn power_of_two(n: i64) -> BigRational {
    let size = BigInt::one() << n.unsigned_abs() as usize;
    if n < 0 {
        BigRational::new(BigInt::one(), size)
    } else {
        BigRational::from(size)
    }
}

impl Real {
    pub(crate) fn exact(value: BigRational) -> Real {
        Real { value, exact: true }
    }

    pub(crate) fn integer(n: i64) -> Real {
        Real::exact(BigRational::from(BigInt::from(n)))
    }

    pub(crate) fn ratio(n: i64, d: i64) -> Real {
        Real::exact(BigRational::new(n.into(), d.into()))
    }

    pub(crate) fn power_of_two(n: i64) -> Real {
        Real::exact(power_of_two(n))
    }

    fn near(value: BigInt) -> Real {
        Real {
            value: BigRational::new(value, one()),
            exact: false,
        }
    }

    /// The number of a word, none for infinities and NaNs. Words next to pi and its parts stand for
    /// these.
    pub(crate) fn of_word(w: u32) -> Option<Real> {
        let sign = if w >> 31 == 0 { 1 } else { -1 };
        let halves = match w & 0x7fff_ffff {
            0x3fc9_0fdb => 1,
            0x4049_0fdb => 2,
            0x40c9_0fdb => 4,
            _ => return BigRational::from_float(f32::from_bits(w)).map(Real::exact),
        };
        Some(Real::near(&*PI * (halves * sign) / 2))
    }

    /// The float that it is.
    pub(crate) fn word(&self) -> Option<u32> {
        let x = self.value.to_f64()? as f32;
        let same = BigRational::from_float(x)? == self.value;
        (self.exact && same).then(|| x.to_bits())
    }

    /// The whole number that it is.
    pub(crate) fn whole(&self) -> Option<i64> {
        if self.exact && self.value.is_integer() {
            self.value.to_integer().to_i64()
        } else {
            None
        }
    }

    fn with(&self, other: &Real, value: BigRational) -> Real {
        let exact = self.exact && other.exact;
        // What is no rational anyway is kept short.
        if exact || value.denom().bits() <= 2 * PLACES as u64 {
            Real { value, exact }
        } else {
            Real::near(fixed(&value))
        }
    }

    pub(crate) fn add(&self, other: &Real) -> Real {
        self.with(other, &self.value + &other.value)
    }

    pub(crate) fn neg(&self) -> Real {
        Real {
            value: -self.value.clone(),
            exact: self.exact,
        }
    }

    pub(crate) fn sub(&self, other: &Real) -> Real {
        self.add(&other.neg())
    }

    pub(crate) fn mul(&self, other: &Real) -> Real {
        self.with(other, &self.value * &other.value)
    }

    /// None by zero, or by what may be.
    pub(crate) fn div(&self, other: &Real) -> Option<Real> {
        (other.sign()? != 0).then(|| self.with(other, &self.value / &other.value))
    }

    /// Which is greater; none if that cannot be told.
    pub(crate) fn compare(&self, other: &Real) -> Option<Ordering> {
        let difference = &self.value - &other.value;
        let exact = self.exact && other.exact;
        if !exact && difference.abs() < power_of_two(-(APART as i64)) {
            return None;
        }
        Some(difference.cmp(&BigRational::zero()))
    }

    /// -1, 0 or 1; none if that cannot be told.
    pub(crate) fn sign(&self) -> Option<i64> {
        Some(self.compare(&Real::integer(0))? as i64)
    }

    /// Whether they are the same as far as they are known.
    pub(crate) fn same(&self, other: &Real) -> bool {
        if self.exact && other.exact {
            return self.value == other.value;
        }
        let scale = BigRational::one() + self.value.abs();
        (&self.value - &other.value).abs() < scale * power_of_two(-(APART as i64))
    }

    pub(crate) fn floor(&self) -> Option<Real> {
        let floor = self.value.floor();
        let rest = &self.value - &floor;
        let little = power_of_two(-(APART as i64));
        let clear = rest > little && rest < BigRational::one() - &little;
        (self.exact || clear).then(|| Real::exact(floor))
    }

    pub(crate) fn sqrt(&self) -> Option<Real> {
        if self.sign()? < 0 {
            return None;
        }
        let (n, d) = (self.value.numer(), self.value.denom());
        let (rn, rd) = (n.sqrt(), d.sqrt());
        if self.exact && &(&rn * &rn) == n && &(&rd * &rd) == d {
            return Some(Real::exact(BigRational::new(rn, rd)));
        }
        Some(Real::near(((n << (2 * PLACES)) / d).sqrt()))
    }

    pub(crate) fn exp2(&self) -> Option<Real> {
        let whole = self.value.floor();
        let n = whole.to_integer().to_i64().filter(|n| n.abs() < 200)?;
        let rest = &self.value - &whole;
        if self.exact && rest.is_zero() {
            return Some(Real::power_of_two(n));
        }
        let x = times(&fixed(&rest), &LN_2);
        let value = series(one(), |t, k| times(t, &x) / (k + 1), |_| 1);
        Some(Real::near(value).mul(&Real::power_of_two(n)))
    }

    pub(crate) fn log2(&self) -> Option<Real> {
        if self.sign()? <= 0 {
            return None;
        }
        let n = self.value.numer().bits() as i64 - self.value.denom().bits() as i64;
        let m = &self.value / power_of_two(n);
        let (below, above) = (&m - BigRational::one(), &m + BigRational::one());
        if self.exact && below.is_zero() {
            return Some(Real::integer(n));
        }
        let ln = artanh(&fixed(&(below / above))) * 2;
        let fraction = (ln << PLACES) / &*LN_2;
        Some(Real::near(fraction).add(&Real::integer(n)))
    }

    pub(crate) fn pow(&self, power: &Real) -> Option<Real> {
        if let Some(n) = power.whole().filter(|n| n.abs() <= 16) {
            let one = Real::integer(1);
            let size = (0..n.abs()).fold(one.clone(), |p, _| p.mul(self));
            return if n < 0 { one.div(&size) } else { Some(size) };
        }
        match self.sign()? {
            0 => (power.sign()? > 0).then(|| Real::integer(0)),
            1 => self.log2()?.mul(power).exp2(),
            _ => None,
        }
    }

    pub(crate) fn sin(&self) -> Real {
        let x = self.angle();
        let square = times(&x, &x);
        Real::near(series(
            x.clone(),
            |t, k| -(times(t, &square) / ((2 * k + 2) * (2 * k + 3))),
            |_| 1,
        ))
    }

    pub(crate) fn cos(&self) -> Real {
        let x = self.angle();
        let square = times(&x, &x);
        Real::near(series(
            one(),
            |t, k| -(times(t, &square) / ((2 * k + 1) * (2 * k + 2))),
            |_| 1,
        ))
    }

    /// Between 0 and two pi.
    fn angle(&self) -> BigInt {
        let turn = &*PI * 2;
        let x = fixed(&self.value);
        let rest: BigInt = &x % &turn;
        if rest.is_negative() {
            rest + turn
        } else {
            rest
        }
    }
}

impl std::fmt::Display for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.exact && self.value.denom().bits() < 40 {
            write!(f, "{}", self.value)
        } else {
            write!(f, "{}", self.value.to_f64().unwrap_or(f64::NAN))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Real;

    #[track_caller]
    fn near(x: Option<Real>, y: f64) {
        let x = x.expect("a number");
        let y = Real::exact(num_rational::BigRational::from_float(y).expect("finite"));
        let bound = Real::ratio(1, 1_000_000_000_000);
        let off = x.sub(&y);
        for off in [off.neg(), off] {
            assert_eq!(off.compare(&bound), Some(std::cmp::Ordering::Less), "{x:?}");
        }
    }

    #[test]
    fn functions_are_those_of_the_library() {
        for (n, d) in [(1, 3), (7, 2), (22, 7), (1, 100), (5, 1)] {
            let (r, x) = (Real::ratio(n, d), n as f64 / d as f64);
            near(r.sqrt(), x.sqrt());
            near(r.exp2(), x.exp2());
            near(r.neg().exp2(), (-x).exp2());
            near(r.log2(), x.log2());
            near(Some(r.sin()), x.sin());
            near(Some(r.neg().cos()), x.cos());
            near(r.pow(&Real::ratio(2, 3)), x.powf(2.0 / 3.0));
        }
    }

    #[test]
    fn functions_undo_each_other() {
        let r = Real::ratio(17, 6);
        let root = r.sqrt().expect("a root");
        assert!(root.mul(&root).same(&r));
        assert!(r.log2().and_then(|l| l.exp2()).is_some_and(|x| x.same(&r)));
        let one = r.sin().mul(&r.sin()).add(&r.cos().mul(&r.cos()));
        assert!(one.same(&Real::integer(1)));
    }
}
