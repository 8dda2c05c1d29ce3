//! A sound function, and what it is refused for when it is broken.

use tgsi::Opcode;

use super::*;
use crate::lift;

/// A function with a branch, a loop, a fetch and a 64-bit operation.
fn sound() -> Function {
    let text = "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL SAMP[0]\nIMM[0] UINT32 {0, 1, 2, 3}\n\
        TEX TEMP[0], IN[0], SAMP[0], 2D\nMOV TEMP[2].x, IMM[0].xxxx\nBGNLOOP\n\
        USGE TEMP[1].x, TEMP[2].xxxx, IMM[0].wwww\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
        UADD TEMP[2].x, TEMP[2].xxxx, IMM[0].yyyy\nENDLOOP\n\
        UIF IN[0].xxxx\nKILL\nADD TEMP[3].x, TEMP[0].xxxx, TEMP[0].yyyy\nELSE\nMUL TEMP[3].x, TEMP[0].zzzz, TEMP[0].wwww\nENDIF\n\
        DADD TEMP[4].xy, TEMP[0].xyzw, TEMP[0].zwxy\n\
        ADD OUT[0].x, TEMP[3].xxxx, TEMP[4].yyyy\nMOV OUT[0].y, TEMP[2].xxxx\nEND\n";
    let (program, _) = tgsi::parse(text);
    lift(&program).unwrap_or_else(|e| panic!("{e}"))
}

fn find(f: &Function, wanted: impl Fn(&ValueData) -> bool) -> Value {
    f.values
        .iter()
        .find(|(_, d)| wanted(d))
        .map(|v| v.0)
        .unwrap_or_else(|| panic!("no such value"))
}

fn alu(f: &Function, op: Opcode) -> Value {
    find(f, |d| d.op == VOp::Alu(op))
}

/// Breaks the sound function and expects the code among what is found.
#[track_caller]
fn broken(code: &str, breaks: impl FnOnce(&mut Function)) {
    let mut f = sound();
    assert_eq!(verify(&f), []);
    breaks(&mut f);
    let found = verify(&f);
    assert!(
        found.iter().any(|v| v.code == code),
        "{code} is not in {found:?}"
    );
}

fn the_loop(f: &mut Function) -> &mut Loop {
    f.body
        .items
        .iter_mut()
        .find_map(|i| {
            if let Item::Loop(l) = i {
                Some(&mut **l)
            } else {
                None
            }
        })
        .expect("a loop")
}

fn the_if(f: &mut Function) -> &mut If {
    f.body
        .items
        .iter_mut()
        .find_map(|i| {
            if let Item::If(b) = i {
                Some(&mut **b)
            } else {
                None
            }
        })
        .expect("a branch")
}

#[test]
fn v01_operand_order() {
    broken("V01", |f| {
        let (a, last) = (alu(f, Opcode::Usge), value_at(f.values.len() - 1));
        f.values[a].args[0] = last;
    });
}

#[test]
fn v02_operand_count() {
    broken("V02", |f| {
        let a = alu(f, Opcode::Add);
        f.values[a].args.pop();
    });
}

#[test]
fn v03_operand_width() {
    broken("V03", |f| {
        let pair = find(f, |d| d.op == VOp::Pair);
        let narrow = f.values[pair].args[0];
        let d = alu(f, Opcode::Dadd);
        f.values[d].args[0] = narrow;
    });
}

#[test]
fn v04_width() {
    broken("V04", |f| {
        let a = alu(f, Opcode::Mul);
        f.values[a].wide = true;
    });
}

#[test]
fn v05_half() {
    broken("V05", |f| {
        let h = find(f, |d| matches!(d.op, VOp::Half(_)));
        f.values[h].op = VOp::Half(2);
    });
}

#[test]
fn v06_projection() {
    broken("V06", |f| {
        let p = find(f, |d| matches!(d.op, VOp::Proj(_)));
        f.values[p].op = VOp::Proj(5);
    });
}

