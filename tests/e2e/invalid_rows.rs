//! Rows with extreme or invalid values. Each affects only its own lease.

use rusqlite::Connection;
use tempfile::TempDir;

use super::harness::store::{database, folder};
use super::harness::{Exporter, Metrics, promtool};

const SOURCE: &str = "own";

/// A table without types or constraints.
const TABLE: &str = "CREATE TABLE hostile (lease, holder, epoch, acquired_at, renewed_at, expires_at, ttl_seconds, \
    progress_at, progress_epoch, progress_cursor, due, oldest_due_at)";

/// A valid row, active for minutes.
const SOUND: &str = "INSERT INTO hostile SELECT 'sound', 'someone', 7, now - 100, now - 1, now + 600, 600, now - 2, 7, 41, 3, \
    now - 1 FROM (SELECT unixepoch('subsec') AS now)";

struct Table {
    folder: TempDir,
    connection: Connection,
}

impl Table {
    /// A table with the valid row.
    fn new() -> Self {
        let folder = folder();
        let connection = database(&folder.path().join("own.db"), TABLE);
        connection.execute_batch(SOUND).unwrap();
        Self { folder, connection }
    }

    /// Inserts a row that is valid except for the given columns.
    fn add(&self, lease: &str, faults: &[(&str, &str)]) {
        self.connection.execute_batch("CREATE TEMP TABLE made AS SELECT * FROM hostile WHERE lease = 'sound'").unwrap();
        self.connection.execute("UPDATE made SET lease = ?1", [lease]).unwrap();
        for (column, value) in faults {
            self.connection.execute_batch(&format!("UPDATE made SET {column} = {value}")).unwrap();
        }
        self.connection.execute_batch("INSERT INTO hostile SELECT * FROM made; DROP TABLE made").unwrap();
    }

    fn exporter(&self) -> Exporter {
        let yaml = format!(
            "sources:\n  - name: {SOURCE}\n    store: sqlite://own.db\n    reuse_for: 0s\n    \
             query: SELECT unixepoch('subsec') AS store_now, * FROM hostile\n"
        );
        Exporter::start(self.folder.path(), &yaml)
    }

    fn scrape(&self) -> Metrics {
        let metrics = self.exporter().scrape();
        assert_eq!(metrics.says(SOURCE, "sound"), Some(("active", "progressing")));
        assert_eq!(metrics.source("lease_source_up", SOURCE), Some(1.0));
        metrics
    }
}

/// The number of rejected rows with this reason.
pub(crate) fn rejected(metrics: &Metrics, reason: &str) -> f64 {
    metrics.counted("lease_source_rows_rejected_total", SOURCE, reason)
}

/// A column that is NULL, or several; the expected state and reason; and the metric that is absent.
pub(crate) type NullCase = (&'static str, (&'static str, &'static str), Option<&'static str>);

/// A NULL in each column that a lease can be without.
pub(crate) const NULL_CASES: [NullCase; 11] = [
    ("holder", ("no_leader", "released"), Some("lease_age_seconds")),
    ("epoch", ("unknown", "invalid_record"), Some("lease_epoch")),
    ("acquired_at", ("active", "progressing"), Some("lease_held_seconds")),
    ("renewed_at", ("active", "progressing"), Some("lease_age_seconds")),
    ("expires_at", ("active", "progressing"), None),
    ("ttl_seconds", ("active", "progressing"), None),
    ("progress_at", ("unknown", "not_observed_yet"), Some("lease_last_progress_age_seconds")),
    ("progress_epoch", ("unknown", "invalid_record"), Some("lease_last_progress_epoch")),
    ("progress_cursor", ("active", "progressing"), None),
    ("due", ("active", "progressing"), Some("lease_due")),
    ("oldest_due_at", ("active", "progressing"), Some("lease_oldest_due_age_seconds")),
];

/// Checks the leases of a source that has one lease for each case, named after it.
pub(crate) fn assert_null_is_unknown(metrics: &Metrics, cases: &[NullCase]) {
    for (column, expected, absent) in cases {
        assert_eq!(metrics.says(SOURCE, column), Some(*expected), "{column} = NULL");
        if let Some(absent) = absent {
            assert_eq!(metrics.of(absent, SOURCE, column), None, "{column} = NULL, and yet there is {absent}");
        }
    }
}

