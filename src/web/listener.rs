//! Where connections come from.

use std::io;
use std::net::IpAddr;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Duration, sleep};

/// A socket that listens.
#[derive(Debug)]
pub enum Listener {
    /// On an address.
    Tcp(TcpListener),
    /// On a path.
    Unix(UnixListener),
}

/// A connection that was accepted.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Whose connection it is, as far as one client cannot be many: an address of IPv4, or a network of IPv6, of which a
/// client has all addresses. Whoever comes over a socket with a path is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer(Option<IpAddr>);

impl Peer {
    pub(super) fn new(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            v4 @ IpAddr::V4(_) => v4,
        }))
    }
}

impl Stream {
    pub(super) fn peer(&self) -> Peer {
        Peer::new(match self {
            Self::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
            Self::Unix(_) => None,
        })
    }
}

/// How long to wait after a failed accept: out of file descriptors, an immediate retry fails too and takes a whole core.
const PAUSE: Duration = Duration::from_millis(75);

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // An answer is written in few large pieces; waiting to fill packets would only delay the last one.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY could not be set");
                }
                Stream::Tcp(stream)
            }
            Self::Unix(listener) => Stream::Unix(listener.accept().await?.0),
        })
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self::Unix(listener)
    }
}

/// Accepts connections, and goes on whatever happens.
pub(super) struct Acceptance(Listener);

impl Acceptance {
    pub(super) const fn on(listener: Listener) -> Self {
        Self(listener)
    }

    pub(super) async fn next(&self) -> Stream {
        loop {
            match self.0.accept().await {
                Ok(stream) => return stream,
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_one_whichever_of_its_addresses_it_comes_from() {
        let peer = |address: &str| Peer::new(Some(address.parse().unwrap()));
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_eq!(peer("::ffff:192.0.2.7"), peer("192.0.2.7"));
        assert_ne!(peer("192.0.2.7"), peer("192.0.2.8"));
        assert_ne!(peer("192.0.2.7"), Peer::new(None));
    }
}
