//! How a text is written, apart from what it says: read from an input, kept for the output.

use crate::ast::{Imm, ImmType, Inst, Item, Program, Span};
use crate::opcode::Opcode;

/// The manner of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Whether the header keeps its version, as in `FRAG1.1`. Today's consumers refuse it.
    pub version: bool,
    /// Whether instructions are numbered: `  0: MOV ...`.
    pub numbers: bool,
    /// Blanks in front of every instruction that has no number.
    pub margin: u8,
    /// Further blanks for each level of nesting.
    pub indent: u8,
    /// The `:12` behind branches.
    pub labels: Labels,
    /// Whether immediates are numbered: `IMM[0] FLT32 ...`.
    pub imm_numbers: bool,
    /// The values of FLT32.
    pub flt32: FloatForm,
    /// The values of FLT64.
    pub flt64: FloatForm,
    /// Infinities and NaNs where `flt32` or `flt64` is not [`FloatForm::Hex`].
    pub non_finite: NonFinite,
    /// Whether KILL_IF is called KIL and KILL is called KILP, as before 2013.
    pub old_names: bool,
}

/// Which labels are printed. A call keeps its label in every dialect, since it says what is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// None.
    None,
    /// IF and ELSE name their ELSE or ENDIF, loops are labelled `:0`: what drivers send.
    Wire,
    /// As `Wire`, but BGNLOOP names its ENDLOOP and ENDLOOP its BGNLOOP.
    Full,
}

/// How a float is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatForm {
    /// Its bits: `0x3f800000`; a FLT64 takes two words, the low one first.
    Hex,
    /// The shortest decimal that reads back to the same bits.
    Shortest,
    /// A decimal of this many places in a field of ten, as `%10.4f` prints it, if
    /// it reads back to the same bits; else the shortest.
    Fixed(u8),
}

/// How an infinity or NaN is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// As `inf` or `nan`, a NaN with other bits as hex. Few consumers read it.
    Word,
    /// As hex; for consumers that read hex as bits.
    Hex,
    /// The whole immediate as UINT32 words: every consumer reads it.
    Uint32,
}

impl Dialect {
    /// Today's Mesa: its parser reads hex in FLT32 as a number, so floats are
    /// decimals and non-finite ones UINT32.
    pub fn mesa() -> Self {
        Dialect {
            version: false,
            numbers: true,
            margin: 0,
            indent: 2,
            labels: Labels::Wire,
            imm_numbers: true,
            flt32: FloatForm::Shortest,
            flt64: FloatForm::Shortest,
            non_finite: NonFinite::Uint32,
            old_names: false,
        }
    }

    /// What Mesa's virgl driver sends to virglrenderer: FLT32 as bits. FLT64 stays
    /// decimal, since hosts read those with `strtod`, and non-finite ones are UINT32.
    pub fn virgl() -> Self {
        Dialect {
            flt32: FloatForm::Hex,
            ..Dialect::mesa()
        }
    }

    /// Text as drivers of before 2013 wrote and read it: no numbers, no labels, old names.
    pub fn legacy() -> Self {
        Dialect {
            numbers: false,
            indent: 0,
            labels: Labels::None,
            old_names: true,
            version: true,
            ..Dialect::mesa()
        }
    }

    /// The name of `op` in this dialect.
    pub fn op_name(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::KillIf if self.old_names => "KIL",
            Opcode::Kill if self.old_names => "KILP",
            _ => op.name(),
        }
    }
}

/// The dialect `text` is written in. `program` must come from that text: its spans say
/// where to look. What the text does not show is as in [`Dialect::mesa`].
pub fn detect_dialect(text: &str, program: &Program) -> Dialect {
    let text = text.as_bytes();
    let mut dialect = Dialect {
        version: program.version.is_some(),
        ..Dialect::mesa()
    };
    detect_layout(text, &program.insts, &mut dialect);
    detect_labels(&program.insts, &mut dialect);
    dialect.old_names = program.insts.iter().any(|i| {
        matches!(i.op, Opcode::Kill | Opcode::KillIf)
            && matches!(
                word_at(text, i.span).to_ascii_uppercase().as_slice(),
                b"KIL" | b"KILP"
            )
    });
    let immediates = program.header.iter().filter_map(|i| match i {
        Item::Imm(imm) if imm.span.end > imm.span.start => Some(imm),
        _ => None,
    });
    detect_immediates(text, immediates, &mut dialect);
    dialect
}

