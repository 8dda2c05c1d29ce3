//! How an operation is computed by others, as a table, and which way is the cheapest on a target.

use std::f32::consts::{FRAC_1_PI, PI};

use tgsi::Opcode;
use tgsi::opcode::OPCODES;
use tgsi_ir::Value;
use tgsi_rules::{Contract, Op};
use tgsi_target::Taken;

use super::expand::Expand;

/// One way to compute an operation.
pub(super) struct Way {
    makes: Op,
    /// Everything that `build` asks for, as often as it does.
    needs: &'static [Op],
    /// What is not kept bit for bit.
    pub contract: Contract,
    /// Computes it, from its operands.
    pub build: fn(&mut Expand<'_>, &[Value]) -> Value,
}

macro_rules! need {
    (Neg) => {
        Op::Neg
    };
    (Abs) => {
        Op::Abs
    };
    (Sat) => {
        Op::Sat
    };
    ($op:ident) => {
        Op::Alu(Opcode::$op)
    };
}

macro_rules! ways {
    ($($makes:ident by $($needs:ident)* => $contract:expr, $build:expr;)*) => {
        &[$(Way {
            makes: need!($makes),
            needs: &[$(need!($needs)),*],
            contract: $contract,
            build: $build,
        }),*]
    };
}

const EXACT: Contract = Contract::EXACT;
const NSZ: Contract = Contract::NSZ;
/// A test of a NaN comes out the other way.
const UNORD: Contract = Contract::UNORD;
/// An infinity may become a NaN.
const FINITE: Contract = Contract::NINF.and(Contract::NNAN);
/// A product with 0.0 or 1.0 stands for a choice.
const CHOICE: Contract = FINITE.and(NSZ);
/// A function by another that approximates the same, at finite numbers.
const APPROXIMATE: Contract = FINITE.and(Contract::AFN);

/// Minimax polynomial of sin(2 pi w) for |w| <= 1/4, odd powers from the first: 1.2e-6 off at most.
const SINE: [f32; 4] = [6.283_180_7, -41.339_245, 81.408_005, -71.607_68];

const HALF: f32 = 0.5;

/// The table.
pub(super) const WAYS: &[Way] = ways![
    // Modifiers.
    Neg by Mul => EXACT, |b, a| b.by(Opcode::Mul, a[0], -1.0);
    Abs by Neg Max => NSZ, |b, a| { let n = b.neg(a[0]); b.op(Opcode::Max, &[n, a[0]]) };
    Abs by Neg Cmp => NSZ, |b, a| { let n = b.neg(a[0]); b.op(Opcode::Cmp, &[a[0], n, a[0]]) };
    Sat by Max Min => EXACT, |b, a| {
        let zero = b.num(0.0);
        let m = b.op(Opcode::Max, &[zero, a[0]]);
        b.by(Opcode::Min, m, 1.0)
    };
    // Sums and products.
    Mad by Mul Add => EXACT, |b, a| { let m = b.op(Opcode::Mul, &[a[0], a[1]]); b.op(Opcode::Add, &[m, a[2]]) };
    Fma by Mad => Contract::CONTRACT, |b, a| b.op(Opcode::Mad, a);
    Add by Mad => NSZ, |b, a| { let one = b.num(1.0); b.op(Opcode::Mad, &[a[0], one, a[1]]) };
    Mul by Mad => NSZ, |b, a| { let zero = b.num(0.0); b.op(Opcode::Mad, &[a[0], a[1], zero]) };
    Sub by Neg Add => EXACT, |b, a| b.minus(a[0], a[1]);
    Lrp by Neg Add Mad => EXACT, lrp;
    Dp2 by Mul Mad => EXACT, dot;
    Dp2 by Dp3 => CHOICE, |b, a| b.padded(Opcode::Dp3, a);
    Dp2 by Dp4 => CHOICE, |b, a| b.padded(Opcode::Dp4, a);
    Dp3 by Dp4 => CHOICE, |b, a| b.padded(Opcode::Dp4, a);
    Dp3 by Dp2 Mad => EXACT, |b, a| b.longer(Opcode::Dp2, a);
    Dp3 by Mul Mad Mad => EXACT, dot;
    Dp4 by Dp3 Mad => EXACT, |b, a| b.longer(Opcode::Dp3, a);
    Dp4 by Mul Mad Mad Mad => EXACT, dot;
    // Reciprocals, roots, powers.
    Div by Rcp Mul => Contract::ARCP, |b, a| { let r = b.op(Opcode::Rcp, &[a[1]]); b.op(Opcode::Mul, &[a[0], r]) };
    Rcp by Div => EXACT, |b, a| { let one = b.num(1.0); b.op(Opcode::Div, &[one, a[0]]) };
    Sqrt by Rsq Rcp => Contract::ARCP, |b, a| { let r = b.op(Opcode::Rsq, &[a[0]]); b.op(Opcode::Rcp, &[r]) };
    // Zero times the infinite root of zero is replaced.
    Sqrt by Rsq Mul Neg Cmp => APPROXIMATE, |b, a| {
        let r = b.op(Opcode::Rsq, &[a[0]]);
        let m = b.op(Opcode::Mul, &[a[0], r]);
        let (n, zero) = (b.neg(a[0]), b.num(0.0));
        b.op(Opcode::Cmp, &[n, m, zero])
    };
    Sqrt by Lg2 Mul Ex2 => APPROXIMATE, |b, a| b.power(a[0], HALF);
    Rsq by Sqrt Rcp => EXACT, |b, a| {
        let x = if b.first_era() { b.abs(a[0]) } else { a[0] };
        let r = b.op(Opcode::Sqrt, &[x]);
        b.op(Opcode::Rcp, &[r])
    };
    Rsq by Lg2 Mul Ex2 => APPROXIMATE, |b, a| {
        let x = if b.first_era() { b.abs(a[0]) } else { a[0] };
        b.power(x, -HALF)
    };
    Pow by Lg2 Mul Ex2 => APPROXIMATE, |b, a| {
        if let Some(v) = whole_power(b, a[0], a[1]) {
            return v;
        }
        let l = b.op(Opcode::Lg2, &[a[0]]);
        let m = b.op(Opcode::Mul, &[l, a[1]]);
        b.op(Opcode::Ex2, &[m])
    };
    Ex2 by Pow => Contract::AFN, |b, a| { let two = b.num(2.0); b.op(Opcode::Pow, &[two, a[0]]) };
    Ex2 by Exp => Contract::AFN, |b, a| b.channel_of(Opcode::Exp, a[0], 2);
    Lg2 by Log => APPROXIMATE, |b, a| b.channel_of(Opcode::Log, a[0], 2);
    Rcc by Rcp Neg Max Min Max Min Cmp => Contract::NNAN, |b, a| {
        const LOW: f32 = 5.42101e-20;
        const HIGH: f32 = 1.884467e+19;
        let r = b.op(Opcode::Rcp, &[a[0]]);
        let above = b.between(r, LOW, HIGH);
        let below = b.between(r, -HIGH, -LOW);
        let n = b.neg(r);
        b.op(Opcode::Cmp, &[n, above, below])
    };
    // Angles.
    Sin by Cos Add => APPROXIMATE, |b, a| { let x = b.by(Opcode::Add, a[0], -PI / 2.0); b.op(Opcode::Cos, &[x]) };
    Cos by Sin Add => APPROXIMATE, |b, a| { let x = b.by(Opcode::Add, a[0], PI / 2.0); b.op(Opcode::Sin, &[x]) };
    Sin by Mad Frc Mad Scs => APPROXIMATE, |b, a| { let x = b.reduced(a[0]); b.channel_of(Opcode::Scs, x, 1) };
    Cos by Mad Frc Mad Scs => APPROXIMATE, |b, a| { let x = b.reduced(a[0]); b.channel_of(Opcode::Scs, x, 0) };
    Sin by Mad Frc Add Abs Add Mul Mad Mad Mad Mul => APPROXIMATE, |b, a| cosine(b, a[0], 0.25);
    Cos by Mad Frc Add Abs Add Mul Mad Mad Mad Mul => APPROXIMATE, |b, a| cosine(b, a[0], 0.5);
    // Rounding.
    Frc by Flr Neg Add => EXACT, |b, a| { let l = b.op(Opcode::Flr, a); b.minus(a[0], l) };
    Frc by Exp => Contract::AFN, |b, a| b.channel_of(Opcode::Exp, a[0], 1);
    Flr by Frc Neg Add => FINITE, |b, a| { let r = b.op(Opcode::Frc, a); b.minus(a[0], r) };
    Flr by Neg Ceil Neg => EXACT, |b, a| { let n = b.neg(a[0]); let c = b.op(Opcode::Ceil, &[n]); b.neg(c) };
    Flr by Trunc Slt Neg Add => FINITE.and(NSZ), |b, a| {
        let t = b.op(Opcode::Trunc, a);
        let s = b.op(Opcode::Slt, &[a[0], t]);
        b.minus(t, s)
    };
    Ceil by Neg Flr Neg => EXACT, |b, a| { let n = b.neg(a[0]); let l = b.op(Opcode::Flr, &[n]); b.neg(l) };
    Ceil by Neg Frc Add => FINITE, |b, a| {
        let n = b.neg(a[0]);
        let r = b.op(Opcode::Frc, &[n]);
        b.op(Opcode::Add, &[a[0], r])
    };
    Trunc by Abs Flr Neg Cmp => NSZ, |b, a| {
        let x = b.abs(a[0]);
        let l = b.op(Opcode::Flr, &[x]);
        let n = b.neg(l);
        b.op(Opcode::Cmp, &[a[0], n, l])
    };
    Trunc by Abs Flr Ssg Mul => NSZ.and(FINITE), |b, a| {
        let x = b.abs(a[0]);
        let l = b.op(Opcode::Flr, &[x]);
        let s = b.op(Opcode::Ssg, a);
        b.op(Opcode::Mul, &[s, l])
    };
    // Half a unit more, rounded down; of two equally near the odd one is taken back.
    Round by Add Flr Seq Mul Frc Mul Neg Mad => APPROXIMATE.and(NSZ), |b, a| {
        let more = b.by(Opcode::Add, a[0], HALF);
        let l = b.op(Opcode::Flr, &[more]);
        let tie = b.op(Opcode::Seq, &[more, l]);
        let half = b.by(Opcode::Mul, l, HALF);
        let r = b.op(Opcode::Frc, &[half]);
        let odd = b.by(Opcode::Mul, r, -2.0);
        b.op(Opcode::Mad, &[tie, odd, l])
    };
    // Choices.
    Cmp by Slt Neg Add Mul Mad => CHOICE, |b, a| {
        let zero = b.num(0.0);
        let t = b.op(Opcode::Slt, &[a[0], zero]);
        b.blend(t, a[1], a[2])
    };
    Cmp by Sge Neg Add Mul Mad => CHOICE.and(UNORD), |b, a| {
        let zero = b.num(0.0);
        let t = b.op(Opcode::Sge, &[a[0], zero]);
        b.blend(t, a[2], a[1])
    };
    Cmp by Neg Add Cnd => APPROXIMATE, |b, a| {
        let half = b.num(HALF);
        let x = b.minus(half, a[0]);
        b.op(Opcode::Cnd, &[a[1], a[2], x])
    };
    Cnd by Neg Add Cmp => EXACT, |b, a| {
        let half = b.num(HALF);
        let d = b.minus(half, a[2]);
        b.op(Opcode::Cmp, &[d, a[0], a[1]])
    };
    Cnd0 by Cmp => UNORD, |b, a| b.op(Opcode::Cmp, &[a[2], a[1], a[0]]);
    Clamp by Neg Add Min Max Cmp => Contract::NNAN, |b, a| {
        let ordered = |b: &Expand<'_>| Some(b.known(a[1])? <= b.known(a[2])?);
        if ordered(b) == Some(true) {
            let m = b.op(Opcode::Max, &[a[0], a[1]]);
            return b.op(Opcode::Min, &[m, a[2]]);
        }
        let (d, m) = (b.minus(a[0], a[1]), b.op(Opcode::Min, &[a[0], a[2]]));
        b.op(Opcode::Cmp, &[d, a[1], m])
    };
    Min by Neg Max Neg => EXACT, |b, a| b.mirrored(Opcode::Max, a);
    Max by Neg Min Neg => EXACT, |b, a| b.mirrored(Opcode::Min, a);
    Min by Neg Add Cmp => Contract::NNAN, |b, a| { let d = b.minus(a[0], a[1]); b.op(Opcode::Cmp, &[d, a[0], a[1]]) };
    Max by Neg Add Cmp => Contract::NNAN, |b, a| { let d = b.minus(a[0], a[1]); b.op(Opcode::Cmp, &[d, a[1], a[0]]) };
    // Comparisons.
    Slt by Sgt => EXACT, |b, a| b.op(Opcode::Sgt, &[a[1], a[0]]);
    Sgt by Slt => EXACT, |b, a| b.op(Opcode::Slt, &[a[1], a[0]]);
    Sge by Sle => EXACT, |b, a| b.op(Opcode::Sle, &[a[1], a[0]]);
    Sle by Sge => EXACT, |b, a| b.op(Opcode::Sge, &[a[1], a[0]]);
    Slt by Neg Add Cmp => EXACT, |b, a| { let d = b.difference(a[0], a[1]); b.truth_of(d, 1.0, 0.0) };
    Sge by Neg Add Cmp => UNORD, |b, a| { let d = b.difference(a[0], a[1]); b.truth_of(d, 0.0, 1.0) };
    Slt by Sge Neg Add => UNORD, |b, a| { let s = b.op(Opcode::Sge, a); b.inverse(s) };
    Sge by Slt Neg Add => UNORD, |b, a| { let s = b.op(Opcode::Slt, a); b.inverse(s) };
    Seq by Neg Add Abs Neg Cmp => UNORD, |b, a| { let d = b.distance(a[0], a[1]); b.truth_of(d, 0.0, 1.0) };
    Sne by Neg Add Abs Neg Cmp => UNORD, |b, a| { let d = b.distance(a[0], a[1]); b.truth_of(d, 1.0, 0.0) };
    Seq by Sge Sge Mul => EXACT, |b, a| {
        let (s, t) = (b.op(Opcode::Sge, a), b.op(Opcode::Sge, &[a[1], a[0]]));
        b.op(Opcode::Mul, &[s, t])
    };
    Sne by Slt Slt Add => UNORD, |b, a| {
        let (s, t) = (b.op(Opcode::Slt, a), b.op(Opcode::Slt, &[a[1], a[0]]));
        b.op(Opcode::Add, &[s, t])
    };
    Seq by Sne Neg Add => EXACT, |b, a| { let s = b.op(Opcode::Sne, a); b.inverse(s) };
    Sne by Seq Neg Add => EXACT, |b, a| { let s = b.op(Opcode::Seq, a); b.inverse(s) };
    Ssg by Slt Slt Neg Add => EXACT, |b, a| {
        let zero = b.num(0.0);
        let (s, t) = (b.op(Opcode::Slt, &[zero, a[0]]), b.op(Opcode::Slt, &[a[0], zero]));
        b.minus(s, t)
    };
    Ssg by Neg Cmp Cmp => EXACT, |b, a| {
        let (n, zero, one, less) = (b.neg(a[0]), b.num(0.0), b.num(1.0), b.num(-1.0));
        let t = b.op(Opcode::Cmp, &[n, one, zero]);
        b.op(Opcode::Cmp, &[a[0], less, t])
    };
    Sfl by => EXACT, |b, _| b.num(0.0);
    Str by => EXACT, |b, _| b.num(1.0);
];

/// `a * (b - c) + c`; the first definition is `a * b + (1 - a) * c`.
fn lrp(b: &mut Expand<'_>, a: &[Value]) -> Value {
    if b.first_era() {
        let rest = b.inverse(a[0]);
        let m = b.op(Opcode::Mul, &[rest, a[2]]);
        return b.op(Opcode::Mad, &[a[0], a[1], m]);
    }
    let d = b.minus(a[1], a[2]);
    b.op(Opcode::Mad, &[a[0], d, a[2]])
}

/// The largest exponent for which products are no longer than a logarithm and its inverse: products
/// share instructions, those do not.
const MOST_FACTORS: u32 = 16;

/// A power with a constant exponent that is a whole number: right for negative numbers too.
fn whole_power(b: &mut Expand<'_>, x: Value, e: Value) -> Option<Value> {
    let e = b.known(e)?;
    if e.fract() != 0.0 || !(1.0..=MOST_FACTORS as f32).contains(&e) {
        return None;
    }
    let mut left = e as u32;
    let (mut square, mut product) = (x, None);
    while left != 0 {
        if left & 1 != 0 {
            product = Some(match product {
                Some(p) => b.op(Opcode::Mul, &[p, square]),
                None => square,
            });
        }
        left >>= 1;
        if left != 0 {
            square = b.op(Opcode::Mul, &[square, square]);
        }
    }
    product
}

/// A dot product, left to right.
pub(super) fn dot(b: &mut Expand<'_>, a: &[Value]) -> Value {
    let n = a.len() / 2;
    let mut sum = b.op(Opcode::Mul, &[a[0], a[n]]);
    for k in 1..n {
        sum = b.op(Opcode::Mad, &[a[k], a[n + k], sum]);
    }
    sum
}

/// cos(2 pi u) where u is the fraction of `x / 2 pi + phase` less a half: a phase of 0.5 gives the
/// cosine of x, and one of 0.25 the sine.
fn cosine(b: &mut Expand<'_>, x: Value, phase: f32) -> Value {
    let (scale, phase) = (b.num(FRAC_1_PI / 2.0), b.num(phase));
    let turns = b.op(Opcode::Mad, &[x, scale, phase]);
    let part = b.op(Opcode::Frc, &[turns]);
    let u = b.by(Opcode::Add, part, -HALF);
    // cos(2 pi u) = sin(2 pi (1/4 - |u|)).
    let (u, quarter) = (b.abs(u), b.num(0.25));
    let w = b.minus(quarter, u);
    let square = b.op(Opcode::Mul, &[w, w]);
    let mut p = b.num(SINE[3]);
    for k in [2, 1, 0] {
        let c = b.num(SINE[k]);
        p = b.op(Opcode::Mad, &[p, square, c]);
    }
    b.op(Opcode::Mul, &[p, w])
}

/// Number of operations that ways may make.
const OPS: usize = OPCODES.len() + 3;

fn index(op: Op) -> Option<usize> {
    Some(match op {
        Op::Alu(op) => op as usize,
        Op::Neg => OPCODES.len(),
        Op::Abs => OPCODES.len() + 1,
        Op::Sat => OPCODES.len() + 2,
        Op::INeg | Op::Kill => return None,
    })
}

/// Whether a target has an operation.
pub(super) fn takes(taken: &Taken, op: Op) -> bool {
    match op {
        Op::Alu(op) => taken.takes(op),
        Op::Neg => taken.negate,
        Op::Abs => taken.abs,
        Op::Sat => taken.saturate,
        Op::INeg | Op::Kill => true,
    }
}

/// The cheapest way to each operation that a target does not take.
pub(super) struct Ways(Vec<Option<&'static Way>>);

impl Ways {
    pub(super) fn new(taken: &Taken) -> Ways {
        let mut cost: Vec<Option<u32>> = vec![None; OPS];
        let mut way: Vec<Option<&'static Way>> = vec![None; OPS];
        for info in OPCODES {
            if taken.takes(info.op) {
                cost[info.op as usize] = Some(taken.slots(info.op).max(1));
            }
        }
        for op in [Op::Neg, Op::Abs, Op::Sat] {
            if let (true, Some(i)) = (takes(taken, op), index(op)) {
                cost[i] = Some(0);
            }
        }
        // As each way costs more than what it needs, none leads back to itself.
        let mut changed = true;
        while changed {
            changed = false;
            for w in WAYS {
                let Some(i) = index(w.makes).filter(|_| !takes(taken, w.makes)) else {
                    continue;
                };
                let needs = w.needs.iter().map(|&n| cost[index(n)?]);
                let Some(sum) = needs.sum::<Option<u32>>() else {
                    continue;
                };
                let sum = sum + 1;
                if cost[i].is_none_or(|c| sum < c) {
                    cost[i] = Some(sum);
                    way[i] = Some(w);
                    changed = true;
                }
            }
        }
        Ways(way)
    }

    /// The way to an operation that is not taken, if there is one.
    pub(super) fn of(&self, op: Op) -> Option<&'static Way> {
        self.0[index(op)?]
    }
}
