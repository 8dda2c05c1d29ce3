//! Programs that were counted by hand: texture indirections by each model, slots by each kind of
//! target, and constants by each way to count them.

use tgsi::Program;
use tgsi_target::{Counts, IndirectionModel, Slots, Target, count, indirections, needs};

const HEAD: &str = "DCL IN[0], GENERIC[0], PERSPECTIVE\nDCL IN[1], GENERIC[1], PERSPECTIVE\nDCL OUT[0], COLOR\n\
    DCL SAMP[0..3]\nDCL CONST[0..9]\nDCL TEMP[0..9]\nIMM[0] FLT32 {0.5, 2.0, 0.0, 1.0}\n";

#[track_caller]
fn program(stage: &str, body: &str) -> (Program, Counts) {
    let text = format!("{stage}\n{HEAD}{body}\nEND\n");
    let (program, diagnostics) = tgsi::parse(&text);
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == tgsi::Severity::Error)
        .count();
    assert_eq!(errors, 0, "{diagnostics:#?}");
    let counts = count(&program);
    (program, counts)
}

fn target(name: &str) -> Target {
    Target::by_name(name).expect("a target").clone()
}

/// Two sums of the first and the last of a row of fetches, each at the result of the one before.
const CHAIN: &str = "TEX TEMP[0], IN[0], SAMP[0], 2D\nTEX TEMP[1], TEMP[0], SAMP[1], 2D\n\
    ADD TEMP[2], TEMP[0], TEMP[1]\nTEX TEMP[3], TEMP[2], SAMP[2], 2D\nMUL TEMP[3], TEMP[3], TEMP[2]\n\
    MOV OUT[0], TEMP[3]";

/// A bump map: a computed coordinate, three fetches, the second into a register that arithmetic
/// has read, the third straight into the output.
const BUMP: &str = "MAD TEMP[0], IN[0], IMM[0].yyyy, -IMM[0].xxxx\nTEX TEMP[1], TEMP[0], SAMP[0], 2D\n\
    DP3 TEMP[2], TEMP[1], IN[1]\nTEX TEMP[1], IN[1], SAMP[1], 2D\nMUL TEMP[2], TEMP[2], TEMP[1]\n\
    TEX OUT[0], IN[0], SAMP[2], 2D\nKILL_IF TEMP[2]";

/// Two fetches of one level, the second into what the first one reads.
const SWAP: &str = "TEX TEMP[1], TEMP[0], SAMP[0], 2D\nTEX TEMP[0], IN[0], SAMP[1], 2D\n\
    ADD OUT[0], TEMP[0], TEMP[1]";

#[track_caller]
fn levels(body: &str, model: IndirectionModel, wanted: u32) {
    let (program, counts) = program("FRAG", body);
    assert_eq!(indirections(&program, model), wanted, "{model:?}");
    if model == IndirectionModel::Arb {
        assert_eq!(counts.indirections, wanted);
    }
}

#[test]
fn indirections_of_arb() {
    // 1 for the first fetch, the second and third at what was just written.
    levels(CHAIN, IndirectionModel::Arb, 3);
    // Fetch 1 at the result of MAD (2); fetch 3 into TEMP[1], which DP3 read (3); the kill tests what
    // MUL wrote behind that (4).
    levels(BUMP, IndirectionModel::Arb, 4);
    levels(SWAP, IndirectionModel::Arb, 1);
}

#[test]
fn indirections_of_r300_nodes() {
    levels(CHAIN, IndirectionModel::R300Node, 3);
    levels(BUMP, IndirectionModel::R300Node, 4);
    // Reads of a node come before its writes.
    levels(SWAP, IndirectionModel::R300Node, 1);
}

