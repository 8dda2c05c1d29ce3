//! Planted faults: what the check lets pass must not change what the program computes.

use std::path::Path;

use tgsi::{AddrReg, File, Index, Item, Opcode, Program, Register};
use tgsi_interp::equiv::{EquivOptions, compare};
use tgsi_ir::layout::layout;
use tgsi_ir::lift;
use tgsi_pack::lir;
use tgsi_pack::pack::{PackOptions, pack};
use tgsi_pack::sched::{Scheduler, Strategy};
use tgsi_pack::webs::{WebOptions, settle_undefined, webs};

use super::super::lines::Line;
use super::super::{Draft, LowerOptions, Lowering};

/// Calls `f` with the lowering of each program in some folders, packed as the source has it.
fn each_program(mut f: impl FnMut(&str, Lowering<'_>)) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    for folder in ["corpus", "cases/flow", "cases/regress", "cases/eras"] {
        let files = std::fs::read_dir(tests.join(folder)).expect("a folder");
        let mut paths: Vec<_> = files.map(|f| f.expect("a file").path()).collect();
        paths.sort();
        paths.retain(|p| p.extension().is_some_and(|e| e == "tgsi"));
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a program");
            // What is not lowered here comes back as it was.
            let _ = lowered(&text, &mut |low| f(&path.display().to_string(), low));
        }
    }
}

