//! Exact counters over the syntax of a program.

use tgsi::{Decl, Effect, File, Inst, Item, Opcode, Program, Register, Shape};

use crate::indirections::{IndirectionModel, indirections};
use crate::tokens::{has_labels, token_count_as};

/// What the counters found. Registers are vec4 registers throughout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, `END` left out.
    pub instructions: u32,
    /// Arithmetic instructions, moves among them ([`Class::Alu`]).
    pub alu: u32,
    /// Texture fetches and queries ([`Class::Tex`]).
    pub tex: u32,
    /// `MOV` instructions.
    pub mov: u32,
    /// Control flow instructions, `END` left out ([`Class::Flow`]).
    pub flow: u32,
    /// Buffer, image and shared-memory accesses ([`Class::Memory`]).
    pub memory: u32,
    /// Distinct TEMP registers that instructions name. An indirect access counts
    /// the whole array it declares with `(n)`; without an array id it counts nothing.
    pub temps: u32,
    /// Declared immediates.
    pub immediates: u32,
    /// Declared constant registers, all buffers together.
    pub constants: u32,
    /// Declared input registers.
    pub inputs: u32,
    /// Declared output registers.
    pub outputs: u32,
    /// Texture indirections by the ARB model; 1 without any. See [`indirections`] for the other models.
    pub indirections: u32,
    /// Loops.
    pub loops: u32,
    /// `IF`s of every kind.
    pub ifs: u32,
    /// Deepest nesting of IF, loop and SWITCH.
    pub depth: u32,
    /// Length of the token stream; see [`token_count`](crate::token_count).
    pub tokens: u32,
}

/// The kinds of instruction the counters tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Arithmetic, moves and address loads.
    Alu,
    /// Texture fetches and queries.
    Tex,
    /// Control flow.
    Flow,
    /// Buffer, image and shared-memory accesses.
    Memory,
    /// Effects: kill, emit, barriers, framebuffer fetch...
    Effect,
}

/// The class of an opcode.
pub fn class(op: Opcode) -> Class {
    let info = op.info();
    match (info.shape, info.effect) {
        (Shape::Tex, _) => Class::Tex,
        (_, Effect::Flow) => Class::Flow,
        (Shape::Mem, _) => Class::Memory,
        (_, Effect::Write) => Class::Effect,
        (
            Shape::Comp | Shape::Repl | Shape::Dot(_) | Shape::Chan | Shape::Other | Shape::None,
            Effect::Pure | Effect::Read,
        ) => Class::Alu,
    }
}

/// Counts a program.
pub fn count(program: &Program) -> Counts {
    count_as(program, has_labels(program))
}

/// Counts a program that was made from `input`, and will be printed with branch labels as `input` was.
pub fn count_result(result: &Program, input: &Program) -> Counts {
    count_as(result, has_labels(input) || has_labels(result))
}

fn count_as(program: &Program, labels: bool) -> Counts {
    let mut counts = Counts {
        indirections: indirections(program, IndirectionModel::Arb),
        tokens: token_count_as(program, labels),
        ..Counts::default()
    };
    count_header(program, &mut counts);
    let mut temps = TempSet::new(program);
    let mut depth = 0u32;
    for inst in &program.insts {
        temps.add_inst(inst);
        if inst.op == Opcode::End {
            continue;
        }
        counts.instructions += 1;
        counts.mov += u32::from(inst.op == Opcode::Mov);
        match class(inst.op) {
            Class::Alu => counts.alu += 1,
            Class::Tex => counts.tex += 1,
            Class::Flow => counts.flow += 1,
            Class::Memory => counts.memory += 1,
            Class::Effect => {}
        }
        counts.loops += u32::from(opens_loop(inst.op));
        counts.ifs += u32::from(opens_if(inst.op));
        if opens_loop(inst.op) || opens_if(inst.op) || inst.op == Opcode::Switch {
            depth += 1;
            counts.depth = counts.depth.max(depth);
        } else if closes(inst.op) {
            depth = depth.saturating_sub(1);
        }
    }
    counts.temps = temps.len();
    counts
}

fn opens_loop(op: Opcode) -> bool {
    matches!(op, Opcode::Bgnloop | Opcode::Bgnfor | Opcode::Rep)
}

fn opens_if(op: Opcode) -> bool {
    matches!(op, Opcode::If | Opcode::Uif | Opcode::Ifc)
}

