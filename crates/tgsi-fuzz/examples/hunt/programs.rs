//! Whole programs through the optimiser.

use std::collections::BTreeSet;

use tgsi::{File, Item, Program};
use tgsi_fuzz::{
    Effort, Failure, FailureKind, Setup, TestCase, check, program, seeded_bytes, shrink,
};
use tgsi_opt::Level;

use super::Hunt;

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

/// One report for a kind and its wording without numbers.
fn kind(failure: &Failure) -> String {
    let wording: String = failure
        .detail
        .lines()
        .next()
        .unwrap_or("")
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(60)
        .collect();
    let plain = failure.kind <= FailureKind::Meaning || failure.kind >= FailureKind::Again;
    if plain {
        format!("{:?}", failure.kind)
    } else {
        format!("{:?} {wording}", failure.kind)
    }
}

fn setups(hunt: &Hunt, seed: u64) -> Vec<Setup> {
    let mut list = Setup::choose(&seeded_bytes(!seed, 64));
    let virgl = list.first().is_some_and(|s| s.virgl);
    match hunt.request.level {
        None => list,
        Some(level) => {
            let level = match level {
                1 => Level::O1,
                2 => Level::O2,
                _ => Level::O3,
            };
            list.clear();
            list.push(Setup::of_level(level, virgl));
            list
        }
    }
}

pub(crate) fn one(hunt: &Hunt, seed: u64) {
    let program = program(&seeded_bytes(seed, hunt.request.bytes(seed)));
    for setup in setups(hunt, seed) {
        let effort = Effort {
            seed,
            ..Effort::default()
        };
        hunt.note(seed, setup.to_string());
        let case = TestCase {
            program: program.clone(),
            setup: setup.clone(),
            effort,
        };
        if !judge(hunt, seed, case) {
            break;
        }
    }
}

/// Whether the program may be tried by other setups.
fn judge(hunt: &Hunt, seed: u64, case: TestCase) -> bool {
    let mut verdict = check(&case);
    let mut program = case.program.clone();
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
        match again {
            Err(f) if f.kind == FailureKind::Meaning => (verdict, program) = (Err(f), written),
            Ok(f) => {
                hunt.add("unwritten words read", 1);
                verdict = Ok(f);
            }
            Err(_) => {}
        }
    }
    let failure = match verdict {
        Ok(f) => {
            hunt.add("sound checks", 1);
            hunt.add("instructions in", u64::from(f.instructions.0));
            hunt.add("instructions out", u64::from(f.instructions.1));
            hunt.add("words compared", f.words);
            return true;
        }
        Err(f) => f,
    };
    println!(
        "=== seed {seed} {} {:?} {}",
        case.setup,
        failure.kind,
        failure.detail.lines().next().unwrap_or("")
    );
    if !hunt.fault(kind(&failure)) {
        return true;
    }
    let small = shrink(&program, |p| {
        hunt.note(seed, format!("{} shrinking", case.setup));
        check(&TestCase {
            program: p.clone(),
            ..case.clone()
        })
        .is_err_and(|f| {
            f.kind == failure.kind
                && (f.kind != FailureKind::Unsupported
                    || f.detail.split(' ').next_back() == failure.detail.split(' ').next_back())
        })
    });
    let last = check(&TestCase {
        program: small.clone(),
        ..case
    });
    let text = tgsi::print(&small, &tgsi::Dialect::mesa());
    let detail = last.err().map_or(String::new(), |f| f.detail);
    println!("{text}--- {detail}\n");
    false
}