/// Calls `f` with the lowering of a program, or says why there is none.
fn lowered(text: &str, f: &mut dyn FnMut(Lowering<'_>)) -> Result<(), String> {
    let (input, _) = tgsi::parse(text);
    let function = lift(&input).map_err(|e| e.to_string())?;
    let l = layout(&function);
    let mut lir = lir::build(&function, &l, true);
    let options = WebOptions {
        no_int_outputs: false,
        whole_outputs: &[],
    };
    let w = webs(&lir, &l, options);
    settle_undefined(&mut lir, &w);
    let options = PackOptions {
        level_limit: None,
        whole_outputs: &[],
        seed: 0,
        reach: u32::MAX,
        virgl: false,
        plain_coordinates: false,
        mix: Some(function.zero_wins),
        addresses: super::super::address_registers(&input),
        indexed_reads: u32::MAX,
    };
    let p = pack(&function, &lir, &w, &options);
    let order = Scheduler::new(&p).schedule(Strategy::Late);
    let options = LowerOptions::default();
    let low = Draft::new(&function, &l, &p, &order, &input, options)
        .and_then(|draft| draft.allocate(None));
    let low = low.map_err(|e| e.to_string())?;
    f(low.ok_or("no room")?);
    Ok(())
}

/// Faults of one kind.
#[derive(Default)]
struct Tally {
    caught: u32,
    harmless: u32,
}

impl Tally {
    /// A fault that is not caught must not change what the program computes.
    fn note(&mut self, low: &Lowering<'_>, right: &Program, wrong: &Program) {
        if low.check(wrong).is_err() {
            self.caught += 1;
            return;
        }
        self.harmless += 1;
        let options = EquivOptions {
            cases: 4,
            ..EquivOptions::default()
        };
        let report = compare(right, wrong, &options);
        let text = |p| tgsi::print(p, &tgsi::Dialect::mesa());
        assert!(report.is_equal(), "{}{}", text(right), text(wrong));
    }

    fn told(&self, what: &str) {
        let Tally { caught, harmless } = self;
        println!("{what}: {caught} caught, {harmless} without effect");
        assert!(*caught > 300, "{what}: {caught}");
    }
}

/// Whether a register holds words.
fn words(reg: &Register) -> bool {
    reg.file == File::Temp && !reg.is_indirect()
}

#[test]
fn faults_of_printing_are_caught() {
    let mut tallies: [Tally; 4] = Default::default();
    let [registers, swizzles, targets, masks] = &mut tallies;
    each_program(|name, low| {
        let Ok(right) = low.print() else { return };
        assert_eq!(low.check(&right), Ok(()), "{name}");
        let outside = low.assignment.temps as i32;
        let mut wrong = right.clone();
        for (i, inst) in right.insts.iter().enumerate() {
            for (k, src) in inst.srcs.iter().enumerate() {
                if !words(&src.reg) {
                    continue;
                }
                wrong.insts[i].srcs[k].reg.index.base = outside;
                registers.note(&low, &right, &wrong);
                wrong.insts[i].srcs[k] = *src;
                let swizzle = &mut wrong.insts[i].srcs[k].swizzle;
                swizzle.iter_mut().for_each(|c| *c = (*c + 1) % 4);
                swizzles.note(&low, &right, &wrong);
                wrong.insts[i].srcs[k] = *src;
            }
            for (k, dst) in inst.dsts.iter().enumerate() {
                if !words(&dst.reg) {
                    continue;
                }
                wrong.insts[i].dsts[k].reg.index.base = outside;
                targets.note(&low, &right, &wrong);
                wrong.insts[i].dsts[k] = *dst;
                if dst.mask != 0xf {
                    wrong.insts[i].dsts[k].mask = dst.mask << 1 & 0xf | dst.mask >> 3;
                    masks.note(&low, &right, &wrong);
                    wrong.insts[i].dsts[k] = *dst;
                }
            }
        }
    });
    let names = [
        "registers read",
        "swizzles",
        "registers written",
        "write masks",
    ];
    names
        .iter()
        .zip(&tallies)
        .for_each(|(name, t)| t.told(name));
}

#[test]
fn faults_of_places_are_caught() {
    let mut tally = Tally::default();
    each_program(|_, mut low| {
        let Ok(right) = low.print() else { return };
        let place = low.assignment.place.clone();
        // Each register where the next one is.
        for (i, next) in (0..place.len()).zip(1..).take(60) {
            low.assignment.place[i].temp = place[next % place.len()].temp;
            if low.assignment.place[i] != place[i]
                && let Ok(wrong) = low.print()
            {
                tally.note(&low, &right, &wrong);
            }
            low.assignment.place[i] = place[i];
        }
    });
    tally.told("places");
}

#[test]
fn a_refused_allocation_gives_the_input() {
    let (program, _) = tgsi::parse(
        "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL OUT[0], COLOR\nDCL TEMP[0..1]\n\
         MOV TEMP[0], IN[0]\nADD TEMP[1], TEMP[0], TEMP[0]\nMUL OUT[0], TEMP[1], TEMP[1]\nEND\n",
    );
    for level in [crate::Level::O1, crate::Level::O2, crate::Level::O3] {
        let options = crate::Options {
            level,
            check_regalloc: true,
            ..crate::Options::default()
        };
        assert!(!crate::optimize(&program, &options).unchanged);
        super::REFUSES.set(true);
        let outcome = crate::optimize(&program, &options);
        super::REFUSES.set(false);
        let fallback = outcome.fallback.map(|f| (f.kind, f.stage));
        let wanted = (crate::FallbackKind::Unverified, "lower".to_owned());
        assert_eq!(fallback, Some(wanted));
        assert!(outcome.unchanged && outcome.program == program);
    }
}

/// Programs with all that an operand can be, a few instructions each.
const SMALL: &[&str] = &[
    // Immediates, inputs, signs, saturation, masks.
    "FRAG\nDCL IN[0..1], GENERIC[0]\nDCL OUT[0], COLOR\nDCL CONST[0..3]\nDCL TEMP[0..2]\nIMM[0] FLT32 {0.5, 2.0, 3.0, -1.0}\n\
     MAD_SAT TEMP[0].xyz, IN[0], -CONST[1].yzxw, |IN[1].wwww|\nDP3 TEMP[1].x, TEMP[0], IN[1]\nMUL TEMP[1].yz, TEMP[0].xxyy, IMM[0].xyzw\n\
     MIN TEMP[2].x, -TEMP[1].xxxx, TEMP[0].zzzz\nADD OUT[0].xyz, TEMP[1].xyzz, TEMP[2].xxxx\nMOV OUT[0].w, IMM[0].wwww\nEND\n",
    // Branches, loops, CONT and a switch that falls through.
    "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL TEMP[0..4]\nIMM[0] UINT32 {0, 1, 3, 7}\n\
     MOV TEMP[0].x, IMM[0].xxxx\nMOV TEMP[1], IN[0]\nBGNLOOP\nUSGE TEMP[0].y, TEMP[0].xxxx, IMM[0].wwww\nUIF TEMP[0].yyyy\nBRK\nENDIF\n\
     UADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nAND TEMP[0].z, TEMP[0].xxxx, IMM[0].yyyy\nUIF TEMP[0].zzzz\nADD TEMP[1].x, TEMP[1].xxxx, IN[0].yyyy\nCONT\nENDIF\n\
     MUL TEMP[1].xyz, TEMP[1].xyzz, TEMP[1].zxyy\nENDLOOP\n\
     SWITCH IN[0].xxxx\nCASE IMM[0].xxxx\nMOV TEMP[1].y, IN[0].wwww\nCASE IMM[0].yyyy\nADD TEMP[1].y, TEMP[1].yyyy, TEMP[1].zzzz\nBRK\nDEFAULT\nMOV TEMP[1].z, IN[0].yyyy\nENDSWITCH\n\
     IF IN[0].zzzz\nMOV TEMP[2].x, TEMP[1].yyyy\nELSE\nADD TEMP[2].x, TEMP[1].zzzz, TEMP[1].xxxx\nENDIF\n\
     MOV OUT[0].x, TEMP[2].xxxx\nMOV OUT[0].yzw, TEMP[1].xyzx\nEND\n",
    // Addresses of constants, in either bracket, and of inputs.
    "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL OUT[1], GENERIC[0]\nDCL CONST[0][0..15]\nDCL CONST[1][0..15]\nDCL TEMP[0..2]\nDCL ADDR[0..1]\nIMM[0] UINT32 {0, 1, 3, 7}\n\
     AND TEMP[0].xyz, IN[0].xyzz, IMM[0].wwwy\nUARL ADDR[0].x, TEMP[0].xxxx\nMOV TEMP[1], CONST[0][ADDR[0].x+2]\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\n\
     UARL ADDR[0].x, TEMP[0].xxxx\nMUL TEMP[1], TEMP[1], CONST[1][ADDR[0].x+1]\nUARL ADDR[1].x, TEMP[0].yyyy\nADD TEMP[1].xy, TEMP[1].xyyy, CONST[0][ADDR[1].x].zwww\n\
     MOV OUT[0], TEMP[1]\nMOV OUT[1].xy, TEMP[0].xyyy\nEND\n",
    // An address of what a loop counts, before it, in it and behind it.
    "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL CONST[0..31]\nDCL TEMP[0..2]\nDCL ADDR[0]\nIMM[0] UINT32 {0, 1, 3, 7}\n\
     AND TEMP[0].x, IN[0].xxxx, IMM[0].zzzz\nUARL ADDR[0].x, TEMP[0].xxxx\nMUL TEMP[1], IN[0], CONST[ADDR[0].x]\nBGNLOOP\nUSGE TEMP[0].y, TEMP[0].xxxx, IMM[0].wwww\nUIF TEMP[0].yyyy\nBRK\nENDIF\n\
     UARL ADDR[0].x, TEMP[0].xxxx\nADD TEMP[1], TEMP[1], CONST[ADDR[0].x+1]\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nUARL ADDR[0].x, TEMP[0].xxxx\nMAX TEMP[1].xy, TEMP[1].xyyy, CONST[ADDR[0].x+5]\nENDLOOP\n\
     UARL ADDR[0].x, TEMP[0].xxxx\nMUL OUT[0], TEMP[1], CONST[ADDR[0].x+9]\nEND\n",
    // Arrays that are memory.
    "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL TEMP[0..1]\nDCL TEMP[2..5], ARRAY(1), LOCAL\nDCL TEMP[6..8], ARRAY(2), LOCAL\nDCL ADDR[0..1]\nIMM[0] UINT32 {0, 1, 2, 3}\n\
     MOV TEMP[2], IN[0]\nMOV TEMP[3].xy, IN[0].zwww\nMOV TEMP[6], IN[0].wzyx\nMOV TEMP[7].z, IN[0].xxxx\nAND TEMP[0].xy, IN[0].xyyy, IMM[0].yzzz\nUARL ADDR[0].x, TEMP[0].xxxx\n\
     MUL TEMP[ADDR[0].x+2](1).yz, IN[0].xxyy, IN[0].wwww\nMOV TEMP[1], TEMP[ADDR[0].x+3](1)\nUARL ADDR[0].x, TEMP[0].yyyy\nMOV TEMP[ADDR[0].x+6](2).x, TEMP[1].yyyy\n\
     ADD TEMP[0].x, TEMP[ADDR[0].x+6](2).xxxx, TEMP[6].yyyy\nMOV OUT[0].x, TEMP[0].xxxx\nMOV OUT[0].yzw, TEMP[3].xyzz\nEND\n",
    // Fetches with offsets, indexed samplers, two results, 64 bits, KILL_IF.
    "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0], COLOR\nDCL SAMP[0..3]\nDCL SVIEW[0..3], 2D, FLOAT\nDCL TEMP[0..4]\nDCL ADDR[0]\nIMM[0] INT32 {1, -1, 0, 2}\n\
     KILL_IF -IN[0].xxyy\nTEX TEMP[0], IN[0].yxxx, SAMP[0], 2D, IMM[0].xyz\nAND TEMP[1].x, IN[0].zzzz, IMM[0].xxxx\nUARL ADDR[0].x, TEMP[1].xxxx\n\
     TXL TEMP[1].xw, TEMP[0], SAMP[ADDR[0].x+1], 2D\nTXF TEMP[2].yz, TEMP[1].xwxx, SAMP[3], 2D, IMM[0].yyx\nDMUL TEMP[3].zw, TEMP[0].zwxy, IN[0].xyzw\nDFRACEXP TEMP[3].xy, TEMP[4].x, TEMP[3].zwzw\n\
     D2F TEMP[1].y, TEMP[3].xyxy\nI2F TEMP[1].z, TEMP[4].xxxx\nADD OUT[0].xy, TEMP[1].xyyy, TEMP[2].yzzz\nMOV OUT[0].zw, TEMP[1].zzww\nEND\n",
    // Buffers, images, atomics, shared memory.
    "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 4\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0], THREAD_ID\nDCL BUFFER[0..2]\nDCL IMAGE[0], 2D, PIPE_FORMAT_R32_UINT, WR\nDCL TEMP[0..4]\nDCL ADDR[0]\nIMM[0] UINT32 {0, 1, 4, 8}\n\
     UMUL TEMP[0].xy, SV[0].xyyy, IMM[0].zwww\nLOAD TEMP[1].xyz, BUFFER[0], TEMP[0].xxxx\nATOMUADD TEMP[2].x, BUFFER[1], TEMP[0].yyyy, TEMP[1].zzzz\nUADD TEMP[1].xy, TEMP[1].xyyy, TEMP[2].xxxx\n\
     AND TEMP[3].x, TEMP[1].xxxx, IMM[0].yyyy\nUARL ADDR[0].x, TEMP[3].xxxx\nSTORE BUFFER[ADDR[0].x+1].xy, TEMP[0].xxxx, TEMP[1].yxxx\n\
     ATOMCAS TEMP[4].x, BUFFER[2], TEMP[0].xxxx, TEMP[1].xxxx, TEMP[2].xxxx\nSTORE IMAGE[0], TEMP[0].xyyy, TEMP[4].xxxx, 2D\nEND\n",
    // Outputs that are read back, and words that nothing writes.
    "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nDCL OUT[1..2], ARRAY(1), GENERIC[0]\nDCL TEMP[0..1]\nDCL ADDR[0]\nIMM[0] UINT32 {0, 1, 2, 3}\n\
     AND TEMP[0].x, IN[0].xxxx, IMM[0].yyyy\nUARL ADDR[0].x, TEMP[0].xxxx\nMOV OUT[1], IN[0]\nMOV OUT[2], IN[0].wzyx\nMOV OUT[ADDR[0].x+1](1).xy, IN[0].zwww\n\
     UIF IN[0].yyyy\nMOV TEMP[1].x, IN[0].zzzz\nENDIF\nADD TEMP[1].y, TEMP[1].xxxx, IN[0].wwww\nMOV OUT[0].xy, TEMP[1].xyyy\nMOV OUT[0].zw, IN[0].xyxy\nEND\n",
    // Predicated ways out, and a value that outlives a loop.
    "FRAG\nDCL IN[0], GENERIC[0]\nDCL OUT[0..1], COLOR\nDCL TEMP[0..3]\n\
     MUL TEMP[0], IN[0], IN[0].wzyx\nBGNLOOP\nADD TEMP[1], TEMP[1], TEMP[0]\nIF TEMP[1].xxxx\nMOV OUT[0], TEMP[1]\nRET\nENDIF\nIF TEMP[1].yyyy\nBRK\nENDIF\nMAX TEMP[0].xy, TEMP[0].yxxx, TEMP[1].zwww\nENDLOOP\n\
     MOV OUT[0], TEMP[0]\nMOV OUT[1], TEMP[1].wzyx\nEND\n",
];

/// Opcodes that take each other's place.
const SIBLINGS: [(Opcode, Opcode); 14] = {
    use Opcode::*;
    [
        (Add, Mul),
        (Min, Max),
        (Mad, Lrp),
        (Uadd, Umul),
        (And, Or),
        (Dp3, Dp4),
        (Brk, Cont),
        (Else, Endif),
        (Case, Default),
        (Uif, If),
        (Uarl, Mov),
        (Tex, Txl),
        (Usge, Uslt),
        (Ret, Brk),
    ]
};

/// Every program with one slip in its print.
fn slips(right: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        if wrong != *right {
            all.push(wrong);
        }
    };
    for i in 0..right.insts.len() {
        add(&|p| drop(p.insts.remove(i)));
        add(&|p| p.insts.insert(i, p.insts[i].clone()));
        add(&|p| p.insts[i].sat ^= true);
        for (a, b) in SIBLINGS {
            add(&|p| {
                let op = &mut p.insts[i].op;
                *op = match *op {
                    o if o == a => b,
                    o if o == b => a,
                    o => o,
                };
            });
        }
        for k in 0..right.insts[i].srcs.len() {
            for slip in &REGISTER_SLIPS {
                add(&|p| slip(&mut p.insts[i].srcs[k].reg));
            }
            for c in 0..4 {
                for by in 1..4 {
                    add(&|p| {
                        let chan = &mut p.insts[i].srcs[k].swizzle[c];
                        *chan = (*chan + by) % 4;
                    });
                }
            }
            add(&|p| p.insts[i].srcs[k].neg ^= true);
            add(&|p| p.insts[i].srcs[k].abs ^= true);
            add(&|p| {
                p.insts[i].srcs.remove(k);
            });
        }
        for k in 0..right.insts[i].dsts.len() {
            for slip in &REGISTER_SLIPS {
                add(&|p| slip(&mut p.insts[i].dsts[k].reg));
            }
            for c in 0..4 {
                add(&|p| p.insts[i].dsts[k].mask ^= 1 << c);
            }
            add(&|p| {
                p.insts[i].dsts.remove(k);
            });
        }
        for k in 0..right.insts[i].offsets.len() {
            for slip in &REGISTER_SLIPS {
                add(&|p| slip(&mut p.insts[i].offsets[k].reg));
            }
            for c in 0..3 {
                add(&|p| {
                    let chan = &mut p.insts[i].offsets[k].swizzle[c];
                    *chan = (*chan + 1) % 4;
                });
            }
            add(&|p| {
                p.insts[i].offsets.remove(k);
            });
        }
    }
    for i in 0..right.header.len() {
        for c in 0..4 {
            add(&|p| {
                if let Item::Imm(imm) = &mut p.header[i] {
                    imm.words[c] ^= 1;
                }
            });
        }
    }
    all
}

