//! The comparison of two programs.

mod common;

use common::parse;
use tgsi_interp::equiv::{EquivOptions, EquivReport, Tolerance, compare};

const HEAD: &str = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL BUFFER[0]\nDCL TEMP[0..3]\n\
    IMM[0] FLT32 {0.0, 1.0, 2.0, 0.5}\nIMM[1] UINT32 {0, 1, 2, 4}\nIMM[2] FLT32 {100.0, 0.0, 0.0, 0.0}\n";

fn options() -> EquivOptions {
    EquivOptions {
        cases: 16,
        special_cases: 16,
        ..EquivOptions::default()
    }
}

fn report(a: &str, b: &str, options: &EquivOptions) -> EquivReport {
    compare(
        &parse(&format!("{HEAD}{a}\nEND\n")),
        &parse(&format!("{HEAD}{b}\nEND\n")),
        options,
    )
}

#[track_caller]
fn same(a: &str, b: &str) {
    let r = report(a, b, &options());
    assert!(
        r.is_equal() && r.cases_run > 0 && r.compared_words > 0,
        "{r:#?}"
    );
}

#[track_caller]
fn differ(a: &str, b: &str) {
    assert!(!report(a, b, &options()).is_equal());
}

#[test]
fn equal_programs_are_equal() {
    same("ADD OUT[0], IN[0], IN[0]", "MUL OUT[0], IN[0], IMM[0].zzzz");
    same(
        "ADD OUT[0], IN[0], IN[0].yxwz",
        "ADD OUT[0], IN[0].yxwz, IN[0]",
    );
    same(
        "MOV TEMP[0], IN[0]\nMOV OUT[0], TEMP[0]",
        "MOV OUT[0], IN[0]",
    );
}

#[test]
fn rules_that_are_not_exact_are_caught() {
    // x + 0 loses -0, x * 0 loses NaN, x - x loses infinities, MOV keeps a NaN's bits.
    differ("ADD OUT[0], IN[0], IMM[0].xxxx", "MOV OUT[0], IN[0]");
    differ("MUL OUT[0], IN[0], IMM[0].xxxx", "MOV OUT[0], IMM[0].xxxx");
    differ("ADD OUT[0], IN[0], -IN[0]", "MOV OUT[0], IMM[0].xxxx");
    differ(
        "MOV OUT[0], IN[0]",
        "MUL OUT[0], IN[0], IMM[0].yyyy\nMOV OUT[0].x, IN[0]\nMAX OUT[0], OUT[0], OUT[0]\nSSG OUT[0], IN[0]",
    );
    differ(
        "MAX OUT[0], IN[0], IN[0].yxwz",
        "MAX OUT[0], IN[0].yxwz, IN[0]",
    );
}

#[test]
fn nan_payloads_are_free_only_behind_float_operations() {
    // Both are float operations on the same NaN, with different payloads.
    same("ADD OUT[0], IN[0], IN[0]", "ADD OUT[0], IN[0], IN[0].xyzw");
    same(
        "MUL OUT[0], -IN[0], IMM[0].zzzz",
        "MUL OUT[0], IN[0], -IMM[0].zzzz",
    );
    // A mask passes the NaN on with what it had: 0/0 of either sign.
    same(
        "MUL TEMP[0], IN[0], IMM[0].xxxx\nRCP TEMP[1].x, IMM[0].xxxx\nMUL TEMP[0], TEMP[0], TEMP[1].xxxx\n\
         FSEQ TEMP[1], IN[0], IN[0]\nUCMP OUT[0], TEMP[1], TEMP[0], IMM[1].xxxx",
        "MUL TEMP[0], IN[0], -IMM[0].xxxx\nRCP TEMP[1].x, -IMM[0].xxxx\nMUL TEMP[0], TEMP[0], TEMP[1].xxxx\n\
         FSEQ TEMP[1], IN[0], IN[0]\nAND OUT[0], TEMP[1], TEMP[0]",
    );
    differ("MOV OUT[0], IN[0]", "MOV OUT[0], -IN[0]");
    differ("MOV OUT[0], IN[0]", "AND OUT[0], IN[0], IMM[1].xxxx");
}

#[test]
fn bits_of_two_nans_do_not_agree() {
    // 0 * x and its double are zeros of one sign, or two NaNs.
    let two = "MUL TEMP[0], IN[0], IMM[0].xxxx\nADD TEMP[1], TEMP[0], TEMP[0]\n";
    let where_nan = "MUL TEMP[0], IN[0], IMM[0].xxxx\nFSNE TEMP[0], TEMP[0], TEMP[0]\n\
        AND OUT[0], TEMP[0], IMM[1].yyyy";
    same(&format!("{two}XOR OUT[0], TEMP[0], TEMP[1]"), where_nan);
    differ(&format!("{two}XOR OUT[0], TEMP[0], TEMP[0]"), where_nan);
}

