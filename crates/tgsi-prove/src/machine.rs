//! What operations compute on words of any size, after docs/semantics.md.
//!
//! It shares nothing with the evaluation of the opcode table. A number is held as an `f64`, where
//! sums, products and even sums of products of small formats are exact, so that the rounding to
//! the format is the only one.

use tgsi::{Opcode, Shape, Ty};
use tgsi_rules::Op;

use crate::format::Format;

/// The ends of the range of RCC.
pub(crate) const RCC_LEAST: u32 = 0x1f7f_fffd;
pub(crate) const RCC_MOST: u32 = 0x5f82_c2dc;
/// The same in small formats.
pub(crate) const RCC_SMALL: [f64; 2] = [0.25, 4.0];

/// How a machine treats what languages and hardware leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    /// `0 * x` is +0 whatever `x` is.
    pub(crate) zero_wins: bool,
    /// MIN and MAX are `a < b ? a : b` and `a > b ? a : b`.
    pub(crate) compared: bool,
    /// Denormals count as zeros wherever arithmetic meets them.
    pub(crate) flush: bool,
    /// MAD rounds once.
    pub(crate) fused: bool,
}

/// A word, and what is known of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Value {
    pub(crate) bits: u64,
    /// A NaN that arithmetic made: nobody knows its sign and payload.
    pub(crate) free: bool,
    /// It was computed from the bits of a [`Value::free`] NaN, so it may be anything.
    pub(crate) unknown: bool,
}

/// The sizes of words.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// In place of 32 bits.
    pub(crate) narrow: Format,
    /// In place of 64.
    pub(crate) wide: Format,
}

/// The type an operation reads operand `i` as. Words without one count as integers.
pub(crate) fn operand_type(op: Op, i: usize) -> Ty {
    let ty = match op {
        Op::Alu(op) if matches!(op.info().shape, Shape::Dot(_)) => Ty::F,
        Op::Alu(op) => op.info().src_ty.get(i).copied().unwrap_or(Ty::U),
        Op::Neg | Op::Abs | Op::Sat | Op::Kill => Ty::F,
        Op::INeg => Ty::I,
    };
    if ty == Ty::Any { Ty::U } else { ty }
}

/// The type of a result. Words that are handed on as they are count as integers.
pub(crate) fn result_type(op: Op) -> Ty {
    let ty = match op {
        Op::Alu(op) => op.info().dst_ty,
        Op::Neg | Op::Abs | Op::Sat => Ty::F,
        Op::INeg => Ty::I,
        Op::Kill => Ty::U,
    };
    if ty == Ty::Any { Ty::U } else { ty }
}

impl Words {
    /// The format of a type.
    pub(crate) fn of(&self, ty: Ty) -> &Format {
        if ty.is_wide() {
            &self.wide
        } else {
            &self.narrow
        }
    }

    /// The value as a number, if the type may have floats.
    pub(crate) fn number(&self, v: Value, ty: Ty) -> Option<f64> {
        matches!(ty, Ty::F | Ty::D | Ty::Any).then(|| self.of(ty).decode(v.bits))
    }

    /// Applies an operation. `None` if it is none of those known here.
    pub(crate) fn apply(&self, op: Op, args: &[Value], mode: Mode) -> Option<Value> {
        let first = args.first().copied().unwrap_or_default();
        let narrow = &self.narrow;
        let moved = |bits: u64| Some(Value { bits, ..first });
        match op {
            Op::Neg => return moved(first.bits ^ narrow.sign()),
            Op::Abs | Op::Alu(Opcode::Abs) => return moved(first.bits & !narrow.sign()),
            Op::Alu(Opcode::Mov | Opcode::Uarl | Opcode::Swz) => return moved(first.bits),
            Op::Alu(code) => {
                if let [a, b, c] = *args
                    && let Some((test, chosen)) = self.selected(code, a, b, c, mode)
                {
                    let decided = test.free && code == Opcode::Ucmp;
                    let unknown = chosen.unknown || test.unknown || decided;
                    return Some(Value { unknown, ..chosen });
                }
            }
            _ => {}
        }
        let unknown = args.iter().enumerate().any(|(i, a)| {
            let float = matches!(operand_type(op, i), Ty::F | Ty::D);
            a.unknown || a.free && !float
        });
        let ty = result_type(op);
        let float = matches!(ty, Ty::F | Ty::D);
        let bits = self.compute(op, args, mode)?;
        Some(Value {
            bits,
            free: float && self.of(ty).is_nan(bits),
            unknown,
        })
    }

