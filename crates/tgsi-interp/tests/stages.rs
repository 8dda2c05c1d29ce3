//! Memory, work groups, patches, emitted vertices, quads.

mod common;

use common::{inputs, ints, lanes, parse, run_text};
use tgsi::File;
use tgsi_interp::{CaseStyle, Inputs, Region, RegionKind, RunOptions, run, run_masked};

fn options() -> RunOptions {
    RunOptions::default()
}

fn buffer(words: &[u32]) -> Inputs {
    let mut inputs = Inputs::default();
    inputs.set_memory(RegionKind::Buffer, 0, words.to_vec());
    inputs
}

#[test]
fn loads_are_bounded_by_their_highest_component() {
    let text = "VERT\nDCL OUT[0], POSITION\nDCL OUT[1], GENERIC[0]\nDCL OUT[2], GENERIC[1]\nDCL BUFFER[0]\n\
        IMM[0] UINT32 {8, 0, 4294967295, 6}\n\
        LOAD OUT[0].xy, BUFFER[0], IMM[0].xxxx\nLOAD OUT[1].xyz, BUFFER[0], IMM[0].xxxx\n\
        LOAD OUT[2].x, BUFFER[0], IMM[0].wwww\nEND\n";
    let out = run(&parse(text), &buffer(&[1, 2, 3, 4]), &options());
    assert_eq!((lanes(&out, 0, 0), lanes(&out, 0, 1)), ([3; 4], [4; 4]));
    assert_eq!((lanes(&out, 1, 0), lanes(&out, 1, 2)), ([0; 4], [0; 4]));
    // Bytes 6 to 9: the upper half of 2 and the lower half of 3.
    assert_eq!(lanes(&out, 2, 0), [0x0003_0000; 4]);
}

#[test]
fn stores_outside_are_dropped() {
    let text = "VERT\nDCL OUT[0], POSITION\nDCL BUFFER[0]\nIMM[0] UINT32 {8, 0, 4294967292, 5}\n\
        STORE BUFFER[0], IMM[0].xxxx, IMM[0].wwww\nSTORE BUFFER[0].x, IMM[0].zzzz, IMM[0].wwww\nEND\n";
    let out = run(&parse(text), &buffer(&[1, 2, 3, 4]), &options());
    assert_eq!(ints(&out, 0), [1, 2, 5, 5]);
}

#[test]
fn atomics_happen_in_lane_order() {
    let text = "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL BUFFER[0]\nDCL HWATOMIC[0][0..1]\n\
        IMM[0] UINT32 {0, 1, 4, 3}\nATOMUADD OUT[0].x, BUFFER[0], IMM[0].xxxx, IMM[0].wwww\n\
        ATOMCAS OUT[0].y, BUFFER[0], IMM[0].zzzz, IN[0].xxxx, IMM[0].wwww\n\
        ATOMUADD OUT[0].z, HWATOMIC[0][1], IMM[0].zzzz, IMM[0].yyyy\nEND\n";
    let mut start = buffer(&[10, 1]);
    start.set_memory(RegionKind::Counter, 0, vec![0, 5]);
    for lane in 0..4 {
        start.set_lane(File::In, None, 0, lane, [lane as u32, 0, 0, 0]);
    }
    let out = run(&parse(text), &start, &options());
    assert_eq!(lanes(&out, 0, 0), [10, 13, 16, 19]);
    assert_eq!(lanes(&out, 0, 1), [1, 1, 3, 3]);
    assert_eq!(lanes(&out, 0, 2), [5, 6, 7, 8]);
    assert_eq!((ints(&out, 0), ints(&out, 1)), (vec![22, 3], vec![0, 9]));
}

#[test]
fn images_keep_the_channels_of_their_format() {
    let text = "FRAG\nDCL OUT[0], COLOR\nDCL IMAGE[0], 2D, PIPE_FORMAT_R32G32_UINT, WR\nDCL TEMP[0]\n\
        IMM[0] UINT32 {1, 2, 3, 4}\nIMM[1] UINT32 {100, 0, 0, 0}\n\
        STORE IMAGE[0], IMM[0].xywz, IMM[0], 2D, PIPE_FORMAT_R32G32_UINT\n\
        STORE IMAGE[0], IMM[1].xyyy, IMM[0], 2D, PIPE_FORMAT_R32G32_UINT\n\
        LOAD OUT[0], IMAGE[0], IMM[0].xyyy, 2D, PIPE_FORMAT_R32G32_UINT\nEND\n";
    let out = run(&parse(text), &Inputs::default(), &options());
    let words: Vec<u32> = (0..4).map(|c| lanes(&out, 0, c)[0]).collect();
    assert_eq!(words, [1, 2, 0, 0x3f80_0000]);
}

