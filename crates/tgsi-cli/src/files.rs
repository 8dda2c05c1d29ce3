//! Reading inputs and writing outputs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// One program to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Where it is; `-` is standard input.
    pub(crate) path: PathBuf,
    /// Its place below an output folder.
    pub(crate) name: PathBuf,
}

impl Input {
    /// The name to show to people.
    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// Reads the whole text. Bytes that are no UTF-8 become U+FFFD, for the parser to report.
    pub(crate) fn read(&self) -> Result<String> {
        let bytes = if is_stdin(&self.path) {
            let mut bytes = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            bytes
        } else {
            fs::read(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?
        };
        if u32::try_from(bytes.len()).is_err() {
            bail!("{} is larger than 4 GiB", self.shown());
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether there is anything to read at a path.
pub(crate) fn exists(path: &Path) -> bool {
    is_stdin(path) || path.exists()
}

/// Whether a path stands for standard output: `-`, or a name that systems give to it. Renaming a
/// file into the place of the latter would take it away from what else is written there.
pub(crate) fn is_stdout(path: &Path) -> bool {
    const NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    NAMES.iter().any(|name| path.as_os_str() == *name)
}

fn shown(path: &Path) -> String {
    if is_stdin(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The programs that a list of files and folders stands for, folders searched for `*.tgsi` in
/// the order of their names. The second value tells whether a folder was among them.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<(Vec<Input>, bool)> {
    let mut inputs = Vec::new();
    let mut folder = false;
    for path in paths {
        if !is_stdin(path) && path.is_dir() {
            folder = true;
            walk(path, Path::new(""), &mut inputs)?;
        } else {
            let name = if is_stdin(path) {
                PathBuf::from("stdin.tgsi")
            } else {
                path.file_name().map_or_else(|| path.clone(), PathBuf::from)
            };
            inputs.push(Input {
                path: path.clone(),
                name,
            });
        }
    }
    Ok((inputs, folder))
}

/// What to tell when the folders that were named hold no program.
pub(crate) const NO_PROGRAMS: &str = "there is no *.tgsi file in what was named";

/// Folders nested deeper than this are not searched.
const MAX_FOLDER_DEPTH: usize = 64;

fn walk(root: &Path, below: &Path, inputs: &mut Vec<Input>) -> Result<()> {
    if below.components().count() > MAX_FOLDER_DEPTH {
        return Ok(());
    }
    let folder = root.join(below);
    let mut entries = Vec::new();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        // A link to a folder is not followed: it may lead back up.
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        entries.push((entry.file_name(), is_folder));
    }
    entries.sort();
    for (name, is_folder) in entries {
        let name = below.join(name);
        if is_folder {
            walk(root, &name, inputs)?;
        } else if name
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("tgsi"))
        {
            inputs.push(Input {
                path: root.join(&name),
                name,
            });
        }
    }
    Ok(())
}

/// Where the results of several inputs go.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    /// Nowhere.
    Nothing,
    /// Standard output.
    Stdout,
    /// One file.
    File(PathBuf),
    /// A folder, under each input's name.
    Folder(PathBuf),
}

impl Destination {
    /// Where one result goes, for messages.
    pub(crate) fn path(&self, input: &Input) -> PathBuf {
        match self {
            Destination::Nothing | Destination::Stdout => PathBuf::new(),
            Destination::File(path) => path.clone(),
            Destination::Folder(folder) => folder.join(&input.name),
        }
    }

    /// Writes one result. Writing to standard output is the caller's.
    pub(crate) fn write(&self, input: &Input, text: &str) -> Result<()> {
        match self {
            Destination::Nothing | Destination::Stdout => Ok(()),
            Destination::File(path) => write_atomically(path, text),
            Destination::Folder(folder) => {
                let path = folder.join(&input.name);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)
                        .with_context(|| format!("cannot create {}", parent.display()))?;
                }
                write_atomically(&path, text)
            }
        }
    }
}

/// Two inputs that would be written to one place below an output folder, if there are such.
pub(crate) fn collision(inputs: &[Input]) -> Option<(&Input, &Input)> {
    let mut seen: BTreeMap<&Path, &Input> = BTreeMap::new();
    inputs
        .iter()
        .find_map(|input| seen.insert(&input.name, input).map(|first| (first, input)))
}

/// Writes a file so that its path holds the old content or all of the new one, never a part.
fn write_atomically(path: &Path, text: &str) -> Result<()> {
    let shown = || format!("cannot write {}", path.display());
    // A device, a pipe or a link is written through, not replaced.
    let meta = fs::symlink_metadata(path).ok();
    if meta
        .as_ref()
        .is_some_and(|m| !m.is_file() && !m.is_symlink())
    {
        return fs::write(path, text).with_context(shown);
    }
    let target = match &meta {
        // What a link leads to may be no file, or have no name of its own, or not exist yet.
        Some(m) if m.is_symlink() => match fs::canonicalize(path) {
            Ok(target) if target.is_file() => target,
            _ => return fs::write(path, text).with_context(shown),
        },
        _ => path.to_owned(),
    };
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let result = write_and_rename(&temporary, &target, text);
    if result.is_err() {
        // Nothing more can be done about a temporary file that cannot be removed.
        let _ = fs::remove_file(&temporary);
    }
    result.with_context(shown)
}

fn write_and_rename(temporary: &Path, target: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(temporary)?;
    file.write_all(text.as_bytes())?;
    if let Ok(meta) = fs::metadata(target) {
        file.set_permissions(meta.permissions())?;
    }
    drop(file);
    fs::rename(temporary, target)
}

/// Writes to standard output. A reader that has gone away ends the program quietly.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            eprint(&format!(
                "error: cannot write to standard output: {error}\n"
            ));
            std::process::exit(1);
        }
        std::process::exit(0);
    }
}

/// Writes to standard error, which may be closed.
pub(crate) fn eprint(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
