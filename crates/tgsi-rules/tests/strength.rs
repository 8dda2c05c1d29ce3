//! Every rule is as strong as it says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tgsi_rules::prove::{CounterExample, Refusal, Verdict, verify};
use tgsi_rules::{Rule, RuleSet, canonical};

/// A folder in place of the project's rules.
const FOLDER: &str = "TGSI_RULES_DIR";

/// The rules of the project and the number of their files.
fn all_rules() -> (RuleSet, usize) {
    let folder = std::env::var_os(FOLDER).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../passes/rules")),
        PathBuf::from,
    );
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|e| e == "rules") && stem != "tmp" {
            files.push((stem, std::fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    let texts: Vec<(&str, &str)> = files
        .iter()
        .map(|(s, t)| (s.as_str(), t.as_str()))
        .collect();
    match RuleSet::parse(&texts) {
        Ok(set) => (set, files.len()),
        Err(errors) => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"));
        }
    }
}

fn verify_all(rules: &[Rule]) -> Vec<(&Rule, Result<Verdict, CounterExample>)> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results = Vec::new();
    std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
                own.push((rule, verify(rule)));
            }
            own
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for w in workers {
            results.extend(w.join().unwrap());
        }
    });
    results.sort_by_key(|(r, _)| (r.domain.clone(), r.line, r.name.clone()));
    results
}

