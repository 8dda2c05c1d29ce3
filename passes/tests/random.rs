//! Random programs, dense in the operands that identities look for, through every pass.

mod oracle;

use std::fmt::Write;

use tgsi_ir::{Function, lift};
use tgsi_passes::{PASSES, PassCx, egraph, run_pass};
use tgsi_rules::Profile;

/// Programs a test run makes; `TGSI_RANDOM` gives another number.
const PROGRAMS: u64 = 400;

/// Inputs of each comparison.
const SEEDS: u64 = 6;

/// A generator of its own, so that programs are the same everywhere.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const FLOAT2: &[&str] = &[
    "ADD", "MUL", "MIN", "MAX", "SLT", "SGE", "SEQ", "SNE", "SGT", "SLE", "DIV", "DP2", "DP3",
    "DP4", "DST",
];
const FLOAT3: &[&str] = &["MAD", "CMP", "LRP", "FMA"];
const FLOAT1: &[&str] = &[
    "MOV", "FLR", "CEIL", "TRUNC", "ROUND", "FRC", "SSG", "RCP", "SQRT", "EX2", "LIT",
];
const SET: &[&str] = &[
    "FSLT", "FSGE", "FSEQ", "FSNE", "USEQ", "USNE", "USLT", "USGE", "ISLT", "ISGE",
];
const INT2: &[&str] = &[
    "AND", "OR", "XOR", "UADD", "UMUL", "SHL", "USHR", "ISHR", "UMIN", "UMAX", "IMIN", "IMAX",
    "UDIV", "IDIV", "UMOD", "MOD",
];
const INT1: &[&str] = &["NOT", "INEG", "IABS", "I2F", "U2F", "F2I", "F2U", "ISSG"];
const INT3: &[&str] = &["UCMP", "UMAD"];
const SWIZZLES: &[&str] = &["xxxx", "yyyy", "zzzz", "wwww", "xyzw", "yxwz", "zzxy"];
const MASKS: &[&str] = &["", ".x", ".y", ".xy", ".zw", ".xyz", ".w"];
/// Registers that the text uses as TEMP.
const TEMPS: usize = 6;

struct Gen {
    rng: Rng,
    text: String,
    arrays: bool,
    loops: usize,
    budget: usize,
}

impl Gen {
    fn source(&mut self, float: bool) -> String {
        let reg = match self.rng.below(10) {
            0..=5 => format!("TEMP[{}]", self.rng.below(TEMPS)),
            6 => format!("IN[{}]", self.rng.below(2)),
            7 => format!("CONST[{}]", self.rng.below(2)),
            _ => format!("IMM[{}]", self.rng.below(4)),
        };
        let reg = format!("{reg}.{}", self.rng.pick(SWIZZLES));
        match self.rng.below(8) {
            0 => format!("-{reg}"),
            1 if float => format!("|{reg}|"),
            2 if float => format!("-|{reg}|"),
            _ => reg,
        }
    }

    fn line(&mut self, s: &str) {
        self.text.push_str(s);
        self.text.push('\n');
    }

    fn inst(&mut self) {
        let (list, sources, float) = match self.rng.below(11) {
            0..=2 => (FLOAT2, 2, true),
            3 => (FLOAT3, 3, true),
            4 => (FLOAT1, 1, true),
            5 | 6 => (SET, 2, false),
            7 => (INT2, 2, false),
            8 => (INT1, 1, false),
            9 => (INT3, 3, false),
            _ => return self.special(),
        };
        let op = self.rng.pick(list);
        let float_sources =
            float || matches!(op, "FSLT" | "FSGE" | "FSEQ" | "FSNE" | "F2I" | "F2U");
        let sat = if float && self.rng.chance(12) {
            "_SAT"
        } else {
            ""
        };
        let precise = if float && self.rng.chance(8) {
            "_PRECISE"
        } else {
            ""
        };
        let mut s = format!(
            "{op}{sat}{precise} TEMP[{}]{}",
            self.rng.below(TEMPS),
            self.rng.pick(MASKS)
        );
        for _ in 0..sources {
            let _ = write!(s, ", {}", self.source(float_sources));
        }
        self.line(&s);
    }

