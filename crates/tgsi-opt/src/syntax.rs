//! What passes over printed programs ask of operands and loops.

use tgsi::{Opcode, Program, Src};

/// All four channels.
pub(crate) const ALL: u8 = 15;

/// The channels of its register that an operand reads, where `mask` is read before the swizzle.
pub(crate) fn channels_read(src: &Src, mask: u8) -> u8 {
    let read = (0..4).filter(|i| mask >> i & 1 != 0);
    read.fold(0, |m, i| m | 1 << src.swizzle[i])
}

/// First and last instruction of each loop, inner ones before those around them.
pub(crate) struct Loops(Vec<(usize, usize)>);

impl Loops {
    /// Those of a program; nothing if it has subroutines, which run wherever they are called from.
    pub(crate) fn of(program: &Program) -> Option<Loops> {
        let mut loops = Vec::new();
        let mut open = Vec::new();
        for (at, inst) in program.insts.iter().enumerate() {
            match inst.op {
                Opcode::Bgnloop | Opcode::Bgnfor | Opcode::Rep => open.push(at),
                Opcode::Endloop | Opcode::Endfor | Opcode::Endrep => {
                    loops.extend(open.pop().map(|begin| (begin, at)));
                }
                Opcode::Cal | Opcode::Callnz | Opcode::Bgnsub => return None,
                _ => {}
            }
        }
        Some(Loops(loops))
    }

    /// Where what is used from `first` to `last` may be in use: through every loop that it meets.
    pub(crate) fn around(&self, (mut first, mut last): (usize, usize)) -> (usize, usize) {
        for &(begin, end) in &self.0 {
            if begin <= last && first <= end {
                first = first.min(begin);
                last = last.max(end);
            }
        }
        (first, last)
    }
}
