//! A second count of programs, from their text alone: it shares nothing with the crate, and the two
//! agree on every program at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tgsi_target::{Target, count, needs};

const TEX: &[&str] = &[
    "TEX",
    "TEX_LZ",
    "TEX2",
    "TXB",
    "TXB2",
    "TXD",
    "TXF",
    "TXF_LZ",
    "TXL",
    "TXL2",
    "TXP",
    "TXQ",
    "TXQS",
    "TXQ_LZ",
    "TG4",
    "LOD",
    "LODQ",
    "SAMPLE",
    "SAMPLE_I",
    "SAMPLE_I_MS",
    "SAMPLE_B",
    "SAMPLE_C",
    "SAMPLE_C_LZ",
    "SAMPLE_D",
    "SAMPLE_L",
    "SAMPLE_POS",
    "SAMPLE_INFO",
    "GATHER4",
    "SVIEWINFO",
    "LOAD_MS",
    "RESINFO",
];

const KILL: &[&str] = &["KIL", "KILP", "KILL", "KILL_IF"];

/// Instructions that are neither arithmetic nor fetches: flow, memory, effects.
const OTHER: &[&str] = &[
    "CAL",
    "RET",
    "BRK",
    "IF",
    "UIF",
    "IFC",
    "ELSE",
    "ENDIF",
    "CONT",
    "BGNLOOP",
    "ENDLOOP",
    "BGNSUB",
    "ENDSUB",
    "SWITCH",
    "CASE",
    "DEFAULT",
    "ENDSWITCH",
    "REP",
    "ENDREP",
    "BGNFOR",
    "ENDFOR",
    "BRA",
    "CALLNZ",
    "BREAKC",
    "DEMOTE",
    "CLOCK",
    "FBFETCH",
    "EMIT",
    "ENDPRIM",
    "MEMBAR",
    "BARRIER",
    "PUSHA",
    "POPA",
];

const MEMORY: &[&str] = &[
    "LOAD",
    "STORE",
    "RESQ",
    "ATOMFADD",
    "ATOMUADD",
    "ATOMXCHG",
    "ATOMCAS",
    "ATOMAND",
    "ATOMOR",
    "ATOMXOR",
    "ATOMUMIN",
    "ATOMUMAX",
    "ATOMIMIN",
    "ATOMIMAX",
    "ATOMINC_WRAP",
    "ATOMDEC_WRAP",
];

/// Opcodes whose first operand is read.
const NO_RESULT: &[&str] = &[
    "KIL", "KILL_IF", "IF", "UIF", "IFC", "BREAKC", "CALLNZ", "SWITCH", "CASE", "EMIT", "ENDPRIM",
    "MEMBAR", "PUSHA",
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    instructions: u32,
    alu: u32,
    tex: u32,
    temps: u32,
    indirections: u32,
    constants: u32,
}

/// A register in a text: its file and what stands in its brackets.
struct Mention<'a> {
    file: &'a str,
    brackets: Vec<&'a str>,
    /// The number in round brackets behind it.
    array: Option<&'a str>,
}

impl<'a> Mention<'a> {
    /// The register that an operand begins with.
    fn first(operand: &'a str) -> Option<Mention<'a>> {
        let start = operand.find(|c: char| c.is_ascii_uppercase())?;
        let text = &operand[start..];
        let file_end = text.find('[')?;
        let (file, mut rest) = (&text[..file_end], &text[file_end..]);
        if !file.bytes().all(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let mut brackets = Vec::new();
        while rest.starts_with('[') {
            let mut depth = 0;
            let end = rest.find(|c| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                depth == 0
            })?;
            brackets.push(&rest[1..end]);
            rest = &rest[end + 1..];
        }
        let array = rest
            .strip_prefix('(')
            .and_then(|r| Some(&r[..r.find(')')?]));
        Some(Mention {
            file,
            brackets,
            array,
        })
    }

    /// The number in the last bracket, and whether it is all that stands there.
    fn index(&self) -> (i64, bool) {
        let text = self.brackets.last().copied().unwrap_or_default();
        if let Ok(n) = text.parse() {
            return (n, true);
        }
        // `ADDR[0].x+3`, `ADDR[0].x-3`, `ADDR[0].x`
        let behind = text.rfind(']').map_or("", |at| &text[at + 1..]);
        let number = behind.trim_start_matches(|c: char| c == '.' || c.is_ascii_lowercase());
        (number.trim_start_matches('+').parse().unwrap_or(0), false)
    }

    fn is_direct(&self) -> bool {
        self.brackets.iter().all(|b| b.parse::<i64>().is_ok())
    }
}

/// A list apart at its commas, those in brackets left out.
fn operands(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '[' || c == '(') - i32::from(c == ']' || c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|p| !p.is_empty()).collect()
}

