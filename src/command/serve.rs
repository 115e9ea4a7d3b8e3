//! `lease-exporter --config.file=FILE`: serves until it is told to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::Failure;
use super::exporter::Exporter;
use super::listener::{ListenArguments, cannot_listen};
use super::notify::Notify;
use super::reload::Reload;
use super::signals::{Signals, hangups};
use crate::log;
use crate::web::{self, Limits, Settings, Site};

/// How the exporter serves.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: what to read, and the limits of each lease. SIGHUP loads it again
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
    let (reload, observer) = Reload::first(arguments.config_file.as_deref())?;
    let exporter = Arc::new(Exporter::new(observer)?);
    let settings = Settings {
        telemetry_path: arguments.telemetry_path.clone(),
        max_requests: arguments.max_requests,
        ..Settings::default()
    };
    let (listener, notify) = (arguments.listen.listen()?, Notify::from_environment());
    block_on(async {
        // Before anybody can know that it is there: without this, the signal would end it.
        let hangups = hangups()?;
        let listener = TcpListener::from_std(listener).map_err(cannot_listen)?;
        info!(address = %listener.local_addr().map_err(cannot_listen)?, "listening");
        let (signals, stop) = (Signals::also(&[])?, CancellationToken::new());
        let serving = notify.of(serve(listener, Arc::clone(&exporter), settings, stop.clone()), &stop);
        let work = async {
            tokio::select! {
                () = serving => {}
                never = reload.at_each(hangups, &exporter, &notify) => match never {},
            }
        };
        // Whoever asks twice does not want to wait for requests under way.
        let _ = signals.end(stop.clone(), work).await;
        Ok(())
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

/// Serves what an exporter shows until shutdown.
pub(super) async fn serve(
    listener: TcpListener,
    exporter: Arc<Exporter>,
    settings: Settings,
    shutdown: CancellationToken,
) {
    web::serve(listener, Arc::new(Site::new(exporter, settings)), Limits::default(), shutdown).await;
}
