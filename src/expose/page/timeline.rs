//! The states of a lease over time, as a strip and in words.

use std::time::Duration;

use super::clock::PageClock;
use super::phrases;
use crate::history::{GapCause, History, Period, PeriodKind, PriorState, StateSince};
use crate::lease::{Readable, State, Verdict};

/// The time spans that a strip can have, in seconds.
const SPANS: [(u64, &str); 6] = [
    (10 * 60, "10 minutes"),
    (60 * 60, "hour"),
    (6 * 60 * 60, "6 hours"),
    (24 * 60 * 60, "24 hours"),
    (7 * 24 * 60 * 60, "7 days"),
    (30 * 24 * 60 * 60, "30 days"),
];
/// The largest number of entries in the list.
const MAX_ENTRIES: usize = 16;

pub(super) struct StateDuration {
    /// For example `7m12s`, or `≥ 7m12s` if it may have been longer.
    pub(super) duration: String,
    /// The time of the first reading that showed the state.
    pub(super) start: String,
}

pub(super) struct Timeline {
    /// Since when the state lasts, and what is known of the time before, as sentences.
    pub(super) since: String,
    /// The name of the time span of the strip, for example `hour`.
    pub(super) span: &'static str,
    /// Whether the history begins before the strip.
    pub(super) has_earlier: bool,
    /// The place of the first reading on the strip, in percent of the width.
    pub(super) start: String,
    pub(super) segments: Vec<Segment>,
    /// The latest first.
    pub(super) entries: Vec<TimelineEntry>,
    /// Whether older entries are missing.
    pub(super) is_cut: bool,
}

/// A segment of the strip. `x` and `width` are in percent of the width.
pub(super) struct Segment {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    /// Each state has its own height, so that color is not the only difference.
    pub(super) y: u8,
    pub(super) height: u8,
}

pub(super) struct TimelineEntry {
    pub(super) class: &'static str,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) text: String,
    pub(super) lasted: String,
}

impl StateDuration {
    /// `None` if the history does not have the state of the verdict, as for a snapshot that a request did not wait for.
    pub(super) fn of(history: &History, lease: &str, verdict: &Verdict, now: PageClock) -> Option<Self> {
        let since = since(history, lease, verdict)?;
        let sign = if since.is_at_least() { "\u{2265}\u{2009}" } else { "" };
        let duration = format!("{sign}{}", whole_seconds(now.since(since.at)));
        Some(Self { duration, start: now.time_of_day(since.at) })
    }
}

fn since(history: &History, lease: &str, verdict: &Verdict) -> Option<StateSince> {
    history.state_since(lease).filter(|since| match since.kind {
        PeriodKind::State(state, _) => state == verdict.state,
        PeriodKind::Gap(_) => verdict.state == State::Unknown,
    })
}

/// The history has a resolution of a tenth of a second; the page shows whole seconds.
const fn whole_seconds(duration: Duration) -> Readable {
    Readable(Duration::from_secs(duration.as_secs()))
}

impl Timeline {
    pub(super) fn of(history: &History, lease: &str, verdict: &Verdict, now: PageClock) -> Self {
        let periods = history.periods(lease);
        let since = since(history, lease, verdict);
        // The strip is at least twice as long as the present state has lasted, so that the state before is on it too.
        let wanted = since.map_or(Duration::ZERO, |since| now.since(since.at).saturating_mul(2));
        let (seconds, span) =
            SPANS.into_iter().find(|(span, _)| wanted.as_secs() <= *span).unwrap_or(SPANS[SPANS.len() - 1]);
        let strip = Strip { span: Duration::from_secs(seconds), now };
        let first = periods.first();
        Self {
            since: since.map_or_else(|| "Not observed yet.".to_owned(), |since| sentence(&since, verdict.state, now)),
            span,
            has_earlier: first.is_some_and(|first| now.since(first.start) > strip.span),
            start: format!("{:.2}", first.map_or(100.0, |first| strip.percent(first.start))),
            segments: periods.iter().filter_map(|period| strip.segment(period)).collect(),
            entries: periods.iter().rev().take(MAX_ENTRIES).map(|period| TimelineEntry::of(period, now)).collect(),
            is_cut: history.is_truncated(lease) || periods.len() > MAX_ENTRIES,
        }
    }
}

fn sentence(since: &StateSince, state: State, now: PageClock) -> String {
    let observed = format!("Observed as {} since {} UTC", phrases::state(state), now.time_of_day(since.at));
    match since.prior {
        PriorState::NotObserved => format!("{observed}, the first reading."),
        PriorState::Discarded => format!("{observed} at least. Older history is not kept."),
        PriorState::Known { state, last } => {
            let last = now.time_of_day(last);
            format!("{observed}. The reading before, at {last} UTC, showed {}.", phrases::state(state))
        }
        PriorState::Gap { cause, start, state } => {
            let what = match cause {
                Some(GapCause::NotObserved) => "It was not observed",
                Some(GapCause::ReadFailed(_)) => "The store could not be read",
                None => "Its state was not known",
            };
            let before = state.map(|state| format!(" Before that it was {}.", phrases::state(state)));
            format!("{observed}. {what} from {} UTC until then.{}", now.time_of_day(start), before.unwrap_or_default())
        }
    }
}

