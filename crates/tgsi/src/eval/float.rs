//! 32-bit float operations, and conversions to and from 32-bit integers.

use super::{truth, word};

fn f1(args: &[u32], f: impl Fn(f32) -> f32) -> u32 {
    f(arg(args, 0)).to_bits()
}

fn f2(args: &[u32], f: impl Fn(f32, f32) -> f32) -> u32 {
    f(arg(args, 0), arg(args, 1)).to_bits()
}

fn f3(args: &[u32], f: impl Fn(f32, f32, f32) -> f32) -> u32 {
    f(arg(args, 0), arg(args, 1), arg(args, 2)).to_bits()
}

fn arg(args: &[u32], i: usize) -> f32 {
    f32::from_bits(word(args, i))
}

/// 1.0 or 0.0: the truth values of the float comparisons.
fn one(b: bool) -> f32 {
    if b { 1.0 } else { 0.0 }
}

fn compare(args: &[u32], f: impl Fn(f32, f32) -> bool) -> u32 {
    truth(f(arg(args, 0), arg(args, 1)))
}

pub(crate) fn mov(a: &[u32]) -> u32 {
    word(a, 0)
}
pub(crate) fn add(a: &[u32]) -> u32 {
    f2(a, |x, y| x + y)
}
pub(crate) fn sub(a: &[u32]) -> u32 {
    f2(a, |x, y| x - y)
}
pub(crate) fn mul(a: &[u32]) -> u32 {
    f2(a, |x, y| x * y)
}
pub(crate) fn div(a: &[u32]) -> u32 {
    f2(a, |x, y| x / y)
}
pub(crate) fn mad(a: &[u32]) -> u32 {
    f3(a, |x, y, z| x * y + z)
}
pub(crate) fn fma(a: &[u32]) -> u32 {
    f3(a, fused)
}
pub(crate) fn lrp(a: &[u32]) -> u32 {
    f3(a, |x, y, z| x * (y - z) + z)
}
pub(crate) fn abs(a: &[u32]) -> u32 {
    super::abs_f(word(a, 0))
}
pub(crate) fn min(a: &[u32]) -> u32 {
    f2(a, |x, y| if x.is_nan() || y < x { y } else { x })
}
pub(crate) fn max(a: &[u32]) -> u32 {
    f2(a, |x, y| if x.is_nan() || y > x { y } else { x })
}
pub(crate) fn slt(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x < y))
}
pub(crate) fn sge(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x >= y))
}
pub(crate) fn seq(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x == y))
}
pub(crate) fn sne(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x != y))
}
pub(crate) fn sgt(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x > y))
}
pub(crate) fn sle(a: &[u32]) -> u32 {
    f2(a, |x, y| one(x <= y))
}
pub(crate) fn sfl(_: &[u32]) -> u32 {
    0
}
pub(crate) fn str(_: &[u32]) -> u32 {
    1f32.to_bits()
}
pub(crate) fn fslt(a: &[u32]) -> u32 {
    compare(a, |x, y| x < y)
}
pub(crate) fn fsge(a: &[u32]) -> u32 {
    compare(a, |x, y| x >= y)
}
pub(crate) fn fseq(a: &[u32]) -> u32 {
    compare(a, |x, y| x == y)
}
pub(crate) fn fsne(a: &[u32]) -> u32 {
    compare(a, |x, y| x != y)
}
pub(crate) fn cmp(a: &[u32]) -> u32 {
    if arg(a, 0) < 0.0 {
        word(a, 1)
    } else {
        word(a, 2)
    }
}
pub(crate) fn cnd(a: &[u32]) -> u32 {
    if arg(a, 2) > 0.5 {
        word(a, 0)
    } else {
        word(a, 1)
    }
}
pub(crate) fn cnd0(a: &[u32]) -> u32 {
    if arg(a, 2) >= 0.0 {
        word(a, 0)
    } else {
        word(a, 1)
    }
}
pub(crate) fn clamp(a: &[u32]) -> u32 {
    f3(a, clamped)
}

/// The comparisons in this order decide what a NaN does.
fn clamped(x: f32, low: f32, high: f32) -> f32 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

