//! A socket with a path: who may use it, and what becomes of its file.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::umask;

use crate::command::Failure;

/// The exporter's user and group may connect, nobody else: rights of files are all that such a socket has.
const OTHERS: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::RWXO);

/// The file of a socket, removed with this.
#[derive(Debug)]
pub(in crate::command) struct SocketFile {
    path: PathBuf,
    /// Its device and number there, which another of its name would not have.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity_of(&self.path) == Some(self.identity) {
            // Where it cannot be removed, the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Listens on a path. A file that a process left there which no longer listens is replaced; nothing else is.
pub(super) fn bind(path: &Path) -> Result<(UnixListener, SocketFile), Failure> {
    let cannot = |why: &str| {
        Failure::System(format!(
            "cannot listen on unix:{}: {why}; choose another with --web.listen-address",
            path.display()
        ))
    };
    let before = umask(OTHERS);
    let bound = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => match left_over(path) {
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

/// Removes what a process left that no longer listens.
fn left_over(path: &Path) -> Result<(), &'static str> {
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
