//! The text of rules.

use std::collections::HashSet;

use crate::{Cond, Contract, Direction, Fact, Op, Rule, Term, Var};

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{domain}.rules:{line}:{column}: {message}")]
pub struct RuleError {
    /// Name of the file without its ending.
    pub domain: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

/// Rules in the order of their files.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// The rules.
    pub rules: Vec<Rule>,
}

impl RuleSet {
    /// Reads files of rules, `(domain, text)` each.
    ///
    /// # Errors
    /// Everything that is wrong, with its place.
    pub fn parse(files: &[(&str, &str)]) -> Result<RuleSet, Vec<RuleError>> {
        let mut set = RuleSet::default();
        let mut errors = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for (domain, text) in files {
            for (number, line) in (1..).zip(text.lines()) {
                let line = line.trim_end();
                if line.trim_start().is_empty() || line.trim_start().starts_with(';') {
                    continue;
                }
                let mut p = Parser {
                    text: line,
                    at: 0,
                    vars: Vec::new(),
                };
                let error = |at: usize, message: String| RuleError {
                    domain: (*domain).to_owned(),
                    line: number,
                    column: line.get(..at).map_or(at, |s| s.chars().count()) as u32 + 1,
                    message,
                };
                match p.rules(domain, number) {
                    Ok(rules) => {
                        for rule in rules {
                            if names.insert(rule.name.clone()) {
                                set.rules.push(rule);
                            } else {
                                errors.push(error(0, format!("the name {} is taken", rule.name)));
                            }
                        }
                    }
                    Err(message) => errors.push(error(p.at, message)),
                }
            }
        }
        if errors.is_empty() {
            Ok(set)
        } else {
            Err(errors)
        }
    }

    /// The place of the rule of that name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.rules.iter().position(|r| r.name == name)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    vars: Vec<String>,
}

type Parsed<T> = Result<T, String>;

