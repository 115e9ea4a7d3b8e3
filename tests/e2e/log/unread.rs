//! A log whose reader does not read.

use std::io::{ErrorKind, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal;

use crate::harness::exporter::configure;
use crate::harness::process::command;
use crate::harness::store::{STEADY, database, folder};
use crate::harness::{Process, eventually};

/// A full pipe and its reading end.
fn full() -> (Stdio, std::io::PipeReader) {
    let (reader, mut writer) = pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    loop {
        match writer.write(&[b'\n'; 512]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    fcntl_setfl(&writer, flags).unwrap();
    (writer.into(), reader)
}

#[test]
fn unread_log_prevents_neither_serving_nor_exit() {
    let (folder, (stderr, _unread)) = (folder(), full());
    database(&folder.path().join("own.db"), "CREATE TABLE t (x)");
    let yaml = format!("sources: [{{name: own, store: 'sqlite://own.db', query: \"{STEADY}\"}}]\n");
    let config = format!("--config.file={}", configure(folder.path(), &yaml).display());
    let socket = folder.path().join("own.socket");
    let listen = format!("--web.listen-address=unix:{}", socket.display());
    let mut exporter = Process::start_with_stderr(command([config, listen]), stderr);
    let healthy = || {
        let mut stream = UnixStream::connect(&socket).ok()?;
        stream.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    };
    eventually("the exporter to serve", healthy);
    for _ in 0..20 {
        exporter.signal(Signal::HUP);
        eventually("the exporter to serve on", healthy);
    }
    exporter.signal(Signal::TERM);
    assert_eq!(exporter.wait().code(), Some(0));
}
