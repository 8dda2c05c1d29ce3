//! Registers, masks, swizzles and modifiers.

use super::{Fail, Parsed, Parser};
use crate::ast::{AddrReg, Dst, File, Index, Register, Span, Src, TexOffset, XYZW};
use crate::codes;
use crate::lexer::{Kind, Upper};

/// The channel of every letter of xyzw and rgba; 4 for all other bytes.
pub(super) const CHANNEL: [u8; 256] = {
    let mut table = [4; 256];
    let letters = [*b"xXrR", *b"yYgG", *b"zZbB", *b"wWaA"];
    let mut i = 0;
    while i < 16 {
        table[letters[i / 4][i % 4] as usize] = i as u8 / 4;
        i += 1;
    }
    table
};

/// The channel a letter of xyzw or rgba names.
fn channel(b: u8) -> Option<u8> {
    Some(CHANNEL[usize::from(b)]).filter(|c| *c < 4)
}

/// The channels that all the letters of a word name, and their number.
fn channels(word: &[u8]) -> Option<([u8; 4], usize)> {
    if word.is_empty() || word.len() > 4 {
        return None;
    }
    let mut all = [0; 4];
    for (to, &b) in all.iter_mut().zip(word) {
        *to = channel(b)?;
    }
    Some((all, word.len()))
}

