//! What opcodes compute at the words where a slip would show.

use tgsi::Opcode::*;
use tgsi::eval::{abs_f, fold, neg_f};
use tgsi::{Eval, Opcode};

fn word(op: Opcode, args: &[u32]) -> u32 {
    match op.info().eval {
        Eval::Word(f) => f(args),
        _ => panic!("{op:?} is not on words"),
    }
}

fn wide(op: Opcode, args: &[u64]) -> u64 {
    match op.info().eval {
        Eval::Wide(f) => f(args),
        _ => panic!("{op:?} is not on 64 bits"),
    }
}

/// The first channel of a vector opcode, from the first two channels of its operand.
fn vector(op: Opcode, x: u32, y: u32) -> [u32; 4] {
    match op.info().eval {
        Eval::Vector(f) => f(&[[x, y, 0, 0]]),
        _ => panic!("{op:?} is not on vectors"),
    }
}

#[test]
fn signs_come_and_go() {
    for w in [0, 0x8000_0000, 0x3f80_0000, 0xbf80_0000, 0x7fc0_0001] {
        assert_eq!(neg_f(w), w ^ 0x8000_0000);
        assert_eq!(neg_f(neg_f(w)), w);
        assert_eq!(abs_f(neg_f(w)), abs_f(w));
    }
}

#[test]
fn what_goes_nowhere_is_not_folded() {
    let mut add = crate::inst("ADD", 0xf);
    assert!(fold(&add, &[[0; 4]; 2]).is_some());
    add.dsts.clear();
    assert_eq!(fold(&add, &[[0; 4]; 2]), None);
}

#[test]
fn zeros_keep_their_sign_in_clamps_and_extremes() {
    let (zero, minus) = (0, 0x8000_0000);
    let one = 1f32.to_bits();
    assert_eq!(word(Clamp, &[minus, neg_f(one), zero]), minus);
    assert_eq!(word(Clamp, &[zero, minus, one]), zero);
    assert_eq!(word(Clamp, &[minus, zero, one]), minus);
    let minus = 1u64 << 63;
    for op in [Dmin, Dmax] {
        assert_eq!(wide(op, &[0, minus]), 0);
        assert_eq!(wide(op, &[minus, 0]), minus);
    }
}

/// Sums that are close to the middle of two floats, where rounding twice goes wrong.
#[test]
fn fma_rounds_once() {
    let (above, below) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
    let mut ties = 0;
    for z in 0..8u32 {
        for sign in 0..8 {
            for k in 20..30 {
                let signed = |x: f32, bit: u32| if sign >> bit & 1 != 0 { -x } else { x };
                let x = signed(above, 0);
                for y in [below, above, 1.0, 1.0 + 2.0 * f32::EPSILON] {
                    let y = signed(y * (-k as f32).exp2(), 1);
                    let z = signed(f32::from_bits(0x3f80_0000 + z), 2);
                    let once = x.mul_add(y, z).to_bits();
                    let found = word(Fma, &[x, y, z].map(f32::to_bits));
                    assert_eq!(found, once, "{x:?} * {y:?} + {z:?}");
                    let twice = (f64::from(x) * f64::from(y) + f64::from(z)) as f32;
                    ties += u32::from(twice.to_bits() != once);
                }
            }
        }
    }
    assert!(ties > 10, "{ties}");
}

#[test]
fn what_does_not_fit_an_integer() {
    let d = |x: f64| wide(D2i, &[x.to_bits()]);
    assert_eq!(d(2147483647.9), 0x7fff_ffff);
    for x in [
        2147483648.0,
        2147483648.5,
        2147483649.0,
        -2147483649.0,
        f64::NAN,
    ] {
        assert_eq!(d(x), 0x8000_0000, "{x}");
    }
    assert_eq!(d(-2147483648.9), 0x8000_0000);
    assert_eq!(wide(D2u, &[2147483648f64.to_bits()]), 0x8000_0000);
    assert_eq!(word(F2u, &[2147483648f32.to_bits()]), 0x8000_0000);
    assert_eq!(word(F2u, &[4294967040f32.to_bits()]), 0xffff_ff00);
}

