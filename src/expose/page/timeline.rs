//! What was seen of a lease, as a strip and in words.

use std::time::Duration;

use super::clock::PageClock;
use super::phrases;
use crate::history::{GapCause, History, Period, PeriodKind, PriorState, StateSince};
use crate::lease::{Readable, State, Verdict};

/// How far back a strip may go, in seconds.
const SPANS: [(u64, &str); 6] = [
    (10 * 60, "10 minutes"),
    (60 * 60, "hour"),
    (6 * 60 * 60, "6 hours"),
    (24 * 60 * 60, "24 hours"),
    (7 * 24 * 60 * 60, "7 days"),
    (30 * 24 * 60 * 60, "30 days"),
];
/// How many stretches are put into words.
const IN_WORDS: usize = 16;

/// Since when a lease has been as it is, in a few words.
pub(super) struct StateDuration {
    /// `7m12s` or `≥ 7m12s`.
    pub(super) lasted: String,
    /// When that was first seen.
    pub(super) at: String,
}

/// What was seen of a lease.
pub(super) struct Timeline {
    /// In one sentence.
    pub(super) since: String,
    /// `hour`
    pub(super) span: &'static str,
    /// Whether more was seen before the strip begins.
    pub(super) earlier: bool,
    /// Where on the strip the first look was. Before it there is nothing, not even a gap.
    pub(super) begins: String,
    pub(super) pieces: Vec<Segment>,
    /// The latest first.
    pub(super) stretches: Vec<TimelineEntry>,
    /// Whether there was more.
    pub(super) cut: bool,
}

/// A piece of the strip. Percentages of its width.
pub(super) struct Segment {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    /// Each state has a height of its own, so that it is not told by colour alone.
    pub(super) y: u8,
    pub(super) height: u8,
}

/// A stretch in words.
pub(super) struct TimelineEntry {
    pub(super) class: &'static str,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) what: String,
    pub(super) lasted: String,
}

impl StateDuration {
    /// `None` where the history does not say what the verdict does: of a look that somebody could not wait for.
    pub(super) fn of(history: &History, lease: &str, verdict: &Verdict, now: PageClock) -> Option<Self> {
        let since = since(history, lease, verdict)?;
        let sign = if since.is_at_least() { "\u{2265}\u{2009}" } else { "" };
        Some(Self { lasted: format!("{sign}{}", Readable(whole(now.since(since.at)))), at: now.clock(since.at) })
    }
}

fn since(history: &History, lease: &str, verdict: &Verdict) -> Option<StateSince> {
    history.state_since(lease).filter(|since| match since.kind {
        PeriodKind::State(state, _) => state == verdict.state,
        PeriodKind::Gap(_) => verdict.state == State::Unknown,
    })
}

