//! Four lanes: their registers, and the instructions that look across them.

use tgsi::{File, Opcode, Stage};

use crate::code::{Decoded, IndexRef, Indirect, Loc, Made, Negate, SrcRef};
use crate::eval::Vec4;
use crate::exec::Machine;
use crate::flow::Flow;
use crate::outcome::{Emitted, Word};
use crate::rng;

/// A register in four lanes. `made` has, for each lane, bits 0 to 3 for channels made by
/// a 32-bit float operation and bits 4 to 7 for those made by a 64-bit one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reg {
    pub(crate) words: [Vec4; 4],
    pub(crate) made: [u8; 4],
    /// The channels of each lane that something wrote.
    pub(crate) written: [u8; 4],
}

impl Reg {
    pub(crate) fn word(&self, lane: usize, chan: usize) -> Word {
        Word {
            bits: self.words[lane][chan],
            float: self.made[lane] >> chan & 1 != 0,
            double: self.made[lane] >> (chan + 4) & 1 != 0,
            unset: self.written[lane] >> chan & 1 == 0,
        }
    }

    pub(crate) fn lane(&self, lane: usize) -> [Word; 4] {
        std::array::from_fn(|c| self.word(lane, c))
    }
}

/// A value fetched: words, and how each was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) words: Vec4,
    pub(crate) made: u8,
}

/// A register in one lane: words, how each was made, and which were written.
struct LaneReg {
    words: Vec4,
    made: u8,
    written: u8,
}

/// Four lanes running together.
#[derive(Clone, Debug)]
pub(crate) struct Quad {
    pub(crate) regs: Vec<Reg>,
    pub(crate) flow: Flow,
    /// Lanes that exist.
    pub(crate) launched: u8,
    pub(crate) killed: u8,
    pub(crate) steps: u64,
    pub(crate) address_stack: [Vec<Vec4>; 4],
    pub(crate) emitted: [Vec<Emitted<Word>>; 4],
    /// Number of the first lane in its group.
    pub(crate) first_lane: u32,
}

/// Lanes of a mask, in order.
pub(crate) fn lanes(mask: u8) -> impl Iterator<Item = usize> {
    (0..4usize).filter(move |l| mask >> l & 1 != 0)
}

impl Quad {
    /// The number in a bracket.
    fn index(&self, m: &mut Machine, r: IndexRef, lane: usize) -> i32 {
        let Some(a) = r.addr else {
            return r.base;
        };
        let value = self.register(m, a.slot, lane);
        let word = value.words[a.comp as usize];
        m.flags.read_unset |= value.written >> a.comp & 1 == 0;
        let offset = if a.float {
            // As ARL converts it.
            crate::eval32::to_i32(f64::from(f32::from_bits(word).floor()))
        } else {
            word as i32
        };
        r.base.wrapping_add(offset)
    }

    /// The slot that an indirect operand names, if it is inside its array.
    fn resolve(&self, m: &mut Machine, r: &Indirect, lane: usize) -> Option<u32> {
        let index = self.index(m, r.index, lane);
        if !(r.first..=r.last).contains(&index) {
            return None;
        }
        let dim = r.dim.map(|d| self.index(m, d, lane));
        m.code.slot(r.file, dim, index)
    }

    /// The number of a resource operand: outer bracket and inner.
    pub(crate) fn resource(
        &self,
        m: &mut Machine,
        src: &Loc,
        lane: usize,
    ) -> Option<(File, Option<i32>, i32)> {
        let Loc::Resource(r) = src else {
            return None;
        };
        let dim = r.dim.map(|d| self.index(m, d, lane));
        Some((r.file, dim, self.index(m, r.index, lane)))
    }

    /// A register in one lane.
    fn register(&self, m: &Machine, slot: u32, lane: usize) -> LaneReg {
        if let Some(words) = m.uniform.get(slot as usize) {
            return LaneReg {
                words: *words,
                made: 0,
                written: 0xf,
            };
        }
        let (reg, lane) = if m.code.shared.contains(&slot) {
            (&m.shared[(slot - m.code.shared.start) as usize], 0)
        } else {
            (&self.regs[(slot - m.code.uniform) as usize], lane)
        };
        LaneReg {
            words: reg.words[lane],
            made: reg.made[lane],
            written: reg.written[lane],
        }
    }

