//! The errors of Redis and Valkey, by who has to act.

use super::resp::{Malformed, ServerError};
use crate::store::ReadError;

/// Why a transaction failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The server does not know `PEXPIRETIME`.
    #[error("the server does not tell when a key expires")]
    NoExpiryTime,
}

impl Failure {
    pub(super) fn of(command: &str, error: ServerError<'_>) -> Self {
        let unknown = error.details.starts_with("unknown command");
        if unknown && command == "PEXPIRETIME" { Self::NoExpiryTime } else { Self::Read(answered(command, error)) }
    }

    pub(super) fn into_read_error(self) -> ReadError {
        match self {
            Self::Read(error) => error,
            failure @ Self::NoExpiryTime => ReadError::Refused(failure.to_string()),
        }
    }
}

/// The error for a peer that is not such a server.
pub(super) fn not_understood() -> ReadError {
    ReadError::Unreachable("what answers does not speak the protocol of Redis".into())
}

/// The error for bytes that are not a reply.
pub(super) fn malformed(how: Malformed) -> ReadError {
    match how {
        Malformed::Protocol => not_understood(),
        Malformed::TooLong => ReadError::Refused(
            "the server answers with more than 64 MiB for one value, which is not read; no lease needs as much".into(),
        ),
    }
}

/// Checks that a server with this role and mode can be read.
pub(super) fn of_role(role: Option<&[u8]>, mode: Option<&[u8]>) -> Result<(), ReadError> {
    match (role, mode) {
        (_, Some(b"cluster")) => Err(cluster()),
        (Some(b"master"), _) => Ok(()),
        (Some(_), _) => Err(replica()),
        (None, _) => Err(not_understood()),
    }
}

fn replica() -> ReadError {
    ReadError::Refused("this server is a replica, whose keys lag behind; read the primary".into())
}

fn cluster() -> ReadError {
    ReadError::Refused("the server is one of a cluster, which is not supported".into())
}

pub(super) fn refused_version() -> ReadError {
    ReadError::Refused("the server is too old; Redis 6 or later is needed".into())
}

/// Translates an error of the server by its first word. The rest of its text is not shown.
pub(super) fn answered(command: &str, error: ServerError<'_>) -> ReadError {
    let command = command.to_ascii_lowercase();
    let says = |part: &str| error.details.contains(part);
    let refused = |what: &str| ReadError::Refused(what.to_owned());
    match error.code {
        "NOAUTH" => refused("the server asks for a password; name a file with it in `password_file`"),
        "WRONGPASS" => refused("the server refuses the user or the password"),
        // The server checks the command first, so the key is what may not be read.
        "NOPERM" if says("key") && !says("run the") => {
            refused(&format!("the user may not read these keys (`{command}`); grant it their names with `~`"))
        }
        // For `EXEC` the server reports a missing right with another code.
        "NOPERM" | "EXECABORT" if error.code == "NOPERM" || says("no permissions") => {
            refused(&format!("the user may not give the command `{command}`; grant it with `+{command}`"))
        }
        "LOADING" => ReadError::Unreachable("the server is still loading its data".into()),
        "OOM" => refused("the server is out of memory (maxmemory) and queues nothing in a transaction"),
        "BUSY" => refused("the server is busy with a script that runs on"),
        "MASTERDOWN" => replica(),
        "MOVED" | "ASK" | "CLUSTERDOWN" | "CROSSSLOT" | "TRYAGAIN" => cluster(),
        "DENIED" => refused("the server is in protected mode, and lets no other machine in"),
        "ERR" if says("max number of clients") => refused("the server has no connection left"),
        "ERR" if says("DB index") => ReadError::SchemaMismatch("the server has no database of this number".into()),
        "ERR" if says("unknown command") => refused(&format!(
            "the server does not know the command `{command}`; Redis 6 or later is needed, and not a sentinel"
        )),
        code if !code.is_empty() && code.len() <= 20 && code.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            refused(&format!("the server answered `{command}` with {code}"))
        }
        _ => refused(&format!("the server answered `{command}` with an error")),
    }
}
