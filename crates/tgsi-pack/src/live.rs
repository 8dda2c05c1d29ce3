//! Live ranges as segments of positions over the blocks of a program.

use smallvec::SmallVec;
use tgsi_ir::layout::Layout;

/// Sorted, disjoint, half-open segments.
pub type Segs = SmallVec<[(u32, u32); 2]>;

/// Whether two ranges share a point.
pub fn overlaps(a: &Segs, b: &Segs) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].1 <= b[j].0 {
            i += 1;
        } else if b[j].1 <= a[i].0 {
            j += 1;
        } else {
            return true;
        }
    }
    false
}

/// The union of two ranges.
pub fn union(a: &Segs, b: &Segs) -> Segs {
    let mut out = Segs::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let from_a = j == b.len() || i < a.len() && a[i] <= b[j];
        let s = if from_a { a[i] } else { b[j] };
        i += usize::from(from_a);
        j += usize::from(!from_a);
        match out.last_mut() {
            Some(last) if last.1 >= s.0 => last.1 = last.1.max(s.1),
            _ => out.push(s),
        }
    }
    out
}

/// A read or write of a word: `(word, block, position)`.
pub type Event = (u32, u32, u32);

/// The block structure that ranges are computed over.
pub struct Blocks<'a> {
    /// Predecessors.
    pub layout: &'a Layout,
    /// Positions `[start, end)` of each block.
    pub spans: &'a [(u32, u32)],
}

/// What is known of a word after one look at all events.
#[derive(Clone, Copy)]
struct Sketch {
    /// Block and position of the write, if there is one.
    write: Option<(u32, u32)>,
    /// End of the range so far.
    end: u32,
    /// Written again, or read where the write does not come before in the same block.
    several: bool,
}

/// Live ranges of words that may be written several times.
///
/// A write at position `p` starts a range at `p`; a read at `q` keeps the word alive in
/// `[.., q)`: a read position must be behind the write it reads (the caller spaces them).
/// A write nothing reads occupies one position. Reads without a write before them
/// are live from the start of the program.
pub fn ranges(words: usize, blocks: &Blocks<'_>, writes: &[Event], reads: &[Event]) -> Vec<Segs> {
    let sketches = sketch(words, writes, reads);
    let mut out: Vec<Segs> = Vec::with_capacity(words);
    for s in &sketches {
        let mut segs = Segs::new();
        if let (Some((_, start)), false) = (s.write, s.several) {
            segs.push((start, s.end));
        }
        out.push(segs);
    }
    if sketches.iter().any(|s| s.several) {
        let writes = ByWord::new(&sketches, writes);
        let reads = ByWord::new(&sketches, reads);
        let mut flow = Flow { blocks, stamp: vec![u32::MAX; blocks.spans.len()], work: Vec::new(), segs: Vec::new() };
        for word in (0..words).filter(|&w| sketches[w].several) {
            out[word] = flow.word(word, writes.of(word), reads.of(word));
        }
    }
    out
}

/// Most words are written once and read behind that in the same block: what their range is shows
/// without sorting anything.
fn sketch(words: usize, writes: &[Event], reads: &[Event]) -> Vec<Sketch> {
    let mut out = vec![Sketch { write: None, end: 0, several: false }; words];
    for &(word, block, at) in writes {
        let s = &mut out[word as usize];
        s.several = s.write.is_some();
        s.write = Some((block, at));
        s.end = at + 1;
    }
    for &(word, block, at) in reads {
        let s = &mut out[word as usize];
        match s.write {
            Some((b, start)) if b == block && start < at => s.end = s.end.max(at),
            _ => s.several = true,
        }
    }
    out
}

/// The events of the words that need a closer look.
struct ByWord {
    start: Vec<u32>,
    events: Vec<(u32, u32)>,
}

impl ByWord {
    fn new(sketches: &[Sketch], events: &[Event]) -> ByWord {
        let words = sketches.len();
        let chosen = || events.iter().filter(|e| sketches[e.0 as usize].several);
        let mut start = vec![0u32; words + 1];
        for e in chosen() {
            start[e.0 as usize] += 1;
        }
        let mut total = 0;
        for s in &mut start {
            total += *s;
            *s = total;
        }
        let mut sorted = vec![(0, 0); total as usize];
        for e in chosen().rev() {
            let at = &mut start[e.0 as usize];
            *at -= 1;
            sorted[*at as usize] = (e.1, e.2);
        }
        ByWord { start, events: sorted }
    }

    /// The events of a word in their order.
    fn of(&self, word: usize) -> &[(u32, u32)] {
        &self.events[self.start[word] as usize..self.start[word + 1] as usize]
    }
}

/// Follows words through the blocks.
struct Flow<'a> {
    blocks: &'a Blocks<'a>,
    /// The last word that passed through each block.
    stamp: Vec<u32>,
    work: Vec<u32>,
    segs: Vec<(u32, u32)>,
}

impl Flow<'_> {
    /// The range of a word from its writes and reads, `(block, position)`.
    fn word(&mut self, word: usize, writes: &[(u32, u32)], reads: &[(u32, u32)]) -> Segs {
        self.segs.clear();
        self.segs.extend(writes.iter().map(|&(_, p)| (p, p + 1)));
        for (i, &(b, p)) in reads.iter().enumerate() {
            // A later read in the block says more, unless a write stands between.
            let covered = reads.get(i + 1).is_some_and(|&(next, q)| {
                next == b && p <= q && !writes.iter().any(|w| w.0 == b && p <= w.1 && w.1 < q)
            });
            if !covered {
                self.back(writes, b, p);
            }
        }
        while let Some(b) = self.work.pop() {
            if std::mem::replace(&mut self.stamp[b as usize], word as u32) != word as u32 {
                self.back(writes, b, self.blocks.spans[b as usize].1);
            }
        }
        self.segs.sort_unstable();
        let mut merged = Segs::new();
        for &s in &self.segs {
            match merged.last_mut() {
                Some(last) if last.1 >= s.0 => last.1 = last.1.max(s.1),
                _ => merged.push(s),
            }
        }
        merged
    }

    /// Live in a block up to a position, from the last write before it or else from further back.
    fn back(&mut self, writes: &[(u32, u32)], block: u32, end: u32) {
        let before = writes.iter().filter(|w| w.0 == block && w.1 < end).map(|w| w.1).max();
        let start = before.unwrap_or_else(|| {
            self.work.extend(&self.blocks.layout.blocks[block as usize].preds);
            self.blocks.spans[block as usize].0
        });
        self.segs.push((start, end));
    }
}
