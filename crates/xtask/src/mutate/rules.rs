//! Mutants of rewrite rules, set before the prover.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tgsi::Opcode;
use tgsi_rules::{Cond, Contract, Fact, Op, Rule, RuleSet, Term, Var};

use super::oracle::{Opinion, opinion};
use super::{Fate, Found};

/// A rule with one change, and what was changed.
pub(crate) struct RuleMutant {
    pub(crate) rule: Rule,
    pub(crate) change: &'static str,
}

/// Every mutant of every rule; what is no rule, or is the same rule, is left out.
pub(crate) fn mutants(rules: &[Rule]) -> Vec<RuleMutant> {
    let mut all = Vec::new();
    for rule in rules {
        let mut known = HashSet::from([told(rule)]);
        let mut made = Vec::new();
        for right in [false, true] {
            terms(rule, right, &mut made);
        }
        conditions(rule, &mut made);
        contracts(rule, &mut made);
        for m in made {
            let text = m.rule.to_string();
            // The text decides, as it does for the rules themselves.
            let Ok(set) = RuleSet::parse(&[(rule.domain.as_str(), text.as_str())]) else {
                continue;
            };
            let Some(mut read) = set.rules.into_iter().next() else {
                continue;
            };
            read.line = rule.line;
            if known.insert(told(&read)) {
                all.push(RuleMutant {
                    rule: read,
                    change: m.change,
                });
            }
        }
    }
    all
}

/// The text of a rule without its name and its reason.
pub(crate) fn told(rule: &Rule) -> String {
    let text = rule.to_string();
    let text = text.split(" -- ").next().unwrap_or_default();
    text.split_once(": ").map_or(text, |t| t.1).to_owned()
}

fn terms(rule: &Rule, right: bool, made: &mut Vec<RuleMutant>) {
    let side = if right { &rule.rhs } else { &rule.lhs };
    let mut paths = Vec::new();
    ways(side, &mut Vec::new(), &mut paths);
    for path in &paths {
        let Some(here) = at(side, path) else { continue };
        for (new, change) in changes(rule, here) {
            let mut other = rule.clone();
            let side = if right {
                &mut other.rhs
            } else {
                &mut other.lhs
            };
            if put(side, path, new) {
                made.push(RuleMutant {
                    rule: other,
                    change,
                });
            }
        }
    }
}

/// The ways to all terms in a term.
fn ways(t: &Term, path: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    out.push(path.clone());
    if let Term::Op(_, args) = t {
        for (i, a) in args.iter().enumerate() {
            path.push(i);
            ways(a, path, out);
            path.pop();
        }
    }
}

fn at<'a>(t: &'a Term, path: &[usize]) -> Option<&'a Term> {
    match (path, t) {
        ([], t) => Some(t),
        ([i, rest @ ..], Term::Op(_, args)) => at(args.get(*i)?, rest),
        _ => None,
    }
}

fn put(t: &mut Term, path: &[usize], new: Term) -> bool {
    match (path, t) {
        ([], t) => *t = new,
        ([i, rest @ ..], Term::Op(_, args)) => {
            return args.get_mut(*i).is_some_and(|a| put(a, rest, new));
        }
        _ => return false,
    }
    true
}

/// What may stand in place of a term.
fn changes(rule: &Rule, t: &Term) -> Vec<(Term, &'static str)> {
    let mut out = Vec::new();
    match t {
        Term::Var(v) => {
            for other in (0..rule.vars.len() as u8).map(Var) {
                if other != *v {
                    out.push((Term::Var(other), "another variable"));
                }
            }
            out.push((Term::Op(Op::Neg, vec![t.clone()]), "a negation"));
            out.push((Term::Op(Op::Abs, vec![t.clone()]), "an absolute value"));
        }
        Term::Word(w) => {
            for new in [
                w.wrapping_add(1),
                w.wrapping_sub(1),
                w ^ 0x8000_0000,
                (f32::from_bits(*w) * 2.0).to_bits(),
                (f32::from_bits(*w) + 1.0).to_bits(),
            ] {
                if new != *w {
                    out.push((Term::Word(new), "another constant"));
                }
            }
        }
        Term::Op(op, args) => {
            for i in 1..args.len() {
                let mut swapped = args.clone();
                swapped.swap(i - 1, i);
                out.push((Term::Op(*op, swapped), "operands swapped"));
            }
            for other in siblings(*op) {
                out.push((Term::Op(other, args.clone()), "another opcode"));
            }
            if let Op::Neg | Op::Abs | Op::INeg | Op::Sat = op {
                out.extend(args.first().map(|a| (a.clone(), "a modifier less")));
            } else {
                for a in args {
                    out.push((a.clone(), "an operation less"));
                }
            }
        }
    }
    out
}

