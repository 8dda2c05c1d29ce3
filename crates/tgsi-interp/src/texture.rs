//! Texture instructions: from operands to a query of the sampler.

use tgsi::{Opcode, TexTarget};

use crate::code::{Decoded, Loc};
use crate::eval::Vec4;
use crate::exec::Machine;
use crate::quad::{Fetched, Quad, lanes};
use crate::sampler::{IntegerResult, Lod, TexKind, TexQuery};

/// Which channels of the coordinate operand a target uses.
struct Layout {
    /// Coordinates, the layer included: the channels from x on.
    coords: usize,
    /// Those with a derivative.
    dims: usize,
    /// Those that an offset moves.
    offset_dims: usize,
    /// Channel of the shadow reference in the coordinate operand.
    reference: Option<usize>,
    /// The reference is in the second operand.
    reference_apart: bool,
    samples: bool,
}

fn layout(target: TexTarget) -> Layout {
    use TexTarget::*;
    let (coords, dims, offset_dims, reference) = match target {
        Buffer => (1, 1, 0, None),
        D1 => (1, 1, 1, None),
        D2 | Rect | D2Msaa => (2, 2, 2, None),
        D3 => (3, 3, 3, None),
        Cube => (3, 3, 0, None),
        D1Array => (2, 1, 1, None),
        D2Array | D2ArrayMsaa => (3, 2, 2, None),
        Shadow1D => (1, 1, 1, Some(2)),
        Shadow2D | ShadowRect => (2, 2, 2, Some(2)),
        Shadow1DArray => (2, 1, 1, Some(2)),
        Shadow2DArray => (3, 2, 2, Some(3)),
        ShadowCube => (3, 3, 0, Some(3)),
        CubeArray | ShadowCubeArray => (4, 3, 0, None),
        Unknown => (2, 2, 2, None),
    };
    Layout {
        coords,
        dims,
        offset_dims,
        reference,
        reference_apart: target == ShadowCubeArray,
        samples: matches!(target, D2Msaa | D2ArrayMsaa),
    }
}

/// The operands that name the view and the sampler.
fn resources(op: Opcode) -> (usize, usize) {
    use Opcode::*;
    match op {
        Txqs | SamplePos | SampleInfo => (0, 0),
        Tex2 | Txb2 | Txl2 | Tg4 => (2, 2),
        Txd => (3, 3),
        Sample | SampleB | SampleC | SampleCLz | SampleD | SampleL | Gather4 | Lod => (1, 2),
        _ => (1, 1),
    }
}

fn floats(v: Vec4) -> [f32; 4] {
    v.map(f32::from_bits)
}

impl Quad {
    /// Executes a texture instruction.
    pub(crate) fn texture(&mut self, m: &mut Machine, inst: &Decoded) {
        let Some(tex) = inst.tex else {
            return;
        };
        let shape = layout(tex.target);
        let coords: [[f32; 4]; 4] = std::array::from_fn(|l| self.coordinates(m, inst, &shape, l));
        let whole = self.has_derivatives(m);
        for lane in lanes(self.flow.exec) {
            let (view, sampler) = resources(inst.op);
            let mut q = TexQuery {
                kind: TexKind::Sample,
                unit: self.unit(m, inst, view, lane),
                sampler: self.unit(m, inst, sampler, lane),
                target: tex.target,
                coord: [0.0; 4],
                texel: [0; 4],
                reference: None,
                lod: Lod::Implicit(0.0),
                level: 0,
                ddx: [0.0; 3],
                ddy: [0.0; 3],
                offsets: [[0; 3]; 4],
                integer: tex.integer,
            };
            self.describe(m, inst, &shape, lane, &mut q);
            if is_filtered(q.kind) {
                q.coord[..shape.coords].copy_from_slice(&coords[lane][..shape.coords]);
            }
            if matches!(q.lod, Lod::Implicit(_))
                && whole
                && is_filtered(q.kind)
                && !is_gather(q.kind)
            {
                let [first, _, below, last] = &coords;
                for i in 0..shape.dims.min(3) {
                    q.ddx[i] = last[i] - below[i];
                    q.ddy[i] = below[i] - first[i];
                }
            }
            let words = m.sampler.texture(&q);
            self.write_texture(m, inst, view, lane, words);
        }
    }

    /// The view's own swizzle applies to what is read, for the opcodes that have a view operand.
    fn write_texture(
        &mut self,
        m: &mut Machine,
        inst: &Decoded,
        view: usize,
        lane: usize,
        words: Vec4,
    ) {
        let swizzle = match inst.srcs.get(view) {
            Some(s) if s.file == tgsi::File::Sview => s.swizzle,
            _ => tgsi::XYZW,
        };
        let words = swizzle.map(|c| words[c as usize]);
        let float = inst.tex.is_some_and(|t| t.integer == IntegerResult::No)
            && inst.op.info().dst_ty != tgsi::Ty::U;
        let made = if float { 0xf } else { 0 };
        self.finish(m, inst, lane, Fetched { words, made });
    }

    fn unit(&self, m: &mut Machine, inst: &Decoded, operand: usize, lane: usize) -> u32 {
        match inst.srcs.get(operand).map(|s| &s.loc) {
            Some(loc @ Loc::Resource(_)) => self.resource(m, loc, lane).map_or(0, |r| r.2 as u32),
            _ => 0,
        }
    }