    /// A source's words before the modifiers.
    fn fetch_raw(&self, m: &mut Machine, src: &SrcRef, lane: usize) -> Fetched {
        let slot = match &src.loc {
            Loc::Slot(slot) => Some(*slot),
            Loc::Indirect(r) => {
                let slot = self.resolve(m, r, lane);
                // A constant outside of its buffer reads 0, any other register an unknown word.
                if slot.is_none() && r.file != File::Const {
                    m.flags.out_of_array = true;
                    m.flags.read_unset = true;
                    let place = rng::hash(&[self.steps, lane as u64]);
                    let words = std::array::from_fn(|c| rng::fill_word(m.fill, place + c as u64));
                    return Fetched { words, made: 0 };
                }
                slot
            }
            Loc::None | Loc::Resource(_) => None,
        };
        let Some(slot) = slot else {
            return Fetched::default();
        };
        let reg = self.register(m, slot, lane);
        let swizzle = src.swizzle.map(usize::from);
        let mut made = 0;
        let mut written = 0;
        for (c, from) in swizzle.into_iter().enumerate() {
            made |= (reg.made >> from & 0x11) << c;
            written |= (reg.written >> from & 1) << c;
        }
        m.flags.read_unset |= src.used & !written != 0;
        let words = swizzle.map(|c| reg.words[c]);
        Fetched { words, made }
    }

    /// A source's words.
    pub(crate) fn fetch(&self, m: &mut Machine, src: &SrcRef, lane: usize) -> Fetched {
        let mut value = self.fetch_raw(m, src, lane);
        if src.abs {
            value.words = value.words.map(|x| x & 0x7fff_ffff);
        }
        match src.negate {
            Negate::No => {}
            Negate::Float => value.words = value.words.map(|x| x ^ 0x8000_0000),
            Negate::Int => value.words = value.words.map(u32::wrapping_neg),
        }
        value
    }

    /// The words of source `i` in one lane, 0 if there is no such source.
    pub(crate) fn src(&self, m: &mut Machine, inst: &Decoded, i: usize, lane: usize) -> Vec4 {
        inst.srcs
            .get(i)
            .map_or([0; 4], |s| self.fetch(m, s, lane).words)
    }

    /// Writes the channels `mask` of destination `i`.
    pub(crate) fn store(
        &mut self,
        m: &mut Machine,
        inst: &Decoded,
        i: usize,
        lane: usize,
        mask: u8,
        value: Fetched,
    ) {
        let slot = match inst.dsts.get(i).map(|d| &d.loc) {
            Some(Loc::Slot(slot)) => *slot,
            Some(Loc::Indirect(r)) => match self.resolve(m, r, lane) {
                Some(slot) => slot,
                None => {
                    m.flags.out_of_array = true;
                    m.flags.wrote_out_of_array = true;
                    return;
                }
            },
            _ => return,
        };
        let (reg, lane) = if m.code.shared.contains(&slot) {
            (&mut m.shared[(slot - m.code.shared.start) as usize], 0)
        } else {
            let Some(at) = slot.checked_sub(m.code.uniform) else {
                return;
            };
            (&mut self.regs[at as usize], lane)
        };
        for c in lanes(mask) {
            reg.words[lane][c] = value.words[c];
        }
        let both = mask | mask << 4;
        reg.made[lane] = reg.made[lane] & !both | value.made & both;
        reg.written[lane] |= mask;
    }

    /// Writes a result after saturation.
    pub(crate) fn finish(
        &mut self,
        m: &mut Machine,
        inst: &Decoded,
        lane: usize,
        mut value: Fetched,
    ) {
        if inst.sat {
            saturate(inst, &mut value);
        }
        self.store(m, inst, 0, lane, inst.written, value);
    }

