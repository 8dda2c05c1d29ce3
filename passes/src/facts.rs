//! What is known of the word a value holds, from how it is made.
//!
//! Each question looks a few operations deep and answers `false` when it does not know.

use tgsi::{Opcode, Ty};
use tgsi_ir::rewrite::{PhiInputs, walk};
use tgsi_ir::{Body, FUNCTION, Function, Item, Multi, MultiKind, Slot, VOp, Value, ValueData, ix};

/// How many operations deep a question looks. Deeper chains of selections are rare.
const DEPTH: u32 = 6;

/// The bits of 1.0.
pub const ONE: u32 = 0x3f80_0000;
/// The bits of -1.0.
pub const MINUS_ONE: u32 = 0xbf80_0000;
/// The bits of -0.0.
pub const MINUS_ZERO: u32 = 0x8000_0000;

/// Whether a word is a NaN.
pub fn is_nan(word: u32) -> bool {
    word & 0x7fff_ffff > 0x7f80_0000
}

/// Whether an opcode computes a float rather than hand on bits.
fn computes_float(op: Opcode) -> bool {
    use Opcode::*;
    op.info().dst_ty == Ty::F && !matches!(op, Cmp | Cnd | Cnd0 | Clamp | Swz | Mov)
}

/// Whether the value comes out of a float operation, so that the payload of a NaN in it means
/// nothing and `x * 1.0` is the same value.
pub fn made_by_float_op(f: &Function, v: Value) -> bool {
    made(f, v, DEPTH)
}

fn made(f: &Function, v: Value, depth: u32) -> bool {
    let d = &f.values[v];
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match d.op {
        VOp::Imm(w) => !is_nan(w),
        VOp::Sat => !d.wide,
        VOp::Neg | VOp::Abs => made(f, d.args[0], depth),
        VOp::Alu(Opcode::Cmp | Opcode::Ucmp) => {
            made(f, d.args[1], depth) && made(f, d.args[2], depth)
        }
        VOp::Alu(op) => computes_float(op),
        _ => false,
    }
}

/// Whether the word is 0 or all ones.
pub fn is_bool_mask(f: &Function, v: Value) -> bool {
    is_mask(f, v, DEPTH)
}

