//! The representation: a tree of regions over floating per-channel values.
//!
//! A [`Value`] is one 32-bit channel, or one 64-bit quantity of width 2. Values are
//! hash-consed: equal operations on equal operands are one value, so building the
//! function numbers its values. Pure values are in no block; [`crate::layout`]
//! places them. A [`Body`] lists effects and nested regions only.
//!
//! The arena is in topological order: the operands of a value precede it. Phis
//! have no operands in the arena, their inputs are the argument lists of the
//! region edges, so no cycle runs through the arena.

use la_arena::{Arena, Idx};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{Eval, File, Inst, Opcode, Program, Stage};

use crate::intern::Interner;

/// Handle of a value.
pub type Value = Idx<ValueData>;
/// Operand list of a value.
pub type Args = SmallVec<[Value; 4]>;

/// The position of a value in the arena, for side tables.
#[inline]
pub fn ix(v: Value) -> usize {
    v.into_raw().into_u32() as usize
}

/// The inverse of [`ix`].
#[inline]
pub fn value_at(i: usize) -> Value {
    Value::from_raw(la_arena::RawIdx::from_u32(i as u32))
}

/// What a value is. Together with its operands and `precise` it is the key of hash-consing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VOp {
    /// A 32-bit constant.
    Imm(u32),
    /// The fixed but unknown word of an uninitialised register channel, by number.
    Undef(u32),
    /// Channel of a register whose content never changes: IN, CONST, SV, also with
    /// relative addresses (the operands, see [`RegRef`]).
    Reg(RegId, u8),
    /// An operation with one result.
    Alu(Opcode),
    /// Float negation (sign bit flip).
    Neg,
    /// Float absolute value (sign bit clear).
    Abs,
    /// Two's complement negation, the `-` of an integer operand.
    INeg,
    /// Clamp to [0, 1], as a double on a wide operand.
    Sat,
    /// A wide value from its low and high words.
    Pair,
    /// Low (0) or high (1) word of a wide value.
    Half(u8),
    /// An operation with several results or with effects; the results are [`VOp::Proj`].
    Multi(MultiId),
    /// Result channel of a multi-result operation: 0..4 of the first destination, 4..8 of the second.
    Proj(u8),
    /// Result of a region or parameter of a loop; the number makes it unique.
    Phi(u32),
}

/// Number of a register reference in [`Function::regs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// Number of a multi-result operation in [`Function::multis`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MultiId(pub u32);

/// Number of a region, for the targets of Depart and Repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// The function itself as a region: what RET departs from.
pub const FUNCTION: RegionId = RegionId(0);

/// One bracket of a register reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefIndex {
    /// Constant part.
    pub base: i32,
    /// Whether an address operand is added.
    pub relative: bool,
    /// Array id, 0 = none.
    pub array: u32,
}

/// A register as an operand names it. The address operands of relative brackets
/// are operands of the value that holds the reference: `dim` first, then `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegRef {
    /// Register file.
    pub file: File,
    /// Outer bracket.
    pub dim: Option<RefIndex>,
    /// Inner bracket.
    pub index: RefIndex,
}

impl RegRef {
    /// Number of address operands.
    pub fn addresses(&self) -> usize {
        usize::from(self.dim.is_some_and(|d| d.relative)) + usize::from(self.index.relative)
    }

    fn hash(&self) -> u64 {
        let word = |i: RefIndex| {
            u64::from(i.base as u32) << 32 | u64::from(i.array) << 1 | u64::from(i.relative)
        };
        let mut h = (word(self.index) ^ (self.file as u64) << 26).wrapping_mul(ODD);
        if let Some(d) = self.dim {
            h = (h.rotate_left(23) ^ word(d) ^ 1 << 63).wrapping_mul(ODD);
        }
        h
    }
}

/// An odd number with well mixed bits: multiplied by it, a key spreads over the upper bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where an operand word of a [`Multi`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Channel (before the swizzle) of a source.
    Src(u8, u8),
    /// Address of the outer bracket of a source.
    SrcDim(u8),
    /// Address of the inner bracket of a source.
    SrcIndex(u8),
    /// Address of the outer bracket of destination 0.
    DstDim,
    /// Address of the inner bracket of destination 0.
    DstIndex,
    /// Channel of a texel offset.
    Offset(u8, u8),
}

