//! The exporter works within the system call filter of the unit.

use std::any::Any;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::filter::Filters;
use crate::harness::exporter::configure;
use crate::harness::process::{Process, command};
use crate::harness::store::{STEADY, active, folder, reference};
use crate::harness::{Exporter, Metrics};
use crate::servers::{self, Kind};

/// Starts a process that the unit's filter holds for.
fn within(filters: &Filters, command: Command) -> Process {
    thread::scope(|scope| {
        let started = scope.spawn(|| {
            filters.apply();
            Process::start(command)
        });
        started.join().unwrap()
    })
}

/// Sources of every kind of store that the tests have, in one configuration.
struct Sources {
    yaml: String,
    names: Vec<&'static str>,
    /// What goes once nobody holds it.
    _stores: Vec<Box<dyn Any>>,
}

impl Sources {
    /// Those of files in this folder.
    fn of_files(folder: &Path) -> Self {
        let file = reference(&folder.join("scheduler.db"));
        file.execute_batch(&format!("PRAGMA journal_mode = WAL; {}", active("planner"))).unwrap();
        let mut yaml = "sources:\n  - { name: file, store: 'sqlite://scheduler.db', preset: reference }\n".to_owned();
        writeln!(yaml, "  - {{ name: query, store: 'sqlite://scheduler.db', query: \"{STEADY}\" }}").unwrap();
        Self { yaml, names: vec!["file", "query"], _stores: vec![Box::new(file)] }
    }

    /// One more of a server, by a name that has to be looked up.
    fn add(&mut self, kind: Kind, url: &str, password: &Path, reads: &str) {
        let (name, url, password) = (kind.name(), url.replace("127.0.0.1", "localhost"), password.display());
        writeln!(self.yaml, "  - name: {name}\n    store: {url}\n    password_file: {password}\n    {reads}").unwrap();
        self.names.push(name);
    }

    fn add_sql(&mut self, server: &servers::Server, reads: &str) {
        let database = server.database();
        self.add(server.kind(), database.url(), database.password_file(), reads);
        self._stores.push(Box::new(database));
    }

    fn add_keys(&mut self, server: &servers::Server, reads: &str) {
        let keyspace = server.keyspace();
        self.add(server.kind(), keyspace.url(), keyspace.password_file(), reads);
        self._stores.push(Box::new(keyspace));
    }

    fn are_up(&self, metrics: &Metrics) -> bool {
        self.names.iter().all(|name| metrics.text().contains(&format!("lease_source_up{{source=\"{name}\"}} 1")))
    }
}

#[test]
fn every_kind_of_store_is_read_within_the_services_filter() {
    let folder = folder();
    let mut sources = Sources::of_files(folder.path());
    for kind in servers::wanted(&[Kind::Postgres, Kind::MariaDb, Kind::Redis]) {
        match kind {
            Kind::Postgres => sources.add_sql(servers::postgres(), "query: SELECT clock_timestamp() AS store_now"),
            Kind::MariaDb => sources.add_sql(servers::mariadb(), "query: SELECT UTC_TIMESTAMP(6) AS store_now"),
            Kind::Redis | Kind::Valkey => sources.add_keys(servers::redis(), "keys: { lock: nobody }"),
        }
    }
    let config = format!("--config.file={}", configure(folder.path(), &sources.yaml).display());
    let exporter = command([config.as_str(), "--web.listen-address=127.0.0.1:0"]);
    let exporter = Exporter::started(within(&Filters::of_the_unit(), exporter));
    exporter.scrape_until("every source to be up", |metrics| sources.are_up(metrics));
    let metrics = exporter.until("file", "planner", "active", "progressing");
    for family in ["process_start_time_seconds", "process_open_fds", "process_resident_memory_bytes"] {
        assert!(metrics.text().contains(&format!("\n{family} ")), "no {family}");
    }
    assert_eq!(exporter.get("/").status, 200);
    assert_eq!(exporter.stop().code, Some(0));
}

#[test]
fn the_filter_of_these_tests_holds() {
    let mut nice = Command::new("nice");
    nice.args(["-n", "1", "true"]).env("LC_ALL", "C");
    let finished = within(&Filters::of_the_unit(), nice).finish();
    assert!(finished.stderr.contains("Operation not permitted"), "{}", finished.all());
}
