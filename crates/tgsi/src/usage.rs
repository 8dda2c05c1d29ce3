//! Which channels of a source an instruction reads.

use crate::ast::{Inst, TexTarget};

/// The channels of source `src` that `inst` reads, before its swizzle, when only
/// the channels `mask` of the destination are wanted (bit 0 = x).
///
/// For an opcode without a destination the whole operand's use is returned and
/// `mask` is ignored. Operands that name a resource (sampler, buffer...) read nothing: 0.
pub fn src_mask(inst: &Inst, src: usize, mask: u8) -> u8 {
    let _ = (inst, src, mask);
    todo!()
}

/// Number of coordinates of a texture target, array layer included, shadow reference excluded.
pub fn coord_count(target: TexTarget) -> u8 {
    let _ = target;
    todo!()
}
