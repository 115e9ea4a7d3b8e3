//! Sources in trouble. Those with the same trouble are one banner, so that they do not push the leases off the screen.

use super::source::SourceView;
use super::{Looked, Now, words};
use crate::lease::{ReadFailure, SourceSnapshot};

/// How many of many sources are named before one opens the list of them.
const NAMED: usize = 3;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    NotRead(ReadFailure),
    RowsNotUsed,
}

/// Sources with which the same is wrong, at least one.
pub(super) struct Trouble {
    wrong: Wrong,
    names: Vec<String>,
    /// How many leases are known of them.
    leases: usize,
    /// Each by itself.
    pub(super) each: Vec<SourceView>,
}

impl Trouble {
    /// All that is wrong with these sources.
    pub(super) fn of(looks: &[Looked<'_>], now: Now) -> Vec<Self> {
        let wrong = ReadFailure::ALL.into_iter().map(Wrong::NotRead).chain([Wrong::RowsNotUsed]);
        wrong.map(|wrong| Self::with(wrong, looks, now)).filter(|trouble| !trouble.each.is_empty()).collect()
    }

    fn with(wrong: Wrong, looks: &[Looked<'_>], now: Now) -> Self {
        let mut trouble = Self { wrong, names: Vec::new(), leases: 0, each: Vec::new() };
        for look in looks.iter().filter(|look| wrong.is_of(look.snapshot)) {
            let view = SourceView::of(look, now);
            trouble.names.push(view.name.clone());
            trouble.leases += look.snapshot.leases.len();
            trouble.each.push(match wrong {
                Wrong::NotRead(_) => SourceView { rejected: None, ..view },
                Wrong::RowsNotUsed => SourceView { failure: None, ..view },
            });
        }
        trouble
    }

    /// `30 sources`
    pub(super) fn who(&self) -> String {
        words::counted(self.each.len(), "source")
    }

    /// What is wrong with several, and the first few of them.
    pub(super) fn what(&self) -> String {
        let names = words::some_of(&self.names, NAMED);
        match self.wrong {
            Wrong::NotRead(failure) => {
                let leases = match self.leases {
                    0 => "Their leases are not known.".to_owned(),
                    leases => format!("Nothing is known of their {} now.", words::counted(leases, "lease")),
                };
                format!("could not be read: {} ({failure}): {names}. {leases}", words::failure(failure))
            }
            Wrong::RowsNotUsed => format!("gave rows that were not used: {names}."),
        }
    }

    pub(super) const fn class(&self) -> &'static str {
        match self.wrong {
            Wrong::NotRead(_) => "failed",
            Wrong::RowsNotUsed => "rejected",
        }
    }

    /// The symbol.
    pub(super) const fn shape(&self) -> &'static str {
        match self.wrong {
            Wrong::NotRead(_) => "no_leader",
            Wrong::RowsNotUsed => "unknown",
        }
    }
}

impl Wrong {
    fn is_of(self, snapshot: &SourceSnapshot) -> bool {
        match self {
            Self::NotRead(failure) => snapshot.health.outcome == Err(failure),
            Self::RowsNotUsed => snapshot.health.rejected_now.total() > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::sample;

    #[test]
    fn sources_with_the_same_trouble_are_told_of_together_and_each_is_in_the_list() {
        let mut seen = sample::looks();
        let (mut down, history) = seen.pop().unwrap();
        for number in 0..30 {
            down.source = format!("shard-{number:02}").into();
            down.health.outcome = Err(if number == 7 { ReadFailure::Refused } else { ReadFailure::Unreachable });
            seen.push((down.clone(), history.clone()));
        }
        let looks: Vec<_> = seen
            .iter()
            .map(|(snapshot, history)| Looked { snapshot, history, at: sample::now().monotonic, unanswered: None })
            .collect();
        let troubles = Trouble::of(&looks, sample::now());
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
