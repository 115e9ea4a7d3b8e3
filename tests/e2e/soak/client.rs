//! Requests to the exporter over each transport.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::harness::http::read_chunks;
use crate::web::client::{Client, login};

/// The user and the password of valid requests.
pub(super) const USER: &str = "prometheus";
pub(super) const PASSWORD: &str = "of-the-soak";

/// The longest time of a response on a busy machine.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

/// A transport to the exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Unix,
}

/// A connection of any kind.
pub(super) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// The addresses of the exporter.
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) socket: PathBuf,
    pub(super) client: Client,
}

impl Endpoint {
    pub(super) fn open(&self, way: Transport) -> io::Result<Box<dyn Stream>> {
        Ok(match way {
            Transport::Tcp => Box::new(self.client.over(self.tcp()?, "localhost")),
            Transport::Unix => Box::new(self.client.over(self.unix()?, "localhost")),
        })
    }

    pub(super) fn tcp(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, LONGEST)?;
        stream.set_read_timeout(Some(LONGEST))?;
        Ok(stream)
    }

    fn unix(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(LONGEST))?;
        Ok(stream)
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) path: String,
    /// The header lines.
    pub(super) headers: String,
}

impl Request {
    /// A request with valid credentials.
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), headers: login(USER, PASSWORD) }
    }

    pub(super) fn with(mut self, header: &str) -> Self {
        self.headers.push_str(header);
        self.headers.push_str("\r\n");
        self
    }

    pub(super) fn send(&self, stream: &mut dyn Stream) -> io::Result<()> {
        let Self { method, path, headers } = self;
        // In one write, so that a partial write is not mistaken for a closed connection.
        stream.write_all(format!("{method} {path} HTTP/1.1\r\nHost: soak\r\n{headers}\r\n").as_bytes())?;
        stream.flush()
    }
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    body: Vec<u8>,
}

impl Answer {
    /// Reads one response, and nothing after it.
    pub(super) fn read(stream: &mut dyn Stream, method: &str) -> io::Result<Self> {
        let head = read_head(stream)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {head:?}")))?;
        let answer = Self { status, head, body: Vec::new() };
        if method == "HEAD" || status == 304 {
            return Ok(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            return Ok(Self { body: read_chunks(stream)?, ..answer });
        }
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let length = length.ok_or_else(|| io::Error::other(format!("no length in {:?}", answer.head)))?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(Self { body, ..answer })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (other, value) = line.split_once(": ")?;
            other.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The uncompressed body, which must be text.
    pub(super) fn text(self) -> String {
        if self.header("content-encoding") != Some("gzip") {
            return String::from_utf8(self.body).unwrap();
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*self.body).read_to_string(&mut text).unwrap();
        text
    }
}

/// Everything before the body.
pub(super) fn read_head(stream: &mut dyn Stream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Err(io::Error::other(format!("no answer but {:?}", String::from_utf8_lossy(&head))));
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).map_err(io::Error::other)
}
