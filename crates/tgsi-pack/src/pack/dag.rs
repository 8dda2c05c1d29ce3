//! Dependences between the nodes of a block.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{Effect, File, Opcode};
use tgsi_ir::{Function, MultiKind};

use super::Packing;
use crate::lir::{NONE, NodeId, Ref, What, is_fence, regs_may_alias};

/// What a node does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Nothing,
    /// Ordered with all effects.
    Effect,
    /// Reads buffers, images or shared memory.
    Read,
    /// Fetch with implicit derivatives.
    Quad,
    /// Writes a TEMP array or OUT.
    Store,
    /// Reads a TEMP array or OUT.
    Load,
}

fn is_kill(op: Opcode) -> bool {
    matches!(op, Opcode::Kill | Opcode::KillIf | Opcode::Demote)
}

impl Packing {
    fn touch(&self, f: &Function, n: NodeId) -> Touch {
        let node = &self.lir.nodes[n as usize];
        match node.what {
            What::Alu(_) => Touch::Nothing,
            What::Multi(v) => {
                let m = f.as_multi(v).expect("a multi-result value");
                match m.kind {
                    MultiKind::Pure => Touch::Nothing,
                    MultiKind::Store => Touch::Store,
                    MultiKind::Load => Touch::Load,
                    MultiKind::Effect => Touch::Effect,
                    MultiKind::Pinned if m.inst.op.info().effect == Effect::Read => Touch::Read,
                    MultiKind::Pinned => Touch::Quad,
                }
            }
        }
    }

    /// The memory register a node reads or writes itself.
    fn memory(&self, f: &Function, n: NodeId) -> Option<tgsi::Register> {
        let What::Multi(v) = self.lir.nodes[n as usize].what else { return None };
        let m = f.as_multi(v)?;
        match m.kind {
            MultiKind::Store => Some(m.inst.dsts[0].reg),
            MultiKind::Load => Some(m.inst.srcs[0].reg),
            _ => None,
        }
    }

    /// Memory registers that a node reads through folded loads.
    fn folded(&self, f: &Function, n: NodeId) -> SmallVec<[tgsi::Register; 1]> {
        let node = &self.lir.nodes[n as usize];
        let mut out = SmallVec::new();
        let mut note = |r: Ref| {
            if let Ref::Ext(x, _) = r {
                let mut add = |load: u32| {
                    if load != NONE
                        && let Some(m) = f.as_multi(tgsi_ir::value_at(load as usize))
                    {
                        out.push(m.inst.srcs[0].reg);
                    }
                };
                let ext = &self.lir.exts[x as usize];
                add(ext.load);
                for a in &ext.addrs {
                    if let Ref::Ext(y, _) = a.r {
                        add(self.lir.exts[y as usize].load);
                    }
                }
            }
        };
        self.lir.words(node).iter().for_each(|o| note(o.r));
        node.addrs.iter().for_each(|a| note(a.1.r));
        out
    }

    /// Computes [`Packing::preds`] for every block.
    pub(super) fn dependences(&mut self, f: &Function) {
        self.preds = vec![SmallVec::new(); self.lir.nodes.len()];
        for b in 0..self.blocks.len() {
            self.block_dependences(f, b);
        }
    }

    fn block_dependences(&mut self, f: &Function, b: usize) {
        let mut order: Vec<NodeId> =
            self.blocks[b].iter().flat_map(|&p| self.packs[p as usize].nodes.iter().copied()).collect();
        order.sort_by_key(|&n| (self.lir.nodes[n as usize].pos, n));
        // Edge copies act at once: all read before any writes.
        let end = self.lir.blocks[b].end - 2;
        let cut = order.partition_point(|&n| self.lir.nodes[n as usize].pos < end);
        let mut flow = Flow::default();
        for &n in &order[..cut] {
            self.flow_reads(n, &mut flow);
            self.flow_writes(n, &mut flow);
        }
        for &n in &order[cut..] {
            self.flow_reads(n, &mut flow);
        }
        for &n in &order[cut..] {
            self.flow_writes(n, &mut flow);
        }
        self.memory_order(f, &order);
    }

    fn edge(&mut self, from: NodeId, to: NodeId) {
        if from != to && !self.preds[to as usize].contains(&from) {
            self.preds[to as usize].push(from);
        }
    }

