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

/// Names of the rules that take part in many results: below -O3 only they are tried.
pub fn frequent() -> impl Iterator<Item = &'static str> {
    include_str!("../rules/frequent.txt")
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with(';'))
}

/// The rules ready to match.
pub fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(rule_set(), &frequent().collect()));
    &RULES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read() {
        assert!(RuleSet::parse(FILES).is_ok());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
        for entry in std::fs::read_dir(folder).expect("the rules").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(domain) = name.strip_suffix(".rules") {
                assert!(FILES.iter().any(|f| f.0 == domain), "{domain} is not read");
            }
        }
    }

    #[test]
    fn frequent_rules_exist() {
        for name in frequent() {
            assert!(rule_set().position(name).is_some(), "{name}");
        }
    }
}
