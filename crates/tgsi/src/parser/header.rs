//! Declarations and properties.

use super::{Fail, Parsed, Parser};
use crate::ast::{Decl, File, Item, Property, Semantic, Span, TexTarget};
use crate::codes;
use crate::lexer::{Kind, Upper, decimal};
use crate::names;

/// What a bracket of a declaration holds.
enum Bracket {
    Empty,
    Range(i32, i32),
}

impl Parser<'_> {
    /// Reports a header statement behind an instruction. It counts all the same.
    pub(super) fn must_be_early(&mut self, span: Span) {
        if !self.program.insts.is_empty() {
            self.sink.error(codes::LATE_HEADER, span, || {
                let hint =
                    "declarations, immediates and properties come before the first instruction";
                (
                    "a declaration follows an instruction".into(),
                    Some(hint.into()),
                )
            });
        }
    }

    /// `DCL ...`
    pub(super) fn declaration(&mut self) -> Parsed<()> {
        let token = self.lexer.token;
        self.must_be_early(token.span());
        self.lexer.advance();
        let file = self.file()?;
        let mut decl = Decl::plain(file, 0, 0);
        self.declared_range(&mut decl)?;
        if self.lexer.eat(b'.') {
            decl.mask = self.mask()?;
        }
        let mut read = Ok(());
        while read.is_ok() && self.lexer.eat(b',') {
            read = self.attribute(&mut decl);
        }
        // The register is declared even if a word behind it cannot be read.
        decl.span = self.since(token.start);
        self.program.header.push(Item::Decl(decl));
        read
    }

    fn declared_range(&mut self, decl: &mut Decl) -> Parsed<()> {
        let span = self.lexer.token.span();
        let first = self.declared_bracket()?;
        let inner = if self.lexer.at(b'[') {
            decl.dim = Some(match first {
                Bracket::Empty => None,
                Bracket::Range(a, b) if a == b => Some(a),
                Bracket::Range(..) => {
                    return self.fail(codes::BAD_DECLARATION, span, "a single outer index");
                }
            });
            self.declared_bracket()?
        } else {
            first
        };
        match inner {
            Bracket::Range(first, last) => (decl.first, decl.last) = (first, last),
            Bracket::Empty => return self.fail(codes::BAD_DECLARATION, span, "an index"),
        }
        Ok(())
    }

    /// `[]`, `[3]`, `[0..3]`.
    fn declared_bracket(&mut self) -> Parsed<Bracket> {
        if let Some(bracket) = self.usual_bracket() {
            return Ok(bracket);
        }
        self.expect(b'[', codes::BAD_DECLARATION)?;
        if self.lexer.eat(b']') {
            return Ok(Bracket::Empty);
        }
        let first = self.signed(codes::BAD_DECLARATION)?;
        let mut last = first;
        if self.lexer.eat(b'.') {
            self.expect(b'.', codes::BAD_DECLARATION)?;
            last = self.signed(codes::BAD_DECLARATION)?;
        }
        self.expect(b']', codes::BAD_DECLARATION)?;
        Ok(Bracket::Range(first, last))
    }

    /// `[3]` or `[0..3]` without blanks.
    fn usual_bracket(&mut self) -> Option<Bracket> {
        let text = self.lexer.text();
        let rest = text.get(self.lexer.token.start as usize..)?;
        let (first, mut behind) = small_number(rest.strip_prefix(b"[")?)?;
        let mut last = first;
        if let Some(end) = behind.strip_prefix(b"..") {
            (last, behind) = small_number(end)?;
        }
        behind = behind.strip_prefix(b"]")?;
        self.lexer.resume(text.len() - behind.len());
        Some(Bracket::Range(first, last))
    }

    /// One word behind a comma, with its bracket or parenthesis.
    fn attribute(&mut self, decl: &mut Decl) -> Parsed<()> {
        let token = self.lexer.token;
        if token.kind != Kind::Word {
            return self.fail(codes::BAD_DECLARATION, token.span(), "a word");
        }
        let upper = Upper::new(self.lexer.bytes(token));
        let name = upper.as_str();
        self.lexer.advance();
        let has_semantic = matches!(decl.file, File::In | File::Out | File::Sv);
        match name {
            "ARRAY" if self.lexer.at(b'(') => {
                decl.array = self.numbers::<1>()?[0];
                return Ok(());
            }
            "STREAM" if self.lexer.at(b'(') => {
                decl.stream = Some(self.numbers::<4>()?);
                return Ok(());
            }
            _ => {}
        }
        if has_semantic && decl.semantic.is_none() && names::SEMANTICS.contains(&name) {
            let mut index = None;
            if self.lexer.eat(b'[') {
                index = Some(self.unsigned(codes::BAD_DECLARATION)?);
                self.expect(b']', codes::BAD_DECLARATION)?;
            }
            decl.semantic = Some(Semantic {
                name: name.into(),
                index,
            });
            return Ok(());
        }
        if !plain_attribute(decl, name) {
            self.unknown_attribute(decl, name, token.span())?;
        }
        Ok(())
    }

    /// Keeps a word that is not known, with the bracket that follows it.
    fn unknown_attribute(&mut self, decl: &mut Decl, name: &str, span: Span) -> Parsed<()> {
        let mut word = name.to_owned();
        let close = match self.lexer.token.kind {
            Kind::Punct(b'[') => Some(b']'),
            Kind::Punct(b'(') => Some(b')'),
            _ => None,
        };
        while let Some(close) = close {
            let token = self.lexer.token;
            let text = self.lexer.bytes(token);
            if token.newline || token.kind == Kind::End || !text.is_ascii() {
                let what = format!("`{}`", char::from(close));
                return self.fail(codes::BAD_DECLARATION, token.span(), &what);
            }
            word.extend(text.iter().map(|b| char::from(b.to_ascii_uppercase())));
            self.lexer.advance();
            if token.kind == Kind::Punct(close) {
                break;
            }
        }
        self.sink.warning(codes::UNKNOWN_ATTRIBUTE, span, || {
            (
                format!("`{name}` is no known word of a declaration"),
                Some("it is kept as it is".into()),
            )
        });
        decl.unknown.push(word);
        Ok(())
    }

    /// `(1, 2, ..)`
    fn numbers<const N: usize>(&mut self) -> Parsed<[u32; N]> {
        self.expect(b'(', codes::BAD_DECLARATION)?;
        let mut all = [0; N];
        for (i, to) in all.iter_mut().enumerate() {
            if i > 0 {
                self.expect(b',', codes::BAD_DECLARATION)?;
            }
            *to = self.unsigned(codes::BAD_DECLARATION)?;
        }
        self.expect(b')', codes::BAD_DECLARATION)?;
        Ok(all)
    }

    /// `PROPERTY NAME value, value`. A second value may follow without a comma on the same line.
    pub(super) fn property(&mut self) -> Parsed<()> {
        let token = self.lexer.token;
        self.must_be_early(token.span());
        self.lexer.advance();
        let name = self.lexer.token;
        if name.kind != Kind::Word || name.newline {
            return self.fail(codes::BAD_PROPERTY, name.span(), "the name of a property");
        }
        self.lexer.advance();
        let mut values = Vec::new();
        loop {
            let value = self.lexer.token;
            if value.kind != Kind::Word {
                self.fail::<()>(codes::BAD_PROPERTY, value.span(), "a value")?;
                return Err(Fail);
            }
            values.push(self.upper_word());
            if !self.lexer.eat(b',') && !self.at_property_value() {
                break;
            }
        }
        let name = String::from_utf8_lossy(self.lexer.bytes(name)).to_ascii_uppercase();
        let span = self.since(token.start);
        self.program
            .header
            .push(Item::Property(Property { name, values, span }));
        Ok(())
    }

    /// Whether the current token continues the values: on the same line, and nothing else.
    fn at_property_value(&self) -> bool {
        let token = self.lexer.token;
        let bytes = self.lexer.bytes(token);
        if token.kind != Kind::Word || token.newline || self.lexer.next_byte() == Some(b':') {
            return false;
        }
        decimal(bytes).is_some()
    }

    fn upper_word(&mut self) -> String {
        let word = String::from_utf8_lossy(self.lexer.bytes(self.lexer.token)).to_ascii_uppercase();
        self.lexer.advance();
        word
    }
}

