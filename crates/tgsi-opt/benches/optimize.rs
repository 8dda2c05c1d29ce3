//! How long a call of the library takes, from syntax tree to syntax tree:
//! `cargo bench -p tgsi-opt`. `cargo xtask bench` weighs calls where times say too little.

use divan::{Bencher, black_box};
use tgsi::{Program, parse};
use tgsi_opt::{Level, Options, optimize};

/// The allocator of the command `tgsi-opt`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Names the programs.
macro_rules! corpus {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../tests/corpus/", $name, ".tgsi")))),*]
    };
}

/// A few programs, from short to long.
const PROGRAMS: &[(&str, &str)] = corpus!(
    "point_sprite.frag",
    "phong.frag",
    "fxaa_like.frag",
    "dual_quat.vert",
    "bilateral.frag",
);

fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|p| p.0)
}

fn program(name: &str) -> Program {
    let text = PROGRAMS.iter().find(|p| p.0 == name).map_or("", |p| p.1);
    parse(text).0
}

fn measure(bencher: Bencher<'_, '_>, name: &str, level: Level) {
    let program = program(name);
    let options = Options {
        level,
        ..Options::default()
    };
    bencher.bench(|| optimize(black_box(&program), black_box(&options)));
}

#[divan::bench(args = names())]
fn o1(bencher: Bencher<'_, '_>, name: &str) {
    measure(bencher, name, Level::O1);
}

#[divan::bench(args = names())]
fn o2(bencher: Bencher<'_, '_>, name: &str) {
    measure(bencher, name, Level::O2);
}

#[divan::bench(args = names())]
fn o3(bencher: Bencher<'_, '_>, name: &str) {
    measure(bencher, name, Level::O3);
}

fn main() {
    divan::main();
}
