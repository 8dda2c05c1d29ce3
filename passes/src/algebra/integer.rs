//! Identities of integers: bits, shifts, sums of products, comparisons.

use tgsi::Opcode;
use tgsi_ir::rewrite::Node;
use tgsi_ir::{Args, Function, VOp, Value};

use super::Step::{self, Keep, Value as Is};
use super::{alu, arg, becomes, cheap_not, float_truth, masked_one, node, truth_of};
use crate::facts::*;
use crate::simplify::make;

pub(super) fn integer(f: &mut Function, n: &Node, op: Opcode) -> Step {
    use Opcode::*;
    let a = n.args.first().copied();
    let b = n.args.get(1).copied();
    match (op, a, b) {
        (Ineg, Some(a), _) => Step::Node(node(VOp::INeg, n, &[a])),
        (Iabs, Some(a), _) => match f.values[a].op {
            VOp::INeg => becomes(Iabs, n, &[arg(f, a, 0)]),
            VOp::Alu(Iabs) => Is(a),
            _ => Keep,
        },
        (Not, Some(a), _) => match cheap_not(f, n, a) {
            Some(v) => Is(v),
            None => Keep,
        },
        (And | Or | Xor, Some(a), Some(b)) => bitwise(f, n, op, a, b),
        (Shl | Ushr | Ishr, Some(a), Some(b)) if !f.first_era => shift(f, n, op, a, b),
        (Uadd | Umul | Umad, ..) => sum(f, n, op),
        (Useq | Usne | Uslt | Usge | Islt | Isge | Fseq | Fsne | Fslt | Fsge, Some(a), Some(b)) => {
            set(f, n, op, a, b)
        }
        (Umin | Umax | Imin | Imax, Some(a), Some(b)) => {
            if a == b {
                return Is(a);
            }
            for (x, k) in [(a, b), (b, a)] {
                match (op, f.as_imm(k)) {
                    (Umax, Some(0)) | (Umin, Some(u32::MAX)) => return Is(x),
                    (Umin, Some(0)) | (Umax, Some(u32::MAX)) => return Is(k),
                    (Umin, Some(w)) if possible_bits(f, x) <= w => return Is(x),
                    (Imin, Some(w)) if w as i32 >= 0 && possible_bits(f, x) <= w => return Is(x),
                    (Imax, Some(w)) if w as i32 <= 0 && possible_bits(f, x) as i32 >= 0 => {
                        return Is(x);
                    }
                    _ => {}
                }
            }
            Keep
        }
        (Udiv | Idiv, Some(a), Some(b)) if f.as_imm(b) == Some(1) => Is(a),
        (Umod | Mod, _, Some(b)) if f.as_imm(b) == Some(1) => Is(f.imm(0)),
        // The fraction is gone after either.
        (F2i, Some(a), _) if alu(f, a) == Some(Trunc) => becomes(F2i, n, &[arg(f, a, 0)]),
        (Arl, Some(a), _) if alu(f, a) == Some(Flr) => becomes(Arl, n, &[arg(f, a, 0)]),
        _ => Keep,
    }
}

fn bitwise(f: &mut Function, n: &Node, op: Opcode, a: Value, b: Value) -> Step {
    use Opcode::*;
    if a == b {
        return if op == Xor { Is(f.imm(0)) } else { Is(a) };
    }
    for (x, k) in [(a, b), (b, a)] {
        let Some(w) = f.as_imm(k) else { continue };
        match (op, w) {
            (And, 0) | (Or, u32::MAX) => return Is(k),
            (And, u32::MAX) | (Or | Xor, 0) => return Is(x),
            (Xor, u32::MAX) => return becomes(Not, n, &[x]),
            (And, _) => match possible_bits(f, x) {
                m if m & !w == 0 => return Is(x),
                m if m & w == 0 => return Is(f.imm(0)),
                _ => {}
            },
            _ => {}
        }
        if alu(f, x) == Some(op)
            && let Some(inner) = constant_operand(f, x)
        {
            let w = match op {
                And => w & inner.1,
                Or => w | inner.1,
                _ => w ^ inner.1,
            };
            let k = f.imm(w);
            return becomes(op, n, &[inner.0, k]);
        }
        // The mask of a comparison and 1.0 is the comparison that gives 1.0.
        if op == And && w == ONE {
            let set = match alu(f, x) {
                Some(Fslt) => Slt,
                Some(Fsge) => Sge,
                Some(Fseq) => Seq,
                Some(Fsne) => Sne,
                _ => continue,
            };
            let precise = f.values[x].precise;
            let new = node(VOp::Alu(set), n, &[arg(f, x, 0), arg(f, x, 1)]);
            return Step::Node(Node { precise, ..new });
        }
    }
    Keep
}

