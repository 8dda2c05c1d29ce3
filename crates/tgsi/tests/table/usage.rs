//! Which channels are read and written.

use tgsi::opcode::OPCODES;
use tgsi::usage::{coord_count, coord_mask, dst_mask, src_mask, wide_half};
use tgsi::{Eval, File, Inst, Register, TexTarget, eval};

use crate::{inst, src};

const X: u8 = 1;
const Y: u8 = 2;
const Z: u8 = 4;
const W: u8 = 8;
const XY: u8 = 3;
const ZW: u8 = 12;
const XYZ: u8 = 7;
const ALL: u8 = 15;

/// The reads of all sources when `wanted` of a full write mask is wanted.
fn reads(name: &str, wanted: u8) -> Vec<u8> {
    let inst = inst(name, ALL);
    (0..inst.srcs.len())
        .map(|s| src_mask(&inst, s, wanted))
        .collect()
}

#[track_caller]
fn check(name: &str, wanted: u8, want: &[u8]) {
    assert_eq!(reads(name, wanted), want, "{name} {wanted:04b}");
}

#[test]
fn formulas() {
    check("ADD", Y | W, &[Y | W, Y | W]);
    check("RCP", W, &[X]);
    check("DP2", W, &[XY, XY]);
    check("DP3", W, &[XYZ, XYZ]);
    check("DPH", Y, &[XYZ, ALL]);
    check("DP2A", Y, &[XY, XY, X]);
    check("LIT", X | W, &[0]);
    check("LIT", Y, &[X]);
    check("LIT", Z, &[X | Y | W]);
    check("EXP", W, &[0]);
    check("LOG", Z, &[X]);
    check("DST", X, &[0, 0]);
    check("DST", ALL, &[Y | Z, Y | W]);
    check("XPD", X, &[Y | Z, Y | Z]);
    check("XPD", W, &[0, 0]);
    check("SCS", ZW, &[0]);
    check("SCS", Y, &[X]);
    check("NRM", X, &[XYZ]);
    check("NRM", W, &[0]);
    check("NRM4", X, &[ALL]);
    check("X2D", X, &[X, XY, XY]);
    check("X2D", W, &[Y, XY, ZW]);
    check("RFL", X, &[XYZ, XYZ]);
    check("PK2H", W, &[XY]);
    check("PK4B", W, &[ALL]);
    check("UP2H", W, &[X]);
    check("SFL", ALL, &[0, 0]);
    check("SHR", Y, &[Y, X]);
    check("SHL", Y, &[Y, Y]);
    check("READ_INVOC", Y, &[Y, X]);
    check("INTERP_OFFSET", Y, &[Y, XY]);
    check("INTERP_SAMPLE", Y, &[Y, X]);
    check("BALLOT", Y, &[X]);
    for name in [
        "IF", "UIF", "SWITCH", "CASE", "BREAKC", "EMIT", "ENDPRIM", "MEMBAR", "CALLNZ",
    ] {
        check(name, 0, &[X]);
    }
    check("KILL_IF", 0, &[ALL]);
    check("BGNFOR", 0, &[XYZ]);
    for row in OPCODES
        .iter()
        .filter(|r| r.dsts == 1 && matches!(r.effect, tgsi::Effect::Pure))
    {
        let none = inst(row.name, ALL);
        assert!(
            (0..none.srcs.len()).all(|s| src_mask(&none, s, 0) == 0),
            "{}",
            row.name
        );
    }
}

#[test]
fn pairs_read() {
    check("DADD", X, &[XY, XY]);
    check("DADD", W, &[ZW, ZW]);
    check("DMAD", ALL, &[ALL, ALL, ALL]);
    check("DSEQ", X, &[XY, XY]);
    check("DSEQ", Z, &[ZW, ZW]);
    check("DSEQ", Y, &[0, 0]);
    check("F2D", XY, &[X]);
    check("I2D", ZW, &[Y]);
    check("U2I64", ALL, &[XY]);
    check("DLDEXP", XY, &[XY, X]);
    check("U64SHL", ZW, &[ZW, Z]);
    check("D2F", X, &[XY]);
    check("D2F", Y, &[ZW]);
    let narrow = inst("D2I", Y | W);
    assert_eq!((src_mask(&narrow, 0, Y), src_mask(&narrow, 0, W)), (XY, ZW));
    assert_eq!(
        (
            wide_half(&narrow, 1),
            wide_half(&narrow, 3),
            wide_half(&narrow, 0)
        ),
        (Some(0), Some(1), None)
    );
}

