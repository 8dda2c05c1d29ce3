//! The value of a term, and what was met on the way to it.

use std::cell::Cell;

use tgsi::eval::{abs_f, apply_sat, neg_f};
use tgsi::{Eval, Opcode, Ty};

use super::sample::Random;
use super::{Evaluator, Mode};
use crate::{Op, Term};

/// A word or, for 64-bit operations, a pair of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Value {
    pub(super) bits: u64,
    /// A NaN that arithmetic made: nobody knows its sign and payload.
    pub(super) free: bool,
    /// It was computed from the bits of a [`Value::free`] NaN, so it may be anything.
    pub(super) unknown: bool,
}

impl Value {
    pub(super) fn word(w: u32) -> Value {
        Value {
            bits: w.into(),
            ..Value::default()
        }
    }

    /// As a number, if the type has floats.
    pub(super) fn number(self, ty: Ty) -> Option<f64> {
        match ty {
            Ty::F | Ty::Any => Some(f32::from_bits(self.bits as u32).into()),
            Ty::D => Some(f64::from_bits(self.bits)),
            Ty::I | Ty::U | Ty::I64 | Ty::U64 => None,
        }
    }

    /// Whether it is a NaN of the type.
    pub(super) fn is_nan(self, ty: Ty) -> bool {
        self.number(ty).is_some_and(f64::is_nan)
    }
}

/// What kinds of floats were among some values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    pub(super) nan: bool,
    pub(super) inf: bool,
    pub(super) zero: bool,
    /// Numbers too large or too small for rounding to be judged, infinities and NaNs too.
    pub(super) extreme: bool,
    /// The largest finite magnitude.
    pub(super) largest: f64,
}

impl Scan {
    fn add(&mut self, x: f64, moderate: f64) {
        self.nan |= x.is_nan();
        self.inf |= x.is_infinite();
        self.zero |= x == 0.0;
        let size = x.abs();
        self.extreme |= size != 0.0 && !(1.0 / moderate..=moderate).contains(&size);
        if size.is_finite() {
            self.largest = self.largest.max(size);
        }
    }
}

/// The floats of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trace {
    /// Variables that are read as floats.
    pub(super) vars: Scan,
    /// Results of float operations.
    pub(super) inner: Scan,
    /// A POW where languages leave open what it is: of a negative base, or of 0 to a power that
    /// is not positive.
    pub(super) open_power: bool,
    /// A result left the range of floats: it overflowed, or it is nothing though no operand is.
    pub(super) left_range: bool,
}

/// Evaluates terms for one tuple of words.
pub(super) struct Machine<'a> {
    pub(super) vars: &'a [Value],
    pub(super) mode: Mode,
    /// What computes opcodes in place of the table.
    pub(super) evaluator: Option<Evaluator>,
    /// Where results that are rounded are put a little off at random: the state of the generator.
    pub(super) noise: Option<Cell<u64>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(vars: &'a [Value], mode: Mode, evaluator: Option<Evaluator>) -> Machine<'a> {
        Machine {
            vars,
            mode,
            evaluator,
            noise: None,
        }
    }
}

impl Machine<'_> {
    /// The value of a term. Its floats go to `trace`.
    pub(super) fn value(&self, t: &Term, trace: &mut Option<&mut Trace>) -> Value {
        let (op, terms) = match t {
            Term::Var(v) => {
                return self.vars.get(usize::from(v.0)).copied().unwrap_or_default();
            }
            Term::Word(w) => return Value::word(*w),
            Term::Op(op, terms) => (*op, terms),
        };
        let mut room = [Value::default(); 8];
        for (slot, term) in room.iter_mut().zip(terms) {
            *slot = self.value(term, trace);
        }
        let args = &room[..terms.len().min(room.len())];
        let mut result = apply(op, args, self.mode, self.evaluator);
        if let Some(state) = &self.noise
            && rounds(op)
        {
            let mut random = Random(state.get());
            result.bits = random.near(result.bits, operand_type(op, 0).is_wide());
            state.set(random.0);
        }
        if let Some(trace) = trace {
            for (i, (arg, term)) in args.iter().zip(terms).enumerate() {
                if let (Term::Var(_), Some(x)) = (term, arg.number(operand_type(op, i))) {
                    trace.vars.add(x, 1e4);
                }
            }
            if let Some(x) = result.number(result_type(op)) {
                trace.inner.add(x, 1e18);
            }
            trace.left_range |= leaves_range(op, args, result);
            if let (Op::Alu(Opcode::Pow), [base, power, ..]) = (op, args) {
                let [base, power] = [base, power].map(|v| f32::from_bits(v.bits as u32));
                trace.open_power |= base < 0.0 || base == 0.0 && power <= 0.0;
            }
        }
        result
    }
}