#[test]
fn v07_slots() {
    broken("V07", |f| {
        f.multis[0].slots.pop();
    });
    broken("V07", |f| {
        let r = find(f, |d| matches!(d.op, VOp::Reg(..)));
        f.values[r].op = VOp::Reg(RegId(99), 0);
    });
}

#[test]
fn v08_numbering() {
    broken("V08", |f| {
        let copy = f.values[alu(f, Opcode::Mul)].clone();
        f.values.alloc(copy);
    });
}

#[test]
fn v09_phi_lists() {
    broken("V09", |f| {
        let p = the_if(f).results[0];
        the_loop(f).results.push(p);
    });
    broken("V09", |f| {
        let a = alu(f, Opcode::Add);
        the_if(f).results[0] = a;
    });
}

#[test]
fn v10_argument_counts() {
    broken("V10", |f| {
        the_loop(f).inits.pop();
    });
}

#[test]
fn v11_targets() {
    broken("V11", |f| {
        f.body.items.push(Item::Depart(RegionId(77), Vec::new()))
    });
    broken("V11", |f| {
        f.body.items.push(Item::Repeat(FUNCTION, Vec::new()))
    });
}

#[test]
fn v12_effects() {
    broken("V12", |f| {
        let first = f.body.items[0].clone();
        f.body.items.insert(0, first);
    });
    broken("V12", |f| {
        let a = alu(f, Opcode::Mul);
        f.body.items.push(Item::Effect(a));
    });
}

#[test]
fn v13_operands_exist_together() {
    broken("V13", |f| {
        // A fetch of its own in each arm, and a sum of both behind the branch.
        let text = "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL SAMP[0]\nUIF IN[0].xxxx\nTEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
            ELSE\nTEX TEMP[0].x, IN[0].yyyy, SAMP[0], 2D\nENDIF\nADD OUT[0].x, TEMP[0].xxxx, IN[0].xxxx\nEND\n";
        *f = lift(&tgsi::parse(text).0).unwrap_or_else(|e| panic!("{e}"));
        let b = the_if(f);
        let arms: Args = [&b.then_args, &b.else_args]
            .into_iter()
            .flatten()
            .flatten()
            .copied()
            .collect();
        let sum = alu(f, Opcode::Add);
        f.values[sum].args = arms;
    });
}

#[test]
fn v14_nothing_behind_a_departure() {
    broken("V14", |f| {
        let args = f.end_args.take().unwrap_or_default();
        let first = f.body.items.remove(0);
        f.body.items.insert(0, Item::Depart(FUNCTION, args));
        f.body.items.push(first);
    });
}

#[test]
fn v15_uses_are_dominated() {
    broken("V15", |f| {
        let inner = the_loop(f).params[0];
        the_loop(f).inits[0] = inner;
    });
}

#[test]
fn v16_ends() {
    broken("V16", |f| the_if(f).then_args = None);
    broken("V16", |f| the_loop(f).exits = false);
    broken("V16", |f| f.end_args = None);
}

#[test]
fn v17_places() {
    broken("V17", |f| {
        f.body.items.remove(0);
    });
}

#[test]
fn v18_conditions_are_narrow() {
    broken("V18", |f| {
        let wide = alu(f, Opcode::Dadd);
        the_if(f).cond = wide;
    });
}

#[test]
fn violations_read_well() {
    let mut f = sound();
    f.body.items.remove(0);
    let found = verify(&f);
    assert_eq!(
        found[0].to_string(),
        format!(
            "V17 at %{}: used, but has no place in the tree",
            ix(found[0].at.expect("a value"))
        )
    );
}

