//! The acyclic e-graph: rules applied while values are made.

use std::sync::Arc;

use smallvec::SmallVec;
use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, Node, PhiInputs, rebuild_from};
use tgsi_ir::{Args, Chaos, Function, LaneHint, Slot, VOp, Value, ix};
use tgsi_rules::Contract;
use tgsi_target::Taken;

use crate::Info;
use crate::compile::{Compiled, Group, Liberties, Part, Rules, View, bit, holds, is_integer};
use crate::trace::{Reached, Step};

/// What an operation is after everything that needs no choice.
#[derive(Clone, Debug)]
pub enum Made {
    /// This value.
    Value(Value),
    /// Still an operation.
    Node(Node),
}

/// Exact simplification of an operation about to be made.
pub type Simplify<'a> = dyn FnMut(&mut Function, Node) -> Made + 'a;

/// Budgets and liberties of one saturation. All are counted, so that results do not depend on
/// the machine.
pub struct Config<'a> {
    /// What the program grants.
    pub granted: Contract,
    /// Most alternatives of one value.
    pub alternatives: usize,
    /// How deep rules apply to what rules made.
    pub depth: u32,
    /// Most matches of one value.
    pub matches: u32,
    /// Whether there is time for rules that seldom pay by themselves.
    pub explore: bool,
    /// What the consumer takes: nothing else is made.
    pub taken: &'a Arc<Taken>,
    /// Asked before each rewrite, by a rule, of what was computed at a place.
    pub spend: &'a dyn Fn(u16, LaneHint) -> bool,
    /// A rule that gives the negation of what it should, for tests of what finds faults.
    pub spoiled: Option<u16>,
    /// Rules that are left out, by number.
    pub disabled: &'a [u16],
    /// Values of the function whose last bits count, by arena position: nothing that rounds otherwise
    /// is done to them.
    pub sensitive: &'a [bool],
    /// Decides the order of rules, and prices, by chance.
    pub chaos: Option<Chaos>,
}

/// A function whose values have alternatives.
pub struct Graph {
    /// The values, alternatives among them; a value comes after its alternatives.
    pub f: Function,
    /// What else each value can be: a value before it, and the rule that says so.
    pub alternatives: Vec<SmallVec<[(Value, u16); 2]>>,
    /// What is known of each value.
    pub infos: Vec<Info>,
    /// How often each rule replaced a value, by rule.
    pub replaced: Vec<u32>,
    /// How often each rule gave an alternative, by rule.
    pub offered: Vec<u32>,
    /// Readers of each value in the function it comes from.
    readers: Vec<u32>,
    /// Values that stand for others: what reads them may have become simpler.
    touched: Vec<bool>,
    /// The contract of the replacements.
    pub contract: Contract,
    /// The contract of alternatives whose rules are not known.
    pub searched: Contract,
    /// Replacements, in order.
    pub trail: Vec<Step>,
    /// How often budgets ran out.
    pub reached: Reached,
    /// Distorts prices.
    pub(crate) chaos: Option<Chaos>,
    /// What the consumer takes, and at which price.
    pub(crate) taken: Arc<Taken>,
}

/// What changes last bits.
pub(crate) const ROUNDS_OTHERWISE: Contract =
    Contract::REASSOC.and(Contract::ARCP).and(Contract::AFN);

/// Nothing bound.
const FREE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bindings([u32; 16]);

struct Builder<'a, 'b> {
    g: Graph,
    rules: &'a Rules,
    config: &'a Config<'a>,
    simplify: &'a mut Simplify<'b>,
    /// Matches left for the value at hand.
    fuel: u32,
    found: Vec<Bindings>,
    view: &'a View,
    /// Whether the value at hand is sensitive.
    careful: bool,
}

