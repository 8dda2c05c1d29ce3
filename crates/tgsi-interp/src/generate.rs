//! Seeded inputs for everything a program declares.

use rustc_hash::FxHashMap;
use tgsi::{Decl, File, Item, Program, Register, Stage, Ty};

use crate::code::{input_vertices, property_number};
use crate::eval::Vec4;
use crate::inputs::{CaseStyle, Inputs};
use crate::rng::{self, Rng};

/// What a channel of an input is read as, as far as it can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    integer: bool,
    float: bool,
    double: bool,
}

/// A channel: file, constant buffer (0 in other files), register, channel.
type Channel = (File, i32, i32, u8);

/// The register number that stands for whatever an address register reaches.
const ANY: i32 = i32::MAX;

fn buffer(file: File, dim: Option<i32>) -> i32 {
    if file == File::Const {
        dim.unwrap_or(0)
    } else {
        0
    }
}

fn channel(reg: &Register, c: u8) -> Channel {
    let dim = reg.dim.map(|d| if d.addr.is_some() { ANY } else { d.base });
    let index = if reg.index.addr.is_some() {
        ANY
    } else {
        reg.index.base
    };
    (reg.file, buffer(reg.file, dim), index, c)
}

/// How channels are read, followed through moves and selections.
struct Reading {
    parent: FxHashMap<Channel, Channel>,
    seen: FxHashMap<Channel, Seen>,
}

impl Reading {
    fn new(program: &Program) -> Reading {
        let mut reading = Reading {
            parent: FxHashMap::default(),
            seen: FxHashMap::default(),
        };
        for inst in &program.insts {
            reading.visit(inst);
        }
        reading
    }

    fn root(&self, c: Channel) -> Channel {
        let mut at = c;
        while let Some(up) = self.parent.get(&at) {
            if *up == at {
                break;
            }
            at = *up;
        }
        at
    }

    /// The root, after pulling everything on the way up to it.
    fn settle(&mut self, c: Channel) -> Channel {
        let root = self.root(c);
        let mut at = c;
        while at != root {
            at = self.parent.insert(at, root).unwrap_or(root);
        }
        root
    }

    fn join(&mut self, a: Channel, b: Channel) {
        let (a, b) = (self.settle(a), self.settle(b));
        if a != b {
            let seen = self.seen.get(&a).copied().unwrap_or_default();
            self.mark(b, seen);
            self.parent.insert(a, b);
        }
    }

    fn mark(&mut self, c: Channel, seen: Seen) {
        let root = self.settle(c);
        let slot = self.seen.entry(root).or_default();
        slot.integer |= seen.integer;
        slot.float |= seen.float;
        slot.double |= seen.double;
    }

    /// What a channel is read as: by its own name, else by an address register.
    fn of(&self, c: Channel) -> Seen {
        let seen = |c: Channel| self.seen.get(&self.root(c)).copied().unwrap_or_default();
        let own = seen(c);
        if own == Seen::default() {
            seen((c.0, c.1, ANY, c.3))
        } else {
            own
        }
    }

    fn visit(&mut self, inst: &tgsi::Inst) {
        let info = inst.op.info();
        let mask = tgsi::usage::dst_mask(inst);
        for (i, src) in inst.srcs.iter().enumerate() {
            let ty = info.src_ty.get(i).copied().unwrap_or(Ty::Any);
            let used = tgsi::usage::src_mask(inst, i, mask);
            for c in (0..4u8).filter(|c| used >> c & 1 != 0) {
                let from = channel(&src.reg, src.swizzle[c as usize] & 3);
                match ty {
                    Ty::F => self.mark(
                        from,
                        Seen {
                            float: true,
                            ..Seen::default()
                        },
                    ),
                    Ty::I | Ty::U | Ty::I64 | Ty::U64 => {
                        self.mark(
                            from,
                            Seen {
                                integer: true,
                                ..Seen::default()
                            },
                        );
                    }
                    Ty::D => self.mark(
                        from,
                        Seen {
                            double: true,
                            ..Seen::default()
                        },
                    ),
                    Ty::Any => {
                        if let Some(dst) = inst.dsts.first().filter(|d| d.reg.file == File::Temp) {
                            self.join(from, channel(&dst.reg, c));
                        }
                    }
                }
            }
            for a in [src.reg.index.addr, src.reg.dim.and_then(|d| d.addr)]
                .into_iter()
                .flatten()
            {
                self.mark(
                    (a.file, 0, a.index, a.comp),
                    Seen {
                        integer: true,
                        ..Seen::default()
                    },
                );
            }
        }
    }
}

