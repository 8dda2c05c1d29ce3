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
    /// Install the Debian packages first (needs root)
    #[arg(long)]
    install: bool,
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = root.join("tests/corpus");
    let out = args.out.clone().unwrap_or_else(|| corpus.clone());
    fs::create_dir_all(&out)?;
    let work = env::temp_dir().join(format!("tgsi-capture-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let done = capture_all(args, &root, &corpus.join("src"), &out, &work);
    fs::remove_dir_all(&work).ok();
    done
}

fn capture_all(args: &Args, root: &Path, src: &Path, out: &Path, work: &Path) -> Result<()> {
    let tool = build_tool(root, work)?;
    let server = Server::start(work)?;
    let mesa = mesa_version(&server.run(&tool, ["-", "--version"])?);
    let mut programs = sources(src)?;
    if !args.only.is_empty() {
        programs.retain(|name, _| args.only.contains(name));
    }
    let mut failed = 0;
    for (name, files) in &programs {
        let prefix = out.join(name);
        let paths = files.iter().map(|f| f.path.as_os_str());
        let argv: Vec<&OsStr> = std::iter::once(prefix.as_os_str()).chain(paths).collect();
        if let Err(error) = server.run(&tool, argv) {
            eprintln!("{name}: {error:#}");
            failed += 1;
        }
    }
    if args.only.is_empty() {
        fs::write(out.join("index.toml"), index(&programs, &mesa))?;
    }
    eprintln!("{} programs, {failed} failed, Mesa {mesa}", programs.len());
    ensure!(failed == 0, "some sources were not captured");
    Ok(())
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

fn build_tool(root: &Path, work: &Path) -> Result<PathBuf> {
    let tool = work.join("glcapture");
    let status = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-rdynamic", "-o"])
        .arg(&tool)
        .arg(root.join("crates/xtask/capture/glcapture.c"))
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

/// The virgl test server, ended when dropped.
struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(work: &Path) -> Result<Server> {
        let socket = work.join("vtest");
        let child = Command::new("virgl_test_server")
            .arg("--use-egl-surfaceless")
            .arg(format!("--socket-path={}", socket.display()))
            .envs([
                ("LIBGL_ALWAYS_SOFTWARE", "1"),
                ("GALLIUM_DRIVER", "llvmpipe"),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("virgl_test_server is missing; packages: {PACKAGES}"))?;
        let server = Server { child, socket };
        for _ in 0..100 {
            if server.socket.exists() {
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
        let output = Command::new(tool)
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

impl Drop for Server {
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
