//! As little HTTP as a scrape needs.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{PATIENCE, now};

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// Uncompressed.
    pub(crate) body: String,
    /// How long the body was as it came.
    pub(crate) length: usize,
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
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&answer)));
    let (head, body) = (std::str::from_utf8(&answer[..end]).unwrap(), &answer[end + 4..]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut reply = Reply {
        status: status.unwrap_or_else(|| panic!("no status: {head}")),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: String::new(),
        length: body.len(),
        took: Duration::ZERO,
    };
    let told = reply.header("content-length").and_then(|length| length.parse().ok());
    assert_eq!(told, Some(body.len()), "an answer that was cut off: {head}");
    if reply.header("content-encoding") == Some("gzip") {
        flate2::read::GzDecoder::new(body).read_to_string(&mut reply.body).unwrap();
    } else {
        reply.body = String::from_utf8(body.to_vec()).unwrap();
    }
    Reply { took: now() - began, ..reply }
}

impl Reply {
    /// What it says under this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}
