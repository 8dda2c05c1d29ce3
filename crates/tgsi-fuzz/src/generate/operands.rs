//! Operands: registers, swizzles, masks, immediates, addresses.

use tgsi::ImmType;

use super::{CONSTS, Gen, VERTICES};
use crate::choices::Choices;

/// What an operand is read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    Float,
    Int,
    /// A small unsigned number, of an immediate.
    Count,
    Wide,
}

const FLOATS: [u32; 16] = [
    0,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x4000_0000,
    0x8000_0000,
    0x4049_0fdb,
    0x3a83_126f,
    0x7f80_0000,
    0x7fc0_0000,
    1,
    0x4040_0000,
    0xc000_0000,
    0x4b80_0000,
    0xff80_0000,
    0x3e80_0000,
];
const INTS: [u32; 16] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    31,
    32,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0xffff_fffe,
    0xffff,
];
const DOUBLES: [u64; 10] = [
    0,
    0x3ff0_0000_0000_0000,
    0x4000_0000_0000_0000,
    0xbff8_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    1,
    0x3fe0_0000_0000_0000,
    0x4330_0000_0000_0000,
];

/// `.xz`; nothing for all four.
pub(super) fn mask_text(mask: u8) -> String {
    if mask & 0xf == 0xf {
        return String::new();
    }
    let letters = (0..4).filter(|c| mask >> c & 1 != 0);
    let letters: String = letters.filter_map(|c| "xyzw".chars().nth(c)).collect();
    format!(".{letters}")
}

/// The declaration of an immediate.
pub(super) fn immediate_text(at: usize, ty: ImmType, w: &[u32; 4]) -> String {
    match ty {
        ImmType::Flt32 => {
            format!(
                "IMM[{at}] FLT32 {{{:#x}, {:#x}, {:#x}, {:#x}}}",
                w[0], w[1], w[2], w[3]
            )
        }
        ImmType::Int32 => {
            let [a, b, c, d] = w.map(|w| w as i32);
            format!("IMM[{at}] INT32 {{{a}, {b}, {c}, {d}}}")
        }
        ImmType::Uint64 => {
            let pair = |i: usize| u64::from(w[i]) | u64::from(w[i + 1]) << 32;
            format!("IMM[{at}] UINT64 {{{}, {}}}", pair(0), pair(2))
        }
        _ => format!(
            "IMM[{at}] UINT32 {{{}, {}, {}, {}}}",
            w[0], w[1], w[2], w[3]
        ),
    }
}

