//! # What
//! Identities that hold bit for bit: neutral and absorbing operands, double negation, comparisons
//! of truth values, selections with a known or repeated choice, chains of integer constants.
//!
//! # Why
//! They cost no search, remove what front ends and other passes leave behind, and make equal
//! things look equal before the e-graph sees them.
//!
//! # Algorithm
//! One rebuild in arena order. Each rule looks at an operation whose operands are already simple
//! and gives a value or a simpler operation, to which the rules apply again.
//!
//! # Preserves
//! Bits. Where an arithmetic operation disappears (`x * 1.0`), the payload of a NaN could change:
//! that needs a proof that `x` comes from a float operation, or that every reader of the result
//! reads it as a float. Commuting is done only to meet an existing value, so that lanes of one
//! source instruction keep their operand order.
//!
//! # Limits
//! Nothing relaxed (`x + 0.0` is not `x`, `0 * x` is not 0 for floats): those are rules with a
//! contract. No identity makes an operation that the program's target may lack: integer forms come
//! from integer forms only.
//!
//! # Cost
//! One rebuild, one pass over all operands for the readers.
//!
//! # Tests
//! Below, by group, each with its neighbours that must stay.

use tgsi::{Opcode, Ty};
use tgsi_ir::rewrite::Node;
use tgsi_ir::{Args, Function, MultiId, Slot, VOp, Value, ix, value_at};

use crate::PassCx;
use crate::facts::*;
use crate::simplify::{Rules, make, simplified};

/// Applies the identities.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    simplified(
        func,
        cx,
        Rules {
            fold: false,
            algebra: true,
        },
    )
}

/// What a rule makes of an operation.
pub(crate) enum Step {
    /// No rule applies.
    Keep,
    /// It is this value.
    Value(Value),
    /// It is this operation.
    Node(Node),
}

mod integer;

use Step::{Keep, Value as Is};
use integer::{constant_operand, integer};

fn node(op: VOp, like: &Node, args: &[Value]) -> Node {
    let wide = match op {
        VOp::Alu(op) => op.info().dst_ty.is_wide(),
        _ => like.wide,
    };
    Node {
        op,
        precise: like.precise,
        wide,
        args: args.iter().copied().collect(),
        hint: like.hint,
    }
}

fn becomes(op: Opcode, like: &Node, args: &[Value]) -> Step {
    Step::Node(node(VOp::Alu(op), like, args))
}

/// The operation of a value, if it is an ordinary one.
fn alu(f: &Function, v: Value) -> Option<Opcode> {
    match f.values[v].op {
        VOp::Alu(op) => Some(op),
        _ => None,
    }
}

fn arg(f: &Function, v: Value, i: usize) -> Value {
    f.values[v].args[i]
}

/// What is known of an operation beside its operands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// No reader sees the payload of a NaN in it.
    pub payload_free: bool,
    /// Other lanes of its source instruction choose between other values.
    pub mixed: bool,
}

/// The first step of simplifying `n`.
#[inline]
pub(crate) fn step(f: &mut Function, n: &Node, place: Place) -> Step {
    let payload_free = place.payload_free;
    match n.op {
        VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat => modifier(f, n),
        VOp::Proj(c) => projection(f, n, c),
        VOp::Multi(m) => address(f, n, m),
        VOp::Alu(op) => match op.info().dst_ty {
            Ty::F => match op {
                Opcode::Slt
                | Opcode::Sge
                | Opcode::Seq
                | Opcode::Sne
                | Opcode::Sgt
                | Opcode::Sle => float_set(f, n, op),
                Opcode::Cmp => cmp(f, n),
                Opcode::I2f | Opcode::U2f => to_float(f, n),
                _ => float(f, n, op, payload_free),
            },
            Ty::I | Ty::U if n.args.iter().all(|&a| !f.values[a].wide) => integer(f, n, op),
            Ty::Any if op == Opcode::Ucmp => ucmp(f, n, place.mixed),
            _ => Keep,
        },
        _ => Keep,
    }
}

fn modifier(f: &Function, n: &Node) -> Step {
    let v = n.args[0];
    let d = &f.values[v];
    match (n.op, d.op) {
        (VOp::Neg, VOp::Neg) | (VOp::INeg, VOp::INeg) => Is(d.args[0]),
        (VOp::Abs, VOp::Neg) => Step::Node(node(VOp::Abs, n, &[d.args[0]])),
        (VOp::Abs, VOp::Abs) => Is(v),
        (VOp::Abs, _) if !n.wide && in_unit(f, v) => Is(v),
        (VOp::Sat, VOp::Sat) => Is(v),
        (VOp::Sat, _) if !n.wide && in_unit(f, v) => Is(v),
        _ => Keep,
    }
}

/// Channels that a vector opcode copies or has as constants.
fn projection(f: &mut Function, n: &Node, chan: u8) -> Step {
    let v = n.args[0];
    let Some(m) = f.as_multi(v) else { return Keep };
    let (op, sat, precise) = (m.inst.op, m.inst.sat, m.inst.precise);
    let src = |k: u8| {
        let at = m.slots.iter().position(|&s| s == Slot::Src(k, chan))?;
        f.values[v].args.get(at).copied()
    };
    let result = match (op, chan) {
        (Opcode::Dst, 0)
        | (Opcode::Lit | Opcode::Log | Opcode::Exp | Opcode::Scs, 3)
        | (Opcode::Lit, 0) => {
            return Is(f.imm(ONE));
        }
        (Opcode::Scs, 2) => return Is(f.imm(0)),
        (Opcode::Dst, 1) => {
            let (Some(a), Some(b)) = (src(0), src(1)) else {
                return Keep;
            };
            let product = Node {
                precise,
                ..node(VOp::Alu(Opcode::Mul), n, &[a, b])
            };
            make(f, product)
        }
        (Opcode::Dst, 2) => match src(0) {
            Some(a) => a,
            None => return Keep,
        },
        (Opcode::Dst, 3) => match src(1) {
            Some(b) => b,
            None => return Keep,
        },
        _ => return Keep,
    };
    if sat {
        Step::Node(node(VOp::Sat, n, &[result]))
    } else {
        Is(result)
    }
}

