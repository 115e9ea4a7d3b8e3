//! Runs a synthetic scheduler in real time, on a thread of its own.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::event::Event;
use super::instance::Instance;
use super::protocol::{LeaseProtocol, ProtocolError};

/// A scheduler that runs. To drop this is to let it stop as with [`Running::stop`], without waiting for it.
#[derive(Debug)]
pub struct Running {
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

/// Starts an instance. `connect` is called on its thread, and again after the store could not be reached; `report` is
/// called there with every event, once the step that brought it is over and the store is let go of; it holds the
/// scheduler up for as long as it takes.
///
/// # Errors
/// When the operating system gives no thread.
pub fn start<P: LeaseProtocol>(
    instance: Instance,
    connect: impl FnMut() -> Result<P, ProtocolError> + Send + 'static,
    report: impl FnMut(Event) + Send + 'static,
) -> io::Result<Running> {
    let (control, controls) = sync_channel(16);
    let thread = Builder::new().name("scheduler".into()).spawn(move || {
        // Made here because a connection need not be able to change threads.
        #[expect(clippy::disallowed_methods, reason = "an instance's local time; nothing of it reaches a store")]
        let began = Instant::now();
        let steps = Loop { instance, connect, report, store: None, retry_at: Duration::ZERO, began };
        steps.run(&controls);
    })?;
    Ok(Running { control, thread })
}

impl Running {
    /// Lets its work stand still while it renews.
    pub fn freeze(&self) {
        self.tell(Control::Freeze);
    }

    /// Lets its work move again.
    pub fn thaw(&self) {
        self.tell(Control::Thaw);
    }

    /// Stops it in its tracks, as SIGSTOP would: it neither works nor renews, and does not know it.
    pub fn pause(&self) {
        self.tell(Control::Pause);
    }

    /// Lets it go on where it was, as SIGCONT would.
    pub fn resume(&self) {
        self.tell(Control::Resume);
    }

    /// Gives the lease back and ends. If the store fails just then, the lease ends by itself.
    ///
    /// # Errors
    /// When the thread had panicked.
    pub fn stop(self) -> Result<(), Panicked> {
        self.end(Control::Stop)
    }

    /// Ends without giving the lease back, as a crash would.
    ///
    /// # Errors
    /// When the thread had panicked.
    pub fn crash(self) -> Result<(), Panicked> {
        self.end(Control::Crash)
    }

    fn end(self, how: Control) -> Result<(), Panicked> {
        self.tell(how);
        self.thread.join().map_err(|_| Panicked)
    }

    fn tell(&self, control: Control) {
        // A thread that has ended heeds nothing; whoever joins it learns why.
        let _ = self.control.send(control);
    }
}

/// The scheduler's thread ended by a panic; its lease was not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scheduler ended by a panic")]
pub struct Panicked;

struct Loop<P, C, R> {
    instance: Instance,
    connect: C,
    report: R,
    store: Option<P>,
    /// Not to connect before this.
    retry_at: Duration,
    began: Instant,
}

impl<P, C, R> Loop<P, C, R>
where
    P: LeaseProtocol,
    C: FnMut() -> Result<P, ProtocolError>,
    R: FnMut(Event),
{
    fn run(mut self, controls: &Receiver<Control>) {
        let mut paused = false;
        loop {
            let control = if paused {
                controls.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                controls.recv_timeout(self.next_step_at().saturating_sub(self.began.elapsed()))
            };
            match control {
                Ok(Control::Crash) => return,
                Ok(Control::Freeze) => {
                    self.instance.freeze();
                    (self.report)(Event::Frozen);
                }
                Ok(Control::Pause) => paused = true,
                Ok(Control::Resume) => paused = false,
                Ok(Control::Stop) | Err(RecvTimeoutError::Disconnected) => return self.release(),
                Ok(Control::Thaw) => {
                    self.instance.thaw();
                    (self.report)(Event::Thawed);
                }
                Err(RecvTimeoutError::Timeout) => self.step(),
            }
        }
    }

    fn next_step_at(&self) -> Duration {
        match self.store {
            Some(_) => self.instance.next_step_at(),
            None => self.instance.next_step_at().max(self.retry_at),
        }
    }

    fn step(&mut self) {
        let Some(mut store) = self.store.take().or_else(|| self.reconnect()) else { return };
        let events = self.instance.step(&mut store, self.began.elapsed());
        // A connection that reached nothing is not tried again.
        if !events.contains(&Event::StoreFailed(ProtocolError::Unreachable)) {
            self.store = Some(store);
        }
        events.into_iter().for_each(&mut self.report);
    }

    fn release(mut self) {
        let Some(mut store) = self.store.take() else { return };
        self.instance.release(&mut store, self.began.elapsed()).into_iter().for_each(self.report);
    }

    fn reconnect(&mut self) -> Option<P> {
        match (self.connect)() {
            Ok(store) => Some(store),
            Err(error) => {
                self.retry_at = self.began.elapsed().saturating_add(self.instance.timing().retry_every);
                (self.report)(Event::StoreFailed(error));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
