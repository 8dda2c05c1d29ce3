//! Rewritings of a program that change its text and not its meaning, nor hardly what it should cost.

use tgsi::{Dst, Effect, File, Inst, Item, Opcode, Program, Register, Shape, Src};

use crate::choices::Choices;

/// A rewriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transform {
    /// The body becomes that of a loop that runs once.
    WrapInLoop,
    /// A loop that counts for nobody stands in front.
    DeadLoop,
    /// Instructions on several channels become one for each.
    Split,
    /// Instructions are split, change places, and join again where those on other channels of the
    /// same registers stand together.
    Join,
    /// Temporaries change their numbers.
    Rename,
    /// Independent neighbours change places.
    Permute,
}

impl Transform {
    /// All of them.
    pub const ALL: [Transform; 6] = [
        Transform::WrapInLoop,
        Transform::DeadLoop,
        Transform::Split,
        Transform::Join,
        Transform::Rename,
        Transform::Permute,
    ];

    /// The program rewritten, where `bytes` choose if there is a choice. Nothing if there is nothing
    /// to rewrite, or if the program calls subroutines: labels stand where they stood.
    pub fn apply(self, program: &Program, bytes: &[u8]) -> Option<Program> {
        let fixed = |i: &Inst| {
            matches!(
                i.op,
                Opcode::Cal | Opcode::Callnz | Opcode::Bgnsub | Opcode::Bra
            )
        };
        if program.insts.iter().any(fixed) {
            return None;
        }
        let mut c = Choices::new(bytes);
        let mut result = program.clone();
        result.insts.iter_mut().for_each(|i| i.label = None);
        match self {
            Transform::WrapInLoop => wrap(&mut result)?,
            Transform::DeadLoop => dead_loop(&mut result),
            Transform::Split => split(&mut result),
            Transform::Join => {
                split(&mut result);
                permute(&mut result, &mut c);
                join(&mut result);
            }
            Transform::Rename => rename(&mut result, &mut c)?,
            Transform::Permute => permute(&mut result, &mut c),
        }
        let bare = |p: &Program| p.insts.iter().map(without_label).collect::<Vec<_>>();
        (bare(&result) != bare(program)).then_some(result)
    }
}

fn without_label(inst: &Inst) -> Inst {
    Inst {
        label: None,
        ..inst.clone()
    }
}

/// The instructions of a text.
fn parsed(text: &str) -> Vec<Inst> {
    let mut insts = tgsi::parse(&format!("FRAG\n{text}")).0.insts;
    insts.iter_mut().for_each(|i| i.label = None);
    insts
}

fn wrap(program: &mut Program) -> Option<()> {
    let end = program.insts.iter().rposition(|i| i.op == Opcode::End)?;
    program.insts.splice(end..end, parsed("BRK\nENDLOOP\n"));
    program.insts.splice(0..0, parsed("BGNLOOP\n"));
    Some(())
}

fn dead_loop(program: &mut Program) {
    let temps = program.header.iter().filter_map(|i| match i {
        Item::Decl(d) if d.file == File::Temp => Some(d.last + 1),
        _ => None,
    });
    let t = temps.max().unwrap_or(0);
    let imms = program.header.iter();
    let imm = imms.filter(|i| matches!(i, Item::Imm(_))).count();
    let header = format!("FRAG\nDCL TEMP[{t}], LOCAL\nIMM[{imm}] UINT32 {{0, 1, 3, 0}}\n");
    for item in tgsi::parse(&header).0.header {
        let last = |i: &Item| matches!(i, Item::Imm(_)) || !matches!(item, Item::Imm(_));
        let at = program.header.iter().rposition(last).map_or(0, |at| at + 1);
        program.header.insert(at, item);
    }
    let text = format!(
        "MOV TEMP[{t}].x, IMM[{imm}].xxxx\nBGNLOOP\nUSGE TEMP[{t}].y, TEMP[{t}].xxxx, IMM[{imm}].zzzz\n\
         UIF TEMP[{t}].yyyy\nBRK\nENDIF\nUADD TEMP[{t}].x, TEMP[{t}].xxxx, IMM[{imm}].yyyy\nENDLOOP\n"
    );
    program.insts.splice(0..0, parsed(&text));
}

/// Whether each channel of the result depends on the same channels of the operands alone, and the
/// result is in no operand.
fn by_channel(inst: &Inst) -> bool {
    let info = inst.op.info();
    let wide = info.dst_ty.is_wide() || info.src_ty.iter().any(|t| t.is_wide());
    let [dst] = &inst.dsts[..] else { return false };
    info.shape == Shape::Comp
        && info.effect == Effect::Pure
        && !wide
        && plain(&dst.reg)
        && dst.reg.file == File::Temp
        && inst.srcs.iter().all(|s| !names(&s.reg, &dst.reg))
}

fn plain(reg: &Register) -> bool {
    reg.dim.is_none() && reg.index.addr.is_none()
}

