//! LIFT: from syntax to regions and SSA.
//!
//! One walk over the instructions with an environment from register channels to
//! values. Joins compare the environments of the arms and make phis only for
//! channels that are read behind the join; loops get parameters for the channels
//! their body writes. TEMP arrays that are indexed stay memory, OUT stays memory
//! where it is read, indexed, or consumed by EMIT or other invocations.

use smallvec::SmallVec;
use tgsi::{Effect, File, Inst, Opcode, Program, Register, Ty};

use crate::ir::*;

mod flow;
mod inst;
mod plan;
pub use inst::reg_ref;
use plan::Plan;

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
            LiftError::Structure { at } => {
                write!(f, "control flow does not nest at instruction {at}")
            }
            LiftError::Limit(what) => write!(f, "limit exceeded: {what}"),
            LiftError::Operand { at, what } => write!(f, "{what} at instruction {at}"),
            LiftError::Flow { at, op } => {
                write!(f, "{} at instruction {at} is kept as it is", op.name())
            }
        }
    }
}

impl std::error::Error for LiftError {}

impl LiftError {
    /// The error with the instruction of the source that `origin` names.
    fn in_source(mut self, origin: &[u32]) -> LiftError {
        if let LiftError::Structure { at }
        | LiftError::Operand { at, .. }
        | LiftError::Flow { at, .. } = &mut self
        {
            *at = origin.get(*at).map_or(*at, |&i| i as usize);
        }
        self
    }
}

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
    let Some(expanded) = flow::expand(program)? else {
        return lift_structured(program);
    };
    let mut f = lift_structured(&expanded.program).map_err(|e| e.in_source(&expanded.origin))?;
    f.first_era = Function::new(program).first_era;
    Ok(f)
}

