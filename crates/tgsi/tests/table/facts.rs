//! Measured facts, one a row.

use tgsi::{Src, Ty, eval};

use crate::{fold, src};

const NAN: u32 = f32::NAN.to_bits();
const INF: u32 = f32::INFINITY.to_bits();
const NINF: u32 = f32::NEG_INFINITY.to_bits();
const NZERO: u32 = 0x8000_0000;
const TINY: u32 = 1;
const MIN: u32 = 0x8000_0000;
const ONES: u32 = u32::MAX;

const fn f(x: f32) -> u32 {
    x.to_bits()
}

/// Checks the x channel of an opcode whose sources hold the same word in every channel.
#[track_caller]
fn check(name: &str, args: &[u32], want: u32) {
    let srcs: Vec<[u32; 4]> = args.iter().map(|w| [*w; 4]).collect();
    let got = fold(name, 1, &srcs)[0].expect("x is written");
    let nan = |w| f32::from_bits(w).is_nan();
    let float = super::opcode(name).info().dst_ty == Ty::F;
    assert!(
        got == want || float && nan(got) && nan(want),
        "{name} {args:x?} gives {got:#x}, not {want:#x}"
    );
}

/// Checks the xy pair of a 64-bit opcode; a narrow operand is in the first channel of a pair.
#[track_caller]
fn check_wide(name: &str, args: &[u64], want: u64) {
    let srcs: Vec<[u32; 4]> = args
        .iter()
        .map(|w| [*w as u32, (*w >> 32) as u32, 0, 0])
        .collect();
    let got = fold(name, 3, &srcs);
    let wide = super::opcode(name).info().dst_ty.is_wide();
    let got = eval::join(
        got[0].unwrap_or(0),
        if wide { got[1].unwrap_or(0) } else { 0 },
    );
    let nan = |w| f64::from_bits(w).is_nan();
    assert!(
        got == want || wide && nan(got) && nan(want),
        "{name} {args:x?} gives {got:#x}, not {want:#x}"
    );
}

