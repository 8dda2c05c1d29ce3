//! What virglrenderer drops or mistranslates, found by comparing two programs.

use std::collections::BTreeMap;

use tgsi::{Dst, File, Inst, Item, Opcode, Program, Register, Shape, Src, Stage, TexTarget, Ty};

use crate::count::count_result;
use crate::count::{Class, class};
use crate::tokens::token_count;

/// Findings by their text, with how often each occurs.
type Findings = BTreeMap<String, u64>;

/// What `after` holds more of than `before`, of the things virglrenderer drops, rejects or
/// mistranslates; one line each, in a fixed order, empty when there is nothing.
///
/// An input may break a rule already: the output may then break it as often, not more.
pub fn virgl_introduces(before: &Program, after: &Program) -> Vec<String> {
    let old = findings(before);
    let mut report: Vec<String> = findings(after)
        .into_iter()
        .filter_map(|(what, n)| {
            let had = old.get(&what).copied().unwrap_or(0);
            (n > had).then(|| {
                if had == 0 && n == 1 {
                    what
                } else {
                    format!("{what} ({had} before, {n} after)")
                }
            })
        })
        .collect();
    let had = token_count(before);
    let has = count_result(after, before).tokens;
    if has > had {
        report.push(format!("a longer token stream ({had} before, {has} after)"));
    }
    report
}

/// Whether a host of either age drops the opcode, and so silently computes something else.
pub fn dropped_by_virgl(op: Opcode) -> bool {
    let info = op.info();
    let wide = |t: Ty| matches!(t, Ty::I64 | Ty::U64);
    wide(info.dst_ty)
        || info.src_ty.iter().any(|t| wide(*t))
        || info.name.starts_with("SAMPLE")
        || matches!(
            op,
            Opcode::Cont
                | Opcode::Cal
                | Opcode::Bgnsub
                | Opcode::Endsub
                | Opcode::Switch
                | Opcode::Case
                | Opcode::Default
                | Opcode::Endswitch
                | Opcode::Nop
                | Opcode::Fma
                | Opcode::Dfma
                | Opcode::Arr
                | Opcode::Dldexp
                | Opcode::Dfracexp
                | Opcode::Pk2h
                | Opcode::Pk2us
                | Opcode::Pk4b
                | Opcode::Pk4ub
                | Opcode::Up2h
                | Opcode::Up2us
                | Opcode::Up4b
                | Opcode::Up4ub
                | Opcode::TexLz
                | Opcode::TxfLz
                | Opcode::Gather4
                | Opcode::Sviewinfo
                | Opcode::Sle
                | Opcode::Sgt
                | Opcode::Dflr
                | Opcode::Dceil
                | Opcode::Dtrunc
                | Opcode::Dround
                | Opcode::Dssg
                | Opcode::VoteAny
                | Opcode::VoteAll
                | Opcode::VoteEq
        )
}

/// Properties that every host takes.
const PROPERTIES: &[&str] = &[
    "FS_COLOR0_WRITES_ALL_CBUFS",
    "FS_COORD_ORIGIN",
    "FS_COORD_PIXEL_CENTER",
    "FS_DEPTH_LAYOUT",
    "GS_INPUT_PRIMITIVE",
    "GS_OUTPUT_PRIMITIVE",
    "GS_MAX_OUTPUT_VERTICES",
    "GS_INVOCATIONS",
    "NUM_CLIPDIST_ENABLED",
    "NUM_CULLDIST_ENABLED",
    "TCS_VERTICES_OUT",
    "TES_PRIM_MODE",
    "TES_SPACING",
    "TES_VERTEX_ORDER_CW",
    "TES_POINT_MODE",
    "FS_EARLY_DEPTH_STENCIL",
    "CS_FIXED_BLOCK_WIDTH",
    "CS_FIXED_BLOCK_HEIGHT",
    "CS_FIXED_BLOCK_DEPTH",
    "FS_BLEND_EQUATION_ADVANCED",
];

