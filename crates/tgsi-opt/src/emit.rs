//! Printed forms of the intermediate representation.

use tgsi::Program;

/// The intermediate representation of a program, as text.
pub fn emit_ir(program: &Program) -> String {
    let _ = program;
    "not available\n".to_owned()
}

/// The intermediate representation of a program, as a Graphviz graph.
pub fn emit_dot(program: &Program) -> String {
    let _ = program;
    "not available\n".to_owned()
}
