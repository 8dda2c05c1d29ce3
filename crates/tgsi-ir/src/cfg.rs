//! The control-flow graph of the region tree, and dominance on it.
//!
//! A view: passes change the tree and build the graph anew. Floating values are in no block; the
//! graph knows where phis and placed operations are defined ([`Cfg::def`]), where values are used
//! ([`Cfg::uses`]), and derives from both the earliest place of every value ([`Cfg::early`]).

use std::fmt::Write;

use petgraph::algo::dominators::{self, Dominators};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::ir::*;
use crate::rewrite::known_branch;

/// A basic block: what it belongs to and the effects in it.
#[derive(Clone, Debug)]
pub struct Block {
    /// `entry`, `then`, `else`, `join`, `loop`, `exit`, `case` or `end`.
    pub name: &'static str,
    /// Effects in order.
    pub effects: Vec<Value>,
}

/// A place in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Block.
    pub block: NodeIndex,
    /// 0 for the head of the block (phis), then 1 for the first effect and so on; [`END`] for its end.
    pub pos: u32,
}

/// The position at the end of a block.
pub const END: u32 = u32::MAX;

/// The graph.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Blocks; unreachable arms of decided branches have none.
    pub graph: DiGraph<Block, ()>,
    /// First block.
    pub entry: NodeIndex,
    /// Where END and RET lead.
    pub exit: NodeIndex,
    /// Where phis and placed operations are defined, by arena position.
    pub def: Vec<Option<Place>>,
    /// Values that effects, conditions and edges use, and where.
    pub uses: Vec<(Value, Place)>,
    doms: Dominators<NodeIndex>,
    /// First and last number of each block's subtree in the dominator tree.
    span: Vec<(u32, u32)>,
}

struct Scope {
    id: RegionId,
    head: Option<NodeIndex>,
    out: NodeIndex,
    left: bool,
}

struct Builder<'a> {
    f: &'a Function,
    graph: DiGraph<Block, ()>,
    exit: NodeIndex,
    def: Vec<Option<Place>>,
    uses: Vec<(Value, Place)>,
    scopes: Vec<Scope>,
}

impl Cfg {
    /// Builds the graph of a function.
    pub fn new(f: &Function) -> Cfg {
        let mut graph = DiGraph::new();
        let entry = graph.add_node(Block {
            name: "entry",
            effects: Vec::new(),
        });
        let exit = graph.add_node(Block {
            name: "end",
            effects: Vec::new(),
        });
        let def = vec![None; f.values.len()];
        let mut b = Builder {
            f,
            graph,
            exit,
            def,
            uses: Vec::new(),
            scopes: Vec::new(),
        };
        if let Some(last) = b.body(&f.body, entry) {
            b.edge(last, exit, f.end_args.as_deref().unwrap_or_default());
        }
        let doms = dominators::simple_fast(&b.graph, entry);
        let span = spans(&b.graph, &doms, entry);
        Cfg {
            graph: b.graph,
            entry,
            exit,
            def: b.def,
            uses: b.uses,
            doms,
            span,
        }
    }

    /// The immediate dominators.
    pub fn dominators(&self) -> &Dominators<NodeIndex> {
        &self.doms
    }

    /// Whether block `a` dominates block `b`. Unreachable blocks are dominated by none.
    pub fn block_dominates(&self, a: NodeIndex, b: NodeIndex) -> bool {
        let (a, b) = (self.span[a.index()], self.span[b.index()]);
        a.0 != 0 && b.0 != 0 && a.0 <= b.0 && b.1 <= a.1
    }

    /// Whether every way to `b` passes `a`.
    pub fn dominates(&self, a: Place, b: Place) -> bool {
        if a.block == b.block {
            a.pos <= b.pos
        } else {
            self.block_dominates(a.block, b.block)
        }
    }