#[test]
fn float_facts() {
    let rows: &[(&str, &[u32], u32)] = &[
        ("MUL", &[0, INF], NAN),
        ("RCP", &[0], INF),
        ("RCP", &[NZERO], NINF),
        ("RSQ", &[f(-4.0)], NAN),
        ("RSQ", &[NZERO], NINF),
        ("RSQ", &[f(4.0)], f(0.5)),
        ("RSQ", &[f(3.0)], 0x3f13_cd3a),
        ("SQRT", &[NZERO], NZERO),
        ("SQRT", &[f(-1.0)], NAN),
        // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24: lost by a rounded product.
        ("MAD", &[f(1.000_244_1), f(1.000_244_1), f(-1.000_488_3)], 0),
        (
            "FMA",
            &[f(1.000_244_1), f(1.000_244_1), f(-1.000_488_3)],
            0x3380_0000,
        ),
        ("MIN", &[NAN, f(1.0)], f(1.0)),
        ("MIN", &[f(1.0), NAN], f(1.0)),
        ("MIN", &[NAN, NAN], NAN),
        ("MIN", &[0, NZERO], 0),
        ("MIN", &[NZERO, 0], NZERO),
        ("MAX", &[NAN, f(-1.0)], f(-1.0)),
        ("MAX", &[f(-1.0), NAN], f(-1.0)),
        ("MAX", &[0, NZERO], 0),
        ("MAX", &[NZERO, 0], NZERO),
        ("CMP", &[f(-1.0), 5, 6], 5),
        ("CMP", &[NZERO, 5, 6], 6),
        ("CMP", &[NAN, 5, 6], 6),
        ("CMP", &[0x8000_0001, 5, 6], 5),
        ("SSG", &[NAN], 0),
        ("SSG", &[NZERO], 0),
        ("SSG", &[f(-3.0)], f(-1.0)),
        ("SSG", &[TINY], f(1.0)),
        ("FRC", &[f(-1e-10)], f(1.0)),
        ("FRC", &[f(-1.25)], f(0.75)),
        ("ROUND", &[f(0.5)], 0),
        ("ROUND", &[f(2.5)], f(2.0)),
        ("ROUND", &[f(-1.5)], f(-2.0)),
        ("ROUND", &[f(-0.25)], NZERO),
        ("TRUNC", &[f(-1.75)], f(-1.0)),
        ("FLR", &[f(-1.25)], f(-2.0)),
        ("CEIL", &[f(1.25)], f(2.0)),
        ("ARL", &[f(-0.5)], ONES),
        ("ARR", &[f(-0.5)], 0),
        ("ARR", &[f(1.5)], 2),
        ("ARR", &[f(2.5)], 3),
        ("UARL", &[f(1.0)], f(1.0)),
        ("LRP", &[f(0.25), f(8.0), f(4.0)], f(5.0)),
        ("LRP", &[f(1.0), f(1e-9), f(1e9)], 0),
        ("LDEXP", &[f(1.5), 4], f(24.0)),
        ("LDEXP", &[f(1.0), -149i32 as u32], TINY),
        ("LDEXP", &[f(1.0), -150i32 as u32], 0),
        ("LDEXP", &[f(1.5), -150i32 as u32], TINY),
        ("LDEXP", &[TINY, 400], INF),
        ("LDEXP", &[TINY, 149], f(1.0)),
        ("LDEXP", &[NZERO, MIN], NZERO),
        ("MUL", &[TINY, f(2.0)], 2),
        ("ADD", &[NZERO, 0], 0),
        ("SUB", &[f(1.0), f(3.0)], f(-2.0)),
        ("ABS", &[f(-3.0)], f(3.0)),
        ("DIV", &[f(1.0), NZERO], NINF),
        ("DIV", &[0, 0], NAN),
        ("SLT", &[NAN, f(1.0)], 0),
        ("SGE", &[NAN, f(1.0)], 0),
        ("SNE", &[NAN, NAN], f(1.0)),
        ("SEQ", &[NZERO, 0], f(1.0)),
        ("SGT", &[f(2.0), f(1.0)], f(1.0)),
        ("SLE", &[f(2.0), f(1.0)], 0),
        ("FSLT", &[f(1.0), f(2.0)], ONES),
        ("FSGE", &[NAN, f(2.0)], 0),
        ("FSEQ", &[NZERO, 0], ONES),
        ("FSNE", &[NAN, NAN], ONES),
        ("SFL", &[f(7.0), NAN], 0),
        ("STR", &[f(7.0), NAN], f(1.0)),
        ("CND", &[5, 6, f(0.5)], 6),
        ("CND", &[5, 6, f(0.75)], 5),
        ("CND", &[5, 6, NAN], 6),
        ("CND0", &[5, 6, NZERO], 5),
        ("CLAMP", &[f(3.0), f(0.0), f(2.0)], f(2.0)),
        ("CLAMP", &[f(-3.0), f(0.0), f(2.0)], f(0.0)),
        ("CLAMP", &[NAN, f(0.0), f(2.0)], NAN),
        ("RCC", &[0], f(1.884467e19)),
        ("RCC", &[NZERO], f(-1.884467e19)),
        ("RCC", &[INF], f(-5.42101e-20)),
        ("RCC", &[f(1e30)], f(5.42101e-20)),
        ("RCC", &[f(-1e30)], f(-5.42101e-20)),
        ("RCC", &[f(-4.0)], f(-0.25)),
    ];
    for (name, args, want) in rows {
        check(name, args, *want);
    }
}

