//! Fewer declarations, properties and immediates.

use tgsi::{Decl, File, Inst, Item, Program, Register};

use crate::Search;
use crate::operands::ONE;

/// Removes what nothing names, then what can be missed, and makes immediates plain.
pub(crate) fn simplify(search: &mut Search<'_>) {
    search.change(drop_unnamed);
    search.change(renumber);
    let mut at = search.best.header.len();
    while at > 0 && !search.exhausted {
        at -= 1;
        match &search.best.header[at] {
            Item::Imm(_) => immediate(search, at),
            Item::Decl(_) | Item::Property(_) => {
                search.change(|p| {
                    p.header.remove(at);
                });
            }
        }
    }
}

/// All registers that an instruction names.
fn registers(inst: &mut Inst) -> impl Iterator<Item = &mut Register> {
    let dsts = inst.dsts.iter_mut().map(|d| &mut d.reg);
    let srcs = inst.srcs.iter_mut().map(|s| &mut s.reg);
    let offsets = inst.offsets.iter_mut().map(|o| &mut o.reg);
    dsts.chain(srcs).chain(offsets)
}

/// Numbers of a file's registers that instructions name, address registers among them; nothing if an
/// index is not known.
fn named(program: &mut Program, file: File, dim: Option<i32>) -> Option<Vec<i32>> {
    let mut out = Vec::new();
    for inst in &mut program.insts {
        for reg in registers(inst) {
            let brackets = [Some(reg.index), reg.dim];
            let addresses = brackets.iter().flatten().filter_map(|i| i.addr);
            out.extend(addresses.filter(|a| a.file == file).map(|a| a.index));
            if reg.file != file {
                continue;
            }
            if reg.is_indirect() {
                return None;
            }
            if dim.is_none() || reg.dim.is_none_or(|d| Some(d.base) == dim) {
                out.push(reg.index.base);
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}

/// Narrows or removes all declarations of registers that nothing names.
fn drop_unnamed(program: &mut Program) {
    let mut items = std::mem::take(&mut program.header);
    items.retain_mut(|item| {
        let Item::Decl(d) = item else { return true };
        let Some(named) = named(program, d.file, d.dim.flatten()) else {
            return true;
        };
        let own = |n: &&i32| (d.first..=d.last).contains(*n);
        let (Some(&first), Some(&last)) = (named.iter().find(own), named.iter().rfind(own)) else {
            return false;
        };
        // What has a semantic counts from its first register.
        if d.semantic.is_none() && d.array == 0 {
            d.first = first;
        }
        d.last = last;
        true
    });
    program.header = items;
}

/// Numbers the temporaries without gaps.
fn renumber(program: &mut Program) {
    let arrays = program
        .header
        .iter()
        .any(|i| matches!(i, Item::Decl(d) if d.file == File::Temp && (d.array != 0 || d.local)));
    let Some(used) = named(program, File::Temp, None).filter(|u| !arrays && !u.is_empty()) else {
        return;
    };
    let number = |n: i32| used.binary_search(&n).map_or(n, |k| k as i32);
    for inst in &mut program.insts {
        for reg in registers(inst) {
            if reg.file == File::Temp {
                reg.index.base = number(reg.index.base);
            }
            for index in [Some(&mut reg.index), reg.dim.as_mut()]
                .into_iter()
                .flatten()
            {
                if let Some(a) = index.addr.as_mut().filter(|a| a.file == File::Temp) {
                    a.index = number(a.index);
                }
            }
        }
    }
    let is_temp = |i: &Item| matches!(i, Item::Decl(d) if d.file == File::Temp);
    let at = program.header.iter().position(is_temp).unwrap_or(0);
    program.header.retain(|i| !is_temp(i));
    let decl = Decl::plain(File::Temp, 0, used.len() as i32 - 1);
    program.header.insert(at, Item::Decl(decl));
}

/// An immediate that nothing reads, words that are 0 or 1.
fn immediate(search: &mut Search<'_>, at: usize) {
    let imms = search.best.header[..at].iter();
    let number = imms.filter(|i| matches!(i, Item::Imm(_))).count() as i32;
    let read = named(&mut search.best, File::Imm, None).is_none_or(|n| n.contains(&number));
    if !read && search.change(|p| drop_immediate(p, at, number)) {
        return;
    }
    let mut word = |change: &dyn Fn(&mut [u32; 4])| {
        search.change(|p| {
            if let Item::Imm(imm) = &mut p.header[at] {
                change(&mut imm.words);
            }
        })
    };
    let ones = |w: &mut [u32; 4]| {
        if *w != [0; 4] {
            *w = [ONE; 4];
        }
    };
    if word(&|w| *w = [0; 4]) || word(&ones) {
        return;
    }
    for c in 0..4 {
        // A word that is plain already stays.
        let _ = word(&|w| w[c] = 0)
            || word(&|w| {
                if w[c] != 0 {
                    w[c] = ONE;
                }
            });
    }
}

/// Removes an immediate, and renumbers those behind it.
fn drop_immediate(program: &mut Program, at: usize, number: i32) {
    program.header.remove(at);
    for reg in program.insts.iter_mut().flat_map(registers) {
        if reg.file == File::Imm && reg.index.base > number {
            reg.index.base -= 1;
        }
    }
}
