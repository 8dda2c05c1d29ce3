//! Printing and reading again, over own snippets for every feature of the grammar.

use expect_test::{Expect, expect};
use tgsi::{
    Dialect, FloatForm, Item, Labels, NonFinite, Program, Severity, detect_dialect, parse,
    parse_bytes, print,
};

mod snippets;
use snippets::SNIPPETS;

fn without_labels(mut program: Program) -> Program {
    program.insts.iter_mut().for_each(|i| i.label = None);
    program
}

/// Without labels, and with every immediate of one type.
fn bits_only(program: Program) -> Program {
    let mut program = without_labels(program);
    for item in &mut program.header {
        if let Item::Imm(imm) = item {
            imm.ty = tgsi::ImmType::Uint32;
        }
    }
    program
}

fn dialects(own: Dialect) -> Vec<Dialect> {
    let mut all = vec![own, Dialect::mesa(), Dialect::virgl(), Dialect::legacy()];
    for form in [
        FloatForm::Hex,
        FloatForm::Shortest,
        FloatForm::Fixed(4),
        FloatForm::Fixed(8),
    ] {
        for non_finite in [NonFinite::Word, NonFinite::Hex, NonFinite::Uint32] {
            let base = Dialect {
                flt32: form,
                flt64: form,
                non_finite,
                ..Dialect::mesa()
            };
            all.push(Dialect {
                labels: Labels::Full,
                imm_numbers: false,
                ..base.clone()
            });
            all.push(Dialect {
                numbers: false,
                margin: 3,
                indent: 7,
                ..base
            });
        }
    }
    all
}

/// Prints `program` in every dialect and reads it again.
#[track_caller]
fn survives(program: &Program, own: Dialect) {
    for dialect in dialects(own) {
        let program = &Program {
            version: program.version.filter(|_| dialect.version),
            ..program.clone()
        };
        let printed = print(program, &dialect);
        let again = parse(&printed).0;
        if dialect.non_finite == NonFinite::Uint32 {
            assert_eq!(
                bits_only(again.clone()),
                bits_only(program.clone()),
                "{dialect:?}:\n{printed}"
            );
        } else {
            assert_eq!(
                without_labels(again.clone()),
                without_labels(program.clone()),
                "{printed}"
            );
        }
        // Labels are settled by the first print.
        assert_eq!(parse(&print(&again, &dialect)).0, again, "{printed}");
    }
}

#[test]
fn snippets_survive_every_dialect() {
    for text in SNIPPETS {
        let (program, found) = parse(text);
        assert!(
            found.iter().all(|d| d.severity == Severity::Warning),
            "{text}\n{found:?}"
        );
        survives(&program, detect_dialect(text, &program));
    }
}

#[test]
fn snippets_in_printed_form_stay_as_they_are() {
    for text in SNIPPETS.iter().filter(|t| !t.contains("; free form")) {
        let program = parse(text).0;
        assert_eq!(print(&program, &detect_dialect(text, &program)), *text);
    }
}

#[test]
fn line_ends_case_and_layout_mean_nothing() {
    for text in SNIPPETS {
        let program = parse(text).0;
        assert_eq!(parse(&text.replace('\n', "\r\n")).0, program);
        assert_eq!(parse(&text.to_lowercase()).0, program, "{text}");
        assert_eq!(parse(&format!("\u{feff}{text}")).0, program);
        assert_eq!(parse(&text.replace('\n', " # note\n")).0, program);
        assert_eq!(parse_bytes(text.as_bytes()).0, program);
    }
}

#[track_caller]
fn prints(text: &str, dialect: &Dialect, expected: Expect) {
    expected.assert_eq(&print(&parse(text).0, dialect));
}

const FLOW: &str = "FRAG DCL IN[0], COLOR DCL OUT[0], COLOR
IMM FLT32 {1.0, -0.0, 0.1, 1e-7} IMM FLT32 {inf, -inf, nan, 1} IMM FLT64 {0.1, 3} IMM INT32 {-1, 0x7fffffff}
bgnloop if IN[0].x uif in[0].y brk else cont endif endif endloop KIL IN[0] KILP END";

