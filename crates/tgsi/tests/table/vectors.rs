//! The table's evaluation against words measured on Mesa's own interpreter.
//!
//! The words are not part of the project: without the shared folder beside the repository
//! (or `TGSI_SHARED`) the test says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tgsi::{Eval, File, Inst, Src, eval};

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("TGSI_SHARED")
        .map_or(beside, PathBuf::from)
        .join("vectors");
    dir.is_dir().then_some(dir)
}

fn channels(letters: &str) -> Vec<u8> {
    letters
        .chars()
        .filter_map(|c| "xyzw".find(c))
        .map(|c| c as u8)
        .collect()
}

fn source(text: &str) -> Src {
    let body = text.trim_start_matches('-').trim_matches('|');
    let (reg, swizzle) = body.split_once('.').unwrap_or((body, "xyzw"));
    let index = reg
        .trim_start_matches("IN[")
        .trim_end_matches(']')
        .parse()
        .expect("register number");
    Src {
        swizzle: channels(swizzle).try_into().expect("four letters"),
        abs: text.contains('|'),
        neg: text.starts_with('-'),
        ..crate::src(File::In, index)
    }
}

/// Reads the one instruction of a program of the vectors.
fn instruction(program: &str) -> Inst {
    let line = program
        .lines()
        .find(|l| l.trim_start().starts_with("0:"))
        .expect("an instruction");
    let (opcode, operands) = line.trim_start()[2..]
        .trim()
        .split_once(' ')
        .expect("operands");
    let name = opcode.trim_end_matches("_SAT");
    let mut operands = operands.split(',').map(str::trim);
    let dst = operands.next().expect("a destination");
    let mask = dst.split_once('.').map_or(0xf, |(_, m)| {
        channels(m).iter().fold(0, |all, c| all | 1 << c)
    });
    Inst {
        sat: name != opcode,
        srcs: operands.map(source).collect(),
        ..crate::inst(name, mask)
    }
}

fn words(value: &Value) -> Vec<Option<u32>> {
    let list = value.as_array().expect("a list of words");
    list.iter()
        .map(|w| u32::from_str_radix(w.as_str().expect("a word"), 16).ok())
        .collect()
}

fn operands(inst: &Inst, inputs: &[Vec<Option<u32>>]) -> Vec<[u32; 4]> {
    let types = inst.op.info().src_ty;
    let read = |src: &Src, ty| {
        let register = &inputs[src.reg.index.base as usize];
        src.swizzle
            .map(|c| eval::modify(register[usize::from(c)].unwrap_or(0), src, ty))
    };
    inst.srcs
        .iter()
        .zip(types)
        .map(|(s, ty)| read(s, *ty))
        .collect()
}

/// The same word, or both NaN where floats are written. In the file with whole masks a
/// channel that is not written reads 0.
fn same(inst: &Inst, whole: bool, got: &[Option<u32>; 4], want: &[Option<u32>], c: usize) -> bool {
    let nan = |w: Option<u32>| w.is_some_and(|w| f32::from_bits(w).is_nan());
    let wide_nan = |list: &[Option<u32>]| {
        let part = |i: usize| list[i].unwrap_or(0);
        f64::from_bits(eval::join(part(c & 2), part(c | 1))).is_nan()
    };
    got[c] == want[c]
        || whole && got[c].is_none() && want[c] == Some(0)
        || match inst.op.info().dst_ty {
            tgsi::Ty::F | tgsi::Ty::Any => nan(got[c]) && nan(want[c]),
            tgsi::Ty::D => wide_nan(got) && wide_nan(want),
            _ => false,
        }
}

#[test]
fn evaluation_agrees_with_the_measured_words() {
    let Some(dir) = shared() else {
        println!("skipped: no shared data");
        return;
    };
    let (mut compared, mut folded, mut others) = (0, BTreeSet::new(), BTreeSet::new());
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in ["ops.jsonl", "ops-masked.jsonl"] {
        let text = std::fs::read_to_string(dir.join(file)).expect("readable vectors");
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let program = entry["program"].as_str().expect("a program");
            let inst = instruction(program);
            if matches!(inst.op.info().eval, Eval::None) {
                others.insert(inst.op.name());
                continue;
            }
            folded.insert(inst.op.name());
            for case in entry["cases"].as_array().expect("cases") {
                let inputs: Vec<_> = case["in"]
                    .as_array()
                    .expect("inputs")
                    .iter()
                    .map(words)
                    .collect();
                let got = eval::fold(&inst, &operands(&inst, &inputs)).expect("a folded opcode");
                let want = words(&case["out"]);
                compared += got.iter().flatten().count();
                if !(0..4).all(|c| same(&inst, file == "ops.jsonl", &got, &want, c)) {
                    let line = format!(
                        "{} in {} want {} got {got:x?}",
                        program.lines().nth(3).unwrap_or(""),
                        case["in"],
                        case["out"]
                    );
                    wrong.entry(inst.op.name()).or_default().push(line);
                }
            }
        }
    }
    println!(
        "{compared} words of {} opcodes compared; not folded: {others:?}",
        folded.len()
    );
    for (name, list) in &wrong {
        println!(
            "{name}: {} wrong\n  {}",
            list.len(),
            list[..list.len().min(4)].join("\n  ")
        );
    }
    assert!(wrong.is_empty(), "{:?}", wrong.keys());
}