/// The type an operation reads operand `i` as. Words without one count as integers.
pub(super) fn operand_type(op: Op, i: usize) -> Ty {
    let ty = match op {
        Op::Alu(op) if matches!(op.info().shape, tgsi::Shape::Dot(_)) => Ty::F,
        Op::Alu(op) => op.info().src_ty.get(i).copied().unwrap_or(Ty::U),
        Op::Neg | Op::Abs | Op::Sat | Op::Kill => Ty::F,
        Op::INeg => Ty::I,
    };
    if ty == Ty::Any { Ty::U } else { ty }
}

/// The type of a result. Words that are handed on as they are count as integers.
fn result_type(op: Op) -> Ty {
    let ty = match op {
        Op::Alu(op) => op.info().dst_ty,
        Op::Neg | Op::Abs | Op::Sat => Ty::F,
        Op::INeg => Ty::I,
        Op::Kill => Ty::U,
    };
    if ty == Ty::Any { Ty::U } else { ty }
}

fn apply(op: Op, args: &[Value], mode: Mode, by: Option<Evaluator>) -> Value {
    let first = args.first().copied().unwrap_or_default();
    let low = first.bits as u32;
    let moved = |w: u32| Value {
        bits: w.into(),
        ..first
    };
    match op {
        Op::Neg => moved(neg_f(low)),
        Op::Abs => moved(abs_f(low)),
        Op::Alu(Opcode::Mov | Opcode::Uarl | Opcode::Swz) => moved(low),
        Op::Alu(Opcode::Abs) => moved(abs_f(low)),
        Op::Sat => arithmetic(op, args, apply_sat(low).into()),
        Op::INeg => arithmetic(op, args, low.wrapping_neg().into()),
        Op::Kill => arithmetic(op, args, (f32::from_bits(low) < 0.0).into()),
        Op::Alu(code) => match selected(code, args) {
            Some((test, chosen)) => Value {
                unknown: chosen.unknown || test.unknown || test.free && code == Opcode::Ucmp,
                ..chosen
            },
            None => {
                let bits = by.and_then(|f| f(code, &operands(code, args), mode));
                let bits = bits.unwrap_or_else(|| compute(code, args, mode));
                arithmetic(op, args, bits)
            }
        },
    }
}

/// The operand that decides and the one that is handed on, of an operation that chooses.
fn selected(code: Opcode, args: &[Value]) -> Option<(Value, Value)> {
    let [a, b, c] = *args else { return None };
    let Eval::Word(f) = code.info().eval else {
        return None;
    };
    // The table's function chooses between marks in place of the operands.
    let (test, mark) = match code {
        Opcode::Cmp | Opcode::Ucmp => (a, f(&[a.bits as u32, 1, 2])),
        Opcode::Cnd | Opcode::Cnd0 => (c, f(&[0, 1, c.bits as u32])),
        _ => return None,
    };
    Some((test, [a, b, c][mark as usize % 3]))
}

/// Adds to the bits of a result what is known of them.
fn arithmetic(op: Op, args: &[Value], bits: u64) -> Value {
    let unknown = args.iter().enumerate().any(|(i, a)| {
        let float = matches!(operand_type(op, i), Ty::F | Ty::D);
        a.unknown || a.free && !float
    });
    let ty = result_type(op);
    let value = Value {
        bits,
        free: false,
        unknown,
    };
    Value {
        free: matches!(ty, Ty::F | Ty::D) && value.is_nan(ty),
        ..value
    }
}

/// The bits that an operation reads of its operands.
fn operands(code: Opcode, args: &[Value]) -> Vec<u64> {
    let size = |i: usize| {
        if operand_type(Op::Alu(code), i).is_wide() {
            u64::MAX
        } else {
            0xffff_ffff
        }
    };
    let bits = |(i, a): (usize, &Value)| a.bits & size(i);
    args.iter().enumerate().map(bits).collect()
}

fn compute(code: Opcode, args: &[Value], mode: Mode) -> u64 {
    let info = code.info();
    let mut words = [0; 8];
    let mut wide = [0; 8];
    for (i, a) in args.iter().enumerate().take(8) {
        words[i] = a.bits as u32;
        wide[i] = if operand_type(Op::Alu(code), i).is_wide() {
            a.bits
        } else {
            a.bits & 0xffff_ffff
        };
    }
    let words = &words[..args.len().min(8)];
    if mode == Mode::ZeroWins
        && let Some(w) = zero_wins(code, words)
    {
        return w.into();
    }
    match info.eval {
        Eval::Word(f) => f(words).into(),
        Eval::Wide(f) => {
            let bits = f(&wide[..args.len().min(8)]);
            if info.dst_ty.is_wide() {
                bits
            } else {
                bits & 0xffff_ffff
            }
        }
        Eval::Vector(_) | Eval::None => host(code, words, &wide),
    }
}

