//! Where lines are written, and held back for a while.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Format;
use super::line::Line;
use super::repeats::{PERIOD, Pace, Repeats, Said, Subject};
use crate::clock;

/// Writes lines. A clone writes to the same place.
#[derive(Debug)]
pub(super) struct Journal<W>(Arc<Mutex<State<W>>>);

#[derive(Debug)]
struct State<W> {
    writer: W,
    format: Format,
    repeats: Repeats<Line>,
    /// How many lines could not be written since the last that could.
    lost: u64,
    /// Whether a thread waits to write what is held back.
    awaited: bool,
}

impl<W> Clone for Journal<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write + Send + 'static> Journal<W> {
    pub(super) fn new(writer: W, format: Format) -> Self {
        Self::with_period(writer, format, PERIOD)
    }

    pub(super) fn with_period(writer: W, format: Format, period: Duration) -> Self {
        Self(Arc::new(Mutex::new(State { writer, format, repeats: Repeats::new(period), lost: 0, awaited: false })))
    }

    /// Writes a line, or holds it back.
    pub(super) fn note(&self, now: Duration, subject: Subject, pace: Pace, line: Line) {
        let mut state = self.state();
        let said = state.repeats.take(now, subject, pace, line);
        state.write(said);
        if !state.awaited && state.repeats.next().is_some() {
            let journal = self.clone();
            // Where there is no thread left, what is held back is written with the next line.
            state.awaited = thread::Builder::new().name("log".to_owned()).spawn(move || journal.wait()).is_ok();
        }
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> State<W> {
    /// Each line at once, so that no other gets in between.
    fn write(&mut self, said: Vec<Said<Line>>) {
        for Said { line, suppressed } in said {
            match self.writer.write_all(line.written(self.format, suppressed, self.lost).as_bytes()) {
                Ok(()) => self.lost = 0,
                Err(_) => self.lost += 1,
            }
        }
    }
}
