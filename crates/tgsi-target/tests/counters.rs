//! Counters, costs and the virgl checks on small programs.

use tgsi::Program;
use tgsi_target::{
    Cost, Counts, IndirectionModel, Target, count, count_result, fit_report, indirections,
    virgl_introduces,
};

#[track_caller]
fn parse(text: &str) -> Program {
    let (program, diagnostics) = tgsi::parse(text);
    assert!(
        diagnostics
            .iter()
            .all(|d| d.severity != tgsi::Severity::Error),
        "{diagnostics:#?}"
    );
    program
}

fn counts(text: &str) -> Counts {
    count(&parse(text))
}

#[test]
fn kinds_of_instruction() {
    let c = counts(
        "FRAG\nDCL IN[0..1], GENERIC[0], LINEAR\nDCL IN[1], GENERIC[1], LINEAR\nDCL OUT[0], COLOR\nDCL SAMP[0]\n\
         DCL CONST[0..2]\nDCL CONST[1][0..2]\nDCL CONST[0][2..3]\nDCL TEMP[0..9]\nIMM[0] FLT32 {0.0, 0.0, 0.0, 0.0}\n\
         MOV TEMP[0], IN[0]\nBGNLOOP\nIF TEMP[0].xxxx\nBRK\nENDIF\nENDLOOP\nKILL_IF TEMP[0]\n\
         TEX TEMP[5], TEMP[0], SAMP[0], 2D\nADD OUT[0], TEMP[5], IMM[0]\nEND\n",
    );
    assert_eq!(
        (c.instructions, c.alu, c.tex, c.mov, c.flow),
        (9, 2, 1, 1, 5)
    );
    assert_eq!((c.loops, c.ifs, c.depth), (1, 1, 2));
    assert_eq!(
        (c.temps, c.immediates, c.constants, c.inputs, c.outputs),
        (2, 1, 7, 2, 1)
    );
    assert_eq!(c.indirections, 2);
}

#[test]
fn temps_of_arrays() {
    let head = "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL TEMP[0..1]\nDCL TEMP[2..9], ARRAY(1), LOCAL\nDCL TEMP[10..11], ARRAY(2)\nDCL ADDR[0]\n";
    let temps = |body: &str| counts(&format!("{head}{body}\nEND\n")).temps;
    assert_eq!(temps("MOV OUT[0], TEMP[ADDR[0].x+2](1)"), 8);
    assert_eq!(
        temps("MOV TEMP[3], IN[0]\nMOV OUT[0], TEMP[ADDR[0].x+2](1)\nMOV TEMP[0], IN[0]"),
        9
    );
    assert_eq!(temps("MOV TEMP[ADDR[0].x+10](2), TEMP[ADDR[0].x+2](1)"), 10);
    assert_eq!(temps("MOV OUT[0], TEMP[2]"), 1);
    assert_eq!(temps("MOV OUT[0], CONST[TEMP[1].x]"), 1);
}

#[test]
fn far_indices_cost_nothing() {
    let c = counts(
        "VERT\nDCL OUT[0], POSITION\nDCL TEMP[0..2147483647], ARRAY(1)\nDCL ADDR[0]\nDCL CONST[0..2147483647]\n\
         MOV TEMP[2147483646], CONST[0]\nMOV OUT[0], TEMP[2147483645]\nEND\n",
    );
    assert_eq!((c.temps, c.constants), (2, 1 << 31));
}

#[test]
fn tokens() {
    // Header 2, property 2, declarations 2 + 3 + 4 + 3 + 3 + 2, immediate 5; instructions 3, 6, 6, 2 and 1.
    let text = "FRAG\nPROPERTY FS_COLOR0_WRITES_ALL_CBUFS 1\nDCL SAMP[0]\nDCL OUT[0], COLOR\n\
        DCL IN[0], GENERIC[0], LINEAR\nDCL SVIEW[0], 2D, FLOAT\nDCL CONST[1][0..2]\nDCL ADDR[0]\n\
        IMM[0] INT32 {1, 2, 3, 0}\nMOV OUT[0], IN[0]\nMOV OUT[0], CONST[1][ADDR[0].x+1]\n\
        TEX OUT[0], IN[0], SAMP[0], 2D, IMM[0].xyz\nKILL_IF IN[0]\nEND\n";
    assert_eq!(
        counts(text).tokens,
        2 + 2 + 2 + 3 + 4 + 3 + 3 + 2 + 5 + 3 + 5 + 6 + 2 + 1
    );
}

#[test]
fn labels_count_where_the_input_has_them() {
    let bare = parse("FRAG\nDCL IN[0], GENERIC[0], LINEAR\nUIF IN[0].xxxx\nELSE\nENDIF\nEND\n");
    let labelled =
        parse("FRAG\nDCL IN[0], GENERIC[0], LINEAR\nUIF IN[0].xxxx :1\nELSE :2\nENDIF\nEND\n");
    assert_eq!(count(&labelled).tokens, count(&bare).tokens + 2);
    assert_eq!(
        count_result(&bare, &labelled).tokens,
        count(&labelled).tokens
    );
    assert_eq!(count_result(&bare, &bare).tokens, count(&bare).tokens);
}

