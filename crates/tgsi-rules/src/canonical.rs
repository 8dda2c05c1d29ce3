//! One text for all the ways to write the same rule.

use std::collections::HashMap;

use tgsi::Opcode;

use crate::{Op, Rule, Term, Var};

/// The two sides with the operands of commuting operations in a fixed order and the variables
/// numbered from the left. Rules that differ only in names and in the order of operands have the
/// same; MIN and MAX count as commuting here, since an order of two zeros makes no other rule.
/// Contract, conditions and direction are not in it.
pub fn canonical(rule: &Rule) -> String {
    let mut forms = vec![rule.lhs.clone()];
    let mut paths = Vec::new();
    commuting(&rule.lhs, &mut Vec::new(), &mut paths);
    for path in paths.iter().take(10) {
        for i in 0..forms.len() {
            let mut other = forms[i].clone();
            swap(&mut other, path);
            forms.push(other);
        }
    }
    forms
        .iter()
        .map(|lhs| {
            let mut names = HashMap::new();
            lhs.each_var(&mut |v| {
                let n = names.len();
                let hash = if rule.is_constant(v) { "#" } else { "" };
                names.entry(v).or_insert_with(|| format!("{hash}v{n}"));
            });
            format!(
                "{} -> {}",
                text(lhs, &names, false),
                text(&rule.rhs, &names, true)
            )
        })
        .min()
        .unwrap_or_default()
}

fn commutes(op: Op) -> bool {
    op.commutes()
        || matches!(
            op,
            Op::Alu(Opcode::Min | Opcode::Max | Opcode::Dmin | Opcode::Dmax)
        )
}

/// The ways down to the commuting operations, inner ones first: exchanging the operands of one
/// leaves the ways to those that follow as they are.
fn commuting(t: &Term, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if let Term::Op(op, args) = t {
        for (i, a) in args.iter().enumerate() {
            path.push(i);
            commuting(a, path, found);
            path.pop();
        }
        if commutes(*op) {
            found.push(path.clone());
        }
    }
}

fn swap(t: &mut Term, path: &[usize]) {
    let Term::Op(_, args) = t else { return };
    match path {
        [] => args.swap(0, 1),
        [i, rest @ ..] => swap(&mut args[*i], rest),
    }
}

fn text(t: &Term, names: &HashMap<Var, String>, sort: bool) -> String {
    match t {
        Term::Var(v) => names.get(v).cloned().unwrap_or_default(),
        Term::Word(w) => format!("{w:#x}"),
        Term::Op(op, args) => {
            let mut args: Vec<String> = args.iter().map(|a| text(a, names, sort)).collect();
            if sort && commutes(*op) {
                args[..2].sort();
            }
            format!("({} {})", op.name(), args.join(" "))
        }
    }
}
