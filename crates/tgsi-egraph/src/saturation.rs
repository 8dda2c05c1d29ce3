//! Equality saturation by egg, for the level that searches.
//!
//! The graph of a function's pure values is saturated under counted limits; what egg found is
//! brought back as alternatives of an acyclic [`Graph`], so that one extraction serves both. Each
//! value keeps its own operation; of the others in its class those come along whose operands exist
//! before it.

mod bounded;

use std::time::Duration;

use egg::{
    Analysis, BackoffScheduler, Condition, ConditionalApplier, DidMerge, EGraph, ENodeOrVar, Id,
    Language, Pattern, RecExpr, Rewrite, Runner, StopReason, Subst, Var,
};
use smallvec::SmallVec;
use tgsi::Eval;
use tgsi_ir::rewrite::{Edits, Node, PhiInputs, rebuild_from};
use tgsi_ir::{Args, Function, LaneHint, VOp, Value, ix};
use tgsi_rules::{Cond, Contract, Op, RuleSet, Term};

use bounded::Bounded;

use crate::acyclic::{Config, Graph, Made, Simplify};
use crate::compile::{Liberties, Rules, holds, op_index, vop};
use crate::info::{Info, Rounding};

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Imm(u32),
    /// A value that is not looked into, by arena position.
    Leaf(u32),
    /// An operation by [`op_index`].
    Op(u16),
    /// The test of a discard.
    Kill,
}

/// A node: an operation on classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Term32 {
    pub(crate) kind: Kind,
    pub(crate) children: SmallVec<[Id; 4]>,
}

impl std::fmt::Display for Term32 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Imm(w) => write!(f, "{w:#x}"),
            Kind::Leaf(n) => write!(f, "%{n}"),
            Kind::Kill => f.write_str("kill"),
            Kind::Op(i) => write!(f, "{:?}", crate::compile::op_at(usize::from(i))),
        }
    }
}

impl Language for Term32 {
    type Discriminant = Kind;

    fn discriminant(&self) -> Kind {
        self.kind
    }

    fn matches(&self, other: &Self) -> bool {
        self.kind == other.kind && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    info: Info,
    word: Option<u32>,
    /// Whether the value it stands for may not be rounded otherwise.
    pub(crate) sensitive: bool,
    /// How often its range became narrower. In a class that holds itself, as `x` beside `x * 0.5 * 2`,
    /// a range could for ever.
    narrowed: u8,
}

/// How often the range of a class becomes narrower.
const NARROWINGS: u8 = 4;

/// The analysis: ranges and constants, folded by the opcode table.
pub(crate) struct Facts {
    rounding: Rounding,
    /// Evaluation of each operation, by [`op_index`].
    evals: Vec<Eval>,
}

impl Facts {
    /// For terms of a function.
    pub(crate) fn of(f: &Function) -> Facts {
        Facts {
            rounding: Rounding::of(f),
            evals: crate::compile::evals(f),
        }
    }
}

impl Analysis<Term32> for Facts {
    type Data = Data;

    fn make(egraph: &mut EGraph<Term32, Self>, node: &Term32, _: Id) -> Data {
        let facts = &egraph.analysis;
        let data = |i: usize| node.children.get(i).map(|&c| &egraph[c].data);
        let op = match node.kind {
            Kind::Imm(w) => VOp::Imm(w),
            Kind::Leaf(n) => VOp::Undef(n),
            Kind::Kill => VOp::Undef(0),
            Kind::Op(i) => crate::compile::op_at(usize::from(i)),
        };
        let info = Info::compute(
            op,
            facts.rounding,
            &|i| data(i).map_or(Info::TOP, |d| d.info),
            &|a, b| node.children.get(a) == node.children.get(b),
            &|i| data(i).and_then(|d| d.word),
        );
        let words: Option<SmallVec<[u32; 8]>> =
            node.children.iter().map(|&c| egraph[c].data.word).collect();
        let word = match (node.kind, words) {
            (Kind::Imm(w), _) => Some(w),
            (Kind::Op(i), Some(words)) => match (op, facts.evals[usize::from(i)]) {
                (VOp::Neg, _) => Some(tgsi::eval::neg_f(words[0])),
                (VOp::Abs, _) => Some(tgsi::eval::abs_f(words[0])),
                (VOp::Sat, _) => Some(tgsi::eval::apply_sat(words[0])),
                (VOp::INeg, _) => Some(words[0].wrapping_neg()),
                (_, Eval::Word(eval)) => Some(eval(&words)),
                _ => None,
            },
            _ => None,
        };
        Data {
            info,
            word,
            sensitive: false,
            narrowed: 0,
        }
    }

