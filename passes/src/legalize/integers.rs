//! Truth values and small integers as floats.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Node, PhiInputs};
use tgsi_ir::{Function, VOp, Value, ix};
use tgsi_rules::Contract;

use super::expand::{Expand, Shadow};
use crate::facts::{MINUS_ZERO, ONE, is_float_bool, never_minus_zero, never_negative};

/// Integers of a larger magnitude are not all floats.
const EXACT: i64 = 1 << 24;

/// Most questions about operands of operands.
const DEPTH: u32 = 256;

/// What an index is computed from is less than this.
const INDEX: i64 = 1 << 14;

/// An integer as a float.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub value: Value,
    low: i64,
    high: i64,
}

/// The phis of a function that hold truth values whichever way they are reached.
pub(super) fn mask_phis(f: &Function, phis: &PhiInputs) -> Vec<Value> {
    let mut mask = vec![true; f.values.len()];
    loop {
        let mut changed = false;
        for (v, d) in f.values.iter() {
            let all = |args: &[Value], mask: &[bool]| args.iter().all(|&a| mask[ix(a)]);
            let is = match d.op {
                VOp::Imm(w) => w == 0 || w == u32::MAX,
                VOp::Phi(_) => !phis.of(v).is_empty() && all(phis.of(v), &mask),
                VOp::Alu(op) => match op {
                    Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => all(&d.args, &mask),
                    Opcode::Ucmp => all(&d.args[1..], &mask),
                    op => is_comparison(op),
                },
                _ => false,
            };
            if mask[ix(v)] && !is {
                mask[ix(v)] = false;
                changed = true;
            }
        }
        if !changed {
            let order = phis.order.iter().copied();
            return order.filter(|&p| mask[ix(p)]).collect();
        }
    }
}

fn is_comparison(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Fslt | Fsge | Fseq | Fsne | Islt | Isge | Useq | Usne | Uslt | Usge
    )
}

/// [`never_negative`], also of a saturation that is written out.
fn never_below_zero(f: &Function, v: Value) -> bool {
    let d = &f.values[v];
    let operand = |k: usize| {
        let v = d.args[k];
        never_negative(f, v) || f.values[v].op == VOp::Alu(Opcode::Max) && never_below_zero(f, v)
    };
    match d.op {
        VOp::Alu(Opcode::Max) => f.as_imm(d.args[0]) == Some(0),
        VOp::Alu(Opcode::Min) => operand(0) && operand(1),
        _ => never_negative(f, v),
    }
}