pub(crate) fn inputs(program: &Program, seed: u64, style: CaseStyle) -> Inputs {
    let mut inputs = Inputs::default();
    inputs.seed = seed;
    let mut rng = Rng::new(seed);
    let palette = rng.below(PALETTES.len() as u32) as usize;
    let ranges = [
        Range::Mixed,
        Range::Mixed,
        Range::Few,
        Range::Unit,
        Range::Small,
        Range::Moderate,
    ];
    let range = rng.pick(&ranges).unwrap_or(Range::Mixed);
    let int_limit = rng.pick(&[2, 3, 8, 8]).unwrap_or(8);
    let mut g = Generator {
        rng,
        range,
        int_limit,
        own_ints: immediates(program, |w| w < 4096),
        own_floats: immediates(program, |w| {
            (0x3800_0000..0x4800_0000).contains(&(w & 0x7fff_ffff))
        }),
        palette,
        style,
        reading: Reading::new(program),
    };
    let vertices = input_vertices(program) as i32;
    // More registers than any program declares; the rest read 0.
    let mut room = 1 << 17;
    for item in &program.header {
        let Item::Decl(d) = item else {
            continue;
        };
        match d.file {
            File::In | File::Sv | File::Const => {}
            _ => continue,
        }
        let rows: Vec<Option<i32>> = match (d.file, d.dim) {
            (_, None) => vec![None],
            (File::Const, Some(row)) => vec![Some(row.unwrap_or(0))],
            _ => (0..vertices).map(Some).collect(),
        };
        for row in rows {
            for index in d.first..=d.last.min(d.first.saturating_add(4096)) {
                room -= 1;
                if room <= 0 {
                    return inputs;
                }
                if let Some(lanes) = g.register(program, d, row, index, vertices) {
                    for (lane, words) in lanes.into_iter().enumerate() {
                        inputs.set_lane(d.file, row, index, lane, words);
                    }
                }
            }
        }
    }
    inputs
}

/// Special words by what goes wrong with them.
const PALETTES: [&[u32]; 6] = [
    // Signed zeros and ones.
    &[0, 0x8000_0000, 0x3f80_0000, 0xbf80_0000],
    // Infinities, NaN (quiet, negative with a payload, signalling), zeros.
    &[
        0,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc0_1234,
        0x7f80_0001,
        0x3f80_0000,
    ],
    // Denormals and the smallest and largest numbers.
    &[
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x3f00_0000,
        0x4000_0000,
    ],
    // Integers at the edges, shift counts.
    &[0, 1, 2, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff],
    // Floats where integers end, halves for rounding.
    &[
        0x4f00_0000,
        0xcf00_0000,
        0x4f80_0000,
        0x4b80_0000,
        0x3f00_0000,
        0xbf00_0000,
        0x3fc0_0000,
        0x4020_0000,
    ],
    &[
        0,
        0x8000_0000,
        0x7f80_0000,
        0x7fc0_0000,
        1,
        0x7f7f_ffff,
        0x7fff_ffff,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        31,
    ],
];

fn immediates(program: &Program, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let words = program.header.iter().filter_map(|i| match i {
        Item::Imm(imm) => Some(imm.words),
        _ => None,
    });
    let mut words: Vec<u32> = words.flatten().filter(|w| wanted(*w)).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Where the floats of a case lie. One range for all of them reaches branches that a
/// mixture seldom reaches: lengths below one, equal numbers, colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    Mixed,
    Few,
    Unit,
    Small,
    Moderate,
    Wide,
}

const RANGES: [Range; 8] = [
    Range::Few,
    Range::Few,
    Range::Unit,
    Range::Unit,
    Range::Unit,
    Range::Moderate,
    Range::Moderate,
    Range::Wide,
];

