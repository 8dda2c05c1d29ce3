//! Arrays that share registers: programs that index them, and how many temporaries the results have.

use tgsi::{Program, Severity};
use tgsi_interp::equiv::{EquivOptions, Tolerance, compare};
use tgsi_opt::{Level, Options, Profile, optimize};

/// Two arrays of four registers, which are filled and read by an index in 0..3.
fn program(body: &str) -> Program {
    let text = format!(
        "FRAG
DCL IN[0], GENERIC[0], PERSPECTIVE
DCL OUT[0], COLOR
DCL OUT[1], COLOR[1]
DCL CONST[0..7]
DCL SAMP[0]
DCL SVIEW[0], 2D, FLOAT
DCL TEMP[0..3], ARRAY(1), LOCAL
DCL TEMP[4..9], ARRAY(2), LOCAL
DCL TEMP[10..12], LOCAL
DCL ADDR[0]
IMM[0] UINT32 {{0, 1, 2, 3}}
  AND TEMP[10].x, CONST[7].xxxx, IMM[0].wwww
  UARL ADDR[0].x, TEMP[10].xxxx
{body}
  END
"
    );
    let (program, diagnostics) = tgsi::parse(&text);
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{diagnostics:?}\n{text}");
    program
}

/// Writes a register of an array at the index and one at a fixed place.
fn fill(array: u32, first: u32, mask: &str) -> String {
    format!(
        "  MOV TEMP[ADDR[0].x+{first}]({array}).{mask}, CONST[{array}]\n  ADD TEMP[{}]({array}).{mask}, IN[0].wzyx, CONST[3]",
        first + 2
    )
}

/// The temporaries of the result without arrays that share registers, and with.
#[track_caller]
fn temps(body: &str) -> (u32, u32) {
    let before = program(body);
    let with = |disable: &[&str]| {
        let options = Options {
            level: Level::O2,
            profile: Profile::Strict,
            verify_each: true,
            disable: disable.iter().map(|d| (*d).to_owned()).collect(),
            ..Options::default()
        };
        optimize(&before, &options)
    };
    let (apart, shared) = (with(&["array-sharing"]), with(&[]));
    for outcome in [&apart, &shared] {
        let options = EquivOptions {
            cases: 32,
            special_cases: 32,
            tolerance: Tolerance::Exact,
            ..EquivOptions::default()
        };
        let report = compare(&before, &outcome.program, &options);
        let text = tgsi::print(&outcome.program, &tgsi::Dialect::mesa());
        assert!(report.cases_run > 0 && report.compared_words > 0);
        assert!(report.is_equal(), "{:?}\n{text}", report.mismatches);
        assert!(outcome.temps_bound.is_none_or(|b| b <= outcome.after.temps));
    }
    let again = optimize(&shared.program, &Options::default());
    assert_eq!(again.after.temps, shared.after.temps);
    (apart.after.temps, shared.after.temps)
}

const READ: &str = "  MUL OUT[0].xyz, TEMP[ADDR[0].x](1).xyyy, TEMP[ADDR[0].x+4](2).yyxx
  ADD OUT[0].w, TEMP[2](1).xxxx, TEMP[6](2).yyyy";

#[test]
fn arrays_of_few_channels_stand_side_by_side() {
    let body = [fill(1, 0, "xy"), fill(2, 4, "xy"), READ.to_owned()].join("\n");
    let (apart, shared) = temps(&body);
    assert_eq!(apart - shared, 4, "{apart} {shared}");
}

#[test]
fn five_channels_are_too_many() {
    let read = "  ADD OUT[0], TEMP[ADDR[0].x](1).xyzz, TEMP[ADDR[0].x+4](2).xyxy";
    let body = [fill(1, 0, "xyz"), fill(2, 4, "xy"), read.to_owned()].join("\n");
    let (apart, shared) = temps(&body);
    assert_eq!(apart, shared);
}

#[test]
fn arrays_that_are_used_one_after_the_other_are_one() {
    let body = [
        fill(1, 0, "xyzw"),
        "  ADD OUT[0], TEMP[ADDR[0].x](1), TEMP[2](1)".to_owned(),
        fill(2, 4, "xyzw"),
        "  ADD OUT[1], TEMP[ADDR[0].x+4](2), TEMP[6](2)".to_owned(),
    ]
    .join("\n");
    let (apart, shared) = temps(&body);
    assert_eq!(apart - shared, 4, "{apart} {shared}");
}

/// The first array is read again in the next iteration, after the second one was written.
#[test]
fn a_loop_keeps_arrays_apart() {
    let body = [
        fill(1, 0, "xyzw"),
        fill(2, 4, "xyzw"),
        "  MOV TEMP[11].x, CONST[0].xxxx
  BGNLOOP
    FSGE TEMP[11].y, TEMP[11].xxxx, CONST[5].xxxx
    UIF TEMP[11].yyyy
      BRK
    ENDIF
    ADD TEMP[11].x, TEMP[11].xxxx, TEMP[ADDR[0].x](1).yyyy
    ADD TEMP[ADDR[0].x+4](2), TEMP[ADDR[0].x+4](2), TEMP[11].xxxx
    MAX TEMP[11].x, TEMP[11].xxxx, TEMP[11].xxxx
    ADD TEMP[11].x, TEMP[11].xxxx, |CONST[6].xxxx|
    KILL_IF TEMP[11].xxxx
  ENDLOOP
  ADD OUT[0], TEMP[ADDR[0].x](1), TEMP[ADDR[0].x+4](2)"
            .to_owned(),
    ]
    .join("\n");
    let (apart, shared) = temps(&body);
    assert_eq!(apart, shared);
}

/// What a fetch writes comes by channels: its array stays where it is, and the other one moves.
#[test]
fn a_fetch_binds_its_array_to_channels() {
    let body = [
        fill(1, 0, "xy"),
        fill(2, 4, "xy"),
        "  TEX TEMP[ADDR[0].x](1).xy, IN[0], SAMP[0], 2D".to_owned(),
        READ.to_owned(),
    ]
    .join("\n");
    let (apart, shared) = temps(&body);
    assert_eq!(apart - shared, 4, "{apart} {shared}");
}

/// The first array is never read. Once it is in the registers of the second one, a store behind the
/// last read is dead, and that is found at once.
#[test]
fn what_sharing_makes_dead_is_removed_at_once() {
    let text = "VERT
DCL CONST[0][0]
DCL TEMP[0..5], LOCAL
DCL TEMP[6..11], ARRAY(1), LOCAL
DCL TEMP[12..15], ARRAY(2), LOCAL
DCL TEMP[16..18], LOCAL
DCL ADDR[1]
IMM[0] INT32 {0, 0, 0, 0}
  MOV TEMP[8].x, IMM[0]
  MOV TEMP[14].x, IMM[0].xxxx
  MAX TEMP[5].x, CONST[0].xxxx, IMM[0]
  MOV ADDR[1].y, TEMP[5].xxxx
  MOV TEMP[ADDR[1].y+7](1).z, IMM[0].xxxx
  SWITCH IMM[0]
  CASE IMM[0].xxxx
  MOV ADDR[1].w, CONST[0]
  MOV TEMP[16].w, IMM[0].xxxx
  BGNLOOP
    UIF TEMP[ADDR[1].w+12](2)
      BRK
    ENDIF
  ENDLOOP
  ENDSWITCH
  END
";
    let (program, _) = tgsi::parse(text);
    let first = optimize(&program, &Options::default());
    let second = optimize(&first.program, &Options::default());
    assert_eq!(first.after, second.after);
    assert_eq!(first.after.temps, 7);
}
