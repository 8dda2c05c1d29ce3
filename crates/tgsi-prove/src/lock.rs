//! What was proved, as text.
//!
//! `passes/rules/proofs.lock` has a line a rule: its name, a hash of its text, the version of the
//! semantics, the verdict, the methods, and the hardware on which it is another value. A rule whose hash
//! and version are there has been proved as it stands.

use std::collections::HashMap;

use tgsi_rules::Rule;

use crate::Proof;

/// Changes with what operations compute or with what is asked of a rule: then all are proved anew.
pub const SEMANTICS: u32 = 1;

const HEAD: &str = "\
; Written by `cargo xtask prove`: rule, hash of its text, version of the semantics, verdict, methods,
; kinds of hardware on which its sides may differ.
";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Hash of the rule's text.
    pub hash: u64,
    /// Version of the semantics.
    pub semantics: u32,
    /// Whether more than samples speaks for it.
    pub proved: bool,
    /// What looked at it, as in [`Proof::methods`].
    pub methods: Vec<String>,
    /// Kinds of hardware on which its sides may differ.
    pub differs_on: Vec<String>,
}

impl Entry {
    /// The line of a rule that no method refuses.
    pub fn new(rule: &Rule, proof: &Proof) -> Entry {
        Entry {
            hash: hash(rule),
            semantics: SEMANTICS,
            proved: proof.proved,
            methods: proof.methods.clone(),
            differs_on: proof.differs_on.iter().map(|d| d.0.to_owned()).collect(),
        }
    }

    /// Whether it speaks of the rule as it stands.
    pub fn is_of(&self, rule: &Rule) -> bool {
        self.semantics == SEMANTICS && self.hash == hash(rule)
    }

    fn text(&self, name: &str) -> String {
        let verdict = if self.proved { "proved" } else { "sampled" };
        let mut line = format!(
            "{name} {:016x} {} {verdict} {}",
            self.hash,
            self.semantics,
            self.methods.join(", ")
        );
        if !self.differs_on.is_empty() {
            line += &format!("; {}", self.differs_on.join(", "));
        }
        line + "\n"
    }

    fn parse(line: &str) -> Option<(&str, Entry)> {
        let mut words = line.splitn(5, ' ');
        let name = words.next()?;
        let hash = u64::from_str_radix(words.next()?, 16).ok()?;
        let semantics = words.next()?.parse().ok()?;
        let proved = words.next()? == "proved";
        let rest = words.next()?;
        let (methods, hardware) = rest.split_once("; ").unwrap_or((rest, ""));
        let list = |text: &str| -> Vec<String> {
            let parts = text.split(", ").filter(|t| !t.is_empty());
            parts.map(str::to_owned).collect()
        };
        Some((
            name,
            Entry {
                hash,
                semantics,
                proved,
                methods: list(methods),
                differs_on: list(hardware),
            },
        ))
    }
}

/// A hash of all that is to be proved of a rule: its text without the reason. FNV-1a.
pub fn hash(rule: &Rule) -> u64 {
    let text = rule.to_string();
    let text = text.split(" -- ").next().unwrap_or_default();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The lines of a file, by rule; what is no line is left out.
pub fn parse(text: &str) -> HashMap<&str, Entry> {
    text.lines().filter_map(Entry::parse).collect()
}

/// The text of a file.
pub fn text(entries: &[(&str, Entry)]) -> String {
    let lines = entries.iter().map(|(name, e)| e.text(name));
    std::iter::once(HEAD.to_owned()).chain(lines).collect()
}

/// What is out of date in a file: rules that are not in it as they stand, and lines of no rule.
pub fn stale<'a>(text: &'a str, rules: &'a [Rule]) -> Vec<&'a str> {
    let known = parse(text);
    let mut stale: Vec<&str> = Vec::new();
    for rule in rules {
        if !known.get(rule.name.as_str()).is_some_and(|e| e.is_of(rule)) {
            stale.push(&rule.name);
        }
    }
    let lines = text.lines().filter(|l| !l.starts_with(';'));
    let names = lines.filter_map(|l| l.split(' ').next());
    stale.extend(names.filter(|n| !rules.iter().any(|r| r.name == *n)));
    stale
}
