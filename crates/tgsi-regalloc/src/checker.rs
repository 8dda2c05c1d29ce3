//! Checks a placement by abstract interpretation of a structured program.
//!
//! The checker knows nothing of live ranges, virtual registers or the allocator:
//! it sees a program whose instructions read and write named values in named
//! cells, and asks of each read whether the cell holds that value on every path.
//!
//! # Values and cells
//!
//! A [`Value`] is a web: one name for all definitions that reach a common use.
//! Writing a value makes every earlier copy of it in other cells stale, so a copy
//! that is to be read beside the original needs a name of its own.
//!
//! # Lattices and transfer functions
//!
//! The analysis runs forward over basic blocks, one slot at a time. There are two
//! kinds of slot.
//!
//! *A cell* holds one of
//!
//! ```text
//! Unreached  <  Empty, Is(v) for each v  <  Mixed
//! ```
//!
//! and is `Empty` at entry. A write of `v` to the cell gives `Is(v)`, whatever it
//! held. A write of `v` to other cells only turns `Is(v)` into `Mixed`. The
//! meet of two different states is `Mixed`. A read of `v` is right in `Is(v)` only.
//!
//! *A cell paired with a value `u` declared undefined at entry* holds a set of the
//! situations some path leads to:
//!
//! ```text
//! UNBORN  u has not been written yet: a read may give anything
//! HOLDS   the cell holds u
//! LOST    u has been written and the cell does not hold it
//! ```
//!
//! `{UNBORN}` at entry. A write of `u` to the cell gives `{HOLDS}`; a write of `u`
//! to other cells only gives `{LOST}`; a write of another value to the cell turns
//! `HOLDS` into `LOST`. The meet is the union. A read of `u` is right unless the
//! set contains `LOST`.
//!
//! Both are exact over all paths of the control flow graph: every state is a set
//! of path situations, and transfer functions work on each situation by itself.
//!
//! # Cost
//!
//! No recursion; nesting depth does not matter. A slot's state at a block can
//! change at most three times, so the time is O(slots * blocks + events), the
//! memory O(blocks + events). A value written to k cells costs k times its writes.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The name of a web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// One channel of a temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Number of the temporary.
    pub temp: u32,
    /// Channel, 0 to 3.
    pub chan: u8,
}

/// One step of an abstract program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads cells, then writes cells. Conditions and indices are reads of an
    /// instruction before the step that uses them.
    Inst {
        /// The values it takes and where it takes them from.
        reads: SmallVec<[(Value, Cell); 4]>,
        /// The values it makes and where it puts them.
        writes: SmallVec<[(Value, Cell); 4]>,
    },
    /// Goes on, or to the matching `Else` or `EndIf`.
    If,
    /// Ends the first arm.
    Else,
    /// Joins the arms.
    EndIf,
    /// Head of an endless loop.
    Loop,
    /// Back to the head.
    EndLoop,
    /// Goes to one of its `Case`s, or behind the matching `EndSwitch` if none of them is the
    /// default.
    Switch,
    /// Where a `Switch` may go; what is before it runs into it.
    Case {
        /// Whether it takes what no other case of the switch takes.
        default: bool,
    },
    /// Joins the end of the last case and the breaks.
    EndSwitch,
    /// Leaves the innermost loop or switch.
    Break,
    /// To the head of the innermost loop.
    Continue,
    /// Ends the program.
    Return,
}

/// Something wrong at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Index of the step; the number of steps for a construct left open.
    pub step: usize,
    /// What is wrong.
    pub kind: ViolationKind,
}

/// What is wrong at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViolationKind {
    /// On some path the cell does not hold the value read from it.
    Read {
        /// The value the instruction means.
        value: Value,
        /// Where it looks for it.
        cell: Cell,
        /// What the cell holds instead.
        found: Found,
    },
    /// One instruction writes two values to one cell.
    WriteClash {
        /// The cell.
        cell: Cell,
        /// One value.
        first: Value,
        /// Another.
        second: Value,
    },
    /// The steps that are no instructions do not nest here. Nothing else is checked then.
    Structure,
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// Never written.
    Empty,
    /// This other value on every path.
    Other(Value),
    /// Different things on different paths, or an old copy.
    Mixed,
}

/// Checks every read of `steps`; violations come in the order of steps.
pub fn check(steps: &[Step]) -> Vec<Violation> {
    check_with_undefined(steps, &[])
}

