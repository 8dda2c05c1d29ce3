//! Opcodes with a formula for each channel, packing and unpacking.

use super::{int, word};

type Vec4 = [f32; 4];

fn vector(a: &[[u32; 4]], i: usize) -> Vec4 {
    word(a, i).map(f32::from_bits)
}

fn bits(v: Vec4) -> [u32; 4] {
    v.map(f32::to_bits)
}

fn dot3(a: Vec4, b: Vec4) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn dst(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y) = (vector(a, 0), vector(a, 1));
    // z and w are copied, not computed: their bits stay.
    [
        1f32.to_bits(),
        (x[1] * y[1]).to_bits(),
        word(a, 0)[2],
        word(a, 1)[3],
    ]
}

pub(crate) fn xpd(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y) = (vector(a, 0), vector(a, 1));
    let minor = |i: usize, j: usize| x[i] * y[j] - y[i] * x[j];
    bits([minor(1, 2), minor(2, 0), minor(0, 1), 1.0])
}

pub(crate) fn dph(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y) = (vector(a, 0), vector(a, 1));
    bits([dot3(x, y) + y[3]; 4])
}

pub(crate) fn dp2a(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y, z) = (vector(a, 0), vector(a, 1), vector(a, 2));
    bits([x[0] * y[0] + x[1] * y[1] + z[0]; 4])
}

pub(crate) fn x2d(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y, z) = (vector(a, 0), vector(a, 1), vector(a, 2));
    let first = x[0] + y[0] * z[0] + y[1] * z[1];
    let second = x[1] + y[0] * z[2] + y[1] * z[3];
    bits([first, second, first, second])
}

pub(crate) fn rfl(a: &[[u32; 4]]) -> [u32; 4] {
    let (x, y) = (vector(a, 0), vector(a, 1));
    let scale = 2.0 * (dot3(x, y) / dot3(x, x));
    let reflected = |c: usize| scale * x[c] - y[c];
    bits([reflected(0), reflected(1), reflected(2), 1.0])
}

pub(crate) fn nrm(a: &[[u32; 4]]) -> [u32; 4] {
    let x = vector(a, 0);
    let scale = 1.0 / dot3(x, x).sqrt();
    bits([x[0] * scale, x[1] * scale, x[2] * scale, 1.0])
}

pub(crate) fn nrm4(a: &[[u32; 4]]) -> [u32; 4] {
    let x = vector(a, 0);
    let scale = 1.0 / (dot3(x, x) + x[3] * x[3]).sqrt();
    bits(x.map(|c| c * scale))
}

/// The first definition of a right shift takes one count for all channels.
pub(crate) fn shr(a: &[[u32; 4]]) -> [u32; 4] {
    let count = word(a, 1)[0];
    word(a, 0).map(|x| int::ishr(&[x, count]))
}

pub(crate) fn pk2h(a: &[[u32; 4]]) -> [u32; 4] {
    let x = word(a, 0);
    [half(x[0]) | half(x[1]) << 16; 4]
}

pub(crate) fn up2h(a: &[[u32; 4]]) -> [u32; 4] {
    let x = word(a, 0)[0];
    let (low, high) = (unhalf(x & 0xffff), unhalf(x >> 16));
    [low, high, low, high]
}

pub(crate) fn pk2us(a: &[[u32; 4]]) -> [u32; 4] {
    let x = vector(a, 0).map(|x| unorm(x, 65535.0));
    [x[0] | x[1] << 16; 4]
}

pub(crate) fn up2us(a: &[[u32; 4]]) -> [u32; 4] {
    let x = word(a, 0)[0];
    let part = |shift: u32| (x >> shift & 0xffff) as f32 / 65535.0;
    bits([part(0), part(16), part(0), part(16)])
}

pub(crate) fn pk4ub(a: &[[u32; 4]]) -> [u32; 4] {
    [bytes(vector(a, 0).map(|x| unorm(x, 255.0))); 4]
}

pub(crate) fn up4ub(a: &[[u32; 4]]) -> [u32; 4] {
    bits(word(a, 0)[0].to_le_bytes().map(|b| f32::from(b) / 255.0))
}

pub(crate) fn pk4b(a: &[[u32; 4]]) -> [u32; 4] {
    let byte = |x: f32| (127.0 * x.clamp(-128.0 / 127.0, 1.0) + 128.0).round_ties_even() as u32;
    [bytes(vector(a, 0).map(byte)); 4]
}

pub(crate) fn up4b(a: &[[u32; 4]]) -> [u32; 4] {
    bits(
        word(a, 0)[0]
            .to_le_bytes()
            .map(|b| (f32::from(b) - 128.0) / 127.0),
    )
}

/// Clamps to 0..1, scales and rounds to an integer. NaN gives 0.
fn unorm(x: f32, scale: f32) -> u32 {
    (x.clamp(0.0, 1.0) * scale).round_ties_even() as u32
}

fn bytes(x: [u32; 4]) -> u32 {
    x[0] | x[1] << 8 | x[2] << 16 | x[3] << 24
}

/// A binary32 as binary16, to nearest even.
fn half(word: u32) -> u32 {
    let sign = word >> 16 & 0x8000;
    let magnitude = word & 0x7fff_ffff;
    let rounded = |value: u32, drop: u32| {
        let (kept, lost) = (value >> drop, value & ((1 << drop) - 1));
        let middle = 1 << (drop - 1);
        kept + u32::from(lost > middle || lost == middle && kept & 1 != 0)
    };
    let value = match magnitude {
        // Quieted, with the top of its payload.
        0x7f80_0001.. => 0x7e00 | magnitude >> 13 & 0x3ff,
        // 65520 and more round to infinity; a carry out of the significand is right.
        0x477f_f000.. => 0x7c00,
        0x3880_0000.. => rounded(magnitude - 0x3800_0000, 13),
        // Denormal results: units of 2^-24.
        0x3300_0000.. => rounded(
            magnitude & 0x007f_ffff | 0x0080_0000,
            126 - (magnitude >> 23),
        ),
        _ => 0,
    };
    sign | value
}

/// A binary16 (in the low 16 bits) as binary32: exact.
fn unhalf(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = half & 0x7fff;
    let value = match magnitude {
        0x7c01.. => 0x7fc0_0000 | (magnitude & 0x3ff) << 13,
        0x7c00 => 0x7f80_0000,
        0x0400.. => (magnitude << 13) + 0x3800_0000,
        _ => (magnitude as f32 / 16777216.0).to_bits(),
    };
    sign | value
}