    /// The earliest place of each value, by arena position: that of the last of its phis and placed
    /// operations. `None` where these are not on one line of dominance, or missing.
    pub fn early(&self, f: &Function) -> Vec<Option<Place>> {
        let mut early: Vec<Option<Place>> = vec![None; f.values.len()];
        let start = Place {
            block: self.entry,
            pos: 0,
        };
        for (v, d) in f.values.iter() {
            let own = match d.op {
                VOp::Phi(_) => self.def[ix(v)],
                VOp::Multi(m)
                    if f.multis
                        .get(m.0 as usize)
                        .is_some_and(|m| m.kind != MultiKind::Pure) =>
                {
                    self.def[ix(v)]
                }
                _ => Some(start),
            };
            early[ix(v)] = d.args.iter().fold(own, |at, &a| {
                let (at, a) = (at?, early.get(ix(a)).copied().flatten()?);
                if self.dominates(a, at) {
                    Some(at)
                } else if self.dominates(at, a) {
                    Some(a)
                } else {
                    None
                }
            });
        }
        early
    }

    /// The graph in the language of Graphviz.
    pub fn to_dot(&self, f: &Function) -> String {
        let mut s = String::from("digraph cfg {\n  node [shape=box]\n");
        for n in self.graph.node_indices() {
            let b = &self.graph[n];
            let _ = write!(s, "  b{} [label=\"b{0} {}", n.index(), b.name);
            for &v in &b.effects {
                let name = f.as_multi(v).map_or("?", |m| m.inst.op.name());
                let _ = write!(s, "\\n%{} {name}", ix(v));
            }
            s.push_str("\"]\n");
        }
        for e in self.graph.edge_indices() {
            if let Some((a, b)) = self.graph.edge_endpoints(e) {
                let _ = writeln!(s, "  b{} -> b{}", a.index(), b.index());
            }
        }
        s.push_str("}\n");
        s
    }
}

/// Numbers the dominator tree in depth-first order, from 1; unreachable blocks keep (0, 0).
fn spans(
    graph: &DiGraph<Block, ()>,
    doms: &Dominators<NodeIndex>,
    entry: NodeIndex,
) -> Vec<(u32, u32)> {
    let mut children: Vec<Vec<NodeIndex>> = vec![Vec::new(); graph.node_count()];
    for n in graph.node_indices() {
        if let Some(d) = doms.immediate_dominator(n) {
            children[d.index()].push(n);
        }
    }
    let mut span = vec![(0, 0); graph.node_count()];
    let mut next = 1;
    let mut stack = vec![(entry, 0)];
    span[entry.index()].0 = next;
    while let Some((n, i)) = stack.pop() {
        match children[n.index()].get(i) {
            Some(&c) => {
                stack.push((n, i + 1));
                next += 1;
                span[c.index()].0 = next;
                stack.push((c, 0));
            }
            None => span[n.index()].1 = next,
        }
    }
    span
}

