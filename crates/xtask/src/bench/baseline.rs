//! Counts that were stored, and what has changed since.
//!
//! The file holds a map from level to program to machine instructions. Counts repeat on one machine
//! with one compiler; another compiler changes all of them a little, so that nothing fails by them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::{Args, Input, build, classes, measure, sample, work_folder};

/// The file by default, from the root of the tree.
pub(super) const DEFAULT: &str = "crates/xtask/baseline.json";

/// Programs whose counts are stored, from the root of the tree.
const CORPUS: &str = "tests/corpus";

/// Changes below this part are not worth a line.
const NOTABLE: f64 = 0.01;

/// Most lines a level.
const SHOWN: usize = 20;

/// Counts by program, by level.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

fn place(args: &Args, root: &Path) -> PathBuf {
    root.join(&args.baseline)
}

/// Measures a sample and writes the file.
pub(super) fn save(args: &Args, root: &Path) -> Result<()> {
    let mut samples = sample(classes(&root.join(CORPUS))?, args.per_class);
    // In the order of the file: what is made once a process is paid by the first that needs it.
    samples.sort_by(|a, b| a.path.cmp(&b.path));
    let tool = build(root)?;
    let work = work_folder()?;
    let mut counts = Counts::new();
    for level in &args.levels {
        counts.insert(level.clone(), spent(&tool, level, &samples, &work, root)?);
    }
    fs::remove_dir_all(&work).ok();
    let path = place(args, root);
    let text = serde_json::to_string_pretty(&counts)?;
    fs::write(&path, text + "\n").with_context(|| path.display().to_string())
}

/// Measures the programs of the file anew and prints what has changed.
pub(super) fn compare(args: &Args, root: &Path, tool: &Path, work: &Path) -> Result<()> {
    let path = place(args, root);
    let Ok(text) = fs::read_to_string(&path) else {
        println!("no stored counts: {} is not there", path.display());
        return Ok(());
    };
    let counts: Counts = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    for level in &args.levels {
        let Some(before) = counts.get(level) else {
            println!("-{level}: no stored counts");
            continue;
        };
        let inputs: Vec<Input> = before
            .keys()
            .map(|name| root.join(name))
            .filter(|path| path.exists())
            .map(|path| Input {
                path,
                instructions: 0,
            })
            .collect();
        let after = spent(tool, level, &inputs, work, root)?;
        print!("{}", changes(level, before, &after));
    }
    Ok(())
}

/// What each program costs, by its path from the root.
fn spent(
    tool: &Path,
    level: &str,
    inputs: &[Input],
    work: &Path,
    root: &Path,
) -> Result<BTreeMap<String, u64>> {
    let name = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let samples = measure(tool, level, inputs, work)?;
    Ok(samples.iter().map(|s| (name(&s.path), s.spent)).collect())
}

/// The programs whose price has changed, those that changed most first.
fn changes(level: &str, before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> String {
    let (mut sum_before, mut sum_after) = (0u64, 0u64);
    let mut rows: Vec<(f64, &str, u64, u64)> = Vec::new();
    let mut missing = 0;
    for (name, &b) in before {
        let Some(&a) = after.get(name) else {
            missing += 1;
            continue;
        };
        sum_before += b;
        sum_after += a;
        let change = part(b, a);
        if change.abs() >= NOTABLE {
            rows.push((change, name, b, a));
        }
    }
    rows.sort_by(|x, y| y.0.abs().total_cmp(&x.0.abs()));
    // A write to a string cannot fail.
    let mut text = format!(
        "-{level} beside the stored counts: {:+.1} % in all; {} of {} programs changed by 1 % or more\n",
        part(sum_before, sum_after) * 100.0,
        rows.len(),
        before.len() - missing,
    );
    for (change, name, b, a) in rows.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "  {:>+7.1} %  {b:>11} -> {a:>11}  {name}",
            change * 100.0
        );
    }
    if rows.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", rows.len() - SHOWN);
    }
    if missing > 0 {
        let _ = writeln!(text, "  {missing} stored programs are gone");
    }
    text
}

/// The change as a part of what there was.
fn part(before: u64, after: u64) -> f64 {
    (after as f64 - before as f64) / before.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_notable_changes_are_listed() {
        let map = |list: &[(&str, u64)]| list.iter().map(|&(n, c)| (n.to_owned(), c)).collect();
        let before = map(&[("a", 1000), ("b", 1000), ("c", 1000), ("d", 5)]);
        let after = map(&[("a", 1009), ("b", 1010), ("c", 900)]);
        assert_eq!(
            changes("O1", &before, &after),
            "\
-O1 beside the stored counts: -2.7 % in all; 2 of 3 programs changed by 1 % or more
    -10.0 %         1000 ->         900  c
     +1.0 %         1000 ->        1010  b
  1 stored programs are gone
"
        );
    }
}
