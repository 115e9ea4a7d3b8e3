//! Banners for problems of sources. Sources with the same problem share one banner, so that the leases stay on the screen.

use super::source::SourceSummary;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{ReadFailure, SourceSnapshot};

/// The number of sources that a folded banner names.
const NAMED: usize = 3;

/// A problem of a source.
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
    pub(super) fn all_of(sources: &[ObservedSource<'_>], now: PageClock) -> Vec<Self> {
        let failures = ReadFailure::ALL.into_iter().map(SourceProblem::ReadFailed);
        let banners = failures.chain([SourceProblem::RecordsRejected]).map(|problem| Self::of(problem, sources, now));
        banners.filter(|banner| !banner.sources.is_empty()).collect()
    }

    fn of(problem: SourceProblem, sources: &[ObservedSource<'_>], now: PageClock) -> Self {
        let affected = sources.iter().filter(|source| problem.affects(source.snapshot));
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

    /// The CSS class.
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
                snapshot,
                history,
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
