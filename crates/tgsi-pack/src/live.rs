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

/// No block.
const NONE: u32 = u32::MAX;

/// The life of a word up to the first event that does not fit: a second write, or a read that
/// does not follow the write in its block.
#[derive(Clone, Copy)]
struct Local {
    /// Block of the write; [`NONE`] before there is one.
    block: u32,
    start: u32,
    end: u32,
    /// Whether there was such an event; it and all that follow are kept apart.
    global: bool,
}

/// Collects the writes and reads of words that may be written several times, in text order.
///
/// A write at position `p` starts a range at `p`; a read at `q` keeps the word alive in
/// `[.., q)`: a read position must be behind the write it reads (the caller spaces them).
/// A write nothing reads occupies one position. Reads without a write before them
/// are live from the start of the program. Most words live in one block, which one look at each
/// event shows; the others are followed through the blocks.
pub struct Lives {
    locals: Vec<Local>,
    writes: Vec<Event>,
    reads: Vec<Event>,
}

impl Lives {
    /// No events of words `0..words` yet.
    pub fn new(words: usize) -> Lives {
        let none = Local {
            block: NONE,
            start: 0,
            end: 0,
            global: false,
        };
        Lives {
            locals: vec![none; words],
            writes: Vec::with_capacity(32),
            reads: Vec::with_capacity(32),
        }
    }

    /// A write of `word` in `block` at position `at`.
    #[inline]
    pub fn write(&mut self, word: u32, block: u32, at: u32) {
        let l = &mut self.locals[word as usize];
        if l.block == NONE && !l.global {
            *l = Local {
                block,
                start: at,
                end: at + 1,
                global: false,
            };
        } else {
            l.global = true;
            self.writes.push((word, block, at));
        }
    }

    /// A read of `word` in `block` at position `at`.
    #[inline]
    pub fn read(&mut self, word: u32, block: u32, at: u32) {
        let l = &mut self.locals[word as usize];
        if !l.global && l.block == block && at > l.start {
            l.end = l.end.max(at);
        } else {
            l.global = true;
            self.reads.push((word, block, at));
        }
    }

    /// The live ranges of all words.
    pub fn ranges(mut self, blocks: &Blocks<'_>) -> Ranges {
        let mut out = Ranges {
            simple: Vec::with_capacity(self.locals.len()),
            several: Vec::new(),
        };
        let mut words = 0;
        for (e, l) in self.locals.iter().enumerate() {
            if !l.global {
                out.simple.push((l.start, l.end));
                continue;
            }
            out.simple.push((NONE, words));
            words += 1;
            if l.block != NONE {
                self.writes.push((e as u32, l.block, l.start));
                if l.end > l.start + 1 {
                    self.reads.push((e as u32, l.block, l.end));
                }
            }
        }
        if words > 0 {
            let words = words as usize;
            out.several.reserve_exact(words);
            let writes = ByWord::new(&out.simple, words, &self.writes);
            let reads = ByWord::new(&out.simple, words, &self.reads);
            let mut flow = Flow::new(blocks);
            for k in 0..words {
                out.several.push(flow.word(k, writes.of(k), reads.of(k)));
            }
        }
        out
    }
}

/// Live ranges by word.
pub struct Ranges {
    /// The only segment of a word, `(0, 0)` if it has none; [`NONE`] and a place in `several`
    /// for words that took a closer look.
    simple: Vec<(u32, u32)>,
    several: Vec<Segs>,
}

impl Ranges {
    /// The sorted, disjoint, half-open segments of a word.
    #[inline]
    pub fn of(&self, word: u32) -> &[(u32, u32)] {
        let only = &self.simple[word as usize];
        match *only {
            (NONE, k) => &self.several[k as usize],
            (start, end) if start == end => &[],
            _ => std::slice::from_ref(only),
        }
    }
}

/// Live ranges of words from all writes and all reads in any order; see [`Lives`].
pub fn ranges(words: usize, blocks: &Blocks<'_>, writes: &[Event], reads: &[Event]) -> Vec<Segs> {
    let mut lives = Lives::new(words);
    for &(word, block, at) in writes {
        lives.write(word, block, at);
    }
    for &(word, block, at) in reads {
        lives.read(word, block, at);
    }
    let ranges = lives.ranges(blocks);
    (0..words as u32)
        .map(|w| Segs::from_slice(ranges.of(w)))
        .collect()
}

