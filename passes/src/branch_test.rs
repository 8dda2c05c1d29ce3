//! # What
//! A branch tests what a comparison with zero tested: `UIF(USNE(x, 0))` is `UIF(x)`,
//! `UIF(FSNE(x, 0.0))` is `IF(x)`, and with `==` the arms change places.
//!
//! # Why
//! The comparison is an instruction; the branch makes the same test for nothing.
//!
//! # Algorithm
//! Each condition is looked through as long as what is behind it decides the branch as well. The
//! operand exists already, so nothing new is made.
//!
//! # Preserves
//! The arm taken, for NaN and -0.0 too: IF takes a NaN and does not take -0.0, as FSNE does; UIF
//! tests bits, as USNE does.
//!
//! # Limits
//! Arms change places only if the second arm has effects, or if it may have copies and the
//! comparison has no other reader: else an ELSE would be paid for what stays.
//!
//! # Cost
//! One walk; a copy of the function only if something changes.
//!
//! # Tests
//! Below: each comparison, chains, arms that change places and those that do not.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, PhiInputs, rebuild_with, walk};
use tgsi_ir::{Body, Function, If, Item, VOp, Value, ix};

use crate::PassCx;
use crate::const_fold::keep;
use crate::facts::{count_uses, is_bool_mask};

/// Looks through the conditions of branches.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    if !has_work(func) {
        return None;
    }
    let (new, changed) = rework(func.clone(), cx);
    changed.then_some(new)
}

/// As [`run`] on a function nobody else needs; whether it changed.
pub(crate) fn run_owned(func: Function, cx: &PassCx) -> (Function, bool) {
    if has_work(&func) {
        rework(func, cx)
    } else {
        (func, false)
    }
}

fn has_work(func: &Function) -> bool {
    let mut possible = false;
    walk(func, &func.body, &mut |item| {
        possible |= matches!(item, Item::If(i) if behind(func, i.cond, i.bits).is_some());
    });
    possible
}

fn rework(mut func: Function, cx: &PassCx) -> (Function, bool) {
    let phis = PhiInputs::collect(&func);
    let uses = count_uses(&func, &phis);
    let mut body = std::mem::take(&mut func.body);
    let mut tests = Tests {
        func: &func,
        cx,
        uses,
        changed: false,
    };
    tests.body(&mut body);
    let changed = tests.changed;
    func.body = body;
    if changed {
        func = rebuild_with(&func, &Edits::default(), &mut keep);
    }
    (func, changed)
}

/// What a test tests.
struct Test {
    cond: Value,
    bits: bool,
    /// Whether it is true when the first one is false.
    inverted: bool,
}

/// A test of an operand of `cond` that decides the same branch.
fn behind(f: &Function, cond: Value, bits: bool) -> Option<Test> {
    use Opcode::*;
    let d = &f.values[cond];
    let test = |cond, bits, inverted| {
        Some(Test {
            cond,
            bits,
            inverted,
        })
    };
    match d.op {
        VOp::Neg | VOp::Abs if !bits => test(d.args[0], false, false),
        VOp::INeg if bits => test(d.args[0], true, false),
        VOp::Alu(op) => {
            let (a, b) = (*d.args.first()?, d.args.get(1).copied());
            let zero = |v: Value, float: bool| {
                f.as_imm(v)
                    .is_some_and(|w| w == 0 || float && w == 0x8000_0000)
            };
            let compared = |float: bool| {
                let b = b?;
                [(a, b), (b, a)]
                    .into_iter()
                    .find(|p| zero(p.1, float))
                    .map(|p| p.0)
            };
            match op {
                // A mask or 1.0 is true for both tests; a mask is a NaN or 0 as a float.
                Useq | Usne => test(compared(false)?, true, op == Useq),
                Fseq | Fsne => test(compared(true)?, false, op == Fseq),
                Seq | Sne => test(compared(true)?, false, op == Seq),
                Not if is_bool_mask(f, a) => test(a, true, true),
                And => {
                    let b = b?;
                    let (m, _) = [(a, b), (b, a)].into_iter().find(|p| {
                        is_bool_mask(f, p.0) && f.as_imm(p.1).is_some_and(|w| w << 1 != 0)
                    })?;
                    test(m, true, false)
                }
                I2f | U2f => test(a, true, false),
                _ => None,
            }
        }
        _ => None,
    }
}

