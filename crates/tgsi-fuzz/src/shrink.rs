//! Making a failing program small.

use tgsi::{File, Inst, Item, Opcode, Program, Severity, Src, XYZW, check as diagnose};

/// The smallest program found that is well formed and still `fails`, by removing instructions,
/// regions, arms, lanes, modifiers, operands and immediates.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut test = |candidate: &Program| {
        let sound = diagnose(candidate, None)
            .iter()
            .all(|d| d.severity != Severity::Error);
        sound && fails(candidate)
    };
    loop {
        let before = best.clone();
        remove_runs(&mut best, &mut test);
        remove_regions(&mut best, &mut test);
        simplify(&mut best, &mut test);
        drop_header(&mut best, &mut test);
        if best == before {
            return best;
        }
    }
}

fn offer(best: &mut Program, candidate: Program, test: &mut impl FnMut(&Program) -> bool) -> bool {
    let better = candidate != *best && test(&candidate);
    if better {
        *best = candidate;
    }
    better
}

/// Removes runs of instructions, long ones first. Runs that cut a region apart fail the check.
fn remove_runs(best: &mut Program, test: &mut impl FnMut(&Program) -> bool) {
    let mut len = best.insts.len() / 2;
    while len > 0 {
        let mut at = best.insts.len().saturating_sub(len);
        loop {
            let mut candidate = best.clone();
            let end = (at + len).min(candidate.insts.len());
            candidate.insts.drain(at..end);
            relabel(&mut candidate, at, end - at);
            offer(best, candidate, test);
            if at == 0 {
                break;
            }
            at = at.saturating_sub(len).min(best.insts.len());
        }
        len /= 2;
    }
}

/// Moves the labels of calls after `count` instructions went at `at`.
fn relabel(program: &mut Program, at: usize, count: usize) {
    for inst in program
        .insts
        .iter_mut()
        .filter(|i| matches!(i.op, Opcode::Cal | Opcode::Callnz))
    {
        if let Some(l) = inst.label.as_mut()
            && *l as usize > at
        {
            *l = l.saturating_sub(count as u32);
        }
    }
}

