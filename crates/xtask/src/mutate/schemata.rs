//! A copy of the workspace with all mutants in it, and the tests that run on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::source::{self, Mutant, Place};
use super::{Fate, Found, Tests};

/// The switch of the mutants: one is on, by its number in the environment; `record` writes the
/// numbers that are reached, and the threads that reach them, to a file.
const SWITCH: &str = r#"

#[doc(hidden)]
#[allow(missing_docs, unreachable_pub)]
pub mod mutation {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU32, Ordering};

    const UNKNOWN: u32 = u32::MAX;
    const RECORD: u32 = u32::MAX - 1;
    static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
    thread_local!(static SEEN: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) });

    #[inline(always)]
    pub fn on(n: u32) -> bool {
        let active = ACTIVE.load(Ordering::Relaxed);
        active == n || active >= RECORD && special(n)
    }

    #[cold]
    fn special(n: u32) -> bool {
        if ACTIVE.load(Ordering::Relaxed) == UNKNOWN {
            let active = match std::env::var("MUTANT").as_deref() {
                Ok("record") => RECORD,
                Ok(n) => n.parse().unwrap_or(0),
                Err(_) => 0,
            };
            ACTIVE.store(active, Ordering::Relaxed);
        }
        let active = ACTIVE.load(Ordering::Relaxed);
        if active == RECORD {
            record(n);
        }
        active == n
    }

    #[cold]
    fn record(n: u32) {
        let fresh = SEEN.try_with(|s| s.try_borrow_mut().is_ok_and(|mut s| s.insert(n)));
        if fresh != Ok(true) {
            return;
        }
        let thread = std::thread::current().name().unwrap_or("?").to_owned();
        let file = std::env::var("MUTANT_FILE").unwrap_or_default();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{n} {thread}\n").as_bytes());
        }
    }
}
"#;

/// What is copied, beside files at the top.
const FOLDERS: [&str; 4] = ["crates", "passes", "tests", "docs"];

/// A mutant with its number and its file.
pub(crate) struct Numbered {
    pub(crate) number: u32,
    pub(crate) area: usize,
    pub(crate) file: &'static str,
    pub(crate) tests: Tests,
    pub(crate) mutant: Mutant,
}

/// The copy.
pub(crate) struct Workshop {
    root: PathBuf,
    target: PathBuf,
    from: PathBuf,
}

/// An executable of tests.
struct Suite {
    package: String,
    path: PathBuf,
    /// Where it expects to run.
    folder: PathBuf,
    /// Its tests, with the time that each takes.
    tests: BTreeMap<String, Duration>,
    took: Duration,
    /// The tests that reach each mutant; `None` stands for one that has no name.
    reached: BTreeMap<u32, BTreeSet<Option<String>>>,
}

