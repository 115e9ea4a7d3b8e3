//! The configuration loaded again while the exporter serves: all of it takes effect, or none.

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
use super::notify::Notify;
use super::{Failure, sources};
use crate::config::{Config, Source};
use crate::lease::TokenKey;
use crate::log;
use crate::observer::{Continuity, Observer, SourceSetup};
use crate::web::config::{Protection, Watched, WebConfig};
use crate::web::{Asked, Reloaded};

/// The configuration, loaded again and again from where it came from.
#[derive(Debug)]
pub(super) struct Reload {
    file: PathBuf,
    /// For a configuration that has no key: the tokens of one process stay the same.
    process_key: TokenKey,
    now: Followed,
    observable: fn(&Source, &TokenKey) -> SourceSetup,
    /// The exposed secrets that the log has told.
    reported: BTreeSet<ExposedSecret>,
    /// The web configuration, if there is one. It is taken as it changes; here it is asked whether it was.
    web: Option<Arc<Watched>>,
}

/// What the exporter goes by.
#[derive(Clone, Debug)]
struct Followed {
    key: TokenKey,
    sources: Arc<[Source]>,
}

/// What the exporter is to go by from now on, and who observes then.
struct Next {
    followed: Followed,
    /// The sources that begin anew, if any does.
    anew: Option<String>,
    observer: Observer,
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
        let mut reported = BTreeSet::new();
        report(ExposedSecret::of(&config), &mut reported);
        let (file, observable) = (file.to_owned(), sources::observable);
        let now = Followed { key, sources: config.sources.into() };
        Ok((Self { file, process_key, now, observable, reported, web: None }, observer))
    }

    /// The same, beside a web configuration.
    pub(super) fn beside(self, web: Arc<Watched>) -> Self {
        Self { web: Some(web), ..self }
    }

    /// What is asked of whoever comes.
    pub(super) fn protection(&self) -> Protection {
        self.web.as_ref().map_or_else(|| WebConfig::default().protection(), |web| web.held().protection())
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
            let reloaded = self.both(exporter).await;
            notify.ready();
            if let Some(asked) = asked {
                asked.tell(reloaded);
            }
        }
    }

    /// Loads the configuration again, and looks at the web configuration.
    async fn both(&mut self, exporter: &Exporter) -> Reloaded {
        let reloaded = self.once(exporter).await;
        match &self.web {
            Some(web) if !web.is_up_to_date().await && reloaded == Reloaded::ReadOutput => Reloaded::WebRefused,
            _ => reloaded,
        }
    }

    /// Loads the configuration again. One that cannot be used changes nothing but what is said of it.
    async fn once(&mut self, exporter: &Exporter) -> Reloaded {
        match self.next(exporter.observer()).await {
            Ok(Next { followed, anew, observer }) => {
                exporter.replace(observer);
                let sources = followed.sources.len();
                info!(target: log::ACT, sources, read_anew = anew, "the configuration was loaded again");
                self.now = followed;
                exporter.own().config().succeeded();
                Reloaded::ReadOutput
            }
            Err(failure) => {
                exporter.own().config().failed();
                error!(target: log::ACT, error = %failure, "the configuration cannot be used: the one before stays");
                Reloaded::Refused
            }
        }
    }

    /// What is loaded now.
    async fn next(&mut self, observer: Observer) -> Result<Next, Failure> {
        let (config, exposed_secrets) = self.load().await?;
        report(exposed_secrets, &mut self.reported);
        let key = config.token_key.clone().unwrap_or_else(|| self.process_key.clone());
        let following = follow(config, key, self.now.clone(), self.observable, observer);
        // On a task of its own: a panic ends this reload, and not the exporter.
        let followed = tokio::spawn(following).await;
        followed.map_err(|_| Failure::System("going by the configuration ended unexpectedly".to_owned()))?
    }

    async fn load(&self) -> Result<(Config, BTreeSet<ExposedSecret>), Failure> {
        let file = self.file.clone();
        // A file system may be slow, and requests must not wait for it.
        let loading = tokio::task::spawn_blocking(move || {
            let config = sources::configuration(&file)?;
            let exposed_secrets = ExposedSecret::of(&config);
            Ok((config, exposed_secrets))
        });
        // Nor must the next reload.
        match timeout(LONGEST_LOAD, loading).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => Err(Failure::System("reading the configuration ended unexpectedly".to_owned())),
            Err(_) => Err(Failure::System(
                "reading the configuration takes too long; look whether its file system answers".to_owned(),
            )),
        }
    }
}

/// Has the log tell of exposed secrets, of each once.
fn report(exposed: BTreeSet<ExposedSecret>, reported: &mut BTreeSet<ExposedSecret>) {
    for secret in exposed.difference(reported) {
        warn!(target: log::ACT, warning = %secret, "a secret is open to more users than need it");
    }
    reported.extend(exposed);
}

/// Has a configuration followed by another. What is read as before goes on.
async fn follow(
    config: Config,
    key: TokenKey,
    before: Followed,
    observable: fn(&Source, &TokenKey) -> SourceSetup,
    observer: Observer,
) -> Result<Next, Failure> {
    let beginning = |source: &Source| match before.sources.iter().find(|other| other.name == source.name) {
        Some(namesake) if namesake.is_read_like(source) && key == before.key => Continuity::Continued,
        _ => Continuity::Anew,
    };
    let sources: Vec<_> = config.sources.iter().map(|source| (observable(source, &key), beginning(source))).collect();
    let anew = sources.iter().filter(|(_, beginning)| *beginning == Continuity::Anew);
    let anew = anew.map(|(source, _)| &*source.name).collect::<Vec<_>>();
    let anew = (!anew.is_empty()).then(|| anew.join(","));
    let observer = observer.followed_by(sources::exposition(&config), sources).await;
    let observer = observer.map_err(|still| Failure::System(still.to_string()))?;
    Ok(Next { followed: Followed { key, sources: config.sources.into() }, anew, observer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panicking(_: &Source, _: &TokenKey) -> SourceSetup {
        panic!("as asked for")
    }

    fn told(exporter: &Exporter) -> String {
        let text = exporter.own().text(crate::expose::Format::Text);
        let line = text.lines().find(|line| line.starts_with("lease_exporter_config_last_reload_successful "));
        line.unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_panic_ends_a_reload_and_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("exporter.yml");
        let source = |name: &str| format!("sources: [{{name: {name}, store: 'sqlite://own.db', preset: reference}}]\n");
        std::fs::write(&file, source("before")).unwrap();
        let (mut reload, observer) = Reload::first(Some(&file)).unwrap();
        let exporter = Exporter::new(observer).unwrap();
        std::fs::write(&file, source("after")).unwrap();
        let sound = std::mem::replace(&mut reload.observable, panicking);
        let names = |reload: &Reload, exporter: &Exporter| {
            let named = |name: &str| crate::observer::SourceSelection::Named(vec![name.to_owned()]);
            let observed = |name: &str| exporter.observer().chosen(&named(name)).is_ok();
            (reload.now.sources[0].name.to_string(), observed("before"), observed("after"))
        };
        assert_eq!(reload.once(&exporter).await, Reloaded::Refused);
        assert_eq!(names(&reload, &exporter), ("before".to_owned(), true, false));
        assert_eq!(told(&exporter), "lease_exporter_config_last_reload_successful 0");
        reload.observable = sound;
        assert_eq!(reload.once(&exporter).await, Reloaded::ReadOutput);
        assert_eq!(names(&reload, &exporter), ("after".to_owned(), false, true));
        assert_eq!(told(&exporter), "lease_exporter_config_last_reload_successful 1");
    }
}
