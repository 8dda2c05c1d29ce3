//! Opcodes on 32-bit channels.

use tgsi::Opcode;
use tgsi::Opcode as O;

use crate::eval::{Rules, Vec4};

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

fn map1(a: Vec4, op: impl Fn(f32) -> f32) -> Option<Vec4> {
    Some(a.map(|x| op(f(x)).to_bits()))
}

fn map2(a: Vec4, b: Vec4, op: impl Fn(f32, f32) -> f32) -> Option<Vec4> {
    Some(std::array::from_fn(|i| op(f(a[i]), f(b[i])).to_bits()))
}

fn map3(a: Vec4, b: Vec4, c: Vec4, op: impl Fn(f32, f32, f32) -> f32) -> Option<Vec4> {
    Some(std::array::from_fn(|i| {
        op(f(a[i]), f(b[i]), f(c[i])).to_bits()
    }))
}

fn repl(x: f32) -> Option<Vec4> {
    Some([x.to_bits(); 4])
}

fn vec(x: [f32; 4]) -> Option<Vec4> {
    Some(x.map(f32::to_bits))
}

/// 1.0 or 0.0 a channel.
fn test_f(a: Vec4, b: Vec4, op: impl Fn(f32, f32) -> bool) -> Option<Vec4> {
    map2(a, b, |x, y| if op(x, y) { 1.0 } else { 0.0 })
}

/// All ones or 0 a channel, comparing floats.
fn test_b(a: Vec4, b: Vec4, op: impl Fn(f32, f32) -> bool) -> Option<Vec4> {
    Some(std::array::from_fn(|i| ones(op(f(a[i]), f(b[i])))))
}

fn ones(x: bool) -> u32 {
    if x { u32::MAX } else { 0 }
}

/// Multiplication under the rules in force.
fn mul(x: f32, y: f32, rules: Rules) -> f32 {
    if rules.zero_wins && (x == 0.0 || y == 0.0) {
        0.0
    } else {
        x * y
    }
}

fn dot(n: usize, a: Vec4, b: Vec4, rules: Rules) -> f32 {
    let mut sum = mul(f(a[0]), f(b[0]), rules);
    for i in 1..n {
        sum += mul(f(a[i]), f(b[i]), rules);
    }
    sum
}

pub(crate) fn ex2(x: f32) -> f32 {
    f64::from(x).exp2() as f32
}

/// Base-2 logarithm as a product with a rounded constant, two roundings.
pub(crate) fn lg2(x: f32) -> f32 {
    // The factor as its text gives it; it rounds to the same word as log2(e).
    (f64::from(x).ln() as f32) * std::f32::consts::LOG2_E
}

pub(crate) fn pow(x: f32, y: f32) -> f32 {
    f64::from(x).powf(f64::from(y)) as f32
}