#[test]
fn null_means_unknown_in_every_column_and_never_zero() {
    let table = Table::new();
    let several: [NullCase; 6] = [
        ("expires_at = NULL, ttl_seconds", ("unknown", "invalid_record"), Some("lease_expires_in_seconds")),
        ("ttl_seconds = NULL, renewed_at", ("active", "progressing"), Some("lease_age_seconds")),
        ("progress_at = NULL, progress_cursor", ("unknown", "invalid_record"), Some("lease_last_progress_epoch")),
        (
            "progress_at = NULL, progress_cursor = NULL, progress_epoch",
            ("unknown", "awaiting_first_progress"),
            Some("lease_last_progress_age_seconds"),
        ),
        ("due = NULL, oldest_due_at", ("active", "progressing"), Some("lease_due")),
        (
            "holder = NULL, epoch = NULL, acquired_at = NULL, renewed_at = NULL, expires_at",
            ("no_leader", "absent"),
            Some("lease_epoch"),
        ),
    ];
    let cases = [&NULL_CASES[..], &several].concat();
    for (column, ..) in &cases {
        table.add(column, &[(column, "NULL")]);
    }
    let metrics = table.scrape();
    assert_null_is_unknown(&metrics, &cases);
    assert_eq!(metrics.source("lease_source_leases", SOURCE), Some(1.0 + cases.len() as f64));
    assert!(!metrics.text().contains("NaN"));
}

#[test]
fn a_row_without_a_name_is_counted_and_shown_nowhere() {
    let table = Table::new();
    table.add("x", &[("lease", "NULL")]);
    table.add("x", &[("lease", "''")]);
    let metrics = table.scrape();
    assert_eq!(metrics.leases(SOURCE), ["sound"]);
    assert_eq!(rejected(&metrics, "no_name"), 2.0);
}

#[test]
fn invalid_value_affects_only_its_own_lease_and_is_counted() {
    // The reason under which the row is counted, and whether its lease is known.
    let cases = [
        ("negative epoch", "epoch", "-1", "out_of_range", true),
        ("epoch with a fraction", "epoch", "1.5", "wrong_type", true),
        ("epoch of words", "epoch", "'first'", "unreadable", true),
        ("epoch beyond 64 bits", "epoch", "'18446744073709551616'", "unreadable", true),
        ("infinite renewal", "renewed_at", "9e999", "out_of_range", true),
        ("infinite expiry", "expires_at", "-9e999", "out_of_range", true),
        ("milliseconds for seconds", "progress_at", "unixepoch() * 1000", "out_of_range", true),
        ("year 50000", "oldest_due_at", "1515700000000", "out_of_range", true),
        ("time of words", "acquired_at", "'yesterday'", "unreadable", true),
        ("time in invalid UTF-8", "acquired_at", "CAST(x'ff' AS TEXT)", "unreadable", true),
        ("blob as a time", "renewed_at", "x'0102'", "wrong_type", true),
        ("blob as a holder", "holder", "x'0102'", "wrong_type", true),
        ("blob as a cursor", "progress_cursor", "x'0102'", "wrong_type", true),
        ("holder in invalid UTF-8", "holder", "CAST(x'c328' AS TEXT)", "unreadable", true),
        ("holder of 64 KiB", "holder", "hex(zeroblob(32768))", "name_too_long", true),
        ("cursor of 64 KiB", "progress_cursor", "hex(zeroblob(32768))", "out_of_range", true),
        ("negative due", "due", "-5", "out_of_range", true),
        ("no time to live", "ttl_seconds", "0", "out_of_range", true),
        ("time to live without end", "ttl_seconds", "9e999", "out_of_range", true),
        ("blob as a name", "lease", "x'0102'", "wrong_type", false),
        ("number with a fraction as a name", "lease", "1.5", "wrong_type", false),
        ("name in invalid UTF-8", "lease", "CAST(x'ff41' AS TEXT)", "unreadable", false),
        ("name of 64 KiB", "lease", "hex(zeroblob(32768))", "name_too_long", false),
    ];
    for (name, column, value, reason, told) in cases {
        let table = Table::new();
        table.add(name, &[(column, value)]);
        let exporter = table.exporter();
        let metrics = exporter.scrape();
        assert_eq!(metrics.says(SOURCE, "sound"), Some(("active", "progressing")), "{name}");
        assert_eq!(rejected(&metrics, reason), 1.0, "{name} is not counted as {reason}:\n{}", metrics.text());
        let shown = told.then_some(("unknown", "invalid_record"));
        assert_eq!(metrics.says(SOURCE, name), shown, "{name}");
        let mut leases = metrics.leases(SOURCE);
        leases.sort_unstable();
        let mut expected = vec!["sound"];
        expected.extend(told.then_some(name));
        expected.sort_unstable();
        assert_eq!(leases, expected);
        assert_eq!(metrics.of("lease_epoch", SOURCE, name), None, "{name}: part of a bad row is shown");
        promtool::accepts(metrics.text());
        // After a correction, the next scrape has the state.
        let sound = format!("UPDATE hostile SET {column} = (SELECT {column} FROM hostile WHERE lease = 'sound')");
        if told {
            table.connection.execute_batch(&format!("{sound} WHERE lease <> 'sound'")).unwrap();
            let state = exporter.scrape();
            assert_eq!(state.says(SOURCE, name), Some(("active", "progressing")), "{name}, put right");
        }
    }
}