    fn merge(&mut self, a: &mut Data, b: Data) -> DidMerge {
        let mut info = a.info.both(b.info);
        let narrower = (info.lo, info.hi) != (a.info.lo, a.info.hi);
        if narrower && a.narrowed >= NARROWINGS {
            (info.lo, info.hi) = (a.info.lo, a.info.hi);
        }
        let narrowed = a.narrowed + u8::from((info.lo, info.hi) != (a.info.lo, a.info.hi));
        let word = a.word.or(b.word);
        let sensitive = a.sensitive | b.sensitive;
        let merged = DidMerge(
            info != a.info || word != a.word || sensitive != a.sensitive,
            info != b.info || word != b.word || sensitive != b.sensitive,
        );
        *a = Data {
            info,
            word,
            sensitive,
            narrowed,
        };
        merged
    }

    fn modify(egraph: &mut EGraph<Term32, Self>, id: Id) {
        if let Some(w) = egraph[id].data.word {
            let imm = egraph.add(Term32 {
                kind: Kind::Imm(w),
                children: SmallVec::new(),
            });
            egraph.union(id, imm);
        }
    }
}

/// What a rule asks of a match.
struct Asks {
    conds: Vec<Cond>,
    vars: Vec<Var>,
    /// Variables that stand for constants.
    constants: Vec<Var>,
    rounds_otherwise: bool,
    /// Variables whose words are handed on, and must come from float operations.
    moved: Vec<Var>,
    /// What is said of readers, which are not counted.
    once: bool,
}

impl Condition<Term32, Facts> for Asks {
    fn check(&self, g: &mut EGraph<Term32, Facts>, root: Id, subst: &Subst) -> bool {
        let data = |v: Var| &g[subst[v]].data;
        let of = |v: tgsi_rules::Var| data(self.vars[usize::from(v.0)]);
        if self.rounds_otherwise && g[root].data.sensitive {
            return false;
        }
        self.constants.iter().all(|&v| data(v).word.is_some())
            && self.moved.iter().all(|&v| data(v).info.float)
            && self
                .conds
                .iter()
                .all(|&c| holds(c, |v| (of(v).word, of(v).info), |_| self.once))
    }
}

/// The rules of a view as egg wants them, with commutation; made once for each view.
fn rewrites(set: &RuleSet, rules: &Rules, liberties: &Liberties) -> crate::compile::Rewrites {
    let mut out = commutations();
    for (n, rule) in set.rules.iter().enumerate() {
        let n = n as u16;
        let kill = matches!(rule.lhs, Term::Op(Op::Kill, _));
        // A variable alone could be any class: such a rule hands a word on, which needs a look at
        // its payload.
        if kill || rule.hands_on() || !rules.allows(n, liberties) || !is_narrow(rule) {
            continue;
        }
        out.extend(rewrite(rule, Vec::new(), false));
    }
    out
}

/// The rules for proofs: those of discards too, and those that hand words on, where the words come from
/// float operations or, under `any_nan`, from anywhere. It does not matter who else reads a word.
pub(crate) fn proof_rewrites(
    set: &RuleSet,
    rules: &Rules,
    liberties: &Liberties,
    any_nan: bool,
) -> crate::compile::Rewrites {
    let mut out = commutations();
    for (n, rule) in set.rules.iter().enumerate() {
        if !rules.allows(n as u16, liberties) || !is_narrow(rule) {
            continue;
        }
        let mut moved = Vec::new();
        if rule.hands_on() && !any_nan {
            handed_on(&rule.rhs, &mut moved);
        }
        out.extend(rewrite(rule, moved, true));
    }
    out
}

/// The variables that a term is, whatever else it may be.
fn handed_on(t: &Term, out: &mut Vec<Var>) {
    match t {
        Term::Var(v) => out.push(var(usize::from(v.0))),
        Term::Op(Op::Neg | Op::Abs, args) => args.iter().for_each(|a| handed_on(a, out)),
        Term::Op(Op::Alu(tgsi::Opcode::Cmp | tgsi::Opcode::Ucmp), args) => {
            args.iter().skip(1).for_each(|a| handed_on(a, out));
        }
        _ => {}
    }
}

fn commutations() -> crate::compile::Rewrites {
    let mut out = crate::compile::Rewrites::new();
    for op in crate::compile::commuting() {
        let (Some(i), Op::Alu(code)) = (op_index(vop(op)), op) else {
            continue;
        };
        let vars: Vec<Var> = (0..op.arity()).map(var).collect();
        let side = |swap: bool| {
            let mut expr: RecExpr<ENodeOrVar<Term32>> = RecExpr::default();
            let mut ids: SmallVec<[Id; 4]> =
                vars.iter().map(|&v| expr.add(ENodeOrVar::Var(v))).collect();
            if swap {
                ids.swap(0, 1);
            }
            expr.add(ENodeOrVar::ENode(Term32 {
                kind: Kind::Op(i as u16),
                children: ids,
            }));
            Pattern::new(expr)
        };
        let name = format!("commute-{}", code.name());
        out.extend(Rewrite::new(name, side(false), side(true)));
    }
    out
}

/// A rule as egg wants it.
fn rewrite(rule: &tgsi_rules::Rule, moved: Vec<Var>, once: bool) -> Option<Rewrite<Term32, Facts>> {
    let vars: Vec<Var> = (0..rule.vars.len()).map(var).collect();
    let asks = Asks {
        conds: rule.conds.clone(),
        constants: (0..rule.vars.len() as u8)
            .filter(|&v| rule.is_constant(tgsi_rules::Var(v)))
            .map(|v| vars[usize::from(v)])
            .collect(),
        vars,
        rounds_otherwise: rule.contract.intersects(crate::acyclic::ROUNDS_OTHERWISE),
        moved,
        once,
    };
    let applier = ConditionalApplier {
        condition: asks,
        applier: pattern(&rule.rhs)?,
    };
    Rewrite::new(rule.name.clone(), Bounded(pattern(&rule.lhs)?), applier).ok()
}

/// Whether all operations of a rule are on single words.
fn is_narrow(rule: &tgsi_rules::Rule) -> bool {
    let mut narrow = true;
    let mut see = |op: Op| {
        if let Op::Alu(op) = op {
            let info = op.info();
            narrow &= !info.dst_ty.is_wide() && !info.src_ty.iter().any(|t| t.is_wide());
        }
    };
    rule.lhs.each_op(&mut see);
    rule.rhs.each_op(&mut see);
    narrow
}

fn var(n: usize) -> Var {
    Var::from_u32(n as u32)
}

fn pattern(t: &Term) -> Option<Pattern<Term32>> {
    fn add(t: &Term, expr: &mut RecExpr<ENodeOrVar<Term32>>) -> Option<Id> {
        let node = match t {
            Term::Var(v) => ENodeOrVar::Var(var(usize::from(v.0))),
            Term::Word(w) => ENodeOrVar::ENode(Term32 {
                kind: Kind::Imm(*w),
                children: SmallVec::new(),
            }),
            Term::Op(op, args) => {
                let children = args
                    .iter()
                    .map(|a| add(a, expr))
                    .collect::<Option<SmallVec<[Id; 4]>>>()?;
                let kind = match op {
                    Op::Kill => Kind::Kill,
                    op => Kind::Op(op_index(vop(*op))? as u16),
                };
                ENodeOrVar::ENode(Term32 { kind, children })
            }
        };
        Some(expr.add(node))
    }
    let mut expr = RecExpr::default();
    add(t, &mut expr)?;
    Some(Pattern::new(expr))
}

/// Limits of one saturation, all counted.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rounds.
    pub iterations: usize,
    /// Nodes: so many times those of the function, within the two bounds.
    pub growth: usize,
    /// Fewest nodes that are always allowed.
    pub least: usize,
    /// Most nodes.
    pub most: usize,
    /// Most matches of a rule in a round, for each node of the function; a rule that has more rests.
    pub matches: usize,
    /// Most alternatives of a value.
    pub alternatives: usize,
}

