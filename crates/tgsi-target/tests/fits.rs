//! Why programs do not fit, and which instruction is to blame.

use tgsi::Program;
use tgsi_target::{Cost, Excess, Target, count, fit_report, needs, place};

#[track_caller]
fn parse(text: &str) -> Program {
    let (program, diagnostics) = tgsi::parse(text);
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == tgsi::Severity::Error)
        .count();
    assert_eq!(errors, 0, "{diagnostics:#?}");
    program
}

fn named(name: &str) -> Target {
    Target::by_name(name).expect("a target").clone()
}

/// Reasons and places, a line each.
fn report(target: &Target, program: &Program) -> Vec<String> {
    let excess = fit_report(target, program, &count(program));
    let line = |e: &Excess| match place(target, program, e) {
        Some(place) => format!("{e} ({place})"),
        None => e.to_string(),
    };
    excess.iter().map(line).collect()
}

#[track_caller]
fn check(target: &Target, text: &str, wanted: &[&str]) {
    let program = parse(text);
    assert_eq!(report(target, &program), wanted);
    let cost = Cost::of(&program, &count(&program), target);
    assert_eq!(cost.misfit == 0, wanted.is_empty());
}

const FRAG: &str = "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL SAMP[0]\nDCL CONST[0..39]\nDCL TEMP[0..9]\n";
const VERT: &str =
    "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL CONST[0..9]\nDCL TEMP[0..9]\nDCL ADDR[0]\n";

fn frag(body: &str) -> String {
    format!("{FRAG}{body}\nEND\n")
}

#[test]
fn what_the_target_does_not_have() {
    let r300 = named("r300-fs");
    check(&r300, &frag("MOV OUT[0], IN[0]"), &[]);
    // Each opcode once, where it is first used; what the driver expands is taken.
    check(
        &r300,
        &frag(
            "LRP TEMP[0], IN[0], IN[0], IN[0]\nUADD TEMP[1], TEMP[0], TEMP[0]\nDIV TEMP[2], IN[0], TEMP[0]\n\
             UADD TEMP[1], TEMP[1], TEMP[2]\nMOV OUT[0], TEMP[1]",
        ),
        &[
            "uses UADD, which the target does not have (at 1: UADD TEMP[1], TEMP[0], TEMP[0])",
            "uses DIV, which the target does not have (at 2: DIV TEMP[2], IN[0], TEMP[0])",
        ],
    );
    // Control flow, once for each kind.
    check(
        &r300,
        &frag(
            "BGNLOOP\nIF IN[0].xxxx\nBRK\nENDIF\nENDLOOP\nIF IN[0].yyyy\nELSE\nENDIF\nMOV OUT[0], IN[0]",
        ),
        &[
            "uses BGNLOOP, the target has no loops (at 0: BGNLOOP)",
            "uses IF, the target has no branches (at 1: IF IN[0].xxxx)",
        ],
    );
    check(
        &named("r500-fs"),
        &frag("BGNLOOP\nIF IN[0].xxxx\nCONT\nENDIF\nBRK\nENDLOOP\nMOV OUT[0], IN[0]"),
        &[],
    );
    check(
        &named("svga-ps"),
        &frag("BGNLOOP\nIF IN[0].xxxx\nCONT\nENDIF\nBRK\nENDLOOP\nMOV OUT[0], IN[0]"),
        &["uses CONT, the target has no continues (at 2: CONT)"],
    );
    // A stage.
    check(
        &named("r300-vs"),
        &frag("MOV OUT[0], IN[0]"),
        &["is a FRAG program, which the target does not run"],
    );
    // Integers, where no list of opcodes says so.
    let text = "name = \"floats\"\nsummary = \"\"\n[arithmetic]\nintegers = false\n";
    check(
        &Target::from_toml(text).expect("a target"),
        &frag("UIF IN[0].xxxx\nUADD TEMP[1], IN[0], IN[0]\nENDIF\nMOV OUT[0], TEMP[1]"),
        &["uses UIF, the target has no integers (at 0: UIF IN[0].xxxx)"],
    );
}

#[test]
fn channels_of_address_registers() {
    let body =
        |c: char| format!("{VERT}ARL ADDR[0].{c}, IN[0]\nMOV OUT[0], CONST[ADDR[0].{c}+1]\nEND\n");
    check(&named("arb-vp"), &body('x'), &[]);
    check(&named("nv-vp2"), &body('y'), &[]);
    check(
        &named("arb-vp"),
        &body('y'),
        &[
            "indexes by another channel of an address register than x (at 1: MOV OUT[0], CONST[ADDR[0].y+1])",
        ],
    );
}

