//! 64-bit operations and conversions. A 32-bit operand or result is the low word.

use super::{truth, word};

fn d1(a: &[u64], f: impl Fn(f64) -> f64) -> u64 {
    f(double(a, 0)).to_bits()
}

fn d2(a: &[u64], f: impl Fn(f64, f64) -> f64) -> u64 {
    f(double(a, 0), double(a, 1)).to_bits()
}

fn u2(a: &[u64], f: impl Fn(u64, u64) -> u64) -> u64 {
    f(word(a, 0), word(a, 1))
}

fn i1(a: &[u64], f: impl Fn(i64) -> i64) -> u64 {
    f(word(a, 0) as i64) as u64
}

fn i2(a: &[u64], f: impl Fn(i64, i64) -> i64) -> u64 {
    f(word(a, 0) as i64, word(a, 1) as i64) as u64
}

fn double(a: &[u64], i: usize) -> f64 {
    f64::from_bits(word(a, i))
}

fn flag(b: bool) -> u64 {
    u64::from(truth(b))
}

pub(crate) fn dabs(a: &[u64]) -> u64 {
    d1(a, |x| if x >= 0.0 { x } else { -x })
}
pub(crate) fn dneg(a: &[u64]) -> u64 {
    d1(a, |x| -x)
}
pub(crate) fn dadd(a: &[u64]) -> u64 {
    d2(a, |x, y| x + y)
}
pub(crate) fn dmul(a: &[u64]) -> u64 {
    d2(a, |x, y| x * y)
}
pub(crate) fn ddiv(a: &[u64]) -> u64 {
    d2(a, |x, y| x / y)
}
pub(crate) fn dmad(a: &[u64]) -> u64 {
    let z = double(a, 2);
    d2(a, |x, y| x * y + z)
}
pub(crate) fn dmax(a: &[u64]) -> u64 {
    d2(a, |x, y| if x.is_nan() || y > x { y } else { x })
}
pub(crate) fn dmin(a: &[u64]) -> u64 {
    d2(a, |x, y| if x.is_nan() || y < x { y } else { x })
}
pub(crate) fn dslt(a: &[u64]) -> u64 {
    flag(double(a, 0) < double(a, 1))
}
pub(crate) fn dsge(a: &[u64]) -> u64 {
    flag(double(a, 0) >= double(a, 1))
}
pub(crate) fn dseq(a: &[u64]) -> u64 {
    flag(double(a, 0) == double(a, 1))
}
pub(crate) fn dsne(a: &[u64]) -> u64 {
    flag(double(a, 0) != double(a, 1))
}
pub(crate) fn drcp(a: &[u64]) -> u64 {
    d1(a, |x| 1.0 / x)
}
pub(crate) fn dsqrt(a: &[u64]) -> u64 {
    d1(a, f64::sqrt)
}
pub(crate) fn drsq(a: &[u64]) -> u64 {
    d1(a, |x| 1.0 / x.sqrt())
}
pub(crate) fn dfrac(a: &[u64]) -> u64 {
    d1(a, |x| x - x.floor())
}
pub(crate) fn dtrunc(a: &[u64]) -> u64 {
    d1(a, f64::trunc)
}
pub(crate) fn dceil(a: &[u64]) -> u64 {
    d1(a, f64::ceil)
}
pub(crate) fn dflr(a: &[u64]) -> u64 {
    d1(a, f64::floor)
}
pub(crate) fn dround(a: &[u64]) -> u64 {
    d1(a, f64::round_ties_even)
}
pub(crate) fn dssg(a: &[u64]) -> u64 {
    d1(a, |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)))
}
pub(crate) fn dldexp(a: &[u64]) -> u64 {
    d1(a, |x| scale(x, word(a, 1) as u32 as i32))
}

/// `x * 2^exponent` with one rounding.
///
/// Large factors are applied in steps. On the way down the steps stop 53 binades above the
/// smallest normal number, so that only the last product can round.
fn scale(mut x: f64, exponent: i32) -> f64 {
    const DOWN: i32 = 1022 - 53;
    let power = |e: i32| f64::from_bits(((1023 + e) as u64) << 52);
    let mut left = exponent.clamp(-3000, 3000);
    while left > 1023 {
        x *= power(1023);
        left -= 1023;
    }
    while left < -1022 {
        x *= power(-DOWN);
        left += DOWN;
    }
    x * power(left)
}

pub(crate) fn f2d(a: &[u64]) -> u64 {
    f64::from(single(a)).to_bits()
}
pub(crate) fn d2f(a: &[u64]) -> u64 {
    low_float(double(a, 0) as f32)
}
pub(crate) fn i2d(a: &[u64]) -> u64 {
    f64::from(word(a, 0) as u32 as i32).to_bits()
}
pub(crate) fn u2d(a: &[u64]) -> u64 {
    f64::from(word(a, 0) as u32).to_bits()
}
pub(crate) fn d2i(a: &[u64]) -> u64 {
    u64::from(to_i32(double(a, 0)))
}
pub(crate) fn d2u(a: &[u64]) -> u64 {
    const TOP: f64 = 2147483648.0;
    let x = double(a, 0);
    u64::from(if x >= TOP {
        to_i32(x - TOP) ^ 1 << 31
    } else {
        to_i32(x)
    })
}

