//! What LIFT must know of a whole program before it walks it: which registers are variables, which
//! arrays stay memory, where each channel is read last, how control flow nests.

use rustc_hash::FxHashMap;
use tgsi::usage::dst_mask;
use tgsi::{File, Index, Inst, Item as Header, Opcode, Program, Register, Stage};

use super::{LiftError, MAX_DEPTH, MAX_REGISTER, addr_regs};

/// What is known of the program before the walk.
pub(super) struct Plan {
    /// Number of variables: the channels of the registers in SSA form.
    pub(super) vars: usize,
    pub(super) addr_base: usize,
    pub(super) out_base: usize,
    /// First slot of the leaves of each class, behind the variables; see [`leaf_class`].
    pub(super) leaf_base: [usize; LEAF_CLASSES],
    /// Registers of each class that have slots.
    pub(super) leaf_count: [usize; LEAF_CLASSES],
    /// Number of variables and leaves.
    pub(super) slots: usize,
    pub(super) imms: Vec<[u32; 4]>,
    pub(super) arrays: Vec<(i32, i32, u32)>,
    pub(super) out_memory: bool,
    pub(super) outputs: Vec<(i32, u8)>,
    /// Index of the last instruction that reads each TEMP, then each ADDR, plus one; 0 = never.
    pub(super) last_read: Vec<u32>,
    /// Channels of each OUT register that are written.
    pub(super) written: Vec<u8>,
    /// For each BGNLOOP, IF, ELSE...: the matching closer.
    pub(super) close: FxHashMap<usize, usize>,
}

/// Kinds of registers whose content never changes and that are looked up by number.
pub(super) const LEAF_CLASSES: usize = 5;
/// Most registers of a class with slots of their own; the others are hashed at each read.
pub(super) const MAX_LEAVES: usize = 1024;

/// The class of a direct register that never changes, with its number.
#[inline]
pub(super) fn leaf_class(reg: &Register) -> Option<(usize, usize)> {
    if reg.index.array != 0 {
        return None;
    }
    let class = match (reg.file, reg.dim) {
        (File::Imm, None) => 0,
        (File::In, None) => 1,
        (File::Sv, None) => 2,
        (File::Const, None) => 3,
        (File::Const, Some(d)) if d == Index::direct(0) => 4,
        _ => return None,
    };
    usize::try_from(reg.index.base)
        .ok()
        .filter(|&i| i < MAX_LEAVES)
        .map(|i| (class, i))
}

/// Gathers what [`Plan`] needs in one pass over the instructions.
#[derive(Default)]
struct Scan {
    /// Last reads of TEMP and ADDR registers; as long as their largest number plus one.
    last: [Vec<u32>; 2],
    /// Written channels of OUT registers.
    written: Vec<u8>,
    leaves: [usize; LEAF_CLASSES],
    /// Array ids of indexed TEMPs.
    indexed: Vec<u32>,
    out_memory: bool,
    open: Vec<usize>,
    close: FxHashMap<usize, usize>,
}

/// The element for register `i`, made if it is missing.
fn grown<T: Default + Clone>(v: &mut Vec<T>, i: usize) -> &mut T {
    if i >= v.len() {
        v.resize(i + 1, T::default());
    }
    &mut v[i]
}

/// The number of a direct register that is lifted.
fn number(reg: &Register, at: usize) -> Result<usize, LiftError> {
    match reg.index.base {
        ..0 => Err(LiftError::Operand {
            at,
            what: "negative register number",
        }),
        i if i > MAX_REGISTER => Err(LiftError::Limit("register number above 65535")),
        i => Ok(i as usize),
    }
}

impl Scan {
    fn inst(&mut self, inst: &Inst, at: usize) -> Result<(), LiftError> {
        for (k, d) in inst.dsts.iter().enumerate() {
            // A 64-bit result fills its pair where the mask has one half only.
            let whole = if k == 0 { dst_mask(inst) } else { 0 };
            self.dst(&d.reg, d.mask | whole, at)?;
        }
        for s in &inst.srcs {
            self.out_memory |= s.reg.file == File::Out;
            self.read(&s.reg, at)?;
            if s.reg.is_indirect() {
                self.addresses(&s.reg, at)?;
            }
        }
        for o in &inst.offsets {
            self.read(&o.reg, at)?;
        }
        Ok(())
    }

