//! Lines to instructions.

use smallvec::SmallVec;
use tgsi::usage::{Pairing, pairing};
use tgsi::{AddrReg, Dst, File, Imm, Index, Inst, Opcode, Program, Register, Shape, Src, XYZW};
use tgsi_ir::layout::Step;
use tgsi_ir::{Multi, MultiKind, RegRef, Slot};
use tgsi_pack::lir::{Address, NONE, Node, NodeId, Opnd, Ref, What};
use tgsi_pack::pack::{Pack, PackId};

use crate::explain::Origins;

use super::imms::{Request, pack, typed};
use super::lines::Line;
use super::problem::{Place, places};
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

/// An operand in the making.
struct Reading {
    /// The lowest channel that is not undefined, 4 if there is none yet, and what it reads.
    lead: u8,
    first: Opnd,
    /// Where stored words stand.
    place: Place,
    /// Stored words stand in several registers.
    torn: bool,
    /// Channels of the register to read; `u8::MAX` where none is wanted.
    swizzle: [u8; 4],
    /// Immediate words wanted, in the channels of the next member.
    words: [u32; 4],
    imms: u8,
    undefined: u8,
}

impl Reading {
    const NOTHING: Reading = Reading {
        lead: 4,
        first: Opnd {
            r: Ref::Undef(0),
            neg: false,
            abs: false,
            pos: 0,
        },
        place: Place::NONE,
        torn: false,
        swizzle: [u8::MAX; 4],
        words: [0; 4],
        imms: 0,
        undefined: 0,
    };

    /// Reads word `o` in channel `at` (0..4).
    #[inline]
    fn add(&mut self, p: &Printer<'_>, at: u8, o: &Opnd) {
        let c = usize::from(at & 3);
        match o.r {
            Ref::Ent(e) => {
                let place = p.place(e);
                self.torn |= self.place.file != File::Null && !self.place.same_register(place);
                self.place = place;
                self.swizzle[c] = place.chan;
            }
            Ref::Ext(_, chan) => self.swizzle[c] = chan,
            Ref::Imm(w) => {
                self.words[c] = w;
                self.imms |= 1 << c;
            }
            Ref::Undef(_) => {
                self.undefined |= 1 << c;
                return;
            }
        }
        if at <= self.lead {
            self.lead = at;
            self.first = *o;
        }
    }

    /// Whether nothing is read at all.
    fn is_empty(&self) -> bool {
        self.lead == 4 && self.undefined == 0
    }
}

/// In which channels of its operands an operation finds the words of the result in a channel.
struct SourceSeats {
    wide_dst: bool,
    any_wide: bool,
    packed: bool,
}

impl SourceSeats {
    fn of(op: Opcode) -> SourceSeats {
        let info = op.info();
        let any_wide = info.src_ty.iter().any(|t| t.is_wide());
        SourceSeats {
            wide_dst: info.dst_ty.is_wide(),
            any_wide,
            packed: any_wide && pairing(op) == Pairing::Packed,
        }
    }

    /// The first of the two words of a 64-bit operand.
    fn wide(&self, chan: u8) -> u8 {
        if self.packed && !self.wide_dst {
            0
        } else {
            chan & 2
        }
    }

    /// The word of a 32-bit operand.
    #[inline]
    fn narrow(&self, chan: u8) -> u8 {
        match (self.wide_dst, self.any_wide) {
            (true, true) => chan & 2,
            (true, false) => chan / 2,
            _ => chan,
        }
    }
}

/// Why an operand cannot be printed.
const NO_PLACE: LowerError = LowerError::Operand("a word without a register");

struct Printer<'a> {
    l: &'a Lowering<'a>,
    places: Vec<Place>,
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
            requests: Vec::with_capacity(lines.len() / 2),
            addresses: None,
        };
        for i in 0..lines.len() {
            p.line(i)?;
        }
        p.insts.push(Inst::bare(Opcode::End));
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
            header: header::header(
                self.input,
                self.assignment.temps,
                &arrays,
                p.addresses,
                imms,
            ),
            insts: p.insts,
        })
    }
}

