//! The table behind hash-consing: from the hash of a key to the number that has it.
//!
//! It only ever grows, which makes open addressing with linear steps short and its
//! growth free of comparisons: a slot holds the upper half of the hash, and that half
//! says where the slot belongs in a table of any size.

/// Numbers by the hash of their keys. The keys stay with the caller.
#[derive(Clone, Debug)]
pub(crate) struct Interner {
    /// Upper half of the hash above the number plus one; 0 is free. A power of two of them.
    slots: Vec<u64>,
    /// How many there are.
    len: usize,
    /// What brings an upper half down to a place.
    shift: u32,
}

/// Where a key that is not in the table belongs, until the table changes.
#[derive(Clone, Copy)]
pub(crate) struct Free(usize);

impl Interner {
    /// A table with room for `numbers` before it grows.
    pub(crate) fn with_capacity(numbers: usize) -> Interner {
        // A quarter stays free, so that runs stay short.
        let slots = (numbers + numbers / 3 + 1)
            .next_power_of_two()
            .clamp(16, 1 << 31);
        Interner {
            slots: vec![0; slots],
            len: 0,
            shift: 32 - slots.trailing_zeros(),
        }
    }

    /// The number that `same` recognises, or the place for a new one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Result<u32, Free> {
        let half = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut at = (half >> self.shift) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(Free(at));
            }
            if (slot >> 32) as u32 == half {
                let n = slot as u32 - 1;
                if same(n) {
                    return Ok(n);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a number whose key [`Self::find`] just missed.
    #[inline]
    pub(crate) fn insert(&mut self, free: Free, hash: u64, n: u32) {
        self.slots[free.0] = hash >> 32 << 32 | (u64::from(n) + 1);
        self.len += 1;
        if self.len > self.slots.len() / 4 * 3 {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Interner::with_capacity(self.slots.len());
        let mask = larger.slots.len() - 1;
        for &slot in self.slots.iter().filter(|s| **s != 0) {
            let mut at = ((slot >> 32) as u32 >> larger.shift) as usize & mask;
            while larger.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            larger.slots[at] = slot;
        }
        self.slots = larger.slots;
        self.shift = larger.shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted_while_it_grows() {
        let hash = |n: u32| u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut table = Interner::with_capacity(0);
        for i in 0..1000 {
            let Err(free) = table.find(hash(i), |n| n == i) else {
                panic!("{i} is not there yet")
            };
            table.insert(free, hash(i), i);
        }
        for i in 0..1000 {
            assert_eq!(table.find(hash(i), |n| n == i).ok(), Some(i));
        }
    }

    #[test]
    fn equal_hashes_are_told_apart() {
        let mut table = Interner::with_capacity(4);
        for i in 0..40 {
            let Err(free) = table.find(7 << 40, |n| n == i) else {
                panic!("{i} is not there yet")
            };
            table.insert(free, 7 << 40, i);
        }
        assert_eq!(table.find(7 << 40, |n| n == 31).ok(), Some(31));
    }
}
