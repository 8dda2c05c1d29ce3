//! # What
//! A sum of a product that nothing else reads becomes one multiply-add: `ADD(MUL(a, b), c)` is
//! `MAD(a, b, c)`.
//!
//! # Why
//! It is an instruction less, and front ends that write matrix products leave many.
//!
//! # Algorithm
//! Readers are counted on the old function; each sum takes the second operand if both are such
//! products, so that a chain of them stays one chain in all its lanes. A negated product gives its
//! sign to a factor.
//!
//! # Preserves
//! Bits where MAD rounds the product, as TGSI defines it. Hardware may fuse it, so this is a
//! contraction: it is not part of `clean`, callers ask for it where their float profile allows it.
//! Precise values take no part, neither as the sum nor as the product.
//!
//! # Limits
//! A product with other readers stays: nothing would be saved.
//!
//! # Cost
//! One count of readers and one rebuild.
//!
//! # Tests
//! Below: both places, negated products, chains, precise values, products with other readers.

use rustc_hash::FxHashSet;
use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, PhiInputs, rebuild_from};
use tgsi_ir::{Function, VOp, Value, ix};

use crate::PassCx;
use crate::facts::count_uses;

/// Joins products to sums.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    if !cx.taken.may_make(Opcode::Mad) {
        return None;
    }
    let phis = PhiInputs::collect(func);
    let mut edits = Edits::default();
    let mut negated: FxHashSet<Value> = FxHashSet::default();
    let mut uses: Option<Vec<u32>> = None;
    for (v, d) in func.values.iter() {
        if d.op != VOp::Alu(Opcode::Add) || d.precise {
            continue;
        }
        let uses = uses.get_or_insert_with(|| count_uses(func, &phis));
        let Some((k, p)) = [1, 0]
            .into_iter()
            .find_map(|k| Some((k, product(func, uses, d.args[k])?)))
        else {
            continue;
        };
        if !cx.spend("mad-fuse", Some(d.hint)) {
            break;
        }
        if p.negated {
            negated.insert(v);
        }
        let args = [p.a, p.b, d.args[1 - k]].into_iter().collect();
        edits.redefine.insert(v, (VOp::Alu(Opcode::Mad), args));
    }
    if edits.is_empty() {
        return None;
    }
    Some(rebuild_from(
        func,
        &edits,
        &phis,
        &mut |f, origin, mut node| {
            if negated.contains(&origin) {
                node.args[0] = f.modifier(VOp::Neg, node.args[0], node.hint);
            }
            node.intern(f)
        },
    ))
}

/// A product that one sum reads.
struct Product {
    a: Value,
    b: Value,
    /// Whether the first factor changes its sign.
    negated: bool,
}

/// The factors of a value that is a product, or the negation of one, with one reader.
fn product(f: &Function, uses: &[u32], v: Value) -> Option<Product> {
    let mut negated = f.values[v].op == VOp::Neg;
    let product = if negated { f.values[v].args[0] } else { v };
    let d = &f.values[product];
    if d.op != VOp::Alu(Opcode::Mul) || d.precise || uses[ix(v)] != 1 || uses[ix(product)] != 1 {
        return None;
    }
    let mut a = d.args[0];
    if negated && f.values[a].op == VOp::Neg {
        (a, negated) = (f.values[a].args[0], false);
    }
    Some(Product {
        a,
        b: d.args[1],
        negated,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{outs, unchanged};

    #[track_caller]
    fn check(text: &str, expected: expect_test::Expect) {
        expected.assert_eq(&outs(&["mad-fuse"], text));
    }

    #[test]
    fn either_operand() {
        check(
            "MUL TEMP[0].xy, IN[0].xyxy, IN[1].xyxy\nADD OUT[0].x, TEMP[0].xxxx, IN[2].xxxx\nADD OUT[0].y, IN[2].xxxx, TEMP[0].yyyy",
            expect![[r#"
                MAD(IN0.x, IN1.x, IN2.x)
                MAD(IN0.y, IN1.y, IN2.x)"#]],
        );
    }

    #[test]
    fn negated_products() {
        check(
            "MUL TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD OUT[0].x, IN[2].xxxx, -TEMP[0].xxxx\n\
             MUL TEMP[1].x, -IN[0].yyyy, IN[1].yyyy\nADD_SAT OUT[0].y, IN[2].yyyy, -TEMP[1].xxxx",
            expect![[r#"
                MAD(-IN0.x, IN1.x, IN2.x)
                sat(MAD(IN0.y, IN1.y, IN2.y))"#]],
        );
    }

    #[test]
    fn a_chain() {
        check(
            "MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\nMUL TEMP[1].x, IN[0].yyyy, CONST[0].yyyy\nADD TEMP[0].x, TEMP[0].xxxx, TEMP[1].xxxx\n\
             MUL TEMP[1].x, IN[0].zzzz, CONST[0].zzzz\nADD OUT[0].x, TEMP[0].xxxx, TEMP[1].xxxx",
            expect!["MAD(IN0.z, CONST0.z, MAD(IN0.y, CONST0.y, MUL(IN0.x, CONST0.x)))"],
        );
    }

    #[test]
    fn what_stays() {
        assert!(unchanged(
            "mad-fuse",
            "MUL_PRECISE TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD OUT[0].x, TEMP[0].xxxx, IN[2].xxxx"
        ));
        assert!(unchanged(
            "mad-fuse",
            "MUL TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD_PRECISE OUT[0].x, TEMP[0].xxxx, IN[2].xxxx"
        ));
        assert!(unchanged(
            "mad-fuse",
            "MUL TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD OUT[0].x, TEMP[0].xxxx, IN[2].xxxx\nMOV OUT[0].y, TEMP[0].xxxx"
        ));
        assert!(unchanged(
            "mad-fuse",
            "MUL TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD OUT[0].x, |TEMP[0].xxxx|, IN[2].xxxx"
        ));
        assert!(unchanged(
            "mad-fuse",
            "MUL_SAT TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nADD OUT[0].x, TEMP[0].xxxx, IN[2].xxxx"
        ));
    }
}
