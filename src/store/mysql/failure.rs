//! The errors of MySQL and MariaDB, by who has to act.

use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;

use crate::store::ReadError;
use crate::store::server_message::has_only_known_words;
use crate::store::sql::WOULD_WRITE;
use crate::store::transport::{io_error, tls_error};

/// The statement and database of an error. Names in them may be shown.
#[derive(Clone, Copy)]
pub(super) struct QueryContext<'q> {
    pub(super) sql: &'q str,
    pub(super) database: &'q str,
}

impl QueryContext<'_> {
    /// The error by who has to act. From the server's text only names in the query are shown, because a stored function can
    /// raise any error with any text.
    pub(super) fn error(self, error: Error) -> ReadError {
        match error {
            Error::Database(error) => match error.try_downcast::<MySqlDatabaseError>() {
                Ok(error) => self.answered(error.number(), error.code().unwrap_or_default(), error.message()),
                Err(_) => refused("the server answered with an error"),
            },
            error => read_error(error),
        }
    }
}

/// The error by who has to act, without a statement.
pub(super) fn read_error(error: Error) -> ReadError {
    match error {
        error @ Error::Database(_) => QueryContext { sql: "", database: "" }.error(error),
        Error::Io(error) => io_error(error),
        Error::Tls(error) => tls_error(&error.to_string()),
        error if wants_protection(&error) => {
            refused("the server takes this user's password over a protected connection alone; see `tls`")
        }
        Error::Configuration(_) => refused("the client certificate or its key cannot be read as PEM"),
        Error::Protocol(text) if ["plugin", "expected 21 bytes"].iter().any(|part| text.contains(part)) => refused(
            "the server lets this user in by a way that is not supported; let it be `mysql_native_password` or \
             `caching_sha2_password`",
        ),
        Error::Protocol(_) => ReadError::Unreachable("what answers does not speak MySQL's protocol".into()),
        _ => ReadError::Unreachable("the connection failed".into()),
    }
}

/// Whether the server accepts the password over TLS only, as MySQL 8 does until it has cached the user's password.
pub(super) fn wants_protection(error: &Error) -> bool {
    matches!(error, Error::Configuration(error) if error.to_string().contains("RSA"))
}

fn refused(what: &str) -> ReadError {
    ReadError::Refused(what.to_owned())
}

fn mismatch(what: &str) -> ReadError {
    ReadError::SchemaMismatch(what.to_owned())
}

