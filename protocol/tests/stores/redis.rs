use std::path::Path;
use std::thread;
use std::time::Duration;

use lease_protocol::redis::DEFAULT_PREFIX;
use lease_protocol::{
    AcquireOutcome, EnqueueOutcome, Epoch, HolderId, LeaseProtocol, MaintenanceAction, Occurrence, PlanOutcome,
    ProtocolError, RedisProtocol, ReleaseOutcome, RenewOutcome, ServerAddress, StoreAddress, StoreTime, Ttl,
};
use test_support::{Keyspace, Server};

use crate::contract::{self, Store};

/// The documented permissions of a scheduler.
const RIGHTS: [&str; 15] = [
    "+@connection",
    "+script|load",
    "+evalsha",
    "+time",
    "+hmget",
    "+hget",
    "+hset",
    "+hdel",
    "+hincrby",
    "+exists",
    "+zadd",
    "+zrem",
    "+zscore",
    "+zcount",
    "+zrange",
];

/// A numbered database, on the clock of the server.
struct RealStore(Keyspace);

impl RealStore {
    fn on(server: &Server) -> Self {
        let keyspace = server.keyspace();
        keyspace.grant(&RIGHTS);
        Self(keyspace)
    }

    fn address(&self) -> ServerAddress {
        address(self.0.url(), Some(self.0.password_file()))
    }
}

impl Store for RealStore {
    type Protocol = RedisProtocol;
    const TTL: Duration = Duration::from_millis(600);

    fn connect(&self) -> RedisProtocol {
        RedisProtocol::open(&self.address(), DEFAULT_PREFIX).unwrap()
    }

    fn let_pass(&self, time: Duration) {
        thread::sleep(time);
    }
}

mod contract_on_redis {
    use super::*;

    contract::contract_tests!(RealStore::on(test_support::redis()));
}

mod contract_on_valkey {
    use super::*;

    contract::contract_tests!(RealStore::on(test_support::valkey()));
}

fn address(url: &str, password_file: Option<&Path>) -> ServerAddress {
    match StoreAddress::parse(url, password_file.map(Path::to_owned)).unwrap() {
        StoreAddress::Redis { server, .. } => server,
        other => panic!("{other:?}"),
    }
}

fn token(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

/// The format of times in the store.
fn seconds(time: StoreTime) -> String {
    format!("{}.{:03}", time.unix_millis() / 1000, time.unix_millis() % 1000)
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis)).unwrap()
}

fn acquired(number: u64) -> AcquireOutcome {
    AcquireOutcome::Acquired { epoch: Epoch::new(number).unwrap() }
}

fn occurrence(key: &str, due_at: StoreTime) -> Occurrence {
    Occurrence { key: key.into(), lease: "a".into(), action: MaintenanceAction::PlanRetention, due_at }
}

#[test]
fn a_lease_is_a_hash_of_the_reading_contract_with_times_to_the_millisecond() {
    let store = RealStore::on(test_support::redis());
    let mut protocol = store.connect();
    let due_at = protocol.store_now().unwrap();
    let _ = protocol.enqueue(&occurrence("1", due_at)).unwrap();
    assert_eq!(store.0.command(&["ZRANGE", "scheduler:due:a", "0", "-1"]), "1");
    assert_eq!(protocol.acquire("a", &token("me"), ttl(60_000)), Ok(acquired(1)));
    assert_eq!(protocol.plan("1", "a", &token("me"), Epoch::FIRST), Ok(PlanOutcome::Planned));
    let reading = protocol.read("a").unwrap();
    let (lease, progress) = (reading.lease.unwrap(), reading.progress.unwrap());
    let field = |key: &str, name: &str| store.0.command(&["HGET", key, name]);
    let of_lease = |name: &str| field("scheduler:lease:a", name);
    for (name, time) in
        [("acquired_at", lease.acquired_at), ("renewed_at", lease.renewed_at), ("expires_at", lease.expires_at)]
    {
        assert_eq!(of_lease(name), seconds(time.unwrap()), "{name}");
    }
    assert_eq!(lease.expires_at.unwrap().unix_millis(), lease.renewed_at.unwrap().unix_millis() + 60_000);
    assert_eq!((of_lease("holder"), of_lease("epoch")), ("me".into(), "1".into()));
    assert_eq!(of_lease("progress_at"), seconds(progress.at));
    assert_eq!((of_lease("progress_epoch"), of_lease("progress_cursor")), ("1".into(), "1".into()));
    let planned = ["planned_at", "planned_epoch", "planned_by"].map(|name| field("scheduler:occurrence:1", name));
    assert_eq!(planned, [seconds(progress.at), "1".into(), "me".into()]);
    assert_eq!(store.0.command(&["EXISTS", "scheduler:due:a"]), "0");
    assert_eq!(protocol.release("a", &token("me"), Epoch::FIRST), Ok(ReleaseOutcome::Released));
    assert_eq!((of_lease("holder"), of_lease("epoch")), (String::new(), "1".into()));
    assert_eq!(store.0.command(&["TTL", "scheduler:lease:a"]), "-1", "the epoch must not vanish");
}

