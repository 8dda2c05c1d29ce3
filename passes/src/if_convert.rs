//! # What
//! A small branch that only chooses between values becomes selections.
//!
//! # Why
//! IF, ELSE, ENDIF and the copies of its phis cost more than the selections, and values in a
//! branch pack with nothing outside.
//!
//! # Algorithm
//! A candidate has two arms without effects that both reach their end. The cost of keeping it
//! (IF, ENDIF, ELSE if the second arm has code, copies into the phis) is compared with that of
//! the selections it needs; registers are estimated by the lanes of the phis. Each phi is then
//! redefined as `UCMP(condition, a, b)`, or as a CMP where the program has no integers.
//!
//! # Preserves
//! Bits: UIF and UCMP test the same bits. An IF tests a float, so its condition must not be -0.0,
//! or is compared with 0 first.
//!
//! # Limits
//! Arms of more than [`MAX_ARM`] operations, or with a texture fetch, stay branches: both arms
//! always run after the conversion.
//!
//! # Cost
//! One count of uses; each candidate looks at its arms only.
//!
//! # Tests
//! Below: UIF, IF of a comparison, too large, effects, fetches, what was cheaper as a branch.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use tgsi::{Opcode, Shape, Ty};
use tgsi_ir::rewrite::{PhiInputs, known_branch, walk};
use tgsi_ir::{Body, Function, If, Item, VOp, Value, ix};

use crate::PassCx;
use crate::cx::Sabotage;
use crate::facts::{Uses, is_float_bool, never_minus_zero};
use crate::simplify::{Plan, Rules, Select, rebuild_plan};

/// Most operations (by source instruction) of both arms together.
pub const MAX_ARM: usize = 4;

/// Converts branches to selections.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut plan = Plan::default();
    let phis = PhiInputs::collect(func);
    find(func, cx, &phis, Uses::default(), &mut plan);
    (!plan.is_empty()).then(|| {
        rebuild_plan(
            func,
            &plan,
            &phis,
            cx,
            Rules {
                fold: false,
                algebra: false,
            },
        )
    })
}

/// Adds the branches that are worth it to the plan.
pub(crate) fn find(func: &Function, cx: &PassCx, phis: &PhiInputs, uses: Uses, plan: &mut Plan) {
    let mut branches: Vec<&If> = Vec::new();
    walk(func, &func.body, &mut |item| {
        if let Item::If(i) = item
            && may_be_candidate(func, i)
        {
            branches.push(i);
        }
    });
    if branches.is_empty() {
        return;
    }
    let integers = cx.taken.may_make(Opcode::Ucmp) && has_integers(func);
    let mut uses = uses.take(func, phis);
    // Inner branches first: an arm that holds nothing but converted ones is as good as empty.
    let mut converted: FxHashSet<*const If> = FxHashSet::default();
    for i in branches.into_iter().rev() {
        let empty = |body: &Body| {
            body.items.iter().all(
                |item| matches!(item, Item::If(i) if converted.contains(&std::ptr::from_ref(&**i))),
            )
        };
        if !empty(&i.then) || !empty(&i.els) {
            continue;
        }
        let Some(select) = selection(func, i, cx, integers) else {
            continue;
        };
        let open = |p: &Value| !plan.edits.subst.contains(*p) && uses[ix(*p)] != 0;
        let live: SmallVec<[usize; 8]> = (0..i.results.len())
            .filter(|&k| open(&i.results[k]))
            .collect();
        if live.is_empty()
            || !match cx.chaos {
                Some(c) => c.one_in(2, "if-convert", u64::from(i.at[0])),
                None => pays(func, i, &live, select, &mut uses),
            }
            || !cx.spend("if-convert", Some(func.values[i.cond].hint))
        {
            continue;
        }
        let (Some(mut a), Some(mut b)) = (i.then_args.as_ref(), i.else_args.as_ref()) else {
            continue;
        };
        if cx.sabotage == Some(Sabotage::IfConvert) {
            std::mem::swap(&mut a, &mut b);
        }
        for k in live {
            let args = [i.cond, a[k], b[k]]
                .into_iter()
                .map(|v| plan.edits.resolve(v))
                .collect();
            plan.edits
                .redefine
                .insert(i.results[k], (VOp::Alu(Opcode::Ucmp), args));
            if select != Select::Bits {
                plan.selects.insert(i.results[k], select);
            }
        }
        converted.insert(std::ptr::from_ref(i));
    }
}

/// Whether a branch has phis and arms that hold at most branches.
fn may_be_candidate(func: &Function, i: &If) -> bool {
    let (Some(a), Some(b)) = (&i.then_args, &i.else_args) else {
        return false;
    };
    let ordered = |args: &[Value]| {
        i.results
            .iter()
            .zip(args)
            .all(|(p, a)| ix(*a) < ix(*p) && ix(i.cond) < ix(*p))
    };
    let branches = |b: &Body| b.items.iter().all(|item| matches!(item, Item::If(_)));
    branches(&i.then)
        && branches(&i.els)
        && !i.results.is_empty()
        && known_branch(func, i).is_none()
        && ordered(a)
        && ordered(b)
}

