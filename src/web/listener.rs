//! Where connections come from.

use std::io;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Duration, sleep};
use tokio_util::either::Either;

use super::crowd::Crowd;
use super::peer::Peer;

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
pub(super) struct Stream(pub(super) Either<TcpStream, UnixStream>);

impl Stream {
    pub(super) fn peer(&self) -> Peer {
        Peer::new(match &self.0 {
            Either::Left(stream) => stream.peer_addr().ok().map(|address| address.ip()),
            Either::Right(_) => None,
        })
    }

    /// The first byte that its client sends, which is still to be read then. Over a socket with a path there is no way to
    /// tell, and it is 0.
    pub(super) async fn first(&self) -> io::Result<u8> {
        let mut first = [0];
        if let Either::Left(stream) = &self.0 {
            stream.peek(&mut first).await?;
        }
        Ok(first[0])
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
                Stream(Either::Left(stream))
            }
            Self::Unix(listener) => Stream(Either::Right(listener.accept().await?.0)),
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

    /// The next connection. Where there are no descriptors left for it, one of the crowd makes room.
    pub(super) async fn next(&self, crowd: &Crowd) -> Stream {
        loop {
            match self.0.accept().await {
                Ok(stream) => return stream,
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    crowd.make_room();
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
        let said = [peer("2001:db8:1:2::1"), peer("::ffff:192.0.2.7"), Peer::new(None)].map(|peer| peer.to_string());
        assert_eq!(said, ["2001:db8:1:2::/64", "192.0.2.7", "of this machine"]);
    }
}
