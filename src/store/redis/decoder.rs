//! Decodes the replies of a transaction into a reading.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::coop::consume_budget;

use super::connection::Elements;
use super::failure::not_understood;
use super::request::{LeaseKey, commands_per_lease, reads_clock_before};
use super::resp::{Replies, Reply};
use super::schedule::{DueScheduleTracker, Entry};
use super::value::{
    DecodeError, check_hello, count, counter, field, has_none, hash, lowest_of, next, score_of, score_time, short, time,
};
use super::{Expiry, ReadError, RecordLimiter};
use crate::clock;
use crate::lease::{Column, LeaseRecord, ReadInterval, Reading, RecordFault, RejectedRecord, Rules, StoreTime};
use crate::store::column::reported;
use crate::store::redis::keys::{DueKey, KeyLayout, Record};

pub(super) struct Decoder<'l> {
    pub(super) layout: &'l KeyLayout,
    pub(super) expiry: Expiry,
    pub(super) schedules: &'l mut DueScheduleTracker,
    /// When the request was sent, on the exporter's monotonic clock.
    pub(super) start: Duration,
}

/// When a key expires.
enum Expires {
    Gone,
    Never,
    At(StoreTime),
    OutOfRange,
}

const NO_EXPIRY_TIME: DecodeError = DecodeError::Record(Column::ExpiresAt, RecordFault::OutOfRange);

impl Decoder<'_> {
    /// Decodes the replies as they arrive. `kept` has the keys that were rejected, `over_limit` the number of leases that were
    /// dropped.
    pub(super) async fn read(
        mut self,
        mut answers: Elements<'_>,
        leases: &[LeaseKey],
        mut kept: RecordLimiter,
        over_limit: u64,
    ) -> Result<Reading, ReadError> {
        check_hello(next(&mut answers.next(1).await?)?)?;
        let store_now = time(next(&mut answers.next(1).await?)?)?;
        let mut now = store_now;
        let commands = commands_per_lease(self.layout);
        for (at, subject) in leases.iter().enumerate() {
            if reads_clock_before(self.expiry, at) {
                now = time(next(&mut answers.next(1).await?)?)?;
            }
            match self.row(answers.next(commands).await?, subject, store_now, now) {
                Ok(Some(row)) => kept.push(row),
                Ok(None) => {}
                Err(DecodeError::Record(column, fault)) => {
                    kept.reject(RejectedRecord { lease: Some(subject.name.clone()), column, fault });
                }
                Err(DecodeError::Reading(error)) => return Err(error),
            }
            // Many replies may have arrived at once. Other tasks and the deadline get their turn here.
            consume_budget().await;
        }
        answers.end()?;
        self.schedules.finish_reading();
        let columns = reported(&self.layout.columns());
        let mut records = kept.finish();
        records.over_limit += over_limit;
        records.last_kept = leases.last().filter(|_| over_limit > 0).map(|subject| Arc::clone(&subject.name));
        let clock_offset = store_now.unix_seconds() - clock::unix_seconds();
        let interval = ReadInterval { start: self.start, end: clock::monotonic() };
        Ok(Reading { interval, store_now, clock_offset, columns, records })
    }

    /// The record of a lease; `None` if its key is gone. All of its replies are consumed, even after an error.
    fn row(
        &mut self,
        mut answers: Replies<'_>,
        subject: &LeaseKey,
        store_now: StoreTime,
        now: StoreTime,
    ) -> Result<Option<LeaseRecord>, DecodeError> {
        let layout = self.layout;
        let expires = self.expires(next(&mut answers)?, now)?;
        let mut row = LeaseRecord { lease: Some(subject.name.clone()), ..LeaseRecord::default() };
        let mut result = Ok(());
        match &layout.record {
            Record::Lock { ttl, epoch, progress } => {
                let holder = next(&mut answers)?;
                note(&mut result, lock(&mut row, &expires, holder, *ttl, now));
                if epoch.is_some() {
                    let epoch = next(&mut answers)?;
                    // Without the lock, the counter says only that there was a lock before.
                    if !matches!(expires, Expires::Gone) {
                        note(&mut result, counter(&mut row, epoch));
                    }
                }
                if let Some(progress) = progress {
                    let fields = next(&mut answers)?;
                    note(&mut result, hash(&mut row, &progress.columns, fields));
                }
            }
            Record::Hash(columns) => {
                let fields = next(&mut answers)?;
                if !matches!(expires, Expires::Gone) && has_none(fields) {
                    let first = columns.first().copied().unwrap_or(Column::Lease);
                    note(&mut result, Err(DecodeError::Record(first, RecordFault::WrongType)));
                }
                note(&mut result, hash(&mut row, columns, fields));
                let says_itself = [Column::ExpiresAt, Column::TtlSeconds].iter().any(|column| columns.contains(column));
                let ends = row.expires_at.is_some() || row.ttl.is_some();
                match expires {
                    Expires::At(expires_at) if !ends => row.expires_at = Some(expires_at),
                    Expires::OutOfRange if !ends => note(&mut result, Err(NO_EXPIRY_TIME)),
                    Expires::Never => row.persistent = !says_itself,
                    Expires::Gone | Expires::At(_) | Expires::OutOfRange => {}
                }
            }
        }
        let due = self.due(&mut answers, &mut row, &subject.name, store_now);
        note(&mut result, due);
        // The only lease of a source is reported even if its key is missing.
        let gone = matches!(expires, Expires::Gone) && layout.leases.is_many();
        result.map(|()| (!gone).then_some(row))
    }

    fn expires(&self, answer: Reply<'_>, now: StoreTime) -> Result<Expires, ReadError> {
        let Reply::Integer(millis) = answer else { return Err(not_understood()) };
        let micros = millis.saturating_mul(1_000);
        let micros = match (millis, self.expiry) {
            (-2, _) => return Ok(Expires::Gone),
            (-1, _) => return Ok(Expires::Never),
            // No other negative number is defined.
            (..-2, _) => return Err(not_understood()),
            (_, Expiry::Time) => micros,
            (_, Expiry::Remaining) => now.unix_micros().saturating_add(micros),
        };
        Ok(StoreTime::from_unix_micros(micros).map_or(Expires::OutOfRange, Expires::At))
    }

    fn due(
        &mut self,
        answers: &mut Replies<'_>,
        row: &mut LeaseRecord,
        lease: &Arc<str>,
        now: StoreTime,
    ) -> Result<(), DecodeError> {
        match &self.layout.due {
            DueKey::Absent => Ok(()),
            DueKey::List(_) => {
                row.due = Some(count("LLEN", next(answers)?)?);
                Ok(())
            }
            DueKey::Set { is_cursor, .. } => {
                let (lowest, count_of) = (next(answers)?, next(answers)?);
                let asked = if *is_cursor { Some(next(answers)?) } else { None };
                let count = count("ZCOUNT", count_of)?;
                let lowest = lowest_of(lowest)?;
                let score = lowest.map(|(_, score)| score);
                if let Some(asked) = asked {
                    let member = lowest.map(|(member, _)| member);
                    let first = lowest.and_then(|(member, score)| Some(Entry { member: short(member)?.into(), score }));
                    let is_too_long = member.is_some_and(|member| short(member).is_none());
                    row.progress_cursor = Some(self.schedules.update(lease, first, score_of(asked)?));
                    if is_too_long {
                        return Err(DecodeError::Record(Column::ProgressCursor, RecordFault::OutOfRange));
                    }
                }
                let oldest = match score.map(score_time).transpose()? {
                    Some(Some(time)) if time <= now => Some(time),
                    _ => None,
                };
                // Between the count and the transaction an entry may have fallen due, or the clock been set back.
                row.due = Some(if oldest.is_some() { count.max(1) } else { 0 });
                row.oldest_due_at = oldest;
                Ok(())
            }
        }
    }
}

