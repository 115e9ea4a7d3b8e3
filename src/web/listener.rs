//! Where connections come from.

use std::io;

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
