//! The protocol on SQLite, for instances on one machine.
//!
//! A process that is stopped (not killed) during a write keeps the file locked. Until it continues, no other process can
//! write, and none can acquire the lease. Reads are not blocked.

mod statements;
mod virtual_clock;

use std::path::Path;
use std::time::Duration;

use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, Params, TransactionBehavior, named_params};

pub use statements::Statements;
pub use virtual_clock::VirtualClock;

use crate::column::{self, count, integer};
use crate::{
    AcquireOutcome, Backlog, EnqueueOutcome, Epoch, HolderId, LeaseProtocol, LeaseRecord, LeaseSnapshot,
    MaintenanceAction, Occurrence, PlanOutcome, ProgressRecord, ProtocolError, ReleaseOutcome, RenewOutcome,
    StoreErrorCode, StoreTime, Ttl,
};

/// How long a step waits for a lock on the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The SQL that creates the tables and the index if they do not exist.
pub const SCHEMA: &str = include_str!("schema.sql");

/// A connection to an SQLite file.
#[derive(Debug)]
pub struct SqliteProtocol {
    connection: Connection,
    statements: Statements,
}

impl SqliteProtocol {
    /// Opens a store and creates the file and the tables if they do not exist. Turns write-ahead logging on.
    ///
    /// # Errors
    /// If the file cannot be opened or written.
    pub fn create(path: &Path) -> Result<Self, ProtocolError> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        // With a write-ahead log, readers such as the exporter and writers do not block each other.
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(ProtocolError::from)?;
        connection.execute_batch(SCHEMA)?;
        Self::checked(connection)
    }

    /// Opens an existing store.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] if the file does not exist, [`ProtocolError::SchemaMismatch`] if it has other tables.
    pub fn open(path: &Path) -> Result<Self, ProtocolError> {
        Self::checked(connect(path, OpenFlags::empty())?)
    }

    /// Uses a connection to a store that has the [`SCHEMA`]. Install a [`VirtualClock`] on it before.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        Self::with_statements(connection, Statements::reference())
    }

    /// Uses other statements, so that a test can find out whether a mutation of the protocol is detected.
    #[must_use]
    pub fn with_statements(connection: Connection, statements: Statements) -> Self {
        Self { connection, statements }
    }

    /// The connection, for access to the tables.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn checked(connection: Connection) -> Result<Self, ProtocolError> {
        let mut protocol = Self::new(connection);
        // Reads from every table. No lease has this name.
        protocol.read("")?;
        Ok(protocol)
    }
}

impl LeaseProtocol for SqliteProtocol {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        let now = self.connection.prepare_cached(&self.statements.now)?.query_one([], |row| row.get(0))?;
        Ok(StoreTime::from_unix_millis(now))
    }

    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError> {
        let mut statement = self.connection.prepare_cached(&self.statements.acquire)?;
        let mut rows = statement.query(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":ttl_ms": ttl.millis(),
        })?;
        let mut acquired = AcquireOutcome::HeldByAnother;
        // The statement commits after its last row, so a failure of the commit is seen only if all rows are read.
        while let Some(row) = rows.next()? {
            acquired = AcquireOutcome::Acquired { epoch: column::epoch(row.get(0)?)? };
        }
        Ok(acquired)
    }

    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError> {
        let renewed = self.connection.prepare_cached(&self.statements.renew)?.execute(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":epoch": integer(epoch.get())?, ":ttl_ms": ttl.millis(),
        })?;
        Ok(if renewed == 0 { RenewOutcome::Lost } else { RenewOutcome::Renewed })
    }

    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError> {
        let released = self.connection.prepare_cached(&self.statements.release)?.execute(named_params! {
            ":lease": lease, ":holder": holder.as_str(), ":epoch": integer(epoch.get())?,
        })?;
        Ok(if released == 0 { ReleaseOutcome::Lost } else { ReleaseOutcome::Released })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError> {
        let enqueued = self.connection.prepare_cached(&self.statements.enqueue)?.execute(named_params! {
            ":key": occurrence.key, ":lease": occurrence.lease, ":action": occurrence.action.as_str(),
            ":due_at_ms": occurrence.due_at.unix_millis(),
        })?;
        Ok(if enqueued == 0 { EnqueueOutcome::AlreadyEnqueued } else { EnqueueOutcome::Enqueued })
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

    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError> {
        let (epoch, holder, statements) = (integer(epoch.get())?, holder.as_str(), &self.statements);
        // An immediate transaction excludes acquisition from the fence to the commit. An early return rolls back.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fence = named_params! { ":lease": lease, ":holder": holder, ":epoch": epoch };
        if !holds(&mut transaction.prepare_cached(&statements.fence)?, fence)? {
            return Ok(PlanOutcome::Fenced);
        }
        let planned = transaction.prepare_cached(&statements.plan)?.execute(named_params! {
            ":key": key, ":lease": lease, ":holder": holder, ":epoch": epoch,
        })?;
        if planned == 0 {
            let occurrence = named_params! { ":key": key, ":lease": lease };
            return match holds(&mut transaction.prepare_cached(&statements.known)?, occurrence)? {
                true => Ok(PlanOutcome::AlreadyPlanned),
                false => Err(ProtocolError::NoSuchOccurrence),
            };
        }
        let progress = named_params! { ":lease": lease, ":epoch": epoch };
        transaction.prepare_cached(&statements.progress)?.execute(progress)?;
        transaction.commit()?;
        Ok(PlanOutcome::Planned)
    }

    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError> {
        let mut statement = self.connection.prepare_cached(&self.statements.read)?;
        let mut rows = statement.query(named_params! { ":lease": lease })?;
        let row = rows.next()?.ok_or(ProtocolError::InvalidRecord)?;
        let time = |column| Ok::<_, ProtocolError>(row.get::<_, Option<i64>>(column)?.map(StoreTime::from_unix_millis));
        let needed = |column| time(column)?.ok_or(ProtocolError::InvalidRecord);
        let record = match row.get(2)? {
            None => None,
            Some(number) => Some(LeaseRecord {
                holder: row.get::<_, Option<String>>(1)?.map(column::holder).transpose()?,
                epoch: column::epoch(number)?,
                acquired_at: time(3)?,
                renewed_at: time(4)?,
                expires_at: time(5)?,
            }),
        };
        let progress = match row.get(6)? {
            None => None,
            Some(number) => {
                Some(ProgressRecord { epoch: column::epoch(number)?, at: needed(7)?, cursor: count(row.get(8)?)? })
            }
        };
        let backlog = Backlog { due: count(row.get(9)?)?, oldest_due_at: time(10)? };
        Ok(LeaseSnapshot { now: needed(0)?, lease: record, progress, backlog })
    }
}

fn connect(path: &Path, more: OpenFlags) -> Result<Connection, ProtocolError> {
    // Without SQLITE_OPEN_URI the path may contain any character.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // The default, set explicitly: with less, a power failure can undo a commit, and an epoch would be assigned twice.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn holds(statement: &mut CachedStatement<'_>, params: impl Params) -> rusqlite::Result<bool> {
    statement.query_one(params, |row| row.get(0))
}

/// Drops the text of the error, which can name files and quote statements.
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
                Self::PermissionDenied
            }
            ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull => Self::Unreachable,
            ErrorCode::NotADatabase => Self::SchemaMismatch,
            // SQLITE_ERROR: no such table, no such column.
            ErrorCode::Unknown if failure.extended_code == 1 => Self::SchemaMismatch,
            _ => Self::Failed { code: StoreErrorCode::Number(failure.extended_code) },
        }
    }
}