#[test]
fn mesa() {
    prints(
        FLOW,
        &Dialect::mesa(),
        expect![[r#"
        FRAG
        DCL IN[0], COLOR
        DCL OUT[0], COLOR
        IMM[0] FLT32 {1.0, -0.0, 0.1, 1e-7}
        IMM[1] UINT32 {2139095040, 4286578688, 2143289344, 1065353216}
        IMM[2] FLT64 {0.1, 3.0}
        IMM[3] INT32 {-1, 2147483647, 0, 0}
          0: BGNLOOP :0
          1:   IF IN[0].xxxx :7
          2:     UIF IN[0].yyyy :4
          3:       BRK
          4:     ELSE :6
          5:       CONT
          6:     ENDIF
          7:   ENDIF
          8: ENDLOOP :0
          9: KILL_IF IN[0]
         10: KILL
         11: END
    "#]],
    );
}

#[test]
fn virgl() {
    prints(
        FLOW,
        &Dialect::virgl(),
        expect![[r#"
        FRAG
        DCL IN[0], COLOR
        DCL OUT[0], COLOR
        IMM[0] FLT32 {0x3f800000, 0x80000000, 0x3dcccccd, 0x33d6bf95}
        IMM[1] FLT32 {0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000}
        IMM[2] FLT64 {0.1, 3.0}
        IMM[3] INT32 {-1, 2147483647, 0, 0}
          0: BGNLOOP :0
          1:   IF IN[0].xxxx :7
          2:     UIF IN[0].yyyy :4
          3:       BRK
          4:     ELSE :6
          5:       CONT
          6:     ENDIF
          7:   ENDIF
          8: ENDLOOP :0
          9: KILL_IF IN[0]
         10: KILL
         11: END
    "#]],
    );
}

#[test]
fn legacy() {
    prints(
        FLOW,
        &Dialect::legacy(),
        expect![[r#"
        FRAG
        DCL IN[0], COLOR
        DCL OUT[0], COLOR
        IMM[0] FLT32 {1.0, -0.0, 0.1, 1e-7}
        IMM[1] UINT32 {2139095040, 4286578688, 2143289344, 1065353216}
        IMM[2] FLT64 {0.1, 3.0}
        IMM[3] INT32 {-1, 2147483647, 0, 0}
        BGNLOOP
        IF IN[0].xxxx
        UIF IN[0].yyyy
        BRK
        ELSE
        CONT
        ENDIF
        ENDIF
        ENDLOOP
        KIL IN[0]
        KILP
        END
    "#]],
    );
}

#[test]
fn hex_and_full_labels() {
    let dialect = Dialect {
        flt64: FloatForm::Hex,
        labels: Labels::Full,
        imm_numbers: false,
        ..Dialect::virgl()
    };
    prints(
        FLOW,
        &dialect,
        expect![[r#"
        FRAG
        DCL IN[0], COLOR
        DCL OUT[0], COLOR
        IMM FLT32 {0x3f800000, 0x80000000, 0x3dcccccd, 0x33d6bf95}
        IMM FLT32 {0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000}
        IMM FLT64 {0x9999999a, 0x3fb99999, 0x00000000, 0x40080000}
        IMM INT32 {-1, 2147483647, 0, 0}
          0: BGNLOOP :8
          1:   IF IN[0].xxxx :7
          2:     UIF IN[0].yyyy :4
          3:       BRK
          4:     ELSE :6
          5:       CONT
          6:     ENDIF
          7:   ENDIF
          8: ENDLOOP :0
          9: KILL_IF IN[0]
         10: KILL
         11: END
    "#]],
    );
}

#[test]
fn immediates_stand_where_their_numbers_say() {
    let text = "FRAG\nIMM[3] UINT32 {3}\nDCL TEMP[0]\nIMM[1] UINT32 {1, 1}\nEND";
    prints(
        text,
        &Dialect::mesa(),
        expect![[r#"
        FRAG
        IMM[0] UINT32 {0, 0, 0, 0}
        IMM[1] UINT32 {1, 1, 0, 0}
        IMM[2] UINT32 {0, 0, 0, 0}
        IMM[3] UINT32 {3, 0, 0, 0}
        DCL TEMP[0]
          0: END
    "#]],
    );
    let implicit = "FRAG\nIMM UINT32 {0}\nIMM[1] UINT32 {1}\nIMM UINT32 {2}\nEND";
    assert!(parse(implicit).1.is_empty());
}

#[test]
fn hex_of_floats_means_bits() {
    let (program, found) = parse(
        "FRAG\nIMM FLT32 {0x1, 0x7f800001, -1.5e+2, .5}\nIMM FLT64 {0x00000001 0x3ff00000, 0x4000000000000000}\nEND",
    );
    assert!(found.is_empty());
    let words = program.header.iter().map(|i| match i {
        Item::Imm(imm) => imm.words,
        _ => [0; 4],
    });
    let words: Vec<_> = words.collect();
    assert_eq!(
        words,
        [
            [1, 0x7f80_0001, (-150f32).to_bits(), 0.5f32.to_bits()],
            [1, 0x3ff0_0000, 0, 0x4000_0000],
        ]
    );
}

#[test]
fn swizzles_inside_and_outside_of_bars() {
    let text = "FRAG MOV TEMP[0], -|IN[0].yxzw|.yyzw MOV TEMP[0], |-IN[0]|.z MOV TEMP[0].rb, IN[0].abgr MOV TEMP[0], IN[0].xz END";
    prints(
        text,
        &Dialect::mesa(),
        expect![[r#"
        FRAG
          0: MOV TEMP[0], -|IN[0].xxzw|
          1: MOV TEMP[0], |IN[0].zzzz|
          2: MOV TEMP[0].xz, IN[0].wzyx
          3: MOV TEMP[0], IN[0].xzzz
          4: END
    "#]],
    );
}

/// A small generator of numbers: xorshift, the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}

/// One random change: a byte, a piece cut out, a piece of another snippet put in.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    const BYTES: &[u8] = b" \n,.:;[](){}|-+0129xyzwXIMDTEUFL_\xff";
    let at = random.below(text.len());
    let end = (at + 1 + random.below(12)).min(text.len());
    match random.below(5) {
        0 => text[at] = BYTES[random.below(BYTES.len())],
        1 => text[at] = random.next() as u8,
        2 => drop(text.drain(at..end)),
        3 => text.insert(at, BYTES[random.below(BYTES.len())]),
        _ => {
            let other = SNIPPETS[random.below(SNIPPETS.len())].as_bytes();
            let from = random.below(other.len());
            let to = (from + 1 + random.below(40)).min(other.len());
            text.splice(at..at, other[from..to].iter().copied());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn damaged_programs_survive_as_well() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..4000 {
        let mut text = SNIPPETS[random.below(SNIPPETS.len())].as_bytes().to_vec();
        for _ in 0..1 + random.below(6) {
            mutate(&mut text, &mut random);
            text.push(b'\n');
        }
        let (program, _) = parse_bytes(&text);
        let lossy = String::from_utf8_lossy(&text);
        let _ = tgsi::check(&program, Some(&lossy));
        survives(&program, detect_dialect(&lossy, &program));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn any_bytes_give_an_answer() {
    let mut random = Random(42);
    for round in 0..2000 {
        let len = random.below(400);
        let mut bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        if round % 2 == 0 {
            bytes
                .iter_mut()
                .for_each(|b| *b = b"FRAG[]{}(),.:|-+019xyzTEMPIMDCL \n"[usize::from(*b) % 33]);
        }
        let (program, _) = parse_bytes(&bytes);
        let _ = tgsi::check(&program, None);
        survives(&program, Dialect::mesa());
    }
}