/// The end of the region that opens at `at`, and the ELSE in it.
fn region(insts: &[Inst], at: usize) -> Option<(usize, Option<usize>)> {
    let (mut depth, mut other) = (0, None);
    for (i, inst) in insts.iter().enumerate().skip(at) {
        match inst.op {
            Opcode::If | Opcode::Uif | Opcode::Bgnloop | Opcode::Switch | Opcode::Bgnsub => {
                depth += 1
            }
            Opcode::Else if depth == 1 => other = Some(i),
            Opcode::Endif | Opcode::Endloop | Opcode::Endswitch | Opcode::Endsub => {
                depth -= 1;
                if depth == 0 {
                    return Some((i, other));
                }
            }
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

/// Removes whole regions, one arm of them, or what encloses their contents.
fn remove_regions(best: &mut Program, test: &mut impl FnMut(&Program) -> bool) {
    let mut at = 0;
    while at < best.insts.len() {
        let Some((end, other)) = region(&best.insts, at) else {
            at += 1;
            continue;
        };
        let keep = |keep: &dyn Fn(usize) -> bool| {
            let mut p = best.clone();
            let mut i = 0;
            p.insts.retain(|_| {
                i += 1;
                keep(i - 1)
            });
            p
        };
        let mut list = vec![keep(&|i| i < at || i > end)];
        if let Some(e) = other {
            list.push(keep(&|i| i < e || i >= end));
            list.push(keep(&|i| i < at || i > e && i != end));
            list.push(keep(&|i| i < e && i != at || i > end));
        }
        list.push(keep(&|i| i != at && i != end && Some(i) != other));
        if !list.into_iter().any(|c| offer(best, c, test)) {
            at += 1;
        }
    }
}

/// Makes instructions plainer, one property at a time.
fn simplify(best: &mut Program, test: &mut impl FnMut(&Program) -> bool) {
    for at in 0..best.insts.len() {
        let mut change = |f: &dyn Fn(&mut Inst)| {
            let mut candidate = best.clone();
            f(&mut candidate.insts[at]);
            offer(best, candidate, test);
        };
        change(&|i| i.sat = false);
        change(&|i| i.precise = false);
        change(&|i| {
            i.memory = i.memory.clone().map(|mut m| {
                m.coherent = false;
                m.volatile = false;
                m.restrict = false;
                m
            })
        });
        change(&|i| i.offsets.clear());
        for c in 0..4 {
            change(&|i| {
                if let Some(d) = i.dsts.first_mut().filter(|d| d.mask & !(1 << c) != 0) {
                    d.mask &= !(1 << c);
                }
            });
        }
        let srcs = best.insts[at].srcs.len();
        for s in 0..srcs {
            shrink_source(best, at, s, test);
        }
        shrink_opcode(best, at, test);
    }
}

fn shrink_source(best: &mut Program, at: usize, s: usize, test: &mut impl FnMut(&Program) -> bool) {
    let mut change = |f: &dyn Fn(&mut Src)| {
        let mut candidate = best.clone();
        if let Some(src) = candidate.insts[at].srcs.get_mut(s) {
            f(src);
            offer(best, candidate, test);
        }
    };
    change(&|s| s.neg = false);
    change(&|s| s.abs = false);
    change(&|s| s.swizzle = XYZW);
    change(&|s| s.swizzle = [s.swizzle[0]; 4]);
    change(&|s| s.swizzle = [0; 4]);
    change(&|s| {
        if s.reg.index.addr.is_some() && s.reg.index.base >= 0 {
            s.reg.index.addr = None;
        }
    });
    if matches!(
        best.insts[at].srcs[s].reg.file,
        File::Samp | File::Buffer | File::Image | File::Memory | File::Sview
    ) {
        return;
    }
    let simple: Vec<Src> = best
        .insts
        .iter()
        .flat_map(|i| &i.srcs)
        .filter(|s| matches!(s.reg.file, File::Const | File::Imm | File::In))
        .copied()
        .collect();
    if !matches!(
        best.insts[at].srcs[s].reg.file,
        File::Const | File::Imm | File::In
    ) {
        for plain in simple {
            let mut candidate = best.clone();
            candidate.insts[at].srcs[s].reg = plain.reg;
            if offer(best, candidate, test) {
                return;
            }
        }
    }
}

/// Tries a MOV of each operand in place of an operation.
fn shrink_opcode(best: &mut Program, at: usize, test: &mut impl FnMut(&Program) -> bool) {
    let inst = &best.insts[at];
    if inst.op == Opcode::Mov || inst.dsts.len() != 1 || inst.op.info().shape == tgsi::Shape::Mem {
        return;
    }
    for s in 0..inst.srcs.len() {
        let mut candidate = best.clone();
        let i = &mut candidate.insts[at];
        let src = i.srcs[s];
        if src.reg.file == File::Samp {
            continue;
        }
        *i = Inst {
            op: Opcode::Mov,
            srcs: [src].into_iter().collect(),
            target: None,
            offsets: Default::default(),
            ..i.clone()
        };
        if offer(best, candidate, test) {
            return;
        }
    }
}

/// Removes declarations, zeroes words of immediates.
fn drop_header(best: &mut Program, test: &mut impl FnMut(&Program) -> bool) {
    let mut at = best.header.len();
    while at > 0 {
        at -= 1;
        if !matches!(best.header[at], Item::Imm(_)) {
            let mut candidate = best.clone();
            candidate.header.remove(at);
            offer(best, candidate, test);
            continue;
        }
        for c in 0..4 {
            let mut candidate = best.clone();
            if let Item::Imm(imm) = &mut candidate.header[at] {
                imm.words[c] = 0;
            }
            offer(best, candidate, test);
        }
        drop_immediate(best, at, test);
    }
}

/// Removes an immediate that nothing reads, and renumbers those behind it.
fn drop_immediate(best: &mut Program, at: usize, test: &mut impl FnMut(&Program) -> bool) {
    let number = best.header[..at]
        .iter()
        .filter(|i| matches!(i, Item::Imm(_)))
        .count() as i32;
    let mut candidate = best.clone();
    candidate.header.remove(at);
    let mut used = false;
    for inst in &mut candidate.insts {
        let regs = inst
            .srcs
            .iter_mut()
            .map(|s| &mut s.reg)
            .chain(inst.offsets.iter_mut().map(|o| &mut o.reg));
        for reg in regs.filter(|r| r.file == File::Imm) {
            used |= reg.index.base == number;
            if reg.index.base > number {
                reg.index.base -= 1;
            }
        }
    }
    if !used {
        offer(best, candidate, test);
    }
}