/// [`check`], where reads of the values in `undefined` may find anything on paths
/// on which the value has not been written.
pub fn check_with_undefined(steps: &[Step], undefined: &[Value]) -> Vec<Violation> {
    let graph = match Graph::new(steps) {
        Ok(graph) => graph,
        Err(step) => {
            return vec![Violation {
                step,
                kind: ViolationKind::Structure,
            }];
        }
    };
    let undefined: FxHashSet<Value> = undefined.iter().copied().collect();
    let accesses = Accesses::new(steps);
    let mut violations = accesses.clashes.clone();
    let mut flow = Flow::new(&graph);
    for (cell, own) in &accesses.cells {
        // Reads of ordinary values go to the cell's slot, each undefined value
        // read here gets a slot of its own.
        let mut pairs: Vec<Value> = Vec::new();
        let mut ordinary = false;
        for access in own.iter().filter(|a| !a.write) {
            if !undefined.contains(&access.value) {
                ordinary = true;
            } else {
                pairs.push(access.value);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        if ordinary {
            let slot = CellSlot {
                undefined: &undefined,
            };
            flow.solve(&slot, &accesses.events(own, None), *cell, &mut violations);
        }
        for value in pairs {
            let slot = PairSlot { value };
            let events = accesses.events(own, Some(value));
            flow.solve(&slot, &events, *cell, &mut violations);
        }
    }
    violations.sort_unstable();
    violations.dedup();
    violations
}

/// A run of steps without jumps; it begins where the block before ends.
#[derive(Clone, Debug, Default)]
struct Block {
    /// The step that ends it.
    to: usize,
    next: SmallVec<[usize; 2]>,
}

/// The control flow graph. Block 0 is the entry.
struct Graph {
    blocks: Vec<Block>,
}

/// A construct that is open while the graph is built.
enum Open {
    /// The block that ends in `If`; the end of the first arm once `Else` was seen.
    If {
        head: usize,
        then_end: Option<usize>,
    },
    /// The block at the head; the blocks that end in `Break`.
    Loop { head: usize, breaks: Vec<usize> },
    /// The block that ends in `Switch`; whether a default was seen; the blocks that end in `Break`.
    Switch {
        head: usize,
        default: bool,
        breaks: Vec<usize>,
    },
}

impl Graph {
    /// Builds the graph, or tells the step that does not nest.
    fn new(steps: &[Step]) -> Result<Graph, usize> {
        let mut blocks = vec![Block::default()];
        let mut open: Vec<Open> = Vec::new();
        // Indices into `open`: of the loops, and of what a break leaves.
        let (mut loops, mut exits): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (at, step) in steps.iter().enumerate() {
            if matches!(step, Step::Inst { .. }) {
                continue;
            }
            let last = blocks.len() - 1;
            let new = blocks.len();
            blocks[last].to = at;
            blocks.push(Block::default());
            match step {
                Step::Inst { .. } => {}
                Step::If => {
                    blocks[last].next.push(new);
                    open.push(Open::If {
                        head: last,
                        then_end: None,
                    });
                }
                Step::Else => match open.last_mut() {
                    Some(Open::If {
                        head,
                        then_end: then_end @ None,
                    }) => {
                        *then_end = Some(last);
                        blocks[*head].next.push(new);
                    }
                    _ => return Err(at),
                },
                Step::EndIf => match open.pop() {
                    Some(Open::If { head, then_end }) => {
                        blocks[last].next.push(new);
                        blocks[then_end.unwrap_or(head)].next.push(new);
                    }
                    _ => return Err(at),
                },
                Step::Loop => {
                    blocks[last].next.push(new);
                    loops.push(open.len());
                    exits.push(open.len());
                    open.push(Open::Loop {
                        head: new,
                        breaks: Vec::new(),
                    });
                }
                Step::EndLoop => match open.pop() {
                    Some(Open::Loop { head, breaks }) => {
                        loops.pop();
                        exits.pop();
                        blocks[last].next.push(head);
                        breaks.iter().for_each(|&from| blocks[from].next.push(new));
                    }
                    _ => return Err(at),
                },
                Step::Switch => {
                    exits.push(open.len());
                    open.push(Open::Switch {
                        head: last,
                        default: false,
                        breaks: Vec::new(),
                    });
                }
                Step::Case { default: here } => match open.last_mut() {
                    Some(Open::Switch { head, default, .. }) if !(*here && *default) => {
                        *default |= here;
                        blocks[last].next.push(new);
                        blocks[*head].next.push(new);
                    }
                    _ => return Err(at),
                },
                Step::EndSwitch => match open.pop() {
                    Some(Open::Switch {
                        head,
                        default,
                        breaks,
                    }) => {
                        exits.pop();
                        blocks[last].next.push(new);
                        let skipped = (!default).then_some(head);
                        let ends = breaks.into_iter().chain(skipped);
                        ends.for_each(|from| blocks[from].next.push(new));
                    }
                    _ => return Err(at),
                },
                Step::Break => match exits.last().and_then(|&e| open.get_mut(e)) {
                    Some(Open::Loop { breaks, .. } | Open::Switch { breaks, .. }) => {
                        breaks.push(last);
                    }
                    _ => return Err(at),
                },
                Step::Continue => match loops.last().and_then(|&l| open.get(l)) {
                    Some(Open::Loop { head, .. }) => blocks[last].next.push(*head),
                    _ => return Err(at),
                },
                // No edge out, and none into the block that follows.
                Step::Return => {}
            }
        }
        if !open.is_empty() {
            return Err(steps.len());
        }
        if let Some(last) = blocks.last_mut() {
            last.to = steps.len();
        }
        Ok(Graph { blocks })
    }
}

/// One read or write of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    step: usize,
    /// Reads sort before writes.
    write: bool,
    value: Value,
}

/// What bears on one slot, in the order of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    step: usize,
    kind: EventKind,
    value: Value,
}

