//! Figures of programs, for people, for programs and for shader-db.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};
use tgsi::{Program, Stage};
use tgsi_opt::{Contract, FallbackKind, Outcome};
use tgsi_target::{Counts, certificate, instruction_text};

use crate::args::StatsForm;

/// The header word of a stage.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Vert => "VERT",
        Stage::Frag => "FRAG",
        Stage::Geom => "GEOM",
        Stage::TessCtrl => "TESS_CTRL",
        Stage::TessEval => "TESS_EVAL",
        Stage::Comp => "COMP",
    }
}

/// Every counter with its name, in the order in which they are shown.
fn fields(c: &Counts) -> [(&'static str, u32); 16] {
    [
        ("instructions", c.instructions),
        ("alu", c.alu),
        ("tex", c.tex),
        ("mov", c.mov),
        ("flow", c.flow),
        ("memory", c.memory),
        ("temps", c.temps),
        ("immediates", c.immediates),
        ("constants", c.constants),
        ("inputs", c.inputs),
        ("outputs", c.outputs),
        ("indirections", c.indirections),
        ("loops", c.loops),
        ("ifs", c.ifs),
        ("depth", c.depth),
        ("tokens", c.tokens),
    ]
}

fn json_counts(counts: &Counts) -> Value {
    fields(counts)
        .into_iter()
        .map(|(name, n)| (name.to_owned(), Value::from(n)))
        .collect()
}

/// The line that shader-db's tools read.
pub(crate) fn shader_db(name: &str, stage: Stage, c: &Counts) -> String {
    format!(
        "{name} - {} shader: {} inst, {} loops, {} temps, {} alu, {} tex, {} mov, {} flow, {} imms, {} consts, {} inputs, {} indirections\n",
        stage_name(stage),
        c.instructions,
        c.loops,
        c.temps,
        c.alu,
        c.tex,
        c.mov,
        c.flow,
        c.immediates,
        c.constants,
        c.inputs,
        c.indirections
    )
}

/// The figures of one program.
pub(crate) fn of_program(
    form: StatsForm,
    name: &str,
    program: &Program,
    counts: &Counts,
) -> String {
    match form {
        StatsForm::ShaderDb => shader_db(name, program.stage, counts),
        StatsForm::Json => {
            let stage = stage_name(program.stage);
            format!(
                "{}\n",
                json!({ "file": name, "stage": stage, "counts": json_counts(counts) })
            )
        }
        StatsForm::Text | StatsForm::Full => {
            let mut out = format!("{name} ({})\n", stage_name(program.stage));
            for (what, n) in fields(counts) {
                // A write to a string cannot fail.
                let _ = writeln!(out, "  {what:<13} {n:>9}");
            }
            if form == StatsForm::Full {
                out.push_str(&chain(program));
            }
            out
        }
    }
}

/// The figures of one optimisation.
pub(crate) fn of_outcome(form: StatsForm, name: &str, outcome: &Outcome) -> String {
    let stage = outcome.program.stage;
    match form {
        StatsForm::ShaderDb => shader_db(name, stage, &outcome.after),
        StatsForm::Json => format!("{}\n", outcome_json(name, outcome)),
        StatsForm::Text | StatsForm::Full => {
            let mut out = format!("{name} ({})\n", stage_name(stage));
            out.push_str(&side_by_side(
                "before",
                "after",
                &outcome.before,
                &outcome.after,
            ));
            if let (Some(bound), Some(channels)) =
                (outcome.temps_bound, outcome.temps_channel_bound)
            {
                let _ = writeln!(
                    out,
                    "  lower bound of temps {bound}, by channels {channels}"
                );
            }
            if let Some(bound) = outcome.instructions_bound {
                let _ = writeln!(out, "  lower bound of instructions {bound}");
            }
            if form == StatsForm::Full {
                out.push_str(&chain(&outcome.program));
            }
            rewriting(outcome, &mut out);
            if let Some((from, into)) = packed(outcome) {
                let _ = writeln!(out, "  constants packed from {from} registers into {into}");
            }
            if let Some(v) = &outcome.verification {
                let _ = writeln!(
                    out,
                    "  verified in {} cases{}; {} of {} roots proved{}",
                    v.cases,
                    if v.exact { ", bit for bit" } else { "" },
                    v.proved,
                    v.roots,
                    v.open
                        .as_ref()
                        .map_or_else(String::new, |o| format!(", not {o}"))
                );
            }
            let rounds = outcome.rounds;
            match &outcome.fallback {
                Some(f) => {
                    let _ = writeln!(out, "  input returned: {}: {}", f.stage, f.reason);
                }
                None if outcome.unchanged => out.push_str("  unchanged\n"),
                None => {
                    let _ = writeln!(
                        out,
                        "  {rounds} round{}",
                        if rounds == 1 { "" } else { "s" }
                    );
                }
            }
            out.push_str(&shader_db(name, stage, &outcome.after));
            out
        }
    }
}

/// Why no order of a program's instructions has fewer texture indirections: a longest chain of fetches that
/// wait for each other.
fn chain(program: &Program) -> String {
    let certificate = certificate(program);
    let mut out = format!(
        "  lower bound of indirections {}\n",
        certificate.indirections
    );
    for at in certificate.chain {
        let text = instruction_text(program, at as usize);
        // A write to a string cannot fail.
        let _ = writeln!(out, "    {at:>4}: {text}");
    }
    out
}

fn outcome_json(name: &str, outcome: &Outcome) -> Value {
    let fallback = outcome.fallback.as_ref().map(|f| {
        let kind = match f.kind {
            FallbackKind::Unsupported => "unsupported",
            FallbackKind::Unverified => "unverified",
        };
        json!({ "kind": kind, "stage": f.stage, "reason": f.reason })
    });
    json!({
        "file": name,
        "stage": stage_name(outcome.program.stage),
        "before": json_counts(&outcome.before),
        "after": json_counts(&outcome.after),
        "unchanged": outcome.unchanged,
        "fallback": fallback,
        "verify": outcome.verification.as_ref().map(|v| json!({
            "cases": v.cases,
            "exact": v.exact,
            "roots": v.roots,
            "proved": v.proved,
            "open": v.open,
        })),
        "rounds": outcome.rounds,
        "constants": outcome.constants
            .iter()
            .map(|m| json!({ "from": constant(m.from), "to": constant(m.to) }))
            .collect::<Vec<_>>(),
        "temps_bound": outcome.temps_bound,
        "temps_channel_bound": outcome.temps_channel_bound,
        "instructions_bound": outcome.instructions_bound,
        "contract": outcome.rewriting.contract.names().collect::<Vec<_>>(),
        "rules": fired(outcome)
            .map(|(name, n)| (name.to_owned(), Value::from(n)))
            .collect::<serde_json::Map<String, Value>>(),
        "egraph": {
            "nodes": outcome.rewriting.nodes,
            "classes": outcome.rewriting.classes,
            "iterations": outcome.rewriting.iterations,
            "bound": reached(outcome)
                .map(|(name, n)| (name.to_owned(), Value::from(n)))
                .collect::<serde_json::Map<String, Value>>(),
        },
    })
}

/// The name of a word of constant buffer 0.
fn constant((register, channel): (u32, u8)) -> String {
    let channel = char::from(b"xyzw"[usize::from(channel & 3)]);
    format!("CONST[{register}].{channel}")
}

/// How many constant registers a result read before and after they were packed, if they were.
pub(crate) fn packed(outcome: &Outcome) -> Option<(usize, usize)> {
    let count = |registers: &mut dyn Iterator<Item = u32>| {
        let distinct: BTreeSet<u32> = registers.collect();
        distinct.len()
    };
    let moves = &outcome.constants;
    (!moves.is_empty()).then(|| {
        (
            count(&mut moves.iter().map(|m| m.from.0)),
            count(&mut moves.iter().map(|m| m.to.0)),
        )
    })
}

/// The rules that took part in a result, with how often they did.
fn fired(outcome: &Outcome) -> impl Iterator<Item = (&'static str, u32)> {
    let rules = tgsi_opt::rules().rules.iter().zip(&outcome.rewriting.fired);
    rules
        .filter(|(_, n)| **n > 0)
        .map(|(r, n)| (r.name.as_str(), *n))
}

/// The budgets of rewriting that ran out, with how often they did.
fn reached(outcome: &Outcome) -> impl Iterator<Item = (&'static str, u32)> {
    outcome
        .rewriting
        .reached
        .by_name()
        .into_iter()
        .filter(|b| b.1 > 0)
}

/// Rules that are named among the figures for people.
const RULES_SHOWN: usize = 10;

/// What rules did, for people; nothing if they did nothing.
fn rewriting(outcome: &Outcome, out: &mut String) {
    let r = &outcome.rewriting;
    let mut rules: Vec<(&str, u32)> = fired(outcome).collect();
    if rules.is_empty() && r.contract == Contract::EXACT {
        return;
    }
    // A write to a string cannot fail.
    let _ = writeln!(out, "  float contract {}", r.contract);
    if rules.is_empty() {
        return;
    }
    rules.sort_by_key(|r| std::cmp::Reverse(r.1));
    out.push_str("  rules");
    for (i, (name, n)) in rules.iter().take(RULES_SHOWN).enumerate() {
        let _ = write!(out, "{} {name} {n}", if i > 0 { "," } else { "" });
    }
    if let Some(more) = rules
        .len()
        .checked_sub(RULES_SHOWN)
        .filter(|&more| more > 0)
    {
        let _ = write!(out, ", and {more} more");
    }
    let _ = write!(
        out,
        "\n  e-graph {} nodes, {} classes, {} iteration{}",
        r.nodes,
        r.classes,
        r.iterations,
        if r.iterations == 1 { "" } else { "s" }
    );
    for (i, (name, n)) in reached(outcome).enumerate() {
        let _ = write!(
            out,
            "{} {name} {n}",
            if i > 0 { "," } else { "; ran out of" }
        );
    }
    out.push('\n');
}

/// Two columns of counts and their difference; rows that are 0 on both sides are left out.
pub(crate) fn side_by_side(left: &str, right: &str, before: &Counts, after: &Counts) -> String {
    let mut out = format!("  {:<13} {left:>9} {right:>9}\n", "");
    for ((what, b), (_, a)) in fields(before).into_iter().zip(fields(after)) {
        if b != 0 || a != 0 {
            let change = if a == b {
                String::new()
            } else {
                format!("  {}", percent(b.into(), a.into()))
            };
            // A write to a string cannot fail.
            let _ = writeln!(out, "  {what:<13} {b:>9} {a:>9}{change}");
        }
    }
    out
}

/// The relative change from `before` to `after`, such as `-12.5 %`.
pub(crate) fn percent(before: u64, after: u64) -> String {
    if before == 0 {
        return format!("+{after}");
    }
    let change = (after as f64 - before as f64) * 100.0 / before as f64;
    format!("{change:+.1} %")
}

/// Sums over many programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Programs that were optimised or compared.
    pub(crate) programs: u64,
    /// Inputs that came to nothing.
    pub(crate) failed: u64,
    /// Programs whose input came back by choice.
    pub(crate) unchanged: u64,
    /// Programs whose input came back although a better result was sought.
    pub(crate) fallbacks: u64,
    /// Results that do not fit their target.
    pub(crate) misfits: u64,
    /// Warnings that were not shown.
    pub(crate) warnings: u64,
    before: Sum,
    after: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    instructions: u64,
    mov: u64,
    tex: u64,
    temps: u64,
    immediates: u64,
    tokens: u64,
}

