//! All words of a small format.
//!
//! Everything is scaled at once: floats to a format of a few bits, integers to words of as many,
//! shifts and fields to their number, and the numbers in the text of a rule with them: 31 is the
//! highest bit, 16 half of a word, 255 a quarter of it.

use tgsi::{Opcode, Ty};
use tgsi_rules::{Cond, Contract, Fact, Op, Rule, Var};

use crate::format::Format;
use crate::judge::{ACCURACY, Judgement, concerns, judge};
use crate::machine::{Mode, RCC_LEAST, RCC_MOST, RCC_SMALL, Value, Words};
use crate::program::Program;

/// Formats by exponent and mantissa, in place of 32 and of 64 bits, large ones first.
const FORMATS: [[(u32, u32); 2]; 9] = [
    [(4, 3), (5, 10)],
    [(5, 2), (6, 9)],
    [(4, 3), (3, 4)],
    [(3, 2), (3, 4)],
    [(4, 1), (3, 4)],
    [(3, 1), (3, 4)],
    [(2, 1), (3, 4)],
    [(2, 1), (3, 2)],
    [(2, 1), (2, 1)],
];

/// So many tuples are tried without asking for a smaller format, and so many at most.
const MANY: usize = 1 << 18;
const MOST: usize = 1 << 20;
/// Where nothing but integers are in a rule, which has one mode then.
const MOST_INTEGERS: usize = 1 << 24;

/// What was tried of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// The formats that took part.
    pub(crate) format: String,
    /// Whether it was every tuple of their words, or of some only.
    pub(crate) all: bool,
    /// Tuples in all modes that no contract excuses.
    pub(crate) compared: usize,
    /// Kinds of hardware on which it is another value, with a tuple.
    pub(crate) differs_on: Vec<(&'static str, String)>,
}

/// Tries a rule. `Ok(None)` where no format can stand for the real one.
///
/// # Errors
/// The tuple on which it fails.
pub(crate) fn check(rule: &Rule) -> Result<Option<Tried>, String> {
    let program = Program::new(rule);
    let Some((words, pools, all)) = choose(rule, &program) else {
        return Ok(None);
    };
    let texts: Option<Vec<Value>> = program
        .words
        .iter()
        .map(|(w, ty)| scaled(*w, *ty, &words).map(word))
        .collect();
    let Some(texts) = texts else {
        return Ok(None);
    };
    let wide = program.wide.contains(&true) || program.ops().any(touches_wide);
    let narrow = !program.wide.iter().all(|w| *w) || program.vars == 0;
    let mut tried = Tried {
        format: match (narrow, wide) {
            (true, true) => format!("{}+{}", words.narrow.name(), words.wide.name()),
            (false, true) => words.wide.name(),
            (_, false) => words.narrow.name(),
        },
        all,
        compared: 0,
        differs_on: Vec::new(),
    };
    let contract = rule.contract.without(ACCURACY);
    let modes = modes(&program, rule.contract);
    let mut open: Vec<bool> = vec![true; modes.len()];
    let mut slots = vec![Value::default(); program.first_node() + program.nodes.len()];
    slots[program.vars..program.first_node()].copy_from_slice(&texts);
    let mut index = vec![0; pools.len()];
    'tuples: loop {
        for (v, i) in index.iter().enumerate() {
            slots[v] = pools[v][*i];
        }
        if related(rule, &slots, &words) {
            for (m, (mode, hardware)) in modes.iter().enumerate() {
                if !open[m] {
                    continue;
                }
                let known = program.run(&words, &mut slots, *mode);
                if known.is_none() {
                    return Ok(None);
                }
                match judge(&program, &words, &slots, contract, *mode) {
                    Judgement::Right => tried.compared += 1,
                    Judgement::Excused => {}
                    Judgement::Wrong => {
                        let shown = show(rule, &program, &words, &slots);
                        let Some(hardware) = hardware else {
                            let zero = if mode.zero_wins { ", zero wins" } else { "" };
                            let fused = if mode.fused { ", fused MAD" } else { "" };
                            return Err(format!("{}{zero}{fused}: {shown}", tried.format));
                        };
                        open[m] = false;
                        if !tried.differs_on.iter().any(|d| d.0 == *hardware) {
                            tried.differs_on.push((hardware, shown));
                        }
                    }
                }
            }
        }
        for (v, i) in index.iter_mut().enumerate().rev() {
            *i += 1;
            if *i < pools[v].len() {
                continue 'tuples;
            }
            *i = 0;
        }
        return Ok(Some(tried));
    }
}

