//! Packing of constants: the words that a program reads, in as few registers as possible.

use std::collections::BTreeMap;

use tgsi::usage::{Pairing, pairing, src_mask};
use tgsi::{Decl, File, Inst, Item, Program, Register, Shape};

/// Where a word of constant buffer 0 went: registers are vec4 registers of that buffer, channels count
/// from 0 for x.
///
/// A driver uploads to `to` what it would have uploaded to `from`. `{ from: (4, 0), to: (1, 3) }` says
/// that the program now reads in `CONST[1].w` what it read in `CONST[4].x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstantMove {
    /// Register and channel before.
    pub from: (u32, u8),
    /// Register and channel after.
    pub to: (u32, u8),
}

/// Packs the constants of buffer 0 that instructions read, and tells where each word of them went, those
/// that stay included, in the order of `from`. What is not among them is read no more.
///
/// Channels that one instruction reads of one register stay in one register: no operand needs a second
/// one, and no instruction reads more registers than before. 64-bit words and handles keep their channels.
///
/// Nothing if the buffer does not become shorter, or if constants are found by numbers that only the
/// running program knows: then all of them must stay where they are. Other buffers stay as they are.
pub fn pack_constants(program: &Program) -> Option<(Program, Vec<ConstantMove>)> {
    let length = declared(program)?;
    let groups = groups(program)?;
    let named = groups.len();
    let mut groups: Vec<Group> = groups.into_values().flatten().collect();
    // What cannot choose its channels goes first, then the largest.
    groups.sort_by_key(|g| (!g.fixed, 4 - g.channels.count_ones(), g.first));
    let mut free: Vec<u8> = Vec::new();
    let mut map: Map = BTreeMap::new();
    for group in &groups {
        let at = free.iter().position(|&f| group.fits(f));
        let at = at.unwrap_or_else(|| {
            free.push(ALL);
            free.len() - 1
        });
        let register = i32::try_from(at).ok()?;
        for (from, to) in group.places(free[at]) {
            free[at] &= !(1 << to);
            map.insert((group.register, from), (register, to));
        }
    }
    if free.is_empty() || free.len() >= length || free.len() > named {
        return None;
    }
    let mut result = program.clone();
    declare(&mut result, i32::try_from(free.len()).ok()? - 1);
    for inst in &mut result.insts {
        rename(inst, &map);
    }
    let mut moves = Vec::with_capacity(map.len());
    for (from, to) in map {
        moves.push(ConstantMove {
            from: (u32::try_from(from.0).ok()?, from.1),
            to: (u32::try_from(to.0).ok()?, to.1),
        });
    }
    Some((result, moves))
}

/// New places by register and channel.
type Map = BTreeMap<(i32, u8), (i32, u8)>;

/// All channels.
const ALL: u8 = 0xf;

/// Channels of a register that stay together.
#[derive(Clone, Copy)]
struct Group {
    register: i32,
    channels: u8,
    /// Whether they must be the same channels of another register.
    fixed: bool,
    /// Which operand of all reads them first.
    first: usize,
}

impl Group {
    fn fits(&self, free: u8) -> bool {
        if self.fixed {
            self.channels & !free == 0
        } else {
            self.channels.count_ones() <= free.count_ones()
        }
    }

    /// The new channel of each: the same one where that is free for all of them.
    fn places(&self, free: u8) -> impl Iterator<Item = (u8, u8)> + use<> {
        let kept = self.channels & !free == 0;
        let to = if kept { self.channels } else { free };
        channels(self.channels).zip(channels(to))
    }
}

fn channels(mask: u8) -> impl Iterator<Item = u8> {
    (0..4).filter(move |c| mask >> c & 1 != 0)
}