struct Generator {
    rng: Rng,
    range: Range,
    /// Small integers are below this.
    int_limit: u32,
    /// Integers and floats among the program's immediates: what it compares its inputs with.
    own_ints: Vec<u32>,
    own_floats: Vec<u32>,
    /// Number of the special words of this case.
    palette: usize,
    style: CaseStyle,
    reading: Reading,
}

impl Generator {
    /// The four lanes of a register; `None` leaves it to the machine.
    fn register(
        &mut self,
        program: &Program,
        d: &Decl,
        row: Option<i32>,
        index: i32,
        vertices: i32,
    ) -> Option<[Vec4; 4]> {
        let semantic = d.semantic.as_ref().map_or("", |s| s.name.as_str());
        if let Some(special) = self.semantic(program, d.file, semantic, vertices) {
            return special;
        }
        let seen: [Seen; 4] = std::array::from_fn(|c| {
            self.reading
                .of((d.file, buffer(d.file, row), index, c as u8))
        });
        if d.file == File::Const {
            return Some([self.vector(seen); 4]);
        }
        if program.stage != Stage::Frag {
            return Some(std::array::from_fn(|_| self.vector(seen)));
        }
        let flat = d.interp.as_deref() == Some("CONSTANT");
        let base = self.vector(seen);
        if flat {
            return Some([base; 4]);
        }
        if self.style == CaseStyle::Special && self.rng.below(2) == 0 {
            return Some(std::array::from_fn(|_| self.vector(seen)));
        }
        Some(self.planar(base))
    }

    /// A value that changes linearly over the quad.
    fn planar(&mut self, base: Vec4) -> [Vec4; 4] {
        let slope = |g: &mut Self| [0; 4].map(|_: u32| (g.rng.unit() - 0.5) * 0.02);
        let (dx, dy) = (slope(self), slope(self));
        std::array::from_fn(|lane| {
            std::array::from_fn(|c| {
                let x = f32::from_bits(base[c]);
                if !x.is_finite() || x.abs() < 1e-6 {
                    return base[c];
                }
                let right = (lane & 1) as f32;
                let down = (lane >> 1) as f32;
                (x + dx[c] * right + dy[c] * down).to_bits()
            })
        })
    }

    /// Inputs with a meaning of their own. `Some(None)`: the machine sets them.
    #[allow(clippy::option_option, reason = "two different absences")]
    fn semantic(
        &mut self,
        program: &Program,
        file: File,
        name: &str,
        vertices: i32,
    ) -> Option<Option<[Vec4; 4]>> {
        let int = |x: u32| Some(Some([[x; 4]; 4]));
        match (file, name) {
            (File::Sv, "THREAD_ID") => Some(None),
            (File::Sv, "INVOCATIONID") if program.stage == Stage::TessCtrl => Some(None),
            (File::Sv, "BLOCK_SIZE")
                if property_number(program, "CS_FIXED_BLOCK_WIDTH").is_some() =>
            {
                Some(None)
            }
            (File::Sv, "INVOCATIONID") => int(self
                .rng
                .below(property_number(program, "GS_INVOCATIONS").unwrap_or(1))),
            (File::Sv, "VERTICESIN") => int(vertices.max(1) as u32),
            (File::Sv, "GRID_SIZE" | "BLOCK_SIZE") => {
                let words: Vec4 = std::array::from_fn(|_| 1 + self.rng.below(4));
                Some(Some([words; 4]))
            }
            (File::Sv, "BLOCK_ID") => {
                let words: Vec4 = std::array::from_fn(|_| self.rng.below(4));
                Some(Some([words; 4]))
            }
            (_, "FACE") => {
                let x = if self.rng.below(2) == 0 { 1.0f32 } else { -1.0 };
                Some(Some([[x.to_bits(), 0, 0, 1.0f32.to_bits()]; 4]))
            }
            (
                _,
                "VERTEXID" | "INSTANCEID" | "PRIM_ID" | "SAMPLEID" | "LAYER" | "VIEWPORT_INDEX"
                | "VERTEXID_NOBASE" | "BASEVERTEX" | "BASEINSTANCE" | "DRAWID" | "SAMPLEMASK",
            ) => {
                let base = self.rng.below(8);
                let per_lane = matches!(name, "VERTEXID" | "INSTANCEID") as u32;
                Some(Some(std::array::from_fn(|l| {
                    [base + l as u32 * per_lane; 4]
                })))
            }
            (_, "TESSCOORD" | "SAMPLEPOS" | "TESSOUTER" | "TESSINNER") => {
                let word = |g: &mut Self| std::array::from_fn(|_| g.rng.unit().to_bits());
                Some(Some(std::array::from_fn(|_| word(self))))
            }
            (_, "POSITION") if program.stage == Stage::Frag => {
                let (x, y) = (self.rng.below(300), self.rng.below(300));
                let (z, w) = (self.rng.unit(), 0.5 + self.rng.unit());
                Some(Some(std::array::from_fn(|l| {
                    let (dx, dy) = ((l & 1) as f32, (l >> 1) as f32);
                    [2.0 * x as f32 + 0.5 + dx, 2.0 * y as f32 + 0.5 + dy, z, w].map(f32::to_bits)
                })))
            }
            _ => None,
        }
    }

