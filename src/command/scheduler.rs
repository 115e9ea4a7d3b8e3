//! `lease-exporter scheduler`: a synthetic scheduler in a separate process, which can be observed, frozen and killed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use lease_protocol::{
    HolderId, ProtocolError, Scheduler, SchedulerEvent, SchedulerHandle, StoreAddress, Timing, spawn,
};
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::exit::Exit;
use super::manual::Manual;
use super::serve::block_on;
use super::signals::{self, Signals};
use super::terminal::ProgressLine;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        (
            "lease-exporter scheduler --store=sqlite:///tmp/a.db --create --lease=retention",
            "a scheduler that competes for a lease",
        ),
        ("kill -USR1 PID", "freeze or thaw its work while it renews"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "a signal ended it, and it released the lease")],
};

/// Run a synthetic scheduler that follows the reference lease protocol.
///
/// Competes for the lease, renews it, and plans synthetic occurrences under it; nothing is ever deleted. Prints one line
/// for each event, at the end of the step that caused it. SIGUSR1 freezes and thaws its work, while it continues to renew;
/// SIGTERM and SIGINT release the lease and end it.
///
/// The store must not lose committed data; otherwise an epoch could be assigned twice and would fence nothing. Redis needs
/// `appendonly yes`, `appendfsync always` and `maxmemory-policy noeviction`; PostgreSQL must not run with
/// `synchronous_commit` off.
///
/// The exporter reads it, on every kind of store, with `preset: reference` in its configuration.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MANUAL.help())]
pub(super) struct Arguments {
    /// The store: sqlite:///path, postgres://user@host:port/database or redis://user@host:port/number
    ///
    /// The URL has no password; use --password-file. Connections to PostgreSQL on another machine use TLS, unless the URL
    /// ends in "?sslmode=disable"; connections to Redis do if the URL begins with "rediss".
    #[arg(long, value_name = "URL")]
    store: String,
    /// A file with the password for the store's server, read anew for each connection
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    password_file: Option<PathBuf>,
    /// The lease to compete for
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    lease: String,
    /// How long the lease lives without a renewal
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// How often to renew the lease, and to retry; shorter than the time to live
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = humantime::parse_duration)]
    renew_every: Duration,
    /// How long the work on one occurrence takes
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = humantime::parse_duration)]
    work_takes: Duration,
    /// How often an occurrence becomes due; "none" or 0 to enqueue nothing
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration_or_none)]
    enqueue_every: Duration,
    /// The value of the holder column, unique among all schedulers; random if none is given
    #[arg(long, value_name = "TOKEN")]
    instance: Option<String>,
    /// Make the store's file and tables if they are not there; Redis needs none
    #[arg(long)]
    create: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let usage = |option: &str, error: &dyn std::fmt::Display| Failure::Configuration(format!("{option}{error}"));
    let timing = Timing::new(arguments.ttl, arguments.renew_every)
        .and_then(|timing| timing.work_takes(arguments.work_takes).enqueue_every(arguments.enqueue_every))
        .map_err(|error| usage("", &error))?;
    let holder = match &arguments.instance {
        Some(id) => HolderId::new(id.clone()).map_err(|error| usage("--instance: ", &error))?,
        None => HolderId::random().map_err(|_| {
            Failure::System("no random bytes for an instance token: give one with --instance".to_owned())
        })?,
    };
    let store = StoreAddress::parse(&arguments.store, arguments.password_file.clone())
        .map_err(|error| usage("--store: ", &error))?;
    // A store that cannot be opened now ends the process. After later failures, the scheduler retries.
    let progress = ProgressLine::start("opening", ["the store".to_owned()]);
    let opened = if arguments.create { store.create() } else { store.open() };
    drop(progress);
    drop(opened.map_err(|error| Failure::System(format!("--store: {error}{}", hint(&store, error))))?);
    let scheduler = Scheduler::new(holder, arguments.lease.clone(), timing);
    block_on(run_until_signalled(scheduler, store))?
}

