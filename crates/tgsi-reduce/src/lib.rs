//! Making a program as small as it gets while something holds of it.
//!
//! [`reduce`] tries smaller programs, coarse changes first, and goes on from each of which the
//! caller says that it still shows what is looked for:
//!
//! 1. `runs`: runs of instructions, long ones first, and all at once that nothing reads;
//! 2. `regions`: a branch, loop or switch as a whole, all but one of its arms, or what encloses
//!    them; a loop becomes one pass of its body;
//! 3. `operands`: modifiers, lanes, MOV in place of an operation, constants and operands of what was
//!    computed before in place of operands;
//! 4. `header`: declarations, immediates and properties.
//!
//! *Invariants*: a candidate has no error that the input does not have; none is asked about twice; the
//! same answers give the same result.

mod header;
mod operands;
mod regions;
mod runs;

use std::hash::Hasher;

use rustc_hash::{FxHashSet, FxHasher};
use tgsi::{Dialect, Program, Severity, check, print};

/// What [`reduce`] came to.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The smallest program found.
    pub program: Program,
    /// How often the caller was asked.
    pub calls: u64,
    /// Whether the limit on calls ended the search.
    pub exhausted: bool,
}

/// The smallest program found of which `holds` says yes, asking it at most `steps` times. That it
/// holds of `program` itself is taken for granted.
pub fn reduce(
    program: &Program,
    steps: Option<u64>,
    mut holds: impl FnMut(&Program) -> bool,
) -> Reduced {
    let mut search = Search {
        errors: errors(program),
        best: program.clone(),
        seen: FxHashSet::default(),
        calls: 0,
        steps: steps.unwrap_or(u64::MAX),
        exhausted: false,
        holds: &mut holds,
    };
    search.is_new(program);
    loop {
        let before = search.best.clone();
        // What is coarse and cheap is done with before anything fine is tried.
        loop {
            let before = search.best.insts.len();
            runs::remove(&mut search);
            regions::remove(&mut search);
            if search.best.insts.len() == before {
                break;
            }
        }
        operands::simplify(&mut search);
        header::simplify(&mut search);
        if search.best == before || search.exhausted {
            break;
        }
    }
    Reduced {
        program: search.best,
        calls: search.calls,
        exhausted: search.exhausted,
    }
}

/// The state of a reduction.
struct Search<'a> {
    /// The smallest program so far.
    best: Program,
    /// Codes of the input's errors, sorted.
    errors: Vec<&'static str>,
    /// Hashes of the texts of all candidates.
    seen: FxHashSet<u64>,
    calls: u64,
    steps: u64,
    exhausted: bool,
    holds: &'a mut dyn FnMut(&Program) -> bool,
}

impl Search<'_> {
    /// Makes a candidate the best program if it is sound, new and has what is looked for.
    fn offer(&mut self, candidate: Program) -> bool {
        if candidate == self.best || !self.is_sound(&candidate) || !self.is_new(&candidate) {
            return false;
        }
        if self.calls >= self.steps {
            self.exhausted = true;
            return false;
        }
        self.calls += 1;
        let better = (self.holds)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    /// As [`Search::offer`], of the best program after a change.
    fn change(&mut self, f: impl FnOnce(&mut Program)) -> bool {
        let mut candidate = self.best.clone();
        f(&mut candidate);
        self.offer(candidate)
    }

    fn is_sound(&self, candidate: &Program) -> bool {
        let mut allowed = self.errors.iter();
        errors(candidate)
            .iter()
            .all(|code| allowed.any(|c| c == code))
    }

    fn is_new(&mut self, candidate: &Program) -> bool {
        let mut h = FxHasher::default();
        h.write(print(candidate, &Dialect::mesa()).as_bytes());
        self.seen.insert(h.finish())
    }
}

/// Codes of all errors, sorted.
fn errors(program: &Program) -> Vec<&'static str> {
    let mut codes: Vec<&'static str> = check(program, None)
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| d.code)
        .collect();
    codes.sort_unstable();
    codes
}
