//! Keys with extreme or invalid values. Each affects only its own lease.

use super::{KINDS, Keys, SOURCE, each, known, says};
use crate::harness::store::folder;
use crate::harness::{Metrics, promtool};
use crate::servers::{Server, wanted};

const HASHES: &str = "hash: \"lease:*\"";

const SOUND: [(&str, &str); 10] = [
    ("holder", "someone"),
    ("epoch", "7"),
    ("acquired_at", "@-100"),
    ("renewed_at", "@-1"),
    ("expires_at", "@600"),
    ("progress_at", "@-2"),
    ("progress_epoch", "7"),
    ("progress_cursor", "41"),
    ("due", "3"),
    ("oldest_due_at", "@-1"),
];

/// Writes a hash that is valid except for one field, which may be missing.
fn put(keys: &Keys, lease: &str, field: &str, value: Option<&[u8]>) {
    let words = SOUND.iter().filter(|(name, _)| *name != field).map(|(name, value)| format!("{name} {value}"));
    keys.give(&[&format!("HSET lease:{lease} {}", words.collect::<Vec<_>>().join(" "))]);
    if let Some(value) = value {
        keys.give_words(&[b"HSET", format!("lease:{lease}").as_bytes(), field.as_bytes(), value]);
    }
}

fn rejected(metrics: &Metrics, reason: &str) -> f64 {
    metrics.counted("lease_source_rows_rejected_total", SOURCE, reason)
}

#[test]
fn invalid_field_affects_only_its_own_lease_and_is_counted() {
    let long = [b'x'; 65_536];
    let cases: [(&str, &str, &[u8], &str); 16] = [
        ("negative-epoch", "epoch", b"-1", "unreadable"),
        ("epoch-with-a-fraction", "epoch", b"1.5", "unreadable"),
        ("epoch-beyond-64-bits", "epoch", b"18446744073709551616", "unreadable"),
        ("infinite-renewal", "renewed_at", b"inf", "out_of_range"),
        ("renewal-before-all-time", "renewed_at", b"-inf", "out_of_range"),
        ("renewal-that-is-none", "renewed_at", b"nan", "out_of_range"),
        ("milliseconds", "expires_at", b"1796000000000", "out_of_range"),
        ("words", "acquired_at", b"soon", "unreadable"),
        ("empty-time", "progress_at", b"", "unreadable"),
        ("bytes", "holder", b"\xff\xfe planted", "unreadable"),
        ("holder-of-64-KiB", "holder", &long, "name_too_long"),
        ("cursor-of-64-KiB", "progress_cursor", &long, "out_of_range"),
        ("cursor-of-bytes", "progress_cursor", b"\xc3\x28", "unreadable"),
        ("negative-due", "due", b"-5", "unreadable"),
        ("no-time-to-live", "ttl_seconds", b"0", "out_of_range"),
        ("endless-time-to-live", "ttl_seconds", b"inf", "out_of_range"),
    ];
    for keys in each() {
        put(&keys, "sound", "", None);
        for (lease, field, value, _) in cases {
            put(&keys, lease, field, Some(value));
        }
        keys.give(&["SET lease:string planted", "RPUSH lease:list planted", "ZADD lease:set 1 planted"]);
        let exporter = keys.exporter(HASHES);
        let metrics = exporter.scrape();
        assert_eq!(says(&metrics, "sound"), ("active", "progressing"));
        for (lease, ..) in cases {
            assert_eq!(says(&metrics, lease), ("unknown", "invalid_record"), "{lease}");
            assert_eq!(metrics.of("lease_epoch", SOURCE, lease), None, "{lease}: part of a bad record is shown");
        }
        for reason in ["out_of_range", "unreadable", "name_too_long"] {
            let expected = cases.iter().filter(|(.., counted)| *counted == reason).count();
            assert_eq!(rejected(&metrics, reason), expected as f64, "{reason}");
        }
        assert_eq!(rejected(&metrics, "wrong_type"), 3.0);
        assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0));
        assert!(!metrics.text().contains("planted"));
        promtool::accepts(metrics.text());
        for (lease, field, ..) in cases {
            let sound = SOUND.iter().find(|(name, _)| *name == field).map_or("700", |(_, value)| *value);
            keys.give(&[&format!("HSET lease:{lease} {field} {sound}")]);
        }
        let metrics = exporter.scrape();
        for (lease, ..) in cases {
            assert_eq!(says(&metrics, lease), ("active", "progressing"), "{lease}, put right");
        }
        assert!(!exporter.log().contains("planted"));
    }
}

