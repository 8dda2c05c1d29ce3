//! The evaluation of every opcode that computes a value from its operands alone.
//!
//! It shares nothing with the opcode table's own evaluation, so that a test can
//! set one against the other. Host mathematics is allowed here: nothing that is
//! computed here reaches a folded constant.

use tgsi::Opcode;

use crate::{eval32, eval64, pack};

/// Four channels of 32 bits.
pub type Vec4 = [u32; 4];

/// Which meaning an opcode has where the language changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Definitions of the first era: `RSQ` of `|x|`, `XPD.w` = 1, the old `LRP`,
    /// `MIN` and `MAX`, one shift count for all channels, floats from `DSEQ` and `DSLT`.
    pub first_era: bool,
    /// Zero times anything is zero (`MUL_ZERO_WINS`, `LEGACY_MATH_RULES`).
    pub zero_wins: bool,
}

/// Evaluates `op` on whole vectors, after swizzles and modifiers.
///
/// `mask` is the write mask (bit 0 = x): the narrowing 64-bit conversions choose
/// their operands by it. Channels that the opcode leaves undefined and channels
/// outside the mask hold no promise. `None` when the opcode is not a function of
/// its operands (textures, memory, flow, votes, derivatives, `DFRACEXP`).
pub fn eval_op(op: Opcode, srcs: &[Vec4], mask: u8, rules: Rules) -> Option<Vec4> {
    let zero = [0; 4];
    let a = srcs.first().copied().unwrap_or(zero);
    let b = srcs.get(1).copied().unwrap_or(zero);
    let c = srcs.get(2).copied().unwrap_or(zero);
    let d = srcs.get(3).copied().unwrap_or(zero);
    eval32::float(op, a, b, c, rules)
        .or_else(|| eval32::integer(op, a, b, c, d, rules))
        .or_else(|| pack::eval(op, a))
        .or_else(|| eval64::eval(op, a, b, c, mask, rules))
}

/// `x` clamped to 0..1 as `_SAT` does: NaN and -0 become +0.
pub fn saturate(x: u32) -> u32 {
    let f = f32::from_bits(x);
    if f > 0.0 { f.min(1.0).to_bits() } else { 0 }
}

/// The 64-bit `_SAT`: -0 stays.
pub fn saturate64(x: u64) -> u64 {
    let f = f64::from_bits(x);
    if f.is_nan() || f < 0.0 {
        0
    } else if f > 1.0 {
        1.0f64.to_bits()
    } else {
        x
    }
}
