//! What to do, and to which end.

use std::borrow::Cow;

use tgsi_passes::cx::Sabotage;
use tgsi_rules::Profile;
use tgsi_target::Target;

/// How hard to try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Only reprint.
    O0,
    /// One round.
    O1,
    /// Rounds until nothing changes.
    #[default]
    O2,
    /// As `O2`, with packing restarts, more orders and more allocations.
    O3,
}

/// Options of one optimisation.
#[derive(Clone, Debug)]
pub struct Options {
    /// How hard to try.
    pub level: Level,
    /// The consumer of the result.
    pub target: Target,
    /// These passes, once each in this order, in place of the level's pipeline.
    pub passes: Option<Vec<PassSpec>>,
    /// How many rewrites may happen in all; `None` is no limit.
    pub fuel: Option<u64>,
    /// Verify after every pass, not only at the end.
    pub verify_each: bool,
    /// Check each allocation of registers: does every operand find its word on every path?
    pub check_regalloc: bool,
    /// Passes of the pipeline, rules and [`Stage`]s that are left out.
    pub disable: Vec<String>,
    /// What rewriting may do with floats.
    pub profile: Profile,
    /// Tell which rules changed what each instruction computed, in [`crate::Outcome::explanation`].
    pub explain: bool,
    /// Use nothing that the target's consumer expands itself, so that the result is what the hardware
    /// runs.
    pub expand: bool,
    /// Take what the first round makes, whatever it costs: what is looked for by leaving things out
    /// would vanish where the rest does not pay.
    pub any_cost: bool,
    /// A fault made on purpose, for tests of what finds faults: see `docs/testing.md`.
    #[doc(hidden)]
    pub sabotage: Option<Fault>,
    /// A clock in nanoseconds, for [`crate::Outcome::pass_times`]. The default stands still at 0.
    pub now: fn() -> u64,
}

impl Options {
    /// What the result is for: the target, without what its consumer expands if that may not be used.
    pub fn consumer(&self) -> Cow<'_, Target> {
        if self.expand && !self.target.opcodes.expanded.is_empty() {
            Cow::Owned(self.target.clone().without_expansions())
        } else {
            Cow::Borrowed(&self.target)
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            level: Level::default(),
            target: Target::default(),
            passes: None,
            fuel: None,
            verify_each: false,
            check_regalloc: false,
            disable: Vec::new(),
            profile: Profile::Auto,
            explain: false,
            expand: false,
            any_cost: false,
            sabotage: None,
            now: || 0,
        }
    }
}

/// A part of the pipeline behind the passes that can be left out by its name in [`Options::disable`].
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
}

impl Stage {
    /// All of them, in the order in which they take part.
    pub const ALL: [Stage; 9] = [
        Stage::Merging,
        Stage::Mixing,
        Stage::Packings,
        Stage::Orders,
        Stage::PartFetches,
        Stage::ExactSearch,
        Stage::Restarts,
        Stage::Rounds,
        Stage::Saturation,
    ];

    /// Its name in [`Options::disable`].
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

/// One entry of a list of passes: `name` or `name(arg,arg)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassSpec {
    /// Name of the pass.
    pub name: String,
    /// What stands in the brackets.
    pub args: Vec<String>,
}

impl PassSpec {
    /// Reads a list such as `copy-prop,pack(16),dce`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the list. Names are not looked up.
    pub fn parse_list(list: &str) -> Result<Vec<PassSpec>, String> {
        let mut specs = Vec::new();
        let mut rest = list.trim();
        while !rest.is_empty() {
            let end = rest.find([',', '(']).unwrap_or(rest.len());
            let name = rest[..end].trim();
            if name.is_empty() {
                return Err(format!("a pass name is missing in '{list}'"));
            }
            let mut spec = PassSpec {
                name: name.to_owned(),
                args: Vec::new(),
            };
            rest = &rest[end..];
            if let Some(inner) = rest.strip_prefix('(') {
                let Some(close) = inner.find(')') else {
                    return Err(format!("'(' without ')' after '{name}'"));
                };
                spec.args = inner[..close]
                    .split(',')
                    .map(|a| a.trim().to_owned())
                    .filter(|a| !a.is_empty())
                    .collect();
                rest = inner[close + 1..].trim_start();
            }
            specs.push(spec);
            match rest.strip_prefix(',') {
                Some(next) if next.trim().is_empty() => {
                    return Err(format!("a pass name is missing at the end of '{list}'"));
                }
                Some(next) => rest = next.trim_start(),
                None if rest.is_empty() => {}
                None => return Err(format!("expected ',' before '{rest}'")),
            }
        }
        Ok(specs)
    }
}

/// What `--list-passes` says of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassInfo {
    /// Name, as `--passes` takes it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
}

#[cfg(test)]
mod tests {
    use super::PassSpec;

    fn check(list: &str, expect: &str) {
        let got = match PassSpec::parse_list(list) {
            Ok(specs) => specs
                .iter()
                .map(|s| format!("{}[{}]", s.name, s.args.join(" ")))
                .collect::<Vec<_>>()
                .join(" "),
            Err(e) => format!("error: {e}"),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn lists_of_passes() {
        check("", "");
        check("dce", "dce[]");
        check("a,b(c)", "a[] b[c]");
        check(" a ( 1 , 2 ) , b ", "a[1 2] b[]");
        check("a,", "error: a pass name is missing at the end of 'a,'");
        check(",a", "error: a pass name is missing in ',a'");
        check("a(b", "error: '(' without ')' after 'a'");
        check("a(b)c", "error: expected ',' before 'c'");
    }
}
