//! Bytes to tokens. White space, `;` and `#` comments separate; nothing is allocated.

use crate::ast::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters, digits and underscores: names, numbers, `2D_ARRAY`.
    Word,
    /// Any other single byte.
    Punct(u8),
    /// End of the text.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: Kind,
    /// First byte.
    pub(crate) start: u32,
    /// One past the last byte.
    pub(crate) end: u32,
    /// Whether a line ended between the previous token and this one.
    pub(crate) newline: bool,
}

impl Token {
    /// The bytes it covers.
    pub(crate) fn span(self) -> Span {
        Span {
            start: self.start,
            end: self.end,
        }
    }
}

/// A scanner over a text; a copy of it is a cheap look-ahead.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    /// The current token.
    pub(crate) token: Token,
}

const PUNCT: u8 = 0;
const WORD: u8 = 1;
const BLANK: u8 = 2;
const NEWLINE: u8 = 3;
const COMMENT: u8 = 4;

/// The class of every byte.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        if b.is_ascii_alphanumeric() || b == b'_' {
            class[i] = WORD;
        } else if matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c) {
            class[i] = BLANK;
        } else if b == b'\n' {
            class[i] = NEWLINE;
        } else if b == b';' || b == b'#' {
            class[i] = COMMENT;
        }
        i += 1;
    }
    class
};

fn class(b: u8) -> u8 {
    CLASS[b as usize]
}

impl<'a> Lexer<'a> {
    /// A lexer that stands at the first token of `text`.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        // A byte order mark is no part of the program.
        let start = if text.starts_with(&[0xef, 0xbb, 0xbf]) {
            3
        } else {
            0
        };
        let token = Token {
            kind: Kind::End,
            start,
            end: start,
            newline: true,
        };
        let mut lexer = Lexer { text, token };
        lexer.advance();
        lexer.token.newline = true;
        lexer
    }

    /// Steps to the next token.
    pub(crate) fn advance(&mut self) {
        self.resume(self.token.end as usize);
    }

    /// Makes the first token at or behind byte `pos` the current one.
    pub(crate) fn resume(&mut self, pos: usize) {
        let (mut pos, newline) = skip_blank(self.text, pos);
        let start = pos as u32;
        let kind = match self.text.get(pos) {
            None => Kind::End,
            Some(&b) if class(b) == WORD => {
                pos += 1 + word_length(&self.text[pos + 1..]);
                Kind::Word
            }
            Some(&b) => {
                pos += 1;
                Kind::Punct(b)
            }
        };
        let end = pos as u32;
        self.token = Token {
            kind,
            start,
            end,
            newline,
        };
    }

    /// The text of a token.
    pub(crate) fn bytes(&self, token: Token) -> &'a [u8] {
        &self.text[token.start as usize..token.end as usize]
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The first byte behind the current token that is no blank, comment or line end.
    pub(crate) fn next_byte(&self) -> Option<u8> {
        let end = self.token.end as usize;
        match self.text.get(end) {
            Some(&b) if class(b) == PUNCT => Some(b),
            _ => self.text.get(skip_blank(self.text, end).0).copied(),
        }
    }

    /// Whether the current token is the punctuation `b`.
    pub(crate) fn at(&self, b: u8) -> bool {
        self.token.kind == Kind::Punct(b)
    }

    /// Steps over the punctuation `b` if it is the current token.
    pub(crate) fn eat(&mut self, b: u8) -> bool {
        let hit = self.at(b);
        if hit {
            self.advance();
        }
        hit
    }
}

/// How many bytes at the start of `text` can continue a word.
pub(crate) fn word_length(text: &[u8]) -> usize {
    text.iter()
        .position(|&b| class(b) != WORD)
        .unwrap_or(text.len())
}

/// The first byte at or behind `pos` that is no blank, comment or line end, and
/// whether a line ended on the way.
pub(crate) fn skip_blank(text: &[u8], mut pos: usize) -> (usize, bool) {
    let mut newline = false;
    while let Some(&b) = text.get(pos) {
        match class(b) {
            PUNCT | WORD => break,
            COMMENT => {
                let rest = &text[pos..];
                pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
            }
            class => {
                newline |= class == NEWLINE;
                pos += 1;
            }
        }
    }
    (pos, newline)
}

/// A word in upper case without allocation.
pub(crate) struct Upper {
    bytes: [u8; Upper::MAX],
    len: usize,
}

impl Upper {
    /// Longer than every keyword; a longer word is none.
    const MAX: usize = 48;

    /// The upper-case form of `word`, cut at 48 bytes.
    pub(crate) fn new(word: &[u8]) -> Self {
        let mut bytes = [0; Upper::MAX];
        let len = word.len().min(Upper::MAX);
        for (to, from) in bytes.iter_mut().zip(word) {
            *to = from.to_ascii_uppercase();
        }
        Upper { bytes, len }
    }

    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Its text. Words are ASCII, so this is the whole of it.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

/// The value of an unsigned decimal word, saturating; `None` if it is no number.
pub(crate) fn decimal(word: &[u8]) -> Option<i64> {
    let mut value: i64 = 0;
    for &b in word {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value.saturating_mul(10).saturating_add(i64::from(b - b'0'));
    }
    if word.is_empty() { None } else { Some(value) }
}
