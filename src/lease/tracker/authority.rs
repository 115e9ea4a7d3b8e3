//! Tracks who holds a lease.

use std::time::Duration;

use super::context::{RecordContext, StoredTime};
use super::event::{EventChange, EventTracker, LatestTime};
use crate::lease::anomaly::AnomalySet;
use crate::lease::evidence::{AuthorityEvidence, EventAge, Holder, RemainingTtl, VacancyCause};
use crate::lease::label::{Anomaly, Column};
use crate::lease::policy::Clock;
use crate::lease::record::{Epoch, StoreTime};
use crate::lease::token::{HolderToken, TokenKey};

#[derive(Clone, Debug, PartialEq)]
struct AcquisitionKey {
    holder: Option<HolderToken>,
    epoch: Option<Epoch>,
    acquired_at: Option<StoreTime>,
}

#[derive(Clone, Debug, PartialEq)]
struct RenewalKey {
    renewed_at: Option<StoreTime>,
    expires_at: Option<StoreTime>,
}

impl RenewalKey {
    /// Whether the times of two renewals differ by no more than `resolution`.
    fn is_within(&self, resolution: Duration, other: &Self) -> bool {
        let close = |one: Option<StoreTime>, other: Option<StoreTime>| match (one, other) {
            (Some(one), Some(other)) => u128::from(one.micros_since(other).unsigned_abs()) <= resolution.as_micros(),
            (one, other) => one == other,
        };
        close(self.renewed_at, other.renewed_at) && close(self.expires_at, other.expires_at)
    }
}

/// Tracks the holder, the epoch and the renewals of one lease.
#[derive(Clone, Debug, Default)]
pub(super) struct AuthorityTracker {
    /// The name and token of the last holder, so that the token is computed once.
    holder: Option<(Box<str>, HolderToken)>,
    acquisition: EventTracker<AcquisitionKey>,
    renewal: EventTracker<RenewalKey>,
    /// In a registry, the latest renewal of any member.
    latest_renewal: LatestTime,
    vacancy: EventTracker<VacancyCause>,
    /// The epoch of the last reading that showed one.
    pub(super) epoch: Option<Epoch>,
    highest_epoch: Option<Epoch>,
    epoch_regressed: bool,
    /// Whether the last record had no TTL although it should have one.
    persistent: bool,
}

pub(super) struct AuthorityUpdate {
    pub(super) evidence: AuthorityEvidence,
    /// Whether the acquisition is the one of the reading before.
    pub(super) same_acquisition: bool,
    /// Whether the holder has renewed the lease since the reading before.
    pub(super) renewed: bool,
}

struct Renewals {
    acquired: EventAge,
    renewed_at: EventAge,
    same_acquisition: bool,
    renewed: bool,
    clock_skew: bool,
}

impl AuthorityTracker {
    /// Whether the last reading showed no record of the lease.
    pub(super) fn is_absent(&self) -> bool {
        self.vacancy.last() == Some(&VacancyCause::Absent)
    }

    /// Tracks the authority of the current reading, and adds its anomalies.
    pub(super) fn track(&mut self, lease: &RecordContext<'_>, anomalies: &mut AnomalySet) -> AuthorityUpdate {
        anomalies.insert_if(Anomaly::EpochRegressed, self.track_epoch(lease));
        match vacancy_cause(lease) {
            Some(cause) => self.track_vacancy(cause, lease),
            None => self.track_holder(lease, anomalies),
        }
    }

    /// Returns whether the epoch went backwards in this reading. It stays regressed until it is higher than all epochs
    /// before, because any lower epoch may have been used before.
    fn track_epoch(&mut self, lease: &RecordContext<'_>) -> bool {
        let Some(epoch) = lease.record.epoch.filter(|_| !lease.is_registry()) else { return false };
        let regressed = self.epoch.replace(epoch).is_some_and(|before| epoch < before);
        self.epoch_regressed |= regressed;
        if self.highest_epoch.is_none_or(|highest| epoch > highest) {
            self.highest_epoch = Some(epoch);
            self.epoch_regressed = false;
        }
        regressed
    }

    fn track_vacancy(&mut self, cause: VacancyCause, lease: &RecordContext<'_>) -> AuthorityUpdate {
        self.acquisition = EventTracker::default();
        self.renewal = EventTracker::default();
        self.persistent = false;
        let since = self.vacancy.track(cause, StoredTime::Missing, lease.window).age;
        AuthorityUpdate {
            evidence: AuthorityEvidence::Vacant { cause, since, epoch: lease.record.epoch },
            same_acquisition: false,
            renewed: false,
        }
    }

