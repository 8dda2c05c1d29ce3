//! Fewer instructions.

use tgsi::{File, Inst, Opcode, Program};

use crate::Search;

/// Removes what nothing reads, then runs of instructions, long ones first and the last in the text
/// first: what they read is unread then. Runs that cut a region apart are no sound programs.
pub(crate) fn remove(search: &mut Search<'_>) {
    search.change(drop_unread);
    let mut len = search.best.insts.len().div_ceil(2);
    while len > 0 && !search.exhausted {
        let mut at = search.best.insts.len().saturating_sub(len);
        loop {
            let end = (at + len).min(search.best.insts.len());
            search.change(|p| retain(p, |i| i < at || i >= end));
            if at == 0 {
                break;
            }
            at = at.saturating_sub(len).min(search.best.insts.len());
        }
        len /= 2;
    }
}

/// Keeps the instructions at some places; calls lead where they led.
pub(crate) fn retain(program: &mut Program, keep: impl Fn(usize) -> bool) {
    let mut new = Vec::with_capacity(program.insts.len());
    let mut gone = 0;
    // How many instructions before each place went.
    let before: Vec<u32> = (0..program.insts.len())
        .map(|i| {
            let n = gone;
            gone += u32::from(!keep(i));
            n
        })
        .collect();
    for (i, mut inst) in std::mem::take(&mut program.insts).into_iter().enumerate() {
        if !keep(i) {
            continue;
        }
        if matches!(inst.op, Opcode::Cal | Opcode::Callnz)
            && let Some(l) = &mut inst.label
        {
            let n = before.get(*l as usize).copied().unwrap_or(gone);
            *l = l.saturating_sub(n);
        }
        new.push(inst);
    }
    program.insts = new;
}

/// Removes all instructions that do nothing but write temporaries and addresses which nothing reads.
fn drop_unread(program: &mut Program) {
    loop {
        let mut read = Vec::new();
        for inst in &program.insts {
            let sources = inst.srcs.iter().map(|s| &s.reg);
            let all = sources.chain(inst.offsets.iter().map(|o| &o.reg));
            read.extend(all.clone().map(|r| (r.file, r.index.base)));
            let named = all.chain(inst.dsts.iter().map(|d| &d.reg));
            for reg in named {
                let brackets = [Some(reg.index), reg.dim];
                for a in brackets.iter().flatten().filter_map(|i| i.addr) {
                    read.push((a.file, a.index));
                }
            }
        }
        // An indirect access may read any register.
        let indirect = |file| {
            let of = |r: &tgsi::Register| r.file == file && r.is_indirect();
            program
                .insts
                .iter()
                .any(|i| i.srcs.iter().any(|s| of(&s.reg)) || i.dsts.iter().any(|d| of(&d.reg)))
        };
        let whole = indirect(File::Temp);
        let unread = |inst: &Inst| {
            !inst.dsts.is_empty()
                && inst.dsts.iter().all(|d| {
                    matches!(d.reg.file, File::Temp | File::Addr)
                        && !(whole && d.reg.file == File::Temp)
                        && !read.contains(&(d.reg.file, d.reg.index.base))
                })
        };
        let dead: Vec<bool> = program.insts.iter().map(unread).collect();
        if !dead.contains(&true) {
            return;
        }
        retain(program, |i| !dead[i]);
    }
}
