//! The two schedulers, and what they were seen to do.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::super::Failure;
use super::pace::Pace;
use super::stage::{LEASE, Stage};
use crate::lease::{HolderToken, TokenKey};
use crate::scheduler::{Epoch, Event, Instance, InstanceToken, Panicked, Running, Timing, start};

/// What a scheduler was seen to do, by its own events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The epoch that it believes it leads under.
    pub(super) leads: Option<Epoch>,
    /// Whether it works on an occurrence.
    pub(super) in_hand: bool,
    /// How many occurrences it has taken in hand.
    pub(super) taken: u64,
    /// Its last write that was refused: of which occurrence, and under which epoch.
    pub(super) fenced: Option<(String, Epoch)>,
}

impl Seen {
    fn take_in(&mut self, event: Event) {
        match event {
            Event::Acquired { epoch } => self.leads = Some(epoch),
            Event::Taken { .. } => {
                self.in_hand = true;
                self.taken += 1;
            }
            Event::Planned { .. } | Event::AlreadyPlanned { .. } => self.in_hand = false,
            Event::Lost { .. } | Event::Released { .. } => (self.leads, self.in_hand) = (None, false),
            Event::Fenced { key, epoch } => {
                (self.leads, self.in_hand) = (None, false);
                self.fenced = Some((key, epoch));
            }
            _ => {}
        }
    }
}

/// One scheduler.
#[derive(Debug)]
pub(super) struct Actor {
    /// What the story calls it.
    pub(super) name: &'static str,
    /// What the exporter calls it.
    pub(super) token: Option<HolderToken>,
    /// It, running.
    pub(super) running: Running,
    seen: watch::Receiver<Seen>,
}

impl Actor {
    /// What it was seen to do until now.
    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until it was seen to do this, and says whether it was.
    pub(super) async fn does(&self, wanted: impl FnMut(&Seen) -> bool, patience: Duration) -> bool {
        matches!(timeout(patience, self.seen.clone().wait_for(wanted)).await, Ok(Ok(_)))
    }

    fn start(name: &'static str, stage: &Stage, timing: Timing, key: Option<&TokenKey>) -> Result<Self, Failure> {
        let token = InstanceToken::random()
            .map_err(|_| Failure::System("the system has no random bytes for an instance token".to_owned()))?;
        let shown = key.map(|key| key.token(token.as_str()));
        let (sender, seen) = watch::channel(Seen::default());
        let report = move |event| sender.send_modify(|seen| seen.take_in(event));
        let store = stage.store().clone();
        let running = start(Instance::new(token, LEASE, timing), move || store.open(), report)
            .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
        Ok(Self { name, token: shown, running, seen })
    }
}

/// Both.
#[derive(Debug)]
pub(super) struct Cast([Actor; 2]);

impl Cast {
    /// Starts them, each with a connection of its own.
    pub(super) fn start(stage: &Stage, pace: Pace, key: Option<&TokenKey>) -> Result<Self, Failure> {
        let timing = Timing::new(pace.ttl(), pace.renew_every())
            .map_err(|error| Failure::System(error.to_string()))?
            .work_takes(pace.work_takes());
        Ok(Self([Actor::start("A", stage, timing, key)?, Actor::start("B", stage, timing, key)?]))
    }

    /// Both, in the order of their names.
    pub(super) const fn both(&self) -> &[Actor; 2] {
        &self.0
    }

    /// The one with the newest epoch, and the other one. A leader that was paused does not know that it is none.
    pub(super) fn leader_first(&self) -> [&Actor; 2] {
        let [a, b] = &self.0;
        if b.seen().leads > a.seen().leads { [b, a] } else { [a, b] }
    }

    /// Lets both give back what they have, and end.
    pub(super) fn stop(self) -> Result<(), Panicked> {
        let [a, b] = self.0.map(|actor| actor.running.stop());
        a.and(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_follows_the_events() {
        let (one, two) = (Epoch::FIRST, Epoch::new(2));
        let key = || String::from("a");
        let mut seen = Seen::default();
        seen.take_in(Event::Acquired { epoch: one });
        seen.take_in(Event::Taken { key: key() });
        assert_eq!(seen, Seen { leads: Some(one), in_hand: true, taken: 1, fenced: None });
        seen.take_in(Event::Renewed { epoch: one });
        seen.take_in(Event::Planned { key: key(), epoch: one });
        assert_eq!(seen, Seen { leads: Some(one), in_hand: false, taken: 1, fenced: None });
        seen.take_in(Event::Taken { key: key() });
        seen.take_in(Event::Fenced { key: key(), epoch: one });
        assert_eq!(seen, Seen { leads: None, in_hand: false, taken: 2, fenced: Some((key(), one)) });
        assert!(two > seen.leads);
    }
}
