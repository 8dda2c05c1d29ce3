//! Every rule of `passes/rules` is proved as it stands, and wrong ones are not.

use std::fs;
use std::path::PathBuf;

use tgsi_prove::{examine, lock, prove_all};
use tgsi_rules::{Rule, RuleSet};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../passes/rules"))
}

fn rules() -> Vec<Rule> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder()).expect("a directory of rules") {
        let path = entry.expect("an entry").path();
        let temporary = path.file_stem().is_some_and(|s| s == "tmp");
        if path.extension().is_some_and(|e| e == "rules") && !temporary {
            let domain = path.file_stem().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("text");
            files.push((domain.into_owned(), text));
        }
    }
    files.sort();
    let texts: Vec<(&str, &str)> = files.iter().map(|(d, t)| (&**d, &**t)).collect();
    RuleSet::parse(&texts).expect("the files parse").rules
}

fn rule(text: &str) -> Rule {
    let line = format!("x: {text} -- test");
    match RuleSet::parse(&[("test", &line)]) {
        Ok(mut set) => set.rules.remove(0),
        Err(e) => panic!("{}", e[0]),
    }
}

#[test]
fn every_rule_is_proved() {
    let rules = rules();
    let text = fs::read_to_string(folder().join("proofs.lock")).unwrap_or_default();
    let known = lock::parse(&text);
    let is_known = |r: &&Rule| known.get(r.name.as_str()).is_some_and(|e| e.is_of(r));
    let open: Vec<&Rule> = rules.iter().filter(|r| !is_known(r)).collect();
    let refused: Vec<String> = prove_all(&open)
        .into_iter()
        .filter_map(|(r, result)| {
            let e = result.err()?;
            Some(format!("{}.rules:{}: {e}\n    {r}", r.domain, r.line))
        })
        .collect();
    assert!(refused.is_empty(), "refused\n{}", refused.join("\n"));
    let stale = lock::stale(&text, &rules);
    assert!(
        stale.is_empty(),
        "passes/rules/proofs.lock is out of date (run `cargo xtask prove`): {}",
        stale.join(", ")
    );
}

#[test]
fn what_is_not_proved_has_a_reason() {
    let read = |name| fs::read_to_string(folder().join(name)).unwrap_or_default();
    let (text, reasons) = (read("proofs.lock"), read("unproved.txt"));
    let mut sampled: Vec<&str> = lock::parse(&text)
        .into_iter()
        .filter(|(_, e)| !e.proved)
        .map(|(name, _)| name)
        .collect();
    sampled.sort_unstable();
    let lines = reasons.lines().filter(|l| !l.starts_with(';'));
    let mut named: Vec<&str> = lines
        .filter_map(|l| l.split_once(": ").filter(|(_, why)| !why.is_empty()))
        .map(|(name, _)| name)
        .collect();
    named.sort_unstable();
    assert_eq!(named, sampled, "run `cargo xtask prove`");
}

/// What a wrong rule is refused with, without any sample of 32 bits.
#[track_caller]
fn refused(text: &str, by: &str) {
    match examine(&rule(text)) {
        Ok(proof) => panic!("{text} passes: {proof:?}"),
        Err(e) => assert!(e.starts_with(by), "{text}: {e}"),
    }
}