#[test]
fn a_folded_nan_is_a_nan() {
    let nan = "IMM[3] UINT32 {0, 2147483647, 2143289345, 0}\n";
    same(
        &format!("{nan}DABS OUT[0], IMM[3].xyxy"),
        &format!("{nan}MOV OUT[0], IMM[3].xyxy"),
    );
    differ(
        &format!("{nan}MOV OUT[0], IMM[3].xyxy"),
        &format!("{nan}DABS OUT[0], IMM[3].xyxy"),
    );
}

#[test]
fn undefined_words_of_the_source_are_free_but_not_the_other_way() {
    same("MOV OUT[0].xy, IN[0]", "MOV OUT[0], IN[0]");
    same(
        "MOV OUT[0], TEMP[0]\nMOV OUT[0].x, IN[0]",
        "MOV OUT[0].x, IN[0]",
    );
    differ("MOV OUT[0], IN[0]", "MOV OUT[0].xyz, IN[0]");
    differ("XOR OUT[0], TEMP[0], TEMP[0]", "MOV OUT[0], TEMP[0]");
}

#[test]
fn kills_and_stores_count() {
    differ(
        "MOV OUT[0], IMM[0]\nKILL_IF IN[0].xxxx",
        "MOV OUT[0], IMM[0]",
    );
    differ("KILL_IF IN[0].xxxx", "KILL_IF IN[0].yyyy");
    same("KILL_IF IN[0].xyxy", "KILL_IF IN[0].yxyx");
    differ(
        "STORE BUFFER[0].x, IMM[1].xxxx, IN[0]",
        "STORE BUFFER[0].x, IMM[1].wwww, IN[0]",
    );
    differ(
        "STORE BUFFER[0].x, IMM[1].xxxx, IN[0]\nKILL",
        "KILL\nSTORE BUFFER[0].x, IMM[1].xxxx, IN[0]",
    );
}

#[test]
fn endless_cases_are_counted_apart() {
    let r = report("BGNLOOP\nENDLOOP", "MOV OUT[0], IN[0]", &options());
    assert_eq!((r.cases_run, r.skipped_step_limit), (0, 32));
    // The other way round it is a difference.
    differ("MOV OUT[0], IN[0]", "BGNLOOP\nENDLOOP");
}

#[test]
fn a_tolerance_is_for_floats_only() {
    let options = EquivOptions {
        tolerance: Tolerance::Relative {
            rel: 1e-4,
            abs: 1e-5,
        },
        special_cases: 0,
        ..options()
    };
    let equal = |a: &str, b: &str| report(a, b, &options).is_equal();
    let exact = EquivOptions {
        tolerance: Tolerance::Exact,
        ..options
    };
    let (a, b) = (
        "MAX TEMP[0], |IN[0]|, IMM[0].wwww\nRCP TEMP[1].x, TEMP[0].xxxx\nRCP TEMP[1].y, TEMP[0].yyyy\n\
         MUL OUT[0].xy, TEMP[1], IN[0].zwzw",
        "MAX TEMP[0], |IN[0]|, IMM[0].wwww\nDIV OUT[0].xy, IN[0].zwzw, TEMP[0]",
    );
    assert!(equal(a, b), "{:#?}", report(a, b, &options));
    assert!(!report(a, b, &exact).is_equal());
    assert!(!equal("MOV OUT[0], IMM[1].yyyy", "MOV OUT[0], IMM[1].zzzz"));
}

#[test]
fn reports_repeat() {
    let (a, b) = ("MOV OUT[0], IN[0]", "ADD OUT[0], IN[0], IMM[0].yyyy");
    assert_eq!(report(a, b, &options()), report(a, b, &options()));
    let r = report(a, b, &options());
    assert_eq!(r.mismatches.len(), 16);
    assert!(r.mismatch_count > 16);
    assert_eq!(r.mismatches[0].what, "OUT[0]");
}

#[test]
fn undefined_words_that_agree_by_accident_are_free() {
    // Every moderate number is below 100; an unknown word need not be.
    same(
        "MOV OUT[0].y, IN[0]\nADD TEMP[1].x, TEMP[0].xxxx, -IMM[2].xxxx\nFSLT OUT[0].x, TEMP[1].xxxx, IMM[0].xxxx",
        "MOV OUT[0].y, IN[0]\nMOV OUT[0].x, IMM[0].xxxx",
    );
}

