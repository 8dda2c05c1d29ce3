//! Subroutines, counted loops and conditional jumps in terms of IF, loops and BRK.
//!
//! A rewrite of the instructions before the walk: calls become the body of their subroutine,
//! BREAKC a branch around BRK, IFC an IF, and REP and BGNFOR loops that count. What counts is
//! kept in ADDR registers behind those of the program, which are never memory.

use smallvec::SmallVec;
use tgsi::{
    AddrReg, Dst, Era, File, Imm, ImmType, Index, Inst, Item as Header, Opcode, Program, Register,
    Src, XYZW,
};

use super::{LiftError, MAX_DEPTH, MAX_INSTS, MAX_REGISTER};

/// A program in terms of IF, loops and BRK.
pub(super) struct Expanded {
    /// The rewritten program.
    pub program: Program,
    /// For each of its instructions the one of the source it comes from.
    pub origin: Vec<u32>,
}

/// Whether an opcode is rewritten here.
fn rewritten(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Cal | Callnz | Bgnsub | Endsub | Breakc | Ifc | Rep | Endrep | Bgnfor | Endfor
    )
}

/// Whether an opcode means something else in programs of the first era.
fn tells_eras_apart(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Rsq | Lrp | Min | Max | Shl | Shr | Rcp | Xpd | Dseq | Dslt | Dfracexp | Ishr | Ushr
    )
}

/// Rewrites a program; `None` if it has nothing to rewrite.
pub(super) fn expand(program: &Program) -> Result<Option<Expanded>, LiftError> {
    if !program.insts.iter().any(|i| rewritten(i.op)) {
        return Ok(None);
    }
    keeps_era(program)?;
    let insts = &program.insts;
    let imms: Vec<[u32; 4]> = program
        .header
        .iter()
        .filter_map(|i| {
            if let Header::Imm(m) = i {
                Some(m.words)
            } else {
                None
            }
        })
        .collect();
    let mut e = Expander {
        insts,
        close: pairs(insts)?,
        rets: prefix_counts(insts),
        subs: (0..insts.len())
            .filter(|&i| insts[i].op == Opcode::Bgnsub)
            .collect(),
        next_addr: 0,
        loop_addr: 0,
        one: imms.len() as i32,
        imms,
        loop_written: insts
            .iter()
            .any(|i| !rewritten(i.op) && i.dsts.iter().any(|d| d.reg.file == File::Loop)),
        out: Vec::with_capacity(insts.len()),
        origin: Vec::with_capacity(insts.len()),
        scopes: Vec::new(),
        returned: Vec::new(),
        calls: Vec::new(),
        steps: 0,
    };
    e.registers()?;
    e.main()?;
    let mut header = program.header.clone();
    let one = 1f32.to_bits();
    header.push(Header::Imm(Imm {
        ty: ImmType::Flt32,
        words: [0, one, 0, 0],
        span: Default::default(),
    }));
    let program = Program {
        stage: program.stage,
        version: program.version,
        header,
        insts: e.out,
    };
    Ok(Some(Expanded {
        program,
        origin: e.origin,
    }))
}

/// The opcodes rewritten here may be all that shows a program's era: then the result would be
/// read by other rules.
fn keeps_era(program: &Program) -> Result<(), LiftError> {
    let first = |i: &&Inst| i.op.info().era == Era::First;
    let of_first_era = program.version.is_none() && program.insts.iter().any(|i| first(&i));
    if of_first_era
        && let Some((at, i)) = program
            .insts
            .iter()
            .enumerate()
            .find(|(_, i)| rewritten(i.op) && first(i))
        && program.insts.iter().any(|i| tells_eras_apart(i.op))
    {
        return Err(LiftError::Flow { at, op: i.op });
    }
    Ok(())
}

/// For each opener, ELSE included, the instruction that closes it; 0 for all others.
fn pairs(insts: &[Inst]) -> Result<Vec<usize>, LiftError> {
    use Opcode::*;
    let mut close = vec![0; insts.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, inst) in insts.iter().enumerate() {
        let wanted: &[Opcode] = match inst.op {
            If | Uif | Ifc | Bgnloop | Rep | Bgnfor | Bgnsub | Switch => {
                open.push(at);
                continue;
            }
            Else => &[If, Uif, Ifc],
            Endif => &[If, Uif, Ifc, Else],
            Endloop => &[Bgnloop],
            Endrep => &[Rep],
            Endfor => &[Bgnfor],
            Endsub => &[Bgnsub],
            Endswitch => &[Switch],
            _ => continue,
        };
        let begin = open.pop().filter(|&i| wanted.contains(&insts[i].op));
        close[begin.ok_or(LiftError::Structure { at })?] = at;
        if inst.op == Else {
            open.push(at);
        }
    }
    open.pop()
        .map_or(Ok(close), |at| Err(LiftError::Structure { at }))
}