/// A multi-result or effectful operation: an instruction with its operand words taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multi {
    /// Opcode, modifiers, target, offsets, resource operands. Sources that are read as
    /// words hold a placeholder.
    pub inst: Inst,
    /// The place of each operand.
    pub slots: SmallVec<[Slot; 6]>,
    /// What it does.
    pub kind: MultiKind,
    /// Channels of the results that may be read (bits 0..4 first, 4..8 second destination).
    pub results: u8,
}

/// How a [`Multi`] may be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiKind {
    /// Floats: no effect, no neighbouring lanes.
    Pure,
    /// Stays in its block, removable: implicit derivatives, votes, memory reads.
    Pinned,
    /// Stays and is never removed.
    Effect,
    /// A write to an indexed TEMP array or to OUT used as memory; `inst` is a MOV.
    Store,
    /// A read of an indexed TEMP array, of an indexed input, or of OUT used as memory; `inst` is a MOV.
    Load,
}

/// Where the source program computed a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneHint {
    /// Index of the source instruction.
    pub inst: u32,
    /// Channel it was written to.
    pub lane: u8,
    /// Number of loops around it.
    pub depth: u8,
}

/// One value.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// What it is.
    pub op: VOp,
    /// The `_PRECISE` of its instruction; part of the key.
    pub precise: bool,
    /// Whether it is 64 bits wide.
    pub wide: bool,
    /// Operands.
    pub args: Args,
    /// Where the source computed it first.
    pub hint: LaneHint,
}

/// A sequence of effects and regions.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Its members in order.
    pub items: Vec<Item>,
}

/// Member of a [`Body`].
#[derive(Clone, Debug)]
pub enum Item {
    /// A [`VOp::Multi`] that is not [`MultiKind::Pure`].
    Effect(Value),
    /// Branch.
    If(Box<If>),
    /// Loop.
    Loop(Box<Loop>),
    /// SWITCH with its cases.
    Switch(Box<Switch>),
    /// Leaves a region with its results: BRK (loop or switch) or RET ([`FUNCTION`]). Ends the body.
    Depart(RegionId, Vec<Value>),
    /// Goes on with the next iteration of a loop (CONT). Ends the body.
    Repeat(RegionId, Vec<Value>),
}

/// A two-way branch. `results[i]` is `then_args[i]` or `else_args[i]`; an arm that
/// cannot reach its end has `None`.
#[derive(Clone, Debug)]
pub struct If {
    /// Whether the test is on bits (UIF) or on a float (IF).
    pub bits: bool,
    /// Condition.
    pub cond: Value,
    /// Taken arm.
    pub then: Body,
    /// Other arm.
    pub els: Body,
    /// Phis.
    pub results: Vec<Value>,
    /// Arguments at the end of `then`.
    pub then_args: Option<Vec<Value>>,
    /// Arguments at the end of `els`.
    pub else_args: Option<Vec<Value>>,
    /// Source instructions: IF, ELSE (or ENDIF), ENDIF.
    pub at: [u32; 3],
}

/// An endless loop left by Depart.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Target of Depart and Repeat.
    pub id: RegionId,
    /// Phis at the head.
    pub params: Vec<Value>,
    /// Their values on entry.
    pub inits: Vec<Value>,
    /// Body.
    pub body: Body,
    /// Arguments for the next iteration at the end of the body, if it is reachable.
    pub back: Option<Vec<Value>>,
    /// Phis behind the loop.
    pub results: Vec<Value>,
    /// Whether any Depart leaves it.
    pub exits: bool,
    /// Source instructions: BGNLOOP, ENDLOOP.
    pub at: [u32; 2],
}

/// SWITCH: control enters at the matching case and falls through.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Target of Depart.
    pub id: RegionId,
    /// Selector.
    pub selector: Value,
    /// Cases in order.
    pub cases: Vec<Case>,
    /// Phis behind it.
    pub results: Vec<Value>,
    /// Arguments when the last case ends without BRK.
    pub end_args: Option<Vec<Value>>,
    /// Arguments when no case matches and there is no default.
    pub none_args: Option<Vec<Value>>,
    /// Source instructions: SWITCH, ENDSWITCH.
    pub at: [u32; 2],
}

/// One CASE or DEFAULT. `params[i]` merges the value on entry with the one that falls through.
#[derive(Clone, Debug)]
pub struct Case {
    /// Label; `None` for DEFAULT.
    pub label: Option<Value>,
    /// Phis at its head.
    pub params: Vec<Value>,
    /// Values when control comes from the SWITCH.
    pub entry: Vec<Value>,
    /// Values when control falls through from the case before.
    pub fall: Option<Vec<Value>>,
    /// Body.
    pub body: Body,
    /// Source instruction CASE or DEFAULT.
    pub at: u32,
}

