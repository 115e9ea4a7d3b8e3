//! Every type that a column may have.

use super::{SOURCE, config};
use crate::harness::store::folder;
use crate::harness::{Exporter, check};
use crate::servers;

#[test]
fn every_type_that_a_column_may_have_is_read() {
    let folder = folder();
    let database = servers::postgres().database();
    database.execute(
        "CREATE TYPE mood AS ENUM ('calm'); CREATE DOMAIN named AS text; CREATE DOMAIN humour AS mood; \
         CREATE TYPE pair AS (x int); CREATE EXTENSION citext",
    );
    for (value, column) in [
        ("7::int2", "epoch"),
        ("7::int4", "epoch"),
        ("7::int8", "epoch"),
        ("7::numeric", "epoch"),
        ("'7'::text", "epoch"),
        ("'h'::varchar", "holder"),
        ("'h'::char(3)", "holder"),
        ("'h'::name", "holder"),
        ("'h'::named", "holder"),
        ("'calm'::mood", "holder"),
        ("'calm'::humour", "holder"),
        ("'calm'::citext", "holder"),
        ("gen_random_uuid()", "holder"),
        ("extract(epoch FROM now())", "renewed_at"),
        ("extract(epoch FROM now())::float8", "renewed_at"),
        ("extract(epoch FROM now())::int8", "renewed_at"),
        ("now()", "renewed_at"),
        ("now() AT TIME ZONE 'UTC'", "renewed_at"),
        ("'2026-01-01'::date", "acquired_at"),
        ("to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", "renewed_at"),
        ("interval '1 hour'", "ttl_seconds"),
        ("30", "ttl_seconds"),
        ("30.5", "ttl_seconds"),
        ("gen_random_uuid()", "progress_cursor"),
        ("now()", "progress_cursor"),
        ("1.5", "progress_cursor"),
        ("7::numeric", "due"),
    ] {
        let query = format!("SELECT now() AS store_now, 'a' AS lease, {value} AS {column}");
        let checked = check(folder.path(), &config(&database, "", &query));
        assert_eq!(checked.code, Some(0), "{value} AS {column}: {}", checked.all());
    }
    for (value, column) in [
        ("true", "due"),
        ("'{}'::jsonb", "holder"),
        ("'\\x00'::bytea", "holder"),
        ("'{1}'::int[]", "due"),
        ("ROW(1)::pair", "due"),
        ("'{calm}'::mood[]", "holder"),
    ] {
        let query = format!("SELECT now() AS store_now, 'a' AS lease, {value} AS {column}");
        let checked = check(folder.path(), &config(&database, "", &query));
        assert!(checked.stdout.contains(&format!("column {column}: wrong_type")), "{value}: {}", checked.all());
    }
}

/// The same moment, stored without a zone in Tokyo time. The zone of the session must not matter.
#[test]
fn a_timestamp_without_zone_is_of_the_declared_zone_whatever_the_sessions_is() {
    let folder = folder();
    let database = servers::postgres().database();
    for session in ["Asia/Tokyo", "America/Los_Angeles", "UTC"] {
        database.execute(&format!("ALTER ROLE {} SET timezone = '{session}'", database.reader().name()));
        for (declared, written) in [("UTC", "UTC"), ("+09:00", "Asia/Tokyo")] {
            let query = format!(
                "SELECT now() AS store_now, 'a' AS lease, 'h' AS holder, \
                 (now() - interval '7 s') AT TIME ZONE '{written}' AS renewed_at, \
                 (now() + interval '60 s') AT TIME ZONE '{written}' AS expires_at"
            );
            let more = format!("time_zone: \"{declared}\"");
            let exporter = Exporter::start(folder.path(), &config(&database, &more, &query));
            let age = exporter.scrape().of("lease_age_seconds", SOURCE, "a");
            assert_eq!(age, Some(7.0), "declared {declared}, session {session}");
        }
    }
}
