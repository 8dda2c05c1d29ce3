//! Immediates: values of every type, and their numbers.

use super::{Parsed, Parser};
use crate::ast::{Imm, ImmType, Item, Span};
use crate::codes;
use crate::lexer::{Kind, Upper, skip_blank};

/// The largest immediate number that a gap is filled for. Consumers stop at 4096 at most.
const MAX_NUMBER: u32 = 0xffff;

/// One value between the braces.
#[derive(Clone, Copy)]
struct Value<'a> {
    word: &'a [u8],
    span: Span,
}

impl Parser<'_> {
    /// `IMM[n] TYPE {..}` or `IMM TYPE {..}`.
    pub(super) fn immediate(&mut self) -> Parsed<()> {
        let token = self.lexer.token;
        self.must_be_early(token.span());
        self.lexer.advance();
        let mut number = self.imm_numbers.last().map_or(0, |n| n.saturating_add(1));
        if self.lexer.eat(b'[') {
            number = self.unsigned(codes::BAD_IMMEDIATE)?;
            self.expect(b']', codes::BAD_IMMEDIATE)?;
        }
        let ty = self.imm_type()?;
        if !self.lexer.at(b'{') {
            return self.fail(codes::BAD_IMMEDIATE, self.lexer.token.span(), "`{`");
        }
        let words = self.imm_words(ty);
        // The number is taken even if a value cannot be read.
        let imm = Imm {
            ty,
            words: words.as_ref().copied().unwrap_or_default(),
            span: self.since(token.start),
        };
        self.imm_numbers.push(number);
        self.program.header.push(Item::Imm(imm));
        words.map(|_| ())
    }

    fn imm_type(&mut self) -> Parsed<ImmType> {
        let token = self.lexer.token;
        let upper = Upper::new(self.lexer.bytes(token));
        match ImmType::from_name(upper.as_str()) {
            Some(ty) if token.kind == Kind::Word => {
                self.lexer.advance();
                Ok(ty)
            }
            _ => self.fail(
                codes::BAD_IMM_TYPE,
                token.span(),
                "FLT32, UINT32, INT32, FLT64, UINT64 or INT64",
            ),
        }
    }

    /// The values from the opening brace on.
    fn imm_words(&mut self, ty: ImmType) -> Parsed<[u32; 4]> {
        let text = self.lexer.text();
        let open = self.lexer.token.span();
        let mut pos = open.end as usize;
        let (mut words, mut len, mut read) = ([0; 4], 0, Ok(()));
        let mut low = None;
        loop {
            pos = skip_blank(text, pos).0;
            match text.get(pos) {
                Some(b',') => pos += 1,
                Some(b'}') => break self.lexer.resume(pos + 1),
                Some(&b) if is_value_byte(b) => {
                    let start = pos;
                    while text.get(pos).is_some_and(|&b| is_value_byte(b)) {
                        pos += 1;
                    }
                    let value = Value {
                        word: &text[start..pos],
                        span: Span {
                            start: start as u32,
                            end: pos as u32,
                        },
                    };
                    if read.is_ok() {
                        read = self.imm_value(ty, value, &mut low, &mut words, &mut len);
                    }
                }
                _ => {
                    // No closing brace: reading goes on behind what was understood.
                    self.lexer.resume(pos);
                    return self.fail(
                        codes::BAD_IMMEDIATE,
                        self.lexer.token.span(),
                        "a value or `}`",
                    );
                }
            }
        }
        if read.is_ok() && low.is_some() {
            return self.fail(codes::BAD_IMMEDIATE, open, "two hex words for each FLT64");
        }
        if read.is_ok() && len == 0 {
            return self.fail(codes::BAD_IMMEDIATE, open, "values between the braces");
        }
        read.map(|()| words)
    }

    /// Stores one value; `low` holds the first half of a FLT64 written as two hex words.
    fn imm_value(
        &mut self,
        ty: ImmType,
        value: Value<'_>,
        low: &mut Option<u32>,
        words: &mut [u32; 4],
        len: &mut usize,
    ) -> Parsed<()> {
        let bits = match ty {
            ImmType::Flt32 => flt32(value.word).map(u64::from),
            ImmType::Uint32 | ImmType::Int32 => integer(value.word, 32),
            ImmType::Uint64 | ImmType::Int64 => integer(value.word, 64),
            ImmType::Flt64 => match (flt64(value.word), low.take()) {
                (Some(Double::Word(word)), None) => {
                    *low = Some(word);
                    return Ok(());
                }
                (Some(Double::Word(high)), Some(low)) => {
                    Some(u64::from(high) << 32 | u64::from(low))
                }
                (Some(Double::Bits(bits)), None) => Some(bits),
                _ => None,
            },
        };
        let Some(bits) = bits else {
            return self.fail(
                codes::BAD_IMMEDIATE,
                value.span,
                &format!("a value of type {}", ty.name()),
            );
        };
        let size = if ty.is_wide() { 2 } else { 1 };
        if *len + size > 4 {
            let what = if ty.is_wide() {
                "at most two values"
            } else {
                "at most four values"
            };
            return self.fail(codes::BAD_IMMEDIATE, value.span, what);
        }
        words[*len] = bits as u32;
        if size == 2 {
            words[*len + 1] = (bits >> 32) as u32;
        }
        *len += size;
        Ok(())
    }

    /// Puts the immediates at the positions their numbers say, with zeros in the gaps.
    pub(super) fn order_immediates(&mut self) {
        if self
            .imm_numbers
            .iter()
            .enumerate()
            .all(|(i, &n)| i as u32 == n)
        {
            return;
        }
        let numbers = std::mem::take(&mut self.imm_numbers);
        let (mut numbered, mut rest) = (Vec::new(), Vec::new());
        let mut next = numbers.iter();
        let first = self
            .program
            .header
            .iter()
            .position(|i| matches!(i, Item::Imm(_)))
            .unwrap_or(0);
        for item in std::mem::take(&mut self.program.header) {
            match item {
                Item::Imm(imm) => numbered.push((next.next().copied().unwrap_or(0), imm)),
                other => rest.push(other),
            }
        }
        let span = numbered
            .first()
            .map_or(Span::default(), |(_, imm)| imm.span);
        self.sink.warning(codes::IMM_ORDER, span, || {
            (
                "the immediates are not numbered in order; they are renumbered by what is written"
                    .into(),
                None,
            )
        });
        numbered.sort_by_key(|(n, _)| *n);
        let mut immediates = Vec::new();
        for (number, imm) in numbered {
            let filled = immediates.len() as u32;
            if number < filled {
                self.sink.error(codes::IMM_TWICE, imm.span, || {
                    (format!("there is another IMM[{number}]"), None)
                });
            } else if number > MAX_NUMBER {
                self.sink.error(codes::IMM_GAP, imm.span, || {
                    (
                        format!("IMM[{number}] lies too far beyond the other immediates"),
                        None,
                    )
                });
            } else {
                let zero = Imm {
                    ty: ImmType::Uint32,
                    words: [0; 4],
                    span: Span::default(),
                };
                immediates.resize(number as usize, zero);
                immediates.push(imm);
            }
        }
        let behind = rest.split_off(first.min(rest.len()));
        rest.extend(immediates.into_iter().map(Item::Imm));
        rest.extend(behind);
        self.program.header = rest;
    }
}

