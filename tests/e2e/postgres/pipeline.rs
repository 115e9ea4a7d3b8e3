//! The statements that are sent together: a statement after one that failed is never run.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use test_support::{Database, Kind, Server};

use super::refused;
use crate::harness::store::folder;
use crate::servers;

/// A source that reads as the owner, who may write, at another address of the server.
fn config(database: &Database, address: SocketAddr, query: &str) -> String {
    let owner = database.owner();
    let file = owner.password_file().display();
    format!(
        "sources:\n  - name: own\n    store: postgres://{}@{address}/{}\n    password_file: {file}\n    query: |-\n      {query}\n",
        owner.name(),
        database.name()
    )
}

/// A proxy to the server that replaces a text in what a client sends by another of the same length.
fn replacing(server: &Server, from: &str, to: &str) -> SocketAddr {
    let to = format!("{to:width$}", width = from.len());
    assert_eq!(from.len(), to.len(), "a message announces its length");
    let (server, from) = (server.address(), from.to_owned());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut upstream) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let (mut responses, mut receiver) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut responses, &mut receiver));
            let (from, to) = (from.clone(), to.clone());
            thread::spawn(move || {
                // A pipeline is written at once, so it arrives in one piece or in few.
                let mut buffer = [0; 64 * 1024];
                while let Ok(length @ 1..) = client.read(&mut buffer) {
                    let mut message = buffer[..length].to_vec();
                    while let Some(at) = message.windows(from.len()).position(|part| part == from.as_bytes()) {
                        message[at..at + from.len()].copy_from_slice(to.as_bytes());
                    }
                    if upstream.write_all(&message).is_err() {
                        break;
                    }
                }
                let _ = upstream.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    address
}

#[test]
fn the_query_does_not_run_if_a_statement_before_it_fails() {
    const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
    let folder = folder();
    let (server, database) = (servers::postgres(), servers::postgres().database());
    database.execute("CREATE TABLE job (name text)");
    // It must be writable, or the test would prove nothing.
    database.execute(&format!("ALTER TABLE job OWNER TO {}", database.owner().name()));
    let query = "INSERT INTO job VALUES ('planted') RETURNING now() AS store_now";
    for (from, to, reason) in [
        (BEGIN, "BEGIN NONSENSE", "schema_mismatch"),
        (BEGIN, "SELECT 1/0", "invalid_record"),
        ("SET LOCAL jit = off", "SET LOCAL jit_ = no", "schema_mismatch"),
        ("SET LOCAL jit = off", "SET LOCAL jit = xyz", "invalid_record"),
        // All of them succeed, and the transaction is read-only.
        ("SET LOCAL jit = off", "SET LOCAL jit = off", "schema_mismatch"),
    ] {
        let address = if from == to { server.address() } else { replacing(server, from, to) };
        let line = refused(folder.path(), &config(&database, address, query));
        assert!(line.contains(reason), "{to}: {line}");
        assert_eq!(database.query("SELECT count(*) FROM job"), "0", "{to}: {line}");
    }
}

/// A setting that such a statement changed would stay for the next client of a pooler.
#[test]
fn a_statement_that_returns_no_columns_is_never_run() {
    let folder = folder();
    let server = Server::start(Kind::Postgres, &["log_statement=all"]);
    let database = server.database();
    for sql in
        ["SET application_name = 'planted'", "commit", "COPY pg_class TO STDOUT", "LISTEN planted", ";", "-- none"]
    {
        let line = refused(folder.path(), &config(&database, server.address(), sql));
        assert!(line.contains("returns nothing"), "{sql}: {line}");
    }
    let log = server.log();
    // The statements of the exporter itself are logged as they run, and these would be.
    assert!(log.contains("execute <unnamed>: BEGIN"), "{log}");
    for sql in ["SET application_name", "commit", "COPY pg_class", "LISTEN"] {
        assert!(!log.contains(&format!("execute <unnamed>: {sql}")), "{sql}: {log}");
    }
}