/// Groups of opcodes that are taken for each other.
const GROUPS: &[&[Opcode]] = {
    use Opcode::*;
    &[
        &[Add, Sub, Mul],
        &[Div, Mul],
        &[Min, Max],
        &[Slt, Sge, Sgt, Sle],
        &[Seq, Sne],
        &[Fslt, Fsge],
        &[Fseq, Fsne],
        &[Flr, Ceil, Trunc, Round, Frc],
        &[Cmp, Ucmp],
        &[Rcp, Rsq, Sqrt],
        &[Ex2, Lg2],
        &[Sin, Cos],
        &[Mad, Lrp],
        &[And, Or, Xor],
        &[Shl, Ishr, Ushr],
        &[Imin, Imax, Umin, Umax],
        &[Islt, Isge, Uslt, Usge],
        &[Useq, Usne],
        &[Uadd, Umul],
        &[Idiv, Udiv, Umod, Mod],
        &[ImulHi, UmulHi],
        &[Ibfe, Ubfe],
        &[Imsb, Umsb, Lsb, Popc],
        &[F2i, F2u],
        &[I2f, U2f],
        &[Dadd, Dmul],
        &[Dmin, Dmax],
        &[Dslt, Dsge],
        &[Dseq, Dsne],
        &[Dflr, Dceil, Dtrunc, Dround, Dfrac],
        &[Drcp, Drsq, Dsqrt],
        &[D2i, D2u],
        &[I2d, U2d],
        &[U64add, U64mul],
        &[U64shl, U64shr, I64shr],
        &[I64min, I64max, U64min, U64max],
        &[I64slt, I64sge, U64slt, U64sge],
        &[U64seq, U64sne],
        &[U64div, U64mod, I64div, I64mod],
        &[I2i64, U2i64],
    ]
};

fn siblings(op: Op) -> Vec<Op> {
    let Op::Alu(op) = op else { return Vec::new() };
    let groups = GROUPS.iter().filter(|g| g.contains(&op));
    let others = groups.flat_map(|g| g.iter()).filter(|o| **o != op);
    others.map(|o| Op::Alu(*o)).collect()
}

fn conditions(rule: &Rule, made: &mut Vec<RuleMutant>) {
    for i in 0..rule.conds.len() {
        // How many readers a value has is about cost; no proof can miss it.
        if matches!(rule.conds[i], Cond::Once(_)) {
            continue;
        }
        let mut without = rule.clone();
        without.conds.remove(i);
        made.push(RuleMutant {
            rule: without,
            change: "a condition less",
        });
        for new in weaker(rule.conds[i]) {
            let mut other = rule.clone();
            other.conds[i] = new;
            made.push(RuleMutant {
                rule: other,
                change: "another condition",
            });
        }
    }
}

/// Conditions that admit more, or something else.
fn weaker(c: Cond) -> Vec<Cond> {
    use Fact::*;
    let facts: &[Fact] = match c {
        Cond::Fact(fact, _) => match fact {
            Finite => &[NotNan],
            NonNegative => &[NotNan, Finite],
            Positive => &[NonNegative, NonZero],
            NonZero => &[NotNan],
            Unit => &[SignedUnit, NonNegative],
            SignedUnit => &[Finite],
            Bool => &[Unit, NonNegative],
            Mask => &[],
            Integral => &[NotNan],
            NotMinusZero => &[],
            PowerOfTwo => &[Scale],
            Scale => &[NonZero],
            LowMask | IntPowerOfTwo => &[NonZero],
            NotNan | Float | Shift => &[],
        },
        Cond::Less(a, b) => return vec![Cond::Less(b, a), Cond::Different(a, b)],
        Cond::Different(a, b) => return vec![Cond::Equal(a, b)],
        Cond::Equal(a, b) => return vec![Cond::Different(a, b)],
        Cond::ShiftSum(..) | Cond::Once(_) => return Vec::new(),
    };
    let Cond::Fact(_, v) = c else {
        return Vec::new();
    };
    facts.iter().map(|f| Cond::Fact(*f, v)).collect()
}

fn contracts(rule: &Rule, made: &mut Vec<RuleMutant>) {
    let zeros = [Contract::LEGACY_ZERO, Contract::IEEE_ZERO];
    for name in rule.contract.names() {
        let Some(flag) = Contract::from_name(name) else {
            continue;
        };
        let less = rule.contract.without(flag);
        let mut others = vec![(less, "a flag less")];
        if let Some(i) = zeros.iter().position(|z| *z == flag) {
            others.push((less.and(zeros[1 - i]), "the other rule of zero"));
        }
        if flag == Contract::UNORD {
            others.push((less.and(Contract::NNAN), "nnan in place of unord"));
        }
        for (contract, change) in others {
            let mut other = rule.clone();
            other.contract = contract;
            made.push(RuleMutant {
                rule: other,
                change,
            });
        }
    }
}

/// What the prover and, where it agrees with a mutant, the interpreter say.
pub(crate) fn judge(mutants: &[&RuleMutant], threads: usize) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(m) = mutants.get(i) else { return };
                    let found = fate(&m.rule);
                    let mut results = results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    results.push((i, found));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|r| r.0);
    results.into_iter().map(|r| r.1).collect()
}

fn fate(rule: &Rule) -> Found {
    let proof = match tgsi_prove::prove(rule) {
        Err(e) => {
            return Found {
                fate: Fate::Caught,
                by: e,
            };
        }
        Ok(proof) => proof,
    };
    // A rule for which samples alone speak is not let in without a look at it.
    if !proof.proved {
        return Found {
            fate: Fate::Caught,
            by: "not proved".to_owned(),
        };
    }
    match opinion(rule) {
        Opinion::Right(samples) => Found {
            fate: Fate::Equivalent,
            by: format!("the sides agree on {samples} samples"),
        },
        Opinion::Wrong(words) => Found {
            fate: Fate::Survived,
            by: words,
        },
    }
}
