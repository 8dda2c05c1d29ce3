//! The order in which programs compare.

use tgsi::Program;

use crate::count::Counts;
use crate::fit::fit_report;
use crate::indirections::indirections;
use crate::slots::Slots;
use crate::target::Target;

/// The cost of a program on a target. Smaller is better; the fields compare in their order:
/// taken, fits, instructions, temporaries, indirections, immediates, tokens. Slots and indirections come
/// before temporaries where the target limits them, and are 0 there where it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// How many kinds of operations the target does not take.
    pub untaken: u32,
    /// How many limits of the target are exceeded.
    pub misfit: u32,
    /// Instructions, `END` left out.
    pub instructions: u32,
    /// Instruction slots, where the target limits instructions; else 0.
    pub limited_slots: u32,
    /// Texture indirections, where the target limits them; else 0.
    pub limited_indirections: u32,
    /// Temporaries.
    pub temps: u32,
    /// Texture indirections by the target's model.
    pub indirections: u32,
    /// Immediates.
    pub immediates: u32,
    /// Length of the token stream.
    pub tokens: u32,
}

impl Cost {
    /// The cost of `program`, whose counts are `counts`, on `target`.
    pub fn of(program: &Program, counts: &Counts, target: &Target) -> Cost {
        let found = match target.indirection_model {
            crate::IndirectionModel::Arb => counts.indirections,
            model => indirections(program, model),
        };
        let limits = &target.limits;
        let limited = limits.instructions.is_some() || limits.alu.is_some() || limits.tex.is_some();
        let slots = || Slots::of(target, program, counts).all;
        Cost {
            untaken: target.not_taken(program).len() as u32,
            misfit: fit_report(target, program, counts).len() as u32,
            instructions: counts.instructions,
            limited_slots: if limited { slots() } else { 0 },
            limited_indirections: if limits.indirections.is_some() {
                found
            } else {
                0
            },
            temps: counts.temps,
            indirections: found,
            immediates: counts.immediates,
            tokens: counts.tokens,
        }
    }

    /// Whether the target takes and holds the program.
    pub fn fits(&self) -> bool {
        self.untaken == 0 && self.misfit == 0
    }
}
