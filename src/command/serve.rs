//! `lease-exporter --config.file=FILE`: serves until a signal ends it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::SignalKind;
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::exporter::Exporter;
use super::listener::ListenArguments;
use super::manual::{Manual, NO_COLOR};
use super::notify::ServiceManager;
use super::reload::ConfigReloader;
use super::signals::{self, Signals};
use super::{Failure, sources};
use crate::web::config::{Protection, WebConfigWatcher};
use crate::web::{self, Authenticator, Limits, Listener, Reloader, Router, Settings};
use crate::{log, panics};

/// The environment variable of the configuration's path.
pub(super) const CONFIG_FILE: (&str, &str) =
    ("LEASE_EXPORTER_CONFIG_FILE", "the configuration, unless --config.file names one");

pub(super) const MANUAL: Manual = Manual {
    examples: &[
        ("lease-exporter demo", "see it at work, without any configuration"),
        ("lease-exporter check --config.file=exporter.yml --connect", "check the configuration, and read each source"),
        ("lease-exporter --config.file=exporter.yml", "serve on port 10987, until SIGTERM or SIGINT"),
    ],
    environment: &[
        CONFIG_FILE,
        ("LISTEN_FDS, LISTEN_PID", "the sockets that systemd passes, with --web.systemd-socket"),
        ("NOTIFY_SOCKET", "the socket for notifications to systemd: ready, reloading, stopping"),
        ("SSL_CERT_FILE, SSL_CERT_DIR", "certificate authorities for stores, in place of the system's"),
        NO_COLOR,
    ],
    // The exit codes of all commands.
    exits: &[
        (Exit::Ok, "success, or a signal ended it"),
        (Exit::Unhealthy, "status: a lease is stalled or has no leader; demo --once: an expected state was not shown"),
        (Exit::Unknown, "status, check: a lease is unknown, or a source could not be read in full"),
        (Exit::Abandoned, "demo: a second signal ended it before everything was removed"),
    ],
};

/// Options of the exporter.
#[derive(Clone, Debug, Args)]
pub(super) struct Arguments {
    /// The configuration: the sources to read, and the limits of each lease; SIGHUP reloads it
    #[arg(long = "config.file", value_name = "FILE", env = CONFIG_FILE.0, value_parser = sources::file(), value_hint = clap::ValueHint::FilePath)]
    config_file: Option<PathBuf>,

    #[command(flatten)]
    listen: ListenArguments,

    /// TLS, users and headers, in the file format of all Prometheus exporters; changes are picked up
    #[arg(
        long = "web.config.file",
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        value_parser = sources::file()
    )]
    web_config_file: Option<PathBuf>,

    /// The path to serve the metrics under
    #[arg(long = "web.telemetry-path", value_name = "PATH", default_value = "/metrics", value_parser = parse_path)]
    telemetry_path: String,

    /// The maximum number of concurrent requests that read sources; more are refused; 0 for no limit
    #[arg(long = "web.max-requests", value_name = "NUMBER", default_value = "40", value_parser = parse_max_requests)]
    max_requests: usize,

    /// Let a POST to /-/reload reload the configuration, as SIGHUP does
    #[arg(long = "web.enable-lifecycle")]
    lifecycle: bool,

    /// Serve /leases/SOURCE/LEASE/live for probes of Kubernetes: it fails while the lease is stalled
    ///
    /// A probe must authenticate as --web.config.file requires: it can send a password in its httpHeaders, but cannot present
    /// a client certificate. The rate limit does not apply to probes.
    #[arg(long = "web.enable-probes")]
    probes: bool,

    #[command(flatten)]
    log: LogArguments,
}

/// Options of the log.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LogArguments {
    /// Log messages of this level and above
    #[arg(long = "log.level", value_name = "LEVEL", value_enum, default_value_t)]
    level: log::Level,

    /// The format of the log, which goes to standard error
    #[arg(long = "log.format", value_name = "FORMAT", value_enum, default_value_t)]
    format: log::Format,
}

impl LogArguments {
    pub(super) fn start(self) {
        log::start(self.level, self.format);
    }
}

fn parse_max_requests(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a whole number, like `40`, or `0` for no limit".to_owned())
}

fn parse_path(text: &str) -> Result<String, String> {
    let Some(names) = text.strip_prefix('/').filter(|names| !names.is_empty()) else {
        return Err("a path starts with `/` and names something, like `/metrics`".to_owned());
    };
    // Characters that browsers and proxies do not escape, also in a relative link.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~".contains(letter);
    if names.split('/').any(|name| matches!(name, "" | "." | "..") || !name.chars().all(plain)) {
        return Err("a path has letters, digits and `-._~` after each `/`, like `/metrics`".to_owned());
    }
    if web::is_taken(text) {
        return Err("the exporter serves something else there; choose another path, like `/metrics`".to_owned());
    }
    Ok(text.to_owned())
}

