//! The values of two functions as terms, equal ones once.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{AddrReg, File, Inst, Opcode, Register, Shape};
use tgsi_ir::{Function, Multi, MultiKind, RegRef, Slot, VOp, Value, ix};
use tgsi_rules::Op;

use super::structure::{Control, Flow, Gamma};
use crate::compile::op_index;
use crate::saturation::{Kind, Term32};

/// What is only known by its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Symbol {
    Reg(RegRef, u8),
    /// An operation that rules do not look into: by [`op_index`], `_PRECISE`, width.
    Opaque(u16, bool, bool),
    Pair,
    Half(u8),
    /// An instruction by template, behind these steps.
    Inst(u32, u32),
    /// One lane of an instruction by template, behind this step.
    Lane(u32, u32),
    Proj(u8),
    /// An effect by ordinal.
    Effect(u32),
    Entry,
    Arm(bool, bool),
    Inside(u32),
    /// A phi of a loop, by what it is held to be.
    Phi(u32),
    /// A value of one side that is equal to nothing else.
    Only(u8, u32),
}

/// Numbers of a term's operands.
pub(super) type Children = SmallVec<[u32; 4]>;

/// Instructions without their operands, numbered.
#[derive(Default)]
pub(super) struct Templates {
    /// Whether arrays of TEMP do not stand one for one: then each side's are its own.
    own_arrays: bool,
    all: Vec<(Inst, SmallVec<[Slot; 6]>)>,
    /// Places of those with one opcode, first destination and operands.
    by_key: FxHashMap<TemplateKey, Vec<u32>>,
}

type TemplateKey = (Opcode, Option<Register>, SmallVec<[Slot; 6]>);

impl Templates {
    pub(super) fn new(own_arrays: bool) -> Templates {
        Templates {
            own_arrays,
            ..Templates::default()
        }
    }

    /// The number of an instruction's template. Address registers, and the masks of results that no one
    /// sees, do not tell instructions apart.
    pub(super) fn of(&mut self, side: u8, f: &Function, m: &Multi, lane: Option<u8>) -> u32 {
        let mut inst = m.inst.clone();
        // The bounds of a buffer load are tested with its whole mask.
        let masked = inst.op == Opcode::Load && m.kind != MultiKind::Load;
        for d in &mut inst.dsts {
            if d.reg.file == File::Null && !masked {
                d.mask = 0xf;
            }
            self.plain(side, f, &mut d.reg);
        }
        for s in &mut inst.srcs {
            self.plain(side, f, &mut s.reg);
        }
        let slots = match lane {
            None => m.slots.clone(),
            Some(c) => lane_slots(m, c).map(|(_, s)| s).collect(),
        };
        let first = inst.dsts.first().map(|d| d.reg);
        let key = (inst.op, first, slots.clone());
        let found = self.by_key.entry(key).or_default();
        for &n in found.iter() {
            if self.all[n as usize].0 == inst {
                return n;
            }
        }
        let n = self.all.len() as u32;
        found.push(n);
        self.all.push((inst, slots));
        n
    }

    /// Takes out of a register what is the allocator's business: address registers, and where an array of
    /// TEMP begins.
    fn plain(&self, side: u8, f: &Function, reg: &mut Register) {
        let any = AddrReg {
            file: File::Addr,
            index: 0,
            comp: 0,
        };
        if let Some(a) = &mut reg.index.addr {
            *a = any;
        }
        if let Some(a) = reg.dim.as_mut().and_then(|d| d.addr.as_mut()) {
            *a = any;
        }
        if reg.file == File::Temp {
            let holds = |a: &&(i32, i32, u32)| match reg.index.array {
                0 => (a.0..=a.1).contains(&reg.index.base),
                n => a.2 == n,
            };
            if let Some((k, a)) = f.arrays.iter().enumerate().find(|(_, a)| holds(a)) {
                reg.index.base = reg.index.base.wrapping_sub(a.0);
                reg.index.array = k as u32 + 1;
                if self.own_arrays {
                    reg.dim = Some(tgsi::Index::direct(i32::from(side)));
                }
            }
        }
    }
}

/// The operands of lane `c`, which count as those of lane 0.
fn lane_slots(m: &Multi, c: u8) -> impl Iterator<Item = (usize, Slot)> + '_ {
    m.slots
        .iter()
        .enumerate()
        .filter_map(move |(i, s)| match *s {
            Slot::Src(k, chan) if chan == c => Some((i, Slot::Src(k, 0))),
            _ => None,
        })
}

/// Whether each result of an instruction comes from one lane of its operands.
fn is_lanewise(m: &Multi) -> bool {
    let info = m.inst.op.info();
    m.kind == MultiKind::Pinned
        && info.shape == Shape::Comp
        && !info.dst_ty.is_wide()
        && !info.src_ty.iter().any(|t| t.is_wide())
        && info.dsts == 1
        && m.slots.iter().all(|s| matches!(s, Slot::Src(..)))
}