/// Lifts a program without subroutines and jumps that are rewritten.
fn lift_structured(program: &Program) -> Result<Function, LiftError> {
    let plan = Plan::new(program)?;
    let mut l = Lifter {
        func: Function::new(program),
        insts: &program.insts,
        env: vec![None; plan.slots],
        leaf_regs: vec![None; (plan.slots - plan.vars) / 4],
        plan,
        trail: Vec::new(),
        open: 0,
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

/// The address registers inside the brackets of a register.
fn addr_regs(reg: &Register) -> SmallVec<[Register; 2]> {
    let dim = reg.dim.and_then(|d| d.addr);
    dim.into_iter()
        .chain(reg.index.addr)
        .map(|a| Register::direct(a.file, a.index))
        .collect()
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
    /// Current value of each variable, and of each leaf that was met.
    env: Vec<Option<Value>>,
    /// The reference of each leaf register that was met.
    leaf_regs: Vec<Option<RegId>>,
    /// Assignments with the value they replaced, so that an arm can be undone.
    trail: Vec<(u32, Option<Value>)>,
    /// Regions around that will be undone: without any, no trail is kept.
    open: u32,
    /// Whether the current point is reachable.
    live: bool,
    loops: Vec<Scope>,
    depth: u8,
    /// Memory reads of the instruction at hand, so that its channels share one.
    loads: Vec<(Register, Value)>,
}

impl Lifter<'_> {
    #[inline]
    fn get(&mut self, var: usize) -> Value {
        match self.env[var] {
            Some(v) => v,
            None => {
                let hint = LaneHint {
                    inst: 0,
                    lane: (var & 3) as u8,
                    depth: 0,
                };
                self.func
                    .intern(VOp::Undef(var as u32), false, false, Args::new(), hint)
            }
        }
    }

    #[inline]
    fn set(&mut self, var: usize, v: Value) {
        if self.open > 0 {
            self.trail.push((var as u32, self.env[var]));
        }
        self.env[var] = Some(v);
    }

    /// Whether a variable may be read behind instruction `at`.
    fn needed(&self, var: u32, at: usize) -> bool {
        let last = self.plan.last_read(var);
        if last as usize > at {
            return true;
        }
        let outer = self.loops.iter().find(|s| s.is_loop);
        outer.is_some_and(|s| last as usize > s.start)
    }

    /// The values that the arm since `mark` leaves, by variable; then takes its assignments back.
    fn take_back(&mut self, mark: usize) -> Vec<(u32, Option<Value>)> {
        let mut values: Vec<(u32, Option<Value>)> = self.trail[mark..]
            .iter()
            .map(|t| (t.0, self.env[t.0 as usize]))
            .collect();
        values.sort_unstable_by_key(|v| v.0);
        values.dedup_by_key(|v| v.0);
        self.undo(mark);
        values
    }

    /// Takes back the assignments since `mark`.
    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let (var, old) = self.trail.pop().expect("longer than mark");
            self.env[var as usize] = old;
        }
    }

    fn output_values(&mut self) -> Vec<Value> {
        let mut values = Vec::with_capacity(self.func.outputs.len());
        for i in 0..self.func.outputs.len() {
            let (r, c) = self.func.outputs[i];
            values.push(self.get(self.plan.out_base + 4 * r as usize + c as usize));
        }
        values
    }

    /// Lifts instructions from `at` until the one that ends the body; returns its index.
    fn body(&mut self, mut at: usize, out: &mut Body, end: End) -> Result<usize, LiftError> {
        loop {
            let Some(inst) = self.insts.get(at) else {
                return if end == End::Program {
                    Ok(at)
                } else {
                    Err(LiftError::Structure { at })
                };
            };
            match inst.op {
                Opcode::End => {
                    return if end == End::Program {
                        Ok(at)
                    } else {
                        Err(LiftError::Structure { at })
                    };
                }
                Opcode::Else
                | Opcode::Endif
                | Opcode::Endloop
                | Opcode::Endswitch
                | Opcode::Case
                | Opcode::Default => {
                    let ok = match inst.op {
                        Opcode::Else | Opcode::Endif => end == End::Arm,
                        Opcode::Endloop => end == End::Loop,
                        _ => end == End::Case,
                    };
                    return if ok {
                        Ok(at)
                    } else {
                        Err(LiftError::Structure { at })
                    };
                }
                _ if !self.live => {
                    // Behind BRK, CONT or RET: skip to the end of the body, over nested regions.
                    at = match inst.op {
                        Opcode::If | Opcode::Uif | Opcode::Bgnloop | Opcode::Switch => {
                            self.skip(at)
                        }
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
                    let i = self
                        .loops
                        .iter()
                        .rposition(|s| s.is_loop)
                        .ok_or(LiftError::Structure { at })?;
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
        LaneHint {
            inst: at as u32,
            lane,
            depth: self.depth,
        }
    }

    fn branch(&mut self, at: usize, out: &mut Body) -> Result<usize, LiftError> {
        let inst = &self.insts[at];
        let src = *inst.srcs.first().ok_or(LiftError::Operand {
            at,
            what: "missing condition",
        })?;
        let ty = if inst.op == Opcode::Uif { Ty::U } else { Ty::F };
        let cond = self.word(at, &src, 0, ty, out)?;
        let mark = self.trail.len();
        self.open += 1;
        let mut then = Body::default();
        let mut end = self.body(at + 1, &mut then, End::Arm)?;
        let mid = end;
        let then_live = self.live;
        let then_env = self.take_back(mark);
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
            else_env = self.take_back(mark);
        }
        self.open -= 1;
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
        let changed = then_env.len() + else_env.len();
        if then_live && else_live {
            item.results.reserve(changed);
            item.then_args.as_mut().expect("live arm").reserve(changed);
            item.else_args.as_mut().expect("live arm").reserve(changed);
        }
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
    fn join(
        &mut self,
        item: &mut If,
        a: &[(u32, Option<Value>)],
        b: &[(u32, Option<Value>)],
        at: usize,
    ) {
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let va = a.get(i).map_or(u32::MAX, |x| x.0);
            let vb = b.get(j).map_or(u32::MAX, |x| x.0);
            let var = va.min(vb);
            let x = if va == var {
                a[i].1
            } else {
                self.env[var as usize]
            };
            let y = if vb == var {
                b[j].1
            } else {
                self.env[var as usize]
            };
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
                    let mask = if k == 0 {
                        d.mask | tgsi::usage::dst_mask(inst)
                    } else {
                        d.mask
                    };
                    vars.extend((0..4).filter(|c| mask >> c & 1 != 0).map(|c| v as u32 + c));
                }
            }
        }
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    fn looped(&mut self, at: usize, out: &mut Body) -> Result<usize, LiftError> {
        let close = *self
            .plan
            .close
            .get(&at)
            .ok_or(LiftError::Structure { at })?;
        let vars = self.written(at, close);
        // A parameter is needed if anything reads the channel in the loop or behind it; round a loop
        // around this one, what stands before is behind too.
        let params: Vec<u32> = vars
            .iter()
            .copied()
            .filter(|&v| self.needed(v, at))
            .collect();
        let results: Vec<u32> = vars
            .iter()
            .copied()
            .filter(|&v| self.needed(v, close))
            .collect();
        let inits = params.iter().map(|&v| self.get(v as usize)).collect();
        let mark = self.trail.len();
        self.open += 1;
        let mut phis = Vec::with_capacity(params.len());
        for &v in &params {
            let phi = self.func.phi(self.hint(at, (v & 3) as u8));
            phis.push(phi);
            self.set(v as usize, phi);
        }
        let id = RegionId(self.func.fresh());
        self.loops.push(Scope {
            id,
            is_loop: true,
            results,
            params,
            start: at,
            exits: false,
        });
        self.depth = self.depth.saturating_add(1);
        let mut body = Body::default();
        let end = self.body(at + 1, &mut body, End::Loop)?;
        self.depth -= 1;
        let scope = self.loops.pop().expect("pushed above");
        let back = self
            .live
            .then(|| scope.params.iter().map(|&v| self.get(v as usize)).collect());
        self.undo(mark);
        self.open -= 1;
        let mut item = Loop {
            id,
            params: phis,
            inits,
            body,
            back,
            results: Vec::new(),
            exits: scope.exits,
            at: [at as u32, end as u32],
        };
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
        let close = *self
            .plan
            .close
            .get(&at)
            .ok_or(LiftError::Structure { at })?;
        let src = *self.insts[at].srcs.first().ok_or(LiftError::Operand {
            at,
            what: "missing selector",
        })?;
        let selector = self.word(at, &src, 0, Ty::U, out)?;
        let vars: Vec<u32> = self.written(at, close);
        let params: Vec<u32> = vars
            .iter()
            .copied()
            .filter(|&v| self.needed(v, at))
            .collect();
        let results: Vec<u32> = vars
            .iter()
            .copied()
            .filter(|&v| self.needed(v, close))
            .collect();
        let id = RegionId(self.func.fresh());
        self.loops.push(Scope {
            id,
            is_loop: false,
            results,
            params: params.clone(),
            start: at,
            exits: false,
        });
        let mark = self.trail.len();
        self.open += 1;
        let mut item = Switch {
            id,
            selector,
            cases: Vec::new(),
            results: Vec::new(),
            end_args: None,
            none_args: None,
            at: [at as u32, close as u32],
        };
        let mut i = at + 1;
        let mut fall: Option<Vec<Value>> = None;
        let mut has_default = false;
        while i < close {
            let inst = &self.insts[i];
            let label = match inst.op {
                Opcode::Case => {
                    let s = *inst.srcs.first().ok_or(LiftError::Operand {
                        at: i,
                        what: "missing label",
                    })?;
                    if s.reg.file == File::Temp || s.reg.is_indirect() {
                        return Err(LiftError::Operand {
                            at: i,
                            what: "CASE label is not constant",
                        });
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
            let next_fall = self
                .live
                .then(|| params.iter().map(|&v| self.get(v as usize)).collect());
            item.cases.push(Case {
                label,
                params: phis,
                entry,
                fall: fall.take(),
                body,
                at: i as u32,
            });
            if end >= close && self.live {
                let scope = self.loops.last().expect("pushed above");
                let results = scope.results.clone();
                item.end_args = Some(results.iter().map(|&v| self.get(v as usize)).collect());
            }
            fall = next_fall;
            i = end;
        }
        self.undo(mark);
        self.open -= 1;
        let scope = self.loops.pop().expect("pushed above");
        if !has_default || item.cases.is_empty() {
            item.none_args = Some(
                scope
                    .results
                    .iter()
                    .map(|&v| self.get(v as usize))
                    .collect(),
            );
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
