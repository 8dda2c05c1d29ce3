//! Every expansion against the interpreter: a program of one operation, for a target that has no more
//! than what one way needs.

use tgsi::{Program, Severity};
use tgsi_interp::equiv::{EquivOptions, Tolerance, compare};
use tgsi_opt::{Level, Options, Outcome, Profile, optimize};
use tgsi_target::Target;

const FLOAT: &str = "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL IN[1], GENERIC[1], PERSPECTIVE
DCL IN[2], GENERIC[2], PERSPECTIVE
DCL OUT[0], COLOR
DCL SAMP[0]
DCL SVIEW[0], 2D, FLOAT
DCL CONST[0..3]
DCL TEMP[0..9], LOCAL
DCL ADDR[0]
IMM[0] FLT32 {0.0, 1.0, 0.5, 3.0}
IMM[1] UINT32 {0, 1, 4294967295, 4}
IMM[2] INT32 {-3, 2, 10, 7}
";

/// A target with these opcodes and nothing else.
fn target(native: &str, more: &str) -> Target {
    let list: Vec<String> = native
        .split_whitespace()
        .map(|op| format!("\"{op}\""))
        .collect();
    let text = format!(
        "name = \"test\"\nsummary = \"\"\n[opcodes]\nnative = [{}]\n[arithmetic]\nintegers = false\n{more}",
        list.join(", ")
    );
    match Target::from_toml(&text) {
        Ok(t) => t,
        Err(e) => panic!("{e}\n{text}"),
    }
}

const NO_FLOW: &str = "[flow]\nbranches = false\nloops = false\ncontinues = false\nswitches = false\nsubroutines = false\n";

fn parse(lines: &str) -> Program {
    let text = format!("{FLOAT}{lines}\nEND\n");
    let (program, diagnostics) = tgsi::parse(&text);
    assert!(
        diagnostics.iter().all(|d| d.severity != Severity::Error),
        "{diagnostics:?}\n{text}"
    );
    program
}

fn legal(program: &Program, target: &Target, level: Level) -> Outcome {
    let options = Options {
        level,
        target: target.clone(),
        profile: Profile::Strict,
        verify_each: true,
        ..Options::default()
    };
    optimize(program, &options)
}

/// How close results must be.
#[derive(Clone, Copy)]
enum Close {
    /// Bit for bit, special values too.
    Exact,
    /// Ordinary numbers, so much apart.
    Within(f32, f32),
}

use Close::{Exact, Within};

const ROUNDED: Close = Within(1e-5, 1e-6);

#[track_caller]
fn same(before: &Program, after: &Program, close: Close) {
    let options = EquivOptions {
        cases: 48,
        special_cases: if matches!(close, Exact) { 48 } else { 0 },
        tolerance: match close {
            Exact => Tolerance::Exact,
            Within(rel, abs) => Tolerance::Relative { rel, abs },
        },
        ..EquivOptions::default()
    };
    let report = compare(before, after, &options);
    let text = tgsi::print(after, &tgsi::Dialect::mesa());
    assert!(report.cases_run > 0 && report.compared_words > 0);
    assert!(report.is_equal(), "{:?}\n{text}", report.mismatches);
}

/// The lines become legal on a target with these opcodes beside MOV, and mean the same.
#[track_caller]
fn check_on(lines: &str, target: &Target, close: Close) {
    let program = parse(lines);
    for level in [Level::O1, Level::O2] {
        let outcome = legal(&program, target, level);
        let text = tgsi::print(&outcome.program, &tgsi::Dialect::mesa());
        assert_eq!(
            target.not_taken(&outcome.program),
            Vec::<String>::new(),
            "{lines}\n{:?}\n{text}",
            outcome.kept
        );
        same(&program, &outcome.program, close);
    }
}

#[track_caller]
fn check(lines: &str, native: &str, close: Close) {
    check_on(lines, &target(&format!("MOV {native}"), NO_FLOW), close);
}