/// What egg did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saturation {
    /// Nodes in the end.
    pub nodes: usize,
    /// Classes in the end.
    pub classes: usize,
    /// Rounds that ran.
    pub iterations: usize,
    /// Whether nothing was left to do.
    pub saturated: bool,
}

/// As [`crate::saturate`], with the alternatives that egg finds.
pub fn saturate_with_egg(
    f: &Function,
    phis: &PhiInputs,
    (set, rules): (&RuleSet, &Rules),
    config: &Config<'_>,
    limits: Limits,
    simplify: &mut Simplify<'_>,
) -> (Graph, Saturation) {
    let liberties = crate::acyclic::liberties(f, config);
    let rewrites = rules.rewrites(&liberties, || rewrites(set, rules, &liberties));
    let mut g: EGraph<Term32, Facts> = EGraph::new(Facts::of(f));
    let mut ids: Vec<Option<Id>> = vec![None; f.values.len()];
    for (v, d) in f.values.iter() {
        let children: Option<SmallVec<[Id; 4]>> = d.args.iter().map(|a| ids[ix(*a)]).collect();
        let narrow = !d.wide && d.args.iter().all(|&a| !f.values[a].wide);
        let kind = match (d.op, op_index(d.op)) {
            (VOp::Imm(w), _) => Kind::Imm(w),
            (_, Some(i)) if narrow && !d.precise => Kind::Op(i as u16),
            _ => Kind::Leaf(ix(v) as u32),
        };
        let children = match kind {
            Kind::Op(_) => children.unwrap_or_default(),
            _ => SmallVec::new(),
        };
        ids[ix(v)] = Some(g.add(Term32 { kind, children }));
    }
    for (i, id) in ids.iter().enumerate() {
        if let (Some(true), Some(id)) = (config.sensitive.get(i).copied(), *id) {
            let mut data = g[id].data.clone();
            data.sensitive = true;
            g.set_analysis_data(id, data);
        }
    }
    g.rebuild();
    let nodes = g.total_number_of_nodes();
    let runner = Runner::<Term32, Facts>::new(Facts {
        rounding: Rounding::of(f),
        evals: Vec::new(),
    })
    .with_egraph(g)
    // A fixed limit would starve large programs; without one a single round has no bound.
    .with_scheduler(
        BackoffScheduler::default()
            .with_initial_match_limit(nodes * limits.matches)
            .with_ban_length(2),
    )
    .with_iter_limit(limits.iterations)
    .with_node_limit((nodes * limits.growth).clamp(limits.least, limits.most))
    // Counted limits decide, never the clock.
    .with_time_limit(Duration::from_secs(u64::from(u32::MAX)))
    .run(rewrites.iter());
    let done = Saturation {
        nodes: runner.egraph.total_number_of_nodes(),
        classes: runner.egraph.number_of_classes(),
        iterations: runner.iterations.len(),
        saturated: matches!(runner.stop_reason, Some(StopReason::Saturated)),
    };
    let mut back = Back {
        egraph: &runner.egraph,
        out: Graph::empty(f, rules.len(), config.taken),
        leaves: vec![None; f.values.len()],
        made: vec![Progress::Open; usize::from(max_id(&runner.egraph)) + 1],
        limits,
        simplify,
        fuel: 0,
    };
    let new = rebuild_from(f, &Edits::default(), phis, &mut |into, origin, node| {
        std::mem::swap(&mut back.out.f, into);
        let v = back.top(ids[ix(origin)], origin, node);
        std::mem::swap(&mut back.out.f, into);
        v
    });
    let mut out = back.out;
    out.f = new;
    out.chaos = config.chaos;
    out.grow();
    // Which rules led to an alternative is not followed: all that may be used count.
    out.contract = Contract::EXACT;
    out.searched = config.granted;
    (out, done)
}

