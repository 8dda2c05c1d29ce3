//! Random structured programs over virtual registers, and their live ranges by
//! plain data flow over single steps.

use smallvec::SmallVec;
use tgsi_regalloc::checker::{Cell, Step, Value};
use tgsi_regalloc::{Array, Assignment, Lane, LiveRange, Problem, VReg};

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.next() % n as u64) as usize
        }
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A step before placement; a value is `4 * vreg + lane`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Inst { reads: Vec<u32>, writes: Vec<u32> },
    Control(Step),
}

/// The shape of a register.
#[derive(Clone, Debug)]
pub struct Shape {
    pub pins: Vec<Option<u8>>,
    pub pair: u8,
    pub precise: bool,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub lines: Vec<Line>,
    pub shapes: Vec<Shape>,
    pub arrays: Vec<Array>,
}

/// At most this many registers: 4 lanes each fill a `u128`.
pub const MAX_VREGS: usize = 32;

/// Where each step leads; `lines.len()` is the end.
pub fn successors(lines: &[Line]) -> Vec<Vec<usize>> {
    let mut next: Vec<Vec<usize>> = (0..lines.len()).map(|i| vec![i + 1]).collect();
    let mut open: Vec<usize> = Vec::new();
    // Per open loop or switch: head, breaks, and whether it is a loop.
    let mut loops: Vec<(usize, Vec<usize>, bool)> = Vec::new();
    let mut defaults: Vec<bool> = Vec::new();
    let mut elses: Vec<Option<usize>> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Line::Control(step) = line else { continue };
        match step {
            Step::If => {
                open.push(i);
                elses.push(None);
            }
            Step::Else => {
                *elses.last_mut().unwrap() = Some(i);
                next[*open.last().unwrap()].push(i + 1);
            }
            Step::EndIf => {
                let head = open.pop().unwrap();
                match elses.pop().unwrap() {
                    Some(at) => next[at] = vec![i],
                    None => next[head].push(i),
                }
            }
            Step::Switch => {
                loops.push((i, Vec::new(), false));
                defaults.push(false);
                next[i].clear();
            }
            Step::Case { default } => {
                *defaults.last_mut().unwrap() |= default;
                next[loops.last().unwrap().0].push(i);
            }
            Step::EndSwitch => {
                let (head, breaks, _) = loops.pop().unwrap();
                if !defaults.pop().unwrap() {
                    next[head].push(i);
                }
                for b in breaks {
                    next[b] = vec![i];
                }
            }
            Step::Loop => loops.push((i, Vec::new(), true)),
            Step::EndLoop => {
                let (head, breaks, _) = loops.pop().unwrap();
                next[i] = vec![head];
                for b in breaks {
                    next[b] = vec![i + 1];
                }
            }
            Step::Break => loops.last_mut().unwrap().1.push(i),
            Step::Continue => {
                let around = loops.iter().rev().find(|l| l.2);
                next[i] = vec![around.unwrap().0];
            }
            Step::Return => next[i] = vec![lines.len()],
            Step::Inst { .. } => unreachable!("instructions are not control"),
        }
    }
    next
}

fn bits(values: &[u32]) -> u128 {
    values.iter().fold(0, |set, &v| set | 1 << v)
}

impl Program {
    /// About `size` steps.
    pub fn random(rng: &mut Rng, size: usize, vregs: usize) -> Program {
        let vregs = vregs.clamp(1, MAX_VREGS);
        let shapes: Vec<Shape> = (0..vregs).map(|_| Shape::random(rng)).collect();
        let arrays = (0..if rng.chance(15) { 1 + rng.below(2) } else { 0 })
            .map(|i| Array {
                len: 1 + rng.below(3) as u32,
                id: i as u32,
            })
            .collect();
        let mut program = Program {
            lines: Vec::new(),
            shapes,
            arrays,
        };
        let mut open: Vec<Step> = Vec::new();
        while program.lines.len() < size || !open.is_empty() {
            let closing = program.lines.len() >= size;
            let loops = open.contains(&Step::EndLoop);
            let exits = loops || open.contains(&Step::EndSwitch);
            let innermost = open.last() == Some(&Step::EndSwitch);
            let roll = if closing {
                17 + rng.below(3)
            } else {
                rng.below(100)
            };
            let control = match roll {
                0..=6 if open.len() < 5 => Some(Step::If),
                7..=9 if open.len() < 5 => Some(Step::Loop),
                10 if loops => Some(Step::Continue),
                11..=13 if exits => Some(Step::Break),
                14 if rng.chance(20) => Some(Step::Return),
                15..=22 => open.pop(),
                23..=24 if open.len() < 5 => Some(Step::Switch),
                25..=34 if innermost => Some(Step::Case {
                    default: program.has_no_default() && rng.chance(30),
                }),
                _ => None,
            };
            match control {
                Some(Step::If) => {
                    program.inst(rng, 2, 0);
                    open.push(if rng.chance(50) {
                        Step::Else
                    } else {
                        Step::EndIf
                    });
                    program.lines.push(Line::Control(Step::If));
                }
                Some(Step::Switch) => {
                    program.inst(rng, 2, 0);
                    open.push(Step::EndSwitch);
                    program.lines.push(Line::Control(Step::Switch));
                    let default = rng.chance(20);
                    program.lines.push(Line::Control(Step::Case { default }));
                }
                Some(Step::Loop) => {
                    open.push(Step::EndLoop);
                    program.lines.push(Line::Control(Step::Loop));
                }
                Some(step) => {
                    if step == Step::Else {
                        open.push(Step::EndIf);
                    }
                    if step == Step::EndLoop && rng.chance(80) {
                        // Most loops have a way out.
                        program.lines.push(Line::Control(Step::If));
                        program.lines.push(Line::Control(Step::Break));
                        program.lines.push(Line::Control(Step::EndIf));
                    }
                    program.lines.push(Line::Control(step));
                }
                None => {
                    let writes = if rng.chance(8) { 2 } else { 1 };
                    program.inst(rng, 3, writes);
                }
            }
        }
        program
    }

