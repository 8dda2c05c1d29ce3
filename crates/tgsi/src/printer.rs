//! Syntax tree to text.

use std::io::Write;

use crate::ast::{
    Decl, Dst, File, Imm, ImmType, Index, Inst, Item, Memory, Program, Property, Register, Src,
    XYZW,
};
use crate::dialect::{Dialect, FloatForm, Labels, NonFinite, closes, opens};
use crate::opcode::{Effect, Opcode};

/// Nesting moves instructions in by no more columns than this, so that the text stays
/// linear in the program.
const MAX_INDENT: usize = 128;

const LETTERS: [u8; 4] = *b"xyzw";

/// The text of every write mask of up to three letters, filled up with dots.
const MASKS: [[u8; 4]; 16] = {
    let mut all = [[b'.'; 4]; 16];
    let mut mask = 0;
    while mask < 15 {
        let (mut channel, mut len) = (0, 1);
        while channel < 4 {
            if mask >> channel & 1 != 0 {
                all[mask][len] = LETTERS[channel];
                len += 1;
            }
            channel += 1;
        }
        mask += 1;
    }
    all
};

/// The letter of a channel.
fn letter(channel: u8) -> u8 {
    LETTERS[usize::from(channel & 3)]
}

/// The last decimal digit of a number.
fn digit(n: usize) -> u8 {
    b'0' + (n % 10) as u8
}

/// Prints a program. Reading the text again gives the same program, apart from the
/// labels of branches, which are computed from the nesting, and from the type word of
/// immediates that [`NonFinite::Uint32`] rewrites, and from the version of an old header
/// in a dialect without one.
pub fn print(program: &Program, dialect: &Dialect) -> String {
    let mut printer = Printer {
        out: Vec::with_capacity(72 * (program.header.len() + program.insts.len()) + 16),
        dialect,
    };
    printer.program(program);
    into_text(printer.out)
}

/// The printed bytes as text. All of them come from strings and ASCII.
fn into_text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

struct Printer<'a> {
    out: Vec<u8>,
    dialect: &'a Dialect,
}

