//! The order of fetches that stand together.
//!
//! Counts of texture indirections look at whole registers: a fetch into one channel of a temporary and
//! a later one whose coordinate stands in other channels of it seem to depend on each other. Fetches
//! of one run are put in an order in which coordinates are read before their temporary is written,
//! where there is one. Only neighbours change places, after registers are given, and none that share a word.

use smallvec::SmallVec;
use tgsi::File;
use tgsi_pack::lir::Ref;
use tgsi_pack::pack::{Fetch, PackId, Packing};

use super::Lowering;
use super::lines::{Line, Lines};
use super::problem::{Place, places};

/// What a fetch does to temporaries.
struct Access {
    kill: bool,
    /// Words read.
    reads: SmallVec<[Place; 8]>,
    /// Words written.
    writes: SmallVec<[Place; 4]>,
}

impl Access {
    /// Whether this one must stand in front of `later`, which it stood in front of.
    fn holds(&self, later: &Access) -> bool {
        let shared = |a: &[Place], b: &[Place]| a.iter().any(|x| b.contains(x));
        // Fetches stay on their side of a kill, kills in their order.
        later.kill
            || shared(&self.writes, &later.reads)
            || shared(&self.reads, &later.writes)
            || shared(&self.writes, &later.writes)
    }

    /// Whether this one writes a register in which the coordinate of `other` stands.
    fn spoils(&self, other: &Access) -> bool {
        let written = |r: &Place| self.writes.iter().any(|w| w.same_register(*r));
        other.reads.iter().any(written)
    }
}

impl Lowering<'_> {
    /// Orders the fetches of every run. `false` if some still seem to depend on each other.
    pub(crate) fn order_fetches(&mut self) -> bool {
        let mut clean = true;
        let places = places(self.p, &self.seats, &self.assignment);
        let mut at = 0;
        while at < self.lines.lines.len() {
            let end = run_end(&self.lines, self.p, at);
            if end > at + 1 {
                let accesses: Vec<Access> = self.lines.lines[at..end]
                    .iter()
                    .map(|l| self.access(l, &places))
                    .collect();
                let order = ordered(&accesses, &mut clean);
                let old: Vec<Line> = self.lines.lines[at..end].to_vec();
                for (line, &i) in self.lines.lines[at..end].iter_mut().zip(&order) {
                    *line = old[i].clone();
                }
            }
            at = end.max(at + 1);
        }
        clean
    }

    fn access(&self, line: &Line, places: &[Place]) -> Access {
        let mut access = Access {
            kill: false,
            reads: SmallVec::new(),
            writes: SmallVec::new(),
        };
        let Line::Pack(q, _) = line else {
            return access;
        };
        let q: PackId = *q;
        access.kill = self.p.fetch(q) == Fetch::Kill;
        let place = |e: u32| places[self.p.webs.find(e) as usize];
        for &n in &self.p.packs[q as usize].nodes {
            let node = &self.p.lir.nodes[n as usize];
            for o in self.p.lir.words(node) {
                if let Ref::Ent(e) = o.r {
                    access.reads.push(place(e));
                }
            }
            access.writes.extend(node.dsts().map(place));
        }
        access
            .reads
            .retain(|p| p.register().is_some_and(|r| r.file == File::Temp));
        access.writes.retain(|p| p.register().is_some());
        access
    }
}

/// The end of the run of fetches without addresses that begins at line `at`; `at` if there is none. A
/// fetch that waits for one of the run begins the next: between them a node of the program ends.
pub(super) fn run_end(lines: &Lines, p: &Packing, at: usize) -> usize {
    let mut written: SmallVec<[u32; 32]> = SmallVec::new();
    let mut end = at;
    while let Some(Line::Pack(q, regs)) = lines.lines.get(end) {
        let block_ends = end > at && lines.starts.contains(&(end as u32));
        if !regs.is_empty() || p.fetch(*q) == Fetch::No || block_ends {
            break;
        }
        let node = &p.lir.nodes[p.packs[*q as usize].nodes[0] as usize];
        let mut waits = false;
        p.lir
            .reads(node, &mut |e| waits |= written.contains(&p.webs.find(e)));
        if waits {
            break;
        }
        written.extend(node.dsts().map(|e| p.webs.find(e)));
        end += 1;
    }
    end
}

/// An order in which nothing that is held changes sides, and as few as possible are spoiled; `clean`
/// becomes false if one is.
fn ordered(all: &[Access], clean: &mut bool) -> Vec<usize> {
    let mut left: Vec<usize> = (0..all.len()).collect();
    let mut order = Vec::with_capacity(all.len());
    while !left.is_empty() {
        let free = |k: &usize| {
            let i = left[*k];
            left[..*k].iter().all(|&j| !all[j].holds(&all[i]))
        };
        let harmless = |k: &usize| {
            let i = left[*k];
            left.iter().all(|&j| j == i || !all[i].spoils(&all[j]))
        };
        let best = (0..left.len()).filter(free).find(harmless);
        *clean &= best.is_some();
        let k = best.or_else(|| (0..left.len()).find(free)).unwrap_or(0);
        order.push(left.remove(k));
    }
    order
}
