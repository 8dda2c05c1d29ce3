//! The words that Mesa's own interpreter computed, where the shared data is at hand.

use std::path::PathBuf;

use serde_json::Value;
use tgsi::{File, Program};
use tgsi_interp::{Inputs, RunOptions, run, run_masked};

/// The shared data, beside the repository or where `TGSI_SHARED` says.
fn shared() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("TGSI_SHARED").map_or(beside, PathBuf::from);
    if dir.join("vectors").is_dir() {
        return Some(dir);
    }
    println!("skipped: no shared data");
    None
}

fn rows(name: &str) -> Vec<Value> {
    let Some(dir) = shared() else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(dir.join("vectors").join(name)).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn strings(v: &Value) -> Vec<&str> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|s| s.as_str().unwrap())
        .collect()
}

fn parse(text: &str) -> Program {
    let (program, diagnostics) = tgsi::parse(text);
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|d| d.severity == tgsi::Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{text}\n{errors:?}");
    program
}

fn hex(s: &str) -> Option<u32> {
    u32::from_str_radix(s, 16).ok()
}

/// Units in the last place between two floats; 0 for two NaN.
fn ulps(a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if a == b || (x.is_nan() && y.is_nan()) {
        return 0;
    }
    if x.is_nan() || y.is_nan() {
        return u32::MAX;
    }
    let order = |w: u32| {
        if w >> 31 != 0 {
            -i64::from(w & 0x7fff_ffff)
        } else {
            i64::from(w)
        }
    };
    u32::try_from((order(a) - order(b)).unsigned_abs()).unwrap_or(u32::MAX)
}

fn tolerance(op: &str) -> u32 {
    match op {
        "EX2" | "LG2" | "POW" | "SIN" | "COS" | "EXP" | "LOG" | "LIT" | "SCS" => 4,
        _ => 0,
    }
}

/// `LOG` is judged by what its results mean together: y * 2^x = |a|.
fn log_agrees(a: u32, x: u32, y: u32) -> bool {
    let product = f64::from(f32::from_bits(y)) * f64::from(f32::from_bits(x)).exp2();
    let wanted = f64::from(f32::from_bits(a)).abs();
    product == wanted || ((product - wanted) / wanted).abs() < 1e-6
}

fn is_double_nan(words: &[u32; 4], c: usize) -> bool {
    f64::from_bits(u64::from(words[c & 2]) | u64::from(words[c & 2 | 1]) << 32).is_nan()
}

/// Runs the cases of one row and returns how many words disagree.
fn check_row(row: &Value, unwritten_is_zero: bool, report: &mut Vec<String>) -> (usize, usize) {
    let op = row["op"].as_str().unwrap();
    let text = row["program"].as_str().unwrap();
    let program = parse(text);
    let wide =
        op.starts_with('D') && program.insts[0].op.info().dst_ty == tgsi::Ty::D || op == "F2D";
    let (mut bad, mut all) = (0, 0);
    for case in row["cases"].as_array().unwrap() {
        let mut inputs = Inputs::default();
        for (i, words) in case["in"].as_array().unwrap().iter().enumerate() {
            let words: Vec<u32> = strings(words)
                .into_iter()
                .map(|s| hex(s).unwrap())
                .collect();
            inputs.set(File::In, None, i as i32, words.try_into().unwrap());
        }
        let a = inputs.get(File::In, None, 0).unwrap()[0][0];
        let out = run_masked(&program, &inputs, &RunOptions::default(), &[1, 2]);
        let got = out.outcome.outputs[0].lanes[0];
        let bits = got.map(|w| w.map_or(0, |w| w.bits));
        let wanted = strings(&case["out"]);
        let wanted_bits: [u32; 4] = std::array::from_fn(|c| hex(wanted[c]).unwrap_or(0));
        for c in 0..4 {
            all += 1;
            let ok = match (hex(wanted[c]), got[c]) {
                (None, None) => true,
                (Some(0), None) => unwritten_is_zero,
                (Some(_), Some(_)) if op == "LOG" && c < 2 => {
                    log_agrees(a, bits[0], bits[1]) || ulps(bits[c], wanted_bits[c]) == 0
                }
                (Some(w), Some(g)) => {
                    let nan = |x: u32| f32::from_bits(x).is_nan();
                    let free = g.float && nan(w) && nan(g.bits)
                        || wide && is_double_nan(&bits, c) && is_double_nan(&wanted_bits, c);
                    let exact = w == g.bits || free;
                    exact || tolerance(op) > 0 && ulps(w, g.bits) <= tolerance(op)
                }
                _ => false,
            };
            if !ok {
                bad += 1;
                if report.len() < 40 {
                    let line = text.lines().nth_back(1).unwrap_or("");
                    let shown: Vec<String> = got
                        .iter()
                        .map(|w| w.map_or("-".into(), |w| format!("{:08x}", w.bits)))
                        .collect();
                    report.push(format!(
                        "{line} | in {} | want {wanted:?} | got {shown:?}",
                        case["in"]
                    ));
                }
                break;
            }
        }
    }
    (bad, all)
}

