//! Sockets passed by systemd.

use std::env;
use std::os::fd::AsFd;

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;

use super::Socket;
use crate::command::Failure;

/// The passed sockets, as described in `sd_listen_fds(3)`. There is at least one.
pub(super) fn sockets() -> Result<Vec<Socket>, Failure> {
    // `listenfd` would also accept descriptors without `LISTEN_PID`, which may be meant for another process.
    let mut passed = match env::var_os("LISTEN_PID") {
        Some(_) => ListenFd::from_env(),
        None => ListenFd::empty(),
    };
    if passed.len() == 0 {
        return Err(refused(
            "no socket was passed: start the exporter through a systemd .socket unit, or leave the option out",
        ));
    }
    let sockets: Option<_> = (0..passed.len()).map(|index| take(&mut passed, index)).collect();
    sockets.ok_or_else(|| {
        refused(
            "what was passed is no TCP or Unix socket that listens: the .socket unit needs `ListenStream=` with a port \
             or a path, and `Accept=no`",
        )
    })
}

/// Takes a listening socket. A descriptor of another kind is left in place.
fn take(passed: &mut ListenFd, index: usize) -> Option<Socket> {
    if let Ok(Some(socket)) = passed.take_tcp_listener(index) {
        return is_listening(&socket).then_some(Socket::Tcp(socket));
    }
    let socket = passed.take_unix_listener(index).ok().flatten()?;
    is_listening(&socket).then_some(Socket::Unix(socket))
}

fn is_listening(socket: &impl AsFd) -> bool {
    socket_acceptconn(socket).unwrap_or(false)
}

fn refused(reason: &str) -> Failure {
    Failure::Configuration(format!("--web.systemd-socket: {reason}"))
}
