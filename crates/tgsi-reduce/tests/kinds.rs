//! Each kind of reduction by itself.

use expect_test::{Expect, expect};
use tgsi::{Dialect, Opcode, Program, Severity, check, parse, print};
use tgsi_reduce::{Reduced, reduce};

fn program(body: &str) -> Program {
    let text = format!(
        "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL CONST[0..7]\nDCL SAMP[0]\nDCL TEMP[0..9]\n\
         DCL ADDR[0]\nIMM[0] FLT32 {{0.5, 2.0, 3.0, 4.0}}\n{body}\nEND\n"
    );
    let (program, diagnostics) = parse(&text);
    let errors = diagnostics.into_iter().chain(check(&program, None));
    let errors: Vec<_> = errors.filter(|d| d.severity == Severity::Error).collect();
    assert_eq!(errors, []);
    program
}

fn run(body: &str, holds: impl Fn(&str) -> bool) -> Reduced {
    reduce(&program(body), None, |p| {
        let errors = check(p, None);
        assert!(errors.iter().all(|d| d.severity != Severity::Error));
        holds(&print(p, &Dialect::mesa()))
    })
}

/// What is left of a program while its text holds some words.
#[track_caller]
fn left(body: &str, words: &[&str], expected: Expect) {
    let small = run(body, |text| words.iter().all(|w| text.contains(w)));
    expected.assert_eq(&print(&small.program, &Dialect::mesa()));
}

