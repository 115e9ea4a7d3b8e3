//! Cases: stored rows and the expected state and reason.

use super::servers::{self, Database};
use super::source_reader::{SourceReader, configuration};

/// The kind of an SQL server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    Postgres,
    Mysql,
}

/// A case: stored rows and the expected result.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    /// Statements that store the rows. `T-40m` is 40 minutes ago on the clock of the server, in the type of the system.
    pub(crate) rows: &'static str,
    pub(crate) lease: &'static str,
    /// Further keys of `defaults`.
    pub(crate) limits: &'static str,
    /// Further keys of the source.
    pub(crate) source: &'static str,
    /// The expected state and reason.
    pub(crate) says: &'static str,
}

/// A case without further keys.
pub(crate) const fn case(what: &'static str, rows: &'static str, lease: &'static str, says: &'static str) -> Case {
    Case { what, rows, lease, limits: "", source: "", says }
}

/// A system with its tables in a database.
pub(crate) struct System {
    pub(crate) preset: &'static str,
    pub(crate) sql: Sql,
    pub(crate) database: Database,
    /// The SQL of a time, given an expression of the seconds until then.
    pub(crate) time: fn(Sql, i64) -> String,
    schema: String,
}

impl System {
    /// The system with empty tables, made by statements.
    pub(crate) fn new(preset: &'static str, sql: Sql, schema: &[&str], time: fn(Sql, i64) -> String) -> Self {
        let database = match sql {
            Sql::Postgres => servers::postgres().database(),
            Sql::Mysql => servers::mariadb().database(),
        };
        let schema = schema.concat();
        database.execute(&schema);
        Self { preset, sql, database, time, schema }
    }

    /// The same system with empty tables in another database.
    pub(crate) fn moved_to(self, database: Database) -> Self {
        database.execute(&self.schema);
        Self { database, ..self }
    }

    fn tables(&self) -> impl Iterator<Item = &str> {
        let made = self.schema.split("TABLE ").skip(1);
        made.filter_map(|rest| rest.split_once(' ').filter(|(_, rest)| rest.starts_with('(')).map(|(name, _)| name))
    }

    /// Empties the tables and runs statements in a UTC session.
    pub(crate) fn store(&self, rows: &str) {
        let zone = match self.sql {
            Sql::Postgres => "SET timezone = 'UTC';\n",
            Sql::Mysql => "SET time_zone = '+00:00';\n",
        };
        let empty: String = self.tables().map(|table| format!("DELETE FROM {table};\n")).collect();
        let end = if rows.trim().is_empty() { "" } else { ";\n" };
        self.database.execute(&format!("{zone}{empty}{}{end}", self.timed(rows)));
    }

    /// Statements with their times replaced by SQL.
    pub(crate) fn timed(&self, rows: &str) -> String {
        let mut parts = rows.split("T-").map(|part| ("T-", part));
        let mut timed = parts.next().unwrap().1.to_owned();
        let later = |text: String| {
            let mut parts = text.split("T+");
            let mut timed = parts.next().unwrap().to_owned();
            for part in parts {
                let (seconds, rest) = seconds(part);
                timed.push_str(&(self.time)(self.sql, seconds));
                timed.push_str(rest);
            }
            timed
        };
        for (_, part) in parts {
            let (seconds, rest) = seconds(part);
            timed.push_str(&(self.time)(self.sql, -seconds));
            timed.push_str(rest);
        }
        later(timed)
    }

    /// A reader of the source, with further keys of the source and of `defaults`.
    pub(crate) fn reader(&self, source: &str, limits: &str) -> SourceReader {
        let limits = if limits.is_empty() { "stall_after: 5m".to_owned() } else { limits.to_owned() };
        let file = format!("defaults: {{ {limits} }}");
        let (url, password) = (self.database.url(), self.database.password_file());
        SourceReader::at(&configuration(self.preset, url, password, source, &file))
    }

    /// Stores each case and checks the state and reason.
    pub(crate) fn check(&self, cases: &[Case]) {
        let wrong: Vec<String> = cases
            .iter()
            .filter_map(|case| {
                self.store(case.rows);
                let says = self.reader(case.source, case.limits).says(case.lease);
                (says != case.says).then(|| format!("{}: {says}, not {}", case.what, case.says))
            })
            .collect();
        assert!(wrong.is_empty(), "{} on {:?}:\n{}", self.preset, self.sql, wrong.join("\n"));
    }
}

/// The duration at the beginning of a text, such as `40m`, and the rest.
fn seconds(text: &str) -> (i64, &str) {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: i64 = text[..digits].parse().unwrap_or_else(|_| panic!("no time: {text}"));
    let unit = match text.as_bytes()[digits] {
        b's' => 1,
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        _ => panic!("no unit: {text}"),
    };
    (number * unit, &text[digits + 1..])
}

/// A time with a zone, or in UTC if the server has no such type.
pub(crate) fn with_zone(sql: Sql, seconds: i64) -> String {
    match sql {
        Sql::Postgres => format!("(now() + interval '{seconds} seconds')"),
        Sql::Mysql => format!("(UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND)"),
    }
}

/// UTC without a zone.
pub(crate) fn without_zone(sql: Sql, seconds: i64) -> String {
    match sql {
        Sql::Postgres => format!("(timezone('UTC', now()) + interval '{seconds} seconds')"),
        Sql::Mysql => with_zone(sql, seconds),
    }
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds(sql: Sql, seconds: i64) -> String {
    let now = match sql {
        Sql::Postgres => "(extract(epoch FROM now()) * 1000)::bigint",
        Sql::Mysql => "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000 AS SIGNED)",
    };
    format!("({now} + {})", seconds * 1_000)
}
