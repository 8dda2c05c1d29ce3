//! What a program uses that a target does not have at all.

use tgsi::{Inst, Opcode, Program, Stage, Ty};

use crate::count::{Class, class};
use crate::shapes::{ShapeRule, shape_faults};
use crate::target::{Flow, Target};

/// Something that a target does not have, and the first instruction that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An opcode.
    Opcode(Opcode, usize),
    /// A kind of control flow.
    Flow(FlowKind, Opcode, usize),
    /// Integer operations, where opcodes are not listed.
    Integers(Opcode, usize),
    /// A modifier of an operand or a result.
    Modifier(&'static str, usize),
    /// Another channel of an address register than x.
    AddressChannel(usize),
    /// Operands as they stand, on hardware that no one copies them for.
    Shape(ShapeRule, usize),
    /// The stage.
    Stage(Stage),
}

/// The kinds of control flow that targets have or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// IF, ELSE, ENDIF.
    Branches,
    /// Loops.
    Loops,
    /// CONT.
    Continues,
    /// SWITCH.
    Switches,
    /// Calls.
    Subroutines,
}

impl FlowKind {
    /// Its name in a target's file.
    pub fn name(self) -> &'static str {
        match self {
            FlowKind::Branches => "branches",
            FlowKind::Loops => "loops",
            FlowKind::Continues => "continues",
            FlowKind::Switches => "switches",
            FlowKind::Subroutines => "subroutines",
        }
    }

    /// The kind that an opcode belongs to. BRK and RET leave what another one opened.
    pub(crate) fn of(op: Opcode) -> Option<FlowKind> {
        Some(match op {
            Opcode::If | Opcode::Uif | Opcode::Ifc | Opcode::Else | Opcode::Endif | Opcode::Bra => {
                FlowKind::Branches
            }
            Opcode::Bgnloop
            | Opcode::Endloop
            | Opcode::Bgnfor
            | Opcode::Endfor
            | Opcode::Rep
            | Opcode::Endrep => FlowKind::Loops,
            Opcode::Cont => FlowKind::Continues,
            Opcode::Switch | Opcode::Case | Opcode::Default | Opcode::Endswitch => {
                FlowKind::Switches
            }
            Opcode::Cal | Opcode::Callnz | Opcode::Bgnsub | Opcode::Endsub => FlowKind::Subroutines,
            _ => return None,
        })
    }

    pub(crate) fn taken(self, flow: &Flow) -> bool {
        match self {
            FlowKind::Branches => flow.branches,
            FlowKind::Loops => flow.loops,
            FlowKind::Continues => flow.continues,
            FlowKind::Switches => flow.switches,
            FlowKind::Subroutines => flow.subroutines,
        }
    }
}

impl Missing {
    /// The first instruction that uses it.
    pub fn first(&self) -> Option<usize> {
        match *self {
            Missing::Opcode(_, at)
            | Missing::Flow(_, _, at)
            | Missing::Integers(_, at)
            | Missing::Modifier(_, at)
            | Missing::AddressChannel(at)
            | Missing::Shape(_, at) => Some(at),
            Missing::Stage(_) => None,
        }
    }

    /// One word for programs that read reports.
    pub fn name(&self) -> &'static str {
        match *self {
            Missing::Opcode(op, _) => op.name(),
            Missing::Flow(kind, ..) => kind.name(),
            Missing::Integers(..) => "integers",
            Missing::Modifier(name, _) => name,
            Missing::AddressChannel(_) => "address-channel",
            Missing::Shape(rule, _) => rule.name(),
            Missing::Stage(_) => "stage",
        }
    }

    /// Whether two are about the same, wherever they are used.
    fn is_like(&self, other: &Missing) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.name() == other.name()
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Missing::Opcode(op, _) => {
                write!(f, "uses {}, which the target does not have", op.name())
            }
            Missing::Flow(kind, op, _) => {
                let (op, kind) = (op.name(), kind.name());
                write!(f, "uses {op}, the target has no {kind}")
            }
            Missing::Integers(op, _) => {
                write!(f, "uses {}, the target has no integers", op.name())
            }
            Missing::Modifier(name, _) => {
                write!(f, "uses {name}, which the target does not have")
            }
            Missing::AddressChannel(_) => {
                f.write_str("indexes by another channel of an address register than x")
            }
            Missing::Shape(rule, _) => f.write_str(rule.sentence()),
            Missing::Stage(stage) => {
                write!(
                    f,
                    "is a {} program, which the target does not run",
                    stage.name()
                )
            }
        }
    }
}

