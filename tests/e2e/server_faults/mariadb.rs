//! MariaDB and its own faults.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use super::backend::{Backend, Fault, HOLDER, LEASE, idle_clients};
use super::postgres::source;
use crate::harness::eventually;
use crate::harness::proxy::Proxy;
use crate::servers::{Database, Kind, Server};

pub(super) struct MariaDb {
    database: Database,
    server: Server,
    idle_clients: RefCell<Vec<TcpStream>>,
}

/// The query of the source.
pub(super) const QUERY: &str =
    "SELECT UTC_TIMESTAMP(6) AS store_now, lease.* FROM (SELECT 1) AS one LEFT JOIN lease ON true";

/// A table with the lease.
pub(super) fn table() -> String {
    format!(
        "CREATE TABLE lease (lease varchar(100), holder varchar(100), epoch bigint, acquired_at datetime(6), \
         renewed_at datetime(6), expires_at datetime(6), progress_at datetime(6), progress_epoch bigint, due bigint); \
         INSERT INTO lease VALUES ('{LEASE}', '{HOLDER}', 7, UTC_TIMESTAMP(6) - INTERVAL 9 SECOND, UTC_TIMESTAMP(6), \
         UTC_TIMESTAMP(6) + INTERVAL 1 DAY, UTC_TIMESTAMP(6), 7, 3)"
    )
}

/// The number of connections of the reader.
pub(crate) fn connections(database: &Database) -> usize {
    sessions(database, database.reader().name())
}

fn sessions(database: &Database, user: &str) -> usize {
    let count = format!("SELECT count(*) FROM information_schema.processlist WHERE user = '{user}'");
    database.query(&count).parse().unwrap()
}

impl MariaDb {
    pub(super) fn start() -> Self {
        // The idle connections do not log in, which the server times out.
        let server = Server::start(Kind::MariaDb, &["max_connections=10", "connect_timeout=120"]);
        let database = server.database();
        database.execute(&table());
        Self { database, server, idle_clients: RefCell::default() }
    }
}

impl Backend for MariaDb {
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
        self.database.execute(&format!("KILL USER {}", self.database.reader().name()));
    }

    fn connections(&self) -> usize {
        connections(&self.database)
    }

    fn faults<'a>(&'a self, _: &'a Proxy) -> Vec<Fault<'a>> {
        let (name, reader) = (self.database.name(), self.database.reader().name());
        let sql = |sql: &str| {
            let sql = sql.to_owned();
            move || self.database.execute(&sql)
        };
        let fails = |name, reason, make: &str, repair: &str| Fault::of_server(name, reason, sql(make), sql(repair));
        vec![
            fails(
                "a revoked grant",
                "store_refused",
                // A connection keeps the rights of its database from the time of its selection.
                &format!("REVOKE SELECT ON {name}.* FROM {reader}@'%'; KILL USER {reader}"),
                &format!("GRANT SELECT ON {name}.* TO {reader}@'%'"),
            ),
            fails(
                "a dropped table",
                "schema_mismatch",
                "RENAME TABLE lease TO elsewhere",
                "RENAME TABLE elsewhere TO lease",
            ),
            fails(
                "a column of another name",
                "schema_mismatch",
                "ALTER TABLE lease RENAME COLUMN holder TO whoever",
                "ALTER TABLE lease RENAME COLUMN whoever TO holder",
            ),
            fails(
                "a slow query",
                "store_timeout",
                "RENAME TABLE lease TO kept; CREATE VIEW lease AS SELECT * FROM kept WHERE SLEEP(60) = 0",
                "DROP VIEW lease; RENAME TABLE kept TO lease",
            ),
            Fault::of_server(
                "the connection limit",
                "store_refused",
                || {
                    self.kick();
                    eventually("the reader to be gone", || (self.connections() == 0).then_some(()));
                    *self.idle_clients.borrow_mut() = idle_clients(&self.server);
                },
                || {
                    self.idle_clients.borrow_mut().clear();
                    eventually("the idle clients to be gone", || {
                        (sessions(&self.database, "unauthenticated user") == 0).then_some(())
                    });
                },
            ),
            fails(
                "failover to a read-only one",
                "store_refused",
                "SET GLOBAL read_only = 1",
                "SET GLOBAL read_only = 0",
            ),
        ]
    }
}
