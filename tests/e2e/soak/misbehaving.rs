//! Clients that send malformed requests or break off.

use std::io::{Read as _, Write as _};

use super::client::{Answer, Request, Transport, USER};
use super::environment::Environment;
use super::random::Random;
use crate::harness::now;
use crate::web::client::login;

/// Somebody with a password that is none: another user each time, or the right one.
pub(super) fn guess(environment: &Environment, random: &mut Random) {
    let number = random.next();
    let user = if random.once_in(3) { USER.to_owned() } else { format!("user-{number}") };
    let request = Request { headers: login(&user, &format!("guess-{number}")), ..Request::get("/metrics") };
    let answer = environment.ask("wrong password", Transport::Tcp, &request);
    // Who comes while too many others are being checked is told so.
    assert!([401, 503].contains(&answer.status), "{}", answer.head);
}

/// Clients that begin something and go away, in ways that a seed decides. Whatever they are told, they do not listen.
pub(super) fn break_off(environment: &Environment, random: &mut Random) {
    let _asking = environment.asking();
    let began = now();
    let kind = match random.below(6) {
        0 => {
            let silent: Vec<_> = (0..8).map(|_| environment.endpoint.tcp()).collect();
            std::thread::sleep(random.millis(0, 200));
            drop(silent);
            "silent"
        }
        1 => {
            let half = random.once_in(2);
            let begun: &[u8] = if half { b"\x16\x03\x01\x02\x00\x01\x00" } else { b"GET /metrics HTTP/1.1\r\nX-" };
            if let Ok(mut stream) = environment.endpoint.tcp() {
                let _ = stream.write_all(begun);
                std::thread::sleep(random.millis(0, 200));
            }
            "half open"
        }
        2 => {
            // Closing with unread data sends a reset.
            if let Ok(mut stream) = environment.endpoint.open(Transport::Tcp) {
                let _ = Request::get("/metrics").send(&mut *stream);
                let _ = stream.read(&mut [0; 1024]);
            }
            "aborted in the midst of an answer"
        }
        3 => {
            if let Ok(mut stream) = environment.endpoint.open(Transport::Tcp) {
                let _ = Request::get("/metrics").with("X-Prometheus-Scrape-Timeout-Seconds: 3").send(&mut *stream);
            }
            "aborted before the answer"
        }
        4 => {
            if let Ok(mut stream) = environment.endpoint.open(Transport::Tcp) {
                let _ = Request::get("/metrics").with(&format!("X-Long: {}", "x".repeat(1 << 16))).send(&mut *stream);
                let _ = stream.read(&mut [0; 1024]);
            }
            "a head too large"
        }
        _ => {
            if let Ok(mut stream) = environment.endpoint.tcp()
                && Request::get("/metrics").send(&mut stream).is_ok()
                && let Ok(answer) = Answer::read(&mut stream, "GET")
            {
                assert_eq!(answer.status, 400, "without TLS");
            }
            "without TLS"
        }
    };
    environment.requests.count(kind, now() - began);
}
