//! Which lanes share an instruction.

use expect_test::{Expect, expect};
use tgsi_ir::layout::layout;
use tgsi_ir::{Function, lift};
use tgsi_pack::lir::{self, Lir, Opnd, Ref, What};
use tgsi_pack::pack::{Home, Kind, PackOptions, Packing, pack};
use tgsi_pack::webs::{WebOptions, webs};

const HEADER: &str = "FRAG
DCL IN[0..3], GENERIC[0], PERSPECTIVE
DCL OUT[0..3], COLOR
DCL CONST[0..3]
DCL BUFFER[0]
DCL TEMP[0..9], LOCAL
IMM[0] FLT32 {0.0, 1.0, -1.0, 0.5}
IMM[1] UINT32 {7, 1, 4294967295, 2}
";

#[derive(Clone, Copy)]
struct Setting {
    zero_wins: bool,
    virgl: bool,
}

const USUAL: Setting = Setting {
    zero_wins: false,
    virgl: false,
};

fn packed(text: &str, setting: Setting) -> (Function, Packing) {
    let (program, diagnostics) = tgsi::parse(&format!("{HEADER}{text}\nEND\n"));
    assert!(
        diagnostics
            .iter()
            .all(|d| d.severity != tgsi::Severity::Error),
        "{diagnostics:?}"
    );
    let f = lift(&program).expect("a program that can be lifted");
    let l = layout(&f);
    let lir = lir::build(&f, &l, false);
    let w = webs(&lir, &l, WebOptions::default());
    let options = PackOptions {
        whole_outputs: &[],
        seed: 0,
        reach: u32::MAX,
        virgl: setting.virgl,
        plain_coordinates: false,
        addresses: 1,
        indexed_reads: u32::MAX,
        mix: Some(setting.zero_wins),
        level_limit: None,
    };
    let p = pack(&f, &lir, &w, &options);
    assert_eq!(p.faults(), Vec::<String>::new());
    (f, p)
}

/// The instructions: operation, and each lane's operands.
fn check(text: &str, expect: Expect) {
    check_in(text, USUAL, expect);
}

fn check_in(text: &str, setting: Setting, expect: Expect) {
    let (f, p) = packed(text, setting);
    let mut out = String::new();
    for pack in p.packs.iter().filter(|p| !p.dead) {
        let first = &p.lir.nodes[pack.nodes[0] as usize];
        let What::Alu(op) = first.what else {
            continue;
        };
        out += op.name();
        out += if first.sat { "_SAT" } else { "" };
        for &n in &pack.nodes {
            let words: Vec<String> = p
                .lir
                .words(&p.lir.nodes[n as usize])
                .iter()
                .map(|o| operand(&f, &p.lir, o))
                .collect();
            out += &format!(" ({})", words.join(", "));
        }
        out.push('\n');
    }
    expect.assert_eq(&out);
}

fn operand(f: &Function, lir: &Lir, o: &Opnd) -> String {
    let word = match o.r {
        Ref::Imm(w) if w == u32::MAX => "-1i".to_owned(),
        Ref::Imm(w) if w != 0 && w < 0x100 => format!("{w}i"),
        Ref::Imm(w) => format!("{:?}", f32::from_bits(w)),
        Ref::Ext(x, c) => {
            let reg = f.regs[lir.exts[x as usize].reg.0 as usize];
            format!(
                "{}{}.{}",
                reg.file.name(),
                reg.index.base,
                ["x", "y", "z", "w"][usize::from(c & 3)]
            )
        }
        Ref::Ent(e) => match lir.nodes.get(lir.def[e as usize] as usize).map(|n| n.what) {
            Some(What::Alu(op)) => op.name().to_lowercase(),
            _ => "?".to_owned(),
        },
        Ref::Undef(_) => "undefined".to_owned(),
    };
    let word = if o.abs { format!("|{word}|") } else { word };
    if o.neg { format!("-{word}") } else { word }
}

