//! The exporter's own events made into lines, which are written, or held back for a while.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::formatter::Line;
use super::repeat_filter::{PERIOD, Pace, RepeatFilter, Said, Subject};
use super::{ACT, Format, Level};
use crate::clock;

/// Makes lines of events. A clone writes to the same place.
#[derive(Debug)]
pub(super) struct LogLayer<W> {
    level: LevelFilter,
    format: Format,
    state: Arc<Mutex<State<W>>>,
}

#[derive(Debug)]
struct State<W> {
    writer: W,
    repeats: RepeatFilter<Line>,
    /// How many lines could not be written since the last that could.
    lost: u64,
    /// Whether a thread waits to write what is held back.
    awaited: bool,
}

impl<W> Clone for LogLayer<W> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), ..*self }
    }
}

impl<W: Write + Send + 'static> LogLayer<W> {
    pub(super) fn new(writer: W, level: Level, format: Format) -> Self {
        Self::with_period(writer, level, format, PERIOD)
    }

    pub(super) fn with_period(writer: W, level: Level, format: Format, period: Duration) -> Self {
        let state = State { writer, repeats: RepeatFilter::new(period), lost: 0, awaited: false };
        Self { level: level.into(), format, state: Arc::new(Mutex::new(state)) }
    }

    /// Writes all that is held back.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        let rest = state.repeats.rest();
        state.write(rest);
        let _ = state.writer.flush();
    }

    /// Writes what is held back when it is due, until nothing is.
    fn wait(&self) {
        loop {
            let now = clock::monotonic();
            let mut state = self.state();
            let due = state.repeats.due(now);
            state.write(due);
            let Some(next) = state.repeats.next() else {
                state.awaited = false;
                return;
            };
            drop(state);
            thread::sleep(next.saturating_sub(now));
        }
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> State<W> {
    /// Each line at once, so that no other gets in between.
    fn write(&mut self, said: Vec<Said<Line>>) {
        for Said { line, suppressed } in said {
            match self.writer.write_all(line.written(suppressed, self.lost).as_bytes()) {
                Ok(()) => self.lost = 0,
                Err(_) => self.lost += 1,
            }
        }
    }
}

fn is_own(target: &str) -> bool {
    target.strip_prefix(env!("CARGO_CRATE_NAME")).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl<S: Subscriber, W: Write + Send + 'static> Layer<S> for LogLayer<W> {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        !metadata.is_span() && *metadata.level() <= self.level && is_own(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let line = Line::of(event, self.format, clock::unix_seconds());
        let subject = Subject { module: metadata.module_path().unwrap_or_default(), source: line.source.clone() };
        let pace = if metadata.target() == ACT { Pace::Each } else { Pace::Once };
        let mut state = self.state();
        let said = state.repeats.take(clock::monotonic(), subject, pace, line);
        state.write(said);
        if !state.awaited && state.repeats.next().is_some() {
            let layer = self.clone();
            // Where there is no thread left, what is held back is written with the next line.
            state.awaited = thread::Builder::new().name("log".to_owned()).spawn(move || layer.wait()).is_ok();
        }
    }
}
