//! # What
//! A function in terms of what the target takes: other operations are written in those it has, and
//! control flow that it does not have becomes selections.
//!
//! # Why
//! Hardware of two decades has between twelve opcodes and all of them, branches or none, integers or
//! only floats. Drivers expand one opcode at a time where they meet it; here the result is optimised
//! like any other program.
//!
//! # Algorithm
//! 1. Loops that the target does not have are written out, whatever that costs.
//! 2. Without branches both arms always run: phis become selections, KILL becomes a KILL_IF of a
//!    selected number, stores to arrays write what was there where control did not come.
//! 3. CONT and SWITCH become branches: what follows an exit goes into the arm that stays.
//! 4. One rebuild writes each operation that is not taken in the cheapest way of a table
//!    (`legalize/ways.rs`), in slots. Where there are no integers, truth values are 0.0 and 1.0, and
//!    integers that are small enough are floats; an operation on them stays until its readers ask.
//! 5. What has no way stays and is told.
//!
//! # Preserves
//! Each way names its contract; most are exact. What the target forces is done whatever the profile
//! grants, and the contract of the result says so. Fetches in arms run always: with implicit
//! derivatives that is another level of detail only where lanes of one quad would have diverged, and
//! it is what drivers of such hardware do.
//!
//! # Limits
//! Loops whose number of iterations is not constant, memory and atomic operations in arms, outputs
//! that are read back and written in arms; integers that may not be exact as floats; bit operations
//! where there are no integers; fetches that the target does not have.
//!
//! # Cost
//! Nothing where the target takes everything, one look at each value where it takes what there is;
//! else a rebuild for each step, and a cleaning.
//!
//! # Tests
//! `crates/tgsi-opt/tests/legalize.rs`: each way, truth values, small integers, branches, kills, exits
//! and loops against the interpreter, and what is left; `tests/cases/legalize`.

mod exits;
mod expand;
mod flow;
mod integers;
mod ways;

use rustc_hash::FxHashMap;
use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, PhiInputs, liveness, rebuild_from, rebuild_with, walk};
use tgsi_ir::{Body, FUNCTION, Function, Item, MultiKind, RegionId, VOp, Value, ix};
use tgsi_rules::Contract;
use tgsi_target::Taken;

use crate::const_fold::keep;
use crate::{PassCx, registry, unroll};
use expand::{Expand, Shadow};

/// What came of it.
#[derive(Clone, Debug)]
pub struct Legalized {
    /// The function, if it changed.
    pub function: Option<Function>,
    /// What was not kept bit for bit.
    pub contract: Contract,
    /// What is left that the target does not take, in sentences.
    pub left: Vec<String>,
    /// Why branches or loops are among that.
    pub reason: Option<String>,
}

/// Makes a function legal as far as that goes.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let done = legalized(func, cx);
    let mut rewriting = cx.rewriting.borrow_mut();
    rewriting.contract = rewriting.contract.and(done.contract);
    done.function
}

/// As [`run`], with what else there is to say.
pub fn legalized(func: &Function, cx: &PassCx) -> Legalized {
    let mut out = Legalized {
        function: None,
        contract: Contract::EXACT,
        left: Vec::new(),
        reason: None,
    };
    if cx.taken.everything() {
        return out;
    }
    out.left = not_taken(func, &cx.taken);
    // What follows is not counted but for this one.
    if out.left.is_empty() || !cx.spend("legalize", None) {
        return out;
    }
    // In between everything is taken: the next step knows what to do with it.
    let free = PassCx {
        profile: cx.profile,
        ..PassCx::default()
    };
    let mut current = func.clone();
    if !cx.taken.flow.loops || !cx.taken.flow.branches {
        let most = cx.taken.instructions.unwrap_or(MOST_INSTRUCTIONS) as usize;
        if let Some(f) = unroll::forced(&current, &free, most) {
            current = f;
        }
    }
    if !cx.taken.flow.branches && has_regions(&current) {
        match flow::flattened(&current) {
            Ok(f) => current = registry::settled(&f, &free).unwrap_or(f),
            Err(why) => out.reason = Some(format!("branches stay: {why}")),
        }
    }
    if let Some(f) = exits::nested(&current, &cx.taken.flow) {
        current = registry::settled(&f, &free).unwrap_or(f);
    }
    let (mut f, contract) = expanded(&current, cx);
    f = registry::settled(&f, cx).unwrap_or(f);
    out.contract = contract;
    // What cleaning found may be known only now.
    let left = not_taken(&f, &cx.taken);
    if !left.is_empty() {
        let (again, contract) = expanded(&f, cx);
        out.contract = out.contract.and(contract);
        f = again;
    }
    out.left = not_taken(&f, &cx.taken);
    out.function = Some(f);
    out
}

/// Instructions up to which loops are written out for a target that does not limit them.
const MOST_INSTRUCTIONS: u32 = 4096;

fn has_regions(f: &Function) -> bool {
    let effect = |i: &Item| matches!(i, Item::Effect(_));
    !f.body.items.iter().all(effect)
}

/// The function with its operations expanded, and the contract of that.
fn expanded(f: &Function, cx: &PassCx) -> (Function, Contract) {
    let phis = PhiInputs::collect(f);
    let mut shadowed = FxHashMap::default();
    if !cx.taken.takes(Opcode::Ucmp) && has_regions(f) {
        let masks = integers::mask_phis(f, &phis).into_iter();
        shadowed.extend(masks.map(|p| (p, Shadow::Truth)));
        let counters = unroll::counters(f).into_iter();
        shadowed.extend(counters.map(|(p, low, high)| (p, Shadow::Number(low, high))));
    }
    loop {
        let mut e = Expand::new(f, cx);
        e.shadowed.clone_from(&shadowed);
        let mut new = rebuild_from(f, &Edits::default(), &phis, &mut |g, origin, node| {
            e.rule(g, origin, node)
        });
        if has_regions(&new) {
            let mut body = std::mem::take(&mut new.body);
            std::mem::swap(&mut e.f, &mut new);
            e.edges(&mut body, &mut Vec::new());
            std::mem::swap(&mut e.f, &mut new);
            new.body = body;
        }
        if e.refused.is_empty() {
            let new = rebuild_with(&new, &Edits::default(), &mut keep);
            return (new, e.contract);
        }
        // An input is none that is known as a float.
        for p in e.refused {
            shadowed.remove(&p);
        }
    }
}

