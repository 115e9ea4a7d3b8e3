//! The interface of the protocol.

use crate::{Epoch, HolderId, LeaseSnapshot, Occurrence, ProtocolError, StoreTime, Ttl};

/// A connection to a store in which schedulers share leases. The [rules](crate#rules) define each method.
///
/// After an error the outcome is unknown: the step was done completely or not at all. Every step may be repeated. An
/// acquisition whose success was not reported holds the lease until it expires.
pub trait LeaseProtocol {
    /// The time of the store's clock.
    ///
    /// # Errors
    /// If the store fails.
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError>;

    /// Tries to become the holder (ALEASE-104).
    ///
    /// # Errors
    /// If the store fails.
    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError>;

    /// Extends the lease to `ttl` from now (ALEASE-105).
    ///
    /// # Errors
    /// If the store fails.
    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError>;

    /// Gives the lease up.
    ///
    /// # Errors
    /// If the store fails.
    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError>;

    /// Adds an occurrence to the queue unless its key exists (ALEASE-107). Needs no lease.
    ///
    /// # Errors
    /// If the store fails.
    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError>;

    /// The unplanned occurrence with the oldest due time that is due now; among equals the one with the smallest key.
    /// Reserves nothing.
    ///
    /// # Errors
    /// If the store fails.
    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError>;

    /// The fenced write: plans an occurrence and records progress under `epoch`, or changes nothing (ALEASE-106, 107).
    /// The fence is checked before the occurrence.
    ///
    /// # Errors
    /// [`ProtocolError::NoSuchOccurrence`] if the lease has no occurrence with this key; otherwise if the store fails.
    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError>;

    /// Reads all records of a lease in one snapshot. Needs no lease.
    ///
    /// # Errors
    /// If the store fails.
    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError>;
}

/// The outcome of [`LeaseProtocol::acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum AcquireOutcome {
    /// The caller holds the lease under this epoch.
    Acquired {
        /// One more than the last epoch of the lease.
        epoch: Epoch,
    },
    /// The lease has a holder and has not expired.
    HeldByAnother,
}

/// The outcome of [`LeaseProtocol::renew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum RenewOutcome {
    /// The lease has expired or is no longer the caller's.
    Lost,
    /// The lease was extended.
    Renewed,
}

/// The outcome of [`LeaseProtocol::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReleaseOutcome {
    /// The lease was no longer the caller's.
    Lost,
    /// The lease has no holder now.
    Released,
}

/// The outcome of [`LeaseProtocol::enqueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum EnqueueOutcome {
    /// The key exists already; nothing changed.
    AlreadyEnqueued,
    /// The occurrence is in the queue.
    Enqueued,
}

/// The outcome of [`LeaseProtocol::plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PlanOutcome {
    /// The occurrence was planned before; nothing changed, and no progress was recorded.
    AlreadyPlanned,
    /// The caller's epoch has been superseded or released; nothing changed. The caller must step down.
    Fenced,
    /// The occurrence is planned and progress is recorded.
    Planned,
}

impl<P: LeaseProtocol + ?Sized> LeaseProtocol for Box<P> {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        (**self).store_now()
    }

    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError> {
        (**self).acquire(lease, holder, ttl)
    }

    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError> {
        (**self).renew(lease, holder, epoch, ttl)
    }

    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError> {
        (**self).release(lease, holder, epoch)
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError> {
        (**self).enqueue(occurrence)
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        (**self).next_due(lease)
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError> {
        (**self).plan(key, lease, holder, epoch)
    }

    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError> {
        (**self).read(lease)
    }
}
