//! A client that sends raw requests and returns raw responses.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::task::spawn_blocking;

use super::LONG;
use crate::clock;

/// A parsed response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    /// The decompressed text.
    pub(super) body: String,
    /// The length of the body as received.
    pub(super) length: usize,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Parses one complete response.
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
        let (head, body) = (std::str::from_utf8(&bytes[..end]).unwrap(), &bytes[end + 4..]);
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let mut answer = Self { status, headers, body: String::new(), length: body.len() };
        let whole;
        let body = if answer.header("transfer-encoding") == Some("chunked") {
            whole = joined(body);
            &whole
        } else {
            body
        };
        // A response to HEAD has no body.
        if answer.header("content-encoding") == Some("gzip") && !body.is_empty() {
            flate2::read::GzDecoder::new(body).read_to_string(&mut answer.body).unwrap();
        } else {
            answer.body = String::from_utf8(body.to_vec()).unwrap();
        }
        answer
    }
}

/// Decodes a complete body in chunked encoding.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let line = chunks.windows(2).position(|two| two == b"\r\n").expect("it has no end");
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).unwrap(), 16).unwrap();
        let begins = line + 2;
        whole.extend_from_slice(&chunks[begins..begins + length]);
        chunks = &chunks[begins + length + 2..];
        if length == 0 {
            return whole;
        }
    }
}

/// A connection.
pub(super) struct Client(TcpStream);

impl Client {
    pub(super) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(stream)
    }

    pub(super) fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Everything received until the server closes or resets the connection.
    pub(super) async fn rest(mut self) -> Vec<u8> {
        spawn_blocking(move || {
            let (mut bytes, mut some) = (Vec::new(), vec![0; 64 * 1024]);
            let began = clock::monotonic();
            loop {
                assert!(clock::monotonic() - began < LONG, "the server did not close");
                match self.0.read(&mut some) {
                    Ok(0) => return bytes,
                    Ok(read) => bytes.extend_from_slice(&some[..read]),
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => return bytes,
                    Err(error) => panic!("the server did not close: {error}"),
                }
            }
        })
        .await
        .unwrap()
    }

    /// The last response of the connection.
    pub(super) async fn answer(self) -> Answer {
        Answer::of(&self.rest().await)
    }

    /// Whether nothing is received for this long.
    pub(super) async fn silent_for(self, patience: Duration) -> (bool, Self) {
        spawn_blocking(move || {
            self.0.set_read_timeout(Some(patience)).unwrap();
            let silent = self.0.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            self.0.set_read_timeout(Some(LONG)).unwrap();
            (silent, self)
        })
        .await
        .unwrap()
    }

    /// Reads this many bytes at a time with a pause after each, until the server closes the connection. Returns the total.
    pub(super) fn read_slowly(mut self, bytes: usize, pause: Duration) -> usize {
        let (mut all, mut some) = (0, vec![0; bytes]);
        loop {
            match self.0.read(&mut some).unwrap() {
                0 => return all,
                read => all += read,
            }
            std::thread::sleep(pause);
        }
    }

    pub(super) fn close(self) {
        self.0.shutdown(Shutdown::Both).unwrap();
    }
}

/// Sends one request on a new connection.
pub(super) async fn ask(address: SocketAddr, method: &str, path: &str) -> Answer {
    request(address, &format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")).await
}

/// Like `ask`, with further headers, each ending with CRLF.
pub(super) async fn ask_with(address: SocketAddr, method: &str, path: &str, headers: &str) -> Answer {
    request(address, &format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}\r\n")).await
}

/// Sends a raw request and waits until the server closes the connection.
pub(super) async fn request(address: SocketAddr, text: &str) -> Answer {
    let mut client = Client::connect(address);
    client.send(text);
    client.answer().await
}

/// The `Authorization` header of user `one`.
pub(super) fn login(password: &str) -> String {
    format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("one:{password}")))
}
