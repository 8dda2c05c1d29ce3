//! Packs of different operations made one: an operation with a neutral operand is another one.
//!
//! `ADD a, b` is a lane of a MAD whose other lanes multiply by constants (`a * 1.0 + b`), `MUL a, b`
//! one of a MAD that adds constants (`a * b + -0.0`), a copy one of either; a constant lane of an
//! output is a lane of any selection between constants. All of it holds bit for bit, the payload of a
//! NaN apart: a copied word must come from a float operation.

use smallvec::SmallVec;
use tgsi::{Opcode, Ty};

use super::merge::Reach;
use super::{Home, PackId, Packing};
use crate::lir::{NONE, Node, NodeId, Opnd, Ref, What};

/// Partners tried for a pack.
const LOOK: usize = 24;

/// How deep chains of truth values are followed.
const MASK_DEPTH: u32 = 5;

const ONE: u32 = 0x3f80_0000;
const MINUS_ZERO: u32 = 0x8000_0000;

/// Where an operand of the new operation comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Source of the old one.
    Source(u8),
    /// A constant.
    Word(u32),
    /// The same operand as the partner's.
    Partner,
}

use self::Part::{Partner, Source, Word};

type Form = SmallVec<[Part; 3]>;

fn form(parts: &[Part]) -> Form {
    SmallVec::from_slice(parts)
}

/// The operations that take part.
fn mixes(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Mov | Add | Mul | Mad | Ucmp | Cmp | And)
}

/// Whether two operations have a form in common that is not their own: two of one kind were merged
/// before if they could be, unless the order of their operands differs.
fn pairs(a: Opcode, b: Opcode) -> bool {
    use Opcode::*;
    match (a, b) {
        (Ucmp, Mov | And) | (Mov | And, Ucmp) => true,
        (Cmp, Mov) | (Mov, Cmp) => true,
        (And, Mov) | (Mov, And) => true,
        (Mov | Add | Mul | Mad, Mov | Add | Mul | Mad) => (a, b) != (Mov, Mov),
        _ => false,
    }
}

impl Packing {
    /// Merges packs of different operations in a window.
    pub(super) fn mix_window(&mut self, r: &mut Reach, zero_wins: bool) {
        let candidates: Vec<(u16, Opcode, bool)> = (0..r.packs.len())
            .filter(|&i| self.mixable(r.packs[i]))
            .map(|i| {
                (
                    i as u16,
                    self.opcode(r.packs[i]),
                    self.first(r.packs[i]).sat,
                )
            })
            .collect();
        if candidates.len() < 2 {
            return;
        }
        for at in (0..candidates.len()).rev() {
            let (i, _, sat) = candidates[at];
            let i = usize::from(i);
            while self.mixable(r.packs[i]) {
                let op = self.opcode(r.packs[i]);
                let before = candidates[..at].iter().rev().take(LOOK);
                let after = candidates[at + 1..].iter().take(LOOK);
                let near = after
                    .chain(before)
                    .filter(|&&(_, o, s)| s == sat && pairs(op, o))
                    .map(|c| usize::from(c.0));
                let near: SmallVec<[usize; 48]> = near.collect();
                let partner = near.into_iter().find(|&j| {
                    let (a, b) = (r.packs[i], r.packs[j]);
                    self.mixable(b)
                        && !r.has(i, j)
                        && !r.has(j, i)
                        && !self.raises_level(a, b)
                        && self.mix(a, b, zero_wins)
                });
                match partner {
                    Some(j) => {
                        self.join(r, i, j);
                        self.join_levels(r.packs[i], r.packs[j]);
                    }
                    None => break,
                }
            }
        }
    }

    fn mixable(&self, p: PackId) -> bool {
        let pack = &self.packs[p as usize];
        if pack.dead || pack.rigid || pack.store != NONE || pack.nodes.len() > 3 {
            return false;
        }
        let node = &self.lir.nodes[pack.nodes[0] as usize];
        let What::Alu(op) = node.what else {
            return false;
        };
        mixes(op) && !node.precise && node.dst_count == 1 && node.addr_count == 0
    }

    fn opcode(&self, p: PackId) -> Opcode {
        match self.lir.nodes[self.packs[p as usize].nodes[0] as usize].what {
            What::Alu(op) => op,
            What::Multi(_) => Opcode::Nop,
        }
    }

