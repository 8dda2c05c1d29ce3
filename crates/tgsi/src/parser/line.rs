//! Instructions in the usual form, read byte by byte.
//!
//! Nearly all text comes from machines: upper case, one instruction a line, no blank
//! where none is needed. Lines of another form, relative access among them, are left to
//! the general reader; what is read here, it would read the same.

use super::Parser;
use super::operands::CHANNEL;
use crate::ast::{Dst, File, Index, Inst, Register, Span, Src, TexTarget, XYZW};
use crate::lexer::word_length;
use crate::opcode::{Effect, OpInfo, Opcode};
use crate::opnames;

/// The first bytes of a register, as a number, and which of them count.
struct Prefix {
    file: File,
    bytes: u64,
    mask: u64,
    len: usize,
}

/// The files that instructions name, the frequent ones first. Others are not usual.
const PREFIXES: [Prefix; 11] = [
    prefix(File::Temp, b"TEMP["),
    prefix(File::Const, b"CONST["),
    prefix(File::Imm, b"IMM["),
    prefix(File::In, b"IN["),
    prefix(File::Out, b"OUT["),
    prefix(File::Samp, b"SAMP["),
    prefix(File::Addr, b"ADDR["),
    prefix(File::Sv, b"SV["),
    prefix(File::Sview, b"SVIEW["),
    prefix(File::Buffer, b"BUFFER["),
    prefix(File::Image, b"IMAGE["),
];

const fn prefix(file: File, word: &[u8]) -> Prefix {
    let (bytes, _) = opnames::key(word);
    let (mask, len) = (u64::MAX >> (64 - 8 * word.len()), word.len());
    Prefix {
        file,
        bytes,
        mask,
        len,
    }
}

impl Parser<'_> {
    /// Reads the lines of usual form from the current token on; false if there is none.
    pub(super) fn usual_lines(&mut self) -> bool {
        let start = self.lexer.token.start as usize;
        let mut cursor = Cursor {
            text: self.lexer.text(),
            pos: start,
        };
        let insts = &mut self.program.insts;
        let mut end = start;
        loop {
            let count = insts.len();
            let Some(line_end) = cursor.line(insts) else {
                insts.truncate(count);
                break;
            };
            end = line_end;
        }
        if end > start {
            self.lexer.resume(end);
        }
        end > start
    }
}

/// A place in the text.
struct Cursor<'a> {
    text: &'a [u8],
    pos: usize,
}

