//! PostgreSQL and its own faults.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::backend::{Backend, Fault, HOLDER, LEASE};
use crate::harness::eventually;
use crate::harness::proxy::{End, Proxy};
use crate::servers::{self, Database, Kind, Server};

pub(super) struct Postgres {
    database: Database,
    standby: Server,
    server: Server,
    /// Clients that hold one connection each.
    idle_clients: RefCell<Vec<Child>>,
}

/// `superuser_reserved_connections` of these are reserved for superusers.
const CONNECTIONS: usize = 10;
const RESERVED: usize = 3;

/// The query of the source.
pub(super) const QUERY: &str =
    "SELECT statement_timestamp() AS store_now, lease.* FROM (SELECT 1) AS one LEFT JOIN lease ON true";

/// A table with the lease.
pub(super) fn table() -> String {
    format!(
        "CREATE TABLE lease (lease text, holder text, epoch bigint, acquired_at timestamptz, renewed_at timestamptz, \
         expires_at timestamptz, progress_at timestamptz, progress_epoch bigint, due bigint); \
         INSERT INTO lease VALUES ('{LEASE}', '{HOLDER}', 7, now() - interval '9 s', now(), now() + interval '1 day', \
         now(), 7, 3)"
    )
}

/// The number of connections of the reader.
pub(crate) fn connections(database: &Database) -> usize {
    sessions(database, database.reader().name())
}

fn sessions(database: &Database, user: &str) -> usize {
    database.query(&format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{user}'")).parse().unwrap()
}

impl Postgres {
    pub(super) fn start() -> Self {
        let server = Server::start(Kind::Postgres, &[&format!("max_connections={CONNECTIONS}")]);
        let standby = server.standby(&[]);
        let database = server.database();
        database.execute(&table());
        Self { database, standby, server, idle_clients: RefCell::default() }
    }

    /// Takes all connections that the server has for ordinary users.
    fn crowd_in(&self) {
        let owner = self.database.owner();
        // One at a time until the server refuses: the query that counts connections takes one as well.
        eventually("every connection to be taken", || {
            if sessions(&self.database, owner.name()) == CONNECTIONS - RESERVED {
                return Some(());
            }
            let mut client = Command::new(servers::program("psql"));
            client.args(["-Xq", owner.url()]).env("PGPASSWORD", owner.password());
            client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            self.idle_clients.borrow_mut().push(client.spawn().unwrap());
            None
        });
    }

    fn send_crowd_home(&self) {
        for mut client in self.idle_clients.borrow_mut().drain(..) {
            // A refused client has ended already.
            let _ = client.kill();
            client.wait().unwrap();
        }
        let owner = self.database.owner().name();
        eventually("every connection to be free", || (sessions(&self.database, owner) == 0).then_some(()));
    }
}

impl Backend for Postgres {
    fn server(&self) -> &Server {
        &self.server
    }

    fn source(&self, name: &str, address: SocketAddr, timeout: &str) -> String {
        source(&self.database, name, address, timeout, QUERY)
    }

    fn password(&self) -> (&Path, &str) {
        (self.database.password_file(), self.database.reader().password())
    }

    fn kick(&self) {
        kick(&self.database);
    }

    fn connections(&self) -> usize {
        connections(&self.database)
    }

    fn faults<'a>(&'a self, proxy: &'a Proxy) -> Vec<Fault<'a>> {
        let reader = self.database.reader().name();
        let sql = |sql: &str| {
            let sql = sql.to_owned();
            move || self.database.execute(&sql)
        };
        let fails = |name, reason, make: &str, repair: &str| Fault::of_server(name, reason, sql(make), sql(repair));
        vec![
            fails(
                "a revoked grant",
                "store_refused",
                &format!("REVOKE SELECT ON lease FROM {reader}"),
                &format!("GRANT SELECT ON lease TO {reader}"),
            ),
            fails(
                "row-level security",
                "store_refused",
                "ALTER TABLE lease ENABLE ROW LEVEL SECURITY",
                "ALTER TABLE lease DISABLE ROW LEVEL SECURITY",
            ),
            fails(
                "a dropped table",
                "schema_mismatch",
                "ALTER TABLE lease RENAME TO elsewhere",
                "ALTER TABLE elsewhere RENAME TO lease",
            ),
            fails(
                "a column of another name",
                "schema_mismatch",
                "ALTER TABLE lease RENAME holder TO whoever",
                "ALTER TABLE lease RENAME whoever TO holder",
            ),
            fails(
                "a slow query",
                "store_timeout",
                "ALTER TABLE lease RENAME TO kept; \
                 CREATE VIEW lease AS SELECT kept.* FROM kept, LATERAL (SELECT pg_sleep(60)) AS slow",
                "DROP VIEW lease; ALTER TABLE kept RENAME TO lease",
            ),
            Fault::of_server(
                "the connection limit",
                "store_refused",
                || {
                    self.kick();
                    self.crowd_in();
                },
                || self.send_crowd_home(),
            ),
            Fault::of_network(
                "failover to a standby",
                "store_refused",
                || {
                    proxy.lead_to(self.standby.address());
                    proxy.end_all(End::Reset);
                },
                || {
                    proxy.lead_to(self.server.address());
                    proxy.end_all(End::Reset);
                },
            ),
        ]
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        for client in self.idle_clients.get_mut() {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// The configuration of a source with a query of a database at an address.
pub(crate) fn source(database: &Database, name: &str, address: SocketAddr, timeout: &str, query: &str) -> String {
    let login = database.reader();
    let scheme = login.url().split("://").next().unwrap();
    format!(
        "  - name: {name}\n    store: {scheme}://{}@{address}/{}\n    password_file: {}\n    timeout: {timeout}\n    \
         reuse_for: 0s\n    query: \"{query}\"\n",
        login.name(),
        database.name(),
        login.password_file().display(),
    )
}

fn kick(database: &Database) {
    let reader = database.reader().name();
    database.query(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{reader}'"));
}
