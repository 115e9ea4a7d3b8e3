//! Plays the story: does what it says, looks at the exporter, and tells what that shows.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Outcome;
use super::cast::{Actor, Cast};
use super::feed::Feed;
use super::pace::Pace;
use super::stage::{LEASE, Stage};
use super::story::{Act, Beat, STORY};
use super::voice::{Style, Voice};
use crate::lease::{Dated, Progress, Readable, Reason, State, Status};
use crate::observer::Observer;

/// How long one look may take. The source's own limit is shorter.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is tried to stop the leader with work in hand.
const TRIES: usize = 10;

/// What the exporter shows of the lease.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    state: State,
    reason: Reason,
    sentence: String,
    lease_age: Option<Duration>,
    progress_age: Option<Duration>,
}

impl Shown {
    /// The configuration names the lease, so this should never be needed; but the truth is what is told here.
    fn nothing() -> Self {
        Self {
            state: State::Unknown,
            reason: Reason::NotObservedYet,
            sentence: "the exporter does not show the lease".to_owned(),
            lease_age: None,
            progress_age: None,
        }
    }

    fn of(status: &Status) -> Self {
        let progress_age = match status.evidence().map(|evidence| evidence.progress) {
            Some(Progress::Made { when, .. }) => when.shown(),
            _ => None,
        };
        Self {
            state: status.verdict.state,
            reason: status.verdict.reason,
            sentence: status.sentence().to_string(),
            lease_age: status.holding().map(|holding| holding.renewed).as_ref().and_then(Dated::shown),
            progress_age,
        }
    }
}

/// Plays the story.
#[derive(Debug)]
pub(super) struct Player<'a, W> {
    stage: &'a Stage,
    cast: &'a Cast,
    feed: &'a Feed,
    observer: &'a Observer,
    pace: Pace,
    voice: Voice<W>,
    /// What was last told of the exporter, and whether that was in this beat.
    told: Option<(State, Reason)>,
    told_now: bool,
    /// When the table of ages goes on.
    row_at: Instant,
    /// Who hangs.
    frozen: Option<&'a Actor>,
    outcome: Outcome,
}

impl<'a, W: Write> Player<'a, W> {
    /// A player who has not begun.
    pub(super) fn new(
        stage: &'a Stage,
        cast: &'a Cast,
        feed: &'a Feed,
        observer: &'a Observer,
        pace: Pace,
        voice: Voice<W>,
    ) -> Self {
        let outcome = Outcome::default();
        let row_at = Instant::now();
        Self { stage, cast, feed, observer, pace, voice, told: None, told_now: false, row_at, frozen: None, outcome }
    }

    /// What came of it, also of a play that was broken off.
    pub(super) fn finish(self) -> (Voice<W>, Outcome) {
        (self.voice, self.outcome)
    }

    /// Plays, once or without end.
    pub(super) async fn play(&mut self, address: SocketAddr, once: bool) -> io::Result<()> {
        self.introduce(address)?;
        // So that the story begins with a leader.
        let [one, other] = self.cast.both();
        tokio::select! {
            _ = one.does(|seen| seen.leads.is_some(), self.pace.patience()) => {}
            _ = other.does(|seen| seen.leads.is_some(), self.pace.patience()) => {}
        }
        for round in 1_u32.. {
            if round > 1 {
                self.voice.line("")?;
                self.voice.text(0, Style::Bold, &format!("Once more, from the start: round {round}"))?;
            }
            let mut chapter = 0;
            for beat in &STORY {
                if let Some(title) = beat.title {
                    chapter += 1;
                    self.voice.line("")?;
                    self.voice.text(0, Style::Bold, &format!("{chapter}. {title}"))?;
                }
                self.beat(beat).await?;
            }
            if once {
                break;
            }
        }
        if self.outcome.missed > 0 {
            self.voice.line("")?;
            let missed = self.outcome.missed;
            self.voice.text(0, Style::Bold, &format!("Not all was as it should be: {missed} times, as said above."))?;
        }
        Ok(())
    }

