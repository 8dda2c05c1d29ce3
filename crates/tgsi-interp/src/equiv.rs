//! Setting two programs against each other on seeded inputs.

use tgsi::{File, Item, Program, Stage};

use crate::exec::{Prepared, RunOptions, masked, run_code};
use crate::inputs::{CaseStyle, Inputs};
use crate::outcome::{Emitted, MaskedOutcome, Word};
use crate::rng::{self, UNIFORM};
use crate::sampler::SmoothSampler;

/// How close two words must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Bit for bit. A NaN's payload is free where a float operation made it in the source.
    Exact,
    /// Floats that are not bit-equal may differ by `rel` of the larger one, or by `abs`.
    Relative {
        /// Relative distance.
        rel: f32,
        /// Absolute distance.
        abs: f32,
    },
}

/// What to compare on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EquivOptions {
    /// Cases of ordinary inputs (a quarter of them small integers).
    pub cases: u32,
    /// Cases of special values.
    pub special_cases: u32,
    /// Seed of the inputs.
    pub seed: u64,
    /// How close words must be.
    pub tolerance: Tolerance,
    /// Instructions a quad may execute.
    pub step_limit: u64,
    /// Invocations of a work group that are run.
    pub max_invocations: u32,
    /// Whether the first program is of the first era. `None`: as its header and opcodes say.
    pub first_era: Option<bool>,
    /// Mismatches kept in the report; further ones are only counted.
    pub max_mismatches: usize,
}

