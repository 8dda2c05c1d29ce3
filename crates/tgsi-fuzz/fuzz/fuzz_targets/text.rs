//! Any text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(fault) = tgsi_fuzz::check_text(&String::from_utf8_lossy(bytes)) {
        panic!("{fault}");
    }
});
