//! Runs the scenario: performs each action, reads the exporter, and prints the state that it shows.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anstyle::Style;
use tokio::time::{Instant, sleep, timeout};

use super::super::terminal::state_style;
use super::environment::{DemoEnvironment, LEASE};
use super::output::Output;
use super::producer::WorkProducer;
use super::scenario::{Action, STEPS, Step};
use super::schedulers::{Activity, DemoScheduler, leader_first};
use crate::lease::{EventAge, Progress, Readable, Reason, State, Status};
use crate::observer::Observer;

/// The deadline of one reading. The source's own timeout is shorter.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The head of the table of ages. Rows have the same column widths.
const TABLE_HEAD: &str = "lease_age_seconds  lease_last_progress_age_seconds  lease_state";
/// How often pausing the leader while it is working is attempted.
const PAUSE_ATTEMPTS: usize = 10;

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The expected states that were shown, in order.
    pub(super) shown: Vec<State>,
    /// The number of expected events that did not happen.
    pub(super) missed: usize,
}

/// Runs the scenario.
#[derive(Debug)]
pub(super) struct ScenarioRunner<'a, W> {
    environment: &'a DemoEnvironment,
    schedulers: &'a [DemoScheduler; 2],
    producer: &'a WorkProducer,
    observer: &'a Observer,
    output: &'a mut Output<W>,
    /// The state that was printed last.
    printed: Option<(State, Reason)>,
    /// Whether a state has been printed in this step.
    printed_in_step: bool,
    /// When the next row of the table of ages is due; `None` if this step has no table.
    next_row: Option<Instant>,
    /// The outcome, also of an interrupted run.
    pub(super) outcome: Outcome,
}

impl<'a, W: Write> ScenarioRunner<'a, W> {
    pub(super) fn new(
        environment: &'a DemoEnvironment,
        schedulers: &'a [DemoScheduler; 2],
        producer: &'a WorkProducer,
        observer: &'a Observer,
        output: &'a mut Output<W>,
    ) -> Self {
        let outcome = Outcome::default();
        Self {
            environment,
            schedulers,
            producer,
            observer,
            output,
            printed: None,
            printed_in_step: false,
            next_row: None,
            outcome,
        }
    }

    /// Runs the scenario once or repeatedly.
    pub(super) async fn run(&mut self, address: SocketAddr, once: bool) -> io::Result<()> {
        self.introduce(address)?;
        // The first step needs a leader that has work.
        self.producer.enqueue(1);
        let [a, b] = self.schedulers;
        let has_begun = |activity: &Activity| activity.begun > 0;
        tokio::select! {
            _ = self.wait_until(a, has_begun) => {}
            _ = self.wait_until(b, has_begun) => {}
        }
        for round in 1_u32.. {
            if round > 1 {
                self.output.heading(&format!("Once more, from the start: round {round}"))?;
            }
            let mut chapter = 0;
            for step in &STEPS {
                if let Some(heading) = step.heading {
                    chapter += 1;
                    self.output.heading(&format!("{chapter}. {heading}"))?;
                }
                self.run_step(step).await?;
            }
            if once {
                break;
            }
        }
        if self.outcome.missed > 0 {
            self.output.heading("Some expected states were not shown: see MISSED above.")?;
        }
        Ok(())
    }

    /// Prints what the demo consists of and where it serves.
    fn introduce(&mut self, address: SocketAddr) -> io::Result<()> {
        let speed = self.environment.speed;
        let (ttl, stall_after) = (Readable(speed.ttl()), Readable(speed.stall_after()));
        let [a, b] = self.schedulers.each_ref().map(|scheduler| match &scheduler.token {
            Some(token) => format!("{}: {}…", scheduler.name, token.short()),
            None => scheduler.name.to_owned(),
        });
        let place = self.environment.place();
        let output = &mut *self.output;
        let title = "lease-exporter demo: two schedulers, one lease, and the exporter that watches it";
        output.text(0, Style::new().bold(), title)?;
        output.lines(&[
            format!("  status page  http://{address}/"),
            format!("  metrics      http://{address}/metrics"),
            format!("  JSON         http://{address}/api/v1/leases"),
            String::new(),
        ])?;
        let description = format!(
            "Two schedulers, A and B, share the lease {LEASE} in {place}. The holder plans made-up retention runs; nothing \
             is ever deleted. The exporter only reads there. It shows a token in place of a holder's name ({a}, {b}). \
             The lease ends {ttl} after its last renewal; work that is due and has not moved for {stall_after} is stalled."
        );
        output.text(0, Style::new(), &description)?;
        output.line("")?;
        let legend = "Each line below shows the time since the start, the state that the exporter shows at that time, and \
                      its reason. Keep the status page open beside it, or follow the metrics:";
        output.text(0, Style::new(), legend)?;
        output.line(&format!("  curl -s http://{address}/metrics | grep {LEASE}"))?;
        output.line("Ctrl-C ends it.")?;
        self.environment.kept().map_or(Ok(()), |lines| output.lines(&lines))
    }

