//! Rewritings that keep the meaning: the interpreter says that they do, the optimiser's results agree,
//! and what they cost stays what it was, within bounds.

use std::path::{Path, PathBuf};

use tgsi::Program;
use tgsi_fuzz::{Effort, FailureKind, Setup, TestCase, Transform, check, program, seeded_bytes};
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_opt::{Level, optimize};

/// Instructions at -O2 of the programs as they were and as they were rewritten, summed up.
#[derive(Default)]
struct Growth {
    before: u32,
    after: u32,
    worst: u32,
    programs: u32,
}

fn grow(growth: &mut Growth, name: &str, original: &Program, t: Transform, seed: u64) {
    let Some(rewritten) = t.apply(original, &seeded_bytes(seed, 256)) else {
        return;
    };
    let effort = Effort {
        cases: 3,
        special_cases: 3,
        seed,
        again: false,
    };
    let options = EquivOptions {
        cases: effort.cases,
        special_cases: effort.special_cases,
        seed,
        ..EquivOptions::default()
    };
    let text = || tgsi::print(&rewritten, &tgsi::Dialect::mesa());
    let report = compare(original, &rewritten, &options);
    assert!(report.is_equal(), "{name} {t:?}: {report:?}\n{}", text());
    let setup = Setup::of_level(Level::O2, false);
    let case = TestCase {
        program: rewritten.clone(),
        setup: setup.clone(),
        effort,
    };
    let after = match check(&case) {
        Ok(found) => found.instructions.1,
        Err(f) if matches!(f.kind, FailureKind::Unsupported | FailureKind::Undefined) => return,
        Err(f) => panic!("{name} {t:?}: {:?} {}\n{}", f.kind, f.detail, text()),
    };
    let before = optimize(original, &setup.options()).after.instructions;
    growth.before += before;
    growth.after += after;
    growth.worst = growth.worst.max(after.saturating_sub(before));
    growth.programs += 1;
}

/// For each rewriting how many per cent the sums may grow by, and how many instructions a program. Packs
/// begin with the source's instructions, so split lanes must be found again, and some are not.
type Bounds = fn(Transform) -> (u32, u32);

/// The sums stay within their bounds, and so does each program.
fn bounded(of: &str, programs: &[(String, Program)], bounds: Bounds) {
    for (k, t) in Transform::ALL.into_iter().enumerate() {
        let mut growth = Growth::default();
        for (i, (name, program)) in programs.iter().enumerate() {
            grow(&mut growth, name, program, t, (i * 8 + k) as u64);
        }
        let Growth {
            before,
            after,
            worst,
            programs,
        } = growth;
        println!(
            "{of} {t:?}: {programs} programs, {before} instructions, {after} rewritten, at most {worst} more"
        );
        let (mean, most) = bounds(t);
        assert!(programs > 0, "{of} {t:?}: nothing to rewrite");
        assert!(
            after * 100 <= before * (100 + mean) && worst <= most,
            "{of} {t:?}: {before} instructions, {after} rewritten, at most {worst} more"
        );
    }
}

#[test]
fn generated_programs_cost_the_same_rewritten() {
    let programs: Vec<(String, Program)> = (0..60)
        .map(|seed| (format!("seed {seed}"), program(&seeded_bytes(seed, 512))))
        .collect();
    bounded("generated", &programs, |t| match t {
        Transform::Split => (16, 26),
        Transform::Join => (6, 9),
        _ => (1, 2),
    });
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "tgsi") {
            files.push(path);
        }
    }
}

#[test]
fn programs_of_the_corpus_cost_the_same_rewritten() {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    find(&root.join("../../tests/corpus"), &mut files);
    files.sort();
    let programs: Vec<(String, Program)> = files
        .iter()
        .filter_map(|f| {
            let text = std::fs::read_to_string(f).expect("readable");
            let program = tgsi::parse(&text).0;
            (program.insts.len() < 60).then(|| (f.display().to_string(), program))
        })
        .step_by(4)
        .collect();
    assert!(programs.len() > 10);
    bounded("corpus", &programs, |t| match t {
        Transform::Split => (6, 18),
        _ => (1, 2),
    });
}