impl Default for EquivOptions {
    fn default() -> Self {
        EquivOptions {
            cases: 32,
            special_cases: 8,
            seed: 1,
            tolerance: Tolerance::Exact,
            step_limit: 20_000,
            max_invocations: 64,
            first_era: None,
            max_mismatches: 16,
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Number of the case.
    pub case: u32,
    /// Seed and style that give its inputs back, by [`Inputs::random`] of the first program.
    pub seed: u64,
    /// Style of its inputs.
    pub style: CaseStyle,
    /// What differs: `OUT[1]`, `BUFFER[0]`, `kill`, `emitted 3`...
    pub what: String,
    /// Lane; the word's number for memory.
    pub lane: u32,
    /// Channel, 0 = x.
    pub chan: u8,
    /// Bits in the first program.
    pub a: u32,
    /// Bits in the second, `None` where they depend on undefined data.
    pub b: Option<u32>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EquivReport {
    /// Cases compared.
    pub cases_run: u32,
    /// Cases in which the first program reached the step limit.
    pub skipped_step_limit: u32,
    /// Cases in which the first program's index left an array.
    pub skipped_out_of_array: u32,
    /// The first program's structure cannot be run: nothing was compared.
    pub malformed: bool,
    /// Words not compared, because they are undefined in the first program.
    pub masked_words: u64,
    /// Words compared.
    pub compared_words: u64,
    /// Number of differences.
    pub mismatch_count: u64,
    /// The first differences.
    pub mismatches: Vec<Mismatch>,
}

impl EquivReport {
    /// Whether no difference was found.
    pub fn is_equal(&self) -> bool {
        self.mismatch_count == 0
    }

    /// Counts a case that is not compared.
    fn skips(&mut self, a: &MaskedOutcome) -> bool {
        let flags = a.outcome.flags;
        if flags.step_limit {
            self.skipped_step_limit += 1;
        } else if flags.out_of_array {
            self.skipped_out_of_array += 1;
        }
        flags.step_limit || flags.out_of_array
    }

    /// Adds what one case found.
    fn add(&mut self, case: EquivReport, max_mismatches: usize) {
        self.cases_run += 1;
        self.masked_words += case.masked_words;
        self.compared_words += case.compared_words;
        self.mismatch_count += case.mismatch_count;
        let room = max_mismatches.saturating_sub(self.mismatches.len());
        self.mismatches
            .extend(case.mismatches.into_iter().take(room));
    }
}

/// The unknown words' fills: two that differ in every word and sign, and zeros.
pub const FILLS: [u64; 3] = [1, 2, 0];

/// Further fills, of many kinds, for a difference that may come of undefined words.
const MORE_FILLS: std::ops::Range<u64> = 3..UNIFORM + 8;

/// Inputs of case `number`: a seed and a style.
pub fn case_inputs(options: &EquivOptions, number: u32) -> (u64, CaseStyle) {
    let style = match number {
        n if n >= options.cases => CaseStyle::Special,
        n if n % 4 == 3 => CaseStyle::SmallInts,
        _ => CaseStyle::Ordinary,
    };
    (rng::hash(&[options.seed, u64::from(number)]), style)
}

/// Runs both programs on the same inputs, made for what `a` declares, and compares
/// outputs, kills, emitted vertices and memory.
///
/// Words that are undefined in `a` (the source) are not compared; a word that is defined
/// in `a` must be defined in `b`. Where `a` reaches the step limit or leaves an array the
/// case is counted and not compared.
pub fn compare(a: &Program, b: &Program, options: &EquivOptions) -> EquivReport {
    let (first, second) = (Prepared::new(a, 0), Prepared::new(b, 0));
    let mut report = EquivReport {
        malformed: first.code.malformed,
        ..EquivReport::default()
    };
    if report.malformed {
        return report;
    }
    let run_options = RunOptions {
        step_limit: options.step_limit,
        fill: 0,
        max_invocations: options.max_invocations,
        first_era: options.first_era,
        log_effects: false,
        lane_by_lane: first.branches || second.branches,
    };
    let free = free_channels(a);
    // The optimised program may take more steps, never without end.
    let more = RunOptions {
        step_limit: options.step_limit.saturating_mul(4),
        first_era: None,
        ..run_options
    };
    for number in 0..options.cases + options.special_cases {
        let (seed, style) = case_inputs(options, number);
        let inputs = Inputs::random(a, seed, style);
        let mut x = masked(&first, &inputs, &run_options, &FILLS, false);
        if report.skips(&x) {
            continue;
        }
        let y = masked(&second, &inputs, &more, &FILLS, true);
        let case = Case {
            options,
            number,
            seed,
            style,
        };
        let mut found = case.compare(&x, &y, &free);
        let flags = x.outcome.flags;
        if !found.is_equal() && (flags.read_unset || flags.free_nan) {
            // Three fills may agree by accident, in a comparison say: try many.
            MORE_FILLS.for_each(|fill| {
                let again = RunOptions {
                    fill,
                    ..run_options
                };
                x.meet(&run_code(&first, &inputs, &again, &SmoothSampler));
            });
            if report.skips(&x) {
                continue;
            }
            found = case.compare(&x, &y, &free);
        }
        report.add(found, options.max_mismatches);
    }
    report
}

/// Channels of outputs that nobody looks at: (register, mask).
fn free_channels(program: &Program) -> Vec<(i32, u8)> {
    if program.stage != Stage::Frag {
        return Vec::new();
    }
    let free = |item: &Item| {
        let Item::Decl(d) = item else {
            return None;
        };
        match (d.file, d.semantic.as_ref()?.name.as_str()) {
            (File::Out, "POSITION") => Some((d.first, 0b1011)),
            (File::Out, "STENCIL") => Some((d.first, 0b1101)),
            _ => None,
        }
    };
    program.header.iter().filter_map(free).collect()
}

struct Case<'a> {
    options: &'a EquivOptions,
    number: u32,
    seed: u64,
    style: CaseStyle,
}

/// The comparison of one case, under way.
struct Compared<'a> {
    case: &'a Case<'a>,
    report: EquivReport,
}

impl Case<'_> {
    fn compare(&self, a: &MaskedOutcome, b: &MaskedOutcome, free: &[(i32, u8)]) -> EquivReport {
        let mut compared = Compared {
            case: self,
            report: EquivReport::default(),
        };
        compared.compare(a, b, free);
        compared.report
    }
}

