//! Small blocks of shaders: what becomes of each, as the table in `docs/blocks.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, Tolerance, compare};
use tgsi_opt::{Level, Options, Outcome, optimize};

const INTRODUCTION: &str = "\
# Blocks

<!-- Written by `UPDATE_EXPECT=1 cargo test -p tgsi-opt --test blocks` from tests/blocks. -->

Small blocks that shaders are made of, written the way a simple translator would, and the number of instructions at each level, `END` left
out. `bound` is the number below which no packing of what `-O3` computes comes (`instructions_bound` in `--stats=json`): where it equals the column before
it, only other operations could save more.

| block | what | `-O0` | `-O1` | `-O2` | `-O3` | bound |
|---|---|---|---|---|---|---|
";

/// The programs with the sentence at their head, by name.
fn programs() -> Vec<(String, String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/blocks");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of blocks")
        .map(|e| e.expect("an entry").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let what = text.lines().next().and_then(|l| l.strip_prefix("; "));
        let what = what.expect("a sentence at the head").to_owned();
        let (program, diagnostics) = tgsi::parse(&text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
        (name, what, program)
    };
    paths.into_iter().map(read).collect()
}

/// The outcomes at -O0 to -O3.
fn outcomes(program: &Program) -> [Outcome; 4] {
    [Level::O0, Level::O1, Level::O2, Level::O3].map(|level| {
        let options = Options {
            level,
            ..Options::default()
        };
        optimize(program, &options)
    })
}

#[test]
fn what_becomes_of_blocks() {
    let mut table = INTRODUCTION.to_owned();
    let mut sums = [0u32; 5];
    let options = EquivOptions {
        // What the default profile grants does not hold for infinities and NaN.
        special_cases: 0,
        tolerance: Tolerance::Relative {
            rel: 1e-3,
            abs: 1e-4,
        },
        ..EquivOptions::default()
    };
    for (name, what, program) in programs() {
        let outcomes = outcomes(&program);
        for o in &outcomes {
            assert_eq!(o.fallback, None, "{name}");
            let report = compare(&program, &o.program, &options);
            assert!(report.is_equal(), "{name}: {:?}", report.mismatches);
        }
        let [.., best] = &outcomes;
        // The bound is of what the result computes; an input that comes back has none.
        let bound = best.instructions_bound.unwrap_or(best.after.instructions);
        assert!(bound <= best.after.instructions, "{name}");
        let counts = outcomes.each_ref().map(|o| o.after.instructions);
        let [a, b, c, d] = counts;
        for (sum, n) in sums.iter_mut().zip([a, b, c, d, bound]) {
            *sum += n;
        }
        // A write to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{name}` | {what} | {a} | {b} | {c} | {d} | {bound} |"
        );
    }
    let [a, b, c, d, bound] = sums;
    let _ = writeln!(table, "| all | | {a} | {b} | {c} | {d} | {bound} |");
    expect_file!["../../../docs/blocks.md"].assert_eq(&table);
}
