//! The built command, from the outside.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const PROGRAM: &str = "\
FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL TEMP[0]
  0: MOV TEMP[0], IN[0]
  1: MOV OUT[0], TEMP[0]
  2: END
";

const BROKEN: &str = "\
FRAG
DCL OUT[0], COLOR
  0: FROB OUT[0], IN[0]
  1: END
";

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder for the file");
        fs::write(&path, text).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tgsi-opt"));
    command.env_remove("NO_COLOR");
    command
}

/// Runs in `folder`, so that file names in messages are short.
fn run(folder: &Folder, args: &[&str]) -> Output {
    command()
        .current_dir(&folder.0)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command runs")
}

fn run_with_stdin(folder: &Folder, args: &[&str], stdin: &str) -> Output {
    let mut child = command()
        .current_dir(&folder.0)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(stdin.as_bytes())
        .expect("the command reads");
    child.wait_with_output().expect("the command ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the file was written")
}

#[track_caller]
fn check(output: &Output, code: i32, stdout: &[&str], stderr: &[&str]) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout:\n{out}\nstderr:\n{err}"
    );
    for (wanted, got) in stdout
        .iter()
        .map(|w| (w, &out))
        .chain(stderr.iter().map(|w| (w, &err)))
    {
        assert!(
            got.contains(wanted),
            "no {wanted:?} in\nstdout:\n{out}\nstderr:\n{err}"
        );
    }
}

#[test]
fn a_file_to_standard_output() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    let output = run(&f, &["-O0", "in.tgsi"]);
    check(&output, 0, &[], &[]);
    assert_eq!(text(&output.stdout), PROGRAM);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn standard_input() {
    let f = Folder::new();
    let output = run_with_stdin(&f, &["-O0", "-"], PROGRAM);
    check(&output, 0, &["FRAG\nDCL IN[0]"], &[]);
    let output = run_with_stdin(&f, &["-", "-o", "out.tgsi"], PROGRAM);
    check(&output, 0, &[], &[]);
    assert!(read(&f.path("out.tgsi")).starts_with("FRAG\n"));
    let output = run_with_stdin(&f, &["-"], BROKEN);
    check(&output, 1, &[], &["<stdin>:3"]);
}

#[test]
fn the_same_file_is_read_and_written() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    check(&run(&f, &["-O0", "in.tgsi", "-o", "in.tgsi"]), 0, &[], &[]);
    assert_eq!(read(&f.path("in.tgsi")), PROGRAM);
    let left: Vec<_> = fs::read_dir(&f.0).expect("the folder").collect();
    assert_eq!(left.len(), 1, "a temporary file was left: {left:?}");
}

#[test]
fn a_broken_input_leaves_the_output_alone() {
    let f = Folder::new();
    f.file("in.tgsi", BROKEN);
    f.file("out.tgsi", "old");
    check(
        &run(&f, &["in.tgsi", "-o", "out.tgsi"]),
        1,
        &[],
        &["error", "FROB", "in.tgsi:3"],
    );
    assert_eq!(read(&f.path("out.tgsi")), "old");
}

#[test]
fn usage_errors() {
    let f = Folder::new();
    f.file("a.tgsi", PROGRAM);
    f.file("b.tgsi", PROGRAM);
    f.file("sub/a.tgsi", PROGRAM);
    let cases: &[(&[&str], &str)] = &[
        (&[], "no input"),
        (&["--nonsense"], "--nonsense"),
        (&["-O9", "a.tgsi"], "9"),
        (
            &["--target", "nowhere", "a.tgsi"],
            "unknown target 'nowhere'; the targets are generic, virgl",
        ),
        (&["--dialect", "latin", "a.tgsi"], "unknown dialect 'latin'"),
        (
            &["--passes", "no-such-pass", "a.tgsi"],
            "unknown pass 'no-such-pass'",
        ),
        (&["--passes", "a(", "a.tgsi"], "'(' without ')'"),
        (&["--print-after", "no-such-pass", "a.tgsi"], "unknown pass"),
        (&["--disable", "no-such-pass", "a.tgsi"], "unknown pass"),
        (
            &["a.tgsi", "b.tgsi"],
            "several inputs need an output folder",
        ),
        (
            &["chek", "a.tgsi"],
            "'chek' is neither a file nor a subcommand",
        ),
        (
            &["--stats", "json", "a.tgsi"],
            "the form of the figures is written --stats=json",
        ),
        (
            &["--passes", "dce(3)", "a.tgsi"],
            "the pass 'dce' takes no argument",
        ),
        (&["a.tgsi", "b.tgsi", "-o", "a.tgsi"], "is none"),
        (
            &["a.tgsi", "sub/a.tgsi", "-o", "out"],
            "would both be written to",
        ),
        (&["--emit", "none", "a.tgsi", "-o", "x"], "--emit none"),
        (&["--jobs", "0", "a.tgsi"], "0"),
        (&["-", "-", "-o", "out"], "standard input is named twice"),
        (&["check"], "required"),
        (
            &["diff", "a.tgsi", "sub"],
            "a folder cannot be compared with a file",
        ),
        (&["run", "a.tgsi", "--set", "nonsense"], "--set"),
        (&["completions", "cmd"], "cmd"),
        (
            &["-O1", "check", "a.tgsi"],
            "does not go with the subcommand 'check'",
        ),
    ];
    for (args, message) in cases {
        check(&run(&f, args), 2, &[], &[message]);
    }
    assert!(!f.path("out").exists());
}

