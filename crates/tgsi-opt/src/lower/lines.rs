//! Packs and flow instructions as lines, with the address loads they need.

use smallvec::SmallVec;
use tgsi_ir::layout::{BlockId, Layout, Step};
use tgsi_ir::{Function, MultiKind, Slot};
use tgsi_pack::lir::{Address, NONE, Node, NodeId, Ref, What};
use tgsi_pack::pack::{PackId, Packing};

use super::{LowerError, ext_reg};

/// Address registers by the addresses they hold.
pub(super) type AddressRegs = SmallVec<[(Address, u8); 1]>;

/// One line of the program to be.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// A pack, with the address register of each of its address operands.
    Pack(PackId, AddressRegs),
    /// Loads address register `reg`.
    Load { address: Address, reg: u8 },
    /// Flow; conditions and labels are read here.
    Flow(Step, Option<Ref>, AddressRegs),
}

/// The lines of a program.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The lines in order.
    pub(super) lines: Vec<Line>,
    /// First line of each block.
    pub(super) starts: Vec<u32>,
}

impl Lines {
    /// Blocks as spans of points; flow instructions belong to the block before them.
    pub(super) fn spans(&self) -> Vec<(u32, u32)> {
        let ends = self
            .starts
            .iter()
            .skip(1)
            .copied()
            .chain([self.lines.len() as u32 + 1]);
        self.starts
            .iter()
            .zip(ends)
            .map(|(start, end)| (2 * start, 2 * end))
            .collect()
    }

    /// Whether a line prints nothing: an empty second arm needs no ELSE.
    pub(super) fn silent(&self, line: usize) -> bool {
        matches!(self.lines[line], Line::Flow(Step::Else, ..))
            && matches!(self.lines.get(line + 1), Some(Line::Flow(Step::EndIf, ..)))
    }
}

/// What is in the address registers.
#[derive(Clone, Debug, Default, PartialEq)]
struct AddressState {
    held: [Option<Address>; 4],
    /// Time of the last use, for replacement.
    used: [u32; 4],
}

impl AddressState {
    /// What both states agree on.
    fn meet(&self, other: &AddressState) -> AddressState {
        let mut out = AddressState::default();
        for i in 0..4 {
            if self.held[i] == other.held[i] {
                out.held[i] = self.held[i];
                out.used[i] = self.used[i].max(other.used[i]);
            }
        }
        out
    }
}

/// Writes lines.
pub(super) struct Writer<'a> {
    pub(super) f: &'a Function,
    pub(super) layout: &'a Layout,
    pub(super) p: &'a Packing,
    /// Address registers there are, 1 to 4.
    pub(super) address_count: u8,
    /// Keep the customary use of address registers.
    pub(super) role_bound: bool,
}

impl Writer<'_> {
    /// The scheduled packs with the flow between them.
    pub(super) fn write(&self, order: &[Vec<PackId>]) -> Result<Lines, LowerError> {
        let packs: usize = order.iter().map(Vec::len).sum();
        let mut run = Run {
            w: self,
            addressed: !self.p.lir.addrs.is_empty()
                || self.p.lir.exts.iter().any(|x| !x.addrs.is_empty()),
            out: Lines {
                lines: Vec::with_capacity(packs + self.layout.script.len()),
                starts: Vec::with_capacity(order.len()),
            },
            state: AddressState::default(),
            saved: Vec::new(),
            reachable: true,
        };
        let mut last: BlockId = 0;
        for &step in &self.layout.script {
            match step {
                Step::Block(b) => {
                    run.out.starts.push(run.out.lines.len() as u32);
                    last = b;
                    for &q in &order[b as usize] {
                        run.pack(q)?;
                    }
                }
                _ => run.flow(step, last)?,
            }
        }
        Ok(run.out)
    }

    fn names_resource(&self, node: &Node) -> bool {
        match node.what {
            What::Multi(v) => self
                .f
                .as_multi(v)
                .is_some_and(|m| !matches!(m.kind, MultiKind::Load | MultiKind::Store)),
            What::Alu(_) => false,
        }
    }

    /// Whether an address is read from memory.
    fn loaded(&self, a: &Address) -> bool {
        matches!(a.r, Ref::Ext(x, _) if self.p.lir.exts[x as usize].load != NONE)
    }
}

/// The state of writing.
struct Run<'a> {
    w: &'a Writer<'a>,
    /// Whether anything is addressed relatively.
    addressed: bool,
    out: Lines,
    state: AddressState,
    /// For each open IF the state in front of it and that at the end of its first arm.
    saved: Vec<(AddressState, Option<AddressState>)>,
    reachable: bool,
}

