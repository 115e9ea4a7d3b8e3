//! The keys of leases that a scan finds.

use std::sync::Arc;

use super::RecordLimiter;
use super::request::LeaseKey;
use crate::lease::{Column, RecordFault, RejectedRecord};
use crate::store::column::MAX_NAME;
use crate::store::redis::keys::KeyLayout;

/// The first leases by name, and the number of others.
#[derive(Debug)]
pub(super) struct LeaseKeyList {
    keys: Vec<LeaseKey>,
    max_leases: usize,
    over_limit: u64,
}

impl LeaseKeyList {
    pub(super) const fn new(max_leases: usize) -> Self {
        Self { keys: Vec::new(), max_leases, over_limit: 0 }
    }

    /// The only lease, whether its key exists or not.
    pub(super) fn one(key: String, name: &Arc<str>) -> Self {
        Self { keys: vec![LeaseKey { key, name: Arc::clone(name) }], max_leases: 1, over_limit: 0 }
    }

    /// Adds a key if it is the key of a lease. A key that gives no valid name is rejected.
    pub(super) fn add(&mut self, layout: &KeyLayout, key: &[u8], kept: &mut RecordLimiter) {
        let Ok(key) = std::str::from_utf8(key) else { return Self::reject(RecordFault::Unreadable, kept) };
        match layout.lease_name(key) {
            None => {}
            Some("") => Self::reject(RecordFault::NoName, kept),
            Some(name) if name.len() > MAX_NAME => Self::reject(RecordFault::NameTooLong, kept),
            Some(name) => {
                self.keys.push(LeaseKey { key: key.to_owned(), name: Arc::from(name) });
                if self.keys.len() > self.max_leases.saturating_mul(2) {
                    self.leave_out();
                }
            }
        }
    }

    /// Rejects a key that gives no valid name.
    pub(super) fn reject(fault: RecordFault, kept: &mut RecordLimiter) {
        kept.reject(RejectedRecord { lease: None, column: Column::Lease, fault });
    }

    /// Takes the leases, in the order of names.
    pub(super) fn take(&mut self) -> Vec<LeaseKey> {
        self.leave_out();
        std::mem::take(&mut self.keys)
    }

    pub(super) const fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Drops leases beyond the limit. A scan may find a key twice, so duplicates are removed first.
    fn leave_out(&mut self) {
        self.keys.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        self.keys.dedup();
        self.over_limit += self.keys.len().saturating_sub(self.max_leases) as u64;
        self.keys.truncate(self.max_leases);
    }
}