fn sin(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

fn cos(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

fn rsq(x: f32) -> f32 {
    1.0 / x.sqrt()
}

fn min(x: f32, y: f32, rules: Rules) -> f32 {
    if rules.first_era {
        return if x < y { x } else { y };
    }
    if y.is_nan() || x <= y { x } else { y }
}

fn max(x: f32, y: f32, rules: Rules) -> f32 {
    if rules.first_era {
        return if x > y { x } else { y };
    }
    if y.is_nan() || x >= y { x } else { y }
}

fn sign(x: f32) -> f32 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

fn lit(a: Vec4) -> Option<Vec4> {
    let (x, y, w) = (f(a[0]), f(a[1]), f(a[3]));
    let exponent = if w.is_nan() {
        w
    } else {
        w.clamp(-128.0, 128.0)
    };
    let base = if y > 0.0 { y } else { 0.0 };
    let z = if x > 0.0 { pow(base, exponent) } else { 0.0 };
    vec([1.0, if x > 0.0 { x } else { 0.0 }, z, 1.0])
}

fn exp(a: Vec4) -> Option<Vec4> {
    let x = f(a[0]);
    vec([ex2(x.floor()), x - x.floor(), ex2(x), 1.0])
}

fn log(a: Vec4) -> Option<Vec4> {
    let x = f(a[0]).abs();
    let l = lg2(x);
    vec([l.floor(), x / ex2(l.floor()), l, 1.0])
}

/// A reciprocal kept away from zero and infinity.
fn rcc(x: f32) -> f32 {
    const LOW: f32 = 5.42101e-20;
    const HIGH: f32 = 1.884467e+19;
    let r = 1.0 / x;
    if r > 0.0 {
        r.clamp(LOW, HIGH)
    } else if r.is_nan() {
        r
    } else {
        r.clamp(-HIGH, -LOW)
    }
}

/// `2 * (a.b / a.a) * a - b`, w = 1.
fn reflect(a: Vec4, b: Vec4, rules: Rules) -> Option<Vec4> {
    let k = 2.0 * (dot(3, a, b, rules) / dot(3, a, a, rules));
    let r = |i: usize| mul(k, f(a[i]), rules) - f(b[i]);
    vec([r(0), r(1), r(2), 1.0])
}

fn normalize(n: usize, a: Vec4, rules: Rules) -> Option<Vec4> {
    let k = rsq(dot(n, a, a, rules));
    let r = |i: usize| mul(f(a[i]), k, rules);
    vec([r(0), r(1), r(2), if n == 4 { r(3) } else { 1.0 }])
}

fn cross(a: Vec4, b: Vec4, rules: Rules) -> Option<Vec4> {
    let r = |i: usize, j: usize| mul(f(a[i]), f(b[j]), rules) - mul(f(b[i]), f(a[j]), rules);
    vec([r(1, 2), r(2, 0), r(0, 1), 1.0])
}

fn x2d(a: Vec4, b: Vec4, c: Vec4, rules: Rules) -> Option<Vec4> {
    let r = |i: usize, j: usize| {
        f(a[i]) + mul(f(b[0]), f(c[j]), rules) + mul(f(b[1]), f(c[j + 1]), rules)
    };
    vec([r(0, 0), r(1, 2), r(0, 0), r(1, 2)])
}

/// A smooth value in -1..1 that depends on the four channels.
fn noise(a: Vec4, salt: f64) -> f32 {
    let mut x = salt;
    for (i, w) in a.iter().enumerate() {
        let v = f64::from(f(*w));
        let v = if v.is_finite() {
            v / (1.0 + v.abs())
        } else {
            0.25
        };
        x += v * (1.0 + 0.37 * i as f64);
    }
    x.sin() as f32
}

/// `x * 2^n` with one rounding.
pub(crate) fn ldexp(x: f32, n: i32) -> f32 {
    // Powers of two up to 2^+-300 are exact in binary64, and beyond them every
    // finite binary32 has long become zero or infinite.
    (f64::from(x) * 2.0f64.powi(n.clamp(-300, 300))) as f32
}

/// Opcodes whose result is a float, and the comparisons of floats.
pub(crate) fn float(op: Opcode, a: Vec4, b: Vec4, c: Vec4, rules: Rules) -> Option<Vec4> {
    match op {
        O::Mov | O::Swz => Some(a),
        O::Lit => lit(a),
        O::Rcp => repl(1.0 / f(a[0])),
        O::Rsq => repl(rsq(if rules.first_era {
            f(a[0]).abs()
        } else {
            f(a[0])
        })),
        O::Sqrt => repl(f(a[0]).sqrt()),
        O::Exp => exp(a),
        O::Log => log(a),
        O::Ex2 => repl(ex2(f(a[0]))),
        O::Lg2 => repl(lg2(f(a[0]))),
        O::Pow => repl(pow(f(a[0]), f(b[0]))),
        O::Sin => repl(sin(f(a[0]))),
        O::Cos => repl(cos(f(a[0]))),
        O::Scs => vec([cos(f(a[0])), sin(f(a[0])), 0.0, 1.0]),
        O::Rcc => repl(rcc(f(a[0]))),
        O::Mul => map2(a, b, |x, y| mul(x, y, rules)),
        O::Add => map2(a, b, |x, y| x + y),
        O::Sub => map2(a, b, |x, y| x - y),
        O::Div => map2(a, b, |x, y| x / y),
        O::Abs => Some(a.map(|x| x & 0x7fff_ffff)),
        O::Mad => map3(a, b, c, |x, y, z| mul(x, y, rules) + z),
        O::Fma => map3(a, b, c, |x, y, z| {
            if rules.zero_wins && (x == 0.0 || y == 0.0) {
                z + 0.0
            } else {
                x.mul_add(y, z)
            }
        }),
        O::Dp2 => repl(dot(2, a, b, rules)),
        O::Dp3 => repl(dot(3, a, b, rules)),
        O::Dp4 => repl(dot(4, a, b, rules)),
        O::Dph => repl(dot(3, a, b, rules) + f(b[3])),
        O::Dp2a => repl(dot(2, a, b, rules) + f(c[0])),
        O::Dst => vec([1.0, mul(f(a[1]), f(b[1]), rules), f(a[2]), f(b[3])]),
        O::Xpd => cross(a, b, rules),
        O::Rfl => reflect(a, b, rules),
        O::Nrm => normalize(3, a, rules),
        O::Nrm4 => normalize(4, a, rules),
        O::X2d => x2d(a, b, c, rules),
        O::Min => map2(a, b, |x, y| min(x, y, rules)),
        O::Max => map2(a, b, |x, y| max(x, y, rules)),
        O::Clamp => map3(a, b, c, |x, y, z| {
            if x < y {
                y
            } else if x > z {
                z
            } else {
                x
            }
        }),
        O::Lrp if rules.first_era => {
            map3(a, b, c, |x, y, z| mul(x, y, rules) + mul(1.0 - x, z, rules))
        }
        O::Lrp => map3(a, b, c, |x, y, z| mul(x, y - z, rules) + z),
        O::Cmp => map3(a, b, c, |x, y, z| if x < 0.0 { y } else { z }),
        O::Cnd => map3(a, b, c, |x, y, z| if z > 0.5 { x } else { y }),
        O::Cnd0 => map3(a, b, c, |x, y, z| if z >= 0.0 { x } else { y }),
        O::Frc => map1(a, |x| x - x.floor()),
        O::Flr => map1(a, f32::floor),
        O::Ceil => map1(a, f32::ceil),
        O::Trunc => map1(a, f32::trunc),
        O::Round => map1(a, f32::round_ties_even),
        O::Ssg => map1(a, sign),
        O::Ldexp => Some(std::array::from_fn(|i| {
            ldexp(f(a[i]), b[i] as i32).to_bits()
        })),
        O::Slt => test_f(a, b, |x, y| x < y),
        O::Sge => test_f(a, b, |x, y| x >= y),
        O::Seq => test_f(a, b, |x, y| x == y),
        O::Sgt => test_f(a, b, |x, y| x > y),
        O::Sle => test_f(a, b, |x, y| x <= y),
        O::Sne => test_f(a, b, |x, y| x != y),
        O::Sfl => repl(0.0),
        O::Str => repl(1.0),
        O::Fslt => test_b(a, b, |x, y| x < y),
        O::Fsge => test_b(a, b, |x, y| x >= y),
        O::Fseq => test_b(a, b, |x, y| x == y),
        O::Fsne => test_b(a, b, |x, y| x != y),
        O::Noise1 => repl(noise(a, 0.3)),
        O::Noise2 | O::Noise3 | O::Noise4 => {
            vec([noise(a, 0.3), noise(a, 1.1), noise(a, 1.9), noise(a, 2.7)])
        }
        _ => None,
    }
}

/// `x` rounded to a signed integer as the x86 conversion does.
pub(crate) fn to_i32(x: f64) -> i32 {
    let t = x.trunc();
    if (-2147483648.0..2147483648.0).contains(&t) {
        t as i32
    } else {
        i32::MIN
    }
}

/// `x` rounded to an unsigned integer as compilers do it on x86: through the signed one.
pub(crate) fn to_u32(x: f64) -> u32 {
    if x >= 2147483648.0 {
        to_i32(x - 2147483648.0) as u32 ^ 0x8000_0000
    } else {
        to_i32(x) as u32
    }
}

fn umap2(a: Vec4, b: Vec4, op: impl Fn(u32, u32) -> u32) -> Option<Vec4> {
    Some(std::array::from_fn(|i| op(a[i], b[i])))
}

fn imap2(a: Vec4, b: Vec4, op: impl Fn(i32, i32) -> i32) -> Option<Vec4> {
    Some(std::array::from_fn(|i| op(a[i] as i32, b[i] as i32) as u32))
}

/// Offset and width of a bit field, each modulo 32.
fn field_width(offset: u32, width: u32) -> (u32, u32) {
    (offset & 31, width & 31)
}

fn ubfe(x: u32, offset: u32, width: u32) -> u32 {
    match field_width(offset, width) {
        (_, 0) => 0,
        (o, w) if o + w < 32 => (x << (32 - w - o)) >> (32 - w),
        (o, _) => x >> o,
    }
}

fn ibfe(x: i32, offset: u32, width: u32) -> i32 {
    match field_width(offset, width) {
        (_, 0) => 0,
        (o, w) if o + w < 32 => (x << (32 - w - o)) >> (32 - w),
        (o, _) => x >> o,
    }
}

fn bfi(base: u32, insert: u32, offset: u32, width: u32) -> u32 {
    let (offset, width) = field_width(offset, width);
    let mask = ((1u32 << width) - 1) << offset;
    ((insert << offset) & mask) | (base & !mask)
}

/// Number of the highest set bit, -1 for none.
fn umsb(x: u32) -> u32 {
    31u32.wrapping_sub(x.leading_zeros())
}

fn sad(a: u32, b: u32, c: u32) -> u32 {
    a.abs_diff(b).wrapping_add(c)
}

/// Integer opcodes, and the conversions between floats and integers.
pub(crate) fn integer(
    op: Opcode,
    a: Vec4,
    b: Vec4,
    c: Vec4,
    d: Vec4,
    rules: Rules,
) -> Option<Vec4> {
    let count = if rules.first_era { [b[0]; 4] } else { b };
    match op {
        O::Arl => Some(a.map(|x| to_i32(f64::from(f(x).floor())) as u32)),
        O::Arr => Some(a.map(|x| to_i32(f64::from((f(x) + 0.5).floor())) as u32)),
        O::Uarl => Some(a),
        O::Ara => Some(a),
        O::F2i => Some(a.map(|x| to_i32(f64::from(f(x))) as u32)),
        O::F2u => Some(a.map(|x| to_u32(f64::from(f(x))))),
        O::I2f => Some(a.map(|x| (x as i32 as f32).to_bits())),
        O::U2f => Some(a.map(|x| (x as f32).to_bits())),
        O::Not => Some(a.map(|x| !x)),
        O::And => umap2(a, b, |x, y| x & y),
        O::Or => umap2(a, b, |x, y| x | y),
        O::Xor => umap2(a, b, |x, y| x ^ y),
        O::Shl => umap2(a, count, |x, y| x << (y & 31)),
        O::Ushr => umap2(a, b, |x, y| x >> (y & 31)),
        O::Ishr => imap2(a, b, |x, y| x >> (y & 31)),
        O::Shr => imap2(a, [b[0]; 4], |x, y| x >> (y & 31)),
        O::Uadd => umap2(a, b, u32::wrapping_add),
        O::Umul => umap2(a, b, u32::wrapping_mul),
        O::Umad => Some(std::array::from_fn(|i| {
            a[i].wrapping_mul(b[i]).wrapping_add(c[i])
        })),
        O::ImulHi => imap2(a, b, |x, y| ((i64::from(x) * i64::from(y)) >> 32) as i32),
        O::UmulHi => umap2(a, b, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32),
        O::Idiv => imap2(a, b, |x, y| if y == 0 { 0 } else { x.wrapping_div(y) }),
        O::Mod => imap2(a, b, |x, y| if y == 0 { -1 } else { x.wrapping_rem(y) }),
        O::Udiv => umap2(a, b, |x, y| x.checked_div(y).unwrap_or(u32::MAX)),
        O::Umod => umap2(a, b, |x, y| x.checked_rem(y).unwrap_or(u32::MAX)),
        O::Imax => imap2(a, b, i32::max),
        O::Imin => imap2(a, b, i32::min),
        O::Umax => umap2(a, b, u32::max),
        O::Umin => umap2(a, b, u32::min),
        O::Ineg => Some(a.map(u32::wrapping_neg)),
        O::Iabs => Some(a.map(|x| (x as i32).unsigned_abs())),
        O::Issg => Some(a.map(|x| (x as i32).signum() as u32)),
        O::Isge => umap2(a, b, |x, y| ones(x as i32 >= y as i32)),
        O::Islt => umap2(a, b, |x, y| ones((x as i32) < y as i32)),
        O::Usge => umap2(a, b, |x, y| ones(x >= y)),
        O::Uslt => umap2(a, b, |x, y| ones(x < y)),
        O::Useq => umap2(a, b, |x, y| ones(x == y)),
        O::Usne => umap2(a, b, |x, y| ones(x != y)),
        O::Ucmp => Some(std::array::from_fn(|i| if a[i] != 0 { b[i] } else { c[i] })),
        O::Ubfe => Some(std::array::from_fn(|i| ubfe(a[i], b[i], c[i]))),
        O::Ibfe => Some(std::array::from_fn(|i| {
            ibfe(a[i] as i32, b[i], c[i]) as u32
        })),
        O::Bfi => Some(std::array::from_fn(|i| bfi(a[i], b[i], c[i], d[i]))),
        O::Brev => Some(a.map(u32::reverse_bits)),
        O::Popc => Some(a.map(u32::count_ones)),
        O::Lsb => Some(a.map(|x| if x == 0 { u32::MAX } else { x.trailing_zeros() })),
        O::Umsb => Some(a.map(umsb)),
        O::Imsb => Some(a.map(|x| umsb(if (x as i32) < 0 { !x } else { x }))),
        O::Sad => Some(std::array::from_fn(|i| sad(a[i], b[i], c[i]))),
        _ => None,
    }
}
