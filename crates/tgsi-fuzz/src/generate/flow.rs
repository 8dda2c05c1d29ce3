//! Flow: branches, loops, switches, leaving them, subroutines; permutations round loops.

use tgsi::Stage;

use super::operands::{As, mask_text};
use super::{Around, COUNTERS, Gen};

impl Gen<'_, '_> {
    /// Some statements, one level deeper.
    fn block(&mut self, most: usize) {
        self.depth += 1;
        for _ in 0..self.c.range(1, most) {
            if self.budget > 0 {
                self.statement();
            }
        }
        self.depth -= 1;
    }

    /// Runs `inside` under a condition that holds for all lanes or not.
    fn under(&mut self, uniform: bool, inside: impl FnOnce(&mut Self)) {
        let before = self.uniform;
        self.uniform &= uniform;
        inside(self);
        // A lane that left something inside may be gone behind it as well.
        self.uniform = before && !self.parted;
    }

    /// A condition, and the opcode that tests it.
    fn condition(&mut self, uniform: bool) -> String {
        let t = self.c.below(self.temps);
        match self.c.weighted(&[40, 30, 30]) {
            0 => {
                let op = self
                    .c
                    .name(&["FSLT", "FSGE", "USLT", "ISGE", "USEQ", "USNE", "FSEQ"]);
                let (a, b) = (self.scalar(As::Int, uniform), self.scalar(As::Int, uniform));
                self.line(format!("{op} TEMP[{t}].x, {a}, {b}"));
                format!("UIF TEMP[{t}].xxxx")
            }
            1 => {
                let op = self.c.name(&["SLT", "SGE", "SNE", "SGT"]);
                let (a, b) = (
                    self.scalar(As::Float, uniform),
                    self.scalar(As::Float, uniform),
                );
                self.line(format!("{op} TEMP[{t}].x, {a}, {b}"));
                format!("{} TEMP[{t}].xxxx", self.c.name(&["IF", "UIF"]))
            }
            _ => {
                let a = self.scalar(As::Float, uniform);
                format!("{} {a}", self.c.name(&["UIF", "IF", "IF -", "IF |"]))
                    .replace("- ", "-")
                    .replace("| ", "|")
            }
        }
    }

    fn open_if(&mut self, uniform: bool) {
        let condition = self.condition(uniform);
        let bar = if condition.contains('|') { "|" } else { "" };
        self.line(format!("{condition}{bar}"));
    }

    pub(super) fn branch(&mut self) {
        if self.depth > 4 {
            return self.float();
        }
        let uniform = self.c.chance(30);
        self.open_if(uniform);
        self.under(uniform, |g| {
            g.block(4);
            if g.c.chance(45) {
                g.line("ELSE");
                g.block(4);
            }
        });
        self.line("ENDIF");
    }

    /// A loop that ends: its counter is nobody else's.
    pub(super) fn count_loop(&mut self) {
        if self.loop_depth >= COUNTERS || self.depth > 4 {
            return self.float();
        }
        let counter = self.counters + self.loop_depth;
        let floats = self.c.chance(25);
        let uniform = self.c.chance(50);
        self.begin_loop(counter, floats, uniform);
        let may_continue = self.c.chance(40);
        let (one, add) = if floats {
            (self.constant(0x3f80_0000), "ADD")
        } else {
            (self.constant(1), "UADD")
        };
        let step = format!("{add} TEMP[{counter}].x, TEMP[{counter}].xxxx, {one}");
        if may_continue {
            self.line(step.clone());
        }
        self.around.push(Around::Loop { may_continue });
        self.loop_depth += 1;
        self.under(uniform, |g| {
            if g.c.chance(40) {
                g.rotation();
            }
            g.block(5);
        });
        self.loop_depth -= 1;
        self.around.pop();
        if !may_continue {
            self.line(step);
        }
        self.line("ENDLOOP");
    }

    /// The head of a loop up to and with its test; some bodies run before the test.
    fn begin_loop(&mut self, counter: usize, floats: bool, uniform: bool) {
        let zero = self.constant(0);
        let bound = self.c.range(1, 4);
        let limit = if floats {
            self.constant((bound as f32).to_bits())
        } else if uniform || self.c.chance(60) {
            self.constant(bound as u32)
        } else {
            let (s, three) = (self.scalar(As::Int, false), self.constant(3));
            self.line(format!("AND TEMP[{counter}].w, {s}, {three}"));
            format!("TEMP[{counter}].wwww")
        };
        self.line(format!("MOV TEMP[{counter}].x, {zero}"));
        self.line("BGNLOOP");
        let op = if floats {
            "SGE"
        } else {
            self.c.name(&["USGE", "ISGE"])
        };
        let t = self.c.below(self.temps);
        let test = if self.c.chance(70) {
            format!("TEMP[{counter}].y")
        } else {
            format!("TEMP[{t}].x")
        };
        self.line(format!("{op} {test}, TEMP[{counter}].xxxx, {limit}"));
        let test = if test.ends_with('y') {
            format!("{test}yyy")
        } else {
            format!("{test}xxx")
        };
        self.line(format!("UIF {test}"));
        self.line("BRK");
        self.line("ENDIF");
    }

