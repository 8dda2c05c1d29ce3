//! Seeded faults: correct placements broken in many ways. Exploration of all
//! concrete states says which breaks matter; the checker must agree on each.

use tgsi_regalloc::checker::{Cell, Step, Value, check_with_undefined};
use tgsi_regalloc::{Assignment, LiveRange, Options, Problem, allocate};

use crate::oracle;
use crate::program::{Program, Rng};

/// A placed program to break.
struct Case {
    program: Program,
    problem: Problem,
    assignment: Assignment,
    steps: Vec<Step>,
}

type Access = (Value, Cell);

impl Case {
    fn random(rng: &mut Rng) -> Case {
        let (size, vregs) = (8 + rng.below(30), 2 + rng.below(4));
        let mut program = Program::random(rng, size, vregs);
        program.arrays.clear();
        let problem = program.problem();
        let assignment = allocate(&problem, &Options::default()).expect("no limit");
        let steps = program.placed(&assignment);
        Case {
            program,
            problem,
            assignment,
            steps,
        }
    }

    /// A random read (or write) of the steps from `from` to `to`.
    fn access(&mut self, rng: &mut Rng, write: bool) -> Option<&mut Access> {
        let all = self
            .steps
            .iter_mut()
            .flat_map(|s| list(s, write).iter_mut());
        let mut all: Vec<&mut Access> = all.collect();
        (!all.is_empty()).then(|| all.swap_remove(rng.below(all.len())))
    }

    /// A random step that `wanted` takes.
    fn find(&self, rng: &mut Rng, wanted: impl Fn(&Step) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.steps.len())
            .filter(|&i| wanted(&self.steps[i]))
            .collect();
        (!all.is_empty()).then(|| all[rng.below(all.len())])
    }

    /// The step that closes the construct opened at `at`, and its `Else`.
    fn close(&self, at: usize) -> (Option<usize>, usize) {
        let (mut depth, mut middle) = (0, None);
        for (i, step) in self.steps.iter().enumerate().skip(at) {
            match step {
                Step::If | Step::Loop | Step::Switch => depth += 1,
                Step::EndIf | Step::EndLoop | Step::EndSwitch => depth -= 1,
                Step::Else if depth == 1 => middle = Some(i),
                _ => {}
            }
            if depth == 0 {
                return (middle, i);
            }
        }
        unreachable!("programs are well nested")
    }

    /// Replaces cells in the steps of a range.
    fn recell(&mut self, range: std::ops::Range<usize>, f: impl Fn(Value, Cell) -> Cell) {
        for step in &mut self.steps[range] {
            for write in [false, true] {
                list(step, write)
                    .iter_mut()
                    .for_each(|(v, c)| *c = f(*v, *c));
            }
        }
    }

    /// Allocates again from live ranges made wrong by `f`.
    fn reallocate(&mut self, mut f: impl FnMut(&mut LiveRange)) -> Option<()> {
        let mut problem = self.problem.clone();
        for lane in problem.vregs.iter_mut().flat_map(|v| &mut v.lanes) {
            f(&mut lane.live);
        }
        let options = Options {
            restarts: 8,
            ..Options::default()
        };
        self.assignment = allocate(&problem, &options).ok()?;
        self.steps = self.program.placed(&self.assignment);
        Some(())
    }
}

/// The reads or the writes of a step; empty for control.
fn list(step: &mut Step, write: bool) -> &mut [Access] {
    match step {
        Step::Inst { reads, writes } => {
            if write {
                writes
            } else {
                reads
            }
        }
        _ => &mut [],
    }
}

fn is_inst(step: &Step) -> bool {
    matches!(step, Step::Inst { .. })
}

fn writes_something(step: &Step) -> bool {
    matches!(step, Step::Inst { writes, .. } if !writes.is_empty())
}

fn other_channel(rng: &mut Rng, cell: Cell) -> Cell {
    Cell {
        chan: (cell.chan + 1 + rng.below(3) as u8) % 4,
        ..cell
    }
}

