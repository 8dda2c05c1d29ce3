//! What the opcodes compute, for constant folding.
//!
//! Everything here is exact on every machine: additions, products, quotients and square
//! roots of IEEE arithmetic with one rounding each, and integers. Nothing calls a host's
//! mathematics library, so opcodes that need one (EX2, POW, SIN...) are not here.
//! Denormals are kept; the payload of a NaN means nothing.
//!
//! The functions of the table take raw words. A word that is missing counts as 0.

pub(crate) mod float;
pub(crate) mod int;
pub(crate) mod vector;
pub(crate) mod wide;

use crate::ast::{Inst, Src};
use crate::opcode::{Eval, Shape, Ty};
use crate::usage;

/// `_SAT` on a 32-bit result of any type: clamps to 0..1 as a float. NaN and -0 become +0.
pub fn apply_sat(word: u32) -> u32 {
    let x = f32::from_bits(word);
    if x > 0.0 { x.min(1.0).to_bits() } else { 0 }
}

/// `_SAT` on a 64-bit result of any type: clamps to 0..1 as a double. NaN becomes +0, but -0 stays.
pub fn sat64(word: u64) -> u64 {
    let x = f64::from_bits(word);
    if x > 1.0 {
        1f64.to_bits()
    } else if x >= 0.0 {
        word
    } else {
        0
    }
}

/// `-x` of a float: flips the sign bit, of a NaN too.
pub const fn neg_f(word: u32) -> u32 {
    word ^ 0x8000_0000
}

/// `|x|` of a float: clears the sign bit, of a NaN too.
pub const fn abs_f(word: u32) -> u32 {
    word & 0x7fff_ffff
}

/// The word an operand gives after its modifiers.
///
/// `ty` is the type the opcode reads the operand as. On an integer `-` is two's complement
/// and `||` does not exist; a 64-bit operand has no modifiers.
pub fn modify(word: u32, src: &Src, ty: Ty) -> u32 {
    match ty {
        Ty::Any | Ty::F => {
            let word = if src.abs { abs_f(word) } else { word };
            if src.neg { neg_f(word) } else { word }
        }
        Ty::I | Ty::U if src.neg => word.wrapping_neg(),
        Ty::I | Ty::U | Ty::D | Ty::I64 | Ty::U64 => word,
    }
}

/// What `inst` writes, from the words of its sources after swizzle and modifiers.
///
/// A channel that is not written is `None` (64-bit operations may write channels beside
/// those of the write mask, see [`usage::dst_mask`]). `_SAT` is applied. `None` if the
/// opcode is not folded or has no destination.
pub fn fold(inst: &Inst, srcs: &[[u32; 4]]) -> Option<[Option<u32>; 4]> {
    let info = inst.op.info();
    let mask = usage::dst_mask(inst);
    let sat = |word| if inst.sat { apply_sat(word) } else { word };
    let mut out = [None; 4];
    if inst.dsts.is_empty() {
        return None;
    }
    match info.eval {
        Eval::None => return None,
        Eval::Vector(f) => {
            let words = f(srcs);
            for (c, slot) in written(&mut out, mask) {
                *slot = Some(sat(words[c]));
            }
        }
        Eval::Word(f) => {
            for (c, slot) in written(&mut out, mask) {
                let args: Vec<u32> = match info.shape {
                    Shape::Dot(n) => srcs
                        .iter()
                        .flat_map(|s| s.iter().take(usize::from(n)))
                        .copied()
                        .collect(),
                    Shape::Repl => srcs.iter().map(|s| s[0]).collect(),
                    _ => srcs.iter().map(|s| s[c]).collect(),
                };
                *slot = Some(sat(f(&args)));
            }
        }
        Eval::Wide(f) => {
            for (c, slot) in written(&mut out, mask) {
                let half = usize::from(usage::wide_half(inst, c as u8)?);
                let result = f(&wide_args(inst, srcs, half));
                *slot = Some(match (info.dst_ty.is_wide(), inst.sat) {
                    (true, false) => half_word(result, c),
                    (true, true) => half_word(sat64(result), c),
                    (false, _) => sat(result as u32),
                });
            }
        }
    }
    Some(out)
}

fn written(
    out: &mut [Option<u32>; 4],
    mask: u8,
) -> impl Iterator<Item = (usize, &mut Option<u32>)> {
    out.iter_mut()
        .enumerate()
        .filter(move |(c, _)| mask >> c & 1 != 0)
}

/// The operands of half `half` (0: xy, 1: zw) of a 64-bit operation.
fn wide_args(inst: &Inst, srcs: &[[u32; 4]], half: usize) -> Vec<u64> {
    let narrow = match usage::pairing(inst.op) {
        usage::Pairing::Either => 2 * half,
        _ => half,
    };
    let types = inst.op.info().src_ty;
    srcs.iter()
        .zip(types)
        .map(|(s, t)| {
            if t.is_wide() {
                join(s[2 * half], s[2 * half + 1])
            } else {
                u64::from(s[narrow])
            }
        })
        .collect()
}

/// The 64-bit value of a channel pair: the low word is in the first channel.
pub const fn join(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// The word of a 64-bit value that stands in channel `chan` of its pair.
const fn half_word(value: u64, chan: usize) -> u32 {
    if chan & 1 == 0 {
        value as u32
    } else {
        (value >> 32) as u32
    }
}

/// Word `i`, 0 if there is none.
fn word<T: Copy + Default>(args: &[T], i: usize) -> T {
    args.get(i).copied().unwrap_or_default()
}

/// All ones or zero: the truth values of the integer comparisons.
const fn truth(b: bool) -> u32 {
    if b { u32::MAX } else { 0 }
}
