//! What is proved of two programs, and what must not be.

use rustc_hash::FxHashSet;
use tgsi_egraph::{MOST_VALUES, Membership, Rules, Theory, membership};
use tgsi_ir::{Function, lift};
use tgsi_rules::{Contract, Profile, RuleSet};

const HEADER: &str = "DCL IN[0..2], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL CONST[0]
DCL SAMP[0..1]
DCL TEMP[0..5]
IMM[0] FLT32 {0.0, 1.0, -1.0, 0.5}
";

fn lifted(text: &str) -> Function {
    let (program, diagnostics) = tgsi::parse(&format!("FRAG\n{HEADER}{text}\nEND\n"));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    lift(&program).expect("a program that can be lifted")
}

fn judged(rules: &str, granted: Contract, source: &str, result: &str) -> Membership {
    let lines: Vec<String> = rules
        .lines()
        .map(|l| format!("{l} -- for the test"))
        .collect();
    let set = RuleSet::parse(&[("test", &lines.join("\n"))]).expect("rules");
    let prepared = Rules::new(&set, &FxHashSet::default());
    let theory = Theory {
        set: &set,
        rules: &prepared,
        granted,
        any_nan: false,
    };
    let (a, b) = (lifted(source), lifted(result));
    let found = membership([&a, &b], [&[], &[]], &theory);
    assert!(found.proved <= found.roots);
    assert_eq!(found.open.is_none(), found.proved == found.roots);
    found
}

/// Both programs are the same in all roots.
#[track_caller]
fn proved(source: &str, result: &str) {
    let m = judged("", Contract::EXACT, source, result);
    assert!(m.roots > 0 && m.open.is_none(), "{m:?}");
}

/// This is the first root that is not the same.
#[track_caller]
fn open(source: &str, result: &str, root: &str) {
    let m = judged("", Contract::EXACT, source, result);
    assert_eq!(m.open.as_deref(), Some(root), "{m:?}");
}

#[test]
fn registers_and_order_do_not_count() {
    proved(
        "ADD TEMP[0], IN[0], IN[1]\nMUL OUT[0], TEMP[0], CONST[0]",
        "ADD TEMP[5].zw, IN[1], IN[0]\nADD TEMP[5].xy, IN[0], IN[1]\nMUL OUT[0], CONST[0], TEMP[5]",
    );
}

#[test]
fn each_channel_is_a_root() {
    let m = judged(
        "",
        Contract::EXACT,
        "MUL OUT[0], IN[0], CONST[0]",
        "MUL OUT[0], IN[0].xyzz, CONST[0]",
    );
    assert_eq!((m.roots, m.proved), (4, 3));
    assert_eq!(m.open.as_deref(), Some("OUT[0].w"));
}

#[test]
fn what_the_result_lacks_or_adds_is_open() {
    open("MOV OUT[0].xy, IN[0]", "MOV OUT[0].x, IN[0]", "OUT[0].y");
    open(
        "MOV OUT[0].x, IN[0]",
        "MOV OUT[0].xy, IN[0]",
        "an output that the source does not write",
    );
}

#[test]
fn undefined_words_may_be_anything() {
    proved("MOV OUT[0].x, TEMP[3].xxxx", "MOV OUT[0].x, IN[0].xxxx");
    open(
        "MOV OUT[0].x, IN[0].xxxx",
        "MOV OUT[0].x, TEMP[3].xxxx",
        "OUT[0].x",
    );
    // Two undefined words are not the same one.
    open(
        "XOR OUT[0].x, TEMP[3].xxxx, TEMP[3].xxxx",
        "XOR OUT[0].x, TEMP[3].xxxx, TEMP[4].xxxx",
        "OUT[0].x",
    );
}

const MAD: &str = "mad-form: (add (mul a b) c) ~> (mad a b c) [contract]";

#[test]
fn rules_count_within_their_contract() {
    let source = "MUL TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\nADD OUT[0].x, TEMP[0].xxxx, IN[1].xxxx";
    let result = "MAD OUT[0].x, CONST[0].xxxx, IN[0].xxxx, IN[1].xxxx";
    assert_eq!(judged(MAD, Contract::CONTRACT, source, result).open, None);
    assert!(judged(MAD, Contract::NSZ, source, result).open.is_some());
    // In either direction.
    assert_eq!(judged(MAD, Contract::CONTRACT, result, source).open, None);
    let wrong = "MAD OUT[0].x, CONST[0].xxxx, IN[0].xxxx, IN[2].xxxx";
    assert!(
        judged(MAD, Contract::CONTRACT, source, wrong)
            .open
            .is_some()
    );
}

