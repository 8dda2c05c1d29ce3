//! Plainer instructions.

use tgsi::{File, Imm, ImmType, Inst, Item, Opcode, Program, Register, Shape, Src, XYZW};

use crate::Search;

/// Makes instructions plainer, the last one first.
pub(crate) fn simplify(search: &mut Search<'_>) {
    let mut at = search.best.insts.len();
    while at > 0 && !search.exhausted {
        at -= 1;
        modifiers(search, at);
        channels(search, at);
        opcode(search, at);
        for s in 0..search.best.insts[at].srcs.len() {
            source(search, at, s);
        }
    }
}

fn change(search: &mut Search<'_>, at: usize, f: impl FnOnce(&mut Inst)) -> bool {
    search.change(|p| f(&mut p.insts[at]))
}

/// Modifiers of the instruction, and all of its operands.
fn modifiers(search: &mut Search<'_>, at: usize) {
    let plain = |i: &mut Inst| {
        i.sat = false;
        i.precise = false;
        i.offsets.clear();
        if let Some(m) = &mut i.memory {
            m.coherent = false;
            m.volatile = false;
            m.restrict = false;
        }
        for s in &mut i.srcs {
            s.neg = false;
            s.abs = false;
        }
    };
    if change(search, at, plain) {
        return;
    }
    change(search, at, |i| i.sat = false);
    change(search, at, |i| i.precise = false);
    change(search, at, |i| i.offsets.clear());
    change(search, at, |i| {
        if let Some(m) = &mut i.memory {
            m.coherent = false;
            m.volatile = false;
            m.restrict = false;
        }
    });
    for s in 0..search.best.insts[at].srcs.len() {
        change(search, at, |i| i.srcs[s].neg = false);
        change(search, at, |i| i.srcs[s].abs = false);
    }
}

/// One channel in place of several, else without each.
fn channels(search: &mut Search<'_>, at: usize) {
    let Some(mask) = search.best.insts[at].dsts.first().map(|d| d.mask) else {
        return;
    };
    let single = |c: u8| mask & 1 << c != 0 && mask.count_ones() > 2;
    for c in (0..4).filter(|&c| single(c)) {
        if change(search, at, |i| i.dsts[0].mask = 1 << c) {
            return;
        }
    }
    for c in 0..4 {
        change(search, at, |i| {
            if i.dsts[0].mask & !(1 << c) != 0 {
                i.dsts[0].mask &= !(1 << c);
            }
        });
    }
}

/// A MOV of an operand in place of an operation.
fn opcode(search: &mut Search<'_>, at: usize) {
    let inst = &search.best.insts[at];
    if inst.op == Opcode::Mov || inst.dsts.len() != 1 || inst.op.info().shape == Shape::Mem {
        return;
    }
    let sources = inst.srcs.clone();
    for src in sources.into_iter().filter(|s| is_value(s.reg.file)) {
        let moved = |i: &mut Inst| {
            i.op = Opcode::Mov;
            i.srcs = [src].into_iter().collect();
            i.target = None;
            i.offsets.clear();
            i.memory = None;
        };
        if change(search, at, moved) {
            return;
        }
    }
}

/// Whether registers of a file hold words.
fn is_value(file: File) -> bool {
    rank(file) < NOT_PLAIN
}

/// Beyond this no operand is put in the place of another.
const NOT_PLAIN: u8 = 4;

/// How much a reader has to look up to know an operand.
fn rank(file: File) -> u8 {
    match file {
        File::Imm => 0,
        File::Const => 1,
        File::In | File::Sv => 2,
        File::Temp | File::Out => 3,
        _ => NOT_PLAIN,
    }
}

/// Plainer operands.
fn source(search: &mut Search<'_>, at: usize, s: usize) {
    let put = |search: &mut Search<'_>, f: &dyn Fn(&mut Src)| {
        search.change(|p| {
            if let Some(src) = p.insts[at].srcs.get_mut(s) {
                f(src);
            }
        })
    };
    put(search, &|s| {
        if s.reg.index.base >= 0 {
            s.reg.index.addr = None;
        }
    });
    put(search, &|s| {
        if let Some(d) = &mut s.reg.dim
            && d.base >= 0
        {
            d.addr = None;
        }
    });
    let Some(&old) = search.best.insts[at].srcs.get(s) else {
        return;
    };
    if !is_value(old.reg.file) {
        return;
    }
    for new in replacements(&search.best, at, s) {
        if put(search, &|s| *s = new) {
            // What came in its place may have a plainer form too.
            if rank(new.reg.file) > 0 {
                source(search, at, s);
            }
            return;
        }
    }
    let imm = Item::Imm(Imm {
        ty: ImmType::Flt32,
        words: [ONE; 4],
        span: Default::default(),
    });
    if rank(old.reg.file) > 0 && !search.best.header.iter().any(|i| matches!(i, Item::Imm(_))) {
        search.change(|p| {
            p.header.push(imm);
            p.insts[at].srcs[s].reg = Register::direct(File::Imm, 0);
        });
    }
    let first = search.best.insts[at].srcs[s].swizzle[0];
    let _ = put(search, &|s| s.swizzle = XYZW)
        || put(search, &|s| s.swizzle = [0; 4])
        || put(search, &|s| s.swizzle = [first; 4]);
}

/// The bits of 1.0.
pub(crate) const ONE: u32 = 0x3f80_0000;

/// What may stand in the place of an operand: other operands of the instruction and the program that
/// are plainer, then operands of what computed it.
fn replacements(program: &Program, at: usize, s: usize) -> Vec<Src> {
    let old = program.insts[at].srcs[s];
    let mut out: Vec<Src> = Vec::new();
    let mut push = |src: Src| {
        if !out.contains(&src) {
            out.push(src);
        }
    };
    let plainer = |r: &Register| {
        let (new, old) = (
            (rank(r.file), r.index.base),
            (rank(old.reg.file), old.reg.index.base),
        );
        !r.is_indirect() && (new.0 < old.0 || r.file != File::Temp && new < old)
    };
    let own = program.insts[at].srcs.iter();
    let all = program.insts.iter().flat_map(|i| &i.srcs);
    let mut files = Vec::new();
    for src in own.chain(all).filter(|s| plainer(&s.reg)) {
        // One of each file is enough.
        if !files.contains(&src.reg.file) {
            files.push(src.reg.file);
            push(Src {
                reg: src.reg,
                ..old
            });
        }
    }
    if old.reg.is_indirect() {
        return out;
    }
    let writes = |i: &&Inst| i.dsts.iter().any(|d| d.reg == old.reg);
    if let Some(by) = program.insts[..at].iter().rev().find(writes) {
        for src in by.srcs.iter().filter(|s| is_value(s.reg.file)) {
            push(Src {
                swizzle: old.swizzle.map(|c| src.swizzle[usize::from(c & 3)]),
                abs: old.abs,
                neg: old.neg,
                ..*src
            });
        }
    }
    out
}