fn is_value_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_')
}

/// Strips the sign.
fn sign(word: &[u8]) -> (bool, &[u8]) {
    match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    }
}

/// The digits behind `0x`.
fn hex_digits(word: &[u8]) -> Option<&[u8]> {
    match word {
        [b'0', b'x' | b'X', digits @ ..] if !digits.is_empty() && digits.len() <= 16 => {
            Some(digits)
        }
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value: u64, &b| {
        Some(value << 4 | u64::from(char::from(b).to_digit(16)?))
    })
}

/// Bits of a FLT32 value: hex means the bits themselves.
fn flt32(word: &[u8]) -> Option<u32> {
    if let Some(digits) = hex_digits(word) {
        return u32::try_from(hex(digits)?).ok();
    }
    let (negative, magnitude) = sign(word);
    let value: f32 = finite_or_named(magnitude)?.parse().ok()?;
    Some(value.to_bits() | u32::from(negative) << 31)
}

/// A FLT64 value: one half of it, or all.
enum Double {
    Word(u32),
    Bits(u64),
}

fn flt64(word: &[u8]) -> Option<Double> {
    if let Some(digits) = hex_digits(word) {
        let bits = hex(digits)?;
        return Some(if digits.len() <= 8 {
            Double::Word(bits as u32)
        } else {
            Double::Bits(bits)
        });
    }
    let (negative, magnitude) = sign(word);
    let value: f64 = finite_or_named(magnitude)?.parse().ok()?;
    Some(Double::Bits(value.to_bits() | u64::from(negative) << 63))
}

/// An unsigned decimal, `inf` or `nan`, as text.
fn finite_or_named(word: &[u8]) -> Option<&str> {
    let named = word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan");
    let decimal = word
        .first()
        .is_some_and(|b| b.is_ascii_digit() || *b == b'.');
    if named || decimal {
        std::str::from_utf8(word).ok()
    } else {
        None
    }
}

/// The value of decimal digits, at least one.
fn unsigned(digits: &[u8]) -> Option<u64> {
    let value = digits.iter().try_fold(0_u64, |value, b| {
        let digit = b.wrapping_sub(b'0');
        let value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        (digit < 10).then_some(value)
    });
    value.filter(|_| !digits.is_empty())
}

/// Bits of an integer of `bits` bits; signed and unsigned values share the range.
fn integer(word: &[u8], bits: u32) -> Option<u64> {
    let max = u64::MAX >> (64 - bits);
    let (negative, magnitude) = sign(word);
    let value = match hex_digits(magnitude) {
        Some(digits) => hex(digits)?,
        None => unsigned(magnitude)?,
    };
    if negative {
        (value <= max / 2 + 1).then_some(value.wrapping_neg() & max)
    } else {
        (value <= max).then_some(value)
    }
}
