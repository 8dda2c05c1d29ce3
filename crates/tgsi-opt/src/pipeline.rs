//! The optimising pipeline.

use tgsi::Program;
use tgsi_target::count;

use crate::{Observer, Options, Outcome, PassInfo};

/// Optimises a program. Never fails: where it cannot do better, the input is the result.
pub fn optimize(program: &Program, options: &Options) -> Outcome {
    optimize_with(program, options, None)
}

/// As [`optimize`], telling `observer` of every pass.
pub fn optimize_with(
    program: &Program,
    options: &Options,
    observer: Option<&mut dyn Observer>,
) -> Outcome {
    let _ = (options, observer);
    let counts = count(program);
    Outcome {
        program: program.clone(),
        before: counts,
        after: counts,
        unchanged: true,
        fallback: None,
        rounds: 0,
        temps_bound: None,
        pass_times: Vec::new(),
    }
}

/// Every pass, in the order of the registry.
pub fn passes() -> &'static [PassInfo] {
    &[]
}