    /// Whether the innermost construct, a switch, has no default so far.
    fn has_no_default(&self) -> bool {
        let mut depth = 0;
        for line in self.lines.iter().rev() {
            match line {
                Line::Control(Step::EndSwitch) => depth += 1,
                Line::Control(Step::Switch) if depth == 0 => break,
                Line::Control(Step::Switch) => depth -= 1,
                Line::Control(Step::Case { default: true }) if depth == 0 => return false,
                _ => {}
            }
        }
        true
    }

    fn inst(&mut self, rng: &mut Rng, reads: usize, writes: usize) {
        let lane = |rng: &mut Rng, shapes: &[Shape]| {
            let v = rng.below(shapes.len());
            (v, shapes[v].pins.len())
        };
        let mut r = Vec::new();
        for _ in 0..rng.below(reads + 1) {
            let (v, width) = lane(rng, &self.shapes);
            (0..width)
                .filter(|_| rng.chance(60))
                .for_each(|l| r.push((4 * v + l) as u32));
        }
        let mut w: Vec<u32> = Vec::new();
        for _ in 0..writes {
            let (v, width) = lane(rng, &self.shapes);
            for l in 0..width {
                let value = (4 * v + l) as u32;
                if rng.chance(80) && !w.contains(&value) {
                    w.push(value);
                }
            }
        }
        self.lines.push(Line::Inst {
            reads: r,
            writes: w,
        });
    }

    /// The values live before and after each step.
    fn liveness(&self) -> (Vec<u128>, Vec<u128>) {
        let next = successors(&self.lines);
        let n = self.lines.len();
        let (mut before, mut after) = (vec![0u128; n + 1], vec![0u128; n]);
        loop {
            let mut changed = false;
            for i in (0..n).rev() {
                let out = next[i].iter().fold(0, |set, &s| set | before[s]);
                let into = match &self.lines[i] {
                    Line::Inst { reads, writes } => out & !bits(writes) | bits(reads),
                    Line::Control(_) => out,
                };
                changed |= out != after[i] || into != before[i];
                (before[i], after[i]) = (into, out);
            }
            if !changed {
                return (before, after);
            }
        }
    }

    /// The values read before they are written on some path.
    pub fn undefined(&self) -> Vec<Value> {
        let live = self.liveness().0[0];
        (0..128).filter(|v| live >> v & 1 == 1).map(Value).collect()
    }

    pub fn problem(&self) -> Problem {
        let (before, after) = self.liveness();
        let live = |value: u32| {
            let mut points = Vec::new();
            for (i, line) in self.lines.iter().enumerate() {
                let written = matches!(line, Line::Inst { writes, .. } if writes.contains(&value));
                let i32 = i as u32;
                if before[i] >> value & 1 == 1 {
                    points.push((2 * i32, 2 * i32 + 1));
                }
                if written || after[i] >> value & 1 == 1 {
                    points.push((2 * i32 + 1, 2 * i32 + 2));
                }
            }
            LiveRange::from_segments(points)
        };
        let vregs = self.shapes.iter().enumerate().map(|(v, shape)| VReg {
            lanes: (shape.pins.iter().enumerate())
                .map(|(l, &pinned)| Lane {
                    live: live((4 * v + l) as u32),
                    pinned,
                })
                .collect(),
            precise: shape.precise,
            pair: shape.pair,
        });
        Problem {
            vregs: vregs.collect(),
            arrays: self.arrays.clone(),
        }
    }

    /// The program in cells.
    pub fn placed(&self, assignment: &Assignment) -> Vec<Step> {
        let cell = |&value: &u32| {
            let placed = assignment.place[value as usize / 4];
            (
                Value(value),
                Cell {
                    temp: placed.temp,
                    chan: placed.chans[value as usize % 4],
                },
            )
        };
        let line = |line: &Line| match line {
            Line::Inst { reads, writes } => Step::Inst {
                reads: reads.iter().map(cell).collect::<SmallVec<_>>(),
                writes: writes.iter().map(cell).collect::<SmallVec<_>>(),
            },
            Line::Control(step) => step.clone(),
        };
        self.lines.iter().map(line).collect()
    }
}

impl Shape {
    fn random(rng: &mut Rng) -> Shape {
        let width = match rng.below(100) {
            0..=39 => 1,
            40..=54 => 2,
            55..=79 => 3,
            _ => 4,
        };
        let mut pins = vec![None; width];
        let mut pair = 0;
        if width >= 2 && rng.chance(15) {
            pair = 1;
            if width == 4 {
                pair |= rng.below(2) as u8 * 4;
            }
        } else if rng.chance(20) {
            // As a texture result: lane i in channel i, or one lane anywhere.
            match width {
                1 => pins[0] = Some(rng.below(4) as u8),
                _ => pins
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, p)| *p = Some(i as u8)),
            }
        }
        Shape {
            pins,
            pair,
            precise: rng.chance(25),
        }
    }
}