/// Characters that end an atom.
fn ends_atom(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',')
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn want(&mut self, token: &str) -> Parsed<()> {
        if self.take(token) {
            Ok(())
        } else {
            Err(format!("expected `{token}`"))
        }
    }

    fn atom(&mut self) -> &str {
        self.space();
        let start = self.at;
        let rest = self.rest();
        self.at += rest.find(ends_atom).unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn rules(&mut self, domain: &str, line: u32) -> Parsed<Vec<Rule>> {
        let colon = self.text.find(':').ok_or("expected a name and `:`")?;
        let name = self.text[..colon].trim().to_owned();
        let kebab = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if name.is_empty() || !name.bytes().all(kebab) {
            return Err("a name has lower-case letters, digits and hyphens".to_owned());
        }
        self.at = colon + 1;
        let lhs = self.term()?;
        let (direction, both) = if self.take("=>") {
            (Direction::Replace, false)
        } else if self.take("?>") {
            (Direction::Explore, false)
        } else if self.take("<~>") {
            (Direction::Also, true)
        } else {
            self.want("~>")?;
            (Direction::Also, false)
        };
        let known = self.vars.len();
        let rhs = self.term()?;
        if self.vars.len() > known {
            return Err(format!("{} is not on the left side", self.vars[known]));
        }
        let contract = self.contract()?;
        let conds = self.conds()?;
        self.want("--")?;
        let why = self.rest().trim().to_owned();
        if why.is_empty() {
            return Err("expected why the rule holds".to_owned());
        }
        for t in [&lhs, &rhs] {
            check_kill(t, true)?;
        }
        if !matches!(lhs, Term::Op(..)) {
            return Err("the left side is no operation".to_owned());
        }
        let rule = Rule {
            name: name.clone(),
            domain: domain.to_owned(),
            line,
            lhs,
            rhs,
            direction,
            contract,
            conds,
            why,
            vars: self.vars.clone(),
        };
        if !both {
            return Ok(vec![rule]);
        }
        let mut seen = vec![false; rule.vars.len()];
        rule.rhs.each_var(&mut |v| seen[usize::from(v.0)] = true);
        if seen.contains(&false) || !matches!(rule.rhs, Term::Op(..)) {
            return Err("a rule of both directions names all variables on both sides".to_owned());
        }
        let reverse = Rule {
            name: format!("{name}-reverse"),
            lhs: rule.rhs.clone(),
            rhs: rule.lhs.clone(),
            ..rule.clone()
        };
        Ok(vec![rule, reverse])
    }

    fn var(&mut self, name: &str) -> Parsed<Var> {
        if let Some(i) = self.vars.iter().position(|v| v == name) {
            return Ok(Var(i as u8));
        }
        if self.vars.len() == 16 {
            return Err("more than 16 variables".to_owned());
        }
        self.vars.push(name.to_owned());
        Ok(Var(self.vars.len() as u8 - 1))
    }

    fn term(&mut self) -> Parsed<Term> {
        if !self.take("(") {
            let start = self.at;
            let atom = self.atom().to_owned();
            return self.leaf(&atom).inspect_err(|_| self.at = start);
        }
        let start = self.at;
        let name = self.atom().to_owned();
        let Some(op) = Op::from_name(&name) else {
            self.at = start;
            return Err(format!("{name:?} is no scalar operation"));
        };
        let mut args = Vec::new();
        while !self.take(")") {
            if self.rest().is_empty() {
                return Err("expected `)`".to_owned());
            }
            args.push(self.term()?);
        }
        if args.len() != op.arity() {
            self.at = start;
            return Err(format!(
                "{name} takes {} operands, not {}",
                op.arity(),
                args.len()
            ));
        }
        Ok(Term::Op(op, args))
    }

    fn leaf(&mut self, atom: &str) -> Parsed<Term> {
        let name = atom.strip_prefix('#').unwrap_or(atom);
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && atom != "inf" {
            return Ok(Term::Var(self.var(atom)?));
        }
        let word = match atom {
            "inf" => Some(f32::INFINITY.to_bits()),
            "-inf" => Some(f32::NEG_INFINITY.to_bits()),
            _ => {
                if let Some(hex) = atom.strip_prefix("0x") {
                    u32::from_str_radix(hex, 16).ok()
                } else if let Some(int) = atom.strip_suffix('i') {
                    int.parse::<i64>().ok().map(|n| n as u32)
                } else if atom.contains('.') {
                    atom.parse::<f32>().ok().map(f32::to_bits)
                } else {
                    None
                }
            }
        };
        word.map(Term::Word).ok_or_else(|| {
            format!("{atom:?} is neither a variable nor a constant (1.0, -2i, 0xff, inf)")
        })
    }

    fn contract(&mut self) -> Parsed<Contract> {
        let mut contract = Contract::EXACT;
        if !self.take("[") {
            return Ok(contract);
        }
        loop {
            let start = self.at;
            let name = self.atom().to_owned();
            let Some(flag) = Contract::from_name(&name) else {
                self.at = start;
                return Err(format!("{name:?} is no float contract"));
            };
            contract = contract.and(flag);
            if !self.take(",") {
                self.want("]")?;
                return Ok(contract);
            }
        }
    }

    fn conds(&mut self) -> Parsed<Vec<Cond>> {
        let mut conds = Vec::new();
        if !self.take("{") {
            return Ok(conds);
        }
        loop {
            let start = self.at;
            let name = self.atom().to_owned();
            let cond = match name.as_str() {
                "equal" => Cond::Equal(self.known()?, self.known()?),
                "different" => Cond::Different(self.known()?, self.known()?),
                "less" => Cond::Less(self.known()?, self.known()?),
                "shift-sum" => Cond::ShiftSum(self.known()?, self.known()?),
                "once" => Cond::Once(self.known()?),
                _ => match Fact::from_name(&name) {
                    Some(fact) => Cond::Fact(fact, self.known()?),
                    None => {
                        self.at = start;
                        return Err(format!("{name:?} is no condition"));
                    }
                },
            };
            conds.push(cond);
            if !self.take(",") {
                self.want("}")?;
                return Ok(conds);
            }
        }
    }

    fn known(&mut self) -> Parsed<Var> {
        let start = self.at;
        let name = self.atom().to_owned();
        match self.vars.iter().position(|v| *v == name) {
            Some(i) => Ok(Var(i as u8)),
            None => {
                self.at = start;
                Err(format!("{name:?} is not in the rule"))
            }
        }
    }
}

