//! What the tests of rules share.

use std::path::Path;

use tgsi_rules::RuleSet;

/// The rules of every file in `passes/rules`, in the order of the files' names.
pub(crate) fn rules() -> RuleSet {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../passes/rules");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&dir).expect("a directory of rules") {
        let path = entry.expect("an entry").path();
        let temporary = path.file_stem().is_some_and(|s| s == "tmp");
        if path.extension().is_some_and(|e| e == "rules") && !temporary {
            let domain = path.file_stem().expect("a name").to_string_lossy();
            let text = std::fs::read_to_string(&path).expect("text");
            files.push((domain.into_owned(), text));
        }
    }
    files.sort();
    let texts: Vec<(&str, &str)> = files.iter().map(|(d, t)| (&**d, &**t)).collect();
    match RuleSet::parse(&texts) {
        Ok(set) => set,
        Err(errors) => {
            let shown: String = errors.iter().map(|e| format!("{e}\n")).collect();
            panic!("{shown}");
        }
    }
}
