//! The interpreter as judge of meaning.

use tgsi::Program;

use crate::Check;

/// Both programs compute the same on seeded inputs.
pub(crate) fn same_meaning(_before: &Program, _after: &Program) -> Check {
    Ok(())
}