/// A TEMP array accessed at a constant address is accessed directly.
fn address(f: &mut Function, n: &Node, m: MultiId) -> Step {
    let multi = &f.multis[m.0 as usize];
    let Some(at) = multi
        .slots
        .iter()
        .position(|s| matches!(s, Slot::SrcIndex(0) | Slot::DstIndex))
    else {
        return Keep;
    };
    let store = multi.slots[at] == Slot::DstIndex;
    let Some(offset) = n.args.get(at).and_then(|&a| f.as_imm(a)) else {
        return Keep;
    };
    let reg = if store {
        multi.inst.dsts.first().map(|d| d.reg)
    } else {
        multi.inst.srcs.first().map(|s| s.reg)
    };
    let Some(mut reg) = reg.filter(|r| r.file == tgsi::File::Temp) else {
        return Keep;
    };
    let index = reg.index.base.wrapping_add(offset as i32);
    let array = reg.index.array;
    if !f
        .arrays
        .iter()
        .any(|a| a.2 == array && a.0 <= index && index <= a.1)
    {
        return Keep;
    }
    let mut multi = multi.clone();
    reg.index = tgsi::Index::direct(index);
    if store {
        multi.inst.dsts[0].reg = reg;
    } else {
        multi.inst.srcs[0].reg = reg;
    }
    multi.slots.remove(at);
    let mut args = n.args.clone();
    args.remove(at);
    Step::Node(Node {
        op: VOp::Multi(f.multi(multi)),
        args,
        ..n.clone()
    })
}

fn negated(f: &mut Function, n: &Node, v: Value) -> Value {
    make(
        f,
        Node {
            wide: false,
            ..node(VOp::Neg, n, &[v])
        },
    )
}

/// Both operands without their negation, if both have one.
fn both_negated(f: &Function, a: Value, b: Value) -> Option<(Value, Value)> {
    (f.values[a].op == VOp::Neg && f.values[b].op == VOp::Neg).then(|| (arg(f, a, 0), arg(f, b, 0)))
}

fn float(f: &mut Function, n: &Node, op: Opcode, payload_free: bool) -> Step {
    use Opcode::*;
    let same = |f: &Function, x: Value| {
        if payload_free || made_by_float_op(f, x) {
            Is(x)
        } else {
            Keep
        }
    };
    match op {
        Mul => {
            let (a, b) = (n.args[0], n.args[1]);
            if let Some((a, b)) = both_negated(f, a, b) {
                return becomes(Mul, n, &[a, b]);
            }
            for (x, k) in [(a, b), (b, a)] {
                match f.as_imm(k) {
                    Some(ONE) => return same(f, x),
                    Some(MINUS_ONE) if payload_free || made_by_float_op(f, x) => {
                        return Step::Node(node(VOp::Neg, n, &[x]));
                    }
                    _ => {}
                }
            }
            Keep
        }
        Add => {
            for (x, k) in [(n.args[0], n.args[1]), (n.args[1], n.args[0])] {
                match f.as_imm(k) {
                    Some(MINUS_ZERO) => return same(f, x),
                    Some(0) if never_minus_zero(f, x) => return same(f, x),
                    _ => {}
                }
            }
            Keep
        }
        Mad | Fma => {
            let (a, b, c) = (n.args[0], n.args[1], n.args[2]);
            if let Some((a, b)) = both_negated(f, a, b) {
                return becomes(op, n, &[a, b, c]);
            }
            for (x, k) in [(a, b), (b, a)] {
                match f.as_imm(k) {
                    Some(ONE) => return becomes(Add, n, &[x, c]),
                    Some(MINUS_ONE) => {
                        let x = negated(f, n, x);
                        return becomes(Add, n, &[x, c]);
                    }
                    _ => {}
                }
            }
            match f.as_imm(c) {
                Some(MINUS_ZERO) => return becomes(Mul, n, &[a, b]),
                Some(0) if a == b => return becomes(Mul, n, &[a, b]),
                _ => {}
            }
            if op == Mad && f.as_imm(a).is_some() && f.as_imm(b).is_some() {
                let product = make(f, node(VOp::Alu(Mul), n, &[a, b]));
                if f.as_imm(product).is_some() {
                    return becomes(Add, n, &[product, c]);
                }
            }
            Keep
        }
        Div if f.as_imm(n.args[1]) == Some(ONE) => same(f, n.args[0]),
        Min | Max if !f.first_era => min_max(f, n, op, payload_free),
        Flr | Ceil | Trunc | Round if is_integral(f, n.args[0]) => same(f, n.args[0]),
        Frc if matches!(alu(f, n.args[0]), Some(I2f | U2f)) => Is(f.imm(0)),
        Sfl => Is(f.imm(0)),
        Str => Is(f.imm(ONE)),
        _ => Keep,
    }
}

