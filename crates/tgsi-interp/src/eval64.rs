//! Opcodes on 64-bit channel pairs: xy and zw, the low word first.

use tgsi::Opcode;
use tgsi::Opcode as O;

use crate::eval::{Rules, Vec4};
use crate::eval32;

/// How a 64-bit opcode uses its write mask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Pair to pair; a pair is written only if both of its channels are in the mask.
    WholePairs,
    /// Pair to pair; one channel of a pair in the mask writes both.
    AnyPair,
    /// Pairs to one word each: the lowest channel of the mask in each half.
    Compare,
    /// Pairs to one word each: the lowest channel of the mask takes xy, the next zw.
    Narrow,
}

fn form(op: Opcode) -> Option<Form> {
    Some(match op {
        O::F2d | O::I2d | O::U2d | O::F2u64 | O::F2i64 | O::U2i64 | O::I2i64 => Form::WholePairs,
        O::D2u64 | O::D2i64 | O::U642d | O::I642d => Form::WholePairs,
        O::Dabs | O::Dneg | O::Drcp | O::Dsqrt | O::Drsq | O::Dfrac => Form::WholePairs,
        O::Dtrunc | O::Dceil | O::Dflr | O::Dround | O::Dssg => Form::WholePairs,
        O::I64abs | O::I64neg | O::I64ssg => Form::WholePairs,
        O::Dmad | O::Dfma => Form::WholePairs,
        O::Dadd | O::Dmul | O::Dmax | O::Dmin | O::Ddiv | O::Dldexp => Form::AnyPair,
        O::U64add | O::U64mul | O::U64shl | O::I64shr | O::U64shr => Form::AnyPair,
        O::I64min | O::U64min | O::I64max | O::U64max => Form::AnyPair,
        O::I64div | O::U64div | O::I64mod | O::U64mod => Form::AnyPair,
        O::Dslt | O::Dsge | O::Dseq | O::Dsne => Form::Compare,
        O::U64seq | O::U64sne | O::I64slt | O::U64slt | O::I64sge | O::U64sge => Form::Compare,
        O::D2f | O::D2i | O::D2u | O::U642f | O::I642f => Form::Narrow,
        _ => return None,
    })
}

/// Whether the opcode writes channel pairs.
pub(crate) fn is_wide_result(op: Opcode) -> bool {
    matches!(form(op), Some(Form::WholePairs | Form::AnyPair))
}

/// The channels that `op` writes when its text says `mask` (bit 0 = x).
///
/// 32-bit opcodes write what they say. 64-bit opcodes write whole pairs, or one
/// word for each pair.
pub fn written_mask(op: Opcode, mask: u8) -> u8 {
    let pairs = [(mask & 3, 3u8), (mask & 12, 12u8)];
    match form(op) {
        None => mask,
        Some(Form::WholePairs) => pairs
            .iter()
            .filter(|(m, p)| m == p)
            .fold(0, |a, (_, p)| a | p),
        Some(Form::AnyPair) => pairs
            .iter()
            .filter(|(m, _)| *m != 0)
            .fold(0, |a, (_, p)| a | p),
        Some(Form::Compare) => lowest(mask & 3) | lowest(mask & 12),
        Some(Form::Narrow) => lowest(mask) | lowest(mask & !lowest(mask)),
    }
}

fn lowest(mask: u8) -> u8 {
    mask & mask.wrapping_neg()
}