    async fn run_step(&mut self, step: &Step) -> io::Result<()> {
        self.printed_in_step = false;
        let [leader, other] = leader_first(self.schedulers);
        let description = step.description.replace("{leader}", leader.name).replace("{other}", other.name);
        self.output.action(&description.replace("{hidden}", self.environment.access.hide_description()))?;
        self.perform(step.action, leader, other).await?;
        self.next_row = (step.action == Action::FreezeLeader).then(Instant::now);
        let with_table = self.next_row.is_some();
        if with_table {
            self.output.line(&format!("{:21}{TABLE_HEAD}", ""))?;
        }
        let limit = self.environment.speed.step_timeout();
        let state = self.watch(limit, Some(step.expected)).await?;
        let reached = state == Some(step.expected);
        if reached {
            self.outcome.shown.push(step.expected.0);
        } else {
            let (state_expected, reason) = step.expected;
            let shown = state.map_or_else(
                || "the exporter does not show the lease".to_owned(),
                |(state, reason)| format!("the exporter shows {state} ({reason})"),
            );
            let limit = Readable(limit);
            self.miss(&format!("{state_expected} ({reason}) was expected within {limit}; {shown}"))?;
        }
        let explanation = if reached { step.explanation } else { "" };
        // The explanation must not interrupt a table.
        if !with_table {
            self.output.explanation(explanation)?;
        }
        self.watch(self.environment.speed.scale(step.hold_ms), None).await?;
        if with_table { self.output.explanation(explanation) } else { Ok(()) }
    }

    /// Reads the exporter and prints the state when it changes, until the expected state is shown or the time is over;
    /// returns the last state, if the exporter shows the lease. In a step with a table, both ages are printed at intervals.
    async fn watch(
        &mut self,
        limit: Duration,
        expected: Option<(State, Reason)>,
    ) -> io::Result<Option<(State, Reason)>> {
        let end = Instant::now() + limit;
        loop {
            let status = self.read().await;
            let state = status.as_ref().map(|status| (status.verdict.state, status.verdict.reason));
            let is_last = (state.is_some() && state == expected) || Instant::now() >= end;
            if let Some(status) = &status {
                if let Some(due) = self.next_row.filter(|due| Instant::now() >= *due) {
                    self.next_row = Some(due + self.environment.speed.scale(800));
                    self.print_row(status)?;
                }
                if state != self.printed || (!self.printed_in_step && is_last) {
                    (self.printed, self.printed_in_step) = (state, true);
                    let state = status.verdict.state;
                    self.output.event(state.as_str(), state_style(state), &status.sentence().to_string())?;
                }
            }
            if is_last {
                return Ok(state);
            }
            sleep(self.environment.speed.poll_interval()).await;
        }
    }

    /// Reads the lease as a scrape does.
    async fn read(&self) -> Option<Status> {
        let readings = self.observer.observe(Instant::now() + READ_TIMEOUT).await;
        let mut statuses = readings.iter().flat_map(|reading| &reading.snapshot.leases);
        statuses.find(|status| &*status.lease == LEASE).cloned()
    }

