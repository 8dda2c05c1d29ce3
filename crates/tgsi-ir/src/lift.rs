//! LIFT: from syntax to regions and SSA.
//!
//! One walk over the instructions with an environment from register channels to
//! values. Joins compare the environments of the arms and make phis only for
//! channels that are read behind the join; loops get parameters for the channels
//! their body writes. TEMP arrays that are indexed stay memory, OUT stays memory
//! where it is read, indexed, or consumed by EMIT or other invocations.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tgsi::{Effect, File, Inst, Item as Header, Opcode, Program, Register, Stage, Ty};

use crate::ir::*;

mod inst;
pub use inst::reg_ref;

/// Why a program cannot be lifted. The caller returns such a program as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiftError {
    /// Control flow does not nest, at instruction `at`.
    Structure {
        /// Index of the instruction.
        at: usize,
    },
    /// A documented limit is exceeded (nesting, register numbers, size).
    Limit(&'static str),
    /// An operand that has no meaning here, at instruction `at`.
    Operand {
        /// Index of the instruction.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Control flow that is kept as it is, at instruction `at`.
    Flow {
        /// Index of the instruction.
        at: usize,
        /// Its opcode.
        op: Opcode,
    },
}

impl std::fmt::Display for LiftError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiftError::Structure { at } => write!(f, "control flow does not nest at instruction {at}"),
            LiftError::Limit(what) => write!(f, "limit exceeded: {what}"),
            LiftError::Operand { at, what } => write!(f, "{what} at instruction {at}"),
            LiftError::Flow { at, op } => write!(f, "{} at instruction {at} is kept as it is", op.name()),
        }
    }
}

impl std::error::Error for LiftError {}

/// Deepest nesting that is lifted. The walk is recursive; hardware stops at 32.
pub const MAX_DEPTH: usize = 200;
/// Most instructions that are lifted; larger programs are returned as they are.
pub const MAX_INSTS: usize = 100_000;
/// Largest register number of TEMP, ADDR and OUT that is lifted.
pub const MAX_REGISTER: i32 = 65_535;

/// Lifts a program.
///
/// # Errors
/// See [`LiftError`]; no program is changed half-way.
pub fn lift(program: &Program) -> Result<Function, LiftError> {
    if program.insts.len() > MAX_INSTS {
        return Err(LiftError::Limit("more than 100000 instructions"));
    }
    let plan = Plan::new(program)?;
    let mut l = Lifter {
        func: Function::new(program),
        insts: &program.insts,
        env: vec![None; plan.vars],
        plan,
        trail: Vec::new(),
        live: true,
        loops: Vec::new(),
    loads: Vec::new(),
        depth: 0,
    };
    l.func.arrays = l.plan.arrays.clone();
    l.func.out_memory = l.plan.out_memory;
    l.func.outputs = l.plan.outputs.clone();
    let mut body = Body::default();
    let end = l.body(0, &mut body, End::Program)?;
    if l.live {
        l.func.end_args = Some(l.output_values());
    }
    if end < l.insts.len() && l.insts[end].op != Opcode::End {
        return Err(LiftError::Structure { at: end });
    }
    l.func.body = body;
    Ok(l.func)
}

/// What is known of the program before the walk.
struct Plan {
    vars: usize,
    temp_base: usize,
    addr_base: usize,
    out_base: usize,
    imms: Vec<[u32; 4]>,
    arrays: Vec<(i32, i32, u32)>,
    out_memory: bool,
    outputs: Vec<(i32, u8)>,
    /// Index of the last instruction that reads each variable, plus one; 0 = never.
    last_read: Vec<u32>,
    /// For each BGNLOOP, IF, ELSE...: the matching closer.
    close: FxHashMap<usize, usize>,
}

