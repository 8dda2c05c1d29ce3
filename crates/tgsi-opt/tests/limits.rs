//! The limits of `docs/architecture.md`: what is at one is optimised, what is beyond comes back as it was,
//! with the reason.

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_ir::lift::{MAX_DEPTH, MAX_INSTS, MAX_REGISTER};
use tgsi_opt::{FallbackKind, Level, Options, Outcome, Profile, optimize};
use tgsi_passes::unroll::MAX_TRIPS;

fn parsed(text: &str) -> Program {
    let (program, diagnostics) = tgsi::parse(text);
    let bad = diagnostics
        .iter()
        .find(|d| d.severity == tgsi::Severity::Error);
    assert!(bad.is_none(), "{bad:?}");
    program
}

fn program(declarations: &str, body: &str) -> Program {
    parsed(&format!(
        "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL CONST[0..1]\n{declarations}{body}END\n"
    ))
}

fn optimised(p: &Program) -> Outcome {
    let options = Options {
        level: Level::O1,
        profile: Profile::Strict,
        check_regalloc: true,
        ..Options::default()
    };
    optimize(p, &options)
}

fn compared(p: &Program, result: &Program, steps: u64) {
    let report = compare(
        p,
        result,
        &EquivOptions {
            cases: 2,
            special_cases: 1,
            step_limit: steps,
            ..EquivOptions::default()
        },
    );
    assert!(report.is_equal() && report.cases_run == 3, "{report:?}");
}

/// A better result that computes the same.
#[track_caller]
fn taken(p: &Program) -> Outcome {
    let outcome = optimised(p);
    assert_eq!(outcome.fallback, None);
    assert!(!outcome.unchanged);
    assert!(outcome.after.instructions < outcome.before.instructions);
    outcome
}

/// The input, and why.
#[track_caller]
fn returned(p: &Program, reason: &str) {
    let outcome = optimised(p);
    let fallback = outcome.fallback.as_ref().expect("a fallback");
    assert_eq!(fallback.kind, FallbackKind::Unsupported);
    assert!(fallback.reason.contains(reason), "{}", fallback.reason);
    assert!(outcome.unchanged);
    assert_eq!(&outcome.program, p);
    // And the program is one that can be read and written all the same.
    let text = tgsi::print(p, &tgsi::Dialect::mesa());
    assert_eq!(tgsi::print(&parsed(&text), &tgsi::Dialect::mesa()), text);
}

/// Something nested `depth` times around an ADD that can be joined to a MUL before it: a copy goes.
fn nested(depth: usize, open: &str, close: &str) -> Program {
    program(
        "DCL TEMP[0..1]\n",
        &format!(
            "MOV TEMP[0], IN[0]\nMOV TEMP[1], TEMP[0]\n{}ADD TEMP[1], TEMP[1], CONST[0]\n{}MOV OUT[0], TEMP[1]\n",
            open.repeat(depth),
            close.repeat(depth)
        ),
    )
}

#[test]
fn nesting_of_branches() {
    let p = nested(MAX_DEPTH, "IF CONST[1].xxxx\n", "ENDIF\n");
    let outcome = taken(&p);
    compared(&p, &outcome.program, 20_000);
    returned(
        &nested(MAX_DEPTH + 1, "IF CONST[1].xxxx\n", "ENDIF\n"),
        "nest",
    );
}

#[test]
fn nesting_of_loops() {
    let p = nested(MAX_DEPTH, "BGNLOOP\n", "BRK\nENDLOOP\n");
    let outcome = taken(&p);
    compared(&p, &outcome.program, 20_000);
    returned(
        &nested(MAX_DEPTH + 1, "BGNLOOP\n", "BRK\nENDLOOP\n"),
        "nest",
    );
}

#[test]
fn nesting_of_switches() {
    let open = "SWITCH IN[0].xxxx\nDEFAULT\n";
    let p = nested(MAX_DEPTH, open, "BRK\nENDSWITCH\n");
    let outcome = taken(&p);
    compared(&p, &outcome.program, 20_000);
    returned(&nested(MAX_DEPTH + 1, open, "BRK\nENDSWITCH\n"), "nest");
}

