//! Control flow and effects of two functions, matched in order.

use rustc_hash::FxHashMap;
use tgsi::Opcode;
use tgsi_ir::{
    Body, FUNCTION, Function, If, Item, Loop, MultiKind, RegionId, Switch, VOp, Value, ix,
};

/// What must hold of a root.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    /// The first values are those of the source.
    Equal(Vec<(Value, Value)>),
    /// The tests of discards: the same ones, in any order and number.
    Tests(Vec<Value>, Vec<Value>),
    /// Nothing of the other function stands against it.
    Unmatched,
}

/// What one of the functions lets be seen, and what the other has in its place.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// For people.
    pub what: String,
    pub goal: Goal,
}

enum Kind<'a> {
    /// A read: seen only by what reads it.
    Read(Value),
    /// A branch without effects: seen only by its phis.
    Selection(&'a If, Vec<Step<'a>>, Vec<Step<'a>>),
    Effect(Value),
    /// KILL_IFs with nothing but reads between them.
    Discards(Vec<Value>),
    Branch(&'a If, Vec<Step<'a>>, Vec<Step<'a>>),
    Loop(&'a Loop, Vec<Step<'a>>),
    Switch(&'a Switch, Vec<Vec<Step<'a>>>),
    Depart(RegionId, &'a [Value]),
    Repeat(RegionId, &'a [Value]),
}

struct Step<'a> {
    kind: Kind<'a>,
    /// The same for the two steps of a match, and for no others.
    ordinal: u32,
}

impl Step<'_> {
    fn is_silent(&self) -> bool {
        matches!(self.kind, Kind::Read(_) | Kind::Selection(..))
    }

    /// Source instruction, for people.
    fn at(&self, f: &Function) -> u32 {
        match &self.kind {
            Kind::Read(v) | Kind::Effect(v) => f.values[*v].hint.inst,
            Kind::Discards(all) => all.first().map_or(0, |v| f.values[*v].hint.inst),
            Kind::Selection(i, ..) | Kind::Branch(i, ..) => i.at[0],
            Kind::Loop(l, _) => l.at[0],
            Kind::Switch(s, _) => s.at[0],
            Kind::Depart(..) | Kind::Repeat(..) => 0,
        }
    }
}

fn steps<'a>(f: &Function, body: &'a Body) -> Vec<Step<'a>> {
    let mut out: Vec<Step<'a>> = Vec::new();
    for item in &body.items {
        let kind = match item {
            Item::Effect(v) => match f.as_multi(*v) {
                Some(m) if matches!(m.kind, MultiKind::Pinned | MultiKind::Load) => Kind::Read(*v),
                Some(m) if m.inst.op == Opcode::KillIf => {
                    if let Some(Kind::Discards(all)) = out
                        .iter_mut()
                        .rev()
                        .find(|s| !s.is_silent())
                        .map(|s| &mut s.kind)
                    {
                        all.push(*v);
                        continue;
                    }
                    Kind::Discards(vec![*v])
                }
                _ => Kind::Effect(*v),
            },
            Item::If(i) => {
                let (then, els) = (steps(f, &i.then), steps(f, &i.els));
                let quiet = i.then_args.is_some()
                    && i.else_args.is_some()
                    && then.iter().chain(&els).all(Step::is_silent);
                if quiet {
                    Kind::Selection(i, then, els)
                } else {
                    Kind::Branch(i, then, els)
                }
            }
            Item::Loop(l) => Kind::Loop(l, steps(f, &l.body)),
            Item::Switch(s) => Kind::Switch(s, s.cases.iter().map(|c| steps(f, &c.body)).collect()),
            Item::Depart(id, args) => Kind::Depart(*id, args),
            Item::Repeat(id, args) => Kind::Repeat(*id, args),
        };
        out.push(Step { kind, ordinal: 0 });
    }
    out
}

/// Which phis of a matched loop an edge feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phis {
    Params,
    Results,
}

