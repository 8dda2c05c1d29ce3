//! The interpreter as judge of meaning.

use std::fmt::Write as _;

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, EquivReport, Tolerance, compare};

use crate::Check;

/// How close results must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Closeness {
    /// Every word bit for bit.
    #[default]
    Exact,
    /// Floats may round differently.
    Close,
    /// Floats may round differently, and infinities and NaNs do not count.
    Ordinary,
}

/// Both programs compute the same on seeded inputs, corner values among them.
pub(crate) fn same_meaning(before: &Program, after: &Program, closeness: Closeness) -> Check {
    if before == after {
        return Ok(());
    }
    let mut report = compare(before, after, &options(closeness));
    if closeness == Closeness::Ordinary {
        // Numbers so small that their reciprocals are infinite are among the ordinary ones.
        report.mismatches.retain(|m| is_ordinary(m.a));
        if report.mismatches.is_empty() && report.mismatch_count <= MOST {
            return Ok(());
        }
        report.mismatches.truncate(DESCRIBED);
    }
    if report.is_equal() {
        return Ok(());
    }
    let mut text = format!("{} words differ:", report.mismatch_count);
    for m in &report.mismatches {
        let channel = ["x", "y", "z", "w"]
            .get(usize::from(m.chan))
            .unwrap_or(&"?");
        let after = m.b.map_or("undefined".to_owned(), word);
        let _ = write!(
            text,
            "\n  case {} {:?} seed {:#x}: {} lane {} .{channel}: {} became {after}",
            m.case,
            m.style,
            m.seed,
            m.what,
            m.lane,
            word(m.a)
        );
    }
    Err(text)
}

/// Whether a word is no infinity and no NaN, or a mask.
fn is_ordinary(w: u32) -> bool {
    f32::from_bits(w).is_finite() || w == u32::MAX
}

/// The program says something: it runs, and some word of its result is defined.
pub(crate) fn means_something(program: &Program, closeness: Closeness) -> Check {
    let report = compare(program, program, &options(closeness));
    let EquivReport {
        malformed,
        cases_run,
        compared_words,
        ..
    } = report;
    if malformed || cases_run == 0 || compared_words == 0 {
        return Err(format!("comparing it says nothing: {report:?}"));
    }
    if report.is_equal() {
        Ok(())
    } else {
        Err("it differs from itself".into())
    }
}

/// Corner values are many and a case is small: enough that each channel meets each of them.
const SPECIAL_CASES: u32 = 64;

/// Differences that are described.
const DESCRIBED: usize = 6;

/// Differences that are looked at.
const MOST: u64 = 10_000;

const CLOSE: Tolerance = Tolerance::Relative {
    rel: 1e-4,
    abs: 1e-5,
};

fn options(closeness: Closeness) -> EquivOptions {
    let default = EquivOptions {
        max_mismatches: DESCRIBED,
        ..EquivOptions::default()
    };
    match closeness {
        Closeness::Exact => EquivOptions {
            special_cases: SPECIAL_CASES,
            ..default
        },
        Closeness::Close => EquivOptions {
            tolerance: CLOSE,
            ..default
        },
        Closeness::Ordinary => EquivOptions {
            special_cases: 0,
            max_mismatches: MOST as usize,
            tolerance: CLOSE,
            ..default
        },
    }
}

fn word(bits: u32) -> String {
    format!("{bits:#010x} ({:?})", f32::from_bits(bits))
}
