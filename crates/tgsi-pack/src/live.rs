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
    let mut all: SmallVec<[(u32, u32); 8]> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut out = Segs::new();
    for s in all {
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

/// Live ranges of words that may be written several times.
///
/// A write at position `p` starts a range at `p`; a read at `q` keeps the word alive in
/// `[.., q)`: a read position must be behind the write it reads (the caller spaces them).
/// A write nothing reads occupies one position. Reads without a write before them
/// are live from the start of the program.
pub fn ranges(words: usize, blocks: &Blocks<'_>, writes: &[Event], reads: &[Event]) -> Vec<Segs> {
    let by_word = |events: &[Event]| {
        let mut start = vec![0u32; words + 1];
        for e in events {
            start[e.0 as usize + 1] += 1;
        }
        for i in 0..words {
            start[i + 1] += start[i];
        }
        let mut at = start.clone();
        let mut out = vec![(0u32, 0u32); events.len()];
        for e in events {
            out[at[e.0 as usize] as usize] = (e.1, e.2);
            at[e.0 as usize] += 1;
        }
        (start, out)
    };
    let (ws, w) = by_word(writes);
    let (rs, r) = by_word(reads);
    let n = blocks.spans.len();
    let mut stamp = vec![u32::MAX; n];
    let mut work: Vec<u32> = Vec::new();
    let mut segs: Vec<(u32, u32)> = Vec::new();
    let mut out = Vec::with_capacity(words);
    for word in 0..words {
        let w = &w[ws[word] as usize..ws[word + 1] as usize];
        let r = &r[rs[word] as usize..rs[word + 1] as usize];
        segs.clear();
        for &(_, p) in w {
            segs.push((p, p + 1));
        }
        // The last write in a block before a position.
        let before = |b: u32, p: u32| w.iter().filter(|x| x.0 == b && x.1 < p).map(|x| x.1).max();
        for &(b, p) in r {
            match before(b, p) {
                Some(d) => segs.push((d, p)),
                None => {
                    segs.push((blocks.spans[b as usize].0, p));
                    work.extend(&blocks.layout.blocks[b as usize].preds);
                }
            }
        }
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut stamp[b as usize], word as u32) == word as u32 {
                continue;
            }
            let (start, end) = blocks.spans[b as usize];
            match before(b, end) {
                Some(d) => segs.push((d, end)),
                None => {
                    segs.push((start, end));
                    work.extend(&blocks.layout.blocks[b as usize].preds);
                }
            }
        }
        segs.sort_unstable();
        let mut merged = Segs::new();
        for &s in &segs {
            match merged.last_mut() {
                Some(last) if last.1 >= s.0 => last.1 = last.1.max(s.1),
                _ => merged.push(s),
            }
        }
        out.push(merged);
    }
    out
}