    fn addresses(&mut self, reg: &Register, at: usize) -> Result<(), LiftError> {
        addr_regs(reg).iter().try_for_each(|a| self.read(a, at))
    }

    /// Whether a register is indexed; a TEMP that is, or that has an outer bracket, makes its
    /// array memory.
    fn note_indexed(&mut self, reg: &Register) -> bool {
        if reg.index.addr.is_none() && (reg.file != File::Temp || reg.dim.is_none()) {
            return false;
        }
        if reg.file == File::Temp && !self.indexed.contains(&reg.index.array) {
            self.indexed.push(reg.index.array);
        }
        true
    }

    fn dst(&mut self, reg: &Register, mask: u8, at: usize) -> Result<(), LiftError> {
        if !self.note_indexed(reg) {
            match reg.file {
                File::Temp => {
                    grown(&mut self.last[0], number(reg, at)?);
                }
                File::Addr => {
                    grown(&mut self.last[1], number(reg, at)?);
                }
                File::Out => *grown(&mut self.written, number(reg, at)?) |= mask & 0xf,
                _ => {}
            }
        }
        self.out_memory |= reg.file == File::Out && (reg.is_indirect() || reg.dim.is_some());
        if reg.is_indirect() {
            self.addresses(reg, at)
        } else {
            Ok(())
        }
    }

    fn read(&mut self, reg: &Register, at: usize) -> Result<(), LiftError> {
        if self.note_indexed(reg) {
            return Ok(());
        }
        // Only registers of one dimension become variables.
        let stamp = if reg.dim.is_none() { at as u32 + 1 } else { 0 };
        match reg.file {
            File::Temp | File::Addr => {
                let last = grown(
                    &mut self.last[usize::from(reg.file == File::Addr)],
                    number(reg, at)?,
                );
                *last = stamp.max(*last);
            }
            File::Out => {
                grown(&mut self.written, number(reg, at)?);
            }
            _ => {
                if let Some((class, i)) = leaf_class(reg) {
                    self.leaves[class] = self.leaves[class].max(i + 1);
                }
            }
        }
        Ok(())
    }

    /// Matches openers and closers.
    fn flow(&mut self, insts: &[Inst], at: usize) -> Result<(), LiftError> {
        let op = insts[at].op;
        match op {
            Opcode::If | Opcode::Uif | Opcode::Bgnloop | Opcode::Switch => self.open.push(at),
            Opcode::Else | Opcode::Endif | Opcode::Endloop | Opcode::Endswitch => {
                let i = self.open.pop().ok_or(LiftError::Structure { at })?;
                let ok = match insts[i].op {
                    Opcode::If | Opcode::Uif => matches!(op, Opcode::Else | Opcode::Endif),
                    Opcode::Else => op == Opcode::Endif,
                    Opcode::Bgnloop => op == Opcode::Endloop,
                    _ => op == Opcode::Endswitch,
                };
                if !ok {
                    return Err(LiftError::Structure { at });
                }
                self.close.insert(i, at);
                if op == Opcode::Else {
                    self.open.push(at);
                }
            }
            _ => return Ok(()),
        }
        if self.open.len() > MAX_DEPTH {
            return Err(LiftError::Limit("nesting deeper than 200"));
        }
        Ok(())
    }
}

/// The TEMP ranges that are memory: the arrays whose ids are indexed; all of TEMP for id 0.
fn memory_arrays(
    program: &Program,
    indexed: &[u32],
    temps: usize,
) -> Result<Vec<(i32, i32, u32)>, LiftError> {
    let mut arrays: Vec<(i32, i32, u32)> = Vec::new();
    if indexed.is_empty() {
        return Ok(arrays);
    }
    let declared = program.header.iter().filter_map(|item| match item {
        Header::Decl(d) if d.file == File::Temp => Some((d.first, d.last, d.array)),
        _ => None,
    });
    let too_large = LiftError::Limit("register number above 65535");
    if indexed.contains(&0) {
        // No array id: any TEMP may be meant.
        let last = declared
            .map(|d| d.1)
            .max()
            .unwrap_or(-1)
            .max(temps as i32 - 1);
        if last > MAX_REGISTER {
            return Err(too_large);
        }
        arrays.push((0, last, 0));
    } else {
        for d in declared.filter(|d| indexed.contains(&d.2)) {
            if d.1 > MAX_REGISTER || d.0 < 0 || d.1 < d.0 {
                return Err(too_large);
            }
            arrays.push(d);
        }
    }
    arrays.sort_unstable();
    arrays.dedup();
    if arrays.windows(2).any(|w| w[1].0 <= w[0].1) {
        return Err(LiftError::Limit("overlapping arrays"));
    }
    Ok(arrays)
}

