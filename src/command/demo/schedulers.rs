//! The two schedulers of the demo, and the activity that their events report.

use lease_protocol::{
    Epoch, HolderId, Scheduler, SchedulerEvent, SchedulerHandle, SchedulerPanic, StoreAddress, Timing, spawn,
};
use tokio::sync::watch;

use super::super::Failure;
use super::environment::LEASE;
use super::speed::Speed;
use crate::lease::{HolderToken, TokenKey};

/// The activity of a scheduler, as reported by its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// The epoch under which the scheduler believes to lead.
    pub(super) epoch: Option<Epoch>,
    /// Whether it is working on an occurrence.
    pub(super) is_working: bool,
    /// The number of occurrences that it has begun.
    pub(super) begun: u64,
    /// The occurrence and the epoch of its last refused write.
    pub(super) fenced: Option<(String, Epoch)>,
}

impl Activity {
    fn record(&mut self, event: SchedulerEvent) {
        match event {
            SchedulerEvent::Acquired { epoch } => self.epoch = Some(epoch),
            SchedulerEvent::Taken { .. } => {
                self.is_working = true;
                self.begun += 1;
            }
            SchedulerEvent::Planned { .. } | SchedulerEvent::AlreadyPlanned { .. } => self.is_working = false,
            SchedulerEvent::Lost { .. } | SchedulerEvent::Released { .. } => {
                (self.epoch, self.is_working) = (None, false)
            }
            SchedulerEvent::Fenced { key, epoch } => {
                (self.epoch, self.is_working) = (None, false);
                self.fenced = Some((key, epoch));
            }
            _ => {}
        }
    }
}

/// One scheduler.
#[derive(Debug)]
pub(super) struct DemoScheduler {
    /// Its name in the demo's output.
    pub(super) name: &'static str,
    /// Its instance token in the exporter's output; `None` without a token key.
    pub(super) token: Option<HolderToken>,
    pub(super) running: SchedulerHandle,
    pub(super) activity: watch::Receiver<Activity>,
}

impl DemoScheduler {
    pub(super) fn activity(&self) -> Activity {
        self.activity.borrow().clone()
    }
}

/// Starts the two schedulers, each with a separate connection. They compete for one lease.
pub(super) fn start(store: &StoreAddress, speed: Speed, key: Option<&TokenKey>) -> Result<[DemoScheduler; 2], Failure> {
    let timing = Timing::new(speed.ttl(), speed.renew_interval())
        .map_err(|error| Failure::System(error.to_string()))?
        .work_takes(speed.work_duration());
    let start = |name| {
        let instance = HolderId::random()
            .map_err(|_| Failure::System("the system has no random bytes for an instance token".to_owned()))?;
        let token = key.map(|key| key.token(instance.as_str()));
        let (sender, activity) = watch::channel(Activity::default());
        let report = move |event| sender.send_modify(|activity| activity.record(event));
        let store = store.clone();
        let running = spawn(Scheduler::new(instance, LEASE, timing), move || store.open(), report)
            .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
        Ok(DemoScheduler { name, token, running, activity })
    };
    Ok([start("A")?, start("B")?])
}

/// The scheduler with the newest epoch, and the other. A paused leader still reports its old epoch.
pub(super) fn leader_first([a, b]: &[DemoScheduler; 2]) -> [&DemoScheduler; 2] {
    if b.activity().epoch > a.activity().epoch { [b, a] } else { [a, b] }
}

/// Lets the schedulers release their leases, and ends them.
pub(super) fn stop(schedulers: [DemoScheduler; 2]) -> Result<(), SchedulerPanic> {
    let [a, b] = schedulers.map(|scheduler| scheduler.running.stop());
    a.and(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_activity_follows_the_events() {
        let (one, two) = (Epoch::FIRST, Epoch::new(2));
        let key = || String::from("a");
        let mut activity = Activity::default();
        activity.record(SchedulerEvent::Acquired { epoch: one });
        activity.record(SchedulerEvent::Taken { key: key() });
        assert_eq!(activity, Activity { epoch: Some(one), is_working: true, begun: 1, fenced: None });
        activity.record(SchedulerEvent::Renewed { epoch: one });
        activity.record(SchedulerEvent::Planned { key: key(), epoch: one });
        assert_eq!(activity, Activity { epoch: Some(one), is_working: false, begun: 1, fenced: None });
        activity.record(SchedulerEvent::Taken { key: key() });
        activity.record(SchedulerEvent::Fenced { key: key(), epoch: one });
        assert_eq!(activity, Activity { epoch: None, is_working: false, begun: 2, fenced: Some((key(), one)) });
        assert!(two > activity.epoch);
    }
}
