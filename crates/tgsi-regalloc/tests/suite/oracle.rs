//! Explores every reachable concrete state of a small placed program.

use std::collections::{BTreeMap, BTreeSet};

use tgsi_regalloc::checker::{Cell, Step, Value};

use crate::program::{Line, successors};

/// What the machine knows at a step: the value of each cell that is up to date,
/// and the values written so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: usize,
    cells: BTreeMap<Cell, Value>,
    born: BTreeSet<Value>,
}

/// Whether some path reads a wrong value or some instruction writes a cell twice;
/// `None` if there are more than `limit` states.
pub fn is_wrong(steps: &[Step], undefined: &[Value], limit: usize) -> Option<bool> {
    for step in steps {
        let Step::Inst { writes, .. } = step else {
            continue;
        };
        for (i, (v, c)) in writes.iter().enumerate() {
            if writes[..i].iter().any(|(v2, c2)| c == c2 && v != v2) {
                return Some(true);
            }
        }
    }
    let lines: Vec<Line> = steps.iter().map(|s| Line::Control(s.clone())).collect();
    let lines: Vec<Line> = lines
        .into_iter()
        .map(|l| match l {
            Line::Control(Step::Inst { .. }) => Line::Inst {
                reads: vec![],
                writes: vec![],
            },
            other => other,
        })
        .collect();
    let next = successors(&lines);
    let mut seen = BTreeSet::new();
    let mut work = vec![State::default()];
    while let Some(mut state) = work.pop() {
        if state.at >= steps.len() || !seen.insert(state.clone()) {
            continue;
        }
        if seen.len() > limit {
            return None;
        }
        let at = state.at;
        if let Step::Inst { reads, writes } = &steps[at] {
            for (value, cell) in reads {
                let free = undefined.contains(value) && !state.born.contains(value);
                if !free && state.cells.get(cell) != Some(value) {
                    return Some(true);
                }
            }
            for (value, _) in writes {
                state.cells.retain(|_, held| held != value);
                state.born.insert(*value);
            }
            for (value, cell) in writes {
                state.cells.insert(*cell, *value);
            }
        }
        for &to in &next[at] {
            work.push(State {
                at: to,
                ..state.clone()
            });
        }
    }
    Some(false)
}