#[test]
fn indirections_of_i915_phases() {
    levels(CHAIN, IndirectionModel::I915Phase, 3);
    // Fetch 1 (2); that arithmetic read TEMP[1] is of no account; fetch 5 into the output (3), and
    // since then nothing wrote what the kill tests.
    levels(BUMP, IndirectionModel::I915Phase, 3);
    // The kill comes before: MUL wrote its operand, so it starts a phase, and the output one more.
    let earlier = BUMP
        .replace("\nKILL_IF TEMP[2]", "")
        .replace("TEX OUT", "KILL_IF TEMP[2]\nTEX OUT");
    levels(&earlier, IndirectionModel::I915Phase, 4);
    levels(SWAP, IndirectionModel::I915Phase, 1);
}

#[test]
fn indirections_of_direct3d_orders() {
    // Fetch 3 depends on 1, and 1 on 0.
    levels(CHAIN, IndirectionModel::D3dOrder, 3);
    // A computed coordinate is no read, and the kill is no fetch.
    levels(BUMP, IndirectionModel::D3dOrder, 1);
    levels(SWAP, IndirectionModel::D3dOrder, 1);
}

/// Pixel shaders 2.0 read up to the third order: a read that depends on nothing is of order 0, so
/// four in a row are the most.
#[test]
fn the_order_limit_of_pixel_shaders_2_0() {
    let chain = |n: usize| {
        let mut body = String::from("TEX TEMP[0], IN[0], SAMP[0], 2D\n");
        for i in 1..n {
            let from = i - 1;
            body.push_str(&format!("TEX TEMP[{i}], TEMP[{from}], SAMP[0], 2D\n"));
        }
        body.push_str(&format!("MOV OUT[0], TEMP[{}]", n - 1));
        program("FRAG", &body)
    };
    let target = target("ps_2_0");
    for n in 1..=6 {
        let (program, counts) = chain(n);
        assert_eq!(target.fits(&program, &counts), n <= 4, "{n} in a row");
        assert_eq!(
            needs(&target, &program, &counts).indirections,
            Some(n as u32)
        );
    }
}

/// Slots as (all, alu, tex, flow).
#[track_caller]
fn slots(name: &str, stage: &str, body: &str, wanted: [u32; 4]) {
    let (program, counts) = program(stage, body);
    let s = Slots::of(&target(name), &program, &counts);
    assert_eq!([s.all, s.alu, s.tex, s.flow], wanted, "{name}");
}

/// A lit and fogged pixel.
const LIT: &str = "TEX TEMP[0], IN[0], SAMP[0], 2D\nDP3 TEMP[1].x, IN[1], CONST[0]\nLIT TEMP[1], TEMP[1].xxxx\n\
    POW TEMP[2].x, TEMP[1].zzzz, IMM[0].yyyy\nLRP TEMP[0], TEMP[2].xxxx, TEMP[0], CONST[1]\n\
    SGE TEMP[3], TEMP[0], IMM[0]\nKILL_IF -TEMP[3]\nMOV OUT[0], TEMP[0]";

/// Waves.
const WAVES: &str = "FLR TEMP[0], IN[0]\nSUB TEMP[0], IN[0], TEMP[0]\nSIN TEMP[1].x, TEMP[0].xxxx\n\
    COS TEMP[1].y, TEMP[0].yyyy\nSSG TEMP[2], TEMP[1]\nMAD OUT[0], TEMP[2], TEMP[1], CONST[0]";

#[test]
fn slots_of_languages_that_expand_nothing() {
    for name in ["generic", "virgl", "arb-fp", "nv-fp"] {
        slots(name, "FRAG", LIT, [8, 6, 2, 0]);
        slots(name, "FRAG", WAVES, [6, 6, 0, 0]);
    }
}

