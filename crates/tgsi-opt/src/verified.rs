//! A result set against its input before it leaves.

use tgsi::Program;
use tgsi_interp::equiv::{EquivOptions, Mismatch, Tolerance, compare};
use tgsi_ir::lift;
use tgsi_passes::egraph::{Membership, membership};
use tgsi_rules::Contract;
use tgsi_target::count;

use crate::{Fallback, FallbackKind, Options, Outcome, Verification};

/// Floats of results that rest on liberties may differ by this part of the larger one,
const RELATIVE: f32 = 1e-4;
/// or by this much.
const ABSOLUTE: f32 = 1e-5;

/// An outcome, or the input where both do not compute the same in [`Options::verify`] cases: bit for bit,
/// with a quarter as many cases of special values, if the result rests on exact rules and joined
/// products alone (the interpreter's MAD has two roundings); else nearly, on ordinary values.
pub(crate) fn verified(outcome: Outcome, input: &Program, options: &Options) -> Outcome {
    let Some(cases) = options.verify.filter(|_| !outcome.unchanged) else {
        return outcome;
    };
    let contract = outcome.rewriting.contract;
    let proof = proof(input, &outcome.program, contract, options);
    let exact = contract.without(Contract::CONTRACT).is_exact();
    let report = compare(
        input,
        &outcome.program,
        &EquivOptions {
            cases,
            special_cases: if exact { cases.div_ceil(4) } else { 0 },
            tolerance: if exact {
                Tolerance::Exact
            } else {
                Tolerance::Relative {
                    rel: RELATIVE,
                    abs: ABSOLUTE,
                }
            },
            ..EquivOptions::default()
        },
    );
    let verification = Some(Verification {
        cases: report.cases_run,
        exact,
        roots: proof.roots,
        proved: proof.proved,
        open: proof.open,
    });
    match report.mismatches.first() {
        None => Outcome {
            verification,
            ..outcome
        },
        Some(first) => Outcome {
            fallback: Some(Fallback {
                kind: FallbackKind::Unverified,
                stage: "verify".to_owned(),
                reason: reason(first),
            }),
            rounds: outcome.rounds,
            pass_times: outcome.pass_times,
            verification,
            ..Outcome::input(input, count(input))
        },
    }
}

/// How much of a result is proved; all of it counts as one open root where one of the two is not lifted.
fn proof(input: &Program, result: &Program, contract: Contract, options: &Options) -> Membership {
    match (lift(input), lift(result)) {
        (Ok(a), Ok(b)) => membership(&a, &b, contract, options.profile),
        (Err(e), _) | (_, Err(e)) => Membership {
            roots: 1,
            proved: 0,
            open: Some(e.to_string()),
        },
    }
}

fn reason(m: &Mismatch) -> String {
    let chan = ["x", "y", "z", "w"][usize::from(m.chan & 3)];
    let b = match m.b {
        Some(b) => format!("{b:08x}"),
        None => "undefined".to_owned(),
    };
    format!(
        "the result differs in case {}: {} lane {} {chan} is {:08x}, then {b}",
        m.case, m.what, m.lane, m.a
    )
}
