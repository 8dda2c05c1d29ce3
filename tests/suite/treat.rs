//! What every optimisation in a test goes through, whatever it was meant to show.

use std::thread;

use tgsi::{File, Item, Program};
use tgsi_opt::{Contract, FallbackKind, Level, Options, Outcome, Profile};
use tgsi_target::{Cost, count, count_result, virgl_introduces};

use crate::{
    Check,
    oracle::{self, Closeness},
    text,
};

/// All treatments of one outcome.
pub(crate) fn all(
    input: &Program,
    outcome: &Outcome,
    options: &Options,
    closeness: Closeness,
) -> Check {
    form(input, outcome, options)?;
    same_meaning(input, outcome, options, closeness)
}

/// All treatments but for the meaning.
pub(crate) fn form(input: &Program, outcome: &Outcome, options: &Options) -> Check {
    no_refused_result(outcome)?;
    counts_are_true(input, outcome)?;
    text::reparses(&outcome.program)?;
    interface_kept(input, &outcome.program)?;
    no_new_finding(input, &outcome.program, options)?;
    same_on_threads(input, outcome, options)?;
    if options.passes.is_none() {
        never_worse(input, outcome, options)?;
        idempotent(input, outcome, options)?;
    }
    Ok(())
}

/// The result computes what the input computes. Rules that use liberties with floats promise
/// ordinary numbers but for rounding; there the same is asked, word for word, of a result that uses
/// none.
pub(crate) fn same_meaning(
    input: &Program,
    outcome: &Outcome,
    options: &Options,
    closeness: Closeness,
) -> Check {
    // The interpreter rounds the product in a MAD: fusing changes no bit of it.
    let liberties = outcome.rewriting.contract.without(Contract::CONTRACT);
    if liberties.is_exact() {
        return oracle::same_meaning(input, &outcome.program, closeness);
    }
    oracle::same_meaning(input, &outcome.program, Closeness::Ordinary)?;
    // What the target forces is no liberty that could be refused.
    if !options.consumer().not_taken(input).is_empty() {
        return Ok(());
    }
    let strict = Options {
        profile: Profile::Strict,
        ..options.clone()
    };
    let outcome = tgsi_opt::optimize(input, &strict);
    oracle::same_meaning(input, &outcome.program, closeness).map_err(|e| {
        let result = text::print(&outcome.program);
        format!("without liberties: {e}\nresult without liberties:\n{result}")
    })
}

/// Rewrites that may happen before the fuel runs out, in the trials of [`under_fuel`].
const FUEL: [u64; 4] = [0, 1, 4, 16];

/// Wherever the rewriting is stopped, the result is right and no worse than the input.
pub(crate) fn under_fuel(input: &Program, options: &Options, closeness: Closeness) -> Check {
    for fuel in FUEL {
        let options = Options {
            fuel: Some(fuel),
            ..options.clone()
        };
        let outcome = tgsi_opt::optimize(input, &options);
        never_worse(input, &outcome, &options)
            .and_then(|()| same_meaning(input, &outcome, &options, closeness))
            .map_err(|e| {
                format!(
                    "with fuel {fuel}: {e}\nresult:\n{}",
                    text::print(&outcome.program)
                )
            })?;
    }
    Ok(())
}

/// The optimiser's own check refused nothing.
fn no_refused_result(outcome: &Outcome) -> Check {
    match &outcome.fallback {
        Some(f) if f.kind == FallbackKind::Unverified => Err(format!(
            "{} made a result that was refused: {}",
            f.stage, f.reason
        )),
        _ => Ok(()),
    }
}

fn counts_are_true(input: &Program, outcome: &Outcome) -> Check {
    let before = ("before", outcome.before, count(input));
    let after = (
        "after",
        outcome.after,
        count_result(&outcome.program, input),
    );
    for (name, told, found) in [before, after] {
        if told != found {
            return Err(format!(
                "the outcome says {name} {told:?}, which is {found:?}"
            ));
        }
    }
    Ok(())
}

/// What the program shares with its driver: properties and declarations, their order included.
fn interface_kept(input: &Program, output: &Program) -> Check {
    let interface = |p: &Program| -> Vec<Item> {
        let shared = |item: &&Item| match item {
            Item::Property(_) => true,
            Item::Decl(d) => !matches!(d.file, File::Temp | File::Addr | File::Pred | File::Loop),
            Item::Imm(_) => false,
        };
        p.header.iter().filter(shared).cloned().collect()
    };
    let (before, after) = (interface(input), interface(output));
    let odd = before
        .iter()
        .find(|i| !after.contains(i))
        .or(after.iter().find(|i| !before.contains(i)));
    match odd {
        Some(item) => Err(format!("the interface changed at {item:?}")),
        None if before != after => Err("the interface changed its order".into()),
        None => Ok(()),
    }
}

fn no_new_finding(input: &Program, output: &Program, options: &Options) -> Check {
    let mut found = text::new_findings(input, output, options.target.virgl);
    if options.target.virgl {
        found.extend(virgl_introduces(input, output));
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "the result breaks rules that the input keeps:\n{}",
            found.join("\n")
        ))
    }
}

/// One thread and four at a time give the same text.
fn same_on_threads(input: &Program, outcome: &Outcome, options: &Options) -> Check {
    let text = text::print(&outcome.program);
    let same = |()| text::print(&tgsi_opt::optimize(input, options).program) == text;
    let all_same = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| same(()))).collect();
        workers.into_iter().all(|w| w.join().unwrap_or(false))
    });
    if all_same {
        Ok(())
    } else {
        Err("another run, on four threads, gives another text".into())
    }
}

fn never_worse(input: &Program, outcome: &Outcome, options: &Options) -> Check {
    let before = Cost::of(input, &count(input), &options.consumer());
    let after = cost(&outcome.program, input, options);
    if after <= before {
        Ok(())
    } else {
        Err(format!("the result is worse: {after:?} after {before:?}"))
    }
}

fn idempotent(input: &Program, outcome: &Outcome, options: &Options) -> Check {
    let once = cost(&outcome.program, input, options);
    let again = tgsi_opt::optimize(&outcome.program, options);
    let twice = cost(&again.program, input, options);
    // A single round may leave something for the next; it never makes things worse.
    let one_round = options.level < Level::O2;
    if once == twice || one_round && twice < once {
        return Ok(());
    }
    let text = text::print(&again.program);
    Err(format!(
        "a second run changes the cost: {twice:?} after {once:?}\nsecond result:\n{text}"
    ))
}

fn cost(result: &Program, input: &Program, options: &Options) -> Cost {
    Cost::of(result, &count_result(result, input), &options.consumer())
}
