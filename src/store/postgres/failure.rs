//! PostgreSQL's errors, by who must act on them.

use sqlx::Error;
use sqlx::postgres::PgDatabaseError;

use crate::store::ReadError;
use crate::store::transport::{broken, unprotected};

/// Why a reading was not made.
#[derive(Debug)]
pub(super) enum Failure {
    /// The reason is told.
    Told(ReadError),
    /// The prepared statement is not there any more, so it has to be prepared again.
    StatementGone,
}

impl Failure {
    /// The reason.
    pub(super) fn into_read_error(self) -> ReadError {
        match self {
            Self::Told(error) => error,
            Self::StatementGone => ReadError::Refused("the server keeps losing the prepared statement".to_owned()),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Told(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.as_database_error().and_then(|error| error.code()).as_deref() {
            Some("26000") => Self::StatementGone,
            _ => Self::Told(read_error(error)),
        }
    }
}

/// What to say of a server that only follows another.
pub(super) fn standby() -> ReadError {
    ReadError::Refused(
        "this server is a standby: its rows lag behind, and unlogged tables cannot be read there; read the primary"
            .to_owned(),
    )
}

/// Says whose turn it is. Nothing of an error's text is passed on but names of tables, columns and functions.
pub(super) fn read_error(error: Error) -> ReadError {
    match error {
        Error::Database(error) => match error.try_downcast::<PgDatabaseError>() {
            Ok(error) => answered(error.code(), error.message()),
            Err(_) => ReadError::Refused("the server answered with an error".to_owned()),
        },
        Error::Io(error) => broken(&error),
        Error::Tls(error) => unprotected(&error.to_string()),
        Error::Configuration(_) => ReadError::Refused("a file that `tls` names cannot be used".to_owned()),
        Error::Protocol(_) => ReadError::Unreachable("what answers does not speak PostgreSQL's protocol".to_owned()),
        _ => ReadError::Unreachable("the connection failed".to_owned()),
    }
}

/// The server's own error, by its SQLSTATE: see "PostgreSQL Error Codes" in its documentation.
fn answered(code: &str, message: &str) -> ReadError {
    let named = || format!("PostgreSQL: {}", naming(code, message));
    match code {
        "57014" => ReadError::Timeout("the query ran into the server's time limit".to_owned()),
        "55P03" => ReadError::Timeout("a table stayed locked by others for too long".to_owned()),
        "28P01" | "28000" => {
            ReadError::Refused("the server refuses the user, the password or the client's host".to_owned())
        }
        "3D000" => ReadError::Refused("the server has no such database".to_owned()),
        "53300" => ReadError::Refused("the server has no connection left".to_owned()),
        "42501" if message.contains("row-level security") => ReadError::Refused(format!(
            "row-level security hides rows from the exporter ({}); let its user bypass it, or read a view",
            naming(code, message)
        )),
        "42501" => ReadError::Refused(named()),
        // Schemas that the user may not use are passed over in silence.
        "42P01" => ReadError::SchemaMismatch(format!(
            "{}, or is in a schema that is not looked into: set `schema`, and grant USAGE on it",
            named()
        )),
        "0A000" if message.contains("during recovery") => standby(),
        "25006" => ReadError::SchemaMismatch("the query would write; it must be one SELECT".to_owned()),
        "08P01" => ReadError::SchemaMismatch("the query has parameters; nothing fills them".to_owned()),
        "42601" if message.contains("multiple commands") => {
            ReadError::SchemaMismatch("the query is more than one statement; it must be one SELECT".to_owned())
        }
        _ => match code.get(..2) {
            // Syntax, and names that do not exist; data that an expression of the query cannot take.
            Some("42" | "3F") => ReadError::SchemaMismatch(named()),
            Some("22") => {
                ReadError::InvalidRecord(format!("an expression of the query fails on a stored value ({code})"))
            }
            // Shutdown, crash, starting up, connection failure.
            Some("57" | "58" | "08") => ReadError::Unreachable(format!("the server is not available ({code})")),
            Some("40") => ReadError::Refused(format!("the server gave up the transaction ({code})")),
            _ => ReadError::Refused(format!("the server answered with SQLSTATE {code}")),
        },
    }
}

/// The message where it only names tables, columns and functions; else what the code stands for. Any other message may
/// repeat a value or a piece of the query.
fn naming(code: &str, message: &str) -> String {
    let names_only = matches!(code, "42P01" | "42703" | "42883" | "3F000" | "42702" | "42803" | "42501")
        && message.len() <= 200
        && !message.contains(['\n', '\'']);
    match code {
        _ if names_only => message.to_owned(),
        "42601" => "syntax error".to_owned(),
        _ => format!("it does not accept the query ({code})"),
    }
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
            let error = answered(code, message);
            assert_eq!(error.failure().as_str(), reason, "{code} {message}");
            let text = error.to_string();
            assert!(text.contains(told) && !text.contains("planted"), "{code}: {text}");
        }
    }
}