/// Truncates; NaN and what does not fit give the smallest integer.
fn to_i32(x: f64) -> u32 {
    let fits = x > -2147483649.0 && x < 2147483648.0;
    if fits { x as i32 as u32 } else { 1 << 31 }
}

pub(crate) fn i2i64(a: &[u64]) -> u64 {
    i64::from(word(a, 0) as u32 as i32) as u64
}
pub(crate) fn u2i64(a: &[u64]) -> u64 {
    word(a, 0) & 0xffff_ffff
}
pub(crate) fn f2i64(a: &[u64]) -> u64 {
    to_i64(f64::from(single(a)))
}
pub(crate) fn f2u64(a: &[u64]) -> u64 {
    to_u64(f64::from(single(a)))
}
pub(crate) fn d2i64(a: &[u64]) -> u64 {
    to_i64(double(a, 0))
}
pub(crate) fn d2u64(a: &[u64]) -> u64 {
    to_u64(double(a, 0))
}
pub(crate) fn i642f(a: &[u64]) -> u64 {
    low_float(word(a, 0) as i64 as f32)
}
pub(crate) fn u642f(a: &[u64]) -> u64 {
    low_float(word(a, 0) as f32)
}
pub(crate) fn i642d(a: &[u64]) -> u64 {
    (word(a, 0) as i64 as f64).to_bits()
}
pub(crate) fn u642d(a: &[u64]) -> u64 {
    (word(a, 0) as f64).to_bits()
}

fn single(a: &[u64]) -> f32 {
    f32::from_bits(word(a, 0) as u32)
}

fn low_float(x: f32) -> u64 {
    u64::from(x.to_bits())
}

const TOP: f64 = 9223372036854775808.0;

/// Truncates; NaN and what does not fit give the smallest integer.
fn to_i64(x: f64) -> u64 {
    if (-TOP..TOP).contains(&x) {
        x as i64 as u64
    } else {
        1 << 63
    }
}

/// As F2U: numbers from 2^63 on are moved down, converted and moved up again.
fn to_u64(x: f64) -> u64 {
    if x >= TOP {
        to_i64(x - TOP) ^ 1 << 63
    } else {
        to_i64(x)
    }
}

pub(crate) fn useq(a: &[u64]) -> u64 {
    flag(word(a, 0) == word(a, 1))
}
pub(crate) fn usne(a: &[u64]) -> u64 {
    flag(word(a, 0) != word(a, 1))
}
pub(crate) fn islt(a: &[u64]) -> u64 {
    flag((word(a, 0) as i64) < word(a, 1) as i64)
}
pub(crate) fn uslt(a: &[u64]) -> u64 {
    flag(word(a, 0) < word(a, 1))
}
pub(crate) fn isge(a: &[u64]) -> u64 {
    flag(word(a, 0) as i64 >= word(a, 1) as i64)
}
pub(crate) fn usge(a: &[u64]) -> u64 {
    flag(word(a, 0) >= word(a, 1))
}
pub(crate) fn imin(a: &[u64]) -> u64 {
    i2(a, i64::min)
}
pub(crate) fn umin(a: &[u64]) -> u64 {
    u2(a, u64::min)
}
pub(crate) fn imax(a: &[u64]) -> u64 {
    i2(a, i64::max)
}
pub(crate) fn umax(a: &[u64]) -> u64 {
    u2(a, u64::max)
}
pub(crate) fn iabs(a: &[u64]) -> u64 {
    i1(a, i64::wrapping_abs)
}
pub(crate) fn issg(a: &[u64]) -> u64 {
    i1(a, i64::signum)
}
pub(crate) fn ineg(a: &[u64]) -> u64 {
    i1(a, i64::wrapping_neg)
}
pub(crate) fn uadd(a: &[u64]) -> u64 {
    u2(a, u64::wrapping_add)
}
pub(crate) fn umul(a: &[u64]) -> u64 {
    u2(a, u64::wrapping_mul)
}

// The wrapping shifts mask their count with 63.
pub(crate) fn shl(a: &[u64]) -> u64 {
    u2(a, |x, y| x.wrapping_shl(y as u32))
}
pub(crate) fn ushr(a: &[u64]) -> u64 {
    u2(a, |x, y| x.wrapping_shr(y as u32))
}
pub(crate) fn ishr(a: &[u64]) -> u64 {
    i2(a, |x, y| x.wrapping_shr(y as u32))
}
pub(crate) fn idiv(a: &[u64]) -> u64 {
    i2(a, |x, y| if y == 0 { 0 } else { x.wrapping_div(y) })
}
pub(crate) fn imod(a: &[u64]) -> u64 {
    i2(a, |x, y| if y == 0 { -1 } else { x.wrapping_rem(y) })
}
pub(crate) fn udiv(a: &[u64]) -> u64 {
    u2(a, |x, y| x.checked_div(y).unwrap_or(u64::MAX))
}
pub(crate) fn umod(a: &[u64]) -> u64 {
    u2(a, |x, y| x.checked_rem(y).unwrap_or(u64::MAX))
}
