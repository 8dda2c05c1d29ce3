//! Instructions on memory: loads, stores, atomics, size queries.

use tgsi::{File, Opcode, TexTarget};

use crate::code::{Decoded, Loc};
use crate::eval::Vec4;
use crate::exec::Machine;
use crate::memory::{IMAGE_SIZE, RegionKind, texel_offset};
use crate::outcome::{MemoryEffect, Word};
use crate::quad::{Fetched, Quad, lanes};
use crate::rng;

/// A place in memory.
#[derive(Clone, Copy)]
struct Place {
    region: usize,
    /// Byte offset; `None` for a texel outside of its image.
    offset: Option<u32>,
    kind: RegionKind,
}

fn region_kind(file: File) -> Option<RegionKind> {
    Some(match file {
        File::Buffer => RegionKind::Buffer,
        File::Image => RegionKind::Image,
        File::Memory => RegionKind::Memory,
        File::HwAtomic => RegionKind::Counter,
        File::Res => RegionKind::Resource,
        _ => return None,
    })
}

/// The texel that a coordinate names: x, y, z and layer without gaps, the sample in w.
fn texel(target: TexTarget, address: Vec4) -> [u32; 3] {
    use TexTarget::*;
    let [x, y, z, w] = address;
    match target {
        Buffer | D1 | Shadow1D => [x, 0, 0],
        D2 | Rect | Shadow2D | ShadowRect | D1Array | Shadow1DArray => [x, y, 0],
        // Samples and layers share the third dimension.
        D2Msaa => [x, y, w],
        D2ArrayMsaa => [x, y, z.saturating_mul(4).saturating_add(w)],
        _ => [x, y, z],
    }
}

impl Quad {
    fn place(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        resource: &Loc,
        address: Vec4,
        lane: usize,
    ) -> Option<Place> {
        let (file, dim, number) = self.resource(m, resource, lane)?;
        let kind = region_kind(file)?;
        // A counter is found by its register alone: the operand repeats its offset.
        let (index, address) = match kind {
            RegionKind::Counter => {
                let counter = u32::try_from(number).unwrap_or(u32::MAX);
                (dim.unwrap_or(0), [counter.saturating_mul(4), 0, 0, 0])
            }
            _ => (number, address),
        };
        let Some(region) = m.region(kind, index) else {
            m.flags.out_of_array = true;
            m.flags.wrote_out_of_array |= inst.op != Opcode::Load;
            return None;
        };
        let offset = match kind {
            RegionKind::Image => texel_offset(texel(inst.image, address)),
            _ => Some(address[0]),
        };
        Some(Place {
            region,
            offset,
            kind,
        })
    }

    /// Executes a memory instruction.
    pub(crate) fn memory(&mut self, m: &mut Machine, inst: &Decoded) {
        for lane in lanes(self.flow.exec) {
            match inst.op {
                Opcode::Load => self.load(m, inst, lane),
                Opcode::Store => self.store_memory(m, inst, lane),
                Opcode::Resq => self.size(m, inst, lane),
                _ => self.atomic(m, inst, lane),
            }
        }
    }

    fn load(&mut self, m: &mut Machine, inst: &Decoded, lane: usize) {
        let Some(resource) = inst.srcs.first() else {
            return;
        };
        let address = self.src(m, inst, 1, lane);
        let mut words = [Word::default(); 4];
        if let Some(constant) = Self::constant_words(m, inst, address) {
            words = constant.map(|bits| Word {
                bits,
                ..Word::default()
            });
        } else if let Some(place) = self.place(m, inst, &resource.loc, address, lane) {
            // The bounds test covers every component up to the highest that is read.
            let reads = lanes(inst.written).map(|c| u32::from(resource.swizzle[c]));
            let size = 4 * (reads.max().unwrap_or(0) + 1);
            let is_image = place.kind == RegionKind::Image;
            let size = if is_image { 16 } else { size };
            m.flags.read_unset |= m.unknown_memory[place.region];
            let memory = &m.memory[place.region];
            if let Some(offset) = place.offset.filter(|o| memory.holds(*o, size)) {
                for c in 0..size / 4 {
                    words[c as usize] = memory.load(offset + 4 * c).unwrap_or_default();
                }
                if is_image {
                    missing_channels(&mut words, inst.format_channels);
                }
            }
        }
        let words = resource.swizzle.map(|c| words[c as usize]);
        let value = Fetched {
            words: words.map(|w| w.bits),
            made: words.iter().enumerate().fold(0, |m, (c, w)| {
                m | u8::from(w.float) << c | u8::from(w.double) << (c + 4)
            }),
        };
        self.finish(m, inst, lane, value);
    }

    /// `LOAD` from a constant buffer: `CONST[b]` as the resource, a byte offset.
    fn constant_words(m: &Machine, inst: &Decoded, address: Vec4) -> Option<Vec4> {
        let src = inst.srcs.first().filter(|s| s.file == File::Const)?;
        let buffer = match &src.loc {
            Loc::Slot(slot) => {
                m.code
                    .named
                    .iter()
                    .find(|n| n.3 == *slot && n.0 == File::Const)?
                    .2
            }
            _ => return Some([0; 4]),
        };
        let word = |byte: u32| {
            let register = i32::try_from(byte / 16).ok()?;
            let slot = m.code.slot(File::Const, Some(buffer), register)?;
            Some(m.uniform.get(slot as usize)?[(byte / 4 % 4) as usize])
        };
        Some(std::array::from_fn(|c| {
            address[0]
                .checked_add(4 * c as u32)
                .and_then(word)
                .unwrap_or(0)
        }))
    }

