//! # What
//! Loops whose number of iterations is constant are written out.
//!
//! # Why
//! The counter, its test and the copies of its phis go, indices become constants, and iterations
//! pack with each other. A loop that only computes constants is gone altogether.
//!
//! # Algorithm
//! What the exits depend on is evaluated iteration by iteration; a loop is a candidate if constants
//! decide its last exit. A copy of the function, with the body of the loop once for each iteration
//! and folded on the way, is cleaned and packed; it is taken if it has fewer instructions. First all
//! candidates are tried together, since one loop may fill the array that another reads; then each by
//! itself, inner before outer, and with the loops inside it. Exits that constants do not decide
//! become nested branches: what follows them stands in the other arm.
//!
//! # Preserves
//! Bits, and effects in their order. A constant address is taken into the register only if that is
//! declared.
//!
//! # Limits
//! [`MAX_TRIPS`] iterations, and [`TRIALS`] trials. A CONT that no constant decides keeps its loop,
//! and so does an exit in the middle that does not end an arm of a branch.
//!
//! # Cost
//! One evaluation of the exit condition for a loop whose iterations are not constant. A trial costs
//! as much as cleaning and packing the function.
//!
//! # Tests
//! Below: counters of all kinds, constants, arrays, exits, nests, and what costs more when written out.

mod copy;
mod trips;

use std::cell::LazyCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tgsi::Opcode;
use tgsi_ir::rewrite::walk;
use tgsi_ir::{Body, Function, Item, Loop, Multi, MultiKind, RegionId, VOp, Value};
use tgsi_pack::count::instructions;

use crate::{PassCx, registry};
use copy::Unrolled;
use trips::{Trips, Varying};

pub use trips::MAX_TRIPS;

/// What becomes of exits when a region goes.
pub(crate) mod exits {
    pub(crate) use super::copy::{nest, nests};
    pub(crate) use super::trips::repeats;
}

/// Most copies of a function that are tried.
pub const TRIALS: usize = 12;

/// So many times the values of the function, and some more, may the copies that are tried have.
const WORK: usize = 3;

/// Most loops that are looked at, the last in the text first.
const LOOPS: usize = 64;

/// How often [`settle`] looks for loops. Each time has all of them in view, so a second one is rare.
const TIMES: u32 = 4;

/// Writes out loops.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let now = LazyCell::new(|| {
        let settled = registry::settled(func, &trial(cx));
        instructions(settled.as_ref().unwrap_or(func))
    });
    let found = search(func, cx, &|| *now)?;
    found.spend(cx).then_some(found.copy.function)
}

/// Writes out loops of a function that is clean otherwise, and cleans what comes of them.
pub(crate) fn settle(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut current: Option<Function> = None;
    let mut known = None;
    for _ in 0..TIMES {
        let f = current.as_ref().unwrap_or(func);
        let now = LazyCell::new(|| known.unwrap_or_else(|| instructions(f)));
        let Some(found) = search(f, cx, &|| *now) else {
            break;
        };
        if !found.spend(cx) {
            break;
        }
        // With fuel to count, the cleaning of the trial is done again.
        if cx.fuel.get().is_none() {
            known = Some(found.instructions);
            cx.rewrites.set(cx.rewrites.get() + found.rewrites);
            current = Some(found.settled);
        } else {
            let new = found.copy.function;
            known = None;
            current = Some(registry::settled(&new, cx).unwrap_or(new));
        }
    }
    current
}

