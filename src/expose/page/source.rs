//! The sources on the page, and banners for their problems. Sources with the same problem share one banner, so that the
//! leases stay on the screen.

use std::time::Duration;

use super::super::display_name::DisplayName;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{ReadFailure, Readable, RecordFault, RejectedRecords, SourceSnapshot};

pub(super) struct SourceSummary {
    pub(super) name: String,
    /// Why it could not be read, and the consequence for its leases.
    pub(super) failure: Option<String>,
    /// The last read, if it succeeded.
    pub(super) reading: Option<String>,
    pub(super) rejected: Option<String>,
}

impl SourceSummary {
    pub(super) fn of(source: &ObservedSource, now: PageClock) -> Self {
        Self {
            name: DisplayName(&source.snapshot.source).to_string(),
            failure: failure(source),
            reading: reading(source, now),
            rejected: rejected(&source.snapshot),
        }
    }
}

fn failure(source: &ObservedSource) -> Option<String> {
    let health = &source.snapshot.health;
    let failure = health.outcome.err()?;
    let leases = match source.snapshot.leases.len() {
        0 => "Its leases are not known.".to_owned(),
        1 => "Nothing is known of its lease now.".to_owned(),
        known => format!("Nothing is known of its {known} leases now."),
    };
    Some(match source.unanswered_for {
        Some(unanswered) if failure == ReadFailure::Timeout => {
            format!("has not answered for {} ({failure}). {leases}", to_seconds(unanswered))
        }
        _ => {
            let (cause, took) = (failure.clause(), Readable(health.duration));
            format!("could not be read: {cause} ({failure}, after {took}). {leases}")
        }
    })
}

fn reading(source: &ObservedSource, now: PageClock) -> Option<String> {
    let health = &source.snapshot.health;
    let leases = usize::try_from(health.leases?).unwrap_or(usize::MAX);
    let mut reading = format!("{}, read in {}", phrases::counted(leases, "lease"), Readable(health.duration));
    if let Some(offset) = health.clock_offset.filter(|offset| offset.abs() >= 0.1) {
        let direction = if offset > 0.0 { "ahead" } else { "behind" };
        reading.push_str(&format!(", its clock {:.1}s {direction}", offset.abs()));
    }
    reading.push_str(&format!(", as of {}", now.time_of_day(source.observed_at)));
    if let Some(unanswered) = source.unanswered_for {
        reading.push_str(&format!(", not answering for {}", to_seconds(unanswered)));
    }
    Some(reading)
}

/// A duration that still grows, in whole seconds once it is longer than one.
fn to_seconds(duration: Duration) -> Readable {
    Readable(if duration < Duration::from_secs(1) { duration } else { Duration::from_secs(duration.as_secs()) })
}

/// The rows that the last reading rejected. The total since the start would grow with the number of scrapes.
fn rejected(snapshot: &SourceSnapshot) -> Option<String> {
    let rejected = &snapshot.health.rejected_now;
    let rows = match rejected.total() {
        0 => return None,
        1 => "1 row of the last reading was not used".to_owned(),
        rows => format!("{rows} rows of the last reading were not used"),
    };
    let faults = RecordFault::ALL.into_iter().filter(|fault| rejected.count(*fault) > 0);
    let faults: Vec<_> = faults
        .map(|fault| format!("{} {}{}", rejected.count(fault), phrases::fault(fault), leases_with(rejected, fault)))
        .collect();
    Some(format!("{rows}: {}.", faults.join("; ")))
}

/// The leases whose rows have a fault, in brackets, as far as they are known.
fn leases_with(rejected: &RejectedRecords, fault: RecordFault) -> String {
    let leases: Vec<_> = rejected.leases(fault).iter().map(|lease| DisplayName(lease).to_string()).collect();
    // Several rows may belong to one lease, so the number of further leases is not known.
    let is_cut = leases.len() == RejectedRecords::NAMED && rejected.count(fault) > leases.len() as u64;
    let more = if is_cut { ", \u{2026}" } else { "" };
    if leases.is_empty() { String::new() } else { format!(" ({}{more})", leases.join(", ")) }
}

/// The number of sources that a folded banner names.
const NAMED: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceProblem {
    ReadFailed(ReadFailure),
    RecordsRejected,
}

