//! A fixed set of snapshots with leases in every state.
//!
//! Each source is read 29 times at intervals of 15 s, so that trackers and histories have content. All times are fixed.

use std::sync::Arc;
use std::time::Duration;

use crate::expose::page::PageClock;
use crate::history::History;
use crate::lease::{
    Alert, Clock, Column, Columns, Cursor, Epoch, LeaseKind, LeaseRecord, Policies, Policy, ReadFailure, ReadInterval,
    Reading, RecordFault, RecordSet, RejectedRecord, Rules, SourceEvaluator, SourceSnapshot, StoreTime, TokenKey, Work,
};

/// The store's clock at the last reading, in Unix seconds: 2027-01-15T08:00:00Z.
pub(crate) const NOW: i64 = 1_800_000_000;
/// A name with markup, a line feed, template syntax and direction marks.
pub(crate) const HOSTILE_NAME: &str = "\"><script>alert('1')</script>\n{{7*7}}\u{202e}gnp.\u{200f}&amp;😀";

/// How long each reading took.
const TOOK: Duration = Duration::from_millis(3);
/// The exporter's monotonic clock at the last reading, in seconds.
const UPTIME: i64 = 100_000;
const READINGS: i64 = 29;
const INTERVAL: i64 = 15;

/// Every source: `documents` and `cache` with elections, `jobs` with claims, `workers` with a registry, and `billing`,
/// which could not be read.
pub(crate) fn all() -> Vec<SourceSnapshot> {
    with_history().into_iter().map(|(snapshot, _)| snapshot).collect()
}

/// The same snapshots with the histories of their sources. `jobs` was not observed for a while.
pub(crate) fn with_history() -> Vec<(SourceSnapshot, History)> {
    vec![documents(), cache(), jobs(), workers(), billing()]
}

/// The time of the last reading.
pub(crate) fn now() -> PageClock {
    PageClock { unix_seconds: 1_800_000_000.0, monotonic: Duration::from_secs(UPTIME.unsigned_abs()) }
}

fn billing() -> (SourceSnapshot, History) {
    let (mut evaluator, mut history) = (evaluator("billing", LeaseKind::Standing, Clock::Store), History::default());
    let snapshot = evaluator.fail(ReadFailure::Unreachable, Duration::from_millis(12));
    history.record(&snapshot, at(NOW - INTERVAL).end);
    let snapshot = evaluator.fail(ReadFailure::Timeout, Duration::from_secs(5));
    history.record(&snapshot, at(NOW).end);
    (snapshot, history)
}

/// A source with this many active leases.
pub(crate) fn many(leases: usize) -> SourceSnapshot {
    let row = |number| LeaseRecord {
        due: Some(0),
        ..held(&format!("lease-{number:05}"), 1, NOW - 3600, NOW - 2, NOW - 4, 1)
    };
    let rows = (0..leases).map(row).collect();
    evaluator("many", LeaseKind::Standing, Clock::Store).evaluate(reading(NOW, Columns::all(), rows), TOOK)
}

