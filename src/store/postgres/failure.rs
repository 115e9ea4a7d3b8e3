//! The errors of PostgreSQL, by who has to act.

use std::io;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

use crate::store::ReadError;
use crate::store::server_message::has_only_known_words;
use crate::store::sql::{HAS_PARAMETERS, SEVERAL_STATEMENTS, WOULD_WRITE};
use crate::store::transport::io_error;

#[derive(Debug)]
pub(super) enum Failure {
    Read(ReadError),
    /// A message is not of PostgreSQL's protocol, or is unexpected.
    Protocol,
    /// A message is longer than the limit.
    TooLong,
    Server(ServerError),
}

#[derive(Debug)]
pub(super) struct ServerError {
    code: String,
    message: String,
    /// The character of the statement at fault, from 1.
    position: Option<usize>,
}

impl ServerError {
    pub(super) fn of(body: &ErrorResponseBody) -> Result<Self, Failure> {
        let (mut code, mut message, mut position) = (None, None, None);
        let mut fields = body.fields();
        while let Some(field) = fields.next().map_err(|_| Failure::Protocol)? {
            // Before the encoding is negotiated, and in a database without an encoding, a text need not be UTF-8.
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => code = Some(text()),
                b'M' => message = Some(text()),
                b'P' => position = text().parse().ok(),
                _ => {}
            }
        }
        Ok(Self { code: code.ok_or(Failure::Protocol)?, message: message.unwrap_or_default(), position })
    }
}

impl Failure {
    /// The error by who has to act, for a failure before the query.
    pub(super) fn before_query(self) -> ReadError {
        match self {
            Self::Server(error) if error.code == "08P01" => ReadError::Refused(
                "a pooler in between refuses the connection, or a transaction: look at its log and its pool mode (08P01)".into(),
            ),
            failure => failure.of_query(""),
        }
    }

    /// The error by who has to act. From the server's text, only names that are in the statement are shown.
    pub(super) fn of_query(self, sql: &str) -> ReadError {
        match self {
            Self::Read(error) => error,
            Self::Protocol => ReadError::Unreachable("what answers does not speak PostgreSQL's protocol".into()),
            Self::TooLong => ReadError::Unreachable(
                "what answers sends a message of more than 64 MiB, for which no memory is given".into(),
            ),
            Self::Server(error) => answered(&error, sql),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Read(io_error(error))
    }
}

pub(super) fn standby() -> ReadError {
    let text =
        "this server is a standby: its rows lag behind, and unlogged tables cannot be read there; read the primary";
    ReadError::Refused(text.into())
}

/// The error for an error message of the server, by its SQLSTATE: see "PostgreSQL Error Codes" in its documentation.
fn answered(ServerError { code, message, position }: &ServerError, sql: &str) -> ReadError {
    use ReadError::{InvalidRecord, Refused, SchemaMismatch, Timeout, Unreachable};
    let shown = naming(code, message, *position, sql);
    match code.as_str() {
        "57014" => Timeout("the query ran into the server's time limit".into()),
        "55P03" => Timeout("a table stayed locked by others for too long".into()),
        "28P01" | "28000" => Refused("the server refuses the user, the password or the client's host".into()),
        "3D000" => Refused("the server has no such database".into()),
        "53300" => Refused("the server has no connection left".into()),
        "42501" if message.contains("row-level security") => Refused(format!(
            "row-level security hides rows from the exporter ({shown}); let its user bypass it, or read a view"
        )),
        "42501" => Refused(format!("PostgreSQL: {shown}")),
        // The server ignores schemas that the user may not use.
        "42P01" => SchemaMismatch(format!(
            "PostgreSQL: {shown}, or is in a schema that is not looked into: set `schema`, and grant USAGE on it"
        )),
        "0A000" if message.contains("during recovery") => standby(),
        "22021" => InvalidRecord("a stored text cannot be converted to UTF-8 (22021)".into()),
        "25006" => SchemaMismatch(WOULD_WRITE.into()),
        "08P01" => SchemaMismatch(HAS_PARAMETERS.into()),
        "42601" if message.contains("multiple commands") => SchemaMismatch(SEVERAL_STATEMENTS.into()),
        _ => match code.get(..2) {
            // Syntax, and names that do not exist.
            Some("42" | "3F") => SchemaMismatch(format!("PostgreSQL: {shown}")),
            Some("22") => InvalidRecord(format!("an expression of the query fails on a stored value ({code})")),
            // Shutdown, crash, starting up, connection failure.
            Some("57" | "58" | "08") => Unreachable(format!("the server is not available ({code})")),
            Some("40") => Refused(format!("the server gave up the transaction ({code})")),
            _ => Refused(format!("the server answered with SQLSTATE {code}")),
        },
    }
}

/// The words in the server's messages that contain names.
const WORDS: &str = "a aggregate aggregates ambiguous an appear are be bigint boolean by bytea calls cannot character \
    clause column contain contains date denied does double entry exist for foreign from function functions group in \
    integer interval invalid is json jsonb level materialized missing must name nested not numeric of oid on operator or \
    perhaps permission policy precision procedure query record reference referenced regclass relation row schema \
    security sequence smallint specified table text time timestamp to type unknown used uuid varying view with within \
    without would affected zone";

/// The server's message if all its names are in the statement. Otherwise the message may contain a value, so a text for the
/// code is returned.
fn naming(code: &str, message: &str, position: Option<usize>, sql: &str) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    match code {
        "42601" => format!("syntax error{}", position.and_then(|position| place(position, sql)).unwrap_or_default()),
        _ if has_only_known_words(message, &words, sql) => message.to_owned(),
        "42501" => format!("permission denied for something that the query reads ({code})"),
        _ => format!("it does not accept the query ({code})"),
    }
}