/// Breaks a case; `None` if it offers no place for this fault.
type Fault = fn(&mut Case, &mut Rng) -> Option<()>;

const FAULTS: &[(&str, Fault)] = &[
    ("read of a wrong channel", |case, rng| {
        let (r, mut fresh) = (rng.next(), Rng(rng.next()));
        let cell = &mut case.access(&mut Rng(r), false)?.1;
        *cell = other_channel(&mut fresh, *cell);
        Some(())
    }),
    ("read of a wrong temporary", |case, rng| {
        case.access(rng, false)?.1.temp += 1;
        Some(())
    }),
    ("write to a wrong channel", |case, rng| {
        let (r, mut fresh) = (rng.next(), Rng(rng.next()));
        let cell = &mut case.access(&mut Rng(r), true)?.1;
        *cell = other_channel(&mut fresh, *cell);
        Some(())
    }),
    ("write to a wrong temporary", |case, rng| {
        case.access(rng, true)?.1.temp += 1;
        Some(())
    }),
    ("read of a wrong value", |case, rng| {
        let value = case.access(rng, false)?.0;
        let access = case.access(rng, false)?;
        (access.0 != value).then(|| access.0 = value)
    }),
    ("write of a wrong value", |case, rng| {
        let value = case.access(rng, true)?.0;
        let access = case.access(rng, true)?;
        (access.0 != value).then(|| access.0 = value)
    }),
    ("swizzle of one instruction's reads rotated", |case, rng| {
        let at = case.find(
            rng,
            |s| matches!(s, Step::Inst { reads, .. } if reads.len() > 1),
        )?;
        let reads = list(&mut case.steps[at], false);
        let first = reads[0].1;
        for i in 1..reads.len() {
            reads[i - 1].1 = reads[i].1;
        }
        reads[reads.len() - 1].1 = first;
        Some(())
    }),
    (
        "channels of one instruction's writes swapped",
        |case, rng| {
            let at = case.find(
                rng,
                |s| matches!(s, Step::Inst { writes, .. } if writes.len() > 1),
            )?;
            let writes = list(&mut case.steps[at], true);
            let (a, b) = (writes[0].1, writes[1].1);
            (writes[0].1, writes[1].1) = (b, a);
            Some(())
        },
    ),
    ("two writes of one instruction to one cell", |case, rng| {
        let at = case.find(
            rng,
            |s| matches!(s, Step::Inst { writes, .. } if writes.len() > 1),
        )?;
        let writes = list(&mut case.steps[at], true);
        writes[1].1 = writes[0].1;
        Some(())
    }),
    ("write dropped", |case, rng| {
        let at = case.find(rng, writes_something)?;
        if let Step::Inst { writes, .. } = &mut case.steps[at] {
            writes.remove(rng.below(writes.len()));
        }
        Some(())
    }),
    ("instruction dropped", |case, rng| {
        let at = case.find(rng, writes_something)?;
        case.steps.remove(at);
        Some(())
    }),
    ("cell clobbered by a new value", |case, rng| {
        let cell = case.access(rng, false)?.1;
        let at = case.find(rng, is_inst)?;
        if let Step::Inst { writes, .. } = &mut case.steps[at] {
            writes.push((Value(1000), cell));
        }
        Some(())
    }),
    ("write mask too wide", |case, rng| {
        let at = case.find(rng, writes_something)?;
        if let Step::Inst { writes, .. } = &mut case.steps[at] {
            let temp = writes[0].1.temp;
            for chan in 0..4 {
                let cell = Cell { temp, chan };
                if writes.iter().all(|w| w.1 != cell) {
                    writes.push((Value(1000 + u32::from(chan)), cell));
                }
            }
        }
        Some(())
    }),
    ("neighbouring instructions exchanged", |case, rng| {
        let at = case.find(rng, is_inst)?;
        (is_inst(case.steps.get(at + 1)?)).then(|| case.steps.swap(at, at + 1))
    }),
    ("instruction moved to the end", |case, rng| {
        let at = case.find(rng, writes_something)?;
        let step = case.steps.remove(at);
        case.steps.push(step);
        Some(())
    }),
    ("register moved onto another", |case, rng| {
        let n = case.assignment.place.len();
        let (a, b) = (rng.below(n), rng.below(n));
        case.assignment.place[a].temp = case.assignment.place[b].temp;
        case.steps = case.program.placed(&case.assignment);
        (a != b).then_some(())
    }),
    ("all registers in one temporary", |case, _| {
        case.assignment.place.iter_mut().for_each(|p| p.temp = 0);
        case.steps = case.program.placed(&case.assignment);
        Some(())
    }),
    ("two lanes of a register in one channel", |case, rng| {
        let wide = case.program.shapes.iter().position(|s| s.pins.len() > 1)?;
        let chans = &mut case.assignment.place[wide].chans;
        let lane = 1 + rng.below(case.program.shapes[wide].pins.len() - 1);
        chans[lane] = chans[0];
        case.steps = case.program.placed(&case.assignment);
        Some(())
    }),
    ("value renamed from some step on", |case, rng| {
        let value = case.access(rng, false)?.0;
        let at = rng.below(case.steps.len());
        let end = case.steps.len();
        let away = Cell { temp: 77, chan: 0 };
        case.recell(at..end, |v, c| if v == value { away } else { c });
        Some(())
    }),
    ("temporaries exchanged in one arm", |case, rng| {
        let head = case.find(rng, |s| *s == Step::If)?;
        let (middle, end) = case.close(head);
        let end = middle.unwrap_or(end);
        case.recell(head..end, |_, c| Cell {
            temp: c.temp ^ 1,
            ..c
        });
        Some(())
    }),
    ("temporaries exchanged in a loop", |case, rng| {
        let head = case.find(rng, |s| *s == Step::Loop)?;
        let (_, end) = case.close(head);
        case.recell(head..end, |_, c| Cell {
            temp: c.temp ^ 1,
            ..c
        });
        Some(())
    }),
    ("channels reversed from some step on", |case, rng| {
        let (at, end) = (rng.below(case.steps.len()), case.steps.len());
        case.recell(at..end, |_, c| Cell {
            chan: 3 - c.chan,
            ..c
        });
        Some(())
    }),
    ("else dropped", |case, rng| {
        let at = case.find(rng, |s| *s == Step::Else)?;
        case.steps.remove(at);
        Some(())
    }),
    ("arm emptied", |case, rng| {
        let head = case.find(rng, |s| *s == Step::If)?;
        let (middle, end) = case.close(head);
        let end = middle.unwrap_or(end);
        let mut at = head;
        case.steps.retain(|step| {
            let inside = head < at && at < end;
            at += 1;
            !inside || !is_inst(step)
        });
        Some(())
    }),
    ("body made conditional", |case, rng| {
        let at = case.find(rng, writes_something)?;
        case.steps.insert(at + 1, Step::EndIf);
        case.steps.insert(at, Step::If);
        Some(())
    }),
    ("instruction repeated in a loop", |case, rng| {
        let at = case.find(rng, writes_something)?;
        let tail = [Step::If, Step::Break, Step::EndIf, Step::EndLoop];
        case.steps.splice(at + 1..at + 1, tail);
        case.steps.insert(at, Step::Loop);
        Some(())
    }),
    ("break turned into continue", |case, rng| {
        let at = case.find(rng, |s| *s == Step::Break)?;
        let count = |wanted| case.steps[..at].iter().filter(|s| **s == wanted).count();
        let inside = count(Step::Loop) > count(Step::EndLoop);
        inside.then(|| case.steps[at] = Step::Continue)
    }),
    ("early way out of a loop", |case, rng| {
        let head = case.find(rng, |s| *s == Step::Loop)?;
        case.steps
            .splice(head + 1..head + 1, [Step::If, Step::Break, Step::EndIf]);
        Some(())
    }),
    ("case dropped", |case, rng| {
        let at = case.find(rng, |s| matches!(s, Step::Case { .. }))?;
        case.steps.remove(at);
        Some(())
    }),
    ("default turned into a case", |case, rng| {
        let at = case.find(rng, |s| *s == Step::Case { default: true })?;
        case.steps[at] = Step::Case { default: false };
        Some(())
    }),
    ("case that runs into the next", |case, rng| {
        let at = case.find(rng, |s| *s == Step::Break)?;
        case.steps.remove(at);
        Some(())
    }),
    ("temporaries exchanged in a switch", |case, rng| {
        let head = case.find(rng, |s| *s == Step::Switch)?;
        let (_, end) = case.close(head);
        case.recell(head..end, |_, c| Cell {
            temp: c.temp ^ 1,
            ..c
        });
        Some(())
    }),
    ("live range cut at its end", |case, rng| {
        case.reallocate(|live| {
            if let Some(last) = live.segs.last_mut()
                && rng.chance(50)
                && last.1 - last.0 > 2
            {
                last.1 -= 2;
            }
        })
    }),
    ("live range begun late", |case, rng| {
        case.reallocate(|live| {
            if let Some(first) = live.segs.first_mut()
                && rng.chance(50)
                && first.1 - first.0 > 2
            {
                first.0 += 2;
            }
        })
    }),
    ("segment lost", |case, rng| {
        case.reallocate(|live| {
            if live.segs.len() > 1 && rng.chance(70) {
                live.segs.remove(rng.below(live.segs.len()));
            }
        })
    }),
    ("hole in the middle", |case, _| {
        case.reallocate(|live| {
            *live = LiveRange::from_segments(live.segs.iter().flat_map(|&(from, to)| {
                let third = (to - from) / 3;
                [(from, from + third.max(1)), (to - third.max(1), to)]
            }));
        })
    }),
    ("writes without a live range of their own", |case, _| {
        case.reallocate(|live| live.segs.retain(|s| s.1 - s.0 > 1))
    }),
];

