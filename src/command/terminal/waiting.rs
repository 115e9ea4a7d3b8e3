//! What is waited for, on standard error, for whoever looks at it.

use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Size, can_rewrite};
use crate::clock;
use crate::expose::truncate_to_width;

/// After how long it is said, and how often anew. What is quicker is not worth a word.
const EVERY: Duration = Duration::from_secs(1);
/// So many are named; the rest is counted.
const NAMED: usize = 3;

/// Says what is waited for, such as `reading jobs, documents … 3 s`, and takes that back in the end. Where standard error
/// is no terminal it says nothing.
#[derive(Debug)]
pub(in crate::command) struct Waiting(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    state: Mutex<Awaited>,
    ended: Condvar,
}

#[derive(Debug)]
struct Awaited {
    doing: &'static str,
    since: Duration,
    names: Vec<String>,
    /// Whether the line of the cursor has anything in it.
    said: bool,
    ended: bool,
}

impl Waiting {
    /// Waits for these from now on. They are shown as they are.
    pub(in crate::command) fn begin(doing: &'static str, names: impl IntoIterator<Item = String>) -> Self {
        if !can_rewrite(&io::stderr()) {
            return Self(None);
        }
        let names = names.into_iter().collect();
        let state = Awaited { doing, since: clock::monotonic(), names, said: false, ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), ended: Condvar::new() });
        let beside = Arc::clone(&shared);
        // A thread, because some of what takes long blocks; without one, nothing is said.
        let started = thread::Builder::new().name("waiting".into()).spawn(move || beside.say_again_and_again());
        Self(started.is_ok().then_some(shared))
    }

    /// Has this one no longer waited for.
    pub(in crate::command) fn done(&self, name: &str) {
        if let Some(shared) = &self.0 {
            shared.state().names.retain(|awaited| awaited != name);
        }
    }

    /// Writes something while nothing is said here.
    pub(in crate::command) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut state = self.0.as_deref().map(Shared::state);
        state.as_deref_mut().into_iter().for_each(Awaited::take_back);
        write()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            let mut state = shared.state();
            state.ended = true;
            state.take_back();
            shared.ended.notify_all();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Awaited> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say_again_and_again(&self) {
        let mut state = self.state();
        while !state.ended {
            let waited = self.ended.wait_timeout(state, EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !state.ended {
                state.say();
            }
        }
    }
}

impl Awaited {
    fn say(&mut self) {
        let text = waiting_text(self.doing, &self.names, clock::monotonic().saturating_sub(self.since));
        // The cursor stays at the beginning, so that a line of the log is written over it and not behind it.
        let line = truncate_to_width(&text, Size::of(&io::stderr()).columns.saturating_sub(1));
        self.said = io::stderr().write_all(format!("\r\x1b[K{line}\r").as_bytes()).is_ok();
    }

    fn take_back(&mut self) {
        if std::mem::take(&mut self.said) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// What is said of what is waited for.
pub(in crate::command) fn waiting_text(doing: &str, names: &[String], waited: Duration) -> String {
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{doing} {named}{more} … {} s", waited.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_named_up_to_three_and_then_counted() {
        let names: Vec<_> = ["jobs", "documents", "cache", "billing", "mail"].map(str::to_owned).to_vec();
        for (count, expected) in [
            (1, "reading jobs … 3 s"),
            (3, "reading jobs, documents, cache … 3 s"),
            (5, "reading jobs, documents, cache and 2 more … 3 s"),
        ] {
            assert_eq!(waiting_text("reading", &names[..count], Duration::from_millis(3_900)), expected);
        }
    }
}