/// A function with a switch, a loop that goes on, dot products, halves, doubles and an early end.
fn mixed() -> Function {
    let text = "FRAG\nDCL IN[0], GENERIC[0]\nDCL IN[1], GENERIC[1]\nDCL OUT[0], COLOR\nDCL SAMP[0]\nIMM[0] UINT32 {0, 1, 2, 3}\n\
        DP3 TEMP[0].x, IN[0], IN[1]\nDP4 TEMP[0].y, IN[0], IN[1]\n\
        DADD_SAT TEMP[1].xy, IN[0].xyzw, IN[1].xyzw\nDLDEXP TEMP[1].xy, TEMP[1].xyxy, IN[0].wwww\n\
        ADD TEMP[2].x, -TEMP[0].xxxx, |TEMP[1].yyyy|\nUADD TEMP[2].y, -IN[0].xxxx, TEMP[1].xxxx\n\
        MOV TEMP[3].x, IMM[0].xxxx\n\
        SWITCH IN[0].xxxx\n\
        CASE IMM[0].xxxx\nMOV TEMP[3].x, IN[1].xxxx\n\
        CASE IMM[0].yyyy\nUIF IN[0].zzzz\nKILL\nBRK\nENDIF\nADD TEMP[3].x, TEMP[3].xxxx, TEMP[2].xxxx\nBRK\n\
        CASE IMM[0].zzzz\nTEX TEMP[3].x, IN[0], SAMP[0], 2D\n\
        ENDSWITCH\n\
        BGNLOOP\nUIF IN[1].xxxx\nBRK\nENDIF\n\
        TEX TEMP[5].x, TEMP[3].xxxx, SAMP[0], 2D\nADD TEMP[3].x, TEMP[5].xxxx, TEMP[2].yyyy\n\
        UIF TEMP[3].xxxx\nCONT\nENDIF\nMUL TEMP[3].x, TEMP[3].xxxx, TEMP[0].xxxx\nENDLOOP\n\
        UIF IN[0].yyyy\nKILL\nMOV OUT[0].x, TEMP[0].yyyy\nRET\nENDIF\n\
        MOV OUT[0].x, TEMP[3].xxxx\nEND\n";
    let (program, _) = tgsi::parse(text);
    lift(&program).unwrap_or_else(|e| panic!("{e}"))
}

/// Breaks the other sound function and expects this code and no other.
#[track_caller]
fn only(code: &str, breaks: impl FnOnce(&mut Function)) -> Vec<Violation> {
    let mut f = mixed();
    assert_eq!(verify(&f), []);
    breaks(&mut f);
    let found = verify(&f);
    let mut codes: Vec<&str> = found.iter().map(|v| v.code).collect();
    codes.dedup();
    assert_eq!(codes, [code], "{found:?}\n{f}");
    found
}

fn items<'a, T>(f: &'a mut Function, wanted: impl Fn(&'a mut Item) -> Option<T>) -> Vec<T> {
    f.body.items.iter_mut().filter_map(wanted).collect()
}

fn the_switch(f: &mut Function) -> &mut Switch {
    let mut all = items(f, |i| match i {
        Item::Switch(s) => Some(&mut **s),
        _ => None,
    });
    all.remove(0)
}

/// The wide value that DADD makes, which comes early in the arena.
fn wide(f: &Function) -> Value {
    alu(f, Opcode::Dadd)
}

