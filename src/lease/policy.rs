//! The policy of a lease and the rules of a source.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::label::labels;

labels! {
    /// The kind of a lease: the meaning of holding it.
    LeaseKind {
        /// One holder should always be there: leader election.
        Standing = "standing",
        /// Many holders beat side by side, such as a table of scheduler heartbeats. The lease is held while one of them is fresh.
        Registry = "registry",
        /// The lease is held only while a run lasts, such as the lock of a job. It is normal that nobody holds it.
        Claim = "claim",
    }
}

labels! {
    /// Whose clock wrote the times that a source stores.
    Clock {
        /// The store's own, in the writing statement.
        Store = "store",
        /// Each holder's own.
        Holder = "holder",
    }
}

labels! {
    /// The alerts that can be enabled for a lease. None is by default.
    Alert {
        /// Nobody has the right to act.
        NoLeader = "LeaseNoLeader",
        /// Work is due and does not move.
        WorkStalled = "LeaseWorkStalled",
        /// The state has not been known for long.
        StateUnknown = "LeaseStateUnknown",
        /// Leadership changes hands too often.
        LeadershipFlapping = "LeaseLeadershipFlapping",
        /// The epoch went backwards.
        EpochRegressed = "LeaseEpochRegressed",
        /// Progress came from an epoch that had ended.
        FencedWriter = "LeaseFencedWriter",
        /// The lease's source cannot be read.
        SourceDown = "LeaseSourceDown",
        /// No exporter reports the lease.
        ExporterAbsent = "LeaseExporterAbsent",
    }
}

/// A set of alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertSet(u8);

impl AlertSet {
    /// The alerts in the set, in the order of exposition.
    pub fn iter(self) -> impl Iterator<Item = Alert> {
        Alert::ALL.into_iter().filter(move |alert| self.0 & (1 << *alert as u8) != 0)
    }
}

impl FromIterator<Alert> for AlertSet {
    fn from_iter<I: IntoIterator<Item = Alert>>(alerts: I) -> Self {
        Self(alerts.into_iter().fold(0, |set, alert| set | 1 << alert as u8))
    }
}

/// When work falls due, for a store that does not report due work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// Nothing.
    #[default]
    Unstated,
    /// There is always something to do.
    Continuous,
    /// Something falls due this long after the last progress.
    Cadence(Duration),
}

/// The limits and alerts that are configured for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long due work may stand still before it counts as stalled.
    pub stall_after: Duration,
    /// How long the oldest due work may wait even while other work moves; off by default.
    pub overdue_after: Option<Duration>,
    /// When work falls due, for a store that does not report due work.
    pub work: Work,
    /// The alerts enabled for the lease.
    pub alerts: AlertSet,
}

impl Policy {
    /// The default of `stall_after`.
    pub const STALL_AFTER: Duration = Duration::from_secs(300);
}

impl Default for Policy {
    fn default() -> Self {
        Self { stall_after: Self::STALL_AFTER, overdue_after: None, work: Work::Unstated, alerts: AlertSet::default() }
    }
}

/// The policies of the leases of one source.
pub trait Policies: fmt::Debug + Send + Sync {
    /// The policy of a lease of this source.
    fn policy(&self, lease: &str) -> Arc<Policy>;

    /// The leases that the configuration names. They have a status even without a record.
    fn expected_leases(&self) -> Vec<Arc<str>>;
}

/// The settings that apply to all leases of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The kind of the leases.
    pub kind: LeaseKind,
    /// Whose clock wrote the times.
    pub clock: Clock,
    /// How far the clocks involved may differ.
    pub clock_skew: Duration,
    /// The maximum number of tracked leases.
    pub max_leases: usize,
    /// How coarse the times of a renewal are: two that differ by no more are the same renewal. Zero where they are
    /// stored; more where a store only tells how much of a time to live is left.
    pub resolution: Duration,
}

impl Rules {
    /// The default of `clock_skew`.
    pub const CLOCK_SKEW: Duration = Duration::from_secs(2);
    /// The rounding of stored times. Two times that differ by less do not contradict each other.
    pub const RESOLUTION: Duration = Duration::from_millis(10);
    /// The default of `max_leases`.
    pub const MAX_LEASES: usize = 10_000;
    /// The maximum number of records of one lease.
    pub const MAX_MEMBERS: usize = 1_000;
}