#[test]
fn pairs_written() {
    let rows = [
        ("ADD", Y | W, Y | W),
        ("DADD", Y, XY),
        ("DADD", X | Z, ALL),
        ("DLDEXP", Z, ZW),
        ("DABS", Y, 0),
        ("DABS", XYZ, XY),
        ("DMAD", X | ZW, ZW),
        ("F2D", X, 0),
        ("I2I64", ZW | Y, ZW),
        ("DSLT", ALL, X | Z),
        ("DSLT", Y | ZW, Y | Z),
        ("U64SEQ", XY | W, X | W),
        ("D2F", ALL, XY),
        ("D2U", Y | ZW, Y | Z),
        ("I642F", Z, Z),
    ];
    for (name, mask, want) in rows {
        assert_eq!(dst_mask(&inst(name, mask)), want, "{name} {mask:04b}");
    }
    assert_eq!(dst_mask(&inst("KILL_IF", ALL)), 0);
}

/// `name OUT[0].x, IN.., resource` with a target.
fn texture(name: &str, target: TexTarget, resources: &[(usize, File)]) -> Inst {
    let mut inst = Inst {
        target: Some(target),
        ..inst(name, X)
    };
    for (slot, file) in resources {
        inst.srcs[*slot] = src(*file, 0);
    }
    inst
}

#[test]
fn textures() {
    use TexTarget::*;
    let coords = [
        (Buffer, 1, X),
        (D1, 1, X),
        (D2, 2, XY),
        (Rect, 2, XY),
        (D3, 3, XYZ),
        (Cube, 3, XYZ),
        (D1Array, 2, XY),
        (D2Array, 3, XYZ),
        (Shadow1D, 1, X | Z),
        (Shadow2D, 2, XYZ),
        (ShadowRect, 2, XYZ),
        (Shadow1DArray, 2, XYZ),
        (ShadowCube, 3, ALL),
        (Shadow2DArray, 3, ALL),
        (CubeArray, 4, ALL),
        (ShadowCubeArray, 4, ALL),
        (D2Msaa, 2, XY),
        (D2ArrayMsaa, 3, XYZ),
        (Unknown, 4, ALL),
    ];
    for (target, count, mask) in coords {
        assert_eq!(
            (coord_count(target), coord_mask(target)),
            (count, mask),
            "{target:?}"
        );
        let tex = texture("TEX", target, &[(1, File::Samp)]);
        assert_eq!(
            (src_mask(&tex, 0, X), src_mask(&tex, 1, X)),
            (mask, 0),
            "{target:?}"
        );
        for name in ["TXP", "TXB", "TXL"] {
            assert_eq!(
                src_mask(&texture(name, target, &[(1, File::Samp)]), 0, X),
                mask | W,
                "{name} {target:?}"
            );
        }
    }
    type Row = (
        &'static str,
        TexTarget,
        &'static [(usize, File)],
        &'static [u8],
    );
    let rows: &[Row] = &[
        ("TXF", D2, &[(1, File::Samp)], &[XY | W, 0]),
        ("TXF", Buffer, &[(1, File::Samp)], &[X, 0]),
        ("TXF", D2Msaa, &[(1, File::Samp)], &[XY | W, 0]),
        ("TXF_LZ", D2, &[(1, File::Samp)], &[XY, 0]),
        ("TXF_LZ", D2ArrayMsaa, &[(1, File::Samp)], &[ALL, 0]),
        ("TEX_LZ", D2, &[(1, File::Samp)], &[XY, 0]),
        ("TXD", D2Array, &[(3, File::Samp)], &[XYZ, XY, XY, 0]),
        ("TXD", Cube, &[(3, File::Samp)], &[XYZ, XYZ, XYZ, 0]),
        ("TXD", Shadow1D, &[(3, File::Samp)], &[X | Z, X, X, 0]),
        ("TEX2", ShadowCubeArray, &[(2, File::Samp)], &[ALL, X, 0]),
        ("TXL2", CubeArray, &[(2, File::Samp)], &[ALL, X, 0]),
        ("TG4", D2, &[(2, File::Samp)], &[XY, X, 0]),
        ("TXQ", D2, &[(1, File::Samp)], &[X, 0]),
        ("TXQS", D2Msaa, &[(0, File::Samp)], &[0]),
        ("LODQ", D2, &[(1, File::Samp)], &[XY, 0]),
        (
            "SAMPLE",
            D2,
            &[(1, File::Sview), (2, File::Samp)],
            &[XY, 0, 0],
        ),
        (
            "SAMPLE_D",
            D2,
            &[(1, File::Sview), (2, File::Samp)],
            &[XY, 0, 0, XY, XY],
        ),
        ("SAMPLE_I", D2, &[(1, File::Sview)], &[XY | W, 0]),
        ("SVIEWINFO", D2, &[(1, File::Sview)], &[X, 0]),
        ("SAMPLE_POS", D2, &[(0, File::Sview)], &[0, X]),
        // A handle in the place of the sampler or image.
        ("TEX", D2, &[(1, File::Temp)], &[XY, XY]),
        ("LOAD", D2, &[(0, File::Const)], &[XY, XY]),
        ("LOAD", D2, &[(0, File::Image)], &[0, XY]),
        ("LOAD", D2Msaa, &[(0, File::Image)], &[0, XY | W]),
        ("LOAD", CubeArray, &[(0, File::Image)], &[0, XYZ]),
        ("ATOMCAS", D1, &[(0, File::Image)], &[0, X, X, X]),
        ("RESQ", D2, &[(0, File::Image)], &[0]),
    ];
    for (name, target, resources, want) in rows {
        let inst = texture(name, *target, resources);
        let got: Vec<u8> = (0..inst.srcs.len())
            .map(|s| src_mask(&inst, s, X))
            .collect();
        assert_eq!(&got, want, "{name} {target:?}");
    }
}