impl Builder<'_> {
    fn block(&mut self, name: &'static str) -> NodeIndex {
        self.graph.add_node(Block {
            name,
            effects: Vec::new(),
        })
    }

    fn define(&mut self, phis: &[Value], block: NodeIndex) {
        for &p in phis {
            if let Some(d) = self.def.get_mut(ix(p)) {
                *d = Some(Place { block, pos: 0 });
            }
        }
    }

    fn use_at_end(&mut self, values: &[Value], block: NodeIndex) {
        self.uses
            .extend(values.iter().map(|&v| (v, Place { block, pos: END })));
    }

    fn edge(&mut self, from: NodeIndex, to: NodeIndex, args: &[Value]) {
        self.graph.add_edge(from, to, ());
        self.use_at_end(args, from);
    }

    /// Adds a body that starts in `at`; the block at its end, if it can be reached.
    fn body(&mut self, body: &Body, mut at: NodeIndex) -> Option<NodeIndex> {
        for item in &body.items {
            at = match item {
                Item::Effect(v) => {
                    let effects = &mut self.graph[at].effects;
                    effects.push(*v);
                    let place = Place {
                        block: at,
                        pos: effects.len() as u32,
                    };
                    if let Some(d) = self.def.get_mut(ix(*v)) {
                        *d = Some(place);
                    }
                    self.uses.push((*v, place));
                    at
                }
                Item::If(i) => self.branch(i, at)?,
                Item::Loop(l) => self.looped(l, at)?,
                Item::Switch(s) => self.switch(s, at)?,
                Item::Depart(id, args) => {
                    self.leave(*id, args, at, false);
                    return None;
                }
                Item::Repeat(id, args) => {
                    self.leave(*id, args, at, true);
                    return None;
                }
            };
        }
        Some(at)
    }

    fn leave(&mut self, id: RegionId, args: &[Value], at: NodeIndex, again: bool) {
        let target = match self.scopes.iter_mut().rev().find(|s| s.id == id) {
            Some(s) if again => s.head,
            Some(s) => {
                s.left = true;
                Some(s.out)
            }
            None => (id == FUNCTION).then_some(self.exit),
        };
        if let Some(t) = target {
            self.edge(at, t, args);
        }
    }

    fn branch(&mut self, i: &If, at: NodeIndex) -> Option<NodeIndex> {
        let known = known_branch(self.f, i);
        if known.is_none() {
            self.use_at_end(&[i.cond], at);
        }
        let join = self.block("join");
        self.define(&i.results, join);
        let mut reached = false;
        for (name, arm, args, outcome) in [
            ("then", &i.then, &i.then_args, true),
            ("else", &i.els, &i.else_args, false),
        ] {
            if known.is_some_and(|k| k != outcome) {
                continue;
            }
            let start = self.block(name);
            self.graph.add_edge(at, start, ());
            if let Some(end) = self.body(arm, start) {
                self.edge(end, join, args.as_deref().unwrap_or_default());
                reached = true;
            }
        }
        reached.then_some(join)
    }

    fn looped(&mut self, l: &Loop, at: NodeIndex) -> Option<NodeIndex> {
        let head = self.block("loop");
        let out = self.block("exit");
        self.define(&l.params, head);
        self.define(&l.results, out);
        self.edge(at, head, &l.inits);
        self.scopes.push(Scope {
            id: l.id,
            head: Some(head),
            out,
            left: false,
        });
        if let Some(end) = self.body(&l.body, head) {
            self.edge(end, head, l.back.as_deref().unwrap_or_default());
        }
        let left = self.scopes.pop().is_some_and(|s| s.left);
        left.then_some(out)
    }

    fn switch(&mut self, s: &Switch, at: NodeIndex) -> Option<NodeIndex> {
        let mut used = vec![s.selector];
        used.extend(s.cases.iter().filter_map(|c| c.label));
        self.use_at_end(&used, at);
        let out = self.block("exit");
        self.define(&s.results, out);
        self.scopes.push(Scope {
            id: s.id,
            head: None,
            out,
            left: false,
        });
        let mut fall: Option<NodeIndex> = None;
        for c in &s.cases {
            let start = self.block("case");
            self.define(&c.params, start);
            self.edge(at, start, &c.entry);
            if let Some(f) = fall {
                self.edge(f, start, c.fall.as_deref().unwrap_or_default());
            }
            fall = self.body(&c.body, start);
        }
        let mut left = self.scopes.pop().is_some_and(|s| s.left);
        if let Some(f) = fall {
            self.edge(f, out, s.end_args.as_deref().unwrap_or_default());
            left = true;
        }
        if let Some(args) = &s.none_args {
            self.edge(at, out, args);
            left = true;
        }
        left.then_some(out)
    }
}