impl Run<'_> {
    /// A flow instruction behind block `last`.
    fn flow(&mut self, step: Step, last: BlockId) -> Result<(), LowerError> {
        let p = self.w.p;
        let cond = match step {
            Step::If { .. } | Step::Switch => p.lir.blocks[last as usize].cond,
            Step::Case(v) => self.w.f.as_imm(v).map(Ref::Imm),
            _ => None,
        };
        let mut regs = AddressRegs::new();
        if let Some(Ref::Ext(x, _)) = cond {
            let list = &p.lir.exts[x as usize].addrs;
            for (i, a) in list.iter().enumerate() {
                let role = if list.len() > 1 && i == 0 { 1 } else { 0 };
                let reg = self.address(*a, role, &regs)?;
                regs.push((*a, reg));
            }
        }
        self.out.lines.push(Line::Flow(step, cond, regs));
        if self.addressed {
            self.follow(step);
        }
        Ok(())
    }

    /// What is in the address registers behind a flow instruction.
    fn follow(&mut self, step: Step) {
        match step {
            Step::If { .. } => {
                self.saved.push((self.state.clone(), None));
                self.reachable = true;
            }
            Step::Else => {
                if let Some(top) = self.saved.last_mut() {
                    let then = std::mem::replace(&mut self.state, top.0.clone());
                    top.1 = self.reachable.then_some(then);
                }
                self.reachable = true;
            }
            Step::EndIf => {
                let then = self.saved.pop().and_then(|s| s.1);
                self.state = match (then, self.reachable) {
                    (Some(t), true) => t.meet(&self.state),
                    (Some(t), false) => t,
                    (None, true) => std::mem::take(&mut self.state),
                    (None, false) => AddressState::default(),
                };
                self.reachable = true;
            }
            Step::Break | Step::Continue | Step::Return => self.reachable = false,
            _ => {
                self.state = AddressState::default();
                self.reachable = true;
            }
        }
    }

    fn pack(&mut self, q: PackId) -> Result<(), LowerError> {
        let mut regs = AddressRegs::new();
        if self.addressed {
            for (a, role) in self.wanted(q) {
                let reg = self.address(a, role, &regs)?;
                regs.push((a, reg));
            }
            self.forget(q, &regs);
        }
        self.out.lines.push(Line::Pack(q, regs));
        Ok(())
    }

    /// The addresses a pack needs, with the customary register of each.
    fn wanted(&self, q: PackId) -> SmallVec<[(Address, u8); 2]> {
        let lir = &self.w.p.lir;
        let pack = &self.w.p.packs[q as usize];
        let mut wanted: SmallVec<[(Address, u8); 2]> = SmallVec::new();
        let mut want = |a: Address, role: u8| {
            if !wanted.iter().any(|w| w.0 == a) {
                wanted.push((a, role));
            }
        };
        let stored = (pack.store != NONE).then_some(&pack.store);
        for &n in pack.nodes.iter().chain(stored) {
            let node = &lir.nodes[n as usize];
            // What a store writes comes from the pack itself.
            let words = if n == pack.store {
                &[]
            } else {
                lir.words(node)
            };
            for o in words {
                if let Ref::Ext(x, _) = o.r {
                    let dim = ext_reg(self.w.f, self.w.p, x)
                        .dim
                        .is_some_and(|d| d.relative);
                    for (i, a) in lir.exts[x as usize].addrs.iter().enumerate() {
                        want(*a, if dim && i == 0 { 1 } else { 0 });
                    }
                }
            }
            for (slot, a) in lir.node_addrs(node) {
                let role = match slot {
                    Slot::SrcDim(_) | Slot::DstDim => 1,
                    _ if self.w.names_resource(node) => 2,
                    _ => 0,
                };
                want(*a, role);
            }
        }
        wanted
    }

    /// Forgets what is no longer in the address registers behind a pack.
    fn forget(&mut self, q: PackId, regs: &[(Address, u8)]) {
        let p = self.w.p;
        let written = |n: &NodeId| p.lir.nodes[*n as usize].dsts();
        for e in p.packs[q as usize].nodes.iter().flat_map(written) {
            let web = p.webs.find(e);
            for h in &mut self.state.held {
                if matches!(h, Some(Address { r: Ref::Ent(x), .. }) if p.webs.find(*x) == web) {
                    *h = None;
                }
            }
        }
        // Memory may change: an address from there is loaded anew each time.
        if regs.iter().any(|(a, _)| self.w.loaded(a)) {
            for h in &mut self.state.held {
                if h.as_ref().is_some_and(|a| self.w.loaded(a)) {
                    *h = None;
                }
            }
        }
    }

    /// The register that holds an address, loading it if need be.
    fn address(&mut self, a: Address, role: u8, busy: &[(Address, u8)]) -> Result<u8, LowerError> {
        let now = self.out.lines.len() as u32 + 1;
        if let Some(r) = self.state.held.iter().position(|h| *h == Some(a)) {
            self.state.used[r] = now;
            return Ok(r as u8);
        }
        if let Ref::Ext(x, _) = a.r {
            self.inner(x, busy)?;
        }
        let free = |r: u8| !busy.iter().any(|b| b.1 == r);
        let wished = role.min(self.w.address_count - 1);
        let r = if self.w.role_bound && free(wished) {
            wished
        } else {
            // Least recently used; the customary register among equals.
            let all = (0..self.w.address_count).filter(|&r| free(r));
            let state = &self.state;
            all.min_by_key(|&r| {
                (
                    state.held[r as usize].map_or(0, |_| state.used[r as usize]),
                    r != wished,
                    r,
                )
            })
            .ok_or(LowerError::Addresses)?
        };
        self.state.held[r as usize] = Some(a);
        self.state.used[r as usize] = now;
        self.out.lines.push(Line::Load { address: a, reg: r });
        Ok(r)
    }

    /// Loads the addresses of an address, in any registers.
    fn inner(&mut self, x: u32, busy: &[(Address, u8)]) -> Result<(), LowerError> {
        let exts = &self.w.p.lir.exts;
        let mut all: SmallVec<[(Address, u8); 2]> = SmallVec::from_slice(busy);
        for b in &exts[x as usize].addrs {
            if matches!(b.r, Ref::Ext(y, _) if !exts[y as usize].addrs.is_empty()) {
                return Err(LowerError::Operand("address nested too deeply"));
            }
            let r = self.address(*b, 0, &all)?;
            all.push((*b, r));
        }
        Ok(())
    }
}
