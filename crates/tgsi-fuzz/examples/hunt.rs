//! Runs the fuzzer over a range of seeds and prints every kind of failure once, made small.
//!
//! `hunt FIRST COUNT [threads] [limit]`

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tgsi::{File, Item, Program};
use tgsi_fuzz::{Effort, FailureKind, Setup, TestCase, check, program, seeded_bytes, shrink};

/// The program with a value in each temporary before anything else happens.
fn all_written(program: &Program) -> Program {
    let temps: BTreeSet<i32> = program
        .header
        .iter()
        .filter_map(|item| match item {
            Item::Decl(d) if d.file == File::Temp => Some(d.first..=d.last),
            _ => None,
        })
        .flatten()
        .collect();
    let mut text = "FRAG\nDCL CONST[0][0..7]\n".to_owned();
    for t in &temps {
        text += &format!("MOV TEMP[{t}], CONST[0][{}]\n", t % 8);
    }
    let first = tgsi::parse(&text).0.insts;
    let mut result = program.clone();
    for inst in &mut result.insts {
        inst.label = inst.label.map(|l| l + first.len() as u32);
    }
    result.insts.splice(0..0, first);
    result
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let get = |i: usize, default| args.get(i).copied().unwrap_or(default);
    let (first, count, threads, limit) = (get(0, 0), get(1, 1000), get(2, 2), get(3, 8));
    let next = AtomicU64::new(first);
    let totals = Mutex::new((0u64, 0u64, 0u64, 0u64));
    let seen: Mutex<BTreeMap<(FailureKind, String), u64>> = Mutex::new(BTreeMap::new());
    // What each thread works on, and since when: a check that does not end is a fault too.
    let busy: Mutex<BTreeMap<u64, (Instant, String)>> = Mutex::new(BTreeMap::new());
    let open = AtomicU64::new(threads);
    std::thread::scope(|s| {
        s.spawn(|| {
            while open.load(Ordering::Relaxed) > 0 {
                std::thread::sleep(Duration::from_millis(200));
                let Ok(busy) = busy.lock() else { break };
                for (seed, (start, setup)) in busy.iter() {
                    if start.elapsed() > Duration::from_secs(40) {
                        println!("=== seed {seed} {setup} does not end");
                        std::process::exit(3);
                    }
                }
            }
        });
        for _ in 0..threads {
            s.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        open.fetch_sub(1, Ordering::Relaxed);
                        break;
                    }
                    let program = program(&seeded_bytes(seed, 4096));
                    for setup in Setup::choose(&seeded_bytes(!seed, 64)) {
                        let effort = Effort {
                            seed,
                            ..Effort::default()
                        };
                        let note = |text: &str| {
                            if let Ok(mut busy) = busy.lock() {
                                busy.insert(seed, (Instant::now(), format!("{setup} {text}")));
                            }
                        };
                        note("");
                        let case = TestCase {
                            program: program.clone(),
                            setup: setup.clone(),
                            effort,
                        };
                        let mut verdict = check(&case);
                        let mut program = program.clone();
                        if verdict
                            .as_ref()
                            .is_err_and(|f| f.kind == FailureKind::Undefined)
                        {
                            // The same with every register written tells a real fault apart.
                            let written = all_written(&program);
                            let again = check(&TestCase {
                                program: written.clone(),
                                ..case.clone()
                            });
                            if again
                                .as_ref()
                                .is_err_and(|f| f.kind == FailureKind::Meaning)
                            {
                                (verdict, program) = (again, written);
                            }
                        }
                        let failure = match verdict {
                            Ok(f) => {
                                if let Ok(mut t) = totals.lock() {
                                    t.0 += 1;
                                    t.1 += u64::from(f.instructions.0);
                                    t.2 += u64::from(f.instructions.1);
                                    t.3 += f.words;
                                }
                                continue;
                            }
                            Err(f) => f,
                        };
                        // One report for a kind and its wording without numbers.
                        let wording: String = failure
                            .detail
                            .lines()
                            .next()
                            .unwrap_or("")
                            .chars()
                            .filter(|c| !c.is_ascii_digit())
                            .take(60)
                            .collect();
                        let wording = if failure.kind <= FailureKind::Meaning
                            || failure.kind >= FailureKind::Again
                        {
                            String::new()
                        } else {
                            wording
                        };
                        let number = {
                            let Ok(mut seen) = seen.lock() else { break };
                            let n = seen.entry((failure.kind, wording)).or_default();
                            *n += 1;
                            *n
                        };
                        let most = if failure.kind == FailureKind::Meaning {
                            limit
                        } else {
                            limit.div_ceil(4)
                        };
                        if number > most {
                            continue;
                        }
                        let small = shrink(&program, |p| {
                            note(&tgsi::print(p, &tgsi::Dialect::mesa()));
                            check(&TestCase {
                                program: p.clone(),
                                ..case.clone()
                            })
                            .is_err_and(|f| {
                                f.kind == failure.kind
                                    && (f.kind != FailureKind::Unsupported
                                        || f.detail.split(' ').next_back()
                                            == failure.detail.split(' ').next_back())
                            })
                        });
                        let last = check(&TestCase {
                            program: small.clone(),
                            ..case.clone()
                        });
                        let text = tgsi::print(&small, &tgsi::Dialect::mesa());
                        println!(
                            "=== seed {seed} {setup} {:?}\n{text}--- {}\n",
                            failure.kind,
                            last.err().map_or(String::new(), |f| f.detail)
                        );
                        break;
                    }
                    if let Ok(mut busy) = busy.lock() {
                        busy.remove(&seed);
                    }
                }
            });
        }
    });
    if let (Ok(t), Ok(seen)) = (totals.lock(), seen.lock()) {
        println!(
            "{} sound checks, {} instructions became {}, {} words compared",
            t.0, t.1, t.2, t.3
        );
        for ((kind, wording), n) in seen.iter() {
            println!("{n:6} {kind:?} {wording}");
        }
    }
}
