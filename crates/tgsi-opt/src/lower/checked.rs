//! Does each operand of the printed program find its word?
//!
//! The lines say which words each instruction reads and writes. Where it looks for them and where
//! it puts them is read from the printed instruction: registers, swizzles, write masks and flow as
//! a consumer sees them, not the table of places that they were printed from. Which channels an
//! operation reads comes from the opcode table. What results is a program of values and cells for
//! [`tgsi_regalloc::checker`], which follows every path.
//!
//! Of the places only the channels of arithmetic results are used: nothing else tells which lane
//! writes which channel. If they are wrong, what reads the results finds other words.
//!
//! Address registers are cells too: an address is a value that its load writes, and that is old when
//! the word it was loaded from is written again. Arrays are opaque and live throughout, so no word
//! may stand in one. Where the program ends each output must hold its word.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::usage::{dst_mask, src_mask};
use tgsi::{Dst, File, Index, Inst, Item, Opcode, Program, Register, Src};
use tgsi_ir::layout::Step as Flow;
use tgsi_ir::{MultiKind, RefIndex, RegRef, Slot};
use tgsi_pack::lir::{Address, NONE, Node, NodeId, Opnd, Ref, What};
use tgsi_pack::pack::Pack;
use tgsi_regalloc::checker::{
    Cell, Step, Value, Violation, ViolationKind, check, check_with_undefined,
};

use super::lines::Line;
use super::problem::{Place, places};
use super::{LowerError, Lowering, ext_reg};

/// Output registers as temporaries of the checker.
const OUTPUTS: u32 = 1 << 24;
/// Address registers likewise.
const ADDRESSES: u32 = 2 << 24;
/// Written by nothing but what makes an address old.
const OLD: u32 = 3 << 24;
/// What stands in a channel that an instruction writes for no word.
const JUNK: Value = Value(u32::MAX);

/// The values and cells of one instruction.
#[derive(Default)]
struct Access {
    reads: SmallVec<[(Value, Cell); 4]>,
    writes: SmallVec<[(Value, Cell); 4]>,
}

/// Reads a printed program.
struct Reader<'a> {
    l: &'a Lowering<'a>,
    imms: Vec<[u32; 4]>,
    places: Vec<Place>,
    /// The value of each address, numbered behind the words.
    addresses: FxHashMap<Address, u32>,
    /// The addresses that are loaded from each word.
    loaded_from: FxHashMap<u32, SmallVec<[u32; 2]>>,
}

type Check<T = ()> = Result<T, String>;

#[cfg(test)]
std::thread_local! {
    /// Makes every check of this thread fail.
    static REFUSES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Lowering<'_> {
    /// Checks that each operand of `program`, which this was printed as, finds its word on every path.
    ///
    /// # Errors
    /// [`LowerError::Check`] with the first fault.
    pub(crate) fn check(&self, program: &Program) -> Result<(), LowerError> {
        self.check_program(program).map_err(LowerError::Check)
    }

    fn check_program(&self, program: &Program) -> Check {
        #[cfg(test)]
        if REFUSES.get() {
            return Err("refused by a test".to_owned());
        }
        let imms = program.header.iter().filter_map(|i| match i {
            Item::Imm(m) => Some(m.words),
            _ => None,
        });
        let mut reader = Reader {
            l: self,
            imms: imms.collect(),
            places: places(self.p, &self.seats, &self.assignment),
            addresses: FxHashMap::default(),
            loaded_from: FxHashMap::default(),
        };
        reader.number_addresses();
        let steps = reader.steps(program)?;
        reader.arrays(&steps)?;
        // What finds nothing even where each value has a cell of its own is undefined by itself.
        let mut undefined = Vec::new();
        for violation in check(&apart(&steps)) {
            match violation.kind {
                ViolationKind::Read { value, .. } if value.0 < self.p.lir.ents => {
                    undefined.push(value);
                }
                _ => return Err(reader.told(violation)),
            }
        }
        match check_with_undefined(&steps, &undefined).first() {
            Some(&violation) => Err(reader.told(violation)),
            None => Ok(()),
        }
    }
}