#[test]
fn an_epoch_is_exact_beyond_what_a_double_holds_and_never_wraps() {
    let store = RealStore::on(test_support::redis());
    let mut protocol = store.connect();
    let set = |epoch: &str| store.0.command(&["HSET", "scheduler:lease:a", "epoch", epoch]);
    set("9007199254740993");
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(9_007_199_254_740_994)));
    let epoch = Epoch::new(9_007_199_254_740_994).unwrap();
    let before = Epoch::new(9_007_199_254_740_993).unwrap();
    assert_eq!(protocol.renew("a", &token("a"), before, ttl(60_000)), Ok(RenewOutcome::Lost));
    assert_eq!(protocol.renew("a", &token("a"), epoch, ttl(60_000)), Ok(RenewOutcome::Renewed));
    assert_eq!(protocol.release("a", &token("a"), epoch), Ok(ReleaseOutcome::Released));
    for wrong in ["9223372036854775807", "0", "-1", "1.5", "one", ""] {
        set(wrong);
        assert_eq!(protocol.acquire("a", &token("a"), ttl(1)), Err(ProtocolError::InvalidRecord), "{wrong}");
        assert_eq!(store.0.command(&["HGET", "scheduler:lease:a", "epoch"]), wrong);
        assert_eq!(store.0.command(&["HEXISTS", "scheduler:lease:a", "holder"]), "0", "{wrong}");
    }
}

#[test]
fn an_invalid_record_is_refused_and_left_unchanged() {
    let store = RealStore::on(test_support::redis());
    let mut protocol = store.connect();
    store.0.command(&["HSET", "scheduler:lease:a", "holder", "a", "epoch", "1", "expires_at", "soon"]);
    let invalid = ProtocolError::InvalidRecord;
    assert_eq!(protocol.acquire("a", &token("b"), ttl(1)), Err(invalid));
    assert_eq!(protocol.renew("a", &token("a"), Epoch::FIRST, ttl(1)), Err(invalid));
    assert_eq!(protocol.release("a", &token("a"), Epoch::FIRST), Err(invalid));
    assert_eq!(protocol.read("a"), Err(invalid));
    store.0.command(&["HSET", "scheduler:lease:c", "holder", "a"]);
    assert_eq!(protocol.acquire("c", &token("b"), ttl(1)), Err(invalid), "a holder without an epoch");
    store.0.command(&["SET", "scheduler:lease:d", "a string"]);
    assert_eq!(protocol.acquire("d", &token("b"), ttl(1)), Err(invalid));
    store.0.command(&["ZADD", "scheduler:due:e", "1", "vanished"]);
    assert_eq!(protocol.next_due("e"), Err(invalid));
    assert_eq!(protocol.read("e"), Err(invalid));
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let store = RealStore::on(test_support::redis());
    let mut protocol = store.connect();
    let due_at = protocol.store_now().unwrap();
    let _ = protocol.enqueue(&occurrence("1", due_at)).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    store.0.command(&["HSET", "scheduler:lease:a", "progress_cursor", "9223372036854775807"]);
    let invalid = ProtocolError::InvalidRecord;
    assert_eq!(protocol.plan("1", "a", &token("a"), Epoch::FIRST), Err(invalid));
    store.0.command(&["HDEL", "scheduler:lease:a", "progress_cursor"]);
    assert_eq!(protocol.next_due("a").unwrap().unwrap().key, "1");
    assert_eq!(protocol.read("a").unwrap().progress, None);
    store.0.command(&["RENAME", "scheduler:due:a", "kept"]);
    store.0.command(&["SET", "scheduler:due:a", "a string"]);
    assert_eq!(protocol.plan("1", "a", &token("a"), Epoch::FIRST), Err(invalid));
    assert_eq!(protocol.enqueue(&occurrence("2", due_at)), Err(invalid));
    store.0.command(&["RENAME", "kept", "scheduler:due:a"]);
    assert_eq!(protocol.read("a").unwrap().progress, None);
    assert_eq!(protocol.enqueue(&occurrence("2", due_at)), Ok(EnqueueOutcome::Enqueued));
    assert_eq!(protocol.plan("1", "a", &token("a"), Epoch::FIRST), Ok(PlanOutcome::Planned));
}

#[test]
fn scripts_that_the_server_forgot_are_sent_again() {
    let store = RealStore::on(test_support::redis());
    let mut protocol = store.connect();
    store.0.command(&["SCRIPT", "FLUSH"]);
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
}

