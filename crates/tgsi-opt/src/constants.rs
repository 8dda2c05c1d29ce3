//! When constants are packed: the last thing that is done to a result.

use tgsi::Program;
use tgsi_target::{
    Constants, Counts, count, count_result, needs, pack_constants, virgl_introduces,
};

use crate::{FallbackKind, Options, Outcome};

/// An outcome with its constants packed, if that was asked for: whoever uploads them has to know.
pub(crate) fn packed(outcome: Outcome, input: &Program, options: &Options) -> Outcome {
    // An input that stands in for a wrong result is given back as it is.
    let refused = |k: FallbackKind| k == FallbackKind::Unverified;
    if !options.pack_constants || outcome.fallback.as_ref().is_some_and(|f| refused(f.kind)) {
        return outcome;
    }
    let Some((program, constants)) = pack_constants(&outcome.program) else {
        return outcome;
    };
    if options.target.virgl && !virgl_introduces(input, &program).is_empty() {
        return outcome;
    }
    let after = count_result(&program, input);
    Outcome {
        program,
        after,
        constants,
        unchanged: false,
        ..outcome
    }
}

/// Whether a result has more constants than the target, and would not if they were packed.
pub fn packing_helps(outcome: &Outcome, options: &Options) -> bool {
    let target = &options.target;
    let short = |program: &Program, counts: &Counts| {
        let needs = needs(target, program, counts).constants;
        needs
            .zip(target.limits.constants)
            .is_some_and(|(n, most)| n > most)
    };
    !options.pack_constants
        && target.constants != Constants::Declared
        && short(&outcome.program, &outcome.after)
        && pack_constants(&outcome.program).is_some_and(|(p, _)| !short(&p, &count(&p)))
}
