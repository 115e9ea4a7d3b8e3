//! Who is at the other end of a connection.

use std::fmt;
use std::net::IpAddr;

/// Whose connection it is, as far as one client cannot be many: an address of IPv4, or a network of IPv6, of which a
/// client has all addresses. Whoever comes over a socket with a path is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer(Option<IpAddr>);

impl Peer {
    pub(super) fn new(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            v4 @ IpAddr::V4(_) => v4,
        }))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(IpAddr::V4(address)) => address.fmt(f),
            Some(IpAddr::V6(network)) => write!(f, "{network}/64"),
            None => f.write_str("of this machine"),
        }
    }
}
