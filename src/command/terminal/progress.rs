//! A line on standard error that names a slow operation while it runs.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Size, can_rewrite};
use crate::clock;
use crate::expose::truncate_to_width;

/// The delay before the line is first shown, and the interval of its updates.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many names the line lists. Further names are counted.
const MAX_NAMES: usize = 3;

/// A progress line such as `reading jobs, documents … 3 s`, erased when this is dropped. Nothing is shown if standard
/// error is not a terminal.
#[derive(Debug)]
pub(in crate::command) struct ProgressLine(Option<Arc<Mutex<Progress>>>);

#[derive(Debug)]
struct Progress {
    activity: &'static str,
    started: Duration,
    names: Vec<String>,
    is_shown: bool,
    is_finished: bool,
}

impl ProgressLine {
    /// Starts the line for an activity on these names, which must be printable.
    pub(in crate::command) fn start(activity: &'static str, names: impl IntoIterator<Item = String>) -> Self {
        if !can_rewrite(&io::stderr()) {
            return Self(None);
        }
        let (started, names) = (clock::monotonic(), names.into_iter().collect());
        let progress = Progress { activity, started, names, is_shown: false, is_finished: false };
        let progress = Arc::new(Mutex::new(progress));
        let updated = Arc::clone(&progress);
        // A thread, because some of the operations block theirs. Without one, no line is shown.
        let spawned = thread::Builder::new().name("progress".into()).spawn(move || {
            loop {
                thread::sleep(INTERVAL);
                let mut progress = lock(&updated);
                if progress.is_finished {
                    break;
                }
                progress.show();
            }
        });
        Self(spawned.is_ok().then_some(progress))
    }

    /// Removes a name from the line.
    pub(in crate::command) fn remove(&self, name: &str) {
        if let Some(progress) = &self.0 {
            lock(progress).names.retain(|other| other != name);
        }
    }

    /// Erases the line and runs `write` before it can be shown again.
    pub(in crate::command) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut progress = self.0.as_deref().map(lock);
        progress.as_deref_mut().into_iter().for_each(Progress::erase);
        write()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            let mut progress = lock(progress);
            progress.is_finished = true;
            progress.erase();
        }
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    fn show(&mut self) {
        let text = progress_text(self.activity, &self.names, clock::monotonic().saturating_sub(self.started));
        // The cursor returns to the first column, so that a log line overwrites the text.
        let line = truncate_to_width(&text, Size::of(&io::stderr()).columns.saturating_sub(1));
        self.is_shown = io::stderr().write_all(format!("\r\x1b[K{line}\r").as_bytes()).is_ok();
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// The text of a progress line.
pub(in crate::command) fn progress_text(activity: &str, names: &[String], elapsed: Duration) -> String {
    let listed = names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{activity} {listed}{more} … {} s", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_names_are_listed_and_the_others_counted() {
        let names: Vec<_> = ["jobs", "documents", "cache", "billing", "mail"].map(str::to_owned).to_vec();
        for (count, expected) in [
            (1, "reading jobs … 3 s"),
            (3, "reading jobs, documents, cache … 3 s"),
            (5, "reading jobs, documents, cache and 2 more … 3 s"),
        ] {
            assert_eq!(progress_text("reading", &names[..count], Duration::from_millis(3_900)), expected);
        }
    }
}