    fn flow_reads(&mut self, n: NodeId, flow: &mut Flow) {
        let mut webs: SmallVec<[u32; 8]> = SmallVec::new();
        let node = &self.lir.nodes[n as usize];
        self.lir.reads(node, &mut |e| webs.push(self.webs.find(e)));
        for w in webs {
            let state = flow.entry(w).or_default();
            if let Some(d) = state.0 {
                self.edge(d, n);
            }
            if state.1.last() != Some(&n) {
                state.1.push(n);
            }
        }
    }

    fn flow_writes(&mut self, n: NodeId, flow: &mut Flow) {
        let dst = self.lir.nodes[n as usize].dst.clone();
        for e in dst {
            let w = self.webs.find(e);
            let state = flow.entry(w).or_default();
            let readers = std::mem::take(&mut state.1);
            let old = state.0.replace(n);
            for r in readers {
                self.edge(r, n);
            }
            if let Some(d) = old {
                self.edge(d, n);
            }
        }
    }

    /// Effects in order, memory accesses around them, fetches on their side of a kill.
    fn memory_order(&mut self, f: &Function, order: &[NodeId]) {
        let mut last_effect: Option<NodeId> = None;
        let mut last_kill: Option<NodeId> = None;
        // Reads and OUT stores since the last effect, quads since the last kill.
        let mut reads: Vec<NodeId> = Vec::new();
        let mut quads: Vec<NodeId> = Vec::new();
        let mut stores: Vec<(NodeId, tgsi::Register)> = Vec::new();
        let mut loads: Vec<(NodeId, tgsi::Register)> = Vec::new();
        for &n in order {
            let touch = self.touch(f, n);
            let folded = self.folded(f, n);
            for r in folded {
                for (s, w) in stores.clone() {
                    if regs_may_alias(f, &r, &w) {
                        self.edge(s, n);
                    }
                }
                if r.file == File::Out {
                    if let Some(e) = last_effect {
                        self.edge(e, n);
                    }
                    reads.push(n);
                }
                loads.push((n, r));
            }
            match touch {
                Touch::Nothing => {}
                Touch::Effect => {
                    if let Some(e) = last_effect {
                        self.edge(e, n);
                    }
                    for r in std::mem::take(&mut reads) {
                        self.edge(r, n);
                    }
                    last_effect = Some(n);
                    if let What::Multi(v) = self.lir.nodes[n as usize].what
                        && let Some(m) = f.as_multi(v)
                    {
                        if is_kill(m.inst.op) {
                            for q in std::mem::take(&mut quads) {
                                self.edge(q, n);
                            }
                            last_kill = Some(n);
                        }
                        debug_assert!(!is_fence(m) || m.kind == MultiKind::Effect);
                    }
                }
                Touch::Read => {
                    if let Some(e) = last_effect {
                        self.edge(e, n);
                    }
                    reads.push(n);
                }
                Touch::Quad => {
                    if let Some(k) = last_kill {
                        self.edge(k, n);
                    }
                    quads.push(n);
                }
                Touch::Load | Touch::Store => {
                    let Some(reg) = self.memory(f, n) else { continue };
                    if reg.file == File::Out {
                        if let Some(e) = last_effect {
                            self.edge(e, n);
                        }
                        reads.push(n);
                    }
                    for (s, w) in stores.clone() {
                        if regs_may_alias(f, &reg, &w) && !(touch == Touch::Store && self.disjoint(f, s, n)) {
                            self.edge(s, n);
                        }
                    }
                    if touch == Touch::Store {
                        for (l, r) in loads.clone() {
                            if regs_may_alias(f, &r, &reg) {
                                self.edge(l, n);
                            }
                        }
                        stores.push((n, reg));
                    } else {
                        loads.push((n, reg));
                    }
                }
            }
        }
    }

    /// Whether two stores write different channels.
    fn disjoint(&self, f: &Function, a: NodeId, b: NodeId) -> bool {
        let mask = |n: NodeId| match self.lir.nodes[n as usize].what {
            What::Multi(v) => f.as_multi(v).map_or(0xf, |m| m.inst.dsts[0].mask),
            What::Alu(_) => 0xf,
        };
        mask(a) & mask(b) == 0
    }
}

/// Per web: the last write in the block and the reads since.
type Flow = FxHashMap<u32, (Option<NodeId>, Vec<NodeId>)>;
