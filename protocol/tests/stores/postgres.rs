use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lease_protocol::postgres::statements;
use lease_protocol::{
    AcquireOutcome, Epoch, HolderId, LeaseProtocol, MaintenanceAction, Occurrence, PlanOutcome, PostgresProtocol,
    ProtocolError, ReleaseOutcome, RenewOutcome, ServerAddress, StoreAddress, Ttl,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use test_support::Database;
use tokio::runtime::{Builder, Runtime};

use crate::INVALID_ROWS;
use crate::contract::{self, Store};

/// A database, on the clock of the server.
struct RealStore(Database);

impl RealStore {
    fn new() -> Self {
        let store = Self(test_support::postgres().database());
        PostgresProtocol::create(&store.address(), None).unwrap();
        store
    }

    fn address(&self) -> ServerAddress {
        let owner = self.0.owner();
        address(owner.url(), owner.password_file())
    }

    /// A session of the owner with direct access to the tables.
    fn session(&self) -> Session {
        let owner = self.0.owner();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options: PgConnectOptions = owner.url().parse().unwrap();
        let options = options.password(owner.password());
        let connection = runtime.block_on(PgConnection::connect_with(&options)).unwrap();
        Session { runtime, connection }
    }

    /// Waits until so many in this database wait for a lock.
    fn until_blocked(&self, sessions: u32) {
        let blocked = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '{}'",
            self.0.name()
        );
        for _ in 0..3000 {
            if self.0.query(&blocked) == sessions.to_string() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("there are not {sessions} that wait");
    }
}

struct Session {
    runtime: Runtime,
    connection: PgConnection,
}

impl Session {
    fn batch(&mut self, sql: &str) -> Result<(), ProtocolError> {
        let done = self.runtime.block_on(sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.connection));
        done.map(|_| ()).map_err(ProtocolError::from)
    }
}

impl Store for RealStore {
    type Protocol = PostgresProtocol;
    const TTL: Duration = Duration::from_millis(600);

    fn connect(&self) -> PostgresProtocol {
        PostgresProtocol::open(&self.address(), None).unwrap()
    }

    fn let_pass(&self, time: Duration) {
        thread::sleep(time);
    }
}

mod contract_in_real_time {
    use super::*;

    contract::contract_tests!(RealStore::new());
}

fn address(url: &str, password_file: &Path) -> ServerAddress {
    match StoreAddress::parse(url, Some(password_file.to_owned())).unwrap() {
        StoreAddress::Postgres { server, .. } => server,
        other => panic!("{other:?}"),
    }
}

fn token(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis)).unwrap()
}

fn acquired(number: u64) -> AcquireOutcome {
    AcquireOutcome::Acquired { epoch: Epoch::new(number).unwrap() }
}

/// Does a step on a thread of its own while another session holds the lease's row, until `while_held` is over; and then
/// ends that session's transaction with these words. Gives what came of the step.
fn while_the_row_is_held<T: Send + 'static>(
    store: &RealStore,
    held: &'static str,
    while_held: Duration,
    end: &'static str,
    step: impl FnOnce(&mut PostgresProtocol) -> T + Send + 'static,
) -> T {
    let mut session = store.session();
    session.batch(&format!("BEGIN; {held}")).unwrap();
    let mut protocol = store.connect();
    let (done, outcome) = channel();
    let waits = thread::spawn(move || {
        done.send(step(&mut protocol)).unwrap();
    });
    store.until_blocked(1);
    thread::sleep(while_held);
    session.batch(end).unwrap();
    waits.join().unwrap();
    outcome.recv().unwrap()
}

const HELD: &str = "SELECT FROM scheduler_lease WHERE lease = 'a' FOR UPDATE";

#[test]
fn a_renewal_that_waited_past_the_expiry_is_lost_although_the_row_is_as_it_was() {
    let store = RealStore::new();
    assert_eq!(store.connect().acquire("a", &token("a"), ttl(1500)), Ok(acquired(1)));
    let renewed = while_the_row_is_held(&store, HELD, Duration::from_millis(1500), "COMMIT", |protocol| {
        protocol.renew("a", &token("a"), Epoch::FIRST, ttl(60_000))
    });
    assert_eq!(renewed, Ok(RenewOutcome::Lost));
    assert_eq!(store.connect().acquire("a", &token("b"), ttl(1500)), Ok(acquired(2)));
}