/// The other operand and the constant, if one operand is constant.
pub(super) fn constant_operand(f: &Function, v: Value) -> Option<(Value, u32)> {
    let (a, b) = (arg(f, v, 0), arg(f, v, 1));
    f.as_imm(b)
        .map(|w| (a, w))
        .or_else(|| f.as_imm(a).map(|w| (b, w)))
}

fn shift(f: &mut Function, n: &Node, op: Opcode, a: Value, b: Value) -> Step {
    use Opcode::*;
    if f.as_imm(a) == Some(0) {
        return Is(a);
    }
    let Some(k) = f.as_imm(b).map(|k| k & 31) else {
        return Keep;
    };
    if k == 0 {
        return Is(a);
    }
    if op == Ushr && possible_bits(f, a) >> k == 0 {
        return Is(f.imm(0));
    }
    if op != Shl
        && let Some(v) = undo_scale(f, n, op, a, k)
    {
        return v;
    }
    let Some(inner) = alu(f, a).filter(|i| matches!(i, Shl | Ushr | Ishr)) else {
        return Keep;
    };
    let x = arg(f, a, 0);
    let Some(j) = f.as_imm(arg(f, a, 1)).map(|j| j & 31) else {
        return Keep;
    };
    if inner == op {
        if j + k < 32 {
            let total = f.imm(j + k);
            return becomes(op, n, &[x, total]);
        }
        return if op == Ishr {
            let total = f.imm(31);
            becomes(Ishr, n, &[x, total])
        } else {
            Is(f.imm(0))
        };
    }
    if j == k && op == Ushr && inner == Shl {
        let mask = f.imm(u32::MAX >> k);
        return becomes(And, n, &[x, mask]);
    }
    if j == k && op == Shl {
        let mask = f.imm(u32::MAX << k);
        return becomes(And, n, &[x, mask]);
    }
    Keep
}

/// A right shift of a value that is a multiple of `2^k`: what was scaled, without the bits that
/// the scaling pushed out.
fn undo_scale(f: &mut Function, n: &Node, op: Opcode, v: Value, k: u32) -> Option<Step> {
    let existing = f.values.len();
    let y = unscaled(f, n, v, k, 3)?;
    let fits = possible_bits(f, y) >> if op == Opcode::Ishr { 31 - k } else { 32 - k } == 0;
    if fits {
        return Some(Is(y));
    }
    if op == Opcode::Ishr || tgsi_ir::ix(y) >= existing {
        return None;
    }
    let mask = f.imm(u32::MAX >> k);
    Some(becomes(Opcode::And, n, &[y, mask]))
}

/// `y` with `v = y << k`, if `v` shows one.
fn unscaled(f: &mut Function, n: &Node, v: Value, k: u32, depth: u32) -> Option<Value> {
    use Opcode::*;
    let depth = depth.checked_sub(1)?;
    if let Some(w) = f.as_imm(v) {
        return (w & !(u32::MAX << k) == 0).then(|| f.imm(w >> k));
    }
    let op = alu(f, v)?;
    let args = f.values[v].args.clone();
    match op {
        Shl => (f.as_imm(args[1])? & 31 == k).then_some(args[0]),
        Umul | Umad => {
            let scale = f.as_imm(args[1]).filter(|w| w & !(u32::MAX << k) == 0)?;
            let scale = f.imm(scale >> k);
            let mut args: Args = [args[0], scale]
                .into_iter()
                .chain(args.get(2).copied())
                .collect();
            if let Some(c) = args.get(2).copied() {
                args[2] = unscaled(f, n, c, k, depth)?;
            }
            Some(make(f, node(VOp::Alu(op), n, &args)))
        }
        Uadd => {
            let a = unscaled(f, n, args[0], k, depth)?;
            let b = unscaled(f, n, args[1], k, depth)?;
            Some(make(f, node(VOp::Alu(Uadd), n, &[a, b])))
        }
        _ => None,
    }
}

/// The factors of a product, or of a shift to the left by a constant.
fn product(f: &mut Function, v: Value) -> Option<(Value, Value)> {
    match alu(f, v)? {
        Opcode::Umul => Some((arg(f, v, 0), arg(f, v, 1))),
        Opcode::Shl if !f.first_era => {
            let k = f.as_imm(arg(f, v, 1))?;
            let x = arg(f, v, 0);
            Some((x, f.imm(1 << (k & 31))))
        }
        _ => None,
    }
}

