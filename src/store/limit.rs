//! Limits on the rows of a reading: the first leases by name and the first rows of each are kept, the others counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lease::{Column, LeaseRecord, RecordFault, RecordSet, RejectedRecord, Rules};

#[cfg(test)]
mod tests;

/// Which leases of a store are kept.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name of the only lease, if rows have no name.
    pub only_lease: Arc<str>,
    /// The maximum number of leases: the first by name are kept.
    pub max_leases: usize,
}

/// Collects the rows of a reading within four limits: the first `max_leases` leases by name, [`Self::MEMBERS`] rows for
/// one lease, [`Self::ROWS_PER_LEASE`] rows for each possible lease, and `max_leases` rows without a name.
///
/// Rows come in any order, so the rows beyond a limit are known only at the end. Rows are collected up to a threshold,
/// where those that are certainly beyond a limit are dropped. The next threshold is 1.5 times the number of rows that
/// remain, so that time is proportional to the number of rows and memory to the limits.
#[derive(Debug)]
pub struct RecordLimiter {
    rows: Vec<LeaseRecord>,
    /// Invalid rows with the name of their lease.
    rejected: Vec<RejectedRecord>,
    /// Invalid rows without a name.
    nameless: Vec<RejectedRecord>,
    max_leases: usize,
    /// The number of rows with a name at which those beyond the limits are dropped.
    threshold: usize,
    /// The last lease by name that can be kept, once leases were dropped.
    last_kept: Option<Arc<str>>,
    /// Kept leases some of whose rows were dropped.
    incomplete: BTreeSet<Arc<str>>,
    over_limit: u64,
    /// The number of rows inspected so far to find those beyond the limits.
    #[cfg(test)]
    inspected: usize,
}

impl RecordLimiter {
    /// The maximum number of rows of one lease: the first that come are kept.
    pub const MEMBERS: usize = Rules::MAX_MEMBERS;
    /// The maximum number of rows in all, for each possible lease. Leases by name beyond that are dropped.
    pub const ROWS_PER_LEASE: usize = 10;

    /// An empty limiter.
    #[must_use]
    pub const fn new(max_leases: usize) -> Self {
        Self {
            rows: Vec::new(),
            rejected: Vec::new(),
            nameless: Vec::new(),
            max_leases,
            threshold: max_leases.saturating_mul(2),
            last_kept: None,
            incomplete: BTreeSet::new(),
            over_limit: 0,
            #[cfg(test)]
            inspected: 0,
        }
    }

    /// Whether a lease of this name can still be kept. If not, its row is counted and need not be decoded.
    pub fn admits(&mut self, lease: &str) -> bool {
        let admitted = self.last_kept.as_ref().is_none_or(|last| lease <= &**last);
        self.over_limit += u64::from(!admitted);
        admitted
    }

    /// Adds a valid row.
    pub fn push(&mut self, row: LeaseRecord) {
        self.rows.push(row);
        self.compact_at_threshold();
    }

    /// Adds an invalid row.
    pub fn reject(&mut self, row: RejectedRecord) {
        if row.lease.is_some() {
            self.rejected.push(row);
            self.compact_at_threshold();
        } else if self.nameless.len() < self.max_leases {
            self.nameless.push(row);
        } else {
            self.over_limit += 1;
        }
    }

    /// The rows that are kept.
    #[must_use]
    pub fn finish(mut self) -> RecordSet {
        self.compact();
        let Self { rows, mut rejected, nameless: mut all_rejected, last_kept, incomplete, mut over_limit, .. } = self;
        all_rejected.append(&mut rejected);
        // Each of these records stands for one of the rows that were counted.
        over_limit -= incomplete.len() as u64;
        all_rejected.extend(incomplete.into_iter().map(|lease| RejectedRecord {
            lease: Some(lease),
            column: Column::Lease,
            fault: RecordFault::OverLimit,
        }));
        RecordSet { accepted: rows, rejected: all_rejected, over_limit, last_kept }
    }

    const fn max_rows(&self) -> usize {
        let leases = if self.max_leases > Self::MEMBERS { self.max_leases } else { Self::MEMBERS };
        leases.saturating_mul(Self::ROWS_PER_LEASE)
    }

    fn compact_at_threshold(&mut self) {
        if self.rows.len() + self.rejected.len() > self.threshold {
            self.compact();
            let held = self.rows.len() + self.rejected.len();
            self.threshold = self.max_leases.saturating_mul(2).max(held + held / 2);
        }
    }

    /// Drops the rows beyond the limits and sorts the others by name. The sort is stable, so the first rows of a lease stay
    /// the first.
    fn compact(&mut self) {
        #[cfg(test)]
        {
            self.inspected += self.rows.len() + self.rejected.len();
        }
        let (max_rows, before) = (self.max_rows(), self.rows.len() + self.rejected.len());
        let mut rows = Compaction::of(&mut self.rows, |row| row.lease.as_ref());
        let mut rejected = Compaction::of(&mut self.rejected, |row| row.lease.as_ref());
        let (mut leases, mut last) = (0, None);
        // The next lease by name is the lesser of the two that are next.
        while let Some(lease) = rows.next_lease().into_iter().chain(rejected.next_lease()).min().cloned() {
            if leases == self.max_leases || rows.kept + rejected.kept >= max_rows {
                self.last_kept = last;
                break;
            }
            leases += 1;
            let (members, left_out) = rows.keep(&lease, Self::MEMBERS);
            rejected.keep(&lease, Self::MEMBERS - members);
            if left_out > 0 {
                self.incomplete.insert(Arc::clone(&lease));
            }
            last = Some(lease);
        }
        let kept = rows.end() + rejected.end();
        self.over_limit += (before - kept) as u64;
        if let Some(last) = &self.last_kept {
            self.incomplete.retain(|lease| lease <= last);
        }
    }
}

/// Goes through rows in the order of names, and moves those that are kept to the front.
struct Compaction<'a, R> {
    rows: &'a mut Vec<R>,
    lease: fn(&R) -> Option<&Arc<str>>,
    next: usize,
    kept: usize,
}

impl<'a, R> Compaction<'a, R> {
    fn of(rows: &'a mut Vec<R>, lease: fn(&R) -> Option<&Arc<str>>) -> Self {
        if !rows.is_sorted_by(|one, other| lease(one) <= lease(other)) {
            rows.sort_by(|one, other| lease(one).cmp(&lease(other)));
        }
        Self { rows, lease, next: 0, kept: 0 }
    }

    fn next_lease(&self) -> Option<&Arc<str>> {
        self.rows.get(self.next).and_then(self.lease)
    }

    /// Keeps at most `most` rows of the next lease. Returns the numbers of kept and dropped rows.
    fn keep(&mut self, lease: &Arc<str>, most: usize) -> (usize, usize) {
        let (mut kept, mut left_out) = (0, 0);
        while self.next_lease() == Some(lease) {
            if kept < most {
                self.rows.swap(self.kept, self.next);
                self.kept += 1;
                kept += 1;
            } else {
                left_out += 1;
            }
            self.next += 1;
        }
        (kept, left_out)
    }

    /// Drops the other rows. Returns the number of kept rows.
    fn end(self) -> usize {
        self.rows.truncate(self.kept);
        self.kept
    }
}
