//! Statements: arithmetic of all sorts, moves, outputs; the choice among all kinds.

use tgsi::Stage;

use super::Gen;
use super::operands::{As, mask_text};
use crate::choices::Choices;

/// Kinds of statement; see [`Gen::statement`].
pub(super) const KINDS: usize = 20;

/// Some kinds come more often in one program than in another, some not at all.
pub(super) fn taste(stage: Stage, c: &mut Choices<'_>) -> super::Taste {
    const BASE: [u32; KINDS] = [
        30, 16, 14, 8, 8, 8, 8, 6, 10, 6, 4, 2, 5, 4, 6, 5, 4, 5, 5, 3,
    ];
    let mut weights = BASE;
    for w in &mut weights[1..] {
        *w *= [0, 1, 1, 3][c.weighted(&[25, 40, 20, 15])];
    }
    if stage == Stage::Comp {
        weights[15] = 10;
    }
    super::Taste { weights }
}

const UNARY: &[&str] = &["MOV", "FRC", "FLR", "CEIL", "TRUNC", "ROUND", "SSG", "ABS"];
const BINARY: &[&str] = &[
    "ADD", "MUL", "MIN", "MAX", "SUB", "SLT", "SGE", "SEQ", "SNE", "SGT", "SLE", "DIV", "FSLT",
    "FSGE", "FSEQ", "FSNE",
];
const TERNARY: &[&str] = &["MAD", "CMP", "LRP", "FMA", "CLAMP"];
const SCALAR: &[&str] = &["RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS"];
const CHANNELS: &[&str] = &["LIT", "EXP", "LOG", "SCS"];
const DOTS: &[&str] = &["DP2", "DP3", "DP4", "DPH", "DST", "XPD", "POW"];
const INT1: &[&str] = &[
    "NOT", "INEG", "IABS", "ISSG", "BREV", "POPC", "LSB", "IMSB", "UMSB",
];
const INT2: &[&str] = &[
    "UADD", "AND", "OR", "XOR", "UMUL", "IMIN", "IMAX", "UMIN", "UMAX", "ISLT", "ISGE", "USLT",
    "USGE", "USEQ", "USNE", "SHL", "ISHR", "USHR", "IDIV", "UDIV", "MOD", "UMOD", "IMUL_HI",
    "UMUL_HI",
];
const WIDE1: &[&str] = &[
    "DABS", "DNEG", "DFRAC", "DTRUNC", "DFLR", "DCEIL", "DSSG", "I64ABS", "I64NEG", "I64SSG",
    "DSQRT", "DRCP",
];
const WIDE2: &[&str] = &[
    "DADD", "DMUL", "DMIN", "DMAX", "U64ADD", "U64MUL", "I64MIN", "I64MAX", "U64MIN", "U64MAX",
    "DDIV",
];
const WIDE_COMPARE: &[&str] = &[
    "DSLT", "DSGE", "DSEQ", "DSNE", "U64SEQ", "U64SNE", "U64SLT", "U64SGE", "I64SLT", "I64SGE",
];
const TO_WIDE: &[&str] = &["F2D", "I2D", "U2D", "I2I64", "U2I64", "F2I64", "F2U64"];
const FROM_WIDE: &[&str] = &["D2F", "D2I", "D2U", "U642F", "I642F"];

impl Gen<'_, '_> {
    /// One statement of a random kind.
    pub(super) fn statement(&mut self) {
        self.budget -= 1;
        match self.c.weighted(&self.taste.weights) {
            1 => self.integer(),
            2 => self.moves(),
            3 => self.conversion(),
            4 => self.wide(),
            5 => self.channels(),
            6 => self.select(),
            7 => self.permutation(),
            8 => self.branch(),
            9 => self.count_loop(),
            10 => self.switch(),
            11 => self.leave(),
            12 => self.texture(),
            13 => self.kill(),
            14 => self.array_write(),
            15 => self.memory(),
            16 => self.some_output(),
            17 => self.twice(),
            18 => self.gather_lanes(),
            19 => self.stage_special(),
            _ => self.float(),
        }
    }