    /// Values that change places; round a loop, this is a permutation of what it carries.
    pub(super) fn permutation(&mut self) {
        if self.loop_depth == 0 && self.c.chance(50) {
            return self.count_loop();
        }
        self.rotation();
    }

    fn rotation(&mut self) {
        let n = self.c.range(2, 4.min(self.temps.max(2)));
        let first = self.c.below(self.temps);
        let temps = self.temps;
        let at = |i: usize| (first + i) % temps;
        let regs: Vec<usize> = (0..n).map(at).collect();
        if self.c.chance(30) {
            // Lanes of one register.
            let t = regs[0];
            let order = self
                .c
                .name(&["yxwz", "wxyz", "yzwx", "yxzw", "xzyw", "zzxy"]);
            return self.line(format!("MOV TEMP[{t}], TEMP[{t}].{order}"));
        }
        let mask = mask_text(self.mask());
        let swizzle = if self.c.chance(30) {
            self.swizzle()
        } else {
            String::new()
        };
        let save = if self.c.chance(50) {
            self.counters + COUNTERS - 1
        } else {
            at(n)
        };
        let save = if self.loop_depth >= COUNTERS {
            at(n)
        } else {
            save
        };
        self.line(format!("MOV TEMP[{save}]{mask}, TEMP[{}]", regs[0]));
        for pair in regs.windows(2) {
            self.line(format!(
                "MOV TEMP[{}]{mask}, TEMP[{}]{swizzle}",
                pair[0], pair[1]
            ));
        }
        self.line(format!("MOV TEMP[{}]{mask}, TEMP[{save}]", regs[n - 1]));
    }

    pub(super) fn switch(&mut self) {
        if self.depth > 3 {
            return self.float();
        }
        let uniform = self.c.chance(30);
        let t = self.c.below(self.temps);
        let (s, three) = (self.scalar(As::Int, uniform), self.constant(3));
        self.line(format!("AND TEMP[{t}].x, {s}, {three}"));
        self.line(format!("SWITCH TEMP[{t}].xxxx"));
        self.around.push(Around::Switch);
        self.under(uniform, |g| g.cases());
        self.around.pop();
        self.line("ENDSWITCH");
    }

    fn cases(&mut self) {
        let n = self.c.range(1, 3);
        let default = self.c.below(n + 2);
        for case in 0..=n {
            if case == default {
                self.line("DEFAULT");
            } else if case < n || self.c.chance(30) {
                let value = self.constant(case as u32);
                self.line(format!("CASE {value}"));
            } else {
                continue;
            }
            self.block(3);
            if self.c.chance(70) {
                self.line("BRK");
            }
        }
    }

    /// BRK, CONT or RET under a condition.
    pub(super) fn leave(&mut self) {
        let innermost = self.around.last().copied();
        let in_loop = self.around.iter().rev().find_map(|a| match a {
            Around::Loop { may_continue } => Some(*may_continue),
            Around::Sub => Some(false),
            Around::Switch => None,
        });
        let op = match self.c.below(3) {
            0 if !matches!(innermost, None | Some(Around::Sub)) => "BRK",
            1 if in_loop == Some(true) => "CONT",
            _ if self.c.chance(25) && self.stage != Stage::Geom => "RET",
            _ if !matches!(innermost, None | Some(Around::Sub)) => "BRK",
            _ => return self.float(),
        };
        let uniform = self.c.chance(30);
        self.open_if(uniform);
        if self.c.chance(50) {
            let budget = self.budget;
            self.budget = 1;
            self.float();
            self.budget = budget;
        }
        self.line(op);
        self.line("ENDIF");
        // What follows runs for some lanes only.
        self.parted |= !(uniform && self.uniform);
        self.uniform &= uniform;
    }

    /// Calls a subroutine; there are two at most.
    pub(super) fn call(&mut self) {
        if self.around.contains(&Around::Sub) {
            return self.float();
        }
        let n = self.c.below(2);
        self.subs = self.subs.max(n + 1);
        self.line(format!("CAL @{n}"));
    }

    pub(super) fn subroutines(&mut self) {
        if self.subs == 0 {
            return;
        }
        self.line("RET");
        self.uniform = false;
        self.around.push(Around::Sub);
        // Their loops count in registers of their own only where no caller's loop is open.
        self.loop_depth = COUNTERS;
        for _ in 0..self.subs {
            self.line("BGNSUB");
            self.budget = 6;
            self.block(5);
            self.line("RET");
            self.line("ENDSUB");
        }
        self.around.pop();
    }
}
