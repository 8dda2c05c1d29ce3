//! `cargo xtask mutate`: small faults, made on purpose, and the share of them that is caught.
//!
//! A fault is a *mutant*: a rewrite rule with one change, which the prover must refuse, or a source
//! file with one change, which the tests must notice. What is equivalent is no fault and does not
//! count: mutants of rules on which both sides agree by the interpreter ([`oracle`]), and those of
//! source that `mutate/equivalent.txt` names, each with a reason.

mod oracle;
mod rules;
mod schemata;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use oracle::Random;
use schemata::{Numbered, Workshop};

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these areas: rules, folder, facts, verifier, checker
    #[arg(long = "area", value_delimiter = ',')]
    areas: Vec<String>,
    /// Mutants of source that are tried of each area, chosen by the seed; 0 tries all
    #[arg(long, default_value_t = 200)]
    sample: usize,
    /// Mutants of rules that are tried; 0 tries all
    #[arg(long, default_value_t = 3000)]
    rules: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only files whose path holds this
    #[arg(long)]
    file: Option<String>,
    /// How many are tried at once
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Where the copy of the workspace goes, and what is built of it
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Write the report to a file as JSON, too
    #[arg(long)]
    json: Option<PathBuf>,
    /// Fail where the share of an area is below, in per cent
    #[arg(long)]
    least: Option<f64>,
    /// Also list what was caught, and by what
    #[arg(long)]
    all: bool,
}

/// Source whose mutants its tests must notice.
pub(crate) struct Area {
    name: &'static str,
    files: &'static [(&'static str, Tests)],
    /// Functions that say something and decide nothing.
    leave: &'static [&'static str],
}

/// Packages and their tests: `lib`, or the name of a target.
pub(crate) type Tests = &'static [(&'static str, &'static str)];

const EVAL: Tests = &[("tgsi", "table"), ("tgsi-interp", "fold")];
const PASSES: Tests = &[("tgsi-passes", "lib"), ("tgsi-passes", "random")];

const AREAS: [Area; 4] = [
    Area {
        name: "folder",
        files: &[
            ("crates/tgsi/src/eval.rs", EVAL),
            ("crates/tgsi/src/eval/float.rs", EVAL),
            ("crates/tgsi/src/eval/int.rs", EVAL),
            ("crates/tgsi/src/eval/vector.rs", EVAL),
            ("crates/tgsi/src/eval/wide.rs", EVAL),
            ("passes/src/const_fold.rs", PASSES),
        ],
        leave: &[],
    },
    Area {
        name: "facts",
        files: &[("passes/src/facts.rs", PASSES)],
        leave: &[],
    },
    Area {
        name: "verifier",
        files: &[("crates/tgsi-ir/src/verify.rs", &[("tgsi-ir", "lib")])],
        leave: &[],
    },
    Area {
        name: "checker",
        files: &[
            (
                "crates/tgsi-regalloc/src/checker.rs",
                &[("tgsi-regalloc", "lib"), ("tgsi-regalloc", "suite")],
            ),
            (
                "crates/tgsi-opt/src/lower/checked.rs",
                &[("tgsi-opt", "lib")],
            ),
        ],
        leave: &["told", "named"],
    },
];

/// What becomes of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Caught,
    Survived,
    /// It means the same.
    Equivalent,
}

/// What becomes of a mutant, and who says so.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) fate: Fate,
    pub(crate) by: String,
}

/// The mutants of an area.
struct Section {
    name: &'static str,
    /// Each with its place and what was changed.
    lines: Vec<(String, String, Found)>,
    /// How many there are to choose from.
    of: usize,
}

impl Section {
    fn count(&self, fate: Fate) -> usize {
        self.lines.iter().filter(|l| l.2.fate == fate).count()
    }