#[test]
fn integer_facts() {
    let rows: &[(&str, &[u32], u32)] = &[
        ("IDIV", &[7, 0], 0),
        ("IDIV", &[-7i32 as u32, 2], -3i32 as u32),
        ("IDIV", &[MIN, ONES], MIN),
        ("MOD", &[7, 0], ONES),
        ("MOD", &[MIN, ONES], 0),
        ("MOD", &[-7i32 as u32, 4], -3i32 as u32),
        ("UDIV", &[7, 0], ONES),
        ("UMOD", &[7, 0], ONES),
        ("UDIV", &[ONES, 2], 0x7fff_ffff),
        ("SHL", &[1, 33], 2),
        ("USHR", &[MIN, 63], 1),
        ("ISHR", &[MIN, 31], ONES),
        ("ISHR", &[MIN, 32], MIN),
        ("F2I", &[NAN], MIN),
        ("F2I", &[INF], MIN),
        ("F2I", &[f(2147483648.0)], MIN),
        ("F2I", &[f(-1.9)], ONES),
        ("F2U", &[f(-2.0)], 0xffff_fffe),
        ("F2U", &[INF], 0),
        ("F2U", &[NAN], MIN),
        ("F2U", &[f(3e9)], 3_000_000_000),
        ("I2F", &[ONES], f(-1.0)),
        ("I2F", &[0x0100_0001], f(16777216.0)),
        ("U2F", &[ONES], f(4294967296.0)),
        ("UCMP", &[NZERO, 5, 6], 5),
        ("UCMP", &[0, 5, 6], 6),
        ("ISLT", &[ONES, 0], ONES),
        ("USLT", &[ONES, 0], 0),
        ("ISGE", &[0, MIN], ONES),
        ("USGE", &[0, MIN], 0),
        ("USEQ", &[NAN, NAN], ONES),
        ("USNE", &[0, NZERO], ONES),
        ("IMIN", &[ONES, 1], ONES),
        ("UMIN", &[ONES, 1], 1),
        ("IMAX", &[ONES, 1], 1),
        ("UMAX", &[ONES, 1], ONES),
        ("IABS", &[MIN], MIN),
        ("INEG", &[MIN], MIN),
        ("INEG", &[1], ONES),
        ("ISSG", &[MIN], ONES),
        ("ISSG", &[5], 1),
        ("IMUL_HI", &[ONES, 5], ONES),
        ("UMUL_HI", &[ONES, 5], 4),
        ("UADD", &[ONES, 2], 1),
        ("UMUL", &[0x1_0000, 0x1_0001], 0x1_0000),
        ("UMAD", &[ONES, 2, 3], 1),
        ("SAD", &[3, 10, 5], 12),
        ("SAD", &[0, ONES, 2], 1),
        ("UBFE", &[0xabcd_ef12, 8, 8], 0xef),
        ("IBFE", &[0xabcd_ef12, 8, 8], 0xffff_ffef),
        ("UBFE", &[ONES, 4, 0], 0),
        ("IBFE", &[MIN, 31, 1], ONES),
        ("BFI", &[0xffff_ffff, 0, 8, 8], 0xffff_00ff),
        ("BFI", &[0, 0xfff, 4, 4], 0xf0),
        ("BFI", &[7, ONES, 0, 0], 7),
        ("BREV", &[1], MIN),
        ("POPC", &[0xf0f0], 8),
        ("LSB", &[0], ONES),
        ("LSB", &[12], 2),
        ("UMSB", &[0], ONES),
        ("UMSB", &[12], 3),
        ("IMSB", &[0], ONES),
        ("IMSB", &[ONES], ONES),
        ("IMSB", &[0xffff_fff3], 3),
        ("NOT", &[0], ONES),
        ("AND", &[12, 10], 8),
        ("OR", &[12, 10], 14),
        ("XOR", &[12, 10], 6),
    ];
    for (name, args, want) in rows {
        check(name, args, *want);
    }
}