impl Compared<'_> {
    fn mismatch(&mut self, what: String, lane: u32, chan: u8, a: u32, b: Option<u32>) {
        self.report.mismatch_count += 1;
        if self.report.mismatches.len() < self.case.options.max_mismatches {
            let Case {
                number: case,
                seed,
                style,
                ..
            } = *self.case;
            self.report.mismatches.push(Mismatch {
                case,
                seed,
                style,
                what,
                lane,
                chan,
                a,
                b,
            });
        }
    }

    fn compare(&mut self, a: &MaskedOutcome, b: &MaskedOutcome, free: &[(i32, u8)]) {
        let flags = b.outcome.flags;
        if flags.step_limit || flags.wrote_out_of_array || flags.malformed {
            let what = if flags.step_limit {
                "step limit"
            } else if flags.wrote_out_of_array {
                "index out of array"
            } else {
                "malformed"
            };
            return self.mismatch(what.to_owned(), 0, 0, 0, None);
        }
        let known = a.kill_defined;
        let (kill_a, kill_b) = (a.outcome.kill & known, b.outcome.kill & known);
        if kill_a != kill_b || known & !b.kill_defined != 0 {
            self.mismatch("kill".to_owned(), 0, 0, kill_a as u32, Some(kill_b as u32));
        }
        // A lane that is killed, or perhaps killed, shows no outputs.
        let hidden = a.outcome.kill | !known;
        self.outputs(a, b, hidden, free);
        self.emitted(a, b);
        self.memory(a, b);
    }

    fn outputs(&mut self, a: &MaskedOutcome, b: &MaskedOutcome, hidden: u64, free: &[(i32, u8)]) {
        for out in &a.outcome.outputs {
            let other = b
                .outcome
                .outputs
                .iter()
                .find(|o| (o.dim, o.index) == (out.dim, out.index));
            let skip = free.iter().find(|f| f.0 == out.index).map_or(0, |f| f.1);
            for (lane, words) in out.lanes.iter().enumerate() {
                if hidden >> lane & 1 != 0 && out.lanes.len() == 4 {
                    continue;
                }
                let theirs = other
                    .and_then(|o| o.lanes.get(lane))
                    .copied()
                    .unwrap_or([None; 4]);
                let name = || match out.dim {
                    Some(d) => format!("OUT[{d}][{}]", out.index),
                    None => format!("OUT[{}]", out.index),
                };
                self.vector(name, lane as u32, words, &theirs, skip);
            }
        }
    }

    fn emitted(&mut self, a: &MaskedOutcome, b: &MaskedOutcome) {
        if a.emitted_undefined {
            return;
        }
        let shape = |e: &Emitted<Option<Word>>| (e.lane, e.stream, e.words.is_some());
        let (x, y) = (&a.outcome.emitted, &b.outcome.emitted);
        if b.emitted_undefined || !x.iter().map(shape).eq(y.iter().map(shape)) {
            return self.mismatch(
                "emitted vertices".to_owned(),
                0,
                0,
                x.len() as u32,
                Some(y.len() as u32),
            );
        }
        for (number, (x, y)) in x.iter().zip(y).enumerate() {
            let (Some(mine), Some(theirs)) = (&x.words, &y.words) else {
                continue;
            };
            for (reg, words) in a.outcome.emitted_regs.iter().zip(mine) {
                let at = b.outcome.emitted_regs.iter().position(|r| r == reg);
                let other = at.and_then(|i| theirs.get(i)).copied().unwrap_or([None; 4]);
                self.vector(
                    || format!("emitted {number} OUT[{reg}]"),
                    x.lane,
                    words,
                    &other,
                    0,
                );
            }
        }
    }

    fn memory(&mut self, a: &MaskedOutcome, b: &MaskedOutcome) {
        for region in &a.outcome.memory {
            let other = b
                .outcome
                .memory
                .iter()
                .find(|r| (r.kind, r.index) == (region.kind, region.index));
            let name = || format!("{:?}[{}]", region.kind, region.index);
            let Some(other) = other else {
                self.mismatch(name(), 0, 0, 0, None);
                continue;
            };
            for (at, words) in region.words.chunks(4).enumerate() {
                let get = |r: &[Option<Word>], c: usize| r.get(c).copied().flatten();
                let theirs = other.words.get(4 * at..).unwrap_or(&[]);
                let mine: [Option<Word>; 4] = std::array::from_fn(|c| get(words, c));
                let theirs: [Option<Word>; 4] = std::array::from_fn(|c| get(theirs, c));
                let beyond = if words.len() < 4 {
                    0xf << words.len() & 0xf
                } else {
                    0
                };
                self.vector(name, at as u32, &mine, &theirs, beyond);
            }
        }
    }

    fn vector(
        &mut self,
        what: impl Fn() -> String,
        lane: u32,
        a: &[Option<Word>; 4],
        b: &[Option<Word>; 4],
        skip: u8,
    ) {
        for c in (0..4usize).filter(|c| skip >> c & 1 == 0) {
            let Some(x) = a[c] else {
                self.report.masked_words += 1;
                continue;
            };
            self.report.compared_words += 1;
            if !self.equal(a, b, c) {
                self.mismatch(what(), lane, c as u8, x.bits, b[c].map(|w| w.bits));
            }
        }
    }

    fn equal(&self, a: &[Option<Word>; 4], b: &[Option<Word>; 4], c: usize) -> bool {
        let (Some(x), Some(y)) = (a[c], b[c]) else {
            return false;
        };
        if x.bits == y.bits && !y.unset || both_nan(x, y) || both_double_nan(a, b, c) {
            return true;
        }
        match self.case.options.tolerance {
            // A NaN of which no more is known.
            _ if y.unset => false,
            Tolerance::Exact => false,
            Tolerance::Relative { rel, abs } => {
                let near = |x: f64, y: f64| close(x, y, f64::from(rel), f64::from(abs));
                match (double(a, c), double(b, c)) {
                    (Some(x), Some(y)) => near(x, y),
                    _ if is_zero(x) && is_zero(y) => near(0.0, -0.0),
                    _ if is_float(x) && is_float(y) => {
                        let value = |w: Word| f64::from(f32::from_bits(w.bits));
                        near(value(x), value(y))
                    }
                    _ => false,
                }
            }
        }
    }
}

