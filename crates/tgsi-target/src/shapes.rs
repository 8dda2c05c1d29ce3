//! Operands of instructions that hardware does not read or write as they stand.

use smallvec::SmallVec;
use tgsi::usage::{dst_mask, src_mask};
use tgsi::{File, Inst, Item, Opcode, Program, Register, Shape};

use crate::count::{Class, class};
use crate::target::{Operands, Target};

/// A rule about operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ShapeRule {
    /// More distinct input registers than an instruction may read.
    Inputs,
    /// More distinct constant registers than an instruction may read.
    Constants,
    /// More distinct temporaries than an instruction may read.
    Temps,
    /// A swizzle that the hardware does not have.
    Swizzle,
    /// A texture coordinate with a swizzle or a modifier.
    PlainCoordinate,
    /// A texture coordinate in a constant or an immediate.
    CoordinateFile,
    /// A fetch that leaves channels as they were.
    WholeFetch,
    /// A fetch into an output.
    FetchToOutput,
}

impl ShapeRule {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ShapeRule::Inputs => "input-ports",
            ShapeRule::Constants => "constant-ports",
            ShapeRule::Temps => "temp-ports",
            ShapeRule::Swizzle => "swizzle",
            ShapeRule::PlainCoordinate => "plain-coordinate",
            ShapeRule::CoordinateFile => "coordinate-file",
            ShapeRule::WholeFetch => "whole-fetch",
            ShapeRule::FetchToOutput => "fetch-to-output",
        }
    }

    /// What a program does against it.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            ShapeRule::Inputs => "reads more inputs in one instruction than the target can",
            ShapeRule::Constants => "reads more constants in one instruction than the target can",
            ShapeRule::Temps => "reads more temporaries in one instruction than the target can",
            ShapeRule::Swizzle => "uses a swizzle that the target does not have",
            ShapeRule::PlainCoordinate => {
                "uses a texture coordinate with a swizzle or a modifier, which the target does not take"
            }
            ShapeRule::CoordinateFile => {
                "uses a constant as a texture coordinate, which the target does not take"
            }
            ShapeRule::WholeFetch => {
                "fetches into a part of a register, the target into a whole one"
            }
            ShapeRule::FetchToOutput => "fetches into an output, which the target does not",
        }
    }
}

/// An operand against a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeFault {
    /// The rule.
    pub rule: ShapeRule,
    /// The instruction.
    pub inst: usize,
    /// The source, if it is about one.
    pub source: Option<usize>,
}

/// The operands of a program that the hardware of `target` does not take as they stand, in the
/// order of instructions: each costs its consumer a copy at least.
pub fn shape_faults(target: &Target, program: &Program) -> Vec<ShapeFault> {
    let rules = &target.operands;
    if !rules.shaped() {
        return Vec::new();
    }
    let immediates = Immediates::of(program);
    let mut found = Vec::new();
    for (at, inst) in program.insts.iter().enumerate() {
        of_inst(rules, &immediates, inst, at, &mut found);
    }
    found
}

/// The words of immediates, by register.
#[derive(Clone, Debug)]
pub struct Immediates(Vec<[u32; 4]>);

impl Immediates {
    /// Those of a program.
    pub fn of(program: &Program) -> Immediates {
        let words = |item: &Item| match item {
            Item::Imm(imm) => Some(imm.words),
            _ => None,
        };
        Immediates(program.header.iter().filter_map(words).collect())
    }

    /// The word of a channel, if the register is one.
    pub fn word(&self, reg: &Register, chan: u8) -> Option<u32> {
        let known = reg.file == File::Imm && reg.index.addr.is_none();
        let at = usize::try_from(reg.index.base).ok()?;
        let words = self.0.get(at).filter(|_| known)?;
        Some(words[usize::from(chan & 3)])
    }
}

impl Operands {
    /// Whether a rule of [`ShapeRule`] says anything.
    pub fn shaped(&self) -> bool {
        !self.swizzles.is_empty()
            || self.inputs.is_some()
            || self.constants.is_some()
            || self.temps.is_some()
            || self.plain_coordinates
            || self.coordinate_in_register
            || self.whole_fetches
            || self.no_fetch_to_output
    }