/// The sources with one problem, of which there is at least one.
pub(super) struct ProblemBanner {
    problem: SourceProblem,
    /// The number of known leases of all these sources.
    leases: usize,
    pub(super) sources: Vec<SourceSummary>,
}

impl ProblemBanner {
    /// One banner for each problem that any source has.
    pub(super) fn all_of(sources: &[ObservedSource], now: PageClock) -> Vec<Self> {
        let failures = ReadFailure::ALL.into_iter().map(SourceProblem::ReadFailed);
        let banners = failures.chain([SourceProblem::RecordsRejected]).map(|problem| Self::of(problem, sources, now));
        banners.filter(|banner| !banner.sources.is_empty()).collect()
    }

    fn of(problem: SourceProblem, sources: &[ObservedSource], now: PageClock) -> Self {
        let affected = sources.iter().filter(|source| problem.affects(&source.snapshot));
        Self {
            problem,
            leases: affected.clone().map(|source| source.snapshot.leases.len()).sum(),
            sources: affected.map(|source| problem.only(SourceSummary::of(source, now))).collect(),
        }
    }

    /// For example `30 sources`.
    pub(super) fn subject(&self) -> String {
        phrases::counted(self.sources.len(), "source")
    }

    /// The problem, and the first sources that have it.
    pub(super) fn message(&self) -> String {
        let names: Vec<_> = self.sources.iter().map(|source| source.name.clone()).collect();
        let names = phrases::some_of(&names, NAMED);
        match self.problem {
            SourceProblem::ReadFailed(failure) => {
                let leases = match self.leases {
                    0 => "Their leases are not known.".to_owned(),
                    leases => format!("Nothing is known of their {} now.", phrases::counted(leases, "lease")),
                };
                format!("could not be read: {} ({failure}): {names}. {leases}", failure.clause())
            }
            SourceProblem::RecordsRejected => format!("gave rows that were not used: {names}."),
        }
    }

    pub(super) const fn class(&self) -> &'static str {
        match self.problem {
            SourceProblem::ReadFailed(_) => "failed",
            SourceProblem::RecordsRejected => "rejected",
        }
    }

    /// The symbol, which is that of a state.
    pub(super) const fn symbol(&self) -> &'static str {
        match self.problem {
            SourceProblem::ReadFailed(_) => "no_leader",
            SourceProblem::RecordsRejected => "unknown",
        }
    }
}

impl SourceProblem {
    fn affects(self, snapshot: &SourceSnapshot) -> bool {
        match self {
            Self::ReadFailed(failure) => snapshot.health.outcome == Err(failure),
            Self::RecordsRejected => snapshot.health.rejected_now.total() > 0,
        }
    }

    /// The summary of a source without its other problem, which is in another banner.
    fn only(self, source: SourceSummary) -> SourceSummary {
        match self {
            Self::ReadFailed(_) => SourceSummary { rejected: None, ..source },
            Self::RecordsRejected => SourceSummary { failure: None, ..source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    #[test]
    fn sources_with_the_same_problem_share_a_banner_that_lists_each() {
        let mut observed = snapshots::with_history();
        let (mut down, history) = observed.pop().unwrap();
        for number in 0..30 {
            down.source = format!("shard-{number:02}").into();
            down.health.outcome = Err(if number == 7 { ReadFailure::Refused } else { ReadFailure::Unreachable });
            observed.push((down.clone(), history.clone()));
        }
        let sources: Vec<_> = observed
            .iter()
            .map(|(snapshot, history)| ObservedSource {
                snapshot: snapshot.clone().into(),
                history: history.clone(),
                observed_at: snapshots::now().monotonic,
                unanswered_for: None,
            })
            .collect();
        let banners = ProblemBanner::all_of(&sources, snapshots::now());
        let shown: Vec<_> = banners.iter().map(|banner| (banner.class(), banner.subject())).collect();
        let expected = [("failed", "29 sources"), ("failed", "1 source"), ("rejected", "1 source")];
        assert_eq!(shown, expected.map(|(class, subject)| (class, subject.to_owned())));
        assert_eq!(
            banners[0].message(),
            "could not be read: the store could not be reached (store_unreachable): shard-00, shard-01, shard-02 and 26 \
             more. Nothing is known of their 29 leases now."
        );
        assert!(banners[0].sources.iter().all(|source| source.failure.is_some() && source.rejected.is_none()));
    }
}
