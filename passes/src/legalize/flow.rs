//! A function without branches: every arm runs, and phis, kills and stores are selected.

use smallvec::SmallVec;
use tgsi::{File, Inst, Opcode, Src};
use tgsi_ir::rewrite::{Node, known_branch};
use tgsi_ir::{
    Args, Body, Case, FUNCTION, Function, If, Item, LaneHint, Multi, MultiKind, RegionId, Slot,
    Switch, VOp, Value, ix,
};

use super::expand::source;
use crate::facts::is_bool_mask;
use crate::simplify::make;

/// Most values of the result.
const MOST: usize = 1 << 18;

/// The function without branches.
///
/// # Errors
/// What stands in a branch and cannot run always.
pub(super) fn flattened(old: &Function) -> Result<Function, String> {
    let mut c = Flat {
        old,
        new: old.successor(old.values.len() * 2),
        map: vec![None; old.values.len()],
        out: Body::default(),
        regions: vec![Region {
            id: FUNCTION,
            gone: None,
            results: Vec::new(),
        }],
    };
    let ends = c.items(&old.body.items, None)?;
    let end = match &old.end_args {
        Some(args) if ends => Some(c.args(args)?),
        _ => None,
    };
    let hint = old.values.iter().next().map(|(_, d)| d.hint);
    let top = c.regions.pop();
    c.new.end_args = match (top.and_then(|r| Some((r.gone?, r.results))), end) {
        (Some((gone, left)), Some(end)) => {
            let hint = hint.unwrap_or(LaneHint {
                inst: 0,
                lane: 0,
                depth: 0,
            });
            let pairs: Vec<_> = left.into_iter().zip(end).collect();
            Some(
                pairs
                    .into_iter()
                    .map(|(l, e)| c.select(gone, l, e, hint))
                    .collect(),
            )
        }
        (Some((_, left)), None) => Some(left),
        (None, end) => end,
    };
    c.new.body = c.out;
    Ok(c.new)
}

/// What may be left on the way: a SWITCH or the function.
struct Region {
    id: RegionId,
    /// Where it was left.
    gone: Option<Value>,
    /// Its results there.
    results: Vec<Value>,
}

struct Flat<'a> {
    old: &'a Function,
    new: Function,
    map: Vec<Option<Value>>,
    out: Body,
    regions: Vec<Region>,
}

/// A truth value of where control is; `None` is everywhere.
type Mask = Option<Value>;

