//! Running a text on lines of input.

#![allow(dead_code, reason = "each test binary uses a part")]

use tgsi::Program;
use tgsi_interp::{Inputs, Outcome, RegionKind, RunOptions};

#[track_caller]
pub(crate) fn parse(text: &str) -> Program {
    let (program, diagnostics) = tgsi::parse(text);
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|d| d.severity == tgsi::Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{text}\n{errors:#?}");
    program
}

/// Inputs from lines; buffers of eight words that hold 7 each.
#[track_caller]
pub(crate) fn inputs(lines: &[&str]) -> Inputs {
    let mut inputs = Inputs::default();
    for line in lines {
        inputs.parse_line(line).unwrap();
    }
    inputs.set_memory(RegionKind::Buffer, 0, vec![7; 8]);
    inputs
}

#[track_caller]
pub(crate) fn run_text(text: &str, lines: &[&str], options: &RunOptions) -> Outcome {
    tgsi_interp::run(&parse(text), &inputs(lines), options)
}

/// A channel of an output in the four lanes.
#[track_caller]
pub(crate) fn lanes(out: &Outcome, index: i32, chan: usize) -> [u32; 4] {
    let reg = out.outputs.iter().find(|o| o.index == index).unwrap();
    std::array::from_fn(|l| reg.lanes[l][chan].bits)
}

/// The words of the n-th piece of memory.
#[track_caller]
pub(crate) fn ints(out: &Outcome, number: usize) -> Vec<u32> {
    out.memory[number].words.iter().map(|w| w.bits).collect()
}