impl Workshop {
    pub(crate) fn new(from: &Path, folder: &Path) -> Result<Workshop> {
        let root = folder.join("workspace");
        fs::create_dir_all(&root).with_context(|| root.display().to_string())?;
        let own = Workshop {
            root,
            target: folder.join("target"),
            from: from.to_owned(),
        };
        for name in ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE"] {
            own.copy(Path::new(name))?;
        }
        for folder in FOLDERS {
            own.copy(Path::new(folder))?;
        }
        Ok(own)
    }

    /// Copies what is not there as it is; a file that is only there goes.
    fn copy(&self, path: &Path) -> Result<()> {
        let (from, to) = (self.from.join(path), self.root.join(path));
        let context = || from.display().to_string();
        if !from.is_dir() {
            let text = fs::read(&from).with_context(context)?;
            return write(&to, &text);
        }
        fs::create_dir_all(&to).with_context(context)?;
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&from).with_context(context)? {
            let name = entry.with_context(context)?.file_name();
            if name != "target" {
                self.copy(&path.join(&name))?;
                names.insert(name);
            }
        }
        for entry in fs::read_dir(&to).with_context(context)?.flatten() {
            if !names.contains(&entry.file_name()) && entry.path().is_file() {
                fs::remove_file(entry.path()).with_context(context)?;
            }
        }
        Ok(())
    }

    fn cargo(&self, args: &[&str]) -> Result<Vec<Value>> {
        let out = Command::new("cargo")
            .args(args)
            .args(["--locked", "--message-format=json"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("RUSTFLAGS")
            .stderr(Stdio::null())
            .output()
            .context("cargo")?;
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text
            .lines()
            .filter_map(|l| serde_json::from_str(l).ok())
            .collect())
    }

    /// Writes the files with the mutants in them; numbers in `out` are left out.
    fn write(
        &self,
        all: &[Numbered],
        out: &BTreeSet<u32>,
        constant: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<Place>>> {
        let mut files: BTreeMap<&str, Vec<(u32, &Mutant)>> = BTreeMap::new();
        for m in all {
            let of = files.entry(m.file).or_default();
            if !out.contains(&m.number) && !constant.contains(&m.mutant.function) {
                of.push((m.number, &m.mutant));
            }
        }
        let mut roots = BTreeSet::new();
        let mut all_places = BTreeMap::new();
        for (file, mutants) in &files {
            let text =
                fs::read_to_string(self.from.join(file)).with_context(|| (*file).to_owned())?;
            let blank: Vec<_> = source::const_functions(&text)?
                .into_iter()
                .filter(|(name, _)| {
                    !constant.contains(name) && mutants.iter().any(|m| m.1.function == *name)
                })
                .map(|(_, range)| range)
                .collect();
            let (new, places) = source::schema(&text, mutants, &blank, "crate::mutation::on");
            write(&self.root.join(file), new.as_bytes())?;
            all_places.insert((*file).to_owned(), places);
            let folder = file.split_once("/src/").map_or("", |f| f.0);
            roots.insert(format!("{folder}/src/lib.rs"));
        }
        for root in roots {
            let text = fs::read_to_string(self.from.join(&root)).with_context(|| root.clone())?;
            write(&self.root.join(&root), format!("{text}{SWITCH}").as_bytes())?;
        }
        Ok(all_places)
    }

    /// Makes the copy compile: gives the numbers of the mutants that do not.
    pub(crate) fn settle(&self, all: &[Numbered], packages: &[&str]) -> Result<BTreeSet<u32>> {
        let mut out = BTreeSet::new();
        let mut constant = BTreeSet::new();
        let mut args = vec!["check", "--lib"];
        for p in packages {
            args.extend(["-p", p]);
        }
        for _ in 0..40 {
            let places = self.write(all, &out, &constant)?;
            let errors: Vec<Value> = self
                .cargo(&args)?
                .into_iter()
                .filter(|m| m["message"]["level"] == "error")
                .map(|m| m["message"].clone())
                .collect();
            if errors.is_empty() {
                out.extend(
                    all.iter()
                        .filter(|m| constant.contains(&m.mutant.function))
                        .map(|m| m.number),
                );
                return Ok(out);
            }
            let before = (out.len(), constant.len());
            for e in &errors {
                let text = e["message"].as_str().unwrap_or_default();
                if source::needed_const(text, &mut constant) {
                    continue;
                }
                blame(e, &places, &mut out);
            }
            if (out.len(), constant.len()) == before {
                let first = errors[0]["rendered"].as_str().unwrap_or("?");
                bail!("an error that is no mutant's\n{first}");
            }
        }
        bail!("the mutants do not compile");
    }

    /// The executables of the tests of some packages, with the time they take and what they reach.
    fn suites(&self, tests: &BTreeSet<(&'static str, &'static str)>) -> Result<Vec<Suite>> {
        let mut suites = Vec::new();
        for (package, target) in tests {
            let mut args = vec!["test", "--no-run", "-p", package];
            match *target {
                "lib" => args.push("--lib"),
                name => args.extend(["--test", name]),
            }
            let messages = self.cargo(&args)?;
            let built = messages.iter().rfind(|m| m["executable"].is_string());
            let Some(built) = built else {
                let errors = messages.iter().filter(|m| m["message"]["level"] == "error");
                let text = errors.map(|e| e["message"]["rendered"].as_str().unwrap_or("?"));
                bail!("{package} {target}: {}", text.collect::<String>());
            };
            let path = PathBuf::from(built["executable"].as_str().unwrap_or_default());
            let manifest = built["manifest_path"].as_str().unwrap_or_default();
            let folder = Path::new(manifest)
                .parent()
                .unwrap_or(Path::new("."))
                .to_owned();
            let list = Command::new(&path)
                .arg("--list")
                .output()
                .context("tests")?;
            let text = String::from_utf8_lossy(&list.stdout);
            let names = text.lines().filter_map(|l| l.strip_suffix(": test"));
            let tests = names.map(|n| (n.to_owned(), Duration::ZERO));
            let mut suite = Suite {
                package: format!("{package}/{target}"),
                folder,
                path,
                tests: tests.collect(),
                took: Duration::ZERO,
                reached: BTreeMap::new(),
            };
            self.look(&mut suite)?;
            suites.push(suite);
        }
        suites.sort_by_key(|s| s.took);
        Ok(suites)
    }

    /// Runs a suite as it is, then again to see which mutants it reaches.
    fn look(&self, suite: &mut Suite) -> Result<()> {
        let start = Instant::now();
        if suite.run(0, &[], Duration::from_secs(600))? != Ending::Passed {
            bail!("{} fails without a mutant", suite.package);
        }
        suite.took = start.elapsed();
        if suite.took > SOON {
            let names: Vec<String> = suite.tests.keys().cloned().collect();
            for name in names {
                let start = Instant::now();
                suite.run(0, &[&name], Duration::from_secs(600))?;
                suite.tests.insert(name, start.elapsed());
            }
        }
        let file = self.target.join("reached.txt");
        let _ = fs::remove_file(&file);
        let status = suite
            .command()
            .env("MUTANT", "record")
            .env("MUTANT_FILE", &file)
            .status()
            .context("tests")?;
        if !status.success() {
            bail!("{} fails while it is watched", suite.package);
        }
        for line in fs::read_to_string(&file).unwrap_or_default().lines() {
            let Some((n, thread)) = line.split_once(' ') else {
                continue;
            };
            let name = suite.tests.contains_key(thread).then(|| thread.to_owned());
            if let Ok(n) = n.parse() {
                suite.reached.entry(n).or_default().insert(name);
            }
        }
        Ok(())
    }

    /// Runs the tests of the areas on each mutant.
    pub(crate) fn judge(&self, all: &[&Numbered], threads: usize) -> Result<Vec<(u32, Found)>> {
        let wanted: BTreeSet<_> = all.iter().flat_map(|m| m.tests).copied().collect();
        let suites = self.suites(&wanted)?;
        for s in &suites {
            println!("  {:32} {:6.1} s", s.package, s.took.as_secs_f64());
        }
        // What is known so far, for who waits.
        let log = fs::File::create(self.target.join("results.txt")).context("the log")?;
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let fault = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(m) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let own: Vec<&Suite> = suites
                            .iter()
                            .filter(|s| {
                                let is =
                                    |t: &&(&str, &str)| s.package == format!("{}/{}", t.0, t.1);
                                m.tests.iter().any(|t| is(&t))
                            })
                            .collect();
                        match fate(m.number, &own) {
                            Ok(found) => {
                                let place = format!("{}:{}", m.file, m.mutant.line);
                                let change = &m.mutant.change;
                                let line =
                                    format!("{place}: {change}: {:?} {}\n", found.fate, found.by);
                                let _ = (&log).write_all(line.as_bytes());
                                lock(&results).push((m.number, found));
                            }
                            Err(e) => *lock(&fault) = Some(e),
                        }
                    }
                });
            }
        });
        if let Some(e) = lock(&fault).take() {
            return Err(e);
        }
        let mut results = std::mem::take(&mut *lock(&results));
        results.sort_by_key(|r| r.0);
        Ok(results)
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Tests that take less run together.
const SOON: Duration = Duration::from_millis(300);