#[test]
fn sums_and_products() {
    check("MAD OUT[0], IN[0], IN[1], IN[2]", "MUL ADD", Exact);
    check("FMA OUT[0], IN[0], IN[1], IN[2]", "MAD", ROUNDED);
    check("ADD OUT[0], IN[0], IN[1]", "MAD", Within(0.0, 0.0));
    check("MUL OUT[0], IN[0], IN[1]", "MAD", Within(0.0, 0.0));
    check("SUB OUT[0], IN[0], IN[1]", "ADD", Exact);
    check("LRP OUT[0], IN[0], IN[1], IN[2]", "MAD ADD", Exact);
    check("DP2 OUT[0], IN[0], IN[1]", "MAD MUL", Exact);
    check("DP2 OUT[0], IN[0], IMM[0].yzww", "DP3", Within(0.0, 0.0));
    check("DP2 OUT[0], IN[0], IN[1]", "DP4", Within(0.0, 0.0));
    check("DP3 OUT[0], IN[0], IN[1]", "DP4", Within(0.0, 0.0));
    check("DP3 OUT[0], IN[0], IN[1]", "DP2 MAD", Exact);
    check("DP3 OUT[0], IN[0], IN[1]", "MUL MAD", Exact);
    check("DP4 OUT[0], IN[0], IN[1]", "DP3 MAD", Exact);
    check("DP4 OUT[0], IN[0], IN[1]", "MUL ADD", Exact);
    check("DPH OUT[0], IN[0], IN[1]", "DP3 ADD", Exact);
    check("DPH OUT[0], IN[0], IN[1]", "DP4", ROUNDED);
    check("DP2A OUT[0], IN[0], IN[1], IN[2]", "DP2 ADD", Exact);
    check("XPD OUT[0].xyz, IN[0], IN[1]", "MUL MAD", Exact);
    check("X2D OUT[0], IN[0], IN[1], IN[2]", "MAD", ROUNDED);
    check("DST OUT[0], IN[0], IN[1]", "MUL", Exact);
}

#[test]
fn roots_and_powers() {
    check("DIV OUT[0], IN[0], IN[1]", "RCP MUL", ROUNDED);
    check("RCP OUT[0], IN[0]", "DIV", Exact);
    check("SQRT OUT[0], IN[0]", "RSQ RCP", ROUNDED);
    check("SQRT OUT[0], |IN[0]|", "RSQ MUL CMP", ROUNDED);
    check("SQRT OUT[0], IMM[0].xxxx", "RSQ MUL CMP", Exact);
    check("RSQ OUT[0], IN[0]", "SQRT RCP", Exact);
    check("RSQ OUT[0], |IN[0]|", "LG2 MUL EX2", ROUNDED);
    check(
        "POW OUT[0], |IN[0]|, IN[1]",
        "LG2 MUL EX2",
        Within(1e-4, 1e-5),
    );
    check("POW OUT[0], IN[0], IMM[0].wwww", "LG2 MUL EX2", ROUNDED);
    check("EX2 OUT[0], IN[0]", "POW", ROUNDED);
    check("EX2 OUT[0], IN[0]", "EXP", ROUNDED);
    check("LG2 OUT[0], |IN[0]|", "LOG", ROUNDED);
    check("EXP OUT[0], IN[0]", "EX2 FRC FLR", ROUNDED);
    check("LOG OUT[0].xzw, IN[0]", "LG2 FLR EX2 MUL", ROUNDED);
    check(
        "MAX TEMP[0], IN[0], IMM[0].zzzz\nLIT OUT[0], TEMP[0]",
        "MAX MIN LG2 MUL EX2 CMP",
        Within(1e-4, 1e-5),
    );
    check("NRM OUT[0], IN[0]", "DP3 RSQ MUL", ROUNDED);
    check("NRM4 OUT[0], IN[0]", "DP4 RSQ MUL", ROUNDED);
    check("RCC OUT[0], IN[0]", "RCP MAX MIN CMP", ROUNDED);
    check(
        "RFL OUT[0], IN[0], IN[1]",
        "DP3 RCP MUL ADD MAD",
        Within(1e-4, 1e-4),
    );
}

