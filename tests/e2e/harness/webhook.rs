//! A receiver of the notifications of Alertmanager.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use super::PATIENCE;

/// Listens on a free port and keeps every notification until the guard is dropped.
pub(crate) struct Webhook {
    address: SocketAddr,
    notifications: Arc<Mutex<Vec<Value>>>,
    ended: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Webhook {
    /// Starts listening.
    pub(crate) fn listen() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let notifications = Arc::<Mutex<Vec<Value>>>::default();
        let ended = Arc::<AtomicBool>::default();
        let accepts = thread::spawn({
            let (notifications, ended) = (Arc::clone(&notifications), Arc::clone(&ended));
            move || {
                for stream in listener.incoming() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    let notifications = Arc::clone(&notifications);
                    thread::spawn(move || serve(stream.unwrap(), &notifications));
                }
            }
        });
        Self { address, notifications, ended, accepts: Some(accepts) }
    }

    /// The `url` for Alertmanager.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The notifications so far.
    pub(crate) fn notifications(&self) -> Vec<Value> {
        self.notifications.lock().unwrap().clone()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // A last connection wakes the listener.
        let _ = TcpStream::connect(self.address);
        let _ = self.accepts.take().map(JoinHandle::join);
    }
}

/// Reads requests from a connection until it ends. Alertmanager keeps connections open.
fn serve(stream: TcpStream, notifications: &Mutex<Vec<Value>>) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(body) = request(&mut reader) {
        notifications.lock().unwrap().push(serde_json::from_slice(&body).expect("a notification in JSON"));
        if reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// The body of the next request, or `None` at the end of the connection.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            return Some(body);
        }
        if let Some(told) = line.strip_prefix("content-length:") {
            length = told.trim().parse().expect("a length");
        }
    }
}