fn pair(a: Vec4, i: usize) -> u64 {
    u64::from(a[2 * i]) | u64::from(a[2 * i + 1]) << 32
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

/// `x` rounded towards zero to a signed 64-bit integer as x86 does.
fn to_i64(x: f64) -> i64 {
    let t = x.trunc();
    if (-9223372036854775808.0..9223372036854775808.0).contains(&t) {
        t as i64
    } else {
        i64::MIN
    }
}

fn to_u64(x: f64) -> u64 {
    const HALF: f64 = 9223372036854775808.0;
    if x >= HALF {
        to_i64(x - HALF) as u64 ^ (1 << 63)
    } else {
        to_i64(x) as u64
    }
}

/// `x * 2^n` with one rounding.
fn ldexp(x: f64, n: i32) -> f64 {
    let mut n = n.clamp(-3000, 3000);
    let mut x = x;
    while n > 1000 {
        x *= 2.0f64.powi(1000);
        n -= 1000;
    }
    if n >= -1000 {
        return x * 2.0f64.powi(n);
    }
    // Downwards in one rounding: bring the fraction to [1, 2) first.
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let (fraction, exponent) = frexp(x);
    let total = exponent + n;
    if total < -1080 {
        return if x < 0.0 { -0.0 } else { 0.0 };
    }
    if total < -1000 {
        return fraction * 2.0f64.powi(-1000) * 2.0f64.powi(total + 1000);
    }
    fraction * 2.0f64.powi(total)
}

/// `x` as a significand in 0.5..1 and an exponent; (x, 0) for zero, infinity and NaN.
pub(crate) fn frexp(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (bits, bias) = if x.is_normal() {
        (x.to_bits(), 1022)
    } else {
        ((x * 2.0f64.powi(64)).to_bits(), 1022 + 64)
    };
    let exponent = ((bits >> 52) & 0x7ff) as i32 - bias;
    (
        f64::from_bits(bits & !(0x7ff << 52) | (1022 << 52)),
        exponent,
    )
}

fn to_d(op: Opcode, x: u64) -> Option<f64> {
    Some(match op {
        O::Dabs => {
            if d(x) >= 0.0 {
                d(x)
            } else {
                -d(x)
            }
        }
        O::Dneg => -d(x),
        O::Drcp => 1.0 / d(x),
        O::Dsqrt => d(x).sqrt(),
        O::Drsq => 1.0 / d(x).sqrt(),
        O::Dfrac => d(x) - d(x).floor(),
        O::Dtrunc => d(x).trunc(),
        O::Dceil => d(x).ceil(),
        O::Dflr => d(x).floor(),
        O::Dround => d(x).round_ties_even(),
        O::Dssg => {
            if d(x) > 0.0 {
                1.0
            } else if d(x) < 0.0 {
                -1.0
            } else {
                0.0
            }
        }
        O::U642d => x as f64,
        O::I642d => x as i64 as f64,
        _ => return None,
    })
}

fn unary(op: Opcode, x: u64) -> Option<u64> {
    if let Some(value) = to_d(op, x) {
        return Some(value.to_bits());
    }
    Some(match op {
        O::D2u64 => to_u64(d(x)),
        O::D2i64 => to_i64(d(x)) as u64,
        O::I64abs => (x as i64).unsigned_abs(),
        O::I64neg => x.wrapping_neg(),
        O::I64ssg => (x as i64).signum() as u64,
        _ => return None,
    })
}

/// From one word of 32 bits.
fn widen(op: Opcode, x: u32) -> Option<u64> {
    let float = f32::from_bits(x);
    Some(match op {
        O::F2d => f64::from(float).to_bits(),
        O::I2d => f64::from(x as i32).to_bits(),
        O::U2d => f64::from(x).to_bits(),
        O::F2i64 => to_i64(f64::from(float)) as u64,
        O::F2u64 => to_u64(f64::from(float)),
        O::I2i64 => i64::from(x as i32) as u64,
        O::U2i64 => u64::from(x),
        _ => return None,
    })
}

fn dmin(x: f64, y: f64, rules: Rules) -> f64 {
    if rules.first_era {
        return if x < y { x } else { y };
    }
    if y.is_nan() || x <= y { x } else { y }
}

fn dmax(x: f64, y: f64, rules: Rules) -> f64 {
    if rules.first_era {
        return if x > y { x } else { y };
    }
    if y.is_nan() || x >= y { x } else { y }
}

fn float_binary(op: Opcode, x: f64, y: f64, z: f64, rules: Rules) -> Option<f64> {
    Some(match op {
        O::Dadd => x + y,
        O::Dmul => x * y,
        O::Ddiv => x / y,
        O::Dmax => dmax(x, y, rules),
        O::Dmin => dmin(x, y, rules),
        O::Dmad => x * y + z,
        O::Dfma => x.mul_add(y, z),
        _ => return None,
    })
}

fn int_binary(op: Opcode, x: u64, y: u64) -> Option<u64> {
    let (i, j) = (x as i64, y as i64);
    let count = (y & 63) as u32;
    Some(match op {
        O::U64add => x.wrapping_add(y),
        O::U64mul => x.wrapping_mul(y),
        O::U64shl => x << count,
        O::U64shr => x >> count,
        O::I64shr => (i >> count) as u64,
        O::I64min => i.min(j) as u64,
        O::I64max => i.max(j) as u64,
        O::U64min => x.min(y),
        O::U64max => x.max(y),
        O::I64div => (if j == 0 { 0 } else { i.wrapping_div(j) }) as u64,
        O::I64mod => (if j == 0 { -1 } else { i.wrapping_rem(j) }) as u64,
        O::U64div => x.checked_div(y).unwrap_or(u64::MAX),
        O::U64mod => x.checked_rem(y).unwrap_or(u64::MAX),
        _ => return None,
    })
}

fn compare(op: Opcode, x: u64, y: u64) -> Option<bool> {
    let (i, j) = (x as i64, y as i64);
    Some(match op {
        O::Dslt => d(x) < d(y),
        O::Dsge => d(x) >= d(y),
        O::Dseq => d(x) == d(y),
        O::Dsne => d(x) != d(y),
        O::U64seq => x == y,
        O::U64sne => x != y,
        O::I64slt => i < j,
        O::U64slt => x < y,
        O::I64sge => i >= j,
        O::U64sge => x >= y,
        _ => return None,
    })
}

fn narrow(op: Opcode, x: u64) -> Option<u32> {
    Some(match op {
        O::D2f => (d(x) as f32).to_bits(),
        O::D2i => eval32::to_i32(d(x)) as u32,
        O::D2u => eval32::to_u32(d(x)),
        O::U642f => (x as f32).to_bits(),
        O::I642f => (x as i64 as f32).to_bits(),
        _ => return None,
    })
}

fn wide_result(op: Opcode, srcs: [Vec4; 3], i: usize, rules: Rules) -> Option<u64> {
    let [a, b, c] = srcs;
    if let Some(x) = widen(op, a[i]) {
        return Some(x);
    }
    let (x, y, z) = (pair(a, i), pair(b, i), pair(c, i));
    match op {
        O::U64shl | O::U64shr | O::I64shr => int_binary(op, x, u64::from(b[2 * i])),
        O::Dldexp => Some(ldexp(d(x), b[2 * i] as i32).to_bits()),
        _ => unary(op, x)
            .or_else(|| float_binary(op, d(x), d(y), d(z), rules).map(f64::to_bits))
            .or_else(|| int_binary(op, x, y)),
    }
}

/// The word of a comparison that is true.
fn truth(op: Opcode, rules: Rules) -> u32 {
    let float = rules.first_era && matches!(op, O::Dseq | O::Dslt);
    if float { 1.0f32.to_bits() } else { u32::MAX }
}

pub(crate) fn eval(op: Opcode, a: Vec4, b: Vec4, c: Vec4, mask: u8, rules: Rules) -> Option<Vec4> {
    let mut out = [0; 4];
    match form(op)? {
        Form::WholePairs | Form::AnyPair => {
            for i in 0..2 {
                let x = wide_result(op, [a, b, c], i, rules)?;
                out[2 * i] = x as u32;
                out[2 * i + 1] = (x >> 32) as u32;
            }
        }
        Form::Compare => {
            for i in 0..2 {
                let word = if compare(op, pair(a, i), pair(b, i))? {
                    truth(op, rules)
                } else {
                    0
                };
                out[2 * i] = word;
                out[2 * i + 1] = word;
            }
        }
        Form::Narrow => {
            let first = lowest(mask);
            let second = lowest(mask & !first);
            for (i, channel) in [first, second].into_iter().enumerate() {
                if channel != 0 {
                    out[channel.trailing_zeros() as usize] = narrow(op, pair(a, i))?;
                }
            }
        }
    }
    Some(out)
}
