use std::time::Duration;

use proptest::prelude::*;
use redis::Value as Reply;

use super::*;
use crate::lease::{Column, Reading, RecordFault, StoreTime};
pub(super) use crate::store::redis::keys::tests::layout;
use connection::canned_server::{CannedServer, at_once};
use request::LeaseKey;
use resp::ServerError;

const ALL: &str = "{lock: 'lock:*', ttl: 30s, epoch: '{key}:e', progress: '{key}:p', due_set: '{key}:d'}";

pub(super) fn bulk(text: &str) -> Reply {
    Reply::BulkString(text.into())
}

pub(super) fn hello(role: &str) -> Reply {
    Reply::Map(vec![(bulk("server"), bulk("redis")), (bulk("mode"), bulk("standalone")), (bulk("role"), bulk(role))])
}

pub(super) fn clock(seconds: i64) -> Reply {
    Reply::Array(vec![bulk(&seconds.to_string()), bulk("250000")])
}

pub(super) fn subject(name: &str) -> LeaseKey {
    LeaseKey { key: format!("lock:{name}"), name: name.into() }
}

/// An answer as a server writes it.
pub(super) fn written(reply: &Reply) -> Vec<u8> {
    let many =
        |kind: char, count: usize, elements: Vec<u8>| [format!("{kind}{count}\r\n").into_bytes(), elements].concat();
    match reply {
        Reply::Nil => b"_\r\n".into(),
        Reply::Okay => b"+OK\r\n".into(),
        Reply::Int(number) => format!(":{number}\r\n").into(),
        Reply::Double(number) => format!(",{number}\r\n").into(),
        Reply::BulkString(text) => [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat(),
        Reply::ServerError(error) => format!("-{} {}\r\n", error.code(), error.details().unwrap_or_default()).into(),
        Reply::Array(elements) => many('*', elements.len(), elements.iter().flat_map(written).collect()),
        Reply::Map(pairs) => many(
            '%',
            pairs.len(),
            pairs.iter().flat_map(|(key, value)| [written(key), written(value)].concat()).collect(),
        ),
        other => panic!("no server answers with {other:?}"),
    }
}

/// The reading that is made of the answers to a transaction.
pub(super) fn decoded(
    decoder: Decoder<'_>,
    replies: Vec<Reply>,
    leases: &[LeaseKey],
    kept: RecordLimiter,
) -> Result<Reading, ReadError> {
    let mut connection = Connection::new(Box::new(CannedServer::new(written(&Reply::Array(replies)))));
    connection.commands().add("EXEC", []);
    at_once(async { decoder.read(connection.array().await?, leases, kept, 0).await })
}

fn read(yaml: &str, expiry: Expiry, replies: Vec<Reply>, leases: &[LeaseKey]) -> Result<Reading, ReadError> {
    let (layout, mut schedules) = (layout(yaml), DueScheduleTracker::new(10_000));
    decoded(
        Decoder { layout: &layout, expiry, schedules: &mut schedules, start: Duration::ZERO },
        replies,
        leases,
        RecordLimiter::new(10_000),
    )
}

/// A server before Redis 7 returns the remaining TTL, which counts from its reply. It is added to the clock that was read
/// before the reply.
#[test]
fn the_remaining_ttl_counts_from_the_clock_read_before_it() {
    let leases: Vec<LeaseKey> = (0..450).map(|n| subject(&n.to_string())).collect();
    let mut replies = vec![hello("master")];
    for at in 0..450_i64 {
        if at % 200 == 0 {
            replies.push(clock(1_000 + at / 200));
        }
        replies.extend([Reply::Int(5_000), bulk("h")]);
    }
    let reading = read("{lock: 'lock:*', ttl: 30s}", Expiry::Remaining, replies, &leases).unwrap();
    let expires = |name: &str| {
        let row = reading.records.accepted.iter().find(|row| row.lease.as_deref() == Some(name)).unwrap();
        assert_eq!(row.renewed_at.map(|at| at.plus(Duration::from_secs(30))), row.expires_at);
        row.expires_at.map(|at| at.unix_seconds())
    };
    assert_eq!(reading.store_now.unix_seconds(), 1_000.25);
    assert_eq!((expires("0"), expires("199")), (Some(1_005.25), Some(1_005.25)));
    assert_eq!((expires("200"), expires("399"), expires("449")), (Some(1_006.25), Some(1_006.25), Some(1_007.25)));
}

#[test]
fn entries_that_fall_due_during_the_count_are_due_and_later_entries_are_not() {
    let due = |count: i64, lowest: Option<f64>| {
        let members = lowest.map(|score| Reply::Array(vec![bulk("m"), Reply::Double(score)]));
        let replies = vec![
            hello("master"),
            clock(1_000),
            Reply::Int(-1),
            bulk("h"),
            Reply::Array(members.into_iter().collect()),
            Reply::Int(count),
        ];
        let reading = read("{lock: a, due_set: b}", Expiry::Time, replies, &[subject("a")]).unwrap();
        (reading.records.accepted[0].due, reading.records.accepted[0].oldest_due_at.map(StoreTime::unix_seconds))
    };
    assert_eq!(due(0, Some(1_000.1)), (Some(1), Some(1_000.1)));
    assert_eq!(due(3, Some(999.0)), (Some(3), Some(999.0)));
    assert_eq!(due(3, Some(1_000.5)), (Some(0), None), "the clock was set back");
    assert_eq!(due(0, Some(f64::INFINITY)), (Some(0), None));
    assert_eq!(due(0, None), (Some(0), None));
}

/// The column and the fault for which the answers about one lease are rejected.
fn rejected(yaml: &str, replies: Vec<Reply>) -> Option<(Column, RecordFault)> {
    let replies = [hello("master"), clock(1_000)].into_iter().chain(replies).collect();
    let reading = read(yaml, Expiry::Time, replies, &[subject("a")]).unwrap();
    assert_eq!(reading.records.accepted.len() + reading.records.rejected.len(), 1);
    reading.records.rejected.first().map(|row| (row.column, row.fault))
}

#[test]
fn a_hash_that_has_none_of_the_fields_is_no_record_of_a_lease() {
    let fields = |holder: Reply, epoch: Reply| vec![Reply::Int(-1), Reply::Array(vec![holder, epoch])];
    for yaml in ["{hash: 'lock:*', fields: [holder, epoch]}", "{hash: 'lock:a', fields: [holder, epoch]}"] {
        assert_eq!(rejected(yaml, fields(Reply::Nil, Reply::Nil)), Some((Column::Holder, RecordFault::WrongType)));
        assert_eq!(rejected(yaml, fields(Reply::Nil, bulk("7"))), None, "it was released");
        assert_eq!(rejected(yaml, fields(bulk(""), Reply::Nil)), None, "it was released");
    }
    let gone = vec![Reply::Int(-2), Reply::Array(vec![Reply::Nil, Reply::Nil])];
    assert_eq!(rejected("{hash: 'lock:a', fields: [holder, epoch]}", gone), None, "there is none");
}

/// Of these two a lease would look expired, or released.
#[test]
fn an_answer_that_no_server_gives_is_not_believed() {
    let answered = |yaml: &str, replies: Vec<Reply>| {
        let replies = [hello("master"), clock(1_000)].into_iter().chain(replies).collect();
        read(yaml, Expiry::Time, replies, &[subject("a")]).map_err(|error| error.to_string())
    };
    for millis in [-3, i64::MIN] {
        assert!(answered("{lock: 'lock:*'}", vec![Reply::Int(millis), bulk("h")]).is_err(), "{millis}");
    }
    let hash =
        |values| answered("{hash: 'lock:*', fields: [epoch, holder]}", vec![Reply::Int(-1), Reply::Array(values)]);
    assert!(hash(vec![bulk("7"), bulk("h")]).is_ok());
    assert!(hash(vec![bulk("7")]).is_err() && hash(vec![bulk("7"), bulk("h"), bulk("x")]).is_err());
}

#[test]
fn an_end_beyond_all_years_is_not_taken_for_none() {
    let beyond = || Reply::Int(253_402_300_800_000);
    let outside = Some((Column::ExpiresAt, RecordFault::OutOfRange));
    assert_eq!(rejected("{lock: 'lock:*', ttl: 30s}", vec![beyond(), bulk("h")]), outside);
    assert_eq!(rejected("{lock: 'lock:*'}", vec![Reply::Int(i64::MAX), bulk("h")]), outside);
    let hash = |value| vec![beyond(), Reply::Array(vec![bulk("h"), value])];
    assert_eq!(rejected("{hash: 'lock:*', fields: [holder, epoch]}", hash(bulk("7"))), outside);
    let says_itself = "{hash: 'lock:*', fields: [holder, expires_at]}";
    assert_eq!(rejected(says_itself, hash(bulk("1010"))), None);
    assert_eq!(rejected(says_itself, hash(Reply::Nil)), outside);
}

#[test]
fn a_lock_that_has_longer_to_live_than_its_ttl_says_is_not_dated() {
    let left = |millis: i64| rejected("{lock: 'lock:*', ttl: 30s}", vec![Reply::Int(1_000_250 + millis), bulk("h")]);
    assert_eq!(left(30_000), None);
    assert_eq!(left(31_900), None, "as far as clocks may differ");
    assert_eq!(left(32_100), Some((Column::TtlSeconds, RecordFault::OutOfRange)));
    assert_eq!(rejected("{lock: 'lock:*'}", vec![Reply::Int(1_300_000), bulk("h")]), None, "none is given");
}

#[test]
fn of_a_value_no_more_is_read_than_shows_that_it_is_too_long() {
    let (layout, leases, schedules) = (layout(ALL), [subject("a")], DueScheduleTracker::new(1));
    let request = Request::new(&layout, &leases, Expiry::Time, None, &schedules);
    let sent = String::from_utf8(request.packed()).unwrap();
    let words: Vec<&str> = sent.split("\r\n").filter(|word| !word.starts_with(['$', '*'])).collect();
    for key in ["lock:a", "lock:a:e"] {
        assert!(words.windows(4).any(|words| words == ["GETRANGE", key, "0", "1024"]), "{words:?}");
    }
    let lock = "{lock: 'lock:*', epoch: '{key}:e'}";
    let of = |holder: &str, counter: &str| rejected(lock, vec![Reply::Int(1_300_000), bulk(holder), bulk(counter)]);
    assert_eq!(of("h", ""), None, "a counter that is not there");
    assert_eq!(of(&"h".repeat(1_024), "7"), None);
    assert_eq!(of(&"h".repeat(1_025), "7"), Some((Column::Holder, RecordFault::NameTooLong)));
    assert_eq!(of("h", &"0".repeat(1_025)), Some((Column::Epoch, RecordFault::Unreadable)), "of which more may come");
}

#[test]
fn keys_found_twice_are_one_lease_and_the_first_by_name_are_kept() {
    let mut names = LeaseKeyList::new(2);
    let mut kept = RecordLimiter::new(2);
    let layout = layout(ALL);
    for name in ["e", "b", "b", "d", "a", "b", "a", "c:e", "\u{e9}"] {
        names.add(&layout, format!("lock:{name}").as_bytes(), &mut kept);
    }
    assert_eq!(names.take(), [subject("a"), subject("b")]);
    assert_eq!(names.over_limit(), 3);
}

/// Any answer, as a server that is none may give it.
pub(super) fn any_reply() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        Just(Reply::Nil),
        Just(Reply::Okay),
        any::<i64>().prop_map(Reply::Int),
        any::<f64>().prop_map(Reply::Double),
        "[-0-9a-z.]{0,20}".prop_map(|text| bulk(&text)),
        proptest::collection::vec(any::<u8>(), 0..8).prop_map(Reply::BulkString),
        "(WRONGTYPE|NOPERM|LOADING|ERR|planted) (planted|key|run the|DB index) [a-z]{0,9}"
            .prop_map(|text| server_error(&text)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Reply::Array))
}

