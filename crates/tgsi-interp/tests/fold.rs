//! The interpreter's evaluation against the opcode table's, which folds constants.
//! They share no code, so where they agree both are probably right.

use tgsi::opcode::OPCODES;
use tgsi::{Dst, Eval, File, Inst, OpInfo, Opcode, Register, Span, Src, Ty};
use tgsi_interp::{Rules, eval_op, saturate, saturate64, written_mask};

const WORDS: [u32; 30] = [
    0,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_1234,
    0x7f80_0001,
    1,
    2,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4f7f_ffff,
    31,
    32,
    33,
    0x3ff0_0000,
    0xc010_0000,
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn word(&mut self) -> u32 {
        match self.next() % 4 {
            0 => WORDS[self.next() as usize % WORDS.len()],
            1 => self.next(),
            2 => self.next() % 40,
            _ => ((self.next() as f32 / u32::MAX as f32 - 0.5) * 32.0).to_bits(),
        }
    }

    /// A channel pair that is a double of a moderate size more often than not.
    fn pair(&mut self) -> [u32; 2] {
        let x = match self.next() % 4 {
            0 => return [self.word(), self.word()],
            1 => (f64::from(self.next() % 9) - 4.0).to_bits(),
            2 => u64::from(self.next() % 70),
            _ => ((f64::from(self.next()) / f64::from(u32::MAX) - 0.5) * 1e3).to_bits(),
        };
        [x as u32, (x >> 32) as u32]
    }

    fn vector(&mut self, ty: Ty) -> [u32; 4] {
        if !ty.is_wide() {
            return std::array::from_fn(|_| self.word());
        }
        let ([a, b], [c, d]) = (self.pair(), self.pair());
        [a, b, c, d]
    }
}

fn inst(info: &OpInfo, mask: u8, sat: bool) -> Inst {
    let span = Span::default();
    let src = |i: usize| Src {
        reg: Register::direct(File::In, i as i32),
        swizzle: tgsi::XYZW,
        abs: false,
        neg: false,
        span,
    };
    Inst {
        op: info.op,
        sat,
        precise: false,
        dsts: [Dst {
            reg: Register::direct(File::Temp, 0),
            mask,
            span,
        }]
        .into_iter()
        .collect(),
        srcs: (0..usize::from(info.srcs)).map(src).collect(),
        target: None,
        offsets: Default::default(),
        memory: None,
        label: None,
        span,
    }
}

/// Whether the definition leaves the result open for these words.
fn is_open(op: Opcode, srcs: &[[u32; 4]]) -> bool {
    let any = |test: &dyn Fn(usize) -> bool| (0..4).any(test);
    match op {
        Opcode::Ibfe | Opcode::Ubfe => any(&|c| srcs[1][c].saturating_add(srcs[2][c]) > 32),
        Opcode::Bfi => any(&|c| srcs[2][c].saturating_add(srcs[3][c]) > 32),
        _ => false,
    }
}

fn is_nan(word: u32) -> bool {
    f32::from_bits(word).is_nan()
}

fn is_wide_nan(words: &[u32; 4], c: usize) -> bool {
    f64::from_bits(u64::from(words[c & 2]) | u64::from(words[c & 2 | 1]) << 32).is_nan()
}

fn saturated(words: [u32; 4], wide: bool) -> [u32; 4] {
    if !wide {
        return words.map(saturate);
    }
    let half = |i: usize| saturate64(u64::from(words[i]) | u64::from(words[i + 1]) << 32);
    let (x, y) = (half(0), half(2));
    [x as u32, (x >> 32) as u32, y as u32, (y >> 32) as u32]
}

fn check(info: &OpInfo, random: &mut Random, differences: &mut Vec<String>) -> u32 {
    let mut compared = 0;
    for round in 0..600u32 {
        let mask = if round % 3 == 0 {
            0xf
        } else {
            (random.next() % 15 + 1) as u8
        };
        let sat = round % 7 == 0;
        let inst = inst(info, mask, sat);
        let srcs: Vec<[u32; 4]> = info.src_ty.iter().map(|t| random.vector(*t)).collect();
        if is_open(info.op, &srcs) {
            continue;
        }
        let folded = tgsi::eval::fold(&inst, &srcs).expect("the table has an evaluation");
        let mut mine = eval_op(info.op, &srcs, mask, Rules::default()).expect("an evaluation");
        if sat {
            mine = saturated(mine, info.dst_ty.is_wide());
        }
        let written = written_mask(info.op, mask);
        let theirs = folded.map(|w| w.unwrap_or(0));
        for c in 0..4usize {
            let writes = written >> c & 1 != 0;
            assert_eq!(
                writes,
                folded[c].is_some(),
                "{} mask {mask:#x} channel {c}",
                info.name
            );
            if !writes {
                continue;
            }
            compared += 1;
            let nan = match info.dst_ty {
                Ty::F | Ty::Any => is_nan(mine[c]) && is_nan(theirs[c]),
                Ty::D => is_wide_nan(&mine, c) && is_wide_nan(&theirs, c),
                _ => false,
            };
            if mine[c] != theirs[c] && !nan {
                differences.push(format!(
                    "{} {srcs:08x?} mask {mask:#x} channel {c}: interpreter {:08x}, table {:08x}",
                    info.name, mine[c], theirs[c]
                ));
            }
        }
    }
    compared
}

#[test]
fn the_table_agrees() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut differences = Vec::new();
    let (mut opcodes, mut words) = (0, 0);
    for info in OPCODES.iter().filter(|i| !matches!(i.eval, Eval::None)) {
        let before = differences.len();
        words += check(info, &mut random, &mut differences);
        opcodes += 1;
        differences.truncate(before + 3);
    }
    println!("{opcodes} opcodes, {words} words compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Every opcode with a destination and no effect is evaluated, here or by looking at other lanes.
#[test]
fn nothing_pure_is_missing() {
    let missing: Vec<&str> = OPCODES
        .iter()
        .filter(|i| i.dsts == 1 && matches!(i.effect, tgsi::Effect::Pure) && !i.quad)
        .filter(|i| {
            matches!(
                i.shape,
                tgsi::Shape::Comp | tgsi::Shape::Repl | tgsi::Shape::Dot(_) | tgsi::Shape::Chan
            )
        })
        .filter(|i| eval_op(i.op, &[[0; 4]; 4], 0xf, Rules::default()).is_none())
        .map(|i| i.name)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