/// Within a step, reads come first and the cell's own writes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Read,
    /// The value is written, perhaps elsewhere: what is here becomes an old copy.
    Elsewhere,
    Write,
}

/// The reads and writes of a program, by cell and by value.
struct Accesses {
    /// In the order of first mention.
    cells: Vec<(Cell, Vec<Access>)>,
    /// The steps that write each value, to any cell.
    writers: FxHashMap<Value, Vec<usize>>,
    clashes: Vec<Violation>,
}

impl Accesses {
    fn new(steps: &[Step]) -> Accesses {
        let mut index: FxHashMap<Cell, usize> = FxHashMap::default();
        let mut cells: Vec<(Cell, Vec<Access>)> = Vec::new();
        let mut writers: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
        let mut clashes = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let Step::Inst { reads, writes } = step else {
                continue;
            };
            let all = reads
                .iter()
                .map(|r| (r, false))
                .chain(writes.iter().map(|w| (w, true)));
            for (&(value, cell), write) in all {
                let slot = *index.entry(cell).or_insert_with(|| {
                    cells.push((cell, Vec::new()));
                    cells.len() - 1
                });
                let own = &mut cells[slot].1;
                own.push(Access {
                    step: at,
                    write,
                    value,
                });
                if !write {
                    continue;
                }
                let steps = writers.entry(value).or_default();
                if steps.last() != Some(&at) {
                    steps.push(at);
                }
                let before = own.len().checked_sub(2).and_then(|i| own.get(i));
                if let Some(&Access {
                    step,
                    write: true,
                    value: first,
                }) = before
                    && step == at
                    && first != value
                {
                    let kind = ViolationKind::WriteClash {
                        cell,
                        first,
                        second: value,
                    };
                    clashes.push(Violation { step: at, kind });
                }
            }
        }
        Accesses {
            cells,
            writers,
            clashes,
        }
    }

    /// The events of a slot of a cell: its own accesses, and the writes of the
    /// values it may hold to other cells. `pair` restricts reads to one value.
    fn events(&self, own: &[Access], pair: Option<Value>) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::with_capacity(own.len());
        // The last step that writes each value here, and the number of such steps.
        let mut writes: FxHashMap<Value, (usize, usize)> = FxHashMap::default();
        let mut held: Vec<Value> = Vec::new();
        for access in own {
            let Access { step, write, value } = *access;
            if write {
                let (last, count) = writes.entry(value).or_insert((step, 0));
                if *count == 0 {
                    held.push(value);
                }
                if *count == 0 || *last != step {
                    *count += 1;
                }
                *last = step;
                events.push(Event {
                    step,
                    kind: EventKind::Write,
                    value,
                });
            } else if pair.is_none_or(|p| p == value) {
                events.push(Event {
                    step,
                    kind: EventKind::Read,
                    value,
                });
            }
        }
        if let Some(value) = pair {
            held = vec![value];
        }
        for value in held {
            let Some(steps) = self.writers.get(&value) else {
                continue;
            };
            if steps.len() == writes.get(&value).map_or(0, |w| w.1) {
                // Written here only, or here each time.
                continue;
            }
            let elsewhere = |&step| Event {
                step,
                kind: EventKind::Elsewhere,
                value,
            };
            events.extend(steps.iter().map(elsewhere));
        }
        events.sort_unstable();
        events
    }
}

/// The analysis of one slot.
trait Slot {
    type State: Copy + PartialEq;

    /// The state before any path is known; the meet with it changes nothing.
    fn unreached(&self) -> Self::State;
    fn entry(&self) -> Self::State;
    fn meet(&self, a: Self::State, b: Self::State) -> Self::State;
    fn write(&self, state: Self::State, value: Value) -> Self::State;
    fn elsewhere(&self, state: Self::State, value: Value) -> Self::State;
    /// What a read of `value` finds instead, if it is wrong.
    fn read(&self, state: Self::State, value: Value) -> Option<Found>;
}

