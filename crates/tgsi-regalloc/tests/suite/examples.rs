//! Small problems and programs, with their results.

use expect_test::{Expect, expect};
use smallvec::{SmallVec, smallvec};
use tgsi_regalloc::checker::{Cell, Step, Value, check, check_with_undefined};
use tgsi_regalloc::{
    AllocError, Array, Assignment, Lane, LaneFault, LiveRange, Options, Problem, VReg, allocate,
    lower_bounds, lower_bounds_with,
};

/// A register from text: a lane each word, `from-to` segments joined by `+`, then
/// `@c` to pin it; the words `pair0`, `pair1`, `pair2` and `precise` set flags.
fn vreg(text: &str) -> VReg {
    let mut vreg = VReg::default();
    for word in text.split_whitespace() {
        if let Some(lane) = word.strip_prefix("pair") {
            vreg.pair |= 1 << lane.parse::<u8>().expect("lane");
            continue;
        }
        if word == "precise" {
            vreg.precise = true;
            continue;
        }
        let (live, pin) = word
            .split_once('@')
            .map_or((word, None), |(a, b)| (a, Some(b)));
        let segs = live.split('+').filter_map(|s| s.split_once('-'));
        let live = LiveRange {
            segs: segs.map(|(a, b)| (number(a), number(b))).collect(),
        };
        vreg.lanes.push(Lane {
            live,
            pinned: pin.map(|p| number(p) as u8),
        });
    }
    vreg
}

fn number(text: &str) -> u32 {
    text.parse().expect("number")
}

fn problem(vregs: &[&str], arrays: &[u32]) -> Problem {
    let array = |(id, &len): (usize, &u32)| Array { len, id: id as u32 };
    Problem {
        vregs: vregs.iter().map(|text| vreg(text)).collect(),
        arrays: arrays.iter().enumerate().map(array).collect(),
    }
}

fn show(problem: &Problem, assignment: &Assignment) -> String {
    let bounds = lower_bounds(problem);
    let mut text = format!(
        "temps {}, bounds {} {}, arrays {:?}\n",
        assignment.temps, bounds.channels, bounds.packing, assignment.array_base
    );
    for (i, (vreg, placed)) in problem.vregs.iter().zip(&assignment.place).enumerate() {
        let lanes = placed.chans.iter().take(vreg.lanes.len());
        let chans: String = lanes
            .map(|&c| char::from(b"xyzw"[usize::from(c)]))
            .collect();
        text += &format!("{i}: TEMP[{}].{chans}\n", placed.temp);
    }
    text
}

#[track_caller]
fn allocates(vregs: &[&str], arrays: &[u32], options: &Options, expected: Expect) {
    let problem = problem(vregs, arrays);
    match allocate(&problem, options) {
        Ok(assignment) => {
            crate::properties::assert_sound(&problem, options, &assignment);
            expected.assert_eq(&show(&problem, &assignment));
        }
        Err(error) => expected.assert_eq(&format!("{error}\n")),
    }
}

