//! Replicas, which the exporter detects with minimal rights.

use super::{SOURCE, STEADY, complaint, config};
use crate::harness::store::folder;
use crate::harness::{Exporter, Metrics, eventually};
use crate::servers::{Database, Kind, Server};

const LEASE: &str = "leases:\n  - match: { lease: steady }\n";
const ACTIVE: Option<(&str, &str)> = Some(("active", "progressing"));
const REFUSED: Option<(&str, &str)> = Some(("unknown", "store_refused"));

fn of_steady(metrics: &Metrics) -> Option<(&str, &str)> {
    metrics.says(SOURCE, "steady")
}

/// A server with replication enabled.
fn primary(id: u8) -> Server {
    Server::start(Kind::MariaDb, &[&format!("server-id={id}"), "log-bin", "log-slave-updates"])
}

/// Makes a server a replica, with a named connection.
fn follow(follower: &Database, name: &str, primary: &Server) {
    follower.execute(&format!(
        "CHANGE MASTER '{name}' TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'follower', \
         MASTER_PASSWORD = 'x', MASTER_USE_GTID = slave_pos; START SLAVE '{name}'",
        primary.port()
    ));
}

/// Allows replicas of the server of this database.
fn let_follow(database: &Database) {
    database.execute("CREATE USER follower@'%' IDENTIFIED BY 'x'; GRANT REPLICATION SLAVE ON *.* TO follower@'%'");
}

/// Writes to a server and waits until its replica has applied all changes.
fn catch_up(written: &Database, follower: &Database, name: &str) {
    written.execute(&format!(
        "CREATE OR REPLACE TABLE {name}.mark (at TIMESTAMP(6)); INSERT INTO {name}.mark VALUES (NOW(6))"
    ));
    let row = format!("SELECT at FROM {name}.mark");
    let mark = written.query(&row);
    eventually("the follower to catch up", || {
        let known = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{name}' AND table_name = 'mark'"
        );
        (follower.query(&known) == "1" && follower.query(&row) == mark).then_some(())
    });
}

#[test]
fn a_replica_with_default_settings_is_refused_running_or_stopped_until_it_is_promoted() {
    let primary = primary(1);
    let database = primary.database();
    let replica = Server::start(Kind::MariaDb, &["server-id=2"]);
    let console = replica.database();
    let_follow(&database);
    follow(&console, "", &primary);
    catch_up(&database, &console, database.name());

    let here = config(&database, "", STEADY) + LEASE;
    let yaml_there = here.replace(&format!(":{}/", primary.port()), &format!(":{}/", replica.port()));
    let [here_folder, there_folder] = [folder(), folder()];
    let here = Exporter::start(here_folder.path(), &here);
    let there = Exporter::start(there_folder.path(), &yaml_there);
    for (step, told) in [
        ("SELECT 'running'", ", whose rows lag behind"),
        ("STOP SLAVE SQL_THREAD", " that was stopped"),
        ("STOP SLAVE", " that was stopped"),
        ("START SLAVE SQL_THREAD", ", whose"),
        ("STOP SLAVE; FLUSH STATUS", " that was stopped"),
        // Promoted.
        ("RESET SLAVE ALL", "believed"),
        ("FLUSH STATUS", "believed"),
    ] {
        console.execute(step);
        let expected = if told == "believed" { ACTIVE } else { REFUSED };
        assert_eq!(of_steady(&there.scrape()), expected, "{step}");
        if expected == REFUSED {
            let complaint = complaint(&yaml_there);
            assert!(complaint.starts_with(&format!("(store_refused): this server is a replica{told}")), "{complaint}");
        }
        assert_eq!(of_steady(&here.scrape()), ACTIVE, "{step}");
    }
    replica.restart();
    assert_eq!(of_steady(&there.scrape()), ACTIVE, "restarted after it was promoted");

    follow(&console, "named", &primary);
    assert_eq!(of_steady(&there.scrape()), REFUSED);
}

#[test]
fn of_two_servers_that_replicate_each_other_only_the_writable_one_is_read() {
    let servers = [primary(1), primary(2)];
    let [first, second] = [servers[0].database(), servers[1].database()];
    let_follow(&first);
    second.execute("RESET MASTER");
    follow(&second, "", &servers[0]);
    catch_up(&first, &second, first.name());
    let position = second.query("SELECT @@gtid_current_pos");
    first.execute(&format!("SET GLOBAL gtid_slave_pos = '{position}'"));
    follow(&first, "", &servers[1]);

    let yaml = config(&first, "", STEADY) + LEASE;
    let there = yaml.replace(&format!(":{}/", servers[0].port()), &format!(":{}/", servers[1].port()));
    let [here_folder, there_folder] = [folder(), folder()];
    let exporters = [Exporter::start(here_folder.path(), &yaml), Exporter::start(there_folder.path(), &there)];
    let said = || exporters.each_ref().map(|exporter| of_steady(&exporter.scrape()).map(|said| said.0 == "active"));
    catch_up(&first, &second, first.name());
    assert_eq!(said(), [Some(true), Some(false)]);
    // From now on, the other server is written to.
    catch_up(&second, &first, first.name());
    assert_eq!(said(), [Some(false), Some(true)]);
}
