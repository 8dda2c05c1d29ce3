//! # What
//! An operation whose operands are all constants becomes its result.
//!
//! # Why
//! Front ends leave constant arithmetic behind: unrolled counters, options that were uniform,
//! negated immediates. A constant is a free lane of an immediate.
//!
//! # Algorithm
//! One rebuild in arena order. Operands are already folded when an operation is reached, so one
//! round reaches the fixpoint. The evaluation is that of the opcode table, under the rules of the
//! program (`MUL_ZERO_WINS`, the first definitions).
//!
//! # Preserves
//! Bits, including those of precise operations. Transcendental functions are not folded, since
//! machines differ in their last bits.
//!
//! # Limits
//! A phi of constants is [`crate::copy_prop`]'s work.
//!
//! # Cost
//! One rebuild.
//!
//! # Tests
//! Below: words, dot products, 64-bit pairs, vector opcodes, saturation, what must stay.

use smallvec::SmallVec;
use tgsi::eval::{abs_f, apply_sat, neg_f, sat64};
use tgsi::{Eval, Shape};
use tgsi_ir::rewrite::{Node, identity};
use tgsi_ir::{Function, LaneHint, MultiId, Slot, VOp, Value};

use crate::PassCx;
use crate::simplify::{Rules, simplified};

/// Folds constants.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    simplified(
        func,
        cx,
        Rules {
            fold: true,
            algebra: false,
        },
    )
}

/// The constant `node` computes, if its operands are constants.
pub(crate) fn fold(f: &mut Function, node: &Node) -> Option<Value> {
    match node.op {
        VOp::Alu(op) => {
            let last = *node.args.last()?;
            // Most operations end here: one constant operand is tested before all are gathered.
            if !is_constant(f, last) {
                return None;
            }
            match f.eval_of(op) {
                Eval::Word(eval) => {
                    let words: SmallVec<[u32; 8]> = node
                        .args
                        .iter()
                        .map(|&a| f.as_imm(a))
                        .collect::<Option<_>>()?;
                    Some(f.imm(eval(&words)))
                }
                Eval::Wide(eval) => {
                    let words: SmallVec<[u64; 4]> = node
                        .args
                        .iter()
                        .map(|&a| wide_word(f, a))
                        .collect::<Option<_>>()?;
                    let result = eval(&words);
                    Some(if node.wide {
                        wide_imm(f, result, node.hint)
                    } else {
                        f.imm(result as u32)
                    })
                }
                Eval::Vector(_) | Eval::None => None,
            }
        }
        VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat => {
            let a = node.args[0];
            if node.wide {
                let w = f.as_wide_imm(a)?;
                return (node.op == VOp::Sat).then(|| wide_imm(f, sat64(w), node.hint));
            }
            let w = f.as_imm(a)?;
            Some(f.imm(match node.op {
                VOp::Neg => neg_f(w),
                VOp::Abs => abs_f(w),
                VOp::INeg => w.wrapping_neg(),
                _ => apply_sat(w),
            }))
        }
        VOp::Proj(chan) => {
            let VOp::Multi(m) = f.values[node.args[0]].op else {
                return None;
            };
            vector(f, m, node.args[0], chan)
        }
        _ => None,
    }
}

fn is_constant(f: &Function, v: Value) -> bool {
    match f.values[v].op {
        VOp::Imm(_) => true,
        VOp::Pair => f.as_wide_imm(v).is_some(),
        _ => false,
    }
}

/// The words of a constant as one 64-bit word, a narrow one zero-extended.
fn wide_word(f: &Function, v: Value) -> Option<u64> {
    if f.values[v].wide {
        f.as_wide_imm(v)
    } else {
        f.as_imm(v).map(u64::from)
    }
}

fn wide_imm(f: &mut Function, w: u64, hint: LaneHint) -> Value {
    let lo = f.imm(w as u32);
    let hi = f.imm((w >> 32) as u32);
    f.pair(lo, hi, hint)
}

/// Channel `chan` of a vector opcode with constant operands.
fn vector(f: &mut Function, m: MultiId, v: Value, chan: u8) -> Option<Value> {
    let multi = &f.multis[m.0 as usize];
    let info = multi.inst.op.info();
    let Eval::Vector(eval) = f.eval_of(multi.inst.op) else {
        return None;
    };
    if info.shape != Shape::Chan || chan > 3 {
        return None;
    }
    let mut words = [[0u32; 4]; 4];
    for (slot, &a) in multi.slots.iter().zip(&f.values[v].args) {
        let Slot::Src(k, c) = *slot else { return None };
        *words.get_mut(k as usize)?.get_mut(c as usize)? = f.as_imm(a)?;
    }
    let w = eval(words.get(..info.srcs as usize)?)[chan as usize];
    let w = if multi.inst.sat { apply_sat(w) } else { w };
    Some(f.imm(w))
}

