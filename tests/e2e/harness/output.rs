//! The output of a process, available line by line while the process runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use super::{PATIENCE, now};

/// The lines that a process has written to one stream so far.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<(Mutex<Written>, Condvar)>);

#[derive(Default)]
struct Written {
    lines: Vec<String>,
    ended: bool,
}

impl Output {
    /// Reads a stream to its end, on a separate thread.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let output = Self::default();
        let Self(shared) = output.clone();
        thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            loop {
                line.clear();
                let ended = !matches!(reader.read_until(b'\n', &mut line), Ok(1..));
                let mut written = shared.0.lock().unwrap();
                if ended {
                    written.ended = true;
                } else {
                    written.lines.push(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned());
                }
                shared.1.notify_all();
                if ended {
                    return;
                }
            }
        });
        output
    }

    /// The whole output so far.
    pub(crate) fn text(&self) -> String {
        self.0.0.lock().unwrap().lines.join("\n")
    }

    /// The number of lines so far that contain a text.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.0.0.lock().unwrap().lines.iter().filter(|line| line.contains(part)).count()
    }

    /// Waits for a line that contains a text, and returns the line.
    pub(crate) fn wait_for(&self, part: &str) -> String {
        let (lock, changed) = &*self.0;
        let until = now() + PATIENCE;
        let mut written = lock.lock().unwrap();
        loop {
            if let Some(line) = written.lines.iter().find(|line| line.contains(part)) {
                return line.clone();
            }
            let left = until.saturating_sub(now());
            assert!(!written.ended && !left.is_zero(), "no line with {part:?}:\n{}", written.lines.join("\n"));
            written = changed.wait_timeout(written, left).unwrap().0;
        }
    }

    /// Waits for the end of the stream, and returns its content.
    pub(crate) fn whole(&self) -> String {
        let (lock, changed) = &*self.0;
        let written = lock.lock().unwrap();
        let (written, timeout) = changed.wait_timeout_while(written, PATIENCE, |written| !written.ended).unwrap();
        assert!(!timeout.timed_out(), "the stream goes on:\n{}", written.lines.join("\n"));
        written.lines.join("\n")
    }
}