fn lifted(text: &str) -> Function {
    let head =
        "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL SAMP[0]\nIMM[0] UINT32 {0, 1, 2, 3}\n";
    let (program, _) = tgsi::parse(&format!("{head}{text}END\n"));
    lift(&program).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_value_is_no_operand_of_itself() {
    only("V01", |f| {
        let a = alu(f, Opcode::Uadd);
        f.values[a].args[0] = a;
    });
    // What else is wrong with such a value is not told.
    only("V01", |f| {
        let (dot, later) = (alu(f, Opcode::Dp3), wide(f));
        f.values[dot].args[0] = later;
    });
}

#[test]
fn dot_products_have_narrow_operands() {
    for i in 0..6 {
        only("V03", |f| {
            let (dot, pair) = (alu(f, Opcode::Dp3), find(f, |d| d.op == VOp::Pair));
            // The dot product comes first in the arena, so the pair is made of it.
            let (low, high) = (f.values[dot].args[0], f.values[dot].args[1]);
            let copy = ValueData {
                args: Args::from_slice(&[high, low]),
                ..f.values[pair].clone()
            };
            f.values[dot] = copy;
            let user = alu(f, Opcode::Dp4);
            f.values[user].args[i] = dot;
            // Readers of the dot product itself.
            for op in [VOp::Neg, VOp::Alu(Opcode::Mul)] {
                let reader = find(f, |d| d.op == op);
                f.values[reader].args.iter_mut().for_each(|a| {
                    if *a == dot {
                        *a = low;
                    }
                });
            }
        });
    }
}

#[test]
fn modifiers_of_words_and_halves_of_pairs() {
    for op in [VOp::Neg, VOp::Abs, VOp::INeg] {
        let mut f = mixed();
        let (modifier, wide) = (find(&f, |d| d.op == op), wide(&f));
        let at = ix(wide).max(ix(modifier));
        assert_eq!(verify(&f), []);
        if at == ix(modifier) {
            f.values[modifier].args[0] = wide;
            let found = verify(&f);
            assert!(found.iter().any(|v| v.code == "V03"), "{op:?} {found:?}");
        }
    }
    for i in 0..2 {
        let mut f = mixed();
        let pairs: Vec<Value> = f
            .values
            .iter()
            .filter(|(_, d)| d.op == VOp::Pair)
            .map(|v| v.0)
            .collect();
        let (first, last) = (pairs[0], pairs[1]);
        f.values[last].args[i] = first;
        let found = verify(&f);
        assert!(found.iter().any(|v| v.code == "V03"), "{found:?}");
    }
    only("V05", |f| {
        let h = find(f, |d| d.op == VOp::Half(1));
        f.values[h].args[0] = find(f, |d| d.op == VOp::Pair);
        f.values[h].op = VOp::Half(3);
    });
}

#[test]
fn projections() {
    only("V06", |f| {
        let p = find(f, |d| matches!(d.op, VOp::Proj(_)));
        f.values[p].args[0] = alu(f, Opcode::Dp3);
    });
    only("V06", |f| {
        let p = find(f, |d| matches!(d.op, VOp::Proj(_)));
        f.values[p].op = VOp::Proj(8);
    });
    // The last channel of a second destination is one.
    let mut f = mixed();
    let p = find(&f, |d| matches!(d.op, VOp::Proj(_)));
    let VOp::Multi(m) = f.values[f.values[p].args[0]].op else {
        panic!("a projection of no operation");
    };
    f.multis[m.0 as usize].results |= 0x80;
    f.values[p].op = VOp::Proj(7);
    assert_eq!(verify(&f), []);
}

#[test]
fn every_list_of_arguments_has_its_length() {
    only("V10", |f| f.end_args.as_mut().expect("an end").clear());
    only("V10", |f| {
        the_loop(f).back.as_mut().expect("a way back").truncate(1)
    });
    only("V10", |f| the_switch(f).cases[1].entry.clear());
    only("V10", |f| {
        the_switch(f).cases[1]
            .fall
            .as_mut()
            .expect("it falls")
            .clear()
    });
    only("V10", |f| {
        the_switch(f).end_args.as_mut().expect("an end").clear()
    });
    only("V10", |f| {
        the_switch(f)
            .none_args
            .as_mut()
            .expect("a way past")
            .clear()
    });
    only("V10", |f| {
        let end = the_switch(f).cases[1].body.items.last_mut();
        let Some(Item::Depart(_, args)) = end else {
            panic!("it breaks");
        };
        args.clear();
    });
    only("V10", |f| {
        let Item::If(i) = &mut the_loop(f).body.items[2] else {
            panic!("a branch");
        };
        let Some(Item::Repeat(_, args)) = i.then.items.last_mut() else {
            panic!("it goes on");
        };
        args.pop();
    });
    for els in [false, true] {
        broken("V10", |f| {
            let i = the_if(f);
            let args = if els {
                &mut i.else_args
            } else {
                &mut i.then_args
            };
            args.as_mut().expect("an end").pop();
        });
    }
}

#[test]
fn arguments_and_selectors_are_narrow() {
    only("V18", |f| {
        let w = wide(f);
        the_loop(f).inits[0] = w;
    });
    only("V18", |f| {
        let w = wide(f);
        the_switch(f).selector = w;
    });
    only("V18", |f| {
        let computed = alu(f, Opcode::Dp3);
        the_switch(f).cases[0].label = Some(computed);
    });
}

#[test]
fn phis_stand_in_lists_of_phis() {
    for list in 0..4 {
        broken_mixed("V09", |f| {
            let other = alu(f, Opcode::Dp3);
            match list {
                0 => the_loop(f).params[0] = other,
                1 => the_loop(f).results[0] = other,
                2 => the_switch(f).cases[1].params[0] = other,
                _ => the_switch(f).results[0] = other,
            }
        });
        broken_mixed("V09", |f| {
            let (phi, twice) = match list {
                0 => (the_loop(f).params[0], the_loop(f).params[1]),
                1 => (the_loop(f).results[0], the_loop(f).params[1]),
                2 => (the_switch(f).cases[1].params[0], the_loop(f).params[1]),
                _ => (the_switch(f).results[0], the_loop(f).params[1]),
            };
            the_loop(f).params[1] = phi;
            assert_ne!(phi, twice);
        });
    }
}

/// As [`broken`], with the other function.
#[track_caller]
fn broken_mixed(code: &str, breaks: impl FnOnce(&mut Function)) {
    let mut f = mixed();
    assert_eq!(verify(&f), []);
    breaks(&mut f);
    let found = verify(&f);
    assert!(found.iter().any(|v| v.code == code), "{code}: {found:?}");
}

#[test]
fn what_is_in_a_region_is_checked_too() {
    // The same effect twice, in an arm, a loop and a case.
    broken_mixed("V12", |f| {
        let arm = items(f, |i| match i {
            Item::If(i) => Some(&mut i.then),
            _ => None,
        });
        for arm in arm {
            let first = arm.items[0].clone();
            arm.items.insert(0, first);
        }
    });
    broken_mixed("V12", |f| {
        let body = &mut the_loop(f).body;
        let fetch = body.items[1].clone();
        body.items.insert(1, fetch);
    });
    broken_mixed("V12", |f| {
        let body = &mut the_switch(f).cases[2].body;
        let fetch = body.items[0].clone();
        body.items.insert(0, fetch);
    });
}

#[test]
fn regions_end_where_they_end() {
    for is_loop in [true, false] {
        only("V11", |f| {
            let id = if is_loop {
                the_loop(f).id
            } else {
                the_switch(f).id
            };
            let args = vec![alu(f, Opcode::Dp4)];
            f.body.items.push(Item::Depart(id, args));
            f.end_args = None;
        });
    }
    // A switch is left, not repeated.
    only("V11", |f| {
        let id = the_switch(f).id;
        let end = the_switch(f).cases[1]
            .body
            .items
            .last_mut()
            .expect("an end");
        *end = Item::Repeat(id, Vec::new());
    });
    only("V11", |f| {
        let Item::If(i) = &mut the_loop(f).body.items[2] else {
            panic!("a branch");
        };
        let Some(Item::Repeat(id, _)) = i.then.items.last_mut() else {
            panic!("it goes on");
        };
        *id = RegionId(id.0 + 1);
    });
}

#[test]
fn the_very_next_item_is_behind_a_departure() {
    only("V14", |f| {
        let args = f.end_args.take().expect("an end");
        f.body.items.push(Item::Depart(FUNCTION, args));
        let last = f.body.items.len() - 1;
        f.body.items.swap(last - 1, last);
    });
}

#[test]
fn ends_have_arguments_where_they_are_reached_only() {
    only("V16", |f| the_loop(f).back = None);
    only("V16", |f| {
        let args = the_loop(f).back.clone();
        let Item::If(i) = &mut the_loop(f).body.items[2] else {
            panic!("a branch");
        };
        assert!(i.then_args.is_none() && args.is_some());
        i.then_args = Some(Vec::new());
    });
    // A loop that only the end of the program leaves.
    let mut f = lifted("BGNLOOP\nUIF IN[0].xxxx\nMOV OUT[0].x, IN[0].yyyy\nRET\nENDIF\nENDLOOP\n");
    assert_eq!(verify(&f), []);
    assert!(f.end_args.is_none());
    let outside = find(&f, |d| matches!(d.op, VOp::Reg(_, 0)));
    the_loop(&mut f).exits = true;
    f.end_args = Some(vec![outside]);
    let found = verify(&f);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message.contains("wrong about being left"),
        "{found:?}"
    );
}

