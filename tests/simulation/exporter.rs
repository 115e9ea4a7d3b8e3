//! Exporters, each with another view of the same store.

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

/// What an exporter is told of the store.
#[derive(Debug)]
pub struct View {
    pub name: &'static str,
    /// Columns of the reference preset that it leaves out.
    without: &'static [&'static str],
    work: Work,
    /// For what reasons it may say `unknown`.
    may_say: &'static [Reason],
}

const ALWAYS: [Reason; 3] = [Reason::StoreTimeout, Reason::AwaitingFirstProgress, Reason::ProgressWithoutAuthority];

pub static VIEWS: [View; 6] = [
    View { name: "whole", without: &[], work: Work::Unstated, may_say: &ALWAYS },
    View {
        name: "cursor alone",
        without: &["progress_at"],
        work: Work::Unstated,
        may_say: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View { name: "times alone", without: &["progress_cursor"], work: Work::Unstated, may_say: &ALWAYS },
    View {
        name: "no acquisition",
        without: &["acquired_at"],
        work: Work::Unstated,
        may_say: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View {
        name: "whose progress",
        without: &["progress_epoch", "acquired_at", "progress_at"],
        work: Work::Unstated,
        may_say: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::NotObservedYet, Reason::ObservationGap],
    },
    View {
        name: "due unknown",
        without: &["due", "oldest_due_at"],
        work: Work::Unstated,
        may_say: &[ALWAYS[0], ALWAYS[1], ALWAYS[2], Reason::DueUnknown],
    },
];

/// What an exporter may do wrong, on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    #[default]
    None,
    /// It serves what it saw last where it could not look.
    ServesTheLastReading,
    /// It takes "could not look" for "nobody there".
    TakesNoAnswerForNoLeader,
    /// It takes progress of any epoch for the present one's.
    IgnoresTheEpochOfProgress,
    /// It takes a renewal for progress.
    TakesRenewalForProgress,
    /// It takes what is due to be nothing.
    IgnoresDueWork,
    /// It takes no leader for granted until twice the TTL.
    ForgivesExpiry,
    /// It judges by a limit that is too long.
    IsTooPatient,
    /// It judges by a limit that is too short.
    IsTooImpatient,
    /// It takes due work to have waited since long ago.
    TakesAnyDueWorkForOverdue,
    /// It clamps the age of what it has seen for the first time to zero.
    TakesTheFirstSightForProgress,
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
    mistake: Mistake,
    query: SqliteQuery,
    evaluator: SourceEvaluator,
    last: Option<SourceSnapshot>,
    scrape_at: Duration,
}

impl Exporter {
    pub fn new(view: &'static View, mistake: Mistake, random: &mut Random) -> Self {
        Self {
            view,
            mistake,
            query: SqliteQuery::new(
                sql(view, mistake).into(),
                Scope { only_lease: "documents".into(), max_leases: 10 },
            ),
            evaluator: evaluator(view, mistake),
            last: None,
            scrape_at: Duration::from_secs(1_000) + random.millis(0, 5_000),
        }
    }

    /// Scrapes if it is time to, and lets the oracle check what it shows.
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
            self.evaluator = evaluator(self.view, self.mistake);
            self.last = None;
        }
        let snapshot = if unreachable || random.once_in(30) {
            self.could_not_look()
        } else {
            let reading =
                self.query.read(connection, Duration::MAX, &clock(now)).map_err(|error| format!("{error:?}"))?;
            self.evaluator.evaluate(self.mistaken(reading), Duration::ZERO)
        };
        let [status] = &*snapshot.leases else { return Err(format!("not one lease: {snapshot:?}")) };
        let line = format!("{:<14} {}: {}", self.view.name, status.verdict.state, status.sentence());
        oracle.check(status, now, self.view.may_say).map_err(|lie| format!("{}: {lie}", self.view.name))?;
        self.last = Some(snapshot);
        Ok(Some(line))
    }

    fn could_not_look(&mut self) -> SourceSnapshot {
        match (self.mistake, &self.last) {
            (Mistake::ServesTheLastReading, Some(last)) => last.clone(),
            (Mistake::TakesNoAnswerForNoLeader, Some(last)) => {
                let mut last = last.clone();
                for status in &mut last.leases {
                    status.verdict.state = lease_exporter::lease::State::NoLeader;
                }
                last
            }
            _ => self.evaluator.fail(ReadFailure::Timeout, Duration::ZERO),
        }
    }

    /// A reading as someone would take it who makes this mistake.
    fn mistaken(&self, mut reading: lease_exporter::lease::Reading) -> lease_exporter::lease::Reading {
        for row in &mut reading.records.accepted {
            match self.mistake {
                Mistake::IgnoresTheEpochOfProgress if row.progress_epoch.is_some() => row.progress_epoch = row.epoch,
                Mistake::TakesRenewalForProgress if row.holder.is_some() => {
                    row.progress_at = row.renewed_at;
                    row.progress_epoch = row.epoch;
                    row.progress_cursor = None;
                }
                Mistake::IgnoresDueWork => row.due = Some(0),
                Mistake::ForgivesExpiry => row.expires_at = row.expires_at.map(|at| at.plus(Duration::from_secs(3))),
                Mistake::TakesAnyDueWorkForOverdue => row.oldest_due_at = row.acquired_at.or(row.oldest_due_at),
                Mistake::TakesTheFirstSightForProgress if row.progress_cursor.is_some() => {
                    row.progress_at = Some(reading.store_now);
                }
                _ => {}
            }
        }
        reading
    }
}

fn evaluator(view: &View, mistake: Mistake) -> SourceEvaluator {
    let rules = Rules {
        kind: LeaseKind::Standing,
        clock: Clock::Store,
        clock_skew: Duration::from_millis(50),
        max_leases: 10,
        resolution: Duration::ZERO,
    };
    let stall_after = match mistake {
        Mistake::IsTooPatient => STALL_AFTER * 2,
        Mistake::IsTooImpatient => STALL_AFTER / 2,
        _ => STALL_AFTER,
    };
    let policy = Policy { stall_after, work: view.work, ..Policy::default() };
    SourceEvaluator::new("documents".into(), rules, TokenKey::new(b"key"), Arc::new(OnePolicy(Arc::new(policy))))
}

/// The reference preset's query, without some of its columns.
fn sql(view: &View, mistake: Mistake) -> String {
    let whole = Preset::named("reference").unwrap();
    let columns: Vec<_> = Column::ALL
        .into_iter()
        .filter(|column| whole.columns.has(*column))
        .map(Column::as_str)
        .filter(|column| {
            let shown = mistake == Mistake::TakesTheFirstSightForProgress && *column == "progress_at";
            shown || !view.without.contains(column)
        })
        .collect();
    format!("SELECT {} FROM ({})", columns.join(", "), whole.query_text("sqlite").unwrap())
}

/// A monotonic clock that stands at `now`.
fn clock(now: Duration) -> impl Fn() -> Duration + Copy + Send + 'static {
    move || now
}
