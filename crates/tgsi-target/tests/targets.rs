//! The numbers of the built-in targets, and that every file can be read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tgsi::{Opcode, Stage};
use tgsi_target::{Class, Constants, IndirectionModel, LIMITS, Target, class};

/// Every limit of every built-in target; what is not named is not limited.
const TABLE: &[(&str, &str)] = &[
    ("generic", "temps 4096, constants 4096, inputs 80, depth 32"),
    (
        "virgl",
        "immediates 1024, inputs 64, outputs 64, system-values 32, samplers 32, images 32, buffers 32, constant-buffer-index 31",
    ),
    (
        "softpipe",
        "temps 4096, constants 4096, inputs 80, depth 32",
    ),
    (
        "arb-vp",
        "instructions 128, temps 12, constants 96, inputs 16, address-registers 1",
    ),
    (
        "arb-fp",
        "instructions 72, alu 48, tex 24, indirections 4, temps 16, constants 24, inputs 10",
    ),
    (
        "nv-vp",
        "instructions 128, temps 12, constants 96, inputs 16",
    ),
    (
        "nv-vp2",
        "instructions 256, temps 16, constants 256, inputs 16, address-registers 2",
    ),
    ("nv-fp", "instructions 1024, temps 32, constants 64"),
    (
        "r200-fs",
        "alu 16, phase-alu 8, indirections 2, temps 6, constants 8",
    ),
    (
        "r300-fs",
        "instructions 96, alu 64, tex 32, indirections 4, temps 32, constants 32, inputs 10",
    ),
    (
        "r400-fs",
        "instructions 512, alu 512, tex 512, indirections 4, temps 64, constants 32, inputs 10",
    ),
    (
        "r500-fs",
        "instructions 512, alu 512, tex 512, indirections 511, temps 128, constants 256, inputs 10, depth 32",
    ),
    (
        "r300-vs",
        "instructions 256, tex 0, flow 16, temps 32, constants 256, inputs 16, loop-depth 1",
    ),
    (
        "r500-vs",
        "instructions 1024, tex 0, flow 16, temps 32, constants 256, inputs 16, loop-depth 8",
    ),
    (
        "i915-fs",
        "instructions 96, alu 64, tex 32, indirections 4, temps 16, constants 32, inputs 10, samplers 8, declarations 27",
    ),
    (
        "nv30-vp",
        "instructions 256, tex 0, temps 13, constants 250, inputs 16",
    ),
    (
        "nv40-vp",
        "instructions 512, tex 512, temps 32, constants 462, inputs 16",
    ),
    (
        "nv30-fp",
        "instructions 4096, alu 4096, tex 4096, indirections 4096, temps 32, constants 32, inputs 8",
    ),
    (
        "nv40-fp",
        "instructions 4096, alu 4096, tex 4096, indirections 4096, temps 32, constants 224, inputs 8",
    ),
    (
        "svga-ps",
        "instructions 512, tex 512, indirections 512, temps 32, constants 224, inputs 10, address-registers 1, depth 32",
    ),
    (
        "svga-vs",
        "instructions 512, tex 0, indirections 512, temps 32, constants 256, inputs 16, address-registers 1, depth 32",
    ),
    (
        "ps_1_1",
        "instructions 12, alu 8, tex 4, temps 2, constants 8, coordinates 4, colors 2",
    ),
    (
        "ps_1_2",
        "instructions 12, alu 8, tex 4, temps 2, constants 8, coordinates 4, colors 2",
    ),
    (
        "ps_1_3",
        "instructions 12, alu 8, tex 4, temps 2, constants 8, coordinates 4, colors 2",
    ),
    (
        "ps_1_4",
        "instructions 28, alu 16, phase-alu 8, tex 12, phase-tex 6, indirections 2, temps 6, constants 8, coordinates 6",
    ),
    (
        "ps_2_0",
        "instructions 96, alu 64, tex 32, indirections 4, temps 12, constants 32, coordinates 8, colors 2, samplers 16",
    ),
    (
        "ps_3_0",
        "instructions 512, temps 32, constants 224, inputs 10, samplers 16, loop-depth 4, call-depth 4",
    ),
    (
        "vs_1_1",
        "instructions 128, temps 12, constants 96, inputs 16",
    ),
    (
        "vs_2_0",
        "instructions 256, temps 12, constants 256, inputs 16, loop-depth 1, call-depth 1",
    ),
    (
        "vs_3_0",
        "instructions 512, temps 32, constants 256, inputs 16",
    ),
    ("agal-fs", "instructions 200, temps 8, constants 28"),
    ("agal-vs", "instructions 200, temps 8, constants 128"),
];