    fn special(&mut self) {
        let t = self.rng.below(TEMPS);
        let mask = self.rng.pick(MASKS);
        let s = match self.rng.below(if self.arrays { 8 } else { 4 }) {
            0 => format!(
                "TEX TEMP[{t}]{mask}, {}, SAMP[0], 2D",
                ["IN[0]", "TEMP[1]", "IN[1].yxxx"][self.rng.below(3)]
            ),
            1 => format!(
                "TXL TEMP[{t}]{mask}, TEMP[{}], SAMP[1], 2D",
                self.rng.below(TEMPS)
            ),
            2 => format!("KILL_IF {}", self.source(true)),
            3 => format!(
                "STORE BUFFER[0].x, {}, {}",
                "IMM[1].xxxx",
                self.source(false)
            ),
            4 => format!(
                "MOV TEMP[{}]{mask}, {}",
                10 + self.rng.below(3),
                self.source(true)
            ),
            5 => format!("MOV TEMP[{t}]{mask}, TEMP[{}]", 10 + self.rng.below(3)),
            6 => format!("MOV TEMP[ADDR[0].x+10](1){mask}, {}", self.source(true)),
            _ => format!(
                "MOV TEMP[{t}]{mask}, TEMP[ADDR[0].x+{}](1)",
                10 + self.rng.below(2)
            ),
        };
        self.line(&s);
        if self.arrays && self.rng.chance(20) {
            // 0 or 1, so that every access stays in the array.
            let t = self.rng.below(TEMPS);
            self.line(&format!("AND TEMP[7].x, TEMP[{t}].xxxx, IMM[1].yyyy"));
            self.line("UARL ADDR[0].x, TEMP[7].xxxx");
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.rng.below(6) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.rng.below(12) {
                0 | 1 if depth < 4 => {
                    let kind = self.rng.pick(&["IF", "UIF"]);
                    let cond = self.source(kind == "IF");
                    self.line(&format!("{kind} {cond} :0"));
                    self.block(depth + 1);
                    if self.rng.chance(60) {
                        self.line("ELSE :0");
                        self.block(depth + 1);
                    }
                    if self.rng.chance(6) && self.loops > 0 {
                        let leave = self.rng.pick(&["BRK", "CONT"]);
                        self.line(leave);
                    }
                    if self.rng.chance(3) {
                        self.line("RET");
                    }
                    self.line("ENDIF");
                }
                2 if depth < 3 => self.looped(depth),
                _ => self.inst(),
            }
        }
    }

    /// A loop with a counter that surely ends.
    fn looped(&mut self, depth: usize) {
        let n = self.loops;
        self.loops += 1;
        self.line(&format!("MOV TEMP[{}].x, IMM[0].xxxx", 20 + n));
        self.line("BGNLOOP :0");
        self.line(&format!(
            "USGE TEMP[8].x, TEMP[{}].xxxx, IMM[1].wwww",
            20 + n
        ));
        self.line("UIF TEMP[8].xxxx :0");
        self.line("BRK");
        self.line("ENDIF");
        self.line(&format!(
            "UADD TEMP[{0}].x, TEMP[{0}].xxxx, IMM[1].yyyy",
            20 + n
        ));
        self.block(depth + 1);
        if self.rng.chance(10) {
            self.line("BRK");
        }
        self.line("ENDLOOP :0");
        self.loops -= 1;
    }
}

fn program(seed: u64) -> String {
    let mut g = Gen {
        rng: Rng(seed),
        text: String::new(),
        arrays: seed.is_multiple_of(3),
        loops: 0,
        budget: 40,
    };
    for line in [
        "FRAG",
        "DCL IN[0], GENERIC[0], PERSPECTIVE",
        "DCL IN[1], GENERIC[1], PERSPECTIVE",
        "DCL OUT[0], COLOR",
        "DCL OUT[1], COLOR[1]",
        "DCL CONST[0][0..1]",
        "DCL SAMP[0]",
        "DCL SAMP[1]",
        "DCL BUFFER[0]",
        "DCL TEMP[0..9], LOCAL",
        "DCL TEMP[10..12], ARRAY(1), LOCAL",
        "DCL TEMP[20..30], LOCAL",
        "DCL ADDR[0]",
        "IMM[0] UINT32 {0, 1065353216, 2147483648, 3212836864}",
        "IMM[1] UINT32 {4, 1, 4294967295, 3}",
        "IMM[2] FLT32 {0.5, 2.0, -3.0, 0.25}",
        "IMM[3] UINT32 {31, 2, 16, 2139095040}",
    ] {
        g.line(line);
    }
    if g.arrays {
        g.line("UARL ADDR[0].x, IMM[1].yyyy");
    }
    // One program in five reads unwritten words.
    let written = if seed.is_multiple_of(5) { 3 } else { TEMPS };
    for t in 0..written {
        let s = [
            "IMM[3]",
            "IN[0]",
            "CONST[0].yxwz",
            "IMM[2].zzxy",
            "IN[1].xxyy",
            "IMM[0]",
        ][g.rng.below(6)];
        g.line(&format!("MOV TEMP[{t}], {s}"));
    }
    for t in [7, 8, 20, 21, 22, 23]
        .into_iter()
        .filter(|_| written == TEMPS)
    {
        g.line(&format!("MOV TEMP[{t}], IMM[0].xxxx"));
    }
    let all = g.arrays && written == TEMPS;
    for t in (10..13).filter(|_| all) {
        g.line(&format!("MOV TEMP[{t}], IN[0].wzyx"));
    }
    while g.budget > 0 {
        g.block(0);
    }
    g.line("MOV OUT[0], TEMP[0]");
    g.line("ADD OUT[1], TEMP[1], TEMP[2]");
    g.line("END");
    g.text
}