pub(crate) fn word(bits: u64) -> Value {
    Value {
        bits,
        ..Value::default()
    }
}

/// The modes that a rule of that contract is used in, and the kind of hardware where one is not
/// what docs/semantics.md says.
fn modes(program: &Program, contract: Contract) -> Vec<(Mode, Option<&'static str>)> {
    use Opcode::*;
    let any = |f: &dyn Fn(Op) -> bool| program.ops().any(f);
    let products = any(&multiplies);
    let mut modes = Vec::new();
    for zero_wins in [false, true] {
        let plain = Mode {
            zero_wins,
            ..Mode::default()
        };
        let fixed = contract.intersects(Contract::LEGACY_ZERO.and(Contract::IEEE_ZERO));
        if !concerns(contract, plain) || zero_wins && !products && !fixed {
            continue;
        }
        modes.push((plain, None));
        if any(&|op| matches!(op, Op::Alu(Min | Max | Dmin | Dmax))) {
            let compared = true;
            modes.push((Mode { compared, ..plain }, Some("compared MIN and MAX")));
        }
        if any(&is_float) {
            let flush = true;
            modes.push((Mode { flush, ..plain }, Some("flushed denormals")));
        }
        let may_join = contract.intersects(ACCURACY);
        if !may_join && any(&|op| matches!(op, Op::Alu(Mad | Dmad))) {
            let fused = true;
            // The contract has a flag for it, so it is not a matter of hardware.
            modes.push((Mode { fused, ..plain }, None));
        }
    }
    modes
}

pub(crate) fn multiplies(op: Op) -> bool {
    use Opcode::*;
    matches!(op, Op::Alu(Mul | Mad | Fma | Lrp | Dp2 | Dp3 | Dp4))
}

fn is_float(op: Op) -> bool {
    use crate::machine::{operand_type, result_type};
    let float = |ty| matches!(ty, Ty::F | Ty::D);
    let moves = matches!(op, Op::Neg | Op::Abs);
    !moves && (float(result_type(op)) || (0..op.arity()).any(|i| float(operand_type(op, i))))
}

fn touches_wide(op: Op) -> bool {
    use crate::machine::{operand_type, result_type};
    result_type(op).is_wide() || (0..op.arity()).any(|i| operand_type(op, i).is_wide())
}

/// The formats to take, the words for each variable, and whether these are all there are.
fn choose(rule: &Rule, program: &Program) -> Option<(Words, Vec<Vec<Value>>, bool)> {
    let fitting: Vec<Words> = FORMATS
        .iter()
        .map(|[n, w]| Words {
            narrow: Format::new(n.0, n.1),
            wide: Format::new(w.0, w.1),
        })
        .filter(|words| fits(rule, program, words))
        .collect();
    let pools = |words: &Words| -> Vec<Vec<Value>> {
        (0..program.vars)
            .map(|v| pool(rule, program, words, v))
            .collect()
    };
    let size = |pools: &[Vec<Value>]| pools.iter().fold(1usize, |n, p| n.saturating_mul(p.len()));
    for words in &fitting {
        let pools = pools(words);
        if size(&pools) <= MANY {
            return (size(&pools) > 0).then_some((words.clone(), pools, true));
        }
    }
    let words = fitting.last()?.clone();
    let mut pools = pools(&words);
    let integers = !program.ops().any(is_float);
    if size(&pools) <= if integers { MOST_INTEGERS } else { MOST } {
        return Some((words, pools, true));
    }
    // The longest lists lose their last words, those that tell least.
    for (v, p) in pools.iter_mut().enumerate() {
        let format = if program.wide[v] {
            &words.wide
        } else {
            &words.narrow
        };
        p.sort_by_key(|value| rank(format, value.bits));
    }
    while size(&pools) > MANY {
        pools.iter_mut().max_by_key(|p| p.len())?.pop();
    }
    Some((words, pools, false))
}

