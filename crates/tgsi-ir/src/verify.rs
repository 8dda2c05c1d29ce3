//! The rules that every function keeps, checked.
//!
//! | code | rule |
//! |------|------|
//! | V01 | operands precede their value in the arena |
//! | V02 | an operation has as many operands as its opcode takes |
//! | V03 | operand widths are those of the opcode |
//! | V04 | a value's width is that of its operation |
//! | V05 | `Half` takes a wide value, and a half of 0 or 1 |
//! | V06 | `Proj` takes a multi-result operation and one of its results |
//! | V07 | a multi-result operation and a register reference exist, with one slot an operand |
//! | V08 | equal operations on equal operands are one value |
//! | V09 | a phi is in exactly one list of a region, and only phis are |
//! | V10 | an argument list is as long as the list of phis or outputs it feeds |
//! | V11 | Depart leaves, and Repeat repeats, a region around it |
//! | V12 | effects are placed operations, each placed once |
//! | V13 | operands of a value exist together: their places are on one line of dominance |
//! | V14 | nothing follows Depart or Repeat in a body |
//! | V15 | a value exists where an effect, a condition or an edge uses it |
//! | V16 | arguments at the end of a body are there if its end can be reached, and are not if no branch, decided or not, leads there |
//! | V17 | a phi or placed operation that is used has a place in the tree |
//! | V18 | a condition, selector or argument is a 32-bit value; labels are constants |
//!
//! Unreachable arms of decided branches are not looked into for dominance. All violations are
//! reported, in the order of the codes' subjects: values first, then the tree.

use rustc_hash::FxHashMap;
use tgsi::Shape;

use crate::cfg::{Cfg, reached};
use crate::ir::*;
use crate::rewrite::{departs, ends_body, never_ends};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Code of the rule, such as `V01`.
    pub code: &'static str,
    /// The value at fault, if it is one.
    pub at: Option<Value>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at {
            Some(v) => write!(f, "{} at %{}: {}", self.code, ix(v), self.message),
            None => write!(f, "{}: {}", self.code, self.message),
        }
    }
}

/// Checks every rule.
pub fn verify(f: &Function) -> Vec<Violation> {
    let mut v = Verifier {
        f,
        found: Vec::new(),
        regions: Vec::new(),
        phis: FxHashMap::default(),
        placed: FxHashMap::default(),
    };
    v.values();
    let operands_sound = v.found.is_empty();
    v.body(&f.body);
    v.end(&f.body, f.end_args.is_some(), "the function");
    if let Some(args) = &f.end_args {
        v.args(args, f.outputs.len(), "outputs");
    }
    v.once();
    if operands_sound {
        v.dominance();
    }
    v.found
}

struct Verifier<'a> {
    f: &'a Function,
    found: Vec<Violation>,
    /// Regions around: number, results, parameters of loops.
    regions: Vec<(RegionId, usize, Option<usize>)>,
    /// How often each value is in a phi list.
    phis: FxHashMap<Value, u32>,
    /// How often each value is an effect.
    placed: FxHashMap<Value, u32>,
}

