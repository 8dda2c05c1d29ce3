//! Real programs: read, printed in their own dialect, and read again.

mod common;

use tgsi::{Dialect, Labels, NonFinite, Program, Severity, check, detect_dialect, parse, print};

fn without_labels(mut program: Program) -> Program {
    program.insts.iter_mut().for_each(|i| i.label = None);
    program
}

/// The text without branch labels, which may be stale in real text.
fn strip_labels(text: &str) -> String {
    let strip = |line: &str| match line.rsplit_once(" :") {
        Some((front, label)) if label.bytes().all(|b| b.is_ascii_digit()) => front.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|l| strip(l) + "\n").collect()
}

#[test]
fn every_program_is_read_and_printed_back() {
    let (mut same, mut stale, mut total) = (0, 0, 0);
    let mut bad = Vec::new();
    for path in common::corpus() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path
            .strip_prefix(path.parent().unwrap().parent().unwrap())
            .unwrap()
            .display()
            .to_string();
        let (program, found) = parse(&text);
        total += 1;
        if let Some(d) = found
            .iter()
            .chain(&check(&program, Some(&text)))
            .find(|d| d.severity == Severity::Error)
        {
            bad.push(format!(
                "{name}:{}:{}: {} {}",
                d.line, d.column, d.code, d.message
            ));
        }
        let own = detect_dialect(&text, &program);
        let printed = print(&program, &own);
        if printed == text {
            same += 1;
        } else if strip_labels(&printed) == strip_labels(&text) {
            stale += 1;
        } else {
            let pair = text.lines().zip(printed.lines()).find(|(a, b)| a != b);
            bad.push(format!("{name}: printed differently: {pair:?}"));
        }
        for dialect in dialects(own) {
            let printed = print(&program, &dialect);
            let (again, found) = parse(&printed);
            assert!(
                found.iter().all(|d| d.severity == Severity::Warning),
                "{name}: {found:?}"
            );
            let (a, b) = (without_labels(program.clone()), without_labels(again));
            if dialect.non_finite == NonFinite::Uint32 {
                let words = |p: &Program| format!("{:?}", p.header.len());
                assert_eq!(words(&a), words(&b), "{name}");
                assert_eq!(a.insts, b.insts, "{name}");
            } else {
                assert!(a == b, "{name} in {dialect:?}");
            }
            assert_eq!(print(&b, &dialect), print(&a, &dialect), "{name}");
        }
    }
    eprintln!("{same} of {total} printed to the byte, {stale} but for their stale labels");
    assert!(
        bad.is_empty(),
        "{} findings:\n{}",
        bad.len(),
        bad.join("\n")
    );
    if total > 0 {
        assert_eq!(same + stale, total);
    }
}

fn dialects(own: Dialect) -> Vec<Dialect> {
    let word = |d: Dialect| Dialect {
        non_finite: NonFinite::Word,
        ..d
    };
    vec![
        own,
        word(Dialect::mesa()),
        Dialect::mesa(),
        Dialect::virgl(),
        word(Dialect::legacy()),
        Dialect {
            labels: Labels::Full,
            imm_numbers: false,
            ..word(Dialect::virgl())
        },
    ]
}
