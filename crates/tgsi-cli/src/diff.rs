//! `tgsi-opt diff`: two programs, or two folders, side by side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tgsi::Program;
use tgsi_interp::equiv::{self, EquivOptions, EquivReport, Tolerance};
use tgsi_target::{Counts, Target, count, virgl_introduces};

use crate::args::DiffArgs;
use crate::check;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::optimize::in_parallel;
use crate::report::Reporter;
use crate::stats::{self, Totals};
use crate::targets;

/// Runs `diff`.
pub(crate) fn run(args: &DiffArgs, reporter: &Reporter) -> Exit {
    let find = |name| targets::find(name, &[]);
    let target = match args.target.as_deref().map(find).transpose() {
        Ok(target) => target,
        Err(message) => {
            files::eprint(&reporter.error("", &message));
            return Exit::Usage;
        }
    };
    match (args.before.is_dir(), args.after.is_dir()) {
        (true, true) => folders(args, target.as_ref(), reporter),
        (false, false) => programs(args, target.as_ref(), reporter),
        _ => {
            files::eprint(&reporter.error("", "a folder cannot be compared with a file"));
            Exit::Usage
        }
    }
}

/// What to compare on.
fn equiv_options(args: &DiffArgs) -> EquivOptions {
    EquivOptions {
        cases: args.cases,
        special_cases: args.special.unwrap_or_else(|| args.cases.div_ceil(4)),
        tolerance: if args.relative > 0.0 || args.absolute > 0.0 {
            Tolerance::Relative {
                rel: args.relative,
                abs: args.absolute,
            }
        } else {
            Tolerance::Exact
        },
        ..EquivOptions::default()
    }
}

/// What comparing two programs found.
struct Comparison {
    before: Counts,
    after: Counts,
    /// Whether they compute the same, in words.
    verdict: String,
    differs: bool,
    /// What the target does not take.
    objections: Vec<String>,
    /// What the interpreter compared.
    tally: Tally,
}

impl Comparison {
    fn exit(&self) -> Exit {
        if self.differs {
            Exit::Unverified
        } else if self.objections.is_empty() {
            Exit::Done
        } else {
            Exit::Misfit
        }
    }
}

fn compare(
    before: &Program,
    after: &Program,
    options: &EquivOptions,
    target: Option<&Target>,
) -> Comparison {
    let (verdict, differs, tally) = verdict(before, after, options);
    let counts = count(after);
    let mut objections = Vec::new();
    if let Some(target) = target {
        if target.virgl {
            objections = virgl_introduces(before, after);
        }
        objections.extend(targets::misfits(target, after, &counts));
    }
    Comparison {
        before: count(before),
        after: counts,
        verdict,
        differs,
        objections,
        tally,
    }
}

/// What the interpreter compared, over one pair or all.
#[derive(Clone, Copy, Default)]
struct Tally {
    cases: u64,
    step_limit: u64,
    out_of_array: u64,
    words: u64,
    undefined: u64,
    /// Pairs of which no case could be compared.
    none: u64,
}

impl Tally {
    fn of(report: &EquivReport) -> Tally {
        Tally {
            cases: u64::from(report.cases_run),
            step_limit: u64::from(report.skipped_step_limit),
            out_of_array: u64::from(report.skipped_out_of_array),
            words: report.compared_words,
            undefined: report.masked_words,
            none: u64::from(report.cases_run == 0),
        }
    }

    fn add(&mut self, o: &Tally) {
        self.cases += o.cases;
        self.step_limit += o.step_limit;
        self.out_of_array += o.out_of_array;
        self.words += o.words;
        self.undefined += o.undefined;
        self.none += o.none;
    }

    fn line(&self) -> String {
        format!(
            "  {} cases compared, {} at the step limit, {} out of an array; {} words compared, {} undefined; \
             {} programs without a case\n",
            self.cases, self.step_limit, self.out_of_array, self.words, self.undefined, self.none
        )
    }
}

fn verdict(before: &Program, after: &Program, options: &EquivOptions) -> (String, bool, Tally) {
    if before.stage != after.stage {
        return ("different stages".to_owned(), true, Tally::default());
    }
    if options.cases + options.special_cases == 0 {
        return ("not run".to_owned(), false, Tally::default());
    }
    let report = equiv::compare(before, after, options);
    (in_words(&report), !report.is_equal(), Tally::of(&report))
}