    fn vector(&mut self, seen: [Seen; 4]) -> Vec4 {
        let mut words: Vec4 = std::array::from_fn(|c| self.word(seen[c]));
        for half in [0usize, 2] {
            if seen[half].double || seen[half + 1].double {
                let x = self.double();
                words[half] = x as u32;
                words[half + 1] = (x >> 32) as u32;
            }
        }
        words
    }

    fn word(&mut self, seen: Seen) -> u32 {
        let integer = match (seen.integer, seen.float) {
            (true, false) => true,
            (false, true) => self.rng.below(40) == 0,
            (true, true) => self.rng.below(3) == 0,
            (false, false) => self.rng.below(4) == 0,
        };
        match self.style {
            CaseStyle::Special if self.rng.below(3) != 0 => self.special(),
            CaseStyle::SmallInts if !seen.float => self.small_int(),
            _ if integer => self.small_int(),
            _ => self.ordinary(),
        }
    }

    /// A small integer: of this case's few, mostly, so that equal ones meet and loops end.
    fn small_int(&mut self) -> u32 {
        if self.rng.below(4) == 0
            && let Some(word) = self.rng.pick(&self.own_ints)
        {
            return word;
        }
        match self.rng.below(24) {
            0 => u32::MAX,
            1 => self.rng.below(64),
            2 => self.rng.below(100_000),
            _ => self.rng.below(self.int_limit),
        }
    }

    /// A float of this case's range.
    fn ordinary(&mut self) -> u32 {
        if self.rng.below(12) == 0
            && let Some(word) = self.rng.pick(&self.own_floats)
        {
            return word;
        }
        let range = match self.range {
            Range::Mixed => self.rng.pick(&RANGES).unwrap_or(Range::Unit),
            range => range,
        };
        let x = match range {
            Range::Few => self.rng.below(4) as f32 - 1.0,
            Range::Unit => self.rng.unit(),
            Range::Small => self.rng.unit() - 0.5,
            Range::Moderate => (self.rng.unit() - 0.5) * 4.0,
            Range::Mixed | Range::Wide => (self.rng.unit() - 0.5) * 100.0,
        };
        x.to_bits()
    }

    /// A special word from the case's palette: few at a time, so that they meet each other.
    fn special(&mut self) -> u32 {
        let palette = PALETTES[self.palette % PALETTES.len()];
        self.rng.pick(palette).unwrap_or(0)
    }

    fn double(&mut self) -> u64 {
        if self.style == CaseStyle::Special && self.rng.below(2) == 0 {
            const WORDS: [f64; 9] = [
                0.0,
                -0.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                f64::MAX,
                f64::MIN_POSITIVE,
                1.0,
                -1.0,
            ];
            return self.rng.pick(&WORDS).unwrap_or(0.0).to_bits();
        }
        let fine = (rng::mix(self.rng.next()) >> 12) as f64 / (1u64 << 52) as f64;
        match self.rng.below(6) {
            0 => f64::from(self.rng.below(9)) - 4.0,
            1 => (fine - 0.5) * 1e4,
            _ => (fine - 0.5) * 8.0,
        }
        .to_bits()
    }
}
