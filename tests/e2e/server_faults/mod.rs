//! Everything that can befall a server and the way to it: the exporter says so at that very scrape, of that source alone,
//! and knows again at the first scrape after it.
//!
//! Each kind of server has two sources with the same lease in one exporter, one of them by way of a proxy, and beside them
//! one of SQLite that nothing befalls. Fault after fault is made and repaired under that exporter.

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
