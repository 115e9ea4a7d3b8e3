//! The exporter's access to the store, which the demo can interrupt without affecting the schedulers.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// How the exporter reaches the store.
#[derive(Debug)]
pub(super) enum StoreAccess {
    /// A symbolic link to the folder of an SQLite file, in place of a mounted volume.
    Link(PathBuf),
    /// A proxy in front of a server.
    Proxy(TcpProxy),
}

impl StoreAccess {
    /// Interrupts the access.
    pub(super) fn hide(&self) -> io::Result<()> {
        match self {
            Self::Link(link) => return fs::remove_file(link),
            Self::Proxy(proxy) => proxy.set_open(false),
        }
        Ok(())
    }

    /// Establishes the access. This has no effect if it is established already.
    pub(super) fn restore(&self) -> io::Result<()> {
        match self {
            Self::Link(link) => match symlink("store", link) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => return linked,
            },
            Self::Proxy(proxy) => proxy.set_open(true),
        }
        Ok(())
    }

    /// The description of [`hide`](Self::hide).
    pub(super) const fn hide_description(&self) -> &'static str {
        match self {
            Self::Link(_) => "The store is taken away from the exporter, as when a volume is unmounted.",
            Self::Proxy(_) => "The exporter is cut off from the server, as when a network fails.",
        }
    }
}

/// A TCP proxy on a local port. Dropping it ends all its connections.
#[derive(Debug)]
pub(super) struct TcpProxy {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

impl TcpProxy {
    /// Starts an open proxy to this host and port.
    pub(super) async fn start(host: String, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = listener.local_addr()?;
        let (sender, is_open) = watch::channel(true);
        let task = AbortOnDropHandle::new(tokio::spawn(accept(listener, (host, port), is_open)));
        Ok(Self { address, is_open: sender, _task: task })
    }

    #[cfg_attr(
        not(any(test, feature = "postgres", feature = "redis")),
        expect(dead_code, reason = "only stores on servers are reached through a proxy")
    )]
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A closed proxy ends all connections, and new ones once accepted. The port stays bound, so that no other process can
    /// take it.
    fn set_open(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
    }
}

async fn accept(listener: TcpListener, server: (String, u16), is_open: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                if *is_open.borrow() {
                    connections.spawn(forward(client, server.clone(), is_open.clone()));
                }
            }
            // Releases the memory of connections that have ended.
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Forwards a connection until either side ends it or the proxy is closed.
async fn forward(mut client: TcpStream, server: (String, u16), mut is_open: watch::Receiver<bool>) {
    let forwarded = async {
        let mut server = TcpStream::connect(server).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        // If one side fails, the end of the connection tells the other side.
        _ = forwarded => {}
        _ = is_open.wait_for(|is_open| !is_open) => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_closed_proxy_ends_old_and_new_connections_until_it_is_opened_again() {
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
        let proxy = TcpProxy::start("localhost".to_owned(), port).await.unwrap();
        let mut response = [0; 1];
        let mut old = TcpStream::connect(proxy.address()).await.unwrap();
        old.write_all(b"a").await.unwrap();
        old.read_exact(&mut response).await.unwrap();
        proxy.set_open(false);
        assert_eq!(old.read(&mut response).await.unwrap(), 0);
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(new.read(&mut response).await.unwrap(), 0);
        proxy.set_open(true);
        let mut reopened = TcpStream::connect(proxy.address()).await.unwrap();
        reopened.write_all(b"b").await.unwrap();
        reopened.read_exact(&mut response).await.unwrap();
        assert_eq!(&response, b"b");
    }
}
