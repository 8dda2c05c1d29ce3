//! Structured control flow over the lanes of a quad.
//!
//! One mask says which lanes execute. Each open construct has a frame with the lanes
//! that go on behind it (`merge`) and the lanes that wait inside it (`alt`). A lane
//! that leaves several constructs at once, by `BRK`, `CONT` or `RET`, is taken out of
//! the frames in between.

use tgsi::{Opcode, Program};

use crate::code::Code;

/// An open construct.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    /// Lanes that go on behind the construct.
    pub(crate) merge: u8,
    /// Lanes that wait: for `ELSE`, for the next iteration, for a `CASE`.
    pub(crate) alt: u8,
    /// Instructions from the construct's first to its last.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum FrameKind {
    If,
    /// `REP` counts what is left for each lane.
    Loop([i64; 4]),
    Switch {
        value: [u32; 4],
        /// The second pass, for lanes that no `CASE` took.
        again: bool,
    },
    Call(u32),
}

impl Frame {
    fn is_break_target(&self) -> bool {
        matches!(self.kind, FrameKind::Loop(_) | FrameKind::Switch { .. })
    }
    fn is_loop(&self) -> bool {
        matches!(self.kind, FrameKind::Loop(_))
    }
    fn is_call(&self) -> bool {
        matches!(self.kind, FrameKind::Call(_))
    }
}

/// The lanes of a quad and where they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) pc: u32,
    pub(crate) exec: u8,
    pub(crate) frames: Vec<Frame>,
    pub(crate) done: bool,
    /// Calls nested too deeply.
    pub(crate) overflow: bool,
}

/// Deepest nesting of frames; only endless recursion gets there.
const MAX_FRAMES: usize = 1024;

/// What a flow instruction's operands say, lane by lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    /// Lanes whose condition holds.
    pub(crate) taken: u8,
    /// The value of a `SWITCH` or `CASE`.
    pub(crate) value: [u32; 4],
    /// Iterations of a `REP`.
    pub(crate) count: [i64; 4],
}

impl Flow {
    fn push(&mut self, kind: FrameKind, alt: u8, first: u32, last: u32) {
        self.frames.push(Frame {
            kind,
            merge: self.exec,
            alt,
            first,
            last,
        });
        if self.frames.len() > MAX_FRAMES {
            self.overflow = true;
            self.done = true;
        }
    }

    /// Takes `lanes` out of the frames above number `keep`.
    fn leave(&mut self, keep: usize, lanes: u8) {
        for frame in &mut self.frames[keep..] {
            frame.merge &= !lanes;
            frame.alt &= !lanes;
        }
        self.exec &= !lanes;
    }

    fn find(&self, target: impl Fn(&Frame) -> bool) -> Option<usize> {
        self.frames.iter().rposition(target)
    }

    /// The innermost frame above the current call that `target` accepts.
    fn find_in_call(&self, target: impl Fn(&Frame) -> bool) -> Option<usize> {
        let at = self.find(|f| target(f) || f.is_call())?;
        (!self.frames[at].is_call()).then_some(at)
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.exec = frame.merge;
        Some(frame)
    }

    fn brk(&mut self, lanes: u8) {
        if let Some(at) = self.find_in_call(Frame::is_break_target) {
            self.leave(at + 1, lanes);
            self.exec &= !lanes;
            // Inside the construct they wait for nothing any more.
            self.frames[at].alt &= !lanes;
        }
    }

    fn cont(&mut self) {
        let lanes = self.exec;
        if let Some(at) = self.find_in_call(Frame::is_loop) {
            self.leave(at + 1, lanes);
            self.frames[at].alt |= lanes;
        }
    }

    fn ret(&mut self) {
        let lanes = self.exec;
        let keep = self.find(Frame::is_call).map_or(0, |at| at + 1);
        self.leave(keep, lanes);
        let waiting = self.frames.iter().fold(0, |m, f| m | f.merge | f.alt);
        if waiting == 0 {
            self.done = true;
        }
    }

