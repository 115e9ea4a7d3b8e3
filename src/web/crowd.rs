//! How many connections there are, and which one goes when there are too many.
//!
//! A connection that asks for nothing costs its client nothing, so those who hold many must not keep others out: once all
//! places are taken, whoever holds most of them makes room for who comes, with the connection that has been idle longest.
//! An event stream is not idle: there are only so many of them, far fewer than there are places.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::peer::Peer;
use super::unsent::{Ledger, Unsent};
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
    /// What answers hold until they are sent.
    ledger: Arc<Ledger>,
    there: Mutex<There>,
}

#[derive(Debug, Default)]
struct There {
    numbered: u64,
    peers: HashMap<Peer, Held>,
}

/// What one peer holds.
#[derive(Debug, Default)]
struct Held {
    places: usize,
    /// Those that may be asked to leave, and from when on.
    from: BTreeMap<(Duration, u64), CancellationToken>,
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    peer: Peer,
    number: u64,
    doing: Mutex<Doing>,
    leave: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// What goes on over a connection.
#[derive(Debug)]
enum Doing {
    /// Nothing, or half a head has come. It may be asked to leave from then on.
    Idle(Duration),
    /// An answer is being made, or is a stream that goes on.
    Answering,
    /// An answer is being sent. Whoever takes longer than until then may be asked to leave.
    Sending(Duration, Unsent),
    /// All of it is in the hands of hyper, which has yet to write it.
    Handed { until: Duration, _unsent: Option<Unsent> },
}

impl Doing {
    const fn may_leave_from(&self) -> Option<Duration> {
        match self {
            Self::Answering => None,
            Self::Idle(from) | Self::Sending(from, _) | Self::Handed { until: from, .. } => Some(*from),
        }
    }
}

impl Crowd {
    /// One of at most so many, each of whom is left alone for so long to take an answer.
    pub(super) fn of(most: usize, taking: Duration, ledger: Ledger) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
            taking,
            ledger: Arc::new(ledger),
            there: Mutex::default(),
        })
    }

    /// A place for a connection that was accepted, as soon as there is one.
    pub(super) async fn place(self: &Arc<Self>, peer: Peer) -> Arc<Place> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                break permit;
            }
            self.make_room();
            if let Ok(Ok(permit)) = timeout(PAUSE, Arc::clone(&self.places).acquire_owned()).await {
                break permit;
            }
        };
        let from = clock::monotonic() + GRACE;
        let leave = CancellationToken::new();
        let mut there = self.there();
        there.numbered += 1;
        let number = there.numbered;
        let held = there.peers.entry(peer).or_default();
        held.places += 1;
        held.from.insert((from, number), leave.clone());
        drop(there);
        let doing = Mutex::new(Doing::Idle(from));
        Arc::new(Place { crowd: Arc::clone(self), peer, number, doing, leave, _permit: permit })
    }

    /// Asks the one that has been idle longest of whoever holds most to leave, if there is one that has been for long
    /// enough.
    pub(super) fn make_room(&self) {
        let now = clock::monotonic();
        let mut there = self.there();
        let may_leave = there.peers.values_mut().filter_map(|held| {
            let (from, _) = *held.from.first_key_value()?.0;
            (from <= now).then_some(((held.places, Reverse(from)), held))
        });
        let first = may_leave.max_by_key(|(key, _)| *key).and_then(|(_, held)| held.from.pop_first());
        if let Some((_, leave)) = first {
            leave.cancel();
        }
    }

    fn there(&self) -> MutexGuard<'_, There> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Keeps it from being asked to leave for as long as an answer is being made.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.now(|_| Doing::Answering);
        Busy(Arc::clone(self))
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        matches!(*self.doing(), Doing::Idle(_))
    }

    /// Waits until it has to make room for somebody else.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.cancelled().await;
    }

    /// Takes note that all that hyper had was written.
    pub(super) fn flushed(&self) {
        // Far more often than not, there is nothing to note.
        if matches!(*self.doing(), Doing::Handed { .. }) {
            self.now(|_| Doing::Idle(clock::monotonic()));
        }
    }

    fn now(&self, next: impl FnOnce(Doing) -> Doing) {
        let mut doing = self.doing();
        let before = doing.may_leave_from();
        *doing = next(std::mem::replace(&mut *doing, Doing::Answering));
        let after = doing.may_leave_from();
        let mut there = self.crowd.there();
        let Some(held) = there.peers.get_mut(&self.peer) else { return };
        if let Some(before) = before {
            held.from.remove(&(before, self.number));
        }
        if let Some(after) = after {
            held.from.insert((after, self.number), self.leave.clone());
        }
    }

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.now(|_| Doing::Answering);
        let mut there = self.crowd.there();
        if let Some(held) = there.peers.get_mut(&self.peer) {
            held.places -= 1;
            if held.places == 0 {
                there.peers.remove(&self.peer);
            }
        }
    }
}

/// While this is there, an answer is being made or handed over, or is a stream that goes on.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Busy {
    /// The answer is made, of these pieces: from now on, its client may take too long.
    pub(super) fn sending<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) {
        let Place { crowd, peer, leave, .. } = &*self.0;
        let unsent = Ledger::enter(&crowd.ledger, *peer, pieces, leave);
        let until = clock::monotonic() + crowd.taking;
        self.0.now(|_| Doing::Sending(until, unsent));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let taking = self.0.crowd.taking;
        self.0.now(|doing| match doing {
            Doing::Sending(until, unsent) => Doing::Handed { until, _unsent: Some(unsent) },
            _ => Doing::Handed { until: clock::monotonic() + taking, _unsent: None },
        });
    }
}

#[cfg(test)]
#[path = "crowd/tests.rs"]
mod tests;