/// The same steps with a cell for each value.
fn apart(steps: &[Step]) -> Vec<Step> {
    let own = |list: &[(Value, Cell)]| {
        list.iter()
            .filter(|(_, cell)| cell.temp < OLD)
            .filter(|(value, _)| *value != JUNK)
            .map(|&(value, _)| (value, channel(value.0, 0)))
            .collect()
    };
    steps
        .iter()
        .map(|step| match step {
            Step::Inst { reads, writes } => Step::Inst {
                reads: own(reads),
                writes: own(writes),
            },
            flow => flow.clone(),
        })
        .collect()
}

fn channel(temp: u32, chan: u8) -> Cell {
    Cell { temp, chan }
}

/// The cell of a channel of a register that holds words.
fn cell(reg: &Register, chan: u8) -> Check<Cell> {
    let base = match reg.file {
        File::Temp => 0,
        File::Out => OUTPUTS,
        _ => return Err("a word is sought outside of the temporaries".to_owned()),
    };
    match u32::try_from(reg.index.base) {
        Ok(number) if !reg.is_indirect() && reg.dim.is_none() && number < OUTPUTS => {
            Ok(channel(base + number, chan))
        }
        _ => Err("a word is sought at an address".to_owned()),
    }
}

/// The cell of a channel of an address register.
fn address_cell(register: i32, chan: u8) -> Check<Cell> {
    match u32::try_from(register) {
        Ok(number) if number < OUTPUTS => Ok(channel(ADDRESSES + number, chan)),
        _ => Err("no address register".to_owned()),
    }
}

/// What a flow instruction does.
fn printed_flow(op: Opcode) -> Option<Step> {
    Some(match op {
        Opcode::If | Opcode::Uif => Step::If,
        Opcode::Else => Step::Else,
        Opcode::Endif => Step::EndIf,
        Opcode::Bgnloop => Step::Loop,
        Opcode::Endloop => Step::EndLoop,
        Opcode::Brk => Step::Break,
        Opcode::Cont => Step::Continue,
        Opcode::Ret | Opcode::End => Step::Return,
        Opcode::Switch => Step::Switch,
        Opcode::Case => Step::Case { default: false },
        Opcode::Default => Step::Case { default: true },
        Opcode::Endswitch => Step::EndSwitch,
        _ => return None,
    })
}

/// What the layout wants a flow instruction to do.
fn wanted_flow(step: Flow) -> Option<Step> {
    Some(match step {
        Flow::Block(_) => return None,
        Flow::If { .. } => Step::If,
        Flow::Else => Step::Else,
        Flow::EndIf => Step::EndIf,
        Flow::Loop => Step::Loop,
        Flow::EndLoop => Step::EndLoop,
        Flow::Break => Step::Break,
        Flow::Continue => Step::Continue,
        Flow::Return => Step::Return,
        Flow::Switch => Step::Switch,
        Flow::Case(_) => Step::Case { default: false },
        Flow::Default => Step::Case { default: true },
        Flow::EndSwitch => Step::EndSwitch,
    })
}

impl<'a> Reader<'a> {
    /// The value of a word.
    fn word(&self, e: u32) -> Value {
        Value(self.l.p.webs.find(e))
    }

    /// The address with its word replaced by the word's web.
    fn plain(&self, mut address: Address) -> Address {
        if let Ref::Ent(e) = address.r {
            address.r = Ref::Ent(self.l.p.webs.find(e));
        }
        address
    }

    fn number_addresses(&mut self) {
        for line in &self.l.lines.lines {
            let Line::Load { address, .. } = line else {
                continue;
            };
            let address = self.plain(*address);
            let next = self.addresses.len() as u32;
            if *self.addresses.entry(address).or_insert(next) == next
                && let Ref::Ent(web) = address.r
            {
                self.loaded_from.entry(web).or_default().push(next);
            }
        }
    }

