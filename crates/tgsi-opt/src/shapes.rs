//! Operands in the shapes that hardware reads: copies for what an instruction cannot take in place.
//!
//! Works on the printed program, where registers and channels are known. An instruction with a
//! swizzle that the hardware lacks is written in parts, if that is cheaper than copies; a register
//! beyond the ports of its file, a coordinate that is not plain and a fetch into a part of a register
//! go by way of a temporary. Immediates are written anew in the order in which they are read, as long as
//! the target has room for constants. Copies are kept as long as they hold, so that the next instruction that
//! needs one finds it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::usage::{Pairing, dst_mask, pairing, src_mask};
use tgsi::{
    Decl, Dst, File, Imm, ImmType, Inst, Item, Opcode, Program, Register, Shape, Src, XYZW,
};
use tgsi_target::{
    Class, Constants, Immediates, ShapeFault, ShapeRule, Target, class, count, needs, shape_faults,
};

use crate::syntax::{ALL, Loops, channels_read};

/// The program with its operands in the shapes of the target, as far as that goes; nothing if they
/// are already.
pub(crate) fn shaped(program: &Program, target: &Target) -> Option<Program> {
    let faults = shape_faults(target, program);
    if faults.is_empty() {
        return None;
    }
    let mut shaper = Shaper {
        target,
        program,
        immediates: Immediates::of(program),
        renewed: Renewed::of(program, target),
        temps: Temps::of(program),
        used: used_channels(program),
        wanted: wanted(program, &faults),
        copies: Vec::new(),
        out: Vec::with_capacity(program.insts.len() * 5 / 4),
        fetches: None,
        pending: Vec::new(),
    };
    let mut place = Vec::with_capacity(program.insts.len());
    for (at, inst) in program.insts.iter().enumerate() {
        place.push(shaper.out.len() as u32);
        let first = faults.partition_point(|f| f.inst < at);
        let behind = faults.partition_point(|f| f.inst <= at);
        shaper.step(at, inst, &faults[first..behind]);
    }
    let (out, all) = (shaper.out, shaper.temps.all);
    let mut header = program.header.clone();
    header.extend(shaper.renewed.items());
    let mut result = Program {
        stage: program.stage,
        version: program.version,
        header,
        insts: out,
    };
    for inst in &mut result.insts {
        let moved = |l: u32| place.get(l as usize).copied().unwrap_or(l);
        inst.label = inst.label.map(moved);
    }
    declare(&mut result, all);
    drop_unread_immediates(&mut result);
    Some(result)
}

/// The sources and texel offsets of an instruction, as registers.
fn read(inst: &mut Inst) -> impl Iterator<Item = &mut Register> {
    let offsets = inst.offsets.iter_mut().map(|o| &mut o.reg);
    inst.srcs.iter_mut().map(|s| &mut s.reg).chain(offsets)
}

/// Leaves out immediates that nothing reads, unless they are indexed.
fn drop_unread_immediates(program: &mut Program) {
    let mut used = Vec::new();
    for reg in program.insts.iter_mut().flat_map(read) {
        if reg.file == File::Imm {
            if reg.index.addr.is_some() {
                return;
            }
            used.push(reg.index.base);
        }
    }
    used.sort_unstable();
    used.dedup();
    let mut number = -1;
    program.header.retain(|item| {
        number += i32::from(matches!(item, Item::Imm(_)));
        !matches!(item, Item::Imm(_)) || used.binary_search(&number).is_ok()
    });
    for reg in program.insts.iter_mut().flat_map(read) {
        if reg.file == File::Imm
            && let Ok(n) = used.binary_search(&reg.index.base)
        {
            reg.index.base = n as i32;
        }
    }
}

/// Whether an instruction fetches, so that others of its node may stand beside it.
fn is_fetch(inst: &Inst) -> bool {
    inst.op.info().shape == Shape::Tex
}