/// What a comparison found, in words.
pub(crate) fn in_words(report: &EquivReport) -> String {
    if report.malformed {
        return "not run: the structure of the first does not hold together".to_owned();
    }
    let skipped = report.skipped_step_limit + report.skipped_out_of_array;
    let mut out = match (report.mismatches.first(), report.cases_run) {
        (Some(first), _) => {
            let place = format!("{} lane {} {}", first.what, first.lane, letter(first.chan));
            let after = first
                .b
                .map_or_else(|| "undefined".to_owned(), |b| format!("{b:08x}"));
            format!(
                "differ in case {}: {place} is {:08x}, then {after}",
                first.case, first.a
            )
        }
        (None, 0) => "not comparable".to_owned(),
        (None, n) => format!("same in {n} cases"),
    };
    if skipped != 0 {
        out.push_str(&format!(", {skipped} cases skipped"));
    }
    if report.masked_words != 0 {
        out.push_str(&format!(", {} undefined words", report.masked_words));
    }
    out
}

fn letter(channel: u8) -> char {
    char::from(b"xyzw"[usize::from(channel & 3)])
}

fn programs(args: &DiffArgs, target: Option<&Target>, reporter: &Reporter) -> Exit {
    let load = |path: &Path| {
        let input = Input {
            path: path.to_owned(),
            name: PathBuf::new(),
        };
        check::load(&input, reporter).map_err(|message| files::eprint(&message))
    };
    let (Ok(before), Ok(after)) = (load(&args.before), load(&args.after)) else {
        return Exit::Invalid;
    };
    let found = compare(&before, &after, &equiv_options(args), target);
    let mut out = stats::side_by_side("before", "after", &found.before, &found.after);
    out.push_str(&format!("{}\n", found.verdict));
    for objection in &found.objections {
        out.push_str(&format!("introduces {objection}\n"));
    }
    files::print(&out);
    found.exit()
}

/// One file name, and the program of it in either folder.
type Pair = (PathBuf, Option<Input>, Option<Input>);

fn pairs(args: &DiffArgs) -> anyhow::Result<Vec<Pair>> {
    let list = |path: &PathBuf| files::expand(std::slice::from_ref(path)).map(|found| found.0);
    let mut pairs: BTreeMap<PathBuf, (Option<Input>, Option<Input>)> = BTreeMap::new();
    for input in list(&args.before)? {
        let name = input.name.clone();
        pairs.entry(name).or_default().0 = Some(input);
    }
    for input in list(&args.after)? {
        let name = input.name.clone();
        pairs.entry(name).or_default().1 = Some(input);
    }
    Ok(pairs
        .into_iter()
        .map(|(name, (before, after))| (name, before, after))
        .collect())
}

/// What comparing one pair came to.
enum Row {
    /// A program of this name is only in one folder.
    Lone(String),
    /// A program could not be read; the message is ready to be shown.
    Failed(String),
    /// Both were compared.
    Both(String, Box<Comparison>),
}

fn row(args: &DiffArgs, target: Option<&Target>, reporter: &Reporter, pair: &Pair) -> Row {
    let name = pair.0.display().to_string();
    let (before, after) = match pair {
        (_, Some(before), Some(after)) => (before, after),
        (_, Some(_), None) => {
            return Row::Lone(format!("{name}: only in {}\n", args.before.display()));
        }
        _ => return Row::Lone(format!("{name}: only in {}\n", args.after.display())),
    };
    match (check::load(before, reporter), check::load(after, reporter)) {
        (Ok(before), Ok(after)) => Row::Both(
            name,
            Box::new(compare(&before, &after, &equiv_options(args), target)),
        ),
        (Err(a), Err(b)) => Row::Failed(a + &b),
        (Err(message), _) | (_, Err(message)) => Row::Failed(message),
    }
}

fn folders(args: &DiffArgs, target: Option<&Target>, reporter: &Reporter) -> Exit {
    let pairs = match pairs(args) {
        Ok(pairs) => pairs,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    let rows = in_parallel(args.jobs, &pairs, |pair| row(args, target, reporter, pair));
    let mut totals = Totals::default();
    let mut exit = Exit::Done;
    let mut differing = 0u32;
    let mut tally = Tally::default();
    let mut out = String::new();
    for row in rows {
        match row {
            Row::Lone(line) => out.push_str(&line),
            Row::Failed(message) => {
                files::eprint(&message);
                totals.failed += 1;
                exit = exit.and(Exit::Invalid);
            }
            Row::Both(name, found) => {
                let (b, a) = (&found.before, &found.after);
                totals.add_counts(b, a);
                differing += u32::from(found.differs);
                tally.add(&found.tally);
                exit = exit.and(found.exit());
                out.push_str(&format!(
                    "{name}: instructions {} -> {}, temps {} -> {}, {}\n",
                    b.instructions, a.instructions, b.temps, a.temps, found.verdict
                ));
                for objection in &found.objections {
                    out.push_str(&format!("{name}: introduces {objection}\n"));
                }
            }
        }
    }
    out.push_str(&format!(
        "{} programs, {differing} differ, {} failed\n{}{}",
        totals.programs,
        totals.failed,
        if args.cases == 0 {
            String::new()
        } else {
            tally.line()
        },
        totals.sums()
    ));
    files::print(&out);
    exit
}
