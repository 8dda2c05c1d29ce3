//! Terms, conditions and rules.

use std::fmt;

use tgsi::{Opcode, Shape};

use crate::Contract;

/// An operation of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// A componentwise, replicated or dot operation on scalars. The operands of a dot product are
    /// the channels of the first vector, then those of the second.
    Alu(Opcode),
    /// Float negation.
    Neg,
    /// Float absolute value.
    Abs,
    /// Integer negation.
    INeg,
    /// Saturation.
    Sat,
    /// The test of a KILL_IF: its operand counts only by being below zero. Stands at a root only.
    Kill,
}

/// Mnemonics of the operations that are no opcodes.
const OTHERS: [(&str, Op); 5] = [
    ("neg", Op::Neg),
    ("abs", Op::Abs),
    ("ineg", Op::INeg),
    ("sat", Op::Sat),
    ("kill", Op::Kill),
];

impl Op {
    /// The operation with that mnemonic.
    pub fn from_name(name: &str) -> Option<Op> {
        if let Some(o) = OTHERS.iter().find(|o| o.0 == name) {
            return Some(o.1);
        }
        let op = Opcode::from_name(&name.to_ascii_uppercase())?;
        let info = op.info();
        let scalar = matches!(info.shape, Shape::Comp | Shape::Repl | Shape::Dot(_));
        let pure = info.effect == tgsi::Effect::Pure && !info.quad;
        (scalar && pure && name.bytes().all(|b| !b.is_ascii_uppercase())).then_some(Op::Alu(op))
    }

    /// Its mnemonic.
    pub fn name(self) -> String {
        match self {
            Op::Alu(op) => op.name().to_ascii_lowercase(),
            other => OTHERS
                .iter()
                .find(|o| o.1 == other)
                .map_or_else(String::new, |o| o.0.to_owned()),
        }
    }

    /// The number of its operands.
    pub fn arity(self) -> usize {
        match self {
            Op::Alu(op) => match op.info().shape {
                Shape::Dot(_) if op == Opcode::Dp2a => 5,
                Shape::Dot(_) if op == Opcode::Dph => 7,
                Shape::Dot(n) => 2 * usize::from(n),
                _ => op.info().srcs.into(),
            },
            _ => 1,
        }
    }

    /// Whether its first two operands may change places, bit for bit. MIN and MAX are not among
    /// them: of two zeros they give the first.
    pub fn commutes(self) -> bool {
        use Opcode::*;
        let Op::Alu(op) = self else { return false };
        matches!(
            op,
            Add | Mul
                | Mad
                | Fma
                | Seq
                | Sne
                | Fseq
                | Fsne
                | Uadd
                | Umul
                | Umad
                | UmulHi
                | ImulHi
                | And
                | Or
                | Xor
                | Useq
                | Usne
                | Imin
                | Imax
                | Umin
                | Umax
                | Dadd
                | Dmul
                | Dmad
                | Dseq
                | Dsne
        )
    }
}

/// A variable of a rule, by its place in [`Rule::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u8);

/// A term over variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Anything, or a constant if the variable's name starts with `#`.
    Var(Var),
    /// A word.
    Word(u32),
    /// An operation.
    Op(Op, Vec<Term>),
}

