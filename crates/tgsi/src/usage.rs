//! Which channels of a source an instruction reads, and which channels of its
//! destination it writes.
//!
//! Masks have bit 0 for x. The facts are those of Mesa's own interpreter; where
//! consumers differ the answer errs towards reading more.

use crate::ast::{File, Inst, TexTarget};
use crate::opcode::{Effect, OpInfo, Opcode, Shape, Ty};

const X: u8 = 1;
const Y: u8 = 2;
const Z: u8 = 4;
const W: u8 = 8;
const XY: u8 = X | Y;
const ZW: u8 = Z | W;
const XYZ: u8 = XY | Z;
const XYZW: u8 = XYZ | W;

/// How destination channels and 64-bit channel pairs go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// No operand is 64 bits wide.
    Narrow,
    /// A 64-bit result that is written only where the write mask holds both
    /// channels of a pair: opcodes with one or three sources, conversions to 64 bits.
    Whole,
    /// A 64-bit result of two sources: either channel of a pair in the write mask
    /// writes both.
    Either,
    /// A 32-bit truth value a pair: written to the lowest channel the mask has in the pair.
    Compare,
    /// A conversion from 64 bits: the lowest channel of the write mask gets the xy
    /// pair, the next the zw pair, further channels are not written.
    Packed,
}

/// The pairing of an opcode.
pub fn pairing(op: Opcode) -> Pairing {
    let info = op.info();
    let wide_src = info.src_ty.iter().any(|t| t.is_wide());
    match (info.dst_ty.is_wide(), wide_src) {
        (true, true) if info.srcs == 2 => Pairing::Either,
        (true, _) => Pairing::Whole,
        (false, true) if info.srcs == 2 => Pairing::Compare,
        (false, true) => Pairing::Packed,
        (false, false) => Pairing::Narrow,
    }
}

/// The channels of its (first) destination that `inst` really writes.
///
/// It differs from the write mask for 64-bit operations only, see [`Pairing`]; it may
/// then hold channels that the mask lacks. 0 for an instruction without a destination.
pub fn dst_mask(inst: &Inst) -> u8 {
    let Some(mask) = inst.dsts.first().map(|d| d.mask & XYZW) else {
        return 0;
    };
    match pairing(inst.op) {
        Pairing::Narrow => mask,
        Pairing::Whole => pairs(mask, |part, pair| if part == pair { pair } else { 0 }),
        Pairing::Either => round_to_pairs(mask),
        Pairing::Compare => pairs(mask, |part, _| lowest(part)),
        Pairing::Packed => {
            let first = lowest(mask);
            first | lowest(mask & !first)
        }
    }
}

/// The half of the 64-bit operands that destination channel `chan` (0 = x) of `inst` comes
/// from: 0 for the xy pair, 1 for the zw pair (of a conversion to 64 bits: channel x and
/// channel y of its source). `None` if the channel is not written or nothing is 64 bits wide.
pub fn wide_half(inst: &Inst, chan: u8) -> Option<u8> {
    let bit = 1u8.checked_shl(u32::from(chan))?;
    let written = dst_mask(inst);
    if written & bit == 0 {
        return None;
    }
    match pairing(inst.op) {
        Pairing::Narrow => None,
        Pairing::Packed => Some(u8::from(lowest(written) != bit)),
        Pairing::Whole | Pairing::Either | Pairing::Compare => Some(chan / 2),
    }
}

/// The channels of source `src` that `inst` reads, before its swizzle, when only
/// the channels `mask` of the destination are wanted (bit 0 = x).
///
/// For an opcode without a destination, or one with an effect, the whole operand's use is
/// returned and `mask` is ignored. Operands that name a resource (sampler, buffer...) read
/// nothing: 0. A 64-bit handle in the place of a resource reads xy. A source number that
/// the opcode does not have reads nothing.
pub fn src_mask(inst: &Inst, src: usize, mask: u8) -> u8 {
    let info = inst.op.info();
    let Some(reg) = inst.srcs.get(src).map(|s| s.reg) else {
        return 0;
    };
    let free = matches!(info.effect, Effect::Pure | Effect::Read) && info.dsts == 1;
    let wanted = if free {
        mask & dst_mask(inst)
    } else {
        dst_mask(inst)
    };
    if free && wanted == 0 {
        return 0;
    }
    if let Some(read) = resource_use(inst, info, src, reg.file) {
        return read;
    }
    match info.shape {
        Shape::Comp => comp_use(inst, info, src, wanted),
        Shape::Repl => match inst.op {
            Opcode::Sfl | Opcode::Str => 0,
            _ => X,
        },
        Shape::Dot(n) => low_channels(n),
        Shape::Chan => chan_use(inst.op, src, wanted),
        Shape::Tex => tex_use(inst, src),
        Shape::Mem => mem_use(inst, src),
        Shape::Other => other_use(inst, src, wanted),
        Shape::None => flow_use(inst.op),
    }
}