/// Scratch memory of the analysis.
struct Flow<'a> {
    graph: &'a Graph,
    /// Blocks to visit; each is in at most once.
    work: Vec<usize>,
    queued: Vec<bool>,
}

impl Flow<'_> {
    fn new(graph: &Graph) -> Flow<'_> {
        Flow {
            graph,
            work: Vec::new(),
            queued: vec![false; graph.blocks.len()],
        }
    }

    /// Solves the slot whose `events` are given and reports wrong reads of `cell`.
    fn solve<S: Slot>(
        &mut self,
        slot: &S,
        events: &[Event],
        cell: Cell,
        violations: &mut Vec<Violation>,
    ) {
        let blocks = &self.graph.blocks;
        let mut spans = Vec::with_capacity(blocks.len());
        let mut at = 0;
        for block in blocks {
            let from = at;
            while events.get(at).is_some_and(|e| e.step < block.to) {
                at += 1;
            }
            spans.push(from..at);
        }
        let mut states = vec![slot.unreached(); blocks.len()];
        states[0] = slot.entry();
        self.work.push(0);
        while let Some(block) = self.work.pop() {
            self.queued[block] = false;
            let mut state = states[block];
            for event in &events[spans[block].clone()] {
                state = match event.kind {
                    EventKind::Read => state,
                    EventKind::Elsewhere => slot.elsewhere(state, event.value),
                    EventKind::Write => slot.write(state, event.value),
                };
            }
            for &next in &blocks[block].next {
                let met = slot.meet(states[next], state);
                if met != states[next] {
                    states[next] = met;
                    if !self.queued[next] {
                        self.queued[next] = true;
                        self.work.push(next);
                    }
                }
            }
        }
        for (span, &start) in spans.into_iter().zip(&states) {
            if start == slot.unreached() {
                continue;
            }
            let mut state = start;
            for &Event { step, kind, value } in &events[span] {
                match kind {
                    EventKind::Elsewhere => state = slot.elsewhere(state, value),
                    EventKind::Write => state = slot.write(state, value),
                    EventKind::Read => {
                        if let Some(found) = slot.read(state, value) {
                            let kind = ViolationKind::Read { value, cell, found };
                            violations.push(Violation { step, kind });
                        }
                    }
                }
            }
        }
    }
}

/// The content of a cell, for values that are not declared undefined.
struct CellSlot<'a> {
    undefined: &'a FxHashSet<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Unreached,
    Empty,
    Is(Value),
    Mixed,
}

impl Slot for CellSlot<'_> {
    type State = Content;

    fn unreached(&self) -> Content {
        Content::Unreached
    }

    fn entry(&self) -> Content {
        Content::Empty
    }

    fn meet(&self, a: Content, b: Content) -> Content {
        match (a, b) {
            (Content::Unreached, other) | (other, Content::Unreached) => other,
            (a, b) if a == b => a,
            _ => Content::Mixed,
        }
    }

    fn write(&self, _: Content, value: Value) -> Content {
        Content::Is(value)
    }

    fn elsewhere(&self, state: Content, value: Value) -> Content {
        if state == Content::Is(value) {
            Content::Mixed
        } else {
            state
        }
    }

    fn read(&self, state: Content, value: Value) -> Option<Found> {
        match state {
            _ if self.undefined.contains(&value) => None,
            Content::Unreached => None,
            Content::Is(held) if held == value => None,
            Content::Is(held) => Some(Found::Other(held)),
            Content::Empty => Some(Found::Empty),
            Content::Mixed => Some(Found::Mixed),
        }
    }
}

/// Whether a cell holds a value declared undefined at entry; see the module's
/// text for the three situations.
struct PairSlot {
    value: Value,
}

const UNBORN: u8 = 1;
const HOLDS: u8 = 2;
const LOST: u8 = 4;

impl Slot for PairSlot {
    type State = u8;

    fn unreached(&self) -> u8 {
        0
    }

    fn entry(&self) -> u8 {
        UNBORN
    }

    fn meet(&self, a: u8, b: u8) -> u8 {
        a | b
    }

    fn write(&self, state: u8, value: Value) -> u8 {
        if value == self.value {
            HOLDS
        } else if state & HOLDS != 0 {
            state & !HOLDS | LOST
        } else {
            state
        }
    }

    fn elsewhere(&self, _: u8, _: Value) -> u8 {
        // Only writes of the slot's own value are handed in.
        LOST
    }

    fn read(&self, state: u8, _: Value) -> Option<Found> {
        (state & LOST != 0).then_some(Found::Mixed)
    }
}
