//! Any text in: no panic, and what parses prints and parses to itself.

use tgsi::{Severity, check as diagnose, detect_dialect, parse, print};
use tgsi_opt::{Level, Options, optimize_text};

use crate::choices::Choices;

/// Pieces that mutations put in.
const PIECES: &[&str] = &[
    "IMM[0]",
    "TEMP[2147483647]",
    "TEMP[-1]",
    "[",
    "]",
    "ADDR[0].x",
    "(1)",
    ".xyzw",
    ".xxxxx",
    "-",
    "|",
    ",",
    ":0",
    "4294967296",
    "-2147483649",
    "DCL TEMP[0..4294967295]",
    "DCL TEMP[5..1]",
    "IMM FLT32 {",
    "}",
    "nan",
    "inf",
    "1e999",
    "0x",
    "0xffffffffff",
    "END\n",
    "BGNLOOP\n",
    "ENDLOOP\n",
    "IF ",
    "ELSE\n",
    "ENDIF\n",
    "CAL :1\n",
    "BGNSUB\n",
    "ENDSUB\n",
    "SWITCH ",
    "CASE ",
    "DEFAULT\n",
    "ENDSWITCH\n",
    "BRK\n",
    "CONT\n",
    "RET\n",
    "_SAT",
    "_PRECISE",
    "2D_MSAA",
    "SAMP[0]",
    "CONST[1][ADDR[0].x-3]",
    "OUT[ADDR[0].x](2)[ADDR[1].x+1](1)",
    "ARRAY(0)",
    "ARRAY(4294967295)",
    "LOCAL",
    "STREAM(0, 0, 1, 1)",
    "MOV NULL[0]., ",
    "\u{0}",
    "\u{fffd}",
    ";",
    "#",
    "\r",
    "STORE BUFFER[0].x, ",
    "PROPERTY ",
    "FRAG",
    "VERT",
    "IMM[1] FLT64 {",
    "IMM[1] UINT64 {18446744073709551616, 0}",
    "BRA :0\n",
    "CALLNZ TEMP[0] :3\n",
];

/// Words that stand between others.
const TOKENS: &[&str] = &[
    "DCL ",
    "IMM[0] ",
    "FLT32 ",
    "UINT32 ",
    "INT32 ",
    "IN[0]",
    "OUT[0]",
    "TEMP[0]",
    "TEMP[1..3]",
    "CONST[0][0]",
    "SV[0]",
    "SVIEW[0]",
    "IMAGE[0]",
    "BUFFER[0]",
    "MEMORY[0]",
    "POSITION",
    "GENERIC[",
    "COLOR",
    ", ",
    "PERSPECTIVE",
    "SHADOW2D",
    "0.5",
    "-1",
    "{1, 2, 3, 4}",
    ".x",
    ".xyzz",
    "IMM[",
    "|",
];

/// A text that differs from `text` in a few places which `bytes` choose.
pub fn mutate_text(text: &str, bytes: &[u8]) -> String {
    let mut c = Choices::new(bytes);
    let mut text: Vec<u8> = text.as_bytes().to_vec();
    for _ in 0..c.range(1, 6) {
        let at = c.below(text.len() + 1);
        let len = c.below(12).min(text.len() - at);
        match c.below(6) {
            0 => drop(text.drain(at..at + len)),
            1 => {
                let piece = c.name(PIECES);
                text.splice(at..at + len, piece.bytes());
            }
            2 => {
                let piece = c.name(PIECES);
                text.splice(at..at, piece.bytes());
            }
            3 => {
                let from = c.below(text.len() + 1);
                let piece: Vec<u8> = text[from..].iter().take(4 * len).copied().collect();
                text.splice(at..at, piece);
            }
            4 => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = c.word() as u8;
                }
            }
            _ => swap_lines(&mut text, &mut c),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn swap_lines(text: &mut Vec<u8>, c: &mut Choices<'_>) {
    let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (c.below(lines.len()), c.below(lines.len()));
    lines.swap(a, b);
    *text = lines.join(&b'\n');
}

/// Words and marks of the language in no order, and what the pieces hold.
pub fn random_text(bytes: &[u8]) -> String {
    let mut c = Choices::new(bytes);
    let mut text = c
        .name(&["FRAG\n", "VERT\n", "COMP\n", "GEOM\n", ""])
        .to_owned();
    while !c.is_empty() {
        match c.below(8) {
            0 | 1 => text += c.name(PIECES),
            2 => {
                let op = c.below(tgsi::opcode::OPCODES.len());
                text += tgsi::opcode::OPCODES[op].name;
            }
            3 => text += c.name(TOKENS),
            4 => text += &c.word().to_string(),
            5 => text.push('\n'),
            6 => text.push(c.below(128) as u8 as char),
            _ => text.push(' '),
        }
    }
    text
}

/// Whether a text was accepted as a program, after it was read, checked and printed, and, if it was
/// accepted, optimised. A text that was refused is printed and read once more too.
///
/// # Errors
/// If what was accepted does not survive printing.
pub fn check_text(text: &str) -> Result<bool, String> {
    let (program, diagnostics) = parse(text);
    let found = diagnose(&program, Some(text));
    let dialect = detect_dialect(text, &program);
    let printed = print(&program, &dialect);
    let (again, new) = parse(&printed);
    if diagnostics
        .iter()
        .chain(&found)
        .any(|d| d.severity == Severity::Error)
    {
        return Ok(false);
    }
    if let Some(d) = new.iter().find(|d| d.severity == Severity::Error) {
        return Err(format!(
            "the print of a sound program has an error: {} (line {})\n{printed}",
            d.message, d.line
        ));
    }
    let second = print(&again, &dialect);
    if second != printed {
        return Err(format!("printing again differs:\n{printed}\n{second}"));
    }
    let options = Options {
        level: Level::O1,
        ..Options::default()
    };
    optimize_text(text, &options, None)
        .map(|_| true)
        .map_err(|d| format!("refused: {d:?}"))
}