/// Events of the words that took a closer look, sorted by word.
struct ByWord {
    start: Vec<u32>,
    events: Vec<(u32, u32)>,
}

impl ByWord {
    /// `simple` tells the place of each word among the `words` that have events.
    fn new(simple: &[(u32, u32)], words: usize, events: &[Event]) -> ByWord {
        let place = |e: &Event| simple[e.0 as usize].1 as usize;
        let mut start = vec![0u32; words + 1];
        for e in events {
            start[place(e)] += 1;
        }
        let mut total = 0;
        for s in &mut start {
            total += *s;
            *s = total;
        }
        let mut sorted = vec![(0, 0); total as usize];
        for e in events.iter().rev() {
            let at = &mut start[place(e)];
            *at -= 1;
            sorted[*at as usize] = (e.1, e.2);
        }
        ByWord {
            start,
            events: sorted,
        }
    }

    /// The events of the word at a place in their order.
    fn of(&self, place: usize) -> &[(u32, u32)] {
        &self.events[self.start[place] as usize..self.start[place + 1] as usize]
    }
}

/// Follows words through the blocks.
struct Flow<'a> {
    blocks: &'a Blocks<'a>,
    /// The last word that passed through the end of each block.
    stamp: Vec<u32>,
    /// The last word that was live in the whole of each block.
    whole: Vec<u32>,
    /// The blocks among which the word at hand is live in some as a whole.
    first: u32,
    last: u32,
    work: Vec<u32>,
    /// Where the word at hand is live in parts of blocks.
    parts: Vec<(u32, u32)>,
}

impl<'a> Flow<'a> {
    fn new(blocks: &'a Blocks<'a>) -> Flow<'a> {
        let n = blocks.spans.len();
        Flow {
            blocks,
            stamp: vec![NONE; n],
            whole: vec![NONE; n],
            first: 0,
            last: 0,
            work: Vec::with_capacity(n),
            parts: Vec::with_capacity(32),
        }
    }

    /// The range of a word from its writes and reads, `(block, position)`.
    fn word(&mut self, word: usize, writes: &[(u32, u32)], reads: &[(u32, u32)]) -> Segs {
        let word = word as u32;
        (self.first, self.last) = (NONE, 0);
        self.parts.clear();
        for &(_, at) in writes {
            self.parts.push((at, at + 1));
        }
        for (i, &(b, p)) in reads.iter().enumerate() {
            // A later read in the block says more, unless a write stands between.
            let covered = reads.get(i + 1).is_some_and(|&(next, q)| {
                next == b && p <= q && !writes.iter().any(|w| w.0 == b && p <= w.1 && w.1 < q)
            });
            if !covered {
                self.back(word, writes, b, p);
            }
        }
        while let Some(b) = self.work.pop() {
            if std::mem::replace(&mut self.stamp[b as usize], word) != word {
                self.back(word, writes, b, self.blocks.spans[b as usize].1);
            }
        }
        self.merged(word)
    }

    /// Live in a block up to a position, from the last write before it or else from further back.
    #[inline]
    fn back(&mut self, word: u32, writes: &[(u32, u32)], block: u32, end: u32) {
        let mut before = NONE;
        for &(b, at) in writes {
            if b == block && at < end && (before == NONE || at > before) {
                before = at;
            }
        }
        let (start, block_end) = self.blocks.spans[block as usize];
        if before != NONE {
            self.parts.push((before, end));
            return;
        }
        self.work
            .extend_from_slice(&self.blocks.layout.blocks[block as usize].preds);
        if end == block_end {
            self.whole[block as usize] = word;
            self.first = self.first.min(block);
            self.last = self.last.max(block);
        } else {
            self.parts.push((start, end));
        }
    }

    /// Parts and whole blocks in one range. Blocks stand in the order of their positions.
    fn merged(&mut self, word: u32) -> Segs {
        self.parts.sort_unstable();
        let mut out = Segs::new();
        let mut add = |s: (u32, u32)| match out.last_mut() {
            Some(last) if last.1 >= s.0 => last.1 = last.1.max(s.1),
            _ => out.push(s),
        };
        let mut parts = self.parts.iter().copied().peekable();
        for b in self.first..self.last.saturating_add(1) {
            if self.whole[b as usize] != word {
                continue;
            }
            let span = self.blocks.spans[b as usize];
            while let Some(part) = parts.next_if(|p| *p <= span) {
                add(part);
            }
            add(span);
        }
        parts.for_each(add);
        out
    }
}
