//! Exporters that read the same store, each with other columns.

use std::sync::Arc;
use std::time::Duration;

use lease_exporter::lease::{
    Clock, Column, LeaseKind, Policies, Policy, ReadFailure, Reason, Rules, SourceEvaluator, SourceSnapshot, TokenKey,
    Work,
};
use lease_exporter::preset::Preset;
use lease_exporter::store::Scope;
use lease_exporter::store::sqlite::SqliteQuery;
use rusqlite::Connection;

use crate::oracle::Oracle;
use crate::random::Random;
use crate::world::{LEASE, STALL_AFTER};

/// The columns and the settings of one exporter.
#[derive(Debug)]
pub struct View {
    pub name: &'static str,
    /// The columns of the reference preset that its query lacks.
    without: &'static [&'static str],
    work: Work,
    /// The reasons with which its state may be `unknown`.
    allowed_reasons: &'static [Reason],
}

const ALWAYS: [Reason; 3] = [Reason::StoreTimeout, Reason::AwaitingFirstProgress, Reason::ProgressWithoutAuthority];

pub static VIEWS: [View; 6] = [
    View { name: "whole", without: &[], work: Work::Unstated, allowed_reasons: &ALWAYS },
    View {
        name: "cursor alone",
        without: &["progress_at"],
        work: Work::Unstated,
        allowed_reasons: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View { name: "times alone", without: &["progress_cursor"], work: Work::Unstated, allowed_reasons: &ALWAYS },
    View {
        name: "no acquisition",
        without: &["acquired_at"],
        work: Work::Unstated,
        allowed_reasons: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View {
        name: "whose progress",
        without: &["progress_epoch", "acquired_at", "progress_at"],
        work: Work::Unstated,
        allowed_reasons: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View {
        name: "due unknown",
        without: &["due", "oldest_due_at"],
        work: Work::Unstated,
        allowed_reasons: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::DueUnknown],
    },
];

/// A defect of the exporter that the oracle must notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutation {
    #[default]
    None,
    /// If the source cannot be read, the last snapshot is served.
    StaleReading,
    /// If the source cannot be read, the lease has no leader.
    FailureAsNoLeader,
    /// Progress of any epoch counts as progress of the current one.
    ProgressOfAnyEpoch,
    /// A renewal counts as progress.
    RenewalAsProgress,
    /// No work is due.
    NoDueWork,
    /// The lease expires three seconds late.
    LateExpiry,
    /// `stall_after` is too long.
    LongStallAfter,
    /// `stall_after` is too short.
    ShortStallAfter,
    /// Due work has waited since the acquisition.
    DueSinceAcquisition,
    /// A cursor that is read for the first time counts as progress made now.
    FirstReadingAsProgress,
}

#[derive(Debug)]
struct OnePolicy(Arc<Policy>);

impl Policies for OnePolicy {
    fn policy(&self, _: &str) -> Arc<Policy> {
        Arc::clone(&self.0)
    }

    fn expected_leases(&self) -> Vec<Arc<str>> {
        vec![LEASE.into()]
    }
}

#[derive(Debug)]
pub struct Exporter {
    view: &'static View,
    mutation: Mutation,
    query: SqliteQuery,
    evaluator: SourceEvaluator,
    last: Option<SourceSnapshot>,
    scrape_at: Duration,
}

impl Exporter {
    pub fn new(view: &'static View, mutation: Mutation, random: &mut Random) -> Self {
        Self {
            view,
            mutation,
            query: SqliteQuery::new(
                sql(view, mutation).into(),
                Scope { only_lease: "documents".into(), max_leases: 10 },
            ),
            evaluator: evaluator(view, mutation),
            last: None,
            scrape_at: Duration::from_secs(1_000) + random.millis(0, 5_000),
        }
    }

    /// Scrapes once `scrape_at` is reached, and has the oracle check the snapshot.
    pub fn scrape(
        &mut self,
        now: Duration,
        connection: &Connection,
        unreachable: bool,
        random: &mut Random,
        oracle: &mut Oracle,
    ) -> Result<Option<String>, String> {
        if now < self.scrape_at {
            return Ok(None);
        }
        // Mostly every few seconds; now and then Prometheus stays away for a while, or the exporter restarts.
        self.scrape_at =
            now + if random.once_in(20) { random.millis(10_000, 60_000) } else { random.millis(200, 5_000) };
        if random.once_in(40) {
            self.evaluator = evaluator(self.view, self.mutation);
            self.last = None;
        }
        let snapshot = if unreachable || random.once_in(30) {
            self.failed_reading()
        } else {
            let reading =
                self.query.read(connection, Duration::MAX, &clock(now)).map_err(|error| format!("{error:?}"))?;
            self.evaluator.evaluate(self.mutated(reading), Duration::ZERO)
        };
        let [status] = &*snapshot.leases else { return Err(format!("not one lease: {snapshot:?}")) };
        let line = format!("{:<14} {}: {}", self.view.name, status.verdict.state, status.sentence());
        oracle.check(status, now, self.view.allowed_reasons).map_err(|lie| format!("{}: {lie}", self.view.name))?;
        self.last = Some(snapshot);
        Ok(Some(line))
    }

    fn failed_reading(&mut self) -> SourceSnapshot {
        match (self.mutation, &self.last) {
            (Mutation::StaleReading, Some(last)) => last.clone(),
            (Mutation::FailureAsNoLeader, Some(last)) => {
                let mut last = last.clone();
                for status in &mut last.leases {
                    status.verdict.state = lease_exporter::lease::State::NoLeader;
                }
                last
            }
            _ => self.evaluator.fail(ReadFailure::Timeout, Duration::ZERO),
        }
    }

    /// The reading as an exporter with this mutation sees it.
    fn mutated(&self, mut reading: lease_exporter::lease::Reading) -> lease_exporter::lease::Reading {
        for row in &mut reading.records.accepted {
            match self.mutation {
                Mutation::ProgressOfAnyEpoch if row.progress_epoch.is_some() => row.progress_epoch = row.epoch,
                Mutation::RenewalAsProgress if row.holder.is_some() => {
                    row.progress_at = row.renewed_at;
                    row.progress_epoch = row.epoch;
                    row.progress_cursor = None;
                }
                Mutation::NoDueWork => row.due = Some(0),
                Mutation::LateExpiry => row.expires_at = row.expires_at.map(|at| at.plus(Duration::from_secs(3))),
                Mutation::DueSinceAcquisition => row.oldest_due_at = row.acquired_at.or(row.oldest_due_at),
                Mutation::FirstReadingAsProgress if row.progress_cursor.is_some() => {
                    row.progress_at = Some(reading.store_now);
                }
                _ => {}
            }
        }
        reading
    }
}

fn evaluator(view: &View, mutation: Mutation) -> SourceEvaluator {
    let rules = Rules {
        kind: LeaseKind::Standing,
        clock: Clock::Store,
        clock_skew: Duration::from_millis(50),
        max_leases: 10,
        resolution: Duration::ZERO,
    };
    let stall_after = match mutation {
        Mutation::LongStallAfter => STALL_AFTER * 2,
        Mutation::ShortStallAfter => STALL_AFTER / 2,
        _ => STALL_AFTER,
    };
    let policy = Policy { stall_after, work: view.work, ..Policy::default() };
    SourceEvaluator::new("documents".into(), rules, TokenKey::new(b"key"), Arc::new(OnePolicy(Arc::new(policy))))
}

/// The reference preset's query, without some of its columns.
fn sql(view: &View, mutation: Mutation) -> String {
    let whole = Preset::named("reference").unwrap();
    let columns: Vec<_> = Column::ALL
        .into_iter()
        .filter(|column| whole.columns.has(*column))
        .map(Column::as_str)
        .filter(|column| {
            let shown = mutation == Mutation::FirstReadingAsProgress && *column == "progress_at";
            shown || !view.without.contains(column)
        })
        .collect();
    format!("SELECT {} FROM ({})", columns.join(", "), whole.query_text("sqlite").unwrap())
}

/// A monotonic clock that stands at `now`.
fn clock(now: Duration) -> impl Fn() -> Duration + Copy + Send + 'static {
    move || now
}