#[test]
fn a_product_is_a_lane_of_a_mad() {
    check(
        "MAD OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD (IN0.z, CONST0.z, -0.0) (IN0.w, CONST0.w, -0.0) (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
        "#]],
    );
}

#[test]
fn a_sum_is_a_lane_of_a_mad_with_a_constant_factor() {
    check(
        "MAD OUT[0].xy, IN[0].xyyy, IMM[0].wwww, CONST[0].xyyy\n\
         ADD OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD (IN0.z, 1.0, CONST0.z) (IN0.w, 1.0, CONST0.w) (IN0.x, 0.5, CONST0.x) (IN0.y, 0.5, CONST0.y)
        "#]],
    );
}

#[test]
fn where_zero_wins_a_sum_stays() {
    check_in(
        "MAD OUT[0].xy, IN[0].xyyy, IMM[0].wwww, CONST[0].xyyy\n\
         ADD OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        Setting {
            zero_wins: true,
            ..USUAL
        },
        expect![[r#"
            MAD (IN0.x, 0.5, CONST0.x) (IN0.y, 0.5, CONST0.y)
            ADD (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        "#]],
    );
}

#[test]
fn where_zero_wins_a_product_is_a_lane_all_the_same() {
    check_in(
        "MAD OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        Setting {
            zero_wins: true,
            ..USUAL
        },
        expect![[r#"
            MAD (IN0.z, CONST0.z, -0.0) (IN0.w, CONST0.w, -0.0) (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
        "#]],
    );
}

#[test]
fn a_copy_of_a_float_is_a_lane_of_a_sum() {
    check(
        "ADD TEMP[0], IN[0], CONST[0]\n\
         STORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].wwww\n\
         ADD OUT[0].xyz, TEMP[0].xyzz, IMM[0].wwww\n\
         MOV OUT[0].w, TEMP[0].wwww",
        expect![[r#"
            ADD (add, -0.0) (add, 0.5) (add, 0.5) (add, 0.5)
            ADD (IN0.x, CONST0.x) (IN0.y, CONST0.y) (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        "#]],
    );
}

#[test]
fn a_copy_of_an_unknown_word_stays() {
    check(
        "ADD OUT[0].xyz, IN[0].xyzz, IMM[0].wwww\n\
         MOV OUT[0].w, IN[0].wwww",
        expect![[r#"
            MOV (IN0.w)
            ADD (IN0.x, 0.5) (IN0.y, 0.5) (IN0.z, 0.5)
        "#]],
    );
}

#[test]
fn a_copy_of_an_integer_stays() {
    check(
        "UADD TEMP[0].w, IN[0].wwww, IMM[1].yyyy\n\
         ADD TEMP[0].xyz, IN[0].xyzz, CONST[0].xyzz\n\
         UADD OUT[1].w, TEMP[0].wwww, IMM[1].wwww\n\
         ADD OUT[0].xyz, TEMP[0].xyzz, IMM[0].wwww\n\
         MOV OUT[0].w, TEMP[0].wwww",
        expect![[r#"
            MOV (uadd)
            UADD (IN0.w, 1i)
            ADD (IN0.x, CONST0.x) (IN0.y, CONST0.y) (IN0.z, CONST0.z)
            UADD (uadd, 2i)
            ADD (add, 0.5) (add, 0.5) (add, 0.5)
        "#]],
    );
}

#[test]
fn a_saturated_copy_is_a_float() {
    check(
        "ADD_SAT OUT[0].xyz, IN[0].xyzz, IMM[0].wwww\n\
         MOV_SAT OUT[0].w, IN[0].wwww",
        expect![[r#"
            ADD_SAT (IN0.w, -0.0) (IN0.x, 0.5) (IN0.y, 0.5) (IN0.z, 0.5)
        "#]],
    );
}

#[test]
fn saturation_must_agree() {
    check(
        "MAD_SAT OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD_SAT (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
            MUL (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        "#]],
    );
}

#[test]
fn precise_operations_stay() {
    check(
        "MAD OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL_PRECISE OUT[0].zw, IN[0].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
            MUL (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        "#]],
    );
}

#[test]
fn signs_and_absolute_values_must_agree() {
    for (first, second) in [
        ("-IN[0]", "IN[0]"),
        ("IN[0]", "|IN[0]|"),
        ("-|IN[0]|", "|IN[0]|"),
    ] {
        let text = format!(
            "MAD OUT[0].xy, {first}.xyyy, IMM[0].wwww, CONST[0].xyyy\n\
             ADD OUT[0].zw, {second}.zwzw, CONST[0].zwzw"
        );
        let text = text
            .replace("]|.xyyy", "].xyyy|")
            .replace("]|.zwzw", "].zwzw|");
        let (_, p) = packed(&text, USUAL);
        assert_eq!(p.packs.iter().filter(|p| !p.dead).count(), 2, "{text}");
    }
    check(
        "MAD OUT[0].xy, -|IN[0].xyyy|, IMM[0].wwww, CONST[0].xyyy\n\
         ADD OUT[0].zw, -|IN[0].zwzw|, CONST[0].zwzw",
        expect![[r#"
            MAD (-|IN0.z|, 1.0, CONST0.z) (-|IN0.w|, 1.0, CONST0.w) (-|IN0.x|, 0.5, CONST0.x) (-|IN0.y|, 0.5, CONST0.y)
        "#]],
    );
    check(
        "CMP OUT[0].xyz, -|IN[0].xyzz|, IMM[0].yyyy, IMM[0].xxxx\n\
         MOV OUT[0].w, IMM[0].zzzz",
        expect![[r#"
            CMP (-|IN0.x|, -1.0, -1.0) (-|IN0.x|, 1.0, 0.0) (-|IN0.y|, 1.0, 0.0) (-|IN0.z|, 1.0, 0.0)
        "#]],
    );
}

#[test]
fn other_registers_keep_lanes_apart() {
    check(
        "MAD OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL OUT[0].zw, IN[1].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
            MUL (CONST0.z, IN1.z) (CONST0.w, IN1.w)
        "#]],
    );
}

#[test]
fn other_outputs_keep_lanes_apart() {
    check(
        "MAD OUT[0].xy, IN[0].xyyy, CONST[0].xyyy, IMM[0].wwww\n\
         MUL OUT[1].zw, IN[0].zwzw, CONST[0].zwzw",
        expect![[r#"
            MAD (IN0.x, CONST0.x, 0.5) (IN0.y, CONST0.y, 0.5)
            MUL (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        "#]],
    );
}

#[test]
fn a_constant_lane_is_a_selection_between_equals() {
    check(
        "CMP OUT[0].xyz, IN[0].xyzz, CONST[0].xyzz, IMM[0].xxxx\n\
         MOV OUT[0].w, IMM[0].yyyy",
        expect![[r#"
            MOV (1.0)
            CMP (IN0.x, CONST0.x, 0.0) (IN0.y, CONST0.y, 0.0) (IN0.z, CONST0.z, 0.0)
        "#]],
    );
    check(
        "UCMP OUT[0].xyz, IN[0].xyzz, IMM[0].yyyy, IMM[0].xxxx\n\
         MOV OUT[0].w, IMM[0].yyyy",
        expect![[r#"
            UCMP (IN0.x, 1.0, 1.0) (IN0.x, 1.0, 0.0) (IN0.y, 1.0, 0.0) (IN0.z, 1.0, 0.0)
        "#]],
    );
}

#[test]
fn a_constant_lane_beside_a_selection_between_registers_stays() {
    check(
        "CMP OUT[0].xyz, IN[0].xyzz, CONST[0].xyzz, IN[1].xyzz\n\
         MOV OUT[0].w, IMM[0].yyyy",
        expect![[r#"
            MOV (1.0)
            CMP (IN0.x, CONST0.x, IN1.x) (IN0.y, CONST0.y, IN1.y) (IN0.z, CONST0.z, IN1.z)
        "#]],
    );
}

const MASKED: &str = "FSLT TEMP[0], IN[0], CONST[0]\n\
     UCMP OUT[0].xyz, TEMP[0].xyzz, IMM[0].yyyy, IMM[0].wwww\n\
     AND OUT[0].w, TEMP[0].wwww, IMM[0].yyyy";

#[test]
fn a_masked_constant_is_a_selection() {
    check(
        MASKED,
        expect![[r#"
        FSLT (IN0.x, CONST0.x) (IN0.y, CONST0.y) (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        UCMP (fslt, 1.0, 0.0) (fslt, 1.0, 0.5) (fslt, 1.0, 0.5) (fslt, 1.0, 0.5)
    "#]],
    );
}

#[test]
fn a_masked_constant_stays_for_virgl() {
    let virgl = Setting {
        virgl: true,
        ..USUAL
    };
    check_in(
        MASKED,
        virgl,
        expect![[r#"
        FSLT (IN0.x, CONST0.x) (IN0.y, CONST0.y) (IN0.z, CONST0.z) (IN0.w, CONST0.w)
        UCMP (fslt, 1.0, 0.5) (fslt, 1.0, 0.5) (fslt, 1.0, 0.5)
        AND (fslt, 1.0)
    "#]],
    );
}

#[test]
fn what_is_no_mask_is_no_test() {
    check(
        "UADD TEMP[0], IN[0], CONST[0]\n\
         UCMP OUT[0].xyz, TEMP[0].xyzz, IMM[0].yyyy, IMM[0].wwww\n\
         AND OUT[0].w, TEMP[0].wwww, IMM[0].yyyy",
        expect![[r#"
            UADD (IN0.x, CONST0.x) (IN0.y, CONST0.y) (IN0.z, CONST0.z) (IN0.w, CONST0.w)
            UCMP (uadd, 1.0, 0.5) (uadd, 1.0, 0.5) (uadd, 1.0, 0.5)
            AND (uadd, 1.0)
        "#]],
    );
}

/// The registers in which the words of one source instruction stand that one output receives.
fn homes(text: &str) -> String {
    let (_, p) = packed(text, USUAL);
    let mut out = String::new();
    for pack in p.packs.iter().filter(|p| !p.dead) {
        let nodes: Vec<_> = pack
            .nodes
            .iter()
            .map(|&n| &p.lir.nodes[n as usize])
            .collect();
        let What::Alu(op) = nodes[0].what else {
            continue;
        };
        let Home::Class(c) = p.home(Ref::Ent(nodes[0].dst)) else {
            continue;
        };
        let home = match p.classes[c as usize].kind {
            Kind::Temp => "TEMP".to_owned(),
            Kind::Out(r) => format!("OUT[{r}]"),
        };
        out += &format!("{} {home} {} lanes\n", op.name(), nodes.len());
    }
    out
}

#[test]
fn lanes_of_an_output_stay_with_lanes_that_are_read() {
    // One lane is read again, so it is copied: the others come along for nothing.
    expect![[r#"
        MOV OUT[0] 4 lanes
        ADD TEMP 4 lanes
        RCP OUT[1] 1 lanes
    "#]]
    .assert_eq(&homes(
        "ADD TEMP[0], IN[0], CONST[0]\n\
         RCP TEMP[1].x, TEMP[0].xxxx\n\
         MOV OUT[0], TEMP[0]\n\
         MOV OUT[1].x, TEMP[1].xxxx",
    ));
    expect![[r#"
        ADD OUT[0] 4 lanes
        RCP OUT[1] 1 lanes
    "#]]
    .assert_eq(&homes(
        "ADD TEMP[0], IN[0], CONST[0]\n\
         RCP TEMP[1].x, IN[0].xxxx\n\
         MOV OUT[0], TEMP[0]\n\
         MOV OUT[1].x, TEMP[1].xxxx",
    ));
}
