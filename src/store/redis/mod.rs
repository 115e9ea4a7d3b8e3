//! Redis and Valkey.
//!
//! A reading is one transaction, which the server carries out without anything in between: its role, its clock, and of
//! each lease the value and when it expires. Which keys there are is asked before, where a pattern names them; one that is
//! gone by then is no lease any more. All that is kept from one reading to the next is what came first in the schedules
//! whose being put off is progress.

mod answer;
mod connect;
mod failure;
#[cfg(test)]
mod fuzz;
mod names;
mod request;
mod schedule;
#[cfg(test)]
mod tests;

use redis::aio::MultiplexedConnection;
use tokio::time::Instant;

use super::keys::KeyLayout;
use super::link::{Driver, Link};
use super::{Host, PasswordFile, ReadError, ReadResult, RecordLimiter, Scope, Store, Taken, Tls};
use crate::clock;
use crate::lease::At;
use answer::Decoder;
use failure::{Failure, read_error};
use names::Names;
use request::Request;
use schedule::Schedules;

/// Where the server is that holds the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// There.
    Server(Host),
    /// Where these say, asked anew for each connection.
    Sentinels {
        /// The sentinels, asked one after the other until one answers.
        sentinels: Box<[Host]>,
        /// What they call the server.
        master: Box<str>,
    },
}

/// Which keys to read, where and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    /// Where the server is.
    pub place: Place,
    /// The user that the exporter reads as; the server's `default` if none is given.
    pub user: Option<Box<str>>,
    /// The user's password.
    pub password: Option<PasswordFile>,
    /// Whether and how connections are protected.
    pub tls: Tls,
    /// The number of the database.
    pub database: u32,
    /// Where the leases are in it.
    pub layout: KeyLayout,
}

/// Reads keys, again and again.
#[derive(Debug)]
struct Reader {
    keyspace: Keyspace,
    scope: Scope,
    /// They outlast a connection.
    schedules: Schedules,
}

/// A connection, and what is known of the server.
pub(super) struct Open {
    connection: MultiplexedConnection,
    expiry: Expiry,
}

/// How the server tells when a key expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    /// At what time: from Redis 7 on.
    Time,
    /// How long it has left from when it is asked.
    Left,
}

impl Keyspace {
    /// The store that reads these, of which `scope` is kept. Nothing is opened yet.
    #[must_use]
    pub fn into_store(self, scope: Scope) -> Box<dyn Store> {
        let schedules = Schedules::new(scope.max_leases);
        Box::new(Link::new(Reader { keyspace: self, scope, schedules }))
    }
}

impl Reader {
    /// The keys that are leases now.
    async fn subjects(
        &self,
        connection: &mut MultiplexedConnection,
        kept: &mut RecordLimiter,
    ) -> Result<Names, ReadError> {
        let layout = &self.keyspace.layout;
        if !layout.leases.is_many() {
            return Ok(Names::one(layout.leases.text(), &self.scope.only_lease));
        }
        let mut names = Names::new(self.scope.max_leases);
        let pattern = layout.leases.text();
        let mut cursor = b"0".to_vec();
        loop {
            let scan = redis::cmd("SCAN").arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(1_000).to_owned();
            let (next, keys) = answer::scanned(connection.send_packed_command(&scan).await.map_err(read_error)?)?;
            keys.into_iter().for_each(|key| names.add(layout, key, kept));
            if next == b"0" {
                return Ok(names);
            }
            cursor = next;
        }
    }
}

impl Driver for Reader {
    type Connection = Open;

    fn late_to_connect(&self) -> &'static str {
        match self.keyspace.tls {
            Tls::Off => "connecting took too long",
            // A server that does not waits for the rest of what it takes for a command.
            Tls::Verify { .. } => "connecting took too long; the other side may not speak TLS",
        }
    }

    async fn connect(&self, deadline: Instant) -> Result<Open, ReadError> {
        Ok(Open { connection: self.keyspace.open(deadline).await?, expiry: Expiry::Time })
    }

    async fn read(&mut self, open: &mut Open, _deadline: Instant) -> ReadResult {
        let layout = &self.keyspace.layout;
        let mut kept = RecordLimiter::new(self.scope.max_leases);
        let mut names = self.subjects(&mut open.connection, &mut kept).await?;
        let subjects = names.take();
        // What is due by then is counted in the transaction, whose own clock cannot be an argument in it.
        let counted_to = match layout.counts_due() {
            true => {
                Some(answer::time(open.connection.send_packed_command(&redis::cmd("TIME")).await.map_err(read_error)?)?)
            }
            false => None,
        };
        let (replies, at, wall_clock) = loop {
            let request = Request::new(layout, &subjects, open.expiry, counted_to, &self.schedules);
            let began = clock::monotonic();
            match request.send(&mut open.connection).await {
                Ok(replies) => break (replies, At { began, ended: clock::monotonic() }, clock::unix_seconds()),
                Err(Failure::NoExpiryTime) if open.expiry == Expiry::Time => open.expiry = Expiry::Left,
                Err(failure) => return Err(failure.into_read_error()),
            }
        };
        let decoder = Decoder::begin(layout, open.expiry, &mut self.schedules, replies)?;
        let reading = decoder.finish(&subjects, kept, names.over_limit())?;
        let clock_offset = reading.store_now.unix_seconds() - wall_clock;
        Ok(Taken { reading, at, clock_offset })
    }
}