/// The registers that an instruction reads or writes.
fn named(inst: &Inst) -> impl Iterator<Item = &Register> {
    let offsets = inst.offsets.iter().map(|o| &o.reg);
    let dsts = inst.dsts.iter().map(|d| &d.reg);
    dsts.chain(inst.srcs.iter().map(|s| &s.reg)).chain(offsets)
}

/// The number of a temporary that is named as it is.
fn temp(reg: &Register) -> Option<i32> {
    (reg.file == File::Temp && reg.index.addr.is_none()).then_some(reg.index.base)
}

/// The channels of each register that the program reads.
fn used_channels(program: &Program) -> FxHashMap<Register, u8> {
    let mut used: FxHashMap<Register, u8> = FxHashMap::default();
    for inst in &program.insts {
        for (k, src) in inst.srcs.iter().enumerate() {
            let mask = src_mask(inst, k, ALL);
            *used.entry(src.reg).or_default() |= channels_read(src, mask);
        }
    }
    used
}

/// How many instructions read each register among too many of its kind.
fn wanted(program: &Program, faults: &[ShapeFault]) -> FxHashMap<Register, u32> {
    let mut count: FxHashMap<Register, u32> = FxHashMap::default();
    let mut at: Vec<usize> = faults
        .iter()
        .filter(|f| port(f.rule))
        .map(|f| f.inst)
        .collect();
    at.dedup();
    for src in at.iter().flat_map(|&at| &program.insts[at].srcs) {
        *count.entry(src.reg).or_default() += 1;
    }
    count
}

fn port(rule: ShapeRule) -> bool {
    matches!(
        rule,
        ShapeRule::Inputs | ShapeRule::Constants | ShapeRule::Temps
    )
}

/// Declares temporaries up to a number.
fn declare(program: &mut Program, all: i32) {
    let mut last = -1;
    let mut behind = program.header.len();
    for (i, item) in program.header.iter().enumerate() {
        match item {
            Item::Decl(d) if d.file == File::Temp => {
                last = last.max(d.last);
                behind = i + 1;
            }
            Item::Imm(_) => behind = behind.min(i),
            _ => {}
        }
    }
    if last + 1 >= all {
        return;
    }
    let plain = |item: &Item| matches!(item, Item::Decl(d) if d.file == File::Temp && d.array == 0 && d.last == last);
    if let Some(Item::Decl(d)) = program.header.iter_mut().find(|i| plain(i)) {
        d.last = all - 1;
        return;
    }
    let new = Decl::plain(File::Temp, last + 1, all - 1);
    program.header.insert(behind, Item::Decl(new));
}

/// When temporaries hold something.
struct Temps {
    /// Channels that hold what is read later, before each instruction, by register.
    live: Vec<Vec<u8>>,
    /// The instructions that name each register.
    names: Vec<Vec<usize>>,
    /// Registers of arrays.
    arrays: Vec<bool>,
    /// Registers declared so far.
    all: i32,
}

/// Programs of more registers than this are left alone.
const MOST_TEMPS: i32 = 4096;

impl Temps {
    fn of(program: &Program) -> Temps {
        let mut all = 0;
        let mut ranges = Vec::new();
        for item in &program.header {
            if let Item::Decl(d) = item
                && d.file == File::Temp
            {
                all = all.max(d.last.saturating_add(1)).min(MOST_TEMPS);
                if d.array != 0 {
                    ranges.push((d.first, d.last));
                }
            }
        }
        let regs = program.insts.iter().flat_map(named).filter_map(temp);
        all = regs.map(|r| r.saturating_add(1)).fold(all, i32::max);
        all = all.clamp(0, MOST_TEMPS);
        let count = all as usize;
        let indexed = |r: &Register| r.file == File::Temp && r.index.addr.is_some();
        // An index without an array reaches any register.
        let anywhere = |r: &Register| indexed(r) && r.index.array == 0;
        let mut arrays = vec![program.insts.iter().flat_map(named).any(anywhere); count];
        for (first, last) in ranges {
            let last = last.min(all - 1);
            (first.max(0)..=last).for_each(|r| arrays[r as usize] = true);
        }
        let mut names = vec![Vec::new(); count];
        for (at, inst) in program.insts.iter().enumerate() {
            for r in named(inst).filter_map(temp) {
                if let Some(list) = names.get_mut(r as usize) {
                    list.push(at);
                }
            }
        }
        let straight = |i: &Inst| class(i.op) != Class::Flow || i.op == Opcode::End;
        let live = if program.insts.iter().all(straight) {
            exact(program, count)
        } else {
            by_ranges(program, count)
        };
        Temps {
            live,
            names,
            arrays,
            all,
        }
    }