impl QueryContext<'_> {
    /// The error for an error message of the server, by its number, or else by its SQLSTATE: see "Server Error Message
    /// Reference" in MySQL's documentation and "MariaDB Error Codes" in MariaDB's.
    fn answered(self, number: u16, state: &str, message: &str) -> ReadError {
        match number {
            1969 | 3024 => ReadError::Timeout("the query ran into the server's time limit".into()),
            1205 => ReadError::Timeout("a table stayed locked by others for too long".into()),
            1045 | 1130 | 1698 => refused(
                "the server refuses the user, the password, the client's host, or how the connection is protected; one \
             without a name at the client's host goes before all others",
            ),
            // Only the `SET time_zone` before a read fails so. In a query an unknown zone gives NULL.
            1298 => refused(
                "the server does not know the zone of `session_time_zone`; load its time zone tables with \
             `mysql_tzinfo_to_sql`, or write an offset that it takes",
            ),
            1129 => refused("the server has blocked the client's host after too many failures"),
            1820 | 1862 | 3118 | 4151 => refused("the user is locked, or its password has expired"),
            1251 | 1275 => refused("the server lets this user in by a way that is not supported"),
            3159 => refused("the server takes protected connections alone; see `tls`"),
            1044 => refused("the user has no right to the database"),
            1049 => refused("the server has no such database"),
            1142 | 1143 => self.denied(message),
            1370 => refused("the user may not run a function of the query, or there is none of that name"),
            1227 | 1449 => refused(&format!("the user lacks a right that the query needs ({number})")),
            1040 | 1203 | 1226 => refused("the server has no connection left for the user"),
            1461 => refused("the server prepares no more statements; see its `max_prepared_stmt_count`"),
            1317 => refused("somebody ended the query on the server"),
            1213 => refused("the server gave up the transaction"),
            // Shutdown; a connection that was killed, idle or lost; a node outside of its cluster.
            1047 | 1053 | 1077 | 1079 | 1927 | 2006 | 2013 | 3032 | 3169 | 4031 => {
                ReadError::Unreachable(format!("the server is not available ({number})"))
            }
            1290 | 1792 | 1836 => mismatch(WOULD_WRITE),
            1295 => mismatch("the query is not one that can be prepared; it must be one SELECT"),
            1412 | 1615 => mismatch("the schema changed during the read"),
            1146 => self.named("there is no table", quoted(message), number),
            1054 => self.named("there is no column", quoted(message), number),
            1052 => self.named("more than one table has a column", quoted(message), number),
            1305 => self.named("there is no routine", message.split(' ').nth(1), number),
            1356 => self.named("something is missing that is needed by the view", quoted(message), number),
            1582 => self.named("wrong number of arguments to", quoted(message), number),
            1242 => ReadError::InvalidRecord("a subquery of the query gives more than one row".into()),
            1064 => mismatch(&match message.rsplit_once(" at line ").map(|(_, line)| line.parse::<usize>()) {
                Some(Ok(line)) if line <= self.sql.lines().count() => {
                    format!("syntax error, at line {line} of the query; it must be one SELECT")
                }
                _ => "syntax error; the query must be one SELECT".to_owned(),
            }),
            _ => match state.get(..2) {
                Some("21" | "42") => mismatch(&format!("the server does not accept the query ({number})")),
                Some("22") => {
                    ReadError::InvalidRecord(format!("an expression of the query fails on a stored value ({number})"))
                }
                Some("25") => mismatch(WOULD_WRITE),
                Some("08") => ReadError::Unreachable(format!("the server is not available ({number})")),
                _ => refused(&format!("the server answered with error {number}")),
            },
        }
    }

    /// `SELECT command denied to user 'u'@'h' for table …`, or `for column 'c' in table …`.
    fn denied(self, message: &str) -> ReadError {
        let command = message.split(" command denied").next().unwrap_or_default();
        if !command.contains("SELECT") {
            return mismatch(WOULD_WRITE);
        }
        let what = message.rsplit_once(" for table ").map(|(_, table)| ("the table", table));
        let what = what.or_else(|| {
            let (_, what) = message.rsplit_once(" for column ")?;
            Some(("the column", what.split(' ').next()?))
        });
        match what.and_then(|(what, name)| Some((what, self.known_name(name)?))) {
            Some((what, name)) => refused(&format!("the user may not read {what} `{name}`")),
            None => refused("the user may not read a table or column of the query"),
        }
    }

    /// A mismatch with the name in the message, if the name is in the query.
    fn named(self, what: &str, name: Option<&str>, number: u16) -> ReadError {
        match name.and_then(|name| self.known_name(name)) {
            Some(name) => mismatch(&format!("{what} `{name}`")),
            None => mismatch(&format!("{what} of a name that does not stand plainly in the query ({number})")),
        }
    }

    /// The name without quotes, if it has only characters that are usual in names and is in the query. With `ANSI_QUOTES` a
    /// literal can look like a name.
    fn known_name(self, name: &str) -> Option<String> {
        plain(name).filter(|name| has_only_known_words(name, &[self.database], self.sql))
    }
}

/// The text between the first two apostrophes.
fn quoted(message: &str) -> Option<&str> {
    message.split('\'').nth(1)
}

