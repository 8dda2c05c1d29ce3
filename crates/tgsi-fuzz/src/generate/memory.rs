//! Memory, images, atomics, barriers, vertices.

use tgsi::Stage;

use super::Gen;
use super::operands::{As, mask_text};
use crate::choices::Choices;

const IMAGES: &[(&str, &str)] = &[
    ("2D", "PIPE_FORMAT_R32_UINT"),
    ("1D", "PIPE_FORMAT_R32_SINT"),
    ("2D", "PIPE_FORMAT_R32G32B32A32_FLOAT"),
];

/// The images of a program.
pub(super) fn images(c: &mut Choices<'_>) -> Vec<(&'static str, &'static str)> {
    (0..c.below(3)).filter_map(|_| c.of(IMAGES)).collect()
}

impl Gen<'_, '_> {
    /// A byte address. Several invocations that run side by side have places of their own.
    fn place(&mut self, own: bool) -> String {
        let t = self.c.below(self.temps);
        if self.stage == Stage::Comp && self.block > 1 && own {
            let four = self.constant(4);
            self.line(format!("SHL TEMP[{t}].x, SV[0].xxxx, {four}"));
            if self.c.chance(40) {
                let (s, twelve) = (self.scalar(As::Int, false), self.constant(12));
                let u = self.c.below(self.temps);
                let lane = if u == t { "y" } else { "x" };
                self.line(format!("AND TEMP[{u}].{lane}, {s}, {twelve}"));
                self.line(format!(
                    "UADD TEMP[{t}].x, TEMP[{t}].xxxx, TEMP[{u}].{}",
                    lane.repeat(4)
                ));
            }
            return format!("TEMP[{t}].xxxx");
        }
        if self.c.chance(50) {
            let at = 4 * self.c.below(16) as u32;
            return self.constant(at);
        }
        let (s, mask) = (self.scalar(As::Int, false), self.constant(0x3c));
        self.line(format!("AND TEMP[{t}].x, {s}, {mask}"));
        format!("TEMP[{t}].xxxx")
    }

