//! Runs the scenario: performs each action, reads the exporter, and prints the state that it shows.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use anstyle::Style;
use lease_protocol::StoreAddress;
use tokio::time::{Instant, sleep};

use super::super::terminal::state_style;
use super::Outcome;
use super::environment::{DemoEnvironment, LEASE};
use super::output::Output;
use super::producer::WorkProducer;
use super::scenario::{Action, STEPS, Step};
use super::schedulers::{DemoScheduler, SchedulerPair};
use super::speed::Speed;
use crate::lease::{EventAge, Progress, Readable, Reason, State, Status};
use crate::observer::Observer;

/// The deadline of one reading. The source's own timeout is shorter.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The head of the table of ages. Rows have the same column widths.
const TABLE_HEAD: &str = "lease_age_seconds  lease_last_progress_age_seconds  lease_state";

/// What the scenario runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<'a> {
    pub(super) environment: &'a DemoEnvironment,
    pub(super) schedulers: &'a SchedulerPair,
    pub(super) producer: &'a WorkProducer,
    pub(super) observer: &'a Observer,
    pub(super) speed: Speed,
}

/// Runs the scenario.
#[derive(Debug)]
pub(super) struct ScenarioRunner<'a, W> {
    pub(super) setup: Setup<'a>,
    pub(super) output: Output<W>,
    /// The state that was printed last.
    printed: Option<(State, Reason)>,
    /// Whether a state has been printed in this step.
    printed_in_step: bool,
    /// When the next row of the table of ages is due.
    next_row: Instant,
    /// The scheduler whose work hangs.
    pub(super) frozen: Option<&'a DemoScheduler>,
    outcome: Outcome,
}

/// The exporter's view of the lease at one time.
#[derive(Clone, Debug, PartialEq)]
struct LeaseView {
    state: State,
    reason: Reason,
    sentence: String,
    lease_age: Option<Duration>,
    progress_age: Option<Duration>,
}

impl LeaseView {
    fn of(status: &Status) -> Self {
        let progress_age = match status.evidence().map(|evidence| evidence.progress) {
            Some(Progress::Made { age, .. }) => age.display_age(),
            _ => None,
        };
        Self {
            state: status.verdict.state,
            reason: status.verdict.reason,
            sentence: status.sentence().to_string(),
            lease_age: status.holder().map(|holder| holder.renewed).as_ref().and_then(EventAge::display_age),
            progress_age,
        }
    }

    /// The view if the exporter has no such lease, which is a bug because its configuration names the lease.
    fn missing() -> Self {
        Self {
            state: State::Unknown,
            reason: Reason::NotObservedYet,
            sentence: "the exporter does not show the lease".to_owned(),
            lease_age: None,
            progress_age: None,
        }
    }
}

impl<'a, W: Write> ScenarioRunner<'a, W> {
    pub(super) fn new(setup: Setup<'a>, output: Output<W>) -> Self {
        let (next_row, outcome) = (Instant::now(), Outcome::default());
        Self { setup, output, printed: None, printed_in_step: false, next_row, frozen: None, outcome }
    }

    /// The output and the outcome, also of an interrupted run.
    pub(super) fn finish(self) -> (Output<W>, Outcome) {
        (self.output, self.outcome)
    }