/// How telling a word is, the most telling first.
fn rank(format: &Format, w: u64) -> u64 {
    let one = format.encode(1.0);
    let telling = [
        0,
        one,
        format.encode(-2.0),
        format.sign(),
        format.infinity(),
        format.infinity() | 1,
        one | format.sign(),
        format.infinity() | format.sign(),
        format.encode(1.5),
        1,
        format.infinity() - 1,
        format.ones(),
    ];
    let at = telling.iter().position(|t| *t == w);
    at.map_or(100 + w, |at| at as u64)
}

/// Whether a format can stand for the real one in a rule.
fn fits(rule: &Rule, program: &Program, words: &Words) -> bool {
    use Opcode::*;
    let any = |f: &dyn Fn(Opcode) -> bool| {
        program
            .ops()
            .any(|op| matches!(op, Op::Alu(code) if f(code)))
    };
    let (narrow, wide) = (&words.narrow, &words.wide);
    let n = narrow.bits();
    let whole = |f: &Format, bits: u32| f.decode(f.infinity() - 1) >= 2f64.powi(bits as i32);
    let shifts = any(&|c| matches!(c, Shl | Ushr | Ishr | Ubfe | Ibfe | Bfi))
        || rule
            .conds
            .iter()
            .any(|c| matches!(c, Cond::ShiftSum(..) | Cond::Fact(Fact::Shift, _)));
    if shifts && !n.is_power_of_two() {
        return false;
    }
    if any(&|c| matches!(c, U64shl | U64shr | I64shr)) && !wide.bits().is_power_of_two() {
        return false;
    }
    let scales = |c: &Cond| matches!(c, Cond::Fact(Fact::PowerOfTwo, _));
    if rule.conds.iter().any(scales) && narrow.name().starts_with("e2") {
        return false;
    }
    if any(&|c| matches!(c, I2f | U2f | F2i | F2u | Arl | Arr | I642f | U642f)) && !whole(narrow, n)
    {
        return false;
    }
    let from_narrow = any(&|c| matches!(c, I2d | U2d | D2i | D2u));
    let between = any(&|c| matches!(c, F2d | D2f));
    let wide_whole = any(&|c| matches!(c, D2i64 | D2u64 | I642d | U642d | F2i64 | F2u64));
    if wide_whole && !whole(wide, wide.bits()) {
        return false;
    }
    let mixes = from_narrow || between || any(&|c| matches!(c, I2i64 | U2i64));
    if mixes && wide.bits() < 2 * n || from_narrow && !whole(wide, n) {
        return false;
    }
    program
        .words
        .iter()
        .all(|(w, ty)| scaled(*w, *ty, words).is_some())
}

/// A word of a rule's text in a small format.
pub(crate) fn scaled(w: u32, ty: Ty, words: &Words) -> Option<u64> {
    let format = &words.narrow;
    let n = format.bits();
    let x = f64::from(f32::from_bits(w));
    let x = match w & 0x7fff_ffff {
        RCC_LEAST => RCC_SMALL[0].copysign(x),
        RCC_MOST => RCC_SMALL[1].copysign(x),
        0x4f80_0000 => 2f64.powi(n as i32).copysign(x),
        _ => x,
    };
    let number = |x: f64| (x.is_infinite() || format.has(x)).then(|| format.encode(x));
    match ty {
        Ty::F => return number(x),
        Ty::D | Ty::I64 | Ty::U64 => return (w == 0).then_some(0),
        Ty::Any | Ty::I | Ty::U => {}
    }
    let low = |bits: u32| (1u64 << bits) - 1;
    let quarters = |bits: u64| n.is_multiple_of(4).then_some(bits);
    let bytes = |bits: u64| (n.is_multiple_of(4) && n >= 8).then_some(bits);
    match w {
        0..=2 => Some(w.into()),
        0xffff_fffe => Some(format.ones() - 1),
        u32::MAX => Some(format.ones()),
        0x7fff_ffff => Some(format.ones() >> 1),
        0x8000_0000 => Some(format.sign()),
        31 => Some(u64::from(n) - 1),
        32 => Some(n.into()),
        63 => Some(u64::from(words.wide.bits()) - 1),
        64 => Some(words.wide.bits().into()),
        16 => quarters((n / 2).into()),
        65535 => quarters(low(n / 2)),
        65536 => quarters(1 << (n / 2)),
        0xffff_0000 => quarters(format.ones() & !low(n / 2)),
        8 => bytes((n / 4).into()),
        24 => bytes((3 * n / 4).into()),
        255 => bytes(low(n / 4)),
        0x00ff_ffff => bytes(low(3 * n / 4)),
        0xff00_0000 => bytes(format.ones() & !low(3 * n / 4)),
        0xffff_ff00 => bytes(format.ones() & !low(n / 4)),
        0x4f80_0000 => number(x),
        _ if (0.1..=10.0).contains(&x.abs()) => number(x),
        _ => None,
    }
}