#[test]
fn a_write_that_waited_has_the_time_after_the_wait() {
    for (held, end) in [
        (HELD, "COMMIT"),
        (HELD, "ROLLBACK"),
        ("UPDATE scheduler_lease SET expires_at_ms = expires_at_ms + 1", "COMMIT"),
        ("UPDATE scheduler_lease SET expires_at_ms = expires_at_ms + 1", "ROLLBACK"),
    ] {
        let store = RealStore::new();
        let mut protocol = store.connect();
        assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
        let before = protocol.store_now().unwrap().unix_millis();
        let wait = Duration::from_millis(300);
        let renewed = while_the_row_is_held(&store, held, wait, end, |protocol| {
            protocol.renew("a", &token("a"), Epoch::FIRST, ttl(60_000))
        });
        assert_eq!(renewed, Ok(RenewOutcome::Renewed), "{held} {end}");
        let lease = protocol.read("a").unwrap().lease.unwrap();
        let [renewed_at, expires_at] = [lease.renewed_at, lease.expires_at].map(|time| time.unwrap().unix_millis());
        assert!(renewed_at >= before + 300, "{held} {end}");
        assert_eq!(expires_at, renewed_at + 60_000, "{held} {end}");
        let released =
            while_the_row_is_held(&store, held, wait, end, |protocol| protocol.release("a", &token("a"), Epoch::FIRST));
        assert_eq!(released, Ok(ReleaseOutcome::Released), "{held} {end}");
        let ended_at = protocol.read("a").unwrap().lease.unwrap().expires_at.unwrap().unix_millis();
        assert!((renewed_at + 300..=protocol.store_now().unwrap().unix_millis()).contains(&ended_at), "{held} {end}");
    }
}

#[test]
fn an_acquisition_that_waited_acquires_with_the_time_after_the_wait() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(1500)), Ok(acquired(1)));
    let expires_at = protocol.read("a").unwrap().lease.unwrap().expires_at;
    let outcome = while_the_row_is_held(&store, HELD, Duration::from_millis(1500), "COMMIT", |protocol| {
        protocol.acquire("a", &token("b"), ttl(60_000))
    });
    assert_eq!(outcome, Ok(acquired(2)), "it had expired when the row was let go of");
    let lease = protocol.read("a").unwrap().lease.unwrap();
    assert!(lease.acquired_at >= expires_at);
    assert_eq!(lease.renewed_at, lease.acquired_at);
    assert_eq!(lease.expires_at.unwrap().unix_millis(), lease.acquired_at.unwrap().unix_millis() + 60_000);
}

#[test]
fn a_write_that_waited_for_a_takeover_is_fenced() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    let due_at = protocol.store_now().unwrap();
    let action = MaintenanceAction::PlanRetention;
    let _ = protocol.enqueue(&Occurrence { key: "1".into(), lease: "a".into(), action, due_at }).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    let takeover = "UPDATE scheduler_lease SET holder = 'b', epoch = 2";
    let planned = while_the_row_is_held(&store, takeover, Duration::ZERO, "COMMIT", |protocol| {
        protocol.plan("1", "a", &token("a"), Epoch::FIRST)
    });
    assert_eq!(planned, Ok(PlanOutcome::Fenced));
    let reading = protocol.read("a").unwrap();
    assert_eq!((reading.progress, reading.backlog.due), (None, 1));
}