#[test]
fn the_instruction_that_is_too_much() {
    let mut target = named("r300-fs");
    let chain = "TEX TEMP[0], IN[0], SAMP[0], 2D\nMUL TEMP[0], TEMP[0], CONST[0]\nTEX TEMP[1], TEMP[0], SAMP[0], 2D\n\
        ADD TEMP[1], TEMP[1], CONST[1]\nTEX TEMP[2], TEMP[1], SAMP[0], 2D\nMOV OUT[0], TEMP[2]";
    check(&target, &frag(chain), &[]);
    for (limit, n) in [
        ("indirections", 2),
        ("tex", 1),
        ("alu", 2),
        ("instructions", 4),
        ("constants", 1),
        ("temps", 1),
    ] {
        target.limits.set(limit, n).expect("a limit");
    }
    check(
        &target,
        &frag(chain),
        &[
            "needs 6 instructions, the target has 4 (at 4: TEX TEMP[2], TEMP[1], SAMP[0], 2D)",
            "needs 3 arithmetic instructions, the target has 2 (at 5: MOV OUT[0], TEMP[2])",
            "needs 3 texture instructions, the target has 1 (at 2: TEX TEMP[1], TEMP[0], SAMP[0], 2D)",
            "needs 3 texture indirections, the target has 2 (fetches 0, 2, 4 depend on each other, at 4: TEX TEMP[2], TEMP[1], SAMP[0], 2D)",
            "needs 3 temporaries, the target has 1 (most are live, 2, at 2: TEX TEMP[1], TEMP[0], SAMP[0], 2D)",
            "needs 2 constants, the target has 1 (at 3: ADD TEMP[1], TEMP[1], CONST[1])",
        ],
    );
    // An expansion crosses the limit before the number of instructions does.
    let mut slots = named("r300-fs");
    slots.limits.alu = Some(6);
    check(
        &slots,
        &frag(
            "MOV TEMP[0], IN[0]\nPOW TEMP[1], TEMP[0], IN[0]\nSSG TEMP[2], TEMP[1]\nMOV OUT[0], TEMP[2]",
        ),
        &["needs 8 arithmetic instructions, the target has 6 (at 2: SSG TEMP[2], TEMP[1])"],
    );
    // Declarations have no instruction.
    let mut inputs = named("r300-fs");
    inputs.limits.inputs = Some(0);
    check(
        &inputs,
        &frag("MOV OUT[0], IN[0]"),
        &["needs 1 inputs, the target has 0"],
    );
    let mut nested = Target::default();
    nested.limits.depth = Some(1);
    check(
        &nested,
        &frag("IF IN[0].xxxx :3\nIF IN[0].yyyy :2\nENDIF\nENDIF\nMOV OUT[0], IN[0]"),
        &["needs 2 levels of nesting, the target has 1 (at 1: IF IN[0].yyyy :2)"],
    );
}

#[test]
fn temporaries_live_through_loops_and_arrays_throughout() {
    let mut target = Target::default();
    target.limits.temps = Some(0);
    check(
        &target,
        &frag(
            "MOV TEMP[0], IN[0]\nBGNLOOP\nMOV TEMP[1], TEMP[0]\nMUL TEMP[2], TEMP[1], TEMP[1]\nIF TEMP[2].xxxx\nBRK\n\
             ENDIF\nMOV TEMP[3], IN[0]\nMOV TEMP[4], TEMP[3]\nENDLOOP\nMOV OUT[0], TEMP[2]",
        ),
        // 0 and 2 live through the loop; with them 1 in its second and third instruction, then 3 and 4.
        &["needs 5 temporaries, the target has 0 (most are live, 4, at 8: MOV TEMP[4], TEMP[3])"],
    );
    let array = "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL TEMP[0]\nDCL TEMP[1..4], ARRAY(1), LOCAL\nDCL ADDR[0]\n\
        MOV TEMP[0], IN[0]\nARL ADDR[0].x, TEMP[0].xxxx\nMOV OUT[0], TEMP[ADDR[0].x+1](1)\nEND\n";
    check(
        &target,
        array,
        &["needs 5 temporaries, the target has 0 (most are live, 5, at 0: MOV TEMP[0], IN[0])"],
    );
}

#[test]
fn inputs_by_kind() {
    let text = "FRAG\nDCL IN[0..2], COLOR, LINEAR\nDCL IN[3..12], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nMOV OUT[0], IN[0]\nEND\n";
    check(
        &named("ps_2_0"),
        text,
        &[
            "needs 10 inputs that are no colours, the target has 8",
            "needs 3 colour inputs, the target has 2",
        ],
    );
}

#[test]
fn nesting_of_calls() {
    let mut target = named("ps_3_0");
    let depth = |body: &str| {
        let program = parse(&frag(body));
        needs(&named("ps_3_0"), &program, &count(&program)).call_depth
    };
    assert_eq!(depth("MOV OUT[0], IN[0]"), Some(0));
    let nested = "CAL :2\nRET\nBGNSUB :0\nCAL :5\nENDSUB\nBGNSUB :0\nMOV OUT[0], IN[0]\nENDSUB";
    assert_eq!(depth(nested), Some(2));
    assert_eq!(depth("CAL :2\nRET\nBGNSUB :0\nCAL :2\nENDSUB"), Some(256));
    target.limits.call_depth = Some(1);
    check(
        &target,
        &frag(nested),
        &["needs 2 levels of calls, the target has 1 (at 3: CAL :5)"],
    );
}

/// Reports of large programs of every shape come in no time to speak of.
#[test]
fn large_programs() {
    const N: usize = 2_000;
    let mut body = String::new();
    for i in 0..N {
        body.push_str(&format!(
            "MOV TEMP[{i}], TEMP[ADDR[0].x+{i}](1)\nBGNLOOP\nIF TEMP[{i}].xxxx\n"
        ));
    }
    body.push_str(&"ENDIF\nENDLOOP\n".repeat(N));
    for i in 0..N {
        body.push_str(&format!(
            "CAL :{}\nTEX TEMP[{i}], TEMP[{i}], SAMP[0], 2D\n",
            3 * i
        ));
    }
    let text = format!(
        "FRAG\nDCL IN[0], COLOR\nDCL SAMP[0]\nDCL ADDR[0]\nDCL TEMP[0..60000], ARRAY(1)\n{body}END\n"
    );
    let program = parse(&text);
    for target in Target::all().filter(|t| t.limits.temps.is_some()) {
        assert!(!report(target, &program).is_empty(), "{}", target.name);
    }
}
