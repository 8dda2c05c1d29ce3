//! A larger corpus of captured programs, where one lies beside the repository in
//! `../shared/corpus` or in `$TGSI_SHARED/corpus`. It takes minutes, so it runs only when asked
//! for: `cargo test -p tgsi-tests -- --ignored shared/`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use libtest_mimic::Trial;
use tgsi_opt::Options;
use tgsi_target::Target;

use crate::{Check, files, oracle::Closeness, root, text, treat, trial};

/// Failures that a trial describes in full; the others are counted.
const DESCRIBED: usize = 5;

const TARGETS: [&str; 2] = ["generic", "virgl"];

/// The folder of the larger corpus, if there is one.
pub(crate) fn corpus() -> Option<PathBuf> {
    let shared = env::var_os("TGSI_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    Some(shared.join("corpus")).filter(|c| c.is_dir())
}

pub(crate) fn trials() -> Vec<Trial> {
    let Some(entries) = corpus().and_then(|c| fs::read_dir(c).ok()) else {
        eprintln!("shared/*: skipped: no shared data");
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    folders.sort();
    folders
        .into_iter()
        .map(|folder| {
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            trial(format!("shared/{name}"), move || all(&folder)).with_ignored_flag(true)
        })
        .collect()
}

fn all(folder: &Path) -> Check {
    let programs = files(folder, "tgsi");
    let mut failed = Vec::new();
    for path in &programs {
        if let Err(e) = one(path) {
            failed.push(format!("{}: {e}", path.display()));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let count = failed.len();
    failed.truncate(DESCRIBED);
    Err(format!(
        "{count} of {} programs fail, among them\n{}",
        programs.len(),
        failed.join("\n\n")
    ))
}

fn one(path: &Path) -> Check {
    let source = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let program = text::parse(&source)?;
    text::reparses(&program)?;
    for target in TARGETS {
        let target = Target::by_name(target).cloned().unwrap_or_default();
        let options = Options {
            target,
            check_regalloc: true,
            ..Options::default()
        };
        let outcome = tgsi_opt::optimize(&program, &options);
        treat::all(&program, &outcome, &options, Closeness::Close).map_err(|e| {
            let result = text::print(&outcome.program);
            format!("for {}: {e}\nresult:\n{result}", options.target.name)
        })?;
    }
    Ok(())
}
