//! Which rewrite makes a result wrong.
//!
//! Fuel orders the rewrites of an optimisation, so that two runs that differ by one unit differ by one
//! rewrite. Between no fuel with a right result and all of it with a wrong one there is such a pair, and
//! halving finds it. Where the result is wrong without any rewrite, the stages behind the passes are
//! left out, then taken in again one by one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tgsi::Program;
use tgsi_passes::cx::LastSite;

use crate::explain::{NOWHERE, Origins};
use crate::pipeline::optimize_watched;
use crate::{FallbackKind, LastRewrite, Level, Options, Outcome, Stage};

/// What [`bisect`] found.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// What makes the result wrong; nothing where it is right.
    pub culprit: Option<Culprit>,
    /// How many results were looked at.
    pub calls: u64,
}

/// What makes a result wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The input, as it is.
    Input,
    /// A rewrite.
    Rewrite {
        /// The least fuel with which it is done.
        fuel: u64,
        /// Rewrites in all; not known where they end in a panic.
        of: Option<u64>,
        /// What it was, where that is known.
        rewrite: Option<LastRewrite>,
        /// Whether the result is right without its rule, if it is one.
        mended: Option<bool>,
    },
    /// A rewrite rule, where fuel led to another rewrite, which only let it show.
    Rule {
        /// The rule.
        rule: &'static str,
        /// The rewrite that let it show.
        shown_by: Option<LastRewrite>,
    },
    /// A part of the pipeline.
    Stage(Stage),
    /// What cannot be left out: lifting, placing, packing, allocation or printing.
    Rest,
}

/// Finds what makes the result for `options` wrong. `is_right` judges results; those that a check
/// of the optimiser refuses, and panics, are wrong whatever it says.
pub fn bisect(
    program: &Program,
    options: &Options,
    is_right: &mut dyn FnMut(&Outcome) -> bool,
) -> Bisection {
    let mut search = Search {
        program,
        is_right,
        calls: 0,
    };
    let culprit = search.culprit(options);
    Bisection {
        culprit,
        calls: search.calls,
    }
}

struct Search<'a> {
    program: &'a Program,
    is_right: &'a mut dyn FnMut(&Outcome) -> bool,
    calls: u64,
}

/// One run of the optimiser.
struct Run {
    right: bool,
    rewrites: Option<u64>,
    last: Option<LastRewrite>,
}

impl Search<'_> {
    fn run(&mut self, options: &Options) -> Run {
        self.calls += 1;
        let last = LastSite::default();
        let optimised = catch_unwind(AssertUnwindSafe(|| {
            optimize_watched(self.program, options, None, LastSite::clone(&last))
        }));
        let Ok(outcome) = optimised else {
            return Run {
                right: false,
                rewrites: None,
                last: last_rewrite(&last, None),
            };
        };
        let refused = outcome
            .fallback
            .as_ref()
            .is_some_and(|f| f.kind == FallbackKind::Unverified);
        Run {
            right: !refused && (self.is_right)(&outcome),
            rewrites: Some(outcome.rewrites),
            last: outcome.last_rewrite,
        }
    }

    fn is_right(&mut self, options: &Options) -> bool {
        self.run(options).right
    }

    fn culprit(&mut self, options: &Options) -> Option<Culprit> {
        let plain = Options {
            level: Level::O0,
            passes: None,
            ..options.clone()
        };
        if !self.is_right(&plain) {
            return Some(Culprit::Input);
        }
        if self.is_right(options) {
            return None;
        }
        // What rewrites spoil shows best where every result counts.
        let counted = [true, options.any_cost].map(|any_cost| Options {
            any_cost,
            fuel: Some(options.fuel.unwrap_or(u64::MAX)),
            explain: true,
            ..options.clone()
        });
        for counted in &counted {
            let all = self.run(counted);
            if !all.right {
                return Some(self.by_fuel(counted, all.rewrites));
            }
        }
        Some(self.by_stages(options))
    }

    /// With all its fuel the result is wrong.
    fn by_fuel(&mut self, options: &Options, rewrites: Option<u64>) -> Culprit {
        let with = |fuel| Options {
            fuel: Some(fuel),
            ..options.clone()
        };
        if !self.is_right(&with(0)) {
            return self.by_stages(&with(0));
        }
        // Between the two the result becomes wrong. A panic hides how much was spent, so the way up is
        // by doubling.
        let (mut good, mut bad) = (0, 1);
        let most = rewrites.or(options.fuel).map_or(u64::MAX, |n| n.max(1));
        while bad < most && self.is_right(&with(bad)) {
            good = bad;
            bad = bad.saturating_mul(2).min(most);
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if self.is_right(&with(middle)) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        let last = self.run(&with(bad)).last;
        let rule = last.and_then(|l| l.rule);
        let mended = rule.map(|rule| self.is_right(&without(options, [rule])));
        if mended != Some(true)
            && let Some(rule) = self.by_rules(options)
        {
            return Culprit::Rule {
                rule,
                shown_by: last,
            };
        }
        Culprit::Rewrite {
            fuel: bad,
            of: rewrites,
            rewrite: last,
            mended,
        }
    }

    /// The rule with which the result becomes wrong, if without all of them it is right: an
    /// alternative may be there long before others make it worth choosing.
    fn by_rules(&mut self, options: &Options) -> Option<&'static str> {
        let names: Vec<&'static str> = crate::rules().rules.iter().map(|r| &*r.name).collect();
        let without_from = |first: usize| without(options, names[first..].iter().copied());
        if !self.is_right(&without_from(0)) {
            return None;
        }
        let (mut good, mut bad) = (0, names.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if self.is_right(&without_from(middle)) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        names.get(good).copied()
    }

    /// The result is wrong whatever the passes do.
    fn by_stages(&mut self, options: &Options) -> Culprit {
        let without_from =
            |first: usize| without(options, Stage::ALL[first..].iter().map(|s| s.name()));
        if !self.is_right(&without_from(0)) {
            return Culprit::Rest;
        }
        for (k, &stage) in Stage::ALL.iter().enumerate() {
            if !self.is_right(&without_from(k + 1)) {
                return Culprit::Stage(stage);
            }
        }
        Culprit::Rest
    }
}

/// Options with more left out.
fn without<'a>(options: &Options, names: impl IntoIterator<Item = &'a str>) -> Options {
    let mut options = options.clone();
    options.disable.extend(names.into_iter().map(str::to_owned));
    options
}

/// The rewrite that took the last unit of fuel. Its round began with a program that computes what the
/// input does at `origins`, where they are known.
pub(crate) fn last_rewrite(last: &LastSite, origins: Option<&Origins>) -> Option<LastRewrite> {
    let site = last.get()?;
    let inst = site.hint.and_then(|h| match origins {
        Some(origins) => Some(origins.get(h.inst, h.lane)?.0),
        None => (site.round == 1).then_some(h.inst),
    });
    Some(LastRewrite {
        pass: site.pass,
        rule: site.rule.map(rule_name),
        round: site.round,
        // What no instruction computes has a number beyond all of them.
        instruction: inst.filter(|&i| i != NOWHERE),
    })
}

/// The name of a rule.
fn rule_name(rule: u16) -> &'static str {
    let rules = &tgsi_passes::rules::rule_set().rules;
    rules.get(usize::from(rule)).map_or("", |r| &r.name)
}
