//! PostgreSQL.
//!
//! A reading is one read-only transaction with one `SELECT`, which creates the snapshot. No state of the session is relied
//! on beyond a transaction, because a pooler may use another server connection for each.

mod authentication;
mod columns;
mod connect;
mod failure;
mod kind;
mod message;
mod pipeline;
#[cfg(test)]
mod properties;
mod reading;
#[cfg(test)]
mod tests;
mod transaction_clock;
mod value;

use std::sync::Arc;

use tokio::time::Instant;

use super::server_store::Driver;
use super::{ReadError, ReadResult, Scope, Server, Statement, Zone};
use crate::lease::Reading;
use columns::DatabaseTypes;
use connect::Session;
use failure::Failure;
pub use kind::Postgres;
use message::MessageStream;
use reading::{Prelude, ReadRequest};

/// A configured database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// The server.
    pub server: Server,
    /// The name of the database.
    pub name: Box<str>,
    /// The schema of unqualified names; `None` for the default of the user.
    pub schema: Option<Box<str>>,
    /// The query.
    pub statement: Statement,
    /// The zone of `timestamp` values, which have none.
    pub time_zone: Zone,
}

#[derive(Debug)]
struct PostgresDriver {
    database: Database,
    scope: Scope,
}

/// A connection, and what is known of the database.
#[derive(Debug)]
pub(super) struct PostgresConnection {
    stream: MessageStream,
    /// The statement for the version of what is stored.
    sql: Arc<str>,
    /// Whether texts are requested without conversion to UTF-8.
    unconverted: bool,
    /// The types of the query that are specific to the database, once they are known.
    types: Option<DatabaseTypes>,
}

impl Driver for PostgresDriver {
    type Connection = PostgresConnection;

    async fn connect(&self, deadline: Instant) -> Result<PostgresConnection, ReadError> {
        let database = &self.database;
        let session = Session::open(&database.server, &database.name, deadline).await.map_err(Failure::before_query)?;
        let Session { mut stream, encoding } = session;
        let encoding = match encoding {
            Some(encoding) => encoding,
            None => text("SHOW server_encoding", &Prelude(vec!["BEGIN READ ONLY".to_owned()]), &mut stream)
                .await
                .map_err(Failure::before_query)?
                .unwrap_or_default(),
        };
        // In a database without an encoding, one text that is not UTF-8 would fail the whole reading if the server
        // converted texts.
        let unconverted = encoding == "SQL_ASCII";
        let answer = match database.statement.probe() {
            Some(probe) => {
                let prelude = database.prelude(PROBE_LIMIT_MS, unconverted);
                text(probe, &prelude, &mut stream).await.map_err(|failure| failure.of_query(probe))?
            }
            None => None,
        };
        let sql = database.statement.chosen(answer.as_deref())?;
        Ok(PostgresConnection { stream, sql, unconverted, types: None })
    }

    async fn read(&mut self, open: &mut PostgresConnection, deadline: Instant) -> ReadResult {
        self.read_once(open, deadline).await.map_err(|failure| failure.of_query(&open.sql))
    }
}

impl PostgresDriver {
    async fn read_once(&self, open: &mut PostgresConnection, deadline: Instant) -> Result<Reading, Failure> {
        let PostgresConnection { stream, sql, unconverted, types } = open;
        let prelude = || {
            let left = deadline.saturating_duration_since(Instant::now()).as_millis();
            // 0 would mean no limit.
            self.database.prelude(u32::try_from(left).unwrap_or(u32::MAX).max(1), *unconverted)
        };
        let types = match types {
            Some(types) => types,
            None => types.insert(learn(sql, &prelude, stream).await?),
        };
        let request =
            ReadRequest { prelude: &prelude(), sql, scope: &self.scope, zone: self.database.time_zone, types };
        reading::read(&request, stream).await
    }
}

/// Finds the types of a query that are specific to the database.
async fn learn(sql: &str, prelude: impl Fn() -> Prelude, stream: &mut MessageStream) -> Result<DatabaseTypes, Failure> {
    let described = reading::described(&prelude(), sql, stream).await?;
    let mut types = DatabaseTypes::default();
    if let Some(question) = types.question(described.types()) {
        let mut looked_up = Vec::new();
        reading::rows(&prelude(), &question, stream, |values| {
            if let [Some(oid), Some(is_text)] = *values
                && let Ok(oid) = oid.try_into()
            {
                looked_up.push((u32::from_be_bytes(oid), *is_text == [1]));
            }
        })
        .await?;
        looked_up.into_iter().for_each(|(oid, is_text)| types.learn(oid, is_text));
    }
    Ok(types)
}

/// The text that a statement returns, if it returns one.
async fn text(sql: &str, prelude: &Prelude, stream: &mut MessageStream) -> Result<Option<String>, Failure> {
    let mut text = None;
    let keep = |values: &[Option<&[u8]>]| match values {
        [Some(bytes)] => text = String::from_utf8(bytes.to_vec()).ok(),
        _ => text = None,
    };
    reading::rows(prelude, sql, stream, keep).await?;
    Ok(text)
}

/// The time limit of a probe, which reads a catalogue or one row.
const PROBE_LIMIT_MS: u32 = 2_000;

impl Database {
    /// Begins a transaction with its settings.
    fn prelude(&self, limit_ms: u32, unconverted: bool) -> Prelude {
        let mut statements = vec![
            "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY".to_owned(),
            format!("SET LOCAL statement_timeout = {limit_ms}"),
            format!("SET LOCAL lock_timeout = {limit_ms}"),
            "SET LOCAL idle_in_transaction_session_timeout = '1min'".to_owned(),
            "SET LOCAL row_security = off".to_owned(),
            "SET LOCAL jit = off".to_owned(),
        ];
        if unconverted {
            statements.push("SET LOCAL client_encoding = 'SQL_ASCII'".to_owned());
        }
        if let Some(schema) = &self.schema {
            // The configuration takes no name that could end the quotes.
            statements.push(format!("SET LOCAL search_path = \"{schema}\""));
        }
        Prelude(statements)
    }
}