#[test]
fn wide_facts() {
    const D_NAN: u64 = f64::NAN.to_bits();
    const D_NZERO: u64 = 1 << 63;
    const LOWEST: u64 = 1 << 63;
    const D_INF: u64 = f64::INFINITY.to_bits();
    let d = f64::to_bits;
    let rows: &[(&str, &[u64], u64)] = &[
        ("DABS", &[D_NZERO], D_NZERO),
        ("DABS", &[d(-2.0)], d(2.0)),
        ("DNEG", &[0], D_NZERO),
        ("DADD", &[d(1.5), d(0.25)], d(1.75)),
        ("DMUL", &[0, D_INF], D_NAN),
        ("DMAD", &[d(2.0), d(3.0), d(4.0)], d(10.0)),
        ("DDIV", &[d(1.0), 0], D_INF),
        ("DMIN", &[d(1.0), D_NAN], d(1.0)),
        ("DMAX", &[D_NAN, d(1.0)], d(1.0)),
        ("DSLT", &[d(1.0), d(2.0)], 0xffff_ffff),
        ("DSGE", &[D_NAN, d(2.0)], 0),
        ("DSEQ", &[D_NZERO, 0], 0xffff_ffff),
        ("DSNE", &[D_NAN, D_NAN], 0xffff_ffff),
        ("DRCP", &[D_NZERO], d(f64::NEG_INFINITY)),
        ("DRSQ", &[d(4.0)], d(0.5)),
        ("DFRAC", &[d(-1.25)], d(0.75)),
        ("DROUND", &[d(2.5)], d(2.0)),
        ("DTRUNC", &[d(-2.5)], d(-2.0)),
        ("DCEIL", &[d(2.25)], d(3.0)),
        ("DFLR", &[d(-2.25)], d(-3.0)),
        ("DSSG", &[d(-9.0)], d(-1.0)),
        ("DSSG", &[D_NAN], 0),
        ("DLDEXP", &[d(3.0), 2], d(12.0)),
        ("DLDEXP", &[d(1.0), 0xffff_fbce], 1),
        ("DLDEXP", &[d(1.5), 0xffff_fbcd], 1),
        ("DLDEXP", &[d(1.0), 0xffff_fbcd], 0),
        ("DLDEXP", &[1, 2000], 0x79d0_0000_0000_0000),
        ("DLDEXP", &[1, 0x7fff_ffff], D_INF),
        ("F2D", &[0x3fc0_0000], d(1.5)),
        ("I2D", &[0xffff_ffff], d(-1.0)),
        ("U2D", &[0xffff_ffff], d(4294967295.0)),
        ("D2F", &[d(1.5)], 0x3fc0_0000),
        ("D2I", &[d(-2147483648.5)], 0x8000_0000),
        ("D2I", &[d(-7.9)], 0xffff_fff9),
        ("D2I", &[D_NAN], 0x8000_0000),
        ("D2U", &[d(4294967295.5)], 0xffff_ffff),
        ("D2U", &[D_NAN], 0x8000_0000),
        ("D2I64", &[d(-7.9)], -7i64 as u64),
        ("D2I64", &[D_INF], LOWEST),
        ("D2U64", &[d(1.5e19)], 15_000_000_000_000_000_000),
        ("F2I64", &[0xff80_0000], LOWEST),
        ("F2U64", &[0x5f00_0000], LOWEST),
        ("I2I64", &[0xffff_ffff], u64::MAX),
        ("U2I64", &[0xffff_ffff], 0xffff_ffff),
        ("I642F", &[u64::MAX], 0xbf80_0000),
        ("U642F", &[u64::MAX], 0x5f80_0000),
        ("I642D", &[u64::MAX], d(-1.0)),
        ("U642D", &[LOWEST], d(9223372036854775808.0)),
        ("U64SHL", &[1, 65], 2),
        ("I64SHR", &[LOWEST, 63], u64::MAX),
        ("U64SHR", &[LOWEST, 127], 1),
        ("I64DIV", &[LOWEST, u64::MAX], LOWEST),
        ("I64MOD", &[LOWEST, u64::MAX], 0),
        ("U64DIV", &[7, 0], u64::MAX),
        ("U64MOD", &[7, 0], u64::MAX),
        ("I64ABS", &[LOWEST], LOWEST),
        ("I64NEG", &[1], u64::MAX),
        ("I64SSG", &[LOWEST], u64::MAX),
        ("U64ADD", &[u64::MAX, 2], 1),
        ("U64MUL", &[u64::MAX, 2], u64::MAX - 1),
        ("I64SLT", &[LOWEST, 0], 0xffff_ffff),
        ("U64SLT", &[LOWEST, 0], 0),
        ("I64MIN", &[LOWEST, 0], LOWEST),
        ("U64MAX", &[LOWEST, 0], LOWEST),
    ];
    for (name, args, want) in rows {
        check_wide(name, args, *want);
    }
}

