//! How programs are optimised, as the command line says it.

use std::fmt::Write;

use tgsi_opt::{Fault, Level, Options, PassSpec, Profile, Stage};

use crate::args::EngineArgs;
use crate::targets;

/// The options of the optimiser. The error is the message to show.
pub(crate) fn options(args: &EngineArgs, print_after: &[String]) -> Result<Options, String> {
    let passes = args
        .passes
        .as_deref()
        .map(PassSpec::parse_list)
        .transpose()?;
    if let Some(pass) = passes.iter().flatten().find(|p| !p.args.is_empty()) {
        return Err(format!("the pass '{}' takes no argument", pass.name));
    }
    let named = passes.iter().flatten().map(|p| p.name.as_str());
    let printed = print_after
        .iter()
        .map(String::as_str)
        .filter(|n| !NOT_PASSES.contains(n));
    let rules = tgsi_opt::rules();
    let known = |n: &&str| rules.position(n).is_some() || Stage::from_name(n).is_some();
    let disabled = args.disable.iter().map(String::as_str);
    for name in named.chain(disabled.filter(|n| !known(n))).chain(printed) {
        check_pass(name)?;
    }
    let find_fault = |name: &str| {
        Fault::from_name(name).ok_or_else(|| format!("there is no fault '{name}' to be made"))
    };
    Ok(Options {
        level: find_level(&args.level),
        target: targets::find(&args.target, &args.limit)?,
        passes: passes.or_else(|| one_by_one(args, print_after)),
        fuel: args.fuel,
        verify_each: args.verify_each,
        check_regalloc: args.check_regalloc,
        verify: args.verify,
        disable: args.disable.clone(),
        profile: find_profile(&args.fp)?,
        expand: args.expand,
        sabotage: args.sabotage.as_deref().map(find_fault).transpose()?,
        ..Options::default()
    })
}

/// The options as they would be typed.
pub(crate) fn typed(args: &EngineArgs) -> String {
    let mut out = format!("-O{} --fp {} --target {}", args.level, args.fp, args.target);
    let mut option = |name: &str, value: &str| {
        // A write to a string cannot fail.
        let _ = write!(out, " --{name} {value}");
    };
    args.limit.iter().for_each(|l| option("limit", l));
    args.passes.iter().for_each(|l| option("passes", l));
    args.disable.iter().for_each(|d| option("disable", d));
    args.fuel
        .iter()
        .for_each(|n| option("fuel", &n.to_string()));
    args.sabotage.iter().for_each(|s| option("sabotage", s));
    let flags = [
        (args.expand, "expand"),
        (args.verify_each, "verify-each"),
        (args.check_regalloc, "check-regalloc"),
    ];
    if let Some(cases) = args.verify {
        let _ = write!(out, " --verify={cases}");
    }
    for (_, name) in flags.iter().filter(|f| f.0) {
        let _ = write!(out, " --{name}");
    }
    out
}

/// The level of a digit.
pub(crate) fn find_level(digit: &str) -> Level {
    match digit {
        "0" => Level::O0,
        "1" => Level::O1,
        "3" => Level::O3,
        _ => Level::O2,
    }
}

/// The float profile of a name. The error is the message to show.
pub(crate) fn find_profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Profile::ALL.iter().map(|p| p.name()).collect();
        format!(
            "unknown float profile '{name}'; there are {}",
            known.join(", ")
        )
    })
}

fn check_pass(name: &str) -> Result<(), String> {
    if tgsi_opt::passes().iter().any(|p| p.name == name) {
        return Ok(());
    }
    Err(format!("unknown pass '{name}'; --list-passes names them"))
}

/// What can be printed after and is no pass: all of them, and the function as it was lifted.
const NOT_PASSES: [&str; 2] = ["all", "lift"];

/// Passes that the pipeline does not run by themselves: all the others in one, and what is not exact.
const NOT_IN_CLEAN: [&str; 3] = ["clean", "mad-fuse", "egraph"];

/// The pipeline's passes one after the other, twice, if a single one of them is to be left out or
/// looked at: the pipeline itself runs them interleaved.
fn one_by_one(args: &EngineArgs, print_after: &[String]) -> Option<Vec<PassSpec>> {
    let single = |n: &String| {
        !NOT_PASSES.contains(&n.as_str())
            && !NOT_IN_CLEAN.contains(&n.as_str())
            && tgsi_opt::rules().position(n).is_none()
            && Stage::from_name(n).is_none()
    };
    let whole = args.disable.iter().any(|n| n == "clean");
    if whole || !args.disable.iter().chain(print_after).any(single) {
        return None;
    }
    let names = tgsi_opt::passes().iter().map(|p| p.name);
    let round: Vec<PassSpec> = names
        .filter(|n| !NOT_IN_CLEAN.contains(n))
        .map(|n| PassSpec {
            name: n.to_owned(),
            args: Vec::new(),
        })
        .collect();
    Some([round.clone(), round].concat())
}
