//! Every row against the counts and flags written down here once more.

use std::collections::BTreeSet;

use tgsi::opcode::OPCODES;
use tgsi::{Effect, Era, Eval, Opcode, Shape};

/// Destinations, sources and names of the opcodes that are still there.
const CURRENT: &[(u8, u8, &str)] = &[
    (
        0,
        0,
        "DEMOTE KILL CAL RET BRK ELSE ENDIF CONT BGNLOOP BGNSUB ENDLOOP ENDSUB NOP END DEFAULT ENDSWITCH BARRIER",
    ),
    (0, 1, "IF UIF EMIT ENDPRIM MEMBAR KILL_IF SWITCH CASE"),
    (1, 0, "CLOCK READ_HELPER"),
    (
        1,
        1,
        "ARL MOV LIT RCP RSQ EXP LOG SQRT F2U64 F2I64 FRC FLR ROUND EX2 LG2 U2I64 I2I64 COS DDX DDY PK2H PK2US PK4B \
         PK4UB D2U64 D2I64 SIN U642D UP2H UP2US UP4B UP4UB U642F I642F ARR I642D SSG FBFETCH DDX_FINE DDY_FINE CEIL I2F \
         NOT TRUNC BALLOT TXQS RESQ READ_FIRST F2I INEG F2U U2F UARL IABS ISSG IMG2HND SAMP2HND BREV POPC LSB IMSB UMSB \
         INTERP_CENTROID F2D D2F DABS DNEG DRCP DSQRT DFRAC D2I I2D D2U U2D DRSQ DTRUNC DCEIL DFLR DROUND DSSG VOTE_ANY \
         VOTE_ALL VOTE_EQ I64ABS I64SSG I64NEG",
    ),
    (
        1,
        2,
        "MUL ADD DP3 DP4 DST MIN MAX SLT SGE TEX_LZ LDEXP TXF_LZ POW SEQ SGT SLE SNE TEX TXP TXB DIV DP2 TXL READ_INVOC \
         SHL AND OR MOD XOR TXF TXQ FSEQ FSGE FSLT FSNE IDIV IMAX IMIN ISGE ISHR ISLT UADD UDIV UMAX UMIN UMOD UMUL USEQ \
         USGE USHR USLT USNE SAMPLE_I SVIEWINFO SAMPLE_POS SAMPLE_INFO LOAD STORE IMUL_HI UMUL_HI LODQ INTERP_SAMPLE \
         INTERP_OFFSET DADD DMUL DMAX DMIN DSLT DSGE DSEQ DSNE DLDEXP U64SEQ U64SNE I64SLT U64SLT I64SGE U64SGE I64MIN \
         U64MIN I64MAX U64MAX U64ADD U64MUL U64SHL I64SHR U64SHR I64DIV U64DIV I64MOD U64MOD DDIV",
    ),
    (
        1,
        3,
        "MAD LRP FMA CMP ATOMFADD DFMA UMAD SAMPLE SAMPLE_I_MS GATHER4 UCMP ATOMUADD ATOMXCHG ATOMAND ATOMOR ATOMXOR \
         ATOMUMIN ATOMUMAX ATOMIMIN ATOMIMAX TEX2 TXB2 TXL2 TG4 IBFE UBFE DMAD LOD ATOMINC_WRAP ATOMDEC_WRAP",
    ),
    (
        1,
        4,
        "TXD SAMPLE_B SAMPLE_C SAMPLE_C_LZ SAMPLE_L ATOMCAS BFI",
    ),
    (1, 5, "SAMPLE_D"),
];

/// The same for opcodes removed by 2014: they mark a program of the first era.
const FIRST: &[(u8, u8, &str)] = &[
    (0, 0, "ENDREP BRA"),
    (0, 1, "REP IFC"),
    (1, 0, "ENDFOR"),
    (
        1,
        1,
        "SWZ NOISE1 NOISE2 NOISE3 NOISE4 BGNFOR RCC NRM NRM4 ARA",
    ),
    (1, 2, "SHR LOAD_MS RESINFO SFL STR RFL"),
    (1, 3, "CND CND0 X2D"),
];

/// The same for opcodes removed later.
const LEGACY: &[(u8, u8, &str)] = &[
    (0, 1, "CALLNZ PUSHA BREAKC"),
    (1, 0, "POPA"),
    (1, 1, "ABS SCS TXQ_LZ"),
    (1, 2, "SUB XPD DPH"),
    (1, 3, "CLAMP DP2A SAD"),
    (2, 1, "DFRACEXP"),
];

