//! Unix sockets: their permissions and files.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::umask;

use crate::command::Failure;

/// The umask for socket files: only the exporter's user and group may connect.
const UMASK: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::RWXO);

/// The file of a socket, removed when this is dropped.
#[derive(Debug)]
pub(in crate::command) struct SocketFile {
    path: PathBuf,
    /// Device and inode, so that another file of the same name is not removed.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity_of(&self.path) == Some(self.identity) {
            // If the removal fails, the next start replaces the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Binds a path. The socket file of a process that has ended is replaced; any other file is an error.
pub(super) fn bind(path: &Path) -> Result<(UnixListener, SocketFile), Failure> {
    let cannot = |why: &str| {
        Failure::System(format!(
            "cannot listen on unix:{}: {why}; choose another with --web.listen-address",
            path.display()
        ))
    };
    let before = umask(UMASK);
    let bound = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => match remove_stale(path) {
            Ok(()) => UnixListener::bind(path).map_err(|error| cannot(&error.to_string())),
            Err(why) => Err(cannot(why)),
        },
        bound => bound.map_err(|error| cannot(&error.to_string())),
    };
    umask(before);
    let socket = bound?;
    let identity = identity_of(path).ok_or_else(|| cannot("its file is gone"))?;
    Ok((socket, SocketFile { path: path.to_owned(), identity }))
}

/// Removes the socket file of a process that has ended.
fn remove_stale(path: &Path) -> Result<(), &'static str> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return Err("there is a file of this name that is no socket");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|_| "a process that has ended left its socket there, which cannot be removed")
        }
        _ => Err("a process listens there"),
    }
}
