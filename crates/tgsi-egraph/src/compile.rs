//! Rules in the form that matching wants, sorted by the operation at their root.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use tgsi::Opcode;
use tgsi_ir::{Chaos, VOp};
use tgsi_rules::{Cond, Contract, Direction, Op, RuleSet, Term, Var};
use tgsi_target::Taken;

use crate::Info;

/// A part of a pattern; operands are places in [`Compiled::parts`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// Anything.
    Var(u8),
    /// A constant.
    Const(u8),
    /// This word.
    Word(u32),
    /// An operation on the parts from `first` on, in the list of operands.
    Op {
        /// Operation.
        op: VOp,
        /// Place of the first operand in [`Compiled::operands`].
        first: u16,
        /// Number of operands.
        len: u8,
        /// Whether the first two may change places.
        commutes: bool,
    },
}

/// A rule ready to match.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub parts: Vec<Part>,
    /// Operands of parts, as places in `parts`.
    pub operands: Vec<u16>,
    /// The root of the left side.
    pub lhs: u16,
    /// The root of the right side.
    pub rhs: u16,
    pub replaces: bool,
    pub explores: bool,
    pub hands_on: bool,
    pub contract: Contract,
    pub conds: SmallVec<[Cond; 2]>,
    /// Operations and constants that the operands of the root must offer, as bits.
    pub needs: u64,
    /// Operations of the right side that are not in the left.
    pub makes: SmallVec<[Op; 2]>,
}

/// All rules, by root.
#[derive(Debug)]
pub struct Rules {
    pub(crate) rules: Vec<Compiled>,
    names: Vec<String>,
    by_root: Vec<Vec<u16>>,
    /// Views made so far: programs ask for few different ones.
    views: Cache<View>,
    /// The same rules as egg wants them.
    rewrites: Cache<Rewrites>,
    /// And as proofs want them: without and with any NaN.
    proofs: [Cache<Rewrites>; 2],
}

/// Rules as egg wants them.
pub(crate) type Rewrites = Vec<egg::Rewrite<crate::saturation::Term32, crate::saturation::Facts>>;

/// What decides which rules a program may use.
#[derive(Clone, Debug)]
pub(crate) struct Liberties {
    /// What the program grants.
    pub granted: Contract,
    /// Whether rules may make integer operations.
    pub integers: bool,
    /// Whether there is time for rules that seldom pay by themselves.
    pub explore: bool,
    /// What the consumer takes.
    pub taken: Arc<Taken>,
    /// Rules that are left out.
    pub disabled: Vec<u16>,
    /// Decides the order of rules.
    pub chaos: Option<Chaos>,
}

impl Liberties {
    fn same(&self, other: &Liberties) -> bool {
        self.granted == other.granted
            && self.integers == other.integers
            && self.explore == other.explore
            && self.disabled == other.disabled
            && self.chaos == other.chaos
            && (Arc::ptr_eq(&self.taken, &other.taken) || self.taken == other.taken)
    }
}

/// Rules that need the same of the operands of their root.
#[derive(Debug)]
pub(crate) struct Group {
    /// See [`Compiled::needs`].
    pub needs: u64,
    /// In their order.
    pub rules: Vec<u16>,
}

/// The rules that a program may use, by root; those that replace come first.
#[derive(Debug)]
pub(crate) struct View {
    by_root: Vec<Vec<Group>>,
}

impl View {
    /// The rules whose root is `op`.
    pub(crate) fn of(&self, op: VOp) -> &[Group] {
        op_index(op)
            .and_then(|i| self.by_root.get(i))
            .map_or(&[], |l| l)
    }

    /// The rules of the tests of KILL_IF.
    pub(crate) fn kills(&self) -> &[Group] {
        &self.by_root[KILL]
    }
}

/// A number for each operation that terms can name.
pub(crate) fn op_index(op: VOp) -> Option<usize> {
    Some(match op {
        VOp::Neg => 0,
        VOp::Abs => 1,
        VOp::INeg => 2,
        VOp::Sat => 3,
        VOp::Alu(op) => KILL + 1 + op as usize,
        _ => return None,
    })
}

/// The inverse of [`op_index`].
pub(crate) fn op_at(i: usize) -> VOp {
    match i {
        0 => VOp::Neg,
        1 => VOp::Abs,
        2 => VOp::INeg,
        3 => VOp::Sat,
        _ => VOp::Alu(tgsi::opcode::OPCODES[i - KILL - 1].op),
    }
}

/// Every operation whose first two operands may change places.
pub(crate) fn commuting() -> impl Iterator<Item = Op> {
    tgsi::opcode::OPCODES
        .iter()
        .map(|row| Op::Alu(row.op))
        .filter(|op| op.commutes())
        .filter(|op| matches!(op, Op::Alu(o) if !o.info().dst_ty.is_wide() && !o.info().src_ty.iter().any(|t| t.is_wide())))
}

