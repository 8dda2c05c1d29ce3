//! What every pass gets beside the function.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tgsi_egraph::Reached;
use tgsi_ir::{Chaos, LaneHint};
use tgsi_rules::{Contract, Profile};
use tgsi_target::Taken;

/// Settings and counters of a run of passes.
#[derive(Debug, Default)]
pub struct PassCx {
    /// Rewrites left; `None` = no limit. A pass stops rewriting when it reaches 0.
    pub fuel: Cell<Option<u64>>,
    /// Rewrites done so far.
    pub rewrites: Cell<u64>,
    /// Whether the function is verified after every pass; debug builds always do.
    pub verify: bool,
    /// What verification found, with the name of the pass. Stays empty unless there is a bug.
    pub faults: RefCell<Vec<String>>,
    /// What the program lets be done with its floats.
    pub profile: Profile,
    /// What the consumer takes: nothing else is made.
    pub taken: Arc<Taken>,
    /// Rules that are left out, by number.
    pub disabled_rules: Vec<u16>,
    /// Whether [`Rewriting::steps`] is kept.
    pub explain: bool,
    /// What rewriting did.
    pub rewriting: RefCell<Rewriting>,
    /// Which round of a pipeline it is, for [`Site::round`].
    pub round: u32,
    /// Decides by chance what heuristics would, for tests.
    pub chaos: Option<Chaos>,
    /// Where the last unit of fuel went; empty as long as there is some left.
    pub last: LastSite,
    /// A fault that is made on purpose.
    pub sabotage: Option<Sabotage>,
}

/// Where the last unit of fuel went. Shared, so that it is known of a pass that never returned, too.
pub type LastSite = Rc<Cell<Option<Site>>>;

/// What a rewrite was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The pass.
    pub pass: &'static str,
    /// The rewrite rule, by number, if it was one.
    pub rule: Option<u16>,
    /// Where the program that the round began with computed what was rewritten, where that is known.
    pub hint: Option<LaneHint>,
    /// Which round of the pipeline, from 1.
    pub round: u32,
}

/// A fault made on purpose, for tests of what finds faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sabotage {
    /// Folding gives a constant with the lowest bit of its exponent the other way round.
    ConstFold,
    /// What an identity finds to be the same is its negation.
    Algebra,
    /// Branches become selections of the wrong arm.
    IfConvert,
    /// A rewrite rule gives the negation of what it should.
    Rule(u16),
    /// A rewrite panics.
    Panic,
    /// The check behind the passes objects to every rewrite.
    Refuse,
}

/// Counters of rewriting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewriting {
    /// Values in the graphs, alternatives among them.
    pub nodes: u64,
    /// Values with alternatives.
    pub classes: u64,
    /// How often each rule took part in the result, by number.
    pub fired: Vec<u32>,
    /// The contracts of the rules that took part.
    pub contract: Contract,
    /// Graphs that were made.
    pub iterations: u32,
    /// Which budgets ran out, and how often.
    pub reached: Reached,
    /// The rules on the way to the result, by number, with the source instruction and lane that computed
    /// what they changed. Only kept if [`PassCx::explain`] is set.
    pub steps: Vec<(u32, u8, u16)>,
}

impl PassCx {
    /// Asks leave for one rewrite, by a pass, of what was computed at `hint`. `false` when the fuel is
    /// used up.
    pub fn spend(&self, pass: &'static str, hint: Option<LaneHint>) -> bool {
        self.spend_on(pass, None, hint)
    }

    /// As [`PassCx::spend`], by a rewrite rule.
    pub fn spend_on_rule(&self, rule: u16, hint: LaneHint) -> bool {
        self.spend_on("egraph", Some(rule), Some(hint))
    }

    fn spend_on(&self, pass: &'static str, rule: Option<u16>, hint: Option<LaneHint>) -> bool {
        match self.fuel.get() {
            Some(0) => return false,
            Some(n) => {
                self.fuel.set(Some(n - 1));
                if n == 1 {
                    self.last.set(Some(Site {
                        pass,
                        rule,
                        hint,
                        round: self.round,
                    }));
                }
            }
            None => {}
        }
        self.rewrites.set(self.rewrites.get() + 1);
        match self.sabotage {
            Some(Sabotage::Panic) => panic!("a panic on purpose, by {pass}"),
            Some(Sabotage::Refuse) => {
                let fault = format!("{pass}: a fault on purpose");
                self.faults.borrow_mut().push(fault);
            }
            _ => {}
        }
        true
    }
}

impl Rewriting {
    /// Adds what was done to the same program before or after.
    pub fn add(&mut self, other: &Rewriting) {
        self.nodes += other.nodes;
        self.classes += other.classes;
        if self.fired.len() < other.fired.len() {
            self.fired.resize(other.fired.len(), 0);
        }
        for (a, b) in self.fired.iter_mut().zip(&other.fired) {
            *a += b;
        }
        self.contract = self.contract.and(other.contract);
        self.iterations += other.iterations;
        self.reached.add(other.reached);
        self.steps.extend(&other.steps);
    }
}
