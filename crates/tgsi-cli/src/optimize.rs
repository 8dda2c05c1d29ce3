//! The command without a subcommand: optimise.

use std::fmt::Write;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use tgsi::{Diagnostic, Dialect};
use tgsi_opt::{Fallback, FallbackKind, Level, Observer, Options, Outcome, PassEvent, TextOutcome};

use crate::args::{Emit, OptimizeArgs, StatsForm};
use crate::crash;
use crate::engine;
use crate::exit::Exit;
use crate::explain;
use crate::files::{self, Destination, Input};
use crate::report::Reporter;
use crate::stats::{self, Totals};
use crate::targets;

/// Runs the command.
pub(crate) fn run(args: &OptimizeArgs, reporter: &Reporter) -> Exit {
    if args.list_passes || args.list_targets {
        files::print(&lists(args));
        return Exit::Done;
    }
    if args.crash_dir.is_some() {
        crash::watch();
    }
    let job = match Job::new(args) {
        Ok(job) => job,
        Err(message) => return usage(reporter, &message),
    };
    let (inputs, folder) = match files::expand(&args.inputs) {
        Ok(found) => found,
        Err(error) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    let several = folder || inputs.len() != 1;
    if several && args.print_egraph.is_some() {
        return usage(reporter, "--print-egraph takes one input");
    }
    let destination = match destination(args, &inputs, several) {
        Ok(destination) => destination,
        Err(message) => return usage(reporter, &message),
    };
    if inputs.is_empty() {
        files::eprint(&reporter.warning("", files::NO_PROGRAMS));
    }
    let batch = Batch {
        job: &job,
        reporter,
        destination,
        several,
        stats: args.stats,
    };
    if several {
        batch.run_all(&inputs, args.jobs)
    } else {
        batch.run_one(&inputs[0])
    }
}

fn usage(reporter: &Reporter, message: &str) -> Exit {
    files::eprint(&reporter.error("", message));
    if reporter.is_human() {
        files::eprint("For more information, try '--help'.\n");
    }
    Exit::Usage
}

fn lists(args: &OptimizeArgs) -> String {
    let mut out = String::new();
    // A write to a string cannot fail.
    if args.list_passes {
        for pass in tgsi_opt::passes() {
            let _ = writeln!(out, "{:<16} {}", pass.name, pass.summary);
        }
    }
    if args.list_passes {
        for stage in tgsi_opt::Stage::ALL {
            let (name, what) = (stage.name(), stage.summary());
            let _ = writeln!(out, "{name:<16} {what} (a stage: only for --disable)");
        }
    }
    if args.list_targets {
        out.push_str(&targets::list());
    }
    out
}

fn find_dialect(name: &str) -> Result<Dialect, String> {
    match name {
        "mesa" => Ok(Dialect::mesa()),
        "virgl" => Ok(Dialect::virgl()),
        "legacy" => Ok(Dialect::legacy()),
        _ => Err(format!(
            "unknown dialect '{name}'; the dialects are mesa, virgl, legacy"
        )),
    }
}

fn destination(
    args: &OptimizeArgs,
    inputs: &[Input],
    several: bool,
) -> Result<Destination, String> {
    if inputs.is_empty() && args.inputs.is_empty() {
        return Err("no input; give a file, a folder, or - for standard input".to_owned());
    }
    if inputs.iter().filter(|i| files::is_stdin(&i.path)).count() > 1 {
        return Err("standard input is named twice".to_owned());
    }
    if args.emit == Emit::None {
        return match &args.output {
            Some(_) => Err("--emit none writes nothing, so there is no use for -o".to_owned()),
            None => Ok(Destination::Nothing),
        };
    }
    match &args.output {
        None if several => {
            let mut message =
                "several inputs need an output folder (-o), or --emit none".to_owned();
            if let Some(path) = args.inputs.iter().find(|p| !files::exists(p)) {
                message.push_str(&no_such_file(path, args.stats.is_some()));
            }
            Err(message)
        }
        None => Ok(Destination::Stdout),
        Some(path) if files::is_stdout(path) && !several => Ok(Destination::Stdout),
        Some(path) if !several && !is_folder(path) => Ok(Destination::File(path.clone())),
        Some(path) => {
            if path.exists() && !path.is_dir() {
                return Err(format!(
                    "several inputs need a folder, and {} is none",
                    path.display()
                ));
            }
            if let Some((a, b)) = files::collision(inputs) {
                return Err(format!(
                    "{} and {} would both be written to {}",
                    a.shown(),
                    b.shown(),
                    path.join(&a.name).display()
                ));
            }
            Ok(Destination::Folder(path.clone()))
        }
    }
}

/// What a word that is no file may have been meant for.
fn no_such_file(path: &std::path::Path, stats: bool) -> String {
    let word = path.display().to_string();
    if stats && StatsForm::from_str(&word, false).is_ok() {
        format!("; the form of the figures is written --stats={word}")
    } else {
        format!("; '{word}' is neither a file nor a subcommand")
    }
}

fn is_folder(path: &std::path::Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// What to do with each program.
struct Job {
    options: Options,
    dialect: Option<Dialect>,
    emit: Emit,
    print_after: Vec<String>,
    print_changed: bool,
    time_passes: bool,
    print_egraph: Option<PathBuf>,
    crash_dir: Option<PathBuf>,
    /// The options of the optimiser as they would be typed.
    typed: String,
}

impl Job {
    fn new(args: &OptimizeArgs) -> Result<Self, String> {
        let options = Options {
            explain: args.explain,
            pack_constants: args.pack_constants,
            now: if args.time_passes { clock } else { || 0 },
            ..engine::options(&args.engine, &args.print_after)?
        };
        let mut typed = engine::typed(&args.engine);
        if args.pack_constants {
            typed.push_str(" --pack-constants");
        }
        Ok(Job {
            options,
            dialect: args.dialect.as_deref().map(find_dialect).transpose()?,
            emit: args.emit,
            print_after: args.print_after.clone(),
            print_changed: args.print_changed,
            time_passes: args.time_passes,
            print_egraph: args.print_egraph.clone(),
            crash_dir: args.crash_dir.clone(),
            typed,
        })
    }

    fn optimize(&self, text: &str, dumps: &mut String) -> Result<TextOutcome, Vec<Diagnostic>> {
        if self.print_after.is_empty() && !self.print_changed {
            return tgsi_opt::optimize_text(text, &self.options, self.dialect.as_ref());
        }
        let mut printer = Printer {
            job: self,
            out: dumps,
        };
        tgsi_opt::optimize_text_with(
            text,
            &self.options,
            self.dialect.as_ref(),
            Some(&mut printer),
        )
    }

    /// The input after a fault of the optimiser.
    fn reprint(&self, text: &str, reason: String) -> Result<TextOutcome, Vec<Diagnostic>> {
        let options = Options {
            level: Level::O0,
            passes: None,
            pack_constants: false,
            ..self.options.clone()
        };
        let mut result = tgsi_opt::optimize_text(text, &options, self.dialect.as_ref())?;
        result.outcome.fallback = Some(Fallback {
            kind: FallbackKind::Unverified,
            stage: "optimiser".to_owned(),
            reason,
        });
        Ok(result)
    }
}

/// Maps `work` over `items` on `jobs` threads; the results are in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    jobs: Option<u16>,
    items: &[T],
    work: impl Fn(&T) -> R + Sync + Send,
) -> Vec<R> {
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(jobs) = jobs {
        builder = builder.num_threads(usize::from(jobs));
    }
    match builder.build() {
        Ok(pool) => pool.install(|| items.par_iter().map(work).collect()),
        // No threads to be had: the work is done all the same.
        Err(_) => items.iter().map(work).collect(),
    }
}

/// Nanoseconds since the first call.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes the program after passes.
struct Printer<'a> {
    job: &'a Job,
    out: &'a mut String,
}