/// The time scale of the strip, which ends now.
#[derive(Clone, Copy)]
struct Strip {
    span: Duration,
    now: PageClock,
}

impl Strip {
    /// The place of a time, in percent of the width.
    fn percent(self, at: Duration) -> f64 {
        100.0 - (self.now.since(at).as_secs_f64() / self.span.as_secs_f64() * 100.0).min(100.0)
    }

    /// `None` for a time without observation, and for one that ended before the strip begins.
    fn segment(self, period: &Period) -> Option<Segment> {
        let (from, to) = (self.percent(period.start), self.percent(period.end));
        let (class, y, height) = match period.kind {
            _ if self.now.since(period.end) > self.span => return None,
            PeriodKind::Gap(GapCause::NotObserved) => return None,
            PeriodKind::Gap(GapCause::ReadFailed(_)) => ("unreadable", 2, 20),
            PeriodKind::State(State::Stalled, _) => ("stalled", 0, 24),
            PeriodKind::State(State::NoLeader, _) => ("no_leader", 4, 16),
            PeriodKind::State(State::Unknown, _) => ("unknown", 8, 8),
            PeriodKind::State(State::Active, _) => ("active", 10, 4),
            PeriodKind::State(State::Idle, _) => ("idle", 11, 2),
        };
        // A single reading has no duration, and must be visible nevertheless.
        let width = (to - from).max(0.3);
        Some(Segment { class, x: format!("{:.2}", from.min(100.0 - width)), width: format!("{width:.2}"), y, height })
    }
}

impl TimelineEntry {
    fn of(period: &Period, now: PageClock) -> Self {
        let (class, text) = match period.kind {
            PeriodKind::State(state, reason) => (state.as_str(), format!("{} ({reason})", phrases::state(state))),
            PeriodKind::Gap(GapCause::NotObserved) => ("gap", "not observed".to_owned()),
            PeriodKind::Gap(GapCause::ReadFailed(failure)) => ("unreadable", failure.clause().to_owned()),
        };
        Self {
            class,
            from: now.time_of_day(period.start),
            to: now.time_of_day(period.end),
            text,
            lasted: whole_seconds(period.end.saturating_sub(period.start)).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expose::testing::snapshots;

    fn of(source: &str, lease: &str) -> (Option<StateDuration>, Timeline) {
        let observed = snapshots::with_history();
        let (snapshot, history) = observed.iter().find(|(snapshot, _)| *snapshot.source == *source).unwrap();
        let status = snapshot.leases.iter().find(|status| *status.lease == *lease).unwrap();
        let now = snapshots::now();
        (StateDuration::of(history, lease, &status.verdict, now), Timeline::of(history, lease, &status.verdict, now))
    }

    #[test]
    fn the_duration_of_a_state_comes_with_what_was_known_before() {
        for (source, lease, lasted, sentence) in [
            (
                "documents",
                "retention",
                "2m",
                "Observed as stalled since 07:58:00 UTC. The reading before, at 07:57:45 UTC, showed active.",
            ),
            ("documents", "planner", "≥\u{2009}7m", "Observed as active since 07:53:00 UTC, the first reading."),
            (
                "jobs",
                "reindex",
                "≥\u{2009}2m",
                "Observed as active since 07:58:00 UTC. It was not observed from 07:55:15 UTC until then. Before that it was active.",
            ),
        ] {
            let (since, timeline) = of(source, lease);
            assert_eq!((since.unwrap().duration.as_str(), timeline.since.as_str()), (lasted, sentence), "{lease}");
        }
    }

    #[test]
    fn the_strip_starts_with_the_first_reading_and_says_if_there_is_more_before_it() {
        let (_, timeline) = of("jobs", "reindex");
        assert!(!timeline.has_earlier);
        assert_eq!(timeline.start, timeline.segments[0].x, "the line starts with the first segment");
        let mut observed = snapshots::with_history();
        let (snapshot, history) = observed.remove(0);
        let verdict = snapshot.leases.iter().find(|status| *status.lease == *"planner").unwrap().verdict;
        let later = PageClock {
            monotonic: snapshots::now().monotonic + Duration::from_secs(40 * 24 * 3_600),
            ..snapshots::now()
        };
        let timeline = Timeline::of(&history, "planner", &verdict, later);
        assert_eq!((timeline.has_earlier, timeline.start.as_str(), timeline.span), (true, "0.00", "30 days"));
    }

    #[test]
    fn a_gap_is_not_drawn_but_listed() {
        let (_, timeline) = of("jobs", "reindex");
        let drawn: Vec<_> = timeline.segments.iter().map(|segment| (segment.class, segment.x.as_str())).collect();
        assert_eq!(drawn.len(), 2, "{drawn:?}");
        let end = |segment: &Segment| segment.x.parse::<f64>().unwrap() + segment.width.parse::<f64>().unwrap();
        let start = |segment: &Segment| segment.x.parse::<f64>().unwrap();
        assert!(start(&timeline.segments[1]) - end(&timeline.segments[0]) > 20.0);
        let texts: Vec<_> = timeline.entries.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(texts, ["active (progressing)", "not observed", "active (progressing)"]);
    }
}
