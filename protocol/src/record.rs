//! The records that a store keeps of a lease.

use crate::{Backlog, Epoch, HolderId, StoreTime};

/// All records of one lease at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSnapshot {
    /// The time of the store's clock.
    pub now: StoreTime,
    /// The lease record; `None` if the lease was never acquired.
    pub lease: Option<LeaseRecord>,
    /// The progress record; `None` if there was no progress yet.
    pub progress: Option<ProgressRecord>,
    /// The work that is due.
    pub backlog: Backlog,
}

/// The record of who may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder, or the last holder of an expired lease; `None` after a release.
    pub holder: Option<HolderId>,
    /// The newest epoch.
    pub epoch: Epoch,
    /// When this epoch was acquired.
    pub acquired_at: Option<StoreTime>,
    /// When the lease was last renewed. The acquisition counts as a renewal.
    pub renewed_at: Option<StoreTime>,
    /// When the lease expires and others may acquire it. For a released lease, when it ended.
    pub expires_at: Option<StoreTime>,
}

/// The record of the work that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressRecord {
    /// The epoch under which the last progress was made.
    pub epoch: Epoch,
    /// When it was made.
    pub at: StoreTime,
    /// The number of occurrences planned under the lease so far, across all epochs.
    pub cursor: u64,
}
