//! What the tests of the graph share.

use tgsi_egraph::{Config, Graph, Made, Rules, saturate};
use tgsi_ir::rewrite::PhiInputs;
use tgsi_ir::{Function, VOp, Value, ix, lift};
use tgsi_rules::{Contract, Profile, RuleSet};

const HEADER: &str = "DCL IN[0..3], GENERIC[0], PERSPECTIVE
DCL OUT[0..3], COLOR
DCL CONST[0..3]
DCL TEMP[0..9], LOCAL
IMM[0] FLT32 {0.0, 1.0, -1.0, 0.5}
IMM[1] UINT32 {2147483648, 1, 4294967295, 2}
";

/// The function of a program without header and END.
pub(crate) fn lifted(text: &str, properties: &str) -> Function {
    let whole = format!("FRAG\n{properties}{HEADER}{text}\nEND\n");
    let (program, diagnostics) = tgsi::parse(&whole);
    let bad = |d: &tgsi::Diagnostic| d.severity == tgsi::Severity::Error;
    assert!(!diagnostics.iter().any(bad), "{diagnostics:?}");
    lift(&program).expect("a program that can be lifted")
}

/// Rules, one a line, each with a reason added.
pub(crate) fn rules(text: &str) -> Rules {
    let lines: Vec<String> = text
        .lines()
        .map(|l| format!("{} -- for the test", l.trim()))
        .collect();
    match RuleSet::parse(&[("test", &lines.join("\n"))]) {
        Ok(set) => {
            let frequent = set.rules.iter().map(|r| r.name.as_str());
            Rules::new(&set, &frequent.collect())
        }
        Err(errors) => panic!("{}", errors[0]),
    }
}

/// Liberties and budgets of a test.
#[derive(Clone)]
pub(crate) struct Setting {
    pub granted: Contract,
    pub alternatives: usize,
    pub depth: u32,
    pub matches: u32,
    pub explore: bool,
    pub disabled: Vec<u16>,
    pub sensitive: Vec<bool>,
    /// Rewrites that may happen.
    pub fuel: u32,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            granted: Profile::Fast.grants(false),
            alternatives: 5,
            depth: 3,
            matches: 64,
            explore: false,
            disabled: Vec::new(),
            sensitive: Vec::new(),
            fuel: u32::MAX,
        }
    }
}

pub(crate) fn graph(f: &Function, rules: &Rules, s: &Setting) -> Graph {
    let left = std::cell::Cell::new(s.fuel);
    let config = Config {
        granted: s.granted,
        alternatives: s.alternatives,
        depth: s.depth,
        matches: s.matches,
        explore: s.explore,
        taken: &Default::default(),
        spoiled: None,
        chaos: None,
        spend: &|_, _| {
            let n = left.get();
            left.set(n.saturating_sub(1));
            n > 0
        },
        disabled: &s.disabled,
        sensitive: &s.sensitive,
    };
    let phis = PhiInputs::collect(f);
    let mut readers = vec![0; f.values.len()];
    for d in f.values.values() {
        d.args.iter().for_each(|&a| readers[ix(a)] += 1);
    }
    saturate(f, &phis, &readers, rules, &config, &mut |_, n| {
        Made::Node(n)
    })
}

/// A value as an expression.
pub(crate) fn expr(f: &Function, v: Value) -> String {
    let d = &f.values[v];
    let args: Vec<String> = d.args.iter().map(|&a| expr(f, a)).collect();
    let args = args.join(", ");
    match d.op {
        VOp::Imm(w) => format!("{:?}", f32::from_bits(w)),
        VOp::Undef(n) => format!("undef{n}"),
        VOp::Reg(r, c) => {
            let r = f.regs[r.0 as usize];
            let chan = ["x", "y", "z", "w"][c as usize & 3];
            format!("{}{}.{chan}", r.file.name(), r.index.base)
        }
        VOp::Alu(op) => {
            let precise = if d.precise { "_PRECISE" } else { "" };
            format!("{}{precise}({args})", op.name())
        }
        VOp::Neg => format!("-{args}"),
        VOp::Abs => format!("|{args}|"),
        VOp::INeg => format!("ineg({args})"),
        VOp::Sat => format!("sat({args})"),
        VOp::Multi(m) => format!("{}({args})", f.multis[m.0 as usize].inst.op.name()),
        op => format!("{op:?}({args})"),
    }
}