/// All words that a variable's facts admit.
fn pool(rule: &Rule, program: &Program, words: &Words, v: usize) -> Vec<Value> {
    let format = if program.wide[v] {
        &words.wide
    } else {
        &words.narrow
    };
    admitted(rule, program, words, v, 0..=format.ones())
}

/// Those of some words that a variable's facts admit.
pub(crate) fn admitted(
    rule: &Rule,
    program: &Program,
    words: &Words,
    v: usize,
    among: impl IntoIterator<Item = u64>,
) -> Vec<Value> {
    let var = Var(v as u8);
    let wide = program.wide[v];
    let format = if wide { &words.wide } else { &words.narrow };
    let facts = || {
        rule.conds.iter().filter_map(move |c| match c {
            Cond::Fact(fact, of) if *of == var => Some(*fact),
            _ => None,
        })
    };
    let made = facts().any(|f| f == Fact::Float) && !rule.is_constant(var);
    among
        .into_iter()
        .filter(|w| {
            // Facts speak of words: one about a 64-bit value is not relied upon.
            wide || facts().all(|f| f == Fact::Float && made || holds(f, *w, format))
        })
        .map(|bits| Value {
            bits,
            free: made && format.is_nan(bits),
            unknown: false,
        })
        .collect()
}

/// Whether a word has a fact.
pub(crate) fn holds(fact: Fact, w: u64, format: &Format) -> bool {
    let x = format.decode(w);
    match fact {
        Fact::NotNan | Fact::Float => !x.is_nan(),
        Fact::Finite => x.is_finite(),
        Fact::NonNegative => x >= 0.0,
        Fact::Positive => x > 0.0,
        Fact::NonZero => x != 0.0,
        Fact::Unit => w <= format.encode(1.0),
        Fact::SignedUnit => x.abs() <= 1.0,
        Fact::Bool => w == 0 || w == format.encode(1.0),
        Fact::Mask => w == 0 || w == format.ones(),
        Fact::Integral => !x.is_finite() || x.trunc() == x,
        Fact::NotMinusZero => w != format.sign(),
        Fact::PowerOfTwo => {
            let normal = |x: f64| x != 0.0 && x.is_finite() && format.has(x);
            normal(x) && normal(1.0 / x)
        }
        Fact::Shift => w < format.bits().into(),
        Fact::IntPowerOfTwo => w.is_power_of_two(),
        Fact::Scale => x.is_finite() && x != 0.0,
        Fact::LowMask => w != 0 && w & (w + 1) & format.ones() == 0,
    }
}

/// Whether a tuple satisfies the conditions on two variables.
pub(crate) fn related(rule: &Rule, slots: &[Value], words: &Words) -> bool {
    let bits = |v: &Var| slots[usize::from(v.0)].bits;
    let number = |v: &Var| words.narrow.decode(bits(v));
    rule.conds.iter().all(|c| match c {
        Cond::Fact(..) | Cond::Once(_) => true,
        Cond::Equal(a, b) => bits(a) == bits(b),
        Cond::Different(a, b) => bits(a) != bits(b),
        Cond::Less(a, b) => number(a) < number(b),
        Cond::ShiftSum(a, b) => bits(a) + bits(b) < words.narrow.bits().into(),
    })
}

pub(crate) fn show(rule: &Rule, program: &Program, words: &Words, slots: &[Value]) -> String {
    let mut text = String::new();
    let shown = |bits: u64, wide: bool| {
        let format = if wide { &words.wide } else { &words.narrow };
        format!("{bits:#x} ({:?})", format.decode(bits))
    };
    for (v, name) in rule.vars.iter().enumerate() {
        text += &format!("{name} = {}, ", shown(slots[v].bits, program.wide[v]));
    }
    let wide = program.ty.is_wide();
    text + &format!(
        "left {}, right {}",
        shown(slots[program.left].bits, wide),
        shown(slots[program.right].bits, wide)
    )
}
