//! `cargo xtask bench`: what a call of the library costs, in machine instructions an instruction
//! of the input, by the size of the input.
//!
//! Instructions, because they repeat on any machine and under any load; valgrind's callgrind counts
//! them. The program under it is `crates/tgsi-opt/examples/cost.rs`, which calls the library once a
//! file, from text to text, after one call that pays for tables; callgrind writes one part a call.
//!
//! Inputs are a sample of `../shared/corpus` (or `TGSI_SHARED`), else of `tests/corpus`: in each
//! class of size, evenly spaced in the order of size. Counts of a sample of `tests/corpus` are stored
//! in `crates/xtask/baseline.json`; the command ends with what has changed since.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};

mod baseline;

/// The classes: programs of fewer instructions than this, and at least the one before.
const CLASSES: [u32; 6] = [10, 30, 100, 300, 1000, u32::MAX];

/// The function that the example measures in.
const FRAME: &str = "cost::measured";

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Levels to measure
    #[arg(long, default_value = "O1,O2", value_delimiter = ',')]
    levels: Vec<String>,
    /// Programs a class of size
    #[arg(long, default_value_t = 12)]
    per_class: usize,
    /// Where the programs are
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Also list each program
    #[arg(long)]
    each: bool,
    /// Also list the functions that cost most, this many
    #[arg(long, default_value_t = 0)]
    hot: usize,
    /// Stored counts that the programs of `tests/corpus` are compared with
    #[arg(long, value_name = "FILE", default_value = baseline::DEFAULT)]
    baseline: PathBuf,
    /// Store the counts of a sample of `tests/corpus` in that file, and do nothing else
    #[arg(long)]
    save_baseline: bool,
    /// Compare with no stored counts
    #[arg(long, conflicts_with = "save_baseline")]
    no_baseline: bool,
    /// Fail when a level's mean is above this: O1=15000,O2=30000
    #[arg(long, value_delimiter = ',')]
    limit: Vec<String>,
}

/// One program of the sample.
struct Input {
    path: PathBuf,
    instructions: u32,
}

/// What a level cost on one program.
struct Sample {
    path: String,
    instructions: u32,
    spent: u64,
}

impl Sample {
    fn ratio(&self) -> f64 {
        self.spent as f64 / f64::from(self.instructions)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let limits = limits(&args.limit)?;
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    if args.save_baseline {
        return baseline::save(args, &root);
    }
    let corpus = corpus(args, &root);
    let classes = classes(&corpus)?;
    let tool = build(&root)?;
    let work = work_folder()?;
    let populations: Vec<usize> = classes.iter().map(Vec::len).collect();
    let samples = sample(classes, args.per_class);
    let mut over = Vec::new();
    for level in &args.levels {
        let mut measured = measure(&tool, level, &samples, &work)?;
        measured.sort_by_key(|s| s.instructions);
        print!("{}", table(level, &measured, &populations));
        if args.each {
            for s in &measured {
                println!("{:>9} {:>9.0}  {}", s.instructions, s.ratio(), s.path);
            }
        }
        if args.hot > 0 {
            hot(&tool, level, &samples, &work, args.hot)?;
        }
        if let Some((_, limit)) = limits.iter().find(|(l, _)| l == level) {
            let mean = corpus_mean(&measured, &populations);
            if mean > *limit {
                over.push(format!("-{level}: {mean:.0} is above {limit:.0}"));
            }
        }
    }
    if !args.no_baseline {
        baseline::compare(args, &root, &tool, &work)?;
    }
    fs::remove_dir_all(&work).ok();
    ensure!(over.is_empty(), "{}", over.join("; "));
    Ok(())
}

/// A folder for callgrind's files.
fn work_folder() -> Result<PathBuf> {
    let work = env::temp_dir().join(format!("tgsi-opt-bench-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    Ok(work)
}

/// So many programs of each class.
fn sample(classes: Vec<Vec<Input>>, per_class: usize) -> Vec<Input> {
    classes
        .into_iter()
        .flat_map(|class| spaced(class, per_class))
        .collect()
}

fn limits(list: &[String]) -> Result<Vec<(String, f64)>> {
    let parse = |entry: &String| {
        let (level, value) = entry.split_once('=').context("a limit is LEVEL=NUMBER")?;
        Ok((level.to_owned(), value.parse()?))
    };
    list.iter().map(parse).collect()
}

fn corpus(args: &Args, root: &Path) -> PathBuf {
    if let Some(corpus) = &args.corpus {
        return corpus.clone();
    }
    let shared = env::var_os("TGSI_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.is_dir() {
        corpus
    } else {
        root.join("tests/corpus")
    }
}

/// Every program of the folder by class, each class in the order of size.
fn classes(corpus: &Path) -> Result<Vec<Vec<Input>>> {
    let mut classes: Vec<Vec<Input>> = CLASSES.iter().map(|_| Vec::new()).collect();
    let mut paths = Vec::new();
    collect(corpus, &mut paths).with_context(|| corpus.display().to_string())?;
    paths.sort();
    for path in paths {
        let (program, _) = tgsi::parse(&fs::read_to_string(&path)?);
        let instructions = tgsi_target::count(&program).instructions;
        let class = CLASSES.iter().position(|&c| instructions < c);
        if let (Some(class), true) = (class, instructions > 0) {
            classes[class].push(Input { path, instructions });
        }
    }
    for class in &mut classes {
        class.sort_by_key(|i| i.instructions);
    }
    Ok(classes)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "tgsi") {
            into.push(path);
        }
    }
    Ok(())
}

/// `wanted` of the inputs, evenly spaced, the last one always among them.
fn spaced(class: Vec<Input>, wanted: usize) -> Vec<Input> {
    let total = class.len();
    let wanted = wanted.min(total);
    let chosen: Vec<usize> = (1..=wanted).map(|k| k * total / wanted - 1).collect();
    class
        .into_iter()
        .enumerate()
        .filter(|(i, _)| chosen.contains(i))
        .map(|(_, input)| input)
        .collect()
}

fn build(root: &Path) -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "tgsi-opt",
            "--example",
            "cost",
        ])
        .args(["--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the example was not built");
    let messages = String::from_utf8_lossy(&output.stdout);
    let found = messages.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once("\"executable\":\"")?;
        Some(PathBuf::from(rest.split_once('"')?.0))
    });
    found.context("cargo names no executable")
}

