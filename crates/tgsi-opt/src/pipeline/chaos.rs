//! What [`crate::Options::chaos`] puts in place of the pipeline's own choices.

use tgsi_ir::Chaos;
use tgsi_pack::pack::PackOptions;
use tgsi_pack::sched::Strategy;
use tgsi_passes::egraph::Effort;

/// Any budgets of rewriting.
pub(super) fn effort(c: Chaos) -> Effort {
    Effort {
        alternatives: 1 + c.below(5, "alternatives", 0) as usize,
        depth: c.below(4, "depth", 0) as u32,
        matches: 1 + c.below(16, "matches", 0) as u32,
        explore: c.one_in(3, "explore", 0),
    }
}

/// One kind of order.
pub(super) fn strategies(c: Chaos) -> &'static [Strategy] {
    match c.below(3, "order", 0) {
        0 => &[Strategy::Late],
        1 => &[Strategy::Pressure],
        _ => &[Strategy::Source],
    }
}

/// A packing with other priorities, and perhaps another reach, without mixed packs, or with copies of
/// what is indexed.
pub(super) fn packing<'w>(c: Chaos, base: PackOptions<'w>) -> PackOptions<'w> {
    PackOptions {
        seed: c.word("packing", 0) | 1,
        reach: match c.below(4, "reach", 0) {
            0 => c.below(64, "reach", 1) as u32,
            _ => base.reach,
        },
        mix: base.mix.filter(|_| !c.one_in(3, "mix", 0)),
        indexed_reads: match c.below(3, "indexed", 0) {
            0 => 2,
            1 => 4,
            _ => base.indexed_reads,
        },
        ..base
    }
}
