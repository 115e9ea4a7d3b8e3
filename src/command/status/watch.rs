//! `lease-exporter status --watch`: reads until a signal, and draws a table or prints changes.

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
use super::super::print::{Pipe, print, write_result};
use super::super::signals::{self, Signals};
use super::super::terminal::{Screen, Size, supports_colour};
use super::change_log::ChangeLog;
use super::exit_code;
use super::frame::{FrameContent, frame};
use super::readings::{ReadEvent, read_sources};
use crate::clock;
use crate::command::Failure;
use crate::expose::DisplayName;
use crate::lease::SourceSnapshot;
use crate::observer::{CachedReading, Observer};

/// A reading that takes longer is shown as pending. The frame is then redrawn at this interval.
const SLOW: Duration = Duration::from_secs(1);

/// Draws a table on the terminal, or prints changes, until a signal or until the reader closes the pipe.
pub(super) async fn run(observer: &Observer, every: Duration, is_full_screen: bool) -> Result<Exit, Failure> {
    let (signals, stop) = (Signals::with(&[])?, CancellationToken::new());
    let watch = async {
        if is_full_screen {
            draw_until(observer, every, &stop).await
        } else {
            print_until(observer, every, &stop).await
        }
    };
    // After a second signal, the last states are not known.
    signals.run(stop.clone(), watch).await.unwrap_or(Ok(Exit::Unknown))
}

async fn print_until(observer: &Observer, every: Duration, stop: &CancellationToken) -> Result<Exit, Failure> {
    let mut sources = SourceReadings::new(observer);
    let mut logs: Vec<ChangeLog> = sources.0.iter().map(|_| ChangeLog::default()).collect();
    let mut events = read_sources(observer, Some(every));
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = stop.cancelled() => None,
        };
        let Some(event) = event else { return Ok(sources.exit_code()) };
        if let Some(snapshot) = sources.record(&event) {
            let lines = logs[event.source].update(snapshot, &time());
            let text: String = lines.into_iter().map(|line| line + "\n").collect();
            // Without changes nothing is printed for hours, so the pipe is checked as well.
            if (!text.is_empty() && print(text)? == Pipe::Closed) || is_pipe_closed() {
                return Ok(sources.exit_code());
            }
        }
    }
}

/// Whether the reader of standard output has closed the pipe.
fn is_pipe_closed() -> bool {
    let out = stdout();
    let mut pipe = [PollFd::from_borrowed_fd(out.as_fd(), PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        && pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

async fn draw_until(observer: &Observer, every: Duration, stop: &CancellationToken) -> Result<Exit, Failure> {
    let mut resized = signals::stream(SignalKind::window_change())?;
    let mut suspended = signals::stream(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    let mut ticks = interval(SLOW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (screen, colour) = (Screen::new(stdout()), supports_colour(&stdout()));
    let mut view = TableView { screen, last_frame: Vec::new(), every, colour };
    let mut sources = SourceReadings::new(observer);
    let mut events = read_sources(observer, Some(every));
    while !stop.is_cancelled() {
        let changed = tokio::select! {
            event = events.recv() => event.is_some_and(|event| sources.record(&event).is_some()),
            _ = ticks.tick() => sources.pending().is_some(),
            _ = resized.recv() => true,
            _ = suspended.recv() => {
                write_result(view.screen.leave())?;
                // Handling SIGTSTP replaced its default action, which is to stop the process until SIGCONT.
                let _ = kill_process(getpid(), Signal::STOP);
                true
            }
            () = stop.cancelled() => false,
        };
        if changed && view.draw(&sources)? == Pipe::Closed {
            break;
        }
    }
    view.leave()?;
    Ok(sources.exit_code())
}

/// The table on the terminal.
struct TableView {
    screen: Screen<Stdout>,
    last_frame: Vec<String>,
    every: Duration,
    colour: bool,
}

impl TableView {
    fn draw(&mut self, sources: &SourceReadings) -> Result<Pipe, Failure> {
        let snapshots = sources.snapshots();
        let pending = sources.pending();
        let pending = pending.as_ref().map(|(names, elapsed)| (&**names, *elapsed));
        let content = FrameContent { snapshots: &snapshots, pending, every: self.every, time: &time() };
        self.last_frame = frame(&content, Size::of(&stdout()), self.colour);
        write_result(self.screen.draw(&self.last_frame))
    }

    /// Restores the normal screen and prints the last frame there.
    fn leave(mut self) -> Result<(), Failure> {
        write_result(self.screen.leave())?;
        let text: String = self.last_frame.iter().map(|line| format!("{line}\n")).collect();
        print(text).map(drop)
    }
}

/// The latest reading of each source.
struct SourceReadings(Vec<SourceReading>);

struct SourceReading {
    name: String,
    latest: Option<Arc<CachedReading>>,
    /// When the reading in progress began.
    began: Option<Duration>,
}

impl SourceReadings {
    fn new(observer: &Observer) -> Self {
        let source = |name: &str| SourceReading { name: DisplayName(name).to_string(), latest: None, began: None };
        Self(observer.per_source().map(|(name, _)| source(name)).collect())
    }

    /// Records an event, and returns the snapshot if a reading has ended.
    fn record(&mut self, event: &ReadEvent) -> Option<&SourceSnapshot> {
        let source = &mut self.0[event.source];
        match &event.reading {
            None => {
                source.began = Some(clock::monotonic());
                None
            }
            Some(reading) => {
                source.began = None;
                Some(&source.latest.insert(Arc::clone(reading)).snapshot)
            }
        }
    }

    fn snapshots(&self) -> Vec<&SourceSnapshot> {
        self.0.iter().filter_map(|source| source.latest.as_deref()).map(|reading| &*reading.snapshot).collect()
    }

    /// The sources whose reading is slow, or is the first one, and the longest time that any of these takes.
    fn pending(&self) -> Option<(Vec<String>, Duration)> {
        let now = clock::monotonic();
        let pending = self.0.iter().filter_map(|source| {
            let elapsed = now.saturating_sub(source.began?);
            (elapsed >= SLOW || source.latest.is_none()).then(|| (source.name.clone(), elapsed))
        });
        let (names, elapsed): (Vec<_>, Vec<_>) = pending.unzip();
        Some((names, elapsed.into_iter().max()?))
    }

    fn exit_code(&self) -> Exit {
        if self.0.iter().all(|source| source.latest.is_some()) { exit_code(&self.snapshots()) } else { Exit::Unknown }
    }
}

/// The current time, for display.
fn time() -> String {
    let now = Duration::try_from_secs_f64(clock::unix_seconds()).unwrap_or_default();
    humantime::format_rfc3339_seconds(UNIX_EPOCH + now).to_string()
}