/// Where in the query a character is, both from 1.
fn place(position: usize, sql: &str) -> Option<String> {
    let (at, _) = sql.char_indices().nth(position.checked_sub(1)?)?;
    let before = &sql[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    Some(format!(" at line {line}, column {column} of the query"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_by_who_must_act_and_repeats_names_alone() {
        for (code, message, reason, told) in [
            ("57014", "canceling statement due to statement timeout", "store_timeout", "time limit"),
            ("28P01", "password authentication failed for user \"planted\"", "store_refused", "password"),
            ("53300", "sorry, too many clients already", "store_refused", "no connection left"),
            ("42P01", "relation \"jobs\" does not exist", "schema_mismatch", "relation \"jobs\" does not exist"),
            ("42703", "column l.epoch does not exist", "schema_mismatch", "column l.epoch does not exist"),
            ("42P01", "relation \"planted\" does not exist", "schema_mismatch", "(42P01)"),
            ("42501", "permission denied for planted", "store_refused", "something that the query reads"),
            ("22021", "invalid byte sequence for encoding: planted", "invalid_record", "UTF-8"),
            ("42601", "syntax error at or near \"planted\"", "schema_mismatch", "syntax error"),
            ("42804", "CASE types text and 'planted'", "schema_mismatch", "(42804)"),
            ("42501", "permission denied for table jobs", "store_refused", "permission denied for table jobs"),
            (
                "42501",
                "query would be affected by row-level security policy for table \"jobs\"",
                "store_refused",
                "hides rows",
            ),
            ("0A000", "cannot access temporary or unlogged relations during recovery", "store_refused", "standby"),
            ("25006", "cannot execute INSERT in a read-only transaction", "schema_mismatch", "would write"),
            ("22P02", "invalid input syntax for type integer: \"planted\"", "invalid_record", "(22P02)"),
            ("57P01", "terminating connection due to administrator command", "store_unreachable", "not available"),
            ("57P03", "the database system is starting up", "store_unreachable", "not available"),
            ("XX000", "planted", "store_refused", "SQLSTATE XX000"),
        ] {
            let sql = "SELECT l.epoch FROM jobs AS l";
            let error = ServerError { code: code.into(), message: message.into(), position: Some(8) };
            let error = answered(&error, sql);
            assert_eq!(error.failure().as_str(), reason, "{code} {message}");
            let text = error.to_string();
            assert!(text.contains(told) && !text.contains("planted"), "{code}: {text}");
        }
    }

    #[test]
    fn a_syntax_error_is_told_by_its_place_in_the_query() {
        let told = |position| naming("42601", "syntax error at or near \"planted\"", position, "SELECT é\nFORM t");
        assert_eq!(told(Some(8)), "syntax error at line 1, column 8 of the query");
        assert_eq!(told(Some(10)), "syntax error at line 2, column 1 of the query");
        assert_eq!(told(Some(15)), "syntax error at line 2, column 6 of the query");
        for none in [None, Some(0), Some(16), Some(usize::MAX)] {
            assert_eq!(told(none), "syntax error");
        }
    }
}
