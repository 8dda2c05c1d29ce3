//! `PK*` and `UP*`: several small numbers in one 32-bit word.

use tgsi::Opcode;

use crate::eval::Vec4;

/// Binary32 to binary16: round to nearest, ties to even.
pub(crate) fn to_half(bits: u32) -> u32 {
    let sign = (bits >> 16) & 0x8000;
    let exponent = ((bits >> 23) & 0xff) as i32;
    let fraction = bits & 0x7f_ffff;
    if exponent == 0xff {
        let quiet = if fraction != 0 {
            0x200 | (fraction >> 13)
        } else {
            0
        };
        return sign | 0x7c00 | quiet;
    }
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    // Scaling by a power of two is exact in binary64: below the smallest normal
    // half a step is 2^-24, above it 2^(e-10).
    let step = (exponent - 127).max(-14) - 10;
    let steps = (f64::from(magnitude) * 2.0f64.powi(-step)).round_ties_even() as u32;
    // `steps` counts from 0 in the lowest binade and carries into the exponent by itself.
    let biased = steps + (((step + 24) as u32) << 10);
    sign | biased.min(0x7c00)
}

/// Binary16 to binary32, exact.
pub(crate) fn from_half(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let exponent = (half >> 10) & 0x1f;
    let fraction = half & 0x3ff;
    let magnitude = match exponent {
        0 => (fraction as f32 * 2.0f32.powi(-24)).to_bits(),
        0x1f => 0x7f80_0000 | (fraction << 13),
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    sign | magnitude
}

/// `x` clamped and scaled to an unsigned number of `max`.
fn unorm(x: u32, max: f32) -> u32 {
    let x = f32::from_bits(x);
    let x = if x > 0.0 { x.min(1.0) } else { 0.0 };
    (x * max).round_ties_even() as u32
}

/// A signed byte: -128/127..1 as 0..255, zero as 128. NaN counts as the lowest.
fn snorm8(x: u32) -> u32 {
    let low = -128.0 / 127.0;
    let x = f32::from_bits(x);
    let x = if x > low { x.min(1.0) } else { low };
    (127.0 * x + 128.0).round_ties_even() as u32 & 0xff
}

pub(crate) fn eval(op: Opcode, a: Vec4) -> Option<Vec4> {
    let x = a[0];
    let bytes = x.to_le_bytes();
    match op {
        Opcode::Pk2h => Some([to_half(a[0]) | (to_half(a[1]) << 16); 4]),
        Opcode::Pk2us => Some([unorm(a[0], 65535.0) | (unorm(a[1], 65535.0) << 16); 4]),
        Opcode::Pk4ub => Some([u32::from_le_bytes(a.map(|x| unorm(x, 255.0) as u8)); 4]),
        Opcode::Pk4b => Some([u32::from_le_bytes(a.map(|x| snorm8(x) as u8)); 4]),
        Opcode::Up2h => {
            let (low, high) = (from_half(x & 0xffff), from_half(x >> 16));
            Some([low, high, low, high])
        }
        Opcode::Up2us => {
            let part = |v: u32| (v as f32 / 65535.0).to_bits();
            let (low, high) = (part(x & 0xffff), part(x >> 16));
            Some([low, high, low, high])
        }
        Opcode::Up4ub => Some(bytes.map(|b| (f32::from(b) / 255.0).to_bits())),
        Opcode::Up4b => Some(bytes.map(|b| ((f32::from(b) - 128.0) / 127.0).to_bits())),
        _ => None,
    }
}