type Numbers = BTreeMap<String, u32>;

fn numbers(text: &str) -> Numbers {
    text.split(", ")
        .map(|entry| {
            let (name, n) = entry.split_once(' ').expect("a name and a number");
            (name.to_owned(), n.parse().expect("a number"))
        })
        .collect()
}

fn limits_of(target: &Target) -> Numbers {
    LIMITS
        .iter()
        .filter_map(|l| Some((l.name.to_owned(), (l.get)(&target.limits)?)))
        .collect()
}

#[test]
fn limits_are_those_of_the_table() {
    let names: Vec<&str> = Target::names().collect();
    let known: Vec<&str> = TABLE.iter().map(|row| row.0).collect();
    assert_eq!(names, known);
    for (name, row) in TABLE {
        let target = Target::by_name(name).expect("a target");
        assert_eq!(target.name, *name, "its file calls it otherwise");
        assert_eq!(limits_of(target), numbers(row), "{name}");
    }
}

#[test]
fn every_target_says_where_it_is_from() {
    for target in Target::all() {
        let name = &target.name;
        assert!(
            !target.summary.is_empty() && !target.source.is_empty(),
            "{name}"
        );
        let ending = match target.stages[..] {
            [Stage::Frag] => ["-fs", "-fp", "-ps", "ps_"],
            [Stage::Vert] => ["-vs", "-vp", "vs_", "-vp2"],
            _ => continue,
        };
        assert!(
            ending.iter().any(|e| name.contains(e)),
            "{name}: {:?}",
            target.stages
        );
    }
}

#[test]
fn opcodes_are_listed_once_and_control_flow_apart() {
    for target in Target::all() {
        let (name, opcodes) = (&target.name, &target.opcodes);
        let Some(native) = &opcodes.native else {
            assert!(
                opcodes.expanded.is_empty() && opcodes.slots.is_empty(),
                "{name}"
            );
            continue;
        };
        for (i, op) in native.iter().enumerate() {
            assert!(!native[..i].contains(op), "{name}: {} twice", op.name());
            assert!(!opcodes.expanded.contains_key(op), "{name}: {}", op.name());
            assert_ne!(class(*op), Class::Flow, "{name}: {}", op.name());
        }
        for op in opcodes.slots.keys() {
            let flow = class(*op) == Class::Flow;
            assert!(flow || native.contains(op), "{name}: {}", op.name());
        }
        assert!(
            opcodes.takes(Opcode::Mov) && opcodes.takes(Opcode::Mul) && opcodes.takes(Opcode::End),
            "{name}"
        );
        // Drivers of that time divide by a reciprocal; one that takes the opcode does the same.
        let divides = ["svga-ps", "svga-vs", "agal-fs", "agal-vs"].contains(&name.as_str());
        assert_eq!(opcodes.takes(Opcode::Div), divides, "{name}");
        assert!(!target.arithmetic.integers, "{name}");
    }
}

#[test]
fn constants_and_models() {
    for target in Target::all() {
        let name = target.name.as_str();
        let direct3d = name.starts_with("ps_") || name.starts_with("vs_");
        let everything = ["generic", "virgl", "softpipe"].contains(&name);
        let constants = if everything {
            Constants::Declared
        } else if direct3d || name == "i915-fs" {
            Constants::NamedAndImmediates
        } else {
            Constants::Named
        };
        assert_eq!(target.constants, constants, "{name}");
        let model = match name {
            "r300-fs" | "r400-fs" | "r500-fs" => IndirectionModel::R300Node,
            "i915-fs" => IndirectionModel::I915Phase,
            // Its phases are fetches and then arithmetic, as those of ARB_fragment_program.
            "ps_1_4" => IndirectionModel::Arb,
            _ if name.starts_with("ps_") => IndirectionModel::D3dOrder,
            _ => IndirectionModel::Arb,
        };
        assert_eq!(target.indirection_model, model, "{name}");
    }
}