/// The number of RETs before each instruction, and in all.
fn prefix_counts(insts: &[Inst]) -> Vec<u32> {
    let mut n = 0;
    let mut counts = vec![0];
    counts.extend(insts.iter().map(|i| {
        n += u32::from(i.op == Opcode::Ret);
        n
    }));
    counts
}

/// Instructions from the first to before the second.
type Range = (usize, usize);
/// Instructions that run one range after the other.
type Ranges = SmallVec<[Range; 4]>;

/// What RET means where instructions are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The end of the program.
    Main,
    /// The end of the ranges: whatever follows was moved into the other arm.
    Tail,
    /// BRK out of a loop around the body that runs once.
    Once,
}

/// A construct around that BRK, CONT or RET may mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Loop,
    /// A BGNFOR, with its ENDFOR.
    For(usize),
    Switch,
    /// The body of a subroutine.
    Call,
}

struct Expander<'a> {
    insts: &'a [Inst],
    close: Vec<usize>,
    rets: Vec<u32>,
    subs: Vec<usize>,
    /// First ADDR register not in use.
    next_addr: i32,
    /// ADDR registers that stand for the file LOOP.
    loop_addr: i32,
    /// The immediates of the program.
    imms: Vec<[u32; 4]>,
    /// Whether anything but BGNFOR and ENDFOR writes the file LOOP.
    loop_written: bool,
    /// The immediate with 0 in x and 1 in y.
    one: i32,
    out: Vec<Inst>,
    origin: Vec<u32>,
    /// Constructs around, each with the instruction that opens it.
    scopes: Vec<(Scope, usize)>,
    /// For each subroutine being copied: what is not 0 once it returns from inside a loop.
    returned: Vec<Option<Register>>,
    /// Subroutines being copied.
    calls: Vec<usize>,
    /// Instructions copied so far, those included that leave nothing.
    steps: usize,
}

