//! Control flow, historical and present, lane by lane.

mod common;

use common::{ints, lanes, run_text};
use tgsi_interp::RunOptions;

/// Four lanes with the numbers 0 to 3 in `IN[0].x`, as integers, and as floats in `.y`.
const NUMBERS: [&str; 4] = [
    "IN[0].lane0 0 0x00000000 0 0",
    "IN[0].lane1 1 0x3f800000 0 0",
    "IN[0].lane2 2 0x40000000 0 0",
    "IN[0].lane3 3 0x40400000 0 0",
];

#[track_caller]
fn check(text: &str, wanted: [u32; 4]) {
    let out = run_text(text, &NUMBERS, &RunOptions::default());
    let flags = out.flags;
    assert!(
        !flags.step_limit && !flags.out_of_array && !flags.malformed,
        "{flags:?}"
    );
    assert_eq!(lanes(&out, 0, 0), wanted);
}

const HEAD: &str = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL TEMP[0..3]\n\
    IMM[0] UINT32 {0, 1, 2, 10}\nIMM[1] FLT32 {0.0, 1.0, 2.0, 3.0}\n";

#[test]
fn if_tests_a_float_and_uif_bits() {
    let text = |op: &str| {
        format!(
            "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nIMM[0] UINT32 {{0, 1, 2, 10}}\n\
             MOV OUT[0].x, IMM[0].xxxx\n{op} IN[0].xxxx\nMOV OUT[0].x, IMM[0].yyyy\nENDIF\nEND\n"
        )
    };
    let inputs = [
        "IN[0].lane0 0x80000000 0 0 0",
        "IN[0].lane1 0x7fc00000 0 0 0",
        "IN[0].lane2 0x00000001 0 0 0",
        "IN[0].lane3 0 0 0 0",
    ];
    let go = |op: &str| lanes(&run_text(&text(op), &inputs, &RunOptions::default()), 0, 0);
    assert_eq!(go("IF"), [0, 1, 1, 0]);
    assert_eq!(go("UIF"), [1, 1, 1, 0]);
    assert_eq!(go("IFC"), [0, 1, 1, 0]);
}

#[test]
fn loops_end_lane_by_lane() {
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nMOV TEMP[1].x, IMM[0].xxxx\nBGNLOOP\n\
             USGE TEMP[2].x, TEMP[0].xxxx, IN[0].xxxx\nUIF TEMP[2].xxxx\nBRK\nENDIF\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nUADD TEMP[1].x, TEMP[1].xxxx, IMM[0].wwww\n\
             ENDLOOP\nMOV OUT[0].x, TEMP[1].xxxx\nEND\n"
        ),
        [0, 10, 20, 30],
    );
}

#[test]
fn continue_skips_the_rest_of_an_iteration() {
    // Lane 2 skips the addition whenever the counter is odd.
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nMOV TEMP[1].x, IMM[0].xxxx\nBGNLOOP\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             USLT TEMP[2].x, IMM[0].wwww, TEMP[0].xxxx\nUIF TEMP[2].xxxx\nBRK\nENDIF\n\
             USEQ TEMP[2].x, IN[0].xxxx, IMM[0].zzzz\nUIF TEMP[2].xxxx\n\
             AND TEMP[3].x, TEMP[0].xxxx, IMM[0].yyyy\nUIF TEMP[3].xxxx\nCONT\nENDIF\nENDIF\n\
             UADD TEMP[1].x, TEMP[1].xxxx, IMM[0].yyyy\nENDLOOP\nMOV OUT[0].x, TEMP[1].xxxx\nEND\n"
        ),
        [10, 10, 5, 10],
    );
}

#[test]
fn switch_falls_through_and_default_may_stand_in_the_middle() {
    let body = |cases: &str| {
        format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nSWITCH IN[0].xxxx\n{cases}ENDSWITCH\nMOV OUT[0].x, TEMP[0].xxxx\nEND\n"
        )
    };
    let add = "UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n";
    let ten = "UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].wwww\n";
    // Falls from 0 into 1.
    check(
        &body(&format!(
            "CASE IMM[0].xxxx\n{add}CASE IMM[0].yyyy\n{ten}BRK\nDEFAULT\n{add}{add}BRK\n"
        )),
        [11, 10, 2, 2],
    );
    // The default falls into the case behind it.
    check(
        &body(&format!(
            "CASE IMM[0].xxxx\n{add}BRK\nDEFAULT\n{add}{add}CASE IMM[0].zzzz\n{ten}BRK\n"
        )),
        [1, 12, 10, 12],
    );
    // No case, no default.
    check(&body(&format!("CASE IMM[0].wwww\n{add}BRK\n")), [0; 4]);
}

