//! What must hold of every optimised program.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tgsi::{Diagnostic, Dialect, Program, Severity, check as diagnose, parse, print};
use tgsi_interp::equiv::{EquivOptions, Mismatch, compare};
use tgsi_interp::{Inputs, RunOptions, run_masked};
use tgsi_opt::{Contract, FallbackKind, Outcome, Profile, optimize};
use tgsi_target::{Cost, count_result, virgl_introduces};

use crate::setup::Setup;

/// A program and how it is optimised.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// The program.
    pub program: Program,
    /// How it is optimised.
    pub setup: Setup,
    /// How much is compared.
    pub effort: Effort,
}

/// How many inputs the meaning is compared on, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Ordinary cases.
    pub cases: u32,
    /// Cases of special values.
    pub special_cases: u32,
    /// Seed of the inputs.
    pub seed: u64,
    /// Whether the result is optimised again.
    pub again: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            cases: 8,
            special_cases: 8,
            seed: 1,
            again: true,
        }
    }
}

/// What was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of fault.
    pub kind: FailureKind,
    /// Details in words.
    pub detail: String,
}

/// Kinds of fault, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The result computes something else.
    Meaning,
    /// Something panicked.
    Panic,
    /// A check inside of the optimiser refused a result.
    Refused,
    /// The result raises a diagnostic that the source did not.
    Diagnostic,
    /// The result costs more, or the reported figures are not its figures.
    Cost,
    /// The printed result parses to something else.
    Text,
    /// The optimiser does not take the program on.
    Unsupported,
    /// A second optimisation changes the cost.
    Again,
    /// As [`FailureKind::Meaning`], where the source reads words that nothing wrote. The word that
    /// differs is the same under every fill tried, which does not prove that it is defined.
    Undefined,
    /// The source itself is no sound program.
    Source,
}

/// What a sound check saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Instructions before and after.
    pub instructions: (u32, u32),
    /// Words compared.
    pub words: u64,
    /// Cases compared.
    pub cases: u32,
}

fn fail<T>(kind: FailureKind, detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure {
        kind,
        detail: detail.into(),
    })
}

/// Optimises the program and judges the result.
///
/// # Errors
/// The first fault found.
pub fn check(case: &TestCase) -> Result<Findings, Failure> {
    match catch_unwind(AssertUnwindSafe(|| judge(case))) {
        Ok(verdict) => verdict,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            fail(FailureKind::Panic, text.unwrap_or("a panic without words"))
        }
    }
}

fn judge(case: &TestCase) -> Result<Findings, Failure> {
    let program = &case.program;
    let findings = diagnose(program, None);
    if let Some(d) = findings.iter().find(|d| d.severity == Severity::Error) {
        return fail(FailureKind::Source, &d.message);
    }
    round_trip(program)?;
    let options = case.setup.options();
    let outcome = optimize(program, &options);
    if let Some(f) = &outcome.fallback {
        let kind = match f.kind {
            FallbackKind::Unsupported => FailureKind::Unsupported,
            FallbackKind::Unverified => FailureKind::Refused,
        };
        return fail(kind, format!("{}: {}", f.stage, f.reason));
    }
    // Results that took liberties with floats differ where programs decide by the last bit, and
    // random ones do: what is checked of them is their form.
    let liberties = outcome.rewriting.contract.without(Contract::CONTRACT);
    let (words, cases) = if liberties.is_exact() {
        meaning(program, &outcome.program, case.effort)?
    } else {
        (0, 0)
    };
    round_trip(&outcome.program)?;
    diagnostics(&findings, &outcome.program)?;
    let target = &options.target;
    if target.virgl {
        let new = virgl_introduces(program, &outcome.program);
        if let Some(first) = new.first() {
            return fail(FailureKind::Diagnostic, first);
        }
    }
    costs(program, &outcome, case)?;
    if case.effort.again && case.setup.repeats() {
        let second = optimize(&outcome.program, &options);
        let (a, b) = (
            cost(&outcome.program, program, case),
            cost(&second.program, program, case),
        );
        if a != b {
            let what = format!("{a:?}\nbecomes {b:?}\n{}", text(&second.program));
            let exact = liberties.is_exact() && options.profile == Profile::Strict;
            let worst = exact
                .then(|| meaning(&outcome.program, &second.program, case.effort).err())
                .flatten();
            return fail(worst.map_or(FailureKind::Again, |f| f.kind), what);
        }
    }
    Ok(Findings {
        instructions: (outcome.before.instructions, outcome.after.instructions),
        words,
        cases,
    })
}

fn text(program: &Program) -> String {
    print(program, &Dialect::mesa())
}

fn cost(program: &Program, input: &Program, case: &TestCase) -> Cost {
    Cost::of(
        program,
        &count_result(program, input),
        &case.setup.options().target,
    )
}

fn costs(program: &Program, outcome: &Outcome, case: &TestCase) -> Result<(), Failure> {
    let (before, after) = (
        cost(program, program, case),
        cost(&outcome.program, program, case),
    );
    if after > before {
        return fail(FailureKind::Cost, format!("{before:?}\nbecomes {after:?}"));
    }
    if outcome.after != count_result(&outcome.program, program) && !outcome.unchanged {
        return fail(
            FailureKind::Cost,
            "the reported counts are not the result's",
        );
    }
    if outcome.unchanged && outcome.program != *program {
        return fail(
            FailureKind::Cost,
            "the result is said to be the input and is not",
        );
    }
    Ok(())
}