/// One past the highest declared register of buffer 0; nothing if a declaration is not a plain one.
fn declared(program: &Program) -> Option<usize> {
    let mut end = None;
    for item in &program.header {
        let Item::Decl(d) = item else { continue };
        if d.file != File::Const {
            continue;
        }
        let plain = Decl {
            dim: d.dim,
            mask: d.mask,
            ..Decl::plain(File::Const, d.first, d.last)
        };
        if d.dim == Some(None) || d.first < 0 || *d != plain {
            return None;
        }
        if is_first(d) {
            end = end.max(usize::try_from(i64::from(d.last) + 1).ok());
        }
    }
    end
}

/// Whether a declaration is of buffer 0.
fn is_first(d: &Decl) -> bool {
    d.file == File::Const && matches!(d.dim, None | Some(Some(0)))
}

/// Declares registers up to `last`, where the first declaration stood.
fn declare(program: &mut Program, last: i32) {
    let mut found = false;
    program.header.retain_mut(|item| match item {
        Item::Decl(d) if is_first(d) => {
            (d.first, d.last, d.mask) = (0, last, ALL);
            !std::mem::replace(&mut found, true)
        }
        _ => true,
    });
}

/// The groups of each register that instructions name; nothing if one may be read that they do not name.
fn groups(program: &Program) -> Option<BTreeMap<i32, Vec<Group>>> {
    let mut groups: BTreeMap<i32, Vec<Group>> = BTreeMap::new();
    let mut operands = 0;
    for inst in &program.insts {
        if inst.dsts.iter().any(|d| number(&d.reg) != Ok(None)) || reads_buffer(inst) {
            return None;
        }
        // A consumer takes 64-bit words in pairs, and looks for handles in xy.
        let shape = inst.op.info().shape;
        let fixed = pairing(inst.op) != Pairing::Narrow || matches!(shape, Shape::Tex | Shape::Mem);
        let mut read: Vec<Group> = Vec::new();
        let sources = inst.srcs.iter().enumerate();
        let sources = sources.map(|(i, s)| (s.reg, &s.swizzle[..], used(inst, i)));
        let offsets = inst.offsets.iter();
        let offsets = offsets.map(|o| (o.reg, &o.swizzle[..], OFFSET));
        for (reg, swizzle, positions) in sources.chain(offsets) {
            let Some(register) = number(&reg).ok()? else {
                continue;
            };
            let chosen = channels(positions).filter_map(|p| swizzle.get(usize::from(p)));
            let channels = chosen.fold(0, |all, c| all | 1 << (c & 3));
            match read.iter_mut().find(|g| g.register == register) {
                Some(group) => group.channels |= channels,
                None => read.push(Group {
                    register,
                    channels,
                    fixed,
                    first: operands,
                }),
            }
            operands += 1;
        }
        for group in read {
            join(groups.entry(group.register).or_default(), group);
        }
    }
    Some(groups)
}

/// Adds a group to those of its register; with those it overlaps it is one.
fn join(groups: &mut Vec<Group>, mut new: Group) {
    groups.retain(|g| {
        let apart = g.channels & new.channels == 0;
        if !apart {
            new.channels |= g.channels;
            new.fixed |= g.fixed;
            new.first = new.first.min(g.first);
        }
        apart
    });
    groups.push(new);
}

/// Positions of a texel offset.
const OFFSET: u8 = 0b111;

/// The positions of a source that are read. One that is not read at all names a word all the same.
fn used(inst: &Inst, src: usize) -> u8 {
    match src_mask(inst, src, ALL) {
        0 => 1,
        mask => mask,
    }
}

/// Whether an instruction takes a constant buffer as memory.
fn reads_buffer(inst: &Inst) -> bool {
    let constant = |s: &tgsi::Src| s.reg.file == File::Const;
    inst.op.info().shape == Shape::Mem
        && inst.target.is_none()
        && inst.srcs.first().is_some_and(constant)
}