impl Plan {
    pub(super) fn new(program: &Program) -> Result<Plan, LiftError> {
        let mut scan = Scan {
            out_memory: matches!(program.stage, Stage::Geom | Stage::TessCtrl),
            ..Scan::default()
        };
        scan.last[0].reserve(16);
        scan.written.reserve(8);
        let mut nesting = Ok(());
        for (at, inst) in program.insts.iter().enumerate() {
            scan.inst(inst, at)?;
            if nesting.is_ok() {
                nesting = scan.flow(&program.insts, at);
            }
        }
        let [mut last_read, addrs] = std::mem::take(&mut scan.last);
        let arrays = memory_arrays(program, &scan.indexed, last_read.len())?;
        nesting?;
        if let Some(&at) = scan.open.last() {
            return Err(LiftError::Structure { at });
        }
        let addr_base = 4 * last_read.len();
        let out_base = addr_base + 4 * addrs.len();
        last_read.extend_from_slice(&addrs);
        let imms: Vec<[u32; 4]> = program
            .header
            .iter()
            .filter_map(|item| {
                if let Header::Imm(i) = item {
                    Some(i.words)
                } else {
                    None
                }
            })
            .collect();
        scan.leaves[0] = scan.leaves[0].min(imms.len());
        let mut plan = Plan {
            vars: out_base + 4 * scan.written.len(),
            addr_base,
            out_base,
            leaf_base: [0; LEAF_CLASSES],
            leaf_count: scan.leaves,
            slots: 0,
            imms,
            arrays,
            out_memory: scan.out_memory,
            outputs: Vec::new(),
            last_read,
            written: scan.written,
            close: scan.close,
        };
        plan.slots = plan.vars;
        for (base, count) in plan.leaf_base.iter_mut().zip(&plan.leaf_count) {
            *base = plan.slots;
            plan.slots += 4 * count;
        }
        if !plan.out_memory {
            for (r, mask) in plan.written.iter().enumerate() {
                plan.outputs.extend(
                    (0..4u8)
                        .filter(|c| mask >> c & 1 != 0)
                        .map(|c| (r as i32, c)),
                );
            }
        }
        Ok(plan)
    }

    pub(super) fn in_array(&self, index: i32) -> bool {
        self.arrays.iter().any(|a| a.0 <= index && index <= a.1)
    }

    /// The first of the four variables of a register that is in SSA form.
    #[inline]
    pub(super) fn var(&self, reg: &Register) -> Option<usize> {
        if reg.index.addr.is_some() || reg.dim.is_some() {
            return None;
        }
        let i = reg.index.base as usize;
        match reg.file {
            File::Temp if !self.in_array(reg.index.base) => Some(4 * i),
            File::Addr => Some(self.addr_base + 4 * i),
            File::Out if !self.out_memory => Some(self.out_base + 4 * i),
            _ => None,
        }
    }

    /// The first of the four slots of a register that is a variable or a leaf.
    #[inline]
    pub(super) fn slot(&self, reg: &Register) -> Option<usize> {
        match reg.file {
            File::Temp | File::Addr | File::Out => self.var(reg),
            _ if reg.index.addr.is_some() => None,
            _ => {
                let (class, i) = leaf_class(reg)?;
                (i < self.leaf_count[class]).then(|| self.leaf_base[class] + 4 * i)
            }
        }
    }

    /// Index of the last instruction that reads a variable, plus one; outputs are read at the end.
    pub(super) fn last_read(&self, var: u32) -> u32 {
        match (var as usize).checked_sub(self.out_base) {
            None => self.last_read[var as usize / 4],
            Some(o) if self.written[o / 4] >> (o % 4) & 1 != 0 => u32::MAX,
            Some(_) => 0,
        }
    }
}
