//! What several tests of results begin with.

use std::fs;
use std::path::{Path, PathBuf};

use tgsi::Program;

/// The programs of `tests/corpus`, those in its folders left out.
pub(crate) fn corpus() -> Vec<(PathBuf, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the corpus")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "tgsi"))
        .collect();
    found.sort();
    assert!(found.len() > 50);
    let read = |p: PathBuf| {
        let text = fs::read_to_string(&p).expect("text");
        (p, tgsi::parse(&text).0)
    };
    found.into_iter().map(read).collect()
}