/// A range such as `0..3` or `7`.
fn range(text: &str) -> Option<(i64, i64)> {
    match text.split_once("..") {
        Some((first, last)) => Some((first.parse().ok()?, last.parse().ok()?)),
        None => text.parse().ok().map(|n| (n, n)),
    }
}

#[derive(Default)]
struct Scan {
    figures: Figures,
    /// Ranges of constants by buffer, and of indexed arrays by number.
    constants: Vec<(i64, i64, i64)>,
    arrays: BTreeMap<String, (i64, i64)>,
    temps: BTreeSet<i64>,
    named: BTreeSet<(i64, i64)>,
    written: BTreeSet<i64>,
    touched: BTreeSet<i64>,
}

impl Scan {
    fn of(text: &str) -> Figures {
        let mut scan = Scan::default();
        scan.figures.indirections = 1;
        for line in text.lines().skip(1).map(str::trim) {
            if let Some(rest) = line.strip_prefix("DCL ") {
                scan.declaration(rest);
            } else if !line.is_empty() && !line.starts_with("IMM") && !line.starts_with("PROPERTY")
            {
                let text = match line.split_once(": ") {
                    Some((n, text)) if n.bytes().all(|b| b.is_ascii_digit()) => text.trim(),
                    _ => line,
                };
                scan.instruction(text);
            }
        }
        scan.figures.temps = scan.temps.len() as u32;
        scan.figures.constants = scan.named.len() as u32;
        scan.figures
    }

    fn declaration(&mut self, text: &str) {
        let Some(mention) = Mention::first(text) else {
            return;
        };
        let Some((first, last)) = mention.brackets.last().and_then(|b| range(b)) else {
            return;
        };
        if mention.file == "CONST" {
            let buffer = if mention.brackets.len() > 1 {
                mention.brackets[0].parse().unwrap_or(0)
            } else {
                0
            };
            self.constants.push((buffer, first, last));
        }
        if mention.file == "TEMP"
            && let Some((_, array)) = text.split_once("ARRAY(")
        {
            let number = &array[..array.find(')').unwrap_or(array.len())];
            self.arrays.insert(number.to_owned(), (first, last));
        }
    }

    fn instruction(&mut self, text: &str) {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut op = word;
        while let Some(shorter) = op
            .strip_suffix("_SAT")
            .or_else(|| op.strip_suffix("_PRECISE"))
        {
            op = shorter;
        }
        if op == "END" {
            return;
        }
        let (fetch, kill) = (TEX.contains(&op), KILL.contains(&op));
        let plain = !fetch && !kill && !OTHER.contains(&op);
        self.figures.instructions += 1;
        self.figures.tex += u32::from(fetch);
        self.figures.alu += u32::from(plain && !MEMORY.contains(&op));
        self.mentions(rest);

        let mut list = operands(rest);
        // What follows the texture is no coordinate.
        if let Some(target) = fetch
            .then(|| list.iter().position(|o| !o.contains('[')))
            .flatten()
        {
            list.truncate(target);
        }
        let results = usize::from(!NO_RESULT.contains(&op)) + usize::from(op == "DFRACEXP");
        let temp = |o: &&str| {
            Mention::first(o)
                .filter(|m| m.file == "TEMP")
                .map(|m| m.index().0)
        };
        let to: Vec<i64> = list.iter().take(results).filter_map(temp).collect();
        let from: Vec<i64> = list.iter().skip(results).filter_map(temp).collect();
        let depends = from.iter().any(|t| self.written.contains(t));
        let clobbers = fetch && to.iter().any(|t| self.touched.contains(t));
        if (fetch || kill) && (depends || clobbers) {
            self.figures.indirections += 1;
            self.written.clear();
            self.touched.clear();
        }
        if plain {
            self.touched.extend(from.iter().chain(&to));
        }
        if !kill {
            self.written.extend(to);
        }
    }

