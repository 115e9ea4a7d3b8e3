//! The metrics in both text formats, compressed and not, as others read them.

mod negotiation;
mod official;
mod prometheus;
mod recording_proxy;
mod sharing;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tempfile::TempDir;

use crate::harness::http::{self, Reply};
use crate::harness::store::{active, folder, reference};
use crate::harness::{Exporter, metrics::Series};

/// The `Accept` header of Prometheus 2.42.
const PROMETHEUS_2_42: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
    q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names with all characters that a format must escape.
const NAMES: [&str; 7] =
    ["planner", "back\\slash", "quo\"te", "line\nbreak", "# EOF", "tab\tand\rreturn", "日本-😀 {a=\"b\"} 1"];

/// An exporter with two sources: one with many leases, and an unreadable one.
struct Served {
    exporter: Exporter,
    _folder: TempDir,
}

impl Served {
    /// With the given and many more leases. All scrapes of a test share one reading.
    fn new(names: &[&str], more: usize) -> Self {
        let folder = folder();
        let store = reference(&folder.path().join("store.db"));
        let mut sql = String::from("BEGIN;");
        for name in names {
            sql.push_str(&active(&name.replace('\'', "''")));
        }
        for lease in 0..more {
            sql.push_str(&active(&format!("lease-{lease:05}")));
        }
        write!(sql, "COMMIT").unwrap();
        store.execute_batch(&sql).unwrap();
        let yaml = "sources:\n  - { name: documents, store: 'sqlite://store.db', preset: reference, reuse_for: 1m }\n  \
            - { name: billing, store: 'sqlite://missing.db', preset: reference, reuse_for: 1m }\n\
            leases:\n  - { match: { source: billing, lease: invoices }, alerts: [LeaseWorkStalled] }\n";
        Self { exporter: Exporter::start(folder.path(), yaml), _folder: folder }
    }

    fn scrape(&self, path: &str, accept: &str, encoding: &str) -> Reply {
        let headers = [("Accept", accept.to_owned()), ("Accept-Encoding", encoding.to_owned())];
        let reply = http::get(self.exporter.address(), path, &headers);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply
    }
}

/// The names and labels of all samples of a text in either format.
fn series(text: &str) -> BTreeSet<Series> {
    crate::harness::Metrics::parse(text).series().collect()
}
