//! Text to syntax tree. Never fails: what cannot be read is reported and skipped.
//!
//! White space separates, lines mean nothing, except that after an error
//! reading goes on at the next line. Nothing here recurses.

mod header;
mod immediates;
mod instructions;
mod line;
mod operands;

use crate::ast::{Program, Span, Stage};
use crate::codes;
use crate::diag::Diagnostic;
use crate::lexer::{Kind, Lexer, Upper, decimal, skip_blank};
use crate::sink::Sink;

/// Reads a program. The program is what could be read; whether it is complete
/// is for the diagnostics to say: one of severity `Error` means that it is not.
pub fn parse(text: &str) -> (Program, Vec<Diagnostic>) {
    read(text.as_bytes(), Sink::default())
}

/// Reads a program from bytes that may not be UTF-8. Bytes outside of ASCII
/// matter only in comments; anywhere else they are reported.
pub fn parse_bytes(bytes: &[u8]) -> (Program, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    if let Err(e) = std::str::from_utf8(bytes) {
        let start = u32::try_from(e.valid_up_to()).unwrap_or(u32::MAX);
        sink.warning(
            codes::NOT_UTF8,
            Span {
                start,
                end: start.saturating_add(1),
            },
            || ("the text is not UTF-8".into(), None),
        );
    }
    read(bytes, sink)
}

fn read(bytes: &[u8], mut sink: Sink) -> (Program, Vec<Diagnostic>) {
    // Positions are 32 bits wide; a text beyond that is cut.
    let limit = u32::MAX as usize - 1;
    let text = if bytes.len() > limit {
        sink.error(codes::TOO_MANY, Span::default(), || {
            ("the text is larger than 4 GiB and was cut".into(), None)
        });
        &bytes[..limit]
    } else {
        bytes
    };
    let mut parser = Parser::new(text, sink);
    parser.program();
    (parser.program, parser.sink.finish(Some(text)))
}

/// The statement cannot be read any further; the reason has been reported.
struct Fail;