/// Number of coordinates of a texture target, array layer included, shadow reference excluded.
pub fn coord_count(target: TexTarget) -> u8 {
    use TexTarget::*;
    match target {
        Buffer | D1 | Shadow1D => 1,
        D2 | Rect | Shadow2D | ShadowRect | D2Msaa | D1Array | Shadow1DArray => 2,
        D3 | Cube | ShadowCube | D2Array | Shadow2DArray | D2ArrayMsaa => 3,
        CubeArray | ShadowCubeArray | Unknown => 4,
    }
}

/// The channels of the coordinate operand of a texture target: the coordinates, the array
/// layer, and the shadow reference if it is in that operand (`SHADOWCUBEARRAY` has it elsewhere).
pub fn coord_mask(target: TexTarget) -> u8 {
    use TexTarget::*;
    match target {
        Shadow1D => X | Z,
        Shadow2D | ShadowRect | Shadow1DArray => XYZ,
        ShadowCube | Shadow2DArray => XYZW,
        _ => low_channels(coord_count(target)),
    }
}

/// The channels of an image coordinate: x, y, z and layer without gaps, the sample in w.
fn image_mask(target: TexTarget) -> u8 {
    match target {
        TexTarget::Unknown => XYZW,
        _ => low_channels(coord_count(target).min(3)) | sample_mask(target),
    }
}

/// w for the multisample targets, which take the sample number there.
fn sample_mask(target: TexTarget) -> u8 {
    if matches!(target, TexTarget::D2Msaa | TexTarget::D2ArrayMsaa) {
        W
    } else {
        0
    }
}

/// The channels of a derivative operand: the coordinates without layer.
fn derivative_mask(target: TexTarget) -> u8 {
    use TexTarget::*;
    match target {
        D1 | D1Array | Shadow1D | Shadow1DArray | Buffer => X,
        D2 | D2Array | Rect | Shadow2D | Shadow2DArray | ShadowRect | D2Msaa | D2ArrayMsaa => XY,
        D3 | Cube | CubeArray | ShadowCube | ShadowCubeArray => XYZ,
        Unknown => XYZW,
    }
}

const fn low_channels(n: u8) -> u8 {
    if n >= 4 { XYZW } else { (1 << n) - 1 }
}

const fn lowest(mask: u8) -> u8 {
    mask & mask.wrapping_neg()
}

fn pairs(mask: u8, f: impl Fn(u8, u8) -> u8) -> u8 {
    f(mask & XY, XY) | f(mask & ZW, ZW)
}

/// `mask` with both channels of every pair of which it has one.
fn round_to_pairs(mask: u8) -> u8 {
    pairs(mask, |part, pair| if part != 0 { pair } else { 0 })
}

/// The halves (bit 0: xy, bit 1: zw) of the wide operands that `wanted` needs.
fn halves(inst: &Inst, wanted: u8) -> u8 {
    (0..4)
        .filter(|c| wanted >> c & 1 != 0)
        .filter_map(|c| wide_half(inst, c))
        .fold(0, |all, half| all | 1 << half)
}

/// What a resource operand reads, `None` if operand `src` is an ordinary one.
fn resource_use(inst: &Inst, info: &OpInfo, src: usize, file: File) -> Option<u8> {
    if is_resource(file) {
        return Some(0);
    }
    if !is_resource_slot(inst.op, info, src) {
        return None;
    }
    match file {
        File::Out | File::Null => Some(0),
        // A constant buffer is a resource of LOAD; with an image target it holds a handle.
        File::Const if inst.target.is_none() => Some(0),
        _ => Some(XY),
    }
}

/// Whether the registers of a file name resources and have no channels to read.
pub fn is_resource(file: File) -> bool {
    matches!(
        file,
        File::Samp
            | File::Sview
            | File::Image
            | File::Buffer
            | File::Memory
            | File::HwAtomic
            | File::Res
    )
}

/// Whether source `src` of an opcode is the place of a resource.
fn is_resource_slot(op: Opcode, info: &OpInfo, src: usize) -> bool {
    use Opcode::*;
    match op {
        Store => false,
        Fbfetch | Img2hnd | Samp2hnd => src == 0,
        SamplePos | SampleInfo => src == 0,
        Sample | SampleB | SampleC | SampleCLz | SampleD | SampleL | Gather4 | Lod => {
            src == 1 || src == 2
        }
        SampleI | SampleIMs | Sviewinfo | LoadMs | Resinfo => src == 1,
        _ => match info.shape {
            Shape::Mem => src == 0,
            Shape::Tex => src + 1 == usize::from(info.srcs),
            _ => false,
        },
    }
}

