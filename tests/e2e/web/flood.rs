//! A flood of connections from one address, while clients of other addresses scrape.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::client::{connect, plainly};
use super::steady;
use crate::harness::store::folder;
use crate::harness::{Exporter, now, sleep_until};

/// The address of the flooding client. The flood is bounded and stays on this machine.
const FLOODER: &str = "127.0.0.2:0";
const CONNECTIONS: u32 = 15_000;
const A_SECOND: u32 = 5_000;
/// The connections that the flooding client keeps open: more than the limit of the exporter.
const KEPT: usize = 600;
/// The limit of a scrape meanwhile. It takes milliseconds, but other tests run at the same time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens idle connections at a rate, or as fast as possible.
fn flood(address: SocketAddr, a_second: Option<u32>) {
    let mut kept = VecDeque::new();
    let began = now();
    for number in 0..CONNECTIONS {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        // Closing sends a reset, so that the port is free at once.
        socket.set_linger(Some(Duration::ZERO)).unwrap();
        socket.bind(&FLOODER.parse::<SocketAddr>().unwrap().into()).unwrap();
        if socket.connect_timeout(&address.into(), Duration::from_secs(5)).is_ok() {
            kept.push_back(socket);
        }
        if kept.len() > KEPT {
            kept.pop_front();
        }
        if let Some(a_second) = a_second {
            sleep_until(began + Duration::from_secs(1) * number / a_second);
        }
        assert!(now() - began < Duration::from_secs(60), "after {number} connections");
    }
}

/// A scraper with one persistent connection.
struct Scraper(TcpStream);

impl Scraper {
    fn scrape(&mut self) {
        self.0.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let mut piece = [0; 64 * 1024];
        let ends = |answer: &[u8]| answer.ends_with(b"\r\n0\r\n\r\n") || is_whole(answer) == Some(true);
        while !ends(&answer) {
            let length = self.0.read(&mut piece).expect("the connection is kept");
            assert_ne!(length, 0, "the connection was closed: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&piece[..length]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
    }
}

/// Whether a response with a length is complete.
fn is_whole(answer: &[u8]) -> Option<bool> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    Some(body.len() == length.parse::<usize>().unwrap())
}

/// The longest scrapes over a persistent connection and over new ones during a load.
fn scraped_while(exporter: &Exporter, something: impl FnOnce() + Send) -> (Duration, Duration) {
    let done = AtomicBool::new(false);
    let address = exporter.address();
    let repeated = |scrape: &mut dyn FnMut()| {
        let mut longest = Duration::ZERO;
        while !done.load(Ordering::SeqCst) {
            let began = now();
            scrape();
            longest = longest.max(now() - began);
            sleep_until(now() + Duration::from_millis(20));
        }
        longest
    };
    thread::scope(|scope| {
        let kept = scope.spawn(|| {
            let mut scraper = Scraper(connect(address));
            repeated(&mut || scraper.scrape())
        });
        let new =
            scope.spawn(|| repeated(&mut || assert_eq!(plainly(address, "GET", "/metrics", "").unwrap().status, 200)));
        // Both threads have started.
        sleep_until(now() + Duration::from_millis(300));
        let ended = thread::scope(|scope| scope.spawn(something).join());
        done.store(true, Ordering::SeqCst);
        ended.unwrap();
        (kept.join().unwrap(), new.join().unwrap())
    })
}

#[test]
fn five_thousand_connections_a_second_from_one_address_do_not_delay_other_addresses() {
    let folder = folder();
    let exporter = Exporter::start(folder.path(), &steady(folder.path()));
    for a_second in [Some(A_SECOND), None] {
        let (kept, new) = scraped_while(&exporter, || flood(exporter.address(), a_second));
        println!("{CONNECTIONS} connections, {a_second:?} a second: kept {kept:?}, new {new:?} at the longest");
        assert!(kept < PATIENCE && new < PATIENCE, "kept {kept:?}, new {new:?}");
    }
}