#[test]
fn counts_and_eras() {
    let mut seen = BTreeSet::new();
    for (era, groups) in [
        (Era::Current, CURRENT),
        (Era::First, FIRST),
        (Era::Legacy, LEGACY),
    ] {
        for (dsts, srcs, names) in groups {
            for name in names.split_whitespace() {
                let info = super::opcode(name).info();
                assert_eq!(
                    (info.name, info.dsts, info.srcs, info.era),
                    (name, *dsts, *srcs, era)
                );
                seen.insert(name);
            }
        }
    }
    assert_eq!(seen.len(), OPCODES.len(), "an opcode is in the table only");
}

#[test]
fn rows_are_in_order_and_complete() {
    let mut names = BTreeSet::new();
    for (i, row) in OPCODES.iter().enumerate() {
        assert_eq!(row.op as usize, i, "{}", row.name);
        assert_eq!(row.op.info().name, row.name);
        assert!(
            !row.doc.is_empty() && !row.doc.ends_with('.'),
            "{}",
            row.name
        );
        assert_eq!(usize::from(row.srcs), row.src_ty.len(), "{}", row.name);
        for name in row.aliases.iter().chain([&row.name]) {
            assert!(names.insert(*name), "{name} twice");
            assert_eq!(Opcode::from_name(name), Some(row.op));
        }
    }
    assert_eq!(Opcode::from_name("KIL"), Some(Opcode::KillIf));
    assert_eq!(Opcode::from_name("KILP"), Some(Opcode::Kill));
    assert_eq!(Opcode::from_name("mov"), None);
}

#[test]
fn columns_agree_with_each_other() {
    for row in OPCODES {
        let wide = row.dst_ty.is_wide() || row.src_ty.iter().any(|t| t.is_wide());
        match row.eval {
            Eval::None => {}
            Eval::Word(_) => assert!(
                !wide && matches!(row.shape, Shape::Comp | Shape::Repl | Shape::Dot(_)),
                "{}",
                row.name
            ),
            Eval::Wide(_) => assert!(wide && row.shape == Shape::Comp, "{}", row.name),
            Eval::Vector(_) => assert!(!wide && row.shape == Shape::Chan, "{}", row.name),
        }
        if !matches!(row.eval, Eval::None) {
            assert!(
                row.effect == Effect::Pure && !row.quad && row.dsts == 1,
                "{}",
                row.name
            );
        }
        if row.dsts == 0 {
            assert_eq!(row.shape, Shape::None, "{}", row.name);
        }
    }
}

#[test]
fn effects_and_neighbours() {
    let names = |keep: &dyn Fn(&tgsi::OpInfo) -> bool| {
        OPCODES
            .iter()
            .filter(|r| keep(r))
            .map(|r| r.name)
            .collect::<BTreeSet<_>>()
    };
    let list = |text: &'static str| text.split_whitespace().collect::<BTreeSet<_>>();
    assert_eq!(
        names(&|r| r.effect == Effect::Write),
        list(
            "STORE BARRIER MEMBAR EMIT ENDPRIM KILL KILL_IF DEMOTE FBFETCH CLOCK PUSHA POPA ATOMFADD ATOMUADD ATOMXCHG \
             ATOMCAS ATOMAND ATOMOR ATOMXOR ATOMUMIN ATOMUMAX ATOMIMIN ATOMIMAX ATOMINC_WRAP ATOMDEC_WRAP"
        )
    );
    assert_eq!(
        names(&|r| r.effect == Effect::Read),
        list("LOAD READ_HELPER")
    );
    assert_eq!(
        names(&|r| r.quad),
        list(
            "TEX TXB TXP TEX2 TXB2 DDX DDY DDX_FINE DDY_FINE LODQ INTERP_CENTROID INTERP_SAMPLE INTERP_OFFSET SAMPLE \
             SAMPLE_B SAMPLE_C LOD VOTE_ANY VOTE_ALL VOTE_EQ BALLOT READ_INVOC READ_FIRST"
        )
    );
    assert_eq!(
        names(&|r| r.effect == Effect::Flow),
        list(
            "CAL RET BRK IF UIF ELSE ENDIF CONT BGNLOOP BGNSUB ENDLOOP ENDSUB END SWITCH CASE DEFAULT ENDSWITCH REP ENDREP \
             BGNFOR ENDFOR IFC BRA CALLNZ BREAKC"
        )
    );
}
