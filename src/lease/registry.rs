//! Several rows for one lease: the holders of a registry, seen as one.

use std::borrow::Cow;

use super::policy::{Clock, Kind, Rules};
use super::record::{Row, StoreTime};

/// The rows of one lease as one row, and the other holders whose time is not surely up.
pub(super) struct Merged<'a> {
    pub(super) row: Cow<'a, Row>,
    pub(super) others: Vec<&'a str>,
}

/// Makes one row of the rows of one lease. `None` where one holder at a time is the rule and there are several.
///
/// In a registry the freshest holder stands for all; progress is the latest of any of them, and what is due is the
/// most that any row says.
pub(super) fn merged<'a>(rows: &'a [Row], store_now: StoreTime, rules: &Rules) -> Option<Merged<'a>> {
    match rows {
        [row] => Some(Merged { row: Cow::Borrowed(row), others: Vec::new() }),
        _ if rules.kind != Kind::Registry => None,
        _ => {
            let freshest = rows.iter().max_by_key(|row| (expiry(row), row.renewed_at))?;
            let progressed = rows.iter().max_by_key(|row| (row.progress_at, row.progress_epoch))?;
            let mut row = freshest.clone();
            row.epoch = rows.iter().filter_map(|row| row.epoch).max();
            row.progress_at = progressed.progress_at;
            row.progress_epoch = progressed.progress_epoch;
            row.progress_cursor.clone_from(&progressed.progress_cursor);
            row.due = rows.iter().filter_map(|row| row.due).max();
            row.oldest_due_at = rows.iter().filter_map(|row| row.oldest_due_at).min();
            let others = rows
                .iter()
                .filter(|other| !std::ptr::eq(*other, freshest) && !surely_over(other, store_now, rules))
                .filter_map(|other| other.holder.as_deref().filter(|holder| !holder.is_empty()))
                .collect();
            Some(Merged { row: Cow::Owned(row), others })
        }
    }
}

/// When a row's holder is over, by the stored times alone.
fn expiry(row: &Row) -> Option<StoreTime> {
    row.expires_at.or_else(|| Some(row.renewed_at?.plus(row.ttl?)))
}

fn surely_over(row: &Row, store_now: StoreTime, rules: &Rules) -> bool {
    let Some(expiry) = expiry(row) else { return false };
    let allowance = match rules.clock {
        Clock::Store => std::time::Duration::ZERO,
        Clock::Holder => rules.clock_skew,
    };
    expiry.plus(allowance) <= store_now
}
