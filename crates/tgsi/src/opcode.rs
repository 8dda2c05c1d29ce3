//! The opcode table: one row an opcode.
//!
//! Everything that needs to know what an opcode is (parser, printer, sanity
//! check, lift, folder, documentation) reads this table. Definitions agree with
//! Mesa's TGSI documentation and, for opcodes that no interpreter has any more,
//! with the founding documents of 2009 and 2010.

pub use crate::optable::OPCODES;

/// The type an operand is read or written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// 32 bits with no interpretation; a modifier on it is a float operation.
    Any,
    /// IEEE binary32.
    F,
    /// Signed 32-bit integer.
    I,
    /// Unsigned 32-bit integer.
    U,
    /// IEEE binary64 in a channel pair.
    D,
    /// Signed 64-bit integer in a channel pair.
    I64,
    /// Unsigned 64-bit integer in a channel pair.
    U64,
}

impl Ty {
    /// Whether a value of this type takes a pair of channels (xy or zw).
    pub const fn is_wide(self) -> bool {
        matches!(self, Ty::D | Ty::I64 | Ty::U64)
    }
    /// Whether `-src` and `|src|` act on floats (32-bit) for this operand type.
    pub const fn is_float_modifier(self) -> bool {
        matches!(self, Ty::Any | Ty::F)
    }
}

/// How destination channels depend on source channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Channel c of the destination reads channel c of each source. When a type is
    /// wide, channel pairs take the place of channels; see `crate::usage`.
    Comp,
    /// One scalar from the x channels, replicated to every written channel.
    Repl,
    /// Dot product over the first n channels, replicated.
    Dot(u8),
    /// A formula of its own for each channel; see `crate::usage`.
    Chan,
    /// Texture fetch or query: reads depend on the target, four results.
    Tex,
    /// Buffer, image or shared-memory access.
    Mem,
    /// Result depends on other lanes or on state (votes, interpolation, clock, FBFETCH...).
    Other,
    /// No result: flow, kill, barriers, emit.
    None,
}

/// What an opcode does beside computing a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: it may be removed when unread, merged and moved.
    Pure,
    /// Reads memory that stores may change: removable, ordered with writes.
    Read,
    /// Never removed and never reordered with another effect.
    Write,
    /// Control flow.
    Flow,
}

/// When an opcode left the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Removed in 2014 or before: its use marks a program of the first era.
    First,
    /// Removed later (2016 to 2023): SUB, ABS, CLAMP, SCS, XPD...
    Legacy,
    /// Still there.
    Current,
}

/// The evaluation of an opcode for constant folding. Bit-exact; uses no host
/// mathematics library, so opcodes whose result depends on one have none.
#[derive(Clone, Copy)]
pub enum Eval {
    /// Not folded.
    None,
    /// One 32-bit result from one word a source (`Comp`, `Repl`), or from the
    /// words a.x.. then b.x.. (`Dot`).
    Word(fn(&[u32]) -> u32),
    /// One result a pair. A 32-bit operand is zero-extended, a 32-bit result is the low word.
    Wide(fn(&[u64]) -> u64),
    /// All four channels from whole vectors (`Chan`).
    Vector(fn(&[[u32; 4]]) -> [u32; 4]),
}

impl std::fmt::Debug for Eval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Eval::None => "None",
            Eval::Word(_) => "Word",
            Eval::Wide(_) => "Wide",
            Eval::Vector(_) => "Vector",
        })
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The opcode.
    pub op: Opcode,
    /// Its current name.
    pub name: &'static str,
    /// Names of other eras that mean the same.
    pub aliases: &'static [&'static str],
    /// Number of destinations.
    pub dsts: u8,
    /// Number of sources, the sampler, image, buffer or memory among them.
    pub srcs: u8,
    /// Channel behaviour.
    pub shape: Shape,
    /// Type of the destinations.
    pub dst_ty: Ty,
    /// Type of each source.
    pub src_ty: &'static [Ty],
    /// Effects.
    pub effect: Effect,
    /// Whether the result depends on neighbouring lanes (derivatives, votes).
    pub quad: bool,
    /// When it left the language.
    pub era: Era,
    /// Folding.
    pub eval: Eval,
    /// Definition.
    pub doc: &'static str,
}