/// So many instructions, all but a copy of which are overwritten.
fn long(instructions: usize) -> Program {
    program("", &"MOV OUT[0], IN[0]\n".repeat(instructions - 1))
}

#[test]
fn instructions() {
    let outcome = taken(&long(MAX_INSTS));
    assert_eq!(outcome.after.instructions, 1);
    returned(&long(MAX_INSTS + 1), "more than 100000 instructions");
}

/// A tower of subroutines, each of which calls the next one twice.
fn tower(levels: usize) -> Program {
    let mut text = "CAL :0\nMOV OUT[0], TEMP[0]\nRET\n".to_owned();
    let mut at = 3;
    let mut starts = Vec::new();
    for k in 0..levels {
        starts.push(at);
        let body = if k + 1 < levels {
            at += 5;
            format!("BGNSUB\nCAL :{{{0}}}\nCAL :{{{0}}}\nRET\nENDSUB\n", k + 1)
        } else {
            at += 4;
            "BGNSUB\nADD TEMP[0], TEMP[0], CONST[0]\nRET\nENDSUB\n".to_owned()
        };
        text.push_str(&body);
    }
    for (k, start) in starts.iter().enumerate() {
        text = text.replace(&format!(":{{{k}}}"), &format!(":{start}"));
    }
    text = text.replacen(":0", ":3", 1);
    program("DCL TEMP[0]\n", &text)
}

#[test]
fn instructions_of_subroutines_at_their_calls() {
    // Too long is worse than the input: no failure.
    let outcome = optimised(&tower(6));
    assert_eq!(outcome.fallback, None);
    compared(&tower(6), &outcome.program, 20_000);
    returned(&tower(30), "100000 instructions");
}

fn register(n: i32) -> Program {
    program(
        &format!("DCL TEMP[{n}]\n"),
        &format!("MOV TEMP[{n}], IN[0]\nMOV OUT[0], TEMP[{n}]\n"),
    )
}

#[test]
fn register_numbers() {
    let outcome = taken(&register(MAX_REGISTER));
    assert_eq!(outcome.after.temps, 0);
    returned(&register(MAX_REGISTER + 1), "register number above 65535");
}

/// An array from 0 to `last`, stored and read back at a place that the program computes.
fn array(last: i32) -> Program {
    program(
        &format!("DCL TEMP[0..{last}], ARRAY(1)\nDCL ADDR[0]\n"),
        "ARL ADDR[0].x, CONST[0].xxxx\nMOV TEMP[ADDR[0].x](1), IN[0]\nMOV OUT[0], IN[0]\n\
         MOV OUT[0], TEMP[ADDR[0].x](1)\n",
    )
}

#[test]
fn lengths_of_arrays() {
    taken(&array(MAX_REGISTER));
    returned(&array(MAX_REGISTER + 1), "register number above 65535");
}

/// A loop that counts to `trips`.
fn counting(trips: u32) -> Program {
    program(
        &format!("DCL TEMP[0..1]\nIMM[0] UINT32 {{0, 1, {trips}, 0}}\n"),
        "MOV TEMP[0].x, IMM[0].xxxx\nBGNLOOP\nUSGE TEMP[1].x, TEMP[0].xxxx, IMM[0].zzzz\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
         UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nENDLOOP\nU2F OUT[0], TEMP[0].xxxx\n",
    )
}

/// A copy with all iterations has room for a constant each, in the 256 values that every copy may have more.
#[test]
fn iterations_that_are_written_out() {
    let p = counting(100);
    let outcome = taken(&p);
    assert_eq!(outcome.after.loops, 0);
    compared(&p, &outcome.program, 20_000);
    for trips in [500, MAX_TRIPS, 5_000] {
        let p = counting(trips);
        let outcome = optimised(&p);
        assert_eq!(outcome.fallback, None);
        assert_eq!(outcome.after.loops, 1);
        compared(&p, &outcome.program, 100_000);
    }
}
