//! Programs made from the bytes; the first eight choose how they are optimised.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tgsi_fuzz::{Effort, FailureKind, Setup, TestCase, check, program};

fuzz_target!(|bytes: &[u8]| {
    let (head, body) = bytes.split_at(bytes.len().min(8));
    let program = program(body);
    for setup in Setup::choose(head) {
        let case = TestCase { program: program.clone(), setup, effort: Effort::default() };
        if let Err(f) = check(&case) {
            let harmless = matches!(f.kind, FailureKind::Unsupported | FailureKind::Undefined | FailureKind::Again);
            assert!(harmless, "{}: {:?}: {}", case.setup, f.kind, f.detail);
        }
    }
});
