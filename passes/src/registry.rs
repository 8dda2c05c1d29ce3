//! The table of passes and the wrapper that runs them.

use tgsi_ir::rewrite::PhiInputs;
use tgsi_ir::{Function, Item, MultiKind};

use crate::simplify::{ALL, Plan, rebuild_plan};
use crate::{
    PassCx, algebra, branch_test, const_fold, copy_prop, dce, dead_flow, dse, gvn, if_convert,
};

/// One pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Name on the command line and in statistics.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The pass; callers use [`run_pass`].
    pub run: fn(&Function, &PassCx) -> Option<Function>,
}

/// Every pass, in the order in which they make sense one after the other.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "const-fold",
        summary: "operations of constants become constants",
        run: const_fold::run,
    },
    Pass {
        name: "algebra",
        summary: "identities that hold bit for bit",
        run: algebra::run,
    },
    Pass {
        name: "copy-prop",
        summary: "phis of one value become that value",
        run: copy_prop::run,
    },
    Pass {
        name: "gvn",
        summary: "equal phis, and fetches computed before",
        run: gvn::run,
    },
    Pass {
        name: "dse",
        summary: "overwritten stores, and loads of what is known",
        run: dse::run,
    },
    Pass {
        name: "if-convert",
        summary: "small branches become selections",
        run: if_convert::run,
    },
    Pass {
        name: "branch-test",
        summary: "branches test what a comparison with zero tested",
        run: branch_test::run,
    },
    Pass {
        name: "dead-flow",
        summary: "decided branches and loops that run once",
        run: dead_flow::run,
    },
    Pass {
        name: "dce",
        summary: "values that nothing observable needs",
        run: dce::run,
    },
    Pass {
        name: "clean",
        summary: "all of the above until nothing changes",
        run: clean_rounds,
    },
];

/// The pass of that name.
pub fn pass_named(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

/// Runs a pass by name: `None` if it found nothing, or if there is no such pass.
pub fn run_pass(name: &str, func: &Function, cx: &PassCx) -> Option<Function> {
    let pass = pass_named(name)?;
    let new = (pass.run)(func, cx);
    if cfg!(debug_assertions) || cx.verify {
        check(pass, new.as_ref().unwrap_or(func), cx);
    }
    new
}

/// Notes what the verifier finds.
fn check(pass: &Pass, func: &Function, cx: &PassCx) {
    for violation in tgsi_ir::verify(func) {
        cx.faults
            .borrow_mut()
            .push(format!("{}: {violation}", pass.name));
    }
}

/// All exact cleaning until nothing changes; the entry that pipelines use.
pub fn clean(func: &Function, cx: &PassCx) -> Option<Function> {
    run_pass("clean", func, cx)
}

/// Most rounds of [`clean`]. Two do for nearly every program.
const ROUNDS: u32 = 6;

fn clean_rounds(func: &Function, cx: &PassCx) -> Option<Function> {
    let before = cx.rewrites.get();
    let traits = Traits::of(func);
    let mut current: Option<Function> = None;
    let mut flow = false;
    for round in 0..ROUNDS {
        let f = current.as_ref().unwrap_or(func);
        let mut plan = Plan::default();
        let phis = PhiInputs::collect(f);
        if traits.regions {
            copy_prop::find(f, cx, &phis, &mut plan.edits);
            // The first round still has phis that nothing reads.
            if round > 0 {
                gvn::find_phis(f, cx, &phis, &mut plan);
                if_convert::find(f, cx, &phis, &mut plan);
            }
        }
        if traits.fetches {
            gvn::find_fetches(f, cx, &mut plan);
        }
        if traits.memory {
            dse::find(f, cx, &mut plan);
        }
        if round > 0 && plan.is_empty() && !flow {
            break;
        }
        flow = false;
        let mut next = rebuild_plan(f, &plan, &phis, cx, ALL);
        if (traits.regions || traits.effects)
            && let Some(n) = dead_flow::run(&next, cx)
        {
            next = n;
            flow = true;
        }
        if traits.regions
            && let Some(n) = branch_test::run(&next, cx)
        {
            next = n;
            flow = true;
        }
        current = Some(next);
    }
    let new = current?;
    (cx.rewrites.get() != before || new.values.len() < func.values.len()).then_some(new)
}

/// What a function has, so that passes with nothing to work on are skipped.
struct Traits {
    /// Branches, loops or switches.
    regions: bool,
    /// Items that are effects.
    effects: bool,
    /// Operations with several results, at least two.
    fetches: bool,
    /// Indexed arrays or outputs used as memory.
    memory: bool,
}

impl Traits {
    fn of(func: &Function) -> Traits {
        Traits {
            regions: func
                .body
                .items
                .iter()
                .any(|i| !matches!(i, Item::Effect(_))),
            effects: !func.body.items.is_empty(),
            fetches: func.multis.len() > 1,
            memory: func
                .multis
                .iter()
                .any(|m| matches!(m.kind, MultiKind::Load | MultiKind::Store)),
        }
    }
}