#[test]
fn small_formats_refuse() {
    for text in [
        // Signs of zeros.
        "(add a 0.0) => a",
        "(add (neg a) (neg b)) => (neg (add a b))",
        "(mad (neg a) b (neg c)) => (neg (mad a b c))",
        "(min (max a 0.0) 1.0) => (sat a)",
        "(max a b) => (max b a) [unord]",
        "(ucmp (fseq a b) a b) => b",
        // NaNs and infinities.
        "(max a (min b a)) => a [nsz]",
        "(max (min a 1.0) 0.0) => (sat a) [nsz, nnan]",
        "(not (fslt a b)) => (fsge a b) [nnan]",
        "(mul a 0.0) => 0.0 [nsz]",
        "(add a (neg a)) => 0.0",
        "(kill (add a (neg b))) => (kill (neg (sge b a))) [unord]",
        // Rounding and overflow.
        "(frc (frc a)) => (frc a)",
        "(rcp (rcp a)) => a {positive a}",
        "(add a (add b c)) => (add (add a b) c) [nsz, unord, ninf]",
        "(mul (mul a 2.0) 0.5) => a",
        "(sqrt (mul a a)) => (abs a) [ninf]",
        "(add (add a a) b) => (mad a 2.0 b) [nsz]",
        "(add (mul a b) c) => (mad a b c)",
        "(f2i (flr a)) => (f2i a)",
        "(i2f (ishr a 1i)) => (mul (i2f a) 0.5)",
        "(slt (mul a #k) b) => (slt a b) {positive #k, finite #k}",
        // Facts.
        "(sge b 0.5) => b {unit b}",
        "(and m a) => (ucmp m a 0i) {bool m}",
        "(min (min a #k) #j) => (min a #j) {less #k #j, not-nan a}",
        // Integers.
        "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift #k, shift #j}",
        "(umod a #k) => (and a #k) {int-power-of-two #k}",
        "(ishr a 31i) => (ushr a 31i)",
        "(iabs (ineg a)) => a",
        "(islt (uadd a b) (uadd a c)) => (islt b c)",
        "(bfi a b c 8i) => (or a (shl b c))",
        "(u64shl (u64shl a #k) #j) => (u64shl a (uadd #k #j)) {shift #k, shift #j}",
        // Doubles and conversions.
        "(dabs (dneg a)) => (dabs a)",
        "(d2f (dadd (f2d a) (dmul (f2d b) (f2d c)))) => (mad a b c) [nsz]",
        "(d2f (dmul (f2d a) (f2d b))) => (mul a b)",
    ] {
        refused(text, "e");
    }
}

#[test]
fn where_zero_wins_other_rules_are_refused() {
    for text in [
        "(mul a 1.0) => a",
        "(mul (neg a) b) => (neg (mul a b))",
        "(add (neg (mul a b)) c) => (mad (neg a) b c) [contract]",
        "(add (dp2 a b x y) (neg (mul c z))) ~> (dp3 a b (neg c) x y z) [contract, legacy-zero]",
        "(mul a (rcp a)) => 1.0 [legacy-zero]",
    ] {
        match examine(&rule(text)) {
            Err(e) => assert!(e.contains("zero wins"), "{text}: {e}"),
            // So many variables that not all words can be tried; nothing else speaks for it.
            Ok(proof) => assert!(!proof.proved, "{text}: {proof:?}"),
        }
    }
}

#[test]
fn one_rounding_is_not_two() {
    for text in [
        "(dp2 a b x y) => (mad b y (mul a x))",
        "(lrp a b c) => (mad a (add b (neg c)) c)",
        "(mad a b (mul c d)) => (mad c d (mul a b))",
    ] {
        match examine(&rule(text)) {
            Err(e) => assert!(e.contains("fused MAD"), "{text}: {e}"),
            Ok(proof) => panic!("{text}: {proof:?}"),
        }
    }
}

#[test]
fn real_numbers_refuse() {
    for text in [
        "(add (mul a b) (mul a c)) => (mul a (add b b)) [nnan, reassoc]",
        "(add a (add b (neg a))) => a [reassoc]",
        "(dp3 a b c d e f) => (mad c f (mad b e (mul a e))) [reassoc]",
        "(lrp a b c) => (add (mul a c) (mul b (add 1.0 (neg a)))) [reassoc]",
        "(pow a b) => (ex2 (mul a (lg2 b))) [afn]",
        "(sin a) => (cos (add a 1.5)) [afn]",
        "(cos a) => (sin (add a -1.5707964)) [afn]",
        "(rsq (mul a a)) => (rcp a) [arcp, nnan, ninf]",
        "(lg2 (mul a b)) => (mul (lg2 a) (lg2 b)) [afn, nnan, ninf]",
        "(fslt (add a b) (add a c)) => (fslt c b) [nnan, ninf, reassoc]",
        "(flr (mul a 2.0)) => (mul (flr a) 2.0) [reassoc]",
        "(max (mul a #k) (mul b #k)) => (mul (max a b) #k) [reassoc] {scale #k}",
        // Right but for a hundred thousandth: words of 32 bits do not tell.
        "(mul (mul a 3.0) 7.0) => (mul a 21.00001) [reassoc]",
    ] {
        refused(text, "real numbers");
    }
}

