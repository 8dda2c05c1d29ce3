//! Optimises files one by one, so that an instruction counter can weigh each call:
//! `cost LEVEL FILE...`. Driven by `cargo xtask bench`.
//!
//! For each file it prints one line, the number of instructions before and after, and the path.
//! [`measured`] is the frame that callgrind is told to collect in.

use std::{env, fs, hint::black_box, process::ExitCode};

use tgsi_opt::{Level, Options, TextOutcome, optimize_text};

/// The allocator of the command `tgsi-opt`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One call of the library, from text to text. Never inlined: callgrind knows it by its name.
#[inline(never)]
fn measured(text: &str, options: &Options) -> Option<TextOutcome> {
    optimize_text(black_box(text), black_box(options), None).ok()
}

/// As [`measured`], under another name: pays for what is made once a process, such as the rules that
/// programs with and without integers, and with each of the two products with zero, may use.
#[inline(never)]
fn warm_up(options: &Options) {
    for property in ["", "PROPERTY MUL_ZERO_WINS 1\n"] {
        for op in ["ADD", "UADD"] {
            let text = format!(
                "FRAG\n{property}DCL OUT[0], COLOR\nDCL TEMP[0]\n{op} OUT[0].x, TEMP[0].xxxx, TEMP[0].xxxx\nEND\n"
            );
            black_box(optimize_text(black_box(&text), options, None).ok());
        }
    }
}

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let level = match args.next().as_deref() {
        Some("O0") => Level::O0,
        Some("O1") => Level::O1,
        Some("O2") => Level::O2,
        Some("O3") => Level::O3,
        _ => {
            eprintln!("usage: cost O0|O1|O2|O3 FILE...");
            return ExitCode::from(2);
        }
    };
    let options = Options {
        level,
        ..Options::default()
    };
    warm_up(&options);
    for file in args {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        };
        match measured(&text, &options) {
            Some(done) => {
                let (before, after) = (done.outcome.before, done.outcome.after);
                println!("{}\t{}\t{file}", before.instructions, after.instructions);
            }
            None => println!("-\t-\t{file}"),
        }
    }
    ExitCode::SUCCESS
}