/// Slots of Direct3D's instructions that have an opcode.
#[test]
fn slots_of_direct3d() {
    let slots =
        |target: &str, op: Opcode| Target::by_name(target).expect("a target").opcodes.slots(op);
    for target in ["ps_2_0", "ps_3_0", "vs_2_0", "vs_3_0"] {
        for (op, n) in [
            (Opcode::Lrp, 2),
            (Opcode::Xpd, 2),
            (Opcode::Pow, 3),
            (Opcode::Nrm, 3),
            (Opcode::Scs, 8),
            (Opcode::Sin, 8),
        ] {
            assert_eq!(slots(target, op), n, "{target} {}", op.name());
        }
    }
    for target in ["ps_2_0", "ps_3_0"] {
        assert_eq!(slots(target, Opcode::Dp2a), 2);
    }
    for target in ["vs_1_1", "vs_2_0", "vs_3_0"] {
        assert_eq!(slots(target, Opcode::Lit), 3);
    }
    for op in [Opcode::Ddx, Opcode::Ddy, Opcode::Txd, Opcode::Txl] {
        assert_eq!(slots("ps_3_0", op), 2, "{}", op.name());
    }
    assert_eq!(slots("vs_3_0", Opcode::Txl), 2);
    assert_eq!(
        (slots("vs_2_0", Opcode::Ssg), slots("vs_3_0", Opcode::Ssg)),
        (3, 3)
    );
    for op in [Opcode::Cmp, Opcode::Dp4] {
        assert_eq!(
            (
                slots("ps_1_2", op),
                slots("ps_1_3", op),
                slots("ps_1_4", op)
            ),
            (2, 2, 1)
        );
    }
}

/// The facts that the numbers are from: `facts/limits.md` of the shared data.
fn facts() -> Option<String> {
    let shared = match std::env::var_os("TGSI_SHARED") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    std::fs::read_to_string(shared.join("facts/limits.md")).ok()
}

/// The targets that the first cell of a row is about.
fn names_of(cell: &str) -> Vec<String> {
    let quoted: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    match quoted[..] {
        ["ps_1_1", "ps_1_3"] => ["ps_1_1", "ps_1_2", "ps_1_3"].map(String::from).to_vec(),
        ["agal"] => ["agal-fs", "agal-vs"].map(String::from).to_vec(),
        _ => quoted.iter().map(|s| (*s).to_owned()).collect(),
    }
}

/// The part of a cell that is about one of several targets.
fn part(cell: &str, which: usize, of: usize) -> &str {
    let parts: Vec<&str> = cell.split(" / ").collect();
    if parts.len() == of {
        parts[which].trim()
    } else {
        cell.trim()
    }
}

/// The number behind a word, or in front of it.
fn near(cell: &str, word: &str) -> Option<u32> {
    let words: Vec<&str> = cell.split([' ', ',']).filter(|w| !w.is_empty()).collect();
    let at = cell
        .split([' ', ','])
        .filter(|w| !w.is_empty())
        .position(|w| w == word)?;
    let number = |i: usize| words.get(i).and_then(|w| w.parse().ok());
    number(at + 1).or_else(|| at.checked_sub(1).and_then(number))
}