impl Term {
    /// Calls `f` for each variable, left to right.
    pub fn each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Term::Var(v) => f(*v),
            Term::Word(_) => {}
            Term::Op(_, args) => args.iter().for_each(|a| a.each_var(f)),
        }
    }

    /// Calls `f` for each operation, outer before inner.
    pub fn each_op(&self, f: &mut dyn FnMut(Op)) {
        if let Term::Op(op, args) = self {
            f(*op);
            args.iter().for_each(|a| a.each_op(f));
        }
    }

    /// The number of operations along the longest way down.
    pub fn depth(&self) -> usize {
        match self {
            Term::Op(_, args) => 1 + args.iter().map(Term::depth).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// What an analysis can know of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fact {
    /// No NaN.
    NotNan,
    /// Neither infinite nor NaN.
    Finite,
    /// At least -0, no NaN.
    NonNegative,
    /// Above 0, no NaN.
    Positive,
    /// Neither 0 nor -0.
    NonZero,
    /// Of [+0, 1], not -0.
    Unit,
    /// Of [-1, 1], no NaN.
    SignedUnit,
    /// 0.0 or 1.0.
    Bool,
    /// 0 or all ones.
    Mask,
    /// An integer, an infinity or a NaN.
    Integral,
    /// Not -0.
    NotMinusZero,
    /// Made by a float operation: a NaN in it has no payload that counts.
    Float,
    /// Constant: a power of two with a normal inverse.
    PowerOfTwo,
    /// Constant: below 32 as an integer.
    Shift,
    /// Constant: an integer that is a power of two.
    IntPowerOfTwo,
    /// Constant: finite and not zero.
    Scale,
    /// Constant: as an integer one less than a power of two.
    LowMask,
}

/// Facts by name.
const FACTS: [(&str, Fact); 17] = [
    ("not-nan", Fact::NotNan),
    ("finite", Fact::Finite),
    ("non-negative", Fact::NonNegative),
    ("positive", Fact::Positive),
    ("non-zero", Fact::NonZero),
    ("unit", Fact::Unit),
    ("signed-unit", Fact::SignedUnit),
    ("bool", Fact::Bool),
    ("mask", Fact::Mask),
    ("integral", Fact::Integral),
    ("not-minus-zero", Fact::NotMinusZero),
    ("float", Fact::Float),
    ("power-of-two", Fact::PowerOfTwo),
    ("shift", Fact::Shift),
    ("int-power-of-two", Fact::IntPowerOfTwo),
    ("scale", Fact::Scale),
    ("low-mask", Fact::LowMask),
];

impl Fact {
    /// The fact of that name.
    pub fn from_name(name: &str) -> Option<Fact> {
        FACTS.iter().find(|f| f.0 == name).map(|f| f.1)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FACTS.iter().find(|f| f.1 == self).map_or("", |f| f.0)
    }

    /// Whether a word has it, for the facts that hold of a constant by itself.
    pub fn holds_of(self, w: u32) -> bool {
        let x = f32::from_bits(w);
        match self {
            Fact::NotNan => !x.is_nan(),
            Fact::Finite => x.is_finite(),
            Fact::NonNegative => x >= 0.0,
            Fact::Positive => x > 0.0,
            Fact::NonZero => x != 0.0,
            Fact::Unit => w <= 0x3f80_0000,
            Fact::SignedUnit => x.abs() <= 1.0,
            Fact::Bool => w == 0 || w == 0x3f80_0000,
            Fact::Mask => w == 0 || w == u32::MAX,
            Fact::Integral => !x.is_finite() || x.trunc() == x,
            Fact::NotMinusZero => w != 0x8000_0000,
            Fact::Float => !x.is_nan(),
            Fact::PowerOfTwo => x.is_normal() && w & 0x007f_ffff == 0 && x.recip().is_normal(),
            Fact::Shift => w < 32,
            Fact::IntPowerOfTwo => w.is_power_of_two(),
            Fact::Scale => x.is_finite() && x != 0.0,
            Fact::LowMask => w != 0 && w & w.wrapping_add(1) == 0,
        }
    }

    /// Whether only constants can have it.
    pub fn of_constants(self) -> bool {
        matches!(
            self,
            Fact::PowerOfTwo | Fact::Shift | Fact::IntPowerOfTwo | Fact::Scale | Fact::LowMask
        )
    }
}

/// A condition of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cond {
    /// The fact is known of the variable.
    Fact(Fact, Var),
    /// The two constants are equal words.
    Equal(Var, Var),
    /// The two constants differ.
    Different(Var, Var),
    /// The first constant is less than the second, as floats.
    Less(Var, Var),
    /// The sum of the two constants is below 32, as integers.
    ShiftSum(Var, Var),
    /// The variable has no other reader than the match.
    Once(Var),
}

/// What becomes of the left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `=>`: the right side is never worse, the left side is dropped.
    Replace,
    /// `~>`: both are kept; extraction chooses.
    Also,
    /// `?>`: as [`Direction::Also`], where there is time to search: by itself the right side is
    /// seldom better, but it may lead to what is.
    Explore,
}

/// A rewrite rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Unique name in kebab case.
    pub name: String,
    /// Name of the file without its ending.
    pub domain: String,
    /// Line in that file, from 1.
    pub line: u32,
    /// What is matched.
    pub lhs: Term,
    /// What it becomes.
    pub rhs: Term,
    /// What becomes of the left side.
    pub direction: Direction,
    /// What the program must grant.
    pub contract: Contract,
    /// Conditions, all of which must hold.
    pub conds: Vec<Cond>,
    /// Why it holds.
    pub why: String,
    /// Names of the variables; those of constants start with `#`.
    pub vars: Vec<String>,
}

