//! `tgsi-opt bisect`: which rewrite makes a result wrong.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tgsi::{Dialect, Program, detect_dialect, print};
use tgsi_interp::equiv::{EquivOptions, Tolerance, compare};
use tgsi_opt::{Bisection, Contract, Culprit, LastRewrite, Options, Outcome, Profile};

use crate::args::BisectArgs;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::probe::Probe;
use crate::report::Reporter;
use crate::{check, diff, engine};

/// Runs `bisect`.
pub(crate) fn run(args: &BisectArgs, reporter: &Reporter) -> Exit {
    let options = match engine::options(&args.engine, &[]) {
        Ok(options) => options,
        Err(message) => {
            files::eprint(&reporter.error("", &message));
            return Exit::Usage;
        }
    };
    match bisected(args, &options, reporter) {
        Ok(exit) => exit,
        Err(message) => {
            files::eprint(&message);
            Exit::Invalid
        }
    }
}

fn input(path: &Path) -> Input {
    Input {
        path: path.to_owned(),
        name: PathBuf::new(),
    }
}

/// The whole command. The error is the message to show.
fn bisected(args: &BisectArgs, options: &Options, reporter: &Reporter) -> Result<Exit, String> {
    let failed = |error: anyhow::Error| reporter.error("", &format!("{error:#}"));
    let input_file = input(&args.input);
    let text = input_file
        .read()
        .map_err(|error| reporter.file_error(&args.input, &error))?;
    let program = check::parse(&input_file, &text, reporter)?;
    let against = match &args.against {
        Some(path) => check::load(&input(path), reporter)?,
        None => program.clone(),
    };
    let dialect = detect_dialect(&text, &program);
    let mut judge = Judge {
        probe: match &args.check {
            Some(command) => Some(Probe::new(command, args.time_limit).map_err(failed)?),
            None => None,
        },
        against,
        dialect,
        args,
        fault: None,
        difference: None,
    };
    let bar = reporter.spinner();
    let mut calls = 0u64;
    // Panics are what is looked for: they are told of once, at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let found = tgsi_opt::bisect(&program, options, &mut |outcome| {
        calls += 1;
        bar.set_message(format!("{calls} results"));
        judge.is_right(outcome)
    });
    // Where results may differ by rounding, a program can make much of it: whether it computes the same
    // bit for bit without liberties tells a fault from that.
    let by_rule = matches!(&found.culprit, Some(Culprit::Rule { .. }))
        || matches!(
            &found.culprit,
            Some(Culprit::Rewrite {
                mended: Some(true),
                ..
            })
        );
    let rounding = by_rule && judge.probe.is_none() && options.profile != Profile::Strict && {
        let strict = Options {
            profile: Profile::Strict,
            ..options.clone()
        };
        tgsi_opt::bisect(&program, &strict, &mut |o| judge.is_right(o))
            .culprit
            .is_none()
    };
    let _ = std::panic::take_hook();
    bar.finish_and_clear();
    if let Some(error) = judge.fault {
        return Err(failed(error));
    }
    let mut difference = judge.difference;
    if rounding && let Some(words) = &mut difference {
        words.push_str("\n  with --fp strict the result is right, so this may be rounding");
    }
    let name = input_file.shown();
    if found.culprit == Some(Culprit::Input) {
        return Err(reporter.error(&name, "the input is wrong by itself, before any rewrite"));
    }
    files::print(&if reporter.is_human() {
        in_words(&name, &program, &found, difference.as_deref())
    } else {
        format!("{}\n", in_json(&name, &program, &found, rounding))
    });
    Ok(match found.culprit {
        None => Exit::Done,
        Some(_) => Exit::Unverified,
    })
}

/// Says which results are right.
struct Judge<'a> {
    probe: Option<Probe>,
    against: Program,
    dialect: Dialect,
    args: &'a BisectArgs,
    /// Why no more can be judged.
    fault: Option<anyhow::Error>,
    /// What was wrong with the last result that was.
    difference: Option<String>,
}