#[test]
fn rules_are_as_strong_as_they_say() {
    let (set, _) = all_rules();
    let mut wrong = Vec::new();
    for (rule, result) in verify_all(&set.rules) {
        let place = format!("{}.rules:{}", rule.domain, rule.line);
        match result {
            Err(e) => wrong.push(format!("{place}: {e}\n    {rule}")),
            Ok(v) => {
                if !v.weaker_than_needed.is_empty() {
                    let flags = v.weaker_than_needed.join(", ");
                    println!("{place}: {}: no sample needs {flags}", rule.name);
                }
                if v.loses_extremes {
                    println!("{place}: {}: loses extremes", rule.name);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} refused\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn there_are_many_different_rules() {
    let (set, files) = all_rules();
    let mut names: Vec<&str> = set.rules.iter().map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    let mut forms: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for r in &set.rules {
        forms.entry(canonical(r)).or_default().push(&r.name);
    }
    for (form, names) in forms.iter().filter(|(_, names)| names.len() > 1) {
        println!("{form}: {}", names.join(", "));
    }
    println!("{} rules, {} different", all, forms.len());
    assert!(files <= 10 || forms.len() >= 250, "{}", forms.len());
}

fn rule(text: &str) -> Rule {
    let line = format!("x: {text} -- test");
    match RuleSet::parse(&[("test", &line)]) {
        Ok(mut set) => set.rules.remove(0),
        Err(e) => panic!("{}", e[0]),
    }
}

#[test]
fn wrong_rules_are_refused() {
    for text in [
        "(add a 0.0) => a",
        "(add (neg a) (neg b)) => (neg (add a b))",
        "(mad (neg a) b (neg c)) => (neg (mad a b c))",
        "(min (max a 0.0) 1.0) => (sat a)",
        "(max (min a 1.0) 0.0) => (sat a) [nsz]",
        "(mul a 0.0) => 0.0",
        "(mul a 0.0) => 0.0 [nnan, ninf]",
        "(mul a 1.0) => a",
        "(frc (frc a)) => (frc a)",
        "(rcp (rcp a)) => a",
        "(shl (shl a #k) #j) => (shl a (uadd #k #j))",
        "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift #k, shift #j}",
        "(sge (add a (neg b)) 0.0) => (sge a b)",
        "(add 1.0 (neg (slt a b))) => (sge a b)",
        "(add a (add b c)) => (add (add a b) c)",
        "(add (mul a b) (mul a c)) => (mul a (add b c)) [nnan, ninf, nsz]",
        "(add a (neg (frc a))) => (flr a)",
        "(sqrt a) => (mul a (rsq a)) [arcp]",
        "(sqrt a) => (mul a (rsq a)) [arcp, nnan, ninf]",
        "(pow a b) => (ex2 (mul a (lg2 b))) [afn]",
        "(dp3 a b c d e f) => (mad c f (mad b e (mul a e))) [reassoc]",
        "(add a (add b (neg a))) => a [reassoc]",
        "(umod a #k) => (and a #k) {int-power-of-two #k}",
        "(dadd a (dneg a)) => 0.0",
        "(kill (add a 0.0)) => (kill (add a 1.0))",
        "(mov a) => (add a -0.0)",
        "(and (add a b) 0x7fffffff) => (add a b)",
        "(cmp a (neg a) a) => (abs a) [nsz]",
        "(fslt (add a b) (add a c)) => (fslt c b) [nnan, ninf, reassoc]",
        "(rcp a) => (mul (rsq a) (rsq a)) [arcp]",
        // Products that underflow to -0 make the sign of w count.
        "(dp4 a b c w d e f 1.0) => (add (dp3 a b c d e f) w)",
        "(lrp a b c) => (add (mul a c) (mul b (add 1.0 (neg a)))) [reassoc]",
        "(dp4 a b c d e f g h) => (add (mul d h) (dp3 a b c e g f)) [reassoc]",
        "(sin a) => (cos (add a 1.5)) [afn]",
        "(i2f (ishr a 1i)) => (mul (i2f a) 0.5)",
        "(f2i (flr a)) => (f2i a)",
        // A NaN that decides, or becomes another number than before.
        "(sge a a) => 1.0 [nnan]",
        "(not (fslt a b)) => (fsge a b) [nnan]",
        "(max (min a 1.0) 0.0) => (sat a) [nsz, nnan]",
        "(dsne a a) => 0i [nnan]",
        // One that only the right side makes.
        "(mul a 2.0) => (mul (mul a inf) 0.0) [unord]",
    ] {
        let result = verify(&rule(text));
        assert!(result.is_err(), "{text} passes: {result:?}");
    }
}

#[test]
fn right_rules_are_accepted() {
    for text in [
        "(add a 0.0) => a [nsz]",
        "(add a 0.0) => a {not-minus-zero a}",
        "(add a -0.0) => a",
        "(add (neg a) (neg b)) => (neg (add a b)) [nsz]",
        "(min (max a 0.0) 1.0) => (sat a) [nsz]",
        "(max (min a 1.0) 0.0) => (sat a) [nsz, unord]",
        "(mul a 0.0) => 0.0 [nnan, ninf, nsz]",
        "(mul a 0.0) => 0.0 [legacy-zero]",
        "(mul a 1.0) => a [ieee-zero]",
        "(mul a 1.0) => a [nsz]",
        "(frc (frc a)) => (frc a) {non-negative a}",
        "(rcp (rcp a)) => a [arcp]",
        "(rcp (rcp a)) => a {power-of-two a} -- ",
        "(shl (shl a #k) #j) => (shl a (uadd #k #j)) {shift-sum #k #j}",
        "(sge (add a (neg b)) 0.0) => (sge a b) [nnan, ninf]",
        "(add 1.0 (neg (slt a b))) => (sge a b) [unord]",
        "(add a (add b c)) => (add (add a b) c) [reassoc]",
        "(add (mul a b) (mul a c)) => (mul a (add b c)) [reassoc]",
        "(pow a b) => (ex2 (mul b (lg2 a))) [afn]",
        "(dp3 a b c d e f) => (mad c f (mad b e (mul a d)))",
        "(flr (mul a (rcp b))) => (flr (div a b)) [arcp]",
        "(umod a #k) => (and a (uadd #k -1i)) {int-power-of-two #k}",
        "(cmp (neg (abs a)) b b) => b",
        "(kill (mul a 2.0)) => (kill a)  [nsz] {not-nan a, once a}",
        "(dadd a b) => (dadd b a)",
        "(u64shl a 0i) => a",
        "(and (fslt a b) 1.0) => (slt a b)",
        "(and a 0x7fffffff) => (abs a)",
        "(min (min a #k) #j) => (min a #k) {less #k #j, not-nan a}",
        "(and m a) => (ucmp m a 0i) {mask m}",
        "(sge b 0.5) => b {bool b}",
        "(cmp a (neg a) a) => (abs a) [nsz, nnan]",
        "(cmp a (neg a) a) => (abs a) [nsz] {float a}",
        "(fslt (add a b) (add a c)) => (fslt b c) [nnan, ninf, reassoc]",
        "(lrp a b c) => (add (mul a b) (mul c (add 1.0 (neg a)))) [reassoc]",
        "(dp4 a b c d e f g h) => (add (mul d h) (dp3 a b c e f g)) [reassoc]",
        "(sin a) => (cos (add a -1.5707964)) [afn]",
        "(f2i (trunc a)) => (f2i a)",
        "(sge a a) => 1.0 [unord]",
        "(not (fslt a b)) => (fsge a b) [unord]",
        "(max a (mul b 0.0)) => (max a 0.0) [unord, ninf, nsz]",
        "(add a (mul b 0.0)) => a [nnan, ninf, nsz]",
    ] {
        let text = text.trim_end_matches(" -- ");
        let result = verify(&rule(text));
        assert!(result.is_ok(), "{text}: {}", result.unwrap_err());
    }
}

#[test]
fn what_nothing_satisfies_is_not_proved() {
    let r = rule("(add a #k) => a {shift #k, power-of-two #k}");
    let refusal = verify(&r).unwrap_err().refusal;
    assert!(matches!(refusal, Refusal::Unexercised(_)), "{refusal:?}");
}

#[test]
fn flags_without_need_are_named() {
    let flags = |text| verify(&rule(text)).unwrap().weaker_than_needed;
    assert_eq!(flags("(add a -0.0) => a [nsz]"), ["nsz"]);
    assert_eq!(
        flags("(mul a b) => (mul b a) [reassoc, nnan]"),
        ["reassoc", "nnan"]
    );
    assert_eq!(
        flags("(add (mul a b) c) => (mad a b c) [contract]"),
        [""; 0]
    );
    assert_eq!(flags("(add a 0.0) => a [nsz]"), [""; 0]);
    assert_eq!(flags("(mul a 1.0) => a [ieee-zero]"), [""; 0]);
    assert_eq!(flags("(mul a b) => (mul b a) [ieee-zero]"), ["ieee-zero"]);
    assert_eq!(flags("(sge a a) => 1.0 [unord]"), [""; 0]);
    assert_eq!(flags("(div a a) => 1.0 [unord]"), ["unord"]);
}

#[test]
fn order_and_names_make_no_other_rule() {
    let form = |text| canonical(&rule(text));
    assert_eq!(
        form("(add (mul a b) c) => (mad a b c)"),
        form("(add x (mul y z)) ~> (mad z y x) [contract]")
    );
    assert_eq!(
        form("(max a (neg a)) => (abs a)"),
        form("(max (neg b) b) => (abs b)")
    );
    assert_ne!(
        form("(slt a b) => (sgt b a)"),
        form("(slt a b) => (sgt a b)")
    );
    assert_ne!(form("(mul a #k) => a"), form("(mul a k) => a"));
}
