//! Redis and Valkey.
//!
//! The protocol is implemented here (`resp`), because client libraries allocate a tree of values for each reply.
//!
//! A reading is one `MULTI`/`EXEC` transaction with the server's role and clock, and for each lease its value and expiry.
//! If a pattern names the leases, `SCAN` finds their keys before the transaction. A key that is gone by then is no lease.
//! Between readings only `DueScheduleTracker` keeps state.

mod address;
mod command;
mod connect;
mod connection;
mod decoder;
mod failure;
pub mod keys;
mod kind;
mod lease_keys;
#[cfg(test)]
mod properties;
mod request;
mod resp;
mod schedule;
#[cfg(test)]
mod tests;
mod value;

use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::server_store::Driver;
use super::{Host, ReadError, ReadResult, RecordLimiter, Scope, Server, Tls};
use crate::lease::{RecordFault, StoreTime};
use connection::Connection;
use decoder::Decoder;
use failure::{Failure, not_understood};
use keys::KeyLayout;
pub use kind::Redis;
use lease_keys::LeaseKeyList;
use request::{Request, TransactionReply};
use resp::Reply;
use schedule::DueScheduleTracker;

/// Where the server is that holds the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerLocation {
    /// The server itself.
    Server(Host),
    /// A server that sentinels know. They are asked for each connection.
    Sentinels {
        /// The sentinels, in the order in which they are asked.
        sentinels: Box<[Host]>,
        /// The name of the server in their configuration.
        master: Box<str>,
    },
}

/// Which keys to read, where and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyspace {
    /// The server, and the user that the exporter reads as; the server's `default` if none is given.
    pub server: Server<ServerLocation>,
    /// The number of the database.
    pub database: u32,
    /// Where the leases are in it.
    pub layout: KeyLayout,
}

#[derive(Debug)]
struct RedisDriver {
    keyspace: Keyspace,
    scope: Scope,
    /// They are kept after a connection is closed.
    schedules: DueScheduleTracker,
}

/// A connection, and what is known of the server.
pub(super) struct RedisConnection {
    connection: Connection,
    expiry: Expiry,
}

/// The keys of leases that the next transaction reads.
struct ScanResult {
    names: LeaseKeyList,
    /// Due work is counted up to this time, because the transaction's own clock cannot be an argument of its commands.
    counted_to: Option<StoreTime>,
}

/// The maximum length of a scan cursor, in bytes: it is a number of 64 bits.
const LONGEST_CURSOR: usize = 20;

/// How the server tells when a key expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    /// `PEXPIRETIME`, since Redis 7: a Unix time.
    Time,
    /// `PTTL`: the time that is left.
    Remaining,
}

impl RedisDriver {
    /// The keys that are leases now, and the server's clock, if what is due is counted.
    async fn ask(&self, connection: &mut Connection, kept: &mut RecordLimiter) -> Result<ScanResult, ReadError> {
        let layout = &self.keyspace.layout;
        let mut scan = ScanResult { names: LeaseKeyList::new(self.scope.max_leases), counted_to: None };
        let pattern = layout.leases.text();
        if !layout.leases.is_many() {
            scan.names = LeaseKeyList::one(pattern, &self.scope.only_lease);
            if layout.counts_due() {
                connection.commands().add("TIME", []);
                scan.counted_to = Some(value::time(connection.reply().await?)?);
            }
            return Ok(scan);
        }
        let mut cursor: Box<[u8]> = (*b"0").into();
        loop {
            let arguments: [&[u8]; 5] = [&cursor, b"MATCH", pattern.as_bytes(), b"COUNT", b"1000"];
            connection.commands().add("SCAN", arguments);
            if layout.counts_due() {
                // Sent with the scan it costs no round trip. The last one before the transaction counts.
                connection.commands().add("TIME", []);
            }
            let mut answer = connection.array().await?;
            cursor = match answer.next(1).await?.next() {
                Some(Reply::Text(next)) if next.len() <= LONGEST_CURSOR => next.into(),
                _ => return Err(not_understood()),
            };
            let mut keys = answer.array().await?;
            while keys.left() > 0 {
                match keys.next(1).await?.next() {
                    Some(Reply::Text(key)) => scan.names.add(layout, key, kept),
                    Some(Reply::LongText) => LeaseKeyList::reject(RecordFault::NameTooLong, kept),
                    _ => return Err(not_understood()),
                }
                consume_budget().await;
            }
            answer.end()?;
            if layout.counts_due() {
                scan.counted_to = Some(value::time(connection.reply().await?)?);
            }
            if *cursor == *b"0" {
                return Ok(scan);
            }
        }
    }
}

impl Driver for RedisDriver {
    type Connection = RedisConnection;

    fn late_to_connect(&self) -> &'static str {
        match self.keyspace.server.tls {
            Tls::Off => "connecting took too long",
            // A server that does not waits for the rest of what it takes for a command.
            Tls::Verify { .. } => "connecting took too long; the other side may not speak TLS",
        }
    }

    async fn connect(&self, deadline: Instant) -> Result<RedisConnection, ReadError> {
        Ok(RedisConnection { connection: self.keyspace.open(deadline).await?, expiry: Expiry::Time })
    }

    async fn read(&mut self, open: &mut RedisConnection, _deadline: Instant) -> ReadResult {
        let layout = &self.keyspace.layout;
        let mut kept = RecordLimiter::new(self.scope.max_leases);
        let ScanResult { mut names, counted_to } = self.ask(&mut open.connection, &mut kept).await?;
        let leases = names.take();
        loop {
            let request = Request::new(layout, &leases, open.expiry, counted_to, &self.schedules);
            let TransactionReply { elements, began } = match request.send(&mut open.connection).await {
                Ok(executed) => executed,
                Err(Failure::NoExpiryTime) if open.expiry == Expiry::Time => {
                    open.expiry = Expiry::Remaining;
                    continue;
                }
                Err(failure) => return Err(failure.into_read_error()),
            };
            let decoder = Decoder { layout, expiry: open.expiry, schedules: &mut self.schedules, start: began };
            return decoder.read(elements, &leases, kept, names.over_limit()).await;
        }
    }
}
