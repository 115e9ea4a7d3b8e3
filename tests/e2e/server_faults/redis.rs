//! Redis and Valkey and their own faults.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::backend::{Backend, Fault, HOLDER, LEASE, idle_clients};
use crate::harness::eventually;
use crate::harness::proxy::Proxy;
use crate::servers::{Keyspace, Kind, Server};

pub(super) struct Redis {
    keyspace: Keyspace,
    server: Server,
    idle_clients: RefCell<Vec<TcpStream>>,
    script: RefCell<Option<UnixStream>>,
}

/// The rights of the reader.
const RIGHTS: [&str; 7] = ["+@read", "+@connection", "+@transaction", "-keys", "+time", "+info", "+role"];

/// Writes the lease into a keyspace as a hash.
pub(super) fn put_lease(keyspace: &Keyspace) {
    let now: u64 = keyspace.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
    let [acquired, now, expires] = [now - 9, now, now + 86_400].map(|time| time.to_string());
    keyspace.command(&[
        "HSET",
        &format!("lease:{LEASE}"),
        "holder",
        HOLDER,
        "epoch",
        "7",
        "acquired_at",
        &acquired,
        "renewed_at",
        &now,
        "expires_at",
        &expires,
        "progress_at",
        &now,
        "progress_epoch",
        "7",
        "due",
        "3",
    ]);
}

/// The configuration of a source that reads the lease at an address.
pub(crate) fn source(keyspace: &Keyspace, name: &str, address: SocketAddr, timeout: &str) -> String {
    format!(
        "  - name: {name}\n    store: redis://{}@{address}/{}\n    password_file: {}\n    timeout: {timeout}\n    \
         reuse_for: 0s\n    keys: {{ hash: \"lease:*\" }}\n",
        keyspace.reader(),
        keyspace.number(),
        keyspace.password_file().display(),
    )
}

/// The number of connections of the reader.
pub(crate) fn connections(keyspace: &Keyspace) -> usize {
    let reader = format!("user={} ", keyspace.reader());
    keyspace.command(&["CLIENT", "LIST"]).lines().filter(|client| client.contains(&reader)).count()
}

impl Redis {
    pub(super) fn start(kind: Kind) -> Self {
        let server = Server::start(kind, &["maxclients=20", "lua-time-limit=100"]);
        let keyspace = server.keyspace();
        put_lease(&keyspace);
        Self { keyspace, server, idle_clients: RefCell::default(), script: RefCell::default() }
    }

    fn clients(&self) -> usize {
        self.keyspace.command(&["CLIENT", "LIST"]).lines().count()
    }
}

impl Backend for Redis {
    fn server(&self) -> &Server {
        &self.server
    }

    fn source(&self, name: &str, address: SocketAddr, timeout: &str) -> String {
        source(&self.keyspace, name, address, timeout)
    }

    fn password(&self) -> (&Path, &str) {
        (self.keyspace.password_file(), self.keyspace.password())
    }

    fn kick(&self) {
        self.keyspace.command(&["CLIENT", "KILL", "USER", self.keyspace.reader()]);
    }

    fn connections(&self) -> usize {
        connections(&self.keyspace)
    }

    fn faults<'a>(&'a self, _: &'a Proxy) -> Vec<Fault<'a>> {
        let command = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            move || drop(self.keyspace.command(&words))
        };
        vec![
            Fault::of_server(
                "a revoked right",
                "store_refused",
                || self.keyspace.grant(&["+@connection", "+@transaction", "+time"]),
                || self.keyspace.grant(&RIGHTS),
            ),
            Fault::of_server(
                "a user that is gone",
                "store_refused",
                || drop(self.keyspace.command(&["ACL", "DELUSER", self.keyspace.reader()])),
                || self.keyspace.grant(&RIGHTS),
            ),
            Fault::of_server(
                "a replica",
                "store_refused",
                command(&["REPLICAOF", "127.0.0.1", "1"]),
                command(&["REPLICAOF", "NO", "ONE"]),
            ),
            Fault::of_server(
                "the connection limit",
                "store_refused",
                || {
                    self.kick();
                    *self.idle_clients.borrow_mut() = idle_clients(&self.server);
                },
                || {
                    self.idle_clients.borrow_mut().clear();
                    eventually("the idle clients to be gone", || (self.clients() <= 3).then_some(()));
                },
            ),
            Fault::of_server(
                "a script that runs on",
                "store_refused",
                || *self.script.borrow_mut() = Some(self.keyspace.begin(&["EVAL", "while true do end", "0"])),
                command(&["SCRIPT", "KILL"]),
            ),
        ]
    }
}
