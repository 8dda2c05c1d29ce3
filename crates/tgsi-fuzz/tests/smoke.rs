//! A few seconds of fuzzing with fixed seeds.

use tgsi::Severity;
use tgsi_fuzz::{
    Effort, FailureKind, Setup, TestCase, check, check_text, mutate_text, program, program_text,
    seeded_bytes, shrink,
};

/// Programs of the generator parse without an error.
#[test]
fn programs_are_well_formed() {
    for seed in 0..400 {
        let text = program_text(&seeded_bytes(seed, 4096));
        let (program, mut found) = tgsi::parse(&text);
        found.extend(tgsi::check(&program, Some(&text)));
        let error = found.iter().find(|d| d.severity == Severity::Error);
        assert!(error.is_none(), "seed {seed}: {error:?}\n{text}");
    }
}

/// Bytes that run out, or are all equal, give a program too.
#[test]
fn any_bytes_make_a_program() {
    for bytes in [&[][..], &[0; 64], &[0xff; 4096], &[1, 2, 3]] {
        assert!(program_text(bytes).contains("END"));
    }
}

/// The same seed gives the same program.
#[test]
fn programs_repeat() {
    assert_eq!(
        program_text(&seeded_bytes(7, 4096)),
        program_text(&seeded_bytes(7, 4096))
    );
}

#[test]
fn optimised_programs_are_right() {
    for seed in 0..100 {
        let program = program(&seeded_bytes(seed, 4096));
        for setup in Setup::choose(&seeded_bytes(!seed, 64)) {
            let effort = Effort {
                cases: 4,
                special_cases: 4,
                seed,
                again: false,
            };
            let case = TestCase {
                program: program.clone(),
                setup,
                effort,
            };
            if let Err(f) = check(&case) {
                let harmless = matches!(f.kind, FailureKind::Unsupported | FailureKind::Undefined);
                let text = tgsi::print(&program, &tgsi::Dialect::mesa());
                assert!(
                    harmless,
                    "seed {seed} {}: {:?}: {}\n{text}",
                    case.setup, f.kind, f.detail
                );
            }
        }
    }
}

#[test]
fn any_text_is_read_or_refused() {
    for seed in 0..1500 {
        let text = program_text(&seeded_bytes(seed % 50, 600));
        let text = mutate_text(&text, &seeded_bytes(seed, 256));
        if let Err(fault) = check_text(&text) {
            panic!("seed {seed}: {fault}");
        }
    }
}

/// What is left is what the predicate asks for, and not much more.
#[test]
fn shrinking_keeps_what_fails() {
    let program = program(&seeded_bytes(3, 4096));
    let has_end = |p: &tgsi::Program| p.insts.iter().any(|i| i.op == tgsi::Opcode::End);
    let small = shrink(&program, has_end);
    assert_eq!(small.insts.len(), 1);
    assert!(small.header.is_empty());
}
