//! What is known of one lease at one reading: what memory gives to the judge.

use std::time::Duration;

use super::age::Age;
use super::label::{Anomaly, Column, ReadFailure};
use super::record::{Epoch, StoreTime};
use super::token::HolderToken;

/// Whether a lease could be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every lease of a reading is seen; a box each would cost more")]
pub enum Observation {
    /// It could.
    Known(Evidence),
    /// It could not, so nothing is known of it now.
    Unknown(UnknownCause),
}

/// Why a lease could not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownCause {
    /// Its whole source could not be read.
    Source(ReadFailure),
    /// Its record breaks the contract in this column.
    Record(Column),
    /// It has several records where one holder at a time is the rule.
    Duplicate,
    /// It comes after the first `max_leases` by name, so its record, if there is one, was left out.
    LeftOut,
    /// It has more records than are looked at. A record that was left out may be fresher than the others, tell of more
    /// due work or of later progress, so the others prove neither that nobody holds the lease nor that its work stands
    /// still; and how many hold it, and how much is due, would be wrong.
    MembersLeftOut,
}

/// What is known of one lease at one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Who holds it.
    pub tenure: Tenure,
    /// What work was last seen to move.
    pub progress: Progress,
    /// What work should be done now.
    pub due: Due,
    /// Renewals seen since progress last moved; `None` where the source reports no progress.
    pub renewals_since_progress: Option<u64>,
}

/// Where an age comes from, and so what to say when it settles nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeSource {
    /// A time that the store gives.
    Stored,
    /// Watching since the first reading of the lease; what came before is not known.
    FirstSeen,
    /// Watching: it changed between two readings.
    SeenToChange,
    /// The store's time lies in the future, so only watching counts.
    Future,
    /// The store's time contradicts what was watched, so only watching counts, from then on.
    Contradicted,
}

impl AgeSource {
    /// Whether a clock was found to be wrong.
    #[must_use]
    pub const fn is_suspect(self) -> bool {
        matches!(self, Self::Future | Self::Contradicted)
    }
}

/// An age and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedAge {
    /// The bounds.
    pub age: Age,
    /// Where they come from.
    pub basis: AgeSource,
}

impl DatedAge {
    /// The age to show as one number: the lower bound, where there is an upper one too.
    #[must_use]
    pub fn shown(&self) -> Option<Duration> {
        self.age.upper().map(|_| self.age.lower())
    }
}

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenure {
    /// Nobody.
    Vacant {
        /// How that shows in the store.
        how: Vacancy,
        /// How long that has been so.
        since: DatedAge,
        /// The epoch of the record that a release left, if there is one.
        epoch: Option<Epoch>,
    },
    /// The record names a holder, whose time may be up.
    Holder(HolderEvidence),
}

/// How it shows that nobody holds a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vacancy {
    /// There is no record.
    Absent,
    /// The record names no holder.
    Released,
}

/// A holder and what the record says of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderEvidence {
    /// The holder; `None` where the source names none. In a registry, the freshest.
    pub holder: Option<HolderToken>,
    /// In a registry, the other holders whose time is not surely up.
    pub others: Box<[HolderToken]>,
    /// The authority epoch, where the source has one.
    pub epoch: Option<Epoch>,
    /// Whether that epoch is below one seen before.
    pub epoch_regressed: bool,
    /// When it was acquired.
    pub acquired: DatedAge,
    /// When it was last renewed.
    pub renewed: DatedAge,
    /// How long it still lasts.
    pub left: RemainingTtl,
    /// The times as stored.
    pub acquired_at: Option<StoreTime>,
    /// The times as stored.
    pub renewed_at: Option<StoreTime>,
}

/// How long a lease still lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemainingTtl {
    /// For as long as its record is there.
    WhilePresent,
    /// Between these, in microseconds; negative once past. No lower bound where the last renewal is not bounded.
    Micros {
        /// Not less than this.
        at_least: Option<i64>,
        /// Not more than this.
        at_most: i64,
    },
    /// The record does not say, though its source should.
    NotKnown,
}

/// What work was last seen to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The source says nothing of progress.
    NotReported,
    /// None is recorded.
    Never,
    /// The record says that there was some, but leaves out when, or under which epoch.
    Incomplete,
    /// Some was made.
    Made {
        /// When.
        when: DatedAge,
        /// The epoch that made it, where the source tells.
        epoch: Option<Epoch>,
        /// How that epoch stands to the one in force.
        under: ProgressEpoch,
        /// The time as stored.
        at: Option<StoreTime>,
    },
}

/// How the epoch that made progress stands to the one in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressEpoch {
    /// It is the one in force.
    Current,
    /// It is an earlier one: progress of a leader that was.
    Earlier,
    /// It is a later one, which cannot be.
    Later,
    /// The evidence does not tell, or no epoch is in force.
    Unattributed,
}

/// What work should be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The source does not say.
    NotKnown,
    /// None.
    Nothing,
    /// Some.
    Waiting {
        /// How much, if that is known.
        count: Option<u64>,
        /// How long the oldest has waited; `None` if that is not known.
        oldest: Option<DatedAge>,
        /// Since when, as stored.
        oldest_at: Option<StoreTime>,
    },
}

/// What memory noticed at one reading of one lease.
pub(super) type AnomalySet = [bool; Anomaly::ALL.len()];