impl Plan {
    fn new(program: &Program) -> Result<Plan, LiftError> {
        let mut imms = Vec::new();
        let mut declared: Vec<(i32, i32, u32)> = Vec::new();
        for item in &program.header {
            match item {
                Header::Imm(i) => imms.push(i.words),
                Header::Decl(d) if d.file == File::Temp => declared.push((d.first, d.last, d.array)),
                _ => {}
            }
        }
        let mut max = [-1i32; 3];
        let mut indexed: Vec<u32> = Vec::new();
        let mut out_memory = matches!(program.stage, Stage::Geom | Stage::TessCtrl);
        let mut note = |r: &Register, at: usize| -> Result<(), LiftError> {
            let k = match r.file {
                File::Temp => 0,
                File::Addr => 1,
                File::Out => 2,
                _ => return Ok(()),
            };
            if r.index.addr.is_some() || k == 0 && r.dim.is_some() {
                if k == 0 && !indexed.contains(&r.index.array) {
                    indexed.push(r.index.array);
                }
                return Ok(());
            }
            if r.index.base < 0 {
                return Err(LiftError::Operand { at, what: "negative register number" });
            }
            if r.index.base > MAX_REGISTER {
                return Err(LiftError::Limit("register number above 65535"));
            }
            max[k] = max[k].max(r.index.base);
            Ok(())
        };
        for (at, inst) in program.insts.iter().enumerate() {
            for d in &inst.dsts {
                note(&d.reg, at)?;
                out_memory |= d.reg.file == File::Out && (d.reg.is_indirect() || d.reg.dim.is_some());
                for a in addr_regs(&d.reg) {
                    note(&a, at)?;
                }
            }
            for s in &inst.srcs {
                note(&s.reg, at)?;
                out_memory |= s.reg.file == File::Out;
                for a in addr_regs(&s.reg) {
                    note(&a, at)?;
                }
            }
            for o in &inst.offsets {
                note(&o.reg, at)?;
            }
        }
        let mut arrays: Vec<(i32, i32, u32)> = Vec::new();
        if indexed.contains(&0) {
            // No array id: any TEMP may be meant.
            let last = declared.iter().map(|d| d.1).max().unwrap_or(max[0]).max(max[0]);
            if last > MAX_REGISTER {
                return Err(LiftError::Limit("register number above 65535"));
            }
            arrays.push((0, last, 0));
        } else {
            for id in indexed {
                for d in declared.iter().filter(|d| d.2 == id) {
                    if d.1 > MAX_REGISTER || d.0 < 0 || d.1 < d.0 {
                        return Err(LiftError::Limit("register number above 65535"));
                    }
                    arrays.push((d.0, d.1, id));
                }
            }
        }
        arrays.sort_unstable();
        arrays.dedup();
        if arrays.windows(2).any(|w| w[1].0 <= w[0].1) {
            return Err(LiftError::Limit("overlapping arrays"));
        }
        let temp_base = 0;
        let addr_base = temp_base + 4 * (max[0] + 1) as usize;
        let out_base = addr_base + 4 * (max[1] + 1) as usize;
        let vars = out_base + 4 * (max[2] + 1) as usize;
        let mut plan = Plan {
            vars,
            temp_base,
            addr_base,
            out_base,
            imms,
            arrays,
            out_memory,
            outputs: Vec::new(),
            last_read: vec![0; vars],
            close: FxHashMap::default(),
        };
        plan.scan(program)?;
        Ok(plan)
    }

    fn in_array(&self, index: i32) -> bool {
        self.arrays.iter().any(|a| a.0 <= index && index <= a.1)
    }

    /// The first of the four variables of a register that is in SSA form.
    fn var(&self, reg: &Register) -> Option<usize> {
        if reg.index.addr.is_some() || reg.dim.is_some() {
            return None;
        }
        let i = reg.index.base as usize;
        match reg.file {
            File::Temp if !self.in_array(reg.index.base) => Some(self.temp_base + 4 * i),
            File::Addr => Some(self.addr_base + 4 * i),
            File::Out if !self.out_memory => Some(self.out_base + 4 * i),
            _ => None,
        }
    }

