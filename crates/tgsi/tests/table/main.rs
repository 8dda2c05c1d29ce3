//! The opcode table: its rows, what the opcodes compute, and what they read and write.

mod facts;
mod rows;
mod usage;
mod values;
mod vectors;

use tgsi::{Dst, File, Inst, Opcode, Register, Span, Src, XYZW, eval};

/// The opcode of a name.
#[track_caller]
fn opcode(name: &str) -> Opcode {
    Opcode::from_name(name).unwrap_or_else(|| panic!("no opcode {name}"))
}

/// A source operand without modifiers.
fn src(file: File, index: i32) -> Src {
    Src {
        reg: Register::direct(file, index),
        swizzle: XYZW,
        abs: false,
        neg: false,
        span: Span::default(),
    }
}

/// `name OUT[0].mask, IN[0], IN[1], ...` with as many sources as the table says.
#[track_caller]
fn inst(name: &str, mask: u8) -> Inst {
    let op = opcode(name);
    let dst = Dst {
        reg: Register::direct(File::Out, 0),
        mask,
        span: Span::default(),
    };
    Inst {
        op,
        sat: false,
        precise: false,
        dsts: std::iter::repeat_n(dst, usize::from(op.info().dsts)).collect(),
        srcs: (0..i32::from(op.info().srcs))
            .map(|i| src(File::In, i))
            .collect(),
        target: None,
        offsets: Default::default(),
        memory: None,
        label: None,
        span: Span::default(),
    }
}

/// What `name OUT[0].mask` writes for the given source words.
#[track_caller]
fn fold(name: &str, mask: u8, srcs: &[[u32; 4]]) -> [Option<u32>; 4] {
    eval::fold(&inst(name, mask), srcs).unwrap_or_else(|| panic!("{name} is not folded"))
}
