//! From the name of an opcode to the opcode: a hash table made by the compiler.

use crate::opcode::{OPCODES, Opcode};

/// The bytes of a name of up to 16 bytes as two numbers, its first byte lowest.
pub(crate) type Key = (u64, u64);

const SLOTS: usize = 1024;

/// Every name of every opcode, near the place its key asks for.
static TABLE: [(Key, Opcode); SLOTS] = {
    let mut table = [((0, 0), Opcode::Nop); SLOTS];
    let mut i = 0;
    while i < OPCODES.len() {
        let row = &OPCODES[i];
        insert(&mut table, row.name, row.op);
        let mut j = 0;
        while j < row.aliases.len() {
            insert(&mut table, row.aliases[j], row.op);
            j += 1;
        }
        i += 1;
    }
    table
};

const fn insert(table: &mut [(Key, Opcode); SLOTS], name: &str, op: Opcode) {
    assert!(!name.is_empty() && name.len() <= 16);
    let key = key(name.as_bytes());
    let mut slot = hash(key);
    while table[slot].0.0 != 0 {
        slot = (slot + 1) % SLOTS;
    }
    table[slot] = (key, op);
}

/// The slot where the search for a key begins.
const fn hash(key: Key) -> usize {
    let mixed = (key.0 ^ key.1.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

/// The key of a name; what is beyond its first 16 bytes is left out.
pub(crate) const fn key(name: &[u8]) -> Key {
    let (mut low, mut high) = (0, 0);
    let mut i = 0;
    while i < name.len() && i < 16 {
        let byte = (name[i] as u64) << (i % 8 * 8);
        if i < 8 {
            low |= byte;
        } else {
            high |= byte;
        }
        i += 1;
    }
    (low, high)
}

/// The opcode that a name in upper case stands for, in any era.
pub(crate) fn opcode(name: &[u8]) -> Option<Opcode> {
    match name.len() {
        1..=16 => find(key(name)),
        _ => None,
    }
}

/// The opcode whose name is the first `len` bytes of `text`.
pub(crate) fn opcode_at(text: &[u8], len: usize) -> Option<Opcode> {
    match text.first_chunk::<8>() {
        Some(first) if (1..=8).contains(&len) => {
            let low = u64::from_le_bytes(*first) & (u64::MAX >> (64 - 8 * len));
            find((low, 0))
        }
        _ => opcode(text.get(..len)?),
    }
}

fn find(key: Key) -> Option<Opcode> {
    let mut slot = hash(key);
    // An empty slot ends the search: a third of the table is in use at most.
    loop {
        let (there, op) = TABLE[slot];
        if there == key {
            return Some(op);
        }
        if there.0 == 0 {
            return None;
        }
        slot = (slot + 1) % SLOTS;
    }
}
