//! The project's integration tests, one binary with named trials:
//!
//! - `cases/PASS/PROPERTY`: a program with a `RUN` head, see [`case`];
//! - `wrong/NAME`: a wrong result for `cases/faults/NAME`, which the same checks must refuse;
//! - `corpus/NAME/input`: a captured program parses and says something;
//! - `corpus/NAME/LEVEL`: the same optimised, under every treatment;
//! - `corpus/counts`: the table of instruction counts;
//! - `shared/FOLDER`: a larger corpus where there is one, see [`shared`];
//! - `tidy/RULE`: rules of the tree.
//!
//! `UPDATE_EXPECT=1 cargo test -p tgsi-tests` rewrites every `.expected` file.

mod case;
mod corpus;
mod indirections;
mod oracle;
mod shared;
mod text;
mod tidy;
mod treat;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Trial};

fn main() {
    let args = Arguments::from_args();
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(case::trials());
    trials.extend(corpus::trials());
    trials.extend(indirections::trials());
    trials.extend(shared::trials());
    trials.extend(tidy::trials());
    libtest_mimic::run(&args, trials).exit();
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below `dir` with this extension, in name order.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What a trial reports.
type Check = Result<(), String>;

/// A trial that fails with the text of its error.
fn trial(name: String, check: impl FnOnce() -> Check + Send + 'static) -> Trial {
    Trial::test(name, move || check().map_err(Into::into))
}