/// What a program uses that the target does not have: the stage, then in the order of first use.
pub(crate) fn missing(target: &Target, program: &Program) -> Vec<Missing> {
    let mut found = Vec::new();
    if !target.runs(program.stage) {
        found.push(Missing::Stage(program.stage));
    }
    let everything = target.opcodes.native.is_none()
        && target.arithmetic.integers
        && target.flow == Flow::default()
        && !target.operands.address_x_only
        && !(target.operands.no_abs || target.operands.no_negate || target.operands.no_saturate)
        && !(target.bare && target.operands.shaped());
    if everything {
        return found;
    }
    for (at, inst) in program.insts.iter().enumerate() {
        let lacks = of_inst(target, inst, at);
        let channel = target.operands.address_x_only && indexes_otherwise(inst);
        let channel = channel.then_some(Missing::AddressChannel(at));
        let modifiers = modifiers(target, inst, at);
        for new in lacks.into_iter().chain(channel).chain(modifiers) {
            if !found.iter().any(|m| m.is_like(&new)) {
                found.push(new);
            }
        }
    }
    if target.bare {
        for fault in shape_faults(target, program) {
            let new = Missing::Shape(fault.rule, fault.inst);
            if !found.iter().any(|m| m.is_like(&new)) {
                found.push(new);
            }
        }
    }
    found
}

fn of_inst(target: &Target, inst: &Inst, at: usize) -> Option<Missing> {
    let op = inst.op;
    if let Some(kind) = FlowKind::of(op)
        && !kind.taken(&target.flow)
    {
        return Some(Missing::Flow(kind, op, at));
    }
    // Control flow is not listed.
    if class(op) != Class::Flow && !target.opcodes.takes(op) {
        return Some(Missing::Opcode(op, at));
    }
    let listed = target.opcodes.native.is_some() && op != Opcode::Uif;
    (!target.arithmetic.integers && !listed && is_integer(op)).then_some(Missing::Integers(op, at))
}

/// Whether an opcode computes with integers. Loads of address registers do not count.
fn is_integer(op: Opcode) -> bool {
    let integer = |t: Ty| matches!(t, Ty::I | Ty::U | Ty::I64 | Ty::U64);
    let info = op.info();
    !matches!(op, Opcode::Arl | Opcode::Arr | Opcode::Ara)
        && (integer(info.dst_ty) || info.src_ty.iter().any(|t| integer(*t)))
}

/// The modifiers of an instruction that the target does not take.
fn modifiers(target: &Target, inst: &Inst, at: usize) -> impl Iterator<Item = Missing> {
    let o = &target.operands;
    let any = |has: fn(&tgsi::Src) -> bool| inst.srcs.iter().any(has);
    let found = [
        (o.no_abs && any(|s| s.abs), "|x|"),
        (o.no_negate && any(|s| s.neg), "-x"),
        (o.no_saturate && inst.sat, "_SAT"),
    ];
    found
        .into_iter()
        .filter(|f| f.0)
        .map(move |f| Missing::Modifier(f.1, at))
}

fn indexes_otherwise(inst: &Inst) -> bool {
    let dsts = inst.dsts.iter().map(|d| &d.reg);
    let mut regs = dsts.chain(inst.srcs.iter().map(|s| &s.reg));
    regs.any(|r| {
        let mut addrs = r.dim.iter().chain([&r.index]).filter_map(|i| i.addr);
        addrs.any(|a| a.comp != 0)
    })
}