    /// Memory that stores go to.
    fn store_to(&mut self) -> &'static str {
        if self.stage == Stage::Comp && self.c.chance(30) {
            "MEMORY[0]"
        } else {
            "BUFFER[0]"
        }
    }

    fn words(&mut self) -> &'static str {
        self.c
            .name(&["", "", "", ", COHERENT", ", VOLATILE", ", RESTRICT"])
    }

    fn races(&self) -> bool {
        self.stage == Stage::Comp && self.block > 1
    }

    pub(super) fn memory(&mut self) {
        match self.c.weighted(&[35, 30, 15, 12, 4, 4]) {
            1 => self.load(),
            2 => self.atomic(),
            3 => self.image(),
            4 => {
                let at = self.c.below(2);
                let dst = self.destination(false);
                self.line(format!("RESQ {dst}, BUFFER[{at}]"));
            }
            5 => {
                let bits = self.constant(7);
                self.line(format!("MEMBAR {bits}"));
            }
            _ => self.store(),
        }
    }

    pub(super) fn store(&mut self) {
        let value = self.source(As::Int);
        let place = self.place(true);
        let to = self.store_to();
        let mask = if self.races() {
            self.c.name(&[".x", ".x", ".xy", ".xyz"])
        } else {
            self.c.name(&[".x", ".xy", "", ".xyz"])
        };
        let mask = if place.starts_with("TEMP") && self.races() {
            ".x"
        } else {
            mask
        };
        let words = self.words();
        self.line(format!("STORE {to}{mask}, {place}, {value}{words}"));
    }

    fn load(&mut self) {
        let shared = self.c.chance(40);
        let place = self.place(!shared);
        let from = if shared { "BUFFER[1]" } else { self.store_to() };
        let t = self.c.below(self.temps);
        let mask = if self.races() && !shared {
            ".x".to_owned()
        } else {
            mask_text(self.mask())
        };
        let words = self.words();
        self.line(format!("LOAD TEMP[{t}]{mask}, {from}, {place}{words}"));
    }

    fn atomic(&mut self) {
        let t = self.c.below(self.temps);
        let value = self.scalar(As::Int, false);
        if self.races() {
            // Cells behind all places, one opcode a cell; nobody reads what was there.
            let cell = self.c.below(4);
            let op = ["ATOMUADD", "ATOMOR", "ATOMXOR", "ATOMUMAX"][cell];
            let at = self.constant(512 + 4 * cell as u32);
            self.line(format!("{op} TEMP[{t}].x, BUFFER[0], {at}, {value}"));
            let zero = self.constant(0);
            return self.line(format!("MOV TEMP[{t}].x, {zero}"));
        }
        let place = self.place(true);
        let to = self.store_to();
        let op = self.c.name(&[
            "ATOMUADD", "ATOMXCHG", "ATOMAND", "ATOMOR", "ATOMXOR", "ATOMUMIN", "ATOMUMAX",
            "ATOMIMIN", "ATOMIMAX", "ATOMCAS",
        ]);
        let more = if op == "ATOMCAS" {
            format!(", {}", self.scalar(As::Int, false))
        } else {
            String::new()
        };
        self.line(format!("{op} TEMP[{t}].x, {to}, {place}, {value}{more}"));
    }

    fn image(&mut self) {
        let at = self.c.below(self.images.len());
        let Some(&(target, format)) = self.images.get(at) else {
            return self.load();
        };
        let t = self.c.below(self.temps);
        if self.races() {
            let (row, column) = (self.constant(self.block as u32), self.constant(0));
            self.line(format!("MOV TEMP[{t}], {column}"));
            self.line(format!("MOV TEMP[{t}].x, SV[0].xxxx"));
            let _ = row;
        } else {
            let (s, mask) = (self.source(As::Int), self.constant(3));
            self.line(format!("AND TEMP[{t}], {s}, {mask}"));
        }
        if self.c.chance(50) {
            let value = self.source(As::Int);
            return self.line(format!(
                "STORE IMAGE[{at}], TEMP[{t}], {value}, {target}, {format}"
            ));
        }
        let (u, mask) = (self.c.below(self.temps), mask_text(self.mask()));
        self.line(format!(
            "LOAD TEMP[{u}]{mask}, IMAGE[{at}], TEMP[{t}], {target}, {format}"
        ));
    }

    /// What only one stage has, or nothing more than a call.
    pub(super) fn stage_special(&mut self) {
        match self.stage {
            Stage::Geom => self.emit(),
            Stage::Comp if self.depth == 0 && self.uniform => self.exchange(),
            Stage::TessCtrl if self.depth == 0 && self.uniform => self.read_others(),
            _ if self.c.chance(40) => self.call(),
            _ => self.float(),
        }
    }

    pub(super) fn emit(&mut self) {
        let stream = self.constant(0);
        for at in 0..self.outputs.len() {
            if self.c.chance(50) {
                self.write_output(at, true);
            }
        }
        self.line(format!("EMIT {stream}"));
        if self.c.chance(40) {
            self.line(format!("ENDPRIM {stream}"));
        }
    }

    /// Each invocation reads what another one stored.
    fn exchange(&mut self) {
        let (a, b) = (self.c.below(self.temps), self.c.below(self.temps));
        let (four, one) = (self.constant(4), self.constant(1));
        let last = self.constant(self.block as u32 - 1);
        let value = self.source(As::Int);
        self.line(format!("SHL TEMP[{a}].x, SV[0].xxxx, {four}"));
        self.line(format!("STORE MEMORY[0].x, TEMP[{a}].xxxx, {value}"));
        self.line("BARRIER");
        self.line(format!("UADD TEMP[{b}].x, SV[0].xxxx, {one}"));
        self.line(format!("AND TEMP[{b}].x, TEMP[{b}].xxxx, {last}"));
        self.line(format!("SHL TEMP[{b}].x, TEMP[{b}].xxxx, {four}"));
        self.line(format!("LOAD TEMP[{a}].x, MEMORY[0], TEMP[{b}].xxxx"));
        self.line("BARRIER");
    }

    fn read_others(&mut self) {
        let t = self.c.below(self.temps);
        self.write_output(0, true);
        self.line("BARRIER");
        let swizzle = self.swizzle();
        let vertex = self.c.below(super::VERTICES);
        self.line(format!("MOV TEMP[{t}], OUT[{vertex}][0]{swizzle}"));
        self.line("BARRIER");
    }
}