/// The evaluations that folding may use in `f`, by [`op_index`].
pub(crate) fn evals(f: &tgsi_ir::Function) -> Vec<tgsi::Eval> {
    (0..KILL + 1 + tgsi::opcode::OPCODES.len())
        .map(|i| match i {
            0..=KILL => tgsi::Eval::None,
            _ => f.eval_of(tgsi::opcode::OPCODES[i - KILL - 1].op),
        })
        .collect()
}

/// The index of the test of a KILL_IF.
const KILL: usize = 4;

/// The bit of an operation among those that operands offer.
pub(crate) fn bit(op: VOp) -> u64 {
    match op {
        VOp::Imm(_) => 1,
        _ => op_index(op).map_or(0, |i| 2 << (i % 63)),
    }
}

pub(crate) fn vop(op: Op) -> VOp {
    match op {
        Op::Alu(op) => VOp::Alu(op),
        Op::Neg => VOp::Neg,
        Op::Abs => VOp::Abs,
        Op::INeg => VOp::INeg,
        Op::Sat => VOp::Sat,
        // Only its operand is matched; see `Rules::kills`.
        Op::Kill => VOp::Undef(0),
    }
}

impl Rules {
    /// Prepares rules. Those that are not among the names `frequent` are tried only where there is
    /// time to search.
    pub fn new(set: &RuleSet, frequent: &FxHashSet<&str>) -> Rules {
        let mut out = Rules {
            rules: Vec::new(),
            names: set.rules.iter().map(|r| r.name.clone()).collect(),
            by_root: vec![Vec::new(); KILL + 1 + tgsi::opcode::OPCODES.len()],
            views: Mutex::default(),
            rewrites: Mutex::default(),
            proofs: Default::default(),
        };
        for (i, rule) in set.rules.iter().enumerate() {
            let mut c = Compiled {
                parts: Vec::new(),
                operands: Vec::new(),
                lhs: 0,
                rhs: 0,
                replaces: rule.direction == Direction::Replace,
                explores: rule.direction == Direction::Explore
                    || !frequent.contains(rule.name.as_str()),
                hands_on: rule.hands_on(),
                contract: rule.contract,
                conds: rule.conds.iter().copied().collect(),
                needs: 0,
                makes: SmallVec::new(),
            };
            let constant = |v: tgsi_rules::Var| rule.is_constant(v);
            c.lhs = c.add(&rule.lhs, &constant);
            c.rhs = c.add(&rule.rhs, &constant);
            let mut known = Vec::new();
            rule.lhs.each_op(&mut |op| known.push(op));
            rule.rhs.each_op(&mut |op| {
                if !known.contains(&op) && !c.makes.contains(&op) {
                    c.makes.push(op);
                }
            });
            let Term::Op(root, args) = &rule.lhs else {
                continue;
            };
            for a in args {
                c.needs |= match a {
                    Term::Op(op, _) => bit(vop(*op)),
                    Term::Word(_) => 1,
                    Term::Var(v) if constant(*v) => 1,
                    Term::Var(_) => 0,
                };
            }
            let at = match root {
                Op::Kill => Some(KILL),
                op => op_index(vop(*op)),
            };
            if let Some(list) = at.and_then(|k| out.by_root.get_mut(k)) {
                list.push(i as u16);
            }
            out.rules.push(c);
        }
        out
    }

    /// The rules that a program with these liberties may use.
    pub(crate) fn view(&self, liberties: &Liberties) -> Arc<View> {
        cached(&self.views, liberties, || self.make_view(liberties))
    }

    fn make_view(&self, liberties: &Liberties) -> View {
        let by_root = self
            .by_root
            .iter()
            .map(|list| {
                let mut groups: Vec<(bool, Group)> = Vec::new();
                for &r in list {
                    let rule = &self.rules[usize::from(r)];
                    if !self.permits(r, rule, liberties) {
                        continue;
                    }
                    let same =
                        |g: &&mut (bool, Group)| g.0 == rule.replaces && g.1.needs == rule.needs;
                    match groups.iter_mut().find(same) {
                        Some(g) => g.1.rules.push(r),
                        None => groups.push((
                            rule.replaces,
                            Group {
                                needs: rule.needs,
                                rules: vec![r],
                            },
                        )),
                    }
                }
                if let Some(c) = liberties.chaos {
                    c.shuffle(&mut groups, "groups", 0);
                    for (k, g) in groups.iter_mut().enumerate() {
                        c.shuffle(&mut g.1.rules, "rules", k as u64);
                    }
                }
                groups.sort_by_key(|g| !g.0);
                groups.into_iter().map(|g| g.1).collect()
            })
            .collect();
        View { by_root }
    }

    /// The rewrites of a set of liberties, made once.
    pub(crate) fn rewrites(
        &self,
        liberties: &Liberties,
        make: impl FnOnce() -> Rewrites,
    ) -> Arc<Rewrites> {
        cached(&self.rewrites, liberties, make)
    }

