//! What is known of the word a value holds, computed once when the value is made.

use tgsi::{Opcode, Ty};
use tgsi_ir::{Function, VOp, Value, ValueData, ix};
use tgsi_rules::Fact;

/// Range and kinds of a word. The range covers what the word may be as a float, NaN apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Least value.
    pub lo: f32,
    /// Greatest value.
    pub hi: f32,
    /// May be a NaN.
    pub nan: bool,
    /// May be -0.0.
    pub minus_zero: bool,
    /// An integer, an infinity or a NaN.
    pub integral: bool,
    /// 0.0 or 1.0.
    pub truth: bool,
    /// 0 or all ones.
    pub mask: bool,
    /// Made by a float operation: the payload of a NaN in it means nothing.
    pub float: bool,
}

/// What a program's float operations follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    pub zero_wins: bool,
    pub first_era: bool,
}

impl Rounding {
    pub(crate) fn of(f: &Function) -> Rounding {
        Rounding {
            zero_wins: f.zero_wins,
            first_era: f.first_era,
        }
    }
}

impl Info {
    /// Anything.
    pub const TOP: Info = Info {
        lo: f32::NEG_INFINITY,
        hi: f32::INFINITY,
        nan: true,
        minus_zero: true,
        integral: false,
        truth: false,
        mask: false,
        float: false,
    };

    /// Any result of a float operation.
    const FLOAT: Info = Info {
        float: true,
        ..Info::TOP
    };

    fn constant(w: u32) -> Info {
        let x = f32::from_bits(w);
        if x.is_nan() {
            return Info {
                integral: true,
                mask: w == u32::MAX,
                ..Info::TOP
            };
        }
        Info {
            lo: x,
            hi: x,
            nan: false,
            minus_zero: !Fact::NotMinusZero.holds_of(w),
            integral: Fact::Integral.holds_of(w),
            truth: Fact::Bool.holds_of(w),
            mask: w == 0,
            float: true,
        }
    }

    fn range(lo: f32, hi: f32) -> Info {
        Info {
            lo,
            hi,
            nan: false,
            ..Info::FLOAT
        }
    }

    fn truth() -> Info {
        Info {
            minus_zero: false,
            integral: true,
            truth: true,
            ..Info::range(0.0, 1.0)
        }
    }

    fn mask() -> Info {
        Info {
            mask: true,
            minus_zero: false,
            ..Info::TOP
        }
    }

    fn finite(&self) -> bool {
        !self.nan && self.lo > f32::NEG_INFINITY && self.hi < f32::INFINITY
    }

    /// What is known of a word of which both are known.
    pub(crate) fn both(self, o: Info) -> Info {
        Info {
            lo: self.lo.max(o.lo),
            hi: self.hi.min(o.hi),
            nan: self.nan & o.nan,
            minus_zero: self.minus_zero & o.minus_zero,
            integral: self.integral | o.integral,
            truth: self.truth | o.truth,
            mask: self.mask | o.mask,
            float: self.float | o.float,
        }
    }

    /// Either of two words.
    fn either(self, o: Info) -> Info {
        Info {
            lo: self.lo.min(o.lo),
            hi: self.hi.max(o.hi),
            nan: self.nan | o.nan,
            minus_zero: self.minus_zero | o.minus_zero,
            integral: self.integral & o.integral,
            truth: self.truth & o.truth,
            mask: self.mask & o.mask,
            float: self.float & o.float,
        }
    }

    fn neg(self) -> Info {
        Info {
            lo: -self.hi,
            hi: -self.lo,
            minus_zero: self.lo <= 0.0 && self.hi >= 0.0,
            truth: false,
            mask: false,
            ..self
        }
    }

    fn abs(self) -> Info {
        let most = self.lo.abs().max(self.hi.abs());
        let least = if self.lo > 0.0 {
            self.lo
        } else if self.hi < 0.0 {
            -self.hi
        } else {
            0.0
        };
        Info {
            lo: least,
            hi: most,
            minus_zero: false,
            mask: false,
            ..self
        }
    }

    fn sat(self) -> Info {
        Info {
            lo: self
                .lo
                .clamp(0.0, 1.0)
                .min(if self.nan { 0.0 } else { 1.0 }),
            hi: self.hi.clamp(0.0, 1.0),
            nan: false,
            minus_zero: false,
            float: true,
            mask: false,
            ..self
        }
    }

    /// Least and greatest of the candidates; anything where one is a NaN.
    fn hull(candidates: &[f32]) -> (f32, f32, bool) {
        let nan = candidates.iter().any(|c| c.is_nan());
        if nan {
            return (f32::NEG_INFINITY, f32::INFINITY, true);
        }
        let lo = candidates.iter().copied().fold(f32::INFINITY, f32::min);
        let hi = candidates.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        (lo, hi, false)
    }

