//! Which of the protocol's errors a failure of PostgreSQL is. Nothing of its text is kept, which can name hosts and
//! users and quote statements and rows.

use sqlx::Error;

use super::super::protocol::{ProtocolError, StoreCode};

impl From<Error> for ProtocolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(told) => told.code().map_or(Self::Unreachable, |state| of_state(&state)),
            Error::ColumnDecode { .. } | Error::Decode(_) | Error::Encode(_) | Error::RowNotFound => {
                Self::InvalidRecord
            }
            Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => Self::SchemaMismatch,
            _ => Self::Unreachable,
        }
    }
}

fn of_state(state: &str) -> ProtocolError {
    match state {
        // Lock timeout, statement timeout, deadlock. And of a stricter isolation than is asked for, which a pooler may
        // impose: a conflict.
        "55P03" | "57014" | "40P01" | "40001" => ProtocolError::Busy,
        // No privilege.
        "42501" => ProtocolError::Refused,
        // A standby, or a session that is set to read only.
        "25006" => ProtocolError::Follower,
        // No such user, or not from here, or not with this password.
        "28000" | "28P01" => ProtocolError::Login,
        "3D000" => ProtocolError::NoSuchDatabase,
        // No such schema.
        "3F000" => ProtocolError::SchemaMismatch,
        _ => match state.get(..2) {
            // Data that does not fit, a constraint that is broken.
            Some("22" | "23") => ProtocolError::InvalidRecord,
            // No such table, column, type or index.
            Some("42") => ProtocolError::SchemaMismatch,
            // The connection, resources (connections, disk), an operator (shutting down, starting up).
            Some("08" | "53" | "57") => ProtocolError::Unreachable,
            _ => ProtocolError::Failed { code: StoreCode::word(state) },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_says_who_must_act() {
        for (state, error) in [
            ("55P03", ProtocolError::Busy),
            ("40001", ProtocolError::Busy),
            ("42501", ProtocolError::Refused),
            ("25006", ProtocolError::Follower),
            ("28000", ProtocolError::Login),
            ("28P01", ProtocolError::Login),
            ("42P01", ProtocolError::SchemaMismatch),
            ("3D000", ProtocolError::NoSuchDatabase),
            ("3F000", ProtocolError::SchemaMismatch),
            ("22003", ProtocolError::InvalidRecord),
            ("23514", ProtocolError::InvalidRecord),
            ("53300", ProtocolError::Unreachable),
            ("57P01", ProtocolError::Unreachable),
            ("XX001", ProtocolError::Failed { code: StoreCode::word("XX001") }),
        ] {
            assert_eq!(of_state(state), error, "{state}");
        }
        assert_eq!(of_state("XX001").to_string(), "the store failed with code XX001");
    }
}