impl Lowering<'_> {
    /// Where the program that was lifted computed what each printed instruction does.
    pub(crate) fn origins(&self) -> Origins {
        let lir = &self.p.lir;
        let places = places(self.p, &self.seats, &self.assignment);
        let mut origins = Origins::default();
        for (i, line) in self.lines.lines.iter().enumerate() {
            if self.lines.silent(i) {
                continue;
            }
            let mut lanes = [None; 4];
            if let Line::Pack(q, _) = line {
                let pack = &self.p.packs[*q as usize];
                for &n in &pack.nodes {
                    let node = &lir.nodes[n as usize];
                    let hint = (node.hint.inst, node.hint.lane);
                    if node.dst_count == 0 || pack.store != NONE {
                        lanes = [Some(hint); 4];
                    }
                    for e in node.dsts() {
                        let chan = places[self.p.webs.find(e) as usize].chan;
                        lanes[usize::from(chan & 3)] = Some(hint);
                    }
                }
            }
            origins.push(lanes);
        }
        origins.push([None; 4]);
        origins
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
        packed
            .imms
            .into_iter()
            .map(|w| typed(w, self.l.input))
            .collect()
    }

    fn line(&mut self, at: usize) -> Result<(), LowerError> {
        let l = self.l;
        match &l.lines.lines[at] {
            Line::Pack(q, regs) => self.pack(*q, regs),
            Line::Load { address, reg } => {
                self.addresses = Some(self.addresses.unwrap_or(0).max(*reg));
                let mut inst = Inst::bare(address.op);
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
        let Ref::Ext(x, _) = address.r else {
            return SmallVec::new();
        };
        let before = &self.l.lines.lines[..at];
        let find = |wanted: &Address| {
            let reg = before.iter().rev().find_map(|l| match l {
                Line::Load { address, reg } if address == wanted => Some(*reg),
                _ => None,
            })?;
            Some((*wanted, reg))
        };
        self.l.p.lir.exts[x as usize]
            .addrs
            .iter()
            .filter_map(find)
            .collect()
    }

    fn flow(
        &mut self,
        step: Step,
        cond: Option<Ref>,
        regs: &[(Address, u8)],
    ) -> Result<(), LowerError> {
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
        self.insts.push(Inst::bare(op));
        match step {
            Step::If { .. } | Step::Switch | Step::Case(_) => {
                let r = cond.ok_or(LowerError::Operand("branch without a condition"))?;
                self.word(
                    if matches!(r, Ref::Undef(_)) {
                        Ref::Imm(0)
                    } else {
                        r
                    },
                    regs,
                )
            }
            _ => Ok(()),
        }
    }

    /// Adds a source of one word to the last instruction.
    fn word(&mut self, r: Ref, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let mut reading = Reading::NOTHING;
        reading.add(
            self,
            0,
            &Opnd {
                r,
                neg: false,
                abs: false,
                pos: 0,
            },
        );
        self.source(reading, false, regs)
    }

    /// Adds a source to the last instruction.
    #[inline]
    fn source(
        &mut self,
        reading: Reading,
        pairs: bool,
        regs: &[(Address, u8)],
    ) -> Result<(), LowerError> {
        let src = self.operand(reading, pairs, regs, None)?;
        self.insts
            .last_mut()
            .expect("an instruction is open")
            .srcs
            .push(src);
        Ok(())
    }

    /// The operand that reads these words; immediates are asked for and filled in later.
    #[inline]
    fn operand(
        &mut self,
        reading: Reading,
        pairs: bool,
        regs: &[(Address, u8)],
        offset: Option<usize>,
    ) -> Result<Src, LowerError> {
        let Reading {
            first, mut swizzle, ..
        } = reading;
        let reg = match first.r {
            Ref::Imm(_) | Ref::Undef(_) => {
                self.request(&reading, pairs, offset);
                swizzle = XYZW;
                Register::direct(File::Imm, 0)
            }
            Ref::Ext(x, _) => self.ext(x, regs)?,
            Ref::Ent(_) if reading.torn => {
                return Err(LowerError::Operand("one operand in two registers"));
            }
            Ref::Ent(_) => reading.place.register().ok_or(NO_PLACE)?,
        };
        fill(&mut swizzle, pairs);
        Ok(Src {
            reg,
            swizzle,
            abs: first.abs,
            neg: first.neg,
            span: Default::default(),
        })
    }

    /// Asks for the immediates of an operand of the last instruction.
    fn request(&mut self, reading: &Reading, pairs: bool, offset: Option<usize>) {
        let at = self.insts.len() - 1;
        let source = offset.unwrap_or(self.insts[at].srcs.len());
        let undefined = if pairs || reading.lead == 4 {
            reading.undefined
        } else {
            0
        };
        let mut words = [None; 4];
        for (c, word) in words.iter_mut().enumerate() {
            if (reading.imms | undefined) >> c & 1 != 0 {
                *word = Some(reading.words[c]);
            }
        }
        self.requests.push(Request {
            inst: at,
            source,
            words,
            pairs,
        });
    }

    #[inline]
    fn place(&self, e: u32) -> Place {
        self.places[self.l.p.webs.find(e) as usize]
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
                let a = addrs
                    .next()
                    .ok_or(LowerError::Operand("an address is missing"))?;
                let r = regs
                    .iter()
                    .find(|x| x.0 == *a)
                    .ok_or(LowerError::Addresses)?
                    .1;
                Some(AddrReg {
                    file: File::Addr,
                    index: i32::from(r),
                    comp: 0,
                })
            } else {
                None
            };
            Ok(Index {
                base: i.base,
                addr,
                array: i.array,
            })
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
            inner.base =
                reg.index.base - self.l.f.arrays[k].0 + self.l.assignment.array_base[k] as i32;
        }
        Ok(Register {
            file: reg.file,
            dim,
            index: inner,
        })
    }

    fn pack(&mut self, q: PackId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let l = self.l;
        let pack = &l.p.packs[q as usize];
        match l.p.lir.nodes[pack.nodes[0] as usize].what {
            What::Alu(op) => self.alu(pack, op, regs),
            What::Multi(v) => {
                let m =
                    l.f.as_multi(v)
                        .ok_or(LowerError::Operand("not an operation"))?;
                match m.kind {
                    MultiKind::Store => self.store(pack.nodes[0], regs),
                    MultiKind::Load => self.load(pack.nodes[0], regs),
                    _ => self.whole(pack, m, regs),
                }
            }
        }
    }

    /// Where the results of a pack go: through its store, or to their register; with the write
    /// mask.
    fn destination(
        &self,
        pack: &Pack,
        regs: &[(Address, u8)],
    ) -> Result<(Register, u8), LowerError> {
        let p = self.l.p;
        if pack.store != NONE {
            let mask = p
                .source(pack.store, 0)
                .iter()
                .fold(0, |m, o| m | 1 << o.pos);
            return Ok((self.memory(pack.store, regs)?, mask));
        }
        let mut reg = Place::NONE;
        let mut mask = 0;
        for &n in pack.nodes.as_slice() {
            for e in p.lir.nodes[n as usize].dsts() {
                let here = self.place(e);
                if mask != 0 && !reg.same_register(here) {
                    return Err(LowerError::Operand(
                        "results of one instruction in two registers",
                    ));
                }
                reg = here;
                mask |= 1 << here.chan;
            }
        }
        if mask == 0 {
            return Err(LowerError::Operand("an operation without a result"));
        }
        Ok((reg.register().ok_or(NO_PLACE)?, mask))
    }

    /// The channel a result word of a pack is written to.
    #[inline]
    fn channel(&self, pack: &Pack, e: u32) -> Result<u8, LowerError> {
        if pack.store == NONE {
            return Ok(self.place(e).chan);
        }
        let o = self
            .l
            .p
            .source(pack.store, 0)
            .iter()
            .find(|o| o.r == Ref::Ent(e));
        o.map(|o| o.pos)
            .ok_or(LowerError::Operand("a result that is not stored"))
    }

    /// The destination of a store.
    fn memory(&self, store: NodeId, regs: &[(Address, u8)]) -> Result<Register, LowerError> {
        let node = &self.l.p.lir.nodes[store as usize];
        let What::Multi(v) = node.what else {
            return Err(LowerError::Operand("not a store"));
        };
        let m = self
            .l
            .f
            .as_multi(v)
            .ok_or(LowerError::Operand("not a store"))?;
        let addrs: SmallVec<[Address; 2]> =
            self.l.p.lir.node_addrs(node).iter().map(|a| a.1).collect();
        self.register(tgsi_ir::lift::reg_ref(&m.inst.dsts[0].reg), &addrs, regs)
    }

    fn alu(&mut self, pack: &Pack, op: Opcode, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let first = &p.lir.nodes[pack.nodes[0] as usize];
        let (reg, mask) = self.destination(pack, regs)?;
        let mut inst = Inst::bare(op);
        inst.sat = first.sat;
        inst.precise = first.precise;
        inst.dsts.push(Dst {
            reg,
            mask,
            span: Default::default(),
        });
        self.insts.push(inst);
        // Of each lane the channel and where its next source starts.
        let mut lanes: SmallVec<[(u8, &Node, usize); 4]> = SmallVec::new();
        for &n in pack.nodes.as_slice() {
            let node = &p.lir.nodes[n as usize];
            lanes.push((self.channel(pack, node.dst)?, node, node.first as usize));
        }
        let seats = SourceSeats::of(op);
        let info = op.info();
        for (k, ty) in info.src_ty.iter().enumerate().take(first.sources as usize) {
            let mut reading = Reading::NOTHING;
            let wide = ty.is_wide();
            for (chan, node, next) in lanes.as_mut_slice() {
                let from = *next;
                *next += node.lens[k] as usize;
                let source = &p.lir.opnds[from..*next];
                match info.shape {
                    Shape::Dot(_) => {
                        for (c, o) in source.iter().enumerate() {
                            reading.add(self, c as u8, o);
                        }
                    }
                    Shape::Repl => reading.add(self, 0, &source[0]),
                    _ if wide => {
                        let at = seats.wide(*chan);
                        reading.add(self, at, &source[0]);
                        reading.add(self, at + 1, &source[1]);
                    }
                    _ => reading.add(self, seats.narrow(*chan), &source[0]),
                }
            }
            self.source(reading, wide, regs)?;
        }
        Ok(())
    }

    fn store(&mut self, n: NodeId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let reg = self.memory(n, regs)?;
        let mut inst = Inst::bare(Opcode::Mov);
        let reading = self.positions(n, 0);
        let mask = self
            .l
            .p
            .source(n, 0)
            .iter()
            .fold(0, |m, o| m | 1 << (o.pos & 3));
        inst.precise = self.l.p.lir.nodes[n as usize].precise;
        inst.dsts.push(Dst {
            reg,
            mask,
            span: Default::default(),
        });
        self.insts.push(inst);
        self.source(reading, false, regs)
    }

    fn load(&mut self, n: NodeId, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let p = self.l.p;
        let node = &p.lir.nodes[n as usize];
        let What::Multi(v) = node.what else {
            return Err(LowerError::Operand("not a load"));
        };
        let m = self
            .l
            .f
            .as_multi(v)
            .ok_or(LowerError::Operand("not a load"))?;
        let addrs: SmallVec<[Address; 2]> =
            self.l.p.lir.node_addrs(node).iter().map(|a| a.1).collect();
        let reg = self.register(tgsi_ir::lift::reg_ref(&m.inst.srcs[0].reg), &addrs, regs)?;
        let mut inst = Inst::bare(Opcode::Mov);
        let mut swizzle = [u8::MAX; 4];
        let mut dst = Place::NONE;
        let mut mask = 0;
        for (e, c) in node.results() {
            dst = self.place(e);
            mask |= 1 << dst.chan;
            swizzle[usize::from(dst.chan & 3)] = c;
        }
        let dst = dst
            .register()
            .ok_or(LowerError::Operand("a load without a result"))?;
        fill(&mut swizzle, false);
        inst.dsts.push(Dst {
            reg: dst,
            mask,
            span: Default::default(),
        });
        inst.srcs.push(Src {
            reg,
            swizzle,
            abs: false,
            neg: false,
            span: Default::default(),
        });
        self.insts.push(inst);
        Ok(())
    }

    /// The words of a source by the channel they stand in.
    fn positions(&self, n: NodeId, k: usize) -> Reading {
        let mut reading = Reading::NOTHING;
        for o in self.l.p.source(n, k) {
            reading.add(self, o.pos & 3, o);
        }
        reading
    }

    fn whole(&mut self, pack: &Pack, m: &Multi, regs: &[(Address, u8)]) -> Result<(), LowerError> {
        let n = pack.nodes[0];
        let node = &self.l.p.lir.nodes[n as usize];
        let like = &m.inst;
        let mut inst = Inst::bare(like.op);
        inst.sat = like.sat;
        inst.precise = like.precise;
        inst.target = like.target;
        inst.dsts = SmallVec::from_slice(&like.dsts);
        inst.offsets = SmallVec::from_slice(&like.offsets);
        inst.memory.clone_from(&like.memory);
        let info = like.op.info();
        if like
            .dsts
            .first()
            .is_some_and(|d| tgsi::usage::is_resource(d.reg.file))
        {
            inst.dsts[0].reg = self.resource(
                &like.dsts[0].reg,
                node,
                [Slot::DstDim, Slot::DstIndex],
                regs,
            )?;
        } else if !like.dsts.is_empty() {
            self.results(pack, &mut inst, regs)?;
        }
        self.insts.push(inst);
        for (k, template) in like.srcs.iter().enumerate() {
            if template.reg.file != File::Null {
                let slots = [Slot::SrcDim(k as u8), Slot::SrcIndex(k as u8)];
                let reg = self.resource(&template.reg, node, slots, regs)?;
                self.insts
                    .last_mut()
                    .expect("pushed above")
                    .srcs
                    .push(Src { reg, ..*template });
                continue;
            }
            let wide = info.src_ty.get(k).is_some_and(|t| t.is_wide());
            let reading = self.positions(n, k);
            if reading.is_empty() {
                // Nothing of it is read: any word will do.
                self.word(Ref::Imm(0), regs)?;
                continue;
            }
            self.source(reading, wide, regs)?;
            let src = self
                .insts
                .last_mut()
                .and_then(|i| i.srcs.last_mut())
                .expect("pushed above");
            src.abs |= template.abs;
            src.neg ^= template.neg;
        }
        for k in 0..like.offsets.len() {
            let place = like.srcs.len() + k;
            let src = self.operand(self.positions(n, place), false, regs, Some(place))?;
            let o = &mut self.insts.last_mut().expect("pushed above").offsets[k];
            o.reg = src.reg;
            o.swizzle.copy_from_slice(&src.swizzle[..3]);
        }
        Ok(())
    }

    /// A register that a whole instruction names itself, its brackets' addresses in `slots`.
    #[inline]
    fn resource(
        &self,
        reg: &Register,
        node: &Node,
        slots: [Slot; 2],
        regs: &[(Address, u8)],
    ) -> Result<Register, LowerError> {
        if reg.file != File::Temp && !reg.is_indirect() {
            return Ok(*reg);
        }
        let all = self.l.p.lir.node_addrs(node);
        let mut addrs: SmallVec<[Address; 2]> = SmallVec::new();
        for slot in slots {
            addrs.extend(all.iter().find(|a| a.0 == slot).map(|a| a.1));
        }
        self.register(tgsi_ir::lift::reg_ref(reg), &addrs, regs)
    }

    /// Registers and masks of the destinations of a whole instruction.
    fn results(
        &self,
        pack: &Pack,
        inst: &mut Inst,
        regs: &[(Address, u8)],
    ) -> Result<(), LowerError> {
        let node = &self.l.p.lir.nodes[pack.nodes[0] as usize];
        if pack.store != NONE {
            inst.dsts[0].reg = self.memory(pack.store, regs)?;
            inst.dsts[0].mask = node.chans & 0xf;
            return Ok(());
        }
        for (k, d) in inst.dsts.iter_mut().enumerate() {
            let mut reg = Place::NONE;
            let mut mask = 0;
            for (e, c) in node.results() {
                if c as usize / 4 != k {
                    continue;
                }
                let here = self.place(e);
                if here.chan != c & 3 || mask != 0 && !reg.same_register(here) {
                    return Err(LowerError::Operand("a fetched channel in the wrong place"));
                }
                reg = here;
                mask |= 1 << here.chan;
            }
            d.reg = reg
                .register()
                .ok_or(LowerError::Operand("a destination without a register"))?;
            d.mask = mask;
        }
        Ok(())
    }
}
