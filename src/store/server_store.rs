//! A store that is reached over a connection: how one is opened, kept, given up and opened anew.
//!
//! One connection a source. Whatever goes wrong on it, it is given up: a half-read answer must not be taken for the next
//! one. A connection that was kept may have died since it was last used, so then a fresh one is tried in the same read.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::{ReadError, ReadResult, Store};
use crate::lease::ReadFailure;

/// How one kind of server is spoken to.
pub(super) trait Driver: fmt::Debug + Send + Sync {
    /// An open connection. Dropping it closes it at once, without waiting for the server.
    type Connection: Send;

    /// What to say when connecting took too long.
    fn late_to_connect(&self) -> &'static str {
        "connecting took too long"
    }

    /// Opens a connection, after reading anew the files that prove who the exporter is. It is given up at `deadline`.
    fn connect(&self, deadline: Instant) -> impl Future<Output = Result<Self::Connection, ReadError>> + Send;

    /// Takes one reading. The server must be told to give up at `deadline` too.
    fn read(&mut self, connection: &mut Self::Connection, deadline: Instant)
    -> impl Future<Output = ReadResult> + Send;
}

/// One source's connection to its server.
pub(super) struct ServerStore<D: Driver> {
    driver: D,
    connection: Option<D::Connection>,
    backoff: Backoff,
}

impl<D: Driver> ServerStore<D> {
    /// A link that is not open yet.
    pub(super) const fn new(driver: D) -> Self {
        Self { driver, connection: None, backoff: Backoff { failures: 0, last: None } }
    }

    async fn read_by(&mut self, deadline: Instant) -> ReadResult {
        if let Some(connection) = self.connection.take() {
            match self.read_on(connection, deadline).await {
                // It died meanwhile, or what was learned when it was opened is no longer true.
                Err(ReadError::Unreachable(_) | ReadError::SchemaMismatch(_)) => {}
                result => return result,
            }
        }
        let connection = self.connect(deadline).await?;
        self.read_on(connection, deadline).await
    }

    /// Reads on a connection and keeps it if all went well.
    async fn read_on(&mut self, mut connection: D::Connection, deadline: Instant) -> ReadResult {
        let taken = timeout_at(deadline, self.driver.read(&mut connection, deadline)).await;
        let taken = taken.unwrap_or_else(|_| Err(late("the store did not answer in time")))?;
        self.connection = Some(connection);
        Ok(taken)
    }

    async fn connect(&mut self, deadline: Instant) -> Result<D::Connection, ReadError> {
        if let Some((not_before, failure)) = self.backoff.rest() {
            // What would be left after the pause has to do for connecting too, or a server that refuses would seem slow.
            let now = Instant::now();
            if not_before.saturating_duration_since(now) > deadline.saturating_duration_since(now) / 2 {
                return Err(too_soon(failure));
            }
            sleep_until(not_before).await;
        }
        let connected = timeout_at(deadline, self.driver.connect(deadline)).await;
        let connected = connected.unwrap_or_else(|_| Err(late(self.driver.late_to_connect())));
        self.backoff.note(connected.as_ref().err().map(ReadError::failure));
        connected
    }
}

fn late(what: &str) -> ReadError {
    ReadError::Timeout(what.to_owned())
}

/// Nothing new is known of a server that is let rest, so it is unknown for the reason that it was.
fn too_soon(failure: ReadFailure) -> ReadError {
    let text = "connecting failed just now, and it is too soon to try again".to_owned();
    match failure {
        ReadFailure::Unreachable => ReadError::Unreachable(text),
        ReadFailure::Timeout => ReadError::Timeout(text),
        ReadFailure::Refused => ReadError::Refused(text),
        ReadFailure::SchemaMismatch => ReadError::SchemaMismatch(text),
        ReadFailure::InvalidRecord => ReadError::InvalidRecord(text),
    }
}

impl<D: Driver> Store for ServerStore<D> {
    fn read(&mut self, deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>> {
        Box::pin(self.read_by(deadline))
    }
}

impl<D: Driver> fmt::Debug for ServerStore<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerStore").field("driver", &self.driver).field("open", &self.connection.is_some()).finish()
    }
}

/// Keeps many scrapes from hammering at a server that is down. The longest pause is below any usual scrape interval, so
/// that a server that is back is found by the first scrape.
#[derive(Debug)]
struct Backoff {
    failures: u32,
    /// When the last of them was, and what it was.
    last: Option<(Instant, ReadFailure)>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_millis(400);

    /// Until when the server is let rest, and why.
    fn rest(&self) -> Option<(Instant, ReadFailure)> {
        let doublings = self.failures.saturating_sub(1).min(8);
        let pause = (Self::FIRST * (1 << doublings)).min(Self::LONGEST);
        self.last.map(|(at, failure)| (at + pause, failure))
    }

    fn note(&mut self, failure: Option<ReadFailure>) {
        self.failures = if failure.is_some() { self.failures.saturating_add(1) } else { 0 };
        self.last = failure.map(|failure| (Instant::now(), failure));
    }
}

#[cfg(test)]
mod tests;