/// UADD, UMUL and UMAD.
fn sum(f: &mut Function, n: &Node, op: Opcode) -> Step {
    use Opcode::*;
    let (a, b) = (n.args[0], n.args[1]);
    if op == Umad {
        let c = n.args[2];
        if f.as_imm(c) == Some(0) {
            return becomes(Umul, n, &[a, b]);
        }
        for (x, k) in [(a, b), (b, a)] {
            match f.as_imm(k) {
                Some(0) => return Is(c),
                Some(1) => return becomes(Uadd, n, &[x, c]),
                _ => {}
            }
        }
        if let (Some(x), Some(y)) = (f.as_imm(a), f.as_imm(b)) {
            let product = f.imm(x.wrapping_mul(y));
            return becomes(Uadd, n, &[product, c]);
        }
        return Keep;
    }
    if op == Uadd {
        // A product in a sum is one instruction less, and no more if it has other readers.
        for (x, y) in [(n.args[0], n.args[1]), (n.args[1], n.args[0])] {
            if let Some((p, q)) = product(f, y) {
                return becomes(Umad, n, &[p, q, x]);
            }
            if let (Some(w), Some(Umad)) = (f.as_imm(x), alu(f, y))
                && let Some(c) = f.as_imm(arg(f, y, 2))
            {
                let c = f.imm(c.wrapping_add(w));
                return becomes(Umad, n, &[arg(f, y, 0), arg(f, y, 1), c]);
            }
        }
    }
    for (x, k) in [(a, b), (b, a)] {
        if op == Uadd && f.values[k].op == VOp::INeg && arg(f, k, 0) == x {
            return Is(f.imm(0));
        }
        let Some(w) = f.as_imm(k) else { continue };
        match (op, w) {
            (Uadd, 0) | (Umul, 1) => return Is(x),
            (Umul, 0) => return Is(k),
            (Umul, u32::MAX) => return Step::Node(node(VOp::INeg, n, &[x])),
            _ => {}
        }
        if alu(f, x) == Some(op)
            && let Some((y, inner)) = constant_operand(f, x)
        {
            let w = if op == Uadd {
                w.wrapping_add(inner)
            } else {
                w.wrapping_mul(inner)
            };
            let k = f.imm(w);
            return becomes(op, n, &[y, k]);
        }
    }
    Keep
}

/// An integer comparison with a constant that the possible bits of the other operand decide.
fn by_range(f: &Function, op: Opcode, a: Value, b: Value) -> Option<bool> {
    use Opcode::*;
    let (x, w, constant_first) = match (f.as_imm(a), f.as_imm(b)) {
        (None, Some(w)) => (a, w, false),
        (Some(w), None) => (b, w, true),
        _ => return None,
    };
    if matches!(op, Fseq | Fsne | Fslt | Fsge) {
        return None;
    }
    let most = possible_bits(f, x);
    if most == u32::MAX {
        return None;
    }
    let (signed, less) = (w as i32, most as i32 >= 0);
    match (op, constant_first) {
        (Useq, _) if w & !most != 0 => Some(false),
        (Usne, _) if w & !most != 0 => Some(true),
        (Uslt, false) if most < w => Some(true),
        (Usge, false) if most < w => Some(false),
        (Uslt, true) if most <= w => Some(false),
        (Usge, true) if most <= w => Some(true),
        // A word without its highest bit is not negative.
        (Islt, false) if less && signed <= 0 => Some(false),
        (Isge, false) if less && signed <= 0 => Some(true),
        (Islt, false) if less && most < w && signed > 0 => Some(true),
        (Isge, false) if less && most < w && signed > 0 => Some(false),
        (Islt, true) if less && signed < 0 => Some(true),
        (Isge, true) if less && signed < 0 => Some(false),
        (Islt, true) if less && most <= w && signed >= 0 => Some(false),
        (Isge, true) if less && most <= w && signed >= 0 => Some(true),
        _ => None,
    }
}

/// Comparisons that give 0 or all ones.
fn set(f: &mut Function, n: &Node, op: Opcode, a: Value, b: Value) -> Step {
    use Opcode::*;
    if a == b {
        match op {
            Useq | Usge | Isge => return Is(f.imm(u32::MAX)),
            Usne | Uslt | Islt => return Is(f.imm(0)),
            _ => {}
        }
    }
    if let Some(known) = by_range(f, op, a, b) {
        return Is(f.imm(if known { u32::MAX } else { 0 }));
    }
    if !matches!(op, Useq | Usne | Fseq | Fsne) {
        return Keep;
    }
    for (x, k) in [(a, b), (b, a)] {
        let Some(w) = f.as_imm(k) else { continue };
        let integer = matches!(op, Useq | Usne);
        let truth = if integer && w == 0 {
            truth_of(f, x).or_else(|| float_truth(f, n, x))
        } else if integer && w == u32::MAX && is_bool_mask(f, x) {
            return if op == Useq {
                Is(x)
            } else {
                becomes(Not, n, &[x])
            };
        } else if !integer && w & 0x7fff_ffff == 0 {
            // The float tests take -0.0 for 0.
            let x = if f.values[x].op == VOp::Neg {
                arg(f, x, 0)
            } else {
                x
            };
            masked_one(f, x).or_else(|| float_truth(f, n, x))
        } else {
            None
        };
        if let Some(m) = truth {
            return if matches!(op, Usne | Fsne) {
                Is(m)
            } else {
                becomes(Not, n, &[m])
            };
        }
    }
    Keep
}
