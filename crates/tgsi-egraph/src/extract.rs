//! Which of equal values to compute.

use rustc_hash::FxHashMap;
use tgsi::{Opcode, Shape};
use tgsi_ir::rewrite::{Edits, PhiInputs, liveness, walk};
use tgsi_ir::{FUNCTION, Function, Item, VOp, Value, ix, value_at};
use tgsi_rules::Contract;

use crate::{Graph, Rules};

/// How values are priced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Whether lanes that can share an instruction share its price.
    pub lanes: bool,
    /// Rounds of choosing, each with the readers and lanes of the one before.
    pub rounds: u32,
}

/// The choice and what it rests on.
pub struct Choice {
    /// For each value that is computed as another one.
    pub edits: Edits,
    /// The contracts of the rules behind it.
    pub contract: Contract,
    /// The rules behind it: value and rule.
    pub rules: Vec<(Value, u16)>,
    /// Values computed as an alternative whose rules are not known.
    pub searched: u32,
}

/// What costs next to nothing, to break ties.
const TRIFLE: f32 = 0.02;

/// Chooses among equal values.
pub fn extract(g: &Graph, phis: &PhiInputs, rules: &Rules, model: Model) -> Choice {
    let n = g.f.values.len();
    let roots = roots(&g.f, phis);
    // `pick[v]` is the value that stands for `v`: itself or an alternative, already resolved.
    let mut pick: Vec<u32> = (0..n as u32).collect();
    let mut cost = vec![0f32; n];
    let mut keys = vec![0u64; n];
    for round in 0..model.rounds {
        let uses = uses(&g.f, &roots, &pick);
        keys.fill(0);
        let counts = if model.lanes {
            shared(g, &uses, &pick, &mut keys, round > 0)
        } else {
            FxHashMap::default()
        };
        let mut next = pick.clone();
        for i in 0..n {
            let v = value_at(i);
            let mut own = price(g, v, &pick, keys[i], &counts);
            if let Some(c) = g.chaos {
                own *= 0.5 + c.below(8, "price", i as u64) as f32 / 8.0;
            }
            for &a in &g.f.values[v].args {
                let a = ix(a);
                let readers = uses[next[a] as usize].max(1);
                own += cost[a] / readers as f32;
            }
            let mut best = own;
            let mut to = i as u32;
            for &(m, _) in &g.alternatives[i] {
                let c = cost[ix(m)];
                if c < best - 1e-4 {
                    best = c;
                    to = next[ix(m)];
                }
            }
            cost[i] = best;
            next[i] = to;
        }
        pick = next;
    }
    finish(g, phis, rules, &pick)
}

/// Values that items, edges and results name.
fn roots(f: &Function, phis: &PhiInputs) -> Vec<Value> {
    let mut roots = Vec::new();
    walk(f, &f.body, &mut |item| match item {
        Item::Effect(v) => roots.push(*v),
        Item::If(i) => roots.push(i.cond),
        Item::Switch(s) => {
            roots.push(s.selector);
            roots.extend(s.cases.iter().filter_map(|c| c.label));
        }
        Item::Depart(FUNCTION, args) => roots.extend(args),
        _ => {}
    });
    roots.extend(f.end_args.iter().flatten());
    for &p in &phis.order {
        roots.extend(phis.of(p));
    }
    roots
}

/// Readers of each value under a choice; 0 for what is not computed.
fn uses(f: &Function, roots: &[Value], pick: &[u32]) -> Vec<u32> {
    let mut uses = vec![0u32; f.values.len()];
    for &r in roots {
        uses[pick[ix(r)] as usize] += 1;
    }
    for i in (0..f.values.len()).rev() {
        if uses[i] == 0 {
            continue;
        }
        for &a in &f.values[value_at(i)].args {
            uses[pick[ix(a)] as usize] += 1;
        }
    }
    uses
}

