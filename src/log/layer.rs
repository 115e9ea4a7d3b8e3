//! The `tracing` layer: turns the exporter's events into lines, and writes them through the repeat filter.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::formatter::Line;
use super::repeat_filter::{FilteredLine, RepeatFilter, Repetition, Subject};
use super::{Format, Level, OPERATION};
use crate::clock;

/// Logs events. Clones share the writer.
#[derive(Debug)]
pub(super) struct LogLayer<W> {
    level: LevelFilter,
    format: Format,
    state: Arc<Mutex<State<W>>>,
}

#[derive(Debug)]
struct State<W> {
    writer: W,
    filter: RepeatFilter<Line>,
    /// Lines that could not be written since the last one that could.
    lost: u64,
    /// Whether a thread waits to write held lines.
    has_waiting_thread: bool,
}

impl<W> Clone for LogLayer<W> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), ..*self }
    }
}

impl<W: Write + Send + 'static> LogLayer<W> {
    pub(super) fn new(writer: W, level: Level, format: Format, period: Duration) -> Self {
        let state = State { writer, filter: RepeatFilter::new(period), lost: 0, has_waiting_thread: false };
        Self { level: level.into(), format, state: Arc::new(Mutex::new(state)) }
    }

    /// Writes all held lines.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        let lines = state.filter.take_all();
        state.write(lines);
        let _ = state.writer.flush();
    }

    /// Writes held lines when they are due, until none is held.
    fn write_held_lines(&self) {
        loop {
            let now = clock::monotonic();
            let mut state = self.state();
            let lines = state.filter.take_due(now);
            state.write(lines);
            let Some(next) = state.filter.next_due() else {
                state.has_waiting_thread = false;
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
    /// Writes each line by one call, so that no other output gets in between.
    fn write(&mut self, lines: Vec<FilteredLine<Line>>) {
        for FilteredLine { line, suppressed } in lines {
            match self.writer.write_all(line.to_text(suppressed, self.lost).as_bytes()) {
                Ok(()) => self.lost = 0,
                Err(_) => self.lost += 1,
            }
        }
    }
}

/// Whether a target is a module of the exporter. Events of libraries could contain a statement or a row.
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
        let line = Line::new(event, self.format, clock::unix_seconds());
        let subject = Subject { module: metadata.module_path().unwrap_or_default(), source: line.source.clone() };
        let repetition = if metadata.target() == OPERATION { Repetition::Unlimited } else { Repetition::OncePerPeriod };
        let mut state = self.state();
        let lines = state.filter.filter(clock::monotonic(), subject, repetition, line);
        state.write(lines);
        if !state.has_waiting_thread && state.filter.next_due().is_some() {
            let layer = self.clone();
            // Without a thread, held lines are written together with the next line.
            let thread = thread::Builder::new().name("log".to_owned()).spawn(move || layer.write_held_lines());
            state.has_waiting_thread = thread.is_ok();
        }
    }
}
