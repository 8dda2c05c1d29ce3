//! What can be left out or spoilt, to find faults.

use tgsi::Program;
use tgsi_passes::cx::Sabotage;

/// A part of the pipeline behind the passes that can be left out by its name in [`crate::Options::disable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Equality saturation.
    Saturation,
    /// Rounds behind the first, and the search of -O3.
    Rounds,
    /// Packs of one operation made one.
    Merging,
    /// Packs of different operations made one.
    Mixing,
    /// Further packings.
    Packings,
    /// Further orders of packs.
    Orders,
    /// Fetches allocated in parts.
    PartFetches,
    /// The exact search for fewer temporaries.
    ExactSearch,
    /// Restarts of the allocation.
    Restarts,
    /// Registers shared by arrays.
    Arrays,
}

impl Stage {
    /// All of them, in the order in which they take part.
    pub const ALL: [Stage; 10] = [
        Stage::Merging,
        Stage::Mixing,
        Stage::Packings,
        Stage::Orders,
        Stage::PartFetches,
        Stage::ExactSearch,
        Stage::Restarts,
        Stage::Rounds,
        Stage::Saturation,
        Stage::Arrays,
    ];

    /// Its name in [`crate::Options::disable`].
    pub fn name(self) -> &'static str {
        match self {
            Stage::Saturation => "saturation",
            Stage::Rounds => "more-rounds",
            Stage::Merging => "merging",
            Stage::Mixing => "mixing",
            Stage::Packings => "more-packings",
            Stage::Orders => "more-orders",
            Stage::PartFetches => "part-fetches",
            Stage::ExactSearch => "exact-search",
            Stage::Restarts => "restarts",
            Stage::Arrays => "array-sharing",
        }
    }

    /// What it is, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Stage::Saturation => "equality saturation",
            Stage::Rounds => "rounds behind the first",
            Stage::Merging => "packs of one operation made one",
            Stage::Mixing => "packs of different operations made one",
            Stage::Packings => "further packings",
            Stage::Orders => "further orders of packs",
            Stage::PartFetches => "fetches allocated in parts",
            Stage::ExactSearch => "the exact search for fewer temporaries",
            Stage::Restarts => "restarts of the allocation of registers",
            Stage::Arrays => "registers shared by arrays",
        }
    }

    /// The stage of a name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// A fault made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// In the passes.
    Pass(Sabotage),
    /// The result of a stage has a wrong sign in its last instruction with an operand.
    Stage(Stage),
}

impl Fault {
    /// The fault of a pass, a rule or a stage by its name; `panic` and `refuse` are for every rewrite.
    pub fn from_name(name: &str) -> Option<Fault> {
        let pass = match name {
            "const-fold" => Sabotage::ConstFold,
            "algebra" => Sabotage::Algebra,
            "if-convert" => Sabotage::IfConvert,
            "panic" => Sabotage::Panic,
            "refuse" => Sabotage::Refuse,
            _ => {
                let stage = Stage::from_name(name).map(Fault::Stage);
                let rule = || tgsi_passes::rules::rule_set().position(name);
                return stage.or_else(|| Some(Fault::Pass(Sabotage::Rule(rule()? as u16))));
            }
        };
        Some(Fault::Pass(pass))
    }
}

/// Turns the sign of the first operand that is a value in the last instruction that has one.
pub(crate) fn spoil(program: &mut Program) {
    let values = |s: &&mut tgsi::Src| {
        use tgsi::File::{Const, Imm, In, Temp};
        matches!(s.reg.file, Temp | Const | Imm | In)
    };
    let mut sources = program.insts.iter_mut().rev().flat_map(|i| &mut i.srcs);
    if let Some(src) = sources.find(values) {
        src.neg = !src.neg;
    }
}
