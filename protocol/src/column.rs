//! Conversions between the values of SQL columns and the types of the protocol.

use crate::{Epoch, HolderId, ProtocolError};

pub(crate) fn epoch(number: i64) -> Result<Epoch, ProtocolError> {
    Epoch::new(count(number)?).ok_or(ProtocolError::InvalidRecord)
}

pub(crate) fn holder(text: String) -> Result<HolderId, ProtocolError> {
    HolderId::new(text).map_err(|_| ProtocolError::InvalidRecord)
}

pub(crate) fn count(number: i64) -> Result<u64, ProtocolError> {
    u64::try_from(number).map_err(|_| ProtocolError::InvalidRecord)
}

/// SQL integers are signed.
pub(crate) fn integer(number: u64) -> Result<i64, ProtocolError> {
    i64::try_from(number).map_err(|_| ProtocolError::InvalidRecord)
}