impl Observer for Printer<'_> {
    fn pass(&mut self, event: &PassEvent<'_>) {
        let named = self
            .job
            .print_after
            .iter()
            .any(|n| n == "all" || n == event.name);
        let wanted = named || (self.job.print_changed && event.changed);
        if !wanted {
            return;
        }
        let what = if event.changed {
            "changed"
        } else {
            "unchanged"
        };
        // A write to a string cannot fail.
        let _ = writeln!(
            self.out,
            "; after {}, round {} ({what})",
            event.name, event.round
        );
        self.out.push_str(&(event.dump)());
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}

/// What came of one input.
#[derive(Default)]
struct Done {
    exit: Exit,
    stdout: String,
    stats: String,
    messages: String,
    outcome: Option<Outcome>,
    warnings: u64,
}

struct Batch<'a> {
    job: &'a Job,
    reporter: &'a Reporter,
    destination: Destination,
    several: bool,
    stats: Option<StatsForm>,
}

impl Batch<'_> {
    fn run_one(&self, input: &Input) -> Exit {
        let mut done = self.work(input);
        // Figures share standard output with nothing else.
        let to_stdout = matches!(self.destination, Destination::Stdout);
        if self.job.time_passes
            && let Some(outcome) = &done.outcome
        {
            done.messages.push_str(&time_table(&[outcome]));
        }
        if to_stdout {
            done.messages.push_str(&done.stats);
        } else {
            done.stdout = std::mem::take(&mut done.stats);
        }
        files::eprint(&done.messages);
        files::print(&done.stdout);
        done.exit
    }

    fn run_all(&self, inputs: &[Input], jobs: Option<u16>) -> Exit {
        let bar = self.progress(inputs.len());
        let work = |input: &Input| {
            let done = self.work(input);
            bar.inc(1);
            done
        };
        let results = in_parallel(jobs, inputs, work);
        bar.finish_and_clear();
        self.finish(&results)
    }

    /// A bar on standard error, when a person looks at it.
    fn progress(&self, n: usize) -> ProgressBar {
        if self.reporter.is_quiet() || !self.reporter.is_human() || !std::io::stderr().is_terminal()
        {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(n as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn finish(&self, results: &[Done]) -> Exit {
        let mut totals = Totals::default();
        let mut exit = Exit::Done;
        let (mut messages, mut figures) = (String::new(), String::new());
        for done in results {
            exit = exit.and(done.exit);
            messages.push_str(&done.messages);
            figures.push_str(&done.stats);
            totals.warnings += done.warnings;
            totals.misfits += u64::from(done.exit == Exit::Misfit);
            match &done.outcome {
                Some(outcome) => totals.add(outcome),
                None => totals.failed += 1,
            }
        }
        if self.job.time_passes {
            let outcomes: Vec<&Outcome> =
                results.iter().filter_map(|d| d.outcome.as_ref()).collect();
            messages.push_str(&time_table(&outcomes));
        }
        match self.stats {
            Some(StatsForm::Json) => figures.push_str(&totals.json()),
            Some(StatsForm::Text | StatsForm::ShaderDb) | None => {}
        }
        if !self.reporter.is_quiet() && self.reporter.is_human() && !results.is_empty() {
            messages.push_str(&totals.text());
        }
        files::eprint(&messages);
        files::print(&figures);
        exit
    }

    fn work(&self, input: &Input) -> Done {
        let name = input.shown();
        let text = match input.read() {
            Ok(text) => text,
            Err(error) => {
                let messages = self.reporter.file_error(&input.path, &error);
                return Done {
                    exit: Exit::Invalid,
                    messages,
                    ..Done::default()
                };
            }
        };
        let mut done = Done::default();
        // A fault of the optimiser must not cost the caller his program.
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            self.job.optimize(&text, &mut done.messages)
        }));
        let attempt =
            attempt.unwrap_or_else(|panic| self.job.reprint(&text, crash::reason(panic.as_ref())));
        match attempt {
            Ok(result) => self.accept(input, &name, &text, result, &mut done),
            Err(diagnostics) => {
                done.messages
                    .push_str(&self.reporter.diagnostics(&name, &text, &diagnostics));
                done.exit = Exit::Invalid;
            }
        }
        done
    }

    fn accept(&self, input: &Input, name: &str, text: &str, result: TextOutcome, done: &mut Done) {
        let TextOutcome {
            text: output,
            outcome,
            diagnostics,
        } = result;
        if self.several {
            done.warnings = diagnostics.len() as u64;
        } else {
            done.messages
                .push_str(&self.reporter.diagnostics(name, text, &diagnostics));
        }
        let output = match self.job.emit {
            Emit::Text => output,
            Emit::Ir => tgsi_opt::emit_ir(&outcome.program),
            Emit::Dot => tgsi_opt::emit_dot(&outcome.program),
            Emit::None => String::new(),
        };
        done.exit = done
            .exit
            .and(self.judge(name, &outcome, &mut done.messages));
        self.bundle(input, name, text, &outcome, done);
        if let Some(form) = self.stats {
            done.stats = stats::of_outcome(form, name, &outcome);
        }
        if self.job.options.explain {
            let json = !self.reporter.is_human();
            done.messages
                .push_str(&explain::text(json, name, &outcome.explanation));
        }
        if let Some(path) = &self.job.print_egraph {
            self.write_egraph(path, input, name, text, done);
        }
        if let Err(error) = self.destination.write(input, &output) {
            let path = self.destination.path(input);
            done.messages
                .push_str(&self.reporter.file_error(&path, &error));
            done.exit = Exit::Invalid;
        }
        if matches!(self.destination, Destination::Stdout) {
            done.stdout = output;
        }
        let mut outcome = outcome;
        if self.several {
            // Only the figures are needed from here on.
            outcome.program.header = Vec::new();
            outcome.program.insts = Vec::new();
            outcome.explanation = Vec::new();
        }
        done.outcome = Some(outcome);
    }

    /// Writes a crash bundle, if the optimiser failed and one is wanted.
    fn bundle(&self, input: &Input, name: &str, text: &str, outcome: &Outcome, done: &mut Done) {
        let failed = |f: &&Fallback| f.kind == FallbackKind::Unverified;
        let (Some(folder), Some(fault)) = (
            &self.job.crash_dir,
            outcome.fallback.as_ref().filter(failed),
        ) else {
            return;
        };
        let reason = format!("{}: {}", fault.stage, fault.reason);
        match crash::write(folder, input, text, &self.job.typed, &reason) {
            Ok(path) => {
                let message = format!("the program is kept in {}", path.display());
                done.messages.push_str(&self.reporter.note(name, &message));
            }
            Err(error) => {
                done.messages
                    .push_str(&self.reporter.file_error(folder, &error));
                done.exit = Exit::Invalid;
            }
        }
    }

    /// Writes the graph of the first round.
    fn write_egraph(&self, path: &Path, input: &Input, name: &str, text: &str, done: &mut Done) {
        let (program, _) = tgsi::parse(text);
        match tgsi_opt::egraph_dot(&program, &self.job.options) {
            Ok(dot) => {
                let file = Destination::File(path.to_owned());
                if let Err(error) = file.write(input, &dot) {
                    done.messages
                        .push_str(&self.reporter.file_error(path, &error));
                    done.exit = Exit::Invalid;
                }
            }
            Err(why) => {
                let message = format!("{} is not written: {why}", path.display());
                done.messages.push_str(&self.reporter.error(name, &message));
                done.exit = Exit::Invalid;
            }
        }
    }

    /// The exit code that a result calls for, with its message.
    fn judge(&self, name: &str, outcome: &Outcome, messages: &mut String) -> Exit {
        let mut exit = Exit::Done;
        if let Some(fallback) = &outcome.fallback {
            let reason = format!(
                "the input is returned: {}: {}",
                fallback.stage, fallback.reason
            );
            match fallback.kind {
                FallbackKind::Unsupported => {
                    messages.push_str(&self.reporter.warning(name, &reason))
                }
                FallbackKind::Unverified => {
                    messages.push_str(&self.reporter.error(name, &reason));
                    exit = Exit::Unverified;
                }
            }
        }
        if let Some(why) = &outcome.kept {
            messages.push_str(&self.reporter.warning(name, why));
        }
        if !self.job.options.pack_constants
            && let Some((from, into)) = stats::packed(outcome)
        {
            let message = format!(
                "{from} constants are packed into {into} to fit the target; --stats=json says where each word went"
            );
            messages.push_str(&self.reporter.note(name, &message));
        }
        let target = &self.job.options.target;
        for message in targets::misfits(target, &outcome.program, &outcome.after) {
            messages.push_str(&self.reporter.error(name, &message));
            exit = exit.and(Exit::Misfit);
        }
        exit
    }
}

/// Times of all passes over some programs, in the order in which passes first ran.
fn time_table(outcomes: &[&Outcome]) -> String {
    let mut rows: Vec<(&'static str, u64)> = Vec::new();
    for (name, nanos) in outcomes.iter().flat_map(|o| &o.pass_times) {
        match rows.iter_mut().find(|r| r.0 == *name) {
            Some(row) => row.1 += nanos,
            None => rows.push((name, *nanos)),
        }
    }
    let total: u64 = rows.iter().map(|r| r.1).sum();
    let mut out = String::from("time by pass\n");
    for (name, nanos) in rows.into_iter().chain([("total", total)]) {
        let share = if total == 0 {
            0.0
        } else {
            nanos as f64 * 100.0 / total as f64
        };
        // A write to a string cannot fail.
        let _ = writeln!(
            out,
            "  {name:<16} {:>11.3} ms {share:>6.1} %",
            nanos as f64 / 1e6
        );
    }
    out
}
