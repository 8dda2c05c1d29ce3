//! Making a failing program small.

use tgsi::Program;

/// The smallest program found that is well formed and still `fails`.
pub fn shrink(program: &Program, fails: impl FnMut(&Program) -> bool) -> Program {
    tgsi_reduce::reduce(program, None, fails).program
}