    /// In per cent of those that are faults.
    fn share(&self) -> f64 {
        let faults = self.lines.len() - self.count(Fate::Equivalent);
        100.0 * self.count(Fate::Caught) as f64 / faults.max(1) as f64
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let known: Vec<&str> = AREAS.iter().map(|a| a.name).chain(["rules"]).collect();
    if let Some(other) = args.areas.iter().find(|a| !known.contains(&a.as_str())) {
        bail!("no area is called {other}; there are {}", known.join(", "));
    }
    let wanted = |name: &str| args.areas.is_empty() || args.areas.iter().any(|a| a == name);
    let start = Instant::now();
    let mut sections = Vec::new();
    if wanted("rules") {
        sections.push(of_rules(args));
    }
    let areas: Vec<Area> = AREAS.into_iter().filter(|a| wanted(a.name)).collect();
    if !areas.is_empty() {
        sections.extend(of_source(args, &areas)?);
    }
    for s in &sections {
        tell(s, args.all);
    }
    println!(
        "{:9} {:>6} {:>8} {:>7} {:>9} {:>11} {:>7}",
        "area", "tried", "of", "caught", "survived", "equivalent", "share"
    );
    for s in &sections {
        let [caught, survived, equivalent] =
            [Fate::Caught, Fate::Survived, Fate::Equivalent].map(|f| s.count(f));
        println!(
            "{:9} {:6} {:8} {caught:7} {survived:9} {equivalent:11} {:6.1}%",
            s.name,
            s.lines.len(),
            s.of,
            s.share()
        );
    }
    println!("seed {}, {:.0} s", args.seed, start.elapsed().as_secs_f64());
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report(args, &sections))?;
        fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    if let Some(least) = args.least {
        let below: Vec<&str> = sections
            .iter()
            .filter(|s| s.share() < least)
            .map(|s| s.name)
            .collect();
        if !below.is_empty() {
            bail!("below {least} %: {}", below.join(", "));
        }
    }
    Ok(())
}

fn tell(s: &Section, all: bool) {
    for (fate, title) in [
        (Fate::Survived, "survived"),
        (Fate::Equivalent, "equivalent"),
        (Fate::Caught, "caught"),
    ] {
        if fate == Fate::Caught && !all || s.count(fate) == 0 {
            continue;
        }
        println!("{}: {title}", s.name);
        for (place, change, found) in s.lines.iter().filter(|l| l.2.fate == fate) {
            let by = found.by.lines().next().unwrap_or_default();
            println!(
                "  {place}: {change}{}{by}",
                if by.is_empty() { "" } else { " -- " }
            );
        }
    }
}

fn report(args: &Args, sections: &[Section]) -> serde_json::Value {
    let areas = sections.iter().map(|s| {
        let listed = |fate| -> Vec<_> {
            let lines = s.lines.iter().filter(|l| l.2.fate == fate);
            lines
                .map(|(place, change, found)| {
                    json!({ "place": place, "change": change, "by": found.by })
                })
                .collect()
        };
        json!({
            "area": s.name,
            "mutants": s.lines.len(),
            "of": s.of,
            "caught": s.count(Fate::Caught),
            "share": s.share(),
            "survived": listed(Fate::Survived),
            "equivalent": listed(Fate::Equivalent),
        })
    });
    json!({
        "seed": args.seed,
        "sample": args.sample,
        "rules": args.rules,
        "areas": areas.collect::<Vec<_>>(),
    })
}

/// So many indices below `n`, by the seed, in order.
fn sample(n: usize, wanted: usize, seed: u64) -> BTreeSet<usize> {
    if wanted == 0 || wanted >= n {
        return (0..n).collect();
    }
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut chosen = BTreeSet::new();
    while chosen.len() < wanted {
        chosen.insert(random.below(n));
    }
    chosen
}

fn of_rules(args: &Args) -> Section {
    let all = rules::mutants(&tgsi_passes::rules::rule_set().rules);
    let chosen = sample(all.len(), args.rules, args.seed);
    let mutants: Vec<_> = chosen.iter().map(|&i| &all[i]).collect();
    let found = rules::judge(&mutants, args.threads);
    let lines = mutants.iter().zip(found).map(|(m, found)| {
        let r = &m.rule;
        let place = format!("passes/rules/{}.rules:{} {}", r.domain, r.line, r.name);
        (place, format!("{}: {}", m.change, rules::told(r)), found)
    });
    Section {
        name: "rules",
        lines: lines.collect(),
        of: all.len(),
    }
}

