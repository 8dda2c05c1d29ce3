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
//! 3. One rebuild writes each operation that is not taken in the cheapest way of a table
//!    (`legalize/ways.rs`), in slots. Where there are no integers, truth values are 0.0 and 1.0, and
//!    integers that are small enough are floats; an operation on them stays until its readers ask.
//! 4. What has no way stays and is told.
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
//! Below: each way against the evaluation of the operation, truth values, small integers, branches,
//! kills, exits, stores, loops, and what is left. `tests/cases/legalize`.

mod expand;
mod flow;
mod integers;
mod ways;

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, PhiInputs, liveness, rebuild_from, rebuild_with, walk};
use tgsi_ir::{Body, FUNCTION, Function, Item, MultiKind, VOp, Value, ix};
use tgsi_rules::Contract;
use tgsi_target::Taken;

use crate::const_fold::keep;
use crate::{PassCx, registry, unroll};
use expand::Expand;

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
    if out.left.is_empty() || cx.fuel.get() == Some(0) {
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
    let mut e = Expand::new(f, cx);
    if !cx.taken.integers && has_regions(f) {
        e.old_masks.extend(integers::mask_phis(f));
    }
    let phis = PhiInputs::collect(f);
    let mut new = rebuild_from(f, &Edits::default(), &phis, &mut |g, origin, node| {
        e.rule(g, origin, node)
    });
    let contract = if has_regions(&new) {
        let mut body = std::mem::take(&mut new.body);
        std::mem::swap(&mut e.f, &mut new);
        e.tests(&mut body);
        std::mem::swap(&mut e.f, &mut new);
        new.body = body;
        e.contract
    } else {
        e.contract
    };
    (rebuild_with(&new, &Edits::default(), &mut keep), contract)
}

impl Expand<'_> {
    /// Branches test floats where there are no integers, and edges hand on truth values as floats.
    fn tests(&mut self, body: &mut Body) {
        let mut results: Vec<(tgsi_ir::RegionId, Vec<Value>, Vec<Value>)> = Vec::new();
        self.test_items(body, &mut results);
    }

    fn test_items(
        &mut self,
        body: &mut Body,
        around: &mut Vec<(tgsi_ir::RegionId, Vec<Value>, Vec<Value>)>,
    ) {
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
                    self.test_items(&mut i.then, around);
                    self.test_items(&mut i.els, around);
                }
                Item::Loop(l) => {
                    self.hand_on(&l.params, &mut l.inits);
                    if let Some(back) = &mut l.back {
                        self.hand_on(&l.params, back);
                    }
                    around.push((l.id, l.params.clone(), l.results.clone()));
                    self.test_items(&mut l.body, around);
                    around.pop();
                }
                Item::Switch(s) => {
                    around.push((s.id, Vec::new(), s.results.clone()));
                    for c in &mut s.cases {
                        self.hand_on(&c.params, &mut c.entry);
                        if let Some(fall) = &mut c.fall {
                            self.hand_on(&c.params, fall);
                        }
                        self.test_items(&mut c.body, around);
                    }
                    around.pop();
                    for args in [&mut s.end_args, &mut s.none_args].into_iter().flatten() {
                        self.hand_on(&s.results, args);
                    }
                }
                Item::Depart(id, args) if *id != FUNCTION => {
                    let found = around.iter().rev().find(|r| r.0 == *id);
                    let results = found.map(|r| r.2.clone()).unwrap_or_default();
                    self.hand_on(&results, args);
                }
                Item::Repeat(id, args) => {
                    let found = around.iter().rev().find(|r| r.0 == *id);
                    let params = found.map(|r| r.1.clone()).unwrap_or_default();
                    self.hand_on(&params, args);
                }
                Item::Effect(_) | Item::Depart(..) => {}
            }
        }
    }

    /// Arguments of phis that hold truth values.
    fn hand_on(&mut self, phis: &[Value], args: &mut [Value]) {
        for (p, a) in phis.iter().zip(args) {
            if self.masks.contains(p)
                && let Some(t) = self.truth(*a)
            {
                *a = t;
            }
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
