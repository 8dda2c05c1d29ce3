//! From text to text.

use tgsi::{Diagnostic, Dialect, Severity, detect_dialect, parse, print};

use crate::{Level, Observer, Options, Outcome, optimize_with};

/// What became of one text.
#[derive(Clone, Debug)]
pub struct TextOutcome {
    /// The result as text, in the dialect of the input or the one asked for. Where the result is
    /// the input, this is the input's own text.
    pub text: String,
    /// The result as a program, and the figures. Its times include `parse` and `print`.
    pub outcome: Outcome,
    /// Warnings of the input.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a program, optimises it and prints it, in the input's dialect unless one is given.
///
/// # Errors
/// All diagnostics of the input, when there is an error among them.
pub fn optimize_text(
    text: &str,
    options: &Options,
    dialect: Option<&Dialect>,
) -> Result<TextOutcome, Vec<Diagnostic>> {
    optimize_text_with(text, options, dialect, None)
}

/// As [`optimize_text`], telling `observer` of every pass.
///
/// # Errors
/// All diagnostics of the input, when there is an error among them.
pub fn optimize_text_with(
    text: &str,
    options: &Options,
    dialect: Option<&Dialect>,
    observer: Option<&mut dyn Observer>,
) -> Result<TextOutcome, Vec<Diagnostic>> {
    let start = (options.now)();
    let (program, mut diagnostics) = parse(text);
    diagnostics.extend(tgsi::check(&program, Some(text)));
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(diagnostics);
    }
    let parsed = (options.now)();
    let mut outcome = optimize_with(&program, options, observer);
    let optimized = (options.now)();
    let own_text =
        outcome.unchanged && options.level != Level::O0 && dialect.is_none() && !has_comment(text);
    let printed = if own_text {
        text.to_owned()
    } else {
        match dialect {
            Some(dialect) => print(&outcome.program, dialect),
            None => print(&outcome.program, &detect_dialect(text, &program)),
        }
    };
    let end = (options.now)();
    outcome
        .pass_times
        .insert(0, ("parse", parsed.saturating_sub(start)));
    outcome
        .pass_times
        .push(("print", end.saturating_sub(optimized)));
    Ok(TextOutcome {
        text: printed,
        outcome,
        diagnostics,
    })
}

/// Whether the text may hold a comment, which no consumer can read.
fn has_comment(text: &str) -> bool {
    let any = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(false, |any, b| any | matches!(b, b';' | b'#'))
    };
    // Pieces without a way out in their middle are compared many bytes at a time.
    text.as_bytes().chunks(256).any(any)
}