    fn print_row(&mut self, status: &Status) -> io::Result<()> {
        let lease_age = status.holder().map(|holder| holder.renewed).as_ref().and_then(EventAge::display_age);
        let progress_age = match status.evidence().map(|evidence| evidence.progress) {
            Some(Progress::Made { age, .. }) => age.display_age(),
            _ => None,
        };
        let [lease, progress] = [lease_age, progress_age]
            .map(|age| age.map_or_else(|| "-".to_owned(), |age| format!("{:.2}", age.as_secs_f64())));
        let state = self.output.styled(state_style(status.verdict.state), status.verdict.state.as_str());
        self.output.line(&format!("{:21}{lease:>17}  {progress:>31}  {state}", ""))
    }

    /// Counts and prints an expected event that did not happen.
    fn miss(&mut self, text: &str) -> io::Result<()> {
        self.outcome.missed += 1;
        self.output.event("MISSED", Style::new().bold(), text)
    }
    /// Performs an action.
    async fn perform(&mut self, action: Action, leader: &DemoScheduler, other: &DemoScheduler) -> io::Result<()> {
        match action {
            Action::ProduceWork => self.producer.enqueue(1),
            Action::StopWork => self.producer.enqueue(0),
            Action::FreezeLeader => self.freeze(leader).await?,
            // Thawing has no effect on the scheduler that is not frozen.
            Action::ThawLeader => self.schedulers.iter().for_each(|scheduler| scheduler.running.thaw()),
            Action::PauseLeader => self.pause(leader, other).await?,
            Action::TakeOver => self.take_over(leader, other).await?,
            Action::ResumeFormerLeader => self.resume(other).await?,
            Action::HideStore => self.environment.access.hide()?,
            Action::RestoreStore => self.environment.access.restore()?,
        }
        Ok(())
    }

    /// Freezes the leader in the middle of a burst of work, so that the oldest due occurrence has exceeded the limit when
    /// the last progress does.
    async fn freeze(&mut self, leader: &DemoScheduler) -> io::Result<()> {
        let before = leader.activity().begun;
        self.producer.enqueue(4);
        let is_amid = |activity: &Activity| activity.is_working && activity.begun >= before + 3;
        let is_working = self.wait_until(leader, is_amid).await;
        leader.running.freeze();
        if is_working { Ok(()) } else { self.miss(&format!("{} had no work when it was to hang", leader.name)) }
    }

    /// Pauses the leader while it is working, and then the other scheduler. If the leader finishes its occurrence before
    /// the pause takes effect, it is resumed for another attempt.
    async fn pause(&mut self, leader: &DemoScheduler, other: &DemoScheduler) -> io::Result<()> {
        for _ in 0..PAUSE_ATTEMPTS {
            let before = leader.activity().begun;
            let has_begun = |activity: &Activity| activity.is_working && activity.begun > before;
            if !self.wait_until(leader, has_begun).await {
                break;
            }
            leader.running.pause();
            sleep(self.environment.speed.work_duration()).await;
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
        if !self.wait_until(other, |activity| activity.epoch.is_some()).await {
            return self.miss(&format!("{} did not take the lease", other.name));
        }
        let [old, new] = [leader, other]
            .map(|scheduler| scheduler.activity().epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string()));
        self.output.event(other.name, Style::new().bold(), &format!("took the lease: epoch {new}, after epoch {old}"))
    }

    async fn resume(&mut self, former: &DemoScheduler) -> io::Result<()> {
        let before = former.activity().fenced;
        former.running.resume();
        let is_fenced = self.wait_until(former, |activity| activity.fenced != before).await;
        match former.activity().fenced {
            Some((key, epoch)) if is_fenced => {
                let text = format!("late write under epoch {epoch} fenced ({key}); {} stands by", former.name);
                self.output.event(former.name, Style::new().bold(), &text)
            }
            _ => self.miss(&format!("the late write of {} should have been fenced, and was not", former.name)),
        }
    }
    /// Waits until a scheduler's activity fulfils a condition. Returns whether it did within the time limit of a step.
    async fn wait_until(&self, scheduler: &DemoScheduler, condition: impl FnMut(&Activity) -> bool) -> bool {
        let limit = self.environment.speed.step_timeout();
        matches!(timeout(limit, scheduler.activity.clone().wait_for(condition)).await, Ok(Ok(_)))
    }
}