    /// The value of an address.
    fn address(&self, address: Address) -> Check<Value> {
        let known = self.addresses.get(&self.plain(address));
        let number = known.ok_or("an address that is never loaded")?;
        Ok(Value(self.l.p.lir.ents + number))
    }

    /// The program as the checker takes it; conditions are read by a step of their own.
    fn steps(&self, program: &Program) -> Check<Vec<Step>> {
        let lines = &self.l.lines;
        let mut insts = program.insts.iter().enumerate();
        let mut steps = Vec::with_capacity(program.insts.len() + 8);
        let outputs = Step::Inst {
            reads: self.outputs(),
            writes: SmallVec::new(),
        };
        for (at, line) in lines.lines.iter().enumerate() {
            if lines.silent(at) {
                continue;
            }
            let (number, inst) = insts.next().ok_or("instructions are missing")?;
            let mut access = Access::default();
            self.line(line, inst, &mut access)
                .map_err(|e| format!("instruction {number}: {e}"))?;
            steps.push(Step::Inst {
                reads: access.reads,
                writes: access.writes,
            });
            let flow = printed_flow(inst.op);
            if flow == Some(Step::Return) {
                steps.push(outputs.clone());
            }
            steps.extend(flow);
        }
        steps.push(outputs);
        match insts.next() {
            Some((_, end)) if end.op == Opcode::End && insts.next().is_none() => Ok(steps),
            _ => Err("there are more instructions than lines".to_owned()),
        }
    }

    /// The words that stand for outputs, and the cells of these.
    fn outputs(&self) -> SmallVec<[(Value, Cell); 4]> {
        let ents = (0..).zip(&self.l.p.lir.output);
        ents.filter_map(|(e, output)| {
            let (register, chan) = (*output)?;
            Some((self.word(e), channel(OUTPUTS + register as u32, chan)))
        })
        .collect()
    }

    fn line(&self, line: &Line, inst: &Inst, access: &mut Access) -> Check {
        let wanted = match line {
            Line::Flow(step, ..) => wanted_flow(*step),
            _ => None,
        };
        let bits = !matches!(line, Line::Flow(Flow::If { bits: false }, ..));
        if printed_flow(inst.op) != wanted || bits == (inst.op == Opcode::If) {
            return Err("another flow than wanted".to_owned());
        }
        match line {
            Line::Flow(_, cond, _) => match (cond, inst.srcs.first()) {
                (Some(r), Some(src)) => {
                    self.reads(*r, src, 0, access)?;
                    unsigned(*r, src)
                }
                (None, None) => Ok(()),
                // A label, or the words of an undefined condition.
                (None, Some(_)) => Ok(()),
                (Some(_), None) => Err("a condition is not read".to_owned()),
            },
            Line::Load { address, .. } => {
                let src = inst.srcs.first().ok_or("an address is read from nowhere")?;
                self.reads(address.r, src, 0, access)?;
                unsigned(address.r, src)?;
                let dst = inst.dsts.first().ok_or("an address is loaded nowhere")?;
                let direct = !dst.reg.is_indirect() && dst.reg.dim.is_none();
                let known = inst.op == address.op && !inst.sat && direct;
                if !known || dst.reg.file != File::Addr || dst.mask != 1 {
                    return Err("not the load of an address".to_owned());
                }
                let to = address_cell(dst.reg.index.base, 0)?;
                access.writes.push((self.address(*address)?, to));
                Ok(())
            }
            Line::Pack(q, _) => {
                let pack = &self.l.p.packs[*q as usize];
                self.pack(pack, inst, access)?;
                self.old_addresses(pack, access);
                Ok(())
            }
        }
    }

    /// Addresses that were loaded from what a pack writes do not hold any more.
    fn old_addresses(&self, pack: &Pack, access: &mut Access) {
        if self.loaded_from.is_empty() {
            return;
        }
        let nodes = pack.nodes.iter().map(|&n| &self.l.p.lir.nodes[n as usize]);
        for e in nodes.flat_map(Node::dsts) {
            for &a in self.loaded_from.get(&self.word(e).0).into_iter().flatten() {
                let value = Value(self.l.p.lir.ents + a);
                access.writes.push((value, channel(OLD + a, 0)));
            }
        }
    }