fn check_ops(name: &str, unwritten_is_zero: bool) {
    let mut report = Vec::new();
    let (mut bad, mut all) = (0, 0);
    for row in rows(name) {
        let (b, a) = check_row(&row, unwritten_is_zero, &mut report);
        bad += b;
        all += a;
    }
    println!("{name}: {all} words compared, {bad} cases differ");
    assert!(bad == 0, "{}", report.join("\n"));
}

#[test]
fn single_opcodes() {
    check_ops("ops.jsonl", true);
}

#[test]
fn single_opcodes_with_masks() {
    check_ops("ops-masked.jsonl", false);
}

/// Whether a program's few ulp from a transcendental opcode may have been amplified.
fn is_approximate(program: &Program) -> bool {
    program.insts.iter().any(|i| tolerance(i.op.name()) > 0)
}

fn near(a: u32, b: u32) -> bool {
    let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
    ulps(a, b) <= 4 || (x - y).abs() <= 1e-5 || (x - y).abs() <= 1e-4 * x.abs().max(y.abs())
}

fn check_program(row: &Value, dir: &std::path::Path, report: &mut Vec<String>) -> (usize, usize) {
    let file = row["file"].as_str().unwrap();
    let program = parse(&std::fs::read_to_string(dir.join("corpus").join(file)).unwrap());
    let approximate = is_approximate(&program);
    let (mut bad, mut all) = (0, 0);
    for (number, case) in row["cases"].as_array().unwrap().iter().enumerate() {
        let mut inputs = Inputs::default();
        for line in strings(&case["in"]) {
            inputs.parse_line(line).unwrap();
        }
        let out = run_masked(&program, &inputs, &RunOptions::default(), &[1, 2]);
        let kill = u64::from_str_radix(case["kill"].as_str().unwrap().trim_start_matches("0x"), 16)
            .unwrap();
        if out.outcome.kill & 0xf != kill {
            bad += 1;
            report.push(format!(
                "{file} case {number}: kill {kill:#x}, got {:#x}",
                out.outcome.kill
            ));
        }
        for row in case["out"].as_array().unwrap() {
            let row = strings(row);
            let index: i32 = row[0]
                .trim_start_matches("OUT[")
                .trim_end_matches(']')
                .parse()
                .unwrap();
            let lane: usize = row[1].trim_start_matches("lane").parse().unwrap();
            let reg = out
                .outcome
                .outputs
                .iter()
                .find(|o| o.index == index)
                .unwrap();
            for c in 0..4 {
                all += 1;
                let got = reg.lanes[lane][c];
                let ok = match (hex(row[2 + c]), got) {
                    (None, None) => true,
                    (Some(w), Some(g)) => {
                        let nan = |x: u32| f32::from_bits(x).is_nan();
                        w == g.bits
                            || g.float && nan(w) && nan(g.bits)
                            || approximate && near(w, g.bits)
                    }
                    _ => false,
                };
                if !ok {
                    bad += 1;
                    if report.len() < 60 {
                        let got = got.map_or("-".to_owned(), |w| format!("{:08x}", w.bits));
                        report.push(format!(
                            "{file} case {number}: {}.{c} {} want {} got {got}",
                            row[0],
                            row[1],
                            row[2 + c]
                        ));
                    }
                }
            }
        }
    }
    (bad, all)
}

