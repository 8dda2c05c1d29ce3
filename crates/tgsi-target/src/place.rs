//! Which part of a program is to blame for not fitting.

use std::fmt::Write;

use rustc_hash::FxHashSet;
use tgsi::{Dialect, File, Inst, Item, Opcode, Program, Register};

use crate::count::count;
use crate::fit::{Excess, needs};
use crate::indirections::culprits;
use crate::target::{LIMITS, Target};

/// Where a program stops fitting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the instruction.
    pub inst: usize,
    /// Its text.
    pub text: String,
    /// Temporaries live there, where those are too many.
    pub live: Option<u32>,
    /// The fetches on the way to it, where texture indirections are too many.
    pub fetches: Vec<usize>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(live) = self.live {
            write!(f, "most are live, {live}, ")?;
        }
        if !self.fetches.is_empty() {
            let list: Vec<String> = self.fetches.iter().map(usize::to_string).collect();
            write!(f, "fetches {} depend on each other, ", list.join(", "))?;
        }
        write!(f, "at {}: {}", self.inst, self.text)
    }
}

/// Where `program` stops fitting `target` for the reason `excess`: the instruction with which a limit
/// is crossed, or that uses what is missing. For temporaries it is the one where most are live, since
/// their number comes from there. Nothing where declarations alone are too many.
pub fn place(target: &Target, program: &Program, excess: &Excess) -> Option<Place> {
    let (inst, live, fetches) = match *excess {
        Excess::Missing(missing) => (missing.first()?, None, Vec::new()),
        Excess::Limit { limit: "temps", .. } => {
            let (inst, live) = most_live(program)?;
            (inst, Some(live), Vec::new())
        }
        Excess::Limit { limit, .. } => {
            let inst = crossing(target, program, limit)?;
            let mut fetches = Vec::new();
            if limit == "indirections" {
                let first = prefix(program, inst + 1);
                fetches = culprits(&first, target.indirection_model);
            }
            (inst, None, fetches)
        }
    };
    Some(Place {
        inst,
        text: instruction_text(program, inst),
        live,
        fetches,
    })
}

/// A program's text of an instruction, as it is printed.
pub fn instruction_text(program: &Program, inst: usize) -> String {
    let alone = Program {
        stage: program.stage,
        version: None,
        header: Vec::new(),
        insts: vec![program.insts[inst].clone()],
    };
    let printed = tgsi::print(&alone, &Dialect::mesa());
    let line = printed.lines().nth(1).unwrap_or_default();
    let text = line.split_once(": ").map_or(line, |(_, text)| text);
    // A label made for the instruction alone would be wrong.
    match text.split_once(" :") {
        Some((text, _)) => {
            let mut text = text.to_owned();
            if let Some(label) = program.insts[inst].label {
                // Writing to memory cannot fail.
                let _ = write!(text, " :{label}");
            }
            text
        }
        None => text.to_owned(),
    }
}

/// The first instructions of a program, under the same header.
fn prefix(program: &Program, len: usize) -> Program {
    Program {
        stage: program.stage,
        version: program.version,
        header: program.header.clone(),
        insts: program.insts[..len].to_vec(),
    }
}

/// The first instruction with which the program exceeds a limit: no count becomes smaller with more
/// instructions, so it is found by halving.
fn crossing(target: &Target, program: &Program, limit: &str) -> Option<usize> {
    let limit = LIMITS.iter().find(|l| l.name == limit)?;
    let exceeds = |len: usize| {
        let first = prefix(program, len);
        (limit.get)(&needs(target, &first, &count(&first))) > (limit.get)(&target.limits)
    };
    // Too few for `low`, enough for `high`.
    let (mut low, mut high) = (0, program.insts.len());
    if exceeds(low) || !exceeds(high) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if exceeds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(low)
}

/// From the first to the last instruction that names a TEMP.
#[derive(Clone, Copy)]
struct Range {
    first: usize,
    last: usize,
}

