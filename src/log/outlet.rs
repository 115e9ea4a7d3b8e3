//! The way out: a thread of its own writes, so that whoever logs never waits for whoever reads.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How many lines wait to be written. Of a log that nobody reads any more, later ones are lost.
const WAITING: usize = 1024;

/// How long the end of the process waits for a log that nobody reads.
const PATIENCE: Duration = Duration::from_secs(1);

enum Message {
    Bytes(Vec<u8>),
    /// To say so once all before it is written.
    Written(SyncSender<()>),
}

/// Writes elsewhere, without waiting: an error is what could not be taken.
#[derive(Debug)]
pub(super) struct Outlet(SyncSender<Message>);

impl Outlet {
    /// Writes to this. Without a thread left for it, everything is lost.
    pub(super) fn new<W: Write + Send + 'static>(writer: W) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let _ = thread::Builder::new().name("log-out".to_owned()).spawn(move || write_all(writer, &receiver));
        Self(sender)
    }
}

fn write_all(mut writer: impl Write, messages: &Receiver<Message>) {
    for message in messages {
        match message {
            // There is nowhere to say that it cannot be said.
            Message::Bytes(bytes) => drop(writer.write_all(&bytes)),
            Message::Written(done) => drop(done.try_send(())),
        }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_send(Message::Bytes(bytes.to_vec())).map_err(|_| io::ErrorKind::WouldBlock)?;
        Ok(bytes.len())
    }

    /// Waits for a moment until all is written.
    fn flush(&mut self) -> io::Result<()> {
        let (sender, done) = sync_channel(1);
        self.0.try_send(Message::Written(sender)).map_err(|_| io::ErrorKind::WouldBlock)?;
        done.recv_timeout(PATIENCE).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Sender;
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
        let (lock, (sender, written)) = (Arc::new(Mutex::new(())), std::sync::mpsc::channel());
        let mut outlet = Outlet::new(Stuck(Arc::clone(&lock), sender));
        let stuck = lock.lock().unwrap();
        let taken = (0..2 * WAITING).filter(|number| outlet.write(&number.to_be_bytes()).is_ok()).count();
        assert!((WAITING..=WAITING + 1).contains(&taken), "{taken}");
        drop(stuck);
        for number in 0..WAITING {
            assert_eq!(written.recv().unwrap(), number.to_be_bytes());
        }
    }

    #[test]
    fn the_end_waits_for_what_is_on_its_way() {
        let (sender, written) = std::sync::mpsc::channel();
        let mut outlet = Outlet::new(Stuck(Arc::default(), sender));
        outlet.write_all(b"one").unwrap();
        outlet.flush().unwrap();
        assert_eq!(written.try_recv().unwrap(), b"one");
    }
}
