//! What a rule needs of its program, and what programs grant.

use std::fmt;

/// A set of liberties with floats, in the words of LLVM's fast-math flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Contract(u16);

/// Flags by name, in the order in which they are printed.
const NAMES: [(&str, Contract); 10] = [
    ("nsz", Contract::NSZ),
    ("nnan", Contract::NNAN),
    ("unord", Contract::UNORD),
    ("ninf", Contract::NINF),
    ("contract", Contract::CONTRACT),
    ("reassoc", Contract::REASSOC),
    ("arcp", Contract::ARCP),
    ("afn", Contract::AFN),
    ("legacy-zero", Contract::LEGACY_ZERO),
    ("ieee-zero", Contract::IEEE_ZERO),
];

impl Contract {
    /// Bit for bit, but for the payload of a NaN.
    pub const EXACT: Contract = Contract(0);
    /// The sign of a zero does not matter.
    pub const NSZ: Contract = Contract(1);
    /// No operand and no result is a NaN.
    pub const NNAN: Contract = Contract(2);
    /// A test of a NaN may come out either way: stronger than [`Contract::NNAN`], under which a NaN
    /// may become another float but does not decide between two.
    pub const UNORD: Contract = Contract(512);
    /// No operand and no result is infinite.
    pub const NINF: Contract = Contract(4);
    /// A product and a sum may be joined to one operation or taken apart.
    pub const CONTRACT: Contract = Contract(8);
    /// Sums and products may be regrouped and factored.
    pub const REASSOC: Contract = Contract(16);
    /// A division may be a product with the reciprocal.
    pub const ARCP: Contract = Contract(32);
    /// Functions may be replaced by others that approximate the same.
    pub const AFN: Contract = Contract(64);
    /// `0 * x` is 0 whatever `x` is.
    pub const LEGACY_ZERO: Contract = Contract(128);
    /// `0 * x` is as IEEE 754 says: false under `MUL_ZERO_WINS`.
    pub const IEEE_ZERO: Contract = Contract(256);

    /// The flag of that name.
    pub fn from_name(name: &str) -> Option<Contract> {
        NAMES.iter().find(|n| n.0 == name).map(|n| n.1)
    }

    /// Whether all of `other` is in it.
    pub fn includes(self, other: Contract) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether they have a flag in common.
    pub fn intersects(self, other: Contract) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Contract) -> Contract {
        Contract(self.0 | other.0)
    }

    /// Without the flags of `other`.
    #[must_use]
    pub const fn without(self, other: Contract) -> Contract {
        Contract(self.0 & !other.0)
    }

    /// Whether it is [`Contract::EXACT`], apart from the rule of `0 * x` in force.
    pub fn is_exact(self) -> bool {
        self.without(Contract::LEGACY_ZERO.and(Contract::IEEE_ZERO))
            .0
            == 0
    }

    /// The names of its flags.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .filter(move |n| self.includes(n.1))
            .map(|n| n.0)
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Contract::EXACT {
            return f.write_str("exact");
        }
        for (i, name) in self.names().enumerate() {
            write!(f, "{}{name}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// What a program lets be done with its floats; `_PRECISE` values grant nothing under any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// By the program: [`Profile::D3d9`] under `MUL_ZERO_WINS`, else [`Profile::Glsl`].
    #[default]
    Auto,
    /// Nothing.
    Strict,
    /// What the OpenGL Shading Language leaves open.
    Glsl,
    /// What `ARB_vertex_program` and `ARB_fragment_program` leave open.
    Arb,
    /// Direct3D 9: zero wins a product, so infinities and NaNs are in use.
    D3d9,
    /// Everything.
    Fast,
}

impl Profile {
    /// Every profile, in the order of the documentation.
    pub const ALL: [Profile; 6] = [
        Profile::Auto,
        Profile::Strict,
        Profile::Glsl,
        Profile::Arb,
        Profile::D3d9,
        Profile::Fast,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Auto => "auto",
            Profile::Strict => "strict",
            Profile::Glsl => "glsl",
            Profile::Arb => "arb",
            Profile::D3d9 => "d3d9",
            Profile::Fast => "fast",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|p| p.name() == name)
    }

    /// What it grants in a program where zero wins a product or not.
    pub fn grants(self, zero_wins: bool) -> Contract {
        let zero = if zero_wins {
            Contract::LEGACY_ZERO
        } else {
            Contract::IEEE_ZERO
        };
        let granted = match self {
            Profile::Auto if zero_wins => Profile::D3d9.grants(zero_wins),
            Profile::Auto => Profile::Glsl.grants(zero_wins),
            Profile::Strict => Contract::EXACT,
            Profile::Glsl | Profile::Arb => Contract::NSZ
                .and(Contract::NNAN)
                .and(Contract::NINF)
                .and(Contract::CONTRACT)
                .and(Contract::REASSOC)
                .and(Contract::ARCP),
            Profile::D3d9 => Contract::NSZ
                .and(Contract::CONTRACT)
                .and(Contract::REASSOC)
                .and(Contract::ARCP),
            Profile::Fast => Profile::Glsl
                .grants(zero_wins)
                .and(Contract::UNORD)
                .and(Contract::AFN),
        };
        granted.and(zero).and(match self {
            // Its text leaves 0 * x = 0 to implementations, and defines POW by EX2 and LG2.
            Profile::Arb => Contract::LEGACY_ZERO.and(Contract::AFN),
            Profile::Fast => Contract::LEGACY_ZERO,
            _ => Contract::EXACT,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (name, flag) in NAMES {
            assert_eq!(Contract::from_name(name), Some(flag));
            assert_eq!(flag.to_string(), name);
        }
        for p in Profile::ALL {
            assert_eq!(Profile::from_name(p.name()), Some(p));
        }
        assert_eq!(Contract::EXACT.to_string(), "exact");
        assert_eq!(Contract::NSZ.and(Contract::ARCP).to_string(), "nsz, arcp");
    }

    #[test]
    fn strict_grants_nothing() {
        for zero_wins in [false, true] {
            assert!(Profile::Strict.grants(zero_wins).is_exact());
            assert!(!Profile::Strict.grants(zero_wins).includes(Contract::NSZ));
        }
    }

    #[test]
    fn where_zero_wins_infinities_count() {
        assert!(!Profile::Auto.grants(true).includes(Contract::NINF));
        assert!(Profile::Auto.grants(false).includes(Contract::NINF));
        assert!(!Profile::Auto.grants(true).includes(Contract::IEEE_ZERO));
    }
}