impl Judge<'_> {
    fn is_right(&mut self, outcome: &Outcome) -> bool {
        if self.fault.is_some() {
            return false;
        }
        let Some(probe) = &mut self.probe else {
            return self.computes_the_same(outcome);
        };
        match probe.says_yes(&print(&outcome.program, &self.dialect)) {
            Ok(yes) => yes,
            Err(error) => {
                self.fault = Some(error);
                false
            }
        }
    }

    fn computes_the_same(&mut self, outcome: &Outcome) -> bool {
        // The interpreter rounds the product in a MAD: fusing changes no bit of it.
        let liberties = outcome.rewriting.contract.without(Contract::CONTRACT);
        let given = self.args.relative.is_some() || self.args.absolute.is_some();
        let close = given || !liberties.is_exact();
        let options = EquivOptions {
            cases: self.args.cases,
            special_cases: if close {
                0
            } else {
                self.args.cases.div_ceil(4)
            },
            tolerance: if close {
                Tolerance::Relative {
                    rel: self.args.relative.unwrap_or(if given { 0.0 } else { 1e-3 }),
                    abs: self.args.absolute.unwrap_or(if given { 0.0 } else { 1e-4 }),
                }
            } else {
                Tolerance::Exact
            },
            ..EquivOptions::default()
        };
        let report = compare(&self.against, &outcome.program, &options);
        let same = report.is_equal();
        if !same {
            self.difference = Some(diff::in_words(&report));
        }
        same
    }
}

/// An instruction of a program, without its number.
fn instruction(program: &Program, at: u32) -> Option<String> {
    let numbered = print(program, &Dialect::mesa());
    let start = format!("{at}: ");
    let line = numbered
        .lines()
        .map(str::trim_start)
        .find_map(|l| l.strip_prefix(&start))?;
    Some(line.trim_start().to_owned())
}

/// A rewrite in words.
fn rewrite(program: &Program, r: &LastRewrite) -> String {
    let mut out = match r.rule {
        Some(rule) => format!("rule {rule} ({}), round {}", r.pass, r.round),
        None => format!("pass {}, round {}", r.pass, r.round),
    };
    if let Some((at, text)) = r
        .instruction
        .and_then(|at| Some((at, instruction(program, at)?)))
    {
        out.push_str(&format!(", of what instruction {at} computes: {text}"));
    }
    out
}

fn in_words(name: &str, program: &Program, found: &Bisection, difference: Option<&str>) -> String {
    let Some(culprit) = &found.culprit else {
        return format!("{name}: the result is right\n");
    };
    let mut lines = Vec::new();
    match culprit {
        Culprit::Input => {}
        Culprit::Rewrite {
            fuel,
            of,
            rewrite: last,
            mended,
        } => {
            let of = of.map_or(String::new(), |n| format!(" of {n}"));
            let what = last.map_or_else(|| "not known".to_owned(), |r| rewrite(program, &r));
            lines.push(format!("the result is wrong from rewrite {fuel}{of} on: {what}"));
            if let (Some(mended), Some(LastRewrite { rule: Some(rule), .. })) = (mended, last) {
                let is = if *mended { "right" } else { "still wrong" };
                lines.push(format!("  with --disable {rule} the result is {is}"));
            }
        }
        Culprit::Rule { rule, shown_by } => {
            lines.push(format!("the result is wrong with the rule {rule}"));
            if let Some(r) = shown_by {
                lines.push(format!("  it shows by {}", rewrite(program, r)));
            }
        }
        Culprit::Stage(stage) => lines.push(format!(
            "the result is wrong by {}, without any rewrite (--disable {} leaves that out)",
            stage.summary(),
            stage.name()
        )),
        Culprit::Rest => lines.push(
            "the result is wrong by what cannot be left out: lifting, placing, packing, allocation or printing"
                .to_owned(),
        ),
    }
    if let Some(difference) = difference {
        lines.push(format!("  {difference}"));
    }
    lines.push(format!("  {} results looked at", found.calls));
    format!("{name}: {}\n", lines.join("\n"))
}

fn in_json(name: &str, program: &Program, found: &Bisection, rounding: bool) -> Value {
    let of_rewrite = |r: &LastRewrite| {
        json!({
            "pass": r.pass,
            "rule": r.rule,
            "round": r.round,
            "instruction": r.instruction,
            "text": r.instruction.and_then(|at| instruction(program, at)),
        })
    };
    let culprit = match &found.culprit {
        None | Some(Culprit::Input) => Value::Null,
        Some(Culprit::Rewrite {
            fuel,
            of,
            rewrite,
            mended,
        }) => json!({
            "kind": "rewrite",
            "fuel": fuel,
            "rewrites": of,
            "rewrite": rewrite.as_ref().map(of_rewrite),
            "right_without_rule": mended,
        }),
        Some(Culprit::Rule { rule, shown_by }) => json!({
            "kind": "rule",
            "rule": rule,
            "rewrite": shown_by.as_ref().map(of_rewrite),
        }),
        Some(Culprit::Stage(stage)) => json!({ "kind": "stage", "stage": stage.name() }),
        Some(Culprit::Rest) => json!({ "kind": "rest" }),
    };
    json!({ "file": name, "culprit": culprit, "right_if_strict": rounding, "results": found.calls })
}
