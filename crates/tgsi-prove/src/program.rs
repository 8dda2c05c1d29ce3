//! The two sides of a rule as one list of operations.

use tgsi::Ty;
use tgsi_rules::{Op, Rule, Term};

use crate::machine::{Mode, Value, Words, operand_type, result_type};

/// Where a value stands: variables first, then words, then results.
pub(crate) type Slot = usize;

/// An operation on slots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) args: Vec<Slot>,
    /// Which sides it is on.
    pub(crate) sides: [bool; 2],
}

/// Both sides of a rule; what they have in common is there once.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) vars: usize,
    /// Words of the text, with the type they are read as.
    pub(crate) words: Vec<(u32, Ty)>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) left: Slot,
    pub(crate) right: Slot,
    /// The type of what is compared.
    pub(crate) ty: Ty,
    /// Which variables have 64 bits.
    pub(crate) wide: Vec<bool>,
}

impl Program {
    pub(crate) fn new(rule: &Rule) -> Program {
        let ty = match &rule.lhs {
            // What is handed on may be a float.
            Term::Op(Op::Alu(code), _) => code.info().dst_ty,
            Term::Op(op, _) => result_type(*op),
            _ => Ty::U,
        };
        let mut p = Program {
            vars: rule.vars.len(),
            words: Vec::new(),
            nodes: Vec::new(),
            left: 0,
            right: 0,
            ty,
            wide: vec![false; rule.vars.len()],
        };
        let read = if ty == Ty::Any { Ty::U } else { ty };
        for t in [&rule.lhs, &rule.rhs] {
            collect(t, read, &mut p.words);
        }
        p.left = p.add(&rule.lhs, read, 0);
        p.right = p.add(&rule.rhs, read, 1);
        p
    }

    fn add(&mut self, t: &Term, ty: Ty, side: usize) -> Slot {
        match t {
            Term::Var(v) => {
                let v = usize::from(v.0);
                self.wide[v] |= ty.is_wide();
                v
            }
            Term::Word(w) => {
                let at = self.words.iter().position(|x| *x == (*w, ty));
                self.vars + at.unwrap_or(0)
            }
            Term::Op(op, terms) => {
                let args: Vec<Slot> = terms
                    .iter()
                    .enumerate()
                    .map(|(i, t)| self.add(t, operand_type(*op, i), side))
                    .collect();
                let known = self
                    .nodes
                    .iter()
                    .position(|n| n.op == *op && n.args == args);
                let at = known.unwrap_or(self.nodes.len());
                if known.is_none() {
                    self.nodes.push(Node {
                        op: *op,
                        args,
                        sides: [false; 2],
                    });
                }
                self.nodes[at].sides[side] = true;
                self.first_node() + at
            }
        }
    }

    pub(crate) fn first_node(&self) -> Slot {
        self.vars + self.words.len()
    }

    pub(crate) fn ops(&self) -> impl Iterator<Item = Op> {
        self.nodes.iter().map(|n| n.op)
    }

    /// Fills the slots of the results. `None` if an operation is not known.
    pub(crate) fn run(&self, words: &Words, slots: &mut [Value], mode: Mode) -> Option<()> {
        let first = self.first_node();
        let mut args = [Value::default(); 8];
        for (i, node) in self.nodes.iter().enumerate() {
            for (arg, slot) in args.iter_mut().zip(&node.args) {
                *arg = slots[*slot];
            }
            slots[first + i] = words.apply(node.op, &args[..node.args.len()], mode)?;
        }
        Some(())
    }

    /// What kinds of floats are met on a side: among its variables, and among its results.
    pub(crate) fn met(&self, words: &Words, slots: &[Value], side: usize) -> [Met; 2] {
        let mut met = [Met::default(); 2];
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| n.sides[side]) {
            for (at, slot) in node.args.iter().enumerate() {
                let number = words.number(slots[*slot], operand_type(node.op, at));
                if let (true, Some(x)) = (*slot < self.vars, number) {
                    met[0].add(x);
                }
            }
            let result = slots[self.first_node() + i];
            if let Some(x) = words.number(result, result_type(node.op)) {
                met[1].add(x);
            }
        }
        met
    }
}

/// Kinds of floats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Met {
    pub(crate) nan: bool,
    pub(crate) infinity: bool,
    pub(crate) zero: bool,
}

impl Met {
    fn add(&mut self, x: f64) {
        self.nan |= x.is_nan();
        self.infinity |= x.is_infinite();
        self.zero |= x == 0.0;
    }
}

/// The words of a term with the types they are read as.
fn collect(t: &Term, ty: Ty, words: &mut Vec<(u32, Ty)>) {
    match t {
        Term::Var(_) => {}
        Term::Word(w) if words.contains(&(*w, ty)) => {}
        Term::Word(w) => words.push((*w, ty)),
        Term::Op(op, terms) => {
            for (i, t) in terms.iter().enumerate() {
                collect(t, operand_type(*op, i), words);
            }
        }
    }
}