/// The printed program is the program, in each dialect that says everything.
fn round_trip(program: &Program) -> Result<(), Failure> {
    for dialect in [Dialect::mesa(), Dialect::virgl()] {
        let text = print(program, &dialect);
        let (again, diagnostics) = parse(&text);
        if let Some(d) = diagnostics.iter().find(|d| d.severity == Severity::Error) {
            return fail(
                FailureKind::Text,
                format!("{} (line {})\n{text}", d.message, d.line),
            );
        }
        // What a dialect leaves out or writes in another type is no difference in meaning:
        // printing once more must come to the same text.
        let second = print(&again, &dialect);
        if text != second || again.insts.len() != program.insts.len() {
            return fail(FailureKind::Text, format!("{text}\nbecomes\n{second}"));
        }
        let plain = |p: &Program| {
            p.insts
                .iter()
                .cloned()
                .map(|mut i| {
                    i.label = None;
                    i
                })
                .collect::<Vec<_>>()
        };
        let calls = program
            .insts
            .iter()
            .any(|i| matches!(i.op, tgsi::Opcode::Cal | tgsi::Opcode::Callnz));
        if !calls && plain(&again) != plain(program) {
            return fail(
                FailureKind::Text,
                format!("other instructions:\n{text}\nbecomes\n{second}"),
            );
        }
    }
    Ok(())
}

/// New diagnostics.
fn diagnostics(before: &[Diagnostic], result: &Program) -> Result<(), Failure> {
    let new = diagnose(result, None)
        .into_iter()
        .find(|d| !before.iter().any(|b| b.code == d.code));
    match new {
        Some(d) => fail(
            FailureKind::Diagnostic,
            format!("{}: {}\n{}", d.code, d.message, text(result)),
        ),
        None => Ok(()),
    }
}

fn meaning(program: &Program, result: &Program, effort: Effort) -> Result<(u64, u32), Failure> {
    if program == result {
        return Ok((0, 0));
    }
    let options = EquivOptions {
        cases: effort.cases,
        special_cases: effort.special_cases,
        seed: effort.seed,
        max_mismatches: 64,
        ..EquivOptions::default()
    };
    let report = compare(program, result, &options);
    if report.malformed {
        return fail(FailureKind::Source, "the interpreter cannot run the source");
    }
    let real: Vec<&Mismatch> = report
        .mismatches
        .iter()
        .filter(|m| is_defined(program, m, &options))
        .collect();
    if real.is_empty() {
        return Ok((report.compared_words, report.cases_run));
    }
    let mut detail = format!("{} words differ", report.mismatch_count);
    for m in real.iter().take(4) {
        let after = m.b.map_or("undefined".to_owned(), |b| format!("{b:#010x}"));
        let _ = write!(
            detail,
            "\n  case {} {:?} seed {:#x}: {} lane {} .{}: {:#010x} became {after}",
            m.case,
            m.style,
            m.seed,
            m.what,
            m.lane,
            ["x", "y", "z", "w"]
                .get(usize::from(m.chan))
                .unwrap_or(&"?"),
            m.a
        );
    }
    let _ = write!(detail, "\n{}", text(result));
    let unset = real.iter().all(|m| reads_unset(program, m, &options));
    fail(
        if unset {
            FailureKind::Undefined
        } else {
            FailureKind::Meaning
        },
        detail,
    )
}

/// More fills than the comparison takes, for a word that differs.
const FILLS: [u64; 12] = [1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11];

fn run_options(options: &EquivOptions) -> RunOptions {
    RunOptions {
        step_limit: options.step_limit,
        max_invocations: options.max_invocations,
        ..RunOptions::default()
    }
}

/// Whether the source reads unwritten words in a case.
fn reads_unset(program: &Program, m: &Mismatch, options: &EquivOptions) -> bool {
    let inputs = Inputs::random(program, m.seed, m.style);
    let outcome = tgsi_interp::run(program, &inputs, &run_options(options));
    outcome.flags.read_unset
}

/// Whether what differs is defined in the source: the same under many more fills.
fn is_defined(program: &Program, m: &Mismatch, options: &EquivOptions) -> bool {
    let inputs = Inputs::random(program, m.seed, m.style);
    let run = run_options(options);
    let (few, many) = (
        run_masked(program, &inputs, &run, &FILLS[..3]),
        run_masked(program, &inputs, &run, &FILLS),
    );
    if few.kill_defined != many.kill_defined || few.emitted_undefined != many.emitted_undefined {
        return false;
    }
    if many.outcome.flags.out_of_array || many.outcome.flags.step_limit {
        return false;
    }
    if let Some(out) = m.what.strip_prefix("OUT[") {
        let numbers: Vec<i32> = out
            .trim_end_matches(']')
            .split("][")
            .filter_map(|n| n.parse().ok())
            .collect();
        let found = many.outcome.outputs.iter().find(|o| match numbers[..] {
            [i] => o.dim.is_none() && o.index == i,
            [d, i] => o.dim == Some(d) && o.index == i,
            _ => false,
        });
        let word = found
            .and_then(|o| o.lanes.get(m.lane as usize))
            .and_then(|l| l.get(usize::from(m.chan)).copied().flatten());
        return word.is_some();
    }
    // Emitted vertices and memory: if anything became undefined with more fills, this may have.
    let known = |o: &tgsi_interp::MaskedOutcome| {
        let memory: usize = o
            .outcome
            .memory
            .iter()
            .map(|r| r.words.iter().filter(|w| w.is_some()).count())
            .sum();
        let emitted = o.outcome.emitted.iter().filter_map(|e| e.words.as_ref());
        let emitted: usize = emitted
            .flatten()
            .map(|w| w.iter().filter(|w| w.is_some()).count())
            .sum();
        memory + emitted
    };
    known(&few) == known(&many)
}
