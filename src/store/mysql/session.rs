//! The settings and checks before each read, in one round trip.
//!
//! They are repeated for each read, because a pooler may have given the session to others in between.

use std::fmt::Write as _;
use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Error, raw_sql};

use super::failure::QueryContext;
use super::replication::{COLUMNS, Replication, SOURCE};
use super::{Database, bytes};
use crate::store::ReadError;

/// The capabilities of a server. MariaDB and MySQL have different variables and units for the time limit of a statement, and
/// either may be without InnoDB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capabilities {
    limit: Option<Limit>,
    innodb: bool,
    /// Whether any user may read its replication status.
    replication: bool,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    StatementTime,
    ExecutionTime,
}

impl Capabilities {
    pub(super) async fn ask(connection: &mut MySqlConnection) -> Result<Self, Error> {
        let sql = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
                   ('max_statement_time', 'max_execution_time', 'innodb_read_only', 'gtid_current_pos')";
        let rows = raw_sql(sql).fetch_all(connection).await?;
        let has = |name: &str| rows.iter().any(|row| bytes(row, 0) == Some(name.as_bytes()));
        let limit = match () {
            () if has("max_statement_time") => Some(Limit::StatementTime),
            () if has("max_execution_time") => Some(Limit::ExecutionTime),
            () => None,
        };
        Ok(Self { limit, innodb: has("innodb_read_only"), replication: has("gtid_current_pos") })
    }

    /// Makes the settings for a read with this much time left, checks that the server is a primary, runs the probe, if there
    /// is one, and begins the transaction. Returns the result of the probe.
    pub(super) async fn begin(
        self,
        connection: &mut MySqlConnection,
        database: &Database,
        left: Duration,
    ) -> Result<Option<String>, ReadError> {
        let sql = self.prelude(database, left);
        let context = QueryContext { sql: &sql, database: &database.name };
        let rows = raw_sql(AssertSqlSafe(&*sql)).fetch_all(connection).await.map_err(|error| context.error(error))?;
        let (state, answer) = rows.split_first().map_or((None, None), |(state, rest)| (Some(state), rest.first()));
        self.check(state)?;
        Ok(answer.and_then(|row| bytes(row, 0)).map(|answer| String::from_utf8_lossy(answer).into_owned()))
    }

    fn check(self, state: Option<&MySqlRow>) -> Result<(), ReadError> {
        let switches = if self.innodb { 2 } else { 1 };
        let refused = |what: &str| Err(ReadError::Refused(what.to_owned()));
        let Some(state) = state.filter(|state| is_writable(state, switches)) else {
            return refused("this server is read-only: a replica, whose rows lag behind; read the primary");
        };
        let replication = if self.replication { Replication::of(state, switches) } else { Replication::Primary };
        match replication {
            Replication::Primary => Ok(()),
            Replication::Replica => refused("this server is a replica, whose rows lag behind; read the primary"),
            Replication::StoppedReplica => refused(
                "this server is a replica that was stopped, whose rows lag behind; read the primary, or, if this one is it \
                 now, let it forget the other by `RESET REPLICA ALL`",
            ),
        }
    }

    fn prelude(self, database: &Database, left: Duration) -> String {
        let zone = &database.session_time_zone;
        // 0 means no limit, and the limit for locks is in whole seconds.
        let (left, whole) = (left.max(Duration::from_millis(1)), left.as_secs().saturating_add(1));
        let mut sql = format!("SET NAMES utf8mb4, time_zone = '{zone}', lock_wait_timeout = {}", whole.min(86_400));
        let _ = match self.limit {
            Some(Limit::StatementTime) => write!(sql, ", max_statement_time = {:.3}", left.as_secs_f64()),
            Some(Limit::ExecutionTime) => write!(sql, ", max_execution_time = {}", left.as_millis()),
            None => Ok(()),
        };
        // The settings are of the session, because the probe runs outside of the transaction.
        sql.push_str("; SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT @@global.read_only");
        if self.innodb {
            // Some services set this on replicas instead.
            sql.push_str(", @@global.innodb_read_only");
        }
        if self.replication {
            let _ = write!(sql, ", {COLUMNS}{SOURCE}");
        }
        if let Some(probe) = database.statement.probe() {
            let _ = write!(sql, ";\n{}\n", probe.trim_end().trim_end_matches(';'));
        }
        sql.push_str("; START TRANSACTION READ ONLY");
        sql
    }
}

/// Whether none of the first columns says that the server is read-only.
fn is_writable(row: &MySqlRow, switches: usize) -> bool {
    (0..switches).all(|at| matches!(bytes(row, at), Some(b"0" | b"OFF")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Host, Statement, Tls, Zone};

    fn prelude(limit: Option<Limit>, left: Duration, statement: Statement) -> String {
        let host = Host::Socket("planted".into());
        let database = Database {
            server: crate::store::Server { host, user: None, password: None, tls: Tls::Off },
            name: "planted".into(),
            statement,
            time_zone: Zone::UTC,
            session_time_zone: "+09:00".parse().unwrap(),
        };
        Capabilities { limit, innodb: true, replication: true }.prelude(&database, left)
    }

    fn fixed() -> Statement {
        Statement::Fixed("SELECT 'planted'".into())
    }

    #[test]
    fn a_server_is_told_to_give_up_when_the_reader_does_in_its_own_unit() {
        let (left, none) = (Duration::from_micros(4_567_800), Duration::ZERO);
        assert!(prelude(Some(Limit::StatementTime), left, fixed()).contains(", max_statement_time = 4.568;"));
        assert!(prelude(Some(Limit::ExecutionTime), left, fixed()).contains(", max_execution_time = 4567;"));
        assert!(prelude(Some(Limit::StatementTime), none, fixed()).contains(", max_statement_time = 0.001;"));
        assert!(prelude(Some(Limit::ExecutionTime), none, fixed()).contains(", max_execution_time = 1;"));
        assert!(prelude(None, left, fixed()).contains("time_zone = '+09:00', lock_wait_timeout = 5;"));
    }

    #[test]
    fn a_probe_stands_before_the_transaction_so_that_it_does_not_fix_the_snapshot() {
        let probe = "SELECT 'two' -- of three;\n".into();
        let sql = prelude(None, Duration::from_secs(1), Statement::Probed { probe, variants: [].into() });
        assert!(sql.ends_with(";\nSELECT 'two' -- of three\n; START TRANSACTION READ ONLY"), "{sql}");
        assert!(sql.find("READ ONLY; SELECT").unwrap() < sql.find("'two'").unwrap(), "{sql}");
    }
}