fn max_id(g: &EGraph<Term32, Facts>) -> Id {
    g.classes().map(|c| c.id).max().unwrap_or_default()
}

/// What became of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Open,
    Busy,
    Made(Value),
}

/// Brings a saturated graph back.
struct Back<'a, 'b> {
    egraph: &'a EGraph<Term32, Facts>,
    out: Graph,
    /// The new value of each leaf met so far, by arena position.
    leaves: Vec<Option<Value>>,
    made: Vec<Progress>,
    limits: Limits,
    simplify: &'a mut Simplify<'b>,
    /// Classes that may still be made for the value at hand.
    fuel: u32,
}

/// How deep alternatives are followed into classes that no value of the program is in.
const DEPTH: u32 = 6;
/// Most classes made for one value.
const CLASSES: u32 = 64;

impl Back<'_, '_> {
    fn top(&mut self, id: Option<Id>, origin: Value, node: Node) -> Value {
        let hint = node.hint;
        let plain = matches!(
            node.op,
            VOp::Alu(_) | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat
        ) && !node.precise
            && !node.wide;
        let Some(id) = id.filter(|_| plain).map(|id| self.egraph.find(id)) else {
            let v = self.intern(node);
            self.leaves[ix(origin)] = Some(v);
            return v;
        };
        self.fuel = CLASSES;
        let mut found: SmallVec<[(Value, u16); 2]> = SmallVec::new();
        match self.made[usize::from(id)] {
            Progress::Made(v) => found.push((v, FOUND)),
            _ => {
                self.made[usize::from(id)] = Progress::Busy;
                self.alternatives(id, hint, DEPTH, &mut found);
            }
        }
        let before = self.out.f.values.len();
        let v = self.intern(node);
        if ix(v) >= before {
            found.retain(|a| a.0 != v);
            self.out.alternatives[ix(v)] = found;
        }
        self.made[usize::from(id)] = Progress::Made(v);
        v
    }