/// The protocol cannot request a part of a field.
#[test]
fn field_of_megabytes_affects_only_its_own_lease_and_is_not_kept_in_memory() {
    let megabytes = vec![b'x'; 32 << 20];
    for keys in each() {
        for (lease, field, value) in [
            ("sound", "", None),
            ("long-holder", "holder", Some(&megabytes[..])),
            ("long-due", "due", Some(&megabytes)),
        ] {
            put(&keys, lease, field, value);
        }
        let exporter = keys.exporter(HASHES);
        let metrics = exporter.scrape();
        assert_eq!(says(&metrics, "sound"), ("active", "progressing"));
        for lease in ["long-holder", "long-due"] {
            assert_eq!(says(&metrics, lease), ("unknown", "invalid_record"), "{lease}");
        }
        assert_eq!((rejected(&metrics, "name_too_long"), rejected(&metrics, "unreadable")), (1.0, 1.0));
        let peak =
            std::fs::read_to_string(format!("/proc/{}/status", exporter.process().pid().as_raw_nonzero())).unwrap();
        let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
        assert!(peak.parse::<u64>().unwrap() < 80 * 1024, "{peak} KiB");
    }
}

#[test]
fn unusual_but_possible_values_are_shown_unchanged() {
    for keys in each() {
        for epoch in ["9007199254740993", "9223372036854775807", "18446744073709551615", "0"] {
            put(&keys, epoch, "epoch", Some(epoch.as_bytes()));
            keys.give(&[&format!("HSET lease:{epoch} progress_epoch {epoch}")]);
        }
        put(&keys, "before-1970", "progress_at", Some(b"-14182940"));
        put(&keys, "tomorrow", "", None);
        keys.give(&["HSET lease:tomorrow renewed_at @86400 expires_at @172800"]);
        for field in ["holder", "epoch", "renewed_at", "progress_at", "progress_epoch", "due", "oldest_due_at"] {
            put(&keys, &format!("no-{field}"), field, None);
        }
        keys.give_words(&[b"HSET", "lease:control \u{1b}[31m and \n line".as_bytes(), b"holder", b"h", b"due", b"0"]);
        let metrics = keys.scrape(HASHES);
        for epoch in ["9007199254740993", "9223372036854775807", "18446744073709551615", "0"] {
            assert_eq!(metrics.text_of("lease_epoch", &[("source", SOURCE), ("lease", epoch)]), Some(epoch));
            assert_eq!(says(&metrics, epoch), ("active", "progressing"), "{epoch}");
        }
        assert_eq!(says(&metrics, "before-1970"), ("unknown", "invalid_record"), "no lease is older than Unix");
        assert_eq!(says(&metrics, "tomorrow"), ("unknown", "clock_skew"));
        assert_eq!(says(&metrics, "no-holder"), ("no_leader", "released"));
        assert_eq!(metrics.of("lease_due", SOURCE, "no-due"), None, "what is not known is not 0");
        assert!(metrics.leases(SOURCE).iter().any(|lease| lease.contains("control")));
        promtool::accepts(metrics.text());
    }
}

#[test]
fn keys_that_no_lease_can_be_named_after_are_counted() {
    for keys in each() {
        let long = [b"lock:".as_slice(), &[b'x'; 65_536]].concat();
        for key in [b"lock:\xff\xfeplanted".as_slice(), &long, b"lock:", b"lock:sound"] {
            keys.give_words(&[b"SET", key, b"h", b"PX", b"600000"]);
        }
        let metrics = keys.scrape("lock: \"lock:*\"");
        assert_eq!(metrics.leases(SOURCE), ["sound"]);
        for reason in ["unreadable", "name_too_long", "no_name"] {
            assert_eq!(rejected(&metrics, reason), 1.0, "{reason}");
        }
        assert!(!metrics.text().contains("planted"));
    }
}

/// A hash is no lease only because its key matches the pattern.
#[test]
fn unrelated_hash_is_not_a_vacant_lease() {
    for keys in each() {
        keys.give(&["HSET lease:settings colour planted", "HSET lease:released epoch 7", "HSET lease:empty holder h"]);
        keys.give_words(&[b"HSET", b"lease:empty", b"holder", b""]);
        let metrics = keys.scrape(HASHES);
        assert_eq!(says(&metrics, "settings"), ("unknown", "invalid_record"));
        assert_eq!(says(&metrics, "released"), ("no_leader", "released"));
        assert_eq!(says(&metrics, "empty"), ("no_leader", "absent"));
        assert_eq!(rejected(&metrics, "wrong_type"), 1.0);
    }
}