    /// Executes an instruction that computes from its operands alone.
    pub(crate) fn value(&mut self, m: &mut Machine, inst: &Decoded) {
        let mut srcs = [Fetched::default(); 5];
        let count = inst.srcs.len().min(5);
        let mask = inst.dsts.first().map_or(0, |d| d.mask);
        for lane in lanes(self.flow.exec) {
            for (slot, src) in srcs.iter_mut().zip(&inst.srcs) {
                *slot = self.fetch(m, src, lane);
            }
            let words = srcs.map(|s| s.words);
            let Some(mut result) = crate::eval_op(inst.op, &words[..count], mask, m.rules) else {
                m.flags.malformed = true;
                continue;
            };
            if inst.op == Opcode::Xpd && !m.rules.first_era {
                m.flags.read_unset |= mask & 8 != 0;
                result[3] = rng::fill_word(m.fill, rng::hash(&[0x0078_7064, lane as u64]));
            }
            Self::free_nans(m, inst, self.flow.pc, &words[..count], &mut result);
            let made = if inst.made == Made::Bits {
                made_of_bits(&srcs, &result)
            } else {
                made(inst, &srcs)
            };
            self.finish(
                m,
                inst,
                lane,
                Fetched {
                    words: result,
                    made,
                },
            );
        }
    }

    /// A float operation that gives NaN gives any NaN: it is one of the words that the fill decides.
    /// Copies and selections pass the NaN on that they get. From fill 3 on each channel of each
    /// instruction has a NaN of its own: the bits of two must not seem to agree.
    fn free_nans(m: &mut Machine, inst: &Decoded, pc: u32, operands: &[Vec4], words: &mut Vec4) {
        let wide = match inst.made {
            Made::Float => false,
            Made::Double => true,
            _ => return,
        };
        let copies = matches!(
            inst.op,
            Opcode::Mov | Opcode::Swz | Opcode::ReadFirst | Opcode::ReadInvoc
        );
        if m.fill == 0 || copies {
            return;
        }
        let fill = m.fill;
        let componentwise = inst.op.info().shape == tgsi::Shape::Comp && !wide;
        let any = |chan: usize, word: u32| {
            if fill < 3 {
                return rng::hash(&[0x006e_616e, fill]) as u32 & 0x803f_ffff;
            }
            // The first or the last operand that is a NaN handed on everywhere, with its sign or the
            // other one: what meets it again must not depend on chance.
            if fill < 7 {
                let channels = if componentwise { chan..chan + 1 } else { 0..4 };
                let mut nans = operands
                    .iter()
                    .flat_map(|o| &o[channels.clone()])
                    .filter(|o| f32::from_bits(**o).is_nan());
                let nan = if fill % 2 == 1 {
                    nans.next()
                } else {
                    nans.next_back()
                };
                return nan.copied().unwrap_or(word) ^ if fill < 5 { 0 } else { 0x8000_0000 };
            }
            if fill >= rng::UNIFORM {
                return (fill - rng::UNIFORM) as u32;
            }
            let h = rng::hash(&[0x006e_616e, fill, u64::from(pc), chan as u64]);
            // All ones and no payload are words that integer operations treat apart. A machine
            // may also pass an operand on, with either sign, and equal that operand.
            match h >> 61 {
                0 => u32::MAX,
                1 => 0x7fff_ffff,
                2 => 0x8000_0000,
                3 => 0,
                4 => word,
                5 => word ^ 0x8000_0000,
                _ => h as u32,
            }
        };
        if wide {
            for half in [0, 2] {
                let pair = u64::from(words[half]) | u64::from(words[half + 1]) << 32;
                if f64::from_bits(pair).is_nan() {
                    words[half + 1] = any(half + 1, words[half + 1]) | 0x7ff8_0000;
                    words[half] = any(half, words[half]);
                    m.flags.free_nan = true;
                }
            }
            return;
        }
        for (chan, word) in words.iter_mut().enumerate() {
            if f32::from_bits(*word).is_nan() {
                *word = any(chan, *word) | 0x7fc0_0000;
                m.flags.free_nan = true;
            }
        }
    }

    /// Whether derivatives exist here: in a fragment quad that runs whole.
    pub(crate) fn has_derivatives(&self, m: &Machine) -> bool {
        m.code.stage == Stage::Frag && self.flow.exec == 0xf
    }

