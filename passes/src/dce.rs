//! # What
//! Values, memory reads, phis and result channels that nothing observable needs disappear.
//!
//! # Why
//! LIFT computes every channel of every write mask; passes leave operands behind.
//!
//! # Algorithm
//! Liveness from effects, conditions and outputs; a rebuild that copies the live part.
//!
//! # Preserves
//! Effects in order, loops (a loop is never removed here: it might not end).
//!
//! # Limits
//! Overwritten stores are [`crate::dse`]'s work.
//!
//! # Cost
//! One liveness computation; a rebuild only if something is dead.
//!
//! # Tests
//! Below: dead channels, dead texture results, conditions kept, atomics kept, nothing to do.

use tgsi::Opcode;
use tgsi_ir::rewrite::{Edits, Liveness, PhiInputs, liveness, rebuild_with};
use tgsi_ir::{Function, MultiKind, VOp, ix};

use crate::PassCx;
use crate::const_fold::keep;

/// Removes what is dead.
pub fn run(func: &Function, cx: &PassCx) -> Option<Function> {
    let edits = Edits::default();
    let live = liveness(func, &edits, &PhiInputs::collect(func));
    (has_dead(func, &live) && cx.spend("dce", None)).then(|| rebuild_with(func, &edits, &mut keep))
}

/// Whether a rebuild would remove more than leaves.
pub(crate) fn has_work(func: &Function) -> bool {
    has_dead(
        func,
        &liveness(func, &Edits::default(), &PhiInputs::collect(func)),
    )
}

/// Whether a rebuild would drop an operation, a phi or a result channel.
fn has_dead(func: &Function, live: &Liveness) -> bool {
    func.values.iter().any(|(v, d)| match d.op {
        VOp::Imm(_) | VOp::Undef(_) | VOp::Reg(..) => false,
        VOp::Multi(m) if live.live[ix(v)] => {
            let multi = &func.multis[m.0 as usize];
            // A buffer read keeps lower channels than those wanted, 64-bit results keep pairs.
            multi.results & !live.results[m.0 as usize] != 0
                && multi.kind != MultiKind::Store
                && multi.inst.op != Opcode::Load
                && !multi.inst.op.info().dst_ty.is_wide()
        }
        _ => !live.live[ix(v)],
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{tree, unchanged};

    #[test]
    fn dead_channels() {
        let out = tree(
            &["dce"],
            "MUL TEMP[0], IN[0], IN[1]\n\
             MOV OUT[0].x, TEMP[0].wwww",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].w
            %1 = IN[1].w
            %2 = MUL %0, %1
            body
            end OUT[0].x=%2
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn dead_texture_results() {
        let out = tree(
            &["dce"],
            "TEX TEMP[0], IN[0], SAMP[0], 2D\n\
             MOV OUT[0].x, TEMP[0].zzzz",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = IN[0].y
            %2 = TEX 0.z 2D SAMP[0] 0.x=%0 0.y=%1
            %3 = proj0.z %2
            body
              do %2
            end OUT[0].x=%3
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn conditions_stay() {
        let out = tree(
            &["dce"],
            "SLT TEMP[0].x, IN[0].xxxx, CONST[0].xxxx\n\
             IF TEMP[0].xxxx\n\
             MOV OUT[0].x, CONST[1].xxxx\n\
             ELSE\n\
             MOV OUT[0].x, CONST[2].xxxx\n\
             ENDIF",
        );
        expect![[r#"
            FRAG
            %0 = IN[0].x
            %1 = CONST[0].x
            %2 = SLT %0, %1
            %3 = CONST[1].x
            %4 = CONST[2].x
            %5 = phi
            body
              %5 = if %2
                yield %3
              else
                yield %4
            end OUT[0].x=%5
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn atomics_stay() {
        let out = tree(
            &["dce"],
            "ATOMUADD TEMP[0].x, BUFFER[0], IMM[0].xxxx, IMM[1].yyyy\n\
             MOV OUT[0].x, IN[0].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = imm 0x0 (0.0)
            %1 = imm 0x1
            %2 = ATOMUADD BUFFER[0] 1.x=%0 2.x=%1
            %3 = IN[0].x
            body
              do %2
            end OUT[0].x=%3
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_branch_for_nothing() {
        let out = tree(
            &["dce"],
            "UIF IN[0].xxxx\n\
             ADD TEMP[0].x, IN[1].xxxx, IN[1].yyyy\n\
             ELSE\n\
             TEX TEMP[0].x, IN[0], SAMP[0], 2D\n\
             ENDIF\n\
             MOV OUT[0].x, IN[1].xxxx",
        );
        expect![[r#"
            FRAG
            %0 = IN[1].x
            body
            end OUT[0].x=%0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn nothing_dead() {
        assert!(unchanged("dce", "ADD OUT[0].x, IN[0].xxxx, IN[0].yyyy"));
    }
}
