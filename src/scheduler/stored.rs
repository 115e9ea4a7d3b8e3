//! What an SQL store holds, made into what it means, and back. A number or name that means nothing is an invalid record.

use super::authority::{Epoch, InstanceToken};
use super::protocol::ProtocolError;

pub(super) fn epoch(number: i64) -> Result<Epoch, ProtocolError> {
    Epoch::new(count(number)?).ok_or(ProtocolError::InvalidRecord)
}

pub(super) fn token(holder: String) -> Result<InstanceToken, ProtocolError> {
    InstanceToken::new(holder).map_err(|_| ProtocolError::InvalidRecord)
}

pub(super) fn count(number: i64) -> Result<u64, ProtocolError> {
    u64::try_from(number).map_err(|_| ProtocolError::InvalidRecord)
}

pub(super) fn stored(number: u64) -> Result<i64, ProtocolError> {
    i64::try_from(number).map_err(|_| ProtocolError::InvalidRecord)
}
