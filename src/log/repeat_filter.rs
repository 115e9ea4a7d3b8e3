//! How often what is said: the first of a kind at once, more of it once a period with the number of those left out.
//!
//! Whatever is said last of a subject comes out within the period, even if nothing more happens: what is held back is the
//! latest, and nothing older comes after it.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::time::Duration;

/// For how long a line is not said again.
pub(super) const PERIOD: Duration = Duration::from_secs(60);
/// How many different lines are said of one subject in one period, before the rest is held back too.
const MOST_KINDS: usize = 8;
/// The same for what somebody asked for, repeated or not.
const MOST_ACTS: usize = 100;
/// How many subjects are told apart. Those beyond share one for each module.
const MOST_SUBJECTS: usize = 1024;

/// What lines are about: what one module says of one source is one story, of which the end counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) module: &'static str,
    /// Empty for what is about none.
    pub(super) source: String,
}

/// How often the same may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Once a period.
    Once,
    /// Each time.
    Each,
}

/// A line to be written now, and how many others of its subject were left out since the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said<L> {
    pub(super) line: L,
    pub(super) suppressed: u64,
}

/// What was said of late, and what is held back.
#[derive(Debug)]
pub(super) struct RepeatFilter<L> {
    period: Duration,
    hasher: RandomState,
    stretches: HashMap<Subject, Stretch<L>>,
    /// Counts what was held back, to keep its order.
    held: u64,
}

/// A period of one subject.
#[derive(Debug)]
struct Stretch<L> {
    ends: Duration,
    /// The hashes of the lines that were said in it.
    said: Vec<u64>,
    held: Option<Held<L>>,
}

/// The latest of what is held back.
#[derive(Debug)]
struct Held<L> {
    line: L,
    kind: u64,
    /// How many are held back, this one included.
    count: u64,
    order: u64,
}

impl<L: Hash> RepeatFilter<L> {
    /// Nothing was said yet.
    pub(super) fn new(period: Duration) -> Self {
        Self { period, hasher: RandomState::new(), stretches: HashMap::new(), held: 0 }
    }

    /// Takes a line, and gives what is to be written now, in this order.
    pub(super) fn take(&mut self, now: Duration, subject: Subject, pace: Pace, line: L) -> Vec<Said<L>> {
        let mut said = self.due(now);
        let kind = self.hasher.hash_one(&line);
        let known = self.stretches.contains_key(&subject) || self.stretches.len() < MOST_SUBJECTS;
        let subject = if known { subject } else { Subject { source: String::new(), ..subject } };
        let ends = now + self.period;
        let stretch = self.stretches.entry(subject).or_insert(Stretch { ends, said: Vec::new(), held: None });
        let is_said_now = match pace {
            Pace::Once => stretch.said.len() < MOST_KINDS && !stretch.said.contains(&kind),
            Pace::Each => stretch.said.len() < MOST_ACTS,
        };
        if is_said_now {
            stretch.said.push(kind);
            // What is held back is older than this, and was said before: the count is enough.
            let suppressed = stretch.held.take().map_or(0, |held| held.count);
            said.push(Said { line, suppressed });
        } else {
            self.held += 1;
            let count = stretch.held.as_ref().map_or(0, |held| held.count) + 1;
            stretch.held = Some(Held { line, kind, count, order: self.held });
        }
        said
    }

    /// What was held back until now.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Said<L>> {
        let ends = now + self.period;
        let mut due = Vec::new();
        self.stretches.retain(|_, stretch| {
            if stretch.ends > now {
                return true;
            }
            let Some(held) = stretch.held.take() else { return false };
            // It has just been said, so the next period begins.
            *stretch = Stretch { ends, said: vec![held.kind], held: None };
            due.push(held);
            true
        });
        in_order(due)
    }

    /// When something that is held back is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.stretches.values().filter(|stretch| stretch.held.is_some()).map(|stretch| stretch.ends).min()
    }

    /// Everything that is held back.
    pub(super) fn rest(&mut self) -> Vec<Said<L>> {
        in_order(self.stretches.drain().filter_map(|(_, stretch)| stretch.held).collect())
    }
}

fn in_order<L>(mut held: Vec<Held<L>>) -> Vec<Said<L>> {
    held.sort_unstable_by_key(|held| held.order);
    held.into_iter().map(|held| Said { line: held.line, suppressed: held.count - 1 }).collect()
}

#[cfg(test)]
mod tests;
