//! A store that is reached over a connection, which is kept between reads.
//!
//! A source has one connection. After any failure the connection is closed, because the rest of a response could be taken
//! for the next response. A kept connection may have died since its last use, so a read that fails on it is tried once more
//! on a new connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::{ReadError, ReadResult, Store};
use crate::lease::ReadFailure;

/// The protocol of one kind of server.
pub(super) trait Driver: fmt::Debug + Send + Sync {
    /// An open connection. Dropping it closes it at once, without waiting for the server.
    type Connection: Send;

    /// The message if connecting takes too long.
    fn late_to_connect(&self) -> &'static str {
        "connecting took too long"
    }

    /// Opens a connection, after reading the files with credentials again. The caller gives up at `deadline`.
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
    pub(super) const fn new(driver: D) -> Self {
        Self { driver, connection: None, backoff: Backoff { failures: 0, last: None } }
    }

    async fn read_by(&mut self, deadline: Instant) -> ReadResult {
        if let Some(connection) = self.connection.take() {
            match self.read_on(connection, deadline).await {
                // The connection died, or the schema changed since it was opened.
                Err(ReadError::Unreachable(_) | ReadError::SchemaMismatch(_)) => {}
                result => return result,
            }
        }
        let connection = self.connect(deadline).await?;
        self.read_on(connection, deadline).await
    }

    /// Reads on a connection, and keeps it if the read succeeds.
    async fn read_on(&mut self, mut connection: D::Connection, deadline: Instant) -> ReadResult {
        let reading = timeout_at(deadline, self.driver.read(&mut connection, deadline)).await;
        let reading = reading.unwrap_or_else(|_| Err(late("the store did not answer in time")))?;
        self.connection = Some(connection);
        Ok(reading)
    }

    async fn connect(&mut self, deadline: Instant) -> Result<D::Connection, ReadError> {
        if let Some((not_before, failure)) = self.backoff.rest() {
            // The time left after the pause must be enough to connect. Otherwise a server that refuses would seem slow.
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

/// The error while no attempt is made: its kind is that of the last failure.
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

/// Limits how often a failing server is connected to. The longest pause is shorter than any usual scrape interval, so the
/// first scrape after the server is back finds it.
#[derive(Debug)]
struct Backoff {
    failures: u32,
    /// When the last attempt failed, and how.
    last: Option<(Instant, ReadFailure)>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_millis(400);

    /// When the next attempt may be made, and how the last one failed.
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
