//! `tgsi-opt run`: a program in the reference interpreter.

use std::fmt::Write;
use std::path::PathBuf;

use tgsi_interp::{Inputs, MaskedOutcome, RegionKind, RunOptions, Word, equiv, run_masked};

use crate::args::RunArgs;
use crate::check;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::report::Reporter;

/// Runs `run`.
pub(crate) fn run(args: &RunArgs, reporter: &Reporter) -> Exit {
    let input = Input {
        path: args.input.clone(),
        name: PathBuf::new(),
    };
    let program = match check::load(&input, reporter) {
        Ok(program) => program,
        Err(message) => {
            files::eprint(&message);
            return Exit::Invalid;
        }
    };
    let mut inputs = Inputs::default();
    if let Err((exit, message)) = read_lines(args, &mut inputs) {
        files::eprint(&reporter.error("", &message));
        return exit;
    }
    let mut options = RunOptions::default();
    if let Some(steps) = args.steps {
        options.step_limit = steps;
    }
    let outcome = run_masked(&program, &inputs, &options, &equiv::FILLS);
    files::print(&text(&outcome));
    Exit::Done
}

fn read_lines(args: &RunArgs, inputs: &mut Inputs) -> Result<(), (Exit, String)> {
    if let Some(path) = &args.inputs {
        let file = Input {
            path: path.clone(),
            name: PathBuf::new(),
        };
        let text = file.read().map_err(|e| (Exit::Invalid, format!("{e:#}")))?;
        for (i, line) in text.lines().enumerate() {
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            if !line.is_empty() {
                set(inputs, line)
                    .map_err(|e| (Exit::Invalid, format!("{}:{}: {e}", file.shown(), i + 1)))?;
            }
        }
    }
    for line in &args.set {
        set(inputs, line.trim()).map_err(|e| (Exit::Usage, format!("--set: {e}")))?;
    }
    Ok(())
}

fn set(inputs: &mut Inputs, line: &str) -> Result<(), String> {
    inputs
        .parse_line(&bits_of_floats(line))
        .map_err(|e| e.to_string())
}

/// The line with its floats written as bits. Integers beside a float are floats, so that
/// `1.0 2.0 0 1` means what it seems to.
fn bits_of_floats(line: &str) -> String {
    let mut words = line.split_whitespace();
    let Some(register) = words.next() else {
        return String::new();
    };
    let words: Vec<&str> = words.collect();
    let is_hex = |w: &str| w.starts_with("0x") || w.starts_with("0X");
    let is_float = |w: &str| !is_hex(w) && w.parse::<f32>().is_ok() && w.parse::<i64>().is_err();
    let floats = words.iter().any(|w| is_float(w));
    let mut out = register.to_owned();
    for word in words {
        out.push(' ');
        match word.parse::<f32>() {
            Ok(value) if floats && !is_hex(word) => {
                // A write to a string cannot fail.
                let _ = write!(out, "{:#010x}", value.to_bits());
            }
            _ => out.push_str(&word.to_lowercase()),
        }
    }
    out
}

/// What a run leaves, a line a register and lane: bits, then the same as floats.
fn text(masked: &MaskedOutcome) -> String {
    let outcome = &masked.outcome;
    let mut out = String::new();
    for output in &outcome.outputs {
        for (lane, words) in output.lanes.iter().enumerate() {
            let dim = output.dim.map_or_else(String::new, |d| format!("[{d}]"));
            let lane = if output.lanes.len() == 1 {
                String::new()
            } else {
                format!(" lane{lane}")
            };
            line(
                &mut out,
                &format!("OUT{dim}[{}]{lane}", output.index),
                words,
            );
        }
    }
    for emitted in &outcome.emitted {
        // A write to a string cannot fail.
        match &emitted.words {
            Some(registers) => {
                let _ = writeln!(out, "EMIT lane{} stream {}", emitted.lane, emitted.stream);
                for (index, words) in outcome.emitted_regs.iter().zip(registers) {
                    line(&mut out, &format!("  OUT[{index}]"), words);
                }
            }
            None => {
                let _ = writeln!(
                    out,
                    "ENDPRIM lane{} stream {}",
                    emitted.lane, emitted.stream
                );
            }
        }
    }
    if outcome.kill != 0 {
        let _ = writeln!(out, "killed lanes {:#x}", outcome.kill);
    }
    memory(&mut out, masked);
    if outcome.flags.step_limit {
        out.push_str("stopped at the step limit\n");
    }
    if outcome.flags.out_of_array {
        out.push_str("an index left its declared array\n");
    }
    if outcome.flags.malformed {
        out.push_str("the structure of the program does not hold together\n");
    }
    let _ = writeln!(out, "{} instructions", outcome.steps);
    out
}

fn line(out: &mut String, name: &str, words: &[Option<Word>; 4]) {
    let bits = words.map(|w| w.map_or_else(|| "-".to_owned(), |w| format!("{:08x}", w.bits)));
    let floats = words.map(|w| w.map_or_else(|| "-".to_owned(), |w| float(f32::from_bits(w.bits))));
    // A write to a string cannot fail.
    let _ = writeln!(
        out,
        "{name:<16} {:>8} {:>8} {:>8} {:>8}   {}",
        bits[0],
        bits[1],
        bits[2],
        bits[3],
        floats.join(" ")
    );
}

/// A float in as many digits as tell it from its neighbours, in short form if it has many zeros.
fn float(value: f32) -> String {
    let size = value.abs();
    if size.is_finite() && size != 0.0 && !(1e-5..1e9).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Memory, four words a line, without the lines that hold only zeros.
fn memory(out: &mut String, masked: &MaskedOutcome) {
    for region in &masked.outcome.memory {
        let name = match region.kind {
            RegionKind::Buffer => "BUFFER",
            RegionKind::Image => "IMAGE",
            RegionKind::Memory => "MEMORY",
            RegionKind::Counter => "HWATOMIC",
            RegionKind::Resource => "RES",
        };
        for (i, chunk) in region.words.chunks(4).enumerate() {
            let zero = chunk.iter().all(|w| w.is_some_and(|w| w.bits == 0));
            if !zero {
                let mut words = [Some(Word::default()); 4];
                words[..chunk.len()].copy_from_slice(chunk);
                line(out, &format!("{name}[{}]+{}", region.index, 16 * i), &words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{bits_of_floats, float};

    #[track_caller]
    fn check(line: &str, expect: &str) {
        assert_eq!(bits_of_floats(line), expect);
    }

    #[test]
    fn floats_stay_short() {
        let shown = [
            0.0,
            -0.0,
            1.5,
            0.00123,
            f32::from_bits(2),
            -3e38,
            f32::INFINITY,
        ]
        .map(float);
        let expect = ["0", "-0", "1.5", "0.00123", "3e-45", "-3e38", "inf"];
        assert_eq!(shown, expect);
    }

    #[test]
    fn floats_become_bits() {
        check(
            "IN[0] 1.0 2.0 0 1",
            "IN[0] 0x3f800000 0x40000000 0x00000000 0x3f800000",
        );
        check("IN[0] 1 2 3 -4", "IN[0] 1 2 3 -4");
        check(
            "IN[0].lane1 0xFF 1e1 -0.0 inf",
            "IN[0].lane1 0xff 0x41200000 0x80000000 0x7f800000",
        );
        check("IN[0]", "IN[0]");
        check("", "");
    }
}
