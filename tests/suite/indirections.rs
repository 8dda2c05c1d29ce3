//! Texture indirections: where a target limits them, results have as few as their certificate says,
//! or as many as the target has where only so they have registers enough.

use std::{fs, path::Path};

use libtest_mimic::Trial;
use tgsi::{Program, Stage};
use tgsi_opt::Options;
use tgsi_target::{IndirectionModel, Target, certificate, indirections};

use crate::{Check, files, root, shared, text, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let own = root().join("tests/corpus");
    let mut trials = vec![trial("indirections/corpus".into(), move || all(&own))];
    if let Some(corpus) = shared::corpus() {
        let all = trial("shared/indirections".into(), move || all(&corpus));
        trials.push(all.with_ignored_flag(true));
    }
    trials
}

/// Targets with a limit of texture indirections that have no control flow.
fn limited() -> impl Iterator<Item = &'static Target> {
    Target::all().filter(|t| t.limits.indirections.is_some_and(|n| n < 100))
}

fn all(folder: &Path) -> Check {
    let mut failed = Vec::new();
    let (mut checked, mut further) = (0, 0);
    for path in files(folder, "tgsi") {
        let source = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let Ok(program) = text::parse(&source) else {
            continue;
        };
        if program.stage != Stage::Frag || flows(&program) {
            continue;
        }
        for target in limited() {
            let options = Options {
                target: target.clone(),
                ..Options::default()
            };
            let outcome = tgsi_opt::optimize(&program, &options);
            let of = |model| indirections(&outcome.program, model);
            // A fetch into an output starts a phase of i915 whatever the order.
            let own = match target.indirection_model {
                IndirectionModel::I915Phase => 0,
                model => of(model),
            };
            let found = own.max(of(IndirectionModel::Arb));
            let least = certificate(&outcome.program).indirections;
            if !target.fits(&outcome.program, &outcome.after) {
                continue;
            }
            checked += 1;
            if found == least {
                continue;
            }
            if target.limits.indirections.is_some_and(|n| found <= n) {
                further += 1;
            } else {
                failed.push(format!(
                    "{} for {}: {found} indirections, {least} by the certificate",
                    path.display(),
                    target.name
                ));
            }
        }
    }
    println!(
        "{checked} results that fit, {} by the certificate, {further} with more nodes for registers",
        checked - further - failed.len()
    );
    if failed.is_empty() && checked > 0 && 100 * further <= checked {
        return Ok(());
    }
    let count = failed.len();
    failed.truncate(20);
    Err(format!(
        "{count} of {checked} differ, among them\n{}",
        failed.join("\n")
    ))
}

fn flows(program: &Program) -> bool {
    tgsi_target::count(program).flow > 0
}
