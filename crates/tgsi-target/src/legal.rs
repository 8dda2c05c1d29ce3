//! What a target takes, ready to be asked for each operation, and what of a program it does not.

use std::collections::BTreeMap;

use tgsi::opcode::OPCODES;
use tgsi::{Era, Opcode, Program, Ty};

use crate::count::{Class, class};
use crate::missing::{FlowKind, Missing, missing};
use crate::target::{Flow, Target};

/// Words of a set with a bit for every opcode.
const WORDS: usize = OPCODES.len().div_ceil(64);

/// What a target takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The opcodes that are taken, by number.
    opcodes: [u64; WORDS],
    /// Slots of the opcodes that take more than one.
    slots: BTreeMap<Opcode, u32>,
    /// Whether nothing is missing.
    everything: bool,
    /// Whether registers hold integers.
    pub integers: bool,
    /// Control flow.
    pub flow: Flow,
    /// Whether `|x|` is taken.
    pub abs: bool,
    /// Whether `-x` is taken.
    pub negate: bool,
    /// Whether `_SAT` is taken.
    pub saturate: bool,
    /// The most instructions, if there is a limit.
    pub instructions: Option<u32>,
}

impl Default for Taken {
    /// Of a target that takes everything.
    fn default() -> Self {
        Taken {
            opcodes: [u64::MAX; WORDS],
            slots: BTreeMap::new(),
            everything: true,
            integers: true,
            flow: Flow::default(),
            abs: true,
            negate: true,
            saturate: true,
            instructions: None,
        }
    }
}

/// Whether an opcode computes with integers or doubles.
fn needs_integers(op: Opcode) -> bool {
    let info = op.info();
    let integer = |t: &Ty| !matches!(t, Ty::Any | Ty::F);
    let address = matches!(op, Opcode::Arl | Opcode::Arr | Opcode::Ara);
    let effect = matches!(op, Opcode::Emit | Opcode::Endprim | Opcode::Uif);
    !address && !effect && (integer(&info.dst_ty) || info.src_ty.iter().any(integer))
}

impl Taken {
    /// What `target` takes.
    pub fn of(target: &Target) -> Taken {
        let mut t = Taken {
            opcodes: [0; WORDS],
            slots: BTreeMap::new(),
            everything: false,
            integers: target.arithmetic.integers,
            flow: target.flow,
            abs: !target.operands.no_abs,
            negate: !target.operands.no_negate,
            saturate: !target.operands.no_saturate,
            instructions: target.limits.instructions,
        };
        for info in OPCODES {
            let op = info.op;
            let listed = target.opcodes.takes(op);
            let flow = FlowKind::of(op);
            let taken = match flow {
                // What is of no kind leaves what another one opened.
                _ if op == Opcode::Uif => t.flow.branches && t.integers,
                Some(kind) => kind.taken(&t.flow),
                None if class(op) == Class::Flow => true,
                None => {
                    let named = target.opcodes.native.is_some();
                    listed && (named || t.integers || !needs_integers(op))
                }
            };
            if taken {
                t.opcodes[op as usize / 64] |= 1 << (op as usize % 64);
            }
            let slots = target.opcodes.slots(op);
            if slots != 1 {
                t.slots.insert(op, slots);
            }
        }
        t.everything = OPCODES.iter().all(|info| t.takes(info.op))
            && t.abs
            && t.negate
            && t.saturate
            && t.integers;
        t
    }

    /// Whether the target takes everything that the language has.
    #[inline]
    pub fn everything(&self) -> bool {
        self.everything
    }

    /// Whether the target takes an opcode.
    #[inline]
    pub fn takes(&self, op: Opcode) -> bool {
        self.opcodes[op as usize / 64] >> (op as usize % 64) & 1 != 0
    }

    /// Whether a program may come to use an opcode that it does not use yet. What left the language
    /// is only made for a target that lists it.
    #[inline]
    pub fn may_make(&self, op: Opcode) -> bool {
        self.takes(op) && (!self.everything || op.info().era == Era::Current)
    }

    /// Slots that an instruction takes.
    #[inline]
    pub fn slots(&self, op: Opcode) -> u32 {
        self.slots.get(&op).copied().unwrap_or(1)
    }

    /// Whether every instruction takes one slot.
    pub fn even_slots(&self) -> bool {
        self.slots.is_empty()
    }
}

impl Target {
    /// The target with nothing taken that its consumer expands or copies: what remains is what the
    /// hardware runs.
    #[must_use]
    pub fn without_expansions(mut self) -> Target {
        self.bare = true;
        let expanded = std::mem::take(&mut self.opcodes.expanded);
        if self.opcodes.native.is_none() && !expanded.is_empty() {
            let all = OPCODES.iter().map(|info| info.op);
            self.opcodes.native = Some(all.filter(|op| !expanded.contains_key(op)).collect());
        }
        if let Some(native) = &mut self.opcodes.native {
            native.retain(|op| !expanded.contains_key(op));
        }
        self
    }

    /// What the operations of a program are that the target does not take, each once, in the order
    /// of the program.
    pub fn not_taken(&self, program: &Program) -> Vec<String> {
        let found = missing(self, program);
        let operations = |m: &&Missing| {
            !matches!(
                m,
                Missing::Stage(_) | Missing::AddressChannel(_) | Missing::Shape(..)
            )
        };
        found
            .iter()
            .filter(operations)
            .map(Missing::to_string)
            .collect()
    }
}