/// A decimal number of up to seven digits, and what follows it.
fn small_number(text: &[u8]) -> Option<(i32, &[u8])> {
    let mut value = 0;
    for (i, b) in text.iter().enumerate().take(8) {
        if !b.is_ascii_digit() {
            return (i > 0).then_some((value, &text[i..]));
        }
        value = value * 10 + i32::from(b - b'0');
    }
    None
}

/// Notes an attribute that is one word; false if `name` is none.
fn plain_attribute(decl: &mut Decl, name: &str) -> bool {
    let has_target = matches!(decl.file, File::Sview | File::Image | File::Res);
    match name {
        "LOCAL" => decl.local = true,
        "INVARIANT" => decl.invariant = true,
        "ATOMIC" => decl.atomic = true,
        "WR" => decl.writable = true,
        "RAW" => decl.raw = true,
        _ if has_target && decl.target.is_none() && TexTarget::from_name(name).is_some() => {
            decl.target = TexTarget::from_name(name);
        }
        _ if has_target && names::RETURN_TYPES.contains(&name) && decl.return_types.len() < 4 => {
            decl.return_types.push(name.into());
        }
        _ if has_target && name.starts_with("PIPE_FORMAT_") => decl.format = Some(name.into()),
        _ if decl.file == File::Memory && names::MEMORIES.contains(&name) => {
            decl.memory = Some(name.into())
        }
        _ if decl.interp.is_none() && names::INTERPOLATIONS.contains(&name) => {
            decl.interp = Some(name.into())
        }
        _ if decl.location.is_none() && names::LOCATIONS.contains(&name) => {
            decl.location = Some(name.into())
        }
        _ => match name.strip_prefix("CYLWRAP_").and_then(cylwrap) {
            Some(mask) => decl.cylwrap = mask,
            None => return false,
        },
    }
    true
}

fn cylwrap(letters: &str) -> Option<u8> {
    letters.bytes().try_fold(0, |mask, b| {
        Some(mask | 1 << b"XYZW".iter().position(|&c| c == b)?)
    })
}