async fn run_until_signalled(scheduler: Scheduler, store: StoreAddress) -> Result<Exit, Failure> {
    // Before the scheduler prints its first line, after which a reader may send signals.
    let (signals, stop) = (Signals::with(&[])?, CancellationToken::new());
    let toggles = signals::stream(SignalKind::user_defined1())?;
    let (sender, output_errors) = mpsc::channel(1);
    let report = move |event| {
        if let Err(error) = print(&event) {
            // The first error ends the scheduler. The channel has no room for further ones.
            let _ = sender.try_send(error);
        }
    };
    let scheduler = spawn(scheduler, move || store.open(), report)
        .map_err(|error| Failure::System(format!("cannot start a thread: {error}")))?;
    let finished = signals.run(stop.clone(), wait(scheduler, stop, toggles, output_errors)).await;
    finished.unwrap_or(Ok(Exit::Ok))
}

/// Freezes and thaws the scheduler at each signal, until `stop` is cancelled or the output fails. Then stops it.
async fn wait(
    scheduler: SchedulerHandle,
    stop: CancellationToken,
    mut toggles: Signal,
    mut output_errors: mpsc::Receiver<io::Error>,
) -> Result<Exit, Failure> {
    let mut is_frozen = false;
    let error = loop {
        tokio::select! {
            () = stop.cancelled() => break None,
            // `None` if the thread has ended by a panic, which `stop` returns.
            error = output_errors.recv() => break error,
            _ = toggles.recv() => {
                is_frozen = !is_frozen;
                if is_frozen { scheduler.freeze() } else { scheduler.thaw() }
            }
        }
    };
    scheduler.stop().map_err(|panic| Failure::System(panic.to_string()))?;
    error.map_or(Ok(Exit::Ok), |error| Err(Failure::System(format!("cannot write to standard output: {error}"))))
}

fn print(event: &SchedulerEvent) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{event}")?;
    // Standard output may be a pipe, which is not flushed at the end of a line.
    stdout.flush()
}

fn duration_or_none(value: &str) -> Result<Duration, humantime::DurationError> {
    if value == "none" { Ok(Duration::ZERO) } else { humantime::parse_duration(value) }
}

fn hint(store: &StoreAddress, error: ProtocolError) -> &'static str {
    match (store, error) {
        (StoreAddress::Sqlite(_), ProtocolError::Unreachable) | (_, ProtocolError::SchemaMismatch) => {
            " (--create makes what is not there)"
        }
        #[cfg(feature = "postgres")]
        (StoreAddress::Postgres { .. }, ProtocolError::NoSuchDatabase) => " (--create makes tables, not databases)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(more: &[&str]) -> Result<Arguments, clap::Error> {
        let required = ["scheduler", "--store", "sqlite:///none/none.db", "--lease", "retention"];
        Command::try_parse_from(required.iter().chain(more)).map(|command| command.arguments)
    }

    fn refused(more: &[&str]) -> String {
        run(&parsed(more).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn errors_do_not_contain_the_url_of_the_store() {
        for store in ["postgres://me:planted@host/db", "redis://:planted@host", "planted", "sqlite:///planted?key=1"] {
            let arguments = Arguments { store: store.into(), ..parsed(&[]).unwrap() };
            let error = run(&arguments).unwrap_err();
            assert!(matches!(error, Failure::Configuration(_)) && !error.to_string().contains("planted"), "{error}");
        }
        assert_eq!(refused(&[]), "--store: the store cannot be reached (--create makes what is not there)");
    }

    #[test]
    fn unusable_durations_are_refused() {
        assert_eq!(refused(&["--ttl", "0s"]), "ttl must be at least 1ms and at most 10^12 ms");
        assert_eq!(
            refused(&["--renew-every", "5s"]),
            "renew-every (5s) must be shorter than ttl (5s): raise ttl or lower renew-every"
        );
        parsed(&["--ttl", "soon"]).unwrap_err();
    }

    #[test]
    fn enqueueing_can_be_disabled() {
        for disabled in ["none", "0", "0s"] {
            assert_eq!(parsed(&["--enqueue-every", disabled]).unwrap().enqueue_every, Duration::ZERO, "{disabled}");
        }
        assert_eq!(parsed(&[]).unwrap().enqueue_every, Duration::from_secs(1));
    }
}
