//! Standard error, written by a thread of its own, so that nobody who logs waits for whoever reads.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// How many lines wait to be written. Of a log that nobody reads any more, later ones are lost.
const BUFFERED_LINES: usize = 1024;
/// How long the end of the process waits for a log that nobody reads.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes elsewhere, without waiting: a line that could not be taken is an error.
#[derive(Debug)]
pub(super) struct Output {
    lines: NonBlocking,
    lost: ErrorCounter,
    flushed: Receiver<()>,
    _worker: WorkerGuard,
}

impl Output {
    pub(super) fn new<W: Write + Send + 'static>(writer: W) -> Self {
        let (sender, flushed) = sync_channel(1);
        let builder =
            NonBlockingBuilder::default().lossy(true).buffered_lines_limit(BUFFERED_LINES).thread_name("log-out");
        let (lines, worker) = builder.finish(Flushed { writer, sender });
        Self { lost: lines.error_counter(), lines, flushed, _worker: worker }
    }
}

impl Write for Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let before = self.lost.dropped_lines();
        self.lines.write_all(line)?;
        if self.lost.dropped_lines() == before { Ok(line.len()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// Waits for a moment until all is written. The guard of the thread would do so too when it is dropped, but ends the
    /// log, and says on standard output that the buffer is full, which may hold up the end of the process.
    fn flush(&mut self) -> io::Result<()> {
        let _ = self.flushed.try_recv();
        self.write(b"")?;
        self.flushed.recv_timeout(FLUSH_TIMEOUT).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

/// Says when an empty line comes, which is when all before it is written.
struct Flushed<W> {
    writer: W,
    sender: SyncSender<()>,
}

impl<W: Write> Write for Flushed<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.writer.write(line)
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if line.is_empty() {
            let _ = self.sender.try_send(());
        }
        self.writer.write_all(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Takes a line once it is let.
    struct Stuck(Arc<Mutex<()>>, Sender<Vec<u8>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.0.lock().unwrap());
            self.1.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_a_reader_and_what_is_beyond_the_bound_is_refused() {
        let (lock, (sender, written)) = (Arc::new(Mutex::new(())), channel());
        let mut output = Output::new(Stuck(Arc::clone(&lock), sender));
        let stuck = lock.lock().unwrap();
        let taken = (0..2 * BUFFERED_LINES).filter(|number| output.write(&number.to_be_bytes()).is_ok()).count();
        assert!((BUFFERED_LINES..=BUFFERED_LINES + 1).contains(&taken), "{taken}");
        assert!(output.flush().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "and so is the end");
        drop(stuck);
        for number in 0..BUFFERED_LINES {
            assert_eq!(written.recv().unwrap(), number.to_be_bytes());
        }
    }

    #[test]
    fn the_end_waits_for_what_is_on_its_way() {
        let (sender, written) = channel();
        let mut output = Output::new(Stuck(Arc::default(), sender));
        for line in [b"one", b"two"] {
            output.write_all(line).unwrap();
            output.flush().unwrap();
            assert_eq!(written.try_recv().unwrap(), line);
        }
    }
}
