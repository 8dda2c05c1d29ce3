//! The length of the binary form.

use tgsi::{Decl, File, Inst, Item, Opcode, Program};

use crate::count::{Class, count_as};

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
    count_as(program, || false).tokens
}

/// Whether the branches of a program carry labels.
pub fn has_labels(program: &Program) -> bool {
    program
        .insts
        .iter()
        .any(|inst| inst.label.is_some() && takes_label(inst.op))
}

/// The words of the header and of what is declared in it.
pub(crate) fn header_tokens(program: &Program) -> u64 {
    let item = |item: &Item| match item {
        Item::Property(property) => 1 + property.values.len() as u64,
        Item::Imm(_) => 5,
        Item::Decl(decl) => decl_tokens(decl),
    };
    2 + program.header.iter().map(item).sum::<u64>()
}

fn decl_tokens(decl: &Decl) -> u64 {
    let interpolated = decl.interp.is_some() || decl.location.is_some() || decl.cylwrap != 0;
    2 + u64::from(matches!(decl.dim, Some(Some(_))))
        + u64::from(interpolated)
        + u64::from(decl.semantic.is_some())
        + u64::from(matches!(decl.file, File::Image | File::Sview | File::Res))
        + u64::from(decl.array != 0)
}

/// The words of an instruction without its operands and label.
pub(crate) fn inst_tokens(inst: &Inst, class: Class) -> u64 {
    if class == Class::Memory || inst.op == Opcode::Barrier {
        2
    } else if inst.target.is_some() {
        2 + inst.offsets.len() as u64
    } else {
        1
    }
}

/// Whether the binary form of the opcode has room for a branch target.
pub(crate) fn takes_label(op: Opcode) -> bool {
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
