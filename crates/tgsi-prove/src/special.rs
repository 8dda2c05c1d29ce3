//! Infinities, NaNs and zeros among numbers so plain that nothing is rounded or overflows.
//!
//! Rules that may round otherwise are compared as real functions, and these know no infinities. Here
//! the sides are computed in binary64 of words such as 0, 1, 2, infinity and NaN: what is infinite, or
//! a NaN, on one side only is not for lack of precision or range, so the contract must name it.

use tgsi::{Opcode, Ty};
use tgsi_rules::{Op, Rule};

use crate::format::Format;
use crate::judge::{ACCURACY, Judgement, concerns, judge};
use crate::machine::{Mode, Value, Words, operand_type};
use crate::program::Program;
use crate::small::{admitted, multiplies, related, show, word};

/// So many tuples at most.
const MOST: usize = 1 << 17;

/// Compares both sides; gives the number of tuples that no contract excuses, none if the rule has
/// operations on integers whose size counts.
///
/// # Errors
/// A tuple on which they differ.
pub(crate) fn check(rule: &Rule) -> Result<Option<usize>, String> {
    let program = Program::new(rule);
    let reads_size = |op: Op| {
        let integer = (0..op.arity()).any(|i| !matches!(operand_type(op, i), Ty::F | Ty::D));
        let bits = matches!(
            op,
            Op::Alu(
                Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Ucmp | Opcode::Mov
            )
        );
        integer && !bits
    };
    if program.ops().any(reads_size) {
        return Ok(None);
    }
    let words = Words {
        narrow: Format::double(),
        wide: Format::double(),
    };
    let texts: Option<Vec<Value>> = program
        .words
        .iter()
        .map(|(w, _)| match *w {
            u32::MAX => Some(word(u64::MAX)),
            w => {
                let x = f32::from_bits(w);
                (x == 0.0 || x.is_infinite() || x.is_normal()).then(|| word(f64::from(x).to_bits()))
            }
        })
        .collect();
    let Some(texts) = texts else {
        return Ok(None);
    };
    let telling = [
        0.0,
        1.0,
        -2.0,
        f64::INFINITY,
        f64::NAN,
        -0.0,
        f64::NEG_INFINITY,
        -1.0,
        0.5,
        2.0,
        -0.5,
    ];
    let list = || telling.iter().map(|x| x.to_bits()).chain([u64::MAX]);
    let mut pools: Vec<Vec<Value>> = (0..program.vars)
        .map(|v| admitted(rule, &program, &words, v, list()))
        .collect();
    let size = |pools: &[Vec<Value>]| pools.iter().fold(1usize, |n, p| n.saturating_mul(p.len()));
    while size(&pools) > MOST {
        if let Some(longest) = pools.iter_mut().max_by_key(|p| p.len()) {
            longest.pop();
        }
    }
    let contract = rule.contract.without(ACCURACY);
    let products = program.ops().any(multiplies);
    let modes = [false, true].map(|zero_wins| Mode {
        zero_wins,
        ..Mode::default()
    });
    let modes = modes
        .iter()
        .filter(|m| concerns(rule.contract, **m) && (products || !m.zero_wins));
    let mut slots = vec![Value::default(); program.first_node() + program.nodes.len()];
    slots[program.vars..program.first_node()].copy_from_slice(&texts);
    let mut compared = 0;
    for mode in modes {
        for tuple in 0..size(&pools) {
            let mut i = tuple;
            for (v, pool) in pools.iter().enumerate() {
                slots[v] = pool[i % pool.len()];
                i /= pool.len();
            }
            if !related(rule, &slots, &words) {
                continue;
            }
            if program.run(&words, &mut slots, *mode).is_none() {
                return Ok(None);
            }
            match judge(&program, &words, &slots, contract, *mode) {
                Judgement::Right => compared += 1,
                Judgement::Excused => {}
                Judgement::Wrong if is_rounding(&program, &words, &slots) => compared += 1,
                Judgement::Wrong => {
                    let zero = if mode.zero_wins { ", zero wins" } else { "" };
                    let shown = show(rule, &program, &words, &slots);
                    return Err(format!("plain numbers{zero}: {shown}"));
                }
            }
        }
    }
    Ok(Some(compared))
}

/// Whether nothing but rounding is in a difference: numbers next to each other, or whatever comes of
/// numbers alone, which are compared as real ones elsewhere.
fn is_rounding(program: &Program, words: &Words, slots: &[Value]) -> bool {
    let results = [program.left, program.right].map(|s| words.number(slots[s], program.ty));
    if let [Some(left), Some(right)] = results
        && (left - right).abs() <= 1e-9 * (1.0 + left.abs())
    {
        return true;
    }
    let met = [0, 1].map(|side| program.met(words, slots, side));
    met.iter().flatten().all(|m| !m.nan && !m.infinity)
}
