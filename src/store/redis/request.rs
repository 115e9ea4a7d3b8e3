//! The commands of one transaction.

use std::sync::Arc;
use std::time::Duration;

use super::Expiry;
use super::command::Commands;
use super::connection::{Connection, Elements};
use super::failure::{Failure, not_understood};
use super::resp::Reply;
use super::schedule::DueScheduleTracker;
use crate::clock;
use crate::lease::{Column, StoreTime};
use crate::store::column::MAX_NAME;
use crate::store::redis::keys::{DueKey, KeyLayout, Record};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseKey {
    pub(super) key: String,
    pub(super) name: Arc<str>,
}

/// How many leases share one `TIME` command, if the server reports the remaining time to live: each lease takes about ten
/// microseconds.
pub(super) const LEASES_PER_CLOCK: usize = 200;

/// The commands of one transaction. They are encoded while they are sent, so that memory holds a few thousand at most.
pub(super) struct Request<'r> {
    layout: &'r KeyLayout,
    leases: &'r [LeaseKey],
    expiry: Expiry,
    /// Due work is counted up to this time, in Unix seconds.
    counted_to: String,
    schedules: &'r DueScheduleTracker,
}

/// The reply to a transaction.
pub(super) struct TransactionReply<'c> {
    pub(super) elements: Elements<'c>,
    /// The earliest time of its execution, on the exporter's monotonic clock.
    pub(super) began: Duration,
}

/// How far a request is encoded.
#[derive(Default)]
struct PackingState {
    /// The next part: the beginning, a lease, or the end.
    next: usize,
    /// When the end was encoded.
    ended: Option<Duration>,
}

impl<'r> Request<'r> {
    /// A request for the server's role and clock, and for each lease the values that the layout names. Due work is counted
    /// up to `counted_to`. The scores of the first entries of `schedules` are requested too.
    pub(super) fn new(
        layout: &'r KeyLayout,
        leases: &'r [LeaseKey],
        expiry: Expiry,
        counted_to: Option<StoreTime>,
        schedules: &'r DueScheduleTracker,
    ) -> Self {
        let counted_to = counted_to.map_or(f64::NEG_INFINITY, StoreTime::unix_seconds).to_string();
        Self { layout, leases, expiry, counted_to, schedules }
    }

    #[cfg(test)]
    pub(super) fn packed(&self) -> Vec<u8> {
        let (mut commands, mut state) = (Commands::default(), PackingState::default());
        while self.pack(&mut state, &mut commands) {}
        commands.unsent().to_vec()
    }

    /// Sends the request and waits until the transaction is executed.
    pub(super) async fn send<'c>(&self, connection: &'c mut Connection) -> Result<TransactionReply<'c>, Failure> {
        let mut state = PackingState::default();
        let mut knows_expiry_time = true;
        loop {
            if connection.commands().next().is_none() {
                self.pack(&mut state, connection.commands());
            }
            if connection.commands().next() == Some("EXEC") {
                break;
            }
            match connection.answer(&mut |commands| self.pack(&mut state, commands)).await? {
                (_, Reply::Status) => {}
                (name, Reply::Error(error)) => match Failure::of(name, error) {
                    // `EXEC` then fails, and the caller sends another transaction on the same connection.
                    Failure::NoExpiryTime => knows_expiry_time = false,
                    failure @ Failure::Read(_) => return Err(failure),
                },
                _ => return Err(not_understood().into()),
            }
        }
        // The server executes a transaction after `EXEC`, which was not sent before this time.
        let began = state.ended.unwrap_or_else(clock::monotonic);
        match connection.array().await {
            Ok(elements) if knows_expiry_time => Ok(TransactionReply { elements, began }),
            Ok(_) => Err(not_understood().into()),
            Err(_) if !knows_expiry_time => Err(Failure::NoExpiryTime),
            Err(error) => Err(error.into()),
        }
    }

    /// Encodes the next part. `false` means that there is none.
    fn pack(&self, state: &mut PackingState, commands: &mut Commands) -> bool {
        let (at, end) = (state.next, self.leases.len() + 1);
        if at > end {
            return false;
        }
        state.next += 1;
        match at.checked_sub(1) {
            None => {
                commands.add("MULTI", []);
                // The only command that reports the role without a further right.
                commands.add("HELLO", ["3"].map(str::as_bytes));
                commands.add("TIME", []);
            }
            Some(at) => match self.leases.get(at) {
                Some(subject) => {
                    if reads_clock_before(self.expiry, at) {
                        commands.add("TIME", []);
                    }
                    self.ask(subject, commands);
                    self.ask_due(subject, commands);
                }
                None => {
                    commands.add("EXEC", []);
                    state.ended = Some(clock::monotonic());
                }
            },
        }
        true
    }

    fn ask(&self, LeaseKey { key, name }: &LeaseKey, commands: &mut Commands) {
        let left = match self.expiry {
            Expiry::Time => "PEXPIRETIME",
            Expiry::Remaining => "PTTL",
        };
        commands.add(left, [key.as_bytes()]);
        match &self.layout.record {
            Record::Lock { epoch, progress, .. } => {
                value(commands, key);
                if let Some(epoch) = epoch {
                    value(commands, &epoch.key(key, name));
                }
                if let Some(progress) = progress {
                    fields(commands, &progress.key.key(key, name), &progress.columns);
                }
            }
            Record::Hash(columns) => fields(commands, key, columns),
        }
    }

    fn ask_due(&self, LeaseKey { key, name }: &LeaseKey, commands: &mut Commands) {
        match &self.layout.due {
            DueKey::Absent => {}
            DueKey::Set { key: set, is_cursor } => {
                let set = set.key(key, name);
                commands.add("ZRANGE", [&set, "0", "0", "WITHSCORES"].map(str::as_bytes));
                commands.add("ZCOUNT", [&set, "-inf", &self.counted_to].map(str::as_bytes));
                if *is_cursor {
                    commands.add("ZSCORE", [set.as_bytes(), self.schedules.first_member(name)]);
                }
            }
            DueKey::List(list) => commands.add("LLEN", [list.key(key, name).as_bytes()]),
        }
    }
}

/// Whether `TIME` is repeated before this lease.
pub(super) const fn reads_clock_before(expiry: Expiry, at: usize) -> bool {
    matches!(expiry, Expiry::Remaining) && at > 0 && at.is_multiple_of(LEASES_PER_CLOCK)
}

pub(super) fn commands_per_lease(layout: &KeyLayout) -> usize {
    let record = match &layout.record {
        Record::Lock { epoch, progress, .. } => 1 + usize::from(epoch.is_some()) + usize::from(progress.is_some()),
        Record::Hash(_) => 1,
    };
    let due = match &layout.due {
        DueKey::Absent => 0,
        DueKey::List(_) => 1,
        DueKey::Set { is_cursor, .. } => 2 + usize::from(*is_cursor),
    };
    1 + record + due
}

/// Reads a value up to the length limit of names plus one byte, because a value can have half a gigabyte.
fn value(commands: &mut Commands, key: &str) {
    commands.add("GETRANGE", [key, "0", itoa::Buffer::new().format(MAX_NAME)].map(str::as_bytes));
}

fn fields(commands: &mut Commands, key: &str, columns: &[Column]) {
    let key_and_columns = std::iter::once(key).chain(columns.iter().map(|column| column.as_str()));
    commands.add("HMGET", key_and_columns.map(str::as_bytes));
}