fn documents() -> (SourceSnapshot, History) {
    let mut evaluator = evaluator("documents", LeaseKind::Standing, Clock::Store);
    observed(always, |now, last| {
        let mut rows = vec![
            LeaseRecord {
                due: Some(3),
                oldest_due_at: time(now - 6),
                ..held("planner", 42, NOW - 90_000, now - 2, now - 4, 42)
            },
            LeaseRecord {
                due: Some(14),
                oldest_due_at: time(NOW - 432),
                ..held("retention", 17, NOW - 7_380, now - 2, NOW - 432, 17)
            },
            LeaseRecord { due: Some(0), ..held("index", 7, NOW - 260_000, now - 3, NOW - 8_000, 7) },
            LeaseRecord {
                due: Some(2),
                oldest_due_at: time(NOW - 100),
                ..held("webhooks", 5, NOW - 9_000, (now - 2).min(NOW - 110), (now - 4).min(NOW - 130), 5)
            },
            LeaseRecord { holder: None, expires_at: None, ..held("mailer", 12, NOW - 5_000, NOW - 600, NOW - 620, 12) },
            // A new leader acquired the lease 20 s ago, and has made no progress yet.
            if now < NOW - 20 {
                held("thumbnails", 8, NOW - 9_000, now - 1, (now - 2).min(NOW - 50), 8)
            } else {
                let row = held("thumbnails", 9, NOW - 20, now - 1, NOW - 50, 8);
                LeaseRecord { holder: Some("worker-b".into()), due: Some(2), oldest_due_at: time(NOW - 40), ..row }
            },
            // The store was restored from a backup, so the epoch goes backwards.
            {
                let epoch = if last { 30 } else { 31 };
                held("compaction", epoch, NOW - 40_000, now - 2, now - 9, epoch)
            },
            LeaseRecord { due: Some(1), ..held(HOSTILE_NAME, 2, NOW - 1_000, now - 1, now - 1, 2) },
        ];
        rows.sort_by(|one, other| one.lease.cmp(&other.lease));
        let mut reading = Reading { clock_offset: 0.002, ..reading(now, Columns::all(), rows) };
        if last {
            reading.records.over_limit = 3;
            reading.records.last_kept = Some("zones".into());
            reading.records.rejected = vec![RejectedRecord {
                lease: Some("zones".into()),
                column: Column::RenewedAt,
                fault: RecordFault::OutOfRange,
            }];
        }
        evaluator.evaluate(reading, TOOK)
    })
}

/// Leases whose progress is a cursor without a time, so that its age follows from observation only.
fn cache() -> (SourceSnapshot, History) {
    let columns = [
        Column::StoreNow,
        Column::Lease,
        Column::Holder,
        Column::Epoch,
        Column::RenewedAt,
        Column::TtlSeconds,
        Column::ProgressCursor,
    ];
    let columns = columns.into_iter().collect();
    let mut evaluator = evaluator("cache", LeaseKind::Standing, Clock::Store);
    observed(always, |now, _| {
        let row = |lease: &str, epoch, cursor| LeaseRecord {
            ttl: Some(Duration::from_secs(30)),
            progress_cursor: Some(Cursor::Number(cursor)),
            expires_at: None,
            acquired_at: None,
            progress_at: None,
            progress_epoch: None,
            ..held(lease, epoch, 0, now - 4, 0, 0)
        };
        let rows = vec![row("audit-log", 3, 77), row("sessions", 4, now), row("tags", 4, 1_024)];
        evaluator.evaluate(Reading { clock_offset: -1.25, ..reading(now, columns, rows) }, TOOK)
    })
}

fn jobs() -> (SourceSnapshot, History) {
    use Column::{AcquiredAt, Due, ExpiresAt, Holder, Lease, OldestDueAt, ProgressAt, StoreNow};
    let columns = [StoreNow, Lease, Holder, AcquiredAt, ExpiresAt, ProgressAt, Due, OldestDueAt].into_iter().collect();
    let mut evaluator = evaluator("jobs", LeaseKind::Claim, Clock::Holder);
    observed(
        |step| !(9..19).contains(&step),
        |now, _| {
            let job = |lease: &str| LeaseRecord { lease: Some(lease.into()), ..LeaseRecord::default() };
            let rows = vec![
                LeaseRecord {
                    due: Some(4),
                    oldest_due_at: time(NOW - 1_260),
                    progress_at: time(NOW - 4_860),
                    ..job("hourly-sync")
                },
                LeaseRecord { due: Some(0), progress_at: time(NOW - 21_000), ..job("nightly-invoices") },
                LeaseRecord {
                    holder: Some("app-2".into()),
                    acquired_at: time(NOW - 4_000),
                    expires_at: time(NOW + 600),
                    progress_at: time(now - 7),
                    due: Some(120),
                    oldest_due_at: time(NOW - 200),
                    ..job("reindex")
                },
            ];
            evaluator.evaluate(reading(now, columns, rows), TOOK)
        },
    )
}

