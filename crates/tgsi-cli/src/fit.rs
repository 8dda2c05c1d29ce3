//! `tgsi-opt fit`: which targets programs fit, as they are and optimised for each.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use tgsi::{Program, Stage};
use tgsi_opt::{Level, Options};
use tgsi_target::{Counts, Excess, Target, count, fit_report, place};

use crate::args::FitArgs;
use crate::check;
use crate::engine::find_level;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::optimize::in_parallel;
use crate::report::Reporter;
use crate::stats::stage_name;
use crate::targets;

/// Runs `fit`.
pub(crate) fn run(args: &FitArgs, reporter: &Reporter) -> Exit {
    let job = match Job::new(args) {
        Ok(job) => job,
        Err(message) => {
            files::eprint(&reporter.error("", &message));
            return Exit::Usage;
        }
    };
    let inputs = match files::expand(&args.inputs) {
        Ok((inputs, _)) => inputs,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    if inputs.is_empty() {
        files::eprint(&reporter.warning("", files::NO_PROGRAMS));
    }
    let results = in_parallel(args.jobs, &inputs, |input| job.work(input, reporter));
    let mut exit = Exit::Done;
    let mut rows = Vec::new();
    for result in results {
        match result {
            Ok(row) => rows.push(row),
            Err(message) => {
                files::eprint(&message);
                exit = exit.and(Exit::Invalid);
            }
        }
    }
    let out = match (&rows[..], &job.targets[..]) {
        _ if args.json => rows.iter().map(|row| job.json(row)).collect(),
        ([], _) => String::new(),
        ([row], _) if inputs.len() == 1 => job.by_target(row),
        (rows, [_]) => job.by_program(rows),
        (rows, _) => job.totals(rows),
    };
    files::print(&out);
    exit
}

/// What to look at.
struct Job {
    targets: Vec<Target>,
    /// For each target the first one that the optimiser cannot tell from it.
    same: Vec<usize>,
    levels: Vec<Level>,
    /// Whether places are told; to find them takes longer than to count.
    places: bool,
}

/// What came of one program.
struct Row {
    file: String,
    stage: Stage,
    /// For each target; nothing where it does not run programs of this stage.
    fits: Vec<Option<Fit>>,
}

/// A program and a target.
struct Fit {
    /// Why the program does not fit as it is.
    before: Vec<Reason>,
    /// Why the result of each level does not.
    after: Vec<Vec<Reason>>,
}

/// A reason not to fit, with its place as text.
#[derive(Clone)]
struct Reason {
    excess: Excess,
    place: Option<String>,
    instruction: Option<usize>,
}

impl Reason {
    /// How bad it is: what a target does not have at all, then by how much it is too much.
    fn badness(&self) -> (bool, u64) {
        match self.excess {
            Excess::Missing(_) => (true, 0),
            // In thousandths of what the target has.
            Excess::Limit { needs, has, .. } => {
                (false, u64::from(needs) * 1000 / u64::from(has.max(1)))
            }
        }
    }

    fn json(&self) -> Value {
        let place = self.place.as_ref();
        match self.excess {
            Excess::Limit {
                limit, needs, has, ..
            } => {
                json!({ "limit": limit, "needs": needs, "has": has, "place": place, "instruction": self.instruction })
            }
            Excess::Missing(missing) => {
                json!({ "missing": missing.name(), "place": place, "instruction": self.instruction })
            }
        }
    }
}

/// The worst of some reasons; the first of those that are as bad.
fn worst(reasons: &[Reason]) -> Option<&Reason> {
    reasons.iter().rev().max_by_key(|r| r.badness())
}

impl Job {
    fn new(args: &FitArgs) -> Result<Job, String> {
        let mut targets = Vec::new();
        for name in &args.target {
            if name == "all" {
                for name in Target::names() {
                    targets.push(targets::find(name, &args.limit)?);
                }
            } else {
                targets.push(targets::find(name, &args.limit)?);
            }
        }
        let data = |t: &Target| Target {
            name: String::new(),
            summary: String::new(),
            source: String::new(),
            ..t.clone()
        };
        let alike: Vec<Target> = targets.iter().map(data).collect();
        let same = alike
            .iter()
            .map(|t| alike.iter().position(|o| o == t).unwrap_or_default())
            .collect();
        let levels = args.level.iter().map(|l| find_level(l)).collect();
        Ok(Job {
            targets,
            same,
            levels,
            places: args.json,
        })
    }

    fn reasons(&self, target: &Target, program: &Program, counts: &Counts) -> Vec<Reason> {
        let reason = |excess: Excess| {
            let place = self
                .places
                .then(|| place(target, program, &excess))
                .flatten();
            Reason {
                excess,
                instruction: place.as_ref().map(|p| p.inst),
                place: place.map(|p| p.to_string()),
            }
        };
        fit_report(target, program, counts)
            .into_iter()
            .map(reason)
            .collect()
    }

    /// Looks at one program. The error is the message to show.
    fn work(&self, input: &Input, reporter: &Reporter) -> Result<Row, String> {
        let text = input
            .read()
            .map_err(|error| reporter.file_error(&input.path, &error))?;
        let program = check::parse(input, &text, reporter)?;
        let counts = count(&program);
        let mut results = BTreeMap::new();
        let mut fits = Vec::new();
        for (i, target) in self.targets.iter().enumerate() {
            if !target.runs(program.stage) {
                fits.push(None);
                continue;
            }
            let before = self.reasons(target, &program, &counts);
            let mut after = Vec::new();
            for &level in &self.levels {
                // A program that fits is never made one that does not.
                if before.is_empty() {
                    after.push(Vec::new());
                    continue;
                }
                let base = results
                    .entry((None, level))
                    .or_insert_with(|| optimized(&text, &program, &Target::default(), level));
                if hopeless(target, &base.1) || target.fits(&base.0, &base.1) {
                    after.push(self.reasons(target, &base.0, &base.1));
                    continue;
                }
                // Little work does for most programs, and tells of what a target has not got at all.
                let mut found = Vec::new();
                for level in [Level::O1.min(level), level] {
                    let (result, counts) = results
                        .entry((Some(self.same[i]), level))
                        .or_insert_with(|| optimized(&text, &program, target, level));
                    found = self.reasons(target, result, counts);
                    let missing = |r: &Reason| matches!(r.excess, Excess::Missing(_));
                    if found.is_empty() || found.iter().any(missing) {
                        break;
                    }
                }
                after.push(found);
            }
            fits.push(Some(Fit { before, after }));
        }
        Ok(Row {
            file: input.shown(),
            stage: program.stage,
            fits,
        })
    }

    /// One object a program and target that runs its stage.
    fn json(&self, row: &Row) -> String {
        let mut out = String::new();
        let all = |reasons: &[Reason]| -> Vec<Value> { reasons.iter().map(Reason::json).collect() };
        for (target, fit) in self.targets.iter().zip(&row.fits) {
            let Some(fit) = fit else { continue };
            let after: serde_json::Map<String, Value> = self
                .levels
                .iter()
                .zip(&fit.after)
                .map(|(level, reasons)| {
                    let value = json!({ "fits": reasons.is_empty(), "excess": all(reasons) });
                    (format!("{level:?}"), value)
                })
                .collect();
            let value = json!({
                "file": row.file,
                "stage": stage_name(row.stage),
                "target": target.name,
                "before": { "fits": fit.before.is_empty(), "excess": all(&fit.before) },
                "after": after,
            });
            // A write to a string cannot fail.
            let _ = writeln!(out, "{value}");
        }
        out
    }

    /// A table of one program, a line a target.
    fn by_target(&self, row: &Row) -> String {
        let mut table = Table::new(["target"], &self.levels, "worst");
        for (target, fit) in self.targets.iter().zip(&row.fits) {
            if let Some(fit) = fit {
                table.row(target.name.clone(), fit.cells());
            }
        }
        let stage = stage_name(row.stage);
        format!("{} ({stage})\n{}", row.file, table.text())
    }

    /// A table for one target, a line a program.
    fn by_program(&self, rows: &[Row]) -> String {
        let mut table = Table::new(["program"], &self.levels, "worst");
        for row in rows {
            if let Some(Some(fit)) = row.fits.first() {
                table.row(row.file.clone(), fit.cells());
            }
        }
        format!(
            "{}\n{}{}",
            self.targets[0].name,
            table.text(),
            self.totals(rows)
        )
    }

    /// A table over many programs, a line a target.
    fn totals(&self, rows: &[Row]) -> String {
        let mut table = Table::new(["target", "programs"], &self.levels, "worst, by programs");
        for (i, target) in self.targets.iter().enumerate() {
            let fits: Vec<&Fit> = rows.iter().filter_map(|r| r.fits[i].as_ref()).collect();
            if fits.is_empty() {
                continue;
            }
            let mut cells = vec![fits.len().to_string()];
            let fitting = |f: &dyn Fn(&Fit) -> bool| fits.iter().filter(|x| f(x)).count();
            cells.push(fitting(&|f| f.before.is_empty()).to_string());
            for level in 0..self.levels.len() {
                cells.push(fitting(&|f| f.after[level].is_empty()).to_string());
            }
            cells.push(common(&fits));
            table.row(target.name.clone(), cells);
        }
        table.text()
    }
}

/// What is most often the worst, the most frequent first.
fn common(fits: &[&Fit]) -> String {
    /// Names that are shown.
    const SHOWN: usize = 4;
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let last = fits.iter().filter_map(|f| f.after.last());
    for reason in last.filter_map(|reasons| worst(reasons)) {
        *counts.entry(reason.excess.name()).or_insert(0) += 1;
    }
    let mut counts: Vec<(&str, u32)> = counts.into_iter().collect();
    counts.sort_by_key(|c| std::cmp::Reverse(c.1));
    let shown: Vec<String> = counts
        .iter()
        .take(SHOWN)
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    let more = if counts.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

impl Fit {
    /// Whether it fits as it is and after each level, and the worst of what remains.
    fn cells(&self) -> Vec<String> {
        let word = |fits: bool| if fits { "yes" } else { "no" }.to_owned();
        let mut cells = vec![word(self.before.is_empty())];
        cells.extend(self.after.iter().map(|reasons| word(reasons.is_empty())));
        let left = self.after.last().map_or(&[][..], |reasons| reasons);
        let mut text = worst(left).map_or_else(String::new, |r| r.excess.to_string());
        if left.len() > 1 {
            // A write to a string cannot fail.
            let _ = write!(text, " (and {} more)", left.len() - 1);
        }
        cells.push(text);
        cells
    }
}

/// Whether a program is so much longer than a target takes that no work for this target could make
/// it fit. `counts` is of the result for the default target, where instructions come first.
fn hopeless(target: &Target, counts: &Counts) -> bool {
    // Where operations are paired, twice as many fit.
    let most = if target.pairs { 4 } else { 2 };
    let beyond = |n: u32, limit: Option<u32>| limit.is_some_and(|l| n > l.saturating_mul(most));
    beyond(counts.instructions, target.limits.instructions)
        || beyond(counts.alu, target.limits.alu)
        || beyond(counts.tex, target.limits.tex)
}

/// The result for a target. A fault of the optimiser leaves the program as it is.
fn optimized(text: &str, program: &Program, target: &Target, level: Level) -> (Program, Counts) {
    let options = Options {
        level,
        target: target.clone(),
        // For one program and target that is worth its time, for a table of all it is not.
        search_to_fit: false,
        ..Options::default()
    };
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        tgsi_opt::optimize_text(text, &options, None)
    }));
    match attempt {
        Ok(Ok(result)) => (result.outcome.program, result.outcome.after),
        _ => (program.clone(), count(program)),
    }
}

/// Columns of text, the last one as long as it is.
struct Table {
    lines: Vec<Vec<String>>,
}

impl Table {
    fn new<const N: usize>(first: [&str; N], levels: &[Level], last: &str) -> Table {
        let mut head: Vec<String> = first.iter().map(|s| (*s).to_owned()).collect();
        head.push("as it is".to_owned());
        head.extend(levels.iter().map(|l| format!("-{l:?}")));
        head.push(last.to_owned());
        Table { lines: vec![head] }
    }

    fn row(&mut self, name: String, cells: Vec<String>) {
        self.lines.push([vec![name], cells].concat());
    }

    fn text(&self) -> String {
        let columns = self.lines[0].len();
        let width = |c: usize| self.lines.iter().map(|l| l[c].chars().count()).max();
        let widths: Vec<usize> = (0..columns - 1).filter_map(width).collect();
        let mut out = String::new();
        for line in &self.lines {
            let mut text = String::from(" ");
            for (cell, width) in line.iter().zip(&widths) {
                // A write to a string cannot fail.
                let _ = write!(text, " {cell:<width$} ");
            }
            text.push(' ');
            text.push_str(&line[columns - 1]);
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}
