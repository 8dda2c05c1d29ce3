//! What the tests of the passes share.

use tgsi_ir::{Function, VOp, Value, ix, lift};

use crate::{PassCx, run_pass};

const HEADER: &str = "FRAG
DCL IN[0..3], GENERIC[0], PERSPECTIVE
DCL OUT[0..3], COLOR
DCL CONST[0..3]
DCL SAMP[0]
DCL SAMP[1]
DCL BUFFER[0]
DCL TEMP[0..9], LOCAL
DCL TEMP[10..13], ARRAY(1), LOCAL
DCL TEMP[14..17], ARRAY(2), LOCAL
DCL ADDR[0]
IMM[0] FLT32 {0.0, 1.0, -1.0, 0.5}
IMM[1] UINT32 {2147483648, 1, 4294967295, 2}
IMM[2] UINT32 {16, 4, 31, 3}
";

/// The function of a program without header and END.
pub(crate) fn lifted(text: &str) -> Function {
    let whole = if text.starts_with("FRAG") {
        text.to_owned()
    } else {
        format!("{HEADER}{text}\nEND\n")
    };
    let (program, diagnostics) = tgsi::parse(&whole);
    assert!(
        diagnostics
            .iter()
            .all(|d| d.severity != tgsi::Severity::Error),
        "{diagnostics:?}"
    );
    match lift(&program) {
        Ok(f) => f,
        Err(e) => panic!("{e}"),
    }
}

/// The function after passes, verified after each, without dead values.
#[track_caller]
pub(crate) fn after(passes: &[&str], text: &str) -> Function {
    let cx = PassCx {
        verify: true,
        ..Default::default()
    };
    let mut f = lifted(text);
    for name in passes.iter().chain(&["dce"]) {
        f = run_pass(name, &f, &cx).unwrap_or(f);
    }
    assert_eq!(cx.faults.borrow().as_slice(), &[] as &[String]);
    f
}

/// The tree after passes.
#[track_caller]
pub(crate) fn tree(passes: &[&str], text: &str) -> String {
    after(passes, text).to_string()
}

/// Whether a pass finds nothing to do.
#[track_caller]
pub(crate) fn unchanged(pass: &str, text: &str) -> bool {
    run_pass(pass, &lifted(text), &PassCx::default()).is_none()
}

/// The outputs after passes as expressions, one a line.
#[track_caller]
pub(crate) fn outs(passes: &[&str], text: &str) -> String {
    let f = after(passes, text);
    let args = f.end_args.clone().unwrap_or_default();
    args.iter()
        .map(|&v| expr(&f, v))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A value as an expression; phis by number.
pub(crate) fn expr(f: &Function, v: Value) -> String {
    let d = &f.values[v];
    let args = || {
        d.args
            .iter()
            .map(|&a| expr(f, a))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match d.op {
        VOp::Imm(w) => {
            let x = f32::from_bits(w);
            if w == 0 || x.is_finite() && (1e-3..1e6).contains(&x.abs()) {
                format!("{x:?}")
            } else {
                format!("{w:#x}")
            }
        }
        VOp::Undef(n) => format!("undef{n}"),
        VOp::Reg(r, c) => {
            let r = f.regs[r.0 as usize];
            let chan = ["x", "y", "z", "w"][c as usize & 3];
            format!("{}{}.{chan}", r.file.name(), r.index.base)
        }
        VOp::Alu(op) => format!(
            "{}{}({})",
            op.name(),
            if d.precise { "_PRECISE" } else { "" },
            args()
        ),
        VOp::Neg => format!("-{}", args()),
        VOp::Abs => format!("|{}|", args()),
        VOp::INeg => format!("ineg({})", args()),
        VOp::Sat => format!("sat({})", args()),
        VOp::Pair => format!("pair({})", args()),
        VOp::Half(h) => format!("half{h}({})", args()),
        VOp::Multi(m) => format!("{}({})", f.multis[m.0 as usize].inst.op.name(), args()),
        VOp::Proj(c) => format!("{}.{}", args(), ["x", "y", "z", "w"][c as usize & 3]),
        VOp::Phi(_) => format!("phi{}", ix(v)),
    }
}