/// Whether an operation has a product in which a zero may win.
pub(super) fn multiplies(op: Op) -> bool {
    use Opcode::*;
    matches!(
        op,
        Op::Alu(Mul | Mad | Fma | Lrp | Dp2 | Dp3 | Dp4 | Dph | Dp2a)
    )
}

/// Whether a result is infinite, or too small, for lack of range and not by its operands.
fn leaves_range(op: Op, args: &[Value], result: Value) -> bool {
    use Opcode::*;
    let Some(x) = result.number(result_type(op)) else {
        return false;
    };
    let number = |i: usize| {
        args.get(i)
            .and_then(|a| a.number(operand_type(op, i)))
            .unwrap_or(1.0)
    };
    let none_is = |f: fn(f64) -> bool| !(0..args.len()).any(|i| f(number(i)));
    let (zero, infinite) = (|x| x == 0.0, |x: f64| !x.is_finite());
    let Op::Alu(code) = op else { return false };
    let pole = match code {
        Rcp | Rsq | Lg2 | Pow | Drcp | Drsq => number(0) == 0.0,
        Div | Ddiv => number(1) == 0.0,
        _ => false,
    };
    let over = x.is_infinite() && rounds(op) && !pole && none_is(infinite);
    let small = x.abs() < f64::from(f32::MIN_POSITIVE);
    let shrinks = matches!(code, Mul | Div | Rcp | Ex2 | Pow | Dmul | Ddiv | Drcp);
    over || small && shrinks && none_is(zero) && none_is(infinite)
}

/// Whether results of an operation are rounded.
fn rounds(op: Op) -> bool {
    use Opcode::*;
    multiplies(op)
        || matches!(
            op,
            Op::Alu(
                Add | Sub
                    | Div
                    | Rcp
                    | Rcc
                    | Rsq
                    | Sqrt
                    | Ex2
                    | Lg2
                    | Pow
                    | Sin
                    | Cos
                    | Dadd
                    | Dmul
                    | Dmad
                    | Dfma
                    | Ddiv
                    | Drcp
                    | Drsq
                    | Dsqrt
            )
        )
}

/// The result under `MUL_ZERO_WINS`, for the operations that property concerns. POW stays as it is:
/// its only zero base with a result that is no zero is that of a zero exponent.
fn zero_wins(code: Opcode, words: &[u32]) -> Option<u32> {
    if !multiplies(Op::Alu(code)) {
        return None;
    }
    let product = |x: f32, y: f32| if x == 0.0 || y == 0.0 { 0.0 } else { x * y };
    let x = |i: usize| f32::from_bits(words.get(i).copied().unwrap_or(0));
    let dot = |n: usize, at: usize| {
        (1..n).fold(product(x(0), x(at)), |sum, i| {
            sum + product(x(i), x(at + i))
        })
    };
    let result = match code {
        Opcode::Mul => product(x(0), x(1)),
        Opcode::Mad => product(x(0), x(1)) + x(2),
        Opcode::Fma if x(0) == 0.0 || x(1) == 0.0 => 0.0 + x(2),
        Opcode::Lrp => product(x(0), x(1) - x(2)) + x(2),
        Opcode::Dp2 => dot(2, 2),
        Opcode::Dp3 => dot(3, 3),
        Opcode::Dp4 => dot(4, 4),
        Opcode::Dph => dot(3, 3) + x(6),
        Opcode::Dp2a => dot(2, 2) + x(4),
        _ => return None,
    };
    Some(result.to_bits())
}

/// The operations the table does not evaluate, by the mathematics library of the machine: close
/// enough to tell right rules from wrong ones. Nothing is folded with it.
fn host(code: Opcode, words: &[u32], wide: &[u64; 8]) -> u64 {
    let x = |i: usize| f64::from(f32::from_bits(words.get(i).copied().unwrap_or(0)));
    let d = |i: usize| f64::from_bits(wide[i]);
    let result = match code {
        Opcode::Ex2 => x(0).exp2(),
        Opcode::Lg2 => x(0).log2(),
        Opcode::Pow => x(0).powf(x(1)),
        Opcode::Sin => x(0).sin(),
        Opcode::Cos => x(0).cos(),
        Opcode::Dfma => return d(0).mul_add(d(1), d(2)).to_bits(),
        _ => f64::NAN,
    };
    (result as f32).to_bits().into()
}
