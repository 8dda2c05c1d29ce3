//! Checks by evaluation that rules are as strong as they say.
//!
//! Both sides of a rule are evaluated on many tuples of words: the special ones in combination
//! and seeded random ones, always the same. They must agree bit for bit (but for the payload of
//! NaNs that arithmetic makes) unless the rule's contract excuses the difference:
//!
//! * `unord`, `ninf`: a NaN or an infinity is among the variables, or is met while the left side
//!   is computed. One that only the right side makes is no excuse: the program did not have it.
//! * `nnan`: such a NaN, where one of the results is a NaN too. It excuses no other number than that
//!   of the left side, and no other truth value.
//! * `nsz`: zeros, or infinities that came of zeros, differ by their sign.
//! * `contract`, `reassoc`, `arcp`, `afn`: the results are close, compared with the largest number
//!   met. Tuples on whose left side there are NaNs, infinities and numbers of extreme magnitude are
//!   not judged, nor are those that overflow or underflow on either side; under `afn` neither is a
//!   POW that GLSL leaves undefined.
//!
//! This finds wrong rules; it is no proof of right ones.

use std::cell::Cell;
use std::fmt;

use tgsi::{Opcode, Ty};

use crate::{Contract, Op, Rule, Term, Var};

mod sample;
mod value;

use sample::{Random, Samples};
use value::{Machine, Trace, Value, multiplies};

/// The rule of `0 * x` in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As IEEE 754 says.
    Ieee,
    /// `0 * x` is 0 whatever `x` is.
    ZeroWins,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Ieee => "IEEE",
            Mode::ZeroWins => "zero wins",
        })
    }
}

/// Computes an opcode that works on single channels, from the bits of its operands; the operands of
/// a dot product are the channels of the first vector, then those of the second. `None` leaves an
/// opcode to the table.
pub type Evaluator = fn(Opcode, &[u64], Mode) -> Option<u64>;

/// What is known of a rule that withstood all samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The number of samples, in all modes, on which the sides were compared.
    pub samples: u32,
    /// Flags of the contract that no sample needed. `contract` is not among them if a fused
    /// machine could need it.
    pub weaker_than_needed: Vec<&'static str>,
    /// A sample too extreme for accuracy to be judged, with a finite result on the left, gives an
    /// infinity or a NaN on the right.
    pub loses_extremes: bool,
}

/// Why a rule is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The sides differ.
    Differs,
    /// Only the right side meets a NaN or an infinity, and the sides differ.
    RightSideAlone,
    /// Hardly any sample satisfies the conditions and is not excused.
    Unexercised(u32),
}

/// A rule that is not as strong as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterExample {
    /// Name of the rule.
    pub rule: String,
    /// Why it is refused.
    pub refusal: Refusal,
    /// The rule of `0 * x` in force.
    pub mode: Mode,
    /// The words by variable; 64 bits where the rule uses them so.
    pub words: Vec<(String, u64)>,
    /// Value of the left side.
    pub left: u64,
    /// Value of the right side.
    pub right: u64,
}

impl fmt::Display for CounterExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        match self.refusal {
            Refusal::Unexercised(n) => {
                return write!(f, "only {n} samples satisfy the conditions");
            }
            Refusal::Differs | Refusal::RightSideAlone => {}
        }
        for (name, bits) in &self.words {
            write!(f, "{name} = {}, ", Shown(*bits))?;
        }
        let (left, right) = (Shown(self.left), Shown(self.right));
        write!(f, "{}: left {left}, right {right}", self.mode)?;
        if self.refusal == Refusal::RightSideAlone {
            f.write_str(" (only the right side meets a NaN or an infinity)")?;
        }
        Ok(())
    }
}

impl std::error::Error for CounterExample {}

/// Bits as hexadecimal and as a float.
struct Shown(u64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u32::try_from(self.0) {
            Ok(w) => write!(f, "{w:#010x} ({:?})", f32::from_bits(w)),
            Err(_) => write!(f, "{:#018x} ({:?})", self.0, f64::from_bits(self.0)),
        }
    }
}

/// Fewer samples than this exercise nothing.
const ENOUGH: u32 = 8;

/// Flags about rounding.
const ACCURACY: Contract = Contract::CONTRACT
    .and(Contract::REASSOC)
    .and(Contract::ARCP)
    .and(Contract::AFN);

/// Checks a rule.
///
/// # Errors
/// A sample on which it does not hold, or that there are too few samples to tell.
pub fn verify(rule: &Rule) -> Result<Verdict, CounterExample> {
    verify_by(rule, None)
}