impl Verifier<'_> {
    fn fault(&mut self, code: &'static str, at: Option<Value>, message: impl Into<String>) {
        self.found.push(Violation {
            code,
            at,
            message: message.into(),
        });
    }

    fn wide(&self, v: Value) -> bool {
        self.f.values[v].wide
    }

    fn values(&mut self) {
        let mut keys: FxHashMap<(VOp, bool, &Args), Value> = FxHashMap::default();
        for (v, d) in self.f.values.iter() {
            if d.args.iter().any(|&a| ix(a) >= ix(v)) {
                self.fault("V01", Some(v), "an operand comes later in the arena");
                continue;
            }
            if let Some(first) = keys.insert((d.op, d.precise, &d.args), v) {
                self.fault("V08", Some(v), format!("is the same as %{}", ix(first)));
            }
            self.value(v, d);
        }
    }

    fn value(&mut self, v: Value, d: &ValueData) {
        let expected = match d.op {
            VOp::Imm(_) | VOp::Undef(_) | VOp::Phi(_) => 0,
            VOp::Reg(r, _) => match self.f.regs.get(r.0 as usize) {
                Some(r) => r.addresses(),
                None => return self.fault("V07", Some(v), "no such register reference"),
            },
            VOp::Alu(op) => match op.info().shape {
                Shape::Dot(n) => usize::from(op.info().srcs) * usize::from(n),
                _ => usize::from(op.info().srcs),
            },
            VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat | VOp::Half(_) | VOp::Proj(_) => 1,
            VOp::Pair => 2,
            VOp::Multi(m) => match self.f.multis.get(m.0 as usize) {
                Some(m) if m.slots.len() == d.args.len() => d.args.len(),
                Some(m) => {
                    let message = format!("{} slots for {} operands", m.slots.len(), d.args.len());
                    return self.fault("V07", Some(v), message);
                }
                None => return self.fault("V07", Some(v), "no such operation"),
            },
        };
        if d.args.len() != expected {
            let message = format!("{} operands instead of {expected}", d.args.len());
            return self.fault("V02", Some(v), message);
        }
        self.widths(v, d);
    }

    fn widths(&mut self, v: Value, d: &ValueData) {
        let first_wide = d.args.first().is_some_and(|&a| self.wide(a));
        let (own, operands) = match d.op {
            VOp::Alu(op) => {
                let info = op.info();
                let per_source = match info.shape {
                    Shape::Dot(n) => usize::from(n),
                    _ => 1,
                };
                let bad = (0..d.args.len()).any(|i| {
                    info.src_ty
                        .get(i / per_source)
                        .is_some_and(|t| t.is_wide() != self.wide(d.args[i]))
                });
                (info.dst_ty.is_wide(), !bad)
            }
            VOp::Sat => (first_wide, true),
            VOp::Neg | VOp::Abs | VOp::INeg => (first_wide, !first_wide),
            VOp::Pair => (true, !d.args.iter().any(|&a| self.wide(a))),
            VOp::Half(h) => {
                if !first_wide || h > 1 {
                    self.fault("V05", Some(v), "a half of what is not wide");
                }
                (false, true)
            }
            VOp::Proj(c) => {
                let ok = self
                    .f
                    .as_multi(d.args[0])
                    .is_some_and(|m| c < 8 && m.results >> c & 1 != 0);
                if !ok {
                    self.fault("V06", Some(v), "no such result");
                }
                (false, true)
            }
            VOp::Imm(_) | VOp::Undef(_) | VOp::Phi(_) | VOp::Reg(..) | VOp::Multi(_) => {
                (false, !d.args.iter().any(|&a| self.wide(a)))
            }
        };
        if !operands {
            self.fault("V03", Some(v), "an operand of the wrong width");
        }
        if own != d.wide {
            self.fault("V04", Some(v), "the value has the wrong width");
        }
    }

    fn define(&mut self, phis: &[Value]) {
        for &p in phis {
            if !matches!(self.f.values[p].op, VOp::Phi(_)) {
                self.fault("V09", Some(p), "not a phi, but in a list of phis");
            }
            *self.phis.entry(p).or_default() += 1;
        }
    }

    fn args(&mut self, args: &[Value], wanted: usize, what: &str) {
        if args.len() != wanted {
            self.fault(
                "V10",
                None,
                format!("{} arguments for {wanted} {what}", args.len()),
            );
        }
        args.iter().for_each(|&a| self.narrow(a, "an argument"));
    }

    fn narrow(&mut self, v: Value, what: &str) {
        if self.wide(v) {
            self.fault("V18", Some(v), format!("{what} is 64 bits wide"));
        }
    }

    fn end(&mut self, body: &Body, has_args: bool, what: &str) {
        let reaches = !body.items.iter().any(|i| ends_body(self.f, i));
        if reaches && !has_args {
            self.fault(
                "V16",
                None,
                format!("the end of {what} is reached without arguments"),
            );
        }
        if has_args && body.items.iter().any(never_ends) {
            self.fault(
                "V16",
                None,
                format!("arguments at the end of {what}, which is not reached"),
            );
        }
    }

    fn body(&mut self, body: &Body) {
        for (n, item) in body.items.iter().enumerate() {
            if matches!(item, Item::Depart(..) | Item::Repeat(..)) && n + 1 < body.items.len() {
                self.fault("V14", None, "something follows a departure");
            }
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Effect(v) => {
                if self
                    .f
                    .as_multi(*v)
                    .is_none_or(|m| m.kind == MultiKind::Pure)
                {
                    self.fault("V12", Some(*v), "an effect that is no placed operation");
                }
                *self.placed.entry(*v).or_default() += 1;
            }
            Item::If(i) => {
                self.narrow(i.cond, "a condition");
                for (arm, args) in [(&i.then, &i.then_args), (&i.els, &i.else_args)] {
                    self.body(arm);
                    self.end(arm, args.is_some(), "an arm");
                    if let Some(args) = args {
                        self.args(args, i.results.len(), "results of a branch");
                    }
                }
                self.define(&i.results);
            }
            Item::Loop(l) => {
                self.args(&l.inits, l.params.len(), "parameters of a loop");
                self.define(&l.params);
                self.regions
                    .push((l.id, l.results.len(), Some(l.params.len())));
                self.body(&l.body);
                self.regions.pop();
                self.end(&l.body, l.back.is_some(), "a loop body");
                if let Some(b) = &l.back {
                    self.args(b, l.params.len(), "parameters of a loop");
                }
                if l.exits != departs(&l.body.items, l.id) {
                    self.fault(
                        "V16",
                        None,
                        format!("loop {} is wrong about being left", l.id.0),
                    );
                }
                self.define(&l.results);
            }
            Item::Switch(s) => self.switch(s),
            Item::Depart(FUNCTION, args) => self.args(args, self.f.outputs.len(), "outputs"),
            Item::Depart(id, args) => match self.regions.iter().rev().find(|r| r.0 == *id).copied()
            {
                Some((_, results, _)) => self.args(args, results, "results of a region"),
                None => self.fault(
                    "V11",
                    None,
                    format!("departs from {}, which is not around it", id.0),
                ),
            },
            Item::Repeat(id, args) => match self.regions.iter().rev().find(|r| r.0 == *id).copied()
            {
                Some((_, _, Some(params))) => self.args(args, params, "parameters of a loop"),
                _ => self.fault(
                    "V11",
                    None,
                    format!("repeats {}, which is no loop around it", id.0),
                ),
            },
        }
    }

    fn switch(&mut self, s: &Switch) {
        self.narrow(s.selector, "a selector");
        self.regions.push((s.id, s.results.len(), None));
        // Where the last body seen ends, control falls into the next case, or out of the switch.
        let mut before: Option<&Body> = None;
        for c in &s.cases {
            match before.replace(&c.body) {
                Some(body) => self.end(body, c.fall.is_some(), "a case"),
                None if c.fall.is_some() => {
                    self.fault("V16", None, "something falls into the first case");
                }
                None => {}
            }
            if let Some(l) = c.label
                && !matches!(self.f.values[l].op, VOp::Imm(_) | VOp::Reg(..))
            {
                self.fault("V18", Some(l), "a label that is not constant");
            }
            self.define(&c.params);
            self.args(&c.entry, c.params.len(), "parameters of a case");
            if let Some(fall) = &c.fall {
                self.args(fall, c.params.len(), "parameters of a case");
            }
            self.body(&c.body);
        }
        self.regions.pop();
        match before {
            Some(body) => self.end(body, s.end_args.is_some(), "the last case"),
            None if s.end_args.is_some() => {
                self.fault("V16", None, "a switch without cases has a last one");
            }
            None => {}
        }
        if s.none_args.is_some() == s.cases.iter().any(|c| c.label.is_none()) {
            self.fault("V16", None, "a switch is wrong about what no case takes");
        }
        for args in [&s.end_args, &s.none_args].into_iter().flatten() {
            self.args(args, s.results.len(), "results of a switch");
        }
        self.define(&s.results);
    }

    /// Phis and effects that are in the tree more than once.
    fn once(&mut self) {
        for (v, _) in self.f.values.iter() {
            if self.phis.get(&v).is_some_and(|&n| n > 1) {
                self.fault("V09", Some(v), "in more than one list of phis");
            }
            if self.placed.get(&v).is_some_and(|&n| n > 1) {
                self.fault("V12", Some(v), "placed more than once");
            }
        }
    }

    fn dominance(&mut self) {
        let f = self.f;
        let cfg = Cfg::new(f);
        let used = reached(f, &cfg);
        let early = cfg.early(f);
        for (v, d) in f.values.iter() {
            if !used[ix(v)] || early[ix(v)].is_some() {
                continue;
            }
            let placed = matches!(d.op, VOp::Phi(_))
                || f.as_multi(v).is_some_and(|m| m.kind != MultiKind::Pure);
            if placed && cfg.def[ix(v)].is_none() {
                self.fault("V17", Some(v), "used, but has no place in the tree");
            } else if d.args.iter().all(|&a| early[ix(a)].is_some()) {
                self.fault("V13", Some(v), "its operands do not exist together");
            }
        }
        for &(v, place) in &cfg.uses {
            // An unreachable block has no dominators and is never run.
            if cfg.block_dominates(cfg.entry, place.block)
                && early[ix(v)].is_some_and(|e| !cfg.dominates(e, place))
            {
                self.fault(
                    "V15",
                    Some(v),
                    format!(
                        "used in block {}, where it does not exist",
                        place.block.index()
                    ),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