    // Rounding is monotone, so the ends of a range round to ends of the rounded range.
    fn add(self, o: Info) -> Info {
        let (lo, hi) = (self.lo + o.lo, self.hi + o.hi);
        let clash = self.lo == f32::NEG_INFINITY && o.hi == f32::INFINITY
            || self.hi == f32::INFINITY && o.lo == f32::NEG_INFINITY;
        Info {
            lo: if lo.is_nan() { f32::NEG_INFINITY } else { lo },
            hi: if hi.is_nan() { f32::INFINITY } else { hi },
            nan: self.nan | o.nan | clash,
            minus_zero: self.minus_zero & o.minus_zero,
            integral: self.integral & o.integral,
            float: true,
            truth: false,
            mask: false,
        }
    }

    fn mul(self, o: Info, square: bool) -> Info {
        if square {
            let a = self.abs();
            return Info {
                lo: a.lo * a.lo,
                hi: a.hi * a.hi,
                nan: self.nan,
                minus_zero: false,
                integral: self.integral,
                truth: self.truth,
                mask: false,
                float: true,
            };
        }
        let (lo, hi, _) = Info::hull(&[
            self.lo * o.lo,
            self.lo * o.hi,
            self.hi * o.lo,
            self.hi * o.hi,
        ]);
        let has_zero = |i: Info| i.lo <= 0.0 && i.hi >= 0.0;
        let has_inf = |i: Info| i.lo == f32::NEG_INFINITY || i.hi == f32::INFINITY;
        let clash = has_zero(self) && has_inf(o) || has_zero(o) && has_inf(self);
        let positive = |i: Info| i.lo >= 0.0 && !i.minus_zero;
        Info {
            lo,
            hi,
            nan: self.nan | o.nan | clash,
            minus_zero: !(positive(self) && positive(o)),
            integral: self.integral & o.integral,
            truth: self.truth & o.truth,
            mask: false,
            float: true,
        }
    }

    /// Whether the fact is known; `word` is the word if it is a constant.
    pub fn knows(&self, fact: Fact, word: Option<u32>) -> bool {
        if let Some(w) = word {
            return fact.holds_of(w);
        }
        match fact {
            Fact::NotNan => !self.nan,
            Fact::Finite => self.finite(),
            Fact::NonNegative => !self.nan && self.lo >= 0.0,
            Fact::Positive => !self.nan && self.lo > 0.0,
            Fact::NonZero => !self.nan && (self.lo > 0.0 || self.hi < 0.0),
            Fact::Unit => !self.nan && !self.minus_zero && self.lo >= 0.0 && self.hi <= 1.0,
            Fact::SignedUnit => !self.nan && self.lo >= -1.0 && self.hi <= 1.0,
            Fact::Bool => self.truth,
            Fact::Mask => self.mask,
            Fact::Integral => self.integral,
            Fact::NotMinusZero => !self.minus_zero,
            Fact::Float => self.float,
            Fact::PowerOfTwo | Fact::Shift | Fact::IntPowerOfTwo | Fact::Scale | Fact::LowMask => {
                false
            }
        }
    }

    /// What is known of an operation, from what is known of its operands.
    pub fn of(f: &Function, d: &ValueData, infos: &[Info]) -> Info {
        if d.wide {
            return Info::TOP;
        }
        let at = |i: usize| d.args.get(i).copied();
        Info::compute(
            d.op,
            Rounding::of(f),
            &|i| {
                at(i)
                    .and_then(|a: Value| infos.get(ix(a)).copied())
                    .unwrap_or(Info::TOP)
            },
            &|a, b| at(a) == at(b),
            &|i| at(i).and_then(|a| f.as_imm(a)),
        )
    }

    /// What is known of an operation: `arg` gives what is known of an operand, `same` whether two
    /// operands are one value, `word` an operand's word if it is a constant.
    pub(crate) fn compute(
        op: VOp,
        rounding: Rounding,
        arg: &dyn Fn(usize) -> Info,
        same: &dyn Fn(usize, usize) -> bool,
        word: &dyn Fn(usize) -> Option<u32>,
    ) -> Info {
        match op {
            VOp::Imm(w) => Info::constant(w),
            VOp::Neg => arg(0).neg(),
            VOp::Abs => arg(0).abs(),
            VOp::Sat => arg(0).sat(),
            VOp::Alu(op) => Info::alu(op, rounding, arg, same, word),
            _ => Info::TOP,
        }
    }