/// What the checks of one program look up.
struct Context<'a> {
    stage: Stage,
    imms: Vec<[u32; 4]>,
    /// Range of every output that must be written with a full mask, and its semantic.
    full_outputs: Vec<(i32, i32, &'a str)>,
    /// Ids of declared TEMP arrays.
    arrays: Vec<u32>,
}

fn findings(program: &Program) -> Findings {
    let mut found = Findings::new();
    let context = header_findings(program, &mut found);
    let mut precise = Vec::new();
    for inst in &program.insts {
        inst_findings(&context, inst, &mut found);
        for dst in inst
            .dsts
            .iter()
            .filter(|d| d.reg.file == File::Temp && !d.reg.is_indirect())
        {
            precise.push((dst.reg.index.base, inst.precise));
        }
    }
    precise.sort_unstable();
    precise.dedup();
    let shared = precise.windows(2).filter(|w| w[0].0 == w[1].0).count() as u64;
    if shared != 0 {
        found.insert(
            "a TEMP shared by precise and other values".to_owned(),
            shared,
        );
    }
    found
}

fn header_findings<'a>(program: &'a Program, found: &mut Findings) -> Context<'a> {
    let mut context = Context {
        stage: program.stage,
        imms: Vec::new(),
        full_outputs: Vec::new(),
        arrays: Vec::new(),
    };
    let (mut inputs, mut outputs) = (0u64, 0u64);
    for item in &program.header {
        match item {
            Item::Property(property) => {
                if !PROPERTIES.contains(&property.name.as_str()) {
                    add(found, format!("property {}", property.name));
                }
            }
            Item::Imm(imm) => context.imms.push(imm.words),
            Item::Decl(decl) => {
                let size =
                    u64::try_from(i64::from(decl.last) - i64::from(decl.first) + 1).unwrap_or(0);
                match decl.file {
                    File::Temp if decl.array != 0 => context.arrays.push(decl.array),
                    File::In => inputs += size,
                    File::Out => {
                        outputs += size;
                        if let Some(semantic) = &decl.semantic
                            && needs_full_mask(program.stage, &semantic.name)
                        {
                            context
                                .full_outputs
                                .push((decl.first, decl.last, &semantic.name));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    for (what, n, limit) in [
        ("immediates", context.imms.len() as u64, 1024),
        ("inputs", inputs, 64),
        ("outputs", outputs, 64),
    ] {
        if n > limit {
            found.insert(format!("more than {limit} {what}"), n);
        }
    }
    context
}

fn needs_full_mask(stage: Stage, semantic: &str) -> bool {
    match semantic {
        "CLIPDIST" | "CLIPVERTEX" => true,
        "COLOR" | "BCOLOR" => stage == Stage::Vert,
        _ => false,
    }
}

fn add(found: &mut Findings, what: impl Into<String>) {
    *found.entry(what.into()).or_insert(0) += 1;
}

fn inst_findings(context: &Context<'_>, inst: &Inst, found: &mut Findings) {
    let info = inst.op.info();
    if dropped_by_virgl(inst.op) {
        add(found, format!("{}, which hosts drop", info.name));
    }
    for dst in &inst.dsts {
        register_findings(context, &dst.reg, found);
        dst_findings(context, inst, dst, found);
    }
    for (i, src) in inst.srcs.iter().enumerate() {
        register_findings(context, &src.reg, found);
        let ty = info.src_ty.get(i).copied().unwrap_or(Ty::Any);
        if src.neg && !ty.is_float_modifier() {
            add(found, "a negated integer or 64-bit operand");
        }
        if src.abs && !ty.is_float_modifier() {
            add(found, "an absolute integer or 64-bit operand");
        }
    }
    if wide_vector(inst) {
        add(found, "a 64-bit operation on both channel pairs");
    }
    if class(inst.op) == Class::Tex {
        tex_findings(inst, found);
    }
    match inst.op {
        Opcode::Bfi => bitfield_findings(context, inst, 2, found),
        Opcode::Ibfe | Opcode::Ubfe => bitfield_findings(context, inst, 1, found),
        Opcode::Emit | Opcode::Endprim
            if inst.srcs.first().is_none_or(|s| s.reg.file != File::Imm) =>
        {
            add(found, format!("{} whose stream is no immediate", info.name));
        }
        _ => {}
    }
}

fn register_findings(context: &Context<'_>, reg: &Register, found: &mut Findings) {
    for addr in reg.dim.iter().chain([&reg.index]).filter_map(|i| i.addr) {
        if addr.file != File::Addr {
            add(found, "an index register that is not ADDR");
        } else if addr.index != 0 || addr.comp != 0 {
            add(found, "an index register other than ADDR[0].x");
        }
    }
    if reg.file == File::Temp
        && reg.index.addr.is_some()
        && !context.arrays.contains(&reg.index.array)
    {
        add(found, "an indirect TEMP without a declared array");
    }
}

fn dst_findings(context: &Context<'_>, inst: &Inst, dst: &Dst, found: &mut Findings) {
    if dst.mask == 0 {
        add(found, "an empty write mask");
    }
    if dst.reg.file != File::Out {
        return;
    }
    let info = inst.op.info();
    let integer = matches!(info.dst_ty, Ty::I | Ty::U) && info.shape != Shape::Mem;
    if integer {
        add(found, "an integer result written to OUT");
    }
    if dst.mask == 0xf {
        return;
    }
    for (first, last, semantic) in &context.full_outputs {
        if dst.reg.index.addr.is_some() || (*first..=*last).contains(&dst.reg.index.base) {
            let stage = if context.stage == Stage::Vert {
                "vertex "
            } else {
                ""
            };
            add(found, format!("a partial mask on {stage}output {semantic}"));
            return;
        }
    }
}

/// Whether a 64-bit operation computes more than one value.
fn wide_vector(inst: &Inst) -> bool {
    let info = inst.op.info();
    let mask = inst.dsts.first().map_or(0, |d| d.mask);
    if info.dst_ty.is_wide() {
        mask & 0b0011 != 0 && mask & 0b1100 != 0
    } else {
        info.src_ty.iter().any(|t| t.is_wide()) && mask.count_ones() > 1
    }
}

fn tex_findings(inst: &Inst, found: &mut Findings) {
    if let Some(Src {
        reg: Register {
            file: File::Imm, ..
        },
        ..
    }) = inst.srcs.first()
        && !matches!(inst.op, Opcode::Txq | Opcode::Txqs)
    {
        add(found, "an immediate as texture coordinate");
    }
    if inst.target == Some(TexTarget::D3) {
        for offset in &inst.offsets {
            if offset.reg.file != File::Imm {
                add(found, "texel offsets of a 3D texture that are no immediate");
            }
        }
    }
}

/// Hosts read one channel of the offset and of the number of bits, whatever the mask.
fn bitfield_findings(context: &Context<'_>, inst: &Inst, first: usize, found: &mut Findings) {
    let mask = inst.dsts.first().map_or(0, |d| d.mask);
    let scalar = inst.srcs.iter().skip(first).all(|src| {
        let word = |c: usize| -> (u8, Option<u32>) {
            let channel = src.swizzle[c] & 3;
            match (src.reg.file, usize::try_from(src.reg.index.base)) {
                (File::Imm, Ok(i)) if !src.reg.is_indirect() => match context.imms.get(i) {
                    Some(words) => (0, Some(words[usize::from(channel)])),
                    None => (channel, None),
                },
                _ => (channel, None),
            }
        };
        (0..4)
            .filter(|c| mask >> c & 1 != 0)
            .all(|c| word(c) == word(0))
    });
    if !scalar {
        add(
            found,
            format!("{} with differing offsets or sizes", inst.op.name()),
        );
    }
}
