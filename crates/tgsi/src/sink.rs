//! Collecting diagnostics, bounded, and giving them their lines.

use crate::ast::Span;
use crate::codes;
use crate::diag::{Diagnostic, Severity};

/// Findings of one severity that are kept; the rest are counted only, so that
/// hostile input cannot fill the memory.
const KEEP: usize = 500;

/// A bounded list of findings.
#[derive(Default)]
pub(crate) struct Sink {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Sink {
    fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        span: Span,
        message: String,
        hint: Option<String>,
    ) {
        self.list.push(Diagnostic {
            severity,
            code,
            message,
            hint,
            span,
            line: 0,
            column: 0,
        });
    }

    /// Reports an error; the message is built only if it is kept.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl FnOnce() -> (String, Option<String>),
    ) {
        self.errors += 1;
        if self.errors <= KEEP {
            let (message, hint) = message();
            self.push(Severity::Error, code, span, message, hint);
        }
    }

    /// Reports a warning; the message is built only if it is kept.
    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl FnOnce() -> (String, Option<String>),
    ) {
        self.warnings += 1;
        if self.warnings <= KEEP {
            let (message, hint) = message();
            self.push(Severity::Warning, code, span, message, hint);
        }
    }

    /// The findings in the order of the text, with line and column when there is a text.
    pub(crate) fn finish(mut self, text: Option<&[u8]>) -> Vec<Diagnostic> {
        if self.list.is_empty() {
            return self.list;
        }
        for (count, severity) in [
            (self.errors, Severity::Error),
            (self.warnings, Severity::Warning),
        ] {
            if count > KEEP {
                let last = self
                    .list
                    .iter()
                    .rev()
                    .find(|d| d.severity == severity)
                    .map_or(Span::default(), |d| d.span);
                self.push(
                    severity,
                    codes::TOO_MANY,
                    last,
                    format!("{} more findings are not shown", count - KEEP),
                    None,
                );
            }
        }
        self.list.sort_by_key(|d| d.span.start);
        if let Some(text) = text {
            locate(&mut self.list, text);
        }
        self.list
    }
}

/// Fills line and column of diagnostics sorted by position, in one walk over the text.
fn locate(list: &mut [Diagnostic], text: &[u8]) {
    let (mut pos, mut line, mut line_start) = (0, 1, 0);
    for d in list {
        let target = (d.span.start as usize).min(text.len());
        while pos < target {
            if text[pos] == b'\n' {
                line += 1;
                line_start = pos + 1;
            }
            pos += 1;
        }
        d.line = line;
        d.column = (target - line_start) as u32 + 1;
    }
}