#[test]
fn angles() {
    let poly = "MAD FRC ADD MUL";
    for op in ["SIN", "COS"] {
        let lines = format!("{op} OUT[0], IN[0]");
        check(&lines, poly, Within(0.0, 1e-4));
        check(&lines, "MAD FRC SCS", Within(0.0, 1e-4));
    }
    check("SIN OUT[0], IN[0]", "COS ADD", Within(0.0, 1e-4));
    check("COS OUT[0], IN[0]", "SIN ADD", Within(0.0, 1e-4));
    check("SCS OUT[0], IN[0]", poly, Within(0.0, 1e-4));
}

#[test]
fn rounding() {
    check("FRC OUT[0], IN[0]", "FLR ADD", Exact);
    check("FLR OUT[0], IN[0]", "FRC ADD", Within(0.0, 0.0));
    check("FLR OUT[0], IN[0]", "CEIL", Exact);
    check("FLR OUT[0], IN[0]", "TRUNC SLT ADD", Within(0.0, 0.0));
    check("CEIL OUT[0], IN[0]", "FLR", Exact);
    check("CEIL OUT[0], IN[0]", "FRC ADD", Within(0.0, 0.0));
    check("TRUNC OUT[0], IN[0]", "FLR CMP", Within(0.0, 0.0));
    check("TRUNC OUT[0], IN[0]", "FLR SSG MUL", Within(0.0, 0.0));
    check(
        "ROUND OUT[0], IN[0]",
        "ADD FLR SEQ MUL FRC MAD",
        Within(0.0, 0.0),
    );
    // Halves go to the even neighbour.
    check(
        "FLR TEMP[0], IN[0]\nADD TEMP[0], TEMP[0], IMM[0].zzzz\nROUND OUT[0], TEMP[0]",
        "ADD FLR SEQ MUL FRC MAD",
        Within(0.0, 0.0),
    );
}

#[test]
fn choices_and_comparisons() {
    let ordinary = Within(0.0, 0.0);
    // What chooses by products or differences is right for finite numbers.
    let finite = |line: &str| {
        let mut line = line.replace("IN[1]", "TEMP[1]").replace("IN[2]", "TEMP[2]");
        if !line.starts_with("CMP") {
            line = line.replace("IN[0]", "TEMP[0]");
        }
        let clamped = "MOV_SAT TEMP[0], IN[0]\nMOV_SAT TEMP[1], IN[1]\nMOV_SAT TEMP[2], IN[2]";
        format!("{clamped}\n{line}")
    };
    check(
        &finite("CMP OUT[0], IN[0], IN[1], IN[2]"),
        "SLT ADD MUL MAD",
        ordinary,
    );
    check(
        &finite("CMP OUT[0], IN[0], IN[1], IN[2]"),
        "SGE ADD MUL MAD",
        ordinary,
    );
    check(
        &finite("CMP OUT[0], IN[0], IN[1], IN[2]"),
        "CND ADD",
        ordinary,
    );
    check("CND OUT[0], IN[0], IN[1], IN[2]", "CMP ADD", Exact);
    check(&finite("CND0 OUT[0], IN[0], IN[1], IN[2]"), "CMP", ordinary);
    check(
        &finite("CLAMP OUT[0], IN[0], IN[1], IN[2]"),
        "CMP ADD MIN MAX",
        ordinary,
    );
    check(
        &finite("CLAMP OUT[0], IN[0], IMM[0].xxxx, IMM[0].yyyy"),
        "MIN MAX CMP ADD",
        ordinary,
    );
    check("MIN OUT[0], IN[0], IN[1]", "MAX", Exact);
    check("MAX OUT[0], IN[0], IN[1]", "MIN", Exact);
    check(&finite("MIN OUT[0], IN[0], IN[1]"), "CMP ADD", ordinary);
    check(&finite("MAX OUT[0], IN[0], IN[1]"), "CMP ADD", ordinary);
    for op in ["SLT", "SGE", "SGT", "SLE", "SEQ", "SNE"] {
        let lines = format!("{op} OUT[0], IN[0], IN[1]");
        check(&finite(&lines), "CMP ADD", ordinary);
        check(&finite(&lines), "SLT SGE ADD MUL", ordinary);
        check(&finite(&lines), "SGT SLE ADD MUL", ordinary);
        check(&finite(&lines), "SLT ADD MUL", ordinary);
    }
    for (op, by) in [
        ("SLT", "CMP ADD"),
        ("SLT", "SGT"),
        ("SGE", "SLE"),
        ("SEQ", "SGE MUL"),
        ("SEQ", "SNE ADD"),
        ("SNE", "SEQ ADD"),
    ] {
        check(&format!("{op} OUT[0], IN[0], IN[1]"), by, Exact);
    }
    check("SSG OUT[0], IN[0]", "SLT ADD", Exact);
    check("SSG OUT[0], IN[0]", "CMP", Exact);
    check("SFL OUT[0], IN[0], IN[1]", "ADD", Exact);
    check("STR OUT[0], IN[0], IN[1]", "ADD", Exact);
}

