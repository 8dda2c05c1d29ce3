//! Whether a rule is right, by the interpreter on many words.
//!
//! It judges what the prover lets pass, so it uses nothing of the prover and of its samples: own words,
//! and contracts read anew from passes/rules/README.md.

use tgsi::{Opcode, Shape, Ty};
use tgsi_interp::{Rules, eval_op, saturate};
use tgsi_rules::{Cond, Contract, Op, Rule, Term};

/// What the samples say.
pub(crate) enum Opinion {
    /// The sides agree on so many.
    Right(usize),
    /// The words on which they differ.
    Wrong(String),
}

/// Tuples that are tried of the words that are special.
const SPECIAL: usize = 40_000;
/// Tuples of other words.
const RANDOM: usize = 40_000;

/// Floats and integers at which something changes.
const WORDS: [u32; 46] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0001,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    24,
    31,
    32,
    33,
    63,
    64,
    255,
    256,
    0xffff,
    0x1_0000,
    0xff_ffff,
    0x100_0000,
    0x7fff_ffff,
    0xffff_ffff,
    0xffff_fffe,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x3f00_0000,
    0xbf00_0000,
    0x3f7f_ffff,
    0x4000_0000,
    0x4040_0000,
    0xc020_0000,
    0x3fc0_0000,
    0x4b00_0001,
    0x4f00_0000,
    0x3eaa_aaab,
];

const DOUBLES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    2.0,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    4294967296.0,
    -2147483648.0,
    9007199254740993.0,
    1e-3,
    7.25,
];

/// A generator by Vigna's xorshift64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Says whether the sides of a rule agree wherever its conditions hold, as far as its contract goes.
pub(crate) fn opinion(rule: &Rule) -> Opinion {
    let wide = wide_variables(rule);
    let special = special(rule);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared = 0;
    let mut tuple = vec![0u64; rule.vars.len()];
    for round in 0..SPECIAL + RANDOM {
        for i in 0..tuple.len() {
            let known = &tuple[..i];
            let bits = match wide[i] {
                true => wide_word(&mut random, round < SPECIAL, known),
                false => word(&mut random, round < SPECIAL, &special, known),
            };
            tuple[i] = bits;
        }
        settle(rule, &mut tuple, &mut random);
        if !holds(rule, &tuple, &wide) {
            continue;
        }
        for zero_wins in [false, true] {
            let excluded = match zero_wins {
                true => Contract::IEEE_ZERO,
                false => Contract::LEGACY_ZERO,
            };
            if rule.contract.includes(excluded) {
                continue;
            }
            match same(rule, &tuple, zero_wins) {
                Some(true) => compared += 1,
                None => {}
                Some(false) => return Opinion::Wrong(shown(rule, &tuple, zero_wins)),
            }
        }
    }
    Opinion::Right(compared)
}

/// Words of the rule and their neighbours, before the usual ones.
fn special(rule: &Rule) -> Vec<u32> {
    fn words(t: &Term, out: &mut Vec<u32>) {
        match t {
            Term::Word(w) => out.push(*w),
            Term::Var(_) => {}
            Term::Op(_, args) => args.iter().for_each(|a| words(a, out)),
        }
    }
    let mut own = Vec::new();
    words(&rule.lhs, &mut own);
    words(&rule.rhs, &mut own);
    let mut all = Vec::new();
    for w in own {
        let x = f32::from_bits(w);
        all.extend([w, w.wrapping_add(1), w.wrapping_sub(1), w ^ 0x8000_0000]);
        all.extend([w.wrapping_neg(), !w]);
        all.extend([x * 2.0, x * 0.5, x + 1.0, x - 1.0, 1.0 / x].map(f32::to_bits));
    }
    all.extend(WORDS);
    all
}

fn word(random: &mut Random, special_only: bool, special: &[u32], known: &[u64]) -> u64 {
    let kind = random.below(if special_only { 4 } else { 10 });
    let w = match kind {
        0 if !known.is_empty() => near(random, known[random.0 as usize % known.len()] as u32),
        0..=3 => special[random.below(special.len())],
        4 => random.next() as u32,
        5 => random.below(70) as u32,
        6 => (random.below(4001) as f32 / 8.0 - 250.0).to_bits(),
        7 => (random.below(1 << 24) as f32 / (1 << 24) as f32).to_bits(),
        8 => 1u32
            .rotate_left(random.below(32) as u32)
            .wrapping_sub(random.below(2) as u32),
        _ => {
            let x = random.below(1 << 24) as f32 / (1 << 22) as f32 - 2.0;
            (x * (random.below(40) as f32 - 20.0).exp2()).to_bits()
        }
    };
    w.into()
}