/// The name without quotes, if it has only characters that are usual in names.
fn plain(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|letter| !matches!(letter, '`' | '\'')).collect();
    let fits = (1..=130).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'));
    fits.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_by_who_must_act_and_repeats_names_of_the_query_alone() {
        let sql = "SELECT state, l.epoch\nFROM jobs\nWHERE nosuch() = 'planted it'";
        let context = QueryContext { sql, database: "app" };
        for (number, state, message, reason, told) in [
            (1969, "70100", "Query execution was interrupted", "store_timeout", "time limit"),
            (3024, "HY000", "Query execution was interrupted", "store_timeout", "time limit"),
            (1205, "HY000", "Lock wait timeout exceeded", "store_timeout", "locked"),
            (1045, "28000", "Access denied for user 'planted'@'planted'", "store_refused", "the password"),
            (1044, "42000", "Access denied for user 'planted'@'%' to database 'planted'", "store_refused", "no right"),
            (1049, "42000", "Unknown database 'planted'", "store_refused", "no such database"),
            (1040, "08004", "Too many connections", "store_refused", "no connection left"),
            (1226, "42000", "User 'planted' has exceeded the 'x' resource", "store_refused", "no connection left"),
            (
                1142,
                "42000",
                "SELECT command denied to user 'planted'@'planted' for table `app`.`jobs`",
                "store_refused",
                "may not read the table `app.jobs`",
            ),
            (
                1143,
                "42000",
                "SELECT command denied to user 'planted'@'planted' for column 'state' in table 'jobs'",
                "store_refused",
                "may not read the column `state`",
            ),
            (
                1142,
                "42000",
                "DROP command denied to user 'planted'@'x' for table `a`",
                "schema_mismatch",
                "would write",
            ),
            (1146, "42S02", "Table 'app.jobs' doesn't exist", "schema_mismatch", "no table `app.jobs`"),
            (1054, "42S22", "Unknown column 'l.epoch' in 'SELECT'", "schema_mismatch", "no column `l.epoch`"),
            (1054, "42S22", "Unknown column 'planted it' in 'SELECT'", "schema_mismatch", "(1054)"),
            (1305, "42000", "FUNCTION app.nosuch does not exist", "schema_mismatch", "`app.nosuch`"),
            (1064, "42000", "You have an error near 'planted' at line 3", "schema_mismatch", "at line 3 of the query"),
            (1064, "42000", "You have an error near 'planted at line planted'", "schema_mismatch", "syntax error;"),
            // What a stored function says that raises the server's own errors with what it has read.
            (1064, "42000", "at line 90210", "schema_mismatch", "syntax error;"),
            (1146, "42S02", "Table 'app.planted2' doesn't exist", "schema_mismatch", "(1146)"),
            (1054, "42S22", "Unknown column 'planted2' in 'SELECT'", "schema_mismatch", "(1054)"),
            (1305, "42000", "FUNCTION planted2 does not exist", "schema_mismatch", "(1305)"),
            (
                1142,
                "42000",
                "SELECT command denied for table `planted2`",
                "store_refused",
                "a table or column of the query",
            ),
            (1298, "HY000", "Unknown or incorrect time zone: 'planted'", "store_refused", "`mysql_tzinfo_to_sql`"),
            (1222, "21000", "The used SELECT statements have a different", "schema_mismatch", "(1222)"),
            (1242, "21000", "Subquery returns more than 1 row", "invalid_record", "more than one row"),
            (1241, "42000", "planted", "schema_mismatch", "(1241)"),
            (1690, "22003", "BIGINT value is out of range in 'planted'", "invalid_record", "(1690)"),
            (1792, "25006", "Cannot execute statement in a READ ONLY", "schema_mismatch", "would write"),
            (1927, "70100", "Connection was killed", "store_unreachable", "not available"),
            (4031, "HY000", "The client was disconnected by the server", "store_unreachable", "not available"),
            (1158, "08S01", "planted", "store_unreachable", "(1158)"),
            (1030, "HY000", "Got error planted from storage engine", "store_refused", "error 1030"),
        ] {
            let error = context.answered(number, state, message);
            assert_eq!(error.failure().as_str(), reason, "{number} {message}");
            let text = error.to_string();
            assert!(text.contains(told) && !text.contains("planted"), "{number}: {text}");
        }
    }

    #[test]
    fn the_text_of_the_client_library_is_not_repeated() {
        for (error, reason, told) in [
            (Error::Protocol("unknown authentication plugin: planted".to_owned()), "store_refused", "by a way"),
            (Error::Protocol("planted".to_owned()), "store_unreachable", "does not speak"),
            (Error::Configuration("RSA planted".into()), "store_refused", "see `tls`"),
            (Error::Configuration("planted".into()), "store_refused", "as PEM"),
            (Error::Tls("planted: server does not support TLS".into()), "store_unreachable", "offers no TLS"),
            (Error::WorkerCrashed, "store_unreachable", "failed"),
        ] {
            let error = read_error(error);
            assert_eq!(error.failure().as_str(), reason);
            assert!(error.to_string().contains(told) && !error.to_string().contains("planted"), "{error}");
        }
    }
}