#[test]
fn scalars_share_a_temporary() {
    let options = Options::default();
    allocates(
        &["1-9", "3-9", "5-9", "7-9"],
        &[],
        &options,
        expect![[r#"
        temps 1, bounds 1 1, arrays []
        0: TEMP[0].x
        1: TEMP[0].y
        2: TEMP[0].z
        3: TEMP[0].w
    "#]],
    );
}

#[test]
fn a_value_may_go_where_one_dies() {
    let options = Options::default();
    allocates(
        &["1-5 1-5 1-5 1-5", "5-9 5-9 5-9 5-9"],
        &[],
        &options,
        expect![[r#"
            temps 1, bounds 1 1, arrays []
            0: TEMP[0].xyzw
            1: TEMP[0].xyzw
        "#]],
    );
}

#[test]
fn a_value_never_read_still_needs_room() {
    let options = Options::default();
    allocates(
        &["1-9 1-9 1-9 1-9", "3-4"],
        &[],
        &options,
        expect![[r#"
        temps 2, bounds 2 2, arrays []
        0: TEMP[0].xyzw
        1: TEMP[1].x
    "#]],
    );
}

#[test]
fn lanes_die_one_by_one() {
    let options = Options::default();
    allocates(
        &["1-3 1-5 1-7 1-9", "3-9", "5-9 ", "7-9"],
        &[],
        &options,
        expect![[r#"
            temps 1, bounds 1 1, arrays []
            0: TEMP[0].xyzw
            1: TEMP[0].x
            2: TEMP[0].y
            3: TEMP[0].z
        "#]],
    );
}

#[test]
fn holes_are_used() {
    let options = Options::default();
    let vregs = ["1-5+11-15 1-5+11-15 1-5+11-15", "5-11 5-11 5-11 5-11"];
    allocates(
        &vregs,
        &[],
        &options,
        expect![[r#"
        temps 1, bounds 1 1, arrays []
        0: TEMP[0].xyz
        1: TEMP[0].xyzw
    "#]],
    );
    allocates(
        &["1-5+11-15 1-15 1-15 1-15", "6-12"],
        &[],
        &options,
        expect![[r#"
            temps 2, bounds 2 2, arrays []
            0: TEMP[0].xyzw
            1: TEMP[1].x
        "#]],
    );
}

#[test]
fn pins_and_pairs() {
    let options = Options::default();
    allocates(
        &["1-9@0", "3-9@0", "3-9", "3-9@3"],
        &[],
        &options,
        expect![[r#"
            temps 2, bounds 1 2, arrays []
            0: TEMP[0].x
            1: TEMP[1].x
            2: TEMP[0].y
            3: TEMP[0].w
        "#]],
    );
    let vregs = ["1-9 1-9 pair0", "3-9", "3-9 3-9 pair0", "5-9"];
    allocates(
        &vregs,
        &[],
        &options,
        expect![[r#"
        temps 2, bounds 2 2, arrays []
        0: TEMP[0].xy
        1: TEMP[1].x
        2: TEMP[0].zw
        3: TEMP[1].y
    "#]],
    );
    allocates(
        &["1-9 1-9 1-9 1-9 pair0 pair2", "1-9@2 1-9 pair0"],
        &[],
        &options,
        expect![[r#"
            temps 2, bounds 2 2, arrays []
            0: TEMP[0].xyzw
            1: TEMP[1].zw
        "#]],
    );
    allocates(
        &["1-9 1-9 1-9 pair1"],
        &[],
        &options,
        expect![[r#"
        temps 1, bounds 1 1, arrays []
        0: TEMP[0].xzw
    "#]],
    );
}

#[test]
fn arrays_come_first() {
    let options = Options::default();
    allocates(
        &["1-9", "3-9 3-9 3-9 3-9"],
        &[3, 2],
        &options,
        expect![[r#"
            temps 7, bounds 7 7, arrays [0, 3]
            0: TEMP[5].x
            1: TEMP[6].xyzw
        "#]],
    );
    allocates(
        &[],
        &[3],
        &options,
        expect![[r#"
        temps 3, bounds 3 3, arrays [0]
    "#]],
    );
    allocates(
        &[],
        &[],
        &options,
        expect![[r#"
        temps 0, bounds 0 0, arrays []
    "#]],
    );
}

#[test]
fn precise_registers_apart() {
    let vregs = ["1-9 precise", "3-9", "5-9 precise"];
    allocates(
        &vregs,
        &[],
        &Options::default(),
        expect![[r#"
        temps 1, bounds 1 1, arrays []
        0: TEMP[0].x
        1: TEMP[0].y
        2: TEMP[0].z
    "#]],
    );
    let options = Options {
        separate_precise: true,
        ..Options::default()
    };
    allocates(
        &vregs,
        &[],
        &options,
        expect![[r#"
        temps 2, bounds 1 1, arrays []
        0: TEMP[0].x
        1: TEMP[1].x
        2: TEMP[0].y
    "#]],
    );
    assert_eq!(
        lower_bounds_with(&problem(&vregs, &[]), &options).packing,
        2
    );
}

#[test]
fn over_the_limit() {
    let options = Options {
        limit: Some(1),
        ..Options::default()
    };
    allocates(
        &["1-9 1-9 1-9", "3-9 3-9"],
        &[],
        &options,
        expect![[r#"
        needs 2 temporaries, at least 2; the limit is 1
    "#]],
    );
    allocates(
        &["1-9"],
        &[1],
        &options,
        expect![[r#"
        needs 2 temporaries, at least 2; the limit is 1
    "#]],
    );
    let options = Options {
        limit: Some(2),
        ..Options::default()
    };
    allocates(
        &["1-9 1-9 1-9", "3-9 3-9"],
        &[],
        &options,
        expect![[r#"
        temps 2, bounds 2 2, arrays []
        0: TEMP[0].xyz
        1: TEMP[1].xy
    "#]],
    );
}

#[test]
fn malformed_problems() {
    let fault = |text: &str| match allocate(&problem(&[text], &[]), &Options::default()) {
        Err(AllocError::MalformedLane { vreg: 0, fault, .. }) => fault,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(fault(""), LaneFault::Count);
    assert_eq!(fault("1-2 1-2 1-2 1-2 1-2"), LaneFault::Count);
    assert_eq!(fault("5-5"), LaneFault::Segments);
    assert_eq!(fault("5-9+1-3"), LaneFault::Segments);
    assert_eq!(fault("1-3+2-5"), LaneFault::Segments);
    assert_eq!(fault("1-3@4"), LaneFault::Pin);
    assert_eq!(fault("1-3@1 1-3@1"), LaneFault::Pin);
    assert_eq!(fault("1-3 pair0"), LaneFault::Pair);
    assert_eq!(fault("1-3 1-3 pair7"), LaneFault::Pair);
    assert_eq!(fault("1-3 1-3 1-3 pair0 pair1"), LaneFault::Pair);
    assert_eq!(fault("1-3@1 1-3 pair0"), LaneFault::Pair);
    assert_eq!(fault("1-3 1-3 1-3@0 1-3@2 pair0"), LaneFault::Pair);
    assert_eq!(lower_bounds(&problem(&["5-5"], &[])).packing, 0);
    let huge = problem(&["1-2"], &[u32::MAX, 1]);
    assert_eq!(
        allocate(&huge, &Options::default()),
        Err(AllocError::TooLarge)
    );
}

#[test]
fn odd_live_ranges() {
    let options = Options::default();
    // A lane that is never live, far points, segments that touch.
    allocates(
        &["x 1-9", "x"],
        &[],
        &options,
        expect![[r#"
        temps 1, bounds 1 1, arrays []
        0: TEMP[0].xy
        1: TEMP[0].x
    "#]],
    );
    allocates(
        &["0-4294967295", "4000000000-4000000001"],
        &[],
        &options,
        expect![[r#"
            temps 1, bounds 1 1, arrays []
            0: TEMP[0].x
            1: TEMP[0].y
        "#]],
    );
    allocates(
        &["1-5+5-9 1-9", "4-6 4-6 4-6"],
        &[],
        &options,
        expect![[r#"
            temps 2, bounds 2 2, arrays []
            0: TEMP[0].xy
            1: TEMP[1].xyz
        "#]],
    );
}

#[test]
fn live_range_construction() {
    let range = LiveRange::from_segments([(7, 9), (1, 3), (3, 5), (6, 6), (8, 12)]);
    assert_eq!(range.segs.as_slice(), [(1, 5), (7, 12)]);
    assert!(range.overlaps(&LiveRange::new(4, 7)) && !range.overlaps(&LiveRange::new(5, 7)));
    assert!(LiveRange::new(3, 3).is_empty());
}

/// A program from text: `v1@0.x` cells, reads before `>`, writes after it.
fn steps(text: &str) -> Vec<Step> {
    let access = |word: &str| {
        let (value, cell) = word.split_once('@').expect("value@cell");
        let (temp, chan) = cell.split_once('.').expect("temp.chan");
        let chan = "xyzw".find(chan).expect("channel") as u8;
        (
            Value(number(&value[1..])),
            Cell {
                temp: number(temp),
                chan,
            },
        )
    };
    let list = |part: &str| part.split_whitespace().map(access).collect::<SmallVec<_>>();
    let step = |line: &str| match line.trim() {
        "IF" => Step::If,
        "ELSE" => Step::Else,
        "ENDIF" => Step::EndIf,
        "LOOP" => Step::Loop,
        "ENDLOOP" => Step::EndLoop,
        "SWITCH" => Step::Switch,
        "CASE" => Step::Case { default: false },
        "DEFAULT" => Step::Case { default: true },
        "ENDSWITCH" => Step::EndSwitch,
        "BRK" => Step::Break,
        "CONT" => Step::Continue,
        "RET" => Step::Return,
        inst => {
            let (reads, writes) = inst.split_once('>').expect("reads > writes");
            Step::Inst {
                reads: list(reads),
                writes: list(writes),
            }
        }
    };
    text.split(';').map(step).collect()
}

#[track_caller]
fn checks(text: &str, undefined: &[u32], expected: Expect) {
    let undefined: Vec<Value> = undefined.iter().copied().map(Value).collect();
    let lines = check_with_undefined(&steps(text), &undefined);
    let lines: Vec<String> = lines.iter().map(|v| format!("{v:?}\n")).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn checker_straight_lines() {
    checks("> v1@0.x; v1@0.x >", &[], expect![[""]]);
    checks(
        "> v1@0.x; v1@0.y >",
        &[],
        expect![[r#"
        Violation { step: 1, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 1 }, found: Empty } }
    "#]],
    );
    checks(
        "> v1@0.x; > v2@0.x; v1@0.x >",
        &[],
        expect![[r#"
        Violation { step: 2, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Other(Value(2)) } }
    "#]],
    );
    checks("> v1@0.x; v1@0.x > v2@0.x; v2@0.x >", &[], expect![[""]]);
    checks(
        "> v1@0.x v2@0.x",
        &[],
        expect![[r#"
        Violation { step: 0, kind: WriteClash { cell: Cell { temp: 0, chan: 0 }, first: Value(1), second: Value(2) } }
    "#]],
    );
    // An old copy.
    checks(
        "> v1@0.x; > v1@0.y; v1@0.y v1@0.x >",
        &[],
        expect![[r#"
        Violation { step: 2, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
    "#]],
    );
    checks("> v1@0.x v1@0.y; v1@0.y v1@0.x >", &[], expect![[""]]);
}

#[test]
fn checker_orders_violations() {
    // By step, whatever the order of the cells, and each once.
    checks(
        "> v1@0.x v2@0.y; > v3@0.x; v2@0.y >; v2@0.z v2@0.z >; v1@0.x >; > v4@0.w v5@0.w; v2@0.y v1@0.x >",
        &[],
        expect![[r#"
            Violation { step: 3, kind: Read { value: Value(2), cell: Cell { temp: 0, chan: 2 }, found: Empty } }
            Violation { step: 4, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Other(Value(3)) } }
            Violation { step: 5, kind: WriteClash { cell: Cell { temp: 0, chan: 3 }, first: Value(4), second: Value(5) } }
            Violation { step: 6, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Other(Value(3)) } }
        "#]],
    );
    // One value in one cell, twice in a step, is one write.
    checks(
        "> v1@0.x v1@0.x; > v1@0.y; v1@0.x >",
        &[],
        expect![[r#"
            Violation { step: 2, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(
        "> v1@0.x; > v1@0.x v1@0.x; > v1@0.y; v1@0.x >",
        &[],
        expect![[r#"
            Violation { step: 3, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks("> v1@0.x v1@0.x; v1@0.x >", &[], expect![[""]]);
    // Two clashes in a step, and none between steps.
    checks(
        "> v1@0.x v2@0.x v3@0.x; > v1@0.x",
        &[],
        expect![[r#"
        Violation { step: 0, kind: WriteClash { cell: Cell { temp: 0, chan: 0 }, first: Value(1), second: Value(2) } }
        Violation { step: 0, kind: WriteClash { cell: Cell { temp: 0, chan: 0 }, first: Value(2), second: Value(3) } }
    "#]],
    );
    // A read of the cell stands between none of the writes.
    checks("v9@0.x > v1@0.x", &[9], expect![[""]]);
    // Several undefined values in one cell, and an ordinary one beside them.
    checks(
        "IF; > v3@0.x; ELSE; > v2@0.x; > v2@0.y; ENDIF; v2@0.x v1@0.x v3@0.x v2@0.x >",
        &[1, 2],
        expect![[r#"
            Violation { step: 6, kind: Read { value: Value(2), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
            Violation { step: 6, kind: Read { value: Value(3), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
}

#[test]
fn checker_joins() {
    checks(
        "IF; > v1@0.x; ELSE; > v1@0.x; ENDIF; v1@0.x >",
        &[],
        expect![[""]],
    );
    checks(
        "IF; > v1@0.x; ELSE; > v1@0.y; ENDIF; v1@0.x >",
        &[],
        expect![[r#"
            Violation { step: 5, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(
        "IF; > v1@0.x; ENDIF; v1@0.x >",
        &[],
        expect![[r#"
        Violation { step: 3, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
    "#]],
    );
    checks(
        "IF; > v1@0.x; ELSE; RET; ENDIF; v1@0.x >",
        &[],
        expect![[""]],
    );
    checks("RET; v1@0.x >", &[], expect![[""]]);
}

#[test]
fn checker_loops() {
    // Killed late in the body, read early in the next round.
    checks(
        "> v1@0.x; LOOP; v1@0.x >; IF; BRK; ENDIF; > v2@0.x; ENDLOOP",
        &[],
        expect![[r#"
            Violation { step: 2, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(
        "> v1@0.x; LOOP; IF; > v2@0.x; CONT; ENDIF; v1@0.x >; BRK; ENDLOOP",
        &[],
        expect![[r#"
            Violation { step: 6, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(
        "LOOP; IF; > v1@0.x; BRK; ENDIF; > v2@0.x; ENDLOOP; v1@0.x >",
        &[],
        expect![[""]],
    );
}

#[test]
fn checker_switches() {
    // Without a default no case may be taken.
    let write = "SWITCH; CASE; > v1@0.x; BRK; CASE; > v1@0.x; ENDSWITCH; v1@0.x >";
    checks(
        write,
        &[],
        expect![[r#"
            Violation { step: 7, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(&write.replacen("CASE", "DEFAULT", 1), &[], expect![[""]]);
    // The first case runs into the second.
    checks(
        "> v1@0.x; SWITCH; CASE; > v2@0.x; CASE; v1@0.x >; BRK; DEFAULT; v1@0.x >; ENDSWITCH",
        &[],
        expect![[r#"
            Violation { step: 5, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    // A break leaves the switch, a continue the loop around it.
    checks(
        "> v1@0.x; LOOP; v1@0.x >; SWITCH; CASE; > v2@0.x; CONT; DEFAULT; BRK; ENDSWITCH; v1@0.x >; BRK; ENDLOOP",
        &[],
        expect![[r#"
            Violation { step: 2, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
            Violation { step: 10, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
}

#[test]
fn checker_undefined_values() {
    checks("v1@0.x >", &[1], expect![[""]]);
    checks("IF; > v1@0.x; ENDIF; v1@0.x >", &[1], expect![[""]]);
    checks("> v2@0.x; v1@0.x >", &[1], expect![[""]]);
    checks(
        "IF; > v1@0.x; ENDIF; > v2@0.x; v1@0.x >",
        &[1],
        expect![[r#"
            Violation { step: 4, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
        "#]],
    );
    checks(
        "IF; > v1@0.y; ENDIF; v1@0.x >",
        &[1],
        expect![[r#"
        Violation { step: 3, kind: Read { value: Value(1), cell: Cell { temp: 0, chan: 0 }, found: Mixed } }
    "#]],
    );
}

#[test]
fn checker_structure() {
    for (text, at) in [
        ("ELSE", 0),
        ("ENDIF", 0),
        ("IF", 1),
        ("IF; ELSE; ELSE; ENDIF", 2),
        ("LOOP; ENDIF", 1),
        ("IF; ENDLOOP", 1),
        ("BRK", 0),
        ("IF; CONT; ENDIF", 1),
        ("LOOP; BRK", 2),
        ("CASE", 0),
        ("SWITCH; IF; CASE; ENDIF; ENDSWITCH", 2),
        ("SWITCH; DEFAULT; DEFAULT; ENDSWITCH", 2),
        ("SWITCH; CASE; CONT; ENDSWITCH", 2),
        ("SWITCH; ENDLOOP", 1),
    ] {
        let violations = check(&steps(text));
        assert_eq!(violations.len(), 1, "{text}");
        assert_eq!(violations[0].step, at, "{text}");
    }
}

#[test]
fn checker_nests_deeply() {
    const DEPTH: usize = 100_000;
    let cell = Cell { temp: 0, chan: 0 };
    let write = |v| Step::Inst {
        reads: smallvec![],
        writes: smallvec![(Value(v), cell)],
    };
    let read = |v| Step::Inst {
        reads: smallvec![(Value(v), cell)],
        writes: smallvec![],
    };
    for (open, close) in [(Step::If, Step::EndIf), (Step::Loop, Step::EndLoop)] {
        let body = |inner: Step| {
            let mut steps = vec![write(1)];
            steps.extend(std::iter::repeat_n(open.clone(), DEPTH));
            steps.extend([read(1), Step::If, inner, Step::EndIf]);
            for _ in 0..DEPTH {
                if open == Step::Loop {
                    steps.extend([Step::If, Step::Break, Step::EndIf]);
                }
                steps.push(close.clone());
            }
            steps.push(read(1));
            steps
        };
        assert_eq!(check(&body(write(1))), []);
        let found = check(&body(write(2)));
        let last = found.last().map(|v| v.step);
        assert_eq!(last, Some(body(write(2)).len() - 1), "{:?}", found.len());
    }
}