#[test]
fn instructions_and_declarations() {
    left(
        "MOV TEMP[0], IN[0]\nADD TEMP[1], TEMP[0], CONST[3]\nTEX TEMP[7], TEMP[1], SAMP[0], 2D\nMOV OUT[0], TEMP[7]",
        &["TEX", "OUT[0]"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            DCL SAMP[0]
            DCL TEMP[0]
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: TEX TEMP[0].x, IMM[0].xxxx, SAMP[0], 2D
              1: END
        "#]],
    );
}

#[test]
fn regions() {
    left(
        "UIF IN[0].xxxx\nMOV OUT[0], IN[0]\nELSE\nRCP OUT[0].x, IN[0].xxxx\nENDIF",
        &["RCP"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: RCP OUT[0].x, IMM[0]
              1: END
        "#]],
    );
    left(
        "BGNLOOP\nUIF IN[0].xxxx\nBRK\nENDIF\nRCP OUT[0].x, IN[0].xxxx\nBGNLOOP\nBRK\nENDLOOP\nENDLOOP",
        &["RCP"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: RCP OUT[0].x, IMM[0]
              1: END
        "#]],
    );
    left(
        "BGNLOOP\nUIF IN[0].xxxx\nBRK\nELSE\nRCP OUT[0].x, IN[0].xxxx\nCONT\nENDIF\nENDLOOP",
        &["RCP", "UIF"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: UIF IMM[0].xxxx :2
              1:   RCP OUT[0].x, IMM[0].xxxx
              2: ENDIF
              3: END
        "#]],
    );
    left(
        "SWITCH IN[0].xxxx\nCASE IMM[0].xxxx\nMOV OUT[0], IN[0]\nBRK\nCASE IMM[0].yyyy\nRCP OUT[0].x, IN[0].xxxx\nBRK\n\
         DEFAULT\nMOV OUT[0], IN[0].yyyy\nENDSWITCH",
        &["RCP"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: RCP OUT[0].x, IMM[0]
              1: END
        "#]],
    );
    left(
        "SWITCH IN[0].xxxx\nCASE IMM[0].xxxx\nMOV OUT[0], IN[0]\nBRK\nCASE IMM[0].yyyy\nRCP OUT[0].x, IN[0].xxxx\nBRK\n\
         DEFAULT\nMOV OUT[0], IN[0].yyyy\nENDSWITCH",
        &["RCP", "SWITCH"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: SWITCH IMM[0].xxxx
              1: RCP OUT[0].x, IMM[0].xxxx
              2: ENDSWITCH
              3: END
        "#]],
    );
}

#[test]
fn operands() {
    left(
        "MAD_SAT TEMP[0], |IN[0].wzyx|, -CONST[3], IMM[0]\nDP4 TEMP[1].xy, TEMP[0], TEMP[0]\nMOV OUT[0], TEMP[1].yyyy",
        &["DP4", "OUT"],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            DCL TEMP[0]
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: DP4 TEMP[0].y, IMM[0], IMM[0]
              1: END
        "#]],
    );
    // A chain is cut in its middle.
    left(
        "MUL TEMP[0], IN[0], IN[0].yzwx\nADD TEMP[1], TEMP[0], CONST[3]\nMUL TEMP[2], TEMP[1], TEMP[0]\nCOS TEMP[3].x, TEMP[2].wwww\n\
         MOV OUT[0], TEMP[3].xxxx",
        &["COS", "OUT[0]", "TEMP[0], IN[0]"],
        expect![[r#"
            FRAG
            DCL IN[0], GENERIC[0], PERSPECTIVE
            DCL OUT[0], COLOR
            DCL TEMP[0..1]
            IMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}
              0: MOV TEMP[0], IN[0].xxxx
              1: COS TEMP[1].x, IMM[0].xxxx
              2: END
        "#]],
    );
    left(
        "ARL ADDR[0].x, IN[0].xxxx\nMOV OUT[0], CONST[ADDR[0].x+2]",
        &["MOV", ", CONST["],
        expect![[r#"
            FRAG
            DCL OUT[0], COLOR
            DCL CONST[2]
              0: MOV OUT[0].x, CONST[2]
              1: END
        "#]],
    );
}

#[test]
fn a_subroutine_is_still_called() {
    let body = "MOV TEMP[0], IN[0]\nMOV TEMP[1], IN[0]\nCAL :6\nMOV OUT[0], TEMP[2]\nRET\nMOV TEMP[4], IN[0]\nBGNSUB\nRCP TEMP[2], IN[0].xxxx\nRET\nENDSUB";
    let small = run(body, |text| text.contains("CAL") && text.contains("RCP"));
    let insts = &small.program.insts;
    let call = insts.iter().find(|i| i.op == Opcode::Cal).expect("a call");
    let start = insts.iter().position(|i| i.op == Opcode::Bgnsub);
    assert_eq!(call.label.map(|l| l as usize), start);
    assert!(
        insts.len() <= 6,
        "{}",
        print(&small.program, &Dialect::mesa())
    );
}

#[test]
fn steps_are_limited_and_counted() {
    let p = program("MOV TEMP[0], IN[0]\nADD TEMP[1], TEMP[0], CONST[3]\nMOV OUT[0], TEMP[1]");
    for steps in [0, 1, 5] {
        let mut calls = 0;
        let small = reduce(&p, Some(steps), |_| {
            calls += 1;
            false
        });
        assert_eq!((small.calls, calls), (steps, steps));
        assert!(small.exhausted && small.program == p);
    }
    // Without a limit the search ends, and asks about no program twice.
    let mut seen = std::collections::BTreeSet::new();
    let small = reduce(&p, None, |c| {
        assert!(seen.insert(print(c, &Dialect::mesa())));
        false
    });
    assert!(!small.exhausted);
    assert_eq!(small.calls, seen.len() as u64);
}

#[test]
fn errors_of_the_input_may_stay_and_none_comes() {
    let (broken, _) =
        parse("FRAG\nDCL OUT[0], COLOR\nMOV OUT[0], TEMP[3]\nMOV OUT[0], TEMP[4]\nEND\n");
    let count = |p: &Program| {
        check(p, None)
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count()
    };
    let most = count(&broken);
    assert!(most > 0);
    let small = reduce(&broken, None, |p| {
        assert!(count(p) <= most);
        p.insts.len() > 1
    });
    assert_eq!(small.program.insts.len(), 2);
}