    fn suffix(&mut self) -> &'static str {
        match self.c.weighted(&[84, 10, 5, 1]) {
            1 => "_SAT",
            2 => "_PRECISE",
            3 => "_SAT_PRECISE",
            _ => "",
        }
    }

    /// `OP dst, srcs` with float operands. The destination is made last: what computes its
    /// address may write a source.
    fn emit_op(&mut self, op: &str, sources: &[As], wide: bool) {
        let suffix = self.suffix();
        let srcs: Vec<String> = sources.iter().map(|of| self.operand(*of)).collect();
        let dst = self.destination(wide);
        self.line(format!("{op}{suffix} {dst}, {}", srcs.join(", ")));
    }

    pub(super) fn float(&mut self) {
        use As::Float;
        match self.c.weighted(&[18, 40, 22, 12, 8]) {
            0 => {
                let op = self.c.name(UNARY);
                self.emit_op(op, &[Float], false);
            }
            2 => {
                let op = self.c.name(TERNARY);
                self.emit_op(op, &[Float, Float, Float], false);
            }
            3 => {
                let op = self.c.name(SCALAR);
                self.emit_op(op, &[Float], false);
            }
            4 => {
                let op = self.c.name(DOTS);
                self.emit_op(op, &[Float, Float], false);
            }
            _ => {
                let op = self.c.name(BINARY);
                self.emit_op(op, &[Float, Float], false);
            }
        }
    }

    fn integer(&mut self) {
        match self.c.weighted(&[60, 18, 8, 14]) {
            1 => {
                let op = self.c.name(INT1);
                self.emit_op(op, &[As::Int], false);
            }
            2 => self.emit_op("UMAD", &[As::Int; 3], false),
            3 if self.c.chance(30) => {
                self.emit_op("BFI", &[As::Int, As::Int, As::Count, As::Count], false);
            }
            3 => {
                let op = self.c.name(&["UBFE", "IBFE"]);
                self.emit_op(op, &[As::Int, As::Count, As::Count], false);
            }
            _ => {
                let op = self.c.name(INT2);
                self.emit_op(op, &[As::Int, As::Int], false);
            }
        }
    }

    fn moves(&mut self) {
        if self.c.chance(35) {
            // A register moved onto itself in another order.
            let t = self.c.below(self.temps);
            let (mask, swizzle) = (self.mask(), self.swizzle());
            return self.line(format!(
                "MOV TEMP[{t}]{}, TEMP[{t}]{swizzle}",
                mask_text(mask)
            ));
        }
        let src = if self.c.chance(85) {
            self.source(As::Int)
        } else {
            self.operand(As::Float)
        };
        let suffix = if self.c.chance(6) { "_SAT" } else { "" };
        let dst = self.destination(false);
        self.line(format!("MOV{suffix} {dst}, {src}"));
    }

    fn conversion(&mut self) {
        match self.c.below(4) {
            0 => {
                let op = self.c.name(&["F2I", "F2U"]);
                self.emit_op(op, &[As::Float], false);
            }
            1 => {
                let op = self.c.name(&["I2F", "U2F"]);
                self.emit_op(op, &[As::Int], false);
            }
            2 => {
                let op = self.c.name(&["UP2H", "UP2US", "UP4B", "UP4UB"]);
                self.emit_op(op, &[As::Int], false);
            }
            _ => {
                let op = self.c.name(&["PK2H", "PK2US", "PK4B", "PK4UB"]);
                self.emit_op(op, &[As::Float], false);
            }
        }
    }

    fn wide(&mut self) {
        use As::{Float, Int, Wide};
        match self.c.below(8) {
            0 => {
                let op = self.c.name(WIDE1);
                self.emit_op(op, &[Wide], true);
            }
            1 => {
                let op = self.c.name(WIDE_COMPARE);
                self.emit_op(op, &[Wide, Wide], false);
            }
            2 | 3 => {
                let op = self.c.name(TO_WIDE);
                let of = if op.starts_with('F') { Float } else { Int };
                self.emit_op(op, &[of], true);
            }
            4 => {
                let op = self.c.name(FROM_WIDE);
                self.emit_op(op, &[Wide], false);
            }
            5 => {
                let op = self.c.name(&["U64SHL", "U64SHR", "I64SHR", "DLDEXP"]);
                self.emit_op(op, &[Wide, Int], true);
            }
            6 => self.emit_op("DMAD", &[Wide, Wide, Wide], true),
            _ => {
                let op = self.c.name(WIDE2);
                self.emit_op(op, &[Wide, Wide], true);
            }
        }
    }

    fn channels(&mut self) {
        let op = self.c.name(CHANNELS);
        self.emit_op(op, &[As::Float], false);
    }

    fn select(&mut self) {
        if self.c.chance(50) {
            return self.emit_op("UCMP", &[As::Int, As::Float, As::Float], false);
        }
        // A comparison and who reads it.
        let t = self.c.below(self.temps);
        let (op, of) = match self.c.below(3) {
            0 => (self.c.name(&["FSLT", "FSGE", "FSEQ", "FSNE"]), As::Float),
            1 => (self.c.name(&["ISLT", "USGE", "USEQ", "USNE"]), As::Int),
            _ => (self.c.name(&["SLT", "SGE", "SEQ", "SNE"]), As::Float),
        };
        let (a, b) = (self.operand(of), self.operand(of));
        let mask = mask_text(self.mask());
        self.line(format!("{op} TEMP[{t}]{mask}, {a}, {b}"));
        let swizzle = self.swizzle();
        let (x, y) = (self.operand(As::Float), self.operand(As::Float));
        let dst = self.destination(false);
        match self.c.below(4) {
            0 => self.line(format!("UCMP {dst}, TEMP[{t}]{swizzle}, {x}, {y}")),
            1 => self.line(format!("CMP {dst}, -TEMP[{t}]{swizzle}, {x}, {y}")),
            2 => self.line(format!(
                "AND {dst}, TEMP[{t}]{swizzle}, {}",
                x.trim_matches(['-', '|'])
            )),
            _ => self.line(format!("LRP {dst}, TEMP[{t}]{swizzle}, {x}, {y}")),
        }
    }

    /// The same computation again: what value numbering is for.
    fn twice(&mut self) {
        let last = self.body.iter().rev().find(|l| l.contains(", ")).cloned();
        let Some(last) = last else {
            return self.float();
        };
        let Some((head, tail)) = last.split_once(", ") else {
            return;
        };
        let op = head.split(' ').next().unwrap_or("");
        let again = |op: &str| {
            UNARY.contains(&op)
                || BINARY.contains(&op)
                || TERNARY.contains(&op)
                || INT2.contains(&op)
        };
        if !again(op.trim_end_matches("_SAT")) {
            return self.float();
        }
        let (t, mask) = (self.c.below(self.temps), mask_text(self.mask()));
        self.line(format!("{op} TEMP[{t}]{mask}, {tail}"));
    }

    /// Four scalars gathered into one register, as scalarised programs do.
    fn gather_lanes(&mut self) {
        let t = self.c.below(self.temps);
        let op = self.c.name(&["MOV", "ADD", "MUL", "RCP", "MIN"]);
        for lane in 0..self.c.range(2, 4) {
            let lane = mask_text(1 << lane);
            let (a, b) = (self.scalar(As::Float, false), self.scalar(As::Float, false));
            match op {
                "MOV" | "RCP" => self.line(format!("{op} TEMP[{t}]{lane}, {a}")),
                _ => self.line(format!("{op} TEMP[{t}]{lane}, {a}, {b}")),
            }
        }
    }

    fn array_write(&mut self) {
        if self.arrays.is_empty() {
            return self.moves();
        }
        let src = self.source(As::Int);
        let Some(reg) = self.element() else { return };
        let mask = mask_text(self.mask());
        self.line(format!("MOV {reg}{mask}, {src}"));
    }

    fn some_output(&mut self) {
        if self.outputs.is_empty() {
            return self.store();
        }
        let at = self.c.below(self.outputs.len());
        self.write_output(at, false);
    }

    /// Writes an output from temporaries; sometimes another one gets the same.
    pub(super) fn write_output(&mut self, at: usize, all: bool) {
        let mask = if all { 0xf } else { self.mask() };
        let swizzle = self.swizzle();
        let t = self.c.below(self.temps);
        let src = format!("TEMP[{t}]{swizzle}");
        let dst = self.output(at, mask);
        match self.c.weighted(&[60, 15, 15, 10]) {
            1 => {
                let b = self.source(As::Float);
                let dst = self.output(at, mask);
                self.line(format!("ADD {dst}, {src}, {b}"));
            }
            2 => {
                let b = self.source(As::Int);
                let dst = self.output(at, mask);
                self.line(format!("XOR {dst}, {src}, {b}"));
            }
            3 => self.line(format!("MOV_SAT {dst}, {src}")),
            _ => self.line(format!("MOV {dst}, {src}")),
        }
        if self.c.chance(20) {
            let other = self.c.below(self.outputs.len());
            let dst = self.output(other, 0xf);
            self.line(format!("MOV {dst}, {src}"));
        }
    }
}
