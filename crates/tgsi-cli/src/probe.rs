//! A command of the caller's that judges programs.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail};

/// A command, and a file of its own to show it programs in.
pub(crate) struct Probe {
    command: String,
    limit: Duration,
    folder: PathBuf,
    file: PathBuf,
    /// Calls that took too long.
    pub(crate) late: u64,
}

impl Probe {
    /// A probe that gives up after `seconds`.
    pub(crate) fn new(command: &str, seconds: f64) -> Result<Probe> {
        let Some(limit) = Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|d| !d.is_zero())
        else {
            bail!("{seconds} seconds are no time limit");
        };
        let temporary = std::env::temp_dir();
        // What an earlier process of this number left behind is not touched.
        let folder = (0..1000)
            .map(|n| temporary.join(format!("tgsi-opt-{}-{n}", std::process::id())))
            .find(|folder| fs::create_dir(folder).is_ok())
            .with_context(|| format!("cannot make a folder in {}", temporary.display()))?;
        let file = folder.join("candidate.tgsi");
        let path = quoted(&file.display().to_string());
        let command = if command.contains("{}") {
            command.replace("{}", &path)
        } else {
            format!("{command} {path}")
        };
        Ok(Probe {
            command,
            limit,
            folder,
            file,
            late: 0,
        })
    }

    /// Whether the command ends with 0 on a program.
    pub(crate) fn says_yes(&mut self, text: &str) -> Result<bool> {
        fs::write(&self.file, text)
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        let mut child = shell(&self.command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run a shell")?;
        match wait(&mut child, self.limit).context("cannot wait for the command")? {
            Some(status) => Ok(status.success()),
            None => {
                self.late += 1;
                end(&mut child);
                Ok(false)
            }
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("sh");
    // A group of its own can be ended with all that it started.
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

/// Waits for a process; nothing if it takes longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Ends a process and what it started.
fn end(child: &mut Child) {
    if cfg!(unix) {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stderr(Stdio::null())
            .status();
    }
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// A path as one word of a shell.
fn quoted(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    if path.bytes().all(plain) {
        path.to_owned()
    } else if cfg!(unix) {
        format!("'{}'", path.replace('\'', r"'\''"))
    } else {
        format!("\"{path}\"")
    }
}
