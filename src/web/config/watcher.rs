//! Follows the web configuration file and the files that it names while the exporter serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info};

use super::tracked_files::{FileReader, FilesSnapshot};
use super::{NotAfter, WebConfig, WebConfigError};
use crate::self_metrics::WebConfigMetrics;
use crate::{clock, log};

/// For how long the result of a check is reused, so that simultaneous requests share one.
const REUSE_FOR: Duration = Duration::from_millis(100);
/// How long requests wait for a check. A check that takes longer means that the file system hangs; until it ends, requests
/// use the last configuration without waiting.
const CHECK_TIMEOUT: Duration = Duration::from_millis(350);
/// How long the files must stay unchanged before they are accepted. A file that is being written changes again.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// How often the log repeats why the file is not in effect.
const REMINDER_INTERVAL: Duration = Duration::from_secs(600);
/// A reload request does not repeat an error that was logged within this time.
const RECENTLY_LOGGED: Duration = Duration::from_secs(1);

/// A web configuration file that is checked for changes at each connection and request.
#[derive(Debug)]
pub struct WebConfigWatcher {
    path: PathBuf,
    metrics: Option<WebConfigMetrics>,
    state: Mutex<WatcherState>,
    /// Notified at the end of each check.
    check_ended: watch::Sender<()>,
}

#[derive(Debug)]
struct WatcherState {
    /// The last valid configuration.
    config: Arc<WebConfig>,
    /// The files as last read twice without a change in between, valid or not.
    files: FilesSnapshot,
    /// Why these files are not in effect, if they are not.
    rejected: Option<RejectedFiles>,
    /// When the last completed check began; `None` if a new check is due in any case.
    checked: Option<Duration>,
    /// When the running check began. Only one runs at a time.
    check_began: Option<Duration>,
}

#[derive(Debug)]
struct RejectedFiles {
    error: WebConfigError,
    logged: Duration,
}

impl WebConfigWatcher {
    /// Loads the file for the first time.
    ///
    /// # Errors
    /// As [`WebConfig::load`].
    pub fn new(path: &Path) -> Result<Self, WebConfigError> {
        let mut reader = FileReader::default();
        let config = Arc::new(WebConfig::read(path, &mut reader)?);
        let (files, checked) = (reader.finish(), Some(clock::monotonic()));
        let state = WatcherState { config, files, rejected: None, checked, check_began: None };
        Ok(Self { path: path.to_owned(), metrics: None, state: Mutex::new(state), check_ended: watch::Sender::new(()) })
    }

    /// Reports the result of each load to metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: WebConfigMetrics) -> Self {
        metrics.succeeded(self.last().not_after().map(NotAfter::unix_seconds));
        Self { metrics: Some(metrics), ..self }
    }

    /// The configuration in effect as of the last check.
    #[must_use]
    pub fn last(&self) -> Arc<WebConfig> {
        Arc::clone(&self.state().config)
    }

    /// Checks the files now. Returns whether they are in effect; if not, the log has the reason.
    pub async fn is_up_to_date(self: &Arc<Self>) -> bool {
        // A check that is already running may have read the files before their last change.
        for _ in 0..2 {
            self.state().checked = None;
            self.current().await;
        }
        self.log_rejection_again(RECENTLY_LOGGED);
        self.state().rejected.is_none()
    }

    /// The configuration in effect, after a check of the files if one is due.
    pub(in crate::web) async fn current(self: &Arc<Self>) -> Arc<WebConfig> {
        self.current_after(Self::check).await
    }

    async fn current_after(self: &Arc<Self>, check: impl FnOnce(&Self) + Send + 'static) -> Arc<WebConfig> {
        let mut ended = self.check_ended.subscribe();
        if let Some(began) = self.start_check(check) {
            let left = (began + CHECK_TIMEOUT).saturating_sub(clock::monotonic());
            if !left.is_zero() {
                let _ = timeout(left, ended.changed()).await;
            }
        }
        self.last()
    }

    /// Starts a check if one is due and none is running. Returns when the running check began.
    fn start_check(self: &Arc<Self>, check: impl FnOnce(&Self) + Send + 'static) -> Option<Duration> {
        let now = clock::monotonic();
        let mut state = self.state();
        if state.check_began.is_none() {
            if state.checked.is_some_and(|checked| now.saturating_sub(checked) < REUSE_FOR) {
                return None;
            }
            state.check_began = Some(now);
            let guard = CheckGuard(Arc::clone(self));
            tokio::task::spawn_blocking(move || check(&guard.0));
        }
        state.check_began
    }

    fn state(&self) -> MutexGuard<'_, WatcherState> {
        // Each change is a single assignment, so the state is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files if they changed, and puts a valid change into effect.
    fn check(&self) {
        self.check_twice(|| thread::sleep(SETTLE_TIME));
        self.log_rejection_again(REMINDER_INTERVAL);
    }

    fn check_twice(&self, pause: impl FnOnce()) {
        let before = self.state().files.clone();
        if before.is_current() {
            return;
        }
        let (_, first) = self.read();
        if first.has_content_of(&before) {
            self.state().files = first;
            return;
        }
        pause();
        let (config, second) = self.read();
        // If the contents differ, the files are still being written. The next check reads them again.
        if second.has_content_of(&first) {
            self.apply(config);
            self.state().files = second;
        }
    }

    fn read(&self) -> (Result<WebConfig, WebConfigError>, FilesSnapshot) {
        let mut reader = FileReader::after(&self.state().files);
        let config = WebConfig::read(&self.path, &mut reader);
        (config, reader.finish())
    }

    fn apply(&self, config: Result<WebConfig, WebConfigError>) {
        let previous = self.last();
        let config = config.and_then(|config| match config.weakens(&previous) {
            None => Ok(config),
            Some(problem) => Err(WebConfigError::new(&self.path.display().to_string(), None, problem)),
        });
        match config {
            Ok(config) => {
                let not_after = config.not_after().map(NotAfter::unix_seconds);
                self.metrics.iter().for_each(|metrics| metrics.succeeded(not_after));
                info!(target: log::OPERATION, now = %config.protection(), "the web configuration was loaded again");
                config.log_warnings();
                let mut state = self.state();
                state.config = Arc::new(config);
                state.rejected = None;
            }
            Err(error) => {
                self.metrics.iter().for_each(WebConfigMetrics::failed);
                log_rejection(&error);
                self.state().rejected = Some(RejectedFiles { error, logged: clock::monotonic() });
            }
        }
    }

    /// Logs again why the files are not in effect, if that was last logged at least this long ago.
    fn log_rejection_again(&self, interval: Duration) {
        let now = clock::monotonic();
        let mut state = self.state();
        let due = state.rejected.as_mut().filter(|rejected| now.saturating_sub(rejected.logged) >= interval);
        let error = due.map(|rejected| {
            rejected.logged = now;
            rejected.error.clone()
        });
        // Requests must not wait for the log.
        drop(state);
        error.iter().for_each(log_rejection);
    }
}

fn log_rejection(error: &WebConfigError) {
    error!(target: log::OPERATION, %error, "the web configuration cannot be used: the one before stays");
}

/// A running check. However it ends, even by a panic, the next one can start.
struct CheckGuard(Arc<WebConfigWatcher>);

impl Drop for CheckGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.checked = state.check_began.take();
        drop(state);
        self.0.check_ended.send_replace(());
    }
}

#[cfg(test)]
mod tests;
