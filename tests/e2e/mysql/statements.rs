//! A source with several statements: the stored version decides which one is sent.

use std::time::Duration;

use lease_exporter::lease::Epoch;
use lease_exporter::store::kind::StoreConfig as _;
use lease_exporter::store::mysql::Database;
use lease_exporter::store::{Host, PasswordFile, ReadError, Scope, Server, SessionZone, Statement, Tls, Zone};
use tokio::time::Instant;

use crate::servers;

#[tokio::test]
async fn the_statement_is_chosen_at_each_reading_by_what_is_stored() {
    let server = servers::mariadb();
    let database = server.database();
    database.execute("CREATE TABLE version (number INT); INSERT INTO version VALUES (2)");
    let variant = |name: &str, epoch: u64| {
        (name.into(), format!("SELECT UTC_TIMESTAMP(6) AS store_now, 'x' AS holder, {epoch} AS epoch").into())
    };
    let login = database.reader();
    let source = Database {
        server: Server {
            host: Host::Tcp { name: "127.0.0.1".into(), port: server.port() },
            user: Some(login.name().into()),
            password: Some(PasswordFile::new(login.password_file().into())),
            tls: Tls::Off,
        },
        name: database.name().into(),
        statement: Statement::Probed {
            probe: "SELECT CASE number WHEN 2 THEN 'two' WHEN 3 THEN 'three' ELSE number END FROM version; \n".into(),
            variants: [variant("two", 2), variant("three", 3)].into(),
        },
        time_zone: Zone::UTC,
        session_time_zone: SessionZone::default(),
    };
    let mut store = source.store(Scope { only_lease: "own".into(), max_leases: 1 });
    let deadline = || Instant::now() + Duration::from_secs(60);
    for epoch in [2, 3, 2] {
        database.execute(&format!("UPDATE version SET number = {epoch}"));
        let output = store.read(deadline()).await.unwrap();
        assert_eq!(output.records.accepted[0].epoch, Some(Epoch(epoch)));
    }
    for unknown in ["UPDATE version SET number = 4", "UPDATE version SET number = NULL", "DELETE FROM version"] {
        database.execute(unknown);
        let error = store.read(deadline()).await.unwrap_err();
        assert!(
            matches!(&error, ReadError::SchemaMismatch(text) if text.ends_with("two, three")),
            "{unknown}: {error}"
        );
    }
}