fn first_number(text: &str) -> Option<u32> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// What a row of the facts says of one of its targets.
fn facts_of(cells: &[&str], name: &str, which: usize, of: usize) -> Numbers {
    let mut found = Numbers::new();
    let mut put = |limit: &str, n: Option<u32>| {
        if let Some(n) = n {
            found.insert(limit.to_owned(), n);
        }
    };
    let cell = |i: usize| part(cells[i], which, of);
    if name == "r200-fs" || name == "ps_1_4" {
        // "2 passes of 8 colour+alpha pairs", "2 x (8+6)"
        let numbers: Vec<u32> = cells[1]
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok())
            .collect();
        let (phases, alu) = (numbers[0], numbers[1]);
        put("indirections", Some(phases));
        put("alu", Some(phases * alu));
        put("phase-alu", Some(alu));
        if let Some(tex) = numbers.get(2) {
            put("tex", Some(phases * tex));
            put("phase-tex", Some(*tex));
            put("instructions", Some(phases * (alu + tex)));
        }
    } else {
        for (i, limit) in ["instructions", "alu", "tex", "indirections"]
            .into_iter()
            .enumerate()
        {
            put(limit, first_number(cell(i + 1)));
        }
    }
    put("temps", first_number(cell(5)));
    put("constants", first_number(cell(6)));
    let inputs = cells[7];
    if name.starts_with("ps_") {
        put("coordinates", near(inputs, "t"));
        put("samplers", near(inputs, "s"));
        let colours = if inputs.contains("t ") {
            "colors"
        } else {
            "inputs"
        };
        put(colours, near(inputs, "v"));
    } else {
        put("inputs", first_number(cell(7)));
    }
    // What is said of one target alone begins with its name.
    let mut about = "";
    for phrase in cells[8].split([',', ';']).map(str::trim) {
        let phrase = match phrase.split_once(": ") {
            Some((name, phrase)) => {
                about = name;
                phrase
            }
            None => phrase,
        };
        if !name.ends_with(about) {
            continue;
        }
        let word = |w: &str| near(part(phrase, which, of), w).or_else(|| near(phrase, w));
        put("samplers", word("samplers"));
        put("declarations", word("declarations"));
        put("depth", word("nesting"));
        if phrase.starts_with("branch depth") {
            put("depth", word("depth"));
        }
        put(
            "flow",
            phrase
                .strip_suffix(" flow ops")
                .and_then(|n| n.parse().ok()),
        );
        if let Some(depths) = phrase.strip_prefix("loop depth ") {
            put("loop-depth", first_number(part(depths, which, of)));
        } else {
            put("loop-depth", word("loop"));
        }
        put("call-depth", word("call"));
        if phrase.contains("address reg") {
            put("address-registers", first_number(phrase));
        }
    }
    found
}

#[test]
fn limits_are_those_of_the_facts() {
    let Some(facts) = facts() else {
        println!("skipped: no shared data");
        return;
    };
    let mut seen = 0;
    for line in facts.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = names_of(cells[0]);
        for (i, name) in names.iter().enumerate() {
            let target = Target::by_name(name).unwrap_or_else(|| panic!("no target {name}"));
            let mut has = limits_of(target);
            if name == "virgl" {
                // Its other limits are those of another page.
                has.retain(|limit, _| limit == "inputs");
            }
            assert_eq!(has, facts_of(&cells, name, i, names.len()), "{name}");
            seen += 1;
        }
    }
    println!("{seen} targets");
    assert_eq!(seen, TABLE.len());
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let wrong = |text: &str| match Target::from_toml(text) {
        Ok(_) => panic!("taken: {text}"),
        Err(e) => e.to_string(),
    };
    let head = "name = \"a\"\nsummary = \"b\"\n";
    assert!(Target::from_toml(head).is_ok());
    assert!(wrong("name = \"a\"\n").contains("summary"));
    assert!(wrong(&format!("{head}[limits]\ntemp = 3\n")).contains("temp"));
    assert!(wrong(&format!("{head}stages = [\"PIXEL\"]\n")).contains("PIXEL"));
    assert!(wrong(&format!("{head}[opcodes]\nnative = [\"FROB\"]\n")).contains("FROB"));
    let mut limits = Target::default().limits;
    assert!(limits.set("MaxTexIndirections", 4).is_ok() && limits.set("temps", 7).is_ok());
    assert_eq!((limits.indirections, limits.temps), (Some(4), Some(7)));
    let unknown = limits.set("temp", 3).expect_err("no such limit");
    assert!(
        unknown
            .to_string()
            .starts_with("unknown limit 'temp'; the limits are instructions, ")
    );
}

/// A row of the table of docs/targets.md.
fn row(target: &Target) -> String {
    let limits: Vec<String> = LIMITS
        .iter()
        .filter_map(|l| Some(format!("{} {}", l.name, (l.get)(&target.limits)?)))
        .collect();
    format!(
        "| `{}` | {} | {} | {} |",
        target.name,
        target.summary,
        limits.join(", "),
        target.source
    )
}

#[test]
fn the_documentation_has_the_same_limits() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/targets.md");
    let docs = std::fs::read_to_string(path).expect("docs/targets.md");
    let has: Vec<&str> = docs.lines().filter(|l| l.starts_with("| `")).collect();
    let wanted: Vec<String> = Target::all().map(row).collect();
    assert!(has == wanted, "the rows should be\n{}", wanted.join("\n"));
    for limit in &LIMITS {
        let names = format!("`{}` (`{}`)", limit.name, limit.driver_name);
        assert!(docs.contains(&names), "no {names}");
    }
}
