//! Tests of the fault-injecting proxy.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use super::harness::proxy::{Behaviour, End, Place, Proxy};
use super::harness::{PATIENCE, eventually, now};

/// Long enough for a response.
const WHILE: Duration = Duration::from_millis(300);

/// A server that answers each text `x` with `<x>`.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut said = [0; 100];
                while let Ok(length @ 1..) = stream.read(&mut said) {
                    if stream.write_all(&[b"<", &said[..length], b">"].concat()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn hears(stream: &mut TcpStream, said: &str) {
    let mut heard = vec![0; said.len()];
    stream.read_exact(&mut heard).unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), said);
}

/// Sends a text and reads the response.
fn talks(stream: &mut TcpStream) {
    stream.write_all(b"you").unwrap();
    hears(stream, "<you>");
}

fn hears_nothing(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(WHILE)).unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
}

#[test]
fn proxy_counts_round_trips() {
    let proxy = Proxy::to(echo());
    let (mut one, mut other) = (connect(&proxy), connect(&proxy));
    assert_eq!(proxy.turns(), 0);
    talks(&mut one);
    talks(&mut one);
    talks(&mut other);
    assert_eq!(proxy.turns(), 3);
}

#[test]
fn proxy_passes_and_counts_connections() {
    let proxy = Proxy::to(echo());
    let mut first = connect(&proxy);
    talks(&mut first);
    let mut second = connect(&proxy);
    talks(&mut second);
    assert_eq!((proxy.accepted(), proxy.open()), (2, 2));
    drop(first);
    eventually("one open connection", || (proxy.open() == 1).then_some(()));
    talks(&mut second);
    assert_eq!(proxy.accepted(), 2);
}

#[test]
fn muted_proxy_holds_the_response_until_it_passes_again() {
    let proxy = Proxy::to(echo());
    let mut old = connect(&proxy);
    talks(&mut old);
    proxy.choose(Behaviour::Mute);
    let mut new = connect(&proxy);
    for stream in [&mut old, &mut new] {
        stream.write_all(b"you").unwrap();
        hears_nothing(stream);
    }
    drop(new);
    eventually("the connection that was given up to close", || (proxy.open() == 1).then_some(()));
    proxy.choose(Behaviour::Pass);
    hears(&mut old, "<you>");
    talks(&mut old);
}

#[test]
fn proxy_can_pass_one_byte_a_second() {
    let proxy = Proxy::to(echo());
    let mut stream = connect(&proxy);
    talks(&mut stream);
    proxy.choose(Behaviour::Trickle);
    let began = now();
    stream.write_all(b"you").unwrap();
    hears(&mut stream, "<y");
    assert!(now() - began > Duration::from_millis(1900), "after {:?}", now() - began);
    proxy.choose(Behaviour::Pass);
    hears(&mut stream, "ou>");
}

#[test]
fn proxy_cuts_a_response_at_the_given_position_in_the_given_way() {
    for (end, rest) in [(End::Finished, Ok(0)), (End::Reset, Err(ErrorKind::ConnectionReset))] {
        for (place, heard) in [(Place::After(3), "<yo"), (Place::Within("you>"), "<yo"), (Place::Within(">"), "<you")] {
            let proxy = Proxy::to(echo());
            let mut stream = connect(&proxy);
            talks(&mut stream);
            proxy.choose(Behaviour::Cut(place, end));
            stream.write_all(b"you").unwrap();
            hears(&mut stream, heard);
            let after = stream.read(&mut [0]).map_err(|error| error.kind());
            assert_eq!(after, rest, "{place:?} {end:?}");
            eventually("it to close", || (proxy.open() == 0).then_some(()));
            proxy.choose(Behaviour::Pass);
            talks(&mut connect(&proxy));
        }
    }
}

#[test]
fn text_that_arrives_in_parts_is_truncated() {
    let proxy = Proxy::to(echo());
    let mut stream = connect(&proxy);
    proxy.choose(Behaviour::Cut(Place::Within("ab><cd"), End::Finished));
    for said in ["ab", "cd"] {
        stream.write_all(said.as_bytes()).unwrap();
        hears(&mut stream, if said == "ab" { "<ab>" } else { "" });
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn refusing_proxy_keeps_open_connections() {
    let proxy = Proxy::to(echo());
    let mut old = connect(&proxy);
    talks(&mut old);
    proxy.choose(Behaviour::Refuse);
    let refused = TcpStream::connect(proxy.address()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    talks(&mut old);
    proxy.choose(Behaviour::Pass);
    talks(&mut connect(&proxy));
    proxy.end_all(End::Reset);
    assert_eq!(old.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn black_hole_proxy_answers_no_connection_attempt() {
    let proxy = Proxy::to(echo());
    let mut old = connect(&proxy);
    talks(&mut old);
    proxy.choose(Behaviour::BlackHole);
    let lost = TcpStream::connect_timeout(&proxy.address(), WHILE).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::TimedOut);
    talks(&mut old);
    proxy.choose(Behaviour::Pass);
    talks(&mut connect(&proxy));
}

#[test]
fn proxy_can_change_its_target_and_resets_connections_without_one() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::to(gone);
    let lost = connect(&proxy).read(&mut [0]).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::ConnectionReset);
    proxy.lead_to(echo());
    talks(&mut connect(&proxy));
    let address = proxy.address();
    drop(proxy);
    assert!(TcpStream::connect(address).is_err(), "it still listens");
}
