//! The rules in `passes/rules`, read once a process.

use std::sync::LazyLock;

use tgsi_egraph::Rules;
use tgsi_rules::RuleSet;

/// Names the files: their domain and text.
macro_rules! files {
    ($($domain:literal),* $(,)?) => {
        &[$(($domain, include_str!(concat!("../rules/", $domain, ".rules")))),*]
    };
}

/// Every file, by domain, in the order in which rules are tried.
pub const FILES: &[(&str, &str)] = files!(
    "addmul", "sign", "minmax", "mad", "dot", "recip", "round", "compare", "select", "bool",
    "integer", "shift", "bitfield", "convert", "wide", "kill", "legacy",
);

/// The rules as data.
pub fn rule_set() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| match RuleSet::parse(FILES) {
        Ok(set) => set,
        // A test reads them all, so that this cannot be reached.
        Err(errors) => panic!(
            "{}",
            errors.first().map_or_else(String::new, ToString::to_string)
        ),
    });
    &SET
}

/// The rules ready to match.
pub fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(rule_set()));
    &RULES
}
