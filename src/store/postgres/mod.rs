//! PostgreSQL.
//!
//! A reading is one read-only transaction with one `SELECT` in it, so its snapshot is that statement's. Nothing is
//! expected of the session beyond the transaction: a pooler may give each another server connection.

mod failure;
#[cfg(test)]
mod fuzz;
mod value;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Executor, Row, SqlSafeStr, Statement as _};
use tokio::time::Instant;

use super::column::{Value, columns};
use super::link::{Driver, Link};
use super::rows::{Decoder, no_row};
use super::transport::{Pem, pem};
use super::{Host, Identity, ReadError, ReadResult, Scope, Server, Statement, Store, Taken, Tls, Zone};
use crate::clock;
use crate::lease::At;
use failure::{Failure, of_query, read_error};
use value::Kind;

/// Which database to read, as whom, and what to ask it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// The server.
    pub server: Server,
    /// Its name.
    pub name: Box<str>,
    /// The schema that unqualified names are looked up in; the user's own default if none is given.
    pub schema: Option<Box<str>>,
    /// What is asked.
    pub statement: Statement,
    /// What a `timestamp` without time zone means.
    pub time_zone: Zone,
}

/// Asks one database, again and again.
#[derive(Debug)]
struct Reader {
    database: Database,
    scope: Scope,
}

/// A connection, and the statement that fits what is stored there.
#[derive(Debug)]
pub(super) struct Open {
    connection: PgConnection,
    sql: Arc<str>,
    /// Whether texts are asked for as the bytes that they are.
    unconverted: bool,
}

impl Driver for Reader {
    type Connection = Open;

    async fn connect(&self, deadline: Instant) -> Result<Open, ReadError> {
        let mut connection = self.database.options(deadline).await?.connect().await.map_err(read_error)?;
        let encoding: String = sqlx::raw_sql("SHOW server_encoding")
            .fetch_one(&mut connection)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(read_error)?;
        // A database without an encoding gives its bytes as they are only to who asks for that; converted, one wrong text
        // would cost the whole reading.
        let unconverted = encoding == "SQL_ASCII";
        let mut answer = None;
        if let Some(probe) = self.database.statement.probe() {
            let prelude = self.database.prelude(PROBE_LIMIT_MS, unconverted);
            connection.execute(AssertSqlSafe(prelude)).await.map_err(read_error)?;
            let asked = sqlx::query_scalar(AssertSqlSafe(Arc::clone(probe))).persistent(false);
            let answered: Option<Option<String>> =
                asked.fetch_optional(&mut connection).await.map_err(|error| of_query(error, probe))?;
            connection.execute("COMMIT").await.map_err(read_error)?;
            answer = answered.flatten();
        }
        let sql = self.database.statement.chosen(answer.as_deref())?;
        Ok(Open { connection, sql, unconverted })
    }

    async fn read(&mut self, open: &mut Open, deadline: Instant) -> ReadResult {
        match self.read_once(open, deadline).await {
            // To learn of a type that is not built in, sqlx asks the catalogue between preparing and executing, and with
            // that the statement without a name is gone. It knows the type from then on.
            Err(Failure::StatementGone) => {
                open.connection.execute("ROLLBACK").await.map_err(read_error)?;
                self.read_once(open, deadline).await.map_err(|failure| failure.into_read_error(&open.sql))
            }
            result => result.map_err(|failure| failure.into_read_error(&open.sql)),
        }
    }
}

impl Reader {
    async fn read_once(&self, open: &mut Open, deadline: Instant) -> Result<Taken, Failure> {
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        // 0 would mean no limit.
        let limit = u32::try_from(left).unwrap_or(u32::MAX).max(1);
        let prelude = self.database.prelude(limit, open.unconverted);
        open.connection.execute(AssertSqlSafe(prelude)).await.map_err(read_error)?;
        let began = clock::monotonic();
        let mut first = None;
        {
            // Not kept on the server under a name, which a pooler would not know on its next server connection.
            let query = sqlx::query(AssertSqlSafe(Arc::clone(&open.sql))).persistent(false);
            let mut rows = query.fetch(&mut open.connection);
            while let Some(row) = rows.try_next().await? {
                let decoding = match &mut first {
                    Some(decoding) => decoding,
                    None => first.insert(Decoding::begin(&self.scope, &row, began)?),
                };
                decoding.take(&row, self.database.time_zone)?;
            }
        }
        let Some(decoding) = first else { return Err(without_rows(open).await.into()) };
        // After the rows, because asked before them it would fix the snapshot before the clock was read.
        let last = sqlx::raw_sql("SELECT pg_is_in_recovery(); COMMIT");
        match open.connection.fetch_optional(last).await?.map(|row| row.try_get(0)) {
            Some(Ok(false)) => Ok(decoding.decoder.finish(decoding.at, decoding.wall_clock)?),
            _ => Err(failure::standby().into()),
        }
    }
}

/// How long a probe may take on the server. It looks at a catalogue or at one row.
const PROBE_LIMIT_MS: u32 = 2_000;

