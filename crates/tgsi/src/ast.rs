//! The syntax tree of a TGSI program.
//!
//! It keeps what the text said (spans, labels, the order of the header) so that
//! printing in the dialect that was read gives back the same program. Spans and
//! printed labels carry no meaning: two nodes that differ in their span alone
//! compare equal.

use smallvec::SmallVec;

use crate::opcode::Opcode;

/// A half-open byte range of the source text. Compares equal to every other
/// span, so that trees from different texts can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Span {}

/// The pipeline stage a program runs in: the first word of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// `VERT`
    Vert,
    /// `FRAG`
    Frag,
    /// `GEOM`
    Geom,
    /// `TESS_CTRL`
    TessCtrl,
    /// `TESS_EVAL`
    TessEval,
    /// `COMP`
    Comp,
}

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Pipeline stage.
    pub stage: Stage,
    /// The version of an old header such as `FRAG1.1`, if it had one.
    pub version: Option<(u8, u8)>,
    /// Properties, declarations and immediates in their textual order.
    pub header: Vec<Item>,
    /// Instructions in order, `END` included when the text has it.
    pub insts: Vec<Inst>,
}

/// One entry of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `PROPERTY NAME WORDS`
    Property(Property),
    /// `DCL ...`
    Decl(Decl),
    /// `IMM[n] TYPE {..}`
    Imm(Imm),
}

/// `PROPERTY NAME value ...`; values are words or numbers, kept as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Name in upper case.
    pub name: String,
    /// Values, upper case words or decimal numbers.
    pub values: Vec<String>,
    /// Place in the text.
    pub span: Span,
}

/// Register files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum File {
    /// `NULL`
    Null,
    /// `CONST`
    Const,
    /// `IN`
    In,
    /// `OUT`
    Out,
    /// `TEMP`
    Temp,
    /// `SAMP`
    Samp,
    /// `ADDR`
    Addr,
    /// `IMM`
    Imm,
    /// `SV`
    Sv,
    /// `IMAGE`
    Image,
    /// `SVIEW`
    Sview,
    /// `BUFFER`
    Buffer,
    /// `MEMORY`
    Memory,
    /// `HWATOMIC`
    HwAtomic,
    /// `RES` of old text
    Res,
    /// `PRED` of old text
    Pred,
    /// `LOOP` of the first text: the register of BGNFOR
    Loop,
}

/// `DCL FILE[dim][first..last].mask, ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decl {
    /// File declared.
    pub file: File,
    /// The outer bracket: `None` absent, `Some(None)` empty `[]`, `Some(Some(n))` a number.
    pub dim: Option<Option<i32>>,
    /// First register.
    pub first: i32,
    /// Last register, inclusive (`first` when the text has no range).
    pub last: i32,
    /// Usage mask, bit 0 = x; 0xf when the text has none.
    pub mask: u8,
    /// Semantic name and index, if any.
    pub semantic: Option<Semantic>,
    /// Interpolation word (`PERSPECTIVE`...), upper case.
    pub interp: Option<String>,
    /// Interpolation location word (`CENTROID`, `SAMPLE`), upper case.
    pub location: Option<String>,
    /// `ARRAY(n)`; 0 if absent.
    pub array: u32,
    /// `LOCAL`
    pub local: bool,
    /// `INVARIANT`
    pub invariant: bool,
    /// `ATOMIC` (buffers)
    pub atomic: bool,
    /// `SHARED`, `GLOBAL`, `PRIVATE`, `INPUT` (memory), upper case.
    pub memory: Option<String>,
    /// Texture target of SVIEW, IMAGE or RES.
    pub target: Option<TexTarget>,
    /// Format word of an IMAGE (`PIPE_FORMAT_...`).
    pub format: Option<String>,
    /// Return types of an SVIEW (`FLOAT`...): one or four words.
    pub return_types: Vec<String>,
    /// `WR`
    pub writable: bool,
    /// `RAW`
    pub raw: bool,
    /// `CYLWRAP_XYZW` mask.
    pub cylwrap: u8,
    /// `STREAM(x, y, z, w)`
    pub stream: Option<[u32; 4]>,
    /// Words after the register that this version does not know, kept as written.
    pub unknown: Vec<String>,
    /// Place in the text.
    pub span: Span,
}

impl Decl {
    /// Registers `first..=last` of a file, all channels, without any attribute.
    pub fn plain(file: File, first: i32, last: i32) -> Decl {
        Decl {
            file,
            dim: None,
            first,
            last,
            mask: 0xf,
            semantic: None,
            interp: None,
            location: None,
            array: 0,
            local: false,
            invariant: false,
            atomic: false,
            memory: None,
            target: None,
            format: None,
            return_types: Vec::new(),
            writable: false,
            raw: false,
            cylwrap: 0,
            stream: None,
            unknown: Vec::new(),
            span: Span::default(),
        }
    }
}

/// A semantic: `GENERIC[9]`, or `COLOR` without an index (index 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semantic {
    /// Name, upper case.
    pub name: String,
    /// Index; `None` when the text has no bracket, which means 0.
    pub index: Option<u32>,
}

/// The type word of an immediate: how it was written, not what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImmType {
    /// `FLT32`
    Flt32,
    /// `UINT32`
    Uint32,
    /// `INT32`
    Int32,
    /// `FLT64`
    Flt64,
    /// `UINT64`
    Uint64,
    /// `INT64`
    Int64,
}

/// `IMM[n] TYPE {a, b, c, d}`. The position among the immediates is its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imm {
    /// Type word.
    pub ty: ImmType,
    /// The bits of the four channels.
    pub words: [u32; 4],
    /// Place in the text.
    pub span: Span,
}

