//! A synthetic scheduler, one step at a time.
//!
//! It has no clock, no thread and no store of its own: whoever drives it says what its monotonic clock shows and hands
//! it the store. So a simulation can run any number of them through days in a moment, and pause one between any two
//! steps.
//!
//! The order within a step is the point of it. The write in hand comes first: a process that was stopped past its
//! lease's expiry does not know it, and goes on where it was. Only the fence keeps its late write from doing harm. That
//! is also why it keeps no expiry of its own: all that it does to the store is fenced or idempotent.

use std::time::Duration;

use super::authority::{Epoch, InstanceToken, StoreTime};
use super::event::Event;
use super::occurrence::{Fencing, MaintenanceAction, Occurrence};
use super::protocol::{Acquire, Enqueue, LeaseProtocol, Plan, ProtocolError, Release, Renew};
use super::timing::Timing;

/// One instance of the synthetic scheduler: leader or standby.
#[derive(Debug)]
pub struct Instance {
    token: InstanceToken,
    lease: String,
    timing: Timing,
    role: Role,
    frozen: bool,
    enqueue_at: Option<Duration>,
}

#[derive(Debug)]
enum Role {
    Standby { acquire_at: Duration },
    Leader { epoch: Epoch, renew_at: Duration, work: Work },
}

#[derive(Debug)]
enum Work {
    LookAt(Duration),
    InHand { occurrence: Occurrence, write_at: Duration },
}

impl Instance {
    /// A standby that at its first step, whenever that is, tries everything at once.
    #[must_use]
    pub fn new(token: InstanceToken, lease: impl Into<String>, timing: Timing) -> Self {
        Self {
            token,
            lease: lease.into(),
            timing,
            role: Role::Standby { acquire_at: Duration::ZERO },
            frozen: false,
            enqueue_at: timing.enqueue_every.map(|_| Duration::ZERO),
        }
    }

