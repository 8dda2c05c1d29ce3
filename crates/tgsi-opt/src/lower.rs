//! LOWER: from packs to a program.
//!
//! The scheduled packs are written down as lines with the flow instructions between
//! them, address loads are inserted where an address is not in its register any more,
//! live ranges of the final order go to the register allocator, and instructions are
//! printed into the syntax tree. Immediates are collected last, so that operands can
//! share registers by bits.

use smallvec::SmallVec;
use tgsi::{File, Item, Opcode, Program};
use tgsi_ir::layout::{BlockId, Layout, Step};
use tgsi_ir::{Function, MultiKind, ix};
use tgsi_pack::lir::{Address, Ent, NONE, Ref, What};
use tgsi_pack::live::{Blocks, Event, ranges};
use tgsi_pack::pack::{Kind, PackId, Packing};
use tgsi_regalloc::{Array, Assignment, Lane, LiveRange, Options as AllocOptions, Problem, VReg};

mod header;
mod imms;
mod insts;

/// Why a packed program could not be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LowerError {
    /// The allocator found the problem malformed or too large.
    Alloc(String),
    /// An instruction needs more address registers than the program declares.
    Addresses,
    /// An indexed resource or operand came out in a form that cannot be printed.
    Operand(&'static str),
}

impl std::fmt::Display for LowerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LowerError::Alloc(e) => write!(f, "register allocation: {e}"),
            LowerError::Addresses => f.write_str("not enough address registers"),
            LowerError::Operand(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LowerError {}

/// A program written down, with the lower bound of its temporaries.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// No allocation of these instructions has fewer temporaries.
    pub temps_bound: u32,
}

/// One line of the program to be.
#[derive(Clone, Debug)]
enum Line {
    /// A pack, with the address register of each of its address operands.
    Pack(PackId, SmallVec<[(Address, u8); 1]>),
    /// Loads address register `reg`.
    Load { address: Address, reg: u8 },
    /// Flow; conditions and labels are read here.
    Flow(Step, Option<Ref>, SmallVec<[(Address, u8); 1]>),
}

/// Everything lowering works on.
struct Lower<'a> {
    f: &'a Function,
    layout: &'a Layout,
    p: &'a Packing,
    input: &'a Program,
    lines: Vec<Line>,
    /// First line of each block.
    starts: Vec<u32>,
    address_count: u8,
    role_bound: bool,
}

/// Options of lowering.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Restarts of the allocator.
    pub restarts: u32,
    /// Keep the customary use of address registers (0 index, 1 dimension, 2 resource).
    pub address_roles: bool,
    /// Keep precise and other values in different temporaries.
    pub separate_precise: bool,
}

/// Writes the scheduled packs down.
///
/// # Errors
/// See [`LowerError`]; the caller keeps what it had.
pub fn lower(
    f: &Function,
    layout: &Layout,
    p: &Packing,
    order: &[Vec<PackId>],
    input: &Program,
    options: LowerOptions,
) -> Result<Lowered, LowerError> {
    let declared = input.header.iter().filter_map(|i| match i {
        Item::Decl(d) if d.file == File::Addr => Some(d.last + 1),
        _ => None,
    });
    let mut l = Lower {
        f,
        layout,
        p,
        input,
        lines: Vec::new(),
        starts: Vec::new(),
        address_count: declared.max().unwrap_or(1).clamp(1, 4) as u8,
        role_bound: options.address_roles,
    };
    l.write_lines(order)?;
    let (problem, lanes) = l.problem();
    let alloc = AllocOptions {
        restarts: options.restarts,
        limit: None,
        separate_precise: options.separate_precise,
        seed: 1,
    };
    let bounds = tgsi_regalloc::lower_bounds(&problem);
    let assignment = tgsi_regalloc::allocate(&problem, &alloc).map_err(|e| LowerError::Alloc(e.to_string()))?;
    let program = l.print(&problem, &assignment, &lanes)?;
    Ok(Lowered { program, temps_bound: bounds.channels.max(bounds.packing) })
}

/// What is in the address registers.
#[derive(Clone, Debug, Default, PartialEq)]
struct AddressState {
    held: [Option<Address>; 4],
    /// Time of the last use, for replacement.
    used: [u32; 4],
}

