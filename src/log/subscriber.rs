//! What becomes of an event.

use std::io::Write;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::journal::Journal;
use super::line::Line;
use super::repeats::{Pace, Subject};
use super::{ACT, Level};
use crate::clock;

/// Makes lines of the exporter's own events.
#[derive(Debug)]
pub(super) struct Lines<W> {
    level: LevelFilter,
    journal: Journal<W>,
}

impl<W> Lines<W> {
    pub(super) fn new(level: Level, journal: Journal<W>) -> Self {
        Self { level: level.into(), journal }
    }
}

fn is_own(target: &str) -> bool {
    target.strip_prefix(env!("CARGO_CRATE_NAME")).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl<W: Write + Send + 'static> Subscriber for Lines<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span() && *metadata.level() <= self.level && is_own(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let line = Line::of(event, clock::unix_seconds());
        let subject = Subject {
            module: metadata.module_path().unwrap_or_default(),
            source: line.text("source").unwrap_or_default().to_owned(),
        };
        let pace = if metadata.target() == ACT { Pace::Each } else { Pace::Once };
        self.journal.note(clock::monotonic(), subject, pace, line);
    }

    // Spans are not enabled: nothing of them is logged.

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
