//! Whatever heuristics say, what is made has to be right: chance decides in their place.

mod common;

use std::path::Path;

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_opt::{Contract, Level, Options, Outcome, Profile, optimize};
use tgsi_target::{Cost, Target, count, count_result};

use common::corpus;

fn options(level: Level, target: &str, seed: u64) -> Options {
    Options {
        level,
        target: Target::by_name(target).expect("a target").clone(),
        profile: Profile::Strict,
        chaos: Some(seed),
        check_regalloc: true,
        verify_each: true,
        ..Options::default()
    }
}

fn errors(p: &Program) -> usize {
    tgsi::check(p, None)
        .iter()
        .filter(|d| d.severity == tgsi::Severity::Error)
        .count()
}

fn right(name: &Path, program: &Program, options: &Options, outcome: &Outcome) {
    let at = || format!("{} {:?} {:?}", name.display(), options.level, options.chaos);
    if let Some(f) = &outcome.fallback {
        assert_eq!(
            f.kind,
            tgsi_opt::FallbackKind::Unsupported,
            "{}: {}: {}",
            at(),
            f.stage,
            f.reason
        );
    }
    let result = &outcome.program;
    // What a target lacks is computed otherwise, from quotients by zero to last bits: bits count for the
    // targets that lack nothing.
    let contract = outcome.rewriting.contract;
    let exact = contract.without(Contract::CONTRACT).is_exact();
    let report = compare(
        program,
        result,
        &EquivOptions {
            cases: if exact { 6 } else { 0 },
            special_cases: if exact { 2 } else { 0 },
            ..EquivOptions::default()
        },
    );
    assert!(exact || options.target.name == "r500-fs", "{}", at());
    assert!(report.is_equal(), "{}: {:?}", at(), report.mismatches);
    let (before, after) = (count(program), count_result(result, program));
    assert!(
        Cost::of(result, &after, &options.target) <= Cost::of(program, &before, &options.target),
        "{}: worse than the input",
        at()
    );
    assert!(errors(result) <= errors(program), "{}", at());
    if options.target.virgl {
        let introduced = tgsi_target::virgl_introduces(program, result);
        assert!(introduced.is_empty(), "{}: {introduced:?}", at());
    }
}

/// How many seeds each program sees at each level and target.
fn seeds() -> u64 {
    let asked = std::env::var("TGSI_CHAOS").ok();
    asked.map_or(2, |n| n.parse().expect("TGSI_CHAOS is a number"))
}

#[test]
fn results_stay_right_and_legal() {
    let (mut other, mut all) = (0, 0);
    for (n, (path, program)) in corpus().into_iter().enumerate() {
        let kinds = [
            (Level::O1, "generic"),
            (Level::O1, "virgl"),
            (Level::O2, "generic"),
            (Level::O2, "r500-fs"),
        ];
        for k in 0..kinds.len() as u64 * seeds() {
            let (level, target) = kinds[k as usize % kinds.len()];
            let options = options(level, target, n as u64 + 1000 * k);
            let outcome = optimize(&program, &options);
            right(&path, &program, &options, &outcome);
            let orderly = Options {
                chaos: None,
                ..options
            };
            all += 1;
            other += u32::from(optimize(&program, &orderly).program != outcome.program);
        }
    }
    assert!(2 * other > all, "{other} of {all} results are different");
}

#[test]
fn seeds_decide_alike_each_time_and_differ() {
    let programs = corpus();
    let mut kinds = 0;
    for (path, program) in programs.iter().filter(|p| p.1.insts.len() > 20).take(12) {
        let result = |seed| optimize(program, &options(Level::O1, "generic", seed)).program;
        let first: Vec<Program> = (0..4).map(result).collect();
        let second: Vec<Program> = (0..4).map(result).collect();
        assert_eq!(first, second, "{}", path.display());
        kinds += usize::from(first.iter().any(|p| *p != first[0]));
    }
    assert!(kinds >= 8, "seeds matter in {kinds} programs");
}

#[test]
fn the_search_is_right_under_any_choice() {
    let programs = corpus();
    let small = programs
        .iter()
        .filter(|p| (5..60).contains(&p.1.insts.len()));
    for (n, (path, program)) in small.step_by(5).enumerate() {
        let options = options(Level::O3, "generic", n as u64);
        right(path, program, &options, &optimize(program, &options));
    }
}
