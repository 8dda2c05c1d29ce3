//! One walk over the operands of a program, for all that the counters ask about registers.

use tgsi::{File, Inst, Item, Register};

use crate::count::{Class, is_kill, union_len};

/// Registers below this have marks of their own; real programs stay below, and no index
/// makes the list large. Those beyond share one, which can only make the count of
/// indirections larger, and are counted as ranges.
const DENSE: usize = 1 << 16;

/// What is known of a TEMP. An indirection is a number from 1 on.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// Whether an instruction names it.
    named: bool,
    /// The last indirection in which it was written.
    written: u32,
    /// The last indirection in which arithmetic read or wrote it.
    arithmetic: u32,
}

impl Mark {
    #[inline]
    fn touch(&mut self, indirection: u32, arithmetic: bool, written: bool) {
        if arithmetic {
            self.arithmetic = indirection;
        }
        if written {
            self.written = indirection;
        }
    }
}

/// What begins a texture indirection besides a coordinate written in the current one.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// A fetch to a register that arithmetic touched in the current one.
    pub(crate) touched_destination: bool,
    /// A fetch to an output.
    pub(crate) output: bool,
}

impl Rules {
    /// The rules of ARB_fragment_program.
    pub(crate) const ARB: Rules = Rules {
        touched_destination: true,
        output: false,
    };
    /// The rules of i915.
    pub(crate) const I915: Rules = Rules {
        touched_destination: false,
        output: true,
    };
}

/// The state of the walk.
pub(crate) struct Registers<'a> {
    header: &'a [Item],
    rules: Rules,
    marks: Vec<Mark>,
    beyond: Mark,
    named: u32,
    ranges: Vec<(i32, i64, i64)>,
    seen_arrays: Vec<u32>,
    /// The current texture indirection.
    pub(crate) indirection: u32,
    /// The words that the operands so far take in the binary form.
    pub(crate) tokens: u64,
}

/// The number of the TEMP a register names, by its base when relative.
fn temp(reg: &Register) -> Option<i32> {
    (reg.file == File::Temp).then_some(reg.index.base)
}

impl<'a> Registers<'a> {
    pub(crate) fn new(header: &'a [Item], rules: Rules) -> Self {
        // Nearly all programs declare the temporaries they name.
        let declared = header.iter().filter_map(|item| match item {
            Item::Decl(d) if d.file == File::Temp => usize::try_from(d.last).ok(),
            _ => None,
        });
        let len = declared.max().map_or(0, |last| (last + 1).min(1024));
        Registers {
            header,
            rules,
            marks: vec![Mark::default(); len],
            beyond: Mark::default(),
            named: 0,
            ranges: Vec::new(),
            seen_arrays: Vec::new(),
            indirection: 1,
            tokens: 0,
        }
    }

    /// Walks over one instruction.
    // Its callers are loops over all instructions with next to nothing else in them.
    #[inline(always)]
    pub(crate) fn step(&mut self, inst: &Inst, class: Class) {
        let kill = class == Class::Effect && is_kill(inst.op);
        if (class == Class::Tex || kill) && self.starts(inst, kill) {
            self.indirection += 1;
        }
        self.tokens += (inst.srcs.len() + inst.dsts.len()) as u64;
        let arithmetic = matches!(class, Class::Alu | Class::Memory);
        for src in &inst.srcs {
            self.operand(&src.reg, arithmetic, false);
        }
        for dst in &inst.dsts {
            self.operand(&dst.reg, arithmetic, !kill);
        }
        if !inst.offsets.is_empty() {
            inst.offsets.iter().for_each(|o| self.name(&o.reg));
        }
    }

    /// Whether a fetch or kill starts an indirection.
    fn starts(&self, inst: &Inst, kill: bool) -> bool {
        let now = self.indirection;
        let mut coordinates = inst.srcs.iter().filter_map(|s| temp(&s.reg));
        let mut results = inst.dsts.iter().filter_map(|d| temp(&d.reg));
        coordinates.any(|t| self.mark(t).written == now)
            || (self.rules.touched_destination
                && !kill
                && results.any(|t| self.mark(t).arithmetic == now))
            || (self.rules.output && inst.dsts.iter().any(|d| d.reg.file == File::Out))
    }

    #[inline]
    fn operand(&mut self, reg: &Register, arithmetic: bool, written: bool) {
        if reg.index.addr.is_some() || reg.dim.is_some() {
            return self.unusual(reg, arithmetic, written);
        }
        if reg.file != File::Temp {
            return;
        }
        let place = usize::try_from(reg.index.base).unwrap_or(DENSE);
        let Some(mark) = self.marks.get_mut(place) else {
            return self.unusual(reg, arithmetic, written);
        };
        self.named += u32::from(!mark.named);
        mark.named = true;
        mark.touch(self.indirection, arithmetic, written);
    }

    /// An operand with more than one number, or that no declaration announced.
    #[inline(never)]
    fn unusual(&mut self, reg: &Register, arithmetic: bool, written: bool) {
        self.name(reg);
        self.tokens += u64::from(reg.index.addr.is_some());
        self.tokens += reg.dim.map_or(0, |d| 1 + u64::from(d.addr.is_some()));
        if let Some(index) = temp(reg) {
            let now = self.indirection;
            self.mark_mut(index).touch(now, arithmetic, written);
        }
    }

    #[inline]
    fn mark(&self, index: i32) -> Mark {
        match usize::try_from(index) {
            Ok(i) if i < DENSE => self.marks.get(i).copied().unwrap_or_default(),
            _ => self.beyond,
        }
    }

    fn mark_mut(&mut self, index: i32) -> &mut Mark {
        let place = usize::try_from(index).unwrap_or(DENSE);
        if place >= self.marks.len() {
            if place >= DENSE {
                return &mut self.beyond;
            }
            self.marks.resize(place + 1, Mark::default());
        }
        &mut self.marks[place]
    }

    /// Notes the TEMPs that a register names: itself, and those inside of its brackets.
    fn name(&mut self, reg: &Register) {
        for index in reg.dim.iter().chain([&reg.index]) {
            if let Some(addr) = index.addr
                && addr.file == File::Temp
            {
                self.name_index(addr.index);
            }
        }
        if reg.file != File::Temp {
            return;
        }
        let array = reg.index.array;
        if reg.index.addr.is_none() {
            self.name_index(reg.index.base);
        } else if array != 0 && !self.seen_arrays.contains(&array) {
            self.seen_arrays.push(array);
            let declared = self.header.iter().rev().find_map(|item| match item {
                Item::Decl(d) if d.file == File::Temp && d.array == array => Some(d),
                _ => None,
            });
            if let Some(d) = declared {
                self.ranges.push((0, i64::from(d.first), i64::from(d.last)));
            }
        }
    }

    fn name_index(&mut self, index: i32) {
        let mark = self.mark_mut(index);
        if mark.named {
            return;
        }
        if (0..DENSE as i32).contains(&index) {
            mark.named = true;
            self.named += 1;
        } else {
            self.ranges.push((0, i64::from(index), i64::from(index)));
        }
    }

    /// The number of distinct TEMPs that were named.
    pub(crate) fn temps(mut self) -> u32 {
        if self.ranges.is_empty() {
            return self.named;
        }
        let named = (0..).zip(&self.marks).filter(|(_, m)| m.named);
        self.ranges.extend(named.map(|(i, _)| (0, i, i)));
        self.ranges.sort_unstable();
        union_len(self.ranges.into_iter())
    }
}
