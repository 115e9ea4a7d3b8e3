//! How many connections there are, and which one goes when there are too many.
//!
//! A connection that asks for nothing costs its client nothing, so those who hold many must not keep others out: once all
//! places are taken, whoever has been idle longest makes room for who comes. An event stream is not idle: there are only
//! so many of them, far fewer than there are places.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::clock;

/// How long a new connection is left alone, so that a client that means well can ask.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for a place before the next one is asked to leave.
const PAUSE: Duration = Duration::from_millis(50);

/// The connections of a server.
#[derive(Debug)]
pub(super) struct Crowd {
    places: Arc<Semaphore>,
    /// How long a client is left alone to take an answer.
    taking: Duration,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    numbered: u64,
    /// Those that may be asked to leave, and from when on.
    from: BTreeMap<(Duration, u64), CancellationToken>,
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    /// From when on it may be asked to leave; `None` while it is [`Busy`].
    from: Mutex<Option<Duration>>,
    leave: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Crowd {
    /// One of at most so many, each of whom is left alone for so long to take an answer.
    pub(super) fn of(most: usize, taking: Duration) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
            taking,
            idle: Mutex::default(),
        })
    }

    /// A place for a connection that was accepted, as soon as there is one.
    pub(super) async fn place(self: &Arc<Self>) -> Arc<Place> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                break permit;
            }
            self.make_room();
            if let Ok(Ok(permit)) = timeout(PAUSE, Arc::clone(&self.places).acquire_owned()).await {
                break permit;
            }
        };
        let mut idle = self.idle();
        idle.numbered += 1;
        let (number, from, leave) = (idle.numbered, clock::monotonic() + GRACE, CancellationToken::new());
        idle.from.insert((from, number), leave.clone());
        drop(idle);
        Arc::new(Place { crowd: Arc::clone(self), number, from: Mutex::new(Some(from)), leave, _permit: permit })
    }

    /// Asks whoever has been idle longest to leave, if it has been for long enough.
    fn make_room(&self) {
        let mut idle = self.idle();
        if let Some(first) = idle.from.first_entry()
            && first.key().0 <= clock::monotonic()
        {
            first.remove().cancel();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Keeps it from being asked to leave for as long as this is there.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.idle_from(None);
        Busy(Arc::clone(self))
    }

    /// Waits until it has to make room for somebody else.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.cancelled().await;
    }

    fn idle_from(&self, from: Option<Duration>) {
        let mut own = self.from.lock().unwrap_or_else(PoisonError::into_inner);
        let mut idle = self.crowd.idle();
        if let Some(before) = *own {
            idle.from.remove(&(before, self.number));
        }
        if let Some(from) = from {
            idle.from.insert((from, self.number), self.leave.clone());
        }
        *own = from;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.idle_from(None);
    }
}

/// While this is there, an answer is being made, or is a stream that goes on.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.idle_from(Some(clock::monotonic() + self.0.crowd.taking));
    }
}
