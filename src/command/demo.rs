//! `lease-exporter demo`: the exporter at work on two schedulers of its own, without any configuration.
//!
//! Everything in it is the real thing: the schedulers follow the reference protocol on a store of their own, and the
//! exporter is configured by a file, reads that store and serves, just as it does elsewhere. What the terminal shows of
//! the lease is what the exporter says at that moment.

mod acts;
mod by_hand;
mod cast;
mod ending;
mod feed;
mod introduction;
mod own_store;
mod pace;
mod player;
mod relay;
mod shown;
mod stage;
mod story;
#[cfg(test)]
mod tests;
mod voice;
mod way;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::SignalKind;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::exporter::Exporter;
use super::manual::{Manual, NO_COLOR};
use super::print::written;
use super::serve::{block_on, serve};
use super::signals::Signals;
use super::terminal::{Waiting, shows_colour};
use super::{Failure, sources};
use crate::lease::State;
use crate::log;
use crate::scheduler::StoreAddress;
use crate::web::Settings;

use cast::Cast;
use ending::Ending;
use feed::Feed;
use pace::Pace;
use player::Player;
use stage::Stage;
use voice::Voice;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter demo", "on http://127.0.0.1:10987/, until Ctrl-C"),
        ("lease-exporter demo --speed=5 --once", "one round, in a fifth of the time"),
        ("lease-exporter demo --store=postgres://me@localhost/test", "on a server, in a schema of its own"),
    ],
    environment: &[NO_COLOR],
    exits: &[
        (Exit::Ok, "it was ended, or showed what it should"),
        (Exit::Unhealthy, "with --once: it did not show what it should"),
        (Exit::Abandoned, "told twice to end, it left behind what it had made"),
    ],
};

/// Show the exporter at work, without any configuration.
///
/// Starts two made-up schedulers that share one lease in an SQLite file of their own, and the exporter that watches
/// them, and goes through what can happen to a lease: work moves, nothing is due, the leader hangs while it renews, it
/// stops and the other takes over, the store cannot be read. Begins anew until Ctrl-C, and then leaves nothing behind.
/// Nothing outside of a temporary folder is written, and only this machine can reach it.
///
/// With --store, the lease is on a server instead, in a schema or under a key prefix of its own. Until the demo ends,
/// that grows by about 60 small records a minute, times the speed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// How many times as fast as usual, from 0.1 to 20
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = pace::parse)]
    speed: Pace,

    /// The port to serve on, on 127.0.0.1 alone; 0 for any that is free
    #[arg(long, value_name = "NUMBER", default_value_t = 10987)]
    port: u16,

    /// End after one round, and say by the exit code whether it showed what it should
    #[arg(long)]
    once: bool,

    /// Keep the store and the configuration at the end, and say where they are
    #[arg(long)]
    keep: bool,

    /// Keep the lease on this server: postgres://user@host:port/database or redis://user@host:port/number
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// A file with the password for the store's server
    #[arg(long, value_name = "FILE", requires = "store", value_hint = clap::ValueHint::FilePath)]
    password_file: Option<PathBuf>,
}

impl Arguments {
    /// The server; `None` for a file of the demo's own.
    fn server(&self) -> Result<Option<StoreAddress>, Failure> {
        let Some(url) = &self.store else { return Ok(None) };
        match StoreAddress::parse(url, self.password_file.clone()) {
            Ok(address) if address.server().is_some() => Ok(Some(address)),
            Ok(_) => {
                Err(Failure::Configuration("--store: without it the demo makes an SQLite file of its own".to_owned()))
            }
            Err(error) => Err(Failure::Configuration(format!("--store: {error}"))),
        }
    }
}

/// How long answers under way may take at the end; they change nothing.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What came of the demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// The states that were expected and shown, in order.
    shown: Vec<State>,
    /// How often something expected did not come.
    missed: usize,
}

/// Shows it until it is over, or someone has seen enough.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    log::start(log::Level::Warn, log::Format::Logfmt);
    let stdout = io::stdout();
    let colour = shows_colour(&stdout);
    block_on(until_signalled(arguments, Voice::new(stdout, colour)))?
}

/// A first signal lets it clean up; a second one ends it where it is.
async fn until_signalled(arguments: &Arguments, voice: Voice<impl Write>) -> Result<Exit, Failure> {
    // When the terminal's window is closed, that must leave nothing behind either.
    let signals = Signals::also(&[SignalKind::hangup()])?;
    let stop = CancellationToken::new();
    match signals.end(stop.clone(), show(arguments, voice, stop.clone())).await {
        Some(outcome) if stop.is_cancelled() => outcome.map(|_| Exit::Ok),
        Some(outcome) => {
            outcome.map(|outcome| if arguments.once && outcome.missed > 0 { Exit::Unhealthy } else { Exit::Ok })
        }
        None => Ok(Exit::Abandoned),
    }
}

/// Sets the stage, plays the story and clears everything away, whatever came of it.
///
/// It blocks for some milliseconds here and there, so it runs on a thread that serves nobody.
async fn show(arguments: &Arguments, voice: Voice<impl Write>, stop: CancellationToken) -> Result<Outcome, Failure> {
    let pace = arguments.speed;
    let store = arguments.server()?;
    let listener = listen(arguments.port).await?;
    let address = listener.local_addr().map_err(|error| Failure::System(format!("cannot listen: {error}")))?;
    let waiting = Waiting::begin("preparing", ["the store".to_owned()]);
    let stage = Stage::set(pace, arguments.keep, store).await?;
    drop(waiting);
    let config = sources::configuration(&stage.config_file())?;
    let observer = sources::passing_observer(&config)?;
    let exporter = Exporter::new(observer.clone())?;
    // Not `stop` itself: a server that ends before it is told to is a failure.
    let close = CancellationToken::new();
    let mut server = tokio::spawn(serve(listener, Arc::new(exporter), Settings::default(), close.clone()));
    let cast = Cast::start(&stage, pace, config.token_key.as_ref())?;
    let feed = Feed::start(stage.store().clone(), pace)?;
    let mut player = Player::new(&stage, &cast, &feed, &observer, pace, voice);

    let played = tokio::select! {
        told = player.play(address, arguments.once) => Ok(told),
        () = stop.cancelled() => Ok(Ok(())),
        _ = &mut server => Err(Failure::System("the server ended unexpectedly".to_owned())),
    };
    let (mut voice, outcome) = player.finish();
    close.cancel();
    let stopped = tokio::task::spawn_blocking(move || feed.stop().and(cast.stop()));
    let serves = played.is_ok();
    let others_left = async move {
        let served = async { if serves { timeout(LAST_ANSWERS, server).await.is_ok() } else { true } };
        let (stopped, _) = tokio::join!(stopped, served);
        let stopped = stopped.is_ok_and(|stopped| stopped.is_ok());
        stopped.then_some(()).ok_or_else(|| Failure::System("a scheduler ended unexpectedly".to_owned()))
    };
    let Ending { cleared, told } = ending::end(stage, others_left, &mut voice).await;
    let told = played?.and(told);
    cleared?;
    written(told)?;
    Ok(outcome)
}

async fn listen(port: u16) -> Result<TcpListener, Failure> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::AddrInUse => format!("port {port} is taken"),
            _ => format!("cannot listen on port {port}: {error}"),
        };
        Failure::System(format!("{why}; choose another with --port=NUMBER, or any that is free with --port=0"))
    })
}
