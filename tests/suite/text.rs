//! Reading and printing programs for the tests.

use tgsi::{Diagnostic, Dialect, Inst, Labels, NonFinite, Opcode, Program, Severity};

/// Parses a program that must be free of errors.
pub(crate) fn parse(text: &str) -> Result<Program, String> {
    let (program, diagnostics) = tgsi::parse(text);
    let errors: Vec<String> = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .map(show)
        .collect();
    if errors.is_empty() {
        Ok(program)
    } else {
        Err(format!("does not parse:\n{}", errors.join("\n")))
    }
}

/// The form of every golden file: decimals, numbered instructions.
pub(crate) fn print(program: &Program) -> String {
    tgsi::print(program, &Dialect::mesa())
}

fn show(d: &Diagnostic) -> String {
    format!("{}:{}: {} {}", d.line, d.column, d.code, d.message)
}

/// Printing and parsing again gives the same program, in every dialect.
pub(crate) fn reparses(program: &Program) -> Result<(), String> {
    let exact = Dialect {
        labels: Labels::None,
        flt32: tgsi::FloatForm::Hex,
        flt64: tgsi::FloatForm::Hex,
        non_finite: NonFinite::Hex,
        ..Dialect::mesa()
    };
    let text = tgsi::print(program, &exact);
    let mut again = parse(&text)?;
    let mut program = program.clone();
    forget_labels(&mut again.insts);
    forget_labels(&mut program.insts);
    if again != program {
        return Err(format!("reads back as another program:\n{text}"));
    }
    for dialect in [Dialect::mesa(), Dialect::virgl(), Dialect::legacy()] {
        let text = tgsi::print(&program, &dialect);
        let twice = tgsi::print(&parse(&text)?, &dialect);
        if text != twice {
            return Err(format!(
                "prints differently the second time:\n{text}\n{twice}"
            ));
        }
    }
    Ok(())
}

/// Labels say nothing that nesting does not say, but for calls.
fn forget_labels(insts: &mut [Inst]) {
    for inst in insts.iter_mut().filter(|i| i.op != Opcode::Cal) {
        inst.label = None;
    }
}

/// The findings of the sanity check in `after` whose kind `before` is free of. The negation of a
/// 32-bit integer operand has a meaning everywhere but in virglrenderer.
pub(crate) fn new_findings(before: &Program, after: &Program, virgl: bool) -> Vec<String> {
    let known: Vec<_> = tgsi::check(before, None).iter().map(|d| d.code).collect();
    let negation = |d: &Diagnostic| {
        d.code == tgsi::codes::MODIFIER && d.message.contains("`-` on an integer operand")
    };
    tgsi::check(after, None)
        .iter()
        .filter(|d| !known.contains(&d.code) && (virgl || !negation(d)))
        .map(|d| format!("{} {}", d.code, d.message))
        .collect()
}

/// The sanity check finds no error: a case means what it says.
pub(crate) fn is_sane(program: &Program) -> Result<(), String> {
    let found = tgsi::check(program, None);
    match found.iter().find(|d| d.severity == Severity::Error) {
        Some(d) => Err(format!("the case is not sane: {} {}", d.code, d.message)),
        None => Ok(()),
    }
}

/// How deep in IF, SWITCH and loops each instruction of this name stands.
pub(crate) fn depths(program: &Program, name: &str) -> impl Iterator<Item = u32> {
    let mut depth = 0u32;
    program.insts.iter().filter_map(move |inst| {
        use Opcode::*;
        match inst.op {
            If | Uif | Switch | Bgnloop => depth += 1,
            Endif | Endswitch | Endloop => depth = depth.saturating_sub(1),
            _ => {}
        }
        (inst.op.name() == name).then_some(depth)
    })
}