fn min_max(f: &mut Function, n: &Node, op: Opcode, payload_free: bool) -> Step {
    let (a, b) = (n.args[0], n.args[1]);
    if a == b {
        return if payload_free || made_by_float_op(f, a) {
            Is(a)
        } else {
            Keep
        };
    }
    for (x, k) in [(a, b), (b, a)] {
        let Some(k) = f.as_imm(k) else { continue };
        if in_unit(f, x)
            && (op == Opcode::Max && k == 0 || op == Opcode::Min && f32::from_bits(k) >= 1.0)
        {
            return Is(x);
        }
        // MIN(MAX(0, x), 1): with this order of operands -0 becomes +0 and a NaN 0, as in a saturation.
        if op == Opcode::Min
            && k == ONE
            && alu(f, x) == Some(Opcode::Max)
            && f.as_imm(arg(f, x, 0)) == Some(0)
        {
            return Step::Node(node(VOp::Sat, n, &[arg(f, x, 1)]));
        }
    }
    Keep
}

/// SLT and its kin.
fn float_set(f: &mut Function, n: &Node, op: Opcode) -> Step {
    use Opcode::*;
    let (a, b) = (n.args[0], n.args[1]);
    match op {
        Sgt => return becomes(Slt, n, &[b, a]),
        Sle => return becomes(Sge, n, &[b, a]),
        _ => {}
    }
    match op {
        Sne if f.as_imm(b) == Some(0) && is_float_bool(f, a) => Is(a),
        Sne if f.as_imm(a) == Some(0) && is_float_bool(f, b) => Is(b),
        Slt if f.as_imm(a) == Some(0) && is_float_bool(f, b) => Is(b),
        Slt if f.as_imm(b).is_some_and(|w| w & 0x7fff_ffff == 0) && f.values[a].op == VOp::Neg => {
            let x = arg(f, a, 0);
            if is_float_bool(f, x) { Is(x) } else { Keep }
        }
        Seq | Sge => {
            // x == 0, or 0 >= x, or -x >= 0, of a truth value is its inverse.
            let zero = |v: Value| f.as_imm(v).is_some_and(|w| w & 0x7fff_ffff == 0);
            let x = match op {
                Seq if zero(b) => a,
                Seq if zero(a) => b,
                Sge if zero(a) => b,
                Sge if zero(b) && f.values[a].op == VOp::Neg => arg(f, a, 0),
                _ => return Keep,
            };
            match alu(f, x) {
                Some(Seq) => becomes(Sne, n, &[arg(f, x, 0), arg(f, x, 1)]),
                Some(Sne) => becomes(Seq, n, &[arg(f, x, 0), arg(f, x, 1)]),
                _ => Keep,
            }
        }
        _ => Keep,
    }
}

fn cmp(f: &mut Function, n: &Node) -> Step {
    let (c, a, b) = (n.args[0], n.args[1], n.args[2]);
    if a == b {
        return Is(a);
    }
    if let Some(w) = f.as_imm(c) {
        return Is(if f32::from_bits(w) < 0.0 { a } else { b });
    }
    if never_negative(f, c) {
        return Is(b);
    }
    if f.values[c].op != VOp::Neg {
        return Keep;
    }
    let x = arg(f, c, 0);
    if !is_float_bool(f, x) {
        return Keep;
    }
    if f.as_imm(a) == Some(ONE) && f.as_imm(b) == Some(0) {
        return Is(x);
    }
    match masked_one(f, x) {
        Some(mask) => becomes(Opcode::Ucmp, n, &[mask, a, b]),
        None => Keep,
    }
}

/// The truth value `m` of `AND(m, 1.0)`.
fn masked_one(f: &Function, v: Value) -> Option<Value> {
    if alu(f, v) != Some(Opcode::And) {
        return None;
    }
    let (a, b) = (arg(f, v, 0), arg(f, v, 1));
    [(a, b), (b, a)]
        .into_iter()
        .find(|&(k, m)| f.as_imm(k) == Some(ONE) && is_bool_mask(f, m))
        .map(|p| p.1)
}

/// The truth value behind a word that is zero exactly if it is: `AND(m, c)` and `m` itself.
fn truth_of(f: &Function, v: Value) -> Option<Value> {
    if is_bool_mask(f, v) {
        return Some(v);
    }
    match f.values[v].op {
        VOp::INeg => truth_of(f, arg(f, v, 0)),
        VOp::Alu(Opcode::And) => {
            let (a, b) = (arg(f, v, 0), arg(f, v, 1));
            [(a, b), (b, a)]
                .into_iter()
                .find(|&(k, m)| f.as_imm(k).is_some_and(|w| w != 0) && is_bool_mask(f, m))
                .map(|p| p.1)
        }
        _ => None,
    }
}

/// I2F and U2F of 0 or 1.
fn to_float(f: &mut Function, n: &Node) -> Step {
    let x = n.args[0];
    let d = &f.values[x];
    match d.op {
        VOp::INeg if is_bool_mask(f, d.args[0]) => {
            let (m, one) = (d.args[0], f.imm(ONE));
            becomes(Opcode::And, n, &[m, one])
        }
        VOp::Alu(Opcode::And) => {
            let (a, b) = (d.args[0], d.args[1]);
            for (k, m) in [(a, b), (b, a)] {
                if f.as_imm(k) == Some(1) && is_bool_mask(f, m) {
                    let one = f.imm(ONE);
                    return becomes(Opcode::And, n, &[m, one]);
                }
            }
            Keep
        }
        _ => Keep,
    }
}

