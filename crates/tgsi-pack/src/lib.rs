//! From placed channel values back to vec4 instructions.

pub mod bound;
pub mod count;
pub mod lir;
pub mod live;
pub mod pack;
pub mod sched;
pub mod webs;
