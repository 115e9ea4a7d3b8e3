//! Faults of servers and of the connections to them: the next scrape reports each fault, for the affected source only, and
//! the first scrape after the repair has the state again.
//!
//! For each kind of server, one exporter reads the same lease through two sources, one of them through a proxy, and an
//! SQLite file without faults. The faults are applied and repaired one after another.

mod backend;
pub(crate) mod mariadb;
mod matrix;
pub(crate) mod postgres;
pub(crate) mod redis;
mod resource_leaks;

use super::servers::Kind;

#[test]
fn every_fault_of_postgresql_is_reported_until_it_is_repaired() {
    if !Kind::Postgres.is_left_out() {
        matrix::run(&postgres::Postgres::start());
    }
}

#[test]
fn every_fault_of_mariadb_is_reported_until_it_is_repaired() {
    if !Kind::MariaDb.is_left_out() {
        matrix::run(&mariadb::MariaDb::start());
    }
}

#[test]
fn every_fault_of_redis_is_reported_until_it_is_repaired() {
    if !Kind::Redis.is_left_out() {
        matrix::run(&redis::Redis::start(Kind::Redis));
    }
}

#[test]
fn every_fault_of_valkey_is_reported_until_it_is_repaired() {
    if !Kind::Valkey.is_left_out() {
        matrix::run(&redis::Redis::start(Kind::Valkey));
    }
}