pub(crate) fn frc(a: &[u32]) -> u32 {
    f1(a, |x| x - x.floor())
}
pub(crate) fn flr(a: &[u32]) -> u32 {
    f1(a, f32::floor)
}
pub(crate) fn ceil(a: &[u32]) -> u32 {
    f1(a, f32::ceil)
}
pub(crate) fn trunc(a: &[u32]) -> u32 {
    f1(a, f32::trunc)
}
pub(crate) fn round(a: &[u32]) -> u32 {
    f1(a, f32::round_ties_even)
}
pub(crate) fn ssg(a: &[u32]) -> u32 {
    f1(a, |x| one(x > 0.0) - one(x < 0.0))
}
pub(crate) fn rcp(a: &[u32]) -> u32 {
    f1(a, |x| 1.0 / x)
}
pub(crate) fn sqrt(a: &[u32]) -> u32 {
    f1(a, f32::sqrt)
}
pub(crate) fn rsq(a: &[u32]) -> u32 {
    f1(a, |x| 1.0 / x.sqrt())
}

/// The reciprocal, kept off 0 and infinity on its side.
pub(crate) fn rcc(a: &[u32]) -> u32 {
    const LOW: f32 = 5.42101e-20;
    const HIGH: f32 = 1.884467e+19;
    f1(a, |x| {
        let r = 1.0 / x;
        if r > 0.0 {
            clamped(r, LOW, HIGH)
        } else {
            clamped(r, -HIGH, -LOW)
        }
    })
}

/// Both factors and the term are scaled exactly in binary64, so there is one rounding.
pub(crate) fn ldexp(a: &[u32]) -> u32 {
    let exponent = (word(a, 1) as i32).clamp(-400, 400);
    let scale = f64::from_bits(((1023 + exponent) as u64) << 52);
    f1(a, |x| (f64::from(x) * scale) as f32)
}

/// Dot product of the first half of the words with the second, left to right.
pub(crate) fn dot(a: &[u32]) -> u32 {
    let (x, y) = a.split_at(a.len() / 2);
    let mut products = x
        .iter()
        .zip(y)
        .map(|(x, y)| f32::from_bits(*x) * f32::from_bits(*y));
    let first = products.next().unwrap_or(0.0);
    products.fold(first, |sum, p| sum + p).to_bits()
}

pub(crate) fn arl(a: &[u32]) -> u32 {
    to_int(arg(a, 0).floor())
}
pub(crate) fn arr(a: &[u32]) -> u32 {
    to_int((arg(a, 0) + 0.5).floor())
}
pub(crate) fn f2i(a: &[u32]) -> u32 {
    to_int(arg(a, 0))
}
pub(crate) fn f2u(a: &[u32]) -> u32 {
    const TOP: f32 = 2147483648.0;
    let x = arg(a, 0);
    if x >= TOP {
        to_int(x - TOP) ^ 0x8000_0000
    } else {
        to_int(x)
    }
}
pub(crate) fn i2f(a: &[u32]) -> u32 {
    (word(a, 0) as i32 as f32).to_bits()
}
pub(crate) fn u2f(a: &[u32]) -> u32 {
    (word(a, 0) as f32).to_bits()
}

/// Truncates; NaN and what does not fit give 0x80000000.
fn to_int(x: f32) -> u32 {
    if (-2147483648.0..2147483648.0).contains(&x) {
        x as i32 as u32
    } else {
        0x8000_0000
    }
}

/// `x * y + z` with one rounding.
///
/// The product is exact in binary64. Their sum is rounded to odd there (an inexact sum
/// whose last bit is even moves one step towards the lost part), which makes the second
/// rounding to binary32 give what one rounding would have given.
fn fused(x: f32, y: f32, z: f32) -> f32 {
    let (p, z) = (f64::from(x) * f64::from(y), f64::from(z));
    let sum = p + z;
    if !sum.is_finite() {
        return sum as f32;
    }
    let z_part = sum - p;
    let lost = (p - (sum - z_part)) + (z - z_part);
    let bits = sum.to_bits();
    let odd = match lost != 0.0 && bits & 1 == 0 {
        false => bits,
        true if (lost > 0.0) == (sum > 0.0) => bits + 1,
        true => bits - 1,
    };
    f64::from_bits(odd) as f32
}
