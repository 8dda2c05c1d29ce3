//! Which accesses of indexed arrays and of outputs used as memory may meet.

use tgsi::{File, Register};
use tgsi_ir::{Function, MultiKind, RefIndex, Slot, Value};

/// The place an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// TEMP or OUT.
    file: File,
    /// Which of [`Function::arrays`] it is in, for TEMP.
    array: usize,
    dim: Option<Bracket>,
    index: Bracket,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bracket {
    base: i32,
    address: Option<Value>,
}

/// How two places relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// Never the same.
    No,
    /// Unknown.
    May,
    /// Always the same.
    Must,
}

/// A load or a store of [`Function`] memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Where.
    pub loc: Loc,
    /// Whether it writes.
    pub store: bool,
    /// Channels written, or those that may be read.
    pub mask: u8,
}

impl Loc {
    /// The number of the TEMP array, if it is one.
    pub fn temp_array(&self) -> Option<usize> {
        (self.file == File::Temp).then_some(self.array)
    }

    /// How this place relates to another at the same point of the program.
    pub fn alias(&self, other: &Loc) -> Alias {
        if self.file != other.file || self.array != other.array {
            return Alias::No;
        }
        let dim = match (self.dim, other.dim) {
            (None, None) => Alias::Must,
            (Some(a), Some(b)) => bracket_alias(a, b),
            _ => Alias::May,
        };
        match (dim, bracket_alias(self.index, other.index)) {
            (Alias::No, _) | (_, Alias::No) => Alias::No,
            (Alias::Must, Alias::Must) => Alias::Must,
            _ => Alias::May,
        }
    }
}

fn bracket_alias(a: Bracket, b: Bracket) -> Alias {
    if a.address != b.address {
        Alias::May
    } else if a.base == b.base {
        Alias::Must
    } else {
        Alias::No
    }
}

/// The access an effect makes, if it is a load or store of the function's own memory.
/// `resolve` gives the value that stands for an address operand.
pub fn access(f: &Function, v: Value, resolve: impl Fn(Value) -> Value) -> Option<Access> {
    let m = f.as_multi(v)?;
    let store = match m.kind {
        MultiKind::Store => true,
        MultiKind::Load => false,
        _ => return None,
    };
    let reg: Register = if store {
        m.inst.dsts.first()?.reg
    } else {
        m.inst.srcs.first()?.reg
    };
    let operand = |wanted: Slot| {
        let at = m.slots.iter().position(|&s| s == wanted)?;
        f.values[v].args.get(at).map(|&a| resolve(a))
    };
    let (dim, index) = if store {
        (operand(Slot::DstDim), operand(Slot::DstIndex))
    } else {
        (operand(Slot::SrcDim(0)), operand(Slot::SrcIndex(0)))
    };
    let bracket = |i: tgsi::Index, address| Bracket {
        base: i.base,
        address,
    };
    let loc = Loc {
        file: reg.file,
        array: array_of(f, &reg)?,
        dim: reg.dim.map(|d| bracket(d, dim)),
        index: bracket(reg.index, index),
    };
    let mask = if store {
        m.inst.dsts.first()?.mask
    } else {
        m.results & 15
    };
    Some(Access { loc, store, mask })
}

/// Which array a TEMP access is in; 0 for OUT.
fn array_of(f: &Function, reg: &Register) -> Option<usize> {
    if reg.file != File::Temp {
        return Some(0);
    }
    let r = RefIndex {
        base: reg.index.base,
        relative: reg.index.addr.is_some(),
        array: reg.index.array,
    };
    f.arrays.iter().position(|a| {
        if r.relative && r.array != 0 {
            a.2 == r.array
        } else {
            r.relative || a.0 <= r.base && r.base <= a.1
        }
    })
}
