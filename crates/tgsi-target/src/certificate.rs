//! Why a program cannot do with fewer texture indirections.
//!
//! The level of an instruction is that of the deepest result that it reads from a temporary; a fetch or kill whose
//! coordinate stands in a temporary is one level above it. Instructions of one node that only wait for
//! each other never rise a level, and a fetch can never share a node with what computes its
//! coordinate, so no order of the same instructions and no choice of registers has fewer
//! indirections than one more than the highest level.

use tgsi::{Dst, File, Opcode, Program, Src};

use crate::count::{Class, class};

/// A longest chain of fetches, each of which waits for the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Texture indirections that no order of the same instructions goes below; 1 without fetches.
    pub indirections: u32,
    /// The instructions that begin a node, one after the other: fetches and kills, by number.
    pub chain: Vec<u32>,
}

/// What is known of a word or an instruction.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Nodes that must have begun before its own, the first of the program left out.
    level: u32,
    /// One more than the number of the fetch or kill that began the last of them; 0 for none.
    by: u32,
}

impl Level {
    fn raise(&mut self, other: Level) {
        if other.level > self.level {
            *self = other;
        }
    }
}

/// Registers beyond this share one level.
const LAST: usize = 1 << 16;

/// The words of temporaries; nothing for one that is not written yet.
#[derive(Default)]
struct Words(Vec<[Option<Level>; 4]>);

impl Words {
    fn slot(reg: i32) -> usize {
        usize::try_from(reg).map_or(LAST, |r| r.min(LAST))
    }

    /// What a source reads, if any of it is written.
    fn read(&self, src: &Src, mask: u8) -> Option<Level> {
        let mut found: Option<Level> = None;
        let mut note = |l: Option<Level>| {
            if let Some(l) = l {
                found.get_or_insert_default().raise(l);
            }
        };
        if src.reg.is_indirect() {
            self.0.iter().flatten().for_each(|&l| note(l));
        } else if let Some(words) = self.0.get(Words::slot(src.reg.index.base)) {
            let read = (0..4).filter(|c| mask >> c & 1 != 0);
            read.for_each(|c| note(words[usize::from(src.swizzle[c] & 3)]));
        }
        found
    }

    fn write(&mut self, dst: &Dst, level: Level) {
        let slot = Words::slot(dst.reg.index.base);
        if slot >= self.0.len() {
            self.0.resize(slot + 1, [None; 4]);
        }
        for c in (0..4).filter(|c| dst.mask >> c & 1 != 0) {
            let word = &mut self.0[slot][c];
            match word {
                // An indexed write may leave what there was.
                Some(old) if dst.reg.is_indirect() => old.raise(level),
                _ => *word = Some(level),
            }
        }
    }
}

/// The certificate of a program. Branches and loops count as if their text ran once from top to
/// bottom, as all models count them.
pub fn certificate(program: &Program) -> Certificate {
    let mut words = Words::default();
    let mut behind = vec![0u32; program.insts.len()];
    let mut deepest = Level::default();
    for (at, inst) in program.insts.iter().enumerate() {
        let begins = class(inst.op) == Class::Tex || inst.op == Opcode::KillIf;
        let mask = inst.dsts.first().map_or(0xf, |d| d.mask);
        let mut level = Level::default();
        let mut waits = false;
        for (k, src) in inst.srcs.iter().enumerate() {
            if src.reg.file != File::Temp {
                continue;
            }
            if let Some(l) = words.read(src, tgsi::usage::src_mask(inst, k, mask)) {
                waits |= begins;
                level.raise(l);
            }
        }
        if waits {
            behind[at] = level.by;
            level = Level {
                level: level.level + 1,
                by: at as u32 + 1,
            };
            deepest.raise(level);
        }
        for dst in inst.dsts.iter().filter(|d| d.reg.file == File::Temp) {
            words.write(dst, level);
        }
    }
    let mut chain = Vec::new();
    let mut by = deepest.by;
    while by != 0 {
        chain.push(by - 1);
        by = behind[by as usize - 1];
    }
    chain.reverse();
    Certificate {
        indirections: deepest.level + 1,
        chain,
    }
}