/// Whether arrays of TEMP stand one for one.
pub(super) fn same_arrays(a: &Function, b: &Function) -> bool {
    let sizes = |f: &Function| -> Vec<i64> {
        f.arrays
            .iter()
            .map(|&(first, last, _)| i64::from(last) - i64::from(first))
            .collect()
    };
    sizes(a) == sizes(b)
}

/// What each phi of a loop is held to be, by arena position; others equal nothing.
pub(super) type Held = FxHashMap<usize, u32>;

/// One function and what is known of it.
pub(super) struct Side<'a> {
    pub number: u8,
    pub f: &'a Function,
    pub flow: &'a Flow,
    /// Values whose last bits count, by arena position.
    pub sensitive: &'a [bool],
    pub held: &'a Held,
}

/// Terms, operands first.
#[derive(Default)]
pub(super) struct Dag {
    pub terms: Vec<(Kind, Children)>,
    /// Whether the last bits of a term count.
    pub sensitive: Vec<bool>,
    known: FxHashMap<(Kind, Children), u32>,
    symbols: FxHashMap<Symbol, u32>,
}

impl Dag {
    fn term(&mut self, kind: Kind, children: Children) -> u32 {
        let next = self.terms.len() as u32;
        *self
            .known
            .entry((kind, children))
            .or_insert_with_key(|(kind, children)| {
                self.terms.push((*kind, children.clone()));
                self.sensitive.push(false);
                next
            })
    }

    fn symbol(&mut self, symbol: Symbol, children: Children) -> u32 {
        let next = self.symbols.len() as u32;
        let n = *self.symbols.entry(symbol).or_insert(next);
        self.term(Kind::Leaf(n), children)
    }

    /// What a branch gives: UCMP of its condition, which IF compares with zero first.
    fn selection(&mut self, bits: bool, cond: u32, then: u32, els: u32) -> u32 {
        let op = |op| Kind::Op(op_index(VOp::Alu(op)).unwrap_or_default() as u16);
        let test = if bits {
            cond
        } else {
            let zero = self.term(Kind::Imm(0), Children::new());
            let mut operands = Children::from_slice(&[cond, zero]);
            operands.sort_unstable();
            self.term(op(Opcode::Fsne), operands)
        };
        let children = Children::from_slice(&[test, then, els]);
        self.term(op(Opcode::Ucmp), children)
    }

    /// The test of a discard.
    pub(super) fn test(&mut self, of: u32) -> u32 {
        self.term(Kind::Kill, Children::from_slice(&[of]))
    }

    /// The test that never discards.
    pub(super) fn never(&mut self) -> u32 {
        let zero = self.term(Kind::Imm(0), Children::new());
        self.test(zero)
    }

    /// Adds the values of a function; their numbers.
    pub(super) fn add(&mut self, side: &Side<'_>, templates: &mut Templates) -> Vec<u32> {
        let mut b = Builder {
            dag: self,
            side,
            templates,
            ids: vec![None; side.f.values.len()],
            controls: vec![None; side.flow.controls.len()],
        };
        for (v, _) in side.f.values.iter() {
            let id = b.value(v);
            b.ids[ix(v)] = Some(id);
            if side.sensitive.get(ix(v)) == Some(&true) {
                b.dag.sensitive[id as usize] = true;
            }
        }
        b.ids.into_iter().flatten().collect()
    }
}

struct Builder<'a, 'b> {
    dag: &'a mut Dag,
    side: &'a Side<'b>,
    templates: &'a mut Templates,
    ids: Vec<Option<u32>>,
    controls: Vec<Option<u32>>,
}

impl Builder<'_, '_> {
    fn only(&mut self, v: Value) -> u32 {
        let symbol = Symbol::Only(self.side.number, ix(v) as u32);
        self.dag.symbol(symbol, Children::new())
    }

    fn operands(&self, args: &[Value]) -> Option<Children> {
        args.iter().map(|&a| self.ids[ix(a)]).collect()
    }

    fn value(&mut self, v: Value) -> u32 {
        let made = self.made(v);
        made.unwrap_or_else(|| self.only(v))
    }

    /// The term of a value; nothing if it is like no other.
    fn made(&mut self, v: Value) -> Option<u32> {
        let side = self.side;
        let f = side.f;
        let d = &f.values[v];
        let args = self.operands(&d.args)?;
        let symbol = match d.op {
            VOp::Imm(w) => return Some(self.dag.term(Kind::Imm(w), args)),
            VOp::Undef(_) => return None,
            VOp::Reg(r, c) => Symbol::Reg(f.regs[r.0 as usize], c),
            VOp::Alu(_) | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat => {
                return Some(self.operation(v, args));
            }
            VOp::Pair => Symbol::Pair,
            VOp::Half(h) => Symbol::Half(h),
            VOp::Multi(m) => return self.multi(v, &f.multis[m.0 as usize], args),
            VOp::Proj(c) => {
                if let Some(lane) = self.lane(*d.args.first()?, c) {
                    return lane;
                }
                Symbol::Proj(c)
            }
            VOp::Phi(_) => return self.phi(v),
        };
        Some(self.dag.symbol(symbol, args))
    }

