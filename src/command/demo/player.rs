//! Plays the story: does what it says, looks at the exporter, and tells what that shows.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::terminal::Style;
use super::Outcome;
use super::cast::{Actor, Cast};
use super::feed::Feed;
use super::pace::Pace;
use super::shown::Shown;
use super::stage::{LEASE, Stage};
use super::story::{Act, Beat, STORY};
use super::voice::Voice;
use crate::lease::{Readable, Reason, State};
use crate::observer::Observer;

/// How long one look may take. The source's own limit is shorter.
const LOOK: Duration = Duration::from_secs(10);

/// Plays the story.
#[derive(Debug)]
pub(super) struct Player<'a, W> {
    pub(super) stage: &'a Stage,
    pub(super) cast: &'a Cast,
    pub(super) feed: &'a Feed,
    observer: &'a Observer,
    pub(super) pace: Pace,
    pub(super) voice: Voice<W>,
    /// What was last told of the exporter, and whether that was in this beat.
    told: Option<(State, Reason)>,
    told_now: bool,
    /// When the table of ages goes on.
    row_at: Instant,
    /// Who hangs.
    pub(super) frozen: Option<&'a Actor>,
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
        // So that the story begins with a leader who has something to do.
        self.feed.open();
        let [one, other] = self.cast.both();
        tokio::select! {
            _ = one.does(|seen| seen.taken > 0, self.pace.patience()) => {}
            _ = other.does(|seen| seen.taken > 0, self.pace.patience()) => {}
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
            self.voice.text(0, Style::Bold, "Not everything came as it should: see MISSED above.")?;
        }
        Ok(())
    }

    async fn beat(&mut self, beat: &Beat) -> io::Result<()> {
        self.told_now = false;
        let [leader, other] = self.cast.leader_first();
        let says = beat.says.replace("{leader}", leader.name).replace("{other}", other.name);
        let says = says.replace("{hidden}", self.stage.way().hidden());
        self.voice.act(&says)?;
        self.act(beat.act, leader, other).await?;
        let table = beat.act == Act::Freeze;
        if table {
            self.voice.line(&format!("{:21}{HEAD}", ""))?;
            self.row_at = Instant::now();
        }
        let patience = self.pace.patience();
        let mut moral = beat.moral;
        match self.look_for(patience, table, |shown| (shown.state, shown.reason) == (beat.state, beat.reason)).await? {
            None => {
                self.outcome.shown.push(beat.state);
                // A table is not broken off.
                if !table {
                    self.voice.aside(Style::Dim, std::mem::take(&mut moral))?;
                }
            }
            Some(shown) => {
                let (state, reason) = (beat.state, beat.reason);
                moral = "";
                self.miss(&format!(
                    "{state} ({reason}) was expected within {}; the exporter shows {} ({})",
                    Readable(patience),
                    shown.state,
                    shown.reason
                ))?;
            }
        }
        self.look_for(self.pace.of(beat.stays), table, |_| false).await?;
        self.voice.aside(Style::Dim, moral)
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
                self.row_at += self.pace.of(800);
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

    /// Tells of something that should have come and did not.
    pub(super) fn miss(&mut self, what: &str) -> io::Result<()> {
        self.outcome.missed += 1;
        self.voice.event("MISSED", Style::Bold, what)
    }
}

/// The head of the table of ages, as wide as its columns.
const HEAD: &str = "lease_age_seconds  lease_last_progress_age_seconds  lease_state";
