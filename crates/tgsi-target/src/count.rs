//! Exact counters over the syntax of a program.

use tgsi::{Decl, Effect, File, Inst, Item, Opcode, Program, Shape};

use crate::registers::{Registers, Rules};
use crate::tokens::{has_labels, header_tokens, inst_tokens, takes_label};

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
    /// Texture indirections by the ARB model; 1 without any. See [`crate::indirections`] for the other models.
    pub indirections: u32,
    /// `KILL` and `KILL_IF`.
    pub kills: u32,
    /// Loops.
    pub loops: u32,
    /// `IF`s of every kind.
    pub ifs: u32,
    /// Deepest nesting of IF, loop and SWITCH.
    pub depth: u32,
    /// Deepest nesting of loops.
    pub loop_depth: u32,
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
#[inline]
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
    count_as(program, || false)
}

/// Counts a program that was made from `input`, and will be printed with branch labels as `input` was.
pub fn count_result(result: &Program, input: &Program) -> Counts {
    count_as(result, || has_labels(input))
}

/// Counts a program. Where it has branches without labels, `labels` says whether they get some.
pub(crate) fn count_as(program: &Program, labels: impl FnOnce() -> bool) -> Counts {
    let mut counts = Counts::default();
    count_header(program, &mut counts);
    let mut registers = Registers::new(&program.header, Rules::ARB);
    let mut tokens = header_tokens(program);
    let mut flow = Flow::default();
    for inst in &program.insts {
        let class = class(inst.op);
        registers.step(inst, class);
        tokens += inst_tokens(inst, class);
        if inst.op == Opcode::End {
            continue;
        }
        counts.instructions += 1;
        counts.mov += u32::from(inst.op == Opcode::Mov);
        match class {
            Class::Alu => counts.alu += 1,
            Class::Tex => counts.tex += 1,
            Class::Memory => counts.memory += 1,
            Class::Effect => counts.kills += u32::from(is_kill(inst.op)),
            Class::Flow => {
                counts.flow += 1;
                flow.step(inst, &mut counts);
            }
        }
    }
    tokens += registers.tokens + flow.calls;
    if flow.branches > 0 && (flow.labelled || labels()) {
        tokens += flow.branches;
    }
    counts.tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    counts.indirections = registers.indirection;
    counts.temps = registers.temps();
    counts
}

/// What is counted at control flow.
#[derive(Default)]
struct Flow {
    depth: u32,
    loop_depth: u32,
    /// Instructions with room for a label; calls apart.
    branches: u64,
    /// Calls: they say by their label what they call.
    calls: u64,
    /// Whether any of both has a label.
    labelled: bool,
}

impl Flow {
    fn step(&mut self, inst: &Inst, counts: &mut Counts) {
        let op = inst.op;
        counts.loops += u32::from(opens_loop(op));
        counts.ifs += u32::from(opens_if(op));
        if opens_loop(op) || opens_if(op) || op == Opcode::Switch {
            self.depth += 1;
            counts.depth = counts.depth.max(self.depth);
            self.loop_depth += u32::from(opens_loop(op));
            counts.loop_depth = counts.loop_depth.max(self.loop_depth);
        } else if closes(op) {
            self.depth = self.depth.saturating_sub(1);
            self.loop_depth = self.loop_depth.saturating_sub(u32::from(closes_loop(op)));
        }
        if takes_label(op) {
            self.labelled |= inst.label.is_some();
            match op {
                Opcode::Cal => self.calls += 1,
                _ => self.branches += 1,
            }
        }
    }
}

fn opens_loop(op: Opcode) -> bool {
    matches!(op, Opcode::Bgnloop | Opcode::Bgnfor | Opcode::Rep)
}

fn closes_loop(op: Opcode) -> bool {
    matches!(op, Opcode::Endloop | Opcode::Endfor | Opcode::Endrep)
}

/// Whether the opcode discards fragments.
pub(crate) fn is_kill(op: Opcode) -> bool {
    matches!(op, Opcode::KillIf | Opcode::Kill)
}

fn opens_if(op: Opcode) -> bool {
    matches!(op, Opcode::If | Opcode::Uif | Opcode::Ifc)
}

fn closes(op: Opcode) -> bool {
    closes_loop(op) || matches!(op, Opcode::Endif | Opcode::Endswitch)
}

fn count_header(program: &Program, counts: &mut Counts) {
    let mut ranges = Vec::with_capacity(program.header.len());
    for item in &program.header {
        match item {
            Item::Decl(d) if matches!(d.file, File::Const | File::In | File::Out) => {
                ranges.push((d.file, range(d)));
            }
            Item::Imm(_) => counts.immediates += 1,
            _ => {}
        }
    }
    ranges.sort_unstable();
    for of_file in ranges.chunk_by(|a, b| a.0 == b.0) {
        let len = union_len(of_file.iter().map(|r| r.1));
        match of_file[0].0 {
            File::Const => counts.constants = len,
            File::In => counts.inputs = len,
            _ => counts.outputs = len,
        }
    }
}

/// Outer index (0 when absent: `CONST[n]` is buffer 0), first and last register.
fn range(decl: &Decl) -> (i32, i64, i64) {
    let outer = match (decl.file, decl.dim) {
        (File::Const, Some(Some(n))) => n,
        _ => 0,
    };
    (outer, i64::from(decl.first), i64::from(decl.last))
}

/// Number of registers that lie in at least one of the inclusive ranges, which are sorted.
pub(crate) fn union_len(ranges: impl Iterator<Item = (i32, i64, i64)>) -> u32 {
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
