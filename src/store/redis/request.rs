//! What is asked in one transaction.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{Arg, Pipeline, Value};

use super::failure::{Failure, answered};
use super::schedule::Schedules;
use super::{Expiry, read_error};
use crate::lease::{Column, StoreTime};
use crate::store::column::LONGEST_NAME;
use crate::store::keys::{DueKey, KeyLayout, Record};

/// A lease to ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) key: String,
    pub(super) name: Arc<str>,
}

/// How many leases share one look at the clock, where the server only says how long they have left: some ten
/// microseconds pass with each.
pub(super) const LEASES_A_LOOK: usize = 200;

/// The commands of one transaction.
pub(super) struct Request(Pipeline);

impl Request {
    /// Asks for the server's role, its clock, and all that the layout says of each lease. What is due is counted up to
    /// `counted_to`, and of what came first in the schedules it is asked where it is now.
    pub(super) fn new(
        layout: &KeyLayout,
        subjects: &[Subject],
        expiry: Expiry,
        counted_to: Option<StoreTime>,
        schedules: &Schedules,
    ) -> Self {
        let mut commands = Pipeline::with_capacity(4 + 3 * subjects.len());
        // The one way to learn of the role that needs no right.
        commands.cmd("MULTI").cmd("HELLO").arg(3);
        for (at, subject) in subjects.iter().enumerate() {
            if at == 0 || (expiry == Expiry::Left && at % LEASES_A_LOOK == 0) {
                commands.cmd("TIME");
            }
            ask(&mut commands, layout, subject, expiry);
            ask_due(&mut commands, &layout.due, subject, counted_to, schedules);
        }
        if subjects.is_empty() {
            commands.cmd("TIME");
        }
        commands.cmd("EXEC");
        Self(commands)
    }

    /// What is sent.
    #[cfg(test)]
    pub(super) fn packed(&self) -> Vec<u8> {
        self.0.get_packed_pipeline()
    }

    /// Has the transaction carried out, and gives the answers to what is asked in it.
    pub(super) async fn send(&self, connection: &mut MultiplexedConnection) -> Result<Vec<Value>, Failure> {
        let mut replies = connection.send_packed_commands(&self.0, 0, self.0.len()).await.map_err(read_error)?;
        let executed = replies.pop();
        let refused = replies.iter().enumerate().find_map(|(at, reply)| match reply {
            Value::ServerError(error) => Some((at, error)),
            _ => None,
        });
        if let Some((at, error)) = refused {
            return Err(Failure::of(&name(&self.0, at), error));
        }
        match executed {
            Some(Value::Array(replies)) => Ok(replies),
            Some(Value::ServerError(error)) => Err(answered("exec", &error).into()),
            _ => Err(super::failure::not_understood().into()),
        }
    }
}

/// The name of one of several commands.
fn name(commands: &Pipeline, at: usize) -> String {
    let first = commands.cmd_iter().nth(at).and_then(|command| command.args_iter().next());
    match first {
        Some(Arg::Simple(name)) => String::from_utf8_lossy(name).to_lowercase(),
        _ => String::new(),
    }
}

fn ask(commands: &mut Pipeline, layout: &KeyLayout, subject: &Subject, expiry: Expiry) {
    let Subject { key, name } = subject;
    match expiry {
        Expiry::Time => commands.cmd("PEXPIRETIME").arg(key),
        Expiry::Left => commands.cmd("PTTL").arg(key),
    };
    match &layout.record {
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

fn ask_due(
    commands: &mut Pipeline,
    due: &DueKey,
    subject: &Subject,
    counted_to: Option<StoreTime>,
    schedules: &Schedules,
) {
    let Subject { key, name } = subject;
    match due {
        DueKey::Nowhere => {}
        DueKey::Set { key: set, is_cursor } => {
            let set = set.key(key, name);
            commands.cmd("ZRANGE").arg(&set).arg(0).arg(0).arg("WITHSCORES");
            let to = counted_to.map_or(f64::NEG_INFINITY, StoreTime::unix_seconds);
            commands.cmd("ZCOUNT").arg(&set).arg("-inf").arg(to);
            if *is_cursor {
                commands.cmd("ZSCORE").arg(set).arg(schedules.to_ask(name));
            }
        }
        DueKey::List(list) => {
            commands.cmd("LLEN").arg(list.key(key, name));
        }
    }
}

/// No more of a value than shows that it is too long: it may be half a gigabyte.
fn value(commands: &mut Pipeline, key: &str) {
    commands.cmd("GETRANGE").arg(key).arg(0).arg(LONGEST_NAME);
}

fn fields(commands: &mut Pipeline, key: &str, columns: &[Column]) {
    let command = commands.cmd("HMGET").arg(key);
    for column in columns {
        command.arg(column.as_str());
    }
}
