//! `lease-exporter scheduler`: one synthetic scheduler as a process of its own, to be observed, frozen and killed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use lease_protocol::{
    HolderId, InvalidAddress, InvalidHolderId, InvalidTiming, ProtocolError, Scheduler, SchedulerEvent,
    SchedulerHandle, SchedulerPanic, StoreAddress, Timing, spawn,
};
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::exit::Exit;
use super::manual::Manual;
use super::terminal::ProgressLine;

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        (
            "lease-exporter scheduler --store=sqlite:///tmp/a.db --create --lease=retention",
            "one that competes for a lease",
        ),
        ("kill -USR1 PID", "have its work hang while it renews, or go on"),
    ],
    environment: &[],
    exits: &[(Exit::Ok, "it was told to stop, and gave the lease back")],
};

/// Run a synthetic scheduler that follows the reference lease protocol.
///
/// Competes for the lease, renews it, and plans made-up occurrences under it; nothing is ever deleted. Prints one line
/// for each event, at the end of the step that brought it. SIGUSR1 freezes its work, and thaws it again, while it goes
/// on to renew; SIGTERM and SIGINT give the lease back and end it.
///
/// The store must not lose what it was told, or an epoch is given twice and fences nothing: Redis needs `appendonly yes`,
/// `appendfsync always` and `maxmemory-policy noeviction`; PostgreSQL must not run with `synchronous_commit` off.
///
/// The exporter reads it, on every kind of store, with `preset: reference` in its configuration.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MANUAL.help())]
pub struct Args {
    /// The store: sqlite:///path, postgres://user@host:port/database or redis://user@host:port/number
    ///
    /// Without a password, for which there is --password-file. PostgreSQL on another machine is spoken to over TLS, unless
    /// the URL ends in "?sslmode=disable"; Redis is if it begins with "rediss".
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
    /// How long one occurrence is worked on
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = humantime::parse_duration)]
    work_takes: Duration,
    /// How often an occurrence becomes due; "none" or 0 to enqueue nothing
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration_or_none)]
    enqueue_every: Duration,
    /// What to put into the holder column, unique among all that run; random if nothing is given
    #[arg(long, value_name = "TOKEN")]
    instance: Option<String>,
    /// Make the store's file and tables if they are not there; Redis needs none
    #[arg(long)]
    create: bool,
}

