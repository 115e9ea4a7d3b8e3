//! Where connections come from.

use std::io;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Duration, sleep};
use tokio_util::either::Either;

use super::connection::{ConnectionLimiter, Peer};

/// A socket that listens.
#[derive(Debug)]
pub enum Listener {
    /// On an address.
    Tcp(TcpListener),
    /// On a path.
    Unix(UnixListener),
}

/// The socket of a connection that was accepted.
pub(super) type Socket = Either<TcpStream, UnixStream>;

/// How many bytes the system keeps for a client beyond those that are on their way to it. Without a limit it takes megabytes
/// at once from a response to a slow client, and then nothing for as long as that client reads them; so it could not be
/// told from one that does not read. It is no limit to the speed.
const UNSENT: u32 = 128 * 1024;

/// How long to wait after a failed accept: out of file descriptors, an immediate retry fails too and takes a whole core.
const PAUSE: Duration = Duration::from_millis(75);

impl Listener {
    /// Sets what every connection that is accepted has from then on.
    fn configure(&self) {
        let Self::Tcp(listener) = self else { return };
        let socket = SockRef::from(listener);
        // A response is written in few large pieces; waiting to fill packets would only delay the last one.
        if let Err(error) = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_notsent_lowat(UNSENT)) {
            tracing::debug!(%error, "an option of connections could not be set");
        }
    }

    async fn accept(&self) -> io::Result<(Socket, Peer)> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                (Either::Left(stream), Peer::new(Some(address.ip())))
            }
            Self::Unix(listener) => (Either::Right(listener.accept().await?.0), Peer::new(None)),
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
    pub(super) fn on(listener: Listener) -> Self {
        listener.configure();
        Self(listener)
    }

    /// The next connection. Where no descriptors are left for it, another is closed.
    pub(super) async fn next(&self, limiter: &ConnectionLimiter) -> (Socket, Peer) {
        loop {
            match self.0.accept().await {
                Ok(accepted) => return accepted,
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    limiter.close_one();
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_has_the_options_of_its_listener_and_the_peer_at_its_other_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let listener = Listener::from(listener);
        listener.configure();
        let late = std::net::TcpStream::connect(client.peer_addr().unwrap()).unwrap();
        for _ in [&client, &late] {
            let (Either::Left(accepted), peer) = listener.accept().await.unwrap() else { panic!("not of TCP") };
            assert_eq!(peer, Peer::new(Some(client.local_addr().unwrap().ip())));
            if accepted.peer_addr().unwrap() == late.local_addr().unwrap() {
                assert!(accepted.nodelay().unwrap());
                assert_eq!(SockRef::from(&accepted).tcp_notsent_lowat().unwrap(), UNSENT);
            }
        }
    }
}
