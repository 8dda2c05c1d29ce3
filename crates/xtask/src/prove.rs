//! `cargo xtask prove`: proves the rewrite rules and writes `passes/rules/proofs.lock`, what was shown of
//! each, and `passes/rules/unproved.txt`, what no method shows for more than samples. Only rules that are
//! not in the lock as they stand are tried.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use tgsi_prove::{lock, prove_all, smt};
use tgsi_rules::Rule;

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Prove every rule anew
    #[arg(long)]
    all: bool,
    /// Also ask the program z3, if there is one, about rules on bits (10 s each)
    #[arg(long)]
    z3: bool,
}

const UNPROVED: &str = "\
; Written by `cargo xtask prove`: rules that samples alone speak for, with the reason.
";

pub(crate) fn run(args: &Args) -> Result<()> {
    let rules = &tgsi_passes::rules::rule_set().rules;
    let path = folder().join("proofs.lock");
    let old = fs::read_to_string(&path).unwrap_or_default();
    let known = if args.all {
        Default::default()
    } else {
        lock::parse(&old)
    };
    let is_known = |r: &Rule| known.get(r.name.as_str()).is_some_and(|e| e.is_of(r));
    let open: Vec<&Rule> = rules.iter().filter(|r| !is_known(r)).collect();
    let start = Instant::now();
    let mut fresh = BTreeMap::new();
    let mut refused = Vec::new();
    for (rule, result) in prove_all(&open) {
        match result {
            Ok(proof) => {
                fresh.insert(rule.name.as_str(), lock::Entry::new(rule, &proof));
            }
            Err(e) => refused.push(format!(
                "{}.rules:{}: {e}\n    {rule}",
                rule.domain, rule.line
            )),
        }
    }
    println!(
        "{} of {} rules tried in {:.0} s",
        open.len(),
        rules.len(),
        start.elapsed().as_secs_f64()
    );
    let mut entries = Vec::new();
    for rule in rules {
        let name = rule.name.as_str();
        if let Some(e) = fresh.remove(name).or_else(|| known.get(name).cloned())
            && e.is_of(rule)
        {
            entries.push((name, e));
        }
    }
    write(&path, &lock::text(&entries))?;
    let sampled = entries.iter().filter(|(_, e)| !e.proved);
    let lines: String = sampled
        .map(|(name, e)| format!("{name}: {}\n", reason(e)))
        .collect();
    write(
        &folder().join("unproved.txt"),
        &format!("{UNPROVED}{lines}"),
    )?;
    for (method, n) in counts(entries.iter().map(|(_, e)| e)) {
        println!("{n:6} {method}");
    }
    if args.z3 {
        refused.extend(ask(rules)?);
    }
    if !refused.is_empty() {
        bail!("{} refused\n{}", refused.len(), refused.join("\n"));
    }
    Ok(())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../passes/rules")
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn reason(e: &lock::Entry) -> &'static str {
    if e.methods.iter().any(|m| m.ends_with(" in part")) {
        "more variables than all words of a format can be tried for"
    } else {
        "no small format has its constants"
    }
}

/// How many rules each method took part in, and how many are proved.
pub(crate) fn counts<'a>(
    entries: impl Iterator<Item = &'a lock::Entry>,
) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for e in entries {
        let verdict = if e.proved { "proved" } else { "sampled" };
        let methods = e.methods.iter().map(|m| match m.split_once(':') {
            Some((_, format)) if format.ends_with(" in part") => "format in part",
            Some((method, _)) => method,
            None => m.as_str(),
        });
        for name in methods.chain([verdict]) {
            *counts.entry(name).or_insert(0) += 1;
        }
        for kind in &e.differs_on {
            *counts.entry(kind.as_str()).or_insert(0) += 1;
        }
    }
    counts
}

/// Asks z3 about rules on bits; gives what it refuses.
fn ask(rules: &[Rule]) -> Result<Vec<String>> {
    if Command::new("z3").arg("--version").output().is_err() {
        println!("skipped: z3 (no such program)");
        return Ok(Vec::new());
    }
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    let mut refused = Vec::new();
    for rule in rules {
        let Some(query) = smt::query(rule) else {
            continue;
        };
        let mut z3 = Command::new("z3")
            .args(["-in", "-smt2", "-T:10"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("z3")?;
        if let Some(mut input) = z3.stdin.take() {
            input.write_all(query.as_bytes()).context("z3")?;
        }
        let output = z3.wait_with_output().context("z3")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.lines().next().unwrap_or_default().to_owned();
        if answer != "unsat" && answer != "timeout" && answer != "unknown" {
            refused.push(format!("z3 says {answer}: {rule}"));
        }
        *answers.entry(answer).or_insert(0) += 1;
    }
    for (answer, n) in answers {
        println!("{n:6} z3: {answer}");
    }
    Ok(refused)
}
