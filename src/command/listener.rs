//! Listening sockets: bound to the configured addresses, or passed by systemd.

mod address;
mod path;
mod systemd;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::net::UnixListener;

use clap::Args;
use tracing::info;

use super::Failure;
use crate::{log, web};
use address::Address;
use path::SocketFile;

/// Options of the listening sockets.
#[derive(Clone, Debug, Args)]
pub(super) struct ListenArguments {
    /// An address to serve on, or a Unix socket; without a host, all of this machine's; may be given several times
    ///
    /// A name with several addresses stands for one of them: the first IPv4 address, or else the first.
    #[arg(
        long = "web.listen-address",
        value_name = "[HOST]:PORT|unix:PATH",
        default_value = ":10987",
        value_parser = Address::parse
    )]
    addresses: Vec<Address>,

    /// Serve on the sockets that systemd passes, instead of addresses
    #[arg(long = "web.systemd-socket", conflicts_with = "addresses")]
    systemd_socket: bool,
}

/// A listening socket.
#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Listening sockets, and the files of the Unix sockets among them.
#[derive(Debug)]
pub(super) struct Sockets {
    sockets: Vec<Socket>,
    files: Vec<SocketFile>,
}

impl ListenArguments {
    /// Binds the sockets. Must be called before any thread is started, because it changes the environment variables of
    /// passed sockets and the umask.
    pub(super) fn listen(&self) -> Result<Sockets, Failure> {
        if self.systemd_socket {
            return Ok(Sockets { sockets: systemd::sockets()?, files: Vec::new() });
        }
        let (mut sockets, mut files) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            sockets.push(match address {
                Address::Tcp(address) => Socket::Tcp(bind(*address)?),
                Address::Named(name, port) => Socket::Tcp(bind(resolve(name, *port)?)?),
                Address::Unix(path) => {
                    let (socket, file) = path::bind(path)?;
                    files.push(file);
                    Socket::Unix(socket)
                }
            });
        }
        for socket in &sockets {
            socket.extend_backlog();
        }
        Ok(Sockets { sockets, files })
    }
}

impl Sockets {
    /// Registers the sockets with the current runtime and logs their addresses. The caller must keep the files while the
    /// listeners are in use.
    pub(super) fn accepting(self) -> Result<(Vec<web::Listener>, Vec<SocketFile>), Failure> {
        let listeners: io::Result<_> = self.sockets.into_iter().map(Socket::accepting).collect();
        Ok((listeners.map_err(cannot_listen)?, self.files))
    }
}

/// How many connections may wait to be accepted; the system may have a lower limit. Further connections are retried after
/// one second or more.
const BACKLOG: i32 = 4096;

impl Socket {
    /// Increases the backlog, which the standard library sets to 128.
    fn extend_backlog(&self) {
        // A second call of `listen` only changes the backlog.
        let extended = match self {
            Self::Tcp(socket) => rustix::net::listen(socket, BACKLOG),
            Self::Unix(socket) => rustix::net::listen(socket, BACKLOG),
        };
        if let Err(error) = extended {
            tracing::debug!(%error, "the backlog could not be increased");
        }
    }

    fn accepting(self) -> io::Result<web::Listener> {
        match self {
            Self::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                info!(target: log::OPERATION, address = %socket.local_addr()?, "listening");
                Ok(web::Listener::Tcp(tokio::net::TcpListener::from_std(socket)?))
            }
            Self::Unix(socket) => {
                socket.set_nonblocking(true)?;
                let address = socket.local_addr()?;
                let path = address.as_pathname().map_or("(unnamed)".into(), |path| path.to_string_lossy());
                info!(target: log::OPERATION, address = %format_args!("unix:{path}"), "listening");
                Ok(web::Listener::Unix(tokio::net::UnixListener::from_std(socket)?))
            }
        }
    }
}

/// Resolves a name of this machine.
fn resolve(name: &str, port: u16) -> Result<SocketAddr, Failure> {
    let cannot = |why: &str| {
        Failure::System(format!("cannot listen on {name}:{port}: {why}; give an address with --web.listen-address"))
    };
    let addresses = (name, port).to_socket_addrs().map_err(|_| cannot("the name has no address that can be found"))?;
    address::preferred(addresses).ok_or_else(|| cannot("the name has no address"))
}

/// Binds an address. On a machine without IPv6, `[::]` is replaced by `0.0.0.0`.
fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = match TcpListener::bind(address) {
        Err(_) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port()))
        }
        result => result,
    };
    listener.map_err(|error| {
        Failure::System(format!("cannot listen on {address}: {error}; choose another with --web.listen-address"))
    })
}

fn cannot_listen(error: io::Error) -> Failure {
    Failure::System(format!("cannot listen: {error}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        listen: ListenArguments,
    }

    #[test]
    fn hundreds_of_connections_can_wait_to_be_accepted() {
        let CommandLine { listen } = CommandLine::parse_from(["test", "--web.listen-address=127.0.0.1:0"]);
        let sockets = listen.listen().unwrap().sockets;
        let [Socket::Tcp(socket)] = &sockets[..] else { panic!("{sockets:?}") };
        let address = socket.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
        assert_eq!((0..300).map(connect).collect::<Vec<_>>().len(), 300);
    }
}
