//! The errors of SQLite, by who has to act.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::store::ReadError;
use crate::store::sql::SEVERAL_STATEMENTS;

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error that already says who must act.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// The error for a file that is missing or not accessible.
pub(super) fn of_file(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound => ReadError::Unreachable("there is no file at the configured path".into()),
        io::ErrorKind::PermissionDenied => {
            ReadError::Refused("the exporter may not look at the file; let its user read file and folder".into())
        }
        kind => ReadError::Unreachable(format!("the file cannot be looked at: {kind}")),
    }
}

impl Failure {
    /// Whether another process keeps the file locked, so that trying again may help.
    pub fn is_locked(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// The error by who has to act. It does not contain the path.
    pub fn into_read_error(self, path: &Path) -> ReadError {
        use ReadError::{Refused, SchemaMismatch, Timeout, Unreachable};
        let (code, message, offset) = match self {
            Self::Read(error) => return error,
            Self::Sqlite(rusqlite::Error::SqliteFailure(code, message)) => (code, message, -1),
            Self::Sqlite(rusqlite::Error::SqlInputError { error, msg, offset, .. }) => (error, Some(msg), offset),
            Self::Sqlite(rusqlite::Error::InvalidQuery) => {
                return SchemaMismatch("the query is not one that only reads".into());
            }
            Self::Sqlite(rusqlite::Error::MultipleStatement) => return SchemaMismatch(SEVERAL_STATEMENTS.into()),
            Self::Sqlite(other) => return Refused(format!("SQLite: {other}")),
        };
        match (code.code, code.extended_code) {
            (ErrorCode::OperationInterrupted, _) => Timeout("the query took longer than it may; see `timeout`".into()),
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                Timeout("another process kept the database locked".into())
            }
            (ErrorCode::CannotOpen | ErrorCode::ReadOnly, _) | (_, ffi::SQLITE_READONLY_CANTINIT) if is_wal(path) => {
                Unreachable(
                    "the database is in WAL mode, and its -wal and -shm files are not there and cannot be made in a \
                     folder that is mounted read-only; mount the folder writable, or set `PRAGMA journal_mode=DELETE` \
                     on the database"
                        .into(),
                )
            }
            (ErrorCode::CannotOpen, _) => Unreachable("the file cannot be opened".into()),
            (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _) => {
                Refused("the exporter may not read the file".into())
            }
            (ErrorCode::NotADatabase, _) if is_too_short(path) => cut_short(),
            (ErrorCode::NotADatabase, _) => {
                SchemaMismatch("the file is not an SQLite database, or it is encrypted".into())
            }
            (ErrorCode::DatabaseCorrupt, _) => Refused("the database file is damaged (SQLITE_CORRUPT)".into()),
            (ErrorCode::Unknown, ffi::SQLITE_ERROR) => {
                SchemaMismatch(of_statement(&message.unwrap_or_default(), offset))
            }
            (ErrorCode::SchemaChanged, _) => SchemaMismatch("the schema changed during the read".into()),
            _ => Refused(format!("SQLite: {code}")),
        }
    }
}

/// The message of SQLite about a statement, if it contains only names of tables, columns and functions. Other messages may
/// repeat a part of the statement or a value of a row, so only the position is shown.
fn of_statement(message: &str, offset: i32) -> String {
    const NAMING: [&str; 6] = [
        "no such table: ",
        "no such column: ",
        "no such function: ",
        "ambiguous column name: ",
        "misuse of aggregate: ",
        "wrong number of arguments to function ",
    ];
    const WHOLE: [&str; 3] = ["incomplete input", "integer overflow", "malformed JSON"];
    let shown = match message {
        _ if WHOLE.contains(&message) || NAMING.iter().any(|start| message.starts_with(start)) => message,
        _ if message.ends_with(": syntax error") => "syntax error",
        _ if message.starts_with("unrecognized token: ") => "unrecognized token",
        _ => "it does not accept the query, and what it says may hold values",
    };
    match usize::try_from(offset) {
        Ok(offset) => format!("SQLite: {shown}, at byte {offset} of the query"),
        Err(_) => format!("SQLite: {shown}"),
    }
}

pub(super) fn empty() -> ReadError {
    ReadError::SchemaMismatch("the file is empty: no tables were made in it yet, or it was cut short".into())
}

/// The error for a file that is shorter than the database in it.
pub(super) fn cut_short() -> ReadError {
    ReadError::Refused("the database file was cut short: it has fewer pages than its header says".into())
}

/// Whether a file is shorter than any database. The first page has at least 512 bytes.
pub(super) fn is_too_short(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() < 512)
}

/// Whether the header of a database has WAL mode: both format versions are 2.
///
/// Closing the file releases all locks of this process on it, so this is called only after a failure, when the connection is
/// closed too.
fn is_wal(path: &Path) -> bool {
    use std::io::Read;
    let mut header = [0; 20];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header[18..20] == [2, 2]
}
