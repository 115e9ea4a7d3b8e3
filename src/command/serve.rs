//! `lease-exporter --config.file=FILE`: serves until it is told to stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::exporter::Exporter;
use super::listener::ListenArguments;
use super::notify::Notify;
use super::reload::Reload;
use super::signals::{Signals, hangups};
use super::web_config::{self, WebConfigFile};
use super::{Failure, sources};
use crate::web::config::Watched;
use crate::web::{self, Gate, Limits, Listener, Reloader, Settings, Site};
use crate::{log, panics};

/// How the exporter serves.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: what to read, and the limits of each lease. SIGHUP loads it again
    #[arg(long = "config.file", value_name = "FILE", env = "LEASE_EXPORTER_CONFIG_FILE")]
    config_file: Option<PathBuf>,

    #[command(flatten)]
    listen: ListenArguments,

    /// TLS and who may ask, in the format of all Prometheus exporters; changes of it are picked up
    #[arg(long = "web.config.file", value_name = "FILE", value_parser = WebConfigFile::parse)]
    web_config_file: Option<WebConfigFile>,

    /// The path of the metrics
    #[arg(long = "web.telemetry-path", value_name = "PATH", default_value = "/metrics", value_parser = path)]
    telemetry_path: String,

    /// How many requests may look at sources at once; more are refused; 0 for no limit
    #[arg(long = "web.max-requests", value_name = "NUMBER", default_value = "40", value_parser = most_requests)]
    max_requests: usize,

    /// Let a POST to `/-/reload` load the configuration again, as SIGHUP does
    #[arg(long = "web.enable-lifecycle")]
    lifecycle: bool,

    /// Serve `/leases/SOURCE/LEASE/live`, which fails while the lease is stalled, for probes of Kubernetes. What
    /// --web.config.file asks for, a probe needs too: a password in its `httpHeaders`; a client certificate it cannot have
    #[arg(long = "web.enable-probes")]
    probes: bool,

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

fn most_requests(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a whole number, like `40`, or `0` for no limit".to_owned())
}

fn path(text: &str) -> Result<String, String> {
    let Some(names) = text.strip_prefix('/').filter(|names| !names.is_empty()) else {
        return Err("a path starts with `/` and names something, like `/metrics`".to_owned());
    };
    // What browsers and proxies leave as it is, alone and as a relative link.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~".contains(letter);
    if names.split('/').any(|name| matches!(name, "" | "." | "..") || !name.chars().all(plain)) {
        return Err("a path has letters, digits and `-._~` after each `/`, like `/metrics`".to_owned());
    }
    if web::is_taken(text) {
        return Err("the exporter serves something else there; choose another path, like `/metrics`".to_owned());
    }
    Ok(text.to_owned())
}

/// Serves until SIGTERM or SIGINT.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.log.start();
    let (mut reload, observer) = Reload::first(arguments.config_file.as_deref())?;
    let exporter = Arc::new(Exporter::new(observer)?);
    panics::count(exporter.own().panics());
    let settings = Settings {
        telemetry_path: arguments.telemetry_path.clone(),
        max_requests: arguments.max_requests,
        probes: arguments.probes,
        ..Settings::default()
    };
    let (reloader, requests) = Reloader::new();
    let mut site = Site::new(Arc::clone(&exporter), settings);
    if arguments.lifecycle {
        site = site.with_reloader(reloader.clone());
    }
    let gate = match WebConfigFile::path(arguments.web_config_file.as_ref()) {
        None => Gate::open(site),
        Some(file) => {
            let watched = watched(file, &exporter)?;
            reload = reload.beside(Arc::clone(&watched));
            Gate::watched(site, watched, sources::random_bytes()?)
        }
    };
    web_config::announce(reload.protection());
    let (sockets, notify) = (arguments.listen.listen()?, Notify::from_environment());
    block_on(async {
        // Before anybody can know that it is there: without this, a signal would end it there and then.
        let (hangups, signals, stop) = (hangups()?, Signals::also(&[])?, CancellationToken::new());
        let (listeners, _files) = sockets.accepting()?;
        let serving = notify.of(web::serve(listeners, Arc::new(gate), Limits::default(), stop.clone()), &stop);
        let work = async {
            tokio::select! {
                () = serving => {}
                never = reload.at_each(hangups, requests, &exporter, &notify) => match never {},
            }
        };
        // Whoever asks twice does not want to wait for requests under way.
        let _ = signals.end(stop.clone(), work).await;
        Ok(())
    })?
}

/// The web configuration, loaded for the first time.
fn watched(file: &Path, exporter: &Exporter) -> Result<Arc<Watched>, Failure> {
    let watched = Watched::first(file).map_err(|error| Failure::Configuration(error.to_string()))?;
    let loads = exporter.own().web_config().map_err(|error| Failure::System(format!("cannot count: {error}")))?;
    watched.held().warn();
    Ok(Arc::new(watched.telling(loads)))
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

/// Serves what an exporter shows until shutdown, to anybody.
pub(super) async fn serve(
    listener: impl Into<Listener>,
    exporter: Arc<Exporter>,
    settings: Settings,
    shutdown: CancellationToken,
) {
    let gate = Gate::open(Site::new(exporter, settings));
    web::serve(vec![listener.into()], Arc::new(gate), Limits::default(), shutdown).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_requests_is_a_number_and_what_is_none_is_told() {
        assert_eq!((most_requests("0"), most_requests("40")), (Ok(0), Ok(40)));
        for wrong in ["", "-1", "4.5", "many", "99999999999999999999"] {
            assert!(most_requests(wrong).is_err_and(|told| told.contains("whole number")), "{wrong}");
        }
    }

    #[test]
    fn the_metrics_are_where_every_client_finds_them_and_nothing_else_is() {
        for sound in ["/metrics", "/a/b-c_d.e~f", "/-/metrics", "/leases"] {
            assert_eq!(path(sound).as_deref(), Ok(sound));
        }
        let no_paths = ["", "/", "metrics", "//metrics", "/metrics/", "/a//b", "/./a", "/a/..", "/a b", "/a?b", "/a#b"];
        // A relative link to `/a:b` would name a scheme; what is not ASCII, or escaped, comes in more than one form.
        for wrong in
            no_paths.into_iter().chain(["/a:b", "/m%65trics", "/mé", "/lease", "/-/reload", "/leases/a/b/live"])
        {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }
}
