//! `cargo xtask docs`: `docs/passes.md`, from the registry of passes and from the documentation at
//! the head of each pass, and `docs/rules.md`, from the rewrite rules. Tests say when a file is out of
//! date.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use tgsi_rules::{Contract, Direction, Rule};

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when the file is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for (name, text) in [("passes", passes()?), ("rules", rules())] {
        let path = root().join(format!("docs/{name}.md"));
        if args.check {
            let current = fs::read_to_string(&path).unwrap_or_default();
            ensure!(
                current == text,
                "docs/{name}.md is out of date: run `cargo xtask docs`"
            );
        } else {
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const INTRODUCTION: &str = "\
# Passes

<!-- Written by `cargo xtask docs` from passes/src; edit the documentation there. -->

A pass takes a function of the intermediate representation and gives a better one, or says that it found nothing. Transforms are
exact, equal bits but for the payload of a NaN that a float operation made, unless a pass says otherwise; those that do are not part of
`clean`, which runs all exact ones until nothing changes and is what the pipeline runs; `--passes a,b` runs the named ones once each, `--print-after`, `--print-changed` and `--fuel` show what each does.

| pass | what it does |
|---|---|
";

fn passes() -> Result<String> {
    let mut text = INTRODUCTION.to_owned();
    for pass in tgsi_passes::PASSES {
        let _ = writeln!(text, "| `{}` | {} |", pass.name, pass.summary);
    }
    for pass in tgsi_passes::PASSES {
        let file = format!("passes/src/{}.rs", pass.name.replace('-', "_"));
        // A combination of passes has no file of its own.
        let Ok(source) = fs::read_to_string(root().join(&file)) else {
            continue;
        };
        let _ = write!(
            text,
            "\n## {}\n\nIn `{file}`, cases in `tests/cases/{}`.\n",
            pass.name, pass.name
        );
        text += &body(&source);
    }
    Ok(text)
}

const RULES: &str = "\
# Rewrite rules

<!-- Written by `cargo xtask docs` from passes/rules; edit the rules there. -->

Rules that rewrite what programs compute, as `passes/rules` has them, a table a file. `=>` drops the left side, `~>` keeps both and lets the cheaper one be
computed, `?>` does so only where there is time to search. Below -O3 only those are tried that `passes/rules/frequent.txt` names: the column *from* is the lowest level. A name with `#` stands for a constant. A contract is what the program must grant, see
[float profiles](semantics.md#float-profiles); a rule without one is exact: equal bits but for the payload of a NaN that a float operation made, and so is one that only
names what 0 * x is (`ieee-zero`, `legacy-zero`). Conditions are facts known of a variable; `once x` says that nothing else reads `x`.
`tgsi-opt rules IN...` counts how often each takes part in results, and `--disable RULE` leaves one out.

";

const PROOFS: &str = "
## How they are proved

Each rule is tried by all methods that suit it, see `crates/tgsi-prove`, and `passes/rules/proofs.lock` keeps what came of it. The kinds of hardware at the end are no refusals:
[semantics.md](semantics.md) excludes them, but on such a machine the sides of so many rules are not the same for some words, denormals or zeros and NaNs that meet in a minimum.

| method | rules | what it shows |
|---|---|---|
";

/// The methods by their names in the lock, and kinds of hardware.
const METHODS: [(&str, &str); 11] = [
    (
        "format",
        "the sides agree on all words of a small float format, in every mode that the contract leaves open; integers, shifts and fields are scaled with it",
    ),
    (
        "format in part",
        "the same on some words, where there are too many variables for all; another method is behind such a rule",
    ),
    (
        "definition",
        "both sides are the same sums of products, whatever the words",
    ),
    (
        "field",
        "the sides agree on every value of the bit field that is all they read, in words of 32 bits",
    ),
    (
        "reals",
        "the sides are the same function of real numbers, at 20 seeded rational points",
    ),
    (
        "plain",
        "no infinity and no NaN comes up on one side only, among numbers that neither round nor overflow",
    ),
    (
        "table",
        "special and seeded words of 32 and 64 bits, by the opcode table",
    ),
    ("interpreter", "the same words, by the interpreter"),
    (
        "sampled",
        "no method but samples speaks for it: `passes/rules/unproved.txt` says why",
    ),
    ("flushed denormals", "hardware that flushes denormals"),
    (
        "compared MIN and MAX",
        "hardware whose minimum is `a < b ? a : b`, as in Direct3D 9",
    ),
];

fn proofs() -> String {
    let lock = fs::read_to_string(root().join("passes/rules/proofs.lock")).unwrap_or_default();
    let entries = tgsi_prove::lock::parse(&lock);
    let counts = crate::prove::counts(entries.values());
    let mut text = PROOFS.to_owned();
    for (name, what) in METHODS {
        let n = counts.get(name).copied().unwrap_or(0);
        let _ = writeln!(text, "| {name} | {n} | {what} |");
    }
    let proved = counts.get("proved").copied().unwrap_or(0);
    let _ = writeln!(text, "\n{proved} of {} rules are proved.", entries.len());
    text
}

/// The rules, a table a domain.
fn rules() -> String {
    let set = &tgsi_passes::rules::rule_set().rules;
    let frequent: HashSet<&str> = tgsi_passes::rules::frequent().collect();
    let below_o3 =
        |r: &Rule| r.direction != Direction::Explore && frequent.contains(r.name.as_str());
    let count = |wanted: &dyn Fn(&Rule) -> bool| set.iter().filter(|r| wanted(r)).count();
    let mut text = RULES.to_owned();
    let directions = [Direction::Replace, Direction::Also, Direction::Explore]
        .map(|d| format!("`{}` {}", d.arrow(), count(&|r| r.direction == d)));
    let _ = write!(
        text,
        "{} rules: {}. {} of them are exact, {} are tried below -O3.\n\n| domain | rules | exact |\n|---|---|---|\n",
        set.len(),
        directions.join(", "),
        count(&|r| r.contract.is_exact()),
        count(&|r| below_o3(r)),
    );
    for (domain, _) in tgsi_passes::rules::FILES {
        let of = |r: &Rule| r.domain == *domain;
        let _ = writeln!(
            text,
            "| [{domain}](#{domain}) | {} | {} |",
            count(&of),
            count(&|r| of(r) && r.contract.is_exact()),
        );
    }
    text += &proofs();
    for (domain, _) in tgsi_passes::rules::FILES {
        let _ = write!(
            text,
            "\n## {domain}\n\n| name | left | | right | contract | conditions | from | why |\n|---|---|---|---|---|---|---|---|\n"
        );
        for r in set.iter().filter(|r| r.domain == *domain) {
            let conditions: Vec<String> = r.conds.iter().map(|&c| r.condition(c)).collect();
            let contract = if r.contract == Contract::EXACT {
                String::new()
            } else {
                r.contract.to_string()
            };
            let _ = writeln!(
                text,
                "| `{}` | `{}` | `{}` | `{}` | {contract} | {} | {} | {} |",
                r.name,
                r.left(),
                r.direction.arrow(),
                r.right(),
                conditions.join(", "),
                if below_o3(r) { "-O1" } else { "-O3" },
                r.why.replace('|', "\\|"),
            );
        }
    }
    text
}

/// The documentation at the head of a file. Its headings become words in bold at the start of a paragraph.
fn body(source: &str) -> String {
    let mut text = String::new();
    let mut after_heading = false;
    for line in source.lines().map_while(|l| l.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(heading) = line.strip_prefix("# ") {
            let _ = write!(text, "\n**{heading}.** ");
            after_heading = true;
        } else if !(after_heading && line.is_empty()) {
            if text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
            after_heading = false;
        }
    }
    // Links work in the compiler's documentation only.
    for (link, plain) in [("[`", "`"), ("`]", "`"), ("`crate::", "`")] {
        text = text.replace(link, plain);
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Args, body, run};

    #[test]
    fn pages_are_current() {
        if let Err(error) = run(&Args { check: true }) {
            panic!("{error}");
        }
    }

    #[test]
    fn headings_become_words_in_bold() {
        let source = "//! # What\n//! It does.\n//!\n//! # Why\n//!\n//! Because.\nuse x;\n";
        assert_eq!(body(source), "\n**What.** It does.\n\n**Why.** Because.\n");
    }
}