#[test]
fn whole_programs() {
    let Some(dir) = shared() else {
        return;
    };
    let mut report = Vec::new();
    let (mut bad, mut all) = (0, 0);
    for row in rows("programs.jsonl") {
        let (b, a) = check_program(&row, &dir, &mut report);
        bad += b;
        all += a;
    }
    println!("programs.jsonl: {all} words compared, {bad} differ");
    assert!(bad == 0, "{}", report.join("\n"));
}

/// Every program of the corpus runs without a malformed structure, and equals itself.
#[test]
fn corpus_runs() {
    let Some(dir) = shared() else {
        return;
    };
    let index = std::fs::read_to_string(dir.join("corpus/index.tsv")).unwrap();
    let options = tgsi_interp::equiv::EquivOptions {
        cases: 2,
        special_cases: 1,
        ..Default::default()
    };
    let (mut programs, mut limit, mut outside, mut masked, mut compared) = (0, 0, 0, 0, 0);
    for file in index.lines().skip(1).filter_map(|l| l.split('\t').next()) {
        let program = parse(&std::fs::read_to_string(dir.join("corpus").join(file)).unwrap());
        let report = tgsi_interp::equiv::compare(&program, &program, &options);
        assert!(
            !report.malformed && report.is_equal(),
            "{file}: {:?}",
            report.mismatches
        );
        programs += 1;
        limit += report.skipped_step_limit;
        outside += report.skipped_out_of_array;
        masked += report.masked_words;
        compared += report.compared_words;
    }
    println!(
        "{programs} programs: {compared} words compared, {masked} masked, step limit {limit}, out of array {outside}"
    );
    let _ = run(
        &parse("VERT\nEND\n"),
        &Inputs::default(),
        &RunOptions::default(),
    );
}

/// One run is enough where nothing unwritten is read: the shortcut gives the words that
/// runs with three fills have in common.
#[test]
fn one_run_tells_what_three_tell() {
    let Some(dir) = shared() else {
        return;
    };
    let index = std::fs::read_to_string(dir.join("corpus/index.tsv")).unwrap();
    let options = RunOptions {
        step_limit: 20_000,
        max_invocations: 16,
        ..RunOptions::default()
    };
    let (mut short, mut long) = (0, 0);
    for file in index.lines().skip(1).filter_map(|l| l.split('\t').next()) {
        let program = parse(&std::fs::read_to_string(dir.join("corpus").join(file)).unwrap());
        let inputs = Inputs::random(&program, 7, tgsi_interp::CaseStyle::Ordinary);
        let quick = run_masked(&program, &inputs, &options, &[1, 2, 0]);
        let flags = quick.outcome.flags;
        if flags.step_limit || flags.out_of_array {
            continue;
        }
        if flags.read_unset {
            long += 1;
            continue;
        }
        short += 1;
        let mut full = tgsi_interp::MaskedOutcome::from_run(&run(
            &program,
            &inputs,
            &RunOptions { fill: 1, ..options },
        ));
        for fill in [2, 0] {
            full.meet(&run(&program, &inputs, &RunOptions { fill, ..options }));
        }
        full.outcome.steps = quick.outcome.steps;
        assert!(full == quick, "{file}");
    }
    println!("{short} programs in one run, {long} in three");
}
