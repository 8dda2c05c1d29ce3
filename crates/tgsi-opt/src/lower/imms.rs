//! Immediates: operands ask for sets of words, registers are shared by bits.

use smallvec::SmallVec;
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
    let needs: Vec<SmallVec<[u32; 4]>> = requests.iter().map(need).collect();
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&i| (!requests[i].pairs, std::cmp::Reverse(needs[i].len())));
    let mut regs: Vec<SmallVec<[u32; 4]>> = Vec::new();
    let mut home = vec![0; requests.len()];
    for i in order {
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
                regs.push(SmallVec::new());
                regs.len() - 1
            }
        };
        if requests[i].pairs {
            for w in words.chunks(2) {
                if pair_at(&regs[r], w).is_none() {
                    regs[r].extend(w.iter().copied());
                }
            }
        } else {
            for &w in words {
                if !regs[r].contains(&w) {
                    regs[r].push(w);
                }
            }
        }
        home[i] = r;
    }
    let imms: Vec<[u32; 4]> = regs
        .iter()
        .map(|r| {
            let mut w = [0; 4];
            w[..r.len()].copy_from_slice(r);
            w
        })
        .collect();
    let found = requests.iter().zip(&home).map(|(q, &r)| (r, swizzle(q, &imms[r]))).collect();
    Packed { imms, found }
}

fn need(q: &Request) -> SmallVec<[u32; 4]> {
    let mut out = SmallVec::new();
    if q.pairs {
        for p in 0..2 {
            if let (Some(a), Some(b)) = (q.words[2 * p], q.words[2 * p + 1])
                && pair_at(&out, &[a, b]).is_none()
            {
                out.extend([a, b]);
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
        let new = words.chunks(2).filter(|w| pair_at(have, w).is_none()).count();
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
                let own = if imm[c] == w { Some(c) } else { imm.iter().position(|&x| x == w) };
                out[c] = own.unwrap_or(0) as u8;
            }
        }
    }
    super::insts::fill(&mut out, q.pairs);
    out
}

/// The type an immediate is printed with: that of the input's equal one, else UINT32.
pub(super) fn typed(words: [u32; 4], input: &Program) -> Imm {
    let same = input.header.iter().find_map(|i| match i {
        Item::Imm(m) if m.words == words => Some(m.ty),
        _ => None,
    });
    Imm { ty: same.unwrap_or(ImmType::Uint32), words, span: Default::default() }
}
