//! What a run leaves behind.

use crate::memory::{Region, RegionKind};

/// A 32-bit word of a result, and how it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The bits.
    pub bits: u32,
    /// Made by a 32-bit float operation: if it is a NaN, its payload is free.
    pub float: bool,
    /// Half of a pair made by a 64-bit float operation.
    pub double: bool,
    /// Nothing wrote it: the bits are those of the fill.
    pub unset: bool,
}

/// One output register: `OUT[index]`, or `OUT[dim][index]` of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputReg<W> {
    /// The vertex of a two-dimensional output.
    pub dim: Option<i32>,
    /// The register.
    pub index: i32,
    /// The words of each lane. Outputs of a patch (`TESS_CTRL`) are shared and have one entry.
    pub lanes: Vec<[W; 4]>,
}

/// A vertex that `EMIT` made, or the end of a primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted<W> {
    /// The lane that made it.
    pub lane: u32,
    /// Its stream.
    pub stream: u32,
    /// The outputs by then, in the order of [`Outcome::outputs`]'s registers;
    /// `None` for `ENDPRIM`.
    pub words: Option<Vec<[W; 4]>>,
}

/// A store or atomic of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEffect {
    /// Opcode.
    pub op: tgsi::Opcode,
    /// Invocation.
    pub lane: u32,
    /// Kind of memory.
    pub kind: RegionKind,
    /// Its number.
    pub index: i32,
    /// Byte offset of the word.
    pub offset: u32,
    /// The word before.
    pub before: u32,
    /// The word after.
    pub after: u32,
}

/// Things to know about a run; the first three make it incomparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The run was stopped at the step limit, or at the limit of nested calls.
    pub step_limit: bool,
    /// An index left its declared array.
    pub out_of_array: bool,
    /// It did so in a write, whose effect is not defined. A read there gives an unknown word.
    pub wrote_out_of_array: bool,
    /// The text's structure does not hold together (a jump without a target), or it asks
    /// for more registers than the interpreter has.
    pub malformed: bool,
    /// A word was read that nothing had written.
    pub read_unset: bool,
    /// An operation made a NaN, whose sign and payload are free.
    pub free_nan: bool,
}

/// The result of a run. `W` is [`Word`], or `Option<Word>` where words that depend on
/// undefined data are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<W = Word> {
    /// Outputs at the end, in the order (dim, index). Empty for `GEOM`, whose results are
    /// [`Outcome::emitted`], and for `COMP`.
    pub outputs: Vec<OutputReg<W>>,
    /// The registers that the words of [`Outcome::emitted`] belong to.
    pub emitted_regs: Vec<i32>,
    /// Emitted vertices and primitive ends, lane by lane in order.
    pub emitted: Vec<Emitted<W>>,
    /// Lanes that were killed, bit 0 for lane 0.
    pub kill: u64,
    /// Memory after the run.
    pub memory: Vec<Region<W>>,
    /// Stores and atomics in the order they happened, if the options asked for them.
    pub effects: Vec<MemoryEffect>,
    /// Reasons not to compare this outcome.
    pub flags: Flags,
    /// Instructions executed, all quads together.
    pub steps: u64,
}

/// An outcome in which words that depend on undefined data are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedOutcome {
    /// The words.
    pub outcome: Outcome<Option<Word>>,
    /// Lanes whose kill does not depend on undefined data.
    pub kill_defined: u64,
    /// The number of emitted vertices depends on undefined data; `emitted` is empty then.
    pub emitted_undefined: bool,
}

fn meet_word(a: &mut Option<Word>, b: Word, nans: bool) {
    if let Some(w) = a {
        let nan = |x: u32| f32::from_bits(x).is_nan();
        let both = nan(w.bits) && nan(b.bits);
        // Any NaN in one run and a certain one, a folded one say, in another: a NaN in each.
        let same_nan = (w.float || b.float) && both;
        if b.unset {
            *a = None;
        } else if w.bits != b.bits && !same_nan {
            // A NaN in each run, though no operation on floats made it: which one is unknown. As
            // the upper half of a NaN of 64 bits it counts if it is one in each run.
            w.unset = true;
            w.bits = w.bits & b.bits | 0x7f80_0001;
            if !(nans && both) {
                *a = None;
            }
        } else {
            if !w.float {
                w.bits = b.bits;
            }
            w.float |= b.float;
            w.double |= b.double;
        }
    }
}