#[test]
fn memory() {
    for file in [File::Buffer, File::Memory, File::HwAtomic, File::Const] {
        let mut load = inst("LOAD", ALL);
        load.srcs[0] = src(file, 0);
        assert_eq!(
            (src_mask(&load, 0, ALL), src_mask(&load, 1, ALL)),
            (0, X),
            "{file:?}"
        );
        assert_eq!(src_mask(&load, 1, 0), 0, "a dead load reads nothing");
    }
    let mut atom = inst("ATOMUADD", X);
    atom.srcs[0] = src(File::Buffer, 0);
    assert_eq!(
        src_mask(&atom, 2, 0),
        X,
        "a dead atomic result still stores"
    );
    let mut store = inst("STORE", Y | Z);
    store.dsts[0].reg = Register::direct(File::Buffer, 0);
    assert_eq!((src_mask(&store, 0, 0), src_mask(&store, 1, 0)), (X, Y | Z));
    store.dsts[0].reg = Register::direct(File::Image, 0);
    store.target = Some(TexTarget::D2);
    assert_eq!((src_mask(&store, 0, 0), src_mask(&store, 1, 0)), (XY, ALL));
    let mut fetch = inst("FBFETCH", ALL);
    fetch.srcs[0] = src(File::Out, 0);
    assert_eq!(src_mask(&fetch, 0, ALL), 0);
    assert_eq!(src_mask(&fetch, 9, ALL), 0, "no such source");
}

fn random(seed: &mut u64) -> u32 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let word = (*seed >> 32) as u32;
    match word & 7 {
        0 => word >> 3 & 1,
        3 => word >> 27,
        1 => (word >> 16) as i16 as i32 as u32,
        2 => word,
        _ => ((word >> 8) as f32 / 65536.0 - 128.0).to_bits(),
    }
}

/// Evaluation depends on the channels that are said to be read, and on no other.
#[test]
fn evaluation_agrees() {
    let mut seed = 1;
    for row in OPCODES.iter().filter(|r| !matches!(r.eval, Eval::None)) {
        for mask in 1..=ALL {
            let inst = inst(row.name, mask);
            let mut depends = vec![[0u8; 4]; inst.srcs.len()];
            for round in 0..300 {
                let mut srcs: Vec<[u32; 4]> = inst
                    .srcs
                    .iter()
                    .map(|_| [(); 4].map(|()| random(&mut seed)))
                    .collect();
                if round % 2 == 1 {
                    // Equal operands, for the comparisons.
                    let first = srcs[0];
                    srcs.fill(first);
                }
                let base = eval::fold(&inst, &srcs).expect("folded");
                for (s, c) in (0..srcs.len()).flat_map(|s| (0..4).map(move |c| (s, c))) {
                    let mut other = srcs.clone();
                    other[s][c] = random(&mut seed);
                    let changed = eval::fold(&inst, &other).expect("folded");
                    let differs = (0..4)
                        .filter(|i| base[*i] != changed[*i])
                        .fold(0, |all, i| all | 1 << i);
                    depends[s][c] |= differs;
                }
            }
            for (s, channels) in depends.iter().enumerate() {
                let written = dst_mask(&inst);
                // The words of a 64-bit result are wanted together.
                let units: &[u8] = if row.dst_ty.is_wide() {
                    &[XY, ZW]
                } else {
                    &[X, Y, Z, W]
                };
                for wanted in units.iter().copied().filter(|unit| written & unit != 0) {
                    let seen = (0..4)
                        .filter(|c| channels[*c] & wanted != 0)
                        .fold(0, |all, c| all | 1 << c);
                    // One word of a 64-bit operand may decide nothing by itself.
                    let wide = row.src_ty[s].is_wide();
                    let seen = [XY, ZW].map(|p| if wide && seen & p != 0 { p } else { seen & p });
                    let seen = seen[0] | seen[1];
                    assert_eq!(
                        src_mask(&inst, s, wanted),
                        seen,
                        "{} mask {mask:04b} source {s} wanted {wanted:04b}",
                        row.name
                    );
                }
            }
        }
    }
}