    fn introduce(&mut self, address: SocketAddr) -> io::Result<()> {
        let pace = self.pace;
        let (ttl, stall_after) = (Readable(pace.ttl()), Readable(pace.stall_after()));
        let names = self.cast.both().each_ref().map(|actor| match &actor.token {
            Some(token) => format!("{} as {}…", actor.name, token.short()),
            None => actor.name.to_owned(),
        });
        let [a, b] = names;
        let voice = &mut self.voice;
        voice.text(
            0,
            Style::Bold,
            "lease-exporter demo: two schedulers, one lease, and the exporter that watches it",
        )?;
        voice.line("")?;
        voice.line(&format!("  status page  http://{address}/"))?;
        voice.line(&format!("  metrics      http://{address}/metrics"))?;
        voice.line(&format!("  JSON         http://{address}/api/v1/leases"))?;
        voice.line("")?;
        voice.text(
            0,
            Style::Plain,
            &format!(
                "Two schedulers, A and B, share the lease {LEASE} in an SQLite file. Whoever holds it plans made-up \
                 retention runs, and nothing is ever deleted. The exporter only reads that file; it never shows a \
                 holder's name, but a token in its place: {a}, {b} The lease ends {ttl} after the last renewal. \
                 Work that is due and does not move for {stall_after} is stalled.",
            ),
        )?;
        voice.line("")?;
        voice.text(
            0,
            Style::Plain,
            "Below is the time since the start, the state that the exporter shows at that moment, and its reason. \
             Keep the status page open beside it, or follow the metrics:",
        )?;
        voice.line(&format!("  curl -s http://{address}/metrics | grep {LEASE}"))?;
        voice.text(0, Style::Plain, "Ctrl-C ends it.")?;
        if let Some(lines) = self.stage.kept() {
            voice.line("")?;
            lines.iter().try_for_each(|line| voice.line(line))?;
        }
        Ok(())
    }

    async fn beat(&mut self, beat: &Beat) -> io::Result<()> {
        self.told_now = false;
        let [leader, other] = self.cast.leader_first();
        let says = beat.says.replace("{leader}", leader.name).replace("{other}", other.name);
        self.voice.event("", Style::Plain, &says)?;
        self.act(beat.act, leader, other).await?;
        let table = beat.act == Act::Freeze;
        if table {
            self.voice.aside(Style::Dim, HEAD)?;
            self.row_at = Instant::now();
        }
        let patience = self.pace.patience();
        match self.look_for(patience, table, |shown| (shown.state, shown.reason) == (beat.state, beat.reason)).await? {
            None => {
                self.outcome.shown.push(beat.state);
                if !beat.moral.is_empty() {
                    self.voice.aside(Style::Dim, beat.moral)?;
                }
            }
            Some(shown) => {
                let (state, reason) = (beat.state, beat.reason);
                self.miss(&format!(
                    "{state} ({reason}) was expected within {}; the exporter shows {} ({})",
                    Readable(patience),
                    shown.state,
                    shown.reason
                ))?;
            }
        }
        self.look_for(self.pace.of(beat.stays), table, |_| false).await.map(drop)
    }

    async fn act(&mut self, act: Act, leader: &'a Actor, other: &'a Actor) -> io::Result<()> {
        match act {
            Act::Feed => self.feed.open(true),
            Act::Starve => self.feed.open(false),
            Act::Freeze => {
                leader.running.freeze();
                self.frozen = Some(leader);
            }
            Act::Thaw => {
                if let Some(frozen) = self.frozen.take() {
                    frozen.running.thaw();
                }
            }
            Act::Pause => return self.pause(leader, other).await,
            Act::TakeOver => {
                other.running.resume();
                self.take_over(leader, other).await?;
            }
            Act::Resume => self.resume(other).await?,
            Act::Hide => self.stage.hide()?,
            Act::Reveal => self.stage.reveal()?,
        }
        Ok(())
    }