fn meet_vec(a: &mut [Option<Word>; 4], b: &[Word; 4], nans: bool) {
    for half in [0, 2] {
        let theirs = (b[half], b[half + 1]);
        if let Some(mine) = a[half].zip(a[half + 1])
            && !(theirs.0.unset || theirs.1.unset)
            && (is_double(mine) || is_double(theirs))
            && wide_nan(mine)
            && wide_nan(theirs)
        {
            // Any NaN in one run and a certain one in another: a NaN in each.
            if !is_double(mine) {
                (a[half], a[half + 1]) = (Some(theirs.0), Some(theirs.1));
            }
            continue;
        }
        meet_word(&mut a[half], b[half], nans);
        meet_word(&mut a[half + 1], b[half + 1], nans);
    }
}

/// Whether a 64-bit operation made both words.
fn is_double((low, high): (Word, Word)) -> bool {
    low.double && high.double
}

/// Whether two words are a NaN of 64 bits.
fn wide_nan((low, high): (Word, Word)) -> bool {
    f64::from_bits(u64::from(low.bits) | u64::from(high.bits) << 32).is_nan()
}

fn lift(word: Word) -> Option<Word> {
    (!word.unset).then_some(word)
}

fn lift_vec(a: &[Word; 4]) -> [Option<Word>; 4] {
    a.map(lift)
}

impl MaskedOutcome {
    /// The words of one run, those that nothing wrote taken out.
    pub fn from_run(run: &Outcome) -> Self {
        let outcome = Outcome {
            outputs: run
                .outputs
                .iter()
                .map(|o| OutputReg {
                    dim: o.dim,
                    index: o.index,
                    lanes: o.lanes.iter().map(lift_vec).collect(),
                })
                .collect(),
            emitted_regs: run.emitted_regs.clone(),
            emitted: run
                .emitted
                .iter()
                .map(|e| Emitted {
                    lane: e.lane,
                    stream: e.stream,
                    words: e.words.as_ref().map(|w| w.iter().map(lift_vec).collect()),
                })
                .collect(),
            kill: run.kill,
            memory: run
                .memory
                .iter()
                .map(|r| Region {
                    kind: r.kind,
                    index: r.index,
                    words: r.words.iter().copied().map(lift).collect(),
                })
                .collect(),
            effects: run.effects.clone(),
            flags: run.flags,
            steps: run.steps,
        };
        MaskedOutcome {
            outcome,
            kill_defined: u64::MAX,
            emitted_undefined: false,
        }
    }

    /// Forgets the words in which another run, with another fill, differs.
    pub fn meet(&mut self, run: &Outcome) {
        self.join(run, false);
    }

    /// As [`Self::meet`]. With `nans` a word stays that is a NaN in each run, though not the same one:
    /// it is marked `unset`. That is enough where the source made a NaN, whose bits are free, and the
    /// result has one that was copied from elsewhere.
    pub(crate) fn join(&mut self, run: &Outcome, nans: bool) {
        let out = &mut self.outcome;
        self.kill_defined &= !(out.kill ^ run.kill);
        for (a, b) in out.outputs.iter_mut().zip(&run.outputs) {
            for (x, y) in a.lanes.iter_mut().zip(&b.lanes) {
                meet_vec(x, y, nans);
            }
        }
        for (a, b) in out.memory.iter_mut().zip(&run.memory) {
            for (x, y) in a.words.iter_mut().zip(&b.words) {
                meet_word(x, *y, nans);
            }
        }
        let same_shape = out.emitted.len() == run.emitted.len()
            && out.emitted.iter().zip(&run.emitted).all(|(a, b)| {
                (a.lane, a.stream, a.words.is_some()) == (b.lane, b.stream, b.words.is_some())
            });
        if same_shape {
            for (a, b) in out.emitted.iter_mut().zip(&run.emitted) {
                if let (Some(x), Some(y)) = (&mut a.words, &b.words) {
                    x.iter_mut().zip(y).for_each(|(x, y)| meet_vec(x, y, nans));
                }
            }
        } else {
            out.emitted.clear();
            self.emitted_undefined = true;
        }
        out.flags.step_limit |= run.flags.step_limit;
        out.flags.out_of_array |= run.flags.out_of_array;
        out.flags.wrote_out_of_array |= run.flags.wrote_out_of_array;
        out.flags.malformed |= run.flags.malformed;
        out.flags.read_unset |= run.flags.read_unset;
        out.flags.free_nan |= run.flags.free_nan;
        out.steps += run.steps;
    }
}
