//! Searches that take a bounded number of steps.

use egg::{EGraph, ENodeOrVar, Id, Language, Pattern, PatternAst, SearchMatches, Searcher, Var};
use rustc_hash::FxHashMap;

use super::{Facts, Term32};

/// A pattern that is not searched for in classes where that would take more than [`STEPS`]. Matches are
/// limited by egg, but not what is tried in vain: a pattern of five operations on classes of a hundred
/// nodes, each of which may hold itself, is tried 10^10 times.
pub(super) struct Bounded(pub(super) Pattern<Term32>);

/// Most ways in which nodes are put together for one class.
const STEPS: u64 = 50_000;

/// How many ways of matching a pattern's part with a class are tried, by both, if variables are free.
type Ways = FxHashMap<(usize, Id), u64>;

impl Bounded {
    fn ways(&self, g: &EGraph<Term32, Facts>, part: usize, class: Id, known: &mut Ways) -> u64 {
        let ENodeOrVar::ENode(wanted) = &self.0.ast[Id::from(part)] else {
            return 1;
        };
        let class = g.find(class);
        if let Some(&n) = known.get(&(part, class)) {
            return n;
        }
        let mut all = 0u64;
        for node in &g[class].nodes {
            if node.matches(wanted) {
                let mut ways = 1u64;
                for (&part, &child) in wanted.children().iter().zip(node.children()) {
                    let of_child = self.ways(g, usize::from(part), child, known);
                    // Where one child matches nothing, the ways of the others are tried in vain.
                    ways = ways.saturating_mul(of_child.max(1));
                }
                all = all.saturating_add(ways);
            }
        }
        known.insert((part, class), all);
        all
    }
}

impl Searcher<Term32, Facts> for Bounded {
    fn search_eclass_with_limit(
        &self,
        g: &EGraph<Term32, Facts>,
        class: Id,
        limit: usize,
    ) -> Option<SearchMatches<'_, Term32>> {
        self.0.search_eclass_with_limit(g, class, limit)
    }

    fn search_with_limit(
        &self,
        g: &EGraph<Term32, Facts>,
        limit: usize,
    ) -> Vec<SearchMatches<'_, Term32>> {
        let operations =
            |n: &&ENodeOrVar<Term32>| matches!(n, ENodeOrVar::ENode(n) if !n.is_leaf());
        let depth = self.0.ast.iter().filter(operations).count() as u32;
        let widest = g.classes().map(|c| c.len()).max().unwrap_or(0) as u64;
        if widest.saturating_pow(depth) <= STEPS {
            return self.0.search_with_limit(g, limit);
        }
        let root = self.0.ast.len() - 1;
        let mut known = Ways::default();
        let mut left = limit;
        let mut found = Vec::new();
        let classes = match &self.0.ast[Id::from(root)] {
            ENodeOrVar::ENode(node) => g.classes_for_op(&node.discriminant()),
            ENodeOrVar::Var(_) => None,
        };
        for class in classes.into_iter().flatten() {
            if left == 0 {
                break;
            }
            if self.ways(g, root, class, &mut known) > STEPS {
                continue;
            }
            if let Some(m) = self.0.search_eclass_with_limit(g, class, left) {
                left -= m.substs.len().min(left);
                found.push(m);
            }
        }
        found
    }

    fn get_pattern_ast(&self) -> Option<&PatternAst<Term32>> {
        Searcher::<Term32, Facts>::get_pattern_ast(&self.0)
    }

    fn vars(&self) -> Vec<Var> {
        Searcher::<Term32, Facts>::vars(&self.0)
    }
}
