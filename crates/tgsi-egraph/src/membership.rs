//! Whether what one function lets be seen is equal to what another one does, by one graph for both.
//!
//! Both functions' values become terms over shared leaves (inputs, constants, fetches of equal
//! operands at equal places), and their effects and regions are matched in order. Each output, effect
//! and condition is a root: two values that should be one class. What does not coincide as it stands is
//! saturated with the rules under counted limits. An answer of "not proved" is no fault: rules, limits
//! and the matching of regions know only so much.

mod dag;
mod structure;

use std::time::Duration;

use egg::{BackoffScheduler, EGraph, Id, Runner};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tgsi_ir::{Function, Value, ix};
use tgsi_rules::{Contract, RuleSet};

use crate::compile::{Liberties, Rules};
use crate::saturation::{Facts, Term32, proof_rewrites};
use dag::{Dag, Held, Side, Templates, same_arrays, to_egg};
use structure::{Flow, Goal, LoopPair, Phis, Root, Structure, matched};

/// What may be used.
#[derive(Clone, Copy, Debug)]
pub struct Theory<'a> {
    /// The rules as they are written.
    pub set: &'a RuleSet,
    /// The same, prepared.
    pub rules: &'a Rules,
    /// The contract that the result may rest on.
    pub granted: Contract,
    /// Whether a word may be handed on where an operation would have changed the payload of its NaN.
    pub any_nan: bool,
}

/// How much of a result is proved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Outputs where the functions end, one a channel; effects; conditions of branches that hold effects;
    /// and what stands alone in either function.
    pub roots: u32,
    /// Roots that are equal under the rules, provided that those before them are. If all are proved, so is
    /// the result.
    pub proved: u32,
    /// The first root that is not proved.
    pub open: Option<String>,
}

/// Most values of both functions together that are looked at.
pub const MOST_VALUES: usize = 40_000;
/// Rounds of saturation.
const ITERATIONS: usize = 6;
/// Nodes of the saturated graph: so many times those that open roots need, within the two bounds.
const GROWTH: usize = 8;
const LEAST_NODES: usize = 400;
const MOST_NODES: usize = 4_000;
/// Most matches of a rule in a round, for each node.
const MATCHES: usize = 4;
/// How often what loops carry is guessed anew.
const GUESSES: usize = 3;
/// How far the loops' phis are told apart by what feeds them.
const COLOURINGS: usize = 4;

/// Sets a result against its source. `sensitive` says whose last bits count, by arena position.
pub fn membership(
    functions: [&Function; 2],
    sensitive: [&[bool]; 2],
    theory: &Theory<'_>,
) -> Membership {
    let [source, result] = functions;
    let values = source.values.len() + result.values.len();
    let other = if values > MOST_VALUES {
        Some("more values than are looked at")
    } else if source.first_era != result.first_era || source.zero_wins != result.zero_wins {
        Some("other definitions of opcodes")
    } else if source.out_memory != result.out_memory {
        Some("outputs that are memory in one of the two")
    } else {
        None
    };
    if let Some(why) = other {
        return Membership {
            roots: 1,
            proved: 0,
            open: Some(why.to_owned()),
        };
    }
    let own_arrays = !same_arrays(source, result);
    let mut effects_of = Templates::new(own_arrays);
    let mut same = |effects: [Value; 2]| {
        let [a, b] = [0, 1].map(|side: usize| {
            let f = functions[side];
            let m = f.as_multi(effects[side])?;
            Some(effects_of.of(side as u8, f, m, None))
        });
        a == b
    };
    let structure = matched(functions, &mut same);
    let mut proof = Proof {
        functions,
        sensitive,
        theory,
        structure: &structure,
        templates: Templates::new(own_arrays),
    };
    let mut held = proof.guess();
    for _ in 0..GUESSES {
        let (open, wrong) = proof.attempt(&held);
        if wrong.is_empty() {
            return summary(&structure.roots, &open);
        }
        for side in &mut held {
            side.retain(|_, n| !wrong.contains(n));
        }
    }
    let (open, _) = proof.attempt(&[Held::default(), Held::default()]);
    summary(&structure.roots, &open)
}

