//! Whether rules hold: both sides on special and on random words, under the contract they name.

mod common;

use tgsi::{Eval, Opcode};
use tgsi_rules::{Cond, Contract, Op, Rule, Term, Var};

/// Words at which rules tend to be wrong.
const SPECIAL: [f32; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    0.3,
    -0.7,
    3.5,
    -2.5,
    1e-10,
    -1e-10,
    77.25,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// More of them, for rules that promise every bit.
const EXTREME: [f32; 8] = [
    1e-44,
    -1e-44,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    8388609.0,
    -8388607.5,
    0.99999994,
];

/// Relative deviation that a rule of the relaxed contracts may show.
const TOLERANCE: f64 = 1e-4;

/// Words tried of each kind where not all are.
const SAMPLES: usize = 5_000;

/// A small generator of random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 / 16_777_216.0
    }

    fn pick(&mut self, list: &[f32]) -> f32 {
        list[self.next() as usize % list.len()]
    }

    /// A number of ordinary size, positive or negative.
    fn number(&mut self) -> f32 {
        let x = (self.unit() * 9.0 - 5.0).exp2();
        if self.next().is_multiple_of(3) { -x } else { x }
    }
}

/// What the operations of the left side met.
#[derive(Default)]
struct Met {
    nan: bool,
    inf: bool,
    /// The greatest magnitude among terms of sums: what rounding is relative to.
    scale: f64,
}

impl Met {
    fn word(&mut self, w: u32) {
        let x = f32::from_bits(w);
        self.nan |= x.is_nan();
        self.inf |= x.is_infinite();
    }
}

fn product(zero_wins: bool, a: u32, b: u32) -> f32 {
    let (a, b) = (f32::from_bits(a), f32::from_bits(b));
    if zero_wins && (a == 0.0 || b == 0.0) {
        0.0
    } else {
        a * b
    }
}

fn apply(op: Op, a: &[u32], zero_wins: bool) -> Option<u32> {
    let x = |i: usize| f32::from_bits(a[i]);
    let dot = |n: usize| {
        (1..n).fold(product(zero_wins, a[0], a[n]), |sum, k| {
            sum + product(zero_wins, a[k], a[n + k])
        })
    };
    let wide = |f: fn(f64) -> f64| f(f64::from(x(0))) as f32;
    Some(match op {
        Op::Neg => a[0] ^ 0x8000_0000,
        Op::Abs => a[0] & 0x7fff_ffff,
        Op::INeg => a[0].wrapping_neg(),
        Op::Sat => tgsi::eval::apply_sat(a[0]),
        Op::Kill => u32::from(x(0) < 0.0),
        Op::Alu(Opcode::Mul) => product(zero_wins, a[0], a[1]).to_bits(),
        Op::Alu(Opcode::Mad) => (product(zero_wins, a[0], a[1]) + x(2)).to_bits(),
        Op::Alu(Opcode::Lrp) => {
            (product(zero_wins, a[0], (x(1) - x(2)).to_bits()) + x(2)).to_bits()
        }
        Op::Alu(Opcode::Fma) if zero_wins && (x(0) == 0.0 || x(1) == 0.0) => (x(2) + 0.0).to_bits(),
        Op::Alu(Opcode::Dp2) => dot(2).to_bits(),
        Op::Alu(Opcode::Dp3) => dot(3).to_bits(),
        Op::Alu(Opcode::Dp4) => dot(4).to_bits(),
        Op::Alu(Opcode::Ex2) => wide(f64::exp2).to_bits(),
        Op::Alu(Opcode::Lg2) => wide(f64::log2).to_bits(),
        Op::Alu(Opcode::Sin) => wide(f64::sin).to_bits(),
        Op::Alu(Opcode::Cos) => wide(f64::cos).to_bits(),
        Op::Alu(Opcode::Pow) => (f64::from(x(0)).powf(f64::from(x(1))) as f32).to_bits(),
        Op::Alu(op) => match op.info().eval {
            Eval::Word(f) => f(a),
            _ => return None,
        },
    })
}