#[test]
fn plain_numbers_refuse() {
    for text in [
        "(add (mul a b) (mul a c)) => (mul a (add b c)) [reassoc]",
        "(mul a (add b 1.0)) => (mad a b a) [contract, reassoc]",
        "(sqrt a) => (mul a (rsq a)) [arcp]",
        "(kill (div a b)) => (kill a) [reassoc] {positive b}",
        "(dadd (ddiv a c) (ddiv b c)) => (ddiv (dadd a b) c) [reassoc, arcp]",
        "(mul a (rcp a)) => 1.0 [arcp, nnan]",
    ] {
        refused(text, "plain numbers");
    }
}

#[test]
fn fields_refuse() {
    refused(
        "(f2i (i2f (and a 0xffffff))) => (uadd (and a 0xffffff) 1i)",
        "binary32",
    );
    refused("(i2f (ishr a 16i)) => (u2f (ishr a 16i))", "binary32");
    // 25 bits are too many, and no method says that they fit.
    let proof = examine(&rule("(f2i (i2f (ushr a 7i))) => (ushr a 7i)")).expect("no refusal");
    assert!(!proof.proved, "{proof:?}");
}

#[test]
fn right_rules_are_proved() {
    for (text, by) in [
        ("(add a -0.0) => a", "format"),
        ("(mul a b) => (mul b a)", "definition"),
        ("(not (fslt a b)) => (fsge a b) [unord]", "format"),
        (
            "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift-sum #k #j}",
            "format",
        ),
        ("(f2i (i2f (ushr a 8i))) => (ushr a 8i)", "field"),
        ("(d2f (dadd (f2d a) (f2d b))) => (add a b)", "format"),
        (
            "(dp4 a b c d x y z w) => (mad d w (mad c z (mad b y (mul a x)))) [contract]",
            "definition",
        ),
        (
            "(add (mul a b) (mul a c)) => (mul a (add b c)) [nnan, reassoc]",
            "reals",
        ),
        (
            "(pow a b) => (ex2 (mul b (lg2 a))) [afn, nnan, ninf] {positive a}",
            "reals",
        ),
    ] {
        let proof = examine(&rule(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(proof.proved, "{text}: {proof:?}");
        let used = proof.methods.iter().any(|m| m.starts_with(by));
        assert!(used, "{text}: {proof:?}");
    }
}

#[test]
fn other_hardware_is_noted() {
    let kinds = |text| -> Vec<&str> {
        let proof = examine(&rule(text)).expect("it is right");
        proof.differs_on.iter().map(|d| d.0).collect()
    };
    assert_eq!(kinds("(add a b) => (add b a)"), [""; 0]);
    assert_eq!(
        kinds("(min a (max a b)) => (min (max a b) a) [nsz]"),
        ["compared MIN and MAX"]
    );
    assert_eq!(
        kinds("(fslt (add a (neg b)) 0.0) => (fslt a b)"),
        ["flushed denormals"]
    );
}

#[test]
fn a_changed_rule_is_stale() {
    let before = rule("(add a 0.0) => a [nsz]");
    let proof = examine(&before).expect("it is right");
    let text = lock::text(&[("x", lock::Entry::new(&before, &proof))]);
    assert_eq!(lock::stale(&text, std::slice::from_ref(&before)), [""; 0]);
    let after = rule("(add a 0.0) => a");
    assert_eq!(lock::stale(&text, &[after]), ["x"]);
    let mut other = before;
    other.name = "y".to_owned();
    assert_eq!(lock::stale(&text, &[other]), ["y", "x"]);
}