    /// Channel `at` of a source must be the word `r`.
    fn reads(&self, r: Ref, src: &Src, at: u8, access: &mut Access) -> Check {
        self.reads_at(r, &src.reg, src.swizzle[usize::from(at & 3)], access)
    }

    /// Channel `chan` of a register must be the word `r`.
    fn reads_at(&self, r: Ref, reg: &Register, chan: u8, access: &mut Access) -> Check {
        match r {
            Ref::Undef(_) => Ok(()),
            Ref::Ent(e) => {
                access.reads.push((self.word(e), cell(reg, chan)?));
                Ok(())
            }
            Ref::Imm(word) => {
                let found = usize::try_from(reg.index.base)
                    .ok()
                    .filter(|_| reg.file == File::Imm && reg.dim.is_none() && !reg.is_indirect())
                    .and_then(|i| self.imms.get(i))
                    .and_then(|words| words.get(usize::from(chan)));
                match found {
                    Some(&found) if found == word => Ok(()),
                    _ => Err(format!("{word:#010x} is sought and not found")),
                }
            }
            Ref::Ext(x, wanted) => {
                let addrs = &self.l.p.lir.exts[x as usize].addrs;
                self.names(ext_reg(self.l.f, self.l.p, x), addrs, reg, access)?;
                if chan != wanted {
                    return Err("a wrong channel of an input or constant".to_owned());
                }
                Ok(())
            }
        }
    }

    /// A printed register must be the one that `wanted` names, with these addresses.
    fn names(
        &self,
        wanted: RegRef,
        addrs: &[Address],
        reg: &Register,
        access: &mut Access,
    ) -> Check {
        if wanted.file != reg.file || wanted.dim.is_some() != reg.dim.is_some() {
            return Err("another register than wanted".to_owned());
        }
        let mut moved = 0;
        if reg.file == File::Temp {
            let mut arrays = self.l.f.arrays.iter().zip(&self.l.assignment.array_base);
            let (array, base) = arrays
                .find(|(a, _)| match wanted.index.relative {
                    true => a.2 == wanted.index.array,
                    false => (a.0..=a.1).contains(&wanted.index.base),
                })
                .ok_or("a temporary outside of all arrays")?;
            moved = *base as i32 - array.0;
        }
        let mut addrs = addrs.iter();
        let dims = wanted.dim.into_iter().zip(reg.dim).map(|d| (d, 0));
        for ((wanted, index), moved) in dims.chain([((wanted.index, reg.index), moved)]) {
            self.index(wanted, index, moved, &mut addrs, access)?;
        }
        Ok(())
    }

