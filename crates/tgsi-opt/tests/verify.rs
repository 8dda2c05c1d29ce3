//! What `Options::verify` proves, refuses and reports.

mod common;

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_opt::{FallbackKind, Fault, Level, Options, Outcome, Profile, Stage, optimize};

use common::corpus;

fn parsed(text: &str) -> Program {
    tgsi::parse(text).0
}

fn options(level: Level, profile: Profile) -> Options {
    Options {
        level,
        profile,
        verify: Some(1),
        ..Options::default()
    }
}

fn is_straight(p: &Program) -> bool {
    use tgsi::Opcode::*;
    !p.insts
        .iter()
        .any(|i| matches!(i.op, If | Uif | Bgnloop | Switch | Cal | Ret))
}

#[test]
fn most_straight_programs_are_proved() {
    for level in [Level::O1, Level::O2] {
        let (mut all, mut proved) = (0, 0);
        for (path, program) in corpus() {
            let outcome = optimize(&program, &options(level, Profile::Strict));
            let Some(v) = &outcome.verification else {
                assert!(outcome.unchanged, "{}", path.display());
                continue;
            };
            assert!(v.exact && v.proved <= v.roots, "{v:?}");
            assert_eq!(v.open.is_none(), v.proved == v.roots, "{v:?}");
            if is_straight(&program) {
                all += 1;
                proved += u32::from(v.open.is_none());
            }
        }
        assert!(
            all > 30 && 10 * proved >= 8 * all,
            "{level:?}: {proved} of {all}"
        );
    }
}

/// A last instruction with a wrong sign, and constants with a wrong exponent.
#[test]
fn what_goes_wrong_is_never_proved() {
    let mut wrong = 0;
    for fault in [Fault::Stage(Stage::Merging), folding()] {
        for (path, program) in corpus() {
            let faulty = Options {
                sabotage: Some(fault),
                verify: None,
                ..options(Level::O1, Profile::Strict)
            };
            let result = optimize(&program, &faulty);
            let report = compare(
                &program,
                &result.program,
                &EquivOptions {
                    cases: 12,
                    special_cases: 4,
                    ..EquivOptions::default()
                },
            );
            if report.is_equal() {
                continue;
            }
            wrong += 1;
            let verified = optimize(
                &program,
                &Options {
                    verify: Some(16),
                    ..faulty
                },
            );
            let v = verified.verification.as_ref().expect("a verification");
            assert!(v.proved < v.roots, "{}: {v:?}", path.display());
        }
    }
    assert!(wrong > 50, "{wrong} faults showed");
}

/// Folding gives a constant with a wrong exponent.
fn folding() -> Fault {
    Fault::from_name("const-fold").expect("a fault")
}

const SUM: &str = "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL CONST[0]\nDCL TEMP[0..1]\n\
    IMM[0] FLT32 {2.0, 3.0, 0.0, 0.0}\nADD TEMP[0], IMM[0].xxxx, IMM[0].yyyy\nMUL TEMP[1], IN[0], TEMP[0]\n\
    MOV OUT[0], TEMP[1]\nEND\n";

fn refused(outcome: &Outcome, program: &Program) {
    let fallback = outcome.fallback.as_ref().expect("a fallback");
    assert_eq!(fallback.kind, FallbackKind::Unverified);
    assert_eq!(fallback.stage, "verify");
    assert!(outcome.unchanged);
    assert_eq!(&outcome.program, program);
}

#[test]
fn a_difference_returns_the_input() {
    let program = parsed(SUM);
    let right = optimize(&program, &options(Level::O2, Profile::Auto));
    let v = right.verification.expect("a verification");
    assert_eq!((v.roots, v.proved, v.open), (4, 4, None));
    assert!(v.exact && right.fallback.is_none());
    let wrong = Options {
        sabotage: Some(folding()),
        ..options(Level::O2, Profile::Auto)
    };
    let outcome = optimize(&program, &wrong);
    refused(&outcome, &program);
    let v = outcome.verification.expect("a verification");
    assert_eq!((v.roots, v.proved), (4, 0));
    assert_eq!(v.open.as_deref(), Some("OUT[0].x"));
}

#[test]
fn nothing_is_verified_unless_asked_for() {
    let program = parsed(SUM);
    assert!(
        optimize(&program, &Options::default())
            .verification
            .is_none()
    );
}

/// A division by a constant may be a product with a reciprocal that is rounded.
#[test]
fn bits_count_unless_an_inexact_contract_fired() {
    let division = SUM.replace(
        "MUL TEMP[1], IN[0], TEMP[0]\n",
        "DIV TEMP[1], IN[0], IMM[0].yyyy\nADD TEMP[1], TEMP[1], TEMP[0]\n",
    );
    let program = parsed(&division);
    for (profile, exact) in [(Profile::Strict, true), (Profile::Fast, false)] {
        let outcome = optimize(&program, &options(Level::O2, profile));
        let v = outcome.verification.as_ref().expect("a verification");
        let fired = outcome.rewriting.contract;
        assert_eq!(v.exact, exact, "{profile:?} {fired}");
        assert_eq!(v.cases, if exact { 2 } else { 1 });
    }
}