    fn intern(&mut self, node: Node) -> Value {
        let v = match (self.simplify)(&mut self.out.f, node) {
            Made::Value(v) => v,
            Made::Node(node) => node.intern(&mut self.out.f),
        };
        self.out.grow();
        v
    }

    /// The value of a class, made if need be.
    fn class(&mut self, id: Id, hint: LaneHint, depth: u32) -> Option<Value> {
        let id = self.egraph.find(id);
        match self.made[usize::from(id)] {
            Progress::Made(v) => return Some(v),
            Progress::Busy => return None,
            Progress::Open => {}
        }
        if let Some(w) = self.egraph[id].data.word {
            let v = self.out.f.imm(w);
            self.out.grow();
            self.made[usize::from(id)] = Progress::Made(v);
            return Some(v);
        }
        if depth == 0 || self.fuel == 0 {
            return None;
        }
        self.fuel -= 1;
        self.made[usize::from(id)] = Progress::Busy;
        let mut found = SmallVec::new();
        self.alternatives(id, hint, depth - 1, &mut found);
        let Some((v, _)) = found.iter().copied().max_by_key(|a| ix(a.0)) else {
            // Something on the way was busy; another way may still lead here.
            self.made[usize::from(id)] = Progress::Open;
            return None;
        };
        found.retain(|a| ix(a.0) < ix(v));
        if self.out.alternatives[ix(v)].is_empty() {
            self.out.alternatives[ix(v)] = found;
        }
        self.made[usize::from(id)] = Progress::Made(v);
        Some(v)
    }

    /// Makes the nodes of a class whose operands can be made.
    fn alternatives(
        &mut self,
        id: Id,
        hint: LaneHint,
        depth: u32,
        found: &mut SmallVec<[(Value, u16); 2]>,
    ) {
        let egraph = self.egraph;
        let mut nodes: Vec<&Term32> = egraph[id].nodes.iter().collect();
        nodes.sort_by_key(|n| (n.children.len(), *n));
        for node in nodes {
            if found.len() >= self.limits.alternatives {
                return;
            }
            let v = match node.kind {
                Kind::Imm(w) => {
                    let v = self.out.f.imm(w);
                    self.out.grow();
                    Some(v)
                }
                Kind::Leaf(n) => self.leaves[n as usize],
                Kind::Kill => None,
                Kind::Op(i) => self.operation(usize::from(i), node, hint, depth),
            };
            if let Some(v) = v
                && !found.iter().any(|a| a.0 == v)
            {
                found.push((v, FOUND));
            }
        }
    }

    fn operation(&mut self, op: usize, node: &Term32, hint: LaneHint, depth: u32) -> Option<Value> {
        let op = crate::compile::op_at(op);
        let mut args = Args::new();
        for &c in &node.children {
            args.push(self.class(c, hint, depth)?);
        }
        // One of two orders is enough.
        if let VOp::Alu(code) = op
            && Op::Alu(code).commutes()
            && args.len() >= 2
        {
            let mut other = args.clone();
            other.swap(0, 1);
            if let Some(v) = self.out.f.find(op, false, &other) {
                return Some(v);
            }
        }
        let v = self.intern(Node {
            op,
            precise: false,
            wide: false,
            args,
            hint,
        });
        Some(v)
    }
}

/// Stands for a rule in alternatives whose rules are not known.
pub(crate) const FOUND: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_holds_itself_comes_to_rest() {
        let mut g: EGraph<Term32, Facts> = EGraph::new(Facts {
            rounding: Rounding {
                zero_wins: false,
                first_era: false,
            },
            evals: vec![Eval::None; 1024],
        });
        let op = |op: VOp| Kind::Op(op_index(op).expect("an operation of terms") as u16);
        let mut add = |kind: Kind, children: &[Id]| {
            g.add(Term32 {
                kind,
                children: SmallVec::from_slice(children),
            })
        };
        let leaf = add(Kind::Leaf(0), &[]);
        let unit = add(op(VOp::Sat), &[leaf]);
        let most = add(Kind::Imm(0.99f32.to_bits()), &[]);
        let product = add(op(VOp::Alu(tgsi::Opcode::Mul)), &[unit, most]);
        g.union(unit, product);
        g.rebuild();
        let info = g[unit].data.info;
        assert!(info.hi > 0.9 && info.hi <= 0.99, "{info:?}");
    }
}
