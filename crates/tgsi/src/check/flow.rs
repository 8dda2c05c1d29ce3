//! Nesting, labels, and the end of the program.

use super::{Inst, Opcode, Program, Sink, codes};
use crate::ast::{Span, Stage};
use crate::opcode::Effect;
use crate::printer::branch_labels;

/// What encloses an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    If,
    Else,
    Loop,
    For,
    Rep,
    Switch,
    Sub,
}

const REGIONS: usize = 7;

/// The regions that are open, and how many of each kind.
#[derive(Default)]
struct Open {
    stack: Vec<(Region, Span, Opcode)>,
    count: [usize; REGIONS],
}

impl Open {
    fn push(&mut self, region: Region, inst: &Inst) {
        self.count[region as usize] += 1;
        self.stack.push((region, inst.span, inst.op));
    }

    fn pop(&mut self) -> Option<(Region, Span, Opcode)> {
        let top = self.stack.pop()?;
        self.count[top.0 as usize] -= 1;
        Some(top)
    }

    fn inside(&self, regions: &[Region]) -> bool {
        regions.iter().any(|&r| self.count[r as usize] > 0)
    }

    /// Closes the innermost of `regions`. What is still open inside of it is reported.
    fn close(&mut self, regions: &[Region], inst: &Inst, sink: &mut Sink) {
        if !self.inside(regions) {
            return unopened(inst, sink);
        }
        while let Some((region, span, op)) = self.pop() {
            if regions.contains(&region) {
                return;
            }
            unclosed(op, span, sink);
        }
    }
}

fn unopened(inst: &Inst, sink: &mut Sink) {
    sink.error(codes::UNOPENED, inst.span, || {
        (format!("{} closes nothing", inst.op.name()), None)
    });
}

fn unclosed(op: Opcode, span: Span, sink: &mut Sink) {
    sink.error(codes::UNCLOSED, span, || {
        (format!("{} is never closed", op.name()), None)
    });
}

/// Checks the nesting of flow, the labels and the END.
pub(super) fn check(program: &Program, sink: &mut Sink) {
    let mut open = Open::default();
    let (mut ends, mut labels) = (Ends::default(), false);
    for inst in &program.insts {
        if inst.op.info().effect != Effect::Flow {
            continue;
        }
        step(inst, &mut open, sink);
        ends.note(inst);
        labels |= inst.label.is_some() || matches!(inst.op, Opcode::Cal | Opcode::Callnz);
    }
    while let Some((_, span, op)) = open.pop() {
        unclosed(op, span, sink);
    }
    check_end(program, ends, sink);
    if labels {
        check_labels(&program.insts, sink);
    }
}

/// What is needed of the END instructions.
#[derive(Default)]
struct Ends {
    any: bool,
    second: Option<Span>,
    subroutines: bool,
}

impl Ends {
    fn note(&mut self, inst: &Inst) {
        if inst.op == Opcode::End {
            self.second = self.second.or(self.any.then_some(inst.span));
            self.any = true;
        }
        self.subroutines |= inst.op == Opcode::Bgnsub;
    }
}

fn step(inst: &Inst, open: &mut Open, sink: &mut Sink) {
    use Region::{Else, For, If, Loop, Rep, Sub, Switch};
    match inst.op {
        Opcode::If | Opcode::Uif | Opcode::Ifc => open.push(If, inst),
        Opcode::Else => match open.stack.last() {
            Some((If, ..)) => {
                open.pop();
                open.push(Else, inst);
            }
            _ => unopened(inst, sink),
        },
        Opcode::Endif => open.close(&[If, Else], inst, sink),
        Opcode::Bgnloop => open.push(Loop, inst),
        Opcode::Endloop => open.close(&[Loop], inst, sink),
        Opcode::Bgnfor => open.push(For, inst),
        Opcode::Endfor => open.close(&[For], inst, sink),
        Opcode::Rep => open.push(Rep, inst),
        Opcode::Endrep => open.close(&[Rep], inst, sink),
        Opcode::Switch => open.push(Switch, inst),
        Opcode::Endswitch => open.close(&[Switch], inst, sink),
        Opcode::Bgnsub => {
            if !open.stack.is_empty() {
                outside(inst, "stands inside of another region", sink);
            }
            open.push(Sub, inst);
        }
        Opcode::Endsub => open.close(&[Sub], inst, sink),
        Opcode::Brk if !open.inside(&[Loop, For, Rep, Switch]) => {
            outside(inst, "is in no loop or SWITCH", sink)
        }
        Opcode::Cont | Opcode::Breakc if !open.inside(&[Loop, For, Rep]) => {
            outside(inst, "is in no loop", sink)
        }
        Opcode::Case | Opcode::Default if !open.inside(&[Switch]) => {
            outside(inst, "is in no SWITCH", sink)
        }
        _ => {}
    }
}

fn outside(inst: &Inst, what: &str, sink: &mut Sink) {
    sink.error(codes::OUTSIDE, inst.span, || {
        (format!("{} {what}", inst.op.name()), None)
    });
}

fn check_end(program: &Program, ends: Ends, sink: &mut Sink) {
    let last = program.insts.last().map_or(Span::default(), |i| i.span);
    match (ends.any, ends.second) {
        (_, Some(second)) => sink.error(codes::TWO_ENDS, second, || {
            ("there is another END before".into(), None)
        }),
        (true, None) => {}
        // Old compute text consists of subroutines.
        (false, None) if program.stage == Stage::Comp && ends.subroutines => {
            sink.warning(codes::NO_END, last, || {
                (
                    "there is no END; the program is made of subroutines".into(),
                    None,
                )
            });
        }
        (false, None) => sink.error(codes::NO_END, last, || ("there is no END".into(), None)),
    }
}

fn check_labels(insts: &[Inst], sink: &mut Sink) {
    let mut stale = None;
    let mut count = 0;
    for (at, target) in branch_labels(insts) {
        let inst = &insts[at];
        let is_loop = matches!(inst.op, Opcode::Bgnloop | Opcode::Endloop);
        if !is_loop && inst.label.is_some_and(|l| l != target) {
            stale = stale.or(Some(inst.span));
            count += 1;
        }
    }
    if let Some(span) = stale {
        sink.warning(codes::STALE_LABEL, span, || {
            (
                format!("branch labels that do not agree with the nesting: {count}"),
                Some("the nesting decides".into()),
            )
        });
    }
    for inst in insts
        .iter()
        .filter(|i| matches!(i.op, Opcode::Cal | Opcode::Callnz))
    {
        let target = inst.label.and_then(|l| insts.get(usize::try_from(l).ok()?));
        if target.is_none_or(|t| t.op != Opcode::Bgnsub) {
            sink.error(codes::BAD_CALL, inst.span, || {
                let hint = "its label is the position of a BGNSUB, counted from 0";
                (
                    format!("{} names no subroutine", inst.op.name()),
                    Some(hint.into()),
                )
            });
        }
    }
}