#[test]
fn a_prefix_is_a_store_of_its_own_and_can_be_removed_with_all_in_it() {
    let store = RealStore::on(test_support::redis());
    store.0.grant(&[&RIGHTS[..], &["+scan", "+unlink"]].concat());
    let address = store.address();
    let connect = |prefix| RedisProtocol::open(&address, prefix).unwrap();
    let prefixes = ["demo*[a]:", "demoX*a:", DEFAULT_PREFIX];
    for prefix in prefixes {
        let due_at = StoreTime::from_unix_millis(1);
        assert_eq!(connect(prefix).enqueue(&occurrence("1", due_at)), Ok(EnqueueOutcome::Enqueued));
        assert_eq!(connect(prefix).acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    }
    RedisProtocol::remove(&address, prefixes[0]).unwrap();
    RedisProtocol::remove(&address, prefixes[0]).unwrap();
    assert_eq!(connect(prefixes[0]).read("a").unwrap().lease, None);
    assert!(connect(prefixes[1]).read("a").unwrap().lease.is_some());
    assert_eq!(store.0.command(&["DBSIZE"]), "6", "three keys under each of the others");
}

#[test]
fn an_address_that_is_no_store_gives_its_own_error() {
    let store = RealStore::on(test_support::redis());
    let opened = |url: &str, password_file: Option<&Path>| {
        RedisProtocol::open(&address(url, password_file), DEFAULT_PREFIX).map(|_| ())
    };
    let none = store.0.password_file().with_extension("none");
    assert_eq!(opened(store.0.url(), Some(&none)), Err(ProtocolError::PasswordFile));
    let other = RealStore::on(test_support::redis());
    assert_eq!(opened(store.0.url(), Some(other.0.password_file())), Err(ProtocolError::LoginFailed));
    assert_eq!(opened(store.0.url(), None), Err(ProtocolError::LoginFailed), "a user who has a password");
    let beyond = format!("redis://{}/{}", test_support::redis().address(), u16::MAX);
    assert_eq!(opened(&beyond, None), Err(ProtocolError::NoSuchDatabase));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(opened(&format!("redis://{nobody}"), None), Err(ProtocolError::Unreachable));
    store.0.grant(&["+@connection"]);
    assert_eq!(opened(store.0.url(), Some(store.0.password_file())), Err(ProtocolError::PermissionDenied));
}

#[test]
fn a_user_without_a_password_does_not_become_the_default_user() {
    let store = RealStore::on(test_support::redis());
    let user = format!("nopass_{}", store.0.number());
    let url = format!("redis://{user}@{}/{}", test_support::redis().address(), store.0.number());
    let open = || RedisProtocol::open(&address(&url, None), DEFAULT_PREFIX);
    assert_eq!(open().map(|_| ()), Err(ProtocolError::LoginFailed), "not `default`, who may do anything");
    store.0.command(&["ACL", "SETUSER", &user, "reset", "on", "nopass", "+@connection"]);
    assert_eq!(open().map(|_| ()), Err(ProtocolError::PermissionDenied), "a user without any right");
    store.0.command(&[&["ACL", "SETUSER", &user, "allkeys"], &RIGHTS[..]].concat());
    assert_eq!(open().unwrap().acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    store.0.command(&["ACL", "DELUSER", &user]);
}

#[test]
fn a_replica_reports_that_it_is_read_only() {
    let leader = Server::start(test_support::Kind::Redis, &[]);
    let store = RealStore::on(&leader);
    let mut protocol = store.connect();
    let now = protocol.store_now().unwrap();
    let _ = protocol.enqueue(&occurrence("1", now)).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    // It goes on with what it has, and writes nothing of its own: nobody needs to be there to be followed.
    store.0.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let follower = ProtocolError::ReadOnly;
    assert_eq!(protocol.acquire("b", &token("b"), ttl(1)), Err(follower));
    assert_eq!(protocol.renew("a", &token("a"), Epoch::FIRST, ttl(1)), Err(follower));
    assert_eq!(protocol.plan("1", "a", &token("a"), Epoch::FIRST), Err(follower));
    assert_eq!(protocol.enqueue(&occurrence("2", now)), Err(follower));
    assert_eq!(protocol.release("a", &token("a"), Epoch::FIRST), Err(follower));
}

#[test]
fn a_server_that_stops_answering_is_unreachable_in_time_and_the_connection_given_up() {
    let server = Server::start(test_support::Kind::Redis, &[]);
    let store = RealStore::on(&server);
    let mut protocol = store.connect();
    server.freeze();
    assert_eq!(protocol.store_now(), Err(ProtocolError::Unreachable));
    assert_eq!(RedisProtocol::open(&store.address(), DEFAULT_PREFIX).map(|_| ()), Err(ProtocolError::Unreachable));
    server.thaw();
    assert_eq!(protocol.store_now(), Err(ProtocolError::Unreachable), "an old answer may be on its way");
    store.connect().store_now().unwrap();
}

#[test]
fn an_error_contains_no_hosts_passwords_or_keys() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = address(&format!("redis://planted@localhost:{}/7", nobody.port()), None);
    let error = RedisProtocol::open(&address, "planted:").unwrap_err();
    let said = format!("{error} {error:?} {address:?}");
    assert!(!said.contains("planted") && !said.contains("localhost"), "{said}");
}
