//! LOWER: from packs to a program.
//!
//! The scheduled packs are written down as lines with the flow instructions between
//! them, address loads are inserted where an address is not in its register any more,
//! live ranges of the final order go to the register allocator, and instructions are
//! printed into the syntax tree. Immediates are collected last, so that operands can
//! share registers by bits.

use tgsi::{File, Item, Program};
use tgsi_ir::layout::Layout;
use tgsi_ir::{Function, RegRef};
use tgsi_pack::pack::{PackId, Packing};
use tgsi_regalloc::{AllocError, Assignment, Options as AllocOptions};

mod checked;
mod fetches;
mod header;
mod imms;
mod insts;
mod lines;
mod problem;

use lines::{Lines, Writer};
use problem::{Problem, Seats};

/// Why a packed program could not be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LowerError {
    /// The allocator found the problem malformed or too large.
    Alloc(String),
    /// An instruction needs more address registers than the program declares.
    Addresses,
    /// An indexed resource or operand came out in a form that cannot be printed.
    Operand(&'static str),
    /// The check of the allocation refused the printed program: a fault of the optimiser.
    Check(String),
}

impl std::fmt::Display for LowerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LowerError::Alloc(e) => write!(f, "register allocation: {e}"),
            LowerError::Addresses => f.write_str("not enough address registers"),
            LowerError::Operand(what) => f.write_str(what),
            LowerError::Check(what) => write!(f, "wrong allocation: {what}"),
        }
    }
}

impl std::error::Error for LowerError {}

/// Options of lowering.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LowerOptions {
    /// Restarts of the allocator.
    pub(crate) restarts: u32,
    /// Steps of its exact search.
    pub(crate) exact: u32,
    /// The most temporaries the target has.
    pub(crate) limit: Option<u32>,
    /// Keep the customary use of address registers (0 index, 1 dimension, 2 resource).
    pub(crate) address_roles: bool,
    /// Keep precise and other values in different temporaries.
    pub(crate) separate_precise: bool,
    /// Keep fetches that stand together out of the registers of each other's coordinates.
    pub(crate) part_fetches: bool,
    /// Registers are placed in any order.
    pub(crate) chaos: Option<tgsi_ir::Chaos>,
}

/// Address registers of a program: as many as it declares, at least one.
pub(crate) fn address_registers(program: &Program) -> u8 {
    let declared = program.header.iter().filter_map(|i| match i {
        Item::Decl(d) if d.file == File::Addr => Some(d.last.saturating_add(1)),
        _ => None,
    });
    declared.max().unwrap_or(1).clamp(1, 4) as u8
}

/// A scheduled program before it gets registers.
pub(crate) struct Draft<'a> {
    f: &'a Function,
    layout: &'a Layout,
    p: &'a Packing,
    input: &'a Program,
    options: LowerOptions,
    lines: Lines,
}

impl<'a> Draft<'a> {
    /// Writes the scheduled packs down as lines. Declarations and the number of address
    /// registers come from `input`.
    ///
    /// # Errors
    /// [`LowerError::Addresses`], or an address in a form that cannot be printed.
    pub(crate) fn new(
        f: &'a Function,
        layout: &'a Layout,
        p: &'a Packing,
        order: &[Vec<PackId>],
        input: &'a Program,
        options: LowerOptions,
    ) -> Result<Draft<'a>, LowerError> {
        let address_count = address_registers(input);
        let writer = Writer {
            f,
            layout,
            p,
            address_count,
            role_bound: options.address_roles,
        };
        let lines = writer.write(order)?;
        Ok(Draft {
            f,
            layout,
            p,
            input,
            options,
            lines,
        })
    }

    /// Instructions it will have, `END` left out.
    pub(crate) fn instructions(&self) -> u32 {
        let silent = (0..self.lines.lines.len())
            .filter(|&i| self.lines.silent(i))
            .count();
        (self.lines.lines.len() - silent) as u32
    }

    /// Gives it registers; nothing if it is known to need more than `most` temporaries, those
    /// of arrays left out.
    ///
    /// # Errors
    /// [`LowerError::Alloc`]; the caller keeps what it had.
    pub(crate) fn allocate(self, most: Option<u32>) -> Result<Option<Lowering<'a>>, LowerError> {
        let Draft {
            f,
            layout,
            p,
            input,
            options,
            lines,
        } = self;
        let mut problem = Problem::new(f, layout, p, &lines, options.separate_precise);
        if options.part_fetches {
            problem.part_fetches(&lines);
        }
        let alloc = AllocOptions {
            restarts: options.restarts,
            exact: options.exact,
            limit: options.limit,
            useful: most.map(|m| m.saturating_add(array_temps(f))),
            separate_precise: options.separate_precise,
            seed: options.chaos.map_or(1, |c| c.word("seed", 0)),
            any_order: options.chaos.is_some(),
        };
        let place = |alloc| tgsi_regalloc::allocate_regs(problem.regs(), &problem.arrays, alloc);
        let placed = match place(&alloc) {
            // A result that does not fit may still be better than the input.
            Err(AllocError::OverLimit { .. }) => place(&AllocOptions {
                limit: None,
                ..alloc
            }),
            placed => placed,
        };
        match placed {
            Ok(assignment) => {
                let seats = problem.seats;
                Ok(Some(Lowering {
                    f,
                    p,
                    input,
                    lines,
                    seats,
                    assignment,
                }))
            }
            Err(AllocError::Useless { .. }) => Ok(None),
            Err(e) => Err(LowerError::Alloc(e.to_string())),
        }
    }
}

/// A scheduled program with its registers, ready to be printed. What it will cost is known
/// before that, so of several only the best need be printed.
pub(crate) struct Lowering<'a> {
    f: &'a Function,
    p: &'a Packing,
    input: &'a Program,
    lines: Lines,
    seats: Vec<Seats>,
    assignment: Assignment,
}

impl Lowering<'_> {
    /// Temporaries its instructions will name, those of arrays left out.
    pub(crate) fn temps(&self) -> u32 {
        self.assignment.temps.saturating_sub(array_temps(self.f))
    }

    /// No allocation of these instructions under the same options has fewer temporaries.
    pub(crate) fn temps_bound(&self) -> u32 {
        self.assignment.bound
    }

    /// A quarter of the most channels live at once, rounded up: a weaker bound.
    pub(crate) fn temps_channel_bound(&self) -> u32 {
        self.assignment.channel_bound
    }
}

/// Temporaries of all arrays.
fn array_temps(f: &Function) -> u32 {
    f.arrays.iter().map(|a| (a.1 - a.0 + 1) as u32).sum()
}

/// The register an external reference names.
fn ext_reg(f: &Function, p: &Packing, x: u32) -> RegRef {
    let id = p.lir.exts[x as usize].reg.0 as usize;
    let known = f.regs.len();
    if id < known {
        f.regs[id]
    } else {
        p.lir.extra_regs[id - known]
    }
}
