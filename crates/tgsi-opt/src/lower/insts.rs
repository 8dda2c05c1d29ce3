//! Lines to instructions.

use smallvec::SmallVec;
use tgsi::usage::{Pairing, pairing};
use tgsi::{AddrReg, Dst, File, Imm, Index, Inst, Opcode, Program, Register, Shape, Src, XYZW};
use tgsi_ir::layout::Step;
use tgsi_ir::{MultiKind, RegRef, Slot};
use tgsi_pack::lir::{Address, NONE, Node, NodeId, Opnd, Ref, What};
use tgsi_pack::pack::PackId;

use super::imms::{Request, pack, typed};
use super::lines::Line;
use super::problem::places;
use super::{LowerError, Lowering, ext_reg, header};

/// Fills unused channels of a swizzle with used ones: a channel that is there, never one that is not.
pub(super) fn fill(swizzle: &mut [u8; 4], pairs: bool) {
    if pairs {
        for p in 0..2 {
            if swizzle[2 * p] == u8::MAX {
                let (a, b) = (swizzle[2 - 2 * p], swizzle[3 - 2 * p]);
                (swizzle[2 * p], swizzle[2 * p + 1]) = if a == u8::MAX { (0, 1) } else { (a, b) };
            }
        }
        return;
    }
    let first = swizzle.iter().copied().find(|&c| c != u8::MAX).unwrap_or(0);
    let mut last = first;
    for c in swizzle {
        if *c == u8::MAX {
            *c = last;
        }
        last = *c;
    }
}

/// An operand in the making: channel to word.
type Words = [Option<Opnd>; 4];

struct Printer<'a> {
    l: &'a Lowering<'a>,
    places: Vec<(File, i32, u8)>,
    insts: Vec<Inst>,
    requests: Vec<Request>,
    /// The highest address register in use.
    addresses: Option<u8>,
}

impl Lowering<'_> {
    /// Writes the program.
    ///
    /// # Errors
    /// An operand that came out in a form that cannot be printed.
    pub(crate) fn print(&self) -> Result<Program, LowerError> {
        let lines = &self.lines.lines;
        let mut p = Printer {
            l: self,
            places: places(self.p, &self.seats, &self.assignment),
            insts: Vec::with_capacity(lines.len() + 1),
            requests: Vec::new(),
            addresses: None,
        };
        for i in 0..lines.len() {
            p.line(i)?;
        }
        p.insts.push(blank(Opcode::End));
        let imms = p.immediates();
        let arrays: Vec<(u32, u32, u32)> = self
            .f
            .arrays
            .iter()
            .zip(&self.assignment.array_base)
            .map(|(a, &base)| (base, (a.1 - a.0 + 1) as u32, a.2))
            .collect();
        Ok(Program {
            stage: self.input.stage,
            version: self.input.version,
            header: header::header(self.input, self.assignment.temps, &arrays, p.addresses, imms),
            insts: p.insts,
        })
    }
}

fn blank(op: Opcode) -> Inst {
    Inst {
        op,
        sat: false,
        precise: false,
        dsts: SmallVec::new(),
        srcs: SmallVec::new(),
        target: None,
        offsets: SmallVec::new(),
        memory: None,
        label: None,
        span: Default::default(),
    }
}

