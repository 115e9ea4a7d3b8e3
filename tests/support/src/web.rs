//! As much HTTP as Prometheus and Alertmanager need to be asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Asks for a path. Nothing, if nobody answers there.
pub(super) fn get(address: SocketAddr, path: &str) -> Option<Reply> {
    ask(address, &format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"))
}

/// Sends JSON to a path. Nothing, if nobody answers there.
pub(super) fn post(address: SocketAddr, path: &str, json: &str) -> Option<Reply> {
    let length = json.len();
    ask(
        address,
        &format!(
            "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{json}"
        ),
    )
}

/// The JSON of a path. The response must be a success.
pub(super) fn json(address: SocketAddr, path: &str, parameters: &[(&str, &str)]) -> Value {
    let parameters: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
        .collect();
    let path = format!("{path}?{}", parameters.join("&"));
    let reply = get(address, &path).unwrap_or_else(|| panic!("no answer from {address} to {path}"));
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    serde_json::from_str(&reply.body).unwrap_or_else(|error| panic!("{error} in what {path} says: {}", reply.body))
}

/// HTTP 1.0, so that the answer ends with the connection and comes in one piece.
fn ask(address: SocketAddr, request: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, body: body.to_owned() })
}