/// The comparison that is true exactly when `op` is false. The float orders have none: of a NaN
/// both are false.
fn inverse(op: Opcode) -> Option<Opcode> {
    use Opcode::*;
    Some(match op {
        Fseq => Fsne,
        Fsne => Fseq,
        Useq => Usne,
        Usne => Useq,
        Uslt => Usge,
        Usge => Uslt,
        Islt => Isge,
        Isge => Islt,
        Dseq => Dsne,
        Dsne => Dseq,
        U64seq => U64sne,
        U64sne => U64seq,
        U64slt => U64sge,
        U64sge => U64slt,
        I64slt => I64sge,
        I64sge => I64slt,
        _ => return None,
    })
}

/// The negation of a truth value, if it costs nothing.
fn cheap_not(f: &mut Function, n: &Node, m: Value) -> Option<Value> {
    let d = &f.values[m];
    match d.op {
        VOp::Imm(w) => Some(f.imm(!w)),
        VOp::Alu(Opcode::Not) => Some(d.args[0]),
        VOp::Alu(op) => {
            let inv = inverse(op)?;
            if matches!(op, Opcode::Dseq | Opcode::Dsne) && f.first_era {
                return None;
            }
            let (args, precise) = (d.args.clone(), d.precise);
            Some(make(
                f,
                Node {
                    op: VOp::Alu(inv),
                    precise,
                    wide: false,
                    args,
                    hint: n.hint,
                },
            ))
        }
        _ => None,
    }
}

/// The mask of SLT and its kin.
fn float_truth(f: &mut Function, n: &Node, v: Value) -> Option<Value> {
    use Opcode::*;
    let op = match alu(f, v)? {
        Slt => Fslt,
        Sge => Fsge,
        Seq => Fseq,
        Sne => Fsne,
        _ => return None,
    };
    let (args, precise): (Args, bool) = (f.values[v].args.clone(), f.values[v].precise);
    Some(make(
        f,
        Node {
            op: VOp::Alu(op),
            precise,
            wide: false,
            args,
            hint: n.hint,
        },
    ))
}

fn ucmp(f: &mut Function, n: &Node, mixed: bool) -> Step {
    use Opcode::*;
    let (c, a, b) = (n.args[0], n.args[1], n.args[2]);
    if a == b {
        return Is(a);
    }
    if let Some(w) = f.as_imm(c) {
        return Is(if w != 0 { a } else { b });
    }
    let zero_test = |f: &Function, v: Value, op: Opcode| {
        (alu(f, v) == Some(op))
            .then(|| constant_operand(f, v))
            .flatten()
            .filter(|x| x.1 == 0)
            .map(|x| x.0)
    };
    if let Some(x) = zero_test(f, c, Usne) {
        return becomes(Ucmp, n, &[x, a, b]);
    }
    if let Some(x) = zero_test(f, c, Useq) {
        return becomes(Ucmp, n, &[x, b, a]);
    }
    if alu(f, c) == Some(Not) && is_bool_mask(f, arg(f, c, 0)) {
        return becomes(Ucmp, n, &[arg(f, c, 0), b, a]);
    }
    if let Some(m) = truth_of(f, c).filter(|&m| m != c) {
        return becomes(Ucmp, n, &[m, a, b]);
    }
    // A choice already made.
    if alu(f, a) == Some(Ucmp) && arg(f, a, 0) == c {
        return becomes(Ucmp, n, &[c, arg(f, a, 1), b]);
    }
    if alu(f, b) == Some(Ucmp) && arg(f, b, 0) == c {
        return becomes(Ucmp, n, &[c, a, arg(f, b, 2)]);
    }
    if mixed || !is_bool_mask(f, c) {
        return Keep;
    }
    match (f.as_imm(a), f.as_imm(b)) {
        (Some(u32::MAX), Some(0)) => Is(c),
        (Some(0), Some(u32::MAX)) => becomes(Not, n, &[c]),
        // Only constants: a NaN that a float operation made stays a choice of float words, and
        // the lanes of one choice stay one instruction.
        (Some(_), Some(0)) => becomes(And, n, &[c, a]),
        (Some(0), Some(_)) => match cheap_not(f, n, c) {
            Some(m) => becomes(And, n, &[m, b]),
            None => Keep,
        },
        _ => Keep,
    }
}

/// Whether the first two operands may change places without changing a bit.
fn commutes(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Add | Mul
            | Mad
            | Fma
            | And
            | Or
            | Xor
            | Uadd
            | Umul
            | Umad
            | Useq
            | Usne
            | Fseq
            | Fsne
            | Seq
            | Sne
            | Umin
            | Umax
            | Imin
            | Imax
            | ImulHi
            | UmulHi
            | Dp2
            | Dp3
            | Dp4
            | Dadd
            | Dmul
            | Dseq
            | Dsne
            | U64add
            | U64mul
            | U64seq
            | U64sne
    )
}

/// Swaps the operands if the operation exists with them swapped.
pub(crate) fn reuse_commuted(f: &Function, n: &mut Node) {
    let VOp::Alu(op) = n.op else { return };
    if !commutes(op) {
        return;
    }
    let half = match op.info().shape {
        tgsi::Shape::Dot(k) => usize::from(k),
        _ => 1,
    };
    let (a, b) = (n.args[0], n.args[half]);
    if a == b && half == 1 {
        return;
    }
    // What the operation with swapped operands could be comes after both of them.
    let first = ix(a).max(ix(b)) + 1;
    let values = f.values.len();
    if values - first <= NEAR {
        let found = (first..values).any(|i| {
            let d = &f.values[value_at(i)];
            d.op == n.op && d.precise == n.precise && d.args.first() == Some(&b)
        });
        if !found {
            return;
        }
    }
    let mut swapped = n.args.clone();
    for i in 0..half {
        swapped.swap(i, i + half);
    }
    if f.find(n.op, n.precise, &swapped).is_some() {
        n.args = swapped;
    }
}

