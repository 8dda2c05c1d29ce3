//! All passes over the shared corpus of real programs, where it is present.

mod oracle;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tgsi_ir::{Function, lift};
use tgsi_passes::{PASSES, PassCx, run_pass};

/// Rounds of all passes before giving up on a fixpoint.
const ROUNDS: usize = 12;

/// Inputs on which a function is compared before and after a pass.
const SEEDS: u64 = 1;

fn shared() -> Option<PathBuf> {
    let fixed = std::env::var_os("TGSI_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    fixed
        .into_iter()
        .chain([beside])
        .map(|p| p.join("corpus"))
        .find(|p| p.is_dir())
}

fn programs(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(d) = dirs.pop() {
        for entry in std::fs::read_dir(&d).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "tgsi") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn count(f: &Function) -> usize {
    f.values.len()
}

#[test]
fn every_program_reaches_a_verified_fixpoint() {
    let Some(root) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let mut failed: BTreeMap<String, usize> = BTreeMap::new();
    let mut totals: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let (mut lifted, mut before, mut after, mut clean) = (0usize, 0usize, 0usize, 0usize);
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems: Vec<String> = Vec::new();
    for path in programs(&root) {
        let text = std::fs::read(&path).unwrap_or_default();
        let (program, _) = tgsi::parse_bytes(&text);
        let func = match lift(&program) {
            Ok(f) => f,
            Err(e) => {
                if failed.len() < 20 {
                    println!("{}: {e}", path.display());
                }
                let kind = e.to_string();
                let kind = kind
                    .split(" at instruction")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                *failed.entry(kind).or_default() += 1;
                continue;
            }
        };
        lifted += 1;
        for seed in 0..SEEDS {
            *runs
                .entry(format!("{:?}", oracle::run(&func, seed, 1).err()))
                .or_default() += 1;
        }
        problems.extend(
            tgsi_ir::verify(&func)
                .first()
                .map(|v| format!("{}: lift: {v}", path.display())),
        );
        let cx = PassCx {
            verify: true,
            // Only what is exact can be compared bit by bit.
            profile: tgsi_rules::Profile::Strict,
            ..Default::default()
        };
        let mut current = func.clone();
        before += count(&current);
        let mut stable = false;
        for _ in 0..ROUNDS {
            stable = true;
            for pass in PASSES {
                if let Some(new) = run_pass(pass.name, &current, &cx) {
                    if let Err(e) = oracle::compare(&current, &new, SEEDS) {
                        problems.push(format!("{}: {}: {e}", path.display(), pass.name));
                    }
                    let t = totals.entry(pass.name).or_default();
                    t.0 += 1;
                    t.1 += count(&current);
                    t.2 += count(&new);
                    current = new;
                    // What is cheapest depends on what stands beside it, so it may change again.
                    stable &= pass.name == "egraph";
                }
            }
            if stable {
                break;
            }
        }
        after += count(&current);
        if let Err(e) = oracle::compare(&func, &current, 3 * SEEDS) {
            problems.push(format!("{}: all: {e}", path.display()));
        }
        let cleaned = run_pass("clean", &func, &cx).unwrap_or_else(|| func.clone());
        clean += count(&cleaned);
        if let Err(e) = oracle::compare(&func, &cleaned, SEEDS) {
            problems.push(format!("{}: clean from the start: {e}", path.display()));
        }
        if !stable {
            problems.push(format!("{}: no fixpoint", path.display()));
        }
        let faults = cx.faults.borrow();
        problems.extend(faults.first().map(|f| format!("{}: {f}", path.display())));
    }
    println!("lifted {lifted}, failed {failed:?}");
    println!("runs by how they stop: {runs:?}");
    println!("values {before} -> {after}, by one clean {clean}");
    for (name, (runs, from, to)) in totals {
        println!("{name}: changed {runs} times, values {from} -> {to}");
    }
    println!("{} problems", problems.len());
    for p in problems.iter().take(40) {
        println!("{p}");
    }
    assert!(problems.is_empty());
}
