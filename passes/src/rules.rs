//! The rules in `passes/rules`, read once a process.

use std::sync::LazyLock;

use tgsi_egraph::Rules;
use tgsi_rules::RuleSet;

/// Every file, by domain.
pub const FILES: &[(&str, &str)] = &[("tmp", include_str!("../rules/tmp.rules"))];

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
