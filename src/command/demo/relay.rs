//! What stands between the exporter and a server, so that the way there can be cut for the exporter alone.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// Takes connections on a port of this machine and passes them on to a server. Dropped, it ends with all of them.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    open: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

impl Relay {
    /// Starts one, open, to this host and port.
    pub(super) async fn start(host: String, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = listener.local_addr()?;
        let (open, is_open) = watch::channel(true);
        let task = AbortOnDropHandle::new(tokio::spawn(relay(listener, (host, port), is_open)));
        Ok(Self { address, open, _task: task })
    }

    /// Where it listens.
    #[cfg_attr(
        not(any(test, feature = "postgres", feature = "redis")),
        expect(dead_code, reason = "without a kind of server nothing is relayed")
    )]
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts every connection, and each new one as it comes: the port stays taken, so that nobody else gets it.
    pub(super) fn truncate_to_width(&self) {
        self.open.send_replace(false);
    }

    /// Lets new connections through again.
    pub(super) fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn relay(listener: TcpListener, server: (String, u16), is_open: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                if *is_open.borrow() {
                    connections.spawn(pass(client, server.clone(), is_open.clone()));
                }
            }
            // So that those that have ended are not kept.
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Passes everything on until either side has enough, or the way is cut.
async fn pass(mut client: TcpStream, (host, port): (String, u16), mut is_open: watch::Receiver<bool>) {
    let passed = async {
        let mut server = TcpStream::connect((host, port)).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        // Whichever side failed: the other learns of it by the end of its connection.
        _ = passed => {}
        _ = is_open.wait_for(|open| !open) => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_cut_relay_ends_connections_old_and_new_until_it_is_mended() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = server.local_addr().unwrap().port();
        let _echo = AbortOnDropHandle::new(tokio::spawn(async move {
            while let Ok((mut stream, _)) = server.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        }));
        let relay = Relay::start("localhost".to_owned(), port).await.unwrap();
        let mut answer = [0; 1];
        let mut old = TcpStream::connect(relay.address()).await.unwrap();
        old.write_all(b"a").await.unwrap();
        old.read_exact(&mut answer).await.unwrap();
        relay.truncate_to_width();
        assert_eq!(old.read(&mut answer).await.unwrap(), 0);
        let mut new = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(new.read(&mut answer).await.unwrap(), 0);
        relay.mend();
        let mut mended = TcpStream::connect(relay.address()).await.unwrap();
        mended.write_all(b"b").await.unwrap();
        mended.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"b");
    }
}
