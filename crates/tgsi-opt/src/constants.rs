//! When constants are packed: the last thing that is done to a result.

use tgsi::Program;
use tgsi_target::{
    Constants, Counts, Target, count_result, needs, pack_constants, virgl_introduces,
};

use crate::{FallbackKind, Options, Outcome};

/// An outcome with its constants packed, if that was asked for, or if the target has too few without and
/// enough with it.
pub(crate) fn packed(outcome: Outcome, input: &Program, options: &Options) -> Outcome {
    let target = &options.target;
    let asked = options.pack_constants;
    // An input that stands in for a wrong result is given back as it is.
    let refused = |k: FallbackKind| k == FallbackKind::Unverified;
    if outcome.fallback.as_ref().is_some_and(|f| refused(f.kind))
        || !asked && !too_many(target, &outcome.program, &outcome.after)
    {
        return outcome;
    }
    let Some((program, constants)) = pack_constants(&outcome.program) else {
        return outcome;
    };
    let after = count_result(&program, input);
    if !asked && too_many(target, &program, &after)
        || target.virgl && !virgl_introduces(input, &program).is_empty()
    {
        return outcome;
    }
    Outcome {
        program,
        after,
        constants,
        unchanged: false,
        ..outcome
    }
}

/// Whether a program takes more constant registers than a target has for those that it names.
fn too_many(target: &Target, program: &Program, counts: &Counts) -> bool {
    let Some(most) = target.limits.constants else {
        return false;
    };
    target.constants != Constants::Declared
        && needs(target, program, counts)
            .constants
            .is_some_and(|n| n > most)
}