/// KILL tests stand at roots only, on both sides.
fn check_kill(t: &Term, root: bool) -> Parsed<()> {
    match t {
        Term::Op(Op::Kill, _) if !root => Err("kill stands at a root only".to_owned()),
        Term::Op(_, args) => args.iter().try_for_each(|a| check_kill(a, false)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        let shown = match RuleSet::parse(&[("test", text)]) {
            Ok(set) => set.rules.iter().map(|r| format!("{r}\n")).collect(),
            Err(errors) => errors.iter().map(|e| format!("{e}\n")).collect::<String>(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_rule_prints_as_it_reads() {
        check(
            "; a comment\n\nmad-form: (add (mul a b) c) ~> (mad a b c) [contract] -- one rounding may go\n\
             mul-pow2: (mul a #k) => (mul #k a) [nsz,nnan] {power-of-two #k, once a} -- why\n\
             words: (and a 0xff00) => (and a -1i) -- why",
            expect![[r#"
                mad-form: (add (mul a b) c) ~> (mad a b c) [contract] -- one rounding may go
                mul-pow2: (mul a #k) => (mul #k a) [nsz, nnan] {power-of-two #k, once a} -- why
                words: (and a 0xff00) => (and a -1i) -- why
            "#]],
        );
    }

    #[test]
    fn both_directions_are_two_rules() {
        check(
            "pow-split: (pow a b) <~> (ex2 (mul b (lg2 a))) [afn] -- its definition",
            expect![[r#"
                pow-split: (pow a b) ~> (ex2 (mul b (lg2 a))) [afn] -- its definition
                pow-split-reverse: (ex2 (mul b (lg2 a))) ~> (pow a b) [afn] -- its definition
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        check(
            "no colon\nUpper: (add a b) => a -- w\nx: (nope a) => a -- w\nx: (add a) => a -- w\nx: (add a b) => c -- w\n\
             x: (add a b) => a [fast] -- w\nx: (add a b) => a {warm a} -- w\nx: (add a b) => a {unit c} -- w\nx: (add a b) => a\n\
             x: (add a b) => a --\nx: a => a -- w\nx: (add a (kill b)) => a -- w\nx: (add a 1) => a -- w\nx: (add a b) <~> a -- w\n\
             x: (add a b => a -- w",
            expect![[r#"
                test.rules:1:1: expected a name and `:`
                test.rules:2:1: a name has lower-case letters, digits and hyphens
                test.rules:3:5: "nope" is no scalar operation
                test.rules:4:5: add takes 2 operands, not 1
                test.rules:5:18: c is not on the left side
                test.rules:6:20: "fast" is no float contract
                test.rules:7:20: "warm" is no condition
                test.rules:8:24: "c" is not in the rule
                test.rules:9:18: expected `--`
                test.rules:10:21: expected why the rule holds
                test.rules:11:13: the left side is no operation
                test.rules:12:28: kill stands at a root only
                test.rules:13:11: "1" is neither a variable nor a constant (1.0, -2i, 0xff, inf)
                test.rules:14:22: a rule of both directions names all variables on both sides
                test.rules:15:13: "=>" is neither a variable nor a constant (1.0, -2i, 0xff, inf)
            "#]],
        );
    }

    #[test]
    fn names_are_unique() {
        check(
            "x: (add a 0.0) => a [nsz] -- w\nx: (mul a 1.0) => a -- w",
            expect![[r#"
                test.rules:2:1: the name x is taken
            "#]],
        );
    }
}
