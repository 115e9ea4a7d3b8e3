//! The producer of due work: it enqueues occurrences while the scenario needs them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use lease_protocol::{
    BoxedProtocol, LeaseProtocol, MaintenanceAction, Occurrence, ProtocolError, SchedulerPanic, StoreAddress,
};

use super::super::Failure;
use super::environment::LEASE;
use super::speed::Speed;

/// A thread with its own connection that enqueues occurrences. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct WorkProducer {
    /// The number of occurrences to enqueue at once; one at each interval follows, unless the number is zero.
    bursts: SyncSender<u64>,
    thread: JoinHandle<()>,
}

impl WorkProducer {
    /// Starts the thread. It enqueues nothing yet.
    pub(super) fn start(store: StoreAddress, speed: Speed) -> Result<Self, Failure> {
        let (bursts, receiver) = sync_channel(4);
        let thread = Builder::new()
            .name("producer".into())
            .spawn(move || produce(&store, speed.due_interval(), &receiver))
            .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
        Ok(Self { bursts, thread })
    }

    /// Enqueues a number of occurrences now, and then one at each interval. Zero pauses the producer.
    pub(super) fn enqueue(&self, burst: u64) {
        // The thread ends early only by a panic, which `stop` reports.
        let _ = self.bursts.send(burst);
    }

    /// Ends the thread.
    pub(super) fn stop(self) -> Result<(), SchedulerPanic> {
        drop(self.bursts);
        self.thread.join().map_err(|_| SchedulerPanic)
    }
}

fn produce(store: &StoreAddress, interval: Duration, bursts: &Receiver<u64>) {
    let (mut is_active, mut number) = (false, 1);
    let mut connection = None;
    loop {
        let burst = if is_active { bursts.recv_timeout(interval) } else { bursts.recv().map_err(Into::into) };
        let burst = match burst {
            Ok(burst) => burst,
            Err(RecvTimeoutError::Timeout) => 1,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        is_active = burst > 0;
        for _ in 0..burst {
            // After a failure, the next occurrence is enqueued on a new connection.
            let enqueued = connection.take().map_or_else(|| store.open(), Ok).and_then(|mut protocol| {
                enqueue(&mut protocol, number)?;
                Ok(protocol)
            });
            connection = enqueued.ok();
            number += u64::from(connection.is_some());
        }
    }
}

fn enqueue(protocol: &mut BoxedProtocol, number: u64) -> Result<(), ProtocolError> {
    let occurrence = Occurrence {
        key: format!("{LEASE}/{number}"),
        lease: LEASE.to_owned(),
        action: MaintenanceAction::PlanRetention,
        due_at: protocol.store_now()?,
    };
    // The key is new: only this thread assigns keys.
    let _ = protocol.enqueue(&occurrence)?;
    Ok(())
}
