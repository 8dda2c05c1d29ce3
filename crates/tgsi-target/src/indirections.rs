//! Texture indirections: how often a program's fetches depend on earlier results.

use tgsi::{Dst, File, Inst, Opcode, Program, Src};

use crate::count::{Class, class};

/// How a target counts texture indirections (nodes, phases).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndirectionModel {
    /// ARB_fragment_program: a fetch starts a new indirection if its coordinate was
    /// written since the last one, or its destination was touched by arithmetic since then.
    Arb,
    /// Nodes of R300: as `Arb`; a fetch may overwrite what another fetch of the node reads.
    R300Node,
    /// Phases of i915: only the coordinate counts, and a fetch into an output starts a phase.
    I915Phase,
    /// Direct3D 9: the longest chain of dependent reads.
    D3dOrder,
}

/// Number of texture indirections of a program, in program order whatever its control flow.
///
/// The first one counts: 1 for a program without dependent fetches, and by
/// [`IndirectionModel::D3dOrder`] 0 for one without any fetch.
pub fn indirections(program: &Program, model: IndirectionModel) -> u32 {
    match model {
        IndirectionModel::Arb | IndirectionModel::R300Node => by_sets(program, true, false),
        IndirectionModel::I915Phase => by_sets(program, false, true),
        IndirectionModel::D3dOrder => longest_chain(program),
    }
}

/// A set of small register numbers that empties in constant time.
#[derive(Default)]
struct Epochs {
    marks: Vec<u32>,
}

/// Registers beyond this share one mark, which can only make the count larger.
const LAST: usize = 1 << 16;

impl Epochs {
    fn slot(reg: i32) -> usize {
        usize::try_from(reg).map_or(LAST, |r| r.min(LAST))
    }
    fn contains(&self, reg: i32, epoch: u32) -> bool {
        self.marks.get(Self::slot(reg)).is_some_and(|&m| m == epoch)
    }
    fn insert(&mut self, reg: i32, epoch: u32) {
        let slot = Self::slot(reg);
        if slot >= self.marks.len() {
            self.marks.resize(slot + 1, 0);
        }
        self.marks[slot] = epoch;
    }
}

/// The number of the TEMP a source names, by its base when relative.
fn temp_src(src: &Src) -> Option<i32> {
    (src.reg.file == File::Temp).then_some(src.reg.index.base)
}

fn temp_dst(dst: &Dst) -> Option<i32> {
    (dst.reg.file == File::Temp).then_some(dst.reg.index.base)
}

fn is_kill(inst: &Inst) -> bool {
    matches!(inst.op, Opcode::KillIf | Opcode::Kill)
}

fn by_sets(program: &Program, alu_destinations: bool, output_starts: bool) -> u32 {
    let mut written = Epochs::default();
    let mut alu = Epochs::default();
    let mut epoch = 1u32;
    for inst in &program.insts {
        let kind = class(inst.op);
        let kill = is_kill(inst);
        if kind == Class::Tex || kill {
            let coordinate = inst
                .srcs
                .iter()
                .filter_map(temp_src)
                .any(|r| written.contains(r, epoch));
            let reused = alu_destinations
                && !kill
                && inst
                    .dsts
                    .iter()
                    .filter_map(temp_dst)
                    .any(|r| alu.contains(r, epoch));
            let output = output_starts && inst.dsts.iter().any(|d| d.reg.file == File::Out);
            epoch += u32::from(coordinate || reused || output);
        }
        if matches!(kind, Class::Alu | Class::Memory) {
            for reg in inst
                .srcs
                .iter()
                .filter_map(temp_src)
                .chain(inst.dsts.iter().filter_map(temp_dst))
            {
                alu.insert(reg, epoch);
            }
        }
        if !kill {
            for reg in inst.dsts.iter().filter_map(temp_dst) {
                written.insert(reg, epoch);
            }
        }
    }
    epoch
}

/// Length of the dependent-read chain behind each channel of each TEMP.
#[derive(Default)]
struct Chains {
    depths: Vec<[u32; 4]>,
}

impl Chains {
    fn get(&self, reg: i32, channel: u8) -> u32 {
        self.depths
            .get(Epochs::slot(reg))
            .map_or(0, |d| d[usize::from(channel & 3)])
    }
    fn set(&mut self, dst: &Dst, depth: u32) {
        let slot = Epochs::slot(dst.reg.index.base);
        if slot >= self.depths.len() {
            self.depths.resize(slot + 1, [0; 4]);
        }
        for channel in 0..4 {
            if dst.mask >> channel & 1 != 0 {
                let old = &mut self.depths[slot][channel];
                *old = if dst.reg.is_indirect() {
                    depth.max(*old)
                } else {
                    depth
                };
            }
        }
    }
}

fn longest_chain(program: &Program) -> u32 {
    let mut chains = Chains::default();
    let mut longest = 0;
    for inst in &program.insts {
        let wanted = inst.dsts.first().map_or(0xf, |d| d.mask);
        let mut depth = 0;
        for (i, src) in inst.srcs.iter().enumerate() {
            let Some(reg) = temp_src(src) else { continue };
            let read = tgsi::usage::src_mask(inst, i, wanted);
            for channel in (0..4).filter(|c| read >> c & 1 != 0) {
                depth = depth.max(chains.get(reg, src.swizzle[channel]));
            }
        }
        if class(inst.op) == Class::Tex {
            depth += 1;
            longest = longest.max(depth);
        }
        for dst in inst.dsts.iter().filter(|d| d.reg.file == File::Temp) {
            chains.set(dst, depth);
        }
    }
    longest
}
