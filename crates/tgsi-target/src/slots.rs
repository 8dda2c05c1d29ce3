//! Instruction slots: what instructions take of a target's limits.

use tgsi::{Inst, Opcode, Program};

use crate::count::{Class, Counts, class, is_kill};
use crate::registers::Registers;
use crate::target::Target;

/// Instruction slots by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Every instruction.
    pub all: u32,
    /// Arithmetic, moves among them.
    pub alu: u32,
    /// Fetches, queries and kills.
    pub tex: u32,
    /// Control flow.
    pub flow: u32,
    /// Arithmetic of the texture indirection with most of it; 0 where the target limits none.
    pub phase_alu: u32,
    /// Fetches, queries and kills of the texture indirection with most of them; 0 where the target
    /// limits none.
    pub phase_tex: u32,
}

impl Slots {
    /// Slots that a program takes on a target.
    pub fn of(target: &Target, program: &Program, counts: &Counts) -> Slots {
        let opcodes = &target.opcodes;
        let plain = opcodes.expanded.is_empty() && opcodes.slots.is_empty() && !target.pairs;
        if plain && !Walk::has_phases(target) {
            return Slots {
                all: counts.instructions,
                alu: counts.alu,
                tex: counts.tex + counts.kills,
                flow: counts.flow,
                phase_alu: 0,
                phase_tex: 0,
            };
        }
        let mut walk = Walk::new(target, program);
        program.insts.iter().for_each(|inst| walk.step(inst));
        walk.slots
    }
}

/// The count of slots, an instruction at a time.
pub(crate) struct Walk<'a> {
    target: &'a Target,
    /// The slots so far.
    pub(crate) slots: Slots,
    registers: Option<Registers<'a>>,
    /// Slots of the current texture indirection.
    alu: u32,
    tex: u32,
    /// The operation that the next one may share a slot with, and its slots.
    open: Option<(&'a Inst, u32)>,
}

impl<'a> Walk<'a> {
    /// Whether the target limits what stands in one texture indirection.
    fn has_phases(target: &Target) -> bool {
        target.limits.phase_alu.is_some() || target.limits.phase_tex.is_some()
    }

    pub(crate) fn new(target: &'a Target, program: &'a Program) -> Self {
        let rules = target.indirection_model.rules();
        Walk {
            target,
            slots: Slots::default(),
            registers: Self::has_phases(target).then(|| Registers::new(&program.header, rules)),
            alu: 0,
            tex: 0,
            open: None,
        }
    }

    /// Adds one instruction.
    pub(crate) fn step(&mut self, inst: &'a Inst) {
        let class = class(inst.op);
        if let Some(registers) = &mut self.registers {
            let phase = registers.indirection;
            registers.step(inst, class);
            if registers.indirection != phase {
                (self.alu, self.tex) = (0, 0);
            }
        }
        if inst.op == Opcode::End {
            return;
        }
        let n = self.slots_of(inst, class);
        let slots = &mut self.slots;
        slots.all = slots.all.saturating_add(n);
        match class {
            Class::Alu => {
                slots.alu = slots.alu.saturating_add(n);
                self.alu = self.alu.saturating_add(n);
            }
            Class::Tex | Class::Effect if class == Class::Tex || is_kill(inst.op) => {
                slots.tex = slots.tex.saturating_add(n);
                self.tex = self.tex.saturating_add(n);
            }
            Class::Flow => slots.flow = slots.flow.saturating_add(n),
            Class::Tex | Class::Effect | Class::Memory => {}
        }
        if self.registers.is_some() {
            slots.phase_alu = slots.phase_alu.max(self.alu);
            slots.phase_tex = slots.phase_tex.max(self.tex);
        }
    }

    /// What an instruction takes beyond what came before it.
    fn slots_of(&mut self, inst: &'a Inst, class: Class) -> u32 {
        let n = self.target.opcodes.slots(inst.op);
        let open = self.open.take();
        if !self.target.pairs || class != Class::Alu {
            return n;
        }
        if let Some((first, has)) = open
            && pair(first, inst)
        {
            return n.saturating_sub(has);
        }
        self.open = Some((inst, n));
        n
    }
}

/// Whether two neighbours can run side by side: one on colour, the other on alpha, the second not on
/// what the first gives. Dot products of colour leave the alpha side free, others need both.
fn pair(first: &Inst, second: &Inst) -> bool {
    const ALPHA: u8 = 8;
    let ([a], [b]) = (&first.dsts[..], &second.dsts[..]) else {
        return false;
    };
    let (colour, alpha) = match (a.mask, b.mask) {
        (c, ALPHA) if c & ALPHA == 0 => (first, second),
        (ALPHA, c) if c & ALPHA == 0 => (second, first),
        _ => return false,
    };
    let both_sides = |op| matches!(op, Opcode::Dp4 | Opcode::Dp2a);
    if both_sides(colour.op) || both_sides(alpha.op) || alpha.op == Opcode::Dp3 {
        return false;
    }
    let reads_first = |(i, src): (usize, &tgsi::Src)| {
        let read = tgsi::usage::src_mask(second, i, b.mask);
        let mut channels = (0..4).filter(|c| read >> c & 1 != 0);
        src.reg == a.reg && channels.any(|c| a.mask >> src.swizzle[c] & 1 != 0)
    };
    !second.srcs.iter().enumerate().any(reads_first)
}
