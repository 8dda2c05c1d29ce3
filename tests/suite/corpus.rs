//! The captured programs of `tests/corpus`, under every treatment at `-O1`, `-O2` and `-O3`.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect_file;
use libtest_mimic::Trial;
use tgsi_opt::{Level, Options, Profile};
use tgsi_target::Target;

use crate::{
    Check, files,
    oracle::{self, Closeness},
    root, text, treat, trial,
};

/// The levels and targets of the trials; the table of counts has the first two.
const RUNS: [(Level, &str, &str); 4] = [
    (Level::O1, "generic", "O1"),
    (Level::O2, "generic", "O2"),
    (Level::O2, "virgl", "O2-virgl"),
    (Level::O3, "generic", "O3"),
];

/// Programs whose results are compared without liberties, for the inputs of the comparison are no usual
/// ones for them: a depth compared with itself, a ray that has just arrived, infinities whose
/// fractions and products are saturated and compared.
const WITHOUT_LIBERTIES: [&str; 5] = [
    "lighting_ubo.vert",
    "mesa20/shadow_pcf.frag",
    "misc_ops.vert",
    "raymarch.frag",
    "rounding.frag",
];

fn options(level: Level, target: &str) -> Options {
    let target = Target::by_name(target).cloned().unwrap_or_default();
    Options {
        level,
        target,
        ..Options::default()
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("corpus/index".into(), index_is_complete),
        trial("corpus/counts".into(), counts),
    ];
    for path in programs() {
        let name = name_of(&path);
        let input = path.clone();
        trials.push(trial(format!("corpus/{name}/input"), move || {
            input_is_good(&input)
        }));
        for (level, target, label) in RUNS {
            let (path, name) = (path.clone(), name_of(&path));
            trials.push(trial(format!("corpus/{name}/{label}"), move || {
                run(&path, &options(level, target))
            }));
        }
    }
    trials
}

fn programs() -> Vec<PathBuf> {
    files(&root().join("tests/corpus"), "tgsi")
}

/// The path below the corpus, without its ending: `phong.frag`, `mesa20/phong.frag`.
fn name_of(path: &Path) -> String {
    let name = path
        .strip_prefix(root().join("tests/corpus"))
        .unwrap_or(path)
        .with_extension("");
    name.to_string_lossy().replace('\\', "/")
}

fn read(path: &Path) -> Result<tgsi::Program, String> {
    text::parse(&fs::read_to_string(path).map_err(|e| e.to_string())?)
}

fn input_is_good(path: &Path) -> Check {
    let program = read(path)?;
    text::reparses(&program)?;
    oracle::means_something(&program, Closeness::Close)
}

fn run(path: &Path, options: &Options) -> Check {
    let program = read(path)?;
    let mut options = Options {
        verify_each: true,
        check_regalloc: true,
        ..options.clone()
    };
    if WITHOUT_LIBERTIES.contains(&&*name_of(path)) {
        let outcome = tgsi_opt::optimize(&program, &options);
        treat::form(&program, &outcome, &options)
            .map_err(|e| format!("{e}\nresult:\n{}", text::print(&outcome.program)))?;
        options.profile = Profile::Strict;
    }
    let outcome = tgsi_opt::optimize(&program, &options);
    treat::all(&program, &outcome, &options, Closeness::Close)
        .map_err(|e| format!("{e}\nresult:\n{}", text::print(&outcome.program)))
}

/// One line a program: instructions and temporaries of the input and at each level.
fn counts() -> Check {
    let mut table = format!(
        "{:32} {:>11} {:>11} {:>11}\n",
        "program", "input", "O1", "O2"
    );
    let mut total = [(0, 0); 3];
    for path in programs() {
        let program = read(&path)?;
        let mut row = Vec::new();
        for (level, target, _) in &RUNS[..2] {
            let options = options(*level, target);
            let outcome = tgsi_opt::optimize(&program, &options);
            if row.is_empty() {
                row.push((outcome.before.instructions, outcome.before.temps));
            }
            row.push((outcome.after.instructions, outcome.after.temps));
        }
        for (sum, cell) in total.iter_mut().zip(&row) {
            *sum = (sum.0 + cell.0, sum.1 + cell.1);
        }
        line(&mut table, &name_of(&path), &row);
    }
    line(&mut table, "total", &total);
    expect_file![root().join("tests/corpus/counts.expected")].assert_eq(&table);
    Ok(())
}

fn line(table: &mut String, name: &str, cells: &[(u32, u32)]) {
    let _ = write!(table, "{name:32}");
    for (instructions, temps) in cells {
        let _ = write!(table, " {instructions:>6} {temps:>4}");
    }
    table.push('\n');
}

/// The `index.toml` of each folder names every program there; together they name every source.
fn index_is_complete() -> Check {
    let dir = root().join("tests/corpus");
    let mut listed = BTreeSet::new();
    for index in files(&dir, "toml") {
        let text = fs::read_to_string(&index).map_err(|e| e.to_string())?;
        let table: toml::Table = text
            .parse()
            .map_err(|e| format!("{}: {e}", index.display()))?;
        let entries = table.get("program").and_then(|p| p.as_array());
        for entry in entries.ok_or("no [[program]]")? {
            for key in ["name", "file", "source", "stage", "mesa", "capture"] {
                let value = entry.get(key).and_then(|v| v.as_str()).unwrap_or_default();
                if value.is_empty() {
                    return Err(format!("an entry without '{key}': {entry}"));
                }
                match key {
                    "file" => listed.insert(index.with_file_name(value)),
                    "source" => listed.insert(dir.join(value)),
                    _ => false,
                };
            }
        }
    }
    let mut present: BTreeSet<PathBuf> = programs().into_iter().collect();
    present.extend(files(&dir.join("src"), "glsl"));
    present.extend(files(&dir.join("src"), "arb"));
    match listed.symmetric_difference(&present).next() {
        Some(odd) => Err(format!("{} is listed or present, not both", odd.display())),
        None => Ok(()),
    }
}