/// Up to how many values are looked at one by one before the table is asked.
const NEAR: usize = 8;

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::outs;

    #[test]
    fn modifiers_cancel() {
        let out = outs(
            &["const-fold", "algebra"],
            "MOV TEMP[0].x, -IN[0].xxxx\n\
             MOV OUT[0].x, -TEMP[0].xxxx\n\
             MOV OUT[0].y, |TEMP[0].xxxx|\n\
             MOV TEMP[1].x, |IN[0].yyyy|\n\
             MOV OUT[0].z, |TEMP[1].xxxx|\n\
             UADD TEMP[2].x, -IN[0].xxxx, IMM[0].xxxx\n\
             UADD OUT[0].w, -TEMP[2].xxxx, IMM[0].xxxx",
        );
        expect![[r#"
            IN0.x
            |IN0.x|
            |IN0.y|
            IN0.x"#]]
        .assert_eq(&out);
    }

    #[test]
    fn saturation_of_what_is_in_range() {
        let out = outs(
            &["const-fold", "algebra"],
            "MOV_SAT TEMP[0].x, IN[0].xxxx\n\
             MOV_SAT OUT[0].x, TEMP[0].xxxx\n\
             SLT_SAT OUT[0].y, IN[0].xxxx, IN[0].yyyy\n\
             MUL_SAT OUT[0].z, TEMP[0].xxxx, TEMP[0].xxxx\n\
             ADD_SAT OUT[0].w, TEMP[0].xxxx, TEMP[0].xxxx",
        );
        expect![[r#"
            sat(IN0.x)
            SLT(IN0.x, IN0.y)
            MUL(sat(IN0.x), sat(IN0.x))
            sat(ADD(sat(IN0.x), sat(IN0.x)))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn one_is_neutral_after_a_float_operation() {
        let out = outs(
            &["const-fold", "algebra"],
            "ADD TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             MUL OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             MUL OUT[0].y, IMM[0].zzzz, TEMP[0].xxxx\n\
             ADD OUT[0].z, TEMP[0].xxxx, -IMM[0].xxxx",
        );
        expect![[r#"
            ADD(IN0.x, IN0.y)
            -ADD(IN0.x, IN0.y)
            ADD(IN0.x, IN0.y)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn one_is_not_neutral_for_bits() {
        let out = outs(
            &["const-fold", "algebra"],
            "MUL OUT[0].x, IN[0].xxxx, IMM[0].yyyy",
        );
        expect!["MUL(IN0.x, 1.0)"].assert_eq(&out);
    }

    #[test]
    fn one_is_neutral_when_all_readers_take_floats() {
        let out = outs(
            &["const-fold", "algebra"],
            "MUL TEMP[0].x, IN[0].xxxx, IMM[0].yyyy\n\
             ADD OUT[0].x, TEMP[0].xxxx, IN[0].yyyy",
        );
        expect!["ADD(IN0.x, IN0.y)"].assert_eq(&out);
    }

    #[test]
    fn one_is_not_neutral_when_a_reader_takes_bits() {
        let out = outs(
            &["const-fold", "algebra"],
            "MUL TEMP[0].x, IN[0].xxxx, IMM[0].yyyy\n\
             ADD OUT[0].x, TEMP[0].xxxx, IN[0].yyyy\n\
             AND OUT[0].y, TEMP[0].xxxx, IN[0].zzzz",
        );
        expect![[r#"
            ADD(MUL(IN0.x, 1.0), IN0.y)
            AND(MUL(IN0.x, 1.0), IN0.z)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn plus_zero_is_not_neutral() {
        let out = outs(
            &["const-fold", "algebra"],
            "ADD TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             MUL OUT[0].x, TEMP[0].xxxx, IN[0].yyyy",
        );
        expect!["MUL(ADD(IN0.x, 0.0), IN0.y)"].assert_eq(&out);
    }

    #[test]
    fn plus_zero_is_neutral_without_minus_zero() {
        let out = outs(
            &["const-fold", "algebra"],
            "MOV_SAT TEMP[0].x, IN[0].xxxx\n\
             ADD OUT[0].x, TEMP[0].xxxx, IMM[0].xxxx\n\
             MUL TEMP[1].x, IN[0].xxxx, IN[0].xxxx\n\
             ADD OUT[0].y, TEMP[1].xxxx, IMM[0].xxxx",
        );
        expect![[r#"
            sat(IN0.x)
            MUL(IN0.x, IN0.x)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn multiply_add_with_neutral_parts() {
        let out = outs(
            &["const-fold", "algebra"],
            "MAD OUT[0].x, IN[0].xxxx, IMM[0].yyyy, IN[0].yyyy\n\
             MAD OUT[0].y, IN[0].xxxx, IN[0].yyyy, -IMM[0].xxxx\n\
             MAD OUT[0].z, IMM[0].zzzz, IN[0].xxxx, IN[0].yyyy\n\
             MAD OUT[0].w, IN[0].xxxx, IN[0].yyyy, IMM[0].xxxx",
        );
        expect![[r#"
            ADD(IN0.x, IN0.y)
            MUL(IN0.x, IN0.y)
            ADD(-IN0.x, IN0.y)
            MAD(IN0.x, IN0.y, 0.0)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn multiply_add_of_constants_is_two_roundings() {
        let out = outs(
            &["const-fold", "algebra"],
            "MAD OUT[0].x, IMM[0].wwww, IMM[0].wwww, IN[0].xxxx\n\
             FMA OUT[0].y, IMM[0].wwww, IMM[0].wwww, IN[0].xxxx",
        );
        expect![[r#"
            ADD(0.25, IN0.x)
            FMA(0.5, 0.5, IN0.x)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn zero_times_is_not_zero() {
        let out = outs(
            &["const-fold", "algebra"],
            "MUL OUT[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             MAD OUT[0].y, IN[0].xxxx, IMM[0].xxxx, IN[0].yyyy\n\
             UMUL OUT[0].z, IN[0].xxxx, IMM[0].xxxx",
        );
        expect![[r#"
            MUL(IN0.x, 0.0)
            MAD(IN0.x, 0.0, IN0.y)
            0.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn difference_of_equals_is_not_zero() {
        let out = outs(
            &["const-fold", "algebra"],
            "ADD OUT[0].x, IN[0].xxxx, -IN[0].xxxx\n\
             UADD OUT[0].y, IN[0].xxxx, -IN[0].xxxx",
        );
        expect![[r#"
            ADD(IN0.x, -IN0.x)
            0.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn negations_of_a_product_cancel() {
        let out = outs(
            &["const-fold", "algebra"],
            "MUL OUT[0].x, -IN[0].xxxx, -IN[0].yyyy\n\
             MUL OUT[0].y, -IN[0].xxxx, IN[0].yyyy",
        );
        expect![[r#"
            MUL(IN0.x, IN0.y)
            MUL(-IN0.x, IN0.y)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn clamp_by_min_of_max() {
        let out = outs(
            &["const-fold", "algebra"],
            "MAX TEMP[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             MIN OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             MAX TEMP[1].x, IN[0].xxxx, IMM[0].xxxx\n\
             MIN OUT[0].y, TEMP[1].xxxx, IMM[0].yyyy",
        );
        expect![[r#"
            sat(IN0.x)
            MIN(MAX(IN0.x, 0.0), 1.0)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn minimum_of_equals() {
        let out = outs(
            &["const-fold", "algebra"],
            "RCP TEMP[0].x, IN[0].xxxx\n\
             MIN OUT[0].x, TEMP[0].xxxx, TEMP[0].xxxx\n\
             MIN OUT[0].y, IN[0].xxxx, IN[0].xxxx",
        );
        expect![[r#"
            RCP(IN0.x)
            MIN(IN0.x, IN0.x)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn greater_is_less_the_other_way() {
        let out = outs(
            &["const-fold", "algebra"],
            "SGT OUT[0].x, IN[0].xxxx, IN[0].yyyy\n\
             SLE OUT[0].y, IN[0].xxxx, IN[0].yyyy",
        );
        expect![[r#"
            SLT(IN0.y, IN0.x)
            SGE(IN0.y, IN0.x)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn tests_of_truth_values() {
        let out = outs(
            &["const-fold", "algebra"],
            "SLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             SNE OUT[0].x, TEMP[0].xxxx, IMM[0].xxxx\n\
             SLT OUT[0].y, -TEMP[0].xxxx, IMM[0].xxxx\n\
             SEQ OUT[0].z, TEMP[0].xxxx, IMM[0].xxxx\n\
             SEQ TEMP[1].x, IN[0].xxxx, IN[0].yyyy\n\
             SGE OUT[0].w, IMM[0].xxxx, TEMP[1].xxxx",
        );
        expect![[r#"
            SLT(IN0.x, IN0.y)
            SLT(IN0.x, IN0.y)
            SEQ(SLT(IN0.x, IN0.y), 0.0)
            SNE(IN0.x, IN0.y)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn masks_and_one() {
        let out = outs(
            &["const-fold", "algebra"],
            "FSLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             AND OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             USNE OUT[0].y, TEMP[0].xxxx, IMM[0].xxxx\n\
             AND TEMP[1].x, TEMP[0].xxxx, IMM[1].yyyy\n\
             U2F OUT[0].z, TEMP[1].xxxx\n\
             USEQ OUT[0].w, TEMP[1].xxxx, IMM[0].xxxx",
        );
        expect![[r#"
            SLT(IN0.x, IN0.y)
            FSLT(IN0.x, IN0.y)
            SLT(IN0.x, IN0.y)
            NOT(FSLT(IN0.x, IN0.y))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn integer_comparisons_invert() {
        let out = outs(
            &["const-fold", "algebra"],
            "USLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             NOT OUT[0].x, TEMP[0].xxxx\n\
             USEQ OUT[0].y, TEMP[0].xxxx, IMM[0].xxxx\n\
             FSEQ TEMP[1].x, IN[0].xxxx, IN[0].yyyy\n\
             NOT OUT[0].z, TEMP[1].xxxx\n\
             FSLT TEMP[2].x, IN[0].xxxx, IN[0].yyyy\n\
             NOT OUT[0].w, TEMP[2].xxxx",
        );
        expect![[r#"
            USGE(IN0.x, IN0.y)
            USGE(IN0.x, IN0.y)
            FSNE(IN0.x, IN0.y)
            NOT(FSLT(IN0.x, IN0.y))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn bitwise_neutral_and_absorbing() {
        let out = outs(
            &["const-fold", "algebra"],
            "AND OUT[0].x, IN[0].xxxx, IMM[1].zzzz\n\
             OR OUT[0].y, IN[0].xxxx, IMM[1].zzzz\n\
             XOR OUT[0].z, IN[0].xxxx, IMM[1].zzzz\n\
             XOR OUT[0].w, IN[0].xxxx, IN[0].xxxx",
        );
        expect![[r#"
            IN0.x
            0xffffffff
            NOT(IN0.x)
            0.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn chains_of_constants() {
        let out = outs(
            &["const-fold", "algebra"],
            "UADD TEMP[0].x, IN[0].xxxx, IMM[1].yyyy\n\
             UADD OUT[0].x, TEMP[0].xxxx, IMM[1].wwww\n\
             AND TEMP[1].x, IN[0].xxxx, IMM[2].zzzz\n\
             AND OUT[0].y, TEMP[1].xxxx, IMM[2].xxxx\n\
             ADD TEMP[2].x, IN[0].xxxx, IMM[0].wwww\n\
             ADD OUT[0].z, TEMP[2].xxxx, IMM[0].wwww",
        );
        expect![[r#"
            UADD(IN0.x, 0x3)
            AND(IN0.x, 0x10)
            ADD(ADD(IN0.x, 0.5), 0.5)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn shifts() {
        let out = outs(
            &["const-fold", "algebra"],
            "SHL TEMP[0].x, IN[0].xxxx, IMM[2].yyyy\n\
             USHR OUT[0].x, TEMP[0].xxxx, IMM[2].yyyy\n\
             SHL OUT[0].y, TEMP[0].xxxx, IMM[2].xxxx\n\
             USHR TEMP[1].x, IN[0].xxxx, IMM[2].zzzz\n\
             USHR OUT[0].z, TEMP[1].xxxx, IMM[2].yyyy\n\
             ISHR TEMP[2].x, IN[0].xxxx, IMM[2].zzzz\n\
             ISHR OUT[0].w, TEMP[2].xxxx, IMM[2].yyyy",
        );
        expect![[r#"
            AND(IN0.x, 0xfffffff)
            SHL(IN0.x, 0x14)
            0.0
            ISHR(IN0.x, 0x1f)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn selections() {
        let out = outs(
            &["const-fold", "algebra"],
            "UCMP OUT[0].x, IN[0].xxxx, IN[0].yyyy, IN[0].yyyy\n\
             USNE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             UCMP OUT[0].y, TEMP[0].xxxx, IN[0].yyyy, IN[0].zzzz\n\
             USEQ TEMP[1].x, IN[0].xxxx, IMM[0].xxxx\n\
             UCMP OUT[0].z, TEMP[1].xxxx, IN[0].yyyy, IN[0].zzzz\n\
             UCMP TEMP[2].x, IN[0].xxxx, IN[1].xxxx, IN[1].yyyy\n\
             UCMP OUT[0].w, IN[0].xxxx, TEMP[2].xxxx, IN[1].zzzz",
        );
        expect![[r#"
            IN0.y
            UCMP(IN0.x, IN0.y, IN0.z)
            UCMP(IN0.x, IN0.z, IN0.y)
            UCMP(IN0.x, IN1.x, IN1.z)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn selections_of_truth() {
        let out = outs(
            &["const-fold", "algebra"],
            "FSLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             UCMP OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy, IMM[0].xxxx\n\
             UCMP OUT[0].y, TEMP[0].xxxx, IMM[1].zzzz, IMM[0].xxxx\n\
             UCMP OUT[0].z, TEMP[0].xxxx, IN[1].xxxx, IMM[0].xxxx\n\
             UCMP OUT[0].w, TEMP[0].xxxx, IMM[0].xxxx, IMM[1].zzzz",
        );
        expect![[r#"
            SLT(IN0.x, IN0.y)
            FSLT(IN0.x, IN0.y)
            UCMP(FSLT(IN0.x, IN0.y), IN1.x, 0.0)
            NOT(FSLT(IN0.x, IN0.y))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn float_selections() {
        let out = outs(
            &["const-fold", "algebra"],
            "CMP OUT[0].x, |IN[0].xxxx|, IN[0].yyyy, IN[0].zzzz\n\
             SLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             CMP OUT[0].y, -TEMP[0].xxxx, IMM[0].yyyy, IMM[0].xxxx\n\
             CMP OUT[0].z, -TEMP[0].xxxx, IN[1].xxxx, IN[1].yyyy\n\
             CMP OUT[0].w, IN[0].xxxx, IN[1].xxxx, IN[1].yyyy",
        );
        expect![[r#"
            IN0.z
            SLT(IN0.x, IN0.y)
            CMP(-SLT(IN0.x, IN0.y), IN1.x, IN1.y)
            CMP(IN0.x, IN1.x, IN1.y)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn rounding_of_integers() {
        let out = outs(
            &["const-fold", "algebra"],
            "I2F TEMP[0].x, IN[0].xxxx\n\
             FLR OUT[0].x, TEMP[0].xxxx\n\
             FRC OUT[0].y, TEMP[0].xxxx\n\
             TRUNC TEMP[1].x, IN[0].yyyy\n\
             F2I OUT[0].z, TEMP[1].xxxx\n\
             FLR TEMP[2].x, IN[0].yyyy\n\
             F2I OUT[0].w, TEMP[2].xxxx",
        );
        expect![[r#"
            I2F(IN0.x)
            0.0
            F2I(IN0.y)
            F2I(FLR(IN0.y))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn copied_channels_of_vector_opcodes() {
        let out = outs(
            &["const-fold", "algebra"],
            "DST OUT[0], IN[0], IN[1]\n\
             LIT OUT[1], IN[0]",
        );
        expect![[r#"
            1.0
            MUL(IN0.y, IN1.y)
            IN0.z
            IN1.w
            1.0
            LIT(IN0.x, IN0.y, IN0.w).y
            LIT(IN0.x, IN0.y, IN0.w).z
            1.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn commuted_twins_meet() {
        let out = outs(
            &["const-fold", "algebra"],
            "ADD TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             ADD TEMP[0].y, IN[0].yyyy, IN[0].xxxx\n\
             USEQ OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy\n\
             MIN TEMP[1].x, IN[0].xxxx, IN[0].yyyy\n\
             MIN TEMP[1].y, IN[0].yyyy, IN[0].xxxx\n\
             USEQ OUT[0].y, TEMP[1].xxxx, TEMP[1].yyyy",
        );
        expect![[r#"
            0xffffffff
            USEQ(MIN(IN0.x, IN0.y), MIN(IN0.y, IN0.x))"#]]
        .assert_eq(&out);
    }

    #[test]
    fn precise_keeps_its_flag() {
        let out = outs(
            &["const-fold", "algebra"],
            "MAD_PRECISE OUT[0].x, IN[0].xxxx, IMM[0].yyyy, IN[0].yyyy",
        );
        expect!["ADD_PRECISE(IN0.x, IN0.y)"].assert_eq(&out);
    }

    #[test]
    fn constant_addresses_become_direct() {
        let out = outs(
            &["const-fold", "algebra"],
            "MOV TEMP[10].x, IN[0].xxxx\n\
             UARL ADDR[0].x, IMM[1].yyyy\n\
             MOV OUT[0].x, TEMP[ADDR[0].x+10](1).xxxx",
        );
        expect!["MOV().x"].assert_eq(&out);
    }

    #[test]
    fn products_join_sums() {
        let out = outs(
            &["const-fold", "algebra"],
            "UMUL TEMP[0].x, IN[0].xxxx, IN[0].yyyy\n\
             UADD OUT[0].x, TEMP[0].xxxx, IN[0].zzzz\n\
             SHL TEMP[1].x, IN[0].xxxx, IMM[2].yyyy\n\
             UADD OUT[0].y, IN[0].zzzz, TEMP[1].xxxx\n\
             UADD TEMP[2].x, TEMP[1].xxxx, IMM[1].yyyy\n\
             UADD OUT[0].z, TEMP[2].xxxx, IMM[1].wwww",
        );
        expect![[r#"
            UMAD(IN0.x, IN0.y, IN0.z)
            UMAD(IN0.x, 0x10, IN0.z)
            UMAD(IN0.x, 0x10, 0x3)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn scaled_addresses_are_taken_back() {
        let out = outs(
            &["const-fold", "algebra"],
            "UBFE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx, IMM[2].xxxx\n\
             SHL TEMP[1].x, TEMP[0].xxxx, IMM[2].yyyy\n\
             UADD TEMP[1].x, TEMP[1].xxxx, IMM[2].xxxx\n\
             USHR OUT[0].x, TEMP[1].xxxx, IMM[2].yyyy\n\
             UMUL TEMP[2].x, IN[0].yyyy, IMM[2].xxxx\n\
             USHR OUT[0].y, TEMP[2].xxxx, IMM[2].yyyy\n\
             UADD TEMP[3].x, TEMP[2].xxxx, IMM[1].yyyy\n\
             USHR OUT[0].z, TEMP[3].xxxx, IMM[2].yyyy",
        );
        expect![[r#"
            UADD(UBFE(IN0.x, 0.0, 0x10), 0x1)
            AND(IN0.y, 0xfffffff)
            USHR(UMAD(IN0.y, 0x10, 0x1), 0x4)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn known_bits() {
        let out = outs(
            &["const-fold", "algebra"],
            "UBFE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx, IMM[2].yyyy\n\
             AND OUT[0].x, TEMP[0].xxxx, IMM[2].zzzz\n\
             USLT OUT[0].y, TEMP[0].xxxx, IMM[2].xxxx\n\
             IMAX OUT[0].z, TEMP[0].xxxx, IMM[0].xxxx\n\
             USEQ OUT[0].w, TEMP[0].xxxx, IMM[2].zzzz",
        );
        expect![[r#"
            UBFE(IN0.x, 0.0, 0x4)
            0xffffffff
            UBFE(IN0.x, 0.0, 0x4)
            0.0"#]]
        .assert_eq(&out);
    }

    #[test]
    fn unknown_bits() {
        let out = outs(
            &["const-fold", "algebra"],
            "AND OUT[0].x, IN[0].xxxx, IMM[2].zzzz\n\
             IMAX OUT[0].y, IN[0].xxxx, IMM[0].xxxx\n\
             UBFE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx, IMM[2].yyyy\n\
             USLT OUT[0].z, TEMP[0].xxxx, IMM[2].yyyy\n\
             ISLT OUT[0].w, TEMP[0].xxxx, IN[0].yyyy",
        );
        expect![[r#"
            AND(IN0.x, 0x1f)
            IMAX(IN0.x, 0.0)
            USLT(UBFE(IN0.x, 0.0, 0x4), 0x4)
            ISLT(UBFE(IN0.x, 0.0, 0x4), IN0.y)"#]]
        .assert_eq(&out);
    }

    #[test]
    fn lanes_of_one_choice_stay_together() {
        let out = outs(
            &["const-fold", "algebra"],
            "FSEQ TEMP[0].x, IN[0].xxxx, IN[0].yyyy\nUCMP OUT[0].xy, TEMP[0].xxxx, IMM[0].xyxy, IMM[0].yxyx",
        );
        expect![[r#"
            UCMP(FSEQ(IN0.x, IN0.y), 0.0, 1.0)
            UCMP(FSEQ(IN0.x, IN0.y), 1.0, 0.0)"#]]
        .assert_eq(&out);
    }
}
