//! The sanity check: Mesa's rules, and what else no consumer can process.
//!
//! An error means that the program has no meaning. What real programs do all the
//! same, and what has a meaning, is a warning. The parser reports what only a text
//! can have wrong (a declaration behind an instruction, the numbers of immediates).

mod declared;
mod flow;

use crate::ast::{
    AddrReg, Decl, Dst, File, Imm, Index, Inst, Item, Program, Property, Register, Src,
};
use crate::codes;
use crate::diag::Diagnostic;
use crate::names;
use crate::opcode::{Opcode, Shape};
use crate::printer::register_text;
use crate::sink::Sink;
use declared::Declared;

/// Checks a program. `text`, if given, must be what the program was read from: it gives
/// the findings their line and column, which are 0 without it.
pub fn check(program: &Program, text: Option<&str>) -> Vec<Diagnostic> {
    let mut sink = Sink::default();
    let declared = Declared::of(program, &mut sink);
    for item in &program.header {
        match item {
            Item::Property(property) => check_property(property, &mut sink),
            Item::Decl(decl) => check_decl(decl, &mut sink),
            Item::Imm(imm) => check_imm(imm, &mut sink),
        }
    }
    for inst in &program.insts {
        check_inst(inst, &declared, &mut sink);
    }
    flow::check(program, &mut sink);
    sink.finish(text.map(str::as_bytes))
}

fn check_property(property: &Property, sink: &mut Sink) {
    let Some(words) = names::property_words(&property.name) else {
        return sink.warning(codes::UNKNOWN_PROPERTY, property.span, || {
            (
                format!("property {} is not known", property.name),
                Some("it is kept as it is".into()),
            )
        });
    };
    for value in &property.values {
        let number = value.bytes().all(|b| b.is_ascii_digit());
        if !number && !words.contains(&value.as_str()) {
            sink.error(codes::PROPERTY_VALUE, property.span, || {
                let hint = if words.is_empty() {
                    "a number".into()
                } else {
                    words.join(", ")
                };
                (
                    format!("property {} has no value {value}", property.name),
                    Some(format!("expected {hint}")),
                )
            });
        }
    }
}

fn check_decl(decl: &Decl, sink: &mut Sink) {
    if decl.first < 0 || decl.last < decl.first || decl.dim.flatten().is_some_and(|d| d < 0) {
        sink.error(codes::BAD_RANGE, decl.span, || {
            (
                format!(
                    "{}[{}..{}] is no range of registers",
                    decl.file.name(),
                    decl.first,
                    decl.last
                ),
                None,
            )
        });
    }
    if decl.mask & 0xf == 0 {
        sink.error(codes::EMPTY_MASK, decl.span, || {
            ("the declared mask is empty".into(), None)
        });
    }
}

fn check_imm(imm: &Imm, sink: &mut Sink) {
    if imm.ty.is_wide() {
        sink.warning(codes::WIDE_IMMEDIATE, imm.span, || {
            (
                format!(
                    "Mesa's sanity check refuses immediates of type {}",
                    imm.ty.name()
                ),
                None,
            )
        });
    }
}

fn check_inst(inst: &Inst, declared: &Declared, sink: &mut Sink) {
    check_counts(inst, sink);
    for dst in &inst.dsts {
        check_dst(dst, declared, sink);
    }
    for (i, src) in inst.srcs.iter().enumerate() {
        check_src(inst, i, src, declared, sink);
    }
    for offset in &inst.offsets {
        declared.check(&offset.reg, inst.span, sink);
    }
    let info = inst.op.info();
    let no_target = info.shape == Shape::Tex && inst.target.is_none() && !names_its_view(inst.op);
    if no_target && inst.srcs.iter().any(|s| s.reg.file == File::Samp) {
        sink.error(codes::NO_TARGET, inst.span, || {
            let hint = "write it behind the sampler, as in `SAMP[0], 2D`";
            (
                format!("{} has no texture target", info.name),
                Some(hint.into()),
            )
        });
    }
}

/// Whether the target comes from the declaration of the view that `op` names.
fn names_its_view(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::Sample
            | Opcode::SampleI
            | Opcode::SampleIMs
            | Opcode::SampleB
            | Opcode::SampleC
            | Opcode::SampleCLz
            | Opcode::SampleD
            | Opcode::SampleL
            | Opcode::Gather4
            | Opcode::Sviewinfo
            | Opcode::SamplePos
            | Opcode::SampleInfo
            | Opcode::Lod
            | Opcode::LoadMs
            | Opcode::Resinfo
    )
}

fn check_counts(inst: &Inst, sink: &mut Sink) {
    let info = inst.op.info();
    if inst.dsts.len() != usize::from(info.dsts) {
        sink.error(codes::DST_COUNT, inst.span, || {
            (
                format!(
                    "destinations of {}: {} expected, {} found",
                    info.name,
                    info.dsts,
                    inst.dsts.len()
                ),
                None,
            )
        });
    }
    // The stream of EMIT and ENDPRIM came later than they did.
    let optional = matches!(inst.op, Opcode::Emit | Opcode::Endprim) && inst.srcs.is_empty();
    if inst.srcs.len() != usize::from(info.srcs) && !optional {
        sink.error(codes::SRC_COUNT, inst.span, || {
            (
                format!(
                    "sources of {}: {} expected, {} found",
                    info.name,
                    info.srcs,
                    inst.srcs.len()
                ),
                None,
            )
        });
    }
}

fn check_dst(dst: &Dst, declared: &Declared, sink: &mut Sink) {
    let file = dst.reg.file;
    if dst.mask & 0xf == 0 {
        let message = || ("the write mask is empty".to_owned(), None);
        if file == File::Null {
            sink.warning(codes::EMPTY_MASK, dst.span, message);
        } else {
            sink.error(codes::EMPTY_MASK, dst.span, message);
        }
    }
    if matches!(
        file,
        File::Const | File::Imm | File::In | File::Sv | File::Samp | File::Sview
    ) {
        sink.error(codes::READ_ONLY, dst.span, || {
            (format!("{} cannot be written", file.name()), None)
        });
    }
    if file != File::Null {
        declared.check(&dst.reg, dst.span, sink);
    }
}

fn check_src(inst: &Inst, i: usize, src: &Src, declared: &Declared, sink: &mut Sink) {
    if src.reg.file == File::Null {
        return sink.error(codes::NULL_SOURCE, src.span, || {
            ("NULL cannot be read".into(), None)
        });
    }
    declared.check(&src.reg, src.span, sink);
    if !src.abs && !src.neg {
        return;
    }
    let Some(ty) = inst.op.info().src_ty.get(i) else {
        return;
    };
    if !ty.is_float_modifier() {
        sink.warning(codes::MODIFIER, src.span, || {
            let modifier = if src.abs { "`|..|`" } else { "`-`" };
            let what = if ty.is_wide() {
                "a 64-bit operand"
            } else {
                "an integer operand"
            };
            (
                format!("{modifier} on {what} of {}", inst.op.name()),
                Some("not every consumer takes it".into()),
            )
        });
    }
}