/// Keeps the first error, or the first that fails the whole reading.
fn note(first: &mut Result<(), DecodeError>, result: Result<(), DecodeError>) {
    if matches!((&*first, &result), (Ok(()), _) | (Err(DecodeError::Record(..)), Err(DecodeError::Reading(_)))) {
        *first = result;
    }
}

/// Decodes a lock and its time to live, both as of `now`.
fn lock(
    row: &mut LeaseRecord,
    expires: &Expires,
    holder: Reply<'_>,
    ttl: Option<Duration>,
    now: StoreTime,
) -> Result<(), DecodeError> {
    field(row, Column::Holder, "GETRANGE", holder)?;
    match expires {
        Expires::Gone => return Ok(()),
        Expires::Never => row.persistent = true,
        Expires::OutOfRange => return Err(NO_EXPIRY_TIME),
        Expires::At(expires_at) => {
            row.expires_at = Some(*expires_at);
            row.renewed_at = ttl.and_then(|ttl| expires_at.minus(ttl));
        }
    }
    // The key expires later than `ttl` allows, so the renewal would be in the future: `ttl` is wrong.
    if row.renewed_at.is_some_and(|renewed_at| renewed_at > now.plus(Rules::CLOCK_SKEW)) {
        return Err(DecodeError::Record(Column::TtlSeconds, RecordFault::OutOfRange));
    }
    // Without a holder the lease would look released.
    if row.holder.is_none() { Err(DecodeError::Record(Column::Holder, RecordFault::NoName)) } else { Ok(()) }
}
