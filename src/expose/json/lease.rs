//! One lease as JSON.

use serde::Serialize;

use super::{AsString, CountMap};
use crate::lease::{
    Age, Alert, Anomaly, Authority, AuthorityEvidence, Due, Epoch, EventAge, HolderToken, Policy, Progress,
    ProgressEpoch, ProgressState, Reason, RemainingTtl, Sentence, State, Status, StoreTime, Work,
};

/// One lease: its state, authority and progress apart, the due work, and the limits by which it was judged.
#[derive(Serialize)]
pub(super) struct Lease<'a> {
    lease: &'a str,
    state: AsString<State>,
    reason: AsString<Reason>,
    /// The reason for people. Its wording may change at any time.
    sentence: AsString<Sentence<'a>>,
    authority: LeaseAuthority<'a>,
    progress: LeaseProgress,
    due: DueWork,
    limits: Limits,
    alerts_enabled: Vec<&'static str>,
    /// The anomalies noticed since the exporter started. Those never noticed are left out.
    anomalies_total: CountMap<Anomaly>,
}

#[derive(Serialize)]
struct LeaseAuthority<'a> {
    state: AsString<Authority>,
    epoch: Option<AsString<Epoch>>,
    holder: Option<AsString<&'a HolderToken>>,
    other_holders: Vec<AsString<&'a HolderToken>>,
    acquired_age_seconds: Option<Bounds>,
    renewed_age_seconds: Option<Bounds>,
    /// The time since anybody held the lease.
    vacant_age_seconds: Option<Bounds>,
    /// `at_time`; `while_present` if the lease lasts as long as its record exists; or null.
    expiry: Option<&'static str>,
    /// The remaining time; negative once the lease has expired.
    expires_in_seconds: Option<Bounds>,
    acquired_at: Option<f64>,
    renewed_at: Option<f64>,
}

#[derive(Serialize)]
struct LeaseProgress {
    state: AsString<ProgressState>,
    /// `made`; `never` if none is recorded; `not_reported` if the source does not report progress; or null.
    recorded: Option<&'static str>,
    /// The epoch that made the progress.
    epoch: Option<AsString<Epoch>>,
    /// Whether that epoch is the `current` one, an `earlier` or a `later` one; null if that is not known.
    under: Option<&'static str>,
    age_seconds: Option<Bounds>,
    at: Option<f64>,
    /// Renewals seen since progress last moved.
    renewals_since: Option<u64>,
}

#[derive(Default, Serialize)]
struct DueWork {
    /// 0 only if the store says so; null if the count is not known.
    count: Option<u64>,
    oldest_age_seconds: Option<Bounds>,
    oldest_at: Option<f64>,
}

#[derive(Serialize)]
struct Limits {
    stall_after_seconds: f64,
    overdue_after_seconds: Option<f64>,
    /// When work falls due, as configured: `unstated`, `continuous` or `cadence`.
    work: &'static str,
    cadence_seconds: Option<f64>,
}

/// Bounds in seconds.
#[derive(Serialize)]
struct Bounds {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl Bounds {
    /// The bounds of an age; `None` if nothing is known of it.
    fn of(EventAge { age, .. }: &EventAge) -> Option<Self> {
        let at_most = age.upper().map(|upper| upper.as_secs_f64());
        (*age != Age::UNBOUNDED).then(|| Self { at_least: Some(age.lower().as_secs_f64()), at_most })
    }

    /// The bounds of a remaining time; negative values are in the past.
    fn of_micros(at_least: Option<i64>, at_most: i64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "the microseconds of 285 years fit into 53 bits")]
        let seconds = |micros: i64| micros as f64 / 1e6;
        Self { at_least: at_least.map(seconds), at_most: Some(seconds(at_most)) }
    }
}

