//! Reloading of the configuration while the exporter serves. A reload takes effect as a whole or not at all.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::exporter::Exporter;
use super::exposed_secrets::ExposedSecret;
use super::notify::ServiceManager;
use super::{Failure, sources};
use crate::config::{Config, Source};
use crate::lease::TokenKey;
use crate::log;
use crate::observer::{Continuity, Observer, SourceSetup};
use crate::web::config::{Protection, WebConfig, WebConfigWatcher};
use crate::web::{ReloadRequest, ReloadResult};

/// Reloads the configuration from its file.
#[derive(Debug)]
pub(super) struct ConfigReloader {
    file: PathBuf,
    /// The key for configurations without one. It stays the same while the process runs.
    process_key: TokenKey,
    current: ActiveConfig,
    source_setup: fn(&Source, &TokenKey) -> SourceSetup,
    /// The exposed secrets that have been logged.
    reported: BTreeSet<ExposedSecret>,
    /// The web configuration, if there is one. It reloads itself; a reload only reports whether it is up to date.
    pub(super) web: Option<Arc<WebConfigWatcher>>,
}

/// The parts of the active configuration that the next one is compared with.
#[derive(Clone, Debug)]
struct ActiveConfig {
    key: TokenKey,
    sources: Arc<[Source]>,
}

/// A configuration that is ready to be activated.
struct LoadedConfig {
    config: ActiveConfig,
    /// The names of the sources that are read anew, if there are any.
    read_anew: Option<String>,
    observer: Observer,
}

/// The time limit for reading the configuration.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);

impl ConfigReloader {
    /// Reads and checks the configuration for the first time.
    pub(super) fn load(file: Option<&Path>) -> Result<(Self, Observer), Failure> {
        let file = sources::required(file)?;
        let config = sources::load_config(file)?;
        if config.token_key.is_none() {
            info!(
                "no token_key_file is set: the tokens of holders are of this process alone and change when it restarts"
            );
        }
        let process_key = sources::random_key()?;
        let key = config.token_key.clone().unwrap_or_else(|| process_key.clone());
        let observer = sources::observer(&config, &key);
        let mut reported = BTreeSet::new();
        report(ExposedSecret::of(&config), &mut reported);
        let (file, source_setup) = (file.to_owned(), sources::source_setup);
        let current = ActiveConfig { key, sources: config.sources.into() };
        Ok((Self { file, process_key, current, source_setup, reported, web: None }, observer))
    }

    /// The protection that the server requires of clients.
    pub(super) fn protection(&self) -> Protection {
        self.web.as_ref().map_or_else(|| WebConfig::default().protection(), |web| web.last().protection())
    }

    /// Reloads the configuration at each SIGHUP and each request of a client, one at a time.
    pub(super) async fn run(
        mut self,
        mut hangups: Signal,
        mut requests: Receiver<ReloadRequest>,
        exporter: &Exporter,
        manager: &ServiceManager,
    ) -> Infallible {
        loop {
            let request = tokio::select! {
                _ = hangups.recv() => None,
                Some(request) = requests.recv() => Some(request),
            };
            manager.notify("RELOADING=1");
            let reloaded = self.reload(exporter).await;
            manager.notify("READY=1");
            if let Some(request) = request {
                let _ = request.send(reloaded);
            }
        }
    }

    /// Reloads the configuration and checks the web configuration.
    async fn reload(&mut self, exporter: &Exporter) -> ReloadResult {
        let reloaded = self.reload_config(exporter).await;
        match &self.web {
            Some(web) if !web.is_up_to_date().await && reloaded == ReloadResult::Applied => {
                ReloadResult::WebConfigRejected
            }
            _ => reloaded,
        }
    }

    /// Reloads the configuration. A configuration with errors only changes the metrics of the reload.
    async fn reload_config(&mut self, exporter: &Exporter) -> ReloadResult {
        match self.load_next(exporter.observer()).await {
            Ok(LoadedConfig { config, read_anew, observer }) => {
                exporter.replace(observer);
                let sources = config.sources.len();
                info!(target: log::OPERATION, sources, read_anew, "the configuration was loaded again");
                self.current = config;
                exporter.self_metrics.config.succeeded();
                ReloadResult::Applied
            }
            Err(failure) => {
                exporter.self_metrics.config.failed();
                error!(target: log::OPERATION, error = %failure, "the configuration cannot be used: the one before stays");
                ReloadResult::Rejected
            }
        }
    }

