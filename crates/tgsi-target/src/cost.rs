//! The order in which programs compare.

use tgsi::Program;

use crate::count::Counts;
use crate::fit::{Excess, fit_report};
use crate::indirections::indirections;
use crate::slots::Slots;
use crate::target::Target;

/// The cost of a program on a target. Smaller is better; the fields compare in their order:
/// fits, instructions, temporaries, indirections, immediates, tokens. Slots and indirections come
/// before temporaries where the target limits them, and are 0 there where it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// How far the program is from fitting the target: what it needs beyond each limit in parts of a
    /// hundred, and a thousand for each thing that the target does not have; 0 if it fits.
    pub misfit: u32,
    /// Instructions, `END` left out.
    pub instructions: u32,
    /// Instruction slots, where the target limits instructions; else 0.
    pub limited_slots: u32,
    /// Texture indirections, where the target limits them; else 0. The larger of the target's own
    /// count and that of ARB_fragment_program, which drivers and other tools go by.
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
            misfit: misfit(&fit_report(target, program, counts)),
            instructions: counts.instructions,
            limited_slots: if limited { slots() } else { 0 },
            limited_indirections: if limits.indirections.is_some() {
                found.max(counts.indirections)
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

/// What something that the target lacks adds to [`Cost::misfit`].
pub const MISSING: u32 = 1000;

fn misfit(report: &[Excess]) -> u32 {
    let part = |excess: &Excess| match *excess {
        Excess::Limit { needs, has, .. } => {
            let over = u64::from(needs.saturating_sub(has)) * 100;
            over.div_ceil(u64::from(has.max(1)))
        }
        Excess::Missing(_) => u64::from(MISSING),
    };
    let sum: u64 = report.iter().map(part).sum();
    u32::try_from(sum).unwrap_or(u32::MAX)
}
