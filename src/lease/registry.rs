//! Several rows for one lease: the holders of a registry, seen as one.

use std::borrow::Cow;

use super::age::Age;
use super::evidence::{AgeSource, AnomalySet, DatedAge};
use super::label::Anomaly;
use super::policy::{Clock, Kind, Rules};
use super::record::{LeaseRecord, StoreTime};
use super::tracked_event::StoredTime;

/// The rows of one lease as one row, and the other holders whose time is not surely up.
pub(super) struct MergedRecord<'a> {
    pub(super) row: Cow<'a, LeaseRecord>,
    pub(super) others: Vec<&'a str>,
}

/// Makes one row of the rows of one lease. `None` where one holder at a time is the rule and there are several.
///
/// In a registry the freshest holder stands for all; progress is the latest of any of them, and what is due is the
/// most that any row says.
pub(super) fn merged<'a>(rows: &'a [LeaseRecord], store_now: StoreTime, rules: &Rules) -> Option<MergedRecord<'a>> {
    match rows {
        [row] => Some(MergedRecord { row: Cow::Borrowed(row), others: Vec::new() }),
        _ if rules.kind != Kind::Registry => None,
        _ => {
            let freshest = rows.iter().max_by_key(|row| (expiry(row), row.renewed_at))?;
            let progressed = rows.iter().max_by_key(|row| (row.progress_at, row.progress_epoch))?;
            let mut row = freshest.clone();
            row.epoch = rows.iter().filter_map(|row| row.epoch).max();
            row.progress_at = progressed.progress_at;
            row.progress_epoch = progressed.progress_epoch;
            row.progress_cursor = rows.iter().find_map(|row| row.progress_cursor.clone());
            row.due = rows.iter().filter_map(|row| row.due).max();
            row.oldest_due_at = rows.iter().filter_map(|row| row.oldest_due_at).min();
            let others = rows
                .iter()
                .filter(|other| !std::ptr::eq(*other, freshest) && !surely_over(other, store_now, rules))
                .filter_map(|other| other.holder.as_deref().filter(|holder| !holder.is_empty()))
                .collect();
            Some(MergedRecord { row: Cow::Owned(row), others })
        }
    }
}

/// When a row's holder is over, by the stored times alone.
fn expiry(row: &LeaseRecord) -> Option<StoreTime> {
    row.expires_at.or_else(|| Some(row.renewed_at?.plus(row.ttl?)))
}

fn surely_over(row: &LeaseRecord, store_now: StoreTime, rules: &Rules) -> bool {
    let Some(expiry) = expiry(row) else { return false };
    let allowance = match rules.clock {
        Clock::Store => std::time::Duration::ZERO,
        Clock::Holder => rules.clock_skew,
    };
    expiry.plus(allowance) <= store_now
}

/// What earlier readings showed of a registry as a whole.
///
/// Its latest beat and its latest progress may be another holder's at each look, and go back when that holder's row goes
/// away: so they are dated by what the store says of them, and not by watching.
#[derive(Clone, Debug, Default)]
pub(super) struct RegistryTracker {
    renewed_at: Option<StoreTime>,
    progress_at: Option<StoreTime>,
    /// Which of the two lay in the future.
    in_future: [bool; 2],
}

impl RegistryTracker {
    /// Takes in the latest beat: whether it is a new one, and when it was.
    pub(super) fn renewed(
        &mut self,
        at: Option<StoreTime>,
        stored: StoredTime,
        noticed: &mut AnomalySet,
    ) -> (bool, DatedAge) {
        let before = std::mem::replace(&mut self.renewed_at, at);
        (before.is_some() && at > before, self.dated(0, stored, noticed))
    }

    /// Takes in the latest progress: whether it is new, and when it was.
    pub(super) fn progressed(
        &mut self,
        at: StoreTime,
        stored: StoredTime,
        noticed: &mut AnomalySet,
    ) -> (bool, DatedAge) {
        let before = self.progress_at.replace(at);
        (Some(at) > before, self.dated(1, stored, noticed))
    }

    /// The latest progress that was seen.
    pub(super) const fn last_progress(&self) -> Option<StoreTime> {
        self.progress_at
    }

    fn dated(&mut self, which: usize, stored: StoredTime, noticed: &mut AnomalySet) -> DatedAge {
        let was_in_future = std::mem::replace(&mut self.in_future[which], stored == StoredTime::Future);
        if stored == StoredTime::Future && !was_in_future {
            noticed[Anomaly::ClockSkew as usize] = true;
        }
        match stored {
            StoredTime::Age(age) => DatedAge { age, basis: AgeSource::Stored },
            StoredTime::Unstated => DatedAge { age: Age::UNBOUNDED, basis: AgeSource::FirstSeen },
            StoredTime::Future => DatedAge { age: Age::UNBOUNDED, basis: AgeSource::Future },
        }
    }
}
