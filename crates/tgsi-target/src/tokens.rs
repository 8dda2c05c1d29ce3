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
pub fn token_count(program: &Program) -> u32 {
    let mut total = 2u64;
    for item in &program.header {
        total += match item {
            Item::Property(property) => 1 + property.values.len() as u64,
            Item::Imm(_) => 5,
            Item::Decl(decl) => decl_tokens(decl),
        };
    }
    for inst in &program.insts {
        total += inst_tokens(inst);
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

fn inst_tokens(inst: &Inst) -> u64 {
    let mut total = 1;
    total += u64::from(has_label(inst.op));
    let memory = inst.op.info().shape == Shape::Mem;
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

/// Whether the binary form of the opcode carries a branch target, printed or not.
fn has_label(op: Opcode) -> bool {
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
