//! The built-in textures: what matters to them, and what must not.

mod common;

use common::{lanes, parse};
use tgsi::File;
use tgsi_interp::{Inputs, Outcome, RunOptions, run};

/// Runs `inst` on the operands IN[0..2], whose words are given; the first lane's result.
fn go(inst: &str, operands: &[[f32; 4]]) -> [u32; 4] {
    let text = format!(
        "VERT\nDCL IN[0..3]\nDCL OUT[0], POSITION\nDCL SAMP[0..1]\nDCL SVIEW[0..1], 2D, FLOAT\n\
         IMM[0] INT32 {{1, -1, 2, 0}}\n{inst}\nEND\n"
    );
    let mut inputs = Inputs::default();
    for (i, words) in operands.iter().enumerate() {
        inputs.set(File::In, None, i as i32, words.map(f32::to_bits));
    }
    first(&run(&parse(&text), &inputs, &RunOptions::default()))
}

fn first(out: &Outcome) -> [u32; 4] {
    std::array::from_fn(|c| lanes(out, 0, c)[0])
}

const BASE: [f32; 4] = [0.3, 0.6, 0.2, 1.5];

fn nudged(i: usize) -> [f32; 4] {
    let mut v = BASE;
    v[i] += 0.05;
    v
}

/// The channels of the coordinate operand that change the result.
fn used(inst: &str) -> String {
    let base = go(inst, &[BASE, BASE, BASE]);
    (0..4)
        .filter(|i| go(inst, &[nudged(*i), BASE, BASE]) != base)
        .map(|i| ['x', 'y', 'z', 'w'][i])
        .collect()
}

#[test]
fn targets_use_their_coordinates_and_no_others() {
    for (target, wanted) in [
        ("1D", "x"),
        ("2D", "xy"),
        ("RECT", "xy"),
        ("3D", "xyz"),
        ("CUBE", "xyz"),
        ("1D_ARRAY", "xy"),
        ("2D_ARRAY", "xyz"),
        ("SHADOW1D", "xz"),
        ("SHADOW2D", "xyz"),
        ("SHADOWRECT", "xyz"),
        ("SHADOW1D_ARRAY", "xyz"),
        ("SHADOW2D_ARRAY", "xyzw"),
        ("SHADOWCUBE", "xyzw"),
        ("CUBEARRAY", "xyzw"),
    ] {
        assert_eq!(
            used(&format!("TEX OUT[0], IN[0], SAMP[0], {target}")),
            wanted,
            "{target}"
        );
    }
    assert_eq!(used("TXP OUT[0], IN[0], SAMP[0], 2D"), "xyw");
    assert_eq!(used("TXB OUT[0], IN[0], SAMP[0], 2D"), "xyw");
    assert_eq!(used("TXL OUT[0], IN[0], SAMP[0], 2D"), "xyw");
    assert_eq!(used("TG4 OUT[0], IN[0], IMM[0].xxxx, SAMP[0], 2D"), "xy");
    assert_eq!(
        used("TEX2 OUT[0], IN[0], IN[1], SAMP[0], SHADOWCUBEARRAY"),
        "xyzw"
    );
}

#[test]
fn every_other_operand_matters() {
    let differ = |a: &str, b: &str| {
        assert_ne!(
            go(a, &[BASE, BASE, nudged(1)]),
            go(b, &[BASE, BASE, nudged(1)]),
            "{a}"
        );
    };
    let tex = "TEX OUT[0], IN[0], SAMP[0], 2D";
    differ(tex, "TEX OUT[0], IN[0], SAMP[1], 2D");
    differ(tex, "TEX OUT[0], IN[0], SAMP[0], RECT");
    differ(tex, "TEX OUT[0], IN[0], SAMP[0], 2D, IMM[0].xyz");
    differ(tex, "TXL OUT[0], IN[0], SAMP[0], 2D");
    differ(
        "TXD OUT[0], IN[0], IN[1], IN[2], SAMP[0], 2D",
        "TXD OUT[0], IN[0], IN[2], IN[1], SAMP[0], 2D",
    );
    differ(
        "TG4 OUT[0], IN[0], IMM[0].xxxx, SAMP[0], 2D",
        "TG4 OUT[0], IN[0], IMM[0].zzzz, SAMP[0], 2D",
    );
    let reference = "TEX2 OUT[0], IN[0], IN[1], SAMP[0], SHADOWCUBEARRAY";
    assert_ne!(
        go(reference, &[BASE, BASE]),
        go(reference, &[BASE, nudged(0)])
    );
}

#[test]
fn equal_questions_have_equal_answers() {
    let mut level_zero = BASE;
    level_zero[3] = 0.0;
    let same = |a: &str, b: &str, v: [f32; 4]| assert_eq!(go(a, &[v]), go(b, &[v]), "{a} / {b}");
    same(
        "TEX_LZ OUT[0], IN[0], SAMP[0], 2D",
        "TXL OUT[0], IN[0], SAMP[0], 2D",
        level_zero,
    );
    same(
        "TEX OUT[0], IN[0], SAMP[0], 2D",
        "TXB OUT[0], IN[0], SAMP[0], 2D",
        level_zero,
    );
    let ints = [2u32, 3, 0, 0].map(f32::from_bits);
    let moved = [3u32, 2, 0, 0].map(f32::from_bits);
    let fetch = "TXF OUT[0], IN[0], SAMP[0], 2D";
    assert_eq!(
        go("TXF OUT[0], IN[0], SAMP[0], 2D, IMM[0].xyz", &[ints]),
        go(fetch, &[moved])
    );
    assert_eq!(
        go("TXF_LZ OUT[0], IN[0], SAMP[0], 2D", &[ints]),
        go(fetch, &[ints])
    );
}

#[test]
fn the_texture_is_smooth_and_finite() {
    let tex = "TEX OUT[0], IN[0], SAMP[0], 2D";
    let at = |x: f32| go(tex, &[[x, 0.25, 0.0, 0.0]]).map(f32::from_bits);
    for step in 0..400 {
        let x = step as f32 * 0.1 - 20.0;
        let (a, b) = (at(x), at(x + 0.001));
        for c in 0..4 {
            assert!((a[c] - b[c]).abs() < 0.002, "slope at {x}");
            assert!((0.0..=1.0).contains(&a[c]));
        }
    }
    for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        assert!(at(x).iter().all(|v| v.is_finite()));
    }
    let distinct = at(0.3);
    assert!((0..4).all(|i| (0..i).all(|j| distinct[i] != distinct[j])));
}