/// A word that has to do with another.
fn near(random: &mut Random, w: u32) -> u32 {
    match random.below(7) {
        0 => w ^ 0x8000_0000,
        1 => w.wrapping_add(1),
        2 => w.wrapping_sub(1),
        3 => w.wrapping_neg(),
        4 => (f32::from_bits(w) * 2.0).to_bits(),
        _ => w,
    }
}

fn wide_word(random: &mut Random, special_only: bool, known: &[u64]) -> u64 {
    match random.below(if special_only { 4 } else { 8 }) {
        0 if !known.is_empty() => {
            let w = known[random.below(known.len())];
            match random.below(4) {
                0 => w ^ 1 << 63,
                1 => w.wrapping_add(1),
                2 => w.wrapping_neg(),
                _ => w,
            }
        }
        0 | 1 => DOUBLES[random.below(DOUBLES.len())].to_bits(),
        2 => [
            0,
            1,
            u64::MAX,
            1 << 63,
            u64::MAX >> 1,
            1 << 32,
            0xffff_ffff,
            2,
        ][random.below(8)],
        3 => WORDS[random.below(WORDS.len())] as i32 as i64 as u64,
        4 => random.next() << 8 ^ random.next(),
        5 => ((random.below(4001) as f64) / 8.0 - 250.0).to_bits(),
        6 => 1u64
            .rotate_left(random.below(64) as u32)
            .wrapping_sub(random.below(2) as u64),
        _ => f64::from(f32::from_bits(random.next() as u32)).to_bits(),
    }
}

/// Makes the conditions hold that chance seldom meets.
fn settle(rule: &Rule, tuple: &mut [u64], random: &mut Random) {
    use tgsi_rules::Fact::*;
    for c in &rule.conds {
        match *c {
            Cond::Equal(a, b) => tuple[usize::from(b.0)] = tuple[usize::from(a.0)],
            Cond::ShiftSum(a, b) => {
                let first = random.below(32);
                tuple[usize::from(a.0)] = first as u64;
                tuple[usize::from(b.0)] = random.below(32 - first) as u64;
            }
            Cond::Fact(fact, v) => {
                let i = usize::from(v.0);
                if fact.holds_of(tuple[i] as u32) {
                    continue;
                }
                let fraction = random.below(1 << 20) as f32 / (1 << 20) as f32;
                let power = (random.below(60) as f32 - 30.0).exp2();
                let sign = [1.0, -1.0][random.below(2)];
                tuple[i] = match fact {
                    Unit => fraction.to_bits(),
                    SignedUnit => (sign * fraction).to_bits(),
                    Bool => [0, 0x3f80_0000][random.below(2)],
                    Mask => [0, u32::MAX][random.below(2)],
                    Shift => random.below(32) as u32,
                    IntPowerOfTwo => 1 << random.below(32),
                    LowMask => u32::MAX >> random.below(32),
                    PowerOfTwo => (sign * power).to_bits(),
                    Integral => (sign * random.below(3000) as f32).to_bits(),
                    _ => (1.0 + fraction).to_bits(),
                }
                .into();
            }
            _ => {}
        }
    }
}

fn holds(rule: &Rule, tuple: &[u64], wide: &[bool]) -> bool {
    let word = |v: tgsi_rules::Var| tuple[usize::from(v.0)] as u32;
    rule.conds.iter().all(|c| match *c {
        Cond::Fact(fact, v) => wide[usize::from(v.0)] || fact.holds_of(word(v)),
        Cond::Equal(a, b) => word(a) == word(b),
        Cond::Different(a, b) => word(a) != word(b),
        Cond::Less(a, b) => f32::from_bits(word(a)) < f32::from_bits(word(b)),
        Cond::ShiftSum(a, b) => u64::from(word(a)) + u64::from(word(b)) < 32,
        Cond::Once(_) => true,
    })
}

fn wide_variables(rule: &Rule) -> Vec<bool> {
    fn look(t: &Term, wide: &mut [bool]) {
        if let Term::Op(op, args) = t {
            for (i, a) in args.iter().enumerate() {
                match a {
                    Term::Var(v) => wide[usize::from(v.0)] |= read_as(*op, i).is_wide(),
                    _ => look(a, wide),
                }
            }
        }
    }
    let mut wide = vec![false; rule.vars.len()];
    look(&rule.lhs, &mut wide);
    look(&rule.rhs, &mut wide);
    wide
}

fn read_as(op: Op, i: usize) -> Ty {
    match op {
        Op::Alu(op) => match op.info().shape {
            Shape::Dot(_) => Ty::F,
            _ => op.info().src_ty.get(i).copied().unwrap_or(Ty::U),
        },
        Op::INeg => Ty::I,
        Op::Neg | Op::Abs | Op::Sat | Op::Kill => Ty::F,
    }
}