impl Rule {
    /// Whether a variable stands for a constant.
    pub fn is_constant(&self, v: Var) -> bool {
        self.vars
            .get(usize::from(v.0))
            .is_some_and(|n| n.starts_with('#'))
    }

    /// Whether the rule hands a word on instead of computing it: then the payload of a NaN could
    /// change, which needs a proof of its own.
    pub fn hands_on(&self) -> bool {
        fn moves(t: &Term) -> bool {
            match t {
                Term::Var(_) => true,
                Term::Word(_) => false,
                Term::Op(Op::Neg | Op::Abs, args) => args.iter().any(moves),
                Term::Op(Op::Alu(Opcode::Cmp | Opcode::Ucmp), args) => {
                    args.iter().skip(1).any(moves)
                }
                Term::Op(..) => false,
            }
        }
        fn float(t: &Term) -> bool {
            match t {
                Term::Op(Op::Alu(Opcode::Cmp | Opcode::Ucmp), _) => false,
                Term::Op(Op::Alu(op), _) => op.info().dst_ty == tgsi::Ty::F,
                Term::Op(Op::Sat, _) => true,
                Term::Op(Op::Neg | Op::Abs, args) => args.iter().any(float),
                _ => false,
            }
        }
        moves(&self.rhs) && float(&self.lhs)
    }

    /// The left side as text.
    pub fn left(&self) -> impl fmt::Display + '_ {
        Side(self, &self.lhs)
    }

    /// The right side as text.
    pub fn right(&self) -> impl fmt::Display + '_ {
        Side(self, &self.rhs)
    }

    /// A condition of the rule as text.
    pub fn condition(&self, c: Cond) -> String {
        let name = |v: Var| self.vars.get(usize::from(v.0)).map_or("?", |n| n.as_str());
        match c {
            Cond::Fact(fact, v) => format!("{} {}", fact.name(), name(v)),
            Cond::Equal(a, b) => format!("equal {} {}", name(a), name(b)),
            Cond::Different(a, b) => format!("different {} {}", name(a), name(b)),
            Cond::Less(a, b) => format!("less {} {}", name(a), name(b)),
            Cond::ShiftSum(a, b) => format!("shift-sum {} {}", name(a), name(b)),
            Cond::Once(v) => format!("once {}", name(v)),
        }
    }

    fn term(&self, t: &Term, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            Term::Var(v) => f.write_str(self.vars.get(usize::from(v.0)).map_or("?", |n| n)),
            Term::Word(w) => f.write_str(&word_text(*w)),
            Term::Op(op, args) => {
                write!(f, "({}", op.name())?;
                for a in args {
                    f.write_str(" ")?;
                    self.term(a, f)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A term with the names of its rule's variables.
struct Side<'a>(&'a Rule, &'a Term);

impl fmt::Display for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.term(self.1, f)
    }
}

impl Direction {
    /// The arrow that stands for it.
    pub fn arrow(self) -> &'static str {
        match self {
            Direction::Replace => "=>",
            Direction::Also => "~>",
            Direction::Explore => "?>",
        }
    }
}

/// A word as rules write it: a float where that reads well, else hexadecimal.
fn word_text(w: u32) -> String {
    let x = f32::from_bits(w);
    if w == u32::MAX || w > 0 && w < 0x1000 {
        return format!("{}i", w as i32);
    }
    if x.is_finite() && (x == 0.0 || (1e-6..1e7).contains(&x.abs())) {
        return format!("{x:?}");
    }
    match w {
        0x7f80_0000 => "inf".to_owned(),
        0xff80_0000 => "-inf".to_owned(),
        _ => format!("{w:#x}"),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        self.term(&self.lhs, f)?;
        write!(f, " {} ", self.direction.arrow())?;
        self.term(&self.rhs, f)?;
        if self.contract != Contract::EXACT {
            write!(f, " [{}]", self.contract)?;
        }
        if !self.conds.is_empty() {
            f.write_str(" {")?;
            for (i, c) in self.conds.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                f.write_str(&self.condition(*c))?;
            }
            f.write_str("}")?;
        }
        write!(f, " -- {}", self.why)
    }
}
