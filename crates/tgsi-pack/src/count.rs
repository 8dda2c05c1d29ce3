//! How many instructions a function comes to.

use rustc_hash::FxHashSet;
use tgsi_ir::layout::{Layout, Step, layout};
use tgsi_ir::{Function, VOp};

use crate::lir::{self, Address, NONE, Ref};
use crate::pack::{PackId, PackOptions, Packing, pack};
use crate::webs::{WebOptions, settle_undefined, webs};

/// Instructions of control flow but ELSE, which an empty second arm does not need.
pub(crate) fn flow(layout: &Layout) -> usize {
    let counts = |s: &&Step| !matches!(s, Step::Block(_) | Step::Else);
    layout.script.iter().filter(counts).count()
}

/// Fewest instructions that any order of the packs comes to, `END` left out: address loads
/// are not known yet.
pub fn least_instructions(layout: &Layout, p: &Packing) -> u32 {
    let alive = |b: &[PackId]| b.iter().filter(|&&q| !p.packs[q as usize].dead).count();
    let packs: usize = p.blocks.iter().map(|b| alive(b)).sum();
    let flow = flow(layout);
    // An empty second arm needs no ELSE.
    let full = |w: &&[Step]| match **w {
        [Step::Else, Step::Block(b), Step::EndIf] => alive(&p.blocks[b as usize]) > 0,
        [Step::Else, ..] => true,
        _ => false,
    };
    (packs + flow + layout.script.windows(3).filter(full).count()) as u32
}

/// Loads of address registers, if each address is loaded once in a block.
fn address_loads(p: &Packing) -> u32 {
    let lir = &p.lir;
    if lir.addrs.is_empty() && lir.exts.iter().all(|x| x.addrs.is_empty()) {
        return 0;
    }
    let mut count = 0;
    let mut wanted: FxHashSet<Address> = FxHashSet::default();
    for block in &p.blocks {
        wanted.clear();
        for &q in block {
            let pack = &p.packs[q as usize];
            if pack.dead {
                continue;
            }
            let stored = (pack.store != NONE).then_some(&pack.store);
            for &n in pack.nodes.iter().chain(stored) {
                let node = &lir.nodes[n as usize];
                wanted.extend(lir.node_addrs(node).iter().map(|a| a.1));
                // What a store writes comes from the pack itself.
                let words = if n == pack.store {
                    &[]
                } else {
                    lir.words(node)
                };
                for o in words {
                    if let Ref::Ext(x, _) = o.r {
                        wanted.extend(&lir.exts[x as usize].addrs);
                    }
                }
            }
        }
        count += wanted.len() as u32;
    }
    count
}

/// About the number of instructions of a function as it stands, packed without the wishes of a
/// target.
pub fn instructions(f: &Function) -> u32 {
    let negates = f.values.iter().any(|(_, d)| d.op == VOp::INeg);
    let l = layout(f);
    let mut lir = lir::build(f, &l, negates);
    let w = webs(
        &lir,
        &l,
        WebOptions {
            whole_outputs: &[],
            no_int_outputs: false,
        },
    );
    settle_undefined(&mut lir, &w);
    let options = PackOptions {
        whole_outputs: &[],
        seed: 0,
        reach: u32::MAX,
        virgl: false,
        mix: None,
        level_limit: None,
        plain_coordinates: false,
        addresses: 4,
        indexed_reads: u32::MAX,
    };
    let p = pack(f, &lir, &w, &options);
    least_instructions(&l, &p) + address_loads(&p)
}