struct Tests<'a> {
    func: &'a Function,
    cx: &'a PassCx,
    uses: Vec<u32>,
    changed: bool,
}

impl Tests<'_> {
    fn body(&mut self, body: &mut Body) {
        for item in &mut body.items {
            match item {
                Item::If(i) => {
                    self.test(i);
                    self.body(&mut i.then);
                    self.body(&mut i.els);
                }
                Item::Loop(l) => self.body(&mut l.body),
                Item::Switch(s) => s.cases.iter_mut().for_each(|c| self.body(&mut c.body)),
                Item::Effect(_) | Item::Depart(..) | Item::Repeat(..) => {}
            }
        }
    }

    fn test(&mut self, i: &mut If) {
        while let Some(t) = behind(self.func, i.cond, i.bits) {
            let free = !t.inverted
                || !i.els.items.is_empty()
                || self.uses[ix(i.cond)] == 1 && !i.results.is_empty();
            let taken = !t.bits || i.bits || self.cx.taken.takes(Opcode::Uif);
            if !free
                || !taken
                || !self
                    .cx
                    .spend("branch-test", Some(self.func.values[i.cond].hint))
            {
                return;
            }
            self.changed = true;
            // Unreachable branches were not counted.
            let old = &mut self.uses[ix(i.cond)];
            *old = old.saturating_sub(1);
            self.uses[ix(t.cond)] += 1;
            (i.cond, i.bits) = (t.cond, t.bits);
            if t.inverted {
                std::mem::swap(&mut i.then, &mut i.els);
                std::mem::swap(&mut i.then_args, &mut i.else_args);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{tree, unchanged};

    #[test]
    fn not_equal_to_zero() {
        let out = tree(
            &["branch-test"],
            "USNE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             UIF TEMP[0].xxxx\n\
             KILL\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            body
              uif %0
                do %1
                yield 
              else
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn equal_to_zero_with_two_arms() {
        let out = tree(
            &["branch-test"],
            "USEQ TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             UIF TEMP[0].xxxx\n\
             KILL\n\
             ELSE\n\
             STORE BUFFER[0].x, IMM[0].xxxx, IN[0].xxxx\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = imm 0x0 (0.0)
            %2 = KILL
            %3 = STORE BUFFER[0] <- 0.x=%1 1.x=%0
            body
              uif %0
                do %3
                yield 
              else
                do %2
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_float_comparison_is_a_float_test() {
        let out = tree(
            &["branch-test"],
            "FSNE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             UIF TEMP[0].xxxx\n\
             KILL\n\
             ENDIF\n\
             SNE TEMP[1].x, |IN[0].yyyy|, IMM[0].xxxx\n\
             IF TEMP[1].xxxx\n\
             KILL\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            %2 = IN[0].y
            %3 = KILL
            body
              if %0
                do %1
                yield 
              else
                yield 
              if %2
                do %3
                yield 
              else
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_chain() {
        let out = tree(
            &["branch-test"],
            "USNE TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\n\
             AND TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
             IF TEMP[0].xxxx\n\
             KILL\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = KILL
            body
              uif %0
                do %1
                yield 
              else
                yield 
            end
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn comparisons_that_stay() {
        // Another reader of the comparison, and no second arm.
        assert!(unchanged(
            "branch-test",
            "USEQ TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\nUIF TEMP[0].xxxx\nKILL\nENDIF\nMOV OUT[0].x, TEMP[0].xxxx"
        ));
        // Orders, and constants other than zero.
        assert!(unchanged(
            "branch-test",
            "FSLT TEMP[0].x, IN[0].xxxx, IMM[0].xxxx\nUIF TEMP[0].xxxx\nKILL\nENDIF"
        ));
        assert!(unchanged(
            "branch-test",
            "USNE TEMP[0].x, IN[0].xxxx, IMM[1].yyyy\nUIF TEMP[0].xxxx\nKILL\nENDIF"
        ));
        // Bits of a negated float: -0.0 and 0.0 change places.
        assert!(unchanged(
            "branch-test",
            "MOV TEMP[0].x, -IN[0].xxxx\nUIF TEMP[0].xxxx\nKILL\nENDIF"
        ));
    }
}
