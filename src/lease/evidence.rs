//! The evidence on one lease at one reading: the output of the tracker and the input of the judge.

use std::sync::Arc;
use std::time::Duration;

use super::age::Age;
use super::anomaly::AnomalyCounts;
use super::label::{Column, ReadFailure, RecordFault};
use super::record::{Epoch, StoreTime};
use super::token::HolderToken;

/// The evidence on a lease, or the reason why a reading gives none.
pub type Observation = Result<Evidence, ObservationFailure>;

/// Why a reading gives no evidence on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationFailure {
    /// The source could not be read.
    Source(ReadFailure),
    /// The record of the lease breaks the contract in this column.
    InvalidRecord(Column),
    /// The lease has several records in a source where a lease has one holder at a time.
    DuplicateRecord,
    /// The lease comes after the first `max_leases` by name, so its record, if there is one, was not read.
    LeaseOverLimit,
    /// The lease has more records than are read. A record that was not read may be fresher, or report more due work or
    /// later progress. So the other records prove neither a vacancy nor a stall, and all counts would be wrong.
    MembersOverLimit,
}

/// The evidence on one lease at one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Evidence of who holds the lease.
    pub authority: AuthorityEvidence,
    /// The last progress.
    pub progress: Progress,
    /// The work that is due now.
    pub due: Due,
    /// Renewals seen since the last progress; `None` if the source does not report progress.
    pub renewals_since_progress: Option<u64>,
}

/// The evidence from which the age of an event was derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeSource {
    /// A time in the store.
    StoredTime,
    /// The time since the first reading of the lease, at which the event had already happened.
    FirstReading,
    /// The two readings between which the record changed.
    ChangeBetweenReadings,
    /// Readings alone, because the time in the store is in the future.
    FutureTime,
    /// Readings alone, because the time in the store contradicts them. Applies until the event happens again.
    ContradictedTime,
}

impl AgeSource {
    /// Whether a clock was found to be wrong.
    #[must_use]
    pub const fn is_clock_error(self) -> bool {
        matches!(self, Self::FutureTime | Self::ContradictedTime)
    }
}

/// The age of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventAge {
    /// The bounds.
    pub age: Age,
    /// The evidence for the bounds.
    pub source: AgeSource,
}

impl EventAge {
    /// The age as one number for display: the lower bound; `None` if there is no upper bound.
    #[must_use]
    pub fn display_age(&self) -> Option<Duration> {
        self.age.upper().map(|_| self.age.lower())
    }
}

/// Evidence of who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityEvidence {
    /// The lease has no holder.
    Vacant {
        /// How the store shows this.
        cause: VacancyCause,
        /// Since when.
        since: EventAge,
        /// The epoch in a released record, if there is one.
        epoch: Option<Epoch>,
    },
    /// The record names a holder, whose lease may have expired.
    Holder(Holder),
}

/// How a store shows that a lease has no holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VacancyCause {
    /// There is no record of the lease.
    Absent,
    /// The record names no holder.
    Released,
}

/// The holder of a lease and its times. In a registry, the member with the latest renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The holder's token; `None` if the source does not name holders.
    pub token: Option<HolderToken>,
    /// In a registry, the other members that have not certainly expired.
    pub others: Box<[HolderToken]>,
    /// The authority epoch, if the source has one.
    pub epoch: Option<Epoch>,
    /// Whether that epoch is below an earlier one.
    pub epoch_regressed: bool,
    /// When the holder acquired the lease.
    pub acquired: EventAge,
    /// When the holder last renewed the lease.
    pub renewed: EventAge,
    /// The time until the lease expires.
    pub remaining_ttl: RemainingTtl,
    /// The time of acquisition in the store.
    pub acquired_at: Option<StoreTime>,
    /// The time of the last renewal in the store.
    pub renewed_at: Option<StoreTime>,
}