fn server_error(text: &str) -> Reply {
    redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_answer_is_read_or_refused_without_a_panic_and_without_its_text(
        mut replies in proptest::collection::vec(any_reply(), 0..12),
        sound in any::<bool>(),
    ) {
        if sound {
            replies.splice(0..0, [hello("master"), clock(1_000)]);
        }
        for layout in [ALL, "{hash: 'lock:*', due_set: '{key}:d', progress_by_due: true}"] {
            if let Err(error) = read(layout, Expiry::Time, replies.clone(), &[subject("a"), subject("b")]) {
                prop_assert!(!error.to_string().contains("planted"), "{}", error);
            }
        }
    }

    #[test]
    fn nothing_of_what_a_server_says_is_passed_on_but_its_first_word(
        code in "(NOAUTH|WRONGPASS|NOPERM|LOADING|BUSY|MASTERDOWN|MOVED|DENIED|EXECABORT|ERR|OTHER|Planted|planted)",
        details in "(unknown command|key|run the|DB index|max number of clients)? ?planted [ -~]{0,20}",
    ) {
        let line = format!("{code} {details}");
        let told = failure::answered("GET", ServerError::new(line.as_bytes())).to_string();
        prop_assert!(!told.to_lowercase().contains("planted"), "{}", told);
    }
}

