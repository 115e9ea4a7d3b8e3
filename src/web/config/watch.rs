//! The file as it is now: changes of it and of the certificates that it names are picked up while the exporter serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;
use tracing::{error, info};

use super::material::{Material, Seen};
use super::{WebConfig, WebConfigError};
use crate::{clock, log};

/// How long a look at the files is good for: many requests at once cost one.
const FRESH: Duration = Duration::from_millis(100);
/// How long a request waits for the files. A file system that hangs must not take the exporter with it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A file that is looked at again whenever somebody connects or asks.
#[derive(Debug)]
pub struct Watched {
    path: PathBuf,
    state: Mutex<State>,
    /// Held by the one look at the files that there is at a time.
    looking: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct State {
    /// The last that could be used.
    config: Arc<WebConfig>,
    /// What was last read, whether or not it could be used.
    seen: Seen,
    looked: Duration,
}

impl Watched {
    /// Reads and checks the file for the first time.
    ///
    /// # Errors
    /// As of [`WebConfig::load`].
    pub fn first(path: &Path) -> Result<Self, WebConfigError> {
        let mut material = Material::default();
        let config = Arc::new(WebConfig::read(path, &mut material)?);
        let state = Mutex::new(State { config, seen: material.seen(), looked: clock::monotonic() });
        Ok(Self { path: path.to_owned(), state, looking: Arc::default() })
    }

    /// What holds now.
    pub(in crate::web) async fn now(self: &Arc<Self>) -> Arc<WebConfig> {
        if !self.is_fresh()
            && let Ok(turn) = timeout(PATIENCE, Arc::clone(&self.looking).lock_owned()).await
            && !self.is_fresh()
        {
            let watched = Arc::clone(self);
            let look = tokio::task::spawn_blocking(move || {
                watched.look();
                drop(turn);
            });
            // Who cannot wait any longer goes by what held until now.
            let _ = timeout(PATIENCE, look).await;
        }
        Arc::clone(&self.state().config)
    }

    fn is_fresh(&self) -> bool {
        clock::monotonic().saturating_sub(self.state().looked) < FRESH
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change to it is a single assignment, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files, and takes what they say if they say something else that can be used.
    fn look(&self) {
        let (began, seen) = (clock::monotonic(), self.state().seen.clone());
        if !seen.is_unchanged() {
            let mut material = Material::default();
            let config = WebConfig::read(&self.path, &mut material);
            let now = material.seen();
            if !now.is_same_as(&seen) {
                match config {
                    Ok(config) => {
                        self.state().config = Arc::new(config);
                        info!(target: log::ACT, "the web configuration was loaded again");
                    }
                    Err(error) => {
                        error!(target: log::ACT, %error, "the web configuration cannot be used: the one before stays");
                    }
                }
            }
            self.state().seen = now;
        }
        self.state().looked = began;
    }
}