#[test]
fn missing_files() {
    let f = Folder::new();
    for args in [
        &["no.tgsi"][..],
        &["check", "no.tgsi"],
        &["stats", "no.tgsi"],
        &["run", "no.tgsi"],
    ] {
        check(&run(&f, args), 1, &[], &["cannot read no.tgsi"]);
    }
    f.file("a.tgsi", PROGRAM);
    check(
        &run(&f, &["a.tgsi", "-o", "none/such/out.tgsi"]),
        1,
        &[],
        &["cannot write"],
    );
}

#[test]
fn a_folder_into_a_folder() {
    let f = Folder::new();
    f.file("in/a.tgsi", PROGRAM);
    f.file("in/deep/b.tgsi", PROGRAM);
    f.file("in/readme.txt", "no program");
    let output = run(&f, &["-O0", "in", "-o", "out", "--jobs", "2"]);
    check(
        &output,
        0,
        &[],
        &["2 programs: 2 unchanged, 0 returned, 0 misfits, 0 failed"],
    );
    assert_eq!(read(&f.path("out/a.tgsi")), PROGRAM);
    assert_eq!(read(&f.path("out/deep/b.tgsi")), PROGRAM);
    assert!(!f.path("out/readme.txt").exists());
}

#[test]
fn one_bad_program_does_not_stop_the_others() {
    let f = Folder::new();
    f.file("in/a.tgsi", BROKEN);
    f.file("in/b.tgsi", PROGRAM);
    let output = run(&f, &["-O0", "in", "-o", "out"]);
    check(&output, 1, &[], &["FROB", "1 failed"]);
    assert!(!f.path("out/a.tgsi").exists());
    assert_eq!(read(&f.path("out/b.tgsi")), PROGRAM);
}

#[test]
fn an_empty_folder() {
    let f = Folder::new();
    fs::create_dir(f.path("in")).expect("a folder");
    for args in [&["in", "-o", "out"][..], &["check", "in"], &["stats", "in"]] {
        check(&run(&f, args), 0, &[], &["there is no *.tgsi file"]);
    }
}

#[cfg(unix)]
#[test]
fn names_of_standard_output_and_links() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    for name in ["-", "/dev/stdout"] {
        check(&run(&f, &["in.tgsi", "-o", name]), 0, &["FRAG\nDCL"], &[]);
    }
    std::os::unix::fs::symlink("new.tgsi", f.path("link.tgsi")).expect("a link");
    check(&run(&f, &["in.tgsi", "-o", "link.tgsi"]), 0, &[], &[]);
    assert!(read(&f.path("new.tgsi")).starts_with("FRAG\n"));
}

#[test]
fn single_passes_of_the_pipeline() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    let output = run(&f, &["--print-after", "dce", "in.tgsi"]);
    check(&output, 0, &["FRAG\nDCL"], &["; after dce, round 1"]);
    let output = run(&f, &["--disable", "dce", "--print-after", "all", "in.tgsi"]);
    check(&output, 0, &["FRAG\nDCL"], &["; after algebra, round 1"]);
    assert!(!text(&output.stderr).contains("after dce"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_in_json() {
    let f = Folder::new();
    let output = run(&f, &["--message-format", "json", "no.tgsi"]);
    let value: serde_json::Value = serde_json::from_str(&text(&output.stderr)).expect("JSON");
    assert_eq!(value["file"], "no.tgsi");
}

#[test]
fn threads_change_nothing() {
    let f = Folder::new();
    for i in 0..20 {
        f.file(
            &format!("in/{i}.tgsi"),
            if i % 7 == 3 { BROKEN } else { PROGRAM },
        );
    }
    let one = run(&f, &["in", "-o", "one", "--stats=json", "--jobs", "1"]);
    let four = run(&f, &["in", "-o", "four", "--stats=json", "--jobs", "4"]);
    assert_eq!(text(&one.stdout), text(&four.stdout));
    assert_eq!(text(&one.stderr), text(&four.stderr));
}

#[test]
fn human_diagnostics() {
    let f = Folder::new();
    f.file("in.tgsi", BROKEN);
    let output = run(&f, &["check", "in.tgsi"]);
    check(
        &output,
        1,
        &[],
        &["error[T", "in.tgsi:3:", "FROB OUT[0], IN[0]", "^"],
    );
    assert!(!text(&output.stderr).contains('\u{1b}'));
    let output = run(&f, &["check", "--color", "always", "in.tgsi"]);
    assert!(text(&output.stderr).contains('\u{1b}'));
}

#[test]
fn json_diagnostics() {
    let f = Folder::new();
    f.file("in.tgsi", BROKEN);
    let output = run(&f, &["--message-format", "json", "in.tgsi"]);
    check(&output, 1, &[], &[]);
    let err = text(&output.stderr);
    assert!(!err.is_empty());
    for line in err.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("a JSON object a line");
        assert_eq!(value["file"], "in.tgsi");
        assert!(value["line"].as_u64().is_some_and(|l| l > 0));
        assert!(value["code"].as_str().is_some_and(|c| c.starts_with('T')));
    }
    let output = run(&f, &["--message-format=json", "no.tgsi"]);
    check(
        &output,
        1,
        &[],
        &["{\"file\":\"no.tgsi\",\"message\":\"cannot read no.tgsi"],
    );
}

#[test]
fn stats_of_an_optimisation() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    let output = run(&f, &["-O0", "--emit", "none", "--stats", "in.tgsi"]);
    check(
        &output,
        0,
        &[
            "before",
            "after",
            "instructions",
            "in.tgsi - FRAG shader: 2 inst, 0 loops, 1 temps",
        ],
        &[],
    );
    let output = run(&f, &["-O0", "--emit=none", "--stats=json", "in.tgsi"]);
    let value: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!(value["before"]["instructions"], 2);
    assert_eq!(value["after"]["mov"], 2);
    assert_eq!(value["unchanged"], true);
    let output = run(&f, &["-O0", "--stats=shader-db", "in.tgsi"]);
    check(
        &output,
        0,
        &["FRAG\nDCL"],
        &["in.tgsi - FRAG shader: 2 inst"],
    );
}

