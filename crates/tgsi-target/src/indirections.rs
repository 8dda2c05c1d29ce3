//! Texture indirections: how often a program's fetches depend on earlier results.

use rustc_hash::FxHashMap;
use tgsi::{Dst, File, Inst, Program, Src};

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

impl IndirectionModel {
    /// What starts an indirection, by the models that mark registers.
    pub(crate) fn rules(self) -> Rules {
        match self {
            IndirectionModel::I915Phase => Rules::I915,
            IndirectionModel::Arb | IndirectionModel::R300Node | IndirectionModel::D3dOrder => {
                Rules::ARB
            }
        }
    }
}

/// Number of texture indirections of a program, in program order whatever its control flow.
///
/// The first one counts: 1 for a program without dependent fetches, and by
/// [`IndirectionModel::D3dOrder`] 0 for one without any fetch.
pub fn indirections(program: &Program, model: IndirectionModel) -> u32 {
    match model {
        IndirectionModel::Arb | IndirectionModel::R300Node | IndirectionModel::I915Phase => {
            by_marks(program, model.rules())
        }
        IndirectionModel::D3dOrder => Chains::of(program).longest.len() as u32,
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

/// The instructions that make the count of a model what it is: by marks those that start an
/// indirection, and the first fetch of all; by order the fetches of the longest chain.
pub(crate) fn culprits(program: &Program, model: IndirectionModel) -> Vec<usize> {
    if model == IndirectionModel::D3dOrder {
        return Chains::of(program).longest;
    }
    let mut registers = Registers::new(&program.header, model.rules());
    let mut found = Vec::new();
    for (at, inst) in program.insts.iter().enumerate() {
        let before = registers.indirection;
        registers.step(inst, class(inst.op));
        let first = found.is_empty() && class(inst.op) == Class::Tex;
        if first || registers.indirection != before {
            found.push(at);
        }
    }
    found
}

/// Registers beyond this share one depth.
const LAST: usize = 1 << 16;

fn slot(reg: i32) -> usize {
    usize::try_from(reg).map_or(LAST, |r| r.min(LAST))
}

/// What stands behind a channel: how many reads depend on each other, and the last of them.
#[derive(Clone, Copy, Default)]
struct Chain {
    depth: u32,
    last: Option<usize>,
}

/// The chains of dependent reads behind each channel of each TEMP.
#[derive(Default)]
struct Chains {
    behind: Vec<[Chain; 4]>,
    /// For each fetch the one that its coordinate depends on.
    before: FxHashMap<usize, Option<usize>>,
    /// The fetches of the longest chain.
    longest: Vec<usize>,
}

impl Chains {
    fn of(program: &Program) -> Self {
        let mut chains = Chains::default();
        let mut longest = Chain::default();
        for (at, inst) in program.insts.iter().enumerate() {
            let mut chain = chains.behind_operands(inst);
            if class(inst.op) == Class::Tex {
                chains.before.insert(at, chain.last);
                chain = Chain {
                    depth: chain.depth + 1,
                    last: Some(at),
                };
                if chain.depth > longest.depth {
                    longest = chain;
                }
            }
            for dst in inst.dsts.iter().filter(|d| d.reg.file == File::Temp) {
                chains.set(dst, chain);
            }
        }
        let mut at = longest.last;
        while let Some(fetch) = at {
            chains.longest.push(fetch);
            at = chains.before.get(&fetch).copied().flatten();
        }
        chains.longest.reverse();
        chains
    }

    /// The longest chain behind what an instruction reads.
    fn behind_operands(&self, inst: &Inst) -> Chain {
        let wanted = inst.dsts.first().map_or(0xf, |d| d.mask);
        let mut longest = Chain::default();
        for (i, src) in inst.srcs.iter().enumerate() {
            let Some(reg) = temp_src(src) else { continue };
            let Some(channels) = self.behind.get(slot(reg)) else {
                continue;
            };
            let read = tgsi::usage::src_mask(inst, i, wanted);
            for channel in (0..4).filter(|c| read >> c & 1 != 0) {
                let chain = channels[usize::from(src.swizzle[channel] & 3)];
                if chain.depth > longest.depth {
                    longest = chain;
                }
            }
        }
        longest
    }

    fn set(&mut self, dst: &Dst, chain: Chain) {
        let slot = slot(dst.reg.index.base);
        if slot >= self.behind.len() {
            self.behind.resize(slot + 1, Default::default());
        }
        for channel in (0..4).filter(|c| dst.mask >> c & 1 != 0) {
            let old = &mut self.behind[slot][channel];
            // What an index may have left untouched keeps its chain.
            if !dst.reg.is_indirect() || chain.depth > old.depth {
                *old = chain;
            }
        }
    }
}