    /// Fills in last reads, outputs and matching closers.
    fn scan(&mut self, program: &Program) -> Result<(), LiftError> {
        let mut open: Vec<usize> = Vec::new();
        let mut outputs: Vec<(i32, u8)> = Vec::new();
        for (at, inst) in program.insts.iter().enumerate() {
            for s in &inst.srcs {
                let regs = addr_regs(&s.reg);
                if let Some(v) = self.var(&s.reg) {
                    for c in 0..4 {
                        self.last_read[v + c] = at as u32 + 1;
                    }
                }
                for a in regs {
                    self.read_all(&a, at);
                }
            }
            for o in &inst.offsets {
                self.read_all(&o.reg, at);
            }
            for d in &inst.dsts {
                for a in addr_regs(&d.reg) {
                    self.read_all(&a, at);
                }
                if d.reg.file == File::Out
                    && let Some(v) = self.var(&d.reg)
                {
                    for c in 0..4u8 {
                        if d.mask >> c & 1 != 0 {
                            self.last_read[v + c as usize] = u32::MAX;
                            outputs.push((d.reg.index.base, c));
                        }
                    }
                }
            }
            match inst.op {
                Opcode::If | Opcode::Uif | Opcode::Bgnloop | Opcode::Switch => open.push(at),
                Opcode::Else => {
                    let i = open.pop().ok_or(LiftError::Structure { at })?;
                    if !matches!(program.insts[i].op, Opcode::If | Opcode::Uif) {
                        return Err(LiftError::Structure { at });
                    }
                    self.close.insert(i, at);
                    open.push(at);
                }
                Opcode::Endif | Opcode::Endloop | Opcode::Endswitch => {
                    let i = open.pop().ok_or(LiftError::Structure { at })?;
                    let ok = match program.insts[i].op {
                        Opcode::If | Opcode::Uif | Opcode::Else => inst.op == Opcode::Endif,
                        Opcode::Bgnloop => inst.op == Opcode::Endloop,
                        _ => inst.op == Opcode::Endswitch,
                    };
                    if !ok {
                        return Err(LiftError::Structure { at });
                    }
                    self.close.insert(i, at);
                }
                _ => {}
            }
            if open.len() > MAX_DEPTH {
                return Err(LiftError::Limit("nesting deeper than 200"));
            }
        }
        if let Some(&at) = open.last() {
            return Err(LiftError::Structure { at });
        }
        outputs.sort_unstable();
        outputs.dedup();
        self.outputs = outputs;
        Ok(())
    }

    fn read_all(&mut self, reg: &Register, at: usize) {
        if let Some(v) = self.var(reg) {
            for c in 0..4 {
                self.last_read[v + c] = at as u32 + 1;
            }
        }
    }
}

/// The address registers inside the brackets of a register.
fn addr_regs(reg: &Register) -> SmallVec<[Register; 2]> {
    let dim = reg.dim.and_then(|d| d.addr);
    dim.into_iter().chain(reg.index.addr).map(|a| Register::direct(a.file, a.index)).collect()
}

/// What ends the body being lifted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Program,
    Arm,
    Loop,
    Case,
}

/// An enclosing loop or switch.
struct Scope {
    id: RegionId,
    is_loop: bool,
    /// Variables that are results.
    results: Vec<u32>,
    /// Variables that are parameters (loops only).
    params: Vec<u32>,
    start: usize,
    exits: bool,
}

struct Lifter<'a> {
    func: Function,
    insts: &'a [Inst],
    plan: Plan,
    env: Vec<Option<Value>>,
    /// Assignments with the value they replaced, so that an arm can be undone.
    trail: Vec<(u32, Option<Value>)>,
    /// Whether the current point is reachable.
    live: bool,
    loops: Vec<Scope>,
    depth: u8,
    /// Memory reads of the instruction at hand, so that its channels share one.
    loads: Vec<(Register, Value)>,
}

