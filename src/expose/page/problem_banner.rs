//! Sources in trouble. Those with the same trouble are one banner, so that they do not push the leases off the screen.

use super::source::SourceSummary;
use super::{ObservedSource, PageClock, phrases};
use crate::lease::{ReadFailure, SourceSnapshot};

/// How many of many sources are named before one opens the list of them.
const NAMED: usize = 3;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceProblem {
    ReadFailed(ReadFailure),
    RecordsRejected,
}

/// Sources with which the same is wrong, at least one.
pub(super) struct ProblemBanner {
    wrong: SourceProblem,
    names: Vec<String>,
    /// How many leases are known of them.
    leases: usize,
    /// Each by itself.
    pub(super) each: Vec<SourceSummary>,
}

impl ProblemBanner {
    /// All that is wrong with these sources.
    pub(super) fn of(looks: &[ObservedSource<'_>], now: PageClock) -> Vec<Self> {
        let wrong = ReadFailure::ALL.into_iter().map(SourceProblem::ReadFailed).chain([SourceProblem::RecordsRejected]);
        wrong.map(|wrong| Self::with(wrong, looks, now)).filter(|trouble| !trouble.each.is_empty()).collect()
    }

    fn with(wrong: SourceProblem, looks: &[ObservedSource<'_>], now: PageClock) -> Self {
        let mut trouble = Self { wrong, names: Vec::new(), leases: 0, each: Vec::new() };
        for look in looks.iter().filter(|look| wrong.is_of(look.snapshot)) {
            let view = SourceSummary::of(look, now);
            trouble.names.push(view.name.clone());
            trouble.leases += look.snapshot.leases.len();
            trouble.each.push(match wrong {
                SourceProblem::ReadFailed(_) => SourceSummary { rejected: None, ..view },
                SourceProblem::RecordsRejected => SourceSummary { failure: None, ..view },
            });
        }
        trouble
    }

    /// `30 sources`
    pub(super) fn who(&self) -> String {
        phrases::counted(self.each.len(), "source")
    }

    /// What is wrong with several, and the first few of them.
    pub(super) fn what(&self) -> String {
        let names = phrases::some_of(&self.names, NAMED);
        match self.wrong {
            SourceProblem::ReadFailed(failure) => {
                let leases = match self.leases {
                    0 => "Their leases are not known.".to_owned(),
                    leases => format!("Nothing is known of their {} now.", phrases::counted(leases, "lease")),
                };
                format!("could not be read: {} ({failure}): {names}. {leases}", phrases::failure(failure))
            }
            SourceProblem::RecordsRejected => format!("gave rows that were not used: {names}."),
        }
    }

    pub(super) const fn class(&self) -> &'static str {
        match self.wrong {
            SourceProblem::ReadFailed(_) => "failed",
            SourceProblem::RecordsRejected => "rejected",
        }
    }

    /// The symbol.
    pub(super) const fn shape(&self) -> &'static str {
        match self.wrong {
            SourceProblem::ReadFailed(_) => "no_leader",
            SourceProblem::RecordsRejected => "unknown",
        }
    }
}

impl SourceProblem {
    fn is_of(self, snapshot: &SourceSnapshot) -> bool {
        match self {
            Self::ReadFailed(failure) => snapshot.health.outcome == Err(failure),
            Self::RecordsRejected => snapshot.health.rejected_now.total() > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    #[test]
    fn sources_with_the_same_trouble_are_told_of_together_and_each_is_in_the_list() {
        let mut seen = snapshots::with_history();
        let (mut down, history) = seen.pop().unwrap();
        for number in 0..30 {
            down.source = format!("shard-{number:02}").into();
            down.health.outcome = Err(if number == 7 { ReadFailure::Refused } else { ReadFailure::Unreachable });
            seen.push((down.clone(), history.clone()));
        }
        let looks: Vec<_> = seen
            .iter()
            .map(|(snapshot, history)| ObservedSource {
                snapshot,
                history,
                at: snapshots::now().monotonic,
                unanswered: None,
            })
            .collect();
        let troubles = ProblemBanner::of(&looks, snapshots::now());
        let told: Vec<_> = troubles.iter().map(|trouble| (trouble.class(), trouble.who())).collect();
        let expected = [("failed", "29 sources"), ("failed", "1 source"), ("rejected", "1 source")];
        assert_eq!(told, expected.map(|(class, who)| (class, who.to_owned())));
        assert_eq!(
            troubles[0].what(),
            "could not be read: the store could not be reached (store_unreachable): shard-00, shard-01, shard-02 and 26 \
             more. Nothing is known of their 29 leases now."
        );
        assert!(troubles[0].each.iter().all(|source| source.failure.is_some() && source.rejected.is_none()));
    }
}