/// Checks a rule with opcodes computed by something else than the opcode table.
///
/// # Errors
/// As [`verify`].
pub fn verify_by(rule: &Rule, by: Option<Evaluator>) -> Result<Verdict, CounterExample> {
    let mut samples = Samples::new(rule);
    let check = Check::new(rule, &samples);
    let mut tuple = Vec::new();
    let mut compared = 0;
    let mut loses_extremes = false;
    let mut needed = vec![false; check.reduced.len()];
    while samples.next(&mut tuple) {
        for mode in check.modes.iter().copied() {
            let machine = Machine::new(&tuple, mode, by);
            let left = machine.value(&rule.lhs, &mut None);
            let right = machine.value(&rule.rhs, &mut None);
            if agree(left, right, check.ty) {
                compared += u32::from(check.concerns(check.contract, mode));
                continue;
            }
            let case = Case::new(&check, machine, left, right);
            for ((contract, _), needed) in check.reduced.iter().zip(&mut needed) {
                if !*needed && check.concerns(*contract, mode) {
                    *needed = match case.judge(*contract) {
                        Judgement::Right | Judgement::Excused => false,
                        Judgement::Extreme => case.loses(),
                        Judgement::Wrong => true,
                    };
                }
            }
            if !check.concerns(check.contract, mode) {
                continue;
            }
            match case.judge(check.contract) {
                Judgement::Right => compared += 1,
                Judgement::Excused => {}
                Judgement::Extreme => loses_extremes |= case.loses(),
                Judgement::Wrong => return Err(case.counter_example()),
            }
        }
    }
    if compared < ENOUGH {
        return Err(CounterExample {
            rule: rule.name.clone(),
            refusal: Refusal::Unexercised(compared),
            mode: Mode::Ieee,
            words: Vec::new(),
            left: 0,
            right: 0,
        });
    }
    let unneeded = check.reduced.iter().zip(needed).filter(|(_, n)| !n);
    Ok(Verdict {
        samples: compared,
        weaker_than_needed: unneeded.flat_map(|((_, flags), _)| flags.names()).collect(),
        loses_extremes,
    })
}

/// A rule and what is looked up in it once.
struct Check<'a> {
    rule: &'a Rule,
    contract: Contract,
    /// The contract without some of its flags, and which.
    reduced: Vec<(Contract, Contract)>,
    modes: &'static [Mode],
    /// The type of what is compared.
    ty: Ty,
    /// Which variables have 64 bits.
    wide: Vec<bool>,
}

impl<'a> Check<'a> {
    fn new(rule: &'a Rule, samples: &Samples<'_>) -> Check<'a> {
        let mut products = false;
        let mut fuses = false;
        for t in [&rule.lhs, &rule.rhs] {
            t.each_op(&mut |op| {
                products |= multiplies(op);
                fuses |= multiplies(op) && op != Op::Alu(Opcode::Mul);
            });
        }
        let contract = rule.contract;
        // The table rounds the product in a MAD, so it never shows the need.
        let accuracy = contract.without(contract.without(ACCURACY));
        let claimed = if fuses {
            accuracy.without(Contract::CONTRACT)
        } else {
            accuracy
        };
        let mut reduced = Vec::new();
        if claimed != Contract::EXACT {
            reduced.push((contract.without(ACCURACY), claimed));
        }
        if contract.includes(Contract::UNORD) {
            let weaker = contract.without(Contract::UNORD).and(Contract::NNAN);
            reduced.push((weaker, Contract::UNORD));
        }
        for flag in [
            Contract::NSZ,
            Contract::NNAN,
            Contract::NINF,
            Contract::LEGACY_ZERO,
            Contract::IEEE_ZERO,
        ] {
            if contract.includes(flag) {
                reduced.push((contract.without(flag), flag));
            }
        }
        let zero = Contract::LEGACY_ZERO.and(Contract::IEEE_ZERO);
        let modes: &[Mode] = if products || contract.without(zero) != contract {
            &[Mode::Ieee, Mode::ZeroWins]
        } else {
            &[Mode::Ieee]
        };
        let ty = match &rule.lhs {
            Term::Op(Op::Alu(op), _) => op.info().dst_ty,
            Term::Op(Op::Neg | Op::Abs | Op::Sat, _) => Ty::F,
            _ => Ty::U,
        };
        Check {
            rule,
            contract,
            reduced,
            modes,
            ty,
            wide: (0..rule.vars.len() as u8)
                .map(|v| samples.is_wide(Var(v)))
                .collect(),
        }
    }

    /// Whether a rule of that contract is used in that mode.
    fn concerns(&self, contract: Contract, mode: Mode) -> bool {
        !contract.includes(match mode {
            Mode::Ieee => Contract::LEGACY_ZERO,
            Mode::ZeroWins => Contract::IEEE_ZERO,
        })
    }
}

/// Whether the right value is one that the left one may have been.
fn agree(left: Value, right: Value, ty: Ty) -> bool {
    if left.unknown {
        return true;
    }
    if left.free {
        return right.is_nan(ty) && !right.unknown;
    }
    left.bits == right.bits && !right.free && !right.unknown
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Right,
    /// The program has no such values.
    Excused,
    /// Accuracy cannot be judged.
    Extreme,
    Wrong,
}