#[test]
fn modifiers() {
    let without = |what: &str, ops: &str| {
        target(
            &format!("MOV {ops}"),
            &format!("[operands]\n{what} = true\n"),
        )
    };
    check_on(
        "ADD OUT[0], |IN[0]|, IN[1]",
        &without("no-abs", "ADD MAX"),
        Within(0.0, 0.0),
    );
    check_on(
        "ADD OUT[0], -IN[0], IN[1]",
        &without("no-negate", "ADD MUL"),
        Exact,
    );
    check_on(
        "ADD_SAT OUT[0], IN[0], IN[1]",
        &without("no-saturate", "ADD MIN MAX"),
        Exact,
    );
}

#[test]
fn fetches_and_kills() {
    check(
        "TXP OUT[0], IN[0], SAMP[0], 2D",
        "RCP MUL TEX",
        Within(1e-3, 1e-3),
    );
    check_on(
        "IF IN[1].xxxx\nKILL\nENDIF\nMOV OUT[0], IN[0]",
        &target("MOV KILL_IF", ""),
        Exact,
    );
    check(
        "DDX_FINE TEMP[0], IMM[0]\nADD OUT[0], TEMP[0], IN[0]",
        "ADD DDX",
        ROUNDED,
    );
}

#[test]
fn truth_values() {
    let ops = "ADD MUL MAX CMP SLT SGE SEQ SNE";
    for op in ["FSLT", "FSGE", "FSEQ", "FSNE"] {
        check(
            &format!("{op} TEMP[0], IN[0], IN[1]\nUCMP OUT[0], TEMP[0], IN[1], IN[2]"),
            ops,
            Exact,
        );
        check(
            &format!("{op} TEMP[0], IN[0], IN[1]\nAND OUT[0], TEMP[0], IMM[0].yyyy"),
            ops,
            Exact,
        );
    }
    for op in ["AND", "OR", "XOR"] {
        check(
            &format!(
                "FSLT TEMP[0], IN[0], IN[1]\nFSGE TEMP[1], IN[2], IN[1]\n{op} TEMP[0], TEMP[0], TEMP[1]\nUCMP OUT[0], TEMP[0], IN[1], IN[2]"
            ),
            ops,
            Exact,
        );
    }
    check(
        "FSLT TEMP[0], IN[0], IN[1]\nNOT TEMP[0], TEMP[0]\nUCMP OUT[0], TEMP[0], IN[1], IN[2]",
        ops,
        Exact,
    );
}