impl Printer<'_> {
    fn program(&mut self, program: &Program) {
        self.text(program.stage.name());
        let version = program.version.filter(|_| self.dialect.version);
        if let Some((major, minor)) = version {
            self.put(format_args!("{major}.{minor}"));
        }
        self.out.push(b'\n');
        let mut immediates = 0;
        for item in &program.header {
            match item {
                Item::Property(property) => self.property(property),
                Item::Decl(decl) => self.decl(decl),
                Item::Imm(imm) => {
                    self.imm(imm, immediates);
                    immediates += 1;
                }
            }
            self.out.push(b'\n');
        }
        self.insts(&program.insts);
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn put(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = self.out.write_fmt(args);
    }

    fn property(&mut self, property: &Property) {
        self.text("PROPERTY ");
        self.text(&property.name);
        for (i, value) in property.values.iter().enumerate() {
            self.text(if i == 0 { " " } else { ", " });
            self.text(value);
        }
    }

    fn decl(&mut self, decl: &Decl) {
        self.text("DCL ");
        self.text(decl.file.name());
        match decl.dim {
            None => {}
            Some(None) => self.text("[]"),
            Some(Some(n)) => self.index(&Index::direct(n)),
        }
        if decl.first == decl.last {
            self.index(&Index::direct(decl.first));
        } else {
            self.out.push(b'[');
            self.int(i64::from(decl.first));
            self.text("..");
            self.int(i64::from(decl.last));
            self.out.push(b']');
        }
        self.mask(decl.mask);
        if decl.array != 0 {
            self.put(format_args!(", ARRAY({})", decl.array));
        }
        self.flag(decl.local, "LOCAL");
        if let Some(semantic) = &decl.semantic {
            self.word(Some(&semantic.name));
            if let Some(index) = semantic.index {
                self.out.push(b'[');
                self.uint(u64::from(index));
                self.out.push(b']');
            }
        }
        if let Some([x, y, z, w]) = decl.stream {
            self.put(format_args!(", STREAM({x}, {y}, {z}, {w})"));
        }
        self.word(decl.target.map(|t| t.name()));
        decl.return_types.iter().for_each(|ty| self.word(Some(ty)));
        self.word(decl.format.as_deref());
        // Old text has RAW in front of WR, and RES only.
        self.flag(decl.raw && decl.file == File::Res, "RAW");
        self.flag(decl.writable, "WR");
        self.flag(decl.raw && decl.file != File::Res, "RAW");
        self.flag(decl.atomic, "ATOMIC");
        self.word(decl.memory.as_deref());
        self.word(decl.interp.as_deref());
        self.word(decl.location.as_deref());
        if decl.cylwrap != 0 {
            self.text(", CYLWRAP_");
            let letters = (0..4)
                .filter(|c| decl.cylwrap >> c & 1 != 0)
                .map(|c| LETTERS[c].to_ascii_uppercase());
            self.out.extend(letters);
        }
        self.flag(decl.invariant, "INVARIANT");
        decl.unknown.iter().for_each(|word| self.word(Some(word)));
    }

    fn flag(&mut self, set: bool, word: &str) {
        self.word(set.then_some(word));
    }

    fn word(&mut self, word: Option<&str>) {
        if let Some(word) = word {
            self.text(", ");
            self.text(word);
        }
    }

    fn imm(&mut self, imm: &Imm, number: usize) {
        self.text("IMM");
        if self.dialect.imm_numbers {
            self.out.push(b'[');
            self.uint(number as u64);
            self.out.push(b']');
        }
        let ty = self.printed_type(imm);
        self.out.push(b' ');
        self.text(ty.name());
        self.text(" {");
        let step = if ty.is_wide() { 2 } else { 1 };
        for (i, value) in imm.words.chunks_exact(step).enumerate() {
            if i > 0 {
                self.text(", ");
            }
            let wide = value
                .iter()
                .rev()
                .fold(0, |bits, &word| bits << 32 | u64::from(word));
            self.value(ty, wide);
        }
        self.out.push(b'}');
    }

    /// The type word to print: that of the immediate unless a value has no float form.
    fn printed_type(&self, imm: &Imm) -> ImmType {
        let form = match imm.ty {
            ImmType::Flt32 => self.dialect.flt32,
            ImmType::Flt64 => self.dialect.flt64,
            ty => return ty,
        };
        if form == FloatForm::Hex || self.dialect.non_finite != NonFinite::Uint32 {
            return imm.ty;
        }
        let [a, b, c, d] = imm.words;
        let wide = |low, high| f64::from_bits(u64::from(high) << 32 | u64::from(low)).is_finite();
        let finite = match imm.ty {
            ImmType::Flt32 => imm.words.iter().all(|&w| f32::from_bits(w).is_finite()),
            _ => wide(a, b) && wide(c, d),
        };
        if finite { imm.ty } else { ImmType::Uint32 }
    }

    fn value(&mut self, ty: ImmType, bits: u64) {
        match ty {
            ImmType::Uint32 | ImmType::Uint64 => self.uint(bits),
            ImmType::Int32 => self.int(i64::from(bits as u32 as i32)),
            ImmType::Int64 => self.int(bits as i64),
            ImmType::Flt32 => self.flt32(bits as u32),
            ImmType::Flt64 => self.flt64(bits),
        }
    }

    fn flt32(&mut self, bits: u32) {
        let value = f32::from_bits(bits);
        if self.dialect.flt32 == FloatForm::Hex {
            return self.hex(bits);
        }
        if value.is_finite() {
            if let FloatForm::Fixed(places) = self.dialect.flt32 {
                let text = format!("{value:10.*}", usize::from(places));
                if text
                    .trim_start()
                    .parse::<f32>()
                    .is_ok_and(|v| v.to_bits() == bits)
                {
                    return self.text(&text);
                }
            }
            return self.put(format_args!("{value:?}"));
        }
        let canonical = f32::NAN.to_bits() & 0x7fff_ffff;
        let named = value.is_infinite() || bits & 0x7fff_ffff == canonical;
        match named && self.dialect.non_finite == NonFinite::Word {
            true => self.named(value.is_nan(), value.is_sign_negative()),
            false => self.hex(bits),
        }
    }

    fn flt64(&mut self, bits: u64) {
        let value = f64::from_bits(bits);
        let canonical = f64::NAN.to_bits() & (u64::MAX >> 1);
        let named = value.is_infinite() || bits & (u64::MAX >> 1) == canonical;
        let as_word = named && self.dialect.non_finite == NonFinite::Word;
        if self.dialect.flt64 == FloatForm::Hex || !(value.is_finite() || as_word) {
            self.hex(bits as u32);
            self.text(", ");
            return self.hex((bits >> 32) as u32);
        }
        if !value.is_finite() {
            return self.named(value.is_nan(), value.is_sign_negative());
        }
        if let FloatForm::Fixed(places) = self.dialect.flt64 {
            let text = format!("{value:10.*}", usize::from(places));
            if text
                .trim_start()
                .parse::<f64>()
                .is_ok_and(|v| v.to_bits() == bits)
            {
                return self.text(&text);
            }
        }
        self.put(format_args!("{value:?}"));
    }

    /// `inf` or `nan` in the field of ten that printf formats give it.
    fn named(&mut self, nan: bool, negative: bool) {
        let text = match (nan, negative) {
            (false, false) => "inf",
            (false, true) => "-inf",
            (true, false) => "nan",
            (true, true) => "-nan",
        };
        self.put(format_args!("{text:>10}"));
    }

    fn hex(&mut self, bits: u32) {
        let mut text = *b"0x00000000";
        for (i, digit) in text[2..].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(bits >> (28 - 4 * i) & 0xf) as usize];
        }
        self.out.extend_from_slice(&text);
    }

    /// A decimal number.
    fn uint(&mut self, mut value: u64) {
        if value < 10 {
            return self.out.push(b'0' + value as u8);
        }
        let mut digits = [0; 20];
        let mut at = digits.len();
        while value > 0 {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.out.extend_from_slice(&digits[at..]);
    }

    fn int(&mut self, value: i64) {
        if value < 0 {
            self.out.push(b'-');
        }
        self.uint(value.unsigned_abs());
    }

    fn insts(&mut self, insts: &[Inst]) {
        let labels = match self.dialect.labels {
            Labels::None => Vec::new(),
            _ => branch_labels(insts),
        };
        let mut labels = labels.iter().peekable();
        let mut depth = 0_usize;
        for (i, inst) in insts.iter().enumerate() {
            let flow = inst.op.info().effect == Effect::Flow;
            if flow && closes(inst.op) {
                depth = depth.saturating_sub(1);
            }
            if self.dialect.numbers {
                self.inst_number(i);
            } else {
                self.blanks(usize::from(self.dialect.margin));
            }
            self.blanks((usize::from(self.dialect.indent) * depth).min(MAX_INDENT));
            self.inst(inst);
            let mut label = inst.label;
            if flow {
                let computed = labels.next_if(|(at, _)| *at == i).map(|(_, to)| *to);
                label = self.branch_label(inst, computed);
                depth += usize::from(opens(inst.op));
            }
            if let Some(label) = label {
                self.text(" :");
                self.uint(u64::from(label));
            }
            self.out.push(b'\n');
        }
    }

    /// The label to print behind a flow instruction, whose label by the nesting is `computed`.
    fn branch_label(&self, inst: &Inst, computed: Option<u32>) -> Option<u32> {
        let is_loop = matches!(inst.op, Opcode::Bgnloop | Opcode::Endloop);
        match computed {
            Some(_) if is_loop && self.dialect.labels == Labels::Wire => Some(0),
            Some(label) => Some(label),
            None if is_computed(inst.op) => None,
            None => inst.label,
        }
    }

    #[inline]
    fn blanks(&mut self, count: usize) {
        if count > 0 {
            self.out.resize(self.out.len() + count, b' ');
        }
    }

    /// `  7: `
    fn inst_number(&mut self, number: usize) {
        if number < 1000 {
            let mut text = *b"  0: ";
            text[2] = digit(number);
            if number >= 10 {
                text[1] = digit(number / 10);
            }
            if number >= 100 {
                text[0] = digit(number / 100);
            }
            self.out.extend_from_slice(&text);
        } else {
            self.uint(number as u64);
            self.out.extend_from_slice(b": ");
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let name = self.dialect.op_name(inst.op);
        // The size of most names is known here, which spares a call.
        match name.as_bytes() {
            [a, b, c] => self.out.extend_from_slice(&[*a, *b, *c]),
            _ => self.text(name),
        }
        if inst.sat {
            self.text("_SAT");
        }
        if inst.precise {
            self.text("_PRECISE");
        }
        let mut separator = " ";
        for dst in &inst.dsts {
            self.separate(&mut separator);
            self.dst(dst);
        }
        for src in &inst.srcs {
            self.separate(&mut separator);
            self.src(src);
        }
        if let Some(target) = inst.target
            && inst.memory.is_none()
        {
            self.listed(Some(target.name()), &mut separator);
        }
        if inst.memory.is_some() || !inst.offsets.is_empty() {
            self.rare_words(inst, separator);
        }
    }

    /// What stands behind the sources: memory words with target and format, or texel offsets.
    fn rare_words(&mut self, inst: &Inst, mut separator: &'static str) {
        if let Some(memory) = &inst.memory {
            self.memory_words(memory, &mut separator);
            self.listed(inst.target.map(|t| t.name()), &mut separator);
            self.listed(memory.format.as_deref(), &mut separator);
        }
        for offset in &inst.offsets {
            self.separate(&mut separator);
            self.register(&offset.reg);
            self.out.push(b'.');
            self.letters(&offset.swizzle);
        }
    }

    /// The blank in front of the first operand, or the comma in front of another one.
    #[inline]
    fn separate(&mut self, separator: &mut &'static str) {
        if separator.len() == 1 {
            self.out.push(b' ');
        } else {
            self.out.extend_from_slice(b", ");
        }
        *separator = ", ";
    }

    fn listed(&mut self, word: Option<&str>, separator: &mut &'static str) {
        if let Some(word) = word {
            self.separate(separator);
            self.text(word);
        }
    }

    fn memory_words(&mut self, memory: &Memory, separator: &mut &'static str) {
        let words = [
            (memory.coherent, "COHERENT"),
            (memory.restrict, "RESTRICT"),
            (memory.volatile, "VOLATILE"),
            (memory.stream_cache, "STREAM_CACHE_POLICY"),
        ];
        for (set, word) in words {
            self.listed(set.then_some(word), separator);
        }
    }

    fn dst(&mut self, dst: &Dst) {
        self.register(&dst.reg);
        self.mask(dst.mask);
    }

    fn src(&mut self, src: &Src) {
        if src.neg {
            self.out.push(b'-');
        }
        if src.abs {
            self.out.push(b'|');
        }
        self.register(&src.reg);
        if src.swizzle != XYZW {
            let [x, y, z, w] = src.swizzle.map(letter);
            self.out.extend_from_slice(&[b'.', x, y, z, w]);
        }
        if src.abs {
            self.out.push(b'|');
        }
    }

    fn register(&mut self, reg: &Register) {
        // The size of these names is known here, which spares a call.
        match reg.file {
            File::Temp => self.out.extend_from_slice(b"TEMP"),
            File::Const => self.out.extend_from_slice(b"CONST"),
            File::Imm => self.out.extend_from_slice(b"IMM"),
            File::In => self.out.extend_from_slice(b"IN"),
            File::Out => self.out.extend_from_slice(b"OUT"),
            file => self.text(file.name()),
        }
        if let Some(dim) = &reg.dim {
            self.unusual_index(dim);
        }
        self.index(&reg.index);
    }

    #[inline]
    fn index(&mut self, index: &Index) {
        let direct = index.addr.is_none() && index.array == 0;
        match usize::try_from(index.base) {
            Ok(n) if direct && n < 10 => self.out.extend_from_slice(&[b'[', digit(n), b']']),
            Ok(n) if direct && n < 100 => {
                let text = [b'[', digit(n / 10), digit(n), b']'];
                self.out.extend_from_slice(&text);
            }
            _ => self.unusual_index(index),
        }
    }

    fn unusual_index(&mut self, index: &Index) {
        self.out.push(b'[');
        match index.addr {
            None => self.int(i64::from(index.base)),
            Some(addr) => {
                self.text(addr.file.name());
                self.out.push(b'[');
                self.int(i64::from(addr.index));
                self.text("].");
                self.letters(&[addr.comp]);
                if index.base > 0 {
                    self.out.push(b'+');
                }
                if index.base != 0 {
                    self.int(i64::from(index.base));
                }
            }
        }
        self.out.push(b']');
        if index.array != 0 {
            self.out.push(b'(');
            self.uint(u64::from(index.array));
            self.out.push(b')');
        }
    }

    fn mask(&mut self, mask: u8) {
        let mask = mask & 0xf;
        if mask == 0xf {
            return;
        }
        let text = MASKS[usize::from(mask)];
        match mask.count_ones() {
            1 => self.out.extend_from_slice(&text[..2]),
            2 => self.out.extend_from_slice(&text[..3]),
            3 => self.out.extend_from_slice(&text),
            _ => self.out.push(b'.'),
        }
    }

    fn letters(&mut self, channels: &[u8]) {
        for &c in channels {
            self.out.push(letter(c));
        }
    }
}

/// Whether the label of `op` follows from the nesting.
fn is_computed(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::If | Opcode::Uif | Opcode::Ifc | Opcode::Else | Opcode::Bgnloop | Opcode::Endloop
    )
}

