//! Temporaries of indexed arrays: arrays that are never in use together share registers, and arrays
//! that use few channels stand side by side.
//!
//! Works on what rounds gain no more on, for those behind it take two arrays in one register for one
//! that is written in two places.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::usage::{Pairing, pairing, src_mask};
use tgsi::{Decl, File, Inst, Item, Program, Register, Shape};

use crate::syntax::{ALL, Loops, channels_read};

/// More arrays than this are left as they are: each is compared with all before it.
const MOST_ARRAYS: usize = 256;

/// An array of the program.
struct Array {
    id: u32,
    first: i32,
    last: i32,
    local: bool,
    /// Channels that instructions name.
    channels: u8,
    /// Its channels stay where they are: an instruction that names it is bound to channels.
    fixed: bool,
    /// Where it is in use, loops around its uses included.
    span: Option<(usize, usize)>,
}

impl Array {
    fn len(&self) -> i32 {
        self.last - self.first + 1
    }

    fn overlaps(&self, other: &Array) -> bool {
        let (Some(a), Some(b)) = (self.span, other.span) else {
            return false;
        };
        a.0 <= b.1 && b.0 <= a.1
    }
}

/// Registers that arrays share.
struct Bin {
    /// The arrays, with the channel to which each of theirs moves.
    members: Vec<(usize, [u8; 4])>,
    len: i32,
}

/// The program with fewer temporaries for its arrays; nothing if they share none.
pub(crate) fn arrays_joined(program: &Program) -> Option<Program> {
    let mut arrays = declared(program)?;
    scan(program, &mut arrays)?;
    let bins = bins(&arrays);
    if bins.len() == arrays.len() {
        return None;
    }
    Some(rewritten(program, &arrays, &bins))
}

/// The arrays that the program declares, two at least.
fn declared(program: &Program) -> Option<Vec<Array>> {
    let mut arrays: Vec<Array> = Vec::new();
    for item in &program.header {
        if let Item::Decl(d) = item
            && d.file == File::Temp
            && d.array != 0
        {
            arrays.push(Array {
                id: d.array,
                first: d.first,
                last: d.last,
                local: d.local,
                channels: 0,
                fixed: false,
                span: None,
            });
        }
    }
    arrays.sort_by_key(|a| a.first);
    let apart = arrays.windows(2).all(|w| w[0].last < w[1].first);
    let mut ids: Vec<u32> = arrays.iter().map(|a| a.id).collect();
    ids.sort_unstable();
    let named_once = ids.windows(2).all(|w| w[0] != w[1]);
    let good = arrays.iter().all(|a| 0 <= a.first && a.first <= a.last);
    ((2..=MOST_ARRAYS).contains(&arrays.len()) && apart && named_once && good).then_some(arrays)
}

/// The array that a register is in; `Err` if an index reaches what is no array.
fn array_of(arrays: &[Array], reg: &Register) -> Result<Option<usize>, ()> {
    if reg.file != File::Temp {
        return Ok(None);
    }
    if reg.index.addr.is_some() {
        let at = arrays.iter().position(|a| a.id == reg.index.array);
        return at.map(Some).ok_or(());
    }
    let base = reg.index.base;
    Ok(arrays
        .iter()
        .position(|a| a.first <= base && base <= a.last))
}

/// Whether the channels of the result of an instruction may be exchanged with its operands'.
fn movable(inst: &Inst) -> bool {
    let shape = matches!(
        inst.op.info().shape,
        Shape::Comp | Shape::Repl | Shape::Dot(_)
    );
    shape && pairing(inst.op) == Pairing::Narrow && inst.dsts.len() == 1
}

/// Finds out how arrays are used.
fn scan(program: &Program, arrays: &mut [Array]) -> Option<()> {
    let loops = Loops::of(program)?;
    for (at, inst) in program.insts.iter().enumerate() {
        let wide = pairing(inst.op) != Pairing::Narrow;
        let mut name = |reg: &Register, channels: u8, fixed: bool| -> Option<()> {
            if let Some(a) = array_of(arrays, reg).ok()? {
                let a = &mut arrays[a];
                a.channels |= channels;
                a.fixed |= fixed;
                a.span.get_or_insert((at, at)).1 = at;
            }
            Some(())
        };
        for dst in &inst.dsts {
            name(&dst.reg, dst.mask, !movable(inst))?;
        }
        for (k, src) in inst.srcs.iter().enumerate() {
            name(&src.reg, channels_read(src, src_mask(inst, k, ALL)), wide)?;
        }
        for offset in &inst.offsets {
            name(&offset.reg, ALL, true)?;
        }
    }
    for array in arrays {
        array.span = array.span.map(|span| loops.around(span));
    }
    Some(())
}

/// Which arrays share registers: those of most channels and registers first, each where it makes
/// registers least longer.
fn bins(arrays: &[Array]) -> Vec<Bin> {
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    let rank = |&a: &usize| {
        let a = &arrays[a];
        (
            !a.fixed,
            std::cmp::Reverse((a.channels.count_ones(), a.len())),
        )
    };
    order.sort_by_key(rank);
    let mut bins: Vec<Bin> = Vec::new();
    for a in order {
        let array = &arrays[a];
        let mut best: Option<(i32, usize, [u8; 4])> = None;
        for (i, bin) in bins.iter().enumerate() {
            let together = bin.members.iter().filter(|m| arrays[m.0].overlaps(array));
            let taken = together.fold(0, |t, m| t | moved(arrays[m.0].channels, m.1));
            let growth = (array.len() - bin.len).max(0);
            if let Some(to) = places(array, taken)
                && best.is_none_or(|b| growth < b.0)
            {
                best = Some((growth, i, to));
            }
        }
        match best {
            Some((growth, i, to)) => {
                bins[i].members.push((a, to));
                bins[i].len += growth;
            }
            None => bins.push(Bin {
                members: vec![(a, [0, 1, 2, 3])],
                len: array.len(),
            }),
        }
    }
    bins
}