/// Weighs one level on every input. Leaves callgrind's parts in `work`.
fn measure(tool: &Path, level: &str, inputs: &[Input], work: &Path) -> Result<Vec<Sample>> {
    for old in fs::read_dir(work)? {
        fs::remove_file(old?.path())?;
    }
    let dump = format!("--dump-after={FRAME}");
    let report = callgrind(tool, level, inputs, &work.join("part"), &[&dump])?;
    let mut samples = Vec::new();
    for (index, line) in report.lines().enumerate() {
        let mut fields = line.split('\t');
        let (Some(before), Some(_), Some(path)) = (fields.next(), fields.next(), fields.next())
        else {
            bail!("not a line of the example: {line}");
        };
        let Ok(instructions) = before.parse() else {
            continue; // not a program the library takes
        };
        let part = fs::read_to_string(work.join(format!("part.{}", index + 1)))?;
        let spent = part
            .lines()
            .find_map(|l| {
                l.strip_prefix("summary: ")
                    .or_else(|| l.strip_prefix("totals: "))
            })
            .context("a part without a sum")?
            .trim()
            .parse()?;
        samples.push(Sample {
            path: path.to_owned(),
            instructions,
            spent,
        });
    }
    Ok(samples)
}

/// Runs the example under callgrind; what the example printed.
fn callgrind(
    tool: &Path,
    level: &str,
    inputs: &[Input],
    out: &Path,
    more: &[&str],
) -> Result<String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(format!("--toggle-collect={FRAME}"))
        .args(more)
        .arg(tool)
        .arg(level)
        .args(inputs.iter().map(|i| &i.path))
        .output()
        .context("valgrind does not start: it is a package of that name")?;
    if !output.status.success() {
        bail!("valgrind: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn class_of(instructions: u32) -> usize {
    CLASSES
        .iter()
        .position(|&c| instructions < c)
        .unwrap_or(CLASSES.len() - 1)
}

fn mean(samples: &[&Sample]) -> f64 {
    samples.iter().map(|s| s.ratio()).fold(0.0, |a, b| a + b) / samples.len().max(1) as f64
}

/// The mean over the whole folder: each class weighs as many programs as it has.
fn corpus_mean(samples: &[Sample], populations: &[usize]) -> f64 {
    let mut sum = 0.0;
    let mut programs = 0;
    for (class, &population) in populations.iter().enumerate() {
        let of_class: Vec<&Sample> = samples
            .iter()
            .filter(|s| class_of(s.instructions) == class)
            .collect();
        if !of_class.is_empty() {
            sum += mean(&of_class) * population as f64;
            programs += population;
        }
    }
    sum / programs.max(1) as f64
}

fn table(level: &str, samples: &[Sample], populations: &[usize]) -> String {
    let mut text = format!("-{level}: machine instructions an input instruction, parse to print\n");
    text += "  input size   programs  sampled      mean    median       max\n";
    let mut low = 1;
    for (class, &high) in CLASSES.iter().enumerate() {
        let mut of_class: Vec<&Sample> = samples
            .iter()
            .filter(|s| class_of(s.instructions) == class)
            .collect();
        of_class.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let size = if high == u32::MAX {
            format!("{low}..")
        } else {
            format!("{low}..{}", high - 1)
        };
        let at = |i: usize| of_class.get(i).map_or(0.0, |s| s.ratio());
        let _ = writeln!(
            text,
            "  {size:<10} {:>10} {:>8} {:>9.0} {:>9.0} {:>9.0}",
            populations[class],
            of_class.len(),
            mean(&of_class),
            at(of_class.len() / 2),
            at(of_class.len().saturating_sub(1)),
        );
        low = high;
    }
    let spent: u64 = samples.iter().map(|s| s.spent).sum();
    let instructions: u64 = samples.iter().map(|s| u64::from(s.instructions)).sum();
    let _ = writeln!(
        text,
        "  mean of all programs {:.0}; all samples together {:.0}",
        corpus_mean(samples, populations),
        spent as f64 / instructions.max(1) as f64
    );
    let _ = writeln!(text, "  {}", growth(samples));
    text
}

/// How the price grows with the size: around 3,500 instructions against around 100.
fn growth(samples: &[Sample]) -> String {
    let near = |low: u32, high: u32| -> Option<f64> {
        let found: Vec<&Sample> = samples
            .iter()
            .filter(|s| (low..=high).contains(&s.instructions))
            .collect();
        (!found.is_empty()).then(|| mean(&found))
    };
    match (near(70, 140), near(2500, 4500)) {
        (Some(small), Some(large)) => {
            format!(
                "at 3,500 (2500..4500) {:.2} x that at 100 (70..140)",
                large / small
            )
        }
        _ => "no samples to compare 3,500 instructions with 100".to_owned(),
    }
}

/// The most expensive functions over all inputs, by callgrind's own tool.
fn hot(tool: &Path, level: &str, inputs: &[Input], work: &Path, wanted: usize) -> Result<()> {
    let whole = work.join("whole");
    callgrind(tool, level, inputs, &whole, &[])?;
    for inclusive in ["no", "yes"] {
        let output = Command::new("callgrind_annotate")
            .arg(format!("--inclusive={inclusive}"))
            .args(["--auto=no", "--threshold=100", "--show-percs=no"])
            .arg(&whole)
            .output()
            .context("callgrind_annotate does not start")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let total = text.lines().find(|l| l.contains("PROGRAM TOTALS"));
        let total = total.and_then(amount).map_or(1, |(n, _)| n.max(1));
        // A row is a function in one source file: code inlined from another file has its own.
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        let rows = text.lines().skip_while(|l| !l.contains("file:function"));
        for (cost, place) in rows.filter_map(amount) {
            let place = place.split(" [").next().unwrap_or(place);
            let name = place.split_once(':').map_or(place, |(_, name)| name);
            let sum = functions.entry(name).or_default();
            *sum = if inclusive == "yes" {
                cost.max(*sum)
            } else {
                cost + *sum
            };
        }
        let mut functions: Vec<(&str, u64)> = functions.into_iter().collect();
        functions.sort_by_key(|f| std::cmp::Reverse(f.1));
        let included = if inclusive == "yes" {
            "included"
        } else {
            "left out"
        };
        println!("  by function, what it calls {included}:");
        let started = |f: &&(&str, u64)| inclusive == "no" || f.0.contains("tgsi");
        for (name, cost) in functions.iter().filter(started).take(wanted) {
            println!("    {:5.2} %  {name}", *cost as f64 * 100.0 / total as f64);
        }
    }
    Ok(())
}

/// The number at the start of a row, and the rest.
fn amount(row: &str) -> Option<(u64, &str)> {
    let (number, rest) = row.trim_start().split_once(' ')?;
    let number = number.replace(',', "").parse().ok()?;
    Some((number, rest.trim()))
}
