//! The diagnostic codes. A code never changes its meaning.
//!
//! `T00xx` come from the parser, `T01xx` from the sanity check.

/// The text has no `FRAG`, `VERT`... header.
pub const NO_HEADER: &str = "T0001";
/// The bytes are not UTF-8.
pub const NOT_UTF8: &str = "T0002";
/// More findings than are kept, or a text larger than positions can name.
pub const TOO_MANY: &str = "T0003";
/// A token that cannot stand where it stands.
pub const UNEXPECTED: &str = "T0010";
/// An opcode no era knows.
pub const UNKNOWN_OPCODE: &str = "T0011";
/// An operand was expected.
pub const NO_OPERAND: &str = "T0012";
/// A register file that does not exist.
pub const UNKNOWN_FILE: &str = "T0013";
/// A malformed bracket behind a register.
pub const BAD_BRACKET: &str = "T0014";
/// A number that does not fit.
pub const OUT_OF_RANGE: &str = "T0015";
/// A write mask that is not letters of xyzw in order.
pub const BAD_MASK: &str = "T0016";
/// A swizzle that is not one to four letters of xyzw.
pub const BAD_SWIZZLE: &str = "T0017";
/// A word behind the operands that is neither target, format nor memory word.
pub const UNKNOWN_WORD: &str = "T0018";
/// A malformed immediate.
pub const BAD_IMMEDIATE: &str = "T0019";
/// A type word that is no immediate type.
pub const BAD_IMM_TYPE: &str = "T0020";
/// Immediates whose numbers do not count up from 0.
pub const IMM_ORDER: &str = "T0021";
/// Two immediates with one number.
pub const IMM_TWICE: &str = "T0022";
/// An immediate number too far away to fill the gap.
pub const IMM_GAP: &str = "T0023";
/// `|` without its partner.
pub const BAD_BARS: &str = "T0024";
/// A malformed declaration.
pub const BAD_DECLARATION: &str = "T0025";
/// A word in a declaration that this version does not know.
pub const UNKNOWN_ATTRIBUTE: &str = "T0026";
/// A property without name or value.
pub const BAD_PROPERTY: &str = "T0027";
/// A swizzle of two or three letters; the last is repeated.
pub const SHORT_SWIZZLE: &str = "T0028";
/// A declaration, immediate or property behind an instruction.
pub const LATE_HEADER: &str = "T0029";
/// A label on an instruction that has none.
pub const BAD_LABEL: &str = "T0030";

/// A register that is not declared.
pub const UNDECLARED: &str = "T0101";
/// A register declared more than once.
pub const REDECLARED: &str = "T0102";
/// A destination that writes nothing.
pub const EMPTY_MASK: &str = "T0103";
/// A wrong number of destinations.
pub const DST_COUNT: &str = "T0104";
/// A wrong number of sources.
pub const SRC_COUNT: &str = "T0105";
/// No `END`.
pub const NO_END: &str = "T0106";
/// More than one `END`.
pub const TWO_ENDS: &str = "T0107";
/// A closing instruction without its opening one.
pub const UNOPENED: &str = "T0108";
/// An opening instruction without its closing one.
pub const UNCLOSED: &str = "T0109";
/// `BRK`, `CONT`... outside of what they leave.
pub const OUTSIDE: &str = "T0110";
/// An index outside the declared registers of its file.
pub const INDEX_RANGE: &str = "T0111";
/// A 64-bit immediate, which Mesa's own sanity check refuses.
pub const WIDE_IMMEDIATE: &str = "T0112";
/// `-src` or `|src|` on an integer or 64-bit operand.
pub const MODIFIER: &str = "T0113";
/// A source of file `NULL`.
pub const NULL_SOURCE: &str = "T0114";
/// A texture instruction without a target.
pub const NO_TARGET: &str = "T0115";
/// A property this version does not know.
pub const UNKNOWN_PROPERTY: &str = "T0116";
/// A value the property does not have.
pub const PROPERTY_VALUE: &str = "T0117";
/// A branch label that does not agree with the nesting.
pub const STALE_LABEL: &str = "T0118";
/// A destination in a file that cannot be written.
pub const READ_ONLY: &str = "T0119";
/// A call that names no subroutine.
pub const BAD_CALL: &str = "T0120";
/// A declared range whose end lies before its start, or a negative one.
pub const BAD_RANGE: &str = "T0121";
/// Two indices on a register of a file that has one dimension.
pub const DIMENSIONS: &str = "T0122";