#[test]
fn a_takeover_waits_for_the_end_of_a_write_that_has_passed_its_fence() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    let due_at = protocol.store_now().unwrap();
    let action = MaintenanceAction::PlanRetention;
    let _ = protocol.enqueue(&Occurrence { key: "1".into(), lease: "a".into(), action, due_at }).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(1)), Ok(acquired(1)));
    // The write is held up at the occurrence, which is after the fence.
    let mut session = store.session();
    session.batch("BEGIN; SELECT FROM occurrence FOR UPDATE").unwrap();
    let [mut former, mut successor] = [store.connect(), store.connect()];
    let write = thread::spawn(move || former.plan("1", "a", &token("a"), Epoch::FIRST));
    store.until_blocked(1);
    let takeover = thread::spawn(move || successor.acquire("a", &token("b"), ttl(60_000)));
    store.until_blocked(2);
    session.batch("COMMIT").unwrap();
    assert_eq!(write.join().unwrap(), Ok(PlanOutcome::Planned));
    assert_eq!(takeover.join().unwrap(), Ok(acquired(2)));
    let reading = protocol.read("a").unwrap();
    assert!(reading.lease.unwrap().acquired_at.unwrap() >= reading.progress.unwrap().at);
}

#[test]
fn a_row_that_stays_locked_is_busy_and_the_connection_is_good_for_more() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    let mut session = store.session();
    session.batch(&format!("BEGIN; {HELD}")).unwrap();
    assert_eq!(protocol.renew("a", &token("a"), Epoch::FIRST, ttl(60_000)), Err(ProtocolError::Busy));
    session.batch("COMMIT").unwrap();
    assert_eq!(protocol.renew("a", &token("a"), Epoch::FIRST, ttl(60_000)), Ok(RenewOutcome::Renewed));
}

#[test]
fn times_are_the_servers_to_the_millisecond() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    let clock = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let before: i64 = store.0.query(clock).parse().unwrap();
    let now = protocol.store_now().unwrap().unix_millis();
    let after: i64 = store.0.query(clock).parse().unwrap();
    assert!((before..=after).contains(&now));
    assert_eq!(protocol.acquire("a", &token("a"), ttl(5_000)), Ok(acquired(1)));
    let lease = protocol.read("a").unwrap().lease.unwrap();
    let row = store.0.query("SELECT acquired_at_ms, renewed_at_ms, expires_at_ms FROM scheduler_lease");
    let acquired_at = lease.acquired_at.unwrap().unix_millis();
    assert_eq!(row, format!("{acquired_at}\t{acquired_at}\t{}", acquired_at + 5_000));
    assert!(acquired_at >= after);
}

#[test]
fn a_planned_occurrence_records_time_epoch_and_holder() {
    let store = RealStore::new();
    let mut protocol = store.connect();
    let due_at = protocol.store_now().unwrap();
    let action = MaintenanceAction::PlanRetention;
    let _ = protocol.enqueue(&Occurrence { key: "1".into(), lease: "a".into(), action, due_at }).unwrap();
    let _ = protocol.acquire("a", &token("me"), ttl(60_000)).unwrap();
    assert_eq!(protocol.plan("1", "a", &token("me"), Epoch::FIRST), Ok(PlanOutcome::Planned));
    let at = protocol.read("a").unwrap().progress.unwrap().at.unix_millis();
    let row = store.0.query("SELECT planned_at_ms, planned_epoch, planned_by FROM occurrence");
    assert_eq!(row, format!("{at}\t1\tme"));
}

#[test]
fn a_store_can_be_created_by_many_at_once_and_again_in_a_schema_of_its_own() {
    let database = test_support::postgres().database();
    let address = address(database.owner().url(), database.owner().password_file());
    let schema = "a \"schema\" \\ of its own";
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| PostgresProtocol::create(&address, Some(schema)).unwrap());
        }
    });
    let mut protocol = PostgresProtocol::create(&address, Some(schema)).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(60_000)), Ok(acquired(1)));
    assert!(PostgresProtocol::open(&address, Some(schema)).unwrap().read("a").unwrap().lease.is_some());
    let opened = |schema| PostgresProtocol::open(&address, schema).map(|_| ());
    assert_eq!(opened(None), Err(ProtocolError::SchemaMismatch), "there is nothing outside of it");
    PostgresProtocol::remove(&address, schema).unwrap();
    PostgresProtocol::remove(&address, schema).unwrap();
    assert_eq!(opened(Some(schema)), Err(ProtocolError::SchemaMismatch));
}

