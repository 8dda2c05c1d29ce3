//! Whether two values are the same under a contract.

use tgsi_rules::Contract;

use crate::machine::{Mode, Value, Words};
use crate::program::Program;

/// Flags about rounding.
pub(crate) const ACCURACY: Contract = Contract::CONTRACT
    .and(Contract::REASSOC)
    .and(Contract::ARCP)
    .and(Contract::AFN);

/// What a contract makes of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Right,
    /// The program has no such values.
    Excused,
    Wrong,
}

/// Whether a rule of that contract is used in that mode.
pub(crate) fn concerns(contract: Contract, mode: Mode) -> bool {
    !contract.includes(if mode.zero_wins {
        Contract::IEEE_ZERO
    } else {
        Contract::LEGACY_ZERO
    })
}

/// Judges the values in the slots of a program that ran in `mode`; rounding is for the caller.
pub(crate) fn judge(
    program: &Program,
    words: &Words,
    slots: &[Value],
    contract: Contract,
    mode: Mode,
) -> Judgement {
    let (left, right) = (slots[program.left], slots[program.right]);
    if agree(program, words, left, right, mode) {
        return Judgement::Right;
    }
    let [l, r] = [0, 1].map(|side| program.met(words, slots, side));
    let numbers = [left, right].map(|v| words.number(v, program.ty));
    let gives_nan =
        [left, right].iter().any(|v| v.unknown) || numbers.iter().flatten().any(|x| x.is_nan());
    let nan = [l[0], l[1], r[0]].iter().any(|m| m.nan);
    let infinity = [l[0], l[1], r[0]].iter().any(|m| m.infinity);
    let by_nan =
        contract.includes(Contract::UNORD) || contract.includes(Contract::NNAN) && gives_nan;
    if by_nan && nan || contract.includes(Contract::NINF) && infinity {
        return Judgement::Excused;
    }
    if contract.includes(Contract::NSZ)
        && let [Some(x), Some(y)] = numbers
    {
        let zero = l.iter().chain(&r).any(|m| m.zero);
        let same = x == y || x == -y && x.is_infinite() && zero;
        // What was flushed is a zero too.
        let zeros = mode.flush
            && [left, right].iter().all(|v| {
                let format = words.of(program.ty);
                format.decode(format.flushed(v.bits)) == 0.0
            });
        if same || zeros {
            return Judgement::Right;
        }
    }
    Judgement::Wrong
}

/// Whether the right value is one that the left one may have been.
fn agree(program: &Program, words: &Words, left: Value, right: Value, mode: Mode) -> bool {
    if left.unknown {
        return true;
    }
    let format = words.of(program.ty);
    let float = words.number(left, program.ty).is_some();
    if left.free {
        return float && format.is_nan(right.bits) && !right.unknown;
    }
    if right.free || right.unknown {
        return false;
    }
    // A denormal and its zero are one number where arithmetic flushes.
    let word = |v: Value| {
        if mode.flush && float {
            format.flushed(v.bits)
        } else {
            v.bits
        }
    };
    word(left) == word(right)
}
