//! Immediates: operands ask for sets of words, registers are shared by bits.

use tgsi::{Imm, ImmType, Item, Program};

/// An operand that reads immediates.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Instruction.
    pub(super) inst: usize,
    /// Source, or texel offset behind the sources.
    pub(super) source: usize,
    /// Word wanted in each channel of the operand.
    pub(super) words: [Option<u32>; 4],
    /// Words stand in aligned pairs (64-bit operands).
    pub(super) pairs: bool,
}

/// The immediates of a program and where each request found its words.
pub(super) struct Packed {
    /// Registers.
    pub(super) imms: Vec<[u32; 4]>,
    /// Register and swizzle of each request.
    pub(super) found: Vec<(usize, [u8; 4])>,
}

/// Packs all requests into few registers: the largest sets first, into the register
/// that has most of their words already and room for the rest.
pub(super) fn pack(requests: &[Request]) -> Packed {
    if requests.is_empty() {
        return Packed {
            imms: Vec::new(),
            found: Vec::new(),
        };
    }
    let mut needs: Vec<Words> = Vec::with_capacity(requests.len());
    for q in requests {
        needs.push(need(q));
    }
    let mut regs: Vec<Words> = Vec::new();
    let mut home = vec![0; requests.len()];
    for i in largest_first(requests, &needs) {
        let words = &needs[i];
        let mut best: Option<(usize, usize)> = None;
        for (r, have) in regs.iter().enumerate() {
            let missing = missing(have, words, requests[i].pairs);
            if have.len() + missing <= 4 && best.is_none_or(|b| missing < b.0) {
                best = Some((missing, r));
                if missing == 0 {
                    break;
                }
            }
        }
        let r = match best {
            Some((_, r)) => r,
            None => {
                regs.push(Words::default());
                regs.len() - 1
            }
        };
        if requests[i].pairs {
            for w in words.chunks(2) {
                if pair_at(&regs[r], w).is_none() {
                    w.iter().for_each(|&w| regs[r].push(w));
                }
            }
        } else {
            for &w in words.iter() {
                if !regs[r].contains(&w) {
                    regs[r].push(w);
                }
            }
        }
        home[i] = r;
    }
    let imms: Vec<[u32; 4]> = regs.iter().map(|r| r.words).collect();
    let found = requests
        .iter()
        .zip(&home)
        .map(|(q, &r)| (r, swizzle(q, &imms[r])))
        .collect();
    Packed { imms, found }
}

/// Up to four words; zeros behind the last.
#[derive(Clone, Copy, Default)]
struct Words {
    words: [u32; 4],
    count: usize,
}

impl Words {
    #[inline]
    fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for Words {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.words[..self.count.min(4)]
    }
}

/// The requests with pairs, then the others; those of more words first, else in their order.
fn largest_first(requests: &[Request], needs: &[Words]) -> Vec<usize> {
    let rank = |i: usize| 5 * usize::from(!requests[i].pairs) + 4 - needs[i].len();
    let mut next = [0; 11];
    for i in 0..requests.len() {
        next[rank(i) + 1] += 1;
    }
    for r in 1..next.len() {
        next[r] += next[r - 1];
    }
    let mut order = vec![0; requests.len()];
    for i in 0..requests.len() {
        let at = &mut next[rank(i)];
        order[*at] = i;
        *at += 1;
    }
    order
}

fn need(q: &Request) -> Words {
    let mut out = Words::default();
    if q.pairs {
        for p in 0..2 {
            if let (Some(a), Some(b)) = (q.words[2 * p], q.words[2 * p + 1])
                && pair_at(&out, &[a, b]).is_none()
            {
                out.push(a);
                out.push(b);
            }
        }
        return out;
    }
    for w in q.words.into_iter().flatten() {
        if !out.contains(&w) {
            out.push(w);
        }
    }
    out
}

fn pair_at(have: &[u32], pair: &[u32]) -> Option<usize> {
    have.chunks(2).position(|c| c == pair).map(|i| 2 * i)
}

fn missing(have: &[u32], words: &[u32], pairs: bool) -> usize {
    if pairs {
        // A pair joins only at an even place.
        let odd = have.len() % 2;
        let new = words
            .chunks(2)
            .filter(|w| pair_at(have, w).is_none())
            .count();
        return if new == 0 { 0 } else { 2 * new + 4 * odd };
    }
    words.iter().filter(|w| !have.contains(w)).count()
}

fn swizzle(q: &Request, imm: &[u32; 4]) -> [u8; 4] {
    let mut out = [u8::MAX; 4];
    if q.pairs {
        for p in 0..2 {
            if let (Some(a), Some(b)) = (q.words[2 * p], q.words[2 * p + 1])
                && let Some(at) = pair_at(imm, &[a, b])
            {
                out[2 * p] = at as u8;
                out[2 * p + 1] = at as u8 + 1;
            }
        }
    } else {
        for c in 0..4 {
            if let Some(w) = q.words[c] {
                // The word's own channel if it stands there: the swizzle reads plainer.
                let own = if imm[c] == w {
                    Some(c)
                } else {
                    imm.iter().position(|&x| x == w)
                };
                out[c] = own.unwrap_or(0) as u8;
            }
        }
    }
    super::insts::fill(&mut out, q.pairs);
    out
}

/// The type an immediate is printed with: that of the input's equal one, else UINT32, which the
/// readers of old headers do not know.
pub(super) fn typed(words: [u32; 4], input: &Program) -> Imm {
    let same = input.header.iter().find_map(|i| match i {
        Item::Imm(m) if m.words == words => Some(m.ty),
        _ => None,
    });
    let plain = words
        .iter()
        .all(|&w| w == 0 || f32::from_bits(w).is_normal());
    let new = if input.version.is_some() && plain {
        ImmType::Flt32
    } else {
        ImmType::Uint32
    };
    Imm {
        ty: same.unwrap_or(new),
        words,
        span: Default::default(),
    }
}