/// What can be wrong with a register.
const REGISTER_SLIPS: [fn(&mut Register); 13] = [
    |r| {
        if r.file == File::Out {
            r.file = File::Temp;
            r.index.base += 1 << 24;
        }
    },
    |r| r.index.base += 1,
    |r| r.index.base -= 1,
    |r| r.index.base += 7,
    |r| r.index.array ^= 3,
    |r| {
        if let Some(a) = &mut r.index.addr {
            a.comp = (a.comp + 1) % 4;
        }
    },
    |r| {
        if let Some(a) = &mut r.index.addr {
            a.index += 1;
        }
    },
    |r| {
        if let Some(a) = &mut r.index.addr {
            a.file = File::Temp;
        }
    },
    |r| r.index.addr = None,
    |r| {
        r.index.addr = Some(AddrReg {
            file: File::Addr,
            index: 0,
            comp: 0,
        });
    },
    |r| {
        if let Some(d) = &mut r.dim {
            d.base += 1;
        }
    },
    |r| {
        r.dim = match r.dim {
            Some(_) => None,
            None => Some(Index::direct(0)),
        };
    },
    |r| {
        r.file = match r.file {
            File::Temp => File::In,
            File::In => File::Temp,
            File::Const => File::In,
            File::Imm => File::Const,
            File::Addr => File::Temp,
            File::Samp => File::Image,
            other => other,
        };
    },
];

