//! PostgreSQL with standing leases and a registry, and MariaDB with claims.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{LEADER, LONG_AGO, Leases, MAX_LEASES, REGISTRY, STUCK, Store};
use crate::harness::proxy::{End, Proxy};
use crate::server_faults::{mariadb, postgres};
use crate::servers::{Database, Kind, Server};
use crate::soak::environment::TIMEOUT;
use crate::soak::fault::{self, Fault};

pub(super) struct Sql {
    /// Must be dropped before the server.
    database: Database,
    proxy: Proxy,
    server: Server,
    passwords: AtomicU32,
}

/// The tables, in SQL that SQLite and the servers understand.
pub(super) const TABLES: &str = "CREATE TABLE IF NOT EXISTS lease (lease varchar(200) PRIMARY KEY, \
    holder varchar(100), epoch bigint, acquired_at double precision, renewed_at double precision, \
    expires_at double precision, progress_at double precision, progress_epoch bigint, due bigint, \
    oldest_due_at double precision); \
    CREATE TABLE IF NOT EXISTS beat (holder varchar(100) PRIMARY KEY, seen double precision);";

/// Statements that replace all leases. `now` is the clock of the store in seconds.
pub(super) fn rows(leases: &Leases, now: &str) -> String {
    let (holder, epoch, [acquired, progress, due]) = (leases.holder(), leases.epoch, LONG_AGO);
    let mut sql = format!(
        "BEGIN; DELETE FROM lease; DELETE FROM beat; INSERT INTO lease VALUES \
         ('{LEADER}', '{holder}', {epoch}, {now}, {now}, {now} + 86400, {now}, {epoch}, 0, NULL), \
         ('{STUCK}', 'stuck', 1, {acquired}, {now}, {now} + 86400, {progress}, 1, 7, {due})"
    );
    for name in leases.passing() {
        write!(sql, ", ('{name}', '{holder}', {epoch}, {now}, {now}, {now} + 1, {now}, {epoch}, 3, {now})").unwrap();
    }
    write!(sql, "; INSERT INTO beat VALUES ('{holder}', {now})").unwrap();
    for name in leases.passing() {
        write!(sql, ", ('{name}', {now})").unwrap();
    }
    sql.push_str("; COMMIT;");
    sql
}

/// The query of the exporter.
pub(super) fn lease_query(now: &str) -> String {
    format!("SELECT {now} AS store_now, lease.* FROM (SELECT 1 AS one) AS clock LEFT JOIN lease ON true")
}

impl Sql {
    pub(super) fn start(kind: Kind) -> Self {
        let server = Server::start(kind, &["max_connections=30"]);
        let (proxy, database) = (Proxy::to(server.address()), server.database());
        Self { database, proxy, server, passwords: AtomicU32::new(0) }
    }

    fn is_postgres(&self) -> bool {
        self.server.kind() == Kind::Postgres
    }

    fn now(&self) -> &'static str {
        if self.is_postgres() {
            "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS double precision)"
        } else {
            "UNIX_TIMESTAMP(NOW(6))"
        }
    }

    /// The present password of the reader at the server.
    fn password(&self) -> String {
        format!("password-{}", self.passwords.load(Ordering::SeqCst))
    }

    /// Changes the password of the reader without telling the exporter. A login with the old password is refused, also if
    /// it is in progress.
    fn change_password(&self) {
        self.passwords.fetch_add(1, Ordering::SeqCst);
        let password = self.password();
        let reader = self.database.reader().name();
        self.database.execute(&if self.is_postgres() {
            format!("ALTER ROLE {reader} PASSWORD '{password}'")
        } else {
            format!("ALTER USER {reader}@'%' IDENTIFIED BY '{password}'")
        });
        self.proxy.end_all(End::Reset);
    }
}

impl Store for Sql {
    fn name(&self) -> &'static str {
        self.server.kind().name()
    }

    fn sources(&self) -> &'static [&'static str] {
        if self.is_postgres() { &["jobs", REGISTRY] } else { &["locks"] }
    }

    fn yaml(&self) -> String {
        let source = |name: &str, kind: &str, query: &str| {
            postgres::source(&self.database, name, self.proxy.address(), TIMEOUT, query)
                + &format!("    kind: {kind}\n    clock: store\n    max_leases: {MAX_LEASES}\n")
        };
        let leases = lease_query(self.now());
        if !self.is_postgres() {
            return source("locks", "claim", &leases);
        }
        let beats = format!(
            "SELECT {0} AS store_now, '{REGISTRY}' AS lease, holder, seen AS renewed_at, 30 AS ttl_seconds, seen AS \
             progress_at FROM (SELECT 1 AS one) AS clock LEFT JOIN beat ON true",
            self.now()
        );
        source("jobs", "standing", &leases) + &source(REGISTRY, "registry", &beats)
    }

    fn write(&self, leases: &Leases) {
        self.database.execute(&format!("{TABLES}{}", rows(leases, self.now())));
    }

    fn faults(&self) -> Vec<Fault<'_>> {
        let mut faults = fault::of_server(&self.server);
        faults.extend(fault::of_network(&self.proxy));
        faults.push(Fault::new(
            "tables dropped and made anew",
            || self.database.execute("DROP TABLE lease; DROP TABLE beat;"),
            || {},
        ));
        faults.push(Fault::new(
            "password changed",
            || self.change_password(),
            || fs::write(self.database.password_file(), self.password()).unwrap(),
        ));
        faults
    }

    fn connections(&self) -> Option<usize> {
        let count = if self.is_postgres() { postgres::connections } else { mariadb::connections };
        Some(count(&self.database))
    }
}
