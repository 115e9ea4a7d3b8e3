//! Which of the protocol's errors a failure of Redis is. Nothing of its text is kept, which can quote keys and values.

use ::redis::{ErrorKind, RedisError};

use super::super::protocol::{ProtocolError, StoreCode};

impl From<RedisError> for ProtocolError {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io | ErrorKind::InvalidClientConfig | ErrorKind::Client => return Self::Unreachable,
            ErrorKind::AuthenticationFailed => return Self::Login,
            ErrorKind::UnexpectedReturnType => return Self::InvalidRecord,
            // It speaks another language, so it is no Redis.
            ErrorKind::Parse | ErrorKind::RESP3NotSupported => return Self::Unreachable,
            _ => {}
        }
        error.code().map_or(Self::Unreachable, of_code)
    }
}

fn of_code(code: &str) -> ProtocolError {
    match code {
        // Another's script runs on and on.
        "BUSY" | "TRYAGAIN" => ProtocolError::Busy,
        // No right, no memory, a disk that cannot be written, too few replicas.
        "NOPERM" | "OOM" | "MISCONF" | "NOREPLICAS" => ProtocolError::Refused,
        "NOAUTH" | "WRONGPASS" => ProtocolError::Login,
        "READONLY" => ProtocolError::Follower,
        // A script's own word, and a key of another type.
        "INVALIDRECORD" | "WRONGTYPE" => ProtocolError::InvalidRecord,
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" => ProtocolError::Unreachable,
        code => ProtocolError::Failed { code: StoreCode::word(code) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_who_must_act() {
        for (code, error) in [
            ("BUSY", ProtocolError::Busy),
            ("NOPERM", ProtocolError::Refused),
            ("NOAUTH", ProtocolError::Login),
            ("READONLY", ProtocolError::Follower),
            ("WRONGTYPE", ProtocolError::InvalidRecord),
            ("LOADING", ProtocolError::Unreachable),
            ("CROSSSLOT", ProtocolError::Failed { code: StoreCode::word("CROSSSLOT") }),
        ] {
            assert_eq!(of_code(code), error, "{code}");
        }
    }
}
