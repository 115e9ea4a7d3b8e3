//! The catalogue of metric families. The exposition, the documentation and the check of `metrics: {drop: …}` are made from it.
//!
//! A family is one value: its name, its help text and a function of one lease or one source. A value that is not known has
//! no sample: never NaN, never 0.

use std::time::Duration;

use super::format::{FamilyMetadata, FamilyType};
use crate::lease::{
    Anomaly, Authority, Due, EventAge, Holder, HolderToken, LeaseKind, Progress, ProgressState, ReadFailure, Reason,
    RecordFault, RemainingTtl, SourceSnapshot, State, Status, StoreTime,
};
use Samples::{Counters, Float, Integer, LabelEnum, LabelValues, StateSet};

/// One metric family.
#[derive(Debug)]
pub struct Family {
    /// The name of its samples. Its suffix determines the unit and, for `_info`, the type.
    pub name: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The subject that the family describes, with the functions that compute the samples.
    pub subject: Subject,
}

/// The subject of a family.
#[derive(Debug)]
pub enum Subject {
    /// Each lease. The samples have the labels `source` and `lease`.
    Lease(Samples<Status>),
    /// Each source. The samples have the label `source`.
    Source(Samples<SourceSnapshot>),
}

/// Passes on each value of a label.
pub(super) type ForEachLabelValue<T> = fn(&T, &mut dyn FnMut(&str));