/// Values of a function that equality saturation is tried on.
const MOST_SATURATED: usize = 120;

fn verified(old: &Function, new: &Function, seeds: u64) -> Result<(), String> {
    match tgsi_ir::verify(new).first() {
        Some(v) => Err(v.to_string()),
        None => oracle::compare(old, new, seeds),
    }
}

/// What goes wrong with a program.
fn failure(text: &str) -> Option<String> {
    let (parsed, diagnostics) = tgsi::parse(text);
    if let Some(d) = diagnostics
        .iter()
        .find(|d| d.severity == tgsi::Severity::Error)
    {
        return Some(d.message.clone());
    }
    let func = match lift(&parsed) {
        Ok(f) => f,
        Err(e) => return Some(e.to_string()),
    };
    if let Some(v) = tgsi_ir::verify(&func).first() {
        return Some(format!("lift: {v}"));
    }
    // What hangs on an unwritten word is free, and rare words hide that it does.
    let unwritten = func
        .values
        .values()
        .any(|d| matches!(d.op, tgsi_ir::VOp::Undef(_)));
    let seeds = if unwritten { 0 } else { SEEDS };
    // Words are compared bit for bit.
    let cx = PassCx {
        verify: true,
        profile: Profile::Strict,
        ..Default::default()
    };
    let mut current = func.clone();
    for _ in 0..3 {
        for pass in PASSES {
            if let Some(new) = run_pass(pass.name, &current, &cx) {
                if let Err(e) = oracle::compare(&current, &new, seeds) {
                    return Some(format!("{}: {e}", pass.name));
                }
                current = new;
            }
        }
    }
    if let Some(cleaned) = run_pass("clean", &func, &cx)
        && let Err(e) = oracle::compare(&func, &cleaned, seeds)
    {
        return Some(format!("clean from the start: {e}"));
    }
    // All rules, and the search that only -O3 has time for.
    let models = [egraph::MODEL, egraph::SHARED];
    let searched = egraph::rewritten(&func, &cx, egraph::WIDE, &models);
    for (new, _) in searched {
        if let Err(e) = verified(&func, &new, seeds) {
            return Some(format!("all rules: {e}"));
        }
    }
    if func.values.len() <= MOST_SATURATED {
        for (new, _) in egraph::saturated(&func, &cx, egraph::WIDE, &models) {
            if let Err(e) = verified(&func, &new, seeds) {
                return Some(format!("saturation: {e}"));
            }
        }
    }
    let faults = cx.faults.borrow();
    faults.first().cloned()
}

/// The program without every line that the failure does not need.
fn reduce(text: &str) -> String {
    let kind = |m: Option<String>| m.map(|m| m.split(':').next().unwrap_or_default().to_owned());
    let wanted = kind(failure(text));
    let unwritten = |text: &str| {
        lift(&tgsi::parse(text).0).is_ok_and(|f| {
            f.values
                .values()
                .any(|d| matches!(d.op, tgsi_ir::VOp::Undef(_)))
        })
    };
    let unwritten_before = unwritten(text);
    let mut lines: Vec<&str> = text.lines().collect();
    let mut changed = true;
    while changed {
        changed = false;
        for size in [8, 4, 3, 2, 1] {
            let mut at = 0;
            while at + size <= lines.len() {
                let mut fewer = lines.clone();
                fewer.drain(at..at + size);
                let text = fewer.join("\n");
                if unwritten(&text) <= unwritten_before && kind(failure(&text)) == wanted {
                    lines = fewer;
                    changed = true;
                } else {
                    at += 1;
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn random_programs_keep_their_meaning() {
    let programs = std::env::var("TGSI_RANDOM")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(PROGRAMS);
    let mut problems: Vec<String> = Vec::new();
    for seed in 0..programs {
        let text = program(seed);
        if let Some(f) = failure(&text) {
            if problems.len() < 3 {
                println!("{}", reduce(&text));
            }
            problems.push(format!("{seed}: {f}"));
        }
    }
    println!("{programs} programs, {} problems", problems.len());
    for p in problems.iter().take(30) {
        println!("{p}");
    }
    assert!(problems.is_empty());
}

#[test]
fn programs_are_repeatable() {
    assert_eq!(program(7), program(7));
}