/// The counters of loops whose number of iterations is constant, each with the least and the largest
/// number that it holds.
pub(crate) fn counters(func: &Function) -> Vec<(Value, i64, i64)> {
    let mut found = Vec::new();
    let mut trips = Trips::new(func);
    walk(func, &func.body, &mut |item| {
        let Item::Loop(l) = item else { return };
        if !trips::may_count(func, l) || trips::repeats(&l.body.items, l.id) {
            return;
        }
        let varies = Varying::collect(func, l);
        let (Some(count), Some(back)) = (trips.of(l, &varies, &mut |v| func.as_imm(v)), &l.back)
        else {
            return;
        };
        for ((&p, &init), &next) in l.params.iter().zip(&l.inits).zip(back) {
            let d = &func.values[next];
            if d.op != VOp::Alu(Opcode::Uadd) {
                continue;
            }
            let step = match d.args[..] {
                [a, b] if a == p => func.as_imm(b),
                [a, b] if b == p => func.as_imm(a),
                _ => None,
            };
            if let (Some(first), Some(step)) = (func.as_imm(init), step) {
                let first = i64::from(first as i32);
                let last = first + i64::from(step as i32) * i64::from(count);
                found.push((p, first.min(last), first.max(last)));
            }
        }
    });
    found
}

/// Settings under which a copy is cleaned.
fn trial(cx: &PassCx) -> PassCx {
    PassCx {
        taken: Arc::clone(&cx.taken),
        ..PassCx::default()
    }
}

/// Writes out every loop whose number of iterations is constant, whatever it costs up to `most`
/// instructions, for a target that has no loops.
pub(crate) fn forced(func: &Function, cx: &PassCx, most: usize) -> Option<Function> {
    let mut current: Option<Function> = None;
    for _ in 0..TIMES {
        let f = current.as_ref().unwrap_or(func);
        let mut loops: Vec<&Loop> = Vec::new();
        walk(f, &f.body, &mut |item| {
            if let Item::Loop(l) = item {
                loops.push(l);
            }
        });
        let all: FxHashSet<RegionId> = loops.iter().map(|l| l.id).collect();
        let varying: FxHashMap<RegionId, Varying> = loops
            .iter()
            .map(|l| (l.id, Varying::collect(f, l)))
            .collect();
        // An instruction has four lanes, and operands that are values of their own.
        let room = most.saturating_mul(16);
        let Some(copy) = copy::unrolled(f, &all, &varying, room) else {
            break;
        };
        let settled = registry::settled(&copy.function, cx);
        current = Some(settled.unwrap_or(copy.function));
    }
    current
}

/// A trial that was worth it.
struct Found {
    copy: Unrolled,
    /// The copy cleaned.
    settled: Function,
    /// Rewrites that took.
    rewrites: u64,
    /// What it comes to.
    instructions: u32,
}

impl Found {
    /// Pays for the loops.
    fn spend(&self, cx: &PassCx) -> bool {
        (0..self.copy.count).all(|_| cx.spend("unroll", None))
    }
}

/// The first copy that comes to fewer instructions than `now`.
fn search(func: &Function, cx: &PassCx, now: &dyn Fn() -> u32) -> Option<Found> {
    let mut loops: Vec<&Loop> = Vec::new();
    walk(func, &func.body, &mut |item| {
        if let Item::Loop(l) = item {
            loops.push(l);
        }
    });
    // Inner before outer.
    loops.reverse();
    let mut varying: FxHashMap<RegionId, Varying> = FxHashMap::default();
    let mut trips = Trips::new(func);
    let mut constant = |v| func.as_imm(v);
    let counted = loops.iter().copied().filter(|l| trips::may_count(func, l));
    let candidates: Vec<&Loop> = counted
        .take(LOOPS)
        .filter(|l| {
            let varies = varying
                .entry(l.id)
                .or_insert_with(|| Varying::collect(func, l));
            trips.of(l, varies, &mut constant).is_some()
        })
        .collect();
    if candidates.is_empty() {
        return None;
    }
    let sets = choices(&candidates);
    // A loop inside another one may be counted only once that is written out.
    for l in loops.iter().take(LOOPS) {
        if sets.first().is_some_and(|all| all.contains(&l.id)) {
            varying
                .entry(l.id)
                .or_insert_with(|| Varying::collect(func, l));
        }
    }
    let most = most(func);
    let mut room = func.values.len() * WORK + 1024;
    let mut tried: Vec<Vec<RegionId>> = Vec::new();
    for chosen in sets {
        let Some(copy) = copy::unrolled(func, &chosen, &varying, copy::room(func)) else {
            continue;
        };
        if tried.contains(&copy.loops) || rough(&copy.function) > most {
            continue;
        }
        room = room.checked_sub(copy.function.values.len())?;
        let trial = trial(cx);
        let settled = registry::settled(&copy.function, &trial);
        let settled = settled.unwrap_or_else(|| copy.function.clone());
        let instructions = instructions(&settled);
        let wanted = match cx.chaos {
            Some(c) => c.one_in(2, "unroll", copy.loops.len() as u64),
            None => instructions < now(),
        };
        if wanted {
            return Some(Found {
                copy,
                settled,
                rewrites: trial.rewrites.get(),
                instructions,
            });
        }
        tried.push(copy.loops);
    }
    None
}