#[test]
fn vector_facts() {
    let v = |x: [f32; 4]| x.map(f32::to_bits);
    let (a, b, c) = (
        v([1.0, 2.0, 3.0, 4.0]),
        v([5.0, 6.0, 7.0, 8.0]),
        v([0.5, 0.25, 2.0, 4.0]),
    );
    type Row<'a> = (&'a str, &'a [[u32; 4]], [f32; 4]);
    let rows: &[Row] = &[
        ("DP2", &[a, b], [17.0; 4]),
        ("DP3", &[a, b], [38.0; 4]),
        ("DP4", &[a, b], [70.0; 4]),
        ("DPH", &[a, b], [46.0; 4]),
        ("DP2A", &[a, b, c], [17.5; 4]),
        ("DST", &[a, b], [1.0, 12.0, 3.0, 8.0]),
        ("XPD", &[a, b], [-4.0, 8.0, -4.0, 1.0]),
        ("X2D", &[a, b, c], [5.0, 36.0, 5.0, 36.0]),
        ("RFL", &[v([0.0, 2.0, 0.0, 9.0]), a], [-1.0, 2.0, -3.0, 1.0]),
        ("NRM", &[v([0.0, 0.0, -2.0, 9.0])], [0.0, 0.0, -1.0, 1.0]),
        ("NRM4", &[v([1.0, -1.0, 1.0, 1.0])], [0.5, -0.5, 0.5, 0.5]),
        ("RCP", &[v([4.0, 9.0, 9.0, 9.0])], [0.25; 4]),
        // 1e8 is lost from left to right, not from right to left.
        ("DP3", &[v([1.0, 1e8, -1e8, 0.0]), v([1.0; 4])], [0.0; 4]),
        ("UP4UB", &[[0xff00_0033, 0, 0, 0]], [0.2, 0.0, 0.0, 1.0]),
        ("UP4B", &[[0xff80_0180, 0, 0, 0]], [0.0, -1.0, 0.0, 1.0]),
        ("UP2US", &[[0xffff_0000, 0, 0, 0]], [0.0, 1.0, 0.0, 1.0]),
        (
            "UP2H",
            &[[0xbc00_0001, 0, 0, 0]],
            [5.960_464_5e-8, -1.0, 5.960_464_5e-8, -1.0],
        ),
    ];
    for (name, srcs, want) in rows {
        assert_eq!(fold(name, 15, srcs), v(*want).map(Some), "{name}");
    }
    let packed = |name, x| fold(name, 2, &[v(x)])[1];
    assert_eq!(packed("PK4UB", [0.0, 1.0, 2.0, 0.5]), Some(0x80ff_ff00));
    assert_eq!(packed("PK4B", [0.0, 1.0, -1.0, -9.0]), Some(0x0001_ff80));
    assert_eq!(packed("PK2US", [1.0, -1.0, 0.0, 0.0]), Some(0x0000_ffff));
    assert_eq!(packed("PK2H", [1.0, -2.0, 0.0, 0.0]), Some(0xc000_3c00));
    assert_eq!(
        packed("PK2H", [65519.0, 65520.0, 0.0, 0.0]),
        Some(0x7c00_7bff)
    );
    assert_eq!(
        packed("PK2H", [2f32.powi(-24), 2f32.powi(-25), 0.0, 0.0]),
        Some(1)
    );
    assert_eq!(fold("SHR", 15, &[[16; 4], [2, 9, 9, 9]]), [Some(4); 4]);
}