#[test]
fn slots_of_drivers_that_expand() {
    // DP3 1, LIT 7, POW 3, LRP 2, SGE 2, MOV 1; the fetch and the kill.
    slots("r300-fs", "FRAG", LIT, [18, 16, 2, 0]);
    // LIT 5, SGE 1.
    slots("i915-fs", "FRAG", LIT, [15, 13, 2, 0]);
    // LIT 4, POW 3, LRP 2, SGE 1, and the kill writes the condition first.
    slots("nv40-fp", "FRAG", LIT, [15, 12, 3, 0]);
    slots("nv30-fp", "FRAG", LIT, [9, 6, 3, 0]);
    // LIT 5, SGE 3.
    slots("svga-ps", "FRAG", LIT, [14, 12, 2, 0]);
    // FLR 2, SUB 1, SIN and COS 7 each, SSG 3, MAD 1.
    slots("r300-fs", "FRAG", WAVES, [21, 21, 0, 0]);
    // SIN and COS are there, behind a scaling of two.
    slots("r500-fs", "FRAG", WAVES, [13, 13, 0, 0]);
    // FLR 1, SIN and COS 6 each, SSG 3.
    slots("i915-fs", "FRAG", WAVES, [18, 18, 0, 0]);
    // All but SUB as it is, and that is ADD.
    slots("nv30-vp", "VERT", WAVES, [6, 6, 0, 0]);
    // FLR 2, SIN and COS 2 each, SSG 1.
    slots("svga-vs", "VERT", WAVES, [9, 9, 0, 0]);
}

#[test]
fn slots_of_direct3d() {
    // LRP 2, POW 3, kill and fetch 1 each; LIT and SGE are none of its instructions.
    slots("ps_2_0", "FRAG", LIT, [11, 9, 2, 0]);
    // SIN and COS 8 each.
    slots("ps_2_0", "FRAG", WAVES, [20, 20, 0, 0]);
    // SSG 3 besides.
    slots("vs_2_0", "VERT", WAVES, [22, 22, 0, 0]);
    slots(
        "vs_3_0",
        "VERT",
        "LIT TEMP[0], IN[0]\nTXL TEMP[1], IN[1], SAMP[0], 2D\nXPD OUT[0], TEMP[0], TEMP[1]",
        [7, 5, 2, 0],
    );
    slots(
        "ps_3_0",
        "FRAG",
        "BGNLOOP\nIF IN[0].xxxx\nBRK\nENDIF\nENDLOOP\nDDX TEMP[0], IN[0]\nTXD OUT[0], IN[0], TEMP[0], TEMP[0], SAMP[0], 2D",
        // Loop 3, if 3, break 1, endif 1, endloop 2; dsx 2; texldd 2.
        [14, 2, 2, 10],
    );
    // In 1.2 and 1.3 alone.
    let compare = "DP4 TEMP[0], IN[0], CONST[0]\nCMP OUT[0], TEMP[0], IN[0], IN[1]\nNOP";
    slots("ps_1_2", "FRAG", compare, [4, 4, 0, 0]);
    slots("ps_1_3", "FRAG", compare, [4, 4, 0, 0]);
    slots("ps_1_4", "FRAG", compare, [2, 2, 0, 0]);
}

#[test]
fn slots_of_pairs() {
    // The first two side by side; the third reads what the second wrote; so do not the last two.
    let combine = "MUL TEMP[0].xyz, IN[0], CONST[0]\nADD TEMP[0].w, IN[0], CONST[1]\nMUL TEMP[1].xyz, TEMP[0].wwww, IN[1]\n\
        MOV TEMP[1].w, TEMP[0].wwww\nMOV OUT[0], TEMP[1]";
    slots("ps_1_1", "FRAG", combine, [3, 3, 0, 0]);
    slots("r200-fs", "FRAG", combine, [3, 3, 0, 0]);
    slots("r300-fs", "FRAG", combine, [5, 5, 0, 0]);
    // An alpha that reads the colour is of the next slot, where it can share with no fetch; a dot
    // product leaves the alpha side free, one of four channels does not.
    let chained = "DP3 TEMP[0].xyz, IN[0], CONST[0]\nMUL TEMP[0].w, TEMP[0].xxxx, IN[1]\nTEX TEMP[2], IN[1], SAMP[0], 2D\n\
        DP3 TEMP[1].xyz, IN[0], TEMP[2]\nMOV TEMP[1].w, IN[1]\nDP4 TEMP[3].xyz, IN[0], IN[1]\nMOV TEMP[3].w, IN[0]\n\
        MOV OUT[0], TEMP[3]";
    slots("ps_1_4", "FRAG", chained, [7, 6, 1, 0]);
    // Colour and alpha take 2 slots of 1.2 together where one of them does.
    slots(
        "ps_1_2",
        "FRAG",
        "MUL TEMP[0].w, IN[0], IN[0]\nCMP TEMP[0].xyz, IN[0], IN[1], CONST[0]\nMOV OUT[0], TEMP[0]",
        [3, 3, 0, 0],
    );
}

