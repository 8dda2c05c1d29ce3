//! Which registers are declared.

use std::collections::BTreeMap;

use super::{AddrReg, File, Index, Item, Program, Register, Sink, codes, register_text};
use crate::ast::Span;

/// A file and outer index; see [`key`].
type Key = (File, Option<i32>);

/// The declared registers of a program, as ranges.
pub(super) struct Declared {
    /// Sorted, disjoint ranges of each file and outer index.
    ranges: BTreeMap<Key, Vec<(i32, i32)>>,
}

/// What counts as one set of registers. Inputs and outputs of one number are one
/// register of every vertex, and `CONST[i]` is `CONST[0][i]`.
fn key(file: File, dim: Option<i32>) -> Key {
    match file {
        File::In | File::Out | File::Sv => (file, None),
        File::Const => (file, Some(dim.unwrap_or(0))),
        _ => (file, dim),
    }
}

/// Whether registers of `file` may have two indices.
fn has_two_dimensions(file: File) -> bool {
    matches!(file, File::In | File::Out | File::Const | File::HwAtomic)
}

impl Declared {
    /// Collects the declarations; one register declared twice is reported.
    pub(super) fn of(program: &Program, sink: &mut Sink) -> Self {
        let mut all: BTreeMap<_, Vec<(i32, i32, Span)>> = BTreeMap::new();
        let mut immediates = 0;
        for item in &program.header {
            match item {
                Item::Decl(d) if d.first <= d.last => {
                    let ranges = all.entry(key(d.file, d.dim.flatten())).or_default();
                    ranges.push((d.first, d.last, d.span));
                }
                Item::Imm(_) => immediates += 1,
                _ => {}
            }
        }
        let mut ranges: BTreeMap<_, _> = BTreeMap::new();
        for (key, mut list) in all {
            list.sort_by_key(|&(first, _, span)| (first, span.start));
            ranges.insert(key, merge(key.0, &list, sink));
        }
        if immediates > 0 {
            ranges.insert((File::Imm, None), vec![(0, immediates - 1)]);
        }
        Declared { ranges }
    }

    fn has_file(&self, file: File) -> bool {
        let (low, high) = ((file, None), (file, Some(i32::MAX)));
        self.ranges.range(low..=high).next().is_some()
    }

    /// Reports `reg`, or an address register in it, if it is not declared. Of an indirect
    /// register any of its file may be declared.
    pub(super) fn check(&self, reg: &Register, span: Span, sink: &mut Sink) {
        for addr in [Some(reg.index), reg.dim]
            .into_iter()
            .flatten()
            .filter_map(|i| i.addr)
        {
            self.check_addr(addr, span, sink);
        }
        if reg.dim.is_some() && !has_two_dimensions(reg.file) {
            sink.warning(codes::DIMENSIONS, span, || {
                let message = format!(
                    "{} has two indices, but the file one dimension",
                    register_text(reg)
                );
                (message, None)
            });
        }
        let outer = reg.dim.map_or(Some(None), |d| {
            if d.addr.is_some() {
                None
            } else {
                Some(Some(d.base))
            }
        });
        let per_vertex = matches!(reg.file, File::In | File::Out | File::Sv);
        match outer.or(per_vertex.then_some(None)) {
            Some(dim) => match self.ranges.get(&key(reg.file, dim)) {
                Some(ranges) if reg.index.addr.is_some() || holds(ranges, reg.index.base) => {}
                ranges => self.report(reg, ranges.map(Vec::as_slice), span, sink),
            },
            None if self.has_file(reg.file) => {}
            None => self.report(reg, None, span, sink),
        }
    }

    fn check_addr(&self, addr: AddrReg, span: Span, sink: &mut Sink) {
        let ranges = self.ranges.get(&key(addr.file, None));
        if !ranges.is_some_and(|r| holds(r, addr.index)) {
            let reg = Register {
                file: addr.file,
                dim: None,
                index: Index::direct(addr.index),
            };
            self.report(&reg, ranges.map(Vec::as_slice), span, sink);
        }
    }

    fn report(&self, reg: &Register, ranges: Option<&[(i32, i32)]>, span: Span, sink: &mut Sink) {
        let name = reg.file.name();
        let code = if ranges.is_some() {
            codes::INDEX_RANGE
        } else {
            codes::UNDECLARED
        };
        let message = || {
            let hint = ranges.and_then(|r| Some((r.first()?.0, r.last()?.1)));
            let hint = hint.map(|(a, b)| format!("declared registers lie in {name}[{a}..{b}]"));
            (format!("{} is not declared", register_text(reg)), hint)
        };
        if reg.file == File::Memory {
            sink.warning(code, span, message);
        } else {
            sink.error(code, span, message);
        }
    }
}

/// Joins sorted ranges; those that overlap are reported.
fn merge(file: File, list: &[(i32, i32, Span)], sink: &mut Sink) -> Vec<(i32, i32)> {
    let mut merged: Vec<(i32, i32)> = Vec::new();
    for &(first, last, span) in list {
        match merged.last_mut() {
            Some((_, end)) if first <= *end => {
                sink.warning(codes::REDECLARED, span, || {
                    (
                        format!("{}[{first}] is declared more than once", file.name()),
                        None,
                    )
                });
                *end = last.max(*end);
            }
            Some((_, end)) if *end < i32::MAX && first == *end + 1 => *end = last,
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// Whether sorted, disjoint ranges hold `n`.
fn holds(ranges: &[(i32, i32)], n: i32) -> bool {
    let at = ranges.partition_point(|&(_, last)| last < n);
    ranges.get(at).is_some_and(|&(first, _)| first <= n)
}