    /// The operand that decides and the one that is handed on, of an operation that chooses.
    fn selected(
        &self,
        code: Opcode,
        a: Value,
        b: Value,
        c: Value,
        mode: Mode,
    ) -> Option<(Value, Value)> {
        let x = |v: Value| self.operand(v, Ty::F, mode);
        let (test, first) = match code {
            Opcode::Cmp => (a, x(a) < 0.0),
            Opcode::Ucmp => (a, a.bits != 0),
            Opcode::Cnd => return Some((c, if x(c) > 0.5 { a } else { b })),
            Opcode::Cnd0 => return Some((c, if x(c) >= 0.0 { a } else { b })),
            _ => return None,
        };
        Some((test, if first { b } else { c }))
    }

    /// A word as arithmetic reads it.
    fn operand(&self, v: Value, ty: Ty, mode: Mode) -> f64 {
        let format = self.of(ty);
        if mode.flush {
            format.decode(format.flushed(v.bits))
        } else {
            format.decode(v.bits)
        }
    }

    fn compute(&self, op: Op, args: &[Value], mode: Mode) -> Option<u64> {
        let ty = result_type(op);
        if matches!(ty, Ty::F | Ty::D) {
            let format = self.of(ty);
            let word = format.encode(self.float(op, args, mode)?);
            return Some(if mode.flush {
                format.flushed(word)
            } else {
                word
            });
        }
        let x = |i: usize| {
            args.get(i)
                .map_or(0.0, |v| self.operand(*v, operand_type(op, i), mode))
        };
        let truth = |b: bool| if b { self.narrow.ones() } else { 0 };
        use Opcode::*;
        let code = match op {
            Op::Kill => return Some((x(0) < 0.0).into()),
            Op::INeg => Ineg,
            Op::Alu(code) => code,
            Op::Neg | Op::Abs | Op::Sat => return None,
        };
        Some(match code {
            Fslt | Dslt => truth(x(0) < x(1)),
            Fsge | Dsge => truth(x(0) >= x(1)),
            Fseq | Dseq => truth(x(0) == x(1)),
            Fsne | Dsne => truth(x(0) != x(1)),
            Arl => signed(x(0).floor(), self.narrow.bits()),
            Arr => {
                let sum = self.narrow.encode(x(0) + 0.5);
                signed(self.narrow.decode(sum).floor(), self.narrow.bits())
            }
            F2i | D2i => signed(x(0), self.narrow.bits()),
            F2u | D2u => unsigned(x(0), self.narrow.bits()),
            F2i64 | D2i64 => signed(x(0), self.wide.bits()),
            F2u64 | D2u64 => unsigned(x(0), self.wide.bits()),
            _ => return self.integer(code, args),
        })
    }