fn made_as(op: Op) -> Ty {
    match op {
        Op::Alu(op) => op.info().dst_ty,
        Op::INeg | Op::Kill => Ty::I,
        Op::Neg | Op::Abs | Op::Sat => Ty::F,
    }
}

/// A value and what came up on the way to it.
#[derive(Clone, Copy)]
struct Out {
    bits: u64,
    /// A NaN that arithmetic made, whose payload means nothing.
    made: bool,
}

#[derive(Default)]
struct Met {
    nan: bool,
    infinite: bool,
    zero: bool,
    /// Bits were read of a NaN that arithmetic made.
    vague: bool,
    /// Numbers at which rounding cannot be judged by a fixed margin.
    extreme: bool,
    largest: f64,
    smallest: f64,
}

impl Met {
    fn float(&mut self, x: f64) {
        self.nan |= x.is_nan();
        self.infinite |= x.is_infinite();
        self.zero |= x == 0.0;
        if x != 0.0 {
            self.extreme |= !(1e-4..1e4).contains(&x.abs());
            self.smallest = self.smallest.min(x.abs());
        }
        self.largest = self.largest.max(x.abs());
    }
}

fn number(bits: u64, ty: Ty) -> Option<f64> {
    match ty {
        Ty::F => Some(f32::from_bits(bits as u32).into()),
        Ty::D => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn value(t: &Term, tuple: &[u64], zero_wins: bool, met: &mut Met) -> Out {
    let (op, terms) = match t {
        Term::Var(v) => {
            return Out {
                bits: tuple[usize::from(v.0)],
                made: false,
            };
        }
        Term::Word(w) => {
            return Out {
                bits: (*w).into(),
                made: false,
            };
        }
        Term::Op(op, terms) => (*op, terms),
    };
    let args: Vec<Out> = terms
        .iter()
        .map(|t| value(t, tuple, zero_wins, met))
        .collect();
    for (i, (a, t)) in args.iter().zip(terms).enumerate() {
        let ty = read_as(op, i);
        if let (Some(x), Term::Var(_)) = (number(a.bits, ty), t) {
            met.float(x);
        }
        met.vague |= a.made && number(a.bits, ty).is_none() && !moves(op, i);
    }
    let low = args[0].bits as u32;
    let bits = match op {
        Op::Neg => (low ^ 0x8000_0000).into(),
        Op::Abs => (low & 0x7fff_ffff).into(),
        Op::INeg => low.wrapping_neg().into(),
        Op::Sat => saturate(low).into(),
        Op::Kill => (f32::from_bits(low) < 0.0).into(),
        Op::Alu(code) => compute(code, &args, zero_wins),
    };
    let ty = made_as(op);
    let made = match chosen(op, &args) {
        Some(a) => a.made,
        None => number(bits, ty).is_some_and(f64::is_nan),
    };
    if let Some(x) = number(bits, ty) {
        met.float(x);
    }
    Out { bits, made }
}

/// The operand that an operation hands on.
fn chosen(op: Op, args: &[Out]) -> Option<Out> {
    let index = match op {
        Op::Neg | Op::Abs | Op::Alu(Opcode::Mov) => 0,
        Op::Alu(Opcode::Cmp) if f32::from_bits(args[0].bits as u32) < 0.0 => 1,
        Op::Alu(Opcode::Ucmp) if args[0].bits as u32 != 0 => 1,
        Op::Alu(Opcode::Cmp | Opcode::Ucmp) => 2,
        _ => return None,
    };
    args.get(index).copied()
}

fn moves(op: Op, i: usize) -> bool {
    matches!(op, Op::Alu(Opcode::Mov)) || matches!(op, Op::Alu(Opcode::Ucmp | Opcode::Cmp)) && i > 0
}

fn compute(code: Opcode, args: &[Out], zero_wins: bool) -> u64 {
    let mut srcs = [[0u32; 4]; 8];
    let info = code.info();
    let count = match info.shape {
        Shape::Dot(n) => {
            for (i, a) in args.iter().enumerate() {
                srcs[i / usize::from(n)][i % usize::from(n)] = a.bits as u32;
            }
            2
        }
        _ => {
            for (i, a) in args.iter().enumerate() {
                let (low, high) = (a.bits as u32, (a.bits >> 32) as u32);
                srcs[i] = match read_as(Op::Alu(code), i).is_wide() {
                    true => [low, high, low, high],
                    false => [low; 4],
                };
            }
            args.len()
        }
    };
    let rules = Rules {
        zero_wins,
        first_era: false,
    };
    let wide = info.dst_ty.is_wide();
    let mask = if wide { 0b11 } else { 1 };
    let [low, high, ..] = eval_op(code, &srcs[..count], mask, rules).unwrap_or([0; 4]);
    u64::from(low) | if wide { u64::from(high) << 32 } else { 0 }
}

/// Whether the sides agree on a tuple; `None` where the contract leaves it open.
fn same(rule: &Rule, tuple: &[u64], zero_wins: bool) -> Option<bool> {
    let fresh = || Met {
        smallest: f64::INFINITY,
        ..Met::default()
    };
    let (mut l, mut r) = (fresh(), fresh());
    let left = value(&rule.lhs, tuple, zero_wins, &mut l);
    let right = value(&rule.rhs, tuple, zero_wins, &mut r);
    let ty = match &rule.lhs {
        Term::Op(op, _) => made_as(*op),
        _ => Ty::U,
    };
    let wide = ty.is_wide();
    let cut = |x: u64| if wide { x } else { x & 0xffff_ffff };
    let [x, y] = [left, right].map(|v| number(v.bits, if wide { Ty::D } else { Ty::F }));
    let (x, y) = (x.unwrap_or(0.0), y.unwrap_or(0.0));
    // Words that are handed on may be floats.
    let float = matches!(ty, Ty::F | Ty::D | Ty::Any);
    if cut(left.bits) == cut(right.bits) || left.made && x.is_nan() && y.is_nan() {
        return Some(true);
    }
    let c = rule.contract;
    let excused = l.vague
        || c.includes(Contract::UNORD) && l.nan
        || c.includes(Contract::NNAN) && l.nan && float && (x.is_nan() || y.is_nan())
        || c.includes(Contract::NINF) && l.infinite;
    if excused {
        return None;
    }
    if float && c.includes(Contract::NSZ) {
        let zeros = l.zero || r.zero;
        if x == 0.0 && y == 0.0 || zeros && x.is_infinite() && x == -y {
            return Some(true);
        }
    }
    let loose = [Contract::REASSOC, Contract::ARCP, Contract::AFN];
    if !loose.iter().any(|f| c.includes(*f)) {
        return Some(false);
    }
    if l.extreme || l.nan || l.infinite || r.nan || r.infinite {
        return None;
    }
    let largest = l.largest.max(r.largest).max(1.0);
    if !float {
        // Where a test is close to its limit, rounding may turn it.
        let close = l.zero || r.zero || l.smallest.min(r.smallest) < 1e-2 * largest;
        return if close { None } else { Some(false) };
    }
    Some((x - y).abs() <= 1e-3 * largest)
}

fn shown(rule: &Rule, tuple: &[u64], zero_wins: bool) -> String {
    let mut text = String::new();
    for (name, bits) in rule.vars.iter().zip(tuple) {
        text += &format!("{name} = {bits:#x}, ");
    }
    let mut met = Met::default();
    let [left, right] = [&rule.lhs, &rule.rhs].map(|t| value(t, tuple, zero_wins, &mut met).bits);
    let zero = if zero_wins { ", zero wins" } else { "" };
    format!("{text}left {left:#x}, right {right:#x}{zero}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(text: &str) -> bool {
        let text = format!("x: {text} -- for a test");
        let set =
            tgsi_rules::RuleSet::parse(&[("test", &text)]).unwrap_or_else(|e| panic!("{e:?}"));
        matches!(opinion(&set.rules[0]), Opinion::Right(n) if n > 100)
    }

    #[test]
    fn right_rules() {
        for text in [
            "(add a b) => (add b a)",
            "(add a 0.0) => a [nsz]",
            "(mul a 1.0) => a [ieee-zero]",
            "(not (fslt a b)) => (fsge a b) [unord]",
            "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift-sum #k #j}",
            "(add (mul a b) (mul a c)) => (mul a (add b c)) [nnan, reassoc]",
            "(dadd a b) => (dadd b a)",
            "(umod a #k) => (and a (uadd #k -1i)) {int-power-of-two #k}",
            "(dp2 a b x y) ~> (mad b y (mul a x)) [contract]",
        ] {
            assert!(right(text), "{text}");
        }
    }

    #[test]
    fn wrong_rules() {
        for text in [
            "(add a 0.0) => a",
            "(mul a 1.0) => a",
            "(max a b) => (max b a)",
            "(not (fslt a b)) => (fsge a b) [nnan]",
            "(mul a 0.0) => 0.0 [nsz]",
            "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift #k, shift #j}",
            "(add (mul a b) (mul a c)) => (mul a (add b b)) [nnan, reassoc]",
            "(umod a #k) => (and a #k) {int-power-of-two #k}",
            "(min (max a 0.0) 1.0) => (sat a)",
            "(ishr a 31i) => (ushr a 31i)",
            "(f2i (flr a)) => (f2i a)",
            // Of a zero with a sign DABS keeps it.
            "(dabs (dneg a)) => (dabs a)",
        ] {
            assert!(!right(text), "{text}");
        }
    }
}
