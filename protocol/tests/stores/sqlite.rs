use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lease_protocol::sqlite::{SCHEMA, Statements};
use lease_protocol::{
    AcquireOutcome, Epoch, HolderId, LeaseProtocol, MaintenanceAction, Occurrence, PlanOutcome, ProtocolError,
    ReleaseOutcome, RenewOutcome, SqliteProtocol, StoreTime, Ttl, VirtualClock,
};
use rusqlite::{Connection, named_params};
use tempfile::TempDir;

use crate::INVALID_ROWS;
use crate::contract::{self, Store};

/// A file in a temporary directory, on a virtual clock.
struct VirtualStore {
    directory: TempDir,
    clock: VirtualClock,
}

impl VirtualStore {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        SqliteProtocol::create(&directory.path().join("store.db")).unwrap();
        Self { directory, clock: VirtualClock::at(StoreTime::from_unix_millis(1_790_000_000_123)) }
    }
}

impl Store for VirtualStore {
    type Protocol = SqliteProtocol;
    const TTL: Duration = Duration::from_secs(5);

    fn connect(&self) -> SqliteProtocol {
        let connection = Connection::open(self.directory.path().join("store.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        self.clock.install(&connection).unwrap();
        SqliteProtocol::new(connection)
    }

    fn let_pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

mod contract_in_virtual_time {
    use super::*;

    contract::contract_tests!(VirtualStore::new());
}

fn in_memory(clock: Option<&VirtualClock>) -> SqliteProtocol {
    let connection = Connection::open_in_memory().unwrap();
    if let Some(clock) = clock {
        clock.install(&connection).unwrap();
    }
    connection.execute_batch(SCHEMA).unwrap();
    SqliteProtocol::new(connection)
}

fn token(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

fn ttl() -> Ttl {
    Ttl::new(Duration::from_secs(5)).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this is about the system's clock")]
fn without_a_virtual_clock_the_time_is_that_of_the_system() {
    let millis = || i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let mut protocol = in_memory(None);
    let before = millis();
    let now = protocol.store_now().unwrap().unix_millis();
    // Rounding may show the next millisecond.
    assert!((before - 1..=millis() + 1).contains(&now));
}

#[test]
fn every_statement_follows_a_virtual_clock_to_the_millisecond() {
    let clock = VirtualClock::at(StoreTime::from_unix_millis(0));
    let mut protocol = in_memory(Some(&clock));
    for (epoch, millis) in (1..).zip([0, 1, 999, 951_782_400_001, 1_790_000_000_123, 4_102_444_799_999]) {
        let time = StoreTime::from_unix_millis(millis);
        clock.set(time);
        assert_eq!(protocol.store_now(), Ok(time));
        let epoch = Epoch::new(epoch).unwrap();
        assert_eq!(protocol.acquire("a", &token("a"), ttl()), Ok(AcquireOutcome::Acquired { epoch }));
        clock.advance(Duration::from_millis(1));
        assert_eq!(protocol.renew("a", &token("a"), epoch, ttl()), Ok(RenewOutcome::Renewed));
        let reading = protocol.read("a").unwrap();
        let lease = reading.lease.unwrap();
        assert_eq!((lease.acquired_at, lease.renewed_at), (Some(time), Some(reading.now)));
        assert_eq!(lease.expires_at.unwrap().unix_millis(), millis + 5_001);
        assert_eq!(protocol.release("a", &token("a"), epoch), Ok(ReleaseOutcome::Released));
    }
}

#[test]
fn a_clock_set_back_breaks_nothing() {
    let clock = VirtualClock::at(StoreTime::from_unix_millis(1_790_000_000_000));
    let mut protocol = in_memory(Some(&clock));
    let acquired = AcquireOutcome::Acquired { epoch: Epoch::FIRST };
    assert_eq!(protocol.acquire("a", &token("a"), ttl()), Ok(acquired));
    clock.set(StoreTime::from_unix_millis(1_780_000_000_000));
    assert_eq!(protocol.acquire("a", &token("b"), ttl()), Ok(AcquireOutcome::HeldByAnother));
    assert_eq!(protocol.renew("a", &token("a"), Epoch::FIRST, ttl()), Ok(RenewOutcome::Renewed));
    clock.set(StoreTime::from_unix_millis(1_770_000_000_000));
    assert_eq!(protocol.release("a", &token("a"), Epoch::FIRST), Ok(ReleaseOutcome::Released));
}

#[test]
fn a_mutated_statement_is_executed() {
    let mut statements = Statements::reference();
    statements.now = "SELECT 42".into();
    let mut protocol = SqliteProtocol::with_statements(Connection::open_in_memory().unwrap(), statements);
    assert_eq!(protocol.store_now(), Ok(StoreTime::from_unix_millis(42)));
}

#[test]
fn a_planned_occurrence_records_time_epoch_and_holder() {
    let clock = VirtualClock::at(StoreTime::from_unix_millis(1_790_000_000_000));
    let mut protocol = in_memory(Some(&clock));
    let (key, lease, action) = ("1".into(), "a".into(), MaintenanceAction::PlanRetention);
    let _ = protocol.enqueue(&Occurrence { key, lease, action, due_at: clock.now() }).unwrap();
    let _ = protocol.acquire("a", &token("me"), ttl()).unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(protocol.plan("1", "a", &token("me"), Epoch::FIRST), Ok(PlanOutcome::Planned));
    let row: (i64, i64, String) = protocol
        .connection()
        .query_one("SELECT planned_at_ms, planned_epoch, planned_by FROM occurrence", [], |row| row.try_into())
        .unwrap();
    assert_eq!(row, (1_790_000_001_000, 1, "me".into()));
}

#[test]
fn a_store_can_be_created_by_many_at_once_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a ?#%20.db");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| SqliteProtocol::create(&path).unwrap());
        }
    });
    let mut protocol = SqliteProtocol::create(&path).unwrap();
    let _ = protocol.acquire("a", &token("a"), ttl()).unwrap();
    let protocol = SqliteProtocol::open(&path).unwrap();
    let mode: String = protocol.connection().query_one("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let synchronous: i64 = protocol.connection().query_one("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
    assert_eq!(synchronous, 2, "every commit reaches the disk");
}

#[test]
fn a_path_that_is_no_store_gives_its_own_error() {
    let directory = tempfile::tempdir().unwrap();
    let opened = |name: &str| SqliteProtocol::open(&directory.path().join(name)).map(|_| ());
    assert_eq!(opened("none.db"), Err(ProtocolError::Unreachable));
    assert!(!directory.path().join("none.db").exists());
    Connection::open(directory.path().join("other.db")).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    assert_eq!(opened("other.db"), Err(ProtocolError::SchemaMismatch));
    std::fs::write(directory.path().join("text.db"), "not a database, not at all".repeat(100)).unwrap();
    assert_eq!(opened("text.db"), Err(ProtocolError::SchemaMismatch));
}

#[test]
fn the_tables_refuse_wrong_rows() {
    let protocol = in_memory(None);
    for wrong in
        INVALID_ROWS.into_iter().chain(["INSERT INTO scheduler_lease VALUES ('a', NULL, 1.5, NULL, NULL, NULL)"])
    {
        let error = protocol.connection().execute(wrong, []).unwrap_err();
        assert_eq!(ProtocolError::from(error), ProtocolError::InvalidRecord, "{wrong}");
    }
}

#[test]
fn an_epoch_never_wraps() {
    let mut protocol = in_memory(None);
    let last = "INSERT INTO scheduler_lease VALUES ('a', NULL, 9223372036854775807, NULL, NULL, NULL)";
    protocol.connection().execute(last, []).unwrap();
    assert_eq!(protocol.acquire("a", &token("a"), ttl()), Err(ProtocolError::InvalidRecord));
}

#[test]
fn an_error_contains_no_paths_statements_or_rows() {
    let directory = tempfile::tempdir().unwrap();
    let error = SqliteProtocol::open(&directory.path().join("planted.db")).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("planted"));
    let planted = Connection::open_in_memory().unwrap().execute("SELECT planted", []).unwrap_err();
    assert_eq!(ProtocolError::from(planted).to_string(), "the store does not have the scheduler's tables");
}

#[test]
fn due_work_is_found_by_the_index() {
    let protocol = in_memory(None);
    let plan: Vec<String> = protocol
        .connection()
        .prepare(&format!("EXPLAIN QUERY PLAN {}", Statements::reference().next_due))
        .unwrap()
        .query_map(named_params! { ":lease": "a" }, |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(plan.iter().any(|step| step.contains("occurrence_unplanned")), "{plan:?}");
}

#[test]
fn the_example_runs() {
    crate::example::main().unwrap();
}