fn eval(t: &Term, env: &[u32], zero_wins: bool, met: &mut Met) -> Option<u32> {
    let w = match t {
        Term::Var(v) => env[usize::from(v.0)],
        Term::Word(w) => *w,
        Term::Op(op, args) => {
            let args: Option<Vec<u32>> =
                args.iter().map(|a| eval(a, env, zero_wins, met)).collect();
            let args = args?;
            let size = |w: u32| f64::from(f32::from_bits(w)).abs();
            if matches!(op, Op::Alu(Opcode::Add)) {
                met.scale = met.scale.max(size(args[0]));
            }
            if matches!(op, Op::Alu(Opcode::Mad)) {
                met.scale = met.scale.max(size(args[2]));
            }
            if let Op::Alu(Opcode::Dp2 | Opcode::Dp3 | Opcode::Dp4) = op {
                let product = product(zero_wins, args[0], args[args.len() / 2]);
                met.scale = met.scale.max(f64::from(product).abs());
            }
            if let Op::Alu(Opcode::Lrp) = op {
                met.scale = met.scale.max(size(args[1])).max(size(args[2]));
            }
            apply(*op, &args, zero_wins)?
        }
    };
    met.word(w);
    Some(w)
}

fn holds(rule: &Rule, env: &[u32]) -> bool {
    let word = |v: Var| env[usize::from(v.0)];
    rule.conds.iter().all(|c| match *c {
        Cond::Fact(fact, v) => fact.holds_of(word(v)),
        Cond::Equal(a, b) => word(a) == word(b),
        Cond::Different(a, b) => word(a) != word(b),
        Cond::Less(a, b) => f32::from_bits(word(a)) < f32::from_bits(word(b)),
        Cond::ShiftSum(a, b) => word(a).checked_add(word(b)).is_some_and(|s| s < 32),
        Cond::Once(_) => true,
    })
}

fn same(l: u32, r: u32, nsz: bool) -> bool {
    let (x, y) = (f32::from_bits(l), f32::from_bits(r));
    l == r || x.is_nan() && y.is_nan() || nsz && x == 0.0 && y == 0.0
}

/// Whether both are a NaN, or the same infinity, or finite.
fn same_kind(l: u32, r: u32) -> bool {
    let (x, y) = (f32::from_bits(l), f32::from_bits(r));
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    if x.is_infinite() || y.is_infinite() {
        return l == r;
    }
    true
}

const RELAXED: [Contract; 4] = [
    Contract::CONTRACT,
    Contract::REASSOC,
    Contract::ARCP,
    Contract::AFN,
];

struct Judge<'a> {
    rule: &'a Rule,
    exact: bool,
    tried: u32,
    off: u32,
    worst: (f64, Vec<u32>),
}

impl Judge<'_> {
    /// Whether the sides agree for other signs of the zeros among the operands of one of them.
    fn flipped(
        &self,
        env: &[u32],
        zero_wins: bool,
        (l, r): (u32, u32),
        agree: impl Fn(u32, u32) -> bool,
    ) -> bool {
        let zeros: Vec<usize> = (0..env.len()).filter(|&i| env[i] << 1 == 0).collect();
        (1..1u32 << zeros.len()).any(|flip| {
            let mut other = env.to_vec();
            for (k, &i) in zeros.iter().enumerate() {
                other[i] ^= (flip >> k & 1) << 31;
            }
            let of = |t: &Term| eval(t, &other, zero_wins, &mut Met::default());
            of(&self.rule.lhs).is_some_and(|l| agree(l, r))
                || of(&self.rule.rhs).is_some_and(|r| agree(l, r))
        })
    }

    /// Says what is wrong at these words, if anything.
    fn at(&mut self, env: &[u32], zero_wins: bool, special: bool) -> Option<String> {
        let rule = self.rule;
        if !holds(rule, env) {
            return None;
        }
        let mut met = Met::default();
        let l = eval(&rule.lhs, env, zero_wins, &mut met)?;
        let grants = |c| rule.contract.includes(c);
        if grants(Contract::NNAN) && met.nan || grants(Contract::NINF) && met.inf {
            return None;
        }
        let r = eval(&rule.rhs, env, zero_wins, &mut Met::default())?;
        self.tried += 1;
        let nsz = grants(Contract::NSZ);
        let wrong = || {
            let words: Vec<String> = rule
                .vars
                .iter()
                .zip(env)
                .map(|(n, w)| format!("{n}={:?}", f32::from_bits(*w)))
                .collect();
            let mode = if zero_wins { "zero wins" } else { "IEEE" };
            Some(format!(
                "{}: {} gives {:?}, not {:?} ({mode})",
                rule.name,
                words.join(" "),
                f32::from_bits(r),
                f32::from_bits(l)
            ))
        };
        if self.exact {
            if same(l, r, nsz) {
                return None;
            }
            if nsz && self.flipped(env, zero_wins, (l, r), |l, r| same(l, r, true)) {
                return None;
            }
            return wrong();
        }
        if !same_kind(l, r) {
            let flips = || nsz && self.flipped(env, zero_wins, (l, r), same_kind);
            return if special && !flips() { wrong() } else { None };
        }
        if special {
            let (x, y) = (f32::from_bits(l), f32::from_bits(r));
            let zeros = (x == 0.0) == (y == 0.0) || met.scale > 0.0;
            return if zeros || (x - y).abs() < 1e-5 || grants(Contract::AFN) {
                None
            } else {
                wrong()
            };
        }
        let (x, y) = (f64::from(f32::from_bits(l)), f64::from(f32::from_bits(r)));
        if x.is_finite() {
            let error = (x - y).abs() / x.abs().max(1e-3);
            if error > TOLERANCE {
                self.off += 1;
            }
            if error > self.worst.0 {
                self.worst = (error, env.to_vec());
            }
        }
        None
    }
}

