//! Building nodes: which values become nodes, which are folded into operands.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{Opcode, Shape, Ty};
use tgsi_ir::layout::{CopyDst, Layout, NOWHERE};
use tgsi_ir::{Function, MultiKind, RegId, VOp, Value, ix};

use super::{
    Address, EdgeMove, Ent, Ext, Lir, LirBlock, MAX_SOURCES, NONE, Node, NodeId, Opnd, Ref, What,
    is_fence, may_alias, result_chans, spread_outputs,
};

/// Builds the nodes of a placed function.
///
/// With `integer_negation` an operand may hold the two's complement of an integer.
pub fn build(f: &Function, l: &Layout, integer_negation: bool) -> Lir {
    let n = f.values.len();
    let items = l.blocks.iter().map(|b| b.items.len()).sum();
    let mut b = Build {
        f,
        l,
        integer_negation,
        lir: Lir {
            nodes: Vec::with_capacity(items),
            opnds: Vec::with_capacity(2 * items + items / 2),
            def: Vec::with_capacity(n + f.outputs.len()),
            lane: Vec::with_capacity(n + f.outputs.len()),
            ..Lir::default()
        },
        ent: vec![NONE; n],
        uses: Vec::new(),
        flags: vec![0; n],
        plain_exts: vec![NONE; f.regs.len()],
        ext_ids: FxHashMap::default(),
        blocks: Vec::with_capacity(l.blocks.len()),
        exts: Vec::with_capacity(f.regs.len()),
        extra_regs: Vec::new(),
        output_ents: vec![NONE; f.outputs.len()],
        wide: Vec::new(),
    };
    let seen = b.mark_special();
    if seen.saturates {
        b.count_uses();
    }
    b.fold_loads();
    if seen.any {
        b.decide();
    }
    b.run();
    let mut lir = b.finish();
    spread_outputs(&mut lir);
    lir
}

/// Facts of a value in [`Build::flags`].
mod flag {
    /// A modifier (or address operation) that must be computed into a word of its own.
    pub(super) const STORED: u8 = 1;
    /// A saturate is folded into it: the clamp is the value.
    pub(super) const FOLD_SAT: u8 = 2;
    /// A load that its readers name themselves.
    pub(super) const FOLDED_LOAD: u8 = 4;
    /// Its readers may hold it as part of an operand: a modifier, an address operation or an
    /// indexed register.
    pub(super) const SPECIAL: u8 = 8;
}

/// What a function has that needs decisions.
struct Seen {
    /// Saturates.
    saturates: bool,
    /// Saturates or values that are [`flag::SPECIAL`].
    any: bool,
}

struct Build<'a> {
    f: &'a Function,
    l: &'a Layout,
    lir: Lir,
    /// Whether an operand may hold `-x` of an integer.
    integer_negation: bool,
    /// First stored word of each value.
    ent: Vec<Ent>,
    /// Number of readers of each value; empty without saturates, which alone ask.
    uses: Vec<u32>,
    /// Facts of each value, see [`flag`].
    flags: Vec<u8>,
    /// Number in `exts` of each register reference without addresses.
    plain_exts: Vec<u32>,
    /// The same for references with addresses and for loads.
    ext_ids: FxHashMap<Ext, u32>,
    blocks: Vec<LirBlock>,
    exts: Vec<Ext>,
    extra_regs: Vec<tgsi_ir::RegRef>,
    output_ents: Vec<Ent>,
    /// Low words of 64-bit values; the high word follows.
    wide: Vec<Ent>,
}

/// Whether an operand of this operation is read where the operation is, since it is no instruction.
fn is_read_through(op: VOp) -> bool {
    matches!(
        op,
        VOp::Proj(_)
            | VOp::Half(_)
            | VOp::Pair
            | VOp::Neg
            | VOp::Abs
            | VOp::INeg
            | VOp::Reg(..)
            | VOp::Alu(Opcode::Arl | Opcode::Arr | Opcode::Uarl)
    )
}