    /// Runs the scenario once or repeatedly.
    pub(super) async fn run(&mut self, address: SocketAddr, once: bool) -> io::Result<()> {
        self.introduce(address)?;
        // The first step needs a leader that has work.
        self.setup.producer.enqueue(1);
        let [a, b] = self.setup.schedulers.both();
        let limit = self.setup.speed.step_timeout();
        tokio::select! {
            _ = a.wait_until(|activity| activity.begun > 0, limit) => {}
            _ = b.wait_until(|activity| activity.begun > 0, limit) => {}
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
        let Setup { environment, schedulers, speed, .. } = self.setup;
        let (ttl, stall_after) = (Readable(speed.ttl()), Readable(speed.stall_after()));
        let [a, b] = schedulers.both().each_ref().map(|scheduler| match &scheduler.token {
            Some(token) => format!("{}: {}…", scheduler.name, token.short()),
            None => scheduler.name.to_owned(),
        });
        let place = match environment.store() {
            StoreAddress::Sqlite(_) => "an SQLite file".to_owned(),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { schema, .. } => {
                format!("the schema {} on PostgreSQL", schema.as_deref().unwrap_or_default())
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { prefix, .. } => format!("Redis under keys that begin with {prefix}"),
        };
        let output = &mut self.output;
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
        environment.kept().map_or(Ok(()), |lines| output.lines(&lines))
    }

    async fn run_step(&mut self, step: &Step) -> io::Result<()> {
        self.printed_in_step = false;
        let [leader, other] = self.setup.schedulers.leader_first();
        let description = step.description.replace("{leader}", leader.name).replace("{other}", other.name);
        self.output.action(&description.replace("{hidden}", self.setup.environment.access().hidden()))?;
        self.perform(step.action, leader, other).await?;
        let with_table = step.action == Action::FreezeLeader;
        if with_table {
            self.output.line(&format!("{:21}{TABLE_HEAD}", ""))?;
            self.next_row = Instant::now();
        }
        let limit = self.setup.speed.step_timeout();
        let view = self.watch(limit, with_table, Some(step.expected)).await?;
        let reached = (view.state, view.reason) == step.expected;
        if reached {
            self.outcome.shown.push(view.state);
        } else {
            let (state, reason) = step.expected;
            let limit = Readable(limit);
            let shown = format!("the exporter shows {} ({})", view.state, view.reason);
            self.miss(&format!("{state} ({reason}) was expected within {limit}; {shown}"))?;
        }
        let explanation = if reached { step.explanation } else { "" };
        // The explanation must not interrupt a table.
        if !with_table {
            self.output.explanation(explanation)?;
        }
        self.watch(self.setup.speed.scale(step.hold_ms), with_table, None).await?;
        if with_table { self.output.explanation(explanation) } else { Ok(()) }
    }

    /// Reads the exporter and prints the state when it changes, until the expected state is shown or the time is over;
    /// returns the last view. With a table, both ages are printed at intervals.
    async fn watch(
        &mut self,
        limit: Duration,
        with_table: bool,
        expected: Option<(State, Reason)>,
    ) -> io::Result<LeaseView> {
        let end = Instant::now() + limit;
        loop {
            let view = self.read().await;
            let state = Some((view.state, view.reason));
            let is_last = state == expected || Instant::now() >= end;
            if with_table && Instant::now() >= self.next_row {
                self.next_row += self.setup.speed.scale(800);
                self.print_row(&view)?;
            }
            if state != self.printed || (!self.printed_in_step && is_last) {
                (self.printed, self.printed_in_step) = (state, true);
                self.output.event(view.state.as_str(), state_style(view.state), &view.sentence)?;
            }
            if is_last {
                return Ok(view);
            }
            sleep(self.setup.speed.poll_interval()).await;
        }
    }

    /// Reads the lease as a scrape does.
    async fn read(&self) -> LeaseView {
        let readings = self.setup.observer.observe(Instant::now() + READ_TIMEOUT).await;
        let mut statuses = readings.iter().flat_map(|reading| &reading.snapshot.leases);
        statuses.find(|status| &*status.lease == LEASE).map_or_else(LeaseView::missing, LeaseView::of)
    }

    fn print_row(&mut self, view: &LeaseView) -> io::Result<()> {
        let age = |age: Option<Duration>| age.map_or_else(|| "-".to_owned(), |age| format!("{:.2}", age.as_secs_f64()));
        let state = self.output.styled(state_style(view.state), view.state.as_str());
        let (lease, progress) = (age(view.lease_age), age(view.progress_age));
        self.output.line(&format!("{:21}{lease:>17}  {progress:>31}  {state}", ""))
    }

    /// Counts and prints an expected event that did not happen.
    pub(super) fn miss(&mut self, text: &str) -> io::Result<()> {
        self.outcome.missed += 1;
        self.output.event("MISSED", Style::new().bold(), text)
    }
}
