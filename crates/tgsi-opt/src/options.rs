//! What to do, and to which end.

use std::borrow::Cow;

use tgsi_rules::Profile;
use tgsi_target::Target;

use crate::Fault;

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
    /// Search as at `O3` for a result that fits where that of `O2` nearly does.
    pub search_to_fit: bool,
    /// Prove what can be proved of the result ([`crate::Outcome::verification`]), run it beside the input in
    /// the interpreter on so many cases, and return the input if they differ.
    pub verify: Option<u32>,
    /// Passes of the pipeline, rules and [`crate::Stage`]s that are left out.
    pub disable: Vec<String>,
    /// What rewriting may do with floats.
    pub profile: Profile,
    /// Tell which rules changed what each instruction computed, in [`crate::Outcome::explanation`].
    pub explain: bool,
    /// Use nothing that the target's consumer expands or copies itself, so that the result is what the
    /// hardware runs.
    pub expand: bool,
    /// Take what the first round makes, whatever it costs: what is looked for by leaving things out
    /// would vanish where the rest does not pay.
    pub any_cost: bool,
    /// Pack the constants of the result, in [`crate::Outcome::constants`]: for callers that upload them
    /// as told there.
    pub pack_constants: bool,
    /// A seed by which chance decides where otherwise a heuristic would: budgets and order of rules, prices
    /// of equal values, which branches and loops are written out, priorities of packs, order of instructions
    /// and of registers. For tests: the result may cost more than without, but it is right, legal for the
    /// target and never behind the input, and equal seeds give equal results.
    pub chaos: Option<u64>,
    /// A fault made on purpose, for tests of what finds faults: see `docs/testing.md`.
    #[doc(hidden)]
    pub sabotage: Option<Fault>,
    /// A clock in nanoseconds, for [`crate::Outcome::pass_times`]. The default stands still at 0.
    pub now: fn() -> u64,
}

impl Options {
    /// What the result is for: the target, without what its consumer does if that may not be used.
    pub fn consumer(&self) -> Cow<'_, Target> {
        if self.expand {
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
            search_to_fit: true,
            verify: None,
            disable: Vec::new(),
            profile: Profile::Auto,
            explain: false,
            expand: false,
            any_cost: false,
            pack_constants: false,
            chaos: None,
            sabotage: None,
            now: || 0,
        }
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
