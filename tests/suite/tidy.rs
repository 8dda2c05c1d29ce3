//! Rules of the tree that no compiler checks.

use std::{fs, path::PathBuf};

use libtest_mimic::Trial;

use crate::{Check, files, root, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tidy/dependency-arrows".into(), dependency_arrows),
        trial("tidy/passes".into(), passes),
        trial("tidy/file-length".into(), file_length),
        trial("tidy/top-level".into(), top_level),
        trial("tidy/no-unsafe".into(), no_unsafe),
    ]
}

/// Layers of the workspace. A package depends on packages of lower layers only. `tgsi`, the
/// language itself, is the ground that even the lowest layer stands on.
const LAYERS: &[(&str, i32)] = &[
    ("tgsi", -1),
    ("tgsi-target", 0),
    ("tgsi-interp", 1),
    ("tgsi-ir", 1),
    ("tgsi-reduce", 1),
    ("tgsi-rules", 1),
    ("tgsi-arb", 1),
    ("tgsi-d3d", 1),
    ("tgsi-egraph", 2),
    ("tgsi-pack", 2),
    ("tgsi-prove", 2),
    ("tgsi-regalloc", 2),
    ("tgsi-passes", 3),
    ("tgsi-opt", 4),
    ("tgsi-report", 5),
    ("tgsi-fuzz", 5),
    ("tgsi-cli", 6),
    ("tgsi-capi", 6),
    ("tgsi-virgl", 6),
    ("xtask", 6),
    ("tgsi-tests", 7),
];

fn layer(name: &str) -> Option<i32> {
    LAYERS.iter().find(|(n, _)| *n == name).map(|(_, l)| *l)
}

fn dependency_arrows() -> Check {
    let mut bad = Vec::new();
    for manifest in manifests() {
        let text = fs::read_to_string(&manifest).map_err(|e| e.to_string())?;
        let table: toml::Table = text
            .parse()
            .map_err(|e| format!("{}: {e}", manifest.display()))?;
        let package = table.get("package").and_then(|p| p.get("name"));
        let Some(name) = package.and_then(|n| n.as_str()) else {
            continue;
        };
        let Some(own) = layer(name) else {
            bad.push(format!("{name} has no layer in this test's table"));
            continue;
        };
        for kind in ["dependencies", "build-dependencies"] {
            let Some(dependencies) = table.get(kind).and_then(|d| d.as_table()) else {
                continue;
            };
            for other in dependencies.keys() {
                if layer(other).is_some_and(|l| l >= own) {
                    bad.push(format!("{name} depends on {other}, which is not below it"));
                }
            }
        }
    }
    report(bad)
}

/// The interface to C, the only place where `unsafe` may stand.
const MAY_BE_UNSAFE: &str = "tgsi-capi";

/// The workspace forbids unsafe code, and every package takes the workspace's word. Nothing can allow again
/// what is forbidden.
fn no_unsafe() -> Check {
    let table = |path: &PathBuf| -> Result<toml::Table, String> {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        text.parse().map_err(|e| format!("{}: {e}", path.display()))
    };
    let mut bad = Vec::new();
    let workspace = table(&root().join("Cargo.toml"))?;
    let lint = ["workspace", "lints", "rust", "unsafe_code"];
    let level = lint[1..]
        .iter()
        .try_fold(workspace.get(lint[0]), |t, key| Some(t?.get(key)));
    if level.flatten().and_then(|l| l.as_str()) != Some("forbid") {
        bad.push("the workspace does not forbid unsafe_code".to_owned());
    }
    for manifest in manifests() {
        let table = table(&manifest)?;
        let name = table.get("package").and_then(|p| p.get("name"));
        let follows = table.get("lints").and_then(|l| l.get("workspace"));
        if name.and_then(|n| n.as_str()) != Some(MAY_BE_UNSAFE)
            && follows.and_then(|f| f.as_bool()) != Some(true)
        {
            bad.push(format!(
                "{} does not take the lints of the workspace",
                manifest.display()
            ));
        }
    }
    report(bad)
}

fn manifests() -> Vec<PathBuf> {
    let root = root();
    let mut found = vec![
        root.join("passes/Cargo.toml"),
        root.join("tests/Cargo.toml"),
    ];
    if let Ok(entries) = fs::read_dir(root.join("crates")) {
        found.extend(entries.flatten().map(|e| e.path().join("Cargo.toml")));
    }
    found.retain(|f| f.exists());
    found.sort();
    found
}

/// What the documentation of a pass says, in this order.
const HEADINGS: [&str; 7] = [
    "What",
    "Why",
    "Algorithm",
    "Preserves",
    "Limits",
    "Cost",
    "Tests",
];

/// File tests of a pass.
const FEWEST_CASES: usize = 3;

/// A pass is a file of `passes/src` with a public `run`: registered, documented, and with cases.
fn passes() -> Check {
    let dir = root().join("passes/src");
    let registry = fs::read_to_string(dir.join("registry.rs")).unwrap_or_default();
    let mut bad = Vec::new();
    for path in files(&dir, "rs") {
        let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        if path.parent() != Some(dir.as_path()) || !text.contains("\npub fn run(") {
            continue;
        }
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !registry.contains(&format!("{stem}::run,")) {
            bad.push(format!("{stem} is not in the registry"));
        }
        let name = stem.replace('_', "-");
        if !registry.contains(&format!("\"{name}\"")) {
            bad.push(format!(
                "the registry calls {stem} by another name than {name}"
            ));
        }
        let cases = files(&root().join("tests/cases").join(&name), "tgsi").len();
        if cases < FEWEST_CASES {
            bad.push(format!(
                "tests/cases/{name} has {cases} cases of {FEWEST_CASES}"
            ));
        }
        let doc: Vec<&str> = text.lines().map_while(|l| l.strip_prefix("//!")).collect();
        let mut rest = doc.iter();
        for heading in HEADINGS {
            let starts = |l: &&str| l.trim_start_matches([' ', '#', '*']).starts_with(heading);
            if !rest.any(starts) {
                bad.push(format!(
                    "{stem}: its documentation lacks '{heading}' (or has it out of order)"
                ));
                break;
            }
        }
    }
    report(bad)
}

/// Lines of a file before its tests.
const LONGEST: usize = 1000;

fn file_length() -> Check {
    let mut bad = Vec::new();
    for dir in ["crates", "passes", "tests"] {
        for path in files(&root().join(dir), "rs") {
            if path
                .components()
                .any(|c| c.as_os_str() == "tests" || c.as_os_str() == "target")
            {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let lines = text
                .lines()
                .take_while(|l| !l.starts_with("#[cfg(test)]"))
                .count();
            if lines >= LONGEST {
                bad.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    report(bad)
}

const TOP_LEVEL: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates",
    "passes",
    "tests",
    "docs",
    "README.md",
    "LICENSE",
];

/// Where builds and measurements go; not part of the tree.
const OUTPUT: [&str; 2] = ["target", "out"];

fn top_level() -> Check {
    let mut bad = Vec::new();
    for entry in fs::read_dir(root()).map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = TOP_LEVEL.contains(&name.as_str()) || OUTPUT.contains(&name.as_str());
        if !known && !name.starts_with('.') {
            bad.push(format!("{name} does not belong at the top level"));
        }
    }
    report(bad)
}

fn report(bad: Vec<String>) -> Check {
    if bad.is_empty() {
        Ok(())
    } else {
        Err(bad.join("\n"))
    }
}