#[test]
fn powers_of_two_are_exact() {
    let d = |x: f64, e: i32| f64::from_bits(wide(Dldexp, &[x.to_bits(), e as u32 as u64]));
    let two = |e: i32| 2f64.powi(e);
    assert_eq!(d(two(-10), 1023), two(1013));
    assert_eq!(d(two(-10), 1024), two(1014));
    assert_eq!(d(two(-1000), 1023 + 900), two(923));
    assert_eq!(d(two(900), -1022), two(-122));
    assert_eq!(d(two(900), -1023), two(-123));
    assert_eq!(d(two(1000), -1974), two(-974));
    assert_eq!(d(1.5, -1074), f64::from_bits(2));
    assert_eq!(d(1.0 + f64::EPSILON, -1075), f64::from_bits(1));
    assert_eq!(d(1.0, -1075), 0.0);
    assert_eq!(d(1.0, 3000), f64::INFINITY);
    assert_eq!(d(f64::from_bits(1), 2097), two(1023));
    assert_eq!(d(f64::from_bits(1), 2098), f64::INFINITY);
}

#[test]
fn bit_fields() {
    let bfi = |base, insert, offset, width| word(Bfi, &[base, insert, offset, width]);
    assert_eq!(bfi(0, 0x5, 3, 3), 0x28);
    assert_eq!(bfi(u32::MAX, 0, 5, 7), !(0x7f << 5));
    assert_eq!(bfi(0x1234_5678, 0xab, 9, 8), 0x1235_5678);
    assert_eq!(bfi(7, 1, 0, 0), 7);
    assert_eq!(bfi(0, 1, 33, 1), 2);
    assert_eq!(bfi(0, 3, 31, 2), 0x8000_0000);
    assert_eq!(word(Ibfe, &[u32::MAX, 4, 0]), 0);
    assert_eq!(word(Ibfe, &[0xf0, 5, 3]), u32::MAX);
    assert_eq!(word(Ubfe, &[0xf0, 5, 3]), 7);
    assert_eq!(word(Ubfe, &[0x8000_0000, 31, 9]), 1);
}

#[test]
fn halves_round_to_even() {
    let half = |w: u32| vector(Pk2h, w, 0)[0];
    for (w, wanted) in [
        (0x3f80_0000, 0x3c00),
        // Just below, at and just above the middle, with an even and an odd neighbour below.
        (0x3f80_0fff, 0x3c00),
        (0x3f80_1000, 0x3c00),
        (0x3f80_1001, 0x3c01),
        (0x3f80_2fff, 0x3c01),
        (0x3f80_3000, 0x3c02),
        (0x3f80_5000, 0x3c02),
        (0x3f80_7000, 0x3c04),
        // Denormal results.
        (0x3800_2000, 0x0200),
        (0x3800_2001, 0x0201),
        (0x3800_6000, 0x0202),
        (0x3300_0000, 0),
        (0x3300_0001, 1),
        (0x3380_0000, 1),
        (0x3880_0000, 0x0400),
        (0x387f_ffff, 0x0400),
        // The largest, and what rounds to infinity.
        (0x477f_efff, 0x7bff),
        (0x477f_f000, 0x7c00),
        (0x7f80_0000, 0x7c00),
        (0xff80_0000, 0xfc00),
    ] {
        assert_eq!(half(w), wanted, "{w:#x}");
    }
    assert!(half(0x7f80_0001) & 0x7fff > 0x7c00);
    for (half, wanted) in [
        (0x7c00, f32::INFINITY),
        (0xfc00, f32::NEG_INFINITY),
        (0x7bff, 65504.0),
        (0x0001, 2f32.powi(-24)),
        (0x03ff, 1023.0 * 2f32.powi(-24)),
        (0x0400, 2f32.powi(-14)),
    ] {
        assert_eq!(vector(Up2h, half, 0)[0], wanted.to_bits(), "{half:#x}");
    }
}