#[test]
fn cases_fall_where_their_end_is_reached() {
    let message = |breaks: fn(&mut Switch)| {
        let found = only("V16", |f| breaks(the_switch(f)));
        found.into_iter().map(|v| v.message).collect::<Vec<_>>()
    };
    for (breaks, wanted) in [
        (
            (|s| s.cases[1].fall = None) as fn(&mut Switch),
            "the end of a case is reached without arguments",
        ),
        (
            |s| s.cases[2].fall = Some(s.cases[2].entry.clone()),
            "arguments at the end of a case, which is not reached",
        ),
        (
            |s| s.cases[0].fall = Some(s.cases[0].entry.clone()),
            "something falls into the first case",
        ),
        (
            |s| s.end_args = None,
            "the end of the last case is reached without arguments",
        ),
        (
            |s| s.none_args = None,
            "a switch is wrong about what no case takes",
        ),
        (
            |s| s.cases[2].label = None,
            "a switch is wrong about what no case takes",
        ),
    ] {
        assert_eq!(message(breaks), [wanted]);
    }
    let mut f = lifted("SWITCH IN[0].xxxx\nENDSWITCH\nMOV OUT[0].x, IN[0].xxxx\n");
    assert_eq!(verify(&f), []);
    the_switch(&mut f).end_args = Some(Vec::new());
    let found = verify(&f);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].message, "a switch without cases has a last one");
}

