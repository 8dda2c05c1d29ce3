//! The graph for the eye.

use std::fmt::Write as _;

use tgsi_ir::rewrite::{PhiInputs, liveness};
use tgsi_ir::{Value, ix, value_at};

use crate::{Choice, Graph, Rules};

/// The graph in the language of Graphviz: a cluster a class of equal values, edges from operands, the
/// rules that gave an alternative below it, and in bold what the choice computes.
pub fn to_dot(g: &Graph, phis: &PhiInputs, rules: &Rules, choice: &Choice) -> String {
    let n = g.f.values.len();
    let live = liveness(&g.f, &choice.edits, phis).live;
    let classes = classes(g);
    let mut sizes = vec![0u32; n];
    classes.iter().for_each(|&c| sizes[c] += 1);
    let mut given: Vec<Vec<&str>> = vec![Vec::new(); n];
    for &(m, r) in g.alternatives.iter().flatten() {
        let name = rules.name(r);
        if !given[ix(m)].contains(&name) {
            given[ix(m)].push(name);
        }
    }
    let mut shown: Vec<bool> = (0..n).map(|i| live[i] || sizes[classes[i]] > 1).collect();
    for i in (0..n).rev() {
        if shown[i] {
            let args = &g.f.values[value_at(i)].args;
            args.iter().for_each(|&a| shown[ix(a)] = true);
        }
    }
    let mut s = String::from("digraph egraph {\n  rankdir=BT\n  node [shape=box]\n");
    // A write to a string cannot fail.
    for (class, &size) in sizes.iter().enumerate().filter(|(_, s)| **s > 0) {
        let members = (class..n).filter(|&i| classes[i] == class && shown[i]);
        let cluster = size > 1;
        if cluster {
            let _ = writeln!(s, "  subgraph cluster_{class} {{");
        }
        for i in members {
            let _ = write!(s, "  {}v{i} [label=\"", if cluster { "  " } else { "" });
            let text = g.f.operation(value_at(i)).to_string();
            let _ = write!(s, "%{i} {}", text.replace(['"', '\\'], "'"));
            for rule in &given[i] {
                let _ = write!(s, "\\n{rule}");
            }
            let _ = writeln!(s, "\"{}]", if live[i] { " style=bold" } else { "" });
        }
        if cluster {
            s.push_str("  }\n");
        }
    }
    for i in (0..n).filter(|&i| shown[i]) {
        let mut args: Vec<Value> = g.f.values[value_at(i)].args.to_vec();
        if live[i] {
            args.iter_mut().for_each(|a| *a = choice.edits.resolve(*a));
        }
        args.sort_unstable();
        args.dedup();
        let style = if live[i] { " [style=bold]" } else { "" };
        for a in args {
            let _ = writeln!(s, "  v{} -> v{i}{style}", ix(a));
        }
    }
    s.push_str("}\n");
    s
}

/// The first of the values that are equal to each value.
fn classes(g: &Graph) -> Vec<usize> {
    let mut first: Vec<usize> = (0..g.f.values.len()).collect();
    fn find(first: &mut [usize], mut i: usize) -> usize {
        while first[i] != i {
            first[i] = first[first[i]];
            i = first[i];
        }
        i
    }
    for (i, alternatives) in g.alternatives.iter().enumerate() {
        for &(m, _) in alternatives {
            let (a, b) = (find(&mut first, i), find(&mut first, ix(m)));
            first[a.max(b)] = a.min(b);
        }
    }
    (0..first.len()).map(|i| find(&mut first, i)).collect()
}