    /// The result of a float operation before it is rounded. Where an operation rounds on its way
    /// it is rounded here.
    fn float(&self, op: Op, args: &[Value], mode: Mode) -> Option<f64> {
        use Opcode::*;
        let ty = result_type(op);
        let format = self.of(ty);
        let x = |i: usize| {
            args.get(i)
                .map_or(0.0, |v| self.operand(*v, operand_type(op, i), mode))
        };
        let bits = |i: usize| args.get(i).map_or(0, |v| v.bits);
        let rounded = |x: f64| {
            let word = format.encode(x);
            format.decode(if mode.flush {
                format.flushed(word)
            } else {
                word
            })
        };
        let product = |x: f64, y: f64| {
            if mode.zero_wins && (x == 0.0 || y == 0.0) {
                0.0
            } else {
                x * y
            }
        };
        let dot = |n: usize| {
            let first = rounded(product(x(0), x(n)));
            (1..n).fold(first, |sum, i| {
                rounded(sum + rounded(product(x(i), x(n + i))))
            })
        };
        let one = |b: bool| if b { 1.0 } else { 0.0 };
        let sign = |x: f64| one(x > 0.0) - one(x < 0.0);
        let code = match op {
            Op::Alu(code) => code,
            Op::Sat => return Some(if x(0) > 0.0 { x(0).min(1.0) } else { 0.0 }),
            _ => return None,
        };
        Some(match code {
            Add | Dadd => x(0) + x(1),
            Sub => x(0) - x(1),
            Mul => product(x(0), x(1)),
            Dmul => x(0) * x(1),
            Div | Ddiv => x(0) / x(1),
            Mad if mode.fused => product(x(0), x(1)) + x(2),
            Mad => rounded(product(x(0), x(1))) + x(2),
            Fma => product(x(0), x(1)) + x(2),
            Dmad if mode.fused => x(0) * x(1) + x(2),
            Dmad => rounded(x(0) * x(1)) + x(2),
            Dfma => x(0) * x(1) + x(2),
            Lrp => rounded(product(x(0), rounded(x(1) - x(2)))) + x(2),
            Dp2 => dot(2),
            Dp3 => dot(3),
            Dp4 => dot(4),
            Min | Dmin if mode.compared => {
                if x(0) < x(1) {
                    x(0)
                } else {
                    x(1)
                }
            }
            Max | Dmax if mode.compared => {
                if x(0) > x(1) {
                    x(0)
                } else {
                    x(1)
                }
            }
            Min | Dmin => {
                if x(0).is_nan() || x(1) < x(0) {
                    x(1)
                } else {
                    x(0)
                }
            }
            Max | Dmax => {
                if x(0).is_nan() || x(1) > x(0) {
                    x(1)
                } else {
                    x(0)
                }
            }
            Clamp if x(0) < x(1) => x(1),
            Clamp if x(0) > x(2) => x(2),
            Clamp => x(0),
            Slt => one(x(0) < x(1)),
            Sge => one(x(0) >= x(1)),
            Seq => one(x(0) == x(1)),
            Sne => one(x(0) != x(1)),
            Sgt => one(x(0) > x(1)),
            Sle => one(x(0) <= x(1)),
            Sfl => 0.0,
            Str => 1.0,
            Ssg | Dssg => sign(x(0)),
            Frc | Dfrac => x(0) - x(0).floor(),
            Flr | Dflr => x(0).floor(),
            Ceil | Dceil => x(0).ceil(),
            Trunc | Dtrunc => x(0).trunc(),
            Round | Dround => x(0).round_ties_even(),
            Rcp | Drcp => 1.0 / x(0),
            Rcc => {
                let reciprocal = rounded(1.0 / x(0));
                let [least, most] = RCC_SMALL;
                match reciprocal {
                    r if r.is_nan() => r,
                    r if r > 0.0 => r.clamp(least, most),
                    r => r.clamp(-most, -least),
                }
            }
            Sqrt | Dsqrt => x(0).sqrt(),
            Rsq | Drsq => 1.0 / rounded(x(0).sqrt()),
            Ex2 => x(0).exp2(),
            Lg2 => x(0).log2(),
            Pow => x(0).powf(x(1)),
            Sin => x(0).sin(),
            Cos => x(0).cos(),
            Ldexp | Dldexp => {
                let count = extended(bits(1), self.narrow.bits());
                x(0) * 2f64.powi(count.clamp(-400, 400) as i32)
            }
            Dabs => {
                if x(0) >= 0.0 {
                    x(0)
                } else {
                    -x(0)
                }
            }
            Dneg => -x(0),
            F2d | D2f => x(0),
            I2f | I2d => extended(bits(0), self.narrow.bits()) as f64,
            U2f | U2d => bits(0) as f64,
            I642f | I642d => extended(bits(0), self.wide.bits()) as f64,
            U642f | U642d => bits(0) as f64,
            _ => return None,
        })
    }