/// A pair of loops with all their edges in pairs.
pub(super) struct LoopPair<'a> {
    pub loops: [&'a Loop; 2],
    /// Arguments on both sides, the edge of entry first.
    pub edges: Vec<(Phis, [&'a [Value]; 2])>,
    /// Whether something inside stands alone.
    broken: bool,
}

/// Where a read happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The step behind which memory is as it is.
    pub memory: u32,
    /// The step behind which the lanes are those that they are.
    pub lanes: u32,
    /// Number of its [`Control`].
    pub control: usize,
}

/// The lanes that come to a place, in terms of those that come to the place around it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// All.
    Entry,
    /// Those for which a condition holds, or does not.
    Arm {
        around: usize,
        bits: bool,
        cond: Value,
        holds: bool,
    },
    /// Those in a step, a loop or a case.
    Inside { around: usize, ordinal: u32 },
}

/// A phi of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gamma {
    pub bits: bool,
    pub cond: Value,
    pub then: Option<Value>,
    pub els: Option<Value>,
}

/// What the flow of one function says of its values.
#[derive(Default)]
pub(super) struct Flow {
    /// Places of reads, by arena position.
    pub places: FxHashMap<usize, Place>,
    pub controls: Vec<Control>,
    /// Phis of branches, by arena position.
    pub gammas: FxHashMap<usize, Gamma>,
    /// The ordinals of effects, by arena position.
    pub effects: FxHashMap<usize, u32>,
}

/// Two functions side by side.
pub(super) struct Structure<'a> {
    pub roots: Vec<Root>,
    /// Loops of which everything inside is in pairs.
    pub loops: Vec<LoopPair<'a>>,
    pub flows: [Flow; 2],
}

struct Matching<'a> {
    functions: [&'a Function; 2],
    /// Whether two effects are the same but for their operands.
    same: &'a mut dyn FnMut([Value; 2]) -> bool,
    roots: Vec<Root>,
    loops: Vec<LoopPair<'a>>,
    /// Numbers of the loops around, in `loops`.
    around: Vec<usize>,
    next: u32,
}

/// Matches two functions; `same` says whether two effects are the same but for their operands.
pub(super) fn matched<'a>(
    functions: [&'a Function; 2],
    same: &'a mut dyn FnMut([Value; 2]) -> bool,
) -> Structure<'a> {
    let mut m = Matching {
        functions,
        same,
        roots: Vec::new(),
        loops: Vec::new(),
        around: Vec::new(),
        next: 1,
    };
    let mut both = functions.map(|f| steps(f, &f.body));
    let [source, result] = &mut both;
    m.bodies(source, result);
    m.outputs(
        functions[0].end_args.as_deref(),
        functions[1].end_args.as_deref(),
    );
    let (roots, mut loops) = (m.roots, m.loops);
    loops.retain(|l| !l.broken);
    let flows = both.map(|steps| {
        let mut flow = Flow {
            controls: vec![Control::Entry],
            ..Flow::default()
        };
        let start = Place {
            memory: 0,
            lanes: 0,
            control: 0,
        };
        flow.walk(&steps, start);
        flow
    });
    Structure {
        roots,
        loops,
        flows,
    }
}

impl<'a> Matching<'a> {
    fn ordinal(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn root(&mut self, what: String, goal: Goal) {
        self.roots.push(Root { what, goal });
    }

    fn bodies(&mut self, source: &mut [Step<'a>], result: &mut [Step<'a>]) {
        let loud = |steps: &[Step<'a>]| -> Vec<usize> {
            (0..steps.len())
                .filter(|&i| !steps[i].is_silent())
                .collect()
        };
        let (a, b) = (loud(source), loud(result));
        let mut met = 0;
        for (&i, &j) in a.iter().zip(&b) {
            if !self.step(&mut source[i], &mut result[j]) {
                break;
            }
            met += 1;
        }
        for &i in &a[met..] {
            self.alone(&mut source[i], 0);
        }
        for &j in &b[met..] {
            self.alone(&mut result[j], 1);
        }
    }

    /// A step that has no counterpart.
    fn alone(&mut self, step: &mut Step<'a>, side: usize) {
        for &l in &self.around {
            self.loops[l].broken = true;
        }
        let at = step.at(self.functions[side]);
        let whose = ["the source", "the result"][side];
        self.root(
            format!("instruction {at} of {whose}, which stands alone"),
            Goal::Unmatched,
        );
        self.number(step);
    }

    /// Gives a step and what is in it numbers of their own.
    fn number(&mut self, step: &mut Step<'a>) {
        step.ordinal = self.ordinal();
        let inner: Vec<&mut Vec<Step<'a>>> = match &mut step.kind {
            Kind::Selection(_, then, els) | Kind::Branch(_, then, els) => vec![then, els],
            Kind::Loop(_, body) => vec![body],
            Kind::Switch(_, cases) => cases.iter_mut().collect(),
            _ => Vec::new(),
        };
        for s in inner.into_iter().flatten() {
            self.number(s);
        }
    }

