//! MySQL and MariaDB.
//!
//! A reading is one read-only transaction in repeatable read with one prepared `SELECT`. The statement creates the snapshot
//! of all its tables right after the server has fixed its `NOW(6)`. `WITH CONSISTENT SNAPSHOT` would create it earlier:
//! leases would look older than they are.

mod failure;
mod kind;
#[cfg(test)]
mod properties;
mod replication;
mod session;
mod value;

use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode, MySqlStatement};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Decode, Either, Executor, Row, SqlSafeStr, Statement as _};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::column::{Value, columns};
use super::rows::{Decoder, no_row};
use super::server_store::Driver;
use super::sql::HAS_PARAMETERS;
use super::transport::{Pem, pem};
use super::{Host, ReadError, ReadResult, Scope, Server, SessionZone, Statement, Tls, Zone};
use crate::clock;
use crate::lease::ReadInterval;
use failure::{QueryContext, read_error, wants_protection};
pub use kind::Mysql;
use value::Kind;

/// A configured database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// The server.
    pub server: Server,
    /// The name of the database.
    pub name: Box<str>,
    /// The query.
    pub statement: Statement,
    /// The zone of the times that the server returns, which have none.
    pub time_zone: Zone,
    /// The zone of the session: of `NOW()` and of converted `TIMESTAMP` values.
    pub session_time_zone: SessionZone,
}

#[derive(Debug)]
struct MysqlDriver {
    database: Database,
    scope: Scope,
}

/// A connection, and the capabilities of the server.
#[derive(Debug)]
pub(super) struct ServerConnection {
    connection: MySqlConnection,
    server: session::Capabilities,
}

impl Driver for MysqlDriver {
    type Connection = ServerConnection;

    async fn connect(&self, deadline: Instant) -> Result<ServerConnection, ReadError> {
        let options = self.database.options(deadline).await?;
        let connected = match options.connect().await {
            // On this machine the server need not be authenticated, so any certificate will do.
            Err(error) if wants_protection(&error) && self.database.server.host.is_local() => {
                options.ssl_mode(MySqlSslMode::Required).connect().await
            }
            connected => connected,
        };
        let mut connection = connected.map_err(read_error)?;
        let server = session::Capabilities::ask(&mut connection).await.map_err(read_error)?;
        Ok(ServerConnection { connection, server })
    }

    async fn read(&mut self, open: &mut ServerConnection, deadline: Instant) -> ReadResult {
        let ServerConnection { connection, server } = open;
        let left = deadline.saturating_duration_since(Instant::now());
        let answer = server.begin(connection, &self.database, left).await?;
        let sql = self.database.statement.chosen(answer.as_deref())?;
        let context = QueryContext { sql: &sql, database: &self.database.name };
        let prepared = (&mut *connection).prepare(AssertSqlSafe(Arc::clone(&sql)).into_sql_str()).await;
        // The library caches it for the connection. Several statements cannot be prepared as one.
        let statement = prepared.map_err(|error| context.error(error))?;
        check(&statement)?;
        let reading = self.take(&statement, connection, context).await?;
        connection.execute("COMMIT").await.map_err(read_error)?;
        Ok(reading)
    }
}

impl MysqlDriver {
    async fn take(
        &self,
        statement: &MySqlStatement,
        connection: &mut MySqlConnection,
        context: QueryContext<'_>,
    ) -> ReadResult {
        let began = clock::monotonic();
        let mut rows = statement.query().fetch(connection);
        let first = rows.try_next().await.map_err(|error| context.error(error))?;
        // The snapshot and the store's clock are fixed when the first row is returned.
        let (at, wall_clock) = (ReadInterval { start: began, end: clock::monotonic() }, clock::unix_seconds());
        let first = first.ok_or_else(no_row)?;
        // If the schema changed after the statement was prepared, the columns of a `SELECT *` moved.
        let kinds: Vec<_> = first.columns().iter().map(|column| Kind::of(column.type_info())).collect();
        let columns = columns(first.columns().iter().map(Column::name))?;
        let mut decoder = Decoder::new(columns, &self.scope);
        let mut row = Some(first);
        while let Some(present) = row {
            decoder.row(|at| match (bytes(&present, at), kinds.get(at)) {
                (Some(bytes), Some(kind)) => kind.value(bytes, self.database.time_zone),
                _ => Value::Null,
            })?;
            // With a fast server the next row is always ready, so other tasks and the deadline get their turn here.
            consume_budget().await;
            row = rows.try_next().await.map_err(|error| context.error(error))?;
        }
        decoder.finish(at, wall_clock)
    }
}

impl Database {
    async fn options(&self, deadline: Instant) -> Result<MySqlConnectOptions, ReadError> {
        let Self { server, name, .. } = self;
        // Settings that the library would make are made before each read instead, or not at all.
        let options = MySqlConnectOptions::new()
            .set_names(false)
            .timezone(None)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging()
            .database(name)
            // The library defaults to `root`, and the server to a user without a name.
            .username(server.user.as_deref().unwrap_or_default());
        let options = match &server.host {
            Host::Tcp { name, port } => options.host(name).port(*port),
            Host::Socket(path) => options.socket(path),
        };
        let options = match server.read_password(deadline).await? {
            Some(password) => options.password(password.reveal()),
            None => options,
        };
        let Tls::Verify { ca_file, identity } = &server.tls else {
            return Ok(options.ssl_mode(MySqlSslMode::Disabled));
        };
        let options = options.ssl_mode(MySqlSslMode::VerifyIdentity);
        let options = match ca_file {
            Some(file) => options.ssl_ca_from_pem(pem("ca_file", file, Pem::Certificate, deadline).await?),
            None => options,
        };
        Ok(match identity {
            Some(identity) => options
                .ssl_client_cert_from_pem(pem("cert_file", &identity.cert_file, Pem::Certificate, deadline).await?)
                .ssl_client_key_from_pem(pem("key_file", &identity.key_file, Pem::Key, deadline).await?),
            None => options,
        })
    }
}

/// The number of prepared statements of a connection: one for each of two versions of what is stored.
const STATEMENTS: usize = 2;

/// Checks that a prepared statement is a query with the columns of the reading contract.
fn check(statement: &MySqlStatement) -> Result<(), ReadError> {
    if let Some(Either::Right(1..)) = statement.parameters() {
        return Err(ReadError::SchemaMismatch(HAS_PARAMETERS.into()));
    }
    if statement.columns().is_empty() {
        let text = "the query would write, or returns nothing; it must be one SELECT that returns the columns of the \
                    reading contract";
        return Err(ReadError::SchemaMismatch(text.into()));
    }
    columns(statement.columns().iter().map(Column::name)).map(drop)
}

/// The bytes of a value; `None` for NULL.
fn bytes(row: &MySqlRow, at: usize) -> Option<&[u8]> {
    row.try_get_raw(at).ok().and_then(|raw| <&[u8] as Decode<MySql>>::decode(raw).ok())
}

#[cfg(test)]
mod tests;
