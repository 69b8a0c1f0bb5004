//! Chance that a seed repeats.

use sha2::{Digest as _, Sha256};

pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: &str, purpose: &str) -> Self {
        let hash = Sha256::digest(format!("{seed} {purpose}"));
        Self(hash.iter().take(8).fold(0, |state, byte| (state << 8) | u64::from(*byte)))
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a length")]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}