fn of_source(args: &Args, areas: &[Area]) -> Result<Vec<Section>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the workspace")?;
    let folder = args.folder.clone().unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        target.unwrap_or_else(|| root.join("target")).join("mutate")
    });
    let workshop = Workshop::new(&root, &folder)?;
    let mut all = Vec::new();
    // A number says the same whatever areas are asked for.
    let mut number = 0;
    for (area, a) in areas.iter().enumerate() {
        for &(file, tests) in a.files {
            let path = root.join(file);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            for mutant in source::mutants(&text, a.leave)? {
                number += 1;
                if args.file.as_ref().is_some_and(|f| !file.contains(f)) {
                    continue;
                }
                all.push(Numbered {
                    number,
                    area,
                    file,
                    tests,
                    mutant,
                });
            }
        }
    }
    let packages: BTreeSet<&str> = all.iter().flat_map(|m| m.tests).map(|t| t.0).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    let failed = workshop.settle(&all, &packages)?;
    println!(
        "{} mutants of source, {} of them no program",
        all.len(),
        failed.len()
    );
    all.retain(|m| !failed.contains(&m.number));
    let reasons = equivalent(include_str!("mutate/equivalent.txt"))?;
    let mut tried: Vec<&Numbered> = Vec::new();
    let mut sizes = Vec::new();
    for area in 0..areas.len() {
        let own: Vec<&Numbered> = all.iter().filter(|m| m.area == area).collect();
        let chosen = sample(own.len(), args.sample, args.seed);
        tried.extend(chosen.iter().map(|&i| own[i]));
        sizes.push(own.len());
    }
    let reason = |m: &Numbered| {
        let is = |r: &&Reason<'_>| {
            r.file == m.file && r.function == m.mutant.function && r.change == m.mutant.change
        };
        reasons.iter().find(is).map(|r| r.why)
    };
    let (named, open): (Vec<_>, Vec<_>) = tried.into_iter().partition(|m| reason(m).is_some());
    let mut found = workshop.judge(&open, args.threads)?;
    found.extend(named.iter().map(|m| {
        let by = reason(m).unwrap_or_default().to_owned();
        let fate = Fate::Equivalent;
        (m.number, Found { fate, by })
    }));
    found.sort_by_key(|f| f.0);
    let mut sections: Vec<Section> = Vec::new();
    for (area, a) in areas.iter().enumerate() {
        let own = found.iter().filter_map(|(number, found)| {
            let m = all.iter().find(|m| m.number == *number && m.area == area)?;
            let place = format!("{}:{} {}", m.file, m.mutant.line, m.mutant.function);
            Some((place, m.mutant.change.clone(), found.clone()))
        });
        sections.push(Section {
            name: a.name,
            lines: own.collect(),
            of: sizes[area],
        });
    }
    Ok(sections)
}

/// Why a mutant is no fault.
struct Reason<'a> {
    file: &'a str,
    function: &'a str,
    change: &'a str,
    why: &'a str,
}

/// Reads lines of `FILE FUNCTION: CHANGE -- REASON`.
fn equivalent(text: &str) -> Result<Vec<Reason<'_>>> {
    let lines = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with(';'));
    lines
        .map(|line| {
            let (head, why) = line.rsplit_once(" -- ").context(line.to_owned())?;
            let (place, change) = head.split_once(": ").context(line.to_owned())?;
            let (file, function) = place.split_once(' ').context(line.to_owned())?;
            Ok(Reason {
                file,
                function,
                change,
                why,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_for_a_seed() {
        assert_eq!(sample(100, 10, 7), sample(100, 10, 7));
        assert_ne!(sample(100, 10, 7), sample(100, 10, 8));
        assert_eq!(sample(100, 10, 7).len(), 10);
        assert_eq!(sample(5, 0, 7).len(), 5);
        assert_eq!(sample(5, 9, 7).len(), 5);
    }

    #[test]
    fn reasons_are_of_mutants_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for r in equivalent(include_str!("mutate/equivalent.txt")).expect("lines") {
            let area = AREAS
                .iter()
                .find(|a| a.files.iter().any(|f| f.0 == r.file))
                .expect(r.file);
            let text = fs::read_to_string(root.join(r.file)).expect(r.file);
            let mutants = source::mutants(&text, area.leave).expect("Rust");
            let is = |m: &source::Mutant| m.function == r.function && m.change == r.change;
            assert!(
                mutants.iter().any(is),
                "{} {}: {}",
                r.file,
                r.function,
                r.change
            );
        }
    }
}