#[test]
fn stats_command() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    check(
        &run(&f, &["stats", "in.tgsi"]),
        0,
        &["in.tgsi (FRAG)", "instructions"],
        &[],
    );
    check(
        &run(&f, &["stats", "--format", "shader-db", "in.tgsi"]),
        0,
        &["in.tgsi - FRAG shader: 2 inst"],
        &[],
    );
    let output = run(&f, &["stats", "--format", "json", "in.tgsi"]);
    let value: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!(value["counts"]["inputs"], 1);
}

#[test]
fn misfits() {
    let f = Folder::new();
    let mut deep = String::from("FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\n");
    deep.push_str(&"IF IN[0].xxxx\n".repeat(40));
    deep.push_str("MOV OUT[0], IN[0]\n");
    deep.push_str(&"ENDIF\n".repeat(40));
    deep.push_str("END\n");
    f.file("deep.tgsi", &deep);
    let wanted = "does not fit generic: needs 40 levels of nesting, the target has 32";
    let output = run(&f, &["-O0", "deep.tgsi", "-o", "out.tgsi"]);
    check(&output, 3, &[], &[wanted]);
    assert!(f.path("out.tgsi").exists());
    check(
        &run(&f, &["check", "--target", "generic", "deep.tgsi"]),
        3,
        &[],
        &[wanted],
    );
    check(
        &run(&f, &["check", "--target", "virgl", "deep.tgsi"]),
        0,
        &[],
        &[],
    );
}

#[test]
fn packed_constants() {
    let f = Folder::new();
    let program = "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL CONST[0..4]\nDCL TEMP[0]\n\
        MUL TEMP[0], IN[0], CONST[1].xxxx\nMAX OUT[0], TEMP[0], CONST[4].yyyy\nEND\n";
    f.file("in.tgsi", program);
    let packed = "DCL CONST[0]\n";
    check(
        &run(&f, &["--pack-constants", "--stats", "in.tgsi"]),
        0,
        &[packed],
        &["constants packed from 2 registers into 1"],
    );
    let stats = ["--pack-constants", "--emit=none", "--stats=json", "in.tgsi"];
    let table = r#""constants":[{"from":"CONST[1].x","to":"CONST[0].x"},{"from":"CONST[4].y","to":"CONST[0].y"}]"#;
    check(&run(&f, &stats), 0, &[table], &[]);
    // Unasked it is only said that it would make the program fit.
    let for_target = |limit: &str| run(&f, &["--target", "arb-fp", "--limit", limit, "in.tgsi"]);
    let note = "note: in.tgsi: --pack-constants brings the constants within the limit";
    check(
        &for_target("constants=1"),
        3,
        &["DCL CONST[0..4]\n"],
        &[note],
    );
    let roomy = for_target("constants=2");
    check(&roomy, 0, &["DCL CONST[0..4]\n"], &[]);
    assert!(!text(&roomy.stderr).contains("pack"));
}

#[test]
fn running_a_program() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    let output = run(&f, &["run", "in.tgsi", "--set", "IN[0] 1.0 2.0 0 1"]);
    check(
        &output,
        0,
        &[
            "OUT[0] lane0",
            "3f800000 40000000 00000000 3f800000   1 2 0 1",
        ],
        &[],
    );
    f.file(
        "lines",
        "# all lanes\nIN[0] 0x1 2 3 -1\nIN[0].lane2 1.5 0 0 0\n",
    );
    let output = run(&f, &["run", "in.tgsi", "--inputs", "lines"]);
    check(
        &output,
        0,
        &["00000001 00000002 00000003 ffffffff", "3fc00000 00000000"],
        &[],
    );
    f.file("bad", "IN[0] 1 2 3 4\nIN[0] 1 2\n");
    check(
        &run(&f, &["run", "in.tgsi", "--inputs", "bad"]),
        1,
        &[],
        &["bad:2: "],
    );
}