    /// Executes an instruction that reads other lanes or state.
    pub(crate) fn across(&mut self, m: &mut Machine, inst: &Decoded) {
        let exec = self.flow.exec;
        let operand = |q: &Quad, m: &mut Machine, i: usize| -> [Fetched; 4] {
            std::array::from_fn(|l| {
                inst.srcs
                    .get(i)
                    .map_or(Fetched::default(), |s| q.fetch(m, s, l))
            })
        };
        let a = operand(self, m, 0);
        let b = operand(self, m, 1);
        let whole = self.has_derivatives(m);
        let active = |test: &dyn Fn(usize) -> bool| lanes(exec).filter(|l| test(*l)).count();
        let ones = |x: bool| if x { u32::MAX } else { 0 };
        for lane in lanes(exec) {
            let mut value = Fetched {
                words: [0; 4],
                made: made(inst, &[a[lane], b[lane]]),
            };
            match inst.op {
                Opcode::Ddx | Opcode::Ddy | Opcode::DdxFine | Opcode::DdyFine => {
                    value.words = derivative(inst.op, &a.map(|v| v.words), lane, whole);
                }
                Opcode::ReadFirst => {
                    let first = exec.trailing_zeros() as usize;
                    value = Fetched {
                        made: made(inst, &[a[first]]),
                        ..a[first]
                    };
                }
                Opcode::ReadInvoc => {
                    let from = b[lane].words[0] as usize & 3;
                    value = Fetched {
                        made: made(inst, &[a[from]]),
                        ..a[from]
                    };
                }
                Opcode::VoteAny => {
                    value.words =
                        std::array::from_fn(|c| ones(active(&|l| a[l].words[c] != 0) > 0));
                }
                Opcode::VoteAll => {
                    value.words =
                        std::array::from_fn(|c| ones(active(&|l| a[l].words[c] == 0) == 0));
                }
                Opcode::VoteEq => {
                    let mine = a[lane].words;
                    value.words =
                        std::array::from_fn(|c| ones(active(&|l| a[l].words[c] != mine[c]) == 0));
                }
                Opcode::Ballot => {
                    let bits = lanes(exec)
                        .filter(|l| a[*l].words[0] != 0)
                        .fold(0, |b, l| b | 1 << l);
                    value.words = [bits << (self.first_lane % 32), 0, 0, 0];
                }
                Opcode::InterpCentroid | Opcode::InterpSample | Opcode::InterpOffset => {
                    value.words = interpolate(inst.op, &a.map(|v| v.words), b[lane].words, lane);
                }
                Opcode::Fbfetch => value.words = self.framebuffer(m, inst, lane),
                Opcode::Clock => {
                    m.clock += 1;
                    m.flags.read_unset = true;
                    let place = rng::hash(&[0x0063_6c6b, m.clock]);
                    value.words = std::array::from_fn(|c| rng::fill_word(m.fill, place + c as u64));
                }
                Opcode::ReadHelper => value.words = [ones(self.killed >> lane & 1 != 0); 4],
                Opcode::Img2hnd | Opcode::Samp2hnd => {
                    let number = inst
                        .srcs
                        .first()
                        .and_then(|s| self.resource(m, &s.loc, lane));
                    value.words = [number.map_or(0, |n| n.2 as u32), 0, 0, 0];
                }
                Opcode::Ara => value.words = self.add_address(m, inst, lane, a[lane].words),
                Opcode::Dfracexp => {
                    self.dfracexp(m, inst, lane, a[lane].words);
                    continue;
                }
                _ => {}
            }
            self.finish(m, inst, lane, value);
        }
    }

    /// `d + a` for an address register, which the instruction reads.
    fn add_address(&self, m: &mut Machine, inst: &Decoded, lane: usize, a: Vec4) -> Vec4 {
        let Some(dst) = inst.dsts.first() else {
            return a;
        };
        let old = SrcRef {
            loc: dst.loc.clone(),
            file: dst.file,
            swizzle: tgsi::XYZW,
            used: inst.written,
            abs: false,
            negate: Negate::No,
        };
        let old = self.fetch(m, &old, lane).words;
        std::array::from_fn(|c| old[c].wrapping_add(a[c]))
    }

