//! `--explain`: the rules that changed what each instruction computes.

use std::fmt::Write as _;

use serde_json::json;
use tgsi_opt::{Applied, Explanation};

/// The explanation of one result, for people or as JSON lines.
pub(crate) fn text(json: bool, name: &str, list: &[Explanation]) -> String {
    let mut out = String::new();
    if json {
        for e in list {
            let rules: Vec<_> = e
                .rules
                .iter()
                .map(|a| json!({ "rule": a.rule, "times": a.times }))
                .collect();
            let line =
                json!({ "file": name, "instruction": e.inst, "text": e.text, "rules": rules });
            // A write to a string cannot fail.
            let _ = writeln!(out, "{line}");
        }
        return out;
    }
    let _ = writeln!(out, "{name}: rules by instruction");
    let mut unexplained = Vec::new();
    for e in list {
        match e.inst {
            Some(inst) if e.rules.is_empty() => {
                unexplained.push(inst);
                let _ = writeln!(out, "{inst:>4}: {}", e.text);
            }
            Some(inst) => {
                let _ = writeln!(out, "{inst:>4}: {} : {}", e.text, names(&e.rules));
            }
            None => {
                let _ = writeln!(out, "  of no instruction of the input: {}", names(&e.rules));
            }
        }
    }
    if !unexplained.is_empty() {
        let _ = writeln!(out, "  no rule took part in {}", ranges(&unexplained));
    }
    out
}

fn names(rules: &[Applied]) -> String {
    let names: Vec<String> = rules
        .iter()
        .map(|a| match a.times {
            1 => a.rule.to_owned(),
            n => format!("{} x{n}", a.rule),
        })
        .collect();
    names.join(", ")
}

/// Rising numbers, neighbours taken together: `1, 3..5`.
fn ranges(numbers: &[u32]) -> String {
    let runs: Vec<String> = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [first, .., last] => format!("{first}..{last}"),
            _ => run[0].to_string(),
        })
        .collect();
    runs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_taken_together() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 3, 5, 6, 7]), "0..1, 3, 5..7");
    }

    #[test]
    fn lines_for_people() {
        let e = |inst, text: &str, rules| Explanation {
            inst,
            text: text.to_owned(),
            rules,
        };
        let a = |rule, times| Applied { rule, times };
        let list = [
            e(Some(0), "MOV OUT[0], IN[0]", vec![]),
            e(
                Some(1),
                "MUL TEMP[0], IN[0], IN[1]",
                vec![a("mad-form", 4), a("b", 1)],
            ),
            e(None, "", vec![a("c", 1)]),
        ];
        assert_eq!(
            text(false, "in.tgsi", &list),
            "in.tgsi: rules by instruction
   0: MOV OUT[0], IN[0]
   1: MUL TEMP[0], IN[0], IN[1] : mad-form x4, b
  of no instruction of the input: c
  no rule took part in 0
"
        );
        assert_eq!(
            text(true, "in.tgsi", &list[1..2]),
            "{\"file\":\"in.tgsi\",\"instruction\":1,\"rules\":[{\"rule\":\"mad-form\",\"times\":4},{\"rule\":\"b\",\"times\":1}],\"text\":\"MUL TEMP[0], IN[0], IN[1]\"}\n"
        );
    }
}
