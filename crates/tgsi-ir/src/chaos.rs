//! Decisions by chance where otherwise a heuristic decides, for tests: whatever a heuristic says, what is
//! made has to be right.

/// A source of decisions. They depend on the seed, on what is decided and on the key, not on the order in
/// which they are asked for, so that equal seeds give equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chaos(u64);

impl Chaos {
    /// The decisions of a seed.
    pub fn new(seed: u64) -> Chaos {
        Chaos(mixed(seed ^ 0x6368_616f_7321))
    }

    /// Other decisions, for a part numbered `n`.
    #[must_use]
    pub fn part(self, n: u64) -> Chaos {
        Chaos(mixed(self.0 ^ mixed(n)))
    }

    /// Any word.
    pub fn word(self, what: &str, key: u64) -> u64 {
        let name = what
            .bytes()
            .fold(0, |h: u64, b| h.wrapping_mul(257) ^ u64::from(b));
        mixed(self.0 ^ mixed(name) ^ mixed(key).rotate_left(17))
    }

    /// A number below `n`, which is not 0.
    pub fn below(self, n: u64, what: &str, key: u64) -> u64 {
        self.word(what, key) % n
    }

    /// One time in `n`.
    pub fn one_in(self, n: u64, what: &str, key: u64) -> bool {
        self.below(n, what, key) == 0
    }

    /// Puts a list in any order.
    pub fn shuffle<T>(self, list: &mut [T], what: &str, key: u64) {
        for i in (1..list.len()).rev() {
            let j = self.part(key).below(i as u64 + 1, what, i as u64);
            list.swap(i, j as usize);
        }
    }
}

/// A word of which every bit depends on all bits of the key.
fn mixed(key: u64) -> u64 {
    let mut x = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::Chaos;

    #[test]
    fn equal_seeds_decide_alike() {
        let words =
            |seed| -> Vec<u64> { (0..32).map(|k| Chaos::new(seed).word("test", k)).collect() };
        assert_eq!(words(3), words(3));
        assert_ne!(words(3), words(4));
        let mut all = words(3);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 32);
        assert_ne!(
            Chaos::new(3).word("test", 1),
            Chaos::new(3).word("other", 1)
        );
    }

    #[test]
    fn a_shuffled_list_has_the_same_members() {
        let mut list: Vec<u32> = (0..40).collect();
        Chaos::new(9).shuffle(&mut list, "test", 0);
        assert_ne!(list, (0..40).collect::<Vec<u32>>());
        list.sort_unstable();
        assert_eq!(list, (0..40).collect::<Vec<u32>>());
    }
}
