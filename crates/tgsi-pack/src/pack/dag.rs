//! Dependences between the nodes of a block.

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
        let What::Multi(v) = self.lir.nodes[n as usize].what else {
            return None;
        };
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
        self.lir.node_addrs(node).iter().for_each(|a| note(a.1.r));
        out
    }

    /// Computes [`Packing::preds`] for every block.
    pub(super) fn dependences(&mut self, f: &Function) {
        self.preds = (0..self.lir.nodes.len()).map(|_| SmallVec::new()).collect();
        let memory = self
            .lir
            .nodes
            .iter()
            .enumerate()
            .any(|(n, _)| !matches!(self.touch(f, n as NodeId), Touch::Nothing | Touch::Quad))
            || self.lir.exts.iter().any(|x| x.load != NONE);
        let mut flow = Flow {
            states: vec![
                State {
                    block: NONE,
                    def: NONE,
                    readers: NONE
                };
                self.lir.ents as usize
            ],
            pool: Vec::new(),
        };
        for b in 0..self.blocks.len() {
            self.block_dependences(f, b, &mut flow, memory);
        }
    }

    fn block_dependences(&mut self, f: &Function, b: usize, flow: &mut Flow, memory: bool) {
        // The block's own nodes stand in order; inserted copies are merged in.
        let own = &self.lir.blocks[b].nodes;
        let base = self.original;
        let mut order: Vec<(u32, NodeId)> = Vec::with_capacity(own.len() + 16);
        order.extend(own.iter().map(|&n| (self.lir.nodes[n as usize].pos, n)));
        for &p in &self.blocks[b] {
            let copies = self.packs[p as usize].nodes.iter().filter(|&&n| n >= base);
            order.extend(copies.map(|&n| (self.lir.nodes[n as usize].pos, n)));
        }
        order.sort();
        // Edge copies act at once: all read before any writes.
        let end = self.lir.blocks[b].end - 2;
        let cut = order.partition_point(|x| x.0 < end);
        flow.pool.clear();
        let b = b as u32;
        for &(_, n) in &order[..cut] {
            self.flow_reads(n, flow, b);
            self.flow_writes(n, flow, b);
        }
        for &(_, n) in &order[cut..] {
            self.flow_reads(n, flow, b);
        }
        for &(_, n) in &order[cut..] {
            self.flow_writes(n, flow, b);
        }
        if memory {
            self.memory_order(f, &order);
        }
    }

    fn edge(&mut self, from: NodeId, to: NodeId) {
        add_edge(&mut self.preds, from, to);
    }

    fn flow_reads(&mut self, n: NodeId, flow: &mut Flow, b: u32) {
        let node = &self.lir.nodes[n as usize];
        let (webs, preds) = (&self.webs, &mut self.preds);
        self.lir.reads(node, &mut |e| {
            let w = webs.find(e);
            let state = *flow.at(w, b);
            let last = state.readers;
            if last == NONE || flow.pool[last as usize].0 != n {
                flow.at(w, b).readers = flow.pool.len() as u32;
                flow.pool.push((n, last));
            }
            if state.def != NONE {
                add_edge(preds, state.def, n);
            }
        });
    }

    fn flow_writes(&mut self, n: NodeId, flow: &mut Flow, b: u32) {
        for e in self.lir.nodes[n as usize].dsts() {
            let w = self.webs.find(e);
            let state = flow.at(w, b);
            let mut reader = std::mem::replace(&mut state.readers, NONE);
            let old = std::mem::replace(&mut state.def, n);
            while reader != NONE {
                let (r, next) = flow.pool[reader as usize];
                self.edge(r, n);
                reader = next;
            }
            if old != NONE {
                self.edge(old, n);
            }
        }
    }

    /// Effects in order, memory accesses around them, fetches on their side of a kill.
    fn memory_order(&mut self, f: &Function, order: &[(u32, NodeId)]) {
        let mut last_effect: Option<NodeId> = None;
        let mut last_kill: Option<NodeId> = None;
        // Reads and OUT stores since the last effect, quads since the last kill.
        let mut reads: Vec<NodeId> = Vec::new();
        let mut quads: Vec<NodeId> = Vec::new();
        let mut stores: Vec<(NodeId, tgsi::Register)> = Vec::new();
        let mut loads: Vec<(NodeId, tgsi::Register)> = Vec::new();
        for &(_, n) in order {
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
                    // Behind a kill its derivatives are not the ones that it had. Killed pixels go on,
                    // though, so it may stand earlier, if levels count.
                    if let Some(k) = last_kill
                        && self.fetches.is_empty()
                    {
                        self.edge(k, n);
                    }
                    quads.push(n);
                }
                Touch::Load | Touch::Store => {
                    let Some(reg) = self.memory(f, n) else {
                        continue;
                    };
                    if reg.file == File::Out {
                        if let Some(e) = last_effect {
                            self.edge(e, n);
                        }
                        reads.push(n);
                    }
                    for (s, w) in stores.clone() {
                        if regs_may_alias(f, &reg, &w)
                            && !(touch == Touch::Store && self.disjoint(f, s, n))
                        {
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

/// Notes that `to` depends on `from`.
#[inline]
fn add_edge(preds: &mut [SmallVec<[NodeId; 4]>], from: NodeId, to: NodeId) {
    let list = &mut preds[to as usize];
    if from != to && !list.contains(&from) {
        list.push(from);
    }
}

/// Per web: the last write in the block and the reads since, as a list in the pool.
struct Flow {
    states: Vec<State>,
    pool: Vec<(NodeId, u32)>,
}

#[derive(Clone, Copy)]
struct State {
    block: u32,
    def: NodeId,
    readers: u32,
}

impl Flow {
    #[inline]
    fn at(&mut self, web: u32, block: u32) -> &mut State {
        let s = &mut self.states[web as usize];
        if s.block != block {
            *s = State {
                block,
                def: NONE,
                readers: NONE,
            };
        }
        s
    }
}