/// Every binary16 unpacks and packs to itself.
#[test]
fn halves_round_trip() {
    for half in 0..=0xffffu32 {
        let wide = fold("UP2H", 1, &[[half, 0, 0, 0]])[0].expect("x is written");
        let back = fold("PK2H", 1, &[[wide, 0, 0, 0]])[0];
        let quiet = if half & 0x7fff > 0x7c00 {
            half | 0x200
        } else {
            half
        };
        assert_eq!(back, Some(quiet), "{half:#x}");
    }
}

/// A fused product and sum against exact integer arithmetic: factors of 24 bits, a term far below.
#[test]
fn fused_rounds_once() {
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8 | 1
    };
    for _ in 0..20_000 {
        let (x, y, z) = (next() | 1 << 23, next() | 1 << 23, next());
        let exact = ((u128::from(x) * u128::from(y)) << 30) + u128::from(z);
        let got = fold(
            "FMA",
            1,
            &[
                [(x as f32).to_bits(); 4],
                [(y as f32).to_bits(); 4],
                [(z as f32 / 1073741824.0).to_bits(); 4],
            ],
        );
        // The cast rounds the exact integer once; scaling by 2^-30 is exact.
        assert_eq!(
            got[0],
            Some((exact as f32 / 1073741824.0).to_bits()),
            "{x} {y} {z}"
        );
    }
}

#[test]
fn saturate_and_modifiers() {
    for (word, want) in [
        (f(2.0), f(1.0)),
        (f(0.5), f(0.5)),
        (f(-1.0), 0),
        (NZERO, 0),
        (NAN, 0),
        (INF, f(1.0)),
        (7, 7),
        (ONES, 0),
    ] {
        assert_eq!(eval::apply_sat(word), want, "{word:#x}");
    }
    let d = f64::to_bits;
    for (word, want) in [
        (d(2.0), d(1.0)),
        (d(-1.0), 0),
        (d(-0.0), d(-0.0)),
        (d(f64::NAN), 0),
        (d(0.5), d(0.5)),
    ] {
        assert_eq!(eval::sat64(word), want, "{word:#x}");
    }
    assert_eq!((eval::neg_f(0), eval::abs_f(f(-2.0))), (NZERO, f(2.0)));
    let plain = src(tgsi::File::In, 0);
    let both = Src {
        neg: true,
        abs: true,
        ..plain
    };
    let neg = Src { neg: true, ..plain };
    assert_eq!(eval::modify(f(-2.0), &both, Ty::F), f(-2.0));
    assert_eq!(eval::modify(f(2.0), &neg, Ty::Any), f(-2.0));
    assert_eq!(eval::modify(5, &neg, Ty::U), -5i32 as u32);
    assert_eq!(eval::modify(5, &neg, Ty::D), 5);
    assert_eq!(eval::modify(9, &plain, Ty::F), 9);
}

/// `_SAT` clamps integer results as floats, and 64-bit results as doubles.
#[test]
fn saturate_in_instructions() {
    let saturated = |name, mask, srcs: &[[u32; 4]]| {
        let inst = tgsi::Inst {
            sat: true,
            ..super::inst(name, mask)
        };
        eval::fold(&inst, srcs)
    };
    assert_eq!(
        saturated("MOV", 1, &[[f(3.0); 4]]),
        Some([Some(f(1.0)), None, None, None])
    );
    assert_eq!(
        saturated("UADD", 1, &[[ONES; 4], [0; 4]]),
        Some([Some(0), None, None, None])
    );
    let two = [0, (2f64.to_bits() >> 32) as u32];
    let one = Some((1f64.to_bits() >> 32) as u32);
    assert_eq!(
        saturated("DADD", 3, &[[two[0], two[1], 0, 0], [0; 4]]),
        Some([Some(0), one, None, None])
    );
}