/// Rebuilds `f` with the alternatives that `rules` give; `readers` counts the readers of each
/// of its values.
pub fn saturate(
    f: &Function,
    phis: &PhiInputs,
    readers: &[u32],
    rules: &Rules,
    config: &Config<'_>,
    simplify: &mut Simplify<'_>,
) -> Graph {
    let view = view(f, rules, config);
    let mut b = Builder {
        g: Graph::empty(f, rules.len(), config.taken),
        rules,
        config,
        simplify,
        fuel: 0,
        found: Vec::new(),
        view: &view,
        careful: false,
    };
    let new = rebuild_from(f, &Edits::default(), phis, &mut |g, origin, node| {
        std::mem::swap(&mut b.g.f, g);
        b.careful = config.sensitive.get(ix(origin)).copied().unwrap_or(false);
        let (op, args) = (node.op, node.args.clone());
        let v = b.top(node);
        let d = &b.g.f.values[v];
        if d.op != op || d.args != args {
            b.g.touched[ix(v)] = true;
        }
        let readers = readers.get(ix(origin)).copied().unwrap_or(0);
        b.g.readers[ix(v)] = b.g.readers[ix(v)].saturating_add(readers);
        std::mem::swap(&mut b.g.f, g);
        v
    });
    let mut g = b.g;
    g.f = new;
    g.chaos = config.chaos;
    g.grow();
    g
}

/// What decides which rules `f` may use.
pub(crate) fn liberties(f: &Function, config: &Config<'_>) -> Liberties {
    Liberties {
        granted: config.granted,
        integers: uses_integers(f),
        explore: config.explore,
        taken: Arc::clone(config.taken),
        disabled: config.disabled.to_vec(),
        chaos: config.chaos,
    }
}

/// The rules that `f` may use.
fn view(f: &Function, rules: &Rules, config: &Config<'_>) -> Arc<View> {
    rules.view(&liberties(f, config))
}

/// Whether any rule could apply to a value of `f` as it is: what takes no look at operands' operands.
/// Programs of the first era are left alone: rules hold for today's definitions.
pub fn may_apply(f: &Function, rules: &Rules, config: &Config<'_>) -> bool {
    if f.first_era {
        return false;
    }
    let view = view(f, rules, config);
    f.values.values().any(|d| match d.op {
        VOp::Multi(m) => f.multis[m.0 as usize].inst.op == Opcode::KillIf,
        VOp::Alu(_) | VOp::Neg | VOp::Abs | VOp::INeg | VOp::Sat if !d.precise => {
            let groups = view.of(d.op);
            if groups.is_empty() {
                return false;
            }
            let offers = d.args.iter().fold(0, |o, &a| o | bit(f.values[a].op));
            groups.iter().any(|g| g.needs & !offers == 0)
        }
        _ => false,
    })
}

/// Whether a program computes with integers: only then may rules do so.
fn uses_integers(f: &Function) -> bool {
    f.values.values().any(|d| match d.op {
        VOp::Alu(op) => is_integer(op),
        _ => false,
    })
}

impl Graph {
    /// A graph for `f` without values.
    pub(crate) fn empty(f: &Function, rules: usize, taken: &Arc<Taken>) -> Graph {
        let room = f.values.len() * 2;
        Graph {
            f: f.successor(0),
            alternatives: Vec::with_capacity(room),
            infos: Vec::with_capacity(room),
            replaced: vec![0; rules],
            offered: vec![0; rules],
            readers: Vec::with_capacity(room),
            touched: Vec::with_capacity(room),
            contract: Contract::EXACT,
            searched: Contract::EXACT,
            trail: Vec::new(),
            reached: Reached::default(),
            chaos: None,
            taken: Arc::clone(taken),
        }
    }

    /// Gives every value of the function its tables.
    pub(crate) fn grow(&mut self) {
        for i in self.infos.len()..self.f.values.len() {
            let d = &self.f.values[tgsi_ir::value_at(i)];
            let info = Info::of(&self.f, d, &self.infos);
            self.infos.push(info);
            self.alternatives.push(SmallVec::new());
            self.readers.push(0);
            self.touched.push(false);
        }
    }

    /// Whether no rule did anything.
    pub fn is_plain(&self) -> bool {
        self.trail.is_empty() && self.alternatives.iter().all(|a| a.is_empty())
    }

    /// What is known of a value.
    pub fn info(&self, v: Value) -> Info {
        self.infos.get(ix(v)).copied().unwrap_or(Info::TOP)
    }
}

