//! Faults made on purpose: reduced to a few instructions, and found by name.

use std::path::Path;

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_opt::{Culprit, Fault, Level, Options, Outcome, Profile, Stage, bisect, optimize};
use tgsi_reduce::{Reduced, reduce};

fn corpus(name: &str) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let text = std::fs::read_to_string(folder.join(name)).expect("a program of the corpus");
    tgsi::parse(&text).0
}

fn options(fault: &str) -> Options {
    Options {
        level: Level::O1,
        profile: Profile::Strict,
        sabotage: Some(Fault::from_name(fault).expect("a fault of that name")),
        ..Options::default()
    }
}

fn is_right(input: &Program, outcome: &Outcome) -> bool {
    let options = EquivOptions {
        cases: 4,
        special_cases: 0,
        ..EquivOptions::default()
    };
    compare(input, &outcome.program, &options).is_equal()
}

/// Instructions, END left out.
fn len(program: &Program) -> usize {
    program.insts.len() - 1
}

/// Reduces a program of the corpus while the fault spoils its result, then looks for the fault in
/// the whole program and in what is left.
#[track_caller]
fn found(name: &str, fault: &str) -> (Reduced, [Option<Culprit>; 2]) {
    let program = corpus(name);
    assert!(len(&program) >= 100);
    let options = options(fault);
    let small = reduce(&program, None, |p| !is_right(p, &optimize(p, &options)));
    let text = tgsi::print(&small.program, &tgsi::Dialect::mesa());
    println!(
        "{name}, {fault}: {} -> {} instructions, {} calls\n{text}",
        len(&program),
        len(&small.program),
        small.calls
    );
    assert!(len(&small.program) <= 8, "{text}");
    let culprits = [&program, &small.program].map(|p| {
        let found = bisect(p, &options, &mut |outcome| is_right(p, outcome));
        println!("{} results: {:?}", found.calls, found.culprit);
        found.culprit
    });
    (small, culprits)
}

/// The pass, the rule and the instruction of the input that a bisection names.
fn named(culprit: Option<Culprit>) -> (&'static str, Option<&'static str>, Option<u32>) {
    match culprit {
        Some(Culprit::Rewrite {
            rewrite: Some(r), ..
        }) => (r.pass, r.rule, r.instruction),
        Some(Culprit::Rule { rule, .. }) => ("egraph", Some(rule), None),
        _ => ("", None, None),
    }
}

#[test]
fn a_wrong_constant() {
    let (small, culprits) = found("marble_wood.frag.tgsi", "const-fold");
    assert!(small.calls < 1000 && !small.exhausted);
    for culprit in culprits {
        let (pass, rule, at) = named(culprit);
        assert_eq!((pass, rule), ("const-fold", None));
        assert!(at.is_some());
    }
}

#[test]
fn a_wrong_identity() {
    let (_, culprits) = found("raymarch.frag.tgsi", "algebra");
    for culprit in culprits {
        assert_eq!(named(culprit).0, "algebra");
    }
}

#[test]
fn a_wrong_rule() {
    let (_, culprits) = found("float_bits.frag.tgsi", "div-power-of-two");
    for culprit in culprits {
        let (pass, rule, _) = named(culprit);
        assert_eq!((pass, rule), ("egraph", Some("div-power-of-two")));
    }
}

#[test]
fn a_wrong_stage() {
    let program = corpus("marble_wood.frag.tgsi");
    for stage in [Stage::Merging, Stage::Mixing, Stage::ExactSearch] {
        let options = Options {
            level: Level::O2,
            ..options(stage.name())
        };
        let found = bisect(&program, &options, &mut |o| is_right(&program, o));
        assert_eq!(found.culprit, Some(Culprit::Stage(stage)));
    }
}
