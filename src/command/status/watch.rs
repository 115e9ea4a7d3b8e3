//! Looks again and again until a signal, and shows what was seen: drawn over and over, or told line by line.

use std::io::{Stdout, stdout};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::SignalKind;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::super::exit::Exit;
use super::super::print::{Reader, print, written};
use super::super::signals::{Signals, heard};
use super::super::terminal::{Screen, Size, shows_colour};
use super::changes::Changes;
use super::exit;
use super::frame::{Shown, frame};
use super::looks::{Event, Look, Often, begin};
use crate::clock;
use crate::command::Failure;
use crate::expose::DisplayName;
use crate::lease::SourceSnapshot;
use crate::observer::{CachedReading, Observer};

/// A look that takes longer is worth a word, which is renewed as often.
const LONG: Duration = Duration::from_secs(1);

/// Draws what is seen on the terminal that standard output is, until a signal.
pub(super) async fn drawn(observer: &Observer, every: Duration) -> Result<Exit, Failure> {
    until_a_signal(|stop| draw(observer, every, stop)).await
}

/// Tells what changes on standard output, until a signal or until nobody reads it.
pub(super) async fn told(observer: &Observer, every: Duration) -> Result<Exit, Failure> {
    until_a_signal(|stop| tell(observer, every, stop)).await
}

async fn until_a_signal<Seen>(see: impl FnOnce(CancellationToken) -> Seen) -> Result<Exit, Failure>
where
    Seen: Future<Output = Result<Exit, Failure>>,
{
    let (signals, stop) = (Signals::also(&[])?, CancellationToken::new());
    let done = signals.end(stop.clone(), see(stop)).await;
    // Told twice at once, it did not even look at what it had seen.
    done.unwrap_or(Ok(Exit::Unknown))
}

async fn tell(observer: &Observer, every: Duration, stop: CancellationToken) -> Result<Exit, Failure> {
    let mut sources = Sources::of(observer);
    let mut changes: Vec<Changes> = sources.0.iter().map(|_| Changes::default()).collect();
    let mut looks = begin(observer, Often::Every(every));
    loop {
        let look = tokio::select! {
            look = looks.recv() => look,
            () = stop.cancelled() => None,
        };
        let Some(look) = look else { return Ok(sources.exit()) };
        if let Some(snapshot) = sources.take_in(&look) {
            let lines = changes[look.source].take_in(snapshot, &time());
            let text: String = lines.into_iter().map(|line| line + "\n").collect();
            // Nothing may change for hours; whoever reads may go meanwhile.
            if (!text.is_empty() && print(&text)? == Reader::Gone) || is_left() {
                return Ok(sources.exit());
            }
        }
    }
}

/// Whether standard output leads to nobody any more.
fn is_left() -> bool {
    let out = stdout();
    let mut pipe = [PollFd::from_borrowed_fd(out.as_fd(), PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        && pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

async fn draw(observer: &Observer, every: Duration, stop: CancellationToken) -> Result<Exit, Failure> {
    let mut resized = heard(SignalKind::window_change())?;
    let mut suspended = heard(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut second = interval(LONG);
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut picture, mut sources) = (Picture::new(every), Sources::of(observer));
    let mut looks = begin(observer, Often::Every(every));
    while !stop.is_cancelled() {
        let changed = tokio::select! {
            look = looks.recv() => look.is_some_and(|look| sources.take_in(&look).is_some()),
            _ = second.tick() => sources.awaited().is_some(),
            _ = resized.recv() => true,
            _ = suspended.recv() => {
                written(picture.screen.leave())?;
                // It stops here, as it would have without a screen to give back, and goes on once it is told to.
                let _ = kill_process(getpid(), Signal::STOP);
                true
            }
            () = stop.cancelled() => false,
        };
        if changed && picture.draw(&sources)? == Reader::Gone {
            break;
        }
    }
    picture.leave()?;
    Ok(sources.exit())
}

/// What is on the screen.
struct Picture {
    screen: Screen<Stdout>,
    last: Vec<String>,
    every: Duration,
    colour: bool,
}

impl Picture {
    fn new(every: Duration) -> Self {
        Self { screen: Screen::new(stdout()), last: Vec::new(), every, colour: shows_colour(&stdout()) }
    }

    fn draw(&mut self, sources: &Sources) -> Result<Reader, Failure> {
        let snapshots = sources.snapshots();
        let awaited = sources.awaited();
        let awaited = awaited.as_ref().map(|(names, waited)| (&**names, *waited));
        let shown = Shown { snapshots: &snapshots, awaited, every: self.every, time: &time() };
        self.last = frame(&shown, Size::of(&stdout()), self.colour);
        written(self.screen.draw(&self.last))
    }

    /// Gives the terminal back, and leaves there what was seen last.
    fn leave(mut self) -> Result<(), Failure> {
        written(self.screen.leave())?;
        let text: String = self.last.iter().map(|line| format!("{line}\n")).collect();
        print(&text).map(drop)
    }
}

/// The sources, and what was seen of them last.
struct Sources(Vec<Source>);

struct Source {
    name: String,
    seen: Option<Arc<CachedReading>>,
    /// Since when it is being looked at.
    began: Option<Duration>,
}

impl Sources {
    fn of(observer: &Observer) -> Self {
        let source = |name: &str| Source { name: DisplayName(name).to_string(), seen: None, began: None };
        Self(observer.apart().map(|(name, _)| source(name)).collect())
    }

    /// Notes what happened, and gives what was seen, if anything was.
    fn take_in(&mut self, look: &Look) -> Option<&SourceSnapshot> {
        let source = &mut self.0[look.source];
        match &look.event {
            Event::Began => {
                source.began = Some(clock::monotonic());
                None
            }
            Event::Landed(observed) => {
                source.began = None;
                Some(&source.seen.insert(Arc::clone(observed)).snapshot)
            }
        }
    }

    fn snapshots(&self) -> Vec<&SourceSnapshot> {
        self.0.iter().filter_map(|source| source.seen.as_deref()).map(|seen| &*seen.snapshot).collect()
    }

    /// Those that are being looked at for long, or for the first time, and for how long the first of them has been.
    fn awaited(&self) -> Option<(Vec<String>, Duration)> {
        let now = clock::monotonic();
        let long = self.0.iter().filter_map(|source| {
            let waited = now.saturating_sub(source.began?);
            (waited >= LONG || source.seen.is_none()).then(|| (source.name.clone(), waited))
        });
        let (names, waited): (Vec<_>, Vec<_>) = long.unzip();
        Some((names, waited.into_iter().max()?))
    }

    fn exit(&self) -> Exit {
        if self.0.iter().all(|source| source.seen.is_some()) { exit(&self.snapshots()) } else { Exit::Unknown }
    }
}

/// The time, as it is shown; only ever shown.
fn time() -> String {
    let now = Duration::try_from_secs_f64(clock::unix_seconds()).unwrap_or_default();
    humantime::format_rfc3339_seconds(UNIX_EPOCH + now).to_string()
}
