//! Programs made from the bytes and rewritten; the first eight choose how.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tgsi_fuzz::{Effort, FailureKind, Setup, TestCase, Transform, check, program};
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_opt::Level;

fuzz_target!(|bytes: &[u8]| {
    let (head, body) = bytes.split_at(bytes.len().min(8));
    let original = program(body);
    for transform in Transform::ALL {
        let Some(rewritten) = transform.apply(&original, head) else { continue };
        let report = compare(&original, &rewritten, &EquivOptions::default());
        assert!(report.is_equal(), "{transform:?}: {report:?}");
        let setup = Setup::of_level(Level::O2, false);
        let case = TestCase { program: rewritten, setup, effort: Effort::default() };
        if let Err(f) = check(&case) {
            let harmless = matches!(f.kind, FailureKind::Unsupported | FailureKind::Undefined | FailureKind::Again);
            assert!(harmless, "{transform:?}: {:?}: {}", f.kind, f.detail);
        }
    }
});
