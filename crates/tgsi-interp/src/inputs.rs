//! What a run starts from: register words, memory and sizes.

use rustc_hash::FxHashMap;
use tgsi::{File, Program};

use crate::eval::Vec4;
use crate::generate;
use crate::memory::RegionKind;

/// A register as inputs name it: `CONST[i]` and `CONST[0][i]` are the same.
pub type RegKey = (File, Option<i32>, i32);

/// The style of generated inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseStyle {
    /// Floats in a moderate range; small integers where integers are read.
    Ordinary,
    /// Mostly small integers, among them every kind of loop bound.
    SmallInts,
    /// Zeros, infinities, NaN, denormals, extreme integers, channel by channel.
    Special,
}

/// A line of input that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("input line `{line}`: {reason}")]
pub struct InputError {
    /// The line.
    pub line: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The inputs of a run. A register that is not set reads 0.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    regs: FxHashMap<RegKey, [Vec4; 4]>,
    memory: FxHashMap<(RegionKind, i32), Vec<u32>>,
    /// Words of the framebuffer that `FBFETCH` reads, and of memory without contents, derive from this.
    pub seed: u64,
    /// Vertices of the input primitive or patch; 0 leaves it to the program's properties.
    pub vertices: u32,
}

/// `CONST[i]` is register `i` of buffer 0.
fn normal(key: RegKey) -> RegKey {
    match key {
        (File::Const, None, i) => (File::Const, Some(0), i),
        _ => key,
    }
}

fn file_of(name: &str) -> Option<File> {
    Some(match name {
        "CONST" => File::Const,
        "IN" => File::In,
        "OUT" => File::Out,
        "TEMP" => File::Temp,
        "ADDR" => File::Addr,
        "SV" => File::Sv,
        _ => return None,
    })
}

fn word(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text
            .parse::<u32>()
            .ok()
            .or_else(|| text.parse::<i32>().ok().map(|i| i as u32)),
    }
}

impl Inputs {
    /// Sets one lane (0..4) of a register.
    pub fn set_lane(&mut self, file: File, dim: Option<i32>, index: i32, lane: usize, words: Vec4) {
        let lanes = self.regs.entry(normal((file, dim, index))).or_default();
        if let Some(slot) = lanes.get_mut(lane) {
            *slot = words;
        }
    }

    /// Sets a register in all four lanes.
    pub fn set(&mut self, file: File, dim: Option<i32>, index: i32, words: Vec4) {
        self.regs.insert(normal((file, dim, index)), [words; 4]);
    }

    /// The words of a register in the four lanes, if it was set. Lanes beyond the
    /// fourth repeat them.
    pub fn get(&self, file: File, dim: Option<i32>, index: i32) -> Option<&[Vec4; 4]> {
        self.regs.get(&normal((file, dim, index)))
    }

    /// Sets the contents of a piece of memory.
    pub fn set_memory(&mut self, kind: RegionKind, index: i32, words: Vec<u32>) {
        self.memory.insert((kind, index), words);
    }

    /// The contents of a piece of memory, if they were set.
    pub fn memory(&self, kind: RegionKind, index: i32) -> Option<&[u32]> {
        self.memory.get(&(kind, index)).map(Vec::as_slice)
    }

    /// Reads a line `REG[i] x y z w`, `REG[d][i] ..` or `REG[i].laneN ..` and sets the register.
    ///
    /// # Errors
    /// If the line has another form.
    pub fn parse_line(&mut self, line: &str) -> Result<(), InputError> {
        let fail = |reason| InputError {
            line: line.to_owned(),
            reason,
        };
        let mut parts = line.split_whitespace();
        let name = parts.next().ok_or_else(|| fail("empty"))?;
        let words: Vec<u32> = parts.map_while(word).collect();
        let words: Vec4 = words.try_into().map_err(|_| fail("four words wanted"))?;
        let (name, lane) = match name.rsplit_once(".lane") {
            Some((name, lane)) => {
                let lane = lane.parse::<usize>().ok().filter(|l| *l < 4);
                (name, Some(lane.ok_or_else(|| fail("lane 0 to 3 wanted"))?))
            }
            None => (name, None),
        };
        let (file, brackets) = name
            .split_once('[')
            .ok_or_else(|| fail("register wanted"))?;
        let file = file_of(file).ok_or_else(|| fail("unknown register file"))?;
        let numbers: Option<Vec<i32>> = brackets
            .trim_end_matches(']')
            .split("][")
            .map(|n| n.parse().ok())
            .collect();
        let (dim, index) = match numbers.as_deref() {
            Some([i]) => (None, *i),
            Some([d, i]) => (Some(*d), *i),
            _ => return Err(fail("register number wanted")),
        };
        match lane {
            Some(lane) => self.set_lane(file, dim, index, lane, words),
            None => self.set(file, dim, index, words),
        }
        Ok(())
    }

    /// Seeded inputs for everything that `program` declares.
    pub fn random(program: &Program, seed: u64, style: CaseStyle) -> Inputs {
        generate::inputs(program, seed, style)
    }
}