#[test]
fn comparing_programs() {
    let f = Folder::new();
    f.file("a/p.tgsi", PROGRAM);
    let shorter = PROGRAM
        .replace("  0: MOV TEMP[0], IN[0]\n", "")
        .replace("1: MOV OUT[0], TEMP[0]", "0: MOV OUT[0], IN[0]");
    f.file("b/p.tgsi", &shorter);
    f.file(
        "c/p.tgsi",
        &shorter.replace("OUT[0], IN[0]", "OUT[0], IN[0].yxzw"),
    );
    f.file("c/q.tgsi", PROGRAM);
    check(
        &run(&f, &["diff", "a/p.tgsi", "b/p.tgsi"]),
        0,
        &["instructions", "-50.0 %", "same"],
        &[],
    );
    check(
        &run(&f, &["diff", "a/p.tgsi", "c/p.tgsi"]),
        4,
        &["differ"],
        &[],
    );
    check(
        &run(&f, &["diff", "a", "b"]),
        0,
        &["p.tgsi: instructions 2 -> 1", "0 differ"],
        &[],
    );
    check(
        &run(&f, &["diff", "a", "c"]),
        4,
        &["q.tgsi: only in c", "1 differ"],
        &[],
    );
    check(
        &run(&f, &["diff", "--cases", "0", "a", "c"]),
        0,
        &["not run"],
        &[],
    );
}

#[test]
fn lists_help_and_completions() {
    let f = Folder::new();
    check(&run(&f, &["--list-targets"]), 0, &["generic", "virgl"], &[]);
    check(&run(&f, &["--list-passes"]), 0, &[], &[]);
    check(
        &run(&f, &["--help"]),
        0,
        &["Examples:", "Exit codes:", "--print-changed"],
        &[],
    );
    check(&run(&f, &["run", "--help"]), 0, &["--set"], &[]);
    check(&run(&f, &["--version"]), 0, &["tgsi-opt"], &[]);
    for shell in ["bash", "zsh", "fish"] {
        check(
            &run(&f, &["completions", shell]),
            0,
            &["tgsi-opt", "message-format"],
            &[],
        );
    }
}

#[test]
fn a_file_named_like_a_subcommand() {
    let f = Folder::new();
    f.file("check", PROGRAM);
    check(&run(&f, &["-O0", "./check"]), 0, &["FRAG"], &[]);
    check(&run(&f, &["check", "check"]), 0, &[], &[]);
    check(&run(&f, &["--quiet", "check", "check"]), 0, &[], &[]);
    check(&run(&f, &["-O0", "--", "check"]), 0, &["FRAG"], &[]);
    check(
        &run(
            &f,
            &["./check", "check", "--emit=none", "--stats=shader-db"],
        ),
        0,
        &["./check - FRAG", "\ncheck - FRAG"],
        &[],
    );
}

