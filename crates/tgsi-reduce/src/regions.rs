//! Fewer regions.

use tgsi::{Inst, Opcode};

use crate::Search;
use crate::runs::retain;

/// A branch, loop, switch or subroutine.
struct Region {
    /// Where it opens.
    at: usize,
    /// Where it ends.
    end: usize,
    /// Its ELSE, CASE and DEFAULT.
    parts: Vec<usize>,
    /// What leaves or repeats it from inside, its own parts left out: BRK, CONT and their kin.
    exits: Vec<usize>,
}

/// What encloses an instruction, as far as BRK and CONT care.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Branch,
    Loop,
    Switch,
    Sub,
}

fn opens(op: Opcode) -> Option<Inside> {
    match op {
        Opcode::If | Opcode::Uif => Some(Inside::Branch),
        Opcode::Bgnloop => Some(Inside::Loop),
        Opcode::Switch => Some(Inside::Switch),
        Opcode::Bgnsub => Some(Inside::Sub),
        _ => None,
    }
}

/// The region that opens at `at`.
fn region(insts: &[Inst], at: usize) -> Option<Region> {
    let own = opens(insts[at].op)?;
    let mut inside = Vec::new();
    let mut r = Region {
        at,
        end: at,
        parts: Vec::new(),
        exits: Vec::new(),
    };
    for (i, inst) in insts.iter().enumerate().skip(at) {
        if let Some(kind) = opens(inst.op) {
            inside.push(kind);
            continue;
        }
        let outermost = |wanted: &[Inside]| {
            let nearest = inside.iter().rposition(|k| wanted.contains(k));
            nearest == Some(0)
        };
        match inst.op {
            Opcode::Endif | Opcode::Endloop | Opcode::Endswitch | Opcode::Endsub => {
                inside.pop();
                if inside.is_empty() {
                    r.end = i;
                    return Some(r);
                }
            }
            Opcode::Else | Opcode::Case | Opcode::Default if inside.len() == 1 => r.parts.push(i),
            Opcode::Brk | Opcode::Breakc if outermost(&[Inside::Loop, Inside::Switch]) => {
                r.exits.push(i);
            }
            Opcode::Cont if outermost(&[Inside::Loop]) => r.exits.push(i),
            Opcode::Ret if own == Inside::Sub => r.exits.push(i),
            _ => {}
        }
    }
    None
}

/// Removes whole regions, all but one arm of them, or what encloses their contents.
pub(crate) fn remove(search: &mut Search<'_>) {
    let mut at = 0;
    while at < search.best.insts.len() && !search.exhausted {
        let Some(r) = region(&search.best.insts, at) else {
            at += 1;
            continue;
        };
        if !smaller(search, &r) {
            at += 1;
        }
    }
}

/// Tries to make a region smaller.
fn smaller(search: &mut Search<'_>, r: &Region) -> bool {
    let outside = |i: usize| i < r.at || i > r.end;
    let mut keep = |keep: &dyn Fn(usize) -> bool| search.change(|p| retain(p, keep));
    if keep(&outside) {
        return true;
    }
    let frame = |i: usize| i == r.at || i == r.end || r.parts.contains(&i) || r.exits.contains(&i);
    // Each arm in place of the region, then the region without the arm.
    let starts: Vec<usize> = r.parts.clone();
    let arms: Vec<(usize, usize)> = std::iter::once(r.at)
        .chain(starts.iter().copied())
        .zip(starts.iter().copied().chain([r.end]))
        .collect();
    if arms.len() > 1 {
        for &(from, to) in &arms {
            if keep(&|i| outside(i) || i > from && i < to && !frame(i)) {
                return true;
            }
        }
        for &(from, to) in &arms[1..] {
            if keep(&|i| i < from || i >= to) {
                return true;
            }
        }
        let (from, to) = arms[0];
        if keep(&|i| i <= from || i >= to) {
            return true;
        }
    }
    keep(&|i| !frame(i))
}