#[test]
fn precise_operations_are_not_looked_into() {
    let source = "MUL_PRECISE TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\nADD_PRECISE OUT[0].x, TEMP[0].xxxx, IN[1].xxxx";
    let result = "MAD OUT[0].x, CONST[0].xxxx, IN[0].xxxx, IN[1].xxxx";
    assert!(
        judged(MAD, Contract::CONTRACT, source, result)
            .open
            .is_some()
    );
    assert_eq!(judged(MAD, Contract::CONTRACT, source, source).open, None);
}

#[test]
fn words_are_handed_on_only_from_floats() {
    let rule = "mul-one: (mul a 1.0) => a";
    let source = "MUL OUT[0].x, IN[0].xxxx, IMM[0].yyyy";
    let result = "MOV OUT[0].x, IN[0].xxxx";
    let strict = Profile::Strict.grants(false);
    assert!(judged(rule, strict, source, result).open.is_some());
    let sum = "ADD TEMP[0].x, IN[0].xxxx, IN[1].xxxx\n";
    let (source, result) = (
        format!("{sum}MUL OUT[0].x, TEMP[0].xxxx, IMM[0].yyyy"),
        format!("{sum}MOV OUT[0].x, TEMP[0].xxxx"),
    );
    assert_eq!(judged(rule, strict, &source, &result).open, None);
}

#[test]
fn constants_fold() {
    proved(
        "ADD TEMP[0].x, IMM[0].yyyy, IMM[0].wwww\nMUL OUT[0].x, IN[0].xxxx, TEMP[0].xxxx",
        "MOV TEMP[0].x, IMM[0].wwww\nADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nMUL OUT[0].x, TEMP[0].xxxx, IN[0].xxxx",
    );
}

#[test]
fn discards_are_sets_of_tests() {
    proved(
        "KILL_IF IN[0].xyyy\nKILL_IF IN[1].xxxx",
        "KILL_IF IN[1].xxxx\nKILL_IF IN[0].yxxx",
    );
    open(
        "KILL_IF IN[0].xyyy\nKILL_IF IN[1].xxxx",
        "KILL_IF IN[0].xyyy\nKILL_IF IN[0].xxxx",
        "the discard of instruction 0",
    );
    open(
        "MOV OUT[0].x, IN[0].xxxx\nKILL_IF IN[1].xxxx",
        "MOV OUT[0].x, IN[0].xxxx",
        "instruction 1 of the source, which stands alone",
    );
    open(
        "MOV OUT[0].x, IN[0].xxxx",
        "MOV OUT[0].x, IN[0].xxxx\nKILL_IF IN[1].xxxx",
        "instruction 1 of the result, which stands alone",
    );
}

#[test]
fn tests_of_discards_follow_rules() {
    let rule = "kill-slt-zero: (kill (neg (slt a 0.0))) => (kill a)";
    let source = "SLT TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\nKILL_IF -TEMP[0].xxxx";
    assert_eq!(
        judged(rule, Contract::EXACT, source, "KILL_IF IN[0].xxxx").open,
        None
    );
    assert!(
        judged(rule, Contract::EXACT, source, "KILL_IF -IN[0].xxxx")
            .open
            .is_some()
    );
    // Never is as good as no test.
    let never = "kill-abs: (kill (abs a)) => (kill 0.0)";
    let source = "KILL_IF |IN[0].xyxx|\nKILL_IF IN[1].xxxx";
    assert_eq!(
        judged(never, Contract::EXACT, source, "KILL_IF IN[1].xxxx").open,
        None
    );
}

const FETCH: &str = "TEX TEMP[0], IN[0], SAMP[0], 2D\n";

#[test]
fn fetches_are_equal_at_equal_places() {
    let source = format!("{FETCH}MOV OUT[0], TEMP[0]");
    proved(
        &source,
        "TEX OUT[0].zw, IN[0], SAMP[0], 2D\nTEX OUT[0].xy, IN[0], SAMP[0], 2D",
    );
    open(&source, "TEX OUT[0], IN[0], SAMP[1], 2D", "OUT[0].x");
    open(&source, "TEX OUT[0], IN[1], SAMP[0], 2D", "OUT[0].x");
    // Derivatives see the lanes around.
    let within = "MOV TEMP[0], IMM[0].xxxx\nIF IN[2].xxxx\nTEX TEMP[0], IN[0], SAMP[0], 2D\nENDIF\nMOV OUT[0].x, TEMP[0]";
    let before = format!(
        "{FETCH}MOV TEMP[1].x, IMM[0].xxxx\nIF IN[2].xxxx\nMOV TEMP[1].x, TEMP[0].xxxx\nENDIF\nMOV OUT[0].x, TEMP[1]"
    );
    proved(within, within);
    open(within, &before, "OUT[0].x");
}

