//! `lease-exporter demo`: the exporter and two schedulers, without any configuration.
//!
//! The schedulers follow the reference protocol on a new store. The exporter reads its configuration from a file, and
//! reads the store and serves as it always does. The terminal shows the lease's state as the exporter reports it.

mod access;
mod commands;
mod environment;
mod output;
mod producer;
mod runner;
mod scenario;
mod schedulers;
mod speed;
mod store;
#[cfg(test)]
mod tests;

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
use super::print::write_result;
use super::serve::{block_on, serve};
use super::signals::Signals;
use super::terminal::{ProgressLine, supports_colour};
use super::{Failure, sources};
use crate::log;
use crate::web::{Listener, Settings};
use lease_protocol::StoreAddress;

use environment::DemoEnvironment;
use output::Output;
use producer::WorkProducer;
use runner::{Outcome, ScenarioRunner};
use speed::Speed;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter demo", "on http://127.0.0.1:10987/, until Ctrl-C"),
        ("lease-exporter demo --speed=5 --once", "one round, in a fifth of the time"),
        ("lease-exporter demo --store=postgres://me@localhost/test", "on a server, in a new schema"),
    ],
    environment: &[NO_COLOR],
    exits: &[
        (Exit::Ok, "a signal ended it, or all expected states were shown"),
        (Exit::Unhealthy, "with --once: an expected state was not shown"),
        (Exit::Abandoned, "a second signal ended it before everything was removed"),
    ],
};

/// Show the exporter at work, without any configuration.
///
/// Starts two synthetic schedulers that share one lease in a new SQLite file, and an exporter that reads it. Then shows
/// what can happen to a lease: work moves, nothing is due, the leader hangs while it renews, the leader stops and the other
/// scheduler takes over, the store cannot be read. Repeats this until Ctrl-C, and removes everything at the end. Writes only
/// to a temporary folder, and serves only this machine.
///
/// With --store, the lease is on a server instead, in a new schema or under a new key prefix. Until the demo ends, its data
/// grows by about 60 small records a minute, times the speed.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The speed of the demo as a factor, from 0.1 to 20
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = speed::parse)]
    speed: Speed,

    /// The port to serve on, on 127.0.0.1; 0 for any free port
    #[arg(long, value_name = "NUMBER", default_value_t = 10987)]
    port: u16,

    /// End after one round; the exit code says whether all expected states were shown
    #[arg(long)]
    once: bool,

    /// Keep the store and the configuration at the end, and print their paths
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
    /// The server of the store; `None` for an SQLite file.
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

/// How long responses in progress may take at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the demo until it ends or a signal arrives.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    log::start(log::Level::Warn, log::Format::Logfmt);
    let stdout = io::stdout();
    let colour = supports_colour(&stdout);
    block_on(until_signalled(arguments, Output::new(stdout, colour)))?
}

/// A first signal lets the demo clean up; a second one ends it at once.
async fn until_signalled(arguments: &Arguments, output: Output<impl Write>) -> Result<Exit, Failure> {
    // Closing the terminal's window sends SIGHUP, after which the demo must clean up as well.
    let signals = Signals::with(&[SignalKind::hangup()])?;
    let stop = CancellationToken::new();
    let Some(result) = signals.run(stop.clone(), show(arguments, output, stop.clone())).await else {
        return Ok(Exit::Abandoned);
    };
    let missed = result?.missed;
    let is_unhealthy = arguments.once && missed > 0 && !stop.is_cancelled();
    Ok(if is_unhealthy { Exit::Unhealthy } else { Exit::Ok })
}

/// Creates the environment, runs the scenario and cleans up in any case.
///
/// This future blocks for some milliseconds at times, so it must run on a thread that serves no requests.
async fn show(
    arguments: &Arguments,
    mut output: Output<impl Write>,
    stop: CancellationToken,
) -> Result<Outcome, Failure> {
    let speed = arguments.speed;
    let store = arguments.server()?;
    let listener = listen(arguments.port).await?;
    let address = listener.local_addr().map_err(|error| Failure::System(format!("cannot listen: {error}")))?;
    let progress = ProgressLine::start("preparing", ["the store".to_owned()]);
    let environment = DemoEnvironment::create(speed, arguments.keep, store).await?;
    drop(progress);
    let config = sources::load_config(&environment.config_file())?;
    let observer = sources::temporary_observer(&config)?;
    let exporter = Exporter::new(observer.clone())?;
    // A token apart from `stop`: if the server ends before `close` is cancelled, that is a failure.
    let close = CancellationToken::new();
    let mut server =
        tokio::spawn(serve(Listener::Tcp(listener), Arc::new(exporter), Settings::default(), close.clone()));
    let schedulers = schedulers::start(environment.store(), speed, config.token_key.as_ref())?;
    let producer = WorkProducer::start(environment.store().clone(), speed)?;
    let mut runner = ScenarioRunner::new(&environment, &schedulers, &producer, &observer, &mut output);

    let run = tokio::select! {
        printed = runner.run(address, arguments.once) => Ok(printed),
        () = stop.cancelled() => Ok(Ok(())),
        _ = &mut server => Err(Failure::System("the server ended unexpectedly".to_owned())),
    };
    let outcome = runner.outcome;
    close.cancel();
    let threads = tokio::task::spawn_blocking(move || producer.stop().and(schedulers::stop(schedulers)));
    let is_serving = run.is_ok();
    let users_stopped = async move {
        let drained = async { is_serving && timeout(DRAIN_TIMEOUT, server).await.is_ok() };
        let (stopped, _) = tokio::join!(threads, drained);
        let stopped = stopped.is_ok_and(|stopped| stopped.is_ok());
        stopped.then_some(()).ok_or_else(|| Failure::System("a scheduler ended unexpectedly".to_owned()))
    };
    let finished = environment.finish(users_stopped, &mut output).await;
    let printed = run?.and(finished?);
    write_result(printed)?;
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