/// What stands for an operand behind its signs, and a number for those: operands of one register
/// need the same.
fn without_sign(f: &Function, operand: Value, pick: &[u32]) -> (Value, u64) {
    let mut v = value_at(pick[ix(operand)] as usize);
    let mut sign = 0;
    while let VOp::Neg | VOp::Abs = f.values[v].op {
        sign = sign * 2 + u64::from(f.values[v].op == VOp::Neg) + 1;
        v = value_at(pick[ix(f.values[v].args[0])] as usize);
    }
    (v, sign)
}

/// What lanes have in common that can share an instruction: the operation, and the register
/// or source instruction of each operand.
fn key(g: &Graph, v: Value, pick: &[u32]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let f = &g.f;
    let d = &f.values[v];
    let VOp::Alu(op) = d.op else { return 0 };
    let mut h = (op as u64 + 1).wrapping_mul(ODD);
    let operand = |a: Value| {
        let (a, sign) = without_sign(f, a, pick);
        let x = &f.values[a];
        let (kind, word) = match x.op {
            VOp::Imm(_) => return 1,
            VOp::Reg(r, _) => (1, u64::from(r.0)),
            VOp::Proj(_) => (2, ix(x.args[0]) as u64),
            VOp::Phi(_) => (3, u64::from(x.hint.inst)),
            VOp::Alu(op) => (4, u64::from(x.hint.inst) << 16 | op as u64),
            _ => (5, u64::from(x.hint.inst)),
        };
        (word << 8 | kind << 4 | sign).wrapping_mul(ODD)
    };
    let commutes = tgsi_rules::Op::Alu(op).commutes();
    let words: smallvec::SmallVec<[u64; 8]> = d.args.iter().map(|&a| operand(a)).collect();
    if commutes && words.len() >= 2 {
        h = h.rotate_left(23) ^ words[0].wrapping_add(words[1]);
        for w in &words[2..] {
            h = (h.rotate_left(23) ^ w).wrapping_mul(ODD);
        }
    } else {
        for w in &words {
            h = (h.rotate_left(23) ^ w).wrapping_mul(ODD);
        }
    }
    h.max(1)
}

fn componentwise(op: Opcode) -> bool {
    op.info().shape == Shape::Comp
}

/// How many values could share instructions, by key: of the values that are computed or could
/// be in place of one that is. Notes the key of each in `key_of`.
fn shared(
    g: &Graph,
    uses: &[u32],
    pick: &[u32],
    key_of: &mut [u64],
    settled: bool,
) -> FxHashMap<u64, u32> {
    let mut owners: Vec<(u64, u64)> = Vec::with_capacity(uses.len() / 2);
    let mut possible: Vec<(u64, u64)> = Vec::new();
    for (v, d) in g.f.values.iter() {
        let i = ix(v);
        if uses[pick[i] as usize] == 0 || matches!(d.op, VOp::Imm(_) | VOp::Reg(..)) {
            continue;
        }
        let alternatives = g.alternatives[i].iter().map(|a| a.0);
        for m in std::iter::once(v).chain(alternatives) {
            let d = &g.f.values[m];
            if let VOp::Alu(op) = d.op
                && componentwise(op)
            {
                if key_of[ix(m)] == 0 {
                    key_of[ix(m)] = key(g, m, pick);
                }
                let place = u64::from(d.hint.inst) << 3 | u64::from(d.hint.lane);
                if !settled || pick[ix(m)] as usize == ix(m) && uses[ix(m)] > 0 {
                    owners.push((key_of[ix(m)], place));
                }
                if settled {
                    possible.push((key_of[ix(m)], place));
                }
            }
        }
    }
    // Values made for one lane of one source instruction depend on each other: they count once.
    owners.sort_unstable();
    owners.dedup();
    let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
    for (k, _) in owners {
        *counts.entry(k).or_default() += 1;
    }
    // Lanes of one source instruction may move together.
    possible.sort_unstable();
    possible.dedup();
    for run in possible.chunk_by(|a, b| a.0 == b.0 && a.1 >> 3 == b.1 >> 3) {
        let count = counts.entry(run[0].0).or_default();
        *count = (*count).max(run.len() as u32);
    }
    counts
}