fn summary(roots: &[Root], open: &[bool]) -> Membership {
    let first = roots.iter().zip(open).find(|r| *r.1);
    Membership {
        roots: roots.len() as u32,
        proved: open.iter().filter(|o| !**o).count() as u32,
        open: first.map(|r| r.0.what.clone()),
    }
}

/// What a goal comes to in terms.
enum Claim {
    Equal(SmallVec<[(u32, u32); 4]>),
    Tests(Vec<u32>, Vec<u32>),
    Never,
}

struct Proof<'a> {
    functions: [&'a Function; 2],
    sensitive: [&'a [bool]; 2],
    theory: &'a Theory<'a>,
    structure: &'a Structure<'a>,
    templates: Templates,
}

impl<'a> Proof<'a> {
    fn dag(&mut self, held: &[Held; 2]) -> (Dag, [Vec<u32>; 2]) {
        let mut dag = Dag::default();
        let ids = [0, 1].map(|n| {
            let side = Side {
                number: n as u8,
                f: self.functions[n],
                flow: flow(self.structure, n),
                sensitive: self.sensitive[n],
                held: &held[n],
            };
            dag.add(&side, &mut self.templates)
        });
        (dag, ids)
    }

    /// Which roots stay open, and which phis are not what they are held to be.
    fn attempt(&mut self, held: &[Held; 2]) -> (Vec<bool>, FxHashSet<u32>) {
        let (mut dag, ids) = self.dag(held);
        let never = dag.never();
        let pair = |&(a, b): &(Value, Value)| (ids[0][ix(a)], ids[1][ix(b)]);
        let mut claims: Vec<Claim> = Vec::new();
        for root in &self.structure.roots {
            claims.push(match &root.goal {
                Goal::Equal(pairs) => Claim::Equal(pairs.iter().map(pair).collect()),
                Goal::Tests(a, b) => {
                    let mut tests = |side: usize, all: &[Value]| -> Vec<u32> {
                        all.iter().map(|v| dag.test(ids[side][ix(*v)])).collect()
                    };
                    Claim::Tests(tests(0, a), tests(1, b))
                }
                Goal::Unmatched => Claim::Never,
            });
        }
        let roots = claims.len();
        let mut of: Vec<u32> = Vec::new();
        for l in &self.structure.loops {
            for (n, pairs) in carried(l, held) {
                of.push(n);
                claims.push(Claim::Equal(pairs.iter().map(pair).collect()));
            }
        }
        let mut open: Vec<bool> = claims.iter().map(|c| !holds(c, &|id| id, never)).collect();
        self.saturate(&dag, never, &claims, &mut open);
        let wrong = of
            .iter()
            .zip(&open[roots..])
            .filter(|(_, o)| **o)
            .map(|(n, _)| *n)
            .collect();
        open.truncate(roots);
        (open, wrong)
    }

    /// Closes open claims by rules.
    fn saturate(&self, dag: &Dag, never: u32, claims: &[Claim], open: &mut [bool]) {
        let f = self.functions[0];
        let matter = |(c, o): &(&Claim, &bool)| **o && !matches!(c, Claim::Never);
        let wanted: Vec<&Claim> = claims
            .iter()
            .zip(open.iter())
            .filter(matter)
            .map(|p| p.0)
            .collect();
        // Rules hold for today's definitions.
        if wanted.is_empty() || f.first_era {
            return;
        }
        let cone = cone(dag, &wanted, never);
        let mut g: EGraph<Term32, Facts> = EGraph::new(Facts::of(f));
        let mut ids: Vec<Option<Id>> = vec![None; dag.terms.len()];
        for (i, (kind, children)) in dag.terms.iter().enumerate() {
            if !cone[i] {
                continue;
            }
            let Some(term) = to_egg(*kind, children, &ids) else {
                continue;
            };
            let id = g.add(term);
            if dag.sensitive[i] {
                let mut data = g[id].data.clone();
                data.sensitive = true;
                g.set_analysis_data(id, data);
            }
            ids[i] = Some(id);
        }
        g.rebuild();
        let nodes = g.total_number_of_nodes();
        let liberties = Liberties {
            granted: self.theory.granted,
            integers: true,
            explore: true,
            taken: Default::default(),
            disabled: Vec::new(),
            chaos: None,
        };
        let (set, rules) = (self.theory.set, self.theory.rules);
        let any_nan = self.theory.any_nan;
        let rewrites = rules.proofs(&liberties, any_nan, || {
            proof_rewrites(set, rules, &liberties, any_nan)
        });
        let found = |g: &EGraph<Term32, Facts>, c: &Claim| {
            let class = |t: u32| {
                // Every term of a wanted claim is in the cone.
                ids[t as usize].map_or(u32::MAX, |id| usize::from(g.find(id)) as u32)
            };
            holds(c, &class, class(never))
        };
        if !wanted.iter().all(|c| found(&g, c)) {
            let limit = (nodes * GROWTH).clamp(LEAST_NODES.max(nodes), MOST_NODES.max(2 * nodes));
            let hook = enough(&wanted, &ids);
            g = Runner::<Term32, Facts>::new(Facts::of(f))
                .with_egraph(g)
                .with_scheduler(
                    BackoffScheduler::default()
                        .with_initial_match_limit(nodes * MATCHES)
                        .with_ban_length(2),
                )
                .with_iter_limit(ITERATIONS)
                .with_node_limit(limit)
                // Counted limits decide, never the clock.
                .with_time_limit(Duration::from_secs(u64::from(u32::MAX)))
                .with_hook(move |r| hook(&r.egraph))
                .run(rewrites.iter())
                .egraph;
        }
        for (c, o) in claims.iter().zip(open.iter_mut()) {
            *o &= matches!(c, Claim::Never) || !found(&g, c);
        }
    }

    /// Which phis of matched loops are held to be the same: those that are fed the same, as far as that
    /// is told without rules.
    fn guess(&mut self) -> [Held; 2] {
        let mut held = [Held::default(), Held::default()];
        let structure = self.structure;
        if structure.loops.is_empty() {
            return held;
        }
        // A colour for each phi, finer with each step.
        let mut colours: Vec<[Held; 2]> = Vec::new();
        let mut first = [Held::default(), Held::default()];
        for (n, l) in structure.loops.iter().enumerate() {
            for side in [0, 1] {
                for (phis, k) in [(Phis::Params, 0), (Phis::Results, 1)] {
                    for &p in of_loop(l, side, phis) {
                        first[side].insert(ix(p), 2 * n as u32 + k);
                    }
                }
            }
        }
        colours.push(first);
        for step in 0..COLOURINGS {
            let last = &colours[step];
            let (_, ids) = self.dag(last);
            let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
            let mut next = [Held::default(), Held::default()];
            for l in &structure.loops {
                for side in [0, 1] {
                    for phis in [Phis::Params, Phis::Results] {
                        for (k, &p) in of_loop(l, side, phis).iter().enumerate() {
                            let mut key = vec![last[side][&ix(p)]];
                            let edges = l.edges.iter().filter(|e| e.0 == phis);
                            // What a loop begins with tells before what it goes on with.
                            let seen = edges.take(if step == 0 { 1 } else { usize::MAX });
                            key.extend(
                                seen.filter_map(|e| e.1[side].get(k))
                                    .map(|a| ids[side][ix(*a)]),
                            );
                            let fresh = known.len() as u32;
                            let c = *known.entry(key).or_insert(fresh);
                            next[side].insert(ix(p), c);
                        }
                    }
                }
            }
            colours.push(next);
        }
        let mut next = 0;
        for colour in colours.iter().rev() {
            for l in &structure.loops {
                for phis in [Phis::Params, Phis::Results] {
                    for &p in of_loop(l, 0, phis) {
                        if held[0].contains_key(&ix(p)) {
                            continue;
                        }
                        let mine = colour[0].get(&ix(p));
                        let other = of_loop(l, 1, phis).iter().find(|q| {
                            !held[1].contains_key(&ix(**q)) && colour[1].get(&ix(**q)) == mine
                        });
                        if let Some(&q) = other {
                            held[0].insert(ix(p), next);
                            held[1].insert(ix(q), next);
                            next += 1;
                        }
                    }
                }
            }
        }
        held
    }
}

/// Ends a saturation, before a round, that has nothing left to prove.
fn enough(
    wanted: &[&Claim],
    ids: &[Option<Id>],
) -> impl Fn(&EGraph<Term32, Facts>) -> Result<(), String> + 'static {
    let mut pairs: Vec<(Id, Id)> = Vec::new();
    // Tests of discards are looked at in the end only.
    let mut known = true;
    for c in wanted {
        match c {
            Claim::Equal(all) => pairs.extend(
                all.iter()
                    .filter_map(|&(a, b)| ids[a as usize].zip(ids[b as usize])),
            ),
            _ => known = false,
        }
    }
    move |g| {
        if known && pairs.iter().all(|&(a, b)| g.find(a) == g.find(b)) {
            Err("proved".to_owned())
        } else {
            Ok(())
        }
    }
}

