//! What earlier readings showed of one lease, and what this one shows in their light.

use std::time::Duration;

use super::age::{Answer, At};
use super::evidence::{
    AgeSource, AnomalySet, DatedAge, Due, Evidence, HolderEvidence, Observation, Progress, ProgressEpoch, RemainingTtl,
    Tenure, UnknownCause, Vacancy,
};
use super::label::{Anomaly, Column};
use super::policy::{Clock, Kind, Rules};
use super::record::{Columns, Cursor, Epoch, LeaseRecord, StoreTime};
use super::registry::RegistryTracker;
use super::token::{HolderToken, TokenKey};
use super::tracked_event::{Change, ObservationWindow, StoredTime, TrackedEvent};

/// What this reading shows of one lease.
pub(super) enum RecordState<'a> {
    /// No row.
    Absent,
    /// A row, and the other holders of a registry.
    LeaseRecord(&'a LeaseRecord, &'a [&'a str]),
    /// A row that cannot be used.
    Unusable(UnknownCause),
}

/// What holds for every lease of one reading.
pub(super) struct ReadContext<'a> {
    pub(super) at: At,
    pub(super) store_now: StoreTime,
    pub(super) columns: Columns,
    pub(super) rules: &'a Rules,
    pub(super) key: &'a TokenKey,
}

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
    /// Whether the two are as good as the same: their times differ by no more than the resolution.
    fn is_within(&self, resolution: Duration, other: &Self) -> bool {
        let close = |one: Option<StoreTime>, other: Option<StoreTime>| match (one, other) {
            (Some(one), Some(other)) => u128::from(one.micros_since(other).unsigned_abs()) <= resolution.as_micros(),
            (one, other) => one == other,
        };
        close(self.renewed_at, other.renewed_at) && close(self.expires_at, other.expires_at)
    }
}

/// Progress is another when its cursor is; only where there is no cursor, when its time is.
#[derive(Clone, Debug, PartialEq)]
enum ProgressKey {
    Cursor(Cursor, Option<Epoch>),
    Time(Option<StoreTime>, Option<Epoch>),
}

/// What earlier readings showed of one lease.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseTracker {
    /// The last reading that showed it.
    seen: Option<At>,
    /// The last holder's name, so that its token is made once.
    holder: Option<(Box<str>, HolderToken)>,
    acquisition: Option<TrackedEvent<AcquisitionKey>>,
    renewal: Option<TrackedEvent<RenewalKey>>,
    vacancy: Option<TrackedEvent<Vacancy>>,
    progress: Option<TrackedEvent<ProgressKey>>,
    progress_at: Option<StoreTime>,
    /// Whether the last progress was seen to be made after the present acquisition had been seen.
    own_progress: bool,
    /// Whether the acquisition is the one that the reading before showed.
    same_acquisition: bool,
    epoch: Option<Epoch>,
    highest_epoch: Option<Epoch>,
    epoch_regressed: bool,
    beats: RegistryTracker,
    /// Whether the last record had no time to live though it should.
    persistent: bool,
    renewals_since_progress: u64,
}

impl LeaseTracker {
    /// When the lease was last seen.
    pub(super) fn last_seen(&self) -> Option<At> {
        self.seen
    }

    /// Whether there was no record of the lease when it was last looked for, if it ever was.
    pub(super) fn is_absent(&self) -> bool {
        self.seen.is_none() || self.vacancy.as_ref().is_some_and(|vacancy| *vacancy.key() == Vacancy::Absent)
    }

    /// Takes in what this reading shows.
    pub(super) fn see(
        &mut self,
        sight: RecordState<'_>,
        look: &ReadContext<'_>,
        noticed: &mut AnomalySet,
    ) -> Observation {
        let no_row = LeaseRecord::default();
        let (row, others) = match sight {
            RecordState::Unusable(why) => return Observation::Unknown(why),
            RecordState::Absent => (&no_row, &[][..]),
            RecordState::LeaseRecord(row, others) => (row, others),
        };
        let watch = ObservationWindow {
            at: look.at,
            previous: self.seen,
            tolerance: look.rules.clock_skew.max(Rules::RESOLUTION),
        };
        let epoch_before = self.epoch;
        self.follow_epoch(row.epoch, look.rules.kind, noticed);
        let tenure = match vacancy(row, look.columns) {
            Some(how) => self.vacated(how, row.epoch, watch),
            None => Tenure::Holder(self.held(row, others, look, watch, noticed)),
        };
        let progress = self.progressed(row, &tenure, epoch_before, look, watch, noticed);
        let evidence = Evidence {
            due: due(row, look),
            renewals_since_progress: match progress {
                Progress::NotReported => None,
                _ => Some(self.renewals_since_progress),
            },
            tenure,
            progress,
        };
        self.seen = Some(look.at);
        Observation::Known(evidence)
    }

