//! What makes work fall due: occurrences put into the queue, as long as the story wants them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::super::Failure;
use super::pace::Pace;
use super::stage::LEASE;
use crate::scheduler::{
    AnyProtocol, LeaseProtocol, MaintenanceAction, Occurrence, Panicked, ProtocolError, StoreAddress,
};

/// Puts an occurrence into the queue now and then, on a connection and a thread of its own. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Feed {
    control: SyncSender<Control>,
    thread: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
enum Control {
    Close,
    /// So many at once, and then one after the other.
    Open(u64),
}

impl Feed {
    /// Starts it; nothing falls due yet.
    pub(super) fn start(store: StoreAddress, pace: Pace) -> Result<Self, Failure> {
        let (control, controls) = sync_channel(4);
        let thread = Builder::new()
            .name("feed".into())
            .spawn(move || feed(&store, pace.due_every(), &controls))
            .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
        Ok(Self { control, thread })
    }

    /// Lets work fall due one after the other, from now on.
    pub(super) fn open(&self) {
        self.tell(Control::Open(1));
    }

    /// The same, but several at once now: more than one scheduler can do in a moment.
    pub(super) fn rush(&self) {
        self.tell(Control::Open(4));
    }

    /// Lets no more work fall due.
    pub(super) fn close(&self) {
        self.tell(Control::Close);
    }

    fn tell(&self, control: Control) {
        // A thread that has ended heeds nothing; whoever stops it learns why.
        let _ = self.control.send(control);
    }

    /// Ends it.
    pub(super) fn stop(self) -> Result<(), Panicked> {
        drop(self.control);
        self.thread.join().map_err(|_| Panicked)
    }
}

fn feed(store: &StoreAddress, every: Duration, controls: &Receiver<Control>) {
    let (mut open, mut number) = (false, 1);
    let mut connection = None;
    loop {
        let control = if open {
            controls.recv_timeout(every)
        } else {
            controls.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        let due = match control {
            Ok(Control::Close) => 0,
            Ok(Control::Open(at_once)) => at_once,
            Err(RecvTimeoutError::Timeout) => 1,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        open = due > 0;
        for _ in 0..due {
            // A store that fails now is tried again with the next, and on a new connection.
            let enqueued = connection.take().map_or_else(|| store.open(), Ok).and_then(|mut protocol| {
                enqueue(&mut protocol, number)?;
                Ok(protocol)
            });
            connection = enqueued.ok();
            number += u64::from(connection.is_some());
        }
    }
}

fn enqueue(protocol: &mut AnyProtocol, number: u64) -> Result<(), ProtocolError> {
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
