//! The exact search against a search through all places.

use tgsi_regalloc::{AllocError, Options, Placed, Problem, VReg, allocate, lower_bounds_with};

use crate::program::{Program, Rng};
use crate::properties::assert_sound;

/// Every way in which the lanes of a register can take channels.
fn ways(vreg: &VReg) -> Vec<[u8; 4]> {
    let mut ways = Vec::new();
    for x in 0..4u32.pow(vreg.lanes.len() as u32) {
        let mut chans = [Placed::NO_LANE; 4];
        for (l, chan) in chans.iter_mut().enumerate().take(vreg.lanes.len()) {
            *chan = (x >> (2 * l) & 3) as u8;
        }
        let lanes = || vreg.lanes.iter().enumerate();
        let distinct = lanes().all(|(l, _)| !chans[..l].contains(&chans[l]));
        let pinned = lanes().all(|(l, lane)| lane.pinned.is_none_or(|p| p == chans[l]));
        let paired = lanes()
            .filter(|(l, _)| vreg.pair >> l & 1 == 1)
            .all(|(l, _)| chans[l] % 2 == 0 && chans[l + 1] == chans[l] + 1);
        if distinct && pinned && paired {
            ways.push(chans);
        }
    }
    ways
}

/// Whether the registers behind `done` fit into `temps` temporaries beside those before, by trying
/// all places; `None` when out of `nodes`.
fn fits(
    problem: &Problem,
    separate: bool,
    temps: u32,
    done: &mut Vec<Placed>,
    nodes: &mut u32,
) -> Option<bool> {
    let Some(vreg) = problem.vregs.get(done.len()) else {
        return Some(true);
    };
    *nodes = nodes.checked_sub(1)?;
    let opened = done.iter().map(|p| p.temp + 1).max().unwrap_or(0);
    for temp in 0..temps.min(opened + 1) {
        for chans in ways(vreg) {
            let clash = done.iter().zip(&problem.vregs).any(|(at, other)| {
                at.temp == temp
                    && (separate && other.precise != vreg.precise
                        || vreg.lanes.iter().zip(chans).any(|(a, ca)| {
                            let there = other.lanes.iter().zip(at.chans);
                            there
                                .clone()
                                .any(|(b, cb)| ca == cb && a.live.overlaps(&b.live))
                        }))
            });
            if clash {
                continue;
            }
            done.push(Placed { temp, chans });
            let found = fits(problem, separate, temps, done, nodes);
            done.pop();
            if found != Some(false) {
                return found;
            }
        }
    }
    Some(false)
}

#[test]
fn small_problems_are_settled() {
    let mut rng = Rng(8);
    let (mut better, mut raised, mut settled, mut open) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let (size, vregs) = (6 + rng.below(30), 3 + rng.below(5));
        let mut program = Program::random(&mut rng, size, vregs);
        program.arrays.truncate(rng.below(2));
        let problem = program.problem();
        let plain = Options {
            separate_precise: rng.chance(40),
            seed,
            ..Options::default()
        };
        let exact = Options {
            exact: 100_000,
            ..plain.clone()
        };
        let first = allocate(&problem, &plain).expect("no limit");
        let result = allocate(&problem, &exact).expect("no limit");
        assert_sound(&problem, &exact, &result);
        assert_eq!(allocate(&problem, &exact).as_ref(), Ok(&result));
        assert_eq!(result.bound, result.temps, "not settled");
        let bounds = lower_bounds_with(&problem, &plain);
        assert_eq!(
            (first.channel_bound, first.bound),
            (bounds.channels, bounds.packing)
        );
        if first.temps == first.bound {
            assert_eq!(result, first, "nothing to look for");
            continue;
        }
        settled += 1;
        better += u32::from(result.temps < first.temps);
        raised += u32::from(result.bound > first.bound);
        let arrays: u32 = problem.arrays.iter().map(|a| a.len).sum();
        let separate = plain.separate_precise;
        let below = result.temps - arrays - 1;
        match fits(&problem, separate, below, &mut Vec::new(), &mut 4_000) {
            Some(fits) => assert!(!fits, "{problem:?}"),
            None => open += 1,
        }
        // A limit alone calls for the search too.
        for limit in [result.temps - 1, result.temps] {
            let limited = Options {
                limit: Some(limit),
                ..plain.clone()
            };
            match allocate(&problem, &limited) {
                Ok(found) => assert!(found.temps <= limit && limit == result.temps),
                Err(AllocError::OverLimit { bound, needed, .. }) => {
                    assert!(
                        limit < bound && bound <= result.temps && result.temps <= needed,
                        "{limit} {bound} {} {needed} {} {problem:?}",
                        result.temps,
                        plain.separate_precise
                    );
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
    println!(
        "{settled} above the bound: {better} made better, {raised} bounds raised; {open} too large to compare"
    );
    assert!(better > 10 && raised > 10, "{better} {raised}");
    assert!(2 * open < settled, "{open} of {settled}");
}

#[test]
fn steps_are_counted() {
    let mut rng = Rng(9);
    let mut open = 0;
    for _ in 0..200 {
        let problem = Program::random(&mut rng, 60, 32).problem();
        for exact in [1, 20, 300] {
            let options = Options {
                exact,
                ..Options::default()
            };
            let result = allocate(&problem, &options).expect("no limit");
            assert_sound(&problem, &options, &result);
            assert!(result.bound <= result.temps);
            open += u32::from(result.bound < result.temps);
        }
    }
    println!("{open} of 600 not settled");
}

#[test]
fn bounds_raised_above_what_is_useful_end_the_search() {
    let mut rng = Rng(10);
    let mut useless = 0;
    for _ in 0..400 {
        let problem = Program::random(&mut rng, 25, 6).problem();
        let exact = Options {
            exact: 100_000,
            ..Options::default()
        };
        let least = allocate(&problem, &exact).expect("no limit").temps;
        for useful in [least - 1, least, least + 1] {
            let options = Options {
                useful: Some(useful),
                ..exact.clone()
            };
            match allocate(&problem, &options) {
                Ok(result) => assert!(useful >= least && result.temps <= useful),
                Err(error) => {
                    assert_eq!(error, AllocError::Useless { bound: least });
                    assert_eq!(useful, least - 1);
                    useless += 1;
                }
            }
        }
    }
    println!("{useless} of 400 bounds");
}
