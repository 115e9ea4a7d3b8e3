//! Where the exporter listens: on an address of its own choice, or on the socket that systemd passes.

use std::env;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use clap::Args;
use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;

use super::Failure;

/// Where to listen.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ListenArguments {
    /// The address to serve on; without a host, on all
    #[arg(long = "web.listen-address", value_name = "[HOST]:PORT", default_value = ":10987", value_parser = address)]
    address: SocketAddr,

    /// Serve on the socket that systemd passes, instead of an address
    #[arg(long = "web.systemd-socket", conflicts_with = "address")]
    systemd_socket: bool,
}

impl ListenArguments {
    /// Listens. Comes before any thread is started, because it takes the variables that speak of a passed socket out of
    /// the environment.
    pub(super) fn listen(self) -> Result<TcpListener, Failure> {
        let listener = if self.systemd_socket { passed()? } else { bind(self.address)? };
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        Ok(listener)
    }
}

/// An address as Prometheus exporters take it: `:10987` is every address of the machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| format!("`{port}` is no port; write `:10987`"))?;
        return Ok(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse()
        .map_err(|_| "not an address with a port; write `:10987`, `127.0.0.1:10987` or `[::1]:10987`".to_owned())
}

/// Listens on an address; where a machine has no IPv6, every address means every IPv4 address.
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

/// The one socket that was passed, as `sd_listen_fds(3)` describes.
fn passed() -> Result<TcpListener, Failure> {
    // Without it nothing says that the descriptors are meant for this process, and the crate would take them all the same.
    let mut sockets = match env::var_os("LISTEN_PID") {
        Some(_) => ListenFd::from_env(),
        None => ListenFd::empty(),
    };
    match sockets.len() {
        0 => Err(refused(
            "no socket was passed: start the exporter through a systemd .socket unit, or leave the option out",
        )),
        1 => {
            let listener =
                sockets.take_tcp_listener(0).ok().flatten().filter(|socket| is_listening(socket).unwrap_or(false));
            listener.ok_or_else(|| {
                refused("what was passed is no TCP socket that listens: the .socket unit needs `ListenStream=` with a port, and `Accept=no`")
            })
        }
        many => Err(refused(&format!(
            "{many} sockets were passed, one is needed: give the .socket unit one `ListenStream=`"
        ))),
    }
}

fn is_listening(socket: &TcpListener) -> io::Result<bool> {
    Ok(socket_acceptconn(socket)?)
}

/// When the system refuses what it never refuses to a socket that is sound.
pub(super) fn cannot_listen(error: io::Error) -> Failure {
    Failure::System(format!("cannot listen: {error}"))
}

fn refused(why: &str) -> Failure {
    Failure::Configuration(format!("--web.systemd-socket: {why}"))
}