    /// Matches two steps, if they are of one kind.
    fn step(&mut self, source: &mut Step<'a>, result: &mut Step<'a>) -> bool {
        let at = source.at(self.functions[0]);
        let ordinal = self.next;
        match (&mut source.kind, &mut result.kind) {
            (Kind::Effect(a), Kind::Effect(b)) => {
                let goal = if (self.same)([*a, *b]) {
                    let args =
                        |side: usize, v: Value| self.functions[side].values[v].args.iter().copied();
                    Goal::Equal(args(0, *a).zip(args(1, *b)).collect())
                } else {
                    Goal::Unmatched
                };
                self.root(format!("instruction {at}"), goal);
            }
            (Kind::Discards(a), Kind::Discards(b)) => {
                let tests = |side: usize, all: &[Value]| {
                    let f = self.functions[side];
                    all.iter()
                        .flat_map(|v| f.values[*v].args.iter().copied())
                        .collect()
                };
                let goal = Goal::Tests(tests(0, a), tests(1, b));
                self.root(format!("the discard of instruction {at}"), goal);
            }
            (Kind::Branch(a, then, els), Kind::Branch(b, to, eo)) => {
                if a.then_args.is_some() != b.then_args.is_some()
                    || a.else_args.is_some() != b.else_args.is_some()
                {
                    return false;
                }
                let goal = if a.bits == b.bits {
                    Goal::Equal(vec![(a.cond, b.cond)])
                } else {
                    Goal::Unmatched
                };
                self.root(format!("the condition of instruction {at}"), goal);
                self.next += 1;
                self.bodies(then, to);
                self.bodies(els, eo);
                (source.ordinal, result.ordinal) = (ordinal, ordinal);
                return true;
            }
            (Kind::Loop(a, body), Kind::Loop(b, other)) => {
                if a.back.is_some() != b.back.is_some() || a.exits != b.exits {
                    return false;
                }
                self.next += 1;
                let mut edges = vec![(Phis::Params, [&a.inits[..], &b.inits[..]])];
                if let (Some(x), Some(y)) = (&a.back, &b.back) {
                    edges.push((Phis::Params, [&x[..], &y[..]]));
                }
                self.around.push(self.loops.len());
                self.loops.push(LoopPair {
                    loops: [a, b],
                    edges,
                    broken: false,
                });
                self.bodies(body, other);
                self.around.pop();
                (source.ordinal, result.ordinal) = (ordinal, ordinal);
                return true;
            }
            (Kind::Depart(a, x), Kind::Depart(b, y)) if (*a, *b) == (FUNCTION, FUNCTION) => {
                let (x, y) = (*x, *y);
                self.outputs(Some(x), Some(y));
            }
            (Kind::Depart(a, x), Kind::Depart(b, y)) => {
                return self.edge([*a, *b], Phis::Results, [x, y], [source, result]);
            }
            (Kind::Repeat(a, x), Kind::Repeat(b, y)) => {
                return self.edge([*a, *b], Phis::Params, [x, y], [source, result]);
            }
            _ => return false,
        }
        self.next += 1;
        (source.ordinal, result.ordinal) = (ordinal, ordinal);
        true
    }

