//! Large and degenerate inputs: time and memory stay in proportion.

use std::time::{Duration, Instant};

use tgsi::{Dialect, Severity, check, detect_dialect, parse, parse_bytes, print};

/// Instructions in the large cases: a million where the code is optimised for speed.
const MANY: usize = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// Runs `work` and demands that it ends in seconds.
#[track_caller]
fn soon(work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let time = start.elapsed();
    assert!(time < Duration::from_secs(5), "{time:?}");
}

/// Reads, checks and prints a text whatever it is.
fn process(text: &str) {
    let (program, _) = parse(text);
    check(&program, Some(text));
    let printed = print(&program, &detect_dialect(text, &program));
    assert!(printed.len() < 256 * (MANY + 100));
}

#[test]
fn many_instructions() {
    let line = "  0: MAD_SAT TEMP[1].xyz, TEMP[2].wzyx, -|CONST[ADDR[0].x+3]|, IMM[0].xxxx\n";
    let head =
        "FRAG\nDCL TEMP[0..9]\nDCL CONST[0..9]\nDCL ADDR[0]\nIMM[0] FLT32 {0x3f800000, 0, 0, 0}\n";
    let text = format!("{head}{}END\n", line.repeat(MANY));
    soon(|| {
        let (program, found) = parse(&text);
        assert!(found.is_empty());
        assert_eq!(program.insts.len(), MANY + 1);
        assert!(check(&program, Some(&text)).is_empty());
        let printed = print(&program, &Dialect::mesa());
        assert!(printed.len() > text.len() / 2);
    });
}

#[test]
fn deep_nesting() {
    let depth = MANY / 10;
    let open = "BGNLOOP\nUIF TEMP[0].xxxx\n".repeat(depth);
    let close = "BRK\nENDIF\nENDLOOP\n".repeat(depth);
    let text = format!("FRAG\nDCL TEMP[0]\n{open}{close}END\n");
    soon(|| {
        let (program, found) = parse(&text);
        assert!(found.is_empty());
        assert!(check(&program, Some(&text)).is_empty());
        let printed = print(&program, &Dialect::mesa());
        assert!(printed.len() < 160 * program.insts.len());
        assert_eq!(parse(&printed).0.insts.len(), program.insts.len());
    });
}

#[test]
fn wrong_nesting() {
    for pattern in [
        "ELSE\n",
        "ENDIF\n",
        "IF IN[0]\n",
        "BGNLOOP\nENDIF\n",
        "IF IN[0]\nBGNLOOP\nELSE\nENDIF\n",
        "BGNSUB\n",
    ] {
        soon(|| process(&format!("FRAG\n{}", pattern.repeat(MANY / 10))));
    }
}

#[test]
fn extreme_indices() {
    let text = "FRAG
DCL TEMP[0..2147483647]
DCL TEMP[2147483647]
DCL CONST[2147483647][0..2147483647]
IMM[4294967295] UINT32 {1}
MOV TEMP[2147483647], CONST[2147483647][2147483647]
MOV TEMP[ADDR[2147483647].x-2147483648](4294967295), TEMP[ADDR[0].x+2147483647]
CAL :4294967295
99999999999999999999999: END
";
    soon(|| process(text));
    let program = parse(text).0;
    assert_eq!(parse(&print(&program, &Dialect::mesa())).0, program);
}

#[test]
fn degenerate_texts() {
    let many = MANY;
    let texts = [
        "(".repeat(many),
        "-".repeat(many),
        "1".repeat(many),
        format!("FRAG MOV {}", "|".repeat(many)),
        format!("FRAG MOV TEMP[{}", "ADDR[".repeat(many)),
        format!("FRAG IMM FLT32 {{{}}}", "1".repeat(many)),
        format!("FRAG IMM FLT32 {{{}}}", "1,".repeat(many)),
        format!("FRAG {}", "IMM FLT32 {\n".repeat(many / 10)),
        format!("FRAG {}", "IMM[65535] FLT32 {1}\n".repeat(many / 10)),
        format!("FRAG {}", "DCL TEMP[0]\n".repeat(many / 10)),
        format!("FRAG DCL TEMP[0]{}", ", FOO".repeat(many)),
        format!("FRAG DCL TEMP[0], FOO({}", "x ".repeat(many)),
        format!("FRAG PROPERTY X {}", "1 ".repeat(many)),
        format!("FRAG {}", "1: ".repeat(many)),
        format!("FRAG MOV {}", "TEMP[0], ".repeat(many)),
        format!("FRAG TEX TEMP[0], {}", "2D, TEMP[0], ".repeat(many)),
        format!("FRAG {}", "WRONG\n".repeat(many)),
        format!("FRAG MOV{}TEMP[0]", "\n;".repeat(many)),
        format!("FRAG {}", "A".repeat(many)),
        format!("FRAG {}", "MOV_SAT_SAT_PRECISE_SAT ".repeat(many)),
        format!("FRAG MOV{}", "_SAT".repeat(many)),
    ];
    for text in texts {
        soon(|| process(&text));
    }
    soon(|| drop(parse_bytes(&vec![0xff; many])));
}

#[test]
fn errors_are_found_behind_many_warnings() {
    let text = format!(
        "FRAG\nDCL IN[0], COLOR\n{}FOO\nEND\n",
        "MOV TEMP[0], IN[0].xy\n".repeat(2000)
    );
    let found = parse(&text).1;
    assert!(
        found
            .iter()
            .any(|d| d.severity == Severity::Error && d.line == 2003)
    );
}