/// What the tests make of a mutant: those that reach it first, the quick before the slow, then the
/// others of the same executable, which may see what another test has initialised.
fn fate(number: u32, suites: &[&Suite]) -> Result<Found> {
    let mut reached = false;
    for first in [true, false] {
        for suite in suites {
            let Some(tests) = suite.reached.get(&number) else {
                continue;
            };
            reached = true;
            let unnamed = tests.contains(&None);
            let is_first = |n: &String| unnamed || tests.contains(&Some(n.clone()));
            let own = suite.tests.iter().filter(|(n, _)| is_first(n) == first);
            let (quick, mut slow): (Vec<_>, Vec<_>) = own.partition(|(_, took)| **took < SOON);
            slow.sort_by_key(|(_, took)| **took);
            let quick = (!quick.is_empty()).then_some(quick);
            for group in quick.into_iter().chain(slow.into_iter().map(|t| vec![t])) {
                let names: Vec<&str> = group.iter().map(|(n, _)| n.as_str()).collect();
                let took: Duration = group.iter().map(|(_, took)| **took).sum();
                let limit = took * 8 + Duration::from_secs(10);
                let by = match suite.run(number, &names, limit)? {
                    Ending::Passed => continue,
                    Ending::Failed => suite.package.clone(),
                    Ending::Late => format!("{} (time)", suite.package),
                };
                return Ok(Found {
                    fate: Fate::Caught,
                    by,
                });
            }
        }
    }
    let by = if reached { "" } else { "no test gets there" };
    Ok(Found {
        fate: Fate::Survived,
        by: by.to_owned(),
    })
}