#[test]
fn a_switch_that_is_never_left_ends_a_body() {
    for text in [
        "UIF IN[0].xxxx\nSWITCH IN[0].yyyy\nCASE IMM[0].xxxx\nRET\nDEFAULT\nKILL\nRET\nENDSWITCH\nENDIF\nMOV OUT[0].x, IN[0].xxxx\n",
        "BGNLOOP\nSWITCH IN[0].yyyy\nCASE IMM[0].xxxx\nSWITCH IN[0].zzzz\nDEFAULT\nCONT\nENDSWITCH\nDEFAULT\nKILL\nRET\nENDSWITCH\nENDLOOP\n",
        "SWITCH IN[0].yyyy\nDEFAULT\nKILL\nRET\nENDSWITCH\nMOV OUT[0].x, IN[0].xxxx\n",
        "SWITCH IN[0].yyyy\nDEFAULT\nUIF IN[0].xxxx\nBRK\nENDIF\nRET\nENDSWITCH\nMOV OUT[0].x, IN[0].xxxx\n",
    ] {
        let f = lifted(text);
        assert_eq!(verify(&f), [], "{f}");
    }
    // Behind it nothing is reached.
    let mut f = lifted("SWITCH IN[0].yyyy\nDEFAULT\nKILL\nRET\nENDSWITCH\n");
    f.end_args = Some(vec![f.values.iter().next().expect("a value").0]);
    let found = verify(&f);
    assert!(found.iter().any(|v| v.code == "V16"), "{found:?}");
}

#[test]
fn what_has_no_place_is_told_once() {
    // Sums of a fetch that is not there and of inputs: neither "together" nor "exists" says more.
    broken("V17", |f| {
        f.body.items.remove(0);
        let found = verify(f);
        assert!(found.iter().all(|v| v.code == "V17"), "{found:?}");
    });
}
