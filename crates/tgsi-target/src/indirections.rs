//! Texture indirections: how often a program's fetches depend on earlier results.

use tgsi::{Dst, File, Program, Src};

use crate::count::{Class, class};
use crate::registers::{Registers, Rules};

/// How a target counts texture indirections (nodes, phases).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndirectionModel {
    /// ARB_fragment_program: a fetch starts a new indirection if its coordinate was
    /// written since the last one, or its destination was touched by arithmetic since then.
    #[default]
    Arb,
    /// Nodes of R300: as `Arb`; a fetch may overwrite what another fetch of the node reads.
    #[serde(rename = "r300-node")]
    R300Node,
    /// Phases of i915: only the coordinate counts, and a fetch into an output starts a phase.
    #[serde(rename = "i915-phase")]
    I915Phase,
    /// Direct3D 9: the longest chain of dependent reads.
    #[serde(rename = "d3d-order")]
    D3dOrder,
}

/// Number of texture indirections of a program, in program order whatever its control flow.
///
/// The first one counts: 1 for a program without dependent fetches, and by
/// [`IndirectionModel::D3dOrder`] 0 for one without any fetch.
pub fn indirections(program: &Program, model: IndirectionModel) -> u32 {
    match model {
        IndirectionModel::Arb | IndirectionModel::R300Node => by_marks(program, Rules::ARB),
        IndirectionModel::I915Phase => by_marks(program, Rules::I915),
        IndirectionModel::D3dOrder => longest_chain(program),
    }
}

/// The number of the TEMP a source names, by its base when relative.
fn temp_src(src: &Src) -> Option<i32> {
    (src.reg.file == File::Temp).then_some(src.reg.index.base)
}

fn by_marks(program: &Program, rules: Rules) -> u32 {
    let mut registers = Registers::new(&program.header, rules);
    for inst in &program.insts {
        registers.step(inst, class(inst.op));
    }
    registers.indirection
}

/// Registers beyond this share one depth.
const LAST: usize = 1 << 16;

fn slot(reg: i32) -> usize {
    usize::try_from(reg).map_or(LAST, |r| r.min(LAST))
}

/// Length of the dependent-read chain behind each channel of each TEMP.
#[derive(Default)]
struct Chains {
    depths: Vec<[u32; 4]>,
}

impl Chains {
    fn get(&self, reg: i32, channel: u8) -> u32 {
        self.depths
            .get(slot(reg))
            .map_or(0, |d| d[usize::from(channel & 3)])
    }
    fn set(&mut self, dst: &Dst, depth: u32) {
        let slot = slot(dst.reg.index.base);
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