impl Lower<'_> {
    fn write_lines(&mut self, order: &[Vec<PackId>]) -> Result<(), LowerError> {
        let mut state = AddressState::default();
        let mut saved: Vec<(AddressState, Option<AddressState>)> = Vec::new();
        let mut reachable = true;
        let script = self.layout.script.clone();
        let mut last: BlockId = 0;
        for step in script {
            match step {
                Step::Block(b) => {
                    self.starts.push(self.lines.len() as u32);
                    last = b;
                    for &q in &order[b as usize] {
                        self.write_pack(q, &mut state)?;
                    }
                }
                _ => {
                    let cond = match step {
                        Step::If { .. } | Step::Switch => self.p.lir.blocks[last as usize].cond,
                        Step::Case(v) => self.f.as_imm(v).map(Ref::Imm).or_else(|| self.case_ref(v)),
                        _ => None,
                    };
                    let mut addrs = SmallVec::new();
                    if let Some(Ref::Ext(x, _)) = cond {
                        let list = self.p.lir.exts[x as usize].addrs.clone();
                        for (i, a) in list.iter().enumerate() {
                            let role = if list.len() > 1 && i == 0 { 1 } else { 0 };
                            addrs.push((*a, self.address(*a, role, &addrs, &mut state)?));
                        }
                    }
                    self.lines.push(Line::Flow(step, cond, addrs));
                    match step {
                        Step::If { .. } => {
                            saved.push((state.clone(), None));
                            reachable = true;
                        }
                        Step::Else => {
                            let top = saved.last_mut().expect("If opened it");
                            top.1 = reachable.then(|| state.clone());
                            state = top.0.clone();
                            reachable = true;
                        }
                        Step::EndIf => {
                            let (_, then) = saved.pop().expect("If opened it");
                            state = match (then, reachable) {
                                (Some(t), true) => meet(&t, &state),
                                (Some(t), false) => t,
                                (None, true) => state,
                                (None, false) => AddressState::default(),
                            };
                            reachable = true;
                        }
                        Step::Break | Step::Continue | Step::Return => reachable = false,
                        _ => {
                            state = AddressState::default();
                            reachable = true;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The operand of a CASE label that is no immediate.
    fn case_ref(&self, v: tgsi_ir::Value) -> Option<Ref> {
        let _ = ix(v);
        None
    }

    fn write_pack(&mut self, q: PackId, state: &mut AddressState) -> Result<(), LowerError> {
        let pack = &self.p.packs[q as usize];
        let mut wanted: SmallVec<[(Address, u8); 2]> = SmallVec::new();
        let mut want = |a: Address, role: u8| {
            if !wanted.iter().any(|w| w.0 == a) {
                wanted.push((a, role));
            }
        };
        let nodes = pack.nodes.iter().chain((pack.store != NONE).then_some(&pack.store));
        for &n in nodes {
            let node = &self.p.lir.nodes[n as usize];
            if pack.store == NONE || n != pack.store {
                for o in self.p.lir.words(node) {
                    if let Ref::Ext(x, _) = o.r {
                        let list = &self.p.lir.exts[x as usize].addrs;
                        for (i, a) in list.iter().enumerate() {
                            let reg = self.ext_reg(x);
                            let dim = reg.dim.is_some_and(|d| d.relative);
                            want(*a, if dim && i == 0 { 1 } else { 0 });
                        }
                    }
                }
            }
            for (slot, a) in self.p.lir.node_addrs(node) {
                want(
                    *a,
                    match slot {
                        tgsi_ir::Slot::SrcDim(_) | tgsi_ir::Slot::DstDim => 1,
                        _ if self.names_resource(n) => 2,
                        _ => 0,
                    },
                );
            }
        }
        let mut regs: SmallVec<[(Address, u8); 1]> = SmallVec::new();
        for (a, role) in wanted {
            let r = self.address(a, role, &regs, state)?;
            regs.push((a, r));
        }
        // What the pack writes is no longer what the address registers were loaded from.
        for &n in &self.p.packs[q as usize].nodes {
            for e in self.p.lir.nodes[n as usize].dsts() {
                let web = self.p.webs.find(e);
                for h in &mut state.held {
                    if matches!(h, Some(Address { r: Ref::Ent(x), .. }) if self.p.webs.find(*x) == web) {
                        *h = None;
                    }
                }
            }
        }
        if regs.iter().any(|(a, _)| matches!(a.r, Ref::Ext(x, _) if self.p.lir.exts[x as usize].load != NONE)) {
            // Memory may change: such an address is loaded anew each time.
            for h in &mut state.held {
                if matches!(h, Some(Address { r: Ref::Ext(x, _), .. }) if self.p.lir.exts[*x as usize].load != NONE) {
                    *h = None;
                }
            }
        }
        self.lines.push(Line::Pack(q, regs));
        Ok(())
    }

    fn names_resource(&self, n: tgsi_pack::lir::NodeId) -> bool {
        match self.p.lir.nodes[n as usize].what {
            What::Multi(v) => {
                self.f.as_multi(v).is_some_and(|m| !matches!(m.kind, MultiKind::Load | MultiKind::Store))
            }
            What::Alu(_) => false,
        }
    }

    /// The register that holds an address, loading it if need be.
    fn address(
        &mut self,
        a: Address,
        role: u8,
        busy: &[(Address, u8)],
        state: &mut AddressState,
    ) -> Result<u8, LowerError> {
        let now = self.lines.len() as u32 + 1;
        if let Some(r) = state.held.iter().position(|h| *h == Some(a)) {
            state.used[r] = now;
            return Ok(r as u8);
        }
        if let Ref::Ext(x, _) = a.r
            && !self.p.lir.exts[x as usize].addrs.is_empty()
        {
            // The address of an address: load the inner one first, in any register.
            let inner = self.p.lir.exts[x as usize].addrs.clone();
            let mut regs: SmallVec<[(Address, u8); 1]> = SmallVec::new();
            for b in inner {
                if matches!(b.r, Ref::Ext(y, _) if !self.p.lir.exts[y as usize].addrs.is_empty()) {
                    return Err(LowerError::Operand("address nested too deeply"));
                }
                let all: SmallVec<[(Address, u8); 2]> = busy.iter().chain(&regs).copied().collect();
                let r = self.address(b, 0, &all, state)?;
                regs.push((b, r));
            }
        }
        let free = |r: u8| !busy.iter().any(|b| b.1 == r);
        let wished = role.min(self.address_count - 1);
        let r = if self.role_bound && free(wished) {
            wished
        } else {
            // Least recently used; the customary register among equals.
            let all = (0..self.address_count).filter(|&r| free(r));
            all.min_by_key(|&r| (state.held[r as usize].map_or(0, |_| state.used[r as usize]), r != wished, r))
                .ok_or(LowerError::Addresses)?
        };
        state.held[r as usize] = Some(a);
        state.used[r as usize] = now;
        self.lines.push(Line::Load { address: a, reg: r });
        Ok(r)
    }

    /// Blocks as spans of points; flow instructions belong to the block before them.
    fn spans(&self) -> Vec<(u32, u32)> {
        let n = self.starts.len();
        (0..n)
            .map(|b| {
                let end = self.starts.get(b + 1).copied().unwrap_or(self.lines.len() as u32 + 1);
                (2 * self.starts[b], 2 * end)
            })
            .collect()
    }

    /// The allocation problem, and for each register its webs in lane order.
    fn problem(&self) -> (Problem, Vec<(u32, SmallVec<[u32; 4]>)>) {
        let spans = self.spans();
        let mut reads: Vec<Event> = Vec::new();
        let mut writes: Vec<Event> = Vec::new();
        let p = self.p;
        let mut block = 0;
        for (i, line) in self.lines.iter().enumerate() {
            while block + 1 < self.starts.len() && self.starts[block + 1] as usize <= i {
                block += 1;
            }
            let (b, i) = (block as u32, i as u32);
            let mut read = |e: Ent| reads.push((p.webs.find(e), b, 2 * i + 1));
            match line {
                Line::Load { address, .. } => p.lir.ref_reads(address.r, &mut read),
                Line::Flow(_, cond, _) => {
                    if let Some(r) = cond {
                        self.word_reads(*r, &mut read);
                    }
                }
                Line::Pack(q, _) => {
                    let pack = &p.packs[*q as usize];
                    for &n in &pack.nodes {
                        for o in p.lir.words(&p.lir.nodes[n as usize]) {
                            self.word_reads(o.r, &mut read);
                        }
                        if pack.store == NONE {
                            for e in p.lir.nodes[n as usize].dsts() {
                                writes.push((p.webs.find(e), b, 2 * i + 1));
                            }
                        }
                    }
                }
            }
        }
        let words = p.lir.ents as usize;
        let segs = ranges(words, &Blocks { layout: self.layout, spans: &spans }, &writes, &reads);
        let mut vregs = Vec::new();
        let mut lanes: Vec<(u32, SmallVec<[u32; 4]>)> = Vec::new();
        let precise = if self.role_bound { self.precise_webs() } else { Default::default() };
        for e in 0..p.lir.ents {
            let root = p.class(e);
            if root != e || p.classes[e as usize].kind != Kind::Temp {
                continue;
            }
            let class = &p.classes[e as usize];
            let live: SmallVec<[u32; 4]> =
                class.webs().iter().copied().filter(|&w| !segs[w as usize].is_empty()).collect();
            if live.is_empty() {
                continue;
            }
            let mut ordered: SmallVec<[u32; 4]> = SmallVec::new();
            let mut pair = 0u8;
            for &w in &live {
                let partner = p.webs.partner[w as usize];
                let partner = if partner == NONE { NONE } else { p.webs.find(partner) };
                if partner == NONE {
                    continue;
                }
                if !p.webs.high[w as usize] {
                    pair |= 1 << ordered.len();
                    ordered.push(w);
                    ordered.push(partner);
                } else if !live.contains(&partner) {
                    // The low half is never written or read, its seat is taken all the same.
                    pair |= 1 << ordered.len();
                    ordered.push(partner);
                    ordered.push(w);
                }
            }
            ordered.extend(live.iter().copied().filter(|&w| p.webs.partner[w as usize] == NONE));
            let make = |w: u32| {
                let mut s = &segs[w as usize];
                if s.is_empty() {
                    // Half of a pair that nothing touches lives as long as the other half.
                    s = &segs[p.webs.find(p.webs.partner[w as usize]) as usize];
                }
                Lane { live: LiveRange { segs: SmallVec::from_slice(s) }, pinned: p.webs.pin[w as usize] }
            };
            vregs.push(VReg {
                lanes: ordered.iter().map(|&w| make(w)).collect(),
                precise: ordered.iter().any(|w| precise.contains(w)),
                pair,
            });
            lanes.push((e, ordered));
        }
        let arrays = self
            .f
            .arrays
            .iter()
            .enumerate()
            .map(|(i, a)| Array { len: (a.1 - a.0 + 1) as u32, id: i as u32 })
            .collect();
        (Problem { vregs, arrays }, lanes)
    }

    fn precise_webs(&self) -> rustc_hash::FxHashSet<u32> {
        let precise = self.p.lir.nodes.iter().filter(|n| n.precise);
        precise.flat_map(|n| n.dsts().map(|e| self.p.webs.find(e))).collect()
    }

    /// The word itself; addresses are read by the loads.
    fn word_reads(&self, r: Ref, read: &mut dyn FnMut(Ent)) {
        if let Ref::Ent(e) = r {
            read(e);
        }
    }

    fn ext_reg(&self, x: u32) -> tgsi_ir::RegRef {
        let id = self.p.lir.exts[x as usize].reg.0 as usize;
        let known = self.f.regs.len();
        if id < known { self.f.regs[id] } else { self.p.lir.extra_regs[id - known] }
    }

    /// Channel and register of every web.
    fn places(
        &self,
        assignment: &Assignment,
        lanes: &[(u32, SmallVec<[u32; 4]>)],
    ) -> Vec<(File, i32, u8)> {
        let mut out = vec![(File::Null, 0, 0); self.p.lir.ents as usize];
        for ((_, webs), placed) in lanes.iter().zip(&assignment.place) {
            for (i, &w) in webs.iter().enumerate() {
                out[w as usize] = (File::Temp, placed.temp as i32, placed.chans[i]);
            }
        }
        for (e, o) in self.p.webs.out.iter().enumerate() {
            if let Some((r, c)) = *o {
                out[e] = (File::Out, r, c);
            }
        }
        out
    }
}

fn meet(a: &AddressState, b: &AddressState) -> AddressState {
    let mut out = AddressState::default();
    for i in 0..4 {
        if a.held[i] == b.held[i] {
            out.held[i] = a.held[i];
            out.used[i] = a.used[i].max(b.used[i]);
        }
    }
    out
}

/// Opcode that moves a word into an address register.
fn load_op(op: Opcode) -> Opcode {
    op
}
