//! Every diagnostic code: what provokes it, and where it points.

use std::fmt::Write;

use expect_test::{Expect, expect};
use tgsi::{Diagnostic, Severity, check, parse, parse_bytes};

/// The findings of parser and check, one a line: place, severity, code, message, hint.
fn findings(bytes: &[u8]) -> Vec<Diagnostic> {
    let (program, mut found) = parse_bytes(bytes);
    if !found.iter().any(|d| d.severity == Severity::Error) {
        found.extend(check(&program, std::str::from_utf8(bytes).ok()));
    }
    found
}

fn render(found: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in found {
        let severity = if d.severity == Severity::Error {
            "error"
        } else {
            "warning"
        };
        write!(
            out,
            "{}:{} {severity} {}: {}",
            d.line, d.column, d.code, d.message
        )
        .unwrap();
        if let Some(hint) = &d.hint {
            write!(out, " ({hint})").unwrap();
        }
        out.push('\n');
    }
    out
}

#[track_caller]
fn finds(text: &str, expected: Expect) {
    expected.assert_eq(&render(&findings(text.as_bytes())));
}

/// A small program around a body.
fn frag(body: &str) -> String {
    format!(
        "FRAG\nDCL IN[0], COLOR, LINEAR\nDCL OUT[0], COLOR\nDCL TEMP[0..3]\nDCL SAMP[0]\nDCL ADDR[0]\n{body}\nEND\n"
    )
}

#[track_caller]
fn frag_finds(body: &str, expected: Expect) {
    finds(&frag(body), expected);
}

#[test]
fn a_clean_program_has_no_findings() {
    frag_finds(
        "TEX TEMP[0], IN[0], SAMP[0], 2D\nMOV OUT[0], -|TEMP[0].wzyx|",
        expect![""],
    );
}