#[test]
fn slips_in_small_programs_are_caught() {
    let (mut caught, mut harmless) = (0, 0);
    for text in SMALL {
        let done = lowered(text, &mut |low| {
            let right = low.print().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(low.check(&right), Ok(()), "{text}");
            for wrong in slips(&right) {
                if low.check(&wrong).is_err() {
                    caught += 1;
                    continue;
                }
                harmless += 1;
                let options = EquivOptions {
                    cases: 4,
                    ..EquivOptions::default()
                };
                let report = compare(&right, &wrong, &options);
                let text = |p| tgsi::print(p, &tgsi::Dialect::mesa());
                assert!(
                    report.is_equal(),
                    "{}{}{report:?}",
                    text(&right),
                    text(&wrong)
                );
            }
        });
        assert_eq!(done, Ok(()), "{text}");
    }
    println!("{caught} caught, {harmless} without effect");
    assert!(caught > 2000, "{caught}");
}

#[test]
fn no_word_stands_in_an_array() {
    let mut tried = 0;
    for text in SMALL {
        let done = lowered(text, &mut |mut low| {
            let arrays = low.f.arrays.iter().zip(&low.assignment.array_base);
            let temps: Vec<u32> = arrays
                .flat_map(|(a, &base)| base..base + (a.1 - a.0 + 1) as u32)
                .collect();
            for i in 0..low.assignment.place.len() {
                let right = low.assignment.place[i];
                for &temp in &temps {
                    low.assignment.place[i].temp = temp;
                    let wrong = low.print().unwrap_or_else(|e| panic!("{e}"));
                    assert!(low.check(&wrong).is_err(), "word {i} in TEMP[{temp}]");
                    tried += 1;
                }
                low.assignment.place[i] = right;
            }
        });
        assert_eq!(done, Ok(()), "{text}");
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn arrays_stand_apart() {
    let mut tried = 0;
    for text in SMALL {
        let done = lowered(text, &mut |mut low| {
            for i in 1..low.assignment.array_base.len() {
                let right = low.assignment.array_base.clone();
                let before = &low.f.arrays[i - 1];
                low.assignment.array_base[i] = right[i - 1] + (before.1 - before.0) as u32;
                let wrong = low.print().unwrap_or_else(|e| panic!("{e}"));
                let found = low.check(&wrong).map_err(|e| e.to_string());
                assert!(found.is_err_and(|e| e.contains("share a temporary")));
                low.assignment.array_base = right;
                tried += 1;
            }
        });
        assert_eq!(done, Ok(()), "{text}");
    }
    assert!(tried > 0, "no arrays");
}

#[test]
fn an_address_that_is_not_loaded_again_is_old() {
    let (mut caught, mut harmless) = (0, 0);
    for text in SMALL {
        let done = lowered(text, &mut |mut low| {
            let right = low.print().unwrap_or_else(|e| panic!("{e}"));
            for i in 0..low.lines.lines.len() {
                if !matches!(low.lines.lines[i], Line::Load { .. }) {
                    continue;
                }
                let load = low.lines.lines.remove(i);
                let wrong = low.print().unwrap_or_else(|e| panic!("{e}"));
                if low.check(&wrong).is_err() {
                    caught += 1;
                } else {
                    harmless += 1;
                    let report = compare(&right, &wrong, &EquivOptions::default());
                    let text = |p| tgsi::print(p, &tgsi::Dialect::mesa());
                    assert!(report.is_equal(), "{}{}", text(&right), text(&wrong));
                }
                low.lines.lines.insert(i, load);
            }
        });
        assert_eq!(done, Ok(()), "{text}");
    }
    println!("{caught} caught, {harmless} without effect");
    assert!(caught > 10, "{caught}");
}

#[test]
fn there_is_an_instruction_for_each_line() {
    let done = lowered(SMALL[0], &mut |low| {
        let right = low.print().unwrap_or_else(|e| panic!("{e}"));
        let told = |change: &dyn Fn(&mut Program)| {
            let mut wrong = right.clone();
            change(&mut wrong);
            let found = low.check(&wrong).expect_err("a fault");
            found.to_string()
        };
        for change in [
            &(|p: &mut Program| p.insts.push(p.insts[0].clone())) as &dyn Fn(&mut Program),
            &|p| p.insts.push(p.insts[p.insts.len() - 1].clone()),
            &|p| p.insts.iter_mut().last().expect("END").op = Opcode::Ret,
            &|p| p.insts.truncate(p.insts.len() - 1),
        ] {
            let text = told(change);
            assert!(text.contains("more instructions than lines"), "{text}");
        }
        let text = told(&|p| p.insts.truncate(p.insts.len() - 2));
        assert!(text.contains("instructions are missing"), "{text}");
    });
    assert_eq!(done, Ok(()));
}
