//! The files of rules in `passes/rules`.

mod common;

use common::rules;
use tgsi_rules::{RuleSet, Term};

#[test]
fn every_file_parses() {
    assert!(!rules().rules.is_empty());
}

#[test]
fn every_rule_prints_as_it_reads() {
    for rule in rules().rules {
        let text = rule.to_string();
        let again = RuleSet::parse(&[("test", &text)]).expect("it reads");
        let again: Vec<String> = again.rules.iter().map(ToString::to_string).collect();
        assert_eq!(again, [text]);
    }
}

/// A left side under another name for its variables, in the order of their first use.
fn shape(t: &Term, names: &mut Vec<u8>) -> String {
    match t {
        Term::Var(v) => {
            let at = names.iter().position(|n| *n == v.0).unwrap_or_else(|| {
                names.push(v.0);
                names.len() - 1
            });
            format!("v{at}")
        }
        Term::Word(w) => format!("{w:#x}"),
        Term::Op(op, args) => {
            let args: Vec<String> = args.iter().map(|a| shape(a, names)).collect();
            format!("({} {})", op.name(), args.join(" "))
        }
    }
}

/// All writings of a term by commutation.
fn writings(t: &Term) -> Vec<Term> {
    let Term::Op(op, args) = t else {
        return vec![t.clone()];
    };
    let mut lists: Vec<Vec<Term>> = vec![Vec::new()];
    for a in args {
        let ways = writings(a);
        lists = lists
            .iter()
            .flat_map(|l| {
                ways.iter()
                    .map(|w| [l.as_slice(), std::slice::from_ref(w)].concat())
            })
            .collect();
    }
    if op.commutes() {
        let swapped: Vec<Vec<Term>> = lists
            .iter()
            .map(|l| {
                let mut l = l.clone();
                l.swap(0, 1);
                l
            })
            .collect();
        lists.extend(swapped);
    }
    lists.into_iter().map(|l| Term::Op(*op, l)).collect()
}

#[test]
fn no_rule_is_there_twice() {
    let mut seen = std::collections::HashMap::new();
    for rule in rules().rules {
        let key = |(l, r): (&Term, &Term)| {
            let mut names = Vec::new();
            let l = shape(l, &mut names);
            let r = shape(r, &mut names);
            let consts: Vec<bool> = names
                .iter()
                .map(|n| rule.is_constant(tgsi_rules::Var(*n)))
                .collect();
            let conds: Vec<String> = rule.conds.iter().map(|c| format!("{c:?}")).collect();
            format!("{l} {r} {consts:?} {conds:?} {}", rule.contract)
        };
        let least = writings(&rule.lhs)
            .iter()
            .map(|l| key((l, &rule.rhs)))
            .min()
            .expect("a writing");
        if let Some(other) = seen.insert(least, rule.name.clone()) {
            panic!("{} and {other} are the same rule", rule.name);
        }
    }
}
