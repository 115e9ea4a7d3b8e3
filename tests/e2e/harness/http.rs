//! As little HTTP as a scrape needs.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{PATIENCE, now};

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Asks for a path, on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, String)]) -> Reply {
    let began = now();
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    let mut request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let reply = answer(stream);
    Reply { took: now() - began, ..reply }
}

/// Reads the answer, which must be whole, to a request that closes its connection.
pub(crate) fn answer(mut stream: TcpStream) -> Reply {
    let began = now();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("no answer: {error}"));
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let told = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    assert_eq!(told, Some(body.len()), "an answer that was cut off: {head}");
    Reply { status: status.unwrap_or_else(|| panic!("no status: {head}")), body: body.to_owned(), took: now() - began }
}
