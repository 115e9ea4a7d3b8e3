//! Where leases are in a store of keys and values.

use std::time::Duration;

/// Which keys hold leases, and what else belongs to each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    /// The keys that are leases.
    pub leases: LeaseKeys,
    /// How long a lease lives after a renewal, where that is known: so that its renewal can be dated.
    pub ttl: Option<Duration>,
}

/// The keys that are leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseKeys {
    /// Strings that go with their time to live: each holds its holder's name.
    Locks(Box<str>),
    /// Hashes whose fields are named like the columns of the reading contract.
    Hashes(Box<str>),
}
