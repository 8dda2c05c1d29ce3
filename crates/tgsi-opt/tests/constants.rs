//! Packed constants: uploaded by the table, the program computes what it did.

use std::path::Path;

use tgsi::{File, Program, parse};
use tgsi_interp::{CaseStyle, Inputs, RunOptions, run};
use tgsi_opt::{ConstantMove, Level, Options, Outcome, optimize};
use tgsi_target::{Constants, Target, pack_constants};

fn program(text: &str) -> Program {
    let (program, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program
}

/// Inputs with the constants where the table says, and other words wherever it says nothing.
fn moved(inputs: &Inputs, moves: &[ConstantMove]) -> Inputs {
    let number = |n: u32| i32::try_from(n).expect("a register");
    let mut result = inputs.clone();
    for n in 0..256 {
        result.set(File::Const, None, n, [0x7fc0_dead; 4]);
    }
    for m in moves {
        let (from, to) = (number(m.from.0), number(m.to.0));
        let words = inputs.get(File::Const, None, from).map_or([0; 4], |l| l[0]);
        let mut new = result.get(File::Const, None, to).map_or([0; 4], |l| l[0]);
        new[usize::from(m.to.1)] = words[usize::from(m.from.1)];
        result.set(File::Const, None, to, new);
    }
    result
}

#[test]
fn packed_programs_compute_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut packed = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|e| e != "tgsi") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let (program, _) = parse(&text);
        let Some((result, moves)) = pack_constants(&program) else {
            continue;
        };
        packed += 1;
        let (printed, diagnostics) = parse(&tgsi::print(&result, &tgsi::Dialect::mesa()));
        assert!(
            diagnostics.is_empty(),
            "{}: {diagnostics:?}",
            path.display()
        );
        let errors = tgsi::check(&printed, None);
        assert!(
            errors.len() <= tgsi::check(&program, None).len(),
            "{}: {errors:?}",
            path.display()
        );
        let styles = [
            CaseStyle::Ordinary,
            CaseStyle::SmallInts,
            CaseStyle::Special,
        ];
        for (seed, style) in (0..).zip(styles.into_iter().cycle().take(24)) {
            let inputs = Inputs::random(&program, seed, style);
            let options = RunOptions::default();
            let a = run(&program, &inputs, &options);
            let mut b = run(&printed, &moved(&inputs, &moves), &options);
            // Words that nothing reads may raise it.
            b.flags.free_nan = a.flags.free_nan;
            assert_eq!(a, b, "{}, seed {seed}, {style:?}", path.display());
        }
    }
    assert!(packed >= 10, "{packed} programs were packed");
}

/// Four scalars in four registers, and a vector.
const TEXT: &str = "\
FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL CONST[0..5]
DCL TEMP[0]
  0: MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx
  1: MUL TEMP[0].y, IN[0].yyyy, CONST[1].xxxx
  2: MUL TEMP[0].z, IN[0].zzzz, CONST[2].xxxx
  3: MUL TEMP[0].w, IN[0].wwww, CONST[3].xxxx
  4: MAX OUT[0], TEMP[0], CONST[5]
  5: END
";

fn outcome(constants: Constants, limit: u32, asked: bool, level: Level) -> Outcome {
    let mut target = Target {
        constants,
        ..Target::default()
    };
    target.limits.constants = Some(limit);
    let options = Options {
        level,
        target,
        pack_constants: asked,
        ..Options::default()
    };
    optimize(&program(TEXT), &options)
}

#[test]
fn constants_are_packed_when_asked_or_to_fit() {
    let moved = |constants, limit, asked| {
        let outcome = outcome(constants, limit, asked, Level::O2);
        assert_eq!(
            outcome.after.constants,
            if outcome.constants.is_empty() { 6 } else { 2 }
        );
        outcome.constants.len()
    };
    assert_eq!(moved(Constants::Declared, 100, false), 0);
    assert_eq!(moved(Constants::Declared, 100, true), 8);
    assert_eq!(moved(Constants::Named, 5, false), 0);
    assert_eq!(moved(Constants::Named, 4, false), 8);
    assert_eq!(moved(Constants::NamedAndImmediates, 2, false), 8);
    // It would not do.
    assert_eq!(moved(Constants::Named, 1, false), 0);
    assert_eq!(moved(Constants::Named, 1, true), 8);
}

#[test]
fn reprinting_packs_on_demand_only() {
    let plain = outcome(Constants::Named, 5, false, Level::O0);
    assert!(plain.unchanged && plain.constants.is_empty());
    let asked = outcome(Constants::Named, 5, true, Level::O0);
    assert!(!asked.unchanged);
    assert_eq!(
        asked.constants[3],
        ConstantMove {
            from: (3, 0),
            to: (1, 3)
        }
    );
}
