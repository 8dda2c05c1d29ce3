//! One rebuild that writes every operation the target does not take in operations that it takes.

use std::f32::consts::{FRAC_1_PI, PI};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{Dst, File, Inst, Opcode, Register, Src, XYZW};
use tgsi_egraph::Made;
use tgsi_ir::rewrite::Node;
use tgsi_ir::{Args, Function, LaneHint, Multi, MultiId, MultiKind, Slot, VOp, Value};
use tgsi_rules::{Contract, Op};
use tgsi_target::Taken;

use super::integers::Number;
use super::ways::{Ways, takes};
use crate::PassCx;
use crate::facts::ONE;
use crate::simplify::reduced;

/// Most ways inside each other.
const NESTED: u32 = 24;

/// The rebuild. What has no way stays as it is, to be told.
pub(super) struct Expand<'a> {
    /// The new function; outside of [`Expand::rule`] another one is in its place.
    pub f: Function,
    pub cx: &'a PassCx,
    pub taken: &'a Taken,
    ways: Ways,
    /// What the rewriting did not keep.
    pub contract: Contract,
    precise: bool,
    hint: LaneHint,
    nested: u32,
    /// Truth values as 0.0 or 1.0, see [`Expand::truth`].
    pub truths: FxHashMap<Value, Option<Value>>,
    /// Selections by what they select: condition, then, else.
    pub selects: FxHashMap<Value, [Value; 3]>,
    /// Phis of the old function that get a phi of floats beside them: truth values, and counters with
    /// their bounds.
    pub shadowed: FxHashMap<Value, Shadow>,
    /// Phis of the new function with the one that stands beside each, and the one of the old function.
    pub shadows: FxHashMap<Value, (Value, Shadow, Value)>,
    /// Phis of the old function for which that did not work out.
    pub refused: Vec<Value>,
    /// Tests of words, see [`Expand::test`].
    pub tests: FxHashMap<Value, Option<Value>>,
    /// What selects one of two words where a third is true.
    pub selected: FxHashMap<[Value; 3], Option<Value>>,
    /// Small integers as floats, see [`Expand::number`]; apart for what an address is computed from.
    pub numbers: FxHashMap<(Value, bool), Option<Number>>,
    /// Questions that are being asked.
    pub asked: u32,
    /// Whether integers are parts of an address, and small for that.
    pub address: bool,
}

/// What a phi of floats beside another one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shadow {
    /// A truth value.
    Truth,
    /// An integer between these.
    Number(i64, i64),
}

/// A source that is read as words.
pub(super) fn source() -> Src {
    Src {
        reg: Register::direct(File::Null, 0),
        swizzle: XYZW,
        abs: false,
        neg: false,
        span: Default::default(),
    }
}