#[test]
fn the_failure_names_who_must_act_on_the_answer() {
    use crate::lease::ReadFailure::{Refused, SchemaMismatch, Unreachable};
    for (text, failure, told) in [
        ("NOAUTH Authentication required.", Refused, "`password_file`"),
        ("WRONGPASS invalid username-password pair", Refused, "the user or the password"),
        ("NOPERM this user has no permissions to run the 'get' command", Refused, "`+get`"),
        ("NOPERM User m has no permissions to run the 'get' command", Refused, "`+get`"),
        ("NOPERM this user has no permissions to access one of the keys used as arguments", Refused, "with `~`"),
        ("NOPERM No permissions to access a key", Refused, "with `~`"),
        ("LOADING Redis is loading the dataset in memory", Unreachable, "loading"),
        ("OOM command not allowed when used memory > 'maxmemory'.", Refused, "out of memory (maxmemory)"),
        ("BUSY Redis is busy running a script.", Refused, "script"),
        ("MASTERDOWN ServerStore with MASTER is down", Refused, "replica"),
        ("MOVED 1234 10.0.0.1:6379", Refused, "cluster"),
        ("CLUSTERDOWN Hash slot not served", Refused, "cluster"),
        ("ERR max number of clients reached", Refused, "no connection left"),
        ("ERR DB index is out of range", SchemaMismatch, "no database of this number"),
        ("ERR unknown command 'GET'", Refused, "Redis 6"),
        ("NEWS of something", Refused, "answered `get` with NEWS"),
    ] {
        let error = failure::answered("GET", ServerError::new(text.as_bytes()));
        assert!(error.failure() == failure && error.to_string().contains(told), "{text}: {error}");
    }
    for (role, told) in [("slave", "is a replica"), ("replica", "is a replica")] {
        let error = read(ALL, Expiry::Time, vec![hello(role), clock(1)], &[]).unwrap_err();
        assert!(error.failure() == Refused && error.to_string().contains(told), "{error}");
    }
}
