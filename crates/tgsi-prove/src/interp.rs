//! Words of 32 and 64 bits, computed by the interpreter.
//!
//! The samples are those of [`tgsi_rules::prove`], special words in combination and seeded ones. The
//! interpreter shares no code with the opcode table, so a rule that rests on a slip in one of them fails
//! with the other.

use tgsi::{Opcode, Shape};
use tgsi_interp::{Rules, eval_op};
use tgsi_rules::Rule;
use tgsi_rules::prove::{Mode, verify_by};

use crate::machine::operand_type;

/// Compares both sides; gives the number of samples.
///
/// # Errors
/// A sample on which they differ.
pub(crate) fn check(rule: &Rule) -> Result<u32, String> {
    let verdict = verify_by(rule, Some(evaluate));
    verdict.map(|v| v.samples).map_err(|e| e.to_string())
}

/// One channel of what the interpreter makes of an opcode.
fn evaluate(code: Opcode, args: &[u64], mode: Mode) -> Option<u64> {
    let info = code.info();
    let mut srcs = [[0u32; 4]; 4];
    match info.shape {
        Shape::Dot(n) => {
            let (a, b) = args.split_at_checked(n.into())?;
            for (src, words) in srcs.iter_mut().zip([a, b]) {
                for (slot, w) in src.iter_mut().zip(words) {
                    *slot = *w as u32;
                }
            }
        }
        _ => {
            for (i, (src, w)) in srcs.iter_mut().zip(args).enumerate() {
                *src = if operand_type(tgsi_rules::Op::Alu(code), i).is_wide() {
                    [*w as u32, (*w >> 32) as u32, 0, 0]
                } else {
                    [*w as u32; 4]
                };
            }
        }
    }
    let rules = Rules {
        zero_wins: mode == Mode::ZeroWins,
        ..Rules::default()
    };
    let wide = info.dst_ty.is_wide();
    let n = usize::from(info.srcs).min(srcs.len());
    let [low, high, ..] = eval_op(code, &srcs[..n], if wide { 3 } else { 1 }, rules)?;
    let high = if wide { u64::from(high) << 32 } else { 0 };
    Some(u64::from(low) | high)
}
