//! The file as it is now: changes of it and of the certificates that it names are picked up while the exporter serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info};

use super::material::{Material, Seen};
use super::{NotAfter, WebConfig, WebConfigError};
use crate::self_metrics::WebConfigMetrics;
use crate::{clock, log};

/// How long a look at the files is good for: many requests at once cost one.
const FRESH: Duration = Duration::from_millis(100);
/// How long a look may keep requests waiting, all of them together: once it has taken that long, the file system hangs,
/// and whoever comes goes by what held until then, at once.
const PATIENCE: Duration = Duration::from_millis(350);
/// How long files must have stayed the same to be taken: one that is being written is another a moment later.
const SETTLING: Duration = Duration::from_millis(100);
/// How often it is told that what holds is not what the file says.
const REMINDING: Duration = Duration::from_secs(600);
/// One that was told just now need not be told again to who asks.
const JUST_NOW: Duration = Duration::from_secs(1);

/// A file that is looked at again whenever somebody connects or asks.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    told: Option<WebConfigMetrics>,
    state: Mutex<State>,
    /// Tells of each look that ended.
    ended: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    /// The last that could be used.
    config: Arc<WebConfig>,
    /// What was last read twice in a row, whether or not it could be used.
    seen: Seen,
    /// Why that is not what holds, if it is not.
    refused: Option<Refused>,
    /// When the last look that ended began; `None` where there was none that counts.
    looked: Option<Duration>,
    /// When the one look began that there is at a time.
    looking: Option<Duration>,
}

#[derive(Debug)]
struct Refused {
    error: WebConfigError,
    /// When that was last said.
    said: Duration,
}

impl Watched {
    /// Reads and checks the file for the first time.
    ///
    /// # Errors
    /// As of [`WebConfig::load`].
    pub fn first(path: &Path) -> Result<Self, WebConfigError> {
        let mut material = Material::default();
        let config = Arc::new(WebConfig::read(path, &mut material)?);
        let (seen, looked) = (material.seen(), Some(clock::monotonic()));
        let state = State { config, seen, refused: None, looked, looking: None };
        Ok(Self { path: path.to_owned(), told: None, state: Mutex::new(state), ended: watch::Sender::new(()) })
    }

    /// The same, which tells what comes of each time that it is loaded again.
    #[must_use]
    pub fn telling(self, loads: WebConfigMetrics) -> Self {
        loads.succeeded(self.held().not_after().map(NotAfter::unix_seconds));
        Self { told: Some(loads), ..self }
    }

    /// What held when last somebody asked.
    #[must_use]
    pub fn held(&self) -> Arc<WebConfig> {
        Arc::clone(&self.state().config)
    }

    /// Looks now, whenever that was last done. Whether what the files say is what holds; if it is not, the log says why.
    pub async fn is_up_to_date(self: &Arc<Self>) -> bool {
        // A look that is under way may have begun before they were what they are now.
        for _ in 0..2 {
            self.state().looked = None;
            self.now().await;
        }
        self.remind(JUST_NOW);
        self.state().refused.is_none()
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
        self.held()
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
        self.look_twice(|| thread::sleep(SETTLING));
        self.remind(REMINDING);
    }

    fn look_twice(&self, pause: impl FnOnce()) {
        let seen = self.state().seen.clone();
        if seen.is_unchanged() {
            return;
        }
        let (_, now) = self.read();
        if now.is_same_as(&seen) {
            self.state().seen = now;
            return;
        }
        pause();
        let (config, later) = self.read();
        // Otherwise they are still being written, which the next look finds.
        if later.is_same_as(&now) {
            self.take(config);
            self.state().seen = later;
        }
    }

    fn read(&self) -> (Result<WebConfig, WebConfigError>, Seen) {
        let mut material = Material::after(&self.state().seen);
        let config = WebConfig::read(&self.path, &mut material);
        (config, material.seen())
    }

    fn take(&self, config: Result<WebConfig, WebConfigError>) {
        let held = self.held();
        let config = config.and_then(|config| match config.opens_after(&held) {
            None => Ok(config),
            Some(problem) => Err(WebConfigError::new(&self.path.display().to_string(), None, problem)),
        });
        match config {
            Ok(config) => {
                let not_after = config.not_after().map(NotAfter::unix_seconds);
                self.told.iter().for_each(|told| told.succeeded(not_after));
                info!(target: log::ACT, now = %config.protection(), "the web configuration was loaded again");
                config.warn();
                let mut state = self.state();
                state.config = Arc::new(config);
                state.refused = None;
            }
            Err(error) => {
                self.told.iter().for_each(WebConfigMetrics::failed);
                say(&error);
                self.state().refused = Some(Refused { error, said: clock::monotonic() });
            }
        }
    }

    /// Says again why what holds is not what the files say, if that is so and was not said for so long.
    fn remind(&self, after: Duration) {
        let now = clock::monotonic();
        let due =
            self.state().refused.as_mut().filter(|refused| now.saturating_sub(refused.said) >= after).map(|refused| {
                refused.said = now;
                refused.error.clone()
            });
        // Not while whoever asks would have to wait for the log.
        due.iter().for_each(say);
    }
}

fn say(error: &WebConfigError) {
    error!(target: log::ACT, %error, "the web configuration cannot be used: the one before stays");
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