/// The number of a constant of buffer 0, nothing for another register. An error if a constant may be
/// meant whose number is not known.
fn number(reg: &Register) -> Result<Option<i32>, ()> {
    let brackets = || reg.dim.iter().chain([&reg.index]);
    if brackets().any(|i| i.addr.is_some_and(|a| a.file == File::Const)) {
        return Err(());
    }
    if reg.file != File::Const {
        return Ok(None);
    }
    match reg.dim {
        Some(dim) if dim.addr.is_some() => Err(()),
        Some(dim) if dim.base != 0 => Ok(None),
        _ if reg.is_indirect() || reg.index.array != 0 || reg.index.base < 0 => Err(()),
        _ => Ok(Some(reg.index.base)),
    }
}

/// Writes the new names into an instruction.
fn rename(inst: &mut Inst, map: &Map) {
    for src in 0..inst.srcs.len() {
        let positions = used(inst, src);
        let s = &mut inst.srcs[src];
        rename_operand(&mut s.reg, &mut s.swizzle, positions, map);
    }
    for o in &mut inst.offsets {
        rename_operand(&mut o.reg, &mut o.swizzle, OFFSET, map);
    }
}

/// Positions that are not read repeat the one before them that is, or the first that is.
fn rename_operand(reg: &mut Register, swizzle: &mut [u8], positions: u8, map: &Map) {
    let Ok(Some(register)) = number(reg) else {
        return;
    };
    let place = |channel: u8| map.get(&(register, channel & 3)).copied();
    let first = channels(positions)
        .next()
        .and_then(|p| swizzle.get(usize::from(p)));
    let Some((new, mut last)) = first.and_then(|c| place(*c)) else {
        return;
    };
    for (position, channel) in swizzle.iter_mut().enumerate() {
        if positions >> position & 1 != 0
            && let Some((_, to)) = place(*channel)
        {
            last = to;
        }
        *channel = last;
    }
    reg.index.base = new;
}

#[cfg(test)]
mod tests {
    use super::pack_constants;
    use tgsi::{Dialect, Program, Severity};

    fn parse(declared: &str, lines: &str) -> Program {
        let text = format!(
            "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\n{declared}\nDCL TEMP[0..9]\nDCL ADDR[0]\n{lines}\nEND\n"
        );
        let (program, diagnostics) = tgsi::parse(&text);
        let wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
        assert!(!wrong, "{diagnostics:?}\n{text}");
        program
    }

    /// What becomes of declarations and instructions, and the table.
    #[track_caller]
    fn check(declared: &str, lines: &str, expect: &str, table: &str) {
        let (program, moves) = pack_constants(&parse(declared, lines)).expect("a shorter buffer");
        let text = tgsi::print(&program, &Dialect::legacy());
        let about = |l: &&str| l.contains("CONST[");
        let got: Vec<&str> = text.lines().map(str::trim).filter(about).collect();
        assert_eq!(got.join("\n"), expect);
        let word = |w: (u32, u8)| format!("{}.{}", w.0, char::from(b"xyzw"[usize::from(w.1)]));
        let moves = moves
            .iter()
            .map(|m| format!("{}={}", word(m.from), word(m.to)));
        assert_eq!(moves.collect::<Vec<_>>().join(" "), table);
        // Packed once is packed.
        assert_eq!(pack_constants(&program), None);
    }

    #[track_caller]
    fn check_not(declared: &str, lines: &str) {
        assert_eq!(pack_constants(&parse(declared, lines)), None);
    }

    #[test]
    fn scalars_fill_what_vectors_leave() {
        check(
            "DCL CONST[0..9]",
            "MUL TEMP[0], IN[0], CONST[4].wwww\nDP3 TEMP[1].x, TEMP[0], CONST[7]\nMAD OUT[0], TEMP[0], CONST[2], TEMP[1].xxxx",
            "DCL CONST[0..1]\nMUL TEMP[0], IN[0], CONST[1].wwww\nDP3 TEMP[1].x, TEMP[0], CONST[1].xyzz\nMAD OUT[0], TEMP[0], CONST[0], TEMP[1].xxxx",
            "2.x=0.x 2.y=0.y 2.z=0.z 2.w=0.w 4.w=1.w 7.x=1.x 7.y=1.y 7.z=1.z",
        );
    }