    fn track_holder(&mut self, lease: &RecordContext<'_>, anomalies: &mut AnomalySet) -> AuthorityUpdate {
        let record = lease.record;
        self.vacancy = EventTracker::default();
        let persistent_before = std::mem::replace(&mut self.persistent, record.persistent);
        anomalies.insert_if(Anomaly::NoTtl, record.persistent && !persistent_before);
        let previous_holder = self.holder.as_ref().map(|(_, token)| *token);
        let token = self.holder_token(record.holder.as_deref(), lease.reading.key);
        let same_epoch = self.acquisition.last().is_some_and(|last| last.epoch == record.epoch);
        let changed_without_epoch = !lease.is_registry()
            && record.epoch.is_some()
            && same_epoch
            && previous_holder.is_some()
            && previous_holder != token;
        anomalies.insert_if(Anomaly::HolderChangedWithoutEpoch, changed_without_epoch);
        let renewals = match lease.is_registry() {
            true => self.track_registry_renewals(lease),
            false => self.track_renewals(token, lease),
        };
        anomalies.insert_if(Anomaly::ClockSkew, renewals.clock_skew);
        let holder = Holder {
            token,
            others: lease.other_holders.iter().map(|name| lease.reading.key.token(name)).collect(),
            epoch: record.epoch,
            epoch_regressed: self.epoch_regressed,
            acquired: renewals.acquired,
            renewed: renewals.renewed_at,
            remaining_ttl: remaining_ttl(lease, renewals.renewed_at),
            acquired_at: record.acquired_at,
            renewed_at: record.renewed_at,
        };
        AuthorityUpdate {
            evidence: AuthorityEvidence::Holder(holder),
            same_acquisition: renewals.same_acquisition,
            renewed: renewals.renewed,
        }
    }

    fn track_renewals(&mut self, holder: Option<HolderToken>, lease: &RecordContext<'_>) -> Renewals {
        let record = lease.record;
        let key = AcquisitionKey { holder, epoch: record.epoch, acquired_at: record.acquired_at };
        let acquisition = self.acquisition.track(key, lease.stored_time(record.acquired_at), lease.window);
        let key = RenewalKey { renewed_at: record.renewed_at, expires_at: record.expires_at };
        let key = match self.renewal.last() {
            Some(last) if key.is_within(lease.reading.rules.resolution, last) => last.clone(),
            _ => key,
        };
        let renewal = self.renewal.track(key, lease.stored_time(record.renewed_at), lease.window);
        let same_acquisition = acquisition.change == EventChange::Unchanged;
        Renewals {
            acquired: acquisition.age,
            renewed_at: renewal.age,
            same_acquisition,
            renewed: same_acquisition && renewal.change == EventChange::Changed,
            clock_skew: acquisition.clock_skew || renewal.clock_skew,
        }
    }

    /// The member with the latest renewal may be another one at each reading, so the acquisition of the registry is its
    /// first reading with a member, and no member's own.
    fn track_registry_renewals(&mut self, lease: &RecordContext<'_>) -> Renewals {
        let key = AcquisitionKey { holder: None, epoch: None, acquired_at: None };
        let acquisition = self.acquisition.track(key, StoredTime::Missing, lease.window);
        let renewed_at = lease.record.renewed_at;
        let renewal = self.latest_renewal.track(renewed_at, lease.stored_time(renewed_at));
        Renewals {
            acquired: acquisition.age,
            renewed_at: renewal.age,
            same_acquisition: false,
            renewed: renewal.change == EventChange::Changed,
            clock_skew: renewal.clock_skew,
        }
    }

    fn holder_token(&mut self, holder: Option<&str>, key: &TokenKey) -> Option<HolderToken> {
        let name = holder?;
        match &self.holder {
            Some((known, token)) if **known == *name => Some(*token),
            _ => {
                let token = key.token(name);
                self.holder = Some((name.into(), token));
                Some(token)
            }
        }
    }
}

/// How the record shows that the lease has no holder; `None` if it has one.
fn vacancy_cause(lease: &RecordContext<'_>) -> Option<VacancyCause> {
    let record = lease.record;
    let has_times = record.epoch.is_some()
        || record.acquired_at.is_some()
        || record.renewed_at.is_some()
        || record.expires_at.is_some();
    let has_holder = record.holder.as_deref().is_some_and(|holder| !holder.is_empty());
    match (lease.columns().has(Column::Holder), has_holder, has_times) {
        (true, true, _) | (false, _, true) => None,
        (true, false, true) => Some(VacancyCause::Released),
        (_, false, false) | (false, true, false) => Some(VacancyCause::Absent),
    }
}

/// The time until the lease expires, from the expiry time or else from the TTL.
fn remaining_ttl(lease: &RecordContext<'_>, renewed: EventAge) -> RemainingTtl {
    let (record, rules) = (lease.record, lease.reading.rules);
    if record.persistent || !lease.columns().has_expiry() {
        return RemainingTtl::WhileRecordExists;
    }
    if let Some(expires_at) = record.expires_at {
        let micros = expires_at.micros_since(lease.reading.store_now);
        let skew = match rules.clock {
            Clock::Store => 0,
            Clock::Holder => micros_of(rules.clock_skew),
        };
        return RemainingTtl::Micros {
            at_least: Some(micros.saturating_sub(skew)),
            at_most: micros.saturating_add(skew),
        };
    }
    match (record.ttl, record.renewed_at) {
        (Some(ttl), Some(_)) => RemainingTtl::Micros {
            at_least: renewed.age.upper().map(|age| micros_of(ttl).saturating_sub(micros_of(age))),
            at_most: micros_of(ttl).saturating_sub(micros_of(renewed.age.lower())),
        },
        _ => RemainingTtl::NotRecorded,
    }
}

fn micros_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