    /// The coordinate operand, divided by w if the opcode is projective.
    fn coordinates(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
    ) -> [f32; 4] {
        if matches!(resources(inst.op).0, 0) {
            return [0.0; 4];
        }
        let mut v = floats(self.src(m, inst, 0, lane));
        if inst.op == Opcode::Txp {
            let w = v[3];
            let last = shape.reference.unwrap_or(0).max(shape.coords - 1).min(2);
            v[..=last].iter_mut().for_each(|x| *x /= w);
        }
        v
    }

    /// Everything but the coordinates.
    fn describe(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
        q: &mut TexQuery,
    ) {
        use Opcode as O;
        let a = self.src(m, inst, 0, lane);
        let second = |m: &mut Machine| self.src(m, inst, 1, lane);
        let float = f32::from_bits;
        match inst.op {
            O::TexLz | O::SampleCLz => q.lod = Lod::Level(0.0),
            O::Txb => q.lod = Lod::Implicit(float(a[3])),
            O::Txl => q.lod = Lod::Level(float(a[3])),
            O::Txb2 | O::Txl2 => {
                let b = second(m);
                let x = float(b[usize::from(shape.reference_apart)]);
                q.lod = if inst.op == O::Txb2 {
                    Lod::Implicit(x)
                } else {
                    Lod::Level(x)
                };
            }
            O::Txd => self.gradient(m, inst, shape, lane, 1, q),
            O::SampleD => self.gradient(m, inst, shape, lane, 3, q),
            O::SampleB => q.lod = Lod::Implicit(float(self.src(m, inst, 3, lane)[0])),
            O::SampleL => q.lod = Lod::Level(float(self.src(m, inst, 3, lane)[0])),
            O::Txf | O::TxfLz | O::SampleI | O::SampleIMs | O::LoadMs => {
                self.fetch_query(m, inst, shape, lane, q);
            }
            O::Tg4 | O::Gather4 => {
                let component = if inst.op == O::Tg4 && !shape.reference_apart {
                    second(m)[0]
                } else {
                    0
                };
                q.kind = TexKind::Gather(component);
                q.lod = Lod::Level(0.0);
            }
            O::Txq | O::Sviewinfo | O::Resinfo | O::TxqLz => {
                q.kind = TexKind::Size;
                q.level = if inst.op == O::TxqLz || shape.samples {
                    0
                } else {
                    a[0] as i32
                };
            }
            O::Txqs | O::SampleInfo => q.kind = TexKind::Samples,
            O::SamplePos => {
                q.kind = TexKind::SamplePosition;
                q.level = second(m)[0] as i32;
            }
            O::Lodq | O::Lod => q.kind = TexKind::Level,
            _ => {}
        }
        self.reference(m, inst, shape, lane, q);
        self.offsets(m, inst, shape, lane, q);
        if matches!(
            q.kind,
            TexKind::Size | TexKind::Samples | TexKind::SamplePosition | TexKind::Level
        ) {
            q.integer = IntegerResult::No;
        }
    }

    fn reference(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
        q: &mut TexQuery,
    ) {
        if !is_filtered(q.kind) || q.kind == TexKind::Level {
            return;
        }
        q.reference = match inst.op {
            Opcode::SampleC | Opcode::SampleCLz => {
                Some(f32::from_bits(self.src(m, inst, 3, lane)[0]))
            }
            _ if shape.reference_apart && inst.srcs.len() > 2 => {
                Some(f32::from_bits(self.src(m, inst, 1, lane)[0]))
            }
            _ => shape
                .reference
                .map(|c| self.coordinates(m, inst, shape, lane)[c]),
        };
    }

    fn gradient(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
        first: usize,
        q: &mut TexQuery,
    ) {
        let (x, y) = (
            self.src(m, inst, first, lane),
            self.src(m, inst, first + 1, lane),
        );
        q.lod = Lod::Gradient;
        for i in 0..shape.dims.min(3) {
            q.ddx[i] = f32::from_bits(x[i]);
            q.ddy[i] = f32::from_bits(y[i]);
        }
    }

    fn fetch_query(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
        q: &mut TexQuery,
    ) {
        let a = self.src(m, inst, 0, lane);
        q.kind = TexKind::Fetch;
        for (to, from) in q.texel.iter_mut().zip(a).take(shape.coords) {
            *to = from as i32;
        }
        q.level = match inst.op {
            Opcode::SampleIMs => self.src(m, inst, 2, lane)[0] as i32,
            Opcode::TxfLz if !shape.samples => 0,
            _ if q.target == TexTarget::Buffer || q.target == TexTarget::Rect => 0,
            _ => a[3] as i32,
        };
    }

    fn offsets(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        shape: &Layout,
        lane: usize,
        q: &mut TexQuery,
    ) {
        let allowed = if is_gather(q.kind) { 4 } else { 1 };
        for (to, src) in q.offsets.iter_mut().zip(&inst.offsets).take(allowed) {
            let words = self.fetch(m, src, lane).words;
            for i in 0..shape.offset_dims {
                to[i] = words[i] as i32;
            }
        }
    }
}

fn is_filtered(kind: TexKind) -> bool {
    matches!(kind, TexKind::Sample | TexKind::Gather(_) | TexKind::Level)
}

fn is_gather(kind: TexKind) -> bool {
    matches!(kind, TexKind::Gather(_))
}