#[test]
fn calls_return_early_lane_by_lane() {
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nCAL :5\nCAL :5\nMOV OUT[0].x, TEMP[0].xxxx\nEND\n\
             BGNSUB\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nUIF IN[0].xxxx\nRET\nENDIF\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].wwww\nRET\nENDSUB\n"
        ),
        [22, 2, 2, 2],
    );
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nCALLNZ IN[0].yyyy :4\nMOV OUT[0].x, TEMP[0].xxxx\nEND\n\
             BGNSUB\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nRET\nENDSUB\n"
        ),
        [0, 1, 1, 1],
    );
}

#[test]
fn main_may_return_early() {
    check(
        &format!(
            "{HEAD}MOV OUT[0].x, IMM[0].xxxx\nUIF IN[0].xxxx\nMOV OUT[0].x, IMM[0].yyyy\nRET\nELSE\n\
             MOV OUT[0].x, IMM[0].zzzz\nENDIF\nUADD OUT[0].x, OUT[0].xxxx, IMM[0].wwww\nEND\n"
        ),
        [12, 1, 1, 1],
    );
}

#[test]
fn historical_loops() {
    // REP: as many rounds as the float says.
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nREP IN[0].yyyy\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].wwww\n\
             ENDREP\nMOV OUT[0].x, TEMP[0].xxxx\nEND\n"
        ),
        [0, 10, 20, 30],
    );
    // BREAKC leaves when its float is not zero.
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\nBGNLOOP\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             BREAKC IN[0].yyyy\nUSLT TEMP[1].x, IMM[0].wwww, TEMP[0].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
             ENDLOOP\nMOV OUT[0].x, TEMP[0].xxxx\nEND\n"
        ),
        [11, 1, 1, 1],
    );
    // BGNFOR: start 1, count from the input, step 2; the sum of the indices.
    let sums = [0.0f32, 1.0, 4.0, 9.0].map(f32::to_bits);
    check(
        &format!(
            "{HEAD}DCL LOOP[0]\nMOV TEMP[0].x, IMM[1].xxxx\nMOV TEMP[1].xz, IMM[1].yyzz\nMOV TEMP[1].y, IN[0].yyyy\n\
             BGNFOR LOOP[0], TEMP[1]\nADD TEMP[0].x, TEMP[0].xxxx, LOOP[0].xxxx\nENDFOR LOOP[0]\n\
             MOV OUT[0].x, TEMP[0].xxxx\nEND\n"
        ),
        sums,
    );
}

#[test]
fn branches_jump_lane_by_lane() {
    check(
        &format!(
            "{HEAD}MOV TEMP[0].x, IMM[0].xxxx\n\
             1: UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             2: USLT TEMP[1].x, TEMP[0].xxxx, IN[0].xxxx\n3: UIF TEMP[1].xxxx :5\n4: BRA :1\n5: ENDIF\n\
             6: BRA :8\n7: MOV TEMP[0].x, IMM[0].wwww\n8: MOV OUT[0].x, TEMP[0].xxxx\n9: END\n"
        ),
        [1, 1, 2, 3],
    );
}

#[test]
fn address_stack() {
    check(
        &format!(
            "{HEAD}DCL ADDR[0]\nUARL ADDR[0].x, IN[0].xxxx\nPUSHA ADDR[0]\nUARL ADDR[0].x, IMM[0].wwww\n\
             POPA ADDR[0]\nMOV OUT[0].x, ADDR[0].xxxx\nEND\n"
        ),
        [0, 1, 2, 3],
    );
}

