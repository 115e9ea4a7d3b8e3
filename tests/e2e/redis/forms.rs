//! The content of keys, and which keys are leases.

use super::{Keys, SOURCE, config, each, known, says, shared};
use crate::harness::Exporter;
use crate::servers::{Server, wanted};

const LOCKS: &str = "lock: \"lock:*\", ttl: 30s, epoch: \"{key}:fence\", progress: \"{key}:progress\", \
    fields: [progress_at, progress_epoch, progress_cursor], due_set: \"due:{name}\"";

#[test]
fn lock_with_counter_progress_and_sorted_set_gives_all_metrics() {
    for keys in each() {
        keys.give(&[
            "SET lock:a someone PX 25000",
            "SET lock:a:fence 9007199254740993",
            "HSET lock:a:progress progress_at @-1 progress_epoch 9007199254740993 progress_cursor 41",
            "ZADD due:a @-60 oldest @-30 older @600 later",
            "SET lock:stuck someone PX 25000",
            "SET lock:stuck:fence 7",
            "HSET lock:stuck:progress progress_at @-3600 progress_epoch 7",
            "ZADD due:stuck @-3600 oldest",
            "SET lock:idle someone PX 25000",
            "SET lock:idle:fence 7",
            "HSET lock:idle:progress progress_at @-3600 progress_epoch 7",
            "ZADD due:idle @600 later",
            "SET lock:gone:fence 12",
            "ZADD due:gone @-60 oldest",
        ]);
        let metrics = keys.scrape(LOCKS);
        assert_eq!(metrics.leases(SOURCE), ["a", "idle", "stuck"], "of what belongs to a lease none is one");
        assert_eq!(says(&metrics, "a"), ("active", "progressing"));
        assert_eq!(says(&metrics, "stuck"), ("stalled", "no_progress"));
        assert_eq!(says(&metrics, "idle"), ("idle", "nothing_due"));
        let labels = [("source", SOURCE), ("lease", "a")];
        assert_eq!(metrics.text_of("lease_epoch", &labels), Some("9007199254740993"));
        assert_eq!(known(&metrics, "lease_due", "a"), 2.0);
        assert!((59.0..75.0).contains(&known(&metrics, "lease_oldest_due_age_seconds", "a")));
        assert!((5.0..20.0).contains(&known(&metrics, "lease_age_seconds", "a")), "30 s less what is left");
        assert!((10.0..25.1).contains(&known(&metrics, "lease_expires_in_seconds", "a")));
        assert_eq!(known(&metrics, "lease_due", "idle"), 0.0);
        assert_eq!(metrics.of("lease_oldest_due_age_seconds", SOURCE, "idle"), None);
    }
}

#[test]
fn hash_gives_the_record_by_its_fields_and_the_expiry_by_its_ttl() {
    for keys in each() {
        keys.give(&[
            "HSET lease:whole holder h epoch 7 acquired_at @-100 renewed_at @-1 expires_at @600 progress_at @-2 \
             progress_epoch 7 progress_cursor 41 due 3 oldest_due_at @-1 other planted",
            "HSET lease:expired holder h epoch 7 renewed_at @-100 expires_at @-60",
            "HSET lease:released epoch 7",
            "HSET lease:lives holder h epoch 7 renewed_at @-1",
            "PEXPIRE lease:lives 50000",
        ]);
        let metrics = keys.scrape("hash: \"lease:*\"");
        assert_eq!(says(&metrics, "whole"), ("active", "progressing"));
        assert_eq!(known(&metrics, "lease_due", "whole"), 3.0);
        assert_eq!(says(&metrics, "expired"), ("no_leader", "expired"));
        assert_eq!(says(&metrics, "released"), ("no_leader", "released"));
        assert!((30.0..50.1).contains(&known(&metrics, "lease_expires_in_seconds", "lives")));
        let listed = keys.scrape("hash: \"lease:*\", fields: [holder, epoch], due_list: \"queue:{name}\"");
        assert_eq!(known(&listed, "lease_due", "whole"), 0.0);
        keys.give(&["RPUSH queue:whole a b"]);
        let listed = keys.scrape("hash: \"lease:*\", fields: [holder, epoch], due_list: \"queue:{name}\"");
        assert_eq!(known(&listed, "lease_due", "whole"), 2.0);
        assert_eq!(says(&listed, "whole"), ("unknown", "progress_not_reported"), "the fields that are not read");
        let anomalies = |lease| listed.value("lease_anomalies_total", &[("lease", lease), ("anomaly", "no_ttl")]);
        assert_eq!(
            (anomalies("whole"), anomalies("lives")),
            (Some(1.0), Some(0.0)),
            "now only a time to live would end it"
        );
    }
}