/// Registers of one declaration: what a direct reference may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// File.
    pub file: File,
    /// Outer bracket.
    pub dim: Option<i32>,
    /// First register.
    pub first: i32,
    /// Last register, inclusive.
    pub last: i32,
}

/// The declarations whose registers an indexed reference may turn out to name. Inputs of
/// vertices count once for each of these.
fn declared(program: &Program) -> Vec<Declared> {
    let mut out = Vec::new();
    for item in &program.header {
        let tgsi::Item::Decl(d) = item else { continue };
        if !matches!(d.file, File::In | File::Const | File::Sv) {
            continue;
        }
        let dims = match d.dim {
            None => vec![None],
            Some(Some(n)) => vec![Some(n)],
            Some(None) => (0..vertices(program)).map(Some).collect(),
        };
        out.extend(dims.into_iter().map(|dim| Declared {
            file: d.file,
            dim,
            first: d.first,
            last: d.last,
        }));
    }
    out
}

/// Vertices of the primitive that a geometry shader reads, or of the largest patch; 0 for other stages.
fn vertices(program: &Program) -> i32 {
    if matches!(program.stage, Stage::TessCtrl | Stage::TessEval) {
        return 32;
    }
    let primitive = program.header.iter().find_map(|item| match item {
        tgsi::Item::Property(p) if p.name == "GS_INPUT_PRIMITIVE" => p.values.first(),
        _ => None,
    });
    match primitive.map(String::as_str) {
        Some("POINTS") => 1,
        Some("LINES") => 2,
        Some("TRIANGLES") => 3,
        Some("LINES_ADJACENCY") => 4,
        Some("TRIANGLES_ADJACENCY") => 6,
        _ => 0,
    }
}

/// A whole program in SSA form.
#[derive(Clone, Debug)]
pub struct Function {
    /// Stage.
    pub stage: Stage,
    /// All values, operands first.
    pub values: Arena<ValueData>,
    /// Register references.
    pub regs: Vec<RegRef>,
    /// Multi-result operations.
    pub multis: Vec<Multi>,
    /// The tree.
    pub body: Body,
    /// Output channels `(register, channel)` that END and RET store, in order.
    pub outputs: Vec<(i32, u8)>,
    /// Their values at the end of `body`, if it is reachable.
    pub end_args: Option<Vec<Value>>,
    /// `0 * x = 0` for MUL, MAD, DP and POW.
    pub zero_wins: bool,
    /// Opcodes have their first definitions, which differ for RSQ, LRP, MIN, MAX and shifts.
    pub first_era: bool,
    /// TEMP ranges that are memory: `(first, last, array id)`, sorted.
    pub arrays: Vec<(i32, i32, u32)>,
    /// OUT is memory rather than a set of results.
    pub out_memory: bool,
    /// Registers that the program declares with numbers, as the text has them.
    pub declared: Vec<Declared>,
    /// Next number of a phi, region or unique operation.
    pub next_id: u32,
    pub(crate) interner: Interner,
    pub(crate) reg_ids: Interner,
    pub(crate) multi_ids: FxHashMap<u64, SmallVec<[MultiId; 1]>>,
}

/// The key of hash-consing, without a copy of it in the table.
#[inline]
fn hash_of(op: VOp, precise: bool, args: &[Value]) -> u64 {
    let (kind, word) = match op {
        VOp::Imm(w) => (0, u64::from(w)),
        VOp::Undef(u) => (1, u64::from(u)),
        VOp::Reg(r, c) => (2, u64::from(r.0) << 3 | u64::from(c)),
        VOp::Alu(op) => (3, op as u64),
        VOp::Neg => (4, 0),
        VOp::Abs => (5, 0),
        VOp::INeg => (6, 0),
        VOp::Sat => (7, 0),
        VOp::Pair => (8, 0),
        VOp::Half(h) => (9, u64::from(h)),
        VOp::Multi(m) => (10, u64::from(m.0)),
        VOp::Proj(c) => (11, u64::from(c)),
        VOp::Phi(n) => (12, u64::from(n)),
    };
    // The table takes the top bits, which a product mixes best.
    let mut h = (word << 5 | kind << 1 | u64::from(precise)).wrapping_mul(ODD);
    for a in args {
        h = (h.rotate_left(23) ^ ix(*a) as u64).wrapping_mul(ODD);
    }
    h
}