/// From how many instructions on, roughly, a copy is not worth a trial. Where there are arrays most
/// of it may be loads and stores that go.
fn most(f: &Function) -> usize {
    let memory = |m: &Multi| matches!(m.kind, MultiKind::Load | MultiKind::Store);
    let halves = if f.multis.iter().any(memory) { 5 } else { 3 };
    rough(f) * halves / 2 + 16
}

/// About the number of instructions: values of one source instruction count as one.
fn rough(f: &Function) -> usize {
    let computed = f.values.values().filter(|d| !d.args.is_empty());
    let mut insts: Vec<u32> = computed.map(|d| d.hint.inst).collect();
    insts.sort_unstable();
    insts.dedup();
    let mut flow = 0;
    walk(f, &f.body, &mut |item| {
        flow += 2 * usize::from(matches!(item, Item::If(_) | Item::Loop(_)));
    });
    insts.len() + flow
}

/// The sets of loops to try, each once.
fn choices(candidates: &[&Loop]) -> Vec<FxHashSet<RegionId>> {
    let nest = |l: &Loop, set: &mut FxHashSet<RegionId>| {
        set.insert(l.id);
        inner(&l.body, set);
    };
    let mut all = FxHashSet::default();
    candidates.iter().for_each(|l| nest(l, &mut all));
    let mut sets = vec![all];
    for l in candidates {
        let alone = FxHashSet::from_iter([l.id]);
        let mut with_inner = FxHashSet::default();
        nest(l, &mut with_inner);
        for set in [alone, with_inner] {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    sets.truncate(TRIALS);
    sets
}

/// Adds the loops inside a body.
fn inner(body: &Body, found: &mut FxHashSet<RegionId>) {
    for item in &body.items {
        match item {
            Item::If(i) => {
                inner(&i.then, found);
                inner(&i.els, found);
            }
            Item::Loop(l) => {
                found.insert(l.id);
                inner(&l.body, found);
            }
            Item::Switch(s) => s.cases.iter().for_each(|c| inner(&c.body, found)),
            Item::Effect(_) | Item::Depart(..) | Item::Repeat(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{MAX_TRIPS, counters};
    use crate::testing::{after, lifted, outs, tree, unchanged};
    use crate::{PassCx, clean};

    /// A loop that counts TEMP[0].x in integers from 0, with the test at its head.
    fn counted(limit: &str, body: &str) -> String {
        format!(
            "MOV TEMP[0].x, IMM[0].xxxx\n\
             BGNLOOP\n\
             ISGE TEMP[1].x, TEMP[0].xxxx, {limit}\n\
             UIF TEMP[1].xxxx\n\
             BRK\n\
             ENDIF\n\
             {body}\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\n\
             ENDLOOP\n"
        )
    }

    #[test]
    fn iterations_are_counted_up_to_the_limit() {
        // The test at the head runs once more than the body.
        for (trips, known) in [(MAX_TRIPS - 1, true), (MAX_TRIPS, false)] {
            let header = format!(
                "FRAG\nDCL OUT[0], COLOR\nDCL TEMP[0..1]\nIMM[0] UINT32 {{0, 0, 0, {trips}}}\nIMM[1] UINT32 {{0, 1, 0, 0}}\n"
            );
            let text = counted("IMM[0].wwww", "") + "MOV OUT[0].x, TEMP[0].xxxx\nEND\n";
            let found = counters(&lifted(&(header + &text)));
            let range = found.first().map(|c| (c.1, c.2));
            assert_eq!(range.is_some(), known, "{trips} iterations: {range:?}");
        }
    }

    #[track_caller]
    fn stays(text: &str) {
        assert!(has_loop(text), "the loop is gone");
    }

    #[track_caller]
    fn goes(text: &str) {
        assert!(!has_loop(text), "the loop is still there");
    }

    #[track_caller]
    fn has_loop(text: &str) -> bool {
        tree(&["clean"], text).contains("loop ")
    }

    #[test]
    fn a_counter() {
        let text = counted(
            "IMM[1].wwww",
            "MAD TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx, IN[0].yyyy",
        ) + "MOV OUT[0].x, TEMP[2].xxxx";
        let out = tree(&["clean"], &format!("MOV TEMP[2].x, IN[1].xxxx\n{text}"));
        expect![[r#"
            FRAG
            %0 = IN[1].x
            %1 = IN[0].x
            %2 = IN[0].y
            %3 = MAD %0, %1, %2
            %4 = MAD %3, %1, %2
            body
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn other_counters() {
        let with = |start: &str, test: &str, step: &str| {
            format!(
                "MOV TEMP[0].x, {start}\n\
                 MOV TEMP[2].x, IN[0].xxxx\n\
                 BGNLOOP\n\
                 {test}\n\
                 UIF TEMP[1].xxxx\n\
                 BRK\n\
                 ENDIF\n\
                 MUL TEMP[2].x, TEMP[2].xxxx, IN[0].yyyy\n\
                 {step}\n\
                 ENDLOOP\n\
                 MOV OUT[0].x, TEMP[2].xxxx"
            )
        };
        // 0.0, 0.5, then 1.0.
        goes(&with(
            "IMM[0].xxxx",
            "FSGE TEMP[1].x, TEMP[0].xxxx, IMM[0].yyyy",
            "ADD TEMP[0].x, TEMP[0].xxxx, IMM[0].wwww",
        ));
        // 1, 2, 4, 8, then 16.
        goes(&with(
            "IMM[1].yyyy",
            "USEQ TEMP[1].x, TEMP[0].xxxx, IMM[2].xxxx",
            "SHL TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy",
        ));
        // Down from 3.
        goes(&with(
            "IMM[2].wwww",
            "USEQ TEMP[1].x, TEMP[0].xxxx, IMM[0].xxxx",
            "UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].zzzz",
        ));
        // A start, a limit and a step that are not constant.
        stays(&with(
            "IN[1].xxxx",
            "ISGE TEMP[1].x, TEMP[0].xxxx, IMM[1].wwww",
            "UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy",
        ));
        stays(&with(
            "IMM[0].xxxx",
            "ISGE TEMP[1].x, TEMP[0].xxxx, CONST[0].xxxx",
            "UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy",
        ));
        stays(&with(
            "IMM[0].xxxx",
            "ISGE TEMP[1].x, TEMP[0].xxxx, IMM[1].wwww",
            "UADD TEMP[0].x, TEMP[0].xxxx, CONST[0].xxxx",
        ));
        // A step of 0 never ends.
        stays(&with(
            "IMM[0].xxxx",
            "ISGE TEMP[1].x, TEMP[0].xxxx, IMM[1].wwww",
            "UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].xxxx",
        ));
        // 2 to the power of 31 iterations.
        stays(&with(
            "IMM[0].xxxx",
            "USGE TEMP[1].x, TEMP[0].xxxx, IMM[1].xxxx",
            "UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy",
        ));
    }

    #[test]
    fn constants_only() {
        // The sum of 0 to 30.
        let sum = counted("IMM[2].zzzz", "UADD TEMP[2].x, TEMP[2].xxxx, TEMP[0].xxxx");
        let text = format!("MOV TEMP[2].x, IMM[0].xxxx\n{sum}I2F OUT[0].x, TEMP[2].xxxx");
        expect!["465.0"].assert_eq(&outs(&["clean"], &text));
    }

    #[test]
    fn no_iteration() {
        let text = counted("IMM[0].xxxx", "KILL") + "MOV OUT[0].x, TEMP[0].xxxx";
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            body
            end OUT[0].x=%0
        "#]]
        .assert_eq(&tree(&["clean"], &text));
    }

    #[test]
    fn a_program_without_loops() {
        assert!(unchanged("unroll", "ADD OUT[0].x, IN[0].xxxx, IN[0].yyyy"));
    }

    #[test]
    fn more_instructions_than_the_loop() {
        let body = "MAD TEMP[2], TEMP[2], IN[0], IN[1]\n".repeat(3);
        let loop_of = |limit| {
            let text = counted(limit, body.trim_end());
            format!("MOV TEMP[2], IN[2]\n{text}MOV OUT[0], TEMP[2]")
        };
        goes(&loop_of("IMM[1].wwww"));
        stays(&loop_of("IMM[2].xxxx"));
    }

    #[test]
    fn effects_keep_their_order() {
        let body = "STORE BUFFER[0].x, TEMP[0].xxxx, IN[0].xxxx\n\
                    ATOMUADD TEMP[3].x, BUFFER[0], IMM[0].xxxx, TEMP[0].xxxx";
        let text = counted("IMM[1].wwww", body);
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = imm 0x1
            %2 = IN[0].x
            %3 = STORE BUFFER[0] <- 0.x=%0 1.x=%2
            %4 = ATOMUADD BUFFER[0] 1.x=%0 2.x=%0
            %5 = STORE BUFFER[0] <- 0.x=%1 1.x=%2
            %6 = ATOMUADD BUFFER[0] 1.x=%0 2.x=%1
            body
              do %3
              do %4
              do %5
              do %6
            end
        "#]]
        .assert_eq(&tree(&["clean"], text.trim_end()));
    }

    #[test]
    fn arrays_and_indices() {
        let body = "UARL ADDR[0].x, TEMP[0].xxxx\n\
                    ADD TEMP[ADDR[0].x+10](1).x, CONST[ADDR[0].x].xxxx, IN[ADDR[0].x].xxxx";
        let fill = counted("IMM[2].yyyy", body);
        let text = format!("{fill}ADD OUT[0].x, TEMP[10].xxxx, TEMP[13].xxxx");
        expect!["ADD(ADD(CONST0.x, IN0.x), ADD(CONST3.x, IN3.x))"]
            .assert_eq(&outs(&["clean"], &text));
    }

    #[test]
    fn an_index_beyond_what_is_declared() {
        // CONST[4] is not there, and stays indexed.
        let body = "UARL ADDR[0].x, TEMP[0].xxxx\n\
                    ADD TEMP[2].x, TEMP[2].xxxx, CONST[ADDR[0].x+3].xxxx";
        let text = counted("IMM[1].wwww", body);
        let f = after(
            &["clean"],
            &format!("MOV TEMP[2].x, IN[0].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx"),
        );
        let named: Vec<i32> = f.regs.iter().map(|r| r.index.base).collect();
        assert!(named.contains(&3) && !named.contains(&4), "{named:?}");
        // A store beyond its array has no defined effect.
        let body = "UARL ADDR[0].x, TEMP[0].xxxx\n\
                    MOV TEMP[ADDR[0].x+13](1).x, IN[0].xxxx";
        let text = counted("IMM[1].wwww", body) + "MOV OUT[0].x, TEMP[13].xxxx";
        expect!["IN0.x"].assert_eq(&outs(&["clean"], &text));
    }

    #[test]
    fn an_exit_in_the_middle() {
        let body = "FSLT TEMP[1].x, TEMP[2].xxxx, IN[0].zzzz\n\
                    UIF TEMP[1].xxxx\n\
                    BRK\n\
                    ENDIF\n\
                    STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n\
                    MUL TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx";
        let text = counted("IMM[1].wwww", body);
        let out = tree(
            &["clean"],
            &format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx"),
        );
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = IN[1].x
            %2 = imm 0x1
            %3 = IN[0].z
            %4 = FSLT %1, %3
            %5 = STORE BUFFER[0] <- 0.x=%0 1.x=%1
            %6 = IN[0].x
            %7 = MUL %1, %6
            %8 = FSLT %7, %3
            %9 = STORE BUFFER[0] <- 0.x=%2 1.x=%7
            %10 = MUL %7, %6
            %11 = phi
            %12 = phi
            body
              %12 = uif %4
                yield %1
              else
                do %5
                %11 = uif %8
                  yield %7
                else
                  do %9
                  yield %10
                yield %11
            end OUT[0].x=%12
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_loop_that_runs_once_with_two_exits() {
        let out = tree(
            &["clean"],
            "BGNLOOP\n\
             UIF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             KILL\n\
             BRK\n\
             ENDIF\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             BRK\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = KILL
            %3 = imm 0x0 (0.0)
            %4 = STORE BUFFER[0] <- 0.x=%3 1.x=%0
            %5 = IN[1].y
            %6 = phi
            body
              %6 = uif %0
                do %2
                yield %1
              else
                do %4
                yield %5
            end OUT[0].x=%6
        "#]]
        .assert_eq(&out);
        // An exit that not all of its arm leads to.
        stays(
            "BGNLOOP\n\
             UIF IN[0].xxxx\n\
             UIF IN[0].yyyy\n\
             BRK\n\
             ENDIF\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             ENDIF\n\
             KILL\n\
             BRK\n\
             ENDLOOP",
        );
    }

    #[test]
    fn continues() {
        let body = |cond: &str| {
            let text = counted(
                "IMM[1].wwww",
                &format!(
                    "MOV TEMP[3].x, TEMP[0].xxxx\n\
                     UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\n\
                     UIF {cond}\n\
                     CONT\n\
                     ENDIF\n\
                     UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].zzzz\n\
                     MUL TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx"
                ),
            );
            format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx")
        };
        expect!["MUL(IN1.x, IN0.x)"].assert_eq(&outs(&["clean"], &body("TEMP[3].xxxx")));
        stays(&body("IN[0].yyyy"));
    }

    #[test]
    fn returns() {
        let body = "MOV OUT[0].x, TEMP[0].xxxx\n\
                    UIF IN[0].xxxx\n\
                    RET\n\
                    ENDIF\n\
                    KILL_IF IN[0].yyyy";
        let text = counted("IMM[1].wwww", body) + "MOV OUT[0].x, IN[1].xxxx";
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = IN[0].x
            %2 = IN[0].y
            %3 = KILL_IF 0.x=%2 0.y=%2 0.z=%2 0.w=%2
            %4 = KILL_IF 0.x=%2 0.y=%2 0.z=%2 0.w=%2
            %5 = IN[1].x
            body
              uif %1
                return %0
              else
                yield 
              do %3
              do %4
            end OUT[0].x=%5
        "#]]
        .assert_eq(&tree(&["clean"], &text));
    }

    #[test]
    fn nests() {
        // The inner loop runs as often as the outer one counts: 0, then 1 time.
        let inner = "MOV TEMP[4].x, IMM[0].xxxx\n\
                     BGNLOOP\n\
                     ISGE TEMP[1].x, TEMP[4].xxxx, TEMP[0].xxxx\n\
                     UIF TEMP[1].xxxx\n\
                     BRK\n\
                     ENDIF\n\
                     MUL TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx\n\
                     UADD TEMP[4].x, TEMP[4].xxxx, IMM[1].yyyy\n\
                     ENDLOOP";
        let text = counted("IMM[1].wwww", inner);
        let text = format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx");
        expect!["MUL(IN1.x, IN0.x)"].assert_eq(&outs(&["clean"], &text));
        // The outer loop is not counted, the inner one goes.
        let text = format!(
            "MOV TEMP[5].x, IN[0].yyyy\n\
             BGNLOOP\n\
             FSLT TEMP[1].x, TEMP[5].xxxx, IN[0].zzzz\n\
             UIF TEMP[1].xxxx\n\
             BRK\n\
             ENDIF\n\
             {}\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[5].xxxx",
            counted("IMM[1].wwww", "MUL TEMP[5].x, TEMP[5].xxxx, IN[0].xxxx")
        );
        let out = tree(&["clean"], &text);
        assert_eq!(out.matches("loop ").count(), 1, "{out}");
    }

    #[test]
    fn a_loop_inside_stays_a_loop() {
        let inner = "BGNLOOP\n\
                     FSLT TEMP[1].x, TEMP[2].xxxx, IN[0].zzzz\n\
                     UIF TEMP[1].xxxx\n\
                     BRK\n\
                     ENDIF\n\
                     MUL TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx\n\
                     ENDLOOP";
        // One iteration: its number is 0 and then the counter is 1.
        let text = counted("IMM[1].yyyy", inner);
        let text = format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx");
        let out = tree(&["clean"], &text);
        assert_eq!(out.matches("loop ").count(), 1, "{out}");
    }

    #[test]
    fn a_switch_inside() {
        let body = "SWITCH IN[0].xxxx\n\
                    CASE IMM[1].yyyy\n\
                    STORE BUFFER[0].x, TEMP[0].xxxx, IN[0].xxxx\n\
                    BRK\n\
                    DEFAULT\n\
                    KILL\n\
                    ENDSWITCH";
        let text = counted("IMM[1].yyyy", body);
        let out = tree(&["clean"], text.trim_end());
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = imm 0x1
            %2 = IN[0].x
            %3 = STORE BUFFER[0] <- 0.x=%0 1.x=%2
            %4 = KILL
            body
              switch 6 %2
              case %1
                entry 
                do %3
                depart 6 
              default
                entry 
                do %4
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn precise_stays_precise() {
        let text = counted(
            "IMM[1].wwww",
            "MUL_PRECISE TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx",
        );
        let text = format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx");
        expect!["MUL_PRECISE(MUL_PRECISE(IN1.x, IN0.x), IN0.x)"]
            .assert_eq(&outs(&["clean"], &text));
    }

    #[test]
    fn fuel_is_counted_by_loops() {
        let body = "MUL TEMP[2].x, TEMP[2].xxxx, IN[0].xxxx";
        let text = counted("IMM[1].wwww", body) + &counted("IMM[1].wwww", body);
        let text = format!("MOV TEMP[2].x, IN[1].xxxx\n{text}MOV OUT[0].x, TEMP[2].xxxx");
        let f = lifted(&text);
        for (fuel, spent) in [(0, 0), (1, 1), (2, 2), (9, 2)] {
            let cx = PassCx::default();
            cx.fuel.set(Some(fuel));
            let new = super::run(&f, &cx);
            assert_eq!(new.is_some(), fuel >= 2);
            assert_eq!(cx.rewrites.get(), spent);
        }
    }

    #[test]
    fn nothing_twice() {
        let body = "MAD TEMP[2], TEMP[2], IN[0], IN[1]\n".repeat(3);
        let text = counted("IMM[2].xxxx", body.trim_end());
        let cx = PassCx::default();
        let f = lifted(&format!("MOV TEMP[2], IN[2]\n{text}MOV OUT[0], TEMP[2]"));
        let once = clean(&f, &cx).expect("there is something to clean");
        assert!(clean(&once, &cx).is_none());
        assert!(super::run(&once, &cx).is_none());
    }
}
