//! The actions of the scenario on the schedulers, the work queue and the store.

use std::io::{self, Write};

use anstyle::Style;
use tokio::time::sleep;

use super::runner::ScenarioRunner;
use super::scenario::Action;
use super::schedulers::DemoScheduler;

/// How often pausing the leader while it is working is attempted.
const PAUSE_ATTEMPTS: usize = 10;

impl<'a, W: Write> ScenarioRunner<'a, W> {
    /// Performs an action.
    pub(super) async fn perform(
        &mut self,
        action: Action,
        leader: &'a DemoScheduler,
        other: &'a DemoScheduler,
    ) -> io::Result<()> {
        match action {
            Action::ProduceWork => self.setup.producer.enqueue(1),
            Action::StopWork => self.setup.producer.enqueue(0),
            Action::FreezeLeader => self.freeze(leader).await?,
            Action::ThawLeader => self.frozen.take().into_iter().for_each(|frozen| frozen.running.thaw()),
            Action::PauseLeader => self.pause(leader, other).await?,
            Action::TakeOver => self.take_over(leader, other).await?,
            Action::ResumeFormerLeader => self.resume(other).await?,
            Action::HideStore => self.setup.environment.access().hide()?,
            Action::RestoreStore => self.setup.environment.access().restore()?,
        }
        Ok(())
    }

    /// Freezes the leader in the middle of a burst of work, so that the oldest due occurrence has exceeded the limit when
    /// the last progress does.
    async fn freeze(&mut self, leader: &'a DemoScheduler) -> io::Result<()> {
        let before = leader.activity().begun;
        self.setup.producer.enqueue(4);
        let limit = self.setup.speed.step_timeout();
        let is_working = leader.wait_until(|activity| activity.is_working && activity.begun >= before + 3, limit).await;
        leader.running.freeze();
        self.frozen = Some(leader);
        if is_working { Ok(()) } else { self.miss(&format!("{} had no work when it was to hang", leader.name)) }
    }

    /// Pauses the leader while it is working, and then the other scheduler. If the leader finishes its occurrence before
    /// the pause takes effect, it is resumed for another attempt.
    async fn pause(&mut self, leader: &DemoScheduler, other: &DemoScheduler) -> io::Result<()> {
        let speed = self.setup.speed;
        for _ in 0..PAUSE_ATTEMPTS {
            let before = leader.activity().begun;
            let has_begun = |activity: &super::schedulers::Activity| activity.is_working && activity.begun > before;
            if !leader.wait_until(has_begun, speed.step_timeout()).await {
                break;
            }
            leader.running.pause();
            sleep(speed.work_duration()).await;
            if leader.activity().is_working {
                other.running.pause();
                return Ok(());
            }
            leader.running.resume();
        }
        leader.running.pause();
        other.running.pause();
        self.miss(&format!("{} had no occurrence in hand when it was paused", leader.name))
    }

    async fn take_over(&mut self, leader: &DemoScheduler, other: &DemoScheduler) -> io::Result<()> {
        other.running.resume();
        if !other.wait_until(|activity| activity.epoch.is_some(), self.setup.speed.step_timeout()).await {
            return self.miss(&format!("{} did not take the lease", other.name));
        }
        let [old, new] = [leader, other]
            .map(|scheduler| scheduler.activity().epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string()));
        self.output.event(other.name, Style::new().bold(), &format!("took the lease: epoch {new}, after epoch {old}"))
    }

    async fn resume(&mut self, former: &DemoScheduler) -> io::Result<()> {
        let before = former.activity().fenced;
        former.running.resume();
        let limit = self.setup.speed.step_timeout();
        let is_fenced = former.wait_until(|activity| activity.fenced != before, limit).await;
        match former.activity().fenced {
            Some((key, epoch)) if is_fenced => {
                let text = format!("late write under epoch {epoch} fenced ({key}); {} stands by", former.name);
                self.output.event(former.name, Style::new().bold(), &text)
            }
            _ => self.miss(&format!("the late write of {} should have been fenced, and was not", former.name)),
        }
    }
}