    /// An epoch that goes back stays regressed until one is higher than all before: any other may have been used.
    fn follow_epoch(&mut self, epoch: Option<Epoch>, kind: Kind, noticed: &mut AnomalySet) {
        let Some(epoch) = epoch.filter(|_| kind != Kind::Registry) else { return };
        if self.epoch.replace(epoch).is_some_and(|before| epoch < before) {
            noticed[Anomaly::EpochRegressed as usize] = true;
            self.epoch_regressed = true;
        }
        if self.highest_epoch.is_none_or(|highest| epoch > highest) {
            self.highest_epoch = Some(epoch);
            self.epoch_regressed = false;
        }
    }

    fn vacated(&mut self, how: Vacancy, epoch: Option<Epoch>, watch: ObservationWindow) -> Tenure {
        self.acquisition = None;
        self.renewal = None;
        self.own_progress = false;
        self.persistent = false;
        self.same_acquisition = false;
        let (_, since) = TrackedEvent::observe(&mut self.vacancy, how, StoredTime::Unstated, watch);
        Tenure::Vacant { how, since, epoch }
    }

    fn held(
        &mut self,
        row: &LeaseRecord,
        others: &[&str],
        look: &ReadContext<'_>,
        watch: ObservationWindow,
        noticed: &mut AnomalySet,
    ) -> HolderEvidence {
        self.vacancy = None;
        if row.persistent && !self.persistent {
            noticed[Anomaly::NoTtl as usize] = true;
        }
        self.persistent = row.persistent;
        let holder_before = self.holder.as_ref().map(|(_, token)| *token);
        let holder = self.token(row.holder.as_deref(), look.key);
        let same_epoch = self.acquisition.as_ref().is_some_and(|last| last.key().epoch == row.epoch);
        if look.rules.kind != Kind::Registry
            && row.epoch.is_some()
            && same_epoch
            && holder_before.is_some()
            && holder_before != holder
        {
            noticed[Anomaly::HolderChangedWithoutEpoch as usize] = true;
        }
        let stored = |at| StoredTime::of(at, look.store_now, look.rules);
        let (acquired, renewed, was_renewed) = if look.rules.kind == Kind::Registry {
            // Whoever stands for all may be another at each look, so nobody's acquisition is followed.
            let key = AcquisitionKey { holder: None, epoch: None, acquired_at: None };
            let (_, watched) = TrackedEvent::observe(&mut self.acquisition, key, StoredTime::Unstated, watch);
            let (beat, renewed) = self.beats.renewed(row.renewed_at, stored(row.renewed_at), noticed);
            (watched, renewed, beat)
        } else {
            let key = AcquisitionKey { holder, epoch: row.epoch, acquired_at: row.acquired_at };
            let (acquisition, acquired) = followed(&mut self.acquisition, key, stored(row.acquired_at), watch, noticed);
            self.same_acquisition = acquisition == Change::Same;
            self.own_progress &= self.same_acquisition;
            let key = RenewalKey { renewed_at: row.renewed_at, expires_at: row.expires_at };
            let key = match self.renewal.as_ref().map(TrackedEvent::key) {
                Some(last) if key.is_within(look.rules.resolution, last) => last.clone(),
                _ => key,
            };
            let (renewal, renewed) = followed(&mut self.renewal, key, stored(row.renewed_at), watch, noticed);
            (acquired, renewed, acquisition == Change::Same && renewal == Change::Moved)
        };
        self.renewals_since_progress += u64::from(was_renewed);
        HolderEvidence {
            holder,
            others: others.iter().map(|name| look.key.token(name)).collect(),
            epoch: row.epoch,
            epoch_regressed: self.epoch_regressed,
            acquired,
            renewed,
            left: left(row, &renewed, look),
            acquired_at: row.acquired_at,
            renewed_at: row.renewed_at,
        }
    }