#[test]
fn small_integers() {
    let ops = "ADD MUL MAD MIN MAX CMP SLT SGE SEQ SNE FLR FRC SSG TRUNC";
    check(
        "F2I TEMP[0], IN[0]\nI2F OUT[0], TEMP[0]",
        ops,
        Within(0.0, 0.0),
    );
    // A truth value as 1, doubled and so on.
    let small = "FSLT TEMP[0], IN[0], IN[1]\nAND TEMP[0], TEMP[0], IMM[1].wwww\n";
    for line in [
        "UADD TEMP[0], TEMP[0], IMM[2].zzzz",
        "UADD TEMP[0], TEMP[0], IMM[2].xxxx",
        "UMUL TEMP[0], TEMP[0], IMM[2].wwww",
        "UMAD TEMP[0], TEMP[0], IMM[2].wwww, IMM[2].xxxx",
        "IMAX TEMP[0], TEMP[0], IMM[2].yyyy",
        "IMIN TEMP[0], TEMP[0], IMM[2].xxxx",
        "SHL TEMP[0], TEMP[0], IMM[2].yyyy",
        "USHR TEMP[0], TEMP[0], IMM[1].yyyy",
        "INEG TEMP[0], TEMP[0]",
        "ISSG TEMP[0], TEMP[0]",
        "IABS TEMP[0], TEMP[0]",
        "ISLT TEMP[0], TEMP[0], IMM[2].yyyy",
    ] {
        check(
            &format!("{small}{line}\nI2F OUT[0], TEMP[0]"),
            ops,
            Within(0.0, 0.0),
        );
    }
}

#[test]
fn branches() {
    let ops = "ADD MUL MAX MIN CMP SLT SGE SEQ SNE KILL_IF TEX MAD";
    check(
        "SLT TEMP[0].x, IN[0].xxxx, IN[0].yyyy\nIF TEMP[0].xxxx\nADD TEMP[1], IN[1], IN[2]\nELSE\nMUL TEMP[1], IN[1], IN[2]\nENDIF\nMOV OUT[0], TEMP[1]",
        ops,
        Exact,
    );
    // Nested, with a kill, and a fetch inside.
    check(
        "FSLT TEMP[0].xy, IN[0].xyxy, IN[1].yxyx\nUIF TEMP[0].xxxx\nUIF TEMP[0].yyyy\nKILL\nENDIF\nTEX TEMP[1], IN[1], SAMP[0], 2D\nELSE\nKILL_IF IN[2].xxxx\nMOV TEMP[1], IN[2]\nENDIF\nMOV OUT[0], TEMP[1]",
        ops,
        Within(1e-2, 1e-2),
    );
    // Exits.
    check(
        "FSLT TEMP[0].xy, IN[0].xyxy, IN[1].yxyx\nMOV OUT[0], IN[2]\nUIF TEMP[0].xxxx\nUIF TEMP[0].yyyy\nMOV OUT[0], IN[1]\nRET\nENDIF\nKILL\nENDIF\nADD OUT[0], IN[1], IN[2]",
        ops,
        Exact,
    );
    // A loop of constant trips.
    check(
        "MOV TEMP[0].x, IMM[1].xxxx\nMOV TEMP[1], IN[0]\nBGNLOOP\nISGE TEMP[2].x, TEMP[0].xxxx, IMM[2].zzzz\nUIF TEMP[2].xxxx\nBRK\nENDIF\nMAD TEMP[1], TEMP[1], IN[1], IN[2]\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nENDLOOP\nMOV OUT[0], TEMP[1]",
        ops,
        Exact,
    );
    // SWITCH with a case that falls through.
    check(
        "FSLT TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nAND TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nMOV TEMP[1], IN[2]\nSWITCH TEMP[0].xxxx\nCASE IMM[1].yyyy\nMUL TEMP[1], TEMP[1], IN[0]\nCASE IMM[1].xxxx\nADD TEMP[1], TEMP[1], IN[1]\nBRK\nDEFAULT\nMOV TEMP[1], IN[1]\nENDSWITCH\nMOV OUT[0], TEMP[1]",
        ops,
        Exact,
    );
}