    /// Executes the flow instruction at `pc` and moves `pc` on.
    pub(crate) fn step(&mut self, code: &Code, operands: Operands) {
        let here = self.pc;
        let Some(inst) = code.insts.get(here as usize) else {
            self.done = true;
            return;
        };
        let jump = inst.jump;
        self.pc = here + 1;
        match inst.op {
            Opcode::If | Opcode::Uif | Opcode::Ifc => {
                let taken = operands.taken & self.exec;
                let last = match code.insts.get(jump as usize) {
                    Some(els) if els.op == Opcode::Else => els.jump,
                    _ => jump,
                };
                self.push(FrameKind::If, self.exec & !taken, here, last);
                self.exec = taken;
                if taken == 0 {
                    self.pc = jump;
                }
            }
            Opcode::Else => {
                if let Some(frame) = self.frames.last_mut() {
                    self.exec = std::mem::take(&mut frame.alt);
                }
                if self.exec == 0 {
                    self.pc = jump;
                }
            }
            Opcode::Endif => {
                self.pop();
            }
            Opcode::Bgnloop | Opcode::Rep | Opcode::Bgnfor => {
                self.begin_loop(inst.op, here, jump, operands)
            }
            Opcode::Endloop | Opcode::Endrep | Opcode::Endfor => {
                self.end_loop(inst.op, jump, operands)
            }
            Opcode::Brk => self.brk(self.exec),
            Opcode::Breakc => self.brk(self.exec & operands.taken),
            Opcode::Cont => self.cont(),
            Opcode::Switch => {
                let value = operands.value;
                let waiting = self.exec;
                self.push(
                    FrameKind::Switch {
                        value,
                        again: false,
                    },
                    waiting,
                    here,
                    jump,
                );
                self.exec = 0;
                if waiting == 0 {
                    self.pc = jump;
                }
            }
            Opcode::Case => self.case(operands.value),
            Opcode::Default => self.default(inst.aux != 0),
            Opcode::Endswitch => self.end_switch(code, here),
            Opcode::Cal => self.call(self.exec, here + 1, jump),
            Opcode::Callnz => self.call(self.exec & operands.taken, here + 1, jump),
            Opcode::Ret => self.ret(),
            Opcode::Bgnsub => self.pc = jump + 1,
            Opcode::Endsub => match self.pop() {
                Some(Frame {
                    kind: FrameKind::Call(back),
                    ..
                }) => self.pc = back,
                _ => self.done = true,
            },
            Opcode::Bra => self.branch(here, jump),
            _ => self.done = true,
        }
    }

    fn begin_loop(&mut self, op: Opcode, here: u32, end: u32, operands: Operands) {
        self.push(FrameKind::Loop(operands.count), 0, here, end);
        if op != Opcode::Bgnloop {
            self.exec &= operands.taken;
        }
        if self.exec == 0 {
            self.pop();
            self.pc = end + 1;
        }
    }

    fn end_loop(&mut self, op: Opcode, begin: u32, operands: Operands) {
        let Some(frame) = self.frames.last_mut() else {
            self.done = true;
            return;
        };
        self.exec |= std::mem::take(&mut frame.alt);
        if let (Opcode::Endrep, FrameKind::Loop(left)) = (op, &mut frame.kind) {
            for (lane, n) in left.iter_mut().enumerate() {
                if self.exec >> lane & 1 != 0 {
                    *n -= 1;
                    if *n <= 0 {
                        self.exec &= !(1 << lane);
                    }
                }
            }
        }
        if op == Opcode::Endfor {
            self.exec &= operands.taken;
        }
        if self.exec != 0 {
            self.pc = begin + 1;
        } else {
            self.pop();
        }
    }

    /// The lanes that `ENDFOR` and `ENDREP` act on: those inside, and those that continued.
    pub(crate) fn at_loop_end(&self) -> u8 {
        self.exec | self.frames.last().map_or(0, |f| f.alt)
    }

    fn case(&mut self, wanted: [u32; 4]) {
        if let Some(frame) = self.frames.last_mut()
            && let FrameKind::Switch {
                value,
                again: false,
            } = frame.kind
        {
            let hit = (0..4)
                .filter(|l| value[*l] == wanted[*l])
                .fold(0u8, |m, l| m | 1 << l);
            self.exec |= hit & frame.alt;
            frame.alt &= !hit;
        }
    }

    fn default(&mut self, case_follows: bool) {
        if let Some(frame) = self.frames.last_mut()
            && !case_follows
        {
            self.exec |= std::mem::take(&mut frame.alt);
        }
    }