    #[test]
    fn swizzles_and_modifiers_follow() {
        check(
            "DCL CONST[0..2]",
            "MOV TEMP[0].xy, -|CONST[1].yxyx|\nADD OUT[0], TEMP[0].xyxy, CONST[2].yxxy",
            "DCL CONST[0]\nMOV TEMP[0].xy, -|CONST[0].yxxx|\nADD OUT[0], TEMP[0].xyxy, CONST[0].wzzw",
            "1.x=0.x 1.y=0.y 2.x=0.z 2.y=0.w",
        );
    }

    #[test]
    fn what_one_instruction_reads_stays_together() {
        // x and y of 0 are apart in operands, but not in the instruction.
        check(
            "DCL CONST[0..2]",
            "MAD TEMP[0].x, IN[0], CONST[0].xxxx, CONST[0].yyyy\nDP3 TEMP[0].y, IN[0], CONST[1]\nMUL OUT[0], TEMP[0], CONST[1].wwww",
            "DCL CONST[0..1]\nMAD TEMP[0].x, IN[0], CONST[1].xxxx, CONST[1].yyyy\nDP3 TEMP[0].y, IN[0], CONST[0].xyzz\nMUL OUT[0], TEMP[0], CONST[0].wwww",
            "0.x=1.x 0.y=1.y 1.x=0.x 1.y=0.y 1.z=0.z 1.w=0.w",
        );
    }

    #[test]
    fn wide_words_keep_their_channels() {
        check(
            "DCL CONST[0..2]",
            "DADD TEMP[0].xy, CONST[1].zwzw, CONST[2].xyxy\nMUL OUT[0], TEMP[0], CONST[0].xxxx",
            "DCL CONST[0..1]\nDADD TEMP[0].xy, CONST[0].zwww, CONST[0].xyyy\nMUL OUT[0], TEMP[0], CONST[1].xxxx",
            "0.x=1.x 1.z=0.z 1.w=0.w 2.x=0.x 2.y=0.y",
        );
    }

    #[test]
    fn other_buffers_stay() {
        check(
            "DCL CONST[0][0..2]\nDCL CONST[1][0..7]",
            "ARL ADDR[0].x, IN[0].xxxx\nMUL TEMP[0], CONST[0][1].xxxx, CONST[1][ADDR[0].x]\nMUL OUT[0], TEMP[0], CONST[0][2].xxxx",
            "DCL CONST[0][0]\nDCL CONST[1][0..7]\nMUL TEMP[0], CONST[0][0].xxxx, CONST[1][ADDR[0].x]\nMUL OUT[0], TEMP[0], CONST[0][0].yyyy",
            "1.x=0.x 2.x=0.y",
        );
    }

    #[test]
    fn nothing_moves_without_need_or_knowledge() {
        check_not("DCL CONST[0..1]", "ADD OUT[0], CONST[0], CONST[1]");
        check_not("DCL CONST[0..1]", "MOV OUT[0], IN[0]");
        check_not(
            "DCL CONST[0..9]",
            "ARL ADDR[0].x, IN[0].xxxx\nADD OUT[0], CONST[ADDR[0].x+2], CONST[1]",
        );
        check_not(
            "DCL CONST[0][0..9]\nDCL CONST[1][0..9]",
            "ARL ADDR[0].x, IN[0].xxxx\nADD OUT[0], CONST[ADDR[0].x][2], CONST[0][1]",
        );
        check_not(
            "DCL CONST[0..9]",
            "LOAD TEMP[0], CONST[0], IN[0].xxxx\nADD OUT[0], TEMP[0], CONST[1]",
        );
    }
}
