//! `tgsi-opt diff`: two programs, or two folders, side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tgsi::Program;
use tgsi_target::count;

use crate::args::DiffArgs;
use crate::check;
use crate::exit::Exit;
use crate::files::{self, Input};
use crate::report::Reporter;
use crate::stats::{self, Totals};

/// Runs `diff`.
pub(crate) fn run(args: &DiffArgs, reporter: &Reporter) -> Exit {
    match (args.before.is_dir(), args.after.is_dir()) {
        (true, true) => folders(args, reporter),
        (false, false) => programs(args, reporter),
        _ => {
            files::eprint(&reporter.error("", "a folder cannot be compared with a file"));
            Exit::Usage
        }
    }
}

/// Whether two programs compute the same, in words, and whether that is a difference.
struct Verdict {
    text: String,
    differs: bool,
}

fn verdict(before: &Program, after: &Program, cases: u32) -> Verdict {
    if cases == 0 {
        return Verdict {
            text: "not run".to_owned(),
            differs: false,
        };
    }
    if before.stage != after.stage {
        return Verdict {
            text: "different stages".to_owned(),
            differs: true,
        };
    }
    let _ = (before, after);
    Verdict {
        text: "not run".to_owned(),
        differs: false,
    }
}

fn programs(args: &DiffArgs, reporter: &Reporter) -> Exit {
    let load = |path: &PathBuf| {
        check::load(
            &Input {
                path: path.clone(),
                name: PathBuf::new(),
            },
            reporter,
        )
    };
    let (Some(before), Some(after)) = (load(&args.before), load(&args.after)) else {
        return Exit::Invalid;
    };
    let (b, a) = (count(&before), count(&after));
    let verdict = verdict(&before, &after, args.cases);
    let table = stats::side_by_side("before", "after", &b, &a);
    files::print(&format!("{table}{}\n", verdict.text));
    if verdict.differs {
        Exit::Unverified
    } else {
        Exit::Done
    }
}

fn folders(args: &DiffArgs, reporter: &Reporter) -> Exit {
    let list = |path: &PathBuf| files::expand(std::slice::from_ref(path)).map(|(inputs, _)| inputs);
    let (before, after) = match (list(&args.before), list(&args.after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => {
            files::eprint(&reporter.error("", &format!("{error:#}")));
            return Exit::Invalid;
        }
    };
    let mut pairs: BTreeMap<PathBuf, (Option<Input>, Option<Input>)> = BTreeMap::new();
    for input in before {
        let name = input.name.clone();
        pairs.entry(name).or_default().0 = Some(input);
    }
    for input in after {
        let name = input.name.clone();
        pairs.entry(name).or_default().1 = Some(input);
    }
    let mut totals = Totals::default();
    let mut exit = Exit::Done;
    let mut differing = 0u32;
    for (name, pair) in pairs {
        let name = name.display().to_string();
        let (before, after) = match pair {
            (Some(before), Some(after)) => (before, after),
            (Some(_), None) => {
                files::print(&format!("{name}: only in {}\n", args.before.display()));
                continue;
            }
            _ => {
                files::print(&format!("{name}: only in {}\n", args.after.display()));
                continue;
            }
        };
        let (Some(before), Some(after)) = (
            check::load(&before, reporter),
            check::load(&after, reporter),
        ) else {
            totals.failed += 1;
            exit = exit.and(Exit::Invalid);
            continue;
        };
        let (b, a) = (count(&before), count(&after));
        totals.add_counts(&b, &a);
        let verdict = verdict(&before, &after, args.cases);
        if verdict.differs {
            differing += 1;
            exit = exit.and(Exit::Unverified);
        }
        files::print(&format!(
            "{name}: instructions {} -> {}, temps {} -> {}, {}\n",
            b.instructions, a.instructions, b.temps, a.temps, verdict.text
        ));
    }
    files::print(&format!(
        "{} programs, {differing} differ, {} failed\n{}",
        totals.programs,
        totals.failed,
        totals.sums()
    ));
    exit
}
