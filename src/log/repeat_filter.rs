//! Limits repeated log lines: the first of a kind is written at once, and later ones at most once per period, with the number of
//! lines left out.
//!
//! The last line about a subject is always written within the period: the filter holds back the latest line, and discards a held
//! line once a newer one is written.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::time::Duration;

/// For how long a line is not repeated.
pub(super) const PERIOD: Duration = Duration::from_secs(60);
/// Different lines about one subject that are written in one period.
const MAX_KINDS: usize = 8;
/// Lines that may be repeated, about one subject in one period.
const MAX_REPEATABLE: usize = 100;
/// Further subjects share one entry per module.
const MAX_SUBJECTS: usize = 1024;

/// The subject of a line. The filter limits each subject separately.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) module: &'static str,
    /// The source of leases; empty if the line is about none.
    pub(super) source: String,
}

/// Whether a line may be repeated within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    OncePerPeriod,
    Unlimited,
}

/// A line to write, with the number of earlier lines about its subject that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilteredLine<L> {
    pub(super) line: L,
    pub(super) suppressed: u64,
}

/// The lines of the current period of each subject.
#[derive(Debug)]
pub(super) struct RepeatFilter<L> {
    period: Duration,
    hasher: RandomState,
    subjects: HashMap<Subject, SubjectPeriod<L>>,
    /// The number of lines held back so far, which gives their order.
    held_count: u64,
}

#[derive(Debug)]
struct SubjectPeriod<L> {
    ends: Duration,
    /// The hashes of the lines written in the period.
    written: Vec<u64>,
    held: Option<HeldLine<L>>,
}

/// The latest line held back.
#[derive(Debug)]
struct HeldLine<L> {
    line: L,
    hash: u64,
    /// The number of lines held back, including this one.
    count: u64,
    order: u64,
}

impl<L: Hash> RepeatFilter<L> {
    pub(super) fn new(period: Duration) -> Self {
        Self { period, hasher: RandomState::new(), subjects: HashMap::new(), held_count: 0 }
    }

    /// Filters a line. Returns the lines to write now, in order.
    pub(super) fn filter(
        &mut self,
        now: Duration,
        subject: Subject,
        repetition: Repetition,
        line: L,
    ) -> Vec<FilteredLine<L>> {
        let mut lines = self.take_due(now);
        let hash = self.hasher.hash_one(&line);
        let is_tracked = self.subjects.contains_key(&subject) || self.subjects.len() < MAX_SUBJECTS;
        let subject = if is_tracked { subject } else { Subject { source: String::new(), ..subject } };
        let ends = now + self.period;
        let period = self.subjects.entry(subject).or_insert(SubjectPeriod { ends, written: Vec::new(), held: None });
        let is_written_now = match repetition {
            Repetition::OncePerPeriod => period.written.len() < MAX_KINDS && !period.written.contains(&hash),
            Repetition::Unlimited => period.written.len() < MAX_REPEATABLE,
        };
        if is_written_now {
            period.written.push(hash);
            // The held line is older, and the same line was written before. Its count is enough.
            let suppressed = period.held.take().map_or(0, |held| held.count);
            lines.push(FilteredLine { line, suppressed });
        } else {
            self.held_count += 1;
            let count = period.held.as_ref().map_or(0, |held| held.count) + 1;
            period.held = Some(HeldLine { line, hash, count, order: self.held_count });
        }
        lines
    }

    /// Takes the held lines whose period has ended.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<FilteredLine<L>> {
        let ends = now + self.period;
        let mut due = Vec::new();
        self.subjects.retain(|_, period| {
            if period.ends > now {
                return true;
            }
            let Some(held) = period.held.take() else { return false };
            // The line is written now, so a new period begins.
            *period = SubjectPeriod { ends, written: vec![held.hash], held: None };
            due.push(held);
            true
        });
        in_order(due)
    }

    /// When the next held line is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.subjects.values().filter(|period| period.held.is_some()).map(|period| period.ends).min()
    }

    /// Takes all held lines.
    pub(super) fn take_all(&mut self) -> Vec<FilteredLine<L>> {
        in_order(self.subjects.drain().filter_map(|(_, period)| period.held).collect())
    }
}

fn in_order<L>(mut held: Vec<HeldLine<L>>) -> Vec<FilteredLine<L>> {
    held.sort_unstable_by_key(|held| held.order);
    held.into_iter().map(|held| FilteredLine { line: held.line, suppressed: held.count - 1 }).collect()
}

#[cfg(test)]
mod tests;