#[test]
fn an_address_that_is_no_store_gives_its_own_error() {
    let database = test_support::postgres().database();
    let owner = database.owner();
    let opened =
        |url: &str, password_file: &Path| PostgresProtocol::open(&address(url, password_file), None).map(|_| ());
    assert_eq!(opened(owner.url(), owner.password_file()), Err(ProtocolError::SchemaMismatch));
    database.execute("CREATE TABLE scheduler_lease (a text)");
    assert_eq!(opened(owner.url(), owner.password_file()), Err(ProtocolError::SchemaMismatch));
    assert_eq!(opened(&format!("{}x", owner.url()), owner.password_file()), Err(ProtocolError::NoSuchDatabase));
    let nobody = owner.url().replace(owner.name(), "nobody");
    assert_eq!(opened(&nobody, owner.password_file()), Err(ProtocolError::LoginFailed));
    assert_eq!(opened(owner.url(), database.reader().password_file()), Err(ProtocolError::LoginFailed));
    let none = owner.password_file().with_extension("none");
    assert_eq!(opened(owner.url(), &none), Err(ProtocolError::PasswordFile));
    let redis = format!("postgres://127.0.0.1:{}/db", test_support::redis().port());
    assert_eq!(opened(&redis, owner.password_file()), Err(ProtocolError::Unreachable));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(opened(&format!("postgres://{nobody}/db"), owner.password_file()), Err(ProtocolError::Unreachable));
}

#[test]
fn a_user_who_may_only_read_cannot_write() {
    let store = RealStore::new();
    let reader = store.0.reader();
    let mut protocol = PostgresProtocol::open(&address(reader.url(), reader.password_file()), None).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl(1000)), Err(ProtocolError::PermissionDenied));
    assert!(protocol.read("a").is_ok());
}

#[test]
fn the_tables_refuse_wrong_rows() {
    let store = RealStore::new();
    let mut session = store.session();
    for wrong in
        INVALID_ROWS.into_iter().chain(["INSERT INTO occurrence VALUES ('k', 'a', 'plan_retention', 1, 1, 1, '')"])
    {
        assert_eq!(session.batch(wrong), Err(ProtocolError::InvalidRecord), "{wrong}");
    }
}

#[test]
fn an_epoch_never_wraps() {
    let store = RealStore::new();
    store.0.execute("INSERT INTO scheduler_lease VALUES ('a', NULL, 9223372036854775807, NULL, NULL, NULL)");
    assert_eq!(store.connect().acquire("a", &token("a"), ttl(1000)), Err(ProtocolError::InvalidRecord));
}

#[test]
fn a_server_that_stops_answering_is_unreachable_in_time_and_the_connection_given_up() {
    let server = test_support::Server::start(test_support::Kind::Postgres, &[]);
    let database = server.database();
    let owner = database.owner();
    let address = address(owner.url(), owner.password_file());
    let mut protocol = PostgresProtocol::create(&address, None).unwrap();
    server.freeze();
    assert_eq!(protocol.store_now(), Err(ProtocolError::Unreachable));
    assert_eq!(PostgresProtocol::open(&address, None).map(|_| ()), Err(ProtocolError::Unreachable));
    server.thaw();
    assert_eq!(protocol.store_now(), Err(ProtocolError::Unreachable), "an old answer may be on its way");
    PostgresProtocol::open(&address, None).unwrap().store_now().unwrap();
}

#[test]
fn due_work_is_found_by_the_index() {
    let store = RealStore::new();
    store.0.execute(
        "INSERT INTO occurrence SELECT n::text, 'a', 'plan_retention', n, NULL, NULL, NULL \
         FROM generate_series(1, 5000) n; ANALYZE occurrence",
    );
    let plan = store.0.query(&format!("EXPLAIN {}", statements::NEXT_DUE.replace("$1", "'a'")));
    assert!(plan.contains("occurrence_unplanned") && !plan.contains("Sort"), "{plan}");
}
