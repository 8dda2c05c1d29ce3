//! Both sides as real functions.
//!
//! A rule that may round otherwise is right if nothing but rounding tells its sides apart: if they
//! are the same function of real numbers. They are compared at rational points, exactly; roots,
//! exponentials and circular functions to 160 binary places. Two different polynomials of degree
//! `d` agree at a point drawn from `n` numbers a variable with a chance of at most `d / n`, by the
//! lemma of Schwartz and Zippel: here at most 1/20 a point, so 20 points leave less than 1e-26.

use std::cmp::Ordering;

use tgsi::{Eval, Opcode, Ty};
use tgsi_rules::{Cond, Contract, Fact, Op, Rule, Term, Var};

use crate::machine::{RCC_LEAST, RCC_MOST, operand_type};
use crate::real::Real;

/// So many points are compared, and so many are tried to find them.
const POINTS: usize = 20;
const TRIES: usize = 2000;

#[derive(Clone, Debug)]
enum Value {
    Number(Real),
    Word(u32),
}

impl Value {
    fn number(&self) -> Option<Real> {
        match self {
            Value::Number(x) => Some(x.clone()),
            Value::Word(w) => Real::of_word(*w),
        }
    }

    fn word(&self) -> Option<u32> {
        match self {
            Value::Number(x) => x.word(),
            Value::Word(w) => Some(*w),
        }
    }
}

/// Compares both sides; gives the number of points.
///
/// # Errors
/// A point at which they differ, or that too few are defined.
pub(crate) fn check(rule: &Rule) -> Result<usize, String> {
    let mut random = Random(0x7265_616c);
    let kinds = kinds(rule);
    let mut compared = 0;
    for i in 0..TRIES {
        let Some(point) = draw(rule, &kinds, &mut random, i % 2 == 0) else {
            continue;
        };
        let (Some(left), Some(right)) = (value(&rule.lhs, &point), value(&rule.rhs, &point)) else {
            continue;
        };
        let same = match (&left, &right) {
            (Value::Word(l), Value::Word(r)) => Some(l == r),
            _ => match (left.number(), right.number()) {
                (Some(l), Some(r)) => Some(l.same(&r)),
                _ => None,
            },
        };
        match same {
            None => {}
            Some(true) => compared += 1,
            Some(false) => {
                let mut text = String::new();
                for (name, v) in rule.vars.iter().zip(&point) {
                    text += &format!("{name} = {}, ", shown(v));
                }
                let (left, right) = (shown(&left), shown(&right));
                return Err(format!("real numbers: {text}left {left}, right {right}"));
            }
        }
        if compared == POINTS {
            return Ok(compared);
        }
    }
    Err(format!("both sides are defined at {compared} points only"))
}

fn shown(v: &Value) -> String {
    match v {
        Value::Number(x) => x.to_string(),
        Value::Word(w) => format!("{w:#x}"),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n) as i64
    }
}

/// Whether a variable is read as an integer somewhere.
fn kinds(rule: &Rule) -> Vec<bool> {
    fn look(t: &Term, integer: &mut [bool]) {
        let Term::Op(op, args) = t else { return };
        for (i, a) in args.iter().enumerate() {
            let any = match op {
                Op::Alu(code) => code.info().src_ty.get(i) == Some(&Ty::Any),
                _ => false,
            };
            let float = matches!(operand_type(*op, i), Ty::F | Ty::D);
            match a {
                Term::Var(v) => integer[usize::from(v.0)] |= !float && !any,
                a => look(a, integer),
            }
        }
    }
    let mut integer = vec![false; rule.vars.len()];
    look(&rule.lhs, &mut integer);
    look(&rule.rhs, &mut integer);
    integer
}