#[test]
fn reading_outside_of_an_array_is_harmless_where_nothing_depends_on_it() {
    let text = |body: &str| {
        format!(
            "VERT\nDCL IN[0]\nDCL IN[1..2], ARRAY(1)\nDCL OUT[0], POSITION\nDCL TEMP[0..1]\nDCL ADDR[0]\n\
             IMM[0] UINT32 {{0, 2, 7, 0}}\n{body}END\n"
        )
    };
    let a = text(
        "USLT TEMP[0].x, IN[0].xxxx, IMM[0].yyyy\nMOV OUT[0], IN[0]\nUIF TEMP[0].xxxx\n\
         UARL ADDR[0].x, IN[0].xxxx\nMOV OUT[0], IN[ADDR[0].x+1](1)\nENDIF\n",
    );
    let b = text(
        "USLT TEMP[0].x, IN[0].xxxx, IMM[0].yyyy\nUARL ADDR[0].x, IN[0].xxxx\n\
         UCMP OUT[0], TEMP[0].xxxx, IN[ADDR[0].x+1](1), IN[0]\n",
    );
    let c = text("UARL ADDR[0].x, IN[0].xxxx\nMOV OUT[0], IN[ADDR[0].x+1](1)\n");
    let go = |a: &str, b: &str| compare(&parse(a), &parse(b), &options());
    let r = go(&a, &b);
    assert!(r.is_equal() && r.cases_run == 32, "{r:#?}");
    assert!(!go(&a, &c).is_equal());
}

/// Where a float operation of the source makes a NaN, a NaN that the result copies will do, even one
/// of which the bits depend on what is unknown.
#[test]
fn a_nan_of_unknown_bits_is_a_nan() {
    let imm = "IMM[3] UINT32 {2147483648, 2143289344, 2143289345, 1}\n";
    // The upper half of a NaN of 64 bits is a NaN; the sum with -0 makes one of it.
    let double = format!("{imm}DADD TEMP[0].xy, IN[0].xyxy, IMM[0].xxxx\n");
    same(
        &format!("{double}ADD OUT[0].x, TEMP[0].yyyy, IMM[3].xxxx"),
        &format!("{double}MOV OUT[0].x, TEMP[0].yyyy"),
    );
    // One NaN or another, as a bit of a third one says.
    let choice = format!(
        "{imm}RCP TEMP[0].x, IMM[0].xxxx\nMUL TEMP[0].x, TEMP[0].xxxx, IMM[0].xxxx\n\
         AND TEMP[0].x, TEMP[0].xxxx, IMM[3].wwww\nMOV OUT[0].x, IMM[3].zzzz\nUIF TEMP[0].xxxx\n"
    );
    let made = format!("{choice}MOV OUT[0].x, |IMM[3].yyyy|\nENDIF");
    same(&made, &format!("{choice}MOV OUT[0].x, IMM[3].yyyy\nENDIF"));
    differ(&made, &format!("{choice}MOV OUT[0].x, IMM[0].xxxx\nENDIF"));
    differ(
        &format!("{imm}MOV OUT[0].x, IMM[3].yyyy"),
        &format!("{choice}MOV OUT[0].x, IMM[3].yyyy\nENDIF"),
    );
}

/// A NaN of 32 bits is no upper half of a NaN of 64 bits.
#[test]
fn nans_of_two_widths_differ() {
    let nan = "IMM[3] UINT32 {0, 2146959360, 2139095041, 0}\n";
    let double = format!("{nan}DADD OUT[0].xy, IMM[3].xyxy, IMM[0].xxxx");
    same(&double, &format!("{nan}MOV OUT[0].xy, IMM[3].xyxy"));
    differ(&double, &format!("{nan}MOV OUT[0].xy, IMM[3].xzxz"));
}

/// A NaN may have the bits of the operand that it came from, or not: a test for equal bits is open.
#[test]
fn a_nan_may_equal_its_operand() {
    let test = "USNE OUT[0], IN[0], TEMP[0]";
    same(
        &format!("MUL TEMP[0], -IN[0], IMM[0].xxxx\n{test}"),
        &format!("MUL TEMP[0], IN[0], -IMM[0].xxxx\n{test}"),
    );
}

/// Of two operands that are NaNs either may be the one that is handed on, in whatever channel.
#[test]
fn a_nan_may_be_either_operand() {
    let many = EquivOptions {
        cases: 0,
        special_cases: 4000,
        ..options()
    };
    let r = report(
        "LRP TEMP[0].yz, IMM[0].xxxx, IN[0], IN[0].wwww\nUSNE OUT[0].x, IN[0].wwww, TEMP[0].yyyy",
        "LRP TEMP[0].x, IMM[0].xxxx, IN[0].yyyy, IN[0].wwww\nUSNE OUT[0].x, TEMP[0].xxxx, IN[0].wwww",
        &many,
    );
    assert!(r.is_equal() && r.compared_words > 0, "{r:#?}");
}

/// A word with a sign modifier of 32 bits is no half of a 64-bit result any more.
#[test]
fn modified_halves_are_words_of_their_own() {
    let wide = "F2D TEMP[0].zw, IN[0]\n";
    same(
        &format!("{wide}UCMP OUT[0].zw, IMM[0].yyyy, |TEMP[0]|, IMM[0].xxxx"),
        &format!("{wide}MOV OUT[0].zw, |TEMP[0]|"),
    );
}