impl Parser<'_> {
    /// Whether the current token begins a register: a word with a bracket behind it.
    pub(super) fn at_register(&self) -> bool {
        self.lexer.token.kind == Kind::Word && self.lexer.next_byte() == Some(b'[')
    }

    /// The file in front of a bracket.
    pub(super) fn file(&mut self) -> Parsed<File> {
        let token = self.lexer.token;
        if token.kind != Kind::Word {
            return self.fail(codes::NO_OPERAND, token.span(), "a register");
        }
        let bytes = self.lexer.bytes(token);
        if let Some(file) = File::from_bytes(bytes) {
            self.lexer.advance();
            return Ok(file);
        }
        let word = Upper::new(bytes);
        if let Some(file) = File::from_bytes(word.as_bytes()) {
            self.lexer.advance();
            return Ok(file);
        }
        self.sink.error(codes::UNKNOWN_FILE, token.span(), || {
            (
                format!("no register file is called `{}`", word.as_str()),
                None,
            )
        });
        Err(Fail)
    }

    /// `FILE[..]` or `FILE[..][..]`.
    pub(super) fn register(&mut self) -> Parsed<Register> {
        let file = self.file()?;
        let first = self.bracket()?;
        if !self.lexer.at(b'[') {
            return Ok(Register {
                file,
                dim: None,
                index: first,
            });
        }
        Ok(Register {
            file,
            dim: Some(first),
            index: self.bracket()?,
        })
    }

    /// `[3]`, `[ADDR[0].x+3]`, `[ADDR[0].x-3](2)`.
    fn bracket(&mut self) -> Parsed<Index> {
        self.expect(b'[', codes::BAD_BRACKET)?;
        let mut index = Index::direct(0);
        if self.at_register() {
            index.addr = Some(self.addr_reg()?);
            if self.lexer.at(b'+') || self.lexer.at(b'-') {
                // `+-3` is what a printer that always writes the plus makes of -3.
                if self.lexer.at(b'+') && self.lexer.next_byte() == Some(b'-') {
                    self.lexer.advance();
                }
                index.base = self.signed(codes::BAD_BRACKET)?;
            }
        } else {
            index.base = self.signed(codes::BAD_BRACKET)?;
        }
        self.expect(b']', codes::BAD_BRACKET)?;
        if self.lexer.eat(b'(') {
            index.array = self.unsigned(codes::BAD_BRACKET)?;
            self.expect(b')', codes::BAD_BRACKET)?;
        }
        Ok(index)
    }

    /// The register inside a bracket: `ADDR[0].x`. Without a letter it is x.
    fn addr_reg(&mut self) -> Parsed<AddrReg> {
        let file = self.file()?;
        self.expect(b'[', codes::BAD_BRACKET)?;
        let index = self.signed(codes::BAD_BRACKET)?;
        self.expect(b']', codes::BAD_BRACKET)?;
        let mut comp = 0;
        if self.lexer.eat(b'.') {
            let token = self.lexer.token;
            match *self.lexer.bytes(token) {
                [b] if channel(b).is_some() => comp = channel(b).unwrap_or(0),
                _ => return self.fail(codes::BAD_BRACKET, token.span(), "one of x, y, z, w"),
            }
            self.lexer.advance();
        }
        Ok(AddrReg { file, index, comp })
    }

    /// A destination operand. `NULL[0].` has an empty mask.
    pub(super) fn dst(&mut self) -> Parsed<Dst> {
        let start = self.lexer.token.start;
        let reg = self.register()?;
        let mask = if self.lexer.eat(b'.') {
            self.mask()?
        } else {
            0xf
        };
        Ok(Dst {
            reg,
            mask,
            span: self.since(start),
        })
    }

    /// The letters behind the dot of a destination.
    pub(super) fn mask(&mut self) -> Parsed<u8> {
        let token = self.lexer.token;
        if token.kind != Kind::Word || token.newline {
            return Ok(0);
        }
        let Some((all, len)) = channels(self.lexer.bytes(token)) else {
            return self.fail(
                codes::BAD_MASK,
                token.span(),
                "a write mask of letters xyzw",
            );
        };
        let letters = &all[..len];
        if letters.windows(2).any(|w| w[0] >= w[1]) {
            self.sink.warning(codes::BAD_MASK, token.span(), || {
                (
                    "the letters of a write mask are out of order".into(),
                    Some("write each once, as in xyzw".into()),
                )
            });
        }
        self.lexer.advance();
        Ok(letters.iter().fold(0, |mask, c| mask | 1 << c))
    }

    /// A source operand: `TEMP[0]`, `-|IN[0].yxzw|`, `|CONST[1]|.x`.
    pub(super) fn src(&mut self) -> Parsed<Src> {
        let start = self.lexer.token.start;
        let mut neg = self.sign();
        let abs = self.lexer.eat(b'|');
        if abs {
            // A minus inside the bars changes nothing.
            self.sign();
        }
        let reg = self.register()?;
        let mut swizzle = self.swizzle()?;
        if abs {
            self.expect(b'|', codes::BAD_BARS)?;
            let outer = self.swizzle()?;
            swizzle = outer.map(|c| swizzle[usize::from(c)]);
        } else if self.lexer.at(b'|') {
            neg = false;
            let span = self.lexer.token.span();
            self.sink.error(codes::BAD_BARS, span, || {
                ("a bar without its partner".into(), None)
            });
            self.lexer.advance();
        }
        Ok(Src {
            reg,
            swizzle,
            abs,
            neg,
            span: self.since(start),
        })
    }

    /// Whether there is a minus; a plus is read and means nothing.
    fn sign(&mut self) -> bool {
        if self.lexer.eat(b'-') {
            return true;
        }
        self.lexer.eat(b'+');
        false
    }

    /// `.xyzw` behind a source; none is the identity, one letter stands for all.
    fn swizzle(&mut self) -> Parsed<[u8; 4]> {
        if !self.lexer.eat(b'.') {
            return Ok(XYZW);
        }
        let token = self.lexer.token;
        let Some((mut all, len)) = channels(self.lexer.bytes(token)) else {
            return self.fail(
                codes::BAD_SWIZZLE,
                token.span(),
                "a swizzle of one to four letters xyzw",
            );
        };
        let last = all[len - 1];
        all[len..].fill(last);
        if len == 2 || len == 3 {
            self.short_swizzle(token.span());
        }
        self.lexer.advance();
        Ok(all)
    }

    fn short_swizzle(&mut self, span: Span) {
        self.sink.warning(codes::SHORT_SWIZZLE, span, || {
            (
                "a swizzle of two or three letters; the last one is repeated".into(),
                Some("write four letters".into()),
            )
        });
    }

    /// A texel offset: `IMM[1].xyx`, three letters; a fourth is read and ignored.
    pub(super) fn tex_offset(&mut self) -> Parsed<TexOffset> {
        let reg = self.register()?;
        let mut swizzle = [0, 1, 2];
        if self.lexer.eat(b'.') {
            let token = self.lexer.token;
            let Some((mut all, len)) = channels(self.lexer.bytes(token)) else {
                return self.fail(
                    codes::BAD_SWIZZLE,
                    token.span(),
                    "a swizzle of three letters xyzw",
                );
            };
            let last = all[len - 1];
            all[len..].fill(last);
            if len == 2 {
                self.short_swizzle(token.span());
            }
            swizzle = [all[0], all[1], all[2]];
            self.lexer.advance();
        }
        Ok(TexOffset { reg, swizzle })
    }
}