#[test]
fn a_second_row_for_a_lease_leaves_it_unknown_and_is_counted() {
    let table = Table::new();
    table.add("twice", &[]);
    table.add("twice", &[("holder", "'another'"), ("epoch", "8")]);
    table.add("one of two unreadable", &[]);
    table.add("one of two unreadable", &[("epoch", "-1")]);
    let metrics = table.scrape();
    assert_eq!(metrics.says(SOURCE, "twice"), Some(("unknown", "invalid_record")));
    assert_eq!(metrics.says(SOURCE, "one of two unreadable"), Some(("unknown", "invalid_record")));
    assert_eq!(rejected(&metrics, "duplicate"), 2.0);
    assert_eq!(rejected(&metrics, "out_of_range"), 1.0);
    assert_eq!(metrics.of("lease_epoch", SOURCE, "twice"), None);
    promtool::accepts(metrics.text());
}

#[test]
fn an_epoch_beyond_what_a_double_holds_is_shown_to_the_digit() {
    let table = Table::new();
    let epochs = ["9007199254740993", "9223372036854775807", "'18446744073709551615'", "0"];
    for epoch in epochs {
        table.add(epoch, &[("epoch", epoch), ("progress_epoch", epoch)]);
    }
    let exporter = table.exporter();
    let (metrics, json) = (exporter.scrape(), exporter.get("/api/v1/leases").body);
    for lease in epochs {
        let digits = lease.trim_matches('\'');
        for name in ["lease_epoch", "lease_last_progress_epoch"] {
            assert_eq!(metrics.text_of(name, &[("source", SOURCE), ("lease", lease)]), Some(digits));
        }
        assert!(json.contains(&format!("\"epoch\":\"{digits}\"")), "{json}");
        assert_eq!(metrics.says(SOURCE, lease), Some(("active", "progressing")));
    }
    promtool::accepts(metrics.text());
}

#[test]
fn a_renewal_an_hour_in_the_future_is_clock_skew_and_no_age() {
    let table = Table::new();
    let future = "unixepoch() + 3600";
    table.add("renewed", &[("renewed_at", future), ("expires_at", "unixepoch() + 7200")]);
    table.add("acquired", &[("acquired_at", future)]);
    table.add("progressed", &[("progress_at", future)]);
    let metrics = table.scrape();
    for (lease, no_age) in [
        ("renewed", "lease_age_seconds"),
        ("acquired", "lease_held_seconds"),
        ("progressed", "lease_last_progress_age_seconds"),
    ] {
        assert_eq!(metrics.says(SOURCE, lease), Some(("unknown", "clock_skew")), "{lease}");
        assert_eq!(metrics.of(no_age, SOURCE, lease), None, "{lease}");
        let anomaly = [("source", SOURCE), ("lease", lease), ("anomaly", "clock_skew")];
        assert_eq!(metrics.value("lease_anomalies_total", &anomaly), Some(1.0), "{lease}");
    }
}

#[test]
fn names_with_quotes_newlines_backslashes_and_marks_come_out_escaped_everywhere() {
    let names = [
        "double \" quote",
        "single ' quote",
        "back \\ slash",
        "ends in a backslash \\",
        "new \n line",
        "spelt \\n out",
        "tab \t and return \r\n",
        "curly } and { and , and = and #",
        "# HELP lease_state forged",
        "forged\nlease_state{source=\"own\",lease=\"sound\",state=\"stalled\"} 1",
        "emoji 😀 and 日本",
        "<script>alert(1)</script>",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{202e}right to left",
        "\u{7f}delete",
        "zero \0 byte",
        " ",
        "{{ template }}",
    ];
    let table = Table::new();
    names.iter().for_each(|name| table.add(name, &[]));
    let exporter = table.exporter();
    let metrics = exporter.scrape();
    let mut expected: Vec<_> = names.iter().copied().chain(["sound"]).collect();
    expected.sort_unstable();
    assert_eq!(metrics.leases(SOURCE), expected);
    for name in expected {
        assert_eq!(metrics.says(SOURCE, name), Some(("active", "progressing")), "{name:?}");
    }
    promtool::accepts(metrics.text());

    let json: serde_json::Value = serde_json::from_str(&exporter.get("/api/v1/leases").body).unwrap();
    let leases = json["sources"][0]["leases"].as_array().unwrap();
    let mut shown: Vec<_> = leases.iter().map(|lease| lease["lease"].as_str().unwrap()).collect();
    shown.retain(|name| !names.contains(name));
    assert_eq!(shown, ["sound"]);

    let page = exporter.get("/").body;
    assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"), "{page}");
    let status =
        super::harness::run(&["status", &format!("--config.file={}/exporter.yml", table.folder.path().display())]);
    assert_eq!(status.code, Some(0), "{}", status.all());
    assert!(!page.contains("<script>alert"), "{page}");
    for (what, text) in [("the page", &page), ("the table", &status.stdout), ("the log", &exporter.log())] {
        for hostile in ["\u{1b}", "\u{202e}", "\u{7f}", "\r", "\0", "new \n line"] {
            assert!(!text.contains(hostile), "{hostile:?} is in {what}:\n{text}");
        }
    }
}
