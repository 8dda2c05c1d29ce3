//! Diagnostics as data; rendering is the caller's.

use crate::ast::Span;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Real programs do it and it has a meaning.
    Warning,
    /// The program cannot be processed.
    Error,
}

/// One finding, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Stable code, `T0001`...
    pub code: &'static str,
    /// What is wrong, one line, no trailing full stop.
    pub message: String,
    /// What to do about it, if there is something to say.
    pub hint: Option<String>,
    /// Place in the text.
    pub span: Span,
    /// Line of `span.start`, from 1.
    pub line: u32,
    /// Column of `span.start` in bytes, from 1.
    pub column: u32,
}