    fn alu(
        op: Opcode,
        f: Rounding,
        arg: &dyn Fn(usize) -> Info,
        same: &dyn Fn(usize, usize) -> bool,
        word: &dyn Fn(usize) -> Option<u32>,
    ) -> Info {
        use Opcode::*;
        let info = match op {
            Slt | Sge | Seq | Sne | Sgt | Sle => Info::truth(),
            Fseq | Fsge | Fslt | Fsne | Isge | Islt | Useq | Usge | Uslt | Usne => Info::mask(),
            And | Or | Xor => {
                let (a, b) = (arg(0), arg(1));
                let one = |i: usize| word(i) == Some(0x3f80_0000);
                if a.mask && b.mask {
                    Info::mask()
                } else if op == And && (a.mask && one(1) || b.mask && one(0)) {
                    Info::truth()
                } else {
                    Info::TOP
                }
            }
            Not if arg(0).mask => Info::mask(),
            Cmp | Ucmp => arg(1).either(arg(2)),
            _ if f.first_era || op.info().dst_ty != Ty::F => return Info::top_of(op),
            Add => arg(0).add(arg(1)),
            Mul => arg(0).mul(arg(1), same(0, 1)),
            Mad => arg(0).mul(arg(1), same(0, 1)).add(arg(2)),
            // The product is not rounded: bounds of one that is are none of the sum's.
            Fma => {
                let sum = arg(0).mul(arg(1), same(0, 1)).add(arg(2));
                Info {
                    nan: sum.nan,
                    integral: sum.integral,
                    ..Info::FLOAT
                }
            }
            Min | Max => {
                let (a, b) = (arg(0), arg(1));
                let either = a.either(b);
                // A NaN loses to the other operand.
                let (lo, hi) = match (a.nan || b.nan, op == Min) {
                    (true, _) => (either.lo, either.hi),
                    (false, true) => (a.lo.min(b.lo), a.hi.min(b.hi)),
                    (false, false) => (a.lo.max(b.lo), a.hi.max(b.hi)),
                };
                Info {
                    lo,
                    hi,
                    nan: a.nan & b.nan,
                    float: true,
                    mask: false,
                    ..either
                }
            }
            Frc => Info {
                nan: !arg(0).finite(),
                minus_zero: false,
                ..Info::range(0.0, 1.0)
            },
            Flr | Ceil | Trunc | Round => {
                let a = arg(0);
                let end = |x: f32| match op {
                    Flr => x.floor(),
                    Ceil => x.ceil(),
                    Trunc => x.trunc(),
                    _ => x.round_ties_even(),
                };
                Info {
                    lo: end(a.lo),
                    hi: end(a.hi),
                    integral: true,
                    float: true,
                    mask: false,
                    truth: false,
                    minus_zero: a.minus_zero || a.lo < 0.0 && op != Flr,
                    nan: a.nan,
                }
            }
            I2f => Info {
                integral: true,
                minus_zero: false,
                ..Info::range(-2_147_483_648.0, 2_147_483_648.0)
            },
            U2f => Info {
                integral: true,
                minus_zero: false,
                ..Info::range(0.0, 4_294_967_296.0)
            },
            Ssg => Info {
                integral: true,
                ..Info::range(-1.0, 1.0)
            },
            Sin | Cos => Info {
                nan: !arg(0).finite(),
                ..Info::range(-1.0, 1.0)
            },
            Ex2 => Info {
                nan: arg(0).nan,
                minus_zero: false,
                ..Info::range(0.0, f32::INFINITY)
            },
            Sqrt => {
                let a = arg(0);
                Info {
                    lo: 0.0,
                    hi: a.hi.max(0.0).sqrt(),
                    nan: a.nan || a.lo < 0.0,
                    minus_zero: a.minus_zero,
                    ..Info::FLOAT
                }
            }
            Rsq => {
                let a = arg(0);
                Info {
                    lo: if a.minus_zero { f32::NEG_INFINITY } else { 0.0 },
                    nan: a.nan || a.lo < 0.0,
                    minus_zero: false,
                    ..Info::FLOAT
                }
            }
            Rcp => {
                let a = arg(0);
                if a.lo > 0.0 {
                    Info {
                        nan: a.nan,
                        minus_zero: false,
                        ..Info::range(a.hi.recip(), a.lo.recip())
                    }
                } else {
                    Info {
                        nan: a.nan,
                        ..Info::FLOAT
                    }
                }
            }
            Dp2 | Dp3 | Dp4 => {
                let n = match op {
                    Dp2 => 2,
                    Dp3 => 3,
                    _ => 4,
                };
                (1..n).fold(arg(0).mul(arg(n), same(0, n)), |sum, k| {
                    sum.add(arg(k).mul(arg(n + k), same(k, n + k)))
                })
            }
            Sfl => Info::constant(0),
            Str => Info::constant(0x3f80_0000),
            Lrp => Info::FLOAT,
            _ => Info::FLOAT,
        };
        // Where zero wins, products are no NaNs but may be 0 at any place.
        if f.zero_wins && matches!(op, Mul | Mad | Fma | Dp2 | Dp3 | Dp4) {
            return Info {
                lo: info.lo.min(0.0),
                hi: info.hi.max(0.0),
                truth: false,
                ..info
            };
        }
        info
    }

    fn top_of(op: Opcode) -> Info {
        if op.info().dst_ty == Ty::F
            && !matches!(
                op,
                Opcode::Cnd | Opcode::Cnd0 | Opcode::Clamp | Opcode::Swz | Opcode::Mov
            )
        {
            Info::FLOAT
        } else {
            Info::TOP
        }
    }
}
