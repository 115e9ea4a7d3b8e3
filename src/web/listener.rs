//! Accepts connections.

use std::io;

use socket2::SockRef;
use tokio::net::{TcpListener, UnixListener};
use tokio::time::{Duration, sleep};
use tokio_util::either::Either;

use super::connection::{ConnectionLimiter, Peer, Socket};

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

/// How many unsent bytes the kernel buffers per connection. Without this limit, it takes megabytes of a response at once and then
/// nothing until a slow client has read them, so a slow client would look like one that does not read. The limit does not affect
/// throughput.
const NOTSENT_LOWAT: u32 = 128 * 1024;

/// The pause after a failed accept. Without free file descriptors, an immediate retry would also fail, and keep a core busy.
const PAUSE: Duration = Duration::from_millis(75);

impl Listener {
    /// Sets the options that accepted connections inherit.
    pub(super) fn set_options(&self) {
        let Self::Tcp(listener) = self else { return };
        let socket = SockRef::from(listener);
        // Responses are written in few large chunks. Nagle's algorithm would only delay the last one.
        if let Err(error) = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_notsent_lowat(NOTSENT_LOWAT)) {
            tracing::debug!(%error, "an option of connections could not be set");
        }
    }

    /// Waits for the next connection. If no file descriptor is free, an idle connection is closed.
    pub(super) async fn accept(&self, limiter: &ConnectionLimiter) -> (Socket, Peer) {
        loop {
            match self.accept_once().await {
                Ok(accepted) => return accepted,
                // The client disconnected before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    limiter.close_one();
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn accept_once(&self) -> io::Result<(Socket, Peer)> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                (Either::Left(stream), Peer::new(Some(address.ip())))
            }
            Self::Unix(listener) => (Either::Right(listener.accept().await?.0), Peer::new(None)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_accepted_connection_has_the_options_of_its_listener_and_its_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let listener = Listener::Tcp(listener);
        listener.set_options();
        let late = std::net::TcpStream::connect(client.peer_addr().unwrap()).unwrap();
        for _ in [&client, &late] {
            let (Either::Left(accepted), peer) = listener.accept_once().await.unwrap() else { panic!("not of TCP") };
            assert_eq!(peer, Peer::new(Some(client.local_addr().unwrap().ip())));
            if accepted.peer_addr().unwrap() == late.local_addr().unwrap() {
                assert!(accepted.nodelay().unwrap());
                assert_eq!(SockRef::from(&accepted).tcp_notsent_lowat().unwrap(), NOTSENT_LOWAT);
            }
        }
    }
}