impl Expander<'_> {
    /// Finds the ADDR registers that the program does not use.
    fn registers(&mut self) -> Result<(), LiftError> {
        let mut last = [-1; 2];
        let mut see = |file: File, index: i32| match file {
            File::Addr => last[0] = index.max(last[0]),
            File::Loop => last[1] = index.max(last[1]),
            _ => {}
        };
        for inst in self.insts {
            let regs = inst
                .dsts
                .iter()
                .map(|d| d.reg)
                .chain(inst.srcs.iter().map(|s| s.reg));
            for r in regs.chain(inst.offsets.iter().map(|o| o.reg)) {
                see(r.file, r.index.base);
                for a in r.index.addr.into_iter().chain(r.dim.and_then(|d| d.addr)) {
                    see(a.file, a.index);
                }
            }
        }
        if last[0] > MAX_REGISTER || last[1] > MAX_REGISTER {
            return Err(LiftError::Limit("register number above 65535"));
        }
        self.loop_addr = last[0] + 1;
        self.next_addr = self.loop_addr + last[1] + 1;
        Ok(())
    }

    fn fresh(&mut self) -> Result<Register, LiftError> {
        if self.next_addr > MAX_REGISTER {
            return Err(LiftError::Limit("register number above 65535"));
        }
        self.next_addr += 1;
        Ok(Register::direct(File::Addr, self.next_addr - 1))
    }

    /// The main program: from its first instruction to the END that no construct holds.
    fn main(&mut self) -> Result<(), LiftError> {
        let n = self.insts.len();
        let has_end = self.insts.iter().any(|i| i.op == Opcode::End);
        let body = match self.insts.first() {
            // Without END the first subroutine is the program.
            Some(i) if i.op == Opcode::Bgnsub && !has_end => (1, self.close[0]),
            _ => (0, n),
        };
        self.copy(Ranges::from_slice(&[body]), Mode::Main, 0)
    }

    fn push(&mut self, at: usize, inst: Inst) -> Result<(), LiftError> {
        if self.out.len() >= MAX_INSTS {
            return Err(LiftError::Limit("more than 100000 instructions"));
        }
        self.out.push(inst);
        self.origin.push(at as u32);
        Ok(())
    }

    /// Adds an instruction with these operands.
    fn add(
        &mut self,
        at: usize,
        op: Opcode,
        dst: Option<(Register, u8)>,
        srcs: &[Src],
    ) -> Result<(), LiftError> {
        let span = self.insts[at].span;
        let inst = Inst {
            dsts: dst
                .into_iter()
                .map(|(reg, mask)| Dst { reg, mask, span })
                .collect(),
            srcs: SmallVec::from_slice(srcs),
            span,
            ..Inst::bare(op)
        };
        self.push(at, inst)
    }

    /// Channel `c` of a register, in all channels.
    fn scalar(&self, at: usize, reg: Register, c: u8) -> Src {
        Src {
            reg,
            swizzle: [c; 4],
            abs: false,
            neg: false,
            span: self.insts[at].span,
        }
    }

    fn constant(&self, at: usize, c: u8) -> Src {
        self.scalar(at, Register::direct(File::Imm, self.one), c)
    }

    /// Copies ranges; `depth` counts the nested calls of this.
    fn copy(&mut self, mut todo: Ranges, mode: Mode, depth: usize) -> Result<(), LiftError> {
        if depth > MAX_DEPTH {
            return Err(LiftError::Limit("nesting deeper than 200"));
        }
        // Innermost last, as a stack.
        todo.reverse();
        // Constructs open since the start of the ranges.
        let mut open = 0usize;
        while let Some((at, end)) = todo.pop() {
            if at >= end {
                continue;
            }
            self.steps += 1;
            if self.steps > MAX_INSTS {
                return Err(LiftError::Limit("more than 100000 instructions"));
            }
            let op = self.insts[at].op;
            todo.push((at + 1, end));
            match op {
                Opcode::End if mode != Mode::Main => return Err(LiftError::Flow { at, op }),
                Opcode::End | Opcode::Ret if mode == Mode::Main && open == 0 => return Ok(()),
                Opcode::Ret if mode == Mode::Tail => return Ok(()),
                Opcode::Bgnsub => {
                    todo.pop();
                    todo.push((self.close[at] + 1, end));
                }
                Opcode::If | Opcode::Uif | Opcode::Ifc
                    if mode == Mode::Tail && self.returns(at, self.close_of_if(at)) =>
                {
                    return self.copy_split(at, todo, depth);
                }
                _ => {
                    open += usize::from(self.close[at] != 0 && op != Opcode::Else);
                    open -= usize::from(matches!(
                        op,
                        Opcode::Endif
                            | Opcode::Endloop
                            | Opcode::Endrep
                            | Opcode::Endfor
                            | Opcode::Endswitch
                    ));
                    self.copy_inst(at, mode, depth)?;
                }
            }
        }
        Ok(())
    }

    /// Copies one instruction.
    fn copy_inst(&mut self, at: usize, mode: Mode, depth: usize) -> Result<(), LiftError> {
        use Opcode::*;
        let flow = |op| Err(LiftError::Flow { at, op });
        match self.insts[at].op {
            Cal => self.call(at, depth),
            Callnz => {
                self.branch(at)?;
                self.call(at, depth)?;
                self.add(at, Endif, None, &[])
            }
            Ifc => self.branch(at),
            Breakc => {
                self.target(at)?;
                self.branch(at)?;
                self.add(at, Brk, None, &[])?;
                self.add(at, Endif, None, &[])
            }
            Brk => {
                self.target(at)?;
                self.keep(at)
            }
            Cont => self.cont(at),
            Ret if mode == Mode::Once => {
                if let Some(&Some(flag)) = self.returned.last()
                    && self.scopes.last().is_some_and(|s| s.0 != Scope::Call)
                {
                    let one = self.constant(at, 1);
                    self.add(at, Mov, Some((flag, 1)), &[one])?;
                }
                self.add(at, Brk, None, &[])
            }
            Bgnloop => {
                self.scopes.push((Scope::Loop, at));
                self.keep(at)
            }
            Switch => {
                self.scopes.push((Scope::Switch, at));
                self.keep(at)
            }
            Endloop | Endswitch => {
                self.keep(at)?;
                self.leave_further(at)
            }
            Rep => self.rep(at),
            Endrep => {
                self.add(at, Endloop, None, &[])?;
                self.leave_further(at)
            }
            Bgnfor => self.bgnfor(at),
            Endfor => {
                self.advance(at, at)?;
                self.add(at, Endloop, None, &[])?;
                self.leave_further(at)
            }
            op @ (Bra | Pusha | Popa) => flow(op),
            _ => self.keep(at),
        }
    }

    /// Behind a loop or SWITCH that a subroutine may have returned from: leaves the one around it.
    fn leave_further(&mut self, at: usize) -> Result<(), LiftError> {
        let begin = self.scopes.pop().map_or(at, |s| s.1);
        let Some(&Some(flag)) = self.returned.last() else {
            return Ok(());
        };
        if !self.returns(begin, at) {
            return Ok(());
        }
        let flag = self.scalar(at, flag, 0);
        self.add(at, Opcode::If, None, &[flag])?;
        self.add(at, Opcode::Brk, None, &[])?;
        self.add(at, Opcode::Endif, None, &[])
    }

    /// Whether a RET stands inside a loop or SWITCH of the range.
    fn returns_from_inside(&self, (mut at, to): Range) -> bool {
        use Opcode::*;
        while at < to {
            if matches!(self.insts[at].op, Bgnloop | Rep | Bgnfor | Switch) {
                if self.returns(at, self.close[at]) {
                    return true;
                }
                at = self.close[at];
            }
            at += 1;
        }
        false
    }

    /// Copies an instruction as it is, but for its label and registers of the file LOOP.
    fn keep(&mut self, at: usize) -> Result<(), LiftError> {
        let mut inst = self.insts[at].clone();
        inst.label = None;
        for k in 0..inst.dsts.len() {
            inst.dsts[k].reg = self.register(at, inst.dsts[k].reg)?;
        }
        for k in 0..inst.srcs.len() {
            inst.srcs[k].reg = self.register(at, inst.srcs[k].reg)?;
        }
        self.push(at, inst)
    }

    /// A register with LOOP replaced. What stands in a bracket is a float there: it is converted.
    fn register(&mut self, at: usize, mut reg: Register) -> Result<Register, LiftError> {
        reg.index = self.index(at, reg.index)?;
        reg.dim = reg.dim.map(|d| self.index(at, d)).transpose()?;
        if reg.file == File::Loop {
            if reg.is_indirect() || reg.dim.is_some() || reg.index.base < 0 {
                return Err(LiftError::Operand {
                    at,
                    what: "indexed loop register",
                });
            }
            reg = Register::direct(File::Addr, self.loop_addr + reg.index.base);
        }
        Ok(reg)
    }

    fn index(&mut self, at: usize, index: Index) -> Result<Index, LiftError> {
        let Some(a) = index.addr.filter(|a| a.file == File::Loop && a.index >= 0) else {
            return Ok(index);
        };
        let number = self.fresh()?;
        let counter = self.scalar(
            at,
            Register::direct(File::Addr, self.loop_addr + a.index),
            a.comp & 3,
        );
        self.add(at, Opcode::Arl, Some((number, 1)), &[counter])?;
        Ok(Index {
            addr: Some(AddrReg {
                file: File::Addr,
                index: number.index.base,
                comp: 0,
            }),
            ..index
        })
    }

    /// An IF on the operand of an instruction.
    fn branch(&mut self, at: usize) -> Result<(), LiftError> {
        let mut src = *self.insts[at].srcs.first().ok_or(LiftError::Operand {
            at,
            what: "missing condition",
        })?;
        src.reg = self.register(at, src.reg)?;
        self.add(at, Opcode::If, None, &[src])
    }

    /// Leaves the loop that begins here unless `a` is at least `b` (SGE) or below it (SLT). Of
    /// numbers the opposite test says the same in fewer instructions; a NaN leaves by both.
    fn leave_unless(
        &mut self,
        at: usize,
        op: Opcode,
        [a, b]: [Src; 2],
        numbers: bool,
    ) -> Result<(), LiftError> {
        let test = self.fresh()?;
        let opposite = if op == Opcode::Sge {
            Opcode::Slt
        } else {
            Opcode::Sge
        };
        let op = if numbers { opposite } else { op };
        self.add(at, op, Some((test, 1)), &[a, b])?;
        let cond = self.scalar(at, test, 0);
        self.add(at, Opcode::If, None, &[cond])?;
        if !numbers {
            self.add(at, Opcode::Else, None, &[])?;
        }
        self.add(at, Opcode::Brk, None, &[])?;
        self.add(at, Opcode::Endif, None, &[])
    }

    /// Whether channel `c` of an operand is a constant other than NaN.
    fn is_number(&self, src: &Src, c: usize) -> bool {
        let reg = &src.reg;
        let words = match (reg.file, reg.dim, reg.index.addr) {
            (File::Imm, None, None) => usize::try_from(reg.index.base).ok(),
            _ => None,
        };
        let words = words.and_then(|i| self.imms.get(i));
        words.is_some_and(|w| !f32::from_bits(w[src.swizzle[c] as usize & 3]).is_nan())
    }

    /// REP: while at least one round is left; CONT comes by here too.
    fn rep(&mut self, at: usize) -> Result<(), LiftError> {
        let mut src = *self.insts[at].srcs.first().ok_or(LiftError::Operand {
            at,
            what: "missing count",
        })?;
        src.reg = self.register(at, src.reg)?;
        let count = self.fresh()?;
        let left = self.scalar(at, count, 0);
        let one = self.constant(at, 1);
        self.add(at, Opcode::Mov, Some((count, 1)), &[src])?;
        self.add(at, Opcode::Bgnloop, None, &[])?;
        self.scopes.push((Scope::Loop, at));
        let number = self.is_number(&src, 0);
        self.leave_unless(at, Opcode::Sge, [left, one], number)?;
        self.add(
            at,
            Opcode::Add,
            Some((count, 1)),
            &[left, Src { neg: true, ..one }],
        )
    }

    /// The register of the file LOOP that a BGNFOR or ENDFOR counts in.
    fn counter(&mut self, at: usize) -> Result<Register, LiftError> {
        let d = self.insts[at].dsts.first().ok_or(LiftError::Operand {
            at,
            what: "missing counter",
        })?;
        let whole = d.mask & 7 == 7 || d.mask == 0;
        if d.reg.file != File::Loop || !whole {
            return Err(LiftError::Flow {
                at,
                op: self.insts[at].op,
            });
        }
        self.register(at, d.reg)
    }

    fn bgnfor(&mut self, at: usize) -> Result<(), LiftError> {
        let counter = self.counter(at)?;
        let mut src = *self.insts[at].srcs.first().ok_or(LiftError::Operand {
            at,
            what: "missing count",
        })?;
        src.reg = self.register(at, src.reg)?;
        self.add(at, Opcode::Flr, Some((counter, 7)), &[src])?;
        self.add(at, Opcode::Bgnloop, None, &[])?;
        self.scopes.push((Scope::For(self.close[at]), at));
        let left = self.scalar(at, counter, 1);
        let zero = self.constant(at, 0);
        let number = self.is_number(&src, 1) && !self.loop_written;
        self.leave_unless(at, Opcode::Slt, [zero, left], number)
    }

    /// Steps the counter of the ENDFOR `end`.
    fn advance(&mut self, at: usize, end: usize) -> Result<(), LiftError> {
        let counter = self.counter(end)?;
        let step = Src {
            reg: counter,
            swizzle: XYZW,
            abs: false,
            neg: false,
            span: self.insts[at].span,
        };
        self.add(
            at,
            Opcode::Add,
            Some((counter, 1)),
            &[step, self.scalar(at, counter, 2)],
        )?;
        let one = Src {
            neg: true,
            ..self.constant(at, 1)
        };
        self.add(at, Opcode::Add, Some((counter, 2)), &[step, one])
    }

    /// BRK needs a loop or switch of its own subroutine.
    fn target(&self, at: usize) -> Result<(), LiftError> {
        match self.scopes.last() {
            None | Some((Scope::Call, _)) => Err(LiftError::Structure { at }),
            Some(_) => Ok(()),
        }
    }

    fn cont(&mut self, at: usize) -> Result<(), LiftError> {
        match self.scopes.iter().rev().find(|s| s.0 != Scope::Switch) {
            None | Some((Scope::Call, _)) => Err(LiftError::Structure { at }),
            Some(&(Scope::For(end), _)) => {
                self.advance(at, end)?;
                self.add(at, Opcode::Cont, None, &[])
            }
            Some(_) => self.keep(at),
        }
    }

    /// Copies the subroutine that a CAL or CALLNZ calls.
    fn call(&mut self, at: usize, depth: usize) -> Result<(), LiftError> {
        let op = self.insts[at].op;
        let label = self.insts[at].label.unwrap_or(0) as usize;
        // A label may be stale by a few instructions: the next subroutine is meant.
        let sub = self.subs.iter().find(|&&s| s >= label).or(self.subs.last());
        let &sub = sub.ok_or(LiftError::Structure { at })?;
        if self.calls.contains(&sub) {
            return Err(LiftError::Flow { at, op });
        }
        let body = Ranges::from_slice(&[(sub + 1, self.close[sub])]);
        self.calls.push(sub);
        self.scopes.push((Scope::Call, at));
        if self.ends_in_returns(body.clone(), 0) {
            self.returned.push(None);
            self.copy(body, Mode::Tail, depth + 1)?;
        } else {
            let flag = if self.returns_from_inside(body[0]) {
                let flag = self.fresh()?;
                let zero = self.constant(at, 0);
                self.add(at, Opcode::Mov, Some((flag, 1)), &[zero])?;
                Some(flag)
            } else {
                None
            };
            self.returned.push(flag);
            self.add(at, Opcode::Bgnloop, None, &[])?;
            self.copy(body, Mode::Once, depth + 1)?;
            self.add(at, Opcode::Brk, None, &[])?;
            self.add(at, Opcode::Endloop, None, &[])?;
        }
        self.returned.pop();
        self.scopes.pop();
        self.calls.pop();
        Ok(())
    }

    /// Whether there is a RET from `from` to before `to`.
    fn returns(&self, from: usize, to: usize) -> bool {
        self.rets[to] != self.rets[from]
    }

    /// The ENDIF of an IF.
    fn close_of_if(&self, at: usize) -> usize {
        let mid = self.close[at];
        if self.insts[mid].op == Opcode::Else {
            self.close[mid]
        } else {
            mid
        }
    }

    /// The arms of an IF.
    fn arms(&self, at: usize) -> [Range; 2] {
        let (mid, end) = (self.close[at], self.close_of_if(at));
        [(at + 1, mid), (end.min(mid + 1), end)]
    }

    /// Whether no way through a range reaches its end.
    fn always_returns(&self, (mut at, to): Range) -> bool {
        while at < to {
            match self.insts[at].op {
                Opcode::Ret => return true,
                Opcode::If | Opcode::Uif | Opcode::Ifc => {
                    let end = self.close_of_if(at);
                    if self.returns(at, end)
                        && self.arms(at).iter().all(|&a| self.always_returns(a))
                    {
                        return true;
                    }
                    at = end + 1;
                }
                _ if self.close[at] != 0 => at = self.close[at] + 1,
                _ => at += 1,
            }
        }
        false
    }

    /// The arms of an IF with what runs behind it moved into the one that goes on there; `None`
    /// if both arms may go on or return.
    fn split(&self, at: usize, rest: &[Range]) -> Option<[Ranges; 2]> {
        let [then, els] = self.arms(at);
        let rest: Ranges = rest.iter().copied().filter(|r| r.0 < r.1).collect();
        let mut ways = [Ranges::from_slice(&[then]), Ranges::from_slice(&[els])];
        if rest.is_empty() {
            return Some(ways);
        }
        let goes_on = if self.always_returns(then) {
            1
        } else if self.always_returns(els) {
            0
        } else {
            return None;
        };
        ways[goes_on].extend(rest);
        Some(ways)
    }

    /// Whether the RETs in these ranges can all be made their ends.
    fn ends_in_returns(&self, ranges: Ranges, depth: usize) -> bool {
        if depth > MAX_DEPTH / 2 {
            return false;
        }
        for (k, &(from, to)) in ranges.iter().enumerate() {
            let mut at = from;
            while at < to {
                let inst = &self.insts[at];
                if inst.op == Opcode::Ret {
                    return true;
                }
                if self.close[at] == 0 {
                    at += 1;
                    continue;
                }
                let branch = matches!(inst.op, Opcode::If | Opcode::Uif | Opcode::Ifc);
                let end = if branch {
                    self.close_of_if(at)
                } else {
                    self.close[at]
                };
                if inst.op == Opcode::Bgnsub || !self.returns(at, end) {
                    at = end + 1;
                    continue;
                }
                if !branch {
                    return false;
                }
                let mut rest = Ranges::from_slice(&[(end + 1, to)]);
                rest.extend_from_slice(&ranges[k + 1..]);
                return self.split(at, &rest).is_some_and(|ways| {
                    ways.into_iter().all(|w| self.ends_in_returns(w, depth + 1))
                });
            }
        }
        true
    }

    /// Copies an IF with RET in its arms, and what is left to do behind it.
    fn copy_split(&mut self, at: usize, mut todo: Ranges, depth: usize) -> Result<(), LiftError> {
        // The innermost range starts behind the IF.
        if let Some(r) = todo.last_mut() {
            r.0 = self.close_of_if(at) + 1;
        }
        todo.reverse();
        let [then, els] = self.split(at, &todo).ok_or(LiftError::Flow {
            at,
            op: Opcode::Ret,
        })?;
        if self.insts[at].op == Opcode::Ifc {
            self.branch(at)?;
        } else {
            self.keep(at)?;
        }
        self.copy(then, Mode::Tail, depth + 1)?;
        self.add(at, Opcode::Else, None, &[])?;
        self.copy(els, Mode::Tail, depth + 1)?;
        self.add(at, Opcode::Endif, None, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(insts: &str) -> Result<Vec<Opcode>, LiftError> {
        let text = format!(
            "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL TEMP[0..3]\n{insts}"
        );
        let program = tgsi::parse(&text).0;
        super::super::lift(&program)?;
        let e = expand(&program)?.expect("something to rewrite");
        assert_eq!(e.origin.len(), e.program.insts.len());
        Ok(e.program.insts.iter().map(|i| i.op).collect())
    }

    const SUB: &str = "MOV TEMP[0], IN[0]\nCAL :4\nMOV OUT[0], TEMP[0]\nEND\nBGNSUB\n";

    #[test]
    fn a_plain_program_is_left_alone() {
        let text = "FRAG\nDCL OUT[0], COLOR\nMOV OUT[0], OUT[0]\nEND\n";
        assert!(expand(&tgsi::parse(text).0).expect("fits").is_none());
    }

    #[test]
    fn returns_at_the_ends_of_arms_need_no_loop() {
        use Opcode::*;
        let ops = expanded(&format!(
            "{SUB}IF IN[0].xxxx\nRET\nENDIF\nMUL TEMP[0], TEMP[0], TEMP[0]\nRET\nENDSUB\n"
        ));
        assert_eq!(ops, Ok(vec![Mov, If, Else, Mul, Endif, Mov]));
    }

    #[test]
    fn other_returns_leave_a_loop_that_runs_once() {
        use Opcode::*;
        let body = "IF IN[0].xxxx\nIF IN[0].yyyy\nRET\nENDIF\nENDIF\nMUL TEMP[0], TEMP[0], TEMP[0]\nENDSUB\n";
        let ops = expanded(&format!("{SUB}{body}"));
        assert_eq!(
            ops,
            Ok(vec![
                Mov, Bgnloop, If, If, Brk, Endif, Endif, Mul, Brk, Endloop, Mov
            ])
        );
    }

    #[test]
    fn a_return_from_a_loop_is_noted_and_leaves_both_loops() {
        use Opcode::*;
        let ops = expanded(&format!("{SUB}BGNLOOP\nRET\nENDLOOP\nENDSUB\n"));
        let body = [Mov, Mov, Bgnloop, Bgnloop, Mov, Brk, Endloop];
        let end = [If, Brk, Endif, Brk, Endloop, Mov];
        assert_eq!(ops, Ok(body.into_iter().chain(end).collect()));
    }

    #[test]
    fn recursion_is_refused() {
        let ops = expanded(&format!(
            "{SUB}CAL :8\nRET\nENDSUB\nBGNSUB\nCAL :4\nRET\nENDSUB\n"
        ));
        assert_eq!(
            ops,
            Err(LiftError::Flow {
                at: 9,
                op: Opcode::Cal
            })
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn calls_that_double_at_each_level_end_at_the_limit() {
        let mut text = String::from("CAL :2\nEND\n");
        for i in 0..40 {
            let next = 2 + 4 * (i + 1);
            text += &format!("BGNSUB\nCAL :{next}\nCAL :{next}\nENDSUB\n");
        }
        text += "BGNSUB\nRET\nENDSUB\n";
        assert!(matches!(expanded(&text), Err(LiftError::Limit(_))));
    }

    #[test]
    fn branches_are_refused() {
        let ops = expanded("BREAKC IN[0].xxxx\nBRA :0\nEND\n");
        assert!(ops.is_err());
    }
}
