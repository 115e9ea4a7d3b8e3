//! Writes to standard error from a separate thread, so that logging never blocks.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that may wait to be written. Further lines are lost if nobody reads the log.
const BUFFERED_LINES: usize = 1024;
/// How long the process waits for the log at its end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// A writer that never blocks. A line that does not fit into the buffer is an error.
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
        let (lines, worker) = builder.finish(FlushNotifier { writer, sender });
        Self { lost: lines.error_counter(), lines, flushed, _worker: worker }
    }
}

impl Write for Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let before = self.lost.dropped_lines();
        self.lines.write_all(line)?;
        if self.lost.dropped_lines() == before { Ok(line.len()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// Waits briefly until everything is written. Dropping the worker guard would do the same, but would also end the log, and print
    /// to standard output if the buffer is full, which can block the end of the process.
    fn flush(&mut self) -> io::Result<()> {
        let _ = self.flushed.try_recv();
        self.write(b"")?;
        self.flushed.recv_timeout(FLUSH_TIMEOUT).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

/// Reports an empty write, before which everything else was written.
struct FlushNotifier<W> {
    writer: W,
    sender: SyncSender<()>,
}

impl<W: Write> Write for FlushNotifier<W> {
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

    /// A writer that blocks while the mutex is locked.
    struct BlockedWriter(Arc<Mutex<()>>, Sender<Vec<u8>>);

    impl Write for BlockedWriter {
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
    fn logging_never_blocks_and_lines_beyond_the_buffer_are_errors() {
        let (lock, (sender, written)) = (Arc::new(Mutex::new(())), channel());
        let mut output = Output::new(BlockedWriter(Arc::clone(&lock), sender));
        let guard = lock.lock().unwrap();
        let taken = (0..2 * BUFFERED_LINES).filter(|number| output.write(&number.to_be_bytes()).is_ok()).count();
        assert!((BUFFERED_LINES..=BUFFERED_LINES + 1).contains(&taken), "{taken}");
        assert!(output.flush().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "and so is the end");
        drop(guard);
        for number in 0..BUFFERED_LINES {
            assert_eq!(written.recv().unwrap(), number.to_be_bytes());
        }
    }

    #[test]
    fn a_flush_waits_until_the_buffered_lines_are_written() {
        let (sender, written) = channel();
        let mut output = Output::new(BlockedWriter(Arc::default(), sender));
        for line in [b"one", b"two"] {
            output.write_all(line).unwrap();
            output.flush().unwrap();
            assert_eq!(written.try_recv().unwrap(), line);
        }
    }
}