#[test]
fn a_reader_that_goes_away() {
    let f = Folder::new();
    let mut program = String::from("FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\n");
    program.push_str(&"MOV OUT[0], IN[0]\n".repeat(100_000));
    program.push_str("END\n");
    f.file("long.tgsi", &program);
    let mut child = command()
        .current_dir(&f.0)
        .args(["-O0", "long.tgsi"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn bytes_that_are_no_text() {
    let f = Folder::new();
    fs::write(f.path("in.tgsi"), b"FRAG\n\xff\xfe\0\n END").expect("a file");
    check(&run(&f, &["in.tgsi"]), 1, &[], &["error"]);
    let mut long = String::from("FRAG ");
    long.push_str(&"\u{e9}".repeat(10_000));
    f.file("long.tgsi", &long);
    let output = run(&f, &["in.tgsi", "long.tgsi", "--emit=none"]);
    check(&output, 1, &[], &["2 failed"]);
    assert!(output.stderr.len() < 20_000, "a long line is cut");
}

#[test]
fn times_and_other_forms() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    check(
        &run(&f, &["--time-passes", "in.tgsi"]),
        0,
        &["FRAG"],
        &["parse", "print", "total"],
    );
    check(
        &run(&f, &["--print-after=all", "--print-changed", "in.tgsi"]),
        0,
        &["FRAG"],
        &[],
    );
    check(&run(&f, &["--emit", "ir", "in.tgsi"]), 0, &[], &[]);
    check(&run(&f, &["--emit", "dot", "in.tgsi"]), 0, &[], &[]);
    check(
        &run(&f, &["--dialect", "virgl", "-O0", "in.tgsi"]),
        0,
        &["MOV OUT[0], TEMP[0]"],
        &[],
    );
}

#[test]
fn comparing_for_a_target() {
    let f = Folder::new();
    f.file("a.tgsi", PROGRAM);
    f.file(
        "b.tgsi",
        &PROGRAM.replace(
            "  0: MOV TEMP[0], IN[0]",
            "  0: FMA TEMP[0], IN[0], IN[0], IN[0]",
        ),
    );
    let output = run(
        &f,
        &["diff", "--cases=0", "--target", "virgl", "a.tgsi", "b.tgsi"],
    );
    check(
        &output,
        3,
        &[
            "introduces FMA, which hosts drop",
            "introduces a longer token stream",
        ],
        &[],
    );
    check(
        &run(
            &f,
            &[
                "diff",
                "--cases=0",
                "--target",
                "generic",
                "a.tgsi",
                "b.tgsi",
            ],
        ),
        0,
        &[],
        &[],
    );
    check(
        &run(&f, &["diff", "--target", "none", "a.tgsi", "b.tgsi"]),
        2,
        &[],
        &["unknown target"],
    );
}

#[test]
fn quiet() {
    let f = Folder::new();
    f.file("in/a.tgsi", PROGRAM);
    let output = run(&f, &["-O0", "in", "-o", "out", "--quiet"]);
    check(&output, 0, &[], &[]);
    assert_eq!(text(&output.stderr), "");
}

/// A product and a sum that rules join.
const FUSIBLE: &str = "\
FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL CONST[0..1]
DCL TEMP[0..1]
  0: MUL TEMP[0], IN[0], CONST[0]
  1: ADD TEMP[1], TEMP[0], CONST[1]
  2: MOV OUT[0], TEMP[1]
  3: END
";

#[test]
fn rules_are_explained() {
    let folder = Folder::new();
    folder.file("in.tgsi", FUSIBLE);
    let text = run(&folder, &["--emit", "none", "--explain", "in.tgsi"]);
    check(
        &text,
        0,
        &[],
        &[
            "in.tgsi: rules by instruction\n   0: MUL TEMP[0], IN[0], CONST[0]\n",
            "   1: ADD TEMP[1], TEMP[0], CONST[1] : mad-form x4\n",
            "  no rule took part in 0, 2\n",
        ],
    );
    let args = [
        "--emit",
        "none",
        "--explain",
        "--message-format",
        "json",
        "in.tgsi",
    ];
    let json = run(&folder, &args);
    let line = "{\"file\":\"in.tgsi\",\"instruction\":1,\"rules\":[{\"rule\":\"mad-form\",\"times\":4}],\"text\":\"ADD TEMP[1], TEMP[0], CONST[1]\"}\n";
    check(&json, 0, &[], &[line]);
}

#[test]
fn figures_tell_what_rules_did() {
    let folder = Folder::new();
    folder.file("in.tgsi", FUSIBLE);
    let figures = run(&folder, &["--emit", "none", "--stats", "in.tgsi"]);
    let wanted = [
        "  lower bound of instructions 1\n",
        "  float contract contract\n  rules mad-form 4\n  e-graph ",
    ];
    check(&figures, 0, &wanted, &[]);
    let json = run(&folder, &["--emit", "none", "--stats=json", "in.tgsi"]);
    let wanted = [
        "\"iterations\":1",
        "\"bound\":{",
        "\"instructions_bound\":1",
        "\"rules\":{\"mad-form\":4}",
    ];
    check(&json, 0, &wanted, &[]);
    let strict = run(
        &folder,
        &["--emit", "none", "--stats", "--fp", "strict", "in.tgsi"],
    );
    check(&strict, 0, &["instructions          3         2"], &[]);
    assert!(!text(&strict.stdout).contains("contract"));
}

#[test]
fn graphs_are_written_to_a_file() {
    let folder = Folder::new();
    folder.file("in.tgsi", FUSIBLE);
    folder.file("more.tgsi", FUSIBLE);
    let done = run(
        &folder,
        &[
            "--print-egraph=graph.dot",
            "-O1",
            "in.tgsi",
            "-o",
            "out.tgsi",
        ],
    );
    check(&done, 0, &[], &[]);
    let dot = read(&folder.path("graph.dot"));
    assert!(dot.starts_with("digraph egraph {\n"), "{dot}");
    assert!(dot.contains("\\nmad-form\" style=bold]"), "{dot}");
    assert!(read(&folder.path("out.tgsi")).contains("MAD"));
    let several = run(
        &folder,
        &[
            "--print-egraph=g.dot",
            "--emit",
            "none",
            "in.tgsi",
            "more.tgsi",
        ],
    );
    check(&several, 2, &[], &["--print-egraph takes one input"]);
    let nothing = run(&folder, &["--print-egraph=g.dot", "-O0", "in.tgsi"]);
    check(
        &nothing,
        1,
        &["FRAG"],
        &["g.dot is not written: no graph is made under these options"],
    );
    assert!(!folder.path("g.dot").exists());
}

/// Three fetches that depend on each other, and a division.
const CHAIN: &str = "\
FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL SAMP[0]
DCL TEMP[0..2]
  0: TEX TEMP[0], IN[0], SAMP[0], 2D
  1: TEX TEMP[1], TEMP[0], SAMP[0], 2D
  2: TEX TEMP[2], TEMP[1], SAMP[0], 2D
  3: MOV OUT[0], TEMP[2]
  4: END
";

#[test]
fn limits_of_targets() {
    let f = Folder::new();
    f.file("chain.tgsi", CHAIN);
    check(
        &run(&f, &["check", "--target", "r300-fs", "chain.tgsi"]),
        0,
        &[],
        &[],
    );
    let wanted = "does not fit r300-fs: needs 3 texture indirections, the target has 2 (fetches 0, 1, 2 depend on each other, at 2: TEX";
    for limit in [
        "indirections=2",
        "MaxTexIndirections=2",
        "maxtexindirections = 2",
    ] {
        let args = [
            "check",
            "--target",
            "r300-fs",
            "--limit",
            limit,
            "chain.tgsi",
        ];
        check(&run(&f, &args), 3, &[], &[wanted]);
    }
    let args = [
        "--target",
        "r300-fs",
        "--limit",
        "indirections=2",
        "--limit=temps=0",
        "chain.tgsi",
    ];
    check(
        &run(&f, &args),
        3,
        &["TEX"],
        &[
            "needs 3 texture indirections",
            "temporaries, the target has 0 (most are live",
        ],
    );
    // Without a target the limits are those of the default one.
    check(
        &run(&f, &["check", "--limit", "inputs=0", "chain.tgsi"]),
        3,
        &[],
        &["does not fit generic: needs 1 inputs, the target has 0"],
    );
    for (limit, wanted) in [
        (
            "depht=3",
            "unknown limit 'depht'; the limits are instructions, alu, tex,",
        ),
        ("temps", "'temps' is no limit; it is written NAME=N"),
        ("temps=many", "'many' is no number for the limit 'temps'"),
    ] {
        for command in ["check", "fit"] {
            let args = [
                command,
                "--target",
                "generic",
                "--limit",
                limit,
                "chain.tgsi",
            ];
            check(&run(&f, &args), 2, &[], &[wanted]);
        }
        check(
            &run(&f, &["--limit", limit, "chain.tgsi"]),
            2,
            &[],
            &[wanted],
        );
    }
}

#[test]
fn targets_from_files() {
    let f = Folder::new();
    f.file("chain.tgsi", CHAIN);
    let good = "name = \"mine\"\nsummary = \"a target of mine\"\nstages = [\"FRAG\"]\n[limits]\ntex = 2\n[opcodes]\nnative = [\"MOV\", \"TEX\"]\n";
    f.file("mine.toml", good);
    f.file("no-ending", good);
    for file in ["mine.toml", "no-ending"] {
        let wanted = "does not fit mine: needs 3 texture instructions, the target has 2";
        check(
            &run(&f, &["check", "--target", file, "chain.tgsi"]),
            3,
            &[],
            &[wanted],
        );
        check(
            &run(&f, &["--target", file, "chain.tgsi"]),
            3,
            &["TEX"],
            &[wanted],
        );
        check(
            &run(&f, &["diff", "--target", file, "chain.tgsi", "chain.tgsi"]),
            3,
            &[wanted],
            &[],
        );
    }
    f.file(
        "bad.toml",
        "name = \"bad\"\nsummary = \"\"\n[limits]\ntemp = 3\n",
    );
    f.file(
        "op.toml",
        "name = \"bad\"\nsummary = \"\"\n[opcodes]\nnative = [\"FROB\"]\n",
    );
    for (file, wanted) in [
        ("bad.toml", "unknown field `temp`"),
        ("op.toml", "op.toml: unknown opcode 'FROB'"),
        ("none.toml", "cannot read none.toml"),
        (
            "none",
            "unknown target 'none'; the targets are generic, virgl, ",
        ),
    ] {
        check(
            &run(&f, &["--target", file, "chain.tgsi"]),
            2,
            &[],
            &[wanted],
        );
        check(
            &run(&f, &["check", "--target", file, "chain.tgsi"]),
            2,
            &[],
            &[wanted],
        );
        check(
            &run(&f, &["fit", "--target", file, "chain.tgsi"]),
            2,
            &[],
            &[wanted],
        );
    }
    check(
        &run(&f, &["--list-targets"]),
        0,
        &[
            "r300-fs ",
            "instructions 96, alu 64, tex 32, indirections 4, temps 32, inputs 10, constants 32",
        ],
        &[],
    );
}

#[test]
fn fitting_one_program() {
    let f = Folder::new();
    f.file("chain.tgsi", CHAIN);
    let output = run(&f, &["fit", "chain.tgsi"]);
    check(&output, 0, &["chain.tgsi (FRAG)\n"], &[]);
    let out = text(&output.stdout);
    let line = |name: &str| -> Vec<&str> {
        let of = out
            .lines()
            .find(|l| l.trim_start().starts_with(&format!("{name} ")));
        of.unwrap_or_default().split_whitespace().collect()
    };
    assert_eq!(line("target"), ["target", "as", "it", "is", "-O2", "worst"]);
    assert_eq!(line("r300-fs"), ["r300-fs", "yes", "yes"]);
    assert_eq!(line("ps_2_0"), ["ps_2_0", "yes", "yes"]);
    assert_eq!(
        line("r200-fs").join(" "),
        "r200-fs no no needs 3 texture indirections, the target has 2"
    );
    // Other stages are left out.
    assert!(line("r300-vs").is_empty() && !line("generic").is_empty());

    let args = [
        "fit",
        "--json",
        "-O1",
        "-O2",
        "--target=r200-fs,r300-vs,generic",
        "chain.tgsi",
    ];
    let output = run(&f, &args);
    check(&output, 0, &[], &[]);
    let values: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let targets: Vec<&str> = values.iter().filter_map(|v| v["target"].as_str()).collect();
    assert_eq!(targets, ["r200-fs", "generic"]);
    let r200 = &values[0];
    assert_eq!(
        (&r200["file"], &r200["stage"]),
        (&"chain.tgsi".into(), &"FRAG".into())
    );
    assert_eq!(r200["before"]["fits"], false);
    let excess = &r200["after"]["O1"]["excess"][0];
    assert_eq!(
        (&excess["limit"], &excess["needs"], &excess["has"]),
        (&"indirections".into(), &3.into(), &2.into())
    );
    assert_eq!(excess["instruction"], 2);
    assert_eq!(values[1]["after"]["O2"]["fits"], true);
}

#[test]
fn fitting_several_programs() {
    let f = Folder::new();
    f.file("in/chain.tgsi", CHAIN);
    f.file(
        "in/derived.tgsi",
        &CHAIN.replace("3: MOV OUT[0], TEMP[2]", "3: DDX OUT[0], TEMP[2]"),
    );
    f.file("in/copied.tgsi", PROGRAM);
    let output = run(&f, &["fit", "in"]);
    let wanted = "r300-fs   3         2         2    DDX 1\n";
    check(
        &output,
        0,
        &["target    programs  as it is  -O2", wanted],
        &[],
    );
    assert!(!text(&output.stdout).contains("r300-vs"));
    let output = run(
        &f,
        &[
            "fit",
            "--target=r300-fs",
            "--limit",
            "temps=0",
            "-O0",
            "-O2",
            "in",
        ],
    );
    check(
        &output,
        0,
        &[
            // The copy goes without the temporary.
            "in/copied.tgsi   no        no   yes\n",
            "uses DDX, which the target does not have (and 1 more)",
            "r300-fs  3",
        ],
        &[],
    );
    f.file("in/broken.tgsi", BROKEN);
    check(
        &run(&f, &["fit", "in"]),
        1,
        &["r300-fs   3"],
        &["broken.tgsi:3"],
    );
}

/// A program with work for several passes.
const WORK: &str = "\
FRAG
PROPERTY FS_COLOR0_WRITES_ALL_CBUFS 1
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL SAMP[0]
DCL CONST[0..3]
DCL TEMP[0..4]
IMM[0] FLT32 {    0.2500,     3.0000,     1.0000,     0.0000}
  0: TEX TEMP[0], IN[0], SAMP[0], 2D
  1: MUL TEMP[1], TEMP[0], CONST[1]
  2: MUL TEMP[2].x, IMM[0].xxxx, IMM[0].yyyy
  3: FSLT TEMP[3].x, TEMP[1].xxxx, CONST[2].xxxx
  4: UIF TEMP[3].xxxx
  5:   ADD TEMP[1], TEMP[1], CONST[3]
  6: ELSE
  7:   ADD TEMP[1], TEMP[1], -CONST[3]
  8: ENDIF
  9: MAD TEMP[4], TEMP[1], TEMP[2].xxxx, CONST[0]
 10: MOV OUT[0], TEMP[4]
 11: END
";

#[test]
fn reducing() {
    let f = Folder::new();
    f.file("in.tgsi", WORK);
    let out = run(
        &f,
        &[
            "reduce",
            "--check",
            "grep -q TEX",
            "in.tgsi",
            "-o",
            "out.tgsi",
        ],
    );
    check(
        &out,
        0,
        &[],
        &["11 instructions", "-> 1 instructions", "calls"],
    );
    let small = read(&f.path("out.tgsi"));
    assert!(small.contains("TEX") && small.contains("END"), "{small}");
    assert!(
        !small.contains("CONST") && !small.contains("PROPERTY"),
        "{small}"
    );
    check(&run(&f, &["check", "out.tgsi"]), 0, &[], &[]);

    // The path stands where {} does; the input's own text is asked about first.
    let both = "grep -q ELSE {} && grep -q MAD {}";
    let out = run(&f, &["reduce", "--check", both, "--steps", "3", "in.tgsi"]);
    check(&out, 0, &["ELSE", "MAD"], &["3 calls; stopped by --steps"]);
    let out = run(&f, &["reduce", "--check", "grep -q DP4", "in.tgsi"]);
    check(&out, 1, &[], &["does not say yes to the input"]);
    f.file("broken.tgsi", BROKEN);
    let out = run(&f, &["reduce", "--check", "true", "broken.tgsi"]);
    check(&out, 1, &[], &["FROB"]);
}

#[cfg(unix)]
#[test]
fn reducing_with_a_time_limit() {
    let f = Folder::new();
    f.file("in.tgsi", PROGRAM);
    // Whatever is smaller takes too long, in a process of the shell's.
    let slow = "test $(grep -c MOV {}) = 2 || { sleep 60; true; }";
    let args = [
        "reduce",
        "--check",
        slow,
        "--time-limit",
        "0.05",
        "--steps",
        "3",
        "in.tgsi",
    ];
    let start = std::time::Instant::now();
    let out = run(&f, &args);
    check(
        &out,
        0,
        &["MOV TEMP[0]", "MOV OUT[0]"],
        &["over the time limit"],
    );
    assert!(start.elapsed().as_secs() < 30);
    let out = run(
        &f,
        &["reduce", "--check", "true", "--time-limit", "0", "in.tgsi"],
    );
    check(&out, 1, &[], &["no time limit"]);
}

#[test]
fn bisecting() {
    let f = Folder::new();
    f.file("in.tgsi", WORK);
    let bisect = |more: &[&str]| run(&f, &[&["bisect", "in.tgsi"], more].concat());
    check(&bisect(&[]), 0, &["in.tgsi: the result is right"], &[]);
    let wrong = [
        "the result is wrong from rewrite",
        "pass const-fold, round 1, of what instruction 2 computes: MUL TEMP[2].x",
        "differ in case",
        "results looked at",
    ];
    check(&bisect(&["--sabotage", "const-fold"]), 4, &wrong, &[]);
    let stage = bisect(&["--sabotage", "merging", "--fp", "strict"]);
    check(&stage, 4, &["without any rewrite (--disable merging"], &[]);
    // The input for which a command speaks need not be the one that is wrong.
    f.file("other.tgsi", &WORK.replace("CONST[0]\n", "CONST[1]\n"));
    let against = bisect(&["--against", "other.tgsi"]);
    check(&against, 1, &[], &["wrong by itself"]);
    // A command that wants the branch kept.
    let kept = bisect(&["--check", "grep -q UIF"]);
    check(
        &kept,
        4,
        &["pass if-convert, round 1, of what instruction 3"],
        &[],
    );
    let json = bisect(&["--message-format", "json", "--check", "grep -q UIF {}"]);
    check(
        &json,
        4,
        &["\"pass\":\"if-convert\"", "\"kind\":\"rewrite\""],
        &[],
    );
    check(
        &bisect(&["--disable", "nothing"]),
        2,
        &[],
        &["unknown pass"],
    );
}

#[test]
fn bisecting_what_fails() {
    let f = Folder::new();
    f.file("in.tgsi", WORK);
    for fault in ["panic", "refuse"] {
        let out = run(&f, &["bisect", "in.tgsi", "--sabotage", fault]);
        check(&out, 4, &["from rewrite 1", "round 1"], &[]);
        assert!(!text(&out.stderr).contains("panicked"));
    }
}

#[test]
fn crash_bundles() {
    let f = Folder::new();
    f.file("in/a.tgsi", WORK);
    for (fault, reason) in [
        (
            "panic",
            "; reason: optimiser: panic: a panic on purpose, by",
        ),
        ("refuse", "; reason: passes: "),
    ] {
        let args = [
            "--sabotage",
            fault,
            "--crash-dir",
            "bad",
            "-O1",
            "in/a.tgsi",
        ];
        let out = run(&f, &args);
        check(&out, 4, &["UIF"], &["the program is kept in bad/a.tgsi"]);
        let bundle = read(&f.path("bad/a.tgsi"));
        let head = [
            "; version: ",
            "; options: -O1 --fp auto --target generic --sabotage",
            reason,
            "; input: in/a.tgsi\nFRAG\n",
        ];
        for line in head {
            assert!(bundle.contains(line), "no {line:?} in {bundle}");
        }
        assert!(bundle.ends_with(WORK));
        // It is an input as any other, and its head is not doubled.
        check(&run(&f, &["-O1", "bad/a.tgsi"]), 0, &["FRAG"], &[]);
        let args = [
            "--sabotage",
            fault,
            "--crash-dir",
            "bad",
            "-O1",
            "bad/a.tgsi",
        ];
        check(&run(&f, &args), 4, &[], &["kept in bad/a.tgsi"]);
        let again = read(&f.path("bad/a.tgsi"));
        assert_eq!(again.matches("; version: ").count(), 1, "{again}");
    }
    // The input is not written over, and without a fault there is no bundle.
    let args = ["--sabotage", "panic", "--crash-dir", "in", "in/a.tgsi"];
    check(&run(&f, &args), 1, &[], &["is the input itself"]);
    assert_eq!(read(&f.path("in/a.tgsi")), WORK);
    check(
        &run(&f, &["--crash-dir", "none", "in/a.tgsi"]),
        0,
        &["FRAG"],
        &[],
    );
    assert!(!f.path("none").exists());
}

#[test]
fn verified_results() {
    let f = Folder::new();
    let program = "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL TEMP[0]\n\
        IMM[0] FLT32 {2.0, 3.0, 0.0, 0.0}\nADD TEMP[0], IMM[0].xxxx, IMM[0].yyyy\nMUL OUT[0], IN[0], TEMP[0]\nEND\n";
    f.file("in.tgsi", program);
    let right = run(&f, &["--verify", "in.tgsi"]);
    check(&right, 0, &["MUL OUT[0], IN[0], IMM[0]"], &[]);
    let wrong = ["--verify=8", "--sabotage", "const-fold", "in.tgsi"];
    check(
        &run(&f, &wrong),
        4,
        &["ADD TEMP[0], IMM[0].xxxx, IMM[0].yyyy"],
        &["verify: the result differs in case"],
    );
    let figures = ["--verify", "--stats=json", "--emit", "none", "in.tgsi"];
    let proved = r#""verify":{"cases":80,"exact":true,"open":null,"proved":4,"roots":4}"#;
    check(&run(&f, &figures), 0, &[proved], &[]);
    let plain = ["--stats=json", "--emit", "none", "in.tgsi"];
    check(&run(&f, &plain), 0, &[r#""verify":null"#], &[]);
    let figures = ["--verify=8", "--stats", "--emit", "none", "in.tgsi"];
    let line = "verified in 10 cases, bit for bit; 4 of 4 roots proved\n";
    check(&run(&f, &figures), 0, &[line], &[]);
    // Without it the fault goes unnoticed.
    check(
        &run(&f, &["--sabotage", "const-fold", "in.tgsi"]),
        0,
        &[],
        &[],
    );
}
