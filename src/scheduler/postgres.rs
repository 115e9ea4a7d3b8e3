//! The reference protocol on PostgreSQL, for schedulers on several machines.
//!
//! Every step is one statement, decided by the server alone: a process that is stopped keeps no lock, so the others go
//! on without it. An epoch survives what a commit survives: with `synchronous_commit` off, or a failover to a standby
//! that was not waited for, the newest epochs may be lost and be given again.
//!
//! A step blocks its thread. It drives its connection with a runtime of its own, so none of this may be called, or
//! dropped, on a thread that itself drives asynchronous work. A pooler between the two must give each client a session
//! of its own, for limits are set and statements prepared once a session.

mod failure;
mod statements;

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, Row};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::address::{ServerAddress, Transport};
use super::authority::{Epoch, InstanceToken, StoreTime, Ttl};
use super::occurrence::{Backlog, MaintenanceAction, Occurrence};
use super::protocol::{
    Acquire, Enqueue, LeaseProtocol, LeaseRecord, Plan, ProgressRecord, ProtocolError, Reading, Release, Renew,
};
use super::stored::{count, epoch, stored, token};

/// The tables and the index, each made only if it is not there.
pub(super) const SCHEMA: &str = include_str!("postgres/schema.sql");

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a step waits for an answer. Longer than the server's own limits below, which are to end a step first.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// The server's limits in milliseconds: for waiting on a lock, and for all of a statement.
const LIMITS: [(&str, &str); 2] = [("lock_timeout", "3000"), ("statement_timeout", "4000")];

/// Taken by whoever makes the tables: `IF NOT EXISTS` alone fails when two make them at once.
const CREATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7310575218309116517)";

/// One connection that speaks the protocol.
#[derive(Debug)]
pub struct PostgresProtocol {
    runtime: Runtime,
    /// None once it cannot be relied on any more: an answer may be outstanding on it.
    connection: Option<PgConnection>,
}

impl PostgresProtocol {
    /// Opens a store, after making whatever of it is not there: the schema, the tables.
    ///
    /// # Errors
    /// When the server cannot be reached or does not allow it.
    pub fn create(address: &ServerAddress, schema: Option<&str>) -> Result<Self, ProtocolError> {
        let mut protocol = Self::connect(address, schema)?;
        let schema = schema.map(|name| format!("CREATE SCHEMA IF NOT EXISTS {};", quoted(name))).unwrap_or_default();
        // Several statements sent at once are one transaction.
        protocol.batch(format!("{CREATION_LOCK}; {schema} {SCHEMA}"))?;
        protocol.checked()
    }

    /// Opens a store that is there.
    ///
    /// # Errors
    /// [`ProtocolError::Unreachable`] when nothing answers, [`ProtocolError::SchemaMismatch`] when the database has
    /// other tables.
    pub fn open(address: &ServerAddress, schema: Option<&str>) -> Result<Self, ProtocolError> {
        Self::connect(address, schema)?.checked()
    }