/// Every opcode of every era.
#[allow(missing_docs, reason = "each variant is documented by its row")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Opcode {
    Arl,
    Mov,
    Lit,
    Rcp,
    Rsq,
    Exp,
    Log,
    Mul,
    Add,
    Dp3,
    Dp4,
    Dst,
    Min,
    Max,
    Slt,
    Sge,
    Mad,
    TexLz,
    Lrp,
    Fma,
    Sqrt,
    Ldexp,
    F2u64,
    F2i64,
    Frc,
    TxfLz,
    Flr,
    Round,
    Ex2,
    Lg2,
    Pow,
    Demote,
    U2i64,
    Clock,
    I2i64,
    ReadHelper,
    Cos,
    Ddx,
    Ddy,
    Kill,
    Pk2h,
    Pk2us,
    Pk4b,
    Pk4ub,
    D2u64,
    Seq,
    D2i64,
    Sgt,
    Sin,
    Sle,
    Sne,
    U642d,
    Tex,
    Txd,
    Txp,
    Up2h,
    Up2us,
    Up4b,
    Up4ub,
    U642f,
    I642f,
    Arr,
    I642d,
    Cal,
    Ret,
    Ssg,
    Cmp,
    Txb,
    Fbfetch,
    Div,
    Dp2,
    Txl,
    Brk,
    If,
    Uif,
    ReadInvoc,
    Else,
    Endif,
    DdxFine,
    DdyFine,
    Ceil,
    I2f,
    Not,
    Trunc,
    Shl,
    Ballot,
    And,
    Or,
    Mod,
    Xor,
    Txf,
    Txq,
    Cont,
    Emit,
    Endprim,
    Bgnloop,
    Bgnsub,
    Endloop,
    Endsub,
    Atomfadd,
    Txqs,
    Resq,
    ReadFirst,
    Nop,
    Fseq,
    Fsge,
    Fslt,
    Fsne,
    Membar,
    KillIf,
    End,
    Dfma,
    F2i,
    Idiv,
    Imax,
    Imin,
    Ineg,
    Isge,
    Ishr,
    Islt,
    F2u,
    U2f,
    Uadd,
    Udiv,
    Umad,
    Umax,
    Umin,
    Umod,
    Umul,
    Useq,
    Usge,
    Ushr,
    Uslt,
    Usne,
    Switch,
    Case,
    Default,
    Endswitch,
    Sample,
    SampleI,
    SampleIMs,
    SampleB,
    SampleC,
    SampleCLz,
    SampleD,
    SampleL,
    Gather4,
    Sviewinfo,
    SamplePos,
    SampleInfo,
    Uarl,
    Ucmp,
    Iabs,
    Issg,
    Load,
    Store,
    Img2hnd,
    Samp2hnd,
    Barrier,
    Atomuadd,
    Atomxchg,
    Atomcas,
    Atomand,
    Atomor,
    Atomxor,
    Atomumin,
    Atomumax,
    Atomimin,
    Atomimax,
    Tex2,
    Txb2,
    Txl2,
    ImulHi,
    UmulHi,
    Tg4,
    Lodq,
    Ibfe,
    Ubfe,
    Bfi,
    Brev,
    Popc,
    Lsb,
    Imsb,
    Umsb,
    InterpCentroid,
    InterpSample,
    InterpOffset,
    F2d,
    D2f,
    Dabs,
    Dneg,
    Dadd,
    Dmul,
    Dmax,
    Dmin,
    Dslt,
    Dsge,
    Dseq,
    Dsne,
    Drcp,
    Dsqrt,
    Dmad,
    Dfrac,
    Dldexp,
    D2i,
    I2d,
    D2u,
    U2d,
    Drsq,
    Dtrunc,
    Dceil,
    Dflr,
    Dround,
    Dssg,
    VoteAny,
    VoteAll,
    VoteEq,
    U64seq,
    U64sne,
    I64slt,
    U64slt,
    I64sge,
    U64sge,
    I64min,
    U64min,
    I64max,
    U64max,
    I64abs,
    I64ssg,
    I64neg,
    U64add,
    U64mul,
    U64shl,
    I64shr,
    U64shr,
    I64div,
    U64div,
    I64mod,
    U64mod,
    Ddiv,
    Lod,
    AtomincWrap,
    AtomdecWrap,
    Shr,
    Swz,
    Noise1,
    Noise2,
    Noise3,
    Noise4,
    Cnd,
    Cnd0,
    Rep,
    Endrep,
    Bgnfor,
    Endfor,
    LoadMs,
    Resinfo,
    Ifc,
    Bra,
    Sfl,
    Str,
    Rfl,
    X2d,
    Rcc,
    Nrm,
    Nrm4,
    Ara,
    Sub,
    Abs,
    Clamp,
    Scs,
    Xpd,
    Dph,
    Dp2a,
    Callnz,
    Pusha,
    Popa,
    Sad,
    TxqLz,
    Breakc,
    Dfracexp,
}

impl Opcode {
    /// The row of this opcode.
    pub fn info(self) -> &'static OpInfo {
        &OPCODES[self as usize]
    }
    /// Its current name.
    pub fn name(self) -> &'static str {
        self.info().name
    }
    /// The opcode a name stands for, in any era; upper case.
    pub fn from_name(name: &str) -> Option<Opcode> {
        crate::opnames::opcode(name.as_bytes())
    }
}
