//! Which registers are declared.

use super::{AddrReg, File, Index, Item, Program, Register, Sink, codes, register_text};
use crate::ast::Span;

/// A file and outer index; see [`key`].
type Key = (File, Option<i32>);

/// The declared registers of a program, as ranges.
pub(super) struct Declared {
    /// The first range of the registers of each file that have one index: most lie there.
    usual: [(i32, i32); FILES],
    /// Sorted, disjoint ranges.
    ranges: Vec<Range>,
}

/// The first and last register of a range.
type Range = (Key, i32, i32);

/// The number of register files.
const FILES: usize = File::Loop as usize + 1;

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
        let mut all = Vec::with_capacity(program.header.len());
        let mut immediates = 0;
        for item in &program.header {
            match item {
                Item::Decl(d) if d.first <= d.last => {
                    all.push((key(d.file, d.dim.flatten()), d.first, d.last, d.span));
                }
                Item::Imm(_) => immediates += 1,
                _ => {}
            }
        }
        all.sort_by_key(|&(key, first, _, span)| (key, first, span.start));
        let mut ranges = merge(&all, sink);
        if immediates > 0 {
            // Should there be declarations of immediates as well, they do not count.
            let key = (File::Imm, None);
            ranges.retain(|r| r.0 != key);
            let at = ranges.partition_point(|r| r.0 < key);
            ranges.insert(at, (key, 0, immediates - 1));
        }
        let mut usual = [(0, -1); FILES];
        for &((file, dim), first, last) in ranges.iter().rev() {
            if key(file, None).1 == dim {
                usual[file as usize] = (first, last);
            }
        }
        Declared { usual, ranges }
    }

    /// The ranges of one set of registers.
    fn ranges(&self, key: Key) -> Option<&[Range]> {
        let rest = &self.ranges[self.ranges.partition_point(|r| r.0 < key)..];
        let ranges = &rest[..rest.partition_point(|r| r.0 == key)];
        (!ranges.is_empty()).then_some(ranges)
    }

    fn has_file(&self, file: File) -> bool {
        self.ranges.iter().any(|r| r.0.0 == file)
    }

    /// Whether `reg` is direct, of one index, and declared.
    #[inline]
    fn is_usual(&self, reg: &Register) -> bool {
        let (first, last) = self.usual[reg.file as usize];
        let index = &reg.index;
        reg.dim.is_none() && index.addr.is_none() && (first..=last).contains(&index.base)
    }

    /// Reports `reg`, or an address register in it, if it is not declared. Of an indirect
    /// register any of its file may be declared.
    #[inline]
    pub(super) fn check(&self, reg: &Register, span: Span, sink: &mut Sink) {
        if !self.is_usual(reg) {
            self.check_unusual(reg, span, sink);
        }
    }

    fn check_unusual(&self, reg: &Register, span: Span, sink: &mut Sink) {
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
            Some(dim) => match self.ranges(key(reg.file, dim)) {
                Some(ranges) if reg.index.addr.is_some() || holds(ranges, reg.index.base) => {}
                ranges => self.report(reg, ranges, span, sink),
            },
            None if self.has_file(reg.file) => {}
            None => self.report(reg, None, span, sink),
        }
    }

    fn check_addr(&self, addr: AddrReg, span: Span, sink: &mut Sink) {
        let ranges = self.ranges(key(addr.file, None));
        if !ranges.is_some_and(|r| holds(r, addr.index)) {
            let reg = Register {
                file: addr.file,
                dim: None,
                index: Index::direct(addr.index),
            };
            self.report(&reg, ranges, span, sink);
        }
    }

    fn report(&self, reg: &Register, ranges: Option<&[Range]>, span: Span, sink: &mut Sink) {
        let name = reg.file.name();
        let code = if ranges.is_some() {
            codes::INDEX_RANGE
        } else {
            codes::UNDECLARED
        };
        let message = || {
            let hint = ranges.and_then(|r| Some((r.first()?.1, r.last()?.2)));
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
fn merge(list: &[(Key, i32, i32, Span)], sink: &mut Sink) -> Vec<Range> {
    let mut merged: Vec<Range> = Vec::with_capacity(list.len() + 1);
    for &(key, first, last, span) in list {
        match merged.last_mut().filter(|r| r.0 == key) {
            Some((_, _, end)) if first <= *end => {
                sink.warning(codes::REDECLARED, span, || {
                    let name = key.0.name();
                    (format!("{name}[{first}] is declared more than once"), None)
                });
                *end = last.max(*end);
            }
            Some((_, _, end)) if *end < i32::MAX && first == *end + 1 => *end = last,
            _ => merged.push((key, first, last)),
        }
    }
    merged
}

/// Whether sorted, disjoint ranges hold `n`.
fn holds(ranges: &[Range], n: i32) -> bool {
    let at = ranges.partition_point(|&(_, _, last)| last < n);
    ranges.get(at).is_some_and(|&(_, first, _)| first <= n)
}
