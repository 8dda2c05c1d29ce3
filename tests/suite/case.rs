//! File tests: `cases/PASS/PROPERTY.tgsi`.
//!
//! The head of a case holds, in comments, one line of options and any number of checks:
//!
//! ```text
//! ; RUN: passes=dce,copy-prop target=generic level=O2 disable=gvn fuel=10
//! ; CHECK: text that the result's instructions hold, behind what the CHECK before it found
//! ; CHECK-NOT: text that they hold nowhere
//! ```
//!
//! The result must equal the sibling `.expected`, but for the folders of [`CHECKED_ONLY`].

use std::{fs, path::Path};

use expect_test::expect_file;
use libtest_mimic::Trial;
use tgsi_opt::{Level, Options, PassSpec};
use tgsi_target::Target;

use crate::{Check, files, root, text, treat, trial};

/// Folders whose cases say what must be right by checks and treatments, whatever the result looks like.
const CHECKED_ONLY: [&str; 2] = ["faults/", "eras/"];

pub(crate) fn trials() -> Vec<Trial> {
    let dir = root().join("tests/cases");
    let all = files(&dir, "tgsi").into_iter();
    all.map(|path| {
        let name = path.strip_prefix(&dir).unwrap_or(&path).with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        let has_golden = !CHECKED_ONLY.iter().any(|dir| name.starts_with(dir));
        trial(format!("cases/{name}"), move || run(&path, has_golden))
    })
    .collect()
}

fn run(path: &Path, has_golden: bool) -> Check {
    let source = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let case = Case::parse(&source)?;
    let program = text::parse(&source)?;
    text::is_sane(&program)?;
    let outcome = tgsi_opt::optimize(&program, &case.options);
    let result = text::print(&outcome.program);
    if has_golden {
        expect_file![path.with_extension("expected")].assert_eq(&result);
    }
    case.check(&result)?;
    treat::all(&program, &outcome, &case.options).map_err(|e| format!("{e}\nresult:\n{result}"))
}

/// The head of a case.
struct Case {
    options: Options,
    checks: Vec<(Kind, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Holds,
    HoldsNot,
}

impl Case {
    fn parse(source: &str) -> Result<Case, String> {
        let mut options = None;
        let mut checks = Vec::new();
        for line in source.lines() {
            let Some(line) = line.trim_start().strip_prefix(';') else {
                continue;
            };
            let line = line.trim();
            if let Some(words) = line.strip_prefix("RUN:") {
                if options.is_some() {
                    return Err("two RUN lines".into());
                }
                options = Some(run_options(words)?);
            } else if let Some(text) = line.strip_prefix("CHECK:") {
                checks.push((Kind::Holds, text.trim().to_owned()));
            } else if let Some(text) = line.strip_prefix("CHECK-NOT:") {
                checks.push((Kind::HoldsNot, text.trim().to_owned()));
            }
        }
        let options = options.ok_or("no RUN line")?;
        Ok(Case { options, checks })
    }

    /// Looks at the instructions only: declarations name every register.
    fn check(&self, result: &str) -> Check {
        let result = result.find(" 0: ").map_or(result, |first| &result[first..]);
        let mut at = 0;
        for (kind, text) in &self.checks {
            match kind {
                Kind::Holds => match result[at..].find(text.as_str()) {
                    Some(found) => at += found + text.len(),
                    None => return Err(format!("CHECK: {text}: not found in\n{result}")),
                },
                Kind::HoldsNot if result.contains(text.as_str()) => {
                    return Err(format!("CHECK-NOT: {text}: found in\n{result}"));
                }
                Kind::HoldsNot => {}
            }
        }
        Ok(())
    }
}

fn run_options(words: &str) -> Result<Options, String> {
    let mut options = Options {
        verify_each: true,
        ..Options::default()
    };
    for word in words.split_whitespace() {
        let (key, value) = word
            .split_once('=')
            .ok_or(format!("RUN: '{word}' has no '='"))?;
        match key {
            "level" => options.level = level(value)?,
            "target" => {
                let target = Target::by_name(value).ok_or(format!("no target '{value}'"))?;
                options.target = target.clone();
            }
            "passes" => options.passes = Some(PassSpec::parse_list(value)?),
            "disable" => options.disable = value.split(',').map(str::to_owned).collect(),
            "fuel" => options.fuel = Some(value.parse().map_err(|_| format!("fuel '{value}'"))?),
            _ => return Err(format!("RUN: unknown key '{key}'")),
        }
    }
    Ok(options)
}

fn level(name: &str) -> Result<Level, String> {
    Ok(match name {
        "O0" => Level::O0,
        "O1" => Level::O1,
        "O2" => Level::O2,
        "O3" => Level::O3,
        _ => return Err(format!("no level '{name}'")),
    })
}
