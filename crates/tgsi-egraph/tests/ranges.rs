//! What is known of values holds of every word they take.

mod common;

use std::fmt::Write;

use common::{Setting, graph, lifted, rules};
use tgsi::{Eval, Opcode};
use tgsi_ir::{Function, VOp, Value, ix};
use tgsi_rules::Fact;

/// A generator of its own, so that programs are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 27
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

const OPS: [&[&str]; 3] = [
    &[
        "MOV", "FLR", "CEIL", "TRUNC", "ROUND", "FRC", "SSG", "RCP", "RSQ", "SQRT", "EX2", "LG2",
        "SIN", "COS", "I2F", "U2F", "NOT", "F2I",
    ],
    &[
        "ADD", "MUL", "MIN", "MAX", "SLT", "SGE", "SEQ", "SNE", "FSLT", "FSGE", "FSEQ", "FSNE",
        "USLT", "ISGE", "AND", "OR", "XOR", "DIV", "POW", "UADD", "DP2", "DP3",
    ],
    &["MAD", "FMA", "CMP", "UCMP", "LRP"],
];

/// Temporaries of a program, each written from those before it.
const TEMPS: usize = 10;

fn program(random: &mut Random) -> String {
    let mut text = String::new();
    for t in 0..24 {
        let arity = random.pick(&[0, 1, 1, 2]);
        let op = random.pick(OPS[arity]);
        let saturates = Opcode::from_name(op).is_some_and(|op| op.info().dst_ty == tgsi::Ty::F);
        let sat = if saturates && random.below(6) == 0 {
            "_SAT"
        } else {
            ""
        };
        let float = !matches!(
            op,
            "NOT" | "AND" | "OR" | "XOR" | "USLT" | "ISGE" | "UADD" | "I2F" | "U2F" | "UCMP"
        );
        let sources: Vec<String> = (0..=arity)
            .map(|_| {
                let reg = match random.below(8) {
                    0..=3 if t > 0 => format!("TEMP[{}]", random.below(t.min(TEMPS))),
                    4 | 5 => "IMM[0]".to_owned(),
                    6 => "IMM[1]".to_owned(),
                    _ => "IN[0]".to_owned(),
                };
                let swizzle = if reg.starts_with("TEMP") {
                    "xxxx"
                } else {
                    random.pick(&["xxxx", "yyyy", "zzzz", "wwww"])
                };
                match random.below(8) {
                    0 if float => format!("-{reg}.{swizzle}"),
                    1 if float => format!("|{reg}.{swizzle}|"),
                    _ => format!("{reg}.{swizzle}"),
                }
            })
            .collect();
        let _ = writeln!(
            text,
            "{op}{sat} TEMP[{}].x, {}",
            t % TEMPS,
            sources.join(", ")
        );
    }
    for t in 0..TEMPS {
        let _ = writeln!(
            text,
            "MOV OUT[{}].{}, TEMP[{t}].xxxx",
            t / 4,
            ["x", "y", "z", "w"][t % 4]
        );
    }
    text
}

const SPECIAL: [u32; 24] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3eff_ffff,
    0x3f7f_ffff,
    0xbfc0_0000,
    0x4020_0000,
    0xffff_ffff,
    0x7fc0_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x0080_0000,
    0x4b00_0001,
    0xcb7f_ffff,
    0x4f00_0000,
    0x3f80_0001,
    2,
];

fn product(x: u32, y: u32, zero_wins: bool) -> f32 {
    let (x, y) = (f32::from_bits(x), f32::from_bits(y));
    if zero_wins && (x == 0.0 || y == 0.0) {
        0.0
    } else {
        x * y
    }
}

fn apply(f: &Function, op: Opcode, a: &[u32]) -> Option<u32> {
    use Opcode::*;
    if let Eval::Word(eval) = f.eval_of(op) {
        return Some(eval(a));
    }
    let z = f.zero_wins;
    let x = |i: usize| f32::from_bits(a[i]);
    let wide = |i: usize| f64::from(x(i));
    let result = match op {
        Mul => product(a[0], a[1], z),
        Mad => product(a[0], a[1], z) + x(2),
        Fma if x(0) == 0.0 || x(1) == 0.0 => 0.0 + x(2),
        Fma => x(0).mul_add(x(1), x(2)),
        Dp2 => product(a[0], a[2], z) + product(a[1], a[3], z),
        Dp3 => product(a[0], a[3], z) + product(a[1], a[4], z) + product(a[2], a[5], z),
        Ex2 => wide(0).exp2() as f32,
        Lg2 => wide(0).log2() as f32,
        Sin => wide(0).sin() as f32,
        Cos => wide(0).cos() as f32,
        _ => return None,
    };
    Some(result.to_bits())
}

/// The word of each value, as far as they can be computed.
fn words(f: &Function, inputs: [u32; 4]) -> Vec<Option<u32>> {
    let mut out: Vec<Option<u32>> = Vec::with_capacity(f.values.len());
    for d in f.values.values() {
        let args: Option<Vec<u32>> = d.args.iter().map(|&a| out[ix(a)]).collect();
        out.push(args.and_then(|a| match d.op {
            VOp::Imm(w) => Some(w),
            VOp::Reg(_, c) => Some(inputs[c as usize & 3]),
            VOp::Neg => Some(a[0] ^ 0x8000_0000),
            VOp::Abs => Some(a[0] & 0x7fff_ffff),
            VOp::INeg => Some(a[0].wrapping_neg()),
            VOp::Sat => Some(tgsi::eval::apply_sat(a[0])),
            VOp::Alu(op) => apply(f, op, &a),
            _ => None,
        }));
    }
    out
}

const FACTS: [Fact; 11] = [
    Fact::NotNan,
    Fact::Finite,
    Fact::NonNegative,
    Fact::Positive,
    Fact::NonZero,
    Fact::Unit,
    Fact::SignedUnit,
    Fact::Bool,
    Fact::Mask,
    Fact::Integral,
    Fact::NotMinusZero,
];

fn holds(properties: &str) {
    let none = rules("unused: (ssg (ssg (ssg a))) => (ssg a)");
    let mut random = Random(7);
    let mut known = 0;
    for _ in 0..400 {
        let text = program(&mut random);
        let g = graph(&lifted(&text, properties), &none, &Setting::default());
        for _ in 0..60 {
            let inputs = [0; 4].map(|_| match random.below(3) {
                0 => random.next() as u32,
                1 => (random.below(4000) as f32 / 64.0 - 30.0).to_bits(),
                _ => random.pick(&SPECIAL),
            });
            for (i, w) in words(&g.f, inputs).into_iter().enumerate() {
                let Some(w) = w else { continue };
                let info = g.infos[i];
                let at = || {
                    let v: Value = tgsi_ir::value_at(i);
                    format!(
                        "{} of {inputs:x?} is {w:#x} ({:?}), not of {info:?}",
                        common::expr(&g.f, v),
                        f32::from_bits(w)
                    )
                };
                let x = f32::from_bits(w);
                assert!(x.is_nan() || info.lo <= x && x <= info.hi, "{}", at());
                for fact in FACTS {
                    if info.knows(fact, None) {
                        known += 1;
                        assert!(fact.holds_of(w), "{fact:?}: {}", at());
                    }
                }
            }
        }
    }
    assert!(known > 100_000, "{known}");
}

#[test]
fn facts_hold_of_every_word() {
    holds("");
}

#[test]
fn facts_hold_where_zero_wins() {
    holds("PROPERTY MUL_ZERO_WINS 1\n");
}