/// The instruction at which most TEMPs are between their first and their last use, and how many are.
/// One that is used in a loop and before or behind it lives through the loop.
fn most_live(program: &Program) -> Option<(usize, u32)> {
    let loops = Loops::of(program);
    let mut ranges = ranges(program);
    for r in &mut ranges {
        let (first, last) = (r.first, r.last);
        if let Some((begin, _)) = loops.outermost(first, last) {
            r.first = begin;
        }
        if let Some((_, end)) = loops.outermost(last, first) {
            r.last = end;
        }
    }
    let mut changes = vec![0i64; program.insts.len() + 1];
    for r in &ranges {
        changes[r.first] += 1;
        changes[r.last + 1] -= 1;
    }
    let mut live = 0;
    let mut most = None;
    for (at, change) in changes.iter().take(program.insts.len()).enumerate() {
        live += change;
        if most.is_none_or(|(_, n)| live > n) {
            most = Some((at, live));
        }
    }
    most.map(|(at, n)| (at, u32::try_from(n).unwrap_or(u32::MAX)))
}

fn ranges(program: &Program) -> Vec<Range> {
    let last = program.insts.len().saturating_sub(1);
    let mut uses: Vec<(i32, usize)> = Vec::new();
    let mut indexed: FxHashSet<u32> = FxHashSet::default();
    for (at, inst) in program.insts.iter().enumerate() {
        for reg in registers(inst).filter(|r| r.file == File::Temp) {
            if reg.index.addr.is_none() {
                uses.push((reg.index.base, at));
            } else {
                indexed.insert(reg.index.array);
            }
        }
    }
    // An array that is indexed lives from end to end.
    for item in &program.header {
        if let Item::Decl(d) = item
            && d.file == File::Temp
            && d.array != 0
            && indexed.contains(&d.array)
        {
            let registers = d.first..=d.last.min(d.first.saturating_add(LONGEST_ARRAY));
            uses.extend(registers.flat_map(|r| [(r, 0), (r, last)]));
        }
    }
    uses.sort_unstable();
    uses.dedup();
    let of_one = uses.chunk_by(|a, b| a.0 == b.0);
    of_one
        .map(|uses| Range {
            first: uses[0].1,
            last: uses[uses.len() - 1].1,
        })
        .collect()
}

fn registers(inst: &Inst) -> impl Iterator<Item = &Register> {
    let dsts = inst.dsts.iter().map(|d| &d.reg);
    dsts.chain(inst.srcs.iter().map(|s| &s.reg))
}

/// Registers of an array beyond this do not count as live.
const LONGEST_ARRAY: i32 = 1 << 16;

/// Loops around a loop beyond this are not looked at.
const MOST_NESTED: usize = 100;

/// The loops of a program.
struct Loops {
    /// Where each begins and ends, and the loop around it.
    all: Vec<(usize, usize, Option<usize>)>,
    /// The innermost loop around each instruction.
    around: Vec<Option<usize>>,
}

impl Loops {
    fn of(program: &Program) -> Loops {
        let mut loops = Loops {
            all: Vec::new(),
            around: Vec::with_capacity(program.insts.len()),
        };
        let end = program.insts.len().saturating_sub(1);
        let mut current: Option<usize> = None;
        for (at, inst) in program.insts.iter().enumerate() {
            if matches!(inst.op, Opcode::Bgnloop | Opcode::Bgnfor | Opcode::Rep) {
                loops.all.push((at, end, current));
                current = Some(loops.all.len() - 1);
            }
            loops.around.push(current);
            if matches!(inst.op, Opcode::Endloop | Opcode::Endfor | Opcode::Endrep)
                && let Some(inner) = current
            {
                loops.all[inner].1 = at;
                current = loops.all[inner].2;
            }
        }
        loops
    }

    /// The outermost loop that holds one instruction and not another: where it begins and ends.
    fn outermost(&self, inside: usize, outside: usize) -> Option<(usize, usize)> {
        let innermost = self.around.get(inside).copied().flatten();
        let chain = std::iter::successors(innermost, |l| self.all[*l].2).take(MOST_NESTED);
        chain
            .map(|l| (self.all[l].0, self.all[l].1))
            .take_while(|(begin, end)| !(*begin..=*end).contains(&outside))
            .last()
    }
}