impl<'a> Expand<'a> {
    pub(super) fn new(old: &Function, cx: &'a PassCx) -> Expand<'a> {
        Expand {
            f: old.successor(0),
            cx,
            taken: &cx.taken,
            ways: Ways::new(&cx.taken),
            contract: Contract::EXACT,
            precise: false,
            hint: LaneHint {
                inst: 0,
                lane: 0,
                depth: 0,
            },
            nested: 0,
            truths: FxHashMap::default(),
            selects: FxHashMap::default(),
            shadowed: FxHashMap::default(),
            shadows: FxHashMap::default(),
            refused: Vec::new(),
            tests: FxHashMap::default(),
            selected: FxHashMap::default(),
            numbers: FxHashMap::default(),
            asked: 0,
            address: false,
        }
    }

    /// The rule of the rebuild.
    pub(super) fn rule(&mut self, g: &mut Function, origin: Value, node: Node) -> Value {
        std::mem::swap(&mut self.f, g);
        self.precise = node.precise;
        self.hint = node.hint;
        let v = self.node(node);
        if let Some(&shadow) = self.shadowed.get(&origin) {
            let beside = self.f.phi(self.hint);
            self.shadows.insert(v, (beside, shadow, origin));
        }
        std::mem::swap(&mut self.f, g);
        v
    }

    fn node(&mut self, node: Node) -> Value {
        match node.op {
            VOp::Imm(_) | VOp::Undef(_) | VOp::Phi(_) | VOp::Pair | VOp::Half(_) => {
                node.intern(&mut self.f)
            }
            VOp::Reg(..) => self.with_addresses(node, |_| true),
            VOp::Neg | VOp::Abs | VOp::Sat | VOp::Alu(_) => self.legal(node),
            VOp::INeg => node.intern(&mut self.f),
            VOp::Multi(m) => self.multi(node, m),
            VOp::Proj(c) => match self.channel(&node, c) {
                Some(v) => v,
                None => node.intern(&mut self.f),
            },
        }
    }

    /// Whether the target has not got an operation of the new function, or a float stands beside it.
    pub(super) fn is_foreign(&self, v: Value) -> bool {
        match self.f.values[v].op {
            VOp::Alu(op) => !self.taken.takes(op),
            VOp::INeg => !self.taken.integers,
            VOp::Phi(_) => self.shadows.contains_key(&v),
            _ => false,
        }
    }

    /// The operation, or what stands for it.
    fn legal(&mut self, node: Node) -> Value {
        let op = match node.op {
            VOp::Alu(op) => Op::Alu(op),
            VOp::Neg => Op::Neg,
            VOp::Abs => Op::Abs,
            VOp::Sat => Op::Sat,
            _ => return node.intern(&mut self.f),
        };
        let narrow = !node.wide && node.args.iter().all(|&a| !self.f.values[a].wide);
        if takes(self.taken, op) {
            let node = if op == Op::Alu(Opcode::Cmp) {
                self.plain_choice(node)
            } else {
                node
            };
            return node.intern(&mut self.f);
        }
        if !narrow || self.nested > NESTED {
            return node.intern(&mut self.f);
        }
        self.nested += 1;
        let v = match self.ways.of(op) {
            Some(way) if self.nested > 1 || self.cx.spend("legalize", Some(node.hint)) => {
                self.contract = self.contract.and(way.contract);
                Some((way.build)(self, &node.args))
            }
            Some(_) => None,
            None => self.integer(&node),
        };
        self.nested -= 1;
        v.unwrap_or_else(|| node.intern(&mut self.f))
    }

    /// A choice by a truth value that is itself a choice tests what that one tests.
    fn plain_choice(&self, mut node: Node) -> Node {
        let c = &self.f.values[node.args[0]];
        if c.op != VOp::Neg {
            return node;
        }
        let t = &self.f.values[c.args[0]];
        if t.op != VOp::Alu(Opcode::Cmp) {
            return node;
        }
        match (self.f.as_imm(t.args[1]), self.f.as_imm(t.args[2])) {
            (Some(ONE), Some(0)) => node.args[0] = t.args[0],
            (Some(0), Some(ONE)) => {
                node.args[0] = t.args[0];
                node.args.swap(1, 2);
            }
            _ => {}
        }
        node
    }

    /// An operation, simplified and expanded.
    fn make(&mut self, op: VOp, args: &[Value]) -> Value {
        let node = Node {
            op,
            precise: self.precise && matches!(op, VOp::Alu(_)),
            wide: false,
            args: args.iter().copied().collect(),
            hint: self.hint,
        };
        match reduced(&mut self.f, node, self.taken) {
            Made::Value(v) => v,
            Made::Node(node) => self.legal(node),
        }
    }

    pub(super) fn op(&mut self, op: Opcode, args: &[Value]) -> Value {
        self.make(VOp::Alu(op), args)
    }

    pub(super) fn num(&mut self, x: f32) -> Value {
        self.f.imm(x.to_bits())
    }

    /// The number that a value is.
    pub(super) fn known(&self, v: Value) -> Option<f32> {
        self.f.as_imm(v).map(f32::from_bits)
    }

    pub(super) fn first_era(&self) -> bool {
        self.f.first_era
    }

    pub(super) fn neg(&mut self, v: Value) -> Value {
        if self.f.values[v].op == VOp::Neg {
            return self.f.values[v].args[0];
        }
        self.make(VOp::Neg, &[v])
    }

    pub(super) fn abs(&mut self, v: Value) -> Value {
        self.make(VOp::Abs, &[v])
    }

    /// An operation with a constant as the second operand.
    pub(super) fn by(&mut self, op: Opcode, v: Value, x: f32) -> Value {
        let x = self.num(x);
        self.op(op, &[v, x])
    }

    pub(super) fn minus(&mut self, a: Value, b: Value) -> Value {
        let n = self.neg(b);
        self.op(Opcode::Add, &[a, n])
    }

    /// What is below zero exactly where `a < b`.
    pub(super) fn difference(&mut self, a: Value, b: Value) -> Value {
        if self.known(b) == Some(0.0) {
            a
        } else if self.known(a) == Some(0.0) {
            self.neg(b)
        } else {
            self.minus(a, b)
        }
    }

    /// What is below zero exactly where `a` and `b` differ.
    pub(super) fn distance(&mut self, a: Value, b: Value) -> Value {
        let d = self.difference(a, b);
        let d = self.abs(d);
        self.neg(d)
    }

    /// One constant where `d` is below zero, else the other.
    pub(super) fn truth_of(&mut self, d: Value, below: f32, other: f32) -> Value {
        let (below, other) = (self.num(below), self.num(other));
        self.op(Opcode::Cmp, &[d, below, other])
    }

    /// `1 - t`.
    pub(super) fn inverse(&mut self, t: Value) -> Value {
        let one = self.num(1.0);
        self.minus(one, t)
    }

    /// `a` where `t` is 1.0, `b` where it is 0.0.
    pub(super) fn blend(&mut self, t: Value, a: Value, b: Value) -> Value {
        if self.known(b) == Some(0.0) {
            return self.op(Opcode::Mul, &[t, a]);
        }
        let rest = self.inverse(t);
        let second = self.op(Opcode::Mul, &[rest, b]);
        if self.known(a) == Some(0.0) {
            return second;
        }
        self.op(Opcode::Mad, &[t, a, second])
    }

    /// `x` to a constant power.
    pub(super) fn power(&mut self, x: Value, e: f32) -> Value {
        let l = self.op(Opcode::Lg2, &[x]);
        let m = self.by(Opcode::Mul, l, e);
        self.op(Opcode::Ex2, &[m])
    }

    /// The angle of -pi to pi that is `x` less whole turns.
    pub(super) fn reduced(&mut self, x: Value) -> Value {
        let (scale, half) = (self.num(FRAC_1_PI / 2.0), self.num(0.5));
        let turns = self.op(Opcode::Mad, &[x, scale, half]);
        let part = self.op(Opcode::Frc, &[turns]);
        let (turn, start) = (self.num(2.0 * PI), self.num(-PI));
        self.op(Opcode::Mad, &[part, turn, start])
    }

    /// `-op(-a, -b)`.
    pub(super) fn mirrored(&mut self, op: Opcode, a: &[Value]) -> Value {
        let args = [self.neg(a[0]), self.neg(a[1])];
        let v = self.op(op, &args);
        self.neg(v)
    }

    pub(super) fn between(&mut self, x: Value, low: f32, high: f32) -> Value {
        let m = self.by(Opcode::Max, x, low);
        self.by(Opcode::Min, m, high)
    }

    /// A dot product over more channels, of which one side is 0. The zeros cost nothing if they stand
    /// beside constants; the other side may be anything there.
    pub(super) fn padded(&mut self, op: Opcode, a: &[Value]) -> Value {
        let zero = self.num(0.0);
        let (n, m) = (a.len() / 2, if op == Opcode::Dp3 { 3 } else { 4 });
        let constant = |s: &[Value]| s.iter().all(|&v| self.f.as_imm(v).is_some());
        let (first, second) = (constant(&a[..n]), constant(&a[n..]));
        if !first && !second && self.taken.takes(Opcode::Mul) && self.taken.takes(Opcode::Mad) {
            return super::ways::dot(self, a);
        }
        let side = |s: &[Value], rest: Value| -> Args {
            (0..m).map(|k| *s.get(k).unwrap_or(&rest)).collect()
        };
        let mut args = side(&a[..n], if second { a[n - 1] } else { zero });
        args.extend(side(&a[n..], if second { zero } else { a[2 * n - 1] }));
        if !first && !second {
            args[m + n..].fill(zero);
        }
        self.op(op, &args)
    }

    /// A dot product from the one over a channel less.
    pub(super) fn longer(&mut self, op: Opcode, a: &[Value]) -> Value {
        let n = a.len() / 2;
        let mut args: Args = a[..n - 1].iter().copied().collect();
        args.extend(a[n..2 * n - 1].iter().copied());
        let sum = self.op(op, &args);
        self.op(Opcode::Mad, &[a[n - 1], a[2 * n - 1], sum])
    }

    /// Channel `c` of a vector operation of one scalar.
    pub(super) fn channel_of(&mut self, op: Opcode, x: Value, c: u8) -> Value {
        let inst = Inst {
            precise: self.precise,
            dsts: SmallVec::from_slice(&[Dst {
                reg: Register::direct(File::Null, 0),
                mask: 1 << c,
                span: Default::default(),
            }]),
            srcs: SmallVec::from_slice(&[source()]),
            ..Inst::bare(op)
        };
        let m = self.f.multi(Multi {
            inst,
            slots: SmallVec::from_slice(&[Slot::Src(0, 0)]),
            kind: MultiKind::Pure,
            results: 1 << c,
        });
        let args = |v| SmallVec::from_slice(&[v]);
        let v = self
            .f
            .intern(VOp::Multi(m), self.precise, false, args(x), self.hint);
        let hint = self.hint;
        self.f.intern(VOp::Proj(c), false, false, args(v), hint)
    }

    /// A register or operation whose addresses are in terms of what the target has; `is_address`
    /// tells the operands that are.
    fn with_addresses(&mut self, mut node: Node, is_address: impl Fn(usize) -> bool) -> Value {
        if !self.taken.integers {
            for (k, a) in node.args.iter_mut().enumerate() {
                if is_address(k)
                    && (self.is_foreign(*a) || self.f.as_imm(*a).is_none())
                    && !matches!(self.f.values[*a].op, VOp::Alu(Opcode::Arl | Opcode::Arr))
                    && let Some(n) = self.index(*a)
                {
                    *a = self.op(Opcode::Arl, &[n.value]);
                }
            }
        }
        node.intern(&mut self.f)
    }

    fn multi(&mut self, mut node: Node, m: MultiId) -> Value {
        let multi = self.f.multis[m.0 as usize].clone();
        let op = multi.inst.op;
        let at = |s: Slot| multi.slots.iter().position(|&t| t == s);
        match op {
            Opcode::Kill if !self.taken.takes(op) && self.taken.takes(Opcode::KillIf) => {
                let less = self.num(-1.0);
                let mut kill = multi;
                kill.inst.op = Opcode::KillIf;
                kill.inst.srcs = SmallVec::from_slice(&[source()]);
                kill.slots = (0..4).map(|c| Slot::Src(0, c)).collect();
                node.args = SmallVec::from_slice(&[less; 4]);
                node.op = VOp::Multi(self.f.multi(kill));
            }
            Opcode::KillIf => {
                for a in &mut node.args {
                    *a = self.tested(*a);
                }
            }
            Opcode::Txp if !self.taken.takes(op) && self.taken.takes(Opcode::Tex) => {
                let Some(w) = at(Slot::Src(0, 3)) else {
                    return node.intern(&mut self.f);
                };
                self.contract = self.contract.and(Contract::ARCP);
                let r = self.op(Opcode::Rcp, &[node.args[w]]);
                for c in 0..3 {
                    if let Some(k) = at(Slot::Src(0, c)) {
                        node.args[k] = self.op(Opcode::Mul, &[node.args[k], r]);
                    }
                }
                let mut fetch = multi.clone();
                fetch.inst.op = Opcode::Tex;
                fetch.slots.remove(w);
                node.args.remove(w);
                node.op = VOp::Multi(self.f.multi(fetch));
            }
            Opcode::TexLz if !self.taken.takes(op) && self.taken.takes(Opcode::Txl) => {
                if at(Slot::Src(0, 3)).is_none() {
                    let mut fetch = multi.clone();
                    fetch.inst.op = Opcode::Txl;
                    // The level stands behind the coordinate, before other operands.
                    let k = multi
                        .slots
                        .iter()
                        .take_while(|s| matches!(s, Slot::Src(0, _)))
                        .count();
                    fetch.slots.insert(k, Slot::Src(0, 3));
                    let zero = self.num(0.0);
                    node.args.insert(k, zero);
                    node.op = VOp::Multi(self.f.multi(fetch));
                }
            }
            Opcode::DdxFine | Opcode::DdyFine if !self.taken.takes(op) => {
                let coarse = if op == Opcode::DdxFine {
                    Opcode::Ddx
                } else {
                    Opcode::Ddy
                };
                if self.taken.takes(coarse) {
                    self.contract = self.contract.and(Contract::AFN);
                    let mut d = multi;
                    d.inst.op = coarse;
                    node.op = VOp::Multi(self.f.multi(d));
                }
            }
            _ => {
                let address = |k: usize| {
                    matches!(
                        multi.slots.get(k),
                        Some(Slot::SrcIndex(_) | Slot::SrcDim(_) | Slot::DstIndex | Slot::DstDim)
                    )
                };
                return self.with_addresses(node, address);
            }
        }
        node.intern(&mut self.f)
    }

    /// What a KILL_IF may test in place of `v`: below zero at the same time.
    fn tested(&mut self, v: Value) -> Value {
        let d = &self.f.values[v];
        let (t, one) = match d.op {
            VOp::Neg => (d.args[0], 1.0),
            _ => (v, -1.0),
        };
        let t = &self.f.values[t];
        if t.op == VOp::Alu(Opcode::Cmp)
            && self.known(t.args[1]) == Some(one)
            && self.known(t.args[2]) == Some(0.0)
        {
            return t.args[0];
        }
        v
    }

    /// A channel of a vector operation that the target does not take.
    fn channel(&mut self, node: &Node, c: u8) -> Option<Value> {
        let v = node.args[0];
        let multi = self.f.as_multi(v)?;
        let op = multi.inst.op;
        if self.taken.takes(op) || multi.kind != MultiKind::Pure || c > 3 {
            return None;
        }
        let sat = multi.inst.sat;
        let words: SmallVec<[(Slot, Value); 8]> = multi
            .slots
            .iter()
            .copied()
            .zip(self.f.values[v].args.iter().copied())
            .collect();
        if !self.cx.spend("legalize", Some(node.hint)) {
            return None;
        }
        self.precise = self.f.values[v].precise;
        let result = self.vector(op, c, &words)?;
        Some(if sat {
            self.make(VOp::Sat, &[result])
        } else {
            result
        })
    }

    /// Channel `c` of a vector operation on `words`.
    fn vector(&mut self, op: Opcode, c: u8, words: &[(Slot, Value)]) -> Option<Value> {
        use Opcode::*;
        let zero = self.num(0.0);
        let one = self.num(1.0);
        let s = |k: u8, c: u8| {
            let found = words.iter().find(|w| w.0 == Slot::Src(k, c));
            found.map_or(zero, |w| w.1)
        };
        let all = |k: u8, n: u8| -> SmallVec<[Value; 4]> { (0..n).map(|c| s(k, c)).collect() };
        let both = |n: u8| -> SmallVec<[Value; 8]> {
            let mut v: SmallVec<[Value; 8]> = all(0, n).into_iter().collect();
            v.extend(all(1, n));
            v
        };
        Some(match (op, c) {
            (Lit | Log | Exp | Nrm | Xpd | Rfl, 3) | (Lit | Dst, 0) | (Scs, 3) => one,
            (Lit, 1) => self.op(Max, &[s(0, 0), zero]),
            (Lit, _) => {
                let base = self.op(Max, &[s(0, 1), zero]);
                let power = self.between(s(0, 3), -128.0, 128.0);
                let p = self.op(Pow, &[base, power]);
                let below = self.neg(s(0, 0));
                self.op(Cmp, &[below, p, zero])
            }
            (Exp, 0) => {
                let l = self.op(Flr, &[s(0, 0)]);
                self.op(Ex2, &[l])
            }
            (Exp, 1) => self.op(Frc, &[s(0, 0)]),
            (Exp, _) => self.op(Ex2, &[s(0, 0)]),
            (Log, _) => {
                let x = self.abs(s(0, 0));
                let l = self.op(Lg2, &[x]);
                if c == 2 {
                    return Some(l);
                }
                let whole = self.op(Flr, &[l]);
                if c == 0 {
                    return Some(whole);
                }
                self.contract = self.contract.and(Contract::AFN);
                let n = self.neg(whole);
                let scale = self.op(Ex2, &[n]);
                self.op(Mul, &[x, scale])
            }
            (Dst, 1) => self.op(Mul, &[s(0, 1), s(1, 1)]),
            (Dst, 2) => s(0, 2),
            (Dst, _) => s(1, 3),
            (Scs, 0) => self.op(Cos, &[s(0, 0)]),
            (Scs, 1) => self.op(Sin, &[s(0, 0)]),
            (Scs, _) => zero,
            (Xpd, _) => {
                let (i, j) = ((c + 1) % 3, (c + 2) % 3);
                let m = self.op(Mul, &[s(0, j), s(1, i)]);
                let n = self.neg(m);
                self.op(Mad, &[s(0, i), s(1, j), n])
            }
            (Nrm | Nrm4, _) => {
                let (dp, n) = if op == Nrm { (Dp3, 3) } else { (Dp4, 4) };
                let mut args = all(0, n);
                args.extend(all(0, n));
                let d = self.op(dp, &args);
                let r = self.op(Rsq, &[d]);
                self.op(Mul, &[s(0, c), r])
            }
            (Rfl, _) => {
                let d = self.op(Dp3, &both(3));
                let mut own = all(0, 3);
                own.extend(all(0, 3));
                let e = self.op(Dp3, &own);
                let q = self.op(Div, &[d, e]);
                let q = self.op(Add, &[q, q]);
                let n = self.neg(s(1, c));
                self.op(Mad, &[q, s(0, c), n])
            }
            (X2d, _) => {
                let k = c % 2;
                let m = self.op(Mad, &[s(1, 0), s(2, 2 * k), s(0, k)]);
                self.op(Mad, &[s(1, 1), s(2, 2 * k + 1), m])
            }
            (Dph, _) => {
                if !self.taken.takes(Dp3) && self.taken.takes(Dp4) {
                    let mut args = all(0, 3);
                    args.push(one);
                    args.extend(all(1, 4));
                    return Some(self.op(Dp4, &args));
                }
                let d = self.op(Dp3, &both(3));
                self.op(Add, &[d, s(1, 3)])
            }
            (Dp2a, _) => {
                let d = self.op(Dp2, &both(2));
                self.op(Add, &[d, s(2, 0)])
            }
            _ => return None,
        })
    }
}
