//! Rows with extreme or invalid values, and the content that is never shown.

use super::{LEASES, READ, SOURCE, Table, config, refused, rejected, says};
use crate::harness::store::folder;
use crate::harness::{Exporter, promtool};
use crate::servers;

#[test]
fn invalid_value_affects_only_its_own_lease_and_is_counted() {
    let table = Table::new();
    let cases = [
        ("negative epoch", "epoch = -1", "out_of_range"),
        ("epoch with a fraction", "epoch = 1.5", "wrong_type"),
        ("epoch that is none", "epoch = 'NaN'", "wrong_type"),
        ("epoch beyond 64 bits", "epoch = 18446744073709551616", "out_of_range"),
        ("infinite renewal", "renewed_at = 'infinity'", "out_of_range"),
        ("renewal before all time", "renewed_at = '-infinity'", "out_of_range"),
        ("year 20000", "oldest_due_at = '20000-01-01'", "out_of_range"),
        ("4713 BC", "acquired_at = '4713-01-01 BC'", "out_of_range"),
        ("holder of 64 KiB", "holder = repeat('x', 65536)", "name_too_long"),
        ("cursor of 64 KiB", "progress_cursor = repeat('x', 65536)", "out_of_range"),
        ("negative due", "due = -5", "out_of_range"),
        ("no time to live", "ttl_seconds = 0", "out_of_range"),
        ("time to live without end", "ttl_seconds = 'infinity'", "out_of_range"),
    ];
    for (name, change, _) in cases {
        table.add(name, change);
    }
    table.add("x", "lease = repeat('x', 65536)");
    table.add("x", "lease = NULL");
    let exporter = table.exporter();
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics, "sound"), ("active", "progressing"));
    for (name, ..) in cases {
        assert_eq!(says(&metrics, name), ("unknown", "invalid_record"), "{name}");
        assert_eq!(metrics.of("lease_epoch", SOURCE, name), None, "{name}: part of a bad row is shown");
    }
    for reason in ["out_of_range", "wrong_type"] {
        let expected = cases.iter().filter(|(_, _, counted)| *counted == reason).count();
        assert_eq!(rejected(&metrics, reason), expected as f64, "{reason}");
    }
    assert_eq!((rejected(&metrics, "name_too_long"), rejected(&metrics, "no_name")), (2.0, 1.0));
    assert_eq!(metrics.leases(SOURCE).len(), cases.len() + 1);
    promtool::accepts(metrics.text());
    table.database.execute("DELETE FROM leases WHERE lease <> 'sound' OR lease IS NULL");
    for (name, ..) in cases {
        table.add(name, "due = 3");
    }
    let metrics = exporter.scrape();
    for (name, ..) in cases {
        assert_eq!(says(&metrics, name), ("active", "progressing"), "{name}, put right");
    }
}

#[test]
fn unusual_but_possible_values_are_shown_unchanged() {
    let table = Table::new();
    let epochs = ["9007199254740993", "9223372036854775807", "18446744073709551615", "0"];
    for epoch in epochs {
        table.add(epoch, &format!("epoch = {epoch}, progress_epoch = {epoch}"));
    }
    table.add("before 1970", "acquired_at = '1969-07-20', progress_at = '1969-07-20'");
    table.add("tomorrow", "renewed_at = now() + interval '1 day', expires_at = now() + interval '2 days'");
    table.add("control \u{1b}[31m and \n line", "due = 0");
    for column in ["holder", "epoch", "renewed_at", "progress_at", "due", "oldest_due_at"] {
        table.add(&format!("null {column}"), &format!("{column} = NULL"));
    }
    table.add("twice", "due = 0");
    table.add("twice", "due = 1");
    let metrics = table.exporter().scrape();
    for epoch in epochs {
        assert_eq!(metrics.text_of("lease_epoch", &[("source", SOURCE), ("lease", epoch)]), Some(epoch));
        assert_eq!(says(&metrics, epoch), ("active", "progressing"), "{epoch}");
    }
    for (lease, expected) in [
        ("before 1970", ("unknown", "invalid_record")),
        ("tomorrow", ("unknown", "clock_skew")),
        ("control \u{1b}[31m and \n line", ("active", "progressing")),
        ("null holder", ("no_leader", "released")),
        ("null epoch", ("unknown", "invalid_record")),
        ("null renewed_at", ("active", "progressing")),
        ("null progress_at", ("unknown", "not_observed_yet")),
        ("null due", ("active", "progressing")),
        ("twice", ("unknown", "invalid_record")),
    ] {
        assert_eq!(says(&metrics, lease), expected, "{lease}");
    }
    assert_eq!(rejected(&metrics, "duplicate"), 2.0);
    promtool::accepts(metrics.text());
}

#[test]
fn rows_that_row_level_security_would_hide_are_noticed() {
    let table = Table::new();
    let exporter = table.exporter();
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
    table.database.execute("ALTER TABLE leases ENABLE ROW LEVEL SECURITY");
    assert_eq!(says(&exporter.scrape(), "sound"), ("unknown", "store_refused"));
    let line = exporter.process().stderr.wait_for("reason=store_refused");
    assert!(line.contains("row-level security hides rows") && line.contains("leases"), "{line}");
    table.database.execute(&format!("ALTER ROLE {} BYPASSRLS", table.database.reader().name()));
    assert_eq!(says(&exporter.scrape(), "sound"), ("active", "progressing"));
}

/// A database without an encoding accepts any bytes as text.
#[test]
fn a_text_in_invalid_utf8_costs_its_own_lease_alone() {
    let table = Table::new();
    let name = format!("{}_ascii", table.database.name());
    table.database.execute(&format!(
        "CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    table.database.execute(&format!(
        "\\connect {name}\n{LEASES} GRANT SELECT ON leases TO {};
         INSERT INTO leases SELECT 'holder', E'\\xc3\\x28', 7, acquired_at, renewed_at, expires_at FROM leases;
         INSERT INTO leases SELECT E'\\xff\\xfe', 'h', 7, acquired_at, renewed_at, expires_at FROM leases LIMIT 1;",
        table.database.reader().name()
    ));
    let yaml =
        config(&table.database, "", READ).replace(&format!("/{}\n", table.database.name()), &format!("/{name}\n"));
    let exporter = Exporter::start(table.folder.path(), &yaml);
    let metrics = exporter.scrape();
    assert_eq!(says(&metrics, "sound"), ("active", "progressing"), "{}", exporter.log());
    assert_eq!(says(&metrics, "holder"), ("unknown", "invalid_record"));
    assert_eq!((metrics.leases(SOURCE).len(), rejected(&metrics, "unreadable")), (2, 2.0));
    drop(exporter);
    table.database.execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
}

/// A quoted name in a message of the server may be a value of a row.
#[test]
fn no_value_of_a_row_is_told_as_a_name() {
    let (folder, database) = (folder(), servers::postgres().database());
    database.execute(
        "CREATE TABLE job (secret text); INSERT INTO job VALUES ('planted');
         CREATE FUNCTION raised(code text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'column % does not exist', (SELECT secret FROM job) USING ERRCODE = code;
         END $$;",
    );
    for value in ["secret::regclass::text", "raised('42703')", "raised('42501')", "raised('42P01')", "raised('P0001')"]
    {
        let query = format!("SELECT now() AS store_now, {value} AS lease FROM job");
        let line = refused(folder.path(), &config(&database, "", &query));
        assert!(!line.contains("planted"), "{value}: {line}");
    }
}
