//! Targets as the command line names them.

use std::fmt::Write;
use std::path::Path;

use tgsi::Program;
use tgsi_target::{Counts, Excess, LIMITS, Target, fit_report, place};

/// The target of a name or file, with the limits that were given for it. The error is the message
/// to show.
pub(crate) fn find(name: &str, limits: &[String]) -> Result<Target, String> {
    let mut target = named(name)?;
    for limit in limits {
        set(&mut target, limit)?;
    }
    Ok(target)
}

fn named(name: &str) -> Result<Target, String> {
    if let Some(target) = Target::by_name(name) {
        return Ok(target.clone());
    }
    let path = Path::new(name);
    let is_file = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if !is_file && !path.is_file() {
        let names: Vec<&str> = Target::names().collect();
        return Err(format!(
            "unknown target '{name}'; the targets are {}, or a file NAME.toml",
            names.join(", ")
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {name}: {e}"))?;
    Target::from_toml(&text).map_err(|e| format!("{name}: {}", e.to_string().trim_end()))
}

/// Sets a limit from `NAME=N`.
fn set(target: &mut Target, limit: &str) -> Result<(), String> {
    let (name, n) = limit
        .split_once('=')
        .ok_or_else(|| format!("'{limit}' is no limit; it is written NAME=N"))?;
    let n: u32 = n
        .trim()
        .parse()
        .map_err(|_| format!("'{n}' is no number for the limit '{name}'"))?;
    target.limits.set(name.trim(), n).map_err(|e| e.to_string())
}

/// The built-in targets with their limits, a line each.
pub(crate) fn list() -> String {
    let mut out = String::new();
    for target in Target::all() {
        // A write to a string cannot fail.
        let _ = writeln!(out, "{:<16} {}", target.name, target.summary);
        let limits = limits(target);
        if !limits.is_empty() {
            let _ = writeln!(out, "{:<16} {}", "", limits.join(", "));
        }
    }
    out
}

/// The limits of a target, as in `temps 32`.
pub(crate) fn limits(target: &Target) -> Vec<String> {
    let set = |l: &tgsi_target::LimitName| Some(format!("{} {}", l.name, (l.get)(&target.limits)?));
    LIMITS.iter().filter_map(set).collect()
}

/// Why a program does not fit a target, a sentence each, with the place.
pub(crate) fn misfits(target: &Target, program: &Program, counts: &Counts) -> Vec<String> {
    fit_report(target, program, counts)
        .iter()
        .map(|excess| sentence(target, program, excess))
        .collect()
}

fn sentence(target: &Target, program: &Program, excess: &Excess) -> String {
    let name = &target.name;
    match place(target, program, excess) {
        Some(place) => format!("does not fit {name}: {excess} ({place})"),
        None => format!("does not fit {name}: {excess}"),
    }
}
