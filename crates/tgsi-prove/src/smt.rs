//! Rules on bits as text for an SMT solver.
//!
//! [`query`] asks for words of 32 bits on which the sides differ; "unsat" proves the rule for all of
//! them. Floats are not put: solvers take minutes for what small formats show at once.

use tgsi::{Opcode, Ty};
use tgsi_rules::{Cond, Contract, Fact, Op, Rule, Term};

use crate::machine::{operand_type, result_type};

/// The question whether the sides of a rule differ, in SMT-LIB 2. `None` for a rule that is not one of
/// bits alone.
pub fn query(rule: &Rule) -> Option<String> {
    if rule.contract != Contract::EXACT {
        return None;
    }
    let mut text = String::from("(set-logic QF_BV)\n");
    for v in 0..rule.vars.len() {
        text += &format!("(declare-const v{v} (_ BitVec 32))\n");
    }
    for c in &rule.conds {
        text += &format!("(assert {})\n", condition(*c)?);
    }
    let (left, right) = (term(&rule.lhs)?, term(&rule.rhs)?);
    Some(text + &format!("(assert (distinct {left} {right}))\n(check-sat)\n"))
}

fn condition(c: Cond) -> Option<String> {
    Some(match c {
        Cond::Once(_) => "true".to_owned(),
        Cond::Equal(a, b) => format!("(= v{} v{})", a.0, b.0),
        Cond::Different(a, b) => format!("(distinct v{} v{})", a.0, b.0),
        Cond::ShiftSum(a, b) => {
            let small = |v: u8| format!("(bvult v{v} {})", word(32));
            let sum = format!("(bvult (bvadd v{} v{}) {})", a.0, b.0, word(32));
            format!("(and {} {} {sum})", small(a.0), small(b.0))
        }
        Cond::Fact(fact, v) => {
            let v = format!("v{}", v.0);
            let (zero, less) = (word(0), format!("(bvsub {v} {})", word(1)));
            let power = format!("(and (distinct {v} {zero}) (= (bvand {v} {less}) {zero}))");
            match fact {
                Fact::Mask => format!("(or (= {v} {zero}) (= {v} {}))", word(u32::MAX)),
                Fact::Shift => format!("(bvult {v} {})", word(32)),
                Fact::IntPowerOfTwo => power,
                Fact::LowMask => {
                    let next = format!("(bvadd {v} {})", word(1));
                    format!("(and (distinct {v} {zero}) (= (bvand {v} {next}) {zero}))")
                }
                Fact::NonZero => format!("(distinct (bvshl {v} {}) {zero})", word(1)),
                _ => return None,
            }
        }
        Cond::Less(..) => return None,
    })
}

fn word(w: u32) -> String {
    format!("#x{w:08x}")
}

fn term(t: &Term) -> Option<String> {
    let (op, terms) = match t {
        Term::Var(v) => return Some(format!("v{}", v.0)),
        Term::Word(w) => return Some(word(*w)),
        Term::Op(op, terms) => (*op, terms),
    };
    let args: Vec<String> = terms.iter().map(term).collect::<Option<_>>()?;
    let x = |i: usize| args.get(i).map_or("", String::as_str);
    let two = |name: &str| Some(format!("({name} {} {})", x(0), x(1)));
    let choice = |test: String, a: &str, b: &str| Some(format!("(ite {test} {a} {b})"));
    let (zero, ones) = (word(0), word(u32::MAX));
    let truth = |test: String| choice(test, &ones, &zero);
    let relation = |name: &str| truth(format!("({name} {} {})", x(0), x(1)));
    let masked = |i: usize| format!("(bvand {} {})", x(i), word(31));
    let shift = |name: &str| Some(format!("({name} {} {})", x(0), masked(1)));
    let select = |name: &str| choice(format!("({name} {} {})", x(0), x(1)), x(0), x(1));
    let divided = |name: &str, by_zero: u32| {
        let quotient = format!("({name} {} {})", x(0), x(1));
        choice(format!("(= {} {zero})", x(1)), &word(by_zero), &quotient)
    };
    use Opcode::*;
    let code = match op {
        Op::Neg => return Some(format!("(bvxor {} {})", x(0), word(1 << 31))),
        Op::Abs => return Some(format!("(bvand {} {})", x(0), word(u32::MAX >> 1))),
        Op::INeg => return Some(format!("(bvneg {})", x(0))),
        Op::Alu(code) => code,
        Op::Sat | Op::Kill => return None,
    };
    let integer = |ty: Ty| matches!(ty, Ty::I | Ty::U | Ty::Any);
    if !integer(result_type(op)) || !(0..op.arity()).all(|i| integer(operand_type(op, i))) {
        return None;
    }
    match code {
        Mov => Some(args.first()?.clone()),
        Not => Some(format!("(bvnot {})", x(0))),
        Ineg => Some(format!("(bvneg {})", x(0))),
        And => two("bvand"),
        Or => two("bvor"),
        Xor => two("bvxor"),
        Uadd => two("bvadd"),
        Umul => two("bvmul"),
        Umad => Some(format!("(bvadd (bvmul {} {}) {})", x(0), x(1), x(2))),
        Shl => shift("bvshl"),
        Ushr => shift("bvlshr"),
        Ishr => shift("bvashr"),
        Islt => relation("bvslt"),
        Isge => relation("bvsge"),
        Uslt => relation("bvult"),
        Usge => relation("bvuge"),
        Useq => relation("="),
        Usne => relation("distinct"),
        Imin => select("bvsle"),
        Imax => select("bvsge"),
        Umin => select("bvule"),
        Umax => select("bvuge"),
        Udiv => divided("bvudiv", u32::MAX),
        Umod => divided("bvurem", u32::MAX),
        Idiv => divided("bvsdiv", 0),
        Mod => divided("bvsrem", u32::MAX),
        Ucmp => choice(format!("(distinct {} {zero})", x(0)), x(1), x(2)),
        Iabs => choice(
            format!("(bvslt {} {zero})", x(0)),
            &format!("(bvneg {})", x(0)),
            x(0),
        ),
        Issg => {
            let above = choice(format!("(bvsgt {} {zero})", x(0)), &word(1), &zero)?;
            choice(format!("(bvslt {} {zero})", x(0)), &ones, &above)
        }
        Bfi => {
            let (one, offset, width) = (word(1), masked(2), masked(3));
            let low = format!("(bvsub (bvshl {one} {width}) {one})");
            let mask = format!("(bvshl {low} {offset})");
            let kept = format!("(bvand {} (bvnot {mask}))", x(0));
            Some(format!(
                "(bvor {kept} (bvand (bvshl {} {offset}) {mask}))",
                x(1)
            ))
        }
        Ubfe | Ibfe => {
            let (offset, width) = (masked(1), masked(2));
            let sum = format!("(bvadd {offset} {width})");
            let room = format!("(bvsub {} {sum})", word(32));
            let above = choice(format!("(bvugt {sum} {})", word(32)), &zero, &room)?;
            let name = if code == Ubfe { "bvlshr" } else { "bvashr" };
            let field = format!("({name} (bvshl {} {above}) (bvadd {above} {offset}))", x(0));
            choice(format!("(= {width} {zero})"), &zero, &field)
        }
        _ => None,
    }
}