#[test]
fn arrays_in_branches() {
    // Where control does not come the index need not be within the array.
    let lines = "DCL_ARRAY\nMOV TEMP[10], IN[1]\nMOV TEMP[11], IN[2]\nMOV TEMP[12], IN[0]\nMOV TEMP[13], IN[0]\n\
        FSLT TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nMUL TEMP[0].y, IN[0].xxxx, IMM[0].wwww\n\
        FSGE TEMP[0].z, TEMP[0].yyyy, IMM[0].xxxx\nFSLT TEMP[0].w, TEMP[0].yyyy, IMM[0].wwww\n\
        AND TEMP[0].z, TEMP[0].zzzz, TEMP[0].wwww\nARL ADDR[0].x, TEMP[0].yyyy\n\
        UIF TEMP[0].zzzz\nMOV TEMP[ADDR[0].x+10](1), IN[2]\nENDIF\nADD OUT[0], TEMP[11], TEMP[12]";
    let text = format!(
        "{FLOAT}{}\nEND\n",
        lines.replace("DCL_ARRAY", "DCL TEMP[10..13], ARRAY(1), LOCAL")
    );
    let (program, diagnostics) = tgsi::parse(&text);
    assert!(diagnostics.iter().all(|d| d.severity != Severity::Error));
    let t = target("MOV ADD MUL MAX MIN CMP SLT SGE FLR ARL", NO_FLOW);
    let outcome = legal(&program, &t, Level::O2);
    let text = tgsi::print(&outcome.program, &tgsi::Dialect::mesa());
    assert_eq!(
        t.not_taken(&outcome.program),
        Vec::<String>::new(),
        "{text}"
    );
    same(&program, &outcome.program, Within(0.0, 0.0));
}

#[test]
fn loops_without_integers() {
    // The loop stays: its counter is a float, and so is its test.
    let t = target(
        "MOV ADD MUL MAD SLT SGE SEQ SNE CMP MAX MIN",
        "[flow]\nswitches = false\nsubroutines = false\n",
    );
    check_on(
        "MOV TEMP[0].x, IMM[1].xxxx\nMOV TEMP[1], IN[0]\nBGNLOOP\nISGE TEMP[2].x, TEMP[0].xxxx, IMM[2].zzzz\nUIF TEMP[2].xxxx\nBRK\nENDIF\n\
         FSLT TEMP[2].x, TEMP[1].xxxx, IN[2].xxxx\nUIF TEMP[2].xxxx\nKILL_IF IN[2].yyyy\nENDIF\n\
         MAD TEMP[1], TEMP[1], IN[1], IN[2]\nI2F TEMP[3].x, TEMP[0].xxxx\nADD TEMP[1], TEMP[1], TEMP[3].xxxx\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nENDLOOP\nMOV OUT[0], TEMP[1]",
        &Target {
            opcodes: tgsi_target::Opcodes {
                native: t.opcodes.native.clone().map(|mut n| {
                    n.push(tgsi::Opcode::KillIf);
                    n
                }),
                ..t.opcodes.clone()
            },
            ..t
        },
        Exact,
    );
}