fn comp_use(inst: &Inst, info: &OpInfo, src: usize, wanted: u8) -> u8 {
    if inst.op == Opcode::ReadInvoc && src == 1 {
        return X;
    }
    let rule = pairing(inst.op);
    if rule == Pairing::Narrow {
        return wanted;
    }
    let halves = halves(inst, wanted);
    let (xy, zw) = (halves & 1 != 0, halves & 2 != 0);
    let pick = |a: u8, b: u8| if xy { a } else { 0 } | if zw { b } else { 0 };
    match info.src_ty.get(src) {
        Some(t) if t.is_wide() => pick(XY, ZW),
        // Counts of shifts and exponents stand in the first channel of the pair.
        Some(Ty::I | Ty::U) if rule == Pairing::Either => pick(X, Z),
        _ => pick(X, Y),
    }
}

fn chan_use(op: Opcode, src: usize, wanted: u8) -> u8 {
    use Opcode::*;
    let when = |channels: u8, read: u8| if wanted & channels != 0 { read } else { 0 };
    match op {
        Lit => when(Y | Z, X) | when(Z, Y | W),
        Exp | Log => when(XYZ, X),
        Dst => match src {
            0 => wanted & (Y | Z),
            _ => wanted & (Y | W),
        },
        Xpd => when(X, Y | Z) | when(Y, X | Z) | when(Z, XY),
        Scs => when(XY, X),
        Nrm | Rfl => when(XYZ, XYZ),
        X2d => match src {
            0 => when(X | Z, X) | when(Y | W, Y),
            1 => XY,
            _ => when(X | Z, XY) | when(Y | W, ZW),
        },
        Pk2h | Pk2us => XY,
        Up2h | Up2us | Up4b | Up4ub => X,
        Dph => match src {
            0 => XYZ,
            _ => XYZW,
        },
        Dp2a => match src {
            2 => X,
            _ => XY,
        },
        Shr => match src {
            0 => wanted,
            _ => X,
        },
        _ => XYZW,
    }
}

fn tex_use(inst: &Inst, src: usize) -> u8 {
    use Opcode::*;
    let target = inst.target.unwrap_or(TexTarget::Unknown);
    let coord = coord_mask(target);
    match (inst.op, src) {
        (Txq | Sviewinfo | Resinfo, _) | (SamplePos | SampleInfo, 1) => X,
        (Txp | Txb | Txl, 0) => coord | W,
        (Txf, 0) if target == TexTarget::Buffer => X,
        (Txf | SampleI | LoadMs, 0) => coord | W,
        (TxfLz | SampleIMs, 0) => coord | sample_mask(target),
        (_, 0) => coord,
        (Txd, 1 | 2) | (SampleD, 3 | 4) => derivative_mask(target),
        (Txb2 | Txl2, 1) if target == TexTarget::ShadowCubeArray => XY,
        // Reference, bias, level, sample number or gathered component.
        _ => X,
    }
}

fn mem_use(inst: &Inst, src: usize) -> u8 {
    let (resource, address) = match inst.op {
        Opcode::Store => (inst.dsts.first().map(|d| d.reg.file), 0),
        _ => (inst.srcs.first().map(|s| s.reg.file), 1),
    };
    let is_image = inst.target.is_some() || matches!(resource, Some(File::Image | File::Res));
    if src == address {
        return if is_image {
            image_mask(inst.target.unwrap_or(TexTarget::Unknown))
        } else {
            X
        };
    }
    match inst.op {
        // An image takes a whole texel whatever the mask says.
        Opcode::Store if is_image => XYZW,
        Opcode::Store => inst.dsts.first().map_or(0, |d| d.mask & XYZW),
        _ => X,
    }
}

fn other_use(inst: &Inst, src: usize, wanted: u8) -> u8 {
    match (inst.op, src) {
        (Opcode::InterpCentroid | Opcode::InterpSample | Opcode::InterpOffset, 0) => wanted,
        (Opcode::InterpOffset, _) => XY,
        (Opcode::Dfracexp, _) => match round_to_pairs(inst.dsts.first().map_or(0, |d| d.mask)) {
            0 => XY,
            read => read,
        },
        _ => X,
    }
}

fn flow_use(op: Opcode) -> u8 {
    match op {
        Opcode::KillIf | Opcode::Pusha => XYZW,
        Opcode::Bgnfor => XYZ,
        _ => X,
    }
}
