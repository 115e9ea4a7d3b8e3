//! SQLite.
//!
//! The file is opened read-only and read on a blocking thread, at most one for each source. A statement is interrupted at
//! its deadline. A thread that hangs in the file system cannot be interrupted: until it returns, each read times out at once.

mod failure;
mod kind;
mod query;
#[cfg(test)]
mod tests;
mod truncation;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::{ReadError, ReadResult, Store};
use crate::clock;
use crate::lease::Reading;

pub use kind::{Sqlite, SqliteFile};
pub use query::SqliteQuery;

/// How long SQLite waits for a lock before the deadline is checked.
const LOCK_STEP: Duration = Duration::from_millis(20);
/// The time that an interrupted statement has to return after the deadline.
const GRACE: Duration = Duration::from_millis(200);
/// The size of SQLite's page cache, in negative KiB: enough for a hundred thousand leases. A small file uses less.
const CACHE_KIB: i64 = -32_768;

/// One source in an SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: Arc<PathBuf>,
    query: Arc<SqliteQuery>,
    connection: Option<OpenFile>,
    /// A read that did not return in time.
    stuck: Option<JoinHandle<()>>,
}

/// A connection and the file that it was opened on.
#[derive(Debug)]
struct OpenFile {
    connection: Connection,
    file: FileId,
    /// The state of the file when it was opened, if it was in WAL mode.
    /// The state of the database file when it was opened, if it has a write-ahead log.
    state_if_wal: Option<FileState>,
}

/// A file that is overwritten by a copy keeps its identity. In WAL mode SQLite does not notice, but the state changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    modified: (i64, i64),
    length: u64,
}

/// The identity of a file, which changes if the file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino() }
    }
}

impl SqliteStore {
    /// A source in the file at `path`. Nothing is opened yet.
    #[must_use]
    pub fn new(path: PathBuf, query: SqliteQuery) -> Self {
        Self { path: Arc::new(path), query: Arc::new(query), connection: None, stuck: None }
    }

    async fn read_by(&mut self, deadline: Instant) -> ReadResult {
        if self.stuck.as_ref().is_some_and(|stuck| !stuck.is_finished()) {
            return Err(ReadError::Timeout("an earlier read of the file has not returned yet".into()));
        }
        self.stuck = None;
        let (path, query) = (Arc::clone(&self.path), Arc::clone(&self.query));
        let open = self.connection.take();
        let until = clock::monotonic() + deadline.saturating_duration_since(Instant::now());
        let (done, result) = tokio::sync::oneshot::channel();
        let thread = tokio::task::spawn_blocking(move || {
            let mut open = open;
            let result = read(&path, &query, &mut open, until);
            // A connection is not used again after a failure.
            let _ = done.send((open.filter(|_| result.is_ok()), result));
        });
        match timeout_at(deadline + GRACE, result).await {
            Ok(Ok((open, result))) => {
                self.connection = open;
                result
            }
            Ok(Err(_)) => Err(ReadError::Refused("reading the file ended unexpectedly".into())),
            Err(_) => {
                self.stuck = Some(thread);
                Err(ReadError::Timeout("the file system does not answer".into()))
            }
        }
    }
}

impl Store for SqliteStore {
    fn read(&mut self, deadline: Instant) -> Pin<Box<dyn Future<Output = ReadResult> + Send + '_>> {
        Box::pin(self.read_by(deadline))
    }
}

/// Reads, and retries until the deadline while another process locks the file. SQLite's own busy timeout adds up the sleeps
/// that it requested, not the time that passed, so on a busy machine it would exceed the deadline.
fn read(path: &PathBuf, query: &SqliteQuery, open: &mut Option<OpenFile>, deadline: Duration) -> ReadResult {
    loop {
        match attempt(path, query, open, deadline) {
            Err(failure) if failure.is_locked() && clock::monotonic() < deadline => {}
            result => return result.map_err(|failure| failure.into_read_error(path)),
        }
    }
}

fn attempt(
    path: &PathBuf,
    query: &SqliteQuery,
    open: &mut Option<OpenFile>,
    deadline: Duration,
) -> Result<Reading, failure::Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| failure::of_file(&error))?;
    if !metadata.is_file() {
        // A read of a pipe would wait for ever.
        return Err(ReadError::Unreachable("what is at the configured path is not a file".into()).into());
    }
    if metadata.len() <= truncation::MAX_EMPTY_LENGTH && truncation::has_log(path) {
        return Err(failure::empty().into());
    }
    let file = FileId::of(&metadata);
    let state = FileState { modified: (metadata.mtime(), metadata.mtime_nsec()), length: metadata.len() };
    if open.as_ref().is_some_and(|open| open.file != file || open.state_if_wal.is_some_and(|before| before != state)) {
        *open = None;
    }
    let open = match open {
        Some(open) => open,
        None => {
            let connection = connect(path)?;
            let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
            open.insert(OpenFile { connection, file, state_if_wal: (mode == "wal").then_some(state) })
        }
    };
    // The number of pages must be of the same snapshot as the rows.
    let transaction = open.connection.unchecked_transaction()?;
    let reading = query.read(&transaction, deadline, &clock::monotonic);
    // Of an empty file SQLite would report that a table is missing.
    let is_empty = metadata.len() <= truncation::MAX_EMPTY_LENGTH;
    let reading =
        reading.map_err(|failure| if is_empty && !failure.is_locked() { failure::empty().into() } else { failure })?;
    truncation::check(&transaction, path, file)?;
    Ok(reading)
}

fn connect(path: &PathBuf) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_STEP)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    Ok(connection)
}