/// The keys of RedBeat: one lock, and a schedule whose lowest score is the next run.
#[test]
fn one_lock_is_named_like_its_source_and_the_lowest_score_is_its_progress() {
    for keys in each() {
        let redbeat = "lock: \"redbeat::lock\", ttl: 1500s, due_set: \"redbeat::schedule\", progress_by_due: true";
        let exporter = keys.exporter(redbeat);
        assert_eq!(says(&exporter.scrape(), SOURCE), ("no_leader", "absent"), "before there is any key");
        keys.give(&["ZADD redbeat::schedule @-120 redbeat:tick @5000 redbeat:nightly"]);
        let metrics = exporter.scrape();
        assert_eq!(says(&metrics, SOURCE), ("no_leader", "absent"));
        assert_eq!(known(&metrics, "lease_due", SOURCE), 1.0, "what is due is known though nobody holds the lock");
        keys.give(&["SET redbeat::lock 903ff3bcec5911f1978602fc00000001 PX 1500000"]);
        exporter.scrape();
        keys.give(&["ZADD redbeat::schedule @-1 redbeat:tick"]);
        let metrics = exporter.scrape();
        assert_eq!(says(&metrics, SOURCE), ("active", "progressing"), "the lowest score has moved");
        assert!(known(&metrics, "lease_age_seconds", SOURCE) < 30.0);
    }
}

#[test]
fn lock_without_ttl_is_held_forever_and_reported_once() {
    for keys in each() {
        keys.give(&["SET lock:a someone"]);
        let exporter = keys.exporter("lock: \"lock:*\", ttl: 30s");
        for _ in 0..2 {
            let metrics = exporter.scrape();
            assert_eq!(metrics.of("lease_expires_in_seconds", SOURCE, "a"), None);
            assert_eq!(metrics.value("lease_authority_state", &[("lease", "a"), ("state", "held")]), Some(1.0));
            let anomalies = [("lease", "a"), ("anomaly", "no_ttl")];
            assert_eq!(metrics.value("lease_anomalies_total", &anomalies), Some(1.0));
        }
    }
}

#[test]
fn other_patterns_name_a_lease_by_its_whole_key_and_reach_no_other_key() {
    for keys in each() {
        keys.give(&[
            "SET a:lock:1 h PX 60000",
            "SET b:lock:2 h PX 60000",
            "SET c:lock:3 h PX 60000",
            "SET [*] h PX 60000",
        ]);
        keys.give(&["SET a:lock:1:fence 5", "SET *other* h PX 60000"]);
        let metrics = keys.scrape("lock: \"[ab]:lock:*\", epoch: \"{key}:fence\"");
        assert_eq!(metrics.leases(SOURCE), ["a:lock:1", "b:lock:2"]);
        assert_eq!(known(&metrics, "lease_epoch", "a:lock:1"), 5.0);
        assert_eq!(keys.scrape("lock: \"\\\\[*\"").leases(SOURCE), ["[*]"]);
    }
}

#[test]
fn beyond_the_limit_the_first_by_name_are_kept_and_the_rest_counted() {
    for keys in each() {
        let locks: Vec<String> = (0..25).map(|n| format!("SET lock:{n:02} h PX 60000")).collect();
        keys.give(&locks.iter().map(String::as_str).collect::<Vec<_>>());
        let yaml = config(&keys.keyspace, "max_leases: 10", "lock: \"lock:*\"");
        let metrics = Exporter::start(keys.folder.path(), &yaml).scrape();
        assert_eq!(metrics.leases(SOURCE).len(), 10);
        assert!(metrics.leases(SOURCE).contains(&"09"));
        assert_eq!(metrics.counted("lease_source_rows_rejected_total", SOURCE, "over_limit"), 15.0);
    }
}

/// Two readings of a TTL are never exactly equal, which is no renewal. A server before Redis 7 returns only the
/// remaining TTL.
#[test]
fn only_a_renewal_counts_as_one_however_the_ttl_is_reported() {
    for kind in wanted(&super::KINDS) {
        let folder = crate::harness::store::folder();
        let renamed = folder.path().join("renamed.conf");
        std::fs::write(&renamed, "rename-command PEXPIRETIME \"\"\n").unwrap();
        let old = Server::start(kind, &[&format!("include={}", renamed.display())]);
        for server in [&old, shared(kind)] {
            let keys = Keys { folder: crate::harness::store::folder(), keyspace: server.keyspace() };
            let locks: Vec<String> = (0..450).map(|n| format!("SET lock:{n} h PX 600000")).collect();
            keys.give(&locks.iter().map(String::as_str).collect::<Vec<_>>());
            keys.give(&["HSET lock:7:progress progress_at @-1", "HSET lock:440:progress progress_at @-1"]);
            let exporter = keys.exporter("lock: \"lock:*\", ttl: 600s, progress: \"{key}:progress\"");
            for _ in 0..5 {
                let metrics = exporter.scrape();
                assert_eq!(metrics.leases(SOURCE).len(), 450);
                for lease in ["7", "440"] {
                    assert_eq!(known(&metrics, "lease_renewals_since_progress", lease), 0.0, "{lease}");
                    assert!((500.0..600.1).contains(&known(&metrics, "lease_expires_in_seconds", lease)));
                }
            }
            keys.give(&["PEXPIRE lock:440 601000"]);
            let metrics = exporter.scrape();
            assert_eq!(known(&metrics, "lease_renewals_since_progress", "440"), 1.0);
            assert_eq!(known(&metrics, "lease_renewals_since_progress", "7"), 0.0);
        }
    }
}