/// Whether a word is a float: made by a float operation, or of a size that integers
/// seldom have.
fn is_float(w: Word) -> bool {
    w.float || (0x2000_0000..0x6000_0000).contains(&(w.bits & 0x7fff_ffff))
}

/// Whether a word is a zero of either sign.
fn is_zero(w: Word) -> bool {
    w.bits & 0x7fff_ffff == 0
}

/// The words of the pair that channel `c` belongs to.
fn pair(v: &[Option<Word>; 4], c: usize) -> Option<(Word, Word)> {
    v[c & 2].zip(v[c & 2 | 1])
}

/// A pair read as a 64-bit float.
fn wide(low: Word, high: Word) -> f64 {
    f64::from_bits(u64::from(low.bits) | u64::from(high.bits) << 32)
}

/// The value of the pair that channel `c` belongs to, if a 64-bit operation made it.
fn double(v: &[Option<Word>; 4], c: usize) -> Option<f64> {
    let (low, high) = pair(v, c)?;
    (low.double && high.double).then(|| wide(low, high))
}

/// Whether a NaN that a float operation made in the source is any NaN in the result, a folded one
/// among them.
fn both_nan(x: Word, y: Word) -> bool {
    let nan = |w: Word| f32::from_bits(w.bits).is_nan();
    x.float && nan(x) && nan(y)
}

/// Whether channel `c` is half of a NaN that a 64-bit operation made in the source, and of any NaN
/// in the result, a folded one among them.
fn both_double_nan(a: &[Option<Word>; 4], b: &[Option<Word>; 4], c: usize) -> bool {
    let theirs = pair(b, c).map(|(low, high)| wide(low, high));
    double(a, c).is_some_and(f64::is_nan) && theirs.is_some_and(f64::is_nan)
}

fn close(x: f64, y: f64, rel: f64, abs: f64) -> bool {
    if !x.is_finite() || !y.is_finite() {
        return false;
    }
    let distance = (x - y).abs();
    distance <= abs || distance <= rel * x.abs().max(y.abs())
}