#[test]
fn indirection_models() {
    let all = |body: &str| {
        let program = parse(&format!(
            "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL SAMP[0]\nDCL TEMP[0..9]\n{body}\nEND\n"
        ));
        [
            IndirectionModel::Arb,
            IndirectionModel::R300Node,
            IndirectionModel::I915Phase,
            IndirectionModel::D3dOrder,
        ]
        .map(|m| indirections(&program, m))
    };
    assert_eq!(all("MOV OUT[0], IN[0]"), [1, 1, 1, 0]);
    assert_eq!(
        all("TEX TEMP[0], IN[0], SAMP[0], 2D\nTEX TEMP[1], IN[0], SAMP[0], 2D"),
        [1, 1, 1, 1]
    );
    // A coordinate that was computed.
    assert_eq!(
        all("MOV TEMP[0], IN[0]\nTEX TEMP[1], TEMP[0], SAMP[0], 2D"),
        [2, 2, 2, 1]
    );
    // A coordinate that was fetched.
    assert_eq!(
        all("TEX TEMP[0], IN[0], SAMP[0], 2D\nTEX TEMP[1], TEMP[0], SAMP[0], 2D"),
        [2, 2, 2, 2]
    );
    // A destination that arithmetic has read.
    assert_eq!(
        all("MOV OUT[0], TEMP[0]\nTEX TEMP[0], IN[0], SAMP[0], 2D"),
        [2, 2, 1, 1]
    );
    // A destination that only a fetch has read.
    assert_eq!(
        all("TEX TEMP[0], TEMP[1], SAMP[0], 2D\nTEX TEMP[1], TEMP[2], SAMP[0], 2D"),
        [1, 1, 1, 1]
    );
    // A fetch into an output starts a phase of i915.
    assert_eq!(all("TEX OUT[0], IN[0], SAMP[0], 2D"), [1, 1, 2, 1]);
    // Kill counts by its operand only, and unread channels make no chain.
    assert_eq!(all("MOV TEMP[0], IN[0]\nKILL_IF TEMP[0]"), [2, 2, 2, 0]);
    assert_eq!(
        all("TEX TEMP[0].zw, IN[0], SAMP[0], 2D\nTEX TEMP[1], TEMP[0].xyzw, SAMP[0], 2D")[3],
        1
    );
}

#[test]
fn costs_compare_in_order() {
    let target = Target::default();
    let cost = |text: &str| {
        let program = parse(text);
        Cost::of(&program, &count(&program), &target)
    };
    let head = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL TEMP[0..3]\n";
    let long = cost(&format!(
        "{head}MOV TEMP[0], IN[0]\nMOV OUT[0], TEMP[0]\nEND\n"
    ));
    let short = cost(&format!("{head}MOV OUT[0], IN[0]\nEND\n"));
    let short_temp = cost(&format!("{head}MOV OUT[0], TEMP[0]\nEND\n"));
    let imm = cost(&format!(
        "{head}IMM[0] INT32 {{0, 0, 0, 0}}\nMOV OUT[0], IN[0]\nEND\n"
    ));
    let deep = cost(&format!(
        "{head}{}{}END\n",
        "IF IN[0].xxxx\n".repeat(33),
        "ENDIF\n".repeat(33)
    ));
    assert!(short < long && short < short_temp && short < imm);
    assert!(short_temp < long, "fewer instructions may cost temporaries");
    assert!(imm < short_temp, "temporaries come before immediates");
    assert!(long < deep && deep.misfit > 0);
}

#[test]
fn what_does_not_fit_is_said() {
    let program = parse("VERT\nDCL IN[0..80]\nDCL CONST[40][0..4096]\nEND\n");
    let say = |name: &str| -> Vec<String> {
        let target = Target::by_name(name).expect("a target");
        fit_report(target, &program, &count(&program))
            .iter()
            .map(|e| e.to_string())
            .collect()
    };
    assert_eq!(
        say("generic"),
        [
            "needs 81 inputs, the target has 80",
            "needs 4097 constants, the target has 4096"
        ]
    );
    assert_eq!(
        say("virgl"),
        [
            "needs 81 inputs, the target has 64",
            "needs 40 as highest constant buffer, the target has 31"
        ]
    );
    assert!(Target::by_name("nothing").is_none());
}

/// Checks what `after` introduces into `before`, both with the same header.
#[track_caller]
fn introduces(before: &str, after: &str, wanted: &[&str]) {
    let head = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDCL OUT[1], CLIPDIST\nDCL SAMP[0]\n\
        DCL CONST[0..9]\nDCL TEMP[0..9]\nDCL TEMP[10..13], ARRAY(1)\nDCL ADDR[0..1]\n\
        IMM[0] UINT32 {1, 1, 2, 3}\n";
    let before = parse(&format!("{head}{before}\nEND\n"));
    let after = parse(&format!("{head}{after}\nEND\n"));
    assert_eq!(virgl_introduces(&before, &after), wanted);
}

