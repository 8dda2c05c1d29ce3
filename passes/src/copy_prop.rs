//! # What
//! A phi whose inputs, itself aside, are one value is that value.
//!
//! # Why
//! LIFT makes phis for every channel written in a region and read behind it; many of them merge a
//! value with itself once dead paths and equal computations are gone.
//!
//! # Algorithm
//! Phis are visited in region order until nothing changes; inputs are resolved through earlier
//! findings, so chains of copies fall in one go. An input that is an uninitialised word counts as
//! any value if nothing else reads that word, and if the other input surely exists at the phi.
//!
//! # Preserves
//! Bits. A value may now be used outside the loop that computes it: its last value there.
//!
//! # Limits
//! The value must precede the phi in the arena; it does unless it goes round a loop.
//!
//! # Cost
//! Linear in phi inputs for each round, few rounds; one rebuild if anything was found.
//!
//! # Tests
//! Below: branches, loops, chains, several exits with different values, uninitialised words.

use tgsi_ir::rewrite::{Edits, PhiInputs, rebuild_from};
use tgsi_ir::{Function, VOp, Value, ix};

use crate::PassCx;
use crate::const_fold::keep;
use crate::facts::{Anchors, Uses};

/// Replaces phis of one value.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let mut edits = Edits::default();
    let phis = PhiInputs::collect(func);
    find(func, cx, &phis, &phis.order, &Uses::default(), &mut edits);
    (!edits.is_empty()).then(|| rebuild_from(func, &edits, &phis, &mut keep))
}

/// Adds the replacements of the phis in `order` to `edits`.
pub(crate) fn find(
    func: &Function,
    cx: &PassCx,
    phis: &PhiInputs,
    order: &[Value],
    uses: &Uses,
    edits: &mut Edits,
) {
    let mut open: Vec<Value> = Vec::new();
    let mut found = false;
    for &phi in order {
        if edits.subst.contains(phi) || edits.redefine.contains_key(&phi) {
            continue;
        }
        let now = replace(func, cx, edits, phi, phis);
        found |= now;
        if phis.loops && !now && may_open(func, phis.of(phi)) {
            open.push(phi);
        }
    }
    while found && phis.loops {
        found = false;
        open.retain(|&phi| {
            let now = replace(func, cx, edits, phi, phis);
            found |= now;
            !now
        });
    }
    undefined(func, cx, phis, order, uses, edits);
}

/// Replaces a phi of one value; whether it was one.
fn replace(func: &Function, cx: &PassCx, edits: &mut Edits, phi: Value, phis: &PhiInputs) -> bool {
    match only_input(edits, phi, phis.of(phi).iter().copied()) {
        Some(v) if ix(v) < ix(phi) && cx.spend("copy-prop", Some(func.values[phi].hint)) => {
            edits.subst.insert(phi, v);
            true
        }
        _ => false,
    }
}

/// Whether replacing phis could leave one value of the inputs: at most one of them is no phi.
fn may_open(func: &Function, inputs: &[Value]) -> bool {
    let mut fixed = inputs
        .iter()
        .filter(|&&v| !matches!(func.values[v].op, VOp::Phi(_)));
    match fixed.next() {
        Some(first) => fixed.all(|v| v == first),
        None => true,
    }
}

