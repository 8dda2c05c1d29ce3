//! File tests: `cases/PASS/PROPERTY.tgsi`.
//!
//! The head of a case holds, in comments, one line of options and any number of checks:
//!
//! ```text
//! ; RUN: passes=dce,copy-prop target=generic level=O2 disable=gvn fuel=10 fp=strict
//! ; CHECK: text that the result's instructions hold, behind what the CHECK before it found
//! ; CHECK-NOT: text that they hold nowhere
//! ; CHECK-TOP: an opcode that stands outside every IF, SWITCH and loop, wherever it stands
//! ; CHECK-NESTED: an opcode that never stands outside
//! ```
//!
//! `expand=yes` leaves nothing to the target's driver.
//! `compare=close` lets floats round differently; without it the interpreter compares bits wherever
//! the rules behind the result promise them, see [`treat::same_meaning`]. `fp=PROFILE` is the profile
//! of floats. The result must equal the sibling `.expected`, but for the folders of [`CHECKED_ONLY`].

use std::{fs, path::Path};

use expect_test::expect_file;
use libtest_mimic::Trial;
use tgsi::Program;
use tgsi_opt::{Level, Options, PassSpec, Profile};
use tgsi_target::Target;

use crate::{
    Check, files,
    oracle::{self, Closeness},
    root, text, treat, trial,
};

/// Folders whose cases say what must be right by checks and treatments, whatever the result looks like.
const CHECKED_ONLY: [&str; 3] = ["faults/", "eras/", "regress/"];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = case_trials();
    trials.extend(wrong_trials());
    trials
}

/// `wrong/NAME`: what a faulty optimiser would make of `cases/faults/NAME` is refused.
fn wrong_trials() -> impl Iterator<Item = Trial> {
    let tests = root().join("tests");
    files(&tests.join("wrong"), "tgsi")
        .into_iter()
        .map(move |wrong| {
            let file = wrong.file_name().unwrap_or_default().to_owned();
            let right = tests.join("cases/faults").join(&file);
            let name = Path::new(&file).with_extension("");
            trial(format!("wrong/{}", name.display()), move || {
                is_refused(&right, &wrong)
            })
        })
}

fn is_refused(right: &Path, wrong: &Path) -> Check {
    let source = fs::read_to_string(right).map_err(|e| e.to_string())?;
    let wrong = fs::read_to_string(wrong).map_err(|e| e.to_string())?;
    let (case, input) = (Case::parse(&source)?, text::parse(&source)?);
    let Ok(result) = text::parse(&wrong) else {
        return Ok(());
    };
    let kept = case.check(&result).is_ok()
        && text::new_findings(&input, &result, case.options.target.virgl).is_empty()
        && oracle::same_meaning(&input, &result, case.closeness).is_ok();
    if kept {
        Err("no check and no treatment refuses it".into())
    } else {
        Ok(())
    }
}

fn case_trials() -> Vec<Trial> {
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
    oracle::means_something(&program, case.closeness)?;
    let outcome = tgsi_opt::optimize(&program, &case.options);
    let result = text::print(&outcome.program);
    if has_golden {
        expect_file![path.with_extension("expected")].assert_eq(&result);
    }
    case.check(&outcome.program)?;
    treat::all(&program, &outcome, &case.options, case.closeness)
        .map_err(|e| format!("{e}\nresult:\n{result}"))?;
    if case.options.passes.is_some() || case.options.fuel.is_some() {
        return Ok(());
    }
    treat::under_fuel(&program, &case.options, case.closeness)
}

/// The head of a case.
#[derive(Default)]
struct Case {
    options: Options,
    closeness: Closeness,
    checks: Vec<(Kind, String)>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Holds,
    HoldsNot,
    Top,
    Nested,
}

impl Case {
    fn parse(source: &str) -> Result<Case, String> {
        let mut case = Case::default();
        let mut has_run = false;
        for line in source.lines() {
            let Some(line) = line.trim_start().strip_prefix(';') else {
                continue;
            };
            let line = line.trim();
            if let Some(words) = line.strip_prefix("RUN:") {
                if has_run {
                    return Err("two RUN lines".into());
                }
                has_run = true;
                case.run_options(words)?;
            } else if let Some((key, text)) = line.split_once(':') {
                let kind = match key {
                    "CHECK" => Kind::Holds,
                    "CHECK-NOT" => Kind::HoldsNot,
                    "CHECK-TOP" => Kind::Top,
                    "CHECK-NESTED" => Kind::Nested,
                    _ if key.starts_with("CHECK") => return Err(format!("unknown {key}")),
                    _ => continue,
                };
                case.checks.push((kind, text.trim().to_owned()));
            }
        }
        if has_run {
            Ok(case)
        } else {
            Err("no RUN line".into())
        }
    }

    fn run_options(&mut self, words: &str) -> Check {
        let options = &mut self.options;
        options.verify_each = true;
        options.check_regalloc = true;
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
                "expand" if value == "yes" => options.expand = true,
                "passes" => options.passes = Some(PassSpec::parse_list(value)?),
                "disable" => options.disable = value.split(',').map(str::to_owned).collect(),
                "fuel" => {
                    options.fuel = Some(value.parse().map_err(|_| format!("fuel '{value}'"))?)
                }
                "fp" => {
                    options.profile =
                        Profile::from_name(value).ok_or(format!("no profile '{value}'"))?;
                }
                "compare" if value == "close" => self.closeness = Closeness::Close,
                "compare" if value == "exact" => self.closeness = Closeness::Exact,
                _ => return Err(format!("RUN: unknown key '{word}'")),
            }
        }
        Ok(())
    }

    fn check(&self, program: &Program) -> Check {
        let printed = text::print(program);
        // Declarations name every register: only the instructions count.
        let result = printed
            .find(" 0: ")
            .map_or(printed.as_str(), |first| &printed[first..]);
        let mut at = 0;
        for (kind, text) in &self.checks {
            let kept = match kind {
                Kind::Holds => match result[at..].find(text.as_str()) {
                    Some(found) => {
                        at += found + text.len();
                        true
                    }
                    None => false,
                },
                Kind::HoldsNot => !result.contains(text.as_str()),
                Kind::Top => text::depths(program, text).all(|depth| depth == 0),
                Kind::Nested => text::depths(program, text).all(|depth| depth > 0),
            };
            if !kept {
                return Err(format!("not so: {kind:?} {text}\n{result}"));
            }
        }
        Ok(())
    }
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