#[test]
fn lock_with_an_impossible_ttl_is_reported_and_is_not_clock_skew() {
    for keys in each() {
        keys.give(&["SET lock:right h PX 25000", "SET lock:longer h EX 300", "SET lock:endless h"]);
        keys.give(&["SET lock:year-10000 h", "PEXPIREAT lock:year-10000 253402300800000"]);
        let metrics = keys.scrape("lock: \"lock:*\", ttl: 30s");
        assert!((5.0..20.0).contains(&known(&metrics, "lease_age_seconds", "right")));
        for lease in ["longer", "year-10000"] {
            assert_eq!(says(&metrics, lease), ("unknown", "invalid_record"), "{lease}");
        }
        assert_eq!(rejected(&metrics, "out_of_range"), 2.0);
        let anomalies =
            |lease, anomaly| metrics.value("lease_anomalies_total", &[("lease", lease), ("anomaly", anomaly)]);
        assert_eq!(anomalies("longer", "clock_skew"), Some(0.0));
        assert_eq!(anomalies("year-10000", "no_ttl"), Some(0.0));
        assert_eq!(anomalies("endless", "no_ttl"), Some(1.0));
    }
}

#[test]
fn a_huge_value_is_not_read_to_its_end() {
    for kind in wanted(&KINDS) {
        let server = Server::start(kind, &[]);
        let keys = Keys { folder: folder(), keyspace: server.keyspace() };
        keys.give(&["SETRANGE lock:huge 50000000 x", "PEXPIRE lock:huge 600000", "SET lock:sound h PX 600000"]);
        keys.give(&["SET lock:counted h PX 600000", "SETRANGE lock:counted:fence 50000000 1"]);
        let sent = || -> u64 {
            let stats = keys.keyspace.command(&["INFO", "stats"]);
            let line = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
            line.unwrap().trim().parse().unwrap()
        };
        let before = sent();
        let metrics = keys.scrape("lock: \"lock:*\", epoch: \"{key}:fence\"");
        assert!(sent() - before < 1_000_000, "{} bytes", sent() - before);
        assert_eq!(says(&metrics, "huge"), ("unknown", "invalid_record"));
        assert_eq!(says(&metrics, "counted"), ("unknown", "invalid_record"));
        assert_eq!((rejected(&metrics, "name_too_long"), rejected(&metrics, "unreadable")), (1.0, 1.0));
        assert_eq!(metrics.of("lease_epoch", SOURCE, "sound"), None, "a counter that is not there");
        assert_eq!(metrics.value("lease_authority_state", &[("lease", "sound"), ("state", "held")]), Some(1.0));
    }
}

#[test]
fn invalid_related_keys_affect_only_their_own_lock() {
    let layout = "lock: \"lock:*\", epoch: \"{key}:fence\", progress: \"{key}:progress\", fields: [progress_at], \
        due_set: \"{key}:due\"";
    for keys in each() {
        for lease in ["sound", "fence-of-words", "fence-list", "progress-string", "due-string", "due-in-ms", "nameless"]
        {
            keys.give(&[
                &format!("SET lock:{lease} someone PX 600000"),
                &format!("SET lock:{lease}:fence 3"),
                &format!("HSET lock:{lease}:progress progress_at @-1"),
                &format!("ZADD lock:{lease}:due @-5 a"),
            ]);
        }
        keys.give_words(&[b"SET", b"lock:nameless", b"", b"PX", b"600000"]);
        keys.give(&[
            "SET lock:fence-of-words:fence three",
            "DEL lock:fence-list:fence lock:progress-string:progress lock:due-string:due lock:due-in-ms:due",
            "RPUSH lock:fence-list:fence 3",
            "SET lock:progress-string:progress planted",
            "SET lock:due-string:due planted",
            "ZADD lock:due-in-ms:due 1796000000000 a",
            "SET lock:never-due someone PX 600000",
            "ZADD lock:never-due:due inf a",
            "RPUSH lock:list planted",
        ]);
        let metrics = keys.scrape(layout);
        assert_eq!(known(&metrics, "lease_epoch", "sound"), 3.0);
        assert_eq!(known(&metrics, "lease_due", "never-due"), 0.0);
        for lease in ["fence-of-words", "fence-list", "progress-string", "due-string", "due-in-ms", "nameless", "list"]
        {
            assert_eq!(says(&metrics, lease), ("unknown", "invalid_record"), "{lease}");
        }
        assert_eq!(rejected(&metrics, "wrong_type"), 4.0);
        assert!(!metrics.text().contains("planted"));
    }
}
