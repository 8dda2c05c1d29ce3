//! Proofs of rewrite rules.
//!
//! [`prove`] tries a rule of [`tgsi_rules`] by all methods that suit it:
//!
//! | method | what it shows |
//! |---|---|
//! | `definition` | both sides are the same sums of products, whatever the words: MAD, LRP and dot products written out |
//! | `format` | the sides agree on every tuple of words of a small float format, in every mode that the contract leaves open; integers, shifts and fields are scaled with it |
//! | `field` | the sides agree on every value of the bit field that is all they read, in words of 32 bits |
//! | `reals` | the sides are the same function of real numbers, at seeded rational points |
//! | `plain` | no infinity and no NaN comes up on one side only, among numbers that neither round nor overflow |
//! | `table`, `interpreter` | the sides agree on special and seeded words of 32 and 64 bits, computed by the opcode table or by the interpreter |
//!
//! A rule is proved if every method that suits it agrees, the last two among them, and if one of the first
//! three has shown its sides to be the same; or, for a rule that may round otherwise, `reals`. Small
//! formats stand for large ones: what an identity of floats can trip over, zeros, infinities, NaNs,
//! denormals, overflow, ties and halfway cases, a format of a few bits has too.
//!
//! docs/semantics.md says what operations compute; here they are written once more, over any format
//! (`machine.rs`) and over real numbers (`reals.rs`). [`lock`] keeps what was proved.

mod define;
mod field;
mod format;
mod interp;
mod judge;
pub mod lock;
mod machine;
mod program;
mod real;
mod reals;
mod small;
pub mod smt;
mod special;

use std::sync::atomic::{AtomicUsize, Ordering};

use tgsi_rules::{Contract, Rule};

use judge::ACCURACY;

/// What is known of a rule that no method refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Whether a method shows it for more than samples.
    pub proved: bool,
    /// The methods that took part, with what they looked at.
    pub methods: Vec<String>,
    /// Kinds of hardware, other than docs/semantics.md has it, on which the sides may differ, each with
    /// the words for which they do.
    pub differs_on: Vec<(&'static str, String)>,
}

/// Tries a rule by all methods.
///
/// # Errors
/// The method that refuses it, and the words on which it fails.
pub fn prove(rule: &Rule) -> Result<Proof, String> {
    let mut proof = examine(rule)?;
    let verdict = tgsi_rules::prove::verify(rule).map_err(|e| format!("opcode table: {e}"))?;
    proof.methods.push(format!("table:{}", verdict.samples));
    let samples = interp::check(rule).map_err(|e| format!("interpreter: {e}"))?;
    proof.methods.push(format!("interpreter:{samples}"));
    Ok(proof)
}

/// Tries a rule by all methods but those of samples in words of 32 bits.
///
/// # Errors
/// The method that refuses it, and the words on which it fails.
pub fn examine(rule: &Rule) -> Result<Proof, String> {
    let accuracy = rule.contract.includes(Contract::REASSOC)
        || rule.contract.includes(Contract::ARCP)
        || rule.contract.includes(Contract::AFN);
    let mut proof = Proof {
        proved: false,
        methods: Vec::new(),
        differs_on: Vec::new(),
    };
    if accuracy {
        let points = reals::check(rule)?;
        proof.methods.push(format!("reals:{points}"));
        proof.proved = true;
    } else {
        let field = field::check(rule)?;
        if let Some(bits) = field {
            proof.methods.push(format!("field:{bits}"));
            proof.proved = true;
        }
        if define::check(rule) {
            proof.methods.push("definition".to_owned());
            proof.proved = true;
        }
        // Of fields that fit in a mantissa the real format tells, and no small one.
        let small = match small::check(rule) {
            Err(_) if field.is_some() => None,
            other => other?,
        };
        if let Some(tried) = small {
            let some = if tried.all { "" } else { " in part" };
            proof.methods.push(format!("format:{}{some}", tried.format));
            proof.proved |= tried.all && tried.compared > 0;
            proof.differs_on = tried.differs_on;
        }
    }
    if rule.contract.intersects(ACCURACY)
        && let Some(tuples) = special::check(rule)?
    {
        proof.methods.push(format!("plain:{tuples}"));
    }
    Ok(proof)
}

/// What became of a rule.
pub type Outcome<'a> = (&'a Rule, Result<Proof, String>);

/// Tries rules on all processors; the results have the order of the rules.
pub fn prove_all<'a>(rules: &[&'a Rule]) -> Vec<Outcome<'a>> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut own = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(rule) = rules.get(i) else {
                return own;
            };
            own.push((i, (*rule, prove(rule))));
        }
    };
    let mut results: Vec<(usize, Outcome<'a>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().filter_map(|w| w.join().ok());
        joined.flatten().collect()
    });
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, outcome)| outcome).collect()
}