    /// As [`Rules::rewrites`], for proofs.
    pub(crate) fn proofs(
        &self,
        liberties: &Liberties,
        any_nan: bool,
        make: impl FnOnce() -> Rewrites,
    ) -> Arc<Rewrites> {
        cached(&self.proofs[usize::from(any_nan)], liberties, make)
    }

    /// Whether a program with these liberties may use a rule.
    pub(crate) fn allows(&self, r: u16, liberties: &Liberties) -> bool {
        self.permits(r, &self.rules[usize::from(r)], liberties)
    }

    /// Whether a rule may be used at all.
    fn permits(&self, r: u16, rule: &Compiled, l: &Liberties) -> bool {
        l.granted.includes(rule.contract)
            && (l.explore || !rule.explores)
            && rule
                .makes
                .iter()
                .all(|&op| may_make(&l.taken, op) && (l.integers || !makes_integers(op)))
            && !l.disabled.contains(&r)
    }

    /// The name of a rule.
    pub fn name(&self, rule: u16) -> &str {
        &self.names[usize::from(rule)]
    }

    /// What a rule needs of its program.
    pub fn contract(&self, rule: u16) -> Contract {
        self.rules[usize::from(rule)].contract
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Compiled {
    fn add(&mut self, t: &Term, constant: &dyn Fn(tgsi_rules::Var) -> bool) -> u16 {
        let part = match t {
            Term::Var(v) if constant(*v) => Part::Const(v.0),
            Term::Var(v) => Part::Var(v.0),
            Term::Word(w) => Part::Word(*w),
            Term::Op(op, args) => {
                let args: Vec<u16> = args.iter().map(|a| self.add(a, constant)).collect();
                let first = self.operands.len() as u16;
                self.operands.extend(&args);
                Part::Op {
                    op: vop(*op),
                    first,
                    len: args.len() as u8,
                    commutes: op.commutes(),
                }
            }
        };
        self.parts.push(part);
        self.parts.len() as u16 - 1
    }

    pub(crate) fn operands(&self, first: u16, len: u8) -> &[u16] {
        &self.operands[usize::from(first)..usize::from(first) + usize::from(len)]
    }
}

/// Most views that are kept; a caller that disables rules one by one makes many.
const MOST_VIEWS: usize = 16;

/// What was made for the liberties of programs.
type Cache<T> = Mutex<Vec<(Liberties, Arc<T>)>>;

/// What was made for these liberties, or is made now.
fn cached<T>(cache: &Cache<T>, liberties: &Liberties, make: impl FnOnce() -> T) -> Arc<T> {
    let mut all = match cache.lock() {
        Ok(all) => all,
        // A panic elsewhere leaves complete entries behind.
        Err(poisoned) => poisoned.into_inner(),
    };
    if let Some((_, found)) = all.iter().find(|v| v.0.same(liberties)) {
        return Arc::clone(found);
    }
    let made = Arc::new(make());
    // Chance makes many, and asks for none twice.
    if all.len() < MOST_VIEWS && liberties.chaos.is_none() {
        all.push((liberties.clone(), Arc::clone(&made)));
    }
    made
}

/// Whether a program may come to use an operation that it does not use yet.
fn may_make(taken: &Taken, op: Op) -> bool {
    match op {
        Op::Alu(op) => taken.may_make(op),
        Op::Neg => taken.negate,
        Op::Abs => taken.abs,
        Op::Sat => taken.saturate,
        Op::INeg | Op::Kill => true,
    }
}

fn makes_integers(op: Op) -> bool {
    matches!(op, Op::Alu(op) if is_integer(op))
}

/// Whether an opcode computes with integers.
pub(crate) fn is_integer(op: Opcode) -> bool {
    use tgsi::Ty::*;
    let info = op.info();
    !matches!(op, Opcode::Arl | Opcode::Arr | Opcode::Uarl)
        && (matches!(info.dst_ty, I | U) || info.src_ty.iter().any(|t| matches!(t, I | U)))
        || op == Opcode::Ucmp
}

/// Whether a condition holds, from what is known of each variable; `once` says whether a value has
/// no other reader.
pub(crate) fn holds(
    cond: Cond,
    known: impl Fn(Var) -> (Option<u32>, Info),
    once: impl Fn(Var) -> bool,
) -> bool {
    let word = |v| known(v).0;
    match cond {
        Cond::Fact(fact, v) => {
            let (word, info) = known(v);
            info.knows(fact, word)
        }
        Cond::Equal(a, b) => word(a) == word(b),
        Cond::Different(a, b) => word(a) != word(b),
        Cond::Less(a, b) => match (word(a), word(b)) {
            (Some(a), Some(b)) => f32::from_bits(a) < f32::from_bits(b),
            _ => false,
        },
        Cond::ShiftSum(a, b) => match (word(a), word(b)) {
            (Some(a), Some(b)) => a.checked_add(b).is_some_and(|s| s < 32),
            _ => false,
        },
        Cond::Once(v) => once(v),
    }
}
