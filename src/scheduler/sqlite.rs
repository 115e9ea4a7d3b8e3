//! The reference protocol on SQLite: the embedded default.
//!
//! One thing that SQLite cannot give: a process that is stopped (not killed) in the midst of a write keeps the file
//! locked, and until it goes on nobody can write, so nobody can take over either. Reading goes on.

use std::path::Path;
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, Params, TransactionBehavior, named_params};

use super::authority::{Epoch, InstanceToken, StoreTime, Ttl};
use super::occurrence::{Backlog, MaintenanceAction, Occurrence};
use super::protocol::{
    Acquire, Enqueue, LeaseProtocol, LeaseRecord, Plan, ProgressRecord, ProtocolError, Reading, Release, Renew,
    StoreCode,
};
use super::statements::Statements;
use super::stored::{count, epoch, stored, token};

/// How long a step waits for others to let go of the store.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The tables and the index, each made only if it is not there.
pub const SCHEMA: &str = include_str!("schema.sql");

/// One connection that speaks the protocol.
#[derive(Debug)]
pub struct SqliteProtocol {
    connection: Connection,
    statements: Statements,
}

impl SqliteProtocol {
    /// Opens a store, after making whatever of it is not there: the file, write-ahead logging, the tables.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub fn create(path: &Path) -> Result<Self, ProtocolError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        // So that whoever reads, the exporter above all, neither waits for a writer nor makes one wait.
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(ProtocolError::from)?;
        connection.execute_batch(SCHEMA)?;
        Self::checked(connection)
    }

    /// Opens a store that is there.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] when there is no such file, [`ProtocolError::SchemaMismatch`] when it has other
    /// tables.
    pub fn open(path: &Path) -> Result<Self, ProtocolError> {
        Self::checked(connect(path, OpenFlags::empty())?)
    }

    /// Speaks the reference protocol on a connection whose store has the [`SCHEMA`]. A
    /// [`VirtualClock`](super::VirtualClock) must have been installed before.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self::with_statements(connection, Statements::reference())
    }

    /// Speaks a protocol of other statements, to find out whether anyone notices.
    #[must_use]
    pub fn with_statements(connection: Connection, statements: Statements) -> Self {
        Self { connection, statements }
    }

    /// The connection, to look at the tables.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn checked(connection: Connection) -> Result<Self, ProtocolError> {
        let mut protocol = Self::new(connection);
        // Touches every table and nearly every column; no lease has this name.
        protocol.read("")?;
        Ok(protocol)
    }
}

