//! What every pass gets beside the function.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tgsi_egraph::Reached;
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
    /// Asks leave for one rewrite. `false` when the fuel is used up.
    pub fn spend(&self) -> bool {
        match self.fuel.get() {
            Some(0) => return false,
            Some(n) => self.fuel.set(Some(n - 1)),
            None => {}
        }
        self.rewrites.set(self.rewrites.get() + 1);
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
