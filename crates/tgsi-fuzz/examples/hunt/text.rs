//! Texts: mutated ones of the generator and of the corpus, and bytes at random.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use tgsi_fuzz::{check_text, mutate_text, program_text, random_text, seeded_bytes};

use super::Hunt;

/// The programs of `tests/corpus`.
fn corpus() -> &'static [String] {
    static CORPUS: OnceLock<Vec<String>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let mut files = Vec::new();
        find(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
            &mut files,
        );
        files.sort();
        files
            .iter()
            .filter_map(|f| std::fs::read_to_string(f).ok())
            .collect()
    })
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "tgsi") {
            files.push(path);
        }
    }
}

pub(crate) fn one(hunt: &Hunt, seed: u64) {
    let bytes = seeded_bytes(seed, hunt.request.bytes(seed));
    let choices = seeded_bytes(!seed, 256);
    let corpus = corpus();
    let text = match seed % 4 {
        0 => mutate_text(&program_text(&bytes), &choices),
        1 if !corpus.is_empty() => {
            mutate_text(&corpus[(seed / 4) as usize % corpus.len()], &choices)
        }
        2 => random_text(&bytes),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    };
    hunt.add("bytes", text.len() as u64);
    let start = Instant::now();
    let verdict = catch_unwind(AssertUnwindSafe(|| check_text(&text)));
    let took = start.elapsed();
    if took.as_millis() as usize > 500 + text.len() / 10 {
        let first = hunt.fault("slow".into());
        println!("=== seed {seed} took {took:?} for {} bytes", text.len());
        if first {
            println!("{text}");
        }
    }
    let fault = match verdict {
        Ok(Ok(accepted)) => return hunt.add("accepted texts", u64::from(accepted)),
        Ok(Err(fault)) => fault,
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| "a panic".into()),
    };
    let kind: String = fault.chars().take(40).take_while(|c| *c != '\n').collect();
    println!("=== seed {seed} {fault}");
    if hunt.fault(kind) {
        println!("{text}");
    }
}
