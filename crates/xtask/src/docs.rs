//! `cargo xtask docs`: `docs/passes.md`, from the registry of passes and from the documentation at
//! the head of each pass. A test says when the file is out of date.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when the file is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let path = root().join("docs/passes.md");
    let text = passes()?;
    if args.check {
        let current = fs::read_to_string(&path).unwrap_or_default();
        ensure!(
            current == text,
            "docs/passes.md is out of date: run `cargo xtask docs`"
        );
        return Ok(());
    }
    fs::write(&path, text).with_context(|| path.display().to_string())
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
    fn passes_md_is_current() {
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