#[inline]
fn same(d: &ValueData, op: VOp, precise: bool, args: &[Value]) -> bool {
    d.op == op && d.precise == precise && d.args[..] == *args
}

impl Function {
    /// An empty function with the settings of `program`.
    pub fn new(program: &Program) -> Function {
        let property = |name: &str| {
            program.header.iter().any(|item| match item {
                tgsi::Item::Property(p) => {
                    p.name == name && p.values.first().is_none_or(|v| v != "0")
                }
                _ => false,
            })
        };
        Function {
            stage: program.stage,
            values: Arena::with_capacity(program.insts.len() * 4),
            regs: Vec::new(),
            multis: Vec::new(),
            body: Body::default(),
            outputs: Vec::new(),
            end_args: None,
            zero_wins: property("MUL_ZERO_WINS") || property("LEGACY_MATH_RULES"),
            first_era: program.version.is_some()
                || program
                    .insts
                    .iter()
                    .any(|i| i.op.info().era == tgsi::Era::First),
            arrays: Vec::new(),
            out_memory: false,
            declared: declared(program),
            next_id: 1,
            interner: Interner::with_capacity(program.insts.len() * 4),
            reg_ids: Interner::with_capacity(0),
            multi_ids: FxHashMap::default(),
        }
    }

    /// A function with the same settings and regions' numbering but no values, with room for
    /// `values`: the start of a rebuild.
    pub fn successor(&self, values: usize) -> Function {
        Function {
            stage: self.stage,
            values: Arena::with_capacity(values),
            regs: self.regs.clone(),
            multis: Vec::with_capacity(self.multis.len()),
            body: Body::default(),
            outputs: self.outputs.clone(),
            end_args: None,
            zero_wins: self.zero_wins,
            first_era: self.first_era,
            arrays: self.arrays.clone(),
            out_memory: self.out_memory,
            declared: self.declared.clone(),
            next_id: self.next_id,
            interner: Interner::with_capacity(values),
            reg_ids: self.reg_ids.clone(),
            multi_ids: FxHashMap::default(),
        }
    }

    /// Whether the program declares the register that a reference without addresses names.
    pub fn declares(&self, r: RegRef) -> bool {
        self.declared.iter().any(|d| {
            d.file == r.file
                && d.dim == r.dim.map(|i| i.base)
                && (d.first..=d.last).contains(&r.index.base)
        })
    }

