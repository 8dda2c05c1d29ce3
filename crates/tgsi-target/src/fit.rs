//! Which limits of a target a program exceeds.

use rustc_hash::FxHashSet;
use tgsi::{Decl, File, Item, Program, Register};

use crate::count::{Class, Counts, class, is_kill};
use crate::indirections::indirections;
use crate::target::{Constants, LIMITS, Limits, Target};

/// A limit that a program exceeds: "needs `needs` `what` of `has`".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Name of the limit, as `--limit` takes it.
    pub limit: &'static str,
    /// What there is too much of.
    pub what: &'static str,
    /// How much the program needs.
    pub needs: u32,
    /// How much the target has.
    pub has: u32,
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "needs {} {}, the target has {}",
            self.needs, self.what, self.has
        )
    }
}

/// Every limit of the target that the program exceeds; empty when it fits.
pub fn fit_report(target: &Target, program: &Program, counts: &Counts) -> Vec<Excess> {
    let needs = needs(target, program, counts);
    let over = |l: &crate::LimitName| {
        let (needs, has) = ((l.get)(&needs)?, (l.get)(&target.limits)?);
        (needs > has).then_some(Excess {
            limit: l.name,
            what: l.what,
            needs,
            has,
        })
    };
    LIMITS.iter().filter_map(over).collect()
}

impl Target {
    /// Whether the program is within every limit.
    pub fn fits(&self, program: &Program, counts: &Counts) -> bool {
        fit_report(self, program, counts).is_empty()
    }
}

/// What a program needs of everything that the target limits, as the target counts it.
pub fn needs(target: &Target, program: &Program, counts: &Counts) -> Limits {
    let has = &target.limits;
    let slots = Slots::of(target, program, counts);
    let declared = Declared::of(program, target);
    let indirections = has
        .indirections
        .map(|_| indirections(program, target.indirection_model));
    Limits {
        instructions: Some(slots.all),
        alu: Some(slots.alu),
        tex: Some(slots.tex),
        flow: Some(slots.flow),
        indirections,
        temps: Some(counts.temps),
        constants: Some(declared.constants),
        immediates: Some(counts.immediates),
        inputs: Some(counts.inputs),
        outputs: Some(counts.outputs),
        system_values: Some(declared.system_values),
        samplers: Some(declared.samplers),
        images: Some(declared.images),
        buffers: Some(declared.buffers),
        constant_buffer_index: Some(declared.constant_buffer),
        address_registers: Some(declared.addresses),
        declarations: Some(declared.declarations),
        depth: Some(counts.depth),
        loop_depth: Some(counts.loop_depth),
        call_depth: None,
    }
}

/// Instruction slots by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Every instruction.
    pub all: u32,
    /// Arithmetic, moves among them.
    pub alu: u32,
    /// Fetches, queries and kills.
    pub tex: u32,
    /// Control flow.
    pub flow: u32,
}

impl Slots {
    /// Slots that a program takes on a target.
    pub fn of(target: &Target, program: &Program, counts: &Counts) -> Slots {
        let opcodes = &target.opcodes;
        let mut slots = Slots {
            all: counts.instructions,
            alu: counts.alu,
            tex: counts.tex + counts.kills,
            flow: counts.flow,
        };
        if opcodes.expanded.is_empty() && opcodes.slots.is_empty() {
            return slots;
        }
        for inst in &program.insts {
            let more = opcodes.slots(inst.op).saturating_sub(1);
            if more == 0 {
                continue;
            }
            slots.all = slots.all.saturating_add(more);
            let of_class = match class(inst.op) {
                Class::Alu => &mut slots.alu,
                Class::Tex => &mut slots.tex,
                Class::Effect if is_kill(inst.op) => &mut slots.tex,
                Class::Flow => &mut slots.flow,
                Class::Effect | Class::Memory => continue,
            };
            *of_class = of_class.saturating_add(more);
        }
        slots
    }
}

/// One past the highest declared register of each file, and what else the declarations tell.
#[derive(Default)]
struct Declared {
    constants: u32,
    constant_buffer: u32,
    system_values: u32,
    samplers: u32,
    images: u32,
    buffers: u32,
    addresses: u32,
    declarations: u32,
}

impl Declared {
    fn of(program: &Program, target: &Target) -> Self {
        let mut declared = Declared::default();
        let mut immediates = 0;
        for item in &program.header {
            let decl = match item {
                Item::Decl(decl) => decl,
                Item::Imm(_) => {
                    immediates += 1;
                    continue;
                }
                _ => continue,
            };
            let end = u32::try_from(i64::from(decl.last) + 1).unwrap_or(0);
            declared.declarations = declared.declarations.saturating_add(length(decl));
            let slot = match decl.file {
                File::Const => {
                    if let Some(Some(buffer)) = decl.dim {
                        let buffer = u32::try_from(buffer).unwrap_or(0);
                        declared.constant_buffer = declared.constant_buffer.max(buffer);
                    }
                    &mut declared.constants
                }
                File::Sv => &mut declared.system_values,
                File::Samp => &mut declared.samplers,
                File::Image => &mut declared.images,
                File::Buffer => &mut declared.buffers,
                File::Addr => &mut declared.addresses,
                _ => continue,
            };
            *slot = (*slot).max(end);
        }
        if target.constants != Constants::Declared {
            declared.constants = named_constants(program);
        }
        if target.constants == Constants::NamedAndImmediates {
            declared.constants = declared.constants.saturating_add(immediates);
        }
        declared
    }
}

/// What a declaration takes of a limit on declarations: inputs and samplers one each, as the
/// hardware declares them.
fn length(decl: &Decl) -> u32 {
    if !matches!(decl.file, File::In | File::Samp) {
        return 0;
    }
    u32::try_from(i64::from(decl.last) - i64::from(decl.first) + 1).unwrap_or(0)
}

/// Distinct constant registers that instructions name. A buffer that is read with an index counts
/// with all it declares.
fn named_constants(program: &Program) -> u32 {
    let buffer = |r: &Register| match &r.dim {
        Some(d) if d.addr.is_none() => d.base,
        _ => 0,
    };
    let mut named: FxHashSet<(i32, i32)> = FxHashSet::default();
    let mut whole = false;
    let regs = program.insts.iter().flat_map(|i| &i.srcs);
    for reg in regs.map(|s| &s.reg).filter(|r| r.file == File::Const) {
        if reg.is_indirect() {
            whole = true;
        }
        named.insert((buffer(reg), reg.index.base));
    }
    let n = u32::try_from(named.len()).unwrap_or(u32::MAX);
    if !whole {
        return n;
    }
    let declared = program.header.iter().map(|item| match item {
        Item::Decl(d) if d.file == File::Const => {
            u32::try_from(i64::from(d.last) - i64::from(d.first) + 1).unwrap_or(0)
        }
        _ => 0,
    });
    n.max(declared.fold(0, u32::saturating_add))
}
