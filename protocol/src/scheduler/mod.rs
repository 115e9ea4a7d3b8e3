//! A synthetic scheduler, one step at a time.
//!
//! It has no clock, thread or connection. The caller passes the time of a monotonic clock and the store to each step, so
//! that a simulation can run many schedulers through days of virtual time and pause any of them between two steps.
//!
//! A step begins with the pending write. A process that was paused beyond the expiry of its lease does not know it and
//! continues where it was; only the fence prevents harm by its late write. The scheduler therefore does not keep an
//! expiry: all that it does to the store is fenced or idempotent.

mod event;
mod thread;
mod timing;

use std::time::Duration;

pub use event::SchedulerEvent;
pub use thread::{SchedulerHandle, SchedulerPanic, spawn};
pub use timing::{InvalidTiming, Timing};

use crate::{
    AcquireOutcome, EnqueueOutcome, Epoch, Fencing, HolderId, LeaseProtocol, MaintenanceAction, Occurrence,
    PlanOutcome, ProtocolError, ReleaseOutcome, RenewOutcome, StoreTime,
};

/// One instance of the synthetic scheduler, as leader or standby. It plans retention that nothing carries out.
#[derive(Debug)]
pub struct Scheduler {
    holder: HolderId,
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
    /// The queue is polled for due work at this time.
    Idle { poll_at: Duration },
    /// An occurrence is worked on; its fenced write is due at this time.
    InProgress { occurrence: Occurrence, write_at: Duration },
}

impl Scheduler {
    /// A standby that tries to acquire the lease at its first step.
    #[must_use]
    pub fn new(holder: HolderId, lease: impl Into<String>, timing: Timing) -> Self {
        Self {
            holder,
            lease: lease.into(),
            timing,
            role: Role::Standby { acquire_at: Duration::ZERO },
            frozen: false,
            enqueue_at: timing.enqueue_every.map(|_| Duration::ZERO),
        }
    }