    fn operation(&mut self, v: Value, mut args: Children) -> u32 {
        let f = self.side.f;
        let d = &f.values[v];
        let index = op_index(d.op).unwrap_or_default() as u16;
        let narrow = !d.wide && d.args.iter().all(|&a| !f.values[a].wide);
        if !narrow || d.precise {
            return self
                .dag
                .symbol(Symbol::Opaque(index, d.precise, d.wide), args);
        }
        if let VOp::Alu(op) = d.op
            && Op::Alu(op).commutes()
            && args.len() >= 2
        {
            args[..2].sort_unstable();
        }
        self.dag.term(Kind::Op(index), args)
    }

    fn multi(&mut self, v: Value, m: &Multi, mut args: Children) -> Option<u32> {
        let side = self.side;
        if let Some(&ordinal) = side.flow.effects.get(&ix(v)) {
            return Some(self.dag.symbol(Symbol::Effect(ordinal), Children::new()));
        }
        let template = self.templates.of(side.number, side.f, m, None);
        let behind = match m.kind {
            MultiKind::Pure => 0,
            MultiKind::Effect | MultiKind::Store => return None,
            MultiKind::Pinned | MultiKind::Load => {
                let place = side.flow.places.get(&ix(v))?;
                args.push(self.control(place.control)?);
                if m.inst.op.info().quad && m.inst.op.info().effect == tgsi::Effect::Pure {
                    place.lanes
                } else {
                    place.memory
                }
            }
        };
        Some(self.dag.symbol(Symbol::Inst(template, behind), args))
    }

    /// Result `c` of an instruction that works lane by lane; nothing if `v` is none, or if the lane is
    /// like no other.
    fn lane(&mut self, v: Value, c: u8) -> Option<Option<u32>> {
        let side = self.side;
        let m = side.f.as_multi(v).filter(|m| is_lanewise(m))?;
        let term = |b: &mut Self| {
            let place = side.flow.places.get(&ix(v))?;
            let args = &side.f.values[v].args;
            let mut children = Children::new();
            for (i, _) in lane_slots(m, c) {
                children.push(b.ids[ix(*args.get(i)?)]?);
            }
            children.push(b.control(place.control)?);
            let template = b.templates.of(side.number, side.f, m, Some(c));
            Some(b.dag.symbol(Symbol::Lane(template, place.lanes), children))
        };
        Some(term(self))
    }

    fn phi(&mut self, v: Value) -> Option<u32> {
        if let Some(&n) = self.side.held.get(&ix(v)) {
            return Some(self.dag.symbol(Symbol::Phi(n), Children::new()));
        }
        let Gamma {
            bits,
            cond,
            then,
            els,
        } = *self.side.flow.gammas.get(&ix(v))?;
        let id = |b: &Self, v: Value| b.ids[ix(v)];
        match (then, els) {
            (Some(a), Some(b)) => {
                let (a, b) = (id(self, a)?, id(self, b)?);
                if a == b {
                    return Some(a);
                }
                Some(self.dag.selection(bits, id(self, cond)?, a, b))
            }
            (Some(a), None) | (None, Some(a)) => id(self, a),
            (None, None) => None,
        }
    }

    /// The term of a place's lanes; nothing if its conditions are not known yet.
    fn control(&mut self, n: usize) -> Option<u32> {
        if let Some(id) = self.controls[n] {
            return Some(id);
        }
        let (symbol, children) = match self.side.flow.controls[n] {
            Control::Entry => (Symbol::Entry, Children::new()),
            Control::Arm {
                around,
                bits,
                cond,
                holds,
            } => {
                let children = [self.control(around)?, self.ids[ix(cond)]?];
                (Symbol::Arm(bits, holds), Children::from_slice(&children))
            }
            Control::Inside { around, ordinal } => {
                let children = Children::from_slice(&[self.control(around)?]);
                (Symbol::Inside(ordinal), children)
            }
        };
        let id = self.dag.symbol(symbol, children);
        self.controls[n] = Some(id);
        Some(id)
    }
}

/// A term for egg.
pub(super) fn to_egg(kind: Kind, children: &Children, ids: &[Option<egg::Id>]) -> Option<Term32> {
    let children = children
        .iter()
        .map(|&c| ids[c as usize])
        .collect::<Option<SmallVec<[egg::Id; 4]>>>()?;
    Some(Term32 { kind, children })
}