    /// The rule and the number of registers that an instruction may read of those that share a port
    /// with `file`; `None` if there is no limit.
    fn port(&self, file: File) -> Option<(ShapeRule, u32)> {
        match file {
            File::In => self.inputs.map(|n| (ShapeRule::Inputs, n)),
            File::Const => self.constants.map(|n| (ShapeRule::Constants, n)),
            File::Imm if self.immediates_are_constants => {
                self.constants.map(|n| (ShapeRule::Constants, n))
            }
            File::Temp => self.temps.map(|n| (ShapeRule::Temps, n)),
            _ => None,
        }
    }

    /// Whether the hardware reads the channels `mask` of an operand with this swizzle. `word` gives the
    /// immediate that a channel of the register holds.
    pub fn takes_swizzle(
        &self,
        swizzle: [u8; 4],
        mask: u8,
        word: impl Fn(u8) -> Option<u32>,
    ) -> bool {
        let letter = |pattern: u8, chan: u8| match pattern {
            b'1' => word(chan) == Some(1f32.to_bits()),
            b'0' => word(chan) == Some(0),
            b'h' => word(chan) == Some(0.5f32.to_bits()),
            c => b"xyzw".iter().position(|&l| l == c) == Some(usize::from(chan)),
        };
        let fits = |pattern: &String| {
            let mut parts = pattern.bytes().zip(swizzle).enumerate();
            parts.all(|(i, (p, chan))| mask >> i & 1 == 0 || letter(p, chan))
        };
        self.swizzles.is_empty() || self.swizzles.iter().any(fits)
    }
}

/// Whether an instruction fetches from a texture by a coordinate.
fn fetches(op: Opcode) -> bool {
    op.info().shape == Shape::Tex && !matches!(op, Opcode::Txq | Opcode::Txqs | Opcode::TxqLz)
}

fn of_inst(
    rules: &Operands,
    immediates: &Immediates,
    inst: &Inst,
    at: usize,
    found: &mut Vec<ShapeFault>,
) {
    let mut tell = |rule, source| {
        found.push(ShapeFault {
            rule,
            inst: at,
            source,
        });
    };
    if fetches(inst.op) {
        if let Some(dst) = inst.dsts.first() {
            if dst.reg.file == File::Out && rules.no_fetch_to_output {
                tell(ShapeRule::FetchToOutput, None);
            } else if rules.whole_fetches && dst.mask & 15 != 15 {
                tell(ShapeRule::WholeFetch, None);
            }
        }
        let Some(src) = inst.srcs.first() else { return };
        let mask = src_mask(inst, 0, 15);
        let straight = (0..4).all(|i| mask >> i & 1 == 0 || src.swizzle[i as usize] == i);
        if rules.plain_coordinates && (src.neg || src.abs || !straight) {
            tell(ShapeRule::PlainCoordinate, Some(0));
        }
        if rules.coordinate_in_register && matches!(src.reg.file, File::Const | File::Imm) {
            tell(ShapeRule::CoordinateFile, Some(0));
        }
        return;
    }
    if class(inst.op) != Class::Alu {
        return;
    }
    let mut ports: SmallVec<[(ShapeRule, u32, Register); 4]> = SmallVec::new();
    for (k, src) in inst.srcs.iter().enumerate() {
        let mask = src_mask(inst, k, dst_mask(inst));
        if mask == 0 {
            continue;
        }
        if let Some((rule, most)) = rules.port(src.reg.file)
            && !ports.iter().any(|p| p.2 == src.reg)
        {
            ports.push((rule, most, src.reg));
            if ports.iter().filter(|p| p.0 == rule).count() > most as usize {
                tell(rule, Some(k));
            }
        }
        if inst.op.info().shape != Shape::Repl
            && !rules.takes_swizzle(src.swizzle, mask, |c| immediates.word(&src.reg, c))
        {
            tell(ShapeRule::Swizzle, Some(k));
        }
    }
}