#[test]
fn lanes_of_derivatives_may_move() {
    let source = "DDX TEMP[0].xy, IN[0]\nMOV OUT[0].xy, TEMP[0]";
    proved(
        source,
        "DDX TEMP[0].z, IN[0].yyyy\nDDX OUT[0].x, IN[0]\nMOV OUT[0].y, TEMP[0].zzzz",
    );
    open(source, "DDX OUT[0].xy, IN[0].yxxx", "OUT[0].x");
}

#[test]
fn branches_without_effects_are_selections() {
    let source = "MOV TEMP[0].x, IN[1].xxxx\nUIF IN[0].xxxx\nMOV TEMP[0].x, IN[2].xxxx\nENDIF\nMOV OUT[0].x, TEMP[0].xxxx";
    proved(source, "UCMP OUT[0].x, IN[0].xxxx, IN[2].xxxx, IN[1].xxxx");
    open(
        source,
        "UCMP OUT[0].x, IN[0].xxxx, IN[1].xxxx, IN[2].xxxx",
        "OUT[0].x",
    );
    // IF asks for a float, of which -0 is a zero.
    let float = source.replace("UIF", "IF");
    open(
        &float,
        "UCMP OUT[0].x, IN[0].xxxx, IN[2].xxxx, IN[1].xxxx",
        "OUT[0].x",
    );
    proved(
        &float,
        "FSNE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\nUCMP OUT[0].x, TEMP[0].xxxx, IN[2].xxxx, IN[1].xxxx",
    );
}

#[test]
fn conditions_around_effects_are_roots() {
    let source = "IF IN[0].xxxx\nKILL\nENDIF\nMOV OUT[0].x, IN[1].xxxx";
    proved(source, source);
    open(
        source,
        "IF IN[0].yyyy\nKILL\nENDIF\nMOV OUT[0].x, IN[1].xxxx",
        "the condition of instruction 0",
    );
    open(
        source,
        "UIF IN[0].xxxx\nKILL\nENDIF\nMOV OUT[0].x, IN[1].xxxx",
        "the condition of instruction 0",
    );
}

/// A loop that sums with a step until it reaches a limit.
fn sum(sum: usize, count: usize, step: &str, limit: &str) -> String {
    format!(
        "MOV TEMP[{sum}].x, IMM[0].xxxx\nMOV TEMP[{count}].x, IMM[0].xxxx\nBGNLOOP\nSGE TEMP[2].x, TEMP[{count}].xxxx, {limit}\n\
         IF TEMP[2].xxxx\nBRK\nENDIF\nADD TEMP[{sum}].x, TEMP[{sum}].xxxx, IN[0].xxxx\nADD TEMP[{count}].x, TEMP[{count}].xxxx, {step}\n\
         ENDLOOP\nMOV OUT[0].x, TEMP[{sum}].xxxx"
    )
}

#[test]
fn loops_carry_what_they_carry() {
    let source = sum(0, 1, "IMM[0].yyyy", "CONST[0].xxxx");
    proved(&source, &sum(0, 1, "IMM[0].yyyy", "CONST[0].xxxx"));
    proved(&source, &sum(4, 3, "IMM[0].yyyy", "CONST[0].xxxx"));
    let m = judged(
        "",
        Contract::EXACT,
        &source,
        &sum(0, 1, "IMM[0].wwww", "CONST[0].xxxx"),
    );
    assert!(m.open.is_some(), "another step: {m:?}");
    let m = judged(
        "",
        Contract::EXACT,
        &source,
        &sum(0, 1, "IMM[0].yyyy", "CONST[0].yyyy"),
    );
    assert!(m.open.is_some(), "another limit: {m:?}");
    let other = source.replace("TEMP[0].xxxx, IN[0].xxxx", "TEMP[0].xxxx, IN[1].xxxx");
    let m = judged("", Contract::EXACT, &source, &other);
    assert!(m.open.is_some(), "another term: {m:?}");
    let outside = source.replace("MOV OUT[0].x, TEMP[0].xxxx", "MOV OUT[0].x, TEMP[1].xxxx");
    let m = judged("", Contract::EXACT, &source, &outside);
    assert!(m.open.is_some(), "another result: {m:?}");
}

#[test]
fn more_values_than_the_limit_are_not_looked_at() {
    let program = |n: usize| -> String {
        let mut text = "ADD TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n".to_owned();
        // Three leaves and the first sum, then a sum a line, on each side.
        for _ in 0..n {
            text.push_str("ADD TEMP[0].x, TEMP[0].xxxx, CONST[0].xxxx\n");
        }
        text + "MOV OUT[0].x, TEMP[0].xxxx"
    };
    let most = MOST_VALUES / 2 - 3;
    proved(&program(most), &program(most));
    open(
        &program(most + 1),
        &program(most + 1),
        "more values than are looked at",
    );
}
