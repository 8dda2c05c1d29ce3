//! Which alternatives rules give, and which of them are computed.

mod common;

use std::fmt::Write;

use common::{Setting, expr, graph, lifted, rules};
use expect_test::{Expect, expect};
use tgsi_egraph::{Graph, Model, Rules, extract, may_apply};
use tgsi_ir::rewrite::{PhiInputs, rebuild_from};
use tgsi_ir::{Function, VOp, Value, ix};
use tgsi_rules::{Contract, Profile};

/// The outputs with their alternatives.
fn shown(g: &Graph, rules: &Rules) -> String {
    let mut out = String::new();
    for &v in g.f.end_args.iter().flatten() {
        let _ = writeln!(out, "{}", expr(&g.f, v));
        for &(m, r) in &g.alternatives[ix(v)] {
            let _ = writeln!(out, "  {}: {}", rules.name(r), expr(&g.f, m));
        }
    }
    out
}

fn check_with(lines: &str, text: &str, s: &Setting, expect: Expect) {
    let rules = rules(lines);
    let g = graph(&lifted(text, ""), &rules, s);
    expect.assert_eq(&shown(&g, &rules));
}

/// The alternatives of the outputs.
fn check(lines: &str, text: &str, expect: Expect) {
    check_with(lines, text, &Setting::default(), expect);
}

const MAD: &str = "mad-form: (add (mul a b) c) ~> (mad a b c) [contract]";