#[test]
fn text() {
    finds(
        "PIXEL\nEND\n",
        expect![[r#"
        1:1 error T0001: the text does not begin with a stage (begin with FRAG, VERT, GEOM, TESS_CTRL, TESS_EVAL or COMP)
        1:1 error T0011: no opcode is called `PIXEL`
    "#]],
    );
    finds(
        "",
        expect![[r#"
        1:1 error T0001: the text does not begin with a stage (begin with FRAG, VERT, GEOM, TESS_CTRL, TESS_EVAL or COMP)
    "#]],
    );
    expect![[r#"
        2:7 warning T0002: the text is not UTF-8
    "#]]
    .assert_eq(&render(&findings(b"FRAG\nEND ; \xff\n")));
    expect![[r#"
        2:5 warning T0002: the text is not UTF-8
        2:5 error T0012: expected an operand, found `ÿ`
    "#]]
    .assert_eq(&render(&findings(b"FRAG\nMOV \xff[0], IN[0]\nEND\n")));
}

#[test]
fn statements() {
    frag_finds(
        "MOV TEMP[0], IN[0]\n) MOV\nMVO TEMP[1], IN[0]\nMUL_SAT_PRECICE TEMP[0], IN[0]",
        expect![[r#"
        8:1 error T0010: expected a statement, found `)`
        9:1 error T0011: no opcode is called `MVO` (did you mean MOV?)
        10:1 error T0011: no opcode is called `MUL_SAT_PRECICE`
    "#]],
    );
    frag_finds(
        "QWERTYUIOP",
        expect![[r#"
        7:1 error T0011: no opcode is called `QWERTYUIOP`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0] IN[0]",
        expect![[r#"
        7:13 error T0010: expected `,`, found `IN`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0],",
        expect![[r#"
        8:1 error T0018: `END` is neither operand, target, format nor memory word (a register needs a bracket, as in TEMP[0])
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], )",
        expect![[r#"
        7:14 error T0012: expected an operand, found `)`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], FOO[0]",
        expect![[r#"
        7:14 error T0013: no register file is called `FOO`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN",
        expect![[r#"
        7:14 error T0018: `IN` is neither operand, target, format nor memory word (a register needs a bracket, as in TEMP[0])
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], 3",
        expect![[r#"
        7:14 error T0018: `3` is neither operand, target, format nor memory word (a register needs a bracket, as in TEMP[0])
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN[0], 4D",
        expect![[r#"
        7:21 error T0018: `4D` is neither operand, target, format nor memory word (a register needs a bracket, as in TEMP[0])
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN[0] :3",
        expect![[r#"
        7:20 error T0030: MOV takes no label
    "#]],
    );
}

#[test]
fn registers() {
    frag_finds(
        "MOV TEMP[x], IN[0]",
        expect![[r#"
        7:10 error T0014: expected a number, found `x`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0, IN[0]",
        expect![[r#"
        7:11 error T0014: expected `]`, found `,`
    "#]],
    );
    frag_finds(
        "MOV TEMP[ADDR[0].q], IN[0]",
        expect![[r#"
        7:18 error T0014: expected one of x, y, z, w, found `q`
    "#]],
    );
    frag_finds(
        "MOV TEMP[99999999999], IN[0]",
        expect![[r#"
        7:10 error T0015: the number does not fit 32 bits
    "#]],
    );
    frag_finds(
        "MOV TEMP[2147483648], IN[0]",
        expect![[r#"
        7:10 error T0015: the number does not fit 32 bits
    "#]],
    );
    frag_finds(
        "MOV TEMP[0].xq, IN[0]",
        expect![[r#"
        7:13 error T0016: expected a write mask of letters xyzw, found `xq`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0].yx, IN[0]",
        expect![[r#"
        7:13 warning T0016: the letters of a write mask are out of order (write each once, as in xyzw)
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN[0].xyzwx",
        expect![[r#"
        7:20 error T0017: expected a swizzle of one to four letters xyzw, found `xyzwx`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN[0].xy",
        expect![[r#"
        7:20 warning T0028: a swizzle of two or three letters; the last one is repeated (write four letters)
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], |IN[0]",
        expect![[r#"
        8:1 error T0024: expected `|`, found `END`
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], IN[0]|",
        expect![[r#"
        7:19 error T0024: a bar without its partner
    "#]],
    );
}

#[test]
fn header() {
    finds(
        "FRAG\nIMM[0] FLT32 {1.0, x}\nEND",
        expect![[r#"
        2:20 error T0019: expected a value of type FLT32, found `x`
    "#]],
    );
    finds(
        "FRAG\nIMM[0] FLT32 {1, 2, 3, 4, 5}\nIMM[1] FLT64 {0x1, 0x2, 0x3}\nEND",
        expect![[r#"
        2:27 error T0019: expected at most four values, found `5`
        3:14 error T0019: expected two hex words for each FLT64, found `{`
    "#]],
    );
    finds(
        "FRAG\nIMM[0] FLT32 {1.0",
        expect![[r#"
        2:18 error T0019: expected a value or `}`, found the end of the text
    "#]],
    );
    finds(
        "FRAG\nIMM[0] UINT32 {4294967296}\nIMM[1] INT32 {-2147483649}\nEND",
        expect![[r#"
        2:16 error T0019: expected a value of type UINT32, found `4294967296`
        3:15 error T0019: expected a value of type INT32, found `-2147483649`
    "#]],
    );
    finds(
        "FRAG\nIMM[0] FLOAT {1.0}\nEND",
        expect![[r#"
        2:8 error T0020: expected FLT32, UINT32, INT32, FLT64, UINT64 or INT64, found `FLOAT`
    "#]],
    );
    finds(
        "FRAG\nIMM[2] UINT32 {1}\nIMM[0] UINT32 {2}\nEND",
        expect![[r#"
        2:1 warning T0021: the immediates are not numbered in order; they are renumbered by what is written
    "#]],
    );
    finds(
        "FRAG\nIMM[0] UINT32 {1}\nIMM[0] UINT32 {2}\nEND",
        expect![[r#"
        2:1 warning T0021: the immediates are not numbered in order; they are renumbered by what is written
        3:1 error T0022: there is another IMM[0]
    "#]],
    );
    finds(
        "FRAG\nIMM[2147483647] UINT32 {1}\nEND",
        expect![[r#"
        2:1 warning T0021: the immediates are not numbered in order; they are renumbered by what is written
        2:1 error T0023: IMM[2147483647] lies too far beyond the other immediates
    "#]],
    );
    finds(
        "FRAG\nDCL IN[]\nDCL OUT[0..1][0]\nDCL TEMP[0], 3.4\nDCL SV\nEND",
        expect![[r#"
        2:7 error T0025: expected an index, found `[`
        3:8 error T0025: expected a single outer index, found `[`
        4:14 warning T0026: `3` is no known word of a declaration (it is kept as it is)
        4:15 error T0010: expected a statement, found `.`
        6:1 error T0025: expected `[`, found `END`
    "#]],
    );
    finds(
        "FRAG\nDCL IN[0], FLUFFY(3), COLOR\nEND",
        expect![[r#"
        2:12 warning T0026: `FLUFFY` is no known word of a declaration (it is kept as it is)
    "#]],
    );
    finds(
        "FRAG\nPROPERTY\nPROPERTY X )\nEND",
        expect![[r#"
        3:1 error T0027: expected the name of a property, found `PROPERTY`
        3:12 error T0027: expected a value, found `)`
    "#]],
    );
    finds(
        "FRAG\nNOP\nDCL TEMP[0]\nEND",
        expect![[r#"
        3:1 error T0029: a declaration follows an instruction (declarations, immediates and properties come before the first instruction)
    "#]],
    );
}

#[test]
fn declared_registers() {
    frag_finds(
        "MOV OUT[0], CONST[0]",
        expect![[r#"
        7:13 error T0101: CONST[0] is not declared
    "#]],
    );
    frag_finds(
        "MOV OUT[1], TEMP[4]",
        expect![[r#"
        7:5 error T0111: OUT[1] is not declared (declared registers lie in OUT[0..0])
        7:13 error T0111: TEMP[4] is not declared (declared registers lie in TEMP[0..3])
    "#]],
    );
    frag_finds(
        "MOV OUT[0], TEMP[-1]",
        expect![[r#"
        7:13 error T0111: TEMP[-1] is not declared (declared registers lie in TEMP[0..3])
    "#]],
    );
    frag_finds(
        "MOV OUT[0], TEMP[ADDR[1].x+100]",
        expect![[r#"
        7:13 error T0111: ADDR[1] is not declared (declared registers lie in ADDR[0..0])
    "#]],
    );
    frag_finds(
        "MOV OUT[0], IMM[0]",
        expect![[r#"
        7:13 error T0101: IMM[0] is not declared
    "#]],
    );
    frag_finds(
        "LOAD TEMP[0], MEMORY[0], TEMP[1]",
        expect![[r#"
        7:15 warning T0101: MEMORY[0] is not declared
    "#]],
    );
    frag_finds(
        "TEX TEMP[0], IN[0], SAMP[0], 2D, IMM[0].xyz",
        expect![[r#"
        7:1 error T0101: IMM[0] is not declared
    "#]],
    );
    finds(
        "FRAG\nDCL TEMP[0..3]\nDCL TEMP[3]\nDCL TEMP[2..1]\nDCL TEMP[-1]\nDCL OUT[0].\nEND",
        expect![[r#"
        3:1 warning T0102: TEMP[3] is declared more than once
        4:1 error T0121: TEMP[2..1] is no range of registers
        5:1 error T0121: TEMP[-1..-1] is no range of registers
        6:1 error T0103: the declared mask is empty
    "#]],
    );
}

#[test]
fn dimensions() {
    frag_finds(
        "MOV TEMP[ADDR[0].x][1], IN[0]",
        expect![[r#"
        7:5 warning T0122: TEMP[ADDR[0].x][1] has two indices, but the file one dimension
    "#]],
    );
    finds(
        "GEOM\nDCL IN[][0], POSITION\nDCL TEMP[0]\nMOV TEMP[0], IN[2][0]\nEND",
        expect![""],
    );
}

#[test]
fn operands() {
    frag_finds(
        "MOV TEMP[0]., IN[0]\nMOV NULL[0]., IN[0]",
        expect![[r#"
        7:5 error T0103: the write mask is empty
        8:5 warning T0103: the write mask is empty
    "#]],
    );
    frag_finds(
        "MOV\nADD TEMP[0]\nKILL TEMP[0]\nMOV TEMP[0], IN[0], IN[0]\nEMIT",
        expect![[r#"
        7:1 error T0104: destinations of MOV: 1 expected, 0 found
        7:1 error T0105: sources of MOV: 1 expected, 0 found
        8:1 error T0105: sources of ADD: 2 expected, 0 found
        9:1 error T0105: sources of KILL: 0 expected, 1 found
        10:1 error T0105: sources of MOV: 1 expected, 2 found
    "#]],
    );
    frag_finds(
        "UADD TEMP[0], -TEMP[1], |TEMP[2]|\nDADD TEMP[0].xy, -TEMP[0], TEMP[1]",
        expect![[r#"
        7:15 warning T0113: `-` on an integer operand of UADD (not every consumer takes it)
        7:25 warning T0113: `|..|` on an integer operand of UADD (not every consumer takes it)
        8:18 warning T0113: `-` on a 64-bit operand of DADD (not every consumer takes it)
    "#]],
    );
    frag_finds(
        "MOV TEMP[0], NULL[0]",
        expect![[r#"
        7:14 error T0114: NULL cannot be read
    "#]],
    );
    frag_finds(
        "MOV IN[0], TEMP[0]",
        expect![[r#"
        7:5 error T0119: IN cannot be written
    "#]],
    );
    frag_finds(
        "TEX TEMP[0], IN[0], SAMP[0]",
        expect![[r#"
        7:1 error T0115: TEX has no texture target (write it behind the sampler, as in `SAMP[0], 2D`)
    "#]],
    );
    finds(
        "FRAG\nIMM[0] FLT64 {1.0, 2.0}\nEND",
        expect![[r#"
        2:1 warning T0112: Mesa's sanity check refuses immediates of type FLT64
    "#]],
    );
}

#[test]
fn properties() {
    finds(
        "FRAG\nPROPERTY SHINY 1\nPROPERTY FS_COORD_ORIGIN MIDDLE\nPROPERTY MUL_ZERO_WINS yes\nEND",
        expect![[r#"
        2:1 warning T0116: property SHINY is not known (it is kept as it is)
        3:1 error T0117: property FS_COORD_ORIGIN has no value MIDDLE (expected UPPER_LEFT, LOWER_LEFT)
        4:1 error T0117: property MUL_ZERO_WINS has no value YES (expected a number)
    "#]],
    );
}

#[test]
fn flow() {
    finds(
        "FRAG\nNOP\n",
        expect![[r#"
        2:1 error T0106: there is no END
    "#]],
    );
    finds(
        "COMP\nBGNSUB\nRET\nENDSUB\n",
        expect![[r#"
        4:1 warning T0106: there is no END; the program is made of subroutines
    "#]],
    );
    finds(
        "FRAG\nEND\nEND\n",
        expect![[r#"
        3:1 error T0107: there is another END before
    "#]],
    );
    frag_finds(
        "ENDIF\nELSE\nENDLOOP\nENDSUB\nENDSWITCH",
        expect![[r#"
        7:1 error T0108: ENDIF closes nothing
        8:1 error T0108: ELSE closes nothing
        9:1 error T0108: ENDLOOP closes nothing
        10:1 error T0108: ENDSUB closes nothing
        11:1 error T0108: ENDSWITCH closes nothing
    "#]],
    );
    frag_finds(
        "IF IN[0].x\nELSE\nELSE\nENDIF\nBGNLOOP",
        expect![[r#"
        9:1 error T0108: ELSE closes nothing
        11:1 error T0109: BGNLOOP is never closed
    "#]],
    );
    frag_finds(
        "BGNLOOP\nIF IN[0].x\nENDLOOP\nENDIF",
        expect![[r#"
        8:1 error T0109: IF is never closed
        10:1 error T0108: ENDIF closes nothing
    "#]],
    );
    frag_finds(
        "BRK\nCONT\nDEFAULT\nIF IN[0].x\nBGNSUB\nENDSUB\nENDIF",
        expect![[r#"
        7:1 error T0110: BRK is in no loop or SWITCH
        8:1 error T0110: CONT is in no loop
        9:1 error T0110: DEFAULT is in no SWITCH
        11:1 error T0110: BGNSUB stands inside of another region
    "#]],
    );
    frag_finds(
        "IF IN[0].x :7\nENDIF\nBGNLOOP :0\nBRK\nENDLOOP :0",
        expect![[r#"
        7:1 warning T0118: branch labels that do not agree with the nesting: 1 (the nesting decides)
    "#]],
    );
    frag_finds(
        "CAL :2\nCAL :0\nCAL",
        expect![[r#"
        7:1 error T0120: CAL names no subroutine (its label is the position of a BGNSUB, counted from 0)
        8:1 error T0120: CAL names no subroutine (its label is the position of a BGNSUB, counted from 0)
        9:1 error T0120: CAL names no subroutine (its label is the position of a BGNSUB, counted from 0)
    "#]],
    );
    finds("FRAG\nCAL :2\nEND\nBGNSUB\nRET\nENDSUB", expect![""]);
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn findings_are_bounded() {
    let text = format!("FRAG\n{}END\n", "FOO\n".repeat(2000));
    let found = findings(text.as_bytes());
    assert_eq!(found.len(), 501);
    expect![[r#"
        501:1 error T0011: no opcode is called `FOO`
        501:1 error T0003: 1500 more findings are not shown
    "#]]
    .assert_eq(&render(&found[499..]));
}

#[test]
fn every_code_is_tested() {
    let tests = include_str!("diagnostics.rs");
    for line in include_str!("../src/codes.rs")
        .lines()
        .filter(|l| l.starts_with("pub const"))
    {
        let code = line.split('"').nth(1).unwrap();
        assert!(tests.contains(&format!("{code}:")), "{line}");
    }
}

#[test]
fn without_a_text_there_are_no_lines() {
    let (program, _) = parse("FRAG\nNOP\n");
    expect![[r#"
        0:0 error T0106: there is no END
    "#]]
    .assert_eq(&render(&check(&program, None)));
}