type Parsed<T> = Result<T, Fail>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    sink: Sink,
    program: Program,
    /// The number each immediate was written with, in their order.
    imm_numbers: Vec<u32>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], sink: Sink) -> Self {
        // Room for all instructions of a usual program, but no more than a usual one has.
        let insts = Vec::with_capacity((text.len() / 40).min(4096));
        let program = Program {
            stage: Stage::Frag,
            version: None,
            header: Vec::with_capacity((text.len() / 128).clamp(4, 64)),
            insts,
        };
        Parser {
            lexer: Lexer::new(text),
            sink,
            program,
            imm_numbers: Vec::new(),
        }
    }

    fn program(&mut self) {
        self.stage();
        while self.lexer.token.kind != Kind::End {
            if self.statement().is_err() {
                self.recover();
            }
        }
        self.order_immediates();
    }

    /// The header: `FRAG`, or `FRAG1.1` of old text.
    fn stage(&mut self) {
        let token = self.lexer.token;
        let word = Upper::new(self.lexer.bytes(token));
        let name = word.as_str().trim_end_matches(|c: char| c.is_ascii_digit());
        let major = &word.as_str()[name.len()..];
        match Stage::from_name(name) {
            Some(stage) if token.kind == Kind::Word && major.len() < 3 => {
                self.program.stage = stage;
                self.lexer.advance();
                if let Ok(major) = major.parse::<u8>() {
                    self.program.version = Some((major, self.minor_version()));
                }
            }
            _ => self.sink.error(codes::NO_HEADER, token.span(), || {
                let hint = "begin with FRAG, VERT, GEOM, TESS_CTRL, TESS_EVAL or COMP";
                (
                    "the text does not begin with a stage".into(),
                    Some(hint.into()),
                )
            }),
        }
    }

    fn minor_version(&mut self) -> u8 {
        if !self.lexer.at(b'.') {
            return 0;
        }
        self.lexer.advance();
        let minor = decimal(self.lexer.bytes(self.lexer.token)).and_then(|n| u8::try_from(n).ok());
        if minor.is_some() {
            self.lexer.advance();
        }
        minor.unwrap_or(0)
    }

    /// One declaration, property, immediate or instruction, or its number.
    fn statement(&mut self) -> Parsed<()> {
        let token = self.lexer.token;
        if token.kind != Kind::Word {
            self.lexer.advance();
            return self.unexpected(token.span(), "a statement");
        }
        let bytes = self.lexer.bytes(token);
        if bytes[0].is_ascii_digit() && bytes.iter().all(u8::is_ascii_digit) {
            if self.usual_lines() {
                return Ok(());
            }
            let text = self.lexer.text();
            let colon = skip_blank(text, token.end as usize).0;
            if text.get(colon) == Some(&b':') {
                self.lexer.resume(colon + 1);
                return Ok(());
            }
        }
        match bytes
            .first_chunk::<3>()
            .map(|b| b.map(|b| b.to_ascii_uppercase()))
        {
            Some([b'D', b'C', b'L']) if bytes.len() == 3 => self.declaration(),
            Some([b'I', b'M', b'M']) if bytes.len() == 3 => self.immediate(),
            Some([b'P', b'R', b'O']) if bytes.eq_ignore_ascii_case(b"PROPERTY") => self.property(),
            _ if self.usual_lines() => Ok(()),
            _ => self.instruction(),
        }
    }

    /// Skips to the next line, or the next instruction number.
    fn recover(&mut self) {
        loop {
            let token = self.lexer.token;
            if token.newline || token.kind == Kind::End {
                return;
            }
            if token.kind == Kind::Word
                && self.lexer.next_byte() == Some(b':')
                && decimal(self.lexer.bytes(token)).is_some()
            {
                return;
            }
            self.lexer.advance();
        }
    }

    /// Reports that `what` was expected instead of the token at `span`.
    fn unexpected<T>(&mut self, span: Span, what: &str) -> Parsed<T> {
        self.fail(codes::UNEXPECTED, span, what)
    }

    /// Reports under `code` that `what` was expected instead of the token at `span`.
    fn fail<T>(&mut self, code: &'static str, span: Span, what: &str) -> Parsed<T> {
        let text = self.lexer.text();
        self.sink.error(code, span, || {
            (
                format!("expected {what}, found {}", quote(text, span)),
                None,
            )
        });
        Err(Fail)
    }

    /// Steps over the punctuation `b`, or reports its absence under `code`.
    fn expect(&mut self, b: u8, code: &'static str) -> Parsed<()> {
        if self.lexer.eat(b) {
            return Ok(());
        }
        let what = format!("`{}`", char::from(b));
        self.fail(code, self.lexer.token.span(), &what)
    }

    /// An unsigned decimal number.
    fn number(&mut self, code: &'static str) -> Parsed<i64> {
        let token = self.lexer.token;
        match decimal(self.lexer.bytes(token)) {
            Some(n) if token.kind == Kind::Word => {
                self.lexer.advance();
                Ok(n)
            }
            _ => self.fail(code, token.span(), "a number"),
        }
    }

    /// A number with an optional sign that fits a register index.
    fn signed(&mut self, code: &'static str) -> Parsed<i32> {
        let start = self.lexer.token.start;
        let negative = self.lexer.eat(b'-');
        if !negative {
            self.lexer.eat(b'+');
        }
        let end = self.lexer.token.end;
        let n = self.number(code)?;
        self.fits(if negative { -n } else { n }, Span { start, end })
    }

    /// An unsigned number of 32 bits.
    fn unsigned(&mut self, code: &'static str) -> Parsed<u32> {
        let span = self.lexer.token.span();
        let n = self.number(code)?;
        self.fits(n, span)
    }

    fn fits<T: TryFrom<i64>>(&mut self, n: i64, span: Span) -> Parsed<T> {
        T::try_from(n).map_err(|_| {
            self.sink.error(codes::OUT_OF_RANGE, span, || {
                ("the number does not fit 32 bits".into(), None)
            });
            Fail
        })
    }

    /// The span from `start` to the end of the token before the current one.
    fn since(&self, start: u32) -> Span {
        let text = self.lexer.text();
        let mut end = self.lexer.token.start as usize;
        // Blanks and comments between the tokens do not belong to the node; a
        // comment is rare enough that its text may stay in the span.
        while end > start as usize && text[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        Span {
            start,
            end: end as u32,
        }
    }
}

/// The text at `span` for a message: short, printable, in quotes.
fn quote(text: &[u8], span: Span) -> String {
    let bytes = text
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default();
    if bytes.is_empty() {
        return "the end of the text".into();
    }
    let short: String = bytes.iter().take(32).map(|&b| char::from(b)).collect();
    let short = short.escape_debug();
    let dots = if bytes.len() > 32 { "..." } else { "" };
    format!("`{short}{dots}`")
}
