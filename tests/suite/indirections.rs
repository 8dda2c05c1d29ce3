//! Texture indirections: where a target limits them, results have as few as their certificate says,
//! or as many as the target has where only so they have registers enough.

use std::{collections::HashMap, fmt::Write as _, fs, path::Path};

use libtest_mimic::Trial;
use tgsi::{File, Opcode, Program, Shape, Stage};
use tgsi_opt::Options;
use tgsi_target::{IndirectionModel, Target, certificate, indirections};

use crate::{Check, files, root, shared, text, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let own = root().join("tests/corpus");
    let mut trials = vec![trial("indirections/corpus".into(), move || all(&own))];
    trials.push(trial("indirections/random".into(), random_graphs));
    if let Some(corpus) = shared::corpus() {
        let all = trial("shared/indirections".into(), move || all(&corpus));
        trials.push(all.with_ignored_flag(true));
    }
    trials
}

/// Targets with a limit of texture indirections that have no control flow.
fn limited() -> impl Iterator<Item = &'static Target> {
    Target::all().filter(|t| t.limits.indirections.is_some_and(|n| n < 100))
}

fn all(folder: &Path) -> Check {
    let mut failed = Vec::new();
    let (mut checked, mut further) = (0, 0);
    for path in files(folder, "tgsi") {
        let source = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let Ok(program) = text::parse(&source) else {
            continue;
        };
        if program.stage != Stage::Frag || flows(&program) {
            continue;
        }
        for target in limited() {
            let options = Options {
                target: target.clone(),
                ..Options::default()
            };
            let outcome = tgsi_opt::optimize(&program, &options);
            let of = |model| indirections(&outcome.program, model);
            // A fetch into an output starts a phase of i915 whatever the order.
            let own = match target.indirection_model {
                IndirectionModel::I915Phase => 0,
                model => of(model),
            };
            let found = own.max(of(IndirectionModel::Arb));
            let least = certificate(&outcome.program).indirections;
            if !target.fits(&outcome.program, &outcome.after) {
                continue;
            }
            checked += 1;
            if found == least {
                continue;
            }
            if target.limits.indirections.is_some_and(|n| found <= n) {
                further += 1;
            } else {
                failed.push(format!(
                    "{} for {}: {found} indirections, {least} by the certificate",
                    path.display(),
                    target.name
                ));
            }
        }
    }
    println!(
        "{checked} results that fit, {} by the certificate, {further} with more nodes for registers",
        checked - further - failed.len()
    );
    if failed.is_empty() && checked > 0 && 100 * further <= checked {
        return Ok(());
    }
    let count = failed.len();
    failed.truncate(20);
    Err(format!(
        "{count} of {checked} differ, among them\n{}",
        failed.join("\n")
    ))
}

fn flows(program: &Program) -> bool {
    tgsi_target::count(program).flow > 0
}

/// Programs of [`random_graphs`].
const GRAPHS: u64 = 1_500;

/// Small random graphs of fetches and arithmetic: no order of the result's instructions, with a register
/// for every result, has fewer indirections than the result.
fn random_graphs() -> Check {
    let target = Target::by_name("arb-fp").ok_or("no target arb-fp")?;
    let (mut checked, mut deep) = (0, 0);
    for seed in 1..=GRAPHS {
        let program = text::parse(&random_graph(seed))?;
        let options = Options {
            target: target.clone(),
            ..Options::default()
        };
        let result = tgsi_opt::optimize(&program, &options).program;
        let found = indirections(&result, IndirectionModel::Arb);
        let least = least_of_all_orders(&result);
        if found != least {
            return Err(format!(
                "seed {seed}: {found} indirections, {least} in the best of all orders\n{}",
                text::print(&result)
            )
            .into());
        }
        checked += 1;
        deep += u32::from(found > 2);
    }
    println!("{checked} graphs, {deep} of them with three indirections or more");
    if deep < 100 {
        return Err(format!("only {deep} graphs have three indirections").into());
    }
    Ok(())
}

/// A program of fetches and arithmetic on earlier results, all of which reach an output.
fn random_graph(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % n
    };
    let ops = 3 + below(5);
    let mut out = String::from(
        "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL IN[1], GENERIC[1], LINEAR\nDCL OUT[0], COLOR\nDCL SAMP[0..7]\nDCL TEMP[0..9]\n",
    );
    let mut last = 0;
    for n in 0..ops {
        let mut source = |n: u64| match below(n + 2) {
            i if i < n => format!("TEMP[{i}]"),
            i => format!("IN[{}]", i - n),
        };
        let (a, b) = (source(n), source(n));
        // A write to a string cannot fail.
        let _ = match below(2) {
            0 => writeln!(out, "TEX TEMP[{n}], {a}, SAMP[{n}], 2D"),
            _ => writeln!(out, "MUL TEMP[{n}], {a}, {b}.yzwx"),
        };
        last = n;
    }
    let _ = writeln!(out, "MOV TEMP[9], TEMP[{last}]");
    for n in 0..last {
        let _ = writeln!(out, "MAD TEMP[9], TEMP[9], IN[0].wwww, TEMP[{n}]");
    }
    out.push_str("MOV OUT[0], TEMP[9]\nEND\n");
    out
}

/// The fewest indirections over all orders of a straight program of at most 32 instructions, each result in
/// a register of its own.
fn least_of_all_orders(program: &Program) -> u32 {
    // What each instruction waits for, and whether it is a fetch.
    let mut writers: HashMap<(i32, u8), usize> = HashMap::new();
    let mut graph: Vec<(u32, bool)> = Vec::new();
    for (at, inst) in program.insts.iter().enumerate() {
        if inst.op == Opcode::End {
            break;
        }
        let mask = inst.dsts.first().map_or(0xf, |d| d.mask);
        let mut waits = 0;
        for (k, src) in inst.srcs.iter().enumerate() {
            if src.reg.file == File::Temp {
                let read = tgsi::usage::src_mask(inst, k, mask);
                for c in (0..4).filter(|c| read >> c & 1 != 0) {
                    let word = (src.reg.index.base, src.swizzle[c]);
                    waits |= writers.get(&word).map_or(0, |w| 1 << w);
                }
            }
        }
        graph.push((waits, inst.op.info().shape == Shape::Tex));
        for dst in inst.dsts.iter().filter(|d| d.reg.file == File::Temp) {
            for c in (0..4).filter(|c| dst.mask >> c & 1 != 0) {
                writers.insert((dst.reg.index.base, c), at);
            }
        }
    }
    let mut known = HashMap::new();
    1 + starts(&graph, 0, 0, &mut known)
}

/// How many more indirections start if `placed` stand and `here` are those of the current one.
fn starts(
    graph: &[(u32, bool)],
    placed: u32,
    here: u32,
    known: &mut HashMap<(u32, u32), u32>,
) -> u32 {
    if placed.count_ones() as usize == graph.len() {
        return 0;
    }
    if let Some(&n) = known.get(&(placed, here)) {
        return n;
    }
    let mut least = u32::MAX;
    for (i, &(waits, fetch)) in graph.iter().enumerate() {
        let bit = 1 << i;
        if placed & bit != 0 || waits & !placed != 0 {
            continue;
        }
        let n = if fetch && waits & here != 0 {
            1 + starts(graph, placed | bit, bit, known)
        } else {
            starts(graph, placed | bit, here | bit, known)
        };
        least = least.min(n);
    }
    known.insert((placed, here), least);
    least
}