#[test]
fn continue_and_switch_become_branches() {
    let t = target(
        "MOV ADD MUL MAD SLT SGE SEQ SNE CMP MAX MIN KILL_IF",
        "[flow]\ncontinues = false\nswitches = false\nsubroutines = false\n",
    );
    check_on(
        "MOV TEMP[0].x, IN[0].xxxx\nMOV TEMP[1], IN[0]\nMOV TEMP[0].y, IMM[0].xxxx\nBGNLOOP\n\
         ADD TEMP[0].y, TEMP[0].yyyy, IMM[0].yyyy\nFSLT TEMP[2].x, IMM[0].wwww, TEMP[0].yyyy\nUIF TEMP[2].xxxx\nBRK\nENDIF\n\
         FSLT TEMP[2].x, IN[1].xxxx, TEMP[1].xxxx\nUIF TEMP[2].xxxx\nMUL TEMP[1].x, TEMP[1].xxxx, IMM[0].zzzz\nCONT\nENDIF\n\
         KILL_IF TEMP[1].yyyy\nADD TEMP[1], TEMP[1], IN[2]\nENDLOOP\nMOV OUT[0], TEMP[1]",
        &t,
        Exact,
    );
    check_on(
        "FSLT TEMP[0].x, IN[0].xxxx, IN[1].xxxx\nAND TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nMOV TEMP[1], IN[2]\nSWITCH TEMP[0].xxxx\n\
         CASE IMM[1].yyyy\nMUL TEMP[1], TEMP[1], IN[0]\nKILL_IF IN[1].yyyy\nBRK\n\
         CASE IMM[1].xxxx\nFSLT TEMP[2].x, IN[1].xxxx, IN[2].xxxx\nUIF TEMP[2].xxxx\nKILL_IF IN[2].yyyy\nBRK\nENDIF\nADD TEMP[1], TEMP[1], IN[1]\nBRK\n\
         DEFAULT\nMOV TEMP[1], IN[1]\nENDSWITCH\nMOV OUT[0], TEMP[1]",
        &t,
        Exact,
    );
}

#[test]
fn what_is_left_is_told() {
    let t = target("MOV ADD MUL CMP", NO_FLOW);
    let told = |lines: &str| t.not_taken(&legal(&parse(lines), &t, Level::O2).program);
    assert_eq!(
        told("UADD OUT[0], CONST[0], CONST[1]"),
        ["uses UADD, which the target does not have"]
    );
    assert_eq!(
        told("TXL OUT[0], IN[0], SAMP[0], 2D"),
        ["uses TXL, which the target does not have"]
    );
    let endless = parse(
        "MOV TEMP[0].x, IN[0].xxxx\nBGNLOOP\nFSLT TEMP[1].x, IN[1].xxxx, TEMP[0].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\nADD TEMP[0].x, TEMP[0].xxxx, IN[2].xxxx\nENDLOOP\nMOV OUT[0], TEMP[0].xxxx",
    );
    let outcome = legal(&endless, &t, Level::O2);
    assert_eq!(
        outcome.kept.as_deref(),
        Some("branches stay: the number of iterations of a loop is not constant")
    );
    assert!(
        t.not_taken(&outcome.program)
            .iter()
            .any(|l| l == "uses BGNLOOP, the target has no loops")
    );
}

#[test]
fn products_choose_numbers_only() {
    // The bits of an integer are no number: without CMP the selection stays.
    let t = target("MOV ADD MUL MAD SLT SGE", NO_FLOW);
    let lines = "FSLT TEMP[0], IN[0], IN[1]\nUCMP OUT[0], TEMP[0], IMM[2].xxxx, IN[2]";
    let program = parse(lines);
    let result = legal(&program, &t, Level::O2).program;
    assert!(!t.not_taken(&result).is_empty());
    same(&program, &result, Exact);
    check(lines, "ADD CMP", Exact);
}

#[test]
fn expansions_of_the_consumer_are_used_or_not() {
    let text = "name = \"test\"\nsummary = \"\"\n[opcodes]\nnative = [\"MOV\", \"ADD\", \"MAD\"]\nexpanded = { LRP = 2 }\n";
    let t = Target::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
    let program = parse("LRP OUT[0], IN[0], IN[1], IN[2]");
    for (expand, ops) in [(false, 1), (true, 2)] {
        let options = Options {
            target: t.clone(),
            expand,
            ..Options::default()
        };
        assert_eq!(optimize(&program, &options).after.instructions, ops);
    }
}