#[test]
fn work_groups_meet_at_barriers() {
    // Each invocation publishes its number; behind the barrier the mirrored one reads it.
    let text = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 10\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\n\
        PROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL MEMORY[0], SHARED\nDCL TEMP[0..2]\n\
        IMM[0] UINT32 {4, 9, 0, 0}\nUMUL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n\
        STORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx\nBARRIER\n\
        UADD TEMP[1].x, IMM[0].yyyy, -SV[0].xxxx\nUMUL TEMP[1].x, TEMP[1].xxxx, IMM[0].xxxx\n\
        LOAD TEMP[2].x, MEMORY[0], TEMP[1].xxxx\nSTORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\nEND\n";
    let out = run(&parse(text), &buffer(&[77; 12]), &options());
    assert_eq!(ints(&out, 0), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 77, 77]);
    // Shared memory is gone with its group.
    assert_eq!(out.memory.len(), 1);
}

#[test]
fn patches_share_their_outputs() {
    let text = "TESS_CTRL\nPROPERTY TCS_VERTICES_OUT 6\nDCL IN[][0], GENERIC[0]\nDCL SV[0], INVOCATIONID\n\
        DCL OUT[][0], GENERIC[0]\nDCL OUT[1], PATCH\nDCL TEMP[0]\nDCL ADDR[0]\nIMM[0] UINT32 {0, 1, 5, 0}\n\
        UARL ADDR[0].x, SV[0].xxxx\nMOV OUT[ADDR[0].x][0].x, IN[ADDR[0].x][0].xxxx\nBARRIER\n\
        USEQ TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\nUIF TEMP[0].xxxx\nUADD OUT[1].x, OUT[5][0].xxxx, OUT[3][0].xxxx\nENDIF\nEND\n";
    let lines: Vec<String> = (0..6)
        .map(|v| format!("IN[{v}][0] {} 0 0 0", 10 * v))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let out = run_text(text, &lines, &options());
    let vertices: Vec<u32> = out
        .outputs
        .iter()
        .filter(|o| o.dim.is_some())
        .map(|o| o.lanes[0][0].bits)
        .collect();
    assert_eq!(vertices, [0, 10, 20, 30, 40, 50]);
    let patch = out.outputs.iter().find(|o| o.dim.is_none()).unwrap();
    assert_eq!((patch.index, patch.lanes[0][0].bits), (1, 80));
}

#[test]
fn geometry_lists_its_vertices() {
    let text = "GEOM\nPROPERTY GS_INPUT_PRIMITIVE TRIANGLES\nPROPERTY GS_OUTPUT_PRIMITIVE POINTS\n\
        PROPERTY GS_MAX_OUTPUT_VERTICES 2\nDCL IN[][0], GENERIC[0]\nDCL OUT[0], POSITION\nIMM[0] UINT32 {0, 1, 0, 0}\n\
        MOV OUT[0], IN[2][0]\nEMIT IMM[0].xxxx\nMOV OUT[0], IN[1][0]\nEMIT IMM[0].yyyy\nENDPRIM IMM[0].xxxx\n\
        EMIT IMM[0].xxxx\nEND\n";
    let out = run_text(text, &["IN[1][0] 1 2 3 4", "IN[2][0] 5 6 7 8"], &options());
    let first: Vec<(u32, Option<u32>)> = out
        .emitted
        .iter()
        .filter(|e| e.lane == 0)
        .map(|e| (e.stream, e.words.as_ref().map(|w| w[0][0].bits)))
        .collect();
    // The third vertex is one too many.
    assert_eq!(first, [(0, Some(5)), (1, Some(1)), (0, None)]);
    assert_eq!(out.emitted.len(), 12);
}