    /// Everything that a line mentions, what stands in brackets too.
    fn mentions(&mut self, text: &str) {
        for file in ["TEMP[", "CONST["] {
            for (at, _) in text.match_indices(file) {
                let Some(m) = Mention::first(&text[at..]) else {
                    continue;
                };
                if m.file == "TEMP" {
                    self.temp(&m);
                } else {
                    self.constant(&m);
                }
            }
        }
    }

    fn temp(&mut self, m: &Mention<'_>) {
        match (m.index(), m.array.and_then(|a| self.arrays.get(a))) {
            ((n, true), _) => _ = self.temps.insert(n),
            (_, Some(&(first, last))) => self.temps.extend(first..=last),
            _ => {}
        }
    }

    fn constant(&mut self, m: &Mention<'_>) {
        let buffer = if m.brackets.len() > 1 {
            m.brackets[0].parse().ok()
        } else {
            Some(0)
        };
        if let (Some(buffer), true) = (buffer, m.is_direct()) {
            self.named.insert((buffer, m.index().0));
            return;
        }
        for &(of, first, last) in &self.constants {
            if buffer.is_none_or(|b| b == of) {
                self.named.extend((first..=last).map(|n| (of, n)));
            }
        }
    }
}

fn by_the_crate(text: &str) -> Figures {
    let named = Target::from_toml("name = \"named\"\nsummary = \"\"\nconstants = \"named\"\n")
        .expect("a target");
    let (program, _) = tgsi::parse(text);
    let c = count(&program);
    Figures {
        instructions: c.instructions,
        alu: c.alu,
        tex: c.tex,
        temps: c.temps,
        indirections: c.indirections,
        constants: needs(&named, &program, &c).constants.unwrap_or(0),
    }
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "tgsi") {
            found.push(path);
        }
    }
}

#[track_caller]
fn compare(folder: &Path) -> usize {
    let mut paths = Vec::new();
    programs(folder, &mut paths);
    let mut wrong = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("the program");
        let (first, second) = (by_the_crate(&text), Scan::of(&text));
        if first != second {
            wrong.push(format!(
                "{}: {first:?}, from the text {second:?}",
                path.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        paths.len(),
        wrong.join("\n")
    );
    paths.len()
}

#[test]
fn both_counts_agree_on_the_corpus() {
    let n = compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"));
    println!("{n} programs");
    assert!(n > 100);
}

#[test]
fn both_counts_agree_on_the_shared_corpus() {
    let shared = match std::env::var_os("TGSI_SHARED") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    match compare(&shared.join("corpus")) {
        0 => println!("skipped: no shared data"),
        n => println!("{n} programs"),
    }
}

#[test]
fn the_text_is_read_as_it_is_written() {
    let text = "FRAG\nDCL IN[0], GENERIC[0], PERSPECTIVE\nDCL CONST[0..3]\nDCL CONST[1][0..4]\nDCL TEMP[0..1]\n\
        DCL TEMP[2..4], ARRAY(1), LOCAL\nDCL ADDR[0]\nIMM[0] FLT32 {1.0, 0.0, 0.0, 0.0}\n\
          0: MOV TEMP[0], IN[0]\n  1: TEX_SAT TEMP[1].x, TEMP[0].xyyy, SAMP[0], 2D, IMM[0].xyz\n\
          2: MAD_SAT_PRECISE TEMP[1], -|TEMP[1]|, CONST[1][ADDR[0].x+2], CONST[3]\n  3: KILL_IF TEMP[1]\n\
          4: MOV OUT[0], TEMP[ADDR[0].x+2](1)\n  5: IF TEMP[0].xxxx :6\n  6: ENDIF\n  7: END\n";
    let wanted = Figures {
        instructions: 7,
        alu: 3,
        tex: 1,
        temps: 5,
        indirections: 3,
        constants: 6,
    };
    assert_eq!(Scan::of(text), wanted);
    assert_eq!(by_the_crate(text), wanted);
}
