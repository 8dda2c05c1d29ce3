//! Instructions: opcode, suffixes, operands, words and label.

use super::{Fail, Parsed, Parser};
use crate::ast::{Inst, Memory, TexTarget};
use crate::codes;
use crate::lexer::{Kind, Upper};
use crate::opcode::{Effect, OPCODES, OpInfo, Opcode};
use crate::opnames;

impl Parser<'_> {
    /// One instruction from its opcode on.
    pub(super) fn instruction(&mut self) -> Parsed<()> {
        let start = self.lexer.token.start;
        let (op, sat, precise) = self.opcode()?;
        let info = op.info();
        let mut inst = Inst {
            op,
            sat,
            precise,
            ..Inst::bare(op)
        };
        let mut read = Ok(());
        if self.at_operands(info) {
            read = self.operands(&mut inst, info);
        }
        if read.is_ok() && self.lexer.at(b':') {
            read = self.label(&mut inst, info);
        }
        // A broken flow instruction still opens or closes its region: without it
        // everything behind would be reported as well.
        if read.is_ok() || info.effect == Effect::Flow {
            inst.span = self.since(start);
            self.program.insts.push(inst);
        }
        read
    }

    /// The opcode and whether `_SAT` and `_PRECISE`, in any order, follow it.
    fn opcode(&mut self) -> Parsed<(Opcode, bool, bool)> {
        let token = self.lexer.token;
        let bytes = self.lexer.bytes(token);
        self.lexer.advance();
        // Most opcodes are in upper case and have no suffix.
        if let Some(op) = opnames::opcode(bytes) {
            return Ok((op, false, false));
        }
        let upper = Upper::new(bytes);
        let (mut name, mut sat, mut precise) = (upper.as_bytes(), false, false);
        loop {
            if let Some(op) = opnames::opcode(name) {
                return Ok((op, sat, precise));
            }
            if let Some(rest) = name.strip_suffix(b"_SAT") {
                (name, sat) = (rest, true);
            } else if let Some(rest) = name.strip_suffix(b"_PRECISE") {
                (name, precise) = (rest, true);
            } else {
                break;
            }
        }
        let name = upper.as_str().get(..name.len()).unwrap_or_default();
        self.sink.error(codes::UNKNOWN_OPCODE, token.span(), || {
            let hint = similar(name).map(|n| format!("did you mean {n}?"));
            (format!("no opcode is called `{name}`"), hint)
        });
        Err(Fail)
    }

    /// Whether operands follow. One on a new line belongs to this instruction only
    /// if it must have some, and `IMM[` there begins an immediate if it may have none.
    fn at_operands(&self, info: &OpInfo) -> bool {
        let token = self.lexer.token;
        let operand = match token.kind {
            Kind::Word => self.at_register(),
            Kind::Punct(b) => matches!(b, b'-' | b'|' | b'+'),
            Kind::End => false,
        };
        let optional = matches!(info.op, Opcode::Emit | Opcode::Endprim);
        let needed = info.dsts + info.srcs > 0 && !optional;
        if token.newline {
            return operand && needed;
        }
        operand || (needed && token.kind != Kind::End && !self.lexer.at(b':'))
    }

    /// Operands and words, separated by commas.
    fn operands(&mut self, inst: &mut Inst, info: &OpInfo) -> Parsed<()> {
        loop {
            match self.lexer.token.kind {
                Kind::Word if !self.at_register() => self.word(inst)?,
                Kind::Word if inst.target.is_some() => {
                    let offset = self.tex_offset()?;
                    inst.offsets.push(offset);
                }
                Kind::Word if inst.dsts.len() < usize::from(info.dsts) => {
                    let dst = self.dst()?;
                    inst.dsts.push(dst);
                }
                Kind::Word | Kind::Punct(b'-' | b'|' | b'+')
                    if inst.dsts.len() == usize::from(info.dsts) =>
                {
                    let src = self.src()?;
                    inst.srcs.push(src);
                }
                Kind::Punct(b'-' | b'|' | b'+') => {
                    let span = self.lexer.token.span();
                    return self.fail(codes::NO_OPERAND, span, "a destination");
                }
                _ => {
                    let span = self.lexer.token.span();
                    return self.fail(codes::NO_OPERAND, span, "an operand");
                }
            }
            if !self.lexer.eat(b',') {
                break;
            }
        }
        if self.at_register() && !self.lexer.token.newline {
            return self.unexpected(self.lexer.token.span(), "`,`");
        }
        Ok(())
    }

    /// A texture target, memory word or format.
    fn word(&mut self, inst: &mut Inst) -> Parsed<()> {
        let token = self.lexer.token;
        let upper = Upper::new(self.lexer.bytes(token));
        let name = upper.as_str();
        if let Some(target) = TexTarget::from_name(name) {
            inst.target = Some(target);
        } else if !memory_word(inst, name) {
            self.sink.error(codes::UNKNOWN_WORD, token.span(), || {
                let hint = "a register needs a bracket, as in TEMP[0]";
                (
                    format!("`{name}` is neither operand, target, format nor memory word"),
                    Some(hint.into()),
                )
            });
            return Err(Fail);
        }
        self.lexer.advance();
        Ok(())
    }

    /// `:12` behind a branch.
    fn label(&mut self, inst: &mut Inst, info: &OpInfo) -> Parsed<()> {
        let span = self.lexer.token.span();
        self.lexer.advance();
        inst.label = Some(self.unsigned(codes::BAD_LABEL)?);
        if info.effect != Effect::Flow {
            inst.label = None;
            self.sink.error(codes::BAD_LABEL, span, || {
                (format!("{} takes no label", info.name), None)
            });
        }
        Ok(())
    }
}

/// Notes a memory or format word on `inst`; false if `name` is none.
fn memory_word(inst: &mut Inst, name: &str) -> bool {
    let mut memory = inst.memory.take().unwrap_or_default();
    let known = match name {
        "COHERENT" => set(&mut memory.coherent),
        "RESTRICT" => set(&mut memory.restrict),
        "VOLATILE" => set(&mut memory.volatile),
        "STREAM_CACHE_POLICY" => set(&mut memory.stream_cache),
        _ if name.starts_with("PIPE_FORMAT_") => {
            memory.format = Some(name.into());
            true
        }
        _ => false,
    };
    inst.memory = (*memory != Memory::default()).then_some(memory);
    known
}

fn set(flag: &mut bool) -> bool {
    *flag = true;
    true
}

/// The opcode name nearest to `name`, if one is near.
fn similar(name: &str) -> Option<&'static str> {
    let names = OPCODES
        .iter()
        .flat_map(|i| i.aliases.iter().copied().chain([i.name]));
    let near = names
        .map(|n| (distance(name.as_bytes(), n.as_bytes()), n))
        .min()?;
    (near.0 <= 1 + name.len() / 4).then_some(near.1)
}

/// Edit distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let first: Vec<usize> = (0..=b.len()).collect();
    let (mut before, mut last) = (first.clone(), first);
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