    /// One bracket of a register.
    fn index<'b>(
        &self,
        wanted: RefIndex,
        index: Index,
        moved: i32,
        addrs: &mut impl Iterator<Item = &'b Address>,
        access: &mut Access,
    ) -> Check {
        if wanted.base + moved != index.base || wanted.array != index.array {
            return Err("another register than wanted".to_owned());
        }
        match (wanted.relative, index.addr) {
            (false, None) => Ok(()),
            (true, Some(a)) if a.file == File::Addr => {
                let address = *addrs.next().ok_or("an address too many")?;
                let from = address_cell(a.index, a.comp)?;
                access.reads.push((self.address(address)?, from));
                Ok(())
            }
            _ => Err("an address is missing, or there is one too many".to_owned()),
        }
    }

    fn pack(&self, pack: &Pack, inst: &Inst, access: &mut Access) -> Check {
        let (l, n) = (self.l, pack.nodes[0]);
        let node = &l.p.lir.nodes[n as usize];
        if node.sat != inst.sat && matches!(node.what, What::Alu(_)) {
            return Err("another saturation than wanted".to_owned());
        }
        match node.what {
            What::Alu(op) if op == inst.op => self.alu(pack, inst, access),
            What::Alu(_) => Err("another operation than wanted".to_owned()),
            What::Multi(v) => {
                let m = l.f.as_multi(v).ok_or("not an operation")?;
                match m.kind {
                    MultiKind::Store => {
                        if inst.op != Opcode::Mov || inst.sat != m.inst.sat {
                            return Err("not the store that is wanted".to_owned());
                        }
                        let dst = inst.dsts.first().ok_or("stored nowhere")?;
                        self.memory(n, &dst.reg, access)?;
                        let src = inst.srcs.first().ok_or("nothing is stored")?;
                        self.positions(n, 0, &src.reg, &src.swizzle, access)?;
                        self.signs(n, 0, &m.inst.srcs[0], src)?;
                        let wanted = l.p.source(n, 0).iter().fold(0, |m, o| m | 1 << o.pos);
                        covers(dst, wanted)
                    }
                    MultiKind::Load => self.load(node, &m.inst, inst, access),
                    _ => self.whole(pack, &m.inst, inst, access),
                }
            }
        }
    }

    /// Memory that a store goes to.
    fn memory(&self, store: NodeId, reg: &Register, access: &mut Access) -> Check {
        let node = &self.l.p.lir.nodes[store as usize];
        let m = self.l.p.lir.multi(self.l.f, node).ok_or("not a store")?;
        let wanted = m.inst.dsts.first().ok_or("not a store")?.reg;
        let addrs = self.l.p.lir.node_addrs(node).iter().map(|a| a.1);
        let addrs: SmallVec<[Address; 2]> = addrs.collect();
        self.names(tgsi_ir::lift::reg_ref(&wanted), &addrs, reg, access)
    }

    fn alu(&self, pack: &Pack, inst: &Inst, access: &mut Access) -> Check {
        let p = self.l.p;
        let dst = inst.dsts.first().ok_or("no destination")?;
        let written = dst_mask(inst);
        let mut wanted = 0;
        for &n in &pack.nodes {
            let node = &p.lir.nodes[n as usize];
            let mut own = 0;
            for e in node.dsts() {
                let chan = if pack.store == NONE {
                    let chan = self.places[self.word(e).0 as usize].chan;
                    access.writes.push((self.word(e), cell(&dst.reg, chan)?));
                    chan
                } else {
                    let stored = p.source(pack.store, 0).iter();
                    let found = stored.clone().find(|o| o.r == Ref::Ent(e));
                    found.ok_or("a result that is not stored")?.pos
                };
                own |= 1 << (chan & 3);
            }
            if own & wanted != 0 {
                return Err("two results in one channel".to_owned());
            }
            wanted |= own;
            self.lane(node, inst, own, access)?;
        }
        if wanted != written {
            return Err(format!("writes {written:#06b} in place of {wanted:#06b}"));
        }
        if pack.store == NONE {
            Ok(())
        } else {
            self.memory(pack.store, &dst.reg, access)
        }
    }

    /// What the lane of an arithmetic instruction reads that writes the channels `own`.
    fn lane(&self, node: &Node, inst: &Inst, own: u8, access: &mut Access) -> Check {
        let mut from = node.first as usize;
        for k in 0..usize::from(node.sources) {
            let words: &[Opnd] = &self.l.p.lir.opnds[from..from + usize::from(node.lens[k])];
            from += words.len();
            let src = inst.srcs.get(k).ok_or("a source is missing")?;
            let read = src_mask(inst, k, own);
            if read == 0 {
                // SFL and STR read nothing.
                continue;
            }
            if read.count_ones() as usize != words.len() {
                return Err(format!("source {k} reads {read:#06b}, not {}", words.len()));
            }
            for (o, at) in words.iter().zip((0..4).filter(|c| read >> c & 1 != 0)) {
                self.reads(o.r, src, at, access)?;
                if !matches!(o.r, Ref::Undef(_)) && (o.neg, o.abs) != (src.neg, src.abs) {
                    return Err(format!("source {k} has a wrong sign"));
                }
            }
        }
        Ok(())
    }

    /// The words of source `k`, by the channels they stand in.
    fn positions(
        &self,
        n: NodeId,
        k: usize,
        reg: &Register,
        swizzle: &[u8],
        access: &mut Access,
    ) -> Check {
        for o in self.l.p.source(n, k) {
            let chan = swizzle.get(usize::from(o.pos & 3));
            self.reads_at(o.r, reg, *chan.ok_or("a channel is missing")?, access)?;
        }
        Ok(())
    }

    /// A source has the signs of its words and those of the instruction.
    fn signs(&self, n: NodeId, k: usize, like: &Src, src: &Src) -> Check {
        let words = self.l.p.source(n, k).iter();
        for o in words.filter(|o| !matches!(o.r, Ref::Undef(_))) {
            if (o.neg != like.neg, o.abs || like.abs) != (src.neg, src.abs) {
                return Err(format!("source {k} has a wrong sign"));
            }
        }
        Ok(())
    }

    fn load(&self, node: &Node, like: &Inst, inst: &Inst, access: &mut Access) -> Check {
        let (Some(dst), Some(src)) = (inst.dsts.first(), inst.srcs.first()) else {
            return Err("not a load".to_owned());
        };
        let addrs = self.l.p.lir.node_addrs(node).iter().map(|a| a.1);
        let addrs: SmallVec<[Address; 2]> = addrs.collect();
        let from = like.srcs.first().ok_or("not a load")?.reg;
        self.names(tgsi_ir::lift::reg_ref(&from), &addrs, &src.reg, access)?;
        let mut wanted = 0;
        for (e, c) in node.results() {
            let chan = self.places[self.word(e).0 as usize].chan & 3;
            if src.swizzle[usize::from(chan)] != c {
                return Err("a wrong channel is loaded".to_owned());
            }
            wanted |= 1 << chan;
            access.writes.push((self.word(e), cell(&dst.reg, chan)?));
        }
        let plain = inst.op == Opcode::Mov && !inst.sat && !src.neg && !src.abs;
        if !plain || wanted != dst.mask {
            return Err("not the load that is wanted".to_owned());
        }
        Ok(())
    }

    /// A fetch, an atomic, a kill: what the source's instruction does with other registers.
    fn whole(&self, pack: &Pack, like: &Inst, inst: &Inst, access: &mut Access) -> Check {
        let n = pack.nodes[0];
        let node = &self.l.p.lir.nodes[n as usize];
        let count = |i: &Inst| (i.op, i.sat, i.dsts.len(), i.srcs.len(), i.offsets.len());
        if count(like) != count(inst) || like.target != inst.target || like.memory != inst.memory {
            return Err("another operation than wanted".to_owned());
        }
        for (k, (like, src)) in like.srcs.iter().zip(&inst.srcs).enumerate() {
            if like.reg.file == File::Null {
                self.positions(n, k, &src.reg, &src.swizzle, access)?;
                self.signs(n, k, like, src)?;
            } else {
                if (like.swizzle, like.neg, like.abs) != (src.swizzle, src.neg, src.abs) {
                    return Err("a resource is read otherwise".to_owned());
                }
                let slots = [Slot::SrcDim(k as u8), Slot::SrcIndex(k as u8)];
                self.resource(&like.reg, node, slots, &src.reg, access)?;
            }
        }
        for (k, offset) in inst.offsets.iter().enumerate() {
            let k = inst.srcs.len() + k;
            self.positions(n, k, &offset.reg, &offset.swizzle, access)?;
        }
        let Some(first) = inst.dsts.first() else {
            return Ok(());
        };
        if tgsi::usage::is_resource(like.dsts[0].reg.file) {
            covers(first, like.dsts[0].mask)?;
            let slots = [Slot::DstDim, Slot::DstIndex];
            return self.resource(&like.dsts[0].reg, node, slots, &first.reg, access);
        }
        if pack.store != NONE {
            self.memory(pack.store, &first.reg, access)?;
            return covers(first, node.chans & 0xf);
        }
        let mut left: SmallVec<[u8; 2]> = inst.dsts.iter().map(|d| d.mask).collect();
        for (e, c) in node.results() {
            let (k, chan) = (usize::from(c / 4), c & 3);
            let (Some(dst), Some(left)) = (inst.dsts.get(k), left.get_mut(k)) else {
                return Err("a destination is missing".to_owned());
            };
            if *left >> chan & 1 == 0 {
                return Err("a result is not written".to_owned());
            }
            *left &= !(1 << chan);
            access.writes.push((self.word(e), cell(&dst.reg, chan)?));
        }
        for (dst, left) in inst.dsts.iter().zip(left) {
            for chan in (0..4).filter(|c| left >> c & 1 != 0) {
                access.writes.push((JUNK, cell(&dst.reg, chan)?));
            }
        }
        Ok(())
    }

    /// A register that a whole instruction names itself.
    fn resource(
        &self,
        like: &Register,
        node: &Node,
        slots: [Slot; 2],
        reg: &Register,
        access: &mut Access,
    ) -> Check {
        let all = self.l.p.lir.node_addrs(node);
        let mut addrs: SmallVec<[Address; 2]> = SmallVec::new();
        for slot in slots {
            addrs.extend(all.iter().find(|a| a.0 == slot).map(|a| a.1));
        }
        self.names(tgsi_ir::lift::reg_ref(like), &addrs, reg, access)
    }

    /// No word may stand in an array, and no arrays in each other.
    fn arrays(&self, steps: &[Step]) -> Check {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (a, &base) in self.l.f.arrays.iter().zip(&self.l.assignment.array_base) {
            ranges.push((base, base + (a.1 - a.0 + 1) as u32));
        }
        ranges.sort_unstable();
        if ranges.windows(2).any(|w| w[0].1 > w[1].0) {
            return Err("two arrays share a temporary".to_owned());
        }
        for step in steps {
            let Step::Inst { writes, .. } = step else {
                continue;
            };
            for &(_, cell) in writes {
                let next = ranges.partition_point(|r| r.0 <= cell.temp);
                if ranges[..next].last().is_some_and(|r| cell.temp < r.1) {
                    return Err(format!("a word stands in an array, {}", named(cell)));
                }
            }
        }
        Ok(())
    }

    /// A violation for people.
    fn told(&self, violation: Violation) -> String {
        let ents = self.l.p.lir.ents;
        let name = |v: Value| match v {
            JUNK => "nothing that is wanted".to_owned(),
            Value(v) if v < ents => format!("word {v}"),
            Value(v) => format!("address {}", v - ents),
        };
        let at = violation.step;
        match violation.kind {
            ViolationKind::Read { value, cell, found } => format!(
                "step {at} seeks {} in {} and may find {found:?}",
                name(value),
                named(cell)
            ),
            ViolationKind::WriteClash {
                cell,
                first,
                second,
            } => format!(
                "step {at} writes both {} and {} to {}",
                name(first),
                name(second),
                named(cell)
            ),
            ViolationKind::Structure => format!("step {at} does not nest"),
        }
    }
}

/// A condition or an address is read as it is.
fn unsigned(r: Ref, src: &Src) -> Check {
    match (src.neg || src.abs) && !matches!(r, Ref::Undef(_)) {
        true => Err("a wrong sign".to_owned()),
        false => Ok(()),
    }
}

/// A write mask must hold these channels and no other.
fn covers(dst: &Dst, wanted: u8) -> Check {
    match dst.mask == wanted {
        true => Ok(()),
        false => Err(format!(
            "writes {:#06b} in place of {wanted:#06b}",
            dst.mask
        )),
    }
}

/// A cell as a register.
fn named(cell: Cell) -> String {
    let file = ["TEMP", "OUT", "ADDR", "no"][(cell.temp >> 24 & 3) as usize];
    let chan = char::from(b"xyzw"[usize::from(cell.chan & 3)]);
    format!("{file}[{}].{chan}", cell.temp & 0xff_ffff)
}

#[cfg(test)]
mod tests;