#[test]
fn virgl_checks() {
    let long = "MOV TEMP[0], IN[0]\nMOV TEMP[1], IN[0]\nMOV TEMP[2], IN[0]";
    introduces(long, long, &[]);
    introduces(
        "MOV TEMP[0], IN[0]",
        long,
        &["a longer token stream (32 before, 38 after)"],
    );
    introduces(
        long,
        "SLE TEMP[0], IN[0], IN[0]",
        &["SLE, which hosts drop"],
    );
    introduces(
        "SLE TEMP[0], IN[0], IN[0]",
        "SLE TEMP[1], IN[0], IN[0]",
        &[],
    );
    introduces(
        long,
        "U64ADD TEMP[0].xy, IN[0], IN[0]",
        &["U64ADD, which hosts drop"],
    );
    introduces(
        long,
        "MOV TEMP[0], TEMP[ADDR[0].x+10]",
        &["an indirect TEMP without a declared array"],
    );
    introduces(long, "MOV TEMP[0], TEMP[ADDR[0].x+10](1)", &[]);
    introduces(
        long,
        "MOV TEMP[0], CONST[ADDR[1].x]",
        &["an index register other than ADDR[0].x"],
    );
    introduces(
        long,
        "MOV TEMP[0], CONST[TEMP[0].x]",
        &["an index register that is not ADDR"],
    );
    introduces(
        long,
        "UADD TEMP[0], -TEMP[1], TEMP[2]",
        &["a negated integer or 64-bit operand"],
    );
    introduces(long, "ADD TEMP[0], -TEMP[1], |TEMP[2]|", &[]);
    introduces(
        long,
        "TEX TEMP[0], IMM[0], SAMP[0], 2D",
        &["an immediate as texture coordinate"],
    );
    introduces(long, "TXQ TEMP[0], IMM[0].xxxx, SAMP[0], 2D", &[]);
    introduces(
        long,
        "DADD TEMP[0], TEMP[1], TEMP[2]",
        &["a 64-bit operation on both channel pairs"],
    );
    introduces(long, "DADD TEMP[0].zw, TEMP[1], TEMP[2]", &[]);
    introduces(
        long,
        "DSLT TEMP[0].xz, TEMP[1], TEMP[2]",
        &["a 64-bit operation on both channel pairs"],
    );
    introduces(
        long,
        "MOV OUT[1].xy, IN[0]",
        &["a partial mask on output CLIPDIST"],
    );
    introduces(long, "MOV OUT[1], IN[0]", &[]);
    introduces(long, "MOV OUT[0].xy, IN[0]", &[]);
    introduces(
        long,
        "UADD OUT[0], TEMP[0], TEMP[1]",
        &["an integer result written to OUT"],
    );
    introduces(long, "UBFE TEMP[0].xy, TEMP[0], IMM[0], IMM[0].xxxx", &[]);
    introduces(
        long,
        "UBFE TEMP[0].xz, TEMP[0], IMM[0], IMM[0].xxxx",
        &["UBFE with differing offsets or sizes"],
    );
    introduces(
        long,
        "BFI TEMP[0].xy, TEMP[0], TEMP[1], TEMP[2], IMM[0].xxxx",
        &["BFI with differing offsets or sizes"],
    );
    introduces(
        "TXF TEMP[0], IN[0], SAMP[0], 3D, IMM[0].xyz\nMOV TEMP[0], IN[0]",
        "TXF TEMP[0], IN[0], SAMP[0], 3D, TEMP[0].xyz",
        &["texel offsets of a 3D texture that are no immediate"],
    );
    introduces(
        long,
        "MUL_PRECISE TEMP[0].x, IN[0], IN[0]\nMOV TEMP[0].y, IN[0]",
        &["a TEMP shared by precise and other values"],
    );
}

#[test]
fn virgl_sizes_and_vertex_colours() {
    let imms = |n: usize| {
        let mut text = String::from("VERT\nDCL IN[0]\nDCL OUT[0], COLOR\n");
        for i in 0..n {
            text.push_str(&format!("IMM[{i}] INT32 {{0, 0, 0, 0}}\n"));
        }
        text.push_str("MOV OUT[0], IN[0]\nEND\n");
        parse(&text)
    };
    assert_eq!(
        virgl_introduces(&imms(1024), &imms(1025)),
        [
            "more than 1024 immediates (0 before, 1025 after)",
            "a longer token stream (5131 before, 5136 after)"
        ]
    );
    let mask = |m: &str| {
        parse(&format!(
            "VERT\nDCL IN[0]\nDCL OUT[0], COLOR\nMOV OUT[0]{m}, IN[0]\nEND\n"
        ))
    };
    assert_eq!(
        virgl_introduces(&mask(""), &mask(".xyz")),
        ["a partial mask on vertex output COLOR"]
    );
    let strange = parse("VERT\nPROPERTY NEXT_SHADER FRAG\nDCL IN[0]\nDCL OUT[0], COLOR\nEND\n");
    assert_eq!(
        virgl_introduces(&mask(""), &strange),
        ["property NEXT_SHADER"]
    );
}
