//! SQLite's errors, by who has to act.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::store::ReadError;

/// Why there is no reading.
#[derive(Debug)]
pub enum Failure {
    /// The contract was io_error, or nothing can be read for a reason already told.
    Read(ReadError),
    /// SQLite's own error.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// The error for a file that is missing or not accessible.
pub(super) fn of_file(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound => ReadError::Unreachable("there is no file at the configured path".to_owned()),
        io::ErrorKind::PermissionDenied => {
            ReadError::Refused("the exporter may not look at the file; let its user read file and folder".to_owned())
        }
        kind => ReadError::Unreachable(format!("the file cannot be looked at: {kind}")),
    }
}

impl Failure {
    /// Whether another process keeps the file locked, so that trying again may help.
    pub fn is_locked(&self) -> bool {
        let code = match self {
            Self::Read(_) => None,
            Self::Sqlite(error) => error.sqlite_error_code(),
        };
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// The error by who has to act. The path is not in it.
    pub fn into_read_error(self, path: &Path) -> ReadError {
        let error = match self {
            Self::Read(error) => return error,
            Self::Sqlite(error) => error,
        };
        let (code, message, offset) = match error {
            rusqlite::Error::SqliteFailure(code, message) => (code, message, -1),
            rusqlite::Error::SqlInputError { error, msg, offset, .. } => (error, Some(msg), offset),
            rusqlite::Error::InvalidQuery => {
                return ReadError::SchemaMismatch("the query is not one that only reads".to_owned());
            }
            rusqlite::Error::MultipleStatement => {
                return ReadError::SchemaMismatch(
                    "the query is more than one statement; it must be one SELECT".to_owned(),
                );
            }
            other => return ReadError::Refused(format!("SQLite: {other}")),
        };
        match (code.code, code.extended_code) {
            (ErrorCode::OperationInterrupted, _) => {
                ReadError::Timeout("the query took longer than it may; see `timeout`".to_owned())
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                ReadError::Timeout("another process kept the database locked".to_owned())
            }
            (ErrorCode::CannotOpen | ErrorCode::ReadOnly, _) | (_, ffi::SQLITE_READONLY_CANTINIT) if is_wal(path) => {
                ReadError::Unreachable(
                    "the database is in WAL mode, and its -wal and -shm files are not there and cannot be made in a \
                     folder that is mounted read-only; mount the folder writable, or set `PRAGMA journal_mode=DELETE` \
                     on the database"
                        .to_owned(),
                )
            }
            (ErrorCode::CannotOpen, _) => ReadError::Unreachable("the file cannot be opened".to_owned()),
            (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _) => {
                ReadError::Refused("the exporter may not read the file".to_owned())
            }
            (ErrorCode::NotADatabase, _) if is_too_short(path) => cut_short(),
            (ErrorCode::NotADatabase, _) => {
                ReadError::SchemaMismatch("the file is not an SQLite database, or it is encrypted".to_owned())
            }
            (ErrorCode::DatabaseCorrupt, _) => {
                ReadError::Refused("the database file is damaged (SQLITE_CORRUPT)".to_owned())
            }
            (ErrorCode::Unknown, ffi::SQLITE_ERROR) => {
                ReadError::SchemaMismatch(of_statement(&message.unwrap_or_default(), offset))
            }
            (ErrorCode::SchemaChanged, _) => ReadError::SchemaMismatch("the schema changed during the read".to_owned()),
            _ => ReadError::Refused(format!("SQLite: {code}")),
        }
    }
}

/// What SQLite says of a statement, where that names tables, columns and functions. Else it may repeat a piece of the
/// statement or a value of a row, so only the place is told.
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
    let told = match message {
        _ if WHOLE.contains(&message) || NAMING.iter().any(|start| message.starts_with(start)) => message,
        _ if message.ends_with(": syntax error") => "syntax error",
        _ if message.starts_with("unrecognized token: ") => "unrecognized token",
        _ => "it does not accept the query, and what it says may hold values",
    };
    match usize::try_from(offset) {
        Ok(offset) => format!("SQLite: {told}, at byte {offset} of the query"),
        Err(_) => format!("SQLite: {told}"),
    }
}

/// The error for an empty file.
pub(super) fn empty() -> ReadError {
    ReadError::SchemaMismatch("the file is empty: no tables were made in it yet, or it was cut short".to_owned())
}

/// The error for a file that is shorter than the database in it.
pub(super) fn cut_short() -> ReadError {
    ReadError::Refused("the database file was cut short: it has fewer pages than its header says".to_owned())
}

/// Whether a file is shorter than any database, which begins with a page of at least 512 bytes.
pub(super) fn is_too_short(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() < 512)
}

/// Whether a database's header says that it is in WAL mode: both format versions are 2.
///
/// Closing the file gives up the locks that this process has on it, so this is asked only after a failure, when the
/// connection is given up too.
fn is_wal(path: &Path) -> bool {
    use std::io::Read;
    let mut header = [0; 20];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header[18..20] == [2, 2]
}