fn moved(channels: u8, to: [u8; 4]) -> u8 {
    let all = (0..4).filter(|c| channels >> c & 1 != 0);
    all.fold(0, |m, c| m | 1 << to[c])
}

/// Where the channels of an array go if some are taken: as they are if that is possible. A permutation.
fn places(array: &Array, taken: u8) -> Option<[u8; 4]> {
    if array.channels & taken == 0 {
        return Some([0, 1, 2, 3]);
    }
    if array.fixed || array.channels.count_ones() + taken.count_ones() > 4 {
        return None;
    }
    let mut to = [0; 4];
    let free = (0..4u8).filter(|c| taken >> c & 1 == 0);
    let rest = (0..4u8).filter(|c| taken >> c & 1 != 0);
    let mut targets = free.chain(rest);
    let used = (0..4usize).filter(|c| array.channels >> c & 1 != 0);
    let others = (0..4usize).filter(|c| array.channels >> c & 1 == 0);
    for c in used.chain(others) {
        to[c] = targets.next()?;
    }
    Some(to)
}

fn rewritten(program: &Program, arrays: &[Array], bins: &[Bin]) -> Program {
    // Where each array begins, how its channels move, and under which number it goes.
    let mut place: Vec<(i32, [u8; 4], u32)> = vec![(0, [0, 1, 2, 3], 0); arrays.len()];
    let mut decls: Vec<Decl> = Vec::new();
    let mut next = 0;
    for bin in bins {
        let id = arrays[bin.members[0].0].id;
        for &(a, to) in &bin.members {
            place[a] = (next, to, id);
        }
        decls.push(Decl {
            array: id,
            local: bin.members.iter().all(|m| arrays[m.0].local),
            ..Decl::plain(File::Temp, next, next + bin.len - 1)
        });
        next += bin.len;
    }
    let mut result = Program {
        stage: program.stage,
        version: program.version,
        header: program.header.clone(),
        insts: program.insts.clone(),
    };
    let others = others(&mut result, arrays, next);
    if !others.is_empty() {
        let of_others =
            |i: &&Item| matches!(i, Item::Decl(d) if d.file == File::Temp && d.array == 0);
        let local = |i: &Item| matches!(i, Item::Decl(d) if d.local);
        let local = program.header.iter().filter(of_others).all(local);
        decls.push(Decl {
            local,
            ..Decl::plain(File::Temp, next, next + others.len() as i32 - 1)
        });
    }
    let mut decls = Some(decls);
    let mut header = Vec::with_capacity(result.header.len());
    for item in result.header.drain(..) {
        match item {
            Item::Decl(d) if d.file == File::Temp => {
                header.extend(decls.take().into_iter().flatten().map(Item::Decl));
            }
            other => header.push(other),
        }
    }
    result.header = header;
    for inst in &mut result.insts {
        rewrite(inst, arrays, &place, &others);
    }
    result
}

/// New numbers of the temporaries that are in no array, from `next` on.
fn others(program: &mut Program, arrays: &[Array], next: i32) -> FxHashMap<i32, i32> {
    let mut found: Vec<i32> = Vec::new();
    for inst in &mut program.insts {
        for reg in registers(inst) {
            if reg.file == File::Temp && array_of(arrays, reg) == Ok(None) {
                found.push(reg.index.base);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().zip(next..).collect()
}

fn registers(inst: &mut Inst) -> impl Iterator<Item = &mut Register> {
    let offsets = inst.offsets.iter_mut().map(|o| &mut o.reg);
    let dsts = inst.dsts.iter_mut().map(|d| &mut d.reg);
    dsts.chain(inst.srcs.iter_mut().map(|s| &mut s.reg))
        .chain(offsets)
}

fn rewrite(
    inst: &mut Inst,
    arrays: &[Array],
    place: &[(i32, [u8; 4], u32)],
    others: &FxHashMap<i32, i32>,
) {
    let of = |reg: &Register| array_of(arrays, reg).ok().flatten();
    for src in &mut inst.srcs {
        if let Some(a) = of(&src.reg) {
            src.swizzle = src.swizzle.map(|c| place[a].1[usize::from(c)]);
        }
    }
    let result: SmallVec<[(usize, u8); 2]> = inst
        .dsts
        .iter()
        .filter_map(|d| of(&d.reg).map(|a| (a, d.mask)))
        .collect();
    if let [(a, mask)] = result[..]
        && place[a].1 != [0, 1, 2, 3]
    {
        let to = place[a].1;
        inst.dsts[0].mask = moved(mask, to);
        if inst.op.info().shape == Shape::Comp {
            for src in &mut inst.srcs {
                let old = src.swizzle;
                for (c, &t) in to.iter().enumerate() {
                    src.swizzle[usize::from(t)] = old[c];
                }
            }
        }
    }
    for reg in registers(inst) {
        if let Some(a) = of(reg) {
            reg.index.base += place[a].0 - arrays[a].first;
            if reg.index.array != 0 {
                reg.index.array = place[a].2;
            }
        } else if reg.file == File::Temp {
            reg.index.base = others
                .get(&reg.index.base)
                .copied()
                .unwrap_or(reg.index.base);
        }
    }
}
