//! A thousand failed scrapes leave no file, connection or thread behind.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use super::{mariadb, postgres, redis};
use crate::harness::proxy::{Behaviour, End, Place, Proxy};
use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, eventually};
use crate::server_faults::backend::{HOLDER, LEASE};
use crate::servers::{self, Database, Keyspace, Kind};

/// Short, so that a thousand scrapes take less than a minute, and long enough for a response on an idle machine.
const TIMEOUT: &str = "40ms";

/// The stores that are read.
const BEHAVIOURS: [(&str, Behaviour); 6] = [
    ("mute", Behaviour::Mute),
    ("trickle", Behaviour::Trickle),
    ("reset", Behaviour::Cut(Place::Within(HOLDER), End::Reset)),
    ("finished", Behaviour::Cut(Place::After(20), End::Finished)),
    ("refuse", Behaviour::Refuse),
    ("black-hole", Behaviour::BlackHole),
];

/// A database or keyspace with the lease. The connections of its reader can be counted.
enum Stored {
    Database(Database),
    Keyspace(Keyspace),
}

impl Stored {
    fn in_every_kind() -> Vec<(Self, SocketAddr)> {
        let mut stored = Vec::new();
        if !Kind::Postgres.is_left_out() {
            let database = servers::postgres().database();
            database.execute(&postgres::table());
            stored.push((Self::Database(database), servers::postgres().address()));
        }
        if !Kind::MariaDb.is_left_out() {
            let database = servers::mariadb().database();
            database.execute(&mariadb::table());
            stored.push((Self::Database(database), servers::mariadb().address()));
        }
        if !Kind::Redis.is_left_out() {
            let keyspace = servers::redis().keyspace();
            redis::put_lease(&keyspace);
            stored.push((Self::Keyspace(keyspace), servers::redis().address()));
        }
        stored
    }

    fn source(&self, name: &str, address: SocketAddr) -> String {
        match self {
            Self::Database(database) => postgres::source(database, name, address, TIMEOUT, query_of(database)),
            Self::Keyspace(keyspace) => redis::source(keyspace, name, address, TIMEOUT),
        }
    }

    /// Sources with wrong credentials, invalid queries and slow queries.
    fn refused(&self, at: usize, address: SocketAddr, wrong: &str) -> Vec<(String, String)> {
        let named = |fault: &str| format!("{fault}-{at}");
        let name = named("password");
        let right = match self {
            Self::Database(database) => database.password_file(),
            Self::Keyspace(keyspace) => keyspace.password_file(),
        };
        let yaml = self.source(&name, address).replace(right.to_str().unwrap(), wrong);
        let mut sources = vec![(name, yaml)];
        if let Self::Database(database) = self {
            let query = query_of(database);
            let slow = if database.kind() == Kind::Postgres { "pg_sleep(60)" } else { "SLEEP(60)" };
            for (fault, query) in
                [("table", query.replace("JOIN lease", "JOIN elsewhere")), ("slow", format!("SELECT {slow}"))]
            {
                let name = named(fault);
                let yaml = postgres::source(database, &name, address, TIMEOUT, &query);
                sources.push((name, yaml));
            }
        }
        sources
    }

    fn connections(&self) -> usize {
        match self {
            Self::Database(database) if database.kind() == Kind::Postgres => postgres::connections(database),
            Self::Database(database) => mariadb::connections(database),
            Self::Keyspace(keyspace) => redis::connections(keyspace),
        }
    }
}

fn query_of(database: &Database) -> &'static str {
    if database.kind() == Kind::Postgres { postgres::QUERY } else { mariadb::QUERY }
}

#[test]
fn a_thousand_faulty_scrapes_leave_no_file_no_connection_and_no_thread_behind() {
    let folder = folder();
    let wrong = folder.path().join("wrong-password");
    fs::write(&wrong, "not-the-password").unwrap();
    let stored = Stored::in_every_kind();
    let mut proxies = Vec::new();
    let mut sources = Vec::new();
    for (at, (stored, address)) in stored.iter().enumerate() {
        for (behaviour, chosen) in BEHAVIOURS {
            let proxy = Proxy::to(*address);
            proxy.choose(chosen);
            let name = format!("{behaviour}-{at}");
            sources.push((name.clone(), stored.source(&name, proxy.address())));
            proxies.push((name, proxy));
        }
        sources.extend(stored.refused(at, *address, wrong.to_str().unwrap()));
    }
    let yaml: String = sources.iter().map(|(_, yaml)| yaml.as_str()).collect();
    let exporter = Exporter::start(folder.path(), &format!("sources:\n{yaml}defaults: {{ stall_after: 1h }}\n"));
    let resources = |metrics: &Metrics| {
        ["process_open_fds", "process_threads", "process_resident_memory_bytes"]
            .map(|name| metrics.value(name, &[]).unwrap())
    };
    for _ in 0..50 {
        exporter.scrape();
    }
    let [files, _, memory] = at_rest(&exporter, resources);
    for _ in 0..1_000 {
        let metrics = exporter.scrape();
        for (source, _) in &sources {
            assert_eq!(metrics.source("lease_source_up", source), Some(0.0), "{source}");
        }
    }
    // Failed attempts to connect are fewer than scrapes, because the exporter pauses between attempts.
    for (name, proxy) in &proxies {
        let least = match name.split('-').next() {
            // The pause is at most 0.4 s, and a thousand scrapes take tens of seconds.
            Some("reset") => 30,
            Some("refuse" | "black") => 0,
            _ => 3,
        };
        assert!(proxy.accepted() >= least, "{} attempts at {name}", proxy.accepted());
    }
    // A closed connection may be counted for a moment.
    eventually("as few open files as before", || {
        let [files_now, threads, memory_now] = at_rest(&exporter, resources);
        // Idle threads end after a minute. There may be one rendering thread for each source.
        assert!(threads <= 50.0, "{threads} threads");
        assert!(memory_now < memory + 16e6, "{memory} bytes have become {memory_now}");
        (files_now <= files).then_some(())
    });
    for (name, proxy) in &proxies {
        eventually(&format!("no connection through {name}"), || (proxy.open() == 0).then_some(()));
    }
    for (stored, _) in &stored {
        eventually("no connection at the server", || (stored.connections() == 0).then_some(()));
    }
    for (_, proxy) in &proxies {
        proxy.choose(Behaviour::Pass);
    }
    for (name, _) in &proxies {
        exporter.until(name, LEASE, "active", "progressing");
    }
}

/// The resource usage without requests. What a scrape has started ends at its timeout.
fn at_rest(exporter: &Exporter, resources: impl Fn(&Metrics) -> [f64; 3]) -> [f64; 3] {
    std::thread::sleep(Duration::from_millis(200));
    resources(&exporter.scrape())
}
