//! Keeping the first leases by name and counting the rest.

use std::sync::Arc;

use crate::lease::Row;

/// Rows as they come, no more than those of the first `max_leases` leases by name.
#[derive(Debug)]
pub struct Limited {
    rows: Vec<Row>,
    max_leases: usize,
    /// Once rows were left out: no lease after this name can be among the first.
    last_kept: Option<Arc<str>>,
    over_limit: u64,
}

impl Limited {
    /// Nothing yet.
    #[must_use]
    pub const fn new(max_leases: usize) -> Self {
        Self { rows: Vec::new(), max_leases, last_kept: None, over_limit: 0 }
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
        if self.rows.len() > self.max_leases.saturating_mul(2) {
            self.leave_out();
        }
    }

    /// The rows, by the lease's name, and how many were left out.
    #[must_use]
    pub fn finish(mut self) -> (Vec<Row>, u64) {
        self.leave_out();
        (self.rows, self.over_limit)
    }

    fn leave_out(&mut self) {
        if !self.rows.is_sorted_by(|one, other| one.lease <= other.lease) {
            self.rows.sort_by(|one, other| one.lease.cmp(&other.lease));
        }
        let mut leases = 0;
        let mut last: Option<&Arc<str>> = None;
        let beyond = self.rows.iter().position(|row| {
            if leases == 0 || row.lease.as_ref() != last {
                last = row.lease.as_ref();
                leases += 1;
            }
            leases > self.max_leases
        });
        if let Some(beyond) = beyond {
            self.over_limit += (self.rows.len() - beyond) as u64;
            self.rows.truncate(beyond);
            self.last_kept = self.rows.last().and_then(|row| row.lease.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(lease: &str) -> Row {
        Row { lease: Some(lease.into()), ..Row::default() }
    }

    fn kept(max_leases: usize, leases: &[&str]) -> (Vec<String>, u64) {
        let mut limited = Limited::new(max_leases);
        for lease in leases {
            if limited.admits(lease) {
                limited.push(row(lease));
            }
        }
        let (rows, over) = limited.finish();
        (rows.iter().filter_map(|row| row.lease.as_deref().map(str::to_owned)).collect(), over)
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
}
