//! The one catalogue of metric families: every exposition format, the documentation and `metrics: {drop: …}` come from it.
//!
//! A family is a value: its name, its help, its type, its unit, and a function of one status. What is missing is
//! absent: no NaN, no 0.

use std::time::Duration;

use super::format::{FamilyMetadata, FamilyType};
use crate::lease::{
    Anomaly, Authority, Due, Health, HolderToken, Kind, Progress, ProgressState, ReadFailure, Reason, RecordFault,
    RemainingTtl, SourceSnapshot, State, Status, StoreTime,
};

/// One metric family.
#[derive(Debug)]
pub struct Family {
    /// The name, as Prometheus stores it.
    pub name: &'static str,
    /// The help text.
    pub help: &'static str,
    /// Its unit, where it has one.
    pub unit: Option<&'static str>,
    /// What its samples are.
    pub samples: Samples,
}

/// What the samples of a family are, and so its type.
#[derive(Debug)]
pub enum Samples {
    /// Of each lease.
    Lease(LeaseSamples),
    /// Of each source.
    Source(SourceSamples),
}

/// The samples of one lease, by the labels `source` and `lease`.
#[derive(Debug)]
pub enum LeaseSamples {
    /// One row per value of a closed set, of which exactly one is 1.
    StateSet(&'static [&'static str], fn(&Status) -> usize),
    /// One row with a label that tells, always 1.
    LabelEnum(&'static str, &'static [&'static str], fn(&Status) -> usize),
    /// One row per holder, always 1.
    HolderTokens,
    /// One row per enabled alert, always 1.
    EnabledAlerts,
    /// A gauge in seconds or the like.
    Float(fn(&Status) -> Option<f64>),
    /// A gauge that is a whole number, exact whatever its size.
    Integer(fn(&Status) -> Option<u64>),
    /// One counter per value of a closed set.
    Counters(&'static str, &'static [&'static str], fn(&Status, usize) -> u64),
}

/// The samples of one source, by the label `source`.
#[derive(Debug)]
pub enum SourceSamples {
    /// A gauge in seconds or the like.
    Float(fn(&Health) -> Option<f64>),
    /// A gauge that is a whole number.
    Integer(fn(&Health) -> Option<u64>),
    /// One row with a label that tells, always 1.
    LabelEnum(&'static str, &'static [&'static str], fn(&SourceSnapshot) -> usize),
    /// One counter per value of a closed set.
    Counters(&'static str, &'static [&'static str], fn(&Health, usize) -> u64),
}

impl LeaseSamples {
    /// The label of a closed set and its values, where the samples have one.
    pub(super) const fn label(&self) -> Option<(&'static str, &'static [&'static str])> {
        match *self {
            Self::StateSet(values, _) => Some(("state", values)),
            Self::LabelEnum(label, values, _) | Self::Counters(label, values, _) => Some((label, values)),
            Self::HolderTokens | Self::EnabledAlerts | Self::Float(_) | Self::Integer(_) => None,
        }
    }
}

impl SourceSamples {
    /// The label of a closed set and its values, where the samples have one.
    pub(super) const fn label(&self) -> Option<(&'static str, &'static [&'static str])> {
        match *self {
            Self::LabelEnum(label, values, _) | Self::Counters(label, values, _) => Some((label, values)),
            Self::Float(_) | Self::Integer(_) => None,
        }
    }
}

impl Family {
    /// Its type.
    #[must_use]
    pub fn family_type(&self) -> FamilyType {
        match self.samples {
            Samples::Lease(LeaseSamples::Counters(..)) | Samples::Source(SourceSamples::Counters(..)) => {
                FamilyType::Counter
            }
            Samples::Lease(LeaseSamples::LabelEnum(..) | LeaseSamples::HolderTokens)
            | Samples::Source(SourceSamples::LabelEnum(..))
                if self.name.ends_with("_info") =>
            {
                FamilyType::Info
            }
            _ => FamilyType::Gauge,
        }
    }

    pub(super) fn description(&self) -> FamilyMetadata<'static> {
        FamilyMetadata { name: self.name, help: self.help, family_type: self.family_type(), unit: self.unit }
    }
}

/// The names of all families, in the order of exposition.
pub fn family_names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|family| family.name)
}

/// The families that the alert rules stand on: without one of them some alert could never fire, or never end.
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

/// The label values of a closed set, as an array.
macro_rules! values {
    ($set:ident) => {{
        const VALUES: [&str; $set::ALL.len()] = {
            let mut values = [""; $set::ALL.len()];
            let mut at = 0;
            while at < values.len() {
                values[at] = $set::ALL[at].as_str();
                at += 1;
            }
            values
        };
        &VALUES
    }};
}

const fn lease(name: &'static str, help: &'static str, unit: Option<&'static str>, samples: LeaseSamples) -> Family {
    Family { name, help, unit, samples: Samples::Lease(samples) }
}

const fn source(name: &'static str, help: &'static str, unit: Option<&'static str>, samples: SourceSamples) -> Family {
    Family { name, help, unit, samples: Samples::Source(samples) }
}

const SECONDS: Option<&str> = Some("seconds");

/// Every family, in the order of exposition.
pub static CATALOGUE: [Family; 29] = [
    lease(
        "lease_state",
        "The state that follows from authority and progress; exactly one is 1.",
        None,
        LeaseSamples::StateSet(values!(State), |status| status.verdict.state as usize),
    ),
    lease(
        "lease_state_reason",
        "Why the state is what it is; always 1.",
        None,
        LeaseSamples::LabelEnum("reason", values!(Reason), |status| status.verdict.reason as usize),
    ),
    lease(
        "lease_authority_state",
        "Who has the right to act, whatever the work does; exactly one is 1.",
        None,
        LeaseSamples::StateSet(values!(Authority), |status| status.verdict.authority as usize),
    ),
    lease(
        "lease_progress_state",
        "Whether work moves under the authority there is; exactly one is 1.",
        None,
        LeaseSamples::StateSet(values!(ProgressState), |status| status.verdict.progress as usize),
    ),
    lease(
        "lease_age_seconds",
        "Time since the lease was last renewed, on the store's clock. Says nothing of work.",
        SECONDS,
        LeaseSamples::Float(|status| status.holder()?.renewed.display_age().map(seconds)),
    ),
    lease(
        "lease_epoch",
        "Authority epoch (fencing token): grows with each acquisition.",
        None,
        LeaseSamples::Integer(|status| status.epoch().map(|epoch| epoch.0)),
    ),
    lease(
        "lease_last_progress_age_seconds",
        "Time since the last recorded progress, whichever epoch made it; at least that long.",
        SECONDS,
        LeaseSamples::Float(|status| {
            let (when, ..) = progress(status)?;
            let surely_beyond = when.age.lower() > status.policy.stall_after;
            (when.age.upper().is_some() || surely_beyond).then(|| seconds(when.age.lower()))
        }),
    ),
    lease(
        "lease_last_progress_epoch",
        "Epoch that made the last recorded progress; below lease_epoch until the new leader has progressed.",
        None,
        LeaseSamples::Integer(|status| progress(status)?.1),
    ),
    lease(
        "lease_held_seconds",
        "Time since the present holder acquired the lease.",
        SECONDS,
        LeaseSamples::Float(|status| held(status)?.acquired.display_age().map(seconds)),
    ),
    lease(
        "lease_expires_in_seconds",
        "Time until the lease expires unless it is renewed, at least; negative once it has expired.",
        SECONDS,
        LeaseSamples::Float(|status| match status.holder()?.remaining_ttl {
            RemainingTtl::Micros { at_least, .. } => at_least.map(micros),
            RemainingTtl::WhileRecordExists | RemainingTtl::NotRecorded => None,
        }),
    ),
    lease(
        "lease_holders",
        "Holders whose time is not up: at most 1, but in a registry.",
        None,
        LeaseSamples::Integer(|status| {
            status.evidence()?;
            match status.verdict.authority {
                Authority::Held => status.holder().map(|holder| 1 + holder.others.len() as u64),
                Authority::Vacant | Authority::Expired => Some(0),
                Authority::Unknown => None,
            }
        }),
    ),
    lease("lease_holder_info", "Holders by their instance token; always 1.", None, LeaseSamples::HolderTokens),
    lease(
        "lease_due",
        "Work that should be done now.",
        None,
        LeaseSamples::Integer(|status| match status.evidence()?.due {
            Due::Nothing => Some(0),
            Due::Waiting { count, .. } => count,
            Due::NotKnown => None,
        }),
    ),
    lease(
        "lease_oldest_due_age_seconds",
        "How long the oldest due work has waited.",
        SECONDS,
        LeaseSamples::Float(|status| match status.evidence()?.due {
            Due::Waiting { oldest: Some(oldest), .. } => oldest.display_age().map(seconds),
            Due::NotKnown | Due::Nothing | Due::Waiting { oldest: None, .. } => None,
        }),
    ),
    lease(
        "lease_renewals_since_progress",
        "Renewals seen since progress last moved: grows while a holder renews and does nothing else.",
        None,
        LeaseSamples::Integer(|status| status.evidence()?.renewals_since_progress),
    ),
    lease(
        "lease_acquired_timestamp_seconds",
        "When the lease was acquired, as stored.",
        SECONDS,
        LeaseSamples::Float(|status| status.holder()?.acquired_at.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_renewed_timestamp_seconds",
        "When the lease was last renewed, as stored.",
        SECONDS,
        LeaseSamples::Float(|status| status.holder()?.renewed_at.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_last_progress_timestamp_seconds",
        "When progress was last made, as stored.",
        SECONDS,
        LeaseSamples::Float(|status| progress(status)?.2.map(StoreTime::unix_seconds)),
    ),
    lease(
        "lease_stall_after_seconds",
        "How long due work may stand still before the lease counts as stalled, as configured.",
        SECONDS,
        LeaseSamples::Float(|status| Some(seconds(status.policy.stall_after))),
    ),
    lease(
        "lease_overdue_after_seconds",
        "How long the oldest due work may wait even while other work moves, as configured.",
        SECONDS,
        LeaseSamples::Float(|status| status.policy.overdue_after.map(seconds)),
    ),
    lease("lease_alert_enabled", "Alerts that are enabled for the lease; always 1.", None, LeaseSamples::EnabledAlerts),
    lease(
        "lease_anomalies_total",
        "What should never happen, counted as the exporter notices it.",
        None,
        LeaseSamples::Counters("anomaly", values!(Anomaly), |status, at| status.anomalies.get(Anomaly::ALL[at])),
    ),
    source(
        "lease_source_info",
        "What holding a lease of the source means; always 1.",
        None,
        SourceSamples::LabelEnum("kind", values!(Kind), |snapshot| snapshot.kind as usize),
    ),
    source(
        "lease_source_up",
        "Whether the source could be read at this scrape.",
        None,
        SourceSamples::Integer(|health| Some(u64::from(health.outcome.is_ok()))),
    ),
    source(
        "lease_source_read_seconds",
        "How long reading the source took.",
        SECONDS,
        SourceSamples::Float(|health| Some(seconds(health.duration))),
    ),
    source(
        "lease_source_read_failures_total",
        "Reads of the source that failed.",
        None,
        SourceSamples::Counters("reason", values!(ReadFailure), |health, at| health.failures[at]),
    ),
    source(
        "lease_source_leases",
        "Leases in the reading, those left out not counted.",
        None,
        SourceSamples::Integer(|health| health.leases),
    ),
    source(
        "lease_source_rows_rejected_total",
        "Rows that were not used, counted anew with each reading.",
        None,
        SourceSamples::Counters("reason", values!(RecordFault), |health, at| health.rejected[at]),
    ),
    source(
        "lease_source_clock_offset_seconds",
        "How far the store's clock is ahead of the exporter's.",
        SECONDS,
        SourceSamples::Float(|health| Some((health.clock_offset? * 1e6).round() / 1e6)),
    ),
];

/// The holders to show by their tokens: those whose time is not up.
pub(super) fn holders(status: &Status) -> impl Iterator<Item = &HolderToken> {
    held(status).into_iter().flat_map(|holder| holder.token.iter().chain(&holder.others))
}

fn held(status: &Status) -> Option<&crate::lease::Holder> {
    status.holder().filter(|_| status.verdict.authority == Authority::Held)
}

fn progress(status: &Status) -> Option<(crate::lease::EventAge, Option<u64>, Option<StoreTime>)> {
    match status.evidence()?.progress {
        Progress::Made { age: when, epoch, stored_at: at, .. } => Some((when, epoch.map(|epoch| epoch.0), at)),
        Progress::NotReported | Progress::Never | Progress::Incomplete => None,
    }
}

/// Seconds to the microsecond, which is all that any store gives.
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