impl Sum {
    fn add(&mut self, c: &Counts) {
        self.instructions += u64::from(c.instructions);
        self.mov += u64::from(c.mov);
        self.tex += u64::from(c.tex);
        self.temps += u64::from(c.temps);
        self.immediates += u64::from(c.immediates);
        self.tokens += u64::from(c.tokens);
    }

    fn fields(&self) -> [(&'static str, u64); 6] {
        [
            ("instructions", self.instructions),
            ("mov", self.mov),
            ("tex", self.tex),
            ("temps", self.temps),
            ("immediates", self.immediates),
            ("tokens", self.tokens),
        ]
    }
}

impl Totals {
    /// Adds one optimisation.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.add_counts(&outcome.before, &outcome.after);
        self.unchanged += u64::from(outcome.unchanged && outcome.fallback.is_none());
        self.fallbacks += u64::from(outcome.fallback.is_some());
    }

    /// Adds two programs' counts.
    pub(crate) fn add_counts(&mut self, before: &Counts, after: &Counts) {
        self.programs += 1;
        self.before.add(before);
        self.after.add(after);
    }

    /// The summary for people.
    pub(crate) fn text(&self) -> String {
        let mut out = format!(
            "{} programs: {} unchanged, {} returned, {} misfits, {} failed",
            self.programs + self.failed,
            self.unchanged,
            self.fallbacks,
            self.misfits,
            self.failed
        );
        if self.warnings != 0 {
            // A write to a string cannot fail.
            let _ = write!(out, ", {} warnings (see `tgsi-opt check`)", self.warnings);
        }
        out.push('\n');
        out.push_str(&self.sums());
        out
    }

    /// The sums alone, a line each.
    pub(crate) fn sums(&self) -> String {
        let mut out = String::new();
        for ((what, b), (_, a)) in self.before.fields().into_iter().zip(self.after.fields()) {
            // A write to a string cannot fail.
            let _ = writeln!(out, "  {what:<13} {b:>9} -> {a:>9}  {}", percent(b, a));
        }
        out
    }

    /// The sums of the first side alone.
    pub(crate) fn plain(&self) -> String {
        let mut out = format!("{} programs\n", self.programs);
        for (what, n) in self.before.fields() {
            // A write to a string cannot fail.
            let _ = writeln!(out, "  {what:<13} {n:>9}");
        }
        out
    }

    /// The summary as one JSON line.
    pub(crate) fn json(&self) -> String {
        let sum = |s: &Sum| -> Value {
            s.fields()
                .into_iter()
                .map(|(name, n)| (name.to_owned(), Value::from(n)))
                .collect()
        };
        let value = json!({ "total": {
            "programs": self.programs,
            "failed": self.failed,
            "unchanged": self.unchanged,
            "fallbacks": self.fallbacks,
            "misfits": self.misfits,
            "before": sum(&self.before),
            "after": sum(&self.after),
        }});
        format!("{value}\n")
    }
}