/// Whether the program has integer operations, so that UCMP is no new demand on its target.
fn has_integers(func: &Function) -> bool {
    let mut bits = false;
    walk(func, &func.body, &mut |item| {
        bits |= matches!(item, Item::If(i) if i.bits)
    });
    bits || func.values.values().any(|d| match d.op {
        VOp::Alu(op) => matches!(op.info().dst_ty, Ty::U | Ty::Any) || op == Opcode::F2i,
        _ => false,
    })
}

/// How the phis of a branch can be selections, if they can.
fn selection(func: &Function, i: &If, cx: &PassCx, integers: bool) -> Option<Select> {
    let makes = |op| cx.taken.may_make(op);
    if (i.bits || integers && never_minus_zero(func, i.cond)) && makes(Opcode::Ucmp) {
        Some(Select::Bits)
    } else if !i.bits && is_float_bool(func, i.cond) && makes(Opcode::Cmp) {
        Some(Select::Negated)
    } else {
        (integers && !i.bits && makes(Opcode::Fsne)).then_some(Select::NotZero)
    }
}

/// Whether the selections cost no more than the branch.
fn pays(func: &Function, i: &If, live: &[usize], select: Select, uses: &mut [u32]) -> bool {
    let (Some(a), Some(b)) = (&i.then_args, &i.else_args) else {
        return false;
    };
    let mut arm = Arm {
        func,
        uses,
        taken: SmallVec::new(),
        groups: SmallVec::new(),
        fetches: false,
    };
    for &k in live {
        arm.release(a[k]);
        arm.release(b[k]);
    }
    let pays = !arm.too_much() && arm.pays(i, a, b, live, select);
    arm.restore();
    pays
}

/// What stands for an instruction: the kind of operation, its opcode, its source instruction.
type Group = (std::mem::Discriminant<VOp>, Option<Opcode>, u32);

/// The values that only the phis of a branch need.
struct Arm<'a> {
    func: &'a Function,
    /// Uses of each value, without those by the branch.
    uses: &'a mut [u32],
    /// What `uses` lacks.
    taken: SmallVec<[Value; 32]>,
    /// Opcode and source instruction of each: about one instruction.
    groups: SmallVec<[Group; 8]>,
    fetches: bool,
}

impl Arm<'_> {
    /// Whether the arms do more than a conversion may.
    fn too_much(&self) -> bool {
        self.fetches || self.groups.len() > MAX_ARM
    }

    /// Takes one use from `v`; with the last one it belongs to the branch, and its operands are next.
    fn release(&mut self, v: Value) {
        if self.uses[ix(v)] == 0 || self.taken.len() > 256 || self.too_much() {
            return;
        }
        self.uses[ix(v)] -= 1;
        self.taken.push(v);
        let d = &self.func.values[v];
        if self.uses[ix(v)] != 0 || d.args.is_empty() {
            return;
        }
        let op = match d.op {
            VOp::Alu(op) => Some(op),
            VOp::Multi(m) => {
                let op = self.func.multis[m.0 as usize].inst.op;
                self.fetches |= matches!(op.info().shape, Shape::Tex | Shape::Mem);
                Some(op)
            }
            _ => None,
        };
        let group = (std::mem::discriminant(&d.op), op, d.hint.inst);
        if op.is_some() && !self.groups.contains(&group) {
            self.groups.push(group);
        }
        for &a in &d.args {
            self.release(a);
        }
    }

    /// Whether only the branch needs the operation that makes `v`.
    fn is_made(&self, v: Value) -> bool {
        self.uses[ix(v)] == 0 && !self.func.values[v].args.is_empty()
    }

    /// Whether selections cost no more than the branch with the arms as they are.
    fn pays(&self, i: &If, a: &[Value], b: &[Value], live: &[usize], select: Select) -> bool {
        let mut phis = Lanes::default();
        let (mut first, mut second) = (Lanes::default(), Lanes::default());
        let mut has_else = false;
        for &k in live {
            let lane = self.func.values[i.results[k]].hint.lane;
            phis.add(lane);
            let made = |v: Value| self.is_made(v);
            let constant = |v: Value| self.func.as_imm(v).is_some();
            let (x, y) = (a[k], b[k]);
            // A value that was there before shares the register of the phi unless the other arm's does.
            let shared = |v: Value, o: Value| !made(v) && !constant(v) && (made(o) || constant(o));
            if !made(x) && !shared(x, y) {
                first.add(lane);
            }
            if !made(y) && !shared(y, x) && (made(x) || constant(y)) {
                second.add(lane);
            }
            has_else |= made(y) || constant(y);
        }
        let now = 2 + usize::from(has_else) + first.registers() + second.registers();
        let then = phis.registers() + usize::from(select == Select::NotZero);
        then <= now
    }

    /// Gives all uses back.
    fn restore(self) {
        for v in self.taken {
            self.uses[ix(v)] += 1;
        }
    }
}