#[test]
fn derivatives_are_coarse_and_fine() {
    let text = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nDDX OUT[0].x, IN[0].xxxx\n\
        DDY OUT[0].y, IN[0].xxxx\nDDX_FINE OUT[0].z, IN[0].xxxx\nDDY_FINE OUT[0].w, IN[0].xxxx\nEND\n";
    let lines: Vec<String> = [1.0f32, 2.0, 5.0, 10.0]
        .iter()
        .enumerate()
        .map(|(l, x)| format!("IN[0].lane{l} {:#010x} 0 0 0", x.to_bits()))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let out = run_text(text, &lines, &options());
    let floats = |c: usize| lanes(&out, 0, c).map(f32::from_bits);
    assert_eq!(floats(0), [5.0; 4]);
    assert_eq!(floats(1), [4.0; 4]);
    assert_eq!(floats(2), [1.0, 1.0, 5.0, 5.0]);
    assert_eq!(floats(3), [4.0, 8.0, 4.0, 8.0]);
}

#[test]
fn lanes_vote() {
    let text = "FRAG\nDCL IN[0], GENERIC[0], CONSTANT\nDCL OUT[0], COLOR\nVOTE_ANY OUT[0].x, IN[0].xxxx\n\
        VOTE_ALL OUT[0].y, IN[0].xxxx\nVOTE_EQ OUT[0].z, IN[0].yyyy\nBALLOT OUT[0].w, IN[0].xxxx\nEND\n";
    let out = run_text(text, &["IN[0].lane2 3 0 0 0"], &options());
    assert_eq!(lanes(&out, 0, 0), [u32::MAX; 4]);
    assert_eq!(lanes(&out, 0, 1), [0; 4]);
    assert_eq!(lanes(&out, 0, 2), [u32::MAX; 4]);
}

#[test]
fn undefined_words_are_found_by_refilling() {
    let text = "VERT\nDCL OUT[0], POSITION\nDCL OUT[1], GENERIC[0]\nDCL TEMP[0..1]\nIMM[0] UINT32 {0, 1, 0, 0}\n\
        XOR OUT[0].x, TEMP[0].xxxx, TEMP[0].xxxx\nMOV OUT[0].y, TEMP[0].yyyy\nAND OUT[0].z, TEMP[0].xxxx, IMM[0].xxxx\n\
        MOV OUT[1], IMM[0]\nEND\n";
    let out = run_masked(&parse(text), &Inputs::default(), &options(), &[1, 2]);
    let words = out.outcome.outputs[0].lanes[0].map(|w| w.map(|w| w.bits));
    assert_eq!(words, [Some(0), None, Some(0), None]);
}

#[test]
fn constants_out_of_bounds_read_zero_other_arrays_are_flagged() {
    let text = |file: &str| {
        format!(
            "VERT\nDCL IN[0..1]\nDCL CONST[0][0..1]\nDCL OUT[0], POSITION\nDCL TEMP[0..3], ARRAY(1)\nDCL TEMP[4]\nDCL ADDR[0]\n\
             MOV TEMP[0], IN[1]\nUARL ADDR[0].x, IN[0].xxxx\nMOV OUT[0], {file}\nEND\n"
        )
    };
    let go = |file: &str, index: u32| {
        let line = format!("IN[0] {index} 0 0 0");
        run_text(
            &text(file),
            &[&line, "CONST[1] 5 5 5 5", "IN[1] 9 9 9 9"],
            &options(),
        )
    };
    let out = go("CONST[0][ADDR[0].x]", 1);
    assert_eq!((lanes(&out, 0, 0), out.flags.out_of_array), ([5; 4], false));
    let out = go("CONST[ADDR[0].x-3]", 1);
    assert_eq!((lanes(&out, 0, 0), out.flags.out_of_array), ([0; 4], false));
    assert!(!go("TEMP[ADDR[0].x](1)", 3).flags.out_of_array);
    assert!(go("TEMP[ADDR[0].x](1)", 4).flags.out_of_array);
    assert_eq!(lanes(&go("TEMP[ADDR[0].x-2](1)", 2), 0, 0), [9; 4]);
}