    /// Whether nothing that is read later is in a register before instruction `at`.
    fn free(&self, at: usize, reg: usize) -> bool {
        let array = self.arrays.get(reg).copied().unwrap_or(false);
        !array && self.live[at].get(reg).is_none_or(|&m| m == 0)
    }

    /// The next instruction from `at` on that names a register.
    fn next(&self, at: usize, reg: usize) -> usize {
        let names = self.names.get(reg).map_or(&[][..], |n| n);
        let i = names.partition_point(|&n| n < at);
        names.get(i).copied().unwrap_or(usize::MAX)
    }

    /// The channels of a register that are read behind instruction `at`.
    fn behind(&self, at: usize, reg: i32) -> u8 {
        if self.arrays.get(reg as usize).copied().unwrap_or(true) {
            return ALL;
        }
        let live = self.live.get(at + 1);
        live.map_or(0, |l| l.get(reg as usize).copied().unwrap_or(0))
    }
}

/// Live channels of a program without control flow.
fn exact(program: &Program, count: usize) -> Vec<Vec<u8>> {
    let mut live = vec![0u8; count];
    let mut all = vec![Vec::new(); program.insts.len()];
    for (at, inst) in program.insts.iter().enumerate().rev() {
        for dst in &inst.dsts {
            if let Some(r) = temp(&dst.reg).and_then(|r| live.get_mut(r as usize)) {
                *r &= !dst.mask;
            }
        }
        for (k, src) in inst.srcs.iter().enumerate() {
            if let Some(r) = temp(&src.reg).and_then(|r| live.get_mut(r as usize)) {
                *r |= channels_read(src, src_mask(inst, k, ALL));
            }
        }
        for offset in &inst.offsets {
            if let Some(r) = temp(&offset.reg).and_then(|r| live.get_mut(r as usize)) {
                *r = ALL;
            }
        }
        all[at] = live.clone();
    }
    all
}

/// Live channels of a program with control flow: from the first to the last instruction that names
/// them, and through every loop that one of these is in.
fn by_ranges(program: &Program, count: usize) -> Vec<Vec<u8>> {
    let Some(loops) = Loops::of(program) else {
        return vec![vec![ALL; count]; program.insts.len()];
    };
    // From where to where, by register and channel.
    let mut ranges: Vec<[Option<(usize, usize)>; 4]> = vec![[None; 4]; count];
    for (at, inst) in program.insts.iter().enumerate() {
        let mut name = |reg: &Register, mask: u8| {
            let range = temp(reg).and_then(|r| ranges.get_mut(r as usize));
            for (c, range) in range.into_iter().flatten().enumerate() {
                if mask >> c & 1 != 0 {
                    range.get_or_insert((at, at)).1 = at;
                }
            }
        };
        inst.dsts.iter().for_each(|d| name(&d.reg, d.mask));
        inst.offsets.iter().for_each(|o| name(&o.reg, ALL));
        for (k, src) in inst.srcs.iter().enumerate() {
            name(&src.reg, channels_read(src, src_mask(inst, k, ALL)));
        }
    }
    let mut live = vec![vec![0; count]; program.insts.len()];
    for (reg, channels) in ranges.iter().enumerate() {
        for (c, range) in channels.iter().enumerate() {
            let Some(range) = *range else { continue };
            let (first, last) = loops.around(range);
            live[first..=last].iter_mut().for_each(|l| l[reg] |= 1 << c);
        }
    }
    live
}