/// Channels by lane: as many registers as the fullest lane has.
#[derive(Default)]
struct Lanes([usize; 4]);

impl Lanes {
    fn add(&mut self, lane: u8) {
        self.0[lane as usize & 3] += 1;
    }

    fn registers(&self) -> usize {
        self.0.into_iter().max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{tree, unchanged};

    #[test]
    fn bits() {
        let out = tree(
            &["if-convert"],
            "UIF IN[0].xxxx\n\
             ADD TEMP[0].x, IN[1].xxxx, IN[1].yyyy\n\
             ELSE\n\
             MUL TEMP[0].x, IN[1].xxxx, IN[1].yyyy\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[1].y
            %3 = ADD %1, %2
            %4 = MUL %1, %2
            %5 = UCMP %0, %3, %4
            body
            end OUT[0].x=%5
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_comparison_without_integers() {
        let out = tree(
            &["if-convert"],
            "SLT TEMP[1].x, IN[0].xxxx, IN[0].yyyy\n\
             IF TEMP[1].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[2].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = SLT %0, %1
            %3 = IN[1].x
            %4 = IN[2].x
            %5 = neg %2
            %6 = CMP %5, %3, %4
            body
            end OUT[0].x=%6
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn any_float_with_integers() {
        let out = tree(
            &["if-convert"],
            "IF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             UADD TEMP[0].x, IN[2].xxxx, IN[2].yyyy\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[2].x
            %3 = IN[2].y
            %4 = UADD %2, %3
            %5 = imm 0x0 (0.0)
            %6 = FSNE %0, %5
            %7 = UCMP %6, %1, %4
            body
            end OUT[0].x=%7
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn branches_that_stay() {
        let arm = |inner: &str| {
            format!("UIF IN[0].xxxx\n{inner}\nELSE\nMOV TEMP[0], IN[1]\nENDIF\nMOV OUT[0], TEMP[0]")
        };
        // A float that may be -0.0, and no integers.
        let float = "IF IN[0].xxxx\nMOV TEMP[0].x, IN[1].xxxx\nELSE\nMOV TEMP[0].x, IN[2].xxxx\nENDIF\nMOV OUT[0].x, TEMP[0].xxxx";
        assert!(unchanged("if-convert", float));
        // An effect, a fetch, a long arm.
        assert!(unchanged("if-convert", &arm("KILL\nMOV TEMP[0], IN[2]")));
        assert!(unchanged(
            "if-convert",
            &arm("TXL TEMP[0], IN[2], SAMP[0], 2D")
        ));
        let long = "MUL TEMP[0], IN[2], IN[3]\n".to_owned()
            + &"MAD TEMP[0], TEMP[0], IN[2], IN[3]\n".repeat(5);
        assert!(unchanged("if-convert", &arm(long.trim_end())));
    }

    #[test]
    fn more_selections_than_the_branch_costs() {
        let mut text = String::from("UIF IN[0].xxxx\n");
        for i in 0..8 {
            text += &format!("ADD TEMP[{i}], IN[1], CONST[{}]\n", i % 4);
        }
        text += "ENDIF\n";
        for i in 0..4 {
            text += &format!("ADD OUT[{i}], TEMP[{i}], TEMP[{}]\n", i + 4);
        }
        assert!(unchanged("if-convert", text.trim_end()));
    }

    #[test]
    fn branches_in_branches_in_one_round() {
        let out = tree(
            &["if-convert"],
            "UIF IN[0].xxxx\n\
             UIF IN[0].yyyy\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             ENDIF\n\
             ELSE\n\
             UIF IN[0].zzzz\n\
             MOV TEMP[0].x, IN[1].zzzz\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].wwww\n\
             ENDIF\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = IN[1].x
            %3 = IN[1].y
            %4 = UCMP %1, %2, %3
            %5 = IN[0].z
            %6 = IN[1].z
            %7 = IN[1].w
            %8 = UCMP %5, %6, %7
            %9 = UCMP %0, %4, %8
            body
            end OUT[0].x=%9
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_branch_around_one_that_stays() {
        let out = tree(
            &["if-convert"],
            "UIF IN[0].xxxx\n\
             UIF IN[0].yyyy\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             KILL\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].yyyy\n\
             ENDIF\n\
             ELSE\n\
             UIF IN[0].zzzz\n\
             MOV TEMP[0].x, IN[1].zzzz\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].wwww\n\
             ENDIF\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = IN[1].x
            %3 = KILL
            %4 = IN[1].y
            %5 = phi
            %6 = IN[0].z
            %7 = IN[1].z
            %8 = IN[1].w
            %9 = UCMP %6, %7, %8
            %10 = phi
            body
              %10 = uif %0
                %5 = uif %1
                  do %3
                  yield %2
                else
                  yield %4
                yield %5
              else
                yield %9
            end OUT[0].x=%10
        "#]]
        .assert_eq(&out);
    }
}