impl LeaseProtocol for SqliteProtocol {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        let now = self.connection.prepare_cached(&self.statements.now)?.query_one([], |row| row.get(0))?;
        Ok(StoreTime::from_unix_millis(now))
    }

    fn acquire(&mut self, lease: &str, holder: &InstanceToken, ttl: Ttl) -> Result<Acquire, ProtocolError> {
        let mut statement = self.connection.prepare_cached(&self.statements.acquire)?;
        let mut rows = statement.query(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":ttl_ms": ttl.millis(),
        })?;
        let mut acquired = Acquire::HeldByAnother;
        // To the end: the statement commits when it is done, and only then can it be seen to have failed.
        while let Some(row) = rows.next()? {
            acquired = Acquire::Acquired { epoch: epoch(row.get(0)?)? };
        }
        Ok(acquired)
    }

    fn renew(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch, ttl: Ttl) -> Result<Renew, ProtocolError> {
        let renewed = self.connection.prepare_cached(&self.statements.renew)?.execute(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":epoch": stored(epoch.get())?, ":ttl_ms": ttl.millis(),
        })?;
        Ok(if renewed == 0 { Renew::Lost } else { Renew::Renewed })
    }

    fn release(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Release, ProtocolError> {
        let released = self.connection.prepare_cached(&self.statements.release)?.execute(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":epoch": stored(epoch.get())?,
        })?;
        Ok(if released == 0 { Release::Lost } else { Release::Released })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<Enqueue, ProtocolError> {
        let enqueued = self.connection.prepare_cached(&self.statements.enqueue)?.execute(named_params! {
            ":key": occurrence.key, ":lease": occurrence.lease, ":action": occurrence.action.as_str(),
            ":due_at_ms": occurrence.due_at.unix_millis(),
        })?;
        Ok(if enqueued == 0 { Enqueue::AlreadyThere } else { Enqueue::Enqueued })
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        let mut statement = self.connection.prepare_cached(&self.statements.next_due)?;
        let mut rows = statement.query(named_params! { ":lease": lease })?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let action = row.get_ref(1)?.as_str().map_err(|_| ProtocolError::InvalidRecord)?;
        Ok(Some(Occurrence {
            key: row.get(0)?,
            lease: lease.to_owned(),
            action: MaintenanceAction::parse(action).ok_or(ProtocolError::InvalidRecord)?,
            due_at: StoreTime::from_unix_millis(row.get(2)?),
        }))
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Plan, ProtocolError> {
        let (epoch, holder, statements) = (stored(epoch.get())?, holder.as_str(), &self.statements);
        // Immediate: from the fence to the commit nobody else can acquire. Whatever returns early rolls back.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fence = named_params! { ":lease": lease, ":holder": holder, ":epoch": epoch };
        if !holds(&mut transaction.prepare_cached(&statements.fence)?, fence)? {
            return Ok(Plan::Fenced);
        }
        let planned = transaction.prepare_cached(&statements.plan)?.execute(named_params! {
            ":key": key, ":lease": lease, ":holder": holder, ":epoch": epoch,
        })?;
        if planned == 0 {
            let occurrence = named_params! { ":key": key, ":lease": lease };
            return match holds(&mut transaction.prepare_cached(&statements.known)?, occurrence)? {
                true => Ok(Plan::AlreadyPlanned),
                false => Err(ProtocolError::NoSuchOccurrence),
            };
        }
        let progress = named_params! { ":lease": lease, ":epoch": epoch };
        transaction.prepare_cached(&statements.progress)?.execute(progress)?;
        transaction.commit()?;
        Ok(Plan::Planned)
    }

    fn read(&mut self, lease: &str) -> Result<Reading, ProtocolError> {
        let mut statement = self.connection.prepare_cached(&self.statements.read)?;
        let mut rows = statement.query(named_params! { ":lease": lease })?;
        let row = rows.next()?.ok_or(ProtocolError::InvalidRecord)?;
        let time = |column| Ok::<_, ProtocolError>(row.get::<_, Option<i64>>(column)?.map(StoreTime::from_unix_millis));
        let needed = |column| time(column)?.ok_or(ProtocolError::InvalidRecord);
        let record = match row.get(2)? {
            None => None,
            Some(number) => Some(LeaseRecord {
                holder: row.get::<_, Option<String>>(1)?.map(token).transpose()?,
                epoch: epoch(number)?,
                acquired_at: time(3)?,
                renewed_at: time(4)?,
                expires_at: time(5)?,
            }),
        };
        let progress = match row.get(6)? {
            None => None,
            Some(number) => Some(ProgressRecord { epoch: epoch(number)?, at: needed(7)?, cursor: count(row.get(8)?)? }),
        };
        let backlog = Backlog { due: count(row.get(9)?)?, oldest_due_at: time(10)? };
        Ok(Reading { now: needed(0)?, lease: record, progress, backlog })
    }
}

fn connect(path: &Path, more: OpenFlags) -> Result<Connection, ProtocolError> {
    // No URI: a path is a path, whatever characters it has.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Said although it is the default: with less, a power cut can undo a commit, and an epoch would be given twice.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn holds(statement: &mut CachedStatement<'_>, params: impl Params) -> rusqlite::Result<bool> {
    statement.query_one(params, |row| row.get(0))
}

/// Keeps the kind of failure and nothing of its text, which can name files and quote statements.
impl From<rusqlite::Error> for ProtocolError {
    fn from(error: rusqlite::Error) -> Self {
        let failure = match &error {
            rusqlite::Error::SqliteFailure(failure, _) => failure,
            rusqlite::Error::SqlInputError { error, .. } => error,
            _ => return Self::InvalidRecord,
        };
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => Self::InvalidRecord,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
                Self::Refused
            }
            ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull => Self::Unreachable,
            ErrorCode::NotADatabase => Self::SchemaMismatch,
            // SQLITE_ERROR: no such table, no such column.
            ErrorCode::Unknown if failure.extended_code == 1 => Self::SchemaMismatch,
            _ => Self::Failed { code: StoreCode::Number(failure.extended_code) },
        }
    }
}

#[cfg(test)]
mod tests;