impl Lifter<'_> {
    fn get(&mut self, var: usize) -> Value {
        match self.env[var] {
            Some(v) => v,
            None => {
                let hint = LaneHint { inst: 0, lane: (var & 3) as u8, depth: 0 };
                self.func.intern(VOp::Undef(var as u32), false, false, Args::new(), hint)
            }
        }
    }

    fn set(&mut self, var: usize, v: Value) {
        self.trail.push((var as u32, self.env[var]));
        self.env[var] = Some(v);
    }

    /// Whether a variable may be read behind instruction `at`.
    fn needed(&self, var: u32, at: usize) -> bool {
        let last = self.plan.last_read[var as usize];
        if last as usize > at {
            return true;
        }
        let outer = self.loops.iter().find(|s| s.is_loop);
        outer.is_some_and(|s| last as usize > s.start)
    }

    /// Takes back the assignments since `mark` and returns the values the arm left, by variable.
    fn undo(&mut self, mark: usize) -> Vec<(u32, Option<Value>)> {
        let mut changed: Vec<u32> = self.trail[mark..].iter().map(|t| t.0).collect();
        changed.sort_unstable();
        changed.dedup();
        let values = changed.iter().map(|&v| (v, self.env[v as usize])).collect();
        while self.trail.len() > mark {
            let (var, old) = self.trail.pop().expect("longer than mark");
            self.env[var as usize] = old;
        }
        values
    }

    fn output_values(&mut self) -> Vec<Value> {
        let outputs = self.func.outputs.clone();
        outputs.iter().map(|&(r, c)| self.get(self.plan.out_base + 4 * r as usize + c as usize)).collect()
    }

    /// Lifts instructions from `at` until the one that ends the body; returns its index.
    fn body(&mut self, mut at: usize, out: &mut Body, end: End) -> Result<usize, LiftError> {
        loop {
            let Some(inst) = self.insts.get(at) else {
                return if end == End::Program { Ok(at) } else { Err(LiftError::Structure { at }) };
            };
            match inst.op {
                Opcode::End => {
                    return if end == End::Program { Ok(at) } else { Err(LiftError::Structure { at }) };
                }
                Opcode::Else | Opcode::Endif | Opcode::Endloop | Opcode::Endswitch | Opcode::Case
                | Opcode::Default => {
                    let ok = match inst.op {
                        Opcode::Else | Opcode::Endif => end == End::Arm,
                        Opcode::Endloop => end == End::Loop,
                        _ => end == End::Case,
                    };
                    return if ok { Ok(at) } else { Err(LiftError::Structure { at }) };
                }
                _ if !self.live => {
                    // Behind BRK, CONT or RET: skip to the end of the body, over nested regions.
                    at = match inst.op {
                        Opcode::If | Opcode::Uif | Opcode::Bgnloop | Opcode::Switch => self.skip(at),
                        _ => at + 1,
                    };
                }
                Opcode::If | Opcode::Uif => at = self.branch(at, out)?,
                Opcode::Bgnloop => at = self.looped(at, out)?,
                Opcode::Switch => at = self.switch(at, out)?,
                Opcode::Brk => {
                    self.depart(at, out)?;
                    at += 1;
                }
                Opcode::Cont => {
                    let i = self.loops.iter().rposition(|s| s.is_loop).ok_or(LiftError::Structure { at })?;
                    let params = self.loops[i].params.clone();
                    let args = params.iter().map(|&v| self.get(v as usize)).collect();
                    out.items.push(Item::Repeat(self.loops[i].id, args));
                    self.live = false;
                    at += 1;
                }
                Opcode::Ret => {
                    let args = self.output_values();
                    out.items.push(Item::Depart(FUNCTION, args));
                    self.live = false;
                    at += 1;
                }
                Opcode::Nop => at += 1,
                op if op.info().effect == Effect::Flow => return Err(LiftError::Flow { at, op }),
                _ => {
                    self.inst(at, out)?;
                    at += 1;
                }
            }
        }
    }

    /// The index behind the region that opens at `at`.
    fn skip(&self, at: usize) -> usize {
        let mut i = at;
        while let Some(&c) = self.plan.close.get(&i) {
            i = c;
        }
        i + 1
    }

    fn depart(&mut self, at: usize, out: &mut Body) -> Result<(), LiftError> {
        let scope = self.loops.last_mut().ok_or(LiftError::Structure { at })?;
        scope.exits = true;
        let (id, results) = (scope.id, scope.results.clone());
        let args = results.iter().map(|&v| self.get(v as usize)).collect();
        out.items.push(Item::Depart(id, args));
        self.live = false;
        Ok(())
    }

    fn hint(&self, at: usize, lane: u8) -> LaneHint {
        LaneHint { inst: at as u32, lane, depth: self.depth }
    }

    fn branch(&mut self, at: usize, out: &mut Body) -> Result<usize, LiftError> {
        let inst = &self.insts[at];
        let src = *inst.srcs.first().ok_or(LiftError::Operand { at, what: "missing condition" })?;
        let ty = if inst.op == Opcode::Uif { Ty::U } else { Ty::F };
        let cond = self.word(at, &src, 0, ty, out)?;
        let mark = self.trail.len();
        let mut then = Body::default();
        let mut end = self.body(at + 1, &mut then, End::Arm)?;
        let mid = end;
        let then_live = self.live;
        let then_env = self.undo(mark);
        self.live = true;
        let mut els = Body::default();
        let mut else_live = true;
        let mut else_env = Vec::new();
        if self.insts[end].op == Opcode::Else {
            end = self.body(end + 1, &mut els, End::Arm)?;
            if self.insts[end].op != Opcode::Endif {
                return Err(LiftError::Structure { at: end });
            }
            else_live = self.live;
            else_env = self.undo(mark);
        }
        self.live = then_live || else_live;
        let mut item = If {
            bits: ty == Ty::U,
            cond,
            then,
            els,
            results: Vec::new(),
            then_args: then_live.then(Vec::new),
            else_args: else_live.then(Vec::new),
            at: [at as u32, mid as u32, end as u32],
        };
        match (then_live, else_live) {
            (true, true) => self.join(&mut item, &then_env, &else_env, end),
            (true, false) => self.adopt(&then_env, end),
            (false, true) => self.adopt(&else_env, end),
            (false, false) => {}
        }
        out.items.push(Item::If(Box::new(item)));
        Ok(end + 1)
    }

    fn adopt(&mut self, env: &[(u32, Option<Value>)], at: usize) {
        for &(var, v) in env {
            if let Some(v) = v
                && self.needed(var, at)
            {
                self.set(var as usize, v);
            }
        }
    }

    /// Makes the phis of a branch whose arms both reach its end.
    fn join(&mut self, item: &mut If, a: &[(u32, Option<Value>)], b: &[(u32, Option<Value>)], at: usize) {
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let va = a.get(i).map_or(u32::MAX, |x| x.0);
            let vb = b.get(j).map_or(u32::MAX, |x| x.0);
            let var = va.min(vb);
            let x = if va == var { a[i].1 } else { self.env[var as usize] };
            let y = if vb == var { b[j].1 } else { self.env[var as usize] };
            i += usize::from(va == var);
            j += usize::from(vb == var);
            if !self.needed(var, at) {
                continue;
            }
            if x == y {
                if let Some(x) = x {
                    self.set(var as usize, x);
                }
                continue;
            }
            // Only an arm that did not write the channel lacks a value: then it is uninitialised.
            let x = x.unwrap_or_else(|| self.get(var as usize));
            let y = y.unwrap_or_else(|| self.get(var as usize));
            let phi = self.func.phi(self.hint(at, (var & 3) as u8));
            item.results.push(phi);
            item.then_args.as_mut().expect("live arm").push(x);
            item.else_args.as_mut().expect("live arm").push(y);
            self.set(var as usize, phi);
        }
    }

    /// Variables written between two instructions, sorted.
    fn written(&self, from: usize, to: usize) -> Vec<u32> {
        let mut vars: Vec<u32> = Vec::new();
        for inst in &self.insts[from..to] {
            for (k, d) in inst.dsts.iter().enumerate() {
                if let Some(v) = self.plan.var(&d.reg) {
                    let mask = if k == 0 { d.mask | tgsi::usage::dst_mask(inst) } else { d.mask };
                    vars.extend((0..4).filter(|c| mask >> c & 1 != 0).map(|c| v as u32 + c));
                }
            }
        }
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    fn looped(&mut self, at: usize, out: &mut Body) -> Result<usize, LiftError> {
        let close = *self.plan.close.get(&at).ok_or(LiftError::Structure { at })?;
        let vars = self.written(at, close);
        // A parameter is needed if anything reads the channel in the loop or behind it.
        let params: Vec<u32> =
            vars.iter().copied().filter(|&v| self.plan.last_read[v as usize] as usize > at).collect();
        let results: Vec<u32> = vars.iter().copied().filter(|&v| self.needed(v, close)).collect();
        let inits = params.iter().map(|&v| self.get(v as usize)).collect();
        let mark = self.trail.len();
        let mut phis = Vec::with_capacity(params.len());
        for &v in &params {
            let phi = self.func.phi(self.hint(at, (v & 3) as u8));
            phis.push(phi);
            self.set(v as usize, phi);
        }
        let id = RegionId(self.func.fresh());
        self.loops.push(Scope { id, is_loop: true, results, params, start: at, exits: false });
        self.depth = self.depth.saturating_add(1);
        let mut body = Body::default();
        let end = self.body(at + 1, &mut body, End::Loop)?;
        self.depth -= 1;
        let scope = self.loops.pop().expect("pushed above");
        let back = self.live.then(|| scope.params.iter().map(|&v| self.get(v as usize)).collect());
        self.undo(mark);
        let mut item = Loop { id, params: phis, inits, body, back, results: Vec::new(), exits: scope.exits, at: [at as u32, end as u32] };
        self.live = scope.exits;
        for &v in &scope.results {
            let phi = self.func.phi(self.hint(end, (v & 3) as u8));
            item.results.push(phi);
            self.set(v as usize, phi);
        }
        out.items.push(Item::Loop(Box::new(item)));
        Ok(end + 1)
    }

    fn switch(&mut self, at: usize, out: &mut Body) -> Result<usize, LiftError> {
        let close = *self.plan.close.get(&at).ok_or(LiftError::Structure { at })?;
        let src = *self.insts[at].srcs.first().ok_or(LiftError::Operand { at, what: "missing selector" })?;
        let selector = self.word(at, &src, 0, Ty::U, out)?;
        let vars: Vec<u32> = self.written(at, close);
        let params: Vec<u32> =
            vars.iter().copied().filter(|&v| self.plan.last_read[v as usize] as usize > at).collect();
        let results: Vec<u32> = vars.iter().copied().filter(|&v| self.needed(v, close)).collect();
        let id = RegionId(self.func.fresh());
        self.loops.push(Scope { id, is_loop: false, results, params: params.clone(), start: at, exits: false });
        let mark = self.trail.len();
        let mut item =
            Switch { id, selector, cases: Vec::new(), results: Vec::new(), end_args: None, none_args: None, at: [at as u32, close as u32] };
        let mut i = at + 1;
        let mut fall: Option<Vec<Value>> = None;
        let mut has_default = false;
        while i < close {
            let inst = &self.insts[i];
            let label = match inst.op {
                Opcode::Case => {
                    let s = *inst.srcs.first().ok_or(LiftError::Operand { at: i, what: "missing label" })?;
                    if s.reg.file == File::Temp || s.reg.is_indirect() {
                        return Err(LiftError::Operand { at: i, what: "CASE label is not constant" });
                    }
                    Some(self.word(i, &s, 0, Ty::U, out)?)
                }
                Opcode::Default => {
                    has_default = true;
                    None
                }
                op => return Err(LiftError::Flow { at: i, op }),
            };
            self.undo(mark);
            let entry: Vec<Value> = params.iter().map(|&v| self.get(v as usize)).collect();
            let mut phis = Vec::with_capacity(params.len());
            for &v in &params {
                let phi = self.func.phi(self.hint(i, (v & 3) as u8));
                phis.push(phi);
                self.set(v as usize, phi);
            }
            self.live = true;
            let mut body = Body::default();
            let end = self.body(i + 1, &mut body, End::Case)?;
            let next_fall = self.live.then(|| params.iter().map(|&v| self.get(v as usize)).collect());
            item.cases.push(Case { label, params: phis, entry, fall: fall.take(), body, at: i as u32 });
            if end >= close && self.live {
                let scope = self.loops.last().expect("pushed above");
                let results = scope.results.clone();
                item.end_args = Some(results.iter().map(|&v| self.get(v as usize)).collect());
            }
            fall = next_fall;
            i = end;
        }
        self.undo(mark);
        let scope = self.loops.pop().expect("pushed above");
        if !has_default || item.cases.is_empty() {
            item.none_args = Some(scope.results.iter().map(|&v| self.get(v as usize)).collect());
        }
        self.live = scope.exits || item.end_args.is_some() || item.none_args.is_some();
        for &v in &scope.results {
            let phi = self.func.phi(self.hint(close, (v & 3) as u8));
            item.results.push(phi);
            self.set(v as usize, phi);
        }
        out.items.push(Item::Switch(Box::new(item)));
        Ok(close + 1)
    }
}
