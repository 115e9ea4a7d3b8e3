//! The time zone of a server, a database or a session does not change the result.

use super::airflow::Version;
use super::cases::{Case, Sql, System};
use super::servers;
use super::{airflow, db_scheduler, quartz, river, shedlock};

const ZONES: [&str; 2] = ["Asia/Tokyo", "America/Los_Angeles"];

/// The presets of servers with their cases.
fn systems(sql: Sql) -> Vec<(System, &'static [Case])> {
    let mut systems = vec![
        (shedlock::system(sql), shedlock::CASES),
        (db_scheduler::system(sql), db_scheduler::CASES),
        (quartz::system(sql), quartz::CASES),
        (airflow::system(sql, Version::ThreeFlagged), airflow::CASES),
    ];
    if sql == Sql::Postgres {
        systems.push((river::system(), river::CASES));
    }
    systems
}

#[test]
fn the_zone_of_a_postgresql_database_and_of_its_reader_changes_nothing() {
    for (system, cases) in systems(Sql::Postgres) {
        let (name, reader) = (system.database.name(), system.database.reader().name());
        for (database, role) in [(ZONES[0], ZONES[1]), (ZONES[1], ZONES[0])] {
            system.database.execute(&format!(
                "ALTER DATABASE {name} SET timezone = '{database}'; ALTER ROLE {reader} SET timezone = '{role}';"
            ));
            system.check(cases);
        }
    }
}

#[test]
fn the_zone_of_a_mariadb_server_changes_nothing() {
    let server = servers::Server::start(servers::Kind::MariaDb, &["default_time_zone=+09:00"]);
    for (system, cases) in systems(Sql::Mysql) {
        let system = system.moved_to(server.database());
        system.check(cases);
    }
}