/// Why the scheduler did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The instance token cannot be used. The caller must choose another.
    #[error("--instance: {0}")]
    Instance(#[from] InvalidHolderId),
    /// The operating system refused something that any process may have. Its operator must act.
    #[error("cannot {what}: {error}")]
    Os {
        /// What was asked of it.
        what: &'static str,
        /// What it said.
        error: io::Error,
    },
    /// Nobody reads the events any more.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// A bug ended the scheduler's thread.
    #[error(transparent)]
    Panicked(#[from] SchedulerPanic),
    /// The operating system has no random bytes for an instance token. The caller can give one.
    #[error("no random bytes for an instance token: give one with --instance")]
    Random,
    /// The store cannot be used. Its operator must act; without the tables, the caller can have them made.
    #[error("--store: {error}{hint}")]
    Store {
        /// What is wrong.
        error: ProtocolError,
        /// What else to say.
        hint: &'static str,
    },
    /// The caller named a store of another kind, or none.
    #[error("--store: {0}")]
    StoreUrl(#[from] InvalidAddress),
    /// The times make no scheduler. The caller must change them.
    #[error(transparent)]
    Timing(#[from] InvalidTiming),
}

impl Error {
    /// Whether the caller can mend it on the command line.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Instance(_) | Self::StoreUrl(_) | Self::Timing(_) => true,
            Self::Os { .. } | Self::Output(_) | Self::Panicked(_) | Self::Random | Self::Store { .. } => false,
        }
    }
}

/// Runs until a signal ends it.
///
/// # Errors
/// When it cannot start, or standard output is gone.
pub fn run(args: Args) -> Result<Exit, Error> {
    let timing = Timing::new(args.ttl, args.renew_every)?;
    let timing = timing.work_takes(args.work_takes).enqueue_every(args.enqueue_every)?;
    let holder = match args.instance {
        Some(id) => HolderId::new(id)?,
        None => HolderId::random().map_err(|_| Error::Random)?,
    };
    let store = StoreAddress::parse(&args.store, args.password_file)?;
    // Now and here, so that what is wrong with the store ends the process; later failures are waited out.
    let progress = ProgressLine::start("opening", ["the store".to_owned()]);
    let opened = if args.create { store.create() } else { store.open() };
    drop(progress);
    drop(opened.map_err(|error| Error::Store { error, hint: hint(&store, error) })?);

    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(|error| Error::Os { what: "start a runtime", error })?;
    runtime.block_on(async {
        // Before the scheduler's first line: whoever has read it may send a signal.
        let signals = Signals::new().map_err(|error| Error::Os { what: "handle signals", error })?;
        let (output_failed, output) = mpsc::channel(1);
        let report = move |event| {
            if let Err(error) = print(&event) {
                // One failure is enough to end it; what follows until then finds the place taken.
                let _ = output_failed.try_send(error);
            }
        };
        let connect = move || store.open();
        let scheduler = spawn(Scheduler::new(holder, args.lease, timing), connect, report)
            .map_err(|error| Error::Os { what: "start a thread", error })?;
        wait(scheduler, signals, output).await
    })
}

async fn wait(
    scheduler: SchedulerHandle,
    mut signals: Signals,
    mut output: mpsc::Receiver<io::Error>,
) -> Result<Exit, Error> {
    let mut frozen = false;
    let failed = loop {
        tokio::select! {
            _ = signals.terminate.recv() => break None,
            _ = signals.interrupt.recv() => break None,
            // Nothing when the thread has ended by itself; stopping it tells why.
            failed = output.recv() => break failed,
            _ = signals.freeze.recv() => {
                frozen = !frozen;
                if frozen { scheduler.freeze() } else { scheduler.thaw() }
            }
        }
    };
    scheduler.stop()?;
    failed.map_or(Ok(Exit::Ok), |error| Err(Error::Output(error)))
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    freeze: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            // A service manager or a container runtime ends the process.
            terminate: signal(SignalKind::terminate())?,
            // A person at a terminal does.
            interrupt: signal(SignalKind::interrupt())?,
            freeze: signal(SignalKind::user_defined1())?,
        })
    }
}

fn print(event: &SchedulerEvent) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{event}")?;
    // Standard output may be a pipe that someone waits at.
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
        args: Args,
    }

    fn parsed(more: &[&str]) -> Result<Args, clap::Error> {
        let given = ["scheduler", "--store", "sqlite:///none/none.db", "--lease", "retention"];
        Command::try_parse_from(given.iter().chain(more)).map(|command| command.args)
    }

    fn refused(more: &[&str]) -> String {
        run(parsed(more).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn an_error_does_not_repeat_the_store() {
        for store in ["postgres://me:planted@host/db", "redis://:planted@host", "planted", "sqlite:///planted?key=1"] {
            let args = parsed(&[]).map(|args| Args { store: store.into(), ..args }).unwrap();
            let error = run(args).unwrap_err();
            assert!(error.is_usage() && !error.to_string().contains("planted"), "{error}");
        }
        assert_eq!(refused(&[]), "--store: the store cannot be reached (--create makes what is not there)");
    }

    #[test]
    fn times_that_make_no_scheduler_are_refused() {
        assert_eq!(refused(&["--ttl", "0s"]), "ttl must be at least 1ms and at most 10^12 ms");
        assert_eq!(
            refused(&["--renew-every", "5s"]),
            "renew-every (5s) must be shorter than ttl (5s): raise ttl or lower renew-every"
        );
        parsed(&["--ttl", "soon"]).unwrap_err();
    }

    #[test]
    fn enqueueing_can_be_turned_off() {
        for off in ["none", "0", "0s"] {
            assert_eq!(parsed(&["--enqueue-every", off]).unwrap().enqueue_every, Duration::ZERO, "{off}");
        }
        assert_eq!(parsed(&[]).unwrap().enqueue_every, Duration::from_secs(1));
    }
}