fn closes(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::Endloop | Opcode::Endfor | Opcode::Endrep | Opcode::Endif | Opcode::Endswitch
    )
}

fn count_header(program: &Program, counts: &mut Counts) {
    let mut constants = Vec::new();
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    for item in &program.header {
        match item {
            Item::Property(_) => {}
            Item::Imm(_) => counts.immediates += 1,
            Item::Decl(decl) => match decl.file {
                File::Const => constants.push(range(decl)),
                File::In => inputs.push(range(decl)),
                File::Out => outputs.push(range(decl)),
                _ => {}
            },
        }
    }
    counts.constants = union_len(constants);
    counts.inputs = union_len(inputs);
    counts.outputs = union_len(outputs);
}

/// Outer index (0 when absent: `CONST[n]` is buffer 0), first and last register.
fn range(decl: &Decl) -> (i32, i64, i64) {
    let outer = match (decl.file, decl.dim) {
        (File::Const, Some(Some(n))) => n,
        _ => 0,
    };
    (outer, i64::from(decl.first), i64::from(decl.last))
}

/// Number of registers that lie in at least one of the inclusive ranges.
fn union_len(mut ranges: Vec<(i32, i64, i64)>) -> u32 {
    ranges.sort_unstable();
    let mut total = 0i64;
    let mut reached: Option<(i32, i64)> = None;
    for (outer, first, last) in ranges {
        let first = match reached {
            Some((o, r)) if o == outer => first.max(r + 1),
            _ => first,
        };
        total += (last - first + 1).max(0);
        let end = match reached {
            Some((o, r)) if o == outer => r.max(last),
            _ => last,
        };
        reached = Some((outer, end));
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}

/// Registers below this are kept as bits, the others as ranges: real programs
/// stay below, and no index makes the set large.
const DENSE: usize = 1 << 16;

struct TempSet {
    bits: Vec<u64>,
    sparse: Vec<(i32, i64, i64)>,
    arrays: Vec<(u32, i32, i32)>,
    seen_arrays: Vec<u32>,
}

impl TempSet {
    fn new(program: &Program) -> Self {
        let mut arrays = Vec::new();
        for item in &program.header {
            if let Item::Decl(decl) = item
                && decl.file == File::Temp
                && decl.array != 0
            {
                arrays.push((decl.array, decl.first, decl.last));
            }
        }
        TempSet {
            bits: Vec::new(),
            sparse: Vec::new(),
            arrays,
            seen_arrays: Vec::new(),
        }
    }

    fn add_inst(&mut self, inst: &Inst) {
        for dst in &inst.dsts {
            self.add(&dst.reg);
        }
        for src in &inst.srcs {
            self.add(&src.reg);
        }
        for offset in &inst.offsets {
            self.add(&offset.reg);
        }
    }

    fn add(&mut self, reg: &Register) {
        for index in reg.dim.iter().chain([&reg.index]) {
            if let Some(addr) = index.addr
                && addr.file == File::Temp
            {
                self.add_index(addr.index);
            }
        }
        if reg.file != File::Temp {
            return;
        }
        if reg.index.addr.is_none() {
            self.add_index(reg.index.base);
        } else if reg.index.array != 0 && !self.seen_arrays.contains(&reg.index.array) {
            self.seen_arrays.push(reg.index.array);
            if let Some(&(_, first, last)) =
                self.arrays.iter().rev().find(|a| a.0 == reg.index.array)
            {
                self.sparse.push((0, i64::from(first), i64::from(last)));
            }
        }
    }

    fn add_index(&mut self, index: i32) {
        match usize::try_from(index) {
            Ok(i) if i < DENSE => {
                let word = i / 64;
                if word >= self.bits.len() {
                    self.bits.resize(word + 1, 0);
                }
                self.bits[word] |= 1 << (i % 64);
            }
            _ => self.sparse.push((0, i64::from(index), i64::from(index))),
        }
    }

    fn len(mut self) -> u32 {
        if self.sparse.is_empty() {
            return self.bits.iter().map(|w| w.count_ones()).sum();
        }
        for (word, bits) in self.bits.iter().enumerate() {
            for bit in 0..64 {
                if bits >> bit & 1 != 0 {
                    let index = (word * 64 + bit) as i64;
                    self.sparse.push((0, index, index));
                }
            }
        }
        union_len(self.sparse)
    }
}
