//! Tests of the allocator and of the checker against independent models.

#![expect(unreachable_pub, reason = "the modules of a test share helpers")]
mod exact;
mod examples;
mod faults;
mod gaps;
mod oracle;
mod program;
mod properties;
