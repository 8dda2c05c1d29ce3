//! Both sides in terms of sums and products.
//!
//! MAD, LRP and dot products are by definition sums of rounded products in a certain order. Where
//! both sides come to the same by that, by signs and by neutral operands, a rule holds of all words
//! of every format, however many variables it has.

use tgsi::Opcode;
use tgsi_rules::{Contract, Op, Rule, Term};

/// Whether both sides are the same by definition.
pub(crate) fn check(rule: &Rule) -> bool {
    let form = |t: &Term| normal(t, rule.contract);
    form(&rule.lhs) == form(&rule.rhs)
}

const ZERO: Term = Term::Word(0);
const MINUS_ZERO: Term = Term::Word(0x8000_0000);
const ONE: Term = Term::Word(0x3f80_0000);

fn add(a: Term, b: Term, contract: Contract) -> Term {
    let zeros = contract.includes(Contract::NSZ);
    let neutral = |t: &Term| *t == MINUS_ZERO || *t == ZERO && zeros;
    match (a, b) {
        (a, b) if neutral(&b) => a,
        (a, b) if neutral(&a) => b,
        (a, b) => {
            let [a, b] = sorted(a, b);
            match a {
                // The sum of the opposites is the opposite sum, but for the sign of a zero.
                Term::Op(Op::Neg, _) if zeros => neg(alu(Opcode::Add, [neg(a), neg(b)])),
                a => alu(Opcode::Add, [a, b]),
            }
        }
    }
}

fn mul(a: Term, b: Term, contract: Contract) -> Term {
    let signed = contract.includes(Contract::NSZ) || contract.includes(Contract::IEEE_ZERO);
    let no_rest = Contract::NSZ.and(Contract::NNAN).and(Contract::NINF);
    let wins = contract.includes(Contract::LEGACY_ZERO) || contract.includes(no_rest);
    let is_zero = |t: &Term| *t == ZERO || *t == MINUS_ZERO;
    match (unsigned(a), unsigned(b)) {
        ((_, a), (_, b)) if wins && (is_zero(&a) || is_zero(&b)) => ZERO,
        ((x, a), (y, b)) => {
            let odd = x != y;
            if !signed && odd {
                // The sign stays where it is, in the first operand.
                let [a, b] = sorted(a, b);
                return alu(Opcode::Mul, [neg(a), b]);
            }
            let product = match (a, b) {
                (a, b) if b == ONE && signed => a,
                (a, b) if a == ONE && signed => b,
                (a, b) => alu(Opcode::Mul, sorted(a, b)),
            };
            if odd { neg(product) } else { product }
        }
    }
}

/// A term without its sign, and whether there was one.
fn unsigned(t: Term) -> (bool, Term) {
    match t {
        Term::Op(Op::Neg, mut args) if !args.is_empty() => (true, args.remove(0)),
        t => (false, t),
    }
}

fn neg(t: Term) -> Term {
    match unsigned(t) {
        (true, t) => t,
        (false, Term::Word(w)) => Term::Word(w ^ 0x8000_0000),
        (false, t) => Term::Op(Op::Neg, vec![t]),
    }
}

fn alu(code: Opcode, args: [Term; 2]) -> Term {
    Term::Op(Op::Alu(code), args.into())
}

/// Both in a fixed order.
fn sorted(a: Term, b: Term) -> [Term; 2] {
    let key = |t: &Term| format!("{:?}", unsigned(t.clone()).1);
    if key(&b) < key(&a) { [b, a] } else { [a, b] }
}

/// The form in which terms that are equal by definition are the same.
fn normal(t: &Term, contract: Contract) -> Term {
    use Opcode::*;
    let Term::Op(op, args) = t else {
        return t.clone();
    };
    let x: Vec<Term> = args.iter().map(|a| normal(a, contract)).collect();
    let at = |i: usize| x[i].clone();
    let product = |i: usize, j: usize| mul(at(i), at(j), contract);
    let sum = |a: Term, b: Term| add(a, b, contract);
    let dot = |n: usize| (1..n).fold(product(0, n), |s, i| sum(s, product(i, n + i)));
    match op {
        Op::Neg => neg(at(0)),
        Op::Abs => Term::Op(Op::Abs, vec![unsigned(at(0)).1]),
        Op::Alu(Add) => sum(at(0), at(1)),
        Op::Alu(Sub) => sum(at(0), neg(at(1))),
        Op::Alu(Mul) => product(0, 1),
        // Without that flag a rule must hold where MAD rounds once, too.
        Op::Alu(Mad) if contract.includes(Contract::CONTRACT) => sum(product(0, 1), at(2)),
        Op::Alu(Lrp) => {
            let difference = sum(at(1), neg(at(2)));
            sum(mul(at(0), difference, contract), at(2))
        }
        Op::Alu(Dp2) => dot(2),
        Op::Alu(Dp3) => dot(3),
        Op::Alu(Dp4) => dot(4),
        op if op.commutes() => {
            let [a, b] = sorted(at(0), at(1));
            let mut args = x;
            args[0] = a;
            args[1] = b;
            Term::Op(*op, args)
        }
        op => Term::Op(*op, x),
    }
}
