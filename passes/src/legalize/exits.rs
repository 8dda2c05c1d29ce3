//! CONT and SWITCH in terms of branches, for targets that have those: what follows an exit goes into
//! the arm that stays.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, never_ends, rebuild_with};
use tgsi_ir::{Args, Body, Function, If, Item, LaneHint, Loop, RegionId, Switch, VOp, Value, ix};
use tgsi_target::Flow;

use crate::const_fold::keep;
use crate::unroll::exits::{nest, nests, repeats};

/// The function without the exits that `flow` lacks, as far as they end arms; nothing if there are none.
pub(super) fn nested(old: &Function, flow: &Flow) -> Option<Function> {
    let mut e = Exits {
        f: old.clone(),
        flow: *flow,
        edits: Edits::default(),
        changed: false,
    };
    let body = std::mem::take(&mut e.f.body);
    e.f.body = e.body(body);
    e.changed.then(|| rebuild_with(&e.f, &e.edits, &mut keep))
}

struct Exits {
    f: Function,
    flow: Flow,
    edits: Edits,
    changed: bool,
}

impl Exits {
    fn body(&mut self, body: Body) -> Body {
        let mut out = Body::default();
        for item in body.items {
            match item {
                Item::If(mut i) => {
                    i.then = self.body(i.then);
                    i.els = self.body(i.els);
                    out.items.push(Item::If(i));
                }
                Item::Loop(mut l) => {
                    l.body = self.body(l.body);
                    if !self.flow.continues && repeats(&l.body.items, l.id) {
                        self.without_continues(&mut l);
                    }
                    out.items.push(Item::Loop(l));
                }
                Item::Switch(mut s) => {
                    for c in &mut s.cases {
                        c.body = self.body(std::mem::take(&mut c.body));
                    }
                    let item = if self.flow.switches || !self.is_chain(&s) {
                        Item::Switch(s)
                    } else {
                        self.chain(*s)
                    };
                    out.items.push(item);
                }
                other => out.items.push(other),
            }
        }
        out
    }

    /// Every way to the next iteration comes to the end of the body.
    fn without_continues(&mut self, l: &mut Loop) {
        let end = RegionId(self.f.fresh());
        let mut body = l.body.clone();
        leave(&mut body, l.id, end);
        if let Some(back) = &l.back {
            body.items.push(Item::Depart(end, back.clone()));
        }
        if !nests(&body.items, end, 0) || !has_plain_arms(&body) {
            return;
        }
        let hints: Vec<LaneHint> = l.params.iter().map(|&p| self.f.values[p].hint).collect();
        let mut out = Body::default();
        l.back = nest(&mut self.f, body.items, end, &hints, &mut out.items);
        l.body = out;
        self.changed = true;
    }

    /// Whether each case of a SWITCH ends without going on to the next one, and its parameters are what
    /// it is entered with.
    fn is_chain(&self, s: &Switch) -> bool {
        let alone = s.cases.iter().all(|c| c.fall.is_none());
        let known = |p: (&Value, &Value)| ix(*p.1) < ix(*p.0);
        alone
            && s.cases.iter().any(|c| c.label.is_some())
            && s.cases.iter().all(|c| {
                c.params.iter().zip(&c.entry).all(known)
                    && nests(&c.body.items, s.id, 0)
                    && has_plain_arms(&c.body)
            })
    }

    /// A chain of branches.
    fn chain(&mut self, s: Switch) -> Item {
        self.changed = true;
        let hints: Vec<LaneHint> = s.results.iter().map(|&p| self.f.values[p].hint).collect();
        let mut rest = (Body::default(), s.none_args.clone());
        let mut labelled = Vec::new();
        let last = s.cases.len().saturating_sub(1);
        for (k, mut c) in s.cases.into_iter().enumerate() {
            for (&p, &entry) in c.params.iter().zip(&c.entry) {
                self.edits.subst.insert(p, entry);
            }
            if let (true, Some(args)) = (k == last, &s.end_args) {
                c.body.items.push(Item::Depart(s.id, args.clone()));
            }
            let mut out = Body::default();
            let args = nest(&mut self.f, c.body.items, s.id, &hints, &mut out.items);
            match c.label {
                Some(label) => labelled.push((label, out, args, c.at)),
                None => rest = (out, args),
            }
        }
        let count = labelled.len();
        let mut chain = None;
        for (k, (label, then, then_args, at)) in labelled.into_iter().rev().enumerate() {
            let hint = LaneHint {
                inst: at,
                lane: 0,
                depth: 0,
            };
            let args: Args = [s.selector, label].into_iter().collect();
            let cond = self
                .f
                .intern(VOp::Alu(Opcode::Useq), false, false, args, hint);
            let (els, else_args) = std::mem::take(&mut rest);
            let ends = then_args.is_some() || else_args.is_some();
            let results = if k + 1 == count {
                s.results.clone()
            } else if ends {
                hints.iter().map(|&h| self.f.phi(h)).collect()
            } else {
                Vec::new()
            };
            let branch = Item::If(Box::new(If {
                bits: true,
                cond,
                then,
                els,
                results: results.clone(),
                then_args,
                else_args,
                at: [at, at, s.at[1]],
            }));
            if k + 1 == count {
                chain = Some(branch);
            } else {
                rest.0.items.push(branch);
                rest.1 = ends.then_some(results);
            }
        }
        // There is a case with a label.
        chain.unwrap_or(Item::If(Box::new(If {
            bits: true,
            cond: s.selector,
            then: Body::default(),
            els: Body::default(),
            results: Vec::new(),
            then_args: Some(Vec::new()),
            else_args: Some(Vec::new()),
            at: [s.at[0], s.at[0], s.at[1]],
        })))
    }
}

/// Makes the ways to the next iteration of `id` exits of `end`.
fn leave(body: &mut Body, id: RegionId, end: RegionId) {
    for item in &mut body.items {
        match item {
            Item::Repeat(to, args) if *to == id => {
                *item = Item::Depart(end, std::mem::take(args));
            }
            Item::If(i) => {
                leave(&mut i.then, id, end);
                leave(&mut i.els, id, end);
            }
            Item::Loop(l) => leave(&mut l.body, id, end),
            Item::Switch(s) => s.cases.iter_mut().for_each(|c| leave(&mut c.body, id, end)),
            _ => {}
        }
    }
}

/// Whether branches of which only one arm goes on have no phis.
fn has_plain_arms(body: &Body) -> bool {
    body.items.iter().all(|item| match item {
        Item::If(i) => {
            let both = i.then_args.is_some() && i.else_args.is_some();
            (both || i.results.is_empty()) && has_plain_arms(&i.then) && has_plain_arms(&i.els)
        }
        // An exit out of them is none that nests.
        Item::Loop(_) | Item::Switch(_) => true,
        other => matches!(other, Item::Effect(_)) || never_ends(other),
    })
}
