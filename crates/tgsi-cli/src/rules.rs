//! `tgsi-opt rules`: the rewrite rules, and how often each takes part in results.

use std::fmt::Write as _;

use tgsi_opt::Options;

use crate::args::RulesArgs;
use crate::check;
use crate::engine::{find_level, find_profile};
use crate::exit::Exit;
use crate::files;
use crate::optimize::in_parallel;
use crate::report::Reporter;

/// Runs `rules`.
pub(crate) fn run(args: &RulesArgs, reporter: &Reporter) -> Exit {
    let profile = match find_profile(&args.fp) {
        Ok(profile) => profile,
        Err(message) => {
            files::eprint(&reporter.error("", &message));
            return Exit::Usage;
        }
    };
    let set = tgsi_opt::rules();
    let domains: Vec<&str> = set.rules.iter().map(|r| r.domain.as_str()).collect();
    if let Some(d) = &args.domain
        && !domains.contains(&d.as_str())
    {
        files::eprint(&reporter.error("", &format!("there are no rules of '{d}'")));
        return Exit::Usage;
    }
    let mut exit = Exit::Done;
    let mut counts = vec![0u64; set.rules.len()];
    if !args.inputs.is_empty() {
        let inputs = match files::expand(&args.inputs) {
            Ok((inputs, _)) => inputs,
            Err(error) => {
                files::eprint(&reporter.error("", &format!("{error:#}")));
                return Exit::Invalid;
            }
        };
        let options = Options {
            level: find_level(&args.level),
            profile,
            ..Options::default()
        };
        let fired = in_parallel(None, &inputs, |input| {
            let program = check::load(input, reporter)?;
            Ok(tgsi_opt::optimize(&program, &options).rewriting.fired)
        });
        for f in fired {
            match f {
                Ok(f) => counts
                    .iter_mut()
                    .zip(f)
                    .for_each(|(c, n)| *c += u64::from(n)),
                Err(message) => {
                    let message: String = message;
                    files::eprint(&message);
                    exit = exit.and(Exit::Invalid);
                }
            }
        }
    }
    let mut out = String::new();
    let counted = !args.inputs.is_empty();
    for (rule, &n) in set.rules.iter().zip(&counts) {
        let asked = args.domain.as_ref().is_none_or(|d| *d == rule.domain);
        if !asked || args.unused && n > 0 {
            continue;
        }
        // A write to a string cannot fail.
        if counted {
            let _ = write!(out, "{n:>7}  ");
        }
        let _ = writeln!(out, "{}/{rule}", rule.domain);
    }
    files::print(&out);
    exit
}
