//! Printed forms of the intermediate representation.

use tgsi::Program;

/// The intermediate representation of a program, as text; where it cannot be lifted, the reason
/// behind `;`.
pub fn emit_ir(program: &Program) -> String {
    match tgsi_ir::lift(program) {
        Ok(f) => f.to_string(),
        Err(e) => format!("; not lifted: {e}\n"),
    }
}

/// The control-flow graph of a program, as a Graphviz graph.
pub fn emit_dot(program: &Program) -> String {
    match tgsi_ir::lift(program) {
        Ok(f) => tgsi_ir::cfg::Cfg::new(&f).to_dot(&f),
        Err(e) => format!("digraph cfg {{ // not lifted: {e}\n}}\n"),
    }
}
