//! One instruction: operand words, results, effects.

use smallvec::SmallVec;
use tgsi::usage::{dst_mask, src_mask, wide_half};
use tgsi::{AddrReg, Dst, Effect, File, Index, Inst, Opcode, Register, Shape, Src, Ty, XYZW};

use super::{LiftError, Lifter, addr_regs};
use crate::ir::*;

/// Files that name a resource rather than hold words.
fn is_resource(file: File) -> bool {
    matches!(
        file,
        File::Samp
            | File::Image
            | File::Sview
            | File::Buffer
            | File::Memory
            | File::HwAtomic
            | File::Res
    )
}

/// Whether source `k` of `inst` is kept in the instruction rather than read as words.
fn stays(inst: &Inst, k: usize) -> bool {
    use Opcode::*;
    is_resource(inst.srcs[k].reg.file)
        || k == 0
            && matches!(
                inst.op,
                InterpCentroid | InterpSample | InterpOffset | Fbfetch
            )
}

/// Whether source `k` has a modifier that its type does not know: what it does is the consumer's
/// business, so it is kept.
fn odd_modifier(inst: &Inst, k: usize) -> bool {
    let s = &inst.srcs[k];
    if !s.neg && !s.abs {
        return false;
    }
    let ty = inst.op.info().src_ty.get(k).copied().unwrap_or(Ty::Any);
    ty.is_wide() || s.abs && !ty.is_float_modifier()
}

/// Most operands of a componentwise operation.
const MAX_OPERANDS: usize = 4;

fn ref_index(i: Index) -> RefIndex {
    RefIndex {
        base: i.base,
        relative: i.addr.is_some(),
        array: i.array,
    }
}

/// The reference of a register, without its address operands.
pub fn reg_ref(reg: &Register) -> RegRef {
    RegRef {
        file: reg.file,
        dim: reg.dim.map(ref_index),
        index: ref_index(reg.index),
    }
}

fn placeholder() -> Src {
    Src {
        reg: Register::direct(File::Null, 0),
        swizzle: XYZW,
        abs: false,
        neg: false,
        span: Default::default(),
    }
}

