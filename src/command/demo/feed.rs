//! What makes work fall due: occurrences put into the queue, as long as the story wants them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::super::Failure;
use super::pace::Pace;
use super::stage::LEASE;
use crate::scheduler::{LeaseProtocol, MaintenanceAction, Occurrence, Panicked, ProtocolError, SqliteProtocol};

/// Puts an occurrence into the queue now and then, on a connection and a thread of its own. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Feed {
    open: SyncSender<bool>,
    thread: JoinHandle<()>,
}

impl Feed {
    /// Starts it; nothing falls due yet.
    pub(super) fn start(protocol: SqliteProtocol, pace: Pace) -> Result<Self, Failure> {
        let (open, opened) = sync_channel(4);
        let thread = Builder::new()
            .name("feed".into())
            .spawn(move || feed(protocol, pace.due_every(), &opened))
            .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
        Ok(Self { open, thread })
    }

    /// Lets work fall due, at once and from then on, or no more.
    pub(super) fn open(&self, open: bool) {
        // A thread that has ended heeds nothing; whoever stops it learns why.
        let _ = self.open.send(open);
    }

    /// Ends it.
    pub(super) fn stop(self) -> Result<(), Panicked> {
        drop(self.open);
        self.thread.join().map_err(|_| Panicked)
    }
}

fn feed(mut protocol: SqliteProtocol, every: Duration, opened: &Receiver<bool>) {
    let (mut open, mut number) = (false, 1_u64);
    loop {
        let told = match open {
            true => opened.recv_timeout(every),
            false => opened.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(told) => open = told,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A store that fails now is tried again with the next.
        if open && enqueue(&mut protocol, number).is_ok() {
            number += 1;
        }
    }
}

fn enqueue(protocol: &mut SqliteProtocol, number: u64) -> Result<(), ProtocolError> {
    let occurrence = Occurrence {
        key: format!("{LEASE}/{number}"),
        lease: LEASE.to_owned(),
        action: MaintenanceAction::PlanRetention,
        due_at: protocol.store_now()?,
    };
    // The keys are counted up by this thread alone, so none is there already.
    let _ = protocol.enqueue(&occurrence)?;
    Ok(())
}
