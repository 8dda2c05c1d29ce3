//! Programs larger than 16-bit numbers.

use std::fmt::Write as _;

use tgsi_opt::{Level, Options, Profile, optimize_text};

/// One block of more instructions than a 16-bit number counts, each needing the one before.
#[test]
fn a_long_block_keeps_its_instructions() {
    const PAIRS: u32 = 33_000;
    let mut text = String::from(
        "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL CONST[0]\nDCL TEMP[0..1]\n\
         MOV TEMP[0].x, IN[0].xxxx\n",
    );
    for _ in 0..PAIRS {
        let _ = writeln!(text, "ADD TEMP[0].x, TEMP[0].xxxx, CONST[0].xxxx");
        let _ = writeln!(text, "MUL TEMP[0].x, TEMP[0].xxxx, CONST[0].yyyy");
    }
    text += "MOV OUT[0].x, TEMP[0].xxxx\nEND\n";
    let options = Options {
        level: Level::O1,
        // Nothing is fused: the result is as long.
        profile: Profile::Strict,
        ..Options::default()
    };
    let done = optimize_text(&text, &options, None).expect("a valid program");
    assert_eq!(done.outcome.after.instructions, 2 * PAIRS);
}
