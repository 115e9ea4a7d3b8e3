//! Connections to something that only pretends to be a server.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::message::{LONGEST, ServerMessage};
use super::*;
use crate::store::kind::StoreConfig as _;
use crate::store::{Host, PasswordFile, Tls};

/// Far more than any of these readings takes: one that takes as long has waited for what never comes.
const PATIENCE: Duration = Duration::from_secs(60);

fn database(host: &str, port: u16, password: Option<PathBuf>, tls: Tls) -> Database {
    let server = Server {
        host: Host::Tcp { name: host.into(), port },
        user: Some("reader".into()),
        password: password.map(PasswordFile::new),
        tls,
    };
    let statement = Statement::Fixed("SELECT 1 AS store_now".into());
    Database { server, name: "jobs".into(), schema: None, statement, time_zone: Zone::UTC }
}

fn scope() -> Scope {
    Scope { only_lease: "own".into(), max_leases: 100 }
}

async fn read(database: Database) -> ReadResult {
    database.store(scope()).read(Instant::now() + PATIENCE).await
}

/// Something that listens like a server, and for each connection says these things in turn, each after the client has said
/// something. It gives back all that the last client said, and never ends a connection by itself.
async fn impostor(says: &[&[u8]]) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let says: Vec<_> = says.iter().map(|said| said.to_vec()).collect();
    let heard = tokio::spawn(async move { converse(&listener, &says).await });
    (port, heard)
}

async fn converse(listener: &TcpListener, says: &[Vec<u8>]) -> Vec<u8> {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    for said in says {
        hear(&mut client, &mut heard).await;
        client.write_all(said).await.unwrap();
    }
    while hear(&mut client, &mut heard).await > 0 {}
    heard
}

async fn hear(client: &mut TcpStream, heard: &mut Vec<u8>) -> usize {
    client.read_buf(heard).await.unwrap_or(0)
}

const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";

/// Announced lengths: 2^32 - 1, 2^31 - 1, a little over what is allowed, and less than a length itself takes.
#[tokio::test]
async fn a_message_that_is_longer_than_any_may_be_is_refused_at_its_header() {
    for (said, told) in [
        (&[&b"R\xff\xff\xff\xff"[..]][..], "does not speak"),
        (&[b"R\x7f\xff\xff\xff"], "64 MiB"),
        (&[b"R\x04\0\0\0"], "64 MiB"),
        (&[b"R\0\0\0\x03"], "does not speak"),
        (&[OK, b"1\x7f\xff\xff\xff"], "64 MiB"),
        (&[OK, b"D\x7f\xff\xff\xff"], "64 MiB"),
        (&[OK, b"D\xff\xff\xff\xff"], "does not speak"),
        (&[b"HTTP/1.1 400 Bad Request\r\n"], "64 MiB"),
    ] {
        let (port, _heard) = impostor(said).await;
        let error = read(database("127.0.0.1", port, None, Tls::Off)).await.unwrap_err();
        assert_eq!(error.failure().as_str(), "store_unreachable", "{said:?}: {error}");
        assert!(error.to_string().contains(told), "{said:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn memory_is_taken_for_what_has_come_and_not_for_what_is_announced() {
    let (client, mut server) = duplex(1024);
    let mut stream = MessageStream::new(Box::new(client));
    let length = u32::try_from(LONGEST - 1).unwrap().to_be_bytes();
    server.write_all(&[b"D", &length[..], &[0; 1000]].concat()).await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, stream.next()).await.is_err());
    assert!(stream.capacity() < 1024 * 1024, "{}", stream.capacity());
}

#[tokio::test]
async fn notices_between_answers_are_skipped() {
    let (client, mut server) = duplex(1024);
    let mut stream = MessageStream::new(Box::new(client));
    let notice = b"N\0\0\0\x0bSNOTE\0\0S\0\0\0\x09a\0bc\0A\0\0\0\x0c\0\0\0\x01a\0b\0";
    server
        .write_all(&[&notice[..], b"D\0\0\0\x06\0\0", notice, b"1\0\0\0\x04", b"n\0\0\0\x04", notice].concat())
        .await
        .unwrap();
    assert!(matches!(stream.next_answer().await, Ok(ServerMessage::Row(b"\0\0"))));
    assert!(matches!(
        stream.next_answer().await,
        Ok(ServerMessage::Other(postgres_protocol::message::backend::Message::NoData))
    ));
}

fn secret() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    std::fs::write(&path, "planted").unwrap();
    (folder, path)
}

/// A server that has no TLS, or pretends to need a password before there is any, gets the question for TLS and nothing else.
#[tokio::test]
async fn a_password_is_not_sent_where_the_connection_should_be_protected_and_is_not() {
    let (_folder, password) = secret();
    let verify = Tls::Verify { ca_file: None, identity: None };
    for answer in [&[&b"N"[..]][..], &[CLEARTEXT], &[MD5], &[SCRAM], &[OK], &[b"N", CLEARTEXT], &[b"E\0\0\0\x05\0"]] {
        let (port, heard) = impostor(answer).await;
        let error = read(database("127.0.0.1", port, Some(password.clone()), verify.clone())).await.unwrap_err();
        assert_eq!(error.failure().as_str(), "store_unreachable", "{error}");
        assert_eq!(heard.await.unwrap(), b"\0\0\0\x08\x04\xd2\x16\x2f", "{answer:?}");
    }
}

/// The counterpart: where a password is sent, the server of these tests sees it.
#[tokio::test]
async fn a_password_is_sent_in_clear_where_the_connection_stays_on_this_machine_or_tls_is_turned_off() {
    let (_folder, password) = secret();
    let wrong = b"E\0\0\0\x0cC28P01\0\0";
    let (port, heard) = impostor(&[CLEARTEXT, wrong]).await;
    let error = read(database("127.0.0.1", port, Some(password), Tls::Off)).await.unwrap_err();
    assert_eq!(error.failure().as_str(), "store_refused", "{error}");
    let heard = heard.await.unwrap();
    assert!(heard.windows(8).any(|part| part == b"planted\0"));
}

#[tokio::test]
async fn a_server_that_does_not_prove_itself_is_not_believed() {
    let (_folder, password) = secret();
    for (says, reason) in [
        // It is content with the half of it.
        (&[SCRAM, OK][..], "store_unreachable"),
        (&[b"R\0\0\0\x11\0\0\0\x0aPLANTED\0\0"], "store_refused"),
        (&[b"R\0\0\0\x08\0\0\0\x07"], "store_refused"),
        (&[b"R\0\0\0\x08\0\0\0\x63"], "store_unreachable"),
    ] {
        let (port, heard) = impostor(says).await;
        let error = read(database("127.0.0.1", port, Some(password.clone()), Tls::Off)).await.unwrap_err();
        assert_eq!(error.failure().as_str(), reason, "{says:?}: {error}");
        assert!(!error.to_string().to_lowercase().contains("planted"), "{error}");
        let heard = heard.await.unwrap();
        assert!(!heard.windows(7).any(|part| part == b"planted"));
    }
}

#[tokio::test]
async fn without_a_password_or_a_user_it_is_told_what_is_missing() {
    let (port, _heard) = impostor(&[CLEARTEXT]).await;
    let error = read(database("127.0.0.1", port, None, Tls::Off)).await.unwrap_err();
    assert!(error.to_string().contains("`password_file`"), "{error}");
    let mut nobody = database("127.0.0.1", port, None, Tls::Off);
    nobody.server.user = None;
    assert!(read(nobody).await.unwrap_err().to_string().contains("names no user"));
}