fn palette(c: &mut Choices<'_>, of: As) -> (ImmType, [u32; 4]) {
    let mut four = |list: &[u32]| [0; 4].map(|_| list[c.below(list.len())]);
    match of {
        As::Float => (ImmType::Flt32, four(&FLOATS)),
        As::Int => {
            let words = four(&INTS);
            (
                if c.chance(30) {
                    ImmType::Int32
                } else {
                    ImmType::Uint32
                },
                words,
            )
        }
        As::Count => (ImmType::Uint32, four(&[0, 1, 2, 3])),
        As::Wide => {
            let (a, b) = (DOUBLES[c.below(10)], DOUBLES[c.below(10)]);
            let words = [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
            (
                if c.chance(40) {
                    ImmType::Uint64
                } else {
                    ImmType::Uint32
                },
                words,
            )
        }
    }
}

impl Gen<'_, '_> {
    /// The register and channel of an immediate that holds `word`.
    pub(super) fn constant(&mut self, word: u32) -> String {
        let found = self.imms.iter().enumerate().find_map(|(at, (ty, words))| {
            let c = words.iter().position(|w| *w == word)?;
            (*ty == ImmType::Uint32).then_some((at, c))
        });
        let (at, c) = found.unwrap_or_else(|| {
            self.imms
                .push((ImmType::Uint32, [word, word.wrapping_add(1), 0, 1]));
            (self.imms.len() - 1, 0)
        });
        let letter = ["x", "y", "z", "w"][c];
        format!("IMM[{at}].{}", letter.repeat(4))
    }

    fn immediate(&mut self, of: As) -> String {
        let reuse = self.c.chance(55) && of != As::Count;
        if reuse && !self.imms.is_empty() {
            return format!("IMM[{}]", self.c.below(self.imms.len()));
        }
        let new = palette(self.c, of);
        let at = self.imms.iter().position(|i| *i == new);
        let at = at.unwrap_or_else(|| {
            self.imms.push(new);
            self.imms.len() - 1
        });
        format!("IMM[{at}]")
    }

    /// An address register channel that holds 0, 1, 2 or 3.
    pub(super) fn address(&mut self, limit: usize) -> String {
        let reg = format!(
            "ADDR[{}].{}",
            self.c.below(2),
            self.c.name(&["x", "y", "z", "w"])
        );
        let t = self.c.below(self.temps);
        if self.c.chance(25) {
            let (source, zero) = (self.register(As::Float), self.constant(0));
            let top = self.constant((limit.saturating_sub(1) as f32).to_bits());
            let source = format!("{source}.{}", ["xxxx", "yyyy", "wwww"][self.c.below(3)]);
            self.line(format!("MAX TEMP[{t}].x, {source}, {zero}"));
            self.line(format!("MIN TEMP[{t}].x, TEMP[{t}].xxxx, {top}"));
            let op = self.c.name(&["ARL", "ARR"]);
            self.line(format!("{op} {reg}, TEMP[{t}].xxxx"));
            return reg;
        }
        let source = self.source(As::Int);
        if limit.is_power_of_two() {
            let mask = self.constant(limit as u32 - 1);
            self.line(format!("AND TEMP[{t}].x, {source}, {mask}"));
        } else {
            let top = self.constant(limit as u32);
            self.line(format!("UMOD TEMP[{t}].x, {source}, {top}"));
        }
        self.line(format!("UARL {reg}, TEMP[{t}].xxxx"));
        reg
    }

    fn input(&mut self) -> String {
        let i = self.c.below(self.inputs);
        if !self.has_vertices() {
            return format!("IN[{i}]");
        }
        if self.c.chance(20) {
            let addr = self.address(2);
            return format!("IN[{addr}{}][{i}]", self.c.name(&["", "+1"]));
        }
        format!("IN[{}][{i}]", self.c.below(VERTICES))
    }

    /// A constant register, sometimes by an address.
    fn uniform_register(&mut self) -> String {
        let buffer = self.c.weighted(&[75, 25]);
        if self.c.chance(15) {
            let addr = self.address(4);
            let base = self.c.below(CONSTS[buffer] - 3);
            return format!("CONST[{buffer}][{addr}+{base}]");
        }
        let at = self.c.below(CONSTS[buffer]);
        if buffer == 0 && self.c.chance(50) {
            format!("CONST[{at}]")
        } else {
            format!("CONST[{buffer}][{at}]")
        }
    }

    /// Where a temporary that begins its life comes from.
    pub(super) fn initial_source(&mut self) -> String {
        let sort = if self.inputs > 0 {
            self.c.weighted(&[50, 35, 15])
        } else {
            1 + self.c.weighted(&[70, 30])
        };
        let reg = match sort {
            0 => format!(
                "IN{}[{}]",
                if self.has_vertices() { "[1]" } else { "" },
                self.c.below(self.inputs)
            ),
            1 => format!("CONST[{}]", self.c.below(CONSTS[0])),
            _ => self.immediate(As::Int),
        };
        let swizzle = self.swizzle();
        format!("{reg}{swizzle}")
    }

    /// An element of a TEMP array.
    pub(super) fn element(&mut self) -> Option<String> {
        let at = self.c.below(self.arrays.len());
        let array = *self.arrays.get(at)?;
        if self.c.chance(35) {
            return Some(format!(
                "TEMP[{}]({})",
                array.first + self.c.below(array.len),
                at + 1
            ));
        }
        let addr = self.address(4);
        let base = array.first + self.c.below(array.len - 3);
        Some(format!("TEMP[{addr}+{base}]({})", at + 1))
    }

    fn register(&mut self, of: As) -> String {
        if of == As::Count {
            return self.immediate(of);
        }
        let input = if self.inputs > 0 { 14 } else { 0 };
        let array = if self.arrays.is_empty() { 0 } else { 8 };
        let counter = if self.loop_depth > 0 { 8 } else { 0 };
        match self.c.weighted(&[48, input, 12, 14, array, counter, 4]) {
            1 => self.input(),
            2 => self.uniform_register(),
            3 => self.immediate(of),
            4 => self.element().unwrap_or_else(|| "TEMP[0]".into()),
            5 => format!("TEMP[{}]", self.counters + self.c.below(self.loop_depth)),
            6 => format!("SV[{}]", self.c.below(self.system_values().len())),
            _ => format!("TEMP[{}]", self.c.below(self.temps)),
        }
    }

    pub(super) fn swizzle(&mut self) -> String {
        let letters = ["x", "y", "z", "w"];
        match self.c.weighted(&[40, 25, 35]) {
            0 => String::new(),
            1 => format!(".{}", letters[self.c.below(4)].repeat(4)),
            _ => {
                let four: String = (0..4).map(|_| letters[self.c.below(4)]).collect();
                format!(".{four}")
            }
        }
    }

    /// A source operand without modifiers.
    pub(super) fn source(&mut self, of: As) -> String {
        let reg = self.register(of);
        let swizzle = match of {
            As::Wide if self.c.chance(93) => {
                self.c.name(&["", ".zwxy", ".xyxy", ".zwzw"]).to_owned()
            }
            _ => self.swizzle(),
        };
        format!("{reg}{swizzle}")
    }

    /// A source operand, with modifiers where they are well defined.
    pub(super) fn operand(&mut self, of: As) -> String {
        let s = self.source(of);
        if of != As::Float {
            return if of == As::Int && self.c.chance(3) {
                format!("-{s}")
            } else {
                s
            };
        }
        match self.c.weighted(&[72, 14, 8, 6]) {
            1 => format!("-{s}"),
            2 => format!("|{s}|"),
            3 => format!("-|{s}|"),
            _ => s,
        }
    }

    /// A single channel, the same for every lane if `uniform`.
    pub(super) fn scalar(&mut self, of: As, uniform: bool) -> String {
        let reg = if uniform {
            format!("CONST[{}]", self.c.below(CONSTS[0]))
        } else {
            self.register(of)
        };
        format!("{reg}.{}", self.c.name(&["xxxx", "yyyy", "zzzz", "wwww"]))
    }

    pub(super) fn mask(&mut self) -> u8 {
        match self.c.weighted(&[40, 20, 40]) {
            0 => 0xf,
            1 => 1 << self.c.below(4),
            _ => self.c.range(1, 15) as u8,
        }
    }

    /// A destination: mostly a temporary.
    pub(super) fn destination(&mut self, wide: bool) -> String {
        let mask = if wide && self.c.chance(93) {
            [3, 12, 15][self.c.below(3)]
        } else {
            self.mask()
        };
        let array = if self.arrays.is_empty() { 0 } else { 9 };
        let out = if self.outputs.is_empty() { 0 } else { 9 };
        match self.c.weighted(&[80, array, out]) {
            1 => match self.element() {
                Some(reg) => format!("{reg}{}", mask_text(mask)),
                None => format!("TEMP[0]{}", mask_text(mask)),
            },
            2 => {
                let at = self.c.below(self.outputs.len());
                // A 64-bit result writes pairs, which an output must have.
                let at = if wide && self.outputs[at].mask != 0xf {
                    0
                } else {
                    at
                };
                self.output(at, mask)
            }
            _ => format!("TEMP[{}]{}", self.c.below(self.temps), mask_text(mask)),
        }
    }

    /// An output with as much of the mask as is declared.
    pub(super) fn output(&mut self, at: usize, mask: u8) -> String {
        let out = self.outputs[at.min(self.outputs.len() - 1)];
        let mask = if mask & out.mask == 0 {
            out.mask
        } else {
            mask & out.mask
        };
        if out.per_vertex {
            let addr = format!("ADDR[1].{}", self.c.name(&["x", "w"]));
            self.line(format!("UARL {addr}, SV[0].xxxx"));
            return format!("OUT[{addr}][{at}]{}", mask_text(mask));
        }
        format!("OUT[{at}]{}", mask_text(mask))
    }
}
