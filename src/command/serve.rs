//! `lease-exporter --config.file=FILE`: serves until it is told to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::listener::{ListenArguments, cannot_listen};
use super::notify::Notify;
use super::signals::Signals;
use super::{Failure, sources};
use crate::log;
use crate::observer::{Observed, Observer};
use crate::own::Own;
use crate::web::{self, Content, Limits, Settings, Site};

/// How the exporter serves.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: what to read, and the limits of each lease
    #[arg(long = "config.file", value_name = "FILE", env = "LEASE_EXPORTER_CONFIG_FILE")]
    config_file: Option<PathBuf>,

    #[command(flatten)]
    listen: ListenArguments,

    /// The path of the metrics
    #[arg(long = "web.telemetry-path", value_name = "PATH", default_value = "/metrics", value_parser = path)]
    telemetry_path: String,

    /// How many requests may look at sources at once; more are refused; 0 for no limit
    #[arg(long = "web.max-requests", value_name = "NUMBER", default_value_t = 40)]
    max_requests: usize,

    #[command(flatten)]
    log: LogArguments,
}

/// How the exporter logs.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LogArguments {
    /// Log nothing below this
    #[arg(long = "log.level", value_name = "LEVEL", value_enum, default_value_t)]
    level: log::Level,

    /// The form of a log line
    #[arg(long = "log.format", value_name = "FORMAT", value_enum, default_value_t)]
    format: log::Format,
}

impl LogArguments {
    pub(super) fn start(self) {
        log::start(self.level, self.format);
    }
}

fn path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') || text.len() == 1 || text.contains(['?', '#', ' ']) {
        return Err("a path starts with `/` and names something, like `/metrics`".to_owned());
    }
    if web::is_taken(text) {
        return Err("the exporter serves something else there; choose another path, like `/metrics`".to_owned());
    }
    Ok(text.to_owned())
}

/// Serves until SIGTERM or SIGINT.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.log.start();
    let config = sources::configuration(arguments.config_file.as_deref())?;
    if config.token_key.is_none() {
        info!("no token_key_file is set: the tokens of holders are of this process alone and change when it restarts");
    }
    let observer = sources::observer(config)?;
    let settings = Settings {
        telemetry_path: arguments.telemetry_path.clone(),
        max_requests: arguments.max_requests,
        ..Settings::default()
    };
    let (listener, notify) = (arguments.listen.listen()?, Notify::from_environment());
    block_on(async {
        let listener = TcpListener::from_std(listener).map_err(cannot_listen)?;
        info!(address = %listener.local_addr().map_err(cannot_listen)?, "listening");
        let (signals, stop) = (Signals::also(&[])?, CancellationToken::new());
        let serving = notify.of(serve(listener, observer, settings, stop.clone()), &stop);
        // Whoever asks twice does not want to wait for requests under way.
        signals.end(stop.clone(), serving).await.unwrap_or(Ok(()))
    })?
}

/// Two threads that answer; reading and rendering have theirs beside them.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::from_secs(60))
        .enable_all()
        .build()
        .map_err(|error| Failure::System(format!("cannot start: {error}")))
}

/// Runs a command to its end. A read still under way then is not waited for: it changes nothing, and may be stuck in
/// the file system.
pub(super) fn block_on<T>(command: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    Ok(done)
}

/// Serves an observer's looks until shutdown.
pub(super) async fn serve(
    listener: TcpListener,
    observer: Observer,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let own = Own::new().map_err(|error| Failure::System(format!("cannot count: {error}")))?;
    let site = Arc::new(Site::new(Arc::new(Exporter { observer, own }), settings));
    web::serve(listener, site, Limits::default(), shutdown).await;
    Ok(())
}

/// What the exporter shows: its sources, and itself.
#[derive(Debug)]
struct Exporter {
    observer: Observer,
    own: Own,
}

impl Content for Exporter {
    async fn metrics(&self, deadline: Instant) -> Vec<Bytes> {
        let observed = self.observer.observe(deadline).await;
        let rendered: Vec<_> = observed.iter().map(|observed| &observed.text).collect();
        let mut chunks = self.observer.exposition().joined(&rendered);
        chunks.push(self.own.text().into());
        chunks
    }

    async fn snapshots(&self, deadline: Instant) -> Vec<Arc<Observed>> {
        self.observer.observe(deadline).await
    }
}