impl Builder<'_, '_> {
    /// An operation of the program.
    fn top(&mut self, node: Node) -> Value {
        self.fuel = self.config.matches;
        match node.op {
            VOp::Multi(m) if self.g.f.multis[m.0 as usize].inst.op == Opcode::KillIf => {
                let node = self.kill(node);
                self.intern(node)
            }
            VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) | VOp::Phi(_) => self.intern(node),
            // What the program holds is simple already, but where rules changed an operand.
            _ if !node.args.iter().any(|a| self.g.touched[ix(*a)]) => {
                if node.precise || self.view.of(node.op).is_empty() {
                    self.intern(node)
                } else {
                    self.choose(node, 0)
                }
            }
            _ => self.make(node, 0),
        }
    }

    fn intern(&mut self, node: Node) -> Value {
        let v = node.intern(&mut self.g.f);
        self.g.grow();
        v
    }

    /// The value of an operation, with what rules make of it.
    fn make(&mut self, node: Node, depth: u32) -> Value {
        let node = match (self.simplify)(&mut self.g.f, node) {
            Made::Value(v) => {
                self.g.grow();
                return v;
            }
            Made::Node(node) => node,
        };
        self.g.grow();
        self.choose(node, depth)
    }

    /// The value of a simple operation, with what rules make of it.
    fn choose(&mut self, node: Node, depth: u32) -> Value {
        if depth > 0
            && let Some(v) = self.g.f.find(node.op, node.precise, &node.args)
        {
            return v;
        }
        if depth > self.config.depth || node.precise {
            let open = !node.precise && !self.view.of(node.op).is_empty();
            self.g.reached.depth += u32::from(open);
            return self.intern(node);
        }
        // Rules may have made it before, too deep for rules to apply to it: what replaces it still can.
        let seen = self.g.f.find(node.op, node.precise, &node.args);
        let mut alternatives: SmallVec<[(Value, u16); 2]> = SmallVec::new();
        let mut full = false;
        let offers = self.offers(&node.args);
        let rules = self.rules;
        let view = self.view;
        for &r in offered(view.of(node.op), offers) {
            let rule = &rules.rules[usize::from(r)];
            if self.fuel == 0 {
                self.g.reached.matches += 1;
                break;
            }
            if self.careful && rule.contract.intersects(ROUNDS_OTHERWISE)
                || seen.is_some() && !rule.replaces
            {
                continue;
            }
            self.find(rule, &node.args);
            for k in 0..self.found.len() {
                let b = self.found[k];
                if self.fuel == 0 || alternatives.len() >= self.config.alternatives {
                    full |= self.fuel > 0;
                    break;
                }
                self.fuel -= 1;
                if !self.admits(rule, &b) || !(self.config.spend)(r, node.hint) {
                    continue;
                }
                let found = std::mem::take(&mut self.found);
                let mut v = self.build(rule, rule.rhs, &b, &node, depth + 1);
                if self.config.spoiled == Some(r) {
                    let args = [v].into_iter().collect();
                    let op = VOp::Neg;
                    v = self.intern(Node {
                        op,
                        args,
                        ..node.clone()
                    });
                }
                self.found = found;
                let hands_on = rule.hands_on && !self.g.info(v).float;
                if hands_on && !self.config.granted.includes(Contract::NNAN) {
                    continue;
                }
                if rule.replaces {
                    self.g.replaced[usize::from(r)] += 1;
                    self.g.contract = self.g.contract.and(rule.contract);
                    self.g.trail.push(Step::new(r, &node, v));
                    return v;
                }
                if !alternatives.iter().any(|a| a.0 == v) {
                    self.g.offered[usize::from(r)] += 1;
                    alternatives.push((v, r));
                }
            }
        }
        self.g.reached.alternatives += u32::from(full);
        let v = self.intern(node);
        if seen.is_some() {
            return v;
        }
        // An alternative made on the way may be the value itself.
        if self.g.alternatives[ix(v)].is_empty() {
            alternatives.retain(|a| ix(a.0) < ix(v));
            self.g.alternatives[ix(v)] = alternatives;
        }
        v
    }

    /// Operations and constants among operands, as bits.
    fn offers(&self, args: &[Value]) -> u64 {
        let mut offers = 0;
        for &a in args {
            offers |= bit(self.g.f.values[a].op);
            for &(m, _) in &self.g.alternatives[ix(a)] {
                offers |= bit(self.g.f.values[m].op);
                for &(n, _) in &self.g.alternatives[ix(m)] {
                    offers |= bit(self.g.f.values[n].op);
                }
            }
        }
        offers
    }

    /// Whether the conditions of a rule hold.
    fn admits(&self, rule: &Compiled, b: &Bindings) -> bool {
        let value = |v: tgsi_rules::Var| tgsi_ir::value_at(b.0[usize::from(v.0)] as usize);
        let known = |v| (self.g.f.as_imm(value(v)), self.g.info(value(v)));
        let once = |v| self.g.readers[ix(value(v))] <= 1;
        rule.conds.iter().all(|&c| holds(c, known, once))
    }

    /// The right side of a rule.
    fn build(
        &mut self,
        rule: &Compiled,
        part: u16,
        b: &Bindings,
        root: &Node,
        depth: u32,
    ) -> Value {
        match rule.parts[usize::from(part)] {
            Part::Var(v) | Part::Const(v) => tgsi_ir::value_at(b.0[usize::from(v)] as usize),
            Part::Word(w) => {
                let v = self.g.f.imm(w);
                self.g.grow();
                v
            }
            Part::Op { op, first, len, .. } => {
                let mut args = Args::new();
                for &p in rule.operands(first, len) {
                    args.push(self.build(rule, p, b, root, depth));
                }
                let wide = match op {
                    VOp::Alu(op) => op.info().dst_ty.is_wide(),
                    _ => self.g.f.values[args[0]].wide,
                };
                let node = Node {
                    op,
                    precise: false,
                    wide,
                    args,
                    hint: root.hint,
                };
                self.make(node, depth)
            }
        }
    }

    /// Fills `found` with the matches of a rule whose root has these operands.
    fn find(&mut self, rule: &Compiled, args: &[Value]) {
        self.found.clear();
        let Part::Op {
            first,
            len,
            commutes,
            ..
        } = rule.parts[usize::from(rule.lhs)]
        else {
            return;
        };
        let mut matching = Matching {
            g: &self.g,
            rule,
            found: &mut self.found,
            b: Bindings([FREE; 16]),
        };
        matching.operands(first, len, commutes, args, &mut SmallVec::new());
    }

    /// The tests of a KILL_IF, made simpler one by one.
    fn kill(&mut self, mut node: Node) -> Node {
        let VOp::Multi(m) = node.op else { return node };
        let slots = self.g.f.multis[m.0 as usize].slots.clone();
        let rules = self.rules;
        let view = self.view;
        for (k, slot) in slots.iter().enumerate() {
            if !matches!(slot, Slot::Src(0, _)) || k >= node.args.len() {
                continue;
            }
            'again: for _ in 0..4 {
                let arg = node.args[k];
                let offers = self.offers(&[arg]);
                for &r in offered(view.kills(), offers) {
                    let rule = &rules.rules[usize::from(r)];
                    self.find(rule, &[arg]);
                    let Some(&b) = self.found.first() else {
                        continue;
                    };
                    let Part::Op { first, .. } = rule.parts[usize::from(rule.rhs)] else {
                        continue;
                    };
                    if !self.admits(rule, &b) || !(self.config.spend)(r, node.hint) {
                        continue;
                    }
                    let operand = rule.operands[usize::from(first)];
                    let new = self.build(rule, operand, &b, &node.clone(), 1);
                    if new == arg {
                        continue;
                    }
                    self.g.replaced[usize::from(r)] += 1;
                    self.g.contract = self.g.contract.and(rule.contract);
                    self.g.trail.push(Step::new(r, &node, new));
                    node.args[k] = new;
                    continue 'again;
                }
                break;
            }
        }
        node
    }
}