    /// Removes a schema with all that is in it, if it is there.
    ///
    /// # Errors
    /// When the server cannot be reached or does not allow it.
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
        // Touches every table and nearly every column; no lease has this name.
        self.read("")?;
        Ok(self)
    }

    fn batch(&mut self, sql: String) -> Result<(), ProtocolError> {
        self.step(async |connection| sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(|_| ()))
    }

    /// Does a step within its time. A connection that did not answer is given up, and with it all further steps.
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

    fn acquire(&mut self, lease: &str, holder: &InstanceToken, ttl: Ttl) -> Result<Acquire, ProtocolError> {
        let acquired: Option<i64> = self.step(async |connection| {
            let statement = sqlx::query_scalar(statements::ACQUIRE).bind(lease).bind(holder.as_str());
            statement.bind(ttl.millis()).fetch_optional(connection).await
        })?;
        match acquired {
            Some(number) => Ok(Acquire::Acquired { epoch: epoch(number)? }),
            None => Ok(Acquire::HeldByAnother),
        }
    }

    fn renew(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch, ttl: Ttl) -> Result<Renew, ProtocolError> {
        let epoch = stored(epoch.get())?;
        let renewed = self.step(async |connection| {
            let statement = sqlx::query(statements::RENEW).bind(lease).bind(holder.as_str());
            statement.bind(epoch).bind(ttl.millis()).execute(connection).await
        })?;
        Ok(if renewed.rows_affected() == 0 { Renew::Lost } else { Renew::Renewed })
    }

    fn release(&mut self, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Release, ProtocolError> {
        let epoch = stored(epoch.get())?;
        let released = self.step(async |connection| {
            let statement = sqlx::query(statements::RELEASE).bind(lease).bind(holder.as_str());
            statement.bind(epoch).execute(connection).await
        })?;
        Ok(if released.rows_affected() == 0 { Release::Lost } else { Release::Released })
    }

    fn enqueue(&mut self, occurrence: &Occurrence) -> Result<Enqueue, ProtocolError> {
        let enqueued = self.step(async |connection| {
            let statement = sqlx::query(statements::ENQUEUE).bind(&*occurrence.key).bind(&*occurrence.lease);
            let statement = statement.bind(occurrence.action.as_str()).bind(occurrence.due_at.unix_millis());
            statement.execute(connection).await
        })?;
        Ok(if enqueued.rows_affected() == 0 { Enqueue::AlreadyThere } else { Enqueue::Enqueued })
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

    fn plan(&mut self, key: &str, lease: &str, holder: &InstanceToken, epoch: Epoch) -> Result<Plan, ProtocolError> {
        let epoch = stored(epoch.get())?;
        let outcome: (bool, bool, bool) = self.step(async |connection| {
            let statement = sqlx::query_as(statements::PLAN).bind(lease).bind(holder.as_str());
            statement.bind(epoch).bind(key).fetch_one(connection).await
        })?;
        match outcome {
            (false, _, _) => Ok(Plan::Fenced),
            (true, true, _) => Ok(Plan::Planned),
            (true, false, true) => Ok(Plan::AlreadyPlanned),
            (true, false, false) => Err(ProtocolError::NoSuchOccurrence),
        }
    }

    fn read(&mut self, lease: &str) -> Result<Reading, ProtocolError> {
        let row =
            self.step(async |connection| sqlx::query(statements::READ).bind(lease).fetch_one(connection).await)?;
        reading(&row)
    }
}

fn reading(row: &PgRow) -> Result<Reading, ProtocolError> {
    let number = |column: usize| row.try_get::<Option<i64>, _>(column).map_err(ProtocolError::from);
    let time = |column| Ok::<_, ProtocolError>(number(column)?.map(StoreTime::from_unix_millis));
    let needed = |column| number(column)?.ok_or(ProtocolError::InvalidRecord);
    let record = match number(2)? {
        None => None,
        Some(given) => Some(LeaseRecord {
            holder: row.try_get::<Option<String>, _>(1)?.map(token).transpose()?,
            epoch: epoch(given)?,
            acquired_at: time(3)?,
            renewed_at: time(4)?,
            expires_at: time(5)?,
        }),
    };
    let progress = match number(6)? {
        None => None,
        Some(given) => Some(ProgressRecord {
            epoch: epoch(given)?,
            at: StoreTime::from_unix_millis(needed(7)?),
            cursor: count(needed(8)?)?,
        }),
    };
    let backlog = Backlog { due: count(needed(9)?)?, oldest_due_at: time(10)? };
    Ok(Reading { now: StoreTime::from_unix_millis(needed(0)?), lease: record, progress, backlog })
}

fn options(address: &ServerAddress, schema: Option<&str>) -> Result<PgConnectOptions, ProtocolError> {
    // What is not given here would come from the environment.
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(address.host())
        .port(address.port())
        .password(&address.password()?.unwrap_or_default())
        .application_name("lease-exporter scheduler")
        .ssl_mode(match address.transport() {
            Transport::Plain => PgSslMode::Disable,
            Transport::Tls => PgSslMode::VerifyFull,
        })
        .options(LIMITS)
        // The statements rely on what it does after a wait.
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

/// A name as an identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
