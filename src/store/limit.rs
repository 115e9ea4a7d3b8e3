//! Bounds on what a store gives: the first leases by name, the first records of each, and the rest counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lease::{Column, LeaseRecord, RecordFault, RecordSet, RejectedRecord, Rules};

#[cfg(test)]
mod tests;

/// Which leases are kept of what a store gives.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name of the only lease, where what is read names none.
    pub only_lease: Arc<str>,
    /// How many leases are kept, the first by name.
    pub max_leases: usize,
}

/// Collects the rows of a reading within four bounds: the first `max_leases` leases by name, [`Self::MEMBERS`] rows of
/// one lease, [`Self::ROWS_PER_LEASE`] rows for each lease that there may be, and `max_leases` rows without a name.
///
/// Rows come in any order, so which of them are beyond a bound shows only at the end. Until then rows gather up to a
/// threshold, where those that are certainly beyond a bound are dropped. The threshold is half as much again as was left
/// the last time: so the work stays in proportion to the number of rows, whatever their names, and the memory to the
/// bounds.
#[derive(Debug)]
pub struct RecordLimiter {
    rows: Vec<LeaseRecord>,
    /// Rows that cannot be used but tell whose they are.
    rejected: Vec<RejectedRecord>,
    /// Rows that cannot be used and do not even tell that.
    nameless: Vec<RejectedRecord>,
    max_leases: usize,
    /// How many rows with a name are held before those beyond the bounds are dropped.
    threshold: usize,
    /// Once leases were left out: no lease after this name can be among the first.
    last_kept: Option<Arc<str>>,
    /// Leases that are kept and some of whose members were left out.
    incomplete: BTreeSet<Arc<str>>,
    over_limit: u64,
    /// How many rows were looked at to find those beyond the bounds.
    #[cfg(test)]
    inspected: usize,
}

impl RecordLimiter {
    /// How many rows of one lease are kept, the first that come.
    pub const MEMBERS: usize = Rules::MAX_MEMBERS;
    /// How many rows are kept in all for each lease that there may be. A lease whose turn comes when as many are kept
    /// is left out with all that follow by name.
    pub const ROWS_PER_LEASE: usize = 10;

    /// Nothing yet.
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

    /// Whether a lease of this name can still be among the first. If not, its row is counted and need not be decoded.
    pub fn admits(&mut self, lease: &str) -> bool {
        let admitted = self.last_kept.as_ref().is_none_or(|last| lease <= &**last);
        self.over_limit += u64::from(!admitted);
        admitted
    }

    /// Takes in a row that can be used.
    pub fn push(&mut self, row: LeaseRecord) {
        self.rows.push(row);
        self.compact_at_threshold();
    }

    /// Takes in a row that cannot be used.
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
        // Each stands for one of the rows that were counted.
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

    /// Drops what is beyond the bounds, and leaves the rest in the order of names. The rows of one lease keep the order
    /// in which they came, so the first of them stay the first whenever this is done.
    fn compact(&mut self) {
        #[cfg(test)]
        {
            self.inspected += self.rows.len() + self.rejected.len();
        }
        let (max_rows, before) = (self.max_rows(), self.rows.len() + self.rejected.len());
        let (mut rows, mut rejected) = (Compaction::of(&mut self.rows), Compaction::of(&mut self.rejected));
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

/// A row that may tell whose it is.
trait OfLease {
    fn lease(&self) -> Option<&Arc<str>>;
}

impl OfLease for LeaseRecord {
    fn lease(&self) -> Option<&Arc<str>> {
        self.lease.as_ref()
    }
}

impl OfLease for RejectedRecord {
    fn lease(&self) -> Option<&Arc<str>> {
        self.lease.as_ref()
    }
}

/// Goes through rows by name, and moves those that are kept to the front.
struct Compaction<'a, R> {
    rows: &'a mut Vec<R>,
    next: usize,
    kept: usize,
}

impl<'a, R: OfLease> Compaction<'a, R> {
    fn of(rows: &'a mut Vec<R>) -> Self {
        if !rows.is_sorted_by(|one, other| one.lease() <= other.lease()) {
            rows.sort_by(|one, other| one.lease().cmp(&other.lease()));
        }
        Self { rows, next: 0, kept: 0 }
    }

    fn next_lease(&self) -> Option<&Arc<str>> {
        self.rows.get(self.next).and_then(OfLease::lease)
    }

    /// Keeps no more than `most` rows of the lease that is next, and says how many it kept and left out.
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

    /// Drops the rest, and says how many rows are kept.
    fn end(self) -> usize {
        self.rows.truncate(self.kept);
        self.kept
    }
}
