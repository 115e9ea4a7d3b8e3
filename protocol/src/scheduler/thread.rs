//! Runs a synthetic scheduler in real time on a thread.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::{Scheduler, SchedulerEvent};
use crate::{LeaseProtocol, ProtocolError};

/// The handle of a scheduler that runs on a thread. If the handle is dropped, the scheduler stops as with
/// [`stop`](Self::stop), and nothing waits for it.
#[derive(Debug)]
pub struct SchedulerHandle {
    control: SyncSender<Control>,
    thread: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
enum Control {
    Crash,
    Freeze,
    Pause,
    Resume,
    Stop,
    Thaw,
}

/// Runs a scheduler on a new thread.
///
/// `connect` opens the store on that thread, and again after the store could not be reached. `report` receives each event
/// after the step that caused it has ended; the scheduler waits for it to return.
///
/// # Errors
/// If the operating system cannot create a thread.
pub fn spawn<P: LeaseProtocol>(
    scheduler: Scheduler,
    connect: impl FnMut() -> Result<P, ProtocolError> + Send + 'static,
    report: impl FnMut(SchedulerEvent) + Send + 'static,
) -> io::Result<SchedulerHandle> {
    let (control, controls) = sync_channel(16);
    let thread = Builder::new().name("scheduler".into()).spawn(move || {
        // Created here because a connection need not be `Send`.
        #[expect(clippy::disallowed_methods, reason = "local time, which is never sent to a store")]
        let started = Instant::now();
        let runner = Runner { scheduler, connect, report, store: None, retry_at: Duration::ZERO, started };
        runner.run(&controls);
    })?;
    Ok(SchedulerHandle { control, thread })
}

impl SchedulerHandle {
    /// Freezes its work while it continues to renew.
    pub fn freeze(&self) {
        self.send(Control::Freeze);
    }

    /// Continues its work.
    pub fn thaw(&self) {
        self.send(Control::Thaw);
    }

    /// Suspends the thread as SIGSTOP suspends a process: it neither works nor renews.
    pub fn pause(&self) {
        self.send(Control::Pause);
    }

    /// Resumes the thread where it was, as SIGCONT does.
    pub fn resume(&self) {
        self.send(Control::Resume);
    }

    /// Releases the lease and ends. If the store fails at that moment, the lease expires later.
    ///
    /// # Errors
    /// If the thread has panicked.
    pub fn stop(self) -> Result<(), SchedulerPanic> {
        self.end(Control::Stop)
    }

    /// Ends without releasing the lease, as a crash does.
    ///
    /// # Errors
    /// If the thread has panicked.
    pub fn crash(self) -> Result<(), SchedulerPanic> {
        self.end(Control::Crash)
    }

    fn end(self, control: Control) -> Result<(), SchedulerPanic> {
        self.send(control);
        self.thread.join().map_err(|_| SchedulerPanic)
    }

    fn send(&self, control: Control) {
        // If the thread has ended, `end` reports why.
        let _ = self.control.send(control);
    }
}

/// The scheduler's thread ended by a panic and did not release its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scheduler ended by a panic")]
pub struct SchedulerPanic;

struct Runner<P, C, R> {
    scheduler: Scheduler,
    connect: C,
    report: R,
    store: Option<P>,
    /// The store is not connected to before this time.
    retry_at: Duration,
    started: Instant,
}

impl<P, C, R> Runner<P, C, R>
where
    P: LeaseProtocol,
    C: FnMut() -> Result<P, ProtocolError>,
    R: FnMut(SchedulerEvent),
{
    fn run(mut self, controls: &Receiver<Control>) {
        let mut paused = false;
        loop {
            let control = if paused {
                controls.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                controls.recv_timeout(self.next_step_at().saturating_sub(self.started.elapsed()))
            };
            match control {
                Ok(Control::Crash) => return,
                Ok(Control::Freeze) => {
                    self.scheduler.freeze();
                    (self.report)(SchedulerEvent::Frozen);
                }
                Ok(Control::Pause) => paused = true,
                Ok(Control::Resume) => paused = false,
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return self.release(),
                Ok(Control::Thaw) => {
                    self.scheduler.thaw();
                    (self.report)(SchedulerEvent::Thawed);
                }
                Err(RecvTimeoutError::Timeout) => self.step(),
            }
        }
    }

    fn next_step_at(&self) -> Duration {
        match self.store {
            Some(_) => self.scheduler.next_step_at(),
            None => self.scheduler.next_step_at().max(self.retry_at),
        }
    }

    fn step(&mut self) {
        let Some(mut store) = self.store.take().or_else(|| self.reconnect()) else { return };
        let events = self.scheduler.step(&mut store, self.started.elapsed());
        // A connection that could not reach the store is not used again.
        if !events.contains(&SchedulerEvent::StoreFailed(ProtocolError::Unreachable)) {
            self.store = Some(store);
        }
        events.into_iter().for_each(&mut self.report);
    }

    fn release(mut self) {
        let Some(mut store) = self.store.take() else { return };
        self.scheduler.release(&mut store, self.started.elapsed()).into_iter().for_each(self.report);
    }

    fn reconnect(&mut self) -> Option<P> {
        match (self.connect)() {
            Ok(store) => Some(store),
            Err(error) => {
                self.retry_at = self.started.elapsed().saturating_add(self.scheduler.timing().retry_every);
                (self.report)(SchedulerEvent::StoreFailed(error));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
