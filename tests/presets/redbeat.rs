//! RedBeat: a lock that beat extends with each tick, and a schedule whose lowest score it moves.

use lease_exporter::lease::Anomaly;
use lease_exporter::preset::Preset;

use super::servers::{self, Keyspace};
use super::source_reader::{SourceReader, configuration};

/// The keys of a RedBeat instance.
struct Beat {
    keys: Keyspace,
    prefix: &'static str,
}

/// A short `stall_after`, so that the test can wait for it.
const SHORT: &str = "stall_after: 1s";

impl Beat {
    fn new(prefix: &'static str) -> Self {
        Self { keys: servers::redis().keyspace(), prefix }
    }

    fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.prefix)
    }

    /// Writes the lock with a TTL in seconds, or without one.
    fn lock(&self, left: Option<u32>) {
        let (key, left) = (self.key("lock"), left.map(|left| left.to_string()));
        let mut words = vec!["SET", &key, "903ff3bcec5911f1978602fc00000001"];
        if let Some(left) = &left {
            words.extend(["EX", left]);
        }
        self.keys.command(&words);
    }

    /// Writes an entry of the schedule that is due in some seconds.
    fn due_in(&self, entry: &str, seconds: i64) {
        let now: i64 = self.keys.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
        self.keys.command(&["ZADD", &self.key("schedule"), &(now + seconds).to_string(), entry]);
    }

    fn reader(&self, source: &str, limits: &str) -> SourceReader {
        let file = format!("defaults: {{ {limits} }}");
        SourceReader::at(&configuration("redbeat", self.keys.url(), self.keys.password_file(), source, &file))
    }
}

#[test]
fn without_a_lock_nobody_leads_whatever_is_due() {
    let beat = Beat::new("redbeat:");
    assert_eq!(beat.reader("", SHORT).says("app"), "no_leader absent");
    beat.due_in("redbeat:tick", -600);
    assert_eq!(beat.reader("", SHORT).says("app"), "no_leader absent");
}

#[test]
fn beat_that_reschedules_its_entries_is_active_whatever_is_queued() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(1_490));
    beat.due_in("redbeat:tick-every-5s", 1);
    beat.due_in("redbeat:celery.backend_cleanup", 10_000);
    for message in 0..12 {
        beat.keys.command(&["LPUSH", "celery", &message.to_string()]);
    }
    let mut reader = beat.reader("", "stall_after: 5m");
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "nothing was watched before");
    beat.due_in("redbeat:tick-every-5s", 5);
    assert_eq!(reader.says("app"), "active progressing");
}

/// Changes of the schedule other than moving its first entry.
#[test]
fn stuck_beat_stays_stalled_whatever_is_added_removed_or_deleted() {
    let beat = Beat::new("redbeat:");
    let schedule = beat.key("schedule");
    beat.lock(Some(1_490));
    beat.due_in("redbeat:stuck", -600);
    beat.due_in("redbeat:stuck-too", -300);
    let mut reader = beat.reader("", "stall_after: 5m");
    assert_eq!(reader.says("app"), "unknown not_observed_yet");
    beat.due_in("redbeat:once", -900);
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "an earlier one was put in");
    beat.keys.command(&["ZREM", &schedule, "redbeat:once"]);
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "and taken out");
    beat.keys.command(&["ZREM", &schedule, "redbeat:stuck"]);
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "the stuck one was deleted");
    beat.keys.command(&["DEL", &schedule]);
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "all of them were");
    beat.due_in("redbeat:stuck", -600);
    assert_eq!(reader.says("app"), "unknown not_observed_yet", "and came back");
    beat.due_in("redbeat:stuck", 5);
    assert_eq!(reader.says("app"), "active progressing", "until it is put off");
}

#[test]
fn a_beat_that_neither_extends_its_lock_nor_puts_its_entries_off_is_stalled_case_27() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(900));
    beat.due_in("redbeat:tick-every-5s", -600);
    let mut reader = beat.reader("", SHORT);
    assert_eq!(reader.says("app"), "unknown not_observed_yet");
    reader.until("app", "stalled no_progress");
}

