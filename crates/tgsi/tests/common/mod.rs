//! Where measuring data lies, for tests that can use it.

use std::path::{Path, PathBuf};

/// The folder of the shared corpus, which may not be there.
pub(crate) fn root() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("TGSI_SHARED")
        .map_or(beside, PathBuf::from)
        .join("corpus")
}

/// The programs of the shared corpus, sorted; none when it is not there.
pub(crate) fn corpus() -> Vec<PathBuf> {
    let mut files: Vec<_> = list(&root()).iter().flat_map(|f| list(f)).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "tgsi"));
    files.sort();
    if files.is_empty() {
        eprintln!("skipped: no shared data");
    }
    files
}

fn list(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect()
}