/// The phis that the edges to a region around feed.
struct Around {
    id: RegionId,
    params: Vec<Value>,
    results: Vec<Value>,
}

impl Expand<'_> {
    /// Branches test floats where there are no integers, and phis of floats get their inputs.
    fn edges(&mut self, body: &mut Body, around: &mut Vec<Around>) {
        for item in &mut body.items {
            match item {
                Item::If(i) => {
                    if i.bits
                        && !self.taken.takes(Opcode::Uif)
                        && let Some(t) = self.test(i.cond)
                    {
                        (i.cond, i.bits) = (t, false);
                    }
                    for args in [&mut i.then_args, &mut i.else_args].into_iter().flatten() {
                        self.hand_on(&i.results, args);
                    }
                    self.widen(&mut i.results);
                    self.edges(&mut i.then, around);
                    self.edges(&mut i.els, around);
                }
                Item::Loop(l) => {
                    self.hand_on(&l.params, &mut l.inits);
                    if let Some(back) = &mut l.back {
                        self.hand_on(&l.params, back);
                    }
                    around.push(Around {
                        id: l.id,
                        params: l.params.clone(),
                        results: l.results.clone(),
                    });
                    self.edges(&mut l.body, around);
                    around.pop();
                    self.widen(&mut l.params);
                    self.widen(&mut l.results);
                }
                Item::Switch(s) => {
                    around.push(Around {
                        id: s.id,
                        params: Vec::new(),
                        results: s.results.clone(),
                    });
                    for c in &mut s.cases {
                        self.hand_on(&c.params, &mut c.entry);
                        if let Some(fall) = &mut c.fall {
                            self.hand_on(&c.params, fall);
                        }
                        self.edges(&mut c.body, around);
                        self.widen(&mut c.params);
                    }
                    around.pop();
                    for args in [&mut s.end_args, &mut s.none_args].into_iter().flatten() {
                        self.hand_on(&s.results, args);
                    }
                    self.widen(&mut s.results);
                }
                Item::Depart(id, args) if *id != FUNCTION => {
                    let found = around.iter().rev().find(|r| r.id == *id);
                    let results = found.map(|r| r.results.clone()).unwrap_or_default();
                    self.hand_on(&results, args);
                }
                Item::Repeat(id, args) => {
                    let found = around.iter().rev().find(|r| r.id == *id);
                    let params = found.map(|r| r.params.clone()).unwrap_or_default();
                    self.hand_on(&params, args);
                }
                Item::Effect(_) | Item::Depart(..) => {}
            }
        }
    }

    /// Adds the phis of floats to the phis that they stand beside.
    fn widen(&self, phis: &mut Vec<Value>) {
        for k in 0..phis.len() {
            phis.extend(self.shadows.get(&phis[k]).map(|s| s.0));
        }
    }

    /// Adds the arguments of the phis of floats.
    fn hand_on(&mut self, phis: &[Value], args: &mut Vec<Value>) {
        for (k, p) in phis.iter().enumerate() {
            let Some(&(_, shadow, old)) = self.shadows.get(p) else {
                continue;
            };
            let float = match shadow {
                Shadow::Truth => self.truth(args[k]),
                Shadow::Number(..) => self.number(args[k]).map(|n| n.value),
            };
            if float.is_none() {
                self.refused.push(old);
            }
            args.push(float.unwrap_or(args[k]));
        }
    }
}

/// What a function uses that the target does not take, each once.
pub fn not_taken(f: &Function, taken: &Taken) -> Vec<String> {
    if taken.everything() {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    let mut note = |what: &str| {
        let line = format!("uses {what}, which the target does not have");
        if !out.contains(&line) {
            out.push(line);
        }
    };
    let phis = PhiInputs::collect(f);
    let live = liveness(f, &Edits::default(), &phis);
    for (v, d) in f.values.iter().filter(|(v, _)| live.live[ix(*v)]) {
        match d.op {
            VOp::Alu(op) if !taken.takes(op) => note(op.name()),
            VOp::Neg if !taken.negate => note("-x"),
            VOp::Abs if !taken.abs => note("|x|"),
            VOp::Sat if !taken.saturate => note("_SAT"),
            VOp::INeg | VOp::Pair | VOp::Half(_) if !taken.integers => note("integers"),
            VOp::Multi(_) => {
                let Some(m) = f.as_multi(v) else { continue };
                let memory = matches!(m.kind, MultiKind::Load | MultiKind::Store);
                if !memory && !taken.takes(m.inst.op) {
                    note(m.inst.op.name());
                }
                if m.inst.sat && !taken.saturate {
                    note("_SAT");
                }
            }
            _ => {}
        }
    }
    walk(f, &f.body, &mut |item| match item {
        Item::If(i) => {
            let op = if i.bits { Opcode::Uif } else { Opcode::If };
            if !taken.takes(op) {
                note(op.name());
            }
        }
        Item::Loop(_) if !taken.flow.loops => note("BGNLOOP"),
        Item::Switch(_) if !taken.flow.switches => note("SWITCH"),
        Item::Repeat(..) if !taken.flow.continues => note("CONT"),
        _ => {}
    });
    out
}
