//! `cargo xtask capture`: the project's own GLSL and ARB programs, compiled by
//! Mesa, as TGSI text in `tests/corpus`.
//!
//! Mesa's virgl driver sends its shaders as TGSI text over a socket to a test
//! server. `capture/glcapture.c` is an OpenGL program without a window that
//! compiles the sources of one program, draws once, and reads that stream on
//! its way out; this file builds it, runs the server, and writes the index.
//! What is captured is what a virtual machine's host would get.
//!
//! Everything comes from Debian packages:
//!
//! ```text
//! apt-get install gcc libgl1-mesa-dri libegl1 libegl-dev libgl-dev virgl-server
//! ```
//!
//! The Mesa of another Debian release runs in a folder of its own, and its
//! programs go to a folder of their own, `tests/corpus/mesaNN`:
//!
//! ```text
//! debootstrap --variant=minbase --include=gcc,libc6-dev,libgl1-mesa-dri,libegl1,libegl-mesa0,\
//! libgl-dev,libegl-dev,virgl-server bullseye /var/tmp/bullseye
//! cargo xtask capture --root /var/tmp/bullseye
//! ```

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

/// Source name endings and the stage each one is.
const ENDINGS: [(&str, &str); 8] = [
    (".vert.glsl", "vert"),
    (".tesc.glsl", "tesc"),
    (".tese.glsl", "tese"),
    (".geom.glsl", "geom"),
    (".frag.glsl", "frag"),
    (".comp.glsl", "comp"),
    (".vp.arb", "vert"),
    (".fp.arb", "frag"),
];

/// Where a server listens that is not told.
const DEFAULT_SOCKET: &str = "/tmp/.virgl_test";

const PACKAGES: &str = "gcc libgl1-mesa-dri libegl1 libegl-dev libgl-dev virgl-server";

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the programs with this name (the part before the first dot)
    #[arg(long)]
    only: Vec<String>,
    /// Write elsewhere than tests/corpus
    #[arg(long)]
    out: Option<PathBuf>,
    /// Install the Debian packages first (needs to be root)
    #[arg(long)]
    install: bool,
    /// Run compiler, server and program inside this folder by chroot (needs to be root)
    #[arg(long)]
    root: Option<PathBuf>,
}

/// One source file.
struct Source {
    path: PathBuf,
    file: String,
    stage: &'static str,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.install {
        install()?;
    }
    let work = Work::create(args.root.as_deref())?;
    let done = capture_all(args, &work);
    fs::remove_dir_all(&work.outside).ok();
    done
}

fn capture_all(args: &Args, work: &Work) -> Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = project.join("tests/corpus");
    let tool = build_tool(&project, work)?;
    let server = Server::start(work)?;
    let mesa = mesa_version(&server.run(&tool, ["-", "--version"])?);
    let folder = match &args.root {
        Some(_) => format!("mesa{}/", mesa.split('.').next().unwrap_or_default()),
        None => String::new(),
    };
    let out = args.out.clone().unwrap_or_else(|| corpus.join(&folder));
    fs::create_dir_all(&out)?;
    let mut programs = sources(&corpus.join("src"))?;
    if !args.only.is_empty() {
        programs.retain(|name, _| args.only.contains(name));
    }
    let mut failed = Vec::new();
    for (name, files) in &programs {
        if let Err(error) = capture(work, &server, &tool, name, files, &out) {
            eprintln!("{name}: {error:#}");
            failed.push(name.clone());
        }
    }
    eprintln!(
        "{} programs, {} failed, Mesa {mesa}",
        programs.len(),
        failed.len()
    );
    // Another release may not know every extension; the project's own must.
    ensure!(
        failed.is_empty() || args.root.is_some(),
        "some sources were not captured"
    );
    programs.retain(|name, _| !failed.contains(name));
    if args.only.is_empty() {
        fs::write(out.join("index.toml"), index(&programs, &mesa))?;
    }
    Ok(())
}

/// Captures one program and puts its stages into `out`.
fn capture(
    work: &Work,
    server: &Server<'_>,
    tool: &Path,
    name: &str,
    files: &[Source],
    out: &Path,
) -> Result<()> {
    let mut argv = vec![work.inside.join(name)];
    for source in files {
        fs::copy(&source.path, work.outside.join(&source.file))?;
        argv.push(work.inside.join(&source.file));
    }
    server.run(tool, &argv)?;
    for source in files {
        let file = format!("{name}.{}.tgsi", source.stage);
        fs::copy(work.outside.join(&file), out.join(&file)).with_context(|| file.clone())?;
    }
    Ok(())
}

/// The folder in which everything runs, as seen from here and from inside of the root.
struct Work {
    root: Option<PathBuf>,
    outside: PathBuf,
    inside: PathBuf,
}