/// Immediates that were not there before.
struct Renewed {
    /// The number of the first.
    first: i32,
    /// Their words, as far as they are wanted, and the type of the immediate that they came from.
    words: Vec<([Option<u32>; 4], ImmType)>,
    /// Types of those there were.
    types: Vec<ImmType>,
    /// How many more the target has room for.
    room: usize,
}

impl Renewed {
    fn of(program: &Program, target: &Target) -> Renewed {
        let ty = |item: &Item| match item {
            Item::Imm(imm) => Some(imm.ty),
            _ => None,
        };
        let types: Vec<ImmType> = program.header.iter().filter_map(ty).collect();
        let counted = target.constants == Constants::NamedAndImmediates;
        let room = |most: Option<u32>, has: Option<u32>| {
            most.map_or(usize::MAX, |n| n.saturating_sub(has.unwrap_or(0)) as usize)
        };
        let has = needs(target, program, &count(program));
        let constants = room(target.limits.constants.filter(|_| counted), has.constants);
        let immediates = room(target.limits.immediates, has.immediates);
        Renewed {
            first: types.len() as i32,
            words: Vec::new(),
            types,
            room: constants.min(immediates),
        }
    }

    /// An immediate with these words in these channels; nothing if there is no room.
    fn with(&mut self, words: [Option<u32>; 4], like: i32) -> Option<Register> {
        let ty = *self.types.get(usize::try_from(like).ok()?)?;
        let joins = |have: &([Option<u32>; 4], ImmType)| {
            let mut pairs = have.0.iter().zip(&words);
            have.1 == ty && pairs.all(|(a, b)| a.is_none() || b.is_none() || a == b)
        };
        let at = match self.words.iter().position(joins) {
            Some(at) => at,
            None => {
                self.room = self.room.checked_sub(1)?;
                self.words.push(([None; 4], ty));
                self.words.len() - 1
            }
        };
        for (have, new) in self.words[at].0.iter_mut().zip(words) {
            *have = have.or(new);
        }
        Some(Register::direct(File::Imm, self.first + at as i32))
    }

    fn items(self) -> impl Iterator<Item = Item> {
        self.words.into_iter().map(|(words, ty)| {
            Item::Imm(Imm {
                ty,
                words: words.map(Option::unwrap_or_default),
                span: Default::default(),
            })
        })
    }
}

/// A temporary that holds what an operand reads.
struct Copy {
    /// The temporary.
    temp: i32,
    /// What it holds a copy of: modifiers included.
    of: Src,
    /// Channels that are copied.
    mask: u8,
    /// The instruction that asked for it last.
    asked: usize,
}

struct Shaper<'a> {
    target: &'a Target,
    program: &'a Program,
    immediates: Immediates,
    renewed: Renewed,
    temps: Temps,
    used: FxHashMap<Register, u8>,
    wanted: FxHashMap<Register, u32>,
    copies: Vec<Copy>,
    out: Vec<Inst>,
    /// Where the fetches that stand together before the current instruction begin: in the input, and
    /// in the result.
    fetches: Option<(usize, usize)>,
    /// Copies of what was fetched to where it belongs, not made yet.
    pending: Vec<(i32, Inst)>,
}

fn operand(reg: Register) -> Src {
    Src {
        reg,
        swizzle: XYZW,
        abs: false,
        neg: false,
        span: Default::default(),
    }
}

fn mov(reg: Register, mask: u8, src: Src) -> Inst {
    let mut inst = Inst::bare(Opcode::Mov);
    inst.dsts.push(Dst {
        reg,
        mask,
        span: Default::default(),
    });
    inst.srcs.push(src);
    inst
}