    /// The epoch that it believes it leads under.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        match self.role {
            Role::Standby { .. } => None,
            Role::Leader { epoch, .. } => Some(epoch),
        }
    }

    /// The times that it keeps.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Whether its work stands still.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Lets its work stand still: the write in hand is not done and nothing is taken. It goes on to renew, and to
    /// enqueue: a leader that looks alive and does nothing.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Lets its work move again. What is in hand is written at the next step, or when its time comes.
    pub fn thaw(&mut self) {
        self.frozen = false;
    }

    /// When it next has something to do, on its own clock; what is past means now. A step before that does nothing.
    #[must_use]
    pub fn next_step_at(&self) -> Duration {
        let next = match &self.role {
            Role::Standby { acquire_at } => *acquire_at,
            Role::Leader { renew_at, .. } if self.frozen => *renew_at,
            Role::Leader { renew_at, work: Work::LookAt(at) | Work::InHand { write_at: at, .. }, .. } => {
                *renew_at.min(at)
            }
        };
        self.enqueue_at.map_or(next, |enqueue_at| enqueue_at.min(next))
    }

    /// Does whatever its time has come for: the write in hand, then renewing or acquiring, then enqueueing, then taking
    /// the next. `local_now` is its own monotonic clock, and never reaches the store. What fails is tried again after
    /// the retry interval and keeps nothing else from being tried.
    pub fn step(&mut self, protocol: &mut impl LeaseProtocol, local_now: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        for step in [Self::write, Self::renew, Self::acquire, Self::enqueue, Self::take] {
            if let Err(error) = step(self, protocol, local_now, &mut events) {
                events.push(Event::StoreFailed(error));
            }
        }
        events
    }

    /// Gives the lease back, if it leads. It forgets what it has in hand, and may acquire again after the retry
    /// interval.
    pub fn release(&mut self, protocol: &mut impl LeaseProtocol, local_now: Duration) -> Option<Event> {
        let epoch = self.epoch()?;
        match protocol.release(&self.lease, &self.token, epoch) {
            Ok(Release::Released) => Some(self.step_down(local_now, Event::Released { epoch })),
            Ok(Release::Lost) => Some(self.step_down(local_now, Event::Lost { epoch })),
            Err(error) => Some(Event::StoreFailed(error)),
        }
    }

    fn write(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let retry_at = local_now.saturating_add(self.timing.retry_every);
        let Role::Leader { epoch, work, .. } = &mut self.role else { return Ok(()) };
        let Work::InHand { occurrence, write_at } = work else { return Ok(()) };
        if self.frozen || local_now < *write_at {
            return Ok(());
        }
        *write_at = retry_at;
        let (epoch, key) = (*epoch, occurrence.key.clone());
        // What needs fencing has its effect inside the write below, and only there.
        if occurrence.action.fencing() == Fencing::NotNeeded {
            events.push(Event::Counted { due: protocol.read(&self.lease)?.backlog.due });
        }
        match protocol.plan(&key, &self.lease, &self.token, epoch) {
            Ok(Plan::Planned) => events.push(Event::Planned { key, epoch }),
            Ok(Plan::AlreadyPlanned) => events.push(Event::AlreadyPlanned { key }),
            Ok(Plan::Fenced) => {
                let fenced = self.step_down(local_now, Event::Fenced { key, epoch });
                events.push(fenced);
                return Ok(());
            }
            // Someone took it out of the queue: nothing to finish.
            Err(error @ ProtocolError::NoSuchOccurrence) => {
                *work = Work::LookAt(retry_at);
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        *work = Work::LookAt(local_now);
        Ok(())
    }

    fn renew(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let Role::Leader { epoch, renew_at, .. } = &mut self.role else { return Ok(()) };
        if local_now < *renew_at {
            return Ok(());
        }
        *renew_at = local_now.saturating_add(self.timing.retry_every);
        let epoch = *epoch;
        match protocol.renew(&self.lease, &self.token, epoch, self.timing.ttl)? {
            Renew::Renewed => {
                *renew_at = local_now.saturating_add(self.timing.renew_every);
                events.push(Event::Renewed { epoch });
            }
            Renew::Lost => {
                let lost = self.step_down(local_now, Event::Lost { epoch });
                events.push(lost);
            }
        }
        Ok(())
    }

    fn acquire(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let Role::Standby { acquire_at } = &mut self.role else { return Ok(()) };
        if local_now < *acquire_at {
            return Ok(());
        }
        *acquire_at = local_now.saturating_add(self.timing.retry_every);
        if let Acquire::Acquired { epoch } = protocol.acquire(&self.lease, &self.token, self.timing.ttl)? {
            let renew_at = local_now.saturating_add(self.timing.renew_every);
            self.role = Role::Leader { epoch, renew_at, work: Work::LookAt(local_now) };
            events.push(Event::Acquired { epoch });
        }
        Ok(())
    }

    /// Enqueues the occurrence of the present slot of the store's time, as every other instance does: the key is the
    /// same. Slots during which no instance ran stay empty.
    fn enqueue(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let (Some(every), Some(enqueue_at)) = (self.timing.enqueue_every, &mut self.enqueue_at) else {
            return Ok(());
        };
        if local_now < *enqueue_at {
            return Ok(());
        }
        *enqueue_at = local_now.saturating_add(self.timing.retry_every);
        let now = protocol.store_now()?.unix_millis();
        let (slot, into_slot) = (now.div_euclid(every), now.rem_euclid(every));
        let occurrence = Occurrence {
            key: format!("{}/{slot}", self.lease),
            lease: self.lease.clone(),
            action: MaintenanceAction::PlanRetention,
            due_at: StoreTime::from_unix_millis(now - into_slot),
        };
        let enqueued = protocol.enqueue(&occurrence)?;
        // By what is left of the store's slot, so that clocks that drift apart skip none.
        *enqueue_at = local_now.saturating_add(Duration::from_millis((every - into_slot).unsigned_abs()));
        if enqueued == Enqueue::Enqueued {
            events.push(Event::Enqueued { key: occurrence.key });
        }
        Ok(())
    }

    fn take(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        let Role::Leader { work, .. } = &mut self.role else { return Ok(()) };
        let Work::LookAt(look_at) = work else { return Ok(()) };
        if self.frozen || local_now < *look_at {
            return Ok(());
        }
        *look_at = local_now.saturating_add(self.timing.retry_every);
        if let Some(occurrence) = protocol.next_due(&self.lease)? {
            events.push(Event::Taken { key: occurrence.key.clone() });
            *work = Work::InHand { occurrence, write_at: local_now.saturating_add(self.timing.work_takes) };
        }
        Ok(())
    }

    /// Becomes a standby; not one that acquires in the same step, or a refused leader would be back at once.
    fn step_down(&mut self, local_now: Duration, why: Event) -> Event {
        self.role = Role::Standby { acquire_at: local_now.saturating_add(self.timing.retry_every) };
        why
    }
}

#[cfg(test)]
mod tests;