/// The price of the operation itself.
fn price(g: &Graph, v: Value, pick: &[u32], key: u64, counts: &FxHashMap<u64, u32>) -> f32 {
    let d = &g.f.values[v];
    match d.op {
        VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) | VOp::Phi(_) | VOp::Proj(_) | VOp::Half(_) => {
            0.0
        }
        VOp::Neg | VOp::Abs | VOp::INeg => TRIFLE,
        VOp::Sat => TRIFLE,
        VOp::Pair => 0.0,
        VOp::Multi(_) => 1.0,
        // What the consumer expands costs all its slots.
        VOp::Alu(op) if !g.taken.even_slots() => {
            g.taken.slots(op) as f32 * lane_price(g, d, op, pick, key, counts)
        }
        VOp::Alu(op) => lane_price(g, d, op, pick, key, counts),
    }
}

/// The price of an operation that takes one slot.
fn lane_price(
    g: &Graph,
    d: &tgsi_ir::ValueData,
    op: Opcode,
    pick: &[u32],
    key: u64,
    counts: &FxHashMap<u64, u32>,
) -> f32 {
    match op.info().shape {
        Shape::Comp => {
            if counts.is_empty() {
                return 1.0 + TRIFLE;
            }
            let m = counts.get(&key).copied().unwrap_or(1).max(1);
            m.div_ceil(4) as f32 / m as f32 + TRIFLE
        }
        Shape::Dot(n) => 1.0 + TRIFLE + foreign(g, d, usize::from(n), pick),
        _ => 1.0 + TRIFLE,
    }
}

/// What a dot product pays because its operands stand in several registers.
fn foreign(g: &Graph, d: &tgsi_ir::ValueData, n: usize, pick: &[u32]) -> f32 {
    let mut extra = 0.0;
    for side in d.args.chunks(n) {
        let mut homes: smallvec::SmallVec<[u64; 4]> = smallvec::SmallVec::new();
        for &a in side {
            let (a, sign) = without_sign(&g.f, a, pick);
            let x = &g.f.values[a];
            let home = match x.op {
                VOp::Imm(_) => 3,
                VOp::Reg(r, _) => u64::from(r.0) << 8 | 4,
                VOp::Proj(_) => (ix(x.args[0]) as u64) << 8 | 5,
                VOp::Phi(_) => 6,
                // A computed lane can be computed in place.
                _ => 7,
            };
            let home = home << 4 | sign;
            if !homes.contains(&home) {
                homes.push(home);
            }
        }
        extra += (homes.len() as f32 - 1.0).max(0.0) * 0.7;
    }
    extra
}

/// The edits that a choice asks for.
fn finish(g: &Graph, phis: &PhiInputs, rules: &Rules, pick: &[u32]) -> Choice {
    let mut edits = Edits::default();
    for (i, &p) in pick.iter().enumerate() {
        if p as usize != i {
            edits.subst.insert(value_at(i), value_at(p as usize));
        }
    }
    let live = liveness(&g.f, &edits, phis);
    let mut contract = g.contract;
    let mut fired = Vec::new();
    let mut searched = 0;
    for i in 0..g.f.values.len() {
        // A value that stands for a needed one: the step that the rule took.
        if pick[i] as usize == i || !live.live[pick[i] as usize] {
            continue;
        }
        let mut v = i;
        while pick[v] as usize != v {
            let step = g.alternatives[v]
                .iter()
                .find(|(m, _)| pick[ix(*m)] == pick[v]);
            let Some(&(m, rule)) = step else { break };
            if rule == crate::saturation::FOUND {
                contract = contract.and(g.searched);
                searched += 1;
            } else {
                contract = contract.and(rules.contract(rule));
                fired.push((value_at(v), rule));
            }
            v = ix(m);
        }
    }
    Choice {
        edits,
        contract,
        rules: fired,
        searched,
    }
}