impl Build<'_> {
    #[inline]
    fn is(&self, v: Value, flag: u8) -> bool {
        self.flags[ix(v)] & flag != 0
    }

    #[inline]
    fn set(&mut self, v: Value, flag: u8) {
        self.flags[ix(v)] |= flag;
    }

    fn mark_special(&mut self) -> Seen {
        let mut seen = Seen {
            saturates: false,
            any: false,
        };
        for ((_, d), flags) in self.f.values.iter().zip(&mut self.flags) {
            let special = match d.op {
                VOp::Sat => {
                    seen.saturates = true;
                    seen.any = true;
                    false
                }
                VOp::Neg | VOp::Abs | VOp::INeg | VOp::Alu(Opcode::Arl | Opcode::Arr) => true,
                VOp::Reg(..) => !d.args.is_empty(),
                _ => false,
            };
            if special {
                *flags = flag::SPECIAL;
                seen.any = true;
            }
        }
        seen
    }

    /// The program, with the tables that only now have their size.
    fn finish(self) -> Lir {
        let mut lir = self.lir;
        let n = lir.ents as usize;
        lir.partner = vec![NONE; n];
        for lo in self.wide {
            lir.partner[lo as usize] = lo + 1;
            lir.partner[lo as usize + 1] = lo;
        }
        lir.output = vec![None; n];
        for (&e, &place) in self.output_ents.iter().zip(&self.f.outputs) {
            if e != NONE {
                lir.output[e as usize] = Some(place);
            }
        }
        lir.blocks = Arc::new(self.blocks);
        lir.exts = Arc::new(self.exts);
        lir.extra_regs = Arc::new(self.extra_regs);
        lir
    }

    /// A new word.
    #[inline]
    fn fresh(&mut self, lane: u8) -> Ent {
        let lir = &mut self.lir;
        lir.def.push(NONE);
        lir.lane.push(lane);
        lir.ents += 1;
        lir.ents - 1
    }

    fn placed(&self, v: Value) -> bool {
        self.l.place[ix(v)] != NOWHERE
    }

    fn count_uses(&mut self) {
        self.uses = vec![0; self.f.values.len()];
        for block in &self.l.blocks {
            for &v in &block.items {
                for &a in &self.f.values[v].args {
                    self.uses[ix(a)] += 1;
                }
            }
            for c in &block.copies {
                self.uses[ix(c.src)] += 2;
            }
            if let Some(c) = block.cond {
                self.uses[ix(c)] += 1;
            }
        }
    }

    /// Finds loads whose readers all stand between the load and the next store that may
    /// change what was read: they name the memory themselves.
    fn fold_loads(&mut self) {
        let f = self.f;
        if f.multis.iter().all(|m| m.kind != MultiKind::Load) {
            return;
        }
        for block in &self.l.blocks {
            let any = block
                .items
                .iter()
                .any(|&v| f.as_multi(v).is_some_and(|m| m.kind == MultiKind::Load));
            if !any {
                continue;
            }
            // Last reader of each load, through transparent values, as an item position.
            let mut last: FxHashMap<Value, usize> = FxHashMap::default();
            let mut origin: FxHashMap<Value, SmallVec<[Value; 2]>> = FxHashMap::default();
            for (i, &v) in block.items.iter().enumerate() {
                let d = &f.values[v];
                let mut loads: SmallVec<[Value; 2]> = SmallVec::new();
                for &a in &d.args {
                    if f.as_multi(a).is_some_and(|m| m.kind == MultiKind::Load) {
                        loads.push(a);
                    }
                    if let Some(o) = origin.get(&a) {
                        loads.extend(o.iter().copied());
                    }
                }
                let transparent =
                    matches!(
                        d.op,
                        VOp::Proj(_)
                            | VOp::Half(_)
                            | VOp::Pair
                            | VOp::Neg
                            | VOp::Abs
                            | VOp::INeg
                            | VOp::Reg(..)
                    ) || matches!(d.op, VOp::Alu(Opcode::Arl | Opcode::Arr | Opcode::Uarl));
                for &l in &loads {
                    last.insert(l, i);
                }
                if transparent && !loads.is_empty() {
                    origin.insert(v, loads);
                }
            }
            for (i, &v) in block.items.iter().enumerate() {
                let Some(m) = f.as_multi(v).filter(|m| m.kind == MultiKind::Load) else {
                    continue;
                };
                let Some(&end) = last.get(&v) else { continue };
                let clobbered = block.items[i + 1..end.max(i + 1)].iter().any(|&s| {
                    f.as_multi(s).is_some_and(|w| {
                        w.kind == MultiKind::Store && may_alias(f, m, w) || is_fence(w)
                    })
                });
                if !clobbered {
                    self.set(v, flag::FOLDED_LOAD);
                }
            }
        }
        // A projection that is used in another block, or by an edge, needs the word itself.
        for (b, block) in self.l.blocks.iter().enumerate() {
            for &v in &block.items {
                for &a in &f.values[v].args {
                    self.unfold_if(a, b as u32);
                }
            }
            for c in &block.copies {
                self.unfold(c.src);
            }
            if let Some(c) = block.cond {
                self.unfold(c);
            }
        }
    }

    fn unfold_if(&mut self, v: Value, block: u32) {
        let d = &self.f.values[v];
        if self.l.place[ix(v)] != block {
            self.flags[ix(v)] &= !flag::FOLDED_LOAD;
        }
        if is_read_through(d.op) {
            for &a in &d.args {
                self.unfold_if(a, block);
            }
        }
    }

    fn unfold(&mut self, v: Value) {
        let d = &self.f.values[v];
        self.flags[ix(v)] &= !flag::FOLDED_LOAD;
        if is_read_through(d.op) {
            for &a in &d.args {
                self.unfold(a);
            }
        }
    }

    /// Decides which modifiers are computed and which saturates fold.
    fn decide(&mut self) {
        let f = self.f;
        for (v, d) in f.values.iter() {
            if !self.placed(v) {
                continue;
            }
            if d.op == VOp::Sat {
                let a = d.args[0];
                let producer = matches!(f.values[a].op, VOp::Alu(_)) && self.uses[ix(a)] == 1;
                if producer && self.l.place[ix(a)] == self.l.place[ix(v)] {
                    self.set(a, flag::FOLD_SAT);
                }
                if !producer {
                    self.storage_unless_modifier(a);
                }
            }
            if !d.args.iter().any(|&a| self.is(a, flag::SPECIAL)) {
                continue;
            }
            match d.op {
                VOp::Alu(op) => {
                    let info = op.info();
                    let movable = matches!(info.shape, Shape::Comp | Shape::Repl | Shape::Dot(_));
                    let per = if let Shape::Dot(n) = info.shape {
                        usize::from(n)
                    } else {
                        1
                    };
                    for (args, &ty) in d.args.chunks(per).zip(info.src_ty) {
                        args.iter().for_each(|&a| self.need(a, ty, movable));
                    }
                }
                VOp::Multi(m) => {
                    let m = &f.multis[m.0 as usize];
                    for (slot, &a) in m.slots.iter().zip(&d.args) {
                        let free =
                            matches!(m.kind, MultiKind::Store) || m.inst.op == Opcode::KillIf;
                        match slot {
                            tgsi_ir::Slot::Src(k, _) if free => {
                                let ty = m.inst.op.info().src_ty[*k as usize];
                                self.need(a, ty, m.inst.op == Opcode::KillIf);
                            }
                            tgsi_ir::Slot::Src(..) | tgsi_ir::Slot::Offset(..) => {
                                self.need(a, Ty::Any, false)
                            }
                            _ => self.need_address(a),
                        }
                    }
                }
                VOp::Reg(..) => d.args.iter().for_each(|&a| self.need_address(a)),
                VOp::Pair | VOp::Half(_) => d.args.iter().for_each(|&a| self.need(a, Ty::D, false)),
                VOp::Abs | VOp::Neg | VOp::INeg => {}
                _ => {}
            }
        }
        for block in &self.l.blocks {
            for c in &block.copies {
                self.need(c.src, Ty::Any, false);
            }
            if let Some(c) = block.cond {
                self.need(c, Ty::U, false);
            }
        }
        // A computed modifier reads its own operand, which may be a modifier in turn.
        for i in (0..f.values.len()).rev() {
            let v = tgsi_ir::value_at(i);
            if !self.is(v, flag::STORED) {
                continue;
            }
            let d = &f.values[v];
            match d.op {
                VOp::Neg | VOp::Abs => self.need(d.args[0], Ty::F, true),
                VOp::INeg => self.need(d.args[0], Ty::I, false),
                _ => {}
            }
        }
    }

    fn storage_unless_modifier(&mut self, v: Value) {
        self.need(v, Ty::F, true);
    }

    /// Notes that a word is read as `ty`; `modifiers` says whether the operand can hold them.
    #[inline]
    fn need(&mut self, v: Value, ty: Ty, modifiers: bool) {
        if matches!(self.f.values[v].op, VOp::Neg | VOp::Abs | VOp::INeg) {
            self.need_modified(v, ty, modifiers);
        } else {
            self.need_word(v);
        }
    }

    fn need_modified(&mut self, v: Value, ty: Ty, modifiers: bool) {
        let d = &self.f.values[v];
        let folds = match d.op {
            VOp::INeg => self.integer_negation && modifiers && matches!(ty, Ty::I | Ty::U),
            _ => modifiers && ty.is_float_modifier(),
        };
        if !folds {
            self.set(v, flag::STORED);
            return;
        }
        // -|x| is one operand, |-x| was rewritten, -(-x) too.
        let a = d.args[0];
        let inner = &self.f.values[a];
        match (d.op, inner.op) {
            (VOp::Neg, VOp::Abs) => {
                if matches!(
                    self.f.values[inner.args[0]].op,
                    VOp::Neg | VOp::Abs | VOp::INeg
                ) {
                    self.set(inner.args[0], flag::STORED);
                }
                self.need_word(inner.args[0]);
            }
            (_, VOp::Neg | VOp::Abs | VOp::INeg) => self.set(a, flag::STORED),
            _ => self.need_word(a),
        }
    }

    /// A word that is read as it is.
    #[inline]
    fn need_word(&mut self, v: Value) {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(Opcode::Arl | Opcode::Arr) => self.set(v, flag::STORED),
            VOp::Reg(..) if !d.args.is_empty() => d.args.iter().for_each(|&a| self.need_address(a)),
            _ => {}
        }
    }

    fn need_address(&mut self, v: Value) {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(Opcode::Arl | Opcode::Arr) => self.need(d.args[0], Ty::Any, false),
            _ => self.need(v, Ty::Any, false),
        }
    }

    fn ent(&mut self, v: Value) -> Ent {
        if self.ent[ix(v)] == NONE {
            let d = &self.f.values[v];
            let e = self.fresh(d.hint.lane);
            self.ent[ix(v)] = e;
            if d.wide {
                self.fresh(d.hint.lane + 1);
                self.wide.push(e);
            }
        }
        self.ent[ix(v)]
    }

    /// The word a value is, without modifiers.
    fn resolve(&mut self, v: Value) -> Ref {
        let d = &self.f.values[v];
        match d.op {
            VOp::Imm(w) => Ref::Imm(w),
            VOp::Undef(u) => Ref::Undef(u),
            VOp::Reg(r, c) => {
                if !d.args.is_empty() {
                    let addrs = d.args.iter().map(|&a| self.address(a)).collect();
                    return Ref::Ext(
                        self.ext(Ext {
                            reg: r,
                            addrs,
                            load: NONE,
                        }),
                        c,
                    );
                }
                let x = &mut self.plain_exts[r.0 as usize];
                if *x == NONE {
                    *x = self.exts.len() as u32;
                    self.exts.push(Ext {
                        reg: r,
                        addrs: SmallVec::new(),
                        load: NONE,
                    });
                }
                Ref::Ext(*x, c)
            }
            VOp::Proj(c) if self.is(d.args[0], flag::FOLDED_LOAD) => {
                let load = d.args[0];
                Ref::Ext(self.load_ext(load), c)
            }
            VOp::Proj(c) => {
                let m = d.args[0];
                let e = self.ent[ix(m)];
                debug_assert_ne!(e, NONE, "results are numbered when their operation is met");
                let chans = self.f.as_multi(m).map_or(0, result_chans);
                Ref::Ent(e + (chans & ((1u16 << c) - 1) as u8).count_ones())
            }
            VOp::Half(h) => match self.resolve_wide(d.args[0]) {
                [lo, hi] => [lo, hi][h as usize],
            },
            VOp::Sat if self.is(d.args[0], flag::FOLD_SAT) => Ref::Ent(self.ent(d.args[0])),
            _ => Ref::Ent(self.ent(v)),
        }
    }

    fn resolve_wide(&mut self, v: Value) -> [Ref; 2] {
        let d = &self.f.values[v];
        match d.op {
            VOp::Pair => [self.resolve(d.args[0]), self.resolve(d.args[1])],
            VOp::Sat if self.is(d.args[0], flag::FOLD_SAT) => {
                let e = self.ent(d.args[0]);
                [Ref::Ent(e), Ref::Ent(e + 1)]
            }
            _ => {
                let e = self.ent(v);
                [Ref::Ent(e), Ref::Ent(e + 1)]
            }
        }
    }

    fn ext(&mut self, x: Ext) -> u32 {
        let exts = &mut self.exts;
        *self.ext_ids.entry(x.clone()).or_insert_with(|| {
            exts.push(x);
            exts.len() as u32 - 1
        })
    }

    /// The external register of a folded load.
    fn load_ext(&mut self, load: Value) -> u32 {
        let m = self.f.as_multi(load).expect("a load");
        let reg = tgsi_ir::lift::reg_ref(&m.inst.srcs[0].reg);
        let args = self.f.values[load].args.clone();
        let addrs = args.iter().map(|&a| self.address(a)).collect();
        // The register is not in the function's table: number it behind that table's end by value.
        let id = self.load_reg(reg);
        self.ext(Ext {
            reg: id,
            addrs,
            load: ix(load) as u32,
        })
    }

    fn load_reg(&mut self, reg: tgsi_ir::RegRef) -> RegId {
        let at = self.f.regs.iter().position(|r| *r == reg);
        match at {
            Some(i) => RegId(i as u32),
            None => {
                let extra = &mut self.extra_regs;
                let i = extra.iter().position(|r| *r == reg).unwrap_or_else(|| {
                    extra.push(reg);
                    extra.len() - 1
                });
                RegId((self.f.regs.len() + i) as u32)
            }
        }
    }

    fn address(&mut self, v: Value) -> Address {
        let d = &self.f.values[v];
        match d.op {
            VOp::Alu(op @ (Opcode::Arl | Opcode::Arr)) => Address {
                op,
                r: self.resolve(d.args[0]),
            },
            _ => Address {
                op: Opcode::Uarl,
                r: self.resolve(v),
            },
        }
    }

    /// An operand with its modifiers.
    #[inline]
    fn operand(&mut self, v: Value, pos: u8) -> Opnd {
        // What has a word is read from it.
        match self.ent[ix(v)] {
            NONE => self.other_operand(v, pos),
            e => Opnd {
                r: Ref::Ent(e),
                neg: false,
                abs: false,
                pos,
            },
        }
    }

    fn other_operand(&mut self, mut v: Value, pos: u8) -> Opnd {
        let mut o = Opnd {
            r: Ref::Imm(0),
            neg: false,
            abs: false,
            pos,
        };
        while !self.is(v, flag::STORED) {
            let d = &self.f.values[v];
            match d.op {
                VOp::Neg | VOp::INeg => o.neg = !o.neg,
                VOp::Abs => o.abs = true,
                _ => break,
            }
            v = d.args[0];
        }
        o.r = self.resolve(v);
        o
    }

    fn run(&mut self) {
        let f = self.f;
        let mut pos = 0;
        for block in &self.l.blocks {
            let mut out = LirBlock {
                start: pos,
                nodes: Vec::with_capacity(block.items.len()),
                moves: Vec::with_capacity(block.copies.len()),
                ..LirBlock::default()
            };
            for &p in &block.phis {
                let e = self.ent(p);
                out.phis.push(e);
            }
            pos += 2;
            let id = self.blocks.len() as u32;
            for &v in &block.items {
                let d = &f.values[v];
                let made = match d.op {
                    VOp::Alu(Opcode::Arl | Opcode::Arr) if !self.is(v, flag::STORED) => None,
                    VOp::Alu(op) => Some(self.alu(v, op)),
                    VOp::Neg | VOp::Abs | VOp::INeg if self.is(v, flag::STORED) => {
                        Some(self.modifier(v))
                    }
                    VOp::Sat if !self.is(d.args[0], flag::FOLD_SAT) => Some(self.modifier(v)),
                    VOp::Multi(_) if !self.is(v, flag::FOLDED_LOAD) => Some(self.whole(v)),
                    _ => None,
                };
                if let Some(mut node) = made {
                    node.block = id;
                    node.pos = pos;
                    node.hint = d.hint;
                    let nid = self.lir.nodes.len() as NodeId;
                    for e in node.dsts() {
                        self.lir.def[e as usize] = nid;
                    }
                    out.nodes.push(nid);
                    self.lir.nodes.push(node);
                    pos += 2;
                }
            }
            for c in &block.copies {
                let dst = match c.dst {
                    CopyDst::Phi(p) => self.ent(p),
                    CopyDst::Output(k) => self.output(k),
                };
                let src = self.resolve(c.src);
                out.moves.push(EdgeMove { dst, src });
            }
            out.cond = block.cond.map(|c| self.resolve(c));
            pos += 4;
            out.end = pos;
            self.blocks.push(out);
        }
    }

    fn output(&mut self, k: u32) -> Ent {
        let place = self.f.outputs[k as usize];
        let known = self.output_ents[k as usize];
        if known != NONE {
            return known;
        }
        let e = self.fresh(place.1);
        self.output_ents[k as usize] = e;
        e
    }

    fn node(&self, what: What) -> Node {
        Node {
            first: self.lir.opnds.len() as u32,
            ..Node::blank(what)
        }
    }

    fn alu(&mut self, v: Value, op: Opcode) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let info = op.info();
        let mut n = self.node(What::Alu(op));
        let per = if let Shape::Dot(n) = info.shape {
            n as usize
        } else {
            1
        };
        let mut len = 0;
        for &a in &d.args {
            if f.values[a].wide {
                let [lo, hi] = self.resolve_wide(a);
                self.lir.opnds.push(Opnd {
                    r: lo,
                    neg: false,
                    abs: false,
                    pos: 0,
                });
                self.lir.opnds.push(Opnd {
                    r: hi,
                    neg: false,
                    abs: false,
                    pos: 1,
                });
                n.push_len(2);
            } else {
                let o = self.operand(a, len as u8);
                self.lir.opnds.push(o);
                len += 1;
                if len == per {
                    n.push_len(len);
                    len = 0;
                }
            }
        }
        n.precise = d.precise;
        n.sat = self.is(v, flag::FOLD_SAT);
        n.dst = self.ent(v);
        n.dst_count = 1 + u8::from(d.wide);
        n
    }

    /// A modifier that is computed: MOV with the modifier, INEG, MOV_SAT.
    fn modifier(&mut self, v: Value) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let a = d.args[0];
        if d.wide {
            // A saturate that could not join its producer: the clamp of a double needs an
            // operation that carries it, and the maximum of a word with itself is the word.
            let [lo, hi] = self.resolve_wide(a);
            let mut n = self.node(What::Alu(Opcode::Dmax));
            for r in [lo, hi, lo, hi] {
                self.lir.opnds.push(Opnd {
                    r,
                    neg: false,
                    abs: false,
                    pos: 0,
                });
            }
            n.push_len(2);
            n.push_len(2);
            n.sat = true;
            n.dst = self.ent(v);
            n.dst_count = 2;
            return n;
        }
        let mut n = self.node(What::Alu(if d.op == VOp::INeg {
            Opcode::Ineg
        } else {
            Opcode::Mov
        }));
        let mut o = self.operand(a, 0);
        match d.op {
            VOp::Neg => o.neg = !o.neg,
            VOp::Abs => {
                o.abs = true;
                o.neg = false;
            }
            VOp::Sat => n.sat = true,
            _ => {}
        }
        self.lir.opnds.push(o);
        n.push_len(1);
        n.dst = self.ent(v);
        n.dst_count = 1;
        n
    }

    fn whole(&mut self, v: Value) -> Node {
        let f = self.f;
        let d = &f.values[v];
        let m = f.as_multi(v).expect("a multi-result value");
        let mut n = self.node(What::Multi(v));
        n.addr_first = self.lir.addrs.len() as u32;
        // Offsets follow the sources; the words of a source stand together.
        let sources = m.inst.srcs.len();
        let count = (sources + m.inst.offsets.len()).min(MAX_SOURCES);
        let place = |s: &tgsi_ir::Slot| match *s {
            tgsi_ir::Slot::Src(k, c) => Some((k as usize, c)),
            tgsi_ir::Slot::Offset(k, c) => Some(((sources + k as usize).min(count - 1), c)),
            _ => None,
        };
        for k in 0..count {
            let before = self.lir.opnds.len();
            for (slot, &a) in m.slots.iter().zip(&d.args) {
                if let Some((source, c)) = place(slot)
                    && source == k
                {
                    let o = self.operand(a, c);
                    self.lir.opnds.push(o);
                }
            }
            n.push_len(self.lir.opnds.len() - before);
        }
        for (slot, &a) in m.slots.iter().zip(&d.args) {
            if place(slot).is_none() {
                let address = self.address(a);
                self.lir.addrs.push((*slot, address));
                n.addr_count += 1;
            }
        }
        n.precise = d.precise;
        n.sat = m.inst.sat;
        n.chans = result_chans(m);
        n.dst_count = n.chans.count_ones() as u8;
        n.dst = self.lir.ents;
        for c in (0..8u8).filter(|c| n.chans >> c & 1 != 0) {
            self.fresh(c & 3);
        }
        self.ent[ix(v)] = n.dst;
        n
    }
}