    /// Reads and checks the configuration, and prepares its observer.
    async fn load_next(&mut self, observer: Observer) -> Result<LoadedConfig, Failure> {
        let (config, exposed_secrets) = self.read().await?;
        report(exposed_secrets, &mut self.reported);
        let key = config.token_key.clone().unwrap_or_else(|| self.process_key.clone());
        let prepared = prepare(config, key, self.current.clone(), self.source_setup, observer);
        // In a separate task, so that a panic ends this reload and not the exporter.
        let prepared = tokio::spawn(prepared).await;
        prepared.map_err(|_| Failure::System("applying the configuration ended unexpectedly".to_owned()))?
    }

    async fn read(&self) -> Result<(Config, BTreeSet<ExposedSecret>), Failure> {
        let file = self.file.clone();
        // On a blocking thread, because the file system may be slow.
        let loading = tokio::task::spawn_blocking(move || {
            let config = sources::load_config(&file)?;
            let exposed_secrets = ExposedSecret::of(&config);
            Ok((config, exposed_secrets))
        });
        // With a time limit, because the next reload waits for this one.
        match timeout(LOAD_TIMEOUT, loading).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => Err(Failure::System("reading the configuration ended unexpectedly".to_owned())),
            Err(_) => Err(Failure::System(
                "reading the configuration takes too long; check whether its file system responds".to_owned(),
            )),
        }
    }
}

/// Logs each exposed secret once.
fn report(exposed: BTreeSet<ExposedSecret>, reported: &mut BTreeSet<ExposedSecret>) {
    for secret in exposed.difference(reported) {
        warn!(target: log::OPERATION, warning = %secret, "a secret is open to more users than need it");
    }
    reported.extend(exposed);
}

/// Prepares an observer for a configuration. Sources whose settings are unchanged keep their state.
async fn prepare(
    config: Config,
    key: TokenKey,
    previous: ActiveConfig,
    source_setup: fn(&Source, &TokenKey) -> SourceSetup,
    observer: Observer,
) -> Result<LoadedConfig, Failure> {
    let continuity = |source: &Source| match previous.sources.iter().find(|other| other.name == source.name) {
        Some(namesake) if namesake.is_read_like(source) && key == previous.key => Continuity::Continue,
        _ => Continuity::Restart,
    };
    let sources: Vec<_> =
        config.sources.iter().map(|source| (source_setup(source, &key), continuity(source))).collect();
    let read_anew = sources.iter().filter(|(_, continuity)| *continuity == Continuity::Restart);
    let read_anew = read_anew.map(|(source, _)| &*source.name).collect::<Vec<_>>();
    let read_anew = (!read_anew.is_empty()).then(|| read_anew.join(","));
    let observer = observer.reconfigure(sources::exposition(&config), sources).await;
    let observer = observer.map_err(|overrun| Failure::System(overrun.to_string()))?;
    Ok(LoadedConfig { config: ActiveConfig { key, sources: config.sources.into() }, read_anew, observer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panicking(_: &Source, _: &TokenKey) -> SourceSetup {
        panic!("a bug in the setup of a source")
    }

    fn reload_metric(exporter: &Exporter) -> String {
        let text = exporter.self_metrics.text(crate::expose::Format::Text);
        let line = text.lines().find(|line| line.starts_with("lease_exporter_config_last_reload_successful "));
        line.unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_panic_ends_a_reload_and_keeps_the_active_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("exporter.yml");
        let source = |name: &str| format!("sources: [{{name: {name}, store: 'sqlite://own.db', preset: reference}}]\n");
        std::fs::write(&file, source("before")).unwrap();
        let (mut reloader, observer) = ConfigReloader::load(Some(&file)).unwrap();
        let exporter = Exporter::new(observer).unwrap();
        std::fs::write(&file, source("after")).unwrap();
        let working = std::mem::replace(&mut reloader.source_setup, panicking);
        let names = |reloader: &ConfigReloader, exporter: &Exporter| {
            let named = |name: &str| crate::observer::SourceSelection::Named(vec![name.to_owned()]);
            let observed = |name: &str| exporter.observer().select(&named(name)).is_ok();
            (reloader.current.sources[0].name.to_string(), observed("before"), observed("after"))
        };
        assert_eq!(reloader.reload_config(&exporter).await, ReloadResult::Rejected);
        assert_eq!(names(&reloader, &exporter), ("before".to_owned(), true, false));
        assert_eq!(reload_metric(&exporter), "lease_exporter_config_last_reload_successful 0");
        reloader.source_setup = working;
        assert_eq!(reloader.reload_config(&exporter).await, ReloadResult::Applied);
        assert_eq!(names(&reloader, &exporter), ("after".to_owned(), false, true));
        assert_eq!(reload_metric(&exporter), "lease_exporter_config_last_reload_successful 1");
    }
}
