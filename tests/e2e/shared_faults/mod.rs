//! Everything that can befall a server and the way to it: the exporter says so at that very scrape, of that source alone,
//! and knows again at the first scrape after it.
//!
//! Each kind of server has two sources with the same lease in one exporter, one of them by way of a proxy, and beside them
//! one of SQLite that nothing befalls. Fault after fault is made and repaired under that exporter.

mod backend;
mod leftovers;
pub(crate) mod mariadb;
mod matrix;
pub(crate) mod postgres;
pub(crate) mod redis;

use super::servers::Kind;

#[test]
fn whatever_befalls_a_postgresql_is_told_and_is_over_once_it_is() {
    if !Kind::Postgres.is_left_out() {
        matrix::run(&postgres::Postgres::start());
    }
}

#[test]
fn whatever_befalls_a_mariadb_is_told_and_is_over_once_it_is() {
    if !Kind::MariaDb.is_left_out() {
        matrix::run(&mariadb::MariaDb::start());
    }
}

#[test]
fn whatever_befalls_a_redis_is_told_and_is_over_once_it_is() {
    if !Kind::Redis.is_left_out() {
        matrix::run(&redis::Redis::start(Kind::Redis));
    }
}

#[test]
fn whatever_befalls_a_valkey_is_told_and_is_over_once_it_is() {
    if !Kind::Valkey.is_left_out() {
        matrix::run(&redis::Redis::start(Kind::Valkey));
    }
}