impl Expand<'_> {
    /// What stands for an integer operation whose result is read as a word: a selection of words, or
    /// a float. Nothing where only what reads it can tell what it is.
    pub(super) fn integer(&mut self, node: &Node) -> Option<Value> {
        use Opcode::*;
        let VOp::Alu(op) = node.op else { return None };
        match op {
            Ucmp => self.selection(node.args[0], node.args[1], node.args[2]),
            And => {
                let zero = self.num(0.0);
                let (a, b) = (node.args[0], node.args[1]);
                let m = [(a, b), (b, a)]
                    .into_iter()
                    .find(|p| self.truth(p.0).is_some())?;
                self.selection(m.0, m.1, zero)
            }
            I2f | U2f => self.number(node.args[0]).map(|n| n.value),
            Ldexp => {
                let n = self.number(node.args[1])?;
                let p = self.op(Ex2, &[n.value]);
                Some(self.op(Mul, &[node.args[0], p]))
            }
            _ => None,
        }
    }

    /// A selection of two words that the target has, noted for those who read it as something else.
    fn selection(&mut self, c: Value, a: Value, b: Value) -> Option<Value> {
        let mask = |f: &Function, v: Value| f.as_imm(v) == Some(u32::MAX);
        let special = |e: &Self, v| e.is_foreign(v) || mask(&e.f, v);
        let (mut a, mut b) = (a, b);
        match (special(self, a), special(self, b)) {
            (true, true) => return None,
            (true, false) if self.truth(b).is_none() => a = self.mask_word(a)?,
            (false, true) if self.truth(a).is_none() => b = self.mask_word(b)?,
            (false, false) => {}
            _ => return None,
        }
        let v = self.select(c, a, b)?;
        // What was there before is not looked through: it may be one of them.
        if ix(v) > ix(c).max(ix(a)).max(ix(b)) {
            self.selects.insert(v, [c, a, b]);
        }
        Some(v)
    }

    /// A truth value as the word that it is: what stands in a register that holds something else where
    /// control came another way, and is not read.
    fn mask_word(&mut self, v: Value) -> Option<Value> {
        if !self.taken.takes(Opcode::Cmp) {
            return None;
        }
        let t = self.truth(v)?;
        let (ones, zero) = (self.f.imm(u32::MAX), self.f.imm(0));
        let n = self.neg(t);
        Some(self.op(Opcode::Cmp, &[n, ones, zero]))
    }

    /// Asks a question about operands, unless too many are asked for that already.
    fn ask<T>(&mut self, question: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.asked > DEPTH {
            return None;
        }
        self.asked += 1;
        let answer = question(self);
        self.asked -= 1;
        answer
    }

    /// `a` where a word has a bit set, else `b`.
    fn select(&mut self, c: Value, a: Value, b: Value) -> Option<Value> {
        let key = [c, a, b];
        if let Some(&v) = self.selected.get(&key) {
            return v;
        }
        let v = self.ask(|e| e.selected_word(c, a, b));
        self.selected.insert(key, v);
        v
    }

    fn selected_word(&mut self, c: Value, a: Value, b: Value) -> Option<Value> {
        use Opcode::*;
        if a == b {
            return Some(a);
        }
        if self.f.as_imm(a) == Some(ONE) && self.f.as_imm(b) == Some(0) {
            return self.test(c);
        }
        let d = self.f.values[c].clone();
        if let VOp::Alu(op) = d.op {
            let zero = |e: &Self, v: Value| e.f.as_imm(v).is_some_and(|w| w << 1 == 0);
            let [x, y] = match d.args[..] {
                [x, y] => [x, y],
                _ => [c, c],
            };
            let by = |e: &mut Self, d, a, b| Some(e.op(Cmp, &[d, a, b]));
            match op {
                Not if self.truth(d.args[0]).is_some() => return self.select(d.args[0], b, a),
                _ if !self.taken.takes(Cmp) => {}
                Fslt => {
                    let d = self.difference(x, y);
                    return by(self, d, a, b);
                }
                Fsge if self.may_test(Sge) => {
                    self.contract = self.contract.and(Contract::UNORD);
                    let d = self.difference(x, y);
                    return by(self, d, b, a);
                }
                Fsne | Fseq
                    if self.may_test(if op == Fsne { Sne } else { Seq })
                        || zero(self, y) && is_float_bool(&self.f, x) =>
                {
                    let d = if zero(self, y) && is_float_bool(&self.f, x) {
                        self.neg(x)
                    } else {
                        self.contract = self.contract.and(Contract::UNORD);
                        self.distance(x, y)
                    };
                    return if op == Fsne {
                        by(self, d, a, b)
                    } else {
                        by(self, d, b, a)
                    };
                }
                _ => {}
            }
        }
        let t = self.test(c)?;
        if self.taken.takes(Cmp) {
            let n = self.neg(t);
            return Some(self.op(Cmp, &[n, a, b]));
        }
        // A product keeps numbers only, not the bits of integers.
        let number = |w: Option<u32>| w.is_none_or(|w| w == 0 || f32::from_bits(w).is_normal());
        if !number(self.f.as_imm(a)) || !number(self.f.as_imm(b)) {
            return None;
        }
        self.contract = self
            .contract
            .and(Contract::NSZ)
            .and(Contract::NNAN)
            .and(Contract::NINF);
        Some(self.blend(t, a, b))
    }

    /// Whether a comparison may be a test of a difference, of which a NaN decides otherwise: where the
    /// program grants that, or the target has not got the comparison.
    fn may_test(&self, op: Opcode) -> bool {
        let granted = self.cx.profile.grants(self.f.zero_wins);
        granted.includes(Contract::UNORD) || !self.taken.takes(op)
    }

    /// 1.0 where a word has a bit set, else 0.0.
    pub(super) fn test(&mut self, v: Value) -> Option<Value> {
        if let Some(&t) = self.tests.get(&v) {
            return t;
        }
        let t = self.ask(|e| e.tested_word(v));
        self.tests.insert(v, t);
        t
    }

    fn tested_word(&mut self, v: Value) -> Option<Value> {
        if let Some(t) = self.truth(v) {
            return Some(t);
        }
        let d = self.f.values[v].clone();
        let chosen = match d.op {
            VOp::Alu(Opcode::Ucmp) if self.is_foreign(v) => Some([d.args[0], d.args[1], d.args[2]]),
            _ => self.selects.get(&v).copied(),
        };
        if let Some([c, a, b]) = chosen {
            let (a, b) = (self.test(a)?, self.test(b)?);
            return self.select(c, a, b);
        }
        match d.op {
            VOp::Imm(w) => return Some(self.num(f32::from(u8::from(w != 0)))),
            VOp::INeg => return self.test(d.args[0]),
            VOp::Alu(Opcode::And) => {
                let (a, b) = (d.args[0], d.args[1]);
                for (m, k) in [(a, b), (b, a)] {
                    if self.f.as_imm(k).is_some_and(|w| w != 0)
                        && let Some(t) = self.truth(m)
                    {
                        return Some(t);
                    }
                }
            }
            VOp::Alu(Opcode::Or) => {
                let (s, t) = (self.test(d.args[0])?, self.test(d.args[1])?);
                return Some(self.op(Opcode::Max, &[s, t]));
            }
            _ => {}
        }
        if is_float_bool(&self.f, v) {
            return Some(v);
        }
        let zero = self.num(0.0);
        if let Some(n) = self.number(v) {
            return Some(self.op(Opcode::Sne, &[n.value, zero]));
        }
        if self.is_foreign(v) {
            return None;
        }
        // A word of a target without integers is a float: it has no bit set where it is zero.
        if !never_minus_zero(&self.f, v) {
            self.contract = self.contract.and(Contract::NSZ);
        }
        Some(self.op(Opcode::Sne, &[v, zero]))
    }

    /// 1.0 where a truth value is all ones, 0.0 where it is 0; nothing for what may be another word.
    pub(super) fn truth(&mut self, v: Value) -> Option<Value> {
        if let Some(&t) = self.truths.get(&v) {
            return t;
        }
        let t = self.ask(|e| e.truth_made(v));
        self.truths.insert(v, t);
        t
    }

    fn truth_made(&mut self, v: Value) -> Option<Value> {
        use Opcode::*;
        if let Some(&[c, a, b]) = self.selects.get(&v) {
            let (a, b) = (self.truth(a)?, self.truth(b)?);
            return self.select(c, a, b);
        }
        let d = self.f.values[v].clone();
        let op = match d.op {
            VOp::Imm(0) => return Some(v),
            VOp::Imm(u32::MAX) => return Some(self.num(1.0)),
            VOp::Phi(_) => match self.shadows.get(&v) {
                Some(&(beside, Shadow::Truth, _)) => return Some(beside),
                _ => return None,
            },
            VOp::Alu(op) if !self.taken.takes(op) => op,
            _ => return None,
        };
        let float = |op| match op {
            Fslt | Islt | Uslt => Slt,
            Fsge | Isge | Usge => Sge,
            Fseq | Useq => Seq,
            _ => Sne,
        };
        Some(match op {
            Fslt | Fsge => self.op(float(op), &d.args),
            Fseq | Fsne => {
                let (x, y) = (d.args[0], d.args[1]);
                let zero = |w: Option<u32>| w == Some(0) || w == Some(MINUS_ZERO);
                match (self.f.as_imm(x), self.f.as_imm(y)) {
                    (_, k) if zero(k) && is_float_bool(&self.f, x) => {
                        if op == Fsne {
                            x
                        } else {
                            self.inverse(x)
                        }
                    }
                    _ => self.op(float(op), &d.args),
                }
            }
            Islt | Isge | Useq | Usne | Uslt | Usge => {
                let (x, y) = (d.args[0], d.args[1]);
                if matches!(op, Useq | Usne) {
                    for (x, y) in [(x, y), (y, x)] {
                        if self.f.as_imm(y) == Some(0)
                            && let Some(t) = self.test(x)
                        {
                            return Some(if op == Usne { t } else { self.inverse(t) });
                        }
                    }
                    if let (Some(s), Some(t)) = (self.truth(x), self.truth(y)) {
                        return Some(self.op(float(op), &[s, t]));
                    }
                }
                let (x, y) = (self.number(x)?, self.number(y)?);
                let unsigned = matches!(op, Uslt | Usge);
                if unsigned && (x.low < 0 || y.low < 0) {
                    return None;
                }
                self.op(float(op), &[x.value, y.value])
            }
            And => {
                let (s, t) = (self.truth(d.args[0])?, self.truth(d.args[1])?);
                self.op(Mul, &[s, t])
            }
            Or => {
                let (s, t) = (self.truth(d.args[0])?, self.truth(d.args[1])?);
                self.op(Max, &[s, t])
            }
            Xor => {
                let (s, t) = (self.truth(d.args[0])?, self.truth(d.args[1])?);
                self.op(Sne, &[s, t])
            }
            Not => {
                let t = self.truth(d.args[0])?;
                self.inverse(t)
            }
            Ucmp => {
                let (a, b) = (self.truth(d.args[1])?, self.truth(d.args[2])?);
                return self.select(d.args[0], a, b);
            }
            _ => return None,
        })
    }

    /// [`Expand::number`] of an address. No array of such hardware is as long as [`INDEX`], so that what
    /// it is computed from is taken to be within that.
    pub(super) fn index(&mut self, v: Value) -> Option<Number> {
        let d = &self.f.values[v];
        if matches!(d.op, VOp::Alu(Opcode::F2i | Opcode::F2u))
            && never_below_zero(&self.f, d.args[0])
        {
            // A load of an address register rounds down itself.
            return Some(Number {
                value: d.args[0],
                low: 0,
                high: INDEX,
            });
        }
        self.address = true;
        let n = self.number(v);
        self.address = false;
        n
    }

    /// The float that equals an integer, where all of its operations are exact as floats.
    pub(super) fn number(&mut self, v: Value) -> Option<Number> {
        let key = (v, self.address);
        if let Some(&n) = self.numbers.get(&key) {
            return n;
        }
        let n = self.ask(|e| e.number_made(v));
        self.numbers.insert(key, n);
        n
    }

    fn number_made(&mut self, v: Value) -> Option<Number> {
        use Opcode::*;
        if let Some(&[c, a, b]) = self.selects.get(&v) {
            return self.either(c, a, b);
        }
        let d = self.f.values[v].clone();
        let small = |value, low: i64, high: i64| {
            (low >= -EXACT && high <= EXACT).then_some(Number { value, low, high })
        };
        let op = match d.op {
            VOp::Imm(w) => {
                let n = i64::from(w as i32);
                let value = self.num(n as f32);
                return small(value, n, n);
            }
            VOp::INeg => {
                if let Some(t) = self.truth(d.args[0]) {
                    return small(t, 0, 1);
                }
                let n = self.number(d.args[0])?;
                return Some(self.negated(n));
            }
            VOp::Phi(_) => match self.shadows.get(&v) {
                Some(&(value, Shadow::Number(low, high), _)) => return small(value, low, high),
                _ => return None,
            },
            VOp::Alu(Arl) => {
                let value = self.op(Flr, &[d.args[0]]);
                return small(value, 0, INDEX);
            }
            VOp::Alu(op) if !self.taken.takes(op) => op,
            _ => return None,
        };
        let of = |e: &mut Self, k: usize| e.number(d.args[k]);
        let word = |e: &Self, k: usize| e.f.as_imm(d.args[k]);
        if is_comparison(op) {
            let t = self.truth(v)?;
            let n = self.neg(t);
            return small(n, -1, 0);
        }
        match op {
            F2i | F2u => {
                // Zero from a negative fraction is -0.0 here.
                self.contract = self.contract.and(Contract::NSZ);
                let whole = never_below_zero(&self.f, d.args[0]);
                let value = self.op(if whole { Flr } else { Trunc }, &[d.args[0]]);
                let (low, high) = match op {
                    _ if self.address => (0, INDEX),
                    F2u => (0, i64::from(u32::MAX)),
                    _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
                };
                Some(Number { value, low, high })
            }
            And => {
                for (m, k) in [(0, 1), (1, 0)] {
                    if let Some(t) = self.truth(d.args[m]) {
                        let zero = self.num(0.0);
                        let n = of(self, k)?;
                        let value = if n.low == 1 && n.high == 1 {
                            t
                        } else {
                            self.blend(t, n.value, zero)
                        };
                        return small(value, n.low.min(0), n.high.max(0));
                    }
                }
                // The low bits: what is left of whole multiples.
                let k = i64::from(word(self, 1)?) + 1;
                let n = of(self, 0)?;
                if n.low < 0 || n.high > EXACT || k.count_ones() != 1 {
                    return None;
                }
                let part = self.by(Mul, n.value, 1.0 / k as f32);
                let part = self.op(Frc, &[part]);
                let value = self.by(Mul, part, k as f32);
                small(value, 0, k - 1)
            }
            Uadd => {
                let (a, b) = (of(self, 0)?, of(self, 1)?);
                let value = self.op(Add, &[a.value, b.value]);
                small(value, a.low + b.low, a.high + b.high)
            }
            Umul => {
                let (a, b) = (of(self, 0)?, of(self, 1)?);
                let value = self.op(Mul, &[a.value, b.value]);
                let ends = [
                    a.low * b.low,
                    a.low * b.high,
                    a.high * b.low,
                    a.high * b.high,
                ];
                small(value, *ends.iter().min()?, *ends.iter().max()?)
            }
            Umad => {
                let (a, b, c) = (of(self, 0)?, of(self, 1)?, of(self, 2)?);
                let value = self.op(Mad, &[a.value, b.value, c.value]);
                let most = |n: &Number| n.low.abs().max(n.high.abs());
                let most = most(&a) * most(&b) + most(&c);
                small(value, -most, most)
            }
            Imin | Imax | Umin | Umax => {
                let (a, b) = (of(self, 0)?, of(self, 1)?);
                let unsigned = matches!(op, Umin | Umax);
                if unsigned && (a.low < 0 || b.low < 0) {
                    return None;
                }
                let least = matches!(op, Imin | Umin);
                let value = self.op(if least { Min } else { Max }, &[a.value, b.value]);
                let (low, high) = if least {
                    (a.low.min(b.low), a.high.min(b.high))
                } else {
                    (a.low.max(b.low), a.high.max(b.high))
                };
                Some(Number { value, low, high })
            }
            Ineg => {
                let n = of(self, 0)?;
                Some(self.negated(n))
            }
            Iabs => {
                let n = of(self, 0)?;
                let value = self.abs(n.value);
                Some(Number {
                    value,
                    low: 0,
                    high: n.low.abs().max(n.high.abs()),
                })
            }
            Issg => {
                let n = of(self, 0)?;
                let value = self.op(Ssg, &[n.value]);
                small(value, -1, 1)
            }
            Shl => {
                let k = word(self, 1)? & 31;
                let n = of(self, 0)?;
                let value = self.by(Mul, n.value, (1u64 << k) as f32);
                small(value, n.low << k, n.high << k)
            }
            Ushr | Ishr => {
                let k = word(self, 1)? & 31;
                let n = of(self, 0)?;
                if op == Ushr && n.low < 0 || n.high > EXACT || n.low < -EXACT {
                    return None;
                }
                let part = self.by(Mul, n.value, 1.0 / (1u64 << k) as f32);
                let value = self.op(Flr, &[part]);
                small(value, n.low >> k, n.high >> k)
            }
            Ucmp => self.either(d.args[0], d.args[1], d.args[2]),
            _ => None,
        }
    }

    fn negated(&mut self, n: Number) -> Number {
        self.contract = self.contract.and(Contract::NSZ);
        Number {
            value: self.neg(n.value),
            low: -n.high,
            high: -n.low,
        }
    }

    fn either(&mut self, c: Value, a: Value, b: Value) -> Option<Number> {
        let (a, b) = (self.number(a)?, self.number(b)?);
        let value = self.select(c, a.value, b.value)?;
        Some(Number {
            value,
            low: a.low.min(b.low),
            high: a.high.max(b.high),
        })
    }
}