#[test]
fn the_first_era_has_its_own_definitions() {
    let body = "DCL IN[0]\nDCL OUT[0], POSITION\nDCL OUT[1], GENERIC[0]\nRSQ OUT[0].x, IN[0].xxxx\n\
        MAX OUT[0].y, IN[0].yyyy, IN[0].zzzz\nXPD OUT[1], IN[0], IN[0]\nEND\n";
    let lines = ["IN[0] 0xc0800000 0x7fc00000 0x3f800000 0"];
    let old = run_text(&format!("VERT1.1\n{body}"), &lines, &options());
    assert_eq!(lanes(&old, 0, 0), [0.5f32.to_bits(); 4]);
    assert_eq!(lanes(&old, 1, 3), [1.0f32.to_bits(); 4]);
    let new = run_text(&format!("VERT\n{body}"), &lines, &options());
    let told = RunOptions {
        first_era: Some(true),
        ..options()
    };
    assert_eq!(
        run_text(&format!("VERT\n{body}"), &lines, &told).outputs,
        old.outputs
    );
    assert!(f32::from_bits(lanes(&new, 0, 0)[0]).is_nan());
    assert_eq!(lanes(&new, 0, 1), [0x3f80_0000; 4]);
}

#[test]
fn zero_wins_where_the_property_says_so() {
    let body = "DCL IN[0]\nDCL OUT[0], POSITION\nMUL OUT[0].x, IN[0].xxxx, IN[0].yyyy\n\
        MAD OUT[0].y, IN[0].xxxx, IN[0].yyyy, IN[0].zzzz\nDP2 OUT[0].z, IN[0].xyxy, IN[0].yxyx\nEND\n";
    let lines = ["IN[0] 0x00000000 0x7f800000 0x3f800000 0"];
    let strict = run_text(&format!("VERT\n{body}"), &lines, &options());
    assert!(f32::from_bits(lanes(&strict, 0, 0)[0]).is_nan());
    let legacy = run_text(
        &format!("VERT\nPROPERTY MUL_ZERO_WINS 1\n{body}"),
        &lines,
        &options(),
    );
    let first: Vec<u32> = (0..3).map(|c| lanes(&legacy, 0, c)[0]).collect();
    assert_eq!(first, [0, 0x3f80_0000, 0]);
}

#[test]
fn inputs_are_read_and_repeat() {
    let set = inputs(&[
        "IN[0].lane1 1 2 3 4",
        "IN[2][5] 0xff 0 0 0",
        "CONST[1][3] 1 1 1 1",
    ]);
    assert_eq!(set.get(File::In, None, 0).unwrap()[1], [1, 2, 3, 4]);
    assert_eq!(set.get(File::In, Some(2), 5).unwrap()[3][0], 255);
    assert_eq!(set.get(File::Const, Some(1), 3).unwrap()[0], [1; 4]);
    for bad in [
        "IN[0] 1 2 3",
        "IN[x] 1 2 3 4",
        "FOO[0] 1 2 3 4",
        "IN[0].lane7 1 2 3 4",
        "",
    ] {
        assert!(Inputs::default().parse_line(bad).is_err(), "{bad}");
    }
    let program = parse(
        "VERT\nDCL IN[0..3]\nDCL CONST[0..7]\nDCL OUT[0], POSITION\nMOV OUT[0], IN[0]\nEND\n",
    );
    for style in [
        CaseStyle::Ordinary,
        CaseStyle::SmallInts,
        CaseStyle::Special,
    ] {
        let get = |seed| {
            *Inputs::random(&program, seed, style)
                .get(File::In, None, 2)
                .unwrap()
        };
        assert_eq!(get(5), get(5));
        assert_ne!(get(5), get(6));
    }
}

#[test]
fn memory_of_a_run_is_named() {
    let out = run_text(
        "VERT\nDCL OUT[0], POSITION\nDCL BUFFER[0]\nDCL IMAGE[2], 2D, WR\nEND\n",
        &[],
        &options(),
    );
    let names: Vec<(RegionKind, i32)> = out
        .memory
        .iter()
        .map(|r: &Region| (r.kind, r.index))
        .collect();
    assert_eq!(names, [(RegionKind::Buffer, 0), (RegionKind::Image, 2)]);
}