    /// The epoch under which it leads, as far as it knows; `None` for a standby.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        match self.role {
            Role::Standby { .. } => None,
            Role::Leader { epoch, .. } => Some(epoch),
        }
    }

    /// Its intervals.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Whether its work is frozen.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Freezes its work: it neither writes nor starts new work. It continues to renew and to enqueue, as a leader does that
    /// is alive but stuck.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Continues its work. A pending write is done at the next step or at its due time.
    pub fn thaw(&mut self) {
        self.frozen = false;
    }

    /// When the next step is due, on the scheduler's clock. A time in the past means now. An earlier step does nothing.
    #[must_use]
    pub fn next_step_at(&self) -> Duration {
        let next = match &self.role {
            Role::Standby { acquire_at } => *acquire_at,
            Role::Leader { renew_at, .. } if self.frozen => *renew_at,
            Role::Leader {
                renew_at, work: Work::Idle { poll_at: at } | Work::InProgress { write_at: at, .. }, ..
            } => *renew_at.min(at),
        };
        self.enqueue_at.map_or(next, |enqueue_at| enqueue_at.min(next))
    }

    /// Does all actions that are due: the pending write, then renew or acquire, then enqueue, then start new work.
    /// `local_now` is the time of the scheduler's monotonic clock; it is never sent to the store. An action that fails is
    /// retried after the retry interval and does not prevent the others.
    pub fn step(&mut self, protocol: &mut impl LeaseProtocol, local_now: Duration) -> Vec<SchedulerEvent> {
        let mut events = Vec::new();
        for action in [Self::write, Self::renew, Self::acquire, Self::enqueue, Self::start_work] {
            if let Err(error) = action(self, protocol, local_now, &mut events) {
                events.push(SchedulerEvent::StoreFailed(error));
            }
        }
        events
    }

    /// Releases the lease if it leads. It drops its pending work and may acquire the lease again after the retry interval.
    pub fn release(&mut self, protocol: &mut impl LeaseProtocol, local_now: Duration) -> Option<SchedulerEvent> {
        let epoch = self.epoch()?;
        match protocol.release(&self.lease, &self.holder, epoch) {
            Ok(ReleaseOutcome::Released) => Some(self.step_down(local_now, SchedulerEvent::Released { epoch })),
            Ok(ReleaseOutcome::Lost) => Some(self.step_down(local_now, SchedulerEvent::Lost { epoch })),
            Err(error) => Some(SchedulerEvent::StoreFailed(error)),
        }
    }

    fn write(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<SchedulerEvent>,
    ) -> Result<(), ProtocolError> {
        let retry_at = local_now.saturating_add(self.timing.retry_every);
        let Role::Leader { epoch, work, .. } = &mut self.role else { return Ok(()) };
        let Work::InProgress { occurrence, write_at } = work else { return Ok(()) };
        if self.frozen || local_now < *write_at {
            return Ok(());
        }
        *write_at = retry_at;
        let (epoch, key) = (*epoch, occurrence.key.clone());
        // An action that needs fencing has its effect in the fenced write below, and only there.
        if occurrence.action.fencing() == Fencing::NotNeeded {
            events.push(SchedulerEvent::Counted { due: protocol.read(&self.lease)?.backlog.due });
        }
        match protocol.plan(&key, &self.lease, &self.holder, epoch) {
            Ok(PlanOutcome::Planned) => events.push(SchedulerEvent::Planned { key, epoch }),
            Ok(PlanOutcome::AlreadyPlanned) => events.push(SchedulerEvent::AlreadyPlanned { key }),
            Ok(PlanOutcome::Fenced) => {
                let fenced = self.step_down(local_now, SchedulerEvent::Fenced { key, epoch });
                events.push(fenced);
                return Ok(());
            }
            // The occurrence was removed from the queue, so there is nothing to finish.
            Err(error @ ProtocolError::NoSuchOccurrence) => {
                *work = Work::Idle { poll_at: retry_at };
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        *work = Work::Idle { poll_at: local_now };
        Ok(())
    }

    fn renew(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<SchedulerEvent>,
    ) -> Result<(), ProtocolError> {
        let Role::Leader { epoch, renew_at, .. } = &mut self.role else { return Ok(()) };
        if local_now < *renew_at {
            return Ok(());
        }
        *renew_at = local_now.saturating_add(self.timing.retry_every);
        let epoch = *epoch;
        match protocol.renew(&self.lease, &self.holder, epoch, self.timing.ttl)? {
            RenewOutcome::Renewed => {
                *renew_at = local_now.saturating_add(self.timing.renew_every);
                events.push(SchedulerEvent::Renewed { epoch });
            }
            RenewOutcome::Lost => {
                let lost = self.step_down(local_now, SchedulerEvent::Lost { epoch });
                events.push(lost);
            }
        }
        Ok(())
    }

    fn acquire(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<SchedulerEvent>,
    ) -> Result<(), ProtocolError> {
        let Role::Standby { acquire_at } = &mut self.role else { return Ok(()) };
        if local_now < *acquire_at {
            return Ok(());
        }
        *acquire_at = local_now.saturating_add(self.timing.retry_every);
        if let AcquireOutcome::Acquired { epoch } = protocol.acquire(&self.lease, &self.holder, self.timing.ttl)? {
            let renew_at = local_now.saturating_add(self.timing.renew_every);
            self.role = Role::Leader { epoch, renew_at, work: Work::Idle { poll_at: local_now } };
            events.push(SchedulerEvent::Acquired { epoch });
        }
        Ok(())
    }

    /// Enqueues the occurrence of the current slot of the store's time. All instances use the same key for a slot. Slots
    /// in which no instance ran stay empty.
    fn enqueue(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<SchedulerEvent>,
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
        // The wait is the rest of the store's slot, so that no slot is skipped when the clocks drift apart.
        *enqueue_at = local_now.saturating_add(Duration::from_millis((every - into_slot).unsigned_abs()));
        if enqueued == EnqueueOutcome::Enqueued {
            events.push(SchedulerEvent::Enqueued { key: occurrence.key });
        }
        Ok(())
    }

    fn start_work(
        &mut self,
        protocol: &mut impl LeaseProtocol,
        local_now: Duration,
        events: &mut Vec<SchedulerEvent>,
    ) -> Result<(), ProtocolError> {
        let Role::Leader { work, .. } = &mut self.role else { return Ok(()) };
        let Work::Idle { poll_at } = work else { return Ok(()) };
        if self.frozen || local_now < *poll_at {
            return Ok(());
        }
        *poll_at = local_now.saturating_add(self.timing.retry_every);
        if let Some(occurrence) = protocol.next_due(&self.lease)? {
            events.push(SchedulerEvent::Taken { key: occurrence.key.clone() });
            *work = Work::InProgress { occurrence, write_at: local_now.saturating_add(self.timing.work_takes) };
        }
        Ok(())
    }

    /// Becomes a standby. It waits before it acquires, since a fenced leader would otherwise lead again in the same step.
    fn step_down(&mut self, local_now: Duration, event: SchedulerEvent) -> SchedulerEvent {
        self.role = Role::Standby { acquire_at: local_now.saturating_add(self.timing.retry_every) };
        event
    }
}

#[cfg(test)]
mod tests;