    fn end_switch(&mut self, code: &Code, here: u32) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let default = code.insts.get(frame.first as usize).map_or(here, |s| s.aux);
        let waiting = std::mem::take(&mut frame.alt);
        if let FrameKind::Switch { again, .. } = &mut frame.kind
            && !*again
            && waiting != 0
            && default != here
        {
            *again = true;
            self.exec = waiting;
            self.pc = default + 1;
            return;
        }
        self.pop();
    }

    fn call(&mut self, lanes: u8, back: u32, target: u32) {
        if lanes == 0 {
            return;
        }
        self.push(FrameKind::Call(back), 0, 0, u32::MAX);
        self.exec = lanes;
        self.pc = target + 1;
    }

    /// A jump of all executing lanes; exact when one lane runs at a time, as programs with
    /// `BRA` do.
    fn branch(&mut self, here: u32, target: u32) {
        let outside = |f: &Frame| target <= f.first || target > f.last;
        while let Some(frame) = self.frames.last() {
            if frame.is_call() || !outside(frame) {
                break;
            }
            self.frames.pop();
        }
        self.pc = if target == u32::MAX { here + 1 } else { target };
    }
}

/// Pairs the ends of constructs by nesting, and calls and branches by label.
pub(crate) fn link(code: &mut Code, program: &Program) {
    let mut open: Vec<usize> = Vec::new();
    let mut has_end = false;
    for at in 0..code.insts.len() {
        match code.insts[at].op {
            Opcode::If | Opcode::Uif | Opcode::Ifc => open.push(at),
            Opcode::Bgnloop | Opcode::Rep | Opcode::Bgnfor | Opcode::Switch | Opcode::Bgnsub => {
                open.push(at)
            }
            Opcode::Else => {
                link_pair(code, &mut open, at);
                open.push(at);
            }
            Opcode::Endif | Opcode::Endloop | Opcode::Endrep | Opcode::Endfor | Opcode::Endsub => {
                link_pair(code, &mut open, at);
            }
            Opcode::Endswitch => link_switch(code, &mut open, at),
            Opcode::Case | Opcode::Default => open.push(at),
            Opcode::End => has_end = true,
            _ => {}
        }
    }
    code.malformed |= !open.is_empty();
    link_labels(code, program);
    let starts_with_sub = code.insts.first().is_some_and(|i| i.op == Opcode::Bgnsub);
    code.entry = u32::from(starts_with_sub && !has_end);
}

fn opens(end: Opcode) -> &'static [Opcode] {
    match end {
        Opcode::Else => &[Opcode::If, Opcode::Uif, Opcode::Ifc],
        Opcode::Endif => &[Opcode::If, Opcode::Uif, Opcode::Ifc, Opcode::Else],
        Opcode::Endloop => &[Opcode::Bgnloop],
        Opcode::Endrep => &[Opcode::Rep],
        Opcode::Endfor => &[Opcode::Bgnfor],
        Opcode::Endsub => &[Opcode::Bgnsub],
        _ => &[],
    }
}

fn link_pair(code: &mut Code, open: &mut Vec<usize>, end: usize) {
    let wanted = opens(code.insts[end].op);
    match open.last() {
        Some(&begin) if wanted.contains(&code.insts[begin].op) => {
            open.pop();
            code.insts[begin].jump = end as u32;
            code.insts[end].jump = begin as u32;
        }
        _ => code.malformed = true,
    }
}

fn link_switch(code: &mut Code, open: &mut Vec<usize>, end: usize) {
    let mut default = end;
    let mut case_follows = false;
    while let Some(at) = open.pop() {
        match code.insts[at].op {
            Opcode::Case => case_follows = true,
            Opcode::Default => {
                default = at;
                code.insts[at].aux = u32::from(case_follows);
            }
            Opcode::Switch => {
                code.insts[at].jump = end as u32;
                code.insts[at].aux = default as u32;
                return;
            }
            _ => break,
        }
    }
    code.malformed = true;
}

fn link_labels(code: &mut Code, program: &Program) {
    let subs: Vec<u32> = (0..code.insts.len())
        .filter(|i| code.insts[*i].op == Opcode::Bgnsub)
        .map(|i| i as u32)
        .collect();
    for (inst, syntax) in code.insts.iter_mut().zip(&program.insts) {
        let label = syntax.label.unwrap_or(0);
        match inst.op {
            // A label may be stale by a few instructions: the next subroutine is meant.
            Opcode::Cal | Opcode::Callnz => {
                match subs.iter().find(|s| **s >= label).or(subs.last()) {
                    Some(sub) => inst.jump = *sub,
                    None => code.malformed = true,
                }
            }
            Opcode::Bra => inst.jump = label,
            _ => {}
        }
    }
    code.malformed |= program
        .insts
        .iter()
        .any(|i| i.op == Opcode::Bra && i.label.is_none());
}

/// Whether a program jumps freely, so that its lanes must run one at a time.
pub(crate) fn has_branches(program: &Program) -> bool {
    program.insts.iter().any(|i| i.op == Opcode::Bra)
}
