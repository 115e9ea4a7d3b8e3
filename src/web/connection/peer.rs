//! Identifies clients for per-client limits.

use std::fmt;
use std::net::IpAddr;

/// A client: an IPv4 address, or a /64 network of IPv6, because one client usually has all its addresses. All clients of a
/// Unix socket are one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::web) struct Peer(Option<IpAddr>);

impl Peer {
    /// The peer at an address, or the peer of Unix sockets.
    pub(in crate::web) fn new(address: Option<IpAddr>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_a_client_are_one_peer() {
        let peer = |address: &str| Peer::new(Some(address.parse().unwrap()));
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_eq!(peer("::ffff:192.0.2.7"), peer("192.0.2.7"));
        assert_ne!(peer("192.0.2.7"), peer("192.0.2.8"));
        assert_ne!(peer("192.0.2.7"), Peer::new(None));
        let texts = [peer("2001:db8:1:2::1"), peer("::ffff:192.0.2.7"), Peer::new(None)].map(|peer| peer.to_string());
        assert_eq!(texts, ["2001:db8:1:2::/64", "192.0.2.7", "of this machine"]);
    }
}