/// The rule for a rebuild that changes nothing; passes use it when only edits matter.
pub(crate) fn keep(f: &mut Function, _: Value, node: Node) -> Value {
    identity(f, node)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{outs, unchanged};

    #[test]
    fn words() {
        let out = outs(
            &["const-fold"],
            "ADD TEMP[0].x, IMM[0].yyyy, IMM[0].wwww\n\
             MUL OUT[0].x, TEMP[0].xxxx, TEMP[0].xxxx",
        );
        expect!["2.25"].assert_eq(&out);
    }

    #[test]
    fn modifiers_and_saturation() {
        let out = outs(
            &["const-fold"],
            "MOV_SAT OUT[0].x, -IMM[0].yyyy\n\
             MOV OUT[0].y, -|IMM[0].zzzz|\n\
             UADD OUT[0].z, -IMM[1].yyyy, IMM[0].xxxx",
        );
        expect![[r#"
            0.0
            -1.0
            0xffffffff"#]]
        .assert_eq(&out);
    }

    #[test]
    fn dot_products() {
        let out = outs(&["const-fold"], "DP3 OUT[0].x, IMM[0].yyyy, IMM[0].wwww");
        expect!["1.5"].assert_eq(&out);
    }

    #[test]
    fn pairs() {
        let out = outs(
            &["const-fold"],
            "DADD TEMP[0].xy, IMM[1].xyxy, IMM[1].xyxy\n\
             DSEQ OUT[0].x, TEMP[0].xyxy, TEMP[0].xyxy\n\
             MOV OUT[0].y, TEMP[0].yyyy",
        );
        expect![[r#"
            0xffffffff
            0x3"#]]
        .assert_eq(&out);
    }

    #[test]
    fn saturated_pairs() {
        // The high words are those of doubles below 0 and above it.
        let out = outs(
            &["const-fold"],
            "DADD_SAT TEMP[0].xy, IMM[0].xzxz, IMM[0].xzxz\n\
             DADD_SAT TEMP[1].xy, IMM[0].xyxy, IMM[0].xyxy\n\
             MOV OUT[0].x, TEMP[0].xxxx\n\
             MOV OUT[0].y, TEMP[0].yyyy\n\
             MOV OUT[0].z, TEMP[1].xxxx\n\
             MOV OUT[0].w, TEMP[1].yyyy",
        );
        expect![[r#"
            0.0
            0.0
            0.0
            1.125"#]]
        .assert_eq(&out);
    }

    #[test]
    fn vector_opcodes() {
        let out = outs(&["const-fold"], "DST OUT[0], IMM[0].yyyy, IMM[0].wwww");
        expect![[r#"
            1.0
            0.5
            1.0
            0.5"#]]
        .assert_eq(&out);
    }

    #[test]
    fn comparisons_of_nan() {
        let out = outs(
            &["const-fold"],
            "FSNE OUT[0].x, IMM[1].zzzz, IMM[1].zzzz\n\
             FSEQ OUT[0].y, IMM[1].zzzz, IMM[1].zzzz\n\
             USEQ OUT[0].z, IMM[1].zzzz, IMM[1].zzzz",
        );
        expect![[r#"
            0xffffffff
            0.0
            0xffffffff"#]]
        .assert_eq(&out);
    }

    #[test]
    fn division_by_zero() {
        let out = outs(
            &["const-fold"],
            "RCP OUT[0].x, IMM[0].xxxx\n\
             UDIV OUT[0].y, IMM[1].yyyy, IMM[0].xxxx\n\
             IDIV OUT[0].z, IMM[1].yyyy, IMM[0].xxxx",
        );
        expect![[r#"
            0x7f800000
            0xffffffff
            0.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn precise_folds_too() {
        let out = outs(
            &["const-fold"],
            "MUL_PRECISE OUT[0].x, IMM[0].wwww, IMM[0].wwww",
        );
        expect!["0.25"].assert_eq(&out);
    }

    #[test]
    fn transcendentals_stay() {
        assert!(unchanged("const-fold", "EX2 OUT[0].x, IMM[0].yyyy"));
        assert!(unchanged(
            "const-fold",
            "ADD OUT[0].x, IMM[0].yyyy, IN[0].xxxx"
        ));
    }

    #[test]
    fn zero_wins_stays() {
        let text = "FRAG\nPROPERTY MUL_ZERO_WINS 1\nDCL OUT[0], COLOR\nIMM[0] FLT32 {0.0, 1.0, 0.0, 0.0}\n\
                    MUL OUT[0].x, IMM[0].xxxx, IMM[0].yyyy\nEND\n";
        assert!(unchanged("const-fold", text));
    }
}
