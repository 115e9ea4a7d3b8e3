//! The protocol on PostgreSQL, for instances on several machines.
//!
//! Every step is one statement, so that a stopped process holds no lock and does not block others. An epoch is as durable
//! as a commit: with `synchronous_commit` off, or after a failover to an asynchronous standby, the newest epochs may be
//! lost and assigned again.
//!
//! A step blocks its thread and runs a private async runtime. Do not call or drop a [`PostgresProtocol`] on a thread of
//! another runtime. A connection pooler must use session pooling, because limits and prepared statements belong to the
//! session.

mod error;
pub mod statements;

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, Row};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::column::{self, count, integer};
use crate::{
    AcquireOutcome, Backlog, EnqueueOutcome, Epoch, HolderId, LeaseProtocol, LeaseRecord, LeaseSnapshot,
    MaintenanceAction, Occurrence, PlanOutcome, ProgressRecord, ProtocolError, ReleaseOutcome, RenewOutcome,
    ServerAddress, StoreTime, Transport, Ttl,
};

/// The SQL that creates the tables and the index if they do not exist.
pub const SCHEMA: &str = include_str!("schema.sql");

/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout for a response. It is longer than the limits below, so that normally the server ends a step.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// Limits of the server in milliseconds, for a lock and for a whole statement.
const LIMITS: [(&str, &str); 2] = [("lock_timeout", "3000"), ("statement_timeout", "4000")];

/// Held while the tables are created, because `IF NOT EXISTS` fails if two sessions create a table at once.
const CREATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7310575218309116517)";

/// A connection to a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresProtocol {
    runtime: Runtime,
    /// `None` after a timeout, because a late response could be taken for that of the next step.
    connection: Option<PgConnection>,
}

impl PostgresProtocol {
    /// Opens a store and creates the schema and the tables if they do not exist.
    ///
    /// # Errors
    /// If the server cannot be reached or denies it.
    pub fn create(address: &ServerAddress, schema: Option<&str>) -> Result<Self, ProtocolError> {
        let mut protocol = Self::connect(address, schema)?;
        let schema = schema.map(|name| format!("CREATE SCHEMA IF NOT EXISTS {};", quoted(name))).unwrap_or_default();
        // Statements sent together are one transaction.
        protocol.batch(format!("{CREATION_LOCK}; {schema} {SCHEMA}"))?;
        protocol.checked()
    }

    /// Opens an existing store.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] if the server does not answer, [`ProtocolError::SchemaMismatch`] if the database has
    /// other tables.
    pub fn open(address: &ServerAddress, schema: Option<&str>) -> Result<Self, ProtocolError> {
        Self::connect(address, schema)?.checked()
    }

    /// Drops a schema with all of its content, if it exists.
    ///
    /// # Errors
    /// If the server cannot be reached or denies it.
    pub fn remove(address: &ServerAddress, schema: &str) -> Result<(), ProtocolError> {
        Self::connect(address, None)?.batch(format!("DROP SCHEMA IF EXISTS {} CASCADE", quoted(schema)))
    }

    fn connect(address: &ServerAddress, schema: Option<&str>) -> Result<Self, ProtocolError> {
        let options = options(address, schema)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|_| ProtocolError::Unreachable)?;
        let connected =
            runtime.block_on(async { timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&options)).await });
        let connection = Some(connected.map_err(|_| ProtocolError::Unreachable)??);
        Ok(Self { runtime, connection })
    }

    fn checked(mut self) -> Result<Self, ProtocolError> {
        // Reads from every table. No lease has this name.
        self.read("")?;
        Ok(self)
    }

    fn batch(&mut self, sql: String) -> Result<(), ProtocolError> {
        self.step(async |connection| sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(|_| ()))
    }

    /// Runs a step with a timeout. After a timeout the connection is dropped and further steps fail.
    fn step<T>(
        &mut self,
        step: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, ProtocolError> {
        let mut connection = self.connection.take().ok_or(ProtocolError::Unreachable)?;
        let done = self.runtime.block_on(async { timeout(STEP_TIMEOUT, step(&mut connection)).await });
        let done = done.map_or(Err(ProtocolError::Unreachable), |answered| answered.map_err(ProtocolError::from));
        if done.as_ref().err() != Some(&ProtocolError::Unreachable) {
            self.connection = Some(connection);
        }
        done
    }
}

impl LeaseProtocol for PostgresProtocol {
    fn store_now(&mut self) -> Result<StoreTime, ProtocolError> {
        let now = self.step(async |connection| sqlx::query_scalar(statements::NOW).fetch_one(connection).await)?;
        Ok(StoreTime::from_unix_millis(now))
    }

    fn acquire(&mut self, lease: &str, holder: &HolderId, ttl: Ttl) -> Result<AcquireOutcome, ProtocolError> {
        let acquired: Option<i64> = self.step(async |connection| {
            let statement = sqlx::query_scalar(statements::ACQUIRE).bind(lease).bind(holder.as_str());
            statement.bind(ttl.millis()).fetch_optional(connection).await
        })?;
        match acquired {
            Some(number) => Ok(AcquireOutcome::Acquired { epoch: column::epoch(number)? }),
            None => Ok(AcquireOutcome::HeldByAnother),
        }
    }