    fn token(&mut self, holder: Option<&str>, key: &TokenKey) -> Option<HolderToken> {
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

    fn progressed(
        &mut self,
        row: &LeaseRecord,
        tenure: &Tenure,
        epoch_before: Option<Epoch>,
        look: &ReadContext<'_>,
        watch: ObservationWindow,
        noticed: &mut AnomalySet,
    ) -> Progress {
        if !look.columns.has_progress() {
            return Progress::NotReported;
        }
        if look.rules.kind == Kind::Registry {
            return self.registered_progress(row, look, noticed);
        }
        let mut at = row.progress_at;
        let key = match (&row.progress_cursor, at, row.progress_epoch, self.progress.as_ref().map(TrackedEvent::key)) {
            (None, None, None, None) => return Progress::Never,
            // A time alone is that of the last work done, as far back as the store keeps it; what it forgets still was.
            (None, None, None, Some(key @ ProgressKey::Time(last, None))) => {
                at = *last;
                key.clone()
            }
            // What was there before cannot have been undone: now it is only not known any more.
            (None, None, _, _) => return Progress::Incomplete,
            (Some(cursor), _, epoch, _) => ProgressKey::Cursor(cursor.clone(), epoch),
            (None, at, epoch, _) => ProgressKey::Time(at, epoch),
        };
        // A newer time beside an unmoved cursor was only touched: it dates nothing.
        let touched = matches!(key, ProgressKey::Cursor(..))
            && self.progress.as_ref().is_some_and(|last| *last.key() == key)
            && self.progress_at != at;
        let stored = if touched { StoredTime::Unstated } else { StoredTime::of(at, look.store_now, look.rules) };
        let (change, when) = followed(&mut self.progress, key, stored, watch, noticed);
        if !touched {
            self.progress_at = at;
        }
        if change != Change::Same {
            self.renewals_since_progress = 0;
        }
        if change == Change::Moved {
            self.own_progress = self.same_acquisition;
        }
        let Some(under) = under(row, tenure, &when, self.own_progress, look) else { return Progress::Incomplete };
        let stale = under == ProgressEpoch::Earlier && row.progress_epoch.is_some();
        if change == Change::Moved && stale && epoch_before == row.epoch {
            noticed[Anomaly::ProgressFromStaleEpoch as usize] = true;
        }
        Progress::Made { when, epoch: row.progress_epoch, under, at: self.progress_at }
    }

    /// Progress of a registry: the latest that any of its holders wrote. Cursors of several holders make no one cursor.
    fn registered_progress(&mut self, row: &LeaseRecord, look: &ReadContext<'_>, noticed: &mut AnomalySet) -> Progress {
        let alone = row.progress_cursor.is_none() && row.progress_epoch.is_none();
        let Some(at) = row.progress_at.or_else(|| self.beats.last_progress().filter(|_| alone)) else {
            return if alone { Progress::Never } else { Progress::Incomplete };
        };
        let stored = StoredTime::of(Some(at), look.store_now, look.rules);
        let (moved, when) = self.beats.progressed(at, stored, noticed);
        if moved {
            self.renewals_since_progress = 0;
        }
        Progress::Made { when, epoch: row.progress_epoch, under: ProgressEpoch::Current, at: Some(at) }
    }
}

/// Follows an event and notices when a clock is found to be wrong.
fn followed<K: PartialEq>(
    slot: &mut Option<TrackedEvent<K>>,
    key: K,
    stored: StoredTime,
    watch: ObservationWindow,
    noticed: &mut AnomalySet,
) -> (Change, DatedAge) {
    let suspect_before = slot.as_ref().is_some_and(TrackedEvent::is_suspect);
    let (change, dated) = TrackedEvent::observe(slot, key, stored, watch);
    if dated.basis.is_suspect() && !suspect_before {
        noticed[Anomaly::ClockSkew as usize] = true;
    }
    (change, dated)
}

/// How the row shows that nobody holds the lease; `None` if somebody does.
fn vacancy(row: &LeaseRecord, columns: Columns) -> Option<Vacancy> {
    let recorded =
        row.epoch.is_some() || row.acquired_at.is_some() || row.renewed_at.is_some() || row.expires_at.is_some();
    let named = row.holder.as_deref().is_some_and(|holder| !holder.is_empty());
    match (columns.has(Column::Holder), named, recorded) {
        (true, true, _) | (false, _, true) => None,
        (true, false, true) => Some(Vacancy::Released),
        (_, false, false) | (false, true, false) => Some(Vacancy::Absent),
    }
}

/// How long the lease still lasts, by whichever rule its source has.
fn left(row: &LeaseRecord, renewed: &DatedAge, look: &ReadContext<'_>) -> RemainingTtl {
    if row.persistent || !look.columns.has_expiry() {
        return RemainingTtl::WhilePresent;
    }
    if let Some(expires_at) = row.expires_at {
        let micros = expires_at.micros_since(look.store_now);
        let skew = match look.rules.clock {
            Clock::Store => 0,
            Clock::Holder => micros_of(look.rules.clock_skew),
        };
        return RemainingTtl::Micros {
            at_least: Some(micros.saturating_sub(skew)),
            at_most: micros.saturating_add(skew),
        };
    }
    match (row.ttl, row.renewed_at) {
        (Some(ttl), Some(_)) => RemainingTtl::Micros {
            at_least: renewed.age.upper().map(|age| micros_of(ttl).saturating_sub(micros_of(age))),
            at_most: micros_of(ttl).saturating_sub(micros_of(renewed.age.lower())),
        },
        _ => RemainingTtl::NotKnown,
    }
}

fn micros_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// How the epoch that made progress stands to the one in force; `None` where the record leaves out what would tell.
fn under(
    row: &LeaseRecord,
    tenure: &Tenure,
    when: &DatedAge,
    own: bool,
    look: &ReadContext<'_>,
) -> Option<ProgressEpoch> {
    let Tenure::Holder(holding) = tenure else { return Some(ProgressEpoch::Unattributed) };
    if look.columns.has(Column::ProgressEpoch) && look.columns.has(Column::Epoch) {
        return Some(match row.progress_epoch?.cmp(&row.epoch?) {
            std::cmp::Ordering::Less => ProgressEpoch::Earlier,
            std::cmp::Ordering::Equal => ProgressEpoch::Current,
            std::cmp::Ordering::Greater => ProgressEpoch::Later,
        });
    }
    let columns = look.columns;
    let tells_acquisitions_apart = columns.has(Column::AcquiredAt) || columns.has(Column::Epoch);
    if !tells_acquisitions_apart && (!columns.has(Column::Holder) || look.rules.kind == Kind::Claim) {
        // The source tells no holder from the next, so there is only one to attribute it to; and whoever claims a run goes
        // on from where the run before it ended.
        return Some(ProgressEpoch::Current);
    }
    if own {
        return Some(ProgressEpoch::Current);
    }
    // Without an epoch on it, progress is the holder's if it was surely made after the acquisition, as stored or watched.
    let acquired = holding.acquired;
    Some(match acquired.age.upper() {
        _ if when.basis == AgeSource::Future || acquired.basis.is_suspect() => ProgressEpoch::Unattributed,
        _ if when.age.surely_after(acquired.age) => ProgressEpoch::Current,
        Some(upper) if when.age.older_than(upper) == Answer::Yes => ProgressEpoch::Earlier,
        _ => ProgressEpoch::Unattributed,
    })
}

fn due(row: &LeaseRecord, look: &ReadContext<'_>) -> Due {
    let oldest = match StoredTime::of(row.oldest_due_at, look.store_now, look.rules) {
        StoredTime::Unstated => None,
        StoredTime::Age(age) => Some(DatedAge { age, basis: AgeSource::Stored }),
        StoredTime::Future => Some(DatedAge { age: super::age::Age::UNBOUNDED, basis: AgeSource::Future }),
    };
    match (row.due, oldest) {
        (Some(0), _) => Due::Nothing,
        (None, None) => Due::NotKnown,
        (count, oldest) => Due::Waiting { count, oldest, oldest_at: row.oldest_due_at },
    }
}
