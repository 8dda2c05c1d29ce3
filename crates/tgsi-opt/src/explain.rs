//! Which rules changed what the instructions of the input compute.

use tgsi::{Dialect, Program, print};

/// What rules did to the values of one instruction of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Place of the instruction in the input, from 0; nothing for values that no instruction of the
    /// input computes, which come last.
    pub inst: Option<u32>,
    /// The instruction as text, without its number.
    pub text: String,
    /// The rules, in the order in which they first applied; none is where no rule took part.
    pub rules: Vec<Applied>,
}

/// A rule that took part in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Name of the rule.
    pub rule: &'static str,
    /// How many values it changed.
    pub times: u32,
}

/// Where a program computed what another one made from it computes, by instruction and channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// Nothing is known by itself: the programs are the same.
    of: Option<Vec<Lanes>>,
}

type Lanes = [Option<(u32, u8)>; 4];

/// An instruction that is none.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Origins {
    /// Adds what the next instruction computes.
    pub(crate) fn push(&mut self, lanes: Lanes) {
        self.of.get_or_insert_default().push(lanes);
    }

    pub(crate) fn get(&self, inst: u32, lane: u8) -> Option<(u32, u8)> {
        let Some(of) = &self.of else {
            return (inst != NOWHERE).then_some((inst, lane));
        };
        let lanes = of.get(inst as usize)?;
        lanes[usize::from(lane & 3)].or_else(|| lanes.iter().find_map(|l| *l))
    }

    /// The origins of what comes of the second program in terms of the first.
    pub(crate) fn followed_by(&self, next: &Origins) -> Origins {
        let Some(of) = &next.of else {
            return self.clone();
        };
        let back = |l: Option<(u32, u8)>| l.and_then(|(inst, lane)| self.get(inst, lane));
        Origins {
            of: Some(of.iter().map(|lanes| lanes.map(back)).collect()),
        }
    }

    /// Puts the place in the first program for the place in the second.
    pub(crate) fn trace_back(&self, steps: &mut [(u32, u8, u16)]) {
        for s in steps {
            (s.0, s.1) = self.get(s.0, s.1).unwrap_or((NOWHERE, 0));
        }
    }
}

/// An entry for each instruction of `program`, END left out, and one for the steps of no instruction
/// if there are any.
pub(crate) fn explanation(program: &Program, steps: &[(u32, u8, u16)]) -> Vec<Explanation> {
    let numbered = print(program, &Dialect::mesa());
    let lines = numbered.lines().filter_map(|l| {
        let (number, text) = l.trim_start().split_once(": ")?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some(text)
    });
    let mut list: Vec<Explanation> = (0..)
        .zip(lines)
        .map(|(inst, text)| Explanation {
            inst: Some(inst),
            text: text.to_owned(),
            rules: Vec::new(),
        })
        .collect();
    // END computes nothing.
    if program
        .insts
        .last()
        .is_some_and(|i| i.op == tgsi::Opcode::End)
    {
        list.pop();
    }
    let mut rest = Explanation {
        inst: None,
        text: String::new(),
        rules: Vec::new(),
    };
    let rules = &tgsi_passes::rules::rule_set().rules;
    for &(inst, _, rule) in steps {
        let entry = list.get_mut(inst as usize).unwrap_or(&mut rest);
        let name = rules[usize::from(rule)].name.as_str();
        match entry.rules.iter_mut().find(|a| a.rule == name) {
            Some(a) => a.times += 1,
            None => entry.rules.push(Applied {
                rule: name,
                times: 1,
            }),
        }
    }
    if !rest.rules.is_empty() {
        list.push(rest);
    }
    list
}