    /// A number not used before.
    pub fn fresh(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The value with this operation and these operands: an existing one if there is one.
    /// A second computation keeps the earlier hint, but at the smaller loop depth.
    pub fn intern(
        &mut self,
        op: VOp,
        precise: bool,
        wide: bool,
        args: Args,
        hint: LaneHint,
    ) -> Value {
        let hash = hash_of(op, precise, &args);
        let values = &mut self.values;
        match self.interner.find(hash, |n| {
            same(&values[value_at(n as usize)], op, precise, &args)
        }) {
            Ok(n) => {
                let v = value_at(n as usize);
                let old = &mut values[v].hint;
                old.depth = old.depth.min(hint.depth);
                if (hint.inst, hint.lane) < (old.inst, old.lane) {
                    (old.inst, old.lane) = (hint.inst, hint.lane);
                }
                v
            }
            Err(free) => {
                let v = values.alloc(ValueData {
                    op,
                    precise,
                    wide,
                    args,
                    hint,
                });
                self.interner.insert(free, hash, ix(v) as u32);
                v
            }
        }
    }

    /// The value with this operation and these operands, if it exists already.
    pub fn find(&self, op: VOp, precise: bool, args: &Args) -> Option<Value> {
        let hash = hash_of(op, precise, args);
        let n = self
            .interner
            .find(hash, |n| {
                same(&self.values[value_at(n as usize)], op, precise, args)
            })
            .ok()?;
        Some(value_at(n as usize))
    }

    /// A 32-bit constant.
    pub fn imm(&mut self, word: u32) -> Value {
        self.intern(
            VOp::Imm(word),
            false,
            false,
            Args::new(),
            LaneHint {
                inst: 0,
                lane: 0,
                depth: 0,
            },
        )
    }

    /// The word of a constant value.
    pub fn as_imm(&self, v: Value) -> Option<u32> {
        match self.values[v].op {
            VOp::Imm(w) => Some(w),
            _ => None,
        }
    }

    /// The two words of a constant wide value.
    pub fn as_wide_imm(&self, v: Value) -> Option<u64> {
        let d = &self.values[v];
        match d.op {
            VOp::Pair => {
                Some(u64::from(self.as_imm(d.args[0])?) | u64::from(self.as_imm(d.args[1])?) << 32)
            }
            _ => None,
        }
    }

    /// A new phi.
    pub fn phi(&mut self, hint: LaneHint) -> Value {
        let n = self.fresh();
        self.intern(VOp::Phi(n), false, false, Args::new(), hint)
    }

    /// The number of a register reference.
    pub fn reg(&mut self, r: RegRef) -> RegId {
        let hash = r.hash();
        match self.reg_ids.find(hash, |n| self.regs[n as usize] == r) {
            Ok(n) => RegId(n),
            Err(free) => {
                let n = self.regs.len() as u32;
                self.regs.push(r);
                self.reg_ids.insert(free, hash, n);
                RegId(n)
            }
        }
    }

    /// The number of a multi-result operation. Pure ones with equal contents share a number;
    /// every other call gets its own, so that effects are never merged by accident.
    pub fn multi(&mut self, m: Multi) -> MultiId {
        use std::hash::{Hash, Hasher};
        if m.kind != MultiKind::Pure {
            self.multis.push(m);
            return MultiId(self.multis.len() as u32 - 1);
        }
        let mut h = rustc_hash::FxHasher::default();
        (m.inst.op, m.inst.target, &m.slots).hash(&mut h);
        let ids = self.multi_ids.entry(h.finish()).or_default();
        for &id in ids.iter() {
            let old = &mut self.multis[id.0 as usize];
            if old.inst == m.inst && old.slots == m.slots {
                old.results |= m.results;
                return id;
            }
        }
        let id = MultiId(self.multis.len() as u32);
        ids.push(id);
        self.multis.push(m);
        id
    }

    /// The multi-result operation of a value, if it is one.
    pub fn as_multi(&self, v: Value) -> Option<&Multi> {
        match self.values[v].op {
            VOp::Multi(m) => Some(&self.multis[m.0 as usize]),
            _ => None,
        }
    }

    /// Low and high word joined; the inverse of [`Function::half`].
    pub fn pair(&mut self, lo: Value, hi: Value, hint: LaneHint) -> Value {
        let (l, h) = (&self.values[lo], &self.values[hi]);
        if l.op == VOp::Half(0) && h.op == VOp::Half(1) && l.args[0] == h.args[0] {
            return l.args[0];
        }
        self.intern(
            VOp::Pair,
            false,
            true,
            SmallVec::from_slice(&[lo, hi]),
            hint,
        )
    }

    /// Low (0) or high (1) word of a wide value.
    pub fn half(&mut self, w: Value, which: u8, hint: LaneHint) -> Value {
        let d = &self.values[w];
        if d.op == VOp::Pair {
            return d.args[which as usize];
        }
        self.intern(
            VOp::Half(which),
            false,
            false,
            SmallVec::from_slice(&[w]),
            hint,
        )
    }

    /// An operation with one result, without any simplification.
    pub fn alu(&mut self, op: Opcode, precise: bool, args: Args, hint: LaneHint) -> Value {
        let wide = op.info().dst_ty.is_wide();
        self.intern(VOp::Alu(op), precise, wide, args, hint)
    }

    /// A modifier, without any simplification.
    pub fn modifier(&mut self, op: VOp, v: Value, hint: LaneHint) -> Value {
        let wide = self.values[v].wide;
        self.intern(op, false, wide, SmallVec::from_slice(&[v]), hint)
    }

    /// The evaluation of `op` that folding may use under this function's rules.
    pub fn eval_of(&self, op: Opcode) -> Eval {
        use Opcode::*;
        if self.zero_wins
            && matches!(
                op,
                Mul | Mad
                    | Dp2
                    | Dp3
                    | Dp4
                    | Dph
                    | Dp2a
                    | Lrp
                    | Pow
                    | Fma
                    | Dst
                    | Xpd
                    | Rfl
                    | Nrm
                    | Nrm4
                    | X2d
            )
        {
            return Eval::None;
        }
        if self.first_era && matches!(op, Rsq | Lrp | Min | Max | Shl | Shr | Rcp | Dseq | Dslt) {
            return Eval::None;
        }
        op.info().eval
    }
}
