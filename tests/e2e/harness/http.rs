//! A minimal HTTP client.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{PATIENCE, now};

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// The body without its compression.
    pub(crate) body: String,
    /// The length of the body as transferred.
    pub(crate) length: usize,
    /// The duration of the request.
    pub(crate) took: Duration,
}

/// Sends a GET request on a new connection.
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

/// Reads a complete response, after which the server closes the connection.
pub(crate) fn answer(mut stream: TcpStream) -> Reply {
    let began = now();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("no answer: {error}"));
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&answer)));
    let (head, sent) = (std::str::from_utf8(&answer[..end]).unwrap(), &answer[end + 4..]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut reply = Reply {
        status: status.unwrap_or_else(|| panic!("no status: {head}")),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: String::new(),
        length: 0,
        took: Duration::ZERO,
    };
    let body = match reply.header("transfer-encoding") {
        Some("chunked") => read_chunks(&mut &*sent).unwrap_or_else(|error| panic!("{error}: {head}")),
        _ => {
            let told = reply.header("content-length").and_then(|length| length.parse().ok());
            assert_eq!(told, Some(sent.len()), "an answer that was cut off: {head}");
            sent.to_vec()
        }
    };
    reply.length = body.len();
    if reply.header("content-encoding") == Some("gzip") {
        flate2::read::GzDecoder::new(&*body).read_to_string(&mut reply.body).unwrap();
    } else {
        reply.body = String::from_utf8(body).unwrap();
    }
    Reply { took: now() - began, ..reply }
}

/// Reads a chunked body, and nothing after it.
pub(crate) fn read_chunks(sent: &mut (impl Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            sent.read_exact(&mut byte)?;
            line.push(byte[0]);
        }
        let digits = std::str::from_utf8(&line[..line.len() - 2]).map_err(io::Error::other)?;
        let length = usize::from_str_radix(digits, 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; length + 2];
        sent.read_exact(&mut chunk)?;
        if !chunk.ends_with(b"\r\n") {
            return Err(io::Error::other("a chunk without an end"));
        }
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

impl Reply {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}
