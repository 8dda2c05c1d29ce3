//! Results for hardware that reads operands in few shapes, and for which no one copies them.

use std::path::{Path, PathBuf};

use tgsi::{Program, Severity};
use tgsi_interp::equiv::{EquivOptions, Tolerance, compare};
use tgsi_opt::{Level, Options, Profile, optimize};
use tgsi_target::{ShapeRule, Target, shape_faults};

const HEADER: &str = "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL IN[1], GENERIC[1], PERSPECTIVE
DCL OUT[0], COLOR
DCL SAMP[0]
DCL SVIEW[0], 2D, FLOAT
DCL CONST[0..7]
DCL TEMP[0..9], LOCAL
IMM[0] FLT32 {0.0, 1.0, 0.5, 3.0}
IMM[1] FLT32 {2.0, -1.0, 0.25, 5.0}
";

fn program(lines: &str) -> Program {
    let text = format!("{HEADER}{lines}\nEND\n");
    let (program, diagnostics) = tgsi::parse(&text);
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{diagnostics:?}\n{text}");
    program
}

/// Hardware that has every operation, but reads operands by these rules.
fn hardware(operands: &str) -> Target {
    let text = format!("name = \"test\"\nsummary = \"\"\nbare = true\n[operands]\n{operands}\n");
    Target::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const PORTS: &str =
    "inputs = 1\nconstants = 1\nimmediates-are-constants = true\nno-fetch-to-output = true
coordinate-in-register = true\n";
const SWIZZLES: &str = "swizzles = [\"xyz\", \"xxx\", \"yyy\", \"zzz\", \"www\", \"yzx\", \"zxy\", \"wzy\", \"111\", \"000\", \"hhh\"]\n";
const WHOLE_SWIZZLES: &str = "swizzles = [\"xyzw\", \"xxxx\", \"yyyy\", \"zzzz\", \"wwww\"]\n";
const FETCHES: &str = "plain-coordinates = true\nwhole-fetches = true\n";

fn optimized(program: &Program, target: &Target, level: Level) -> Program {
    let options = Options {
        level,
        target: target.clone(),
        profile: Profile::Strict,
        ..Options::default()
    };
    optimize(program, &options).program
}

fn same(before: &Program, after: &Program, name: &str) {
    let options = EquivOptions {
        cases: 6,
        special_cases: 6,
        tolerance: Tolerance::Exact,
        ..EquivOptions::default()
    };
    let report = compare(before, after, &options);
    let text = tgsi::print(after, &tgsi::Dialect::mesa());
    assert!(report.cases_run + report.skipped_step_limit > 0, "{name}");
    assert!(report.is_equal(), "{name}: {:?}\n{text}", report.mismatches);
}

fn rules(target: &Target, program: &Program) -> Vec<ShapeRule> {
    shape_faults(target, program)
        .iter()
        .map(|f| f.rule)
        .collect()
}

/// The result has no operand against the rules, computes the same, and has so many instructions, END
/// left out.
#[track_caller]
fn check(lines: &str, operands: &str, instructions: usize) {
    let (before, target) = (program(lines), hardware(operands));
    assert_ne!(rules(&target, &before), [], "nothing to do");
    let after = optimized(&before, &target, Level::O2);
    let text = tgsi::print(&after, &tgsi::Dialect::mesa());
    assert_eq!(rules(&target, &after), [], "{text}");
    same(&before, &after, lines);
    assert_eq!(after.insts.len() - 1, instructions, "{text}");
}

#[test]
fn a_second_constant_is_copied_once() {
    check(
        "MAD TEMP[0], IN[0], CONST[0], CONST[1]\nMAD OUT[0], TEMP[0], CONST[2], CONST[1]",
        PORTS,
        3,
    );
}

#[test]
fn inputs_share_no_port() {
    check("MUL OUT[0], IN[0], IN[1]", PORTS, 2);
}

#[test]
fn an_immediate_is_a_constant_where_it_counts_as_one() {
    let lines = "MAD OUT[0], IN[0], CONST[0], IMM[1].xyzw";
    check(lines, PORTS, 2);
    let apart = hardware("constants = 1");
    assert_eq!(rules(&apart, &program(lines)), []);
}

#[test]
fn a_swizzle_of_two_halves_makes_two_instructions() {
    check("MUL OUT[0].xyz, IN[0].xxyx, CONST[0]", SWIZZLES, 2);
}

#[test]
fn parts_do_not_read_what_others_wrote() {
    check(
        "MOV TEMP[0], IN[0]\nBGNLOOP\nMUL TEMP[0].xyz, TEMP[0].yxzz, CONST[0]\nIF TEMP[0].xxxx\nBRK\nENDIF\nENDLOOP\nMOV OUT[0], TEMP[0]",
        WHOLE_SWIZZLES,
        13,
    );
}

#[test]
fn a_dot_product_reads_a_copy() {
    check("DP3 OUT[0], IN[0].xxyy, CONST[0]", SWIZZLES, 3);
}

#[test]
fn constants_of_the_hardware_need_no_copy() {
    let before = program("MUL OUT[0].xyz, IN[0], IMM[0].zzzz\nMOV OUT[0].w, IN[0]");
    assert_eq!(rules(&hardware(SWIZZLES), &before), []);
}

#[test]
fn coordinates_are_moved_into_place_ahead_of_all_fetches() {
    check(
        "TEX TEMP[0], IN[0].zwzw, SAMP[0], 2D\nTEX TEMP[1], IN[1].yxyy, SAMP[0], 2D\nADD OUT[0], TEMP[0], TEMP[1]",
        FETCHES,
        5,
    );
    let target = hardware(FETCHES);
    let before = program(
        "TEX TEMP[0], IN[0].zwzw, SAMP[0], 2D\nTEX TEMP[1], IN[1].yxyy, SAMP[0], 2D\nADD OUT[0], TEMP[0], TEMP[1]",
    );
    let after = optimized(&before, &target, Level::O2);
    let moves = after.insts.iter().take_while(|i| i.op == tgsi::Opcode::Mov);
    assert_eq!(moves.count(), 2);
}

#[test]
fn a_coordinate_is_no_constant() {
    check("TEX OUT[0], CONST[0], SAMP[0], 2D", PORTS, 3);
}

#[test]
fn a_fetch_writes_a_whole_register() {
    // Nothing else is in the register, and then something is.
    check(
        "TEX TEMP[0].x, IN[0], SAMP[0], 2D\nMUL OUT[0], TEMP[0].xxxx, CONST[0]",
        FETCHES,
        2,
    );
    check(
        "TEX OUT[0].xyz, IN[0], SAMP[0], 2D\nMOV OUT[0].w, CONST[0]",
        FETCHES,
        3,
    );
}

#[test]
fn what_cannot_be_written_is_told() {
    // No channel reaches another one.
    let target = hardware("swizzles = [\"xyzw\"]");
    let before = program("MUL OUT[0], IN[0].wzyx, CONST[0]");
    let after = optimized(&before, &target, Level::O2);
    assert_eq!(rules(&target, &after), [ShapeRule::Swizzle]);
    let report = tgsi_target::fit_report(&target, &after, &tgsi_target::count(&after));
    assert_eq!(
        report.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["uses a swizzle that the target does not have"]
    );
    same(&before, &after, "as it was");
}

fn corpus(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            corpus(&path, found);
        } else if path.extension().is_some_and(|e| e == "tgsi") {
            found.push(path);
        }
    }
}

/// Every program of the corpus, with every rule that a copy can meet.
#[test]
fn real_programs_are_written_for_every_rule() {
    let mut paths = Vec::new();
    corpus(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"),
        &mut paths,
    );
    paths.sort();
    assert!(paths.len() > 200, "{}", paths.len());
    let all = [
        hardware(&format!("{SWIZZLES}{FETCHES}")),
        hardware(&format!("{PORTS}{WHOLE_SWIZZLES}{FETCHES}")),
        hardware(PORTS),
    ];
    let (mut copied, mut left) = (0, Vec::new());
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let before = tgsi::parse(&text).0;
        for target in &all {
            let after = optimized(&before, target, Level::O1);
            same(&before, &after, &name);
            copied += u32::from(!rules(target, &before).is_empty());
            if !rules(target, &after).is_empty() {
                left.push((name.clone(), rules(target, &after)));
            }
        }
    }
    assert!(copied > 300, "{copied}");
    assert!(left.is_empty(), "{left:#?}");
}
