//! A proxy that records requests, and can replace the requested format.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The proxy. It runs until the end of the test process.
pub(super) struct RecordingProxy {
    pub(super) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl RecordingProxy {
    /// Starts a proxy to the exporter, with a new connection for each request.
    pub(super) fn before(exporter: SocketAddr, accept: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                // A client that disconnects ends only its own connection.
                thread::spawn(move || pass(client, exporter, accept, &noted));
            }
        });
        Self { address, heads }
    }

    /// A header of the last request.
    pub(super) fn last(&self, name: &str) -> Option<String> {
        let heads = self.heads.lock().unwrap();
        let mut lines = heads.last()?.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }
}

fn pass(
    mut client: TcpStream,
    exporter: SocketAddr,
    accept: Option<&str>,
    noted: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    noted.lock().unwrap().push(head.clone());
    let is = |line: &str, name: &str| line.to_ascii_lowercase().starts_with(name);
    let mut request = String::new();
    for line in head.trim_end().lines().filter(|line| !is(line, "connection:")) {
        match accept {
            Some(accept) if is(line, "accept:") => request.push_str(&format!("Accept: {accept}\r\n")),
            _ => request.push_str(&format!("{line}\r\n")),
        }
    }
    let mut server = TcpStream::connect(exporter)?;
    server.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes())?;
    std::io::copy(&mut server, &mut client)?;
    Ok(())
}
