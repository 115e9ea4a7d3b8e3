//! The configuration loaded again while the exporter serves: all of it takes effect, or none.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use tracing::{error, info};

use super::exporter::Exporter;
use super::notify::Notify;
use super::{Failure, sources};
use crate::config::{Config, Source};
use crate::lease::TokenKey;
use crate::log;
use crate::observer::{Beginning, Observer};
use crate::web::{Asked, Reloaded};

/// What the exporter goes by now, and where that came from.
#[derive(Debug)]
pub(super) struct Reload {
    file: PathBuf,
    /// For a configuration that has no key: the tokens of one process stay the same.
    process_key: TokenKey,
    key: TokenKey,
    sources: Vec<Source>,
}

/// How long reading the configuration may take.
const LONGEST_LOAD: Duration = Duration::from_secs(10);

impl Reload {
    /// Reads and checks the configuration for the first time.
    pub(super) fn first(file: Option<&Path>) -> Result<(Self, Observer), Failure> {
        let file = sources::named(file)?;
        let config = sources::configuration(file)?;
        if config.token_key.is_none() {
            info!(
                "no token_key_file is set: the tokens of holders are of this process alone and change when it restarts"
            );
        }
        let process_key = sources::random_key()?;
        let key = config.token_key.clone().unwrap_or_else(|| process_key.clone());
        let observer = sources::observer(&config, &key);
        Ok((Self { file: file.to_owned(), process_key, key, sources: config.sources }, observer))
    }

    /// Loads the configuration again at each signal, and each time that a client asks for it: one after the other.
    pub(super) async fn at_each(
        mut self,
        mut hangups: Signal,
        mut requests: Receiver<Asked>,
        exporter: &Exporter,
        notify: &Notify,
    ) -> Infallible {
        loop {
            let asked = tokio::select! {
                _ = hangups.recv() => None,
                Some(asked) = requests.recv() => Some(asked),
            };
            notify.reloading();
            let reloaded = self.once(exporter).await;
            notify.ready();
            if let Some(asked) = asked {
                asked.tell(reloaded);
            }
        }
    }

    /// Loads the configuration again. One that cannot be used changes nothing but what is said of it.
    async fn once(&mut self, exporter: &Exporter) -> Reloaded {
        match self.load().await {
            Ok(config) => {
                self.follow(config, exporter).await;
                exporter.own().loaded();
                Reloaded::Taken
            }
            Err(failure) => {
                exporter.own().not_loaded();
                error!(target: log::ACT, error = %failure, "the configuration cannot be used: the one before stays");
                Reloaded::Refused
            }
        }
    }

    async fn load(&self) -> Result<Config, Failure> {
        let file = self.file.clone();
        // A file system may be slow, and requests must not wait for it.
        let loading = tokio::task::spawn_blocking(move || sources::configuration(&file));
        // Nor must the next reload, if what is read never ends.
        match timeout(LONGEST_LOAD, loading).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => Err(Failure::System("reading the configuration ended unexpectedly".to_owned())),
            Err(_) => Err(Failure::System("reading the configuration takes too long; is it a file?".to_owned())),
        }
    }

    /// Goes by another configuration from now on.
    async fn follow(&mut self, config: Config, exporter: &Exporter) {
        let key = config.token_key.clone().unwrap_or_else(|| self.process_key.clone());
        let beginning = |source: &Source| match self.sources.iter().find(|before| before.name == source.name) {
            Some(before) if before.is_read_like(source) && key == self.key => Beginning::Continued,
            _ => Beginning::Anew,
        };
        let sources: Vec<_> =
            config.sources.iter().map(|source| (sources::observable(source, &key), beginning(source))).collect();
        let anew = sources.iter().filter(|(_, beginning)| *beginning == Beginning::Anew);
        let anew = anew.map(|(source, _)| &*source.name).collect::<Vec<_>>().join(",");
        exporter.replace(exporter.observer().followed_by(sources::exposition(&config), sources).await);
        (self.key, self.sources) = (key, config.sources);
        info!(target: log::ACT, sources = self.sources.len(), anew, "the configuration was loaded again");
    }
}