    fn renew(&mut self, lease: &str, holder: &HolderId, epoch: Epoch, ttl: Ttl) -> Result<RenewOutcome, ProtocolError> {
        let epoch = integer(epoch.get())?;
        let renewed = self.step(async |connection| {
            let statement = sqlx::query(statements::RENEW).bind(lease).bind(holder.as_str());
            statement.bind(epoch).bind(ttl.millis()).execute(connection).await
        })?;
        Ok(if renewed.rows_affected() == 0 { RenewOutcome::Lost } else { RenewOutcome::Renewed })
    }

    fn release(&mut self, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<ReleaseOutcome, ProtocolError> {
        let epoch = integer(epoch.get())?;
        let released = self.step(async |connection| {
            let statement = sqlx::query(statements::RELEASE).bind(lease).bind(holder.as_str());
            statement.bind(epoch).execute(connection).await
        })?;
        Ok(if released.rows_affected() == 0 { ReleaseOutcome::Lost } else { ReleaseOutcome::Released })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<EnqueueOutcome, ProtocolError> {
        let enqueued = self.step(async |connection| {
            let statement = sqlx::query(statements::ENQUEUE).bind(&*occurrence.key).bind(&*occurrence.lease);
            let statement = statement.bind(occurrence.action.as_str()).bind(occurrence.due_at.unix_millis());
            statement.execute(connection).await
        })?;
        Ok(if enqueued.rows_affected() == 0 { EnqueueOutcome::AlreadyEnqueued } else { EnqueueOutcome::Enqueued })
    }

    fn next_due(&mut self, lease: &str) -> Result<Option<Occurrence>, ProtocolError> {
        let row: Option<(String, String, i64)> = self.step(async |connection| {
            sqlx::query_as(statements::NEXT_DUE).bind(lease).fetch_optional(connection).await
        })?;
        let Some((key, action, due_at)) = row else { return Ok(None) };
        let action = MaintenanceAction::parse(&action).ok_or(ProtocolError::InvalidRecord)?;
        let due_at = StoreTime::from_unix_millis(due_at);
        Ok(Some(Occurrence { key, lease: lease.to_owned(), action, due_at }))
    }

    fn plan(&mut self, key: &str, lease: &str, holder: &HolderId, epoch: Epoch) -> Result<PlanOutcome, ProtocolError> {
        let epoch = integer(epoch.get())?;
        let outcome: (bool, bool, bool) = self.step(async |connection| {
            let statement = sqlx::query_as(statements::PLAN).bind(lease).bind(holder.as_str());
            statement.bind(epoch).bind(key).fetch_one(connection).await
        })?;
        match outcome {
            (false, _, _) => Ok(PlanOutcome::Fenced),
            (true, true, _) => Ok(PlanOutcome::Planned),
            (true, false, true) => Ok(PlanOutcome::AlreadyPlanned),
            (true, false, false) => Err(ProtocolError::NoSuchOccurrence),
        }
    }

    fn read(&mut self, lease: &str) -> Result<LeaseSnapshot, ProtocolError> {
        let row =
            self.step(async |connection| sqlx::query(statements::READ).bind(lease).fetch_one(connection).await)?;
        snapshot(&row)
    }
}

fn snapshot(row: &PgRow) -> Result<LeaseSnapshot, ProtocolError> {
    let number = |column: usize| row.try_get::<Option<i64>, _>(column).map_err(ProtocolError::from);
    let time = |column| Ok::<_, ProtocolError>(number(column)?.map(StoreTime::from_unix_millis));
    let needed = |column| number(column)?.ok_or(ProtocolError::InvalidRecord);
    let record = match number(2)? {
        None => None,
        Some(given) => Some(LeaseRecord {
            holder: row.try_get::<Option<String>, _>(1)?.map(column::holder).transpose()?,
            epoch: column::epoch(given)?,
            acquired_at: time(3)?,
            renewed_at: time(4)?,
            expires_at: time(5)?,
        }),
    };
    let progress = match number(6)? {
        None => None,
        Some(given) => Some(ProgressRecord {
            epoch: column::epoch(given)?,
            at: StoreTime::from_unix_millis(needed(7)?),
            cursor: count(needed(8)?)?,
        }),
    };
    let backlog = Backlog { due: count(needed(9)?)?, oldest_due_at: time(10)? };
    Ok(LeaseSnapshot { now: StoreTime::from_unix_millis(needed(0)?), lease: record, progress, backlog })
}

fn options(address: &ServerAddress, schema: Option<&str>) -> Result<PgConnectOptions, ProtocolError> {
    // Options that are not set here would come from the environment.
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(address.host())
        .port(address.port())
        .password(&address.password()?.unwrap_or_default())
        .application_name("lease-protocol")
        .ssl_mode(match address.transport() {
            Transport::Plain => PgSslMode::Disable,
            Transport::Tls => PgSslMode::VerifyFull,
        })
        .options(LIMITS)
        // The statements rely on how this level treats a row after waiting for its lock.
        .options([("default_transaction_isolation", "read committed")])
        .disable_statement_logging();
    if let Some(user) = address.user() {
        options = options.username(user);
    }
    if let Some(database) = address.database() {
        options = options.database(database);
    }
    if let Some(schema) = schema {
        options = options.options([("search_path", quoted(schema))]);
    }
    Ok(options)
}

/// A quoted identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
