//! The table of passes and the wrapper that runs them.

use std::borrow::Cow;

use tgsi_ir::rewrite::{Edits, PhiInputs, liveness_with};
use tgsi_ir::{Function, Item, MultiKind, VOp, Value, ix};

use crate::facts::Uses;
use crate::simplify::{ALL, Plan, rebuild_plan};
use crate::{
    PassCx, algebra, branch_test, const_fold, copy_prop, dce, dead_flow, dse, egraph, gvn,
    if_convert, legalize, mad_fuse, unroll,
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
        name: "unroll",
        summary: "loops of a constant number of iterations, where that saves instructions",
        run: unroll::run,
    },
    Pass {
        name: "dce",
        summary: "values that nothing observable needs",
        run: dce::run,
    },
    Pass {
        name: "mad-fuse",
        summary: "sums of products nothing else reads become multiply-adds (a contraction; not in clean)",
        run: mad_fuse::run,
    },
    Pass {
        name: "egraph",
        summary: "rewrite rules under float contracts, the cheapest of equal values (not in clean)",
        run: egraph::run,
    },
    Pass {
        name: "legalize",
        summary: "what the target does not take in terms of what it has (not in clean)",
        run: legalize::run,
    },
    Pass {
        name: "clean",
        summary: "everything exact above until nothing changes",
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

/// Most rounds of [`clean`] before loops are unrolled, and again after. Two do for nearly every program.
const ROUNDS: u32 = 6;

fn clean_rounds(func: &Function, cx: &PassCx) -> Option<Function> {
    let before = cx.rewrites.get();
    let mut current = settled(func, cx);
    if let Some(next) = unroll::settle(current.as_ref().unwrap_or(func), cx) {
        current = Some(next);
    }
    let new = current?;
    (cx.rewrites.get() != before || dce::has_work(func)).then_some(new)
}

/// Everything exact but unrolling, until nothing changes.
pub(crate) fn settled(func: &Function, cx: &PassCx) -> Option<Function> {
    let traits = Traits::of(func);
    let mut current: Option<Function> = None;
    let mut flow = false;
    for round in 0..ROUNDS {
        let f = current.as_ref().unwrap_or(func);
        let mut plan = Plan::default();
        let phis = PhiInputs::collect(f);
        if traits.regions {
            let uses = Uses::default();
            let order = if round == 0 {
                wanted_phis(f, &phis)
            } else {
                Cow::Borrowed(&phis.order[..])
            };
            copy_prop::find(f, cx, &phis, &order, &uses, &mut plan.edits);
            // The first round still has phis that nothing reads.
            if round > 0 {
                gvn::find_phis(f, cx, &phis, &mut plan);
                if_convert::find(f, cx, &phis, uses, &mut plan);
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
        if traits.regions || traits.effects {
            (next, flow) = dead_flow::run_owned(next, cx);
        }
        if traits.regions {
            let tests;
            (next, tests) = branch_test::run_owned(next, cx);
            flow |= tests;
        }
        current = Some(next);
    }
    current
}

/// From how many phis on a lifted function is searched for those that nothing reads.
const MANY_PHIS: usize = 256;

/// The phis that a result may depend on, in order: lifting makes one for every channel written in a
/// region. What fetches and loads read counts, since one that is not needed may replace its twin.
fn wanted_phis<'a>(f: &Function, phis: &'a PhiInputs) -> Cow<'a, [Value]> {
    if phis.order.len() < MANY_PHIS {
        return Cow::Borrowed(&phis.order);
    }
    let placed = f
        .values
        .iter()
        .filter(|(_, d)| matches!(d.op, VOp::Multi(_) | VOp::Proj(_)))
        .map(|(v, _)| v)
        .collect();
    let live = liveness_with(f, &Edits::default(), phis, placed).live;
    let wanted = phis.order.iter().copied().filter(|&p| live[ix(p)]);
    Cow::Owned(wanted.collect())
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::lifted;

    const HEADINGS: [&str; 7] = [
        "What",
        "Why",
        "Algorithm",
        "Preserves",
        "Limits",
        "Cost",
        "Tests",
    ];
    /// Files that are no pass.
    const HELPERS: [&str; 8] = [
        "lib", "cx", "facts", "memory", "registry", "rules", "simplify", "testing",
    ];

    #[test]
    fn every_file_is_a_pass_with_its_headings() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).expect("the source folder").flatten() {
            let name = entry
                .file_name()
                .to_string_lossy()
                .trim_end_matches(".rs")
                .to_owned();
            if HELPERS.contains(&name.as_str()) || entry.path().is_dir() {
                continue;
            }
            seen += 1;
            assert!(
                pass_named(&name.replace('_', "-")).is_some(),
                "{name} is not registered"
            );
            let text = std::fs::read_to_string(entry.path()).expect("a readable file");
            let found: Vec<&str> = text
                .lines()
                .filter_map(|l| l.strip_prefix("//! # "))
                .collect();
            assert_eq!(found, HEADINGS, "{name}");
        }
        assert_eq!(seen + 1, PASSES.len());
    }

    #[test]
    fn without_fuel_nothing_is_rewritten() {
        let text = "ADD TEMP[0].x, IMM[0].yyyy, IMM[0].wwww\nUIF IN[0].xxxx\nMOV TEMP[1].x, TEMP[0].xxxx\nELSE\n\
                    MOV TEMP[1].x, IN[1].xxxx\nENDIF\nMAD OUT[0].x, TEMP[1].xxxx, IMM[0].yyyy, TEMP[0].xxxx";
        let f = lifted(text);
        for pass in PASSES {
            let cx = PassCx::default();
            cx.fuel.set(Some(0));
            let new = run_pass(pass.name, &f, &cx);
            assert!(new.is_none() || pass.name == "clean", "{}", pass.name);
            assert_eq!(cx.rewrites.get(), 0);
        }
    }

    #[test]
    fn each_drop_of_fuel_is_one_rewrite() {
        let f = lifted(
            "ADD TEMP[0].x, IMM[0].yyyy, IMM[0].wwww\nMAD OUT[0].x, IN[0].xxxx, IMM[0].yyyy, TEMP[0].xxxx",
        );
        for fuel in 0..2 {
            let cx = PassCx::default();
            cx.fuel.set(Some(fuel));
            run_pass("clean", &f, &cx);
            assert_eq!(cx.rewrites.get(), fuel);
        }
    }

    #[test]
    fn clean_finds_nothing_twice() {
        let cx = PassCx::default();
        let f = lifted(
            "UIF IN[0].xxxx\nADD TEMP[0].x, IN[1].xxxx, IN[1].yyyy\nENDIF\nMUL OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy",
        );
        let once = clean(&f, &cx).expect("there is something to clean");
        assert!(clean(&once, &cx).is_none());
    }

    #[test]
    fn an_unknown_name_is_no_pass() {
        assert!(
            run_pass(
                "no-such-pass",
                &lifted("MOV OUT[0].x, IN[0].xxxx"),
                &PassCx::default()
            )
            .is_none()
        );
    }
}