/// A history goes by tenths of a second, which say nothing here.
const fn whole(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

impl Timeline {
    pub(super) fn of(history: &History, lease: &str, verdict: &Verdict, now: PageClock) -> Self {
        let stretches = history.periods(lease);
        let since = since(history, lease, verdict);
        // As much again as the present state has lasted, so that what came before it can be seen.
        let wanted = since.map_or(Duration::ZERO, |since| now.since(since.at).saturating_mul(2));
        let (span, name) =
            SPANS.into_iter().find(|(span, _)| wanted.as_secs() <= *span).unwrap_or(SPANS[SPANS.len() - 1]);
        let span = Duration::from_secs(span);
        Self {
            since: since
                .map_or_else(|| "It was not seen yet.".to_owned(), |since| sentence(&since, verdict.state, now)),
            span: name,
            earlier: stretches.first().is_some_and(|first| now.since(first.start) > span),
            begins: format!("{:.2}", stretches.first().map_or(100.0, |first| percent(first.start, span, now))),
            pieces: stretches.iter().filter_map(|stretch| piece(stretch, span, now)).collect(),
            stretches: stretches.iter().rev().take(IN_WORDS).map(|stretch| in_words(stretch, now)).collect(),
            cut: history.is_truncated(lease) || stretches.len() > IN_WORDS,
        }
    }
}

fn sentence(since: &StateSince, state: State, now: PageClock) -> String {
    let at = now.clock(since.at);
    let seen = format!("Seen as {} since {at} UTC", phrases::state(state));
    match since.prior {
        PriorState::NotObserved => format!("{seen}, when it was looked at for the first time."),
        PriorState::Discarded => format!("{seen} at least; what was before is not kept any more."),
        PriorState::Known { state, last } => {
            format!("{seen}; at {} UTC, the look before, it was {}.", now.clock(last), phrases::state(state))
        }
        PriorState::Gap { cause, start, state } => {
            let from = now.clock(start);
            let what = match cause {
                Some(GapCause::NotObserved) => format!("from {from} UTC until then nobody looked"),
                Some(GapCause::ReadFailed(_)) => format!("from {from} UTC until then the store could not be read"),
                None => format!("from {from} UTC until then nothing could be seen"),
            };
            match state {
                Some(before) => format!("{seen}; {what}. Before that it was {}.", phrases::state(before)),
                None => format!("{seen}; {what}."),
            }
        }
    }
}

/// Where on a strip of this span a time is, in percent of the width.
fn percent(at: Duration, span: Duration, now: PageClock) -> f64 {
    100.0 - (now.since(at).as_secs_f64() / span.as_secs_f64() * 100.0).min(100.0)
}

fn piece(stretch: &Period, span: Duration, now: PageClock) -> Option<Segment> {
    let (from, to) = (percent(stretch.start, span, now), percent(stretch.end, span, now));
    // Nothing is drawn where nobody looked; and what ended before the strip begins is not on it.
    let (class, y, height) = match stretch.kind {
        _ if now.since(stretch.end) > span => return None,
        PeriodKind::Gap(GapCause::NotObserved) => return None,
        PeriodKind::Gap(GapCause::ReadFailed(_)) => ("unreadable", 2, 20),
        PeriodKind::State(State::Stalled, _) => ("stalled", 0, 24),
        PeriodKind::State(State::NoLeader, _) => ("no_leader", 4, 16),
        PeriodKind::State(State::Unknown, _) => ("unknown", 8, 8),
        PeriodKind::State(State::Active, _) => ("active", 10, 4),
        PeriodKind::State(State::Idle, _) => ("idle", 11, 2),
    };
    // A single look lasts no time, and is seen all the same.
    let width = (to - from).max(0.3);
    Some(Segment { class, x: format!("{:.2}", from.min(100.0 - width)), width: format!("{width:.2}"), y, height })
}

fn in_words(stretch: &Period, now: PageClock) -> TimelineEntry {
    let (class, what) = match stretch.kind {
        PeriodKind::State(state, reason) => (state.as_str(), format!("{} ({reason})", phrases::state(state))),
        PeriodKind::Gap(GapCause::NotObserved) => ("gap", "nobody looked".to_owned()),
        PeriodKind::Gap(GapCause::ReadFailed(failure)) => ("unreadable", phrases::failure(failure).to_owned()),
    };
    TimelineEntry {
        class,
        from: now.clock(stretch.start),
        to: now.clock(stretch.end),
        what,
        lasted: Readable(whole(stretch.end.saturating_sub(stretch.start))).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    fn of(source: &str, lease: &str) -> (Option<StateDuration>, Timeline) {
        let looks = snapshots::with_history();
        let (snapshot, history) = looks.iter().find(|(snapshot, _)| *snapshot.source == *source).unwrap();
        let status = snapshot.leases.iter().find(|status| *status.lease == *lease).unwrap();
        let now = snapshots::now();
        (StateDuration::of(history, lease, &status.verdict, now), Timeline::of(history, lease, &status.verdict, now))
    }

    #[test]
    fn since_when_a_lease_is_as_it_is_comes_with_what_was_before() {
        for (source, lease, lasted, sentence) in [
            (
                "documents",
                "retention",
                "2m",
                "Seen as stalled since 07:58:00 UTC; at 07:57:45 UTC, the look before, it was active.",
            ),
            (
                "documents",
                "planner",
                "≥\u{2009}7m",
                "Seen as active since 07:53:00 UTC, when it was looked at for the first time.",
            ),
            (
                "jobs",
                "reindex",
                "≥\u{2009}2m",
                "Seen as active since 07:58:00 UTC; from 07:55:15 UTC until then nobody looked. Before that it was active.",
            ),
        ] {
            let (since, past) = of(source, lease);
            assert_eq!((since.unwrap().lasted.as_str(), past.since.as_str()), (lasted, sentence), "{lease}");
        }
    }

    #[test]
    fn before_the_first_look_there_is_not_even_a_gap_and_a_strip_that_leaves_something_out_says_so() {
        let (_, past) = of("jobs", "reindex");
        assert!(!past.earlier);
        assert_eq!(past.begins, past.pieces[0].x, "the line on which a gap shows begins with what was seen first");
        let mut looks = snapshots::with_history();
        let (snapshot, history) = looks.remove(0);
        let verdict = snapshot.leases.iter().find(|status| *status.lease == *"planner").unwrap().verdict;
        let later = PageClock {
            monotonic: snapshots::now().monotonic + Duration::from_secs(40 * 24 * 3_600),
            ..snapshots::now()
        };
        let past = Timeline::of(&history, "planner", &verdict, later);
        assert_eq!((past.earlier, past.begins.as_str(), past.span), (true, "0.00", "30 days"));
    }

    #[test]
    fn a_gap_is_drawn_as_nothing_and_put_into_words() {
        let (_, past) = of("jobs", "reindex");
        let drawn: Vec<_> = past.pieces.iter().map(|piece| (piece.class, piece.x.as_str())).collect();
        assert_eq!(drawn.len(), 2, "{drawn:?}");
        let ends = |piece: &Segment| piece.x.parse::<f64>().unwrap() + piece.width.parse::<f64>().unwrap();
        let begins = |piece: &Segment| piece.x.parse::<f64>().unwrap();
        assert!(begins(&past.pieces[1]) - ends(&past.pieces[0]) > 20.0);
        let words: Vec<_> = past.stretches.iter().map(|stretch| stretch.what.as_str()).collect();
        assert_eq!(words, ["active (progressing)", "nobody looked", "active (progressing)"]);
    }
}