/// The samples of one lease or one source.
#[derive(Debug)]
pub enum Samples<T: 'static> {
    /// One sample for each value of the label: 1 for the current value, 0 for all others.
    StateSet(&'static str, &'static [&'static str], fn(&T) -> usize),
    /// One sample, always 1, with the current value of the label.
    LabelEnum(&'static str, &'static [&'static str], fn(&T) -> usize),
    /// One counter for each value of the label.
    Counters(&'static str, &'static [&'static str], fn(&T, usize) -> u64),
    /// One sample, always 1, for each label value that the function passes on. These values must not need escaping.
    LabelValues(&'static str, ForEachLabelValue<T>),
    /// A gauge, for example in seconds.
    Float(fn(&T) -> Option<f64>),
    /// A gauge that is an exact integer, however large.
    Integer(fn(&T) -> Option<u64>),
}

impl<T> Samples<T> {
    /// The label that the samples have beside `source` and `lease`, and its values if they are a fixed set.
    pub(super) const fn label(&self) -> Option<(&'static str, &'static [&'static str])> {
        match *self {
            StateSet(label, values, _) | LabelEnum(label, values, _) | Counters(label, values, _) => {
                Some((label, values))
            }
            LabelValues(label, _) => Some((label, &[])),
            Float(_) | Integer(_) => None,
        }
    }

    const fn is_counter(&self) -> bool {
        matches!(self, Counters(..))
    }
}

impl Family {
    /// The type.
    #[must_use]
    pub fn family_type(&self) -> FamilyType {
        match &self.subject {
            Subject::Lease(samples) if samples.is_counter() => FamilyType::Counter,
            Subject::Source(samples) if samples.is_counter() => FamilyType::Counter,
            _ if self.name.ends_with("_info") => FamilyType::Info,
            _ => FamilyType::Gauge,
        }
    }

    /// The label that the samples have beside `source` and `lease`.
    #[must_use]
    pub fn label(&self) -> Option<&'static str> {
        let label = match &self.subject {
            Subject::Lease(samples) => samples.label(),
            Subject::Source(samples) => samples.label(),
        };
        label.map(|(name, _)| name)
    }

    /// The unit, if the name ends in one.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        self.name.ends_with("_seconds").then_some("seconds")
    }

    pub(super) fn metadata(&self) -> FamilyMetadata<'static> {
        FamilyMetadata { name: self.name, help: self.help, family_type: self.family_type(), unit: self.unit() }
    }
}

/// The names of all families, in the order of exposition.
pub fn family_names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|family| family.name)
}

/// The families that the alert rules read. If one of them is dropped, some alert can never fire or never resolve.
pub const REQUIRED_BY_ALERTS: [&str; 11] = [
    "lease_state",
    "lease_state_reason",
    "lease_authority_state",
    "lease_epoch",
    "lease_held_seconds",
    "lease_acquired_timestamp_seconds",
    "lease_stall_after_seconds",
    "lease_alert_enabled",
    "lease_anomalies_total",
    "lease_source_info",
    "lease_source_up",
];

const fn lease(name: &'static str, help: &'static str, samples: Samples<Status>) -> Family {
    Family { name, help, subject: Subject::Lease(samples) }
}

const fn source(name: &'static str, help: &'static str, samples: Samples<SourceSnapshot>) -> Family {
    Family { name, help, subject: Subject::Source(samples) }
}

/// Every family, in the order of exposition.
pub static CATALOGUE: &[Family] = &[
    lease(
        "lease_state",
        "The state that follows from authority and progress; exactly one is 1.",
        StateSet("state", &State::LABELS, |status| status.verdict.state as usize),
    ),
    lease(
        "lease_state_reason",
        "Why the state is what it is; always 1.",
        LabelEnum("reason", &Reason::LABELS, |status| status.verdict.reason as usize),
    ),
    lease(
        "lease_authority_state",
        "Who has the right to act, whatever the work does; exactly one is 1.",
        StateSet("state", &Authority::LABELS, |status| status.verdict.authority as usize),
    ),
    lease(
        "lease_progress_state",
        "Whether work moves under the authority there is; exactly one is 1.",
        StateSet("state", &ProgressState::LABELS, |status| status.verdict.progress as usize),
    ),
    lease(
        "lease_age_seconds",
        "Time since the lease was last renewed, on the store's clock. Says nothing of work.",
        Float(|status| status.holder()?.renewed.display_age().map(seconds)),
    ),
    lease(
        "lease_epoch",
        "Authority epoch (fencing token): grows with each acquisition.",
        Integer(|status| status.epoch().map(|epoch| epoch.0)),
    ),
    lease(
        "lease_last_progress_age_seconds",
        "Time since the last recorded progress, whichever epoch made it; at least that long.",
        Float(|status| {
            // Without an upper bound, the age is shown only once it is beyond the limit: then the lower bound suffices.
            let (EventAge { age, .. }, ..) = progress(status)?;
            (age.upper().is_some() || age.lower() > status.policy.stall_after).then(|| seconds(age.lower()))
        }),
    ),
    lease(
        "lease_last_progress_epoch",
        "Epoch that made the last recorded progress; below lease_epoch until the new leader has progressed.",
        Integer(|status| progress(status)?.1),
    ),
    lease(
        "lease_held_seconds",
        "Time since the present holder acquired the lease.",
        Float(|status| held(status)?.acquired.display_age().map(seconds)),
    ),
    lease(
        "lease_expires_in_seconds",
        "Time until the lease expires unless it is renewed, at least; negative once it has expired.",
        Float(|status| match status.holder()?.remaining_ttl {
            RemainingTtl::Micros { at_least, .. } => at_least.map(micros),
            RemainingTtl::WhileRecordExists | RemainingTtl::NotRecorded => None,
        }),
    ),
    lease(
        "lease_holders",
        "Holders whose time is not up: at most 1, but in a registry.",
        Integer(|status| {
            status.evidence()?;
            match status.verdict.authority {
                Authority::Held => status.holder().map(|holder| 1 + holder.others.len() as u64),
                Authority::Vacant | Authority::Expired => Some(0),
                Authority::Unknown => None,
            }
        }),
    ),
    lease(
        "lease_holder_info",
        "Holders by their instance token; always 1.",
        LabelValues("holder", |status, each| holders(status).for_each(|token| each(token.as_str()))),
    ),
    lease(
        "lease_due",
        "Work that should be done now.",
        Integer(|status| match status.evidence()?.due {
            Due::Nothing => Some(0),
            Due::Waiting { count, .. } => count,
            Due::NotKnown => None,
        }),
    ),
    lease(
        "lease_oldest_due_age_seconds",
        "How long the oldest due work has waited.",
        Float(|status| status.evidence()?.due.oldest()?.display_age().map(seconds)),
    ),
    lease(
        "lease_renewals_since_progress",
        "Renewals seen since progress last moved: grows while a holder renews and does nothing else.",
        Integer(|status| status.evidence()?.renewals_since_progress),
    ),
    lease(
        "lease_acquired_timestamp_seconds",
        "When the lease was acquired, as stored.",
        Float(|status| status.holder()?.acquired_at.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_renewed_timestamp_seconds",
        "When the lease was last renewed, as stored.",
        Float(|status| status.holder()?.renewed_at.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_last_progress_timestamp_seconds",
        "When progress was last made, as stored.",
        Float(|status| progress(status)?.2.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_stall_after_seconds",
        "How long due work may stand still before the lease counts as stalled, as configured.",
        Float(|status| Some(seconds(status.policy.stall_after))),
    ),
    lease(
        "lease_overdue_after_seconds",
        "How long the oldest due work may wait even while other work moves, as configured.",
        Float(|status| status.policy.overdue_after.map(seconds)),
    ),
    lease(
        "lease_alert_enabled",
        "Alerts that are enabled for the lease; always 1.",
        LabelValues("alert", |status, each| status.policy.alerts.iter().for_each(|alert| each(alert.as_str()))),
    ),
    lease(
        "lease_anomalies_total",
        "What should never happen, counted as the exporter notices it.",
        Counters("anomaly", &Anomaly::LABELS, |status, at| status.anomalies.get(Anomaly::ALL[at])),
    ),
    source(
        "lease_source_info",
        "What holding a lease of the source means; always 1.",
        LabelEnum("kind", &LeaseKind::LABELS, |snapshot| snapshot.kind as usize),
    ),
    source(
        "lease_source_up",
        "Whether the source could be read at this scrape.",
        Integer(|snapshot| Some(u64::from(snapshot.health.outcome.is_ok()))),
    ),
    source(
        "lease_source_read_seconds",
        "How long reading the source took.",
        Float(|snapshot| Some(seconds(snapshot.health.duration))),
    ),
    source(
        "lease_source_read_failures_total",
        "Reads of the source that failed.",
        Counters("reason", &ReadFailure::LABELS, |snapshot, at| snapshot.health.failures[at]),
    ),
    source(
        "lease_source_leases",
        "Leases in the reading, those left out not counted.",
        Integer(|snapshot| snapshot.health.leases),
    ),
    source(
        "lease_source_rows_rejected_total",
        "Rows that were not used, counted anew with each reading.",
        Counters("reason", &RecordFault::LABELS, |snapshot, at| snapshot.health.rejected[at]),
    ),
    source(
        "lease_source_clock_offset_seconds",
        "How far the store's clock is ahead of the exporter's.",
        Float(|snapshot| Some((snapshot.health.clock_offset? * 1e6).round() / 1e6)),
    ),
];

/// The tokens of the holders, while the lease is held.
fn holders(status: &Status) -> impl Iterator<Item = &HolderToken> {
    held(status).into_iter().flat_map(|holder| holder.token.iter().chain(&holder.others))
}

fn held(status: &Status) -> Option<&Holder> {
    status.holder().filter(|_| status.verdict.authority == Authority::Held)
}

fn progress(status: &Status) -> Option<(EventAge, Option<u64>, Option<StoreTime>)> {
    match status.evidence()?.progress {
        Progress::Made { age, epoch, stored_at, .. } => Some((age, epoch.map(|epoch| epoch.0), stored_at)),
        Progress::NotReported | Progress::Never | Progress::Incomplete => None,
    }
}

/// Seconds with microsecond precision: no store has a finer one.
#[expect(clippy::cast_precision_loss, reason = "microseconds of a century fit 53 bits")]
fn seconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a century fit 53 bits")]
fn micros(micros: i64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests;
