//! Classifies errors of Redis. Their text is dropped: it can quote keys and values.

use ::redis::{ErrorKind, RedisError};

use crate::{ProtocolError, StoreErrorCode};

impl From<RedisError> for ProtocolError {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io | ErrorKind::InvalidClientConfig | ErrorKind::Client => return Self::Unreachable,
            ErrorKind::AuthenticationFailed => return Self::LoginFailed,
            ErrorKind::UnexpectedReturnType => return Self::InvalidRecord,
            // The server does not speak the Redis protocol.
            ErrorKind::Parse | ErrorKind::RESP3NotSupported => return Self::Unreachable,
            _ => {}
        }
        error.code().map_or(Self::Unreachable, classify)
    }
}

fn classify(code: &str) -> ProtocolError {
    match code {
        // A script of another client does not end.
        "BUSY" | "TRYAGAIN" => ProtocolError::Busy,
        // No permission, out of memory, failed writes to disk, too few replicas.
        "NOPERM" | "OOM" | "MISCONF" | "NOREPLICAS" => ProtocolError::PermissionDenied,
        "NOAUTH" | "WRONGPASS" => ProtocolError::LoginFailed,
        "READONLY" => ProtocolError::ReadOnly,
        // An error raised by the scripts, and a key of another type.
        "INVALIDRECORD" | "WRONGTYPE" => ProtocolError::InvalidRecord,
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" => ProtocolError::Unreachable,
        code => ProtocolError::Failed { code: StoreErrorCode::word(code) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_code_is_classified() {
        for (code, error) in [
            ("BUSY", ProtocolError::Busy),
            ("NOPERM", ProtocolError::PermissionDenied),
            ("NOAUTH", ProtocolError::LoginFailed),
            ("READONLY", ProtocolError::ReadOnly),
            ("WRONGTYPE", ProtocolError::InvalidRecord),
            ("LOADING", ProtocolError::Unreachable),
            ("CROSSSLOT", ProtocolError::Failed { code: StoreErrorCode::word("CROSSSLOT") }),
        ] {
            assert_eq!(classify(code), error, "{code}");
        }
    }
}