/// A point that satisfies the conditions.
fn draw(rule: &Rule, integer: &[bool], random: &mut Random, positive: bool) -> Option<Vec<Value>> {
    let mut point: Vec<Value> = Vec::new();
    for (v, integer) in integer.iter().enumerate() {
        let has = |fact: Fact| rule.conds.contains(&Cond::Fact(fact, Var(v as u8)));
        if has(Fact::Mask) {
            point.push(Value::Word((random.below(2) as u32).wrapping_neg()));
            continue;
        }
        if *integer && !has(Fact::Bool) {
            point.push(Value::Word((random.below(9) - 4) as u32));
            continue;
        }
        // Where functions are approximated, a point at which one jumps does not count.
        let d = match rule.contract.includes(Contract::AFN) {
            true => [3, 7, 11, 13][random.below(4) as usize],
            false => 1 + random.below(8),
        };
        let n = random.below(161) - 80;
        let x = match n {
            _ if has(Fact::Bool) => Real::integer(n & 1),
            _ if has(Fact::Unit) => Real::ratio(n.abs(), 80),
            _ if has(Fact::SignedUnit) => Real::ratio(n, 80),
            _ if has(Fact::PowerOfTwo) => Real::power_of_two(n % 9),
            _ if has(Fact::Integral) => Real::integer(n),
            n if positive || has(Fact::NonNegative) || has(Fact::Positive) => {
                Real::ratio(n.abs(), d)
            }
            n => Real::ratio(n, d),
        };
        let not_zero = [Fact::Positive, Fact::NonZero, Fact::Scale];
        if not_zero.into_iter().any(has) && x.sign() == Some(0) {
            return None;
        }
        point.push(Value::Number(x));
    }
    for c in &rule.conds {
        let at = |v: &Var| usize::from(v.0);
        let compare = |a: &Var, b: &Var, point: &[Value]| {
            point[at(a)].number()?.compare(&point[at(b)].number()?)
        };
        match c {
            Cond::Equal(a, b) => point[at(b)] = point[at(a)].clone(),
            Cond::Different(a, b) if compare(a, b, &point)? == Ordering::Equal => return None,
            Cond::Less(a, b) => match compare(a, b, &point)? {
                Ordering::Less => {}
                Ordering::Equal => return None,
                Ordering::Greater => point.swap(at(a), at(b)),
            },
            _ => {}
        }
    }
    Some(point)
}

/// The value of a term; none where it is not defined, or cannot be told.
fn value(t: &Term, point: &[Value]) -> Option<Value> {
    let (op, terms) = match t {
        Term::Var(v) => return point.get(usize::from(v.0)).cloned(),
        Term::Word(w) => return Some(Value::Word(*w)),
        Term::Op(op, terms) => (*op, terms),
    };
    let args: Vec<Value> = terms
        .iter()
        .map(|t| value(t, point))
        .collect::<Option<_>>()?;
    apply(op, &args)
}