    fn integer(&self, code: Opcode, args: &[Value]) -> Option<u64> {
        use Opcode::*;
        let size = self.of(code.info().src_ty.first().copied().unwrap_or(Ty::U));
        let (n, ones) = (size.bits(), size.ones());
        let u = |i: usize| args.get(i).map_or(0, |v| v.bits);
        let i = |at: usize| extended(u(at), n);
        let truth = |b: bool| if b { self.narrow.ones() } else { 0 };
        // Words have a power of two of bits wherever they are shifted.
        let count = |at: usize| u(at) & u64::from(n - 1);
        let field = || {
            let (offset, width) = (count(1), count(2));
            let above = u64::from(n).saturating_sub(offset + width);
            (width != 0).then_some((above, above + offset))
        };
        let raised = |left: u64| u(0) << left & ones;
        let word = match code {
            Not => !u(0),
            And => u(0) & u(1),
            Or => u(0) | u(1),
            Xor => u(0) ^ u(1),
            Uadd | U64add => u(0).wrapping_add(u(1)),
            Umul | U64mul => u(0).wrapping_mul(u(1)),
            Umad => u(0).wrapping_mul(u(1)).wrapping_add(u(2)),
            Sad => u(0).abs_diff(u(1)).wrapping_add(u(2)),
            UmulHi => u(0).wrapping_mul(u(1)) >> n,
            ImulHi => (i(0).wrapping_mul(i(1)) >> n) as u64,
            Idiv | I64div if u(1) == 0 => 0,
            Idiv | I64div => i(0).wrapping_div(i(1)) as u64,
            Mod | I64mod if u(1) == 0 => ones,
            Mod | I64mod => i(0).wrapping_rem(i(1)) as u64,
            Udiv | U64div => u(0).checked_div(u(1)).unwrap_or(ones),
            Umod | U64mod => u(0).checked_rem(u(1)).unwrap_or(ones),
            Imax | I64max => i(0).max(i(1)) as u64,
            Imin | I64min => i(0).min(i(1)) as u64,
            Umax | U64max => u(0).max(u(1)),
            Umin | U64min => u(0).min(u(1)),
            Ineg | I64neg => u(0).wrapping_neg(),
            Iabs | I64abs => i(0).wrapping_abs() as u64,
            Issg | I64ssg => i(0).signum() as u64,
            Isge | I64sge => return Some(truth(i(0) >= i(1))),
            Islt | I64slt => return Some(truth(i(0) < i(1))),
            Usge | U64sge => return Some(truth(u(0) >= u(1))),
            Uslt | U64slt => return Some(truth(u(0) < u(1))),
            Useq | U64seq => return Some(truth(u(0) == u(1))),
            Usne | U64sne => return Some(truth(u(0) != u(1))),
            Shl | U64shl => u(0) << count(1),
            Ushr | U64shr => u(0) >> count(1),
            Ishr | I64shr => (i(0) >> count(1)) as u64,
            Ubfe => field().map_or(0, |(left, right)| raised(left) >> right),
            Ibfe => field().map_or(0, |(left, right)| {
                (extended(raised(left), n) >> right) as u64
            }),
            Bfi => {
                let (offset, width) = (count(2), count(3));
                let mask = ((1 << width) - 1) << offset;
                u(0) & !mask | u(1) << offset & mask
            }
            Brev => u(0).reverse_bits() >> (64 - n),
            Popc => u64::from(u(0).count_ones()),
            Lsb if u(0) == 0 => ones,
            Lsb => u64::from(u(0).trailing_zeros()),
            Umsb => highest(u(0)),
            Imsb if i(0) < 0 => highest(!u(0) & ones),
            Imsb => highest(u(0)),
            I2i64 => extended(u(0), n) as u64,
            U2i64 => u(0),
            _ => return None,
        };
        Some(word & self.of(code.info().dst_ty).ones())
    }
}

fn highest(x: u64) -> u64 {
    x.checked_ilog2().map_or(u64::MAX, u64::from)
}

/// A word of `n` bits as a signed number.
pub(crate) fn extended(word: u64, n: u32) -> i64 {
    ((word << (64 - n)) as i64) >> (64 - n)
}

/// Truncates to a signed integer; NaN and what does not fit give the smallest one.
fn signed(x: f64, bits: u32) -> u64 {
    let top = 2f64.powi(bits as i32 - 1);
    let x = x.trunc();
    if (-top..top).contains(&x) {
        x as i64 as u64 & u64::MAX >> (64 - bits)
    } else {
        1 << (bits - 1)
    }
}

/// Truncates to an unsigned integer: the upper half is moved down, converted and moved up again.
fn unsigned(x: f64, bits: u32) -> u64 {
    let top = 2f64.powi(bits as i32 - 1);
    if x >= top {
        signed(x - top, bits) ^ 1 << (bits - 1)
    } else {
        signed(x, bits)
    }
}