fn flow<'a>(structure: &'a Structure<'_>, side: usize) -> &'a Flow {
    &structure.flows[side]
}

fn of_loop<'a>(l: &LoopPair<'a>, side: usize, phis: Phis) -> &'a [Value] {
    let one = l.loops[side];
    match phis {
        Phis::Params => &one.params,
        Phis::Results => &one.results,
    }
}

/// What must be equal for the phis of a loop to be what they are held to be.
fn carried(l: &LoopPair<'_>, held: &[Held; 2]) -> Vec<(u32, Vec<(Value, Value)>)> {
    let mut out = Vec::new();
    for phis in [Phis::Params, Phis::Results] {
        for (i, p) in of_loop(l, 0, phis).iter().enumerate() {
            let Some(&n) = held[0].get(&ix(*p)) else {
                continue;
            };
            let there = of_loop(l, 1, phis)
                .iter()
                .position(|q| held[1].get(&ix(*q)) == Some(&n));
            let Some(j) = there else { continue };
            let pairs = l
                .edges
                .iter()
                .filter(|e| e.0 == phis)
                .filter_map(|e| Some((*e.1[0].get(i)?, *e.1[1].get(j)?)))
                .collect();
            out.push((n, pairs));
        }
    }
    out
}

/// Whether a claim holds where `class` is the class of a term; `never` is that of the test that never
/// discards.
fn holds(c: &Claim, class: &dyn Fn(u32) -> u32, never: u32) -> bool {
    match c {
        Claim::Equal(pairs) => pairs.iter().all(|&(a, b)| class(a) == class(b)),
        Claim::Tests(a, b) => {
            let set = |tests: &[u32]| -> Vec<u32> {
                let mut all: Vec<u32> = tests.iter().map(|&t| class(t)).collect();
                all.retain(|&t| t != never);
                all.sort_unstable();
                all.dedup();
                all
            };
            set(a) == set(b)
        }
        Claim::Never => false,
    }
}

/// The terms that claims rest on.
fn cone(dag: &Dag, claims: &[&Claim], never: u32) -> Vec<bool> {
    let mut marked = vec![false; dag.terms.len()];
    marked[never as usize] = true;
    for c in claims {
        match c {
            Claim::Equal(pairs) => {
                for &(a, b) in pairs {
                    // What coincides already needs no look.
                    marked[a as usize] = true;
                    marked[b as usize] = true;
                }
            }
            Claim::Tests(a, b) => a.iter().chain(b).for_each(|&t| marked[t as usize] = true),
            Claim::Never => {}
        }
    }
    for i in (0..dag.terms.len()).rev() {
        if marked[i] {
            for &c in &dag.terms[i].1 {
                marked[c as usize] = true;
            }
        }
    }
    marked
}