impl Lifter<'_> {
    pub(super) fn inst(&mut self, at: usize, out: &mut Body) -> Result<(), LiftError> {
        self.loads.clear();
        let insts = self.insts;
        let inst = &insts[at];
        let info = inst.op.info();
        if inst.srcs.len() != info.srcs as usize
            && !matches!(inst.op, Opcode::Emit | Opcode::Endprim)
            || inst.dsts.len() != info.dsts as usize
        {
            return Err(LiftError::Operand {
                at,
                what: "wrong operand count",
            });
        }
        // Modifiers that the operand's type does not have stay with the instruction as they are.
        let odd = (0..inst.srcs.len()).any(|k| odd_modifier(inst, k));
        let simple = info.effect == Effect::Pure && !info.quad && !odd;
        match info.shape {
            Shape::Comp if simple => self.comp(at, inst, out),
            Shape::Repl | Shape::Dot(_) if simple => self.scalar(at, inst, out),
            _ => self.multi(at, inst, out),
        }
    }

    /// A channel of a register, without modifiers.
    fn read(
        &mut self,
        at: usize,
        reg: &Register,
        chan: u8,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        self.read_slot(at, reg, self.plan.slot(reg), chan, out)
    }

    /// Like [`Self::read`], with the slot of the register already known.
    #[inline]
    fn read_slot(
        &mut self,
        at: usize,
        reg: &Register,
        slot: Option<usize>,
        chan: u8,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        let slot = slot.map(|s| s + chan as usize);
        if let Some(slot) = slot
            && let Some(v) = self.env[slot]
        {
            if slot >= self.plan.vars {
                self.seen_again(v);
            }
            return Ok(v);
        }
        self.read_new(at, reg, slot, chan, out)
    }

    /// What interning a leaf again does: it is later in the text, but maybe outside of the loop.
    #[inline]
    fn seen_again(&mut self, leaf: Value) {
        let depth = &mut self.func.values[leaf].hint.depth;
        *depth = self.depth.min(*depth);
    }

    /// [`Self::read_slot`] for what was not met before.
    #[inline(never)]
    fn read_new(
        &mut self,
        at: usize,
        reg: &Register,
        slot: Option<usize>,
        chan: u8,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        let Some(slot) = slot else {
            return self.read_other(at, reg, chan, out);
        };
        let Some(leaf) = slot.checked_sub(self.plan.vars) else {
            return Ok(self.get(slot));
        };
        let v = match (reg.file, self.leaf_regs[leaf / 4]) {
            (File::Imm, _) | (_, None) => self.read_other(at, reg, chan, out)?,
            (_, Some(id)) => self.func.intern(
                VOp::Reg(id, chan),
                false,
                false,
                Args::new(),
                self.hint(at, chan),
            ),
        };
        if let VOp::Reg(id, _) = self.func.values[v].op {
            self.leaf_regs[leaf / 4] = Some(id);
        }
        self.env[slot] = Some(v);
        Ok(v)
    }

    /// A channel of a register that is no variable.
    fn read_other(
        &mut self,
        at: usize,
        reg: &Register,
        chan: u8,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        let hint = self.hint(at, chan);
        match reg.file {
            File::Imm if !reg.is_indirect() => {
                let words = usize::try_from(reg.index.base)
                    .ok()
                    .and_then(|i| self.plan.imms.get(i));
                let words = words.ok_or(LiftError::Operand {
                    at,
                    what: "undeclared immediate",
                })?;
                let w = words[chan as usize];
                Ok(self.func.imm(w))
            }
            File::Imm => Err(LiftError::Operand {
                at,
                what: "indexed immediate",
            }),
            // An indexed input stays where it is read: elsewhere its index may be out of range.
            File::In | File::Sv if reg.is_indirect() => {
                let m = self.load(at, reg, out)?;
                let args = SmallVec::from_slice(&[m]);
                Ok(self.func.intern(VOp::Proj(chan), false, false, args, hint))
            }
            File::In | File::Const | File::Sv => {
                let id = self.func.reg(reg_ref(reg));
                let args = self.addresses(at, reg, out)?;
                Ok(self
                    .func
                    .intern(VOp::Reg(id, chan), false, false, args, hint))
            }
            File::Temp | File::Out => {
                let m = self.load(at, reg, out)?;
                let args = SmallVec::from_slice(&[m]);
                Ok(self.func.intern(VOp::Proj(chan), false, false, args, hint))
            }
            File::Null => Ok(self.func.imm(0)),
            _ => Err(LiftError::Operand {
                at,
                what: "operand of a file that holds no words",
            }),
        }
    }

    /// The address operands of a register, outer bracket first.
    fn addresses(&mut self, at: usize, reg: &Register, out: &mut Body) -> Result<Args, LiftError> {
        let mut args = Args::new();
        if !reg.is_indirect() {
            return Ok(args);
        }
        for a in reg
            .dim
            .and_then(|d| d.addr)
            .into_iter()
            .chain(reg.index.addr)
        {
            args.push(self.address(at, a, out)?);
        }
        Ok(args)
    }

    fn address(&mut self, at: usize, a: AddrReg, out: &mut Body) -> Result<Value, LiftError> {
        self.read(at, &Register::direct(a.file, a.index), a.comp & 3, out)
    }

    /// The memory read of a register, shared by all channels of one instruction.
    fn load(&mut self, at: usize, reg: &Register, out: &mut Body) -> Result<Value, LiftError> {
        if let Some(l) = self.loads.iter().find(|l| l.0 == *reg) {
            return Ok(l.1);
        }
        let mut slots = SmallVec::new();
        let args = self.addresses(at, reg, out)?;
        if reg.dim.is_some_and(|d| d.addr.is_some()) {
            slots.push(Slot::SrcDim(0));
        }
        if reg.index.addr.is_some() {
            slots.push(Slot::SrcIndex(0));
        }
        let inst = Inst {
            srcs: SmallVec::from_slice(&[Src {
                reg: *reg,
                ..placeholder()
            }]),
            span: self.insts[at].span,
            ..Inst::bare(Opcode::Mov)
        };
        let m = Multi {
            inst,
            slots,
            kind: MultiKind::Load,
            results: 0xf,
        };
        let v = self.emit(at, m, args, out);
        self.loads.push((*reg, v));
        Ok(v)
    }

    /// Adds a multi-result operation, to the body unless it floats.
    fn emit(&mut self, at: usize, m: Multi, args: Args, out: &mut Body) -> Value {
        let kind = m.kind;
        let precise = m.inst.precise;
        let id = self.func.multi(m);
        let v = self
            .func
            .intern(VOp::Multi(id), precise, false, args, self.hint(at, 0));
        if kind != MultiKind::Pure {
            out.items.push(Item::Effect(v));
        }
        v
    }

    /// Channel `chan` of an operand, swizzle and modifiers applied.
    pub(super) fn word(
        &mut self,
        at: usize,
        src: &Src,
        chan: u8,
        ty: Ty,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        self.word_slot(at, src, self.plan.slot(&src.reg), chan, ty, out)
    }

    /// Like [`Self::word`], with the slot of the register already known.
    #[inline(always)]
    fn word_slot(
        &mut self,
        at: usize,
        src: &Src,
        slot: Option<usize>,
        chan: u8,
        ty: Ty,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        // Most words are there already, and plain.
        if let Some(slot) = slot
            && !src.abs
            && !src.neg
            && let Some(v) = self.env[slot + usize::from(src.swizzle[chan as usize & 3] & 3)]
        {
            if slot >= self.plan.vars {
                self.seen_again(v);
            }
            return Ok(v);
        }
        self.other_word(at, src, slot, chan, ty, out)
    }

    /// [`Self::word_slot`] in general.
    #[inline(never)]
    fn other_word(
        &mut self,
        at: usize,
        src: &Src,
        slot: Option<usize>,
        chan: u8,
        ty: Ty,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        let v = self.read_slot(at, &src.reg, slot, src.swizzle[chan as usize & 3] & 3, out)?;
        if !src.abs && !src.neg {
            return Ok(v);
        }
        self.modified(at, src, v, chan, ty)
    }

    /// A word with the modifiers of its operand.
    fn modified(
        &mut self,
        at: usize,
        src: &Src,
        v: Value,
        chan: u8,
        ty: Ty,
    ) -> Result<Value, LiftError> {
        let hint = self.hint(at, chan);
        if ty.is_wide() || src.abs && !ty.is_float_modifier() {
            return Err(LiftError::Operand {
                at,
                what: "modifier on an operand type that has none",
            });
        }
        if !ty.is_float_modifier() {
            return Ok(self.func.modifier(VOp::INeg, v, hint));
        }
        let v = if src.abs {
            self.func.modifier(VOp::Abs, v, hint)
        } else {
            v
        };
        Ok(if src.neg {
            self.func.modifier(VOp::Neg, v, hint)
        } else {
            v
        })
    }

    /// The pair of an operand: channels `2 * p` and `2 * p + 1`.
    fn pair(
        &mut self,
        at: usize,
        src: &Src,
        p: u8,
        ty: Ty,
        out: &mut Body,
    ) -> Result<Value, LiftError> {
        let lo = self.word(at, src, 2 * p, ty, out)?;
        let hi = self.word(at, src, 2 * p + 1, ty, out)?;
        let hint = self.hint(at, 2 * p);
        Ok(self.func.pair(lo, hi, hint))
    }

    #[inline]
    fn saturate(&mut self, inst: &Inst, v: Value, hint: LaneHint) -> Value {
        if inst.sat {
            self.func.modifier(VOp::Sat, v, hint)
        } else {
            v
        }
    }

    fn comp(&mut self, at: usize, inst: &Inst, out: &mut Body) -> Result<(), LiftError> {
        let info = inst.op.info();
        let mask = dst_mask(inst);
        if !info.dst_ty.is_wide() {
            return self.lanes(at, inst, mask, out);
        }
        let mut results: SmallVec<[(u8, Value); 4]> = SmallVec::new();
        let wide_src = info.src_ty.iter().any(|t| t.is_wide());
        for p in 0..2u8 {
            if mask >> (2 * p) & 3 == 0 {
                continue;
            }
            let hint = self.hint(at, 2 * p);
            let mut args = Args::new();
            for (k, src) in inst.srcs.iter().enumerate() {
                let ty = info.src_ty[k];
                args.push(if ty.is_wide() {
                    self.pair(at, src, p, ty, out)?
                } else {
                    self.word(at, src, if wide_src { 2 * p } else { p }, ty, out)?
                });
            }
            let v = self.func.alu(inst.op, inst.precise, args, hint);
            let v = self.saturate(inst, v, hint);
            for h in 0..2 {
                if mask >> (2 * p + h) & 1 != 0 {
                    let hint = self.hint(at, 2 * p + h);
                    results.push((2 * p + h, self.func.half(v, h, hint)));
                }
            }
        }
        self.assign(at, &inst.dsts[0], &results, out)
    }

    /// A componentwise operation with narrow results: one value a lane.
    fn lanes(&mut self, at: usize, inst: &Inst, mask: u8, out: &mut Body) -> Result<(), LiftError> {
        let info = inst.op.info();
        let srcs = &inst.srcs[..];
        let count = srcs.len().min(MAX_OPERANDS);
        let mut slots = [None; MAX_OPERANDS];
        for k in 0..count {
            slots[k] = self.plan.slot(&srcs[k].reg);
        }
        let wide = info.src_ty.iter().any(|t| t.is_wide());
        let moves = matches!(inst.op, Opcode::Mov | Opcode::Swz | Opcode::Uarl);
        let rewritten = matches!(inst.op, Opcode::Abs | Opcode::Sub);
        let mut results = [(0, value_at(0)); 4];
        let mut len = 0;
        for c in (0..4u8).filter(|c| mask >> c & 1 != 0) {
            let mut args = [value_at(0); MAX_OPERANDS];
            for k in 0..count {
                let (src, ty) = (&srcs[k], info.src_ty[k]);
                args[k] = if wide && ty.is_wide() {
                    self.pair(at, src, wide_half(inst, c).unwrap_or(c / 2), ty, out)?
                } else {
                    self.word_slot(at, src, slots[k], c, ty, out)?
                };
            }
            let hint = self.hint(at, c);
            let v = if moves {
                args[0]
            } else if rewritten {
                self.unit(inst, args, hint)
            } else {
                let args = Args::from_buf_and_len(args, count);
                self.func
                    .intern(VOp::Alu(inst.op), inst.precise, false, args, hint)
            };
            results[len] = (c, self.saturate(inst, v, hint));
            len += 1;
        }
        self.assign(at, &inst.dsts[0], &results[..len], out)
    }

    /// A narrow componentwise operation that other operations say.
    fn unit(&mut self, inst: &Inst, args: [Value; MAX_OPERANDS], hint: LaneHint) -> Value {
        if inst.op == Opcode::Abs {
            return self.func.modifier(VOp::Abs, args[0], hint);
        }
        let b = self.func.modifier(VOp::Neg, args[1], hint);
        self.func.alu(
            Opcode::Add,
            inst.precise,
            SmallVec::from_slice(&[args[0], b]),
            hint,
        )
    }

    fn scalar(&mut self, at: usize, inst: &Inst, out: &mut Body) -> Result<(), LiftError> {
        let info = inst.op.info();
        let dst = inst.dsts[0];
        if dst.mask == 0 {
            return Ok(());
        }
        let n = if let Shape::Dot(n) = info.shape { n } else { 1 };
        let mut args = Args::new();
        for (k, src) in inst.srcs.iter().enumerate() {
            let slot = self.plan.slot(&src.reg);
            for c in 0..n {
                args.push(self.word_slot(at, src, slot, c, info.src_ty[k], out)?);
            }
        }
        let first = dst.mask.trailing_zeros() as u8;
        let hint = self.hint(at, first);
        let v = self.func.alu(inst.op, inst.precise, args, hint);
        let v = self.saturate(inst, v, hint);
        let mut results: SmallVec<[(u8, Value); 4]> = SmallVec::new();
        for c in (0..4).filter(|c| dst.mask >> c & 1 != 0) {
            results.push((c, v));
        }
        self.assign(at, &dst, &results, out)
    }

    fn multi(&mut self, at: usize, inst: &Inst, out: &mut Body) -> Result<(), LiftError> {
        let info = inst.op.info();
        let mut m = Multi {
            inst: inst.clone(),
            slots: SmallVec::new(),
            kind: match info.effect {
                Effect::Write => MultiKind::Effect,
                Effect::Read => MultiKind::Pinned,
                _ if info.quad => MultiKind::Pinned,
                _ => MultiKind::Pure,
            },
            results: 0,
        };
        m.inst.label = None;
        let mut args = Args::new();
        let full = inst.dsts.iter().fold(0, |a, d| a | d.mask);
        for (k, src) in inst.srcs.iter().enumerate() {
            let ty = info.src_ty.get(k).copied().unwrap_or(Ty::Any);
            if stays(inst, k) {
                let words = self.addresses(at, &src.reg, out)?;
                let dim = src.reg.dim.is_some_and(|d| d.addr.is_some());
                if dim {
                    m.slots.push(Slot::SrcDim(k as u8));
                }
                if src.reg.index.addr.is_some() {
                    m.slots.push(Slot::SrcIndex(k as u8));
                }
                args.extend(words);
                continue;
            }
            let odd = odd_modifier(inst, k);
            m.inst.srcs[k] = Src {
                abs: odd && src.abs,
                neg: odd && src.neg,
                ..placeholder()
            };
            let src = &Src {
                abs: !odd && src.abs,
                neg: !odd && src.neg,
                ..*src
            };
            let mask = src_mask(inst, k, full);
            let slot = self.plan.slot(&src.reg);
            for c in (0..4).filter(|c| mask >> c & 1 != 0) {
                let v = self.word_slot(at, src, slot, c, ty, out)?;
                m.slots.push(Slot::Src(k as u8, c));
                args.push(v);
            }
        }
        for (k, o) in inst.offsets.iter().enumerate() {
            if o.reg.is_indirect() {
                return Err(LiftError::Operand {
                    at,
                    what: "relative texel offset",
                });
            }
            for c in 0..3 {
                let v = self.read(at, &o.reg, o.swizzle[c as usize] & 3, out)?;
                m.slots.push(Slot::Offset(k as u8, c));
                args.push(v);
            }
            m.inst.offsets[k].reg = Register::direct(File::Null, 0);
        }
        let stores_to_resource = inst.dsts.first().is_some_and(|d| is_resource(d.reg.file));
        if stores_to_resource {
            let reg = inst.dsts[0].reg;
            args.extend(self.addresses(at, &reg, out)?);
            if reg.dim.is_some_and(|d| d.addr.is_some()) {
                m.slots.push(Slot::DstDim);
            }
            if reg.index.addr.is_some() {
                m.slots.push(Slot::DstIndex);
            }
            self.emit(at, m, args, out);
            return Ok(());
        }
        for (k, d) in inst.dsts.iter().enumerate() {
            m.results |= d.mask << (4 * k);
            m.inst.dsts[k].reg = Register::direct(File::Null, 0);
        }
        let v = self.emit(at, m, args, out);
        for (k, d) in inst.dsts.iter().enumerate() {
            let mut results: SmallVec<[(u8, Value); 4]> = SmallVec::new();
            for c in (0..4u8).filter(|c| d.mask >> c & 1 != 0) {
                let hint = self.hint(at, c);
                let proj = VOp::Proj(c + 4 * k as u8);
                results.push((
                    c,
                    self.func
                        .intern(proj, false, false, SmallVec::from_slice(&[v]), hint),
                ));
            }
            self.assign(at, d, &results, out)?;
        }
        Ok(())
    }

    /// Writes results to a destination: the environment, or a store.
    fn assign(
        &mut self,
        at: usize,
        dst: &Dst,
        results: &[(u8, Value)],
        out: &mut Body,
    ) -> Result<(), LiftError> {
        if let Some(var) = self.plan.var(&dst.reg) {
            for &(c, v) in results {
                self.set(var + c as usize, v);
            }
            return Ok(());
        }
        match dst.reg.file {
            File::Null => return Ok(()),
            File::Temp | File::Out => {}
            _ => {
                return Err(LiftError::Operand {
                    at,
                    what: "destination of a file that cannot be written",
                });
            }
        }
        if results.is_empty() {
            return Ok(());
        }
        let mut slots: SmallVec<[Slot; 6]> = results.iter().map(|r| Slot::Src(0, r.0)).collect();
        let mut args: Args = results.iter().map(|r| r.1).collect();
        args.extend(self.addresses(at, &dst.reg, out)?);
        if dst.reg.dim.is_some_and(|d| d.addr.is_some()) {
            slots.push(Slot::DstDim);
        }
        if dst.reg.index.addr.is_some() {
            slots.push(Slot::DstIndex);
        }
        debug_assert_eq!(slots.len(), results.len() + addr_regs(&dst.reg).len());
        let mask = results.iter().fold(0, |m, r| m | 1 << r.0);
        let inst = Inst {
            precise: self.insts[at].precise,
            dsts: SmallVec::from_slice(&[Dst {
                reg: dst.reg,
                mask,
                span: dst.span,
            }]),
            srcs: SmallVec::from_slice(&[placeholder()]),
            span: self.insts[at].span,
            ..Inst::bare(Opcode::Mov)
        };
        self.emit(
            at,
            Multi {
                inst,
                slots,
                kind: MultiKind::Store,
                results: 0,
            },
            args,
            out,
        );
        Ok(())
    }
}
