//! The order in which programs compare.

use tgsi::Program;

use crate::count::Counts;
use crate::indirections::indirections;
use crate::target::Target;

/// The cost of a program on a target. Smaller is better; the fields compare in their order:
/// fits, instructions, temporaries, indirections, immediates, tokens. Slots and indirections come
/// before temporaries where the target limits them, and are 0 there where it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Whether a limit of the target is exceeded.
    pub misfit: bool,
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
        Cost {
            misfit: !target.fits(program, counts),
            instructions: counts.instructions,
            // Every built-in target's instructions take one slot each.
            limited_slots: if limited { counts.instructions } else { 0 },
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
}