/// Serves until SIGTERM or SIGINT. A failure is logged, because a service has no terminal.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    // A missing option is reported on the terminal, like other errors of the command line.
    sources::required(arguments.config_file.as_deref())?;
    arguments.log.start();
    let Err(failure) = serve_until_signalled(arguments) else { return Ok(Exit::Ok) };
    for error in failure.to_string().lines() {
        tracing::error!(target: log::OPERATION, error, "the exporter cannot serve");
    }
    Ok(failure.exit())
}

fn serve_until_signalled(arguments: &Arguments) -> Result<(), Failure> {
    let (mut reloader, observer) = ConfigReloader::load(arguments.config_file.as_deref())?;
    let exporter = Arc::new(Exporter::new(observer)?);
    panics::report_and_count(exporter.self_metrics.panics.clone());
    let settings = Settings {
        telemetry_path: arguments.telemetry_path.clone(),
        max_requests: arguments.max_requests,
        probes: arguments.probes,
        ..Settings::default()
    };
    let (trigger, requests) = Reloader::new();
    let mut router = Router::new(Arc::clone(&exporter), settings);
    if arguments.lifecycle {
        router = router.with_reloader(trigger.clone());
    }
    let authenticator = match sources::non_empty(arguments.web_config_file.as_deref()) {
        None => Authenticator::unrestricted(router),
        Some(file) => {
            let web = load_web_config(file, &exporter)?;
            reloader.web = Some(Arc::clone(&web));
            Authenticator::watching(router, web, sources::random_bytes()?)
        }
    };
    log_protection(reloader.protection());
    let (sockets, manager) = (arguments.listen.listen()?, ServiceManager::from_environment());
    block_on(async {
        // Before the sockets accept connections: until signals are registered, SIGHUP would end the process.
        let hangups = signals::stream(SignalKind::hangup())?;
        let (signals, stop) = (Signals::with(&[])?, CancellationToken::new());
        let (listeners, _files) = sockets.accepting()?;
        let server = web::serve(listeners, Arc::new(authenticator), Limits::default(), stop.clone());
        let command = async {
            tokio::select! {
                () = manager.run(server, &stop) => {}
                never = reloader.run(hangups, requests, &exporter, &manager) => match never {},
            }
        };
        // After a second signal, requests in progress are abandoned.
        let _ = signals.run(stop.clone(), command).await;
        Ok::<_, Failure>(())
    })??;
    // Flushes suppressed lines, so that the next one is the last.
    log::finish();
    tracing::info!(target: log::OPERATION, "stopped");
    Ok(())
}

/// Logs which protection the server requires of clients.
fn log_protection(Protection { tls, client_certificates, users }: Protection) {
    let switch = |on| if on { "on" } else { "off" };
    let (tls, client_certificates) = (switch(tls), switch(client_certificates));
    tracing::info!(tls, client_certificates, users, "protection of the web interface");
}

/// Loads the web configuration for the first time.
fn load_web_config(file: &Path, exporter: &Exporter) -> Result<Arc<WebConfigWatcher>, Failure> {
    let web = WebConfigWatcher::new(file).map_err(|error| Failure::Configuration(error.to_string()))?;
    let metrics = exporter.self_metrics.web_config();
    let metrics = metrics.map_err(|error| Failure::System(format!("cannot create metrics: {error}")))?;
    web.last().log_warnings();
    Ok(Arc::new(web.with_metrics(metrics)))
}

/// Runs a command on a runtime whose two threads serve requests; files are read and metrics rendered on blocking threads.
/// Reads in progress at the end are abandoned: they have no effect, and may be stuck in the file system.
pub(super) fn block_on<T>(command: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::from_secs(60))
        .enable_all()
        .build()
        .map_err(|error| Failure::System(format!("cannot start: {error}")))?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    Ok(done)
}

/// Serves an exporter without authentication until shutdown.
pub(super) async fn serve(
    listener: Listener,
    exporter: Arc<Exporter>,
    settings: Settings,
    shutdown: CancellationToken,
) {
    let authenticator = Authenticator::unrestricted(Router::new(exporter, settings));
    web::serve(vec![listener], Arc::new(authenticator), Limits::default(), shutdown).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_requests_is_a_whole_number() {
        assert_eq!((parse_max_requests("0"), parse_max_requests("40")), (Ok(0), Ok(40)));
        for wrong in ["", "-1", "4.5", "many", "99999999999999999999"] {
            assert!(parse_max_requests(wrong).is_err_and(|message| message.contains("whole number")), "{wrong}");
        }
    }

    #[test]
    fn the_metrics_path_is_unambiguous_and_not_otherwise_used() {
        for sound in ["/metrics", "/a/b-c_d.e~f", "/-/metrics", "/leases"] {
            assert_eq!(parse_path(sound).as_deref(), Ok(sound));
        }
        let no_paths = ["", "/", "metrics", "//metrics", "/metrics/", "/a//b", "/./a", "/a/..", "/a b", "/a?b", "/a#b"];
        // A relative link to `/a:b` would name a scheme. Escaped and non-ASCII paths have more than one form.
        for wrong in
            no_paths.into_iter().chain(["/a:b", "/m%65trics", "/mé", "/lease", "/-/reload", "/leases/a/b/live"])
        {
            assert!(parse_path(wrong).is_err(), "{wrong}");
        }
    }
}
