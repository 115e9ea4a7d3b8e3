//! One lease as JSON.

use serde::{Serialize, Serializer};

use crate::lease::{
    Age, Alert, Anomaly, Authority, AuthorityEvidence, Due, Epoch, EventAge, Evidence, HolderToken, Policy, Progress,
    ProgressEpoch, ProgressState, Reason, RemainingTtl, State, Status, StoreTime, Work,
};

/// One lease: the projection, then the two facts apart, what is due, and by which limits it was judged.
#[derive(Serialize)]
pub(super) struct Lease<'a> {
    lease: &'a str,
    #[serde(serialize_with = "label")]
    state: State,
    #[serde(serialize_with = "label")]
    reason: Reason,
    /// The reason for people. Its wording may change at any time.
    sentence: Text<'a>,
    authority: AuthorityFact<'a>,
    progress: ProgressFact,
    due: DueWork,
    limits: Limits,
    alerts_enabled: Vec<&'static str>,
    /// What was noticed since the exporter started; only what was.
    anomalies_total: AnomalyCounts<'a>,
}

/// Who has the right to act.
#[derive(Serialize)]
struct AuthorityFact<'a> {
    #[serde(serialize_with = "label")]
    state: Authority,
    epoch: Option<Exact>,
    holder: Option<Token<'a>>,
    other_holders: Vec<Token<'a>>,
    acquired_age_seconds: Option<Bounds>,
    renewed_age_seconds: Option<Bounds>,
    /// How long nobody has held it.
    vacant_age_seconds: Option<Bounds>,
    /// `at_time`; `while_present` where it lasts for as long as its record is there; or null.
    expiry: Option<&'static str>,
    /// How long it still lasts; negative once it is over.
    expires_in_seconds: Option<SignedBounds>,
    acquired_at: Option<f64>,
    renewed_at: Option<f64>,
}

/// Whether the work moves.
#[derive(Serialize)]
struct ProgressFact {
    #[serde(serialize_with = "label")]
    state: ProgressState,
    /// `made`; `never` where none is recorded; `not_reported` where the source says nothing of progress; or null.
    recorded: Option<&'static str>,
    /// The epoch that made it.
    epoch: Option<Exact>,
    /// How that stands to the epoch in force: `current`, `earlier`, `later`, or null where that is not known.
    under: Option<&'static str>,
    age_seconds: Option<Bounds>,
    at: Option<f64>,
    /// Renewals seen since progress last moved.
    renewals_since: Option<u64>,
}

#[derive(Default, Serialize)]
struct DueWork {
    /// 0 only where the store says so; null where it is not known how much.
    count: Option<u64>,
    oldest_age_seconds: Option<Bounds>,
    oldest_at: Option<f64>,
}