/// A sample on which the sides do not agree.
struct Case<'a> {
    check: &'a Check<'a>,
    machine: Machine<'a>,
    values: [Value; 2],
    traces: [Trace; 2],
}

impl<'a> Case<'a> {
    fn new(check: &'a Check<'a>, machine: Machine<'a>, left: Value, right: Value) -> Case<'a> {
        let mut traces = [Trace::default(); 2];
        let [l, r] = &mut traces;
        machine.value(&check.rule.lhs, &mut Some(l));
        machine.value(&check.rule.rhs, &mut Some(r));
        Case {
            check,
            machine,
            values: [left, right],
            traces,
        }
    }

    fn numbers(&self) -> Option<[f64; 2]> {
        let [left, right] = self.values;
        let ty = self.check.ty;
        Some([left.number(ty)?, right.number(ty)?])
    }

    fn judge(&self, contract: Contract) -> Judgement {
        let [l, r] = &self.traces;
        let met = |f: fn(&value::Scan) -> bool| f(&l.vars) || f(&l.inner) || f(&r.vars);
        let by_nan = contract.includes(Contract::UNORD)
            || contract.includes(Contract::NNAN) && self.gives_nan();
        if by_nan && met(|s| s.nan) || contract.includes(Contract::NINF) && met(|s| s.inf) {
            return Judgement::Excused;
        }
        if contract.includes(Contract::NSZ)
            && let Some([left, right]) = self.numbers()
        {
            let zero = [l.vars, l.inner, r.vars, r.inner].iter().any(|s| s.zero);
            let same = left == right || left == -right && left.is_infinite() && zero;
            if same {
                return Judgement::Right;
            }
        }
        if contract.without(ACCURACY) == contract {
            return Judgement::Wrong;
        }
        if met(|s| s.extreme)
            || l.left_range
            || r.left_range
            || contract.includes(Contract::AFN) && l.open_power
        {
            return Judgement::Extreme;
        }
        let factor = if contract.includes(Contract::AFN) {
            1e-3
        } else {
            1e-4
        };
        if self.is_close(factor) {
            Judgement::Right
        } else {
            Judgement::Wrong
        }
    }

    /// Whether a NaN comes out, or what its bits make.
    fn gives_nan(&self) -> bool {
        self.values
            .iter()
            .any(|v| v.unknown || v.is_nan(self.check.ty))
    }

    /// Whether rounding explains the difference.
    fn is_close(&self, factor: f64) -> bool {
        let Some([left, right]) = self.numbers() else {
            // A truth value or an integer may change where a hair decides.
            let left = self.values[0].bits;
            return self.jittered().any(|v| v.bits != left);
        };
        let largest = self
            .traces
            .iter()
            .flat_map(|t| [t.vars.largest, t.inner.largest])
            .fold(f64::from(f32::MIN_POSITIVE), f64::max);
        let distance = (left - right).abs();
        let ty = self.check.ty;
        distance <= factor * largest
            || self
                .jittered()
                .filter_map(|v| Some((v.number(ty)? - left).abs()))
                .any(|d| d.is_finite() && distance <= factor * largest + 2.0 * d)
    }

    /// The left side with all floats a little off: what it does then, rounding may do to it.
    fn jittered(&self) -> impl Iterator<Item = Value> {
        let mut random = Random(1);
        let vars = self.machine.vars;
        (0..16).map(move |_| {
            let mut near = vars.to_vec();
            for (v, wide) in near.iter_mut().zip(&self.check.wide) {
                v.bits = random.near(v.bits, *wide);
            }
            let machine = Machine {
                vars: &near,
                mode: self.machine.mode,
                evaluator: self.machine.evaluator,
                noise: Some(Cell::new(random.next())),
            };
            machine.value(&self.check.rule.lhs, &mut None)
        })
    }

    /// Whether something appears from nothing on a sample that is too extreme to be judged.
    fn loses(&self) -> bool {
        self.numbers()
            .is_some_and(|[left, right]| left.is_finite() && !right.is_finite())
    }

    fn counter_example(&self) -> CounterExample {
        let rule = self.check.rule;
        let [l, r] = &self.traces;
        let before = [l.vars, l.inner, r.vars];
        let alone = r.inner.nan && !before.iter().any(|s| s.nan)
            || r.inner.inf && !before.iter().any(|s| s.inf);
        let [left, right] = self.values;
        CounterExample {
            rule: rule.name.clone(),
            refusal: if alone {
                Refusal::RightSideAlone
            } else {
                Refusal::Differs
            },
            mode: self.machine.mode,
            words: rule
                .vars
                .iter()
                .zip(self.machine.vars)
                .map(|(name, v)| (name.clone(), v.bits))
                .collect(),
            left: left.bits,
            right: right.bits,
        }
    }
}
