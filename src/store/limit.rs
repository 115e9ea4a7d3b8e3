//! Keeping the first leases by name and counting the rest.

use std::sync::Arc;

use crate::lease::{RejectedRow, Row};

/// Which leases are kept of what a store gives.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name of the only lease, where what is read names none.
    pub only_lease: Arc<str>,
    /// How many leases are kept, the first by name.
    pub max_leases: usize,
}

/// Rows as they come, no more than those of the first `max_leases` leases by name, whether they can be used or not.
#[derive(Debug)]
pub struct Limited {
    rows: Vec<Row>,
    /// Rows that cannot be used but tell whose they are.
    rejected: Vec<RejectedRow>,
    /// Rows that cannot be used and do not even tell that.
    nameless: Vec<RejectedRow>,
    max_leases: usize,
    /// Once rows were left out: no lease after this name can be among the first.
    last_kept: Option<Arc<str>>,
    over_limit: u64,
}

/// What is kept, by the lease's name, and how many rows were left out.
#[derive(Debug)]
pub struct Kept {
    /// Rows that can be used.
    pub rows: Vec<Row>,
    /// Rows that cannot.
    pub rejected: Vec<RejectedRow>,
    /// How many rows were left out.
    pub over_limit: u64,
}

impl Limited {
    /// Nothing yet.
    #[must_use]
    pub const fn new(max_leases: usize) -> Self {
        Self {
            rows: Vec::new(),
            rejected: Vec::new(),
            nameless: Vec::new(),
            max_leases,
            last_kept: None,
            over_limit: 0,
        }
    }

    /// Whether a lease of this name can still be among the first. If not, its row is counted and need not be decoded.
    pub fn admits(&mut self, lease: &str) -> bool {
        let admitted = self.last_kept.as_ref().is_none_or(|last| lease <= &**last);
        self.over_limit += u64::from(!admitted);
        admitted
    }

    /// Takes in a row. What is held at once stays within twice the limit.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
        self.leave_out_at_twice();
    }

    /// Takes in a row that cannot be used. Of those without a name, as many are kept as there may be leases.
    pub fn reject(&mut self, row: RejectedRow) {
        if row.lease.is_some() {
            self.rejected.push(row);
            self.leave_out_at_twice();
        } else if self.nameless.len() < self.max_leases {
            self.nameless.push(row);
        } else {
            self.over_limit += 1;
        }
    }

    /// What is kept.
    #[must_use]
    pub fn finish(mut self) -> Kept {
        self.leave_out();
        self.nameless.append(&mut self.rejected);
        Kept { rows: self.rows, rejected: self.nameless, over_limit: self.over_limit }
    }

    fn leave_out_at_twice(&mut self) {
        if self.rows.len() + self.rejected.len() > self.max_leases.saturating_mul(2) {
            self.leave_out();
        }
    }

    fn leave_out(&mut self) {
        if !self.rows.is_sorted_by(|one, other| one.lease <= other.lease) {
            self.rows.sort_by(|one, other| one.lease.cmp(&other.lease));
        }
        if !self.rejected.is_sorted_by(|one, other| one.lease <= other.lease) {
            self.rejected.sort_by(|one, other| one.lease.cmp(&other.lease));
        }
        if self.rows.len() + self.rejected.len() <= self.max_leases {
            return;
        }
        let (mut rows, mut rejected) = (0, 0);
        for _ in 0..self.max_leases {
            let row = self.rows.get(rows).map(|row| &row.lease);
            let other = self.rejected.get(rejected).map(|row| &row.lease);
            // The next lease by name; of two that are there the lesser.
            let Some(next) = row.into_iter().chain(other).min() else { return };
            rows += self.rows[rows..].iter().take_while(|row| row.lease == *next).count();
            rejected += self.rejected[rejected..].iter().take_while(|row| row.lease == *next).count();
        }
        let left_out = (self.rows.len() - rows) + (self.rejected.len() - rejected);
        if left_out > 0 {
            self.over_limit += left_out as u64;
            self.rows.truncate(rows);
            self.rejected.truncate(rejected);
            let row = self.rows.last().and_then(|row| row.lease.as_ref());
            self.last_kept = row.max(self.rejected.last().and_then(|row| row.lease.as_ref())).cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::{Column, RowFault};

    fn row(lease: &str) -> Row {
        Row { lease: Some(lease.into()), ..Row::default() }
    }

    fn wrong(lease: Option<&str>) -> RejectedRow {
        RejectedRow { lease: lease.map(Arc::from), column: Column::Epoch, fault: RowFault::OutOfRange }
    }

    fn kept(max_leases: usize, leases: &[&str]) -> (Vec<String>, u64) {
        let mut limited = Limited::new(max_leases);
        for lease in leases {
            if limited.admits(lease) {
                limited.push(row(lease));
            }
        }
        let Kept { rows, over_limit, .. } = limited.finish();
        (rows.iter().filter_map(|row| row.lease.as_deref().map(str::to_owned)).collect(), over_limit)
    }

    #[test]
    fn the_first_by_name_are_kept_and_the_rest_counted_in_any_order() {
        let names = ["e", "b", "d", "a", "c", "f", "b"];
        assert_eq!(kept(2, &names), (vec!["a".into(), "b".into(), "b".into()], 4));
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(kept(2, &sorted), (vec!["a".into(), "b".into(), "b".into()], 4));
        assert_eq!(kept(6, &names).1, 0);
    }

    #[test]
    fn rows_that_cannot_be_used_count_as_those_that_can() {
        let mut limited = Limited::new(2);
        for (lease, used) in [("e", false), ("b", true), ("d", false), ("a", false), ("c", true), ("b", false)] {
            match limited.admits(lease) {
                true if used => limited.push(row(lease)),
                true => limited.reject(wrong(Some(lease))),
                false => {}
            }
        }
        let kept = limited.finish();
        assert_eq!(kept.rows, [row("b")]);
        assert_eq!(kept.rejected, [wrong(Some("a")), wrong(Some("b"))]);
        assert_eq!(kept.over_limit, 3);
    }

    #[test]
    fn of_rows_without_a_name_no_more_are_kept_than_of_leases() {
        let mut limited = Limited::new(2);
        (0..5).for_each(|_| limited.reject(wrong(None)));
        limited.push(row("a"));
        let kept = limited.finish();
        assert_eq!((kept.rows.len(), kept.rejected.len(), kept.over_limit), (1, 2, 3));
    }
}