/// The time until a lease expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemainingTtl {
    /// The lease lasts for as long as its record exists.
    WhileRecordExists,
    /// Bounds in microseconds, negative after expiry.
    Micros {
        /// The lower bound; `None` if the age of the last renewal has no upper bound.
        at_least: Option<i64>,
        /// The upper bound.
        at_most: i64,
    },
    /// The source has expiry columns, but this record leaves them NULL.
    NotRecorded,
}

/// The last progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The source does not report progress.
    NotReported,
    /// No progress is recorded.
    Never,
    /// The record shows that there was progress, but not when, or not under which epoch.
    Incomplete,
    /// Progress was made.
    Made {
        /// When it was made.
        age: EventAge,
        /// The epoch under which it was made, if the source reports it.
        epoch: Option<Epoch>,
        /// How that epoch compares with the epoch in force.
        epoch_relation: ProgressEpoch,
        /// The time in the store.
        stored_at: Option<StoreTime>,
    },
}

impl Progress {
    /// The age of the last progress, if it is known.
    #[must_use]
    pub const fn age(self) -> Option<EventAge> {
        match self {
            Self::Made { age, .. } => Some(age),
            Self::NotReported | Self::Never | Self::Incomplete => None,
        }
    }
}

/// How the epoch of the last progress compares with the epoch in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressEpoch {
    /// The same epoch.
    Current,
    /// An earlier epoch: a previous holder made the progress.
    Earlier,
    /// A later epoch, which contradicts the protocol.
    Later,
    /// The evidence does not attribute the progress to an epoch, or no epoch is in force.
    Unattributed,
}

/// The work that is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The source does not report due work.
    NotKnown,
    /// No work is due.
    Nothing,
    /// Work is due.
    Waiting {
        /// How much, if the source reports it.
        count: Option<u64>,
        /// How long the oldest has been due, if the source reports it.
        oldest: Option<EventAge>,
        /// The time in the store since when the oldest has been due.
        oldest_at: Option<StoreTime>,
    },
}

impl Due {
    /// How long the oldest due work has been due, if the source reports it.
    #[must_use]
    pub const fn oldest(self) -> Option<EventAge> {
        match self {
            Self::Waiting { oldest, .. } => oldest,
            Self::NotKnown | Self::Nothing => None,
        }
    }
}

/// The evidence of one reading of a source.
#[derive(Debug)]
pub(super) struct SourceEvidence {
    /// By lease name.
    pub(super) leases: Vec<LeaseEvidence>,
    /// How many leases had a record, usable or not.
    pub(super) leases_read: u64,
    pub(super) rejected: RejectedRecords,
}

/// The evidence on one lease, with the anomalies since the exporter started.
#[derive(Debug)]
pub(super) struct LeaseEvidence {
    pub(super) lease: Arc<str>,
    pub(super) observation: Observation,
    pub(super) anomalies: AnomalyCounts,
}

/// The records that one reading did not use, by fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRecords([(u64, Vec<Arc<str>>); RecordFault::ALL.len()]);

impl RejectedRecords {
    /// For each fault, the names of this many leases are kept, as examples for a person who looks for the records.
    pub const NAMED: usize = 3;

    /// The number of records.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(records, _)| records).sum()
    }

    /// The number of records with this fault.
    #[must_use]
    pub const fn count(&self, fault: RecordFault) -> u64 {
        self.0[fault as usize].0
    }

    /// The first leases by name whose records have this fault. Records without a name are not among them.
    #[must_use]
    pub fn leases(&self, fault: RecordFault) -> &[Arc<str>] {
        &self.0[fault as usize].1
    }

    pub(super) fn add(&mut self, fault: RecordFault, records: u64, lease: Option<&Arc<str>>) {
        let (count, leases) = &mut self.0[fault as usize];
        *count += records;
        if let Some(lease) = lease
            && leases.len() < Self::NAMED
            && !leases.contains(lease)
        {
            leases.push(Arc::clone(lease));
        }
    }
}