/// The rules of the groups to which operands offer what they need.
fn offered(groups: &[Group], offers: u64) -> impl Iterator<Item = &u16> {
    groups
        .iter()
        .filter(move |g| g.needs & !offers == 0)
        .flat_map(|g| &g.rules)
}

/// Most matches of one rule at one value.
const MATCHES: usize = 4;

struct Matching<'a> {
    g: &'a Graph,
    rule: &'a Compiled,
    found: &'a mut Vec<Bindings>,
    b: Bindings,
}

type Goals = SmallVec<[(u16, Value); 8]>;

impl Matching<'_> {
    /// Matches operands, then the goals.
    fn operands(&mut self, first: u16, len: u8, commutes: bool, args: &[Value], goals: &mut Goals) {
        if args.len() != usize::from(len) {
            return;
        }
        let parts = self.rule.operands(first, len);
        let mark = goals.len();
        // Most patterns fail at a look at each operand alone.
        let straight = parts.iter().zip(args).all(|(&p, &a)| self.could(p, a));
        let swapped = commutes
            && args[0] != args[1]
            && self.could(parts[0], args[1])
            && self.could(parts[1], args[0])
            && parts[2..]
                .iter()
                .zip(&args[2..])
                .all(|(&p, &a)| self.could(p, a));
        if straight {
            // The first operand is the next goal.
            goals.extend(parts.iter().copied().zip(args.iter().copied()).rev());
            self.solve(goals);
            goals.truncate(mark);
        }
        if swapped {
            goals.extend(parts.iter().copied().zip(args.iter().copied()).rev());
            let top = goals.len() - 1;
            let (a, b) = (goals[top].1, goals[top - 1].1);
            goals[top].1 = b;
            goals[top - 1].1 = a;
            self.solve(goals);
            goals.truncate(mark);
        }
    }

    /// Whether a part could match a value, by the value's own operation and those of its alternatives.
    #[inline]
    fn could(&self, part: u16, v: Value) -> bool {
        let f = &self.g.f;
        match self.rule.parts[usize::from(part)] {
            Part::Word(w) => f.as_imm(v) == Some(w),
            Part::Const(_) => f.as_imm(v).is_some(),
            Part::Var(n) => {
                let bound = self.b.0[usize::from(n)];
                bound == FREE || bound == ix(v) as u32
            }
            Part::Op { op, .. } => {
                let alternatives = &self.g.alternatives[ix(v)];
                f.values[v].op == op
                    || alternatives.iter().any(|(m, _)| {
                        f.values[*m].op == op
                            || self.g.alternatives[ix(*m)]
                                .iter()
                                .any(|(n, _)| f.values[*n].op == op)
                    })
            }
        }
    }

    fn solve(&mut self, goals: &mut Goals) {
        if self.found.len() >= MATCHES {
            return;
        }
        let Some((part, v)) = goals.pop() else {
            self.found.push(self.b);
            return;
        };
        match self.rule.parts[usize::from(part)] {
            Part::Word(w) => {
                if self.g.f.as_imm(v) == Some(w) {
                    self.solve(goals);
                }
            }
            Part::Const(n) if self.g.f.as_imm(v).is_none() => {
                let _ = n;
            }
            Part::Const(n) | Part::Var(n) => {
                let slot = usize::from(n);
                let old = self.b.0[slot];
                if old == FREE {
                    self.b.0[slot] = ix(v) as u32;
                    self.solve(goals);
                    self.b.0[slot] = FREE;
                } else if old == ix(v) as u32 {
                    self.solve(goals);
                }
            }
            Part::Op {
                op,
                first,
                len,
                commutes,
            } => {
                let g = self.g;
                self.at(v, op, first, len, commutes, goals);
                for &(m, _) in &g.alternatives[ix(v)] {
                    self.at(m, op, first, len, commutes, goals);
                    for &(n, _) in &g.alternatives[ix(m)] {
                        self.at(n, op, first, len, commutes, goals);
                    }
                }
            }
        }
        goals.push((part, v));
    }

    /// Matches an operation against one value as it is.
    fn at(&mut self, v: Value, op: VOp, first: u16, len: u8, commutes: bool, goals: &mut Goals) {
        let d = &self.g.f.values[v];
        if d.op == op && !d.precise {
            self.operands(first, len, commutes, &d.args, goals);
        }
    }
}
