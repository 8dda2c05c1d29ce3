//! What a program costs and where it fits.
//!
//! * [`Target`]: limits and habits of a consumer, as data.
//! * [`count`]: exact counters over a [`tgsi::Program`].
//! * [`Cost`]: the order in which two programs for one target compare.
//! * [`fit_report`]: every limit a program exceeds, as "needs N of M", and what the target does not
//!   have; [`place`] says which instruction is to blame.
//! * [`Taken`]: which operations a consumer has.
//! * [`pack_constants`]: the constants a program reads in as few registers as possible, and where they went.
//! * [`virgl_introduces`]: what an output contains that virglrenderer would drop
//!   or mistranslate and that its input did not contain.
//!
//! *Invariant*: nothing here knows of an optimiser; everything is a pure function of syntax.

mod certificate;
mod constants;
mod cost;
mod count;
mod fit;
mod indirections;
mod legal;
mod missing;
mod place;
mod registers;
mod shapes;
mod slots;
mod target;
mod tokens;
mod virgl;

pub use certificate::{Certificate, certificate};
pub use constants::{ConstantMove, pack_constants};
pub use cost::{Cost, MISSING};
pub use count::{Class, Counts, class, count, count_result};
pub use fit::{Excess, fit_report, needs};
pub use indirections::{IndirectionModel, indirections};
pub use legal::Taken;
pub use missing::{FlowKind, Missing};
pub use place::{Place, instruction_text, place};
pub use shapes::{Immediates, ShapeFault, ShapeRule, shape_faults};
pub use slots::Slots;
pub use target::{
    Arithmetic, Constants, Flow, LIMITS, LimitName, Limits, Opcodes, Operands, Target, TargetError,
};
pub use tokens::{has_labels, token_count};
pub use virgl::{dropped_by_virgl, virgl_introduces};
