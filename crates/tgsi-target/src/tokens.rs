//! The length of the binary form.

use tgsi::{Decl, File, Index, Inst, Item, Opcode, Program, Register, Shape};

/// Length of the program's token stream in 32-bit words, as Gallium lays it out:
///
/// * two words of header;
/// * a property: one word, and one a value;
/// * a declaration: one word and its range; one more each for an outer index, an
///   interpolation, a semantic, an image, a sampler view and an array id;
/// * an immediate: five words;
/// * an instruction: one word; one more each for a branch label, a texture target,
///   every texel offset and the memory words of an access; a word an operand, and one
///   more each for an address register, an outer index and that one's address register.
///
/// Programs of Mesa 20 and before carry no branch labels, and print none: a program in which no
/// branch has a label is taken to be such.
pub fn token_count(program: &Program) -> u32 {
    token_count_as(program, has_labels(program))
}

/// Whether the branches of a program carry labels.
pub fn has_labels(program: &Program) -> bool {
    program
        .insts
        .iter()
        .any(|inst| inst.label.is_some() && takes_label(inst.op))
}

/// As [`token_count`], with or without a word for the label of each branch, whatever the program
/// itself shows.
pub fn token_count_as(program: &Program, labels: bool) -> u32 {
    let mut total = 2u64;
    for item in &program.header {
        total += match item {
            Item::Property(property) => 1 + property.values.len() as u64,
            Item::Imm(_) => 5,
            Item::Decl(decl) => decl_tokens(decl),
        };
    }
    for inst in &program.insts {
        total += inst_tokens(inst, labels);
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}

fn decl_tokens(decl: &Decl) -> u64 {
    let interpolated = decl.interp.is_some() || decl.location.is_some() || decl.cylwrap != 0;
    2 + u64::from(matches!(decl.dim, Some(Some(_))))
        + u64::from(interpolated)
        + u64::from(decl.semantic.is_some())
        + u64::from(matches!(decl.file, File::Image | File::Sview | File::Res))
        + u64::from(decl.array != 0)
}

fn inst_tokens(inst: &Inst, labels: bool) -> u64 {
    let mut total = 1;
    // A call says by its label what it calls.
    total += u64::from(takes_label(inst.op) && (labels || inst.op == Opcode::Cal));
    let memory = inst.op.info().shape == Shape::Mem || inst.op == Opcode::Barrier;
    total += u64::from(memory);
    if !memory && inst.target.is_some() {
        total += 1 + inst.offsets.len() as u64;
    }
    for dst in &inst.dsts {
        total += register_tokens(&dst.reg);
    }
    for src in &inst.srcs {
        total += register_tokens(&src.reg);
    }
    total
}

fn register_tokens(reg: &Register) -> u64 {
    let indirect = |index: &Index| u64::from(index.addr.is_some());
    1 + indirect(&reg.index) + reg.dim.as_ref().map_or(0, |dim| 1 + indirect(dim))
}

/// Whether the binary form of the opcode has room for a branch target.
fn takes_label(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::If
            | Opcode::Uif
            | Opcode::Ifc
            | Opcode::Else
            | Opcode::Bgnloop
            | Opcode::Endloop
            | Opcode::Cal
            | Opcode::Bra
            | Opcode::Callnz
            | Opcode::Bgnfor
            | Opcode::Endfor
            | Opcode::Rep
            | Opcode::Endrep
    )
}