#[test]
fn a_beat_that_extends_its_lock_and_nothing_else_is_stalled() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(1_500));
    beat.due_in("redbeat:tick-every-5s", -600);
    let mut reader = beat.reader("", SHORT);
    reader.says("app");
    beat.lock(Some(1_500));
    reader.until("app", "stalled no_progress");
    beat.lock(Some(1_500));
    assert_eq!(reader.says("app"), "stalled no_progress");
}

#[test]
fn a_lock_without_an_end_is_stalled_and_an_anomaly_case_53() {
    let beat = Beat::new("redbeat:");
    beat.lock(None);
    beat.due_in("redbeat:daily", -86_400);
    let mut reader = beat.reader("", SHORT);
    reader.until("app", "stalled no_progress");
    let snapshot = reader.look().unwrap();
    assert_eq!(snapshot.leases[0].anomalies.get(Anomaly::NoTtl), 1);
}

#[test]
fn a_beat_with_nothing_due_is_idle() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(1_400));
    beat.due_in("redbeat:daily", 80_000);
    beat.reader("", SHORT).until("app", "idle nothing_due");
}

#[test]
fn a_renewal_is_dated_by_the_locks_timeout() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(20));
    let snapshot = beat.reader("parameters: { lock_timeout: 25s }", SHORT).look().unwrap();
    let age = snapshot.leases[0].holder().unwrap().renewed.age.lower().as_secs();
    assert!((4..15).contains(&age), "{age}");
}

#[test]
fn keys_may_have_another_prefix() {
    let beat = Beat::new("app:beat:");
    beat.lock(Some(1_400));
    beat.due_in("app:beat:daily", 80_000);
    assert_eq!(beat.reader("", SHORT).says("app"), "no_leader absent");
    beat.reader("parameters: { key_prefix: 'app:beat:' }", SHORT).until("app", "idle nothing_due");
}

#[test]
fn keys_of_other_types_are_neither_locks_nor_schedules() {
    let beat = Beat::new("redbeat:");
    beat.keys.command(&["LPUSH", "redbeat::lock", "x"]);
    let mut reader = beat.reader("", SHORT);
    assert_eq!(reader.says("app"), "unknown invalid_record");
    beat.keys.command(&["DEL", "redbeat::lock"]);
    beat.lock(Some(1_400));
    beat.keys.command(&["SET", "redbeat::schedule", "x"]);
    assert_eq!(reader.says("app"), "unknown invalid_record");
}

#[test]
fn the_rights_that_the_preset_prints_are_enough_and_no_key_of_others_is_among_them() {
    let beat = Beat::new("redbeat:");
    beat.lock(Some(1_400));
    beat.due_in("redbeat:daily", 80_000);
    let [view] = Preset::named("redbeat").unwrap().with([]).views("redis").try_into().unwrap();
    let password = format!(">{}", beat.keys.password());
    let words = view.grants.split_whitespace().map(|word| match word {
        "lease_exporter" => beat.keys.reader(),
        ">PASSWORD" => &password,
        word => word,
    });
    let words: Vec<&str> = words.collect();
    let rights = words.iter().filter(|word| word.starts_with('+'));
    // Redis 7 returns the expiry of a key; earlier versions return the remaining TTL only.
    for left_out in rights.filter(|right| **right != "+pttl") {
        beat.keys.command(&["ACL", "SETUSER", beat.keys.reader(), "reset"]);
        let fewer: Vec<&str> = words.iter().copied().filter(|word| word != left_out).collect();
        beat.keys.command(&fewer);
        assert!(beat.reader("", SHORT).look().is_err(), "without {left_out}");
    }
    beat.keys.command(&["ACL", "SETUSER", beat.keys.reader(), "reset"]);
    beat.keys.command(&words);
    beat.reader("", SHORT).until("app", "idle nothing_due");
    let may = beat.keys.command(&["ACL", "DRYRUN", beat.keys.reader(), "GET", "another"]);
    assert!(may.contains("no permissions"), "{may}");
}