#[derive(PartialEq, Eq)]
enum Ending {
    Passed,
    Failed,
    Late,
}

impl Suite {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("RUST_BACKTRACE", "0")
            .env_remove("UPDATE_EXPECT")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn run(&self, number: u32, names: &[&str], limit: Duration) -> Result<Ending> {
        let mut command = self.command();
        if !names.is_empty() {
            command.arg("--exact").args(names);
        }
        command
            .args(["--test-threads", "1"])
            .env("MUTANT", number.to_string());
        let mut child = command.spawn().context("tests")?;
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait().context("tests")? {
                return Ok(match status.success() {
                    true => Ending::Passed,
                    false => Ending::Failed,
                });
            }
            if start.elapsed() > limit {
                child.kill().context("tests")?;
                child.wait().context("tests")?;
                return Ok(Ending::Late);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// Writes a file unless it is there as it is, so that it is not built again.
fn write(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Leaves out the mutants that an error speaks of: those of the narrowest place around it.
fn blame(error: &Value, places: &BTreeMap<String, Vec<Place>>, out: &mut BTreeSet<u32>) {
    let empty = Vec::new();
    let mut spans: Vec<&Value> = error["spans"].as_array().unwrap_or(&empty).iter().collect();
    // The main place of an error tells; where it is in no mutant, the others may.
    spans.sort_by_key(|s| s["is_primary"] != true);
    for span in &spans {
        let file = span["file_name"].as_str().unwrap_or_default();
        let byte = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
        let (start, end) = (byte("byte_start"), byte("byte_end"));
        let open = places.get(file).into_iter().flatten();
        let open = open.filter(|p| !p.1.iter().all(|n| out.contains(n)));
        let narrowest = open
            .clone()
            .filter(|p| p.0.contains(&start))
            .min_by_key(|p| p.0.len());
        // Of a block it is the end that decides what comes out.
        let last = open
            .filter(|p| start <= p.0.start && p.0.end <= end)
            .max_by_key(|p| (p.0.end, p.0.len()));
        if let Some((_, numbers)) = narrowest.or(last) {
            out.extend(numbers);
            return;
        }
    }
}