    /// An edge of a loop around.
    fn edge(
        &mut self,
        ids: [RegionId; 2],
        phis: Phis,
        args: [&'a [Value]; 2],
        steps: [&mut Step<'a>; 2],
    ) -> bool {
        let found = self
            .around
            .iter()
            .find(|&&l| self.loops[l].loops.map(|l| l.id) == ids);
        let Some(&l) = found else { return false };
        self.loops[l].edges.push((phis, args));
        let ordinal = self.ordinal();
        for s in steps {
            s.ordinal = ordinal;
        }
        true
    }

    /// The outputs where both functions end.
    fn outputs(&mut self, source: Option<&[Value]>, result: Option<&[Value]>) {
        let [a, b] = self.functions;
        for (k, &(reg, chan)) in a.outputs.iter().enumerate() {
            let Some(&x) = source.and_then(|s| s.get(k)) else {
                continue;
            };
            let there = b.outputs.iter().position(|o| *o == (reg, chan));
            let goal = match there.and_then(|j| result?.get(j).copied()) {
                // Any word will do.
                _ if matches!(a.values[x].op, VOp::Undef(_)) => Goal::Equal(Vec::new()),
                Some(y) => Goal::Equal(vec![(x, y)]),
                None => Goal::Unmatched,
            };
            let c = ["x", "y", "z", "w"][usize::from(chan & 3)];
            self.root(format!("OUT[{reg}].{c}"), goal);
        }
        if source.is_some() != result.is_some() {
            self.root("the end".to_owned(), Goal::Unmatched);
        }
        let more = b.outputs.iter().filter(|o| !a.outputs.contains(o)).count();
        for _ in 0..more {
            self.root(
                "an output that the source does not write".to_owned(),
                Goal::Unmatched,
            );
        }
    }
}

impl Flow {
    /// Notes where reads are; the place behind the steps.
    fn walk(&mut self, steps: &[Step<'_>], mut place: Place) -> Place {
        for s in steps {
            match &s.kind {
                Kind::Read(v) => {
                    self.places.insert(ix(*v), place);
                }
                Kind::Effect(v) => {
                    self.effects.insert(ix(*v), s.ordinal);
                    place.memory = s.ordinal;
                }
                Kind::Discards(_) => {}
                Kind::Selection(i, then, els) => self.arms(i, then, els, place),
                Kind::Branch(i, then, els) => {
                    self.arms(i, then, els, place);
                    place.memory = s.ordinal;
                    place.lanes = s.ordinal;
                }
                Kind::Loop(_, body) => {
                    self.inside(body, place, s.ordinal);
                    place.memory = s.ordinal;
                    place.lanes = s.ordinal;
                }
                Kind::Switch(_, cases) => {
                    // Cases differ by their place in the list.
                    for (k, case) in cases.iter().enumerate() {
                        let ordinal = s.ordinal;
                        let around = self.control(Control::Inside {
                            around: place.control,
                            ordinal,
                        });
                        let inner = Place {
                            memory: ordinal,
                            lanes: ordinal,
                            control: around,
                        };
                        self.inside(case, inner, k as u32);
                    }
                    place.memory = s.ordinal;
                    place.lanes = s.ordinal;
                }
                Kind::Depart(..) | Kind::Repeat(..) => {}
            }
        }
        place
    }

    fn control(&mut self, c: Control) -> usize {
        self.controls.push(c);
        self.controls.len() - 1
    }

    fn inside(&mut self, body: &[Step<'_>], place: Place, ordinal: u32) {
        let control = self.control(Control::Inside {
            around: place.control,
            ordinal,
        });
        self.walk(
            body,
            Place {
                memory: ordinal,
                lanes: ordinal,
                control,
            },
        );
    }

    fn arms(&mut self, i: &If, then: &[Step<'_>], els: &[Step<'_>], place: Place) {
        for (k, &phi) in i.results.iter().enumerate() {
            let arg = |args: &Option<Vec<Value>>| args.as_ref().and_then(|a| a.get(k)).copied();
            let gamma = Gamma {
                bits: i.bits,
                cond: i.cond,
                then: arg(&i.then_args),
                els: arg(&i.else_args),
            };
            self.gammas.insert(ix(phi), gamma);
        }
        for (holds, steps) in [(true, then), (false, els)] {
            let control = self.control(Control::Arm {
                around: place.control,
                bits: i.bits,
                cond: i.cond,
                holds,
            });
            self.walk(steps, Place { control, ..place });
        }
    }
}