/// Whether reading or writing `reg` may touch the direct register `other`, as its own or as an index.
fn names(reg: &Register, other: &Register) -> bool {
    let addressed = |a: Option<tgsi::AddrReg>| {
        a.is_some_and(|a| a.file == other.file && a.index == other.index.base)
    };
    addressed(reg.index.addr)
        || reg.dim.is_some_and(|d| addressed(d.addr))
        || reg.file == other.file
            && (reg.index.addr.is_some() || reg.index.base == other.index.base)
}

fn split(program: &mut Program) {
    let one = |inst: &Inst| -> Vec<Inst> {
        if !by_channel(inst) || inst.dsts[0].mask.count_ones() < 2 {
            return vec![inst.clone()];
        }
        let mask = inst.dsts[0].mask;
        let lane = |c: u8| {
            let mut inst = inst.clone();
            inst.dsts[0].mask = 1 << c;
            inst
        };
        (0..4).filter(|c| mask >> c & 1 != 0).map(lane).collect()
    };
    program.insts = program.insts.iter().flat_map(one).collect();
}

fn join(program: &mut Program) {
    let mut out: Vec<Inst> = Vec::new();
    for inst in program.insts.drain(..) {
        if let Some(last) = out.last_mut()
            && joins(last, &inst)
        {
            for (a, b) in last.srcs.iter_mut().zip(&inst.srcs) {
                for c in (0..4).filter(|c| inst.dsts[0].mask >> c & 1 != 0) {
                    a.swizzle[c] = b.swizzle[c];
                }
            }
            last.dsts[0].mask |= inst.dsts[0].mask;
            continue;
        }
        out.push(inst);
    }
    program.insts = out;
}

fn joins(a: &Inst, b: &Inst) -> bool {
    let dst = |d: &Dst| d.reg;
    let src = |s: &Src| (s.reg, s.abs, s.neg);
    (a.op, a.sat, a.precise) == (b.op, b.sat, b.precise)
        && by_channel(a)
        && by_channel(b)
        && a.dsts.iter().map(dst).eq(b.dsts.iter().map(dst))
        && a.dsts[0].mask & b.dsts[0].mask == 0
        && a.srcs.iter().map(src).eq(b.srcs.iter().map(src))
}

/// Calls `f` for each register and each address register.
fn registers(inst: &mut Inst, f: &mut impl FnMut(File, &mut i32, bool)) {
    let mut one = |reg: &mut Register| {
        let dim = reg.dim.as_mut().and_then(|d| d.addr.as_mut());
        for a in dim.into_iter().chain(reg.index.addr.as_mut()) {
            f(a.file, &mut a.index, false);
        }
        let array = reg.index.array != 0 || reg.index.addr.is_some() || reg.dim.is_some();
        f(reg.file, &mut reg.index.base, array);
    };
    inst.dsts.iter_mut().for_each(|d| one(&mut d.reg));
    inst.srcs.iter_mut().for_each(|s| one(&mut s.reg));
    inst.offsets.iter_mut().for_each(|o| one(&mut o.reg));
}

fn rename(program: &mut Program, c: &mut Choices<'_>) -> Option<()> {
    let mut numbers: Vec<i32> = Vec::new();
    for item in &program.header {
        match item {
            Item::Decl(d) if d.file == File::Temp && d.array == 0 => {
                numbers.extend(d.first..=d.last)
            }
            _ => {}
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let mut others = numbers.clone();
    for i in (1..others.len()).rev() {
        others.swap(i, c.below(i + 1));
    }
    if others == numbers {
        let by = usize::from(others.len() > 1);
        others.rotate_left(by);
    }
    let mut whole = true;
    for inst in &mut program.insts {
        registers(inst, &mut |file, number, array| {
            if file != File::Temp {
                return;
            }
            match numbers.binary_search(number) {
                // What is named as an array and declared as none cannot be followed.
                Ok(_) if array => whole = false,
                Ok(at) => *number = others[at],
                Err(_) => {}
            }
        });
    }
    whole.then_some(())
}

fn permute(program: &mut Program, c: &mut Choices<'_>) {
    for at in 1..program.insts.len() {
        let [a, b] = [&program.insts[at - 1], &program.insts[at]];
        if independent(a, b) && independent(b, a) && (c.is_empty() || c.chance(60)) {
            program.insts.swap(at - 1, at);
        }
    }
}

/// Whether `a` only computes, into a temporary that `b` has nothing to do with.
fn independent(a: &Inst, b: &Inst) -> bool {
    let [dst] = &a.dsts[..] else { return false };
    let mut regs = b.dsts.iter().map(|d| &d.reg);
    a.op.info().effect == Effect::Pure
        && dst.reg.file == File::Temp
        && plain(&dst.reg)
        && !regs.any(|r| names(r, &dst.reg))
        && !b.srcs.iter().any(|s| names(&s.reg, &dst.reg))
        && !b.offsets.iter().any(|o| names(&o.reg, &dst.reg))
}