/// The bytes of a span; none if it is not from this text.
fn bytes(text: &[u8], span: Span) -> &[u8] {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

/// The word a span begins with.
fn word_at(text: &[u8], span: Span) -> &[u8] {
    let bytes = bytes(text, span);
    let len = bytes
        .iter()
        .position(|b| !b.is_ascii_alphanumeric())
        .unwrap_or(bytes.len());
    &bytes[..len]
}

/// What stands in front of an instruction on its line: whether it is a number, and
/// the blanks behind that.
fn prefix(text: &[u8], inst: &Inst) -> (bool, usize) {
    let before = text.get(..inst.span.start as usize).unwrap_or_default();
    let blanks = before
        .iter()
        .rev()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    let rest = &before[..before.len() - blanks];
    let numbered =
        rest.last() == Some(&b':') && rest.iter().rev().nth(1).is_some_and(u8::is_ascii_digit);
    (numbered, blanks)
}

fn detect_layout(text: &[u8], insts: &[Inst], dialect: &mut Dialect) {
    let Some(first) = insts.first() else { return };
    let (numbered, outer) = prefix(text, first);
    dialect.numbers = numbered;
    if !numbered {
        dialect.margin = outer.min(16) as u8;
        dialect.indent = 0;
    }
    let opening = insts.iter().position(|i| opens(i.op));
    let Some(inner) = opening
        .and_then(|i| insts.get(i + 1))
        .filter(|i| !closes(i.op))
    else {
        return;
    };
    let width = prefix(text, inner).1;
    dialect.indent = width
        .saturating_sub(if numbered { 1 } else { outer })
        .min(16) as u8;
}

fn detect_labels(insts: &[Inst], dialect: &mut Dialect) {
    let mut branches = insts
        .iter()
        .filter(|i| opens(i.op) && i.op != Opcode::Bgnsub)
        .peekable();
    if branches.peek().is_none() {
        // Writers without numbers write no labels either.
        if !dialect.numbers {
            dialect.labels = Labels::None;
        }
    } else if branches.all(|i| i.label.is_none()) {
        dialect.labels = Labels::None;
    } else if insts
        .iter()
        .any(|i| i.op == Opcode::Bgnloop && i.label.is_some_and(|l| l > 0))
    {
        dialect.labels = Labels::Full;
    }
}

fn detect_immediates<'a>(
    text: &[u8],
    immediates: impl Iterator<Item = &'a Imm>,
    dialect: &mut Dialect,
) {
    let (mut flt32, mut flt64, mut named) = (None, None, false);
    for imm in immediates {
        let bytes = bytes(text, imm.span);
        let Some(open) = bytes.iter().position(|&b| b == b'{') else {
            continue;
        };
        let (front, values) = bytes.split_at(open);
        dialect.imm_numbers = front.contains(&b'[');
        let form = match imm.ty {
            ImmType::Flt32 => &mut flt32,
            ImmType::Flt64 => &mut flt64,
            _ => continue,
        };
        named |= values.iter().any(|b| matches!(b, b'n' | b'N'));
        if form.is_none() {
            *form = float_form(values);
        }
    }
    dialect.flt32 = flt32.unwrap_or(dialect.flt32);
    dialect.flt64 = flt64.unwrap_or(dialect.flt64);
    if named {
        dialect.non_finite = NonFinite::Word;
    }
}

/// The form of the values `{..}`, if they show one.
fn float_form(values: &[u8]) -> Option<FloatForm> {
    let mut places = None;
    for value in values.split(|&b| matches!(b, b'{' | b',' | b'}')) {
        let value = value.trim_ascii();
        if value.is_empty() || value.iter().any(|b| matches!(b, b'n' | b'N')) {
            continue;
        }
        if value.iter().any(|b| matches!(b, b'x' | b'X')) {
            return Some(FloatForm::Hex);
        }
        let digits = value
            .iter()
            .position(|&b| b == b'.')
            .map_or(0, |dot| value.len() - dot - 1);
        // Four and eight places are what printf formats in use write.
        let fixed = matches!(digits, 4 | 8) && !value.iter().any(|b| matches!(b, b'e' | b'E'));
        if !fixed || places.is_some_and(|p| p != digits) {
            return Some(FloatForm::Shortest);
        }
        places = Some(digits);
    }
    places.map(|p| FloatForm::Fixed(p as u8))
}

/// Whether what follows `op` is indented.
pub(crate) fn opens(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::If
            | Opcode::Uif
            | Opcode::Ifc
            | Opcode::Else
            | Opcode::Bgnloop
            | Opcode::Bgnsub
            | Opcode::Bgnfor
            | Opcode::Rep
    )
}

/// Whether `op` and what follows it are indented one level less.
pub(crate) fn closes(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::Else
            | Opcode::Endif
            | Opcode::Endloop
            | Opcode::Endsub
            | Opcode::Endfor
            | Opcode::Endrep
    )
}