impl<'a> Lease<'a> {
    pub(super) fn of(status: &'a Status) -> Self {
        Self {
            lease: &status.lease,
            state: AsString(status.verdict.state),
            reason: AsString(status.verdict.reason),
            sentence: AsString(status.sentence()),
            authority: LeaseAuthority::of(status),
            progress: LeaseProgress::of(status),
            due: status.evidence().map_or_else(DueWork::default, |evidence| DueWork::of(evidence.due)),
            limits: Limits::of(&status.policy),
            alerts_enabled: status.policy.alerts.iter().map(Alert::as_str).collect(),
            anomalies_total: CountMap(status.anomalies.noticed().collect()),
        }
    }
}

impl<'a> LeaseAuthority<'a> {
    fn of(status: &'a Status) -> Self {
        let holder = status.holder();
        let (expiry, expires_in_seconds) = match holder.map(|holder| holder.remaining_ttl) {
            None | Some(RemainingTtl::NotRecorded) => (None, None),
            Some(RemainingTtl::WhileRecordExists) => (Some("while_present"), None),
            Some(RemainingTtl::Micros { at_least, at_most }) => {
                (Some("at_time"), Some(Bounds::of_micros(at_least, at_most)))
            }
        };
        Self {
            state: AsString(status.verdict.authority),
            epoch: status.epoch().map(AsString),
            holder: holder.and_then(|holder| holder.token.as_ref()).map(AsString),
            other_holders: holder.into_iter().flat_map(|holder| holder.others.iter()).map(AsString).collect(),
            acquired_age_seconds: holder.and_then(|holder| Bounds::of(&holder.acquired)),
            renewed_age_seconds: holder.and_then(|holder| Bounds::of(&holder.renewed)),
            vacant_age_seconds: match status.evidence().map(|evidence| &evidence.authority) {
                Some(AuthorityEvidence::Vacant { since, .. }) => Bounds::of(since),
                _ => None,
            },
            expiry,
            expires_in_seconds,
            acquired_at: holder.and_then(|holder| holder.acquired_at).map(StoreTime::unix_seconds),
            renewed_at: holder.and_then(|holder| holder.renewed_at).map(StoreTime::unix_seconds),
        }
    }
}

impl LeaseProgress {
    fn of(status: &Status) -> Self {
        let unknown = Self {
            state: AsString(status.verdict.progress),
            recorded: None,
            epoch: None,
            under: None,
            age_seconds: None,
            at: None,
            renewals_since: status.evidence().and_then(|evidence| evidence.renewals_since_progress),
        };
        match status.evidence().map(|evidence| evidence.progress) {
            None | Some(Progress::Incomplete) => unknown,
            Some(Progress::NotReported) => Self { recorded: Some("not_reported"), ..unknown },
            Some(Progress::Never) => Self { recorded: Some("never"), ..unknown },
            Some(Progress::Made { age, epoch, epoch_relation, stored_at }) => Self {
                recorded: Some("made"),
                epoch: epoch.map(AsString),
                under: match epoch_relation {
                    ProgressEpoch::Current => Some("current"),
                    ProgressEpoch::Earlier => Some("earlier"),
                    ProgressEpoch::Later => Some("later"),
                    ProgressEpoch::Unattributed => None,
                },
                age_seconds: Bounds::of(&age),
                at: stored_at.map(StoreTime::unix_seconds),
                ..unknown
            },
        }
    }
}

impl DueWork {
    fn of(due: Due) -> Self {
        match due {
            Due::NotKnown => Self::default(),
            Due::Nothing => Self { count: Some(0), ..Self::default() },
            Due::Waiting { count, oldest, oldest_at } => Self {
                count,
                oldest_age_seconds: oldest.as_ref().and_then(Bounds::of),
                oldest_at: oldest_at.map(StoreTime::unix_seconds),
            },
        }
    }
}

impl Limits {
    fn of(policy: &Policy) -> Self {
        let (work, cadence) = match policy.work {
            Work::Unstated => ("unstated", None),
            Work::Continuous => ("continuous", None),
            Work::Cadence(cadence) => ("cadence", Some(cadence)),
        };
        Self {
            stall_after_seconds: policy.stall_after.as_secs_f64(),
            overdue_after_seconds: policy.overdue_after.map(|limit| limit.as_secs_f64()),
            work,
            cadence_seconds: cadence.map(|cadence| cadence.as_secs_f64()),
        }
    }
}