impl Printer<'_> {
    /// Packs the immediates that operands asked for and fills in where they stand.
    fn immediates(&mut self) -> Vec<Imm> {
        let packed = pack(&self.requests);
        for (q, &(reg, swizzle)) in self.requests.iter().zip(&packed.found) {
            let inst = &mut self.insts[q.inst];
            let reg = Register::direct(File::Imm, reg as i32);
            match inst.srcs.get_mut(q.source) {
                Some(s) => {
                    s.reg = reg;
                    s.swizzle = swizzle;
                }
                None => {
                    let k = q.source - inst.srcs.len();
                    inst.offsets[k].reg = reg;
                    inst.offsets[k].swizzle.copy_from_slice(&swizzle[..3]);
                }
            }
        }
        packed.imms.into_iter().map(|w| typed(w, self.l.input)).collect()
    }

    fn line(&mut self, at: usize) -> Result<(), LowerError> {
        let l = self.l;
        match &l.lines.lines[at] {
            Line::Pack(q, regs) => self.pack(*q, regs),
            Line::Load { address, reg } => {
                self.addresses = Some(self.addresses.unwrap_or(0).max(*reg));
                let mut inst = blank(address.op);
                inst.dsts.push(Dst {
                    reg: Register::direct(File::Addr, i32::from(*reg)),
                    mask: 1,
                    span: Default::default(),
                });
                self.insts.push(inst);
                let regs = self.held(*address, at);
                self.word(address.r, &regs)
            }
            Line::Flow(..) if l.lines.silent(at) => Ok(()),
            Line::Flow(step, cond, regs) => self.flow(*step, *cond, regs),
        }
    }

    /// The registers of the addresses that the load of an address at line `at` itself needs: the
    /// lines before it loaded them.
    fn held(&self, address: Address, at: usize) -> SmallVec<[(Address, u8); 1]> {
        let Ref::Ext(x, _) = address.r else { return SmallVec::new() };
        let before = &self.l.lines.lines[..at];
        let find = |wanted: &Address| {
            let reg = before.iter().rev().find_map(|l| match l {
                Line::Load { address, reg } if address == wanted => Some(*reg),
                _ => None,
            })?;
            Some((*wanted, reg))
        };
        self.l.p.lir.exts[x as usize].addrs.iter().filter_map(find).collect()
    }

    fn flow(&mut self, step: Step, cond: Option<Ref>, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let op = match step {
            Step::If { bits: true } => Opcode::Uif,
            Step::If { bits: false } => Opcode::If,
            Step::Else => Opcode::Else,
            Step::EndIf => Opcode::Endif,
            Step::Loop => Opcode::Bgnloop,
            Step::EndLoop => Opcode::Endloop,
            Step::Break => Opcode::Brk,
            Step::Continue => Opcode::Cont,
            Step::Return => Opcode::Ret,
            Step::Switch => Opcode::Switch,
            Step::Case(_) => Opcode::Case,
            Step::Default => Opcode::Default,
            Step::EndSwitch => Opcode::Endswitch,
            Step::Block(_) => return Ok(()),
        };
        self.insts.push(blank(op));
        match step {
            Step::If { .. } | Step::Switch | Step::Case(_) => {
                let r = cond.ok_or(LowerError::Operand("branch without a condition"))?;
                self.word(if matches!(r, Ref::Undef(_)) { Ref::Imm(0) } else { r }, regs)
            }
            _ => Ok(()),
        }
    }

    /// Adds a source of one word to the last instruction.
    fn word(&mut self, r: Ref, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let o = Opnd { r, neg: false, abs: false, pos: 0 };
        self.source(&[Some(o), None, None, None], false, regs)
    }

    /// Adds a source to the last instruction.
    #[inline]
    fn source(&mut self, words: &Words, pairs: bool, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let src = self.operand(words, pairs, regs, None)?;
        self.insts.last_mut().expect("an instruction is open").srcs.push(src);
        Ok(())
    }

    /// The operand that reads these words; immediates are asked for and filled in later.
    #[inline]
    fn operand(
        &mut self,
        words: &Words,
        pairs: bool,
        regs: &[(Address, u8)],
        offset: Option<usize>,
    ) -> Result<Src, LowerError> {
        let span = Default::default();
        let mut src = Src { reg: Register::direct(File::Imm, 0), swizzle: XYZW, abs: false, neg: false, span };
        let lead = words.iter().flatten().find(|o| !matches!(o.r, Ref::Undef(_)));
        if let Some(o) = lead {
            src.abs = o.abs;
            src.neg = o.neg;
        }
        let mut swizzle = [u8::MAX; 4];
        match lead.map(|o| o.r) {
            None | Some(Ref::Imm(_)) => {
                let at = self.insts.len() - 1;
                let source = offset.unwrap_or(self.insts[at].srcs.len());
                let mut wanted = [None; 4];
                for c in 0..4 {
                    wanted[c] = words[c].and_then(|o| match o.r {
                        Ref::Imm(w) => Some(w),
                        Ref::Undef(_) if pairs || lead.is_none() => Some(0),
                        _ => None,
                    });
                }
                self.requests.push(Request { inst: at, source, words: wanted, pairs });
                return Ok(src);
            }
            Some(Ref::Ext(x, _)) => {
                src.reg = self.ext(x, regs)?;
                for c in 0..4 {
                    if let Some(Opnd { r: Ref::Ext(_, ch), .. }) = words[c] {
                        swizzle[c] = ch;
                    }
                }
            }
            _ => {
                for c in 0..4 {
                    if let Some(Opnd { r: Ref::Ent(e), .. }) = words[c] {
                        let (file, index, chan) = self.place(e)?;
                        let reg = Register::direct(file, index);
                        if swizzle.iter().any(|&c| c != u8::MAX) && src.reg != reg {
                            return Err(LowerError::Operand("one operand in two registers"));
                        }
                        src.reg = reg;
                        swizzle[c] = chan;
                    }
                }
            }
        }
        fill(&mut swizzle, pairs);
        src.swizzle = swizzle;
        Ok(src)
    }

    fn place(&self, e: u32) -> Result<(File, i32, u8), LowerError> {
        let w = self.l.p.webs.find(e);
        let place = self.places[w as usize];
        if place.0 == File::Null { Err(LowerError::Operand("a word without a register")) } else { Ok(place) }
    }

    fn ext(&self, x: u32, regs: &[(Address, u8)]) -> Result<Register, LowerError> {
        let reg = ext_reg(self.l.f, self.l.p, x);
        self.register(reg, &self.l.p.lir.exts[x as usize].addrs, regs)
    }

    /// A register reference with its address registers, TEMP arrays at their new place.
    fn register(
        &self,
        reg: RegRef,
        addrs: &[Address],
        regs: &[(Address, u8)],
    ) -> Result<Register, LowerError> {
        let mut addrs = addrs.iter();
        let mut index = |i: tgsi_ir::RefIndex| -> Result<Index, LowerError> {
            let addr = if i.relative {
                let a = addrs.next().ok_or(LowerError::Operand("an address is missing"))?;
                let r = regs.iter().find(|x| x.0 == *a).ok_or(LowerError::Addresses)?.1;
                Some(AddrReg { file: File::Addr, index: i32::from(r), comp: 0 })
            } else {
                None
            };
            Ok(Index { base: i.base, addr, array: i.array })
        };
        let dim = reg.dim.map(&mut index).transpose()?;
        let mut inner = index(reg.index)?;
        if reg.file == File::Temp {
            let array = self.l.f.arrays.iter().position(|a| {
                if reg.index.relative {
                    a.2 == reg.index.array
                } else {
                    a.0 <= reg.index.base && reg.index.base <= a.1
                }
            });
            let k = array.ok_or(LowerError::Operand("a temporary outside its array"))?;
            inner.base = reg.index.base - self.l.f.arrays[k].0 + self.l.assignment.array_base[k] as i32;
        }
        Ok(Register { file: reg.file, dim, index: inner })
    }

    fn pack(&mut self, q: PackId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let pack = &p.packs[q as usize];
        let first = &p.lir.nodes[pack.nodes[0] as usize];
        match first.what {
            What::Alu(op) => self.alu(q, op, regs),
            What::Multi(v) => {
                let m = self.l.f.as_multi(v).ok_or(LowerError::Operand("not an operation"))?;
                match m.kind {
                    MultiKind::Store => self.store(pack.nodes[0], regs),
                    MultiKind::Load => self.load(pack.nodes[0], regs),
                    _ => self.whole(q, regs),
                }
            }
        }
    }

    /// Where the results of a pack go: through its store, or to their register; with the write mask.
    fn destination(&self, q: PackId, regs: &[(Address, u8)]) -> Result<(Register, u8), LowerError> {
        let p = self.l.p;
        let pack = &p.packs[q as usize];
        if pack.store != NONE {
            let mask = p.source(pack.store, 0).iter().fold(0, |m, o| m | 1 << o.pos);
            return Ok((self.memory(pack.store, regs)?, mask));
        }
        let mut reg = None;
        let mut mask = 0;
        for &n in &pack.nodes {
            for e in p.lir.nodes[n as usize].dsts() {
                let (file, index, chan) = self.place(e)?;
                let here = Register::direct(file, index);
                if reg.is_some_and(|r| r != here) {
                    return Err(LowerError::Operand("results of one instruction in two registers"));
                }
                reg = Some(here);
                mask |= 1 << chan;
            }
        }
        Ok((reg.ok_or(LowerError::Operand("an operation without a result"))?, mask))
    }

    /// The channel a result word of a pack is written to.
    fn channel(&self, q: PackId, e: u32) -> Result<u8, LowerError> {
        let p = self.l.p;
        let store = p.packs[q as usize].store;
        if store == NONE {
            return Ok(self.place(e)?.2);
        }
        let o = p.source(store, 0).iter().find(|o| o.r == Ref::Ent(e));
        o.map(|o| o.pos).ok_or(LowerError::Operand("a result that is not stored"))
    }

    /// The destination of a store.
    fn memory(&self, store: NodeId, regs: &[(Address, u8)]) -> Result<Register, LowerError> {
        let node = &self.l.p.lir.nodes[store as usize];
        let What::Multi(v) = node.what else { return Err(LowerError::Operand("not a store")) };
        let m = self.l.f.as_multi(v).ok_or(LowerError::Operand("not a store"))?;
        let addrs: SmallVec<[Address; 2]> = self.l.p.lir.node_addrs(node).iter().map(|a| a.1).collect();
        self.register(tgsi_ir::lift::reg_ref(&m.inst.dsts[0].reg), &addrs, regs)
    }

    fn alu(&mut self, q: PackId, op: Opcode, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let pack = &p.packs[q as usize];
        let first = &p.lir.nodes[pack.nodes[0] as usize];
        let (reg, mask) = self.destination(q, regs)?;
        let mut inst = blank(op);
        inst.sat = first.sat;
        inst.precise = first.precise;
        inst.dsts.push(Dst { reg, mask, span: Default::default() });
        let info = op.info();
        self.insts.push(inst);
        let wide_dst = info.dst_ty.is_wide();
        let any_wide = info.src_ty.iter().any(|t| t.is_wide());
        // Of each lane the channel and where its next source starts.
        let mut lanes: SmallVec<[(u8, &Node, usize); 4]> = SmallVec::new();
        for &n in &pack.nodes {
            let node = &p.lir.nodes[n as usize];
            lanes.push((self.channel(q, node.dst)?, node, node.first as usize));
        }
        for k in 0..first.sources as usize {
            let mut words: Words = [None; 4];
            let wide = info.src_ty[k].is_wide();
            for (chan, node, next) in &mut lanes {
                let (chan, at) = (*chan, *next);
                *next += node.lens[k] as usize;
                let source = &p.lir.opnds[at..*next];
                match info.shape {
                    Shape::Dot(_) => {
                        for (c, o) in source.iter().enumerate() {
                            words[c] = Some(*o);
                        }
                    }
                    Shape::Repl => words[0] = Some(source[0]),
                    _ if wide => {
                        let at = if wide_dst {
                            chan & 2
                        } else if pairing(op) == Pairing::Packed {
                            0
                        } else {
                            chan & 2
                        };
                        words[at as usize] = Some(source[0]);
                        words[at as usize + 1] = Some(source[1]);
                    }
                    _ => {
                        let at = match (wide_dst, any_wide) {
                            (true, true) => chan & 2,
                            (true, false) => chan / 2,
                            _ => chan,
                        };
                        words[at as usize] = Some(source[0]);
                    }
                }
            }
            self.source(&words, wide, regs)?;
        }
        Ok(())
    }

    fn store(&mut self, n: NodeId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let reg = self.memory(n, regs)?;
        let mut inst = blank(Opcode::Mov);
        let words = self.positions(n, 0);
        let mask = (0..4).fold(0, |m, c| m | u8::from(words[c].is_some()) << c);
        inst.precise = self.l.p.lir.nodes[n as usize].precise;
        inst.dsts.push(Dst { reg, mask, span: Default::default() });
        self.insts.push(inst);
        self.source(&words, false, regs)
    }

    fn load(&mut self, n: NodeId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let node = &p.lir.nodes[n as usize];
        let What::Multi(v) = node.what else { return Err(LowerError::Operand("not a load")) };
        let m = self.l.f.as_multi(v).ok_or(LowerError::Operand("not a load"))?;
        let addrs: SmallVec<[Address; 2]> = self.l.p.lir.node_addrs(node).iter().map(|a| a.1).collect();
        let reg = self.register(tgsi_ir::lift::reg_ref(&m.inst.srcs[0].reg), &addrs, regs)?;
        let mut inst = blank(Opcode::Mov);
        let mut swizzle = [u8::MAX; 4];
        let mut dst = None;
        let mut mask = 0;
        for (e, c) in node.results() {
            let (file, index, chan) = self.place(e)?;
            dst = Some(Register::direct(file, index));
            mask |= 1 << chan;
            swizzle[chan as usize] = c;
        }
        let dst = dst.ok_or(LowerError::Operand("a load without a result"))?;
        fill(&mut swizzle, false);
        inst.dsts.push(Dst { reg: dst, mask, span: Default::default() });
        inst.srcs.push(Src { reg, swizzle, abs: false, neg: false, span: Default::default() });
        self.insts.push(inst);
        Ok(())
    }

    /// The words of a source by the channel they stand in.
    fn positions(&self, n: NodeId, k: usize) -> Words {
        let mut words: Words = [None; 4];
        for o in self.l.p.source(n, k) {
            words[o.pos as usize & 3] = Some(*o);
        }
        words
    }

    fn whole(&mut self, q: PackId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let n = p.packs[q as usize].nodes[0];
        let node = &p.lir.nodes[n as usize];
        let What::Multi(v) = node.what else { return Err(LowerError::Operand("not an operation")) };
        let m = self.l.f.as_multi(v).ok_or(LowerError::Operand("not an operation"))?;
        let mut inst = m.inst.clone();
        inst.span = Default::default();
        inst.label = None;
        let srcs = std::mem::take(&mut inst.srcs);
        let info = inst.op.info();
        let addr = |slot: Slot| self.l.p.lir.node_addrs(node).iter().find(|a| a.0 == slot).map(|a| a.1);
        if inst.dsts.first().is_some_and(|d| tgsi::usage::is_resource(d.reg.file)) {
            let list: SmallVec<[Address; 2]> =
                [addr(Slot::DstDim), addr(Slot::DstIndex)].into_iter().flatten().collect();
            inst.dsts[0].reg = self.register(tgsi_ir::lift::reg_ref(&inst.dsts[0].reg), &list, regs)?;
        } else if !inst.dsts.is_empty() {
            self.results(q, &mut inst, regs)?;
        }
        let offsets = inst.offsets.len();
        self.insts.push(inst);
        for (k, template) in srcs.iter().enumerate() {
            let kept = template.reg.file != File::Null;
            if kept {
                let list: SmallVec<[Address; 2]> =
                    [addr(Slot::SrcDim(k as u8)), addr(Slot::SrcIndex(k as u8))].into_iter().flatten().collect();
                let reg = self.register(tgsi_ir::lift::reg_ref(&template.reg), &list, regs)?;
                self.insts.last_mut().expect("pushed above").srcs.push(Src { reg, ..*template });
                continue;
            }
            let wide = info.src_ty.get(k).is_some_and(|t| t.is_wide());
            let words = self.positions(n, k);
            if words.iter().all(|w| w.is_none()) {
                // Nothing of it is read: any word will do.
                self.word(Ref::Imm(0), regs)?;
                continue;
            }
            self.source(&words, wide, regs)?;
            let src = self.insts.last_mut().and_then(|i| i.srcs.last_mut()).expect("pushed above");
            src.abs |= template.abs;
            src.neg ^= template.neg;
        }
        for k in 0..offsets {
            let words = self.positions(n, srcs.len() + k);
            let src = self.operand(&words, false, regs, Some(srcs.len() + k))?;
            let o = &mut self.insts.last_mut().expect("pushed above").offsets[k];
            o.reg = src.reg;
            o.swizzle.copy_from_slice(&src.swizzle[..3]);
        }
        Ok(())
    }

    /// Registers and masks of the destinations of a whole instruction.
    fn results(&self, q: PackId, inst: &mut Inst, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let pack = &p.packs[q as usize];
        let node = &p.lir.nodes[pack.nodes[0] as usize];
        if pack.store != NONE {
            inst.dsts[0].reg = self.memory(pack.store, regs)?;
            inst.dsts[0].mask = node.chans & 0xf;
            return Ok(());
        }
        for (k, d) in inst.dsts.iter_mut().enumerate() {
            let mut reg = None;
            let mut mask = 0;
            for (e, c) in node.results() {
                if c as usize / 4 != k {
                    continue;
                }
                let (file, index, chan) = self.place(e)?;
                let here = Register::direct(file, index);
                if chan != c & 3 || reg.is_some_and(|r| r != here) {
                    return Err(LowerError::Operand("a fetched channel in the wrong place"));
                }
                reg = Some(here);
                mask |= 1 << chan;
            }
            d.reg = reg.ok_or(LowerError::Operand("a destination without a register"))?;
            d.mask = mask;
        }
        Ok(())
    }
}
