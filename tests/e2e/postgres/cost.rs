//! The cost of a reading for the server and the network.

use super::{LEASES, READ, SOURCE, Table, config, says};
use crate::harness::Exporter;
use crate::harness::proxy::Proxy;
use crate::harness::store::folder;
use crate::servers;

/// Counted at the server: one reading is one statement.
#[test]
fn sixteen_scrapers_cause_one_read_per_reuse() {
    let table = Table::new();
    table.database.execute("CREATE EXTENSION pg_stat_statements");
    let read = READ.replace("leases.*", "leases.*, pg_sleep(0.2)::text = '' AS due");
    let read = read.replace("leases.*, ", "lease, holder, ").replace("::text = '' AS due", "::text AS progress_cursor");
    let yaml = config(&table.database, "", &read).replace("reuse_for: 0s", "reuse_for: 1m");
    let exporter = Exporter::start(table.folder.path(), &yaml);
    for replies in [exporter.get_at_once("/metrics", 16), exporter.get_at_once("/metrics", 16)] {
        assert!(replies.iter().all(|reply| reply.status == 200 && reply.body.contains("lease=\"sound\"")));
    }
    let counted = table.database.query(
        "SELECT sum(calls) FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid \
         WHERE d.datname = current_database() AND query LIKE '%progress_cursor%' AND query LIKE '%pg_sleep%' \
         AND query NOT LIKE '%pg_stat_statements%'",
    );
    assert_eq!(counted, "1");
}

/// Counted by a proxy, with thousands of rows and with columns of types of the database.
#[test]
fn reading_on_an_open_connection_is_one_round_trip() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute(LEASES);
    database.execute(
        "CREATE TYPE mood AS ENUM ('calm'); CREATE EXTENSION citext;
         ALTER TABLE leases ALTER COLUMN lease TYPE citext, ADD COLUMN mood mood DEFAULT 'calm';
         INSERT INTO leases (lease, holder, renewed_at)
             SELECT 'many ' || lpad(i::text, 6, '0'), 'someone', now() FROM generate_series(1, 3000) AS i;",
    );
    let proxy = Proxy::to(servers::postgres().address());
    let query = "SELECT statement_timestamp() AS store_now, lease, mood AS holder, epoch, renewed_at, expires_at, due, \
                 progress_at, progress_epoch, oldest_due_at FROM leases";
    let direct = format!(":{}/", servers::postgres().port());
    let through = format!(":{}/", proxy.address().port());
    let exporter = Exporter::start(folder.path(), &config(&database, "", query).replace(&direct, &through));
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics, "sound"), ("active", "progressing"));
    assert_eq!(metrics.leases(SOURCE).len(), 3_001);
    let opened = proxy.turns();
    for readings in 1..=3 {
        assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
        assert_eq!(proxy.turns() - opened, readings);
    }
    assert_eq!(proxy.accepted(), 1);
}