impl Work {
    fn create(root: Option<&Path>) -> Result<Work> {
        let name = format!("tgsi-capture-{}", std::process::id());
        let (outside, inside) = match root {
            Some(root) => (root.join("tmp").join(&name), Path::new("/tmp").join(&name)),
            None => (env::temp_dir().join(&name), env::temp_dir().join(&name)),
        };
        fs::create_dir_all(&outside).with_context(|| outside.display().to_string())?;
        Ok(Work {
            root: root.map(Path::to_owned),
            outside,
            inside,
        })
    }

    /// A command that runs inside.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match &self.root {
            Some(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).arg(program);
                command
            }
            None => Command::new(program),
        }
    }
}

fn install() -> Result<()> {
    let status = Command::new("apt-get")
        .args(["install", "-y"])
        .args(PACKAGES.split(' '))
        .status()?;
    ensure!(status.success(), "apt-get failed");
    Ok(())
}

/// Sources grouped by program, in name order.
fn sources(dir: &Path) -> Result<BTreeMap<String, Vec<Source>>> {
    let mut programs: BTreeMap<String, Vec<Source>> = BTreeMap::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some((name, stage)) = ENDINGS
            .iter()
            .find_map(|(end, stage)| Some((file.strip_suffix(end)?.to_owned(), *stage)))
        else {
            bail!("{file}: unknown kind of source");
        };
        programs
            .entry(name)
            .or_default()
            .push(Source { path, file, stage });
    }
    for files in programs.values_mut() {
        files.sort_by(|a, b| a.file.cmp(&b.file));
    }
    Ok(programs)
}

/// Compiles the C program; its path inside.
fn build_tool(project: &Path, work: &Work) -> Result<PathBuf> {
    fs::copy(
        project.join("crates/xtask/capture/glcapture.c"),
        work.outside.join("glcapture.c"),
    )?;
    let tool = work.inside.join("glcapture");
    let status = work
        .command("cc")
        .args(["-O1", "-Wall", "-Wextra", "-rdynamic", "-o"])
        .args([&tool, &work.inside.join("glcapture.c")])
        .args(["-lEGL", "-lGL"])
        .status()
        .context("cc is missing")?;
    ensure!(
        status.success(),
        "glcapture.c does not compile; packages: {PACKAGES}"
    );
    Ok(tool)
}

/// `4.3 (Core Profile) Mesa 22.3.6 | ...` gives `22.3.6`.
fn mesa_version(report: &str) -> String {
    let words = report.split("Mesa ").nth(1).unwrap_or_default();
    words
        .split_whitespace()
        .next()
        .unwrap_or("unknown")
        .to_owned()
}

/// The virgl test server, ended when dropped. It must be of the client's release: an older
/// client has no room for what a newer server tells of itself.
struct Server<'a> {
    work: &'a Work,
    child: Child,
    /// Path inside.
    socket: PathBuf,
}

impl Server<'_> {
    fn start(work: &Work) -> Result<Server<'_>> {
        let mut command = work.command("virgl_test_server");
        command.arg("--use-egl-surfaceless");
        // Old servers cannot be told where; inside a root nobody else uses the default.
        let (socket, outside) = match &work.root {
            Some(root) => (
                PathBuf::from(DEFAULT_SOCKET),
                root.join(&DEFAULT_SOCKET[1..]),
            ),
            None => (work.inside.join("vtest"), work.outside.join("vtest")),
        };
        if work.root.is_none() {
            command.arg(format!("--socket-path={}", socket.display()));
        }
        fs::remove_file(&outside).ok();
        let child = command
            .envs([
                ("LIBGL_ALWAYS_SOFTWARE", "1"),
                ("GALLIUM_DRIVER", "llvmpipe"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("virgl_test_server is missing; packages: {PACKAGES}"))?;
        let server = Server {
            work,
            child,
            socket,
        };
        for _ in 0..100 {
            if outside.exists() {
                return Ok(server);
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("virgl_test_server made no socket")
    }

    /// Runs the capture program against this server; its standard output.
    fn run(
        &self,
        tool: &Path,
        argv: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String> {
        let output = self
            .work
            .command(tool)
            .args(argv)
            .envs([
                ("LIBGL_ALWAYS_SOFTWARE", "1"),
                ("GALLIUM_DRIVER", "virpipe"),
            ])
            .env("MESA_SHADER_CACHE_DISABLE", "true")
            .env("VTEST_SOCKET_NAME", &self.socket)
            .output()?;
        if !output.status.success() {
            bail!(
                "{}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn index(programs: &BTreeMap<String, Vec<Source>>, mesa: &str) -> String {
    let mut text = String::from(
        "# Written by `cargo xtask capture`: where each program of this folder comes from.\n\
         # \"virgl\" = the text that Mesa's virgl driver sent to virgl_test_server.\n",
    );
    for (name, files) in programs {
        for source in files {
            let (file, stage) = (&source.file, source.stage);
            let _ = write!(
                text,
                "\n[[program]]\nname = \"{name}\"\nfile = \"{name}.{stage}.tgsi\"\nsource = \"src/{file}\"\n\
                 stage = \"{stage}\"\nmesa = \"{mesa}\"\ncapture = \"virgl\"\n"
            );
        }
    }
    text
}