#[test]
fn kills_hide_outputs_and_stop_stores() {
    let out = run_text(
        "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL BUFFER[0]\nDCL TEMP[0..1]\n\
         IMM[0] UINT32 {0, 1, 2, 4}\nIMM[1] FLT32 {1.5, 0.0, 0.0, 0.0}\n\
         ADD TEMP[0].x, IN[0].yyyy, -IMM[1].xxxx\nKILL_IF TEMP[0].xxxx\n\
         UMUL TEMP[1].x, IN[0].xxxx, IMM[0].wwww\nSTORE BUFFER[0].x, TEMP[1].xxxx, IMM[0].yyyy\n\
         MOV OUT[0], IMM[0].yyyy\nEND\n",
        &NUMBERS,
        &RunOptions::default(),
    );
    // Lanes 0 and 1 are below 1.5.
    assert_eq!(out.kill, 0b0011);
    let words = ints(&out, 0);
    assert_eq!(&words[..4], &[7, 7, 1, 1]);
}

#[test]
fn endless_loops_and_recursion_stop() {
    let options = RunOptions {
        step_limit: 1000,
        ..RunOptions::default()
    };
    let out = run_text(
        &format!("{HEAD}BGNLOOP\nENDLOOP\nEND\n"),
        &NUMBERS,
        &options,
    );
    assert!(out.flags.step_limit);
    let text = format!("{HEAD}CAL :2\nEND\nBGNSUB\nCAL :2\nRET\nENDSUB\n");
    let out = run_text(
        &text,
        &NUMBERS,
        &RunOptions {
            step_limit: 1_000_000,
            ..options
        },
    );
    assert!(out.flags.step_limit);
}

#[test]
fn text_that_does_not_nest_is_not_run() {
    let (program, _) = tgsi::parse(&format!("{HEAD}IF IN[0].xxxx\nENDLOOP\nEND\n"));
    let out = tgsi_interp::run(&program, &Default::default(), &RunOptions::default());
    assert!(out.flags.malformed || !program.insts.iter().any(|i| i.op == tgsi::Opcode::Endloop));
}

#[test]
fn hostile_texts_are_bounded() {
    let huge = [
        "VERT\nDCL CONST[0][0..2000000000]\nDCL OUT[0], POSITION\nMOV OUT[0], CONST[0][5]\nEND\n".to_owned(),
        "VERT\nDCL TEMP[0..2147483647]\nMOV TEMP[2147483647], TEMP[2147483646]\nEND\n".to_owned(),
        format!("VERT\n{}END\n", "DCL CONST[9][0..16383]\n".repeat(100)),
        format!("VERT\n{}END\n", (0..60).map(|i| format!("DCL CONST[{i}][0..16000]\n")).collect::<String>()),
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 4294967295\nPROPERTY CS_FIXED_BLOCK_HEIGHT 4294967295\nDCL TEMP[0..16000]\n\
         MOV TEMP[0], TEMP[1]\nBARRIER\nEND\n".to_owned(),
        "GEOM\nPROPERTY GS_MAX_OUTPUT_VERTICES 4294967295\nDCL OUT[0..500], GENERIC[0]\nIMM[0] UINT32 {0, 0, 0, 0}\n\
         BGNLOOP\nEMIT IMM[0].xxxx\nENDLOOP\nEND\n".to_owned(),
        "VERT\nDCL MEMORY[0..2147483647]\nDCL BUFFER[0..2147483647]\nDCL HWATOMIC[0][0..2147483647]\nEND\n".to_owned(),
        "VERT\nDCL IN[-5..-1]\nMOV OUT[-3], IN[-2]\nMOV TEMP[ADDR[-1].x-2147483648], CONST[-1][-1]\nEND\n".to_owned(),
        "BGNSUB\nRET\nENDSUB\n".to_owned(),
        "VERT\nENDSUB\nENDIF\nELSE\nENDSWITCH\nCASE\nBRK\nCONT\nRET\nPOPA\nEND\n".to_owned(),
    ];
    for text in huge {
        let (program, _) = tgsi::parse(&text);
        let options = RunOptions {
            step_limit: 5000,
            ..RunOptions::default()
        };
        tgsi_interp::run(&program, &Default::default(), &options);
        tgsi_interp::Inputs::random(&program, 1, tgsi_interp::CaseStyle::Special);
    }
}