    /// What the framebuffer holds for an output: floats in 0..1, by the inputs' seed.
    fn framebuffer(&self, m: &Machine, inst: &Decoded, lane: usize) -> Vec4 {
        let slot = match inst.srcs.first().map(|s| &s.loc) {
            Some(Loc::Slot(slot)) => *slot,
            _ => 0,
        };
        let out = m
            .code
            .named
            .iter()
            .find(|n| n.0 == File::Out && n.3 == slot)
            .map_or(0, |n| n.2);
        let h = rng::hash(&[m.inputs.seed, 0xfb, out as u64, lane as u64]);
        std::array::from_fn(|c| {
            ((rng::mix(h + c as u64) >> 40) as f32 / (1u32 << 24) as f32).to_bits()
        })
    }

    /// Significand to one destination, exponent to the other; the oldest text has them swapped.
    fn dfracexp(&mut self, m: &mut Machine, inst: &Decoded, lane: usize, a: Vec4) {
        let (wide, narrow) = if m.rules.first_era { (1, 0) } else { (0, 1) };
        let mask = inst.dsts.get(wide).map_or(0, |d| d.mask);
        let mut targets = inst.dsts.get(narrow).map_or(0, |d| d.mask);
        for half in 0..2usize {
            let pair = 3u8 << (2 * half);
            if mask & pair != pair {
                continue;
            }
            let x = u64::from(a[2 * half]) | u64::from(a[2 * half + 1]) << 32;
            let (significand, exponent) = crate::eval64::frexp(f64::from_bits(x));
            let mut words = [0; 4];
            words[2 * half] = significand.to_bits() as u32;
            words[2 * half + 1] = (significand.to_bits() >> 32) as u32;
            self.store(m, inst, wide, lane, pair, Fetched { words, made: 0xf0 });
            let channel = targets & targets.wrapping_neg();
            let value = Fetched {
                words: [exponent as u32; 4],
                made: 0,
            };
            self.store(m, inst, narrow, lane, channel, value);
            if targets != channel {
                targets &= !channel;
            }
        }
    }

    /// Snapshot of the outputs, or the end of a primitive.
    pub(crate) fn emit(&mut self, m: &mut Machine, inst: &Decoded) {
        for lane in lanes(self.flow.exec) {
            let stream = self.src(m, inst, 0, lane)[0];
            let made = self.emitted[lane]
                .iter()
                .filter(|e| e.words.is_some())
                .count();
            let words = if inst.op == Opcode::Emit {
                if made as u32 >= m.max_vertices {
                    continue;
                }
                let is_out = |n: &&crate::code::Named| n.0 == File::Out && n.1.is_none();
                let count = m.code.named.iter().filter(is_out).count() as u32;
                m.emit_budget = m.emit_budget.saturating_sub(count);
                if m.emit_budget == 0 {
                    m.flags.step_limit = true;
                    continue;
                }
                let reg = |slot: u32| &self.regs[(slot - m.code.uniform) as usize];
                let outs = m.code.named.iter().filter(is_out);
                Some(outs.map(|n| reg(n.3).lane(lane)).collect())
            } else {
                None
            };
            let number = self.first_lane + lane as u32;
            self.emitted[lane].push(Emitted {
                lane: number,
                stream,
                words,
            });
        }
    }

    /// `KILL`, `KILL_IF`, `DEMOTE`.
    pub(crate) fn kill(&mut self, m: &mut Machine, inst: &Decoded) {
        for lane in lanes(self.flow.exec) {
            let dies = match inst.op {
                Opcode::KillIf => self
                    .src(m, inst, 0, lane)
                    .iter()
                    .any(|x| f32::from_bits(*x) < 0.0),
                _ => true,
            };
            if dies {
                self.killed |= 1 << lane;
            }
        }
    }

