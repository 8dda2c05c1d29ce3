//! The counters against the recorded figures of captured programs, where such are at hand.

use std::path::PathBuf;

use tgsi::{Opcode, Program};
use tgsi_target::{Target, count, virgl_introduces};

/// The folder of shared data: `TGSI_SHARED`, or `shared` beside the repository.
fn shared() -> Option<PathBuf> {
    let path = match std::env::var_os("TGSI_SHARED") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    path.join("corpus/index.tsv").is_file().then_some(path)
}

#[test]
fn counts_agree_with_the_recorded_ones() {
    let Some(shared) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let corpus = shared.join("corpus");
    let index = std::fs::read_to_string(corpus.join("index.tsv")).expect("the index");
    let mut lines = index.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).expect("the column");
    let file = column("file");
    let columns: Vec<(&str, usize)> = ["instrs", "temps", "tex", "loops", "ifs", "num_tokens"]
        .map(|n| (n, column(n)))
        .to_vec();
    let mut programs = 0;
    let mut wrong: Vec<String> = Vec::new();
    for line in lines {
        let row: Vec<&str> = line.split('\t').collect();
        let text = std::fs::read_to_string(corpus.join(row[file])).expect("the program");
        let (program, _) = tgsi::parse(&text);
        let c = count(&program);
        programs += 1;
        for (name, at) in &columns {
            let has = match *name {
                "instrs" => c.instructions,
                "temps" => c.temps,
                "tex" => c.tex,
                "loops" => c.loops,
                "ifs" => c.ifs,
                _ => c.tokens,
            };
            // One writer gives BARRIER a word of memory flags and another does not; the text
            // does not tell them apart.
            let barriers = program
                .insts
                .iter()
                .filter(|i| i.op == Opcode::Barrier)
                .count() as u32;
            let spare = if *name == "num_tokens" { barriers } else { 0 };
            let recorded: u32 = row[*at].parse().expect("a number");
            if !(recorded..=recorded + spare).contains(&has) {
                wrong.push(format!(
                    "{}: {name} {has}, recorded {}",
                    row[file], row[*at]
                ));
            }
        }
    }
    println!("{programs} programs, {} differences", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(400)].join("\n")
    );
}

#[test]
fn a_program_introduces_nothing_into_itself_and_fits() {
    let Some(shared) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let corpus = shared.join("corpus");
    let index = std::fs::read_to_string(corpus.join("index.tsv")).expect("the index");
    let generic = Target::default();
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    for line in index.lines().skip(1) {
        let file = line.split('\t').next().unwrap_or_default();
        let text = std::fs::read_to_string(corpus.join(file)).expect("the program");
        let (program, _) = tgsi::parse(&text);
        assert_eq!(
            virgl_introduces(&program, &program),
            Vec::<String>::new(),
            "{file}"
        );
        assert!(generic.fits(&program, &count(&program)), "{file}");
        let nothing = Program {
            header: Vec::new(),
            insts: Vec::new(),
            ..program.clone()
        };
        for finding in virgl_introduces(&nothing, &program) {
            let kind = finding.split(" (").next().unwrap_or_default().to_owned();
            *kinds.entry(kind).or_default() += 1;
        }
    }
    println!("programs with each finding: {kinds:#?}");
}