fn judge(rule: &Rule) -> Result<u32, String> {
    let mut j = Judge {
        rule,
        exact: !RELAXED.iter().any(|&c| rule.contract.includes(c)),
        tried: 0,
        off: 0,
        worst: (0.0, Vec::new()),
    };
    let mut specials = SPECIAL.to_vec();
    if j.exact {
        specials.extend(EXTREME);
    }
    let n = rule.vars.len();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for zero_wins in [false, true] {
        let wants = |c| rule.contract.includes(c);
        if zero_wins && wants(Contract::IEEE_ZERO) || !zero_wins && wants(Contract::LEGACY_ZERO) {
            continue;
        }
        let all = specials.len().pow(n as u32);
        let exhaustive = n <= 3;
        for i in 0..if exhaustive { all } else { SAMPLES } {
            let mut rest = i;
            let env: Vec<u32> = (0..n)
                .map(|_| {
                    if exhaustive {
                        let x = specials[rest % specials.len()];
                        rest /= specials.len();
                        x.to_bits()
                    } else {
                        random.pick(&specials).to_bits()
                    }
                })
                .collect();
            // A constant is no infinity or NaN in any program, but where a rule names it.
            let odd =
                |i: usize| rule.vars[i].starts_with('#') && !f32::from_bits(env[i]).is_finite();
            if !j.exact && (0..n).any(odd) {
                continue;
            }
            if let Some(wrong) = j.at(&env, zero_wins, true) {
                return Err(wrong);
            }
        }
        for _ in 0..SAMPLES {
            let env: Vec<u32> = (0..n)
                .map(|i| {
                    let x = match random.next() % 8 {
                        0 => random.unit(),
                        1 if rule.vars[i].starts_with('#') => random.pick(&specials),
                        _ => random.number(),
                    };
                    x.to_bits()
                })
                .collect();
            if let Some(wrong) = j.at(&env, zero_wins, false) {
                return Err(wrong);
            }
        }
    }
    if j.tried == 0 {
        return Err(format!("{}: never tried", rule.name));
    }
    let relaxed = !rule.contract.includes(Contract::AFN);
    if relaxed && f64::from(j.off) > 0.005 * f64::from(j.tried) {
        let words: Vec<f32> = j.worst.1.iter().map(|w| f32::from_bits(*w)).collect();
        return Err(format!(
            "{}: off in {} of {}, worst {:.1e} at {words:?}",
            rule.name, j.off, j.tried, j.worst.0
        ));
    }
    Ok(j.tried)
}

#[test]
fn rules_hold() {
    let wrong: Vec<String> = common::rules()
        .rules
        .iter()
        .filter_map(|r| judge(r).err())
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