    /// The ways in which a pack is lanes of `op`.
    fn forms(&self, p: PackId, op: Opcode, zero_wins: bool) -> SmallVec<[Form; 4]> {
        use Opcode::*;
        let mut forms = SmallVec::new();
        let own = self.opcode(p);
        let mut add = |parts: &[Part]| forms.push(form(parts));
        match (own, op) {
            (Mad, Mad) => {
                add(&[Source(0), Source(1), Source(2)]);
                add(&[Source(1), Source(0), Source(2)]);
            }
            (Mul, Mad) => {
                add(&[Source(0), Source(1), Word(MINUS_ZERO)]);
                add(&[Source(1), Source(0), Word(MINUS_ZERO)]);
            }
            (Add, Mad) if !zero_wins => {
                add(&[Source(0), Word(ONE), Source(1)]);
                add(&[Source(1), Word(ONE), Source(0)]);
                add(&[Word(ONE), Source(0), Source(1)]);
                add(&[Word(ONE), Source(1), Source(0)]);
            }
            (Mov, Mad) if !zero_wins && self.copies_floats(p) => {
                add(&[Source(0), Word(ONE), Word(MINUS_ZERO)]);
                add(&[Word(ONE), Source(0), Word(MINUS_ZERO)]);
            }
            (Add, Add) | (Mul, Mul) => {
                add(&[Source(0), Source(1)]);
                add(&[Source(1), Source(0)]);
            }
            (Mov, Add) if self.copies_floats(p) => {
                add(&[Source(0), Word(MINUS_ZERO)]);
                add(&[Word(MINUS_ZERO), Source(0)]);
            }
            (Mov, Mul) if !zero_wins && self.copies_floats(p) => {
                add(&[Source(0), Word(ONE)]);
                add(&[Word(ONE), Source(0)]);
            }
            (Ucmp, Ucmp) | (Cmp, Cmp) => add(&[Source(0), Source(1), Source(2)]),
            (Mov, Ucmp | Cmp) if self.constant(p, 0) => add(&[Partner, Source(0), Source(0)]),
            (And, Ucmp) if !self.virgl => {
                for k in 0..2u8 {
                    let plain = self
                        .slot(&self.packs[p as usize], usize::from(k))
                        .iter()
                        .all(|o| !o.neg && !o.abs);
                    if plain
                        && self.constant(p, usize::from(k))
                        && self.truth(p, usize::from(1 - k))
                    {
                        add(&[Source(1 - k), Source(k), Word(0)]);
                    }
                }
            }
            _ => {}
        }
        forms
    }

    /// Whether all lanes of a source are constants.
    fn constant(&self, p: PackId, k: usize) -> bool {
        self.slot_home(&self.packs[p as usize], k) == Home::Imm
    }

    /// Whether all lanes of a source are 0 or all ones.
    fn truth(&self, p: PackId, k: usize) -> bool {
        self.slot(&self.packs[p as usize], k)
            .iter()
            .all(|o| self.is_mask(o, MASK_DEPTH))
    }

    /// Whether a word is 0 or all ones: a comparison, or what AND, OR and XOR make of such.
    fn is_mask(&self, o: &Opnd, depth: u32) -> bool {
        use Opcode::*;
        let Ref::Ent(e) = o.r else { return false };
        let Some(depth) = depth.checked_sub(1).filter(|_| !o.neg) else {
            return false;
        };
        match self.maker(o) {
            Some(Fseq | Fsge | Fslt | Fsne | Isge | Islt | Useq | Usge | Uslt | Usne) => true,
            Some(And | Or | Xor) => {
                let n = self.lir.def[e as usize];
                (0..2).all(|k| self.source(n, k).iter().all(|o| self.is_mask(o, depth)))
            }
            _ => false,
        }
    }

    /// The operation that makes an operand.
    fn maker(&self, o: &Opnd) -> Option<Opcode> {
        let Ref::Ent(e) = o.r else { return None };
        let node = self.lir.nodes.get(self.lir.def[e as usize] as usize)?;
        match node.what {
            What::Alu(op) => Some(op),
            What::Multi(_) => None,
        }
    }

    /// Whether a copy hands on nothing but what float operations made: arithmetic would not change it.
    fn copies_floats(&self, p: PackId) -> bool {
        use Opcode::*;
        let pack = &self.packs[p as usize];
        if self.lir.nodes[pack.nodes[0] as usize].sat {
            return true;
        }
        let read_as_floats = pack
            .nodes
            .iter()
            .all(|&n| self.floats.get(self.lir.nodes[n as usize].dst as usize) == Some(&true));
        read_as_floats
            || self.slot(pack, 0).iter().all(|o| {
                self.maker(o).is_some_and(|op| {
                    op.info().dst_ty == Ty::F && !matches!(op, Mov | Cmp | Cnd | Cnd0 | Clamp | Swz)
                })
            })
    }

