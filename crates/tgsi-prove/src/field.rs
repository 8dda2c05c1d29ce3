//! All values of a bit field, in words of 32 bits.
//!
//! That 24 bits fit in a float, or 16, holds of the real format and of no small one. Where a rule
//! reads a variable only by a field of its bits, all values of the field are few enough.

use tgsi::Opcode;
use tgsi_rules::{Contract, Op, Rule, Term, Var};

use crate::format::Format;
use crate::judge::{Judgement, judge};
use crate::machine::{Mode, Value, Words, extended};
use crate::program::Program;
use crate::small::{show, word};

/// Compares both sides on all values of the field that is the only thing they read. Gives the number
/// of its bits, none if they read anything else.
///
/// # Errors
/// A value on which they differ.
pub(crate) fn check(rule: &Rule) -> Result<Option<u32>, String> {
    if !rule.conds.is_empty() || rule.contract != Contract::EXACT {
        return Ok(None);
    }
    let Some((field, bits, signed)) = find(&rule.lhs) else {
        return Ok(None);
    };
    // No rule has so many variables.
    let fresh = Var(u8::MAX);
    let [lhs, rhs] = [&rule.lhs, &rule.rhs].map(|t| replaced(t, field, &Term::Var(fresh)));
    let mut others = false;
    for t in [&lhs, &rhs] {
        t.each_var(&mut |v| others |= v != fresh);
    }
    if others {
        return Ok(None);
    }
    let [lhs, rhs] = [lhs, rhs].map(|t| replaced(&t, &Term::Var(fresh), &Term::Var(Var(0))));
    let inner = Rule {
        lhs,
        rhs,
        vars: vec!["field".to_owned()],
        ..rule.clone()
    };
    let program = Program::new(&inner);
    if program.wide != [false] {
        return Ok(None);
    }
    let words = Words {
        narrow: Format::single(),
        wide: Format::double(),
    };
    let mut slots = vec![Value::default(); program.first_node() + program.nodes.len()];
    for (slot, (w, _)) in slots[1..].iter_mut().zip(&program.words) {
        *slot = word((*w).into());
    }
    let mode = Mode::default();
    for value in 0..1u64 << bits {
        let value = if signed {
            extended(value, bits) as u64 & 0xffff_ffff
        } else {
            value
        };
        slots[0] = word(value);
        if program.run(&words, &mut slots, mode).is_none() {
            return Ok(None);
        }
        if judge(&program, &words, &slots, rule.contract, mode) != Judgement::Right {
            return Err(format!(
                "binary32: {}",
                show(&inner, &program, &words, &slots)
            ));
        }
    }
    Ok(Some(bits))
}

/// A field of at most 24 bits in a term, the number of its bits and whether its highest one is a
/// sign.
fn find(t: &Term) -> Option<(&Term, u32, bool)> {
    let Term::Op(op, args) = t else { return None };
    let found = match (op, args.as_slice()) {
        (Op::Alu(Opcode::And), [Term::Var(_), Term::Word(w)]) if w & w.wrapping_add(1) == 0 => {
            Some((w.count_ones(), false))
        }
        (Op::Alu(Opcode::Ushr), [Term::Var(_), Term::Word(w)]) if *w < 32 => Some((32 - w, false)),
        (Op::Alu(Opcode::Ishr), [Term::Var(_), Term::Word(w)]) if *w < 32 => Some((32 - w, true)),
        (Op::Alu(Opcode::Ubfe), [Term::Var(_), _, Term::Word(w)]) if *w < 32 => Some((*w, false)),
        (Op::Alu(Opcode::Ibfe), [Term::Var(_), _, Term::Word(w)]) if *w < 32 => Some((*w, true)),
        _ => None,
    };
    match found {
        Some((bits, signed)) if (1..=24).contains(&bits) => Some((t, bits, signed)),
        _ => args.iter().find_map(find),
    }
}

fn replaced(t: &Term, what: &Term, by: &Term) -> Term {
    match t {
        t if t == what => by.clone(),
        Term::Op(op, args) => Term::Op(*op, args.iter().map(|a| replaced(a, what, by)).collect()),
        t => t.clone(),
    }
}