impl Shaper<'_> {
    fn step(&mut self, at: usize, inst: &Inst, faults: &[ShapeFault]) {
        let mut inst = inst.clone();
        let fetch = is_fetch(&inst);
        let touches =
            |p: &(i32, Inst)| named(&inst).any(|r| *r == p.1.dsts[0].reg || temp(r) == Some(p.0));
        if !fetch || self.pending.iter().any(touches) {
            for (_, copy) in std::mem::take(&mut self.pending) {
                self.push(copy);
            }
            self.fetches = None;
        }
        // A copy goes when something else comes to its register.
        let names: SmallVec<[i32; 4]> = named(&inst).filter_map(temp).collect();
        self.copies.retain(|c| !names.contains(&c.temp));
        if fetch && self.fetches.is_none() {
            self.fetches = Some((at, self.out.len()));
        }
        if fetch {
            self.fetch(at, &mut inst, faults);
        } else {
            if faults.iter().any(|f| port(f.rule)) {
                self.join_immediates(&mut inst);
                self.ports(at, &mut inst);
            }
            if class(inst.op) == Class::Alu {
                self.arithmetic(at, inst);
            } else {
                self.push(inst);
            }
        }
        if class(self.program.insts[at].op) == Class::Flow {
            self.copies.clear();
        }
    }

    /// Adds an instruction to the result; copies of what it writes hold no more.
    fn push(&mut self, inst: Inst) {
        for dst in &inst.dsts {
            let indexed = dst.reg.index.addr.is_some();
            self.copies
                .retain(|c| c.of.reg != dst.reg && !(indexed && c.of.reg.file == dst.reg.file));
        }
        self.out.push(inst);
    }

    /// A temporary for the instruction `at`, not one of `reserved`, free since the fetches before it if
    /// it is to be written before them.
    fn acquire(&mut self, at: usize, early: bool, reserved: &[i32]) -> i32 {
        let (since, place) = match self.fetches {
            Some(begin) if early => begin,
            _ => (at, self.out.len()),
        };
        let recent = &self.out[place..];
        let open = |r: i32| {
            let reg = r as usize;
            (since..=at).all(|i| self.temps.free(i, reg) && self.temps.next(i, reg) > at)
                && !reserved.contains(&r)
                && !self.pending.iter().any(|p| p.0 == r)
                && !recent.iter().flat_map(named).any(|n| temp(n) == Some(r))
        };
        let free: Vec<i32> = (0..self.temps.all).filter(|&r| open(r)).collect();
        let holds = |r: i32| self.copies.iter().find(|c| c.temp == r);
        let empty = free.iter().copied().filter(|&r| holds(r).is_none());
        // The one that keeps a copy longest.
        let best = empty.max_by_key(|&r| (self.temps.next(at, r as usize), -r));
        let room = self
            .target
            .limits
            .temps
            .is_none_or(|n| self.temps.all < n as i32);
        let found = best.or_else(|| {
            let oldest = free
                .iter()
                .copied()
                .min_by_key(|&r| holds(r).map(|c| c.asked));
            oldest.filter(|_| !room)
        });
        let found = found.unwrap_or_else(|| {
            self.temps.all += 1;
            self.temps.all - 1
        });
        self.copies.retain(|c| c.temp != found);
        found
    }

    /// The masks of instructions that together read an operand, each by a swizzle that there is.
    fn parts(&self, src: &Src, mask: u8) -> SmallVec<[u8; 4]> {
        let word = |c| self.immediates.word(&src.reg, c);
        let takes = |m: u8| self.target.operands.takes_swizzle(src.swizzle, m, word);
        partition(mask, takes)
    }

    /// A temporary that holds the channels `mask` of an operand, each in its place.
    fn copy(&mut self, at: usize, src: Src, mask: u8, early: bool, reserved: &[i32]) -> Register {
        let same = |c: &&mut Copy| {
            let channels = (0..4).filter(|i| mask >> i & 1 != 0);
            c.mask & mask == mask
                && (c.of.reg, c.of.neg, c.of.abs) == (src.reg, src.neg, src.abs)
                && channels.clone().all(|i| c.of.swizzle[i] == src.swizzle[i])
        };
        if let Some(c) = self.copies.iter_mut().find(same) {
            c.asked = at;
            return Register::direct(File::Temp, c.temp);
        }
        // Fetches that stand together stay so, unless one of them makes what is copied.
        let begin = self.fetches.filter(|_| early).map(|f| f.1);
        let writes = |i: &Inst| i.dsts.iter().any(|d| d.reg == src.reg);
        let begin = begin.filter(|&b| !self.out[b..].iter().any(writes));
        let temp = self.acquire(at, begin.is_some(), reserved);
        let reg = Register::direct(File::Temp, temp);
        let mut moves: SmallVec<[Inst; 4]> = SmallVec::new();
        for part in self.parts(&src, mask) {
            moves.push(mov(reg, part, src));
        }
        let count = moves.len();
        let place = begin.unwrap_or(self.out.len());
        self.out.splice(place..place, moves);
        if let Some(f) = &mut self.fetches
            && place <= f.1
        {
            f.1 += count;
        }
        if src.reg.index.addr.is_none() && src.reg.dim.is_none_or(|d| d.addr.is_none()) {
            self.copies.push(Copy {
                temp,
                of: src,
                mask,
                asked: at,
            });
        }
        reg
    }

    /// Copies registers beyond the ports of their files.
    fn ports(&mut self, at: usize, inst: &mut Inst) {
        let mut reserved: SmallVec<[i32; 4]> = named(inst).filter_map(temp).collect();
        loop {
            let alone = Program {
                stage: self.program.stage,
                version: None,
                header: Vec::new(),
                insts: vec![inst.clone()],
            };
            let found = shape_faults(self.target, &alone);
            let Some(rule) = found.iter().map(|f| f.rule).find(|r| port(*r)) else {
                return;
            };
            // A register of a full port that is copied already, or else the one that others want too.
            let full = |src: &&Src| match rule {
                ShapeRule::Inputs => src.reg.file == File::In,
                ShapeRule::Constants => matches!(src.reg.file, File::Const | File::Imm),
                _ => src.reg.file == File::Temp,
            };
            let held = |reg: Register| self.copies.iter().any(|c| c.of == operand(reg));
            let choice = inst
                .srcs
                .iter()
                .filter(full)
                .map(|s| s.reg)
                .max_by_key(|&r| (held(r), self.wanted.get(&r).copied(), std::cmp::Reverse(r)));
            let Some(reg) = choice.filter(|r| r.file != File::Temp) else {
                return;
            };
            let mask = self.used.get(&reg).copied().unwrap_or(ALL);
            let copied = self.copy(at, operand(reg), mask, false, &reserved);
            reserved.push(copied.index.base);
            for src in inst.srcs.iter_mut().filter(|s| s.reg == reg) {
                src.reg = copied;
            }
        }
    }

    /// Makes one immediate of all that an instruction reads, if they are the only constants it reads.
    fn join_immediates(&mut self, inst: &mut Inst) {
        let constant = |s: &&Src| matches!(s.reg.file, File::Const | File::Imm);
        let first = inst.srcs.iter().find(constant).map(|s| s.reg.index.base);
        let written = dst_mask(inst);
        let mut words: SmallVec<[u32; 4]> = SmallVec::new();
        let mut found: SmallVec<[(usize, [u8; 4]); 3]> = SmallVec::new();
        for (k, src) in inst.srcs.iter().enumerate().filter(|s| constant(&s.1)) {
            let mask = src_mask(inst, k, written);
            let mut swizzle = [0; 4];
            for i in (0..4).filter(|i| mask >> i & 1 != 0) {
                let Some(word) = self.immediates.word(&src.reg, src.swizzle[i]) else {
                    return;
                };
                let known = words.iter().position(|&w| w == word);
                swizzle[i] = known.unwrap_or(words.len()) as u8;
                if known.is_none() {
                    words.push(word);
                }
            }
            found.push((k, swizzle));
        }
        let mut all = [None; 4];
        if words.len() > 4 {
            return;
        }
        for (to, word) in all.iter_mut().zip(words) {
            *to = Some(word);
        }
        let Some(reg) = first.and_then(|like| self.renewed.with(all, like)) else {
            return;
        };
        for (k, swizzle) in found {
            inst.srcs[k].reg = reg;
            inst.srcs[k].swizzle = swizzle;
        }
    }

    /// Gives immediates that are read by a swizzle that there is not a register of their own.
    fn straighten(&mut self, inst: &mut Inst, wrong: &mut SmallVec<[usize; 3]>) {
        let written = dst_mask(inst);
        wrong.retain(|&mut k| {
            let src = inst.srcs[k];
            let shared = |i: &Inst| i.srcs.iter().filter(|s| s.reg == src.reg).count() > 1;
            if src.reg.file != File::Imm || self.target.operands.constants.is_some() && shared(inst)
            {
                return true;
            }
            let mask = src_mask(inst, k, written);
            let mut words = [None; 4];
            for i in (0..4).filter(|i| mask >> i & 1 != 0) {
                words[i] = self.immediates.word(&src.reg, src.swizzle[i]);
                if words[i].is_none() {
                    return true;
                }
            }
            let Some(reg) = self.renewed.with(words, src.reg.index.base) else {
                return true;
            };
            inst.srcs[k].reg = reg;
            inst.srcs[k].swizzle = identity(mask);
            !self
                .target
                .operands
                .takes_swizzle(inst.srcs[k].swizzle, mask, |_| None)
        });
    }

    /// Writes an instruction with swizzles that there are: in parts, or by way of copies.
    fn arithmetic(&mut self, at: usize, mut inst: Inst) {
        let written = dst_mask(&inst);
        let takes = |s: &Self, inst: &Inst, k: usize, mask: u8| {
            let src = &inst.srcs[k];
            let word = |c| s.immediates.word(&src.reg, c);
            mask == 0 || s.target.operands.takes_swizzle(src.swizzle, mask, word)
        };
        let scalar = inst.op.info().shape == Shape::Repl;
        let mut wrong: SmallVec<[usize; 3]> = (0..inst.srcs.len())
            .filter(|&k| !scalar && !takes(self, &inst, k, src_mask(&inst, k, written)))
            .collect();
        self.straighten(&mut inst, &mut wrong);
        if wrong.is_empty() {
            return self.push(inst);
        }
        let componentwise = inst.op.info().shape == Shape::Comp
            && inst.dsts.len() == 1
            && pairing(inst.op) == Pairing::Narrow;
        let copies: usize = wrong
            .iter()
            .map(|&k| self.parts(&inst.srcs[k], src_mask(&inst, k, written)).len())
            .sum();
        if componentwise {
            let parts = partition(written, |m| {
                (0..inst.srcs.len()).all(|k| takes(self, &inst, k, m))
            });
            if parts.len() <= copies + 1
                && let Some(parts) = ordered(&inst, parts)
            {
                for mask in parts {
                    let mut part = inst.clone();
                    part.dsts[0].mask = mask;
                    self.push(part);
                }
                return;
            }
        }
        let mut reserved: SmallVec<[i32; 4]> = named(&inst).filter_map(temp).collect();
        for k in wrong {
            let src = inst.srcs[k];
            let mask = src_mask(&inst, k, written);
            let plain = Src {
                abs: false,
                neg: false,
                ..src
            };
            let reg = self.copy(at, plain, mask, false, &reserved);
            reserved.push(reg.index.base);
            inst.srcs[k] = Src {
                reg,
                swizzle: identity(mask),
                ..src
            };
        }
        self.push(inst);
    }

    /// Fetches by a plain coordinate into a whole register.
    fn fetch(&mut self, at: usize, inst: &mut Inst, faults: &[ShapeFault]) {
        let has = |rule: ShapeRule| faults.iter().any(|f| f.rule == rule);
        let mut reserved: SmallVec<[i32; 4]> = named(inst).filter_map(temp).collect();
        if has(ShapeRule::PlainCoordinate) || has(ShapeRule::CoordinateFile) {
            let mask = src_mask(inst, 0, ALL);
            let reg = self.copy(at, inst.srcs[0], mask, true, &reserved);
            reserved.push(reg.index.base);
            inst.srcs[0] = Src {
                swizzle: identity(mask),
                ..operand(reg)
            };
        }
        if has(ShapeRule::FetchToOutput) || has(ShapeRule::WholeFetch) {
            let dst = inst.dsts[0];
            let unread = |r| self.temps.behind(at, r) & !dst.mask == 0;
            let whole = temp(&dst.reg).is_some_and(unread);
            if whole {
                inst.dsts[0].mask = ALL;
            } else {
                let t = self.acquire(at, false, &reserved);
                let reg = Register::direct(File::Temp, t);
                inst.dsts[0] = Dst {
                    reg,
                    mask: ALL,
                    span: dst.span,
                };
                self.pending.push((t, mov(dst.reg, dst.mask, operand(reg))));
            }
        }
        self.push(inst.clone());
    }
}

