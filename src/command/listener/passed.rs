//! Sockets that systemd passes.

use std::env;
use std::io;
use std::os::fd::AsFd;

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;

use super::Socket;
use crate::command::Failure;

/// The sockets that were passed, as `sd_listen_fds(3)` describes; at least one.
pub(super) fn sockets() -> Result<Vec<Socket>, Failure> {
    // Without it nothing says that the descriptors are meant for this process, and the crate would take them all the same.
    let mut passed = match env::var_os("LISTEN_PID") {
        Some(_) => ListenFd::from_env(),
        None => ListenFd::empty(),
    };
    if passed.len() == 0 {
        return Err(refused(
            "no socket was passed: start the exporter through a systemd .socket unit, or leave the option out",
        ));
    }
    let sockets: Option<_> = (0..passed.len()).map(|at| socket(&mut passed, at)).collect();
    sockets.ok_or_else(|| {
        refused(
            "what was passed is no TCP or Unix socket that listens: the .socket unit needs `ListenStream=` with a port \
             or a path, and `Accept=no`",
        )
    })
}

fn socket(passed: &mut ListenFd, at: usize) -> Option<Socket> {
    // What is of another kind stays where it is.
    if let Ok(Some(socket)) = passed.take_tcp_listener(at) {
        return is_listening(&socket).then_some(Socket::Tcp(socket));
    }
    let socket = passed.take_unix_listener(at).ok().flatten()?;
    is_listening(&socket).then_some(Socket::Unix(socket))
}

fn is_listening(socket: &impl AsFd) -> bool {
    let listening: io::Result<bool> = socket_acceptconn(socket).map_err(Into::into);
    listening.unwrap_or(false)
}

fn refused(why: &str) -> Failure {
    Failure::Configuration(format!("--web.systemd-socket: {why}"))
}
