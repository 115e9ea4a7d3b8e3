//! What is done to the schedulers, the work and the store.

use std::io::{self, Write};

use tokio::time::sleep;

use super::super::terminal::Style;
use super::cast::Actor;
use super::player::Player;
use super::story::Act;

/// How often it is tried to stop the leader with work in hand.
const TRIES: usize = 10;

impl<'a, W: Write> Player<'a, W> {
    /// Does what the story says.
    pub(super) async fn act(&mut self, act: Act, leader: &'a Actor, other: &'a Actor) -> io::Result<()> {
        match act {
            Act::Feed => self.feed.open(),
            Act::Starve => self.feed.close(),
            Act::Freeze => self.freeze(leader).await?,
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
            Act::Hide => self.stage.way().hide()?,
            Act::Reveal => self.stage.way().reveal()?,
        }
        Ok(())
    }

    /// Freezes the leader when it has done some of the work that fell due at once and not the rest: so the oldest has
    /// waited for longer than the limit by the time that the last progress is that old.
    async fn freeze(&mut self, leader: &'a Actor) -> io::Result<()> {
        let before = leader.seen().taken;
        self.feed.rush();
        let busy = leader.does(|seen| seen.in_hand && seen.taken >= before + 3, self.pace.patience()).await;
        leader.running.freeze();
        self.frozen = Some(leader);
        if busy { Ok(()) } else { self.miss(&format!("{} had nothing to do when it was to hang", leader.name)) }
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
                &format!("late write under epoch {epoch} fenced ({key}); {} stands by", late.name),
            ),
            None => Ok(()),
        }
    }
}