#[test]
fn slots_of_phases() {
    let phases = |name: &str, body: &str| {
        let (program, counts) = program("FRAG", body);
        let (t, s) = (target(name), Slots::of(&target(name), &program, &counts));
        let levels = needs(&t, &program, &counts).indirections;
        (s.phase_alu, s.phase_tex, levels)
    };
    // 2 fetches and 3 operations, then 1 and 2.
    let two = "TEX TEMP[0], IN[0], SAMP[0], 2D\nTEX TEMP[1], IN[1], SAMP[1], 2D\nMUL TEMP[2], TEMP[0], TEMP[1]\n\
        ADD TEMP[2], TEMP[2], CONST[0]\nMUL TEMP[3], TEMP[2], TEMP[0]\nTEX TEMP[4], TEMP[3], SAMP[2], 2D\n\
        MUL TEMP[4], TEMP[4], TEMP[1]\nMOV OUT[0], TEMP[4]";
    assert_eq!(phases("ps_1_4", two), (3, 2, Some(2)));
    assert_eq!(phases("r200-fs", two), (3, 2, Some(2)));
    // Nine operations behind one fetch are too many, though sixteen are not in all.
    let long = format!(
        "TEX TEMP[0], IN[0], SAMP[0], 2D\n{}MOV OUT[0], TEMP[0]",
        "MUL TEMP[0], TEMP[0], TEMP[0]\n".repeat(8)
    );
    assert_eq!(phases("ps_1_4", &long), (9, 1, Some(1)));
    let (program, counts) = program("FRAG", &long);
    assert!(!target("ps_1_4").fits(&program, &counts) && target("r300-fs").fits(&program, &counts));
    // Others do not count it.
    assert_eq!(phases("r300-fs", two), (0, 0, Some(2)));
}

#[test]
fn constants() {
    let needs_of = |name: &str, body: &str| {
        let (program, counts) = program("VERT", body);
        needs(&target(name), &program, &counts).constants
    };
    let named = "MUL TEMP[0], IN[0], CONST[3]\nMAD OUT[0], TEMP[0], CONST[3], CONST[7]";
    let indexed = "MUL TEMP[0], IN[0], CONST[3]\nMAD OUT[0], TEMP[0], CONST[TEMP[0].x], IMM[0]";
    for (name, wanted) in [
        // All ten that are declared.
        ("generic", [10, 10]),
        // The two that are named; all ten where an index may name any.
        ("r300-vs", [2, 10]),
        // The immediate besides.
        ("vs_2_0", [3, 11]),
        ("i915-fs", [3, 11]),
    ] {
        let has = [named, indexed].map(|body| needs_of(name, body));
        assert_eq!(has, wanted.map(Some), "{name}");
    }
}

#[test]
fn registers_and_declarations() {
    let (program, counts) = program("FRAG", LIT);
    let n = needs(&target("i915-fs"), &program, &counts);
    // Two inputs and four samplers.
    assert_eq!(n.declarations, Some(6));
    assert_eq!((n.temps, n.samplers, n.inputs), (Some(4), Some(4), Some(2)));
    let n = needs(&target("ps_2_0"), &program, &counts);
    assert_eq!((n.coordinates, n.colors), (Some(2), Some(0)));
}
