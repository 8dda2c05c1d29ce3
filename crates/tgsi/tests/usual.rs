//! Lines of the usual form are read by a reader of their own. A blank in every bracket
//! makes a line unusual, and must change nothing.

mod common;
mod snippets;

use snippets::SNIPPETS;
use tgsi::{Diagnostic, Span, parse};

/// Lines that are nearly, or not quite, of the usual form.
const LINES: &[&str] = &[
    "MOV TEMP[0], TEMP[1]",
    "MOV TEMP[0].yx, TEMP[1]",
    "MOV TEMP[0].xyzwx, TEMP[1]",
    "MOV TEMP[0]., TEMP[1]",
    "MOV TEMP[0].q, TEMP[1]",
    "MOV TEMP[0], TEMP[1].xy",
    "MOV TEMP[0], TEMP[1].xyz",
    "MOV TEMP[0], TEMP[1].xyzwx",
    "MOV TEMP[0], TEMP[1].rgba",
    "MOV TEMP[0], TEMP[1].",
    "MOV TEMP[0], |TEMP[1]",
    "MOV TEMP[0], TEMP[1]|",
    "MOV TEMP[0], |TEMP[1]|.x",
    "MOV TEMP[0], -|TEMP[1].wzyx|",
    "MOV TEMP[0], --TEMP[1]",
    "MOV TEMP[0], +TEMP[1]",
    "MOV TEMP[0] , TEMP[1]",
    "MOV TEMP[0],TEMP[1]",
    "MOV TEMP[0] TEMP[1]",
    "MOV TEMP[0], TEMP[1],",
    "MOV TEMP[0], TEMP[1], TEMP[2]",
    "MOV TEMP[0], TEMP[1], 2D",
    "MOV TEMP[0], TEMP[1] ADD TEMP[0], TEMP[1], TEMP[2]",
    "MOV TEMP[0], TEMP[1] ; a comment",
    "MOV TEMP[0], TEMP[1]  \r",
    "MOV TEMP[0], TEMP[1] :3",
    "MOV TEMP[0], CONST[1][2].x",
    "MOV TEMP[0], CONST[1][2][3]",
    "MOV TEMP[0], IN[1](2)",
    "MOV TEMP[0], TEMP[1234567]",
    "MOV TEMP[0], TEMP[12345678]",
    "MOV TEMP[0], TEMP[99999999999]",
    "MOV TEMP[0], TEMP[-1]",
    "MOV TEMP[0], TEMP[]",
    "MOV TEMP[0], WORDS[1]",
    "mov temp[0], temp[1]",
    "MOV_SAT TEMP[0], TEMP[1]",
    "MOV_PRECISE_SAT TEMP[0], TEMP[1]",
    "MOV_SAT_SAT TEMP[0], TEMP[1]",
    "MOV_ TEMP[0], TEMP[1]",
    "_SAT TEMP[0], TEMP[1]",
    "INTERP_CENTROID TEMP[0], IN[0]",
    "MOV",
    "MOV TEMP[0]",
    "ADD TEMP[0], TEMP[1]",
    "TEX TEMP[0], TEMP[1], SAMP[0], 2D",
    "TEX TEMP[0], TEMP[1], SAMP[0], 2D_ARRAY",
    "TEX TEMP[0], TEMP[1], SAMP[0], 4D",
    "TEX TEMP[0], TEMP[1], SAMP[0], 2D, IMM[0].xyz",
    "TEX TEMP[0], TEMP[1], 2D, SAMP[0]",
    "LOAD TEMP[0], BUFFER[0], TEMP[1], COHERENT",
    "STORE BUFFER[0].x, TEMP[0], TEMP[1]",
    "IF TEMP[0].xxxx :7",
    "IF TEMP[0].xxxx\n:7",
    "ELSE :99999999999",
    "ELSE :",
    "EMIT",
    "EMIT IMM[0].xxxx",
    "EMIT\nMOV TEMP[0], TEMP[1]",
    "END",
    "END TEMP[0]",
    "12: MOV TEMP[0], TEMP[1]",
    "12:MOV TEMP[0], TEMP[1]",
    "12 : MOV TEMP[0], TEMP[1]",
    "12: 13: MOV TEMP[0], TEMP[1]",
    "12: DCL TEMP[3]",
    "12:",
    "12",
];

fn findings(found: &[Diagnostic]) -> Vec<(&str, &str)> {
    found.iter().map(|d| (d.code, &*d.message)).collect()
}

/// Reads a text as it is and with blanks, and compares.
fn compare(text: &str) {
    let blanks = |text: &str| text.replace('[', "[ ").replace(':', ": ");
    let unusual = blanks(text);
    let (a, found_a) = parse(text);
    let (b, found_b) = parse(&unusual);
    assert_eq!(findings(&found_a), findings(&found_b), "{text}");
    assert_eq!(a, b, "{text}");
    let same = |a: Span, b: Span| {
        let a = &text[a.start as usize..a.end as usize];
        let b = &unusual[b.start as usize..b.end as usize];
        assert_eq!(blanks(a).trim_end(), b.trim_end(), "{text}");
    };
    for (a, b) in a.insts.iter().zip(&b.insts) {
        same(a.span, b.span);
        let (dsts, srcs) = (a.dsts.iter().zip(&b.dsts), a.srcs.iter().zip(&b.srcs));
        dsts.for_each(|(a, b)| same(a.span, b.span));
        srcs.for_each(|(a, b)| same(a.span, b.span));
    }
}

#[test]
fn blanks_change_nothing_in_a_line() {
    for line in LINES {
        for behind in [
            "",
            "\n",
            "\nEND\n",
            "\n  3: ADD TEMP[0], TEMP[1], TEMP[2]\n",
            " ",
        ] {
            compare(&format!("FRAG\n{line}{behind}"));
            compare(&format!("FRAG\nMOV TEMP[5], TEMP[6]\n  {line}{behind}"));
        }
        for cut in 1..line.len() {
            compare(&format!("FRAG\n{}", &line[..cut]));
        }
    }
}

#[test]
fn blanks_change_nothing_in_programs() {
    SNIPPETS.iter().for_each(|text| compare(text));
    for path in common::corpus().iter().step_by(7) {
        compare(&std::fs::read_to_string(path).unwrap_or_default());
    }
}
