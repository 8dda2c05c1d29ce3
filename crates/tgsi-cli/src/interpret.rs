//! `tgsi-opt run`: a program in the reference interpreter.

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::files;
use crate::report::Reporter;

/// Runs `run`.
pub(crate) fn run(args: &RunArgs, reporter: &Reporter) -> Exit {
    let _ = args;
    files::eprint(&reporter.error("", "the interpreter is not available"));
    Exit::Invalid
}