impl Cursor<'_> {
    /// The byte here; the end of the text is the end of a line.
    #[inline]
    fn peek(&self) -> u8 {
        self.text.get(self.pos).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn eat(&mut self, b: u8) -> bool {
        if self.peek() != b {
            return false;
        }
        self.pos += 1;
        true
    }

    #[inline]
    fn blanks(&mut self) {
        let mut pos = self.pos;
        while self.text.get(pos) == Some(&b' ') {
            pos += 1;
        }
        self.pos = pos;
    }

    /// The eight bytes from here on, the first one lowest.
    #[inline]
    fn eight(&self) -> Option<u64> {
        let bytes = self.text.get(self.pos..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn span(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.pos as u32,
        }
    }

    /// A decimal number of up to seven digits.
    #[inline]
    fn number(&mut self) -> Option<i32> {
        let digit = |b: u8| Some(i32::from(b.wrapping_sub(b'0'))).filter(|d| *d < 10);
        let mut value = digit(self.peek())?;
        self.pos += 1;
        while let Some(d) = digit(self.peek()) {
            value = value * 10 + d;
            self.pos += 1;
            if value > 999_999 {
                return None;
            }
        }
        Some(value)
    }

    /// One instruction and its number, from the first of them to the first byte of what
    /// follows. Gives the end of its line. Behind that nothing may stand that could belong
    /// to the instruction. Where it gives `None`, there may be a part of an instruction at
    /// the end of `insts`.
    fn line(&mut self, insts: &mut Vec<Inst>) -> Option<usize> {
        if self.peek().is_ascii_digit() {
            let digits = self.text[self.pos..].iter();
            self.pos += digits.take_while(|b| b.is_ascii_digit()).count();
            if !self.eat(b':') {
                return None;
            }
            self.blanks();
        }
        let start = self.pos;
        let (op, sat, precise) = self.opcode()?;
        insts.push(Inst {
            op,
            sat,
            precise,
            ..Inst::bare(op)
        });
        let inst = insts.last_mut()?;
        let info = inst.op.info();
        if info.dsts + info.srcs > 0 {
            self.operands(inst, info)?;
        }
        inst.span = self.span(start);
        self.blanks();
        if self.eat(b':') {
            if info.effect != Effect::Flow {
                return None;
            }
            inst.label = Some(self.number()? as u32);
            inst.span = self.span(start);
        }
        self.line_end()
    }

    /// The end of the line, if a word or the end of the text follows it; steps there.
    fn line_end(&mut self) -> Option<usize> {
        let mut pos = self.pos;
        while matches!(self.text.get(pos), Some(b' ' | b'\r')) {
            pos += 1;
        }
        if self.text.get(pos).is_some_and(|b| *b != b'\n') {
            return None;
        }
        let end = pos;
        while matches!(self.text.get(pos), Some(b' ' | b'\n' | b'\r')) {
            pos += 1;
        }
        self.pos = pos;
        let word = self.text.get(pos).is_none_or(u8::is_ascii_alphanumeric);
        word.then_some(end)
    }

    /// An opcode, and whether `_SAT` and `_PRECISE` follow it.
    fn opcode(&mut self) -> Option<(Opcode, bool, bool)> {
        let rest = self.text.get(self.pos..)?;
        let mut len = word_length(rest);
        self.pos += len;
        let (mut sat, mut precise) = (false, false);
        while len > 4 {
            if !sat && rest[..len].ends_with(b"_SAT") {
                (len, sat) = (len - 4, true);
            } else if !precise && rest[..len].ends_with(b"_PRECISE") {
                (len, precise) = (len - 8, true);
            } else {
                break;
            }
        }
        Some((opnames::opcode_at(rest, len)?, sat, precise))
    }

    /// As many operands as the opcode has, and a texture target.
    fn operands(&mut self, inst: &mut Inst, info: &OpInfo) -> Option<()> {
        if !self.eat(b' ') {
            return None;
        }
        for i in 0..info.dsts {
            if i > 0 {
                self.comma()?;
            }
            self.dst(inst)?;
        }
        for i in 0..info.srcs {
            if i + info.dsts > 0 {
                self.comma()?;
            }
            self.src(inst)?;
        }
        if self.peek() == b',' {
            self.comma()?;
            inst.target = Some(self.target()?);
        }
        Some(())
    }

    #[inline]
    fn comma(&mut self) -> Option<()> {
        let hit = self.eat(b',');
        self.blanks();
        hit.then_some(())
    }

    fn target(&mut self) -> Option<TexTarget> {
        let rest = self.text.get(self.pos..)?;
        let word = &rest[..word_length(rest)];
        self.pos += word.len();
        match word {
            b"2D" => Some(TexTarget::D2),
            _ => TexTarget::from_name(std::str::from_utf8(word).ok()?),
        }
    }

    /// `FILE[1]` or `FILE[1][2]`.
    #[inline]
    fn register(&mut self) -> Option<Register> {
        let word = self.eight()?;
        let prefix = PREFIXES.iter().find(|p| word & p.mask == p.bytes)?;
        self.pos += prefix.len;
        let mut reg = Register::direct(prefix.file, self.number()?);
        if !self.eat(b']') {
            return None;
        }
        if self.eat(b'[') {
            reg.dim = Some(reg.index);
            reg.index = Index::direct(self.number()?);
            if !self.eat(b']') {
                return None;
            }
        }
        Some(reg)
    }

    #[inline]
    fn dst(&mut self, inst: &mut Inst) -> Option<()> {
        let start = self.pos;
        let reg = self.register()?;
        let mut mask = 0xf;
        if self.eat(b'.') {
            mask = 0;
            loop {
                let bit = 1 << CHANNEL[usize::from(self.peek())];
                if bit > 8 {
                    break;
                }
                if bit <= mask {
                    return None;
                }
                mask |= bit;
                self.pos += 1;
            }
            if mask == 0 {
                return None;
            }
        }
        let span = self.span(start);
        inst.dsts.push(Dst { reg, mask, span });
        Some(())
    }

    #[inline]
    fn src(&mut self, inst: &mut Inst) -> Option<()> {
        let start = self.pos;
        let neg = self.eat(b'-');
        let abs = self.eat(b'|');
        let reg = self.register()?;
        let swizzle = if self.eat(b'.') {
            self.swizzle()?
        } else {
            XYZW
        };
        if abs && !self.eat(b'|') {
            return None;
        }
        let span = self.span(start);
        inst.srcs.push(Src {
            reg,
            swizzle,
            abs,
            neg,
            span,
        });
        Some(())
    }

    /// Four letters, or one that stands for all.
    #[inline]
    fn swizzle(&mut self) -> Option<[u8; 4]> {
        let letters = self.text.get(self.pos..)?.first_chunk::<4>()?;
        let [a, b, c, d] = letters.map(|b| CHANNEL[usize::from(b)]);
        if (a | b | c | d) < 4 {
            self.pos += 4;
            return Some([a, b, c, d]);
        }
        self.pos += 1;
        (a < 4 && b >= 4).then_some([a; 4])
    }
}