#[derive(Serialize)]
struct Limits {
    stall_after_seconds: f64,
    overdue_after_seconds: Option<f64>,
    /// What the policy says of when work falls due: `unstated`, `continuous` or `cadence`.
    work: &'static str,
    cadence_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Bounds {
    at_least: f64,
    at_most: Option<f64>,
}

#[derive(Serialize)]
struct SignedBounds {
    at_least: Option<f64>,
    at_most: f64,
}

impl<'a> Lease<'a> {
    pub(super) fn of(status: &'a Status) -> Self {
        let evidence = status.evidence();
        Self {
            lease: &status.lease,
            state: status.verdict.state,
            reason: status.verdict.reason,
            sentence: Text(status),
            authority: AuthorityFact::of(status.verdict.authority, evidence),
            progress: ProgressFact::of(status.verdict.progress, evidence),
            due: evidence.map_or_else(DueWork::default, |evidence| DueWork::of(evidence.due)),
            limits: Limits::of(&status.policy),
            alerts_enabled: status.policy.alerts.iter().map(Alert::as_str).collect(),
            anomalies_total: AnomalyCounts(status),
        }
    }
}

impl<'a> AuthorityFact<'a> {
    fn of(state: Authority, evidence: Option<&'a Evidence>) -> Self {
        let nothing = Self {
            state,
            epoch: None,
            holder: None,
            other_holders: Vec::new(),
            acquired_age_seconds: None,
            renewed_age_seconds: None,
            vacant_age_seconds: None,
            expiry: None,
            expires_in_seconds: None,
            acquired_at: None,
            renewed_at: None,
        };
        match evidence.map(|evidence| &evidence.authority) {
            None => nothing,
            Some(AuthorityEvidence::Vacant { since, epoch, .. }) => {
                Self { epoch: epoch.map(Exact), vacant_age_seconds: bounds(since), ..nothing }
            }
            Some(AuthorityEvidence::Holder(holder)) => {
                let (expiry, expires_in_seconds) = left(holder.remaining_ttl);
                Self {
                    state,
                    epoch: holder.epoch.map(Exact),
                    holder: holder.token.as_ref().map(Token),
                    other_holders: holder.others.iter().map(Token).collect(),
                    acquired_age_seconds: bounds(&holder.acquired),
                    renewed_age_seconds: bounds(&holder.renewed),
                    vacant_age_seconds: None,
                    expiry,
                    expires_in_seconds,
                    acquired_at: holder.acquired_at.map(StoreTime::unix_seconds),
                    renewed_at: holder.renewed_at.map(StoreTime::unix_seconds),
                }
            }
        }
    }
}

impl ProgressFact {
    fn of(state: ProgressState, evidence: Option<&Evidence>) -> Self {
        let nothing = Self {
            state,
            recorded: None,
            epoch: None,
            under: None,
            age_seconds: None,
            at: None,
            renewals_since: evidence.and_then(|evidence| evidence.renewals_since_progress),
        };
        match evidence.map(|evidence| evidence.progress) {
            None | Some(Progress::Incomplete) => nothing,
            Some(Progress::NotReported) => Self { recorded: Some("not_reported"), ..nothing },
            Some(Progress::Never) => Self { recorded: Some("never"), ..nothing },
            Some(Progress::Made { age: when, epoch, epoch_relation: under, stored_at: at }) => Self {
                recorded: Some("made"),
                epoch: epoch.map(Exact),
                under: match under {
                    ProgressEpoch::Current => Some("current"),
                    ProgressEpoch::Earlier => Some("earlier"),
                    ProgressEpoch::Later => Some("later"),
                    ProgressEpoch::Unattributed => None,
                },
                age_seconds: bounds(&when),
                at: at.map(StoreTime::unix_seconds),
                ..nothing
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
                oldest_age_seconds: oldest.as_ref().and_then(bounds),
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

fn bounds(dated: &EventAge) -> Option<Bounds> {
    (dated.age != Age::UNBOUNDED).then(|| Bounds {
        at_least: dated.age.lower().as_secs_f64(),
        at_most: dated.age.upper().map(|upper| upper.as_secs_f64()),
    })
}

fn left(left: RemainingTtl) -> (Option<&'static str>, Option<SignedBounds>) {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a lease fit 53 bits to within one")]
    let seconds = |micros: i64| micros as f64 / 1e6;
    match left {
        RemainingTtl::NotRecorded => (None, None),
        RemainingTtl::WhileRecordExists => (Some("while_present"), None),
        RemainingTtl::Micros { at_least, at_most } => {
            let bounds = SignedBounds { at_least: at_least.map(seconds), at_most: seconds(at_most) };
            (Some("at_time"), Some(bounds))
        }
    }
}

fn label<S: Serializer>(label: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(label)
}

struct Text<'a>(&'a Status);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.sentence())
    }
}

struct Token<'a>(&'a HolderToken);

impl Serialize for Token<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// An epoch as a string, so that no reader rounds it.
struct Exact(Epoch);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct AnomalyCounts<'a>(&'a Status);

impl Serialize for AnomalyCounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let noticed = Anomaly::ALL.into_iter().map(|anomaly| (anomaly.as_str(), self.0.anomalies.get(anomaly)));
        serializer.collect_map(noticed.filter(|(_, count)| *count > 0))
    }
}
