//! The cost of a reading for the server, and the connections that stay open.

use std::time::Duration;

use super::{KINDS, Keys, SOURCE, config, each};
use crate::harness::store::folder;
use crate::harness::{Exporter, eventually};
use crate::servers::{Server, wanted};

/// The number of calls of a command at the server.
fn calls(keys: &Keys, command: &str) -> u64 {
    let stats = keys.keyspace.command(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

#[test]
fn ten_thousand_leases_are_one_transaction_without_the_keys_command() {
    for kind in wanted(&KINDS) {
        let server = Server::start(kind, &[]);
        let keys = Keys { folder: folder(), keyspace: server.keyspace() };
        keys.keyspace.command(&[
            "EVAL",
            "for n = 1, 10000 do redis.call('SET', 'lock:' .. n, 'h', 'PX', 600000) end",
            "0",
        ]);
        let exporter = keys.exporter("lock: \"lock:*\", ttl: 600s");
        let metrics = exporter.scrape();
        assert_eq!(metrics.leases(SOURCE).len(), 10_000);
        assert_eq!((calls(&keys, "exec"), calls(&keys, "keys")), (1, 0));
        assert!(calls(&keys, "scan") >= 10, "in steps that let others in between");
        assert_eq!(calls(&keys, "pexpiretime"), 10_000);
    }
}

/// Counted at the server: one reading is one transaction.
#[test]
fn sixteen_scrapers_cause_one_read_per_reuse() {
    for kind in wanted(&KINDS) {
        let server = Server::start(kind, &[]);
        let keys = Keys { folder: folder(), keyspace: server.keyspace() };
        keys.give(&["SET lock:a someone PX 600000"]);
        let yaml = config(&keys.keyspace, "", "lock: \"lock:*\"").replace("reuse_for: 0s", "reuse_for: 1m");
        let exporter = Exporter::start(keys.folder.path(), &yaml);
        for replies in [exporter.get_at_once("/metrics", 16), exporter.get_at_once("/metrics", 16)] {
            assert!(replies.iter().all(|reply| reply.status == 200 && reply.body.contains("lease=\"a\"")));
        }
        assert_eq!(calls(&keys, "exec"), 1);
    }
}

/// An abandoned connection is closed although its reply never came. Otherwise the waiting task would stay.
#[test]
fn no_connection_is_left_at_a_server_that_does_not_answer() {
    for kind in wanted(&KINDS) {
        let server = Server::start(kind, &[]);
        let keys = Keys { folder: folder(), keyspace: server.keyspace() };
        keys.give(&["SET lock:a someone PX 600000"]);
        let yaml = config(&keys.keyspace, "timeout: 200ms", "lock: \"lock:*\"");
        let exporter = Exporter::start(keys.folder.path(), &yaml);
        let up = || exporter.scrape().source("lease_source_up", SOURCE);
        assert_eq!(up(), Some(1.0));
        let open = || exporter.scrape().value("process_open_fds", &[]).unwrap();
        let before = open();
        server.freeze();
        for _ in 0..20 {
            assert_eq!(up(), Some(0.0));
        }
        // One connection may be open for the present scrape.
        eventually("the sockets to be closed", || (open() <= before).then_some(()));
        server.thaw();
        let reader = format!("user={}", keys.keyspace.reader());
        eventually("one connection at the server", || {
            std::thread::sleep(Duration::from_millis(20));
            let connections = keys.keyspace.command(&["CLIENT", "LIST"]).matches(&reader).count();
            (up() == Some(1.0) && connections <= 1).then_some(())
        });
    }
}

#[test]
fn a_connection_that_the_server_has_ended_is_replaced_within_the_scrape() {
    for keys in each() {
        keys.give(&["SET lock:a someone PX 600000"]);
        let exporter = keys.exporter("lock: \"lock:*\"");
        for _ in 0..5 {
            assert_eq!(exporter.scrape().source("lease_source_up", SOURCE), Some(1.0));
            keys.keyspace.command(&["CLIENT", "KILL", "USER", keys.keyspace.reader()]);
        }
    }
}