#[test]
fn operands_of_sums_and_products_change_places() {
    check(
        MAD,
        "MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n\
         ADD OUT[0].x, IN[1].xxxx, TEMP[0].xxxx\n\
         ADD OUT[0].y, TEMP[0].xxxx, IN[1].xxxx",
        expect![[r#"
            ADD(IN1.x, MUL(IN0.x, CONST0.x))
              mad-form: MAD(IN0.x, CONST0.x, IN1.x)
              mad-form: MAD(CONST0.x, IN0.x, IN1.x)
            ADD(MUL(IN0.x, CONST0.x), IN1.x)
              mad-form: MAD(IN0.x, CONST0.x, IN1.x)
              mad-form: MAD(CONST0.x, IN0.x, IN1.x)
        "#]],
    );
}

#[test]
fn operands_of_comparisons_do_not() {
    check(
        "x: (slt (abs a) b) ~> (slt b a)",
        "SLT OUT[0].x, |IN[0].xxxx|, IN[1].xxxx\n\
         SLT OUT[0].y, IN[1].xxxx, |IN[0].xxxx|",
        expect![[r#"
            SLT(|IN0.x|, IN1.x)
              x: SLT(IN1.x, IN0.x)
            SLT(IN1.x, |IN0.x|)
        "#]],
    );
}

#[test]
fn a_variable_is_one_value() {
    check(
        "x: (add (mul a b) (mul a c)) ~> (mul a (add b c)) [reassoc]",
        "MUL TEMP[0].xy, IN[0].xxxx, CONST[0].xyyy\n\
         MUL TEMP[0].z, IN[0].yyyy, CONST[0].zzzz\n\
         ADD OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy\n\
         ADD OUT[0].y, TEMP[0].xxxx, TEMP[0].zzzz",
        expect![[r#"
            ADD(MUL(IN0.x, CONST0.x), MUL(IN0.x, CONST0.y))
              x: MUL(IN0.x, ADD(CONST0.x, CONST0.y))
              x: MUL(IN0.x, ADD(CONST0.y, CONST0.x))
            ADD(MUL(IN0.x, CONST0.x), MUL(IN0.y, CONST0.z))
        "#]],
    );
}

#[test]
fn words_and_constants_are_told_apart() {
    check(
        "one: (mul a 1.0) ~> (mov a)\n\
         const: (add a #k) ~> (add #k a)",
        "MUL OUT[0].x, IN[0].xxxx, IMM[0].yyyy\n\
         MUL OUT[0].y, IN[0].xxxx, IMM[0].wwww\n\
         ADD OUT[0].z, IN[0].xxxx, IMM[0].wwww\n\
         ADD OUT[0].w, IN[0].xxxx, CONST[0].xxxx",
        expect![[r#"
            MUL(IN0.x, 1.0)
              one: MOV(IN0.x)
            MUL(IN0.x, 0.5)
            ADD(IN0.x, 0.5)
              const: ADD(0.5, IN0.x)
            ADD(IN0.x, CONST0.x)
        "#]],
    );
}

#[test]
fn patterns_match_alternatives_of_operands() {
    check(
        "halve: (mul a 0.5) ~> (div a 2.0) [arcp]\n\
         outer: (sqrt (div a b)) ~> (div (sqrt a) (sqrt b)) [arcp]",
        "MUL TEMP[0].x, IN[0].xxxx, IMM[0].wwww\n\
         SQRT OUT[0].x, TEMP[0].xxxx",
        expect![[r#"
            SQRT(MUL(IN0.x, 0.5))
              outer: DIV(SQRT(IN0.x), SQRT(2.0))
        "#]],
    );
}

#[test]
fn conditions_look_at_words_and_at_ranges() {
    check(
        "x: (max a 0.0) => a {non-negative a}\n\
         k: (mul a #k) ~> (div a (rcp #k)) {power-of-two #k}",
        "MAX OUT[0].x, |IN[0].xxxx|, IMM[0].xxxx\n\
         SLT TEMP[1].x, IN[0].xxxx, IN[1].xxxx\n\
         MAX OUT[0].y, TEMP[1].xxxx, IMM[0].xxxx\n\
         MUL OUT[0].z, IN[0].xxxx, IMM[0].wwww\n\
         MUL OUT[0].w, IN[0].xxxx, IMM[1].wwww",
        expect![[r#"
            MAX(|IN0.x|, 0.0)
            SLT(IN0.x, IN1.x)
            MUL(IN0.x, 0.5)
              k: DIV(IN0.x, RCP(0.5))
            MUL(IN0.x, 3e-45)
        "#]],
    );
}

#[test]
fn a_value_with_another_reader_is_not_read_once() {
    check(
        "x: (sqrt (mul a 0.5)) ~> (mul (sqrt a) 0.7071068) {once a}",
        "ADD TEMP[0].xy, IN[0].xyyy, CONST[0].xyyy\n\
         MUL TEMP[1].xy, TEMP[0].xyyy, IMM[0].wwww\n\
         SQRT OUT[0].x, TEMP[1].xxxx\n\
         SQRT OUT[0].y, TEMP[1].yyyy\n\
         RCP OUT[0].z, TEMP[0].yyyy",
        expect![[r#"
            SQRT(MUL(ADD(IN0.x, CONST0.x), 0.5))
              x: MUL(SQRT(ADD(IN0.x, CONST0.x)), 0.7071068)
            SQRT(MUL(ADD(IN0.y, CONST0.y), 0.5))
            RCP(ADD(IN0.y, CONST0.y))
        "#]],
    );
}

#[test]
fn precise_values_are_not_matched_and_not_looked_through() {
    check(
        MAD,
        "MUL_PRECISE TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n\
         ADD OUT[0].x, TEMP[0].xxxx, IN[1].xxxx\n\
         MUL TEMP[0].y, IN[0].yyyy, CONST[0].yyyy\n\
         ADD_PRECISE OUT[0].y, TEMP[0].yyyy, IN[1].yyyy",
        expect![[r#"
            ADD(MUL_PRECISE(IN0.x, CONST0.x), IN1.x)
            ADD_PRECISE(MUL(IN0.y, CONST0.y), IN1.y)
        "#]],
    );
}

const SUM: &str = "MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n\
     ADD OUT[0].x, TEMP[0].xxxx, IN[1].xxxx";

#[test]
fn a_contract_that_is_not_granted_keeps_a_rule_out() {
    let strict = Setting {
        granted: Profile::Strict.grants(false),
        ..Setting::default()
    };
    check_with(
        MAD,
        SUM,
        &strict,
        expect![[r#"
        ADD(MUL(IN0.x, CONST0.x), IN1.x)
    "#]],
    );
}

#[test]
fn a_disabled_rule_stays_out() {
    let without = Setting {
        disabled: vec![0],
        ..Setting::default()
    };
    check_with(
        MAD,
        SUM,
        &without,
        expect![[r#"
        ADD(MUL(IN0.x, CONST0.x), IN1.x)
    "#]],
    );
}

#[test]
fn nothing_happens_without_fuel() {
    let none = Setting {
        fuel: 0,
        ..Setting::default()
    };
    check_with(
        MAD,
        SUM,
        &none,
        expect![[r#"
        ADD(MUL(IN0.x, CONST0.x), IN1.x)
    "#]],
    );
}

#[test]
fn what_replaces_leaves_nothing_and_what_explores_waits() {
    let lines = "also: (ssg a) ~> (ssg (ssg a))\n\
                 explore: (sqrt a) ?> (mul a (rsq a)) [arcp]\n\
                 replace: (max a a) => a";
    let text = "SSG OUT[0].x, IN[0].xxxx\n\
                SQRT OUT[0].y, IN[0].xxxx\n\
                MAX OUT[0].z, IN[0].xxxx, IN[0].xxxx";
    let usual = Setting {
        depth: 0,
        ..Setting::default()
    };
    check_with(
        lines,
        text,
        &usual,
        expect![[r#"
        SSG(IN0.x)
        SQRT(IN0.x)
        IN0.x
    "#]],
    );
    let exploring = Setting {
        explore: true,
        ..usual
    };
    check_with(
        lines,
        text,
        &exploring,
        expect![[r#"
        SSG(IN0.x)
        SQRT(IN0.x)
          explore: MUL(IN0.x, RSQ(IN0.x))
        IN0.x
    "#]],
    );
}

#[test]
fn alternatives_matches_and_depth_are_counted() {
    let lines = "a: (add a b) ~> (mad a 1.0 b)\n\
                 b: (add a b) ~> (mad b 1.0 a)\n\
                 c: (mad a 1.0 b) ~> (fma a 1.0 b)\n\
                 d: (fma a 1.0 b) ~> (lrp a 1.0 b)";
    let text = "ADD OUT[0].x, IN[0].xxxx, IN[1].xxxx";
    let count = |s: &Setting| {
        let g = graph(&lifted(text, ""), &rules(lines), s);
        let all: usize = g.alternatives.iter().map(|a| a.len()).sum();
        let v = g.f.end_args.as_ref().expect("an end")[0];
        (g.alternatives[ix(v)].len(), all)
    };
    let all = Setting::default();
    let few = |change: fn(&mut Setting)| {
        let mut s = Setting::default();
        change(&mut s);
        count(&s)
    };
    expect![[r#"
        all (2, 6)
        alternatives 1 (1, 3)
        matches 1 (1, 1)
        depth 0 (2, 2)
        depth 1 (2, 4)
    "#]]
    .assert_eq(&format!(
        "all {:?}\nalternatives 1 {:?}\nmatches 1 {:?}\ndepth 0 {:?}\ndepth 1 {:?}\n",
        count(&all),
        few(|s| s.alternatives = 1),
        few(|s| s.matches = 1),
        few(|s| s.depth = 0),
        few(|s| s.depth = 1),
    ));
}

#[test]
fn what_rounds_otherwise_stays_away_from_sensitive_values() {
    let f = lifted(SUM, "");
    let lines = "mad-form: (add (mul a b) c) ~> (mad a b c) [contract]\n\
                 other: (add (mul a b) c) ~> (mul b (add a (div c b))) [reassoc, arcp]";
    let sensitive = Setting {
        sensitive: vec![true; f.values.len()],
        ..Setting::default()
    };
    check_with(
        lines,
        SUM,
        &sensitive,
        expect![[r#"
        ADD(MUL(IN0.x, CONST0.x), IN1.x)
          mad-form: MAD(IN0.x, CONST0.x, IN1.x)
          mad-form: MAD(CONST0.x, IN0.x, IN1.x)
    "#]],
    );
    check(
        lines,
        SUM,
        expect![[r#"
        ADD(MUL(IN0.x, CONST0.x), IN1.x)
          mad-form: MAD(IN0.x, CONST0.x, IN1.x)
          mad-form: MAD(CONST0.x, IN0.x, IN1.x)
          other: MUL(CONST0.x, ADD(IN0.x, DIV(IN1.x, CONST0.x)))
          other: MUL(IN0.x, ADD(CONST0.x, DIV(IN1.x, IN0.x)))
    "#]],
    );
}

#[test]
fn a_word_is_handed_on_only_where_no_payload_is_in_it() {
    let lines = "x: (min a a) => a";
    let text = "MIN OUT[0].x, IN[0].xxxx, IN[0].xxxx\n\
                ADD TEMP[0].x, IN[0].xxxx, IN[1].xxxx\n\
                MIN OUT[0].y, TEMP[0].xxxx, TEMP[0].xxxx";
    let strict = Setting {
        granted: Profile::Strict.grants(false),
        ..Setting::default()
    };
    check_with(
        lines,
        text,
        &strict,
        expect![[r#"
        MIN(IN0.x, IN0.x)
        ADD(IN0.x, IN1.x)
    "#]],
    );
    check(
        lines,
        text,
        expect![[r#"
        IN0.x
        ADD(IN0.x, IN1.x)
    "#]],
    );
}

#[test]
fn what_is_replaced_at_last_is_replaced_wherever_it_was_made() {
    // The floor is made of the fraction, that again of the floor: too deep for rules to apply.
    check(
        "frc: (frc a) ~> (add a (neg (flr a)))\n\
         flr: (flr a) ~> (add a (neg (frc a))) [ninf]\n\
         both: (add a (neg (frc a))) => (flr a) [ninf]",
        "FRC TEMP[0].x, IN[0].xxxx\n\
         ADD OUT[0].x, IN[0].xxxx, -TEMP[0].xxxx",
        expect![[r#"
            FLR(IN0.x)
              flr: ADD(IN0.x, -FRC(IN0.x))
        "#]],
    );
}

/// The kills after the rules.
fn kills(lines: &str, text: &str) -> String {
    let g = graph(&lifted(text, ""), &rules(lines), &Setting::default());
    let mut out = String::new();
    for (v, d) in g.f.values.iter() {
        if let VOp::Multi(_) = d.op {
            let _ = writeln!(out, "{}", expr(&g.f, v));
        }
    }
    let _ = writeln!(out, "{}", g.contract);
    out
}

#[test]
fn tests_of_kills_become_simpler() {
    let lines = "scale: (kill (mul a #k)) => (kill a) [nsz] {positive #k, once a}\n\
                 slt: (kill (neg (slt a 0.0))) => (kill a)";
    let text = "MUL TEMP[0].x, IN[0].xxxx, IMM[0].wwww\n\
                SLT TEMP[0].y, IN[0].yyyy, IMM[0].xxxx\n\
                KILL_IF TEMP[0].xxxx\n\
                KILL_IF -TEMP[0].yyyy\n\
                KILL_IF TEMP[0].yyyy";
    expect![[r#"
        KILL_IF(IN0.x, IN0.x, IN0.x, IN0.x)
        KILL_IF(IN0.y, IN0.y, IN0.y, IN0.y)
        KILL_IF(SLT(IN0.y, 0.0), SLT(IN0.y, 0.0), SLT(IN0.y, 0.0), SLT(IN0.y, 0.0))
        nsz
    "#]]
    .assert_eq(&kills(lines, text));
}

#[test]
fn programs_of_the_first_era_are_left_alone() {
    let text = "CND TEMP[0].x, IN[0].xxxx, IN[1].xxxx, IN[2].xxxx\n\
                MUL TEMP[0].y, TEMP[0].xxxx, CONST[0].xxxx\n\
                ADD OUT[0].x, TEMP[0].yyyy, IN[1].xxxx";
    let applies = |f: &Function| {
        may_apply(
            f,
            &rules(MAD),
            &tgsi_egraph::Config {
                granted: Contract::CONTRACT,
                alternatives: 1,
                depth: 1,
                matches: 1,
                explore: false,
                taken: &Default::default(),
                spend: &|_, _| true,
                spoiled: None,
                disabled: &[],
                sensitive: &[],
                chaos: None,
            },
        )
    };
    assert!(!applies(&lifted(text, "")));
    assert!(applies(&lifted(SUM, "")));
    assert!(!applies(&lifted("MOV OUT[0].x, IN[0].xxxx", "")));
}

/// What is computed for the outputs, with the contract behind it.
fn chosen(lines: &str, text: &str, lanes: bool) -> String {
    let rules = rules(lines);
    let f = lifted(text, "");
    let g = graph(&f, &rules, &Setting::default());
    let phis = PhiInputs::collect(&g.f);
    let choice = extract(&g, &phis, &rules, Model { lanes, rounds: 3 });
    let new = rebuild_from(&g.f, &choice.edits, &phis, &mut |f, _, n| n.intern(f));
    let end: Vec<Value> = new.end_args.clone().unwrap_or_default();
    let mut out: String = end.iter().map(|&v| expr(&new, v) + "\n").collect();
    let _ = writeln!(out, "{}", choice.contract);
    out
}

#[test]
fn the_cheapest_is_computed() {
    expect![[r#"
        MAD(IN0.x, CONST0.x, IN1.x)
        contract
    "#]]
    .assert_eq(&chosen(MAD, SUM, true));
}

#[test]
fn a_product_that_is_read_elsewhere_stays_beside_the_mad() {
    // Two instructions either way.
    expect![[r#"
        MAD(IN0.x, CONST0.x, IN1.x)
        MUL(IN0.x, CONST0.x)
        contract
    "#]]
    .assert_eq(&chosen(
        MAD,
        "MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n\
         ADD OUT[0].x, TEMP[0].xxxx, IN[1].xxxx\n\
         MOV OUT[0].y, TEMP[0].xxxx",
        true,
    ));
}

const DOT: &str = "dp2: (add (mul a b) (mul c d)) ~> (dp2 a c b d) [reassoc]";

#[test]
fn a_dot_product_of_one_register_is_cheaper_than_its_lanes() {
    let text = "MUL TEMP[0].xy, IN[0].xyyy, CONST[0].xyyy\n\
                ADD OUT[0].x, TEMP[0].xxxx, TEMP[0].yyyy";
    expect![[r#"
        DP2(IN0.x, IN0.y, CONST0.x, CONST0.y)
        reassoc
    "#]]
    .assert_eq(&chosen(DOT, text, true));
}

#[test]
fn lanes_that_share_an_instruction_share_its_price() {
    // Two columns times a vector: both lanes of each step are one instruction, but two dot
    // products are two, with operands of two registers.
    let text = "MUL TEMP[0].xy, CONST[0].xyyy, IN[0].xxxx\n\
                MUL TEMP[1].xy, CONST[1].xyyy, IN[0].yyyy\n\
                ADD OUT[0].xy, TEMP[0].xyyy, TEMP[1].xyyy";
    expect![[r#"
        ADD(MUL(CONST0.x, IN0.x), MUL(CONST1.x, IN0.y))
        ADD(MUL(CONST0.y, IN0.x), MUL(CONST1.y, IN0.y))
        exact
    "#]]
    .assert_eq(&chosen(DOT, text, true));
}
