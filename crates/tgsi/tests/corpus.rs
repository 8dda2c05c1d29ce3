//! Real programs: read, printed in their own dialect, and read again.

mod common;

use tgsi::{
    Dialect, ImmType, Item, Labels, NonFinite, Program, Severity, check, codes, detect_dialect,
    parse, print,
};

fn without_labels(mut program: Program) -> Program {
    program.insts.iter_mut().for_each(|i| i.label = None);
    program
}

/// With every immediate of one type: what counts is its bits.
fn bits_only(mut program: Program) -> Program {
    for item in &mut program.header {
        if let Item::Imm(imm) = item {
            imm.ty = ImmType::Uint32;
        }
    }
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
            let (a, b) = match dialect.non_finite {
                NonFinite::Uint32 => (bits_only(a), bits_only(b)),
                _ => (a, b),
            };
            assert!(a == b, "{name} in {dialect:?}");
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

#[test]
fn the_check_agrees_with_mesa() {
    let Ok(index) = std::fs::read_to_string(common::root().join("index.tsv")) else {
        return eprintln!("skipped: no shared data");
    };
    let mut rows = index.lines().map(|l| l.split('\t').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = head.iter().position(|&c| c == "sane").unwrap();
    // What Mesa's check refuses, though all of it has a meaning.
    let refused = [
        codes::UNDECLARED,
        codes::REDECLARED,
        codes::EMPTY_MASK,
        codes::INDEX_RANGE,
        codes::WIDE_IMMEDIATE,
        codes::DIMENSIONS,
    ];
    let mut differ = Vec::new();
    for row in rows {
        let text = std::fs::read_to_string(common::root().join(row[0])).unwrap();
        let program = parse(&text).0;
        let found = check(&program, Some(&text));
        let ours = found.iter().all(|d| !refused.contains(&d.code));
        if ours != (row[column] == "ok") {
            differ.push(format!("{}: Mesa says {}, {found:?}", row[0], row[column]));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