/// One bracket of a register: `[base]`, `[ADDR[0].x+base](array)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Index {
    /// Constant part; may be negative when there is an address register.
    pub base: i32,
    /// Address register, for relative access.
    pub addr: Option<AddrReg>,
    /// Array id behind the bracket; 0 if absent.
    pub array: u32,
}

impl Index {
    /// A direct index.
    pub const fn direct(base: i32) -> Self {
        Index {
            base,
            addr: None,
            array: 0,
        }
    }
}

/// The register inside a bracket: `ADDR[0].x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddrReg {
    /// File, mostly `ADDR`.
    pub file: File,
    /// Register number.
    pub index: i32,
    /// Channel, 0 = x.
    pub comp: u8,
}

/// A register of any file. `FILE[dim][index]`, or `FILE[index]` without `dim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// File.
    pub file: File,
    /// The outer bracket of a two-dimensional register.
    pub dim: Option<Index>,
    /// The (inner) bracket.
    pub index: Index,
}

impl Register {
    /// `file[index]`
    pub const fn direct(file: File, index: i32) -> Self {
        Register {
            file,
            dim: None,
            index: Index::direct(index),
        }
    }
    /// Whether either bracket holds an address register.
    pub fn is_indirect(&self) -> bool {
        self.index.addr.is_some() || self.dim.is_some_and(|d| d.addr.is_some())
    }
}

/// A destination operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dst {
    /// Register.
    pub reg: Register,
    /// Write mask, bit 0 = x. 0 is the empty mask `NULL[0].`.
    pub mask: u8,
    /// Place in the text.
    pub span: Span,
}

/// A source operand. The modifiers apply after the swizzle: first `abs`, then `neg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// Register.
    pub reg: Register,
    /// Channel read for each of x, y, z, w.
    pub swizzle: [u8; 4],
    /// `|src|`
    pub abs: bool,
    /// `-src`
    pub neg: bool,
    /// Place in the text.
    pub span: Span,
}

/// The identity swizzle `.xyzw`.
pub const XYZW: [u8; 4] = [0, 1, 2, 3];

/// Texture targets, also of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TexTarget {
    /// `BUFFER`
    Buffer,
    /// `1D`
    D1,
    /// `2D`
    D2,
    /// `3D`
    D3,
    /// `CUBE`
    Cube,
    /// `RECT`
    Rect,
    /// `SHADOW1D`
    Shadow1D,
    /// `SHADOW2D`
    Shadow2D,
    /// `SHADOWRECT`
    ShadowRect,
    /// `1D_ARRAY`
    D1Array,
    /// `2D_ARRAY`
    D2Array,
    /// `SHADOW1D_ARRAY`
    Shadow1DArray,
    /// `SHADOW2D_ARRAY`
    Shadow2DArray,
    /// `SHADOWCUBE`
    ShadowCube,
    /// `2D_MSAA`
    D2Msaa,
    /// `2D_ARRAY_MSAA`
    D2ArrayMsaa,
    /// `CUBEARRAY`
    CubeArray,
    /// `SHADOWCUBEARRAY`
    ShadowCubeArray,
    /// `UNKNOWN`
    Unknown,
}

/// A texel offset operand: `IMM[1].xyx`. Only x, y, z are meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexOffset {
    /// Register the offsets come from.
    pub reg: Register,
    /// Channel read for each of x, y, z.
    pub swizzle: [u8; 3],
}

/// Words behind the operands of a memory instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// `COHERENT`
    pub coherent: bool,
    /// `RESTRICT`
    pub restrict: bool,
    /// `VOLATILE`
    pub volatile: bool,
    /// `STREAM_CACHE_POLICY`
    pub stream_cache: bool,
    /// Format word of an image access (`PIPE_FORMAT_...`), upper case.
    pub format: Option<String>,
}

/// One instruction.
///
/// The sampler, image, buffer or memory of an instruction is an ordinary
/// operand: `SAMP[0]` is a source of TEX, `BUFFER[0]` a source of LOAD and the
/// destination of STORE.
#[derive(Debug, PartialEq, Eq)]
pub struct Inst {
    /// Opcode.
    pub op: Opcode,
    /// `_SAT`
    pub sat: bool,
    /// `_PRECISE`
    pub precise: bool,
    /// Destinations.
    pub dsts: SmallVec<[Dst; 1]>,
    /// Sources.
    pub srcs: SmallVec<[Src; 3]>,
    /// Texture target (texture instructions and image accesses).
    pub target: Option<TexTarget>,
    /// Texel offsets.
    pub offsets: SmallVec<[TexOffset; 0]>,
    /// Memory words, when there are any.
    pub memory: Option<Box<Memory>>,
    /// The `:12` behind a branch, as written. It may be stale: nesting decides.
    pub label: Option<u32>,
    /// Place in the text.
    pub span: Span,
}

impl Inst {
    /// An instruction with an opcode and nothing else: no modifiers, no operands.
    #[inline]
    pub fn bare(op: Opcode) -> Inst {
        Inst {
            op,
            sat: false,
            precise: false,
            dsts: SmallVec::new(),
            srcs: SmallVec::new(),
            target: None,
            offsets: SmallVec::new(),
            memory: None,
            label: None,
            span: Span::default(),
        }
    }
}

impl Clone for Inst {
    /// The operands are plain data, copied as blocks.
    fn clone(&self) -> Inst {
        Inst {
            op: self.op,
            sat: self.sat,
            precise: self.precise,
            dsts: SmallVec::from_slice(&self.dsts),
            srcs: SmallVec::from_slice(&self.srcs),
            target: self.target,
            offsets: SmallVec::from_slice(&self.offsets),
            memory: self.memory.clone(),
            label: self.label,
            span: self.span,
        }
    }
}
