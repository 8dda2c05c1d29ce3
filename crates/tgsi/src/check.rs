//! The sanity check (first version).
use crate::ast::Program;
use crate::diag::Diagnostic;
use crate::sink::Sink;

/// Mesa's rules for a program. Line and column are 0 when no text is given.
pub fn check(program: &Program, text: Option<&str>) -> Vec<Diagnostic> {
    let _ = program;
    Sink::default().finish(text.map(str::as_bytes))
}