/// The values that the uses need, directly or through operands, by arena position.
pub fn reached(f: &Function, cfg: &Cfg) -> Vec<bool> {
    let mut seen = vec![false; f.values.len()];
    let mut stack: Vec<Value> = cfg.uses.iter().map(|u| u.0).collect();
    while let Some(v) = stack.pop() {
        if seen.get(ix(v)).is_some_and(|s| !s) {
            seen[ix(v)] = true;
            stack.extend(&f.values[v].args);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::lift;

    fn lifted(text: &str) -> Function {
        let (program, _) = tgsi::parse(&format!(
            "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\n{text}\nEND\n"
        ));
        lift(&program).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_branch_in_a_loop() {
        let f = lifted(
            "BGNLOOP\nUIF IN[0].xxxx\nBRK\nENDIF\nUIF IN[0].yyyy\nKILL\nENDIF\nENDLOOP\nMOV OUT[0].x, IN[0].xxxx",
        );
        let cfg = Cfg::new(&f);
        expect![[r#"
            digraph cfg {
              node [shape=box]
              b0 [label="b0 entry"]
              b1 [label="b1 end"]
              b2 [label="b2 loop"]
              b3 [label="b3 exit"]
              b4 [label="b4 join"]
              b5 [label="b5 then"]
              b6 [label="b6 else"]
              b7 [label="b7 join"]
              b8 [label="b8 then\n%2 KILL"]
              b9 [label="b9 else"]
              b0 -> b2
              b2 -> b5
              b5 -> b3
              b2 -> b6
              b6 -> b4
              b4 -> b8
              b8 -> b7
              b4 -> b9
              b9 -> b7
              b7 -> b2
              b3 -> b1
            }
        "#]]
        .assert_eq(&cfg.to_dot(&f));
        // The loop's head dominates its exit, the arm with the KILL does not.
        let named = |name| {
            cfg.graph
                .node_indices()
                .find(|&n| cfg.graph[n].name == name)
        };
        let (head, exit) = (named("loop"), named("exit"));
        let kill = cfg
            .graph
            .node_indices()
            .find(|&n| !cfg.graph[n].effects.is_empty());
        let dominates = |a: Option<NodeIndex>, b: Option<NodeIndex>| {
            a.zip(b).is_some_and(|(a, b)| cfg.block_dominates(a, b))
        };
        assert!(dominates(head, exit));
        assert!(!dominates(kill, exit));
        assert!(cfg.block_dominates(cfg.entry, cfg.exit));
    }

    #[test]
    fn a_value_is_as_early_as_the_last_phi_in_it() {
        let f = lifted(
            "UIF IN[0].xxxx\nKILL\nMOV TEMP[0].x, IN[0].yyyy\nELSE\nMOV TEMP[0].x, IN[0].zzzz\nENDIF\n\
             ADD OUT[0].x, TEMP[0].xxxx, IN[0].xxxx",
        );
        let cfg = Cfg::new(&f);
        let early = cfg.early(&f);
        let sum = f
            .values
            .iter()
            .find(|(_, d)| matches!(d.op, VOp::Alu(tgsi::Opcode::Add)))
            .map(|v| v.0);
        let at = sum
            .and_then(|s| early[ix(s)])
            .map(|p| cfg.graph[p.block].name);
        assert_eq!(at, Some("join"));
        let input = f
            .values
            .iter()
            .find(|(_, d)| matches!(d.op, VOp::Reg(..)))
            .map(|v| v.0);
        assert_eq!(
            input.and_then(|v| early[ix(v)]).map(|p| p.block),
            Some(cfg.entry)
        );
    }

    #[test]
    fn what_follows_a_departure_has_no_edge() {
        let f = lifted("UIF IN[0].xxxx\nRET\nENDIF\nKILL\nMOV OUT[0].x, IN[0].xxxx");
        let cfg = Cfg::new(&f);
        let into_exit = cfg
            .graph
            .neighbors_directed(cfg.exit, petgraph::Incoming)
            .count();
        assert_eq!(into_exit, 2);
    }
}
