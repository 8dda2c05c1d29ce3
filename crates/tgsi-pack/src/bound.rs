//! How few instructions placed operations can come to.

use rustc_hash::{FxHashMap, FxHashSet};
use tgsi::{Opcode, Shape};
use tgsi_ir::layout::Layout;
use tgsi_ir::{Function, MultiKind};

use crate::lir::{Lir, Node, What, packs};

/// What the lanes of one instruction have in common whatever their operands are.
type Key = (Opcode, bool, bool);

/// A number of instructions below which no packing of these operations comes, `END` left out: in each
/// block as many as the lanes of an operation need when all stand well, and one for each that has no
/// lanes. Copies, address loads and stores that take results along are not counted. `mixed` says
/// whether packs of different operations are made one.
pub fn lower_bound(f: &Function, lir: &Lir, layout: &Layout, mixed: bool) -> u32 {
    let mut lanes: FxHashMap<Key, u32> = FxHashMap::default();
    let mut single = FxHashSet::default();
    let mut total = crate::count::flow(layout) as u32;
    for block in lir.blocks.iter() {
        lanes.clear();
        single.clear();
        for &n in &block.nodes {
            let node = &lir.nodes[n as usize];
            match node.what {
                What::Alu(op) if op.info().shape == Shape::Comp => {
                    *lanes.entry(key(op, node, mixed)).or_default() += width(op);
                }
                // One instruction gives one result to several words.
                What::Alu(op) if packs(op) => {
                    let words: Vec<_> = lir.words(node).to_vec();
                    total += u32::from(single.insert((op, node.sat, node.precise, words)));
                }
                What::Alu(_) => total += 1,
                What::Multi(_) => {
                    let stores = lir.multi(f, node).map(|m| m.kind) == Some(MultiKind::Store);
                    total += u32::from(!stores);
                }
            }
        }
        total += instructions(&mut lanes, mixed);
    }
    total
}

/// Lanes that an operation takes: a 64-bit word is two.
fn width(op: Opcode) -> u32 {
    let info = op.info();
    let wide = info.dst_ty.is_wide() || info.src_ty.iter().any(|t| t.is_wide());
    if wide { 2 } else { 1 }
}

/// The operation as which a lane counts: with [`lower_bound`]'s `mixed`, the one that others become.
fn key(op: Opcode, node: &Node, mixed: bool) -> Key {
    use Opcode::*;
    let op = match op {
        Add | Mul | Mad if mixed && !node.precise => Mad,
        Ucmp | And if mixed && !node.precise => Ucmp,
        _ => op,
    };
    (op, node.sat, node.precise)
}

/// Fewest instructions for these lanes.
fn instructions(lanes: &mut FxHashMap<Key, u32>, mixed: bool) -> u32 {
    let mut total = 0;
    if mixed {
        // Copies take the places that other lanes leave.
        for sat in [false, true] {
            let Some(mut moved) = lanes.remove(&(Opcode::Mov, sat, false)) else {
                continue;
            };
            for op in [Opcode::Mad, Opcode::Ucmp, Opcode::Cmp] {
                let n = lanes.get(&(op, sat, false)).copied().unwrap_or(0);
                moved = moved.saturating_sub(n.next_multiple_of(4) - n);
            }
            total += moved.div_ceil(4);
        }
    }
    total + lanes.values().fold(0, |sum, n| sum + n.div_ceil(4))
}
