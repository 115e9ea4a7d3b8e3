//! Errors of a store. None of them carries text of the store, which could name files and hosts or quote rows.

use std::fmt::{self, Write as _};

/// The reason why a store could not do a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Other sessions kept the store locked for too long. Retry.
    #[error("the store stayed locked by others for too long")]
    Busy,
    /// The store failed with an error that has no variant here.
    #[error("the store failed with code {code}")]
    Failed {
        /// The store's own error code.
        code: StoreErrorCode,
    },
    /// A record has, or would get, a value outside the protocol. Another program writes to these tables.
    #[error("a record holds a value outside the contract")]
    InvalidRecord,
    /// The server rejects the user or the password.
    #[error("the server refuses the user or the password")]
    LoginFailed,
    /// The server has no database of this name or number.
    #[error("the server has no such database")]
    NoSuchDatabase,
    /// The lease has no occurrence with the key that the caller tried to plan.
    #[error("the lease has no such occurrence")]
    NoSuchOccurrence,
    /// The password file cannot be read.
    #[error("the password file cannot be read")]
    PasswordFile,
    /// The user may not write to the store.
    #[error("the store refuses to be written")]
    PermissionDenied,
    /// The server is a replica, or set to read only.
    #[error("the server takes no writes: it only follows another, or is set to read only")]
    ReadOnly,
    /// The tables of the protocol are missing or have another shape.
    #[error("the store does not have the scheduler's tables")]
    SchemaMismatch,
    /// The store cannot be opened or reached.
    #[error("the store cannot be reached")]
    Unreachable,
}

/// The store's own code for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorCode {
    /// An extended result code of SQLite.
    Number(i32),
    /// A word of capitals and digits, padded with zeros: an SQLSTATE of PostgreSQL, or the first word of a Redis error.
    Word([u8; Self::MAX_LENGTH]),
}

impl StoreErrorCode {
    const MAX_LENGTH: usize = 12;

    /// The code of that name, or `OTHER` if the text does not look like a code and could be anything.
    #[must_use]
    pub fn word(code: &str) -> Self {
        let is_code = |code: &&str| {
            code.len() <= Self::MAX_LENGTH
                && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        };
        let code = Some(code).filter(is_code).unwrap_or("OTHER");
        let mut word = [0; Self::MAX_LENGTH];
        word.iter_mut().zip(code.bytes()).for_each(|(place, byte)| *place = byte);
        Self::Word(word)
    }
}

impl fmt::Display for StoreErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => {
                word.iter().take_while(|byte| **byte != 0).try_for_each(|byte| f.write_char((*byte).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_code_is_not_kept() {
        assert_eq!(StoreErrorCode::word("CROSSSLOT").to_string(), "CROSSSLOT");
        for other in ["planted", "A B", "ABCDEFGHIJKLM", "\u{e9}"] {
            assert_eq!(StoreErrorCode::word(other).to_string(), "OTHER", "{other}");
        }
    }
}