fn workers() -> (SourceSnapshot, History) {
    use Column::{Holder, Lease, ProgressAt, RenewedAt, StoreNow, TtlSeconds};
    let columns = [StoreNow, Lease, Holder, RenewedAt, TtlSeconds, ProgressAt].into_iter().collect();
    let mut evaluator = evaluator("workers", LeaseKind::Registry, Clock::Holder);
    observed(always, |now, _| {
        let beat = |holder: &str, renewed: i64| LeaseRecord {
            lease: Some("scheduler".into()),
            holder: Some(holder.into()),
            renewed_at: time(renewed),
            ttl: Some(Duration::from_secs(60)),
            progress_at: time(now - 8),
            ..LeaseRecord::default()
        };
        let rows = vec![beat("host-1", now - 5), beat("host-2", now - 11), beat("host-3", NOW - 4_000)];
        evaluator.evaluate(reading(now, columns, rows), TOOK)
    })
}

/// Reads 29 times. Returns the last snapshot, and the history of those readings for which `is_observed` holds.
fn observed(
    is_observed: impl Fn(i64) -> bool,
    mut read: impl FnMut(i64, bool) -> SourceSnapshot,
) -> (SourceSnapshot, History) {
    let mut history = History::default();
    let mut observe = |step: i64| {
        let now = NOW - step * INTERVAL;
        let snapshot = read(now, step == 0);
        if is_observed(step) {
            history.record(&snapshot, at(now).end);
        }
        snapshot
    };
    for step in (1..READINGS).rev() {
        observe(step);
    }
    (observe(0), history)
}

const fn always(_: i64) -> bool {
    true
}

fn evaluator(source: &str, kind: LeaseKind, clock: Clock) -> SourceEvaluator {
    let rules = Rules {
        kind,
        clock,
        clock_skew: Duration::from_secs(2),
        max_leases: Rules::MAX_LEASES,
        resolution: Duration::ZERO,
    };
    SourceEvaluator::new(source.into(), rules, TokenKey::new(b"a fixed key"), Arc::new(FixedPolicies(source.into())))
}

fn reading(now: i64, columns: Columns, accepted: Vec<LeaseRecord>) -> Reading {
    Reading {
        interval: at(now),
        store_now: StoreTime::from_unix_seconds(now).unwrap(),
        clock_offset: 0.0,
        columns,
        records: RecordSet { accepted, ..RecordSet::default() },
    }
}

/// A row of a lease that expires in about 13 s.
fn held(lease: &str, epoch: u64, acquired: i64, renewed: i64, progress: i64, progress_epoch: u64) -> LeaseRecord {
    LeaseRecord {
        lease: Some(lease.into()),
        holder: Some("worker-a".into()),
        epoch: Some(Epoch(epoch)),
        acquired_at: time(acquired),
        renewed_at: time(renewed),
        expires_at: time(renewed + 15),
        progress_at: time(progress),
        progress_epoch: Some(Epoch(progress_epoch)),
        ..LeaseRecord::default()
    }
}

fn time(seconds: i64) -> Option<StoreTime> {
    StoreTime::from_unix_seconds(seconds).ok()
}

/// The exporter's monotonic clock during a reading, which takes 3 ms.
fn at(now: i64) -> ReadInterval {
    let began = Duration::from_secs(now.abs_diff(NOW - UPTIME));
    ReadInterval { start: began, end: began + Duration::from_millis(3) }
}

#[derive(Debug)]
struct FixedPolicies(Arc<str>);

impl Policies for FixedPolicies {
    fn policy(&self, lease: &str) -> Arc<Policy> {
        let policy = Policy::default();
        Arc::new(match lease {
            "retention" => Policy { alerts: [Alert::WorkStalled, Alert::NoLeader].into_iter().collect(), ..policy },
            "reindex" => Policy { overdue_after: Some(Duration::from_secs(1_800)), ..policy },
            "tags" => Policy { work: Work::Continuous, ..policy },
            "scheduler" => Policy { work: Work::Cadence(Duration::from_secs(60)), ..policy },
            _ => policy,
        })
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        match &*self.0 {
            "billing" => vec!["invoice-close".into()],
            _ => Vec::new(),
        }
    }
}