impl Database {
    /// The store that asks this, of which `scope` is kept. Nothing is opened yet.
    #[must_use]
    pub fn into_store(self, scope: Scope) -> Box<dyn Store> {
        Box::new(Link::new(Reader { database: self, scope }))
    }

    async fn options(&self, deadline: Instant) -> Result<PgConnectOptions, ReadError> {
        let Self { server, name, .. } = self;
        // Sizes and formats of numbers are not asked for as text, and a pooler may not know the parameter.
        let options = PgConnectOptions::new_without_pgpass()
            .application_name("lease-exporter")
            .extra_float_digits(None)
            .statement_cache_capacity(0)
            .disable_statement_logging()
            .database(name);
        let options = match &server.host {
            Host::Tcp { name, port } => options.host(name).port(*port),
            Host::Socket(path) => {
                let (folder, port) = socket(path);
                options.socket(folder).port(port)
            }
        };
        let options = match &server.user {
            Some(user) => options.username(user),
            None => options,
        };
        let options = match &server.password {
            Some(file) => options.password(file.read(deadline).await?.reveal()),
            None => options,
        };
        Ok(match &server.tls {
            Tls::Off => options.ssl_mode(PgSslMode::Disable),
            Tls::Verify { ca_file, identity } => {
                let options = options.ssl_mode(PgSslMode::VerifyFull);
                let options = match ca_file {
                    Some(file) => {
                        options.ssl_root_cert_from_pem(pem("ca_file", file, Pem::Certificate, deadline).await?)
                    }
                    None => options,
                };
                match identity {
                    Some(Identity { cert_file, key_file }) => options
                        .ssl_client_cert_from_pem(pem("cert_file", cert_file, Pem::Certificate, deadline).await?)
                        .ssl_client_key_from_pem(pem("key_file", key_file, Pem::Key, deadline).await?),
                    None => options,
                }
            }
        })
    }

    /// Begins the transaction and sets, for it alone, what must hold in it: in one round trip.
    fn prelude(&self, limit_ms: u32, unconverted: bool) -> String {
        let mut sql = format!(
            "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
             SET LOCAL statement_timeout = {limit_ms}; \
             SET LOCAL lock_timeout = {limit_ms}; \
             SET LOCAL idle_in_transaction_session_timeout = '1min'; \
             SET LOCAL row_security = off; \
             SET LOCAL jit = off"
        );
        if unconverted {
            sql.push_str("; SET LOCAL client_encoding = 'SQL_ASCII'");
        }
        if let Some(schema) = &self.schema {
            // The configuration takes no name that could end the quotes.
            let _ = write!(sql, "; SET LOCAL search_path = \"{schema}\"");
        }
        sql
    }
}

/// The folder that a server's socket is in and the port that the socket is named after, where the socket itself is given;
/// else the folder and the usual port.
fn socket(path: &Path) -> (&Path, u16) {
    let name = path.file_name().and_then(|name| name.to_str());
    let port = name.and_then(|name| name.strip_prefix(".s.PGSQL.")?.parse().ok());
    match (path.parent(), port) {
        (Some(folder), Some(port)) => (folder, port),
        _ => (path, 5432),
    }
}

/// Rows as they come.
struct Decoding {
    decoder: Decoder,
    kinds: Vec<Kind>,
    at: At,
    wall_clock: f64,
}

impl Decoding {
    /// Once the first row is there: the snapshot and the store's clock are fixed then.
    fn begin(scope: &Scope, row: &PgRow, began: Duration) -> Result<Self, ReadError> {
        let (at, wall_clock) = (At { began, ended: clock::monotonic() }, clock::unix_seconds());
        let columns = columns(row.columns().iter().map(|column| column.name()))?;
        let kinds = row.columns().iter().map(|column| Kind::of(column.type_info())).collect();
        Ok(Self { decoder: Decoder::new(columns, scope), kinds, at, wall_clock })
    }

    fn take(&mut self, row: &PgRow, zone: Zone) -> Result<(), ReadError> {
        let kinds = &self.kinds;
        self.decoder.row(|at| match (row.try_get_raw(at), kinds.get(at)) {
            (Ok(raw), Some(kind)) => raw.as_bytes().map_or(Value::Null, |bytes| kind.value(bytes, zone)),
            _ => Value::Other,
        })
    }
}

/// Why a statement that ran well gave no row.
async fn without_rows(open: &mut Open) -> ReadError {
    let sql = AssertSqlSafe(Arc::clone(&open.sql)).into_sql_str();
    match (&mut open.connection).prepare(sql).await {
        Ok(statement) if statement.columns().is_empty() => ReadError::SchemaMismatch(
            "the query returns nothing; it must be one SELECT that returns the columns of the reading contract"
                .to_owned(),
        ),
        Ok(statement) => match columns(statement.columns().iter().map(|column| column.name())) {
            Ok(_) => no_row(),
            Err(error) => error,
        },
        Err(error) => of_query(error, &open.sql),
    }
}