/// The identity in the channels of a mask, the last of them behind.
fn identity(mask: u8) -> [u8; 4] {
    let mut swizzle = XYZW;
    let mut last = mask.trailing_zeros() as u8 & 3;
    for (i, s) in swizzle.iter_mut().enumerate() {
        if mask >> i & 1 != 0 {
            last = i as u8;
        }
        *s = last;
    }
    swizzle
}

/// A mask in as few parts as possible that are all taken; single channels where nothing is.
fn partition(mask: u8, takes: impl Fn(u8) -> bool) -> SmallVec<[u8; 4]> {
    let mut best: SmallVec<[u8; 4]> = (0..4).map(|i| mask & 1 << i).filter(|m| *m != 0).collect();
    fn search(
        rest: u8,
        parts: &mut SmallVec<[u8; 4]>,
        best: &mut SmallVec<[u8; 4]>,
        takes: &impl Fn(u8) -> bool,
    ) {
        if rest == 0 {
            if parts.len() < best.len() {
                *best = parts.clone();
            }
            return;
        }
        // The part with the lowest channel, larger ones first.
        let lowest = rest & rest.wrapping_neg();
        for m in (1..=rest).rev() {
            if m & !rest == 0 && m & lowest != 0 && takes(m) {
                parts.push(m);
                search(rest & !m, parts, best, takes);
                parts.pop();
            }
        }
    }
    search(mask, &mut SmallVec::new(), &mut best, &takes);
    best
}

/// The parts of a componentwise instruction in an order in which none reads what another one wrote.
fn ordered(inst: &Inst, parts: SmallVec<[u8; 4]>) -> Option<SmallVec<[u8; 4]>> {
    let dst = inst.dsts[0].reg;
    let reads = |part: u8| {
        let same = inst.srcs.iter().filter(|s| s.reg == dst);
        same.fold(0, |m, s| m | channels_read(s, part))
    };
    if dst.index.addr.is_some() {
        return (inst.srcs.iter().all(|s| s.reg.file != dst.file)).then_some(parts);
    }
    let mut left = parts;
    let mut order: SmallVec<[u8; 4]> = SmallVec::new();
    while !left.is_empty() {
        // One whose result no other part that is left reads.
        let next = (0..left.len()).find(|&i| {
            let others = left.iter().enumerate().filter(|o| o.0 != i);
            others.fold(0, |m, o| m | reads(*o.1)) & left[i] == 0
        })?;
        order.push(left.remove(next));
    }
    Some(order)
}