/// Cases in which a fault of each kind must matter.
const HARMFUL: u32 = 40;

#[test]
fn every_fault_that_matters_is_caught() {
    let mut names: Vec<&str> = FAULTS.iter().map(|f| f.0).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FAULTS.len(), "two kinds of one name");
    assert_eq!(FAULTS.len(), 37, "kinds of faults");
    let (mut all, mut caught) = (0, 0);
    for (kind, (name, fault)) in FAULTS.iter().enumerate() {
        let mut rng = Rng(100 + kind as u64);
        let (mut harmful, mut found, mut harmless) = (0, 0, 0);
        for _ in 0..6000 {
            let mut case = Case::random(&mut rng);
            let undefined = case.program.undefined();
            if fault(&mut case, &mut rng).is_none() {
                continue;
            }
            let Some(wrong) = oracle::is_wrong(&case.steps, &undefined, 5_000) else {
                continue;
            };
            let violations = check_with_undefined(&case.steps, &undefined);
            if wrong {
                harmful += 1;
                found += u32::from(!violations.is_empty());
            } else {
                harmless += 1;
                let steps = &case.steps;
                assert!(violations.is_empty(), "{name}: {steps:?}\n{violations:?}");
            }
            if harmful >= HARMFUL {
                break;
            }
        }
        println!("{name}: {found} of {harmful} harmful caught; {harmless} harmless, none reported");
        assert_eq!(found, harmful, "{name}: not all are caught");
        assert!(harmful >= 2, "{name}: only {harmful} harmful cases");
        all += harmful;
        caught += found;
    }
    let share = 100.0 * f64::from(caught) / f64::from(all);
    println!(
        "{} kinds of faults: {caught} of {all} caught, {share} %",
        FAULTS.len()
    );
    assert_eq!(caught, all);
}