fn is_mask(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    let d = &f.values[v];
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match d.op {
        VOp::Imm(w) => w == 0 || w == u32::MAX,
        VOp::Alu(op) => match op {
            Fseq | Fsge | Fslt | Fsne | Isge | Islt | Useq | Usge | Uslt | Usne => true,
            // The first definition of the 64-bit comparisons gives 1.0.
            U64seq | U64sne | I64slt | U64slt | I64sge | U64sge => true,
            Dslt | Dsge | Dseq | Dsne => !f.first_era,
            And | Or | Xor => is_mask(f, d.args[0], depth) && is_mask(f, d.args[1], depth),
            Not => is_mask(f, d.args[0], depth),
            Ucmp | Cmp => is_mask(f, d.args[1], depth) && is_mask(f, d.args[2], depth),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the word is 0.0 or 1.0.
pub fn is_float_bool(f: &Function, v: Value) -> bool {
    is_01(f, v, DEPTH)
}

fn is_01(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    let d = &f.values[v];
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match d.op {
        VOp::Imm(w) => w == 0 || w == ONE,
        VOp::Alu(op) => match op {
            Slt | Sge | Seq | Sne | Sgt | Sle => true,
            And => {
                let one = |a, b| f.as_imm(a) == Some(ONE) && is_mask(f, b, depth);
                one(d.args[0], d.args[1]) || one(d.args[1], d.args[0])
            }
            Cmp | Ucmp => is_01(f, d.args[1], depth) && is_01(f, d.args[2], depth),
            Mul if !f.zero_wins => is_01(f, d.args[0], depth) && is_01(f, d.args[1], depth),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the word is a float of [+0, 1]: no NaN, no -0. A saturation of it does nothing.
pub fn in_unit(f: &Function, v: Value) -> bool {
    unit(f, v, DEPTH)
}

fn unit(f: &Function, v: Value, depth: u32) -> bool {
    let d = &f.values[v];
    let Some(less) = depth.checked_sub(1) else {
        return false;
    };
    match d.op {
        VOp::Imm(w) => w <= ONE,
        VOp::Sat => !d.wide,
        VOp::Alu(Opcode::Cmp | Opcode::Ucmp) => {
            unit(f, d.args[1], less) && unit(f, d.args[2], less)
        }
        VOp::Alu(Opcode::Mul | Opcode::Min | Opcode::Max) => {
            unit(f, d.args[0], less) && unit(f, d.args[1], less)
        }
        _ => is_01(f, v, depth),
    }
}

/// Whether the word is never -0.0.
pub fn never_minus_zero(f: &Function, v: Value) -> bool {
    no_minus_zero(f, v, DEPTH)
}

fn no_minus_zero(f: &Function, v: Value, depth: u32) -> bool {
    use Opcode::*;
    let d = &f.values[v];
    let Some(less) = depth.checked_sub(1) else {
        return false;
    };
    match d.op {
        VOp::Imm(w) => w != MINUS_ZERO,
        VOp::Sat => !d.wide,
        VOp::Abs => true,
        VOp::Alu(I2f | U2f | Ex2) => true,
        // A sum is -0 only if both parts are; a difference of equals is +0.
        VOp::Alu(Add) => no_minus_zero(f, d.args[0], less) || no_minus_zero(f, d.args[1], less),
        VOp::Alu(Mul) => d.args[0] == d.args[1],
        VOp::Alu(Cmp | Ucmp) => {
            no_minus_zero(f, d.args[1], less) && no_minus_zero(f, d.args[2], less)
        }
        _ => unit(f, v, less) || is_mask(f, v, less),
    }
}

/// Whether a float test `v < 0` is surely false (NaN and -0 count as not less).
pub fn never_negative(f: &Function, v: Value) -> bool {
    use Opcode::*;
    let d = &f.values[v];
    match d.op {
        VOp::Imm(w) => is_nan(w) || f32::from_bits(w) >= 0.0,
        VOp::Sat => !d.wide,
        VOp::Abs => true,
        VOp::Alu(U2f | Sqrt | Ex2) => true,
        VOp::Alu(Mul) => d.args[0] == d.args[1],
        _ => in_unit(f, v),
    }
}

/// Whether the float is an integer, an infinity or a NaN.
pub fn is_integral(f: &Function, v: Value) -> bool {
    use Opcode::*;
    match f.values[v].op {
        VOp::Neg | VOp::Abs => is_integral(f, f.values[v].args[0]),
        VOp::Alu(I2f | U2f | Flr | Ceil | Trunc | Round) => true,
        _ => is_float_bool(f, v),
    }
}

/// The bits that may be set in a word.
pub fn possible_bits(f: &Function, v: Value) -> u32 {
    bits(f, v, DEPTH)
}

/// All ones up to the highest bit of `w`.
fn below(w: u32) -> u32 {
    u32::MAX.checked_shr(w.leading_zeros()).unwrap_or(0)
}

fn bits(f: &Function, v: Value, depth: u32) -> u32 {
    use Opcode::*;
    const ALL: u32 = u32::MAX;
    let d = &f.values[v];
    let Some(depth) = depth.checked_sub(1) else {
        return ALL;
    };
    let of = |i: usize| bits(f, d.args[i], depth);
    let imm = |i: usize| f.as_imm(d.args[i]);
    let VOp::Alu(op) = d.op else {
        return match d.op {
            VOp::Imm(w) => w,
            _ => ALL,
        };
    };
    match op {
        And => of(0) & of(1),
        Or | Xor => of(0) | of(1),
        Shl if !f.first_era => imm(1).map_or(ALL, |k| of(0) << (k & 31)),
        Ushr => imm(1).map_or(ALL, |k| of(0) >> (k & 31)),
        Ubfe => match (imm(1), imm(2)) {
            (Some(offset), Some(width)) if width < 32 && offset < 32 && offset + width <= 32 => {
                of(0) >> offset & ((1 << width) - 1)
            }
            _ => ALL,
        },
        Uadd => of(0).checked_add(of(1)).map_or(ALL, below),
        Umul => of(0).checked_mul(of(1)).map_or(ALL, below),
        Umad => of(0)
            .checked_mul(of(1))
            .and_then(|m| m.checked_add(of(2)))
            .map_or(ALL, below),
        Umin => below(of(0).min(of(1))),
        Umax => below(of(0) | of(1)),
        Umod => imm(1).filter(|&k| k != 0).map_or(ALL, |k| below(k - 1)),
        Udiv => imm(1).filter(|&k| k != 0).map_or(ALL, |k| below(of(0) / k)),
        Ucmp => of(1) | of(2),
        Popc => 63,
        Slt | Sge | Seq | Sne | Sgt | Sle => ONE,
        _ => ALL,
    }
}

/// How many operands and arguments name each value.
pub fn count_uses(func: &Function, phis: &PhiInputs) -> Vec<u32> {
    let mut uses = vec![0u32; func.values.len()];
    for d in func.values.values() {
        d.args.iter().for_each(|&a| uses[ix(a)] += 1);
    }
    phis.order
        .iter()
        .flat_map(|p| phis.of(*p))
        .for_each(|&a| uses[ix(a)] += 1);
    func.end_args
        .iter()
        .flatten()
        .for_each(|&a| uses[ix(a)] += 1);
    walk(func, &func.body, &mut |item| match item {
        Item::If(i) => uses[ix(i.cond)] += 1,
        Item::Switch(s) => uses[ix(s.selector)] += 1,
        Item::Depart(FUNCTION, args) => args.iter().for_each(|&a| uses[ix(a)] += 1),
        _ => {}
    });
    uses
}

/// [`count_uses`] of one function, done when first asked for.
#[derive(Debug, Default)]
pub(crate) struct Uses(std::cell::OnceCell<Vec<u32>>);

impl Uses {
    /// The counts. All calls must name the same function.
    pub(crate) fn of(&self, func: &Function, phis: &PhiInputs) -> &[u32] {
        self.0.get_or_init(|| count_uses(func, phis))
    }

    /// The counts as a list to change.
    pub(crate) fn take(self, func: &Function, phis: &PhiInputs) -> Vec<u32> {
        self.0
            .into_inner()
            .unwrap_or_else(|| count_uses(func, phis))
    }
}

/// Which values are read as bits by someone, by arena position. A value that is not may have
/// any payload in a NaN.
#[derive(Debug, Default)]
pub struct BitReads(Vec<bool>);

impl BitReads {
    /// Looks at every reader of every value.
    pub fn collect(f: &Function, phis: &PhiInputs) -> BitReads {
        let mut r = Marks {
            bits: vec![false; f.values.len()],
            stack: Vec::new(),
        };
        for d in f.values.values() {
            mark_operands(f, d, &mut r);
        }
        walk(f, &f.body, &mut |item| match item {
            Item::If(i) if i.bits => r.mark(i.cond),
            Item::Switch(s) => {
                r.mark(s.selector);
                s.cases
                    .iter()
                    .filter_map(|c| c.label)
                    .for_each(|l| r.mark(l));
            }
            Item::Depart(FUNCTION, args) => args.iter().for_each(|&a| r.mark(a)),
            _ => {}
        });
        f.end_args.iter().flatten().for_each(|&a| r.mark(a));
        while let Some(v) = r.stack.pop() {
            let d = &f.values[v];
            match d.op {
                VOp::Neg | VOp::Abs => r.mark(d.args[0]),
                VOp::Alu(Opcode::Cmp | Opcode::Ucmp) => {
                    r.mark(d.args[1]);
                    r.mark(d.args[2]);
                }
                VOp::Phi(_) => phis.of(v).iter().for_each(|&a| r.mark(a)),
                _ => {}
            }
        }
        BitReads(r.bits)
    }

    /// Whether someone may read the bits of `v`.
    pub fn any(&self, v: Value) -> bool {
        self.0.get(ix(v)).copied().unwrap_or(true)
    }
}

struct Marks {
    bits: Vec<bool>,
    stack: Vec<Value>,
}

impl Marks {
    #[inline]
    fn mark(&mut self, v: Value) {
        if !std::mem::replace(&mut self.bits[ix(v)], true) {
            self.stack.push(v);
        }
    }
}

/// Marks the operands that an operation reads as bits. Operands that are handed on follow the
/// readers of the result and are not marked here.
fn mark_operands(f: &Function, d: &ValueData, r: &mut Marks) {
    match d.op {
        VOp::Imm(_) | VOp::Neg | VOp::Abs | VOp::Sat | VOp::Proj(_) | VOp::Half(_) => {}
        VOp::Alu(Opcode::Ucmp) => r.mark(d.args[0]),
        VOp::Alu(Opcode::Cnd | Opcode::Cnd0 | Opcode::Clamp) => {
            d.args.iter().for_each(|&a| r.mark(a))
        }
        VOp::Alu(op) => {
            let info = op.info();
            let group = match info.shape {
                tgsi::Shape::Dot(n) => usize::from(n),
                _ => 1,
            };
            for (k, group) in d.args.chunks(group).enumerate() {
                if info.src_ty.get(k) != Some(&Ty::F) {
                    group.iter().for_each(|&a| r.mark(a));
                }
            }
        }
        VOp::Multi(m) => {
            let m = &f.multis[m.0 as usize];
            for (i, &a) in d.args.iter().enumerate() {
                if multi_reads_bits(m, i) {
                    r.mark(a);
                }
            }
        }
        _ => d.args.iter().for_each(|&a| r.mark(a)),
    }
}

/// Whether operand `i` of an operation with several results is read as bits.
fn multi_reads_bits(m: &Multi, i: usize) -> bool {
    match m.slots.get(i) {
        Some(Slot::Src(k, _)) if !matches!(m.kind, MultiKind::Store | MultiKind::Load) => {
            m.inst.op == Opcode::Dst || m.inst.op.info().src_ty.get(*k as usize) != Some(&Ty::F)
        }
        _ => true,
    }
}

/// The number of a body that is not known.
const NO_BODY: u32 = u32::MAX;

/// In which body each value can first exist: the deepest body among those of the phis and of the
/// placed operations it is computed from.
#[derive(Debug)]
pub struct Anchors {
    home: Vec<u32>,
    /// Enclosing body and depth, by body number.
    bodies: Vec<(u32, u32)>,
    /// Whether a body runs more than once, by body number.
    repeats: Vec<bool>,
}

impl Anchors {
    /// Numbers the bodies and places the values.
    pub fn collect(f: &Function) -> Anchors {
        let mut a = Anchors {
            home: vec![NO_BODY; f.values.len()],
            bodies: vec![(NO_BODY, 0)],
            repeats: vec![false],
        };
        a.body(&f.body, 0);
        for (v, d) in f.values.iter() {
            let placed = match d.op {
                VOp::Phi(_) => true,
                VOp::Multi(m) => f.multis[m.0 as usize].kind != MultiKind::Pure,
                _ => false,
            };
            if !placed {
                let home = d.args.iter().fold(0, |h, &x| a.deeper(h, a.home[ix(x)]));
                a.home[ix(v)] = home;
            }
        }
        a
    }

    fn open(&mut self, parent: u32) -> u32 {
        let depth = self.bodies[parent as usize].1 + 1;
        self.bodies.push((parent, depth));
        self.repeats.push(self.repeats[parent as usize]);
        self.bodies.len() as u32 - 1
    }

    fn put(&mut self, values: &[Value], body: u32) {
        values.iter().for_each(|&v| self.home[ix(v)] = body);
    }

    fn body(&mut self, body: &Body, at: u32) {
        for item in &body.items {
            match item {
                Item::Effect(v) => self.put(&[*v], at),
                Item::If(i) => {
                    self.put(&i.results, at);
                    for arm in [&i.then, &i.els] {
                        let inner = self.open(at);
                        self.body(arm, inner);
                    }
                }
                Item::Loop(l) => {
                    self.put(&l.results, at);
                    let inner = self.open(at);
                    self.repeats[inner as usize] = true;
                    self.put(&l.params, inner);
                    self.body(&l.body, inner);
                }
                Item::Switch(s) => {
                    self.put(&s.results, at);
                    for c in &s.cases {
                        let inner = self.open(at);
                        self.put(&c.params, inner);
                        self.body(&c.body, inner);
                    }
                }
                Item::Depart(..) | Item::Repeat(..) => {}
            }
        }
    }

    /// Whether body `a` is `b` or around it.
    fn encloses(&self, a: u32, mut b: u32) -> bool {
        if a == NO_BODY || b == NO_BODY {
            return false;
        }
        let depth = self.bodies[a as usize].1;
        while self.bodies[b as usize].1 > depth {
            b = self.bodies[b as usize].0;
        }
        a == b
    }

    fn deeper(&self, a: u32, b: u32) -> u32 {
        if self.encloses(a, b) {
            b
        } else if self.encloses(b, a) {
            a
        } else {
            NO_BODY
        }
    }

    /// Whether `v` stands in no loop: it has one value in a run.
    pub fn is_single(&self, v: Value) -> bool {
        self.repeats.get(self.home[ix(v)] as usize) == Some(&false)
    }

    /// Whether `v`, an input of `phi`, exists where the phi is defined, not only at its edge.
    pub fn exists_at(&self, v: Value, phi: Value) -> bool {
        self.encloses(self.home[ix(v)], self.home[ix(phi)])
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tgsi::Eval;
    use tgsi_ir::{Args, LaneHint};

    use super::*;
    use crate::testing::lifted;

    /// Operations on words of which facts are known, with the number of their operands.
    const OPS: [(Opcode, usize); 40] = {
        use Opcode::*;
        [
            (Slt, 2),
            (Sge, 2),
            (Seq, 2),
            (Sne, 2),
            (Sgt, 2),
            (Sle, 2),
            (Fseq, 2),
            (Fsge, 2),
            (Fslt, 2),
            (Fsne, 2),
            (Isge, 2),
            (Islt, 2),
            (Useq, 2),
            (Usge, 2),
            (Uslt, 2),
            (Usne, 2),
            (And, 2),
            (Or, 2),
            (Xor, 2),
            (Not, 1),
            (Cmp, 3),
            (Ucmp, 3),
            (Mul, 2),
            (Min, 2),
            (Max, 2),
            (Add, 2),
            (I2f, 1),
            (U2f, 1),
            (Flr, 1),
            (Round, 1),
            (Shl, 2),
            (Ushr, 2),
            (Ubfe, 3),
            (Uadd, 2),
            (Umul, 2),
            (Umad, 3),
            (Umin, 2),
            (Umax, 2),
            (Udiv, 2),
            (Popc, 1),
        ]
    };

    const WORDS: [u32; 20] = [
        0,
        ONE,
        MINUS_ONE,
        MINUS_ZERO,
        u32::MAX,
        0x3f00_0000,
        0x3f7f_ffff,
        0x3f80_0001,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        1,
        2,
        5,
        31,
        32,
        0xff,
        0x4040_0000,
        0xc020_0000,
    ];

    struct Known {
        name: &'static str,
        claims: fn(&Function, Value) -> bool,
        holds: fn(u32) -> bool,
    }

    const FACTS: [Known; 7] = [
        Known {
            name: "mask",
            claims: is_bool_mask,
            holds: |w| w == 0 || w == u32::MAX,
        },
        Known {
            name: "float bool",
            claims: is_float_bool,
            holds: |w| w == 0 || w == ONE,
        },
        Known {
            name: "unit",
            claims: in_unit,
            holds: |w| w <= ONE,
        },
        Known {
            name: "no -0",
            claims: never_minus_zero,
            holds: |w| w != MINUS_ZERO,
        },
        Known {
            name: "not negative",
            claims: never_negative,
            holds: |w| f32::from_bits(w) >= 0.0 || f32::from_bits(w).is_nan(),
        },
        Known {
            name: "integral",
            claims: is_integral,
            holds: |w| {
                let x = f32::from_bits(w);
                !x.is_finite() || x == x.trunc()
            },
        },
        Known {
            name: "float",
            claims: made_by_float_op,
            // Says how a NaN came to be, and nothing of other words.
            holds: |_| true,
        },
    ];

    /// Random terms of constants, with their words.
    fn terms(zero_wins: bool) -> (Function, Vec<(Value, u32)>) {
        let head = if zero_wins {
            "PROPERTY MUL_ZERO_WINS 1\n"
        } else {
            ""
        };
        let mut f = lifted(&format!(
            "FRAG\n{head}DCL OUT[0], COLOR\nIMM[0] UINT32 {{0, 0, 0, 0}}\nMOV OUT[0], IMM[0]\nEND\n"
        ));
        let hint = LaneHint {
            inst: 0,
            lane: 0,
            depth: 0,
        };
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |n: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) as usize % n
        };
        let mut all: Vec<(Value, u32)> = WORDS.iter().map(|&w| (f.imm(w), w)).collect();
        for _ in 0..6000 {
            // Half of the operands are constants: deep terms know little.
            let mut pick = || match below(2) {
                0 => all[below(WORDS.len())],
                _ => all[below(all.len())],
            };
            let (a, b, c) = (pick(), pick(), pick());
            let (v, w) = match below(OPS.len() + 4) {
                n if n < OPS.len() => {
                    let (op, count) = OPS[n];
                    let args: Args = [a.0, b.0, c.0].into_iter().take(count).collect();
                    let Eval::Word(eval) = f.eval_of(op) else {
                        continue;
                    };
                    let w = eval(&[a.1, b.1, c.1][..count]);
                    (f.alu(op, false, args, hint), w)
                }
                n => {
                    let (op, w) = match n - OPS.len() {
                        0 => (VOp::Neg, a.1 ^ MINUS_ZERO),
                        1 => (VOp::Abs, a.1 & !MINUS_ZERO),
                        2 => (VOp::Sat, tgsi::eval::apply_sat(a.1)),
                        _ => (VOp::INeg, a.1.wrapping_neg()),
                    };
                    (f.modifier(op, a.0, hint), w)
                }
            };
            all.push((v, w));
        }
        (f, all)
    }

    /// Facts hold of the words of random terms; and how often each is known.
    #[test]
    fn facts_hold_of_words() {
        let mut text = String::new();
        for zero_wins in [false, true] {
            let (f, all) = terms(zero_wins);
            for fact in &FACTS {
                let mut known = 0;
                for &(v, w) in &all {
                    if (fact.claims)(&f, v) {
                        known += 1;
                        assert!((fact.holds)(w), "{} of {w:#x}, %{}", fact.name, ix(v));
                    }
                }
                text += &format!("{}: {known} of {}\n", fact.name, all.len());
            }
            let mut bits = 0u64;
            for &(v, w) in &all {
                let possible = possible_bits(&f, v);
                assert_eq!(w & !possible, 0, "{w:#x} of {possible:#x}, %{}", ix(v));
                bits += u64::from(possible.count_ones());
            }
            text += &format!("bits: {bits}\n");
        }
        expect![[r#"
            mask: 1388 of 6020
            float bool: 835 of 6020
            unit: 1042 of 6020
            no -0: 3046 of 6020
            not negative: 1299 of 6020
            integral: 1411 of 6020
            float: 2324 of 6020
            bits: 154642
            mask: 1384 of 5864
            float bool: 833 of 5864
            unit: 1019 of 5864
            no -0: 3049 of 5864
            not negative: 1294 of 5864
            integral: 1387 of 5864
            float: 2150 of 5864
            bits: 149622
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn nans() {
        for (w, nan) in [
            (0x7f80_0000, false),
            (0x7f80_0001, true),
            (0xff80_0000, false),
            (0xff80_0001, true),
            (0x7f7f_ffff, false),
            (0x7fc0_0000, true),
            (u32::MAX, true),
        ] {
            assert_eq!(is_nan(w), nan, "{w:#x}");
        }
    }
}
