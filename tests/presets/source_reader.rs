//! Reads a source in this process, from its configuration to its statuses.

use std::path::Path;
use std::time::Duration;

use lease_exporter::clock;
use lease_exporter::command::sources;
use lease_exporter::config::{Config, Families};
use lease_exporter::lease::{ReadInterval, Reading, SourceEvaluator, SourceSnapshot, TokenKey};
use lease_exporter::store::{ReadError, Store};
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// A source and its tracker.
pub(crate) struct SourceReader {
    runtime: Runtime,
    store: Box<dyn Store>,
    evaluator: SourceEvaluator,
    /// The offset of the tracker's clock.
    ahead: Duration,
}

/// The configuration of one source, with further lines of the source and of the file.
pub(crate) fn configuration(preset: &str, url: &str, password_file: &Path, source: &str, file: &str) -> String {
    format!(
        "sources:\n  - name: app\n    store: {url}\n    password_file: {}\n    preset: {preset}\n    timeout: 30s\n    \
         {source}\n{file}\n",
        password_file.display()
    )
}

impl SourceReader {
    /// A reader of the only source of a configuration, before its first reading.
    pub(crate) fn at(configuration: &str) -> Self {
        let config = Config::parse(configuration, "config.yml", Path::new("/"), Families { all: &[], of_alerts: &[] });
        let source = config.unwrap_or_else(|error| panic!("{error}\n{configuration}")).sources.remove(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let inside = runtime.enter();
        let store = sources::store(&source);
        drop(inside);
        let evaluator =
            SourceEvaluator::new(source.name, source.rules, TokenKey::new(b"a key of sixteen bytes"), source.policies);
        Self { runtime, store, evaluator, ahead: Duration::ZERO }
    }

    /// Advances the clock of the tracker. Stored times must be made older by the same length.
    pub(crate) fn later(&mut self, by: Duration) {
        self.ahead += by;
    }

    /// Reads the source once.
    pub(crate) fn look(&mut self) -> Result<SourceSnapshot, ReadError> {
        let now = || clock::monotonic() + self.ahead;
        let began = now();
        let reading =
            self.runtime.block_on(async { self.store.read(Instant::now() + Duration::from_secs(30)).await })?;
        let interval = ReadInterval { start: began, end: now() };
        Ok(self.evaluator.evaluate(Reading { interval, ..reading }, Duration::ZERO))
    }

    /// Reads the source once and returns the state and reason of a lease, or `none` if it is not shown.
    pub(crate) fn says(&mut self, lease: &str) -> String {
        let snapshot = self.look().unwrap_or_else(|error| panic!("{}: {error}", error.failure()));
        let rejected = snapshot.health.rejected_now.total();
        match snapshot.leases.iter().find(|status| *status.lease == *lease) {
            Some(status) => format!("{} {}", status.verdict.state, status.verdict.reason),
            None if rejected > 0 => format!("rejected {rejected}"),
            None => "none".to_owned(),
        }
    }

    /// Reads the source until a lease has this state and reason, for at most half a minute.
    pub(crate) fn until(&mut self, lease: &str, says: &str) {
        const PAUSE: Duration = Duration::from_millis(100);
        let mut said = String::new();
        for _ in 0..300 {
            said = self.says(lease);
            if said == says {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("{said}, not {says}");
    }
}
