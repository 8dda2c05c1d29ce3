//! From text to text.

use std::sync::atomic::{AtomicU64, Ordering};

use tgsi::Dialect;
use tgsi_opt::{Level, Options, optimize_text};

/// Sloppily written, and with nothing to gain.
const TEXT: &str = "FRAG\nDCL IN[0],GENERIC[0],LINEAR\nDCL OUT[0], COLOR\n  mov OUT[0], IN[0]\nEND";

#[test]
fn an_unchanged_program_keeps_its_own_text() {
    let result = optimize_text(TEXT, &Options::default(), None).expect("a valid program");
    assert!(result.outcome.unchanged);
    assert_eq!(result.text, TEXT);
}

#[test]
fn level_0_reprints() {
    let options = Options {
        level: Level::O0,
        ..Options::default()
    };
    let result = optimize_text(TEXT, &options, None).expect("a valid program");
    assert!(result.outcome.unchanged);
    assert!(
        result.text.contains("MOV OUT[0], IN[0]\n"),
        "{}",
        result.text
    );
    let again = optimize_text(&result.text, &options, None).expect("a valid program");
    assert_eq!(again.text, result.text);
}

#[test]
fn comments_are_never_printed() {
    let commented = TEXT.replace("END", "# a comment\nEND ; another");
    let result = optimize_text(&commented, &Options::default(), None).expect("a valid program");
    assert!(!result.text.contains(['#', ';']), "{}", result.text);
}

#[test]
fn a_dialect_wins_over_the_own_text() {
    let dialect = Dialect::mesa();
    let result = optimize_text(TEXT, &Options::default(), Some(&dialect)).expect("a valid program");
    assert_eq!(result.text, tgsi::print(&result.outcome.program, &dialect));
}

#[test]
fn errors_come_with_their_places() {
    let broken = TEXT.replace("mov", "frob");
    let diagnostics =
        optimize_text(&broken, &Options::default(), None).expect_err("no valid program");
    assert!(diagnostics.iter().any(|d| d.line == 4), "{diagnostics:#?}");
}

#[test]
fn times_come_from_the_callers_clock() {
    fn ticks() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(0);
        NOW.fetch_add(5, Ordering::Relaxed)
    }
    let options = Options {
        now: ticks,
        ..Options::default()
    };
    let times = optimize_text(TEXT, &options, None)
        .expect("a valid program")
        .outcome
        .pass_times;
    assert_eq!(times.first(), Some(&("parse", 5)));
    assert_eq!(times.last(), Some(&("print", 5)));
    let still = optimize_text(TEXT, &Options::default(), None).expect("a valid program");
    assert!(still.outcome.pass_times.iter().all(|t| t.1 == 0));
}
