//! Random programs, allocated and checked.

use tgsi_regalloc::checker::{Step, check_with_undefined};
use tgsi_regalloc::{
    Assignment, Options, Placed, Problem, allocate, lower_bounds, lower_bounds_with,
};

use crate::oracle;
use crate::program::{Program, Rng};

/// The rules of an assignment, from their definition alone.
pub fn assert_sound(problem: &Problem, options: &Options, assignment: &Assignment) {
    let arrays: u32 = problem.arrays.iter().map(|a| a.len).sum();
    let mut base = 0;
    for (array, &at) in problem.arrays.iter().zip(&assignment.array_base) {
        assert_eq!(at, base);
        base += array.len;
    }
    let mut used = vec![false; assignment.temps as usize];
    used[..arrays as usize].fill(true);
    for (i, (vreg, placed)) in problem.vregs.iter().zip(&assignment.place).enumerate() {
        assert!(placed.temp >= arrays, "register {i} inside an array");
        used[placed.temp as usize] = true;
        for (l, lane) in vreg.lanes.iter().enumerate() {
            let chan = placed.chans[l];
            assert!(chan < 4);
            assert!(
                lane.pinned.is_none_or(|p| p == chan),
                "register {i} lane {l} off its pin"
            );
            assert!(
                !placed.chans[..l].contains(&chan),
                "register {i} uses a channel twice"
            );
            if vreg.pair >> l & 1 == 1 {
                assert!(
                    chan % 2 == 0 && placed.chans[l + 1] == chan + 1,
                    "pair of register {i}"
                );
            }
        }
        assert!(
            placed.chans[vreg.lanes.len()..]
                .iter()
                .all(|&c| c == Placed::NO_LANE)
        );
        for (j, (other, at)) in problem
            .vregs
            .iter()
            .zip(&assignment.place)
            .enumerate()
            .take(i)
        {
            if at.temp != placed.temp {
                continue;
            }
            assert!(!options.separate_precise || vreg.precise == other.precise);
            for (a, &ca) in vreg.lanes.iter().zip(&placed.chans) {
                for (b, &cb) in other.lanes.iter().zip(&at.chans) {
                    assert!(
                        ca != cb || !a.live.overlaps(&b.live),
                        "registers {i} and {j} clash"
                    );
                }
            }
        }
    }
    assert!(used.iter().all(|&u| u), "numbering has gaps");
    let bounds = lower_bounds_with(problem, options);
    assert!(bounds.channels <= bounds.packing && bounds.packing <= assignment.temps);
    assert!(lower_bounds(problem).packing <= bounds.packing);
}

#[test]
fn random_programs_pass_the_checker() {
    random_programs(1, 3000);
}

/// Run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "takes ten seconds in a release build"]
fn a_hundred_thousand_random_programs_pass_the_checker() {
    random_programs(6, 100_000);
}

/// Allocates and checks so many random programs; none may break a rule.
fn random_programs(seed: u64, count: usize) {
    let mut rng = Rng(seed);
    let (mut reads, mut switches, mut loops) = (0, 0, 0);
    for round in 0..count {
        let (size, vregs) = (5 + rng.below(60), 1 + rng.below(32));
        let program = Program::random(&mut rng, size, vregs);
        let problem = program.problem();
        let options = Options {
            restarts: [0, 4, 32][round % 3],
            useful: None,
            separate_precise: rng.chance(30),
            seed: round as u64,
            limit: None,
            exact: [0, 0, 500][round / 3 % 3],
            any_order: rng.chance(20),
        };
        let assignment = allocate(&problem, &options).expect("no limit, well formed");
        assert_sound(&problem, &options, &assignment);
        assert_eq!(
            allocate(&problem, &options).as_ref(),
            Ok(&assignment),
            "not deterministic"
        );
        let steps = program.placed(&assignment);
        let violations = check_with_undefined(&steps, &program.undefined());
        assert!(
            violations.is_empty(),
            "round {round}: {violations:?}\n{program:?}"
        );
        for step in &steps {
            match step {
                Step::Inst { reads: here, .. } => reads += here.len(),
                Step::Switch => switches += 1,
                Step::Loop => loops += 1,
                _ => {}
            }
        }
    }
    println!("{count} programs, {reads} reads, {loops} loops, {switches} switches: 0 violations");
}

#[test]
fn checker_agrees_with_exploration_of_all_states() {
    let mut rng = Rng(2);
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..1500 {
        let (size, vregs) = (3 + rng.below(18), 1 + rng.below(4));
        let program = Program::random(&mut rng, size, vregs);
        // Places at random, so that both verdicts occur.
        let temps = 1 + rng.below(vregs);
        let place = program.shapes.iter().map(|_| {
            let mut chans = [0u8, 1, 2, 3];
            for i in (1..4).rev() {
                chans.swap(i, rng.below(i + 1));
            }
            Placed {
                temp: rng.below(temps) as u32,
                chans,
            }
        });
        let assignment = Assignment {
            place: place.collect(),
            ..Assignment::default()
        };
        let steps = program.placed(&assignment);
        let undefined = program.undefined();
        for undefined in [&undefined[..], &undefined[..undefined.len() / 2]] {
            let Some(truth) = oracle::is_wrong(&steps, undefined, 20_000) else {
                continue;
            };
            let violations = check_with_undefined(&steps, undefined);
            assert_eq!(
                truth,
                !violations.is_empty(),
                "{steps:?}\n{undefined:?}\n{violations:?}"
            );
            *(if truth { &mut wrong } else { &mut right }) += 1;
        }
    }
    println!("{right} right, {wrong} wrong");
    assert!(right > 300 && wrong > 300, "{right} right, {wrong} wrong");
}