    /// Notes which words are read by nothing but float operations: what
    /// arithmetic does to the payload of a NaN, or a consumer to a denormal, happens to them anyway.
    pub(super) fn note_floats(&mut self) {
        let mut floats = vec![true; self.lir.ents as usize];
        for node in &self.lir.nodes {
            let types: &[Ty] = match node.what {
                What::Alu(op) if !matches!(op, Opcode::Cmp | Opcode::Ucmp) => op.info().src_ty,
                _ => &[],
            };
            let mut at = node.first as usize;
            for (k, &len) in node.lens[..node.sources as usize].iter().enumerate() {
                for o in &self.lir.opnds[at..at + len as usize] {
                    if let Ref::Ent(e) = o.r
                        && types.get(k) != Some(&Ty::F)
                    {
                        floats[e as usize] = false;
                    }
                }
                at += len as usize;
            }
        }
        for block in self.lir.blocks.iter() {
            for r in block.moves.iter().map(|m| m.src).chain(block.cond) {
                if let Ref::Ent(e) = r {
                    floats[e as usize] = false;
                }
            }
        }
        for (e, output) in self.lir.output.iter().enumerate() {
            if output.is_some() {
                floats[e] = false;
            }
        }
        self.floats = floats;
    }

    /// Merges `b` into `a` if both are lanes of one operation.
    fn mix(&mut self, a: PackId, b: PackId, zero_wins: bool) -> bool {
        use Opcode::*;
        let (x, y) = (self.opcode(a), self.opcode(b));
        let (m, n) = (self.first(a), self.first(b));
        if m.sat != n.sat
            || self.packs[a as usize].nodes.len() + self.packs[b as usize].nodes.len() > 4
        {
            return false;
        }
        let targets: &[Opcode] = match (x, y) {
            (Ucmp, Mov | And) | (Mov | And, Ucmp) => &[Ucmp],
            (Cmp, Mov) | (Mov, Cmp) => &[Cmp],
            // Two selections between constants, one of them of a constant only.
            (And, Mov) | (Mov, And) => &[Ucmp],
            (Mov, Mov) | (And, _) | (_, And) | (Ucmp | Cmp, _) | (_, Ucmp | Cmp) => return false,
            (Add, Mov) | (Mov, Add) | (Add, Add) => &[Add, Mad],
            (Mul, Mov) | (Mov, Mul) | (Mul, Mul) => &[Mul, Mad],
            _ => &[Mad],
        };
        for &op in targets {
            let forms_a = self.forms(a, op, zero_wins);
            if forms_a.is_empty() {
                continue;
            }
            let forms_b = self.forms(b, op, zero_wins);
            for fa in &forms_a {
                for fb in &forms_b {
                    if self.try_mix(a, b, op, fa, fb) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn first(&self, p: PackId) -> Node {
        self.lir.nodes[self.packs[p as usize].nodes[0] as usize]
    }

    /// The home and modifiers of an operand in its new form; nothing stands for the partner's.
    fn slot_of(&self, p: PackId, part: Part) -> Option<(Home, bool, bool)> {
        match part {
            Word(_) => Some((Home::Imm, false, false)),
            Partner => None,
            Source(k) => {
                let pack = &self.packs[p as usize];
                let k = usize::from(k);
                let home = self.slot_home(pack, k);
                let (neg, abs) = self.modifiers(&pack.nodes, k).unwrap_or_default();
                Some((home, neg, abs))
            }
        }
    }

    fn try_mix(&mut self, a: PackId, b: PackId, op: Opcode, fa: &Form, fb: &Form) -> bool {
        let mut flags: SmallVec<[(bool, bool); 3]> = SmallVec::new();
        let mut pairs: SmallVec<[(Home, Home); 3]> = SmallVec::new();
        for (&ka, &kb) in fa.iter().zip(fb) {
            let (sa, sb) = match (self.slot_of(a, ka), self.slot_of(b, kb)) {
                (Some(sa), Some(sb)) => (sa, sb),
                (Some(s), None) | (None, Some(s)) => (s, s),
                (None, None) => return false,
            };
            let wild = |h: Home| matches!(h, Home::Imm | Home::Any);
            let modifiers = match (sa, sb) {
                ((_, n, v), (_, m, w)) if (n, v) == (m, w) => (n, v),
                ((h, ..), (_, n, v)) if wild(h) => (n, v),
                ((_, n, v), (h, ..)) if wild(h) => (n, v),
                _ => return false,
            };
            // Constants take on any sign, but an absolute value has none.
            if modifiers.1 && (sa.0 == Home::Imm || sb.0 == Home::Imm) {
                return false;
            }
            match (sa.0, sb.0) {
                (Home::Class(_), Home::Class(_)) => {}
                (Home::Any, _) | (_, Home::Any) => {}
                (h, g) if h != g => return false,
                _ => {}
            }
            flags.push(modifiers);
            pairs.push((sa.0, sb.0));
        }
        if !self.unite_mixed(a, b, &pairs) {
            return false;
        }
        let like = (
            self.packs[a as usize].nodes[0],
            self.packs[b as usize].nodes[0],
        );
        let partner = |k: usize, n: NodeId, s: &Self| s.source(n, k)[0];
        // Operands of partners are read before they are rewritten.
        let lend_a: SmallVec<[Opnd; 3]> = fb
            .iter()
            .zip(fa)
            .enumerate()
            .filter(|(_, (kb, _))| **kb == Partner)
            .map(|(_, (_, ka))| match ka {
                Source(k) => partner(usize::from(*k), like.0, self),
                _ => plain_word(0),
            })
            .collect();
        let lend_b: SmallVec<[Opnd; 3]> = fa
            .iter()
            .zip(fb)
            .filter(|(ka, _)| **ka == Partner)
            .map(|(_, kb)| match kb {
                Source(k) => partner(usize::from(*k), like.1, self),
                _ => plain_word(0),
            })
            .collect();
        self.rewrite(a, op, fa, &flags, &lend_b);
        self.rewrite(b, op, fb, &flags, &lend_a);
        let nodes = std::mem::take(&mut self.packs[b as usize].nodes);
        for &n in &nodes {
            self.pack_of[n as usize] = a;
        }
        self.packs[b as usize].dead = true;
        let pos = self.packs[b as usize].pos;
        let pack = &mut self.packs[a as usize];
        pack.nodes.extend(nodes);
        pack.pos = pack.pos.min(pos);
        true
    }

    /// Unites results and operands; leaves nothing on failure.
    fn unite_mixed(&mut self, a: PackId, b: PackId, pairs: &[(Home, Home)]) -> bool {
        let mark = self.log.len();
        let home = |s: &Self, p: PackId| s.class(s.first(p).dst);
        let (x, y) = (home(self, a), home(self, b));
        if self.classes[x as usize].kind != self.classes[y as usize].kind
            || x == y && !self.distinct_results(a, b)
        {
            return false;
        }
        let mut ok = self.unite(x, y);
        for &(h, g) in pairs {
            let root = |s: &Self, h: Home| match h {
                Home::Class(c) => Home::Class(s.class_root(c)),
                h => h,
            };
            ok = ok && {
                let (h, g) = (root(self, h), root(self, g));
                self.join_homes(h, g).is_some()
            };
        }
        if !ok {
            self.undo(mark);
        }
        ok
    }

    /// Gives the lanes of a pack the new operation.
    fn rewrite(
        &mut self,
        p: PackId,
        op: Opcode,
        form: &Form,
        flags: &[(bool, bool)],
        lent: &[Opnd],
    ) {
        let nodes = self.packs[p as usize].nodes.clone();
        for n in nodes {
            let mut lent = lent.iter();
            let mut words: SmallVec<[Opnd; 3]> = SmallVec::new();
            for (k, part) in form.iter().enumerate() {
                let mut o = match *part {
                    Source(k) => self.source(n, usize::from(k))[0],
                    Word(w) => plain_word(w),
                    Partner => lent.next().copied().unwrap_or(plain_word(0)),
                };
                if let Ref::Imm(w) = o.r {
                    let (neg, abs) = flags[k];
                    let w = if o.abs { w & !MINUS_ZERO } else { w };
                    let w = if o.neg != neg { w ^ MINUS_ZERO } else { w };
                    o = Opnd {
                        r: Ref::Imm(w),
                        neg,
                        abs,
                        pos: o.pos,
                    };
                }
                if let Ref::Undef(_) = o.r {
                    (o.neg, o.abs) = flags[k];
                }
                words.push(o);
            }
            let first = self.lir.opnds.len() as u32;
            self.lir.opnds.extend(&words);
            let node = &mut self.lir.nodes[n as usize];
            node.first = first;
            node.what = What::Alu(op);
            node.sources = 0;
            for _ in &words {
                node.push_len(1);
            }
        }
    }
}

fn plain_word(w: u32) -> Opnd {
    Opnd {
        r: Ref::Imm(w),
        neg: false,
        abs: false,
        pos: 0,
    }
}
