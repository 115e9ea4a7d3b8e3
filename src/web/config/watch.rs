//! The file as it is now: changes of it and of the certificates that it names are picked up while the exporter serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info};

use super::material::{Material, Seen};
use super::{WebConfig, WebConfigError};
use crate::clock;
use crate::own::Loads;

/// How long a look at the files is good for: many requests at once cost one.
const FRESH: Duration = Duration::from_millis(100);
/// How long a look may keep requests waiting, all of them together: once it has taken that long, the file system hangs,
/// and whoever comes goes by what held until then, at once.
const PATIENCE: Duration = Duration::from_millis(250);

/// A file that is looked at again whenever somebody connects or asks.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    told: Option<Loads>,
    state: Mutex<State>,
    /// Tells of each look that ended.
    ended: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    /// The last that could be used.
    config: Arc<WebConfig>,
    /// What was last read, whether or not it could be used.
    seen: Seen,
    /// When the last look that ended began; `None` where there was none that counts.
    looked: Option<Duration>,
    /// When the one look began that there is at a time.
    looking: Option<Duration>,
}

impl Watched {
    /// Reads and checks the file for the first time.
    ///
    /// # Errors
    /// As of [`WebConfig::load`].
    pub fn first(path: &Path) -> Result<Self, WebConfigError> {
        let mut material = Material::default();
        let config = Arc::new(WebConfig::read(path, &mut material)?);
        let state = State { config, seen: material.seen(), looked: Some(clock::monotonic()), looking: None };
        Ok(Self { path: path.to_owned(), told: None, state: Mutex::new(state), ended: watch::Sender::new(()) })
    }

    /// The same, which tells what comes of each time that it is loaded again.
    #[must_use]
    pub fn telling(self, loads: Loads) -> Self {
        Self { told: Some(loads), ..self }
    }

    /// What holds now.
    pub(in crate::web) async fn now(self: &Arc<Self>) -> Arc<WebConfig> {
        self.now_by(Self::look).await
    }

    async fn now_by(self: &Arc<Self>, look: impl FnOnce(&Self) + Send + 'static) -> Arc<WebConfig> {
        let mut ended = self.ended.subscribe();
        if let Some(began) = self.looking_since(look) {
            let left = (began + PATIENCE).saturating_sub(clock::monotonic());
            if !left.is_zero() {
                let _ = timeout(left, ended.changed()).await;
            }
        }
        Arc::clone(&self.state().config)
    }

    /// When the look began that is under way, by this if there is none. Nothing, if the last one is still good.
    fn looking_since(self: &Arc<Self>, look: impl FnOnce(&Self) + Send + 'static) -> Option<Duration> {
        let now = clock::monotonic();
        let mut state = self.state();
        if state.looking.is_none() {
            if state.looked.is_some_and(|looked| now.saturating_sub(looked) < FRESH) {
                return None;
            }
            state.looking = Some(now);
            let looking = Looking(Arc::clone(self));
            tokio::task::spawn_blocking(move || look(&looking.0));
        }
        state.looking
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change to it is a single assignment, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files, and takes what they say if they say something else that can be used.
    fn look(&self) {
        let seen = self.state().seen.clone();
        if seen.is_unchanged() {
            return;
        }
        let mut material = Material::default();
        let config = WebConfig::read(&self.path, &mut material);
        let now = material.seen();
        if !now.is_same_as(&seen) {
            self.take(config);
        }
        self.state().seen = now;
    }

    fn take(&self, config: Result<WebConfig, WebConfigError>) {
        match config {
            Ok(config) => {
                self.state().config = Arc::new(config);
                self.told.iter().for_each(Loads::succeeded);
                info!("the web configuration was loaded again");
            }
            Err(error) => {
                self.told.iter().for_each(Loads::failed);
                error!(%error, "the web configuration cannot be used: the one before stays");
            }
        }
    }
}

/// A look under way. However it ends, a panic included, the next can begin after it.
struct Looking(Arc<Watched>);

impl Drop for Looking {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.looked = state.looking.take();
        drop(state);
        self.0.ended.send_replace(());
    }
}

#[cfg(test)]
#[path = "watch/tests.rs"]
mod tests;
