//! Diagnostics for people and for programs.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use indicatif::{ProgressBar, ProgressDrawTarget};
use serde_json::json;
use tgsi::{Diagnostic, Severity};

use crate::args::{Color, MessageFormat, OutputArgs};

/// Diagnostics of one input beyond this many are only counted.
const MAX_SHOWN: usize = 50;

/// Bytes shown of a line, before and behind the place, when the line is longer than both.
const LINE_WINDOW: usize = 200;

/// Renders diagnostics as the command line asks.
#[derive(Clone)]
pub(crate) struct Reporter {
    format: MessageFormat,
    renderer: Renderer,
    quiet: bool,
}

impl Reporter {
    /// A reporter of the command line's form.
    pub(crate) fn new(args: OutputArgs) -> Self {
        let styled = match args.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::io::stderr().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        let renderer = if styled {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        Reporter {
            format: args.message_format,
            renderer,
            quiet: args.quiet,
        }
    }

    /// Whether messages go to a person.
    pub(crate) fn is_human(&self) -> bool {
        self.format == MessageFormat::Human
    }

    /// Whether warnings, progress and summary are left out.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// All diagnostics of one input.
    pub(crate) fn diagnostics(&self, name: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
        let mut out = String::new();
        let wanted = || {
            diagnostics
                .iter()
                .filter(|d| !self.quiet || d.severity == Severity::Error)
        };
        for diagnostic in wanted().take(MAX_SHOWN) {
            match self.format {
                MessageFormat::Human => self.human(name, text, diagnostic, &mut out),
                MessageFormat::Json => out.push_str(&json_line(name, diagnostic)),
            }
        }
        let left = wanted().count().saturating_sub(MAX_SHOWN);
        if left > 0 {
            out.push_str(&self.note(name, &format!("{left} more diagnostics are not shown")));
        }
        out
    }

    /// An error that has no place in a text.
    pub(crate) fn error(&self, name: &str, message: &str) -> String {
        self.plain(Level::ERROR, "error", name, message)
    }

    /// A file that could not be read or written. The message names it for people, who see it once.
    pub(crate) fn file_error(&self, path: &Path, error: &anyhow::Error) -> String {
        let name = match self.format {
            MessageFormat::Human => String::new(),
            MessageFormat::Json => path.display().to_string(),
        };
        self.error(&name, &format!("{error:#}"))
    }

    /// A warning that has no place in a text.
    pub(crate) fn warning(&self, name: &str, message: &str) -> String {
        if self.quiet {
            String::new()
        } else {
            self.plain(Level::WARNING, "warning", name, message)
        }
    }

    /// What is told for information.
    pub(crate) fn note(&self, name: &str, message: &str) -> String {
        self.plain(Level::NOTE, "note", name, message)
    }

    /// A line on standard error that tells how far something is, when a person looks at it.
    pub(crate) fn spinner(&self) -> ProgressBar {
        if self.quiet || !self.is_human() || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn plain(&self, level: Level<'_>, word: &str, name: &str, message: &str) -> String {
        match self.format {
            MessageFormat::Human => {
                let message = if name.is_empty() {
                    message.to_owned()
                } else {
                    format!("{name}: {message}")
                };
                let report = [Group::with_title(level.primary_title(message))];
                format!("{}\n", self.renderer.render(&report))
            }
            MessageFormat::Json => {
                format!(
                    "{}\n",
                    json!({ "severity": word, "file": name, "message": message })
                )
            }
        }
    }

    fn human(&self, name: &str, text: &str, diagnostic: &Diagnostic, out: &mut String) {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let place = Place::of(text, diagnostic);
        let annotation = AnnotationKind::Primary.span(place.start..place.end);
        let line = diagnostic.line.max(1) as usize;
        let mut group = Group::with_title(
            level
                .primary_title(diagnostic.message.as_str())
                .id(diagnostic.code),
        );
        let mut snippet = Snippet::source(place.source)
            .line_start(line)
            .annotation(annotation);
        if place.whole_line {
            snippet = snippet.path(name);
        } else {
            let column = diagnostic.column.max(1) as usize;
            group = group.element(Origin::path(name).line(line).char_column(column));
        }
        group = group.element(snippet);
        if let Some(hint) = &diagnostic.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        // A write to a string cannot fail.
        let _ = writeln!(out, "{}\n", self.renderer.render(&[group]));
    }
}

/// The part of the text that is shown with a diagnostic, and the place within it.
struct Place<'a> {
    source: &'a str,
    start: usize,
    end: usize,
    whole_line: bool,
}

impl<'a> Place<'a> {
    /// Cuts the line out of the text, so that the cost does not grow with the text's length.
    fn of(text: &'a str, diagnostic: &Diagnostic) -> Self {
        let at = floor_boundary(text, diagnostic.span.start as usize);
        let bytes = text.as_bytes();
        let line_start = bytes[..at]
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |p| p + 1);
        let line_end = bytes[at..]
            .iter()
            .position(|&b| b == b'\n')
            .map_or(text.len(), |p| at + p);
        let line_end = if bytes[line_start..line_end].ends_with(b"\r") {
            line_end - 1
        } else {
            line_end
        };
        let at = at.min(line_end);
        let (from, to) = if line_end - line_start > 2 * LINE_WINDOW {
            (
                floor_boundary(text, at.saturating_sub(LINE_WINDOW).max(line_start)),
                floor_boundary(text, (at + LINE_WINDOW).min(line_end)),
            )
        } else {
            (line_start, line_end)
        };
        let end = floor_boundary(text, diagnostic.span.end as usize).clamp(at, to);
        Place {
            source: &text[from..to],
            start: at - from,
            end: end - from,
            whole_line: from == line_start,
        }
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn json_line(name: &str, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let value = json!({
        "severity": severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "file": name,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "start": diagnostic.span.start,
        "end": diagnostic.span.end,
    });
    format!("{value}\n")
}
