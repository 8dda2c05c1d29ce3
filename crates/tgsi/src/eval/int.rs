//! 32-bit integer operations and bit fields.

use super::{truth, word};

fn u1(a: &[u32], f: impl Fn(u32) -> u32) -> u32 {
    f(word(a, 0))
}

fn u2(a: &[u32], f: impl Fn(u32, u32) -> u32) -> u32 {
    f(word(a, 0), word(a, 1))
}

fn i1(a: &[u32], f: impl Fn(i32) -> i32) -> u32 {
    f(word(a, 0) as i32) as u32
}

fn i2(a: &[u32], f: impl Fn(i32, i32) -> i32) -> u32 {
    f(word(a, 0) as i32, word(a, 1) as i32) as u32
}

pub(crate) fn not(a: &[u32]) -> u32 {
    u1(a, |x| !x)
}
pub(crate) fn and(a: &[u32]) -> u32 {
    u2(a, |x, y| x & y)
}
pub(crate) fn or(a: &[u32]) -> u32 {
    u2(a, |x, y| x | y)
}
pub(crate) fn xor(a: &[u32]) -> u32 {
    u2(a, |x, y| x ^ y)
}
pub(crate) fn uadd(a: &[u32]) -> u32 {
    u2(a, u32::wrapping_add)
}
pub(crate) fn umul(a: &[u32]) -> u32 {
    u2(a, u32::wrapping_mul)
}
pub(crate) fn umad(a: &[u32]) -> u32 {
    umul(a).wrapping_add(word(a, 2))
}
pub(crate) fn sad(a: &[u32]) -> u32 {
    u2(a, u32::abs_diff).wrapping_add(word(a, 2))
}
pub(crate) fn umul_hi(a: &[u32]) -> u32 {
    u2(a, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32)
}
pub(crate) fn imul_hi(a: &[u32]) -> u32 {
    i2(a, |x, y| ((i64::from(x) * i64::from(y)) >> 32) as i32)
}
pub(crate) fn idiv(a: &[u32]) -> u32 {
    i2(a, |x, y| if y == 0 { 0 } else { x.wrapping_div(y) })
}
pub(crate) fn imod(a: &[u32]) -> u32 {
    i2(a, |x, y| if y == 0 { -1 } else { x.wrapping_rem(y) })
}
pub(crate) fn udiv(a: &[u32]) -> u32 {
    u2(a, |x, y| x.checked_div(y).unwrap_or(u32::MAX))
}
pub(crate) fn umod(a: &[u32]) -> u32 {
    u2(a, |x, y| x.checked_rem(y).unwrap_or(u32::MAX))
}
pub(crate) fn imax(a: &[u32]) -> u32 {
    i2(a, i32::max)
}
pub(crate) fn imin(a: &[u32]) -> u32 {
    i2(a, i32::min)
}
pub(crate) fn umax(a: &[u32]) -> u32 {
    u2(a, u32::max)
}
pub(crate) fn umin(a: &[u32]) -> u32 {
    u2(a, u32::min)
}
pub(crate) fn ineg(a: &[u32]) -> u32 {
    i1(a, i32::wrapping_neg)
}
pub(crate) fn iabs(a: &[u32]) -> u32 {
    i1(a, i32::wrapping_abs)
}
pub(crate) fn issg(a: &[u32]) -> u32 {
    i1(a, i32::signum)
}
pub(crate) fn isge(a: &[u32]) -> u32 {
    truth(word(a, 0) as i32 >= word(a, 1) as i32)
}
pub(crate) fn islt(a: &[u32]) -> u32 {
    truth((word(a, 0) as i32) < word(a, 1) as i32)
}
pub(crate) fn usge(a: &[u32]) -> u32 {
    truth(word(a, 0) >= word(a, 1))
}
pub(crate) fn uslt(a: &[u32]) -> u32 {
    truth(word(a, 0) < word(a, 1))
}
pub(crate) fn useq(a: &[u32]) -> u32 {
    truth(word(a, 0) == word(a, 1))
}
pub(crate) fn usne(a: &[u32]) -> u32 {
    truth(word(a, 0) != word(a, 1))
}
pub(crate) fn ucmp(a: &[u32]) -> u32 {
    if word(a, 0) != 0 {
        word(a, 1)
    } else {
        word(a, 2)
    }
}

// The wrapping shifts mask their count with 31.
pub(crate) fn shl(a: &[u32]) -> u32 {
    u2(a, u32::wrapping_shl)
}
pub(crate) fn ushr(a: &[u32]) -> u32 {
    u2(a, u32::wrapping_shr)
}
pub(crate) fn ishr(a: &[u32]) -> u32 {
    i2(a, |x, y| x.wrapping_shr(y as u32))
}

/// Offset and width of a bit field, and how far to shift left to drop what is above it.
/// Both numbers count modulo 32; a field that would leave the word ends at bit 31.
fn field(a: &[u32]) -> Option<(u32, u32)> {
    let (offset, width) = (word(a, 1) & 31, word(a, 2) & 31);
    let above = 32u32.saturating_sub(offset + width);
    (width != 0).then_some((above, above + offset))
}

pub(crate) fn ubfe(a: &[u32]) -> u32 {
    field(a).map_or(0, |(left, right)| word(a, 0) << left >> right)
}
pub(crate) fn ibfe(a: &[u32]) -> u32 {
    field(a).map_or(0, |(left, right)| {
        ((word(a, 0) << left) as i32 >> right) as u32
    })
}
pub(crate) fn bfi(a: &[u32]) -> u32 {
    let (offset, width) = (word(a, 2) & 31, word(a, 3) & 31);
    let mask = ((1u32 << width) - 1) << offset;
    word(a, 0) & !mask | word(a, 1) << offset & mask
}
pub(crate) fn brev(a: &[u32]) -> u32 {
    u1(a, u32::reverse_bits)
}
pub(crate) fn popc(a: &[u32]) -> u32 {
    u1(a, u32::count_ones)
}
pub(crate) fn lsb(a: &[u32]) -> u32 {
    u1(a, |x| if x == 0 { u32::MAX } else { x.trailing_zeros() })
}
pub(crate) fn umsb(a: &[u32]) -> u32 {
    u1(a, |x| x.checked_ilog2().unwrap_or(u32::MAX))
}
pub(crate) fn imsb(a: &[u32]) -> u32 {
    let x = word(a, 0);
    umsb(&[if x >> 31 == 0 { x } else { !x }])
}
