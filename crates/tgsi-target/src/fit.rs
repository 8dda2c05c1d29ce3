//! Which limits of a target a program exceeds.

use rustc_hash::{FxHashMap, FxHashSet};
use tgsi::{Decl, File, Item, Opcode, Program, Register};

use crate::count::{Counts, union_len};
use crate::indirections::indirections;
use crate::missing::{Missing, missing};
use crate::slots::Slots;
use crate::target::{Constants, LIMITS, Limits, Target};

/// A reason why a program does not fit a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// A limit that it exceeds: "needs `needs` `what`, the target has `has`".
    Limit {
        /// Name of the limit, as `--limit` takes it.
        limit: &'static str,
        /// What there is too much of.
        what: &'static str,
        /// How much the program needs.
        needs: u32,
        /// How much the target has.
        has: u32,
    },
    /// Something that the target does not have at all.
    Missing(Missing),
}

impl Excess {
    /// One word for programs that read reports: the limit, opcode or kind.
    pub fn name(&self) -> &'static str {
        match self {
            Excess::Limit { limit, .. } => limit,
            Excess::Missing(missing) => missing.name(),
        }
    }
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Excess::Limit {
                what, needs, has, ..
            } => write!(f, "needs {needs} {what}, the target has {has}"),
            Excess::Missing(missing) => missing.fmt(f),
        }
    }
}

/// Every reason why the program does not fit the target: limits first, then what the target does
/// not have. Empty when it fits.
pub fn fit_report(target: &Target, program: &Program, counts: &Counts) -> Vec<Excess> {
    let needs = needs(target, program, counts);
    let over = |l: &crate::LimitName| {
        let (needs, has) = ((l.get)(&needs)?, (l.get)(&target.limits)?);
        (needs > has).then_some(Excess::Limit {
            limit: l.name,
            what: l.what,
            needs,
            has,
        })
    };
    let missing = missing(target, program);
    let limits = LIMITS.iter().filter_map(over);
    limits
        .chain(missing.into_iter().map(Excess::Missing))
        .collect()
}

impl Target {
    /// Whether the program is within every limit, and uses nothing that the target does not have.
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
        phase_alu: Some(slots.phase_alu),
        phase_tex: Some(slots.phase_tex),
        indirections,
        temps: Some(counts.temps),
        constants: Some(declared.constants),
        immediates: Some(counts.immediates),
        inputs: Some(counts.inputs),
        coordinates: Some(declared.coordinates),
        colors: Some(declared.colors),
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
        call_depth: has.call_depth.map(|_| call_depth(program)),
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
    coordinates: u32,
    colors: u32,
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
            if matches!(decl.file, File::In | File::Samp) {
                // As the hardware declares them.
                declared.declarations = declared.declarations.saturating_add(length(decl));
            }
            let slot = match decl.file {
                File::Const => {
                    if let Some(Some(buffer)) = decl.dim {
                        let buffer = u32::try_from(buffer).unwrap_or(0);
                        declared.constant_buffer = declared.constant_buffer.max(buffer);
                    }
                    &mut declared.constants
                }
                File::In => {
                    let of_kind = if is_color(decl) {
                        &mut declared.colors
                    } else {
                        &mut declared.coordinates
                    };
                    *of_kind = of_kind.saturating_add(length(decl));
                    continue;
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

/// How many registers a declaration is about.
fn length(decl: &Decl) -> u32 {
    u32::try_from(i64::from(decl.last) - i64::from(decl.first) + 1).unwrap_or(0)
}

fn is_color(decl: &Decl) -> bool {
    let name = decl.semantic.as_ref().map_or("", |s| &*s.name);
    matches!(name, "COLOR" | "BCOLOR")
}

/// Distinct constant registers that instructions name. A buffer that is read with an index counts
/// with all it declares.
fn named_constants(program: &Program) -> u32 {
    let mut ranges: Vec<(i32, i64, i64)> = Vec::new();
    let mut whole: FxHashSet<Option<i32>> = FxHashSet::default();
    let regs = program.insts.iter().flat_map(|i| &i.srcs);
    for reg in regs.map(|s| &s.reg).filter(|r| r.file == File::Const) {
        let buffer = buffer(reg);
        match buffer {
            Some(buffer) if !reg.is_indirect() => {
                let at = i64::from(reg.index.base);
                ranges.push((buffer, at, at));
            }
            _ => _ = whole.insert(buffer),
        }
    }
    for item in &program.header {
        let Item::Decl(d) = item else { continue };
        let of = d.dim.flatten().unwrap_or(0);
        if d.file == File::Const && (whole.contains(&Some(of)) || whole.contains(&None)) {
            ranges.push((of, i64::from(d.first), i64::from(d.last)));
        }
    }
    ranges.sort_unstable();
    union_len(ranges.into_iter())
}

/// The buffer of a constant; nothing if it is only known when the program runs.
fn buffer(reg: &Register) -> Option<i32> {
    match &reg.dim {
        Some(d) if d.addr.is_some() => None,
        Some(d) => Some(d.base),
        None => Some(0),
    }
}

/// Calls nested deeper than this, or in a circle, count as this: no target has so many levels.
const DEEPEST_CALL: u32 = 256;

/// How deeply calls are nested.
fn call_depth(program: &Program) -> u32 {
    // The calls of each subroutine, by where it begins; those of the main program apart.
    let mut subs: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let mut main = Vec::new();
    let mut current = None;
    for (at, inst) in program.insts.iter().enumerate() {
        match inst.op {
            Opcode::Bgnsub => current = Some(at),
            Opcode::Endsub => current = None,
            Opcode::Cal | Opcode::Callnz => {
                let calls = match current {
                    Some(sub) => subs.entry(sub).or_default(),
                    None => &mut main,
                };
                calls.extend(inst.label.map(|l| l as usize));
            }
            _ => {}
        }
    }
    // A round for each level: what is called by what the round before reached.
    let mut reached = main;
    for depth in 0..DEEPEST_CALL {
        if reached.is_empty() {
            return depth;
        }
        let called = reached.iter().filter_map(|sub| subs.get(sub)).flatten();
        reached = called.copied().collect();
        reached.sort_unstable();
        reached.dedup();
    }
    DEEPEST_CALL
}