fn apply(op: Op, args: &[Value]) -> Option<Value> {
    use Opcode::*;
    let x = |i: usize| args.get(i)?.number();
    let one = || Real::integer(1);
    let truth = |b: bool| Some(Value::Word(if b { u32::MAX } else { 0 }));
    let bool = |b: bool| Some(Value::Number(Real::integer(b.into())));
    let compare = |i: usize, j: usize| x(i)?.compare(&x(j)?);
    let dot = |n: usize| -> Option<Real> {
        (0..n).try_fold(Real::integer(0), |s, i| Some(s.add(&x(i)?.mul(&x(n + i)?))))
    };
    let larger = |a: Real, b: Real| Some(if a.compare(&b)?.is_lt() { b } else { a });
    let smaller = |a: Real, b: Real| Some(if a.compare(&b)?.is_gt() { b } else { a });
    let code = match op {
        Op::Alu(code) => code,
        Op::Neg => return Some(Value::Number(x(0)?.neg())),
        Op::Abs => return Some(Value::Number(larger(x(0)?, x(0)?.neg())?)),
        Op::Sat => {
            return Some(Value::Number(smaller(
                larger(x(0)?, Real::integer(0))?,
                one(),
            )?));
        }
        Op::INeg => return Some(Value::Word(args[0].word()?.wrapping_neg())),
        Op::Kill => return truth(x(0)?.sign()? < 0),
    };
    let number = match code {
        Mov | F2d | D2f => return args.first().cloned(),
        Cmp => return args.get(if x(0)?.sign()? < 0 { 1 } else { 2 }).cloned(),
        Ucmp => return args.get(if args[0].word()? != 0 { 1 } else { 2 }).cloned(),
        Cnd => {
            return args
                .get(usize::from(x(2)?.compare(&Real::ratio(1, 2))?.is_le()))
                .cloned();
        }
        Cnd0 => return args.get(usize::from(x(2)?.sign()? < 0)).cloned(),
        Slt => return bool(compare(0, 1)?.is_lt()),
        Sge => return bool(compare(0, 1)?.is_ge()),
        Seq => return bool(compare(0, 1)?.is_eq()),
        Sne => return bool(compare(0, 1)?.is_ne()),
        Sgt => return bool(compare(0, 1)?.is_gt()),
        Sle => return bool(compare(0, 1)?.is_le()),
        Fslt | Dslt => return truth(compare(0, 1)?.is_lt()),
        Fsge | Dsge => return truth(compare(0, 1)?.is_ge()),
        Fseq | Dseq => return truth(compare(0, 1)?.is_eq()),
        Fsne | Dsne => return truth(compare(0, 1)?.is_ne()),
        Add | Dadd => x(0)?.add(&x(1)?),
        Sub => x(0)?.sub(&x(1)?),
        Mul | Dmul => x(0)?.mul(&x(1)?),
        Mad | Fma | Dmad | Dfma => x(0)?.mul(&x(1)?).add(&x(2)?),
        Div | Ddiv => x(0)?.div(&x(1)?)?,
        Lrp => x(0)?.mul(&x(1)?.sub(&x(2)?)).add(&x(2)?),
        Dp2 => dot(2)?,
        Dp3 => dot(3)?,
        Dp4 => dot(4)?,
        Min | Dmin => smaller(x(0)?, x(1)?)?,
        Max | Dmax => larger(x(0)?, x(1)?)?,
        Clamp if compare(0, 1)?.is_lt() => x(1)?,
        Clamp if compare(0, 2)?.is_gt() => x(2)?,
        Clamp => x(0)?,
        Abs | Dabs => larger(x(0)?, x(0)?.neg())?,
        Dneg => x(0)?.neg(),
        Ssg | Dssg => Real::integer(x(0)?.sign()?),
        Flr | Dflr => x(0)?.floor()?,
        Frc | Dfrac => x(0)?.sub(&x(0)?.floor()?),
        Ceil | Dceil => x(0)?.neg().floor()?.neg(),
        Trunc | Dtrunc if x(0)?.sign()? < 0 => x(0)?.neg().floor()?.neg(),
        Trunc | Dtrunc => x(0)?.floor()?,
        Round | Dround => {
            let floor = x(0)?.floor()?;
            let up = match x(0)?.sub(&floor).compare(&Real::ratio(1, 2))? {
                Ordering::Less => false,
                Ordering::Equal => floor.whole()? % 2 != 0,
                Ordering::Greater => true,
            };
            floor.add(&Real::integer(up.into()))
        }
        Rcp | Drcp => one().div(&x(0)?)?,
        Rcc => {
            let size = one().div(&larger(x(0)?, x(0)?.neg())?)?;
            let ends = [RCC_LEAST, RCC_MOST].map(Real::of_word);
            let [Some(least), Some(most)] = ends else {
                return None;
            };
            let size = smaller(larger(size, least)?, most)?;
            size.mul(&Real::integer(x(0)?.sign()?))
        }
        Sqrt | Dsqrt => x(0)?.sqrt()?,
        Rsq | Drsq => one().div(&x(0)?.sqrt()?)?,
        Ex2 => x(0)?.exp2()?,
        Lg2 => x(0)?.log2()?,
        Pow => x(0)?.pow(&x(1)?)?,
        Sin => x(0)?.sin(),
        Cos => x(0)?.cos(),
        Ldexp | Dldexp => x(0)?.mul(&Real::power_of_two(
            (args[1].word()? as i32).clamp(-300, 300).into(),
        )),
        I2f | I2d => Real::integer((args[0].word()? as i32).into()),
        U2f | U2d => Real::integer(args[0].word()?.into()),
        F2i | D2i | F2u | D2u => {
            let truncated = apply(Op::Alu(Trunc), args)?.number()?;
            return Some(Value::Word(truncated.whole()? as u32));
        }
        Arl => return Some(Value::Word(x(0)?.floor()?.whole()? as u32)),
        _ => {
            let words: Vec<u32> = args.iter().map(Value::word).collect::<Option<_>>()?;
            let Eval::Word(f) = code.info().eval else {
                return None;
            };
            // Only integers are left.
            let float = (0..args.len()).any(|i| operand_type(op, i) == Ty::F);
            return (!float && code.info().dst_ty != Ty::F).then(|| Value::Word(f(&words)));
        }
    };
    Some(Value::Number(number))
}