    /// `PUSHA`, `POPA`.
    pub(crate) fn address_stack(&mut self, m: &mut Machine, inst: &Decoded) {
        const DEEPEST: usize = 256;
        for lane in lanes(self.flow.exec) {
            if inst.op == Opcode::Pusha {
                let words = self.src(m, inst, 0, lane);
                if self.address_stack[lane].len() < DEEPEST {
                    self.address_stack[lane].push(words);
                } else {
                    m.flags.step_limit = true;
                }
            } else if let Some(words) = self.address_stack[lane].pop() {
                self.store(m, inst, 0, lane, inst.written, Fetched { words, made: 0 });
            } else {
                m.flags.malformed = true;
            }
        }
    }
}

/// How the words of a result were made.
pub(crate) fn made(inst: &Decoded, srcs: &[Fetched]) -> u8 {
    match inst.made {
        Made::Float => 0x0f,
        Made::Double => 0xf0,
        Made::Copy => srcs.first().map_or(0, |s| s.made),
        Made::Select => {
            let [a, b, c] = [0, 1, 2].map(|i| {
                let mut value = srcs.get(i).copied().unwrap_or_default();
                let src = inst.srcs.get(i);
                if src.is_some_and(|s| s.abs || s.negate == Negate::Float) {
                    // The modifier is one of 32 bits: no half of a pair is left.
                    value.made = 0x0f;
                }
                value
            });
            lanes(0xf).fold(0, |m, i| {
                let first = match inst.op {
                    Opcode::Cmp => f32::from_bits(a.words[i]) < 0.0,
                    _ => a.words[i] != 0,
                };
                let from = if first { b.made } else { c.made };
                m | from & 0x11 << i
            })
        }
        Made::Bits | Made::Other => 0,
    }
}

/// `x & mask` and its like pass a float on, or a NaN with bits as free as it had.
fn made_of_bits(srcs: &[Fetched], result: &Vec4) -> u8 {
    let nan = |w: u32| f32::from_bits(w).is_nan();
    let passed = |s: &Fetched, c: usize| {
        let (word, result) = (s.words[c], result[c]);
        s.made >> c & 1 != 0 && (word == result || nan(word) && nan(result))
    };
    lanes(0xf)
        .filter(|c| srcs.iter().any(|s| passed(s, *c)))
        .fold(0, |made, c| made | 1 << c)
}

fn saturate(inst: &Decoded, value: &mut Fetched) {
    if !crate::eval64::is_wide_result(inst.op) {
        value.words = value.words.map(crate::saturate);
        value.made = 0x0f;
        return;
    }
    for half in [0, 2] {
        let x = u64::from(value.words[half]) | u64::from(value.words[half + 1]) << 32;
        let y = crate::saturate64(x);
        value.words[half] = y as u32;
        value.words[half + 1] = (y >> 32) as u32;
    }
    value.made = 0xf0;
}

/// Differences between the lanes of a quad: coarse from one row and column, or fine.
pub(crate) fn derivative(op: Opcode, a: &[Vec4; 4], lane: usize, whole: bool) -> Vec4 {
    if !whole {
        return [0; 4];
    }
    let (to, from) = match op {
        Opcode::Ddx => (3, 2),
        Opcode::Ddy => (2, 0),
        Opcode::DdxFine => (lane | 1, lane & 2),
        _ => (lane | 2, lane & 1),
    };
    std::array::from_fn(|c| (f32::from_bits(a[to][c]) - f32::from_bits(a[from][c])).to_bits())
}

/// An input at another place of the pixel: its value and slopes over the quad.
fn interpolate(op: Opcode, a: &[Vec4; 4], b: Vec4, lane: usize) -> Vec4 {
    let (x, y) = match op {
        Opcode::InterpCentroid => (0.125, -0.0625),
        Opcode::InterpSample => {
            let sixteenths = |k: u32| (k % 16) as f32 / 16.0 - 0.5;
            (
                sixteenths(b[0].wrapping_mul(5)),
                sixteenths(b[0].wrapping_mul(11)),
            )
        }
        _ => (f32::from_bits(b[0]), f32::from_bits(b[1])),
    };
    let at = |l: usize, c: usize| f32::from_bits(a[l][c]);
    std::array::from_fn(|c| {
        let (dx, dy) = (at(1, c) - at(0, c), at(2, c) - at(0, c));
        (at(lane, c) + dx * x + dy * y).to_bits()
    })
}
