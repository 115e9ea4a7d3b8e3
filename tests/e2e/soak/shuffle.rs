//! Random order without repetition: each item is drawn once before any is drawn again.

use super::random::Random;

/// Numbers that are drawn in random order, and shuffled again after the last.
pub(super) struct Shuffle {
    cards: usize,
    left: Vec<usize>,
    random: Random,
}

impl Shuffle {
    pub(super) fn of(cards: usize, random: Random) -> Self {
        assert!(cards > 0, "nothing to draw");
        Self { cards, left: Vec::new(), random }
    }

    pub(super) fn draw(&mut self) -> usize {
        if self.left.is_empty() {
            self.left = (0..self.cards).collect();
            for at in (1..self.cards).rev() {
                let other = self.random.below(at as u64 + 1);
                self.left.swap(at, usize::try_from(other).unwrap());
            }
        }
        self.left.pop().unwrap()
    }

    /// The random generator, for other choices.
    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}
