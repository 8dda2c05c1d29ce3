//! What the optimiser tells of its work.

use tgsi::{Program, parse};
use tgsi_opt::{Contract, Explanation, Level, NoGraph, Options, Profile, egraph_dot, optimize};

/// A product and a sum, a product with one, and a sum over channels.
const TEXT: &str = "\
FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL CONST[0..1]
DCL TEMP[0..3]
IMM[0] FLT32 { 1.0, 0.0, 0.0, 0.0 }
  0: MUL TEMP[0], IN[0], CONST[0]
  1: MUL TEMP[1], TEMP[0], IMM[0].xxxx
  2: ADD TEMP[2], TEMP[1], CONST[1]
  3: MOV OUT[0], TEMP[2]
  4: END
";

fn program(text: &str) -> Program {
    let (program, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program
}

fn options(level: Level) -> Options {
    Options {
        level,
        explain: true,
        ..Options::default()
    }
}

fn rules_of(e: &Explanation) -> Vec<&'static str> {
    e.rules.iter().map(|a| a.rule).collect()
}

/// How a product with zero is defined: no liberty.
fn zero() -> Contract {
    Contract::IEEE_ZERO.and(Contract::LEGACY_ZERO)
}

#[test]
fn rules_are_told_by_instruction() {
    for level in [Level::O1, Level::O2, Level::O3] {
        let outcome = optimize(&program(TEXT), &options(level));
        assert_eq!(outcome.after.instructions, 1);
        let list = &outcome.explanation;
        assert_eq!(list.len(), 4, "{list:?}");
        assert_eq!(list[0].text, "MUL TEMP[0], IN[0], CONST[0]");
        assert_eq!(list[2].inst, Some(2));
        assert_eq!(rules_of(&list[2]), ["mad-form"]);
        assert_eq!(list[2].rules[0].times, 4);
        assert!(rules_of(&list[3]).is_empty());
    }
}

#[test]
fn nothing_is_told_unasked_or_where_nothing_is_rewritten() {
    let asked_not = Options {
        explain: false,
        ..options(Level::O2)
    };
    assert!(optimize(&program(TEXT), &asked_not).explanation.is_empty());
    let strict = Options {
        profile: Profile::Strict,
        ..options(Level::O2)
    };
    let outcome = optimize(&program(TEXT), &strict);
    let list = &outcome.explanation;
    assert!(list.iter().all(|e| !rules_of(e).contains(&"mad-form")));
    assert_eq!(outcome.rewriting.contract.without(zero()), Contract::EXACT);
    assert_eq!(outcome.after.instructions, 2);
}

#[test]
fn the_explanation_changes_nothing_else() {
    let text = include_str!("../../../tests/blocks/spot_attenuation.tgsi");
    let plain = Options {
        explain: false,
        ..options(Level::O2)
    };
    let a = optimize(&program(text), &options(Level::O2));
    let b = optimize(&program(text), &plain);
    assert_eq!(a.program, b.program);
    assert_eq!(a.rewriting.fired, b.rewriting.fired);
    // Every rule that is told was counted.
    let counted = |name: &str| {
        let place = tgsi_opt::rules().position(name).expect("a rule");
        a.rewriting.fired[place] > 0
    };
    let told = a.explanation.iter().flat_map(rules_of);
    assert!(told.clone().count() > 0);
    assert!(told.into_iter().all(counted));
}

#[test]
fn a_graph_has_a_cluster_a_class() {
    let dot = egraph_dot(&program(TEXT), &options(Level::O1)).expect("a graph");
    assert!(dot.starts_with("digraph egraph {"), "{dot}");
    assert_eq!(dot.matches("subgraph cluster_").count(), 4, "{dot}");
    let chosen = dot
        .lines()
        .filter(|l| l.contains("MAD") && l.contains("\\nmad-form") && l.contains("style=bold"));
    assert_eq!(chosen.count(), 4, "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}

#[test]
fn graphs_that_cannot_be_shown() {
    let o0 = options(Level::O0);
    assert_eq!(egraph_dot(&program(TEXT), &o0), Err(NoGraph::Disabled));
    let without = Options {
        disable: vec!["egraph".to_owned()],
        ..options(Level::O2)
    };
    assert_eq!(egraph_dot(&program(TEXT), &without), Err(NoGraph::Disabled));
    let plain = "FRAG\nDCL IN[0], COLOR, LINEAR\nDCL OUT[0], COLOR\nMOV OUT[0], IN[0]\nEND\n";
    assert_eq!(
        egraph_dot(&program(plain), &options(Level::O2)),
        Err(NoGraph::Plain)
    );
    let mut large =
        "FRAG\nDCL IN[0], COLOR, LINEAR\nDCL OUT[0], COLOR\nDCL TEMP[0]\nMOV TEMP[0], IN[0]\n"
            .to_owned();
    for _ in 0..200 {
        large.push_str("MAD TEMP[0], TEMP[0].yzwx, IN[0], TEMP[0]\n");
    }
    large.push_str("MOV OUT[0], TEMP[0]\nEND\n");
    let refused = egraph_dot(&program(&large), &options(Level::O2));
    assert!(matches!(refused, Err(NoGraph::TooLarge { most: 400, .. })));
}

#[test]
fn budgets_that_ran_out_are_counted() {
    let text = include_str!("../../../tests/blocks/matrix_rows_scalar.tgsi");
    let outcome = optimize(&program(text), &options(Level::O2));
    let r = &outcome.rewriting;
    assert!(r.iterations >= 1);
    assert!(r.reached.by_name().iter().any(|(_, n)| *n > 0), "{r:?}");
}