    /// Stops the leader with work in hand. As it is told to, it may just finish; then it is let go and told again.
    async fn pause(&mut self, leader: &Actor, other: &Actor) -> io::Result<()> {
        let patience = self.pace.patience();
        for _ in 0..TRIES {
            let before = leader.seen().taken;
            if !leader.does(|seen| seen.in_hand && seen.taken > before, patience).await {
                break;
            }
            leader.running.pause();
            sleep(self.pace.work_takes()).await;
            if leader.seen().in_hand {
                other.running.pause();
                return Ok(());
            }
            leader.running.resume();
        }
        leader.running.pause();
        other.running.pause();
        self.miss(&format!("{} had nothing in hand when it was stopped", leader.name))
    }

    async fn take_over(&mut self, leader: &Actor, other: &Actor) -> io::Result<()> {
        if !other.does(|seen| seen.leads.is_some(), self.pace.patience()).await {
            return self.miss(&format!("{} did not take the lease", other.name));
        }
        let epoch = |actor: &Actor| actor.seen().leads.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
        let (old, new) = (epoch(leader), epoch(other));
        self.voice.event(other.name, Style::Bold, &format!("took the lease: epoch {new}, after epoch {old}"))
    }

    async fn resume(&mut self, late: &Actor) -> io::Result<()> {
        let before = late.seen().fenced;
        late.running.resume();
        if !late.does(|seen| seen.fenced != before, self.pace.patience()).await {
            return self.miss(&format!("the late write of {} should have been fenced, and was not", late.name));
        }
        match late.seen().fenced {
            Some((key, epoch)) => self.voice.event(
                late.name,
                Style::Bold,
                &format!("late write under epoch {epoch} fenced ({key}); {} stands by from now on", late.name),
            ),
            None => Ok(()),
        }
    }

    /// Looks at the exporter, and tells what changes, until it shows what is wanted, or else gives what it shows at the
    /// end. With a table, it tells the two ages all along.
    async fn look_for(
        &mut self,
        for_long: Duration,
        table: bool,
        wanted: impl Fn(&Shown) -> bool,
    ) -> io::Result<Option<Shown>> {
        let until = Instant::now() + for_long;
        loop {
            let shown = self.look().await;
            let (reached, over) = (wanted(&shown), Instant::now() >= until);
            if table && Instant::now() >= self.row_at {
                self.row_at += self.pace.of(1_000);
                self.row(&shown)?;
            }
            let change = Some((shown.state, shown.reason)) != self.told;
            if change || (!self.told_now && (reached || over)) {
                self.told = Some((shown.state, shown.reason));
                self.told_now = true;
                self.voice.event(shown.state.as_str(), Style::Of(shown.state), &shown.sentence)?;
            }
            match (reached, over) {
                (true, _) => return Ok(None),
                (false, true) => return Ok(Some(shown)),
                (false, false) => sleep(self.pace.look_every()).await,
            }
        }
    }

    /// One look, as a scrape would take it.
    async fn look(&self) -> Shown {
        let observed = self.observer.observe(Instant::now() + LOOK).await;
        let mut statuses = observed.iter().flat_map(|observed| &observed.snapshot.leases);
        statuses.find(|status| &*status.lease == LEASE).map_or_else(Shown::nothing, Shown::of)
    }

    fn row(&mut self, shown: &Shown) -> io::Result<()> {
        let age = |age: Option<Duration>| age.map_or_else(|| "-".to_owned(), |age| format!("{:.2}", age.as_secs_f64()));
        let state = self.voice.styled(Style::Of(shown.state), shown.state.as_str());
        let (lease, progress) = (age(shown.lease_age), age(shown.progress_age));
        self.voice.line(&format!("{:21}{lease:>17}  {progress:>31}  {state}", ""))
    }

    fn miss(&mut self, what: &str) -> io::Result<()> {
        self.outcome.missed += 1;
        self.voice.event("MISSED", Style::Bold, what)
    }
}

/// The head of the table of ages, as wide as its columns.
const HEAD: &str = "lease_age_seconds  lease_last_progress_age_seconds  lease_state";