/// The one value among the inputs other than the phi itself.
fn only_input(edits: &Edits, phi: Value, inputs: impl Iterator<Item = Value>) -> Option<Value> {
    let mut only = None;
    for v in inputs {
        let v = edits.resolve(v);
        if v == phi || only == Some(v) {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = Some(v);
    }
    only
}

/// Phis of one value and of words that nothing else reads and nobody wrote. Such a word is the
/// same for the whole run, and so must the value be that stands for it.
fn undefined(
    func: &Function,
    cx: &PassCx,
    phis: &PhiInputs,
    order: &[Value],
    uses: &Uses,
    edits: &mut Edits,
) {
    let mut undefined: Vec<bool> = Vec::new();
    for (i, d) in func.values.values().enumerate() {
        if matches!(d.op, VOp::Undef(_)) {
            undefined.resize(i, false);
            undefined.push(true);
        }
    }
    if undefined.is_empty() {
        return;
    }
    let mut anchors = None;
    let is_undefined = |v: Value| undefined.get(ix(v)) == Some(&true);
    for &phi in order {
        let inputs = phis.of(phi);
        if !inputs.iter().any(|&v| is_undefined(v))
            || edits.subst.contains(phi)
            || edits.redefine.contains_key(&phi)
        {
            continue;
        }
        let uses = uses.of(func, phis);
        let is_free = |v: Value| is_undefined(v) && uses[ix(v)] == 1;
        if !inputs.iter().any(|&v| is_free(v)) {
            continue;
        }
        let others = inputs.iter().copied().filter(|&v| !is_free(v));
        if let Some(v) = only_input(edits, phi, others)
            && ix(v) < ix(phi)
        {
            let anchors = anchors.get_or_insert_with(|| Anchors::collect(func));
            if anchors.exists_at(v, phi)
                && anchors.is_single(v)
                && cx.spend("copy-prop", Some(func.values[phi].hint))
            {
                edits.subst.insert(phi, v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{tree, unchanged};

    #[test]
    fn equal_arms() {
        let out = tree(
            &["copy-prop"],
            "UIF IN[0].xxxx\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ELSE\n\
             MOV TEMP[0].x, IN[1].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            body
              uif %0
                yield 
              else
                yield 
            end OUT[0].x=%1
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn channel_written_with_itself_in_a_loop() {
        let out = tree(
            &["copy-prop"],
            "MOV TEMP[0].x, IN[0].xxxx\n\
             BGNLOOP\n\
             UIF IN[0].yyyy\n\
             BRK\n\
             ENDIF\n\
             MOV TEMP[0].x, TEMP[0].xxxx\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            body
              loop 2
                params 
                inits 
                uif %1
                  depart 2 
                else
                  yield 
                next 
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn two_exits_with_different_values() {
        let out = tree(
            &["copy-prop"],
            "BGNLOOP\n\
             UIF IN[0].xxxx\n\
             MOV TEMP[1].x, CONST[0].xxxx\n\
             BRK\n\
             ENDIF\n\
             UIF IN[0].yyyy\n\
             MOV TEMP[1].x, CONST[1].xxxx\n\
             BRK\n\
             ENDIF\n\
             ENDLOOP\n\
             MOV OUT[0].x, TEMP[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = CONST[0].x
            %2 = IN[0].y
            %3 = CONST[1].x
            %4 = phi
            body
              %4 = loop 2
                params 
                inits 
                uif %0
                  depart 2 %1
                else
                  yield 
                uif %2
                  depart 2 %3
                else
                  yield 
                next 
            end OUT[0].x=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn unwritten_arm() {
        let out = tree(
            &["copy-prop"],
            "UIF IN[0].xxxx\n\
             ADD TEMP[0].x, IN[1].xxxx, IN[1].yyyy\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[1].x
            %1 = IN[1].y
            %2 = ADD %0, %1
            body
            end OUT[0].x=%2
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn unwritten_word_with_another_reader() {
        let out = tree(
            &["copy-prop"],
            "UIF IN[0].xxxx\n\
             ADD TEMP[0].x, IN[1].xxxx, IN[1].yyyy\n\
             ELSE\n\
             MOV TEMP[0].x, TEMP[1].xxxx\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx\n\
             MOV OUT[0].y, TEMP[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[1].y
            %3 = ADD %1, %2
            %4 = undef 4
            %5 = phi
            body
              %5 = uif %0
                yield %3
              else
                yield %4
            end OUT[0].x=%5 OUT[0].y=%4
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn unwritten_arm_beside_a_fetch_in_the_other() {
        let out = tree(
            &["copy-prop"],
            "UIF IN[0].xxxx\n\
             TEX TEMP[0].x, IN[1], SAMP[0], 2D\n\
             ENDIF\n\
             MOV OUT[0].x, TEMP[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[1].x
            %2 = IN[1].y
            %3 = TEX 0.x 2D SAMP[0] 0.x=%1 0.y=%2
            %4 = proj0.x %3
            %5 = undef 0
            %6 = phi
            body
              %6 = uif %0
                do %3
                yield %4
              else
                yield %5
            end OUT[0].x=%6
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn nothing_to_do() {
        assert!(unchanged(
            "copy-prop",
            "ADD OUT[0].x, IN[0].xxxx, IN[0].yyyy"
        ));
    }
}