/// The labels of IF, ELSE, BGNLOOP and ENDLOOP from their nesting, in the order of
/// the instructions that bear them: (position, label). What is never closed gets 0.
pub(crate) fn branch_labels(insts: &[Inst]) -> Vec<(usize, u32)> {
    let mut labels: Vec<(usize, u32)> = Vec::new();
    let mut open: Vec<(usize, Opcode)> = Vec::new();
    for (i, inst) in insts.iter().enumerate() {
        let here = u32::try_from(i).unwrap_or(u32::MAX);
        match inst.op {
            Opcode::If | Opcode::Uif | Opcode::Ifc | Opcode::Bgnloop => {
                open.push((labels.len(), inst.op));
                labels.push((i, 0));
            }
            Opcode::Else => {
                if let Some((slot, _)) = open.pop_if(|(_, op)| *op != Opcode::Bgnloop) {
                    labels[slot].1 = here;
                }
                open.push((labels.len(), inst.op));
                labels.push((i, 0));
            }
            Opcode::Endif => {
                if let Some((slot, _)) = open.pop_if(|(_, op)| *op != Opcode::Bgnloop) {
                    labels[slot].1 = here;
                }
            }
            Opcode::Endloop => {
                let start = open
                    .pop_if(|(_, op)| *op == Opcode::Bgnloop)
                    .map(|(slot, _)| slot);
                let begin = start.map_or(0, |slot| labels[slot].0);
                if let Some(slot) = start {
                    labels[slot].1 = here;
                }
                labels.push((i, u32::try_from(begin).unwrap_or(u32::MAX)));
            }
            _ => {}
        }
    }
    labels
}

/// The text of a register, as in messages: `TEMP[3]`.
pub(crate) fn register_text(reg: &Register) -> String {
    let mut printer = Printer {
        out: Vec::new(),
        dialect: &Dialect::mesa(),
    };
    printer.register(reg);
    into_text(printer.out)
}
