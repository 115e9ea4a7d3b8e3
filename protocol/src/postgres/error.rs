//! Classifies errors of PostgreSQL. Their text is dropped: it can name hosts and users and quote statements and rows.

use sqlx::Error;

use crate::{ProtocolError, StoreErrorCode};

impl From<Error> for ProtocolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(error) => error.code().map_or(Self::Unreachable, |state| classify(&state)),
            Error::ColumnDecode { .. } | Error::Decode(_) | Error::Encode(_) | Error::RowNotFound => {
                Self::InvalidRecord
            }
            Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => Self::SchemaMismatch,
            _ => Self::Unreachable,
        }
    }
}

fn classify(state: &str) -> ProtocolError {
    match state {
        // Lock timeout, statement timeout, deadlock, and a serialization failure, which occurs if a pooler imposes a
        // stricter isolation level.
        "55P03" | "57014" | "40P01" | "40001" => ProtocolError::Busy,
        // No privilege.
        "42501" => ProtocolError::PermissionDenied,
        // A standby, or a read-only session.
        "25006" => ProtocolError::ReadOnly,
        // Unknown user, client address not allowed, wrong password.
        "28000" | "28P01" => ProtocolError::LoginFailed,
        "3D000" => ProtocolError::NoSuchDatabase,
        // Unknown schema.
        "3F000" => ProtocolError::SchemaMismatch,
        _ => match state.get(..2) {
            // Data exception, violated constraint.
            Some("22" | "23") => ProtocolError::InvalidRecord,
            // Unknown table, column, type or index.
            Some("42") => ProtocolError::SchemaMismatch,
            // Connection failure, insufficient resources, operator intervention (shutdown, startup).
            Some("08" | "53" | "57") => ProtocolError::Unreachable,
            _ => ProtocolError::Failed { code: StoreErrorCode::word(state) },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlstate_is_classified() {
        for (state, error) in [
            ("55P03", ProtocolError::Busy),
            ("40001", ProtocolError::Busy),
            ("42501", ProtocolError::PermissionDenied),
            ("25006", ProtocolError::ReadOnly),
            ("28000", ProtocolError::LoginFailed),
            ("28P01", ProtocolError::LoginFailed),
            ("42P01", ProtocolError::SchemaMismatch),
            ("3D000", ProtocolError::NoSuchDatabase),
            ("3F000", ProtocolError::SchemaMismatch),
            ("22003", ProtocolError::InvalidRecord),
            ("23514", ProtocolError::InvalidRecord),
            ("53300", ProtocolError::Unreachable),
            ("57P01", ProtocolError::Unreachable),
            ("XX001", ProtocolError::Failed { code: StoreErrorCode::word("XX001") }),
        ] {
            assert_eq!(classify(state), error, "{state}");
        }
        assert_eq!(classify("XX001").to_string(), "the store failed with code XX001");
    }
}