    fn store_memory(&mut self, m: &mut Machine, inst: &Decoded, lane: usize) {
        let Some(dst) = inst.dsts.first() else {
            return;
        };
        let address = self.src(m, inst, 0, lane);
        let value = inst
            .srcs
            .get(1)
            .map_or(Fetched::default(), |s| self.fetch(m, s, lane));
        let Some(place) = self.place(m, inst, &dst.loc, address, lane) else {
            return;
        };
        if self.killed >> lane & 1 != 0 {
            return;
        }
        let Some(offset) = place.offset else {
            return;
        };
        // An image takes a whole texel, as many channels as its format has.
        let mask = match place.kind {
            RegionKind::Image => 0xf >> (4 - inst.format_channels.clamp(1, 4)),
            _ => dst.mask,
        };
        for c in lanes(mask) {
            let word = Word {
                bits: value.words[c],
                float: value.made >> c & 1 != 0,
                double: value.made >> (c + 4) & 1 != 0,
                unset: false,
            };
            if let Some(at) = offset.checked_add(4 * c as u32) {
                self.write(m, inst, lane, place.region, at, word);
            }
        }
    }

    /// Stores a word, and notes it if notes are wanted.
    fn write(
        &self,
        m: &mut Machine,
        inst: &Decoded,
        lane: usize,
        region: usize,
        offset: u32,
        word: Word,
    ) {
        let memory = &mut m.memory[region];
        let before = memory.load(offset);
        memory.store(offset, word);
        if let (Some(effects), Some(before)) = (&mut m.effects, before) {
            effects.push(MemoryEffect {
                op: inst.op,
                lane: self.first_lane + lane as u32,
                kind: memory.kind,
                index: memory.index,
                offset,
                before: before.bits,
                after: word.bits,
            });
        }
    }

    fn atomic(&mut self, m: &mut Machine, inst: &Decoded, lane: usize) {
        let Some(resource) = inst.srcs.first() else {
            return;
        };
        let address = self.src(m, inst, 1, lane);
        let b = self.src(m, inst, 2, lane)[0];
        let c = self.src(m, inst, 3, lane)[0];
        let place = self.place(m, inst, &resource.loc, address, lane);
        let at = place.and_then(|p| p.offset.map(|o| (p.region, o)));
        let old = at.and_then(|(region, offset)| m.memory[region].load(offset));
        if let (Some((region, offset)), Some(old)) = (at, old)
            && self.killed >> lane & 1 == 0
        {
            let bits = atomic_result(inst.op, old.bits, b, c);
            let word = Word {
                bits,
                float: inst.op == Opcode::Atomfadd,
                ..Word::default()
            };
            self.write(m, inst, lane, region, offset, word);
        }
        if let Some((region, _)) = at {
            m.flags.read_unset |= m.unknown_memory[region];
        }
        let old = old.unwrap_or_default();
        let made = if old.float { 0xf } else { 0 };
        self.finish(
            m,
            inst,
            lane,
            Fetched {
                words: [old.bits; 4],
                made,
            },
        );
    }

    fn size(&mut self, m: &mut Machine, inst: &Decoded, lane: usize) {
        let place = inst
            .srcs
            .first()
            .and_then(|s| self.place(m, inst, &s.loc, [0; 4], lane));
        let words = match place {
            Some(p) if p.kind == RegionKind::Image => {
                let [w, h, d] = IMAGE_SIZE;
                [w, h, d, 1]
            }
            Some(p) => [m.memory[p.region].size() as u32, 0, 0, 0],
            None => [0; 4],
        };
        self.finish(m, inst, lane, Fetched { words, made: 0 });
    }
}

/// Channels that a format lacks read 0, and 1 in w.
fn missing_channels(words: &mut [Word; 4], channels: usize) {
    for (c, word) in words.iter_mut().enumerate().skip(channels) {
        *word = Word {
            bits: if c == 3 { 1.0f32.to_bits() } else { 0 },
            ..Word::default()
        };
    }
}

fn atomic_result(op: Opcode, old: u32, b: u32, c: u32) -> u32 {
    match op {
        Opcode::Atomuadd => old.wrapping_add(b),
        Opcode::Atomfadd => (f32::from_bits(old) + f32::from_bits(b)).to_bits(),
        Opcode::Atomxchg => b,
        Opcode::Atomcas => {
            if old == b {
                c
            } else {
                old
            }
        }
        Opcode::Atomand => old & b,
        Opcode::Atomor => old | b,
        Opcode::Atomxor => old ^ b,
        Opcode::Atomumin => old.min(b),
        Opcode::Atomumax => old.max(b),
        Opcode::Atomimin => (old as i32).min(b as i32) as u32,
        Opcode::Atomimax => (old as i32).max(b as i32) as u32,
        Opcode::AtomincWrap => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Opcode::AtomdecWrap => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        _ => old,
    }
}

/// The contents of memory that the inputs do not give.
pub(crate) fn default_words(seed: u64, kind: RegionKind, index: i32, count: usize) -> Vec<u32> {
    let style = rng::hash(&[seed, kind as u64, index as u64]);
    let word = |i: usize| {
        let h = rng::mix(style.wrapping_add(i as u64));
        match (kind, h % 3) {
            (RegionKind::Counter, _) | (_, 0) => (h >> 8) as u32 % 16,
            _ => (((h >> 40) as f32 / (1u32 << 24) as f32) * 8.0 - 2.0).to_bits(),
        }
    };
    (0..count).map(word).collect()
}