impl Flat<'_> {
    fn args(&mut self, args: &[Value]) -> Result<Vec<Value>, String> {
        args.iter().map(|&a| self.value(a)).collect()
    }

    /// The copy of `v`, made with what it needs if there is none yet.
    fn value(&mut self, v: Value) -> Result<Value, String> {
        let mut stack: SmallVec<[Value; 16]> = SmallVec::from_slice(&[v]);
        while let Some(&v) = stack.last() {
            if self.map[ix(v)].is_some() {
                stack.pop();
                continue;
            }
            let d = &self.old.values[v];
            if let Some(&a) = d.args.iter().find(|&&a| self.map[ix(a)].is_none()) {
                stack.push(a);
                continue;
            }
            if matches!(d.op, VOp::Phi(_)) || stack.len() > self.old.values.len() {
                return Err("a value of a branch is read where it is not made".to_owned());
            }
            let args = d.args.iter().filter_map(|&a| self.map[ix(a)]).collect();
            let mut node = Node {
                op: d.op,
                precise: d.precise,
                wide: d.wide,
                args,
                hint: d.hint,
            };
            if let VOp::Multi(m) = d.op {
                let multi = self.old.multis[m.0 as usize].clone();
                node.op = VOp::Multi(self.new.multi(multi));
            }
            let made = node.intern(&mut self.new);
            if self.new.values.len() > MOST {
                return Err("it is too large without branches".to_owned());
            }
            self.map[ix(v)] = Some(made);
            stack.pop();
        }
        self.map[ix(v)].ok_or_else(|| "a value is missing".to_owned())
    }

    fn alu(&mut self, op: Opcode, args: &[Value], hint: LaneHint) -> Value {
        let node = Node {
            op: VOp::Alu(op),
            precise: false,
            wide: false,
            args: args.iter().copied().collect(),
            hint,
        };
        make(&mut self.new, node)
    }

    fn select(&mut self, m: Value, a: Value, b: Value, hint: LaneHint) -> Value {
        self.alu(Opcode::Ucmp, &[m, a, b], hint)
    }

    fn not(&mut self, m: Value) -> Value {
        let hint = self.new.values[m].hint;
        self.alu(Opcode::Not, &[m], hint)
    }

    fn both(&mut self, a: Mask, b: Mask) -> Mask {
        match (a, b) {
            (Some(a), Some(b)) if a == b => Some(a),
            (Some(a), Some(b)) => {
                let hint = self.new.values[b].hint;
                Some(self.alu(Opcode::And, &[a, b], hint))
            }
            (a, b) => a.or(b),
        }
    }

    /// `mask`, where none of the regions around has been left.
    fn here(&mut self, mask: Mask) -> Mask {
        let gone: SmallVec<[Value; 4]> = self.regions.iter().filter_map(|r| r.gone).collect();
        gone.into_iter().fold(mask, |mask, g| {
            let not = self.not(g);
            self.both(mask, Some(not))
        })
    }

    /// Copies items, which run where `mask` is true; whether control reaches their end.
    fn items(&mut self, items: &[Item], mask: Mask) -> Result<bool, String> {
        for item in items {
            match item {
                Item::Effect(v) => self.effect(*v, mask)?,
                Item::If(i) => {
                    if !self.branch(i, mask)? {
                        return Ok(false);
                    }
                }
                Item::Switch(s) => self.switch(s, mask)?,
                Item::Depart(id, args) => {
                    self.depart(*id, args, mask)?;
                    return Ok(false);
                }
                Item::Loop(_) => {
                    return Err("the number of iterations of a loop is not constant".to_owned());
                }
                Item::Repeat(..) => return Err("it holds a CONT".to_owned()),
            }
        }
        Ok(true)
    }

    fn depart(&mut self, id: RegionId, args: &[Value], mask: Mask) -> Result<(), String> {
        let here = self.here(mask);
        let args = self.args(args)?;
        let Some(k) = self.regions.iter().rposition(|r| r.id == id) else {
            return Err("it leaves a loop".to_owned());
        };
        let hint = LaneHint {
            inst: 0,
            lane: 0,
            depth: 0,
        };
        // Everywhere: nothing follows.
        let here = match here {
            Some(here) => here,
            None => self.new.imm(u32::MAX),
        };
        let Some(gone) = self.regions[k].gone else {
            self.regions[k].gone = Some(here);
            self.regions[k].results = args;
            return Ok(());
        };
        let old = std::mem::take(&mut self.regions[k].results);
        self.regions[k].results = args
            .iter()
            .zip(old)
            .map(|(&a, o)| self.select(here, a, o, hint))
            .collect();
        let all = self.alu(Opcode::Or, &[gone, here], hint);
        self.regions[k].gone = Some(all);
        Ok(())
    }

    /// Where a branch goes into its first arm.
    fn condition(&mut self, i: &If) -> Result<Value, String> {
        let c = self.value(i.cond)?;
        let hint = self.new.values[c].hint;
        if i.bits && is_bool_mask(&self.new, c) {
            return Ok(c);
        }
        let zero = self.new.imm(0);
        let op = if i.bits { Opcode::Usne } else { Opcode::Fsne };
        Ok(self.alu(op, &[c, zero], hint))
    }

    fn branch(&mut self, i: &If, mask: Mask) -> Result<bool, String> {
        if let Some(taken) = known_branch(self.old, i) {
            let (arm, args) = if taken {
                (&i.then, &i.then_args)
            } else {
                (&i.els, &i.else_args)
            };
            let ends = self.items(&arm.items, mask)?;
            if let Some(args) = args {
                let args = self.args(args)?;
                self.bind(&i.results, &args);
            }
            return Ok(ends);
        }
        let m = self.condition(i)?;
        let not = self.not(m);
        let (then, els) = (self.both(mask, Some(m)), self.both(mask, Some(not)));
        let first = self.items(&i.then.items, then)?;
        let second = self.items(&i.els.items, els)?;
        match (&i.then_args, &i.else_args) {
            (Some(a), Some(b)) if first && second => {
                for ((&p, &a), &b) in i.results.iter().zip(a).zip(b) {
                    let (a, b) = (self.value(a)?, self.value(b)?);
                    let hint = self.old.values[p].hint;
                    self.map[ix(p)] = Some(self.select(m, a, b, hint));
                }
                Ok(true)
            }
            (Some(args), _) if first => {
                let args = self.args(args)?;
                self.bind(&i.results, &args);
                Ok(true)
            }
            (_, Some(args)) if second => {
                let args = self.args(args)?;
                self.bind(&i.results, &args);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn bind(&mut self, phis: &[Value], values: &[Value]) {
        for (&p, &v) in phis.iter().zip(values) {
            self.map[ix(p)] = Some(v);
        }
    }

    /// A SWITCH: each case runs where its label matches or the case before it falls through.
    fn switch(&mut self, s: &Switch, mask: Mask) -> Result<(), String> {
        let hint = LaneHint {
            inst: s.at[0],
            lane: 0,
            depth: 0,
        };
        let selector = self.value(s.selector)?;
        let mut matches = Vec::new();
        let mut any: Mask = None;
        for c in &s.cases {
            let m = match c.label {
                Some(l) => {
                    let l = self.value(l)?;
                    let m = self.alu(Opcode::Useq, &[selector, l], hint);
                    any = Some(match any {
                        Some(a) => self.alu(Opcode::Or, &[a, m], hint),
                        None => m,
                    });
                    Some(m)
                }
                None => None,
            };
            matches.push(m);
        }
        let none = match any {
            Some(a) => self.not(a),
            None => self.new.imm(u32::MAX),
        };
        self.regions.push(Region {
            id: s.id,
            gone: None,
            results: Vec::new(),
        });
        let mut falls: Mask = None;
        for (c, m) in s.cases.iter().zip(&matches) {
            falls = self.case(c, m.unwrap_or(none), falls, mask)?;
        }
        let ends = match (&s.end_args, falls) {
            (Some(args), Some(_)) => Some(self.args(args)?),
            _ => None,
        };
        let nowhere = match &s.none_args {
            Some(args) => Some(self.args(args)?),
            None => None,
        };
        let Some(region) = self.regions.pop() else {
            return Err("a SWITCH is left twice".to_owned());
        };
        for (k, &p) in s.results.iter().enumerate() {
            let hint = self.old.values[p].hint;
            let mut v = nowhere.as_ref().map(|n| n[k]);
            if let (Some(ends), Some(falls)) = (&ends, falls) {
                v = Some(match v {
                    Some(v) => self.select(falls, ends[k], v, hint),
                    None => ends[k],
                });
            }
            if let Some(gone) = region.gone {
                v = Some(match v {
                    Some(v) => self.select(gone, region.results[k], v, hint),
                    None => region.results[k],
                });
            }
            let v = match v {
                Some(v) => v,
                None => self.new.imm(0),
            };
            self.map[ix(p)] = Some(v);
        }
        Ok(())
    }

    /// One case; where it falls through to the next.
    fn case(&mut self, c: &Case, entered: Value, falls: Mask, mask: Mask) -> Result<Mask, String> {
        let hint = self.new.values[entered].hint;
        for (k, &p) in c.params.iter().enumerate() {
            let entry = self.value(c.entry[k])?;
            let v = match (&c.fall, falls) {
                (Some(fall), Some(_)) => {
                    let fall = self.value(fall[k])?;
                    let hint = self.old.values[p].hint;
                    self.select(entered, entry, fall, hint)
                }
                _ => entry,
            };
            self.map[ix(p)] = Some(v);
        }
        let runs = match falls {
            Some(f) => self.alu(Opcode::Or, &[f, entered], hint),
            None => entered,
        };
        let around = self.both(mask, Some(runs));
        let ends = self.items(&c.body.items, around)?;
        if !ends {
            return Ok(None);
        }
        Ok(self.here(Some(runs)))
    }

    fn effect(&mut self, v: Value, mask: Mask) -> Result<(), String> {
        let d = &self.old.values[v];
        let VOp::Multi(m) = d.op else {
            return Err("an effect without an operation".to_owned());
        };
        let mut multi = self.old.multis[m.0 as usize].clone();
        let mut args: Args = self.args(&d.args)?.into_iter().collect();
        let hint = d.hint;
        if let Some(here) = self.here(mask) {
            self.within_array(&multi, &mut args, here, hint);
            match (multi.kind, multi.inst.op) {
                (MultiKind::Pinned | MultiKind::Load, _) => {}
                (_, Opcode::Kill) => {
                    let (less, zero) = (self.new.imm((-1f32).to_bits()), self.new.imm(0));
                    let a = self.select(here, less, zero, hint);
                    multi.inst.op = Opcode::KillIf;
                    multi.inst.srcs = SmallVec::from_slice(&[source()]);
                    multi.slots = (0..4).map(|c| Slot::Src(0, c)).collect();
                    args = SmallVec::from_slice(&[a; 4]);
                }
                (_, Opcode::KillIf) => {
                    let zero = self.new.imm(0);
                    for a in &mut args {
                        *a = self.select(here, *a, zero, hint);
                    }
                }
                (MultiKind::Store, _) => self.store(&multi, &mut args, here, hint)?,
                (_, op) => return Err(format!("{} stands in a branch", op.name())),
            }
        }
        let op = VOp::Multi(self.new.multi(multi));
        let copy = self.new.intern(op, d.precise, d.wide, args, hint);
        self.map[ix(v)] = Some(copy);
        self.out.items.push(Item::Effect(copy));
        Ok(())
    }

    /// Makes the index of a load or store the first of its array where `here` is false: it need not be
    /// within the array there.
    fn within_array(&mut self, multi: &Multi, args: &mut Args, here: Value, hint: LaneHint) {
        let (reg, slot) = match multi.kind {
            MultiKind::Load => (multi.inst.srcs.first().map(|s| s.reg), Slot::SrcIndex(0)),
            MultiKind::Store => (multi.inst.dsts.first().map(|d| d.reg), Slot::DstIndex),
            _ => return,
        };
        let Some(reg) = reg else { return };
        let Some(k) = multi.slots.iter().position(|&s| s == slot) else {
            return;
        };
        let id = reg.index.array;
        let array = self.new.arrays.iter().find(|a| id != 0 && a.2 == id);
        let first = array.map_or(0, |a| a.0.wrapping_sub(reg.index.base));
        let first = self.new.imm(first as u32);
        args[k] = self.select(here, args[k], first, hint);
    }

    /// Makes a store write what is there already where `here` is false.
    fn store(
        &mut self,
        multi: &Multi,
        args: &mut Args,
        here: Value,
        hint: LaneHint,
    ) -> Result<(), String> {
        let Some(dst) = multi.inst.dsts.first() else {
            return Err("a store without a destination".to_owned());
        };
        if dst.reg.file != File::Temp {
            return Err("an output that is read again is written in a branch".to_owned());
        }
        let mut slots = SmallVec::new();
        let mut addresses = Args::new();
        for (&s, &a) in multi.slots.iter().zip(args.iter()) {
            match s {
                Slot::DstDim => slots.push(Slot::SrcDim(0)),
                Slot::DstIndex => slots.push(Slot::SrcIndex(0)),
                _ => continue,
            }
            addresses.push(a);
        }
        let inst = Inst {
            srcs: SmallVec::from_slice(&[Src {
                reg: dst.reg,
                ..source()
            }]),
            ..Inst::bare(Opcode::Mov)
        };
        let load = Multi {
            inst,
            slots,
            kind: MultiKind::Load,
            results: 0xf,
        };
        let op = VOp::Multi(self.new.multi(load));
        let load = self.new.intern(op, false, false, addresses, hint);
        self.out.items.push(Item::Effect(load));
        for (&s, a) in multi.slots.iter().zip(args.iter_mut()) {
            if let Slot::Src(0, c) = s {
                let of = SmallVec::from_slice(&[load]);
                let old = self.new.intern(VOp::Proj(c), false, false, of, hint);
                *a = self.select(here, *a, old, hint);
            }
        }
        Ok(())
    }
}
