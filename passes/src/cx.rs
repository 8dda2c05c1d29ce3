//! What every pass gets beside the function.

use std::cell::{Cell, RefCell};

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
